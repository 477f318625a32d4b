// SPDX-License-Identifier: GPL-3.0-or-later
// What is answered to which question, out of what the library says.
#include "integration/adapters/dns-translator/answer.h"
#include "tests/lib/dns.hh"

#include <catch2/catch.hpp>

#include <memory>
#include <set>
#include <string>

using dns::message;
using dns::question;

namespace
{

const uint64_t BL6 = 1, OTHER = 2, THIRD = 4; // entries, in the order of the file

const char *const CONFIG = "translate:\n"
			   "    max-ttl: 1h\n"
			   "    name-server: ns.example.net\n"
			   "zone:\n"
			   "  - domain: bl.local\n"
			   "    lists: [ bl6.example:127.0.0.2, other.example:127.0.0.4 ]\n"
			   "  - domain: sub.bl.local\n"
			   "    text: \"see https://bl.example/$ about $\"\n"
			   "    on-failure: nxdomain\n"
			   "    lists: [ other.example:127.0.0.9, bl6.example:127.0.0.9,"
			   " third.example:127.0.1.1 ]\n"
			   "library:\n"
			   "    servers: 127.0.0.1@1\n";

// The library is never asked anything: the handle is for texts.
class translator
{
      public:
	std::unique_ptr<translate_setup> setup = std::make_unique<translate_setup>();
	answer_outcome outcome = ANSWER_OUTCOMES;
	answer_question asked = {};
	answer_kind kind = ANSWER_SILENCE;

	explicit translator(const std::string &config = CONFIG)
	{
		conf_error error;
		if (translate_setup_parse(config.data(), config.size(), setup.get(), &error) != 0)
			throw std::runtime_error(error.reason);
		if (dnsblv6_start(setup->handle.client) != 0)
			throw std::runtime_error("handle");
	}
	~translator()
	{
		translate_setup_deinit(setup.get());
	}
	translator(const translator &) = delete;
	translator &operator=(const translator &) = delete;

	// What is answered without a question to the library; empty when that is wanted.
	bytes begin(const bytes &wire, bool is_tcp = false)
	{
		query_ = wire;
		bytes out(65535);
		size_t size = 0;
		kind = answer_begin(setup.get(), query_.data(), query_.size(), is_tcp, &asked,
				    out.data(), out.size(), &size, &outcome);
		out.resize(kind == ANSWER_READY ? size : 0);
		return out;
	}
	message ask(const question &q)
	{
		bytes out = begin(dns::query(q));
		if (kind == ANSWER_ASK)
			throw std::runtime_error("the library would be asked");
		return message(out);
	}
	message ask(const question &q, const dnsblv6_result &result, bool is_tcp = false)
	{
		begin(dns::query(q), is_tcp);
		if (kind != ANSWER_ASK)
			throw std::runtime_error("the library would not be asked");
		bytes out(65535);
		out.resize(answer_finish(setup.get(), &asked, &result, out.data(), out.size(),
					 &outcome));
		return message(out);
	}
	std::string address() const
	{
		char text[DNSBLV6_IP_TEXT_SIZE];
		dnsblv6_ip_format(&asked.ip, text);
		return text;
	}

      private:
	bytes query_;
};

question about(const std::string &name, uint16_t type = dns::A)
{
	question q;
	q.name = name;
	q.type = type;
	return q;
}

dnsblv6_result said(uint64_t listed, uint64_t answered, uint64_t failed = 0, uint32_t ttl = 300)
{
	dnsblv6_result result = {};
	result.zones_listed = listed;
	result.zones_answered = answered;
	result.zones_failed = failed;
	result.ttl_s = ttl;
	return result;
}

std::set<bytes> codes(const message &reply)
{
	std::set<bytes> out;
	for (const dns::record &rr : reply.answer) {
		CHECK(rr.type == dns::A);
		CHECK(out.insert(rr.rdata).second); // none twice
	}
	return out;
}

std::vector<std::string> texts(const message &reply)
{
	std::vector<std::string> out;
	for (const dns::record &rr : reply.answer) {
		CHECK(rr.type == dns::TXT);
		std::string text;
		for (size_t i = 0; i < rr.rdata.size(); i += 1 + rr.rdata[i])
			text.append(rr.rdata.begin() + static_cast<long>(i + 1),
				    rr.rdata.begin() + static_cast<long>(i + 1 + rr.rdata[i]));
		out.push_back(text);
	}
	return out;
}

void check_negative(const message &reply, unsigned rcode, uint32_t ttl,
		    const std::string &apex = "bl.local.")
{
	CHECK(reply.rcode == rcode);
	CHECK(reply.has(dns::AA));
	CHECK(reply.answer.empty());
	REQUIRE(reply.authority.size() == 1);
	CHECK(reply.authority[0].owner == apex);
	CHECK(reply.authority[0].type == dns::SOA);
	CHECK(reply.authority[0].ttl == ttl);
	CHECK(reply.authority[0].target == "ns.example.net.");
}

const std::string NIBBLES = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.c.c.8.b.d.0.1.0.0.2.";

} // namespace

