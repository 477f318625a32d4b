// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/plan/classic.h"

#include "lib/format/key.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace
{
constexpr uint32_t unlisted = UINT32_MAX; // for a name without records, or none at all

struct named {
	std::string name;
	std::string prefix;
	uint32_t set;
	bool operator==(const named &other) const
	{
		return name == other.name && prefix == other.prefix && set == other.set;
	}
};

std::ostream &operator<<(std::ostream &stream, const named &item)
{
	return stream << item.name << " " << item.prefix << " " << item.set;
}

struct walked {
	std::vector<named> names;
	std::map<std::string, uint32_t> sets; // by key
	std::string last;
	size_t stop_after = SIZE_MAX;
};

std::string key_of(const dnsblv6_labels &labels)
{
	dnsblv6_key key;
	REQUIRE(dnsblv6_key_from_labels(labels.wire, labels.size, &key) == DNSBLV6_OK);
	return std::string(reinterpret_cast<char *>(key.bytes), key.size);
}

int keep(void *context, const classic_name *name)
{
	auto *result = static_cast<walked *>(context);
	char text[DNSBLV6_NAME_TEXT_SIZE];
	char prefix[DNSBLV6_PREFIX_TEXT_SIZE];
	if (result->names.size() == result->stop_after)
		return -1;
	dnsblv6_name_format(name->labels.wire, name->labels.size, text);
	dnsblv6_prefix_format(name->prefix, prefix);
	std::string key = key_of(name->labels);
	CHECK(result->last < key);
	result->last = key;
	result->sets[key] = name->set;
	result->names.push_back({ text, prefix, name->set });
	return 0;
}

dnsblv6_addr addr(const std::string &text)
{
	dnsblv6_addr result = {};
	REQUIRE(dnsblv6_addr_parse(text.data(), text.size(), &result) == DNSBLV6_OK);
	return result;
}

// Frees at the end of a test. IPv4 before IPv6, ascending, as resolve.h has them.
struct owned_classic {
	pieces list = {};
	owned_classic() = default;
	owned_classic(const owned_classic &) = delete;
	~owned_classic()
	{
		pieces_deinit(&list);
	}
	owned_classic &add(const std::string &first, const std::string &last, uint32_t set)
	{
		REQUIRE(pieces_append(&list, addr(first), addr(last), set) == DNSBLV6_OK);
		return *this;
	}
	walked walk() const
	{
		walked result;
		REQUIRE(classic_walk(&list, keep, &result) == DNSBLV6_OK);
		return result;
	}
};

// What a server of the zone says about a name, by RFC 4592.
uint32_t answer(const walked &zone, const dnsblv6_labels &labels)
{
	dnsblv6_key key;
	REQUIRE(dnsblv6_key_from_labels(labels.wire, labels.size, &key) == DNSBLV6_OK);
	auto exists = [&](const dnsblv6_key &name) {
		std::string bytes(reinterpret_cast<const char *>(name.bytes), name.size);
		auto at = zone.sets.lower_bound(bytes);
		return at != zone.sets.end() &&
		       (at->first == bytes ||
			at->first.compare(0, bytes.size() + 1, bytes + '\0') == 0);
	};
	auto set_of = [&](const dnsblv6_key &name) {
		auto at = zone.sets.find(
			std::string(reinterpret_cast<const char *>(name.bytes), name.size));
		return at == zone.sets.end() || at->second == DNSBLV6_SET_NONE ? unlisted
									       : at->second;
	};
	if (exists(key))
		return set_of(key);
	while (dnsblv6_key_to_parent(&key)) {
		if (!exists(key) && dnsblv6_key_label_count(key.bytes, key.size) > 0)
			continue;
		if (dnsblv6_key_label_count(key.bytes, key.size) == 0)
			return unlisted; // the apex has no wildcard
		REQUIRE(dnsblv6_key_add_label(&key, reinterpret_cast<const uint8_t *>("*"), 1) ==
			DNSBLV6_OK);
		return set_of(key);
	}
	return unlisted;
}

uint32_t answer(const walked &zone, dnsblv6_addr address)
{
	dnsblv6_labels labels;
	dnsblv6_name_make_classic(address, &labels);
	return answer(zone, labels);
}
} // namespace

