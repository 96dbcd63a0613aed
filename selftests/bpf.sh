#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# BPF programs and modules come and go: both make pages read-only or executable,
# with their aliases in the linear map, and give them back. bpf_loop, whose
# source says what it does, and loads of the module beside it. What is read-only
# in the linear map must be so only while they are there, nothing may be writable
# and executable, and the kernel may not complain.
#
# Environment, besides that of lib.sh: LMT_BPF_LOOPS (default 200).

# Functions are called by traps too.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

loops=${LMT_BPF_LOOPS:-200}
was_loaded=0
bpf=

cleanup() {
	[ -z "$bpf" ] || kill "$bpf" 2>/dev/null
	[ -z "$bpf" ] || wait "$bpf" 2>/dev/null
	bpf=
	if [ "$was_loaded" = 1 ]; then load_module; else unload_module; fi
}

# readonly_bytes FILE: bytes of the linear map that a dump says are read-only.
readonly_bytes() {
	awk '
		/^---\[/ { inside = /\[ Linear Mapping start \]/; next }
		inside && / ro / && !/ F / {
			n = $2 + 0
			unit = substr($2, length(n "") + 1)
			sum += n * (unit == "K" ? 1024 : unit == "M" ? 1048576 : 1073741824)
		}
		END { printf "%.0f\n", sum }' "$1"
}

need_debugfs
[ "$(config BPF_SYSCALL)" = y ] || skip_all "no bpf(2): needs CONFIG_BPF_SYSCALL"
[ "$(config BPF_JIT)" = y ] || skip_all "BPF is interpreted: needs CONFIG_BPF_JIT"
[ -r "$dfs/kernel_page_tables" ] ||
	skip_all "no $dfs/kernel_page_tables: needs CONFIG_PTDUMP_DEBUGFS"
loaded && was_loaded=1

plan 7
mark_log
unload_module || bail "rmmod $mod: $why"
dump_table "$tmp/before" || bail "cannot read $dfs/kernel_page_tables"
before=$(readonly_bytes "$tmp/dump")

./bpf_loop "$loops" "cat $dfs/kernel_page_tables >$tmp/held" >"$tmp/said" 2>"$tmp/err" &
bpf=$!
rounds=0
bad=0
while [ $rounds -lt 5 ] || kill -0 "$bpf" 2>/dev/null; do
	if ! load_module || ! unload_module; then
		diag "$why"
		bad=1
		break
	fi
	rounds=$((rounds + 1))
done
wait "$bpf"
rc=$?
bpf=
diag_file "$tmp/said"
head -n 20 "$tmp/err" >"$tmp/first"
diag_file "$tmp/first"
value() { sed -n "s/^$1	//p" "$tmp/said"; }
jited=$(value jited)
for key in programs jited; do
	figure "bpf.$key" "$(value $key)"
done
check "programs are compiled, and return what they should" \
	test "$rc" = 0 -a "${jited:-0}" -gt 0 -a "$(value wrong)" = 0
diag "the module was loaded and unloaded $rounds times beside them"
check "the module comes and goes beside them" test "$bad" = 0

held=$(readonly_bytes "$tmp/held")
# Freed areas may wait for RCU, and for a worker.
i=0
while dump_table "$tmp/after"; do
	after=$(readonly_bytes "$tmp/dump")
	if [ "$after" -le "$before" ] || [ $i -ge 15 ]; then break; fi
	i=$((i + 1))
	sleep 1
done
diag "read-only in the linear map: $before bytes before, $held with ${jited:-0} of programs held, $after after"
figure bpf.readonly_held "$((held - before))"
figure bpf.readonly_left "$((after - before))"
if [ "$(rodata)" = full ]; then
	check "their aliases are read-only while they are there" \
		test $((held - before)) -ge "${jited:-0}"
else
	skip "their aliases are read-only while they are there" "rodata=$(rodata) leaves aliases writable"
fi
check "nothing stays read-only" test "$after" -le "$before"
check "the linear map is as large as before" \
	test "$(bytes "$tmp/after" total)" = "$(bytes "$tmp/before" total)"
if [ -r "$dfs/check_wx_pages" ]; then
	check "nothing is writable and executable" grep -qx SUCCESS "$dfs/check_wx_pages"
else
	skip "nothing is writable and executable" "no $dfs/check_wx_pages"
fi
check_splats "the kernel complained of nothing"
finish
