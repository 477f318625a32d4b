/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/chain/builder.h"

#include "lib/format/array.h"
#include "zone-tools/records/apex.h"
#include "zone-tools/records/bare.h"
#include "zone-tools/records/before.h"
#include "zone-tools/chain/chain.h"
#include "zone-tools/chain/listed.h"
#include "zone-tools/records/clock.h"
#include "zone-tools/records/lists_time.h"
#include "zone-tools/plan/classic.h"
#include "zone-tools/plan/tree.h"
#include "zone-tools/records/unchanged.h"

#include "lib/format/wellknown.h"
#include "lib/lmdb/writer.h"
#include "lib/process/progress.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	struct writer *writer;
	const struct builder_job *job;
	const struct plan *plan; /* the job's, as all below */
	const struct listing *listing;
	const struct spec *spec;
	struct signer *signer;	   /* NULL: unsigned */
	struct recorder *recorder; /* NULL in a new store */
	struct chain *chain;
	struct chain_result chained;
	struct section *sections; /* in the order of their keys */
	size_t section_count;
	size_t section_capacity;
	size_t section_next; /* the first that was not begun yet */
	size_t name_next;    /* the first of the plan's names that was not put yet */
	struct before before;
	struct builder_result result;
	const struct dnsblv6_labels *origin; /* whose names are being written */
	enum dnsblv6_style style;	     /* of these: dotted or flat */
	bool has_ipv6;			     /* of an origin: its IPv6 part */
	uint16_t ipv6_origin;
	struct plan_part ipv6;
};

/* ---- records ---- */

static int put_due(struct builder *builder, const struct dnsblv6_key *before);

/* A zone has no more names than blocks, twice where it has both styles; whole blocks make them fewer. */
static uint64_t most_records(const struct builder *builder)
{
	const struct plan_counts *counts = &builder->plan->counts;
	uint64_t blocks =
		builder->spec->style == DNSBLV6_STYLE_CLASSIC ? counts->ipv4 : counts->blocks;
	return blocks * (dnsblv6_style_is_both(builder->spec->style) ? 2 : 1) +
	       builder->plan->names.count;
}

static int put_key(struct builder *builder, const struct dnsblv6_key *key, const uint8_t *data,
		   size_t size)
{
	if (builder->result.record_count == builder->job->max_records)
		return CHAIN_ERECORDS;
	builder->result.record_count++;
	if (builder->result.record_count % 4096 == 0)
		progress_step(builder->job->progress, "records written",
			      builder->result.record_count, builder->result.record_count,
			      most_records(builder));
	return chain_put(builder->chain, key, data, size);
}

/* name is relative to the origin that is being written. */
static int put_record(struct builder *builder, const struct dnsblv6_labels *name,
		      const uint8_t *data, size_t size)
{
	struct dnsblv6_labels full;
	struct dnsblv6_key key;
	int ret = dnsblv6_name_join(name->wire, name->size, builder->origin->wire,
				    builder->origin->size, &full);
	if (ret == DNSBLV6_OK && full.size + builder->spec->zone.size > DNSBLV6_LABELS_MAX)
		ret = DNSBLV6_ENAMESIZE; /* with the zone it is no name any more */
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_from_labels(full.wire, full.size, &key);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = put_due(builder, &key);
	return ret == DNSBLV6_OK ? put_key(builder, &key, data, size) : ret;
}

static int put_block(void *context, const struct tree_name *name)
{
	struct builder *builder = context;
	struct dnsblv6_labels labels;
	uint8_t data[TREE_RECORD_MAX];
	int ret = tree_name_make(builder->style, name, &labels);
	if (ret != DNSBLV6_OK)
		return ret;
	size_t size = tree_name_encode(name, builder->spec->ttl, data);
	return put_record(builder, &labels, data, size);
}

static int put_address(void *context, const struct classic_name *name)
{
	struct builder *builder = context;
	struct dnsblv6_value values[DNSBLV6_SET_VALUES_MAX];
	uint8_t data[BARE_RECORD_MAX];
	size_t count;
	size_t size;
	int ret = listed_values(builder->plan, builder->listing, name->set, values, &count);
	if (ret == DNSBLV6_OK)
		ret = classic_record(name, values, count, builder->spec->ttl, data, sizeof(data),
				     &size);
	return ret == DNSBLV6_OK ? put_record(builder, &name->labels, data, size) : ret;
}

