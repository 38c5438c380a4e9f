#!/usr/bin/env bash
# Switches one defence after the other off, in a copy of HEAD, and demands that the test which guards it fails, and that it passes
# before. The defences are the patches of crates/testkit/mutants; each names its test.
#
#	tools/mutants.sh              all of them (some minutes)
#	tools/mutants.sh NAME...      some of them
#	tools/mutants.sh --check      only whether each patch still fits
set -euo pipefail
cd "$(dirname "$0")/.."
mutants=$PWD/crates/testkit/mutants
check=
if [ "${1:-}" = --check ]; then
	check=1
	shift
fi
[ $# != 0 ] || set -- $(cd "$mutants" && ls -- *.patch | sed 's/\.patch$//')

if [ -n "$check" ]; then
	for name; do
		git apply --check "$mutants/$name.patch" || { echo "$name: its patch does not fit the code any more" >&2; exit 1; }
	done
	echo "$# defences can be switched off"
	exit
fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git archive HEAD | tar -x -C "$copy"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/mutants"
log=$copy/log
# What a test says: the first line that tells why it failed that says why it failed; `passed`; or `broken` where the code did not even compile.
verdict() {
	if (cd "$copy" && timeout 900 cargo test --quiet -p $1) >"$log" 2>&1; then
		grep -q 'test result: ok. [1-9]' "$log" && echo passed || echo "no such test"
	elif grep -q 'test result: FAILED' "$log"; then
		echo "fails: $(grep -A 1 'panicked at' "$log" | sed -n 2p)"
	else
		echo broken
	fi
}
declare -A before
for name; do
	before[$name]=$(verdict "$(sed -n 's/^Test: //p' "$mutants/$name.patch")")
done
bad=0
for name; do
	patch=$mutants/$name.patch
	off=$(sed -n 's/^Off: //p' "$patch")
	test=$(sed -n 's/^Test: //p' "$patch")
	(cd "$copy" && git apply "$patch")
	after=$(verdict "$test")
	(cd "$copy" && git apply -R "$patch")
	case "${before[$name]}/$after" in
	passed/fails:*) state=seen ;;
	*) state=NOT-SEEN bad=1 ;;
	esac
	printf '| %s | %s | `%s` | %s | %s | %s |\n' "$state" "$name" "${test##*-- }" "$off" "${before[$name]}" "$after"
done
exit $bad
