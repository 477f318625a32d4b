/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/names/names.h"

#include "zone-tools/records/apex.h"
#include "zone-tools/base/array.h"
#include "zone-tools/names/names_entry.h"

#include "lib/format/dnssec.h"
#include "lib/format/wellknown.h"

#include <errno.h>
#include <string.h>

#define NONE UINT32_MAX

/* A dataset in one of its origins. Those of one origin are neighbours. */
struct voice {
	size_t dataset;
	uint16_t origin;
};

/* A name that is, or has an entry below it. Parents come before children. */
struct node {
	uint32_t first;	 /* entry: the first one at or below it */
	uint32_t count;	 /* entries at the name itself, from first on */
	uint32_t parent; /* the root: itself */
	uint16_t key_size;
	bool is_kept; /* there will be records at it or below */
	bool has_own;
	bool has_below;
	bool is_like_parent; /* the wildcard above says the same */
	bool is_foreign;
	bool is_subzone;
};

/* What a voice says: a run of entries with one key, of which those with reach count. */
struct holding {
	uint32_t first; /* NONE: nothing */
	uint8_t reach;
};

/* A node and what voices say of it, on the way down to another. */
struct frame {
	uint32_t node;
	uint16_t origin;
	bool is_pending;       /* its wildcard has still to be put */
	struct holding *own;   /* by voice */
	struct holding *below; /* by voice */
};

#define FRAMES_MAX 129 /* labels of a name, and the root */

struct maker {
	struct names_plan *names;
	struct listing *listing;
	const struct spec *spec;
	struct findings *findings;
	struct voice *voices;
	size_t voice_count;
	size_t voice_capacity;
	size_t *origin_voices; /* the first one of each origin, and an end */
	struct node *nodes;
	size_t node_count;
	size_t node_capacity;
	struct frame frames[FRAMES_MAX];
	size_t depth;
	struct holding *holdings; /* of all frames */
	uint32_t test_value;
	struct names_rrs rrs[2]; /* to compare */
};

/* ---- entries ---- */

