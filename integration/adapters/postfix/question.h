/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * question.h - what a mail server asks about a client, in whatever protocol.
 *
 * Flow: bytes of a connection -> request.h or line.h -> a question -> peers.c -> judge.h ->
 *       a reply in the same protocol.
 *
 * Plain values.
 */

#include <stdbool.h>

#include "client-lib/dnsblv6.h"
#include "integration/common/judge.h"

#define QUESTION_STATE_MAX    24
#define QUESTION_INSTANCE_MAX 64

struct question {
	struct dnsblv6_ip ip;
	bool has_ip;	       /* otherwise the client's address was not known, or no address */
	bool is_authenticated; /* the client has logged in */
	bool is_malformed;     /* something of it could not be read */
	char state[QUESTION_STATE_MAX + 1];	  /* "RCPT"; "" when nothing was said */
	char instance[QUESTION_INSTANCE_MAX + 1]; /* of the message; "" when nothing was said */
};

enum question_status {
	QUESTION_MORE,	/* all bytes were taken, and it has not ended */
	QUESTION_READY, /* what is behind it is the next one */
	QUESTION_ENDLESS,
};

/* The longest reply: a text or a header, and some words. */
#define QUESTION_REPLY_MAX (JUDGE_HEADER_MAX + 64)
