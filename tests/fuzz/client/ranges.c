/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ranges.c - any names as an NSEC of any zone: what is then held to be proven
 * empty stands between the two names, and not below a wildcard.
 *
 * Byte 0: bit 0 flat names, bit 1 a sub-zone, bit 2 the names are below the origin, bit 3
 * an address of the IPv6 tree. Then the size of the owner and its wire form, the same of the
 * next name, and up to 16 bytes of an address for each that is asked about.
 */
#include "client-lib/cache/ranges.h"
#include "lib/format/key.h"

#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static size_t take(struct input *input, size_t size, uint8_t *ret_bytes)
{
	size_t taken = size < input->size ? size : input->size;
	memcpy(ret_bytes, input->data, taken);
	input->data += taken;
	input->size -= taken;
	return taken;
}

static struct dnsblv6_labels take_name(struct input *input, const struct dnsblv6_labels *below)
{
	struct dnsblv6_labels name = { 0 };
	struct dnsblv6_labels whole;
	uint8_t size = 0;

	take(input, 1, &size);
	if (size > DNSBLV6_LABELS_MAX)
		size = DNSBLV6_LABELS_MAX;
	name.size = (uint8_t)take(input, size, name.wire);
	if (below != NULL &&
	    dnsblv6_name_join(name.wire, name.size, below->wire, below->size, &whole) == DNSBLV6_OK)
		return whole;
	return name;
}

static struct dnsblv6_key key_of(const struct dnsblv6_labels *name)
{
	struct dnsblv6_key key;
	expect(dnsblv6_key_from_labels(name->wire, name->size, &key) == DNSBLV6_OK);
	return key;
}

static int compare(const struct dnsblv6_key *a, const struct dnsblv6_key *b)
{
	return dnsblv6_key_compare(a->bytes, a->size, b->bytes, b->size);
}

static void expect_proof(const struct message_nsec *nsec, const struct dnsblv6_labels *origin,
			 enum dnsblv6_style style, struct dnsblv6_addr addr)
{
	struct dnsblv6_labels relative;
	struct dnsblv6_labels name;
	expect(dnsblv6_name_make(style, dnsblv6_block_of(addr), &relative) == DNSBLV6_OK);
	expect(dnsblv6_name_join(relative.wire, relative.size, origin->wire, origin->size, &name) ==
	       DNSBLV6_OK);
	struct dnsblv6_key key = key_of(&name);
	struct dnsblv6_key owner = key_of(&nsec->owner);
	struct dnsblv6_key next = key_of(&nsec->next);
	bool is_last = compare(&next, &owner) <= 0;

	expect(compare(&owner, &key) < 0 && (is_last || compare(&key, &next) < 0));
	if (is_last) { /* only the apex comes behind the last name */
		struct dnsblv6_key zone = key_of(origin);
		expect(compare(&next, &zone) == 0 ||
		       dnsblv6_key_is_below(zone.bytes, zone.size, next.bytes, next.size));
	}
	if (nsec->owner.size >= 2 && nsec->owner.wire[0] == 1 && nsec->owner.wire[1] == '*') {
		dnsblv6_key_to_parent(&owner);
		expect(!dnsblv6_key_is_below(key.bytes, key.size, owner.bytes, owner.size));
	}
}

/* The block itself and those beside it. */
static void try_addr(const struct cache *cache, const struct message_nsec *nsec,
		     const struct dnsblv6_labels *origin, enum dnsblv6_style style,
		     struct dnsblv6_addr addr)
{
	for (int i = -2; i <= 2; i++) {
		struct dnsblv6_addr near = addr;
		uint32_t expires_s = 0;
		if (dnsblv6_addr_is_ipv4(addr))
			near = dnsblv6_addr_from_ipv4(dnsblv6_addr_ipv4(addr) + (uint32_t)i * 128);
		else
			near.hi += (uint64_t)i * 128;
		if (!ranges_has(cache, 0, style, near, cache_now_s(cache), &expires_s))
			continue;
		expect(expires_s > cache_now_s(cache));
		expect_proof(nsec, origin, style, near);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct dnsblv6_labels origin;
	struct message_nsec nsec = { .ttl_s = 600 };
	struct cache *cache = NULL;
	uint8_t flags = 0;

	take(&input, 1, &flags);
	enum dnsblv6_style style = flags & 1 ? DNSBLV6_STYLE_FLAT : DNSBLV6_STYLE_DOTTED;
	expect(dnsblv6_name_from_text(flags & 2 ? "sub.bl6.example" : "bl6.example", &origin) ==
	       DNSBLV6_OK);
	nsec.owner = take_name(&input, flags & 4 ? &origin : NULL);
	nsec.next = take_name(&input, flags & 4 ? &origin : NULL);
	expect(cache_new(CACHE_SIZE_MIN, &cache) == DNSBLV6_OK);
	if (ranges_learn(cache, 0, style, &origin, &nsec, 600) > 0) {
		do {
			uint8_t bytes[16] = { 0 };
			take(&input, flags & 8 ? 16 : 4, bytes);
			struct dnsblv6_addr addr = dnsblv6_addr_from_bytes(bytes);
			if ((flags & 8) == 0)
				addr = dnsblv6_addr_from_ipv4((uint32_t)(addr.hi >> 32));
			try_addr(cache, &nsec, &origin, style, addr);
		} while (input.size > 0);
	}
	cache_free(cache);
	return 0;
}
