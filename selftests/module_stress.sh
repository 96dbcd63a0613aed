#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Loads and unloads the module linear_map_test many times while stress-ng keeps
# the page allocator busy: every load makes a module's code and read-only data,
# and their aliases in the linear map, read-only, and every unload puts them
# back. No load may fail, the kernel may not complain, and the linear map must
# hold as much afterwards, all of it valid. What stays split is reported, for
# each half of the loops.
#
# Environment, besides that of lib.sh: LMT_LOOPS (default 200).

# Functions are called by check and by traps too.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

loops=${LMT_LOOPS:-200}
was_loaded=0
stress=

cleanup() {
	if [ -n "$stress" ]; then
		kill "$stress" 2>/dev/null
		wait "$stress" 2>/dev/null
		stress=
	fi
	if [ "$was_loaded" = 1 ]; then load_module; else unload_module; fi
}

need_debugfs
case $loops in
''|*[!0-9]*|0|1)	plan 1; diag "LMT_LOOPS=$loops is not a number above 1"; not_ok "LMT_LOOPS"; finish ;;
esac
[ -e "$ko" ] || skip_all "no module at $ko (LMT_MODULE names another place)"
loaded && was_loaded=1
plan 6
mark_log
unload_module || bail "rmmod $mod: $why"

# The layout, from the kernel's dump: the module's own file comes and goes.
look() {
	[ -r "$dfs/kernel_page_tables" ] && dump_table "$tmp/$1" || return 0
	diag "layout $1:"
	diag_file "$tmp/$1"
}

# smaller FROM TO: bytes that are in smaller leaves than before.
smaller() {
	awk -F'\t' '
		NR == FNR { from[$1] = $3; next }
		{ to[$1] = $3 }
		END {
			n = split("pud cont_pmd pmd cont_pte", order, " ")
			for (i = 1; i <= n; i++) {
				above += from[order[i]] - to[order[i]]
				if (above > 0)
					sum += above
			}
			printf "%.0f\n", sum
		}' "$tmp/$1" "$tmp/$2"
}

# series N NAME: N times load and unload.
series() {
	i=0
	while [ "$i" -lt "$1" ]; do
		if ! load_module || ! unload_module; then
			diag "round $i of $2: $why"
			return 1
		fi
		i=$((i + 1))
	done
}

# same KEY: equal in all three tables.
same() {
	a=$(bytes "$tmp/first" "$1")
	b=$(bytes "$tmp/half" "$1")
	c=$(bytes "$tmp/last" "$1")
	diag "$1: $a, $b, $c bytes before, at half, at the end"
	[ -n "$a" ] && [ "$a" = "$b" ] && [ "$a" = "$c" ]
}

start=$(cut -d. -f1 /proc/uptime)
if command -v stress-ng >/dev/null; then
	stress-ng --vm 2 --vm-bytes 10% --fork 2 --mmap 1 --mmap-bytes 16M \
		--temp-path "$tmp" --timeout 900 --quiet >"$tmp/stress" 2>&1 &
	stress=$!
	sleep 2
	if kill -0 $stress 2>/dev/null; then
		ok "stress-ng runs beside"
	else
		diag_file "$tmp/stress"
		stress=
		not_ok "stress-ng runs beside"
	fi
else
	skip "stress-ng runs beside" "no stress-ng here"
fi

look first
check "$((loops / 2)) loads and unloads" series $((loops / 2)) "the first half"
look half
check "$((loops - loops / 2)) more" series $((loops - loops / 2)) "the second half"
look last

if [ -n "$stress" ]; then
	kill $stress
	wait $stress
	rc=$?
	stress=
	# Its own failures of verification, not that it was ended.
	case $rc in
	0|143)	;;
	*)	diag "stress-ng ended with $rc"; diag_file "$tmp/stress" ;;
	esac
fi
diag "$loops rounds in $(($(cut -d. -f1 /proc/uptime) - start)) s"
figure module_stress.loops "$loops"

if [ -s "$tmp/first" ] && [ -s "$tmp/half" ] && [ -s "$tmp/last" ]; then
	one=$(smaller first half)
	two=$(smaller half last)
	diag "split: $one bytes by the first half, $two more by the second"
	figure module_stress.split_first_half "$one"
	figure module_stress.split_second_half "$two"
	[ "$two" -le "$one" ] || diag "the second half split more than the first"
	check "the linear map is as large as before" same total
	# With debug_pagealloc= free memory is invalid too, and changes.
	if debug_pagealloc; then
		skip "nothing stays invalid" "free memory is invalid too (debug_pagealloc=)"
	else
		limit=$(($(bytes "$tmp/first" invalid) + $(kfence_slack)))
		i=0
		while dump_table "$tmp/last"; do
			[ "$(bytes "$tmp/last" invalid)" -gt "$limit" ] || break
			[ $i -lt 10 ] || break
			i=$((i + 1))
			sleep 1
		done
		diag "invalid: $(bytes "$tmp/first" invalid) bytes before, $(bytes "$tmp/last" invalid) after"
		check "nothing stays invalid" test "$(bytes "$tmp/last" invalid)" -le "$limit"
	fi
else
	skip "the linear map is as large as before" "no $dfs/kernel_page_tables"
	skip "nothing stays invalid" "no $dfs/kernel_page_tables"
fi
check_splats "the kernel complained of nothing"
finish
