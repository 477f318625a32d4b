/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/updater.h"

#include "zone-tools/records/bare.h"
#include "zone-tools/records/before.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/chain/listed.h"
#include "zone-tools/records/clock.h"
#include "zone-tools/records/lists_time.h"
#include "zone-tools/chain/region.h"
#include "zone-tools/plan/classic.h"
#include "zone-tools/plan/segmenter.h"
#include "zone-tools/plan/tree.h"
#include "zone-tools/records/store_settings.h"

#include "lib/format/wellknown.h"
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One run of keys that is written: a region, or a name of the zone's own. */
struct part {
	struct dnsblv6_key start;
	struct dnsblv6_key end;
	const struct region *region;  /* NULL: data is at start */
	enum dnsblv6_style style;     /* of a region: which of its names */
	struct dnsblv6_prefix prefix; /* and which part of it */
	uint8_t *data;		      /* ours */
	size_t size;
};

struct updater {
	const struct updater_job *job;
	struct writer *writer;
	struct before before;
	uint32_t lifetime_s;
	struct contents_origin origin;
	bool has_subzones;
	uint32_t set; /* of what is added */
	bool is_new_set;
	bool has_printed;
	struct writer_walk *records;
	struct writer_walk *segments;
	struct regions regions;
	struct dnsblv6_facts facts; /* of the new version */
	struct signer *signer;
	struct recorder *recorder;
	struct chain *chain;
	struct chain_result chained;
};

/* ---- what there is ---- */

static int read_origin(struct updater *updater, uint16_t number, struct dnsblv6_origin *ret_origin)
{
	uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
	struct store_bytes value;
	dnsblv6_origin_make_key(number, key);
	int ret = writer_get(updater->writer, STORE_FACTS, key, sizeof(key), &value);
	return ret == DNSBLV6_OK ? dnsblv6_origin_decode(value.data, value.size, ret_origin) : ret;
}

static int find_origin(struct updater *updater)
{
	const struct dnsblv6_labels *wanted = updater->job->subzone;
	struct dnsblv6_origin origin;
	int ret = DNSBLV6_OK;
	updater->has_subzones = read_origin(updater, 1, &origin) == DNSBLV6_OK;
	for (uint16_t i = 0; ret == DNSBLV6_OK; i++) {
		ret = read_origin(updater, i, &origin);
		if (ret != DNSBLV6_OK || origin.name.size != wanted->size ||
		    memcmp(origin.name.wire, wanted->wire, wanted->size) != 0)
			continue;
		updater->origin = (struct contents_origin){ i, origin };
		return DNSBLV6_OK;
	}
	return ret == DNSBLV6_ENOTFOUND ? CHAIN_EORIGIN : ret;
}

static int load_before(struct updater *updater)
{
	const struct updater_job *job = updater->job;
	int ret = before_load(updater->writer, job->keyset, job->now_s, &updater->before);
	if (ret == DNSBLV6_OK && !updater->before.is_there)
		ret = STORE_EUNFINISHED;
	if (ret == DNSBLV6_OK && !keyset_is_signed(job->keyset) && job->keyset->key_count > 0)
		ret = KEYSET_EUNSIGNED;
	if (ret == DNSBLV6_OK)
		ret = keyset_choose(job->keyset, true);
	if (ret == DNSBLV6_OK)
		ret = store_settings_recall_lifetime(updater->writer, job->lifetime_s,
						     &updater->lifetime_s);
	if (ret == DNSBLV6_OK && job->keyset->key_count > 0 && !job->trusts_clock &&
	    !clock_check(job->path, &updater->before, job->now_s, updater->lifetime_s,
			 job->findings))
		ret = CHAIN_EREFUSED;
	return ret == DNSBLV6_OK ? find_origin(updater) : ret;
}

/* The set of what is added: the list's default, or that of the value that was given. */
static int choose_set(struct updater *updater)
{
	updater->is_new_set = false;
	updater->set = updater->origin.origin.default_set;
	if (updater->job->value == NULL)
		return DNSBLV6_OK;
	return listed_find_set(updater->writer, updater->job->value, &updater->set,
			       &updater->is_new_set);
}

static int put_set(struct updater *updater)
{
	return updater->is_new_set ? listed_add_set(updater->writer, updater->recorder,
						    updater->set, updater->job->value)
				   : DNSBLV6_OK;
}

