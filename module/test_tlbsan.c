// SPDX-License-Identifier: GPL-2.0-only
/*
 * Right and wrong sequences of stores to page tables, TLBIs and barriers, for the
 * flush sanitizer (scripts/tlbsan) to tell apart. Each case says its name by a
 * marker; which report belongs to it is in scripts/tlbsan/expected.tsv, and the
 * host compares. Here a case passes when it has been executed.
 *
 * The entries are those of one PMD in a vmap area of the module's own. Nothing is
 * ever accessed through them, all that they map is memory of the test, and each
 * case begins with a flush of everything. Since some cases break the rules, the
 * test is not one of `all`.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <asm/barrier.h>
#include <asm/tlbflush.h>

#include "lmt.h"

/* Hints without a meaning to any CPU: see scripts/tlbsan/README.md. */
static __always_inline void marker_range(unsigned long start, unsigned long end)
{
	register unsigned long x0 asm("x0") = start;
	register unsigned long x1 asm("x1") = end;

	asm volatile("hint #91" : : "r" (x0), "r" (x1) : "memory");
}

static void marker_label(const char *text)
{
	unsigned long len = strlen(text);
	register const char *x0 asm("x0") = text;
	register unsigned long x1 asm("x1") = len;

	asm volatile("hint #92" : : "r" (x0), "r" (x1) : "memory");
}

/*
 * va is what one PMD entry maps: by the table, as pages, or as a block of the same
 * memory. spare is a second table, not in use.
 */
struct scratch {
	unsigned long va;
	pmd_t *pmd;
	u64 *table;
	u64 *spare;
	u64 block;		/* descriptors, writable */
	u64 page;
	u64 to_table;
	u64 to_spare;
	u64 before;		/* what the PMD was */
};

#define RO(desc)	(((desc) | PTE_RDONLY) & ~PTE_WRITE)
#define PAGES		8

static __always_inline void st(u64 *entry, u64 desc)
{
	WRITE_ONCE(*entry, desc);
}

static __always_inline void set(struct scratch *s, u64 desc)
{
	WRITE_ONCE(*(u64 *)s->pmd, desc);
}

static u64 page_of(struct scratch *s, unsigned int i)
{
	return s->page + ((u64)i << PAGE_SHIFT);
}

static unsigned long addr_of(struct scratch *s, unsigned int i)
{
	return s->va + ((unsigned long)i << PAGE_SHIFT);
}

static u64 operand(struct scratch *s, unsigned int i, u64 asid)
{
	return __TLBI_VADDR(addr_of(s, i), asid);
}

/* With the hint that the entry is of the last level. */
static u64 hinted(struct scratch *s, unsigned int i)
{
	return operand(s, i, 0) | FIELD_PREP(TLBI_TTL_MASK, get_trans_granule() << 2 | 3);
}

static void all_dropped(void)
{
	dsb(ishst);
	__tlbi(vmalle1is);
	dsb(ish);
	isb();
}

static void fill(struct scratch *s, u64 *table, u64 more)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		st(&table[i], page_of(s, i) | more);
}

/* Break, flush, make: the tables are as a case finds them. */
static void reset(struct scratch *s, u64 desc)
{
	set(s, 0);
	all_dropped();
	fill(s, s->table, 0);
	fill(s, s->spare, 0);
	dsb(ishst);
	set(s, desc);
	all_dropped();
}

static void make_ro(struct scratch *s, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		st(&s->table[from], RO(s->table[from]));
}

static void flush(struct scratch *s, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		__tlbi(vaale1is, operand(s, from, 0));
}

static void mark(struct scratch *s, unsigned int from, unsigned int to)
{
	marker_range(addr_of(s, from), addr_of(s, to));
}

/* Right ones. */

static void right_flush(struct scratch *s)
{
	make_ro(s, 0, PAGES);
	dsb(ishst);
	flush(s, 0, PAGES);
	dsb(ish);
	mark(s, 0, PAGES);
}

static void right_unmap(struct scratch *s)
{
	st(&s->table[1], 0);
	dsb(ishst);
	flush(s, 1, 2);
	dsb(ish);
	mark(s, 1, 2);
}

static void right_hint(struct scratch *s)
{
	make_ro(s, 0, 1);
	dsb(ishst);
	__tlbi(vaale1is, hinted(s, 0));
	dsb(ish);
	mark(s, 0, 1);
}

static void right_more_rights(struct scratch *s)
{
	make_ro(s, 0, 1);
	all_dropped();
	st(&s->table[0], page_of(s, 0));
	dsb(ishst);
	mark(s, 0, 1);
}

