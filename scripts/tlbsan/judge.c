// SPDX-License-Identifier: GPL-2.0-only
/*
 * The judgement. A translation that was valid may be held by every CPU that could
 * have used it. When its entry changes, it goes to the held set as it was, and
 * leaves it CPU by CPU, when a TLBI that hits it is complete: executed after the
 * store was made visible by a DSB of the CPU that stored or, as a DSB is for all
 * that its CPU has observed, of the one that executes the TLBI, and followed by a
 * DSB on that one. What is in the set is not wrong as such. It is looked at when
 *
 *	a checkpoint names its addresses	(stale, walk)
 *	a valid entry appears at its addresses	(bbm)
 *	the table it leads to is written	(walk)
 *
 * The set is kept in buckets by address, as large as what one entry of the level
 * above the last maps. What is larger is in a list of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

#define PERMS_OF(e)	pt_perms((e)->desc, (e)->hier)
#define HASH_SIZE	65536
#define MAX_PENDING	8192
#define EVENTS		8192
#define MAX_UNSYNCED	1024

const char * const kind_name[KIND_COUNT] = {
	[KIND_STALE] = "stale",
	[KIND_WALK] = "walk",
	[KIND_BBM] = "bbm",
	[KIND_CONTIG] = "contig",
	[KIND_ORDER] = "order",
};

struct judge_options judge_opt = { .asid_bits = 16 };

/* A translation, or an entry of a table on the way to some, that may be held. */
struct held {
	uint64_t va;
	uint64_t size;
	uint64_t desc;
	uint64_t hier;
	int level;
	bool table;
	bool global;
	uint32_t cpus;		/* that may hold it */
	uint32_t all;		/* that could at first */
	uint64_t seq;
	uint64_t dsb;		/* barriers of the CPU that stored, at that time */
	uint64_t dsb_own;	/* the same, with those that are not shared */
	struct site site;
};

struct bucket {
	struct bucket *hash_next;
	struct bucket *next, **prev;	/* of those in use */
	struct pt_root *root;		/* NULL: kernel */
	uint64_t root_id;
	uint64_t index;			/* address by size of a bucket, ~0: larger ones */
	unsigned int n, room;
	struct held *held;
};

/* A TLBI that no DSB has completed yet. */
struct pending {
	struct tlbi tlbi;
	struct tlbi_span span;
	uint64_t seq;
	uint64_t dsb[PT_MAX_CPUS];
	uint64_t dsb_own;	/* of the CPU that executed it */
	uint64_t dsb_seq;	/* likewise */
	struct event *event;
};

struct unsynced {
	struct pt_entry e;
	struct site site;
	uint64_t old;
	uint64_t root_id;
};

static struct {
	uint64_t dsb;		/* barriers that make stores visible to all walkers */
	uint64_t dsb_own;	/* those, and barriers for the CPU's own walker */
	uint64_t dsb_seq;	/* the last event before the last of dsb */
	uint64_t order;		/* those, and barriers that only order them */
	struct pending *pending;
	unsigned int pendings;
	struct unsynced unsynced[MAX_UNSYNCED];
	unsigned int unsynceds;
} cpus[PT_MAX_CPUS];

static struct bucket *hash[HASH_SIZE];
static struct bucket *used;
static uint64_t held_count, bucket_count;
static uint64_t seq = 1;
static uint32_t live;
static struct site here;
static struct pt_root *kernel_root;
static uint64_t mair;
static unsigned int bucket_shift = 21;
static struct event events[EVENTS];
static uint64_t event_count;
static void (*report_fn)(const struct report *r);
/* By 4K page: who stored to it last, and how many barriers it had executed. */
static uint32_t *page_stored;

static struct event *new_event(void)
{
	struct event *e = &events[event_count++ % EVENTS];

	memset(e, 0, sizeof(*e));
	e->seq = ++seq;
	e->site = here;
	return e;
}

static uint64_t root_id(const struct pt_root *root)
{
	return root && !root->upper ? root->id : 0;
}

/* The held set. */

static struct bucket **hash_slot(uint64_t id, uint64_t index)
{
	uint64_t h = (id * 0x9e3779b97f4a7c15ULL) ^ (index * 0xc2b2ae3d27d4eb4fULL);

	return &hash[(h >> 40) % HASH_SIZE];
}

