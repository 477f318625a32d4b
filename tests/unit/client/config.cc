/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/config.hh"

#include "client-lib/config/sites.h"
#include "tests/lib/fault.hh"

#include <set>

namespace
{
/* One octet of a filter, read the simple way. */
std::set<unsigned> octet_of(std::string text)
{
	std::set<unsigned> set;
	if (text[0] == '[')
		text = text.substr(1, text.size() - 2) + ";";
	else
		text += ";";
	while (!text.empty()) {
		const size_t end = text.find(';');
		const std::string part = text.substr(0, end);
		const size_t dots = part.find("..");
		const unsigned long first = std::stoul(part);
		const unsigned long last =
			dots == std::string::npos ? first : std::stoul(part.substr(dots + 2));
		for (unsigned long n = first; n <= last; n++)
			set.insert(static_cast<unsigned>(n));
		text = text.substr(end + 1);
	}
	return set;
}
} // namespace

TEST_CASE("an unset configuration has the documented values", "[client][config]")
{
	Config config;
	CHECK(config->threshold == 1);
	CHECK(config->cache_size == 4 * 1024 * 1024);
	CHECK(config->min_ttl_s == 5);
	CHECK(config->max_ttl_s == 86400);
	CHECK(config->max_negative_ttl_s == 3600);
	CHECK(config->failure_ttl_s == 10);
	CHECK(config->max_stale_s == 10800);
	CHECK(config->prefetch_percent == 10);
	CHECK(config->probe_interval_s == 3600);
	CHECK(config->max_requests == 4096);
	CHECK(config->max_sockets == 0);
	CHECK(config->attempt_timeout_ms == 500);
	CHECK_FALSE(config->mixed_case);
	CHECK(config->use_ranges);
	CHECK_FALSE(config->shared_writer);
	CHECK(std::string(config->shared).empty());
	CHECK(std::string(config->resolv_conf) == "/etc/resolv.conf");
	CHECK(config.finish() == "zones \"\": there is nothing to ask");
}

TEST_CASE("a number is taken with its unit, at both ends of its range", "[client][config]")
{
	struct row {
		const char *key, *value;
		uint64_t number;
		uint64_t (*get)(const config *);
	};
#define GET(member) [](const config *c) { return static_cast<uint64_t>(c->member); }
	auto r = GENERATE(values<row>({
		{ "threshold", "1", 1, GET(threshold) },
		{ "threshold", "64000000", 64000000, GET(threshold) },
		{ "cache-size", "8192", 8192, GET(cache_size) },
		{ "cache-size", "8K", 8192, GET(cache_size) },
		{ "cache-size", "3M", 3145728, GET(cache_size) },
		{ "cache-size", "64G", 68719476736, GET(cache_size) },
		{ "min-ttl", "1", 1, GET(min_ttl_s) },
		{ "min-ttl", "1h", 3600, GET(min_ttl_s) },
		{ "max-ttl", "1s", 1, GET(max_ttl_s) },
		{ "max-ttl", "7d", 604800, GET(max_ttl_s) },
		{ "max-negative-ttl", "1", 1, GET(max_negative_ttl_s) },
		{ "max-negative-ttl", "10080m", 604800, GET(max_negative_ttl_s) },
		{ "failure-ttl", "5s", 5, GET(failure_ttl_s) },
		{ "failure-ttl", "30", 30, GET(failure_ttl_s) },
		{ "max-stale", "0", 0, GET(max_stale_s) },
		{ "max-stale", "168h", 604800, GET(max_stale_s) },
		{ "prefetch", "0", 0, GET(prefetch_percent) },
		{ "prefetch", "90%", 90, GET(prefetch_percent) },
		{ "probe-interval", "0", 0, GET(probe_interval_s) },
		{ "probe-interval", "1m", 60, GET(probe_interval_s) },
		{ "probe-interval", "604800", 604800, GET(probe_interval_s) },
		{ "max-requests", "1", 1, GET(max_requests) },
		{ "max-requests", "65536", 65536, GET(max_requests) },
		{ "max-sockets", "4", 4, GET(max_sockets) },
		{ "max-sockets", "16384", 16384, GET(max_sockets) },
		{ "attempt-timeout", "20", 20, GET(attempt_timeout_ms) },
		{ "attempt-timeout", "750ms", 750, GET(attempt_timeout_ms) },
		{ "attempt-timeout", "30s", 30000, GET(attempt_timeout_ms) },
	}));
#undef GET
	CAPTURE(r.key, r.value);
	Config config;
	CHECK(config.set(r.key, r.value) == "");
	CHECK(r.get(config.operator->()) == r.number);
}

