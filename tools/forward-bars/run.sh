#!/usr/bin/env bash
# Measures what `polypath forward` and `polypath serve` promise, beside what they are compared with, and prints a table: a row per
# bar. As root; everything lies in namespaces and a file system in memory of its own and goes with them, also where this is killed.
#
#   tools/forward-bars/run.sh [OPTION...] [ROW...]
#
# Rows: 1 bulk, 2 stalled, 3 typing, 4 cut, 5 processor, 6 others, 6p profiles (not by default), 7 browser, 8 robust, 8c reborn,
# 8d readers that go away.
#   --repeats N     of each figure (3)
#   --megabytes N   of each download of row 1 (450: some 26 s)
#   --seconds N     of a download that races another, and of each test of perf beside it (10)
#   --profiles LIST those of 6p, by commas; without it all, those without losses first
#   --time-limit N  seconds for each profile, after which it counts as not measured (600)
#   --robust N      seconds of paths that come and go in row 8 (60)
#   --keep FOLDER   copies the raw figures and logs there
# POLYPATH is the binary, by default target/release/polypath; OPTIONS are options of both its ends, such as OPTIONS='-C bbr';
# CONGESTION is that of the TCP which it is compared with (cubic, the default of Linux).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

refuse() { echo "$1" >&2; exit "${2:-2}"; }