// ---- names ----

TEST_CASE("four octets and 32 nibbles are addresses", "[translate][answer]")
{
	translator server;
	server.begin(dns::query(about("66.2.0.192.bl.local.")));
	REQUIRE(server.kind == ANSWER_ASK);
	CHECK(server.address() == "192.0.2.66");
	CHECK(server.asked.zone == &server.setup->zones[0]);
	server.begin(dns::query(about(NIBBLES + "bl.local.")));
	REQUIRE(server.kind == ANSWER_ASK);
	CHECK(server.address() == "2001:db8:cc00::1");
}

TEST_CASE("the zone with the longest name is the one that is asked", "[translate][answer]")
{
	translator server;
	server.begin(dns::query(about("66.2.0.192.sub.bl.local.")));
	REQUIRE(server.kind == ANSWER_ASK);
	CHECK(server.asked.zone == &server.setup->zones[1]);
}

TEST_CASE("names with room for an address below them exist", "[translate][answer]")
{
	translator server;
	for (const char *name :
	     { "2.0.192", "0.192", "192", "c.c.8.b.d.0.1.0.0.2", "f", "1.2.3" }) {
		CAPTURE(name);
		check_negative(server.ask(about(std::string(name) + ".bl.local.")), dns::NOERROR,
			       3600);
		CHECK(server.outcome == ANSWER_NODATA);
	}
}

TEST_CASE("names that are no address do not exist", "[translate][answer]")
{
	translator server;
	for (const char *name :
	     { "x", "1.66.2.0.192", "66.2.0.256", "066.2.0.192", "66.2.0.192.x", "_dnsblv6",
	       "*.2.0.192", "0.0.2.0.192", "-1.2.0.192", "g.0.0.2", "example.com" }) {
		CAPTURE(name);
		check_negative(server.ask(about(std::string(name) + ".bl.local.")), dns::NXDOMAIN,
			       3600);
		CHECK(server.outcome == ANSWER_NXDOMAIN);
	}
	check_negative(server.ask(about("0." + NIBBLES + "bl.local.")), dns::NXDOMAIN, 3600);
}

TEST_CASE("four digits are an IPv4 address, and what IPv6 addresses may be below",
	  "[translate][answer]")
{
	translator server;
	check_negative(server.ask(about("4.3.2.1.bl.local."), said(0, BL6 | OTHER)), dns::NOERROR,
		       300);
	CHECK(server.address() == "1.2.3.4");
	CHECK(codes(server.ask(about("4.3.2.1.bl.local."), said(BL6, BL6 | OTHER))).size() == 1);
	check_negative(server.ask(about("40.3.2.1.bl.local."), said(0, BL6 | OTHER)), dns::NXDOMAIN,
		       300);
}

TEST_CASE("a foreign zone is refused, also when its name ends like ours", "[translate][answer]")
{
	translator server;
	for (const char *name : { "66.2.0.192.bl6.example.", "66.2.0.192.xbl.local.", "local.", ".",
				  "bl.local.example." }) {
		CAPTURE(name);
		const message reply = server.ask(about(name));
		CHECK(reply.rcode == dns::REFUSED);
		CHECK_FALSE(reply.has(dns::AA));
		CHECK(reply.authority.empty());
		CHECK(server.outcome == ANSWER_REFUSED);
	}
}

// ---- answers ----