/* The RRs of the next of the plan's names, as a record. */
static int encode_name(struct builder *builder, uint8_t *ret_data, size_t *ret_size)
{
	struct names_rrs rrs;
	names_get(&builder->plan->names, builder->name_next++, builder->spec->ttl, &rrs);
	return dnsblv6_record_encode_rrs(rrs.rrs, rrs.count, ret_data, BARE_RECORD_MAX, ret_size);
}

/* A list may have records for the apex; they stand behind the kind of their own record. */
static int add_apex_records(struct builder *builder, uint8_t *data, size_t *size)
{
	const struct names_plan *names = &builder->plan->names;
	uint8_t more[BARE_RECORD_MAX];
	size_t more_size;
	if (names->count == 0 || names->items[0].key_size != 0)
		return DNSBLV6_OK;
	int ret = encode_name(builder, more, &more_size);
	if (ret == DNSBLV6_OK && *size + more_size > BARE_RECORD_MAX)
		ret = DNSBLV6_ESPACE;
	if (ret != DNSBLV6_OK)
		return ret;
	memcpy(data + *size, more + 1, more_size - 1);
	*size += more_size - 1;
	return DNSBLV6_OK;
}

static int put_apex(struct builder *builder)
{
	static const struct dnsblv6_labels apex = { 0 };
	uint8_t data[BARE_RECORD_MAX];
	size_t size =
		apex_encode_apex(builder->spec, builder->result.serial, builder->job->keyset, data);
	int ret = size > 0 ? add_apex_records(builder, data, &size) : DNSBLV6_ESPACE;
	return ret == DNSBLV6_OK ? put_record(builder, &apex, data, size) : ret;
}

static int put_name(struct builder *builder, const struct dnsblv6_key *key)
{
	uint8_t data[BARE_RECORD_MAX];
	size_t size;
	int ret = encode_name(builder, data, &size);
	return ret == DNSBLV6_OK ? put_key(builder, key, data, size) : ret;
}

static int put_glue(struct builder *builder, size_t ns)
{
	struct dnsblv6_labels name;
	uint8_t data[APEX_RECORD_MAX];
	if (!apex_glue_name(builder->spec, ns, &name))
		return DNSBLV6_OK;
	size_t size = apex_encode_glue(builder->spec, ns, data);
	return size > 0 ? put_record(builder, &name, data, size) : DNSBLV6_ESPACE;
}

static int put_metadata(struct builder *builder, const struct plan_origin *origin)
{
	struct dnsblv6_labels name;
	uint8_t data[APEX_RECORD_MAX];
	int ret = dnsblv6_name_from_text(DNSBLV6_METADATA_LABEL, &name);
	if (ret != DNSBLV6_OK)
		return ret;
	size_t size =
		apex_encode_metadata(builder->spec, origin->lists_ipv4, origin->lists_ipv6, data);
	return size > 0 ? put_record(builder, &name, data, size) : DNSBLV6_ESPACE;
}

/* ---- sections: one origin's records of one kind, which are a run of keys ---- */

enum section_kind {
	SECTION_IPV4, /* these three each origin has */
	SECTION_METADATA,
	SECTION_IPV6,
	SECTION_TREE4, /* one /8 in dotted names, of a zone that has both */
	SECTION_TREE6, /* one /16 */
	SECTION_GLUE,
	SECTION_APEX,
};
enum { SECTIONS_EACH = SECTION_IPV6 + 1 };

struct section {
	enum section_kind kind;
	uint16_t number;	  /* of the origin; of the name server for glue */
	uint16_t part;		  /* of SECTION_TREE4 and SECTION_TREE6: the octet or the group */
	struct dnsblv6_key start; /* the least key that the run can have */
};

static int add_section(struct builder *builder, const struct section *section)
{
	if (!array_reserve(builder->sections, builder->section_count + 1,
			   &builder->section_capacity))
		return -ENOMEM;
	builder->sections[builder->section_count++] = *section;
	return DNSBLV6_OK;
}

