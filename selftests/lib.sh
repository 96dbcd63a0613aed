# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# TAP and what else the tests of this directory share. POSIX sh, and of tools
# only what busybox has. Sourced by each test from its own directory.
#
# Environment:
#	EXPECT_ALL=1	a skip is a failure
#	LMT_EXPECT	blocks or pages: what the linear map must be in when boot is over
#	LMT_REASON	regular expression for the reason in the kernel's boot
#			line; "_" stands for a space
#	LMT_STOCK=1	the kernel is known to be without the series
#	LMT_MODULE	the module (default /lib/modules/linear_map_test.ko)
#	LMT_FIGURES	file to which figures are added, "key<TAB>value" lines
#	LMT_DMESG, LMT_CMDLINE, LMT_CPUS, LMT_CONFIG
#			files (LMT_CPUS: directory) to read in place of dmesg's
#			output, /proc/cmdline, /sys/devices/system/cpu and
#			/proc/config.gz, for tests of the tests

export LC_ALL=C

dfs=/sys/kernel/debug
mod=linear_map_test
mdir=$dfs/$mod
ko=${LMT_MODULE:-/lib/modules/$mod.ko}

tap_planned=0
tap_run=0
tap_failed=0
tap_skipped=0
tmp=

# cleanup: a test defines its own to put back what it changed. It may run twice.
cleanup() { :; }

at_exit() {
	rc=$?
	trap '' HUP INT TERM
	cleanup
	[ -z "$tmp" ] || rm -rf "$tmp"
	trap - EXIT
	exit "$rc"
}
trap at_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

tmp=$(mktemp -d) || exit 1

# say LINE: to stdout, and to the file $tap_keep for a test that goes on in another
# kernel. tap_go_on: such a test says again what it said before.
tap_keep=

say() {
	printf '%s\n' "$*"
	[ -z "$tap_keep" ] || printf '%s\n' "$*" >>"$tap_keep"
}

tap_go_on() {
	cat "$tap_keep"
	tap_planned=$(sed -n 's/^1\.\.//p' "$tap_keep")
	tap_run=$(grep -cE '^(not )?ok ' "$tap_keep")
	tap_failed=$(grep -c '^not ok ' "$tap_keep")
	tap_skipped=$(grep -c '^ok .* # SKIP ' "$tap_keep")
}

# plan N: how many cases there will be. 0 is none to be had: that is a failure.
plan() {
	say "TAP version 13"
	say "1..$1"
	tap_planned=$1
}

diag() { say "# $*"; }

# diag_file FILE: the lines of a file, as diagnostics.
diag_file() { say "$(sed 's/^/# /' "$1")"; }

ok() {
	tap_run=$((tap_run + 1))
	say "ok $tap_run $*"
}

not_ok() {
	tap_run=$((tap_run + 1))
	tap_failed=$((tap_failed + 1))
	say "not ok $tap_run $*"
}

# skip NAME REASON
skip() {
	if [ "${EXPECT_ALL:-0}" = 1 ]; then
		diag "$1 was skipped, which EXPECT_ALL=1 makes a failure: $2"
		not_ok "$1"
		return
	fi
	tap_run=$((tap_run + 1))
	tap_skipped=$((tap_skipped + 1))
	say "ok $tap_run $1 # SKIP $2"
}

# check NAME COMMAND...: ok if the command succeeds.
check() {
	check_name=$1
	shift
	if "$@"; then
		ok "$check_name"
	else
		not_ok "$check_name"
	fi
}

# skip_all REASON: nothing can be tested here. Before plan.
skip_all() {
	echo "TAP version 13"
	if [ "${EXPECT_ALL:-0}" = 1 ]; then
		echo "1..1"
		diag "all was skipped, which EXPECT_ALL=1 makes a failure: $1"
		echo "not ok 1 ${0##*/}"
		exit 1
	fi
	echo "1..0 # SKIP $1"
	exit 4
}

# bail REASON: the test itself cannot go on.
bail() {
	printf 'Bail out! %s\n' "$*"
	exit 1
}

