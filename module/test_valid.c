// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of set_memory_valid() and set_direct_map_*_noflush() on the linear map.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lmt.h"

static bool in_area(const struct lmt_area *a, unsigned long addr)
{
	return addr >= a->va && addr < a->va + a->nr * PAGE_SIZE;
}

/* Let CPUs try the page at addr, if it is the test's. Gives it its pattern. */
static void probe_page(struct lmt_probes *p, struct lmt_area *a, unsigned long addr, u8 want)
{
	if (!in_area(a, addr))
		return;
	if (lmt_probe_add(p, addr, a->pfn + ((addr - a->va) >> PAGE_SHIFT), want))
		lmt_area_fill_page(a, addr);
}

/*
 * Pages in and around [va, va + nr pages): the ends, both sides of the ends,
 * the pages at the edges of every leaf size around the ends, and samples of the
 * rest, inside and outside.
 */
static void probe_range(struct lmt_probes *p, struct lmt_area *a, unsigned long va,
			unsigned long nr)
{
	unsigned long end = va + nr * PAGE_SIZE, area_end = a->va + a->nr * PAGE_SIZE;
	unsigned long edge[2] = { va, end - PAGE_SIZE };
	unsigned int i, side;
	int level;

	probe_page(p, a, va, 0);
	probe_page(p, a, end - PAGE_SIZE, 0);
	probe_page(p, a, va - PAGE_SIZE, LMT_RW);
	probe_page(p, a, end, LMT_RW);
	for (side = 0; side < 2; side++) {
		for (level = LMT_PUD; level < LMT_PTE; level++) {
			unsigned long size = lmt_level_size(level);
			unsigned long first = edge[side] & ~(size - 1);
			unsigned long at[4] = {
				first - PAGE_SIZE, first, first + size - PAGE_SIZE, first + size,
			};

			for (i = 0; i < ARRAY_SIZE(at); i++)
				probe_page(p, a, at[i],
					   at[i] >= va && at[i] < end ? 0 : LMT_RW);
		}
	}
	for (i = 1; i < 12; i++) {
		unsigned long in = va + nr * i / 12 * PAGE_SIZE;
		unsigned long out = a->va + (area_end - a->va) / 12 * i;

		probe_page(p, a, in, 0);
		out &= PAGE_MASK;
		probe_page(p, a, out, out >= va && out < end ? 0 : LMT_RW);
	}
}

/*
 * May set_memory_valid() be called for the touched pages? A stock kernel warns
 * where a leaf is bigger than a page, so it is not asked to.
 */
bool lmt_set_valid_allowed(struct lmt *t, struct lmt_window *w)
{
	unsigned long i;

	if (LMT_PATCHED)
		return true;
	for (i = 0; i < w->n; i++) {
		if (w->touched[i + 1] == w->touched[i] || w->level[i] == LMT_PTE)
			continue;
		lmt_skip(t, "the stock kernel can only change pages, and %#lx is in a %s leaf",
			 w->start + i * PAGE_SIZE, lmt_level_name[w->level[i]]);
		return false;
	}
	return true;
}

/*
 * After a call that returned an error: nothing may have changed. Without
 * rodata=full a kernel may have blocks that it cannot split, nor change a
 * contiguous group, on a CPU that does not allow it.
 */
static void refused(struct lmt *t, struct lmt_window *w, int ret)
{
	enum lmt_level level = w->cut;
	unsigned long i;

	if (!lmt_window_same(t, w, "after a refusal"))
		return;
	for (i = 0; i < w->n && level == LMT_HOLE; i++)
		if (w->touched[i + 1] != w->touched[i] &&
		    (w->level[i] == LMT_CONT_PMD || w->level[i] == LMT_CONT_PTE))
			level = w->level[i];
	if (level != LMT_HOLE && !lmt_rodata_full() && ret == -EINVAL)
		lmt_skip(t, "rodata is not full: %d for a %s leaf, and nothing changed", ret,
			 lmt_level_name[level]);
	else
		lmt_fail(t, "set_memory_valid() returned %d", ret);
}

