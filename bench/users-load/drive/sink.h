/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sink.h - the mail server of the remote domain: it takes all, and keeps which mail came for whom.
 *
 * Flow: the server under test -> a connection here -> dialogue.h and body.h of lib/smtp -> the Message-ID
 *       (mailplan_find_id()) and the numbers of recipients ("peer17@...") -> tracking_seen().
 *
 * A connection has one size: a line, the beginning of a mail's header, and so many recipients as SINK_RECIPIENTS_MAX. It
 * offers no TLS. A client that does not read what it is told is hung up on.
 *
 * Ends as HACKING.md has it for what its program has: sink_stop(), the loop runs, sink_free(). Nothing here logs.
 */

#include "bench/smtp-load/session.h"
#include "bench/users-load/counts/tracking.h"

#include <sys/socket.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SINK_RECIPIENTS_MAX 100

struct sink_settings {
	uv_loop_t *loop;
	struct sockaddr_storage address;
	struct session_template recipient;
	uint64_t run;	   /* mails of other runs are taken, and forgotten */
	uint64_t start_ns; /* of uv_hrtime() */
	struct tracking *tracking;
};

struct sink; /* opaque */

/* settings are copied. 0 or a status of libuv; then *ret_sink is written, too, when its handles are to be closed. */
int sink_new(const struct sink_settings *settings, struct sink **ret_sink);
void sink_stop(struct sink *sink);
/* Takes NULL. */
void sink_free(struct sink *sink);

#ifdef __cplusplus
}
#endif
