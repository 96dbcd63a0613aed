// SPDX-License-Identifier: GPL-2.0-only
/*
 * memfd_secret() takes its pages out of the linear map one by one, and gives
 * them back when they are freed: user space's way to split it, and the one by
 * which a long-running system's map falls to pieces.
 *
 * Either the system call is not there (ENOSYS: programs fall back on that
 * errno alone), or the pages it gives are really gone from the linear map and
 * come back: /proc/kcore, which reads by linear address, must not show what is
 * in them, as it does for other pages. Which leaves are left after many rounds is
 * reported: a kernel that splits and does not join again keeps what was split.
 *
 * Needs root, for RLIMIT_MEMLOCK and the layout of the linear map, which it
 * takes from the module linear_map_test where that is loaded, else from the
 * kernel's dump of its page tables.
 *
 * Environment: LMT_SECRET_LOOPS, rounds in each of two series (default 500);
 * LMT_SECRET_BYTES, size of each (default: 64 MiB, but at most 1/4096 of the
 * memory that is available: small guests are emulated, where a page that is
 * taken out of the map costs 400 us).
 * LMT_SECRET_EXPECT: works or ENOSYS, which of the two it has to be (default:
 * either); LMT_FIGURES, a file to which bytes by level are added.
 * EXPECT_ALL=1 makes a skip a failure.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "../kselftest.h"
#include "kcore.h"

#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif

#define MODULE_LAYOUT	"/sys/kernel/debug/linear_map_test/layout"
#define DUMP		"/sys/kernel/debug/kernel_page_tables"
#define IOMEM		"/proc/iomem"

typedef unsigned long long u64;
typedef long long s64;

/* Keys of the table, the first five by size of leaf. */
static const char * const keys[] = {
	"pud", "cont_pmd", "pmd", "cont_pte", "pte", "invalid", "total",
};

enum { LEVELS = 5, INVALID = 5, TOTAL = 6, KEYS = 7 };

struct layout {
	bool known;
	u64 bytes[KEYS];
};

static char helper[PATH_MAX];
static size_t page;

static void skip(const char *name, const char *reason)
{
	const char *all = getenv("EXPECT_ALL");

	if (all && !strcmp(all, "1")) {
		ksft_print_msg("%s was skipped, which EXPECT_ALL=1 makes a failure: %s\n",
			       name, reason);
		ksft_test_result_fail("%s\n", name);
		return;
	}
	/* ksft_test_result_skip() has no room for a reason behind the name. */
	ksft_test_result_code(KSFT_SKIP, name, "%s", reason);
}

static struct layout read_layout(void)
{
	char line[256], key[32], cmd[PATH_MAX + 64];
	u64 leaves, bytes;
	struct layout l = { 0 };
	unsigned int found = 0;
	bool pipe = false;
	FILE *f;
	int i;

	f = fopen(MODULE_LAYOUT, "r");
	if (!f) {
		if (access(DUMP, R_OK) || access(helper, X_OK))
			return l;
		snprintf(cmd, sizeof(cmd), "%s -t %s %s", helper, DUMP, IOMEM);
		f = popen(cmd, "r");
		if (!f)
			return l;
		pipe = true;
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31s %llu %llu", key, &leaves, &bytes) != 3)
			continue;
		for (i = 0; i < KEYS; i++)
			if (!strcmp(key, keys[i])) {
				l.bytes[i] = bytes;
				found |= 1U << i;
			}
	}
	if (pipe ? pclose(f) : fclose(f))
		return l;
	l.known = found == (1U << KEYS) - 1;
	return l;
}

static void print_layout(const char *when, const struct layout *l)
{
	int i;

	for (i = 0; i < KEYS; i++)
		ksft_print_msg("%s: %s %llu bytes\n", when, keys[i], l->bytes[i]);
}

/* Bytes by level for LMT_FIGURES. */
static void figures(const char *when, const struct layout *l)
{
	const char *path = getenv("LMT_FIGURES");
	FILE *f = path ? fopen(path, "a") : NULL;
	int i;

	if (!f)
		return;
	for (i = 0; i < KEYS; i++)
		fprintf(f, "secretmem.%s.%s.bytes\t%llu\n", when, keys[i], l->bytes[i]);
	fclose(f);
}

/* KFENCE makes pages of its pool invalid as it goes: so much is not ours. */
static u64 slack;

