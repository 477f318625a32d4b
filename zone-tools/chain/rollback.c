/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/rollback.h"

#include "zone-tools/chain/chain.h"
#include "zone-tools/records/bare.h"
#include "zone-tools/records/before.h"
#include "zone-tools/records/clock.h"
#include "zone-tools/records/store_settings.h"

#include "lib/common/utc.h"
#include "lib/lmdb/writer.h"

#include <stdio.h>
#include <string.h>

struct rollback {
	const struct rollback_job *job;
	struct writer *writer;
	struct before before;
	struct dnsblv6_facts facts; /* of the new version */
	uint32_t lifetime_s;
	struct signer *signer;
	struct recorder *recorder;
	struct chain *chain;
	struct chain_result chained;
};

/* ---- what there is ---- */

static bool is_fact(const struct version_entry *entry, const char *fact)
{
	return entry->table == STORE_FACTS && entry->key_size == strlen(fact) &&
	       memcmp(entry->key, fact, entry->key_size) == 0;
}

/* What the version said of itself; every change has written it. */
static int find_facts(struct rollback *rollback)
{
	const struct version *version = rollback->job->version;
	size_t i = version_first(version, STORE_FACTS);
	while (i < version->count && !is_fact(&version->items[i], DNSBLV6_FACT_ZONE))
		i++;
	if (i == version->count || !version->items[i].is_there ||
	    dnsblv6_facts_decode(version->items[i].value, version->items[i].value_size,
				 &rollback->facts) != DNSBLV6_OK ||
	    rollback->facts.serial != version->serial)
		return STORE_ECORRUPT;
	rollback->facts.built_s = rollback->job->now_s;
	return DNSBLV6_OK;
}

/* Servers do not serve such a version: all of the zone would be out of service. */
static int check_expiry(const struct rollback *rollback)
{
	const struct rollback_job *job = rollback->job;
	const struct findings_place place = { job->path, 0 };
	char expired[UTC_TEXT_SIZE];
	char what[80];
	if (rollback->facts.expires_s == 0 || rollback->facts.expires_s > job->now_s)
		return DNSBLV6_OK;
	utc_format(rollback->facts.expires_s, expired);
	snprintf(what, sizeof(what), "version has expired, expired=%s", expired);
	findings_add(job->findings, FINDING_REFUSAL, place, what, NULL, 0,
		     "$TIMESTAMP of its list");
	return CHAIN_EREFUSED;
}

static int load_before(struct rollback *rollback)
{
	const struct rollback_job *job = rollback->job;
	struct before *before = &rollback->before;
	int ret = before_load(rollback->writer, job->keyset, job->now_s, before);
	if (ret == DNSBLV6_OK &&
	    (!before->is_there || before->facts.serial != job->version->newest))
		ret = CHAIN_EMOVED;
	if (ret == DNSBLV6_OK && job->version->count == 0)
		ret = CHAIN_EUNCHANGED;
	if (ret == DNSBLV6_OK && !before->is_signed && job->keyset->key_count > 0)
		ret = KEYSET_EUNSIGNED;
	if (ret == DNSBLV6_OK)
		ret = keyset_choose(job->keyset, true);
	if (ret == DNSBLV6_OK)
		ret = store_settings_recall_lifetime(rollback->writer, job->lifetime_s,
						     &rollback->lifetime_s);
	if (ret == DNSBLV6_OK && job->keyset->key_count > 0 && !job->trusts_clock &&
	    !clock_check(job->path, before, job->now_s, rollback->lifetime_s, job->findings))
		ret = CHAIN_EREFUSED;
	if (ret == DNSBLV6_OK)
		ret = find_facts(rollback);
	if (ret == DNSBLV6_OK)
		ret = check_expiry(rollback);
	return ret == DNSBLV6_OK
		       ? before_choose_serial(before, 0, false, job->now_s, &rollback->facts.serial)
		       : ret;
}

/* ---- records ---- */

static int put_record(struct rollback *rollback, const struct version_entry *entry,
		      const struct dnsblv6_key *key)
{
	uint8_t data[BARE_RECORD_MAX];
	size_t size;
	struct store_bytes value = { entry->value, entry->value_size };
	bool is_apex = dnsblv6_key_label_count(key->bytes, key->size) == 0;
	int ret = is_apex ? bare_apex(value, rollback->facts.serial, rollback->job->keyset,
				      rollback->facts.ttl, data, &size)
			  : bare_record(value, data, &size);
	return ret == DNSBLV6_OK ? chain_put(rollback->chain, key, data, size) : ret;
}

