#!/usr/bin/env bash
# What happens inside a network, in the client's namespace: `bash cases.sh CASE ARGUMENT...`, started by run.sh, which says what it
# hands over. A case writes its figures as lines of files of $out; run.sh makes rows of them.
set -euo pipefail
here=$(dirname "$0")
server=${POLYPATH_SERVER_ADDRS-} client=${POLYPATH_CLIENT_ADDRS-}

measure() { python3 "$here/measure.py" "$@"; }
there() { nsenter --net="$POLYPATH_SERVER_NS" "$@"; }
note() { printf '%s\n' "$2" >>"$out/$1"; }

# Waits until a command succeeds.
await() {
	for _ in $(seq 200); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.05
	done
	echo "in vain for 10 s: $*" >&2
	return 1
}

# The same addresses with another port: serve and perf stand side by side.
with_port() { sed "s/\(,\|$\)/:$1\1/g" <<<"$server"; }

# Both daemons and what stands behind them; their process ids are in $serve and $forward.
serve() {
	POLYPATH_HOME=$dir/server nsenter --net="$POLYPATH_SERVER_NS" "$POLYPATH" serve --listen "$server" "${admit[@]}" \
		--permit 'anywhere:*' "${insecure[@]}" "${stack[@]}" >>"$out/serve.log" 2>&1 &
	serve=$!
}
forward() {
	POLYPATH_HOME=$dir/client "$POLYPATH" forward --to "$server" --local "$client" "${peer[@]}" -L 8081:127.0.0.1:8080 \
		-L 2223:127.0.0.1:2222 -L 7001:127.0.0.1:7000 -D 1080 "${insecure[@]}" "${stack[@]}" >"$out/forward.now" 2>&1 &
	forward=$!
	await grep -q '^connected' "$out/forward.now"
}
insecure=() peer=(--peer "$key") admit=(--allow "$dir/clients") stack=()
# Options of both ends beyond the defaults, such as OPTIONS='-C bbr'.
read -ra stack <<<"${OPTIONS-}"
if [ -n "${PLAIN-}" ]; then insecure=(--insecure) peer=() admit=(--allow-anyone); fi

web() {
	there nginx -e stderr -p "$dir" -c "$dir/nginx.conf" >>"$out/nginx.log" 2>&1 &
	nginx=$!
	await there bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080'
}
sshd() {
	there "$sshd" -D -e -f "$dir/sshd.conf" -p 2222 >>"$out/sshd.log" 2>&1 &
	await there bash -c 'exec 3<>/dev/tcp/127.0.0.1/2222'
}
echo_server() {
	there python3 "$here/measure.py" echo-server 7000 >>"$out/echo.log" 2>&1 &
	await there bash -c 'exec 3<>/dev/tcp/127.0.0.1/7000'
}
perf_server() {
	POLYPATH_HOME=$dir/server nsenter --net="$POLYPATH_SERVER_NS" "$POLYPATH" perf -s --listen "$(with_port 9900)" \
		"${insecure[@]}" "${stack[@]}" >>"$out/perf.log" 2>&1 &
	perf=$!
	sleep 0.3
}
# One test of so many seconds: goodput, then CPU seconds per GB of both ends.
perf_client() {
	POLYPATH_HOME=$dir/client "$POLYPATH" perf -q -J -R -c "$(with_port 9900)" --local "$client" "${peer[@]}" -t "$1" \
		"${insecure[@]}" "${stack[@]}" 2>>"$out/perf.log" |
		jq -r '.sums[0] | "\(.goodput_mbit) \(.sender_cpu_per_gb + .receiver_cpu_per_gb)"'
}
mbit() { awk -v bytes="$1" -v seconds="$2" 'BEGIN { printf "%.2f\n", bytes * 8e-6 / seconds }'; }
# Mbit/s of one download by curl; further arguments are its options.
curl_mbit() {
	local figures
	figures=$(curl -sS -o /dev/null -w '%{size_download} %{time_total}' "$@") || { echo 0; return; }
	# shellcheck disable=SC2086
	mbit $figures
}

