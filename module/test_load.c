// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests with many changes: one after the other, from all CPUs at once, and over
 * most of the memory.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "lmt.h"

/* Which CPU tries next, so that all take part. */
static int some_cpu(struct rnd_state *rnd)
{
	unsigned int n = prandom_u32_state(rnd) % num_online_cpus();
	int cpu;

	for_each_online_cpu(cpu)
		if (!n--)
			return cpu;
	return raw_smp_processor_id();
}

/* A page must fault, or work, for reads and writes on one CPU. */
static void expect(struct lmt *t, int cpu, unsigned long addr, unsigned long pfn, u8 want,
		   const char *when)
{
	struct lmt_probe_one one;

	if (!lmt_probe_one(&one, cpu, addr, pfn, want))
		lmt_fail(t, "%s: CPU %d, %#lx: a %s returned %d, expected %d", when, cpu, addr,
			 one.write ? "write" : "read", one.got, one.expected);
}

/* Of the pages on either side of page n, those that are in the map must work. */
static void expect_beside(struct lmt *t, int cpu, struct lmt_area *a, unsigned long pages,
			  const unsigned long *is_out, unsigned long n, bool fill)
{
	unsigned long i;

	for (i = n ? n - 1 : 1; i <= n + 1 && i < pages; i += 2) {
		if (test_bit(i, is_out))
			continue;
		if (fill)
			lmt_area_fill_page(a, a->va + i * PAGE_SIZE);
		else
			expect(t, cpu, a->va + i * PAGE_SIZE, a->pfn + i, LMT_RW, "beside it");
	}
}

/*
 * Random pages of a buffer leave the map and come back. Half of them at most
 * are out at any time.
 */
void lmt_test_churn(struct lmt *t, const u64 *arg)
{
	unsigned long pages = arg[0], rounds = arg[1], bytes, round, out = 0, i;
	unsigned long *is_out = NULL, *ever = NULL;
	struct lmt_measure m;
	struct rnd_state rnd;
	struct lmt_window w;
	struct lmt_area *a;
	void *counter;

	prandom_seed_state(&rnd, arg[2]);
	lmt_case(t, "pages_%lu_rounds_%lu", pages, rounds);
	bytes = roundup_pow_of_two(pages) * PAGE_SIZE;
	a = lmt_area_get(t, bytes);
	if (!a) {
		lmt_skip(t, "memory is short: no %lu KiB in one piece", bytes / SZ_1K);
		return;
	}
	if (lmt_window_init(t, &w, a->va, a->nr))
		goto put;
	lmt_window_touch(&w, a->va, pages);
	lmt_window_touch_done(&w);
	is_out = kvcalloc(BITS_TO_LONGS(pages), sizeof(long), GFP_KERNEL);
	ever = kvcalloc(BITS_TO_LONGS(pages), sizeof(long), GFP_KERNEL);
	if (!is_out || !ever) {
		lmt_skip(t, "memory is short");
		goto free;
	}
	if (!lmt_set_valid_allowed(t, &w))
		goto free;
	counter = lmt_counter_open();
	lmt_measure_begin(&m, counter);
	for (round = 0; round < rounds && !t->failed && !lmt_interrupted(t); round++) {
		unsigned long n = prandom_u32_state(&rnd) % pages;
		unsigned long addr = a->va + n * PAGE_SIZE;
		bool enable = test_bit(n, is_out);
		int cpu, ret;

		if (!enable && out >= DIV_ROUND_UP(pages, 2)) {
			n = find_first_bit(is_out, pages);
			addr = a->va + n * PAGE_SIZE;
			enable = true;
		}
		cpu = some_cpu(&rnd);
		if (!enable)
			lmt_area_fill_page(a, addr);
		expect_beside(t, cpu, a, pages, is_out, n, true);
		expect(t, cpu, addr, a->pfn + n, enable ? 0 : LMT_RW, "before");
		ret = ops->set_memory_valid(addr, 1, enable);
		if (ret == -EINVAL && !round && !lmt_rodata_full() &&
		    lmt_lookup(addr).level != LMT_PTE) {
			lmt_skip(t, "rodata is not full: the kernel does not split here");
			break;
		}
		if (ret) {
			lmt_fail(t, "round %lu, page %lu: set_memory_valid(%d) returned %d", round,
				 n, enable, ret);
			break;
		}
		expect(t, cpu, addr, a->pfn + n, enable ? LMT_RW : 0, "after");
		expect_beside(t, cpu, a, pages, is_out, n, false);
		if (enable) {
			clear_bit(n, is_out);
			out--;
		} else {
			set_bit(n, is_out);
			set_bit(n, ever);
			out++;
		}
	}
	lmt_measure_end(&m, counter);
	lmt_counter_close(counter);
	lmt_measure_report(t, "churn_calls", &m);
	lmt_diag(t, "%lu rounds, %d pages were out at some time, %lu are at the end", round,
		 bitmap_weight(ever, pages), out);

	/* While pages are out: exactly they are, and nothing is split deeper. */
	lmt_window_touch_none(&w);
	for_each_set_bit(i, is_out, pages)
		lmt_window_touch(&w, a->va + i * PAGE_SIZE, 1);
	lmt_window_touch_done(&w);
	lmt_window_look(t, &w);
	for (i = 0; i < pages; i++) {
		unsigned long n = ((a->va - w.start) >> PAGE_SHIFT) + i;

		if (!!(w.now_attr[n] & PTE_VALID) != test_bit(i, is_out))
			continue;
		lmt_fail(t, "page %lu at %#lx: attributes %#llx, expected it to be %s", i,
			 a->va + i * PAGE_SIZE, w.now_attr[n],
			 test_bit(i, is_out) ? "invalid" : "valid");
		break;
	}
	for_each_set_bit(i, is_out, pages) {
		int ret = ops->set_memory_valid(a->va + i * PAGE_SIZE, 1, 1);

		if (ret)
			lmt_fail(t, "page %lu: the way back returned %d", i, ret);
		cond_resched();
	}
	lmt_window_touch_none(&w);
	for_each_set_bit(i, ever, pages)
		lmt_window_touch(&w, a->va + i * PAGE_SIZE, 1);
	lmt_window_touch_done(&w);
	lmt_window_restored(t, &w, LMT_SINGLE, "all pages back");
	lmt_area_verify(t, a);
free:
	kvfree(is_out);
	kvfree(ever);
	lmt_window_free(&w);
put:
	lmt_area_put(t, a);
	lmt_case_end(t);
}

