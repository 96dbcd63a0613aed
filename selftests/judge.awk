# SPDX-License-Identifier: GPL-2.0-only
#
# Reads the KTAP of one run of the module and prints
#
#	VERDICT PASSED FAILED SKIPPED REASON...
#
# VERDICT is ok, not_ok or skip; the numbers are of cases that have no cases of
# their own; REASON is why it is not whole, or the first reason of a skip. Not
# ok is: a case that fails, a plan that is not met, at any level, no results,
# and no last line of totals. Skip is: all is skipped, or the outermost result
# says so.

function indent(s) { match(s, /^ */); return RLENGTH }
# A plan is met by the results of its own indentation since then.
/^ *1\.\.[0-9]+/ {
	n = indent($0)
	want[n] = substr($0, n + 4) + 0
	got[n] = 0
	has[n] = 1
	next
}
/^ *(not )?ok( |$)/ {
	n = indent($0)
	got[n]++
	if (n < last && has[last]) {
		if (got[last] != want[last])
			bad = bad " plan of " want[last] " but " got[last] " results;"
		has[last] = 0
	}
	isnot = $0 ~ /^ *not ok/
	if (n == 0 && $0 ~ /# *[Ss][Kk][Ii][Pp]/)
		skip_all = 1
	if (n < last) {
		# Sums up what came before, which was counted.
		if (isnot && !failed_below)
			failed++
		failed_below = 0
	} else if ($0 ~ /# *[Ss][Kk][Ii][Pp]/) {
		skipped++
		if (reason == "") {
			reason = $0
			sub(/.*# *[Ss][Kk][Ii][Pp][: ]*/, "", reason)
		}
	} else if (isnot) {
		failed++
		failed_below = 1
	} else {
		passed++
	}
	last = n
}
/^Bail out!/ { bad = bad " bailed out;" }
/^# Totals:|^# .*pass:[0-9]+/ { totals = 1 }
NF { ending = $0 }
END {
	if (!has[0])
		bad = bad " no plan;"
	else if (got[0] != want[0])
		bad = bad " plan of " want[0] " but " got[0] + 0 " results;"
	for (i in has)
		if (i > 0 && has[i])
			bad = bad " cases without a result of their test;"
	if (!totals || ending !~ /pass:[0-9]/)
		bad = bad " no last line of totals;"
	if (!(passed + failed + skipped))
		bad = bad " no results;"
	verdict = "ok"
	if (bad != "" || failed)
		verdict = "not_ok"
	else if (!passed || skip_all)
		verdict = "skip"
	print verdict, passed + 0, failed + 0, skipped + 0, bad != "" ? bad : reason
}