TEST_CASE("each list that has the address adds its code, and each code is said once",
	  "[translate][answer]")
{
	translator server;
	const bytes two = { 127, 0, 0, 2 }, four = { 127, 0, 0, 4 };
	const std::string name = "66.2.0.192.bl.local.";
	CHECK(codes(server.ask(about(name), said(BL6, BL6 | OTHER))) == std::set<bytes>{ two });
	CHECK(codes(server.ask(about(name), said(OTHER, BL6 | OTHER))) == std::set<bytes>{ four });
	const message both = server.ask(about(name), said(BL6 | OTHER, BL6 | OTHER));
	CHECK(codes(both) == std::set<bytes>{ two, four });
	CHECK(both.has(dns::AA));
	CHECK(both.rcode == dns::NOERROR);
	CHECK(both.answer[0].owner == name);
	CHECK(server.outcome == ANSWER_LISTED);

	const bytes nine = { 127, 0, 0, 9 };
	CHECK(codes(server.ask(about("66.2.0.192.sub.bl.local."),
			       said(BL6 | OTHER, BL6 | OTHER | THIRD))) == std::set<bytes>{ nine });
}

TEST_CASE("lists of another zone do not count", "[translate][answer]")
{
	translator server;
	check_negative(server.ask(about("66.2.0.192.bl.local."), said(THIRD, BL6 | OTHER | THIRD)),
		       dns::NXDOMAIN, 300);
	check_negative(server.ask(about("66.2.0.192.bl.local."), said(0, BL6 | OTHER, THIRD)),
		       dns::NXDOMAIN, 300);
}

TEST_CASE("an answer holds for what is left, and no longer than max-ttl", "[translate][answer]")
{
	translator server;
	const std::string name = "66.2.0.192.bl.local.";
	CHECK(server.ask(about(name), said(BL6, BL6 | OTHER, 0, 7)).answer[0].ttl == 7);
	CHECK(server.ask(about(name), said(BL6, BL6 | OTHER, 0, 86400)).answer[0].ttl == 3600);
	check_negative(server.ask(about(name), said(0, BL6 | OTHER, 0, 7)), dns::NXDOMAIN, 7);
	check_negative(server.ask(about(name), said(0, BL6 | OTHER, 0, 86400)), dns::NXDOMAIN,
		       3600);
	// What bitmap zones settle by their format has no end.
	check_negative(server.ask(about(name), said(0, BL6 | OTHER, 0, 0)), dns::NXDOMAIN, 3600);
}

TEST_CASE("the text is that of the zone with the address in it, or one for each list",
	  "[translate][answer]")
{
	translator server;
	message reply =
		server.ask(about("66.2.0.192.sub.bl.local.", dns::TXT), said(BL6 | OTHER, 7));
	CHECK(texts(reply) ==
	      std::vector<std::string>{ "see https://bl.example/192.0.2.66 about 192.0.2.66" });
	reply = server.ask(about("66.2.0.192.bl.local.", dns::TXT), said(BL6 | OTHER, 3));
	CHECK(texts(reply) == std::vector<std::string>{ "192.0.2.66 is listed by bl6.example",
							"192.0.2.66 is listed by other.example" });
	reply = server.ask(about("66.2.0.192.bl.local.", dns::TXT), said(OTHER, 3));
	CHECK(texts(reply).size() == 1);
	check_negative(server.ask(about("66.2.0.192.bl.local.", dns::TXT), said(0, 3)),
		       dns::NXDOMAIN, 300);
}

TEST_CASE("a text with many addresses in it is cut at what a text may have", "[translate][answer]")
{
	std::string config = CONFIG;
	const std::string text = "see https://bl.example/$ about $";
	config.replace(config.find(text), text.size(), std::string(200, '$'));
	translator server(config);
	const message reply = server.ask(about(NIBBLES + "sub.bl.local.", dns::TXT), said(BL6, 7));
	REQUIRE(texts(reply).size() == 1);
	CHECK(texts(reply)[0].size() == 255);
}

TEST_CASE("a listed address has no records of other types, and of ANY those of one",
	  "[translate][answer]")
{
	translator server;
	for (uint16_t type : { dns::AAAA, dns::SOA, dns::NS, dns::DS, dns::NSEC }) {
		CAPTURE(type);
		check_negative(server.ask(about("66.2.0.192.bl.local.", type), said(BL6, 3)),
			       dns::NOERROR, 300);
		check_negative(server.ask(about("66.2.0.192.bl.local.", type), said(0, 3)),
			       dns::NXDOMAIN, 300);
	}
	CHECK(codes(server.ask(about("66.2.0.192.bl.local.", dns::ANY), said(BL6, 3))).size() == 1);
}