static int find_regions(struct updater *updater)
{
	const struct regions_job job = { .records = updater->records,
					 .segments = updater->segments,
					 .facts = &updater->before.facts,
					 .origin = &updater->origin,
					 .changes = updater->job->changes,
					 .set = updater->set };
	int ret = regions_make(&job, &updater->regions);
	for (size_t i = 0; ret == DNSBLV6_OK && i < updater->regions.count; i++) {
		if (updater->regions.items[i].is_changed)
			return DNSBLV6_OK;
	}
	return ret == DNSBLV6_OK ? CHAIN_EUNCHANGED : ret;
}

/* A run that does not fit is run again: then they have been printed. */
static int print_differences(struct updater *updater)
{
	struct difference *difference = updater->has_printed ? NULL : updater->job->difference;
	const struct dnsblv6_labels *name = &updater->origin.origin.name;
	for (size_t i = 0; difference != NULL && i < updater->regions.count; i++)
		region_print(&updater->regions.items[i], name, difference);
	if (difference != NULL)
		difference_end(difference);
	updater->has_printed = true;
	return DNSBLV6_OK;
}

/* Of the whole zone, whose test points may be in the region's counts alone; at its greatest it stays. */
static uint64_t change_count(uint64_t count, uint64_t before, uint64_t after)
{
	if (after <= before)
		return count - (before - after);
	return after - before > UINT64_MAX - count ? UINT64_MAX : count + (after - before);
}

/* What the whole zone will list, and whether that looks like an accident. */
static int check_totals(struct updater *updater)
{
	const struct updater_job *job = updater->job;
	const struct dnsblv6_facts *facts = &updater->before.facts;
	const struct plan_counts *before = &updater->regions.before;
	const struct plan_counts *after = &updater->regions.after;
	struct plan_counts now = {
		.ipv4 = change_count(facts->ipv4_count, before->ipv4, after->ipv4),
		.ipv6 = change_count(facts->ipv6_count, before->ipv6, after->ipv6),
		.blocks = change_count(facts->block_count, before->blocks, after->blocks),
		.names = facts->name_count,
		.has_clear_point = after->has_clear_point,
	};
	guard_totals(&now, facts, job->path, job->limits, job->findings);
	if (job->findings->refusal_count > 0)
		return CHAIN_EREFUSED;
	updater->facts = *facts;
	updater->facts.ipv4_count = now.ipv4;
	updater->facts.ipv6_count = now.ipv6;
	updater->facts.block_count = now.blocks;
	updater->facts.built_s = job->now_s;
	return before_choose_serial(&updater->before, job->serial, job->serial != 0, job->now_s,
				    &updater->facts.serial);
}

/*
 * Flat names spell out every block, and one wide prefix may be billions of them: too many are not
 * written first and counted then. More than there were make the zone larger, whatever goes.
 */
static int check_room(struct updater *updater)
{
	const struct dnsblv6_facts *before = &updater->before.facts;
	enum dnsblv6_style style = (enum dnsblv6_style)before->style;
	uint64_t count = 0;
	for (size_t i = 0; i < updater->regions.count; i++) {
		const struct region *region = &updater->regions.items[i];
		if (!region->is_changed)
			continue;
		if (dnsblv6_style_asked(style, true) == DNSBLV6_STYLE_FLAT)
			count += ranges_block_count(&region->after.ipv4);
		if (dnsblv6_style_asked(style, false) == DNSBLV6_STYLE_FLAT)
			count += ranges_block_count(&region->after.ipv6);
	}
	bool is_too_large = count > updater->job->max_records && count > before->record_count;
	return is_too_large ? CHAIN_ERECORDS : DNSBLV6_OK;
}

/* ---- names of a region ---- */

/* Where the names of the region are going, and the old ones that are not of the list. */
struct names {
	struct updater *updater;
	const struct part *part;
	bool has_old;
	struct store_bytes old_key;
	struct store_bytes old_value;
};

static int compare_keys(struct store_bytes a, const struct dnsblv6_key *b)
{
	return dnsblv6_key_compare(a.data, a.size, b->bytes, b->size);
}

