/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// client_clock.hh - lets the cache's clock jump.
//
//     test_clock::pass(600);
//     test_clock::set_wall(-600);
//
// The linker sends clock_gettime() and time() of our own code here. Only the coarse clock of the
// cache jumps, and the wall's with it: deadlines are counted in real time, or are the test's own.
// For binaries with the dependency `test_clock` of client-lib/meson.build.

#include <atomic>
#include <cstdint>
#include <ctime>

namespace test_clock
{
inline std::atomic<int64_t> ahead_s{ 0 };
inline std::atomic<int64_t> wall_s{ 0 };      // by which the wall's clock was set
inline std::atomic<unsigned> wall_reads{ 0 }; // of its fractions, which tell no second from another

inline void pass(int64_t seconds)
{
	ahead_s += seconds;
}
inline void set_wall(int64_t seconds)
{
	wall_s += seconds;
}
} // namespace test_clock

extern "C" {
int __real_clock_gettime(clockid_t id, struct timespec *ret_now);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret_now);
time_t __real_time(time_t *ret_now);
time_t __wrap_time(time_t *ret_now);

// Weak: each file of a binary may include this.
__attribute__((weak)) int __wrap_clock_gettime(clockid_t id, struct timespec *ret_now)
{
	const int ret = __real_clock_gettime(id, ret_now);
	test_clock::wall_reads += id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
	if (id == CLOCK_MONOTONIC_COARSE)
		ret_now->tv_sec += test_clock::ahead_s;
	return ret;
}
__attribute__((weak)) time_t __wrap_time(time_t *ret_now)
{
	const time_t now = __real_time(nullptr) + test_clock::ahead_s + test_clock::wall_s;
	if (ret_now != nullptr)
		*ret_now = now;
	return now;
}
}