static struct bucket *find_bucket(uint64_t id, uint64_t index)
{
	struct bucket *b = *hash_slot(id, index);

	while (b && (b->root_id != id || b->index != index))
		b = b->hash_next;
	return b;
}

static struct bucket *get_bucket(struct pt_root *root, uint64_t index)
{
	uint64_t id = root_id(root);
	struct bucket *b = find_bucket(id, index), **slot;

	if (b)
		return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->root = id ? root : NULL;
	b->root_id = id;
	b->index = index;
	slot = hash_slot(id, index);
	b->hash_next = *slot;
	*slot = b;
	b->next = used;
	b->prev = &used;
	if (used)
		used->prev = &b->next;
	used = b;
	bucket_count++;
	return b;
}

static void put_bucket(struct bucket *b)
{
	struct bucket **slot;

	if (b->n)
		return;
	for (slot = hash_slot(b->root_id, b->index); *slot != b; slot = &(*slot)->hash_next)
		;
	*slot = b->hash_next;
	*b->prev = b->next;
	if (b->next)
		b->next->prev = b->prev;
	free(b->held);
	free(b);
	bucket_count--;
}

static void watch_page(const struct held *h, bool on)
{
	if (h->table)
		pt_set_watched(pt_address(h->desc, 4096), 12, on);
}

/* Is the page that a held entry leads to no table any more? */
static bool is_dead_table(const struct held *h)
{
	uint64_t pa = pt_address(h->desc, 4096);

	return pt_in_ram(pa) && !(pt_flags(pa) & PT_PAGE_TABLE);
}

/* CPUs that may hold what a tree translates: those whose base register has named it. */
static uint32_t users(const struct pt_root *root)
{
	return root_id(root) ? root->cpus : live & root->cpus;
}

static void hold(const struct pt_entry *e, bool table)
{
	uint64_t index = e->size > 1ULL << bucket_shift ? ~0ULL : e->va >> bucket_shift;
	struct held h = {
		.va = e->va, .size = e->size, .desc = e->desc, .hier = e->hier,
		.level = e->level, .table = table,
		.global = !table && !(e->desc & PT_NG),
		.cpus = users(e->root),
		.seq = seq, .dsb = cpus[here.cpu].dsb, .dsb_own = cpus[here.cpu].dsb_own,
		.site = here,
	};
	struct bucket *b;
	unsigned int i;

	h.all = h.cpus;
	if (!h.cpus)
		return;
	b = get_bucket(e->root, index);
	for (i = 0; i < b->n; i++) {
		struct held *o = &b->held[i];

		/* The same again: it is to be flushed after the later store. */
		if (o->va == h.va && o->size == h.size && o->desc == h.desc &&
		    o->hier == h.hier && o->table == h.table) {
			*o = h;
			return;
		}
	}
	if (b->n == b->room) {
		b->room = b->room ? 2 * b->room : 4;
		b->held = realloc(b->held, b->room * sizeof(b->held[0]));
		if (!b->held)
			abort();
	}
	b->held[b->n++] = h;
	held_count++;
	watch_page(&h, true);
}

static bool overlaps(uint64_t a, uint64_t size, uint64_t start, uint64_t end)
{
	return a <= end && a + size - 1 >= start;
}

typedef bool (*held_fn)(struct bucket *b, struct held *h, void *arg);

/* fn returns true to take the entry out of the set. */
static void bucket_each(struct bucket *b, uint64_t start, uint64_t end, held_fn fn, void *arg)
{
	unsigned int i = 0;

	while (i < b->n) {
		struct held *h = &b->held[i];

		if (overlaps(h->va, h->size, start, end) && fn(b, h, arg)) {
			struct held gone = *h;

			*h = b->held[--b->n];
			held_count--;
			watch_page(&gone, false);
		} else {
			i++;
		}
	}
	put_bucket(b);
}

/* All that is held of the addresses start to end, of one tree or of all. */
static void each_held(bool any_root, uint64_t id, uint64_t start, uint64_t end, held_fn fn,
		      void *arg)
{
	uint64_t first = start >> bucket_shift, last = end >> bucket_shift, i;
	struct bucket *b, *next;

	if (any_root || last - first > bucket_count) {
		for (b = used; b; b = next) {
			next = b->next;
			if (!any_root && b->root_id != id)
				continue;
			if (b->index != ~0ULL && (b->index < first || b->index > last))
				continue;
			bucket_each(b, start, end, fn, arg);
		}
		return;
	}
	for (i = first; i <= last; i++) {
		b = find_bucket(id, i);
		if (b)
			bucket_each(b, start, end, fn, arg);
	}
	b = find_bucket(id, ~0ULL);
	if (b)
		bucket_each(b, start, end, fn, arg);
}

uint64_t judge_held_count(void)
{
	return held_count;
}

/* TLBI and barriers. */

static unsigned int asid_of(unsigned int asid)
{
	asid &= (1U << judge_opt.asid_bits) - 1;
	return judge_opt.kpti ? asid & ~1U : asid;
}

/* Why a TLBI does not hit a translation, or NULL if it does. */
static const char *misses(const struct tlbi *t, const struct tlbi_span *s, const struct bucket *b,
			  const struct held *h)
{
	bool user = b->root_id;

	if (t->what == TLBI_STAGE2)
		return "stage 2";
	if (t->what == TLBI_ALL)
		return NULL;
	if (t->what == TLBI_ASID) {
		if (!user || h->global || asid_of(s->asid) != asid_of(b->root->asid))
			return "asid";
		return NULL;
	}
	if (s->bad)
		return "unpredictable";
	if (!overlaps(h->va, h->size, s->start, s->end))
		return "narrow";
	if (!t->any_asid && !h->global && (!user || asid_of(s->asid) != asid_of(b->root->asid)))
		return h->table && !user ? NULL : "asid";
	if (t->last && h->table)
		return "last-level";
	if (s->level >= 0 && (h->table ? h->level >= s->level : h->level != s->level))
		return "level";
	return NULL;
}

/* Was the store visible to the walkers that a TLBI is for, when that was executed? */
static bool was_visible(const struct held *h, const struct pending *p)
{
	if (h->seq > p->seq)
		return false;
	if (h->dsb < p->dsb[h->site.cpu] || h->seq <= p->dsb_seq)
		return true;
	return !p->tlbi.broadcast && h->site.cpu == here.cpu && h->dsb_own < p->dsb_own;
}

static bool hit(struct bucket *b, struct held *h, void *arg)
{
	const struct pending *p = arg;

	if (!was_visible(h, p))
		return false;
	if (misses(&p->tlbi, &p->span, b, h))
		return false;
	if (p->tlbi.broadcast)
		h->cpus = 0;
	else
		h->cpus &= ~(1U << here.cpu);
	return !h->cpus;
}

static void complete(struct pending *p)
{
	const struct tlbi *t = &p->tlbi;
	struct pt_root *r;

	/* The ring of events may have come round. */
	if (p->event->seq == p->seq)
		p->event->done = true;
	switch (t->what) {
	case TLBI_STAGE2:
		break;
	case TLBI_ALL:
		each_held(true, 0, 0, UINT64_MAX, hit, p);
		/* What no base register names cannot come back by itself. */
		for (r = pt_roots(); r; r = r->next)
			r->cpus &= r->loaded | (t->broadcast ? 0 : ~(1U << here.cpu));
		break;
	case TLBI_ASID:
		for (r = pt_roots(); r; r = r->next)
			if (!r->upper && asid_of(r->asid) == asid_of(p->span.asid))
				each_held(false, r->id, 0, UINT64_MAX, hit, p);
		break;
	case TLBI_VA:
		if (p->span.bad)
			break;
		/* The upper half is the kernel's. */
		if (p->span.start >> 55 & 1) {
			each_held(false, 0, p->span.start, p->span.end, hit, p);
			break;
		}
		for (r = pt_roots(); r; r = r->next)
			if (!r->upper && (t->any_asid ||
					  asid_of(r->asid) == asid_of(p->span.asid)))
				each_held(false, r->id, p->span.start, p->span.end, hit, p);
		break;
	}
}

void judge_tlbi(const struct tlbi *tlbi, const struct tlbi_span *span)
{
	struct event *e = new_event();
	struct pending *p;
	unsigned int i;

	e->is_tlbi = true;
	e->tlbi = *tlbi;
	e->span = *span;
	if (cpus[here.cpu].pendings == MAX_PENDING) {
		/* More than any kernel issues without a DSB: the oldest is lost. */
		p = cpus[here.cpu].pending;
		memmove(p, p + 1, (MAX_PENDING - 1) * sizeof(*p));
		cpus[here.cpu].pendings--;
	}
	p = &cpus[here.cpu].pending[cpus[here.cpu].pendings++];
	*p = (struct pending) {
		.tlbi = *tlbi, .span = *span, .seq = seq, .dsb_own = cpus[here.cpu].dsb_own,
		.dsb_seq = cpus[here.cpu].dsb_seq, .event = e,
	};
	for (i = 0; i < PT_MAX_CPUS; i++)
		p->dsb[i] = cpus[i].dsb;
}

