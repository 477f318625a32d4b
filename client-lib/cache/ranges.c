/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/cache/ranges.h"

#include <string.h>

#include "client-lib/cache/cache_table.h"
#include "lib/format/key.h"
#include "lib/format/name.h"

/* ---- the order of names ---- */

/* Octets as text in canonical order: "0", "1", "10", "100" ... and where each of them is. */
static const uint8_t octet_of_rank[256] = {
	0,   1,	  10,  100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 11,  110, 111, 112, 113,
	114, 115, 116, 117, 118, 119, 12,  120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 13,
	130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 14,  140, 141, 142, 143, 144, 145, 146,
	147, 148, 149, 15,  150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 16,  160, 161, 162,
	163, 164, 165, 166, 167, 168, 169, 17,	170, 171, 172, 173, 174, 175, 176, 177, 178, 179,
	18,  180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 19,  190, 191, 192, 193, 194, 195,
	196, 197, 198, 199, 2,	 20,  200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 21,  210,
	211, 212, 213, 214, 215, 216, 217, 218, 219, 22,  220, 221, 222, 223, 224, 225, 226, 227,
	228, 229, 23,  230, 231, 232, 233, 234, 235, 236, 237, 238, 239, 24,  240, 241, 242, 243,
	244, 245, 246, 247, 248, 249, 25,  250, 251, 252, 253, 254, 255, 26,  27,  28,	29,  3,
	30,  31,  32,  33,  34,	 35,  36,  37,	38,  39,  4,   40,  41,	 42,  43,  44,	45,  46,
	47,  48,  49,  5,   50,	 51,  52,  53,	54,  55,  56,  57,  58,	 59,  6,   60,	61,  62,
	63,  64,  65,  66,  67,	 68,  69,  7,	70,  71,  72,  73,  74,	 75,  76,  77,	78,  79,
	8,   80,  81,  82,  83,	 84,  85,  86,	87,  88,  89,  9,   90,	 91,  92,  93,	94,  95,
	96,  97,  98,  99,
};
static const uint8_t rank_of_octet[256] = {
	0,   1,	  112, 179, 190, 201, 212, 223, 234, 245, 2,   13,  24,	 35,  46,  57,	68,  79,
	90,  101, 113, 124, 135, 146, 157, 168, 175, 176, 177, 178, 180, 181, 182, 183, 184, 185,
	186, 187, 188, 189, 191, 192, 193, 194, 195, 196, 197, 198, 199, 200, 202, 203, 204, 205,
	206, 207, 208, 209, 210, 211, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 224, 225,
	226, 227, 228, 229, 230, 231, 232, 233, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244,
	246, 247, 248, 249, 250, 251, 252, 253, 254, 255, 3,   4,   5,	 6,   7,   8,	9,   10,
	11,  12,  14,  15,  16,	 17,  18,  19,	20,  21,  22,  23,  25,	 26,  27,  28,	29,  30,
	31,  32,  33,  34,  36,	 37,  38,  39,	40,  41,  42,  43,  44,	 45,  47,  48,	49,  50,
	51,  52,  53,  54,  55,	 56,  58,  59,	60,  61,  62,  63,  64,	 65,  66,  67,	69,  70,
	71,  72,  73,  74,  75,	 76,  77,  78,	80,  81,  82,  83,  84,	 85,  86,  87,	88,  89,
	91,  92,  93,  94,  95,	 96,  97,  98,	99,  100, 102, 103, 104, 105, 106, 107, 108, 109,
	110, 111, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 125, 126, 127, 128, 129, 130,
	131, 132, 133, 134, 136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 147, 148, 149, 150,
	151, 152, 153, 154, 155, 156, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 169, 170,
	171, 172, 173, 174,
};

/* One label of a block's name, those nearest the origin first; name.h has the forms. */
struct part {
	enum { OCTET, HEX, HALF, IP6 } form; /* HALF: as HEX, but the last digit is 0 or 1 */
	uint8_t digits;
	uint8_t bits; /* of the block's number that it stands for */
};

struct shape {
	unsigned bits;	 /* of a number */
	unsigned levels; /* of 7 bits */
	unsigned part_count;
	struct part parts[6];
};

enum { NODE_BITS = 7, NODE_MASK = 127 };

static const struct shape shapes[2][2] = {
	[DNSBLV6_STYLE_DOTTED] = {
		{ 57, 8, 6, { { IP6, 0, 0 }, { HEX, 4, 16 }, { HEX, 4, 16 }, { HEX, 4, 16 },
			      { HEX, 2, 8 }, { HALF, 1, 1 } } },
		{ 25, 4, 4, { { OCTET, 0, 8 }, { OCTET, 0, 8 }, { OCTET, 0, 8 }, { HALF, 1, 1 } } },
	},
	[DNSBLV6_STYLE_FLAT] = {
		{ 57, 8, 2, { { IP6, 0, 0 }, { HALF, 15, 57 } } },
		{ 25, 4, 1, { { HALF, 7, 25 } } },
	},
};

