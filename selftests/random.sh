#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Random single pages of a big buffer leave the linear map and come back, as the
# hosts of virtual machines take the pages of guests out: the module's test churn,
# which judges that a page that is out faults, that those beside it do not, that
# exactly these are out, and the content. How many leaves of each size there are
# before and after is reported; what the map holds must not change.
#
# Environment, besides that of lib.sh: LMT_RANDOM_ROUNDS (default 10000);
# LMT_RANDOM_BYTES, of the buffer (default: the largest power of two that is no
# more than half of the available memory and than 2 GiB).

# Functions are called by traps too.
# shellcheck disable=SC2317

cd "$(dirname "$0")" || exit 1
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

rounds=${LMT_RANDOM_ROUNDS:-10000}
was_loaded=0

cleanup() { if [ "$was_loaded" = 1 ]; then load_module; else unload_module; fi; }

need_debugfs
loaded && was_loaded=1
load_module || skip_all "$why"

size=${LMT_RANDOM_BYTES:-}
if [ -z "$size" ]; then
	half=$(awk '/^MemAvailable:/ { printf "%.0f", $2 * 512 }' /proc/meminfo)
	size=2147483648
	while [ "$size" -gt "$half" ]; do size=$((size / 2)); done
fi
pages=$((size / $(page_size)))

plan 3
mark_log
table "$tmp/before" || bail "cannot read $mdir/layout"
start=$(cut -d. -f1 /proc/uptime)
bad=0
echo "churn $pages $rounds" >"$mdir/run" || bad=1
cat "$mdir/results" >"$tmp/results"
diag_file "$tmp/results"
diag "$pages pages, $rounds rounds, $(($(cut -d. -f1 /proc/uptime) - start)) s"
table "$tmp/after"
figure random.pages "$pages"
figure random.rounds "$rounds"
for key in pud cont_pmd pmd cont_pte pte invalid total; do
	diag "$key: $(bytes "$tmp/before" $key) bytes before, $(bytes "$tmp/after" $key) after"
	figure "random.before.$key.bytes" "$(bytes "$tmp/before" $key)"
	figure "random.after.$key.bytes" "$(bytes "$tmp/after" $key)"
done
sed -n 's/^\(churn_[^ ]*\) \(.*\)/random.\1	\2/p' "$mdir/stats" >"$tmp/stats"
diag_file "$tmp/stats"
[ -z "${LMT_FIGURES:-}" ] || cat "$tmp/stats" >>"$LMT_FIGURES"

if [ "$bad" = 0 ] && grep -q '^ok .* # SKIP' "$tmp/results"; then
	skip "random pages out of the map and back" \
		"$(sed -n 's/^ *ok .* # SKIP //p' "$tmp/results" | head -n 1)"
else
	if ! grep -q '^ok' "$tmp/results" || grep -q '^not ok' "$tmp/results"; then bad=1; fi
	check "random pages out of the map and back" test "$bad" = 0
fi
check "the linear map is as large as before" \
	test "$(bytes "$tmp/after" total)" = "$(bytes "$tmp/before" total)"
check_splats "the kernel complained of nothing"
finish
