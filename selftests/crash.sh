#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A crash kernel is loaded, unloaded and loaded again, the last time with most of
# free memory invalid in the linear map; then this kernel crashes. The crash
# kernel goes on with this test, and looks at /proc/vmcore.
#
# THIS CRASHES THE MACHINE. It does nothing unless LMT_CRASH=1 is in the
# environment. What else is needed: see kexec.sh, LMT_CRASH in place of LMT_KEXEC;
# and crashkernel= on the command line.

# Functions are called by check.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
# shellcheck source-path=SCRIPTDIR
. ./next_kernel.sh

nth=${LMT_KEXECED:-0}
state=${LMT_CARRY:-}/crash
core=/proc/vmcore
crash_loaded=/sys/kernel/kexec_crash_loaded

[ "${LMT_CRASH:-0}" = 1 ] || skip_all "crashes the machine: only with LMT_CRASH=1"
next_kernel_needs

# load OPTION...: the crash kernel.
load() {
	make_initrd || bail "no initrd can be made in $tmp"
	kexec "$@" -p "$tmp/payload/Image" --initrd="$tmp/initrd" \
		--command-line="$(next_cmdline 1 nr_cpus=1 reset_devices)" >"$tmp/err" 2>&1 &&
		[ "$(cat "$crash_loaded")" = 1 ] && return
	diag_file "$tmp/err"
	return 1
}

unload() {
	kexec -p -u >"$tmp/err" 2>&1 && [ "$(cat "$crash_loaded")" = 0 ] && return
	diag_file "$tmp/err"
	return 1
}

# same_leaves FILE: bytes by leaf as in the table FILE.
same_leaves() {
	table "$tmp/now" && grep -E '^(pud|cont_pmd|pmd|cont_pte|pte|total)' "$tmp/now" >"$tmp/a" &&
		grep -E '^(pud|cont_pmd|pmd|cont_pte|pte|total)' "$1" >"$tmp/b" && cmp -s "$tmp/a" "$tmp/b" && return
	diag_file "$tmp/now"
	return 1
}

# vm_word OFFSET: 8 bytes of vmcore as a number.
vm_word() {
	word=$(dd if="$core" bs=8 skip=$(($1 / 8)) count=1 2>/dev/null | od -A n -v -t x8 | tr -d ' ')
	echo $((0x${word:-0}))
}

# vm_segments TYPE: "offset physical-address size" of each segment of a type.
vm_segments() {
	phnum=$((($(vm_word 56)) & 0xffff))
	phoff=$(vm_word 32)
	i=0
	while [ "$i" -lt "$phnum" ]; do
		at=$((phoff + i * 56))
		[ $(($(vm_word "$at") & 0xffffffff)) != "$1" ] ||
			echo "$(vm_word $((at + 8))) $(vm_word $((at + 24))) $(vm_word $((at + 32)))"
		i=$((i + 1))
	done
}

is_elf() { [ "$(dd if="$core" bs=4 count=1 2>/dev/null | hexdump -v -e '1/1 "%02x"')" = 7f454c46 ]; }

vmcoreinfo() {
	vm_segments 4 | while read -r offset _ size; do
		dd if="$core" bs=4 skip=$((offset / 4)) count=$(((size + 3) / 4)) 2>/dev/null
	done >"$tmp/notes"
	tr -d '\000' <"$tmp/notes" | sed -n 's/.*OSRELEASE=//p' >"$tmp/release"
	diag "vmcoreinfo is of $(cat "$tmp/release")"
	[ "$(cat "$tmp/release")" = "$(uname -r)" ]
}

# held_intact: the first word of each area that was held, as the module said it
# is, in the crashed kernel's memory.
held_intact() {
	vm_segments 1 >"$tmp/loads"
	areas=0 wrong=0
	while IFS="$(printf '\t')" read -r kind phys _ _ want; do
		areas=$((areas + 1))
		at=
		while read -r offset start size; do
			[ "$phys" -lt "$start" ] || [ "$phys" -ge $((start + size)) ] ||
				at=$((offset + phys - start))
		done <"$tmp/loads"
		if [ -z "$at" ] || [ "$(vm_word "$at")" != $((want)) ]; then
			wrong=$((wrong + 1))
			diag "$kind at $phys: offset ${at:-none}, $(vm_word "${at:-0}"), expected $((want))"
		fi
	done <"$state/held"
	diag "$areas areas that were held invalid, $wrong of them wrong"
	[ "$areas" -gt 0 ] && [ "$wrong" = 0 ]
}

if [ "$nth" = 0 ]; then
	[ -e "$crash_loaded" ] || skip_all "no $crash_loaded: needs CONFIG_CRASH_DUMP"
	[ -n "$(arg crashkernel)" ] || skip_all "no crashkernel= on the command line"
	mkdir -p "$state"
	tap_keep=$state/tap
	: >"$tap_keep"
	plan 13
	make_pattern
	load_module || bail "$why"
	table "$tmp/first"
	size=$(cat /sys/kernel/kexec_crash_size)
	diag "$size bytes are reserved for a crash kernel"
	check "memory is reserved" test "$size" -gt 0
	check "a crash kernel loads (kexec_file_load)" load -s
	check "the linear map is as before" same_leaves "$tmp/first"
	check "it can be unloaded" unload
	check "a crash kernel loads (kexec_load)" load -c
	check "it can be unloaded again" unload
	check "the linear map is still as before" same_leaves "$tmp/first"
	mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) - 400 }' /proc/meminfo)
	check "free memory is made invalid ($mib MiB)" run_module "hold $mib"
	cat "$mdir/held" >"$state/held"
	cat /proc/sys/kernel/random/boot_id >"$state/boot_id"
	load -s || {
		not_ok "a crash kernel loads again"
		finish
	}
	diag "this kernel is about to crash"
	sleep 1
	echo c >/proc/sysrq-trigger
	not_ok "the kernel crashes"
	finish
fi

tap_keep=$state/tap
[ -s "$tap_keep" ] || {
	tap_keep=
	bail "the crash kernel has nothing of what was handed on in $state"
}
tap_go_on
check "the crash kernel runs" test "$(cat /proc/sys/kernel/random/boot_id)" != "$(cat "$state/boot_id")"
check "the pattern is intact" pattern_intact
check "/proc/vmcore is an ELF file" is_elf
check "its vmcoreinfo is that of the kernel that crashed" vmcoreinfo
check "what was held invalid is in it" held_intact
rm -f "$state/pattern"
finish
