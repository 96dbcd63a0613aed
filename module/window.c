// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots of a part of the linear map, page by page, and what a change may do
 * to it. What is expected is worked out from the snapshot and the pages that
 * were touched, not from what the kernel's code does:
 *
 *  - A leaf is cut if the change holds a part of it, not all of it. A leaf
 *    that is cut becomes leaves of the next size down, and those that are cut
 *    in turn are split again. Nothing else is split.
 *
 *      |            PMD             |        touched: one page, marked x
 *      | group | group | group | g. |        contiguous groups of PTEs
 *                      |pppxpppp|            the one that is cut: PTEs
 *
 *  - Attributes change for the touched pages alone.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kfence.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lmt.h"

struct look {
	struct lmt_walk walk;
	struct lmt_window *w;
	unsigned int bad;
	unsigned long bad_addr;
	u64 bad_val;
};

static int look_entries(struct lmt_walk *walk, unsigned long addr, unsigned long end,
			enum lmt_level granule, const u64 *entry)
{
	struct look *look = container_of(walk, struct look, walk);
	struct lmt_window *w = look->w;
	unsigned long i = (addr - w->start) >> PAGE_SHIFT;
	unsigned long base = addr & ~(lmt_level_size(granule) - 1);
	u64 type = granule == LMT_PTE ? PTE_TABLE_BIT : 0;
	unsigned long pfn = PHYS_PFN(__pa(base));
	enum lmt_level level = LMT_HOLE;
	u64 val = 0, attr = 0;

	for (; addr < end; addr += PAGE_SIZE, i++) {
		if (granule == LMT_PTE || !val) {
			val = READ_ONCE(*entry);
			if (!val) {
				entry++;
				pfn++;
				continue;
			}
			level = lmt_entry_level(val, granule);
			attr = lmt_entry_attr(val);
			if ((val & PTE_TABLE_BIT) != type || pte_pfn(__pte(val)) != pfn) {
				if (!look->bad++) {
					look->bad_addr = addr;
					look->bad_val = val;
				}
			}
			if (granule == LMT_PTE) {
				entry++;
				pfn++;
			}
		}
		w->now_level[i] = level;
		w->now_attr[i] = attr;
	}
	return 0;
}

/* The end of the chunk of a level that page i is in, or of the window. */
static unsigned long chunk_end(const struct lmt_window *w, unsigned long i,
			       enum lmt_level level)
{
	unsigned long size = lmt_level_size(level);
	unsigned long end = ALIGN_DOWN(w->start + i * PAGE_SIZE, size) + size;

	return min((end - w->start) >> PAGE_SHIFT, w->n);
}

/* Are pages [i, end) one leaf of this level, as far as the window shows? */
static bool one_leaf(struct lmt *t, const struct lmt_window *w, unsigned long i,
		     unsigned long end)
{
	u8 level = w->now_level[i];
	u64 attr = w->now_attr[i];
	unsigned long n;

	for (n = i + 1; n < end; n++)
		if (w->now_level[n] != level || w->now_attr[n] != attr)
			break;
	if (n == end)
		return true;
	lmt_fail(t, "%#lx: a %s leaf is torn: %#llx at its start, but %s %#llx at page %lu of it",
		 w->start + i * PAGE_SIZE, lmt_level_name[level], attr,
		 lmt_level_name[w->now_level[n]], w->now_attr[n], n - i);
	return false;
}

/**
 * lmt_window_look() - take a new look at the window
 * @t: the test; its open case fails if the entries do not agree with each other
 * @w: the window
 *
 * Return: true if each entry has the right address and type, and every
 * contiguous group is whole and of one kind.
 */
