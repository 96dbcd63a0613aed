// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walk of the linear map. It only reads. Every entry is read once, so that a
 * walk during a split sees either the block or the table, and the sum over all
 * levels is right at any time; leaves are counted from bytes for that reason.
 *
 * An entry is a table where its two lowest bits are 0b11 at PUD or PMD level.
 * Any other entry that is not 0 is a leaf, valid or not: an invalid leaf keeps
 * all bits but the lowest.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mmap_lock.h>

#include <asm/sections.h>

#include "lmt.h"

#define TYPE_MASK	(PTE_VALID | PTE_TABLE_BIT)

const char * const lmt_level_name[LMT_NR_LEVELS + 1] = {
	[LMT_PUD]	= "pud",
	[LMT_CONT_PMD]	= "cont_pmd",
	[LMT_PMD]	= "pmd",
	[LMT_CONT_PTE]	= "cont_pte",
	[LMT_PTE]	= "pte",
	[LMT_HOLE]	= "hole",
};

/* Where the linear map begins: higher than PAGE_OFFSET if the CPU has no VA52. */
unsigned long lmt_map_start(void)
{
	return _PAGE_OFFSET(vabits_actual);
}

unsigned long lmt_map_end(void)
{
	return PAGE_END;
}

/*
 * Count a table of the linear map, to which an entry for @size bytes around @addr
 * leads. One that is above vmalloc space too, as the root's only entry may be with
 * 52-bit addresses, must not forbid execution: see map_mem().
 */
static void count_table(struct lmt_walk *walk, u64 val, unsigned long addr, unsigned long size)
{
	walk->tables++;
	if ((addr | (size - 1)) >= lmt_map_end())
		return;
	if ((val & (PMD_TABLE_PXN | PMD_TABLE_UXN)) != (PMD_TABLE_PXN | PMD_TABLE_UXN))
		walk->exec_tables++;
}

static int walk_pmds(struct lmt_walk *walk, pmd_t *pmdp, unsigned long addr,
		     unsigned long end)
{
	unsigned long next;
	int ret = 0;

	do {
		u64 val = pmd_val(READ_ONCE(*pmdp));

		next = pmd_addr_end(addr, end);
		if (!val)
			continue;
		if ((val & TYPE_MASK) == TYPE_MASK) {
			pte_t *ptep = (pte_t *)__va(__pte_to_phys(__pte(val)));

			count_table(walk, val, addr, PMD_SIZE);
			ret = walk->entries(walk, addr, next, LMT_PTE,
					    (const u64 *)(ptep + pte_index(addr)));
		} else {
			ret = walk->entries(walk, addr, next, LMT_PMD, &val);
		}
	} while (pmdp++, addr = next, !ret && addr != end);
	return ret;
}

static int walk_puds(struct lmt_walk *walk, pud_t *pudp, unsigned long addr,
		     unsigned long end)
{
	unsigned long next;
	int ret = 0;

	do {
		pud_t pud = READ_ONCE(*pudp);
		u64 val = pud_val(pud);

		next = pud_addr_end(addr, end);
		/* With two levels, this is the PMD itself. */
		if (CONFIG_PGTABLE_LEVELS <= 2) {
			ret = walk_pmds(walk, pmd_offset(pudp, addr), addr, next);
			continue;
		}
		cond_resched();
		if (!val)
			continue;
		if ((val & TYPE_MASK) == TYPE_MASK) {
			pmd_t *pmdp = (pmd_t *)__va(__pte_to_phys(__pte(val)));

			count_table(walk, val, addr, PUD_SIZE);
			ret = walk_pmds(walk, pmdp + pmd_index(addr), addr, next);
		} else {
			ret = walk->entries(walk, addr, next, LMT_PUD, &val);
		}
	} while (pudp++, addr = next, !ret && addr != end);
	return ret;
}

static int walk_p4ds(struct lmt_walk *walk, p4d_t *p4dp, unsigned long addr,
		     unsigned long end)
{
	unsigned long next;
	int ret = 0;

	do {
		p4d_t p4d = READ_ONCE(*p4dp);

		next = p4d_addr_end(addr, end);
		if (p4d_none(p4d))
			continue;
		if (pgtable_l4_enabled())
			count_table(walk, p4d_val(p4d), addr, P4D_SIZE);
		ret = walk_puds(walk, pud_offset(p4dp, addr), addr, next);
	} while (p4dp++, addr = next, !ret && addr != end);
	return ret;
}

static int walk_pgds(struct lmt_walk *walk, unsigned long addr, unsigned long end)
{
	unsigned long next;
	pgd_t *pgdp;
	int ret = 0;

	if (addr >= end)
		return 0;
	pgdp = pgd_offset_pgd(ops->kernel_pgd, addr);
	do {
		pgd_t pgd = READ_ONCE(*pgdp);

		next = pgd_addr_end(addr, end);
		if (pgd_none(pgd))
			continue;
		if (pgtable_l5_enabled())
			count_table(walk, pgd_val(pgd), addr, PGDIR_SIZE);
		ret = walk_p4ds(walk, p4d_offset(pgdp, addr), addr, next);
	} while (pgdp++, addr = next, !ret && addr != end);
	return ret;
}

