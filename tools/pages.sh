#!/usr/bin/env bash
# Makes the pages of results anew: docs/results, the comparison of schedulers, and README's table of claims. About an hour on two
# cores; runs that were made before are found in the folder of results (the first argument, "results" without one).
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-results}

polypath() { cargo run --quiet --release -p polypath-cli -- "$@"; }

# The papers: what the claims of S0, S1, ... say, and what became of them.
polypath reproduce S0 S1 S2 S3 S4 S5 --out "$out/papers" >/dev/null
cp "$out"/papers/summary/*.md docs/results/
# Ours beside the published schedulers.
polypath reproduce P-any-order P-one-stream P-streams --no-sensitivity --out "$out/schedulers" --tables docs >/dev/null

# README has the table of claims, with links from where it stands.
table=$(grep '^|' docs/results/README.md | sed 's#](#](docs/results/#')
awk -v table="$table" '
	/^\| paper \| claims \|/ { print table; within = 1 }
	within && !/^\|/ { within = 0 }
	!within { print }
' README.md >README.md.new
mv README.md.new README.md
