// SPDX-License-Identifier: GPL-3.0-or-later
// The main() of every unit test binary; compiled once, because Catch2's own
// half takes longer than all of our tests together.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
