/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/compare.h"

#include "zone-tools/records/bare.h"
#include "zone-tools/reading/contents.h"
#include "zone-tools/reading/difference.h"

#include "lib/format/wellknown.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of one list, by family. Their sets are hashes of values: see hash_set(). */
struct side {
	struct pieces ipv4;
	struct pieces ipv6;
};

struct compare {
	const struct compare_job *job;
	struct dnsblv6_facts facts;
	struct difference difference;
	uint64_t name_count; /* lines about domain names; the others are about addresses */
	struct side lists;
	struct side store;
	uint8_t *data; /* of one set */
};

enum { SET_DATA_MAX = DNSBLV6_SET_VALUES_MAX * (9 + 255) };

/* ---- values ---- */

/*
 * A number for the same values on both sides, whose numbers of sets have nothing to do with each
 * other. Two of four thousand million may have the same.
 */
static uint32_t hash_set(const uint8_t *data, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 0x100000001b3u;
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
	uint32_t number = (uint32_t)(hash >> 32);
	return number == DNSBLV6_SET_NONE ? 1 : number;
}

static int hash_of_plan(const struct compare *compare, uint32_t set, uint32_t *ret_hash)
{
	size_t count;
	size_t size;
	struct dnsblv6_value values[DNSBLV6_SET_VALUES_MAX];
	const uint32_t *members = set_pool_members(&compare->job->plan->sets, set, &count);
	if (count > DNSBLV6_SET_VALUES_MAX)
		count = DNSBLV6_SET_VALUES_MAX; /* which no store has */
	for (size_t i = 0; i < count; i++)
		values[i] = compare->job->listing->pool.values[members[i]];
	int ret = dnsblv6_set_encode(values, count, compare->data, SET_DATA_MAX, &size);
	if (ret == DNSBLV6_OK)
		*ret_hash = hash_set(compare->data, size);
	return ret;
}

static int hash_of_store(const struct compare *compare, uint32_t set, uint32_t *ret_hash)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	struct store_bytes value;
	dnsblv6_set_make_key(set, key);
	int ret = reader_get(compare->job->reader, STORE_SETS, key, sizeof(key), &value);
	if (ret == DNSBLV6_OK)
		*ret_hash = hash_set(value.data, value.size);
	return ret;
}

/* ---- sides ---- */

static void side_deinit(struct side *side)
{
	pieces_deinit(&side->ipv4);
	pieces_deinit(&side->ipv6);
}

static int side_append(struct side *side, struct dnsblv6_addr first, struct dnsblv6_addr last,
		       uint32_t hash)
{
	struct pieces *pieces = dnsblv6_addr_is_ipv4(first) ? &side->ipv4 : &side->ipv6;
	return pieces_append(pieces, first, last, hash);
}

/* Every store has them, with values that no list gave. */
static int remove_testpoints(struct side *side)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < DNSBLV6_TESTPOINT_COUNT; i++) {
		struct dnsblv6_prefix unit = dnsblv6_unit_of(dnsblv6_testpoint_get(i)->addr);
		struct pieces *pieces = dnsblv6_prefix_is_ipv4(unit) ? &side->ipv4 : &side->ipv6;
		ret = pieces_remove(pieces, unit.first, dnsblv6_prefix_last(unit));
	}
	return ret;
}

static int add_pieces(struct compare *compare, const struct pieces *pieces)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < pieces->count; i++) {
		const struct dnsblv6_segment *piece = &pieces->items[i];
		uint32_t hash = 0;
		ret = hash_of_plan(compare, piece->set, &hash);
		if (ret == DNSBLV6_OK)
			ret = side_append(&compare->lists, piece->first, piece->last, hash);
	}
	return ret;
}

/* As contents_fn. */
static int add_stored(void *context, const struct contents_origin *origin,
		      struct dnsblv6_addr first, struct dnsblv6_addr last, uint32_t set)
{
	struct compare *compare = context;
	uint32_t hash = 0;
	(void)origin;
	int ret = hash_of_store(compare, set, &hash);
	return ret == DNSBLV6_OK ? side_append(&compare->store, first, last, hash) : ret;
}

