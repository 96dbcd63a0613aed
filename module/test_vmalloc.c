// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of set_memory_ro(), _rw(), _nx() and _x() on vmalloc areas, and of the
 * aliases of their pages in the linear map.
 *
 * Some areas are made from pages that were chosen: vmap() of them, with the flag
 * that says vmalloc() made it. For set_memory_*() it is a vmalloc area then, and
 * the test knows where in the linear map the aliases lie.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kasan.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "lmt.h"

/* Give pages of a vmalloc area the pattern that probes expect. */
static void alias_fill(struct lmt_alias *v)
{
	unsigned int i, word;

	for (i = 0; i < v->nr; i++) {
		unsigned long pfn = page_to_pfn(v->pages[i]);
		u64 *p = (u64 *)lmt_pfn_va(pfn);

		for (word = 0; word < 16; word++)
			WRITE_ONCE(p[word], lmt_pattern(pfn, word));
	}
}

/* A vmalloc area. NULL if memory is short. */
struct lmt_alias *lmt_alias_vmalloc(struct lmt *t, unsigned int nr)
{
	struct lmt_alias *v;
	struct vm_struct *vm;
	void *addr;

	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return NULL;
	addr = __vmalloc((unsigned long)nr << PAGE_SHIFT,
			 GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	vm = addr ? ops->find_vm_area(addr) : NULL;
	if (!vm) {
		vfree(addr);
		kfree(v);
		return NULL;
	}
	v->addr = (unsigned long)kasan_reset_tag(addr);
	v->nr = nr;
	v->pages = vm->pages;
	list_add(&v->list, &t->aliases);
	return v;
}

/* An area made of given pages; the array goes with it. NULL if memory is short. */
struct lmt_alias *lmt_alias_map(struct lmt *t, struct page **pages, unsigned int nr)
{
	struct lmt_alias *v;
	struct vm_struct *vm;
	void *addr;

	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return NULL;
	addr = vmap(pages, nr, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	vm = addr ? ops->find_vm_area(addr) : NULL;
	if (!vm) {
		vunmap(addr);
		kfree(v);
		return NULL;
	}
	vm->flags |= VM_ALLOC;
	v->addr = (unsigned long)addr;
	v->nr = nr;
	v->pages = pages;
	v->mapped = true;
	list_add(&v->list, &t->aliases);
	return v;
}

/*
 * Is each alias of a vmalloc() area valid and writable, so that the pages may go
 * back to the page allocator? What is not fails the open case and is put right,
 * if that can be: false if it cannot.
 */
bool lmt_alias_check(struct lmt *t, struct lmt_alias *v)
{
	unsigned int i, end, wrong = 0;

	for (i = 0; i < v->nr; i = end) {
		unsigned long addr = 0;

		end = min(i + 512, v->nr);
		lmt_map_lock();
		for (; i < end; i++) {
			addr = lmt_pfn_va(page_to_pfn(v->pages[i]));
			if (!lmt_attr_writable(lmt_lookup_locked(addr).attr))
				break;
		}
		lmt_map_unlock();
		cond_resched();
		if (i == end)
			continue;
		if (!wrong++)
			lmt_fail(t, "%#lx: alias of page %u not writable at the end", addr, i);
		ops->set_direct_map_default_noflush(v->pages[i]);
		ops->flush_tlb_kernel_range(addr, addr + PAGE_SIZE);
		if (!lmt_attr_writable(lmt_lookup(addr).attr))
			return false;
		end = i + 1;
	}
	return true;
}

/* Free an area, or keep it if its pages must not reach the page allocator. */
void lmt_alias_put(struct lmt *t, struct lmt_alias *v)
{
	struct vm_struct *vm;

	list_del(&v->list);
	if (v->mapped) {
		vm = ops->find_vm_area((void *)v->addr);
		if (vm)
			vm->flags &= ~(VM_ALLOC | VM_MAP_PUT_PAGES);
		vunmap((void *)v->addr);
		kvfree(v->pages);
	} else if (lmt_alias_check(t, v)) {
		vfree((void *)v->addr);
	} else {
		lmt_fail(t, "the area of %u pages is kept, with that alias", v->nr);
	}
	kfree(v);
}

void lmt_alias_put_all(struct lmt *t)
{
	struct lmt_alias *v, *next;

	list_for_each_entry_safe(v, next, &t->aliases, list)
		lmt_alias_put(t, v);
}

/* Attributes of each page before a change, of the area and of the alias. */
struct attrs {
	u64 *area;
	u64 *alias;
};

static void attrs_free(struct attrs *s)
{
	kvfree(s->area);
	kvfree(s->alias);
}

static bool attrs_get(struct lmt *t, const struct lmt_alias *v, struct attrs *s)
{
	unsigned int i;

	s->area = kvmalloc_array(v->nr, sizeof(u64), GFP_KERNEL);
	s->alias = kvmalloc_array(v->nr, sizeof(u64), GFP_KERNEL);
	if (!s->area || !s->alias) {
		lmt_skip(t, "memory is short");
		return false;
	}
	for (i = 0; i < v->nr; i++) {
		unsigned long pfn = page_to_pfn(v->pages[i]);
		struct lmt_leaf area = lmt_lookup(v->addr + i * PAGE_SIZE);
		struct lmt_leaf alias = lmt_lookup(lmt_pfn_va(pfn));

		if (area.pfn != pfn || alias.pfn != pfn) {
			lmt_fail(t, "page %u: area and alias map to %#lx and %#lx, expected %#lx",
				 i, area.pfn, alias.pfn, pfn);
			return false;
		}
		s->area[i] = area.attr;
		s->alias[i] = alias.attr;
		cond_resched();
	}
	return true;
}

/*
 * Compare with attributes before: bits gained and lost by the area in
 * [first, first + nr), and by the alias in [afirst, afirst + anr).
 */
static bool attrs_check(struct lmt *t, const struct lmt_alias *v, const struct attrs *s,
			u64 set, u64 clear, unsigned int first, unsigned int nr,
			unsigned int afirst, unsigned int anr, const char *when)
{
	unsigned int i;

	for (i = 0; i < v->nr; i++) {
		unsigned long addr = v->addr + i * PAGE_SIZE;
		unsigned long alias = lmt_pfn_va(page_to_pfn(v->pages[i]));
		u64 want = s->area[i], got = lmt_lookup(addr).attr;

		if (i >= first && i < first + nr)
			want = (want & ~clear) | set;
		if (want != got) {
			lmt_fail(t, "%s: area page %u at %#lx: attributes %#llx, expected %#llx",
				 when, i, addr, got, want);
			return false;
		}
		want = s->alias[i];
		got = lmt_lookup(alias).attr;
		if (i >= afirst && i < afirst + anr)
			want = (want & ~clear) | set;
		if (want != got) {
			lmt_fail(t, "%s: alias page %u at %#lx: attributes %#llx, expected %#llx",
				 when, i, alias, got, want);
			return false;
		}
		cond_resched();
	}
	return true;
}

/* Pages of the area and their aliases, around the ends and spread between. */
static void probe_area(struct lmt_probes *p, const struct lmt_alias *v, unsigned int first,
		       unsigned int nr, unsigned int afirst, unsigned int anr)
{
	long try[24];
	unsigned int n = 0, i;

	try[n++] = first;
	try[n++] = first + nr - 1;
	try[n++] = (long)first - 1;
	try[n++] = first + nr;
	try[n++] = 0;
	try[n++] = v->nr - 1;
	for (i = 1; i < 8; i++) {
		try[n++] = first + (unsigned long)nr * i / 8;
		try[n++] = (unsigned long)v->nr * i / 8;
	}
	for (i = 0; i < n; i++) {
		unsigned long pfn;

		if (try[i] < 0 || try[i] >= v->nr)
			continue;
		pfn = page_to_pfn(v->pages[try[i]]);
		lmt_probe_add(p, v->addr + try[i] * PAGE_SIZE, pfn,
			      try[i] >= first && try[i] < first + nr ? LMT_R : LMT_RW);
		lmt_probe_add(p, lmt_pfn_va(pfn), pfn,
			      try[i] >= afirst && try[i] < afirst + anr ? LMT_R : LMT_RW);
	}
}

/*
 * Read-only and back, [first, first + nr) of an area. With a window, the linear
 * map around the aliases is compared leaf for leaf.
 */
static void ro_rw(struct lmt *t, struct lmt_alias *v, unsigned int first, unsigned int nr,
		  struct lmt_window *w)
{
	unsigned int afirst = first, anr = nr;
	struct lmt_probes *p;
	struct attrs s = {};
	int ret;

