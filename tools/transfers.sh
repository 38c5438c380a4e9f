#!/usr/bin/env bash
# Files over two emulated paths: polypath beside rsync and scp, for the table of docs/how-to/send-files.md. Needs root, rsync and
# sshd; keys and everything else lie in a folder that goes at the end. The argument is how often each case is run (1 without one);
# POLYPATH names a binary in place of the one that is built.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-1}
if [ -z "${POLYPATH:-}" ]; then
	cargo build --quiet --release -p polypath-cli
	POLYPATH=${CARGO_TARGET_DIR:-target}/release/polypath
fi
for program in rsync scp; do command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 3; }; done
sshd=$(command -v sshd || command -v /usr/sbin/sshd) || { echo "sshd is missing" >&2; exit 3; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Both ends have one key.
export POLYPATH_HOME=$dir/keys
key=$("$POLYPATH" id -q)
export dir POLYPATH sshd key
mkdir -p "$dir/many" /run/sshd
head -c 100000000 /dev/urandom >"$dir/large"
for folder in $(seq 20); do
	mkdir "$dir/many/$folder"
	head -c 500000 /dev/urandom | split -b 1000 -a 3 - "$dir/many/$folder/f"
done
ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
ssh-keygen -q -t ed25519 -N '' -f "$dir/user"
cp "$dir/user.pub" "$dir/authorized"
cat >"$dir/sshd.conf" <<END
HostKey $dir/host
AuthorizedKeysFile $dir/authorized
PidFile none
StrictModes no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
END
cat >"$dir/rsyncd.conf" <<END
use chroot = no
uid = $(id -u)
gid = $(id -g)
[in]
path = $dir/in
read only = no
END
printf 'exec ssh -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "$@"\n' "$dir/user" >"$dir/ssh"
chmod +x "$dir/ssh"

cat >"$dir/two.toml" <<END
title = "Two uplinks for files"

[path.A]
rate = "50Mbit/s"
delay = "25ms"              # one way: a round trip has 50 ms
queue = "300packets"

[path.B]
rate = "20Mbit/s"
delay = "25ms"
queue = "150packets"

[stack]
profile = "fast"

[[flow]]
app = "file"
size = "100MB"

[time]
end = "10min"
END

# What listens, and what sends $what, by the name of a case. Path A is the faster one.
server() {
	case $1 in
	polypath*) echo "exec $POLYPATH receive --listen 10.0.1.2,10.0.2.2 --dir $dir/in --once -q" ;;
	rsync-daemon) echo "exec rsync --daemon --no-detach --config $dir/rsyncd.conf --port 8730" ;;
	*) echo "exec $sshd -D -e -f $dir/sshd.conf -p 2222" ;;
	esac
}
client() {
	case $1 in
	polypath-one) echo "$POLYPATH send $2 --to 10.0.1.2 --local 10.0.1.1 -q --no-state --peer $key" ;;
	polypath) echo "$POLYPATH send $2 --to 10.0.1.2,10.0.2.2 --local 10.0.1.1,10.0.2.1 -q --no-state --peer $key" ;;
	rsync-daemon) echo "rsync -a $2 rsync://10.0.1.2:8730/in/" ;;
	rsync-ssh) echo "rsync -a -e '$dir/ssh -p 2222' $2 10.0.1.2:$dir/in/" ;;
	scp) echo "scp -q -r -p -S $dir/ssh -P 2222 $2 10.0.1.2:$dir/in/" ;;
	esac
}

# Seconds that a case takes; "none" if it has not ended within two minutes, or not brought everything.
run() {
	local program=$1 what=$2
	rm -rf "$dir/in" "$dir/time"
	mkdir "$dir/in"
	printf 'start=$(date +%%s.%%N)\ntimeout 120 %s </dev/null >/dev/null 2>&1 && echo "$start $(date +%%s.%%N)" >%s/time\n' \
		"$(client "$program" "$what")" "$dir" >"$dir/client"
	"$POLYPATH" emulate "${scenario:-$dir/two.toml}" --no-check --server "$(server "$program")" -- \
		bash "$dir/client" >/dev/null 2>&1 || true
	if [ -s "$dir/time" ] && diff -rq "$what" "$dir/in/$(basename "$what")" >/dev/null; then
		awk '{ printf "%.1f", $2 - $1 }' "$dir/time"
	else
		printf none
	fi
}

# The median of the runs.
median() {
	for _ in $(seq "$runs"); do
		run "$@"
		echo
	done | sort -g | sed -n "$(((runs + 1) / 2))p"
}

cut=$dir/cut.toml
sed '/^\[stack\]/i [[at]]\ntime = "5s"\ntarget = "A"\naction = "cut"\n' "$dir/two.toml" >"$cut"
echo '| | 100 MB | 10,000 files of 1 kB | 100 MB, path A dies after 5 s |'
echo '|---|---|---|---|'
for program in polypath polypath-one rsync-daemon rsync-ssh scp; do
	one=$(median "$program" "$dir/large")
	many=$(median "$program" "$dir/many")
	dies=$(scenario=$cut median "$program" "$dir/large")
	echo "| $program | $one | $many | $dies |"
done
