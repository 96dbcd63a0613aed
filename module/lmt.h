/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of linear_map_test share.
 *
 * main.c	debugfs files, the table of tests, running them
 * ktap.c	KTAP text of a run
 * layout.c	walk of the linear map, leaf census
 * window.c	snapshots of a part of the map, and what a change may do to it
 * area.c	physically contiguous memory with a known content
 * probe.c	accesses from every CPU
 * measure.c	time, instructions, the kernel's counters, `stats`
 * hold.c	memory that stays invalid between tests
 * test_*.c	the tests
 */
#ifndef LMT_H
#define LMT_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include <asm/linear_map_test.h>

/* 1 if the kernel has the linear map series: set by Kbuild. */
#if LMT_PATCHED
#include <asm/linear_map.h>
#endif

#define ops	(&linear_map_test_ops)

/* Does a change of a vmalloc area reach the linear alias? */
static inline bool lmt_rodata_full(void)
{
	return *ops->rodata_full && ops->can_set_direct_map();
}

/* Sizes of leaves, the biggest first: the next one down is what a split gives. */
enum lmt_level {
	LMT_PUD,
	LMT_CONT_PMD,
	LMT_PMD,
	LMT_CONT_PTE,
	LMT_PTE,
	LMT_NR_LEVELS,
	LMT_HOLE = LMT_NR_LEVELS,
};

extern const char * const lmt_level_name[LMT_NR_LEVELS + 1];

/* True where this kernel's page size has leaves of this level at all. */
static inline bool lmt_level_exists(enum lmt_level level)
{
	return level > LMT_PUD || (IS_ENABLED(CONFIG_ARM64_4K_PAGES) && CONFIG_PGTABLE_LEVELS > 2);
}

static inline unsigned long lmt_level_size(enum lmt_level level)
{
	switch (level) {
	case LMT_PUD:
		return PUD_SIZE;
	case LMT_CONT_PMD:
		return CONT_PMD_SIZE;
	case LMT_PMD:
		return PMD_SIZE;
	case LMT_CONT_PTE:
		return CONT_PTE_SIZE;
	default:
		return PAGE_SIZE;
	}
}

static inline unsigned long lmt_level_pages(enum lmt_level level)
{
	return lmt_level_size(level) >> PAGE_SHIFT;
}

/* ktap.c */

/* Text that grows. After a failed allocation, lost is set and nothing is added. */
struct lmt_text {
	char *buf;
	size_t len;
	size_t size;
	bool lost;
};

void lmt_text_free(struct lmt_text *text);
__printf(2, 3) void lmt_text_add(struct lmt_text *text, const char *fmt, ...);

struct lmt_counts {
	unsigned int pass;
	unsigned int fail;
	unsigned int skip;
};

struct lmt_test;

/* One run of one test. */
struct lmt {
	const struct lmt_test *test;
	struct lmt_text body;		/* the lines of its cases */
	struct lmt_counts cases;
	struct list_head areas;		/* memory held, see area.c */
	struct list_head aliases;	/* vmalloc areas held, see test_vmalloc.c */

	/* The case that is open. */
	char name[64];
	char skip[200];			/* reason, or empty */
	bool open;
	bool failed;
	unsigned int lines;		/* of failures, they are limited */
};

__printf(2, 3) void lmt_case(struct lmt *t, const char *fmt, ...);
__printf(2, 3) void lmt_fail(struct lmt *t, const char *fmt, ...);
__printf(2, 3) void lmt_skip(struct lmt *t, const char *fmt, ...);
__printf(2, 3) void lmt_diag(struct lmt *t, const char *fmt, ...);
void lmt_case_end(struct lmt *t);
bool lmt_interrupted(struct lmt *t);

/* layout.c */

/**
 * struct lmt_census - the leaves of a part of the linear map
 * @bytes: bytes mapped, by level, valid or not
 * @invalid: those of @bytes whose entry has its valid bit clear
 * @tables: page-table pages below the root that the walk went through
 * @exec_tables: those of @tables whose entry lacks PXNTable or UXNTable
 * @bad: entries with a wrong output address or type
 * @bad_addr: where the first of them was
 * @bad_val: what it was
 */
