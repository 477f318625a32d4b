/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/link.h"

#include "zone-tools/records/bare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NO_JOB = -1 }; /* the signature is kept from before */

/* A signature of a name: kept, or to be made. */
struct seal {
	struct dnsblv6_rrsig rrsig;
	long job; /* of the signer, or NO_JOB */
};

void link_clear(struct link *link)
{
	free(link->data);
	free(link->seals);
	link->data = NULL;
	link->seals = NULL;
	link->seal_count = 0;
	link->has_old = false;
	link->is_changed = false;
}

/* ---- seals ---- */

static struct seal make_seal(const struct link_options *options, const struct link *link,
			     uint16_t type, uint32_t ttl)
{
	struct seal seal = { .job = NO_JOB };
	seal.rrsig.type_covered = type;
	seal.rrsig.ttl = ttl;
	seal.rrsig.labels = dnsblv6_rrsig_labels(options->zone, &link->owner);
	return seal;
}

static int add_job(const struct link_options *options, const struct link *link,
		   const struct key *key, struct seal *seal, struct dnsblv6_rdata *rdatas,
		   size_t count)
{
	size_t job = 0;
	int ret = signer_add(options->signer, key, &seal->rrsig, &link->owner, rdatas, count, &job);
	seal->job = (long)job;
	return ret;
}

/* The NSEC of link, whose next name is next. */
static int add_nsec_job(const struct link_options *options, const struct link *link,
			const struct key *key, const struct dnsblv6_labels *next, struct seal *seal)
{
	uint8_t bytes[DNSBLV6_NSEC_MAX];
	struct dnsblv6_types types;
	int ret = dnsblv6_types_of_record(link->data, link->size, true, &types);
	if (ret != DNSBLV6_OK)
		return ret;
	size_t size = dnsblv6_nsec_encode(options->zone, next, &types, bytes);
	struct dnsblv6_rdata rdata = { bytes, (uint16_t)size };
	return add_job(options, link, key, seal, &rdata, 1);
}

static bool is_fresh(const struct link_options *options, const struct link *link,
		     const struct key *key, const struct dnsblv6_signature *signature)
{
	return !options->is_key_new &&
	       signer_is_fresh(options->signer, key, &link->owner, signature);
}

/* ---- bitmaps ---- */

/* What both signatures of a name are over is as it was. */
struct sameness {
	bool is_same_aaaa;
	bool is_same_nsec;
};

/* The old signatures by key, of the one or two pairs there are. */
static bool find_old_pair(const struct link *link, const struct key *key,
			  struct dnsblv6_signatures *ret_signatures)
{
	struct store_bytes old = link->old;
	uint16_t tag = key_tag(key);
	if (!link->has_old)
		return false;
	return (dnsblv6_record_decode_signatures(old.data, old.size, ret_signatures) ==
			DNSBLV6_OK &&
		ret_signatures->aaaa.key_tag == tag) ||
	       (dnsblv6_record_decode_other_signatures(old.data, old.size, ret_signatures) ==
			DNSBLV6_OK &&
		ret_signatures->aaaa.key_tag == tag);
}

/* The AAAA and the NSEC by one key: two seals. */
static int seal_bitmap_by(const struct link_options *options, struct link *link,
			  const struct key *key, const struct sameness *sameness,
			  const struct dnsblv6_labels *next)
{
	struct seal *seals = link->seals + link->seal_count;
	struct dnsblv6_signatures old;
	bool has_old = find_old_pair(link, key, &old);
	bool keeps_aaaa =
		has_old && sameness->is_same_aaaa && is_fresh(options, link, key, &old.aaaa);
	bool keeps_nsec =
		has_old && sameness->is_same_nsec && is_fresh(options, link, key, &old.nsec);
	int ret = DNSBLV6_OK;
	link->seal_count += 2;
	seals[0] = make_seal(options, link, DNSBLV6_TYPE_AAAA, options->ttl);
	seals[1] = make_seal(options, link, DNSBLV6_TYPE_NSEC, options->negative_ttl);
	if (keeps_aaaa) {
		seals[0].rrsig.signature = old.aaaa;
	} else {
		struct dnsblv6_rdata rdata = { link->data + 1, DNSBLV6_BITMAP_SIZE };
		ret = add_job(options, link, key, &seals[0], &rdata, 1);
	}
	if (keeps_nsec)
		seals[1].rrsig.signature = old.nsec;
	else if (ret == DNSBLV6_OK)
		ret = add_nsec_job(options, link, key, next, &seals[1]);
	link->is_changed = link->is_changed || !keeps_aaaa || !keeps_nsec;
	return ret;
}

