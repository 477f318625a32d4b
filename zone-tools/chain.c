/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain.h"

#include "zone-tools/bare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINKS_MAX = 8192, /* names that are signed in one go */
	NO_JOB = -1,	  /* the signature is kept from before */
};

/* A signature of a name: kept, or to be made. */
struct seal {
	struct dnsblv6_rrsig rrsig;
	long job; /* of the signer, or NO_JOB */
};

struct link {
	struct dnsblv6_key key;
	struct dnsblv6_labels owner;
	uint8_t *data; /* without signatures; ours */
	size_t size;
	bool has_old;
	struct store_bytes old; /* in the version before, with signatures */
	bool is_same_next;	/* the name behind it is the one that was behind it */
	struct dnsblv6_key old_next;
	struct dnsblv6_key next; /* of a signed zone */
	struct seal *seals;	 /* ours; of a bitmap: AAAA and NSEC */
	size_t seal_count;
	bool is_changed;
};

struct chain {
	struct writer *writer;
	struct chain_options options;
	struct chain_result result;
	struct link *links;
	size_t link_count;
	bool is_waiting;	 /* the last link does not know its next name yet */
	struct writer_walk *old; /* over the version before */
	bool has_old;		 /* there is an entry of it that was not met yet */
	struct store_bytes old_key;
	struct store_bytes old_value;
};

/* ---- life ---- */

static void clear_link(struct link *link)
{
	free(link->data);
	free(link->seals);
	link->data = NULL;
	link->seals = NULL;
	link->seal_count = 0;
	link->has_old = false;
	link->is_changed = false;
}

void chain_free(struct chain *chain)
{
	if (chain == NULL)
		return;
	for (size_t i = 0; chain->links != NULL && i < chain->link_count; i++)
		clear_link(&chain->links[i]);
	free(chain->links);
	writer_walk_close(chain->old);
	free(chain);
}