TEST_CASE("a value that is refused is named with its key and range, and changes nothing",
	  "[client][config]")
{
	struct row {
		const char *key, *value, *permitted;
	};
	auto r = GENERATE(values<row>({
		{ "zones", " , ", "1 to 64 entries" },
		{ "threshold", "0", "1 to 64000000" },
		{ "threshold", "-1", "1 to 64000000" },
		{ "threshold", "64000001", "1 to 64000000" },
		{ "threshold", "1.5", "1 to 64000000" },
		{ "threshold", "", "1 to 64000000" },
		{ "threshold", " 1", "1 to 64000000" },
		{ "scope", "", "global and all" },
		{ "scope", "private", "global and all" },
		{ "threshold", "18446744073709551617", "1 to 64000000" },
		{ "cache-size", "8191", "8K to 64G" },
		{ "cache-size", "7K", "8K to 64G" },
		{ "cache-size", "65G", "8K to 64G" },
		{ "cache-size", "4T", "8K to 64G" },
		{ "cache-size", "4MB", "8K to 64G" },
		{ "cache-size", "18014398509481985K", "8K to 64G" },
		{ "cache-size", "M", "8K to 64G" },
		{ "servers", "localhost", "ADDRESS[@PORT]" },
		{ "servers", "192.0.2.1@0", "ADDRESS[@PORT]" },
		{ "servers", "192.0.2.1@65536", "ADDRESS[@PORT]" },
		{ "servers", "192.0.2.1@", "ADDRESS[@PORT]" },
		{ "servers", "192.0.2.1@99999999999", "ADDRESS[@PORT]" },
		{ "servers", "192.0.2.1:53", "ADDRESS[@PORT]" },
		{ "servers", "224.0.0.1", "ADDRESS[@PORT]" },
		{ "servers", "255.255.255.255", "ADDRESS[@PORT]" },
		{ "servers", "ff02::1", "ADDRESS[@PORT]" },
		{ "servers", "fe80::1%none-such", "ADDRESS[@PORT]" },
		{ "servers", "fe80::1%", "ADDRESS[@PORT]" },
		{ "servers", "fe80::1%0", "ADDRESS[@PORT]" },
		{ "servers", "fe80::1%99999999999999999999", "ADDRESS[@PORT]" },
		{ "servers", "2001:db8::1%lo", "ADDRESS[@PORT]" },
		{ "trusted", "none 192.0.2.1", "or none" },
		{ "trusted", "yes", "or none" },
		{ "on-failure", "close", "open, closed and defer" },
		{ "on-failure", "", "open, closed and defer" },
		{ "on-failure", "bl.example=", "open, closed and defer" },
		{ "on-failure", "=open", "name of a zone is missing" },
		{ "secure", "always", "auto, yes and no" },
		{ "secure", "bl.example=", "auto, yes and no" },
		{ "secure", "", "auto, yes and no" },
		{ "mode", "classic6", "auto, bitmap and classic" },
		{ "mode", "bl.example=open", "auto, bitmap and classic" },
		{ "mode", "auto bl..example=auto", "labels of 1 to 63" },
		{ "shared", "run/dnsblv6", "absolute path" },
		{ "role", "server", "client and writer" },
		{ "min-ttl", "0", "1 to 3600 seconds" },
		{ "min-ttl", "61m", "1 to 3600 seconds" },
		{ "max-ttl", "8d", "1 to 604800 seconds" },
		{ "max-ttl", "1w", "1 to 604800 seconds" },
		{ "max-negative-ttl", "0", "1 to 604800 seconds" },
		{ "failure-ttl", "4", "5 to 30 seconds" },
		{ "failure-ttl", "31s", "5 to 30 seconds" },
		{ "failure-ttl", "1m", "5 to 30 seconds" },
		{ "max-stale", "604801", "0 to 604800 seconds" },
		{ "prefetch", "91", "0 to 90 percent" },
		{ "probe-interval", "59", "60 to 604800 seconds" },
		{ "probe-interval", "8d", "or 0" },
		{ "max-requests", "0", "1 to 65536" },
		{ "max-requests", "65537", "1 to 65536" },
		{ "max-sockets", "3", "4 to 16384" },
		{ "max-sockets", "16385", "4 to 16384" },
		{ "attempt-timeout", "19", "20 to 30000 milliseconds" },
		{ "attempt-timeout", "31s", "20 to 30000 milliseconds" },
		{ "attempt-timeout", "1m", "20 to 30000 milliseconds" },
		{ "mixed-case", "1", "yes and no" },
		{ "ranges", "YES", "yes and no" },
		{ "resolv-conf", "", "absolute path" },
		{ "resolv-conf", "resolv.conf", "absolute path" },
	}));
	CAPTURE(r.key, r.value);
	Config config;
	REQUIRE(config.set("zones", "bl.example=127.0.0.2*3") == "");
	REQUIRE(config.set("mode", "classic bl.example=auto") == "");
	REQUIRE(config.set("servers", "192.0.2.53") == "");
	const std::string before = config.bytes();
	const std::string error = config.set(r.key, r.value);
	CHECK(error.rfind(std::string(r.key) + " \"", 0) == 0);
	CHECK(contains(error, r.permitted));
	CHECK(config.bytes() == before);
}