static void right_range(struct scratch *s)
{
	/* SCALE 0, NUM 3: 8 pages. */
	u64 arg = __TLBI_VADDR_RANGE(s->va >> (lpa2_is_enabled() ? 16 : PAGE_SHIFT), 0, 0, 3, 0);

	make_ro(s, 0, PAGES);
	dsb(ishst);
	__tlbi(rvaale1is, arg);
	dsb(ish);
	mark(s, 0, PAGES);
}

static void right_break_make(struct scratch *s)
{
	st(&s->table[0], 0);
	dsb(ishst);
	flush(s, 0, 1);
	dsb(ish);
	st(&s->table[0], page_of(s, 1));
	dsb(ishst);
	mark(s, 0, 1);
}

static void right_contig(struct scratch *s)
{
	unsigned int i;

	set(s, 0);
	all_dropped();
	fill(s, s->table, PTE_CONT);
	dsb(ishst);
	set(s, s->to_table);
	dsb(ishst);
	for (i = 0; i < CONT_PTES; i++)
		st(&s->table[i], RO(s->table[i]));
	dsb(ishst);
	flush(s, 0, CONT_PTES);
	dsb(ish);
	mark(s, 0, CONT_PTES);
}

static void right_table_gone(struct scratch *s)
{
	set(s, 0);
	dsb(ishst);
	__tlbi(vmalle1is);
	dsb(ish);
	memset(s->table, 0, PAGE_SIZE);
	mark(s, 0, PTRS_PER_PTE);
}

/* A block in place of its own pages: without a conflict under FEAT_BBM level 2 only. */
static void split(struct scratch *s)
{
	fill(s, s->table, 0);
	dsb(ishst);
	set(s, s->to_table);
	dsb(ishst);
}

static void level_split_then_ro(struct scratch *s)
{
	split(s);
	make_ro(s, 0, 1);
	dsb(ishst);
	flush(s, 0, 1);
	dsb(ish);
	mark(s, 0, 1);
}

/* Wrong ones. */

static void no_flush(struct scratch *s)
{
	make_ro(s, 0, PAGES);
	dsb(ishst);
	mark(s, 0, PAGES);
}

static void short_at_start(struct scratch *s)
{
	make_ro(s, 0, PAGES);
	dsb(ishst);
	flush(s, 1, PAGES);
	dsb(ish);
	mark(s, 0, PAGES);
}

static void short_at_end(struct scratch *s)
{
	make_ro(s, 0, PAGES);
	dsb(ishst);
	flush(s, 0, PAGES - 1);
	dsb(ish);
	mark(s, 0, PAGES);
}

static void range_short(struct scratch *s)
{
	/* NUM 2: 6 pages. */
	u64 arg = __TLBI_VADDR_RANGE(s->va >> (lpa2_is_enabled() ? 16 : PAGE_SHIFT), 0, 0, 2, 0);

	make_ro(s, 0, PAGES);
	dsb(ishst);
	__tlbi(rvaale1is, arg);
	dsb(ish);
	mark(s, 0, PAGES);
}

static void range_hint(struct scratch *s)
{
	/* Hint of level 2, with a base that is not aligned to it. */
	u64 arg = __TLBI_VADDR_RANGE(addr_of(s, 16) >> (lpa2_is_enabled() ? 16 : PAGE_SHIFT),
				     0, 0, 0, 2);

	make_ro(s, 16, 18);
	dsb(ishst);
	__tlbi(rvaale1is, arg);
	dsb(ish);
	mark(s, 16, 18);
}

static void wrong_asid(struct scratch *s)
{
	st(&s->table[0], 0);
	all_dropped();
	st(&s->table[0], page_of(s, 0) | PTE_NG);
	dsb(ishst);
	make_ro(s, 0, 1);
	dsb(ishst);
	__tlbi(vale1is, operand(s, 0, 0x7ff1));
	dsb(ish);
	mark(s, 0, 1);
}

static void local(struct scratch *s)
{
	make_ro(s, 0, 1);
	dsb(ishst);
	__tlbi(vaale1, operand(s, 0, 0));
	dsb(ish);
	mark(s, 0, 1);
}

static void level_hint_after_split(struct scratch *s)
{
	split(s);
	make_ro(s, 0, 1);
	dsb(ishst);
	__tlbi(vaale1is, hinted(s, 0));
	dsb(ish);
	mark(s, 0, 1);
}

