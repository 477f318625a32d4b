/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * answer.h - classic DNS answers (RFC 5782) out of what libdnsblv6 says.
 *
 * Flow: a query -> answer_begin() has the answer, or an address to ask the library
 *       about -> dnsblv6_peek() or dnsblv6_submit() -> answer_finish() has the answer.
 *
 *     2.0.0.127.bl.local      A and TXT of 127.0.0.2, if a list of the zone has it
 *     0.0.127.bl.local        NOERROR without records: there may be something below
 *     32 nibbles              A and TXT of an IPv6 address
 *     bl.local                SOA and NS
 *
 * An address that all lists have answered for and none has is NXDOMAIN, with the SOA;
 * so are all other names. When a list gave no answer and no other one has the address it is
 * SERVFAIL, or NXDOMAIN where the zone says so. ANY is answered with one type (RFC 8482).
 * No list tells which A record it would have given, so codes are those of the map.
 *
 * No socket, no clock, no log: time is in what the library says of an answer's age.
 */

#include "integration/adapters/dns-translator/translate_setup.h"
#include "lib/dns/question.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ANSWER_PAYLOAD 1232 /* of a response over UDP, and of the OPT */
#define ANSWER_MIN     512  /* wire_max of every function here: RFC 1035 */
/* What a question begins with in the packet, and in the response: header, name, type, class. */
#define ANSWER_HEAD_MAX (12 + QUESTION_NAME_MAX + 4)

/* How long an answer may be kept that lacks a list which gave none. */
#define ANSWER_PARTIAL_TTL_S 10

enum answer_kind {
	ANSWER_SILENCE,
	ANSWER_READY, /* the response is there */
	ANSWER_ASK,   /* ask the library about ip, and then call answer_finish() */
};

/* A query about an address. A plain value, but that head is borrowed from the packet. */
struct answer_question {
	const struct setup_zone *zone;
	struct dnsblv6_ip ip;
	const uint8_t *head; /* head_size bytes; to keep this, keep a copy of them */
	uint16_t head_size;  /* at most ANSWER_HEAD_MAX; 12: no question */
	uint16_t qtype;
	uint16_t payload; /* the most that the response may have */
	uint16_t apex;	  /* offset of the zone's name in head */
	bool has_edns;
	bool has_do;
	bool has_below; /* there may be names below it, so that it is never NXDOMAIN */
};

/* What became of it, for counters. */
enum answer_outcome {
	ANSWER_LISTED,
	ANSWER_NODATA,
	ANSWER_NXDOMAIN,
	ANSWER_FAILED, /* a list gave no answer and none has it */
	ANSWER_REFUSED,
	ANSWER_ERROR, /* FORMERR, NOTIMP, BADVERS */
	ANSWER_APEX,
	ANSWER_OUTCOMES
};

/*
 * The response to wire is put into ret_wire of wire_max bytes, *ret_size of them, unless the
 * library has to be asked; *ret_outcome is written with ANSWER_READY.
 */
enum answer_kind answer_begin(const struct translate_setup *setup, const uint8_t *wire, size_t size,
			      bool is_tcp, struct answer_question *ret_question, uint8_t *ret_wire,
			      size_t wire_max, size_t *ret_size, enum answer_outcome *ret_outcome);

/*
 * Have all lists of its zone given an answer that still holds? When one has failed, or what it
 * said has expired, the library must be asked: only then does it see whether the list is back.
 */
bool answer_is_good(const struct answer_question *question, const struct dnsblv6_result *result);

/*
 * The response to a question that the library has been asked about; lists of its zone that
 * neither answered nor failed count as failed. Returns its size.
 */
size_t answer_finish(const struct translate_setup *setup, const struct answer_question *question,
		     const struct dnsblv6_result *result, uint8_t *ret_wire, size_t wire_max,
		     enum answer_outcome *ret_outcome);

#ifdef __cplusplus
}
#endif
