#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What user space can see of the linear map while leaves of it are invalid as a
# whole, and then a page in each is valid: the dump of the page tables and
# /proc/kcore. The module's test invalid_leaf makes them so, leaves them for a
# while, and judges the map itself; map_reader reads beside it. No read may fail,
# every dump must have as much in it as before, and the kernel may not complain. That
# whole blocks were invalid when they were read is seen to.
#
# Environment, besides that of lib.sh: LMT_INVALID_MS, for how long each is so
# (default 1500, or 500 where the map is in blocks, of which there are several sizes).

# Functions are called by traps too.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

was_loaded=0
reader=

cleanup() {
	[ -z "$reader" ] || kill "$reader" 2>/dev/null
	[ -z "$reader" ] || wait "$reader" 2>/dev/null
	reader=
	if [ "$was_loaded" = 1 ]; then load_module; else unload_module; fi
}

need_debugfs
[ -r "$dfs/kernel_page_tables" ] ||
	skip_all "no $dfs/kernel_page_tables: needs CONFIG_PTDUMP_DEBUGFS"
[ -r /proc/kcore ] || skip_all "no /proc/kcore: needs CONFIG_PROC_KCORE"
loaded && was_loaded=1
load_module || skip_all "$why"

plan 6
mark_log
dump_table "$tmp/before" || bail "cannot read $dfs/kernel_page_tables"
# A dump of pages takes longer.
ms=1500
[ "$(bytes "$tmp/before" pte)" -gt $(($(bytes "$tmp/before" total) / 2)) ] || ms=500
ms=${LMT_INVALID_MS:-$ms}
start=$(cut -d. -f1 /proc/uptime)
page=$(page_size)
block=$((page * page / 8))
value() { sed -n "s/^$1	//p" "$tmp/said"; }
case_passed() { grep -qE "^ +ok [0-9]+ ($1)\$" "$tmp/results"; }

# Of each level that the module had a leaf of, was one seen, and was enough read?
seen() {
	! case_passed pud || [ "$(value puds)" -gt 0 ] || return 1
	! case_passed 'cont_pmd|pmd' || [ "$(value pmds)" -gt 0 ] || return 1
	[ $(($(value puds) + $(value pmds) + $(value runs))) -gt 0 ] &&
		[ "$(value zero)" -ge $((block / 2)) ]
}

# A machine may be too slow for what it has to read in that time: then once more,
# with more of it. What goes wrong is not tried again.
try=0
while :; do
	./map_reader "$tmp/most" >"$tmp/said" 2>"$tmp/err" &
	reader=$!
	bad=0
	echo "invalid_leaf $ms" >"$mdir/run" || bad=1
	cat "$mdir/results" >"$tmp/results"
	diag_file "$tmp/results"
	passed=$(grep -E '^ +ok [0-9]+ [^#]*$' "$tmp/results" | grep -vc nothing_left_behind)
	if ! grep -q '^ok' "$tmp/results" || grep -q '^not ok' "$tmp/results"; then bad=1; fi
	kill "$reader"
	wait "$reader"
	rc=$?
	reader=
	diag_file "$tmp/said"
	diag_file "$tmp/err"
	diag "$(($(cut -d. -f1 /proc/uptime) - start)) s"
	try=$((try + 1))
	if [ "$bad" != 0 ] || [ "$rc" != 0 ] || [ "$passed" -eq 0 ] || [ $try -ge 3 ] || seen; then break; fi
	ms=$((ms * 3))
	diag "not enough was seen: once more, with $ms ms"
done
for key in dumps puds pmds runs read zero; do
	figure "invalid.$key" "$(value $key)"
done

check "the module's test passes beside a reader" test "$bad" = 0
check "no read failed" test "$rc" = 0 -a "$(value errors)" = 0 -a "$(value dumps)" -gt 0
if [ "$bad" = 0 ] && [ "$passed" -eq 0 ]; then
	skip "whole invalid blocks were read" "rodata=$(rodata): the module could make none"
else
	check "whole invalid blocks were read" seen
fi
./lm_layout -t "$tmp/most" /proc/iomem >"$tmp/table" 2>"$tmp/err"
diag "the dump with the most of them:"
diag_file "$tmp/table"
diag_file "$tmp/err"
total=$(bytes "$tmp/before" total)
check "every dump holds as much as before" \
	test "$(bytes "$tmp/table" total)" = "$total" -a "$(value least)" = "$total" -a "$(value most)" = "$total"
dump_table "$tmp/after"
check "the linear map is as large as before" \
	test "$(bytes "$tmp/after" total)" = "$(bytes "$tmp/before" total)"
check_splats "the kernel complained of nothing"
finish
