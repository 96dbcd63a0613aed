#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: scripts/test/parse-log.sh
#
# Tests scripts/parse-log on the saved logs in scripts/test/logs: each has
# `console`, `verdict`, what is expected of it, and where the runner ended the
# guest, the phase in `timeout`, and exceptions in `allow`; a panic that was asked for is in `panic`, the
# number of kernels that should boot in `boots`. Those named real-* are logs of guests that did
# what the name says. Tests the readers of TAP and of page tables as well.

# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../lib.sh"
help_if_asked "$@"
n=0 bad=0
is() { # NAME WANTED GOT
	((n += 1))
	if [[ $2 == "$3" ]]; then
		echo "ok $n $1"
	else
		echo "not ok $n $1"
		printf '# wanted: %s\n# got:    %s\n' "$2" "$3"
		bad=1
	fi
}
tap() { awk -f "$top/scripts/tap.awk"; }

echo "TAP version 13"
for d in "$top"/scripts/test/logs/*/; do
	args=()
	for a in timeout panic boots allow; do
		[[ ! -f $d/$a ]] || args+=("--$a" "$(cat "$d/$a")")
	done
	rc=0
	got=$("$top/scripts/parse-log" "${args[@]}" "$d/console" "$d/verdict") || rc=$?
	is "log $(basename "$d")" "$(cat "$d/expect")" "$got"
	case $got in PASS*) want=0 ;; SKIP*) want=4 ;; *) want=1 ;; esac
	is "log $(basename "$d"), exit" "$want" "$rc"
done

# What an exception is for, and nothing that only looks like it.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$top/scripts/parse-log" --patterns "$tmp/splats" "$tmp/allowed"
left() { # NAME LINE
	grep -E -f "$tmp/splats" <<<"$2" | grep -cvE -f "$tmp/allowed" -f "$tmp/allowed.$1" || true
}
is "allow=kfence-kunit: a report that the test provokes" 0 "$(left kfence-kunit '[    2.1] BUG: KFENCE: invalid read in test_invalid_access+0x70/0xe8')"
is "allow=kfence-kunit: the same, of a module" 1 "$(left kfence-kunit '[    2.1] BUG: KFENCE: invalid read in test_invalid_access+0x70/0xe8 [other]')"
is "allow=kfence-kunit: of a function that is no case" 1 "$(left kfence-kunit '[    2.1] BUG: KFENCE: invalid read in test_something+0x70/0xe8')"
is "allow=kfence-kunit: of a function with a longer name" 1 "$(left kfence-kunit '[    2.1] BUG: KFENCE: memory corruption in my_test_corruption+0x70/0xe8')"
is "allow=kfence-kunit: another checker's report" 1 "$(left kfence-kunit '[    2.1] BUG: KASAN: use-after-free in test_corruption+0x70/0xe8')"
is "allow=kfence-kunit: a warning" 1 "$(left kfence-kunit '[    2.1] WARNING: CPU: 0 PID: 1 at mm/kfence/core.c:1 kfence_protect+0x70/0xe8')"

is "TAP: passed, failed, skipped" "2 1 1" "$(printf '%s\n' 1..4 'ok 1 a' 'not ok 2 b' 'ok 3 c # SKIP no' 'ok 4 d' | tap)"
is "TAP: expected failures pass" "2 0 0" "$(printf '%s\n' 1..2 'ok 1 a' 'not ok 2 b # XFAIL known' | tap)"
is "TAP: a plan not met is a failure" "1 1 0" "$(printf '%s\n' 1..3 'ok 1 a' | tap)"
is "TAP: a plan of nothing with a reason is a skip" "0 0 1" "$(printf '%s\n' '1..0 # SKIP no module' | tap)"
is "TAP: nothing at all is nothing" "0 0 0" "$(printf '%s\n' hello | tap)"
is "TAP: bail out is a failure" "1 1 0" "$(printf '%s\n' 'ok 1 a' 'Bail out! gone' | tap)"
is "KTAP: parents do not count" "2 1 0" "$(printf '%s\n' 'KTAP version 1' 1..1 '  1..3' '  ok 1 a' '  not ok 2 b' '  ok 3 c' 'not ok 1 group' | tap)"
is "KTAP: a parent that fails by itself does" "1 1 0" "$(printf '%s\n' 1..1 '  ok 1 a' 'not ok 1 group' | tap)"
is "TAP: what a test quotes does not count" "1 0 0" "$(printf '%s\n' 1..1 '# not ok 1 inner' 'ok 1 outer' | tap)"
is "TAP: carriage returns do not matter" "0 0 1" "$(printf '1..1\r\nok 1 a # SKIP\r\n' | tap)"

is "page tables: bytes by leaf" "1073741824 33554432 4194304 65536 8192 4096 1111564288" "$(
	awk -f "$top/scripts/layout.awk" <<-'EOT' | cut -f2 | xargs
	---[ Linear Mapping start ]---
	0xffff000000000000-0xffff000000001000           4K PTE       RW NX SHD AF        UXN    MEM/NORMAL
	0xffff000000001000-0xffff000000002000           4K PTE     F RW NX SHD AF        UXN    MEM/NORMAL
	0xffff000000010000-0xffff000000020000          64K PTE       RW NX SHD AF    CON UXN    MEM/NORMAL
	0xffff000000200000-0xffff000000600000           4M PMD       RW NX SHD AF        BLK UXN    MEM/NORMAL
	0xffff000002000000-0xffff000004000000          32M PMD       RW NX SHD AF    CON BLK UXN    MEM/NORMAL
	0xffff000040000000-0xffff000080000000           1G PUD       RW NX SHD AF        BLK UXN    MEM/NORMAL
	0xffff000080000000-0xffff008000000000         510G PUD
	0xffff008000000000-0xffff800000000000      130560G PGD
	---[ Linear Mapping end ]---
	EOT
)"
echo "1..$n"
exit "$bad"
