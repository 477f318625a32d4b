// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// lone.hh - whether a mail has what SMTP forbids in it: NUL, CR without LF or LF without CR.

#include <string>

inline bool has_lone(const std::string &text)
{
	for (size_t i = 0; i < text.size(); i++) {
		if (text[i] == '\0')
			return true;
		if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'))
			return true;
		if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))
			return true;
	}
	return false;
}
