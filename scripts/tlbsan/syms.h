/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of kernel addresses, from the symbol table of vmlinux. */
#ifndef TLBSAN_SYMS_H
#define TLBSAN_SYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool syms_load(const char *path);
void syms_name(uint64_t addr, char *buf, size_t size);
uint64_t syms_text(void);
unsigned int syms_find(const char *name, uint64_t *addrs, unsigned int most);

#endif
