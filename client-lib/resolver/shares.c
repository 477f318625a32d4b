/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/resolver/shares.h"

#include <assert.h>
#include <string.h>

#define ALL    4096u /* answered, when all questions are */
#define WEIGHT 16u   /* of one question: a sixteenth */

void shares_init(struct shares *shares, unsigned zone_count, uint32_t sockets)
{
	memset(shares, 0, sizeof(*shares));
	shares->zone_count = zone_count;
	shares->sockets = sockets;
	for (unsigned i = 0; i < zone_count; i++)
		shares->zones[i].answered = ALL;
}

bool shares_is_mute(const struct shares *shares, unsigned zone)
{
	return shares->zones[zone].answered < ALL / 4;
}

void shares_wait(struct shares *shares, unsigned zone)
{
	shares->zones[zone].waiting++;
}

void shares_leave(struct shares *shares, unsigned zone)
{
	assert(shares->zones[zone].waiting > 0);
	shares->zones[zone].waiting--;
}

/* Behind it comes the next zone. */
void shares_begin(struct shares *shares, unsigned zone)
{
	shares->zones[zone].flying++;
	shares->flying++;
	if (shares_is_mute(shares, zone))
		shares->mute_flying++;
	shares->turn = (zone + 1) % shares->zone_count;
}

void shares_end(struct shares *shares, unsigned zone)
{
	assert(shares->zones[zone].flying > 0);
	shares->zones[zone].flying--;
	shares->flying--;
	if (shares_is_mute(shares, zone))
		shares->mute_flying--;
}

/* The sockets that it has change sides with it. */
void shares_note(struct shares *shares, unsigned zone, bool is_answered)
{
	struct shares_zone *one = &shares->zones[zone];
	const bool was_mute = shares_is_mute(shares, zone);

	if (is_answered)
		one->answered += (ALL - one->answered + WEIGHT - 1) / WEIGHT;
	else
		one->answered -= (one->answered + WEIGHT - 1) / WEIGHT;
	const bool is_mute = shares_is_mute(shares, zone);

	if (is_mute && !was_mute)
		shares->mute_flying += one->flying;
	else if (was_mute && !is_mute)
		shares->mute_flying -= one->flying;
}

static uint32_t at_least(uint32_t number, uint32_t least)
{
	return number > least ? number : least;
}

/* How many sockets it may have. */
static uint32_t find_limit(const struct shares *shares, unsigned zone)
{
	const uint32_t sockets = shares->sockets;

	if (shares->zone_count == 1)
		return sockets;
	if (shares_is_mute(shares, zone)) {
		const uint32_t few = at_least(sockets / 16, SHARES_MUTE_MIN);

		return few < sockets / 2 ? few : at_least(sockets / 2, 1);
	}
	return at_least(sockets - sockets / 4, 1);
}

static bool is_within(const struct shares *shares, unsigned zone)
{
	const bool is_bounded = shares->zone_count > 1 && shares_is_mute(shares, zone);

	return shares->zones[zone].flying < find_limit(shares, zone) &&
	       (!is_bounded || shares->mute_flying < at_least(shares->sockets / 2, 1));
}

bool shares_may_begin(const struct shares *shares, unsigned zone)
{
	return shares->flying < shares->sockets && is_within(shares, zone);
}

unsigned shares_next(const struct shares *shares)
{
	unsigned found = SHARES_NONE;

	if (shares->flying == shares->sockets)
		return SHARES_NONE;
	for (unsigned i = 0; i < shares->zone_count; i++) {
		const unsigned zone = (shares->turn + i) % shares->zone_count;
		const struct shares_zone *one = &shares->zones[zone];

		if (one->waiting > 0 && is_within(shares, zone) &&
		    (found == SHARES_NONE || one->flying < shares->zones[found].flying))
			found = zone;
	}
	return found;
}

/* Does another zone wait that could have a socket if there were one? */
static bool does_another_wait(const struct shares *shares, unsigned zone)
{
	for (unsigned i = 0; i < shares->zone_count; i++) {
		if (i != zone && shares->zones[i].waiting > 0 && is_within(shares, i))
			return true;
	}
	return false;
}

static uint32_t find_equal_share(const struct shares *shares)
{
	uint32_t zones = 0;

	for (unsigned i = 0; i < shares->zone_count; i++)
		zones += shares->zones[i].waiting > 0 || shares->zones[i].flying > 0;
	return shares->sockets / at_least(zones, 1);
}

bool shares_must_yield(const struct shares *shares, unsigned zone)
{
	const struct shares_zone *one = &shares->zones[zone];

	if (one->flying > find_limit(shares, zone))
		return true;
	if (shares->zone_count > 1 && one->waiting > 0)
		return true;
	return shares->flying == shares->sockets && one->flying > find_equal_share(shares) &&
	       does_another_wait(shares, zone);
}
