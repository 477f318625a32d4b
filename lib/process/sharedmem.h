/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sharedmem.h - memory that a process shares with the processes that it forks.
 *
 * Flow: a parent makes it -> fork() -> counters, states and places that outlive a child.
 *
 * It is zero at first. Its users see to it that a process reads nothing that another has written in part.
 */

#include <stddef.h>
#include <sys/mman.h>

/* NULL for want of memory; returned, end with sharedmem_free(). */
static inline void *sharedmem_new(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return memory != MAP_FAILED ? memory : NULL;
}

/* Takes NULL. */
static inline void sharedmem_free(void *memory, size_t size)
{
	if (memory != NULL)
		munmap(memory, size);
}