finish() {
	if [ "$tap_run" -ne "$tap_planned" ]; then
		diag "planned $tap_planned cases, ran $tap_run"
		tap_failed=$((tap_failed + 1))
	fi
	printf '# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:%d error:0\n' \
		$((tap_run - tap_failed - tap_skipped)) "$tap_failed" "$tap_skipped"
	[ "$tap_failed" -eq 0 ] || exit 1
	[ "$tap_run" -gt 0 ] || exit 1
	[ "$tap_run" -gt "$tap_skipped" ] || exit 4
	exit 0
}

# figure KEY VALUE: for LMT_FIGURES.
figure() {
	[ -z "${LMT_FIGURES:-}" ] || printf '%s\t%s\n' "$1" "$2" >>"$LMT_FIGURES"
}

need_root() {
	[ "$(id -u)" = 0 ] || skip_all "must be run as root"
}

need_debugfs() {
	need_root
	[ -d "$dfs/bdi" ] || [ -e "$dfs/kernel_page_tables" ] || [ -d "$mdir" ] ||
		mount -t debugfs none "$dfs" 2>/dev/null ||
		skip_all "no debugfs at $dfs"
}

kernel_log() {
	if [ -n "${LMT_DMESG:-}" ]; then
		cat "$LMT_DMESG"
	else
		dmesg
	fi
}

# The log of this boot from its first line on, into $tmp/log. Fails where the
# ring has dropped the beginning.
whole_log() {
	kernel_log >"$tmp/log" || return 1
	grep -q 'Booting Linux on physical CPU' "$tmp/log"
}

# The words of the command line, in $words; read once.
words=
cmdline() {
	[ -n "$words" ] || read -r words <"${LMT_CMDLINE:-/proc/cmdline}"
}

# arg NAME: the last value that the command line gives NAME, or nothing;
# arg_given WORD: is the word on it?
arg() {
	cmdline
	value=
	for word in $words; do
		case $word in "$1="*) value=${word#*=} ;; esac
	done
	[ -z "$value" ] || echo "$value"
}

arg_given() {
	cmdline
	for word in $words; do
		[ "$word" != "$1" ] || return 0
	done
	return 1
}

# config NAME: the value of CONFIG_NAME, or nothing where it or the list of
# options is not there.
config() {
	if [ ! -e "$tmp/config" ]; then
		c=${LMT_CONFIG:-/proc/config.gz}
		case $c in
		*.gz)	zcat "$c" 2>/dev/null ;;
		*)	cat "$c" ;;
		esac >"$tmp/config"
	fi
	sed -n "s/^CONFIG_$1=//p" "$tmp/config"
}

# Is this a kernel with the series? Says so by its boot line, or a symbol.
patched() {
	[ "${LMT_STOCK:-0}" != 1 ] || return 1
	kernel_log | grep -q 'linear_map: [a-z]*, rodata=' && return 0
	grep -q ' linear_map_get_stats$' /proc/kallsyms 2>/dev/null
}

# rodata: full, on or off, as the command line and the configuration have it.
rodata() {
	r=$(arg rodata)
	case $r in
	full|on|off)
		echo "$r"
		;;
	*)
		# Without the configuration: arm64's default.
		if [ -n "$(config ARM64)" ] && [ "$(config RODATA_FULL_DEFAULT_ENABLED)" != y ]; then
			echo on
		else
			echo full
		fi
		;;
	esac
}

# Could KFENCE be switched on after boot, for which it needs a pool then?
kfence_late() {
	[ "$(config KFENCE)" = y ] || return 1
	i=$(arg kfence.sample_interval)
	[ -n "$i" ] || i=$(config KFENCE_SAMPLE_INTERVAL)
	[ "$i" = 0 ]
}

debug_pagealloc() {
	case $(arg debug_pagealloc) in
	on|1|y*|Y*)	return 0 ;;
	off|0|n*|N*)	return 1 ;;
	esac
	[ "$(config DEBUG_PAGEALLOC_ENABLE_DEFAULT)" = y ]
}

page_size() { awk '/^KernelPageSize:/ { print $2 * 1024; exit }' /proc/self/smaps; }

