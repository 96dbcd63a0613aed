#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs secretmem, whose source says what it does, after a note in the kernel's
# log: layout.sh looks for it, since the map may have been split from then on.

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

[ ! -w /dev/kmsg ] || mark_log
./secretmem
