// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// seeds.hh - seeds for random.hh, another one for each run of a test case.
//
//     const auto seed = RANDOM_SEED(100);
//     CAPTURE(seed);
//     randomness rnd(seed);
//
// Catch starts its random numbers anew before each run of a test case, so its own random() gives
// take(100, random(...)) one number a hundred times.

#include <catch2/catch.hpp>

// A number that differs with the index, and with --rng-seed (MurmurHash3's finalizer).
inline unsigned random_seed(unsigned index)
{
	unsigned seed = Catch::rngSeed() + index * 0x9e3779b9U;
	seed = (seed ^ seed >> 16) * 0x85ebca6bU;
	seed = (seed ^ seed >> 13) * 0xc2b2ae35U;
	return seed ^ seed >> 16;
}

// Runs the rest of the test case count times, with a seed for each.
#define RANDOM_SEED(count)                                                                         \
	GENERATE(map<unsigned>(random_seed, range(0U, static_cast<unsigned>(count))))
