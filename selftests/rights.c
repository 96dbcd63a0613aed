// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls that take rights to memory away: none may be left on another CPU
 * when they return. A second thread, on a CPU of its own where there is one, has
 * read and written each page just before, and tries again right after. The pages
 * on both sides keep their rights, and what moves or stays keeps its contents.
 *
 * After each call a marker names the range to the flush sanitizer
 * (scripts/tlbsan/README.md); without it, it is a hint without a meaning.
 *
 * Needs no rights of its own and changes nothing outside of itself.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest.h"

/* The largest area, in bytes; sizes above it are left out. */
#define MOST	(64UL << 20)

static size_t page;

static void mark(const void *start, const void *end)
{
#ifdef __aarch64__
	register const void *x0 asm("x0") = start;
	register const void *x1 asm("x1") = end;

	asm volatile("hint #91" : : "r" (x0), "r" (x1) : "memory");
#endif
}

/* What the second thread is to find in each page of a range. */
enum expect {
	WRITABLE,	/* its pattern; is written anew */
	READABLE,	/* its pattern, and no right to write */
	ZERO,		/* zeroes */
	NOTHING,	/* no access */
};

/* Work for the second thread: from main to it by `posted`, back by `done`. */
static struct {
	char *start;
	size_t pages;
	size_t first;		/* number of the first page in its pattern */
	enum expect expect;
	size_t wrong;		/* pages that were not so */
	size_t first_wrong;
} job;
static atomic_uint posted, done;

static __thread sigjmp_buf escape;
static __thread volatile sig_atomic_t trying;

static void on_fault(int sig)
{
	if (!trying) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	siglongjmp(escape, 1);
}

static uint64_t pattern(size_t nr)
{
	return (nr + 1) * 0x9e3779b97f4a7c15ULL;
}

static bool can_read(volatile uint64_t *p, uint64_t *v)
{
	bool good = false;

	trying = 1;
	if (!sigsetjmp(escape, 1)) {
		*v = *p;
		good = true;
	}
	trying = 0;
	return good;
}

static bool can_write(volatile uint64_t *p, uint64_t v)
{
	bool good = false;

	trying = 1;
	if (!sigsetjmp(escape, 1)) {
		*p = v;
		good = true;
	}
	trying = 0;
	return good;
}

static bool as_expected(char *at, size_t nr, enum expect expect)
{
	uint64_t *p = (uint64_t *)at, v = 0;
	bool read = can_read(p, &v);

	switch (expect) {
	case WRITABLE:
		return read && v == pattern(nr) && can_write(p, v);
	case READABLE:
		/* What is not to be written would be found out by the next reader. */
		return read && v == pattern(nr) && !can_write(p, ~v);
	case ZERO:
		return read && !v;
	case NOTHING:
		return !read;
	}
	return false;
}

static void *second(void *arg)
{
	int cpu = *(int *)arg;
	unsigned int seen = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;) {
		size_t i;

		while (atomic_load(&posted) == seen)
			sched_yield();
		seen++;
		if (!job.start)
			return NULL;
		job.wrong = 0;
		for (i = 0; i < job.pages; i++)
			if (!as_expected(job.start + i * page, job.first + i, job.expect) &&
			    !job.wrong++)
				job.first_wrong = i;
		atomic_store(&done, seen);
	}
}

static void post(char *start, size_t pages, size_t first, enum expect expect)
{
	unsigned int nr;

	job.start = start;
	job.pages = pages;
	job.first = first;
	job.expect = expect;
	nr = atomic_fetch_add(&posted, 1) + 1;
	while (start && atomic_load(&done) != nr)
		sched_yield();
}

/* True if the second thread finds all pages of a range as they should be. */
static bool find(const char *what, char *start, size_t pages, size_t first, enum expect expect)
{
	post(start, pages, first, expect);
	if (job.wrong)
		ksft_print_msg("%s: %zu of %zu pages are not as they should be, the first is page %zu\n",
			       what, job.wrong, pages, job.first_wrong);
	return !job.wrong;
}

enum kind { ANON, HUGE, FILE_SHARED, KINDS };

static const char * const kinds[] = {
	"anonymous memory", "huge pages where there are any", "a shared file",
};

/* An area for a call to work on, with a page on each side. */
struct area {
	char *map;
	size_t bytes;
	size_t pages;	/* of the range in the middle */
	char *start;
	char *end;
};

