#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The linear map's leaves, from the kernel's own dump of its page tables. What
# is checked is said in lm_layout.c, which does it. Meant to run before
# anything changes the map: after a boot, and before the module's tests.
#
# What it must be in: LMT_EXPECT; else what the kernel's boot line says; else,
# on a kernel without the series, pages where rodata=full, debug_pagealloc or a
# late KFENCE ask for them. Figures go to LMT_FIGURES.

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

need_debugfs
[ -r "$dfs/kernel_page_tables" ] ||
	skip_all "no $dfs/kernel_page_tables: needs CONFIG_PTDUMP_DEBUGFS"

mode=${LMT_EXPECT:-}
from=LMT_EXPECT
if [ -z "$mode" ]; then
	if patched; then
		mode=$(kernel_log | sed -nE 's/.*linear_map: (blocks|pages), rodata=.*/\1/p' | head -n 1)
		from="the boot line"
		if kernel_log | grep -q 'linear_map: repainted with pages'; then
			mode=pages
			from="the line that says repainted"
		fi
	elif [ "$(rodata)" = full ] || debug_pagealloc || kfence_late; then
		mode=pages
		from="the command line, as of a kernel without the series"
	else
		mode=blocks
		from="the command line, as of a kernel without the series"
	fi
fi
case $mode in
blocks|pages)
	;;
*)
	plan 1
	diag "whether it should be blocks or pages cannot be told from $from: \"$mode\""
	not_ok "mode of the linear map"
	finish
	;;
esac

set -- -m "$mode"
pool=$(kernel_log | sed -n 's/.*kfence: initialized - using \([0-9]*\) bytes.*/\1/p' | head -n 1)
[ -z "$pool" ] || set -- "$@" -k "$pool"
if loaded || kernel_log | grep -qE "$mod: |selftests linear_map: "; then
	set -- "$@" -s
	diag "other tests have been here: the map may have been split since boot"
fi

# Two walks, of the kernel's dump and of the module, see one map only if
# nothing changes it in between: three tries.
tries=0
while :; do
	cat "$dfs/kernel_page_tables" >"$tmp/dump" || bail "cannot read $dfs/kernel_page_tables"
	! loaded || cat "$mdir/layout" >"$tmp/module" || bail "cannot read $mdir/layout"
	./lm_layout "$@" "$tmp/dump" /proc/iomem >"$tmp/out" 2>"$tmp/err"
	rc=$?
	tries=$((tries + 1))
	awk -F'\t' 'NF == 3 && /^[a-z]/' "$tmp/out" >"$tmp/table"
	loaded || break
	awk -F'\t' '
		NR == FNR { dump[$1] = $3; next }
		$1 ~ /^(pud|cont_pmd|pmd|cont_pte|pte|invalid|total|text_alias)$/ {
			n++
			if (dump[$1] != $3) {
				print $1 ": dump " dump[$1] ", module " $3
				bad = 1
			}
		}
		END {
			if (n < 7) {
				print "the module names " n + 0 " of the keys"
				bad = 1
			}
			exit bad
		}' "$tmp/table" "$tmp/module" >"$tmp/differ" && break
	[ $tries -lt 3 ] || break
done

if [ "$rc" -gt 1 ]; then
	plan 1
	diag_file "$tmp/err"
	not_ok "the dump can be understood"
	finish
fi

cases=$(grep -cE '^(ok|not ok|skip) ' "$tmp/out")
if loaded; then plan $((cases + 2)); else plan $((cases + 1)); fi
diag "expected: $mode, by $from"
diag_file "$tmp/table"
while IFS="$(printf '\t')" read -r key leaves size; do
	figure "layout.$key.leaves" "$leaves"
	figure "layout.$key.bytes" "$size"
done <"$tmp/table"

total=$(bytes "$tmp/table" total)
check "the linear map is not empty" test "${total:-0}" -gt 0

while read -r line; do
	case $line in
	"#"*)		echo "$line" ;;
	"ok "*)		ok "${line#ok }" ;;
	"not ok "*)	not_ok "${line#not ok }" ;;
	"skip "*)	line=${line#skip }; skip "${line%%: *}" "${line#*: }" ;;
	esac
done <"$tmp/out"

if loaded; then
	if [ -s "$tmp/differ" ]; then
		diag_file "$tmp/differ"
		not_ok "the module's layout is the dump's"
	else
		ok "the module's layout is the dump's"
	fi
fi
finish
