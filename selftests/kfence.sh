#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# KFENCE and the linear map: its pool has to be mapped as pages, of which it makes
# each other one invalid as a guard. Where it is off at boot
# (kfence.sample_interval=0) it is enabled here, which allocates the pool and
# may split leaves of the linear map; at the end it is as it was.
#
# Environment, besides that of lib.sh: LMT_KFENCE_WAIT, seconds in which KFENCE
# has to take a sample (default 60).

# cleanup is called by a trap.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

interval=/sys/module/kfence/parameters/sample_interval
kstats=$dfs/kfence/stats
was=

cleanup() {
	[ -z "$was" ] || echo "$was" >"$interval"
	was=
}

kstat() { sed -n "s/^$1: *//p" "$kstats" 2>/dev/null; }

need_debugfs
[ -e "$interval" ] || skip_all "no $interval: needs CONFIG_KFENCE"
[ -r "$dfs/kernel_page_tables" ] ||
	skip_all "no $dfs/kernel_page_tables: needs CONFIG_PTDUMP_DEBUGFS"
objects=$(config KFENCE_NUM_OBJECTS)
[ -n "$objects" ] || skip_all "no CONFIG_KFENCE_NUM_OBJECTS in /proc/config.gz"
page=$(page_size)

plan 7
mark_log
old=$(cat "$interval")
dump_table "$tmp/before" || bail "cannot read $dfs/kernel_page_tables"
late=
if [ "$(kstat enabled)" = 1 ]; then
	ok "KFENCE is on (since boot)"
	from=0
else
	was=$old
	late=1
	echo 50 >"$interval" 2>"$tmp/err" || diag_file "$tmp/err"
	[ "$(kstat enabled)" = 1 ] || kernel_log | grep -E 'kfence|KFENCE' | tail -n 3 | sed 's/^/# /'
	check "KFENCE is on (enabled now)" test "$(kstat enabled)" = 1
	from=$(bytes "$tmp/before" invalid)
fi

# Guards: two pages at the start, and one behind each object. An object is
# invalid too once it was freed.
dump_table "$tmp/on"
invalid=$((($(bytes "$tmp/on" invalid) - from) / page))
diag "$invalid pages are invalid for it, of $((2 * objects + 2)) in its pool"
check "its guard pages are invalid" test "$invalid" -ge $((objects + 2))
check "pages of their own" test "$(bytes "$tmp/on" pte)" -ge $(((2 * objects + 2) * page))

count=$(kstat 'total allocations')
i=0
while [ "$(kstat 'total allocations')" = "$count" ] && [ $i -lt "${LMT_KFENCE_WAIT:-60}" ]; do
	# Something that allocates: short-lived processes and files.
	for _ in 1 2 3 4 5; do cat /proc/self/maps >"$tmp/maps"; done
	sleep 1
	i=$((i + 1))
done
diag "allocations from its pool: $count, and $(kstat 'total allocations') after $i s"
check "it takes samples" test "$(kstat 'total allocations')" -gt "${count:-0}"

dump_table "$tmp/after"
check "the linear map is as large as before" \
	test "$(bytes "$tmp/after" total)" = "$(bytes "$tmp/before" total)"

if [ -n "$late" ]; then
	cleanup
	check "it can be switched off again" test "$(kstat enabled)" = 0
else
	skip "it can be switched off again" "it is on since boot, and stays on"
fi
check_splats "the kernel complained of nothing"
finish
