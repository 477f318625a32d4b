/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/zones/schedule.h"

/*
 * How long a list is waited for that never is still: three hundred times settle_ms, but an hour at most,
 * since nothing is signed meanwhile; or thirty times settle_ms where that is longer than an hour.
 */
#define SETTLE_MOST    ((uint64_t)300)
#define SETTLE_LEAST   ((uint64_t)30)
#define SETTLE_MOST_MS ((uint64_t)3600000)
#define TELL_AGAIN_MS  ((uint64_t)86400000)

void schedule_init(struct schedule *schedule, const struct schedule_pace *pace, bool is_signed,
		   uint64_t now_ms)
{
	*schedule = (struct schedule){ .pace = pace,
				       .is_signed = is_signed,
				       .again_ms = now_ms,
				       .sign_ms = now_ms + pace->refresh_ms };
}

void schedule_hurry(struct schedule *schedule, uint64_t now_ms)
{
	schedule->again_ms = now_ms;
	schedule->failures = 0;
}

static bool has_changed(const struct schedule *schedule)
{
	return schedule->seen != schedule->tried;
}

static uint64_t last_ms(const struct schedule *schedule)
{
	uint64_t least_ms = SETTLE_LEAST * schedule->pace->settle_ms;
	uint64_t most_ms = SETTLE_MOST * schedule->pace->settle_ms;
	if (most_ms > SETTLE_MOST_MS)
		most_ms = least_ms > SETTLE_MOST_MS ? least_ms : SETTLE_MOST_MS;
	return schedule->changed_ms + most_ms;
}

void schedule_see(struct schedule *schedule, uint64_t print, uint64_t now_ms)
{
	if (print == schedule->seen)
		return;
	if (!has_changed(schedule))
		schedule->changed_ms = now_ms;
	schedule->seen = print;
	schedule->still_ms = now_ms + schedule->pace->settle_ms;
	if (schedule->still_ms > last_ms(schedule))
		schedule->still_ms = last_ms(schedule);
}

bool schedule_is_failing(const struct schedule *schedule)
{
	return schedule->failures > 0;
}

static bool may_sign(const struct schedule *schedule)
{
	return schedule->is_signed && schedule_is_failing(schedule);
}

/* A list that is still being written is waited for, whatever else is due. */
static uint64_t build_ms(const struct schedule *schedule)
{
	if (!has_changed(schedule))
		return schedule->again_ms;
	return schedule->still_ms;
}

bool schedule_is_restless(const struct schedule *schedule)
{
	return has_changed(schedule) && schedule->pace->settle_ms > 0 &&
	       schedule->still_ms == last_ms(schedule);
}

enum schedule_job schedule_due(const struct schedule *schedule, uint64_t now_ms)
{
	if (build_ms(schedule) <= now_ms)
		return SCHEDULE_BUILD;
	return may_sign(schedule) && schedule->sign_ms <= now_ms ? SCHEDULE_SIGN : SCHEDULE_NONE;
}

uint64_t schedule_next_ms(const struct schedule *schedule)
{
	uint64_t next_ms = build_ms(schedule);
	if (may_sign(schedule) && schedule->sign_ms < next_ms)
		next_ms = schedule->sign_ms;
	return next_ms;
}

void schedule_begin(struct schedule *schedule, enum schedule_job job)
{
	if (job == SCHEDULE_BUILD)
		schedule->tried = schedule->seen;
}

bool schedule_tell(struct schedule *schedule, uint64_t number, uint64_t now_ms)
{
	if (schedule->told == number && now_ms < schedule->told_ms + TELL_AGAIN_MS)
		return false;
	schedule->told = number;
	schedule->told_ms = now_ms;
	return true;
}

static uint64_t pause_ms(unsigned failures)
{
	uint64_t ms = SCHEDULE_RETRY_MS;
	for (unsigned i = 1; i < failures && ms < SCHEDULE_RETRY_MOST_MS; i++)
		ms *= 2;
	return ms < SCHEDULE_RETRY_MOST_MS ? ms : SCHEDULE_RETRY_MOST_MS;
}

uint64_t schedule_end(struct schedule *schedule, enum schedule_job job, bool is_good,
		      uint64_t now_ms)
{
	if (job == SCHEDULE_SIGN) {
		uint64_t ms = is_good ? SCHEDULE_SIGN_MS : SCHEDULE_RETRY_MOST_MS;
		schedule->sign_ms = now_ms + ms;
		return is_good ? 0 : ms;
	}
	if (is_good) {
		schedule->failures = 0;
		schedule->again_ms = now_ms + schedule->pace->refresh_ms;
		schedule->sign_ms = now_ms + SCHEDULE_SIGN_MS;
		return 0;
	}
	schedule->failures++;
	uint64_t ms = pause_ms(schedule->failures);
	schedule->again_ms = now_ms + ms;
	return ms;
}
