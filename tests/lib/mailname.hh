// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// mailname.hh - the name of a mailbox out of a text, which has to outlive it.

#include "lib/mailstore/mailstore.h"

#include <string>

inline mailname name_of(const std::string &text)
{
	return { reinterpret_cast<const uint8_t *>(text.data()), text.size() };
}
