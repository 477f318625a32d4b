/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/chain.h"

#include "lib/store/tables.h"
#include "zone-tools/keys/key.h"
#include "zone-tools/keys/keyset.h"
#include "zone-tools/plan/classic.h"
#include "zone-tools/records/bare.h"
#include "zone-tools/reading/versions.h"
#include "zone-tools/records/before.h"
#include "zone-tools/records/store_settings.h"
#include "zone-tools/records/zonemd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_MAX = 4096 }; /* names that are signed in one go, while those before are written */

struct chain {
	struct writer *writer;
	struct chain_options options;
	struct chain_result result;
	struct link *links; /* that are collected: signed next */
	size_t link_count;
	struct link *signed_links; /* that are being signed */
	size_t signed_count;
	bool is_waiting;	 /* the last link does not know its next name yet */
	struct writer_walk *old; /* over the version before */
	bool has_old;		 /* there is an entry of it that was not met yet */
	struct store_bytes old_key;
	struct store_bytes old_value;
	uint8_t record[BARE_RECORD_MAX]; /* of the name that is being written */
};

const char *chain_strerror(int status)
{
	switch (status) {
	case BEFORE_EZONE:
		return "store holds another zone, and this one needs a store of its own";
	case BEFORE_ESTYLE:
		return "names in the store are of another style; --change-style changes it";
	case BEFORE_ESERIAL:
		return "serial is not newer than the store's";
	case CHAIN_EVALUES:
		return "more than 255 values for one address";
	case CLASSIC_EVALUES:
		return "more than 48 values for one address of a classic zone";
	case CHAIN_EREFUSED:
		return "refused";
	case CHAIN_ERECORDS:
		return "more records than --max-records permits";
	case CHAIN_EORIGIN:
		return "store has no such sub-zone";
	case CHAIN_EDRYRUN:
		return "dry run";
	case CHAIN_EMOVED:
		return "store was changed meanwhile; try again";
	case VERSION_EUNKNOWN:
	case VERSION_EGONE:
	case VERSION_EFIRST:
		return version_strerror(status);
	default:
		return keyset_strerror(status) != NULL ? keyset_strerror(status)
						       : key_strerror(status);
	}
}

/* ---- life ---- */

void chain_free(struct chain *chain)
{
	if (chain == NULL)
		return;
	for (size_t i = 0; chain->links != NULL && i < chain->link_count; i++)
		link_clear(&chain->links[i]);
	for (size_t i = 0; chain->signed_links != NULL && i < chain->signed_count; i++)
		link_clear(&chain->signed_links[i]);
	free(chain->links);
	free(chain->signed_links);
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

struct chain_options chain_continue(const struct before *before, struct signer *signer,
				    struct recorder *recorder)
{
	return (struct chain_options){ .link = { .zone = &before->facts.zone,
						 .signer = signer,
						 .ttl = before->facts.ttl,
						 .negative_ttl = before->negative_ttl,
						 .old_ttl = before->facts.ttl,
						 .old_negative_ttl = before->negative_ttl },
				       .recorder = recorder };
}

int chain_new(struct writer *writer, const struct chain_options *options, struct chain **ret_chain)
{
	struct chain *chain = calloc(1, sizeof(*chain));
	if (chain == NULL)
		return -ENOMEM;
	chain->writer = writer;
	chain->options = *options;
	chain->links = calloc(LINKS_MAX, sizeof(*chain->links));
	chain->signed_links = calloc(LINKS_MAX, sizeof(*chain->signed_links));
	int ret = chain->links != NULL && chain->signed_links != NULL ? DNSBLV6_OK : -ENOMEM;
	if (ret == DNSBLV6_OK)
		ret = writer_walk_open(writer, STORE_RECORDS, &chain->old);
	if (ret != DNSBLV6_OK) {
		chain_free(chain);
		return ret;
	}
	*ret_chain = chain;
	return DNSBLV6_OK;
}

int chain_put_signing(struct writer *writer, const struct dnsblv6_signing *signing)
{
	uint8_t data[DNSBLV6_SIGNING_MAX];
	size_t size = dnsblv6_signing_encode(signing, data);
	return writer_put(writer, STORE_FACTS, DNSBLV6_FACT_SIGNING, strlen(DNSBLV6_FACT_SIGNING),
			  data, size);
}

/* Names that were not put keep their signatures. */
static int lower_expiry(struct writer *writer, const struct chain_result *result)
{
	struct store_bytes value;
	struct dnsblv6_signing signing;
	int ret = writer_get(writer, STORE_FACTS, DNSBLV6_FACT_SIGNING,
			     strlen(DNSBLV6_FACT_SIGNING), &value);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_signing_decode(value.data, value.size, &signing);
	if (ret != DNSBLV6_OK)
		return STORE_ECORRUPT;
	if (signing.expires_s > result->expires_s)
		signing.expires_s = result->expires_s;
	return chain_put_signing(writer, &signing);
}

int chain_put_facts(struct writer *writer, const struct dnsblv6_facts *facts, struct signer *signer,
		    struct recorder *recorder)
{
	uint8_t data[DNSBLV6_FACTS_MAX];
	size_t size = dnsblv6_facts_encode(facts, data);
	int ret = zonemd_write(writer, facts, signer, recorder);
	return ret == DNSBLV6_OK ? writer_put(writer, STORE_FACTS, DNSBLV6_FACT_ZONE,
					      strlen(DNSBLV6_FACT_ZONE), data, size)
				 : ret;
}

uint64_t chain_touched(const struct chain_result *result)
{
	return result->added_count + result->changed_count + result->removed_count;
}

struct dnsblv6_change chain_change(const struct chain_result *result, uint64_t made_s)
{
	return (struct dnsblv6_change){ .made_s = made_s,
					.added_count = result->added_count,
					.changed_count = result->changed_count,
					.removed_count = result->removed_count };
}

/* ---- writing ---- */

static void copy_key(struct dnsblv6_key *key, const uint8_t *bytes, size_t size)
{
	key->size = (uint16_t)size;
	memcpy(key->bytes, bytes, size);
}

static struct dnsblv6_name_state make_state(const uint8_t *record, size_t record_size,
					    const struct dnsblv6_key *next)
{
	return (struct dnsblv6_name_state){ record, (uint16_t)record_size, next->bytes,
					    next->size };
}

static int write_link(struct chain *chain, const struct link *link)
{
	struct dnsblv6_name_change change = { .key = link->key.bytes, .key_size = link->key.size };
	size_t size;
	int ret = link_encode(&chain->options.link, link, chain->record, &size);
	if (ret == DNSBLV6_OK)
		ret = writer_put(chain->writer, STORE_RECORDS, link->key.bytes, link->key.size,
				 chain->record, size);
	if (ret != DNSBLV6_OK || chain->options.recorder == NULL)
		return ret;
	change.after = make_state(chain->record, size, &link->next);
	if (link->has_old)
		change.before = make_state(link->old.data, link->old.size, &link->old_next);
	return recorder_add(chain->options.recorder, &change);
}

/* Of links that have been signed. All of them end, whatever happens. */
static int write_links(struct chain *chain, struct link *links, size_t count)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; i < count; i++) {
		struct link *link = &links[i];
		if (ret == DNSBLV6_OK && link->is_changed) {
			ret = write_link(chain, link);
			if (link->has_old)
				chain->result.changed_count++;
			else
				chain->result.added_count++;
		}
		link_clear(link);
	}
	return ret;
}