# Outside: checks, and then itself again in namespaces that end with it.
check() {
	[ "$(id -u)" = 0 ] || refuse "This needs root: it makes network namespaces. Nothing was done." 3
	local missing=() program
	need() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || missing+=("$2"); }
	need curl curl; need jq jq; need python3 python3; need ip iproute2
	need ssh openssh-client; need sshd openssh-server; need nginx nginx-light
	for program in $rows; do
		case $program in
		6*) need ss-tunnel shadowsocks-libev; need wireguard-go wireguard-go; need wg wireguard-tools; need mptcpize mptcpize ;;
		7) need chromium chromium ;;
		esac
	done
	if [ ${#missing[@]} != 0 ]; then
		refuse "Debian packages are missing: $(printf '%s\n' "${missing[@]}" | sort -u | xargs)" 3
	fi
	[ -x "$POLYPATH" ] || refuse "$POLYPATH is not there: cargo build --release -p polypath-cli, or POLYPATH=another" 3
}

contain() {
	local inside
	setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child=KILL --mount-proc bash "$here/run.sh" --inside "$@" &
	inside=$!
	trap 'kill -KILL $inside 2>/dev/null || true' EXIT
	trap 'exit 130' INT TERM HUP
	wait $inside
}

# Inside: a folder in memory with keys and settings of all programs.
prepare() {
	mount -t tmpfs tmpfs /run
	dir=/run/forward-bars
	mkdir -p "$dir/client" "$dir/server" /run/sshd "$dir/object"
	key=$(POLYPATH_HOME=$dir/server "$POLYPATH" id -q)
	POLYPATH_HOME=$dir/client "$POLYPATH" id -q >"$dir/clients"
	sshd=$(command -v sshd || echo /usr/sbin/sshd)
	PATH=$PATH:/usr/sbin:/sbin
	ssh_files
	web_files
	for end in client server; do (umask 077 && wg genkey >"$dir/wg-$end") 2>/dev/null || true; done
	export dir key sshd POLYPATH repeats
}
ssh_files() {
	ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
	ssh-keygen -q -t ed25519 -N '' -f "$dir/user"
	cp "$dir/user.pub" "$dir/authorized"
	cat >"$dir/sshd.conf" <<-END
		HostKey $dir/host
		AuthorizedKeysFile $dir/authorized
		PidFile none
		StrictModes no
		PermitRootLogin prohibit-password
		Subsystem sftp internal-sftp
	END
	cat >"$dir/ssh.conf" <<-END
		IdentityFile $dir/user
		StrictHostKeyChecking no
		UserKnownHostsFile /dev/null
		LogLevel ERROR
		BatchMode yes
	END
}
# Bodies are holes: they cost no memory, and no program here compresses.
web_files() {
	local n size
	for size in 1000 1000000 "${bulk_bytes}" "${crowd_bytes}" "${processor_bytes}"; do truncate -s "$size" "$dir/$size"; done
	truncate -s 1T "$dir/huge"
	for n in $(seq 50); do
		printf '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--%20000s--></svg>' "$n" >"$dir/object/$n.svg"
	done
	cat >"$dir/page.html" <<-'END'
		<body><p id="p">loaded 0</p><script>
		let loaded = 0
		for (let n = 1; n <= 50; n++) {
			const image = new Image()
			image.onload = () => { document.getElementById("p").textContent = "loaded " + ++loaded }
			image.src = "/object/" + n + ".svg"
			document.body.append(image)
		}
		</script></body>
	END
	cat >"$dir/nginx.conf" <<-END
		daemon off;
		user root;
		pid $dir/nginx.pid;
		error_log $dir/nginx-error.log;
		worker_processes 1;
		worker_rlimit_nofile 8192;
		events { worker_connections 4096; }
		http {
			access_log $dir/access.log;
			sendfile on;
			types { text/html html; image/svg+xml svg; }
			client_body_temp_path $dir/t1; proxy_temp_path $dir/t2; fastcgi_temp_path $dir/t3;
			uwsgi_temp_path $dir/t4; scgi_temp_path $dir/t5;
			server { listen 8080; root $dir; }
		}
	END
}

# Runs a case in a network: name of its figures, scenario, options of emulate up to --, case and arguments.
in_network() {
	local name=$1 scenario=$2 options=()
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	out=$dir/figures/$name
	export out
	mkdir -p "$out"
	cut -d' ' -f1-3 /proc/loadavg >>"$out/load-average"
	timeout -k 5 "${limit:-3600}" "$POLYPATH" emulate -q --no-check "$scenario" "${options[@]}" -- bash "$here/cases.sh" "$@" \
		>>"$out/log" 2>&1 || { echo "$name: case $* ended with $?; the log's end:" >&2; tail -n 5 "$out/log" >&2; }
	cut -d' ' -f1-3 /proc/loadavg >>"$out/load-average"
	keep
}
keep() { if [ -n "$keep" ]; then mkdir -p "$keep" && cp -r "$dir/figures" "$keep/"; fi; }

# A case on a veth pair without shaping. Its namespaces are held by two processes.
on_veth() {
	out=$dir/figures/$1
	export out
	mkdir -p "$out"
	shift
	cut -d' ' -f1-3 /proc/loadavg >>"$out/load-average"
	unshare --net sleep infinity & local near=$!
	unshare --net sleep infinity & local far=$!
	sleep 0.2
	local end
	for end in "$near" "$far"; do nsenter --net="/proc/$end/ns/net" ip link set lo up; done
	nsenter --net="/proc/$near/ns/net" ip link add v0 type veth peer name v0 netns "$far"
	nsenter --net="/proc/$near/ns/net" sh -c 'ip address add 10.0.1.1/24 dev v0 && ip link set v0 up'
	nsenter --net="/proc/$far/ns/net" sh -c 'ip address add 10.0.1.2/24 dev v0 && ip link set v0 up'
	# A descriptor names the other one where processes have other numbers.
	exec 8<"/proc/$far/ns/net"
	POLYPATH_SERVER_NS=/proc/self/fd/8 POLYPATH_SERVER_ADDRS=10.0.1.2 POLYPATH_CLIENT_ADDRS=10.0.1.1 \
		nsenter --net="/proc/$near/ns/net" unshare --mount --pid --fork --kill-child=KILL --mount-proc bash "$here/cases.sh" "$@" >>"$out/log" 2>&1 ||
		{ echo "case $* ended with $?; the log's end:" >&2; tail -n 5 "$out/log" >&2; }
	kill "$near" "$far"
	wait "$near" "$far" 2>/dev/null || true
	cut -d' ' -f1-3 /proc/loadavg >>"$out/load-average"
	keep
}

measure() { python3 "$here/measure.py" "$@"; }
# A column of a file of figures; the median of it with the spread; the quotients of two line by line.
column() { if [ -f "$dir/figures/$1" ]; then awk -v n="${2:-1}" '{ print $n }' "$dir/figures/$1"; fi; }
summary() { measure summary "${1:-1}"; }
median() { summary "${1:-3}" | cut -d' ' -f1; }
greatest() { sort -g | tail -n 1; }
quotients() { paste -d' ' <(column "$1" "${3:-1}") <(column "$2" "${3:-1}") | awk 'NF == 2 && $2 > 0 { print $1 / $2 }'; }
# `yes` if a comparison of numbers holds.
holds() {
	case $1 in *none*) echo "not measured"; return ;; esac
	awk "BEGIN { print ($1) ? \"yes\" : \"**no**\" }" 2>/dev/null || echo "not measured"
}
busy() { sed 's/ .*//' "$dir/figures/$1/load-average" | paste -sd-; }