static void level_no_flush_after_split(struct scratch *s)
{
	split(s);
	make_ro(s, 0, 1);
	dsb(ishst);
	mark(s, 0, 1);
}

/* It drops the block, but not the page. */
static void level_neighbour_after_split(struct scratch *s)
{
	split(s);
	make_ro(s, 0, 1);
	dsb(ishst);
	flush(s, 1, 2);
	dsb(ish);
	mark(s, 0, 1);
}

static void last_level_for_table(struct scratch *s)
{
	set(s, 0);
	dsb(ishst);
	flush(s, 0, PTRS_PER_PTE);
	dsb(ish);
	memset(s->table, 0, PAGE_SIZE);
}

static void table_reused_too_early(struct scratch *s)
{
	set(s, 0);
	dsb(ishst);
	memset(s->table, 0, PAGE_SIZE);
	__tlbi(vmalle1is);
	dsb(ish);
}

static void no_dsb(struct scratch *s)
{
	make_ro(s, 0, 1);
	dsb(ishst);
	flush(s, 0, 1);
	mark(s, 0, 1);
}

static void dsb_of_stores(struct scratch *s)
{
	make_ro(s, 0, 1);
	dsb(ishst);
	flush(s, 0, 1);
	dsb(ishst);
	mark(s, 0, 1);
}

static void dsb_not_shared(struct scratch *s)
{
	make_ro(s, 0, 1);
	dsb(ishst);
	flush(s, 0, 1);
	dsb(nsh);
	mark(s, 0, 1);
}

static void flush_before_store_is_visible(struct scratch *s)
{
	make_ro(s, 0, 1);
	flush(s, 0, 1);
	dsb(ish);
	mark(s, 0, 1);
}

static void store_not_visible(struct scratch *s)
{
	st(&s->table[0], 0);
	all_dropped();
	st(&s->table[0], page_of(s, 0));
	mark(s, 0, 1);
}

static void table_linked_without_barrier(struct scratch *s)
{
	set(s, 0);
	all_dropped();
	st(&s->spare[0], RO(s->spare[0]));
	set(s, s->to_spare);
	dsb(ishst);
	mark(s, 0, 1);
}

static void contig_in_part(struct scratch *s)
{
	unsigned int i;

	set(s, 0);
	all_dropped();
	fill(s, s->table, PTE_CONT);
	dsb(ishst);
	set(s, s->to_table);
	dsb(ishst);
	for (i = 0; i < CONT_PTES / 2; i++)
		st(&s->table[i], RO(s->table[i]));
	dsb(ishst);
	flush(s, 0, CONT_PTES);
	dsb(ish);
	mark(s, 0, CONT_PTES);
}

static void address_changed_live(struct scratch *s)
{
	st(&s->table[0], page_of(s, 1));
	dsb(ishst);
	flush(s, 0, 1);
	dsb(ish);
	mark(s, 0, 1);
}

static void address_changed_unflushed(struct scratch *s)
{
	st(&s->table[0], 0);
	dsb(ishst);
	st(&s->table[0], page_of(s, 1));
	dsb(ishst);
	flush(s, 0, 1);
	dsb(ish);
	mark(s, 0, 1);
}

static void type_changed_live(struct scratch *s)
{
	st(&s->table[0], (page_of(s, 0) & ~PTE_ATTRINDX_MASK) | PTE_ATTRINDX(MT_NORMAL_NC));
	dsb(ishst);
	flush(s, 0, 1);
	dsb(ish);
	mark(s, 0, 1);
}

static void global_made_live(struct scratch *s)
{
	st(&s->table[0], 0);
	all_dropped();
	st(&s->table[0], page_of(s, 0) | PTE_NG);
	dsb(ishst);
	st(&s->table[0], page_of(s, 0));
	dsb(ishst);
	flush(s, 0, 1);
	dsb(ish);
	mark(s, 0, 1);
}

static void split_to_other_address(struct scratch *s)
{
	fill(s, s->table, 0);
	st(&s->table[3], page_of(s, 4));
	dsb(ishst);
	set(s, s->to_table);
	dsb(ishst);
	flush(s, 0, PAGES);
	dsb(ish);
	mark(s, 0, PAGES);
}

