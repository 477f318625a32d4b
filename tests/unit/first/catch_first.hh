// SPDX-License-Identifier: GPL-3.0-or-later
// What every file of a unit test begins with, compiled once for all of them: Catch2, and what many of them
// use of the standard library.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>
