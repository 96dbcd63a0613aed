// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plugin: what QEMU executes, told to the shadow (pt.c) and to the judgement
 * (judge.c).
 *
 * Code at EL0 is left alone: it cannot write page tables. Of all other code, every
 * store is seen, and system instructions that matter (decode.c).
 *
 * Each CPU has a thread (-accel tcg,thread=multi): with one thread for several
 * CPUs, QEMU 10.0 tells a callback the CPU that a block was translated for, not
 * the one that executes it. One lock orders events. A callback for a store comes
 * after it, on the same CPU: what the guest orders by locks of its own is in that
 * order here too. Stores to pages that are no tables take no lock.
 *
 * Arguments: out=DIRECTORY vmlinux=FILE checkpoints=FILE bbml2=on|off weak=CPU
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qemu-plugin.h>

#include "checkpoints.h"
#include "decode.h"
#include "judge.h"
#include "pt.h"
#include "report.h"
#include "syms.h"

#define MAX_RETURNS	256

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* An instruction that is told when it executes. Kept for the time of the run. */
struct site_insn {
	uint64_t pc;
	struct insn insn;
};

static struct cpu {
	struct qemu_plugin_register *x[31];
	struct qemu_plugin_register *sp;
	struct qemu_plugin_register *cpsr;
	uint64_t tcr;
	bool mmu;
	unsigned int asid;
	struct pt_root *ttbr0;
	struct pt_root *ttbr1;
} cpus[PT_MAX_CPUS];

/* Calls of checkpoints that have not returned: by return address and stack. */
static struct call {
	uint64_t lr;
	uint64_t sp;
	struct checkpoint *cp;
	struct range range;
	uint64_t root_id;
} calls[MAX_RETURNS];
static unsigned int nr_calls;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread GByteArray *thread_bytes;
static unsigned int zva_size = 64;
static bool had_user;			/* a tree with an ASID was loaded */
static uint64_t zva_lost, tlbis, barriers, markers, lost_calls, roots_refused;

static GByteArray *buffer(void)
{
	if (!thread_bytes)
		thread_bytes = g_byte_array_new();
	g_byte_array_set_size(thread_bytes, 0);
	return thread_bytes;
}

static uint64_t read_reg(struct qemu_plugin_register *reg)
{
	GByteArray *bytes = buffer();
	uint64_t v = 0;
	int n;

	if (!reg)
		return 0;
	n = qemu_plugin_read_register(reg, bytes);
	if (n > 0)
		memcpy(&v, bytes->data, n < 8 ? n : 8);
	return v;
}

static uint64_t operand(unsigned int vcpu, unsigned int rt)
{
	return rt < 31 ? read_reg(cpus[vcpu].x[rt]) : 0;
}

static void vcpu_init(qemu_plugin_id_t id, unsigned int vcpu)
{
	GArray *regs;
	guint i;

	(void)id;
	if (vcpu >= PT_MAX_CPUS) {
		fprintf(stderr, "tlbsan: more than %d CPUs\n", PT_MAX_CPUS);
		exit(1);
	}
	regs = qemu_plugin_get_registers();
	for (i = 0; i < regs->len; i++) {
		qemu_plugin_reg_descriptor *d = &g_array_index(regs, qemu_plugin_reg_descriptor, i);
		char *end;

		if (!strcmp(d->name, "sp")) {
			cpus[vcpu].sp = d->handle;
		} else if (!strcmp(d->name, "cpsr")) {
			cpus[vcpu].cpsr = d->handle;
		} else if (d->name[0] == 'x' && d->name[1]) {
			unsigned long n = strtoul(d->name + 1, &end, 10);

			if (!*end && n < 31)
				cpus[vcpu].x[n] = d->handle;
		}
	}
	g_array_free(regs, TRUE);
	if (!cpus[vcpu].x[0] || !cpus[vcpu].sp || !cpus[vcpu].cpsr) {
		fprintf(stderr, "tlbsan: this QEMU does not show the registers of its CPUs\n");
		exit(1);
	}
}

/* Memory as the kernel writes it. */

/* In the low bits of what a store's callback is given, beside the address. */
#define STORE_ATOMIC	1

static void table_written(unsigned int vcpu, uint64_t pc, uint64_t pa, unsigned int size)
{
	pthread_mutex_lock(&lock);
	judge_site(vcpu, pc);
	if (pt_flags(pa) & PT_PAGE_WATCHED)
		judge_watched_store(pa, size);
	if (pt_flags(pa) & PT_PAGE_TABLE)
		pt_stored(pa, size);
	pthread_mutex_unlock(&lock);
}

