// SPDX-License-Identifier: GPL-2.0-only
/*
 * A64 system instructions that matter to translations. The encodings are those of
 * the Arm Architecture Reference Manual, "System instruction encoding" (C5) and
 * the operands of TLBI.
 */
#include <stdio.h>
#include <string.h>

#include "decode.h"

#define FIELD(x, high, low)	(((x) >> (low)) & ((1ULL << ((high) - (low) + 1)) - 1))

static uint64_t sign_extend(uint64_t x, unsigned int top)
{
	return (uint64_t)((int64_t)(x << (63 - top)) >> (63 - top));
}

/* SYS #op1, Cn, Cm, #op2 with Cn 8, or 9 for those that do not wait for XS. */
bool decode_tlbi(uint32_t op, struct tlbi *tlbi)
{
	static const char * const domain[] = {
		[1] = "OS", [2] = "IS", [3] = "IS", [5] = "OS", [6] = "", [7] = "",
	};
	unsigned int op1 = FIELD(op, 18, 16), crn = FIELD(op, 15, 12);
	unsigned int crm = FIELD(op, 11, 8), op2 = FIELD(op, 7, 5);
	const char *what = NULL;

	memset(tlbi, 0, sizeof(*tlbi));
	if ((op & 0xfff80000) != 0xd5080000 || (crn != 8 && crn != 9))
		return false;
	if (op1 != 0 && op1 != 4)
		return false;

	tlbi->el = op1 ? 2 : 1;
	if (op1 == 4 && (crm == 0 || crm == 4)) {
		tlbi->what = TLBI_STAGE2;
		tlbi->el = 1;
		tlbi->last = op2 >= 4;
		tlbi->broadcast = crm == 0 || op2 == 0 || op2 == 3 || op2 == 4 || op2 == 7;
		snprintf(tlbi->name, sizeof(tlbi->name), "IPAS2");
		return true;
	}
	if (crm >= sizeof(domain) / sizeof(domain[0]) || !domain[crm])
		return false;
	tlbi->broadcast = *domain[crm];
	tlbi->range = crm == 2 || crm == 5 || crm == 6;
	tlbi->what = TLBI_VA;

	if (op1 == 0) {
		switch (op2) {
		case 0:
			what = "VMALLE1";
			tlbi->what = TLBI_ALL;
			break;
		case 1:
			what = "VAE1";
			break;
		case 2:
			what = "ASIDE1";
			tlbi->what = TLBI_ASID;
			break;
		case 3:
			what = "VAAE1";
			tlbi->any_asid = true;
			break;
		case 5:
			what = "VALE1";
			tlbi->last = true;
			break;
		case 7:
			what = "VAALE1";
			tlbi->last = true;
			tlbi->any_asid = true;
			break;
		}
	} else {
		switch (op2) {
		case 0:
			what = "ALLE2";
			tlbi->what = TLBI_ALL;
			break;
		case 1:
			what = "VAE2";
			break;
		case 4:
			what = "ALLE1";
			tlbi->what = TLBI_ALL;
			tlbi->el = 1;
			break;
		case 5:
			what = "VALE2";
			tlbi->last = true;
			break;
		case 6:
			what = "VMALLS12E1";
			tlbi->what = TLBI_ALL;
			tlbi->el = 1;
			break;
		}
	}
	if (!what || (tlbi->range && tlbi->what != TLBI_VA))
		return false;
	snprintf(tlbi->name, sizeof(tlbi->name), "%s%s%s%s", tlbi->range ? "R" : "", what,
		 domain[crm], crn == 9 ? "NXS" : "");
	return true;
}

static unsigned int granule_of(unsigned int tg)
{
	/* 4K, 16K, 64K; 0 is no granule. */
	return tg ? 10 + 2 * tg : 0;
}

/**
 * decode_span() - addresses, ASID and level of a TLBI's operand
 * @tlbi: the instruction
 * @operand: its register
 * @granule: log2 of the granule in use, for operations that name none
 * @ds: 52-bit addresses with 4K or 16K pages (TCR_EL1.DS): the base of a range
 *	is in units of 64K
 * @span: where to put it
 */
void decode_span(const struct tlbi *tlbi, uint64_t operand, unsigned int granule, bool ds,
		 struct tlbi_span *span)
{
	unsigned int ttl, shift;
	uint64_t length;

	memset(span, 0, sizeof(*span));
	span->level = -1;
	span->end = UINT64_MAX;
	if (tlbi->what == TLBI_ASID || tlbi->what == TLBI_VA)
		span->asid = FIELD(operand, 63, 48);
	if (tlbi->what != TLBI_VA)
		return;

