#!/usr/bin/env bash
# Builds the wheel, installs it in an empty environment, and tries module and command there: tools/wheel.sh [FOLDER] [PROFILE].
# Needs Python 3.10, and maturin, which a virtual environment of its own gets if there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="${1:-dist}"
profile="${2:-release}"
python="${POLYPATH_PYTHON:-python3}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! "$python" -m maturin --version >/dev/null 2>&1; then
	"$python" -m venv "$scratch/maturin"
	python="$scratch/maturin/bin/python"
	"$python" -m pip install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2'
fi
"$python" -m maturin build --quiet --locked --profile "$profile" --out "$folder"
wheel=$(ls -t "$folder"/polypath-*.whl | head -n 1)
"$python" -m venv "$scratch/empty"
"$scratch/empty/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cd "$scratch"
"$scratch/empty/bin/polypath" simulate three-dissimilar --json >/dev/null
"$scratch/empty/bin/python" -c 'import polypath; assert polypath.Scenario.load("three-dissimilar").run(1).goodput > 1e6'
echo "$wheel"
