// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/askers/tsig.h"
#include "tests/unit/server/fixture.hh"

#include <catch2/catch.hpp>

extern "C" {
#include <libknot/libknot.h>
}

#include <algorithm>
#include <memory>

using dns::message;
using dns::question;

namespace
{
// "aaa...a." with labels of 50 letters, of that many characters with the last dot.
std::string long_name(size_t size)
{
	std::string out;
	while (out.size() + 52 < size)
		out += std::string(50, 'k') + ".";
	return out + std::string(size - out.size() - 1, 'k') + ".";
}

// A server with one key of that name, and a client that has it or another one.
struct signing {
	tmpdir directory;
	std::string key_name;
	std::unique_ptr<decision> server;
	tsig_key *key = nullptr;
	tsig state = {};

	signing(std::string name, bool is_known, const std::string &more = "")
	    : key_name(std::move(name))
	{
		std::string path = directory.file("bl6.mdb");
		write_store(path);
		server = std::make_unique<decision>(
			"server:\n    cookie-secret: e5e973e5a6b2a43f48e7dc849e37bfcf\n" + more +
				"key:\n  - id: " + (is_known ? key_name : "other.") +
				"\n    algorithm: hmac-sha512\n    secret: c2VjcmV0\n"
				"zone:\n  - domain: bl6.example.\n    store: " +
				path + "\n",
			directory);
		bytes wire = dns::name(key_name);
		REQUIRE(tsig_key_new(wire.data(), "hmac-sha512", "c2VjcmV0", &key) == 0);
	}
	~signing()
	{
		tsig_key_free(key);
	}
	signing(const signing &) = delete;
	signing &operator=(const signing &) = delete;

	bytes sign(const question &asked)
	{
		bytes wire = dns::query(asked);
		size_t size = wire.size();
		wire.resize(4096);
		REQUIRE(tsig_sign_query(&state, key, wire.data(), &size, wire.size()) == 0);
		wire.resize(size);
		return wire;
	}
	bool is_good(bytes reply) const
	{
		knot_pkt_t *packet =
			knot_pkt_new(reply.data(), static_cast<uint16_t>(reply.size()), nullptr);
		bool is_so = knot_pkt_parse(packet, 0) == KNOT_EOK &&
			     tsig_check_response(&state, packet);
		knot_pkt_free(packet);
		return is_so;
	}
};
} // namespace

TEST_CASE("a question with a TSIG is answered however long the name of its key is",
	  "[server][tsig]")
{
	auto key_size = GENERATE(as<size_t>{}, 4, 120, 155, 160, 200, 254);
	auto is_known = GENERATE(true, false);
	auto payload = GENERATE(-1, 512, 1232);
	signing client(long_name(key_size), is_known);
	question asked;
	asked.name = "0.2.0.192.bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = payload;
	CAPTURE(key_size, is_known, payload);
	bytes wire = client.sign(asked);
	bytes reply = client.server->make(wire);
	REQUIRE_FALSE(reply.empty());
	message answer(reply);
	CHECK(answer.rcode == (is_known ? dns::NOERROR : dns::NOTAUTH));
	CHECK(client.is_good(reply) == is_known);
	CHECK((answer.has(dns::TC) || answer.answer.size() == (is_known ? 1 : 0)));
	CHECK(reply.size() <= std::max<size_t>(std::max(512, payload), wire.size()));
	CHECK(client.server->counted(COUNTERS_SERVER_DROPPED) == 0);
	CHECK(client.server->counted(COUNTERS_FACE_TRUNCATED) == answer.has(dns::TC));
	CHECK(client.server->counted(COUNTERS_SERVER_REFUSED) == (is_known ? 0 : 1));
}

TEST_CASE("an answer that its TSIG leaves no room for has the question, TC and NOERROR",
	  "[server][tsig]")
{
	signing client(long_name(200), true);
	question asked;
	asked.name = GENERATE(as<std::string>{}, "many.bl6.example.", "9.9.9.9.bl6.example.");
	asked.type = dns::TXT;
	asked.name = long_name(170) + asked.name;
	bytes reply = client.server->make(client.sign(asked));
	REQUIRE_FALSE(reply.empty());
	message answer(reply);
	CHECK(answer.has(dns::TC));
	CHECK(answer.rcode == dns::NOERROR);
	CHECK(answer.answer.empty());
	CHECK(answer.authority.empty());
	CHECK(client.is_good(reply));
}

TEST_CASE("options are left out where a TSIG leaves no room for them", "[server][tsig]")
{
	signing client(long_name(254), true,
		       "    nsid: " + std::string(120, 'n') + "\n    identity: node\n");
	question asked;
	asked.name = long_name(180) + "bl6.example.";
	asked.type = dns::AAAA;
	asked.edns_payload = 512;
	asked.edns_options = { 0, 3, 0, 0 }; // NSID
	bytes reply = client.server->make(client.sign(asked));
	REQUIRE_FALSE(reply.empty());
	message answer(reply);
	CHECK(answer.has(dns::TC));
	CHECK(answer.has_opt);
	CHECK(answer.options.empty());
	CHECK(client.is_good(reply));
}

TEST_CASE("an answer with a TSIG that fits to the byte is whole", "[server][tsig]")
{
	signing client("one.", true);
	question asked;
	asked.name = "twelve.bl6.example.";
	asked.type = dns::TXT;
	asked.edns_payload = 1232;
	bytes whole = client.server->make(client.sign(asked));
	asked.edns_payload = static_cast<int>(whole.size());
	CHECK_FALSE(message(client.server->make(client.sign(asked))).has(dns::TC));
	asked.edns_payload--;
	CHECK(message(client.server->make(client.sign(asked))).has(dns::TC));
}

TEST_CASE("a query without an answer is counted", "[server][answer][counters]")
{
	decision server;
	question asked;
	bytes good = dns::query(asked);
	bytes response = good;
	response[2] |= 0x80;
	uint64_t dropped = 0;
	for (const bytes &wire : { bytes(), bytes(11), response, bytes(4097) }) {
		CHECK(server.make(wire).empty());
		CHECK(server.make_long(wire).empty());
		dropped += 2;
		CHECK(server.counted(COUNTERS_SERVER_DROPPED) == dropped);
		CHECK(server.counted(COUNTERS_SERVER_QUERIES) == dropped);
	}
	server.client = "192.0.2.1";
	server.limit(1, 0);
	for (int i = 0; i < 100; i++)
		dropped += server.make(good).empty();
	CHECK(server.counted(COUNTERS_SERVER_DROPPED) == dropped);
	CHECK(server.counted(COUNTERS_SERVER_LIMITED_DROPPED) == dropped - 8);
}
