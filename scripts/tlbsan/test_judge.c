// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of pt.c and judge.c on the host, TAP: a tree of user space, two CPUs,
 * and what the module cannot do from the kernel, ASIDs above all.
 */
#include <stdio.h>
#include <string.h>

#include "judge.h"

static unsigned int nr, failed;
static char got[256];

#define BASE	PT_RAM_BASE
#define LEAF(page)	((uint64_t)(BASE + 0x100000 + (page) * 4096) | 0x40000000000fc3ULL | PT_DBM)
#define PART(page)	((uint64_t)(BASE + 0x200000 + (page) * 4096) | 0x40000000000fc3ULL | PT_DBM)
#define TABLE(n)	((uint64_t)(BASE + (n) * 4096) | 3)
#define PTE(i)		(BASE + 3 * 4096 + (i) * 8ULL)
#define VA(i)		((uint64_t)(i) << 12)

static void report(const struct report *r)
{
	size_t n = strlen(got);

	snprintf(got + n, sizeof(got) - n, "%s%s/%s", n ? " " : "", kind_name[r->kind], r->cause);
}

static void expect(const char *what, const char *want)
{
	int good = !strcmp(got, want);

	nr++;
	failed += !good;
	printf("%sok %u %s\n", good ? "" : "not ", nr, what);
	if (!good)
		printf("# expected \"%s\", got \"%s\"\n", want, got);
	got[0] = 0;
}

static void store(uint64_t pa, uint64_t v)
{
	memcpy(pt_mirror + (pa - BASE), &v, 8);
	judge_note_store(pa, 0);
	if (pt_flags(pa) & PT_PAGE_WATCHED)
		judge_watched_store(pa, 8);
	if (pt_flags(pa) & PT_PAGE_TABLE)
		pt_stored(pa, 8);
}

static void barrier(uint32_t op)
{
	struct insn d;

	decode_insn(op, &d);
	judge_barrier(&d);
}

#define ISHST()	barrier(0xd5033a9f)
#define ISH()	barrier(0xd5033b9f)
#define NSHST()	barrier(0xd503369f)
#define NSH()	barrier(0xd503379f)

static void tlbi(uint32_t op, uint64_t arg)
{
	struct tlbi_span s;
	struct tlbi t;

	decode_tlbi(op, &t);
	decode_span(&t, arg, 12, false, &s);
	judge_tlbi(&t, &s);
}

#define VALE1IS		0xd50883a0
#define VAE1IS		0xd5088320
#define VALE1		0xd50887a0
#define ASIDE1IS	0xd5088340
#define VMALLE1IS	0xd5088300
#define VMALLE1		0xd5088700
#define ARG(i, asid)	((uint64_t)(i) | (uint64_t)(asid) << 48)

static void check(struct pt_root *root, unsigned int first, unsigned int last)
{
	struct range r = { .root = root, .start = VA(first), .end = VA(last + 1) - 1 };

	judge_checkpoint("here", &r);
}

static void all(void)
{
	ISHST();
	tlbi(VMALLE1IS, 0);
	ISH();
}

