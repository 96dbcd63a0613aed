// SPDX-License-Identifier: GPL-2.0-only
/*
 * linear_map_test - tests of the arm64 linear map, on a running kernel
 *
 * All under /sys/kernel/debug/linear_map_test/:
 *
 *  path     mode  meaning
 *  -------  ----  -----------------------------------------------------------
 *  run      0200  `<test> [argument...]`, or `all`: every test with its default
 *                 arguments. write(2) returns once it has ended, whether it
 *                 passed or not (see results); or it fails, and nothing has run:
 *                 -EINVAL  no such test, wrong argument; the log says which
 *                 -EBUSY   another run has not ended
 *                 -ENOMEM  no memory for its report
 *                 A signal ends a run early: its open case fails.
 *  results  0444  KTAP of the last run that ended, `# Totals:` as the last
 *                 line; -ENODATA before the first
 *  layout   0444  `key<TAB>leaves<TAB>bytes` of the linear map: pud, cont_pmd,
 *                 pmd, cont_pte, pte: leaves by size (a contiguous group is one
 *                 leaf); invalid: those of them that are not valid; total: the
 *                 sum; text_alias: those of them in the alias of the kernel
 *                 image from _text to __init_begin, which is read-only; tables:
 *                 page-table pages below the root, and their bytes; ram: the
 *                 bytes that the map should hold, from memblock (memory not
 *                 marked as NOMAP), through the kernel's table of functions
 *  stats    0444  `key value`: the kernel's counters of splits (available 0
 *                 where it has none), and what the last run measured. Times are
 *                 in nanoseconds and say nothing about hardware when the CPU is
 *                 emulated
 *  tests    0444  the tests: name, arguments with range and default, meaning; with
 *                 a + before the name if it is not one of `all`
 *  held     0444  what `hold` took and `let_go` has not given back, an area a
 *                 line: kind, physical address, bytes, bytes that are invalid in
 *                 the linear map, first word of the content. See hold.c
 *
 * Reading changes nothing. Files may be read while a test runs: layout shows
 * the map as it is at that time, results and stats the last run.
 *
 * Module parameter `run=`: what to write to run when the module is loaded; the
 * load fails where the write would. While run is open, a test runs, or memory is
 * held, the module cannot be unloaded.
 *
 * Test enomem wants failing allocations, which its caller sets up under
 * /sys/kernel/debug/fail_page_alloc: task-filter 1, min-order 0,
 * ignore-gfp-wait 0, times -1, and probability as wanted. space, in pages, lets
 * that many be allocated first.
 *
 * The kernel needs CONFIG_ARM64_LINEAR_MAP_TEST_SUPPORT.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "lmt.h"

#define MAX_COMMAND	128

/*
 * The order is the one in which `all` runs them. The linear map does not get
 * bigger leaves back: what needs the biggest comes first.
 */
