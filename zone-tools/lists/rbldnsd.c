/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/rbldnsd.h"

#include "zone-tools/lists/rbldnsd_address.h"
#include "zone-tools/lists/rbldnsd_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

static const struct type_row {
	const char *name;
	enum duplicate_policy policy;
	bool is_trie;
	bool is_tset; /* one value for all entries */
} types[] = {
	[RBLDNSD_IP4SET] = { "ip4set", DUPLICATE_ALL, false, false },
	[RBLDNSD_IP4TRIE] = { "ip4trie", DUPLICATE_FIRST, true, false },
	[RBLDNSD_IP4TSET] = { "ip4tset", DUPLICATE_FIRST, false, true },
	[RBLDNSD_IP6TRIE] = { "ip6trie", DUPLICATE_FIRST, true, false },
	[RBLDNSD_IP6TSET] = { "ip6tset", DUPLICATE_FIRST, false, true },
	[RBLDNSD_COMBINED] = { "combined", DUPLICATE_FIRST, false, false },
	[RBLDNSD_DNSET] = { "dnset", DUPLICATE_ALL, false, false },
	[RBLDNSD_GENERIC] = { "generic", DUPLICATE_ALL, false, false },
	[RBLDNSD_ACL] = { "acl", DUPLICATE_FIRST, true, false },
};

static bool is_name(const char *known, const char *name, size_t name_size)
{
	return strlen(known) == name_size && memcmp(known, name, name_size) == 0;
}

int rbldnsd_type_find(const char *name, size_t name_size, enum rbldnsd_type *ret_type)
{
	for (unsigned type = 0; type < sizeof(types) / sizeof(types[0]); type++) {
		if (is_name(types[type].name, name, name_size)) {
			*ret_type = (enum rbldnsd_type)type;
			return DNSBLV6_OK;
		}
	}
	return DNSBLV6_ENOTFOUND;
}

/* ---- the dataset that is open ---- */

static const struct dnsblv6_value built_in_value = { .a = LISTING_A_DEFAULT };

static struct dataset *dataset_of(struct rbldnsd *reader)
{
	return &reader->reading->listing->datasets[reader->set.dataset];
}

struct dnsblv6_value rbldnsd_default(const struct rbldnsd *reader)
{
	return reader->set.raw.values[reader->set.default_number];
}

static void scope_deinit(struct rbldnsd_scope *scope)
{
	for (unsigned i = 0; i < RBLDNSD_VARIABLE_COUNT; i++)
		free(scope->variables[i]);
	memset(scope, 0, sizeof(*scope));
}

static int copy_scope(const struct rbldnsd_scope *from, struct rbldnsd_scope *to)
{
	to->ttl = from->ttl;
	for (unsigned i = 0; i < RBLDNSD_VARIABLE_COUNT; i++) {
		if (from->variables[i] == NULL)
			continue;
		to->variables[i] = strdup(from->variables[i]);
		if (to->variables[i] == NULL)
			return -ENOMEM;
	}
	return DNSBLV6_OK;
}

static void set_deinit(struct rbldnsd_set *set)
{
	scope_deinit(&set->scope);
	value_pool_deinit(&set->raw);
	free(set->prefixes.slots);
	memset(set, 0, sizeof(*set));
}

int rbldnsd_set_begin(struct rbldnsd *reader, enum rbldnsd_type type)
{
	int ret = rbldnsd_end(reader);
	if (ret != DNSBLV6_OK)
		return ret;
	struct listing *listing = reader->reading->listing;
	struct dataset *dataset;
	ret = listing_add_dataset(listing, types[type].policy, &dataset);
	if (ret != DNSBLV6_OK)
		return ret;

	struct rbldnsd_set *set = &reader->set;
	set->type = type;
	set->dataset = listing->dataset_count - 1;
	ret = copy_scope(&reader->scope, &set->scope);
	if (ret == DNSBLV6_OK)
		ret = value_pool_add(&set->raw, &built_in_value, &set->default_number);
	reader->has_set = ret == DNSBLV6_OK;
	if (ret != DNSBLV6_OK)
		set_deinit(set);
	return ret;
}

