/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the base's selftests in base.list use of libcap, by capset(2): an empty
 * set of capabilities, and taking it on. libcap itself is seldom installed for
 * the architecture of the guest.
 */
#ifndef COMPAT_SYS_CAPABILITY_H
#define COMPAT_SYS_CAPABILITY_H

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define cap_t struct __user_cap_data_struct *

/* All capabilities lowered; NULL without memory. */
static inline cap_t cap_init(void)
{
	return calloc(_LINUX_CAPABILITY_U32S_3, sizeof(struct __user_cap_data_struct));
}

/* The calling thread's capabilities become @cap. 0, or -1 with errno. */
static inline int cap_set_proc(cap_t cap)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};

	return syscall(SYS_capset, &head, cap);
}

static inline int cap_free(void *cap)
{
	free(cap);
	return 0;
}

#endif
