#!/usr/bin/env bash
# What a commit costs with assent's hooks, beside the same commit with an empty hook and
# with none: one interleaved run, medians. Absolute times of shared machines are not
# stable; the difference within one run is what counts. Git re-reads the index after any
# hook, so the empty hook is the yardstick.
#
#   bench/compare.sh [ROUNDS [FILES...]]      default: 40 rounds at 100 and 10000 files
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-40}
shift || true
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(100 10000)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -tags urfave_cli_no_docs -o "$work/bin/" ./cmd/assent ./cmd/skmb
export HOME=$work/home PATH=$work/bin:$PATH GIT_CONFIG_NOSYSTEM=1
mkdir -p "$HOME"
git config --global user.name Designer
git config --global user.email designer@example.com
git config --global init.defaultBranch main
git config --global gc.auto 0
git config --global maintenance.auto false

# A repository of so many files with an accepted base of 25 records.
make_repository() { # DIR FILES
	git init -q "$1"
	(
		cd "$1"
		mkdir -p docs/isme/decisions docs/isme/archive src
		printf '*\n' > docs/isme/archive/.gitignore
		{
			printf '# State Machine Knowledge Base\n\n## Decision Index\n\n| id | status | scope | patterns | file | commit |\n| --- | --- | --- | --- | --- | --- |\n'
			for i in $(seq -w 1 25); do
				printf '| SKMB-2026-06-11-0%s | accepted | workflow | F | decisions/2026-06-11-0%s-policy.md | pending |\n' "$i" "$i"
			done
		} > docs/isme/SKMB.md
		for i in $(seq -w 1 25); do
			printf '# SKMB-2026-06-11-0%s: Policy %s\n\n- status: accepted\n- decided_by: designer\n- approval_source: the designer chose option 2\n- date: 2026-06-11\n- commit: pending\n- patterns:\n  - F_fail_semantics\n- scope: workflow\n\n## Decision\n\nRetry 3 times, then fail closed.\n\n## Applies To\n\n- adapter\n' "$i" "$i" > "docs/isme/decisions/2026-06-11-0$i-policy.md"
		done
		awk -v n="$2" 'BEGIN{for(i=0;i<n;i++){d="src/d" int(i/100); if(i%100==0) system("mkdir -p " d); f=d "/f" i ".txt"; print i > f; close(f)}}'
		git add -A
		git commit -qm base
	)
}

now() { date +%s%N; }
median() { sort -n | awk '{a[NR]=$1} END{print (NR%2) ? a[(NR+1)/2] : (a[NR/2]+a[NR/2+1])/2}'; }

commit() { # DIR ROUND WHAT: one commit, its time in nanoseconds on stdout
	(
		cd "$1"
		case $3 in
		silent) echo "$2" >> src/d0/f1.txt && git add src/d0/f1.txt ;;
		base) printf '\nNote %s.\n' "$2" >> docs/isme/SKMB.md && git add docs/isme/SKMB.md ;;
		esac
		start=$(now)
		git commit -qm "round $2"
		echo $(($(now) - start))
	)
}

printf '%-8s %-28s %10s %14s\n' files commit 'median ms' 'over empty ms'
for files in "${sizes[@]}"; do
	make_repository "$work/none" "$files"
	for kind in empty assent; do cp -r "$work/none" "$work/$kind"; done
	for event in pre-commit post-commit; do
		printf '#!/bin/sh\nexit 0\n' > "$work/empty/.git/hooks/$event"
		chmod +x "$work/empty/.git/hooks/$event"
	done
	rm "$work/empty/.git/hooks/post-commit" # the yardstick is one empty hook
	(cd "$work/assent" && assent install --hooks both --bin "$work/bin/assent" > /dev/null)
	for what in silent base; do
		for kind in none empty assent; do : > "$work/$kind.$what"; commit "$work/$kind" warm "$what" > /dev/null; done
		for round in $(seq "$rounds"); do
			for kind in none empty assent; do commit "$work/$kind" "$round" "$what" >> "$work/$kind.$what"; done
		done
		empty=$(median < "$work/empty.$what")
		for kind in none empty assent; do
			m=$(median < "$work/$kind.$what")
			case "$kind $what" in
			'none '*) name="no hook" ;;
			'empty '*) name="one empty hook" ;;
			'assent silent') name="assent, nothing relevant" ;;
			'assent base') name="assent, base of 25 touched" ;;
			esac
			awk -v f="$files" -v n="$name" -v m="$m" -v e="$empty" 'BEGIN{printf "%-8s %-28s %10.2f %14.2f\n", f, n, m/1e6, (m-e)/1e6}'
		done
	done
	rm -rf "$work/none" "$work/empty" "$work/assent"
done