static int take_old(struct chain *chain, int ret)
{
	chain->has_old = ret == DNSBLV6_OK;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int next_old(struct chain *chain)
{
	return take_old(chain, writer_walk_next(chain->old, &chain->old_key, &chain->old_value));
}

int chain_new(struct writer *writer, const struct chain_options *options, struct chain **ret_chain)
{
	struct chain *chain = calloc(1, sizeof(*chain));
	if (chain == NULL)
		return -ENOMEM;
	chain->writer = writer;
	chain->options = *options;
	chain->links = calloc(LINKS_MAX, sizeof(*chain->links));
	int ret = chain->links != NULL ? DNSBLV6_OK : -ENOMEM;
	if (ret == DNSBLV6_OK)
		ret = writer_walk_open(writer, STORE_RECORDS, &chain->old);
	if (ret != DNSBLV6_OK) {
		chain_free(chain);
		return ret;
	}
	*ret_chain = chain;
	return DNSBLV6_OK;
}

struct dnsblv6_change chain_change(const struct chain_result *result, uint64_t made_s)
{
	return (struct dnsblv6_change){ .made_s = made_s,
					.added_count = result->added_count,
					.changed_count = result->changed_count,
					.removed_count = result->removed_count };
}

/* ---- seals ---- */

static struct seal make_seal(const struct chain *chain, const struct link *link, uint16_t type,
			     uint32_t ttl)
{
	struct seal seal = { .job = NO_JOB };
	seal.rrsig.type_covered = type;
	seal.rrsig.ttl = ttl;
	seal.rrsig.labels = dnsblv6_rrsig_labels(chain->options.zone, &link->owner);
	return seal;
}

static int add_job(struct chain *chain, const struct link *link, const struct key *key,
		   struct seal *seal, struct dnsblv6_rdata *rdatas, size_t count)
{
	size_t job = 0;
	int ret = signer_add(chain->options.signer, key, &seal->rrsig, &link->owner, rdatas, count,
			     &job);
	seal->job = (long)job;
	return ret;
}

/* The NSEC of link, whose next name is next. */
static int add_nsec_job(struct chain *chain, const struct link *link,
			const struct dnsblv6_labels *next, struct seal *seal)
{
	uint8_t bytes[DNSBLV6_NSEC_MAX];
	struct dnsblv6_types types;
	const struct key *key = signer_options(chain->options.signer)->keys[0];
	int ret = dnsblv6_types_of_record(link->data, link->size, true, &types);
	if (ret != DNSBLV6_OK)
		return ret;
	size_t size = dnsblv6_nsec_encode(chain->options.zone, next, &types, bytes);
	struct dnsblv6_rdata rdata = { bytes, (uint16_t)size };
	return add_job(chain, link, key, seal, &rdata, 1);
}

static bool is_fresh(const struct chain *chain, const struct key *key,
		     const struct dnsblv6_signature *signature)
{
	return !chain->options.is_key_new && signer_is_fresh(chain->options.signer, key, signature);
}

/* ---- bitmaps ---- */

static int seal_bitmap(struct chain *chain, struct link *link, const struct dnsblv6_labels *next)
{
	const struct key *key = signer_options(chain->options.signer)->keys[0];
	struct dnsblv6_signatures old;
	link->seals = calloc(2, sizeof(*link->seals));
	if (link->seals == NULL)
		return -ENOMEM;
	link->seal_count = 2;
	link->seals[0] = make_seal(chain, link, DNSBLV6_TYPE_AAAA, chain->options.ttl);
	link->seals[1] = make_seal(chain, link, DNSBLV6_TYPE_NSEC, chain->options.negative_ttl);

	bool has_signatures =
		link->has_old && dnsblv6_record_decode_signatures(link->old.data, link->old.size,
								  &old) == DNSBLV6_OK;
	bool keeps_aaaa = has_signatures && memcmp(link->old.data, link->data, link->size) == 0 &&
			  chain->options.ttl == chain->options.old_ttl &&
			  is_fresh(chain, key, &old.aaaa);
	bool keeps_nsec = has_signatures && link->is_same_next &&
			  chain->options.negative_ttl == chain->options.old_negative_ttl &&
			  is_fresh(chain, key, &old.nsec);
	int ret = DNSBLV6_OK;
	if (keeps_aaaa) {
		link->seals[0].rrsig.signature = old.aaaa;
	} else {
		struct dnsblv6_rdata rdata = { link->data + 1, DNSBLV6_BITMAP_SIZE };
		ret = add_job(chain, link, key, &link->seals[0], &rdata, 1);
	}
	if (keeps_nsec)
		link->seals[1].rrsig.signature = old.nsec;
	else if (ret == DNSBLV6_OK)
		ret = add_nsec_job(chain, link, next, &link->seals[1]);
	link->is_changed = !keeps_aaaa || !keeps_nsec;
	return ret;
}

/* ---- RRsets ---- */

/* The RRs of one record, unpacked. */
struct rrs {
	struct dnsblv6_rr items[BARE_RRS_MAX];
	size_t count;
};

static int unpack(const uint8_t *data, size_t size, struct rrs *ret_rrs)
{
	size_t offset = 0;
	ret_rrs->count = 0;
	for (;;) {
		struct dnsblv6_rr rr;
		int ret = dnsblv6_record_next_rr(data, size, &offset, &rr);
		if (ret == DNSBLV6_ENOTFOUND)
			return DNSBLV6_OK;
		if (ret != DNSBLV6_OK)
			return ret;
		if (ret_rrs->count == BARE_RRS_MAX)
			return DNSBLV6_ESPACE;
		ret_rrs->items[ret_rrs->count++] = rr;
	}
}

static bool is_same_rr(const struct dnsblv6_rr *a, const struct dnsblv6_rr *b)
{
	return a->type == b->type && a->ttl == b->ttl && a->rdata_size == b->rdata_size &&
	       memcmp(a->rdata, b->rdata, a->rdata_size) == 0;
}

/* Do both have the same RRs of type, in the same order? */
static bool is_same_rrset(const struct rrs *a, const struct rrs *b, uint16_t type)
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
static bool find_old_signature(const struct chain *chain, const struct rrs *old, uint16_t type,
			       const struct key *key, struct dnsblv6_signature *ret_signature)
{
	for (size_t i = 0; i < old->count; i++) {
		const struct dnsblv6_rr *rr = &old->items[i];
		if (rr->type == DNSBLV6_TYPE_RRSIG &&
		    dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, type, ret_signature) ==
			    DNSBLV6_OK &&
		    is_fresh(chain, key, ret_signature))
			return true;
	}
	return false;
}

