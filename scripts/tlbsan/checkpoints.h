/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions at whose return a range is judged. */
#ifndef TLBSAN_CHECKPOINTS_H
#define TLBSAN_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

enum range_kind {
	RANGE_PAGES,	/* start, number of pages */
	RANGE_BYTES,	/* start, number of bytes */
	RANGE_ENDS,	/* start, end (excluded) */
	RANGE_OUTPUT,	/* physical start, bytes: whatever kernel address maps them */
	RANGE_ENTRY,	/* pointer to the entry of a table */
};

/* A register number, or a constant. */
struct operand {
	bool constant;
	unsigned int reg;
	uint64_t value;
};

struct checkpoint {
	char *name;
	bool user;
	bool success;	/* judged when it returns 0 */
	enum range_kind kind;
	struct operand op[2];
	uint64_t hits;
	struct checkpoint *next;
};

bool checkpoints_load(const char *path);
struct checkpoint *checkpoints_at(uint64_t addr);
struct checkpoint *checkpoints_all(void);

#endif
