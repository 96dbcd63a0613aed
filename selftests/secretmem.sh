#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs secretmem, whose source says what it does, after a note in the kernel's
# log: layout.sh looks for it, since the map may have been split from then on.

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# stuck: the kernel had no memory for what it would have needed, see detect.sh.
stuck() { whole_log; grep -q 'linear_map: no memory for the [1-9][0-9]* page tables' "$tmp/log"; }

# It has to be there where the kernel can change the linear map by page, and
# has to be ENOSYS where it cannot: it would hide nothing.
if [ "$(config SECRETMEM)" = y ] && [ -z "$(arg secretmem.enable)" ]; then
	if stuck; then
		LMT_SECRET_EXPECT=ENOSYS
	elif [ "$(rodata)" = full ] || debug_pagealloc || kfence_late; then
		LMT_SECRET_EXPECT=works
	else
		LMT_SECRET_EXPECT=ENOSYS
	fi
	export LMT_SECRET_EXPECT
fi

[ ! -w /dev/kmsg ] || mark_log
./secretmem
