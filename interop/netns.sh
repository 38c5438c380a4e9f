#!/usr/bin/env bash
# Runs a command between two network namespaces, client "c" and server "s", joined by N veth pairs of MTU 1500: path i is
# 10.0.i.1 (c, device ci) to 10.0.i.2 (s, device si), and fd00:i::1 to fd00:i::2. All of it lives in namespaces of this
# run's own and is gone when the run is, however it ends. Needs root, iproute2 and util-linux.
# Example: interop/netns.sh 2 'ip netns exec s ./peer server ... & ip netns exec c ./peer client ...'
set -euo pipefail
if [ $# -ne 2 ]; then sed -n 2,5p "$0" >&2; exit 2; fi
if [ "$(id -u)" != 0 ]; then echo "netns.sh makes network namespaces: run it as root" >&2; exit 77; fi
export POLYPATH_NETNS_PATHS="$1"
exec unshare --mount --net --pid --fork --kill-child --mount-proc bash -euc '
mkdir -p /run/netns && mount -t tmpfs none /run/netns
for host in c s; do ip netns add $host; ip -n $host link set lo up; done
for i in $(seq "$POLYPATH_NETNS_PATHS"); do
	ip link add c$i netns c type veth peer name s$i netns s
	ip -n c address add 10.0.$i.1/24 dev c$i; ip -n c address add fd00:$i::1/64 dev c$i nodad
	ip -n s address add 10.0.$i.2/24 dev s$i; ip -n s address add fd00:$i::2/64 dev s$i nodad
	ip -n c link set c$i up; ip -n s link set s$i up
done
set +e
eval "$0"' "$2"