row() { printf '| %s | %s | %s | %s |\n' "$1" "$2" "$3" "$4"; }

row_1() {
	in_network bulk "$here/two.toml" -- bulk "$bulk_bytes" $((bulk_bytes / 17500000))
	local what ratio
	row "1. perf -R, $((bulk_bytes / 17500000)) s, 100 + 50 Mbit/s (load average $(busy bulk))" "$(column bulk/perf | summary) Mbit/s" "-" "-"
	for what in curl-L curl-D scp-L; do
		ratio=$(quotients bulk/$what bulk/perf | median)
		row "1. $((bulk_bytes / 1000000)) MB by ${what/-/ through -}" \
			"$(column bulk/$what | summary) Mbit/s; of perf $(quotients bulk/$what bulk/perf | summary 3)" ">= 0.95" \
			"$(holds "$ratio >= 0.95")"
	done
	if [ -f "$dir/figures/bulk/broken" ]; then row "1. what scp brought" "other bytes" "the same" "**no**"; fi
}

row_2() {
	local read name ratio
	for read in 0 1000000; do
		name=stalled-$read
		in_network "$name" "$here/two.toml" -- stalled "$crowd_bytes" "$read"
		ratio=$(quotients "$name/beside" "$name/alone" | median)
		row "2. 100 downloads of $((crowd_bytes / 1000000)) MB beside 100 that stopped after $read bytes (load average $(busy "$name"))" \
			"$(column "$name/alone" | summary) s alone, $(column "$name/beside" | summary) s beside: $(quotients "$name/beside" "$name/alone" | summary 3); not whole: $(column "$name/beside" 3 | greatest)" \
			"<= 1.05" "$(holds "$ratio <= 1.05 && $(column "$name/beside" 3 | greatest) == 0")"
		row "2. memory of forward and serve before, during, after, MB" \
			"$(column "$name/before" 1), $(column "$name/before" 4); $(column "$name/during" 1 | summary), $(column "$name/during" 4 | summary); $(column "$name/after" 1 | summary), $(column "$name/after" 4 | summary)" \
			"growth <= 100 each" \
			"$(holds "$(column "$name/during" 1 | greatest) - $(column "$name/before" 1) <= 100 && $(column "$name/during" 4 | greatest) - $(column "$name/before" 4) <= 100")"
		row "2. their descriptors before, during, after" \
			"$(column "$name/before" 2), $(column "$name/before" 5); $(column "$name/during" 2 | greatest), $(column "$name/during" 5 | greatest); $(column "$name/after" 2 | tail -1), $(column "$name/after" 5 | tail -1)" \
			"as before" \
			"$(holds "$(column "$name/after" 2 | tail -1) == $(column "$name/before" 2) && $(column "$name/after" 5 | tail -1) == $(column "$name/before" 5)")"
	done
}

row_3() {
	local times name bar
	for times in 1 4; do
		name=typing-$times
		in_network "$name" "$here/load.toml" --set "path.A.queue=$((times * 125))kB" --set "path.B.queue=$((times * 60))kB" -- typing 60
		if [ $times = 1 ]; then bar="p99 <= 40 ms"; else bar=-; fi
		row "3. echo by ssh beside 8 downloads, queues of $times BDP (load average $(busy "$name"))" \
			"p50 $(column "$name/loaded" 1 | summary), p99 $(column "$name/loaded" 2 | summary), longest $(column "$name/loaded" 3 | summary) ms; idle p50 $(column "$name/idle" 1); $(column "$name/load" | summary) Mbit/s on the wire" \
			"$bar" "$(if [ $times = 1 ]; then holds "$(column "$name/loaded" 2 | median) <= 40"; else echo -; fi)"
	done
}

