/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/reading/nameprint.h"

#include "zone-tools/base/array.h"
#include "zone-tools/records/bare.h"
#include "zone-tools/reading/contents.h"

#include "lib/format/dnssec.h"
#include "lib/format/wellknown.h"
#include "lib/store/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define DEPTH_MAX 128 /* labels of a name */

/* What a list may say of one name. */
struct data {
	struct dnsblv6_rr a[BARE_RRS_MAX];
	struct dnsblv6_rr txt[BARE_RRS_MAX];
	struct dnsblv6_rr mx[BARE_RRS_MAX];
	size_t a_count;
	size_t txt_count;
	size_t mx_count;
};

struct printer {
	struct reader *reader;
	FILE *stream;
	struct dnsblv6_origin *origins;
	size_t origin_count;
	struct dnsblv6_key *hosts; /* names of name servers inside the zone */
	size_t host_count;
	size_t host_capacity;
	size_t origin; /* whose names are printed */
	struct dnsblv6_key start;
	bool has_lists;	 /* it has names of a dnset, and not records alone */
	bool is_generic; /* now the records that no dnset can hold */
	uint32_t ttl;	 /* now those with this TTL */
	uint32_t *ttls;
	size_t ttl_count;
	size_t ttl_capacity;
	bool is_collecting; /* now nothing is printed: ttls are collected */
	/* The names above and at the one that was visited last. */
	size_t sizes[DEPTH_MAX]; /* of their keys, which it begins with */
	bool has_wildcard[DEPTH_MAX];
	size_t depth;
	struct dnsblv6_key at;
};

/* ---- one name ---- */

static bool add(struct dnsblv6_rr *rrs, size_t *count, const struct dnsblv6_rr *rr)
{
	if (*count == BARE_RRS_MAX)
		return false;
	rrs[(*count)++] = *rr;
	return true;
}

