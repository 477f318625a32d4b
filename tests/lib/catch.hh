// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// catch.hh - Catch2, of version 2 (Debian 12) or 3 (Debian 13), by the names of version 2.

#if __has_include(<catch2/catch.hpp>)
#include <catch2/catch.hpp>
#else
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
#endif