static int add_text_label(struct dnsblv6_key *key, const char *label)
{
	return dnsblv6_key_add_label(key, (const uint8_t *)label, strlen(label));
}

/*
 * Where a run begins, below its origin. Flat names beside dotted ones begin behind the dotted
 * labels of zeros: what is due before a key must not be what that key's own section waits for.
 */
static int add_start(const struct builder *builder, const struct section *section,
		     struct dnsblv6_key *key)
{
	bool is_both = dnsblv6_style_is_both(builder->spec->style);
	bool has_both6 = builder->spec->style == DNSBLV6_STYLE_BOTH6;
	char label[8];
	int ret = DNSBLV6_OK;
	switch (section->kind) {
	case SECTION_IPV4:
		return add_text_label(key, is_both ? "00000" : "0");
	case SECTION_METADATA:
		return add_text_label(key, DNSBLV6_METADATA_LABEL);
	case SECTION_TREE4:
		snprintf(label, sizeof(label), "%u", section->part);
		return add_text_label(key, label);
	case SECTION_IPV6:
		ret = add_text_label(key, "ip6");
		return ret == DNSBLV6_OK && has_both6 ? add_text_label(key, "00000") : ret;
	default:
		snprintf(label, sizeof(label), "%04x", section->part);
		ret = add_text_label(key, "ip6");
		return ret == DNSBLV6_OK ? add_text_label(key, label) : ret;
	}
}

/* A section of an origin. */
static int make_section(struct builder *builder, uint16_t origin, enum section_kind kind,
			uint16_t part)
{
	const struct dnsblv6_labels *name = &builder->listing->origins[origin];
	struct section section = { .kind = kind, .number = origin, .part = part };
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &section.start);
	if (ret == DNSBLV6_OK)
		ret = add_start(builder, &section, &section.start);
	return ret == DNSBLV6_OK ? add_section(builder, &section) : ret;
}

/* Of the zone: its apex, and a name server inside. */
static int make_static_section(struct builder *builder, enum section_kind kind, size_t ns)
{
	struct dnsblv6_labels name = { 0 };
	struct section section = { .kind = kind, .number = (uint16_t)ns };
	if (kind == SECTION_GLUE)
		(void)apex_glue_name(builder->spec, ns, &name);
	int ret = dnsblv6_key_from_labels(name.wire, name.size, &section.start);
	return ret == DNSBLV6_OK ? add_section(builder, &section) : ret;
}

/* The IPv6 part of an origin is there once, and not again for each /16 of it. */
static int load_ipv6(struct builder *builder, uint16_t origin)
{
	if (builder->has_ipv6 && builder->ipv6_origin == origin)
		return DNSBLV6_OK;
	plan_part_deinit(&builder->ipv6);
	builder->ipv6 = (struct plan_part){ 0 };
	builder->ipv6_origin = origin;
	int ret = plan_load(builder->plan, origin, DATASET_PART_IPV6, &builder->ipv6);
	builder->has_ipv6 = ret == DNSBLV6_OK;
	return ret;
}

/*
 * Where a zone has both, each first label of a dotted name lies between two flat ones: "127"
 * behind "126ffff" and before "1270000". So the dotted tree is put in as many runs as it has such
 * labels, and cuts the ranges of flat names in no more places than that.
 */
static int make_tree4_sections(struct builder *builder, uint16_t number)
{
	int ret = DNSBLV6_OK;
	for (unsigned part = 0; ret == DNSBLV6_OK && part < DATASET_PART_IPV6; part++) {
		if (plan_has_names(builder->plan, number, part))
			ret = make_section(builder, number, SECTION_TREE4, (uint16_t)part);
	}
	return ret;
}

enum { TREE6_BITS = 48 }; /* of a unit below a section of the dotted tree */

static int make_tree6_sections(struct builder *builder, uint16_t number)
{
	uint64_t behind = 0; /* those below this number are there */
	int ret = load_ipv6(builder, number);
	const struct ranges *ranges = &builder->ipv6.ipv6;
	for (size_t i = 0; ret == DNSBLV6_OK && i < ranges->count; i++) {
		uint64_t part = ranges->items[i].first >> TREE6_BITS;
		part = part < behind ? behind : part;
		for (; ret == DNSBLV6_OK && part <= ranges->items[i].last >> TREE6_BITS; part++)
			ret = make_section(builder, number, SECTION_TREE6, (uint16_t)part);
		behind = part;
	}
	return ret;
}

