/* SPDX-License-Identifier: GPL-2.0-only */
/* What the user gets: report.txt, reports.tsv, summary.tsv in a directory. */
#ifndef TLBSAN_REPORT_H
#define TLBSAN_REPORT_H

#include "judge.h"

bool report_open(const char *dir);
void report_label(const char *text);
void report_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void report_one(const struct report *r);
void report_count(const char *key, uint64_t value);
uint64_t report_total(void);
void report_close(void);

#endif