static const struct lmt_test tests[] = {
	{
		.name = "layout",
		.meaning = "leaves sum up to the RAM, in the right place; text alias read-only",
		.fn = lmt_test_layout,
	}, {
		.name = "valid_gib",
		.meaning = "1 GiB out of the map and back in one call",
		.fn = lmt_test_valid_gib,
	}, {
		.name = "split_pud",
		.meaning = "parts of PUD leaves out and back: start, middle, end, across two",
		.fn = lmt_test_split_pud,
	}, {
		.name = "split_cont_pmd",
		.meaning = "the same with contiguous PMDs",
		.fn = lmt_test_split_cont_pmd,
	}, {
		.name = "split_pmd",
		.meaning = "the same with PMDs",
		.fn = lmt_test_split_pmd,
	}, {
		.name = "split_cont_pte",
		.meaning = "the same with contiguous PTEs",
		.fn = lmt_test_split_cont_pte,
	}, {
		.name = "valid_page",
		.meaning = "single pages out of the map and back",
		.fn = lmt_test_valid_page,
	}, {
		.name = "valid_block",
		.meaning = "aligned ranges of the size of a leaf: nothing smaller appears",
		.fn = lmt_test_valid_block,
	}, {
		.name = "valid_across",
		.meaning = "ranges across the edges of blocks",
		.fn = lmt_test_valid_across,
	}, {
		.name = "invalid_leaf",
		.meaning = "a whole leaf invalid, then one page in it valid, each for ms longer",
		.arg = {
			{ "ms", 0, 60000, 0 },
		},
		.fn = lmt_test_invalid_leaf,
	}, {
		.name = "direct_map",
		.meaning = "set_direct_map_invalid_noflush() and _default_noflush() of a page",
		.fn = lmt_test_direct_map,
	}, {
		.name = "refuse_valid",
		.meaning = "what set_memory_valid() must refuse, and that it changes nothing",
		.fn = lmt_test_refuse_valid,
	}, {
		.name = "ro_rw",
		.meaning = "vmalloc areas read-only and back, with their aliases",
		.fn = lmt_test_ro_rw,
	}, {
		.name = "ro_rw_block",
		.meaning = "the same with pages in known blocks: their layout, leaf for leaf",
		.fn = lmt_test_ro_rw_block,
	}, {
		.name = "nx_x",
		.meaning = "vmalloc areas executable and back; aliases stay as they are",
		.fn = lmt_test_nx_x,
	}, {
		.name = "refuse",
		.meaning = "what set_memory_ro/rw/nx/x must refuse, and that it changes nothing",
		.fn = lmt_test_refuse,
	}, {
		.name = "free_ro",
		.meaning = "areas freed while read-only: their pages are writable afterwards",
		.fn = lmt_test_free_ro,
	}, {
		.name = "churn",
		.meaning = "random single pages of a buffer out of the map and back",
		.arg = {
			{ "pages", 1, 1 << 20, 4096 },
			{ "rounds", 1, 1 << 24, 2000 },
			{ "seed", 0, U64_MAX, 1 },
		},
		.fn = lmt_test_churn,
	}, {
		.name = "concurrent",
		.meaning = "a thread on each CPU changes its pages of the same blocks",
		.arg = {
			{ "rounds", 1, 1 << 24, 100 },
			{ "seed", 0, U64_MAX, 1 },
		},
		.fn = lmt_test_concurrent,
	}, {
		.name = "enomem",
		.meaning = "a set_memory_valid() that has no memory changes nothing",
		.arg = {
			{ "rounds", 1, 1 << 16, 32 },
		},
		.fn = lmt_test_enomem,
	}, {
		.name = "seed",
		.meaning = "vmalloc() of most free memory, read-only for ms, back, vfree(): costs",
		.arg = {
			{ "percent", 1, 95, 80 },
			{ "ms", 0, 60000, 0 },
		},
		.fn = lmt_test_seed,
	}, {
		.name = "hotplug",
		.meaning = "memory that mem= hides is added, and removed in pieces; not in `all`",
		.arg = {
			{ "start", 0, U64_MAX, 0 },
			{ "bytes", 0, U64_MAX, 0 },
		},
		.alone = true,
		.fn = lmt_test_hotplug,
	}, {
		.name = "tlbsan",
		.meaning = "right and wrong flushes, for the flush sanitizer to tell apart; not in `all`",
		.alone = true,
		.fn = lmt_test_tlbsan,
	}, {
		.name = "hold",
		.meaning = "free memory made invalid, which stays so until `let_go`; not in `all`",
		.arg = {
			{ "MiB", 1, 1 << 20, 64 },
		},
		.alone = true,
		.fn = lmt_test_hold,
	}, {
		.name = "held",
		.meaning = "what is held is as invalid as it was left; not in `all`",
		.alone = true,
		.fn = lmt_test_held,
	}, {
		.name = "let_go",
		.meaning = "the same, then all valid: its content is intact; not in `all`",
		.alone = true,
		.fn = lmt_test_let_go,
	},
};

static DEFINE_MUTEX(lock);	/* of what follows */
static bool busy;		/* a run has begun and not ended */
static struct lmt_text results;	/* of the last run that ended */

static char *run;
module_param(run, charp, 0400);
MODULE_PARM_DESC(run, "a test and its arguments, or `all`, to run when the module is loaded");

static struct dentry *dir;

/* A command: one test with arguments, or all tests. */
struct command {
	unsigned int first;
	unsigned int nr;
	u64 arg[LMT_MAX_ARGS];
};

static unsigned int nr_args(const struct lmt_test *test)
{
	unsigned int n = 0;

	while (n < LMT_MAX_ARGS && test->arg[n].name)
		n++;
	return n;
}

