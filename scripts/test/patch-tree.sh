#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: scripts/test/patch-tree.sh
#
# Tests scripts/patch-tree on a tree made of the files that the series touches:
# patch, git am and quilt push -a give the same files, unpatch gives back what
# was there, and every refusal leaves the tree byte by byte as it was.

# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../lib.sh"
help_if_asked "$@"
need git quilt patch
"$top/scripts/ktree" >/dev/null 2>&1 || { echo "1..0 # no kernel tree"; exit 1; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mapfile -t series < <(series_files series)
mapfile -t touched < <(cd "$patches" && sed -n 's,^--- a/\([^	]*\).*,\1,p' "${series[@]}" | sort -u)

# The pristine tree: files of the base that the series touches, its Makefile,
# and one file more, which nothing may touch.
mkdir "$tmp/pristine"
mapfile -t there < <(cd "$linux" && git ls-tree --name-only -r base -- "${touched[@]}")
git -C "$linux" archive base -- Makefile arch/arm64/Makefile "${there[@]}" | tar -x -C "$tmp/pristine"

n=0 bad=0
result() { # NAME STATUS
	((n += 1))
	if (($2 == 0)); then
		echo "ok $n $1"
	else
		echo "not ok $n $1"
		sed 's/^/# /' "$tmp/out"
		bad=1
	fi
}
fresh() { rm -rf "$tmp/t"; cp -a "$tmp/pristine" "$tmp/t"; }
fresh_git() {
	fresh
	git -C "$tmp/t" init -q
	git -C "$tmp/t" add -A
	git -C "$tmp/t" -c user.name=t -c user.email=t@localhost commit -qm base
}
hash_of() { (cd "$1" && find . -path ./.git -prune -o -path ./.pc -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum); }
run_it() { "$top/scripts/patch-tree" "$@" >"$tmp/out" 2>&1; }
# refused NAME PATTERN patch|unpatch: fails, says why, and changes nothing.
refused() {
	local before rc=0
	before=$(hash_of "$tmp/t")
	if run_it "$3" "$tmp/t"; then rc=1; fi
	grep -qE "$2" "$tmp/out" || rc=1
	[[ $(hash_of "$tmp/t") == "$before" ]] || rc=1
	result "$1" "$rc"
}
check() { # NAME COMMAND...
	local name=$1 rc=0
	shift
	"$@" || rc=1
	result "$name" "$rc"
}

echo "TAP version 13"
echo "1..20"
pristine=$(hash_of "$tmp/pristine")

fresh
check "a plain tree is patched" run_it patch "$tmp/t"
patched=$(hash_of "$tmp/t")
check "something changed" test "$patched" != "$pristine"
refused "a patched tree is not patched again" 'patched already' patch
check "and unpatched" run_it unpatch "$tmp/t"
check "which gives back what was there" test "$(hash_of "$tmp/t")" = "$pristine"
refused "an unpatched tree is not unpatched" 'is not patched' unpatch

fresh_git
check "a git tree is patched" run_it patch "$tmp/t"
check "to the same files" test "$(hash_of "$tmp/t")" = "$patched"
check "and unpatched, changes not committed notwithstanding" run_it unpatch "$tmp/t"
check "leaving nothing" test -z "$(git -C "$tmp/t" status --porcelain)"

git -C "$tmp/t" -c user.name=t -c user.email=t@localhost am -q "${series[@]/#/$patches/}" >"$tmp/out" 2>&1 || true
check "git am gives the same files" test "$(hash_of "$tmp/t")" = "$patched"
fresh
(cd "$tmp/t" && QUILT_PATCHES=$patches quilt --quiltrc - push -a --fuzz=0) >"$tmp/out" 2>&1 || true
check "quilt push -a gives the same files" test "$(hash_of "$tmp/t")" = "$patched"

fresh
sed -i 's/^PATCHLEVEL = .*/PATCHLEVEL = 6/' "$tmp/t/Makefile"
refused "another version is refused" 'is for Linux' patch
fresh
sed -i 's/^SUBLEVEL = .*/SUBLEVEL = 1/' "$tmp/t/Makefile"
check "another point release will do if all applies" run_it patch "$tmp/t"
check "but it is told" grep -q NOTE "$tmp/out"

# The last of the files, so that the patches before would have applied.
victim=$(cd "$patches" && sed -n 's,^--- a/\([^	]*\).*,\1,p' "${series[-1]}" | grep -v '^/dev/null' | tail -n 1)
fresh
sed -i 's/^/x/' "$tmp/t/$victim"
refused "a patch that does not apply is refused, and named" '\.patch does not apply' patch
fresh
run_it patch "$tmp/t"
sed -i 's/^/x/' "$tmp/t/$victim"
refused "a patch that does not come off is refused" '\.patch does not come off' unpatch
fresh_git
echo >>"$tmp/t/$victim"
refused "changes not committed are refused" 'not committed' patch
rm -rf "$tmp/t"
mkdir "$tmp/t"
echo hello >"$tmp/t/file"
refused "what is no kernel tree is refused" 'not a Linux kernel tree' patch
rm -rf "$tmp/t"
if run_it patch "$tmp/t"; then : >"$tmp/out"; fi
check "a directory that is not there is told" grep -q "no such directory" "$tmp/out"
exit "$bad"