static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t va, void *udata)
{
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, va);
	unsigned int size = 1U << qemu_plugin_mem_size_shift(info);
	uint64_t pa, pc = (uintptr_t)udata & ~3ULL;
	qemu_plugin_mem_value v;

	if (!hw || qemu_plugin_hwaddr_is_io(hw))
		return;
	pa = qemu_plugin_hwaddr_phys_addr(hw);
	if (!pt_in_ram(pa))
		return;
	/* What crosses a page is no store to an entry; its first part will do. */
	if ((pa & 4095) + size > 4096)
		size = 4096 - (pa & 4095);
	v = qemu_plugin_mem_get_value(info);
	if (v.type == QEMU_PLUGIN_MEM_VALUE_U128)
		memcpy(pt_mirror + (pa - PT_RAM_BASE), &v.data.u128, size);
	else
		memcpy(pt_mirror + (pa - PT_RAM_BASE), &v.data, size);
	judge_note_store(pa, vcpu);
	if (!pt_flags(pa))
		return;
	if ((uintptr_t)udata & STORE_ATOMIC) {
		/* The value that QEMU tells is the operand: look at the result. */
		GByteArray *bytes = buffer();

		if (qemu_plugin_read_memory_vaddr(va, bytes, size))
			memcpy(pt_mirror + (pa - PT_RAM_BASE), bytes->data, size);
	}
	table_written(vcpu, pc, pa, size);
}

/* Where an address of the kernel is, by the shadow. */
static bool physical(unsigned int vcpu, uint64_t va, uint64_t *pa)
{
	struct cpu *c = &cpus[vcpu];
	bool upper = va >> 55 & 1;
	struct pt_root *root = upper ? c->ttbr1 : c->ttbr0;
	struct pt_entry leaf;

	if (!c->mmu) {
		*pa = va;
		return true;
	}
	if (!root || !pt_walk(root, va, &leaf))
		return false;
	*pa = pt_address(leaf.desc, leaf.size) + (va & (leaf.size - 1));
	return true;
}

static void on_zva(unsigned int vcpu, const struct site_insn *s)
{
	unsigned int size = zva_size;
	uint64_t pa, va = operand(vcpu, s->insn.rt) & ~(uint64_t)(size - 1);

	pthread_mutex_lock(&lock);
	if (!physical(vcpu, va, &pa) || !pt_in_ram(pa)) {
		zva_lost++;
		pa = 0;
	}
	pthread_mutex_unlock(&lock);
	if (!pa)
		return;
	memset(pt_mirror + (pa - PT_RAM_BASE), 0, size);
	judge_note_store(pa, vcpu);
	if (pt_flags(pa))
		table_written(vcpu, s->pc, pa, size);
}

/* System registers. */

static unsigned int granule(const struct cpu *c, bool upper)
{
	/* TG0 and TG1 have different encodings. */
	static const unsigned int tg0[] = { 12, 16, 14, 12 }, tg1[] = { 12, 14, 12, 16 };

	return upper ? tg1[c->tcr >> 30 & 3] : tg0[c->tcr >> 14 & 3];
}

static void load_root(unsigned int vcpu, bool upper, uint64_t value)
{
	struct cpu *c = &cpus[vcpu];
	struct pt_root **reg = upper ? &c->ttbr1 : &c->ttbr0, *old = *reg, *root;
	unsigned int bits = 64 - (upper ? c->tcr >> 16 & 63 : c->tcr & 63);
	bool by_ttbr1 = c->tcr >> 22 & 1;
	unsigned int bytes = 8 * pt_first_entries(granule(c, upper), bits);
	uint64_t base = value & 0x0000fffffffffffeULL;

	/*
	 * The table is aligned to its size; where that is 64 bytes or more, the bits below
	 * are not the address's, or those of it above 48. 16K pages have tables of 16 bytes.
	 */
	base &= ~(uint64_t)((bytes < 64 ? bytes : 64) - 1);
	if (upper == by_ttbr1)
		c->asid = value >> 48;
	root = pt_root_get(base, upper, granule(c, upper), bits, c->tcr >> 59 & 1);
	if (!root)
		roots_refused++;
	if (root) {
		root->loaded |= 1U << vcpu;
		root->cpus |= 1U << vcpu;
		if (upper) {
			judge_cpu_live(vcpu);
			/*
			 * With user space there, another is KPTI's trampoline; an empty
			 * one is loaded to have no kernel mappings for a time.
			 */
			if (!had_user && !pt_root_empty(root))
				judge_kernel_root(root);
		} else {
			judge_root_asid(root, c->asid);
			if (c->asid)
				had_user = true;
		}
	}
	*reg = root;
	if (old && old != root)
		pt_root_unload(old, vcpu, upper ? !had_user : !old->asid);
}

