// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shadow of the page tables. All that the kernel stores is mirrored by its
 * physical address, since a page is filled before the entry that makes it a table.
 * From the base registers on, each table that an entry leads to has a copy of its
 * entries here and knows the entries that lead to it. A store to a table is
 * compared with the copy, and each address range that it changes is told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pt.h"

/* An entry that leads to a table. */
struct edge {
	struct pt_table *from;
	unsigned int index;
};

struct pt_table {
	struct pt_table *next;	/* of those in the same 4K page */
	uint64_t pa;
	unsigned int granule;
	unsigned int entries;	/* the first table of a tree can be a part of a page, or more */
	int level;
	unsigned int valid;
	unsigned int edges;
	unsigned int room;
	struct edge *edge;
	struct pt_root *root;	/* whose first table it is */
	uint64_t entry[];
};

uint8_t *pt_page_flags;
uint8_t *pt_mirror;
static struct pt_table **tables;	/* by number of 4K page; several only of first tables */
static struct pt_root *roots;
static const struct pt_watch *watch;
static uint64_t next_id = 1;

static void *reserve(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("tlbsan: no memory for the mirror");
		exit(1);
	}
	return p;
}

void pt_init(const struct pt_watch *w)
{
	watch = w;
	pt_mirror = reserve(PT_RAM_MAX);
	pt_page_flags = reserve(PT_RAM_MAX >> 12);
	tables = reserve((PT_RAM_MAX >> 12) * sizeof(*tables));
}

struct pt_root *pt_roots(void)
{
	return roots;
}

/**
 * pt_perms() - what a leaf allows
 * @desc: its descriptor
 * @hier: hierarchical attributes on the way
 *
 * A leaf that hardware may make writable (DBM) counts as writable.
 */
unsigned int pt_perms(uint64_t desc, uint64_t hier)
{
	unsigned int perms = PERM_R;
	bool write = (!(desc & PT_RDONLY) || (desc & PT_DBM)) && !(hier & PT_APTABLE_RO);
	bool user = (desc & PT_USER) && !(hier & PT_APTABLE_EL0);

	if (write)
		perms |= PERM_W;
	if (!(desc & PT_PXN) && !(hier & PT_PXNTABLE))
		perms |= PERM_X;
	if (user)
		perms |= PERM_UR;
	if (user && write)
		perms |= PERM_UW;
	if (!(desc & PT_UXN) && !(hier & PT_UXNTABLE))
		perms |= PERM_UX;
	return perms;
}

static uint64_t entry_size(unsigned int granule, int level)
{
	return 1ULL << (granule + (3 - level) * (granule - 3));
}

static uint64_t table_bytes(const struct pt_table *t)
{
	return t->entries * sizeof(t->entry[0]);
}

/* The table that a physical address lies in. */
static struct pt_table *table_at(uint64_t pa)
{
	struct pt_table *t = pt_in_ram(pa) ? tables[(pa - PT_RAM_BASE) >> 12] : NULL;

	while (t && pa - t->pa >= table_bytes(t))
		t = t->next;
	return t;
}

static uint64_t load(uint64_t pa)
{
	uint64_t v = 0;

	if (pt_in_ram(pa))
		memcpy(&v, pt_mirror + (pa - PT_RAM_BASE), sizeof(v));
	return v;
}

static void set_flag(uint64_t pa, unsigned int granule, uint8_t flag, bool on)
{
	uint64_t i, first = (pa & ~((1ULL << granule) - 1)) - PT_RAM_BASE;

	if (!pt_in_ram(pa))
		return;
	for (i = first >> 12; i < (first + (1ULL << granule)) >> 12; i++) {
		if (on)
			pt_page_flags[i] |= flag;
		else
			pt_page_flags[i] &= ~flag;
	}
}

void pt_set_watched(uint64_t pa, unsigned int granule, bool on)
{
	set_flag(pa, granule, PT_PAGE_WATCHED, on);
}

/*
 * Where a table is in memory. One that fills 4K pages has each of them for itself;
 * smaller ones, of 16 bytes or 512, share a page with others of their kind.
 */