bool lmt_window_look(struct lmt *t, struct lmt_window *w)
{
	struct look look = { .walk.entries = look_entries, .w = w };
	unsigned long i, end;
	bool ok = true;

	memset(w->now_level, LMT_HOLE, w->n);
	memset(w->now_attr, 0, w->n * sizeof(*w->now_attr));
	lmt_walk(&look.walk, w->start, w->start + w->n * PAGE_SIZE);
	if (look.bad) {
		lmt_fail(t, "%#lx: entry %#llx has a wrong output address or type (%u such)",
			 look.bad_addr, look.bad_val, look.bad);
		ok = false;
	}
	for (i = 0; i < w->n; i = end) {
		enum lmt_level level = w->now_level[i];

		end = i + 1;
		if (level >= LMT_PTE)
			continue;
		end = chunk_end(w, i, level);
		if (!one_leaf(t, w, i, end))
			return false;
		cond_resched();
	}
	return ok;
}

/* Census of the map without the window, of which level is a snapshot. */
static void outside(const struct lmt_window *w, const u8 *level, struct lmt_census *c)
{
	unsigned long i;

	lmt_census_all(c);
	for (i = 0; i < w->n; i++)
		if (level[i] != LMT_HOLE)
			c->bytes[level[i]] -= PAGE_SIZE;
}

/* Is the page mapped, and does nobody make it valid or invalid at any time? */
static bool steady(unsigned long addr)
{
	return !debug_pagealloc_enabled_static() && !is_kfence_address((void *)addr) &&
	       addr >= lmt_map_start() && addr < lmt_map_end() &&
	       lmt_lookup(addr).level != LMT_HOLE;
}

/**
 * lmt_window_init() - take the first snapshot
 * @t: the test, with an open case
 * @w: the window
 * @va: first address that the test owns
 * @nr: number of pages
 *
 * The window also holds the rest of the leaves at both ends, and one page of the
 * next leaves: others own them, and they must not change.
 *
 * Return: 0; or -ENOMEM, and the case is skipped; or -EIO, and it has failed.
 */
int lmt_window_init(struct lmt *t, struct lmt_window *w, unsigned long va, unsigned long nr)
{
	unsigned long end = va + nr * PAGE_SIZE;
	enum lmt_level low, high;

	memset(w, 0, sizeof(*w));
	low = lmt_lookup(va).level;
	high = lmt_lookup(end - PAGE_SIZE).level;
	if (low == LMT_HOLE || high == LMT_HOLE) {
		lmt_fail(t, "the linear map has a hole at %#lx or %#lx", va, end - PAGE_SIZE);
		return -EIO;
	}
	w->start = ALIGN_DOWN(va, lmt_level_size(low));
	end = ALIGN(end, lmt_level_size(high));
	if (steady(w->start - PAGE_SIZE))
		w->start -= PAGE_SIZE;
	if (steady(end))
		end += PAGE_SIZE;
	w->n = (end - w->start) >> PAGE_SHIFT;

	w->level = kvmalloc_array(w->n, 1, GFP_KERNEL);
	w->now_level = kvmalloc_array(w->n, 1, GFP_KERNEL);
	w->attr = kvmalloc_array(w->n, sizeof(*w->attr), GFP_KERNEL);
	w->now_attr = kvmalloc_array(w->n, sizeof(*w->now_attr), GFP_KERNEL);
	w->touched = kvcalloc(w->n + 1, sizeof(*w->touched), GFP_KERNEL);
	w->least = kvmalloc_array(w->n, 1, GFP_KERNEL);
	w->most = kvmalloc_array(w->n, 1, GFP_KERNEL);
	if (!w->level || !w->now_level || !w->attr || !w->now_attr || !w->touched ||
	    !w->least || !w->most) {
		lmt_window_free(w);
		lmt_skip(t, "memory is short for a snapshot of %lu pages", nr);
		return -ENOMEM;
	}
	if (!lmt_window_look(t, w)) {
		lmt_window_free(w);
		return -EIO;
	}
	memcpy(w->level, w->now_level, w->n);
	memcpy(w->attr, w->now_attr, w->n * sizeof(*w->attr));
	outside(w, w->level, &w->outside);
	return 0;
}

void lmt_window_free(struct lmt_window *w)
{
	kvfree(w->level);
	kvfree(w->now_level);
	kvfree(w->attr);
	kvfree(w->now_attr);
	kvfree(w->touched);
	kvfree(w->least);
	kvfree(w->most);
	memset(w, 0, sizeof(*w));
}

