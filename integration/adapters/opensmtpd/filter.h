/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * filter.h - what becomes of the lines that OpenSMTPD says: which clients are asked about, and
 *            what is answered when.
 *
 * Flow: main.c -> filter_take() for each line -> means.ask() when a client has connected ->
 *       filter_judge() with the verdict -> means.say() when OpenSMTPD waits for it, or will.
 *
 *     link-connect   the address is asked about
 *     link-auth      a client that has logged in is not judged
 *     mail-from      OpenSMTPD waits: what the judge has said, as soon as it has said it
 *
 * Whatever is not understood, is of no known session, or comes too early or twice, passes: each
 * request that can be read at all has exactly one answer, for OpenSMTPD waits for it. The
 * deadline is the library's: means.ask() promises one filter_judge().
 *
 * No I/O but the log.
 */

#include <stdbool.h>
#include <stddef.h>

#include "integration/adapters/opensmtpd/sessions.h"

#ifdef __cplusplus
extern "C" {
#endif

enum filter_asked {
	FILTER_ASKED,	/* filter_judge() will be called, not before this has returned */
	FILTER_SETTLED, /* it has been called, or there is nothing to say */
};

struct filter_means {
	void *context;
	/* Begins to ask for session->ip; *ret_id is for cancel(). */
	enum filter_asked (*ask)(void *context, struct session *session, uint64_t *ret_id);
	void (*cancel)(void *context, uint64_t id);
	/* Whole lines for OpenSMTPD; copied. */
	void (*say)(void *context, const char *text, size_t size);
};

struct filter_options {
	enum line_phase phase; /* at which clients are refused; never LINE_ELSEWHERE */
	bool is_disconnecting; /* a client that is refused is also sent away */
	size_t sessions_max;
};

/* Since the beginning. */
struct filter_counters {
	uint64_t sessions;
	uint64_t requests;
	uint64_t listed;  /* sessions about which the judge did not say to let them pass */
	uint64_t refused; /* requests answered so */
	uint64_t dropped; /* sessions that had to go for others */
	uint64_t lines_refused;
};

struct filter {
	struct filter_means means;
	struct filter_options options;
	struct sessions sessions;
	struct filter_counters counters;
	bool is_ready;
	bool has_said_newer;
	bool has_said_full;
};

/* 0 or -ENOMEM. */
int filter_init(struct filter *ret_filter, const struct filter_options *options,
		const struct filter_means *means);
/* Cancels what is still asked. */
void filter_deinit(struct filter *filter);

/* One line without its end. */
void filter_take(struct filter *filter, const char *text, size_t text_size, bool is_cut);

/* The verdict about a session that is asking; borrowed. */
void filter_judge(struct filter *filter, struct session *session,
		  const struct judgement *judgement);

#ifdef __cplusplus
}
#endif
