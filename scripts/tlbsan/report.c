// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "syms.h"

#define MAX_SITES	4096

static FILE *text, *lines, *summary;
static char label[64];
static uint64_t counts[KIND_COUNT], repeated;

/* What has been reported: once per kind, site and checkpoint (and label). */
static struct seen {
	enum kind kind;
	const char *cause;
	const char *checkpoint;
	uint64_t made;
	uint64_t at;
	uint64_t label;
} seen[MAX_SITES];
static unsigned int nr_seen;

static FILE *create(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		perror(path);
	else
		setvbuf(f, NULL, _IOLBF, 0);
	return f;
}

bool report_open(const char *dir)
{
	text = create(dir, "report.txt");
	lines = create(dir, "reports.tsv");
	summary = create(dir, "summary.tsv");
	return text && lines && summary;
}

static uint64_t hash(const char *s)
{
	uint64_t h = 1469598103934665603ULL;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211ULL;
	return h;
}

/* What a marker says that comes next. */
void report_label(const char *s)
{
	char *c;

	snprintf(label, sizeof(label), "%s", s);
	for (c = label; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c > '~')
			*c = '_';
	fprintf(lines, "TLBSAN\tlabel\t%s\n", label);
}

/* For the machine too: something about the run. */
void report_note(const char *fmt, ...)
{
	va_list ap;

	fprintf(lines, "TLBSAN\tnote\t");
	va_start(ap, fmt);
	vfprintf(lines, fmt, ap);
	va_end(ap);
	fputc('\n', lines);
}

/* At boot the kernel runs at its physical address, too. */
static void name_of(uint64_t pc, char *buf, size_t size)
{
	struct pt_entry leaf;

	if (!(pc >> 55) && judge_kernel() && pt_walk(judge_kernel(), syms_text(), &leaf)) {
		uint64_t pa = pt_address(leaf.desc, leaf.size) + (syms_text() & (leaf.size - 1));

		if (pc >= pa && pc - pa < 128 << 20)
			pc += syms_text() - pa;
	}
	syms_name(pc, buf, size);
}

static bool is_new(const struct report *r)
{
	struct seen s = {
		.kind = r->kind, .cause = r->cause, .checkpoint = r->checkpoint,
		.made = r->made.pc, .at = r->checkpoint ? 0 : r->at.pc, .label = hash(label),
	};
	unsigned int i;

	for (i = 0; i < nr_seen; i++)
		if (seen[i].kind == s.kind && seen[i].cause == s.cause &&
		    seen[i].checkpoint == s.checkpoint && seen[i].made == s.made &&
		    seen[i].at == s.at && seen[i].label == s.label)
			return false;
	if (nr_seen < MAX_SITES)
		seen[nr_seen++] = s;
	return true;
}

static void event(const struct event *e, void *arg)
{
	char pc[96];

	(void)arg;
	name_of(e->site.pc, pc, sizeof(pc));
	if (!e->is_tlbi) {
		fprintf(text, "  #%llu CPU %u stored %#018llx over %#018llx, for %#llx-%#llx: %s\n",
			(unsigned long long)e->seq, e->site.cpu, (unsigned long long)e->desc,
			(unsigned long long)e->old, (unsigned long long)e->va,
			(unsigned long long)(e->va + e->size - 1), pc);
		return;
	}
	fprintf(text, "  #%llu CPU %u TLBI %s", (unsigned long long)e->seq, e->site.cpu, e->tlbi.name);
	if (e->tlbi.what == TLBI_VA)
		fprintf(text, " %#llx-%#llx", (unsigned long long)e->span.start,
			(unsigned long long)e->span.end);
	if (e->tlbi.what != TLBI_ALL && !e->tlbi.any_asid)
		fprintf(text, " asid %u", e->span.asid);
	if (e->span.level >= 0)
		fprintf(text, " level %d", e->span.level);
	if (e->span.bad)
		fprintf(text, " (%s)", e->span.bad);
	fprintf(text, "%s: %s\n", e->done ? "" : ", not completed by a DSB", pc);
}

static const char *said(enum kind kind)
{
	switch (kind) {
	case KIND_STALE:
		return "a stale translation is held";
	case KIND_WALK:
		return "a stale walk-cache entry is held";
	case KIND_BBM:
		return "no break-before-make";
	case KIND_CONTIG:
		return "Contiguous group not uniform";
	default:
		return "page-table store not ordered";
	}
}

void report_one(const struct report *r)
{
	char at[96], made[96], where[32];

	if (!is_new(r)) {
		repeated++;
		return;
	}
	counts[r->kind]++;
	name_of(r->at.pc, at, sizeof(at));
	name_of(r->made.pc, made, sizeof(made));
	if (r->root)
		snprintf(where, sizeof(where), "user ASID %u", r->root->asid);
	else
		snprintf(where, sizeof(where), "kernel");

	fprintf(text, "==================================================================\n");
	fprintf(text, "TLBSAN: %s (%s) in %s\n", said(r->kind), r->cause,
		r->checkpoint ? r->checkpoint : at);
	fprintf(text, "Addresses %#llx-%#llx of %s, on CPU %u at %s\n", (unsigned long long)r->va,
		(unsigned long long)(r->va + r->size - 1), where, r->at.cpu, at);
	fprintf(text, "%s\n", r->detail);
	fprintf(text, "Held: %#llx-%#llx, level %d, descriptor %#018llx; the tables say %#018llx\n",
		(unsigned long long)r->held_va, (unsigned long long)(r->held_va + r->held_size - 1),
		r->level, (unsigned long long)r->old, (unsigned long long)r->now);
	fprintf(text, "Changed by CPU %u at %s\n", r->made.cpu, made);
	if (label[0])
		fprintf(text, "While the guest says: %s\n", label);
	fprintf(text, "Last stores and TLBIs there, the latest first:\n");
	judge_events(r, event, NULL, 6);
	fprintf(text, "\n");

	fprintf(lines, "TLBSAN\treport\tkind=%s\tcause=%s\tcheckpoint=%s\tlabel=%s\tcpu=%u\tat=%s\tmade=%s"
		"\tspace=%s\tva=%#llx\tsize=%#llx\theld_va=%#llx\theld_size=%#llx\tlevel=%d\told=%#llx\tnow=%#llx\n",
		kind_name[r->kind], r->cause, r->checkpoint ? r->checkpoint : "-",
		label[0] ? label : "-", r->at.cpu, at, made, r->root ? "user" : "kernel",
		(unsigned long long)r->va, (unsigned long long)r->size,
		(unsigned long long)r->held_va, (unsigned long long)r->held_size, r->level,
		(unsigned long long)r->old, (unsigned long long)r->now);
}

void report_count(const char *key, uint64_t value)
{
	fprintf(summary, "%s\t%llu\n", key, (unsigned long long)value);
}

uint64_t report_total(void)
{
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i < KIND_COUNT; i++)
		total += counts[i];
	return total;
}

/* The line "end" says that the run came to its end. */
void report_close(void)
{
	char key[32];
	unsigned int i;

	for (i = 0; i < KIND_COUNT; i++) {
		snprintf(key, sizeof(key), "reports_%s", kind_name[i]);
		report_count(key, counts[i]);
	}
	report_count("reports", report_total());
	report_count("repeated", repeated);
	fprintf(summary, "end\n");
	fclose(summary);
	fclose(text);
	fclose(lines);
}
