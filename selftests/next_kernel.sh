# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What lib.sh and the tests set is not seen from here.
# shellcheck disable=SC2154
#
# What tests share that start another kernel and go on in it: kexec.sh and
# crash.sh. Sourced after lib.sh. The environment is described in kexec.sh.

# next_kernel_needs: skips all where the next kernel could not go on.
next_kernel_needs() {
	need_debugfs
	[ -d "${LMT_CARRY:-}" ] || skip_all "no LMT_CARRY: nothing can be handed on to the next kernel"
	[ -e "${LMT_PAYLOAD:-}" ] || skip_all "no LMT_PAYLOAD: there is no image to start"
	command -v kexec >/dev/null || skip_all "no kexec program"
	[ -e "$ko" ] || loaded || skip_all "no module at $ko"
}

# make_initrd: in $tmp, the payload's initrd with what is handed on.
make_initrd() {
	if [ ! -e "$tmp/payload" ]; then
		mkdir "$tmp/payload"
		tar -xf "$LMT_PAYLOAD" -C "$tmp/payload" Image initrd || return 1
	fi
	(cd / && find "${LMT_CARRY#/}" | cpio -o -H newc) >"$tmp/carried" 2>"$tmp/err" || return 1
	cat "$tmp/payload/initrd" "$tmp/carried" >"$tmp/initrd"
}

# next_cmdline N [WORD...]: this kernel's command line for kernel N.
next_cmdline() {
	cmdline
	line=
	for word in $words; do
		case $word in lmt.kexeced=*|crashkernel=*) continue ;; esac
		line="$line $word"
	done
	number=$1
	shift
	echo "${line# } lmt.kexeced=$number${*:+ $*}"
}

make_pattern() {
	dd if=/dev/urandom of="$state/pattern" bs=65536 count=64 2>/dev/null
	sha256sum <"$state/pattern" >"$state/sum"
}

pattern_intact() {
	[ "$(wc -c <"$state/pattern")" -eq 4194304 ] &&
		[ "$(sha256sum <"$state/pattern")" = "$(cat "$state/sum")" ]
}

boot_mode() {
	kernel_log | sed -nE 's/.*linear_map: (blocks|pages), rodata=.*/\1/p' | head -n 1
}

# layout_right: of this kernel, whose map must be as that of any other.
layout_right() {
	for t in detect.sh layout.sh; do
		(unset LMT_FIGURES && "./$t") >"$tmp/sub" 2>&1 || {
			diag "$t failed"
			diag_file "$tmp/sub"
			return 1
		}
	done
}

# number FILE: of a property of the device tree.
number() { echo $((0x$(hexdump -v -e '1/1 "%02x"' "$1"))); }

# overlap FILE START END: bytes of a range in areas that are held invalid as a
# whole, by a copy of the module's file "held".
overlap() {
	awk -F'\t' -v start="$2" -v end="$3" '
		$3 == $4 {
			a = $2 > start ? $2 : start
			b = $2 + $3 < end ? $2 + $3 : end
			if (b > a)
				n += b - a
		}
		END { printf "%.0f\n", n }' "$1"
}

# biggest FILE: address of the biggest of them, the highest where there are more.
biggest() {
	awk -F'\t' '$3 == $4 && $3 >= size { size = $3; at = $2 } END { printf "%.0f\n", at }' "$1"
}