static int add_entry(struct maker *maker, struct names_entry entry)
{
	struct names_plan *names = maker->names;
	if (names->entry_count >= NONE ||
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

static const uint8_t *keep_key(struct maker *maker, const struct dnsblv6_key *key)
{
	const uint8_t *kept = NULL;
	return listing_keep(maker->listing, key->bytes, key->size, &kept) == DNSBLV6_OK ? kept
											: NULL;
}

static void refuse_name(struct maker *maker, const uint8_t *key, size_t key_size,
			const char *reason)
{
	struct dnsblv6_labels name = { 0 };
	char text[DNSBLV6_NAME_TEXT_SIZE];
	(void)dnsblv6_key_to_labels(key, key_size, &name);
	size_t size = dnsblv6_name_format(name.wire, name.size, text);
	findings_add(maker->findings, FINDING_REFUSAL, (struct place){ .file = NULL },
		     "name refused", text, size, reason);
}

/* An entry of a dataset, with its key from the apex on. */
static int add_name(struct maker *maker, uint32_t voice, const struct name_entry *name)
{
	const struct dnsblv6_key *origin = &maker->names->origins[maker->voices[voice].origin];
	struct names_entry entry = {
		.key = name->key,
		.key_size = name->key_size,
		.voice = voice,
		.origin = maker->voices[voice].origin,
		.value = name->value,
		.reach = name->reach,
		.kind = name->is_record ? ENTRY_RECORD : ENTRY_LISTED,
	};
	if (!is_apex(origin)) {
		struct dnsblv6_key key;
		if (!join_keys(origin, name->key, name->key_size, &key)) {
			refuse_name(maker, name->key, name->key_size, "too long for the zone");
			return DNSBLV6_OK;
		}
		entry.key = keep_key(maker, &key);
		entry.key_size = key.size;
	}
	return entry.key != NULL ? add_entry(maker, entry) : -ENOMEM;
}

static const uint8_t test_label[] = DNSBLV6_NAME_LISTED;

static bool is_test_point(const struct name_entry *name)
{
	return !name->is_record && (name->reach & NAME_ITSELF) != 0 &&
	       name->key_size == sizeof(test_label) - 1 &&
	       memcmp(name->key, test_label, sizeof(test_label) - 1) == 0;
}

/* RFC 5782 section 5: a list of names has this one. */
static int add_test_point(struct maker *maker, uint32_t voice)
{
	struct name_entry name = { .key = test_label,
				   .key_size = sizeof(test_label) - 1,
				   .value = maker->test_value,
				   .reach = NAME_ITSELF };
	return add_name(maker, voice, &name);
}

/* All entries of the voices of one origin. */
static int add_origin(struct maker *maker, uint16_t origin)
{
	uint32_t lister = NONE;
	bool has_test_point = false;
	int ret = DNSBLV6_OK;
	for (size_t v = maker->origin_voices[origin]; v < maker->origin_voices[origin + 1]; v++) {
		const struct dataset *dataset = &maker->listing->datasets[maker->voices[v].dataset];
		for (size_t i = 0; ret == DNSBLV6_OK && i < dataset->name_count; i++) {
			const struct name_entry *name = &dataset->names[i];
			has_test_point |= is_test_point(name);
			if (!name->is_record)
				lister = (uint32_t)v;
			ret = add_name(maker, (uint32_t)v, name);
		}
	}
	if (ret == DNSBLV6_OK && lister != NONE && !has_test_point)
		ret = add_test_point(maker, lister);
	return ret;
}

static bool has_origin(const struct dataset *dataset, uint16_t origin)
{
	for (size_t i = 0; i < dataset->origin_count; i++) {
		if (dataset->origins[i] == origin)
			return true;
	}
	return false;
}

static int find_voices(struct maker *maker)
{
	const struct listing *listing = maker->listing;
	maker->origin_voices = calloc(listing->origin_count + 1, sizeof(size_t));
	if (maker->origin_voices == NULL)
		return -ENOMEM;
	for (size_t o = 0; o < listing->origin_count; o++) {
		maker->origin_voices[o] = maker->voice_count;
		for (size_t d = 0; d < listing->dataset_count; d++) {
			const struct dataset *dataset = &listing->datasets[d];
			if (dataset->name_count == 0 || !has_origin(dataset, (uint16_t)o))
				continue;
			if (!array_reserve(maker->voices, maker->voice_count + 1,
					   &maker->voice_capacity))
				return -ENOMEM;
			maker->voices[maker->voice_count++] = (struct voice){ d, (uint16_t)o };
		}
	}
	maker->origin_voices[listing->origin_count] = maker->voice_count;
	return DNSBLV6_OK;
}

static int add_own_name(struct maker *maker, const struct dnsblv6_labels *name, uint8_t kind,
			uint32_t value)
{
	struct dnsblv6_key key;
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &key);
	if (ret != DNSBLV6_OK)
		return ret;
	struct names_entry entry = { .key = keep_key(maker, &key),
				     .key_size = key.size,
				     .voice = NONE,
				     .value = value,
				     .kind = kind };
	return entry.key != NULL ? add_entry(maker, entry) : -ENOMEM;
}

/* What the zone has of its own among the names: sub-zones, and name servers inside. */
static int add_own_names(struct maker *maker)
{
	const struct listing *listing = maker->listing;
	int ret = DNSBLV6_OK;
	for (size_t o = 1; ret == DNSBLV6_OK && o < listing->origin_count; o++)
		ret = add_own_name(maker, &listing->origins[o], ENTRY_SUBZONE, (uint32_t)o);
	for (size_t i = 0; maker->spec != NULL && ret == DNSBLV6_OK && i < maker->spec->ns_count;
	     i++) {
		struct dnsblv6_labels name;
		if (apex_glue_name(maker->spec, i, &name))
			ret = add_own_name(maker, &name, ENTRY_FOREIGN, 0);
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
	if (left->voice != right->voice)
		return left->voice < right->voice ? -1 : 1;
	return (left->value > right->value) - (left->value < right->value);
}

/* ---- nodes ---- */

static int add_node(struct maker *maker, uint32_t first, size_t key_size, uint32_t parent)
{
	if (!array_reserve(maker->nodes, maker->node_count + 1, &maker->node_capacity))
		return -ENOMEM;
	maker->nodes[maker->node_count++] =
		(struct node){ .first = first, .parent = parent, .key_size = (uint16_t)key_size };
	return DNSBLV6_OK;
}

static const uint8_t *key_of(const struct maker *maker, const struct node *node)
{
	return maker->names->entries[node->first].key;
}

static bool is_above(const struct maker *maker, const struct node *node, const uint8_t *key,
		     size_t key_size)
{
	return node->key_size == 0 || (key_size > node->key_size && key[node->key_size] == 0 &&
				       memcmp(key_of(maker, node), key, node->key_size) == 0);
}

/* The names between the one above, node parent, and the entry; and that of the entry itself. */
static int add_path(struct maker *maker, uint32_t parent, uint32_t entry)
{
	const struct names_entry *e = &maker->names->entries[entry];
	size_t at = maker->nodes[parent].key_size;
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && at < e->key_size) {
		at += at > 0; /* the separator */
		while (at < e->key_size && e->key[at] != 0)
			at++;
		ret = add_node(maker, entry, at, parent);
		parent = (uint32_t)maker->node_count - 1;
	}
	return ret;
}

static bool has_same_key(const struct names_entry *a, const struct names_entry *b)
{
	return a->key_size == b->key_size && memcmp(a->key, b->key, a->key_size) == 0;
}

/* Entries are sorted, so the names come as a walk through the tree does. */
static int make_nodes(struct maker *maker)
{
	const struct names_plan *names = maker->names;
	int ret = add_node(maker, 0, 0, 0);
	uint32_t last = 0; /* node */
	for (uint32_t i = 0; ret == DNSBLV6_OK && i < names->entry_count;) {
		const struct names_entry *entry = &names->entries[i];
		uint32_t count = 1;
		while (i + count < names->entry_count &&
		       has_same_key(entry, &names->entries[i + count]))
			count++;
		bool is_root = entry->key_size == 1 && entry->key[0] == 0;
		while (!is_root &&
		       !is_above(maker, &maker->nodes[last], entry->key, entry->key_size))
			last = maker->nodes[last].parent;
		if (!is_root)
			ret = add_path(maker, last, i);
		if (ret == DNSBLV6_OK) {
			last = (uint32_t)maker->node_count - 1;
			maker->nodes[last].count = count;
		}
		i += count;
	}
	return ret;
}

/* ---- what voices say ---- */

static bool is_run(const struct names_plan *names, uint32_t first, uint32_t at)
{
	return at < names->entry_count && names->entries[at].voice == names->entries[first].voice &&
	       has_same_key(&names->entries[first], &names->entries[at]);
}

/* The run of entries from first on, of one voice: the part with reach; nothing if one excludes. */
static struct holding hold(const struct names_plan *names, uint32_t first, uint8_t reach,
			   bool *ret_said)
{
	struct holding holding = { NONE, reach };
	bool is_excluded = false;
	for (uint32_t i = first; is_run(names, first, i); i++) {
		const struct names_entry *entry = &names->entries[i];
		if ((entry->reach & reach) == 0)
			continue;
		*ret_said = true;
		is_excluded |= entry->kind == ENTRY_LISTED && entry->value == ENTRY_EXCLUDED;
		if (holding.first == NONE)
			holding.first = first;
	}
	if (is_excluded)
		holding.first = NONE;
	return holding;
}

/* The next entry of a holding from *at on; its reach picks them. NULL behind the last. */
static const struct names_entry *next_entry(const struct names_plan *names, struct holding holding,
					    uint32_t *at)
{
	for (; holding.first != NONE && is_run(names, holding.first, *at); (*at)++) {
		if ((names->entries[*at].reach & holding.reach) != 0)
			return &names->entries[(*at)++];
	}
	return NULL;
}

static bool is_same(const struct holding *a, const struct holding *b, size_t count)
{
	for (size_t v = 0; v < count; v++) {
		if (a[v].first != b[v].first || (a[v].first != NONE && a[v].reach != b[v].reach))
			return false;
	}
	return true;
}

static bool is_empty(const struct holding *holdings, size_t count)
{
	while (count > 0 && holdings[count - 1].first == NONE)
		count--;
	return count == 0;
}

/* The RRs that all voices give together. False when they are too many. */
static bool gather(const struct maker *maker, const struct holding *holdings, struct names_rrs *rrs)
{
	rrs->count = 0;
	for (size_t v = 0; v < maker->voice_count; v++) {
		uint32_t at = holdings[v].first;
		const struct names_entry *entry;
		while ((entry = next_entry(maker->names, holdings[v], &at)) != NULL) {
			if (rrs->count + 2 > NAMES_RRS_MAX)
				return false;
			names_add_rrs(maker->names, entry, rrs);
		}
	}
	names_settle(rrs);
	return true;
}

/* Do both come to the same RRs? Different lines may. */
static bool is_alike(struct maker *maker, const struct holding *a, const struct holding *b)
{
	if (is_same(a, b, maker->voice_count))
		return true;
	if (is_empty(a, maker->voice_count) || is_empty(b, maker->voice_count) ||
	    !gather(maker, a, &maker->rrs[0]) || !gather(maker, b, &maker->rrs[1]))
		return false;
	return names_rrs_equal(&maker->rrs[0], &maker->rrs[1]);
}

static void inherit(const struct maker *maker, const struct frame *above, struct frame *frame)
{
	for (size_t v = 0; v < maker->voice_count; v++) {
		frame->below[v] = above != NULL ? above->below[v] : (struct holding){ NONE, 0 };
		frame->own[v] = frame->below[v];
	}
}

static void refuse_node(struct maker *maker, const struct node *node, const char *reason)
{
	refuse_name(maker, key_of(maker, node), node->key_size, reason);
}

/* Entries that are no list's. */
static void enter_own_names(struct maker *maker, struct node *node, struct frame *frame)
{
	for (uint32_t i = 0; i < node->count; i++) {
		const struct names_entry *entry = &maker->names->entries[node->first + i];
		if (entry->kind == ENTRY_SUBZONE) {
			frame->origin = (uint16_t)entry->value;
			inherit(maker, NULL, frame);
			node->is_kept = true;
			node->is_subzone = true;
		} else if (entry->kind == ENTRY_FOREIGN) {
			node->is_kept = true;
			node->is_foreign = true;
		}
	}
}

static void enter_entries(struct maker *maker, const struct node *node, struct frame *frame)
{
	const struct names_plan *names = maker->names;
	for (uint32_t i = 0; i < node->count; i++) {
		uint32_t at = node->first + i;
		const struct names_entry *entry = &names->entries[at];
		bool is_first = i == 0 || names->entries[at - 1].voice != entry->voice;
		if (entry->voice == NONE || !is_first ||
		    maker->voices[entry->voice].origin != frame->origin)
			continue;
		bool has_own = false;
		bool has_below = false;
		struct holding own = hold(names, at, NAME_ITSELF, &has_own);
		struct holding below = hold(names, at, NAME_BELOW, &has_below);
		if (has_own)
			frame->own[entry->voice] = own;
		if (has_below)
			frame->below[entry->voice] = below;
	}
}

/* Once a name: what it says of itself and of what is below it, and whether it may. */
static struct frame *enter(struct maker *maker, uint32_t number)
{
	struct node *node = &maker->nodes[number];
	const struct frame *above = NULL;
	while (maker->depth > 0 && maker->frames[maker->depth - 1].node != node->parent)
		maker->depth--;
	if (maker->depth > 0)
		above = &maker->frames[maker->depth - 1];
	struct frame *frame = &maker->frames[maker->depth++];
	frame->node = number;
	frame->origin = above != NULL ? above->origin : 0;
	frame->is_pending = false;
	inherit(maker, above, frame);
	enter_own_names(maker, node, frame);
	enter_entries(maker, node, frame);
	return frame;
}

/* A list of the origin above may not speak of a sub-zone, and none of a name server. */
static void check_node(struct maker *maker, const struct node *node, const struct frame *frame)
{
	for (uint32_t i = 0; i < node->count; i++) {
		const struct names_entry *entry = &maker->names->entries[node->first + i];
		if (entry->voice == NONE)
			continue;
		if (maker->voices[entry->voice].origin != frame->origin) {
			refuse_node(maker, node, "in a sub-zone, which has lists of its own");
			return;
		}
		if (node->is_foreign) {
			refuse_node(maker, node,
				    "a name server of the zone, whose addresses --ns gives");
			return;
		}
	}
}

static void judge(struct maker *maker, struct node *node, const struct frame *frame)
{
	size_t count = maker->voice_count;
	node->has_own = !is_empty(frame->own, count);
	node->has_below = !is_empty(frame->below, count);
	if (maker->depth > 1)
		node->is_like_parent = !node->is_kept &&
				       is_alike(maker, frame->own, (frame - 1)->below) &&
				       is_alike(maker, frame->below, (frame - 1)->below);
	else
		node->is_like_parent = !node->is_kept && !node->has_own && !node->has_below;
}

/* Children are behind their parents: from the end on, each is known before its parent. */
static void keep_nodes(struct maker *maker)
{
	for (size_t i = maker->node_count; i-- > 0;) {
		struct node *node = &maker->nodes[i];
		node->is_kept |= !node->is_like_parent;
		if (node->is_kept)
			maker->nodes[node->parent].is_kept = true;
	}
}

/* ---- items ---- */

static int add_source(struct names_plan *names, uint32_t entry)
{
	if (!array_reserve(names->sources, names->source_count + 1, &names->source_capacity))
		return -ENOMEM;
	names->sources[names->source_count++] = entry;
	return DNSBLV6_OK;
}

static int add_sources(struct maker *maker, const struct holding *holdings, size_t *ret_count)
{
	struct names_plan *names = maker->names;
	size_t before = names->source_count;
	int ret = DNSBLV6_OK;
	for (size_t v = 0; ret == DNSBLV6_OK && v < maker->voice_count; v++) {
		uint32_t at = holdings[v].first;
		const struct names_entry *entry;
		const struct names_entry *at_before = NULL;
		while (ret == DNSBLV6_OK && (entry = next_entry(names, holdings[v], &at)) != NULL) {
			/* Lines that come twice. */
			if (at_before != NULL && entry->kind == ENTRY_LISTED &&
			    at_before->value == entry->value)
				continue;
			at_before = entry;
			ret = add_source(names, (uint32_t)(entry - names->entries));
		}
	}
	*ret_count = names->source_count - before;
	return ret;
}

static bool fits(const struct maker *maker, const struct dnsblv6_key *key)
{
	struct dnsblv6_labels name;
	size_t zone_size = maker->spec != NULL ? maker->spec->zone.size : 0;
	return dnsblv6_key_to_labels(key->bytes, key->size, &name) == DNSBLV6_OK &&
	       name.size + zone_size <= DNSBLV6_LABELS_MAX;
}

/* The test point of a list of names, as we would put it there: it is no listing. */
static bool is_test_item(const struct maker *maker, const struct names_item *item)
{
	const struct names_plan *names = maker->names;
	struct dnsblv6_key test;
	if (item->source_count != 1 || item->is_wildcard)
		return false;
	const struct names_entry *entry = &names->entries[names->sources[item->sources]];
	return entry->kind == ENTRY_LISTED && entry->value == maker->test_value &&
	       join_keys(&names->origins[entry->origin], test_label, sizeof(test_label) - 1,
			 &test) &&
	       test.size == item->key_size && memcmp(test.bytes, entry->key, test.size) == 0;
}

static int add_item(struct maker *maker, const struct node *node, const struct holding *holdings,
		    bool is_wildcard)
{
	struct names_plan *names = maker->names;
	struct names_item item = { .entry = node->first,
				   .sources = (uint32_t)names->source_count,
				   .key_size = node->key_size,
				   .is_wildcard = is_wildcard };
	size_t count = 0;
	if (!array_reserve(names->items, names->count + 1, &names->capacity))
		return -ENOMEM;
	int ret = add_sources(maker, holdings, &count);
	if (ret != DNSBLV6_OK)
		return ret;
	if (count > NAMES_SOURCES_MAX) {
		refuse_node(maker, node, "more than 48 values for one name");
		return DNSBLV6_OK;
	}
	item.source_count = (uint8_t)count;
	names->items[names->count++] = item;
	struct dnsblv6_key key = names_key(names, names->count - 1);
	if (!fits(maker, &key)) {
		names->count--;
		/* No query can name anything below a name that has no room for another label. */
		if (!is_wildcard)
			refuse_node(maker, node, "too long for the zone");
		return DNSBLV6_OK;
	}
	names->listed_count += count > 0 && !is_test_item(maker, &item);
	return DNSBLV6_OK;
}

static int put_wildcard(struct maker *maker, struct frame *frame)
{
	if (!frame->is_pending)
		return DNSBLV6_OK;
	frame->is_pending = false;
	return add_item(maker, &maker->nodes[frame->node], frame->below, true);
}

/* The wildcards that come before a node, or before nothing more: "*" is between its siblings. */
static int put_wildcards(struct maker *maker, const struct node *node)
{
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && maker->depth > 0) {
		struct frame *top = &maker->frames[maker->depth - 1];
		if (node == NULL || top->node != node->parent) {
			ret = put_wildcard(maker, top);
			maker->depth--;
			continue;
		}
		const uint8_t *label = key_of(maker, node) + maker->nodes[top->node].key_size;
		label += maker->nodes[top->node].key_size > 0;
		return *label < '*' ? DNSBLV6_OK : put_wildcard(maker, top);
	}
	return ret;
}

