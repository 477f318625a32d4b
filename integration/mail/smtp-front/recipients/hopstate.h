/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hopstate.h - what the processes of a generation know of the next hop, in memory that they share.
 *
 * Flow: front.c -> hopstate_open() before fork() -> sink_smtp.c asks before it connects, and
 *       says how that went, and what EHLO was answered -> front.c shows hopstate_is_down() as a
 *       gauge; edges and workers offer their clients what hopstate_lacks() leaves.
 *
 *     if (!hopstate_may_connect(state, now_ms, timeout_ms))
 *             ...                             // 451 at once
 *     else if (connect() < 0)
 *             is_news = hopstate_failed(state, now_ms, errno != ECONNREFUSED);
 *     else
 *             is_news = hopstate_reached(state, now_ms, &down_ms);
 *
 * A next hop that cannot be reached is down. When it is silent, no process waits for it but one in
 * each pause of HOPSTATE_PAUSE_MS, which is the time behind the end of its attempt. An attempt
 * whose process was killed is over with its timeout. A refusal comes at once, so that there is
 * nothing to wait for: all processes try such a next hop, which is restarted, for each mail. The
 * first that reaches the next hop ends all of it. An attempt that has told neither, as one for which
 * there was no descriptor here, changes nothing but that the next one need not wait for its timeout.
 *
 * It also has the extensions that the next hop lacked when it was last asked: clients are not
 * offered them. As long as nothing is known it lacks none.
 *
 * Values are words that are read and written whole; there is no lock to be left behind. All
 * functions take NULL for memory that is not shared: then nothing is known.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOPSTATE_PAUSE_MS 1000

struct hopstate; /* opaque */

/* 0 or -errno. Of a child it is a part of its memory as long as it lives. */
int hopstate_open(struct hopstate **ret_state);
/* Takes NULL. */
void hopstate_close(struct hopstate *state);

/* now_ms is of the monotonic clock. true: the attempt may take timeout_ms. */
bool hopstate_may_connect(struct hopstate *state, uint64_t now_ms, uint64_t timeout_ms);
/* It is down; is_silent: the attempt has waited in vain. true: it was not down before. */
bool hopstate_failed(struct hopstate *state, uint64_t now_ms, bool is_silent);
/* It is there. true: it was down, for *ret_down_ms. */
bool hopstate_reached(struct hopstate *state, uint64_t now_ms, uint64_t *ret_down_ms);
/* Neither: the attempt is over. */
void hopstate_untold(struct hopstate *state, uint64_t now_ms);
bool hopstate_is_down(const struct hopstate *state);

/*
 * Does a status of socket() or connect() say nothing of the next hop? Something is missing here, or
 * its path has more clients than it can accept at once.
 */
static inline bool hopstate_is_no_news(int status)
{
	return status == -EMFILE || status == -ENFILE || status == -ENOMEM || status == -ENOBUFS ||
	       status == -EAGAIN;
}

/* Extensions of envelope.h. */
void hopstate_set_lacks(struct hopstate *state, unsigned extensions);
unsigned hopstate_lacks(const struct hopstate *state);

#ifdef __cplusplus
}
#endif
