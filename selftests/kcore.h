/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory by its physical address through /proc/kcore, which reads the linear map
 * and gives zeroes where that faults. For programs that are root.
 */
#ifndef LINEAR_MAP_KCORE_H
#define LINEAR_MAP_KCORE_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct kcore {
	int fd;
	unsigned int nr;
	Elf64_Phdr *segment;
};

/* False, with errno, where it cannot be read, or holds no memory. */
static bool kcore_open(struct kcore *k)
{
	Elf64_Ehdr head;
	ssize_t size;

	k->fd = open("/proc/kcore", O_RDONLY);
	if (k->fd < 0)
		return false;
	k->segment = NULL;
	if (pread(k->fd, &head, sizeof(head), 0) == sizeof(head) && head.e_phnum) {
		k->nr = head.e_phnum;
		size = k->nr * sizeof(*k->segment);
		k->segment = malloc(size);
		if (k->segment && pread(k->fd, k->segment, size, head.e_phoff) == size)
			return true;
	}
	free(k->segment);
	close(k->fd);
	return false;
}

static void kcore_close(struct kcore *k)
{
	free(k->segment);
	close(k->fd);
}

/*
 * The segment that holds an address, among those that are memory. The kernel's
 * image is a second one for its own pages, at higher virtual addresses than the
 * linear map, and has holes where memory was given back.
 */
static const Elf64_Phdr *kcore_find(const struct kcore *k, uint64_t addr, bool physical)
{
	const Elf64_Phdr *found = NULL;
	unsigned int i;

	for (i = 0; i < k->nr; i++) {
		const Elf64_Phdr *s = &k->segment[i];
		uint64_t start = physical ? s->p_paddr : s->p_vaddr;

		/* What is not memory has no physical address. */
		if (s->p_type == PT_LOAD && s->p_paddr != ~0ULL &&
		    addr >= start && addr - start < s->p_memsz &&
		    (!found || s->p_vaddr < found->p_vaddr))
			found = s;
	}
	return found;
}

/* As pread(2): bytes, or -1 with errno. ENXIO: nothing of the kernel's memory. */
static inline ssize_t kcore_read_phys(const struct kcore *k, uint64_t pa, void *buf, size_t len)
{
	const Elf64_Phdr *s = kcore_find(k, pa, true);

	if (!s) {
		errno = ENXIO;
		return -1;
	}
	return pread(k->fd, buf, len, s->p_offset + (pa - s->p_paddr));
}

static inline ssize_t kcore_read_virt(const struct kcore *k, uint64_t va, void *buf, size_t len)
{
	const Elf64_Phdr *s = kcore_find(k, va, false);

	if (!s) {
		errno = ENXIO;
		return -1;
	}
	return pread(k->fd, buf, len, s->p_offset + (va - s->p_vaddr));
}

#endif
