/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popproxy.h - a POP3 session between a client and a server as a state machine: bytes of both go in, bytes to both
 *              come out.
 *
 * Flow: poppair.c has two connections -> popproxy_step() as often as there are bytes or room -> what it
 *       asks for by its status and by struct popproxy_calls.
 *
 *     popproxy_init(&proxy, &limits, &calls, context);
 *     do {
 *             fill io with what is there
 *             status = popproxy_step(&proxy, &io);
 *             drop io.client_used and io.server_used bytes, send what was written
 *     } while (status == POPPROXY_MORE);
 *
 * Nothing is passed on raw. A command is parsed, and written again: its verb in capitals, one blank
 * between words, numbers without zeros before them; what is not known is refused here. An answer is
 * parsed, and written again: "+OK" or "-ERR", a text without control characters, lines up to a dot.
 * Answers come in the order of commands (RFC 2449, part 6.8), those of here among them. Commands
 * that log in or change the session, as AUTH and STLS, wait until all before them are answered.
 *
 * A mail has no point in POP3 at which it is committed. So its beginning waits here until
 * limits.hold_first + limits.hold_last bytes were scanned, and its last limits.hold_last bytes until the
 * verdict on all of it is there:
 *
 *     FOUND                          WHAT THE CLIENT GETS
 *     before anything was released   a notice in place of the mail (popnotice.h)
 *     later                          the connection ends amid the mail, which it then does not
 *                                    take for one; the next time the notice
 *     no verdict to be had           -ERR [SYS/TEMP], or the connection ends as above
 *
 * A mail that is known for what was found later is known by its unique id, for which the server is
 * asked before RETR and TOP (UIDL with its number), or if it has none by its first bytes. A server
 * that has refused this for a mail that it has is not asked again, as some count errors. A mail
 * that a header field is to be added to gets it if it was all held; a longer one is passed on as it
 * is. What LIST and STAT say is the server's word: a notice has another size, which clients have to
 * bear (RFC 1939 has sizes of mails with other line ends in mind).
 *
 * TOP is scanned as RETR is, and is in effect one with POPPROXY_TOP_WHOLE lines or more. With less
 * it is a piece, and only what was found in it counts, not that it is cut.
 *
 * The result does not depend on where the bytes are cut, nor on how much room there is. A plain
 * value but for the pointers that popproxy_init() is given, which are borrowed. No function here
 * does I/O, reads a clock, allocates or logs: that are the calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/pop3/pop3_command.h"
#include "lib/pop3/pop3_multi.h"
#include "lib/pop3/sasl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a line with CR LF, either way: a message of SASL may have a token of some thousand bytes. */
#define POPPROXY_LINE_MAX 8192
/* A buffer of a caller that has less cannot take every line. */
#define POPPROXY_ROOM_MIN  (POPPROXY_LINE_MAX + 64)
#define POPPROXY_ASKS	   16 /* commands that are not answered yet; more are not read */
#define POPPROXY_UID_MAX   255
#define POPPROXY_TEXT_MAX  200
#define POPPROXY_KEY_SIZE  16
#define POPPROXY_TOP_WHOLE 100000

/* What becomes of STLS. */
enum popproxy_stls {
	POPPROXY_STLS_NONE, /* not offered */
	POPPROXY_STLS_OWN,  /* ends here */
	POPPROXY_STLS_PASS, /* the server's: from there on nothing is looked at */
};

struct popproxy_limits {
	const char *hostname;
	enum popproxy_stls stls;
	bool has_plain_logins; /* with POPPROXY_STLS_OWN: also before TLS */
	bool is_scanning;      /* false: mails are parsed and written again, no more */
	size_t hold_first;
	size_t hold_last;
	unsigned errors_max;   /* refused here, after which the session ends; 0: no limit */
	unsigned commands_max; /* of a session; 0: no limit */
};