static void on_msr(unsigned int vcpu, const struct site_insn *s)
{
	uint64_t v = operand(vcpu, s->insn.rt);

	switch (s->insn.reg) {
	case MSR_TTBR0:
		load_root(vcpu, false, v);
		break;
	case MSR_TTBR1:
		load_root(vcpu, true, v);
		break;
	case MSR_TCR:
		cpus[vcpu].tcr = v;
		judge_opt.asid_bits = v >> 36 & 1 ? 16 : 8;
		break;
	case MSR_MAIR:
		judge_mair(v);
		break;
	case MSR_SCTLR:
		cpus[vcpu].mmu = v & 1;
		break;
	}
}

static void on_call_out(unsigned int vcpu)
{
	if ((uint32_t)operand(vcpu, 0) != PSCI_CPU_OFF)
		return;
	judge_cpu_off(vcpu);
	cpus[vcpu].ttbr0 = cpus[vcpu].ttbr1 = NULL;
	cpus[vcpu].mmu = false;
}

/* Checkpoints. */

static void judge_now(const char *name, struct range *r)
{
	if (r->start <= r->end)
		judge_checkpoint(name, r);
}

/*
 * The same for the other addresses of the kernel's pages in a range: their aliases
 * in the linear map, which changes of vmalloc areas are to reach.
 */
static void judge_aliases(unsigned int vcpu, const char *name, const struct range *r)
{
	struct range by_oa = { .by_oa = true, .alias = true };
	struct pt_root *root = cpus[vcpu].ttbr1;
	struct pt_entry leaf;
	bool any = false;
	uint64_t va, oa;

	for (va = r->start; root && va < r->end; va += 1ULL << root->granule) {
		if (!pt_walk(root, va, &leaf))
			continue;
		oa = pt_address(leaf.desc, leaf.size) + (va & (leaf.size - 1));
		if (any && oa == by_oa.end + 1) {
			by_oa.end += 1ULL << root->granule;
			continue;
		}
		if (any)
			judge_checkpoint(name, &by_oa);
		any = true;
		by_oa.start = oa;
		by_oa.end = oa + (1ULL << root->granule) - 1;
	}
	if (any)
		judge_checkpoint(name, &by_oa);
}

static void on_marker(unsigned int vcpu, const struct site_insn *s)
{
	uint64_t x0 = operand(vcpu, 0), x1 = operand(vcpu, 1);
	struct range r = { .start = x0, .end = x1 - 1 };

	markers++;
	if (s->insn.kind == INSN_MARK_LABEL) {
		GByteArray *bytes = buffer();
		char text[64];

		if (x1 >= sizeof(text))
			x1 = sizeof(text) - 1;
		if (!qemu_plugin_read_memory_vaddr(x0, bytes, x1))
			return;
		memcpy(text, bytes->data, x1);
		text[x1] = 0;
		report_label(text);
		return;
	}
	if (!(x0 >> 55 & 1))
		r.root = cpus[vcpu].ttbr0;
	if (x0 < x1 && (r.root || x0 >> 55 & 1))
		judge_now("marker", &r);
}

static uint64_t value_of(const struct operand *op, const uint64_t *x)
{
	return op->constant ? op->value : x[op->reg];
}