static bool has_nothing_below(const struct maker *maker, uint32_t number)
{
	/* The first child that is kept comes before any other node of the same parent. */
	for (size_t i = number + 1u; i < maker->node_count && maker->nodes[i].parent >= number;
	     i++) {
		if (maker->nodes[i].is_kept)
			return false;
	}
	return true;
}

static int put_node(struct maker *maker, uint32_t number)
{
	struct node *node = &maker->nodes[number];
	int ret = put_wildcards(maker, node);
	if (ret != DNSBLV6_OK)
		return ret;
	struct frame *frame = enter(maker, number);
	bool is_bare = !node->has_own && !node->has_below && !node->is_subzone &&
		       !node->is_like_parent && has_nothing_below(maker, number);
	frame->is_pending = node->has_below;
	if (!node->is_foreign && (node->has_own || is_bare))
		ret = add_item(maker, node, frame->own, false);
	return ret;
}

static int put_nodes(struct maker *maker)
{
	int ret = DNSBLV6_OK;
	maker->depth = 0;
	for (uint32_t i = 0; ret == DNSBLV6_OK && i < maker->node_count; i++) {
		if (i == 0 || maker->nodes[i].is_kept)
			ret = put_node(maker, i);
	}
	return ret == DNSBLV6_OK ? put_wildcards(maker, NULL) : ret;
}