enum popproxy_action {
	POPPROXY_ACCEPT,
	POPPROXY_MARK, /* with a header field, where it is not too late for it */
	POPPROXY_WITHHOLD,
	POPPROXY_DEFER, /* there is no verdict to be had */
};

struct popproxy_verdict {
	enum popproxy_action action;
	bool has_found;	    /* something that could not come of a mail that is cut */
	const char *name;   /* "Eicar-Signature in part 2 / a.zip"; never NULL */
	const char *header; /* a field with its CR LF; or "" */
};

/* What has become of a mail. */
enum popproxy_fate {
	POPPROXY_PASSED,
	POPPROXY_MARKED, /* was to be; is_changed: has been */
	POPPROXY_NOTICED,
	POPPROXY_KNOWN, /* a notice without another scan */
	POPPROXY_CUT_OFF,
	POPPROXY_PUT_OFF,
};

struct popproxy_mail {
	enum popproxy_fate fate;
	bool is_top;
	bool is_changed;
	uint64_t number;
	uint64_t octets; /* of the server, as far as they were read */
	const char *uid; /* "" if there is none */
	const char *name;
};

/* What a session wants of its caller. One mail is scanned at a time. */
struct popproxy_calls {
	/* False: there are too many; it is asked for again. */
	bool (*begin)(void *context);
	void (*push)(void *context, const uint8_t *bytes, size_t size);
	/* is_whole: all was pushed. */
	void (*end)(void *context, bool is_whole);
	/* Nothing may be pushed now. */
	bool (*is_busy)(void *context);
	/* Is it clear by now that the mail will be withheld? */
	bool (*has_found)(void *context);
	/* NULL: it is not there yet. Behind end(). */
	const struct popproxy_verdict *(*verdict)(void *context);
	void (*free)(void *context);
	/* As realloc() does, to less; size 0 gives back. NULL: not now, and old is as it was. */
	uint8_t *(*hold)(void *context, uint8_t *old, size_t size);
	/* What a mail is known by: its user with its uid, or if that is NULL with its first bytes. False: nothing. */
	bool (*key)(void *context, const char *user, const char *uid, const uint8_t *first,
		    size_t first_size, uint8_t *ret_key);
	/* ret_name has POPPROXY_TEXT_MAX bytes. */
	bool (*knows)(void *context, const uint8_t *key, char *ret_name);
	void (*remember)(void *context, const uint8_t *key, const char *name);
	uint64_t (*now)(void *context); /* seconds since 1970 */
	void (*told)(void *context, const struct popproxy_mail *mail);
};

enum popproxy_status {
	POPPROXY_MORE,	  /* waits for bytes, or room */
	POPPROXY_WAITING, /* for the scan, or for room of the pool: turn again when that may be */
	POPPROXY_CLIENT_TLS, /* the client has said STLS: popproxy_stls() is due */
	POPPROXY_TUNNEL,     /* pass on what comes and do not look at it */
	POPPROXY_END,	     /* send what was written, then close both */
	POPPROXY_CUT,	     /* close both at once */
};

/* What has come and not been used; where to write. The last four are results. */
struct popproxy_io {
	const uint8_t *client;
	size_t client_size;
	const uint8_t *server;
	size_t server_size;
	uint8_t *to_client;
	size_t to_client_room;
	uint8_t *to_server;
	size_t to_server_room;
	size_t client_used;
	size_t server_used;
	size_t to_client_size;
	size_t to_server_size;
};

/* ---- the state; nothing of it is for others but what has a comment ---- */

struct popproxy_ask {
	unsigned kind;
	bool is_sent;
	bool has_number;
	bool is_last;
	uint64_t number;
	uint64_t lines;
	const char *text;
};

