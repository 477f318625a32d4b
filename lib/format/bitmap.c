/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/format/bitmap.h"

#include <string.h>

static uint8_t mask(unsigned host_index)
{
	return (uint8_t)(0x80u >> (host_index % 8));
}

bool dnsblv6_bitmap_get(const struct dnsblv6_bitmap *map, unsigned host_index)
{
	return (map->bytes[(host_index / 8) % DNSBLV6_BITMAP_SIZE] & mask(host_index)) != 0;
}

void dnsblv6_bitmap_add(struct dnsblv6_bitmap *map, unsigned host_index)
{
	map->bytes[(host_index / 8) % DNSBLV6_BITMAP_SIZE] |= mask(host_index);
}

void dnsblv6_bitmap_add_range(struct dnsblv6_bitmap *map, unsigned first_index, unsigned last_index)
{
	if (last_index >= DNSBLV6_BITMAP_HOSTS)
		last_index = DNSBLV6_BITMAP_HOSTS - 1;
	/* By bytes: most ranges are whole blocks. */
	for (unsigned i = first_index / 8; i <= last_index / 8; i++) {
		unsigned bits = 0xff;
		if (i == first_index / 8)
			bits &= 0xffu >> (first_index % 8);
		if (i == last_index / 8)
			bits &= 0xff80u >> (last_index % 8);
		map->bytes[i] |= (uint8_t)bits;
	}
}

unsigned dnsblv6_bitmap_count(const struct dnsblv6_bitmap *map)
{
	unsigned count = 0;
	for (unsigned i = 0; i < DNSBLV6_BITMAP_SIZE; i++)
		count += (unsigned)__builtin_popcount(map->bytes[i]);
	return count;
}

bool dnsblv6_bitmap_is_empty(const struct dnsblv6_bitmap *map)
{
	static const struct dnsblv6_bitmap empty = { { 0 } };
	return memcmp(map, &empty, sizeof(empty)) == 0;
}

bool dnsblv6_bitmap_is_full(const struct dnsblv6_bitmap *map)
{
	const struct dnsblv6_bitmap full = dnsblv6_bitmap_make_full();
	return memcmp(map, &full, sizeof(full)) == 0;
}

struct dnsblv6_bitmap dnsblv6_bitmap_make_full(void)
{
	struct dnsblv6_bitmap map;
	memset(map.bytes, 0xff, sizeof(map.bytes));
	return map;
}
