// SPDX-License-Identifier: GPL-2.0-only
/*
 * KTAP text of a run. The cases of a test are collected first, so that its
 * plan, which precedes them, is their true number.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/stdarg.h>
#include <linux/string.h>

#include "lmt.h"

#define TEXT_MAX	SZ_8M
#define FAIL_LINES	12	/* of one case; more are counted only */

void lmt_text_free(struct lmt_text *text)
{
	kvfree(text->buf);
	memset(text, 0, sizeof(*text));
}

static __printf(2, 0) void text_vadd(struct lmt_text *text, const char *fmt, va_list args)
{
	va_list copy;
	int len;

	va_copy(copy, args);
	len = vsnprintf(NULL, 0, fmt, copy);
	va_end(copy);

	if (text->len + len + 1 > text->size) {
		size_t size = max_t(size_t, SZ_16K, 2 * (text->len + len + 1));
		char *buf;

		buf = size <= TEXT_MAX ? kvmalloc(size, GFP_KERNEL) : NULL;
		if (!buf) {
			text->lost = true;
			return;
		}
		if (text->len)
			memcpy(buf, text->buf, text->len);
		kvfree(text->buf);
		text->buf = buf;
		text->size = size;
	}
	vsnprintf(text->buf + text->len, text->size - text->len, fmt, args);
	text->len += len;
}

void lmt_text_add(struct lmt_text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!text->lost)
		text_vadd(text, fmt, args);
	va_end(args);
}

/* Start a case; one that is still open ends. */
void lmt_case(struct lmt *t, const char *fmt, ...)
{
	va_list args;

	lmt_case_end(t);
	va_start(args, fmt);
	vscnprintf(t->name, sizeof(t->name), fmt, args);
	va_end(args);
	t->open = true;
	t->failed = false;
	t->skip[0] = '\0';
	t->lines = 0;
}

static __printf(2, 0) void add_diag(struct lmt *t, const char *fmt, va_list args)
{
	char line[256];

	vscnprintf(line, sizeof(line), fmt, args);
	lmt_text_add(&t->body, "    # %s: %s\n", t->open ? t->name : t->test->name, line);
}

/* The open case has failed, and why. It goes on to put things back. */
void lmt_fail(struct lmt *t, const char *fmt, ...)
{
	va_list args;

	if (WARN_ON_ONCE(!t->open))
		lmt_case(t, "outside_of_cases");
	t->failed = true;
	if (t->lines++ >= FAIL_LINES)
		return;
	va_start(args, fmt);
	add_diag(t, fmt, args);
	va_end(args);
}

/* The open case cannot run here, and why. A failure seen in it counts more. */
void lmt_skip(struct lmt *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(t->skip, sizeof(t->skip), fmt, args);
	va_end(args);
}

void lmt_diag(struct lmt *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_diag(t, fmt, args);
	va_end(args);
}

void lmt_case_end(struct lmt *t)
{
	unsigned int nr;

	if (!t->open)
		return;
	if (t->lines > FAIL_LINES)
		lmt_diag(t, "%u more failures like these", t->lines - FAIL_LINES);
	nr = t->cases.pass + t->cases.fail + t->cases.skip + 1;
	if (t->failed) {
		t->cases.fail++;
		lmt_text_add(&t->body, "    not ok %u %s\n", nr, t->name);
		pr_err("not ok: %s.%s\n", t->test->name, t->name);
	} else if (t->skip[0]) {
		t->cases.skip++;
		lmt_text_add(&t->body, "    ok %u %s # SKIP %s\n", nr, t->name, t->skip);
	} else {
		t->cases.pass++;
		lmt_text_add(&t->body, "    ok %u %s\n", nr, t->name);
	}
	t->open = false;
}

/* True once a signal asks for the end; the open case then fails. */
bool lmt_interrupted(struct lmt *t)
{
	cond_resched();
	if (!signal_pending(current))
		return false;
	if (!t->open)
		lmt_case(t, "interrupted");
	if (!t->failed)
		lmt_fail(t, "interrupted by a signal");
	return true;
}