static u64 kfence_slack(void)
{
	unsigned long interval = 0;
	FILE *f;

	f = fopen("/sys/module/kfence/parameters/sample_interval", "r");
	if (!f)
		return 0;
	if (fscanf(f, "%lu", &interval) != 1)
		interval = 0;
	fclose(f);
	return interval ? 256 * page : 0;
}

static bool none_left(const struct layout *before, const struct layout *after)
{
	return after->bytes[INVALID] <= before->bytes[INVALID] + slack;
}

/* Bytes that lie in smaller leaves than before, counted once a level. */
static s64 split_since(const struct layout *from, const struct layout *to)
{
	s64 sum = 0, above = 0;
	int i;

	for (i = 0; i < LEVELS - 1; i++) {
		above += (s64)(from->bytes[i] - to->bytes[i]);
		if (above > 0)
			sum += above;
	}
	return sum;
}

static u64 mem_available(void)
{
	char line[128];
	u64 kb = 0;
	FILE *f;

	f = fopen("/proc/meminfo", "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu", &kb) == 1)
			break;
	fclose(f);
	return kb * 1024;
}

static u64 env_number(const char *name, u64 otherwise)
{
	const char *s = getenv(name);
	char *end;
	u64 v;

	if (!s || !*s)
		return otherwise;
	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno || *end || *s == '-' || !v)
		ksft_exit_fail_msg("%s=%s is not a number above 0\n", name, s);
	return v;
}

static int memfd_secret(unsigned int flags)
{
	return syscall(__NR_memfd_secret, flags);
}

/* What is to be found in a page: no two are alike, in any round. */
static u64 pattern(u64 round, u64 nr)
{
	return (round << 32 ^ nr) * 0x9e3779b97f4a7c15ULL + 1;
}

/* A secret area of @bytes, or NULL with @what saying which step failed. */
static u64 *secret_map(size_t bytes, int *fd, const char **what)
{
	void *p;

	*what = "memfd_secret";
	*fd = memfd_secret(0);
	if (*fd < 0)
		return NULL;
	*what = "ftruncate";
	if (ftruncate(*fd, bytes))
		goto err;
	*what = "mmap";
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (p != MAP_FAILED)
		return p;
err:
	close(*fd);
	return NULL;
}

static void secret_fill(u64 *p, size_t bytes, u64 round)
{
	size_t i, words = page / sizeof(*p);

	for (i = 0; i < bytes / page; i++) {
		p[i * words] = pattern(round, i);
		p[i * words + words - 1] = ~pattern(round, i);
	}
}

/* Number of pages with another content than secret_fill() gave them. */
static size_t secret_verify(const u64 *p, size_t bytes, u64 round)
{
	size_t i, words = page / sizeof(*p), wrong = 0;

	for (i = 0; i < bytes / page; i++)
		if (p[i * words] != pattern(round, i) ||
		    p[i * words + words - 1] != ~pattern(round, i))
			wrong++;
	return wrong;
}

/* Physical address of a page that is mapped here, 0 if that is not told. */
static u64 phys_of(const void *p)
{
	u64 entry = 0;
	int fd;

	fd = open("/proc/self/pagemap", O_RDONLY);
	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry), (uintptr_t)p / page * sizeof(entry)) != sizeof(entry))
		entry = 0;
	close(fd);
	/* Bit 63: present; the page frame number is 0 for those who may not know. */
	return entry >> 63 ? (entry & ((1ULL << 55) - 1)) * page : 0;
}

/*
 * Pages that secret_fill() filled and whose content is at the linear address too.
 * Less than 0 if a page could not be looked at.
 */
static long pages_shown(struct kcore *k, u64 *p, size_t bytes, u64 round)
{
	size_t i, words = page / sizeof(*p);
	u64 pa, *buf = malloc(page);
	long shown = 0;

	if (!buf)
		return -1;
	for (i = 0; i < bytes / page && shown >= 0; i++) {
		pa = phys_of(p + i * words);
		if (!pa || kcore_read_phys(k, pa, buf, page) != (ssize_t)page) {
			ksft_print_msg("page %zu, physical address %#llx: %s\n", i, pa,
				       pa ? strerror(errno) : "not told");
			shown = -1;
		} else if (buf[0] == pattern(round, i) || buf[words - 1] == ~pattern(round, i)) {
			shown++;
		}
	}
	free(buf);
	return shown;
}