/* Keeps tables from being freed, by hot-remove and as ptdump does it. May sleep. */
void lmt_map_lock(void)
{
	ops->get_online_mems();
	mmap_read_lock(ops->init_mm);
}

void lmt_map_unlock(void)
{
	mmap_read_unlock(ops->init_mm);
	ops->put_online_mems();
}

/**
 * lmt_walk() - call walk->entries for all leaves in a range
 * @walk: the callback; its counters of tables are added to
 * @start: first address, a multiple of PAGE_SIZE
 * @end: end, a multiple of PAGE_SIZE
 *
 * Any kernel address may be given, vmalloc areas too. Context: may sleep. No
 * memory is removed, and what takes init_mm's mmap lock for writing to free
 * tables waits, as for ptdump.
 *
 * Return: 0, or what the callback returned to end the walk.
 */
int lmt_walk(struct lmt_walk *walk, unsigned long start, unsigned long end)
{
	int ret;

	lmt_map_lock();
	ret = walk_pgds(walk, start, end);
	lmt_map_unlock();
	return ret;
}

enum lmt_level lmt_entry_level(u64 val, enum lmt_level granule)
{
	/* A contiguous level is the number before its granule. */
	if (granule != LMT_PUD && (val & PTE_CONT))
		return granule - 1;
	return granule;
}

u64 lmt_entry_attr(u64 val)
{
	return pgprot_val(pte_pgprot(__pte(val))) & ~(PTE_CONT | PTE_TABLE_BIT);
}

struct lookup {
	struct lmt_walk walk;
	struct lmt_leaf leaf;
};

static int lookup_entries(struct lmt_walk *walk, unsigned long addr, unsigned long end,
			  enum lmt_level granule, const u64 *entry)
{
	struct lookup *l = container_of(walk, struct lookup, walk);
	u64 val = READ_ONCE(*entry);

	if (!val)
		return 1;
	l->leaf.level = lmt_entry_level(val, granule);
	l->leaf.attr = lmt_entry_attr(val);
	l->leaf.pfn = pte_pfn(__pte(val)) +
		      ((addr & (lmt_level_size(granule) - 1)) >> PAGE_SHIFT);
	return 1;
}

/* How the page at a kernel address is mapped, under lmt_map_lock(). */
struct lmt_leaf lmt_lookup_locked(unsigned long addr)
{
	struct lookup l = {
		.walk.entries = lookup_entries,
		.leaf.level = LMT_HOLE,
	};

	addr &= PAGE_MASK;
	walk_pgds(&l.walk, addr, addr + PAGE_SIZE);
	return l.leaf;
}

/* How the page at a kernel address is mapped. */
struct lmt_leaf lmt_lookup(unsigned long addr)
{
	struct lmt_leaf leaf;

	lmt_map_lock();
	leaf = lmt_lookup_locked(addr);
	lmt_map_unlock();
	return leaf;
}

struct census {
	struct lmt_walk walk;
	struct lmt_census *c;
};

static int census_entries(struct lmt_walk *walk, unsigned long addr, unsigned long end,
			  enum lmt_level granule, const u64 *entry)
{
	struct lmt_census *c = container_of(walk, struct census, walk)->c;
	unsigned long step = granule == LMT_PTE ? PAGE_SIZE : end - addr;
	u64 type = granule == LMT_PTE ? PTE_TABLE_BIT : 0;
	unsigned long pfn;

	/* A block entry holds the address of its start. */
	pfn = PHYS_PFN(__pa(addr & ~(lmt_level_size(granule) - 1)));
	for (; addr < end; addr += step, entry++, pfn++) {
		u64 val = READ_ONCE(*entry);
		enum lmt_level level;

		if (!val)
			continue;
		level = lmt_entry_level(val, granule);
		c->bytes[level] += step;
		if (!(val & PTE_VALID))
			c->invalid[level] += step;
		if ((val & PTE_TABLE_BIT) != type || pte_pfn(__pte(val)) != pfn ||
		    (granule == LMT_PUD && (val & PTE_CONT))) {
			if (!c->bad++) {
				c->bad_addr = addr;
				c->bad_val = val;
			}
		}
	}
	return 0;
}

static void census_range(struct lmt_census *c, unsigned long start, unsigned long end)
{
	struct census walk = { .walk.entries = census_entries, .c = c };

	memset(c, 0, sizeof(*c));
	lmt_walk(&walk.walk, start, end);
	c->tables = walk.walk.tables;
	c->exec_tables = walk.walk.exec_tables;
}