// ---- failures ----

TEST_CASE("an unlisted address is SERVFAIL when a list failed, or NXDOMAIN if configured",
	  "[translate][answer]")
{
	translator server;
	message reply = server.ask(about("66.2.0.192.bl.local."), said(0, BL6, OTHER));
	CHECK(reply.rcode == dns::SERVFAIL);
	CHECK(reply.answer.empty());
	CHECK(reply.authority.empty());
	CHECK(server.outcome == ANSWER_FAILED);
	reply = server.ask(about("66.2.0.192.sub.bl.local."), said(0, BL6 | THIRD, OTHER));
	check_negative(reply, dns::NXDOMAIN, 0, "sub.bl.local.");
	CHECK(server.outcome == ANSWER_FAILED);
}

TEST_CASE("a list that neither answered nor failed has failed", "[translate][answer]")
{
	translator server;
	CHECK(server.ask(about("66.2.0.192.bl.local."), said(0, BL6)).rcode == dns::SERVFAIL);
	CHECK(server.ask(about("66.2.0.192.bl.local."), said(0, 0)).rcode == dns::SERVFAIL);
}

TEST_CASE("what one list says counts although another has failed, for a short time",
	  "[translate][answer]")
{
	translator server;
	const message reply = server.ask(about("66.2.0.192.bl.local."), said(BL6, BL6, OTHER));
	CHECK(codes(reply).size() == 1);
	CHECK(reply.answer[0].ttl == ANSWER_PARTIAL_TTL_S);
	CHECK(server.outcome == ANSWER_LISTED);
}

TEST_CASE("the library is asked again for what has failed or expired, and only then",
	  "[translate][answer]")
{
	translator server;
	server.begin(dns::query(about("66.2.0.192.bl.local.")));
	dnsblv6_result result = said(0, BL6 | OTHER);
	CHECK(answer_is_good(&server.asked, &result));
	result.zones_stale = THIRD;
	CHECK(answer_is_good(&server.asked, &result));
	result.zones_stale = OTHER;
	CHECK_FALSE(answer_is_good(&server.asked, &result));
	result = said(BL6, BL6, OTHER);
	CHECK_FALSE(answer_is_good(&server.asked, &result));
	result = said(BL6, BL6);
	CHECK_FALSE(answer_is_good(&server.asked, &result));
}

// ---- the apex ----

TEST_CASE("a zone has a SOA and a name server, and nothing else", "[translate][answer]")
{
	translator server;
	message reply = server.ask(about("bl.local.", dns::SOA));
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].type == dns::SOA);
	CHECK(reply.answer[0].owner == "bl.local.");
	CHECK(reply.has(dns::AA));
	CHECK(server.outcome == ANSWER_APEX);
	reply = server.ask(about("bl.local.", dns::NS));
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].target == "ns.example.net.");
	reply = server.ask(about("bl.local.", dns::ANY));
	REQUIRE(reply.answer.size() == 1);
	CHECK(reply.answer[0].type == dns::SOA);
	for (uint16_t type : { dns::A, dns::TXT, dns::AAAA, dns::DNSKEY, dns::DS })
		check_negative(server.ask(about("bl.local.", type)), dns::NOERROR, 3600);
}

// ---- packets ----

TEST_CASE("id, question, RD and the case of its letters come back", "[translate][answer]")
{
	translator server;
	question q = about("66.2.0.192.bL.LoCaL.");
	const message reply = server.ask(q, said(BL6, 3));
	CHECK(reply.id == 0x1234);
	CHECK(reply.has(dns::QR));
	CHECK(reply.has(dns::RD));
	const bytes sent = dns::query(q);
	CHECK(reply.question == bytes(sent.begin() + 12, sent.end()));
	q.flags = dns::CD | dns::AD;
	const message plain = server.ask(q, said(0, 3));
	CHECK_FALSE(plain.has(dns::RD));
	CHECK_FALSE(plain.has(dns::RA));
	CHECK_FALSE(plain.has(dns::CD));
	CHECK_FALSE(plain.has(dns::AD));
}

