/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/records/unchanged.h"

#include "zone-tools/records/bare.h"

#include "lib/format/record.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <string.h>

enum { DIFFERENT = -ECANCELED, SOA_NUMBERS_SIZE = 20, SERIAL_SIZE = 4 };

/* ---- the apex ---- */

/* DIFFERENT when a signature that only a new version renews is due. */
static int look_at_signature(const struct signer *signer, const struct dnsblv6_rr *rr)
{
	static const struct dnsblv6_labels apex = { 0 };
	struct dnsblv6_signature signature;
	if (signer == NULL || rr->type != DNSBLV6_TYPE_RRSIG)
		return DNSBLV6_OK;
	if (dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, DNSBLV6_TYPE_SOA, &signature) !=
		    DNSBLV6_OK &&
	    dnsblv6_rrsig_decode(rr->rdata, rr->rdata_size, DNSBLV6_TYPE_ZONEMD, &signature) !=
		    DNSBLV6_OK)
		return DNSBLV6_OK;
	const struct key *keys[SIGNER_SIGNATURES_MAX];
	size_t key_count = signer_zone_keys(signer, keys);
	for (size_t i = 0; i < key_count; i++) {
		if (signer_is_fresh(signer, keys[i], &apex, &signature))
			return DNSBLV6_OK;
	}
	return DIFFERENT;
}

/* The RRs that are compared. signer is NULL for the new version. */
static int unpack(struct store_bytes value, const struct signer *signer, struct bare_rrs *ret_rrs)
{
	size_t count = 0;
	int ret = bare_unpack(value, ret_rrs);
	for (size_t i = 0; ret == DNSBLV6_OK && i < ret_rrs->count; i++) {
		ret = look_at_signature(signer, &ret_rrs->items[i]);
		if (ret_rrs->items[i].type != DNSBLV6_TYPE_RRSIG)
			ret_rrs->items[count++] = ret_rrs->items[i];
	}
	ret_rrs->count = count;
	return ret;
}

static bool is_same_rr(const struct dnsblv6_rr *a, const struct dnsblv6_rr *b)
{
	if (a->type != b->type || a->ttl != b->ttl || a->rdata_size != b->rdata_size)
		return false;
	if (a->type == DNSBLV6_TYPE_ZONEMD)
		return true; /* a digest of each version */
	if (a->type != DNSBLV6_TYPE_SOA || a->rdata_size < SOA_NUMBERS_SIZE)
		return memcmp(a->rdata, b->rdata, a->rdata_size) == 0;
	size_t serial_at = a->rdata_size - (size_t)SOA_NUMBERS_SIZE;
	size_t rest_at = serial_at + SERIAL_SIZE;
	return memcmp(a->rdata, b->rdata, serial_at) == 0 &&
	       memcmp(a->rdata + rest_at, b->rdata + rest_at, a->rdata_size - rest_at) == 0;
}

static bool has_rr(const struct bare_rrs *rrs, const struct dnsblv6_rr *rr)
{
	for (size_t i = 0; i < rrs->count; i++) {
		if (is_same_rr(&rrs->items[i], rr))
			return true;
	}
	return false;
}

/* sign and update may have left them in another order. */
static int compare_rrs(const struct bare_rrs *old, const struct bare_rrs *new)
{
	if (old->count != new->count)
		return DIFFERENT;
	for (size_t i = 0; i < new->count; i++) {
		if (!has_rr(old, &new->items[i]))
			return DIFFERENT;
	}
	return DNSBLV6_OK;
}

static int get_old(struct writer *writer, const struct dnsblv6_key *key,
		   struct store_bytes *ret_value)
{
	struct writer_walk *walk = NULL;
	struct store_bytes found;
	int ret = writer_walk_open(writer, STORE_RECORDS, &walk);
	if (ret == STORE_OK)
		ret = writer_walk_seek(walk, key->bytes, key->size, &found, ret_value);
	writer_walk_close(walk);
	return ret;
}

