/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/key.h"

#include "lib/format/ascii.h"

#include <string.h>

enum {
	SEPARATOR = 0x00,
	ESCAPE = 0x01,	  /* 01 01 is byte 00, 01 02 is byte 01 */
	LABELS_MAX = 127, /* of a name of 255 octets, RFC 1035 */
};

static bool is_apex(const uint8_t *key, size_t key_size)
{
	return key_size == 1 && key[0] == SEPARATOR;
}

static void set_apex(struct dnsblv6_key *key)
{
	key->size = 1;
	key->bytes[0] = SEPARATOR;
}

static bool add_byte(struct dnsblv6_key *key, uint8_t byte)
{
	if (key->size >= DNSBLV6_KEY_MAX)
		return false;
	key->bytes[key->size++] = byte;
	return true;
}

static bool add_label_byte(struct dnsblv6_key *key, uint8_t byte)
{
	byte = ascii_lower(byte);
	if (byte > ESCAPE)
		return add_byte(key, byte);
	return add_byte(key, ESCAPE) && add_byte(key, (uint8_t)(byte + 1));
}

int dnsblv6_key_add_label(struct dnsblv6_key *key, const uint8_t *label, size_t label_size)
{
	/* Behind what is there: giving its size back undoes it. At the apex there is room. */
	const uint16_t size_before = key->size;
	bool has_room = true;
	if (is_apex(key->bytes, key->size))
		key->size = 0;
	else
		has_room = add_byte(key, SEPARATOR);
	for (size_t i = 0; i < label_size && has_room; i++)
		has_room = add_label_byte(key, label[i]);
	if (has_room)
		return DNSBLV6_OK;
	key->size = size_before;
	return DNSBLV6_ESPACE;
}

int dnsblv6_key_from_labels(const uint8_t *labels, size_t size, struct dnsblv6_key *ret_key)
{
	const uint8_t *starts[LABELS_MAX];
	unsigned count = 0;
	struct dnsblv6_key key;

	if (size > DNSBLV6_LABELS_MAX)
		return DNSBLV6_ENAME;
	for (size_t i = 0; i < size; i += 1u + labels[i]) {
		if (count == LABELS_MAX || labels[i] == 0 || labels[i] > DNSBLV6_LABEL_MAX ||
		    labels[i] > size - i - 1)
			return DNSBLV6_ENAME;
		starts[count++] = labels + i;
	}
	set_apex(&key);
	if (count > 0)
		key.size = 0;
	for (unsigned left = count; left > 0; left--) {
		const uint8_t *label = starts[left - 1];
		if (left < count && !add_byte(&key, SEPARATOR))
			return DNSBLV6_ESPACE;
		for (unsigned i = 1; i <= label[0]; i++) {
			if (!add_label_byte(&key, label[i]))
				return DNSBLV6_ESPACE;
		}
	}
	ret_key->size = key.size;
	memcpy(ret_key->bytes, key.bytes, key.size);
	return DNSBLV6_OK;
}

/*
 * The label that begins at key[*at], without its escapes; *at moves behind its end, and behind the
 * separator there. Returns its size, or negative when it is none.
 */
static int read_label(const uint8_t *key, size_t key_size, size_t *at, uint8_t *ret_label)
{
	int size = 0;
	size_t i = *at;
	for (; i < key_size && key[i] != SEPARATOR; i++) {
		uint8_t byte = key[i];
		if (byte >= 'A' && byte <= 'Z')
			return -1;
		if (byte == ESCAPE) {
			if (++i == key_size || key[i] < 1 || key[i] > 2)
				return -1;
			byte = (uint8_t)(key[i] - 1);
		}
		if (size == DNSBLV6_LABEL_MAX)
			return -1;
		ret_label[size++] = byte;
	}
	*at = i + 1;
	return size > 0 ? size : -1;
}

int dnsblv6_key_compare(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	int by_bytes = memcmp(a, b, a_size < b_size ? a_size : b_size);
	return by_bytes != 0 ? by_bytes : (a_size > b_size) - (a_size < b_size);
}

struct dnsblv6_key dnsblv6_key_of_apex(void)
{
	return (struct dnsblv6_key){ .size = 1, .bytes = { 0 } };
}

int dnsblv6_key_to_labels(const uint8_t *key, size_t key_size, struct dnsblv6_labels *ret_name)
{
	/* Labels come from the apex down; each goes before those already there. */
	uint8_t wire[DNSBLV6_LABELS_MAX];
	size_t begin = sizeof(wire);
	size_t at = 0;
	while (at <= key_size && !is_apex(key, key_size)) {
		uint8_t label[DNSBLV6_LABEL_MAX];
		int size = read_label(key, key_size, &at, label);
		if (size < 0 || begin < 1 + (size_t)size)
			return DNSBLV6_EKEY;
		begin -= 1 + (size_t)size;
		wire[begin] = (uint8_t)size;
		memcpy(wire + begin + 1, label, (size_t)size);
	}
	ret_name->size = (uint8_t)(sizeof(wire) - begin);
	memcpy(ret_name->wire, wire + begin, ret_name->size);
	return DNSBLV6_OK;
}

