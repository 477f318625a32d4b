/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/names/names_rrs.h"

#include "lib/format/dnssec.h"

#include <stdlib.h>
#include <string.h>

/* As rbldnsd writes a name: what a master file reads specially behind a backslash. */
static size_t format_name(const struct dnsblv6_labels *name, char *ret_text)
{
	char *out = ret_text;
	for (size_t i = 0; i < name->size; i += 1u + name->wire[i]) {
		if (i > 0)
			*out++ = '.';
		for (unsigned j = 1; j <= name->wire[i]; j++) {
			uint8_t c = name->wire[i + j];
			if (c <= ' ' || c >= 0x7f) {
				*out++ = '\\';
				*out++ = (char)('0' + c / 100);
				*out++ = (char)('0' + c / 10 % 10);
				*out++ = (char)('0' + c % 10);
				continue;
			}
			if (strchr("\".;\\@$", c) != NULL)
				*out++ = '\\';
			*out++ = (char)c;
		}
	}
	return (size_t)(out - ret_text);
}

/* The listed name, relative to its list: what "$" stands for in texts. */
static size_t format_listed(const struct listing *listing, const struct names_entry *entry,
			    char *ret_text)
{
	struct dnsblv6_labels name = { 0 };
	(void)dnsblv6_key_to_labels(entry->key, entry->key_size, &name);
	name.size = (uint8_t)(name.size - listing->origins[entry->origin].size);
	return format_name(&name, ret_text);
}

/* The text of value, with the name for its marks, as a character-string. Returns its size. */
static size_t expand(const struct dnsblv6_value *value, const char *name, size_t name_size,
		     uint8_t *ret_rdata)
{
	size_t size = 0;
	for (unsigned i = 0; i < value->text_size && size < DNSBLV6_TEXT_MAX; i++) {
		bool is_mark = value->text[i] == DNSBLV6_TEXT_ADDRESS;
		size_t wanted = is_mark ? name_size : 1;
		if (wanted > DNSBLV6_TEXT_MAX - size)
			wanted = DNSBLV6_TEXT_MAX - size;
		memcpy(ret_rdata + 1 + size, is_mark ? (const void *)name : &value->text[i],
		       wanted);
		size += wanted;
	}
	ret_rdata[0] = (uint8_t)size;
	return size == 0 ? 0 : 1 + size;
}

static void add_rr(struct names_rrs *rrs, uint16_t type, uint32_t ttl, const uint8_t *rdata,
		   size_t size)
{
	struct dnsblv6_rr *rr = &rrs->rrs[rrs->count];
	if (rdata != rrs->rdata[rrs->count])
		memcpy(rrs->rdata[rrs->count], rdata, size);
	*rr = (struct dnsblv6_rr){ type, (uint16_t)size, ttl, rrs->rdata[rrs->count] };
	rrs->count++;
}

void names_rrs_add_value(const struct dnsblv6_value *value, const char *name, size_t name_size,
			 struct names_rrs *rrs)
{
	uint8_t a[4];
	for (unsigned i = 0; i < 4; i++)
		a[i] = (uint8_t)(value->a >> (24 - 8 * i));
	add_rr(rrs, DNSBLV6_TYPE_A, value->ttl, a, sizeof(a));
	size_t size = expand(value, name, name_size, rrs->rdata[rrs->count]);
	if (size > 0)
		add_rr(rrs, DNSBLV6_TYPE_TXT, value->ttl, rrs->rdata[rrs->count], size);
}

static int compare_rrs(const void *a, const void *b)
{
	return dnsblv6_rr_compare(a, b);
}

void names_rrs_settle(struct names_rrs *rrs)
{
	size_t count = 0;
	qsort(rrs->rrs, rrs->count, sizeof(rrs->rrs[0]), compare_rrs);
	for (size_t i = 0; i < rrs->count; i++) {
		struct dnsblv6_rr rr = rrs->rrs[i];
		for (size_t j = 0; j < rrs->count; j++) {
			if (rrs->rrs[j].type == rr.type && rrs->rrs[j].ttl < rr.ttl)
				rr.ttl = rrs->rrs[j].ttl;
		}
		if (count == 0 || compare_rrs(&rrs->rrs[count - 1], &rr) != 0)
			rrs->rrs[count++] = rr;
		else if (rrs->rrs[count - 1].ttl > rr.ttl)
			rrs->rrs[count - 1].ttl = rr.ttl;
	}
	rrs->count = count;
}

bool names_rrs_equal(const struct names_rrs *a, const struct names_rrs *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (a->rrs[i].ttl != b->rrs[i].ttl || compare_rrs(&a->rrs[i], &b->rrs[i]) != 0)
			return false;
	}
	return true;
}

void names_rrs_add(const struct listing *listing, const struct names_entry *entry,
		   struct names_rrs *rrs)
{
	if (entry->kind == NAMES_RECORD) {
		const struct dnsblv6_rr *rr = &listing->records[entry->value];
		add_rr(rrs, rr->type, rr->ttl, rr->rdata, rr->rdata_size);
	} else {
		char name[DNSBLV6_NAME_TEXT_SIZE];
		size_t size = format_listed(listing, entry, name);
		names_rrs_add_value(&listing->pool.values[entry->value], name, size, rrs);
	}
}

void names_rrs_add_unlisted(uint32_t ttl, struct names_rrs *rrs)
{
	static const uint8_t unlisted[] = NAMES_UNLISTED;
	add_rr(rrs, DNSBLV6_TYPE_HINFO, ttl, unlisted, sizeof(unlisted) - 1);
}