static void check_present(struct lmt *t, const struct lmt_probes *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++)
		if (ops->kernel_page_present(pfn_to_page(p->pfn[i])) != !!p->want[i])
			lmt_fail(t, "%#lx: kernel_page_present() is %d, expected %d", p->addr[i],
				 !p->want[i], !!p->want[i]);
}

/*
 * What both kinds of cases begin with: the window around the pages, and probes.
 * False where the case cannot be, which the test says then.
 */
static bool valid_begin(struct lmt *t, struct lmt_area *a, unsigned long va, unsigned long nr,
			struct lmt_window *w, struct lmt_probes **p)
{
	if (lmt_window_init(t, w, a->va, a->nr))
		return false;
	lmt_window_touch(w, va, nr);
	lmt_window_touch_done(w);
	*p = kzalloc(sizeof(**p), GFP_KERNEL);
	if (!*p)
		lmt_skip(t, "memory is short");
	else if (lmt_set_valid_allowed(t, w))
		return true;
	kfree(*p);
	lmt_window_free(w);
	return false;
}

/**
 * lmt_valid_case() - make pages invalid and valid again, with all checks
 * @t: the test, with an open case
 * @a: the area that the pages are in
 * @va: linear address of the first page
 * @nr: number of pages
 *
 * Checked: what each CPU can reach right after each call, the layout leaf for
 * leaf, attributes, the kernel's counters, the content.
 */
void lmt_valid_case(struct lmt *t, struct lmt_area *a, unsigned long va, unsigned long nr)
{
	struct lmt_kstats before;
	struct lmt_probes *p;
	struct lmt_window w;
	int ret;

	if (!valid_begin(t, a, va, nr, &w, &p))
		return;
	probe_range(p, a, va, nr);
	lmt_kstats_get(&before);

	if (!lmt_probe_rw(t, p, "before"))
		goto out;
	ret = ops->set_memory_valid(va, nr, 0);
	if (ret) {
		lmt_probe_rw(t, p, "after a refusal");
		refused(t, &w, ret);
		goto verify;
	}
	lmt_probe(t, p, "invalid");
	lmt_check_splits(t, &before, w.splits);
	lmt_window_changed(t, &w, 0, PTE_VALID, LMT_JOINED, "invalid");
	check_present(t, p);

	ret = ops->set_memory_valid(va, nr, 1);
	if (ret)
		lmt_fail(t, "set_memory_valid() returned %d on the way back", ret);
	lmt_probe_rw(t, p, "valid again");
	lmt_window_restored(t, &w, LMT_JOINED, "valid again");
verify:
	lmt_area_verify(t, a);
out:
	kfree(p);
	lmt_window_free(&w);
}

/* One case on fresh leaves of a level. first and nr are pages, from the first leaf. */
static void split_case(struct lmt *t, const char *name, enum lmt_level level, unsigned int n,
		       unsigned long first, unsigned long nr)
{
	struct lmt_area *a;
	unsigned long va;

	if (lmt_interrupted(t))
		return;
	lmt_case(t, "%s", name);
	va = lmt_find_leaves(t, level, n, &a);
	if (va)
		lmt_valid_case(t, a, va + first * PAGE_SIZE, nr);
	lmt_case_end(t);
}

void lmt_test_split(struct lmt *t, enum lmt_level level)
{
	unsigned long pages = lmt_level_pages(level);
	unsigned long group = lmt_level_pages(LMT_CONT_PTE);
	unsigned long child = lmt_level_pages(level + 1);

	/* The whole leaf goes first, for that does not use it up. */
	split_case(t, "whole", level, 1, 0, pages);
	split_case(t, "start", level, 1, 0, 1);
	split_case(t, "middle", level, 1, pages / 2, 1);
	split_case(t, "end", level, 1, pages - 1, 1);
	split_case(t, "straddle", level, 2, pages - 1, 2);
	split_case(t, "unaligned", level, 1, pages / 3 | 1, pages > group ? group + 3 : 3);
	split_case(t, "one_next_smaller", level, 1, child, child);
	split_case(t, "all_but_ends", level, 1, 1, pages - 2);
}

void lmt_test_split_pud(struct lmt *t, const u64 *arg)
{
	lmt_test_split(t, LMT_PUD);
}

void lmt_test_split_cont_pmd(struct lmt *t, const u64 *arg)
{
	lmt_test_split(t, LMT_CONT_PMD);
}

void lmt_test_split_pmd(struct lmt *t, const u64 *arg)
{
	lmt_test_split(t, LMT_PMD);
}

void lmt_test_split_cont_pte(struct lmt *t, const u64 *arg)
{
	lmt_test_split(t, LMT_CONT_PTE);
}

/* A case in an area of its own, freed at its end. first is in pages. */
static void area_case(struct lmt *t, const char *name, unsigned long bytes, unsigned long first,
		      unsigned long nr)
{
	struct lmt_area *a;

	if (lmt_interrupted(t))
		return;
	lmt_case(t, "%s", name);
	a = lmt_area_get(t, bytes);
	if (!a) {
		lmt_skip(t, "memory is short: no %lu MiB in one piece", bytes / SZ_1M);
		return;
	}
	lmt_valid_case(t, a, a->va + first * PAGE_SIZE, nr);
	lmt_area_put(t, a);
	lmt_case_end(t);
}

void lmt_test_valid_page(struct lmt *t, const u64 *arg)
{
	unsigned long bytes = 2 * PMD_SIZE, pages = bytes >> PAGE_SHIFT;

	area_case(t, "first_page", bytes, 0, 1);
	area_case(t, "inner_page", bytes, pages / 2 + 5, 1);
	area_case(t, "last_page", bytes, pages - 1, 1);
	area_case(t, "three_pages", bytes, pages / 4 + 7, 3);
}

void lmt_test_valid_block(struct lmt *t, const u64 *arg)
{
	unsigned long block = lmt_level_pages(LMT_PMD), group = lmt_level_pages(LMT_CONT_PTE);

	area_case(t, "group", 2 * PMD_SIZE, group, group);
	area_case(t, "block", 4 * PMD_SIZE, block, block);
	area_case(t, "two_blocks", 4 * PMD_SIZE, block, 2 * block);
}

void lmt_test_valid_across(struct lmt *t, const u64 *arg)
{
	unsigned long block = lmt_level_pages(LMT_PMD);

	area_case(t, "two_pages", 2 * PMD_SIZE, block - 1, 2);
	area_case(t, "half_and_half", 2 * PMD_SIZE, block / 2, block);
	area_case(t, "block_and_ends", 4 * PMD_SIZE, block - 3, block + 8);
	area_case(t, "almost_all", 4 * PMD_SIZE, 1, 4 * block - 2);
}

void lmt_test_valid_gib(struct lmt *t, const u64 *arg)
{
	area_case(t, "whole", SZ_1G, 0, SZ_1G >> PAGE_SHIFT);
}

/*
 * A leaf that is invalid as a whole, and a part of it made valid: the split of
 * an invalid leaf, whose other parts must stay invalid. Others get ms to look at
 * either.
 */
static void invalid_inside(struct lmt *t, struct lmt_area *a, unsigned long va,
			   unsigned long pages, unsigned int ms)
{
	unsigned long inner = pages / 2 + 3, i;
	struct lmt_probes *p;
	struct lmt_window w;
	int ret;

	if (!valid_begin(t, a, va, pages, &w, &p))
		return;
	probe_page(p, a, va + inner * PAGE_SIZE, 0);
	probe_page(p, a, va + (inner - 1) * PAGE_SIZE, 0);
	probe_page(p, a, va + (inner + 1) * PAGE_SIZE, 0);
	probe_range(p, a, va, pages);
	if (!lmt_probe_rw(t, p, "before"))
		goto out;
	ret = ops->set_memory_valid(va, pages, 0);
	if (ret) {
		refused(t, &w, ret);
		goto verify;
	}
	lmt_probe(t, p, "all invalid");
	lmt_window_changed(t, &w, 0, PTE_VALID, LMT_JOINED, "all invalid");
	msleep_interruptible(ms);

	ret = ops->set_memory_valid(va + inner * PAGE_SIZE, 1, 1);
	if (ret == -EINVAL && !lmt_rodata_full() && lmt_lookup(va).level != LMT_PTE) {
		lmt_probe(t, p, "after a refusal");
		lmt_window_changed(t, &w, 0, PTE_VALID, LMT_JOINED, "after a refusal");
		lmt_skip(t, "rodata is not full: %d for one page of the leaf, and nothing changed",
			 ret);
	} else if (ret) {
		lmt_fail(t, "set_memory_valid() of one inner page returned %d", ret);
	} else {
		p->want[0] = LMT_RW;
		lmt_probe(t, p, "one inner page valid");
		check_present(t, p);
		/* Against the first snapshot: all invalid but the inner page. */
		lmt_window_look(t, &w);
		for (i = 0; i < pages; i++) {
			unsigned long n = ((va - w.start) >> PAGE_SHIFT) + i;
			u64 want = i == inner ? w.attr[n] : w.attr[n] & ~PTE_VALID;
			u64 diff = want ^ w.now_attr[n];

			if (i != inner)
				diff &= ~PTE_NG;
			if (diff) {
				lmt_fail(t, "%#lx: attributes are %#llx, expected %#llx",
					 va + i * PAGE_SIZE, w.now_attr[n], want);
				break;
			}
		}
		msleep_interruptible(ms);
	}

	ret = ops->set_memory_valid(va, pages, 1);
	if (ret)
		lmt_fail(t, "set_memory_valid() of all returned %d on the way back", ret);
	lmt_probe_rw(t, p, "all valid");
	/* The pages that this split the leaf for. */
	lmt_window_touch_none(&w);
	lmt_window_touch(&w, va + inner * PAGE_SIZE, 1);
	lmt_window_touch_done(&w);
	lmt_window_restored(t, &w, LMT_SINGLE, "all valid");
verify:
	lmt_area_verify(t, a);
out:
	kfree(p);
	lmt_window_free(&w);
}

void lmt_test_invalid_leaf(struct lmt *t, const u64 *arg)
{
	struct lmt_area *a;
	unsigned long va;
	int level;

	/* The pages of a PMD, order 9 at 4K, however they are mapped. */
	lmt_case(t, "pages_of_a_pmd");
	a = lmt_area_get(t, PMD_SIZE);
	if (a) {
		invalid_inside(t, a, a->va, lmt_level_pages(LMT_PMD), arg[0]);
		lmt_area_put(t, a);
	} else {
		lmt_skip(t, "memory is short: no %lu MiB in one piece", PMD_SIZE / SZ_1M);
	}

	for (level = LMT_PUD; level <= LMT_CONT_PTE; level++) {
		if (lmt_interrupted(t))
			return;
		lmt_case(t, "%s", lmt_level_name[level]);
		va = lmt_find_leaves(t, level, 1, &a);
		if (va)
			invalid_inside(t, a, va, lmt_level_pages(level), arg[0]);
		lmt_case_end(t);
	}
}

void lmt_test_direct_map(struct lmt *t, const u64 *arg)
{
	struct lmt_probes *p = NULL;
	struct lmt_window w;
	struct lmt_area *a;
	unsigned long va;
	struct page *page;
	int ret;

	lmt_case(t, "one_page");
	a = lmt_area_get(t, 2 * PMD_SIZE);
	if (!a) {
		lmt_skip(t, "memory is short: no %lu MiB in one piece", 2 * PMD_SIZE / SZ_1M);
		return;
	}
	va = a->va + (a->nr / 2 + 9) * PAGE_SIZE;
	page = pfn_to_page(a->pfn + a->nr / 2 + 9);
	if (lmt_window_init(t, &w, a->va, a->nr))
		return;
	lmt_window_touch(&w, va, 1);
	lmt_window_touch_done(&w);
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p) {
		lmt_skip(t, "memory is short");
		goto out;
	}
	probe_range(p, a, va, 1);
	if (!lmt_probe_rw(t, p, "before"))
		goto out;

	ret = ops->set_direct_map_invalid_noflush(page);
	ops->flush_tlb_kernel_range(va, va + PAGE_SIZE);
	if (!ops->can_set_direct_map()) {
		/* Then it says 0 and leaves the map alone. */
		if (ret)
			lmt_fail(t, "returned %d where can_set_direct_map() is false", ret);
		lmt_probe_rw(t, p, "where can_set_direct_map() is false");
		lmt_window_same(t, &w, "where can_set_direct_map() is false");
	} else if (ret) {
		lmt_fail(t, "set_direct_map_invalid_noflush() returned %d", ret);
		lmt_window_same(t, &w, "after a refusal");
	} else {
		lmt_probe(t, p, "invalid");
		lmt_window_changed(t, &w, 0, PTE_VALID, LMT_JOINED, "invalid");
		check_present(t, p);
	}
	ret = ops->set_direct_map_default_noflush(page);
	ops->flush_tlb_kernel_range(va, va + PAGE_SIZE);
	if (ret)
		lmt_fail(t, "set_direct_map_default_noflush() returned %d", ret);
	lmt_probe_rw(t, p, "default");
	lmt_window_restored(t, &w, LMT_JOINED, "default");
	lmt_area_verify(t, a);
out:
	kfree(p);
	lmt_window_free(&w);
	lmt_area_put(t, a);
	lmt_case_end(t);
}

/* set_memory_valid() where it must return want, and no entry may change. */
static void refuse_valid(struct lmt *t, const char *name, unsigned long addr, int numpages,
			 int want)
{
	struct lmt_census before, after;
	struct lmt_leaf was, now;
	int enable, ret;

	lmt_case(t, "%s", name);
	if (!LMT_PATCHED) {
		lmt_skip(t, "a stock kernel does not check, and may warn");
		return;
	}
	was = lmt_lookup(addr);
	lmt_census_all(&before);
	for (enable = 0; enable < 2; enable++) {
		ret = ops->set_memory_valid(addr, numpages, enable);
		if (ret != want)
			lmt_fail(t, "set_memory_valid(%#lx, %d, %d) returned %d, expected %d", addr,
				 numpages, enable, ret, want);
		now = lmt_lookup(addr);
		if (was.level != now.level || was.attr != now.attr || was.pfn != now.pfn)
			lmt_fail(t, "set_memory_valid(%#lx, %d, %d) changed %s %#llx to %s %#llx",
				 addr, numpages, enable, lmt_level_name[was.level], was.attr,
				 lmt_level_name[now.level], now.attr);
	}
	lmt_census_all(&after);
	if (memcmp(before.bytes, after.bytes, sizeof(before.bytes)))
		lmt_fail(t, "the layout of the linear map changed");
	lmt_case_end(t);
}

void lmt_test_refuse_valid(struct lmt *t, const u64 *arg)
{
	unsigned long hole = lmt_map_end() - PAGE_SIZE;
	struct lmt_area *a;

	lmt_case(t, "setup");
	a = lmt_area_get(t, PMD_SIZE);
	if (!a) {
		lmt_skip(t, "memory is short: no %lu MiB in one piece", PMD_SIZE / SZ_1M);
		return;
	}
	refuse_valid(t, "no_pages", a->va + PAGE_SIZE, 0, 0);
	refuse_valid(t, "negative_pages", a->va + PAGE_SIZE, -1, -EINVAL);
	refuse_valid(t, "kernel_text", (unsigned long)lm_alias(ops->text_start), 1, -EINVAL);
	if (lmt_lookup(hole).level == LMT_HOLE) {
		refuse_valid(t, "not_mapped", hole, 1, -EINVAL);
	} else {
		lmt_case(t, "not_mapped");
		lmt_skip(t, "RAM fills the linear map up to its end");
	}
	lmt_case(t, "content");
	lmt_area_verify(t, a);
	lmt_area_put(t, a);
	lmt_case_end(t);
}

