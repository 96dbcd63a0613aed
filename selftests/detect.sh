#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What the kernel says about its linear map, against what the CPUs and the
# command line ask for. The kernel's boot line is
#
#	linear_map: (blocks|pages), rodata=(full|on|off): REASON
#
# and where a CPU that lacks the capability comes up at boot, another one follows:
#
#	linear_map: repainted with pages, N page tables: REASON
#
# or, where there was no memory for that,
#
#	linear_map: no memory for the N page tables that pages would take: ...
#
# Which CPUs may have blocks under rodata=full is decided here anew from
# MIDR_EL1 as sysfs shows it, by a table of our own. LMT_EXPECT and LMT_REASON
# (see lib.sh) say what a run is meant to show; without them the rest still
# has to be consistent.

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

cpus=${LMT_CPUS:-/sys/devices/system/cpu}

# implementer part lowest-revision (variant * 16 + revision, of variant 0
# unless all are good): CPUs that are known not to raise TLB conflict aborts.
# AmpereOne, AmpereOne-A, Cortex-X4, Neoverse-V3AE, Neoverse-V3, Olympus.
listed() {
	while read -r impl part from; do
		[ "$1" = "$impl" ] && [ "$2" = "$part" ] && [ "$3" -ge "$from" ] && return 0
	done <<-END
	192 2755 0
	192 2756 0
	65 3458 3
	65 3459 2
	65 3460 2
	78 16 0
	END
	return 1
}

# all_listed: reads midr_el1 of each CPU; its answer is 0 only if all are on
# the list. Leaves the MIDRs in $tmp/midr.
all_listed() {
	all=0
	: >"$tmp/midr"
	for f in "$cpus"/cpu[0-9]*/regs/identification/midr_el1; do
		[ -r "$f" ] || continue
		midr=$(cat "$f")
		printf '0x%08x\n' "$((midr & 0xffffffff))" >>"$tmp/midr"
		listed $((midr >> 24 & 0xff)) $((midr >> 4 & 0xfff)) \
			$(((midr >> 20 & 0xf) * 16 + (midr & 0xf))) || all=1
	done
	return $all
}

# The reason and mode that must come of it, as "MODE REGEX" lines of which one
# must fit. What each CPU's ID_AA64MMFR2_EL1 says cannot be seen from user space.
wanted() {
	if debug_pagealloc; then
		echo "pages debug_pagealloc needs pages"
	elif [ "$(rodata)" = full ]; then
		by_cpu "$1"
	elif kfence_late; then
		by_cpu "$1" | sed 's/^pages .*/pages KFENCE may be enabled late/'
	elif [ -n "$(config ARM64)" ]; then
		echo "blocks no page granularity needed"
	else
		# Without the configuration it cannot be told whether KFENCE is there.
		by_cpu "$1" | sed 's/^pages .*/pages KFENCE may be enabled late/'
		echo "blocks no page granularity needed"
	fi
}

# by_cpu RULE: these, where the linear map has to change by pages.
by_cpu() {
	if arg_given arm64.nobbml2; then
		echo "pages switched off by arm64\.nobbml2"
	elif [ "$1" = listed ]; then
		case ,$(arg arm64.bbml2_test), in
		# The test's parameter has the boot CPU lack it.
		*,without:0,*)	echo "pages CPU has no FEAT_BBM level 2" ;;
		*)		echo "blocks CPU on the FEAT_BBM level 2 allow-list" ;;
		esac
	else
		echo "blocks ID_AA64MMFR2_EL1\.BBM is 3 or more"
		echo "pages CPU has no FEAT_BBM level 2"
		if arg_given arm64.trust_bbml2; then
			echo "blocks arm64\.trust_bbml2 trusts ID_AA64MMFR2_EL1\.BBM=2"
		else
			echo "pages ID_AA64MMFR2_EL1\.BBM=2, but not on the allow-list"
		fi
	fi
}