static void index_table(struct pt_table *t, bool on)
{
	uint64_t first = (t->pa - PT_RAM_BASE) >> 12;
	uint64_t last = (t->pa + table_bytes(t) - 1 - PT_RAM_BASE) >> 12, i;

	for (i = first; i <= last; i++) {
		struct pt_table **p = &tables[i];

		if (on) {
			if (first == last)
				t->next = *p;
			*p = t;
			pt_page_flags[i] |= PT_PAGE_TABLE;
			continue;
		}
		while (*p && *p != t)
			p = &(*p)->next;
		if (*p)
			*p = t->next;
		if (!tables[i])
			pt_page_flags[i] &= ~PT_PAGE_TABLE;
	}
}

static void link_child(struct pt_table *t, unsigned int index);
static void unlink_child(struct pt_table *t, unsigned int index, uint64_t desc);

/* The table at an address, made from the mirror if it is new. */
static struct pt_table *get_table(uint64_t pa, unsigned int granule, unsigned int entries, int level)
{
	struct pt_table *t = table_at(pa);
	unsigned int i;

	if (t)
		return t->level == level && t->pa == pa ? t : NULL;
	if (!pt_in_ram(pa))
		return NULL;

	t = calloc(1, sizeof(*t) + entries * sizeof(t->entry[0]));
	if (!t)
		abort();
	t->pa = pa;
	t->granule = granule;
	t->entries = entries;
	t->level = level;
	index_table(t, true);
	for (i = 0; i < entries; i++) {
		t->entry[i] = load(pa + 8 * i);
		if (t->entry[i] & PT_VALID) {
			t->valid++;
			link_child(t, i);
		}
	}
	return t;
}

static void put_table(struct pt_table *t)
{
	unsigned int i;

	if (t->edges || t->root)
		return;
	index_table(t, false);
	for (i = 0; i < t->entries && t->valid; i++)
		if (t->entry[i] & PT_VALID)
			unlink_child(t, i, t->entry[i]);
	free(t->edge);
	free(t);
}

static void link_child(struct pt_table *t, unsigned int index)
{
	uint64_t desc = t->entry[index];
	struct pt_table *child;

	if (!pt_is_table(desc, t->level))
		return;
	child = get_table(pt_address(desc, 1ULL << t->granule), t->granule,
			  1U << (t->granule - 3), t->level + 1);
	if (!child)
		return;
	if (child->edges == child->room) {
		child->room = child->room ? 2 * child->room : 2;
		child->edge = realloc(child->edge, child->room * sizeof(child->edge[0]));
		if (!child->edge)
			abort();
	}
	child->edge[child->edges++] = (struct edge) { t, index };
}

static void unlink_child(struct pt_table *t, unsigned int index, uint64_t desc)
{
	struct pt_table *child;
	unsigned int i;

	if (!pt_is_table(desc, t->level))
		return;
	child = table_at(pt_address(desc, 1ULL << t->granule));
	if (!child)
		return;
	for (i = 0; i < child->edges; i++) {
		if (child->edge[i].from == t && child->edge[i].index == index) {
			child->edge[i] = child->edge[--child->edges];
			put_table(child);
			return;
		}
	}
}

static uint64_t extend(const struct pt_root *root, uint64_t va)
{
	return root->upper ? va | ~((1ULL << root->bits) - 1) : va;
}

/* Attributes of a table descriptor that hold for all below it. */
static uint64_t hier_of(uint64_t desc)
{
	return desc & (PT_PXNTABLE | PT_UXNTABLE | PT_APTABLE_EL0 | PT_APTABLE_RO);
}

/*
 * Call fn for each way from a first table to entry @index of @t. va is what the
 * tables below have added so far.
 */
