/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/names/names.h"

#include "lib/format/array.h"
#include "zone-tools/records/apex.h"

#include "lib/format/wellknown.h"

#include <errno.h>
#include <string.h>

/* Numbers of the entries that give a name its RRs. */
struct sources {
	uint32_t entries[NAMES_SOURCES_MAX];
	size_t count;
};

/* A name that has entries at it or below it: these are neighbours, its own come first. */
struct node {
	const uint8_t *key;
	size_t key_size;
	uint32_t first;
	uint32_t own_end;
	uint32_t end;
	uint16_t origin;
	bool is_subzone;
	bool is_host;
	struct sources own;   /* of the name itself */
	struct sources below; /* of the wildcard below it */
};

struct maker {
	struct names_plan *names;
	struct listing *listing;
	const struct spec *spec;
	struct findings *findings;
	struct dnsblv6_key *origins; /* keys of the listing's */
	uint32_t test_value;
	struct names_rrs rrs[2]; /* to compare */
};

/* ---- entries ---- */

static int add_entry(struct maker *maker, const struct dnsblv6_key *key, struct names_entry entry)
{
	struct names_plan *names = maker->names;
	entry.key_size = key->size;
	if (names->entry_count >= UINT32_MAX ||
	    listing_keep(maker->listing, key->bytes, key->size, &entry.key) != DNSBLV6_OK ||
	    !array_reserve(names->entries, names->entry_count + 1, &names->entry_capacity))
		return -ENOMEM;
	names->entries[names->entry_count++] = entry;
	return DNSBLV6_OK;
}

static bool is_apex(const struct dnsblv6_key *key)
{
	return key->size == 1 && key->bytes[0] == 0;
}

/* rel below origin, as one key. False when that is too long for a name. */
static bool join_keys(const struct dnsblv6_key *origin, const uint8_t *rel, size_t rel_size,
		      struct dnsblv6_key *ret_key)
{
	*ret_key = *origin;
	if (rel_size == 1 && rel[0] == 0)
		return true;
	size_t start = is_apex(origin) ? 0 : origin->size + 1u;
	if (start + rel_size > DNSBLV6_KEY_MAX)
		return false;
	if (start > 0)
		ret_key->bytes[origin->size] = 0;
	memcpy(ret_key->bytes + start, rel, rel_size);
	ret_key->size = (uint16_t)(start + rel_size);
	return true;
}

static void refuse_name(struct maker *maker, const uint8_t *key, size_t key_size,
			const char *reason)
{
	struct dnsblv6_labels name = { 0 };
	char text[DNSBLV6_NAME_TEXT_SIZE];
	(void)dnsblv6_key_to_labels(key, key_size, &name);
	size_t size = dnsblv6_name_format(name.wire, name.size, text);
	findings_add(maker->findings, FINDING_REFUSAL, (struct findings_place){ .file = NULL },
		     "name refused", text, size, reason);
}

static const uint8_t test_label[] = DNSBLV6_NAME_LISTED;

static bool is_test_point(const struct name_entry *name)
{
	return !name->is_record && (name->reach & NAME_ITSELF) != 0 &&
	       name->key_size == sizeof(test_label) - 1 &&
	       memcmp(name->key, test_label, sizeof(test_label) - 1) == 0;
}

/* An entry of a dataset, with its key from the apex on. */
static int add_name(struct maker *maker, uint16_t origin, size_t dataset,
		    const struct name_entry *name)
{
	struct dnsblv6_key key;
	struct names_entry entry = {
		.dataset = (uint32_t)dataset,
		.origin = origin,
		.value = name->value,
		.reach = name->reach,
		.kind = name->is_record ? NAMES_RECORD : NAMES_LISTED,
		.is_test_point = is_test_point(name) && name->value == maker->test_value,
	};
	if (join_keys(&maker->origins[origin], name->key, name->key_size, &key))
		return add_entry(maker, &key, entry);
	refuse_name(maker, name->key, name->key_size, "too long for the zone");
	return DNSBLV6_OK;
}