static int compare_apex(struct writer *writer, const struct signer *signer)
{
	struct dnsblv6_key key = dnsblv6_key_of_apex();
	struct store_bytes old_value;
	struct store_bytes new_value;
	struct bare_rrs old;
	struct bare_rrs new;
	int ret = get_old(writer, &key, &old_value);
	if (ret == DNSBLV6_OK)
		ret = writer_get(writer, STORE_RECORDS, key.bytes, key.size, &new_value);
	if (ret == DNSBLV6_OK)
		ret = unpack(old_value, signer, &old);
	if (ret == DNSBLV6_OK)
		ret = unpack(new_value, NULL, &new);
	return ret == DNSBLV6_OK ? compare_rrs(&old, &new) : ret;
}

/* ---- tables ---- */

/* A walk over the version before, beside a scan of the new one. */
struct twin {
	enum store_table table;
	struct writer_walk *walk;
	bool has_begun;
};

static bool is_fact(struct store_bytes key, const char *name)
{
	size_t size = strlen(name);
	return key.size == size && memcmp(key.data, name, size) == 0;
}

/* Of the facts those that a list and options make. */
static bool is_compared(enum store_table table, struct store_bytes key)
{
	uint16_t origin;
	if (table != STORE_FACTS)
		return true;
	return dnsblv6_origin_parse_key(key.data, key.size, &origin) == DNSBLV6_OK ||
	       is_fact(key, DNSBLV6_FACT_SETTINGS) || is_fact(key, DNSBLV6_FACT_KEYS);
}

static int step(struct twin *twin, struct store_bytes *ret_key, struct store_bytes *ret_value)
{
	int ret;
	do {
		ret = twin->has_begun ? writer_walk_next(twin->walk, ret_key, ret_value)
				      : writer_walk_seek(twin->walk, NULL, 0, ret_key, ret_value);
		twin->has_begun = true;
	} while (ret == DNSBLV6_OK && !is_compared(twin->table, *ret_key));
	return ret;
}

static bool is_same(struct store_bytes a, struct store_bytes b)
{
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static int compare_entry(void *context, struct store_bytes key, struct store_bytes value)
{
	struct twin *twin = context;
	struct store_bytes old_key;
	struct store_bytes old_value;
	if (!is_compared(twin->table, key))
		return DNSBLV6_OK;
	int ret = step(twin, &old_key, &old_value);
	if (ret != DNSBLV6_OK)
		return ret == DNSBLV6_ENOTFOUND ? DIFFERENT : ret;
	return is_same(old_key, key) && is_same(old_value, value) ? DNSBLV6_OK : DIFFERENT;
}

static int compare_table(struct writer *writer, enum store_table table)
{
	struct twin twin = { .table = table };
	struct store_bytes key;
	struct store_bytes value;
	int ret = writer_walk_open(writer, table, &twin.walk);
	if (ret == DNSBLV6_OK)
		ret = writer_scan(writer, table, compare_entry, &twin);
	if (ret == DNSBLV6_OK)
		ret = step(&twin, &key, &value);
	writer_walk_close(twin.walk);
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK; /* both have ended */
	return ret == DNSBLV6_OK ? DIFFERENT : ret;
}

int unchanged_compare(struct writer *writer, const struct signer *signer, bool *ret_is_same)
{
	int ret = compare_apex(writer, signer);
	if (ret == DNSBLV6_OK)
		ret = compare_table(writer, STORE_SEGMENTS);
	if (ret == DNSBLV6_OK)
		ret = compare_table(writer, STORE_SETS);
	if (ret == DNSBLV6_OK)
		ret = compare_table(writer, STORE_FACTS);
	if (ret != DNSBLV6_OK && ret != DIFFERENT)
		return ret;
	*ret_is_same = ret == DNSBLV6_OK;
	return DNSBLV6_OK;
}