TEST_CASE("the word that is refused is shown, and not the good ones beside it", "[client][config]")
{
	Config config;
	CHECK(config.set("zones", "good.example bad!.example,other.example") ==
	      "zones \"bad!.example\": a name of a zone has letters, digits, \"-\", \"_\" and "
	      "dots");
	CHECK(config.set("servers", "127.0.0.1 resolver") ==
	      "servers \"resolver\": permitted are up to 8 ADDRESS[@PORT] of hosts, IPv6 also with "
	      "%INTERFACE");
	CHECK(config.set("mode", "auto bl.example=closed") ==
	      "mode \"bl.example=closed\": permitted are auto, bitmap and classic, and with NAME= "
	      "before them");
	CHECK(config.set("failure-ttl", "31") ==
	      "failure-ttl \"31\": permitted is 5 to 30 seconds, with s, m, h or d");
}

TEST_CASE("a refused word is escaped and cut", "[client][config]")
{
	Config config;
	CHECK(config.set("threshold", "\x1b[31m\"\\\n\xff") ==
	      "threshold \"\\x1b[31m\\x22\\x5c\\x0a\\xff\": permitted is 1 to 64000000");
	CHECK(config.set("threshold", std::string(48, 'x')) ==
	      "threshold \"" + std::string(47, 'x') + "...\": permitted is 1 to 64000000");
	CHECK(config.set("threshold", std::string(47, 'x')) ==
	      "threshold \"" + std::string(47, 'x') + "\": permitted is 1 to 64000000");
	const std::string error = config.set("zones", std::string(100000, '\x80'));
	CHECK(contains(error, "...\": "));
	CHECK(error.size() < CONFIG_ERROR_MAX - 1);
}

TEST_CASE("a key that is not there is refused by name", "[client][config]")
{
	Config config;
	const std::string before = config.bytes();
	CHECK(config.set("zonse", "bl.example") ==
	      "option \"zonse\": there is no such key, libdnsblv6(3) has them all");
	CHECK(contains(config.set("", "x"), "option \"\""));
	CHECK(config.bytes() == before);
}

TEST_CASE("every key is listed once, and is known", "[client][config]")
{
	std::set<std::string> keys;
	unsigned count = 0;
	for (; config_key(count) != nullptr; count++)
		keys.insert(config_key(count));
	CHECK(count == 26);
	CHECK(keys.size() == count);
	CHECK(config_key(count + 1) == nullptr);
	CHECK(std::string(config_key(0)) == "zones");
	for (const auto &key : keys) {
		Config config;
		CAPTURE(key);
		CHECK_FALSE(contains(config.set(key, "\x01"), "no such key"));
	}
}

TEST_CASE("words and paths are taken", "[client][config]")
{
	Config config;
	CHECK(config.set("mixed-case", "yes") == "");
	CHECK(config.set("ranges", "no") == "");
	CHECK(config.set("role", "writer") == "");
	CHECK(config.set("shared", "/run/dnsblv6") == "");
	CHECK(config.set("resolv-conf", "/r") == "");
	CHECK(config->mixed_case);
	CHECK_FALSE(config->use_ranges);
	CHECK(config->shared_writer);
	CHECK(std::string(config->shared) == "/run/dnsblv6");
	CHECK(std::string(config->resolv_conf) == "/r");
	CHECK(config.set("mixed-case", "no") == "");
	CHECK(config.set("ranges", "yes") == "");
	CHECK(config.set("role", "client") == "");
	CHECK(config.set("shared", "") == "");
	CHECK_FALSE(config->mixed_case);
	CHECK(config->use_ranges);
	CHECK_FALSE(config->shared_writer);
	CHECK(std::string(config->shared).empty());
}

TEST_CASE("a path fits in its place, and one byte more does not", "[client][config]")
{
	Config config;
	CHECK(config.set("shared", "/" + std::string(89, 'd')) == "");
	CHECK(config.set("shared", "/" + std::string(90, 'd')) != "");
	CHECK(config.set("resolv-conf", "/" + std::string(254, 'd')) == "");
	CHECK(config.set("resolv-conf", "/" + std::string(255, 'd')) != "");
	CHECK(std::string(config->resolv_conf).size() == 255);
}

/* ---- zones ---- */

