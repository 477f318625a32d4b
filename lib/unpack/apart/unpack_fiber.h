/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_fiber.h - a function that waits in its middle for more bytes.
 *
 * Flow: unpack_feed.c: unpack_fiber_go() -> the function, on a stack of its own, until it calls
 *       unpack_fiber_wait() or returns -> behind unpack_fiber_go().
 *
 *     unpack_fiber_new(&fiber, run, argument);
 *     while (!fiber.is_done)
 *             unpack_fiber_go(&fiber);
 *     unpack_fiber_free(&fiber);
 *
 * libarchive pulls its input, and mails are pushed: this is what stands between. The stack has a
 * page below it that cannot be touched; its pages are taken when they are used. Above it are the
 * registers of both sides, of which some machines have more than four kilobytes. What the events of
 * unpack.h call runs on it as well. A fiber is freed only when it is done, or was never begun.
 *
 * A process that has few system calls needs mmap(), munmap() and sigprocmask() for it.
 */

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNPACK_FIBER_STACK (512 * 1024)

struct unpack_contexts;

struct unpack_fiber {
	bool is_done;
	struct unpack_contexts *contexts; /* within mapped */
	void (*run)(void *argument);
	void *argument;
	void *mapped;
	/* For the address sanitizer. */
	void *fake_own;
	void *fake_caller;
	const void *caller_stack;
	size_t caller_stack_size;
};

/* 0 or -ENOMEM. The fiber stays where it is from now on. */
int unpack_fiber_new(struct unpack_fiber *ret_fiber, void (*run)(void *argument), void *argument);
void unpack_fiber_go(struct unpack_fiber *fiber);
/* Within its function. */
void unpack_fiber_wait(struct unpack_fiber *fiber);
void unpack_fiber_free(struct unpack_fiber *fiber);

#ifdef __cplusplus
}
#endif
