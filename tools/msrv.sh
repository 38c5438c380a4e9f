#!/usr/bin/env bash
# Builds what is published with the oldest Rust that Cargo.toml promises. rustup fetches it where it is not installed; where that cannot
# be done, it is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
if ! rustup run "$oldest" rustc --version >/dev/null 2>&1 &&
	! rustup toolchain install "$oldest" --profile minimal --no-self-update >/dev/null 2>&1; then
	echo "Rust $oldest is not to be had here: skipped" >&2
	exit 0
fi
# All others that are published are below these.
rustup run "$oldest" cargo check --locked --quiet -p polypath -p polypath-cli -p polypath-testkit --all-features
rustup run "$oldest" rustc --version
