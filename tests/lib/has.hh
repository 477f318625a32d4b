// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// has.hh - whether a text has a part.

#include <string>

inline bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}
