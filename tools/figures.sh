#!/usr/bin/env bash
# Draws the figures of the handbook (docs/figures) anew: each by commands that a reader can type, too. A minute or two on two cores.
# Needs jq; POLYPATH names the program (without it the one on the search path).
set -euo pipefail
cd "$(dirname "$0")/.."
figures=$PWD/docs/figures
scenarios=$PWD/scenarios
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=$(command -v "${POLYPATH:-polypath}") || { echo "tools/figures.sh: there is no ${POLYPATH:-polypath} (POLYPATH names the program)" >&2; exit 1; }
command -v jq >/dev/null || { echo "tools/figures.sh: jq is missing" >&2; exit 1; }
polypath() { "$program" --quiet "$@"; }

# What a sender sees of two paths: smoothed round-trip times and windows.
draw_paths() {
	polypath simulate lte-wifi --trace "$work/lte-wifi.jsonl" >/dev/null
	polypath plot "$work/lte-wifi.jsonl" --y srtt,cwnd --where host=server \
		--title 'LTE (path 0) and Wi-Fi (path 1), as the sender sees them' --out "$figures/paths.svg"
}

# Goodput over the receive buffer, by path scheduler.
draw_receive_buffer() {
	polypath sweep "$scenarios/benchmarks/ablation.toml" --set stack.profile=fast \
		--axis stack.receive-buffer=32KiB..320KiB/32KiB --axis stack.path-scheduler=rr,min-rtt,knapsack \
		--seeds 3 --out "$work/receive-buffer" --plot "$figures/receive-buffer.svg" >/dev/null
}

# SFR, CUC and DAC, switched off one at a time, over the loss of both paths.
draw_cmt() {
	cat "$scenarios/benchmarks/ablation.toml" - >"$work/cmt.toml" <<-'END'

		[[sweep]]
		name = "switched off"
		cases = [
		    { label = "nothing", set = { "stack.sfr" = true } },
		    { label = "SFR", set = { "stack.sfr" = false } },
		    { label = "CUC", set = { "stack.cuc" = "off" } },
		    { label = "DAC", set = { "stack.dac" = false } },
		]
		[[sweep]]
		name = "loss"
		set = ["path.A.loss", "path.B.loss"]
		values = ["0%", "0.1%", "0.25%", "0.5%", "1%", "2%"]
	END
	polypath sweep "$work/cmt.toml" --seeds 4 --set time.measure=60s --out "$work/cmt" --plot "$figures/cmt.svg" >/dev/null
}

# acknowledged NAME [SETTINGS]: data acknowledged in order around the cut of a path at 5 s, in steps of 50 ms, MB.
acknowledged() {
	local name=$1
	shift
	polypath simulate "$scenarios/examples/path-failure.toml" --set path.A.delay=45ms --set path.B.delay=45ms "$@" --trace - 2>/dev/null |
		jq -rn --arg name "$name" '
			[inputs | select(.event == "sack") | [.at / 1e9, .cumulative_tsn]] as $sacks
			| ([$sacks[] | select(.[0] < 4.8) | .[1]] | last) as $base
			| range(0; 41) | (4.8 + 0.05 * .) as $time
			| ([$sacks[] | select(.[0] <= $time) | .[1]] | max) as $tsn
			| [$name, $time, ($tsn - $base) * 1452 / 1e6] | @csv'
}

# What a path's death costs, by what the stack has.
draw_failover() {
	{
		echo stack,time,acknowledged
		acknowledged fast --set stack.profile=fast
		acknowledged 'fast without rescheduling' --set stack.profile=fast --set stack.rescheduling=off
		acknowledged 'paper with PF' --set stack.profile=paper --set stack.pf=true
		acknowledged paper --set stack.profile=paper
	} >"$work/failover.csv"
	polypath plot "$work/failover.csv" --x time --y acknowledged --curves stack --x-label 'time, s' \
		--y-label 'acknowledged in order since 4.8 s, MB' --title 'Path B is cut at 5 s: 2 x 10 Mbit/s, 45 ms one way' \
		--out "$figures/failover.svg"
}

