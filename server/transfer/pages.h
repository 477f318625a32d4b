/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pages.h - letting go of pages of a mapped file that have been read.
 *
 * Flow: transfer.c walks a whole store once and tells this file now and then.
 *
 * Pages of a store that a process has read stay in its address space until it
 * ends: they cost nothing, being the kernel's cache, but they are counted as
 * resident, and a limit on a service counts them too. Reading a page again
 * later is a minor fault.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mapping of this process; size 0 is none. */
struct pages {
	char *start;
	size_t size;
};

/* The mapping that address lies in, by /proc/self/maps; none when that cannot be read. */
struct pages pages_find(const void *address);

/*
 * Only for a read-only mapping of a file, whose bytes are in the file: they
 * stay readable. Takes none.
 */
void pages_release(const struct pages *pages);

#ifdef __cplusplus
}
#endif
