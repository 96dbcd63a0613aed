// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a dump of the kernel's page tables (kernel_page_tables in debugfs, as
 * CONFIG_PTDUMP_DEBUGFS makes it on arm64) and /proc/iomem, prints how many
 * bytes of the linear map lie in leaves of each size, and checks what the dump
 * must look like. It calls nothing of the kernel, so that the same program
 * checks saved dumps on any machine: see tests/run.
 *
 * Usage:
 *	lm_layout [-p BYTES] -t DUMP IOMEM
 *	lm_layout [-p BYTES] -m blocks|pages [-k BYTES] [-s] DUMP IOMEM
 *
 *	-t		table only
 *	-m MODE		check too: the linear map in blocks or in pages
 *	-p BYTES	page size of the kernel (default: of this system)
 *	-k BYTES	size of KFENCE's pool, which may be in pages
 *	-s		the map may have been split since boot: leaves smaller
 *			than need be are shown and that check is a skip
 *
 * Table, a line "key<TAB>leaves<TAB>bytes" each, the format of the module's
 * file "layout": pud cont_pmd pmd cont_pte pte, invalid (which of these are not
 * valid), total, text_alias (which of these are the alias of the kernel's text
 * and rodata), pte_tables and pmd_tables (how many tables hold these leaves,
 * and their bytes).
 *
 * Checks, a line "ok NAME: TEXT", "not ok NAME: TEXT" or "skip NAME: TEXT" each,
 * with lines that begin with "#" before them to say where:
 *	groups	every Contiguous group is whole and aligned
 *	ram	the linear map holds System RAM, all of it and nothing else
 *	nx	nothing in it can be executed, at EL1 or EL0
 *	alias	the alias of [_text, __init_begin) is read-only, all of it and
 *		nothing else, without Contiguous groups, in blocks where these fit
 *	sizes	all else: pages mode: plain pages only; blocks mode: every leaf
 *		is the largest that alignment and the run of equal attributes
 *		allow, by virtual and by physical address
 *	bound	blocks mode: no more memory in small leaves than the ends of
 *		the banks of memory account for
 *
 * Exit: 0 all checks ok, 1 some failed, 2 the input or the command line could
 * not be understood (said on stderr).
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long u64;

enum level { PTE, CONT_PTE, PMD, CONT_PMD, PUD, LEVELS };

static const char * const level_name[LEVELS] = {
	"pte", "cont_pte", "pmd", "cont_pmd", "pud",
};

/* Bytes of a leaf by level; 0 where the page size has no such leaf. */
static u64 leaf_size[LEVELS];
static u64 page_size;

/* One line of the dump, or what is left of it once it was cut. */
struct piece {
	u64 start, end;	/* end is exclusive */
	enum level level;
	bool valid, ro, nx;
	char attrs[96];		/* what must be equal in a run */
};

/* A range of physical addresses, end exclusive. */
struct bank {
	u64 start, end;
};

struct list {
	void *item;
	size_t size, count, room;
};

static struct list pieces = { .size = sizeof(struct piece) };
static struct list banks = { .size = sizeof(struct bank) };
static struct bank text;

static u64 va_of_pa;	/* virtual minus physical address */
static const char *mode;
static u64 kfence_pool;
static struct bank pool;	/* where it was found, virtual addresses */
static bool may_be_split;
static bool quiet;
static int shown;
static int failed;

#define die(...) do {						\
	fputs("lm_layout: ", stderr);				\
	fprintf(stderr, __VA_ARGS__);				\
	fputc('\n', stderr);					\
	exit(2);						\
} while (0)

static void add(struct list *list, const void *item)
{
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->item = realloc(list->item, list->room * list->size);
		if (!list->item)
			die("out of memory");
	}
	memcpy((char *)list->item + list->count++ * list->size, item, list->size);
}

static struct piece *piece_at(size_t i)
{
	return (struct piece *)pieces.item + i;
}

static struct bank *bank_at(size_t i)
{
	return (struct bank *)banks.item + i;
}

/* May the check that ends with verdict() say one more thing? */
static bool one_more(void)
{
	const int last = 10;

	if (quiet)
		return false;
	shown++;
	if (shown == last + 1)
		puts("# ... and more");
	return shown <= last;
}

#define show(...) do {						\
	if (one_more()) {					\
		fputs("# ", stdout);				\
		printf(__VA_ARGS__);				\
		putchar('\n');					\
	}							\
} while (0)