# The share of the limit over the buffer, by path scheduler.
draw_knapsack_buffers() {
	cat >"$work/knapsack-buffers.toml" <<-'END'
		[path.near]
		rate = "10Mbit/s"
		delay = "10ms"

		[path.far]
		rate = "10Mbit/s"
		delay = "75ms"

		[stack]
		profile = "fast"

		[[flow]]
		app = "saturated"
		unordered = true

		[time]
		settle = "15s"
		measure = "15s"

		[[sweep]]
		name = "buffer"
		set = ["stack.send-buffer", "stack.receive-buffer"]
		values = ["32KiB", "64KiB", "96KiB", "128KiB", "192KiB", "256KiB", "288KiB"]

		[[sweep]]
		name = "scheduler"
		set = ["stack.path-scheduler"]
		values = ["rr", "min-rtt", "blest", "ecf", "knapsack"]
	END
	polypath sweep "$work/knapsack-buffers.toml" --seeds 2 --metric limit-share --out "$work/knapsack-buffers" \
		--plot "$figures/knapsack-buffers.svg" >/dev/null
}

# A path that changes every 5 s: what it admits, and what is sent on it.
draw_changing_paths() {
	cat >"$work/changing-paths.toml" <<-'END'
		[path.A]
		rate = "16Mbit/s"
		delay = "20ms"

		[path.B]
		rate = "10Mbit/s"
		delay = "50ms"

		[[every]]
		target = "A"
		period = "5s"
		rate = ["16Mbit/s", "4Mbit/s", "10Mbit/s"]

		[stack]
		profile = "fast"
		send-buffer = "256KiB"
		receive-buffer = "256KiB"

		[[flow]]
		app = "saturated"
		unordered = true

		[time]
		settle = "5s"
		measure = "25s"
	END
	{
		jq -cn '[16, 4, 10, 16, 4, 10] | to_entries[] | {flow: "path A admits", at: (.key * 5e9), pacing_rate: (.value * 1.21e5)}'
		polypath simulate "$work/changing-paths.toml" --trace - 2>/dev/null | grep '^{.*"event":"sent","path":0' |
			jq -nc 'reduce inputs as $e ({}; .[$e.at / 2.5e8 | floor | tostring] += $e.bytes) | to_entries[]
				| {flow: "sent on path A", at: ((.key | tonumber) * 2.5e8), pacing_rate: (.value * 4)}'
	} >"$work/changing-paths.jsonl"
	polypath plot "$work/changing-paths.jsonl" --y pacing_rate --y-label 'payload rate' --title 'A path that changes every 5 s' \
		--out "$figures/changing-paths.svg"
}

# block PAGE FILE: the here-document that a page has its readers write.
block() { sed -n "/^cat > $2 <<'END'\$/,/^END\$/p" "docs/tutorials/$1.md" | sed '1d;$d'; }

# The figures of the tutorials.
draw_first_experiment() (
	block first-experiment uplinks.toml >"$work/uplinks.toml"
	cd "$work"
	polypath sweep uplinks.toml --axis path.lte.delay=10ms..90ms/20ms --axis stack.path-scheduler=rr,min-rtt,knapsack >/dev/null
	polypath plot results/uplinks/runs.csv --bands --out "$figures/first-experiment.svg" \
		--title 'Goodput by delay of LTE and scheduler' --x-label 'Delay of LTE, one way' --y-label Goodput
)

draw_repeat_a_figure() {
	polypath reproduce S1-F3 --seeds 8 --no-sensitivity --out "$work/papers" >/dev/null
	cp "$work/papers/S1-F3/F3.svg" "$figures/repeat-a-figure.svg"
}

# The lossy path's window in two runs that differ in their seeds.
draw_determinism() {
	local seed
	for seed in 7 8; do
		polypath simulate lossy-second-path --seed "$seed" --set time.settle=1s --set time.measure=2s --trace - 2>/dev/null |
			sed "s/\"flow\":\"[^\"]*\"/\"flow\":\"seed $seed\"/"
	done | grep '"path":1' | grep '"host":"client"' >"$work/determinism.jsonl"
	polypath plot "$work/determinism.jsonl" --y cwnd --title 'The lossy path, two seeds' --out "$figures/determinism.svg"
}

# Figure 4 of S1 beside ns-2's results.
draw_verification() {
	polypath reproduce S1-F4 --no-sensitivity --out "$work/verification" >/dev/null
	cp "$work/verification/S1-F4/F4a.svg" "$figures/verification.svg"
}

if [ $# = 0 ]; then
	set -- paths receive-buffer cmt failover knapsack-buffers changing-paths first-experiment repeat-a-figure determinism verification bbr-states
fi
for figure; do
	echo "$figure" >&2
	case $figure in
	bbr-states) cargo run --quiet --release -p polypath-report --example bbr_states >"$figures/bbr-states.svg" ;;
	*)
		declare -F "draw_${figure//-/_}" >/dev/null || { echo "$figure: no figure has this name (without one: all)" >&2; exit 2; }
		"draw_${figure//-/_}"
		;;
	esac
done