/*
 * Has all links signed, each of which knows its next name, and writes those before them: while the
 * one is under way in other processes.
 */
static int flush(struct chain *chain)
{
	struct signer *signer = chain->options.link.signer;
	struct link *links = chain->signed_links;
	size_t count = chain->signed_count;
	int ret = signer != NULL ? signer_finish(signer) : DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < count; i++)
		link_take(&chain->options.link, &links[i], &chain->result.expires_s,
			  &chain->result.ttl_max);
	if (ret == DNSBLV6_OK && signer != NULL)
		ret = signer_start(signer);
	if (ret != DNSBLV6_OK)
		return ret;
	chain->signed_links = chain->links;
	chain->signed_count = chain->link_count;
	chain->links = links;
	chain->link_count = 0;
	return write_links(chain, links, count);
}

/* ---- names ---- */

static int compare_keys(struct store_bytes a, const struct dnsblv6_key *b)
{
	return dnsblv6_key_compare(a.data, a.size, b->bytes, b->size);
}

/* Of a signed zone: the name of the version before that comes now, or the apex behind the last. */
static void take_next(const struct chain *chain, struct dnsblv6_key *ret_next)
{
	ret_next->size = 0;
	if (chain->options.link.signer == NULL)
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
	return link_seal(&chain->options.link, &chain->links[chain->link_count - 1], next);
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
	return chain->options.link.signer != NULL
		       ? dnsblv6_key_to_labels(key, key_size, &link->owner)
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
	if (ret == DNSBLV6_OK && chain->options.link.signer != NULL && !chain->is_waiting)
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
	for (int i = 0; ret == DNSBLV6_OK && i < 2; i++)
		ret = flush(chain); /* the second writes what the first had signed */
	if (ret == DNSBLV6_OK)
		*ret_result = chain->result;
	return ret;
}

int chain_put_version(struct chain *chain, const struct dnsblv6_facts *facts,
		      const struct keyset *keyset, uint32_t lifetime_s)
{
	struct signer *signer = chain->options.link.signer;
	struct recorder *recorder = chain->options.recorder;
	struct dnsblv6_change change = chain_change(&chain->result, facts->built_s);
	int ret = chain_put_facts(chain->writer, facts, signer, recorder);
	if (ret == DNSBLV6_OK && signer != NULL)
		ret = lower_expiry(chain->writer, &chain->result);
	if (ret == DNSBLV6_OK && signer != NULL)
		ret = before_remember_keys(chain->writer, keyset, facts->ttl,
					   chain->result.ttl_max);
	if (ret == DNSBLV6_OK)
		ret = store_settings_remember_lifetime(chain->writer, lifetime_s);
	return ret == DNSBLV6_OK ? recorder_end(recorder, facts, &change) : ret;
}