/*
 * The buffer of the concurrent test is dealt out in slots, one after the other:
 *
 *	| worker 0 | worker 1 | ... | nobody | worker 0 | ...
 *
 * so that all workers and the pages of nobody lie in the same blocks and
 * contiguous groups. Of a worker's slots, every other one is taken in and out of
 * the map; the rest are the pages of a vmalloc area that it makes read-only.
 */
#define SLOT_PAGES	4

struct concurrent {
	struct lmt_area *a;
	unsigned int workers;
	unsigned long rounds;
	atomic_t running;
	bool stop;
	bool may_valid;		/* pages may leave the map */
};

struct worker {
	struct concurrent *all;
	struct task_struct *task;
	struct completion done;
	unsigned int nr;
	struct rnd_state rnd;
	struct lmt_alias *v;
	unsigned long calls;
	/* The first thing that went wrong. */
	const char *what;
	int cpu;
	unsigned long addr;
	int got;
	int want;
};

static unsigned int slots(const struct concurrent *all)
{
	return all->a->nr / SLOT_PAGES;
}

static void wrong(struct worker *w, const char *what, int cpu, unsigned long addr, int got,
		  int want)
{
	if (w->what)
		return;
	w->what = what;
	w->cpu = cpu;
	w->addr = addr;
	w->got = got;
	w->want = want;
	WRITE_ONCE(w->all->stop, true);
}

/* On this CPU and one other, a page must be as told. */
static void worker_expect(struct worker *w, unsigned long addr, unsigned long pfn, u8 rights,
			  const char *what)
{
	int cpu[2] = { raw_smp_processor_id(), some_cpu(&w->rnd) };
	struct lmt_probe_one one;
	int i;

	for (i = 0; i < 2; i++)
		if (!lmt_probe_one(&one, cpu[i], addr, pfn, rights))
			wrong(w, what, cpu[i], addr, one.got, one.expected);
}