	/* Stock changes the alias of the whole area; neither does without full. */
	if (!lmt_rodata_full()) {
		anr = 0;
	} else if (!LMT_PATCHED) {
		afirst = 0;
		anr = v->nr;
	}
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p) {
		lmt_skip(t, "memory is short");
		return;
	}
	alias_fill(v);
	if (!attrs_get(t, v, &s))
		goto out;
	if (w) {
		unsigned int i;

		lmt_window_touch_none(w);
		for (i = afirst; i < afirst + anr; i++)
			lmt_window_touch(w, lmt_pfn_va(page_to_pfn(v->pages[i])), 1);
		lmt_window_touch_done(w);
	}
	probe_area(p, v, first, nr, afirst, anr);

	if (!lmt_probe_rw(t, p, "before"))
		goto out;
	ret = ops->set_memory_ro(v->addr + first * PAGE_SIZE, nr);
	if (ret) {
		lmt_fail(t, "set_memory_ro() returned %d", ret);
		lmt_probe_rw(t, p, "after a refusal");
		attrs_check(t, v, &s, 0, 0, 0, 0, 0, 0, "after a refusal");
		goto back;
	}
	lmt_probe(t, p, "read-only");
	attrs_check(t, v, &s, PTE_RDONLY, PTE_WRITE, first, nr, afirst, anr, "read-only");
	if (w)
		lmt_window_changed(t, w, PTE_RDONLY, PTE_WRITE, LMT_SINGLE, "read-only");
	/* Once more changes nothing. */
	ret = ops->set_memory_ro(v->addr + first * PAGE_SIZE, nr);
	if (ret)
		lmt_fail(t, "set_memory_ro() of what is read-only returned %d", ret);
	lmt_probe(t, p, "read-only twice");
back:
	ret = ops->set_memory_rw(v->addr + first * PAGE_SIZE, nr);
	if (ret)
		lmt_fail(t, "set_memory_rw() returned %d", ret);
	lmt_probe_rw(t, p, "writable again");
	attrs_check(t, v, &s, 0, 0, 0, 0, 0, 0, "writable again");
	if (w)
		lmt_window_restored(t, w, LMT_SINGLE, "writable again");
	if (t->failed)
		ops->set_memory_rw(v->addr, v->nr);
out:
	attrs_free(&s);
	kfree(p);
}

/* A case on a part of a vmalloc area of its own, freed at its end. */
static void area_case(struct lmt *t, const char *name, unsigned int pages, unsigned int first,
		      unsigned int nr,
		      void (*fn)(struct lmt *t, struct lmt_alias *v, unsigned int first,
				 unsigned int nr))
{
	struct lmt_alias *v;

	if (lmt_interrupted(t))
		return;
	lmt_case(t, "%s", name);
	v = lmt_alias_vmalloc(t, pages);
	if (!v) {
		lmt_skip(t, "memory is short: no vmalloc area of %u pages", pages);
		return;
	}
	fn(t, v, first, nr);
	lmt_alias_put(t, v);
	lmt_case_end(t);
}

static void ro_rw_only(struct lmt *t, struct lmt_alias *v, unsigned int first, unsigned int nr)
{
	ro_rw(t, v, first, nr, NULL);
}

void lmt_test_ro_rw(struct lmt *t, const u64 *arg)
{
	area_case(t, "one_page_area", 1, 0, 1, ro_rw_only);
	area_case(t, "whole_area", 16, 0, 16, ro_rw_only);
	area_case(t, "first_page", 16, 0, 1, ro_rw_only);
	area_case(t, "middle", 16, 5, 6, ro_rw_only);
	area_case(t, "last_page", 16, 15, 1, ro_rw_only);
	area_case(t, "many_pages", 4096, 0, 4096, ro_rw_only);
	area_case(t, "middle_of_many", 4096, 1021, 2051, ro_rw_only);

	/* What these skips say, the cases above have found. */
	lmt_case(t, "alias_of_the_part_only");
	if (!lmt_rodata_full())
		lmt_skip(t, "without rodata=full the alias stays writable");
	else if (!LMT_PATCHED)
		lmt_skip(t, "a stock kernel changes the alias of the whole area");
	else if (t->cases.fail)
		lmt_fail(t, "see the cases above");
	lmt_case_end(t);
}

enum order { ORDER_UP, ORDER_DOWN, ORDER_EVEN, ORDER_RANDOM };

/* An area over nr pages of a contiguous one, from page first, in some order. */
static struct lmt_alias *map_of(struct lmt *t, struct lmt_area *a, unsigned int first,
				unsigned int nr, enum order order)
{
	struct page **pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL);
	struct rnd_state rnd;
	struct lmt_alias *v;
	unsigned int i;