static void judge_nodes(struct maker *maker)
{
	maker->depth = 0;
	for (uint32_t i = 0; i < maker->node_count; i++) {
		const struct frame *frame = enter(maker, i);
		check_node(maker, &maker->nodes[i], frame);
		judge(maker, &maker->nodes[i], frame);
	}
}

/* ---- the whole ---- */

static int make_frames(struct maker *maker)
{
	size_t count = maker->voice_count > 0 ? maker->voice_count : 1;
	maker->holdings = calloc(2 * FRAMES_MAX * count, sizeof(*maker->holdings));
	if (maker->holdings == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < FRAMES_MAX; i++) {
		maker->frames[i].own = maker->holdings + 2 * i * count;
		maker->frames[i].below = maker->frames[i].own + count;
	}
	return DNSBLV6_OK;
}

static int make_origins(struct maker *maker)
{
	const struct listing *listing = maker->listing;
	struct names_plan *names = maker->names;
	names->origins = calloc(listing->origin_count, sizeof(*names->origins));
	if (names->origins == NULL)
		return -ENOMEM;
	int ret = DNSBLV6_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < listing->origin_count; i++)
		ret = dnsblv6_key_from_labels(listing->origins[i].wire, listing->origins[i].size,
					      &names->origins[i]);
	return ret;
}

