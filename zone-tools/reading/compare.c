/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/compare.h"

#include "zone-tools/records/bare.h"
#include "zone-tools/reading/contents.h"
#include "zone-tools/reading/difference.h"

#include "lib/format/dnssec.h"
#include "lib/format/fnv.h"
#include "lib/format/wellknown.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of one list, by family. Their sets are hashes of values: see hash_set(). */
struct side {
	struct pieces ipv4;
	struct pieces ipv6;
};

struct compare {
	const struct compare_job *job;
	struct reader *reader; /* of the store */
	struct reader *later;  /* NULL: there are lists */
	struct dnsblv6_facts facts;
	struct difference difference;
	struct compare_result result;
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
	uint64_t hash = fnv_add(FNV_START, data, size);
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
	uint32_t number = (uint32_t)(hash >> 32);
	return number == DNSBLV6_SET_NONE ? 1 : number;
}

static int hash_of_plan(const struct compare *compare, uint32_t set, uint32_t *ret_hash)
{
	size_t count;
	size_t size;
	struct dnsblv6_value values[DNSBLV6_SET_VALUES_MAX];
	const uint32_t *members = set_pool_members(compare->job->plan->sets, set, &count);
	if (count > DNSBLV6_SET_VALUES_MAX)
		count = DNSBLV6_SET_VALUES_MAX; /* which no store has */
	for (size_t i = 0; i < count; i++)
		values[i] = compare->job->listing->pool.values[members[i]];
	int ret = dnsblv6_set_encode(values, count, compare->data, SET_DATA_MAX, &size);
	if (ret == DNSBLV6_OK)
		*ret_hash = hash_set(compare->data, size);
	return ret;
}

static int hash_of_store(struct reader *reader, uint32_t set, uint32_t *ret_hash)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	struct store_bytes value;
	dnsblv6_set_make_key(set, key);
	int ret = reader_get(reader, STORE_SETS, key, sizeof(key), &value);
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

static int add_plan_parts(struct compare *compare, uint16_t origin)
{
	int ret = DNSBLV6_OK;
	for (unsigned i = 0; ret == DNSBLV6_OK && i < DATASET_PARTS; i++) {
		struct plan_part part = { 0 };
		ret = plan_load(compare->job->plan, origin, i, &part);
		if (ret == DNSBLV6_OK)
			ret = add_pieces(compare, &part.pieces);
		plan_part_deinit(&part);
	}
	return ret;
}

/* What one of the stores has, and where it goes. */
struct stored {
	struct reader *reader;
	struct side *side;
};

/* As contents_fn. */
static int add_stored(void *context, const struct contents_origin *origin,
		      struct dnsblv6_addr first, struct dnsblv6_addr last, uint32_t set)
{
	const struct stored *stored = context;
	uint32_t hash = 0;
	(void)origin;
	int ret = hash_of_store(stored->reader, set, &hash);
	return ret == DNSBLV6_OK ? side_append(stored->side, first, last, hash) : ret;
}

/* ---- differences ---- */

static void count_lines(struct compare *compare, uint32_t side, uint64_t count)
{
	compare->result.prefix_count += count;
	if (side == PIECES_LEFT)
		compare->result.added_count += count;
	else if (side == PIECES_RIGHT)
		compare->result.removed_count += count;
}

