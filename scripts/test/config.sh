#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: scripts/test/config.sh
#
# Tests what scripts/build-kernel does about configurations: a mode that is not
# there is refused with the list of those that are, and a requested line that
# does not reach .config fails by name, "=n" lines too.

# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../lib.sh"
help_if_asked "$@"
"$top/scripts/ktree" >/dev/null 2>&1 || { echo "1..0 # no kernel tree"; exit 1; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
p=$tmp/project
mkdir -p "$p/build"
cp -r "$top/scripts" "$p/scripts"
cp -r "$top/configs" "$p/configs"
config() { "$p/scripts/build-kernel" --config --tree "$linux" --out "$tmp/out" "$@" >"$tmp/said" 2>&1; }
n=0 bad=0
ok() { # NAME STATUS
	((n += 1))
	if (($2 == 0)); then
		echo "ok $n $1"
	else
		echo "not ok $n $1"
		sed 's/^/# /' "$tmp/said"
		bad=1
	fi
}
fails_with() { # PATTERN ARG...
	local pattern=$1
	shift
	if config "$@"; then return 1; fi
	grep -qE "$pattern" "$tmp/said"
}
try() { # NAME COMMAND...
	local name=$1 rc=0
	shift
	"$@" || rc=1
	ok "$name" "$rc"
}

echo "TAP version 13"
try "an unknown mode is refused, and the modes are named" fails_with "unknown mode '5k'; the modes are: 4k 16k" 5k
while read -r m; do
	try "the mode $m reaches all it requests" config "$m" </dev/null
done < <(sed -n 's/^\([^#: ]*\):.*/\1/p' "$top/configs/$base/modes")
echo 'CONFIG_NOT_AN_OPTION=y' >>"$p/configs/$base/mandatory.config"
try "an option that does not exist fails by name" fails_with 'CONFIG_NOT_AN_OPTION=y, but it is not known' 4k
sed -i 's/^CONFIG_NOT_AN_OPTION=y/CONFIG_ARM64=n/' "$p/configs/$base/mandatory.config"
try "an option that cannot be off fails by name" fails_with 'CONFIG_ARM64=n, but it is CONFIG_ARM64=y' 4k
sed -i 's/^CONFIG_ARM64=n/CONFIG_NOT_AN_OPTION=y # series/' "$p/configs/$base/mandatory.config"
try "an option of the series is left out for stock" config --stock 4k
try "and only there" fails_with CONFIG_NOT_AN_OPTION 4k
try "--partial leaves out what the tree does not know" config --partial 4k
echo '4k-gone: pages-4k gone' >>"$p/configs/$base/modes"
try "a mode that names a fragment which is not there" fails_with "names 'gone'" 4k-gone
echo "1..$n"
exit "$bad"