/* An absent name has no data. */
static int get_data(const struct printer *printer, const struct dnsblv6_key *key,
		    struct data *ret_data)
{
	struct store_bytes value;
	struct dnsblv6_rr rr;
	size_t offset = 0;
	bool fits = true;
	ret_data->a_count = ret_data->txt_count = ret_data->mx_count = 0;
	int ret = reader_get(printer->reader, STORE_RECORDS, key->bytes, key->size, &value);
	if (ret == DNSBLV6_ENOTFOUND)
		return DNSBLV6_OK;
	if (ret != DNSBLV6_OK ||
	    dnsblv6_record_kind(value.data, value.size) != DNSBLV6_RECORD_RRSETS)
		return ret;
	while (fits &&
	       (ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		if (rr.type == DNSBLV6_TYPE_A && rr.rdata_size == 4)
			fits = add(ret_data->a, &ret_data->a_count, &rr);
		else if (rr.type == DNSBLV6_TYPE_TXT && rr.rdata_size > 0)
			fits = add(ret_data->txt, &ret_data->txt_count, &rr);
		else if (rr.type == DNSBLV6_TYPE_MX && rr.rdata_size > 2)
			fits = add(ret_data->mx, &ret_data->mx_count, &rr);
	}
	if (!fits)
		return DNSBLV6_ESPACE;
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int get_wildcard(const struct printer *printer, const struct dnsblv6_key *key,
			struct data *ret_data)
{
	struct dnsblv6_key wildcard = *key;
	if (dnsblv6_key_add_label(&wildcard, (const uint8_t *)"*", 1) == DNSBLV6_OK)
		return get_data(printer, &wildcard, ret_data);
	/* The name is too long to have one. */
	ret_data->a_count = ret_data->txt_count = ret_data->mx_count = 0;
	return DNSBLV6_OK;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* Would a line of a dnset be read as this text? */
static bool is_template(const struct dnsblv6_rr *txt)
{
	size_t size = txt->rdata[0];
	return size > 0 && size <= DNSBLV6_TEXT_MAX && size + 1 == txt->rdata_size &&
	       !is_blank(txt->rdata[1]) && !is_blank(txt->rdata[size]);
}

/* Can a dnset say this? A wildcard came from one. */
static bool is_listing(const struct data *data)
{
	static const uint8_t zero[4] = { 0 };
	for (size_t i = 0; i < data->a_count; i++) {
		if (memcmp(data->a[i].rdata, zero, sizeof(zero)) == 0)
			return false;
	}
	for (size_t i = 0; i < data->txt_count; i++) {
		if (!is_template(&data->txt[i]))
			return false;
	}
	return data->mx_count == 0 && data->a_count > 0 &&
	       (data->txt_count == 0 || data->txt[0].ttl >= data->a[0].ttl);
}

/* ---- printing ---- */

static void print_name(const struct printer *printer, const struct dnsblv6_key *key)
{
	struct dnsblv6_labels name = { 0 };
	char text[DNSBLV6_NAME_TEXT_SIZE];
	(void)dnsblv6_key_to_labels(key->bytes, key->size, &name);
	dnsblv6_name_format(name.wire, name.size - printer->origins[printer->origin].name.size,
			    text);
	/* At the start of a line these would be no part of a name. */
	if (strchr("!#:=", text[0]) != NULL)
		fprintf(printer->stream, "\\%03u%s", (unsigned char)text[0], text + 1);
	else
		fputs(text, printer->stream);
}

static void print_bytes(const struct printer *printer, const uint8_t *bytes, size_t size)
{
	fwrite(bytes, 1, size, printer->stream);
}

static void print_address(const struct printer *printer, const struct dnsblv6_rr *a)
{
	fprintf(printer->stream, "%u.%u.%u.%u", a->rdata[0], a->rdata[1], a->rdata[2], a->rdata[3]);
}

static void print_template(const struct printer *printer, const struct dnsblv6_rr *txt)
{
	/* At the start "=" says that no base template is wanted. */
	if (txt->rdata[1] == '=')
		fputc('=', printer->stream);
	for (unsigned i = 1; i <= txt->rdata[0]; i++) {
		if (txt->rdata[i] == '$')
			fputc('$', printer->stream);
		fputc(txt->rdata[i], printer->stream);
	}
}

static void print_entry(const struct printer *printer, const char *mark,
			const struct dnsblv6_key *key, const struct dnsblv6_rr *a,
			const struct dnsblv6_rr *txt)
{
	fputs(mark, printer->stream);
	print_name(printer, key);
	if (a != NULL) {
		fputs(" :", printer->stream);
		print_address(printer, a);
		fputc(':', printer->stream);
	}
	if (txt != NULL)
		print_template(printer, txt);
	fputc('\n', printer->stream);
}

/* The values with the TTL of this turn, if there are any: a text needs an address beside it. */
static bool print_values(const struct printer *printer, const char *mark,
			 const struct dnsblv6_key *key, const struct data *data)
{
	size_t a_count = data->a_count > 0 && data->a[0].ttl == printer->ttl ? data->a_count : 0;
	size_t txt_count =
		data->txt_count > 0 && data->txt[0].ttl == printer->ttl ? data->txt_count : 0;
	size_t count = a_count > txt_count ? a_count : txt_count;
	for (size_t i = 0; i < count; i++)
		print_entry(printer, mark, key, &data->a[i < a_count ? i : 0],
			    i < txt_count ? &data->txt[i] : NULL);
	return count > 0;
}

static void print_record(const struct printer *printer, const struct dnsblv6_key *key,
			 const struct dnsblv6_rr *rr)
{
	struct dnsblv6_labels name = { 0 };
	char text[DNSBLV6_NAME_TEXT_SIZE];
	print_name(printer, key);
	fprintf(printer->stream, " %" PRIu32 " ", rr->ttl);
	switch (rr->type) {
	case DNSBLV6_TYPE_A:
		fputs("A ", printer->stream);
		print_address(printer, rr);
		break;
	case DNSBLV6_TYPE_TXT:
		fputs("TXT \"", printer->stream);
		print_bytes(printer, rr->rdata + 1, rr->rdata_size - 1u);
		fputc('"', printer->stream);
		break;
	default:
		name.size = (uint8_t)(rr->rdata_size - 3); /* without the root label */
		memcpy(name.wire, rr->rdata + 2, name.size);
		dnsblv6_name_format(name.wire, name.size, text);
		fprintf(printer->stream, "MX %u %s", rr->rdata[0] * 256u + rr->rdata[1],
			name.size > 0 ? text : ".");
		break;
	}
	fputc('\n', printer->stream);
}

static void print_records(const struct printer *printer, const struct dnsblv6_key *key,
			  const struct data *data)
{
	for (size_t i = 0; i < data->a_count; i++)
		print_record(printer, key, &data->a[i]);
	for (size_t i = 0; i < data->txt_count; i++)
		print_record(printer, key, &data->txt[i]);
	for (size_t i = 0; i < data->mx_count; i++)
		print_record(printer, key, &data->mx[i]);
}

static int collect_ttl(struct printer *printer, const struct dnsblv6_rr *rrs, size_t count)
{
	if (count == 0)
		return DNSBLV6_OK;
	for (size_t i = 0; i < printer->ttl_count; i++) {
		if (printer->ttls[i] == rrs[0].ttl)
			return DNSBLV6_OK;
	}
	if (!array_reserve(printer->ttls, printer->ttl_count + 1, &printer->ttl_capacity))
		return -ENOMEM;
	printer->ttls[printer->ttl_count++] = rrs[0].ttl;
	return DNSBLV6_OK;
}

static int collect_ttls(struct printer *printer, const struct data *own, const struct data *below)
{
	int ret = collect_ttl(printer, own->a, own->a_count);
	if (ret == DNSBLV6_OK)
		ret = collect_ttl(printer, own->txt, own->txt_count);
	if (ret == DNSBLV6_OK)
		ret = collect_ttl(printer, below->a, below->a_count);
	return ret == DNSBLV6_OK ? collect_ttl(printer, below->txt, below->txt_count) : ret;
}

/* ---- a walk through the names of one origin, as a tree ---- */

static bool is_host(const struct printer *printer, const struct dnsblv6_key *key)
{
	for (size_t i = 0; i < printer->host_count; i++) {
		if (printer->hosts[i].size == key->size &&
		    memcmp(printer->hosts[i].bytes, key->bytes, key->size) == 0)
			return true;
	}
	return false;
}

/* What there is at a name and below it, in the turn that it is. */
static int visit(struct printer *printer, const struct dnsblv6_key *key, bool has_wildcard_above,
		 bool *ret_has_wildcard)
{
	struct data own;
	struct data below;
	bool is_start = key->size == printer->start.size &&
			memcmp(key->bytes, printer->start.bytes, key->size) == 0;
	*ret_has_wildcard = has_wildcard_above;
	if (is_host(printer, key))
		return DNSBLV6_OK;
	int ret = get_data(printer, key, &own);
	if (ret == DNSBLV6_OK)
		ret = get_wildcard(printer, key, &below);
	if (ret != DNSBLV6_OK)
		return ret;
	bool is_listed = printer->has_lists && !is_start && is_listing(&own);
	if (printer->is_generic) {
		if (!is_listed)
			print_records(printer, key, &own);
		return DNSBLV6_OK;
	}
	if (!is_listed)
		own.a_count = own.txt_count = 0;
	if (is_start)
		return DNSBLV6_OK;
	if (printer->is_collecting)
		return collect_ttls(printer, &own, &below);
	if (!print_values(printer, "", key, &own) && has_wildcard_above)
		print_entry(printer, "!", key, NULL, NULL);
	*ret_has_wildcard = print_values(printer, "*.", key, &below);
	if (!*ret_has_wildcard && has_wildcard_above)
		print_entry(printer, "!*.", key, NULL, NULL);
	return DNSBLV6_OK;
}

static unsigned label_count(const struct dnsblv6_key *key)
{
	return dnsblv6_key_label_count(key->bytes, key->size);
}

/* Down to key, which lies at or below the start: every name on the way that is new. */
static int visit_path(struct printer *printer, const struct dnsblv6_key *key)
{
	size_t shared = 0;
	size_t depth = 0;
	while (shared < key->size && shared < printer->at.size &&
	       key->bytes[shared] == printer->at.bytes[shared])
		shared++;
	while (depth < printer->depth && printer->sizes[depth] <= shared &&
	       (key->size == printer->sizes[depth] || key->bytes[printer->sizes[depth]] == 0))
		depth++;
	printer->depth = depth;
	printer->at = *key;
	/* The apex has a key that no other begins with, and is not on the way. */
	size_t size = depth > 0 ? printer->sizes[depth - 1] : 0;
	int ret = DNSBLV6_OK;
	while (ret == DNSBLV6_OK && size < key->size && printer->depth < DEPTH_MAX) {
		struct dnsblv6_key name = *key;
		size += size > 0;
		while (size < key->size && key->bytes[size] != 0)
			size++;
		name.size = (uint16_t)size;
		bool has_wildcard = printer->depth > 0 && printer->has_wildcard[printer->depth - 1];
		printer->sizes[printer->depth] = size;
		if (label_count(&name) >= label_count(&printer->start))
			ret = visit(printer, &name, has_wildcard,
				    &printer->has_wildcard[printer->depth]);
		else
			printer->has_wildcard[printer->depth] = false;
		printer->depth++;
	}
	return ret;
}

/* The origin that a name belongs to: the longest one at or above it. */
static size_t find_origin(const struct printer *printer, const struct dnsblv6_labels *name)
{
	size_t best = 0;
	for (size_t i = 1; i < printer->origin_count; i++) {
		const struct dnsblv6_labels *origin = &printer->origins[i].name;
		size_t offset = 0;
		while (offset < name->size && name->size - offset > origin->size)
			offset += 1u + name->wire[offset];
		if (name->size - offset == origin->size &&
		    memcmp(name->wire + offset, origin->wire, origin->size) == 0 &&
		    origin->size > printer->origins[best].name.size)
			best = i;
	}
	return best;
}

/* Is the name one that the format itself puts below an origin? */
static bool is_reserved(const struct printer *printer, const struct dnsblv6_labels *name,
			size_t origin)
{
	size_t rest = name->size - printer->origins[origin].name.size;
	return rest > 0 && dnsblv6_name_is_reserved(name->wire, rest);
}

static bool is_below_start(const struct printer *printer, const struct dnsblv6_labels *name)
{
	const struct dnsblv6_labels *start = &printer->origins[printer->origin].name;
	return start->size == 0 ||
	       (name->size > start->size &&
		memcmp(name->wire + name->size - start->size, start->wire, start->size) == 0);
}

static int visit_record(struct printer *printer, struct store_bytes found)
{
	struct dnsblv6_labels name;
	struct dnsblv6_key key = { .size = (uint16_t)found.size };
	int ret = dnsblv6_key_to_labels(found.data, found.size, &name);
	if (ret != DNSBLV6_OK || name.size == 0)
		return ret;
	size_t origin = find_origin(printer, &name);
	if (origin != printer->origin) {
		/* Of a sub-zone, only what is above it belongs to this list. */
		const struct dnsblv6_labels *other = &printer->origins[origin].name;
		if (!is_below_start(printer, other))
			return DNSBLV6_OK;
		ret = dnsblv6_key_from_labels(other->wire, other->size, &key);
		if (ret != DNSBLV6_OK || !dnsblv6_key_to_parent(&key) ||
		    label_count(&key) <= label_count(&printer->start))
			return ret;
		return visit_path(printer, &key);
	}
	if (is_reserved(printer, &name, origin))
		return DNSBLV6_OK;
	memcpy(key.bytes, found.data, found.size);
	if (name.wire[0] == 1 && name.wire[1] == '*')
		dnsblv6_key_to_parent(&key);
	return visit_path(printer, &key);
}

static int walk(struct printer *printer)
{
	struct store_bytes key;
	struct store_bytes value;
	bool ignored;
	printer->depth = 0;
	printer->at.size = 0;
	int ret = printer->origin == 0 ? visit(printer, &printer->start, false, &ignored)
				       : DNSBLV6_OK;
	if (ret == DNSBLV6_OK)
		ret = reader_seek(printer->reader, STORE_RECORDS, printer->start.bytes,
				  printer->start.size, &key, &value);
	while (ret == DNSBLV6_OK && (printer->origin == 0 || (key.size >= printer->start.size &&
							      memcmp(key.data, printer->start.bytes,
								     printer->start.size) == 0))) {
		ret = visit_record(printer, key);
		if (ret == DNSBLV6_OK)
			ret = reader_next(printer->reader, STORE_RECORDS, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

/* ---- lists ---- */

static void print_header(const struct printer *printer, const char *type)
{
	const struct dnsblv6_labels *name = &printer->origins[printer->origin].name;
	char text[DNSBLV6_NAME_TEXT_SIZE];
	dnsblv6_name_format(name->wire, name->size, text);
	fprintf(printer->stream, "$DATASET %s %s\n", type, text);
	if (!printer->is_generic)
		fprintf(printer->stream, "$TTL %" PRIu32 "\n", printer->ttl);
}

/* A list of names has the test point, and records alone do not. */
static int find_lists(struct printer *printer)
{
	struct dnsblv6_key test = printer->start;
	struct data data;
	int ret = dnsblv6_key_add_label(&test, (const uint8_t *)DNSBLV6_NAME_LISTED,
					strlen(DNSBLV6_NAME_LISTED));
	if (ret == DNSBLV6_OK)
		ret = get_data(printer, &test, &data);
	printer->has_lists = ret == DNSBLV6_OK && data.a_count > 0;
	return ret == DNSBLV6_ESPACE ? DNSBLV6_OK : ret;
}

static int print_origin(struct printer *printer, size_t origin)
{
	const struct dnsblv6_labels *name = &printer->origins[origin].name;
	printer->origin = origin;
	printer->ttl_count = 0;
	int ret = dnsblv6_key_from_labels(name->wire, name->size, &printer->start);
	if (ret == DNSBLV6_OK)
		ret = find_lists(printer);
	printer->is_collecting = true;
	if (ret == DNSBLV6_OK && printer->has_lists)
		ret = walk(printer);
	printer->is_collecting = false;
	for (size_t i = 0; ret == DNSBLV6_OK && i < printer->ttl_count; i++) {
		printer->ttl = printer->ttls[i];
		print_header(printer, "dnset");
		ret = walk(printer);
	}
	printer->is_generic = true;
	if (ret == DNSBLV6_OK) {
		print_header(printer, "generic");
		ret = walk(printer);
	}
	printer->is_generic = false;
	return ret;
}

/* Names below the zone in the NS records of its apex. */
static int find_hosts(struct printer *printer, const struct dnsblv6_labels *zone)
{
	struct dnsblv6_key apex = dnsblv6_key_of_apex();
	struct store_bytes value;
	struct dnsblv6_rr rr;
	size_t offset = 0;
	int ret = reader_get(printer->reader, STORE_RECORDS, apex.bytes, apex.size, &value);
	while (ret == DNSBLV6_OK &&
	       (ret = dnsblv6_record_next_rr(value.data, value.size, &offset, &rr)) == DNSBLV6_OK) {
		size_t size = rr.rdata_size - 1u;
		if (rr.type != DNSBLV6_TYPE_NS || size <= zone->size ||
		    memcmp(rr.rdata + size - zone->size, zone->wire, zone->size) != 0)
			continue;
		if (!array_reserve(printer->hosts, printer->host_count + 1,
				   &printer->host_capacity))
			return -ENOMEM;
		ret = dnsblv6_key_from_labels(rr.rdata, size - zone->size,
					      &printer->hosts[printer->host_count]);
		printer->host_count += ret == DNSBLV6_OK;
		ret = DNSBLV6_OK; /* it may end with the zone's name and not be below it */
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}

static int read_origins(struct printer *printer)
{
	for (;;) {
		struct contents_origin origin;
		int ret = contents_read_origin(printer->reader, (uint16_t)printer->origin_count,
					       &origin);
		if (ret != DNSBLV6_OK)
			return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
		struct dnsblv6_origin *grown =
			reallocarray(printer->origins, printer->origin_count + 1, sizeof(*grown));
		if (grown == NULL)
			return -ENOMEM;
		printer->origins = grown;
		printer->origins[printer->origin_count++] = origin.origin;
	}
}

int nameprint_names(struct reader *reader, FILE *stream)
{
	struct printer *printer = calloc(1, sizeof(*printer));
	struct dnsblv6_facts facts;
	if (printer == NULL)
		return -ENOMEM;
	printer->reader = reader;
	printer->stream = stream;
	int ret = contents_read_facts(reader, &facts);
	if (ret == DNSBLV6_OK)
		ret = read_origins(printer);
	if (ret == DNSBLV6_OK)
		ret = find_hosts(printer, &facts.zone);
	for (size_t i = 0; ret == DNSBLV6_OK && i < printer->origin_count; i++)
		ret = print_origin(printer, i);
	free(printer->origins);
	free(printer->hosts);
	free(printer->ttls);
	free(printer);
	return ret;
}

/* ---- clients ---- */

static void print_action(const struct dnsblv6_value *value, FILE *stream)
{
	static const char *const names[] = { "pass", "ignore", "refuse", "empty", "pass" };
	char a[DNSBLV6_ADDR_TEXT_SIZE];
	if (value->a == 0) {
		fprintf(stream, " :%s\n", value->ttl < 5 ? names[value->ttl] : "refuse");
		return;
	}
	dnsblv6_addr_format(dnsblv6_addr_from_ipv4(value->a), a);
	fprintf(stream, " :%s:", a);
	for (unsigned i = 0; i < value->text_size; i++) {
		uint8_t c = value->text[i];
		if (c == '$' || (i == 0 && c == '='))
			fputc(c, stream);
		fputc(c == DNSBLV6_TEXT_ADDRESS ? '$' : c, stream);
	}
	fputc('\n', stream);
}

static int print_clients(struct reader *reader, const struct dnsblv6_segment *segment,
			 uint32_t *ttl, FILE *stream)
{
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	struct store_bytes set;
	struct dnsblv6_value value;
	size_t offset = 0;
	dnsblv6_set_make_key(segment->set, key);
	int ret = reader_get(reader, STORE_SETS, key, sizeof(key), &set);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_set_next(set.data, set.size, &offset, &value);
	if (ret != DNSBLV6_OK)
		return ret;
	/* The values of an acl have one TTL. */
	if (value.a != 0 && *ttl == 0) {
		*ttl = value.ttl;
		fprintf(stream, "$TTL %" PRIu32 "\n", value.ttl);
	}
	struct dnsblv6_addr first = segment->first;
	for (;;) {
		struct dnsblv6_prefix prefix = dnsblv6_prefix_of_range(first, segment->last);
		char text[DNSBLV6_PREFIX_TEXT_SIZE];
		dnsblv6_prefix_format(prefix, text);
		fputs(text, stream);
		print_action(&value, stream);
		struct dnsblv6_addr end = dnsblv6_prefix_last(prefix);
		if (dnsblv6_addr_compare(end, segment->last) >= 0)
			return DNSBLV6_OK;
		first = dnsblv6_addr_next(end);
	}
}

int nameprint_clients(struct reader *reader, FILE *stream)
{
	uint8_t start[DNSBLV6_SEGMENT_KEY_MAX];
	struct store_bytes key;
	struct store_bytes value;
	uint32_t ttl = 0;
	size_t size =
		dnsblv6_segment_make_key(DNSBLV6_ORIGIN_ACL, dnsblv6_addr_from_ipv4(0), start);
	int ret = reader_seek(reader, STORE_SEGMENTS, start, size, &key, &value);
	while (ret == DNSBLV6_OK) {
		struct dnsblv6_segment segment;
		uint16_t origin;
		ret = dnsblv6_segment_decode(key.data, key.size, value.data, value.size, &origin,
					     &segment);
		if (ret == DNSBLV6_OK)
			ret = print_clients(reader, &segment, &ttl, stream);
		if (ret == DNSBLV6_OK)
			ret = reader_next(reader, STORE_SEGMENTS, &key, &value);
	}
	return ret == DNSBLV6_ENOTFOUND ? DNSBLV6_OK : ret;
}