/*
 * Which pages are touched: none; then each lot; then done, which turns the
 * marks into counts.
 */
void lmt_window_touch_none(struct lmt_window *w)
{
	memset(w->touched, 0, (w->n + 1) * sizeof(*w->touched));
}

void lmt_window_touch(struct lmt_window *w, unsigned long va, unsigned long nr)
{
	unsigned long i = (va - w->start) >> PAGE_SHIFT;

	for (; nr; nr--, i++)
		w->touched[i + 1] = 1;
}

/*
 * Work out what [first, end), all of one chunk of a level, becomes. Recursive, one
 * call a level.
 */
static void expect_chunk(struct lmt_window *w, unsigned long first, unsigned long end,
			 enum lmt_level level, enum lmt_depth depth)
{
	u32 nr = w->touched[end] - w->touched[first];
	unsigned long i, next;

	if (level == LMT_PTE || !nr || (depth == LMT_JOINED && nr == lmt_level_pages(level))) {
		memset((depth == LMT_JOINED ? w->least : w->most) + first, level, end - first);
		return;
	}
	if (depth == LMT_JOINED) {
		w->splits[level]++;
		if (w->cut > w->level[first])
			w->cut = w->level[first];
	}
	for (i = first; i < end; i = next) {
		next = min(chunk_end(w, i, level + 1), end);
		expect_chunk(w, i, next, level + 1, depth);
	}
}

void lmt_window_touch_done(struct lmt_window *w)
{
	unsigned long i, end;

	for (i = 1; i <= w->n; i++)
		w->touched[i] += w->touched[i - 1];

	memset(w->splits, 0, sizeof(w->splits));
	w->cut = LMT_HOLE;
	for (i = 0; i < w->n; i = end) {
		enum lmt_level level = w->level[i];

		end = i + 1;
		if (level >= LMT_PTE) {
			w->least[i] = level;
			w->most[i] = level;
			continue;
		}
		end = chunk_end(w, i, level);
		expect_chunk(w, i, end, level, LMT_JOINED);
		expect_chunk(w, i, end, level, LMT_SINGLE);
		cond_resched();
	}
}

static bool touched(const struct lmt_window *w, unsigned long i)
{
	return w->touched[i + 1] != w->touched[i];
}

static bool outside_same(struct lmt *t, struct lmt_window *w, const char *when)
{
	struct lmt_census now;
	bool ok = true;
	int i;

	outside(w, w->now_level, &now);
	for (i = 0; i < LMT_NR_LEVELS; i++) {
		if (now.bytes[i] == w->outside.bytes[i])
			continue;
		lmt_fail(t, "%s: outside of the tested range, %s changed from %llu to %llu bytes",
			 when, lmt_level_name[i], w->outside.bytes[i], now.bytes[i]);
		ok = false;
	}
	return ok;
}

/* Does one call for the touched pages leave the window as the first snapshot? */
bool lmt_window_same(struct lmt *t, struct lmt_window *w, const char *when)
{
	unsigned long i;

	if (!lmt_window_look(t, w))
		return false;
	for (i = 0; i < w->n; i++) {
		if (w->now_level[i] == w->level[i] && w->now_attr[i] == w->attr[i])
			continue;
		lmt_fail(t, "%s: %#lx changed from %s %#llx to %s %#llx", when,
			 w->start + i * PAGE_SIZE, lmt_level_name[w->level[i]], w->attr[i],
			 lmt_level_name[w->now_level[i]], w->now_attr[i]);
		return false;
	}
	return outside_same(t, w, when);
}

