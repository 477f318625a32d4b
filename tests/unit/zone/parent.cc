// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/keys/parent.h"

#include "tests/lib/tmpdir.hh"
#include "tests/unit/zone/keys.hh"
#include "zone-tools/keys/keyring.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

static const uint16_t ID = 0x1234;

static rollover_key key_of(uint8_t fill)
{
	rollover_key key = {};
	const uint8_t head[] = { 1, 1, 3, KEY_ED25519 };
	std::memcpy(key.dnskey, head, sizeof(head));
	key.dnskey_size = 36;
	std::memset(key.dnskey + 4, fill, 32);
	return key;
}

static bytes ds_of(const rollover_key &key, uint8_t digest_type = KEY_DIGEST_SHA256)
{
	const dnsblv6_labels zone = labels_struct("bl6.example");
	bytes rdata(KEY_DS_MAX);
	rdata.resize(key_ds_of(&zone, key.dnskey, key.dnskey_size, digest_type, rdata.data()));
	REQUIRE(!rdata.empty());
	return rdata;
}

struct reply {
	uint8_t flags2 = 0x84; // QR, AA
	uint8_t flags3 = 0;
	uint16_t id = ID;
	uint16_t type = 43; // DS
	std::vector<bytes> all_ds;
	uint32_t ttl = 3600;
	std::vector<bytes> all_rrsigs;

	static bytes rr(uint16_t type, uint32_t ttl, const bytes &rdata)
	{
		bytes out = { 0xc0,
			      12,
			      0,
			      uint8_t(type),
			      0,
			      1,
			      uint8_t(ttl >> 24),
			      uint8_t(ttl >> 16),
			      uint8_t(ttl >> 8),
			      uint8_t(ttl),
			      0,
			      uint8_t(rdata.size()) };
		out.insert(out.end(), rdata.begin(), rdata.end());
		return out;
	}

	bytes wire() const
	{
		const size_t count = all_ds.size() + all_rrsigs.size();
		bytes out = { uint8_t(id >> 8), uint8_t(id), flags2, flags3, 0, 1, 0,
			      uint8_t(count),	0,	     0,	     0,	     0 };
		const bytes name = { 3, 'B', 'L', '6', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0 };
		out.insert(out.end(), name.begin(), name.end());
		out.insert(out.end(), { uint8_t(type >> 8), uint8_t(type), 0, 1 });
		const auto put = [&](uint16_t rr_type, const std::vector<bytes> &all) {
			for (const bytes &rdata : all) {
				const bytes one = rr(rr_type, ttl, rdata);
				out.insert(out.end(), one.begin(), one.end());
			}
		};
		put(43, all_ds);
		put(46, all_rrsigs);
		return out;
	}
};

static int read(const reply &from, parent_answer &answer)
{
	const dnsblv6_labels zone = labels_struct("bl6.example");
	bytes wire = from.wire();
	return parent_read_answer(wire.data(), wire.size(), &zone, ID, &answer);
}

TEST_CASE("a question about the DS records of a zone has 40 bytes, DO among them", "[zone][parent]")
{
	const dnsblv6_labels zone = labels_struct("bl6.example");
	uint8_t wire[512];
	const size_t size = parent_make_question(&zone, ID, wire);
	const bytes wanted = { 0x12, 0x34, 1, 0x20, 0, 1, 0, 0, 0, 0, 0, 1, 3, 'b', 'l', '6', 7,
			       'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 43, 0, 1,
			       // The root, OPT, 1232, DO.
			       0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 0 };
	CHECK(bytes(wire, wire + size) == wanted);
}

TEST_CASE("the DS records of an authority or of a validating resolver are taken", "[zone][parent]")
{
	const uint8_t flags = GENERATE(as<uint8_t>{}, 0x84, 0x80); // AA, or AD below
	reply from;
	from.flags2 = flags;
	from.flags3 = flags == 0x80 ? 0xa0 : 0;
	from.all_ds = { ds_of(key_of(1)), ds_of(key_of(2), KEY_DIGEST_SHA384) };
	parent_answer answer;
	REQUIRE(read(from, answer) == DNSBLV6_OK);
	REQUIRE(answer.ds_count == 2);
	CHECK(answer.ttl == 3600);
	CHECK(bytes(answer.ds[0].rdata, answer.ds[0].rdata + answer.ds[0].size) == from.all_ds[0]);
	CHECK(bytes(answer.ds[1].rdata, answer.ds[1].rdata + answer.ds[1].size) == from.all_ds[1]);
}

