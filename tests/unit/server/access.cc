// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/message/access.h"

#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <cstring>
#include <string>

// Settings out of text, and who is asking.
struct ruled {
	settings value = {};

	explicit ruled(const std::string &text)
	{
		conf_error error = {};
		int ret = settings_parse(&value, text.data(), text.size(), "/", &error);
		INFO(error.item << " " << error.reason);
		REQUIRE(ret == 0);
	}
	~ruled()
	{
		settings_deinit(&value);
	}
	ruled(const ruled &) = delete;
	ruled &operator=(const ruled &) = delete;
	settings_action judge(const char *client, const tsig_key *key = nullptr) const;
};

static sockaddr_storage address(const char *text)
{
	sockaddr_storage out = {};
	auto *four = reinterpret_cast<sockaddr_in *>(&out);
	auto *six = reinterpret_cast<sockaddr_in6 *>(&out);
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		out.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
		out.ss_family = AF_INET6;
	return out;
}

settings_action ruled::judge(const char *client, const tsig_key *key) const
{
	sockaddr_storage from = address(client);
	return access_judge(&value, &value.zones[0], reinterpret_cast<sockaddr *>(&from), key);
}

static std::string zone_with(const std::string &access)
{
	return "zone:\n  - domain: a.example\n    store: a\n    access: " + access + "\n";
}

static const char keys[] = "key:\n  - id: gold\n    secret: c2VjcmV0\n"
			   "  - id: silver\n    secret: c2VjcmV1\n";

TEST_CASE("a rule with an address and a key wants both", "[server][access]")
{
	ruled p(std::string(keys) +
		"access:\n  - id: gold\n    key: gold\n    address: 192.0.2.0/24\n" +
		zone_with("gold"));
	const tsig_key *gold = p.value.keys[0].key;
	const tsig_key *silver = p.value.keys[1].key;
	CHECK(p.judge("192.0.2.1", gold) == SETTINGS_ALLOW);
	CHECK(p.judge("192.0.2.1", silver) == SETTINGS_REFUSE);
	CHECK(p.judge("192.0.2.1") == SETTINGS_REFUSE);
	CHECK(p.judge("192.0.3.1", gold) == SETTINGS_REFUSE);
	CHECK(p.judge("nobody", gold) == SETTINGS_REFUSE);
}

TEST_CASE("a rule with a key alone is for every address", "[server][access]")
{
	ruled p(std::string(keys) + "access:\n  - id: gold\n    key: gold\n" + zone_with("gold"));
	CHECK(p.judge("192.0.2.1", p.value.keys[0].key) == SETTINGS_ALLOW);
	CHECK(p.judge("2001:db8::1", p.value.keys[0].key) == SETTINGS_ALLOW);
	CHECK(p.judge("2001:db8::1") == SETTINGS_REFUSE);
}

TEST_CASE("a secondary may ask what it may transfer", "[server][access]")
{
	ruled p("secondary:\n  - id: ns2\n    address: 192.0.2.53\n"
		"access:\n  - id: nobody\n    action: drop\n"
		"zone:\n  - domain: a.example\n    store: a\n    secondary: ns2\n"
		"    access: nobody\n");
	CHECK(p.judge("192.0.2.53") == SETTINGS_ALLOW);
	CHECK(p.judge("192.0.2.54") == SETTINGS_DROP);
}

TEST_CASE("a zone without rules answers every client", "[server][access]")
{
	ruled p("access:\n  - id: nobody\n    action: drop\n"
		"zone:\n  - domain: a.example\n    store: a\n");
	CHECK(p.judge("192.0.2.53") == SETTINGS_ALLOW);
	CHECK(p.judge("nobody") == SETTINGS_ALLOW);
}

TEST_CASE("a prefix of one family has no client of the other", "[server][access]")
{
	ruled six("access:\n  - id: six\n    address: ::/0\n" + zone_with("six"));
	CHECK(six.judge("2001:db8::1") == SETTINGS_ALLOW);
	CHECK(six.judge("::1") == SETTINGS_ALLOW);
	CHECK(six.judge("192.0.2.1") == SETTINGS_REFUSE);
	CHECK(six.judge("::ffff:192.0.2.1") == SETTINGS_REFUSE);
	for (const char *all : { "0.0.0.0/0", "::ffff:0:0/96" }) {
		ruled four(std::string("access:\n  - id: four\n    address: ") + all + "\n" +
			   zone_with("four"));
		CAPTURE(all);
		CHECK(four.judge("192.0.2.1") == SETTINGS_ALLOW);
		CHECK(four.judge("::ffff:192.0.2.1") == SETTINGS_ALLOW);
		CHECK(four.judge("2001:db8::1") == SETTINGS_REFUSE);
	}
}

TEST_CASE("a secondary with all of IPv6 does not open its zones to IPv4", "[server][access]")
{
	ruled p("secondary:\n  - id: ns2\n    allow: ::/0\n"
		"zone:\n  - domain: a.example\n    store: a\n    secondary: ns2\n");
	const settings_secondary *found = nullptr;
	for (const char *client : { "2001:db8::1", "192.0.2.1", "::ffff:192.0.2.1" }) {
		sockaddr_storage from = address(client);
		CAPTURE(client);
		CHECK(access_decide(&p.value, &p.value.zones[0],
				    reinterpret_cast<sockaddr *>(&from), nullptr, &found) ==
		      (client[0] == '2' ? ACCESS_PERMITTED : ACCESS_ADDRESS));
	}
}

TEST_CASE("a wrong rule is refused with the reason", "[server][access]")
{
	struct {
		const char *text;
		const char *reason;
	} cases[] = {
		{ "access:\n  - id: a\n    key: gold\n", "there is no key of this name" },
		{ "access:\n  - id: a\n  - id: a\n", "another rule has this id" },
		{ "zone:\n  - domain: a\n    store: a\n    access: b\n",
		  "there is no rule of this id" },
		{ "access:\n  - id: b\nzone:\n  - domain: a\n    store: a\n    access: [ b, b ]\n",
		  "this zone has this id already" },
	};
	for (const auto &c : cases) {
		settings value;
		conf_error error = {};
		CHECK(settings_parse(&value, c.text, strlen(c.text), "/", &error) != 0);
		CHECK(std::string(error.reason) == c.reason);
		settings_deinit(&value);
	}
}