TEST_CASE("responses and less than a header are met with silence", "[translate][answer]")
{
	translator server;
	question q = about("66.2.0.192.bl.local.");
	q.flags = dns::QR;
	CHECK(server.begin(dns::query(q)).empty());
	CHECK(server.kind == ANSWER_SILENCE);
	CHECK(server.begin(bytes(11)).empty());
	CHECK(server.kind == ANSWER_SILENCE);
}

TEST_CASE("other classes, opcodes and EDNS versions get their own refusals", "[translate][answer]")
{
	translator server;
	question q = about("66.2.0.192.bl.local.");
	q.qclass = 3;
	CHECK(server.ask(q).rcode == dns::REFUSED);
	q = about("66.2.0.192.bl.local.");
	q.flags = 4 << 11;
	CHECK(server.ask(q).rcode == dns::NOTIMP);
	q = about("66.2.0.192.bl.local.");
	q.edns_payload = 1232;
	q.edns_version = 1;
	const message reply = server.ask(q);
	CHECK(reply.rcode == dns::BADVERS);
	CHECK(reply.edns_version == 0);
	CHECK(server.ask(about("bl.local.", dns::AXFR)).rcode == dns::NOTIMP);
}

TEST_CASE("a header without a question is answered by a header", "[translate][answer]")
{
	translator server;
	bytes wire(12);
	wire[1] = 7;
	const message reply(server.begin(wire));
	CHECK(reply.id == 7);
	CHECK(reply.rcode == dns::FORMERR);
	CHECK(reply.size() == 12);
}

TEST_CASE("a query with an OPT gets one, with its DO bit and a reason for failures",
	  "[translate][answer]")
{
	translator server;
	question q = about("66.2.0.192.bl.local.");
	q.edns_payload = 4096;
	q.edns_flags = 0x8000;
	message reply = server.ask(q, said(BL6, 3));
	CHECK(reply.has_opt);
	CHECK(reply.payload == 1232);
	CHECK(reply.edns_flags == 0x8000);
	CHECK(reply.ede() == -1);
	reply = server.ask(q, said(0, 0, 3));
	CHECK(reply.rcode == dns::SERVFAIL);
	CHECK(reply.ede() == 22);
	q.name = "bl6.example.";
	CHECK(server.ask(q).ede() == 20);
	CHECK_FALSE(server.ask(about("66.2.0.192.bl.local."), said(BL6, 3)).has_opt);
	// An option of no interest, a client subnet.
	q = about("66.2.0.192.bl.local.");
	q.edns_payload = 1232;
	q.edns_options = { 0, 8, 0, 4, 0, 1, 0, 0 };
	CHECK(codes(server.ask(q, said(BL6, 3))).size() == 1);
}

TEST_CASE("an answer that does not fit is truncated over UDP and whole over TCP",
	  "[translate][answer]")
{
	std::string config = "zone:\n  - domain: bl.local\n    lists: [ ";
	for (int i = 0; i < 64; i++)
		config += (i > 0 ? ", l" : "l") + std::to_string(i) + ".example:127.0.1." +
			  std::to_string(i);
	translator server(config + " ]\nlibrary:\n    servers: 127.0.0.1@1\n");
	const uint64_t all = ~UINT64_C(0);
	question q = about("66.2.0.192.bl.local.");
	message reply = server.ask(q, said(all, all));
	CHECK(reply.has(dns::TC));
	CHECK(reply.answer.empty());
	CHECK(reply.size() == dns::query(q).size());
	q.edns_payload = 1232;
	reply = server.ask(q, said(all, all));
	CHECK_FALSE(reply.has(dns::TC));
	CHECK(codes(reply).size() == 64);
	CHECK(reply.size() <= 1232);
	q.type = dns::TXT;
	reply = server.ask(q, said(all, all));
	CHECK(reply.has(dns::TC));
	CHECK(reply.has_opt);
	reply = server.ask(q, said(all, all), true);
	CHECK_FALSE(reply.has(dns::TC));
	CHECK(texts(reply).size() == 64);
}

TEST_CASE("a payload that is less than 512 counts as 512", "[translate][answer]")
{
	translator server;
	question q = about(NIBBLES + "bl.local.", dns::TXT);
	q.edns_payload = 0;
	const message reply = server.ask(q, said(BL6 | OTHER, 3));
	CHECK_FALSE(reply.has(dns::TC));
	CHECK(texts(reply).size() == 2);
}
