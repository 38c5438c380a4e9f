#!/usr/bin/env bash
# Makes what is given to people who do not build: packages, with checksums and a list of all that is in them.
#
#	tools/release.sh [--out DIR]    into DIR (without one dist/, which git ignores)
#
#	polypath_VERSION_ARCH.deb              for this machine's architecture, with manual pages and completions (cargo-deb)
#	polypath-VERSION-TARGET.tar.gz         a program that needs no library, for x86-64 and arm64
#	polypath-VERSION-oci-amd64.tar         an image with that program and nothing else (buildah)
#	polypath-VERSION.cdx.json              what it is built from: CycloneDX (cargo-sbom)
#	SHA256SUMS
#
# What cannot be built here is skipped, in one line each, which is said again at the end. tools/try-packages.sh tries what was made.
set -euo pipefail
cd "$(dirname "$0")/.."

out=dist
while [ $# != 0 ]; do
	case $1 in
	--out) out=${2:?--out takes a folder}; shift 2 ;;
	*) echo "$1: unknown (allowed: --out DIR)" >&2; exit 2 ;;
	esac
done
mkdir -p "$out"
out=$(realpath "$out")
rm -f "$out"/polypath[-_]* "$out/SHA256SUMS"

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
target_folder=${CARGO_TARGET_DIR:-$PWD/target}
# crates/cli/Cargo.toml has it, too.
files=$PWD/target/package-files
host=$(rustc -vV | sed -n 's/^host: //p')
# The same sources make the same packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
skipped=()

step() { printf '\n== %s\n' "$*" >&2; }
skip() { printf 'skipped: %s\n' "$*" >&2; skipped+=("$*"); }
has_std() { [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; }
has() { command -v "$1" >/dev/null; }

build() { cargo build --quiet --locked --profile dist -p polypath-cli "$@"; }

# Pages and completions that the program makes of its own description.
make_files() {
	rm -rf "$files"
	mkdir -p "$files/man"
	"$1" --quiet man "$files/man"
	"$1" completions bash >"$files/polypath.bash"
	"$1" completions zsh >"$files/_polypath"
	"$1" completions fish >"$files/polypath.fish"
}

make_deb() {
	has cargo-deb || { skip ".deb: cargo-deb is not installed (cargo install cargo-deb)"; return; }
	cargo deb --quiet --no-build --profile dist -p polypath-cli --output "$out" >/dev/null
}

# make_archive TARGET: of the program that was built for it, which must be static.
make_archive() {
	local name=polypath-$version-$1 program=$target_folder/$1/dist/polypath folder
	if readelf -lW "$program" | grep -q INTERP; then echo "$program needs a loader" >&2; exit 1; fi
	folder=$(mktemp -d)
	mkdir "$folder/$name"
	cp "$program" LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$folder/$name/"
	cp crates/cli/README.md "$folder/$name/README.md"
	cp -r "$files" "$folder/$name/share"
	cp -r packaging/systemd "$folder/$name/systemd"
	tar -C "$folder" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$name" | gzip -n >"$out/$name.tar.gz"
	rm -rf "$folder"
}

# static_target ARCH COMPILER: the target whose standard library is installed, musl's first.
static_target() {
	if has_std "$1-unknown-linux-musl" && has "$2"; then
		echo "$1-unknown-linux-musl"
	elif has_std "$1-unknown-linux-gnu"; then
		echo "$1-unknown-linux-gnu"
	fi
}

# build_static TARGET [LINKER]. musl is linked in unless one says otherwise, glibc if one says so; with that, names of hosts are looked
# up with the libraries of the machine that it runs on.
build_static() (
	variable=${1//-/_}
	[ -z "${2:-}" ] || export "CARGO_TARGET_${variable^^}_LINKER=$2"
	[[ $1 == *-musl ]] || export "CARGO_TARGET_${variable^^}_RUSTFLAGS=-C target-feature=+crt-static"
	build --target "$1"
)

make_image() {
	has buildah || { skip "image: buildah is not installed"; return; }
	local storage container image=$out/polypath-$version-oci-amd64.tar
	storage=$(mktemp -d)
	in_storage() { buildah --root "$storage/root" --runroot "$storage/run" --storage-driver vfs "$@"; }
	container=$(in_storage from scratch)
	in_storage copy --quiet "$container" "$target_folder/$1/dist/polypath" /polypath >/dev/null
	in_storage config --arch amd64 --os linux --entrypoint '["/polypath"]' --workingdir / \
		--label "org.opencontainers.image.title=polypath" --label "org.opencontainers.image.version=$version" \
		--label "org.opencontainers.image.licenses=MIT OR Apache-2.0" "$container"
	in_storage commit --quiet --rm --timestamp "$SOURCE_DATE_EPOCH" "$container" "oci-archive:$image:polypath:$version" >/dev/null
	rm -rf "$storage"
}

make_sbom() {
	has cargo-sbom || { skip "SBOM: cargo-sbom is not installed (cargo install cargo-sbom)"; return; }
	cargo sbom --cargo-package polypath-cli --output-format cyclone_dx_json_1_6 >"$out/polypath-$version.cdx.json"
}

step "the program, for $host"
build
make_files "$target_folder/dist/polypath"
step ".deb"
make_deb

step "static, for x86-64"
x86=$(static_target x86_64 musl-gcc)
case $x86 in
*-gnu) skip "x86_64-unknown-linux-musl: its standard library or musl-gcc is not installed; linked with glibc in its place" ;;
"") skip "static for x86-64: no standard library of Rust for it is installed (rustup target add x86_64-unknown-linux-musl)" ;;
esac
if [ -n "$x86" ] && build_static "$x86"; then
	make_archive "$x86"
	step "image"
	make_image "$x86"
else
	skip "archive and image for x86-64: there is no static program"
fi

step "static, for arm64"
arm=$(static_target aarch64 aarch64-linux-musl-gcc)
compiler=aarch64-linux-gnu-gcc
case $arm in *-musl) compiler=aarch64-linux-musl-gcc ;; esac
if [ -z "$arm" ]; then
	skip "arm64: no standard library of Rust for it is installed (rustup target add aarch64-unknown-linux-gnu)"
elif ! has "$compiler"; then
	skip "arm64: there is no $compiler"
elif build_static "$arm" "$compiler"; then
	make_archive "$arm"
else
	skip "arm64: it could not be built"
fi

step "what is in it"
make_sbom

step "made"
(cd "$out" && sha256sum polypath[-_]* >SHA256SUMS && cat SHA256SUMS)
for line in "${skipped[@]}"; do echo "skipped: $line"; done
