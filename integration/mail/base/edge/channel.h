/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * channel.h - bytes from and to the client of a session, in the clear or by TLS.
 *
 * Flow: session.c has an event -> channel_load(), channel_read() -> the server takes commands out of
 *       edge->in and says replies -> channel_flush(), channel_store().
 *
 * While replies are waiting that the client does not take, nothing is read and no command is
 * looked at: so a buffer of fixed size is enough, whatever a client does.
 */

#include "integration/mail/base/edge/edge_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum channel_status {
	CHANNEL_SOME,
	CHANNEL_NOTHING, /* now; session->want is what to wait for */
	CHANNEL_ENDED,	 /* the client sends nothing more */
	CHANNEL_BROKEN,
};

/* What the session has kept becomes edge->in. */
void channel_load(struct session *session);
/* What is left of edge->in is kept. */
void channel_store(struct session *session);
/* To the end of edge->in; CHANNEL_NOTHING also when that is full. */
enum channel_status channel_read(struct session *session);
/* So many bytes at most. */
enum channel_status channel_read_some(struct session *session, size_t size_max);

/* Behind what is to be said already; there is room for it. */
void channel_say(struct session *session, const char *text, size_t size);
bool channel_has_room(const struct session *session);
/* Keeps what is to be said, instead of sending it. */
void channel_hold(struct session *session);
/*
 * Sends what was kept, or what is to be said; what the client does not take is kept. CHANNEL_SOME:
 * nothing is left.
 */
enum channel_status channel_flush(struct session *session);

/* Events of the socket that session.c has to hear of; 0: none. */
void channel_watch(struct session *session, int events);

#ifdef __cplusplus
}
#endif
