// SPDX-License-Identifier: GPL-3.0-or-later
// Sets of networks: what is in them, and which lists are refused with which words.
#include "integration/common/networks.h"
#include "tests/lib/fault.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <vector>

namespace
{

class set
{
      public:
	explicit set(const std::string &text)
	{
		status = networks_parse(text.data(), text.size(), &networks, &error);
	}
	~set()
	{
		networks_deinit(&networks);
	}
	set(const set &) = delete;
	set &operator=(const set &) = delete;

	bool has(const std::string &text) const
	{
		dnsblv6_addr addr = {};
		REQUIRE(dnsblv6_addr_parse(text.data(), text.size(), &addr) == DNSBLV6_OK);
		return networks_contain(&networks, addr);
	}

	int status;
	struct networks networks = {};
	networks_error error = {};
};

} // namespace

TEST_CASE("an empty set contains nothing", "[adapter][networks]")
{
	const set none("");
	CHECK(none.status == 0);
	CHECK_FALSE(none.has("0.0.0.0"));
	CHECK_FALSE(none.has("::"));
}

TEST_CASE("addresses and prefixes of both families, comments and blanks are read",
	  "[adapter][networks]")
{
	const set some(
		"# ours\n192.0.2.0/24\r\n\n  2001:db8::/32\t# the other office\n198.51.100.7");
	REQUIRE(some.status == 0);
	CHECK(some.has("192.0.2.0"));
	CHECK(some.has("192.0.2.255"));
	CHECK_FALSE(some.has("192.0.3.0"));
	CHECK_FALSE(some.has("192.0.1.255"));
	CHECK(some.has("2001:db8:ffff::1"));
	CHECK_FALSE(some.has("2001:db9::"));
	CHECK(some.has("198.51.100.7"));
	CHECK(some.has("::ffff:198.51.100.7"));
	CHECK_FALSE(some.has("198.51.100.8"));
}

TEST_CASE("a prefix of IPv6 has no IPv4 address, however wide it is", "[adapter][networks]")
{
	const std::string wide = GENERATE("::/0", "::/64", "::/95");
	CAPTURE(wide);
	const set six(wide + "\n");
	CHECK(six.has("::1"));
	CHECK_FALSE(six.has("192.0.2.1"));
	const set both("192.0.2.0/24\n::/0\n2001:db8::/32\n203.0.113.0/24\n" + wide);
	CHECK(both.networks.count == 3);
	CHECK(both.has("192.0.2.1"));
	CHECK(both.has("203.0.113.1"));
	CHECK_FALSE(both.has("198.51.100.1"));
	CHECK_FALSE(both.has("255.255.255.255"));
	CHECK(both.has("2001:db9::"));
	CHECK(both.has("::fffe:ffff:ffff"));
	const set all("::ffff:0:0/96\n");
	CHECK(all.has("192.0.2.1"));
	CHECK_FALSE(all.has("::1"));
}

TEST_CASE("a network within another does not hide the rest of that", "[adapter][networks]")
{
	const set nested("10.0.0.0/8\n10.1.0.0/16\n10.1.0.0/24\n10.200.0.1\n10.0.0.0/8\n");
	REQUIRE(nested.status == 0);
	CHECK(nested.networks.count == 1);
	CHECK(nested.has("10.0.0.0"));
	CHECK(nested.has("10.1.1.0"));
	CHECK(nested.has("10.255.255.255"));
	CHECK_FALSE(nested.has("11.0.0.0"));
}