static int take_old(struct names *names, int ret)
{
	names->has_old = ret == DNSBLV6_OK;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* In a zone of classic names all lists are walked over, and not one run of keys alone. */
static bool is_below_origin(const struct names *names)
{
	const struct dnsblv6_labels *origin = &names->updater->origin.origin.name;
	struct dnsblv6_key key;
	return dnsblv6_key_from_labels(origin->wire, origin->size, &key) == DNSBLV6_OK &&
	       dnsblv6_key_is_below(names->old_key.data, names->old_key.size, key.bytes, key.size);
}

/*
 * Is it the name of a block of this list, or of the tree that its blocks stand in? It is put again
 * if it is to stay. Between dotted names of a region there are no others.
 */
static int is_block(const struct names *names, bool *ret_is_block)
{
	const struct updater *updater = names->updater;
	size_t origin_size = updater->origin.origin.name.size;
	struct dnsblv6_labels name;
	struct dnsblv6_prefix block;
	int ret = dnsblv6_key_to_labels(names->old_key.data, names->old_key.size, &name);
	if (updater->facts.style == DNSBLV6_STYLE_CLASSIC) {
		*ret_is_block = ret == DNSBLV6_OK && is_below_origin(names) &&
				dnsblv6_name_is_reserved(name.wire, name.size - origin_size);
		return ret;
	}
	*ret_is_block = ret == DNSBLV6_OK && name.size > origin_size &&
			(names->part->style == DNSBLV6_STYLE_DOTTED ||
			 dnsblv6_name_parse(DNSBLV6_STYLE_FLAT, name.wire, name.size - origin_size,
					    &block) == DNSBLV6_OK);
	return ret;
}

/*
 * Flat names of a region may have others between them: a name server "a0.b",
 * the whole of a sub-zone "deadbeef". Those before key, or all, are put again.
 */
static int put_others(struct names *names, const struct dnsblv6_key *before)
{
	uint8_t data[BARE_RECORD_MAX];
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && names->has_old && compare_keys(names->old_key, before) < 0) {
		bool is_of_list;
		size_t size;
		struct dnsblv6_key key = { .size = (uint16_t)names->old_key.size };
		ret = is_block(names, &is_of_list);
		if (ret == DNSBLV6_OK && !is_of_list) {
			memcpy(key.bytes, names->old_key.data, key.size);
			ret = bare_record(names->old_value, data, &size);
			if (ret == DNSBLV6_OK)
				ret = chain_put(names->updater->chain, &key, data, size);
		}
		if (ret == DNSBLV6_OK)
			ret = take_old(names, writer_walk_next(names->updater->records,
							       &names->old_key, &names->old_value));
	}
	return ret;
}

/* A name of the list, relative to its origin, behind those that come before it. */
static int put_name(struct names *names, const struct dnsblv6_labels *name, const uint8_t *data,
		    size_t size)
{
	const struct updater *updater = names->updater;
	const struct dnsblv6_labels *origin = &updater->origin.origin.name;
	struct dnsblv6_labels full;
	struct dnsblv6_key key;
	int ret = dnsblv6_name_join(name->wire, name->size, origin->wire, origin->size, &full);
	if (ret == DNSBLV6_OK && full.size + updater->facts.zone.size > DNSBLV6_LABELS_MAX)
		ret = DNSBLV6_ENAMESIZE; /* with the zone it is no name any more */
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_from_labels(full.wire, full.size, &key);
	if (ret == DNSBLV6_OK)
		ret = put_others(names, &key);
	return ret == DNSBLV6_OK ? chain_put(updater->chain, &key, data, size) : ret;
}

static int put_block(void *context, const struct tree_name *block)
{
	struct names *names = context;
	const struct updater *updater = names->updater;
	struct dnsblv6_labels name;
	uint8_t data[TREE_RECORD_MAX];
	int ret = tree_name_make(names->part->style, block, &name);
	size_t size = tree_name_encode(block, updater->facts.ttl, data);
	return ret == DNSBLV6_OK ? put_name(names, &name, data, size) : ret;
}

static int put_address(void *context, const struct classic_name *name)
{
	struct names *names = context;
	struct dnsblv6_value values[DNSBLV6_SET_VALUES_MAX];
	uint8_t data[BARE_RECORD_MAX];
	size_t count;
	size_t size;
	int ret = listed_get_values(names->updater->writer, name->set, values, &count);
	if (ret == DNSBLV6_OK)
		ret = classic_record(name, values, count, names->updater->facts.ttl, data,
				     sizeof(data), &size);
	return ret == DNSBLV6_OK ? put_name(names, &name->labels, data, size) : ret;
}