void judge_barrier(const struct insn *insn)
{
	unsigned int i, kept = 0;

	if (insn->stores && insn->kind == INSN_DSB)
		cpus[here.cpu].dsb_own++;
	if (insn->stores && insn->shared) {
		cpus[here.cpu].order++;
		if (insn->kind == INSN_DSB) {
			cpus[here.cpu].dsb++;
			cpus[here.cpu].dsb_seq = seq;
			cpus[here.cpu].unsynceds = 0;
		}
	}
	if (insn->kind != INSN_DSB || !insn->stores || !insn->loads)
		return;
	for (i = 0; i < cpus[here.cpu].pendings; i++) {
		struct pending *p = &cpus[here.cpu].pending[i];

		/* Not shared: complete on this CPU, and nowhere else. */
		if (p->tlbi.broadcast && !insn->shared)
			cpus[here.cpu].pending[kept++] = *p;
		else
			complete(p);
	}
	cpus[here.cpu].pendings = kept;
}

void judge_cpu_live(unsigned int cpu)
{
	live |= 1U << cpu;
}

static bool lose_cpu(struct bucket *b, struct held *h, void *arg)
{
	(void)b;
	h->cpus &= ~*(const uint32_t *)arg;
	return !h->cpus;
}

/*
 * A CPU turns itself off. When it comes back its MMU is off and what its TLBs hold
 * is unknown, so it cannot use any of it before it has emptied them.
 */
void judge_cpu_off(unsigned int cpu)
{
	uint32_t bit = 1U << cpu;
	struct pt_root *root, *next;

	live &= ~bit;
	for (root = pt_roots(); root; root = next) {
		next = root->next;
		root->cpus &= ~bit;
		if (root->loaded & bit)
			pt_root_unload(root, cpu, false);
	}
	each_held(true, 0, 0, UINT64_MAX, lose_cpu, &bit);
}

void judge_kernel_root(struct pt_root *root)
{
	kernel_root = root;
	bucket_shift = 2 * root->granule - 3;
}

struct pt_root *judge_kernel(void)
{
	return kernel_root;
}

void judge_mair(uint64_t value)
{
	mair = value;
}

void judge_site(unsigned int cpu, uint64_t pc)
{
	here = (struct site) { .cpu = cpu, .pc = pc };
}

/* On the path of every store of the kernel. */
void judge_note_store(uint64_t pa, unsigned int cpu)
{
	page_stored[(pa - PT_RAM_BASE) >> 12] = (uint32_t)(cpus[cpu].order + 1) << 4 | cpu;
}

static bool always(struct bucket *b, struct held *h, void *arg)
{
	(void)b;
	(void)h;
	(void)arg;
	return true;
}

/* Another ASID than before: the old one was flushed when ASIDs ran out. */
void judge_root_asid(struct pt_root *root, unsigned int asid)
{
	if (root->asid != asid && (root->asid ^ asid) == 1 && root->asid) {
		judge_opt.kpti = true;
	} else if (root->asid != asid && root->asid) {
		each_held(false, root->id, 0, UINT64_MAX, always, NULL);
	}
	root->asid = asid;
}

/* Reports. */

static void say(struct report *r, enum kind kind, const char *cause, struct pt_root *root)
{
	r->kind = kind;
	r->cause = cause;
	r->at = here;
	r->root = root_id(root) ? root : NULL;
	report_fn(r);
}

/* What was done about a held translation, and why it was not enough. */
static const char *why_held(const struct bucket *b, const struct held *h)
{
	uint64_t i, n = event_count < EVENTS ? event_count : EVENTS;
	const char *why = "missing";
	unsigned int rank = 0;

	for (i = 1; i <= n; i++) {
		const struct event *e = &events[(event_count - i) % EVENTS];
		const char *m;
		unsigned int is;

		if (e->seq <= h->seq)
			break;
		if (!e->is_tlbi)
			continue;
		m = misses(&e->tlbi, &e->span, b, h);
		if (!m && !e->done) {
			m = "no-dsb";
			is = 6;
		} else if (!m && !e->tlbi.broadcast) {
			m = "local";
			is = 5;
		} else if (!m) {
			m = "unordered";
			is = 7;
		} else if (!strcmp(m, "narrow")) {
			uint64_t gap;

			/* One that ends near is meant for it. */
			if (e->span.end < h->va)
				gap = h->va - e->span.end;
			else
				gap = e->span.start - (h->va + h->size - 1);
			if (gap > 16ULL << 12)
				continue;
			is = 1;
		} else if (!strcmp(m, "asid")) {
			/* Another process's. */
			if (e->tlbi.what == TLBI_ASID)
				continue;
			is = 2;
		} else if (!strcmp(m, "stage 2")) {
			continue;
		} else {
			is = 4;
		}
		if (is > rank) {
			rank = is;
			why = m;
		}
	}
	return why;
}

static void describe_held(struct report *r, const struct held *h)
{
	r->made = h->site;
	r->held_va = h->va;
	r->held_size = h->size;
	r->level = h->level;
	r->old = h->desc;
}

/* Memory type of a leaf; tagged memory is normal memory. */
static unsigned int memory_type(uint64_t desc)
{
	unsigned int type = mair >> (8 * ((desc & PT_ATTRINDX) >> 2)) & 0xff;

	return type == 0xf0 ? 0xff : type;
}

static uint64_t oa_of(uint64_t desc, uint64_t size, uint64_t leaf_va, uint64_t va)
{
	return pt_address(desc, size) + (va - leaf_va);
}

/* May a size change live that @h has, with an entry that appears in @root? */
static bool size_may_change(const struct held *h, const struct pt_root *root)
{
	return judge_opt.bbml2 && !(h->cpus & users(root) & judge_opt.weak);
}

/* A valid entry appears while others of the same addresses are held. */
static bool conflicts(struct bucket *b, struct held *h, void *arg)
{
	const struct pt_entry *e = arg;
	uint64_t at = h->va > e->va ? h->va : e->va;
	struct report r = {};
	const char *cause = NULL;

	if (h->table) {
		/* A table that is still there as such is no other size. */
		if (h->size < e->size || size_may_change(h, e->root))
			return false;
		if (h->level != e->level)
			return false;
		cause = "size";
	} else if (oa_of(h->desc, h->size, h->va, at) != oa_of(e->desc, e->size, e->va, at)) {
		cause = "address";
	} else if (memory_type(h->desc) != memory_type(e->desc)) {
		cause = "type";
	} else if ((h->size != e->size || ((h->desc ^ e->desc) & PT_CONT)) &&
		   !size_may_change(h, e->root)) {
		cause = "size";
	} else if ((h->desc & PT_NG) && !(e->desc & PT_NG)) {
		cause = "global";
	}
	if (!cause)
		return false;
	describe_held(&r, h);
	r.va = at;
	r.size = h->size < e->size ? h->size : e->size;
	r.now = e->desc;
	snprintf(r.detail, sizeof(r.detail), "%s", h->seq == seq ? "in one store" :
		 "invalid in between, but not flushed");
	say(&r, KIND_BBM, cause, b->root);
	return false;
}

static void check_appearing(const struct pt_entry *e, void *arg)
{
	(void)arg;
	if (!pt_is_leaf(e->desc, e->level))
		return;
	each_held(false, root_id(e->root), e->va, e->va + e->size - 1, conflicts, (void *)e);
}

/* Callbacks of the shadow. */

static void hold_below(const struct pt_entry *e, void *arg)
{
	(void)arg;
	hold(e, !pt_is_leaf(e->desc, e->level));
}

/* Bits of a leaf that a TLB holds. */
#define RELEVANT(desc)	((desc) & (PT_VALID | PT_TABLE | PT_ATTRINDX | PT_USER | PT_RDONLY | PT_NG | \
				   PT_DBM | PT_CONT | PT_PXN | PT_UXN | 0x0000fffffffff300ULL))

/* Trees that no CPU has used since are not held by any. */
static bool counts(const struct pt_root *root)
{
	return users(root);
}