row_4() {
	local path
	for path in A B; do
		{ cat "$here/two.toml"; printf '[[at]]\ntime = "7s"\ntarget = "%s"\naction = "cut"\n' $path; } >"$dir/cut.toml"
		for _ in $(seq "$repeats"); do in_network "cut-$path" "$dir/cut.toml" -- cut_off 12; done
		row "4. path $path is cut: longest gap of the download, longest echo (load average $(busy "cut-$path"))" \
			"$(column "cut-$path/gap" 3 | summary 3) s; $(column "cut-$path/echo" 3 | summary 0) ms, $(column "cut-$path/echo" | wc -l) of $repeats sessions live" \
			"<= 0.3 s, none lost" \
			"$(holds "$(column "cut-$path/gap" 3 | greatest) <= 0.3 && $(column "cut-$path/echo" | wc -l) == $repeats")"
	done
}

row_5() {
	local how name ratio
	for how in encrypted insecure; do
		name=processor-$how
		if [ $how = insecure ]; then export PLAIN=1; else unset PLAIN; fi
		on_veth "$name" processor "$processor_bytes" 8 "${CONGESTION:-cubic}"
		unset PLAIN
		paste -d' ' <(column "$name/perf-cpu") <(column "$name/plain-cpu") | awk '{ print $1 + 2 * $2 }' >"$dir/figures/$name/bar"
		ratio=$(quotients "$name/forward-cpu" "$name/bar" | median)
		row "5. CPU of forward + serve, $how, $(nproc) cores carry both ends (load average $(busy "$name"))" \
			"$(column "$name/forward-cpu" | summary 2) s/GB; perf $(column "$name/perf-cpu" | summary 2), nginx to curl $(column "$name/plain-cpu" | summary 2); ratio $(quotients "$name/forward-cpu" "$name/bar" | summary 2); with nginx and curl $(quotients "$name/forward-chain" "$name/bar" | summary 2)" \
			"<= 1.3" "$(holds "$ratio <= 1.3")"
		row "5. one connection, $how" \
			"$(column "$name/forward-mbit" | summary 0) Mbit/s; perf $(column "$name/perf-mbit" | summary 0), nginx to curl $(column "$name/plain-mbit" | summary 0)" \
			"3000 and 4000 on many cores" "-"
	done
}

# The best of the others by their medians.
best_other() {
	local other
	for other in ssh shadowsocks wireguard; do echo "$(column "$1/$other" | median 2) $other"; done | sort -g | tail -n 1 | cut -d' ' -f2
}
figures_of() {
	local program
	for program in forward ssh shadowsocks wireguard; do printf '%s %s, ' $program "$(column "$1/$program" | summary)"; done
}
row_6() {
	in_network one-path "$here/one.toml" -- compete "$seconds" "${CONGESTION:-cubic}"
	local other ratio
	other=$(best_other one-path)
	ratio=$(quotients one-path/forward "one-path/$other" | median)
	row "6. one path of 100 Mbit/s (load average $(busy one-path))" \
		"$(figures_of one-path)of $other $(quotients one-path/forward "one-path/$other" | summary 3)" ">= 0.97" "$(holds "$ratio >= 0.97")"
}

row_6p() {
	local label options other bar least ratio
	limit=$time_limit
	while read -r label options; do
		[ -z "$chosen" ] || [[ ,$chosen, == *,$label,* ]] || continue
		# shellcheck disable=SC2086
		in_network "profile-$label" "$here/profiles.toml" $options -- compete "$seconds" "${CONGESTION:-cubic}"
		other=$(best_other "profile-$label")
		quotients "profile-$label/forward" "profile-$label/$other" >"$dir/ratios"
		ratio=$(median <"$dir/ratios") least=$(sort -g "$dir/ratios" | head -n 1)
		bar=">= 0.97"
		row "6. profile $label (load average $(busy "profile-$label"))" "$(figures_of "profile-$label")of $other $(summary 3 <"$dir/ratios")" \
			"$bar" "$(holds "$ratio >= 0.97")$(holds "$least > 1 && $repeats > 1" | sed 's/^yes/, ahead/; s/.*no.*//')"
	done < <(measure profiles "$here/../../scenarios/benchmarks/multi-wan.toml")
	unset limit
}