static int parse(struct command *cmd, char *text)
{
	const struct lmt_test *test = NULL;
	unsigned int i, n = 0;
	char *word;

	memset(cmd, 0, sizeof(*cmd));
	text = strim(text);
	word = strsep(&text, " \t");
	if (!*word) {
		pr_err("no test is named: the file `tests` lists them\n");
		return -EINVAL;
	}
	if (!strcmp(word, "all")) {
		/* Those that run alone come last. */
		while (cmd->nr < ARRAY_SIZE(tests) && !tests[cmd->nr].alone)
			cmd->nr++;
		if (!text)
			return 0;
		pr_err("`all` takes no arguments\n");
		return -EINVAL;
	}
	for (i = 0; i < ARRAY_SIZE(tests) && !test; i++)
		if (!strcmp(word, tests[i].name))
			test = &tests[i];
	if (!test) {
		pr_err("no test `%.40s`: the file `tests` lists them\n", word);
		return -EINVAL;
	}
	cmd->first = test - tests;
	cmd->nr = 1;
	for (i = 0; i < nr_args(test); i++)
		cmd->arg[i] = test->arg[i].def;
	while (text) {
		word = strsep(&text, " \t");
		if (!*word)
			continue;
		if (n == nr_args(test)) {
			pr_err("%s takes %u arguments, `%.40s` is one too many\n", test->name, n,
			       word);
			return -EINVAL;
		}
		if (kstrtou64(word, 0, &cmd->arg[n]) || cmd->arg[n] < test->arg[n].min ||
		    cmd->arg[n] > test->arg[n].max) {
			pr_err("%s: `%.40s` is no number from %llu to %llu for %s\n", test->name,
			       word, test->arg[n].min, test->arg[n].max, test->arg[n].name);
			return -EINVAL;
		}
		n++;
	}
	return 0;
}

/* After a test: all memory back, the map complete, tables as many as leaves need. */
static void check_end(struct lmt *t, const struct lmt_census *before)
{
	struct lmt_census now;
	s64 more;

	lmt_case(t, "nothing_left_behind");
	if (t->cases.pass + t->cases.fail + t->cases.skip == 0)
		lmt_fail(t, "the test had no case");
	lmt_alias_put_all(t);
	lmt_area_put_all(t);
	lmt_census_all(&now);
	lmt_check_whole(t, &now);
	/* Bytes that left PMD leaves for PTEs, PUD leaves for PMDs. */
	more = (s64)(now.bytes[LMT_PTE] + now.bytes[LMT_CONT_PTE] - before->bytes[LMT_PTE] -
		     before->bytes[LMT_CONT_PTE]) / (s64)PMD_SIZE;
	if (lmt_level_exists(LMT_PUD))
		more += (s64)(before->bytes[LMT_PUD] - now.bytes[LMT_PUD]) / (s64)PUD_SIZE;
	if ((s64)(now.tables - before->tables) != more)
		lmt_fail(t, "%llu tables before, %llu now: the leaves need %lld more",
			 before->tables, now.tables, more);
	if (now.exec_tables > before->exec_tables)
		lmt_fail(t, "%llu new tables lack PXNTable or UXNTable",
			 now.exec_tables - before->exec_tables);
	if (memcmp(now.bytes, before->bytes, sizeof(now.bytes)))
		lmt_diag(t, "what is split stays split: %llu tables before, %llu now",
			 before->tables, now.tables);
	lmt_case_end(t);
}

static void run_test(struct lmt_text *out, const struct lmt_test *test, const u64 *arg,
		     unsigned int nr, struct lmt_counts *totals)
{
	struct lmt t = { .test = test };
	struct lmt_census before;
	const char *verdict = "ok";
	unsigned int real;
	char key[40];
	u64 ns;

	INIT_LIST_HEAD(&t.areas);
	INIT_LIST_HEAD(&t.aliases);
	ns = ktime_get_ns();
	lmt_census_all(&before);
	if (!lmt_interrupted(&t))
		test->fn(&t, arg);
	lmt_case_end(&t);
	real = t.cases.pass + t.cases.fail;
	check_end(&t, &before);
	ns = ktime_get_ns() - ns;
	scnprintf(key, sizeof(key), "%s_ns", test->name);
	lmt_stat(key, "%llu", ns);

	if (t.body.lost)
		t.cases.fail++;
	if (t.cases.fail)
		verdict = "not ok";
	lmt_text_add(out, "    KTAP version 1\n    # Subtest: %s\n    1..%u\n", test->name,
		     t.cases.pass + t.cases.fail + t.cases.skip);
	if (t.body.buf)
		lmt_text_add(out, "%s", t.body.buf);
	if (t.body.lost)
		lmt_text_add(out, "    not ok %u report # no memory for all of it\n",
			     t.cases.pass + t.cases.fail + t.cases.skip);
	if (t.cases.fail || real)
		lmt_text_add(out, "%s %u %s\n", verdict, nr, test->name);
	else
		lmt_text_add(out, "ok %u %s # SKIP all its cases were skipped\n", nr, test->name);
	pr_info("%s: %s: %u passed, %u failed, %u skipped\n", test->name, verdict, t.cases.pass,
		t.cases.fail, t.cases.skip);
	totals->pass += t.cases.pass;
	totals->fail += t.cases.fail;
	totals->skip += t.cases.skip;
	lmt_text_free(&t.body);
}