/* What the part of a region lists; of a whole one all, so that it may be narrower than its region. */
static int walk_part(struct names *names)
{
	const struct plan_part *after = &names->part->region->after;
	struct dnsblv6_prefix prefix = names->part->prefix;
	struct dnsblv6_addr last = dnsblv6_prefix_last(prefix);
	bool is_ipv4 = dnsblv6_prefix_is_ipv4(prefix);
	struct ranges inside = { .is_ipv4 = is_ipv4 };
	if (names->part->style == DNSBLV6_STYLE_CLASSIC)
		return classic_walk(&after->pieces, put_address, names);
	int ret = is_ipv4 ? ranges_add_part(&inside, &after->ipv4, dnsblv6_addr_ipv4(prefix.first),
					    dnsblv6_addr_ipv4(last))
			  : ranges_add_part(&inside, &after->ipv6, prefix.first.hi, last.hi);
	if (ret == DNSBLV6_OK)
		ret = tree_walk(&inside, names->part->style, put_block, names);
	ranges_deinit(&inside);
	return ret;
}

static int put_region(struct updater *updater, const struct part *part)
{
	struct names names = { .updater = updater, .part = part };
	int ret = take_old(&names,
			   writer_walk_seek(updater->records, part->start.bytes, part->start.size,
					    &names.old_key, &names.old_value));
	if (ret == DNSBLV6_OK)
		ret = walk_part(&names);
	return ret == DNSBLV6_OK ? put_others(&names, &part->end) : ret;
}

/* ---- names of the zone's own ---- */

/* The name at start alone, as nothing has a key between it and end: its record, and room for the new one. */
static int begin_own(struct updater *updater, struct part *part, struct store_bytes *ret_value)
{
	part->end = part->start;
	part->end.bytes[part->end.size++] = 0;
	part->data = malloc(BARE_RECORD_MAX);
	if (part->data == NULL)
		return -ENOMEM;
	int ret = writer_get(updater->writer, STORE_RECORDS, part->start.bytes, part->start.size,
			     ret_value);
	return ret == DNSBLV6_OK ? DNSBLV6_OK : STORE_ECORRUPT;
}

static int make_apex(struct updater *updater, struct part *part)
{
	struct store_bytes value;
	part->start = dnsblv6_key_of_apex();
	int ret = begin_own(updater, part, &value);
	return ret == DNSBLV6_OK ? bare_apex(value, updater->facts.serial, updater->job->keyset,
					     updater->facts.ttl, part->data, &part->size)
				 : ret;
}

/* Which families the list has: it may get its first address of one, or lose its last. */
static void note_families(const struct updater *updater, struct dnsblv6_metadata *metadata)
{
	for (size_t i = 0; i < updater->regions.count; i++) {
		metadata->has_ipv4 |= updater->regions.items[i].after.lists_ipv4;
		metadata->has_ipv6 |= updater->regions.items[i].after.lists_ipv6;
	}
	if (updater->has_subzones)
		return; /* the counts are of all lists together */
	metadata->has_ipv4 = updater->facts.ipv4_count > 0;
	metadata->has_ipv6 = updater->facts.ipv6_count > 0;
}

static int renew_metadata(const struct updater *updater, struct store_bytes value,
			  struct part *part)
{
	struct dnsblv6_metadata metadata;
	struct dnsblv6_rr rr;
	uint8_t rdata[DNSBLV6_METADATA_RDATA_MAX];
	size_t offset = 0;
	int ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr);
	if (ret == DNSBLV6_OK && rr.type == DNSBLV6_TYPE_TXT)
		ret = dnsblv6_metadata_decode(rr.rdata, rr.rdata_size, &metadata);
	if (ret != DNSBLV6_OK || rr.type != DNSBLV6_TYPE_TXT)
		return STORE_ECORRUPT;
	note_families(updater, &metadata);
	rr.rdata = rdata;
	rr.rdata_size = (uint16_t)dnsblv6_metadata_encode(&metadata, rdata);
	return dnsblv6_record_encode_rrs(&rr, 1, part->data, BARE_RECORD_MAX, &part->size);
}