static bytes rrsig_of(uint8_t type, uint32_t original_ttl)
{
	const auto octet = [&](int shift) { return uint8_t(original_ttl >> shift); };
	bytes rdata = { 0, type, 15, 2, octet(24), octet(16), octet(8), octet(0), 0,
			0, 0,	 2,  0, 0,	   0,	      1,	0,	  7 };
	rdata.insert(rdata.end(), { 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 1, 2, 3, 4 });
	return rdata;
}

// A resolver says what is left of a TTL, or less: other resolvers have the DS for as long as it was made for.
TEST_CASE("the TTL of DS records is the one that they were signed with", "[zone][parent]")
{
	reply from;
	from.all_ds = { ds_of(key_of(1)) };
	parent_answer answer;
	SECTION("a resolver's is less")
	{
		from.all_rrsigs = { rrsig_of(43, 86400) };
		REQUIRE(read(from, answer) == DNSBLV6_OK);
		CHECK(answer.ttl == 86400);
		CHECK(answer.ds_count == 1);
	}
	SECTION("the greater one counts")
	{
		from.all_rrsigs = { rrsig_of(43, 60) };
		REQUIRE(read(from, answer) == DNSBLV6_OK);
		CHECK(answer.ttl == 3600);
	}
	SECTION("a signature of something else says nothing")
	{
		from.all_rrsigs = { rrsig_of(47, 86400) };
		REQUIRE(read(from, answer) == DNSBLV6_OK);
		CHECK(answer.ttl == 3600);
	}
	SECTION("more than RFC 2181 knows is not taken")
	{
		from.all_rrsigs = { rrsig_of(43, UINT32_MAX) };
		REQUIRE(read(from, answer) == DNSBLV6_OK);
		CHECK(answer.ttl == INT32_MAX);
	}
}

TEST_CASE("what is no trusted answer to the question is told from one", "[zone][parent]")
{
	parent_answer answer;
	reply from;
	from.all_ds = { ds_of(key_of(1)) };
	SECTION("neither AA nor AD")
	{
		from.flags2 = 0x80;
		from.flags3 = 0x80; // RA
		CHECK(read(from, answer) == PARENT_EDOUBTED);
	}
	SECTION("TC")
	{
		from.flags2 = 0x86;
		CHECK(read(from, answer) == PARENT_ECUT);
	}
	SECTION("SERVFAIL")
	{
		from.flags3 = 2;
		CHECK(read(from, answer) == PARENT_EREFUSED);
	}
	SECTION("another number")
	{
		from.id = ID + 1;
		CHECK(read(from, answer) == PARENT_EFOREIGN);
	}
	SECTION("another type")
	{
		from.type = 48;
		CHECK(read(from, answer) == PARENT_EFOREIGN);
	}
	SECTION("a question")
	{
		from.flags2 = 0x04;
		CHECK(read(from, answer) == PARENT_EFOREIGN);
	}
	SECTION("no DS at all, which is an answer")
	{
		from.all_ds.clear();
		REQUIRE(read(from, answer) == DNSBLV6_OK);
		CHECK(answer.ds_count == 0);
	}
}

TEST_CASE("more DS records than are kept do no harm", "[zone][parent]")
{
	parent_answer answer;
	reply from;
	from.all_ds = std::vector<bytes>(PARENT_DS_MAX + 4, ds_of(key_of(1)));
	REQUIRE(read(from, answer) == DNSBLV6_OK);
	CHECK(answer.ds_count == PARENT_DS_MAX);
}

TEST_CASE("only the new key's DS without the old one's lets a rollover go on", "[zone][parent]")
{
	const rollover_key new_key = key_of(2);
	const rollover_key old = key_of(1);
	const dnsblv6_labels zone = labels_struct("bl6.example");
	const uint8_t type = GENERATE(as<uint8_t>{}, KEY_DIGEST_SHA256, KEY_DIGEST_SHA384);
	const bytes new_ds = ds_of(new_key, type);
	const bytes old_ds = ds_of(old, type);
	bytes other_ds = ds_of(key_of(3), type);
	bytes forged = new_ds;
	forged.back() ^= 1; // same tag and algorithm
	const auto judge = [&](const std::vector<bytes> &all_ds, const rollover_key *before) {
		parent_answer answer;
		reply from;
		from.all_ds = all_ds;
		REQUIRE(read(from, answer) == DNSBLV6_OK);
		return parent_judge(&answer, &zone, &new_key, before);
	};
	CHECK(judge({ new_ds }, &old) == PARENT_HAS_NEW);
	CHECK(judge({ other_ds, new_ds }, &old) == PARENT_HAS_NEW);
	CHECK(judge({ new_ds }, nullptr) == PARENT_HAS_NEW);
	CHECK(judge({ new_ds, old_ds }, &old) == PARENT_HAS_BOTH);
	CHECK(judge({ old_ds }, &old) == PARENT_HAS_OLD);
	CHECK(judge({ old_ds }, nullptr) == PARENT_HAS_OTHER);
	CHECK(judge({ other_ds }, &old) == PARENT_HAS_OTHER);
	CHECK(judge({ forged }, &old) == PARENT_HAS_OTHER);
	CHECK(judge({}, &old) == PARENT_HAS_NONE);
}

