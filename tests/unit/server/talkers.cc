// SPDX-License-Identifier: GPL-3.0-or-later
// Counts of networks against an exact count of the same queries.
#include "server/askers/talkers.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace
{

sockaddr_storage client(const std::string &text)
{
	sockaddr_storage out = {};
	auto *four = reinterpret_cast<sockaddr_in *>(&out);
	auto *six = reinterpret_cast<sockaddr_in6 *>(&out);
	if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1)
		four->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1)
		six->sin6_family = AF_INET6;
	else
		FAIL("not an address: " << text);
	return out;
}

const talkers_shape usual = { 64, 24, 56, 0x1234567890abcdef };

struct tables {
	explicit tables(const talkers_shape &shape = usual, size_t worker_count = 1)
	{
		REQUIRE(talkers_open(&bank, worker_count, &shape) == 0);
		for (size_t i = 0; i < worker_count; i++)
			all.push_back(talkers_of_worker(&bank, i));
	}
	~tables()
	{
		talkers_close(&bank);
	}
	tables(const tables &) = delete;
	tables &operator=(const tables &) = delete;

	void count(const std::string &text, int times = 1, size_t worker = 0)
	{
		sockaddr_storage address = client(text);
		for (int i = 0; i < times; i++)
			talkers_count(&all[worker], reinterpret_cast<sockaddr *>(&address));
		exact[cut(text)] += static_cast<uint64_t>(times);
	}

	// The prefix of an address, by a table that nothing else is in.
	std::string cut(const std::string &text) const
	{
		talkers_bank alone = {};
		REQUIRE(talkers_open(&alone, 1, &bank.shape) == 0);
		talkers table = talkers_of_worker(&alone, 0);
		sockaddr_storage address = client(text);
		talkers_count(&table, reinterpret_cast<sockaddr *>(&address));
		talkers_row row = {};
		size_t found = 0;
		REQUIRE(talkers_find_top(&table, 1, &row, 1, &found) == 0);
		std::string out = found == 1 ? format(row) : "";
		talkers_close(&alone);
		return out;
	}

	std::string format(const talkers_row &row) const
	{
		char text[TALKERS_TEXT_MAX];
		talkers_format(&bank.shape, row.key, text);
		return text;
	}

	std::vector<talkers_row> top(size_t count) const
	{
		std::vector<talkers_row> rows(count);
		size_t found = 0;
		REQUIRE(talkers_find_top(all.data(), all.size(), rows.data(), count, &found) == 0);
		rows.resize(found);
		return rows;
	}

	void check_bounds(const std::vector<talkers_row> &rows)
	{
		for (const talkers_row &row : rows) {
			CAPTURE(format(row), row.count, row.error, exact[format(row)]);
			CHECK(row.error <= row.count);
			CHECK(exact[format(row)] <= row.count);
			CHECK(exact[format(row)] >= row.count - row.error);
		}
	}

	talkers_bank bank = {};
	std::vector<talkers> all;
	std::map<std::string, uint64_t> exact;
};

} // namespace

TEST_CASE("addresses of one prefix are one network, and families are apart", "[server][talkers]")
{
	tables table;
	table.count("192.0.2.1", 3);
	table.count("192.0.2.255");
	table.count("192.0.3.0", 2);
	table.count("2001:db8:1:2ff::1");
	table.count("2001:db8:1:200:ffff::");
	table.count("0.0.0.1"); // the prefix of all zeroes is one as well
	table.count("::1");
	std::vector<talkers_row> rows = table.top(10);
	REQUIRE(rows.size() == 5);
	CHECK(table.format(rows[0]) == "192.0.2.0/24");
	CHECK(rows[0].count == 4);
	CHECK(rows[0].error == 0);
	CHECK(table.cut("2001:db8:1:2ff::1") == "2001:db8:1:200::/56");
	CHECK(table.cut("0.0.0.1") == "0.0.0.0/24");
	CHECK(table.cut("::1") == "::/56");
	table.check_bounds(rows);
}

