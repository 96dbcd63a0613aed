#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Drives the module linear_map_test: what its debugfs files refuse, when it may
# be unloaded, and every test that it has. Each of its tests is one case here;
# the cases it has of its own are shown as diagnostics. A test with some cases
# skipped is a pass that says so (with EXPECT_ALL=1: a failure), one with all
# cases skipped is a skip.
#
# Environment, besides that of lib.sh: LMT_TESTS, names of the tests to run
# (default: all, by the module's file "tests"), LMT_ARGS_<test>, arguments for
# a test; LMT_TEST_TIMEOUT, seconds for each (default 300).

# Functions are called by check and by traps too.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

timeout=${LMT_TEST_TIMEOUT:-300}
was_loaded=0
writer=
fault=$dfs/fail_page_alloc

cleanup() {
	[ -z "$writer" ] || kill "$writer" 2>/dev/null
	[ -z "$writer" ] || wait "$writer" 2>/dev/null
	writer=
	faults_off
	if [ "$was_loaded" = 1 ]; then load_module; else unload_module; fi
}

# Test enomem wants allocations of its own task to fail now and then; without
# that, it says so and is skipped. Half of them, without a report of each.
faults_on() {
	[ -d "$fault" ] || return 0
	for f in probability task-filter min-order ignore-gfp-wait times space verbose; do
		[ -e "$fault/$f" ] && echo "$f $(cat "$fault/$f")"
	done >"$tmp/faults"
	echo 0 >"$fault/verbose"
	echo 1 >"$fault/task-filter"
	echo 0 >"$fault/min-order"
	echo 0 >"$fault/ignore-gfp-wait"
	echo 0 >"$fault/space"
	echo -1 >"$fault/times"
	echo 50 >"$fault/probability"
}

faults_off() {
	[ -s "$tmp/faults" ] || return 0
	echo 0 >"$fault/probability"
	while read -r f value; do
		echo "$value" >"$fault/$f"
	done <"$tmp/faults"
	rm -f "$tmp/faults"
}

need_debugfs
loaded && was_loaded=1
if ! load_module; then
	[ -e "$ko" ] || skip_all "$why (LMT_MODULE names another place)"
	plan 1
	diag "$why"
	not_ok "the module loads"
	finish
fi

# put TEXT: one write(2) of it to run. Fails if the write does, with the
# message in $tmp/err.
put() {
	printf '%s' "$1" >"$tmp/text"
	dd if="$tmp/text" of="$mdir/run" bs=65536 count=1 2>"$tmp/err"
}

# refused WHAT TEXT: the write must fail, and the results stay as they are.
refused() {
	cat "$mdir/results" >"$tmp/before" 2>/dev/null
	if put "$2"; then
		diag "the write succeeded"
		not_ok "refused: $1"
		return
	fi
	cat "$mdir/results" >"$tmp/after" 2>/dev/null
	if ! grep -qiE 'invalid argument|too (long|large|big)|no such|out of range|not supported' "$tmp/err"; then
		diag_file "$tmp/err"
		not_ok "refused: $1"
	elif ! cmp -s "$tmp/before" "$tmp/after"; then
		diag "the results have changed"
		not_ok "refused: $1"
	else
		ok "refused: $1"
	fi
}

# read_only FILE: it cannot be written.
read_only() {
	if (echo 1 >"$mdir/$1") 2>/dev/null; then
		not_ok "$1 cannot be written"
	else
		ok "$1 cannot be written"
	fi
}

# run_test NAME: runs one test and makes one case of it.
run_test() {
	args=$(eval "echo \"\${LMT_ARGS_$1:-}\"")
	[ "$1" != enomem ] || faults_on
	start=$(cut -d' ' -f1 /proc/uptime)
	# shellcheck disable=SC2016 # The shell that is started expands it.
	timeout "$timeout" sh -c 'echo "$1" >"$2"' sh "$1${args:+ $args}" "$mdir/run" 2>"$tmp/err"
	rc=$?
	end=$(cut -d' ' -f1 /proc/uptime)
	faults_off
	if [ "$rc" -ne 0 ]; then
		diag_file "$tmp/err"
		diag "writing \"$1${args:+ $args}\" to run failed with $rc (143 and 124: longer than $timeout s)"
		not_ok "test $1"
		return
	fi
	cat "$mdir/results" >"$tmp/results"
	diag_file "$tmp/results"
	# shellcheck disable=SC2046 # Words are wanted.
	set -- "$1" $(awk -f judge.awk "$tmp/results")
	name=$1 verdict=$2 passed=$3 failed=$4 skipped=$5
	shift 5
	diag "$name: $passed passed, $failed failed, $skipped skipped, $(echo "$start $end" | awk '{ printf "%.1f", $2 - $1 }') s"
	figure "module.$name.cases" "$passed/$failed/$skipped"
	sed -n "s/^\([^ ]*\) \(.*\)/module.$name.\1	\2/p" "$mdir/stats" >"$tmp/stats"
	[ -z "${LMT_FIGURES:-}" ] || cat "$tmp/stats" >>"$LMT_FIGURES"
	case $verdict in
	ok)
		if [ "$skipped" -gt 0 ] && [ "${EXPECT_ALL:-0}" = 1 ]; then
			diag "$skipped cases were skipped, which EXPECT_ALL=1 makes a failure: $*"
			not_ok "test $name"
		elif [ "$skipped" -gt 0 ]; then
			ok "test $name ($skipped of $((passed + skipped)) cases skipped: $*)"
		else
			ok "test $name ($passed cases)"
		fi
		;;
	skip)
		skip "test $name" "${*:-no reason given}"
		;;
	*)
		[ $# -eq 0 ] || [ "$failed" -gt 0 ] || diag "$*"
		not_ok "test $name"
		;;
	esac
}