static int make_metadata(struct updater *updater, struct part *part)
{
	const struct dnsblv6_labels *origin = &updater->origin.origin.name;
	static const char label[] = DNSBLV6_METADATA_LABEL;
	struct store_bytes value;
	int ret = dnsblv6_key_from_labels(origin->wire, origin->size, &part->start);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_add_label(&part->start, (const uint8_t *)label,
					    sizeof(label) - 1);
	if (ret == DNSBLV6_OK)
		ret = begin_own(updater, part, &value);
	return ret == DNSBLV6_OK ? renew_metadata(updater, value, part) : ret;
}

/* ---- all names ---- */

static int compare_parts(const void *a, const void *b)
{
	const struct part *left = a;
	struct store_bytes key = { left->start.bytes, left->start.size };
	return compare_keys(key, &((const struct part *)b)->start);
}

static int put_part(struct updater *updater, const struct part *part)
{
	int ret = chain_begin(updater->chain, &part->start);
	if (ret == DNSBLV6_OK)
		ret = part->region != NULL
			      ? put_region(updater, part)
			      : chain_put(updater->chain, &part->start, part->data, part->size);
	return ret == DNSBLV6_OK ? chain_close(updater->chain, &part->end) : ret;
}

/* All that is behind the apex; no key is behind its end. */
static struct part make_classic_part(const struct region *region)
{
	struct part part = { .region = region, .style = DNSBLV6_STYLE_CLASSIC };
	part.start = dnsblv6_key_of_apex();
	part.start.bytes[part.start.size++] = 0;
	part.end.size = sizeof(part.end.bytes);
	memset(part.end.bytes, 0xff, sizeof(part.end.bytes));
	return part;
}

static enum dnsblv6_style style_of(const struct updater *updater)
{
	return (enum dnsblv6_style)updater->facts.style;
}

/* Beside dotted names: the narrowest run of flat names that may have a dotted label in it. */
static unsigned flat_part_len(bool is_ipv4)
{
	return is_ipv4 ? DNSBLV6_IPV4_BASE_LEN + 16 : 20;
}

/* Has the zone flat names beside the dotted ones of a region? */
static bool has_flat_beside(const struct updater *updater, const struct region *region)
{
	return dnsblv6_style_is_both(style_of(updater)) &&
	       dnsblv6_style_asked(style_of(updater), dnsblv6_prefix_is_ipv4(region->prefix)) ==
		       DNSBLV6_STYLE_FLAT;
}

/* How many runs of keys a region is. */
static size_t count_parts(const struct updater *updater, const struct region *region)
{
	unsigned len = flat_part_len(dnsblv6_prefix_is_ipv4(region->prefix));
	if (!has_flat_beside(updater, region))
		return 1;
	return 1 + (region->prefix.prefix_len < len ? (size_t)1 << (len - region->prefix.prefix_len)
						    : 1);
}

static int make_flat_part(const struct updater *updater, const struct region *region,
			  struct dnsblv6_prefix prefix, struct part *ret_part)
{
	const struct dnsblv6_labels *name = &updater->origin.origin.name;
	struct dnsblv6_key origin;
	*ret_part =
		(struct part){ .region = region, .style = DNSBLV6_STYLE_FLAT, .prefix = prefix };
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &origin);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_of_prefix(&origin, DNSBLV6_STYLE_FLAT, prefix, &ret_part->start);
	ret_part->end = ret_part->start;
	if (ret == DNSBLV6_OK)
		ret_part->end.bytes[ret_part->end.size - 1]++; /* a digit: never 0xff */
	return ret;
}

/*
 * Dotted labels stand between flat names ("127" before "1270000"), and may change with them. So
 * flat names are put in runs too narrow for that: no dotted label begins with so many digits.
 */
