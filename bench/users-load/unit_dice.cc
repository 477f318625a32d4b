// SPDX-License-Identifier: GPL-3.0-or-later
// Random numbers: the same with the same seed, apart from each other, and of their distributions.
#include "bench/users-load/dice.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace
{

// Enough that a share is known to a hundredth, six times its deviation at most.
constexpr unsigned COUNT = 100000;

dice stream_of(uint64_t seed, dice_purpose purpose = DICE_MAIL, uint64_t number = 0)
{
	dice stream;
	dice_begin(&stream, seed, purpose, number);
	return stream;
}

template <typename Draw> std::vector<double> draw(Draw one)
{
	dice stream = stream_of(4711);
	std::vector<double> values(COUNT);
	for (double &value : values)
		value = one(&stream);
	return values;
}

double mean_of(const std::vector<double> &values)
{
	double sum = 0;
	for (double value : values)
		sum += value;
	return sum / double(values.size());
}

double share_below(const std::vector<double> &values, double limit)
{
	auto below = [limit](double value) { return value < limit; };
	return double(std::count_if(values.begin(), values.end(), below)) / double(values.size());
}

} // namespace

TEST_CASE("the generator is xoshiro256**")
{
	// The first numbers from this state, as other implementations have them.
	dice stream = { { 1, 2, 3, 4 } };
	CHECK(dice_next(&stream) == 11520);
	CHECK(dice_next(&stream) == 0);
	CHECK(dice_next(&stream) == 1509978240);
	CHECK(dice_next(&stream) == 1215971899390074240);
}

TEST_CASE("a stream is the same again, and a copy goes on alone")
{
	dice one = stream_of(1, DICE_SESSION, 7);
	dice two = stream_of(1, DICE_SESSION, 7);
	for (unsigned i = 0; i < 100; i++)
		REQUIRE(dice_next(&one) == dice_next(&two));
	dice copy = one;
	uint64_t next = dice_next(&one);
	dice_next(&one);
	CHECK(dice_next(&copy) == next);
}

TEST_CASE("streams of other seeds, purposes and numbers have other numbers")
{
	std::set<uint64_t> first;
	unsigned count = 0;
	for (uint64_t seed = 0; seed < 20; seed++)
		for (unsigned purpose = DICE_ARRIVALS; purpose <= DICE_BYTES; purpose++)
			for (uint64_t number = 0; number < 20; number++) {
				dice stream = stream_of(seed, dice_purpose(purpose), number);
				first.insert(dice_next(&stream));
				count++;
			}
	CHECK(first.size() == count);
}

TEST_CASE("bits of streams in a row are as often set as not")
{
	unsigned set[64] = {};
	for (unsigned number = 0; number < COUNT / 10; number++) {
		dice stream = stream_of(1, DICE_BYTES, number);
		uint64_t bits = dice_next(&stream);
		for (unsigned i = 0; i < 64; i++)
			set[i] += bits >> i & 1;
	}
	for (unsigned i = 0; i < 64; i++)
		CHECK(std::fabs(set[i] / (COUNT / 10.0) - 0.5) < 0.03);
}

TEST_CASE("numbers below a limit are all of them, as often each")
{
	unsigned counts[7] = {};
	dice stream = stream_of(1);
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t number = dice_below(&stream, 7);
		REQUIRE(number < 7);
		counts[number]++;
	}
	for (unsigned count : counts)
		CHECK(std::fabs(count / double(COUNT) - 1.0 / 7) < 0.01);
	CHECK(dice_below(&stream, 1) == 0);
	CHECK(dice_below(&stream, UINT64_MAX) < UINT64_MAX);
}

TEST_CASE("shares lie evenly from 0 on below 1")
{
	std::vector<double> values = draw(dice_unit);
	CHECK(*std::min_element(values.begin(), values.end()) >= 0);
	CHECK(*std::max_element(values.begin(), values.end()) < 1);
	CHECK(mean_of(values) == Approx(0.5).margin(0.01));
	CHECK(share_below(values, 0.1) == Approx(0.1).margin(0.01));
}

TEST_CASE("exponential numbers have their mean, and a median below it")
{
	std::vector<double> values = draw([](dice *d) { return dice_exponential(d, 180); });
	CHECK(*std::min_element(values.begin(), values.end()) >= 0);
	CHECK(mean_of(values) == Approx(180).epsilon(0.02));
	CHECK(share_below(values, 180 * std::log(2)) == Approx(0.5).margin(0.01));
	CHECK(draw([](dice *d) { return dice_exponential(d, 0); })[0] == 0);
}

TEST_CASE("lognormal numbers have their median and their spread")
{
	std::vector<double> values = draw([](dice *d) { return dice_lognormal(d, 1000, 0.5); });
	CHECK(share_below(values, 1000) == Approx(0.5).margin(0.01));
	CHECK(share_below(values, 1000 * std::exp(0.5)) == Approx(0.8413).margin(0.01));
	CHECK(mean_of(values) == Approx(1000 * std::exp(0.125)).epsilon(0.02));
	CHECK(draw([](dice *d) { return dice_lognormal(d, 5, 0); })[0] == 5);
}

TEST_CASE("an index comes as often as its weight says, one of weight 0 never")
{
	const double weights[] = { 0, 1, 0, 3, 4, 0 };
	unsigned counts[6] = {};
	dice stream = stream_of(1);
	for (unsigned i = 0; i < COUNT; i++)
		counts[dice_pick(&stream, weights, 6)]++;
	CHECK(counts[0] + counts[2] + counts[5] == 0);
	CHECK(counts[1] / double(COUNT) == Approx(1 / 8.0).margin(0.01));
	CHECK(counts[3] / double(COUNT) == Approx(3 / 8.0).margin(0.01));
	CHECK(counts[4] / double(COUNT) == Approx(4 / 8.0).margin(0.01));
}