/* All entries of one origin, and the test point of RFC 5782 section 5 if it lists names. */
static int add_origin(struct maker *maker, uint16_t origin)
{
	const struct listing *listing = maker->listing;
	const struct name_entry test_point = { .key = test_label,
					       .key_size = sizeof(test_label) - 1,
					       .value = maker->test_value,
					       .reach = NAME_ITSELF };
	const struct connected *connected = listing_connected(listing, origin);
	size_t lister = listing->dataset_count;
	bool has_test_point = false;
	int ret = DNSBLV6_OK;
	for (size_t c = 0; c < connected->count; c++) {
		const size_t d = connected->datasets[c];
		const struct dataset *dataset = &listing->datasets[d];
		for (size_t i = 0; ret == DNSBLV6_OK && i < dataset->name_count; i++) {
			has_test_point |= is_test_point(&dataset->names[i]);
			if (!dataset->names[i].is_record)
				lister = d;
			ret = add_name(maker, origin, d, &dataset->names[i]);
		}
	}
	if (ret == DNSBLV6_OK && lister < listing->dataset_count && !has_test_point)
		ret = add_name(maker, origin, lister, &test_point);
	return ret;
}

static int add_own_name(struct maker *maker, const struct dnsblv6_labels *name,
			struct names_entry entry)
{
	struct dnsblv6_key key;
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &key);
	return ret == DNSBLV6_OK ? add_entry(maker, &key, entry) : ret;
}

/* What the zone has of its own among the names: sub-zones, and name servers inside. */
static int add_own_names(struct maker *maker)
{
	const struct listing *listing = maker->listing;
	size_t ns_count = maker->spec != NULL ? maker->spec->ns_count : 0;
	int ret = DNSBLV6_OK;
	for (size_t o = 1; ret == DNSBLV6_OK && o < listing->origin_count; o++)
		ret = add_own_name(
			maker, &listing->origins[o],
			(struct names_entry){ .kind = NAMES_SUBZONE, .origin = (uint16_t)o });
	for (size_t i = 0; ret == DNSBLV6_OK && i < ns_count; i++) {
		struct dnsblv6_labels name;
		if (apex_glue_name(maker->spec, i, &name))
			ret = add_own_name(maker, &name,
					   (struct names_entry){ .kind = NAMES_HOST });
	}
	return ret;
}

static int compare_entries(const void *a, const void *b)
{
	const struct names_entry *left = a;
	const struct names_entry *right = b;
	int by_key = dnsblv6_key_compare(left->key, left->key_size, right->key, right->key_size);
	if (by_key != 0)
		return by_key;
	if (left->origin != right->origin)
		return left->origin < right->origin ? -1 : 1;
	if (left->dataset != right->dataset)
		return left->dataset < right->dataset ? -1 : 1;
	return (left->value > right->value) - (left->value < right->value);
}

/* ---- what a name has ---- */

static void refuse_node(struct maker *maker, const struct node *node, const char *reason)
{
	refuse_name(maker, node->key, node->key_size, reason);
}

static bool is_of_list(const struct names_entry *entry)
{
	return entry->kind == NAMES_LISTED || entry->kind == NAMES_RECORD;
}

static bool counts(const struct node *node, const struct names_entry *entry, uint8_t reach)
{
	return is_of_list(entry) && entry->origin == node->origin && (entry->reach & reach) != 0;
}

/* Has the dataset entries of the name itself? These decide, and not those above. */
static bool is_decided(const struct maker *maker, const struct node *node, uint32_t dataset,
		       uint8_t reach)
{
	for (uint32_t i = node->first; i < node->own_end; i++) {
		const struct names_entry *entry = &maker->names->entries[i];
		if (entry->dataset == dataset && counts(node, entry, reach))
			return true;
	}
	return false;
}

static bool add_source(struct sources *sources, uint32_t entry)
{
	if (sources->count == NAMES_SOURCES_MAX)
		return false;
	sources->entries[sources->count++] = entry;
	return true;
}