static void worker_valid(struct worker *w)
{
	struct concurrent *all = w->all;
	unsigned int owners = all->workers + 1;
	unsigned int turns = slots(all) / owners / 2;
	unsigned int slot = (prandom_u32_state(&w->rnd) % turns * 2 + 1) * owners + w->nr;
	unsigned int first = prandom_u32_state(&w->rnd) % SLOT_PAGES;
	unsigned int nr = 1 + prandom_u32_state(&w->rnd) % (SLOT_PAGES - first);
	unsigned long page = slot * SLOT_PAGES + first;
	unsigned long addr = all->a->va + page * PAGE_SIZE;
	unsigned long last = addr + (nr - 1) * PAGE_SIZE;
	int ret;

	worker_expect(w, addr, all->a->pfn + page, LMT_RW, "before set_memory_valid(0)");
	ret = ops->set_memory_valid(addr, nr, 0);
	if (ret)
		wrong(w, "set_memory_valid(0)", -1, addr, ret, 0);
	else
		worker_expect(w, addr, all->a->pfn + page, 0, "after set_memory_valid(0)");
	if (!ret && last != addr)
		worker_expect(w, last, all->a->pfn + page + nr - 1, 0,
			      "the last page after set_memory_valid(0)");
	ret = ops->set_memory_valid(addr, nr, 1);
	if (ret)
		wrong(w, "set_memory_valid(1)", -1, addr, ret, 0);
	worker_expect(w, addr, all->a->pfn + page, LMT_RW, "after set_memory_valid(1)");
	w->calls += 2;
}

static void worker_ro(struct worker *w)
{
	unsigned int first = prandom_u32_state(&w->rnd) % w->v->nr;
	unsigned int nr = 1 + prandom_u32_state(&w->rnd) % (w->v->nr - first);
	unsigned long addr = w->v->addr + first * PAGE_SIZE;
	unsigned long pfn = page_to_pfn(w->v->pages[first]);
	u8 rights = lmt_rodata_full() ? LMT_R : LMT_RW;
	int ret;

	nr = min(nr, 8u);
	worker_expect(w, addr, pfn, LMT_RW, "before set_memory_ro()");
	worker_expect(w, lmt_pfn_va(pfn), pfn, LMT_RW, "the alias before set_memory_ro()");
	ret = ops->set_memory_ro(addr, nr);
	if (ret) {
		wrong(w, "set_memory_ro()", -1, addr, ret, 0);
	} else {
		worker_expect(w, addr, pfn, LMT_R, "after set_memory_ro()");
		worker_expect(w, lmt_pfn_va(pfn), pfn, rights, "the alias after set_memory_ro()");
	}
	ret = ops->set_memory_rw(addr, nr);
	if (ret)
		wrong(w, "set_memory_rw()", -1, addr, ret, 0);
	worker_expect(w, addr, pfn, LMT_RW, "after set_memory_rw()");
	worker_expect(w, lmt_pfn_va(pfn), pfn, LMT_RW, "the alias after set_memory_rw()");
	w->calls += 2;
}

static int worker_fn(void *arg)
{
	struct worker *w = arg;
	unsigned long round;

	for (round = 0; round < w->all->rounds && !READ_ONCE(w->all->stop); round++) {
		if (w->all->may_valid && (prandom_u32_state(&w->rnd) & 1))
			worker_valid(w);
		else
			worker_ro(w);
		cond_resched();
	}
	atomic_dec(&w->all->running);
	complete(&w->done);
	return 0;
}

/* The vmalloc area of a worker: its even slots. */
static struct lmt_alias *worker_area(struct lmt *t, struct concurrent *all, unsigned int nr)
{
	unsigned int owners = all->workers + 1, turns = slots(all) / owners / 2, turn, i, n = 0;
	struct lmt_alias *v;
	struct page **pages;

