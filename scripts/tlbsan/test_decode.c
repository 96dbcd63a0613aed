// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of decode.c on the host: TAP. */
#include <stdio.h>
#include <string.h>

#include "decode.h"

static unsigned int nr, failed;

static void ok(int good, const char *what)
{
	nr++;
	if (!good)
		failed++;
	printf("%sok %u %s\n", good ? "" : "not ", nr, what);
}

/* SYS #op1, C8, Cm, #op2, X0, as the manual's table of TLBI has it. */
static uint32_t sys(unsigned int op1, unsigned int crm, unsigned int op2, unsigned int crn)
{
	return 0xd5080000 | op1 << 16 | crn << 12 | crm << 8 | op2 << 5;
}

static void names(void)
{
	static const struct {
		unsigned int op1, crm, op2;
		const char *name;
		enum tlbi_what what;
		bool range, last, any, broadcast;
	} t[] = {
		{ 0, 7, 0, "VMALLE1", TLBI_ALL, 0, 0, 0, 0 },
		{ 0, 3, 0, "VMALLE1IS", TLBI_ALL, 0, 0, 0, 1 },
		{ 0, 1, 0, "VMALLE1OS", TLBI_ALL, 0, 0, 0, 1 },
		{ 0, 7, 1, "VAE1", TLBI_VA, 0, 0, 0, 0 },
		{ 0, 3, 1, "VAE1IS", TLBI_VA, 0, 0, 0, 1 },
		{ 0, 3, 2, "ASIDE1IS", TLBI_ASID, 0, 0, 0, 1 },
		{ 0, 3, 3, "VAAE1IS", TLBI_VA, 0, 0, 1, 1 },
		{ 0, 3, 5, "VALE1IS", TLBI_VA, 0, 1, 0, 1 },
		{ 0, 3, 7, "VAALE1IS", TLBI_VA, 0, 1, 1, 1 },
		{ 0, 7, 7, "VAALE1", TLBI_VA, 0, 1, 1, 0 },
		{ 0, 2, 1, "RVAE1IS", TLBI_VA, 1, 0, 0, 1 },
		{ 0, 5, 3, "RVAAE1OS", TLBI_VA, 1, 0, 1, 1 },
		{ 0, 6, 5, "RVALE1", TLBI_VA, 1, 1, 0, 0 },
		{ 0, 2, 7, "RVAALE1IS", TLBI_VA, 1, 1, 1, 1 },
		{ 4, 3, 0, "ALLE2IS", TLBI_ALL, 0, 0, 0, 1 },
		{ 4, 7, 1, "VAE2", TLBI_VA, 0, 0, 0, 0 },
		{ 4, 3, 4, "ALLE1IS", TLBI_ALL, 0, 0, 0, 1 },
		{ 4, 7, 6, "VMALLS12E1", TLBI_ALL, 0, 0, 0, 0 },
		{ 4, 2, 5, "RVALE2IS", TLBI_VA, 1, 1, 0, 1 },
	};
	struct tlbi d;
	char what[64];
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		int good = decode_tlbi(sys(t[i].op1, t[i].crm, t[i].op2, 8), &d) &&
			!strcmp(d.name, t[i].name) && d.what == t[i].what &&
			d.range == t[i].range && d.last == t[i].last &&
			d.any_asid == t[i].any && d.broadcast == t[i].broadcast;

		snprintf(what, sizeof(what), "TLBI %s", t[i].name);
		ok(good, what);
	}
	ok(decode_tlbi(sys(0, 3, 1, 9), &d) && !strcmp(d.name, "VAE1ISNXS"), "TLBI VAE1ISNXS");
	ok(!decode_tlbi(sys(0, 3, 1, 7), &d), "no TLBI with Cn 7");
	ok(!decode_tlbi(sys(3, 3, 1, 8), &d), "no TLBI with op1 3");
	ok(!decode_tlbi(sys(0, 2, 0, 8), &d), "no range of all");
}

static void others(void)
{
	static const struct {
		uint32_t op;
		enum insn_kind kind;
		bool loads, stores, shared;
		const char *what;
	} t[] = {
		{ 0xd5033b9f, INSN_DSB, 1, 1, 1, "dsb ish" },
		{ 0xd5033a9f, INSN_DSB, 0, 1, 1, "dsb ishst" },
		{ 0xd503399f, INSN_DSB, 1, 0, 1, "dsb ishld" },
		{ 0xd503379f, INSN_DSB, 1, 1, 0, "dsb nsh" },
		{ 0xd5033f9f, INSN_DSB, 1, 1, 1, "dsb sy" },
		{ 0xd5033abf, INSN_DMB, 0, 1, 1, "dmb ishst" },
		{ 0xd503309f, INSN_OTHER, 0, 0, 0, "ssbb is no dsb" },
		{ 0xd503349f, INSN_OTHER, 0, 0, 0, "pssbb is no dsb" },
		{ 0xd5033fdf, INSN_OTHER, 0, 0, 0, "isb" },
		{ 0xd5182000, INSN_MSR, 0, 0, 0, "msr ttbr0_el1" },
		{ 0xd5182023, INSN_MSR, 0, 0, 0, "msr ttbr1_el1, x3" },
		{ 0xd5382020, INSN_OTHER, 0, 0, 0, "mrs ttbr1_el1" },
		{ 0xd50b7423, INSN_ZVA, 0, 0, 0, "dc zva, x3" },
		{ 0xd53b00e1, INSN_DCZID, 0, 0, 0, "mrs x1, dczid_el0" },
		{ 0xd65f03c0, INSN_RET, 0, 0, 0, "ret" },
		{ 0xd65f0bff, INSN_RET, 0, 0, 0, "retaa" },
		{ 0xd5032b7f, INSN_MARK_RANGE, 0, 0, 0, "hint #91" },
		{ 0xd5032b9f, INSN_MARK_LABEL, 0, 0, 0, "hint #92" },
		{ 0xd503201f, INSN_OTHER, 0, 0, 0, "nop" },
		{ 0xd4000002, INSN_CALL_OUT, 0, 0, 0, "hvc #0" },
		{ 0xd4000003, INSN_CALL_OUT, 0, 0, 0, "smc #0" },
		{ 0xd4000001, INSN_OTHER, 0, 0, 0, "svc #0" },
		{ 0xd4000022, INSN_OTHER, 0, 0, 0, "hvc #1" },
		{ 0xf9000020, INSN_OTHER, 0, 0, 0, "str" },
	};
	struct insn d;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		decode_insn(t[i].op, &d);
		ok(d.kind == t[i].kind && d.loads == t[i].loads && d.stores == t[i].stores &&
		   d.shared == t[i].shared, t[i].what);
	}
	decode_insn(0xd5182023, &d);
	ok(d.rt == 3 && d.reg == MSR_TTBR1, "register of msr ttbr1_el1, x3");
	ok(decode_atomic(0xc85ffc20) && decode_atomic(0xf8208041) && decode_atomic(0xc8a07c41) &&
	   !decode_atomic(0xf9000020) && !decode_atomic(0xa9000440), "atomic instructions");
}