TEST_CASE("prefixes of any permitted length are cut and printed", "[server][talkers]")
{
	auto cut = [](unsigned four, unsigned six, const std::string &text) {
		return tables({ 8, four, six, 0 }).cut(text);
	};
	CHECK(cut(8, 16, "203.0.113.9") == "203.0.0.0/8");
	CHECK(cut(32, 16, "203.0.113.9") == "203.0.113.9/32");
	CHECK(cut(25, 16, "203.0.113.200") == "203.0.113.128/25");
	CHECK(cut(24, 16, "2001:db8::1") == "2001::/16");
	CHECK(cut(24, 48, "2001:db8:5:6::1") == "2001:db8:5::/48");
	CHECK(cut(24, 56, "ffff:ffff:ffff:ffff::1") == "ffff:ffff:ffff:ff00::/56");
}

TEST_CASE("nothing is counted without places, without a client or of an unknown family",
	  "[server][talkers]")
{
	tables none({ 0, 24, 56, 0 });
	sockaddr_storage address = client("192.0.2.1");
	talkers_count(&none.all[0], reinterpret_cast<sockaddr *>(&address));
	CHECK(none.top(5).empty());
	tables table;
	talkers_count(&table.all[0], nullptr);
	address.ss_family = AF_UNIX;
	talkers_count(&table.all[0], reinterpret_cast<sockaddr *>(&address));
	CHECK(table.top(5).empty());
}

TEST_CASE("the network that asks most stays in the table through a flood of single questions, and "
	  "the bounds hold",
	  "[server][talkers]")
{
	tables table;
	for (int i = 0; i < 20000; i++) {
		table.count("10." + std::to_string(i % 250) + "." + std::to_string(i / 250) + ".1");
		if (i % 10 == 0)
			table.count("192.0.2.7");
		if (i % 20 == 0)
			table.count("2001:db8::7");
	}
	std::vector<talkers_row> rows = table.top(64);
	REQUIRE(rows.size() == 64);
	CHECK(table.format(rows[0]) == "192.0.2.0/24");
	CHECK(table.format(rows[1]) == "2001:db8::/56");
	table.check_bounds(rows);
	for (size_t i = 1; i < rows.size(); i++)
		CHECK(rows[i - 1].count >= rows[i].count);
}

TEST_CASE("tables of several workers are one, with bounds that hold", "[server][talkers]")
{
	tables table(usual, 3);
	for (int i = 0; i < 6000; i++) {
		size_t worker = static_cast<size_t>(i % 3);
		table.count("10." + std::to_string(i % 200) + ".9.1", 1, worker);
		if (i % 4 == 0)
			table.count("192.0.2.7", 1, worker);
		if (i % 9 == 0)
			table.count("198.51.100.7", 1, 0); // seen by one of them alone
	}
	std::vector<talkers_row> rows = table.top(1000);
	CHECK(table.format(rows[0]) == "192.0.2.0/24");
	CHECK(table.format(rows[1]) == "198.51.100.0/24");
	table.check_bounds(rows);
	CHECK(table.top(3).size() == 3);
}

TEST_CASE("what was merged into a table is in it, with bounds that hold", "[server][talkers]")
{
	tables table(usual, 2);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 500; i++) {
			table.count("10." + std::to_string(i % 150) + ".9.1", 1, 1);
			table.count("192.0.2.7", 1, 1);
		}
		REQUIRE(talkers_merge(&table.all[0], table.all.data(), 2) == 0);
		memset(table.all[1].sets, 0, (table.all[1].set_mask + 1) * sizeof(talkers_set));
	}
	std::vector<talkers_row> rows = table.top(64);
	REQUIRE(rows.size() == 64);
	CHECK(table.format(rows[0]) == "192.0.2.0/24");
	table.check_bounds(rows);
}

TEST_CASE("tables that count something else are not alike", "[server][talkers]")
{
	talkers_shape other = usual;
	CHECK(talkers_is_alike(&usual, &other));
	other.place_count = 60; // the same power of two
	CHECK(talkers_is_alike(&usual, &other));
	other.place_count = 65;
	CHECK_FALSE(talkers_is_alike(&usual, &other));
	other = usual;
	other.ipv4_length = 25;
	CHECK_FALSE(talkers_is_alike(&usual, &other));
	other = usual;
	other.ipv6_length = 48;
	CHECK_FALSE(talkers_is_alike(&usual, &other));
	other = usual;
	other.seed++;
	CHECK_FALSE(talkers_is_alike(&usual, &other));
}
