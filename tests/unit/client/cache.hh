// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// client_cache.hh - tables and answers for the tests of the client's cache.

#include "client-lib/cache/cache.h"
#include "client-lib/cache/cache_table.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>

struct cache_end {
	void operator()(cache *table) const
	{
		cache_free(table);
	}
};
using cache_ptr = std::unique_ptr<cache, cache_end>;

inline cache_ptr new_cache(uint64_t size_bytes = CACHE_SIZE_MIN)
{
	cache *table = nullptr;
	REQUIRE(cache_new(size_bytes, &table) == DNSBLV6_OK);
	return cache_ptr(table);
}

inline dnsblv6_addr ipv4(uint32_t number)
{
	return dnsblv6_addr_from_ipv4(number);
}

inline cache_entry entry_of(const cache *table, uint8_t byte, uint32_t ttl_s = 3600)
{
	cache_entry entry = {};
	entry.kind = CACHE_BITMAP;
	entry.expires_s = cache_now_s(table) + ttl_s;
	entry.ttl_s = ttl_s;
	memset(entry.payload.bytes, byte, sizeof(entry.payload.bytes));
	return entry;
}

// Byte 0 of what is there, or -1.
inline int get(const cache *table, cache_key key)
{
	cache_entry entry = {};
	return cache_get(table, key, &entry) == DNSBLV6_OK ? entry.payload.bytes[0] : -1;
}
