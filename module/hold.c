// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that stays invalid in the linear map until it is told to let go: for
 * those who have to cope with that, kexec and hibernation. What each page of an
 * area must be is worked out from the area's kind alone:
 *
 *  whole   all of it, by one call
 *  blocks  all of it, each block of a PMD by a call
 *  groups  of the first block each other Contiguous group; the rest as blocks
 *  pages   of the first block each other page; the rest as blocks
 *  half    of the first Contiguous group the second half, with all entries
 *          still marked as Contiguous: what a change that is half way through
 *          the group looks like. The rest of the block is valid.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "lmt.h"

enum kind {
	WHOLE,
	BLOCKS,
	GROUPS,
	PAGES,
	HALF,
	NR_KINDS
};

static const char * const kind_name[NR_KINDS] = { "whole", "blocks", "groups", "pages", "half" };

struct held {
	struct list_head list;
	struct lmt_area *area;
	enum kind kind;
	bool torn;		/* half: the group's entries differ, by hand */
};

static LIST_HEAD(held);
static DEFINE_MUTEX(lock);	/* of the list */

static bool want_invalid(const struct held *h, unsigned long i)
{
	unsigned long group = lmt_level_pages(LMT_CONT_PTE);

	if (i >= lmt_level_pages(LMT_PMD))
		return true;
	switch (h->kind) {
	case GROUPS:
		return (i / group) & 1;
	case PAGES:
		return i & 1;
	case HALF:
		return i >= group / 2 && i < group;
	default:
		return true;
	}
}

/* Pages from i on that one call changes. */
static unsigned long run_of(const struct held *h, unsigned long i)
{
	unsigned long block = lmt_level_pages(LMT_PMD), n = 1;

	while (i + n < h->area->nr && want_invalid(h, i + n) == want_invalid(h, i)) {
		if (h->kind != WHOLE && !((i + n) % block))
			break;
		n++;
	}
	return n;
}

static unsigned long invalid_bytes(const struct held *h)
{
	unsigned long i, n, pages = 0;

	for (i = 0; i < h->area->nr; i += n) {
		n = run_of(h, i);
		if (want_invalid(h, i))
			pages += n;
	}
	return pages * PAGE_SIZE;
}