static int set_valid_failing(unsigned long va, unsigned long nr, int enable)
{
	int ret;
#ifdef CONFIG_FAULT_INJECTION
	bool fail = current->make_it_fail;

	current->make_it_fail = 1;
#endif
	ret = ops->set_memory_valid(va, nr, enable);
#ifdef CONFIG_FAULT_INJECTION
	current->make_it_fail = fail;
#endif
	return ret;
}

/*
 * Calls whose allocations fail. The caller prepares fail_page_alloc; this test
 * marks itself as the task to fail for the time of each call, so that task-filter
 * keeps the failures to it.
 */
void lmt_test_enomem(struct lmt *t, const u64 *arg)
{
	unsigned int round, refusals = 0, done = 0;
	unsigned long rounds = arg[0];
	struct lmt_kstats before, now;
	struct lmt_area *a = NULL;
	struct lmt_window w;
	unsigned long bytes;
	bool stop = false;
	int ret;

	lmt_case(t, "nothing_changed");
	if (!IS_ENABLED(CONFIG_FAIL_PAGE_ALLOC)) {
		lmt_skip(t, "the kernel was built without CONFIG_FAIL_PAGE_ALLOC");
		return;
	}
	for (bytes = SZ_1G; !a && bytes >= 4 * PMD_SIZE; bytes /= 4)
		a = lmt_area_get(t, bytes);
	if (!a) {
		lmt_skip(t, "memory is short: no %lu MiB in one piece", 4 * PMD_SIZE / SZ_1M);
		return;
	}
	for (round = 0; round < rounds && !stop && !t->failed && !lmt_interrupted(t); round++) {
		/* Both ends cut a block, a different pair each time. */
		unsigned long block = lmt_level_pages(LMT_PMD), blocks = a->nr / block;
		unsigned long first = (round * 2 % (blocks - 1)) * block + block / 2 + 1;
		unsigned long va = a->va + first * PAGE_SIZE, nr = block;

		if (lmt_window_init(t, &w, a->va, a->nr))
			break;
		lmt_window_touch(&w, va, nr);
		lmt_window_touch_done(&w);
		if (!lmt_set_valid_allowed(t, &w)) {
			lmt_window_free(&w);
			break;
		}
		if (w.cut == LMT_HOLE) {
			lmt_window_free(&w);
			continue;
		}
		lmt_kstats_get(&before);
		ret = set_valid_failing(va, nr, 0);
		lmt_kstats_get(&now);
		if (ret == -ENOMEM) {
			refusals++;
			lmt_window_same(t, &w, "after -ENOMEM");
			if (now.failed - before.failed != 1)
				lmt_fail(t, "the kernel counted %llu failed calls, expected 1",
					 now.failed - before.failed);
			if (now.tables != before.tables)
				lmt_fail(t, "the failed call kept %llu tables",
					 now.tables - before.tables);
		} else if (ret) {
			refused(t, &w, ret);
			stop = true;
		} else {
			done++;
			lmt_window_changed(t, &w, 0, PTE_VALID, LMT_JOINED, "invalid");
			/* What is split already needs no memory to go back. */
			ret = set_valid_failing(va, nr, 1);
			if (ret) {
				lmt_fail(t, "the way back returned %d", ret);
				ops->set_memory_valid(va, nr, 1);
			}
			lmt_window_restored(t, &w, LMT_JOINED, "valid again");
		}
		lmt_window_free(&w);
	}
	lmt_diag(t, "%u calls returned -ENOMEM, %u split", refusals, done);
	if (!refusals && !t->failed && !t->skip[0]) {
		if (done)
			lmt_skip(t, "no allocation failed: fail_page_alloc is not set up");
		else
			lmt_skip(t, "nothing to split: the linear map is mapped by pages here");
	}
	lmt_area_verify(t, a);
	lmt_area_put(t, a);
	lmt_case_end(t);
}
