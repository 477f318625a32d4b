/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/resign.h"

#include "lib/process/progress.h"
#include "lib/store/tables.h"
#include "zone-tools/records/bare.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/records/clock.h"
#include "zone-tools/records/recorder.h"
#include "zone-tools/records/store_settings.h"

#include <string.h>

struct resign {
	const struct resign_job *job;
	struct signer *signer;
	struct recorder *recorder;
	struct before before;
	uint32_t lifetime_s;
	struct resign_result result;
};

static int put_name(const struct resign *resign, struct chain *chain, struct store_bytes key,
		    struct store_bytes value)
{
	uint8_t data[BARE_RECORD_MAX];
	struct dnsblv6_key name;
	size_t size;
	if (key.size > sizeof(name.bytes))
		return DNSBLV6_EKEY;
	name.size = (uint16_t)key.size;
	memcpy(name.bytes, key.data, key.size);
	bool is_apex = dnsblv6_key_label_count(key.data, key.size) == 0;
	int ret = is_apex ? bare_apex(value, resign->result.serial, resign->job->keyset,
				      resign->before.facts.ttl, data, &size)
			  : bare_record(value, data, &size);
	return ret == DNSBLV6_OK ? chain_put(chain, &name, data, size) : ret;
}

/* ---- the transaction ---- */

/* Names have all their RRs in common with before but for some signatures, if it was signed. */
static int begin_recording(struct resign *resign, struct writer *writer)
{
	const struct before *before = &resign->before;
	bool keeps_names = keyset_is_signed(resign->job->keyset) &&
			   before_keeps_algorithms(before, resign->job->keyset);
	recorder_free(resign->recorder); /* of a run that did not fit */
	resign->recorder = NULL;
	return recorder_new(writer, before, DNSBLV6_CHANGE_SIGN, keeps_names, &resign->recorder);
}

static int put_names(struct resign *resign, struct writer_walk *walk, struct chain *chain)
{
	struct dnsblv6_key apex = dnsblv6_key_of_apex();
	struct store_bytes key;
	struct store_bytes value;
	int ret = writer_walk_seek(walk, NULL, 0, &key, &value);
	if (ret == DNSBLV6_OK)
		ret = chain_begin(chain, &apex);
	while (ret == DNSBLV6_OK) {
		ret = put_name(resign, chain, key, value);
		if (++resign->result.record_count % 4096 == 0)
			progress_step(resign->job->progress, "names looked at",
				      resign->result.record_count, resign->result.record_count,
				      resign->before.facts.record_count);
		if (ret == DNSBLV6_OK)
			ret = writer_walk_next(walk, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? chain_close(chain, NULL) : ret;
}

static int put_facts(const struct resign *resign, struct writer *writer, struct chain *chain)
{
	struct dnsblv6_facts facts = resign->before.facts;
	const struct keyset *keyset = resign->job->keyset;
	struct dnsblv6_signing signing = keyset_signing(keyset, resign->result.expires_s);
	facts.serial = resign->result.serial;
	facts.built_s = resign->job->now_s;
	int ret = chain_put_signing(writer, &signing);
	return ret == DNSBLV6_OK ? chain_put_version(chain, &facts, keyset, resign->job->lifetime_s)
				 : ret;
}

static int put_version(struct resign *resign, struct writer *writer)
{
	struct chain_options options =
		chain_continue(&resign->before, resign->signer, resign->recorder);
	struct writer_walk *walk = NULL;
	struct chain *chain = NULL;
	struct chain_result chained;
	options.link.is_key_new = !keyset_has_active(resign->job->keyset);
	int ret = writer_walk_open(writer, STORE_RECORDS, &walk);
	if (ret == DNSBLV6_OK)
		ret = chain_new(writer, &options, &chain);
	if (ret == DNSBLV6_OK)
		ret = put_names(resign, walk, chain);
	if (ret == DNSBLV6_OK)
		ret = chain_end(chain, &chained);
	if (ret == DNSBLV6_OK) {
		resign->result.expires_s = chained.expires_s;
		ret = put_facts(resign, writer, chain);
	}
	chain_free(chain);
	writer_walk_close(walk);
	return ret;
}

static int check(const struct resign *resign)
{
	const struct resign_job *job = resign->job;
	const struct before *before = &resign->before;
	if (!before->is_there)
		return STORE_EUNFINISHED;
	if (!before->is_signed && !job->keyset->may_replace)
		return KEYSET_EUNSIGNED;
	int ret = keyset_choose(job->keyset, true);
	if (ret == DNSBLV6_OK && job->findings != NULL && !job->trusts_clock &&
	    !clock_check(job->path, before, job->now_s, resign->lifetime_s, job->findings))
		ret = CHAIN_EREFUSED;
	return ret;
}

static int make_signer(struct resign *resign)
{
	return keyset_new_signer(resign->job->keyset, &resign->before.facts.zone,
				 resign->job->now_s, resign->lifetime_s, &resign->signer);
}

static int write_all(struct writer *writer, void *context)
{
	struct resign *resign = context;
	memset(&resign->result, 0, sizeof(resign->result));
	int ret = before_load(writer, resign->job->keyset, resign->job->now_s, &resign->before);
	if (ret == DNSBLV6_OK)
		ret = store_settings_recall_lifetime(writer, resign->job->lifetime_s,
						     &resign->lifetime_s);
	if (ret == DNSBLV6_OK)
		ret = check(resign);
	if (ret == DNSBLV6_OK)
		ret = before_choose_serial(&resign->before, 0, false, resign->job->now_s,
					   &resign->result.serial);
	if (ret == DNSBLV6_OK)
		ret = make_signer(resign);
	if (ret == DNSBLV6_OK)
		ret = begin_recording(resign, writer);
	return ret == DNSBLV6_OK ? put_version(resign, writer) : ret;
}

int resign_store(const struct resign_job *job, struct resign_result *ret_result)
{
	struct resign resign = { .job = job };
	int ret = writer_run(job->path, &zone_store, write_all, &resign);
	if (ret == DNSBLV6_OK) {
		resign.result.zone = resign.before.facts.zone;
		resign.result.signature_count = signer_count(resign.signer);
		*ret_result = resign.result;
	}
	recorder_free(resign.recorder);
	signer_free(resign.signer);
	return ret;
}