TEST_CASE("a network is one wildcard at the border of its label", "[zone][classic]")
{
	owned_classic list;
	list.add("10.0.0.0", "10.255.255.255", 1).add("192.0.2.0", "192.0.2.255", 2);
	list.add("198.51.0.0", "198.51.255.255", 3).add("2001:db8::", "2001:db8::ff", 4);
	CHECK(list.walk().names ==
	      std::vector<named>{ { "*.10", "10.0.0.0/8", 1 },
				  { "*.2.0.192", "192.0.2.0/24", 2 },
				  { "*.51.198", "198.51.0.0/16", 3 },
				  { "*.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2",
				    "2001:db8::/120", 4 } });
}

TEST_CASE("an exception exists, so that the wildcard is not for it", "[zone][classic]")
{
	owned_classic list;
	list.add("192.0.2.0", "192.0.2.8", 1).add("192.0.2.10", "192.0.2.99", 1);
	list.add("192.0.2.100", "192.0.2.100", 2).add("192.0.2.101", "192.0.2.255", 1);
	CHECK(list.walk().names == std::vector<named>{ { "*.2.0.192", "192.0.2.0/24", 1 },
						       { "100.2.0.192", "192.0.2.100", 2 },
						       { "9.2.0.192", "192.0.2.9", 0 } });
}

TEST_CASE("a network is named address by address unless exceptions are few", "[zone][classic]")
{
	owned_classic less;
	less.add("192.0.2.0", "192.0.2.240", 1);
	CHECK(less.walk().names.size() == 241);
	owned_classic more;
	more.add("192.0.2.0", "192.0.2.241", 1);
	CHECK(more.walk().names.size() == 1 + 14);
	owned_classic nibbles;
	nibbles.add("2001:db8::", "2001:db8::e", 1);
	CHECK(nibbles.walk().names.size() == 15);
}

TEST_CASE("a wildcard never answers for the other family", "[zone][classic]")
{
	owned_classic list;
	list.add("2.6.0.0", "2.6.255.255", 1);
	auto zone = list.walk();
	CHECK(answer(zone, addr("2.6.1.9")) == 1);
	CHECK(answer(zone, addr("2.6.200.201")) == 1);
	for (const char *text : { "2600::", "2601::1", "260a::", "2600:1234::", "26ff::1" })
		CHECK(answer(zone, addr(text)) == unlisted);
}

TEST_CASE("the test point stands there in its mapped form too", "[zone][classic]")
{
	owned_classic list;
	list.add("127.0.0.2", "127.0.0.2", 7);
	auto names = list.walk().names;
	REQUIRE(names.size() == 2);
	CHECK(names[0].name == "2.0.0.0.0.0.f.7.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0");
	CHECK(names[0].prefix == "127.0.0.2");
	CHECK(names[1].name == "2.0.0.127");
}

TEST_CASE("a walk stops when it is told to", "[zone][classic]")
{
	owned_classic list;
	walked result;
	list.add("192.0.2.1", "192.0.2.9", 1);
	result.stop_after = 3;
	CHECK(classic_walk(&list.list, keep, &result) == -1);
	CHECK(result.names.size() == 3);
	owned_classic none;
	CHECK(none.walk().names.empty());
}

