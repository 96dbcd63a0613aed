// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoints.h"
#include "report.h"
#include "syms.h"

static struct checkpoint *all;
/* Where they are in the kernel, in ascending order is not needed: they are few. */
static struct {
	uint64_t addr;
	struct checkpoint *cp;
} place[512];
static unsigned int places;

static bool parse_operand(const char *s, struct operand *op)
{
	char *end;

	if (s[0] == 'x' && s[1] >= '0' && s[1] <= '7' && !s[2]) {
		*op = (struct operand) { .reg = s[1] - '0' };
		return true;
	}
	*op = (struct operand) { .constant = true, .value = strtoull(s, &end, 0) };
	return *s && !*end;
}

static bool parse_line(char *line, const char *path, unsigned int nr)
{
	static const struct {
		const char *word;
		enum range_kind kind;
		unsigned int operands;
	} kinds[] = {
		{ "pages", RANGE_PAGES, 2 },
		{ "bytes", RANGE_BYTES, 2 },
		{ "range", RANGE_ENDS, 2 },
		{ "output", RANGE_OUTPUT, 2 },
		{ "entry", RANGE_ENTRY, 1 },
	};
	char *word[8], *save = NULL, *w;
	struct checkpoint *cp;
	unsigned int n = 0, i, k;
	bool success = false;
	uint64_t addr[16];

	for (w = strtok_r(line, " \t\n", &save); w && n < 8; w = strtok_r(NULL, " \t\n", &save))
		word[n++] = w;
	if (!n || word[0][0] == '#')
		return true;
	if (n > 3 && !strcmp(word[n - 1], "success")) {
		success = true;
		n--;
	}
	for (k = 0; n >= 3 && k < sizeof(kinds) / sizeof(kinds[0]); k++)
		if (!strcmp(word[2], kinds[k].word))
			break;
	if (n < 3 || k == sizeof(kinds) / sizeof(kinds[0]) || n != 3 + kinds[k].operands ||
	    (strcmp(word[1], "kernel") && strcmp(word[1], "user")))
		goto bad;
	cp = calloc(1, sizeof(*cp));
	if (!cp)
		abort();
	cp->name = strdup(word[0]);
	cp->user = !strcmp(word[1], "user");
	cp->kind = kinds[k].kind;
	cp->success = success;
	for (i = 0; i < kinds[k].operands; i++)
		if (!parse_operand(word[3 + i], &cp->op[i]))
			goto bad;
	cp->next = all;
	all = cp;

	n = syms_find(cp->name, addr, sizeof(addr) / sizeof(addr[0]));
	if (!n)
		report_note("not there: the kernel has no function %s, or it is inlined", cp->name);
	for (i = 0; i < n && places < sizeof(place) / sizeof(place[0]); i++) {
		place[places].addr = addr[i];
		place[places++].cp = cp;
	}
	return true;
bad:
	fprintf(stderr, "%s:%u: not a checkpoint: FUNCTION kernel|user RANGE OPERAND... [success]\n", path, nr);
	return false;
}

bool checkpoints_load(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned int nr = 0;
	char line[512];
	bool good = true;

	if (!f) {
		perror(path);
		return false;
	}
	while (good && fgets(line, sizeof(line), f))
		good = parse_line(line, path, ++nr);
	fclose(f);
	return good;
}

struct checkpoint *checkpoints_at(uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < places; i++)
		if (place[i].addr == addr)
			return place[i].cp;
	return NULL;
}

struct checkpoint *checkpoints_all(void)
{
	return all;
}
