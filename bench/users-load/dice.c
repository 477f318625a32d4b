/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/dice.h"

#include <math.h>

static uint64_t mix(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t number = *state;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

static uint64_t turn(uint64_t number, unsigned bits)
{
	return number << bits | number >> (64 - bits);
}

void dice_begin(struct dice *ret_dice, uint64_t seed, enum dice_purpose purpose, uint64_t number)
{
	/* Each of the three goes through the mixer before the next one comes on top. */
	uint64_t state = seed;
	state = mix(&state) + (uint64_t)purpose;
	state = mix(&state) ^ number;
	for (unsigned i = 0; i < 4; i++)
		ret_dice->state[i] = mix(&state);
}

uint64_t dice_next(struct dice *dice)
{
	uint64_t *state = dice->state;
	uint64_t result = turn(state[1] * 5, 7) * 9;
	uint64_t shifted = state[1] << 17;
	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= shifted;
	state[3] = turn(state[3], 45);
	return result;
}

uint64_t dice_below(struct dice *dice, uint64_t limit)
{
	/* What lies below the remainder would come once too often. */
	uint64_t least = -limit % limit;
	uint64_t number = dice_next(dice);
	while (number < least)
		number = dice_next(dice);
	return number % limit;
}

double dice_unit(struct dice *dice)
{
	return (double)(dice_next(dice) >> 11) * 0x1p-53;
}

double dice_exponential(struct dice *dice, double mean)
{
	return -log(1 - dice_unit(dice)) * mean;
}

/* Mean 0, deviation 1. */
static double normal(struct dice *dice)
{
	double radius = sqrt(-2 * log(1 - dice_unit(dice)));
	return radius * cos(2 * M_PI * dice_unit(dice));
}

double dice_lognormal(struct dice *dice, double median, double sigma)
{
	return median * exp(sigma * normal(dice));
}

unsigned dice_pick(struct dice *dice, const double *weights, unsigned count)
{
	double sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += weights[i];
	double left = dice_unit(dice) * sum;
	unsigned last = 0;
	for (unsigned i = 0; i < count; i++) {
		if (weights[i] <= 0)
			continue;
		last = i;
		if (left < weights[i])
			break;
		left -= weights[i];
	}
	return last; /* the last one above 0, when rounding has left something */
}
