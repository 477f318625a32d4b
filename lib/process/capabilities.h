/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * capabilities.h - what a process may do besides what its user may, capabilities(7).
 *
 * Flow: daemons give theirs away when they confine themselves.
 *
 * Sets are bits by the numbers of linux/capability.h. Of one thread: programs have none when they
 * come here, or capset(2) would leave the others as they were.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAPABILITY(number) (UINT64_C(1) << (number))

struct capabilities {
	uint64_t effective;
	uint64_t permitted;
};

/* 0 or -errno. */
int capabilities_get(struct capabilities *ret_capabilities);
/* The inheritable set, and with it the ambient one, becomes empty: no program gets any. */
int capabilities_set(const struct capabilities *capabilities);
/*
 * Of kept those that it has, effective and permitted, and no others; to one without any nothing is
 * done. 0 or -errno.
 */
int capabilities_keep(uint64_t kept);
/*
 * Drops all that a program that we start could get. A process that may not do so starts none that
 * could.
 */
void capabilities_empty_bounding_set(void);

#ifdef __cplusplus
}
#endif