static size_t collect_rdatas(const struct rrs *rrs, uint16_t type, struct dnsblv6_rdata *ret_rdatas)
{
	size_t count = 0;
	for (size_t i = 0; i < rrs->count; i++) {
		if (rrs->items[i].type == type)
			ret_rdatas[count++] = (struct dnsblv6_rdata){ rrs->items[i].rdata,
								      rrs->items[i].rdata_size };
	}
	return count;
}

static int seal_rrset(struct chain *chain, struct link *link, const struct rrs *new_rrs,
		      const struct rrs *old_rrs, const struct dnsblv6_rr *first,
		      const struct key *key)
{
	struct dnsblv6_rdata rdatas[BARE_RRS_MAX];
	if (link->seal_count == BARE_RRS_MAX - 1) /* the NSEC needs one too */
		return DNSBLV6_ESPACE;
	struct seal *seal = &link->seals[link->seal_count++];
	*seal = make_seal(chain, link, first->type, first->ttl);
	if (is_same_rrset(new_rrs, old_rrs, first->type) &&
	    find_old_signature(chain, old_rrs, first->type, key, &seal->rrsig.signature)) {
		seal->rrsig.algorithm = key_algorithm(key);
		return DNSBLV6_OK;
	}
	link->is_changed = true;
	size_t count = collect_rdatas(new_rrs, first->type, rdatas);
	return add_job(chain, link, key, seal, rdatas, count);
}

/* Every type once; the DNSKEY RRset is signed by all keys. */
static int seal_types(struct chain *chain, struct link *link, const struct rrs *new_rrs,
		      const struct rrs *old_rrs)
{
	const struct signer_options *options = signer_options(chain->options.signer);
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < new_rrs->count; i++) {
		const struct dnsblv6_rr *rr = &new_rrs->items[i];
		if (i > 0 && rr->type == new_rrs->items[i - 1].type)
			continue;
		size_t key_count = rr->type == DNSBLV6_TYPE_DNSKEY ? options->key_count : 1;
		for (size_t k = 0; ret == DNSBLV6_OK && k < key_count; k++)
			ret = seal_rrset(chain, link, new_rrs, old_rrs, rr, options->keys[k]);
	}
	return ret;
}

static int seal_nsec(struct chain *chain, struct link *link, const struct rrs *old_rrs,
		     const struct dnsblv6_labels *next)
{
	const struct key *key = signer_options(chain->options.signer)->keys[0];
	struct dnsblv6_types types;
	struct dnsblv6_types old_types = { 0 };
	struct seal *seal = &link->seals[link->seal_count++];
	*seal = make_seal(chain, link, DNSBLV6_TYPE_NSEC, chain->options.negative_ttl);
	int ret = dnsblv6_types_of_record(link->data, link->size, true, &types);
	if (ret == DNSBLV6_OK && link->has_old)
		ret = dnsblv6_types_of_record(link->old.data, link->old.size, true, &old_types);
	if (ret != DNSBLV6_OK)
		return ret;
	bool is_same = link->is_same_next && types.count == old_types.count &&
		       memcmp(types.numbers, old_types.numbers, types.count) == 0 &&
		       chain->options.negative_ttl == chain->options.old_negative_ttl;
	if (is_same &&
	    find_old_signature(chain, old_rrs, DNSBLV6_TYPE_NSEC, key, &seal->rrsig.signature)) {
		seal->rrsig.algorithm = key_algorithm(key);
		return DNSBLV6_OK;
	}
	link->is_changed = true;
	return add_nsec_job(chain, link, next, seal);
}

static int seal_rrsets(struct chain *chain, struct link *link, const struct dnsblv6_labels *next)
{
	struct rrs new_rrs;
	struct rrs old_rrs = { .count = 0 };
	link->seals = calloc(BARE_RRS_MAX, sizeof(*link->seals));
	if (link->seals == NULL)
		return -ENOMEM;
	int ret = unpack(link->data, link->size, &new_rrs);
	if (ret == DNSBLV6_OK && link->has_old &&
	    dnsblv6_record_kind(link->old.data, link->old.size) == DNSBLV6_RECORD_RRSETS)
		ret = unpack(link->old.data, link->old.size, &old_rrs);
	if (ret == DNSBLV6_OK)
		ret = seal_types(chain, link, &new_rrs, &old_rrs);
	return ret == DNSBLV6_OK ? seal_nsec(chain, link, &old_rrs, next) : ret;
}

