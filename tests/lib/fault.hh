// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// fault.hh - makes the n-th allocation of our own code fail.
//
//     for (unsigned n = 1;; n++) {
//             fault::fail_at(n);
//             int ret = work();
//             if (!fault::end())
//                     break; // work() needs fewer than n allocations: all have failed once
//             CHECK(ret == -ENOMEM);
//     }
//
// The linker sends malloc() and its like here, in objects and static libraries
// of the test; libstdc++ and other shared libraries keep their memory, and so
// does Catch2 as far as it uses operator new. The address sanitizer still sees
// every block. It is for files of a binary that has the dependency `fault` of
// lib/meson.build, and holds definitions: weak ones, so that several may have it.

#include <cstddef>

namespace fault
{
inline unsigned long allocations_left = 0; // 0: nothing fails
inline bool has_failed = false;

inline void fail_at(unsigned long number)
{
	allocations_left = number;
	has_failed = false;
}

// Back to memory for all. True when an allocation failed.
inline bool end()
{
	allocations_left = 0;
	return has_failed;
}

inline bool is_now()
{
	if (allocations_left == 0 || --allocations_left > 0)
		return false;
	has_failed = true;
	return true;
}
} // namespace fault

extern "C" {
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);

[[gnu::weak]] void *__wrap_malloc(size_t size);
[[gnu::weak]] void *__wrap_calloc(size_t count, size_t size);
[[gnu::weak]] void *__wrap_realloc(void *old, size_t size);
[[gnu::weak]] void *__wrap_reallocarray(void *old, size_t count, size_t size);
[[gnu::weak]] char *__wrap_strdup(const char *text);
[[gnu::weak]] char *__wrap_strndup(const char *text, size_t size);

void *__wrap_malloc(size_t size)
{
	return fault::is_now() ? nullptr : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fault::is_now() ? nullptr : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fault::is_now() ? nullptr : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fault::is_now() ? nullptr : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
	return fault::is_now() ? nullptr : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
	return fault::is_now() ? nullptr : __real_strndup(text, size);
}
}
