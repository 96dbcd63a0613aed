# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2034 # The variables set here are used by the scripts that source this file.
#
# Shared by the scripts: where things are, and how to speak to the user.
#
# Environment: BASE (which patches/<base>/, default 6.12), V=1 (whole output
# of long commands), JOBS (default: number of CPUs).

set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
base=${BASE:-6.12}
jobs=${JOBS:-$(nproc)}
patches=$top/patches/$base
build=$top/build/$base
dl=$top/build/dl
linux=$build/linux
# The stock tree and its builds lie side by side as the patched ones do, one
# level down, so that the paths the compiler sees are the same and ccache can
# hand objects from one to the other. build/<base>/linux-stock and <mode>-stock
# are symbolic links to them.
stock=$build/stock/linux
guest=$top/build/guest
cross=aarch64-linux-gnu-

me=${0##*/}

say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { printf '%s: error: %s\n' "$me" "$*" >&2; exit 1; }

# usage: prints the comment block at the head of the calling script, which is
# also its documentation.
usage() {
	awk 'NR == 1 || /SPDX/ { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0" | sed '/./,$!d'
}
usage_error() { usage >&2; exit 2; }

# help_if_asked "$@": prints the usage and leaves, if an argument asks for help.
help_if_asked() {
	local a
	for a; do
		case $a in -h|--help) usage; exit 0 ;; esac
	done
}

# need COMMAND...: dies, naming what is missing, unless all commands are there.
need() {
	local c missing=()
	for c; do
		command -v "$c" >/dev/null || missing+=("$c")
	done
	((${#missing[@]} == 0)) ||
		die "missing: ${missing[*]} (scripts/setup installs what is needed)"
}

# base_value KEY: a value from patches/<base>/BASE.
base_value() {
	local v
	[[ -f $patches/BASE ]] || die "no patches/$base/BASE: there is no base '$base'"
	v=$(sed -n "s/^$1=//p" "$patches/BASE")
	[[ -n $v ]] || die "patches/$base/BASE has no line $1="
	printf '%s\n' "$v"
}

# series_files SERIES: the patch files a series names, in order.
series_files() {
	sed -e 's/[[:space:]]*#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$patches/$1"
}

# base_hash: of what the unpacked base depends on. series_hash SERIES: of that,
# and of a series and its patches.
base_hash() { sha256sum <"$patches/BASE" | cut -c1-16; }
series_hash() {
	local f
	{
		cat "$patches/BASE"
		series_files "$1"
		while read -r f; do
			[[ -f $patches/$f ]] || die "patches/$base/$1 names $f, which is not there"
			cat "$patches/$f"
		done < <(series_files "$1")
	} | sha256sum | cut -c1-16
}

# git in a tree of ours: nothing of the user's configuration must matter.
tgit() {
	git -C "$tree" -c gc.auto=0 -c core.autocrlf=false -c commit.gpgsign=false \
		-c advice.detachedHead=false -c core.hooksPath=/dev/null "$@"
}

# tree_state DIR: a hash of what a git tree holds, changes not committed and
# files not tracked included. Takes a second.
tree_state() {
	local tree=$1
	{
		tgit rev-parse HEAD
		tgit diff HEAD
		tgit ls-files -z --others --exclude-standard |
			(cd "$tree" && xargs -0r sha256sum)
	} | sha256sum | cut -c1-16
}

# locked FILE COMMAND...: runs a command while holding a lock. Not to be called
# in a condition: errors in functions would then go unnoticed.
locked() {
	local lock=$1 fd
	shift
	mkdir -p "$(dirname "$lock")"
	exec {fd}>"$lock"
	flock -n "$fd" || { say "waiting for another run to finish"; flock "$fd"; }
	"$@" {fd}>&-
	exec {fd}>&-
}

# with_progress LOG WHAT COMMAND...: runs a command with its output in LOG;
# says every ten seconds how many lines of the kind kbuild prints for a step
# there are. On failure shows the end of the log.
with_progress() {
	local log=$1 what=$2 pid rc=0 start=$SECONDS
	shift 2
	mkdir -p "$(dirname "$log")"
	if [[ ${V:-0} == 1 ]]; then
		"$@" 2>&1 | tee "$log" >&2 || rc=$?
	else
		"$@" >"$log" 2>&1 &
		pid=$!
		while kill -0 "$pid" 2>/dev/null; do
			if (((SECONDS - start) % 10 == 9)); then
				say "$what: $(grep -cE '^  [A-Z][A-Z0-9_]* +(\[M\] +)?[^ ]' "$log" || true) steps," \
					"$((SECONDS - start)) s ($(tail -n 1 "$log" | cut -c1-60))"
			fi
			sleep 1
		done
		wait "$pid" || rc=$?
	fi
	if ((rc)); then
		say "$what failed; the end of $log:"
		{ grep -nE '(^|[^a-z])(error|Error|ERROR)([: ]|$)' "$log" | tail -n 15; echo ...; tail -n 25 "$log"; } >&2
		return "$rc"
	fi
	say "$what: done in $((SECONDS - start)) s"
}
