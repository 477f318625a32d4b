/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/zonemd.h"

#include "zone-tools/records/bare.h"

#include "lib/format/bytes.h"
#include "lib/format/unfold.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

/* RFC 8976 section 2.2 */
enum { SCHEME_OFFSET = 4, HASH_OFFSET = 5, DIGEST_OFFSET = 6, SCHEME_SIMPLE = 1, HASH_SHA384 = 1 };

void zonemd_make_placeholder(uint8_t *ret_rdata)
{
	memset(ret_rdata, 0, ZONEMD_RDATA_SIZE);
	ret_rdata[SCHEME_OFFSET] = SCHEME_SIMPLE;
	ret_rdata[HASH_OFFSET] = HASH_SHA384;
}

/* ---- hashing ---- */

struct digest {
	const struct dnsblv6_facts *facts;
	EVP_MD_CTX *context;
	struct dnsblv6_unfold unfold;
	bool has_name; /* one that waits for the name behind it */
	struct dnsblv6_labels name;
	struct store_bytes record;
	struct dnsblv6_key second; /* the name behind the apex */
	uint64_t name_count;
};

static int compare_rrs(const void *a, const void *b)
{
	return dnsblv6_rr_compare(a, b);
}

/* The digest is neither over itself nor over its signature. */
static bool is_of_digest(const struct dnsblv6_rr *rr)
{
	struct dnsblv6_signature signature;
	return rr->type == DNSBLV6_TYPE_ZONEMD ||
	       (rr->type == DNSBLV6_TYPE_RRSIG &&
		dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, DNSBLV6_TYPE_ZONEMD, &signature) ==
			DNSBLV6_OK);
}

static bool hash_rr(struct digest *digest, const uint8_t *owner, size_t owner_size,
		    const struct dnsblv6_rr *rr)
{
	enum { CLASS_IN = 1 };
	uint8_t numbers[10];
	uint8_t *at = numbers;
	bytes_put16(&at, rr->type);
	bytes_put16(&at, CLASS_IN);
	bytes_put32(&at, rr->ttl);
	bytes_put16(&at, rr->rdata_size);
	return EVP_DigestUpdate(digest->context, owner, owner_size) == 1 &&
	       EVP_DigestUpdate(digest->context, numbers, sizeof(numbers)) == 1 &&
	       EVP_DigestUpdate(digest->context, rr->rdata, rr->rdata_size) == 1;
}

/* The name that waits; next is the one behind it. */
static int hash_name(struct digest *digest, const struct dnsblv6_labels *next)
{
	uint8_t owner[DNSBLV6_LABELS_MAX + 1];
	struct dnsblv6_labels full;
	struct dnsblv6_unfold *unfold = &digest->unfold;
	const struct dnsblv6_labels *zone = &digest->facts->zone;
	if (!digest->has_name)
		return DNSBLV6_OK;
	int ret = dnsblv6_name_join(digest->name.wire, digest->name.size, zone->wire, zone->size,
				    &full);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_unfold_name(unfold, &digest->name, digest->record.data,
					  digest->record.size, next);
	if (ret != DNSBLV6_OK)
		return ret;
	memcpy(owner, full.wire, full.size);
	owner[full.size] = 0;
	qsort(unfold->rrs, unfold->count, sizeof(*unfold->rrs), compare_rrs);
	for (size_t i = 0; i < unfold->count; i++) {
		bool is_left_out = digest->name.size == 0 && is_of_digest(&unfold->rrs[i]);
		if (!is_left_out && !hash_rr(digest, owner, full.size + 1u, &unfold->rrs[i]))
			return KEY_ECRYPTO;
	}
	return DNSBLV6_OK;
}

static int take_name(void *context, struct store_bytes key, struct store_bytes value)
{
	struct digest *digest = context;
	struct dnsblv6_labels name;
	int ret = dnsblv6_key_to_labels(key.data, key.size, &name);
	if (ret == DNSBLV6_OK)
		ret = hash_name(digest, &name);
	if (ret != DNSBLV6_OK)
		return ret;
	if (++digest->name_count == 2) {
		digest->second.size = (uint16_t)key.size;
		memcpy(digest->second.bytes, key.data, key.size);
	}
	digest->has_name = true;
	digest->name = name;
	digest->record = value;
	return DNSBLV6_OK;
}