/* The case of that: @p are @bytes of secret pages, filled for @round. */
static void not_shown(const char *name, u64 *p, size_t bytes, u64 round)
{
	const size_t others = 16;
	struct kcore k;
	long seen = 0;
	int tries;
	u64 *q;

	if (!kcore_open(&k)) {
		if (errno != ENOENT)
			ksft_print_msg("/proc/kcore: %s\n", strerror(errno));
		if (errno == ENOENT)
			skip(name, "no /proc/kcore: needs CONFIG_PROC_KCORE");
		else
			ksft_test_result_fail("%s\n", name);
		return;
	}
	/* Pages that are no secret show that this would be seen. They may move. */
	q = mmap(NULL, others * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
	if (q != MAP_FAILED) {
		secret_fill(q, others * page, ~round);
		for (tries = 0; tries < 5 && seen != others; tries++)
			seen = pages_shown(&k, q, others * page, ~round);
		munmap(q, others * page);
	}
	if (seen != others) {
		ksft_print_msg("/proc/kcore shows %ld of %zu pages that are no secret\n", seen,
			       others);
		ksft_test_result_fail("%s\n", name);
	} else {
		seen = pages_shown(&k, p, bytes, round);
		ksft_print_msg("/proc/kcore shows %ld of %zu secret pages\n", seen, bytes / page);
		ksft_test_result(!seen, "%s\n", name);
	}
	kcore_close(&k);
}

/* True if all rounds went well. */
static bool churn(const char *series, u64 loops, size_t bytes)
{
	struct timespec from, to;
	const char *what;
	u64 round, *p;
	size_t wrong;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (round = 0; round < loops; round++) {
		p = secret_map(bytes, &fd, &what);
		if (!p) {
			ksft_print_msg("%s, round %llu: %s: %s\n", series, round, what,
				       strerror(errno));
			return false;
		}
		/* A new page is zero, whatever it was before. */
		if (p[0] || p[bytes / sizeof(*p) - 1]) {
			ksft_print_msg("%s, round %llu: a new page is not zero\n",
				       series, round);
			return false;
		}
		secret_fill(p, bytes, round);
		wrong = secret_verify(p, bytes, round);
		munmap(p, bytes);
		close(fd);
		if (wrong) {
			ksft_print_msg("%s, round %llu: %zu pages have another content\n",
				       series, round, wrong);
			return false;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	ksft_print_msg("%s: %llu rounds of %zu bytes in %.1f s\n", series, loops, bytes,
		       to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
	return true;
}

/*
 * Freed pages may wait on a CPU's list of folios before they return to the
 * map: give that a few tries.
 */
static struct layout settled_layout(const struct layout *before)
{
	struct layout l;
	int i;

	for (i = 0; i < 20; i++) {
		l = read_layout();
		if (!before->known || !l.known || none_left(before, &l))
			break;
		usleep(100000);
	}
	return l;
}

static const char * const names[] = {
	"memfd_secret works or is ENOSYS",
	"content is kept",
	"content cannot be read through the linear map",
	"pages are gone from the linear map while held",
	"pages are back in the linear map when freed",
	"first series of rounds",
	"second series of rounds",
	"the linear map holds as much as before",
	"nothing stays invalid",
};

static void skip_from(unsigned int i, const char *reason)
{
	for (; i < ARRAY_SIZE(names); i++)
		skip(names[i], reason);
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct layout start, held, after, first, second;
	static const char no_layout[] =
		"no layout to be had: load linear_map_test or use CONFIG_PTDUMP_DEBUGFS";
	/* The errno of a system call that a kernel does not have. */
	static const int not_here = ENOSYS;
	static const char no_secrets[] =
		"the kernel cannot take pages out of its linear map, or lacks CONFIG_SECRETMEM";
	char self[PATH_MAX] = "";
	u64 loops, available, *p;
	size_t bytes, wrong;
	const char *what, *want = getenv("LMT_SECRET_EXPECT") ?: "";
	int fd;

	if (argc > 1) {
		printf("Usage: %s\n"
		       "There are no arguments; the head of the source names the environment.\n",
		       argv[0]);
		return strcmp(argv[1], "--help") && strcmp(argv[1], "-h");
	}
	ksft_print_header();
	if (*want && strcmp(want, "works") && strcmp(want, "ENOSYS"))
		ksft_exit_fail_msg("LMT_SECRET_EXPECT=%s is neither works nor ENOSYS\n", want);
	page = sysconf(_SC_PAGESIZE);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		ksft_exit_fail_perror("/proc/self/exe");
	snprintf(helper, sizeof(helper), "%s/lm_layout", dirname(self));

	slack = kfence_slack();
	loops = env_number("LMT_SECRET_LOOPS", 500);
	available = mem_available();
	bytes = available / 4096 < (64UL << 20) ? available / 4096 : 64UL << 20;
	bytes = env_number("LMT_SECRET_BYTES", bytes) / page * page;
	if (bytes < 16 * page)
		bytes = 16 * page;
	/* Enough to tell from what KFENCE does. */
	if (bytes < 2 * slack)
		bytes = 2 * slack;

	ksft_set_plan(ARRAY_SIZE(names));
	if (setrlimit(RLIMIT_MEMLOCK, &unlimited)) {
		ksft_perror("RLIMIT_MEMLOCK");
		skip_from(0, "the limit of locked memory cannot be lifted: must be run as root");
		goto out;
	}

	if (*want)
		ksft_print_msg("expected by LMT_SECRET_EXPECT: %s\n", want);
	fd = memfd_secret(0);
	if (fd < 0) {
		ksft_print_msg("memfd_secret: %s\n", strerror(errno));
		ksft_test_result(errno == not_here && strcmp(want, "works"), "%s\n", names[0]);
		skip_from(1, no_secrets);
		goto out;
	}
	ksft_test_result(strcmp(want, "ENOSYS"), "%s\n", names[0]);
	close(fd);

	start = read_layout();
	if (start.known)
		print_layout("start", &start);
	p = secret_map(bytes, &fd, &what);
	if (!p)
		ksft_exit_fail_msg("%s of %zu bytes: %s\n", what, bytes, strerror(errno));
	secret_fill(p, bytes, 1);
	held = read_layout();
	wrong = secret_verify(p, bytes, 1);
	if (wrong)
		ksft_print_msg("%zu pages have another content\n", wrong);
	ksft_test_result(!wrong, "%s\n", names[1]);
	not_shown(names[2], p, bytes, 1);
	munmap(p, bytes);
	close(fd);
	after = settled_layout(&start);

	if (!start.known) {
		skip(names[3], no_layout);
		skip(names[4], no_layout);
	} else {
		/*
		 * Others may free what they had made invalid in the meantime,
		 * with debug_pagealloc= even everything that is free: then the
		 * sum shows nothing.
		 */
		bool blurred = start.bytes[INVALID] > start.bytes[TOTAL] / 16;

		ksft_print_msg("invalid: %llu bytes before, %llu with %zu held, %llu after\n",
			       start.bytes[INVALID], held.bytes[INVALID], bytes,
			       after.bytes[INVALID]);
		if (blurred) {
			skip(names[3], "free memory is invalid too (debug_pagealloc=)");
			skip(names[4], "free memory is invalid too (debug_pagealloc=)");
		} else {
			u64 least = start.bytes[INVALID] + bytes;

			ksft_test_result(held.known && held.bytes[INVALID] + slack >= least,
					 "%s\n", names[3]);
			ksft_test_result(after.known && none_left(&start, &after),
					 "%s\n", names[4]);
		}
	}

	ksft_test_result(churn("first series", loops, bytes), "%s\n", names[5]);
	first = settled_layout(&start);
	ksft_test_result(churn("second series", loops, bytes), "%s\n", names[6]);
	second = settled_layout(&start);

	if (!start.known) {
		skip_from(7, no_layout);
		goto out;
	}
	figures("start", &start);
	figures("first", &first);
	figures("second", &second);
	print_layout("after the first series", &first);
	print_layout("after the second series", &second);
	ksft_print_msg("split: %lld bytes by the first series, %lld more by the second\n",
		       split_since(&start, &first), split_since(&first, &second));
	if (split_since(&start, &second) > 0)
		ksft_print_msg("the map stays split: leaves are not joined again\n");
	ksft_test_result(first.known && second.known && first.bytes[TOTAL] == start.bytes[TOTAL] &&
			 second.bytes[TOTAL] == start.bytes[TOTAL], "%s\n", names[7]);
	if (start.bytes[INVALID] > start.bytes[TOTAL] / 16)
		skip(names[8], "free memory is invalid too (debug_pagealloc=)");
	else
		ksft_test_result(second.known && none_left(&start, &second), "%s\n", names[8]);
out:
	if (ksft_cnt.ksft_xskip == ARRAY_SIZE(names)) {
		ksft_print_cnts();
		return KSFT_SKIP;
	}
	ksft_finished();
}
