/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * question.h - a query taken apart: the one that nearly every client sends, and any other.
 *
 * Flow: a program has a query -> question_parse() -> the common one is answered at
 *       once. Everything else dnsblv6d gives to libknot (server/answer/answer.c); a program
 *       without libknot asks question_read() what to say.
 *
 * Common is a query (QR clear, opcode 0) of one question, class IN, a type that
 * is data, a name without pointers; behind it nothing, or an OPT at the root of
 * version 0, its payload not 1, without options or with one: a COOKIE of a size that cookies
 * have, which resolvers send by default. What libknot would make of such a packet, this
 * makes too: tests/fuzz/lib/question.c holds one against the other.
 *
 * No function here allocates, locks or keeps a pointer.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUESTION_NAME_MAX   255 /* RFC 1035: octets of a name */
#define QUESTION_LABELS_MAX 128 /* the root label included */

struct question_common {
	uint16_t qtype;
	uint16_t payload; /* of the OPT, as it says */
	bool has_edns;
	bool has_do;
	uint8_t cookie_size; /* of the COOKIE, with which the packet ends; 0: there is none */
	uint8_t name_size;   /* with the root label */
	uint8_t label_count;
	uint8_t offsets[QUESTION_LABELS_MAX]; /* where each label begins, the root last */
	uint8_t name[QUESTION_NAME_MAX];      /* lower case */
};

/* False when the packet, size bytes, is not common; then *ret_question is void. */
bool question_parse(const uint8_t *wire, size_t size, struct question_common *ret_question);

/* Behind the question in the packet that it came from. */
size_t question_end(const struct question_common *question);

/* What to do with a query; the positive ones are RCODEs to refuse it with. */
enum question_verdict {
	QUESTION_SILENCE = -1, /* a response, or fewer than 12 bytes: a reply would never end */
	QUESTION_GOOD = 0,     /* IN, and a type that is data, or ANY */
	QUESTION_FORMERR = 1,  /* not one question, trailing bytes, a bad OPT or two of them */
	QUESTION_NOTIMP = 4,   /* an opcode other than QUERY, a type that is no data */
	QUESTION_REFUSED = 5,  /* a class other than IN */
	QUESTION_BADVERS = 16, /* an EDNS version above 0: its high part belongs into the OPT */
};

/*
 * Any query, common or not. Options of an OPT are stepped over, so cookie_size is 0, and
 * records that a query need not have are too. When it is to be refused *ret_question has
 * what belongs into the refusal: name_size 0 when there is no question to repeat, has_edns when
 * it takes an OPT (RFC 6891 section 7: also one with FORMERR).
 */
enum question_verdict question_read(const uint8_t *wire, size_t size,
				    struct question_common *ret_question);

#ifdef __cplusplus
}
#endif