void lmt_census_all(struct lmt_census *c)
{
	census_range(c, lmt_map_start(), lmt_map_end());
}

u64 lmt_census_total(const struct lmt_census *c)
{
	u64 total = 0;
	int i;

	for (i = 0; i < LMT_NR_LEVELS; i++)
		total += c->bytes[i];
	return total;
}

static u64 leaves(const u64 bytes[LMT_NR_LEVELS], enum lmt_level level)
{
	if (!bytes[level])
		return 0;
	return DIV64_U64_ROUND_UP(bytes[level], lmt_level_size(level));
}

static void layout_sum(struct seq_file *m, const char *key, const u64 bytes[LMT_NR_LEVELS])
{
	u64 nr = 0, sum = 0;
	int i;

	for (i = 0; i < LMT_NR_LEVELS; i++) {
		nr += leaves(bytes, i);
		sum += bytes[i];
	}
	seq_printf(m, "%s\t%llu\t%llu\n", key, nr, sum);
}

/* The alias of the kernel's text and read-only data. */
void lmt_census_text(struct lmt_census *c)
{
	census_range(c, (unsigned long)lm_alias(ops->text_start),
		     (unsigned long)lm_alias(ops->text_end));
}

int lmt_layout_show(struct seq_file *m, void *v)
{
	struct lmt_census all, text;
	int i;

	lmt_census_all(&all);
	lmt_census_text(&text);
	for (i = 0; i < LMT_NR_LEVELS; i++)
		seq_printf(m, "%s\t%llu\t%llu\n", lmt_level_name[i], leaves(all.bytes, i),
			   all.bytes[i]);
	layout_sum(m, "invalid", all.invalid);
	layout_sum(m, "total", all.bytes);
	layout_sum(m, "text_alias", text.bytes);
	seq_printf(m, "tables\t%llu\t%llu\n", all.tables, all.tables << PAGE_SHIFT);
	seq_printf(m, "ram\t0\t%llu\n", (u64)ops->ram_bytes());
	return 0;
}

/* What holds for the whole map at any time. */
void lmt_check_whole(struct lmt *t, const struct lmt_census *c)
{
	u64 total = lmt_census_total(c);
	u64 ram = ops->ram_bytes();

	if (total != ram)
		lmt_fail(t, "the leaves sum up to %llu bytes, RAM in the map is %llu", total, ram);
	if (c->bad)
		lmt_fail(t, "%llu entries with wrong output address or type, first %#llx at %#lx",
			 c->bad, c->bad_val, c->bad_addr);
}

static int text_ro_entries(struct lmt_walk *walk, unsigned long addr, unsigned long end,
			   enum lmt_level granule, const u64 *entry)
{
	unsigned long step = granule == LMT_PTE ? PAGE_SIZE : end - addr;

	for (; addr < end; addr += step, entry++) {
		u64 val = READ_ONCE(*entry);

		if ((val & PTE_WRITE) || !(val & PTE_RDONLY))
			return 1;
	}
	return 0;
}

void lmt_test_layout(struct lmt *t, const u64 *arg)
{
	struct lmt_walk ro = { .entries = text_ro_entries };
	struct lmt_census c, text;
	int i;

	lmt_case(t, "sum");
	lmt_census_all(&c);
	lmt_check_whole(t, &c);
	for (i = 0; i < LMT_NR_LEVELS; i++)
		lmt_diag(t, "%s: %llu leaves, %llu bytes", lmt_level_name[i], leaves(c.bytes, i),
			 c.bytes[i]);
	lmt_diag(t, "%llu page-table pages", c.tables);

	lmt_case(t, "whole_leaves");
	for (i = 0; i < LMT_NR_LEVELS; i++)
		if (c.bytes[i] % lmt_level_size(i))
			lmt_fail(t, "%llu bytes are no whole number of %s leaves", c.bytes[i],
				 lmt_level_name[i]);
	if (!lmt_level_exists(LMT_PUD) && c.bytes[LMT_PUD])
		lmt_fail(t, "PUD leaves where the page size has none");

	lmt_case(t, "tables_not_executable");
	if (c.exec_tables)
		lmt_fail(t, "%llu of %llu tables lack PXNTable or UXNTable", c.exec_tables,
			 c.tables);

	lmt_case(t, "text_alias_read_only");
	lmt_census_text(&text);
	if (lmt_census_total(&text) != ops->text_end - ops->text_start)
		lmt_fail(t, "the alias of the kernel's text has %llu bytes, the text has %td",
			 lmt_census_total(&text), ops->text_end - ops->text_start);
	if (lmt_walk(&ro, (unsigned long)lm_alias(ops->text_start),
		     (unsigned long)lm_alias(ops->text_end)))
		lmt_fail(t, "a part of the alias of the kernel's text is writable");
	lmt_case_end(t);
}