static int make_region_parts(const struct updater *updater, const struct region *region,
			     struct part *parts, size_t *count)
{
	struct dnsblv6_addr last = dnsblv6_prefix_last(region->prefix);
	struct dnsblv6_addr at = region->prefix.first;
	unsigned len = flat_part_len(dnsblv6_prefix_is_ipv4(region->prefix));
	int ret = DNSBLV6_OK;
	if (style_of(updater) == DNSBLV6_STYLE_CLASSIC) {
		parts[(*count)++] = make_classic_part(region);
		return DNSBLV6_OK;
	}
	parts[(*count)++] = (struct part){ .start = region_start(region),
					   .end = region_end(region),
					   .region = region,
					   .style = dnsblv6_style_read(style_of(updater)),
					   .prefix = region->prefix };
	if (!has_flat_beside(updater, region))
		return DNSBLV6_OK;
	len = region->prefix.prefix_len < len ? len : region->prefix.prefix_len;
	for (;;) {
		struct dnsblv6_prefix prefix = dnsblv6_prefix_make(at, len);
		ret = make_flat_part(updater, region, prefix, &parts[(*count)++]);
		if (ret != DNSBLV6_OK ||
		    dnsblv6_addr_compare(dnsblv6_prefix_last(prefix), last) >= 0)
			return ret;
		at = dnsblv6_addr_next(dnsblv6_prefix_last(prefix));
	}
}

/* Own names inside the run of a region are put with it, as they are: they do not change. */
static int make_parts(struct updater *updater, struct part *parts, size_t *ret_count)
{
	size_t count = 0;
	int ret = make_apex(updater, &parts[count++]);
	if (ret == DNSBLV6_OK && updater->facts.style != DNSBLV6_STYLE_CLASSIC)
		ret = make_metadata(updater, &parts[count++]);
	for (size_t i = 0; ret == DNSBLV6_OK && i < updater->regions.count; i++) {
		const struct region *region = &updater->regions.items[i];
		if (region->is_changed)
			ret = make_region_parts(updater, region, parts, &count);
	}
	*ret_count = count;
	qsort(parts, count, sizeof(*parts), compare_parts);
	return ret;
}

static int put_parts(struct updater *updater)
{
	size_t count = 0;
	size_t most = 2;
	for (size_t i = 0; i < updater->regions.count; i++)
		most += count_parts(updater, &updater->regions.items[i]);
	struct part *parts = calloc(most, sizeof(*parts));
	if (parts == NULL)
		return -ENOMEM;
	int ret = make_parts(updater, parts, &count);
	for (size_t i = 0; ret == DNSBLV6_OK && i < count; i++)
		ret = put_part(updater, &parts[i]);
	for (size_t i = 0; i < count; i++)
		free(parts[i].data);
	free(parts);
	return ret;
}

static int put_records(struct updater *updater)
{
	struct chain_options options =
		chain_continue(&updater->before, updater->signer, updater->recorder);
	int ret = chain_new(updater->writer, &options, &updater->chain);
	if (ret == DNSBLV6_OK)
		ret = put_parts(updater);
	if (ret == DNSBLV6_OK)
		ret = chain_end(updater->chain, &updater->chained);
	updater->facts.record_count +=
		updater->chained.added_count - updater->chained.removed_count;
	if (ret == DNSBLV6_OK && updater->facts.record_count > updater->job->max_records &&
	    updater->chained.added_count > updater->chained.removed_count)
		ret = CHAIN_ERECORDS;
	return ret;
}

/* ---- segments ---- */

static int cut_segments(struct segment_cut *cut, enum dnsblv6_style style,
			struct dnsblv6_prefix prefix)
{
	const struct dnsblv6_prefix ipv4 = { dnsblv6_addr_from_ipv4(0), DNSBLV6_IPV4_BASE_LEN };
	int ret = style == DNSBLV6_STYLE_CLASSIC ? segmenter_cut(cut, ipv4) : DNSBLV6_OK;
	return ret == DNSBLV6_OK ? segmenter_cut(cut, prefix) : ret;
}

static int put_region_segments(const struct updater *updater, const struct segment_sink *sink,
			       const struct region *region)
{
	struct segmenter segmenter = { .sink = sink,
				       .origin = updater->origin.number,
				       .style = (enum dnsblv6_style)updater->facts.style };
	int ret = segmenter_add(&segmenter, &region->after);
	return ret == DNSBLV6_OK ? segmenter_end(&segmenter) : ret;
}