struct lmt_census {
	u64 bytes[LMT_NR_LEVELS];
	u64 invalid[LMT_NR_LEVELS];
	u64 tables;
	u64 exec_tables;
	u64 bad;
	unsigned long bad_addr;
	u64 bad_val;
};

/**
 * struct lmt_leaf - how one address is mapped
 * @level: size of the leaf, LMT_HOLE if there is none
 * @attr: its attributes without address, Contiguous and type, with the valid bit
 * @pfn: page frame that this address maps to
 */
struct lmt_leaf {
	enum lmt_level level;
	u64 attr;
	unsigned long pfn;
};

/*
 * Called with entries that map [addr, end): one entry of a PUD or PMD, or the
 * run of PTEs. granule is LMT_PUD, LMT_PMD or LMT_PTE. A return other than 0
 * ends the walk.
 */
struct lmt_walk {
	int (*entries)(struct lmt_walk *walk, unsigned long addr, unsigned long end,
		       enum lmt_level granule, const u64 *entry);
	u64 tables;
	u64 exec_tables;
};

unsigned long lmt_map_start(void);
unsigned long lmt_map_end(void);
int lmt_walk(struct lmt_walk *walk, unsigned long start, unsigned long end);
enum lmt_level lmt_entry_level(u64 val, enum lmt_level granule);
u64 lmt_entry_attr(u64 val);
struct lmt_leaf lmt_lookup(unsigned long addr);
void lmt_map_lock(void);
void lmt_map_unlock(void);
struct lmt_leaf lmt_lookup_locked(unsigned long addr);
void lmt_census_all(struct lmt_census *c);
void lmt_census_text(struct lmt_census *c);
u64 lmt_census_total(const struct lmt_census *c);
int lmt_layout_show(struct seq_file *m, void *v);
void lmt_check_whole(struct lmt *t, const struct lmt_census *c);
void lmt_test_layout(struct lmt *t, const u64 *arg);

static inline unsigned long lmt_pfn_va(unsigned long pfn)
{
	/* Without a KASAN tag, unlike page_address(). */
	return (unsigned long)__va(PFN_PHYS(pfn));
}

static inline bool lmt_attr_writable(u64 attr)
{
	return (attr & PTE_VALID) && (attr & PTE_WRITE) && !(attr & PTE_RDONLY);
}

static inline u64 lmt_attr_ro(u64 attr)
{
	return (attr | PTE_RDONLY) & ~PTE_WRITE;
}

/* area.c */

/**
 * struct lmt_area - physically contiguous memory that a test owns
 * @list: in the test's areas
 * @pfn: first page frame
 * @nr: number of pages, a power of two; @pfn is a multiple of it
 * @va: linear address of the first page
 * @words: words at the start of each page that hold the pattern
 * @stride: one page of this many holds the pattern; there are as many strides as
 *	fit, so all of them are whole
 */
struct lmt_area {
	struct list_head list;
	unsigned long pfn;
	unsigned long nr;
	unsigned long va;
	unsigned int words;
	unsigned int stride;
};

struct lmt_area *lmt_area_get(struct lmt *t, unsigned long bytes);
void lmt_area_put(struct lmt *t, struct lmt_area *a);
void lmt_area_put_all(struct lmt *t);
void lmt_area_fill_page(struct lmt_area *a, unsigned long addr);
void lmt_area_verify(struct lmt *t, struct lmt_area *a);
u64 lmt_pattern(unsigned long pfn, unsigned int word);
void lmt_area_retry_stuck(void);
unsigned long lmt_find_leaves(struct lmt *t, enum lmt_level level, unsigned int n,
			      struct lmt_area **area);

/* probe.c */

#define LMT_R		1	/* a read works */
#define LMT_W		2	/* a write works */
#define LMT_RW		(LMT_R | LMT_W)
#define LMT_PROBES	96

