// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads, as fast as it can and until SIGTERM, what shows the linear map to user
 * space, while others make parts of it invalid: the kernel's dump of its page
 * tables, and through /proc/kcore all that the dump said to be invalid, with a
 * page on either side. A leaf above the last level that is invalid as a whole
 * was unknown to the kernel's walkers once.
 *
 * Usage: map_reader FILE
 *
 * FILE gets the dump with the most bytes in whole invalid blocks. At the end it
 * prints lines "key<TAB>value":
 *	dumps	how many were read
 *	puds	how many of these had an invalid PUD block
 *	pmds	how many had an invalid PMD block, contiguous or not
 *	runs	how many had as many invalid pages in a row as such a leaf has
 *	least	bytes that a dump had in the linear map, at least
 *	most	and at most
 *	read	bytes read through /proc/kcore
 *	zero	those of them in pages that read as zeroes, as what faults does
 *	errors	reads that failed, each said on stderr
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kcore.h"

#define DUMP	"/sys/kernel/debug/kernel_page_tables"

/* Of a range no more than so much is read at either end. */
#define MOST	(4UL << 20)

typedef unsigned long long u64;

static volatile sig_atomic_t stop;
static size_t page, block;
static u64 dumps, puds, pmds, runs, least, most_mapped, bytes_read, zero, errors;
static char *text;
static size_t room;

static void on_term(int sig)
{
	stop = 1;
}

/* The whole dump into text. */
static bool read_dump(void)
{
	size_t len = 0;
	ssize_t n = 0;
	FILE *f;

	f = fopen(DUMP, "r");
	if (!f)
		return false;
	do {
		len += n;
		if (room - len < 65536) {
			room += 1 << 20;
			text = realloc(text, room);
			if (!text) {
				fputs("map_reader: out of memory\n", stderr);
				exit(2);
			}
		}
		n = fread(text + len, 1, room - len - 1, f);
	} while (n > 0);
	text[len] = '\0';
	n = ferror(f);
	fclose(f);
	return !n && len;
}

static void read_range(const struct kcore *k, u64 start, u64 end)
{
	static u64 buf[65536 / sizeof(u64)];

	while (start < end && !stop) {
		size_t want = end - start < page ? end - start : page, i;
		ssize_t got = kcore_read_virt(k, start, buf, want);

		/* Around the ends of memory is what kcore has no segment for. */
		if (got < 0 && errno == ENXIO)
			return;
		if (got <= 0) {
			fprintf(stderr, "map_reader: %#llx: %s\n", start,
				got ? strerror(errno) : "end of file");
			errors++;
			return;
		}
		for (i = 0; i < got / sizeof(u64) && !buf[i]; i++)
			;
		bytes_read += got;
		if (i == got / sizeof(u64))
			zero += got;
		start += got;
	}
}

/* Bytes in whole invalid blocks; what is invalid is read. */
static u64 look(const struct kcore *k)
{
	bool inside = false, any_pud = false, any_pmd = false, any_run = false;
	u64 most = 0, mapped = 0;
	char *line;

	for (line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		char words[128] = " ", level[8];
		size_t len = strcspn(line, "\n");
		u64 start, end;
		int used = 0;

		if (!strncmp(line, "---[", 4)) {
			inside = len > 10 && !strncmp(line, "---[ Linear Mapping start ]", 27);
			continue;
		}
		if (!inside || len > sizeof(words) - 3)
			continue;
		memcpy(words + 1, line, len);
		strcpy(words + 1 + len, " ");
		if (sscanf(words, " 0x%llx-0x%llx %*s %7s%n", &start, &end, level, &used) != 3)
			continue;
		/* A hole has no attributes. */
		if (words[used + strspn(words + used, " ")])
			mapped += end - start;
		if (!strstr(words + used, " F "))
			continue;
		if (strstr(words + used, " BLK ")) {
			any_pmd |= !strcmp(level, "PMD");
			any_pud |= !!strcmp(level, "PMD");
			most += end - start;
		} else if (end - start >= block) {
			any_run = true;
			most += end - start;
		}
		if (end - start <= 2 * MOST) {
			read_range(k, start - page, end + page);
		} else {
			read_range(k, start - page, start + MOST);
			read_range(k, end - MOST, end + page);
		}
	}
	if (!least || mapped < least)
		least = mapped;
	if (mapped > most_mapped)
		most_mapped = mapped;
	puds += any_pud;
	pmds += any_pmd;
	runs += any_run;
	return most;
}

static void save(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f)) {
		fprintf(stderr, "map_reader: %s: %s\n", path, strerror(errno));
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_term };
	u64 best = 0, most;
	struct kcore k;

	if (argc != 2 || argv[1][0] == '-') {
		fprintf(argc == 2 && !strcmp(argv[1], "--help") ? stdout : stderr,
			"Usage: map_reader FILE\nThe head of the source says what it does.\n");
		return !(argc == 2 && !strcmp(argv[1], "--help"));
	}
	page = sysconf(_SC_PAGESIZE);
	block = page / 8 * page;
	if (!kcore_open(&k)) {
		fprintf(stderr, "map_reader: /proc/kcore: %s\n", strerror(errno));
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	while (!stop) {
		if (!read_dump()) {
			fprintf(stderr, "map_reader: " DUMP ": %s\n", strerror(errno));
			errors++;
			break;
		}
		dumps++;
		most = look(&k);
		if (most > best || !best) {
			best = most > best ? most : best;
			save(argv[1]);
		}
	}
	printf("dumps\t%llu\npuds\t%llu\npmds\t%llu\nruns\t%llu\nleast\t%llu\nmost\t%llu\nread\t%llu\nzero\t%llu\nerrors\t%llu\n",
	       dumps, puds, pmds, runs, least, most_mapped, bytes_read, zero, errors);
	kcore_close(&k);
	return errors > 0;
}
