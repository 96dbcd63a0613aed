#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Splits that are asked for while the system comes up. The kernel's own test
# (arm64.split_test, with CONFIG_ARM64_BBML2_TEST) has left a line for each try:
#
#	linear_map: split test: (initcall LEVEL|cpu NUMBER): ERRNO
#
# They work (0) before the scheduler runs, which it does not try, and once the
# capabilities of the system are final. In between, from early initcalls and on each
# CPU of boot, they are refused with -EBUSY (-16). Where the linear map is of
# pages there is nothing to split (0), where it is of blocks for good all are
# refused with -EINVAL (-22).

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

cpus=${LMT_CPUS:-/sys/devices/system/cpu}

arg_given arm64.split_test || skip_all "the kernel was booted without arm64.split_test (CONFIG_ARM64_BBML2_TEST)"
plan 5
whole_log || diag "the kernel's log has lost its beginning: boot with a larger log_buf_len="
sed -n 's/.*linear_map: split test: //p' "$tmp/log" >"$tmp/tries"
diag_file "$tmp/tries"
mode=$(sed -nE 's/.*linear_map: (blocks|pages), rodata=.*/\1/p' "$tmp/log" | head -n 1)
if [ "$mode" = pages ]; then
	early=0 late=0
elif [ "$(rodata)" = full ] || kfence_late; then
	early=-16 late=0
else
	early=-22 late=-22
fi

# is WHAT WANT NAME: the one line of WHAT says WANT.
is() {
	said=$(sed -n "s/^$1: //p" "$tmp/tries")
	[ "$said" = "$2" ] || diag "$1: \"$said\", should be $2"
	check "$3" test "$said" = "$2"
}
is 'initcall 0' $early "before the other CPUs start"

# A CPU that comes up later than boot is not refused.
wrong=0
started=0
for f in "$cpus"/cpu[1-9]*; do
	n=${f##*/cpu}
	grep -q "CPU$n: Booted secondary processor" "$tmp/log" || continue
	said=$(sed -n "s/^cpu $n: //p" "$tmp/tries")
	first=$(echo "$said" | head -n 1)
	started=$((started + 1))
	[ "$first" = $early ] || { diag "CPU $n: \"$first\", should be $early"; wrong=1; }
done
if [ $started -gt 0 ]; then
	check "on each CPU that comes up at boot" test $wrong -eq 0
else
	skip "on each CPU that comes up at boot" "there is no other"
fi
is 'initcall 1' $late "core_initcall"
is 'initcall 7' $late "late_initcall"
# Any splat would have ended a guest of ours; elsewhere it is in the log.
if grep -qE 'WRONG|no memory' "$tmp/tries" || grep -q 'WARNING: .*linear_map' "$tmp/log"; then
	not_ok "no warning, and pages are as they were"
else
	ok "no warning, and pages are as they were"
fi
finish