row_7() {
	in_network browser "$here/two.toml" -- browse
	row "7. chromium by SOCKS5: a page with 50 objects" "$(column browser/loaded) loaded, $(column browser/requests) requests" \
		"50, 50" "$(holds "$(column browser/loaded) == 50 && $(column browser/requests) == 50")"
}

# Lost, wrong and short connections, and how daemons changed.
lives() {
	row "$2 (load average $(busy "$1"))" \
		"$(column "$1/sequences" 1) lost, $(column "$1/sequences" 2) wrong, $(column "$1/sequences" 3) short of 20; $(column "$1/sequences" 4) numbers, longest silence $(column "$1/sequences" 5) s$3" \
		"0, 0, 0" "$(holds "$(column "$1/sequences" 1) + $(column "$1/sequences" 2) + $(column "$1/sequences" 3) == 0")"
}
changes() { echo "MB, descriptors, threads $(cat "$dir/figures/$1/before") before, $(cat "$dir/figures/$1/after") after"; }
row_8() {
	{ cat "$here/two.toml"; measure flaps "$robust" 1 A B; } >"$dir/flaps.toml"
	in_network flaps "$dir/flaps.toml" -- live_through "$robust"
	lives flaps "8a. both paths come and go at random for $robust s" "; $(changes flaps)"

	{
		cat "$here/two.toml"
		for path in A B; do
			printf '[[at]]\ntime = "5s"\ntarget = "%s"\naction = "cut"\n[[at]]\ntime = "65s"\ntarget = "%s"\naction = "restore"\n' $path $path
		done
	} >"$dir/away.toml"
	in_network away "$dir/away.toml" -- live_through 80 65
	lives away "8b. all paths are away for 60 s" "; bytes again $(column away/sequences 6) to $(column away/sequences 7) s after they are back"

}
row_8c() {
	local who other
	for who in serve forward; do
		in_network "reborn-$who" "$here/two.toml" -- reborn "$who" 5
		if [ $who = serve ]; then other=forward; else other=serve; fi
		row "8c. $who is killed (-9) and started again, 5 times (load average $(busy "reborn-$who"))" \
			"new connections after $(column "reborn-$who/again" | summary 2) s; $other: $(changes "reborn-$who")" "<= 10 s, as before" \
			"$(holds "$(column "reborn-$who/again" | greatest) <= 10 && $(column "reborn-$who/after" 2) == $(column "reborn-$who/before" 2) && $(column "reborn-$who/after" 3) == $(column "reborn-$who/before" 3) && $(column "reborn-$who/after" 1) - $(column "reborn-$who/before" 1) < 20")"
	done
}

row_8d() {
	in_network gone "$here/two.toml" -- gone 30
	lives gone "8d. $(column gone/gone | wc -l) readers go away in the middle of their downloads" "; the association ended $(column gone/ended) times"
}

inside=no repeats=3 seconds=10 chosen='' time_limit=600 robust=60 bulk_bytes=450000000 keep='' rows=''
given=("$@")
while [ $# != 0 ]; do
	case $1 in
	--inside) inside=yes ;;
	--repeats | --megabytes | --seconds | --profiles | --time-limit | --robust | --keep)
		[ $# -ge 2 ] || refuse "$1 needs a value"
		case $1 in
		--repeats) repeats=$2 ;; --megabytes) bulk_bytes=$(($2 * 1000000)) ;; --seconds) seconds=$2 ;; --profiles) chosen=$2 ;; --time-limit) time_limit=$2 ;;
		--robust) robust=$2 ;; --keep) keep=$(realpath -m "$2") ;;
		esac
		shift ;;
	[1-8] | 6p | 8c | 8d) rows+=" $1" ;;
	*) refuse "$1 is no row and no option; the head of $0 names them" ;;
	esac
	shift
done
rows=${rows:-1 2 3 4 5 6 7 8 8c 8d}
crowd_bytes=3000000 processor_bytes=2000000000
POLYPATH=${POLYPATH:-$here/../../target/release/polypath}
export POLYPATH

if [ $inside = no ]; then
	check
	POLYPATH=$(realpath "$POLYPATH")
	contain "${given[@]}"
else
	prepare
	echo "| what | figure | bar | held |"
	echo "|---|---|---|---|"
	for one in $rows; do "row_$one"; done
fi