struct popproxy_body {
	unsigned phase;
	struct pop3_multi multi;
	struct pop3_multi_put put;
	uint8_t *hold;
	size_t hold_size;
	size_t begin;	/* in hold: what is to be released next */
	size_t free_to; /* up to here it may be */
	size_t scanned;
	size_t end;
	uint64_t scanned_size; /* in all */
	bool is_scan;
	bool is_ended;	 /* the server's answer */
	bool is_flowing; /* something was released */
	bool is_early;
	bool is_small; /* the hold is what a mail needs that flows */
	bool has_key;
	bool is_uid_refused;
	enum popproxy_fate fate;
	uint64_t octets;
	uint8_t key[POPPROXY_KEY_SIZE];
	char uid[POPPROXY_UID_MAX + 1];
	char text[POPPROXY_TEXT_MAX]; /* of the server's +OK */
	char name[POPPROXY_TEXT_MAX];
};

struct popproxy {
	const struct popproxy_limits *limits;
	const struct popproxy_calls *calls;
	void *context;
	enum popproxy_status status;
	bool is_greeted;
	bool is_tls;	   /* of the client, ended here */
	bool is_closing;   /* nothing is read of the client any more */
	bool is_in_lines;  /* of an answer */
	bool is_sasl_due;  /* a line of an exchange */
	bool is_user_next; /* and it has the name */
	bool is_user_void; /* USER was said before TLS, and counts no more */
	bool is_logged_in;
	char user[SASL_TEXT_MAX + 1]; /* as far as it is known; "" */
	const char *way;	      /* of the login: "user", "apop", "plain"; "" */
	const char *why;	      /* it has ended, static: a word for the log */
	unsigned error_count;
	unsigned command_count;
	uint64_t line_count;   /* of both, that were used */
	uint64_t answer_count; /* complete ones */
	bool lacks_uids;       /* the server has refused UIDL, of a mail that is there */
	size_t hold_first;     /* rounded */
	size_t hold_last;
	struct popproxy_ask asks[POPPROXY_ASKS];
	size_t ask_begin;
	size_t ask_count;
	size_t sent_count;
	struct popproxy_body body;
};

void popproxy_init(struct popproxy *ret_proxy, const struct popproxy_limits *limits,
		   const struct popproxy_calls *calls, void *context);
/* Gives back what the calls have given. */
void popproxy_deinit(struct popproxy *proxy);
/* A session that has ended says so each time. */
enum popproxy_status popproxy_step(struct popproxy *proxy, struct popproxy_io *io);
/*
 * Answers to STLS, with room for POPPROXY_ROOM_MIN. is_fine: TLS begins behind what is said; it may not when the
 * client has sent something behind STLS (CVE-2011-0411), and then the session ends.
 */
void popproxy_stls(struct popproxy *proxy, struct popproxy_io *io, bool is_fine);
/* TLS was there before the greeting. */
void popproxy_tls(struct popproxy *proxy);
/*
 * Ends it, behind popproxy_step(): -ERR with this text if a client can take it for an answer, or
 * POPPROXY_CUT. why is static.
 */
enum popproxy_status popproxy_stop(struct popproxy *proxy, struct popproxy_io *io, const char *text,
				   const char *why);
/*
 * Nothing more comes of the server; behind popproxy_step(). While nothing was asked a client is told
 * what the server has said last, or nothing, as it would take that for the answer to its next command.
 */
enum popproxy_status popproxy_server_gone(struct popproxy *proxy, struct popproxy_io *io);
/* No command waits for an answer. */
bool popproxy_is_idle(const struct popproxy *proxy);
/* Nothing goes on without a line of the client. */
bool popproxy_is_at_client(const struct popproxy *proxy);
/* The server owes an answer, or more of one. */
bool popproxy_is_at_server(const struct popproxy *proxy);
/* The oldest of them is RETR or TOP. */
bool popproxy_is_in_mail(const struct popproxy *proxy);
/* "passed" and the like. Never NULL. */
const char *popproxy_fate_name(enum popproxy_fate fate);

#ifdef __cplusplus
}
#endif