/* Of clients there are segments alone. */
static int add_stored_clients(struct compare *compare)
{
	uint8_t start[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes key;
	struct store_bytes value;
	/* The least key: IPv4 stands before IPv6. */
	size_t size =
		dnsblv6_segment_make_key(DNSBLV6_ORIGIN_ACL, dnsblv6_addr_from_ipv4(0), start);
	int ret = reader_seek(compare->job->reader, STORE_SEGMENTS, start, size, &key, &value);
	while (ret == DNSBLV6_OK) {
		struct dnsblv6_segment segment;
		uint16_t origin;
		ret = dnsblv6_segment_decode(key.data, key.size, value.data, value.size, &origin,
					     &segment);
		if (ret != DNSBLV6_OK || origin != DNSBLV6_ORIGIN_ACL)
			return ret;
		ret = add_stored(compare, NULL, segment.first, segment.last, segment.set);
		if (ret == DNSBLV6_OK)
			ret = reader_next(compare->job->reader, STORE_SEGMENTS, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* ---- differences ---- */

static int print_family(struct compare *compare, const struct pieces *lists,
			const struct pieces *store, const struct dnsblv6_labels *origin)
{
	static const char signs[] = {
		[PIECES_LEFT] = '+', [PIECES_RIGHT] = '-', [PIECES_BOTH] = '~'
	};
	struct pieces result = { 0 };
	int ret = pieces_compare(lists, store, &result);
	for (size_t i = 0; ret == DNSBLV6_OK && i < result.count; i++)
		difference_print(&compare->difference, signs[result.items[i].set],
				 result.items[i].first, result.items[i].last, origin);
	pieces_deinit(&result);
	return ret;
}

static int print_sides(struct compare *compare, const struct dnsblv6_labels *origin)
{
	int ret = remove_testpoints(&compare->lists);
	if (ret == DNSBLV6_OK)
		ret = remove_testpoints(&compare->store);
	if (ret == DNSBLV6_OK)
		ret = print_family(compare, &compare->lists.ipv4, &compare->store.ipv4, origin);
	if (ret == DNSBLV6_OK)
		ret = print_family(compare, &compare->lists.ipv6, &compare->store.ipv6, origin);
	side_deinit(&compare->lists);
	side_deinit(&compare->store);
	return ret;
}

static const struct pieces *find_planned(const struct compare *compare,
					 const struct dnsblv6_labels *name)
{
	const struct listing *listing = compare->job->listing;
	for (size_t i = 0; i < listing->origin_count; i++) {
		if (listing->origins[i].size == name->size &&
		    memcmp(listing->origins[i].wire, name->wire, name->size) == 0)
			return &compare->job->plan->origins[i].pieces;
	}
	return NULL;
}

/* Those that the store has, whether the lists have them or not. */
static int compare_stored_origins(struct compare *compare)
{
	struct contents_origin origin;
	int ret = DNSBLV6_OK;
	for (uint16_t i = 0; ret == DNSBLV6_OK; i++) {
		ret = contents_read_origin(compare->job->reader, i, &origin);
		if (ret != DNSBLV6_OK)
			break;
		const struct pieces *pieces = find_planned(compare, &origin.origin.name);
		ret = contents_walk(compare->job->reader, &compare->facts, &origin, add_stored,
				    compare);
		if (ret == DNSBLV6_OK && pieces != NULL)
			ret = add_pieces(compare, pieces);
		if (ret == DNSBLV6_OK)
			ret = print_sides(compare, &origin.origin.name);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static bool is_stored(const struct compare *compare, const struct dnsblv6_labels *name)
{
	struct contents_origin origin;
	for (uint16_t i = 0; contents_read_origin(compare->job->reader, i, &origin) == DNSBLV6_OK;
	     i++) {
		if (origin.origin.name.size == name->size &&
		    memcmp(origin.origin.name.wire, name->wire, name->size) == 0)
			return true;
	}
	return false;
}

static int compare_new_origins(struct compare *compare)
{
	const struct compare_job *job = compare->job;
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < job->listing->origin_count; i++) {
		if (is_stored(compare, &job->listing->origins[i]))
			continue;
		ret = add_pieces(compare, &job->plan->origins[i].pieces);
		if (ret == DNSBLV6_OK)
			ret = print_sides(compare, &job->listing->origins[i]);
	}
	return ret;
}

static int compare_clients(struct compare *compare)
{
	struct dnsblv6_labels acl;
	int ret = dnsblv6_name_from_text("acl", &acl);
	if (ret == DNSBLV6_OK)
		ret = add_stored_clients(compare);
	if (ret == DNSBLV6_OK)
		ret = add_pieces(compare, &compare->job->plan->clients);
	return ret == DNSBLV6_OK ? print_sides(compare, &acl) : ret;
}

/* ---- names ---- */

static void print_name(struct compare *compare, char sign, const struct dnsblv6_key *key)
{
	struct dnsblv6_labels name;
	char text[DNSBLV6_NAME_TEXT_SIZE];
	compare->name_count++;
	if (dnsblv6_key_to_labels(key->bytes, key->size, &name) != DNSBLV6_OK ||
	    compare->difference.count++ >= compare->difference.limit)
		return;
	dnsblv6_name_format(name.wire, name.size, text);
	fprintf(compare->difference.stream, "  %c %s\n", sign, text);
}

static int compare_name(struct compare *compare, size_t item)
{
	uint8_t wanted[BARE_RECORD_MAX];
	uint8_t found[BARE_RECORD_MAX];
	struct names_rrs rrs;
	struct store_bytes value;
	size_t wanted_size;
	size_t found_size;
	struct dnsblv6_key key = names_key(&compare->job->plan->names, item);
	if (key.size == 0)
		return DNSBLV6_OK; /* the apex has RRs of its own among them */
	names_get(&compare->job->plan->names, item, compare->facts.ttl, &rrs);
	int ret =
		dnsblv6_record_encode_rrs(rrs.rrs, rrs.count, wanted, sizeof(wanted), &wanted_size);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = reader_get(compare->job->reader, STORE_RECORDS, key.bytes, key.size, &value);
	if (ret == DNSBLV6_ENOTFOUND) {
		print_name(compare, '+', &key);
		return DNSBLV6_OK;
	}
	if (ret == DNSBLV6_OK)
		ret = bare_record(value, found, &found_size);
	if (ret == DNSBLV6_OK &&
	    (found_size != wanted_size || memcmp(found, wanted, wanted_size) != 0))
		print_name(compare, '~', &key);
	return ret;
}

static int compare_names(struct compare *compare)
{
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < compare->job->plan->names.count; i++)
		ret = compare_name(compare, i);
	return ret;
}

/* ---- the whole ---- */

static void tell(struct compare *compare)
{
	const struct compare_job *job = compare->job;
	struct findings_place place = { job->store, 0 };
	uint64_t names = job->plan->counts.names;
	char what[160];
	difference_end(&compare->difference);
	if (compare->difference.count == 0 && compare->facts.name_count == names)
		return;
	snprintf(what, sizeof(what),
		 "lists differ from the store, prefixes=%" PRIu64 " names=%" PRIu64
		 " names-listed=%" PRIu64 " names-stored=%" PRIu64,
		 compare->difference.count - compare->name_count, compare->name_count, names,
		 compare->facts.name_count);
	findings_add(job->findings, FINDING_REFUSAL, place, what, NULL, 0,
		     "+ in the lists, - in the store, ~ with other values");
}

int compare_store(const struct compare_job *job)
{
	struct compare compare = { .job = job,
				   .difference = { .stream = job->findings->stream,
						   .limit = job->lines_max } };
	compare.data = malloc(SET_DATA_MAX);
	if (compare.data == NULL)
		return -ENOMEM;
	int ret = contents_read_facts(job->reader, &compare.facts);
	if (ret == DNSBLV6_OK)
		ret = compare_stored_origins(&compare);
	if (ret == DNSBLV6_OK)
		ret = compare_new_origins(&compare);
	if (ret == DNSBLV6_OK)
		ret = compare_clients(&compare);
	if (ret == DNSBLV6_OK)
		ret = compare_names(&compare);
	if (ret == DNSBLV6_OK)
		tell(&compare);
	side_deinit(&compare.lists);
	side_deinit(&compare.store);
	free(compare.data);
	return ret;
}
