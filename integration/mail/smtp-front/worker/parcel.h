/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * parcel.h - the bytes of one mail, from the client's stream through body.h into screen.h and the sink.
 *
 * Flow: visit.c at DATA or the first BDAT -> parcel_begin() -> parcel_take_data(), or
 *       parcel_take_chunk() for each chunk -> parcel_end() -> the reply of the mail.
 *
 * The mail is never kept here: it goes on in blocks of PARCEL_BLOCK_SIZE. What goes wrong on the
 * way (a lone LF, a size, a sink that breaks) has the sink abort at once and is remembered; the
 * client's bytes are read to their end all the same, for only there may it be told, and only then
 * is what follows a command. parcel_end() commits when nothing did.
 *
 * A client that is too slow (pace.h) does not have a worker for itself.
 *
 * Lies in the memory of its owner, stream and screen are borrowed. Nothing here logs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/smtp/body.h"
#include "lib/smtp/messageid.h"
#include "integration/mail/base/worker/pace.h"
#include "integration/mail/smtp-front/sinks/sink.h"
#include "integration/mail/smtp-front/worker/screen.h"
#include "integration/mail/base/worker/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PARCEL_BLOCK_SIZE 16384

struct parcel {
	struct screen *screen;
	struct stream *stream;
	struct pace pace;
	uint64_t taken; /* bytes from the client */
	uint64_t taken_max;
	bool is_open;	    /* the screen, or the sink, has a part of it */
	bool is_failed;	    /* reply says how, and nothing more of it matters */
	const char *reason; /* why body.h has refused it; NULL: it has not, or the sink before it */
	struct sink_reply reply;
	struct body body;
	struct messageid messageid;
	uint8_t block[BODY_ROOM(PARCEL_BLOCK_SIZE)];
};

/*
 * The sink has sender and recipients. false: *ret_parcel is failed; a client that sent DATA is told
 * at once, a chunk is read first. .body.takes_lf may be set behind it.
 */
bool parcel_begin(struct parcel *ret_parcel, struct screen *screen, const struct screen_mail *mail,
		  struct stream *stream, uint64_t size_max, const struct pace_rules *rules);

/*
 * To the end of the mail, or of size bytes of a chunk. 0; -ECONNRESET when the client has gone,
 * -ETIMEDOUT when it is too slow, -EMSGSIZE when it sends far more than is taken, or another
 * -errno. With these the session is over and the mail aborted.
 */
int parcel_take_data(struct parcel *parcel);
int parcel_take_chunk(struct parcel *parcel, uint64_t size);

/*
 * Commits what came by DATA, or by chunks of which this was the last. The reply of the mail is
 * parcel->reply, whose code is 2xx when this returns true.
 */
bool parcel_end(struct parcel *parcel, bool is_chunked);
/* Takes one that has ended, too. */
void parcel_abort(struct parcel *parcel);

#ifdef __cplusplus
}
#endif