/* Adds the entries of one dataset, from first to before end, once each; none if one excludes. */
static bool add_dataset(const struct maker *maker, const struct node *node, uint32_t first,
			uint32_t end, uint8_t reach, struct sources *sources)
{
	const struct names_entry *entries = maker->names->entries;
	const struct names_entry *before = NULL;
	bool fits = true;
	for (uint32_t i = first; i < end; i++) {
		if (counts(node, &entries[i], reach) && entries[i].kind == NAMES_LISTED &&
		    entries[i].value == ENTRY_EXCLUDED)
			return true;
	}
	for (uint32_t i = first; fits && i < end; i++) {
		if (!counts(node, &entries[i], reach) ||
		    (before != NULL && before->kind == NAMES_LISTED &&
		     before->value == entries[i].value))
			continue;
		before = &entries[i];
		fits = add_source(sources, i);
	}
	return fits;
}

/* Of each dataset what it says of the name, or else of what is below the nearest name above. */
static void find_sources(struct maker *maker, const struct node *node, const struct sources *above,
			 uint8_t reach, struct sources *ret_sources)
{
	const struct names_entry *entries = maker->names->entries;
	bool fits = true;
	uint32_t next;
	ret_sources->count = 0;
	for (size_t i = 0; i < above->count; i++) {
		if (!is_decided(maker, node, entries[above->entries[i]].dataset, reach))
			add_source(ret_sources, above->entries[i]);
	}
	for (uint32_t i = node->first; fits && i < node->own_end; i = next) {
		next = i + 1;
		while (next < node->own_end && entries[next].dataset == entries[i].dataset &&
		       entries[next].origin == entries[i].origin)
			next++;
		fits = add_dataset(maker, node, i, next, reach, ret_sources);
	}
	if (!fits) {
		refuse_node(maker, node, "more than 48 values for one name");
		ret_sources->count = 0;
	}
}

static void find_rrs(const struct maker *maker, const struct sources *sources,
		     struct names_rrs *ret_rrs)
{
	ret_rrs->count = 0;
	for (size_t i = 0; i < sources->count; i++)
		names_rrs_add(maker->listing, &maker->names->entries[sources->entries[i]], ret_rrs);
	names_rrs_settle(ret_rrs);
}

/* Do both come to the same RRs? Different lines may. */
static bool is_alike(struct maker *maker, const struct sources *a, const struct sources *b)
{
	if (a->count == b->count &&
	    memcmp(a->entries, b->entries, a->count * sizeof(a->entries[0])) == 0)
		return true;
	if (a->count == 0 || b->count == 0)
		return false;
	find_rrs(maker, a, &maker->rrs[0]);
	find_rrs(maker, b, &maker->rrs[1]);
	return names_rrs_equal(&maker->rrs[0], &maker->rrs[1]);
}

/* A list of the origin above may not speak of a sub-zone, and none of a name server. */
static void check_entries(struct maker *maker, const struct node *node)
{
	for (uint32_t i = node->first; i < node->own_end; i++) {
		const struct names_entry *entry = &maker->names->entries[i];
		const char *reason = NULL;
		if (is_of_list(entry) && entry->origin != node->origin)
			reason = "in a sub-zone, which has lists of its own";
		else if (is_of_list(entry) && node->is_host)
			reason = "a name server of the zone, whose addresses --ns gives";
		if (reason != NULL) {
			refuse_node(maker, node, reason);
			return;
		}
	}
}

/* The node whose key is the first key_size bytes of its first entry's. parent is above it. */
static void make_node(struct maker *maker, const struct node *parent, struct node *node)
{
	static const struct sources nothing = { .count = 0 };
	const struct names_entry *entries = maker->names->entries;
	const struct sources *above = &parent->below;
	node->key = entries[node->first].key;
	node->origin = parent->origin;
	node->own_end = node->first;
	for (uint32_t i = node->first; i < node->end; i++) {
		const struct names_entry *entry = &entries[i];
		bool is_apex_key = entry->key_size == 1 && entry->key[0] == 0;
		if ((is_apex_key ? 0 : entry->key_size) != node->key_size)
			break;
		node->own_end++;
		node->is_host |= entry->kind == NAMES_HOST;
		if (entry->kind == NAMES_SUBZONE) {
			node->is_subzone = true;
			node->origin = entry->origin;
			above = &nothing;
		}
	}
	find_sources(maker, node, above, NAME_ITSELF, &node->own);
	find_sources(maker, node, above, NAME_BELOW, &node->below);
	check_entries(maker, node);
}

