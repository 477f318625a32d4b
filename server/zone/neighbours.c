/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/neighbours.h"

#include "lib/format/hex.h"
#include "lib/store/tables.h"

#include <string.h>

#include <libknot/libknot.h>

enum {
	IPV4_DIGITS = 7,
	IPV6_DIGITS = 15,
	POINTER_SIZE = 2,
	RR_SIZE = 10,	 /* type, class, TTL, size of RDATA */
	TYPES_SIZE = 8,	 /* AAAA, RRSIG and NSEC as a bitmap of types */
	RRSIG_SIZE = 18, /* before the signer's name */
};

/* ---- names ---- */

/* Of the bytes of a key, which has lower case: is it a label of FORMAT.md 2.4? */
static bool is_flat_label(const uint8_t *label, size_t size)
{
	if ((size != IPV4_DIGITS && size != IPV6_DIGITS) || (label[size - 1] & 0xfe) != '0')
		return false;
	for (size_t i = 0; i < size; i++) {
		if (hex_value((char)label[i]) < 0)
			return false;
	}
	return true;
}

/* Where the first label of a name begins in its key. */
static size_t find_label(const uint8_t *key, size_t size)
{
	while (size > 0 && key[size - 1] != 0)
		size--;
	return size;
}

/* A signed bitmap whose name is that of asked but for the label from start on, flat there. */
static bool is_sibling(const struct zone_entry *entry, const struct dnsblv6_key *asked,
		       size_t start)
{
	return entry->key.size == asked->size &&
	       memcmp(entry->key.data, asked->bytes, start) == 0 &&
	       is_flat_label(entry->key.data + start, entry->key.size - start) &&
	       entry->record.size == DNSBLV6_SIGNED_BITMAP_RECORD_SIZE &&
	       dnsblv6_record_kind(entry->record.data, entry->record.size) == DNSBLV6_RECORD_BITMAP;
}

/* ---- the chain ---- */

/* A question, and what there is room for. */
struct walk {
	struct zone *zone;
	const struct dnsblv6_key *asked;
	const struct zone_link *cover;
	size_t start; /* of the label that siblings differ in */
	unsigned max; /* to each side */
};

static int step(struct reader *reader, bool is_back, struct zone_entry *ret_entry)
{
	return is_back ? reader_prev(reader, STORE_RECORDS, &ret_entry->key, &ret_entry->record)
		       : reader_next(reader, STORE_RECORDS, &ret_entry->key, &ret_entry->record);
}

static bool seek(const struct walk *walk, const struct store_bytes *key,
		 struct zone_entry *ret_entry)
{
	return reader_seek(walk->zone->reader, STORE_RECORDS, key->data, key->size, &ret_entry->key,
			   &ret_entry->record) == DNSBLV6_OK;
}

/* Each of them leads to the one that was found before it, the first to the cover. */
static unsigned find_before(const struct walk *walk, struct zone_link *links)
{
	struct zone_entry entry;
	unsigned count = 0;
	/* Where the cover is no sibling, no name before it is taken for one. */
	if (!is_sibling(&walk->cover->entry, walk->asked, walk->start) ||
	    !seek(walk, &walk->cover->entry.key, &entry))
		return 0;
	while (count < walk->max) {
		struct store_bytes next = entry.key;
		if (step(walk->zone->reader, true, &entry) != DNSBLV6_OK ||
		    !is_sibling(&entry, walk->asked, walk->start))
			break;
		links[count++] = (struct zone_link){ entry, next };
	}
	return count;
}

/* Each of them leads to the next one, the last of the zone to the apex. */
static unsigned find_behind(const struct walk *walk, struct zone_link *links)
{
	static const uint8_t apex[] = { 0 };
	struct zone_entry entry;
	unsigned count = 0;
	if (!seek(walk, &walk->cover->next, &entry))
		return 0;
	while (count < walk->max && is_sibling(&entry, walk->asked, walk->start)) {
		struct zone_entry own = entry;
		int ret = step(walk->zone->reader, false, &entry);
		if (ret == DNSBLV6_ENOTFOUND)
			entry.key = (struct store_bytes){ apex, sizeof(apex) };
		else if (ret != DNSBLV6_OK)
			break;
		links[count++] = (struct zone_link){ own, entry.key };
		if (ret == DNSBLV6_ENOTFOUND)
			break;
	}
	return count;
}

/* ---- bytes ---- */

/* The label of the owner, a pointer, the RDATA without the next name; the RRSIG. */
static size_t least_size(const struct walk *walk)
{
	size_t label_size = walk->asked->size - walk->start;
	size_t nsec_size =
		1 + label_size + POINTER_SIZE + RR_SIZE + walk->zone->apex_size + TYPES_SIZE;
	return nsec_size + POINTER_SIZE + RR_SIZE + RRSIG_SIZE + walk->zone->apex_size +
	       DNSBLV6_SIGNATURE_BYTES;
}

