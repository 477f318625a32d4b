// SPDX-License-Identifier: GPL-3.0-or-later
// What every file of a unit test begins with, compiled once for all of them.
#include <catch2/catch.hpp>
