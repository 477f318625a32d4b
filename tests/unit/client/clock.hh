/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// client_clock.hh - lets the cache's clock jump.
//
//     test_clock::pass(600);
//
// The linker sends clock_gettime() of our own code here. Only the coarse clock of the cache
// jumps: deadlines are counted in real time, or are the test's own. For binaries with
// the dependency `test_clock` of client-lib/meson.build.

#include <atomic>
#include <cstdint>
#include <ctime>

namespace test_clock
{
inline std::atomic<int64_t> ahead_s{ 0 };
inline std::atomic<unsigned> wall_reads{ 0 }; // of a clock that somebody may set

inline void pass(int64_t seconds)
{
	ahead_s += seconds;
}
} // namespace test_clock

extern "C" {
int __real_clock_gettime(clockid_t id, struct timespec *ret_now);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret_now);

// Weak: each file of a binary may include this.
__attribute__((weak)) int __wrap_clock_gettime(clockid_t id, struct timespec *ret_now)
{
	const int ret = __real_clock_gettime(id, ret_now);
	test_clock::wall_reads += id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
	if (id == CLOCK_MONOTONIC_COARSE)
		ret_now->tv_sec += test_clock::ahead_s;
	return ret;
}
}