int main(void)
{
	struct pt_root *root, *kernel, *first[2];
	struct pt_entry e;
	unsigned int i;

	pt_init(&judge_watch);
	judge_init(report);
	judge_opt.bbml2 = true;
	judge_mair(0xffULL << 0);
	judge_cpu_live(0);
	judge_cpu_live(1);
	judge_site(0, 0x1000);

	/* Tables 0 to 3 of one tree, filled before it is known. */
	for (i = 0; i < 3; i++)
		store(BASE + i * 4096, TABLE(i + 1));
	for (i = 0; i < 64; i++)
		store(PTE(i), LEAF(i));
	ISHST();
	kernel = pt_root_get(BASE + 10 * 4096, true, 12, 48, false);
	kernel->cpus = 3;
	judge_kernel_root(kernel);
	root = pt_root_get(BASE, false, 12, 48, false);
	root->cpus = root->loaded = 3;
	judge_root_asid(root, 5);
	nr++;
	i = pt_walk(root, VA(7) + 5, &e) && e.desc == LEAF(7) && e.va == VA(7) && e.level == 3 &&
	    !pt_walk(root, VA(64), &e) && e.size == 4096 && pt_entry_at(PTE(9), &e) && e.va == VA(9);
	failed += !i;
	printf("%sok %u walks of the shadow\n", i ? "" : "not ", nr);

	store(PTE(0), 0);
	check(root, 0, 0);
	expect("no flush, and the store not visible", "stale/missing order/store");

	store(PTE(1), 0);
	ISHST();
	tlbi(VALE1IS, ARG(1, 5));
	ISH();
	check(root, 1, 1);
	expect("right ASID", "");

	store(PTE(2), 0);
	ISHST();
	tlbi(VALE1IS, ARG(2, 6));
	ISH();
	check(root, 2, 2);
	expect("wrong ASID by address", "stale/asid");

	store(PTE(3), 0);
	ISHST();
	tlbi(ASIDE1IS, ARG(0, 5));
	ISH();
	check(root, 3, 3);
	expect("by ASID", "");

	store(PTE(4), 0);
	ISHST();
	tlbi(ASIDE1IS, ARG(0, 6));
	ISH();
	check(root, 4, 4);
	expect("by another ASID", "stale/missing");

	store(PTE(5), LEAF(5) & ~PT_NG);
	expect("non-global made global", "bbm/global");
	all();
	store(PTE(5), 0);
	ISHST();
	tlbi(ASIDE1IS, ARG(0, 5));
	ISH();
	check(root, 5, 5);
	expect("global by ASID", "stale/missing");

	store(PTE(6), 0);
	ISHST();
	tlbi(VALE1, ARG(6, 5));
	ISH();
	judge_site(1, 0x2000);
	tlbi(VALE1, ARG(6, 5));
	ISH();
	check(root, 6, 6);
	expect("locally, on every CPU", "");
	judge_site(0, 0x1000);

	root->cpus = 1;
	store(PTE(6), LEAF(6));
	ISHST();
	store(PTE(6), 0);
	NSHST();
	tlbi(VALE1, ARG(6, 5));
	NSH();
	store(PTE(6), LEAF(7));
	expect("locally, of a tree that no other CPU has used", "");
	NSHST();
	store(PTE(6), 0);
	NSHST();
	tlbi(VALE1IS, ARG(6, 5));
	ISH();
	store(PTE(6), LEAF(6));
	expect("visible to one CPU, flushed for all", "bbm/address");
	all();
	store(PTE(6), 0);
	all();
	root->cpus = 3;

	store(PTE(7), LEAF(7) & ~PT_DBM);
	check(root, 6, 6);
	expect("outside of the checkpoint's range", "");
	store(PTE(7), LEAF(7));
	ISHST();
	check(root, 7, 7);
	expect("back before the checkpoint", "");

	store(PTE(8), LEAF(8) | PT_RDONLY);
	ISHST();
	check(root, 8, 8);
	expect("clean, while hardware may make it dirty", "");

	judge_root_asid(root, 4);
	store(PTE(9), 0);
	ISHST();
	tlbi(VALE1IS, ARG(9, 4));
	tlbi(VALE1IS, ARG(9, 5));
	ISH();
	check(root, 9, 9);
	expect("a pair of ASIDs", "");

	/* Contiguous groups of 16: one as it should be, one entry of it gone, one without the bit. */
	for (i = 0; i < 16; i++)
		store(PTE(32 + i), (LEAF(32 + i) & ~PT_DBM) | PT_CONT);
	all();
	check(root, 35, 35);
	expect("a Contiguous group", "");
	store(PTE(35), 0);
	all();
	check(root, 35, 35);
	expect("one entry of a Contiguous group gone", "contig/differs");
	check(root, 40, 40);
	expect("the same, asked about another entry", "contig/differs");
	for (i = 0; i < 16; i++)
		store(PTE(32 + i), LEAF(32 + i) & ~PT_DBM);
	store(PTE(35), 0);
	all();
	check(root, 32, 47);
	expect("a group that was split before", "");
	for (i = 0; i < 16; i++)
		store(PTE(32 + i), 0);
	all();

	/* A block becomes a table of its pages, while one CPU may not see that live. */
	judge_opt.weak = 1 << 1;
	store(BASE + 20 * 4096, PART(0));
	ISHST();
	for (i = 0; i < 3; i++) {
		root->cpus = root->loaded = 3;
		judge_cpu_live(1);
		store(BASE + 2 * 4096 + 8, 0);
		all();
		store(BASE + 2 * 4096 + 8, PART(0) & ~PT_TABLE);
		ISHST();
		if (i == 2) {
			judge_cpu_off(1);
		} else if (i == 1) {
			root->loaded = 1;
			judge_site(1, 0x2000);
			tlbi(VMALLE1, 0);
			NSH();
			judge_site(0, 0x1000);
		}
		store(BASE + 2 * 4096 + 8, TABLE(20));
		ISHST();
		expect(i == 2 ? "size changed live while the weak CPU was off" :
		       i == 1 ? "size changed live while the weak CPU was out of the way" :
		       "size changed live under a weak CPU", i ? "" : "bbm/size");
	}
	/* What a CPU held that is off now, and what the others hold. */
	judge_cpu_live(1);
	root->cpus = root->loaded = 3;
	store(BASE + 2 * 4096 + 8, 0);
	ISHST();
	judge_cpu_off(1);
	tlbi(VMALLE1, 0);
	NSH();
	check(root, 512, 515);
	expect("a local flush, while the other CPU is off", "");
	judge_cpu_live(1);
	judge_opt.weak = 0;
	root->cpus = root->loaded = 3;
	store(BASE + 2 * 4096 + 8, 0);
	all();

	/* Another CPU's store is made visible by a DSB of the CPU that flushes. */
	ISHST();
	judge_site(1, 0x2000);
	ISHST();
	store(PTE(30), 0);
	judge_site(0, 0x1000);
	tlbi(VAE1IS, ARG(30, 5));
	ISH();
	check(root, 30, 30);
	expect("flushed by a CPU without a DSB since another stored", "stale/unordered order/store");
	judge_site(1, 0x2000);
	store(PTE(31), 0);
	judge_site(0, 0x1000);
	ISHST();
	tlbi(VAE1IS, ARG(31, 5));
	ISH();
	judge_site(1, 0x2000);
	ISHST();
	judge_site(0, 0x1000);
	check(root, 31, 31);
	expect("flushed by a CPU with a DSB since another stored", "");

	/* The tables go: last level first, then walk caches, then reuse. */
	store(BASE + 2 * 4096, 0);
	ISHST();
	tlbi(VAE1IS, ARG(0, 4));
	ISH();
	store(PTE(20), 0x1234);
	check(root, 0, 0);
	expect("walk cache dropped before reuse", "");
	check(root, 10, 10);
	expect("pages of a table that went, one of them flushed", "stale/narrow");
	store(BASE + 1 * 4096, 0);
	ISHST();
	store(BASE + 2 * 4096 + 8, 1);
	expect("reused before the flush", "walk/missing");

	store(BASE, 0);
	nr++;
	pt_root_unload(root, 0, false);
	pt_root_unload(root, 1, false);
	for (root = pt_roots(); root && root->base != BASE; root = root->next)
		;
	failed += root != NULL;
	printf("%sok %u an empty tree that no CPU uses is forgotten\n", root ? "not " : "", nr);

	/* First tables of 512 bytes in one page, as 64K pages and 48 bits have them. */
	first[0] = pt_root_get(BASE + 0x400000, false, 16, 48, false);
	first[1] = pt_root_get(BASE + 0x400200, false, 16, 48, false);
	for (i = 0; i < 2; i++) {
		uint64_t at = BASE + 0x410000 + i * 0x20000;

		judge_root_asid(first[i], 20 + 2 * i);
		first[i]->cpus = first[i]->loaded = 1;
		store(at + 0x10000, (BASE + 0x800000 + i * 0x10000) | 0x40000000000f43ULL | PT_DBM);
		store(at, (at + 0x10000) | 3);
		ISHST();
		store(BASE + 0x400000 + i * 0x200, at | 3);
		ISHST();
	}
	nr++;
	i = pt_walk(first[0], 0, &e) && pt_address(e.desc, 0x10000) == BASE + 0x800000 &&
	    pt_walk(first[1], 0, &e) && pt_address(e.desc, 0x10000) == BASE + 0x810000;
	failed += !i;
	printf("%sok %u two first tables in one page\n", i ? "" : "not ", nr);
	for (i = 0; i < 2; i++) {
		struct range r = { .root = first[i], .end = 0xffff };

		store(BASE + 0x420000 + i * 0x20000, 0);
		ISHST();
		tlbi(VALE1IS, ARG(0, 20));
		ISH();
		judge_checkpoint("here", &r);
		expect(i ? "the other tree's ASID" : "the tree's own ASID", i ? "stale/asid" : "");
	}
	store(BASE + 0x400000, 0);
	pt_root_unload(first[0], 0, false);
	nr++;
	i = !pt_walk(first[1], 0, &e) && e.level == 3;
	failed += !i;
	printf("%sok %u one of them goes, the other stays\n", i ? "" : "not ", nr);
	printf("1..%u\n", nr);
	return failed != 0;
}
