#!/usr/bin/env bash
# How many words the names of functions have, crate by crate, and which public types of a crate share a name.
#
#	tools/names.sh            prints the table
#	tools/names.sh --check    fails where more names than allowed have one word, or two public types of a crate one name
#
# Counted are functions outside tests, but for those in `impl Trait for ...`: whoever wrote the trait chose their names.
set -euo pipefail
cd "$(dirname "$0")/.."
check=
[ "${1:-}" != --check ] || check=1

# Prints "fn NAME" and "type NAME FILE" for each function and each public type of the files, as rustfmt lays them out.
read_names() {
	awk '
		FNR == 1 { skipping = 0; in_trait_impl = 0; test_next = 0 }
		skipping { next }
		/^ *#\[cfg\(test\)\]/ { test_next = 1; next }
		test_next && /^ *#\[/ { next }
		test_next && /^ *(pub(\([a-z]+\))? )?mod [a-z_0-9]+ \{/ { skipping = 1; next }
		test_next { test_next = 0; next }
		/^impl.* for / { in_trait_impl = 1 }
		/^}/ { in_trait_impl = 0 }
		!in_trait_impl && match($0, /^ *(pub(\([a-z]+\))? )?(const )?(async )?(unsafe )?fn [a-z_0-9]+/) {
			name = substr($0, RSTART, RLENGTH); sub(/.*fn /, "", name); print "fn", name
		}
		match($0, /^pub (struct|enum|union|trait|type) [A-Za-z0-9]+/) {
			name = substr($0, RSTART, RLENGTH); sub(/.* /, "", name); print "type", name, FILENAME
		}
	' "$@"
}

bad=0
printf '%-12s %10s %9s %10s %14s\n' crate functions 'one word' 'two words' 'three or more'
for manifest in crates/*/Cargo.toml interop/Cargo.toml; do
	folder=${manifest%/Cargo.toml}
	crate=${folder##*/}
	files=$(git ls-files "$folder/src" | grep '\.rs$' | grep -vE '(^|/)([a-z_]*_)?tests(\.rs|/)' || true)
	[ -n "$files" ] || continue
	# shellcheck disable=SC2086
	names=$(read_names $files)
	most=45
	[ "$crate" != proto ] || most=35
	awk -v crate="$crate" -v most="$most" -v check="$check" '
		$1 == "fn" { sub(/^_+/, "", $2); words = gsub(/_+/, "_", $2) + 1; all++; count[words > 3 ? 3 : words]++ }
		END {
			share = all ? 100 * count[1] / all : 0
			over = check && share > most ? sprintf("  more than %d %% have one word", most) : ""
			printf "%-12s %10d %7.0f %% %8.0f %% %12.0f %%%s\n", crate, all, share, all ? 100 * count[2] / all : 0, all ? 100 * count[3] / all : 0, over
			exit over != ""
		}
	' <<<"$names" || bad=1
	twice=$(awk '$1 == "type" { files[$2] = files[$2] " " $3; count[$2]++ } END { for (name in count) if (count[name] > 1) print "  " name ":" files[name] }' <<<"$names" | sort)
	if [ -n "$twice" ]; then
		printf '%s\n' "$twice"
		[ -z "$check" ] || bad=1
	fi
done
exit "$bad"
