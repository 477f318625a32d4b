/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_fiber.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAS_SANITIZER 1
#endif

#define GUARD_SIZE  (16 * 1024) /* a multiple of any page's size here */
#define MAPPED_SIZE (GUARD_SIZE + UNPACK_FIBER_STACK)

#ifdef HAS_SANITIZER
/* Of libasan, which has to know which stack is the current one. */
void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom_old, size_t *size_old);
#else
static inline void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom,
						  size_t size)
{
	(void)fake_stack_save;
	(void)bottom;
	(void)size;
}
static inline void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom_old,
						   size_t *size_old)
{
	(void)fake_stack;
	(void)bottom_old;
	(void)size_old;
}
#endif

static void *stack_of(const struct unpack_fiber *fiber)
{
	return (uint8_t *)fiber->mapped + GUARD_SIZE;
}

/* makecontext() passes int alone: a pointer is two of them. */
static void enter(unsigned high, unsigned low)
{
	const uintptr_t address = (uintptr_t)high << 32 | low;
	struct unpack_fiber *fiber = (struct unpack_fiber *)address; /* NOLINT: see above */
	__sanitizer_finish_switch_fiber(NULL, &fiber->caller_stack, &fiber->caller_stack_size);
	fiber->run(fiber->argument);
	fiber->is_done = true;
	/* Without a place to save it in, the sanitizer's own stack is freed: there is no way back. */
	__sanitizer_start_switch_fiber(NULL, fiber->caller_stack, fiber->caller_stack_size);
	setcontext(&fiber->caller);
}

/* Two mappings, so that mprotect() is not needed. */
static void *map_stack(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *mapped = mmap(NULL, MAPPED_SIZE, PROT_NONE, flags | MAP_NORESERVE, -1, 0);
	if (mapped == MAP_FAILED)
		return NULL;
	const void *stack = mmap(mapped + GUARD_SIZE, UNPACK_FIBER_STACK, PROT_READ | PROT_WRITE,
				 flags | MAP_FIXED, -1, 0);
	if (stack != MAP_FAILED)
		return mapped;
	munmap(mapped, MAPPED_SIZE);
	return NULL;
}

int unpack_fiber_new(struct unpack_fiber *ret_fiber, void (*run)(void *argument), void *argument)
{
	void *mapped = map_stack();
	if (mapped == NULL)
		return -ENOMEM;
	memset(ret_fiber, 0, sizeof(*ret_fiber));
	ret_fiber->mapped = mapped;
	ret_fiber->run = run;
	ret_fiber->argument = argument;
	getcontext(&ret_fiber->own);
	ret_fiber->own.uc_stack.ss_sp = stack_of(ret_fiber);
	ret_fiber->own.uc_stack.ss_size = UNPACK_FIBER_STACK;
	ret_fiber->own.uc_link = NULL;
	const uintptr_t address = (uintptr_t)ret_fiber;
	makecontext(&ret_fiber->own, (void (*)(void))enter, 2, (unsigned)(address >> 32),
		    (unsigned)address);
	return 0;
}

void unpack_fiber_go(struct unpack_fiber *fiber)
{
	if (fiber->is_done)
		return;
	__sanitizer_start_switch_fiber(&fiber->fake_caller, stack_of(fiber), UNPACK_FIBER_STACK);
	swapcontext(&fiber->caller, &fiber->own);
	__sanitizer_finish_switch_fiber(fiber->fake_caller, NULL, NULL);
}

void unpack_fiber_wait(struct unpack_fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->fake_own, fiber->caller_stack,
				       fiber->caller_stack_size);
	swapcontext(&fiber->own, &fiber->caller);
	__sanitizer_finish_switch_fiber(fiber->fake_own, &fiber->caller_stack,
					&fiber->caller_stack_size);
}

void unpack_fiber_free(struct unpack_fiber *fiber)
{
	munmap(fiber->mapped, MAPPED_SIZE);
}