# fits MODE REASON: to one of the wanted lines. The MIDR is checked apart.
fits() {
	while read -r m re; do
		[ "$m" = "$1" ] && echo "$2" | grep -qE "^$re( \\(MIDR 0x[0-9a-f]{8}\\))?\$" && return 0
	done <"$tmp/wanted"
	return 1
}

[ "${LMT_STOCK:-0}" != 1 ] || skip_all "LMT_STOCK=1: a kernel without the series has no boot line"
patched || skip_all "a kernel without the series: no boot line, no linear_map_get_stats()"

plan 9

whole_log || diag "the kernel's log has lost its beginning: boot with a larger log_buf_len="
grep -o 'linear_map: [a-z]*, rodata=.*' "$tmp/log" >"$tmp/line"
diag_file "$tmp/line"
n=$(wc -l <"$tmp/line")
[ "$n" -eq 1 ] || diag "there are $n such lines"
check "one boot line" test "$n" -eq 1

line=$(head -n 1 "$tmp/line")
mode=$(echo "$line" | sed -nE 's/^linear_map: (blocks|pages), rodata=(full|on|off): .*/\1/p')
said=$(echo "$line" | sed -nE 's/^linear_map: (blocks|pages), rodata=(full|on|off): .*/\2/p')
reason=$(echo "$line" | sed -nE 's/^linear_map: (blocks|pages), rodata=(full|on|off): (.*)/\3/p')

repainted=$(grep -c 'linear_map: repainted with pages, [0-9]* page tables: ' "$tmp/log")
final=$mode
if [ "$repainted" -gt 0 ]; then final="pages after $mode"; fi
if [ -n "${LMT_EXPECT:-}" ]; then
	want=$LMT_EXPECT
	if [ "$repainted" -gt 0 ] && [ "$want" = pages ]; then want="pages after blocks"; fi
	[ "$final" = "$want" ] || diag "mode is \"$final\", LMT_EXPECT=$LMT_EXPECT"
	check "mode is what the run expects" test "$final" = "$want"
else
	check "mode is blocks or pages" test -n "$mode"
fi

if [ -n "${LMT_REASON:-}" ]; then
	re=$(echo "$LMT_REASON" | tr _ ' ')
	# A "_" of the reason itself matches too.
	if echo "$reason" | tr _ ' ' | grep -qE "$re"; then
		ok "reason is what the run expects"
	else
		diag "reason is \"$reason\", LMT_REASON is \"$re\""
		not_ok "reason is what the run expects"
	fi
else
	check "there is a reason" test -n "$reason"
fi

[ "$said" = "$(rodata)" ] || diag "boot line: rodata=$said, command line and configuration: $(rodata)"
check "rodata= is as on the command line" test "$said" = "$(rodata)"

if all_listed; then rule=listed; else rule=unlisted; fi
diag "MIDR_EL1: $(sort -u "$tmp/midr" | tr '\n' ' ')($rule)"
if [ ! -s "$tmp/midr" ]; then
	diag "no midr_el1 in $cpus"
	not_ok "mode and reason follow from CPUs and command line"
else
	wanted "$rule" >"$tmp/wanted"
	if fits "$mode" "$reason"; then
		ok "mode and reason follow from CPUs and command line"
	else
		diag "$mode: $reason: is none of"
		diag_file "$tmp/wanted"
		not_ok "mode and reason follow from CPUs and command line"
	fi
fi

named=$(echo "$reason" | sed -n 's/.*(MIDR \(0x[0-9a-f]*\)).*/\1/p')
if [ -z "$named" ]; then
	ok "the MIDR that the reason names is a CPU's (it names none)"
else
	check "the MIDR that the reason names is a CPU's" grep -qxF "$named" "$tmp/midr"
fi

# The capability is there if every CPU has it, whatever rodata= says.
caps=$(grep -c 'CPU features: detected: BBM level 2 without TLB conflict abort' "$tmp/log")
if arg_given arm64.nobbml2; then
	cap=0
elif arg arm64.bbml2_test | grep -q without; then
	# One CPU lacks it; whether it was among the early ones is open.
	cap=$caps
	[ "$caps" -le 1 ] || cap=1
