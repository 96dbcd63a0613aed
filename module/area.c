// SPDX-License-Identifier: GPL-2.0-only
/*
 * Physically contiguous memory with a known content: each word depends on where
 * it is, so that an entry with a wrong output address shows. An area goes back
 * to the page allocator only once every page of it is valid and writable;
 * one that cannot be put right is kept, and that is a failure.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lmt.h"

#define FULL_BYTES	SZ_4M		/* up to here, all words hold the pattern */
#define LIGHT_WORDS	16		/* beyond, these many of each page */
#define LIGHT_PAGES	16384		/* and with more pages, not all of them */
#define KEEP_FREE	SZ_64M		/* left to the rest of the system */
#define MAX_AREAS	8		/* that one search may hold */

/* Areas that could not be made valid and writable again. */
static LIST_HEAD(stuck);

u64 lmt_pattern(unsigned long pfn, unsigned int word)
{
	u64 v = ((u64)pfn << 16) ^ word ^ 0x5bd1e995a5a5c3c3ULL;

	v *= 0x9e3779b97f4a7c15ULL;
	return v ^ (v >> 29);
}

void lmt_area_fill_page(struct lmt_area *a, unsigned long addr)
{
	unsigned long pfn = a->pfn + ((addr - a->va) >> PAGE_SHIFT);
	u64 *p = (u64 *)(addr & PAGE_MASK);
	unsigned int i;

	for (i = 0; i < a->words; i++)
		WRITE_ONCE(p[i], lmt_pattern(pfn, i));
}

static bool room_for(unsigned long bytes)
{
	return si_mem_available() > 0 &&
	       (unsigned long)si_mem_available() > (bytes + KEEP_FREE) >> PAGE_SHIFT;
}

/* Of each stride of pages, one holds the pattern, not always the same. */
static unsigned long sample(const struct lmt_area *a, unsigned long i)
{
	return i + i / a->stride * 7 % a->stride;
}

/**
 * lmt_area_get() - take physically contiguous memory
 * @t: the test that owns it
 * @bytes: a power of two of pages; the area is aligned to its size
 *
 * Return: the area with its pattern, or NULL if memory is short.
 */
struct lmt_area *lmt_area_get(struct lmt *t, unsigned long bytes)
{
	/* Not called by its name, for the kernel has a macro of that name. */
	typeof(ops->alloc_contig_pages) alloc = ops->alloc_contig_pages;
	unsigned long nr = bytes >> PAGE_SHIFT, i;
	struct lmt_area *a;
	struct page *page;

	if (!room_for(bytes))
		return NULL;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return NULL;
	page = alloc(nr, GFP_KERNEL | __GFP_NOWARN, first_online_node, NULL);
	if (!page) {
		kfree(a);
		return NULL;
	}
	a->pfn = page_to_pfn(page);
	a->nr = nr;
	a->va = lmt_pfn_va(a->pfn);
	a->words = bytes <= FULL_BYTES ? PAGE_SIZE / sizeof(u64) : LIGHT_WORDS;
	a->stride = DIV_ROUND_UP(nr, LIGHT_PAGES);
	list_add(&a->list, &t->areas);
	for (i = 0; i < nr; i += a->stride) {
		lmt_area_fill_page(a, a->va + sample(a, i) * PAGE_SIZE);
		if (!(i & 1023))
			cond_resched();
	}
	return a;
}

/* Compare the content with the pattern; every difference fails the open case. */
void lmt_area_verify(struct lmt *t, struct lmt_area *a)
{
	unsigned long i;
	unsigned int w;
	u64 buf[LIGHT_WORDS];

	for (i = 0; i < a->nr; i += a->stride) {
		unsigned long addr = a->va + sample(a, i) * PAGE_SIZE;

		for (w = 0; w < a->words; w++) {
			if (!(w % LIGHT_WORDS) &&
			    ops->copy_from_kernel_nofault(buf, (void *)(addr + w * sizeof(u64)),
							  sizeof(buf))) {
				lmt_fail(t, "%#lx: cannot be read back", addr);
				break;
			}
			if (buf[w % LIGHT_WORDS] != lmt_pattern(a->pfn + sample(a, i), w)) {
				lmt_fail(t, "%#lx: content changed: expected %#llx, got %#llx",
					 addr + w * sizeof(u64),
					 lmt_pattern(a->pfn + sample(a, i), w),
					 buf[w % LIGHT_WORDS]);
				break;
			}
		}
		if (!(i & 255))
			cond_resched();
	}
}