/* ---- finishing a name ---- */

static void copy_key(struct dnsblv6_key *key, const uint8_t *bytes, size_t size)
{
	key->size = (uint16_t)size;
	memcpy(key->bytes, bytes, size);
}

static int seal_link(struct chain *chain, struct link *link, const struct dnsblv6_key *next)
{
	struct dnsblv6_labels next_name;
	bool is_same = link->has_old && link->old.size == link->size &&
		       memcmp(link->old.data, link->data, link->size) == 0;
	if (chain->options.signer == NULL) {
		link->is_changed = !is_same;
		return DNSBLV6_OK;
	}
	link->is_same_next = link->has_old && link->old_next.size == next->size &&
			     memcmp(link->old_next.bytes, next->bytes, next->size) == 0;
	copy_key(&link->next, next->bytes, next->size);
	int ret = dnsblv6_key_to_labels(next->bytes, next->size, &next_name);
	if (ret != DNSBLV6_OK)
		return ret;
	return dnsblv6_record_kind(link->data, link->size) == DNSBLV6_RECORD_BITMAP
		       ? seal_bitmap(chain, link, &next_name)
		       : seal_rrsets(chain, link, &next_name);
}

/* ---- writing ---- */

static void note_expiration(struct chain *chain, const struct dnsblv6_signature *signature)
{
	uint64_t now_s = signer_options(chain->options.signer)->now_s;
	int32_t left_s = (int32_t)(signature->expiration - (uint32_t)now_s);
	uint64_t expires_s = (uint64_t)((int64_t)now_s + left_s);
	if (chain->result.expires_s == 0 || expires_s < chain->result.expires_s)
		chain->result.expires_s = expires_s;
}

static void take_signatures(struct chain *chain, struct link *link)
{
	for (size_t i = 0; i < link->seal_count; i++) {
		struct seal *seal = &link->seals[i];
		if (seal->job != NO_JOB)
			signer_take(chain->options.signer, (size_t)seal->job,
				    &seal->rrsig.signature);
		note_expiration(chain, &seal->rrsig.signature);
	}
}

static struct dnsblv6_name_state make_state(const uint8_t *record, size_t record_size,
					    const struct dnsblv6_key *next)
{
	return (struct dnsblv6_name_state){ record, (uint16_t)record_size, next->bytes,
					    next->size };
}

/* data is what link has become, signatures included. */
static int store(struct chain *chain, const struct link *link, const uint8_t *data, size_t size)
{
	struct dnsblv6_name_change change = { .key = link->key.bytes, .key_size = link->key.size };
	int ret = writer_put(chain->writer, STORE_RECORDS, link->key.bytes, link->key.size, data,
			     size);
	if (ret != DNSBLV6_OK || chain->options.recorder == NULL)
		return ret;
	change.after = make_state(data, size, &link->next);
	if (link->has_old)
		change.before = make_state(link->old.data, link->old.size, &link->old_next);
	return recorder_add(chain->options.recorder, &change);
}

static int write_rrsets(struct chain *chain, const struct link *link)
{
	uint8_t signatures[BARE_RRS_MAX][DNSBLV6_RRSIG_MAX];
	struct rrs rrs;
	size_t size;
	int ret = unpack(link->data, link->size, &rrs);
	if (ret != DNSBLV6_OK)
		return ret;
	if (rrs.count + link->seal_count > BARE_RRS_MAX)
		return DNSBLV6_ESPACE;
	for (size_t i = 0; i < link->seal_count; i++) {
		const struct dnsblv6_rrsig *rrsig = &link->seals[i].rrsig;
		size_t rdata_size = dnsblv6_rrsig_encode(rrsig, chain->options.zone, signatures[i]);
		rrs.items[rrs.count++] =
			(struct dnsblv6_rr){ DNSBLV6_TYPE_RRSIG, (uint16_t)rdata_size, rrsig->ttl,
					     signatures[i] };
	}
	uint8_t *data = malloc(BARE_RECORD_MAX);
	if (data == NULL)
		return -ENOMEM;
	ret = dnsblv6_record_encode_rrs(rrs.items, rrs.count, data, BARE_RECORD_MAX, &size);
	if (ret == DNSBLV6_OK)
		ret = store(chain, link, data, size);
	free(data);
	return ret;
}