	/* More pages than this only take time. */
	turns = min(turns, 64u);
	pages = kvmalloc_array(turns * SLOT_PAGES, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return NULL;
	for (turn = 0; turn < turns; turn++)
		for (i = 0; i < SLOT_PAGES; i++)
			pages[n++] = pfn_to_page(all->a->pfn + i +
						 (turn * 2 * owners + nr) * SLOT_PAGES);
	v = lmt_alias_map(t, pages, n);
	if (!v)
		kvfree(pages);
	return v;
}

/* Pages of nobody that all CPUs must be able to use at all times. */
static void probe_nobody(struct concurrent *all, struct lmt_probes *p)
{
	unsigned int owners = all->workers + 1, turns = slots(all) / owners;
	unsigned int turn, i, step = max(1u, turns / (LMT_PROBES / 2));

	for (turn = 0; turn < turns; turn += step) {
		for (i = 0; i < SLOT_PAGES; i += SLOT_PAGES - 1) {
			unsigned long page = (turn * owners + all->workers) * SLOT_PAGES + i;
			unsigned long addr = all->a->va + page * PAGE_SIZE;

			if (lmt_probe_add(p, addr, all->a->pfn + page, LMT_RW))
				lmt_area_fill_page(all->a, addr);
		}
	}
}

void lmt_test_concurrent(struct lmt *t, const u64 *arg)
{
	struct concurrent all = { .rounds = arg[0], .may_valid = true };
	unsigned int owners, i, started = 0, looks = 0;
	struct worker *workers = NULL;
	struct lmt_probes *p = NULL;
	unsigned long calls = 0;
	struct lmt_census c;
	struct lmt_window w;
	int cpu;

	lmt_case(t, "rounds_%lu", all.rounds);
	all.a = lmt_area_get(t, 2 * PMD_SIZE);
	if (!all.a) {
		lmt_skip(t, "memory is short: no %lu MiB in one piece", 2 * PMD_SIZE / SZ_1M);
		return;
	}
	if (lmt_window_init(t, &w, all.a->va, all.a->nr))
		goto put;
	all.workers = min_t(unsigned int, num_online_cpus(), 64);
	owners = all.workers + 1;
	if (slots(&all) / owners < 4) {
		lmt_skip(t, "%u CPUs are too many for %u slots", all.workers, slots(&all));
		goto free;
	}
	lmt_window_touch(&w, all.a->va, all.a->nr);
	lmt_window_touch_done(&w);
	if (!lmt_set_valid_allowed(t, &w) ||
	    (LMT_PATCHED && !lmt_rodata_full() && lmt_lookup(all.a->va).level != LMT_PTE)) {
		lmt_diag(t, "pages stay in the map, the kernel does not split here");
		t->skip[0] = '\0';
		all.may_valid = false;
	}
	workers = kcalloc(all.workers, sizeof(*workers), GFP_KERNEL);
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!workers || !p) {
		lmt_skip(t, "memory is short");
		goto free;
	}
	probe_nobody(&all, p);

	for (i = 0; i < all.workers; i++) {
		workers[i].all = &all;
		workers[i].nr = i;
		init_completion(&workers[i].done);
		prandom_seed_state(&workers[i].rnd, arg[1] + i);
		workers[i].v = worker_area(t, &all, i);
		if (!workers[i].v) {
			lmt_skip(t, "memory is short for the areas of %u workers", all.workers);
			goto areas;
		}
	}
	cpu = -1;
	for (i = 0; i < all.workers; i++) {
		struct task_struct *task;

		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			break;
		task = kthread_create(worker_fn, &workers[i], "lmt_worker/%u", i);
		if (IS_ERR(task)) {
			lmt_fail(t, "no thread for worker %u: %ld", i, PTR_ERR(task));
			break;
		}
		kthread_bind(task, cpu);
		workers[i].task = get_task_struct(task);
		started++;
	}
	atomic_set(&all.running, started);
	for (i = 0; i < started; i++)
		wake_up_process(workers[i].task);

	/* Watch the rest while they work. */
	while (atomic_read(&all.running)) {
		if (!lmt_probe(t, p, "pages of nobody") || lmt_interrupted(t))
			WRITE_ONCE(all.stop, true);
		if (!(looks++ % 8)) {
			lmt_census_all(&c);
			lmt_check_whole(t, &c);
			if (t->failed)
				WRITE_ONCE(all.stop, true);
		}
		schedule_timeout_uninterruptible(1);
	}
	for (i = 0; i < started; i++) {
		struct worker *wk = &workers[i];

		wait_for_completion(&wk->done);
		kthread_stop(wk->task);
		put_task_struct(wk->task);
		calls += wk->calls;
		if (wk->what)
			lmt_fail(t, "worker %u, %s: CPU %d, %#lx: got %d, expected %d", i, wk->what,
				 wk->cpu, wk->addr, wk->got, wk->want);
	}
	lmt_diag(t, "%u workers made %lu calls, the pages between them were looked at %u times",
		 started, calls, looks);
	if (!looks)
		lmt_fail(t, "the workers ended before the pages of nobody were looked at");
	lmt_probe(t, p, "pages of nobody, at the end");

	/* Slots of nobody were never touched, all others may have been. */
	lmt_window_touch_none(&w);
	for (i = 0; i < slots(&all); i++)
		if (i % owners != all.workers)
			lmt_window_touch(&w, all.a->va + (unsigned long)i * SLOT_PAGES * PAGE_SIZE,
					 SLOT_PAGES);
	lmt_window_touch_done(&w);
	if (t->failed)
		for (i = 0; i < started; i++)
			ops->set_memory_rw(workers[i].v->addr, workers[i].v->nr);
	lmt_window_restored(t, &w, LMT_SINGLE, "at the end");
areas:
	lmt_alias_put_all(t);
	lmt_area_verify(t, all.a);
free:
	kfree(workers);
	kfree(p);
	lmt_window_free(&w);
put:
	lmt_area_put(t, all.a);
	lmt_case_end(t);
}

