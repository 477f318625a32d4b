/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailtalk.h - a session of SMTP or LMTP between a client and the next hop, as a state machine:
 *              bytes of both go in, bytes for both come out, and what is to be done besides.
 *
 * Flow: mailpair.c has bytes and room -> mailtalk_turn() -> it does what is asked for, says how it
 *       went, and calls again until MAILTALK_WAIT.
 *
 *     mailtalk_init(&talk, &rules);
 *     do {
 *             ask = mailtalk_turn(&talk, &io);
 *             take io.client_used and io.server_used bytes, send what io has for both
 *             do what ask says
 *     } while (ask != MAILTALK_WAIT);
 *
 *     ASK                    TO DO                                        THEN
 *     MAILTALK_WAIT          more bytes, more room, or an end             -
 *     MAILTALK_CONNECT       connect to the next hop                      mailtalk_connected()
 *     MAILTALK_DROP          close that connection, whatever is unsent    -
 *     MAILTALK_SCAN_BEGIN    begin a scan                                 mailtalk_scan_begun()
 *     MAILTALK_SCAN_PUSH     push io.scratch, io.piece_size bytes; no     -
 *                            further turn while the scan is busy
 *     MAILTALK_SCAN_END      end it, wait for its verdict                 mailtalk_judge()
 *     MAILTALK_SCAN_DROP     forget it                                    -
 *     MAILTALK_MAIL          talk->outcome says what became of a mail     -
 *     MAILTALK_TLS           the client's handshake, when all is said     mailtalk_secured()
 *     MAILTALK_TUNNEL        pass bytes both ways from here on            nothing
 *     MAILTALK_CLOSE         close, when all is said                      nothing
 *
 * Nothing of a client reaches the next hop as it was: each command is parsed (command.h) and
 * written again, and the lines of a mail are undone and done anew (body.h), so that there is one
 * end of a mail, which is ours. The same holds for replies. Commands that are not known are refused.
 * What EHLO offers is what both the next hop and this have: SIZE, 8BITMIME, SMTPUTF8, DSN,
 * ENHANCEDSTATUSCODES and AUTH (with the mechanisms of mechanism.h) of the next hop, XCLIENT and
 * XFORWARD for a filter; PIPELINING and CHUNKING are ours, as chunks go on by DATA.
 *
 * A mail goes on as it comes, but for its end. With the end a verdict is waited for; when it is to
 * be refused the connection to the next hop is closed without that end, and the client gets the
 * verdict's reply. Its next command makes a new connection, and EHLO is said again there. What
 * AUTH, XCLIENT or XFORWARD have said is lost with the old one: then that command gets 421 and the
 * session ends, instead of a mail that is not what its client thinks.
 *
 * A next hop that is gone: before the end of a mail was sent, 451 at that end; behind it 451, too,
 * as it is not known whether it has the mail: the mail may come twice, and is not lost. Elsewhere
 * 421, or a new connection when nothing has begun. Amid a reply of several lines, of which the client
 * has some, the session ends without another: which of two codes counts differs from client to client.
 * One that says what it was not asked for is gone, too.
 *
 * A client that ends before the end of its mail was sent, with no whole command behind it, has none delivered:
 * it has no reply, and sends it again.
 *
 * RCPT, RSET and NOOP are passed on without waiting for replies where the next hop offers PIPELINING
 * (RFC 2920); all others, and these where it does not, wait until what was said before is answered, also
 * when they came with it. So what comes out does not depend on how input is cut.
 *
 * A plain value; rules are borrowed. No function here does I/O, keeps another pointer, allocates or
 * logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/smtp/body.h"
#include "lib/smtp/envelope.h"
#include "lib/smtp/replies.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILTALK_PENDING_MAX 24	  /* replies that are waited for */
#define MAILTALK_LIST_SIZE   2048 /* recipients that are kept, for those that scan */
#define MAILTALK_TEXT_SIZE   512

struct mailtalk_rules {
	bool is_lmtp;
	bool is_filter;	       /* XCLIENT and XFORWARD are passed on */
	bool offers_tls;       /* our own */
	bool has_plain_logins; /* AUTH may come before it, too */
	bool passes_tls;       /* the next hop's; then a tunnel */
	uint64_t size_max;     /* of a mail; 0: any */
	unsigned errors_max;   /* 0: any number */
	unsigned commands_max; /* the same */
};

enum mailtalk_ask {
	MAILTALK_WAIT,
	MAILTALK_CONNECT,
	MAILTALK_DROP,
	MAILTALK_SCAN_BEGIN,
	MAILTALK_SCAN_PUSH,
	MAILTALK_SCAN_END,
	MAILTALK_SCAN_DROP,
	MAILTALK_MAIL,
	MAILTALK_TLS,
	MAILTALK_TUNNEL,
	MAILTALK_CLOSE,
};

/* What there is to work with, and what has become of it. */
struct mailtalk_io {
	const uint8_t *client;
	size_t client_size;
	size_t client_used;
	bool is_client_ended; /* nothing comes behind these */
	const uint8_t *server;
	size_t server_size;
	size_t server_used;
	bool is_server_ended; /* the same; also when it was cut */
	uint8_t *to_client;
	size_t to_client_room;
	size_t to_client_size;
	uint8_t *to_server;
	size_t to_server_room;
	size_t to_server_size;
	uint8_t *scratch; /* MAILTALK_SCAN_PUSH has the bytes of a mail here */
	size_t scratch_room;
	size_t piece_size;
};

