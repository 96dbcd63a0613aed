#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Memory that a hypervisor gives and takes back while the system runs: a virtio-mem
# device, made larger and smaller in a loop, while the linear map is read as root
# may read it and a file's pages move out of what goes. The file must keep its
# content, no read may fail, and at the end the linear map must be what it was.
#
# Wants a QEMU that has its monitor at a virtio port named "monitor", and in it a
# virtio-mem device "vm0" of at least 1 GiB with nothing plugged; scripts/run makes
# such a one (virtio-mem=).
#
# Environment, besides that of lib.sh: LMT_VIRTIO_MEM_LOOPS (default 4).

# Functions are called by traps too.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

auto=/sys/devices/system/memory/auto_online_blocks
loops=${LMT_VIRTIO_MEM_LOOPS:-4}
was=
reader=
monitor=
file=/dev/shm/virtio_mem.$$
was_loaded=0

cleanup() {
	for pid in $reader $monitor; do kill "$pid" 2>/dev/null; done
	rm -f "$file"
	[ -z "$was" ] || echo "$was" >"$auto"
	[ "$was_loaded" = 1 ] || unload_module
}

port=
for p in /sys/class/virtio-ports/*; do
	if [ "$(cat "$p/name" 2>/dev/null)" = monitor ]; then port=/dev/${p##*/}; fi
done
[ -n "$port" ] || skip_all "no virtio port named monitor"
[ -e /sys/bus/virtio/drivers/virtio_mem ] || skip_all "no virtio-mem: needs CONFIG_VIRTIO_MEM"
need_debugfs
loaded && was_loaded=1
load_module || skip_all "$why"
exec 8<>"$port" || bail "cannot open $port"
: >"$tmp/monitor"
cat <&8 >"$tmp/monitor" &
monitor=$!

ask() { printf '%s\n' "$*" >&8; }

# size: bytes that are plugged now. The monitor echoes what it is asked.
size() {
	seen=$(($(wc -l <"$tmp/monitor")))
	ask "qom-get vm0 size"
	j=0
	while [ $j -lt 200 ]; do
		tail -n +$((seen + 1)) "$tmp/monitor" | tr -d '\r' | grep -xE '[0-9]+' && return
		j=$((j + 1))
		sleep 0.1
	done
	echo none
}

# resize MIB: 0 once that much is plugged.
resize() {
	ask "qom-set vm0 requested-size ${1}M"
	i=0
	while now=$(size); [ "$now" != $(($1 * 1048576)) ]; do
		if [ $i -ge 60 ]; then
			diag "asked for $1 MiB, $now bytes are plugged after 60 s"
			return 1
		fi
		i=$((i + 1))
		sleep 1
	done
}

total_kb() { awk '/^MemTotal:/ { print $2 }' /proc/meminfo; }

# grown KB FILE: MemTotal and the linear map are larger than before by that much.
grown() {
	table "$2"
	g=$(($(total_kb) - kb)) m=$((($(bytes "$2" total) - $(bytes "$tmp/before" total)) / 1024))
	[ "$g" = "$1" ] && [ "$m" = "$1" ] && return 0
	diag "expected $1 KiB more, MemTotal has $g more, the linear map $m"
	return 1
}

plan 9
mark_log
[ "$(size)" = 0 ] || bail "vm0 has $(size) bytes plugged already"
was=$(cat "$auto")
echo online_movable >"$auto"
table "$tmp/before"
kb=$(total_kb)
check "1 GiB is plugged" resize 1024
check "MemTotal and the linear map have it" grown 1048576 "$tmp/plugged"
diag_file "$tmp/plugged"
block=$((0x$(cat /sys/devices/system/memory/block_size_bytes)))
big=0
[ "$block" -ge 1073741824 ] || big=$(($(bytes "$tmp/plugged" pud) - $(bytes "$tmp/before" pud)))
check "no leaf of it is larger than a memory block, $block bytes" test "$big" = 0

# More than what there was: a part of it lies in what was plugged.
free=$(awk '/^MemFree:/ { printf "%.0f", $2 / 1024 }' /proc/meminfo)
n=$(((free - 700) / 16))
dd if=/dev/urandom of="$tmp/seed" bs=16M count=1 2>/dev/null
i=0
while [ $i -lt $n ]; do
	cat "$tmp/seed"
	echo $i
	i=$((i + 1))
done >"$file" || bail "cannot write $((16 * n)) MiB to $file"
sum=$(md5sum <"$file")
diag "a file of $((16 * n)) MiB"
./map_reader "$tmp/most" >"$tmp/said" 2>"$tmp/err" &
reader=$!
wrong=0
n=0
while [ $n -lt "$loops" ]; do
	for s in 700 1024 896 1024; do
		resize $s || wrong=$((wrong + 1))
	done
	n=$((n + 1))
done
check "made smaller and larger $loops times" test $wrong = 0
check "the file has its content" test "$(md5sum <"$file")" = "$sum"
rm -f "$file"
check "all is unplugged" resize 0
kill "$reader"
wait "$reader"
rc=$?
reader=
diag_file "$tmp/said"
[ $rc = 0 ] || diag_file "$tmp/err"
check "no reader saw an error" test $rc = 0
i=0
until grown 0 "$tmp/after" >/dev/null || [ $i -ge 20 ]; do
	i=$((i + 1))
	sleep 1
done
check "the linear map is as large as before" grown 0 "$tmp/after"
check_splats "the kernel complained of nothing"
finish