/* The name alone: nothing has a key between it and its end. */
static int put_name(struct rollback *rollback, const struct version_entry *entry)
{
	struct dnsblv6_key key = { .size = (uint16_t)entry->key_size };
	if (entry->key_size >= sizeof(key.bytes))
		return STORE_ECORRUPT;
	memcpy(key.bytes, entry->key, key.size);
	struct dnsblv6_key end = key;
	end.bytes[end.size++] = 0;
	int ret = chain_begin(rollback->chain, &key);
	if (ret == DNSBLV6_OK && entry->is_there)
		ret = put_record(rollback, entry, &key);
	return ret == DNSBLV6_OK ? chain_close(rollback->chain, &end) : ret;
}

static int put_records(struct rollback *rollback)
{
	const struct version *version = rollback->job->version;
	/* Other TTLs would be other RRs at all names, which no journal keeps. */
	struct chain_options options =
		chain_continue(&rollback->before, rollback->signer, rollback->recorder);
	int ret = chain_new(rollback->writer, &options, &rollback->chain);
	for (size_t i = version_first(version, STORE_RECORDS);
	     ret == DNSBLV6_OK && i < version->count && version->items[i].table == STORE_RECORDS;
	     i++)
		ret = put_name(rollback, &version->items[i]);
	return ret == DNSBLV6_OK ? chain_end(rollback->chain, &rollback->chained) : ret;
}

/* ---- other tables ---- */

static int put_entry(struct rollback *rollback, const struct version_entry *entry)
{
	int ret = recorder_note(rollback->recorder, entry->table, entry->key, entry->key_size);
	if (ret == DNSBLV6_OK && entry->is_there)
		return writer_put(rollback->writer, entry->table, entry->key, entry->key_size,
				  entry->value, entry->value_size);
	if (ret == DNSBLV6_OK)
		ret = writer_delete(rollback->writer, entry->table, entry->key, entry->key_size);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret; /* it has gone since by itself */
}

static int put_tables(struct rollback *rollback)
{
	const struct version *version = rollback->job->version;
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < version->count; i++) {
		if (version->items[i].table != STORE_RECORDS)
			ret = put_entry(rollback, &version->items[i]);
	}
	return ret;
}

static int put_facts(struct rollback *rollback)
{
	return chain_put_version(rollback->chain, &rollback->facts, rollback->job->keyset,
				 rollback->job->lifetime_s);
}

/* ---- the transaction ---- */

static int open_signer(struct rollback *rollback)
{
	return keyset_new_signer(rollback->job->keyset, &rollback->before.facts.zone,
				 rollback->job->now_s, rollback->lifetime_s, &rollback->signer);
}

static int open_recorder(struct rollback *rollback)
{
	return recorder_new(rollback->writer, &rollback->before, DNSBLV6_CHANGE_ROLLBACK, true,
			    &rollback->recorder);
}

/* What one run has made, but for the signer, whose count is wanted. */
static void close_run(struct rollback *rollback)
{
	chain_free(rollback->chain);
	recorder_free(rollback->recorder);
	rollback->chain = NULL;
	rollback->recorder = NULL;
}

static int write_all(struct writer *writer, void *context)
{
	struct rollback *rollback = context;
	int (*const steps[])(struct rollback *) = {
		load_before, open_signer, open_recorder, put_records, put_tables, put_facts,
	};
	int ret = DNSBLV6_OK;
	rollback->writer = writer;
	for (size_t i = 0; ret == DNSBLV6_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](rollback);
	close_run(rollback);
	return ret == DNSBLV6_OK && rollback->job->is_dry_run ? CHAIN_EDRYRUN : ret;
}

int rollback_run(const struct rollback_job *job, struct rollback_result *ret_result)
{
	struct rollback rollback = { .job = job };
	int ret = writer_run(job->path, &zone_store, write_all, &rollback);
	if (ret == CHAIN_EDRYRUN)
		ret = DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		*ret_result = (struct rollback_result){
			.zone = rollback.facts.zone,
			.ipv4_count = rollback.facts.ipv4_count,
			.ipv6_count = rollback.facts.ipv6_count,
			.changed_count = chain_touched(&rollback.chained),
			.signature_count = signer_count(rollback.signer),
			.serial = rollback.facts.serial,
		};
	signer_free(rollback.signer);
	return ret;
}
