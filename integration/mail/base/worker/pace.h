/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pace.h - how long a client may take for the bytes of a mail.
 *
 * Flow: parcel.c at the begin of a mail -> pace_begin() -> pace_fill() in place of stream_fill().
 *
 * A mail has a time that is left. It passes while the client is waited for, and not while the sink
 * takes what has come. Each byte adds what it may take at the least rate, up to timeout_ms: so a
 * client that is silent for that long is too slow, and so is one that stays below the rate on the
 * average of about that time, however much it has sent before.
 *
 * While sessions wait for a worker (scoreboard.h) the rate is stress_rate and the time
 * stress_timeout_ms.
 *
 * Lies in the memory of its owner, stream and scoreboard are borrowed. Nothing here logs.
 */

#include <stdint.h>

#include "integration/mail/base/handover/scoreboard.h"
#include "integration/mail/base/worker/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pace_rules {
	const struct scoreboard *scoreboard; /* may be NULL */
	unsigned timeout_ms;
	unsigned stress_timeout_ms;
	unsigned rate; /* bytes a second; 0: any */
	unsigned stress_rate;
	int64_t end_ms; /* by stream_deadline(), when all of it must have come */
};

struct pace {
	struct pace_rules rules;
	int64_t left_ms;
	int64_t rest; /* of what bytes have added: less than a millisecond, times the rate */
};

void pace_begin(struct pace *ret_pace, const struct pace_rules *rules);
/* As stream_fill(); -ETIMEDOUT when no time is left. */
int pace_fill(struct pace *pace, struct stream *stream);

#ifdef __cplusplus
}
#endif