static void verdict(bool ok, const char *name, const char *text)
{
	printf("%s %s: %s\n", ok ? "ok" : "not ok", name, text);
	failed |= !ok;
	shown = 0;
}

static void not_judged(const char *name, const char *reason)
{
	printf("skip %s: %s\n", name, reason);
	shown = 0;
}

static void set_page_size(u64 size)
{
	page_size = size;
	leaf_size[PTE] = size;
	leaf_size[PMD] = size * (size / 8);
	switch (size) {
	case 4096:
		leaf_size[CONT_PTE] = 16 * size;
		leaf_size[CONT_PMD] = 16 * leaf_size[PMD];
		leaf_size[PUD] = leaf_size[PMD] * (size / 8);
		break;
	case 16384:
		leaf_size[CONT_PTE] = 128 * size;
		leaf_size[CONT_PMD] = 32 * leaf_size[PMD];
		break;
	case 65536:
		leaf_size[CONT_PTE] = 32 * size;
		leaf_size[CONT_PMD] = 32 * leaf_size[PMD];
		break;
	default:
		die("arm64 has no pages of %llu bytes: give 4096, 16384 or 65536 by -p", size);
	}
}

/*
 * "0xSTART-0xEND  SIZE LEVEL ATTRIBUTE...". The attributes are absent where
 * nothing is mapped.
 */
static void parse_line(char *line, unsigned int number)
{
	struct piece p = { .valid = true };
	bool blk = false, con = false, px = false, ux = false;
	char name[8], *word, *save;
	int used = 0;

	if (sscanf(line, "0x%llx-0x%llx %*s %7s%n",
		   &p.start, &p.end, name, &used) != 3 || !used)
		die("line %u of the dump is not of the form 0xSTART-0xEND SIZE LEVEL: %s",
		    number, line);
	if (p.start >= p.end || (p.start | p.end) % page_size)
		die("line %u of the dump is no range of pages of %llu bytes: %s", number,
		    page_size, line);

	word = strtok_r(line + used, "\n ", &save);
	if (!word)
		return;

	for (; word; word = strtok_r(NULL, "\n ", &save)) {
		if (!strcmp(word, "BLK")) {
			blk = true;
			continue;
		}
		if (!strcmp(word, "CON")) {
			con = true;
			continue;
		}
		if (!strcmp(word, "F"))
			p.valid = false;
		else if (!strcmp(word, "ro"))
			p.ro = true;
		else if (!strcmp(word, "NX"))
			px = true;
		else if (!strcmp(word, "UXN"))
			ux = true;
		if (strlen(p.attrs) + strlen(word) + 2 > sizeof(p.attrs))
			die("line %u of the dump has more attributes than are known of", number);
		strcat(p.attrs, word);
		strcat(p.attrs, " ");
	}
	p.nx = px && ux;

	if (!strcmp(name, "PTE")) {
		/* Bit 1 is what the dump calls BLK where it is clear. */
		if (blk)
			die("line %u of the dump: a PTE without its type bit", number);
		p.level = con ? CONT_PTE : PTE;
	} else if (!blk) {
		die("line %u of the dump: a leaf in a %s that is no block", number, name);
	} else if (!strcmp(name, "PMD")) {
		p.level = con ? CONT_PMD : PMD;
	} else if (leaf_size[PUD] && !con &&
		   (!strcmp(name, "PUD") || !strcmp(name, "PGD"))) {
		/* With three levels the dump calls the first one PGD. */
		p.level = PUD;
	} else {
		die("line %u of the dump: %s%s leaves do not exist with pages of %llu bytes",
		    number, con ? "contiguous " : "", name, page_size);
	}
	add(&pieces, &p);
}

static void parse_dump(const char *path)
{
	bool inside = false, ended = false;
	unsigned int number = 0;
	size_t room = 0, i;
	char *line = NULL;
	FILE *f;

	f = fopen(path, "r");
	if (!f)
		die("%s: %s", path, strerror(errno));
	while (getline(&line, &room, f) >= 0) {
		number++;
		if (!strncmp(line, "---[", 4)) {
			if (inside)
				ended = true;
			inside = !!strstr(line, "[ Linear Mapping start ]");
		} else if (inside) {
			parse_line(line, number);
		}
	}
	if (ferror(f))
		die("%s: %s", path, strerror(errno));
	free(line);
	fclose(f);

	if (!number)
		die("%s is empty", path);
	if (!ended)
		die("%s has no section from \"Linear Mapping start\" to its end", path);
	if (!pieces.count)
		die("%s: nothing is mapped in the linear map", path);
	for (i = 1; i < pieces.count; i++)
		if (piece_at(i)->start < piece_at(i - 1)->end)
			die("%s: ranges are not in order at 0x%llx", path,
			    piece_at(i)->start);
}

/* Banks of memory as the kernel lists them, in whole pages. */
static void parse_iomem(const char *path)
{
	u64 start, end;
	size_t room = 0;
	char *line = NULL;
	int used;
	FILE *f;

	f = fopen(path, "r");
	if (!f)
		die("%s: %s", path, strerror(errno));
	while (getline(&line, &room, f) >= 0) {
		used = 0;
		if (sscanf(line, " %llx-%llx : %n", &start, &end, &used) != 2 ||
		    !used)
			continue;
		end++;
		if (!strncmp(line + used, "System RAM", 10)) {
			struct bank b = {
				.start = (start + page_size - 1) & -page_size,
				.end = end & -page_size,
			};

			if (b.start < b.end)
				add(&banks, &b);
		} else if (!strncmp(line + used, "Kernel code", 11)) {
			text.start = start;
			text.end = end;
		}
	}
	if (ferror(f))
		die("%s: %s", path, strerror(errno));
	free(line);
	fclose(f);

	if (!banks.count)
		die("%s: no System RAM in it; to see addresses it must be read by root", path);
	if (!text.end)
		die("%s: no Kernel code in it", path);
	if (text.start % page_size || text.end % page_size)
		die("%s: Kernel code is not in whole pages of %llu bytes", path, page_size);
}

/*
 * Cuts every piece that holds @va inside, so that no piece lies on both sides
 * of it.
 */
static void cut_at(u64 va)
{
	size_t lo = 0, hi = pieces.count;
	struct piece *p, right;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (piece_at(mid)->end <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == pieces.count || piece_at(lo)->start >= va)
		return;

	right = *piece_at(lo);
	right.start = va;
	piece_at(lo)->end = va;
	add(&pieces, &right);
	p = piece_at(lo);
	memmove(p + 2, p + 1, (pieces.count - lo - 2) * sizeof(*p));
	p[1] = right;
}

static bool in_text(u64 va)
{
	return va - va_of_pa >= text.start && va - va_of_pa < text.end;
}

/*
 * Does the kernel map the two sides of @va each on its own? It does so at the
 * ends of its text and of KFENCE's pool. Banks of memory that touch were one
 * when the map was made: NUMA nodes are told apart later.
 */
static bool is_border(u64 va)
{
	u64 pa = va - va_of_pa;

	return pa == text.start || pa == text.end ||
	       (pool.end && (va == pool.start || va == pool.end));
}

static void print_row(const char *key, u64 leaves, u64 bytes)
{
	printf("%s\t%llu\t%llu\n", key, leaves, bytes);
}

static void print_tables(const char *key, enum level below, u64 covers)
{
	u64 tables = 0, last = 0, first, end;
	bool any = false;
	size_t i;

	for (i = 0; i < pieces.count; i++) {
		struct piece *p = piece_at(i);

		if (p->level > below)
			continue;
		first = p->start / covers;
		end = (p->end - 1) / covers + 1;
		tables += end - first;
		if (any && first == last)
			tables--;
		last = end - 1;
		any = true;
	}
	print_row(key, tables, tables * page_size);
}

static void print_table(void)
{
	u64 bytes[LEVELS] = { 0 }, leaves = 0, total = 0;
	u64 bad_leaves = 0, bad_bytes = 0, text_leaves = 0, text_bytes = 0;
	size_t i;
	int l;

	for (i = 0; i < pieces.count; i++) {
		struct piece *p = piece_at(i);
		u64 b = p->end - p->start;

		bytes[p->level] += b;
		if (!p->valid) {
			bad_bytes += b;
			bad_leaves += b / leaf_size[p->level];
		}
		if (in_text(p->start)) {
			text_bytes += b;
			text_leaves += b / leaf_size[p->level];
		}
	}
	for (l = PUD; l >= PTE; l--) {
		u64 n = leaf_size[l] ? bytes[l] / leaf_size[l] : 0;

		print_row(level_name[l], n, bytes[l]);
		leaves += n;
		total += bytes[l];
	}
	print_row("invalid", bad_leaves, bad_bytes);
	print_row("total", leaves, total);
	print_row("text_alias", text_leaves, text_bytes);
	print_tables("pte_tables", CONT_PTE, leaf_size[PMD]);
	print_tables("pmd_tables", CONT_PMD, leaf_size[PMD] * (page_size / 8));
}

