// SPDX-License-Identifier: GPL-3.0-or-later
// The vectors come from dnspython, those of RFCs from RFCs.
#include "lib/format/dnssec.h"

#include "tests/lib/guarded.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/vectors.hh"

#include <catch2/catch.hpp>

#include <algorithm>

static dnsblv6_types types_of(const std::string &numbers)
{
	dnsblv6_types types = {};
	for (const std::string &number : split(numbers, ','))
		types.numbers[types.count++] = static_cast<uint8_t>(std::stoul(number));
	return types;
}

static std::string text_of(const dnsblv6_types &types)
{
	std::string text;
	for (unsigned i = 0; i < types.count; i++)
		text += (i > 0 ? "," : "") + std::to_string(types.numbers[i]);
	return text;
}

// ---- types ----

TEST_CASE("the types of a record are those of its RRs and of its signatures",
	  "[format][vectors][dnssec]")
{
	const vector_case c = EACH("types");
	CAPTURE(c);
	const guarded record(from_hex(c[0]));
	dnsblv6_types types = {};
	REQUIRE(dnsblv6_types_of_record(record.data(), record.size(), c[1] == "yes", &types) ==
		DNSBLV6_OK);
	CHECK(text_of(types) == c[2]);
}

TEST_CASE("a record without a set of types is refused", "[format][vectors][dnssec]")
{
	const vector_case c = EACH("types-refused");
	CAPTURE(c);
	const guarded record(from_hex(c[0]));
	dnsblv6_types types = {};
	types.count = 7;
	CHECK(dnsblv6_types_of_record(record.data(), record.size(), c[1] == "yes", &types) ==
	      DNSBLV6_ERECORD);
	CHECK(types.count == 7);
}

TEST_CASE("a damaged record has a set of types in order, or none", "[format][dnssec]")
{
	const vector_case c = EACH("types");
	CAPTURE(c);
	damage(from_hex(c[0]), [](const guarded &damaged) {
		dnsblv6_types types = {};
		const int ret =
			dnsblv6_types_of_record(damaged.data(), damaged.size(), true, &types);
		if (ret != DNSBLV6_OK) {
			CHECK(ret == DNSBLV6_ERECORD);
			return;
		}
		REQUIRE(types.count <= DNSBLV6_TYPES_MAX);
		for (unsigned i = 1; i < types.count; i++)
			CHECK(types.numbers[i - 1] < types.numbers[i]);
	});
}

// ---- NSEC ----

TEST_CASE("an NSEC is the next name and the bits of the types", "[format][vectors][dnssec]")
{
	const vector_case c = EACH("nsec");
	CAPTURE(c);
	const dnsblv6_labels zone = labels_struct(c[0]);
	const dnsblv6_labels next = labels_struct(c[1]);
	const dnsblv6_types types = types_of(c[2]);
	bytes rdata(DNSBLV6_NSEC_MAX);
	rdata.resize(dnsblv6_nsec_encode(&zone, &next, &types, rdata.data()));
	CHECK(to_hex(rdata) == c[3]);
}

TEST_CASE("the largest NSEC fits its maximum", "[format][dnssec]")
{
	dnsblv6_labels zone = {};
	zone.size = DNSBLV6_LABELS_MAX;
	const dnsblv6_labels apex = {};
	dnsblv6_types types = {};
	types.count = DNSBLV6_TYPES_MAX;
	for (unsigned i = 0; i < types.count; i++)
		types.numbers[i] = static_cast<uint8_t>(255 - types.count + i + 1);
	std::vector<uint8_t> rdata(DNSBLV6_NSEC_MAX); // on the heap, where ASan sees its end
	CHECK(dnsblv6_nsec_encode(&zone, &apex, &types, rdata.data()) == DNSBLV6_NSEC_MAX);
}

// ---- RRSIG ----

namespace
{
// A line of rrsig.
struct rrsig_case {
	dnsblv6_labels zone;
	dnsblv6_labels owner;
	dnsblv6_rrsig rrsig = {};
	std::vector<bytes> storage;
	std::vector<dnsblv6_rdata> rdatas;

	explicit rrsig_case(const vector_case &c)
	    : zone(labels_struct(c[0])), owner(labels_struct(c[1]))
	{
		rrsig.type_covered = static_cast<uint16_t>(std::stoul(c[2]));
		rrsig.algorithm = static_cast<uint8_t>(std::stoul(c[3]));
		rrsig.labels = dnsblv6_rrsig_labels(&zone, &owner);
		rrsig.ttl = static_cast<uint32_t>(std::stoul(c[4]));
		rrsig.signature.expiration = static_cast<uint32_t>(std::stoul(c[5]));
		rrsig.signature.inception = static_cast<uint32_t>(std::stoul(c[6]));
		rrsig.signature.key_tag = static_cast<uint16_t>(std::stoul(c[7]));
		memcpy(rrsig.signature.bytes, from_hex(c[8]).data(), DNSBLV6_SIGNATURE_BYTES);
		for (const std::string &rdata : split(c[9], '/'))
			storage.push_back(from_hex(rdata));
		for (const bytes &rdata : storage)
			rdatas.push_back({ rdata.data(), static_cast<uint16_t>(rdata.size()) });
	}

