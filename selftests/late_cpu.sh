#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A CPU without the capability is started while others split the linear map. It
# uses the linear map before the kernel knows what it lacks, so nothing may be
# split from when it is started until it is online or given up, which takes 5 s;
# then splits go on. The flush sanitizer sees it too, if they do not wait.
#
# Wants a kernel that relies on splits, booted with arm64.bbml2_test=without:N and
# maxcpus= so that CPU N is not started at boot. A CPU that was refused once counts
# as not there from then on: the test runs once after each boot, before detect.sh,
# which starts it too.

# Functions are called by traps too.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

cpus=${LMT_CPUS:-/sys/devices/system/cpu}
was_loaded=0
churn=

cleanup() {
	[ -z "$churn" ] || kill "$churn" 2>/dev/null
	wait
	[ "$was_loaded" = 1 ] || unload_module
}

without=$(arg arm64.bbml2_test | sed -n 's/.*without:\([0-9][0-9]*\).*/\1/p')
[ -n "$without" ] || skip_all "no arm64.bbml2_test=without:N on the command line"
online=$cpus/cpu$without/online
[ "$(cat "$online" 2>/dev/null)" = 0 ] || skip_all "CPU $without is not there and off: boot with maxcpus=$without"
whole_log
! grep -q "linear_map: CPU$without refused" "$tmp/log" ||
	skip_all "CPU $without was started and refused before: run this first after a boot"
need_debugfs
loaded && was_loaded=1
load_module || skip_all "$why"

# splits: leaves split since boot.
splits() { awk '/^split_(pud|cont_pmd|pmd|cont_pte) / { n += $2 } END { print n + 0 }' "$mdir/stats"; }

# until_splits N: wait for more than N, for 20 s at most.
until_splits() {
	i=0
	while [ "$(splits)" -le "$1" ]; do
		[ "$i" -lt 200 ] || return 1
		i=$((i + 1))
		sleep 0.1
	done
}

half=$(awk '/^MemAvailable:/ { printf "%.0f", $2 * 512 }' /proc/meminfo)
size=2147483648
while [ "$size" -gt "$half" ]; do size=$((size / 2)); done

plan 6
mark_log
before=$(splits)
# Random pages: until half of a buffer is in pages, most rounds split something.
echo "churn $((size / $(page_size))) 100000" >"$mdir/run" 2>/dev/null &
churn=$!
check "leaves are split" until_splits $((before + 50))
echo 1 2>/dev/null >"$online" &
start=$!
sleep 1
first=$(splits)
sleep 2
second=$(splits)
if kill -0 $start 2>/dev/null && kill -0 $churn 2>/dev/null; then
	ok "both are at it after 3 s"
else
	not_ok "both are at it after 3 s"
fi
diag "splits: $before before, $first 1 s after the start of the CPU, $second 2 s later"
check "nothing is split while the CPU is started" test "$first" = "$second"
wait $start
whole_log
check "the CPU is refused" grep -q "linear_map: CPU$without refused: no usable FEAT_BBM level 2" "$tmp/log"
check "leaves are split again" until_splits "$second"
kill $churn 2>/dev/null
wait $churn
churn=
check_splats "the kernel complained of nothing"
finish