static int make_origin_sections(struct builder *builder, uint16_t number)
{
	int ret = DNSBLV6_OK;
	for (unsigned kind = 0; ret == DNSBLV6_OK && kind < SECTIONS_EACH; kind++)
		ret = make_section(builder, number, (enum section_kind)kind, 0);
	if (ret == DNSBLV6_OK && dnsblv6_style_is_both(builder->spec->style))
		ret = make_tree4_sections(builder, number);
	if (ret == DNSBLV6_OK && builder->spec->style == DNSBLV6_STYLE_BOTH6)
		ret = make_tree6_sections(builder, number);
	return ret;
}

static int compare_keys(const struct dnsblv6_key *a, const struct dnsblv6_key *b)
{
	return dnsblv6_key_compare(a->bytes, a->size, b->bytes, b->size);
}

static int compare_sections(const void *a, const void *b)
{
	return compare_keys(&((const struct section *)a)->start,
			    &((const struct section *)b)->start);
}

static int put_tree6(struct builder *builder, uint16_t origin, uint16_t group)
{
	struct ranges inside = { .is_ipv4 = false };
	uint64_t first = (uint64_t)group << TREE6_BITS;
	int ret = load_ipv6(builder, origin);
	if (ret == DNSBLV6_OK)
		ret = ranges_add_part(&inside, &builder->ipv6.ipv6, first,
				      first + (((uint64_t)1 << TREE6_BITS) - 1));
	if (ret == DNSBLV6_OK)
		ret = tree_walk(&inside, DNSBLV6_STYLE_DOTTED, put_block, builder);
	ranges_deinit(&inside);
	return ret;
}

static int put_addresses(struct builder *builder, uint16_t origin)
{
	struct pieces pieces = { 0 };
	int ret = plan_load_pieces(builder->plan, origin, &pieces);
	if (ret == DNSBLV6_OK)
		ret = classic_walk(&pieces, put_address, builder);
	pieces_deinit(&pieces);
	return ret;
}

static int put_origin_section(struct builder *builder, const struct section *section)
{
	const struct plan_origin *origin = &builder->plan->origins[section->number];
	builder->origin = &builder->listing->origins[section->number];
	/* A classic zone has nothing for clients of ours, and both families in one run. */
	if (builder->spec->style == DNSBLV6_STYLE_CLASSIC)
		return section->kind == SECTION_IPV4 ? put_addresses(builder, section->number)
						     : DNSBLV6_OK;
	if (section->kind == SECTION_METADATA)
		return put_metadata(builder, origin);
	builder->style = DNSBLV6_STYLE_DOTTED;
	if (section->kind == SECTION_TREE4)
		return plan_walk_part(builder->plan, section->number, section->part, builder->style,
				      put_block, builder);
	if (section->kind == SECTION_TREE6)
		return put_tree6(builder, section->number, section->part);
	bool is_ipv4 = section->kind == SECTION_IPV4;
	builder->style = dnsblv6_style_asked(builder->spec->style, is_ipv4);
	return plan_walk(builder->plan, section->number, is_ipv4, builder->style, put_block,
			 builder);
}

static int put_section(struct builder *builder, const struct section *section)
{
	if (section->kind < SECTION_GLUE)
		return put_origin_section(builder, section);
	builder->origin = &builder->listing->origins[0];
	return section->kind == SECTION_APEX ? put_apex(builder)
					     : put_glue(builder, section->number);
}

static int make_sections(struct builder *builder)
{
	int ret = make_static_section(builder, SECTION_APEX, 0);
	for (size_t i = 0; ret == DNSBLV6_OK && i < builder->plan->origin_count; i++)
		ret = make_origin_sections(builder, (uint16_t)i);
	for (size_t i = 0; ret == DNSBLV6_OK && i < builder->spec->ns_count; i++) {
		struct dnsblv6_labels name;
		if (apex_glue_name(builder->spec, i, &name))
			ret = make_static_section(builder, SECTION_GLUE, i);
	}
	if (ret == DNSBLV6_OK)
		qsort(builder->sections, builder->section_count, sizeof(*builder->sections),
		      compare_sections);
	return ret;
}

