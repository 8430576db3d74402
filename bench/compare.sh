#!/usr/bin/env bash
# What a commit costs with assent's hooks, beside the same commit with no hook, with one
# empty hook, and with hook managers that run one hook which does nothing: one interleaved
# run, medians. Absolute times of shared machines are not stable; the difference within one
# run is what counts. Git re-reads the index after any hook, so the empty hook is the
# yardstick. Managers come from the public package registries; one that cannot be had here
# is named and left out.
#
#   bench/compare.sh [ROUNDS [FILES...]]      default: 40 rounds at 100, 10000 and 100000 files
#   MANAGERS="husky" bench/compare.sh …       only these; "" for none
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-40}
shift || true
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(100 10000 100000)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -tags urfave_cli_no_docs -o "$work/bin/" ./cmd/assent ./cmd/skmb

# husky and prek from npm, lefthook from the Go module proxy, pre-commit from the system
# (Debian has it). Each is run as the program itself, without a wrapper.
install_manager() { # NAME
	case $1 in
	husky) npm install --silent --no-fund --no-audit --ignore-scripts --prefix "$work/npm" husky && ln -s "$work/npm/node_modules/.bin/husky" "$work/bin/husky" ;;
	lefthook) GOBIN=$work/bin GOFLAGS= go install github.com/evilmartians/lefthook@latest ;;
	prek)
		npm install --silent --no-fund --no-audit --ignore-scripts --prefix "$work/npm" @j178/prek &&
			ln -s "$(find "$work/npm" -type f -name prek -size +1M | head -1)" "$work/bin/prek" && "$work/bin/prek" --version
		;;
	pre-commit) command -v pre-commit ;;
	esac > "$work/install.log" 2>&1
}
managers=()
for m in ${MANAGERS-husky lefthook prek pre-commit}; do
	if install_manager "$m"; then
		managers+=("$m")
	else
		echo "$m could not be installed here and is left out"
	fi
done

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
		git repack -adq
	)
}

# The same repository once more, the many files as hard links.
copy() { # KIND
	mkdir "$work/$1"
	cp -a "$work/none/.git" "$work/none/docs" "$work/$1/"
	cp -al "$work/none/src" "$work/$1/src"
	(
		cd "$work/$1"
		case $1 in
		empty)
			printf '#!/bin/sh\nexit 0\n' > .git/hooks/pre-commit
			chmod +x .git/hooks/pre-commit
			;;
		assent) assent install --hooks both --bin "$work/bin/assent" ;;
		assent-pre) assent install --hooks pre-commit --bin "$work/bin/assent" ;;
		assent-post) assent install --hooks post-commit --bin "$work/bin/assent" ;;
		husky)
			husky
			echo true > .husky/pre-commit
			;;
		lefthook)
			printf 'pre-commit:\n  commands:\n    nothing:\n      run: "true"\n' > lefthook.yml
			lefthook install
			;;
		prek | pre-commit)
			printf 'repos:\n- repo: local\n  hooks:\n  - {id: nothing, name: nothing, language: system, entry: "true", pass_filenames: false, always_run: true}\n' > .pre-commit-config.yaml
			git add .pre-commit-config.yaml
			"$1" install
			;;
		esac > /dev/null 2>&1
		git status > /dev/null
	)
}

now() { date +%s%N; }
median() { sort -n | awk '{a[NR]=$1} END{print (NR%2) ? a[(NR+1)/2] : (a[NR/2]+a[NR/2+1])/2}'; }

commit() { # KIND ROUND WHAT: one commit, its time in nanoseconds on stdout
	(
		cd "$work/$1"
		case $3 in
		silent) file=src/d0/f1.txt ;;
		base) file=docs/isme/SKMB.md ;;
		esac
		{ cat $file; printf '\nNote %s.\n' "$2"; } > new # never into a file that others share
		mv new $file
		git add $file
		start=$(now)
		git commit -qm "round $2" > /dev/null 2>&1
		echo $(($(now) - start))
	)
}

name_of() { # KIND WHAT
	case "$1 $2" in
	'none '*) echo "no hook" ;;
	'empty '*) echo "one empty hook" ;;
	'assent silent') echo "assent, nothing relevant" ;;
	'assent-pre silent') echo "assent, pre-commit alone" ;;
	'assent-post silent') echo "assent, post-commit alone" ;;
	'assent base') echo "assent, base of 25 touched" ;;
	'assent-pre base') echo "assent, pre-commit alone" ;;
	*) echo "$1, one hook that is true" ;;
	esac
}

printf '%-8s %-28s %10s %14s\n' files commit 'median ms' 'over empty ms'
for files in "${sizes[@]}"; do
	make_repository "$work/none" "$files"
	kinds=(none empty assent assent-pre assent-post ${managers[@]+"${managers[@]}"})
	for kind in "${kinds[@]:1}"; do copy "$kind"; done
	for what in silent base; do
		[ $what = silent ] || kinds=(none empty assent assent-pre)
		for kind in "${kinds[@]}"; do
			: > "$work/$kind.$what"
			for warm in 1 2; do commit "$kind" "warm $warm" $what > /dev/null; done
		done
		for round in $(seq "$rounds"); do
			for kind in "${kinds[@]}"; do commit "$kind" "$round" $what >> "$work/$kind.$what"; done
		done
		empty=$(median < "$work/empty.$what")
		for kind in "${kinds[@]}"; do
			awk -v f="$files" -v n="$(name_of "$kind" $what)" -v m="$(median < "$work/$kind.$what")" -v e="$empty" 'BEGIN{printf "%-8s %-28s %10.2f %14.2f\n", f, n, m/1e6, (m-e)/1e6}'
		done
	done
	for kind in none empty assent assent-pre assent-post ${managers[@]+"${managers[@]}"}; do rm -rf "${work:?}/$kind"; done
done
