/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libdnsblv6(3) says about options and counters is what the library has. */
#include "client-lib/config/config.h"
#include "client-lib/dnsblv6.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace
{

/* One item of a list of the page: what it is about, and its text. */
struct Item {
	std::string name;
	std::string text;
};

/* The lines of a section, from the top of the source tree. */
std::string section(const std::string &title)
{
	std::ifstream file("client-lib/man/libdnsblv6.3");
	REQUIRE(file);
	std::string line, text;
	bool is_in = false;
	while (std::getline(file, line)) {
		if (line.rfind(".Sh ", 0) == 0)
			is_in = line == ".Sh " + title;
		else if (is_in)
			text += line + "\n";
	}
	return text;
}

std::vector<Item> items(const std::string &title)
{
	std::vector<Item> found;
	std::istringstream lines(section(title));
	std::string line;
	while (std::getline(lines, line)) {
		if (line.rfind(".It Ic ", 0) == 0)
			found.push_back({ line.substr(7), "" });
		else if (!found.empty())
			found.back().text += line + "\n";
	}
	return found;
}

std::vector<std::string> names(const std::vector<Item> &list)
{
	std::vector<std::string> found;
	for (const Item &item : list)
		found.push_back(item.name);
	return found;
}

/* The word behind "default is", whatever marks it; "" when there is none to set. */
std::string default_of(const Item &item)
{
	static const std::regex pattern(R"(default is\s+(?:\.(?:Cm|Pa)\s+)?([\w/.-]*\w))");
	std::smatch found;
	if (!std::regex_search(item.text, found, pattern))
		return "";
	std::string word = found[1];
	return word == "none" || word == "empty" || word == "those" ? "" : word;
}

} // namespace

TEST_CASE("libdnsblv6(3) has the keys that there are, in their order", "[client][manual]")
{
	std::vector<std::string> keys;
	for (unsigned i = 0; config_key(i) != nullptr; i++)
		keys.push_back(config_key(i));
	CHECK(names(items("OPTIONS")) == keys);
}

TEST_CASE("the defaults that libdnsblv6(3) tells are those of a new handle", "[client][manual]")
{
	auto fresh = std::make_unique<config>(), set = std::make_unique<config>();
	char error[CONFIG_ERROR_MAX] = "";
	unsigned told = 0;

	for (const Item &item : items("OPTIONS")) {
		CAPTURE(item.name);
		CHECK_THAT(item.text, Catch::Contains("default"));
		const std::string word = default_of(item);
		if (word.empty())
			continue;
		told++;
		config_init(set.get());
		memcpy(fresh.get(), set.get(), sizeof(*fresh)); /* padding too */
		CAPTURE(word);
		CHECK(config_set(set.get(), item.name.c_str(), word.c_str(), error) == 0);
		CAPTURE(error);
		/* That it was said of all zones is kept as well. */
		memset(set->policies[0].has, 0, sizeof(set->policies[0].has));
		CHECK(memcmp(fresh.get(), set.get(), sizeof(*fresh)) == 0);
	}
	CHECK(told == 20);
}

TEST_CASE("libdnsblv6(3) has the counters that there are, in their order", "[client][manual]")
{
	struct dnsblv6 *client = nullptr;
	const char *name = nullptr;
	uint64_t value = 0;
	std::vector<std::string> counters;

	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	for (unsigned i = 0; dnsblv6_stat_get(client, i, &name, &value) == 0; i++)
		counters.push_back(name);
	dnsblv6_free(client);
	CHECK(names(items("COUNTERS")) == counters);
}