/* Run a command. An errno means that nothing has run. */
static int run_command(char *text)
{
	struct lmt_counts totals = {};
	struct lmt_text out = {};
	struct command cmd;
	unsigned int i;
	int ret;

	ret = parse(&cmd, text);
	if (ret)
		return ret;
	lmt_text_add(&out, "KTAP version 1\n1..%u\n", cmd.nr);
	if (out.lost)
		return -ENOMEM;

	mutex_lock(&lock);
	ret = busy ? -EBUSY : 0;
	busy = true;
	mutex_unlock(&lock);
	if (ret) {
		pr_err("another run has not ended\n");
		lmt_text_free(&out);
		return ret;
	}

	lmt_stats_reset();
	for (i = 0; i < cmd.nr; i++) {
		const struct lmt_test *test = &tests[cmd.first + i];
		u64 arg[LMT_MAX_ARGS];
		unsigned int n;

		for (n = 0; n < LMT_MAX_ARGS; n++)
			arg[n] = cmd.nr == 1 ? cmd.arg[n] : test->arg[n].def;
		run_test(&out, test, arg, i + 1, &totals);
	}
	if (out.lost) {
		/* What was said is cut off somewhere: nothing of it counts. */
		lmt_text_free(&out);
		lmt_text_add(&out, "KTAP version 1\n1..1\nnot ok 1 report # no memory for it\n");
		totals = (struct lmt_counts) { .fail = 1 };
	}
	lmt_text_add(&out, "# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0\n",
		     totals.pass, totals.fail, totals.skip);

	mutex_lock(&lock);
	swap(results, out);
	busy = false;
	mutex_unlock(&lock);
	lmt_text_free(&out);
	return 0;
}

static ssize_t run_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char *text;
	int ret;

	if (count > MAX_COMMAND) {
		pr_err("a command has at most %d bytes\n", MAX_COMMAND);
		return -EINVAL;
	}
	text = memdup_user_nul(from, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (strlen(text) != count) {
		pr_err("a command is text without NUL\n");
		ret = -EINVAL;
	} else {
		ret = run_command(text);
	}
	kfree(text);
	return ret ?: count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.write = run_write,
};

static int results_show(struct seq_file *m, void *v)
{
	int ret = 0;

	mutex_lock(&lock);
	if (results.buf)
		seq_write(m, results.buf, results.len);
	else
		ret = -ENODATA;
	mutex_unlock(&lock);
	return ret;
}
DEFINE_SHOW_ATTRIBUTE(results);
DEFINE_SHOW_ATTRIBUTE(lmt_layout);
DEFINE_SHOW_ATTRIBUTE(lmt_stats);
DEFINE_SHOW_ATTRIBUTE(lmt_held);

static int tests_show(struct seq_file *m, void *v)
{
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		seq_printf(m, "%s%s\t", tests[i].alone ? "+" : "", tests[i].name);
		for (n = 0; n < nr_args(&tests[i]); n++)
			seq_printf(m, "%s[%s=%llu (%llu-%llu)]", n ? " " : "", tests[i].arg[n].name,
				   tests[i].arg[n].def, tests[i].arg[n].min, tests[i].arg[n].max);
		seq_printf(m, "%s\t%s\n", n ? "" : "-", tests[i].meaning);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tests);

static int __init lmt_init(void)
{
	int ret = 0;

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	if (IS_ERR(dir)) {
		pr_err("no debugfs directory: %ld\n", PTR_ERR(dir));
		return PTR_ERR(dir);
	}
	if (run) {
		char *text = kstrdup(run, GFP_KERNEL);

		ret = text ? run_command(text) : -ENOMEM;
		kfree(text);
	}
	if (ret) {
		debugfs_remove(dir);
		return ret;
	}
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("results", 0444, dir, NULL, &results_fops);
	debugfs_create_file("layout", 0444, dir, NULL, &lmt_layout_fops);
	debugfs_create_file("stats", 0444, dir, NULL, &lmt_stats_fops);
	debugfs_create_file("tests", 0444, dir, NULL, &tests_fops);
	debugfs_create_file("held", 0444, dir, NULL, &lmt_held_fops);
	return 0;
}

static void __exit lmt_exit(void)
{
	debugfs_remove(dir);
	lmt_text_free(&results);
	lmt_area_retry_stuck();
}

module_init(lmt_init);
module_exit(lmt_exit);
MODULE_DESCRIPTION("Tests of the arm64 linear map");
MODULE_LICENSE("GPL");
