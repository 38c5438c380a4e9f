#!/usr/bin/env bash
# Tries what tools/release.sh has made: each package is installed and run where there is nothing else.
#
#	tools/try-packages.sh [DIR]    those in DIR (without one dist/); as root
#
# The .deb in a fresh Debian (debootstrap; the suite is this machine's or SUITE, from MIRROR if that is set), static programs in an empty root, the
# image by buildah, what is for another processor by qemu's emulation. What cannot be tried is said in one line each.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath "${1:-dist}")
[ -e "$dist/SHA256SUMS" ] || { echo "$dist: nothing there (tools/release.sh makes it)" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "fresh roots need root" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
tried=0

step() { printf '\n== %s\n' "$*"; }
not_tried() { printf 'not tried: %s\n' "$*"; }
has() { command -v "$1" >/dev/null; }
fail() { printf 'failed: %s\n' "$*" >&2; exit 1; }

# works COMMAND...: a polypath that carries a real file, and that says which one it is.
works() {
	local version
	version=$("$@" --version) && [[ $version == "polypath "* ]] || fail "$* --version"
	"$@" demo >"$work/demo" 2>&1 </dev/null || { cat "$work/demo" >&2; fail "$* demo"; }
	grep -q 'all three, knapsack' "$work/demo" || fail "$* demo says something else"
	echo "${version%%$'\n'*}"
	tail -n 1 "$work/demo"
	tried=$((tried + 1))
}

# within ROOT COMMAND...: with a /proc that goes with the command; polypath reads its own file there.
within() { mkdir -p "$1/proc" && unshare --mount --pid --fork --root "$1" --mount-proc "${@:2}"; }

step "checksums"
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
echo "$(wc -l <"$dist/SHA256SUMS") files are as they were made"

try_deb() {
	local package=$1 root=$work/debian suite
	[[ $package == *_$(dpkg --print-architecture).deb ]] || { not_tried "$package: for another architecture"; return; }
	has debootstrap || { not_tried "$package: debootstrap is not installed"; return; }
	suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
	debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"} >"$work/log" 2>&1 ||
		{ not_tried "$package: debootstrap $suite: $(tail -n 1 "$work/log")"; return; }
	cp "$package" "$root/package.deb"
	DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -qq --no-install-recommends /package.deb >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2; fail "it cannot be installed"; }
	works within "$root" polypath
	# Minimal installations leave documentation out, so the package itself is asked.
	dpkg-deb --contents "$package" >"$work/contents"
	for file in usr/share/man/man1/polypath.1.gz usr/share/man/man1/polypath-simulate.1.gz \
		usr/share/bash-completion/completions/polypath usr/share/zsh/vendor-completions/_polypath \
		usr/share/fish/vendor_completions.d/polypath.fish usr/share/doc/polypath/copyright \
		usr/lib/systemd/system/polypath-serve.service usr/lib/systemd/user/polypath-forward@.service etc/polypath/serve.env; do
		grep -q "/$file\$" "$work/contents" || fail "$file is not in it"
	done
	dpkg-deb --info "$package" conffiles | grep -qx /etc/polypath/serve.env || fail "serve.env is no conffile"
	chroot "$root" bash -c '. /usr/share/bash-completion/completions/polypath && complete -p polypath' >/dev/null ||
		fail "bash cannot read its completions"
	chroot "$root" dpkg --purge polypath >/dev/null
	[ ! -e "$root/usr/bin/polypath" ] || fail "it cannot be removed"
}

# In a root with nothing else: no library, no shell.
try_archive() {
	local root=$work/empty emulator=
	rm -rf "$root"
	mkdir "$root"
	tar -xzf "$1" -C "$work"
	cp "$work/$(basename "$1" .tar.gz)/polypath" "$root/polypath"
	if [[ $1 == *-aarch64-* && $(uname -m) != aarch64 ]]; then
		emulator=$(command -v qemu-aarch64-static) || { not_tried "$1: qemu-aarch64-static is not installed"; return; }
		cp "$emulator" "$root/emulator"
		works within "$root" /emulator /polypath
	else
		works within "$root" /polypath
	fi
}

try_image() {
	has buildah || { not_tried "$1: buildah is not installed"; return; }
	local container
	in_storage() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
	container=$(in_storage from "oci-archive:$1")
	works in_storage run --isolation chroot "$container" -- /polypath
	in_storage rm "$container" >/dev/null
}

shopt -s nullglob
for package in "$dist"/*.deb; do step "$(basename "$package")"; try_deb "$package"; done
for package in "$dist"/*.tar.gz; do step "$(basename "$package")"; try_archive "$package"; done
for package in "$dist"/*-oci-*.tar; do step "$(basename "$package")"; try_image "$package"; done
step "$tried tried"
[ "$tried" != 0 ]