# Row 1.
bulk() {
	local bytes=$1 seconds=$2 from to
	serve; web; sshd; perf_server; forward
	for _ in $(seq "$repeats"); do
		note perf "$(perf_client "$seconds" | cut -d' ' -f1)"
		note curl-L "$(curl_mbit "http://127.0.0.1:8081/$bytes")"
		note curl-D "$(curl_mbit --socks5-hostname 127.0.0.1:1080 "http://127.0.0.1:8080/$bytes")"
		from=$(date +%s.%N)
		scp -q -F "$dir/ssh.conf" -P 2223 "root@127.0.0.1:$dir/$bytes" "$dir/copied"
		to=$(date +%s.%N)
		cmp -s "$dir/$bytes" "$dir/copied" || note broken scp
		rm "$dir/copied"
		note scp-L "$(mbit "$bytes" "$(awk "BEGIN { print $to - $from }")")"
	done
}

# Row 2. Readers that stop have read so many bytes before.
stalled() {
	local bytes=$1 read=$2
	serve; web; forward
	curl -sS -o /dev/null http://127.0.0.1:8081/1000000
	sleep 1
	note before "$(measure vitals "$forward") $(measure vitals "$serve")"
	for _ in $(seq "$repeats"); do
		note alone "$(measure crowd 127.0.0.1 8081 "/$bytes" 100)"
		mkfifo "$out/hold"
		measure stall 127.0.0.1 8081 /huge 100 "$read" <"$out/hold" >"$out/stall" &
		exec 9>"$out/hold"
		timeout 120 bash -c "until grep -q stalled '$out/stall'; do sleep 0.1; done"
		# The sockets between daemon and reader take megabytes each before anything stops.
		await_quiet
		note beside "$(measure crowd 127.0.0.1 8081 "/$bytes" 100)"
		note during "$(measure vitals "$forward") $(measure vitals "$serve")"
		exec 9>&-
		rm "$out/hold"
		sleep 3
		note after "$(measure vitals "$forward") $(measure vitals "$serve")"
	done
}

# Row 3: eight downloads without end, and somebody who types.
typing() {
	serve; web; sshd; forward
	note idle "$(measure echo 5 ssh -F "$dir/ssh.conf" -p 2223 root@127.0.0.1 cat)"
	for _ in $(seq 8); do
		curl -sS -o /dev/null http://127.0.0.1:8081/huge &
		echo $! >>"$out/curls"
	done
	sleep 3
	for _ in $(seq "$repeats"); do
		local before after
		before=$(received)
		note loaded "$(measure echo "$1" ssh -F "$dir/ssh.conf" -p 2223 root@127.0.0.1 cat)"
		after=$(received)
		note load "$(mbit "$((after - before))" "$1")"
	done
	xargs kill <"$out/curls"
}
# Bytes that came over all paths.
received() { awk '/:/ && $1 !~ /^lo:/ { sub(":", " "); sum += $2 } END { printf "%.0f\n", sum }' /proc/net/dev; }

# Waits until less than 100 kB come within a second.
await_quiet() {
	local before
	for _ in $(seq 120); do
		before=$(received)
		sleep 1
		if [ $(($(received) - before)) -lt 100000 ]; then return; fi
	done
	note noisy 1
}

# Row 4: the scenario cuts a path in the middle.
cut_off() {
	serve; web; sshd; forward
	measure echo "$1" ssh -F "$dir/ssh.conf" -p 2223 root@127.0.0.1 cat >"$out/echo.now" &
	local echo=$!
	note gap "$(measure fetch 127.0.0.1 8081 /huge "$1")"
	wait $echo || true
	if [ -s "$out/echo.now" ]; then note echo "$(cat "$out/echo.now")"; fi
}

