#!/usr/bin/env bash
# Tries the engines for real: a plan in 200 shards under HyperQueue while its processes are killed, in 40 by GNU parallel here and by
# ssh in two network namespaces, in 8 as an array of a one-node Slurm, and in 8 under Dask. Each must come to the bytes that one
# process comes to. Needs root, Debian's parallel, slurm-wlm, munge and openssh-server, and a Python with hyperqueue, dask,
# distributed and polypath, which PYTHON names. POLYPATH names the program.
#
#   sudo POLYPATH=target/quick/polypath PYTHON=venv/bin/python tools/engines/try.sh [ENGINE...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export POLYPATH=$(realpath "$(command -v "${POLYPATH:-polypath}")")
python=${PYTHON:-python3}
work=$(mktemp -d) failed=0
# Slurm's user must get to the program's results.
chmod 755 "$work"
cd "$work"
clean() {
	for name in one two; do
		[ ! -e "$work/sshd-$name.pid" ] || kill "$(cat "$work/sshd-$name.pid")" || true
		ip netns del "shards-$name" 2>/dev/null || true
	done
	for name in slurmctld slurmd munged; do
		[ ! -e "$work/$name.pid" ] || kill "$(cat "$work/$name.pid")" 2>/dev/null || true
	done
	ip link del shards-br 2>/dev/null || true
	cd / && rm -rf "$work"
}
trap clean EXIT

axes=(--axis path.B.delay=1ms..100ms/11ms --seeds 1000 --metric transfer-time)
"$POLYPATH" -q sweep "$here/lossy.toml" "${axes[@]}" >whole.txt
"$POLYPATH" -q sweep "$here/lossy.toml" "${axes[@]}" --plan plan >/dev/null

# Compares what an engine made.
check() {
	"$POLYPATH" -q sweep --from "$1" >"$1.txt" || true
	if cmp -s whole.txt "$1.txt"; then echo "$1: $2 shards, the same bytes"; else echo "$1: DIFFERS"; failed=1; fi
}

hyperqueue() {
	(for _ in $(seq 15); do sleep 0.5; pkill -9 -n -f "$POLYPATH --quiet worker $work/plan" || true; done) &
	local killer=$!
	"$python" "$here/hyperqueue.py" plan 200 hyperqueue >hyperqueue.log 2>&1 || { tail -5 hyperqueue.log; failed=1; }
	kill $killer 2>/dev/null || true
	check hyperqueue 200
}

parallel_here() {
	"$here/parallel.sh" plan 40 parallel >parallel.log 2>&1 || tail -5 parallel.log
	check parallel 40
}

parallel_ssh() {
	mkdir -p ssh /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f ssh/key
	ssh-keygen -q -t ed25519 -N '' -f ssh/host
	cp ssh/key.pub ssh/allowed
	ip link add shards-br type bridge
	ip addr add 10.231.0.1/24 dev shards-br
	ip link set shards-br up
	local number=2
	for name in one two; do
		ip netns add "shards-$name"
		ip link add "shards-$name" type veth peer name eth0 netns "shards-$name"
		ip link set "shards-$name" master shards-br up
		ip -n "shards-$name" addr add "10.231.0.$number/24" dev eth0
		ip -n "shards-$name" link set eth0 up
		ip netns exec "shards-$name" /usr/sbin/sshd -f /dev/null -h "$work/ssh/host" -o "PidFile=$work/sshd-$name.pid" \
			-o "AuthorizedKeysFile=$work/ssh/allowed" -o StrictModes=no -o PermitRootLogin=yes -o UsePAM=no
		number=$((number + 1))
	done
	export PARALLEL_SSH="ssh -i $work/ssh/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
	# rsync, by which parallel copies, goes the same way.
	export RSYNC_RSH=$PARALLEL_SSH
	"$here/parallel.sh" plan 40 parallel-ssh -S 1/10.231.0.2,1/10.231.0.3 >ssh.log 2>&1 || tail -5 ssh.log
	check parallel-ssh 40
}

slurm() {
	local host
	host=$(hostname -s)
	mkdir -p munge spool state
	dd if=/dev/urandom of=munge/key bs=128 count=1 status=none
	chown -R munge: munge && chmod 700 munge && chmod 400 munge/key
	runuser -u munge -- munged --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
		--log-file="$work/munge/log" --seed-file="$work/munge/seed" --force 2>/dev/null
	cp munge/pid munged.pid
	chmod 711 munge
	cat >slurm.conf <<S
ClusterName=shards
SlurmctldHost=$host
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
SlurmctldPort=36817
SlurmdPort=36818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1
MaxArraySize=2000
NodeName=$host CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
S
	export SLURM_CONF=$work/slurm.conf
	slurmctld -f slurm.conf
	slurmd -f slurm.conf
	for _ in $(seq 30); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 1; done
	timeout 300 "$here/slurm.sh" plan 8 slurm >slurm.log 2>&1 || { cat slurm.log; tail -3 slurmctld.log slurmd.log; }
	check slurm 8
}

dask() {
	"$python" "$here/dask_shards.py" plan 8 dask >dask.log 2>&1 || tail -5 dask.log
	check dask 8
}

for engine in ${*:-hyperqueue parallel_here parallel_ssh slurm dask}; do "$engine"; done
exit $failed