struct usable {
	struct lmt_walk walk;
	unsigned long mapped;
	unsigned long bad_addr;
	u64 bad_attr;
};

static int usable_entries(struct lmt_walk *walk, unsigned long addr, unsigned long end,
			  enum lmt_level granule, const u64 *entry)
{
	struct usable *u = container_of(walk, struct usable, walk);
	unsigned long step = granule == LMT_PTE ? PAGE_SIZE : end - addr;

	for (; addr < end; addr += step, entry++) {
		u64 attr = lmt_entry_attr(READ_ONCE(*entry));

		if (!lmt_attr_writable(attr)) {
			u->bad_addr = addr;
			u->bad_attr = attr;
			return 1;
		}
		u->mapped += step;
	}
	return 0;
}

/* True if every page of the area is valid and writable in the linear map. */
static bool area_usable(const struct lmt_area *a, struct usable *u)
{
	memset(u, 0, sizeof(*u));
	u->walk.entries = usable_entries;
	return !lmt_walk(&u->walk, a->va, a->va + a->nr * PAGE_SIZE) &&
	       u->mapped == a->nr * PAGE_SIZE;
}

/* Page by page, as no test's call did it. False if a page stays as it is. */
static bool area_rescue(const struct lmt_area *a)
{
	struct usable u;
	unsigned long i;

	for (i = 0; i < a->nr; i++) {
		struct lmt_leaf leaf = lmt_lookup(a->va + i * PAGE_SIZE);

		if (lmt_attr_writable(leaf.attr))
			continue;
		/* A stock kernel cannot change a part of a bigger leaf. */
		if (!LMT_PATCHED && leaf.level != LMT_PTE)
			return false;
		ops->set_direct_map_default_noflush(pfn_to_page(a->pfn + i));
		cond_resched();
	}
	ops->flush_tlb_kernel_range(a->va, a->va + a->nr * PAGE_SIZE);
	return area_usable(a, &u);
}

/**
 * lmt_area_put() - give an area back, if it can be
 * @t: the test that owns it, with an open case
 * @a: the area, not to be used afterwards
 */
void lmt_area_put(struct lmt *t, struct lmt_area *a)
{
	struct usable u;

	list_del(&a->list);
	if (!area_usable(a, &u)) {
		lmt_fail(t, "%#lx is not valid and writable at the end: attributes %#llx",
			 u.bad_addr, u.bad_attr);
		if (!area_rescue(a)) {
			lmt_fail(t, "%lu pages at %#lx cannot be put right, they are kept",
				 a->nr, a->va);
			list_add(&a->list, &stuck);
			return;
		}
	}
	ops->free_contig_range(a->pfn, a->nr);
	kfree(a);
}

void lmt_area_put_all(struct lmt *t)
{
	struct lmt_area *a, *next;

	list_for_each_entry_safe(a, next, &t->areas, list)
		lmt_area_put(t, a);
}

/* A last try when the module goes; what stays wrong is never given back. */
void lmt_area_retry_stuck(void)
{
	struct lmt_area *a, *next;

	list_for_each_entry_safe(a, next, &stuck, list) {
		list_del(&a->list);
		if (area_rescue(a))
			ops->free_contig_range(a->pfn, a->nr);
		else
			pr_err("%lu pages at %#lx stay allocated: the linear map of them is wrong\n",
			       a->nr, a->va);
		kfree(a);
	}
}