static void report_levels(struct lmt *t, struct lmt_window *w, const char *when)
{
	u64 was[LMT_NR_LEVELS + 1] = {}, now[LMT_NR_LEVELS + 1] = {};
	char line[160];
	size_t len = 0;
	unsigned long i;
	int l;

	for (i = 0; i < w->n; i++) {
		was[w->level[i]]++;
		now[w->now_level[i]]++;
	}
	for (l = 0; l < LMT_NR_LEVELS; l++) {
		if (!was[l] && !now[l])
			continue;
		len += scnprintf(line + len, sizeof(line) - len, " %s %llu", lmt_level_name[l],
				 was[l] / lmt_level_pages(l));
		if (was[l] != now[l])
			len += scnprintf(line + len, sizeof(line) - len, "->%llu",
					 now[l] / lmt_level_pages(l));
	}
	lmt_diag(t, "%s: leaves:%s", when, line);
}

/**
 * lmt_window_changed() - compare with what a change may do
 * @t: the test; its open case fails on a difference
 * @w: the window, with the touched pages known
 * @set: bits that the touched pages must have gained
 * @clear: bits that they must have lost
 * @deepest: whether leaves may be as small as single calls would make them
 * @when: for messages
 *
 * Leaves must be at least as deep as the change needs, and not deeper than
 * @deepest allows; with LMT_JOINED that is one layout, leaf for leaf.
 *
 * Return: true if all is as expected.
 */
bool lmt_window_changed(struct lmt *t, struct lmt_window *w, u64 set, u64 clear,
			enum lmt_depth deepest, const char *when)
{
	const u8 *most = deepest == LMT_JOINED ? w->least : w->most;
	bool ok = lmt_window_look(t, w);
	unsigned long i, wrong = 0;

	for (i = 0; i < w->n; i++) {
		u64 attr = w->attr[i], diff;

		if (!(i & 0xffff))
			cond_resched();
		if (touched(w, i))
			attr = (attr & ~clear) | set;
		diff = attr ^ w->now_attr[i];
		/* While an entry is invalid, nG may mark it as meaningful. */
		if (!(attr & PTE_VALID))
			diff &= ~PTE_NG;
		if (!diff && w->now_level[i] >= w->least[i] && w->now_level[i] <= most[i])
			continue;
		if (!wrong++)
			lmt_fail(t, "%s: %#lx: expected %s %#llx, is %s %#llx, was %s %#llx", when,
				 w->start + i * PAGE_SIZE, lmt_level_name[w->least[i]], attr,
				 lmt_level_name[w->now_level[i]], w->now_attr[i],
				 lmt_level_name[w->level[i]], w->attr[i]);
	}
	if (wrong)
		lmt_fail(t, "%s: %lu of %lu pages are not mapped as expected", when, wrong, w->n);
	report_levels(t, w, when);
	return outside_same(t, w, when) && ok && !wrong;
}

/**
 * lmt_window_restored() - compare with the first snapshot, splits allowed
 * @t: the test; its open case fails on a difference
 * @w: the window, with all touched pages known
 * @deepest: as for lmt_window_changed()
 * @when: for messages
 *
 * All attributes must be back. Leaves may be as small as the change made them,
 * or as big as they were: a kernel may put them together again.
 *
 * Return: true if all is as expected.
 */
bool lmt_window_restored(struct lmt *t, struct lmt_window *w, enum lmt_depth deepest,
			 const char *when)
{
	const u8 *most = deepest == LMT_JOINED ? w->least : w->most;
	bool ok = lmt_window_look(t, w);
	unsigned long i, wrong = 0;

	for (i = 0; i < w->n; i++) {
		if (!(i & 0xffff))
			cond_resched();
		if (w->now_attr[i] == w->attr[i] && w->now_level[i] >= w->level[i] &&
		    w->now_level[i] <= most[i])
			continue;
		if (!wrong++)
			lmt_fail(t, "%s: %#lx (page %lu): was %s %#llx, is %s %#llx", when,
				 w->start + i * PAGE_SIZE, i, lmt_level_name[w->level[i]],
				 w->attr[i], lmt_level_name[w->now_level[i]], w->now_attr[i]);
	}
	if (wrong)
		lmt_fail(t, "%s: %lu of %lu pages are not as before", when, wrong, w->n);
	return outside_same(t, w, when) && ok && !wrong;
}