static int write_link(struct chain *chain, const struct link *link)
{
	if (link->seal_count == 0)
		return store(chain, link, link->data, link->size);
	if (dnsblv6_record_kind(link->data, link->size) == DNSBLV6_RECORD_RRSETS)
		return write_rrsets(chain, link);

	uint8_t data[DNSBLV6_SIGNED_BITMAP_RECORD_SIZE];
	struct dnsblv6_bitmap map;
	struct dnsblv6_signatures signatures = { link->seals[0].rrsig.signature,
						 link->seals[1].rrsig.signature };
	int ret = dnsblv6_record_decode_bitmap(link->data, link->size, &map);
	if (ret != DNSBLV6_OK)
		return ret;
	dnsblv6_record_encode_signed_bitmap(&map, &signatures, data);
	return store(chain, link, data, sizeof(data));
}

/* Signs and writes all links; each knows its next name. */
static int flush(struct chain *chain)
{
	struct signer *signer = chain->options.signer;
	int ret = signer != NULL ? signer_run(signer) : DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < chain->link_count; i++) {
		struct link *link = &chain->links[i];
		take_signatures(chain, link);
		if (link->is_changed) {
			ret = write_link(chain, link);
			if (link->has_old)
				chain->result.changed_count++;
			else
				chain->result.added_count++;
		}
		clear_link(link);
	}
	if (ret != DNSBLV6_OK)
		return ret;
	if (signer != NULL)
		signer_clear(signer);
	chain->link_count = 0;
	return DNSBLV6_OK;
}

/* ---- names ---- */

static int compare_keys(struct store_bytes a, const struct dnsblv6_key *b)
{
	size_t shared = a.size < b->size ? a.size : b->size;
	int by_bytes = memcmp(a.data, b->bytes, shared);
	return by_bytes != 0 ? by_bytes : (a.size > b->size) - (a.size < b->size);
}

/* Of a signed zone: the name of the version before that comes now, or the apex behind the last. */
static void take_next(const struct chain *chain, struct dnsblv6_key *ret_next)
{
	ret_next->size = 0;
	if (chain->options.signer == NULL)
		return;
	if (chain->has_old)
		copy_key(ret_next, chain->old_key.data, chain->old_key.size);
	else
		*ret_next = dnsblv6_key_of_apex();
}

static int remove_old(struct chain *chain)
{
	struct dnsblv6_key next;
	struct store_bytes key = chain->old_key;
	struct store_bytes value = chain->old_value;
	int ret = writer_delete(chain->writer, STORE_RECORDS, key.data, key.size);
	chain->result.removed_count++;
	if (ret == DNSBLV6_OK)
		ret = next_old(chain);
	if (ret != DNSBLV6_OK || chain->options.recorder == NULL)
		return ret;
	take_next(chain, &next);
	struct dnsblv6_name_change change = { .key = key.data,
					      .key_size = (uint16_t)key.size,
					      .before = make_state(value.data, value.size, &next) };
	return recorder_add(chain->options.recorder, &change);
}

static int remove_before(struct chain *chain, const struct dnsblv6_key *key)
{
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && chain->has_old && compare_keys(chain->old_key, key) < 0)
		ret = remove_old(chain);
	return ret;
}

/* What the version before has at the name of link, and which name was behind it. */
static int meet_old(struct chain *chain, struct link *link)
{
	int ret = remove_before(chain, &link->key);
	if (ret != DNSBLV6_OK || !chain->has_old || compare_keys(chain->old_key, &link->key) != 0)
		return ret;
	link->has_old = true;
	link->old = chain->old_value;
	ret = next_old(chain);
	take_next(chain, &link->old_next);
	return ret;
}