/* Where each raw value is in the listing's pool; NULL without memory. */
static uint32_t *compile_values(struct rbldnsd *reader)
{
	const struct value_pool *raw = &reader->set.raw;
	uint32_t *numbers = reallocarray(NULL, raw->count, sizeof(*numbers));
	for (size_t i = 0; numbers != NULL && i < raw->count; i++) {
		uint8_t text[RBLDNSD_TEXT_MAX];
		struct dnsblv6_value value =
			rbldnsd_value_compile(&raw->values[i], &reader->set.scope, text);
		if (value_pool_add(&reader->reading->listing->pool, &value, &numbers[i]) !=
		    DNSBLV6_OK) {
			free(numbers);
			return NULL;
		}
	}
	return numbers;
}

static int number_entries(struct rbldnsd *reader, uint32_t *numbers)
{
	const struct rbldnsd_set *set = &reader->set;
	struct dataset *dataset = dataset_of(reader);
	for (size_t i = 0; types[set->type].is_tset && i < set->raw.count; i++)
		numbers[i] = numbers[set->default_number];
	dataset_revalue(dataset, numbers);
	for (size_t i = 0; i < dataset->name_count; i++) {
		struct name_entry *name = &dataset->names[i];
		if (!name->is_record && name->value != ENTRY_EXCLUDED)
			name->value = numbers[name->value];
	}
	return dataset_settle(dataset);
}

int rbldnsd_end(struct rbldnsd *reader)
{
	if (!reader->has_set)
		return DNSBLV6_OK;
	uint32_t *numbers = compile_values(reader);
	if (numbers == NULL)
		return -ENOMEM;
	int ret = number_entries(reader, numbers);
	free(numbers);
	set_deinit(&reader->set);
	reader->has_set = false;
	return ret;
}

/* ---- prefixes that come twice ---- */

static uint64_t hash_prefix(const struct entry *entry)
{
	uint64_t hash = entry->first.hi * 0x9e3779b97f4a7c15u;
	hash = (hash ^ entry->first.lo) * 0xff51afd7ed558ccdu;
	hash = (hash ^ hash >> 32 ^ entry->prefix_len) * 0xc4ceb9fe1a85ec53u;
	return hash >> 24;
}

static uint32_t *find_prefix(const struct prefix_table *table, const struct entry *entries,
			     const struct entry *wanted)
{
	size_t mask = table->slot_count - 1;
	size_t i = (size_t)hash_prefix(wanted) & mask;
	for (; table->slots[i] != 0; i = (i + 1) & mask) {
		const struct entry *known = &entries[table->slots[i] - 1];
		if (known->prefix_len == wanted->prefix_len &&
		    dnsblv6_addr_compare(known->first, wanted->first) == 0)
			break;
	}
	return &table->slots[i];
}

static int grow_table(struct prefix_table *table, const struct entry *entries)
{
	struct prefix_table grown = {
		.slot_count = table->slot_count == 0 ? 256 : table->slot_count * 2,
		.count = table->count,
	};
	grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
	if (grown.slots == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->count; i++)
		*find_prefix(&grown, entries, &entries[i]) = i + 1;
	free(table->slots);
	*table = grown;
	return DNSBLV6_OK;
}

/* Every entry of the dataset is in the table: numbers are those of the entries. */
int rbldnsd_add_once(struct rbldnsd *reader, struct dnsblv6_prefix prefix, uint32_t value)
{
	struct prefix_table *table = &reader->set.prefixes;
	struct dataset *dataset = dataset_of(reader);
	int ret = DNSBLV6_OK;
	if (table->count >= table->slot_count / 2)
		ret = grow_table(table, dataset->entries);
	if (ret != DNSBLV6_OK)
		return ret;

	struct entry entry = { .first = prefix.first, .prefix_len = prefix.prefix_len };
	uint32_t *slot = find_prefix(table, dataset->entries, &entry);
	if (*slot != 0)
		return reading_warn(reader->reading, "line ignored", "prefix is listed before");
	ret = dataset_add_loose(dataset, prefix, value);
	if (ret == DNSBLV6_OK)
		*slot = (uint32_t)++table->count;
	return ret;
}

/* ---- entries ---- */

/*
 * rbldnsd keeps ranges as /32, /24, /16 and /8, and the narrowest of these
 * that holds an address decides: so 10.0.1.0-10.0.1.255 is one /24, but
 * 10.0.1.0/25 is 128 addresses, each stronger than any wider line.
 */
