/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * body.h - the bytes of a mail out of DATA or BDAT, as they come.
 *
 * Flow: the client's bytes -> body_take() until BODY_END or BODY_REFUSED (DATA), or
 *       body_take_chunk() for each chunk and body_end() (BDAT) -> the sink.
 *
 *     body_init(&body, size_max);
 *     do {
 *             read(client, in, sizeof(in));
 *             status = body_take(&body, in, in_size, &used, out, &out_size);
 *             if (!sink_is_aborted)
 *                     sink_append(out, out_size);
 *             if (body.refusal != BODY_FINE)
 *                     abort the sink, once
 *     } while (status == BODY_MORE);
 *     // what is behind in + used is the next command
 *
 * The end of DATA is CR LF . CR LF and nothing else (the CRLF of the command counts for the first
 * line). A lone CR, a lone LF or a NUL, of which another server might make another end of a mail
 * (SMTP smuggling), spoils the mail: it is read to its true end, nothing more of it comes out, and
 * it is refused there. The same holds for chunks, since a next hop may get them by DATA.
 * What has come out before the refusal was known is worth nothing: the sink has to abort.
 *
 * With .takes_lf a lone LF ends a line as CR LF does, and comes out as CR LF, but it has no part in
 * the end of a mail: that stays where the bytes CR LF . CR LF are. A lone dot whose line begins
 * behind a lone LF, or ends at one, is text, and comes out as such.
 *
 *     CR LF a b c CR LF            CR LF a b c CR LF
 *     CR LF . . a CR LF     ->     CR LF . a CR LF
 *     CR LF . CR LF                the end
 *     LF . CR LF, CR LF . LF       CR LF . CR LF, with .takes_lf
 *
 * Dots are undone here (RFC 5321, 4.5.2); a sink that sends the mail on by DATA does them anew.
 * Out comes nothing but whole mails of lines that end in CRLF: of chunks that do not end so,
 * body_end() adds it.
 *
 * A plain value. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* body_end() writes as many at most; body_take() and body_take_chunk() never more than they get. */
#define BODY_END_MAX 2
/* With .takes_lf they write as many at most: each LF gets its CR, and a dot may have been held. */
#define BODY_ROOM(in_size) (2 * (in_size) + 1)

enum body_status {
	BODY_MORE,
	BODY_END,     /* whole and fine */
	BODY_REFUSED, /* whole, and refused: body_code() and body_text() say how */
};

/* The first thing that was wrong. */
enum body_refusal {
	BODY_FINE,
	BODY_BARE_CR,
	BODY_BARE_LF,
	BODY_NUL,
	BODY_TOO_LARGE,
};

struct body {
	uint64_t size_max;	   /* of what comes out; 0 is no limit */
	bool takes_lf;		   /* may be set behind body_init() */
	bool has_lf;		   /* a lone LF has come out as CR LF */
	uint64_t size;		   /* of what has come out */
	enum body_refusal refusal; /* BODY_FINE until something was wrong */
	unsigned at;		   /* body.c's own, as is the next */
	bool is_behind_lf;
};

void body_init(struct body *ret_body, uint64_t size_max);

/*
 * Takes bytes of DATA: all of them with BODY_MORE, else up to the end of the mail; *ret_used says
 * how many. out has in_size bytes, or is in itself; with .takes_lf it has BODY_ROOM(in_size) bytes
 * elsewhere. Not to be called after the end.
 */
enum body_status body_take(struct body *body, const uint8_t *in, size_t in_size, size_t *ret_used,
			   uint8_t *out, size_t *ret_out_size);

/* Takes a chunk or a part of one, all of it. out is as above. */
void body_take_chunk(struct body *body, const uint8_t *in, size_t in_size, uint8_t *out,
		     size_t *ret_out_size);
/* After the last chunk. out has BODY_END_MAX bytes. BODY_END or BODY_REFUSED. */
enum body_status body_end(struct body *body, uint8_t *out, size_t *ret_out_size);

/*
 * What dialogue_answer() is to say about a refused mail; 521 also closes the session. BODY_FINE
 * is 250 and a text that says so.
 */
int body_code(enum body_refusal refusal);
const char *body_text(enum body_refusal refusal);
/* "bare_lf" and so on, for the log. */
const char *body_refusal_name(enum body_refusal refusal);

#ifdef __cplusplus
}
#endif