	int input(bytes &ret_input)
	{
		size_t size = 0;
		const int ret =
			dnsblv6_signing_input(&rrsig, &zone, &owner, rdatas.data(), rdatas.size(),
					      ret_input.data(), ret_input.size(), &size);
		if (ret == DNSBLV6_OK)
			ret_input.resize(size);
		return ret;
	}
};
} // namespace

TEST_CASE("an RRSIG counts the labels of its owner, not a wildcard's asterisk",
	  "[format][vectors][dnssec]")
{
	const vector_case c = EACH("rrsig");
	CAPTURE(c);
	CHECK(std::to_string(rrsig_case(c).rrsig.labels) == c[10]);
}

TEST_CASE("bytes behind a name are not part of it", "[format][dnssec]")
{
	const dnsblv6_labels zone = labels_struct("bl6.example");
	dnsblv6_labels apex = labels_struct("*.2.0.192");
	apex.size = 0;
	CHECK(dnsblv6_rrsig_labels(&zone, &apex) == 2);
}

TEST_CASE("an RRSIG is what it says and the signature", "[format][vectors][dnssec]")
{
	const vector_case c = EACH("rrsig");
	CAPTURE(c);
	const rrsig_case parsed(c);
	std::vector<uint8_t> rdata(DNSBLV6_RRSIG_MAX);
	rdata.resize(dnsblv6_rrsig_encode(&parsed.rrsig, &parsed.zone, rdata.data()));
	CHECK(to_hex(rdata) == c[11]);
}

TEST_CASE("the signature comes out of an RRSIG of the type it covers", "[format][vectors][dnssec]")
{
	const vector_case c = EACH("rrsig");
	CAPTURE(c);
	const rrsig_case parsed(c);
	const guarded rdata(from_hex(c[11]));
	dnsblv6_signature got = {};
	REQUIRE(dnsblv6_rrsig_decode(rdata.data(), rdata.size(), parsed.rrsig.type_covered, &got) ==
		DNSBLV6_OK);
	CHECK(got.expiration == parsed.rrsig.signature.expiration);
	CHECK(got.inception == parsed.rrsig.signature.inception);
	CHECK(got.key_tag == parsed.rrsig.signature.key_tag);
	CHECK(to_hex(got.bytes, sizeof(got.bytes)) == c[8]);

	const auto other = static_cast<uint16_t>(parsed.rrsig.type_covered ^ 0x0100);
	CHECK(dnsblv6_rrsig_decode(rdata.data(), rdata.size(), other, &got) == DNSBLV6_ENOTFOUND);
}

TEST_CASE("an RRSIG without room for a name and a signature is damaged", "[format][dnssec]")
{
	const unsigned size = GENERATE(range(0u, 100u));
	CAPTURE(size);
	const guarded rdata(bytes(size, 0));
	dnsblv6_signature signature = {};
	signature.key_tag = 7;
	const int ret = dnsblv6_rrsig_decode(rdata.data(), rdata.size(), 0, &signature);
	CHECK(ret == (size < 83 ? DNSBLV6_ERECORD : DNSBLV6_OK)); // the root signs in 83
	CHECK(signature.key_tag == (size < 83 ? 7 : 0));
}

TEST_CASE("what is signed is the RRSIG's beginning and the RRset in canonical form",
	  "[format][vectors][dnssec]")
{
	const vector_case c = EACH("rrsig");
	CAPTURE(c);
	bytes input(8192);
	REQUIRE(rrsig_case(c).input(input) == DNSBLV6_OK);
	CHECK(to_hex(input) == c[12]);
}

TEST_CASE("what is signed does not depend on the order of the RRs", "[format][dnssec]")
{
	const vector_case c = EACH("rrsig");
	const auto seed = RANDOM_SEED(5);
	CAPTURE(c, seed);
	rrsig_case parsed(c);
	std::shuffle(parsed.rdatas.begin(), parsed.rdatas.end(), std::mt19937(seed));
	bytes input(8192);
	REQUIRE(parsed.input(input) == DNSBLV6_OK);
	CHECK(to_hex(input) == c[12]);
}

TEST_CASE("what is signed is refused when the space may be too small", "[format][dnssec]")
{
	const vector_case c = EACH("rrsig");
	CAPTURE(c);
	const size_t needed = from_hex(c[12]).size();
	unsigned refused_count = 0;
	for (size_t space = 0; space < needed; space++) {
		bytes input(space);
		refused_count += rrsig_case(c).input(input) == DNSBLV6_ESPACE;
	}
	CHECK(refused_count == needed);
}
