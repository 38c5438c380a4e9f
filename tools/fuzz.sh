#!/usr/bin/env bash
# Fuzzes on the stable toolchain, without cargo-fuzz: every target for some seconds, from its committed corpus. What is found stops it; inputs
# that reach something new are kept in target/fuzz/corpus, not in the repository.
#
#	tools/fuzz.sh                      10 seconds for each target
#	tools/fuzz.sh SECONDS TARGET...    so many for these
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:-10}
shift || true
[ $# != 0 ] || set -- $(ls fuzz_targets | sed 's/\.rs$//')
host=$(rustc -vV | sed -n 's/^host: //p')
out=${CARGO_TARGET_DIR:-$PWD/../target}/fuzz
# What cargo-fuzz passes with `-s none`.
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
# A long search is worth a slow build.
if [ "$seconds" -ge 60 ]; then profile=release; else profile=smoke; fi
CARGO_TARGET_DIR=$out cargo build --quiet --profile $profile --target "$host" "${@/#/--bin=}"
for target; do
	mkdir -p "$out/corpus/$target" "$out/artifacts"
	log=$out/$target.log
	"$out/$host/$profile/$target" -max_total_time="$seconds" -print_final_stats=1 -timeout=25 -artifact_prefix="$out/artifacts/$target-" \
		"$out/corpus/$target" "corpus/$target" >"$log" 2>&1 || { tail -30 "$log" >&2; exit 1; }
	printf '%s: %s inputs in %s s, nothing found\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$seconds"
done
