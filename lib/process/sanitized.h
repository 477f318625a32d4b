/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sanitized.h - is this build one with AddressSanitizer?
 *
 * LeakSanitizer looks at the process from a thread with ptrace() and reads /proc, so a process
 * that is to be looked at keeps more than it would otherwise.
 */

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif
