// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is added and removed in pieces. What is removed must fault, what
 * stays must keep its content, whatever leaves map it.
 *
 * The caller says where there is RAM that the kernel does not know, for example
 * because mem= on the command line hides it. An address without RAM behind it
 * takes the machine down. The memory goes the way that auto_online_blocks in
 * /sys/devices/system/memory says: it stays offline and holds a pattern, or it is
 * online (say online_movable, or it may not come back) and belongs to the page
 * allocator.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "lmt.h"

#ifdef CONFIG_MEMORY_HOTREMOVE

#define WORDS		16	/* of each page hold the pattern */
#define LOOKS		32	/* addresses that every CPU tries at once */
#define TRIES		2048	/* pages of a memory block that one CPU tries */

struct hot {
	u64 start;
	unsigned long pfn;
	unsigned long va;
	unsigned long block;		/* bytes of a memory block */
	unsigned int n;			/* memory blocks */
	unsigned long *there;		/* those that are added */
	bool online;
};

static bool readable(unsigned long addr, u64 *value)
{
	return !ops->copy_from_kernel_nofault(value, (void *)addr, sizeof(*value));
}

struct look {
	unsigned long addr[LOOKS];
	unsigned int n;
	atomic_t cpus;
	atomic_t readable;
};

static void look_cpu(void *arg)
{
	struct look *l = arg;
	unsigned int i;
	u64 value;

	atomic_inc(&l->cpus);
	for (i = 0; i < l->n; i++)
		if (readable(l->addr[i], &value))
			atomic_inc(&l->readable);
}

/* Every CPU reads the first, a middle and the last page of some memory blocks. */
static void look(struct lmt *t, const struct hot *h, unsigned int first, unsigned int nr,
		 bool there, const char *when)
{
	static const unsigned int most = LOOKS / 3;
	struct look l = {};
	unsigned int i, step = max(1U, nr / most);

	for (i = 0; i < nr && l.n + 3 <= LOOKS; i += step) {
		unsigned long va = h->va + (first + i) * h->block;

		l.addr[l.n++] = va;
		l.addr[l.n++] = va + h->block / 2 + 5 * PAGE_SIZE;
		l.addr[l.n++] = va + h->block - PAGE_SIZE;
	}
	on_each_cpu(look_cpu, &l, 1);
	if (atomic_read(&l.readable) != (there ? l.n * atomic_read(&l.cpus) : 0))
		lmt_fail(t, "%s: blocks %u to %u: %d reads by %d CPUs of %u pages worked, expected %s",
			 when, first, first + nr - 1, atomic_read(&l.readable),
			 atomic_read(&l.cpus), l.n, there ? "all" : "none");
}

static void fill(struct lmt *t, const struct hot *h, unsigned int first, unsigned int nr)
{
	unsigned long pages = h->block / PAGE_SIZE, i;
	u64 words[WORDS];
	unsigned int w;

	if (h->online)
		return;
	for (i = first * pages; i < (first + nr) * pages; i++) {
		for (w = 0; w < WORDS; w++)
			words[w] = lmt_pattern(h->pfn + i, w);
		if (ops->copy_to_kernel_nofault((void *)(h->va + i * PAGE_SIZE), words,
						sizeof(words))) {
			lmt_fail(t, "page %#lx at %#lx was added and cannot be written",
				 h->pfn + i, h->va + i * PAGE_SIZE);
			return;
		}
		if (!(i % pages))
			cond_resched();
	}
}

/* Of all memory blocks: those that are there have their content, others fault. */
static void check(struct lmt *t, const struct hot *h, const char *when)
{
	unsigned long pages = h->block / PAGE_SIZE, step = max(1UL, pages / TRIES), i;
	unsigned long last = pages - 1;
	unsigned int b;

	for (b = 0; b < h->n; b++) {
		bool there = test_bit(b, h->there);

		for (i = 0; i < pages; i = i == last ? pages : min(i + step, last)) {
			unsigned long n = b * pages + i;
			unsigned long addr = h->va + n * PAGE_SIZE;
			u64 value;

			if (readable(addr, &value) != there) {
				lmt_fail(t, "%s: block %u of %u, which is %s, %#lx: a read %s", when,
					 b, h->n, there ? "there" : "removed", addr,
					 there ? "faults" : "works");
				return;
			}
			if (there && !h->online && value != lmt_pattern(h->pfn + n, 0)) {
				lmt_fail(t, "%s: block %u of %u, %#lx: read %#llx, expected %#llx",
					 when, b, h->n, addr, value, lmt_pattern(h->pfn + n, 0));
				return;
			}
		}
		cond_resched();
	}
}

static int add(struct lmt *t, struct hot *h, unsigned int first, unsigned int nr)
{
	int ret = add_memory(first_online_node, h->start + (u64)first * h->block,
			     (u64)nr * h->block, MHP_MERGE_RESOURCE);

	if (ret) {
		lmt_fail(t, "add_memory(%#llx, %#llx) returned %d",
			 h->start + (u64)first * h->block, (u64)nr * h->block, ret);
		return ret;
	}
	bitmap_set(h->there, first, nr);
	h->online = pfn_to_online_page(h->pfn + first * (h->block / PAGE_SIZE));
	fill(t, h, first, nr);
	return 0;
}

static int take(struct lmt *t, struct hot *h, unsigned int first, unsigned int nr)
{
	u64 start = h->start + (u64)first * h->block, size = (u64)nr * h->block;
	int ret;

	ret = h->online ? offline_and_remove_memory(start, size) : remove_memory(start, size);
	if (ret) {
		lmt_fail(t, "%s(%#llx, %#llx) returned %d",
			 h->online ? "offline_and_remove_memory" : "remove_memory", start, size,
			 ret);
		return ret;
	}
	bitmap_clear(h->there, first, nr);
	return 0;
}

/* Remove some memory blocks: they must fault on all CPUs, and nothing else. */
static void piece(struct lmt *t, struct hot *h, unsigned int first, unsigned int nr,
		  const char *name)
{
	lmt_case(t, "remove_%s", name);
	look(t, h, first, nr, true, "before");
	if (first && test_bit(first - 1, h->there))
		look(t, h, first - 1, 1, true, "before, the one in front");
	if (first + nr < h->n && test_bit(first + nr, h->there))
		look(t, h, first + nr, 1, true, "before, the one behind");
	if (take(t, h, first, nr))
		return;
	look(t, h, first, nr, false, "after");
	check(t, h, "after");
}

/* No leaf may cross the edge of a memory block; with blocks, pages are not needed. */
static void check_leaves(struct lmt *t, const struct hot *h, const struct lmt_census *before)
{
	bool blocks = before->bytes[LMT_PTE] + before->bytes[LMT_CONT_PTE] <
		      lmt_census_total(before) / 2;
	unsigned long va = h->va, end = h->va + h->n * h->block;
	u64 bytes[LMT_NR_LEVELS + 1] = {};
	enum lmt_level i;

	lmt_case(t, "leaves");
	while (va < end) {
		struct lmt_leaf leaf = lmt_lookup(va);
		unsigned long size = PAGE_SIZE;

		if (leaf.level != LMT_HOLE)
			size = lmt_level_size(leaf.level);
		bytes[leaf.level] += size;
		va += size;
		if (!(va % h->block))
			cond_resched();
	}
	for (i = 0; i <= LMT_HOLE; i++) {
		lmt_diag(t, "added: %s\t%llu bytes", lmt_level_name[i], bytes[i]);
		if (i < LMT_HOLE && bytes[i] && lmt_level_size(i) > h->block)
			lmt_fail(t, "leaves of %lu bytes, a memory block has %lu",
				 lmt_level_size(i), h->block);
	}
	if (bytes[LMT_HOLE])
		lmt_fail(t, "%llu bytes are not mapped", bytes[LMT_HOLE]);
	if (blocks && bytes[LMT_PTE] + bytes[LMT_CONT_PTE])
		lmt_fail(t, "pages, and the rest of the map has blocks");
}

/* Remove a memory block that was split, and of which parts are invalid. */
static void invalid_piece(struct lmt *t, struct hot *h, unsigned int b)
{
	unsigned long va = h->va + b * h->block;
	/* With 64K pages a memory block is one PMD block. */
	unsigned long bytes = min(PMD_SIZE, h->block / 4);
	int ret;

	lmt_case(t, "remove_invalid");
	if (h->online) {
		lmt_skip(t, "it is online, others may use it");
		return;
	}
	if (!LMT_PATCHED) {
		lmt_skip(t, "stock takes an invalid page for none, and warns when it goes");
		return;
	}
	ret = ops->set_memory_valid(va + 3 * PAGE_SIZE, 1, 0);
	if (ret == -EINVAL && lmt_lookup(va).level != LMT_PTE) {
		lmt_skip(t, "the kernel does not split here");
		return;
	}
	if (!ret)
		ret = ops->set_memory_valid(va + h->block / 2, bytes / PAGE_SIZE, 0);
	if (ret) {
		lmt_fail(t, "set_memory_valid() returned %d", ret);
		return;
	}
	if (take(t, h, b, 1))
		return;
	look(t, h, b, 1, false, "after");
	check(t, h, "after");
}

/* Reads all the time; after `gone` none may work. */
struct reader {
	const struct hot *h;
	bool gone;
	u64 worked;
	u64 faulted;
	u64 late;
};

static int reader_fn(void *arg)
{
	struct reader *r = arg;
	unsigned long pages = r->h->n * (r->h->block / PAGE_SIZE), i = 0;

	while (!kthread_should_stop()) {
		unsigned int n;

		for (n = 0; n < 256; n++) {
			/* Pairs with the release after the removal. */
			bool gone = smp_load_acquire(&r->gone);
			u64 value;

			if (!readable(r->h->va + i * PAGE_SIZE, &value))
				r->faulted++;
			else if (gone)
				r->late++;
			else
				r->worked++;
			i = (i + 4099) % pages;
		}
		cond_resched();
	}
	return 0;
}

/* All of it in one call, while another task reads it. */
static void all_at_once(struct lmt *t, struct hot *h)
{
	struct reader r = { .h = h };
	struct task_struct *task;
	u64 ns;

	lmt_case(t, "remove_all_under_a_reader");
	if (add(t, h, 0, h->n))
		return;
	task = kthread_run(reader_fn, &r, "lmt_reader");
	if (IS_ERR(task)) {
		lmt_fail(t, "no thread: %ld", PTR_ERR(task));
		return;
	}
	look(t, h, 0, h->n, true, "before");
	ns = ktime_get_ns();
	if (!take(t, h, 0, h->n)) {
		ns = ktime_get_ns() - ns;
		lmt_stat("hotplug_remove_ns", "%llu", ns);
		/* Pairs with the acquire in reader_fn(). */
		smp_store_release(&r.gone, true);
		look(t, h, 0, h->n, false, "after");
		check(t, h, "after");
		/* It shall have tried each page at least once. */
		msleep(500);
	}
	kthread_stop(task);
	lmt_diag(t, "%u memory blocks of %lu MiB, %llu reads worked, %llu faulted", h->n,
		 h->block / SZ_1M, r.worked, r.faulted);
	if (r.late)
		lmt_fail(t, "%llu reads worked after the memory was removed", r.late);
	if (!r.worked || !r.faulted)
		lmt_fail(t, "the reader has not seen both states");
}

/* Of what is still there, each run in one call. */
static void take_rest(struct lmt *t, struct hot *h)
{
	unsigned int first, end;

	for_each_set_bitrange(first, end, h->there, h->n)
		if (take(t, h, first, end - first))
			return;
}

void lmt_test_hotplug(struct lmt *t, const u64 *arg)
{
	struct hot h = {
		.start = arg[0],
		.pfn = PHYS_PFN(arg[0]),
		.va = lmt_pfn_va(PHYS_PFN(arg[0])),
		.block = memory_block_size_bytes(),
	};
	struct lmt_census before;

	lmt_case(t, "add");
	if (!arg[1]) {
		lmt_skip(t, "no range is given: `hotplug <start> <bytes>` of RAM that mem= hides");
		return;
	}
	h.n = arg[1] / h.block;
	if (arg[0] % h.block || arg[1] % h.block || h.n < 6) {
		lmt_fail(t, "start and bytes have to be multiples of %lu MiB, bytes at least six",
			 h.block / SZ_1M);
		return;
	}
	h.there = bitmap_zalloc(h.n, GFP_KERNEL);
	if (!h.there) {
		lmt_skip(t, "memory is short");
		return;
	}
	lmt_census_all(&before);
	if (add(t, &h, 0, h.n))
		goto free;
	look(t, &h, 0, h.n, true, "added");
	check(t, &h, "added");
	lmt_diag(t, "%s", h.online ? "online" : "never online");
	check_leaves(t, &h, &before);

	piece(t, &h, h.n / 2, 1, "middle");
	piece(t, &h, 0, 1, "first");
	piece(t, &h, h.n - 1, 1, "last");
	invalid_piece(t, &h, 1);
	lmt_case(t, "add_again");
	if (!add(t, &h, h.n / 2, 1)) {
		look(t, &h, h.n / 2, 1, true, "after");
		check(t, &h, "after");
	}
	piece(t, &h, h.n / 2 - 1, 2, "two");
	lmt_case(t, "remove_rest");
	take_rest(t, &h);
	check(t, &h, "after");
	if (bitmap_empty(h.there, h.n) && !lmt_interrupted(t))
		all_at_once(t, &h);

	/* After a failure. */
	if (!bitmap_empty(h.there, h.n)) {
		lmt_case(t, "clean_up");
		take_rest(t, &h);
	}
free:
	bitmap_free(h.there);
}

#else /* !CONFIG_MEMORY_HOTREMOVE */

void lmt_test_hotplug(struct lmt *t, const u64 *arg)
{
	lmt_case(t, "add");
	lmt_skip(t, "needs CONFIG_MEMORY_HOTREMOVE");
}

#endif