static bool get_area(struct area *a, enum kind kind, size_t pages, size_t align)
{
	size_t i, bytes = (pages + 2) * page;
	int fd = -1;

	a->pages = pages;
	/* Room to have the range begin at a multiple of align. */
	a->bytes = bytes + align;
	if (kind == FILE_SHARED) {
		fd = memfd_create("rights", 0);
		if (fd < 0 || ftruncate(fd, a->bytes)) {
			ksft_print_msg("memfd_create of %zu bytes: %s\n", a->bytes, strerror(errno));
			if (fd >= 0)
				close(fd);
			return false;
		}
	}
	a->map = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE,
		      kind == FILE_SHARED ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (fd >= 0)
		close(fd);
	if (a->map == MAP_FAILED) {
		ksft_print_msg("mmap of %zu bytes: %s\n", a->bytes, strerror(errno));
		return false;
	}
	a->start = (char *)(((uintptr_t)a->map + page + align - 1) & ~(uintptr_t)(align - 1));
	a->end = a->start + pages * page;
	madvise(a->map, a->bytes, kind == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	for (i = 0; i < pages + 2; i++)
		*(uint64_t *)(a->start - page + i * page) = pattern(i);
	return true;
}

/* The calls. Each returns what is to be found in the range then, or -1. */

static int make_readonly(struct area *a, enum kind kind)
{
	return mprotect(a->start, a->pages * page, PROT_READ) ? -1 : READABLE;
}

static int make_inaccessible(struct area *a, enum kind kind)
{
	return mprotect(a->start, a->pages * page, PROT_NONE) ? -1 : NOTHING;
}

static int unmap(struct area *a, enum kind kind)
{
	return munmap(a->start, a->pages * page) ? -1 : NOTHING;
}

static int drop(struct area *a, enum kind kind)
{
	if (madvise(a->start, a->pages * page, MADV_DONTNEED))
		return -1;
	/* A file has its contents still. */
	return kind == FILE_SHARED ? WRITABLE : ZERO;
}

static int replace(struct area *a, enum kind kind)
{
	return mmap(a->start, a->pages * page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : ZERO;
}

/* Elsewhere, where the second thread looks at it too. */
static bool moved_well;

static int move_to(struct area *a, size_t align, size_t offset)
{
	size_t bytes = a->pages * page;
	char *room, *to;

	room = mmap(NULL, bytes + 2 * align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return -1;
	to = (char *)(((uintptr_t)room + align - 1) & ~(uintptr_t)(align - 1)) + offset;
	if (mremap(a->start, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
		return -1;
	mark(a->start, a->end);
	moved_well = find("at the new place", to, a->pages, 1, WRITABLE);
	munmap(room, bytes + 2 * align);
	mark(to, to + bytes);
	moved_well &= find("at the new place, after munmap", to, a->pages, 1, NOTHING);
	return NOTHING;
}

static size_t block;	/* what one entry above the last level maps */

static int move(struct area *a, enum kind kind)
{
	return move_to(a, page, 0);
}

static int move_congruent(struct area *a, enum kind kind)
{
	return move_to(a, block, (uintptr_t)a->start & (block - 1));
}

static const struct call {
	const char *name;
	int (*fn)(struct area *a, enum kind kind);
} calls[] = {
	{ "mprotect(PROT_READ)", make_readonly },
	{ "mprotect(PROT_NONE)", make_inaccessible },
	{ "munmap", unmap },
	{ "madvise(MADV_DONTNEED)", drop },
	{ "mmap(MAP_FIXED) over it", replace },
	{ "mremap", move },
	{ "mremap to an address that is congruent by blocks", move_congruent },
};

static bool one(const struct call *call, enum kind kind, size_t pages, size_t align)
{
	char what[128];
	struct area a;
	bool good;
	int expect;

	if (!get_area(&a, kind, pages, align))
		return false;
	snprintf(what, sizeof(what), "%s, %zu pages", call->name, pages);
	good = find("before", a.start - page, pages + 2, 0, WRITABLE);
	moved_well = true;
	expect = call->fn(&a, kind);
	mark(a.start, a.end);
	if (expect < 0) {
		ksft_print_msg("%s: %s\n", what, strerror(errno));
		munmap(a.map, a.bytes);
		return false;
	}
	good &= find(what, a.start, pages, 1, expect) && moved_well;
	good &= find("the page before", a.start - page, 1, 0, WRITABLE);
	good &= find("the page after", a.end, 1, pages + 1, WRITABLE);
	if (!good)
		ksft_print_msg("that was %s\n", what);
	munmap(a.map, a.bytes);
	mark(a.map, a.map + a.bytes);
	return good;
}

int main(int argc, char **argv)
{
	size_t sizes[16], n = 0, i, c, k;
	/* Around where operations on ranges change their form, and whole tables. */
	static const size_t usual[] = { 1, 2, 16, 63, 64, 65, 255, 513 };
	struct sigaction action = { .sa_handler = on_fault };
	cpu_set_t set, first;
	pthread_t thread;
	int cpu = -1, own = -1;

	if (argc > 1) {
		printf("Usage: %s\nThere are no arguments; the head of the source says what is tested.\n",
		       argv[0]);
		return strcmp(argv[1], "--help") && strcmp(argv[1], "-h");
	}
	ksft_print_header();
	page = sysconf(_SC_PAGESIZE);
	block = page / 8 * page;
	ksft_set_plan(ARRAY_SIZE(calls) * KINDS);

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	if (sched_getaffinity(0, sizeof(set), &set))
		ksft_exit_fail_perror("sched_getaffinity");
	for (i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		if (own < 0)
			own = i;
		cpu = i;
	}
	CPU_ZERO(&first);
	CPU_SET(own, &first);
	sched_setaffinity(0, sizeof(first), &first);
	ksft_print_msg("calls on CPU %d, the other thread on CPU %d\n", own, cpu);
	if (pthread_create(&thread, NULL, second, &cpu))
		ksft_exit_fail_msg("no second thread\n");

	for (i = 0; i < ARRAY_SIZE(usual); i++)
		if ((usual[i] + 2) * page < MOST)
			sizes[n++] = usual[i];
	if (2 * block <= MOST) {
		sizes[n++] = block / page;
		sizes[n++] = 2 * block / page;
	}
	for (k = 0; k < KINDS; k++) {
		for (c = 0; c < ARRAY_SIZE(calls); c++) {
			bool good = true;

			for (i = 0; i < n; i++) {
				size_t align = sizes[i] * page % block ? page : block;

				good &= one(&calls[c], k, sizes[i], align);
			}
			ksft_test_result(good, "%s: %s\n", kinds[k], calls[c].name);
		}
	}
	post(NULL, 0, 0, 0);
	pthread_join(thread, NULL);
	ksft_finished();
}
