/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/resign.h"

#include "zone-tools/progress.h"

#include <string.h>

enum { RRS_MAX = 128, RECORD_MAX = 32768, SOA_NUMBERS_SIZE = 20 };

struct resign {
	const struct resign_job *job;
	struct signer *signer;
	struct before before;
	struct resign_result result;
};

/* ---- records without signatures ---- */

/* The SOA with the new serial, which is the first of its five numbers. */
static int renew_soa(const struct resign *resign, struct dnsblv6_rr *rr, uint8_t *ret_rdata,
		     size_t rdata_max)
{
	if (rr->rdata_size < SOA_NUMBERS_SIZE || rr->rdata_size > rdata_max)
		return DNSBLV6_ERECORD;
	memcpy(ret_rdata, rr->rdata, rr->rdata_size);
	uint8_t *serial = ret_rdata + rr->rdata_size - SOA_NUMBERS_SIZE;
	for (unsigned i = 0; i < 4; i++)
		serial[i] = (uint8_t)(resign->result.serial >> (24 - 8 * i));
	rr->rdata = ret_rdata;
	return DNSBLV6_OK;
}

static size_t add_dnskeys(const struct resign *resign, struct dnsblv6_rr *rrs, size_t count,
			  uint8_t (*dnskeys)[KEY_DNSKEY_MAX])
{
	for (size_t i = 0; i < resign->job->key_count; i++) {
		uint16_t size = (uint16_t)key_dnskey(resign->job->keys[i], dnskeys[i]);
		rrs[count++] = (struct dnsblv6_rr){ DNSBLV6_TYPE_DNSKEY, size,
						    resign->before.facts.ttl, dnskeys[i] };
	}
	return count;
}

/* RRs as the zone has them before it is signed; at the apex with serial and keys of now. */
static int strip_rrs(const struct resign *resign, struct store_bytes value, bool is_apex,
		     uint8_t *ret_data, size_t *ret_size)
{
	uint8_t soa[2 * (DNSBLV6_LABELS_MAX + 1) + SOA_NUMBERS_SIZE];
	uint8_t dnskeys[SIGNER_KEYS_MAX][KEY_DNSKEY_MAX];
	struct dnsblv6_rr rrs[RRS_MAX];
	struct dnsblv6_rr rr;
	size_t count = 0;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		if (rr.type == DNSBLV6_TYPE_RRSIG || rr.type == DNSBLV6_TYPE_DNSKEY)
			continue;
		if (count == RRS_MAX - SIGNER_KEYS_MAX)
			return DNSBLV6_ESPACE;
		if (rr.type == DNSBLV6_TYPE_SOA)
			ret = renew_soa(resign, &rr, soa, sizeof(soa));
		if (ret != DNSBLV6_OK)
			return ret;
		rrs[count++] = rr;
	}
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (is_apex)
		count = add_dnskeys(resign, rrs, count, dnskeys);
	return dnsblv6_record_encode_rrs(rrs, count, ret_data, RECORD_MAX, ret_size);
}

static int put_name(const struct resign *resign, struct chain *chain, struct store_bytes key,
		    struct store_bytes value)
{
	uint8_t data[RECORD_MAX];
	struct dnsblv6_key name;
	size_t size = DNSBLV6_BITMAP_RECORD_SIZE;
	if (key.size > sizeof(name.bytes))
		return DNSBLV6_EKEY;
	name.size = (uint16_t)key.size;
	memcpy(name.bytes, key.data, key.size);
	if (dnsblv6_record_kind(value.data, value.size) == DNSBLV6_RECORD_BITMAP)
		return chain_put(chain, &name, value.data, size);
	bool is_apex = dnsblv6_key_label_count(key.data, key.size) == 0;
	int ret = strip_rrs(resign, value, is_apex, data, &size);
	return ret == DNSBLV6_OK ? chain_put(chain, &name, data, size) : ret;
}

/* ---- the transaction ---- */

static int put_names(struct resign *resign, struct writer_walk *walk, struct chain *chain)
{
	struct store_bytes key;
	struct store_bytes value;
	int ret = writer_walk_seek(walk, NULL, 0, &key, &value);
	while (ret == DNSBLV6_OK) {
		ret = put_name(resign, chain, key, value);
		if (++resign->result.record_count % 4096 == 0)
			progress_step(resign->job->progress, "names looked at",
				      resign->result.record_count);
		if (ret == DNSBLV6_OK)
			ret = writer_walk_next(walk, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int put_records(struct resign *resign, struct writer *writer)
{
	const struct before *before = &resign->before;
	struct chain_options options = { .zone = &before->facts.zone,
					 .signer = resign->signer,
					 .ttl = before->facts.ttl,
					 .negative_ttl = before->negative_ttl,
					 .old_ttl = before->facts.ttl,
					 .old_negative_ttl = before->negative_ttl,
					 .is_key_new = !before->has_active_key };
	struct writer_walk *walk = NULL;
	struct chain *chain = NULL;
	struct chain_result chained = { 0 };
	int ret = writer_walk_open(writer, STORE_RECORDS, &walk);
	if (ret == DNSBLV6_OK)
		ret = chain_new(writer, &options, &chain);
	if (ret == DNSBLV6_OK)
		ret = put_names(resign, walk, chain);
	if (ret == DNSBLV6_OK)
		ret = chain_end(chain, &chained);
	chain_free(chain);
	writer_walk_close(walk);
	resign->result.expires_s = chained.expires_s;
	return ret;
}

static int put_facts(const struct resign *resign, struct writer *writer)
{
	uint8_t data[DNSBLV6_FACTS_MAX];
	struct dnsblv6_facts facts = resign->before.facts;
	struct dnsblv6_signing signing = { key_algorithm(resign->job->keys[0]),
					   resign->result.expires_s };
	facts.serial = resign->result.serial;
	facts.built_s = resign->job->now_s;
	size_t size = dnsblv6_facts_encode(&facts, data);
	int ret = writer_put(writer, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE),
			     data, size);
	dnsblv6_signing_encode(&signing, data);
	if (ret == DNSBLV6_OK)
		ret = writer_put(writer, STORE_FACTS, DNSBLV6_FACT_SIGNING,
				 strlen(DNSBLV6_FACT_SIGNING), data, DNSBLV6_SIGNING_SIZE);
	return ret;
}

static int check(const struct resign *resign)
{
	const struct before *before = &resign->before;
	if (!before->is_there)
		return STORE_EUNFINISHED;
	if (resign->job->may_change_keys)
		return DNSBLV6_OK;
	if (!before->is_signed)
		return BEFORE_EUNSIGNED;
	return before_check_keys(before, resign->job->key_count);
}

static int make_signer(struct resign *resign)
{
	const struct resign_job *job = resign->job;
	struct signer_options options = { .zone = &resign->before.facts.zone,
					  .keys = job->keys,
					  .key_count = job->key_count,
					  .now_s = job->now_s,
					  .lifetime_s = job->lifetime_s };
	signer_free(resign->signer); /* of a run that did not fit */
	resign->signer = NULL;
	return signer_new(&options, &resign->signer);
}

static int write_all(struct writer *writer, void *context)
{
	struct resign *resign = context;
	memset(&resign->result, 0, sizeof(resign->result));
	int ret = before_load(writer, resign->job->keys, resign->job->key_count, &resign->before);
	if (ret == DNSBLV6_OK)
		ret = check(resign);
	if (ret == DNSBLV6_OK)
		ret = before_choose_serial(&resign->before, 0, resign->job->now_s,
					   &resign->result.serial);
	if (ret == DNSBLV6_OK)
		ret = make_signer(resign);
	if (ret == DNSBLV6_OK)
		ret = put_records(resign, writer);
	return ret == DNSBLV6_OK ? put_facts(resign, writer) : ret;
}

int resign_store(const struct resign_job *job, struct resign_result *ret_result)
{
	struct resign resign = { .job = job };
	int ret = writer_run(job->path, write_all, &resign);
	if (ret == DNSBLV6_OK) {
		resign.result.zone = resign.before.facts.zone;
		resign.result.signature_count = signer_count(resign.signer);
		*ret_result = resign.result;
	}
	signer_free(resign.signer);
	return ret;
}
