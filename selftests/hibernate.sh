#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Suspend to disk, three times: with a linear map as it was at boot; after 100
# splits, with memory invalid in the map; and after 100 more. What was invalid
# has to be that afterwards, with its content.
#
# THIS OVERWRITES DISKS AND RESETS THE MACHINE. It does nothing unless LMT_SWAP and
# LMT_NOTE name them, block devices of which nothing is needed.
#
# Environment, besides that of lib.sh:
#	LMT_SWAP	a disk to hibernate to; resume= on the command line has to
#			name it, unless LMT_RESUME=init
#	LMT_NOTE	a small disk for what one kernel has to tell the next; it must
#			be empty at first
#	LMT_RESUME=init	the init of the next boot resumes: it runs this test with the
#			argument boot. Before it resumes, that makes free memory
#			invalid, so that what is restored goes to such memory
#
# With the argument boot, which an init has to give at each boot, it resumes where
# LMT_RESUME=init and the disk holds an image. Where that fails, or the last
# attempt did, or the kernel should have resumed by itself, it says so and exits
# with 1. A reset that leads to no resume is hence not mistaken for a first boot:
# that is all there is to see of a crash while the consoles are suspended.

# Functions are called by check. Of A && B || C, C ends the test.
# shellcheck disable=SC2015,SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
# shellcheck source-path=SCRIPTDIR
. ./next_kernel.sh

disk=${LMT_SWAP:-}
notes=${LMT_NOTE:-}
state=$tmp

# The page cache of a kernel that was restored is as old as it is.
note() { dd of="$notes" bs=65536 conv=notrunc,fsync,sync 2>/dev/null; }
noted() {
	echo 1 >/proc/sys/vm/drop_caches
	dd if="$notes" bs=65536 count=1 2>/dev/null | tr -d '\000'
}

boot() {
	[ -n "$disk" ] && [ -n "$notes" ] || return 0
	signature=$(dd if="$disk" bs=1 skip=4086 count=9 2>/dev/null | tr -d '\000')
	last=$(noted)
	case $signature:$last in
	S1SUSPEND:*)
		[ "${LMT_RESUME:-}" = init ] || {
			echo "hibernate.sh: there is an image on $disk, and the kernel did not resume from it"
			return 1
		}
		;;
	*:hibernating*|*:resuming*)
		echo "hibernate.sh: the system came up anew where it should have been resumed"
		return 1
		;;
	*)
		return 0
		;;
	esac
	load_module || {
		echo "hibernate.sh: $why"
		return 1
	}
	mib=$(awk '/^MemAvailable:/ { print int($2 / 3072) }' /proc/meminfo)
	run_module "hold $mib"
	{
		echo "resuming"
		cat "$mdir/held"
	} >"$tmp/note"
	note <"$tmp/note"
	echo "hibernate.sh: resuming, with $(awk -F'\t' '{ n += $4 } END { printf "%.0f", n }' "$mdir/held") bytes invalid here"
	cat "/sys/class/block/${disk##*/}/dev" >/sys/power/resume
	echo "hibernate.sh: the attempt to resume has come back"
	return 1
}

if [ "${1:-}" = boot ]; then
	boot
	exit
fi

[ -n "$disk" ] && [ -n "$notes" ] ||
	skip_all "overwrites disks and resets the machine: only with LMT_SWAP and LMT_NOTE"
[ -b "$disk" ] || skip_all "LMT_SWAP: $disk is no block device"
[ -b "$notes" ] || skip_all "LMT_NOTE: $notes is no block device"
need_debugfs
grep -qw disk /sys/power/state 2>/dev/null || skip_all "/sys/power/state has no disk: needs CONFIG_HIBERNATION"
[ -e "$ko" ] || loaded || skip_all "no module at $ko"
[ "${LMT_RESUME:-}" = init ] || [ "$(arg resume)" = "$disk" ] ||
	skip_all "nobody would resume: neither resume=$disk nor LMT_RESUME=init"

cleanup() { swapoff "$disk" 2>/dev/null; }

# hibernate N: away and back.
hibernate() {
	table "$tmp/before"
	echo "hibernating" | note
	[ "$(noted)" = hibernating ] || bail "$notes cannot be written"
	echo reboot >/sys/power/disk
	if ! echo disk >/sys/power/state 2>"$tmp/err"; then
		diag_file "$tmp/err"
		echo | note
		return 1
	fi
	last=$(noted)
	echo "$last" | tail -n +2 >"$tmp/theirs"
	echo | note
	table "$tmp/after"
	# Of a kernel that resumed by itself nothing is known here.
	case ${LMT_RESUME:-}:$last in
	init:resuming*|:hibernating*)
		;;
	*)
		diag "on the disk is not what the kernel that resumed should have left: $last"
		return 1
		;;
	esac
}

# same_map: all bytes by leaf as before. KFENCE may have changed what is invalid in its pool.
same_map() {
	grep -E '^(pud|cont_pmd|pmd|cont_pte|pte|total|tables)' "$tmp/before" >"$tmp/a"
	grep -E '^(pud|cont_pmd|pmd|cont_pte|pte|total|tables)' "$tmp/after" >"$tmp/b"
	more=$(($(bytes "$tmp/after" invalid) - $(bytes "$tmp/before" invalid)))
	[ "$more" -ge 0 ] || more=$((-more))
	[ -s "$tmp/a" ] && cmp -s "$tmp/a" "$tmp/b" && [ "$more" -le "$(kfence_slack)" ] && return
	diag "before:"
	diag_file "$tmp/before"
	diag "after:"
	diag_file "$tmp/after"
	return 1
}

# restored_to_invalid: was memory that is held here invalid in the kernel that
# restored it, too?
restored_to_invalid() {
	n=0
	while IFS="$(printf '\t')" read -r _ start size _ _; do
		n=$((n + $(overlap "$tmp/theirs" "$start" $((start + size)))))
	done <"$mdir/held"
	diag "$n bytes of it were invalid in the kernel that restored them"
	[ "$n" -gt 0 ]
}

once() {
	check "$1: away and back" hibernate
	check "$1: the pattern is intact" pattern_intact
	check "$1: the linear map is as before" same_map
}

splits_wanted() {
	if [ "$(boot_mode)" = pages ]; then
		skip "$1" "the linear map is in pages"
	else
		check "$1" split_more
	fi
}

held_too() {
	check "$1: what is held is as invalid as it was left" run_module held
	if [ "${LMT_RESUME:-}" = init ]; then
		check "$1: it was restored to memory that was invalid" restored_to_invalid
	fi
}

if [ "${LMT_RESUME:-}" = init ]; then plan 19; else plan 17; fi
mark_log
make_pattern
if ! mkswap "$disk" >"$tmp/err" 2>&1 || ! swapon "$disk" 2>>"$tmp/err"; then
	diag_file "$tmp/err"
	bail "no swap on $disk"
fi
load_module || bail "$why"
once "as at boot"
splits_wanted "100 splits"
check "memory is made invalid" run_module "hold 128"
once "with invalid memory"
held_too "with invalid memory"
splits_wanted "100 more splits"
once "after more splits"
held_too "after more splits"
check "all is valid again, and its content intact" run_module let_go
check "the module can be unloaded" unload_module
check_splats "the kernel complained of nothing"
finish
