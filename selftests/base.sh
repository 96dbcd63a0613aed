#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the base's own selftests that base.list names, each one case here. The
# Makefile builds them from the kernel's source into base/.
#
# Environment, besides that of lib.sh: LMT_BASE, names of those to run (default:
# all); LMT_BASE_SLOW, factor for their limits of time (default 1).

# cleanup is called by a trap.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

overcommit=

cleanup() {
	[ -z "$overcommit" ] || echo "$overcommit" >/proc/sys/vm/overcommit_memory
	overcommit=
}

need_root
sed -e '/^#/d' -e '/^[[:space:]]*$/d' base.list >"$tmp/list"
if [ -n "${LMT_BASE:-}" ]; then
	for name in $LMT_BASE; do
		awk -v n="$name" '$1 == n { print; f = 1 } END { exit !f }' "$tmp/list" >>"$tmp/some" || {
			plan 1
			diag "LMT_BASE: base.list has no $name"
			not_ok "$name"
			finish
		}
	done
	mv "$tmp/some" "$tmp/list"
fi

# case_of NAME RC OUTPUT: by exit code, and by what was said: a program that
# exits 0 with a test that failed, or with none, is not a pass.
case_of() {
	bad=$(grep -cE '^[[:space:]]*not ok ' "$3")
	good=$(grep -cE '^[[:space:]]*ok |\[OK\]|\[PASS\]|^OK' "$3")
	reason=$(grep -iE 'skip' "$3" | head -n 1 | sed -e 's/.*# *[Ss][Kk][Ii][Pp][: ]*//' -e 's/#//g')
	case $2 in
	0)
		# The few that print no TAP speak by their exit code alone.
		if [ "$bad" -gt 0 ]; then
			diag "$1: exit 0, but $bad results are \"not ok\""
			not_ok "$1"
		else
			ok "$1 ($good results)"
		fi
		;;
	4)
		skip "$1" "${reason:-it gave no reason}"
		;;
	124|137|143)
		diag "$1: longer than its limit of time"
		not_ok "$1"
		;;
	*)
		diag "$1: exit $2"
		not_ok "$1"
		;;
	esac
}

# no_verdict NAME OUTPUT: the program failed at what is no test of the kernel,
# and would likely not fail again. mremap_test sees to it that its destination is
# free, but not that what it maps below it (the "preamble") is: now and then, 1
# of 24 times, address space randomization has put something there.
no_verdict() {
	[ "$1" = mm/mremap_test ] &&
		[ "$(grep -cE '^[[:space:]]*not ok ' "$2")" -eq 1 ] &&
		grep -q 'Failed to map dest preamble region: File exists' "$2"
}

plan $(($(wc -l <"$tmp/list") + 1))
mark_log
# mremap_test maps 2 GiB twice, and touches a little of it: small guests refuse.
overcommit=$(cat /proc/sys/vm/overcommit_memory)
echo 1 >/proc/sys/vm/overcommit_memory
while read -r name limit sources args; do
	: "$sources"
	if [ ! -x "base/$name" ]; then
		diag "base/$name is not there: the Makefile did not build it"
		not_ok "$name"
		continue
	fi
	[ "$args" != - ] || args=
	limit=$((limit * ${LMT_BASE_SLOW:-1}))
	start=$(cut -d' ' -f1 /proc/uptime)
	for try in 1 2 3; do
		# shellcheck disable=SC2086 # Words are wanted.
		(cd "base/${name%/*}" && exec timeout -s KILL "$limit" "./${name##*/}" $args) \
			>"$tmp/out" 2>&1 </dev/null
		rc=$?
		if [ "$rc" -eq 0 ] || [ "$try" -eq 3 ] || ! no_verdict "$name" "$tmp/out"; then
			break
		fi
		diag "$name: try $try found its place in the address space taken; once more"
	done
	end=$(cut -d' ' -f1 /proc/uptime)
	# Of what went well, only that it is not a plain "ok".
	if [ "$rc" -eq 0 ]; then
		grep -vE '^ok [0-9]+ ' "$tmp/out" | sed 's/^/# /'
		grep -E '^ok [0-9]+ .*# (SKIP|XFAIL)' "$tmp/out" | sed -n '1,5s/^/# /p'
	else
		diag_file "$tmp/out"
	fi
	diag "$name: exit $rc after $(echo "$start $end" | awk '{ printf "%.1f", $2 - $1 }') s"
	case_of "$name" "$rc" "$tmp/out"
done <"$tmp/list"
check_splats "the kernel complained of nothing"
finish
