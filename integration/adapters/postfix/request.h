/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * request.h - requests and replies of Postfix' access policy delegation.
 *
 * Flow: peers.c has some bytes of a connection -> request_feed() until a request has ended ->
 *       the question in it -> request_format().
 *
 *     request=smtpd_access_policy
 *     protocol_state=RCPT
 *     client_address=192.0.2.66
 *     sasl_username=
 *     instance=123.456.7
 *     [an empty line]
 *
 *     action=REJECT 5.7.1 Service unavailable; 192.0.2.66 is listed by bl6.example
 *     [an empty line]
 *
 * Bytes are taken as they come, and of a request nothing is kept but what is asked for here:
 * the memory is the same for a request of a hundred bytes and of a hundred thousand. Unknown
 * attributes are passed over, whatever bytes they have; the first of a name holds. What is no
 * attribute makes the request malformed, and it still has an end and a reply.
 *
 * Lies in the memory of its owner. Nothing here allocates, logs or keeps a pointer.
 */

#include "integration/adapters/postfix/question.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REQUEST_NAME_MAX  32
#define REQUEST_VALUE_MAX 64
/* Postfix sends some kilobytes at most; a request that never ends is not meant as one. */
#define REQUEST_SIZE_MAX (1 << 20)

struct request {
	struct question question;
	bool is_policy; /* request=smtpd_access_policy */
	unsigned seen;	/* which attributes */
	/* of the line that goes on */
	bool has_equals;
	size_t line_size;
	char name[REQUEST_NAME_MAX + 1];
	size_t name_size;
	char value[REQUEST_VALUE_MAX + 1];
	size_t value_size; /* may be more than is kept */
	size_t size;	   /* of all of it so far */
};

void request_begin(struct request *ret_request);

/*
 * Takes bytes up to the end of the request; *ret_taken says how many. QUESTION_READY:
 * request->question is it, and request_begin() begins the next. QUESTION_ENDLESS: it has
 * become larger than REQUEST_SIZE_MAX.
 */
enum question_status request_feed(struct request *request, const char *bytes, size_t size,
				  size_t *ret_taken);

/* ret_reply has QUESTION_REPLY_MAX + 1 bytes. Returns the length. */
size_t request_format(const struct judgement *judgement, char *ret_reply);

#ifdef __cplusplus
}
#endif
