#!/usr/bin/env bash
# How fast stacks that others wrote are on this machine, one JSON line per end: usrsctp on one, two and four paths and with
# small messages, kernel TCP, kernel MPTCP. Over veth pairs of MTU 1500, one source and one sink process. Needs root.
# Usage: interop/speed.sh [SECONDS]
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
make -s -C "$here" OUT="$out" "$out/bench"
export BENCH="$out/bench" SECONDS_EACH="${1:-5}"
bash "$here/netns.sh" 4 '
addresses() { local end=$1 count=$2 list=10.0.1.$1; for i in $(seq 2 "$count"); do list+=,10.0.$i.$end; done; echo "$list"; }
pair() { # protocol paths options...
	local protocol=$1 paths=$2; shift 2
	ip netns exec s "$BENCH" "$protocol" sink --local "$(addresses 2 "$paths")" --time "$SECONDS_EACH" "$@" 2>/dev/null &
	sleep 0.3
	ip netns exec c "$BENCH" "$protocol" source --local "$(addresses 1 "$paths")" --remote "$(addresses 2 "$paths")" --time "$SECONDS_EACH" "$@"
	wait
}
pair sctp 1
pair sctp 1 --size 100 --buffer 131072
pair sctp 2 --cmt 1
pair sctp 4 --cmt 1
pair tcp 1 --size 131072
ip -n c mptcp limits set subflow 8 add_addr_accepted 8 || exit 0
ip -n s mptcp limits set subflow 8 add_addr_accepted 8
pair mptcp 1 --size 131072
for paths in 2 4; do
	for i in $(seq 2 $paths); do
		ip -n c mptcp endpoint add 10.0.$i.1 dev c$i subflow 2>/dev/null
		ip -n s mptcp endpoint add 10.0.$i.2 dev s$i signal 2>/dev/null
	done
	pair mptcp $paths --size 131072
done'