/* The last link learns its next name. */
static int end_waiting(struct chain *chain, const struct dnsblv6_key *next)
{
	if (!chain->is_waiting)
		return DNSBLV6_OK;
	chain->is_waiting = false;
	return seal_link(chain, &chain->links[chain->link_count - 1], next);
}

/* Behind the last one, which knows its next name. The new one waits for its own. */
static int add_link(struct chain *chain, const uint8_t *key, size_t key_size, const uint8_t *data,
		    size_t size, struct link **ret_link)
{
	int ret = chain->link_count == LINKS_MAX ? flush(chain) : DNSBLV6_OK;
	if (ret != DNSBLV6_OK)
		return ret;
	struct link *link = &chain->links[chain->link_count];
	link->data = malloc(size);
	if (link->data == NULL)
		return -ENOMEM;
	chain->link_count++;
	chain->is_waiting = true;
	memcpy(link->data, data, size);
	link->size = size;
	link->next.size = 0;
	link->old_next.size = 0;
	copy_key(&link->key, key, key_size);
	*ret_link = link;
	return chain->options.signer != NULL ? dnsblv6_key_to_labels(key, key_size, &link->owner)
					     : DNSBLV6_OK;
}

int chain_put(struct chain *chain, const struct dnsblv6_key *key, const uint8_t *data, size_t size)
{
	struct link *link = NULL;
	if (chain->link_count > 0) {
		const struct dnsblv6_key *last = &chain->links[chain->link_count - 1].key;
		struct store_bytes bytes = { last->bytes, last->size };
		if (compare_keys(bytes, key) >= 0)
			return DNSBLV6_EKEY;
	}
	int ret = end_waiting(chain, key);
	if (ret == DNSBLV6_OK)
		ret = add_link(chain, key->bytes, key->size, data, size, &link);
	return ret == DNSBLV6_OK ? meet_old(chain, link) : ret;
}

/* ---- regions ---- */

/*
 * The name before a region may get another NSEC, although the name itself
 * stays. old_key is the first name of the region that there was.
 */
static int put_name_before(struct chain *chain, const struct dnsblv6_key *start)
{
	uint8_t data[BARE_RECORD_MAX];
	struct writer_walk *walk = NULL;
	struct store_bytes key;
	struct store_bytes value;
	struct link *link = NULL;
	size_t size = 0;
	int ret = writer_walk_open(chain->writer, STORE_RECORDS, &walk);
	if (ret == DNSBLV6_OK)
		ret = writer_walk_seek_before(walk, start->bytes, start->size, &key, &value);
	writer_walk_close(walk);
	if (ret != DNSBLV6_OK) /* in front of the apex there is none */
		return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
	ret = bare_record(value, data, &size);
	if (ret == DNSBLV6_OK)
		ret = add_link(chain, key.data, key.size, data, size, &link);
	if (ret != DNSBLV6_OK)
		return ret;
	link->has_old = true;
	link->old = value;
	take_next(chain, &link->old_next);
	return DNSBLV6_OK;
}

int chain_begin(struct chain *chain, const struct dnsblv6_key *start)
{
	struct dnsblv6_key next;
	bool is_apart = chain->has_old && compare_keys(chain->old_key, start) < 0;
	take_next(chain, &next);
	/* Names that stay lie between the last region and this one. */
	int ret = is_apart ? end_waiting(chain, &next) : DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		ret = take_old(chain, writer_walk_seek(chain->old, start->bytes, start->size,
						       &chain->old_key, &chain->old_value));
	if (ret == DNSBLV6_OK && chain->options.signer != NULL && !chain->is_waiting)
		ret = put_name_before(chain, start);
	return ret;
}

int chain_close(struct chain *chain, const struct dnsblv6_key *end)
{
	if (end != NULL)
		return remove_before(chain, end);
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && chain->has_old)
		ret = remove_old(chain);
	return ret;
}

int chain_end(struct chain *chain, struct chain_result *ret_result)
{
	struct dnsblv6_key next;
	take_next(chain, &next);
	int ret = end_waiting(chain, &next);
	if (ret == DNSBLV6_OK)
		ret = flush(chain);
	if (ret == DNSBLV6_OK)
		*ret_result = chain->result;
	return ret;
}
