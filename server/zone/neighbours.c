/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/neighbours.h"

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

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Of the bytes of a key, which has lower case: is it a label of FORMAT.md 2.4? */
static bool is_flat_label(const uint8_t *label, size_t size)
{
	if ((size != IPV4_DIGITS && size != IPV6_DIGITS) || (label[size - 1] & 0xfe) != '0')
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!is_hex(label[i]))
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

/* The names of one side: those that have been passed, and the question. */
struct walk {
	struct zone *zone;
	const struct dnsblv6_key *asked;
	size_t start; /* of the label that siblings differ in */
	unsigned max;
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
static unsigned find_before(const struct walk *walk, const struct zone_link *cover,
			    struct zone_link *links)
{
	struct zone_entry entry;
	unsigned count = 0;
	/* Where the cover is no sibling, no name before it is taken for one. */
	if (!is_sibling(&cover->entry, walk->asked, walk->start) ||
	    !seek(walk, &cover->entry.key, &entry))
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
static unsigned find_behind(const struct walk *walk, const struct zone_link *cover,
			    struct zone_link *links)
{
	static const uint8_t apex[] = { 0 };
	struct zone_entry entry;
	unsigned count = 0;
	if (!seek(walk, &cover->next, &entry))
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

/* How many of the first count links there is room for. */
static unsigned count_fitting(const struct walk *walk, size_t room, const struct zone_link *links,
			      unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct dnsblv6_labels next;
		if (dnsblv6_key_to_labels(links[i].next.data, links[i].next.size, &next) !=
			    DNSBLV6_OK ||
		    next.size + walk->zone->apex_size > KNOT_DNAME_MAXLEN)
			return i;
		size_t size = least_size(walk) + next.size;
		if (size > room)
			return i;
		room -= size;
	}
	return count;
}

unsigned neighbours_find(struct zone *zone, const struct dnsblv6_key *asked,
			 const struct zone_link *cover, const struct neighbours_wish *wish,
			 struct zone_link *ret_links)
{
	struct zone_link before[NEIGHBOURS_SIDE_MAX];
	struct zone_link behind[NEIGHBOURS_SIDE_MAX];
	struct walk walk = { zone, asked, find_label(asked->bytes, asked->size), wish->side_max };
	if (!is_flat_label(asked->bytes + walk.start, asked->size - walk.start))
		return 0;
	/* No name is passed that there cannot be room for. */
	if (walk.max > wish->room / least_size(&walk))
		walk.max = (unsigned)(wish->room / least_size(&walk));
	if (walk.max > NEIGHBOURS_SIDE_MAX)
		walk.max = NEIGHBOURS_SIDE_MAX;
	unsigned before_count = find_before(&walk, cover, before);
	unsigned behind_count = find_behind(&walk, cover, behind);
	unsigned count = 0;
	for (unsigned i = 0; i < walk.max; i++) {
		if (i < behind_count)
			ret_links[count++] = behind[i];
		if (i < before_count)
			ret_links[count++] = before[i];
	}
	return count_fitting(&walk, wish->room, ret_links, count);
}