# Row 5, on a veth pair without shaping.
processor() {
	local bytes=$1 seconds=$2 congestion=$3 before after
	congestion "$congestion"
	there bash "$here/cases.sh" congestion "$congestion"
	serve; web; perf_server; forward
	worker=$(pgrep -P "$nginx" | head -1)
	for _ in $(seq "$repeats"); do
		# curl ends before its time could be read: bash has that of its children.
		before=$(measure cpu "$serve" "$forward") nginx_before=$(measure cpu "$worker")
		TIMEFORMAT='%U %S'
		{ time note forward-mbit "$(curl_mbit "http://127.0.0.1:8081/$bytes")"; } 2>"$out/curl.time"
		after=$(measure cpu "$serve" "$forward") nginx_after=$(measure cpu "$worker")
		note forward-cpu "$(per_gb "$before" "$after" 0)"
		note forward-chain "$(per_gb "$(awk "BEGIN { print $before + $nginx_before }")" \
			"$(awk "BEGIN { print $after + $nginx_after }")" "$(awk '{ print $1 + $2 }' "$out/curl.time")")"
		before=$(measure cpu "$worker")
		{ time note plain-mbit "$(curl_mbit "http://${server%%,*}:8080/$bytes")"; } 2>"$out/curl.time"
		after=$(measure cpu "$worker")
		note plain-cpu "$(per_gb "$before" "$after" "$(awk '{ print $1 + $2 }' "$out/curl.time")")"
		perf_client "$seconds" >"$out/perf.now"
		note perf-mbit "$(cut -d' ' -f1 "$out/perf.now")"
		note perf-cpu "$(cut -d' ' -f2 "$out/perf.now")"
	done
}
per_gb() { awk "BEGIN { printf \"%.3f\n\", ($2 - $1 + $3) / ($bytes / 1e9) }"; }

# Row 6: what else carries connections, each at a port of its own; all stand, one at a time works.
# The routes name the congestion control: where it is not the host's own, namespaces may not set it by sysctl.
congestion() {
	local table route
	for table in main local 101 102; do
		{ ip -4 route show table "$table" 2>/dev/null || true; } | while read -r route; do
			# shellcheck disable=SC2086
			ip route change table "$table" $route congctl "$1"
		done
	done
}
ssh_beside() {
	ssh -F "$dir/ssh.conf" -N -L 8082:127.0.0.1:8080 -p 2222 "root@${server%%,*}" >>"$out/ssh.log" 2>&1 &
}
shadowsocks_beside() {
	there ip mptcp limits set subflow 4 add_addr_accepted 4
	ip mptcp limits set subflow 4 add_addr_accepted 4
	local address
	for address in ${server//,/ }; do
		[ "$address" = "${server%%,*}" ] || there ip mptcp endpoint add "$address" signal
	done
	there mptcpize run ss-server -s 0.0.0.0 -p 8388 -k bars -m aes-256-gcm >>"$out/ss.log" 2>&1 &
	mptcpize run ss-tunnel -s "${server%%,*}" -p 8388 -k bars -m aes-256-gcm -l 8083 -L 127.0.0.1:8080 >>"$out/ss.log" 2>&1 &
}
wireguard_end() {
	local enter=$1 own=$2 peers=$3 address=$4 allowed=$5 endpoint=$6
	$enter env WG_PROCESS_FOREGROUND=1 wireguard-go "wg$address" >>"$out/wg.log" 2>&1 &
	await $enter ip link show "wg$address"
	# shellcheck disable=SC2086
	$enter wg set "wg$address" listen-port 51820 private-key "$dir/wg-$own" peer "$(wg pubkey <"$dir/wg-$peers")" \
		allowed-ips "10.9.0.$allowed/32" $endpoint
	$enter ip address add "10.9.0.$address/24" dev "wg$address"
	$enter ip link set "wg$address" mtu 1420 up
}
wireguard_beside() {
	wireguard_end there server client 2 1 ""
	wireguard_end env client server 1 2 "endpoint ${server%%,*}:51820"
}
compete() {
	local seconds=$1 congestion=$2
	serve; web; sshd; forward
	wireguard_beside
	congestion "$congestion"
	there bash "$here/cases.sh" congestion "$congestion"
	ssh_beside; shadowsocks_beside
	for port in 8081 8082 8083; do await curl -sSf -o /dev/null "http://127.0.0.1:$port/1000"; done
	await curl -sSf -o /dev/null http://10.9.0.2:8080/1000
	# Whether Multipath TCP has its second path.
	timeout 3 curl -s --limit-rate 100k -o /dev/null http://127.0.0.1:8083/huge &
	sleep 2
	note subflows "$(there ss -HMni | grep -o 'subflows:[0-9]*' | sort | tail -n 1)"
	sleep 2
	for _ in $(seq "$repeats"); do
		race forward 127.0.0.1 8081
		race ssh 127.0.0.1 8082
		race shadowsocks 127.0.0.1 8083
		race wireguard 10.9.0.2 8080
	done
}
race() {
	local figures
	figures=$(measure fetch "$2" "$3" /huge "$seconds" || echo "1 0")
	# shellcheck disable=SC2086
	set -- "$1" $figures
	note "$1" "$(mbit "$3" "$2")"
	# What stands in queues is not the next one's burden.
	sleep 1
}

# Row 7.
browse() {
	serve; web; forward
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/chromium" \
		--proxy-server=socks5://127.0.0.1:1080 --proxy-bypass-list='<-loopback>' --timeout=20000 --virtual-time-budget=10000 \
		--dump-dom http://127.0.0.1:8080/page.html >"$out/dom" 2>"$out/chromium.log" || true
	note loaded "$(grep -o 'loaded [0-9]*' "$out/dom" | cut -d' ' -f2 || echo 0)"
	note requests "$(grep -c 'GET /object/[0-9]*.svg HTTP/1.1" 200' "$dir/access.log" || true)"
}

# Row 8 (a) and (b): connections live through what the scenario does. `back`: seconds from the command on when paths are back.
live_through() {
	local seconds=$1 back=${2:-} begun
	begun=$(date +%s.%N)
	serve; echo_server; forward
	note before "$(measure vitals "$forward") $(measure vitals "$serve")"
	note sequences "$(measure sequences 127.0.0.1 7001 20 "$seconds" 90 \
		"$(if [ -n "$back" ]; then awk "BEGIN { printf \"%.3f\", $begun + $back }"; else echo 0; fi)" 2>>"$out/lost")"
	sleep 3
	note after "$(measure vitals "$forward") $(measure vitals "$serve")"
}

# Row 8 (c): one end is killed and started again, many times; how long until a new connection works.
reborn() {
	local who=$1 other
	serve; web; forward
	[ "$who" = serve ] && other=$forward || other=$serve
	curl -sS -o /dev/null http://127.0.0.1:8081/1000000
	sleep 1
	note before "$(measure vitals "$other")"
	for _ in $(seq "$2"); do
		local begun
		# Connections that are in use when it happens.
		for _ in 1 2 3 4 5; do curl -sS -o /dev/null http://127.0.0.1:8081/huge 2>/dev/null & done
		sleep 1
		kill -9 "${!who}"
		wait "${!who}" 2>/dev/null || true
		begun=$(date +%s.%N)
		if [ "$who" = serve ]; then serve; else "$who"; fi
		note again "$(new_connection "$begun")"
	done
	sleep 20
	curl -sS -o /dev/null http://127.0.0.1:8081/1000000
	sleep 1
	note after "$(measure vitals "$other")"
}
# Row 8 (d): readers that go away in the middle of a download, while others are in the midst of something.
gone() {
	serve; web; echo_server; forward
	measure sequences 127.0.0.1 7001 20 "$1" 60 >"$out/sequences" 2>>"$out/lost" &
	local end=$((SECONDS + $1)) others=$!
	while [ $SECONDS -lt $end ]; do
		measure fetch 127.0.0.1 8081 /huge 0.7 >/dev/null 2>&1 || true
		note gone 1
	done
	wait $others
	note ended "$(grep -c '^disconnected' "$out/forward.now" || true)"
}
new_connection() {
	for _ in $(seq 300); do
		if curl -sSf -m 20 -o /dev/null http://127.0.0.1:8081/1000 2>/dev/null; then
			awk "BEGIN { printf \"%.2f\", $(date +%s.%N) - $1 }"
			return
		fi
		sleep 0.1
	done
	echo 99
}

"$@"