# kfence_slack: bytes by which KFENCE may change what of the linear map is invalid
# while nobody else does: its objects, a page each, are that while they are free.
kfence_slack() {
	i=$(cat /sys/module/kfence/parameters/sample_interval 2>/dev/null)
	if [ "${i:-0}" = 0 ]; then
		echo 0
	else
		echo $(($(config KFENCE_NUM_OBJECTS) * $(page_size)))
	fi
}

loaded() { [ -d "/sys/module/$mod" ]; }

# load_module: loads it unless it is there. The reason of a failure is in $why.
load_module() {
	loaded && return 0
	if [ ! -e "$ko" ]; then
		why="no module at $ko"
		return 1
	fi
	why=$(insmod "$ko" 2>&1) || {
		why="insmod $ko: $why"
		return 1
	}
	[ -d "$mdir" ] || {
		why="$mod made no $mdir"
		return 1
	}
}

unload_module() {
	loaded || return 0
	why=$(rmmod "$mod" 2>&1)
}

# run_module COMMAND: writes it to the module's file run; true if all its cases
# passed. What did not is said.
run_module() {
	echo "$1" >"$mdir/run" 2>"$tmp/err" || {
		diag_file "$tmp/err"
		diag "writing \"$1\" to run failed"
		return 1
	}
	cat "$mdir/results" >"$tmp/results"
	grep -E '^ *#|not ok' "$tmp/results" | grep -v '# Subtest:' >"$tmp/said"
	diag_file "$tmp/said"
	grep -q '^ok ' "$tmp/results" && ! grep -q 'not ok' "$tmp/results"
}

# splits: leaves split since boot, by the module's counters.
splits() {
	awk '/^split_(pud|cont_pmd|pmd|cont_pte) / { n += $2 } END { print n + 0 }' "$mdir/stats"
}

# split_more: single pages out of the map and back, until 100 more splits are
# counted. True where that is so.
split_more() {
	split_from=$(splits)
	split_seed=0
	while [ $(($(splits) - split_from)) -lt 100 ] && [ $split_seed -lt 20 ]; do
		split_seed=$((split_seed + 1))
		run_module "churn 32768 200 $split_seed" || return 1
	done
	diag "$(splits) splits since boot, $split_from of them before"
	[ $(($(splits) - split_from)) -ge 100 ]
}

# mark_log, new_splats: what the kernel complained of since mark_log. A log
# that has lost the mark is a complaint too.
mark_log() {
	log_mark="selftests linear_map: ${0##*/} $$ $(cut -d' ' -f1 /proc/uptime)"
	echo "$log_mark" >/dev/kmsg
}

new_splats() {
	dmesg >"$tmp/dmesg"
	if ! grep -qF "$log_mark" "$tmp/dmesg"; then
		echo "the kernel's log has lost its part since this test began"
		return
	fi
	sed -n "/$log_mark/,\$p" "$tmp/dmesg" |
		grep -E 'WARNING:|BUG:|BUG at|Oops|Internal error:|Unable to handle kernel|Call trace:|INFO: task .* blocked|rcu: INFO:|possible recursive locking|inconsistent lock state|suspicious RCU usage|KASAN:|KFENCE:|kmemleak: [1-9]'
}

# check_splats NAME
check_splats() {
	new_splats >"$tmp/splats"
	if [ -s "$tmp/splats" ]; then
		diag_file "$tmp/splats"
		not_ok "$1"
	else
		ok "$1"
	fi
}

# table FILE: bytes of the linear map by size of leaf, by the module's walk
# where it is loaded, else from the dump of the page tables. 1: neither.
table() {
	if [ -r "$mdir/layout" ]; then
		cat "$mdir/layout" >"$1"
	elif [ -r "$dfs/kernel_page_tables" ]; then
		dump_table "$1"
	else
		return 1
	fi
}

dump_table() {
	cat "$dfs/kernel_page_tables" >"$tmp/dump" &&
		./lm_layout -t "$tmp/dump" /proc/iomem >"$1"
}

# bytes FILE KEY: of a table.
bytes() { awk -F'\t' -v k="$2" '$1 == k { print $3 }' "$1"; }