	if (!pages)
		return NULL;
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < nr; i++) {
		unsigned int n = order == ORDER_DOWN ? nr - 1 - i :
				 order == ORDER_EVEN ? 2 * i : i;

		pages[i] = pfn_to_page(a->pfn + first + n);
	}
	for (i = nr - 1; order == ORDER_RANDOM && i; i--) {
		unsigned int n = prandom_u32_state(&rnd) % (i + 1);

		swap(pages[i], pages[n]);
	}
	v = lmt_alias_map(t, pages, nr);
	if (!v)
		kvfree(pages);
	return v;
}

static void block_case(struct lmt *t, const char *name, enum order order, unsigned int first,
		       unsigned int nr)
{
	unsigned long bytes = 4 * PMD_SIZE;
	unsigned int pages = lmt_level_pages(LMT_PMD) * 2;
	struct lmt_window w;
	struct lmt_alias *v;
	struct lmt_area *a;

	if (lmt_interrupted(t))
		return;
	lmt_case(t, "%s", name);
	a = lmt_area_get(t, bytes);
	if (!a) {
		lmt_skip(t, "memory is short: no %lu MiB in one piece", bytes / SZ_1M);
		return;
	}
	if (!lmt_window_init(t, &w, a->va, a->nr)) {
		/* Its pages begin with the second block. */
		v = map_of(t, a, pages / 2, order == ORDER_EVEN ? pages / 2 : pages, order);
		if (v) {
			ro_rw(t, v, first, nr, &w);
			lmt_alias_put(t, v);
			lmt_area_verify(t, a);
		} else {
			lmt_skip(t, "memory is short for an area of %u pages", pages);
		}
		lmt_window_free(&w);
	}
	lmt_area_put(t, a);
	lmt_case_end(t);
}

