/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What TLBs and walk caches may hold, and whether that is right. Fed with changes
 * of the page tables (see pt.h), TLBIs and barriers.
 */
#ifndef TLBSAN_JUDGE_H
#define TLBSAN_JUDGE_H

#include "decode.h"
#include "pt.h"

/**
 * struct site - who did something
 * @pc: address of the instruction
 * @cpu: that executed it
 */
struct site {
	uint64_t pc;
	unsigned int cpu;
};

/**
 * struct range - what a checkpoint names
 * @root: tree of user space; NULL for the kernel's addresses
 * @by_oa: start and end are output addresses, of whatever kernel address
 * @alias: with by_oa: only what the tables still map, with less rights
 * @all: all addresses
 * @start: first byte
 * @end: last byte, included
 */
struct range {
	struct pt_root *root;
	bool by_oa;
	bool alias;
	bool all;
	uint64_t start;
	uint64_t end;
};

/*
 * What is reported. A stale translation has one of the causes below, from what
 * was done about it since the entry changed.
 */
enum kind {
	KIND_STALE,	/* held at a checkpoint, and it grants what the tables do not */
	KIND_WALK,	/* a walk-cache entry is held for what is no longer a table */
	KIND_BBM,	/* break-before-make was due */
	KIND_CONTIG,	/* a Contiguous group that is not uniform, at a checkpoint */
	KIND_ORDER,	/* a store to a table that nothing has made visible */
	KIND_COUNT,
};

extern const char * const kind_name[KIND_COUNT];

/* Tunables. */
struct judge_options {
	bool bbml2;	/* sizes may change live */
	uint32_t weak;	/* but not on these CPUs, as bits */
	unsigned int asid_bits;
	bool kpti;	/* ASIDs in pairs that differ in bit 0 */
};

extern struct judge_options judge_opt;

struct report {
	enum kind kind;
	const char *cause;
	char detail[160];
	const char *checkpoint;	/* or NULL: found at the store */
	struct site at;		/* of the checkpoint or store that showed it */
	struct site made;	/* of the store that changed the entry */
	struct pt_root *root;	/* NULL: kernel */
	uint64_t va;		/* first byte concerned, and how many */
	uint64_t size;
	uint64_t held_va;	/* of the translation that is held */
	uint64_t held_size;
	int level;
	uint64_t old;
	uint64_t now;
};

/* Recent events, for reports. */
struct event {
	uint64_t seq;
	struct site site;
	bool is_tlbi;
	/* a store */
	uint64_t root_id;
	uint64_t va;
	uint64_t size;
	uint64_t old;
	uint64_t desc;
	/* a TLBI */
	struct tlbi tlbi;
	struct tlbi_span span;
	uint64_t asid_root;
	bool done;
};

void judge_init(void (*report)(const struct report *r));
void judge_site(unsigned int cpu, uint64_t pc);
void judge_tlbi(const struct tlbi *tlbi, const struct tlbi_span *span);
void judge_barrier(const struct insn *insn);
void judge_cpu_live(unsigned int cpu);
void judge_cpu_off(unsigned int cpu);
void judge_kernel_root(struct pt_root *root);
struct pt_root *judge_kernel(void);
void judge_mair(uint64_t mair);
void judge_watched_store(uint64_t pa, unsigned int bytes);
void judge_root_asid(struct pt_root *root, unsigned int asid);
void judge_checkpoint(const char *name, const struct range *range);
void judge_note_store(uint64_t pa, unsigned int cpu);
uint64_t judge_held_count(void);
void judge_events(const struct report *r, void (*fn)(const struct event *e, void *arg), void *arg,
		  unsigned int most);

extern const struct pt_watch judge_watch;

#endif