/**
 * struct lmt_probes - addresses that every CPU tries
 * @n: how many
 * @addr: address of a page
 * @pfn: page frame behind it, whose pattern is expected
 * @want: LMT_R and LMT_W, what must work now; what is not named must fault
 */
struct lmt_probes {
	unsigned int n;
	unsigned long addr[LMT_PROBES];
	unsigned long pfn[LMT_PROBES];
	u8 want[LMT_PROBES];
};

/* What one CPU found at one address; see lmt_probe_one(). */
struct lmt_probe_one {
	unsigned long addr;
	unsigned long pfn;
	u8 want;
	bool write;		/* the access that went wrong */
	int got;
	int expected;
};

bool lmt_probe_add(struct lmt_probes *p, unsigned long addr, unsigned long pfn, u8 want);
bool lmt_probe(struct lmt *t, const struct lmt_probes *p, const char *when);
bool lmt_probe_rw(struct lmt *t, struct lmt_probes *p, const char *when);
bool lmt_probe_one(struct lmt_probe_one *one, int cpu, unsigned long addr, unsigned long pfn,
		   u8 want);

/* window.c */

/**
 * struct lmt_window - a part of the linear map, page by page
 * @start: first address
 * @n: pages
 * @level: level of each page at the time of lmt_window_init()
 * @attr: attributes of each page at that time
 * @now_level: level of each page at the last look
 * @now_attr: attributes of each page at the last look
 * @touched: number of touched pages before each page, @n + 1 entries
 * @least: level that each page must have at least, with LMT_JOINED also at most
 * @most: level that it may have with LMT_SINGLE
 * @splits: leaves that one call for all touched pages splits, by level
 * @cut: the biggest leaf that it cuts, LMT_HOLE if none
 * @outside: census of the rest of the map at the time of lmt_window_init()
 */
struct lmt_window {
	unsigned long start;
	unsigned long n;
	u8 *level;
	u64 *attr;
	u8 *now_level;
	u64 *now_attr;
	u32 *touched;
	u8 *least;
	u8 *most;
	u64 splits[LMT_NR_LEVELS];
	enum lmt_level cut;
	struct lmt_census outside;
};

enum lmt_depth {
	LMT_JOINED,	/* as deep as one call for all touched pages needs */
	LMT_SINGLE,	/* as deep as one call for each touched page needs */
};

int lmt_window_init(struct lmt *t, struct lmt_window *w, unsigned long va, unsigned long nr);
void lmt_window_free(struct lmt_window *w);
void lmt_window_touch_none(struct lmt_window *w);
void lmt_window_touch(struct lmt_window *w, unsigned long va, unsigned long nr);
void lmt_window_touch_done(struct lmt_window *w);
bool lmt_window_look(struct lmt *t, struct lmt_window *w);
bool lmt_window_same(struct lmt *t, struct lmt_window *w, const char *when);
bool lmt_window_changed(struct lmt *t, struct lmt_window *w, u64 set, u64 clear,
			enum lmt_depth deepest, const char *when);
bool lmt_window_restored(struct lmt *t, struct lmt_window *w, enum lmt_depth deepest,
			 const char *when);

/* measure.c */

/* The kernel's counters, as struct linear_map_stats where there is one. */
struct lmt_kstats {
	u64 split[LMT_PTE];
	u64 tables;
	u64 failed;
};

struct lmt_measure {
	u64 ns;
	u64 instructions;
	bool counted;			/* instructions is a number, not n/a */
	struct lmt_kstats before;
	struct lmt_kstats delta;
	u64 table_bytes;		/* of the linear map, after */
	s64 table_delta;
	u64 tables_before;
};

bool lmt_kstats_get(struct lmt_kstats *s);
void lmt_check_splits(struct lmt *t, const struct lmt_kstats *before,
		      const u64 splits[LMT_NR_LEVELS]);