void lmt_test_ro_rw_block(struct lmt *t, const u64 *arg)
{
	unsigned int block = lmt_level_pages(LMT_PMD);

	block_case(t, "two_blocks", ORDER_UP, 0, 2 * block);
	block_case(t, "one_block", ORDER_UP, 0, block);
	block_case(t, "across_blocks", ORDER_UP, block / 2 + 1, block);
	block_case(t, "one_page", ORDER_UP, block + 3, 1);
	block_case(t, "descending", ORDER_DOWN, block / 2 + 1, block);
	block_case(t, "every_other_page", ORDER_EVEN, block / 4, block / 2);
	block_case(t, "random_order", ORDER_RANDOM, block / 2, block / 2 + 1);
}

/* nx and x change the area, and never the alias. */
static void nx_x(struct lmt *t, struct lmt_alias *v, unsigned int first, unsigned int nr)
{
	unsigned long addr = v->addr + first * PAGE_SIZE;
	struct attrs s = {};
	int ret;

	/* No page is ever writable and executable. */
	ret = ops->set_memory_ro(v->addr, v->nr);
	if (ret) {
		lmt_fail(t, "set_memory_ro() returned %d", ret);
		goto out;
	}
	if (!attrs_get(t, v, &s))
		goto out;
	if (!(s.area[0] & PTE_PXN))
		lmt_fail(t, "a fresh vmalloc area is executable: %#llx", s.area[0]);

	ret = ops->set_memory_x(addr, nr);
	if (ret)
		lmt_fail(t, "set_memory_x() returned %d", ret);
	attrs_check(t, v, &s, PTE_MAYBE_GP, PTE_PXN, first, nr, 0, 0, "executable");
	ret = ops->set_memory_nx(addr, nr);
	if (ret)
		lmt_fail(t, "set_memory_nx() returned %d", ret);
	attrs_check(t, v, &s, PTE_PXN, PTE_MAYBE_GP, first, nr, 0, 0, "not executable");
	ret = ops->set_memory_nx(addr, nr);
	if (ret)
		lmt_fail(t, "set_memory_nx() of what is not executable returned %d", ret);
	attrs_check(t, v, &s, 0, 0, 0, 0, 0, 0, "not executable, twice");
out:
	ret = ops->set_memory_rw(v->addr, v->nr);
	if (ret)
		lmt_fail(t, "set_memory_rw() returned %d", ret);
	attrs_free(&s);
}

