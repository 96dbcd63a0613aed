#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: scripts/test/ktree.sh
#
# Tests scripts/ktree and scripts/export in a small project of their own, whose
# kernel is three files: nothing is done when nothing changed, files that stay as
# they are keep their time, work that is not in patches/ is never lost, and what
# cannot be applied is named.

# What eval gets is to be expanded there.
# shellcheck disable=SC2016,SC2034
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../lib.sh"
help_if_asked "$@"
need git patch

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
p=$tmp/project
mkdir -p "$p/patches/1.0" "$p/build/1.0/linux"
cp -r "$top/scripts" "$p/scripts"
t=$p/build/1.0/linux
(
	cd "$t"
	printf 'one\ntwo\nthree\n' >a
	printf 'one\ntwo\nthree\n' >b
	printf 'VERSION = 1\n' >Makefile
	git init -q
	git add -A
	git -c user.name=t -c user.email=t@localhost commit -qm base
	git tag base
)
printf 'package=p\nversion=1\nkernel=1.0\n' >"$p/patches/1.0/BASE"
sha256sum <"$p/patches/1.0/BASE" | cut -c1-16 >"$p/build/1.0/base.stamp"
: >"$p/patches/1.0/series"
: >"$p/patches/1.0/series.stock"

n=0 bad=0
ok() { # NAME COMMAND...
	local name=$1 rc=0
	shift
	((n += 1))
	"$@" >"$tmp/out" 2>&1 || rc=$?
	if ((rc == 0)); then
		echo "ok $n $name"
	else
		echo "not ok $n $name"
		sed 's/^/# /' "$tmp/out"
		bad=1
	fi
}
ktree() { BASE=1.0 "$p/scripts/ktree" "$@"; }
xport() { BASE=1.0 "$p/scripts/export" "$@"; }
commit() { git -C "$t" -c user.name=t -c user.email=t@localhost commit -qam "$1"; }
# refuses PATTERN COMMAND...: fails, and says so in words that match.
refuses() {
	local pattern=$1
	shift
	if "$@" >"$tmp/said" 2>&1; then return 1; fi
	cat "$tmp/said"
	grep -qE "$pattern" "$tmp/said"
}
has() { [[ $(cat "$t/$1") == "$2" ]]; }
time_of() { stat -c %.9Y "$t/$1"; }

echo "TAP version 13"
ok "an empty series is the base" ktree
sed -i s/two/TWO/ "$t/a"
commit "first: change a"
sed -i s/two/TWO/ "$t/b"
commit "last: for linear_map_test"
ok "commits are exported" xport
ok "in order, the last one for stock" test "$(cat "$p/patches/1.0/series.stock")" = 0002-last-for-linear_map_test.patch
before=$(sha256sum "$p"/patches/1.0/*)
ok "an export right after it is the same" eval 'xport && [[ $(sha256sum "$p"/patches/1.0/*) == "$before" ]]'
ok "ktree has nothing to do after an export" eval 'ktree 2>&1 | { ! grep applying; }'
rm "$t.stamp"
ok "nor loses commits that patches/ has, when the stamp is gone" eval 'ktree && has a $'"'one\nTWO\nthree'"
touch -d 2001-01-01 "$t/a" "$t/b"
a=$(time_of a) b=$(time_of b)
sed -i 's/+TWO/+2/' "$p/patches/1.0/0002-last-for-linear_map_test.patch"
ok "a patch that changed is applied anew" eval 'ktree && has b $'"'one\n2\nthree'"
ok "what stayed the same keeps its time" test "$(time_of a)" = "$a"
ok "what changed does not" test "$(time_of b)" != "$b"
ok "and then there is nothing to do" eval 'ktree 2>&1 | { ! grep applying; }'
# What a build made of the contents in between must look old to make.
touch -d 2001-01-01 "$t/b"
b=$(time_of b)
sed -i 's/+2/+two_/' "$p/patches/1.0/0002-last-for-linear_map_test.patch"
ok "contents that change" eval 'ktree && has b $'"'one\ntwo_\nthree'"
between=$(time_of b)
sed -i 's/+two_/+2/' "$p/patches/1.0/0002-last-for-linear_map_test.patch"
ok "and come back" eval 'ktree && has b $'"'one\n2\nthree'"
ok "are newer than what was in between" eval '[[ $(time_of b) > $between && $between != "$b" ]]'

echo mine >>"$t/a"
sed -i 's/+2/+II/' "$p/patches/1.0/0002-last-for-linear_map_test.patch"
ok "changes not committed are not lost" refuses 'not in' ktree
ok "not a byte of them" eval 'tail -n 1 "$t/a" | grep -qx mine'
commit mine
ok "nor are commits" refuses 'not in' ktree
ok "export refuses a last commit without linear_map_test" refuses 'linear_map_test' xport
ok "with --force they go" eval 'ktree --force && has b $'"'one\nII\nthree'"
echo new >"$t/new"
sed -i 's/+II/+2/' "$p/patches/1.0/0002-last-for-linear_map_test.patch"
ok "a file of the user's is not lost" refuses 'not in' ktree
rm "$t/new"
ok "without it the tree follows" ktree

ok "the stock tree has the one patch" eval 'ktree --stock && grep -qx two "$p/build/1.0/linux-stock/a" && grep -qx 2 "$p/build/1.0/linux-stock/b"'
sed -i 's/^-two/-not there/' "$p/patches/1.0/0001-first-change-a.patch"
ok "a patch that does not apply is named" refuses 'patch failed|Patch failed at 0001' ktree
sed -i 's/^-not there/-two/' "$p/patches/1.0/0001-first-change-a.patch"
ok "and the tree recovers when it is mended" eval 'ktree && has a $'"'one\nTWO\nthree'"
touch "$t.busy"
rm "$t.stamp"
git -C "$t" reset -q --hard base~0
ok "a run cut off half way is taken up" eval 'ktree && has a $'"'one\nTWO\nthree'"
echo 0003-none.patch >>"$p/patches/1.0/series"
ok "a series that names what is not there is told" refuses '0003-none.patch, which is not there' ktree
ok "an unknown base is told" refuses "no base 'x'" env BASE=x "$p/scripts/ktree"
echo "1..$n"
exit "$bad"