/* The section to begin next, if it begins before a key; NULL is behind all keys. */
static const struct section *due_section(const struct builder *builder,
					 const struct dnsblv6_key *before)
{
	if (builder->section_next == builder->section_count)
		return NULL;
	const struct section *section = &builder->sections[builder->section_next];
	return before == NULL || compare_keys(&section->start, before) < 0 ? section : NULL;
}

/*
 * Whatever comes before a key, or with NULL all that is left. Runs of keys may
 * enclose others: of flat names "9ffffff" and "a000000" have "_dnsblv6" between
 * them, "dffffff" and "e000000" the whole of a sub-zone "dialups". Domain names
 * are anywhere: they are no run, but put one by one.
 */
static int put_due(struct builder *builder, const struct dnsblv6_key *before)
{
	const struct names_plan *names = &builder->plan->names;
	const struct dnsblv6_labels *origin = builder->origin;
	enum dnsblv6_style style = builder->style;
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK) {
		const struct section *section = due_section(builder, before);
		const struct dnsblv6_key *limit = section != NULL ? &section->start : before;
		if (builder->name_next < names->count) {
			struct dnsblv6_key key = names_key(names, builder->name_next);
			if (limit == NULL || compare_keys(&key, limit) < 0) {
				ret = put_name(builder, &key);
				continue;
			}
		}
		if (section == NULL)
			break;
		builder->section_next++;
		ret = put_section(builder, section);
	}
	builder->origin = origin;
	builder->style = style;
	return ret;
}

static int put_sections(struct builder *builder)
{
	struct dnsblv6_key apex = dnsblv6_key_of_apex();
	builder->section_count = 0;
	builder->section_next = 0;
	builder->name_next = 0;
	int ret = make_sections(builder);
	if (ret == DNSBLV6_OK)
		ret = chain_begin(builder->chain, &apex);
	if (ret == DNSBLV6_OK)
		ret = put_due(builder, NULL);
	free(builder->sections);
	builder->sections = NULL;
	builder->section_capacity = 0;
	return ret;
}

static int put_records(struct builder *builder)
{
	struct chain_options options = { .link = { .zone = &builder->spec->zone,
						   .signer = builder->signer,
						   .ttl = builder->spec->ttl,
						   .negative_ttl = builder->spec->negative_ttl,
						   .old_ttl = builder->before.facts.ttl,
						   .old_negative_ttl = builder->before.negative_ttl,
						   .is_key_new = !keyset_has_active(
							   builder->job->keyset) },
					 .recorder = builder->recorder };
	int ret = DNSBLV6_OK;
	if (writer_is_new(builder->writer))
		ret = writer_clear(builder->writer, STORE_RECORDS); /* what comes is appended */
	if (ret == DNSBLV6_OK)
		ret = chain_new(builder->writer, &options, &builder->chain);
	if (ret == DNSBLV6_OK)
		ret = put_sections(builder);
	if (ret == DNSBLV6_OK)
		ret = chain_close(builder->chain, NULL);
	if (ret == DNSBLV6_OK)
		ret = chain_end(builder->chain, &builder->chained);
	chain_free(builder->chain);
	builder->chain = NULL;
	return ret;
}

/* ---- facts ---- */

static int put_facts(struct builder *builder)
{
	const struct plan *plan = builder->plan;
	struct dnsblv6_facts facts = {
		.zone = builder->spec->zone,
		.style = (uint8_t)builder->spec->style,
		.ttl = builder->spec->ttl,
		.serial = builder->result.serial,
		.built_s = builder->job->now_s,
		.expires_s = builder->spec->expires_s,
		.record_count = builder->result.record_count,
		.block_count = plan->counts.blocks,
		.ipv4_count = plan->counts.ipv4,
		.ipv6_count = plan->counts.ipv6,
		.name_count = plan->counts.names,
	};
	struct dnsblv6_change change = chain_change(&builder->chained, builder->job->now_s);
	int ret = chain_put_facts(builder->writer, &facts, builder->signer, builder->recorder);
	if (ret != DNSBLV6_OK || builder->recorder == NULL)
		return ret;
	return recorder_end(builder->recorder, &facts, &change);
}

