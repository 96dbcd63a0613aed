# SPDX-License-Identifier: GPL-2.0-only
#
# Reads the linear map's part of /sys/kernel/debug/kernel_page_tables and
# prints, tab separated, the bytes mapped by each kind of leaf, the bytes that
# are invalid (a part of the former), and the total.

function bytes(s,   u) {
	u = index("KMGTPE", substr(s, length(s)))
	return (u ? substr(s, 1, length(s) - 1) * 1024 ^ u : s + 0)
}

# A line without attributes is a range where nothing is mapped.
/^0x[0-9a-f]+-0x[0-9a-f]+ / && NF > 3 {
	kind = ""
	if ($3 == "PTE") kind = "pte"
	else if ($3 == "PMD") kind = "pmd"
	else if ($3 == "PUD") kind = "pud"
	else other[$3] = 1
	line = " " $0 " "
	if (kind == "")
		next
	if (line ~ / CON /)
		kind = "cont_" kind
	n = bytes($2)
	sum[kind] += n
	total += n
	if (line ~ / F /)
		invalid += n
	lines++
}

END {
	n = split("pud cont_pmd pmd cont_pte pte", order, " ")
	for (i = 1; i <= n; i++)
		printf "%s\t%.0f\n", order[i], sum[order[i]]
	printf "invalid\t%.0f\ntotal\t%.0f\n", invalid, total
	for (k in other)
		printf "unknown_%s\t1\n", k
	exit !lines
}