static void before(const struct pt_entry *e, uint64_t desc)
{
	struct event *ev;

	if (!counts(e->root))
		return;
	ev = new_event();
	ev->root_id = root_id(e->root);
	ev->va = e->va;
	ev->size = e->size;
	ev->old = e->desc;
	ev->desc = desc;

	if (pt_is_leaf(e->desc, e->level)) {
		if (!pt_is_leaf(desc, e->level) || RELEVANT(desc) != RELEVANT(e->desc))
			hold(e, false);
	} else if (pt_is_table(e->desc, e->level)) {
		if (!pt_is_table(desc, e->level) ||
		    pt_address(desc, 4096) != pt_address(e->desc, 4096)) {
			hold(e, true);
			pt_subtree(e, hold_below, NULL);
		}
	}
}

static void after(const struct pt_entry *e, uint64_t old)
{
	if (!counts(e->root))
		return;
	if (!root_id(e->root) || (old & PT_VALID)) {
		unsigned int *n = &cpus[here.cpu].unsynceds;

		if (*n < MAX_UNSYNCED)
			cpus[here.cpu].unsynced[(*n)++] = (struct unsynced) {
				.e = *e, .site = here, .old = old, .root_id = root_id(e->root),
			};
	}
	if (pt_is_leaf(e->desc, e->level))
		check_appearing(e, NULL);
	else if (pt_is_table(e->desc, e->level) &&
		 !(pt_is_table(old, e->level) && pt_address(old, 4096) == pt_address(e->desc, 4096)))
		pt_subtree(e, check_appearing, NULL);
}

static void dead(struct pt_root *root)
{
	if (!root->upper)
		each_held(false, root->id, 0, UINT64_MAX, always, NULL);
	if (root == kernel_root)
		kernel_root = NULL;
}

/* The entries of a new table must be ordered before the entry that leads to it. */
static void linked(const struct pt_entry *e, uint64_t table_pa)
{
	struct report r = {};
	uint32_t tag;

	if (!counts(e->root) || !pt_in_ram(table_pa))
		return;
	tag = page_stored[(table_pa - PT_RAM_BASE) >> 12];
	if (!tag || (tag & 15) != here.cpu ||
	    tag >> 4 != ((uint32_t)(cpus[here.cpu].order + 1) & 0x0fffffff))
		return;
	r.made = here;
	r.va = r.held_va = e->va;
	r.size = r.held_size = e->size;
	r.level = e->level;
	r.now = e->desc;
	snprintf(r.detail, sizeof(r.detail),
		 "no barrier between the last store to the table at %#llx and the entry that leads to it",
		 (unsigned long long)table_pa);
	say(&r, KIND_ORDER, "link", e->root);
}

const struct pt_watch judge_watch = {
	.before = before, .after = after, .dead = dead, .linked = linked,
};

/* Stores to what was a table. */
static bool leads_to(struct bucket *b, struct held *h, void *arg)
{
	uint64_t pa = *(uint64_t *)arg;
	struct report r = {};
	const char *why;

	if (!h->table || pt_address(h->desc, 4096) != (pa & ~4095ULL) || !is_dead_table(h))
		return false;
	why = why_held(b, h);
	describe_held(&r, h);
	r.va = h->va;
	r.size = h->size;
	snprintf(r.detail, sizeof(r.detail), "the page %#llx is written while it may still be walked",
		 (unsigned long long)(pa & ~4095ULL));
	say(&r, KIND_WALK, why, b->root);
	return true;
}

void judge_watched_store(uint64_t pa, unsigned int bytes)
{
	(void)bytes;
	if (pt_flags(pa) & PT_PAGE_TABLE)
		return;
	each_held(true, 0, 0, UINT64_MAX, leads_to, &pa);
	pt_set_watched(pa & ~4095ULL, 12, false);
}

/* Checkpoints. */

struct check {
	const char *name;
	const struct range *range;
};

static struct pt_root *tree_of(const struct range *range)
{
	return range->root && !range->root->upper ? range->root : kernel_root;
}

static const char *grants_more(const struct held *h, const struct pt_entry *leaf, bool mapped,
			       uint64_t at)
{
	unsigned int perms = pt_perms(h->desc, h->hier);

	if (!mapped)
		return "the tables map nothing there";
	if (oa_of(h->desc, h->size, h->va, at) != oa_of(leaf->desc, leaf->size, leaf->va, at))
		return "the tables have another output address";
	if (perms & ~PERMS_OF(leaf) & (PERM_W | PERM_UW))
		return "it allows writes, the tables do not";
	if (perms & ~PERMS_OF(leaf) & (PERM_X | PERM_UX))
		return "it allows execution, the tables do not";
	if (perms & ~PERMS_OF(leaf))
		return "it allows access from user space, the tables do not";
	return NULL;
}

