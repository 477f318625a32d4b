// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Catch2 of version 3, which Debian 13 has, by the names of version 2. Found where the other is not installed.
#include <catch2/catch_all.hpp>

#include <string>

namespace Catch
{
using Matchers::EndsWith;
using Matchers::StartsWith;

inline auto Contains(const std::string &text)
{
	return Matchers::ContainsSubstring(text);
}

inline unsigned rngSeed()
{
	return getSeed();
}
} // namespace Catch

using Catch::Approx;
