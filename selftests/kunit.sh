#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# KFENCE's own test, which makes errors of each kind and looks for the reports: a
# pool whose pages are not really taken out of the linear map has none. KUnit
# runs it while the system boots (kunit.enable=1 kunit.filter_glob=kfence*), and
# its results are judged here. Where KFENCE is off since boot it is enabled, with
# a pool that may have to be split, and the test is run then.
#
# The reports are in the kernel's log like those of real errors: with
# panic_on_warn= the system does not live on.

# cleanup is called by a trap.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

interval=/sys/module/kfence/parameters/sample_interval
kunit=$dfs/kunit/kfence
was=

cleanup() {
	[ -z "$was" ] || echo "$was" >"$interval"
	was=
}

need_debugfs
[ "$(config KFENCE_KUNIT_TEST)" = y ] || skip_all "no CONFIG_KFENCE_KUNIT_TEST"
[ -r "$kunit/results" ] || skip_all "KUnit did not run KFENCE's test: needs kunit.enable=1"

if [ "$(sed -n 's/^enabled: *//p' "$dfs/kfence/stats" 2>/dev/null)" != 1 ]; then
	if [ "$(cat /proc/sys/kernel/panic_on_warn)" != 0 ]; then
		skip_all "panic_on_warn is set, and KFENCE's test would have to run now"
	fi
	was=$(cat "$interval")
	echo 100 >"$interval" || bail "KFENCE cannot be enabled"
	echo run >"$kunit/run" || bail "cannot write to $kunit/run"
fi

plan 3
cat "$kunit/results" >"$tmp/results"
diag_file "$tmp/results"
planned=$(sed -n 's/^    1\.\.\([0-9]*\)$/\1/p' "$tmp/results" | head -n 1)
passed=$(grep -cE '^    ok [0-9]+ [^#]*$' "$tmp/results")
skipped=$(grep -cE '^    ok [0-9]+ .*# SKIP' "$tmp/results")
failed=$(grep -cE '^    not ok ' "$tmp/results")
diag "$passed of ${planned:-0} cases passed, $skipped skipped, $failed failed"
figure kunit.kfence.cases "$passed/$failed/$skipped"
check "KFENCE's test ran" test "$passed" -gt 0
check "all its cases have a result" test $((passed + skipped + failed)) = "${planned:-0}"
check "none failed" test "$failed" = 0 -a "$(grep -c '^ok 1 kfence' "$tmp/results")" = 1
finish