static inline bool is_flat(enum dnsblv6_style style, bool is_ipv4)
{
	return dnsblv6_style_asked(style, is_ipv4) == DNSBLV6_STYLE_FLAT;
}

static const struct shape *shape_of(enum dnsblv6_style style, bool is_ipv4)
{
	return &shapes[is_flat(style, is_ipv4)][is_ipv4];
}

/*
 * The number of a block in the order of names. Names of IPv6, and flat ones, have digits
 * of fixed width and sort as their numbers do.
 */
static inline uint64_t number_of(enum dnsblv6_style style, bool is_ipv4, uint64_t word)
{
	uint32_t ipv4 = (uint32_t)word;

	if (!is_ipv4 || is_flat(style, is_ipv4))
		return word >> 7;
	return (uint32_t)rank_of_octet[ipv4 >> 24] << 17 |
	       (uint32_t)rank_of_octet[ipv4 >> 16 & 255] << 9 |
	       (uint32_t)rank_of_octet[ipv4 >> 8 & 255] << 1 | (ipv4 >> 7 & 1);
}

/* A label as key.h stores it. Its escapes sort before every digit, as what they stand for does. */
struct label {
	const uint8_t *bytes;
	size_t size;
};

static int compare(struct label a, const char *text, size_t text_size)
{
	int order = memcmp(a.bytes, text, a.size < text_size ? a.size : text_size);
	return order != 0 ? order : (a.size > text_size) - (a.size < text_size);
}

