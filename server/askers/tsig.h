/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tsig.h - messages signed with a shared secret (RFC 8945).
 *
 * Flow: taking_zones.c makes keys; answer.c checks what asks and signs what
 *       answers, xfrout.c signs the messages of a transfer, notify.c asks and
 *       checks the answer.
 * This file alone calls libknot's functions for it.
 *
 *     query with TSIG --tsig_check()--> error 0, or BADKEY, BADSIG, BADTIME, BADTRUNC
 *                  ... make the response, with tsig_size() bytes to spare ...
 *                     --tsig_sign()--> the response, and each one behind it
 *
 * A struct tsig is plain: it may be copied, and be carried through fork().
 * Nothing here logs; time comes from the system's clock, which libknot reads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct knot_pkt;
struct tsig_key;

/*
 * name is in wire form and lower case; algorithm is "hmac-sha256" or the like,
 * secret base64. 0, -EINVAL when the secret is none, or -ENOMEM.
 */
int tsig_key_new(const uint8_t *name, const char *algorithm, const char *secret,
		 struct tsig_key **ret_key);
/* Takes NULL. */
void tsig_key_free(struct tsig_key *key);
/* Its name, for the log. */
const char *tsig_key_text(const struct tsig_key *key);

/* Ends with NULL; the first is the default. */
extern const char *const tsig_algorithms[];

#define TSIG_DIGEST_MAX 64 /* HMAC-SHA512 */
enum tsig_error {
	TSIG_OK = 0,
	TSIG_BADSIG = 16,
	TSIG_BADKEY = 17,
	TSIG_BADTIME = 18,
	TSIG_BADTRUNC = 22, /* a MAC that is cut: libknot compares whole ones, so it may be any */
};

/* A signed question, and what the next answer to it will build upon. */
struct tsig {
	const struct tsig_key *key; /* borrowed; NULL: no TSIG, or by none of our keys */
	enum tsig_error error;
	bool is_begun; /* the first message has been signed */
	uint64_t time_signed;
	size_t digest_size;
	uint8_t digest[TSIG_DIGEST_MAX];
};

/*
 * Looks at the TSIG of a parsed query (by knot_pkt_parse() without
 * KNOT_PF_KEEPWIRE), which must have one; its key is one of keys. False when
 * the TSIG itself is malformed: FORMERR.
 */
bool tsig_check(struct tsig *tsig, struct tsig_key *const *keys, size_t key_count,
		struct knot_pkt *query);

/* How many bytes tsig_sign() adds at most. query as below. */
size_t tsig_size(const struct tsig *tsig, const struct knot_pkt *query);
/*
 * Signs the message of *size bytes in wire, which has max; a second call signs
 * the message that follows the first. With an error other than BADTIME a
 * response is not signed: then it gets query's TSIG back with the error. 0 or
 * -ENOMEM.
 */
int tsig_sign(struct tsig *tsig, const struct knot_pkt *query, uint8_t *wire, size_t *size,
	      size_t max);

/* As a client: signs a question with key, and checks the answer to it. */
int tsig_sign_query(struct tsig *tsig, const struct tsig_key *key, uint8_t *wire, size_t *size,
		    size_t max);
bool tsig_check_response(const struct tsig *tsig, struct knot_pkt *response);

#ifdef __cplusplus
}
#endif
