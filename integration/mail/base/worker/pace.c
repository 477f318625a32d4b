/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/worker/pace.h"

#include <errno.h>
#include <stdbool.h>

/* Between looks at whether sessions wait. */
#define LOOK_MS 250

static int64_t least(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

void pace_begin(struct pace *ret_pace, const struct pace_rules *rules)
{
	ret_pace->rules = *rules;
	ret_pace->left_ms = rules->timeout_ms;
	ret_pace->rest = 0;
}

static bool is_stressed(const struct pace *pace)
{
	return scoreboard_count(pace->rules.scoreboard, SCOREBOARD_WAITING) > 0;
}

static int64_t most_ms(const struct pace *pace)
{
	const struct pace_rules *rules = &pace->rules;
	return is_stressed(pace) ? least(rules->stress_timeout_ms, rules->timeout_ms)
				 : rules->timeout_ms;
}

static void earn(struct pace *pace, int byte_count)
{
	const struct pace_rules *rules = &pace->rules;
	const unsigned rate = is_stressed(pace) ? rules->stress_rate : rules->rate;
	if (rate == 0) {
		pace->left_ms = rules->timeout_ms;
		return;
	}
	pace->rest += (int64_t)byte_count * 1000;
	pace->left_ms += pace->rest / rate;
	pace->rest %= rate;
}

int pace_fill(struct pace *pace, struct stream *stream)
{
	/* With all of the time: what is not taken at the end of a wait is lost. */
	int ret = stream_flush(stream, stream_deadline(pace->left_ms));
	if (ret < 0)
		return ret;
	do {
		const int64_t began_ms = stream_deadline(0);
		pace->left_ms = least(pace->left_ms, most_ms(pace));
		const int64_t due_ms = least(began_ms + pace->left_ms, pace->rules.end_ms);
		ret = stream_fill(stream, least(began_ms + LOOK_MS, due_ms));
		pace->left_ms -= stream_deadline(0) - began_ms;
	} while (ret == -ETIMEDOUT && pace->left_ms > 0 && stream_deadline(0) < pace->rules.end_ms);
	if (ret > 0)
		earn(pace, ret);
	return ret;
}