void lmt_test_nx_x(struct lmt *t, const u64 *arg)
{
	area_case(t, "one_page_area", 1, 0, 1, nx_x);
	area_case(t, "whole_area", 8, 0, 8, nx_x);
	area_case(t, "middle", 8, 3, 2, nx_x);
	area_case(t, "middle_of_many", 600, 100, 401, nx_x);
}

static const char * const call_name[] = {
	"set_memory_ro", "set_memory_rw", "set_memory_nx", "set_memory_x",
};

static int call(unsigned int n, unsigned long addr, int numpages)
{
	switch (n) {
	case 0:
		return ops->set_memory_ro(addr, numpages);
	case 1:
		return ops->set_memory_rw(addr, numpages);
	case 2:
		return ops->set_memory_nx(addr, numpages);
	default:
		return ops->set_memory_x(addr, numpages);
	}
}

/* All four calls with arguments that must give an errno, or 0, and no change. */
static void refuse(struct lmt *t, const char *name, unsigned long addr, int numpages, int want,
		   const unsigned long *look, unsigned int nr_look)
{
	struct lmt_census before, after;
	struct lmt_leaf was[8], now;
	unsigned int i, n;

	lmt_case(t, "%s", name);
	if (WARN_ON_ONCE(nr_look > ARRAY_SIZE(was)))
		nr_look = ARRAY_SIZE(was);
	lmt_census_all(&before);
	for (i = 0; i < nr_look; i++)
		was[i] = lmt_lookup(look[i]);
	for (n = 0; n < ARRAY_SIZE(call_name); n++) {
		int ret = call(n, addr, numpages);

		if (ret != want)
			lmt_fail(t, "%s(%#lx, %d) returned %d, expected %d", call_name[n], addr,
				 numpages, ret, want);
		for (i = 0; i < nr_look; i++) {
			now = lmt_lookup(look[i]);
			if (now.level != was[i].level || now.attr != was[i].attr ||
			    now.pfn != was[i].pfn)
				lmt_fail(t, "%s(%#lx, %d) changed %#lx from %s %#llx to %s %#llx",
					 call_name[n], addr, numpages, look[i],
					 lmt_level_name[was[i].level], was[i].attr,
					 lmt_level_name[now.level], now.attr);
		}
		if (t->failed)
			break;
	}
	lmt_census_all(&after);
	if (memcmp(before.bytes, after.bytes, sizeof(before.bytes)))
		lmt_fail(t, "the layout of the linear map changed");
	lmt_case_end(t);
}

void lmt_test_refuse(struct lmt *t, const u64 *arg)
{
	unsigned long look[8], text = (unsigned long)&lmt_test_refuse & PAGE_MASK;
	struct page *page = NULL, **pages = NULL;
	struct vm_struct *vm;
	struct lmt_alias *v;
	void *plain = NULL;
	unsigned int i;

	lmt_case(t, "setup");
	v = lmt_alias_vmalloc(t, 4);
	page = alloc_page(GFP_KERNEL);
	pages = kcalloc(1, sizeof(*pages), GFP_KERNEL);
	if (v && page && pages) {
		pages[0] = page;
		plain = vmap(pages, 1, VM_MAP, PAGE_KERNEL);
	}
	if (!plain) {
		lmt_skip(t, "memory is short");
		goto out;
	}
	lmt_case_end(t);

	for (i = 0; i < 4; i++) {
		look[i] = v->addr + i * PAGE_SIZE;
		look[4 + i] = lmt_pfn_va(page_to_pfn(v->pages[i]));
	}
	refuse(t, "no_pages", v->addr + PAGE_SIZE, 0, 0, look, 8);
	refuse(t, "beyond_the_end", v->addr + 2 * PAGE_SIZE, 4, -EINVAL, look, 8);
	refuse(t, "far_too_many_pages", v->addr, INT_MAX, -EINVAL, look, 8);

	if (LMT_PATCHED) {
		refuse(t, "negative_pages", v->addr + PAGE_SIZE, -1, -EINVAL, look, 8);
	} else {
		lmt_case(t, "negative_pages");
		lmt_skip(t, "a stock kernel does not check, and warns");
	}

	look[0] = lmt_pfn_va(page_to_pfn(page));
	look[1] = (unsigned long)plain;
	refuse(t, "linear_map", look[0], 1, -EINVAL, look, 2);
	refuse(t, "linear_map_no_pages", look[0], 0, -EINVAL, look, 2);
	refuse(t, "vmap_area", look[1], 1, -EINVAL, look, 2);

	vm = ops->find_vm_area((void *)text);
	if (vm && vm->nr_pages) {
		look[0] = (unsigned long)kasan_reset_tag(vm->addr) +
			  (vm->nr_pages - 1) * PAGE_SIZE;
		look[1] = lmt_pfn_va(page_to_pfn(vm->pages[vm->nr_pages - 1]));
		look[2] = text;
		refuse(t, "past_module_text", look[0], 3, -EINVAL, look, 3);
	} else {
		lmt_case(t, "past_module_text");
		lmt_skip(t, "the module's text is in no vmalloc area");
	}
	refuse(t, "kernel_text", (unsigned long)ops->text_start, 1, -EINVAL, look, 0);
	refuse(t, "null", 0, 1, -EINVAL, look, 0);

	lmt_case(t, "cleanup");
out:
	vunmap(plain);
	kfree(pages);
	if (page)
		__free_page(page);
	if (v)
		lmt_alias_put(t, v);
	lmt_case_end(t);
}

