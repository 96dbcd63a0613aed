// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a step costs: time, instructions where the CPU has a counter that the
 * kernel can use, splits and bytes of page tables. Under emulation the time
 * says nothing about hardware.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "lmt.h"

#define NR_STATS	96

static DEFINE_MUTEX(stats_lock);	/* of the list of what the last run measured */
static struct {
	char key[40];
	char value[32];
} stats[NR_STATS];
static unsigned int nr_stats;

/* The kernel's counters; false, and zeros, where it has none. */
bool lmt_kstats_get(struct lmt_kstats *s)
{
#if LMT_PATCHED
	struct linear_map_stats k;

	linear_map_get_stats(&k);
	s->split[LMT_PUD] = k.split_pud;
	s->split[LMT_CONT_PMD] = k.split_cont_pmd;
	s->split[LMT_PMD] = k.split_pmd;
	s->split[LMT_CONT_PTE] = k.split_cont_pte;
	s->tables = k.split_tables;
	s->failed = k.split_failed;
	return true;
#else
	memset(s, 0, sizeof(*s));
	return false;
#endif
}

/* The kernel must have counted these splits since before, no more and no less. */
void lmt_check_splits(struct lmt *t, const struct lmt_kstats *before,
		      const u64 splits[LMT_NR_LEVELS])
{
	struct lmt_kstats now;
	u64 tables;
	int i;

	if (!lmt_kstats_get(&now))
		return;
	for (i = 0; i < LMT_PTE; i++)
		if (now.split[i] - before->split[i] != splits[i])
			lmt_fail(t, "the kernel counted %llu splits of %s leaves, expected %llu",
				 now.split[i] - before->split[i], lmt_level_name[i], splits[i]);
	tables = splits[LMT_PUD] + splits[LMT_PMD];
	if (now.tables - before->tables != tables)
		lmt_fail(t, "the kernel counted %llu tables for splits, expected %llu",
			 now.tables - before->tables, tables);
	if (now.failed != before->failed)
		lmt_fail(t, "the kernel counted a failed split");
}

/* A counter of instructions of this task, or NULL. */
void *lmt_counter_open(void)
{
#ifdef CONFIG_PERF_EVENTS
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.size = sizeof(attr),
		.pinned = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL);
	return IS_ERR(event) ? NULL : event;
#else
	return NULL;
#endif
}

void lmt_counter_close(void *counter)
{
#ifdef CONFIG_PERF_EVENTS
	if (counter)
		perf_event_release_kernel(counter);
#endif
}

static bool counter_read(void *counter, u64 *value)
{
#ifdef CONFIG_PERF_EVENTS
	u64 enabled, running;

	if (!counter)
		return false;
	*value = perf_event_read_value(counter, &enabled, &running);
	/* A counter that had to share the hardware is not exact. */
	return enabled && enabled == running;
#else
	return false;
#endif
}

void lmt_measure_begin(struct lmt_measure *m, void *counter)
{
	struct lmt_census c;

	memset(m, 0, sizeof(*m));
	lmt_census_all(&c);
	m->tables_before = c.tables;
	lmt_kstats_get(&m->before);
	m->counted = counter_read(counter, &m->instructions);
	m->ns = ktime_get_ns();
}

void lmt_measure_end(struct lmt_measure *m, void *counter)
{
	struct lmt_kstats now;
	struct lmt_census c;
	u64 value = 0;
	int i;

	m->ns = ktime_get_ns() - m->ns;
	m->counted &= counter_read(counter, &value);
	m->instructions = value - m->instructions;
	lmt_kstats_get(&now);
	for (i = 0; i < LMT_PTE; i++)
		m->delta.split[i] = now.split[i] - m->before.split[i];
	m->delta.tables = now.tables - m->before.tables;
	m->delta.failed = now.failed - m->before.failed;
	lmt_census_all(&c);
	m->table_bytes = c.tables << PAGE_SHIFT;
	m->table_delta = (s64)(c.tables - m->tables_before) << PAGE_SHIFT;
}

static void stat_step(const char *step, const char *what, const char *value)
{
	char key[40];

	scnprintf(key, sizeof(key), "%s_%s", step, what);
	lmt_stat(key, "%s", value);
}

/* To the results of the test, and to `stats` under keys that begin with step. */
void lmt_measure_report(struct lmt *t, const char *step, const struct lmt_measure *m)
{
	char instructions[24] = "n/a", value[24];
	int i;

	if (m->counted)
		scnprintf(instructions, sizeof(instructions), "%llu", m->instructions);
	lmt_diag(t, "%s: %llu ns (means nothing under emulation), instructions %s", step, m->ns,
		 instructions);
	lmt_diag(t, "%s: splits: pud %llu, cont_pmd %llu, pmd %llu, cont_pte %llu", step,
		 m->delta.split[LMT_PUD], m->delta.split[LMT_CONT_PMD], m->delta.split[LMT_PMD],
		 m->delta.split[LMT_CONT_PTE]);
	lmt_diag(t, "%s: tables: %llu bytes (%+lld)", step, m->table_bytes, m->table_delta);

	scnprintf(value, sizeof(value), "%llu", m->ns);
	stat_step(step, "ns", value);
	stat_step(step, "instructions", instructions);
	for (i = 0; i < LMT_PTE; i++) {
		char what[24];

		if (!LMT_PATCHED)
			break;
		scnprintf(what, sizeof(what), "split_%s", lmt_level_name[i]);
		scnprintf(value, sizeof(value), "%llu", m->delta.split[i]);
		stat_step(step, what, value);
	}
	scnprintf(value, sizeof(value), "%llu", m->table_bytes);
	stat_step(step, "table_bytes", value);
}

void lmt_stats_reset(void)
{
	mutex_lock(&stats_lock);
	nr_stats = 0;
	mutex_unlock(&stats_lock);
}

/* Add a line to `stats`. Where there is no room, the last line says so. */
void lmt_stat(const char *key, const char *fmt, ...)
{
	va_list args;

	mutex_lock(&stats_lock);
	if (nr_stats < NR_STATS) {
		strscpy(stats[nr_stats].key, key, sizeof(stats[0].key));
		va_start(args, fmt);
		vscnprintf(stats[nr_stats].value, sizeof(stats[0].value), fmt, args);
		va_end(args);
		nr_stats++;
	} else {
		strscpy(stats[NR_STATS - 1].key, "truncated", sizeof(stats[0].key));
		strscpy(stats[NR_STATS - 1].value, "1", sizeof(stats[0].value));
	}
	mutex_unlock(&stats_lock);
}

int lmt_stats_show(struct seq_file *m, void *v)
{
	struct lmt_kstats s;
	unsigned int i;

	if (lmt_kstats_get(&s)) {
		seq_puts(m, "available 1\n");
		for (i = 0; i < LMT_PTE; i++)
			seq_printf(m, "split_%s %llu\n", lmt_level_name[i], s.split[i]);
		seq_printf(m, "split_tables %llu\nsplit_failed %llu\n", s.tables, s.failed);
	} else {
		seq_puts(m, "available 0\n");
	}
	mutex_lock(&stats_lock);
	for (i = 0; i < nr_stats; i++)
		seq_printf(m, "%s %s\n", stats[i].key, stats[i].value);
	mutex_unlock(&stats_lock);
	return 0;
}