/* The range that a call names, or false if it names none. */
static bool range_of(unsigned int vcpu, const struct checkpoint *cp, struct range *r)
{
	uint64_t x[8], a, b, pa;
	unsigned int i;
	struct pt_entry e;

	for (i = 0; i < 8; i++)
		x[i] = operand(vcpu, i);
	a = value_of(&cp->op[0], x);
	b = value_of(&cp->op[1], x);
	memset(r, 0, sizeof(*r));
	/* Pointers may have a tag. */
	if (cp->kind != RANGE_OUTPUT)
		a = (uint64_t)((int64_t)(a << 8) >> 8);
	r->start = a;
	switch (cp->kind) {
	case RANGE_PAGES:
		/* The number is an int: what lies above it in the register is not. */
		if ((int32_t)b <= 0)
			return false;
		r->end = a + ((uint64_t)(uint32_t)b << granule(&cpus[vcpu], true)) - 1;
		break;
	case RANGE_BYTES:
		if (!b)
			return false;
		r->end = a + b - 1;
		break;
	case RANGE_ENDS:
		r->end = (uint64_t)((int64_t)(b << 8) >> 8) - 1;
		break;
	case RANGE_OUTPUT:
		r->by_oa = true;
		r->end = a + b - 1;
		break;
	case RANGE_ENTRY:
		if (!physical(vcpu, a, &pa) || !pt_entry_at(pa, &e))
			return false;
		r->start = e.va;
		r->end = e.va + e.size - 1;
		r->root = e.root->upper ? NULL : e.root;
		return true;
	}
	if (cp->user) {
		r->root = cpus[vcpu].ttbr0;
		if (!r->root)
			return false;
	}
	return r->start <= r->end;
}

static void on_entry(unsigned int vcpu, void *udata)
{
	struct checkpoint *cp = udata;
	struct call c = { .cp = cp };

	pthread_mutex_lock(&lock);
	cp->hits++;
	if (!range_of(vcpu, cp, &c.range)) {
		pthread_mutex_unlock(&lock);
		return;
	}
	c.lr = operand(vcpu, 30);
	c.sp = read_reg(cpus[vcpu].sp);
	c.root_id = c.range.root ? c.range.root->id : 0;
	if (nr_calls == MAX_RETURNS) {
		/* Calls that never returned, because the task was killed. */
		memmove(calls, calls + 1, (MAX_RETURNS - 1) * sizeof(calls[0]));
		nr_calls--;
		lost_calls++;
	}
	calls[nr_calls++] = c;
	pthread_mutex_unlock(&lock);
}

static bool root_lives(const struct pt_root *root, uint64_t id)
{
	const struct pt_root *r;

	for (r = pt_roots(); r; r = r->next)
		if (r == root && r->id == id)
			return true;
	return false;
}

/*
 * A return instruction, before it executes: does it end one of the calls? The
 * function that returns need not be the one that was called, since calls at the
 * end are jumps. The return address may be signed: 48 bits of it have to do.
 */
static void on_return(unsigned int vcpu, const struct site_insn *s)
{
	uint64_t lr = operand(vcpu, s->insn.rt), sp = read_reg(cpus[vcpu].sp);
	unsigned int i = nr_calls;

	while (i--) {
		struct call c = calls[i];

		if (c.sp != sp || ((c.lr ^ lr) & 0xffffffffffffULL))
			continue;
		memmove(&calls[i], &calls[i + 1], (nr_calls - i - 1) * sizeof(calls[0]));
		nr_calls--;
		if (c.range.root && !root_lives(c.range.root, c.root_id))
			continue;
		if (c.cp->success && (uint32_t)operand(vcpu, 0))
			continue;
		judge_now(c.cp->name, &c.range);
		if (c.cp->kind == RANGE_PAGES && !c.cp->user)
			judge_aliases(vcpu, c.cp->name, &c.range);
	}
}

/* The register with the size of DC ZVA's block has been read, into rt. */
static void after_dczid(unsigned int vcpu, void *udata)
{
	zva_size = 4U << (operand(vcpu, (uintptr_t)udata) & 15);
}

static void on_insn(unsigned int vcpu, void *udata)
{
	const struct site_insn *s = udata;
	const struct cpu *c = &cpus[vcpu];
	struct tlbi_span span;

	if (s->insn.kind == INSN_RET && !__atomic_load_n(&nr_calls, __ATOMIC_RELAXED))
		return;
	if (s->insn.kind == INSN_ZVA) {
		on_zva(vcpu, s);
		return;
	}
	pthread_mutex_lock(&lock);
	judge_site(vcpu, s->pc);
	switch (s->insn.kind) {
	case INSN_TLBI:
		tlbis++;
		decode_span(&s->insn.tlbi, operand(vcpu, s->insn.rt), granule(c, true),
			    c->tcr >> 59 & 1, &span);
		/* Entries of EL2 are another regime's, unless the kernel runs there. */
		if (s->insn.tlbi.el == 1 || (read_reg(c->cpsr) >> 2 & 3) == 2)
			judge_tlbi(&s->insn.tlbi, &span);
		break;
	case INSN_DSB:
	case INSN_DMB:
		barriers++;
		judge_barrier(&s->insn);
		break;
	case INSN_MSR:
		on_msr(vcpu, s);
		break;
	case INSN_MARK_RANGE:
	case INSN_MARK_LABEL:
		on_marker(vcpu, s);
		break;
	case INSN_RET:
		on_return(vcpu, s);
		break;
	case INSN_CALL_OUT:
		on_call_out(vcpu);
		break;
	case INSN_ZVA:
	case INSN_DCZID:
	case INSN_OTHER:
		break;
	}
	pthread_mutex_unlock(&lock);
}

