/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * question.h - the query that nearly every client sends, taken apart.
 *
 * Flow: answer.c asks question_parse() first -> quick.c answers what it took;
 *       everything else goes through libknot.
 *
 * Common is a query (QR clear, opcode 0) of one question, class IN, a type that
 * is data, a name without pointers; behind it nothing, or an OPT at the root of
 * version 0, its payload not 1, without options or with one: a COOKIE of a size that cookies
 * have, which resolvers send by default. What libknot would make of such a packet, this
 * makes too: tests/fuzz/question.c holds one against the other.
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

#ifdef __cplusplus
}
#endif