	if (!tlbi->range) {
		ttl = FIELD(operand, 47, 44);
		span->granule = granule_of(ttl >> 2);
		/* Level 0 is a hint only where DS makes it a leaf's level. */
		if (span->granule && ((ttl & 3) || (ds && span->granule != 16)))
			span->level = ttl & 3;
		if (span->level == 1 && span->granule != 12 && !ds)
			span->level = -1;
		span->start = sign_extend(FIELD(operand, 43, 0) << 12, 55);
		span->start &= ~((1ULL << granule) - 1);
		span->end = span->start + (1ULL << granule) - 1;
		return;
	}

	span->granule = granule_of(FIELD(operand, 47, 46));
	if (!span->granule) {
		span->bad = "range without a granule";
		span->end = 0;
		return;
	}
	shift = ds ? 16 : span->granule;
	span->start = sign_extend(FIELD(operand, 36, 0) << shift, 36 + shift);
	length = (FIELD(operand, 43, 39) + 1) << (5 * FIELD(operand, 45, 44) + 1);
	length <<= span->granule;
	span->end = span->start + length - 1;
	/* A range that would pass the end of the address space ends there. */
	if (span->end < span->start)
		span->end = UINT64_MAX;
	ttl = FIELD(operand, 38, 37);
	if (ttl) {
		unsigned int block = span->granule + (3 - ttl) * (span->granule - 3);

		span->level = ttl;
		if (span->start & ((1ULL << block) - 1))
			span->bad = "base not aligned to the level that is hinted at";
	}
}

static void decode_barrier(uint32_t op, struct insn *insn)
{
	unsigned int crm = FIELD(op, 11, 8), op2 = FIELD(op, 7, 5);

	if (op2 == 1 && (crm & 3) == 2) {
		/* DSB nXS: full barriers only. */
		insn->kind = INSN_DSB;
		insn->loads = insn->stores = true;
	} else if ((op2 == 4 || op2 == 5) && (crm & 3)) {
		insn->kind = op2 == 4 ? INSN_DSB : INSN_DMB;
		insn->loads = crm & 1;
		insn->stores = crm & 2;
	} else {
		return;
	}
	/* Outer shareable 0, not shared 1, inner shareable 2, system 3. */
	insn->shared = crm >> 2 != 1;
}

/*
 * Is what a store leaves in memory more than the value it was given: exclusives,
 * which can fail, compare and swap, and atomic arithmetic?
 */
bool decode_atomic(uint32_t op)
{
	/* Exclusives, CAS, CASP: the class of loads and stores with op0 x0 and op2 0x. */
	if ((op & 0x3f000000) == 0x08000000)
		return true;
	/* LDADD and its like, SWP. */
	if ((op & 0x3f200c00) == 0x38200000)
		return true;
	/* Pairs of these (128-bit): LDCLRP, LDSETP, SWPP. */
	return (op & 0xff200c00) == 0x19200000;
}

void decode_insn(uint32_t op, struct insn *insn)
{
	static const struct {
		uint32_t op;
		enum msr_reg reg;
	} msr[] = {
		{ 0xd5181000, MSR_SCTLR },
		{ 0xd5182000, MSR_TTBR0 },
		{ 0xd5182020, MSR_TTBR1 },
		{ 0xd5182040, MSR_TCR },
		{ 0xd518a200, MSR_MAIR },
	};
	unsigned int i;

	memset(insn, 0, sizeof(*insn));
	if ((op & 0xfffffc1f) == 0xd65f0000 || op == 0xd65f0bff || op == 0xd65f0fff) {
		insn->kind = INSN_RET;
		insn->rt = op & 0x800 ? 30 : op >> 5 & 31;
		return;
	}
	if (op == 0xd4000002 || op == 0xd4000003) {
		insn->kind = INSN_CALL_OUT;
		return;
	}
	/* All others have the top byte of system instructions. */
	if (op >> 24 != 0xd5)
		return;
	insn->rt = op & 31;

	if ((op & 0xfffff01f) == 0xd503301f) {
		decode_barrier(op, insn);
	} else if (op == (0xd503201f | MARK_RANGE_HINT << 5)) {
		insn->kind = INSN_MARK_RANGE;
	} else if (op == (0xd503201f | MARK_LABEL_HINT << 5)) {
		insn->kind = INSN_MARK_LABEL;
	} else if ((op & 0xffffffe0) == 0xd50b7420 || (op & 0xffffffe0) == 0xd50b7480) {
		insn->kind = INSN_ZVA;
	} else if ((op & 0xffffffe0) == 0xd53b00e0) {
		insn->kind = INSN_DCZID;
	} else if (decode_tlbi(op, &insn->tlbi)) {
		insn->kind = INSN_TLBI;
	} else {
		for (i = 0; i < sizeof(msr) / sizeof(msr[0]); i++) {
			if ((op & 0xffffffe0) == msr[i].op) {
				insn->kind = INSN_MSR;
				insn->reg = msr[i].reg;
			}
		}
	}
}