TEST_CASE("entries are divided by commas and blanks, and those of one name share a zone",
	  "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "\tA.example.,b.example*-2 , \n a.EXAMPLE=127.0.0.2*5\r\n") ==
		"");
	REQUIRE(config->entry_count == 3);
	REQUIRE(config->zone_count == 2);
	CHECK(std::string(config->zones[0].text) == "a.example");
	CHECK(std::string(config->zones[1].text) == "b.example");
	CHECK(config->zones[0].name.size == 10);
	CHECK(memcmp(config->zones[0].name.wire, "\1a\7example", 10) == 0);
	CHECK(config->entries[0].zone == 0);
	CHECK(config->entries[0].weight == 1);
	CHECK_FALSE(config->entries[0].filter.is_set);
	CHECK(config->entries[1].zone == 1);
	CHECK(config->entries[1].weight == -2);
	CHECK(config->entries[2].zone == 0);
	CHECK(config->entries[2].weight == 5);
	CHECK(config->entries[2].filter.is_set);
}

TEST_CASE("zones that are set again replace the earlier ones", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example b.example c.example") == "");
	REQUIRE(config.set("zones", "d.example") == "");
	CHECK(config->entry_count == 1);
	CHECK(config->zone_count == 1);
	CHECK(std::string(config->zones[0].text) == "d.example");
}

TEST_CASE("there are 64 entries at most", "[client][config]")
{
	Config config;
	std::string zones;
	for (unsigned i = 0; i < 64; i++)
		zones += "z" + std::to_string(i) + ".example ";
	CHECK(config.set("zones", zones) == "");
	CHECK(config->entry_count == 64);
	CHECK(config->zone_count == 64);
	CHECK(config->entries[63].zone == 63);
	CHECK(config.set("zones", zones + "one.more") ==
	      "zones \"one.more\": permitted are 1 to 64 entries "
	      "NAME[=FILTER[=LABEL]][*WEIGHT]");
	CHECK(config->entry_count == 64);
}

TEST_CASE("an entry that is not in postscreen's syntax is refused", "[client][config]")
{
	struct row {
		const char *entry, *reason;
	};
	auto r = GENERATE(values<row>({
		{ "=127.0.0.2", "name of a zone is missing" },
		{ "*2", "name of a zone is missing" },
		{ ".", "name of a zone is missing" },
		{ ".example", "labels of 1 to 63" },
		{ "bl..example", "labels of 1 to 63" },
		{ "bl.example..", "labels of 1 to 63" },
		{ "b\\108.example", "letters, digits" },
		{ "@", "letters, digits" },
		{ "http://bl.example", "letters, digits" },
		{ "bl.ex\xc3\xa4mple", "letters, digits" },
		{ "127.0.0.2", "an address is no zone" },
		{ "127.0.0.2*3", "an address is no zone" },
		{ "4", "an address is no zone" },
		{ "bl.example*", "a weight is a whole number" },
		{ "bl.example*+", "a weight is a whole number" },
		{ "bl.example*--1", "a weight is a whole number" },
		{ "bl.example*1*2", "a weight is a whole number" },
		{ "bl.example*2=127.0.0.2", "a weight is a whole number" },
		{ "bl.example*1000001", "a weight is a whole number" },
		{ "bl.example*-1000001", "a weight is a whole number" },
		{ "bl.example*99999999999999999999", "a weight is a whole number" },
		{ "bl.example*1.5", "a weight is a whole number" },
		{ "bl.example=", "a filter is four octets" },
		{ "bl.example=*2", "a filter is four octets" },
		{ "bl.example=127.0.0", "a filter is four octets" },
		{ "bl.example=127.0.0.2.", "a filter is four octets" },
		{ "bl.example=127.0.0.2.3", "a filter is four octets" },
		{ "bl.example=127.0.0.256", "a filter is four octets" },
		{ "bl.example=127.0.0.&", "a filter is four octets" },
		{ "bl.example=127.0.0.&0", "a filter is four octets" },
		{ "bl.example=127.0.0.&256", "a filter is four octets" },
		{ "bl.example=127.0.0.&2..4", "a filter is four octets" },
		{ "bl.example=127.0.0.[2..&4]", "a filter is four octets" },
		{ "bl.example=&128.0.0.2", "fits nothing in 127.0.0.0/8" },
		{ "bl.example==", "a label has 1 to 31" },
		{ "bl.example=127.0.0.2=", "a label has 1 to 31" },
		{ "bl.example=127.0.0.2=*2", "a label has 1 to 31" },
		{ "bl.example=127.0.0.2=SBL=CSS", "a label has 1 to 31" },
		{ "bl.example=127.0.0.2=S\x01L", "a label has 1 to 31" },
		{ "bl.example=127.0.0=SBL", "a filter is four octets" },
		{ "bl.example=127.0.0.2=abcdefghijklmnopqrstuvwxyz123456", "a label has 1 to 31" },
		{ "bl.example=127..0.0.2", "a filter is four octets" },
		{ "bl.example=127.0.0.2..4", "a filter is four octets" },
		{ "bl.example=127.0.0.[", "a filter is four octets" },
		{ "bl.example=127.0.0.[]", "a filter is four octets" },
		{ "bl.example=127.0.0.[2", "a filter is four octets" },
		{ "bl.example=127.0.0.[2;]", "a filter is four octets" },
		{ "bl.example=127.0.0.[;2]", "a filter is four octets" },
		{ "bl.example=127.0.0.[2.4]", "a filter is four octets" },
		{ "bl.example=127.0.0.[2...4]", "a filter is four octets" },
		{ "bl.example=127.0.0.[4..2]", "a filter is four octets" },
		{ "bl.example=127.0.0.[2..256]", "a filter is four octets" },
		{ "bl.example=127.0.0.[2..]", "a filter is four octets" },
		{ "bl.example=127.0.0.[..2]", "a filter is four octets" },
		{ "bl.example=127.0.0.[[2]]", "a filter is four octets" },
		{ "bl.example=127.0.0.2]", "a filter is four octets" },
		{ "bl.example=127.0.0.*", "a weight is a whole number" },
		{ "bl.example=127.0.0.-2", "a filter is four octets" },
		{ "bl.example=10.0.0.2", "fits nothing in 127.0.0.0/8" },
		{ "bl.example=[126;128..255].0.0.2", "fits nothing in 127.0.0.0/8" },
		{ "bl.example=127.255.255.[0..255]", "by which lists refuse to answer" },
	}));
	CAPTURE(r.entry);
	Config config;
	CHECK(contains(config.set("zones", r.entry), r.reason));
	CHECK(config->entry_count == 0);
}

