// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses from every CPU. A test first lets each CPU use the addresses, so
 * that its TLB holds them, changes the map, and lets each CPU try again at
 * once: an entry that a flush has missed makes an access work that must fault.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "lmt.h"

#define SLOTS	16	/* words of a page that CPUs use, each its own */

struct probe_run {
	const struct lmt_probes *p;
	atomic_t cpus;			/* that took part */
	raw_spinlock_t lock;		/* of what follows */
	unsigned int wrong;
	/* The first wrong access. */
	int cpu;
	unsigned int index;
	bool write;
	long got;
	u64 value;
	u64 pattern;
};

/* Read or write one word. Writes store what is there, content stays. */
static long probe_access(unsigned long addr, unsigned long pfn, bool write, u64 *value)
{
	unsigned int slot = raw_smp_processor_id() % SLOTS;
	u64 *p = (u64 *)(addr & PAGE_MASK) + slot;

	*value = lmt_pattern(pfn, slot);
	if (write)
		return ops->copy_to_kernel_nofault(p, value, sizeof(*value));
	return ops->copy_from_kernel_nofault(value, p, sizeof(*value));
}

static void probe_cpu(void *arg)
{
	struct probe_run *run = arg;
	const struct lmt_probes *p = run->p;
	unsigned int i;
	int write;

	atomic_inc(&run->cpus);
	for (i = 0; i < p->n; i++) {
		for (write = 0; write < 2; write++) {
			long want = p->want[i] & (write ? LMT_W : LMT_R) ? 0 : -EFAULT;
			unsigned int slot = raw_smp_processor_id() % SLOTS;
			u64 value, pattern = lmt_pattern(p->pfn[i], slot);
			unsigned long flags;
			long got;

			got = probe_access(p->addr[i], p->pfn[i], write, &value);
			if (got == want && (got || value == pattern))
				continue;
			raw_spin_lock_irqsave(&run->lock, flags);
			if (!run->wrong++) {
				run->cpu = raw_smp_processor_id();
				run->index = i;
				run->write = write;
				run->got = got;
				run->value = value;
				run->pattern = pattern;
			}
			raw_spin_unlock_irqrestore(&run->lock, flags);
		}
	}
}

bool lmt_probe_add(struct lmt_probes *p, unsigned long addr, unsigned long pfn, u8 want)
{
	unsigned int i;

	addr &= PAGE_MASK;
	for (i = 0; i < p->n; i++)
		if (p->addr[i] == addr)
			return true;
	if (p->n == LMT_PROBES)
		return false;
	p->addr[p->n] = addr;
	p->pfn[p->n] = pfn;
	p->want[p->n++] = want;
	return true;
}

/**
 * lmt_probe() - try all addresses on every CPU
 * @t: the test, with an open case that fails if an access goes wrong
 * @p: the addresses and what must work
 * @when: for the message
 *
 * Return: true if all was as wanted.
 */
bool lmt_probe(struct lmt *t, const struct lmt_probes *p, const char *when)
{
	struct probe_run run = { .p = p };
	unsigned int online;

	raw_spin_lock_init(&run.lock);
	cpus_read_lock();
	online = num_online_cpus();
	on_each_cpu(probe_cpu, &run, 1);
	cpus_read_unlock();

	if (atomic_read(&run.cpus) != online)
		lmt_fail(t, "%s: the probe ran on %d of %u CPUs", when,
			 atomic_read(&run.cpus), online);
	if (!p->n)
		lmt_fail(t, "%s: no address to try", when);
	if (!run.wrong)
		return atomic_read(&run.cpus) == online && p->n;

	if (!run.got && !run.write && (p->want[run.index] & LMT_R))
		lmt_fail(t, "%s: CPU %d, %#lx: read %#llx, expected %#llx (%u wrong accesses)",
			 when, run.cpu, p->addr[run.index], run.value, run.pattern, run.wrong);
	else
		lmt_fail(t, "%s: CPU %d, %#lx: a %s returned %ld, expected %d (%u wrong accesses)",
			 when, run.cpu, p->addr[run.index], run.write ? "write" : "read", run.got,
			 p->want[run.index] & (run.write ? LMT_W : LMT_R) ? 0 : -EFAULT,
			 run.wrong);
	return false;
}

/* As lmt_probe(), with everything readable and writable: also fills the TLBs. */
bool lmt_probe_rw(struct lmt *t, struct lmt_probes *p, const char *when)
{
	u8 want[LMT_PROBES];
	bool ok;

	memcpy(want, p->want, sizeof(want));
	memset(p->want, LMT_RW, sizeof(p->want));
	ok = lmt_probe(t, p, when);
	memcpy(p->want, want, sizeof(want));
	return ok;
}

static void probe_one_cpu(void *arg)
{
	struct lmt_probe_one *one = arg;
	u64 pattern = lmt_pattern(one->pfn, raw_smp_processor_id() % SLOTS);
	u64 value;
	int write;

	for (write = 0; write < 2; write++) {
		one->write = write;
		one->expected = one->want & (write ? LMT_W : LMT_R) ? 0 : -EFAULT;
		one->got = probe_access(one->addr, one->pfn, write, &value);
		if (!one->got && value != pattern)
			one->got = -EBADMSG;
		if (one->got != one->expected)
			return;
	}
}

/**
 * lmt_probe_one() - try one address on one CPU
 * @one: where to say what was found
 * @cpu: the CPU; one that is not online is not asked
 * @addr: address of a page
 * @pfn: page frame behind it, whose pattern is expected
 * @want: LMT_R and LMT_W, what must work; what is not named must fault
 *
 * Return: true if all was as wanted. A page without its pattern is -EBADMSG.
 */
bool lmt_probe_one(struct lmt_probe_one *one, int cpu, unsigned long addr, unsigned long pfn,
		   u8 want)
{
	*one = (struct lmt_probe_one) { .addr = addr, .pfn = pfn, .want = want };
	return smp_call_function_single(cpu, probe_one_cpu, one, 1) ||
	       one->got == one->expected;
}