/*
 * An area freed while it is read-only. The test holds a reference to each page,
 * so that pages whose alias is wrong do not reach the page allocator.
 */
static void free_ro_case(struct lmt *t, const char *name, bool reset, unsigned int nr,
			 unsigned int first, unsigned int part)
{
	bool known = !LMT_PATCHED && !reset && lmt_rodata_full();
	struct page **pages = NULL;
	struct lmt_alias *v = NULL;
	struct lmt_probes *p = NULL;
	struct attrs s = {};
	unsigned int i, left = 0;
	int ret;

	lmt_case(t, "%s", name);
	v = lmt_alias_vmalloc(t, nr);
	pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL);
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!v || !pages || !p) {
		lmt_skip(t, "memory is short");
		goto out;
	}
	alias_fill(v);
	if (!attrs_get(t, v, &s))
		goto out;
	ret = ops->set_memory_ro(v->addr + first * PAGE_SIZE, part);
	if (ret) {
		lmt_fail(t, "set_memory_ro() returned %d", ret);
		goto out;
	}
	for (i = 0; i < nr; i++) {
		pages[i] = v->pages[i];
		get_page(pages[i]);
		if (i < LMT_PROBES)
			lmt_probe_add(p, lmt_pfn_va(page_to_pfn(pages[i])), page_to_pfn(pages[i]),
				      LMT_RW);
	}
	if (reset)
		ops->find_vm_area((void *)v->addr)->flags |= VM_FLUSH_RESET_PERMS;
	list_del(&v->list);
	vfree((void *)v->addr);
	kfree(v);
	v = NULL;

	for (i = 0; i < nr; i++) {
		unsigned long addr = lmt_pfn_va(page_to_pfn(pages[i]));
		u64 attr = lmt_lookup(addr).attr;

		if (attr == s.alias[i])
			continue;
		if (!left++ && !known)
			lmt_fail(t, "%#lx: after vfree() the alias is %#llx, expected %#llx", addr,
				 attr, s.alias[i]);
		if (!lmt_attr_writable(attr)) {
			ops->set_direct_map_default_noflush(pages[i]);
			ops->flush_tlb_kernel_range(addr, addr + PAGE_SIZE);
		}
		if (lmt_lookup(addr).attr != s.alias[i])
			lmt_fail(t, "%#lx: the alias could not be put right", addr);
	}
	if (left && known)
		lmt_skip(t, "a stock kernel leaves the alias read-only: %u of %u pages, put right",
			 left, nr);
	else if (left)
		lmt_fail(t, "the aliases of %u of %u pages were left wrong", left, nr);
	lmt_probe_rw(t, p, "after vfree()");
	for (i = 0; i < nr; i++)
		if (lmt_attr_writable(lmt_lookup(lmt_pfn_va(page_to_pfn(pages[i]))).attr))
			put_page(pages[i]);
out:
	if (v) {
		ops->set_memory_rw(v->addr, v->nr);
		lmt_alias_put(t, v);
	}
	attrs_free(&s);
	kvfree(pages);
	kfree(p);
	lmt_case_end(t);
}

void lmt_test_free_ro(struct lmt *t, const u64 *arg)
{
	free_ro_case(t, "reset_whole", true, 16, 0, 16);
	free_ro_case(t, "reset_part", true, 64, 10, 33);
	free_ro_case(t, "plain_whole", false, 16, 0, 16);
	free_ro_case(t, "plain_part", false, 64, 10, 33);
}