static int put_signing(struct builder *builder)
{
	if (builder->signer == NULL)
		return DNSBLV6_OK;
	struct dnsblv6_signing signing =
		keyset_signing(builder->job->keyset, builder->chained.expires_s);
	return chain_put_signing(builder->writer, &signing);
}

static int put_settings(struct builder *builder)
{
	const struct store_settings *settings = builder->job->settings;
	return settings != NULL ? store_settings_write(builder->writer, settings) : DNSBLV6_OK;
}

static int put_lists_time(struct builder *builder)
{
	const struct listing *listing = builder->listing;
	return lists_time_put(builder->writer, listing->written_s, &listing->ages);
}

static int put_keys(struct builder *builder)
{
	return before_remember_keys(builder->writer, builder->job->keyset, builder->spec->ttl,
				    builder->chained.ttl_max);
}

static int put_listed(struct builder *builder)
{
	return listed_put(builder->writer, builder->plan, builder->listing, builder->spec->style);
}

/* ---- the version before ---- */

static bool may_sign_now(const struct builder *builder)
{
	const struct builder_job *job = builder->job;
	if (job->keyset->key_count == 0 || job->trusts_clock || job->findings == NULL)
		return true;
	return clock_check(job->path, &builder->before, job->now_s, job->lifetime_s, job->findings);
}

static int check_zone(const struct builder *builder)
{
	const struct spec *spec = builder->spec;
	const struct dnsblv6_facts *facts = &builder->before.facts;
	if (!builder->before.is_there)
		return DNSBLV6_OK;
	if (facts->zone.size != spec->zone.size ||
	    strncasecmp((const char *)facts->zone.wire, (const char *)spec->zone.wire,
			spec->zone.size) != 0)
		return BEFORE_EZONE;
	bool is_style_kept = facts->style == (uint8_t)spec->style;
	return is_style_kept || builder->job->may_change_style ? DNSBLV6_OK : BEFORE_ESTYLE;
}

static int load_before(struct builder *builder)
{
	const struct builder_job *job = builder->job;
	bool is_same_ttl;
	int ret = before_load(builder->writer, job->keyset, job->now_s, &builder->before);
	if (ret == DNSBLV6_OK)
		ret = check_zone(builder);
	if (ret == DNSBLV6_OK && job->limits != NULL) {
		guard_totals(&job->plan->counts,
			     builder->before.is_there ? &builder->before.facts : NULL, job->path,
			     job->limits, job->findings);
		ret = job->findings->refusal_count > 0 ? CHAIN_EREFUSED : DNSBLV6_OK;
	}
	is_same_ttl = builder->before.facts.ttl == builder->spec->ttl;
	if (ret == DNSBLV6_OK)
		ret = keyset_choose(job->keyset, is_same_ttl);
	if (ret == DNSBLV6_OK && !may_sign_now(builder))
		ret = CHAIN_EREFUSED;
	if (ret == DNSBLV6_OK)
		ret = before_choose_serial(&builder->before, builder->spec->serial,
					   builder->spec->has_serial, job->now_s,
					   &builder->result.serial);
	return ret;
}

/* ---- the journal ---- */

/* Has the new version RRs in common with the old one at all? */
static bool has_common_rrs(const struct builder *builder)
{
	const struct before *before = &builder->before;
	const struct keyset *keyset = builder->job->keyset;
	if (before->facts.ttl != builder->spec->ttl ||
	    before->negative_ttl != builder->spec->negative_ttl ||
	    keyset_is_signed(keyset) != (builder->signer != NULL))
		return false;
	return before_keeps_algorithms(before, keyset);
}

static int begin_recording(struct builder *builder)
{
	recorder_free(builder->recorder); /* of a run that did not fit */
	builder->recorder = NULL;
	if (!builder->before.is_there)
		return DNSBLV6_OK;
	return recorder_new(builder->writer, &builder->before, DNSBLV6_CHANGE_BUILD,
			    has_common_rrs(builder), &builder->recorder);
}

