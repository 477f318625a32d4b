/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * allocations - counts calls of malloc() and its like in a program and in the
 * processes that it forks.
 *
 *     LD_PRELOAD=liballocations.so ALLOCATIONS=FILE program ...
 *
 * FILE must be there and have 8 bytes: the count, in the machine's byte order,
 * shared by all processes that have it mapped. Freeing is not counted. glibc
 * only: the real functions are those it exports for this purpose. Ours get their
 * usual names from the linker (meson.build): no other part may link to them.
 */

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *allocations_malloc(size_t size);
EXPORT void *allocations_calloc(size_t number, size_t size);
EXPORT void *allocations_realloc(void *memory, size_t size);
EXPORT void *allocations_memalign(size_t alignment, size_t size);
EXPORT void *allocations_aligned_alloc(size_t alignment, size_t size);
EXPORT int allocations_posix_memalign(void **ret_memory, size_t alignment, size_t size);

/* glibc's own names. NOLINTBEGIN(cert-dcl51-cpp): not ours to choose. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
/* NOLINTEND(cert-dcl51-cpp) */

static uint64_t before_mapping;
static uint64_t *counter = &before_mapping;

static void count(void)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void map_counter(void)
{
	const char *path = getenv("ALLOCATIONS");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *memory = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory != MAP_FAILED)
		counter = memory;
}

EXPORT void *allocations_malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

EXPORT void *allocations_calloc(size_t number, size_t size)
{
	count();
	return __libc_calloc(number, size);
}

EXPORT void *allocations_realloc(void *memory, size_t size)
{
	count();
	return __libc_realloc(memory, size);
}

EXPORT void *allocations_memalign(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

EXPORT void *allocations_aligned_alloc(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

EXPORT int allocations_posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
	count();
	void *memory = __libc_memalign(alignment, size);
	if (memory == NULL)
		return ENOMEM;
	*ret_memory = memory;
	return 0;
}