static int seal_bitmap(const struct link_options *options, struct link *link,
		       const struct dnsblv6_labels *next)
{
	const struct key *keys[SIGNER_SIGNATURES_MAX];
	size_t key_count = signer_zone_keys(options->signer, keys);
	size_t size = key_count == 1 ? DNSBLV6_SIGNED_BITMAP_RECORD_SIZE
				     : DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE;
	struct sameness sameness = {
		.is_same_aaaa = link->has_old && link->old.size > link->size &&
				memcmp(link->old.data, link->data, link->size) == 0 &&
				options->ttl == options->old_ttl,
		.is_same_nsec =
			link->is_same_next && options->negative_ttl == options->old_negative_ttl,
	};
	link->seals = calloc(2 * key_count, sizeof(*link->seals));
	if (link->seals == NULL)
		return -ENOMEM;
	/* A pair of signatures may have gone, and nothing else have changed. */
	link->is_changed = !link->has_old || link->old.size != size;
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < key_count; i++)
		ret = seal_bitmap_by(options, link, keys[i], &sameness, next);
	return ret;
}

/* ---- RRsets ---- */

enum { SEALS_MAX = BARE_RRS_MAX - SIGNER_ZONE_KEYS_MAX };

static bool is_same_rr(const struct dnsblv6_rr *a, const struct dnsblv6_rr *b)
{
	return a->type == b->type && a->ttl == b->ttl && a->rdata_size == b->rdata_size &&
	       memcmp(a->rdata, b->rdata, a->rdata_size) == 0;
}

/* Do both have the same RRs of type, in the same order? */
static bool is_same_rrset(const struct bare_rrs *a, const struct bare_rrs *b, uint16_t type)
{
	size_t j = 0;
	for (size_t i = 0; i < a->count; i++) {
		if (a->items[i].type != type)
			continue;
		while (j < b->count && b->items[j].type != type)
			j++;
		if (j == b->count || !is_same_rr(&a->items[i], &b->items[j]))
			return false;
		j++;
	}
	while (j < b->count && b->items[j].type != type)
		j++;
	return j == b->count;
}

/* The signature over type by key that the old record has, if it is still good. */
static bool find_old_signature(const struct link_options *options, const struct link *link,
			       const struct bare_rrs *old, uint16_t type, const struct key *key,
			       struct dnsblv6_signature *ret_signature)
{
	for (size_t i = 0; i < old->count; i++) {
		const struct dnsblv6_rr *rr = &old->items[i];
		if (rr->type == DNSBLV6_TYPE_RRSIG &&
		    dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, type, ret_signature) ==
			    DNSBLV6_OK &&
		    is_fresh(options, link, key, ret_signature))
			return true;
	}
	return false;
}

static size_t collect_rdatas(const struct bare_rrs *rrs, uint16_t type,
			     struct dnsblv6_rdata *ret_rdatas)
{
	size_t count = 0;
	for (size_t i = 0; i < rrs->count; i++) {
		if (rrs->items[i].type == type)
			ret_rdatas[count++] = (struct dnsblv6_rdata){ rrs->items[i].rdata,
								      rrs->items[i].rdata_size };
	}
	return count;
}

static int seal_rrset(const struct link_options *options, struct link *link,
		      const struct bare_rrs *new_rrs, const struct bare_rrs *old_rrs,
		      const struct dnsblv6_rr *first, const struct key *key)
{
	struct dnsblv6_rdata rdatas[BARE_RRS_MAX];
	if (link->seal_count == SEALS_MAX) /* the NSEC needs some too */
		return DNSBLV6_ESPACE;
	struct seal *seal = &link->seals[link->seal_count++];
	*seal = make_seal(options, link, first->type, first->ttl);
	if (is_same_rrset(new_rrs, old_rrs, first->type) &&
	    find_old_signature(options, link, old_rrs, first->type, key, &seal->rrsig.signature)) {
		seal->rrsig.algorithm = key_algorithm(key);
		return DNSBLV6_OK;
	}
	link->is_changed = true;
	size_t count = collect_rdatas(new_rrs, first->type, rdatas);
	return add_job(options, link, key, seal, rdatas, count);
}

static bool is_signing(const struct signer_options *keys, uint16_t tag)
{
	for (size_t i = 0; i < keys->key_count; i++) {
		if (key_tag(keys->keys[i]) == tag)
			return true;
	}
	return false;
}

/*
 * The DNSKEY RRset is signed by every key in it, also by those that are not at
 * hand: their signatures stay while the RRset does (keyset.h), to their very end.
 */