static int put_segments(struct updater *updater)
{
	enum dnsblv6_style style = (enum dnsblv6_style)updater->facts.style;
	struct segment_cut cut = { .sink = { updater->writer, updater->recorder },
				   .segments = updater->segments,
				   .origin = updater->origin.number };
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < updater->regions.count; i++) {
		const struct region *region = &updater->regions.items[i];
		if (!region->is_changed)
			continue;
		ret = cut_segments(&cut, style, region->prefix);
		if (ret == DNSBLV6_OK)
			ret = put_region_segments(updater, &cut.sink, region);
	}
	return ret == DNSBLV6_OK ? segmenter_end_cut(&cut) : ret;
}

/* ---- facts ---- */

static int put_facts(struct updater *updater)
{
	int ret = lists_time_raise(updater->writer, updater->job->lists_s,
				   updater->job->now_s + CLOCK_BACK_S);
	if (ret != DNSBLV6_OK)
		return ret;
	return chain_put_version(updater->chain, &updater->facts, updater->job->keyset,
				 updater->job->lifetime_s);
}

/* ---- the transaction ---- */

static int open_walks(struct updater *updater)
{
	int ret = writer_walk_open(updater->writer, STORE_RECORDS, &updater->records);
	return ret == DNSBLV6_OK
		       ? writer_walk_open(updater->writer, STORE_SEGMENTS, &updater->segments)
		       : ret;
}

static int open_signer(struct updater *updater)
{
	return keyset_new_signer(updater->job->keyset, &updater->before.facts.zone,
				 updater->job->now_s, updater->lifetime_s, &updater->signer);
}

static int open_recorder(struct updater *updater)
{
	return recorder_new(updater->writer, &updater->before, DNSBLV6_CHANGE_UPDATE, true,
			    &updater->recorder);
}

/* What one run has made, but for the signer, whose count is wanted. */
static void close_run(struct updater *updater)
{
	chain_free(updater->chain);
	recorder_free(updater->recorder);
	regions_deinit(&updater->regions);
	writer_walk_close(updater->records);
	writer_walk_close(updater->segments);
	updater->chain = NULL;
	updater->recorder = NULL;
	updater->records = NULL;
	updater->segments = NULL;
}

static int write_all(struct writer *writer, void *context)
{
	struct updater *updater = context;
	int (*const steps[])(struct updater *) = {
		load_before,  open_walks,   choose_set,	 find_regions,	print_differences,
		check_totals, check_room,   open_signer, open_recorder, put_set,
		put_records,  put_segments, put_facts,
	};
	int ret = DNSBLV6_OK;
	updater->writer = writer;
	for (size_t i = 0; ret == DNSBLV6_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](updater);
	close_run(updater);
	return ret == DNSBLV6_OK && updater->job->is_dry_run ? CHAIN_EDRYRUN : ret;
}

static struct updater_result make_result(const struct updater *updater)
{
	const struct dnsblv6_facts *before = &updater->before.facts;
	const struct dnsblv6_facts *after = &updater->facts;
	return (struct updater_result){
		.zone = after->zone,
		.ipv4_count = after->ipv4_count,
		.ipv6_count = after->ipv6_count,
		.ipv4_change = (int64_t)(after->ipv4_count - before->ipv4_count),
		.ipv6_change = (int64_t)(after->ipv6_count - before->ipv6_count),
		.changed_count = chain_touched(&updater->chained),
		.signature_count = signer_count(updater->signer),
		.serial = after->serial,
	};
}

/* writer_run() would begin a new store, and take away an empty file in the end. */
static int check_there(const char *path)
{
	struct stat found;
	if (stat(path, &found) != 0)
		return -errno;
	return found.st_size > 0 ? DNSBLV6_OK : STORE_EUNFINISHED;
}

int updater_run(const struct updater_job *job, struct updater_result *ret_result)
{
	struct updater updater = { .job = job };
	int ret = check_there(job->path);
	if (ret == DNSBLV6_OK)
		ret = writer_run(job->path, &zone_store, write_all, &updater);
	if (ret == CHAIN_EUNCHANGED && !job->is_dry_run) {
		int renewed = lists_time_renew_younger(job->path, job->lists_s,
						       job->now_s + CLOCK_BACK_S);
		ret = renewed == DNSBLV6_OK ? ret : renewed;
	}
	if (ret == CHAIN_EDRYRUN)
		ret = DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		*ret_result = make_result(&updater);
	signer_free(updater.signer);
	return ret;
}
