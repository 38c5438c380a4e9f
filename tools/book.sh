#!/usr/bin/env bash
# Builds the handbook (docs/) as HTML in target/book, and opens it where there is a screen.
#
#	tools/book.sh             build and open
#	tools/book.sh --no-open   build
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v mdbook >/dev/null; then
	echo "tools/book.sh: mdbook is missing: cargo install mdbook" >&2
	exit 1
fi
mdbook build
page=target/book/index.html
echo "$page"
if [ "${1:-}" != --no-open ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
	xdg-open "$page"
fi
