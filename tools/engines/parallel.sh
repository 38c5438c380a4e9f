#!/usr/bin/env bash
# Runs all shards of a plan with GNU parallel, on this machine or by ssh on others:
#
#   tools/engines/parallel.sh PLAN SHARDS OUT [options of parallel]
#   tools/engines/parallel.sh plan 40 out
#   tools/engines/parallel.sh plan 40 out -S 8/desk1,8/desk2
#
# By ssh the program and the plan are copied to each machine, and what it made is copied back; nothing has to be installed there
# but rsync, and nothing stays. POLYPATH names the program, which for other machines is best the static one.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
plan=$(realpath "$1") shards=$2 program=$(realpath "$(command -v "${POLYPATH:-polypath}")")
mkdir -p "$3"
out=$(realpath "$3")
shift 3

case " $* " in
*" -S "* | *" --sshlogin"* | *" --slf "*)
	# What goes to other machines stands below one folder, and has the same names there below one of the login folder.
	stage=$(mktemp -d "$out/.parallel-XXXXXX")
	trap 'rm -rf "$stage"' EXIT
	cp "$program" "$stage/polypath"
	mkdir "$stage/plan"
	cp "$plan/plan.json" "$stage/plan"
	cd "$stage"
	seq "$shards" | parallel --retries 3 --workdir "polypath-${stage##*-}" --basefile polypath --basefile plan/plan.json --cleanup --return out-{} "$@" \
		./polypath --quiet worker plan --shard "{}/$shards" --out out-{} --jobs 1
	parallel --nonall "$@" rm -rf "polypath-${stage##*-}"
	find . -path './out-*' -name '*.seg' -exec mv -f -t "$out" {} +
	;;
*)
	seq "$shards" | parallel --retries 3 "$@" "$program" --quiet worker "$plan" --shard "{}/$shards" --out "$out" --jobs 1
	;;
esac
