#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Memory that is added and removed again in pieces, through the module
# linear_map_test: what is removed must fault on every CPU, what stays must keep
# its content. Once with memory that is never online, once with memory that is.
#
# Environment, besides that of lib.sh: LMT_HOTPLUG=START:BYTES, physical memory that
# is there but that the kernel does not know, because mem= hides it. Without it
# nothing is done: an address without memory behind it takes the machine down.

# cleanup is called by a trap.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

auto=/sys/devices/system/memory/auto_online_blocks
was=
was_loaded=0

cleanup() {
	[ -z "$was" ] || echo "$was" >"$auto"
	was=
	[ "$was_loaded" = 1 ] || unload_module
}

[ -n "${LMT_HOTPLUG:-}" ] || skip_all "no LMT_HOTPLUG=START:BYTES, memory that mem= hides"
need_debugfs
[ -e "$auto" ] || skip_all "no $auto: needs CONFIG_MEMORY_HOTPLUG"
loaded && was_loaded=1
load_module || skip_all "$why"
grep -q '^+hotplug' "$mdir/tests" || bail "the module has no test hotplug"

# hotplug HOW: the module's test, its cases as cases here.
hotplug() {
	echo "$1" >"$auto" || bail "cannot write $1 to $auto"
	if ! echo "hotplug ${LMT_HOTPLUG%%:*} ${LMT_HOTPLUG#*:}" >"$mdir/run"; then
		not_ok "$1: the test runs"
		return
	fi
	ok "$1: the test runs"
	cat "$mdir/results" >"$tmp/results"
	diag_file "$tmp/results"
	sed -n "s/^\(hotplug[^ ]*\) \(.*\)/\1_$1	\2/p" "$mdir/stats" >"$tmp/stats"
	[ -z "${LMT_FIGURES:-}" ] || cat "$tmp/stats" >>"$LMT_FIGURES"
	for name in $cases; do
		line=$(grep -E "^    (not )?ok [0-9]+ $name( |\$)" "$tmp/results")
		case $line in
		*'# SKIP '*)	skip "$1: $name" "${line#*# SKIP }" ;;
		"    ok "*)	ok "$1: $name" ;;
		*)		not_ok "$1: $name" ;;
		esac
	done
}

cases='add leaves remove_middle remove_first remove_last remove_invalid add_again remove_two
remove_rest remove_all_under_a_reader nothing_left_behind'
was=$(cat "$auto")
plan 27
mark_log
table "$tmp/before"
hotplug offline
hotplug online_movable
table "$tmp/after"
check "the linear map is as large as before" \
	test "$(bytes "$tmp/after" total)" = "$(bytes "$tmp/before" total)"
check "it has as many page tables as before" \
	test "$(awk '$1 == "tables"' "$tmp/after")" = "$(awk '$1 == "tables"' "$tmp/before")"
check_splats "the kernel complained of nothing"
finish