static const struct {
	const char *name;
	void (*fn)(struct scratch *s);
	bool block;		/* begins with a block */
	bool range;		/* needs operations by range */
} cases[] = {
	{ "right_flush", right_flush },
	{ "right_unmap", right_unmap },
	{ "right_hint", right_hint },
	{ "right_more_rights", right_more_rights },
	{ "right_range", right_range, .range = true },
	{ "right_break_make", right_break_make },
	{ "right_contig", right_contig },
	{ "right_table_gone", right_table_gone },
	{ "right_split_then_ro", level_split_then_ro, .block = true },
	{ "no_flush", no_flush },
	{ "short_at_start", short_at_start },
	{ "short_at_end", short_at_end },
	{ "range_short", range_short, .range = true },
	{ "range_hint_unaligned", range_hint, .range = true },
	{ "wrong_asid", wrong_asid },
	{ "local", local },
	{ "level_hint_after_split", level_hint_after_split, .block = true },
	{ "no_flush_after_split", level_no_flush_after_split, .block = true },
	{ "neighbour_flushed_after_split", level_neighbour_after_split, .block = true },
	{ "last_level_for_table", last_level_for_table },
	{ "table_reused_too_early", table_reused_too_early },
	{ "no_dsb", no_dsb },
	{ "dsb_of_stores", dsb_of_stores },
	{ "dsb_not_shared", dsb_not_shared },
	{ "flush_before_store_is_visible", flush_before_store_is_visible },
	{ "store_not_visible", store_not_visible },
	{ "table_linked_without_barrier", table_linked_without_barrier },
	{ "contig_in_part", contig_in_part },
	{ "address_changed_live", address_changed_live },
	{ "address_changed_unflushed", address_changed_unflushed },
	{ "type_changed_live", type_changed_live },
	{ "global_made_live", global_made_live },
	{ "split_to_other_address", split_to_other_address, .block = true },
};

static void run_cases(struct lmt *t, struct scratch *s)
{
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		lmt_case(t, "%s", cases[i].name);
		if (cases[i].range && !system_supports_tlb_range()) {
			lmt_skip(t, "no TLBI by range");
			continue;
		}
		/* An interrupt's barriers would complete what is to stay open. */
		local_irq_save(flags);
		reset(s, cases[i].block ? s->block : s->to_table);
		marker_label(cases[i].name);
		cases[i].fn(s);
		marker_label("-");
		reset(s, s->to_table);
		local_irq_restore(flags);
	}
	lmt_case_end(t);

	/* As vmap() made it, for vunmap(). */
	local_irq_save(flags);
	set(s, 0);
	all_dropped();
	set(s, s->before);
	all_dropped();
	local_irq_restore(flags);
}

static pmd_t *find_pmd(unsigned long addr)
{
	pgd_t *pgd = pgd_offset_pgd(ops->kernel_pgd, addr);
	p4d_t *p4d = p4d_offset(pgd, addr);
	pud_t *pud = pud_offset(p4d, addr);

	return pmd_offset(pud, addr);
}

void lmt_test_tlbsan(struct lmt *t, const u64 *arg)
{
	const unsigned int order = PMD_SHIFT - PAGE_SHIFT, nr = 2 << order;
	struct scratch s = {};
	struct page **pages, *mem;
	unsigned int i;
	void *area;

	lmt_case(t, "memory");
	pages = kvmalloc_array(nr, sizeof(*pages), GFP_KERNEL);
	mem = alloc_pages(GFP_KERNEL | __GFP_NOWARN, order);
	s.table = (u64 *)get_zeroed_page(GFP_KERNEL);
	s.spare = (u64 *)get_zeroed_page(GFP_KERNEL);
	for (i = 0; pages && mem && i < nr; i++)
		pages[i] = mem;
	area = pages && mem ? vmap(pages, nr, VM_MAP, PAGE_KERNEL) : NULL;
	if (!area || !s.table || !s.spare) {
		lmt_skip(t, "no memory for a block and what maps it");
	} else {
		s.va = ALIGN((unsigned long)area, PMD_SIZE);
		s.pmd = find_pmd(s.va);
		s.before = pmd_val(READ_ONCE(*s.pmd));
		s.page = __phys_to_pte_val(page_to_phys(mem)) | pgprot_val(PAGE_KERNEL);
		s.block = (s.page & ~(u64)PTE_TYPE_MASK) | PMD_TYPE_SECT;
		s.to_table = __phys_to_pmd_val(virt_to_phys(s.table)) | PMD_TYPE_TABLE;
		s.to_spare = __phys_to_pmd_val(virt_to_phys(s.spare)) | PMD_TYPE_TABLE;
		run_cases(t, &s);
	}
	lmt_case_end(t);
	vunmap(area);
	free_page((unsigned long)s.spare);
	free_page((unsigned long)s.table);
	if (mem)
		__free_pages(mem, order);
	kvfree(pages);
}