static void check_groups(void)
{
	bool ok = true;
	size_t i;

	/*
	 * The dump prints runs of one level and one set of attributes; a block
	 * is one entry, so a run of blocks is aligned unless the dump lies. A
	 * Contiguous group of which only a part has the bit is a fault of the
	 * kernel: it is what a split in the wrong place leaves.
	 */
	for (i = 0; i < pieces.count; i++) {
		struct piece *p = piece_at(i);
		u64 mask = leaf_size[p->level] - 1;
		u64 pa = p->start - va_of_pa;

		if (!((p->start | p->end | pa) & mask))
			continue;
		ok = false;
		show("0x%llx-0x%llx (physical 0x%llx) is not made of whole %s leaves",
		     p->start, p->end, pa, level_name[p->level]);
	}
	verdict(ok, "groups", "blocks and contiguous groups are whole and aligned");
}

static int by_start(const void *a, const void *b)
{
	const struct bank *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void check_ram(void)
{
	size_t p = 0, b = 0;
	bool ok = true;

	/* Both as maximal ranges, side by side. */
	while (p < pieces.count || b < banks.count) {
		u64 ps = ~0ULL, pe = 0, bs = ~0ULL, be = 0;

		if (p < pieces.count) {
			ps = piece_at(p)->start - va_of_pa;
			pe = piece_at(p++)->end - va_of_pa;
			while (p < pieces.count && piece_at(p)->start - va_of_pa == pe)
				pe = piece_at(p++)->end - va_of_pa;
		}
		if (b < banks.count) {
			bs = bank_at(b)->start;
			be = bank_at(b++)->end;
			while (b < banks.count && bank_at(b)->start == be)
				be = bank_at(b++)->end;
		}
		if (ps == bs && pe == be)
			continue;
		ok = false;
		if (pe)
			show("mapped: physical 0x%llx-0x%llx", ps, pe);
		if (be)
			show("System RAM:      0x%llx-0x%llx", bs, be);
	}
	verdict(ok, "ram", "all System RAM and nothing else is mapped");
}

static void check_nx(void)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < pieces.count; i++) {
		struct piece *p = piece_at(i);

		if (p->nx)
			continue;
		ok = false;
		show("0x%llx-0x%llx can be executed: %s", p->start, p->end, p->attrs);
	}
	verdict(ok, "nx", "nothing in the linear map can be executed");
}

/* The largest leaf that fits at @va of a run that ends at @end. */
static enum level largest(u64 va, u64 end, bool cont)
{
	u64 pa = va - va_of_pa;
	int l;

	for (l = PUD; l > PTE; l--) {
		if (!leaf_size[l] || (!cont && (l == CONT_PTE || l == CONT_PMD)))
			continue;
		if (!((va | pa) & (leaf_size[l] - 1)) && end - va >= leaf_size[l])
			break;
	}
	return l;
}

/*
 * Compares the leaves of [@start, @end), a run of equal attributes without
 * holes whose first piece is @i, with the largest that fit. Returns the bytes
 * that are not so.
 */
static u64 compare_run(size_t i, u64 start, u64 end, bool cont)
{
	u64 va = start, next, wrong = 0;

	while (va < end) {
		enum level want = largest(va, end, cont);

		/*
		 * As far as that size goes on, up to where the alignment allows
		 * a larger one or the end a smaller one only.
		 */
		next = va;
		do {
			next += leaf_size[want];
		} while (next < end && largest(next, end, cont) == want);

		while (va < next) {
			struct piece *p = piece_at(i);
			u64 stop = p->end < next ? p->end : next;

			if (p->level != want) {
				show("0x%llx-0x%llx is in %s leaves, should be in %s: %s",
				     va, stop, level_name[p->level], level_name[want], p->attrs);
				wrong += stop - va;
			}
			va = stop;
			if (va == p->end)
				i++;
		}
	}
	return wrong;
}

