// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "syms.h"

struct sym {
	uint64_t addr;
	const char *name;
};

static struct sym *syms;
static size_t nr_syms;
static uint64_t text;

static int by_addr(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool inside(const Elf64_Shdr *s, size_t size)
{
	return s->sh_offset <= size && s->sh_size <= size - s->sh_offset;
}

/* Only functions count. Says what is wrong on stderr. */
bool syms_load(const char *path)
{
	int fd = open(path, O_RDONLY);
	const Elf64_Shdr *sh;
	const Elf64_Ehdr *eh;
	struct stat st;
	const char *map;
	size_t i, n;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return false;
	}
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	eh = (const void *)map;
	if (map == MAP_FAILED || (size_t)st.st_size < sizeof(*eh) ||
	    memcmp(eh->e_ident, ELFMAG, SELFMAG) || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_machine != EM_AARCH64 ||
	    eh->e_shoff + (uint64_t)eh->e_shnum * sizeof(*sh) > (uint64_t)st.st_size) {
		fprintf(stderr, "%s is no arm64 ELF file\n", path);
		return false;
	}
	sh = (const void *)(map + eh->e_shoff);
	for (i = 0; i < eh->e_shnum; i++) {
		const Elf64_Sym *s;
		const char *names;

		if (sh[i].sh_type != SHT_SYMTAB || sh[i].sh_link >= eh->e_shnum ||
		    !inside(&sh[i], st.st_size) || !inside(&sh[sh[i].sh_link], st.st_size))
			continue;
		s = (const void *)(map + sh[i].sh_offset);
		names = map + sh[sh[i].sh_link].sh_offset;
		n = sh[i].sh_size / sizeof(*s);
		syms = malloc(n * sizeof(*syms));
		if (!syms)
			abort();
		for (; n; n--, s++) {
			if (s->st_name < sh[sh[i].sh_link].sh_size && !strcmp(names + s->st_name, "_text"))
				text = s->st_value;
			if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_value &&
			    s->st_name < sh[sh[i].sh_link].sh_size)
				syms[nr_syms++] = (struct sym) { s->st_value, names + s->st_name };
		}
		break;
	}
	if (!nr_syms) {
		fprintf(stderr, "%s has no symbols of functions\n", path);
		return false;
	}
	qsort(syms, nr_syms, sizeof(*syms), by_addr);
	return true;
}

/* "name+0x10", or the bare address outside of the kernel's text, as in modules. */
void syms_name(uint64_t addr, char *buf, size_t size)
{
	size_t low = 0, high = nr_syms;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (syms[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || addr - syms[low - 1].addr > 1 << 16)
		snprintf(buf, size, "%#llx", (unsigned long long)addr);
	else
		snprintf(buf, size, "%s+%#llx", syms[low - 1].name,
			 (unsigned long long)(addr - syms[low - 1].addr));
}

/* Where the kernel image begins, 0 if unknown. */
uint64_t syms_text(void)
{
	return text;
}

/* Static functions of one name can be several. */
unsigned int syms_find(const char *name, uint64_t *addrs, unsigned int most)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < nr_syms && n < most; i++)
		if (!strcmp(syms[i].name, name))
			addrs[n++] = syms[i].addr;
	return n;
}
