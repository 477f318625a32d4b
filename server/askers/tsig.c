/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/askers/tsig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libknot/libknot.h>

struct tsig_key {
	knot_tsig_key_t knot;
	char *text;
};

const char *const tsig_algorithms[] = { "hmac-sha256", "hmac-sha1",   "hmac-sha224",
					"hmac-sha384", "hmac-sha512", NULL };

/* ---- keys ---- */

int tsig_key_new(const uint8_t *name, const char *algorithm, const char *secret,
		 struct tsig_key **ret_key)
{
	struct tsig_key *key = calloc(1, sizeof(*key));
	if (key == NULL)
		return -ENOMEM;
	int ret = KNOT_ENOMEM;
	key->text = knot_dname_to_str_alloc(name);
	if (key->text != NULL)
		ret = knot_tsig_key_init(&key->knot, algorithm, key->text, secret);
	if (ret == KNOT_EOK && key->knot.secret.size > 0) {
		*ret_key = key;
		return 0;
	}
	tsig_key_free(key);
	return ret == KNOT_ENOMEM ? -ENOMEM : -EINVAL;
}

void tsig_key_free(struct tsig_key *key)
{
	if (key == NULL)
		return;
	knot_tsig_key_deinit(&key->knot);
	free(key->text);
	free(key);
}

const char *tsig_key_text(const struct tsig_key *key)
{
	return key->text;
}

/* Names of keys are domain names: case does not matter, and libknot's owner is ours to lower. */
static const struct tsig_key *find_key(struct tsig_key *const *keys, size_t key_count,
				       const knot_rrset_t *rr)
{
	knot_dname_to_lower(rr->owner);
	for (size_t i = 0; i < key_count; i++) {
		if (knot_dname_is_equal(keys[i]->knot.name, rr->owner) &&
		    keys[i]->knot.algorithm == knot_tsig_rdata_alg(rr))
			return keys[i];
	}
	return NULL;
}

/* ---- checking ---- */

static size_t whole_mac_size(const struct tsig_key *key)
{
	switch (key->knot.algorithm) {
	case DNSSEC_TSIG_HMAC_SHA1:
		return 20;
	case DNSSEC_TSIG_HMAC_SHA224:
		return 28;
	case DNSSEC_TSIG_HMAC_SHA256:
		return 32;
	case DNSSEC_TSIG_HMAC_SHA384:
		return 48;
	default:
		return TSIG_DIGEST_MAX;
	}
}

/* Whole, or cut to what RFC 8945 section 5.2.2.1 has a meaning for. */
static bool may_be_mac(size_t size, size_t whole_size)
{
	enum { LEAST_SIZE = 10 };
	return size <= whole_size && size >= LEAST_SIZE && size >= whole_size / 2;
}

bool tsig_check(struct tsig *tsig, struct tsig_key *const *keys, size_t key_count,
		struct knot_pkt *query)
{
	const knot_rrset_t *rr = query->tsig_rr;
	*tsig = (struct tsig){ .error = TSIG_BADKEY };
	const struct tsig_key *key = find_key(keys, key_count, rr);
	if (key == NULL)
		return true;
	tsig->digest_size = knot_tsig_rdata_mac_length(rr);
	const size_t whole_size = whole_mac_size(key);
	if (!may_be_mac(tsig->digest_size, whole_size))
		return false;
	memcpy(tsig->digest, knot_tsig_rdata_mac(rr), tsig->digest_size);
	tsig->key = key;
	switch (knot_tsig_server_check(rr, query->wire, query->size, &key->knot)) {
	case KNOT_EOK:
		tsig->error = TSIG_OK;
		return true;
	case KNOT_TSIG_EBADTIME:
		tsig->error = TSIG_BADTIME;
		tsig->time_signed = knot_tsig_rdata_time_signed(rr);
		return true;
	case KNOT_TSIG_EBADSIG:
		tsig->error = tsig->digest_size < whole_size ? TSIG_BADTRUNC : TSIG_BADSIG;
		return true;
	case KNOT_TSIG_EBADKEY:
		return true;
	default:
		return false;
	}
}

/* ---- signing ---- */

static bool is_signed(const struct tsig *tsig)
{
	return tsig->key != NULL && knot_tsig_can_sign((uint16_t)tsig->error);
}

size_t tsig_size(const struct tsig *tsig, const struct knot_pkt *query)
{
	enum { RR_HEADER_SIZE = 10, OTHER_SIZE = 6 };
	if (is_signed(tsig))
		return knot_tsig_wire_size(&tsig->key->knot) +
		       (tsig->error == TSIG_BADTIME ? OTHER_SIZE : 0);
	/* Without a MAC it says no more than the query's. */
	const knot_rrset_t *rr = query->tsig_rr;
	return knot_dname_size(rr->owner) + RR_HEADER_SIZE + rr->rrs.rdata->len -
	       knot_tsig_rdata_mac_length(rr);
}

int tsig_sign(struct tsig *tsig, const struct knot_pkt *query, uint8_t *wire, size_t *size,
	      size_t max)
{
	int ret;
	uint8_t digest[TSIG_DIGEST_MAX];
	size_t digest_size = sizeof(digest);
	if (!is_signed(tsig)) {
		ret = knot_tsig_add(wire, size, max, (uint16_t)tsig->error, query->tsig_rr);
		return ret == KNOT_EOK ? 0 : -ENOMEM;
	}
	const knot_tsig_key_t *key = &tsig->key->knot;
	if (tsig->is_begun)
		ret = knot_tsig_sign_next(wire, size, max, tsig->digest, tsig->digest_size, digest,
					  &digest_size, key, wire, *size);
	else
		ret = knot_tsig_sign(wire, size, max, tsig->digest, tsig->digest_size, digest,
				     &digest_size, key, (uint16_t)tsig->error, tsig->time_signed);
	if (ret != KNOT_EOK)
		return -ENOMEM;
	tsig->is_begun = true;
	memcpy(tsig->digest, digest, digest_size);
	tsig->digest_size = digest_size;
	return 0;
}

/* ---- as a client ---- */

int tsig_sign_query(struct tsig *tsig, const struct tsig_key *key, uint8_t *wire, size_t *size,
		    size_t max)
{
	*tsig = (struct tsig){ .key = key, .digest_size = TSIG_DIGEST_MAX };
	return knot_tsig_sign(wire, size, max, NULL, 0, tsig->digest, &tsig->digest_size,
			      &key->knot, 0, 0) == KNOT_EOK
		       ? 0
		       : -ENOMEM;
}

bool tsig_check_response(const struct tsig *tsig, struct knot_pkt *response)
{
	return response->tsig_rr != NULL &&
	       knot_tsig_client_check(response->tsig_rr, response->wire, response->size,
				      tsig->digest, tsig->digest_size, &tsig->key->knot,
				      0) == KNOT_EOK;
}
