// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// pages.hh - the size of pages, of memory and of LMDB's files.

#include <cstddef>
#include <unistd.h>

// In octets: 4096 on most machines, 16384 or 65536 with some kernels of arm64.
inline size_t page_size()
{
	return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}