static int hash_zone(struct digest *digest, struct writer *writer, uint8_t *ret_digest)
{
	static const struct dnsblv6_labels apex = { 0 };
	if (EVP_DigestInit_ex(digest->context, EVP_sha384(), NULL) != 1)
		return KEY_ECRYPTO;
	digest->second = dnsblv6_key_of_apex();
	int ret = writer_scan(writer, STORE_RECORDS, take_name, digest);
	if (ret == DNSBLV6_OK)
		ret = hash_name(digest, &apex);
	if (ret == DNSBLV6_OK && EVP_DigestFinal_ex(digest->context, ret_digest, NULL) != 1)
		ret = KEY_ECRYPTO;
	return ret;
}

/* ---- the record ---- */

/* The apex with its new digest, being written. */
struct apex {
	uint8_t rdata[ZONEMD_RDATA_SIZE];
	uint8_t rrsigs[SIGNER_ZONE_KEYS_MAX][DNSBLV6_RRSIG_MAX];
	size_t rrsig_sizes[SIGNER_ZONE_KEYS_MAX];
	uint8_t record[BARE_RECORD_MAX];
	size_t record_size;
};

static void fill_rdata(struct apex *apex, uint32_t serial, const uint8_t *digest)
{
	zonemd_make_placeholder(apex->rdata);
	for (unsigned i = 0; i < 4; i++)
		apex->rdata[i] = (uint8_t)(serial >> (24 - 8 * i));
	memcpy(apex->rdata + DIGEST_OFFSET, digest, ZONEMD_RDATA_SIZE - DIGEST_OFFSET);
}

static int sign_by(struct apex *apex, struct signer *signer, const struct key *key, uint32_t ttl,
		   size_t number)
{
	static const struct dnsblv6_labels owner = { 0 };
	const struct signer_options *options = signer_options(signer);
	struct dnsblv6_rdata rdata = { apex->rdata, ZONEMD_RDATA_SIZE };
	struct dnsblv6_rrsig rrsig = { .type_covered = DNSBLV6_TYPE_ZONEMD,
				       .ttl = ttl,
				       .labels = dnsblv6_rrsig_labels(options->zone, &owner) };
	size_t job;
	int ret = signer_add(signer, key, &rrsig, &owner, &rdata, 1, &job);
	if (ret == DNSBLV6_OK)
		ret = signer_start(signer);
	if (ret == DNSBLV6_OK)
		ret = signer_finish(signer);
	if (ret != DNSBLV6_OK)
		return ret;
	signer_take(signer, job, &rrsig.signature);
	apex->rrsig_sizes[number] =
		dnsblv6_rrsig_encode(&rrsig, options->zone, apex->rrsigs[number]);
	return DNSBLV6_OK;
}

/* In the order in which link.c has left them. */
static int sign(struct apex *apex, struct signer *signer, uint32_t ttl)
{
	const struct key *keys[SIGNER_SIGNATURES_MAX];
	size_t key_count = signer_zone_keys(signer, keys);
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < key_count; i++)
		ret = sign_by(apex, signer, keys[i], ttl, i);
	return ret;
}

/* The RRs of the apex, those of the digest replaced. */
static int encode(struct apex *apex, struct store_bytes value)
{
	struct dnsblv6_rr rrs[BARE_RRS_MAX];
	struct dnsblv6_rr rr;
	size_t count = 0;
	size_t rrsig_count = 0;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		if (count == BARE_RRS_MAX)
			return DNSBLV6_ESPACE;
		if (rr.type == DNSBLV6_TYPE_ZONEMD) {
			rr.rdata = apex->rdata;
			rr.rdata_size = ZONEMD_RDATA_SIZE;
		} else if (is_of_digest(&rr) && rrsig_count < SIGNER_ZONE_KEYS_MAX) {
			rr.rdata = apex->rrsigs[rrsig_count];
			rr.rdata_size = (uint16_t)apex->rrsig_sizes[rrsig_count++];
		}
		rrs[count++] = rr;
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	return dnsblv6_record_encode_rrs(rrs, count, apex->record, BARE_RECORD_MAX,
					 &apex->record_size);
}