/* ---- items ---- */

static bool fits_zone(const struct maker *maker, const struct dnsblv6_key *key)
{
	struct dnsblv6_labels name;
	size_t zone_size = maker->spec != NULL ? maker->spec->zone.size : 0;
	return dnsblv6_key_to_labels(key->bytes, key->size, &name) == DNSBLV6_OK &&
	       name.size + zone_size <= DNSBLV6_LABELS_MAX;
}

static int add_item(struct maker *maker, const struct node *node, const struct sources *sources,
		    bool is_wildcard)
{
	struct names_plan *names = maker->names;
	if (!array_reserve(names->items, names->count + 1, &names->capacity) ||
	    !array_reserve(names->sources, names->source_count + sources->count,
			   &names->source_capacity))
		return -ENOMEM;
	names->items[names->count] = (struct names_item){
		.key = node->key,
		.sources = (uint32_t)names->source_count,
		.key_size = (uint16_t)node->key_size,
		.source_count = (uint8_t)sources->count,
		.is_wildcard = is_wildcard,
	};
	struct dnsblv6_key key = names_key(names, names->count);
	if (!fits_zone(maker, &key)) {
		/* No query can name anything below a name that has no room for another label. */
		if (!is_wildcard)
			refuse_node(maker, node, "too long for the zone");
		return DNSBLV6_OK;
	}
	if (sources->count > 0)
		memcpy(names->sources + names->source_count, sources->entries,
		       sources->count * sizeof(names->sources[0]));
	names->source_count += sources->count;
	names->count++;
	return DNSBLV6_OK;
}

/* The child of node whose entries begin with number first. */
static struct node find_child(const struct maker *maker, const struct node *node, uint32_t first)
{
	const struct names_entry *entries = maker->names->entries;
	const uint8_t *key = entries[first].key;
	struct node child = { .key_size = node->key_size + (node->key_size > 0), .first = first };
	while (child.key_size < entries[first].key_size && key[child.key_size] != 0)
		child.key_size++;
	for (child.end = first + 1; child.end < node->end; child.end++) {
		const struct names_entry *entry = &entries[child.end];
		if (entry->key_size < child.key_size ||
		    memcmp(entry->key, key, child.key_size) != 0 ||
		    (entry->key_size > child.key_size && entry->key[child.key_size] != 0))
			break;
	}
	return child;
}

static int put_node(struct maker *maker, const struct node *parent, struct node *node,
		    bool *ret_is_kept);

/* What is below a name, "*" between its siblings. */
static int put_below(struct maker *maker, const struct node *node, bool *ret_is_kept)
{
	size_t label = node->key_size + (node->key_size > 0);
	bool is_wildcard_due = node->below.count > 0;
	int ret = DNSBLV6_OK;
	for (uint32_t at = node->own_end; ret == DNSBLV6_OK && at < node->end;) {
		struct node child = find_child(maker, node, at);
		if (is_wildcard_due && maker->names->entries[at].key[label] >= '*') {
			is_wildcard_due = false;
			ret = add_item(maker, node, &node->below, true);
		}
		if (ret == DNSBLV6_OK)
			ret = put_node(maker, node, &child, ret_is_kept);
		at = child.end;
	}
	if (ret == DNSBLV6_OK && is_wildcard_due)
		ret = add_item(maker, node, &node->below, true);
	return ret;
}

/*
 * A name and what is below it; as many calls deep as names have labels. Sets
 * *ret_is_kept if there has to be something: not if all of it is as the
 * wildcard above says.
 */
static int put_node(struct maker *maker, const struct node *parent, struct node *node,
		    bool *ret_is_kept)
{
	struct names_plan *names = maker->names;
	size_t count = names->count;
	size_t source_count = names->source_count;
	make_node(maker, parent, node);
	bool is_kept = node->is_subzone || node->is_host;
	bool is_like_above = !is_kept && is_alike(maker, &node->own, &parent->below) &&
			     is_alike(maker, &node->below, &parent->below);
	int ret = DNSBLV6_OK;
	if (node->own.count > 0 && !node->is_host)
		ret = add_item(maker, node, &node->own, false);
	if (ret == DNSBLV6_OK)
		ret = put_below(maker, node, &is_kept);
	if (ret != DNSBLV6_OK)
		return ret;
	if (is_like_above && !is_kept) {
		names->count = count;
		names->source_count = source_count;
		return DNSBLV6_OK;
	}
	bool has_none = node->own.count == 0 && node->below.count == 0;
	*ret_is_kept = true;
	return has_none && !is_kept ? add_item(maker, node, &node->own, false) : DNSBLV6_OK;
}

