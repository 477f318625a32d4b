/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pop3_dialogue.h - one POP3 session as a state machine: a line goes in, what is to be done comes
 *                   out.
 *
 * Flow: lines.h -> pop3_dialogue_step() -> the caller does what the action says and gives its
 *       answer -> the reply. The caller has users, the mails (pop3_maildrop.h) and the clock.
 *
 *     pop3_dialogue_init(&dialogue);
 *     say pop3_dialogue_greet(&limits, reply)
 *     for each line:
 *             action = pop3_dialogue_step(&dialogue, &limits, &maildrop, line, line_size, &event);
 *             switch (action) {
 *             case POP3_AUTHENTICATE:
 *                     action = is_password(event.login.user, event.login.password) && open maildrop
 *                             ? pop3_dialogue_accept(&dialogue, &limits, &maildrop, &event)
 *                             : pop3_dialogue_refuse(&dialogue, &limits, POP3_BAD_LOGIN, &event);
 *             ...
 *             say event.reply; close after POP3_QUIT and POP3_CLOSE
 *
 * This alone knows which command may follow which, and every reply of ours. It speaks RFC 1939 with
 * TOP, UIDL and, where it is switched on, APOP; CAPA with RESP-CODES, PIPELINING, EXPIRE,
 * LOGIN-DELAY and IMPLEMENTATION (2449); AUTH-RESP-CODE (3206); STLS (2595); AUTH (5034); UTF8 (6856,
 * without LANG). Messages are sent as they are, with UTF8 and without.
 *
 * Five actions are questions. Until one of pop3_dialogue_accept(), pop3_dialogue_refuse(),
 * pop3_dialogue_answer() and for its action pop3_dialogue_challenge() or pop3_dialogue_tls() has been
 * called no line may be given to pop3_dialogue_step(); the answer may take its time.
 *
 *     ACTION             TO DO                                          pop3_dialogue_accept() SAYS
 *     POP3_AUTHENTICATE  event.login: is it the user's, and may the     +OK 2 messages (320 octets)
 *                        maildrop be opened? Of SCRAM a message: a
 *                        challenge, or one of the others
 *     POP3_RETR          open message event.index                       +OK 120 octets
 *                        then say event.reply and the mail with its
 *                        "." CR LF, and read on
 *     POP3_TOP           the same, by pop3_top.h with event.line_count  +OK
 *     POP3_UPDATE        remove what is .is_deleted, close              +OK; POP3_QUIT
 *     POP3_STLS          say event.reply; TLS; pop3_dialogue_tls(). Or
 *                        refuse: POP3_EARLY_INPUT when there are unread
 *                        bytes, POP3_NO_TLS                             -
 *
 * The others need no answer:
 *
 *     POP3_REPLY         say event.reply, read on
 *     POP3_LIST          say event.reply and what pop3_list_fill() makes of event.list, read on
 *     POP3_QUIT          say event.reply, close
 *     POP3_CLOSE         the same: we do not want any more
 *
 * Only POP3_UPDATE removes anything: after POP3_CLOSE, a connection that is lost and a session that
 * was idle for too long the maildrop is closed as it was. The last ends without a word (RFC 1939,
 * part 3).
 *
 * A session that has ended stays so: each of these functions then has nothing to say and returns
 * POP3_CLOSE. A limit of 0 is none.
 *
 * The state is a plain value: copy it. These members are it, and pop3_dialogue.c keeps nothing
 * elsewhere: state, user, way, is_challenged, octets, is_tls, is_utf8, login_count, error_count, command_count. What
 * is deleted is in the maildrop. A session moves to another process while POP3_AUTHENTICATE waits,
 * with no maildrop yet: the one that has checked the password gives the state away, the one that
 * has it opens the maildrop and answers. If that is a refusal and it cannot check passwords, it
 * closes behind the reply, which a caller may do at any time. No password is part of the state;
 * event.login has it, and is the caller's to wipe. pop3_dialogue_is_valid() tells whether what came out of a
 * capsule could have been made here. No function here does I/O, keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/pop3/base64.h"
#include "lib/pop3/pop3_command.h"
#include "lib/wire/lines.h"
#include "lib/pop3/pop3_maildrop.h"
#include "lib/pop3/sasl.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POP3_LINE_MAX	   255 /* with CR LF (RFC 2449, part 4); that of AUTH is no longer (RFC 5034) */
#define POP3_AUTH_LINE_MAX (BASE64_SIZE(SASL_MESSAGE_MAX) + LINES_END_SIZE)
/* With the NUL. Holds the longest answer to CAPA and the longest challenge. */
#define POP3_REPLY_MAX	    1024
#define POP3_REPLY_LINE_MAX 510 /* RFC 2449, part 4: 512 with CR LF */
#define POP3_CHALLENGE_MAX  700 /* bytes before they are base64 */

/* How a user may log in; .ways of the limits is a set of them. */
enum pop3_way {
	POP3_WAY_USER = 1, /* USER and PASS */
	POP3_WAY_APOP = 2,
	POP3_WAY_PLAIN = 4,
	POP3_WAY_SCRAM = 8, /* SCRAM-SHA-256 */
	POP3_WAY_ALL = 15,
};

struct pop3_limits {
	unsigned errors_max;   /* refused commands of a session, after which it ends */
	unsigned logins_max;   /* the same of wrong passwords */
	unsigned commands_max; /* of a session; the lines of an exchange are commands, too */
	unsigned ways;	       /* enum pop3_way */
	bool offers_tls;
	bool requires_tls; /* nothing but CAPA, QUIT and STLS without it */
	bool offers_utf8;
	unsigned expire_days;	/* told: after so many days mails may go; 0: NEVER */
	unsigned login_delay_s; /* told: between two logins */
	/* All borrowed, printable and at most 255 bytes. */
	const char *hostname;
	const char *implementation; /* told to users that are logged in; NULL: nothing */
	const char *apop_stamp;	    /* "<...>" of this session alone (RFC 1939); NULL: no APOP */
};

/* What waits for what; those with _ASKED wait for an answer of the caller. */
enum pop3_state {
	POP3_AT_START, /* AUTHORIZATION */
	POP3_AT_USER,  /* the same, and PASS is due */
	POP3_AT_SASL,  /* the same, and a line of the exchange is due */
	POP3_AT_LOGIN_ASKED,
	POP3_AT_TLS_ASKED,
	POP3_AT_TRANSACTION,
	POP3_AT_RETR_ASKED,
	POP3_AT_TOP_ASKED,
	POP3_AT_UPDATE_ASKED,
	POP3_AT_END,
	POP3_STATE_COUNT,
};

struct pop3_dialogue {
	enum pop3_state state;
	/* USER's, APOP's or PLAIN's; of SCRAM what pop3_dialogue_name() has said, else "". */
	char user[SASL_TEXT_MAX + 1];
	unsigned way;	    /* of the login, also when it is over; 0: none has begun */
	bool is_challenged; /* SCRAM: a challenge has been said */
	uint64_t octets;    /* of the mail that RETR asks for */
	bool is_tls;
	bool is_utf8;
	unsigned login_count; /* refused */
	unsigned error_count; /* -ERR, these among them, but not those of mails */
	unsigned command_count;
};

enum pop3_action {
	POP3_REPLY,
	POP3_AUTHENTICATE,
	POP3_LIST,
	POP3_RETR,
	POP3_TOP,
	POP3_STLS,
	POP3_UPDATE,
	POP3_QUIT,
	POP3_CLOSE,
};

/* Texts that are said in more places than one; pop3_dialogue_answer() has any other. */
enum pop3_refusal {
	POP3_BAD_LOGIN,	  /* [AUTH]: no such user, and a wrong password, alike */
	POP3_IN_USE,	  /* [IN-USE] */
	POP3_LOGIN_DELAY, /* [LOGIN-DELAY] */
	POP3_TRY_LATER,	  /* [SYS/TEMP] */
	POP3_DAMAGED,	  /* [SYS/PERM], RETR: only an operator helps */
	POP3_MALFORMED,	  /* a message of SASL that is none */
	POP3_NO_TLS,	  /* [SYS/TEMP], STLS */
	POP3_NOT_REMOVED, /* [SYS/TEMP], QUIT */
	/* These end the session, and may be said at any time. */
	POP3_EARLY_INPUT, /* before the greeting, behind STLS */
	POP3_BUSY,	  /* [SYS/TEMP], as are the next */
	POP3_LIMITED,	  /* beyond what its network may have */
	POP3_SHUTTING_DOWN,
	POP3_REFUSAL_COUNT,
};

/* To be wiped. Strings of a way that does not have them are empty. */
struct pop3_login {
	enum pop3_way way;
	const char *user;		   /* the dialogue's own; of SCRAM what scram.h finds */
	char password[SASL_TEXT_MAX + 1];  /* of APOP its digest, 32 hexadecimal digits */
	uint8_t message[SASL_MESSAGE_MAX]; /* of SCRAM */
	size_t message_size;
	bool is_first; /* the exchange begins */
};

/* What an action is about; members that it is not about have no value. */
struct pop3_event {
	enum pop3_verb verb;
	char reply
		[POP3_REPLY_MAX]; /* complete, and with a NUL; "" when there is nothing to say yet */
	size_t reply_size;
	struct pop3_login login; /* POP3_AUTHENTICATE */
	struct pop3_list list;	 /* POP3_LIST */
	size_t index;		 /* POP3_RETR, POP3_TOP: of the maildrop's messages */
	uint64_t line_count;	 /* POP3_TOP */
};

void pop3_dialogue_init(struct pop3_dialogue *ret_dialogue);
/* "+OK mx.example.org POP3 ready" to ret_reply, which has POP3_REPLY_MAX bytes. Its size. */
size_t pop3_dialogue_greet(const struct pop3_limits *limits, char *ret_reply);
/* How long the next line may be, with CR LF: POP3_LINE_MAX or POP3_AUTH_LINE_MAX. */
size_t pop3_dialogue_line_max(const struct pop3_dialogue *dialogue);

/*
 * A line without its CR LF. It may have any byte but CR, LF and NUL, which lines_take()
 * refuses. maildrop may be NULL until a login has been accepted.
 */
enum pop3_action pop3_dialogue_step(struct pop3_dialogue *dialogue,
				    const struct pop3_limits *limits,
				    struct pop3_maildrop *maildrop, const char *line,
				    size_t line_size, struct pop3_event *ret_event);
/*
 * What lines_take() refused. LINES_TOO_LONG is POP3_REPLY, after lines_skip() has
 * found the end, and ends an exchange of AUTH; the others are POP3_CLOSE.
 */
enum pop3_action pop3_dialogue_malformed(struct pop3_dialogue *dialogue,
					 const struct pop3_limits *limits, enum lines_status status,
					 struct pop3_event *ret_event);

/* ---- answers ---- */

/* Whether one is due: the state is one of _ASKED. */
bool pop3_dialogue_is_asking(const struct pop3_dialogue *dialogue);
/* Not for POP3_STLS, which pop3_dialogue_tls() accepts. maildrop: of a login, else not looked at. */
enum pop3_action pop3_dialogue_accept(struct pop3_dialogue *dialogue,
				      const struct pop3_limits *limits,
				      const struct pop3_maildrop *maildrop,
				      struct pop3_event *ret_event);
enum pop3_action pop3_dialogue_refuse(struct pop3_dialogue *dialogue,
				      const struct pop3_limits *limits, enum pop3_refusal refusal,
				      struct pop3_event *ret_event);
/*
 * The answer in the caller's own words, behind "+OK " or "-ERR ": one line, made harmless and cut at
 * POP3_REPLY_LINE_MAX. A refused login that begins with "[AUTH]" counts as a wrong password. A refused
 * RETR or TOP counts as nothing, and is always POP3_REPLY: that there is no such mail any more is no
 * error of the client, which has to come to its QUIT.
 */
enum pop3_action pop3_dialogue_answer(struct pop3_dialogue *dialogue,
				      const struct pop3_limits *limits, bool is_accepted,
				      const char *text, struct pop3_event *ret_event);
/* POP3_AUTHENTICATE of SCRAM: the server's next message, at most POP3_CHALLENGE_MAX bytes. */
enum pop3_action pop3_dialogue_challenge(struct pop3_dialogue *dialogue, const void *message,
					 size_t size, struct pop3_event *ret_event);
/* While POP3_AUTHENTICATE waits: the name that the session goes on with. False: it is none. */
bool pop3_dialogue_name(struct pop3_dialogue *dialogue, const char *user);
/*
 * TLS has begun, behind STLS or before the greeting (RFC 8314): all that was said before is forgotten
 * (RFC 2595, part 4), counters are kept.
 */
void pop3_dialogue_tls(struct pop3_dialogue *dialogue);

/* ---- out of a capsule ---- */

/*
 * Every value is in its range, the name ends and is one, and they go together. What is valid never
 * makes a function here fail an assertion or write outside.
 */
bool pop3_dialogue_is_valid(const struct pop3_dialogue *dialogue);

#ifdef __cplusplus
}
#endif