/* EL0 of the CPU that a block is translated for. */
static bool at_el0(void)
{
	return (read_reg(cpus[0].cpsr) >> 2 & 3) == 0;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	bool el0 = at_el0();
	int dczid = -1;

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t pc = qemu_plugin_insn_vaddr(insn);
		struct checkpoint *cp;
		uint32_t op = 0;
		struct insn d;

		if (qemu_plugin_insn_data(insn, &op, sizeof(op)) != sizeof(op))
			continue;
		decode_insn(op, &d);
		if (el0) {
			/* Markers work in programs too. */
			if (d.kind != INSN_MARK_RANGE && d.kind != INSN_MARK_LABEL)
				continue;
		} else {
			cp = checkpoints_at(pc);
			if (cp)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, on_entry,
								       QEMU_PLUGIN_CB_R_REGS, cp);
			qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_W,
							 (void *)(uintptr_t)(pc | (decode_atomic(op) ? STORE_ATOMIC : 0)));
		}
		/* QEMU shows this register only to the guest: look at what it got. */
		if (dczid >= 0)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, after_dczid, QEMU_PLUGIN_CB_R_REGS,
							       (void *)(uintptr_t)dczid);
		dczid = d.kind == INSN_DCZID ? (int)d.rt : -1;
		if (d.kind != INSN_OTHER && d.kind != INSN_DCZID) {
			struct site_insn *s = malloc(sizeof(*s));

			if (!s)
				abort();
			s->pc = pc;
			s->insn = d;
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_insn, QEMU_PLUGIN_CB_R_REGS, s);
		}
	}
}

static void at_exit(qemu_plugin_id_t id, void *udata)
{
	struct checkpoint *cp;
	char key[96];

	(void)id;
	(void)udata;
	pthread_mutex_lock(&lock);
	report_count("zva_lost", zva_lost);
	report_count("tlbi", tlbis);
	report_count("barriers", barriers);
	report_count("markers", markers);
	report_count("calls_lost", lost_calls);
	report_count("trees_refused", roots_refused);
	report_count("held_at_end", judge_held_count());
	for (cp = checkpoints_all(); cp; cp = cp->next) {
		snprintf(key, sizeof(key), "checkpoint_%s", cp->name);
		report_count(key, cp->hits);
	}
	report_close();
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	const char *out = NULL, *vmlinux = NULL, *list = NULL;
	int i;

	if (strcmp(info->target_name, "aarch64") || !info->system_emulation) {
		fprintf(stderr, "tlbsan: for a whole arm64 system only\n");
		return -1;
	}
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
		else if (!strncmp(argv[i], "vmlinux=", 8))
			vmlinux = argv[i] + 8;
		else if (!strncmp(argv[i], "checkpoints=", 12))
			list = argv[i] + 12;
		else if (!strcmp(argv[i], "bbml2=on"))
			judge_opt.bbml2 = true;
		else if (!strncmp(argv[i], "weak=", 5) && argv[i][5])
			judge_opt.weak |= 1U << (strtoul(argv[i] + 5, NULL, 10) % PT_MAX_CPUS);
		else if (strcmp(argv[i], "bbml2=off")) {
			fprintf(stderr, "tlbsan: unknown argument %s\n", argv[i]);
			return -1;
		}
	}
	if (!out || !vmlinux || !list) {
		fprintf(stderr, "tlbsan: out=, vmlinux= and checkpoints= are needed\n");
		return -1;
	}
	if (!report_open(out) || !syms_load(vmlinux) || !checkpoints_load(list))
		return -1;
	pt_init(&judge_watch);
	judge_init(report_one);
	qemu_plugin_register_vcpu_init_cb(id, vcpu_init);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