TEST_CASE("a weight may be negative, zero and signed", "[client][config]")
{
	struct row {
		const char *entry;
		int32_t weight;
	};
	auto r = GENERATE(values<row>({ { "z.example*-1000000", -1000000 },
					{ "z.example*1000000", 1000000 },
					{ "z.example*+3", 3 },
					{ "z.example*0", 0 },
					{ "z.example*007", 7 } }));
	CAPTURE(r.entry);
	Config config;
	REQUIRE(config.set("zones", r.entry) == "");
	CHECK(config->entries[0].weight == r.weight);
}

TEST_CASE("a name leaves the place that an address in front of it needs", "[client][config]")
{
	const std::string label(62, 'a');
	const std::string name = label + "." + label + "." + label;
	Config config;
	REQUIRE(name.size() == 188);
	CHECK(config.set("zones", name + "a") == "");
	CHECK(config->zones[0].name.size == SITES_NAME_MAX);
	CHECK(std::string(config->zones[0].text) == name + "a");
	CHECK(contains(config.set("zones", name + "aa"), "at most 189 characters"));
	CHECK(contains(config.set("zones", "b." + name.substr(2) + "aa"), "at most 189"));
	CHECK(contains(config.set("zones", std::string(64, 'a') + ".example"),
		       "labels of 1 to 63"));
}

TEST_CASE("a filter fits exactly the addresses that its octets say", "[client][config]")
{
	auto octets = GENERATE(values<std::vector<std::string>>({
		{ "127", "0", "0", "2" },
		{ "127", "0", "0", "[2..11]" },
		{ "127", "0", "[0;1]", "[1..255]" },
		{ "[0..255]", "[0..255]", "[0..255]", "[0..255]" },
		{ "[10;127;255]", "[0;63;64]", "[127;128]", "[191..192;255]" },
		{ "[126..128]", "00255", "[3;3;3]", "[1..5;2..9;0]" },
	}));
	const std::string text = octets[0] + "." + octets[1] + "." + octets[2] + "." + octets[3];
	CAPTURE(text);
	Config config;
	REQUIRE(config.set("zones", "z.example=" + text) == "");

	std::set<unsigned> sets[4];
	bool is_in[4][256] = {};
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned n : octet_of(octets[i]))
			is_in[i][n] = true;
	}
	/* All of 127/8, and every first octet with some of the rest. */
	size_t wrong = 0, fitting = 0;
	for (uint32_t host = 0; host < 1u << 24; host++) {
		const uint32_t a = 127u << 24 | host;
		const bool fits = config_filter_fits(&config->entries[0].filter, htonl(a));
		wrong += fits != (is_in[0][127] && is_in[1][a >> 16 & 255] &&
				  is_in[2][a >> 8 & 255] && is_in[3][a & 255]);
		fitting += fits;
	}
	for (uint32_t first = 0; first < 256; first++) {
		for (uint32_t host = 0; host < 1u << 24; host += 4093) {
			const uint32_t a = first << 24 | host;
			const bool fits = config_filter_fits(&config->entries[0].filter, htonl(a));
			wrong += fits != (is_in[0][first] && is_in[1][a >> 16 & 255] &&
					  is_in[2][a >> 8 & 255] && is_in[3][a & 255]);
		}
	}
	CHECK(wrong == 0);
	CHECK(fitting > 0);
}

