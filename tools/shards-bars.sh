#!/usr/bin/env bash
# Measures what sweeps in shards promise, and prints a table: what the store costs, a million runs, ten million rows, and the same
# bytes from one process, seven shards, a worker that is killed a hundred times, a full disk, damaged segments, and other builds in
# other releases of Debian. Some 20 minutes on two cores, 6 GB of disk. Needs /usr/bin/time; as root a full disk is tried, and with
# debootstrap other releases.
#
#   tools/shards-bars.sh [PROGRAM [STATIC_PROGRAM]]
set -euo pipefail
cd "$(dirname "$0")/.."
lossy=$PWD/tools/engines/lossy.toml short=$PWD/crates/shards/examples/short.toml
target=${CARGO_TARGET_DIR:-$PWD/target}
if [ $# = 0 ]; then cargo build --quiet --profile quick -p polypath-cli; fi
cargo build --quiet --profile quick -p polypath-shards --example store_cost
program=$(realpath "${1:-$target/quick/polypath}") static=${2:+$(realpath "$2")} cost=$target/quick/examples/store_cost
work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'umount "$work/small" 2>/dev/null || true; umount "$work"/debian-*/proc 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
echo "| what | seen |"
echo "|---|---|"
row() { printf '| %s | %s |\n' "$1" "$2"; }
# Seconds and MB of a command, whose output goes to the file of its first argument.
timed() { local out=$1; shift; /usr/bin/time -f '%e %U %S %M' -o timed "$@" >"$out" 2>/dev/null; read -r wall user system kb <timed; }

row "the store's CPU time beside that of runs of half a millisecond" "$("$cost" share)"

million=(sweep "$short" --axis path.B.delay=1us..1000us/1us --seeds 1000 --out million)
timed first "$program" "${million[@]}"
row "1,000,000 runs" "$wall s ($user s of CPU time), $((kb / 1000)) MB"
timed second "$program" "${million[@]}"
cmp -s first second && same=", the same table" || same=", ANOTHER TABLE"
row "the same again, from the store" "$wall s, $((kb / 1000)) MB$same"
rm -rf million

"$cost" synthetic 10000000 made-up >/dev/null
timed table "$program" sweep --from made-up/out
row "10,000,000 rows in 100 segments joined and judged" "$wall s, $((kb / 1000)) MB, $(du -sm made-up/out | cut -f1) MB of disk"
rm -rf made-up

axes=(--axis path.B.delay=1ms..100ms/11ms --seeds 2000 --metric transfer-time)
"$program" -q sweep "$lossy" "${axes[@]}" >whole
"$program" -q sweep "$lossy" "${axes[@]}" --plan plan >/dev/null
# Whether the segments of a folder come to what one process comes to.
compare() { if "$program" -q sweep --from "$1" 2>>errors | cmp -s - whole; then echo "the same bytes"; else echo "OTHER BYTES"; fi; }

for n in 5 2 7 1 4 6 3; do "$program" -q worker plan --shard $n/7 --out seven >/dev/null; done
row "7 shards in no order" "$(compare seven)"

# Each time another moment of the first half second.
killed=0
for n in $(seq 100); do
	"$program" -q worker plan --shard 1/1 --out killed --jobs 1 >/dev/null 2>&1 &
	sleep "0.$(printf '%03d' $((n * 37 % 500)))"
	if kill -9 $! 2>/dev/null; then killed=$((killed + 1)); fi
	wait $! 2>/dev/null || true
done
"$program" -q worker plan --shard 1/1 --out killed >/dev/null
row "a worker killed $killed times at other moments" "$(compare killed)"

if [ "$(id -u)" = 0 ]; then
	mkdir small
	mount -t tmpfs -o size=300k tmpfs small
	told=$("$program" -q worker plan --shard 1/1 --out small 2>&1 >/dev/null || true)
	mount -o remount,size=100m small
	"$program" -q worker plan --shard 1/1 --out small >/dev/null
	row "a disk that is full, then larger" "\"${told##*/}\"; $(compare small)"
	umount small
fi

mkdir damaged
for n in 1 2 3; do "$program" -q worker plan --shard $n/3 --out damaged >/dev/null; done
truncate -s -1000 damaged/*-1-of-3.seg
printf 'x' | dd of="$(ls damaged/*-2-of-3.seg)" bs=1 seek=100000 conv=notrunc status=none
told=$("$program" sweep --from damaged 2>&1 >/dev/null | head -2 | sed 's/^[^:]*: //' | paste -sd ';' || true)
for n in 1 2 3; do "$program" -q worker plan --shard $n/3 --out damaged >/dev/null; done
row "a truncated and a flipped byte" "\"$told\"; $(compare damaged)"

builds=("$program")
[ -z "$static" ] || builds+=("$static")
if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
	for release in bookworm trixie; do
		debootstrap --variant=minbase "$release" "debian-$release" >/dev/null 2>&1 || { row "Debian $release" "not available"; continue; }
		for build in "${builds[@]}"; do
			name=$([ "$build" = "$static" ] && echo static || echo glibc)
			cp "$build" "debian-$release/polypath"
			cp -r plan "debian-$release/plan"
			chroot "debian-$release" /polypath -q worker /plan --shard 1/1 --out "/out-$name" >/dev/null 2>>errors || true
			row "the $name build in Debian $release" "$(compare "debian-$release/out-$name")"
		done
	done
fi
