// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/keys/anchor.h"

#include "tests/lib/tmpdir.hh"
#include "tests/unit/zone/keys.hh"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

static key_ptr published_key(const char *pem)
{
	const tmpdir directory;
	const std::string path = directory.file("key.pem");
	write_file(path, pem);
	chmod(path.c_str(), 0600);
	struct key *key = nullptr;
	REQUIRE(key_read(path.c_str(), &key) == DNSBLV6_OK);
	return { key, key_free };
}

template <typename Print> static std::string printed(Print print)
{
	char *text = nullptr;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	REQUIRE(stream != nullptr);
	CHECK(print(stream) == DNSBLV6_OK);
	fclose(stream);
	const std::string out(text, size);
	free(text);
	return out;
}

TEST_CASE("keys of RFC 6605 and 8080 are printed as the RFCs print them", "[zone][anchor]")
{
	const key_ptr ecdsa = published_key(RFC6605_PEM);
	const key_ptr ed25519 = published_key(RFC8080_PEM);
	const dnsblv6_labels net = labels_struct("example.net");
	const dnsblv6_labels com = labels_struct("example.com");
	CHECK(printed([&](FILE *out) { return anchor_print_dnskey(out, &net, ecdsa.get()); }) ==
	      "example.net. IN DNSKEY 257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edb"
	      "krSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==\n");
	CHECK(printed([&](FILE *out) { return anchor_print_ds(out, &net, ecdsa.get()); }) ==
	      "example.net. IN DS 55648 13 2 "
	      "B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17\n");
	CHECK(printed([&](FILE *out) { return anchor_print_dnskey(out, &com, ed25519.get()); }) ==
	      "example.com. IN DNSKEY 257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=\n");
	CHECK(printed([&](FILE *out) { return anchor_print_ds(out, &com, ed25519.get()); }) ==
	      "example.com. IN DS 3613 15 2 "
	      "3AA5AB37EFCE57F737FC1627013FEE07BDF241BD10F3B1964AB55C78E79A304B\n");
}

TEST_CASE("a zone has one digest, however its name is written", "[zone][anchor]")
{
	const std::string text =
		GENERATE("example.net", "example.net.", "EXAMPLE.net.", "e\\120ample.Net");
	CAPTURE(text);
	dnsblv6_labels zone = {};
	REQUIRE(anchor_parse_zone(text.c_str(), &zone) == DNSBLV6_OK);
	CHECK(to_hex(zone.wire, zone.size) == to_hex(labels_of("example.net")));
}

TEST_CASE("a zone without a name is refused", "[zone][anchor]")
{
	const std::string text = GENERATE("", ".", "@", "a..b", ".a");
	CAPTURE(text);
	dnsblv6_labels zone = {};
	CHECK(anchor_parse_zone(text.c_str(), &zone) == DNSBLV6_ENAME);
	CHECK(zone.size == 0);
}