static int make(struct maker *maker)
{
	const struct dnsblv6_value value = { .a = LISTING_A_DEFAULT, .ttl = LISTING_TTL_DEFAULT };
	int ret = value_pool_add(&maker->listing->pool, &value, &maker->test_value);
	if (ret == DNSBLV6_OK)
		ret = make_origins(maker);
	for (size_t o = 0; ret == DNSBLV6_OK && o < maker->listing->origin_count; o++)
		ret = add_origin(maker, (uint16_t)o);
	if (ret == DNSBLV6_OK)
		ret = add_own_names(maker);
	if (ret != DNSBLV6_OK || maker->names->entry_count == 0)
		return ret;
	qsort(maker->names->entries, maker->names->entry_count, sizeof(struct names_entry),
	      compare_entries);
	ret = make_frames(maker);
	if (ret == DNSBLV6_OK)
		ret = make_nodes(maker);
	if (ret != DNSBLV6_OK)
		return ret;
	judge_nodes(maker);
	keep_nodes(maker);
	return put_nodes(maker);
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
	int ret = find_voices(maker);
	if (ret == DNSBLV6_OK && maker->voice_count > 0)
		ret = make(maker);
	free(maker->voices);
	free(maker->origin_voices);
	free(maker->nodes);
	free(maker->holdings);
	free(maker);
	return ret;
}

void names_deinit(struct names_plan *names)
{
	free(names->items);
	free(names->sources);
	free(names->entries);
	free(names->origins);
	memset(names, 0, sizeof(*names));
}