static bool check_held(struct bucket *b, struct held *h, void *arg)
{
	const struct check *c = arg;
	uint64_t start = h->va, last = h->va + h->size - 1, at, stop;
	struct report r = { .checkpoint = c->name };
	const char *what = NULL;
	struct pt_entry leaf;

	if (c->range->by_oa) {
		uint64_t oa = pt_address(h->desc, h->size);

		if (h->table || !overlaps(oa, h->size, c->range->start, c->range->end))
			return false;
		if (c->range->start > oa)
			start += c->range->start - oa;
		if (c->range->end < oa + h->size - 1)
			last = h->va + (c->range->end - oa);
	} else if (!c->range->all) {
		if (start < c->range->start)
			start = c->range->start;
		if (last > c->range->end)
			last = c->range->end;
	}
	if (h->table) {
		bool gone = is_dead_table(h);

		/* The same table may be back. */
		if (!gone && pt_walk_to(b->root ? b->root : kernel_root, h->va, h->level, &leaf) &&
		    pt_is_table(leaf.desc, leaf.level) &&
		    pt_address(leaf.desc, 4096) == pt_address(h->desc, 4096))
			return false;
		describe_held(&r, h);
		r.va = h->va;
		r.size = h->size;
		snprintf(r.detail, sizeof(r.detail), gone ? "it leads to a page that is no longer a table" :
			 "the tables no longer lead to that table there");
		say(&r, KIND_WALK, why_held(b, h), b->root);
		return true;
	}
	for (at = start; ; at = stop + 1) {
		bool mapped = pt_walk(b->root ? b->root : kernel_root, at, &leaf);

		stop = (at & ~(leaf.size - 1)) + leaf.size - 1;
		if (b->root == NULL && stop < at)
			stop = UINT64_MAX;
		leaf.va = at & ~(leaf.size - 1);
		/* Other aliases may have been unmapped, to be flushed later. */
		if (c->range->alias && (!mapped || oa_of(h->desc, h->size, h->va, at) !=
					oa_of(leaf.desc, leaf.size, leaf.va, at)))
			what = NULL;
		else
			what = grants_more(h, &leaf, mapped, at);
		if (what || stop >= last)
			break;
	}
	if (!what)
		return false;
	describe_held(&r, h);
	r.va = at;
	r.size = (stop < last ? stop : last) - at + 1;
	r.now = leaf.desc;
	snprintf(r.detail, sizeof(r.detail), "%s", what);
	say(&r, KIND_STALE, why_held(b, h), b->root);
	return true;
}

static void check_unsynced(const struct check *c)
{
	uint64_t id = root_id(tree_of(c->range));
	unsigned int cpu, i;

	if (c->range->by_oa)
		return;
	for (cpu = 0; cpu < PT_MAX_CPUS; cpu++) {
		for (i = 0; i < cpus[cpu].unsynceds; i++) {
			struct unsynced *u = &cpus[cpu].unsynced[i];
			struct report r = { .checkpoint = c->name };

			if (u->root_id != id ||
			    (!c->range->all &&
			     !overlaps(u->e.va, u->e.size, c->range->start, c->range->end)))
				continue;
			r.made = u->site;
			r.va = r.held_va = u->e.va;
			r.size = r.held_size = u->e.size;
			r.level = u->e.level;
			r.old = u->old;
			r.now = u->e.desc;
			snprintf(r.detail, sizeof(r.detail),
				 "no DSB has made the entry visible to the walkers of all CPUs");
			say(&r, KIND_ORDER, "store", tree_of(c->range));
			*u = cpus[cpu].unsynced[--cpus[cpu].unsynceds];
			i--;
		}
	}
}

/* Entries of a Contiguous group. */
static unsigned int group_entries(unsigned int granule, int level)
{
	if (granule == 14)
		return level == 3 ? 128 : 32;
	return granule == 16 ? 32 : 16;
}

