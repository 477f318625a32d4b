/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sanitized.h - is this build one with AddressSanitizer or ThreadSanitizer?
 *
 * LeakSanitizer looks at the process from a thread with ptrace() and reads /proc, and ThreadSanitizer
 * makes threads and system calls of its own, so a process that is to be looked at keeps more than it
 * would otherwise.
 */

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif
