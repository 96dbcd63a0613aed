/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A shadow of the page tables, from stores and from writes of the base registers.
 * It knows what translates to what, not whether that is right: what looks at the
 * changes registers itself in struct pt_watch.
 */
#ifndef TLBSAN_PT_H
#define TLBSAN_PT_H

#include <stdbool.h>
#include <stdint.h>

#define PT_MAX_CPUS	16

/* Bits of a stage 1 descriptor. */
#define PT_VALID	(1ULL << 0)
#define PT_TABLE	(1ULL << 1)	/* table, or page at the last level */
#define PT_ATTRINDX	(7ULL << 2)
#define PT_USER		(1ULL << 6)	/* AP[1] */
#define PT_RDONLY	(1ULL << 7)	/* AP[2] */
#define PT_NG		(1ULL << 11)
#define PT_DBM		(1ULL << 51)
#define PT_CONT		(1ULL << 52)
#define PT_PXN		(1ULL << 53)
#define PT_UXN		(1ULL << 54)
#define PT_PXNTABLE	(1ULL << 59)
#define PT_UXNTABLE	(1ULL << 60)
#define PT_APTABLE_EL0	(1ULL << 61)	/* no access from EL0 */
#define PT_APTABLE_RO	(1ULL << 62)

/* What a translation allows. */
#define PERM_R		1
#define PERM_W		2
#define PERM_X		4
#define PERM_UR		8
#define PERM_UW		16
#define PERM_UX		32

struct pt_table;

/**
 * struct pt_root - a tree of tables that a base register has named
 * @next: in the list of all
 * @id: never used twice
 * @base: physical address
 * @upper: of TTBR1
 * @granule: log2 of the page size
 * @bits: of the addresses it translates
 * @start_level: of its first table
 * @asid: that it was last used with
 * @cpus: that have used it, as bits
 * @loaded: CPUs whose register names it now
 * @table: its first table
 */
struct pt_root {
	struct pt_root *next;
	uint64_t id;
	uint64_t base;
	bool upper;
	unsigned int granule;
	unsigned int bits;
	int start_level;
	unsigned int asid;
	uint32_t cpus;
	uint32_t loaded;
	struct pt_table *table;
};

/**
 * struct pt_entry - an entry of a table, as seen on the way to one address
 * @root: where the way began
 * @va: first address that it translates
 * @size: bytes that it translates
 * @level: of its table
 * @desc: the descriptor
 * @hier: hierarchical attributes of the tables on the way
 * @pa: where the entry lies
 */
struct pt_entry {
	struct pt_root *root;
	uint64_t va;
	uint64_t size;
	int level;
	uint64_t desc;
	uint64_t hier;
	uint64_t pa;
};

/**
 * struct pt_watch - who is told of changes
 * @before: an entry that can be reached will become @desc; the old is still there
 * @after: it has become so; e->desc is the new descriptor
 * @dead: nothing can be reached by this root, and no CPU uses it: it is forgotten
 * @linked: a page becomes a table
 */
struct pt_watch {
	void (*before)(const struct pt_entry *e, uint64_t desc);
	void (*after)(const struct pt_entry *e, uint64_t old);
	void (*dead)(struct pt_root *root);
	void (*linked)(const struct pt_entry *e, uint64_t table_pa);
};

/* Of a physical page, for the fast path of stores. */
#define PT_PAGE_TABLE	1	/* it is a table */
#define PT_PAGE_WATCHED	2	/* it was one, and may still be walked */

#define PT_RAM_BASE	0x40000000ULL
#define PT_RAM_MAX	(64ULL << 30)

extern uint8_t *pt_page_flags;	/* by number of 4K page from PT_RAM_BASE */
extern uint8_t *pt_mirror;	/* what the kernel stored, from PT_RAM_BASE */

static inline bool pt_in_ram(uint64_t pa)
{
	return pa - PT_RAM_BASE < PT_RAM_MAX;
}

static inline uint8_t pt_flags(uint64_t pa)
{
	return pt_page_flags[(pa - PT_RAM_BASE) >> 12];
}

void pt_init(const struct pt_watch *watch);
void pt_stored(uint64_t pa, unsigned int bytes);
struct pt_root *pt_root_get(uint64_t base, bool upper, unsigned int granule, unsigned int bits,
			    bool ds);
unsigned int pt_first_entries(unsigned int granule, unsigned int bits);
bool pt_root_empty(const struct pt_root *root);
void pt_root_unload(struct pt_root *root, unsigned int cpu, bool forget);
struct pt_root *pt_roots(void);
bool pt_walk(struct pt_root *root, uint64_t va, struct pt_entry *leaf);
bool pt_walk_to(struct pt_root *root, uint64_t va, int level, struct pt_entry *e);
bool pt_entry_at(uint64_t pa, struct pt_entry *e);
void pt_subtree(const struct pt_entry *e, void (*fn)(const struct pt_entry *e, void *arg),
		void *arg);
void pt_set_watched(uint64_t pa, unsigned int granule, bool on);

/* Is it a leaf, a table, at its level? */
static inline bool pt_is_table(uint64_t desc, int level)
{
	return level < 3 && (desc & 3) == 3;
}

static inline bool pt_is_leaf(uint64_t desc, int level)
{
	return level == 3 ? (desc & 3) == 3 : (desc & 3) == 1;
}

/* Address in a descriptor, of memory below 48 bits. */
static inline uint64_t pt_address(uint64_t desc, uint64_t size)
{
	return desc & 0x0000fffffffff000ULL & ~(size - 1);
}

unsigned int pt_perms(uint64_t desc, uint64_t hier);

#endif