/* What chain.c recorded of the apex was not its last state. */
static int record(struct writer *writer, struct recorder *recorder, const struct digest *digest,
		  const struct apex *apex)
{
	struct dnsblv6_key key = dnsblv6_key_of_apex();
	struct dnsblv6_name_change change = { .key = key.bytes, .key_size = key.size };
	struct writer_walk *walk = NULL;
	struct store_bytes found;
	struct store_bytes value;
	struct store_bytes next_value;
	int ret = writer_walk_open(writer, STORE_RECORDS, &walk);
	if (ret == DNSBLV6_OK)
		ret = writer_walk_seek(walk, key.bytes, key.size, &found, &value);
	if (ret == DNSBLV6_OK)
		ret = writer_walk_next(walk, &found, &next_value);
	writer_walk_close(walk);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? STORE_ECORRUPT : ret;
	uint16_t has_next = digest->unfold.is_signed;
	change.before = (struct dnsblv6_name_state){ value.data, (uint16_t)value.size, found.data,
						     (uint16_t)(has_next * found.size) };
	change.after = (struct dnsblv6_name_state){ apex->record, (uint16_t)apex->record_size,
						    digest->second.bytes,
						    (uint16_t)(has_next * digest->second.size) };
	return recorder_add(recorder, &change);
}

/* The TTL of the digest at the apex; DNSBLV6_ENOTFOUND when there is none. */
static int find_digest(struct store_bytes value, uint32_t *ret_ttl)
{
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		*ret_ttl = rr.ttl;
		if (rr.type == DNSBLV6_TYPE_ZONEMD)
			break;
	}
	return ret;
}

static int write_apex(struct writer *writer, struct digest *digest, struct signer *signer,
		      struct recorder *recorder, uint32_t ttl, struct apex *apex)
{
	uint8_t bytes[EVP_MAX_MD_SIZE];
	struct dnsblv6_key key = dnsblv6_key_of_apex();
	struct store_bytes value;
	int ret = hash_zone(digest, writer, bytes);
	if (ret != DNSBLV6_OK)
		return ret;
	fill_rdata(apex, digest->facts->serial, bytes);
	if (signer != NULL)
		ret = sign(apex, signer, ttl);
	if (ret == DNSBLV6_OK)
		ret = writer_get(writer, STORE_RECORDS, key.bytes, key.size, &value);
	if (ret == DNSBLV6_OK)
		ret = encode(apex, value);
	if (ret == DNSBLV6_OK)
		ret = writer_put(writer, STORE_RECORDS, key.bytes, key.size, apex->record,
				 apex->record_size);
	return ret == DNSBLV6_OK && recorder != NULL ? record(writer, recorder, digest, apex) : ret;
}

static void set_algorithms(struct dnsblv6_unfold *unfold, const struct signer *signer)
{
	const struct key *keys[SIGNER_SIGNATURES_MAX];
	size_t key_count = signer_zone_keys(signer, keys);
	unfold->algorithm = key_algorithm(keys[0]);
	unfold->other_algorithm = key_count > 1 ? key_algorithm(keys[1]) : 0;
}

int zonemd_write(struct writer *writer, const struct dnsblv6_facts *facts, struct signer *signer,
		 struct recorder *recorder)
{
	struct digest digest = { .facts = facts };
	struct dnsblv6_key key = dnsblv6_key_of_apex();
	struct store_bytes value;
	uint32_t ttl = 0;
	int ret = writer_get(writer, STORE_RECORDS, key.bytes, key.size, &value);
	if (ret == DNSBLV6_OK)
		ret = find_digest(value, &ttl);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
	ret = dnsblv6_unfold_begin(&digest.unfold, facts, value.data, value.size);
	digest.unfold.is_signed = signer != NULL;
	if (signer != NULL)
		set_algorithms(&digest.unfold, signer);
	struct apex *apex = malloc(sizeof(*apex));
	digest.context = EVP_MD_CTX_new();
	if (apex == NULL || digest.context == NULL)
		ret = -ENOMEM;
	if (ret == DNSBLV6_OK)
		ret = write_apex(writer, &digest, signer, recorder, ttl, apex);
	EVP_MD_CTX_free(digest.context);
	free(apex);
	return ret;
}