elif [ "$rule" = listed ]; then
	cap=1
else
	case $reason in
	*"BBM is 3 or more"*|*"trust_bbml2 trusts"*)
		cap=1
		;;
	*"no FEAT_BBM level 2"*|*"not on the allow-list"*)
		cap=0
		;;
	*)
		# The reason is another one: only the ID register would tell.
		if arg_given arm64.trust_bbml2 || [ -n "$(arg arm64.bbml2_test)" ]; then
			cap=$caps
			[ "$caps" -le 1 ] || cap=1
		else
			cap=0
		fi
		;;
	esac
fi
[ "$caps" -eq "$cap" ] || diag "the log has $caps lines that it is detected, should have $cap"
check "capability is detected where it should be" test "$caps" -eq "$cap"

# The override takes effect on a CPU that is not listed and has level 2.
warned=$(grep -c 'arm64\.trust_bbml2: ' "$tmp/log")
if arg_given arm64.trust_bbml2 && ! arg_given arm64.nobbml2 && [ "$rule" != listed ] &&
   [ "$caps" -gt 0 ]; then
	want=1
	# No override is needed where the ID register says 3.
	case $reason in *"BBM is 3 or more"*) want=0 ;; esac
else
	want=0
fi
[ "$warned" -eq "$want" ] || diag "the log has $warned warnings of arm64.trust_bbml2, should have $want"
check "arm64.trust_bbml2 is warned of where it takes effect" test "$warned" -eq "$want"

# A CPU without it that comes up at boot takes the blocks from all; the system has
# repainted them and refuses nobody. One that comes later must not run on a map that
# relies on it: it is refused, by name, and stays off, and the others run.
# So does a CPU that another reason keeps off, but without the name.
without=$(arg arm64.bbml2_test | sed -n 's/.*without:\([0-9][0-9]*\).*/\1/p')
[ -d "$cpus/cpu${without:-none}" ] && [ "$without" -gt 0 ] || without=
if [ "$final" != blocks ] || [ "$(rodata)" != full ]; then without=; fi
if grep -q 'linear_map: no memory for the [1-9][0-9]* page tables that pages would take: ' "$tmp/log"; then
	# The blocks stay, nobody relies on splits any more, and nobody is refused.
	case ,$(arg arm64.bbml2_test), in
	*,notables,*)	without= ;;
	*)		diag "there was no memory for tables, and nobody asked for that" ;;
	esac
fi
wrong=0
if [ "$repainted" -gt 0 ]; then
	case ,$(arg arm64.bbml2_test), in
	*,without:[1-9]*)	;;
	*)			diag "repainted, but no CPU was said to lack the capability"; wrong=1 ;;
	esac
	[ "$caps" -eq 0 ] || { diag "repainted, but the capability is there"; wrong=1; }
	[ "$repainted" -eq 1 ] || { diag "repainted $repainted times"; wrong=1; }
fi
for f in "$cpus"/cpu[0-9]*; do
	n=${f##*/cpu}
	# Only of the real CPUs is one started. One that was refused stays off: it counts
	# as not there from then on.
	if [ -z "${LMT_CPUS:-}" ] && [ -e "$f/online" ] && [ "$(cat "$f/online")" = 0 ]; then
		if (echo 1 >"$f/online") 2>/dev/null; then :; fi
		whole_log
	fi
	refused=$(grep -c "linear_map: CPU$n refused: no usable FEAT_BBM level 2" "$tmp/log")
	online=1
	[ ! -r "$f/online" ] || online=$(cat "$f/online")
	if [ "$n" = "$without" ]; then
		[ "$refused" -ge 1 ] && [ "$online" = 0 ] && continue
	else
		[ "$refused" -eq 0 ] && [ "$online" = 1 ] && continue
	fi
	diag "CPU $n: refused $refused times, online: $online"
	wrong=1
done
check "CPUs without it are refused when they come late, and only they" test $wrong -eq 0

finish