static int change_all(const struct held *h, int enable)
{
	unsigned long i, n;
	int ret;

	for (i = 0; i < h->area->nr; i += n) {
		n = run_of(h, i);
		if (!want_invalid(h, i))
			continue;
		ret = ops->set_memory_valid(h->area->va + i * PAGE_SIZE, n, enable);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

#if LMT_PATCHED
struct tear {
	struct lmt_walk walk;
	bool enable;
};

static int tear_entries(struct lmt_walk *walk, unsigned long addr, unsigned long end,
			enum lmt_level granule, const u64 *entry)
{
	struct tear *t = container_of(walk, struct tear, walk);

	if (granule != LMT_PTE)
		return -EINVAL;
	for (; addr < end; addr += PAGE_SIZE, entry++) {
		u64 val = READ_ONCE(*entry);

		if (!(val & PTE_CONT))
			return -EINVAL;
		val = t->enable ? kernel_leaf_mkvalid(val) : kernel_leaf_mkinvalid(val);
		WRITE_ONCE(*(u64 *)entry, val);
	}
	return 0;
}

/* The second half of the first Contiguous group, entry by entry. */
static int tear(const struct held *h, bool enable)
{
	unsigned long end = h->area->va + lmt_level_size(LMT_CONT_PTE);
	struct tear t = { .walk.entries = tear_entries, .enable = enable };
	int ret;

	ret = lmt_walk(&t.walk, end - lmt_level_size(LMT_CONT_PTE) / 2, end);
	ops->flush_tlb_kernel_range(h->area->va, end);
	return ret;
}

/* Makes the first group of the area a leaf of its own. False where it is not one then. */
static bool make_group(const struct held *h)
{
	unsigned long group = lmt_level_pages(LMT_CONT_PTE);

	return !ops->set_memory_valid(h->area->va, group, 0) &&
	       !ops->set_memory_valid(h->area->va, group, 1) &&
	       lmt_lookup(h->area->va).level == LMT_CONT_PTE;
}
#else
static int tear(const struct held *h, bool enable)
{
	return -EOPNOTSUPP;
}

static bool make_group(const struct held *h)
{
	return false;
}
#endif

static int change(struct held *h, int enable)
{
	int ret;

	if (h->kind != HALF)
		return change_all(h, enable);
	if (!enable)
		h->torn = make_group(h);
	if (!h->torn)
		return change_all(h, enable);
	ret = tear(h, enable);
	/* All of it, so that no entry is left in part. */
	if (!ret && enable)
		ret = ops->set_memory_valid(h->area->va, lmt_level_pages(LMT_CONT_PTE), 1);
	return ret;
}

static bool hold_one(struct lmt *t, unsigned long bytes, enum kind kind)
{
	struct held *h;
	int ret;

	h = kzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return false;
	h->kind = kind;
	h->area = lmt_area_get(t, bytes);
	if (!h->area) {
		kfree(h);
		return false;
	}
	ret = change(h, 0);
	if (ret) {
		lmt_fail(t, "%s: making %lu MiB invalid returned %d", kind_name[kind],
			 bytes / SZ_1M, ret);
		change(h, 1);
		lmt_area_put(t, h->area);
		kfree(h);
		return false;
	}
	__module_get(THIS_MODULE);
	mutex_lock(&lock);
	list_del(&h->area->list);
	list_add_tail(&h->list, &held);
	mutex_unlock(&lock);
	return true;
}

/*
 * First a block of each kind, then the biggest leaves that there are, to the
 * size that is asked for or as long as memory can be had.
 */
void lmt_test_hold(struct lmt *t, const u64 *arg)
{
	static const enum lmt_level levels[] = { LMT_PUD, LMT_CONT_PMD, LMT_PMD };
	unsigned long left = arg[0] * SZ_1M, n = 0;
	enum kind kind;
	unsigned int i;

	lmt_case(t, "each_kind");
	for (kind = 0; kind < NR_KINDS; kind++) {
		if (!hold_one(t, PMD_SIZE, kind)) {
			lmt_fail(t, "no %lu MiB for kind %s", PMD_SIZE / SZ_1M, kind_name[kind]);
			return;
		}
		left -= min(left, PMD_SIZE);
	}
	lmt_case(t, "the_rest");
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		unsigned long bytes = lmt_level_size(levels[i]);

		if (!lmt_level_exists(levels[i]))
			continue;
		while (left >= bytes && !lmt_interrupted(t)) {
			/* The biggest leaf there is by one call, others in turn. */
			kind = levels[i] == LMT_PUD || n++ & 1 ? WHOLE : BLOCKS;
			if (!hold_one(t, bytes, kind))
				break;
			left -= bytes;
		}
	}
	lmt_diag(t, "%lu MiB of %llu could not be had", left / SZ_1M, arg[0]);
	lmt_case_end(t);
}

/* Is each page of an area what it was left as? */
static void check_one(struct lmt *t, const struct held *h)
{
	unsigned long i, wrong = 0;
	u64 word;

	for (i = 0; i < h->area->nr; i++) {
		unsigned long va = h->area->va + i * PAGE_SIZE;
		bool valid = !want_invalid(h, i);
		struct lmt_leaf leaf = lmt_lookup(va);

		if (!!(leaf.attr & PTE_VALID) != valid && !wrong++)
			lmt_fail(t, "%s: %#lx is %s", kind_name[h->kind], va,
				 valid ? "invalid" : "valid");
		if (ops->kernel_page_present(pfn_to_page(h->area->pfn + i)) != valid)
			lmt_fail(t, "%s: %#lx: kernel_page_present() is %d", kind_name[h->kind],
				 va, !valid);
		/* The TLBs as well, of this CPU: an access to each 16th page. */
		if (!(i & 15) && (!ops->copy_from_kernel_nofault(&word, (void *)va,
								 sizeof(word))) != valid)
			lmt_fail(t, "%s: %#lx: a read %s", kind_name[h->kind], va,
				 valid ? "faults" : "works");
		if (!(i & 255))
			cond_resched();
	}
	if (wrong)
		lmt_fail(t, "%s: %lu pages of %lu at %#lx are not as they were left",
			 kind_name[h->kind], wrong, h->area->nr, h->area->va);
	if (h->torn && (lmt_lookup(h->area->va).level != LMT_CONT_PTE ||
			lmt_lookup(h->area->va + CONT_PTE_SIZE - PAGE_SIZE).level != LMT_CONT_PTE))
		lmt_fail(t, "half: %#lx is no Contiguous group any more", h->area->va);
}

static void check_all(struct lmt *t)
{
	struct held *h;

	lmt_case(t, "as_left");
	if (list_empty(&held))
		lmt_fail(t, "nothing is held");
	list_for_each_entry(h, &held, list)
		check_one(t, h);
	lmt_case_end(t);
}

void lmt_test_held(struct lmt *t, const u64 *arg)
{
	check_all(t);
}

void lmt_test_let_go(struct lmt *t, const u64 *arg)
{
	struct held *h, *next;
	int ret;

	check_all(t);
	lmt_case(t, "content");
	list_for_each_entry_safe(h, next, &held, list) {
		mutex_lock(&lock);
		list_del(&h->list);
		mutex_unlock(&lock);
		ret = change(h, 1);
		if (ret)
			lmt_fail(t, "%s: making %#lx valid returned %d", kind_name[h->kind],
				 h->area->va, ret);
		else
			lmt_area_verify(t, h->area);
		list_add(&h->area->list, &t->areas);
		lmt_area_put(t, h->area);
		kfree(h);
		module_put(THIS_MODULE);
	}
	lmt_case_end(t);
}

int lmt_held_show(struct seq_file *m, void *v)
{
	struct held *h;

	mutex_lock(&lock);
	list_for_each_entry(h, &held, list)
		seq_printf(m, "%s\t%llu\t%lu\t%lu\t%#llx\n", kind_name[h->kind],
			   (u64)PFN_PHYS(h->area->pfn), h->area->nr * PAGE_SIZE, invalid_bytes(h),
			   lmt_pattern(h->area->pfn, 0));
	mutex_unlock(&lock);
	return 0;
}