static int print_family(struct compare *compare, const struct pieces *lists,
			const struct pieces *store, const struct dnsblv6_labels *origin)
{
	static const char signs[] = {
		[PIECES_LEFT] = '+', [PIECES_RIGHT] = '-', [PIECES_BOTH] = '~'
	};
	struct pieces result = { 0 };
	int ret = pieces_compare(lists, store, &result);
	for (size_t i = 0; ret == DNSBLV6_OK && i < result.count; i++) {
		const struct dnsblv6_segment *piece = &result.items[i];
		uint64_t before = compare->difference.count;
		difference_print(&compare->difference, signs[piece->set], piece->first, piece->last,
				 origin);
		count_lines(compare, piece->set, compare->difference.count - before);
	}
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

/* ---- origins ---- */

static bool is_name(const struct dnsblv6_labels *a, const struct dnsblv6_labels *b)
{
	return a->size == b->size && memcmp(a->wire, b->wire, a->size) == 0;
}

static int find_stored(struct reader *reader, const struct dnsblv6_labels *name,
		       struct contents_origin *ret_origin)
{
	int ret = DNSBLV6_OK;
	for (uint16_t i = 0; ret == DNSBLV6_OK; i++) {
		ret = contents_read_origin(reader, i, ret_origin);
		if (ret == DNSBLV6_OK && is_name(&ret_origin->origin.name, name))
			break;
	}
	return ret;
}

static int add_origin(struct reader *reader, const struct contents_origin *origin,
		      struct side *side)
{
	struct stored stored = { reader, side };
	struct dnsblv6_facts facts;
	int ret = contents_read_facts(reader, &facts);
	return ret == DNSBLV6_OK ? contents_walk(reader, &facts, origin, add_stored, &stored) : ret;
}

static int add_planned(struct compare *compare, const struct dnsblv6_labels *name)
{
	const struct compare_job *job = compare->job;
	for (size_t i = 0; i < job->listing->origin_count; i++) {
		if (is_name(&job->listing->origins[i], name))
			return add_plan_parts(compare, (uint16_t)i);
	}
	return DNSBLV6_OK;
}

/* What the lists, or the later store, have below that name. */
static int add_listed(struct compare *compare, const struct dnsblv6_labels *name)
{
	struct contents_origin origin;
	if (compare->later == NULL)
		return add_planned(compare, name);
	int ret = find_stored(compare->later, name, &origin);
	if (ret == DNSBLV6_OK)
		ret = add_origin(compare->later, &origin, &compare->lists);
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* Those that the store has, whether the lists have them or not. */
static int compare_stored_origins(struct compare *compare)
{
	struct reader *reader = compare->reader;
	struct contents_origin origin;
	int ret = DNSBLV6_OK;
	for (uint16_t i = 0; ret == DNSBLV6_OK; i++) {
		ret = contents_read_origin(reader, i, &origin);
		if (ret == DNSBLV6_OK)
			ret = add_origin(reader, &origin, &compare->store);
		if (ret == DNSBLV6_OK)
			ret = add_listed(compare, &origin.origin.name);
		if (ret == DNSBLV6_OK)
			ret = print_sides(compare, &origin.origin.name);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int compare_new_origin(struct compare *compare, const struct dnsblv6_labels *name)
{
	struct contents_origin origin;
	int ret = find_stored(compare->reader, name, &origin);
	if (ret != DNSBLV6_ENOTFOUND)
		return ret; /* it has been compared */
	ret = add_listed(compare, name);
	return ret == DNSBLV6_OK ? print_sides(compare, name) : ret;
}

static int compare_new_origins(struct compare *compare)
{
	const struct compare_job *job = compare->job;
	struct contents_origin origin;
	int ret = DNSBLV6_OK;
	for (size_t i = 0;
	     compare->later == NULL && ret == DNSBLV6_OK && i < job->listing->origin_count; i++)
		ret = compare_new_origin(compare, &job->listing->origins[i]);
	for (uint16_t i = 0; compare->later != NULL && ret == DNSBLV6_OK; i++) {
		ret = contents_read_origin(compare->later, i, &origin);
		if (ret == DNSBLV6_OK)
			ret = compare_new_origin(compare, &origin.origin.name);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int compare_clients(struct compare *compare)
{
	struct stored stored = { compare->reader, &compare->store };
	struct stored later = { compare->later, &compare->lists };
	struct dnsblv6_labels acl;
	int ret = dnsblv6_name_from_text("acl", &acl);
	if (ret == DNSBLV6_OK)
		ret = contents_walk_clients(stored.reader, add_stored, &stored);
	if (ret == DNSBLV6_OK)
		ret = later.reader != NULL ? contents_walk_clients(later.reader, add_stored, &later)
					   : add_pieces(compare, &compare->job->plan->clients);
	return ret == DNSBLV6_OK ? print_sides(compare, &acl) : ret;
}

/* ---- names ---- */

static void print_name(struct compare *compare, char sign, struct store_bytes key)
{
	struct dnsblv6_labels name;
	char text[DNSBLV6_NAME_TEXT_SIZE];
	compare->result.name_count++;
	if (dnsblv6_key_to_labels(key.data, key.size, &name) != DNSBLV6_OK ||
	    compare->difference.count++ >= compare->difference.limit)
		return;
	dnsblv6_name_format(name.wire, name.size, text);
	fprintf(compare->difference.stream, "  %c %s\n", sign, text);
}

static bool is_apex(struct store_bytes key)
{
	return dnsblv6_key_label_count(key.data, key.size) == 0;
}

/* Of the apex: what lists have there, whose types are not those of the zone's own RRs. */
static int keep_listed(uint8_t *record, size_t *size)
{
	struct dnsblv6_rr rrs[NAMES_RRS_MAX];
	struct dnsblv6_rr rr;
	uint8_t kept[BARE_RECORD_MAX];
	size_t count = 0;
	size_t offset = 0;
	while (dnsblv6_record_next_rr(record, *size, &offset, &rr) == DNSBLV6_OK) {
		if ((rr.type == DNSBLV6_TYPE_A || rr.type == DNSBLV6_TYPE_TXT ||
		     rr.type == DNSBLV6_TYPE_MX) &&
		    count < NAMES_RRS_MAX)
			rrs[count++] = rr;
	}
	int ret = dnsblv6_record_encode_rrs(rrs, count, kept, sizeof(kept), size);
	if (ret == DNSBLV6_OK)
		memcpy(record, kept, *size);
	return ret;
}

/* Is the name in the store, with these RRs? */
static int compare_name(struct compare *compare, struct store_bytes key, const uint8_t *wanted,
			size_t wanted_size)
{
	uint8_t found[BARE_RECORD_MAX];
	size_t found_size;
	struct store_bytes value;
	int ret = reader_get(compare->reader, STORE_RECORDS, key.data, key.size, &value);
	if (ret == DNSBLV6_ENOTFOUND) {
		print_name(compare, '+', key);
		return DNSBLV6_OK;
	}
	if (ret == DNSBLV6_OK)
		ret = bare_record(value, found, &found_size);
	if (ret == DNSBLV6_OK && is_apex(key))
		ret = keep_listed(found, &found_size);
	if (ret == DNSBLV6_OK &&
	    (found_size != wanted_size || memcmp(found, wanted, wanted_size) != 0))
		print_name(compare, '~', key);
	return ret;
}

static int compare_planned_names(struct compare *compare)
{
	const struct names_plan *names = &compare->job->plan->names;
	uint8_t wanted[BARE_RECORD_MAX];
	size_t size;
	int ret = DNSBLV6_OK;
	compare->result.names_listed = compare->job->plan->counts.names;
	for (size_t i = 0; ret == DNSBLV6_OK && i < names->count; i++) {
		struct names_rrs rrs;
		struct dnsblv6_key key = names_key(names, i);
		names_get(names, i, compare->facts.ttl, &rrs);
		ret = dnsblv6_record_encode_rrs(rrs.rrs, rrs.count, wanted, sizeof(wanted), &size);
		if (ret == DNSBLV6_OK)
			ret = compare_name(compare, (struct store_bytes){ key.bytes, key.size },
					   wanted, size);
	}
	return ret;
}

/* Names with RRs are those of lists and of name servers; metadata follows from what is listed. */
static bool has_rrs(struct store_bytes key, struct store_bytes value)
{
	static const char label[] = DNSBLV6_METADATA_LABEL;
	size_t size = sizeof(label) - 1;
	struct dnsblv6_labels name;
	if (dnsblv6_record_kind(value.data, value.size) != DNSBLV6_RECORD_RRSETS ||
	    dnsblv6_key_to_labels(key.data, key.size, &name) != DNSBLV6_OK)
		return false;
	return name.size == 0 || name.wire[0] != size || memcmp(name.wire + 1, label, size) != 0;
}

static int compare_later_names(struct compare *compare)
{
	struct reader *later = compare->later;
	uint8_t wanted[BARE_RECORD_MAX];
	struct store_bytes key;
	struct store_bytes value;
	size_t size;
	int ret = reader_seek(later, STORE_RECORDS, NULL, 0, &key, &value);
	while (ret == DNSBLV6_OK) {
		if (has_rrs(key, value)) {
			ret = bare_record(value, wanted, &size);
			if (ret == DNSBLV6_OK && is_apex(key))
				ret = keep_listed(wanted, &size);
			if (ret == DNSBLV6_OK)
				ret = compare_name(compare, key, wanted, size);
		}
		if (ret == DNSBLV6_OK)
			ret = reader_next(later, STORE_RECORDS, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int find_removed_names(struct compare *compare)
{
	struct reader *reader = compare->reader;
	struct store_bytes key;
	struct store_bytes value;
	struct store_bytes other;
	int ret = reader_seek(reader, STORE_RECORDS, NULL, 0, &key, &value);
	while (ret == DNSBLV6_OK) {
		if (has_rrs(key, value)) {
			ret = reader_get(compare->later, STORE_RECORDS, key.data, key.size, &other);
			if (ret == DNSBLV6_ENOTFOUND)
				print_name(compare, '-', key);
			if (ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND)
				return ret;
		}
		ret = reader_next(reader, STORE_RECORDS, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int compare_names(struct compare *compare)
{
	struct dnsblv6_facts facts;
	if (compare->later == NULL)
		return compare_planned_names(compare);
	int ret = contents_read_facts(compare->later, &facts);
	if (ret != DNSBLV6_OK)
		return ret;
	compare->result.names_listed = facts.name_count;
	if (compare->facts.style == DNSBLV6_STYLE_CLASSIC || facts.style == DNSBLV6_STYLE_CLASSIC)
		return DNSBLV6_OK; /* addresses are names there, too */
	ret = compare_later_names(compare);
	return ret == DNSBLV6_OK ? find_removed_names(compare) : ret;
}

/* ---- the whole ---- */

bool compare_is_same(const struct compare_result *result)
{
	return result->prefix_count == 0 && result->name_count == 0 &&
	       result->names_listed == result->names_stored;
}

static int run(struct compare *compare)
{
	int (*const steps[])(struct compare *) = { compare_stored_origins, compare_new_origins,
						   compare_clients, compare_names };
	int ret = contents_read_facts(compare->reader, &compare->facts);
	compare->result.names_stored = compare->facts.name_count;
	for (size_t i = 0; ret == DNSBLV6_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](compare);
	side_deinit(&compare->lists);
	side_deinit(&compare->store);
	return ret;
}

int compare_store(const struct compare_job *job, struct compare_result *ret_result)
{
	struct compare compare = {
		.job = job, .difference = { .stream = job->stream, .limit = job->lines_max }
	};
	compare.data = malloc(SET_DATA_MAX);
	if (compare.data == NULL)
		return -ENOMEM;
	int ret = reader_start(job->store, &zone_store, &compare.reader);
	if (ret == DNSBLV6_OK && job->later != NULL)
		ret = reader_start(job->later, &zone_store, &compare.later);
	if (ret == DNSBLV6_OK)
		ret = run(&compare);
	if (ret == DNSBLV6_OK) {
		difference_end(&compare.difference);
		*ret_result = compare.result;
	}
	reader_close(compare.later);
	reader_close(compare.reader);
	free(compare.data);
	return ret;
}