# busy: a test runs now, as far as the module's reference count tells.
busy() {
	i=0
	while [ $i -lt 100 ]; do
		[ "$(cat /sys/module/$mod/refcnt)" -gt 0 ] && return 0
		usleep 20000 2>/dev/null || sleep 1
		i=$((i + 1))
	done
	return 1
}

# same KEY...: of the tables before and after, bytes are equal; what is invalid
# but for what KFENCE has of it.
slack=$(kfence_slack)
same() {
	same=0
	for key; do
		b=$(bytes "$tmp/first" "$key")
		a=$(bytes "$tmp/last" "$key")
		off=0
		[ "$key" != invalid ] || off=$slack
		if [ -z "$b" ] || [ -z "$a" ] || [ "$b" -gt $((a + off)) ] || [ "$a" -gt $((b + off)) ]; then
			diag "$key: \"$b\" bytes before, \"$a\" after"
			same=1
		fi
	done
	return "$same"
}

cat "$mdir/tests" >"$tmp/tests" || bail "cannot read $mdir/tests"
names=${LMT_TESTS:-$(sed -n 's/^\([a-z][a-z0-9_]*\).*/\1/p' "$tmp/tests")}
count=0
for name in $names; do
	count=$((count + 1))
done
first=$(echo "$names" | head -n 1)
first=${first%% *}

plan $((count + 25))
mark_log
ok "the module loads"
diag "$(echo "$names" | wc -w) tests: $(echo "$names" | tr '\n' ' ')"
check "it has tests" test $count -gt 0
table "$tmp/first" || bail "cannot read $mdir/layout"
diag "layout before:"
diag_file "$tmp/first"

refused "a test that does not exist" "no_such_test"
refused "an empty line" "
"
refused "a blank" " "
refused "more arguments than any test takes" "$first 1 2 3 4 5 6 7 8 9"
refused "an argument that is no number" "seed x"
refused "a negative argument" "seed -1"
refused "an argument beyond 64 bits" "seed 99999999999999999999999"
refused "a line of 60000 bytes" "$(awk 'BEGIN { for (i = 0; i < 60000; i++) printf "a" }')"
refused "a test's name with more behind it" "${first}x"
read_only results
read_only layout
read_only stats
read_only tests

# An open file holds the module, and so does a test that runs.
exec 3>"$mdir/run"
if unload_module; then
	not_ok "unloading is refused while run is open"
	exec 3>&-
	load_module
else
	diag "$why"
	exec 3>&-
	ok "unloading is refused while run is open"
fi

# Something that takes its time; where the map cannot be changed by page, churn
# has nothing to do, and how fast the machine is must not matter.
for long in "churn 4096 16000000" "seed 50 60000"; do
	# shellcheck disable=SC2016 # The shell that is started expands it.
	sh -c 'echo "$1" >"$2"' sh "$long" "$mdir/run" 2>/dev/null &
	writer=$!
	busy && sleep 1 && kill -0 "$writer" 2>/dev/null && break
	wait "$writer"
	writer=
done
if [ -z "$writer" ]; then
	diag "no test takes long enough to be looked at"
	not_ok "unloading is refused while a test runs"
	not_ok "a second test at the same time is refused"
else
	if unload_module; then
		not_ok "unloading is refused while a test runs"
		load_module
	else
		check "unloading is refused while a test runs" kill -0 "$writer"
	fi
	if put "$first"; then
		diag "it ran"
		not_ok "a second test at the same time is refused"
	else
		diag_file "$tmp/err"
		check "a second test at the same time is refused" grep -qi busy "$tmp/err"
	fi
	# In the background SIGINT is ignored.
	kill "$writer"
fi
[ -z "$writer" ] || wait "$writer"
writer=
i=0
while [ "$(cat /sys/module/$mod/refcnt)" -gt 0 ] && [ $i -lt 60 ]; do
	sleep 1
	i=$((i + 1))
done
check "a test that gets a signal ends" test $i -lt 60
table "$tmp/last"
check "and leaves the linear map as large and as valid" same total invalid

for name in $names; do
	run_test "$name"
done

cat "$mdir/results" >"$tmp/a"
cat "$mdir/results" >"$tmp/b"
check "results can be read again" cmp -s "$tmp/a" "$tmp/b"

table "$tmp/last"
diag "layout after:"
diag_file "$tmp/last"
check "the linear map is as large and as valid as before" same total invalid text_alias

if unload_module && load_module; then
	ok "it can be unloaded and loaded again"
else
	diag "$why"
	not_ok "it can be unloaded and loaded again"
fi
unload_module
if insmod "$ko" run=no_such_test 2>"$tmp/err"; then
	not_ok "a load with a wrong run= fails"
else
	diag_file "$tmp/err"
	if loaded; then not_ok "a load with a wrong run= fails"; else ok "a load with a wrong run= fails"; fi
fi
check_splats "the kernel complained of nothing"
finish
