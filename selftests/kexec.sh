#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kexec into the kernel that runs, three times: from a linear map as it was at
# boot, with kexec_file_load(2); after 100 splits and with most of free memory
# invalid in the map, as blocks and as pages, so that what is copied goes to such
# memory; and the same with kexec_load(2).
#
# THIS STARTS ANOTHER KERNEL WITHOUT A SHUTDOWN, and all that is not on a disk is
# lost. It does nothing unless LMT_KEXEC=1 is in the environment. The test goes on
# in the kernel that it started, whose init has to run it again, with what is
# needed for that:
#
#	LMT_KEXEC=1
#	LMT_PAYLOAD	file or disk with a tar archive of Image, this kernel, and
#			initrd
#	LMT_CARRY	directory that is handed on by the initrd; must be there
#			again, with the same path, when the next kernel's init
#			runs this test
#	LMT_KEXECED	from the command line's lmt.kexeced=: how many kernels were
#			started so far
#
# A kernel that does not come up leaves no result: whoever waits for it has to
# take that for a failure.

# Functions are called by check.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
# shellcheck source-path=SCRIPTDIR
. ./next_kernel.sh

nth=${LMT_KEXECED:-0}
state=${LMT_CARRY:-}/kexec

[ "${LMT_KEXEC:-0}" = 1 ] ||
	skip_all "starts another kernel without a shutdown: only with LMT_KEXEC=1"
next_kernel_needs
[ -e /sys/kernel/kexec_loaded ] || skip_all "no /sys/kernel/kexec_loaded: needs CONFIG_KEXEC_CORE"

# go_on HOW OPTION...: loads the kernel, and starts it. Returns only if that fails.
go_on() {
	how=$1
	shift
	cat /proc/sys/kernel/random/boot_id >"$state/boot_id"
	make_initrd || bail "no initrd can be made in $tmp"
	if ! kexec "$@" -l "$tmp/payload/Image" --initrd="$tmp/initrd" \
		--command-line="$(next_cmdline $((nth + 1)))" >"$tmp/err" 2>&1 ||
		[ "$(cat /sys/kernel/kexec_loaded)" != 1 ]; then
		diag_file "$tmp/err"
		not_ok "an image loads ($how)"
		finish
	fi
	diag "kernel $((nth + 1)) is about to be started ($how)"
	sleep 1
	kexec -e
	not_ok "kexec -e starts kernel $((nth + 1)) ($how)"
	finish
}

# hold_most: most of free memory, invalid until this kernel ends.
hold_most() {
	mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) - 400 }' /proc/meminfo)
	check "free memory is made invalid ($mib MiB)" run_module "hold $mib"
	cat "$mdir/held" >"$state/held"
	table "$tmp/layout"
	diag "invalid in the linear map: $(bytes "$tmp/layout" invalid) bytes"
}

# went_to_invalid: was the initrd, by where this kernel found it, copied to memory
# that the kernel before held invalid?
went_to_invalid() {
	chosen=/sys/firmware/devicetree/base/chosen
	start=$(number "$chosen/linux,initrd-start")
	end=$(number "$chosen/linux,initrd-end")
	overlap=$(overlap "$state/held" "$start" "$end")
	diag "the initrd was copied to $start-$end, $overlap bytes of it invalid by then"
	[ "$end" -gt "$start" ] && [ "$overlap" -gt 0 ]
}

arrived() {
	check "kernel $nth runs" test "$(cat /proc/sys/kernel/random/boot_id)" != "$(cat "$state/boot_id")"
	check "kernel $nth: the pattern is intact" pattern_intact
	check "kernel $nth: detection and layout are right" layout_right
}

if [ "$nth" = 0 ]; then
	mkdir -p "$state"
	tap_keep=$state/tap
	: >"$tap_keep"
	plan 15
	make_pattern
	go_on "kexec_file_load, map as at boot" -s
fi

tap_keep=$state/tap
[ -s "$tap_keep" ] || {
	tap_keep=
	bail "kernel $nth has nothing of what was handed on in $state"
}
tap_go_on
arrived
[ "$nth" = 1 ] || check "kernel $nth: its initrd went to memory that was invalid" went_to_invalid
load_module || bail "$why"
case $nth in
1|2)
	if [ "$(boot_mode)" = pages ]; then
		skip "100 splits" "the linear map is in pages"
	else
		check "100 splits" split_more
	fi
	hold_most
	if [ "$nth" = 1 ]; then
		go_on "kexec_file_load, $(splits) splits" -s
	else
		# Into the biggest piece that is invalid, where that is not low memory.
		min=$(printf "0x%x" "$(biggest "$state/held")")
		go_on "kexec_load to $min and up, $(splits) splits" -c --mem-min="$min"
	fi
	;;
3)
	unload_module
	rm -f "$state/pattern"
	finish
	;;
*)
	bail "no kernel $nth was started"
	;;
esac