static int keep_others(const struct link_options *options, struct link *link,
		       const struct bare_rrs *new_rrs, const struct bare_rrs *old_rrs,
		       const struct dnsblv6_rr *first)
{
	const struct signer_options *keys = signer_options(options->signer);
	struct dnsblv6_signature signature;
	if (!is_same_rrset(new_rrs, old_rrs, DNSBLV6_TYPE_DNSKEY))
		return DNSBLV6_OK;
	for (size_t i = 0; i < old_rrs->count; i++) {
		const struct dnsblv6_rr *rr = &old_rrs->items[i];
		if (rr->type != DNSBLV6_TYPE_RRSIG ||
		    dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, DNSBLV6_TYPE_DNSKEY,
					 &signature) != DNSBLV6_OK ||
		    is_signing(keys, signature.key_tag))
			continue;
		if (link->seal_count == SEALS_MAX)
			return DNSBLV6_ESPACE;
		struct seal *seal = &link->seals[link->seal_count++];
		*seal = make_seal(options, link, DNSBLV6_TYPE_DNSKEY, first->ttl);
		seal->rrsig.algorithm = key_algorithm(keys->keys[0]);
		seal->rrsig.signature = signature;
	}
	return DNSBLV6_OK;
}

/* Every type once. */
static int seal_types(const struct link_options *options, struct link *link,
		      const struct bare_rrs *new_rrs, const struct bare_rrs *old_rrs)
{
	const struct key *keys[SIGNER_SIGNATURES_MAX];
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < new_rrs->count; i++) {
		const struct dnsblv6_rr *rr = &new_rrs->items[i];
		if (i > 0 && rr->type == new_rrs->items[i - 1].type)
			continue;
		size_t key_count = signer_keys_for(options->signer, rr->type, keys);
		for (size_t k = 0; ret == DNSBLV6_OK && k < key_count; k++)
			ret = seal_rrset(options, link, new_rrs, old_rrs, rr, keys[k]);
		if (ret == DNSBLV6_OK && rr->type == DNSBLV6_TYPE_DNSKEY)
			ret = keep_others(options, link, new_rrs, old_rrs, rr);
	}
	return ret;
}

static int seal_nsec_by(const struct link_options *options, struct link *link,
			const struct key *key, const struct bare_rrs *old_rrs, bool is_same,
			const struct dnsblv6_labels *next)
{
	struct seal *seal = &link->seals[link->seal_count++];
	*seal = make_seal(options, link, DNSBLV6_TYPE_NSEC, options->negative_ttl);
	if (is_same && find_old_signature(options, link, old_rrs, DNSBLV6_TYPE_NSEC, key,
					  &seal->rrsig.signature)) {
		seal->rrsig.algorithm = key_algorithm(key);
		return DNSBLV6_OK;
	}
	link->is_changed = true;
	return add_nsec_job(options, link, key, next, seal);
}

static int seal_nsec(const struct link_options *options, struct link *link,
		     const struct bare_rrs *old_rrs, const struct dnsblv6_labels *next)
{
	const struct key *keys[SIGNER_SIGNATURES_MAX];
	size_t key_count = signer_zone_keys(options->signer, keys);
	struct dnsblv6_types types;
	struct dnsblv6_types old_types = { 0 };
	int ret = dnsblv6_types_of_record(link->data, link->size, true, &types);
	if (ret == DNSBLV6_OK && link->has_old)
		ret = dnsblv6_types_of_record(link->old.data, link->old.size, true, &old_types);
	bool is_same = link->is_same_next && types.count == old_types.count &&
		       memcmp(types.numbers, old_types.numbers, types.count) == 0 &&
		       options->negative_ttl == options->old_negative_ttl;
	for (size_t i = 0; ret == DNSBLV6_OK && i < key_count; i++)
		ret = seal_nsec_by(options, link, keys[i], old_rrs, is_same, next);
	return ret;
}

/* Signatures of the old record that the new one has not: it has to be written for that alone. */
static bool has_fewer_seals(const struct link *link, const struct bare_rrs *old_rrs)
{
	size_t count = 0;
	for (size_t i = 0; i < old_rrs->count; i++)
		count += old_rrs->items[i].type == DNSBLV6_TYPE_RRSIG;
	return link->seal_count < count;
}

static int seal_rrsets(const struct link_options *options, struct link *link,
		       const struct dnsblv6_labels *next)
{
	struct bare_rrs new_rrs;
	struct bare_rrs old_rrs = { .count = 0 };
	link->seals = calloc(BARE_RRS_MAX, sizeof(*link->seals));
	if (link->seals == NULL)
		return -ENOMEM;
	int ret = bare_unpack((struct store_bytes){ link->data, link->size }, &new_rrs);
	if (ret == DNSBLV6_OK && link->has_old &&
	    dnsblv6_record_kind(link->old.data, link->old.size) == DNSBLV6_RECORD_RRSETS)
		ret = bare_unpack(link->old, &old_rrs);
	if (ret == DNSBLV6_OK)
		ret = seal_types(options, link, &new_rrs, &old_rrs);
	if (ret == DNSBLV6_OK)
		ret = seal_nsec(options, link, &old_rrs, next);
	link->is_changed = link->is_changed || has_fewer_seals(link, &old_rrs);
	return ret;
}