/* The first n leaves in a row of this level in an area, or 0. */
static unsigned long area_leaves(struct lmt_area *a, enum lmt_level level, unsigned int n)
{
	unsigned long size = lmt_level_size(level), end = a->va + a->nr * PAGE_SIZE;
	unsigned long addr, first = 0;
	unsigned int row = 0;

	for (addr = ALIGN(a->va, size); addr + size <= end; addr += size) {
		if (lmt_lookup(addr).level != level) {
			row = 0;
			continue;
		}
		if (!row++)
			first = addr;
		if (row == n)
			return first;
		cond_resched();
	}
	return 0;
}

/*
 * Make n leaves of a level out of a bigger one, by a change of exactly them.
 * Not inside the first or last leaf of their size, so that they have neighbours.
 */
static unsigned long area_make_leaves(struct lmt_area *a, enum lmt_level level, unsigned int n)
{
	unsigned long size = lmt_level_size(level), end = a->va + a->nr * PAGE_SIZE;
	unsigned long addr;
	unsigned int i;

	if (!LMT_PATCHED)
		return 0;
	for (addr = ALIGN(a->va, size); addr + n * size <= end; addr += size) {
		bool bigger = true;

		for (i = 0; i < n; i++)
			bigger &= lmt_lookup(addr + i * size).level < level;
		if (!bigger)
			continue;
		if (ops->set_memory_valid(addr, n * size >> PAGE_SHIFT, 0))
			return 0;
		if (ops->set_memory_valid(addr, n * size >> PAGE_SHIFT, 1))
			return 0;
		for (i = 0; i < n; i++)
			if (lmt_lookup(addr + i * size).level != level)
				break;
		if (i == n)
			return addr;
	}
	return 0;
}

/**
 * lmt_find_leaves() - find leaves of a level in memory that the test owns
 * @t: the test, with an open case
 * @level: the level
 * @n: how many in a row
 * @area: the area they are in
 *
 * They may be made by splitting a bigger leaf. Where there are none the open
 * case is skipped with the reason.
 *
 * Return: address of the first, or 0.
 */
unsigned long lmt_find_leaves(struct lmt *t, enum lmt_level level, unsigned int n,
			      struct lmt_area **area)
{
	unsigned long size = lmt_level_size(level);
	unsigned long bytes = max_t(unsigned long, roundup_pow_of_two(n) * size,
				    min_t(unsigned long, 8 * size, SZ_64M));
	struct lmt_census all, text;
	struct lmt_area *a;
	unsigned long addr;
	unsigned int held = 0;

	if (!lmt_level_exists(level)) {
		lmt_skip(t, "pages of %lu KiB have no %s leaves", PAGE_SIZE / SZ_1K,
			 lmt_level_name[level]);
		return 0;
	}
	list_for_each_entry(a, &t->areas, list) {
		held++;
		addr = area_leaves(a, level, n);
		if (addr)
			goto found;
	}
	for (; held < MAX_AREAS; held++) {
		a = lmt_area_get(t, bytes);
		if (!a)
			break;
		addr = area_leaves(a, level, n);
		if (addr)
			goto found;
		/* Where the map is in bigger leaves, more memory has none either. */
		if (lmt_lookup(a->va).level < level && level != LMT_PUD)
			break;
	}
	list_for_each_entry(a, &t->areas, list) {
		addr = area_make_leaves(a, level, n);
		if (addr)
			goto found;
	}

	lmt_census_all(&all);
	lmt_census_text(&text);
	if (list_empty(&t->areas))
		lmt_skip(t, "memory is short: no %lu MiB in one piece", bytes / SZ_1M);
	else if (all.bytes[level] == text.bytes[level])
		lmt_skip(t, "no %s leaves but in the alias of the kernel's text, none can be made",
			 lmt_level_name[level]);
	else
		lmt_skip(t, "no %u free %s leaves in a row, and none can be made", n,
			 lmt_level_name[level]);
	return 0;
found:
	*area = a;
	return addr;
}
