#!/usr/bin/env bash
# Runs all shards of a plan as an array of Slurm, and waits for it:
#
#   tools/engines/slurm.sh PLAN SHARDS OUT [options of sbatch]
#   tools/engines/slurm.sh plan 200 out --cpus-per-task=8 --time=20
#
# PLAN and OUT are on a file system that all nodes have. Tasks that failed are run again by the same command: shards that are
# whole cost nothing. POLYPATH names the program.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
plan=$(realpath "$1") shards=$2 program=$(realpath "$(command -v "${POLYPATH:-polypath}")")
mkdir -p "$3"
out=$(realpath "$3")
shift 3
task="$(printf '%q ' "$program" --quiet worker "$plan" --out "$out")"
sbatch --wait --array="1-$shards" --output="$out/slurm-%a.log" "$@" \
	--wrap "$task --shard \$SLURM_ARRAY_TASK_ID/$shards --jobs \${SLURM_CPUS_PER_TASK:-1}"
