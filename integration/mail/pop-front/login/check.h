/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * check.h - what an edge asks a checker about a login, and the answer.
 *
 * Flow: asking.c of an edge -> struct check_request -> checker.c -> struct check_reply -> asking.c.
 *
 * Both are processes of one generation, forked from one nanny, so a message is the struct itself, of
 * fixed size, over a socket of SOCK_SEQPACKET. The edge talks to strangers: a checker believes
 * nothing of what it gets before check_request_is_valid().
 *
 * An exchange of SCRAM keeps no state in a checker: whichever of them gets the client's proof makes
 * its own challenge anew from the client's first message and the nonce that the edge repeats.
 *
 * Plain values; to be wiped where they have a password. No function here keeps a pointer or logs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "integration/mail/base/users/users.h"
#include "integration/mail/pop-front/handover/ticket.h"
#include "lib/pop3/sasl.h"
#include "lib/pop3/scram.h"

#ifdef __cplusplus
extern "C" {
#endif

enum check_kind {
	CHECK_PASSWORD,	   /* is it user's? */
	CHECK_SCRAM_FIRST, /* a challenge for the client's first message */
	CHECK_SCRAM_FINAL, /* is the proof right? */
	CHECK_KINDS,
};

#define CHECK_NONCE_SIZE 25 /* of a checker, with a NUL */

struct check_request {
	uint64_t serial; /* the edge's, repeated in the reply; of no other edge before it */
	uint8_t kind;	 /* enum check_kind */
	uint16_t first_size;
	uint16_t final_size;
	char user[SASL_TEXT_MAX + 1];
	char password[SASL_TEXT_MAX + 1];
	char nonce[CHECK_NONCE_SIZE];
	uint8_t first[SASL_MESSAGE_MAX]; /* the client's */
	uint8_t final[SASL_MESSAGE_MAX];
};

enum check_answer {
	CHECK_YES,	 /* .mailbox and .ticket; of SCRAM with .text, the server's signature */
	CHECK_NO,	 /* no such user, or not its password */
	CHECK_CHALLENGE, /* .text and .nonce */
	CHECK_MALFORMED, /* a message of SCRAM that is none */
	CHECK_FAILED,	 /* the users could not be looked up */
	CHECK_ANSWERS,
};

struct check_reply {
	uint64_t serial;
	uint8_t answer; /* enum check_answer */
	uint16_t text_size;
	char mailbox[USERS_ENTRY_SIZE];
	struct ticket ticket; /* for the worker */
	char nonce[CHECK_NONCE_SIZE];
	char text[SCRAM_ANSWER_MAX];
};

/* Is it in its range, and do its texts end? Any bytes of that size may be given. */
bool check_request_is_valid(const struct check_request *request);
/* The same of a reply. */
bool check_reply_is_valid(const struct check_reply *reply);

#ifdef __cplusplus
}
#endif
