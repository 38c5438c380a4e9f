#!/usr/bin/env bash
# Everything that must hold before a change lands: formatting, lints, tests, documentation, licences.
# Needs git and a stable Rust toolchain; cargo fetches the rest. Run it from anywhere in the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*" >&2; }

# Where nothing was built yet there is nothing to build upon, and keeping that for the next time costs time. So does what debuggers read:
# a test that fails names its line without.
[ -d "${CARGO_TARGET_DIR:-target}" ] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_DEBUG=0

step "formatting"
if cargo fmt --version >/dev/null 2>&1; then cargo fmt --all --check; else echo "rustfmt is not installed: skipped" >&2; fi
step "defences that can be switched off"
bash tools/mutants.sh --check
step "tests"
# As root nothing may be skipped for want of rights or programs.
if [ "$(id -u)" = 0 ]; then
	export POLYPATH_REQUIRE_ROOT=1
	missing=()
	command -v ip >/dev/null && command -v tc >/dev/null || missing+=(iproute2)
	command -v nft >/dev/null || missing+=(nftables)
	command -v cc >/dev/null && command -v make >/dev/null || missing+=(build-essential)
	command -v tshark >/dev/null || missing+=(tshark)
	command -v parallel >/dev/null || missing+=(parallel)
	command -v curl >/dev/null || missing+=(curl)
	[ -e /usr/include/usrsctp.h ] || missing+=(libusrsctp-dev)
	if [ ${#missing[@]} != 0 ]; then
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	fi
fi
# The Python package is tested where there is a Python for it; as root it is not skipped, either.
target="${CARGO_TARGET_DIR:-$PWD/target}"
install_python() {
	python3 -c 'import sys; assert sys.version_info >= (3, 10)' || return 1
	[ -x "$target/python/bin/pip" ] || python3 -m venv "$target/python" || return 1
	"$target/python/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-test.txt
}
python_log=$(mktemp)
install_python >"$python_log" 2>&1 &
python_pid=$!
cargo test --workspace --quiet --no-run
if wait $python_pid; then
	export POLYPATH_PYTHON="$target/python/bin/python" POLYPATH_REQUIRE_PYTHON=1
elif [ "$(id -u)" = 0 ]; then
	cat "$python_log" >&2
	exit 1
else
	echo "there is no Python 3.10 with what its tests need: skipped" >&2
fi
rm -f "$python_log"

# A test program that hangs is ended, and with it all that it has started: the longest takes a few minutes.
if [ ! -t 1 ] && command -v timeout >/dev/null; then
	host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
	export "CARGO_TARGET_${host}_RUNNER=timeout --kill-after=10 900"
fi

# Tests wait for real time and for each other, so a processor is often idle: what mostly compiles goes on beside them, at the
# lowest priority.
compile_beside_tests() {
	renice -n 19 $BASHPID >/dev/null 2>&1 || true
	step "an application outside of the workspace"
	# Its dependencies are the workspace's, version by version; so nothing is fetched.
	cp Cargo.lock tests/outside/Cargo.lock
	CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" cargo run --quiet --offline --manifest-path tests/outside/Cargo.toml >/dev/null
	step "documentation"
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	step "fuzzing, some seconds for each target"
	# They are a workspace of their own, so nothing above has seen them.
	if command -v c++ >/dev/null; then
		bash tools/fuzz.sh 5
	else
		echo "there is no C++ compiler: only checked whether they compile" >&2
		CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" cargo check --quiet --manifest-path fuzz/Cargo.toml
	fi
	if [ -n "${POLYPATH_PYTHON:-}" ]; then
		step "the wheel"
		bash tools/wheel.sh "$target/wheels" dev
	fi
	step "lints"
	if cargo clippy --version >/dev/null 2>&1; then cargo clippy --workspace --all-targets --quiet -- -D warnings; else echo "clippy is not installed: skipped" >&2; fi
}
beside=$(mktemp)
(set -e; compile_beside_tests) >"$beside" 2>&1 &
beside_pid=$!
trap 'kill $beside_pid 2>/dev/null || true; rm -f "$beside"' EXIT
cargo test --workspace --quiet
wait $beside_pid || { cat "$beside" >&2; exit 1; }
cat "$beside" >&2
step "packages"
if [ -n "$(git status --porcelain 2>/dev/null)" ]; then dirty=--allow-dirty; else dirty=; fi
# The Python package's crate is published as a wheel: packages of crates cannot depend on the testkit as that does.
cargo package --workspace --exclude polypath-python --no-verify --quiet --offline $dirty
step "runs in a browser"
# rustup target add wasm32-unknown-unknown, or Debian's rustc-web with libstd-rust-web-dev-wasm32.
web=wasm32-unknown-unknown
if [ -d "$(rustc --print sysroot)/lib/rustlib/$web/lib" ]; then
	cargo check --quiet -p polypath-run --target "$web"
else
	echo "the target $web is not installed: skipped" >&2
fi
step "licences"
if cargo deny --version >/dev/null 2>&1; then cargo deny --offline check licenses bans; else echo "cargo-deny is not installed: skipped" >&2; fi
step "known vulnerabilities"
# The database is not fetched here: cargo deny fetch does it.
if ! cargo deny --version >/dev/null 2>&1; then
	echo "cargo-deny is not installed: skipped" >&2
elif [ -z "$(ls -A "${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs 2>/dev/null)" ]; then
	echo "there is no database of advisories (cargo deny fetch): skipped" >&2
else
	cargo deny --offline check advisories
fi
