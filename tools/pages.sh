#!/usr/bin/env bash
# Makes the pages of results anew: docs/results, the comparison of schedulers, and README's count of claims. About an hour on two
# cores; runs that were made before are found in the folder of results (the first argument, "results" without one).
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-results}

polypath() { cargo run --quiet --release -p polypath-cli -- "$@"; }

# The papers: what the claims of S0, S1, ... say, and what became of them.
polypath reproduce S0 S1 S2 S3 S4 S5 --out "$out/papers" >/dev/null
cp "$out"/papers/summary/*.md docs/results/
# Ours beside the published schedulers.
polypath reproduce P-any-order P-one-stream P-streams --no-sensitivity --out "$out/schedulers" --tables docs/evidence >/dev/null

# README and the index of evidence count all claims.
counts=$(awk -F'|' '/^\| all \|/ { gsub(/ /, ""); print $3, $4, $5, $6 }' docs/results/README.md)
read -r claims hold not unclear <<<"$counts"
sed -i -E "s/^Of the [0-9]+ claims of six papers .* are unclear/Of the $claims claims of six papers $hold hold in its lab, $not do not, and $unclear are unclear/" README.md
sed -i -E "s/\\[[0-9]+ of [0-9]+ hold, [0-9]+ do not, [0-9]+ are unclear\\]/[$hold of $claims hold, $not do not, $unclear are unclear]/" docs/evidence/README.md