/* How many octets stand before the label; is it one itself? */
static uint64_t octets_before(struct label label, bool *ret_is_one)
{
	unsigned low = 0;
	unsigned high = 256;
	char text[DNSBLV6_OCTET_SIZE];

	*ret_is_one = false;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		int order = compare(label, text, dnsblv6_name_octet(octet_of_rank[middle], text));
		if (order == 0) {
			*ret_is_one = true;
			return middle;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The same for one hexadecimal digit. */
static unsigned digits_before(uint8_t c, bool *ret_is_one)
{
	bool is_letter = c >= 'a' && c <= 'f';
	*ret_is_one = is_letter || (c >= '0' && c <= '9');
	if (is_letter)
		return c - 'a' + 10u;
	if (*ret_is_one)
		return c - '0';
	return c < '0' ? 0 : c < 'a' ? 10 : 16;
}

/* The same for labels of part->digits of them. */
static uint64_t hex_before(const struct part *part, struct label label, bool *ret_is_one)
{
	uint64_t before = 0;
	unsigned left = part->bits;

	*ret_is_one = false;
	for (unsigned i = 0; i < part->digits; i++) {
		unsigned bits = part->form == HALF && i + 1 == part->digits ? 1 : 4;
		bool is_digit;
		if (i == label.size)
			return before; /* all that go on stand behind it */
		unsigned digit = digits_before(label.bytes[i], &is_digit);
		left -= bits;
		if (digit >= 1u << bits)
			return before + (1ull << (left + bits));
		before += (uint64_t)digit << left;
		if (!is_digit)
			return before;
	}
	*ret_is_one = label.size == part->digits;
	return *ret_is_one ? before : before + 1;
}

static uint64_t labels_before(const struct part *part, struct label label, bool *ret_is_one)
{
	if (part->form == OCTET)
		return octets_before(label, ret_is_one);
	if (part->form != IP6)
		return hex_before(part, label, ret_is_one);
	int order = compare(label, "ip6", 3);
	*ret_is_one = order == 0;
	return order > 0;
}

enum side {
	AT_OR_AFTER, /* the first block whose name is the name, or stands behind it */
	AFTER,	     /* the first one that stands behind it */
	AFTER_BELOW, /* the first one that stands behind it and all that is below it */
};

/* That block's number; labels are relative to the origin. 1 << bits: there is none. */
static uint64_t place(const struct shape *shape, struct label labels, enum side side)
{
	uint64_t number = 0;
	unsigned left = shape->bits;

	for (unsigned i = 0; i < shape->part_count; i++) {
		bool is_one;
		if (labels.size == 0)
			return side == AFTER_BELOW ? number + (1ull << left) : number;
		const uint8_t *end = memchr(labels.bytes, 0, labels.size);
		size_t size = end != NULL ? (size_t)(end - labels.bytes) : labels.size;
		struct label label = { labels.bytes, size };
		left -= shape->parts[i].bits;
		number += labels_before(&shape->parts[i], label, &is_one) << left;
		if (!is_one)
			return number;
		size_t used = end != NULL ? size + 1 : size;
		labels.bytes += used;
		labels.size -= used;
	}
	return labels.size == 0 && side == AT_OR_AFTER ? number : number + 1;
}

/* ---- an NSEC ---- */

/* Keys of whole names: they compare as names do. */
struct proof {
	struct dnsblv6_key origin, owner, next;
	bool is_wildcard; /* owner is then what the wildcard stands below */
	bool is_last;	  /* next is the apex: the owner is the last name of the zone */
};

static bool is_below(const struct dnsblv6_key *key, const struct dnsblv6_key *ancestor)
{
	return dnsblv6_key_is_below(key->bytes, key->size, ancestor->bytes, ancestor->size);
}

static int compare_keys(const struct dnsblv6_key *a, const struct dnsblv6_key *b)
{
	return dnsblv6_key_compare(a->bytes, a->size, b->bytes, b->size);
}

static bool is_at_or_below(const struct dnsblv6_key *key, const struct dnsblv6_key *ancestor)
{
	return compare_keys(key, ancestor) == 0 || is_below(key, ancestor);
}

static bool strip_asterisk(struct dnsblv6_key *key)
{
	unsigned size = key->size;
	if (key->bytes[size - 1] != '*' || (size > 1 && key->bytes[size - 2] != 0))
		return false;
	return dnsblv6_key_to_parent(key);
}

/*
 * Is it an NSEC that can stand in the zone of the origin, and say something about
 * names below it? One of its names must be there. One at the origin that leads out of
 * it would be the parent's, at a delegation (RFC 6840 section 4.1).
 */
static bool read_proof(const struct dnsblv6_labels *origin, const struct message_nsec *nsec,
		       struct proof *ret_proof)
{
	struct proof *proof = ret_proof;

	if (dnsblv6_key_from_labels(origin->wire, origin->size, &proof->origin) != DNSBLV6_OK ||
	    dnsblv6_key_from_labels(nsec->owner.wire, nsec->owner.size, &proof->owner) !=
		    DNSBLV6_OK ||
	    dnsblv6_key_from_labels(nsec->next.wire, nsec->next.size, &proof->next) != DNSBLV6_OK)
		return false;

	bool is_next_inside = is_at_or_below(&proof->next, &proof->origin);
	if (!is_at_or_below(&proof->owner, &proof->origin) && !is_next_inside)
		return false;
	if (compare_keys(&proof->owner, &proof->origin) == 0 && !is_next_inside)
		return false;
	proof->is_last = compare_keys(&proof->next, &proof->owner) <= 0;
	if (proof->is_last && (!is_at_or_below(&proof->origin, &proof->next) ||
			       !is_at_or_below(&proof->owner, &proof->next)))
		return false;
	proof->is_wildcard = strip_asterisk(&proof->owner);
	return !proof->is_wildcard || !is_at_or_below(&proof->origin, &proof->owner);
}

/* place() of any name: nothing of ours stands before the origin, or behind all below it. */
static uint64_t place_whole(const struct shape *shape, const struct dnsblv6_key *origin,
			    const struct dnsblv6_key *name, enum side side)
{
	if (compare_keys(name, origin) == 0)
		return 0;
	if (!is_below(name, origin))
		return compare_keys(name, origin) < 0 ? 0 : 1ull << shape->bits;
	/* The root's key is a separator; a name below it has none there. */
	size_t offset = origin->bytes[0] == 0 ? 0 : origin->size + 1u;
	return place(shape, (struct label){ name->bytes + offset, name->size - offset }, side);
}

/* ---- nodes ---- */

struct table {
	struct cache *cache;
	unsigned zone;
	enum dnsblv6_style style;
	bool is_ipv4;
	uint32_t now_s, ttl_s;
	unsigned written;
};

/* Dotted and flat numbers of IPv4 are not the same: a zone may change from one to the other. */
static inline struct cache_key node_key(unsigned zone, enum dnsblv6_style style, bool is_ipv4,
					unsigned level, uint64_t index)
{
	if (is_ipv4 && is_flat(style, is_ipv4))
		index |= 1u << 30;
	return cache_key_range(zone, is_ipv4, level, index);
}

/*
 * A node has one expiry for all its children. What is there and what is new are kept
 * together until the earlier of the two ends, unless the other would live more than twice as
 * long: then that one is kept alone.
 */
static void add_node(struct table *table, unsigned level, uint64_t first, uint64_t last)
{
	struct cache_key key =
		node_key(table->zone, table->style, table->is_ipv4, level, first >> NODE_BITS);
	struct cache_entry node = { 0 };
	uint32_t left_s = 0;

	if (cache_get(table->cache, key, &node) == DNSBLV6_OK && node.kind == CACHE_RANGE &&
	    node.expires_s > table->now_s)
		left_s = node.expires_s - table->now_s;
	if (left_s / 2 > table->ttl_s)
		return;
	if (left_s == 0 || left_s < table->ttl_s / 2) {
		node = (struct cache_entry){ 0 };
		left_s = table->ttl_s;
	}
	node.kind = CACHE_RANGE;
	node.is_secure = true;
	node.ttl_s = left_s < table->ttl_s ? left_s : table->ttl_s;
	node.expires_s = table->now_s + node.ttl_s;
	dnsblv6_bitmap_add_range(&node.payload, (unsigned)(first & NODE_MASK),
				 (unsigned)(last & NODE_MASK));
	cache_put(table->cache, key, &node);
	table->written++;
}

/* The numbers from first on and before end, in as few nodes as there can be. */
static void add_range(struct table *table, uint64_t first, uint64_t end, unsigned levels)
{
	for (unsigned level = 1; level <= levels && first < end; level++) {
		bool is_top = level == levels;
		if ((first & NODE_MASK) != 0 || is_top) {
			uint64_t stop = (first | NODE_MASK) + 1;
			stop = stop < end ? stop : end;
			add_node(table, level, first, stop - 1);
			first = stop;
		}
		if (first < end && ((end & NODE_MASK) != 0 || is_top)) {
			uint64_t start = (end - 1) & ~(uint64_t)NODE_MASK;
			add_node(table, level, start, end - 1);
			end = start;
		}
		first >>= NODE_BITS;
		end >>= NODE_BITS;
	}
}

unsigned ranges_learn(struct cache *cache, unsigned zone, enum dnsblv6_style style,
		      const struct dnsblv6_labels *origin, const struct message_nsec *nsec,
		      uint32_t ttl_s)
{
	struct proof proof;
	struct table table = { cache, zone, style, false, cache_now_s(cache), ttl_s, 0 };

	if (ttl_s == 0 || !read_proof(origin, nsec, &proof))
		return 0;
	for (unsigned is_ipv4 = 0; is_ipv4 <= 1; is_ipv4++) {
		const struct shape *shape = shape_of(style, is_ipv4);
		uint64_t first = place_whole(shape, &proof.origin, &proof.owner,
					     proof.is_wildcard ? AFTER_BELOW : AFTER);
		uint64_t end =
			proof.is_last ? 1ull << shape->bits
				      : place_whole(shape, &proof.origin, &proof.next, AT_OR_AFTER);
		table.is_ipv4 = is_ipv4;
		if (first < end)
			add_range(&table, first, end, shape->levels);
	}
	return table.written;
}

uint32_t ranges_left_s(const struct cache *cache, unsigned zone, enum dnsblv6_style style,
		       bool is_ipv4, uint64_t word, uint32_t now_s)
{
	struct cache_key keys[8];
	const uint64_t *sets[8];
	uint64_t number = number_of(style, is_ipv4, word);
	unsigned levels = shape_of(style, is_ipv4)->levels;
	/* The lowest level's, in the zone with index 0: all keys are at a distance from it. */
	uint64_t first = node_key(0, style, is_ipv4, 1, 0).word;

	/* All of them are on their way before the first is looked at. */
	for (unsigned i = 0; i < levels; i++) {
		uint64_t node = first + ((uint64_t)i << CACHE_LEVEL_SHIFT) +
				(number >> (i + 1) * NODE_BITS);
		keys[i] = cache_move_key(node, zone);
		sets[i] = cache_set_at(cache, cache_move_hash(cache_hash_word(cache, node), zone));
		cache_fetch_set(sets[i]);
	}
	for (unsigned i = 0; i < levels; i++, number >>= NODE_BITS) {
		struct cache_slot node;
		if (cache_find(cache, sets[i], keys[i], &node) &&
		    cache_slot_kind(&node) == CACHE_RANGE && cache_slot_expiry(&node) > now_s &&
		    cache_slot_mask(&node, (unsigned)(number & NODE_MASK)) != 0)
			return cache_slot_expiry(&node) - now_s;
	}
	return 0;
}

bool ranges_has(const struct cache *cache, unsigned zone, enum dnsblv6_style style,
		struct dnsblv6_addr addr, uint32_t now_s, uint32_t *ret_expires_s)
{
	uint32_t left_s = ranges_left_s(cache, zone, style, dnsblv6_addr_is_ipv4(addr),
					cache_block_word(addr.hi, addr.lo), now_s);

	if (left_s == 0)
		return false;
	*ret_expires_s = now_s + left_s;
	return true;
}
