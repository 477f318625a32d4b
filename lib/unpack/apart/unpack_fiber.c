/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_fiber.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAS_SANITIZER 1
#endif

#define GUARD_SIZE  (64 * 1024) /* a multiple of any page's size */
#define MAPPED_SIZE (GUARD_SIZE + UNPACK_FIBER_STACK)

struct unpack_contexts {
	ucontext_t own;
	ucontext_t caller;
};

#define STACK_SIZE (UNPACK_FIBER_STACK - sizeof(struct unpack_contexts))
_Static_assert(sizeof(struct unpack_contexts) % _Alignof(max_align_t) == 0, "they are aligned");
_Static_assert(sizeof(struct unpack_contexts) <= UNPACK_FIBER_STACK / 16, "most is the stack's");

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
	const uintptr_t address = (uintptr_t)((uint64_t)high << 32 | low);
	struct unpack_fiber *fiber = (struct unpack_fiber *)address; /* NOLINT: see above */
	__sanitizer_finish_switch_fiber(NULL, &fiber->caller_stack, &fiber->caller_stack_size);
	fiber->run(fiber->argument);
	fiber->is_done = true;
	/* Without a place to save it in, the sanitizer's own stack is freed: there is no way back. */
	__sanitizer_start_switch_fiber(NULL, fiber->caller_stack, fiber->caller_stack_size);
	setcontext(&fiber->contexts->caller);
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
	ret_fiber->contexts = (void *)((uint8_t *)stack_of(ret_fiber) + STACK_SIZE);
	ucontext_t *own = &ret_fiber->contexts->own;
	getcontext(own);
	own->uc_stack.ss_sp = stack_of(ret_fiber);
	own->uc_stack.ss_size = STACK_SIZE;
	own->uc_link = NULL;
	const uintptr_t address = (uintptr_t)ret_fiber;
	makecontext(own, (void (*)(void))enter, 2, (unsigned)((uint64_t)address >> 32),
		    (unsigned)address);
	return 0;
}

void unpack_fiber_go(struct unpack_fiber *fiber)
{
	if (fiber->is_done)
		return;
	__sanitizer_start_switch_fiber(&fiber->fake_caller, stack_of(fiber), STACK_SIZE);
	swapcontext(&fiber->contexts->caller, &fiber->contexts->own);
	__sanitizer_finish_switch_fiber(fiber->fake_caller, NULL, NULL);
}

void unpack_fiber_wait(struct unpack_fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->fake_own, fiber->caller_stack,
				       fiber->caller_stack_size);
	swapcontext(&fiber->contexts->own, &fiber->contexts->caller);
	__sanitizer_finish_switch_fiber(fiber->fake_own, &fiber->caller_stack,
					&fiber->caller_stack_size);
}

void unpack_fiber_free(struct unpack_fiber *fiber)
{
	munmap(fiber->mapped, MAPPED_SIZE);
}