TEST_CASE("every address has the answer of its piece", "[zone][classic]")
{
	std::mt19937_64 random(6);
	for (int round = 0; round < 60; round++) {
		// Few high digits, so that both families meet below the same labels.
		const uint32_t base = static_cast<uint32_t>(random() % 10) << 24 |
				      static_cast<uint32_t>(random() % 12) << 16;
		const uint64_t base6 = (random() % 10) << 60 | (random() % 12) << 56;
		owned_classic list;
		std::vector<dnsblv6_addr> asked;
		uint64_t at = base;
		for (int i = 0; i < 30 && at < base + 0x30000u; i++) {
			const uint64_t first = at + random() % 300;
			const uint64_t last =
				first + (random() % 3 == 0 ? random() % 70000 : random() % 9);
			REQUIRE(pieces_append(&list.list,
					      dnsblv6_addr_from_ipv4(static_cast<uint32_t>(first)),
					      dnsblv6_addr_from_ipv4(static_cast<uint32_t>(last)),
					      1 + random() % 2) == DNSBLV6_OK);
			at = last + 1;
			for (uint64_t edge :
			     { first - 1, first, last, last + 1, (first + last) / 2 })
				asked.push_back(
					dnsblv6_addr_from_ipv4(static_cast<uint32_t>(edge)));
		}
		dnsblv6_addr next = { base6, 0 };
		for (int i = 0; i < 30; i++) {
			const unsigned shift = 4 * static_cast<unsigned>(random() % 15);
			const dnsblv6_addr first = { next.hi, next.lo + random() % 5 };
			const dnsblv6_addr last =
				random() % 2 == 0
					? dnsblv6_addr{ first.hi, first.lo + random() % 1000 }
					: dnsblv6_addr{ (first.hi | ((1ull << shift) - 1)),
							UINT64_MAX };
			if (dnsblv6_addr_is_ipv4(first) || dnsblv6_addr_is_ipv4(last))
				break;
			REQUIRE(pieces_append(&list.list, first, last, 1 + random() % 2) ==
				DNSBLV6_OK);
			asked.insert(asked.end(), { first, last, dnsblv6_addr_previous(first),
						    dnsblv6_addr_next(last) });
			next = dnsblv6_addr_next(last);
			next.hi += random() % 3 == 0 ? random() % 100000 : 0;
		}
		auto zone = list.walk();
		for (auto address : asked) {
			uint32_t set = pieces_find(&list.list, address);
			if (dnsblv6_addr_is_ipv4(address) || (address.hi >> 48) != 0)
				CHECK(answer(zone, address) ==
				      (set == DNSBLV6_SET_NONE ? unlisted : set));
		}
	}
}

TEST_CASE("a record has the values and names what it stands for", "[zone][classic]")
{
	const uint8_t text[] = { 's', 'e', 'e', ' ', 0 };
	const dnsblv6_value values[] = { { 0x7f000002, 300, sizeof(text), text },
					 { 0x7f000003, 60, 0, nullptr } };
	uint8_t data[1024];
	size_t size = 0;
	classic_name name = { {}, dnsblv6_prefix_make(addr("192.0.2.0"), 96 + 24), 1 };
	REQUIRE(classic_record(&name, values, 2, 9, data, sizeof(data), &size) == DNSBLV6_OK);
	std::vector<std::string> found;
	dnsblv6_rr rr;
	size_t offset = 0;
	while (dnsblv6_record_next_rr(data, size, &offset, &rr) == DNSBLV6_OK)
		found.push_back(
			std::to_string(rr.type) + " " + std::to_string(rr.ttl) + " " +
			std::string(reinterpret_cast<const char *>(rr.rdata), rr.rdata_size));
	CHECK(found == std::vector<std::string>{ "1 60 \x7f" + std::string("\0\0\x02", 3),
						 "1 60 \x7f" + std::string("\0\0\x03", 3),
						 "16 300 \x10see 192.0.2.0/24" });
	name.set = DNSBLV6_SET_NONE;
	REQUIRE(classic_record(&name, nullptr, 0, 9, data, sizeof(data), &size) == DNSBLV6_OK);
	offset = 0;
	REQUIRE(dnsblv6_record_next_rr(data, size, &offset, &rr) == DNSBLV6_OK);
	CHECK(rr.type == 13);
	CHECK(rr.ttl == 9);
	CHECK(classic_record(&name, values, 2, 9, data, 8, &size) == DNSBLV6_ESPACE);
	const std::vector<dnsblv6_value> many(49, values[1]);
	CHECK(classic_record(&name, many.data(), many.size(), 9, data, sizeof(data), &size) ==
	      CLASSIC_EVALUES);
}