void *lmt_counter_open(void);
void lmt_counter_close(void *counter);
void lmt_measure_begin(struct lmt_measure *m, void *counter);
void lmt_measure_end(struct lmt_measure *m, void *counter);
void lmt_measure_report(struct lmt *t, const char *step, const struct lmt_measure *m);
__printf(2, 3) void lmt_stat(const char *key, const char *fmt, ...);
void lmt_stats_reset(void);
int lmt_stats_show(struct seq_file *m, void *v);

/* test_valid.c */
bool lmt_set_valid_allowed(struct lmt *t, struct lmt_window *w);
void lmt_valid_case(struct lmt *t, struct lmt_area *a, unsigned long va, unsigned long nr);
void lmt_test_split(struct lmt *t, enum lmt_level level);
void lmt_test_split_pud(struct lmt *t, const u64 *arg);
void lmt_test_split_cont_pmd(struct lmt *t, const u64 *arg);
void lmt_test_split_pmd(struct lmt *t, const u64 *arg);
void lmt_test_split_cont_pte(struct lmt *t, const u64 *arg);
void lmt_test_valid_page(struct lmt *t, const u64 *arg);
void lmt_test_valid_block(struct lmt *t, const u64 *arg);
void lmt_test_valid_across(struct lmt *t, const u64 *arg);
void lmt_test_valid_gib(struct lmt *t, const u64 *arg);
void lmt_test_invalid_leaf(struct lmt *t, const u64 *arg);
void lmt_test_direct_map(struct lmt *t, const u64 *arg);
void lmt_test_refuse_valid(struct lmt *t, const u64 *arg);
void lmt_test_enomem(struct lmt *t, const u64 *arg);

/* test_vmalloc.c */

/**
 * struct lmt_alias - a vmalloc area whose pages are known
 * @list: in the test's aliases
 * @addr: its address, without KASAN tag
 * @nr: pages
 * @pages: its pages; the area's own array if it came from vmalloc()
 * @mapped: it was made from given pages, which it does not own
 */
struct lmt_alias {
	struct list_head list;
	unsigned long addr;
	unsigned int nr;
	struct page **pages;
	bool mapped;
};

struct lmt_alias *lmt_alias_vmalloc(struct lmt *t, unsigned int nr);
struct lmt_alias *lmt_alias_map(struct lmt *t, struct page **pages, unsigned int nr);
bool lmt_alias_check(struct lmt *t, struct lmt_alias *v);
void lmt_alias_put(struct lmt *t, struct lmt_alias *v);
void lmt_alias_put_all(struct lmt *t);
void lmt_test_ro_rw(struct lmt *t, const u64 *arg);
void lmt_test_ro_rw_block(struct lmt *t, const u64 *arg);
void lmt_test_nx_x(struct lmt *t, const u64 *arg);
void lmt_test_refuse(struct lmt *t, const u64 *arg);
void lmt_test_free_ro(struct lmt *t, const u64 *arg);

/* test_load.c */
void lmt_test_churn(struct lmt *t, const u64 *arg);
void lmt_test_concurrent(struct lmt *t, const u64 *arg);
void lmt_test_seed(struct lmt *t, const u64 *arg);

/* test_hotplug.c */
void lmt_test_hotplug(struct lmt *t, const u64 *arg);

/* test_tlbsan.c */
void lmt_test_tlbsan(struct lmt *t, const u64 *arg);

/* hold.c */
void lmt_test_hold(struct lmt *t, const u64 *arg);
void lmt_test_held(struct lmt *t, const u64 *arg);
void lmt_test_let_go(struct lmt *t, const u64 *arg);
int lmt_held_show(struct seq_file *m, void *v);

/* main.c */

#define LMT_MAX_ARGS	3

/**
 * struct lmt_test - a test
 * @name: what is written to `run`
 * @meaning: one line for `tests`
 * @arg: its arguments, in order; each has a default
 * @alone: not one of `all`
 * @fn: runs its cases
 */
struct lmt_test {
	const char *name;
	const char *meaning;
	struct {
		const char *name;
		u64 min, max, def;
	} arg[LMT_MAX_ARGS];
	bool alone;
	void (*fn)(struct lmt *t, const u64 *arg);
};

#endif /* LMT_H */