static void check_alias(void)
{
	u64 start = text.start + va_of_pa, end = text.end + va_of_pa;
	u64 mapped = 0;
	bool ok = true;
	size_t i, first = 0;

	for (i = 0; i < pieces.count; i++) {
		struct piece *p = piece_at(i);

		if (!in_text(p->start)) {
			/* Read-only from boot is the kernel's text alone. */
			if (p->ro && (p->start == end || p->end == start)) {
				ok = false;
				show("0x%llx-0x%llx, beside the text, is read-only too: %s",
				     p->start, p->end, p->attrs);
			}
			continue;
		}
		if (!mapped)
			first = i;
		mapped += p->end - p->start;
		if (p->level == CONT_PTE || p->level == CONT_PMD) {
			ok = false;
			show("0x%llx-0x%llx is contiguous", p->start, p->end);
		}
		if (!p->ro || !p->valid) {
			ok = false;
			show("0x%llx-0x%llx is not valid and read-only: %s",
			     p->start, p->end, p->attrs);
		}
	}
	if (mapped != end - start) {
		ok = false;
		show("%llu bytes of 0x%llx-0x%llx are mapped", mapped, start, end);
	} else if (compare_run(first, start, end, false)) {
		ok = false;
	}
	verdict(ok, "alias",
		"the alias of the kernel's text is read-only, in blocks where they fit, not contiguous");
}

static void check_pages(void)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < pieces.count; i++) {
		struct piece *p = piece_at(i);

		if (in_text(p->start) || p->level == PTE)
			continue;
		ok = false;
		show("0x%llx-0x%llx is in %s leaves", p->start, p->end,
		     level_name[p->level]);
	}
	verdict(ok, "sizes", "all but the alias of the kernel's text is in pages, none contiguous");
}

/* Bytes that are not in the largest leaf that fits. */
static u64 compare_all(void)
{
	u64 wrong = 0, end;
	size_t i, n;

	for (i = 0; i < pieces.count; i = n) {
		struct piece *p = piece_at(i);

		end = p->end;
		for (n = i + 1; n < pieces.count; n++) {
			struct piece *q = piece_at(n);

			if (q->start != end || is_border(end) || strcmp(q->attrs, p->attrs))
				break;
			end = q->end;
		}
		if (in_text(p->start))
			continue;
		if (p->start >= pool.start && p->start < pool.end)
			continue;
		wrong += compare_run(i, p->start, end, true);
	}
	return wrong;
}

/*
 * KFENCE's pool is mapped in pages, and what lies around it ends at it as at
 * the end of a bank. Its address is not told to user space: it is that part of
 * a range of pages, as large as the pool, for which all else is as it should
 * be. At most a group of pages at either end of such a range is not the pool.
 */
static bool find_pool(void)
{
	struct list saved = pieces;
	size_t i, n;

	for (i = 0; i < saved.count; i = n) {
		struct piece *p = (struct piece *)saved.item + i;
		u64 start = p->start, end = p->end, last;

		n = i + 1;
		if (p->level != PTE)
			continue;
		for (; n < saved.count; n++) {
			struct piece *q = (struct piece *)saved.item + n;

			if (q->start != end || q->level != PTE)
				break;
			end = q->end;
		}
		if (end - start < kfence_pool)
			continue;
		last = end - kfence_pool;
		if (last - start > 2 * leaf_size[CONT_PTE])
			last = start + 2 * leaf_size[CONT_PTE];
		for (; start <= last; start += page_size) {
			u64 wrong;
			size_t k;

			pool.start = start;
			pool.end = start + kfence_pool;
			pieces = (struct list){ .size = sizeof(struct piece) };
			for (k = 0; k < saved.count; k++)
				add(&pieces, (struct piece *)saved.item + k);
			cut_at(pool.start);
			cut_at(pool.end);
			quiet = true;
			wrong = compare_all();
			quiet = false;
			free(pieces.item);
			pieces = saved;
			if (!wrong)
				return true;
		}
	}
	pool = (struct bank){ 0 };
	return false;
}

static void check_blocks(void)
{
	char text_buf[128];
	u64 wrong;

	quiet = kfence_pool;
	wrong = compare_all();
	quiet = false;
	if (wrong && kfence_pool) {
		if (find_pool()) {
			verdict(true, "sizes",
				"every leaf is the largest that fits, but for KFENCE's pool in pages");
			return;
		}
		compare_all();
	}
	if (wrong && may_be_split) {
		snprintf(text_buf, sizeof(text_buf),
			 "the map has been split since boot, %llu bytes could be in larger leaves",
			 wrong);
		not_judged("sizes", text_buf);
		return;
	}
	verdict(!wrong, "sizes", "every leaf is the largest that fits");
}

