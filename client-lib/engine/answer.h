/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * answer.h - what a reply says about a block or an address, and whether it is believed.
 *
 * Flow: stub.c -> message_reply -> fetch.c -> answer_read() -> a cache entry.
 * Pure: no clock, no cache, no state. Whatever is not certain is a failure and
 * never a listing, and "not listed" is only what the zone itself said.
 */

#include "client-lib/cache/cache.h"
#include "client-lib/config/config.h"
#include "client-lib/base/message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words for a log line: "no reply". Static. */
const char *answer_failure_text(enum answer_failure failure);

struct answer_question {
	const struct config *config;
	const struct dnsblv6_labels *name; /* whole */
	enum config_kind kind;		   /* of the zone */
	bool is_block;			   /* an AAAA was asked for; false: an A, classic */
	bool doubts_no;	    /* NXDOMAIN is no answer: the zone's negatives are forged */
	bool wants_secure;  /* an answer without AD, or whose AD is not believed, is none */
	uint8_t soa_labels; /* the SOA of a negative answer has at least so many labels */
	uint32_t now_s;	    /* on the cache's clock */
	uint32_t age_s;	    /* since the question was sent: the reply may have waited to be read */
};

/*
 * status and reply as stub_fn has them. ANSWER_GOOD and *ret_entry with kind, payload,
 * expiry and TTL; is_secure when is_trusted. Otherwise what was wrong.
 */
enum answer_failure answer_read(const struct answer_question *question, int status,
				const struct message_reply *reply, bool is_trusted,
				struct cache_entry *ret_entry);

/* Is ancestor name itself or above it? Both in lower case, or name in any. */
bool answer_is_below(const struct dnsblv6_labels *name, const struct dnsblv6_labels *ancestor);

#ifdef __cplusplus
}
#endif
