#!/usr/bin/env bash
# What `agentsmd collect` takes for generated transcripts, beside a program that asks json.Valid
# of each line, in one run; and what a plan of a thousand rules takes.
#
#   bench/collect.sh [MB]      default: 1024
set -euo pipefail
cd "$(dirname "$0")/.."
go test ./agentsmd -run '^$' -bench 'Collect|Thousand' -benchtime 1x -timeout 30m -args -transcript-mb "${1:-1024}"
