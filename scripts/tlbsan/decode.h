/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an A64 instruction does to translations, and which addresses the operand
 * of a TLBI names. Pure functions: bits in, meaning out.
 */
#ifndef TLBSAN_DECODE_H
#define TLBSAN_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum tlbi_what {
	TLBI_ALL,	/* all entries of the regime */
	TLBI_ASID,	/* non-global entries of one ASID */
	TLBI_VA,	/* by address */
	TLBI_STAGE2,	/* by intermediate physical address: not modelled */
};

/**
 * struct tlbi - a TLBI instruction without its operand
 * @what: what selects the entries
 * @el: 1 or 2, the regime; 1 at EL2 with VHE means the host's own
 * @range: the operand names a range
 * @last: entries of the last level only, no walk-cache entries
 * @any_asid: whatever ASID an entry has
 * @broadcast: the inner or outer shareable domain, not this CPU alone
 * @name: as it is written
 */
struct tlbi {
	enum tlbi_what what;
	unsigned int el;
	bool range;
	bool last;
	bool any_asid;
	bool broadcast;
	char name[20];
};

/**
 * struct tlbi_span - what the operand of a TLBI names
 * @start: first byte
 * @end: last byte, included, so that the end of the address space can be said
 * @asid: ASID in the operand
 * @level: level hint, or -1 for none
 * @granule: log2 of the granule that a hint or a range names, 0 if it names none
 * @bad: the architecture does not say what it does; the reason
 */
struct tlbi_span {
	uint64_t start;
	uint64_t end;
	unsigned int asid;
	int level;
	unsigned int granule;
	const char *bad;
};

enum insn_kind {
	INSN_OTHER,
	INSN_TLBI,
	INSN_DSB,
	INSN_DMB,
	INSN_MSR,
	INSN_ZVA,	/* zeroes a block of memory: DC ZVA, DC GZVA */
	INSN_DCZID,	/* reads how large that block is */
	INSN_RET,	/* return, with or without authentication */
	INSN_CALL_OUT,	/* HVC #0 or SMC #0: a call of the firmware, see PSCI_CPU_OFF */
	INSN_MARK_RANGE,
	INSN_MARK_LABEL,
};

enum msr_reg { MSR_TTBR0, MSR_TTBR1, MSR_TCR, MSR_MAIR, MSR_SCTLR };

/*
 * Markers are hints that no architecture version has given a meaning: a CPU does
 * nothing for them, in user space and in the kernel.
 */
#define MARK_RANGE_HINT	91	/* x0 to x1 (excluded) is to be judged now */
#define MARK_LABEL_HINT	92	/* x0: text, x1: its length; what is done next */

/* x0 of a call that turns the calling CPU off (Power State Coordination Interface, 5.1). */
#define PSCI_CPU_OFF	0x84000002

/**
 * struct insn - one decoded instruction
 * @kind: the rest depends on it
 * @rt: number of the operand register, 31 for XZR
 * @tlbi: for INSN_TLBI
 * @reg: for INSN_MSR
 * @loads: for barriers, loads before it are complete or ordered
 * @stores: for barriers, the same for stores
 * @shared: for barriers, for the inner shareable domain at least
 */
struct insn {
	enum insn_kind kind;
	unsigned int rt;
	struct tlbi tlbi;
	enum msr_reg reg;
	bool loads;
	bool stores;
	bool shared;
};

void decode_insn(uint32_t op, struct insn *insn);
bool decode_atomic(uint32_t op);
bool decode_tlbi(uint32_t op, struct tlbi *tlbi);
void decode_span(const struct tlbi *tlbi, uint64_t operand, unsigned int granule, bool ds,
		 struct tlbi_span *span);

#endif