/* ---- the whole ---- */

static int make_origins(struct maker *maker)
{
	const struct listing *listing = maker->listing;
	int ret = DNSBLV6_OK;
	maker->origins = calloc(listing->origin_count, sizeof(*maker->origins));
	if (maker->origins == NULL)
		return -ENOMEM;
	for (size_t i = 0; ret == DNSBLV6_OK && i < listing->origin_count; i++)
		ret = dnsblv6_key_from_labels(listing->origins[i].wire, listing->origins[i].size,
					      &maker->origins[i]);
	return ret;
}

static uint64_t count_listed(const struct names_plan *names)
{
	uint64_t count = 0;
	for (size_t i = 0; i < names->count; i++) {
		const struct names_item *item = &names->items[i];
		if (item->source_count == 0)
			continue;
		const struct names_entry *entry = &names->entries[names->sources[item->sources]];
		count += item->source_count > 1 || item->is_wildcard || !entry->is_test_point ||
			 item->key_size != entry->key_size;
	}
	return count;
}

static int make(struct maker *maker)
{
	const struct dnsblv6_value value = { .a = LISTING_A_DEFAULT, .ttl = LISTING_TTL_DEFAULT };
	struct names_plan *names = maker->names;
	int ret = value_pool_add(&maker->listing->pool, &value, &maker->test_value);
	if (ret == DNSBLV6_OK)
		ret = make_origins(maker);
	for (size_t o = 0; ret == DNSBLV6_OK && o < maker->listing->origin_count; o++)
		ret = add_origin(maker, (uint16_t)o);
	if (ret == DNSBLV6_OK && names->entry_count > 0)
		ret = add_own_names(maker);
	if (ret != DNSBLV6_OK || names->entry_count == 0)
		return ret;
	qsort(names->entries, names->entry_count, sizeof(struct names_entry), compare_entries);
	const struct node above = { .key = NULL };
	struct node root = { .end = (uint32_t)names->entry_count };
	bool is_kept = false;
	ret = put_node(maker, &above, &root, &is_kept);
	names->listed_count = count_listed(names);
	return ret;
}

int names_make(struct listing *listing, const struct spec *spec, struct findings *findings,
	       struct names_plan *ret_names)
{
	struct maker *maker = calloc(1, sizeof(*maker));
	if (maker == NULL)
		return -ENOMEM;
	maker->names = ret_names;
	maker->listing = listing;
	maker->spec = spec;
	maker->findings = findings;
	ret_names->listing = listing;
	int ret = make(maker);
	free(maker->origins);
	free(maker);
	return ret;
}

struct dnsblv6_key names_key(const struct names_plan *names, size_t item)
{
	const struct names_item *it = &names->items[item];
	struct dnsblv6_key key = { .size = it->key_size };
	if (it->key_size == 0)
		return dnsblv6_key_of_apex();
	memcpy(key.bytes, it->key, it->key_size);
	if (it->is_wildcard)
		(void)dnsblv6_key_add_label(&key, (const uint8_t *)"*", 1);
	return key;
}

void names_get(const struct names_plan *names, size_t item, uint32_t ttl, struct names_rrs *ret_rrs)
{
	const struct names_item *it = &names->items[item];
	ret_rrs->count = 0;
	for (unsigned i = 0; i < it->source_count; i++)
		names_rrs_add(names->listing, &names->entries[names->sources[it->sources + i]],
			      ret_rrs);
	if (it->source_count == 0)
		names_rrs_add_unlisted(ttl, ret_rrs);
	names_rrs_settle(ret_rrs);
}

void names_deinit(struct names_plan *names)
{
	free(names->items);
	free(names->sources);
	free(names->entries);
	memset(names, 0, sizeof(*names));
}