TEST_CASE("without a filter all of 127/8 fits, but what a list says to a client it bars",
	  "[client][config]")
{
	const config_filter any = {};
	size_t wrong = 0;
	for (uint32_t host = 0; host < 1u << 24; host++) {
		const bool is_barred = host >> 8 == 0xffff;
		wrong += config_filter_fits(&any, htonl(127u << 24 | host)) == is_barred;
	}
	CHECK(wrong == 0);
	CHECK_FALSE(config_filter_fits(&any, htonl(0x7effffff)));
	CHECK_FALSE(config_filter_fits(&any, htonl(0x80000001)));
	CHECK_FALSE(config_filter_fits(&any, htonl(0x0a000002)));
	CHECK_FALSE(config_filter_fits(&any, 0));
}

TEST_CASE("an octet with one of some bits fits, and another does not", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example=127.0.0.&12 b.example=127.0.&1.[2;&64;128..129]") ==
		"");
	size_t wrong = 0;
	for (uint32_t c = 0; c < 256; c++) {
		for (uint32_t d = 0; d < 256; d++) {
			const uint32_t a_be32 = htonl(0x7f000000 | c << 8 | d);
			wrong += config_filter_fits(&config->entries[0].filter, a_be32) !=
				 (c == 0 && (d & 12) != 0);
			wrong +=
				config_filter_fits(&config->entries[1].filter, a_be32) !=
				((c & 1) != 0 && (d == 2 || (d & 64) != 0 || d == 128 || d == 129));
		}
	}
	CHECK(wrong == 0);
}

TEST_CASE("codes have a label and a weight each", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "zen.example=127.0.0.4=XBL*3 zen.example=127.0.0.[2;9]=SBL-css "
				    "key.zen.example==ZEN_1.2*-1 zen.example") == "");
	REQUIRE(config->entry_count == 4);
	CHECK(config->zone_count == 2);
	CHECK(std::string(config->entries[0].label) == "XBL");
	CHECK(config->entries[0].weight == 3);
	CHECK(std::string(config->entries[1].label) == "SBL-css");
	CHECK(config->entries[1].weight == 1);
	CHECK(std::string(config->entries[2].label) == "ZEN_1.2");
	CHECK(config->entries[2].weight == -1);
	CHECK_FALSE(config->entries[2].filter.is_set);
	CHECK(std::string(config->entries[3].label).empty());
	REQUIRE(config.set("zones", "a.example==abcdefghijklmnopqrstuvwxyz12345") == "");
	CHECK(strlen(config->entries[0].label) == CONFIG_LABEL_SIZE - 1);
}

/* ---- mode and on-failure ---- */

TEST_CASE("a word for all zones and one for a single zone may come in any order",
	  "[client][config]")
{
	const bool is_zones_first = GENERATE(true, false);
	const bool is_one_first = GENERATE(true, false);
	CAPTURE(is_zones_first, is_one_first);
	Config config;
	if (is_zones_first)
		REQUIRE(config.set("zones", "a.example b.example") == "");
	if (is_one_first) {
		REQUIRE(config.set("mode", "B.example.=classic bitmap") == "");
		REQUIRE(config.set("on-failure", "b.example=defer") == "");
		REQUIRE(config.set("on-failure", "closed") == "");
	} else {
		REQUIRE(config.set("mode", "bitmap, b.example=classic") == "");
		REQUIRE(config.set("on-failure", "closed") == "");
		REQUIRE(config.set("on-failure", "b.example=defer") == "");
	}
	if (!is_zones_first)
		REQUIRE(config.set("zones", "a.example b.example") == "");
	REQUIRE(config.finish() == "");
	CHECK(config->zones[0].mode == CONFIG_BITMAP);
	CHECK(config->zones[0].on_failure == CONFIG_CLOSED);
	CHECK(config->zones[1].mode == CONFIG_CLASSIC);
	CHECK(config->zones[1].on_failure == CONFIG_DEFER);
}

