/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// numbers.hh - a child that has the number of its parent, as in a namespace of its own.
//
//     numbers::told = getpid();
//     fork();
//
// The linker sends getpid() of our own code here, in binaries with the dependency `test_numbers` of
// client-lib/meson.build.

#include <sys/mman.h>
#include <unistd.h>

namespace numbers
{
inline pid_t told = 0; // 0: the system's

// Can a child be told from its parent by more than its number? Not before Linux 4.14, nor in what
// plays Linux.
inline bool can_tell()
{
	const size_t size = 4096;
	void *page =
		mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const bool can = page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0;
	if (page != MAP_FAILED)
		munmap(page, size);
	return can;
}
} // namespace numbers

extern "C" {
pid_t __real_getpid(void);
pid_t __wrap_getpid(void);

// Weak: each file of a binary may include this.
__attribute__((weak)) pid_t __wrap_getpid(void)
{
	return numbers::told != 0 ? numbers::told : __real_getpid();
}
}