/*
 * Says the same as check_blocks() from the other side and without looking at
 * where leaves are: a range of memory can have less than one leaf of a size
 * at either end that is made of smaller ones.
 */
static void check_bound(void)
{
	u64 small[LEVELS] = { 0 }, ends, bound;
	bool ok = true;
	size_t i;
	int l;

	/* The kernel's text and KFENCE's pool each make two ranges of one. */
	ends = 2 * (banks.count + 1 + !!kfence_pool);
	for (i = 0; i < pieces.count; i++) {
		struct piece *p = piece_at(i);

		/* So does a range with other attributes. */
		if (i && strcmp(p->attrs, piece_at(i - 1)->attrs) &&
		    !in_text(p->start) && !in_text(piece_at(i - 1)->start))
			ends += 2;
		if (in_text(p->start))
			continue;
		for (l = p->level + 1; l < LEVELS; l++)
			small[l] += p->end - p->start;
	}
	for (l = CONT_PTE; l < LEVELS; l++) {
		/* Where virtual and physical addresses differ there is none. */
		if (!leaf_size[l] || va_of_pa & (leaf_size[l] - 1))
			continue;
		bound = kfence_pool + ends * leaf_size[l];
		if (small[l] < bound)
			continue;
		ok = false;
		show("leaves below %s hold %llu bytes, less than %llu are accounted for",
		     level_name[l], small[l], bound);
	}
	if (!ok && may_be_split)
		not_judged("bound", "the map has been split since boot");
	else
		verdict(ok, "bound",
			"small leaves hold no more than the ends of the banks of memory");
}

static u64 bytes_of(const char *s, const char *what)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno || *end || end == s || *s == '-')
		die("%s: \"%s\" is no size in bytes", what, s);
	return v;
}

static int usage(FILE *f, int code)
{
	fputs("Usage: lm_layout [-p BYTES] -t DUMP IOMEM\n"
	      "       lm_layout [-p BYTES] -m blocks|pages [-k BYTES] [-s] DUMP IOMEM\n"
	      "Bytes of the linear map by size of leaf, and checks of them.\n"
	      "  DUMP      kernel_page_tables of debugfs, or a copy\n"
	      "  IOMEM     /proc/iomem as root reads it, or a copy\n"
	      "  -t        table only\n"
	      "  -m MODE   check that the linear map is in blocks or in pages\n"
	      "  -p BYTES  page size of the kernel (default: of this system)\n"
	      "  -k BYTES  size of KFENCE's pool, which may be in pages\n"
	      "  -s        the map may have been split since boot\n", f);
	return code;
}

int main(int argc, char **argv)
{
	bool table_only = false;
	int opt;

	while ((opt = getopt(argc, argv, "htm:p:k:s")) != -1) {
		switch (opt) {
		case 'h':
			return usage(stdout, 0);
		case 't':
			table_only = true;
			break;
		case 'm':
			mode = optarg;
			if (strcmp(mode, "blocks") && strcmp(mode, "pages"))
				die("-m: \"%s\" is neither blocks nor pages", mode);
			break;
		case 'p':
			page_size = bytes_of(optarg, "-p");
			break;
		case 'k':
			kfence_pool = bytes_of(optarg, "-k");
			break;
		case 's':
			may_be_split = true;
			break;
		default:
			return usage(stderr, 2);
		}
	}
	if (argc - optind != 2 || table_only == !!mode)
		return usage(stderr, 2);
	set_page_size(page_size ? page_size : (u64)sysconf(_SC_PAGESIZE));

	parse_dump(argv[optind]);
	parse_iomem(argv[optind + 1]);
	qsort(banks.item, banks.count, banks.size, by_start);

	/*
	 * Physical addresses are not in the dump: the first byte mapped is the
	 * first of RAM. Where that is not so, "ram" and "alias" fail.
	 */
	va_of_pa = piece_at(0)->start - bank_at(0)->start;
	cut_at(text.start + va_of_pa);
	cut_at(text.end + va_of_pa);

	print_table();
	if (table_only)
		return 0;

	check_groups();
	check_ram();
	check_nx();
	check_alias();
	if (!strcmp(mode, "pages")) {
		check_pages();
	} else {
		check_blocks();
		check_bound();
	}
	return failed;
}