bool dnsblv6_key_to_parent(struct dnsblv6_key *key)
{
	if (is_apex(key->bytes, key->size))
		return false;
	while (key->size > 0 && key->bytes[key->size - 1] != SEPARATOR)
		key->size--;
	if (key->size == 0)
		set_apex(key);
	else
		key->size--; /* the separator */
	return true;
}

bool dnsblv6_key_is_below(const uint8_t *key, size_t key_size, const uint8_t *ancestor,
			  size_t ancestor_size)
{
	if (is_apex(ancestor, ancestor_size))
		return !is_apex(key, key_size);
	return key_size > ancestor_size && key[ancestor_size] == SEPARATOR &&
	       memcmp(key, ancestor, ancestor_size) == 0;
}

unsigned dnsblv6_key_common_labels(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	unsigned count = 0;
	size_t i = 0;
	if (is_apex(a, a_size) || is_apex(b, b_size))
		return 0;
	for (;;) {
		bool a_ends = i == a_size || a[i] == SEPARATOR;
		bool b_ends = i == b_size || b[i] == SEPARATOR;
		if (a_ends && b_ends)
			count++;
		else if (a_ends || b_ends || a[i] != b[i])
			return count;
		if (i == a_size || i == b_size)
			return count;
		i++;
	}
}

unsigned dnsblv6_key_label_count(const uint8_t *key, size_t key_size)
{
	if (is_apex(key, key_size))
		return 0;
	unsigned count = 1;
	for (size_t i = 0; i < key_size; i++)
		count += key[i] == SEPARATOR;
	return count;
}

/* ---- prefixes ---- */

/* The name of the first block inside prefix: its key, cut, is what all others begin with. */
static int first_block_key(const struct dnsblv6_key *origin, enum dnsblv6_style style,
			   struct dnsblv6_prefix prefix, struct dnsblv6_key *ret_key)
{
	struct dnsblv6_labels name;
	struct dnsblv6_key relative;
	int ret = dnsblv6_name_make(style, dnsblv6_block_of(prefix.first), &name);
	if (ret == DNSBLV6_OK)
		ret = dnsblv6_key_from_labels(name.wire, name.size, &relative);
	if (ret != DNSBLV6_OK)
		return ret;

	struct dnsblv6_key key = *origin;
	if (is_apex(origin->bytes, origin->size))
		key.size = 0;
	else if (!add_byte(&key, SEPARATOR))
		return DNSBLV6_ESPACE;
	if ((size_t)key.size + relative.size > DNSBLV6_KEY_MAX)
		return DNSBLV6_ESPACE;
	memcpy(key.bytes + key.size, relative.bytes, relative.size);
	key.size = (uint16_t)(key.size + relative.size);
	*ret_key = key;
	return DNSBLV6_OK;
}

/* Bytes of "a.b.c.H" in key order up to and with the separator behind octet_count octets. */
static size_t octets_size(const uint8_t *bytes, unsigned octet_count)
{
	size_t i = 0;
	while (octet_count > 0)
		octet_count -= bytes[i++] == SEPARATOR;
	return i;
}

/* Bytes of "ip6" and the groups that hold nibble_count nibbles. */
static size_t nibbles_size(const uint8_t *bytes, unsigned nibble_count)
{
	size_t i = sizeof("ip6"); /* and its separator */
	for (; nibble_count > 0; i++)
		nibble_count -= bytes[i] != SEPARATOR;
	return i;
}

int dnsblv6_key_of_prefix(const struct dnsblv6_key *origin, enum dnsblv6_style style,
			  struct dnsblv6_prefix prefix, struct dnsblv6_key *ret_start)
{
	bool is_ipv4 = dnsblv6_prefix_is_ipv4(prefix);
	unsigned bits = prefix.prefix_len - (is_ipv4 ? DNSBLV6_IPV4_BASE_LEN : 0u);
	bool has_start = is_ipv4 ? bits == 8 || bits == 16 || bits == 24
				 : bits >= 4 && bits <= 56 && bits % 4 == 0;
	if (!has_start)
		return DNSBLV6_EPREFIX;

	struct dnsblv6_key key;
	int ret = first_block_key(origin, style, prefix, &key);
	if (ret != DNSBLV6_OK)
		return ret;

	style = dnsblv6_style_asked(style, is_ipv4);
	size_t base = is_apex(origin->bytes, origin->size) ? 0 : origin->size + 1u;
	const uint8_t *relative = key.bytes + base;
	size_t size;
	if (!is_ipv4)
		size = nibbles_size(relative, bits / 4);
	else if (style == DNSBLV6_STYLE_FLAT)
		size = bits / 4;
	else
		size = octets_size(relative, bits / 8);
	key.size = (uint16_t)(base + size);
	*ret_start = key;
	return DNSBLV6_OK;
}