// ---- the directory ----

TEST_CASE("a key is made in a directory for its owner alone, and found by its DNSKEY",
	  "[zone][keyring]")
{
	const tmpdir directory;
	const std::string ring = directory.file("keys");
	const dnsblv6_labels zone = labels_struct("bl6.example");
	struct key *key = nullptr;
	char path[KEYRING_PATH_MAX];
	REQUIRE(keyring_make(ring.c_str(), &zone, KEY_ED25519, nullptr, 0, &key, path) ==
		DNSBLV6_OK);
	const key_ptr made(key, key_free);
	struct stat found;
	REQUIRE(stat(ring.c_str(), &found) == 0);
	CHECK((found.st_mode & 0777) == 0700);
	REQUIRE(stat(path, &found) == 0);
	CHECK((found.st_mode & 0777) == 0600);
	CHECK(path == ring + "/bl6.example.+15+" + std::to_string(key_tag(key)) + ".pem");

	const bytes dnskey = dnskey_of(made);
	struct key *again = nullptr;
	REQUIRE(keyring_read(ring.c_str(), &zone, dnskey.data(), dnskey.size(), &again, path) ==
		DNSBLV6_OK);
	CHECK(dnskey_of(key_ptr(again, key_free)) == dnskey);

	std::string other = path;
	REQUIRE(keyring_remove(path) == DNSBLV6_OK);
	CHECK(keyring_remove(path) == -ENOENT);
	CHECK(keyring_read(ring.c_str(), &zone, dnskey.data(), dnskey.size(), &again, path) ==
	      -ENOENT);
	REQUIRE(key_generate(KEY_ED25519, &key) == DNSBLV6_OK);
	const key_ptr foreign(key, key_free);
	REQUIRE(key_write(key, other.c_str()) == DNSBLV6_OK);
	CHECK(keyring_read(ring.c_str(), &zone, dnskey.data(), dnskey.size(), &again, path) ==
	      KEYRING_EOTHER);
}

TEST_CASE("a directory that is none is refused, and leaves nothing behind", "[zone][keyring]")
{
	const tmpdir directory;
	const std::string ring = directory.file("file");
	const dnsblv6_labels zone = labels_struct("bl6.example");
	std::ofstream(ring) << "x";
	struct key *key = nullptr;
	char path[KEYRING_PATH_MAX];
	CHECK(keyring_make(ring.c_str(), &zone, KEY_ED25519, nullptr, 0, &key, path) == -ENOTDIR);
	CHECK(keyring_make((directory.file("no") + "/keys").c_str(), &zone, KEY_ED25519, nullptr, 0,
			   &key, path) == -ENOENT);
	CHECK(key == nullptr);
}

TEST_CASE("a zone's name cannot lead out of the directory", "[zone][keyring]")
{
	const dnsblv6_labels zone = labels_struct("a\\047b\\046\\046.example");
	char path[KEYRING_PATH_MAX];
	REQUIRE(keyring_path("d", &zone, KEY_ED25519, 7, path) == DNSBLV6_OK);
	const std::string text = path;
	CHECK(std::count(text.begin(), text.end(), '/') == 1);
	CHECK(keyring_path(std::string(KEYRING_PATH_MAX, 'd').c_str(), &zone, KEY_ED25519, 7,
			   path) == -ENAMETOOLONG);
}

TEST_CASE("a new key avoids tags that are taken", "[zone][keyring]")
{
	const tmpdir directory;
	const dnsblv6_labels zone = labels_struct("bl6.example");
	std::vector<uint16_t> taken;
	for (unsigned i = 0; i < 65536; i++) {
		if (i % 4 != 0) // one in four is free
			taken.push_back(static_cast<uint16_t>(i));
	}
	struct key *key = nullptr;
	char path[KEYRING_PATH_MAX];
	REQUIRE(keyring_make(directory.file("keys").c_str(), &zone, KEY_ED25519, taken.data(),
			     taken.size(), &key, path) == DNSBLV6_OK);
	CHECK(key_tag(key) % 4 == 0);
	key_free(key);
}