/* ---- nothing new ---- */

/* What a new version has in any case: an SOA, and a digest, with their signatures. */
static bool has_least_changes(const struct builder *builder)
{
	const struct chain_result *chained = &builder->chained;
	uint64_t key_count = builder->job->keyset->other != NULL ? 2 : 1;
	uint64_t signed_count = key_count * (builder->spec->has_zonemd ? 2 : 1);
	return chained->added_count == 0 && chained->removed_count == 0 &&
	       chained->changed_count <= 1 && signer_count(builder->signer) <= signed_count;
}

/* A serial that was asked for is published, whatever else there is. */
static int check_changed(struct builder *builder)
{
	const struct before *before = &builder->before;
	const struct spec *spec = builder->spec;
	bool is_same = false;
	if (!before->is_there || spec->has_serial || builder->result.serial == spec->serial ||
	    before->facts.ttl != spec->ttl || before->facts.expires_s != spec->expires_s ||
	    before->is_signed != (builder->signer != NULL) || !has_least_changes(builder))
		return DNSBLV6_OK;
	int ret = unchanged_compare(builder->writer, builder->signer, &is_same);
	return ret == DNSBLV6_OK && is_same ? CHAIN_EUNCHANGED : ret;
}

/* ---- the whole ---- */

/* Records are compared with what is there; the rest is small and written again. */
static int clear(struct builder *builder)
{
	static const enum store_table tables[] = { STORE_SEGMENTS, STORE_SETS, STORE_FACTS };
	int ret = DNSBLV6_OK;
	for (unsigned i = 0; ret == DNSBLV6_OK && i < sizeof(tables) / sizeof(tables[0]); i++)
		ret = writer_clear(builder->writer, tables[i]);
	return ret;
}

static int make_signer(struct builder *builder)
{
	const struct builder_job *job = builder->job;
	return keyset_new_signer(job->keyset, &job->spec->zone, job->now_s, job->lifetime_s,
				 &builder->signer);
}

static int write_all(struct writer *writer, void *context)
{
	struct builder *builder = context;
	int (*const steps[])(struct builder *) = {
		make_signer,   load_before,    begin_recording, clear,
		put_records,   put_listed,     put_settings,	put_keys,
		check_changed, put_lists_time, put_facts,	put_signing,
	};
	int ret = DNSBLV6_OK;
	builder->writer = writer;
	builder->result.record_count = 0;
	for (size_t i = 0; ret == DNSBLV6_OK && i < sizeof(steps) / sizeof(steps[0]); i++)
		ret = steps[i](builder);
	return ret == DNSBLV6_OK && builder->job->is_dry_run ? CHAIN_EDRYRUN : ret;
}

/* A list that says the same as before is not as old as it was. */
static int renew_lists_time(const struct builder *builder)
{
	const struct listing *listing = builder->listing;
	if (builder->job->is_dry_run)
		return DNSBLV6_OK;
	return lists_time_renew(builder->job->path, builder->before.facts.serial,
				listing->written_s, &listing->ages);
}

int builder_write(const struct builder_job *job, struct builder_result *ret_result)
{
	struct builder builder = {
		.job = job, .plan = job->plan, .listing = job->listing, .spec = job->spec
	};
	int ret = writer_run(job->path, &zone_store, write_all, &builder);
	if (ret == CHAIN_EUNCHANGED) {
		ret = renew_lists_time(&builder);
		if (ret == DNSBLV6_OK)
			*ret_result =
				(struct builder_result){ .record_count =
								 builder.result.record_count,
							 .serial = builder.before.facts.serial,
							 .is_unchanged = true };
	} else if (ret == DNSBLV6_OK || ret == CHAIN_EDRYRUN) {
		ret = DNSBLV6_OK;
		*ret_result = builder.result;
		ret_result->changed_count = chain_touched(&builder.chained);
		ret_result->signature_count = signer_count(builder.signer);
	}
	plan_part_deinit(&builder.ipv6);
	recorder_free(builder.recorder);
	signer_free(builder.signer);
	return ret;
}