TEST_CASE("a search finds what a look at each network finds", "[adapter][networks]")
{
	const auto seed = RANDOM_SEED(5);
	CAPTURE(seed);
	randomness rnd(seed);
	std::vector<dnsblv6_prefix> prefixes;
	std::string text;
	for (int i = 0; i < 300; i++) {
		const auto addr = dnsblv6_addr_from_ipv4(0x0a000000U | rnd.below(0x10000));
		prefixes.push_back(
			dnsblv6_prefix_make(addr, DNSBLV6_IPV4_BASE_LEN + 22 + rnd.below(11)));
		char line[DNSBLV6_PREFIX_TEXT_SIZE];
		dnsblv6_prefix_format(prefixes.back(), line);
		text += std::string(line) + "\n";
	}
	const set all(text);
	REQUIRE(all.status == 0);
	unsigned wrong = 0;
	unsigned found = 0;
	for (uint32_t host = 0; host < 0x10000; host++) {
		const auto addr = dnsblv6_addr_from_ipv4(0x0a000000U | host);
		bool is_in = false;
		for (const auto &prefix : prefixes)
			is_in = is_in || dnsblv6_prefix_contains(prefix, addr);
		wrong += is_in != networks_contain(&all.networks, addr);
		found += is_in;
	}
	CHECK(wrong == 0);
	CHECK(found > 0);
}

TEST_CASE("a line that is no network refuses the list and is named", "[adapter][networks]")
{
	struct row {
		const char *line;
		const char *reason;
	};
	const auto row = GENERATE(values<struct row>({
		{ "300.1.1.1", "\"300.1.1.1\": " },
		{ "192.0.2.1/24", "host bits" },
		{ "192.0.2.0/33", "/33" },
		{ "example.com", "\"example.com\"" },
		{ "192.0.2.1 192.0.2.2", "\"192.0.2.1 192.0.2.2\"" },
		{ "\x01\xff", "\"\\x01\\xff\"" },
	}));
	CAPTURE(row.line);
	const set refused(std::string("192.0.2.0/24\n\n") + row.line + "\n198.51.100.0/24\n");
	CHECK(refused.status == -EINVAL);
	CHECK(refused.error.line == 3);
	CAPTURE(refused.error.reason);
	CHECK(std::string(refused.error.reason).find(row.reason) != std::string::npos);
	CHECK(refused.networks.count == 0);
}

TEST_CASE("NUL bytes and lines without an end are refused", "[adapter][networks]")
{
	const set nul(std::string("192.0.2.1\0", 10));
	CHECK(nul.status == -EINVAL);
	const set endless(std::string(NETWORKS_LINE_MAX + 1, ' '));
	CHECK(endless.status == -EINVAL);
	CHECK(std::string(endless.error.reason) == "the line is too long");
}

TEST_CASE("a list that cannot be read leaves what was there", "[adapter][networks]")
{
	const tmpdir directory;
	set before("192.0.2.1\n");
	networks_error error = {};
	CHECK(networks_read(directory.file("none").c_str(), &before.networks, &error) == -ENOENT);
	CHECK(error.line == 0);
	CHECK(networks_read(directory.path().c_str(), &before.networks, &error) < 0);
	REQUIRE(mkfifo(directory.file("fifo").c_str(), 0600) == 0);
	CHECK(networks_read(directory.file("fifo").c_str(), &before.networks, &error) < 0);
	CHECK(before.has("192.0.2.1"));

	write_file(directory.file("list"), "192.0.2.2\n");
	struct networks after = {};
	REQUIRE(networks_read(directory.file("list").c_str(), &after, &error) == 0);
	CHECK(after.count == 1);
	networks_deinit(&after);
}

TEST_CASE("without memory a list is refused, and nothing of it is kept", "[adapter][networks]")
{
	const tmpdir directory;
	std::string text;
	for (int i = 0; i < 200; i++)
		text += "192.0.2." + std::to_string(i) + "\n";
	write_file(directory.file("list"), text);
	for (unsigned n = 1;; n++) {
		struct networks networks = {};
		networks_error error = {};
		fault::fail_at(n);
		const int ret = networks_read(directory.file("list").c_str(), &networks, &error);
		const bool has_failed = fault::end();
		CAPTURE(n, error.reason);
		CHECK((ret < 0) == has_failed);
		CHECK((networks.prefixes == nullptr) == has_failed);
		networks_deinit(&networks);
		if (!has_failed)
			break;
	}
}
