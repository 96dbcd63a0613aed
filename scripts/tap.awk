# SPDX-License-Identifier: GPL-2.0-only
#
# Reads TAP or KTAP and prints "PASSED FAILED SKIPPED". Counted are the cases
# that have no cases of their own: a result that follows results with more
# indentation sums those up. Besides, a plan that is not met is one failure, and
# so is a result line that fails while all its cases passed, and "Bail out!".
# Output of a program that a selftest prefixes with "# " is not counted.

function indent(s) { match(s, /^ */); return RLENGTH }

{ sub(/\r$/, "") }

/^ *(not )?ok( |$)/ {
	n = indent($0)
	bad = ($0 ~ /^ *not ok/)
	skip = ($0 ~ /# *[Ss][Kk][Ii][Pp]/)
	xfail = ($0 ~ /# *XFAIL/)
	if (n == 0)
		top++
	parent = (seen && n < last)
	if (!parent) {
		if (skip) skipped++
		else if (bad && !xfail) { failed++; below++ }
		else passed++
	} else if (bad && !xfail && !skip && !below) {
		failed++
	}
	if (n == 0)
		below = 0
	last = n
	seen = 1
}

/^1\.\.[0-9]+/ {
	plan = substr($0, 4) + 0
	planned = 1
	if ($0 ~ /# *[Ss][Kk][Ii][Pp]/ && plan == 0)
		skipped++
}

/^Bail out!/ { failed++ }

END {
	if (planned && plan != top + 0)
		failed++
	print passed + 0, failed + 0, skipped + 0
}