/* Puts link behind the others, unless it is there already. False: there is no room. */
static bool add(const struct walk *walk, const struct zone_link *link, size_t *room,
		struct neighbours *found)
{
	unsigned count = found->given.count;
	struct dnsblv6_labels next;
	/* Of one version of a store: equal keys lie at one place. */
	if (link->entry.key.data == walk->cover->entry.key.data)
		return true;
	for (unsigned i = 0; i < count; i++) {
		if (link->entry.key.data == found->links[i].entry.key.data)
			return true;
	}
	if (count == NEIGHBOURS_MAX ||
	    dnsblv6_key_to_labels(link->next.data, link->next.size, &next) != DNSBLV6_OK ||
	    next.size + walk->zone->apex_size > KNOT_DNAME_MAXLEN)
		return false;
	size_t size = least_size(walk) + next.size;
	if (size > *room)
		return false;
	*room -= size;
	found->links[found->given.count++] = *link;
	return true;
}

/* ---- frequent ranges ---- */

/* Of a name in a zone's own place for its family. */
static bool find_group(const struct walk *walk, uint32_t zone, struct frequent_group *ret_group)
{
	static const uint8_t ip6[] = { 'i', 'p', '6', 0 };
	size_t digits = walk->asked->size - walk->start;
	*ret_group = (struct frequent_group){ zone, walk->start != 0 };
	if (walk->start == 0)
		return digits == IPV4_DIGITS;
	return digits == IPV6_DIGITS && walk->start == sizeof(ip6) &&
	       memcmp(walk->asked->bytes, ip6, sizeof(ip6)) == 0;
}

/* A flat label: the digits of a network, and which half of it. */
static uint64_t number_of(const uint8_t *label, size_t size)
{
	uint64_t number = 0;
	for (size_t i = 0; i + 1 < size; i++)
		number = number << 4 | (unsigned)hex_value((char)label[i]);
	return number << 1 | (label[size - 1] & 1U);
}

static void put_label(uint64_t number, size_t size, uint8_t *ret_label)
{
	static const char digits[] = "0123456789abcdef";
	ret_label[size - 1] = (uint8_t)('0' + (number & 1));
	number >>= 1;
	for (size_t i = size - 1; i-- > 0; number >>= 4)
		ret_label[i] = (uint8_t)digits[number & 15];
}

/* False: nothing begins there any more. */
static bool find_frequent(const struct walk *walk, uint64_t number, struct zone_link *ret_link)
{
	struct dnsblv6_key key = *walk->asked;
	put_label(number, key.size - walk->start, key.bytes + walk->start);
	return zone_find_link(walk->zone, key.bytes, key.size, ret_link) == DNSBLV6_OK &&
	       ret_link->entry.key.size == key.size &&
	       memcmp(ret_link->entry.key.data, key.bytes, key.size) == 0 &&
	       is_sibling(&ret_link->entry, walk->asked, walk->start);
}

static void add_frequent(const struct walk *walk, const struct neighbours_grant *grant,
			 size_t *room, struct neighbours *found)
{
	uint64_t numbers[NEIGHBOURS_MAX];
	unsigned count = frequent_next(&grant->client, found->given.group, walk->zone->negative_ttl,
				       numbers, 2 * walk->max);
	for (unsigned i = 0; i < count; i++) {
		struct zone_link link;
		bool is_there = find_frequent(walk, numbers[i], &link);
		/* One that does not fit, before any does, is passed over: the round would end at it. */
		if (is_there && !add(walk, &link, room, found) && found->given.count > 0)
			return;
		found->given.advanced++;
	}
}

/* ---- all of them ---- */

static void add_sides(const struct walk *walk, size_t *room, struct neighbours *found)
{
	struct zone_link before[NEIGHBOURS_SIDE_MAX];
	struct zone_link behind[NEIGHBOURS_SIDE_MAX];
	if (*room < least_size(walk))
		return;
	unsigned before_count = find_before(walk, before);
	unsigned behind_count = find_behind(walk, behind);
	for (unsigned i = 0; i < walk->max; i++) {
		if (i < behind_count && !add(walk, &behind[i], room, found))
			return;
		if (i < before_count && !add(walk, &before[i], room, found))
			return;
	}
}

void neighbours_find(struct zone *zone, const struct dnsblv6_key *asked,
		     const struct zone_link *cover, const struct neighbours_grant *grant,
		     size_t room, struct neighbours *ret_neighbours)
{
	struct neighbours_given *given = &ret_neighbours->given;
	struct walk walk = { zone, asked, cover, find_label(asked->bytes, asked->size),
			     grant->side_max };
	*given = (struct neighbours_given){ 0 };
	if (!is_flat_label(asked->bytes + walk.start, asked->size - walk.start))
		return;
	/* No name is passed that there cannot be room for. */
	if (walk.max > room / least_size(&walk))
		walk.max = (unsigned)(room / least_size(&walk));
	if (walk.max > NEIGHBOURS_SIDE_MAX)
		walk.max = NEIGHBOURS_SIDE_MAX;
	if (grant->client.frequent != NULL && find_group(&walk, grant->zone, &given->group)) {
		const struct store_bytes *key = &cover->entry.key;
		given->has_range = is_sibling(&cover->entry, asked, walk.start);
		if (given->has_range)
			given->number = number_of(key->data + walk.start, key->size - walk.start);
		add_frequent(&walk, grant, &room, ret_neighbours);
	}
	add_sides(&walk, &room, ret_neighbours);
}

void neighbours_settle(const struct zone *zone, const struct neighbours_grant *grant,
		       const struct neighbours_given *given)
{
	if (given->has_range)
		frequent_count(&grant->client, given->group, given->number);
	frequent_advance(&grant->client, given->group, zone->negative_ttl, given->advanced);
}