/* What the manual's formula gives, in 128 bits so that nothing wraps. */
static unsigned int ranges(bool ds)
{
	static const uint64_t bases[] = { 0, 1, 0x12345, 0xfffffffff, 0x1000000000, 0x1ffffff000,
					  0x1fffffffff };
	unsigned int tg, scale, num, ttl, b, wrong = 0;
	struct tlbi t;
	struct tlbi_span s;

	decode_tlbi(sys(0, 2, 7, 8), &t);
	for (tg = 1; tg <= 3; tg++)
	for (scale = 0; scale < 4; scale++)
	for (num = 0; num < 32; num++)
	for (ttl = 0; ttl < 4; ttl++)
	for (b = 0; b < sizeof(bases) / sizeof(bases[0]); b++) {
		static const unsigned int shifts[] = { 0, 12, 14, 16 };
		unsigned int g = shifts[tg], unit = ds ? 16 : g, block = g + (3 - ttl) * (g - 3);
		uint64_t arg = bases[b] | (uint64_t)ttl << 37 | (uint64_t)num << 39 |
			       (uint64_t)scale << 44 | (uint64_t)tg << 46 | 0x1234ULL << 48;
		unsigned __int128 start = (unsigned __int128)bases[b] << unit, end;
		int bad;

		if (bases[b] >> 36)
			start += (((unsigned __int128)1 << 64) - ((unsigned __int128)1 << (37 + unit)));
		end = start + (((unsigned __int128)num + 1) << (5 * scale + 1 + g)) - 1;
		if (end >> 64)
			end = UINT64_MAX;
		bad = ttl && (start & ((1ULL << block) - 1));
		decode_span(&t, arg, g, ds, &s);
		if (s.start != (uint64_t)start || s.end != (uint64_t)end || s.asid != 0x1234 ||
		    s.granule != g || s.level != (ttl ? (int)ttl : -1) || !s.bad == !!bad)
			wrong++;
	}
	return wrong;
}

static void single(void)
{
	struct tlbi t;
	struct tlbi_span s;
	unsigned int g, wrong = 0, i;

	decode_tlbi(sys(0, 3, 5, 8), &t);
	for (g = 12; g <= 16; g += 2) {
		for (i = 0; i < 56 - g; i++) {
			uint64_t va = (1ULL << (g + i)) & ((1ULL << 56) - 1), full = va;

			if (va >> 55)
				full |= 0xffULL << 56;
			decode_span(&t, (va >> 12) | 0x77ULL << 48, g, false, &s);
			if (s.start != full || s.end != full + (1ULL << g) - 1 || s.asid != 0x77 ||
			    s.level != -1 || s.bad)
				wrong++;
		}
	}
	ok(!wrong, "by address: every bit, each granule");
	decode_span(&t, 0x5123, 14, false, &s);
	ok(s.start == 0x5120000 && s.end == 0x5123fff, "16K: bits below the granule do not count");
	decode_span(&t, 0x5123 | 7ULL << 44, 12, false, &s);
	ok(s.level == 3 && s.granule == 12, "hint: 4K, level 3");
	decode_span(&t, 0x5120 | 10ULL << 44, 14, false, &s);
	ok(s.level == 2 && s.granule == 14, "hint: 16K, level 2");
	decode_span(&t, 0x5120 | 3ULL << 44, 12, false, &s);
	ok(s.level == -1, "hint without a granule is none");
	decode_span(&t, 0x5120 | 4ULL << 44, 12, false, &s);
	ok(s.level == -1, "level 0 of 4K is no hint without DS");
	decode_span(&t, 0x5120 | 4ULL << 44, 12, true, &s);
	ok(s.level == 0, "level 0 of 4K is one with DS");
	decode_span(&t, 0xfffffffffffULL, 12, false, &s);
	ok(s.start == 0xfffffffffffff000 && s.end == UINT64_MAX, "last page of the address space");
	decode_tlbi(sys(0, 2, 1, 8), &t);
	decode_span(&t, 0x1000, 12, false, &s);
	ok(s.bad && s.end == 0, "range without a granule names nothing");
}

int main(void)
{
	printf("TAP version 13\n");
	names();
	others();
	single();
	ok(!ranges(false), "by range: each TG, SCALE, NUM, TTL, seven bases");
	ok(!ranges(true), "by range with DS: the same");
	printf("1..%u\n", nr);
	return failed != 0;
}