/* What became of a mail. */
enum mailtalk_end {
	MAILTALK_ACCEPTED, /* by the next hop, for a recipient at least */
	MAILTALK_REFUSED,  /* by the next hop */
	MAILTALK_JUDGED,   /* refused for its verdict */
	MAILTALK_SPOILT,   /* its lines, bytes or size */
	MAILTALK_LOST,	   /* the next hop was, before the end was sent */
	MAILTALK_UNKNOWN,  /* the next hop was, behind it */
	MAILTALK_BUSY,	   /* too many were scanned */
	MAILTALK_CUT,	   /* the client was gone, or too slow, before the end was sent */
};

struct mailtalk_outcome {
	enum mailtalk_end end;
	int code;
	char text[MAILTALK_TEXT_SIZE]; /* of the reply, without its code */
	unsigned recipient_count;
	uint64_t size;
};

/* Whom a turn of MAILTALK_WAIT waits for: how long that may take. */
enum mailtalk_waits {
	MAILTALK_FOR_COMMAND,
	MAILTALK_FOR_DATA,
	MAILTALK_FOR_CONNECT,
	MAILTALK_FOR_REPLY,
	MAILTALK_FOR_END,  /* the reply to a mail's end */
	MAILTALK_FOR_ROOM, /* that the next hop takes what it is sent */
	MAILTALK_FOR_VERDICT,
	MAILTALK_FOR_OTHER, /* what the loop has to do */
};

/* Of the files mailtalk*.c. */
struct mailtalk_pending {
	unsigned kind;
	uint16_t place;	  /* of a recipient in its list */
	int code;	  /* of a reply of ours */
	const char *text; /* static */
};

struct mailtalk {
	const struct mailtalk_rules *rules;
	struct mailtalk_outcome outcome;
	/* Of the session, for the log. */
	unsigned mail_count; /* accepted */
	unsigned refused_count;
	unsigned command_count;
	unsigned error_count;
	uint64_t steps; /* grows with each command and each reply */
	char helo[ENVELOPE_HELO_MAX + 1];
	char sender[ENVELOPE_ADDRESS_MAX + 1];
	char list[MAILTALK_LIST_SIZE]; /* recipients with a NUL behind each; 1 in front: refused */
	size_t list_size;

	/* Of the files mailtalk*.c. */
	unsigned at;
	unsigned then; /* what follows when all replies are out */
	unsigned pending_first;
	unsigned pending_count;
	struct mailtalk_pending pending[MAILTALK_PENDING_MAX];
	struct replies replies;
	struct body body;
	bool is_reply_open; /* the client has lines of one whose last has not come */
	bool has_server;
	bool is_connecting;
	bool is_esmtp;
	bool is_secure;
	bool is_bound; /* the next hop knows what a new connection would not */
	bool is_utf8;
	bool is_in_mail;
	bool is_chunking; /* a BDAT has come, and not the last */
	bool is_scanning;
	bool is_last;	    /* the chunk */
	bool is_line_begun; /* to the next hop, in a mail */
	bool is_stuck;	    /* the client has sent more of a mail than the next hop takes now */
	bool is_skipping;
	bool is_told;		 /* QUIT has come */
	bool has_long_challenge; /* in a login; the session ends for it */
	bool is_draining;
	bool wants_connect;
	bool wants_drop;
	bool wants_scan_drop;
	bool wants_mail;
	bool wants_reset;  /* when the log has the mail */
	bool is_kept;	   /* the transaction, of which only DATA was refused */
	bool has_accepted; /* the next hop, a mail for one of its recipients */
	unsigned offered;  /* by the next hop: bits of mailtalk_parts.h */
	unsigned withheld;
	unsigned recipient_count;
	unsigned end_count; /* replies to a mail's end that are still to come */
	unsigned
		spoilt_count; /* recipients of a mail of which a chunk was refused, until its last */
	unsigned auth_count;
	uint64_t chunk_left;
	const char *refusal; /* of the chunk; static */
	int fail_code;	     /* of the mail on its way; 0: fine */
	enum mailtalk_end fail_end;
	char fail_text[MAILTALK_TEXT_SIZE];
};

void mailtalk_init(struct mailtalk *ret_talk, const struct mailtalk_rules *rules);
enum mailtalk_ask mailtalk_turn(struct mailtalk *talk, struct mailtalk_io *io);

/* ---- answers ---- */

void mailtalk_connected(struct mailtalk *talk, bool is_connected);
/* false: there are too many. */
void mailtalk_scan_begun(struct mailtalk *talk, bool is_begun);
/* code 250 to 299: the mail may go on; else it is the reply, with text, which has an enhanced code. */
void mailtalk_judge(struct mailtalk *talk, int code, const char *text);
/* The handshake is over. */
void mailtalk_secured(struct mailtalk *talk);

/* ---- from outside ---- */

enum mailtalk_waits mailtalk_waits(const struct mailtalk *talk);
/* What mailtalk_waits() names has taken too long. */
void mailtalk_expire(struct mailtalk *talk);
/* The session is to end when no mail is on its way. */
void mailtalk_drain(struct mailtalk *talk);

/* The recipients that were accepted: up to room pointers into the list. Their count. */
size_t mailtalk_recipients(const struct mailtalk *talk, const char **ret_recipients, size_t room);
/* "accepted" and the like. */
const char *mailtalk_end_name(enum mailtalk_end end);

#ifdef __cplusplus
}
#endif