/* ---- a name whose next one is known ---- */

int link_seal(const struct link_options *options, struct link *link, const struct dnsblv6_key *next)
{
	struct dnsblv6_labels next_name;
	bool is_same = link->has_old && link->old.size == link->size &&
		       memcmp(link->old.data, link->data, link->size) == 0;
	if (options->signer == NULL) {
		link->is_changed = !is_same;
		return DNSBLV6_OK;
	}
	link->is_same_next = link->has_old && link->old_next.size == next->size &&
			     memcmp(link->old_next.bytes, next->bytes, next->size) == 0;
	link->next = *next;
	int ret = dnsblv6_key_to_labels(next->bytes, next->size, &next_name);
	if (ret != DNSBLV6_OK)
		return ret;
	return dnsblv6_record_kind(link->data, link->size) == DNSBLV6_RECORD_BITMAP
		       ? seal_bitmap(options, link, &next_name)
		       : seal_rrsets(options, link, &next_name);
}

/* ---- when they are made ---- */

static uint64_t expiration_of(const struct link_options *options,
			      const struct dnsblv6_signature *signature)
{
	uint64_t now_s = signer_options(options->signer)->now_s;
	int32_t left_s = (int32_t)(signature->expiration - (uint32_t)now_s);
	return (uint64_t)((int64_t)now_s + left_s);
}

void link_take(const struct link_options *options, struct link *link, uint64_t *expires_s,
	       uint32_t *ttl_max)
{
	for (size_t i = 0; i < link->seal_count; i++) {
		struct seal *seal = &link->seals[i];
		if (seal->rrsig.ttl > *ttl_max)
			*ttl_max = seal->rrsig.ttl;
		if (seal->job != NO_JOB)
			signer_take(options->signer, (size_t)seal->job, &seal->rrsig.signature);
		uint64_t ends_s = expiration_of(options, &seal->rrsig.signature);
		if (*expires_s == 0 || ends_s < *expires_s)
			*expires_s = ends_s;
	}
}

static int encode_rrsets(const struct link_options *options, const struct link *link,
			 uint8_t *ret_data, size_t *ret_size)
{
	uint8_t signatures[BARE_RRS_MAX][DNSBLV6_RRSIG_MAX];
	struct bare_rrs rrs;
	int ret = bare_unpack((struct store_bytes){ link->data, link->size }, &rrs);
	if (ret != DNSBLV6_OK)
		return ret;
	if (rrs.count + link->seal_count > BARE_RRS_MAX)
		return DNSBLV6_ESPACE;
	for (size_t i = 0; i < link->seal_count; i++) {
		const struct dnsblv6_rrsig *rrsig = &link->seals[i].rrsig;
		size_t rdata_size = dnsblv6_rrsig_encode(rrsig, options->zone, signatures[i]);
		rrs.items[rrs.count++] =
			(struct dnsblv6_rr){ DNSBLV6_TYPE_RRSIG, (uint16_t)rdata_size, rrsig->ttl,
					     signatures[i] };
	}
	return dnsblv6_record_encode_rrs(rrs.items, rrs.count, ret_data, BARE_RECORD_MAX, ret_size);
}

int link_encode(const struct link_options *options, const struct link *link, uint8_t *ret_data,
		size_t *ret_size)
{
	if (link->seal_count == 0) {
		memcpy(ret_data, link->data, link->size);
		*ret_size = link->size;
		return DNSBLV6_OK;
	}
	if (dnsblv6_record_kind(link->data, link->size) == DNSBLV6_RECORD_RRSETS)
		return encode_rrsets(options, link, ret_data, ret_size);

	struct dnsblv6_bitmap map;
	struct dnsblv6_signatures signatures[SIGNER_ZONE_KEYS_MAX];
	size_t pair_count = link->seal_count / 2;
	int ret = dnsblv6_record_decode_bitmap(link->data, link->size, &map);
	if (ret != DNSBLV6_OK)
		return ret;
	for (size_t i = 0; i < pair_count; i++)
		signatures[i] =
			(struct dnsblv6_signatures){ link->seals[2 * i].rrsig.signature,
						     link->seals[2 * i + 1].rrsig.signature };
	if (pair_count == 1) {
		dnsblv6_record_encode_signed_bitmap(&map, &signatures[0], ret_data);
		*ret_size = DNSBLV6_SIGNED_BITMAP_RECORD_SIZE;
	} else {
		dnsblv6_record_encode_twice_signed_bitmap(&map, signatures, ret_data);
		*ret_size = DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE;
	}
	return DNSBLV6_OK;
}
