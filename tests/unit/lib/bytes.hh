// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// bytes.hh - messages put together out of their parts.

#include <cstdint>
#include <vector>

using bytes = std::vector<uint8_t>;

inline bytes operator+(bytes first, const bytes &second)
{
	first.insert(first.end(), second.begin(), second.end());
	return first;
}