/* Some pages of the area and their aliases, checked on every CPU. */
static void seed_probe(struct lmt *t, struct lmt_alias *v, u8 area, u8 alias, bool fresh,
		       const char *when)
{
	struct lmt_probes *p = kzalloc(sizeof(*p), GFP_KERNEL);
	unsigned int i, word;

	if (!p) {
		lmt_fail(t, "%s: memory is short", when);
		return;
	}
	for (i = 0; i < 32; i++) {
		unsigned int n = (u64)(v->nr - 1) * i / 31;
		unsigned long pfn = page_to_pfn(v->pages[n]);

		for (word = 0; word < 16 && fresh; word++)
			((u64 *)lmt_pfn_va(pfn))[word] = lmt_pattern(pfn, word);
		lmt_probe_add(p, v->addr + n * PAGE_SIZE, pfn, area);
		lmt_probe_add(p, lmt_pfn_va(pfn), pfn, alias);
	}
	lmt_probe(t, p, when);
	kfree(p);
}

/* The test of the field: most of the memory read-only, for so long, and back. */
void lmt_test_seed(struct lmt *t, const u64 *arg)
{
	u8 alias = lmt_rodata_full() ? LMT_R : LMT_RW;
	unsigned long pages, wrong = 0, i;
	struct lmt_census before, now;
	struct lmt_measure m;
	struct lmt_alias *v;
	struct sysinfo si;
	void *counter;
	int ret;

	counter = lmt_counter_open();
	if (!counter)
		lmt_diag(t, "instructions: n/a, there is no counter for them");

	lmt_case(t, "vmalloc");
	si_meminfo(&si);
	pages = si.freeram / 100 * arg[0];
	pages = min_t(unsigned long, pages, INT_MAX);
	lmt_diag(t, "%lu pages, %llu %% of the %lu that are free", pages, arg[0], si.freeram);
	lmt_census_all(&before);
	lmt_measure_begin(&m, counter);
	v = pages ? lmt_alias_vmalloc(t, pages) : NULL;
	lmt_measure_end(&m, counter);
	if (!v) {
		lmt_skip(t, "memory is short: no vmalloc area of %lu pages", pages);
		goto out;
	}
	lmt_stat("seed_pages", "%lu", pages);
	lmt_measure_report(t, "seed_vmalloc", &m);
	seed_probe(t, v, LMT_RW, LMT_RW, true, "fresh");

	lmt_case(t, "ro");
	lmt_measure_begin(&m, counter);
	ret = ops->set_memory_ro(v->addr, v->nr);
	lmt_measure_end(&m, counter);
	lmt_measure_report(t, "seed_ro", &m);
	if (ret)
		lmt_fail(t, "set_memory_ro() returned %d", ret);
	else
		seed_probe(t, v, LMT_R, alias, false, "read-only");
	if (!ret)
		msleep_interruptible(arg[1]);
	for (i = 0; !ret && i < v->nr && !lmt_interrupted(t);) {
		lmt_map_lock();
		do {
			u64 attr = lmt_lookup_locked(lmt_pfn_va(page_to_pfn(v->pages[i]))).attr;

			if (lmt_attr_writable(attr) != !!(alias & LMT_W) && !wrong++)
				lmt_fail(t, "the alias of page %lu has attributes %#llx", i, attr);
		} while (++i % 512 && i < v->nr);
		lmt_map_unlock();
	}
	if (wrong)
		lmt_fail(t, "the aliases of %lu of %u pages are wrong", wrong, v->nr);

	lmt_case(t, "rw");
	lmt_measure_begin(&m, counter);
	ret = ops->set_memory_rw(v->addr, v->nr);
	lmt_measure_end(&m, counter);
	lmt_measure_report(t, "seed_rw", &m);
	if (ret)
		lmt_fail(t, "set_memory_rw() returned %d", ret);
	else
		seed_probe(t, v, LMT_RW, LMT_RW, false, "writable again");
	if (!lmt_alias_check(t, v))
		goto out;

	lmt_case(t, "vfree");
	list_del(&v->list);
	lmt_measure_begin(&m, counter);
	vfree((void *)v->addr);
	lmt_measure_end(&m, counter);
	kfree(v);
	lmt_measure_report(t, "seed_vfree", &m);
	lmt_census_all(&now);
	lmt_check_whole(t, &now);
	for (i = 0; i < LMT_NR_LEVELS; i++)
		lmt_diag(t, "%s: %llu bytes before, %llu after", lmt_level_name[i], before.bytes[i],
			 now.bytes[i]);
out:
	lmt_counter_close(counter);
	lmt_case_end(t);
}