TEST_CASE("a zone has a kind, and a test point that goes by it", "[client][config]")
{
	struct row {
		const char *kind, *point, *labels;
	};
	auto r = GENERATE(values<row>({
		{ "addresses", nullptr, "\0012\0010\0010\003127" },
		{ "names", nullptr, "\4test" },
		{ "sites", nullptr, "\0012\0010\0010\003127" },
		{ "hashes", nullptr, "" },
		{ "a.example=names", "a.example=DBLtest.com", "\7dbltest\3com" },
		{ "names", "b.example=x.org", "\4test" },
		{ "names", "none", "" },
		{ "hashes", "c0ffee.", "\6c0ffee" },
		{ "sites", "192.0.2.1", "\0011\0012\0010\003192" },
	}));
	CAPTURE(r.kind, r.labels);
	Config config;
	REQUIRE(config.set("zones", "a.example b.example") == "");
	REQUIRE(config.set("kind", r.kind) == "");
	if (r.point != nullptr)
		REQUIRE(config.set("test-point", r.point) == "");
	REQUIRE(config.finish() == "");
	const dnsblv6_labels &point = config->zones[0].point;
	CHECK(std::string(reinterpret_cast<const char *>(point.wire), point.size) == r.labels);
}

TEST_CASE("what may be asked about has the zones of its kind", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example n.example s.example h.example n.example*2") == "");
	REQUIRE(config.set("kind", "n.example=names s.example=sites h.example=hashes") == "");
	REQUIRE(config.set("mode", "bitmap") == "");
	REQUIRE(config.finish() == "");
	CHECK(config->zones[0].mode == CONFIG_BITMAP);
	CHECK(config->zones[1].mode == CONFIG_CLASSIC);
	auto entries = [&](config_topic topic, uint64_t zones) {
		return config_entries(config.operator->(), topic, zones);
	};
	CHECK(entries(CONFIG_ADDRESS, 0) == 1);
	CHECK(entries(CONFIG_NAME, 0) == 0x16);
	CHECK(entries(CONFIG_SITE, 0) == 4);
	CHECK(entries(CONFIG_ADDRESS, UINT64_MAX) == 1);
	CHECK(entries(CONFIG_NAME, UINT64_MAX) == 0x1e);
	CHECK(entries(CONFIG_SITE, UINT64_MAX) == 4);
	CHECK(entries(CONFIG_NAME, 1) == 0);
}

TEST_CASE("a kind or test point that is none is refused", "[client][config]")
{
	struct row {
		const char *key, *value, *reason;
	};
	auto r = GENERATE(values<row>({
		{ "kind", "", "permitted are addresses, names, sites and hashes" },
		{ "kind", "domains", "permitted are addresses, names, sites and hashes" },
		{ "kind", "a.example=", "permitted are addresses, names, sites and hashes" },
		{ "kind", "a..b=names", "labels of 1 to 63" },
		{ "test-point", "", "permitted are a name, an IPv4 address and none" },
		{ "test-point", "a.example=", "permitted are a name, an IPv4 address and none" },
		{ "test-point", "::1", "permitted are a name, an IPv4 address and none" },
		{ "test-point", "a@b", "permitted are a name, an IPv4 address and none" },
		{ "test-point", "127.0.0.1=test", "an address is no zone" },
	}));
	CAPTURE(r.key, r.value);
	Config config;
	const std::string before = config.bytes();
	CHECK(contains(config.set(r.key, r.value), r.reason));
	CHECK(config.bytes() == before);
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("test-point", "b.example=test") == "");
	CHECK(config.finish() == "test-point \"b.example\": \"zones\" does not have it");
}

TEST_CASE("a filter that has nothing but the error of its zone's kind is refused",
	  "[client][config]")
{
	static const char only[] = "its filter fits nothing but an answer that is an error";
	Config config;
	REQUIRE(config.set("zones", "a.example=127.0.0.1 b.example=127.0.0.[1;2]") == "");
	CHECK(config.finish() == "");
	REQUIRE(config.set("kind", "b.example=sites") == "");
	CHECK(config.finish() == "");
	REQUIRE(config.set("kind", "sites") == "");
	CHECK(contains(config.finish(), std::string("zones \"a.example\": ") + only));
	REQUIRE(config.set("zones", "a.example b.example=[126;127].0.1.255") == "");
	CHECK(config.finish() == "");
	REQUIRE(config.set("kind", "b.example=names") == "");
	CHECK(contains(config.finish(), std::string("zones \"b.example\": ") + only));
}

TEST_CASE("zones are asked in mode auto and fail open, unless told", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example b.example c.example") == "");
	REQUIRE(config.set("mode", "b.example=bitmap") == "");
	REQUIRE(config.set("on-failure", "c.example=closed c.example=open") == "");
	REQUIRE(config.finish() == "");
	CHECK(config->zones[0].mode == CONFIG_AUTO);
	CHECK(config->zones[0].on_failure == CONFIG_OPEN);
	CHECK(config->zones[1].mode == CONFIG_BITMAP);
	CHECK(config->zones[1].on_failure == CONFIG_OPEN);
	CHECK(config->zones[2].mode == CONFIG_AUTO);
	CHECK(config->zones[2].on_failure == CONFIG_OPEN);
}

