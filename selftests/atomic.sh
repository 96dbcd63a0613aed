#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Who changes the linear map where nothing may sleep: debug_pagealloc= at every
# page that is allocated or freed, KFENCE at every sample. Both under a load of
# processes and of memory; the kernel may not complain. What is at work is said,
# and judged: a kernel without either is a skip. To have a sleep noticed the
# kernel wants CONFIG_DEBUG_ATOMIC_SLEEP and CONFIG_PROVE_LOCKING.
#
# Environment, besides that of lib.sh: LMT_ATOMIC_S, seconds (default 10).

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

seconds=${LMT_ATOMIC_S:-10}
kstat() { sed -n "s/^$1: *//p" "$dfs/kfence/stats" 2>/dev/null; }

need_debugfs
kfence=$(kstat enabled)
[ "$kfence" = 1 ] || debug_pagealloc ||
	skip_all "neither KFENCE nor debug_pagealloc= is on: nobody changes the map from atomic context"
command -v stress-ng >/dev/null || skip_all "no stress-ng here"
[ -r "$dfs/kernel_page_tables" ] ||
	skip_all "no $dfs/kernel_page_tables: needs CONFIG_PTDUMP_DEBUGFS"

plan 6
mark_log
for option in DEBUG_ATOMIC_SLEEP PROVE_LOCKING; do
	diag "CONFIG_$option: $(config $option)"
done
dump_table "$tmp/before" || bail "cannot read $dfs/kernel_page_tables"
samples=$(kstat 'total allocations')

# So that small guests can do it too.
memory=$(awk '/^MemAvailable:/ { m = $2 / 32; print int(m > 65536 ? 65536 : m) }' /proc/meminfo)
stress-ng --vm 4 --vm-bytes "${memory}k" --fork 8 --temp-path "$tmp" --timeout "$seconds" \
	--metrics-brief >"$tmp/stress" 2>&1
rc=$?
diag_file "$tmp/stress"
check "the load ran" test "$rc" = 0

dump_table "$tmp/after"
for key in pud cont_pmd pmd cont_pte pte invalid total; do
	diag "$key: $(bytes "$tmp/before" $key) bytes before, $(bytes "$tmp/after" $key) after"
done
if [ "$kfence" = 1 ]; then
	diag "KFENCE: interval $(cat /sys/module/kfence/parameters/sample_interval) ms, allocations $samples before, $(kstat 'total allocations') after"
	check "KFENCE took samples" test "$(kstat 'total allocations')" -gt "$samples"
else
	skip "KFENCE took samples" "it is off"
fi
if debug_pagealloc; then
	# What is free is invalid: most of the memory of an idle system.
	free=$(awk '/^MemFree:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
	check "free memory is invalid" test "$(bytes "$tmp/after" invalid)" -gt $((free / 2))
	./lm_layout -m pages "$tmp/dump" /proc/iomem >"$tmp/out"
	sed -n 's/^#/#/p' "$tmp/out"
	check "all but the alias of the kernel's text is in pages" grep -q '^ok sizes: ' "$tmp/out"
else
	skip "free memory is invalid" "debug_pagealloc= is off"
	skip "all but the alias of the kernel's text is in pages" "debug_pagealloc= is off"
fi
check "the linear map is as large as before" \
	test "$(bytes "$tmp/after" total)" = "$(bytes "$tmp/before" total)"
check_splats "the kernel complained of nothing"
finish