static int add_octet_ranges(struct dataset *dataset, const struct rbldnsd_range *range,
			    uint32_t value)
{
	uint64_t at = dnsblv6_addr_ipv4(range->first);
	uint64_t last = dnsblv6_addr_ipv4(range->last);
	while (at <= last) {
		unsigned host_bits = 24;
		while (at % (1u << host_bits) != 0 || at + (1u << host_bits) - 1 > last)
			host_bits -= 8;
		struct dnsblv6_prefix prefix = {
			.first = dnsblv6_addr_from_ipv4((uint32_t)at),
			.prefix_len = (uint8_t)(128 - host_bits),
		};
		int ret = dataset_add_entry(dataset, prefix, value);
		if (ret != DNSBLV6_OK)
			return ret;
		at += 1u << host_bits;
	}
	return DNSBLV6_OK;
}

static int add_entry(struct rbldnsd *reader, const struct rbldnsd_range *range, uint32_t value)
{
	struct dnsblv6_prefix prefix = { range->first, range->prefix_len };
	enum rbldnsd_type type = reader->set.type;
	reader->reading->listed_count += value != ENTRY_EXCLUDED;
	if (type == RBLDNSD_IP4SET)
		return add_octet_ranges(dataset_of(reader), range, value);
	if (types[type].is_trie)
		return rbldnsd_add_once(reader, prefix, value);
	return dataset_add_entry(dataset_of(reader), prefix, value);
}

static bool is_too_large(const struct rbldnsd *reader, const struct rbldnsd_range *range)
{
	enum rbldnsd_type type = reader->set.type;
	if (reader->range_max == 0 || (type != RBLDNSD_IP4SET && type != RBLDNSD_IP4TRIE))
		return false;
	uint32_t size = dnsblv6_addr_ipv4(range->last) - dnsblv6_addr_ipv4(range->first);
	return reader->range_max <= size;
}

int rbldnsd_keep_value(struct rbldnsd *reader, const char *text,
		       const struct dnsblv6_value *fallback, uint32_t *ret_number,
		       const char **ret_fault)
{
	struct dnsblv6_value value;
	bool is_cut = false;
	*ret_fault = rbldnsd_value_parse(text, fallback, &value, &is_cut);
	if (*ret_fault != NULL)
		return DNSBLV6_OK;
	if (is_cut)
		reading_warn(reader->reading, "text cut", "it is longer than 255 bytes");
	return value_pool_add(&reader->set.raw, &value, ret_number);
}

/* What stands behind the address of an entry. */
int rbldnsd_read_value(struct rbldnsd *reader, const char *at, uint32_t *ret_number,
		       const char **ret_fault)
{
	struct rbldnsd_set *set = &reader->set;
	*ret_fault = NULL;
	*ret_number = set->default_number;
	at = rbldnsd_skip_blanks(at);
	/* A tset has one value; rbldnsd passes over what its lines say beyond the address. */
	if (types[set->type].is_tset || rbldnsd_is_end(*at))
		return DNSBLV6_OK;
	struct dnsblv6_value fallback = rbldnsd_default(reader);
	return rbldnsd_keep_value(reader, at, &fallback, ret_number, ret_fault);
}

static const char *read_address(struct rbldnsd *reader, bool is_exclusion, const char **at,
				struct rbldnsd_range *ret_range)
{
	const char *fault = rbldnsd_address_parse(reader->set.type, is_exclusion, at, ret_range);
	if (fault != NULL)
		return fault;
	if (!rbldnsd_is_behind_address(**at))
		return "what follows the address does not belong there";
	if (ret_range->has_host_bits && !reader->reading->options->cut_host_bits)
		return dnsblv6_strerror(DNSBLV6_EHOSTBITS);
	return NULL;
}

static int read_entry(struct rbldnsd *reader, const char *at)
{
	struct reading *reading = reader->reading;
	bool is_exclusion = *at == '!' && reader->set.type != RBLDNSD_IP4TSET;
	if (is_exclusion)
		at = rbldnsd_skip_blanks(at + 1);

	struct rbldnsd_range range;
	const char *fault = read_address(reader, is_exclusion, &at, &range);
	if (fault == NULL && is_too_large(reader, &range))
		return reading_warn(reading, "line ignored", "range larger than $MAXRANGE4");
	uint32_t value = ENTRY_EXCLUDED;
	int ret = DNSBLV6_OK;
	if (fault == NULL && !is_exclusion)
		ret = rbldnsd_read_value(reader, at, &value, &fault);
	if (ret != DNSBLV6_OK)
		return ret;
	if (fault != NULL)
		return reading_refuse_line(reading, fault);
	if (!reading_accepts(reading, range.first, range.last, is_exclusion))
		return DNSBLV6_OK;
	return add_entry(reader, &range, value);
}

