// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// bytes_of.hh - a text as functions of C want it.

#include <cstdint>
#include <string>

inline const uint8_t *bytes_of(const std::string &text)
{
	return reinterpret_cast<const uint8_t *>(text.data());
}