static void each_way(struct pt_table *t, unsigned int index, uint64_t va, uint64_t hier,
		     const struct pt_entry *e, void (*fn)(const struct pt_entry *e, uint64_t arg),
		     uint64_t arg, unsigned int depth)
{
	unsigned int i;

	va += index * entry_size(t->granule, t->level);
	if (t->root) {
		struct pt_entry way = *e;

		way.root = t->root;
		way.va = extend(t->root, va);
		way.hier = hier;
		fn(&way, arg);
	}
	for (i = 0; i < t->edges && depth < 5; i++) {
		struct edge up = t->edge[i];

		each_way(up.from, up.index, va, hier | hier_of(up.from->entry[up.index]), e, fn,
			 arg, depth + 1);
	}
}

static void tell_before(const struct pt_entry *e, uint64_t desc)
{
	watch->before(e, desc);
}

static void tell_after(const struct pt_entry *e, uint64_t old)
{
	watch->after(e, old);
}

static void tell_linked(const struct pt_entry *e, uint64_t pa)
{
	watch->linked(e, pa);
}

static void drop_root(struct pt_root *root)
{
	struct pt_root **p;
	struct pt_table *t = root->table;

	watch->dead(root);
	for (p = &roots; *p != root; p = &(*p)->next)
		;
	*p = root->next;
	t->root = NULL;
	put_table(t);
	free(root);
}

static void change(struct pt_table *t, unsigned int index, uint64_t desc)
{
	uint64_t old = t->entry[index];
	struct pt_entry e = {
		.size = entry_size(t->granule, t->level),
		.level = t->level,
		.desc = old,
		.pa = t->pa + 8 * index,
	};

	if (old == desc)
		return;
	each_way(t, index, 0, 0, &e, tell_before, desc, 0);
	if (pt_is_table(desc, t->level) &&
	    !(pt_is_table(old, t->level) &&
	      pt_address(old, 1ULL << t->granule) == pt_address(desc, 1ULL << t->granule)))
		each_way(t, index, 0, 0, &e, tell_linked, pt_address(desc, 1ULL << t->granule), 0);

	/* The new child first: a table that moves within one is not lost. */
	t->entry[index] = desc;
	t->valid += (desc & PT_VALID) - (old & PT_VALID);
	link_child(t, index);
	unlink_child(t, index, old);
	e.desc = desc;
	each_way(t, index, 0, 0, &e, tell_after, old, 0);
	if (t->root && !t->valid && !t->root->loaded)
		drop_root(t->root);
}

/**
 * pt_stored() - memory has been written
 * @pa: physical address, whose new content is in the mirror
 * @bytes: length
 *
 * To be called where pt_flags() has PT_PAGE_TABLE. Does not cross a 4K page.
 */
void pt_stored(uint64_t pa, unsigned int bytes)
{
	uint64_t at;

	for (at = pa & ~7ULL; at < pa + bytes; at += 8) {
		struct pt_table *t = table_at(at);

		if (t)
			change(t, (at - t->pa) / 8, load(at));
	}
}

/* Entries of the first table for addresses of so many bits. */
unsigned int pt_first_entries(unsigned int granule, unsigned int bits)
{
	unsigned int stride = granule - 3, levels = (bits - granule + stride - 1) / stride;

	return 1U << (bits - granule - (levels - 1) * stride);
}

/**
 * pt_root_get() - a base register is about to name this tree
 * @base: physical address
 * @upper: of the upper half of the address space
 * @granule: log2 of the page size
 * @bits: of the addresses
 * @ds: 52-bit addresses with 4K or 16K pages, which may begin at level -1
 */
struct pt_root *pt_root_get(uint64_t base, bool upper, unsigned int granule, unsigned int bits,
			    bool ds)
{
	unsigned int stride = granule - 3, levels = (bits - granule + stride - 1) / stride;
	struct pt_root *r;

	if (levels > (ds ? 5U : 4U) || !levels)
		return NULL;
	for (r = roots; r; r = r->next)
		if (r->base == base && r->upper == upper)
			return r;

	r = calloc(1, sizeof(*r));
	if (!r)
		abort();
	r->base = base;
	r->upper = upper;
	r->granule = granule;
	r->bits = bits;
	r->start_level = 4 - levels;
	r->table = get_table(base, granule, pt_first_entries(granule, bits), r->start_level);
	/* One tree may serve as both, as the identity map at boot can. */
	if (!r->table || r->table->root) {
		free(r);
		return NULL;
	}
	r->id = upper ? 0 : next_id++;
	r->table->root = r;
	r->next = roots;
	roots = r;
	return r;
}

/* Has a tree no valid entry in its first table? */
bool pt_root_empty(const struct pt_root *root)
{
	return !root->table->valid;
}

/**
 * pt_root_unload() - a base register names another tree from now on
 * @root: the tree
 * @cpu: whose register
 * @forget: the tree will not be used as it is again, whatever is in it
 */
void pt_root_unload(struct pt_root *root, unsigned int cpu, bool forget)
{
	root->loaded &= ~(1U << cpu);
	if (!root->loaded && (forget || !root->table->valid))
		drop_root(root);
}

/**
 * pt_walk() - what translates an address now
 * @root: where to start
 * @va: address
 * @leaf: where to put the leaf; if there is none, the entry at which the walk
 *	ended, whose size is how far there is none
 */
bool pt_walk(struct pt_root *root, uint64_t va, struct pt_entry *leaf)
{
	return pt_walk_to(root, va, 3, leaf) && pt_is_leaf(leaf->desc, leaf->level);
}

/* The entry on the way to an address at a level, if the walk gets there or to a leaf. */
bool pt_walk_to(struct pt_root *root, uint64_t va, int level, struct pt_entry *leaf)
{
	struct pt_table *t = root->table;
	uint64_t offset = va & ((1ULL << root->bits) - 1), hier = 0;

	for (;;) {
		uint64_t size = entry_size(t->granule, t->level), desc;
		unsigned int index = offset / size & ((1U << (t->granule - 3)) - 1);

		desc = index < t->entries ? t->entry[index] : 0;
		*leaf = (struct pt_entry) {
			.root = root, .va = va & ~(size - 1), .size = size, .level = t->level,
			.desc = desc, .hier = hier, .pa = t->pa + 8 * index,
		};
		if (pt_is_leaf(desc, t->level) || t->level == level)
			return true;
		if (!pt_is_table(desc, t->level))
			return false;
		hier |= hier_of(desc);
		t = table_at(pt_address(desc, 1ULL << t->granule));
		if (!t || t->level != leaf->level + 1)
			return false;
	}
}

static void take_way(const struct pt_entry *e, uint64_t arg)
{
	struct pt_entry *to = (struct pt_entry *)(uintptr_t)arg;

	if (!to->root)
		*to = *e;
}

/* The way to an entry that lies at a physical address, if it is in a table. */
bool pt_entry_at(uint64_t pa, struct pt_entry *e)
{
	struct pt_table *t = table_at(pa);
	unsigned int index;

	memset(e, 0, sizeof(*e));
	if (!t)
		return false;
	index = (pa - t->pa) / 8;
	struct pt_entry at = {
		.size = entry_size(t->granule, t->level), .level = t->level,
		.desc = t->entry[index], .pa = pa & ~7ULL,
	};

	each_way(t, index, 0, 0, &at, take_way, (uintptr_t)e, 0);
	return e->root;
}

/* All valid entries below a table entry: leaves, and tables before what is in them. */
void pt_subtree(const struct pt_entry *e, void (*fn)(const struct pt_entry *e, void *arg),
		void *arg)
{
	struct pt_table *t;
	unsigned int i;

	if (!pt_is_table(e->desc, e->level))
		return;
	t = table_at(pt_address(e->desc, 1ULL << e->root->granule));
	if (!t || t->level != e->level + 1)
		return;
	for (i = 0; i < t->entries; i++) {
		struct pt_entry child = *e;

		if (!(t->entry[i] & PT_VALID))
			continue;
		child.size = entry_size(t->granule, t->level);
		child.va += i * child.size;
		child.level = t->level;
		child.desc = t->entry[i];
		child.hier |= hier_of(e->desc);
		child.pa = t->pa + 8 * i;
		fn(&child, arg);
		pt_subtree(&child, fn, arg);
	}
}