/* ":A:text" at the start of a line: for the entries below, or for all of a tset. */
static int read_default(struct rbldnsd *reader, const char *text)
{
	struct rbldnsd_set *set = &reader->set;
	if (types[set->type].is_tset && set->has_default_line)
		return reading_warn(reader->reading, "line ignored",
				    "only the first default value of this dataset counts");
	const char *fault;
	int ret = rbldnsd_keep_value(reader, text, &built_in_value, &set->default_number, &fault);
	if (ret != DNSBLV6_OK)
		return ret;
	if (fault != NULL)
		return reading_refuse_line(reader->reading, fault);
	set->has_default_line = true;
	return DNSBLV6_OK;
}

static bool is_default_line(const struct rbldnsd *reader, const char *line)
{
	/* "::1" is an address, but not where rbldnsd looks for groups of a /64 */
	return line[0] == ':' && (reader->set.type != RBLDNSD_IP6TRIE || line[1] != ':');
}

static int read_content(struct rbldnsd *reader, const char *line)
{
	switch (reader->set.type) {
	case RBLDNSD_GENERIC:
		return rbldnsd_record_read(reader, line);
	case RBLDNSD_ACL:
		return rbldnsd_acl_read(reader, line);
	case RBLDNSD_DNSET:
		if (line[0] != ':')
			return rbldnsd_name_read(reader, line);
		break;
	default:
		break;
	}
	return is_default_line(reader, line) ? read_default(reader, line)
					     : read_entry(reader, line);
}

/* ---- lines ---- */

static int read_in_dataset(struct rbldnsd *reader, const char *line)
{
	if (reader->is_lost)
		return DNSBLV6_OK;
	if (!reader->has_set || reader->is_detached) {
		/* rbldnsd does not load such a file at all: no case for --max-bad-lines. */
		reader->is_lost = true;
		reading_refuse(reader->reading, "line refused",
			       "no $DATASET before it in this file");
		return DNSBLV6_OK;
	}
	return read_content(reader, line);
}

int rbldnsd_read_line(struct rbldnsd *reader, const char *line)
{
	line = rbldnsd_skip_blanks(line);
	bool is_marked = strspn(line, "#;:") > 0 && line[1] == '$';
	if (line[0] == '$' || is_marked) {
		int ret = rbldnsd_special_read(reader, line + 1 + is_marked, is_marked);
		reader->is_detached = false;
		return ret;
	}
	if (rbldnsd_is_end(line[0]))
		return DNSBLV6_OK;
	return read_in_dataset(reader, line);
}

/* ---- life ---- */

int rbldnsd_new(struct reading *reading, enum rbldnsd_type type, struct rbldnsd **ret_reader)
{
	struct rbldnsd *reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return -ENOMEM;
	reader->reading = reading;
	reader->type = type;
	if (type != RBLDNSD_COMBINED) {
		int ret = rbldnsd_set_begin(reader, type);
		uint16_t origin = type == RBLDNSD_ACL ? DNSBLV6_ORIGIN_ACL : 0;
		if (ret == DNSBLV6_OK)
			ret = listing_connect(reading->listing, origin);
		if (ret != DNSBLV6_OK) {
			rbldnsd_free(reader);
			return ret;
		}
	}
	*ret_reader = reader;
	return DNSBLV6_OK;
}

void rbldnsd_free(struct rbldnsd *reader)
{
	if (reader == NULL)
		return;
	if (reader->has_set)
		set_deinit(&reader->set);
	scope_deinit(&reader->scope);
	free(reader);
}

int rbldnsd_begin_file(struct rbldnsd *reader)
{
	if (reader->type == RBLDNSD_COMBINED)
		reader->is_detached = true;
	else if (reader->type == RBLDNSD_ACL)
		return rbldnsd_acl_begin_file(reader);
	else if (!types[reader->type].is_tset)
		reader->set.default_number = 0; /* the built-in value is the first of its pool */
	return DNSBLV6_OK;
}