/* Is an entry what the first of its Contiguous group has it be? Dirty and accessed may differ. */
static bool in_group(const struct pt_entry *e, const struct pt_entry *first, uint64_t offset)
{
	return !((RELEVANT(e->desc) ^ RELEVANT(first->desc)) & ~(PT_RDONLY | 0x0000fffffffff000ULL)) &&
	       pt_perms(e->desc, 0) == pt_perms(first->desc, 0) && e->size == first->size &&
	       pt_address(e->desc, e->size) == pt_address(first->desc, e->size) + offset;
}

/*
 * A Contiguous group maps one aligned block with one set of attributes, or nothing: if
 * one entry of it has the bit and is valid, all are like the first.
 */
static void check_contig(const struct check *c)
{
	struct pt_root *root = tree_of(c->range);
	uint64_t at, done = 0;

	if (c->range->by_oa || c->range->all)
		return;
	for (at = c->range->start; ; at = done + 1) {
		struct pt_entry leaf, first, other;
		uint64_t group, start, va;
		bool any = false;

		pt_walk(root, at, &leaf);
		done = (at & ~(leaf.size - 1)) + leaf.size - 1;
		if (leaf.level >= 2) {
			struct report r = { .checkpoint = c->name };

			group = leaf.size * group_entries(root->granule, leaf.level);
			start = at & ~(group - 1);
			done = start + group - 1;
			for (va = start; va - start < group && !any; va += leaf.size)
				any = pt_walk(root, va, &other) && other.size == leaf.size &&
				      (other.desc & PT_CONT);
			pt_walk(root, start, &first);
			for (va = start; any && va - start < group; va += leaf.size) {
				pt_walk(root, va, &other);
				if (!in_group(&other, &first, va - start) ||
				    (pt_address(first.desc, leaf.size) & (group - 1)) ||
				    !(first.desc & PT_CONT))
					break;
			}
			if (any && va - start < group) {
				r.made = here;
				r.va = va;
				r.size = leaf.size;
				r.held_va = start;
				r.held_size = group;
				r.level = leaf.level;
				r.old = first.desc;
				r.now = other.desc;
				snprintf(r.detail, sizeof(r.detail),
					 "an entry of a Contiguous group is not like the first");
				say(&r, KIND_CONTIG, "differs", root);
			}
		}
		if (done >= c->range->end || done + 1 < at)
			break;
	}
}

/**
 * judge_checkpoint() - by now nothing of a range may be held that grants more
 * @name: of the checkpoint
 * @range: the range
 */
void judge_checkpoint(const char *name, const struct range *range)
{
	struct check c = { .name = name, .range = range };
	uint64_t id = root_id(tree_of(range));

	if (!tree_of(range) || range->start > range->end)
		return;
	if (range->by_oa || range->all)
		each_held(false, id, 0, UINT64_MAX, check_held, &c);
	else
		each_held(false, id, range->start, range->end, check_held, &c);
	check_unsynced(&c);
	check_contig(&c);
}

/* The last stores and TLBIs that concern a report, the latest first. */
void judge_events(const struct report *r, void (*fn)(const struct event *e, void *arg), void *arg,
		  unsigned int most)
{
	uint64_t i, n = event_count < EVENTS ? event_count : EVENTS, id = root_id(r->root);
	unsigned int stores = 0, tlbis = 0;

	for (i = 1; i <= n; i++) {
		const struct event *e = &events[(event_count - i) % EVENTS];

		if (e->is_tlbi) {
			uint64_t start = r->va < 16 << 12 ? 0 : r->va - (16 << 12);
			uint64_t end = r->va + r->size - 1 + (16 << 12);

			if (end < r->va)
				end = UINT64_MAX;
			if (e->tlbi.what == TLBI_VA &&
			    (e->span.bad || e->span.start > end || e->span.end < start))
				continue;
			if (e->tlbi.what == TLBI_STAGE2 || tlbis++ >= most)
				continue;
		} else if (e->root_id != id || !overlaps(e->va, e->size, r->va, r->va + r->size - 1) ||
			   stores++ >= most) {
			continue;
		}
		fn(e, arg);
	}
}

void judge_init(void (*report)(const struct report *r))
{
	unsigned int i;

	report_fn = report;
	page_stored = calloc(PT_RAM_MAX >> 12, sizeof(*page_stored));
	for (i = 0; i < PT_MAX_CPUS; i++) {
		cpus[i].pending = calloc(MAX_PENDING, sizeof(struct pending));
		if (!cpus[i].pending)
			abort();
	}
	if (!page_stored)
		abort();
}