TEST_CASE("a mode or on-failure of a zone that is not asked is refused at the end",
	  "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("on-failure", "b.example=closed") == "");
	CHECK(config.finish() == "on-failure \"b.example\": \"zones\" does not have it");
	REQUIRE(config.set("mode", "b.example=bitmap") == "");
	CHECK(config.finish() == "mode \"b.example\": \"zones\" does not have it");
	REQUIRE(config.set("zones", "b.example") == "");
	CHECK(config.finish() == "");
}

TEST_CASE("as many zones as there may be have a mode of their own, and not one more",
	  "[client][config]")
{
	Config config;
	std::string modes;
	for (unsigned i = 0; i < CONFIG_ZONES_MAX; i++)
		modes += "z" + std::to_string(i) + ".example=classic ";
	REQUIRE(config.set("mode", modes) == "");
	CHECK(config.set("mode", "z63.example=bitmap") == "");
	const std::string before = config.bytes();
	CHECK(config.set("mode", "z1.example=auto z64.example=bitmap") ==
	      "mode \"z64.example=bitmap\": there are at most 64 zones");
	CHECK(config.bytes() == before);
}

/* ---- what belongs together ---- */

TEST_CASE("clamps that contradict each other are refused", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("min-ttl", "60") == "");
	REQUIRE(config.set("max-ttl", "59") == "");
	CHECK(config.finish() == "max-ttl \"59\": below min-ttl, 60");
	REQUIRE(config.set("max-ttl", "60") == "");
	REQUIRE(config.set("max-negative-ttl", "59") == "");
	CHECK(config.finish() == "max-negative-ttl \"59\": below min-ttl, 60");
	REQUIRE(config.set("max-negative-ttl", "60") == "");
	CHECK(config.finish() == "");
}

TEST_CASE("a writer without a directory is refused", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("role", "writer") == "");
	CHECK(config.finish() == "role \"writer\": \"shared\" does not say where to write");
	REQUIRE(config.set("shared", "/run/dnsblv6") == "");
	CHECK(config.finish() == "");
}

TEST_CASE("sockets are as many as leave the program three quarters of its descriptors",
	  "[client][config]")
{
	struct row {
		rlim_t limit;
		uint32_t sockets;
	};
	auto r = GENERATE(values<row>({
		{ 2081, 512 },
		{ 2080, 512 },
		{ 2079, 511 },
		{ 1024, 248 },
		{ 256, 56 },
		{ 52, 5 },
		{ 51, 4 },
		{ 13, 4 },
	}));
	CAPTURE(r.limit);
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	const limited descriptors(r.limit);
	CHECK(config.finish() == "");
	CHECK(config->max_sockets == r.sockets);
}

TEST_CASE("more sockets than the process may open are refused", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	{
		const limited descriptors(12);
		CHECK(config.finish() == "max-sockets \"4\": RLIMIT_NOFILE does not let this "
					 "process open as many");
	}
	REQUIRE(config.set("max-sockets", "200") == "");
	{
		const limited descriptors(208);
		CHECK(config.finish() == "max-sockets \"200\": RLIMIT_NOFILE does not let this "
					 "process open as many");
	}
	const limited descriptors(209);
	CHECK(config.finish() == "");
	CHECK(config->max_sockets == 200);
}

TEST_CASE("finishing twice is finishing once", "[client][config]")
{
	File file("options trust-ad\nnameserver 192.0.2.1\n");
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("resolv-conf", file.path) == "");
	REQUIRE(config.finish() == "");
	const std::string once = config.bytes();
	REQUIRE(config.finish() == "");
	CHECK(config.bytes() == once);
}

TEST_CASE("reading a configuration allocates nothing", "[client][config]")
{
	File file("options trust-ad\nnameserver 192.0.2.1\n");
	std::unique_ptr<config> c(new config);
	char error[CONFIG_ERROR_MAX];
	int failed = 0;
	fault::fail_at(1);
	config_init(c.get());
	failed += config_set(c.get(), "zones", "a.example=127.0.0.[2;3]*2 b.example", error) != 0;
	failed += config_set(c.get(), "mode", "auto b.example=classic", error) != 0;
	failed += config_set(c.get(), "trusted", "192.0.2.1", error) != 0;
	failed += config_set(c.get(), "max-ttl", "1h", error) != 0;
	failed += config_set(c.get(), "resolv-conf", file.path.c_str(), error) != 0;
	failed += config_set(c.get(), "zones", "a..example", error) != -EINVAL;
	failed += config_finish(c.get(), error) != 0;
	CHECK_FALSE(fault::end());
	CHECK(failed == 0);
}
