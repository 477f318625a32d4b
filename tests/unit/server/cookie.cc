// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/askers/cookie.h"
#include "tests/unit/server/fixture.hh"

#include <catch2/catch.hpp>

#include <memory>

using dns::message;
using dns::question;

static const char secret[] = "e5e973e5a6b2a43f48e7dc849e37bfcf";
static const char new_secret[] = "445536bcd2513298075a5d379663c962";

static bytes from_hex(const std::string &text)
{
	bytes out;
	for (size_t i = 0; i < text.size(); i += 2)
		out.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
	return out;
}

static sockaddr_in ipv4(const char *text)
{
	sockaddr_in out = {};
	out.sin_family = AF_INET;
	inet_pton(AF_INET, text, &out.sin_addr);
	return out;
}

static sockaddr_in6 ipv6(const char *text)
{
	sockaddr_in6 out = {};
	out.sin6_family = AF_INET6;
	inet_pton(AF_INET6, text, &out.sin6_addr);
	return out;
}

template <typename T> static const sockaddr *any(const T &address)
{
	return reinterpret_cast<const sockaddr *>(&address);
}

static cookie_secrets secrets_of(std::initializer_list<const char *> texts)
{
	cookie_secrets out = {};
	for (const char *text : texts)
		REQUIRE(cookie_add_secret(&out, text));
	return out;
}

struct vector_case {
	const char *title;
	const char *client_cookie;
	const char *address;
	uint32_t time_s;
	const char *secret;
	const char *expected;
};

static std::ostream &operator<<(std::ostream &out, const vector_case &c)
{
	return out << c.title;
}

TEST_CASE("cookies are those of RFC 9018 appendix A", "[server][cookie]")
{
	auto c = GENERATE(values<vector_case>({
		{ "A.1, a new cookie", "2464c4abcf10c957", "198.51.100.100", 1559731985, secret,
		  "2464c4abcf10c957010000005cf79f111f8130c3eee29480" },
		{ "A.2, the same client later", "2464c4abcf10c957", "198.51.100.100", 1559734385,
		  secret, "2464c4abcf10c957010000005cf7a871d4a564a1442aca77" },
		{ "A.4, over IPv6", "22681ab97d52c298", "2001:db8:220:1:59de:d0f4:8769:82b8",
		  1559741961, new_secret, "22681ab97d52c298010000005cf7c609a6bb79d16625507a" },
	}));
	CAPTURE(c);
	cookie_secrets secrets = secrets_of({ c.secret });
	sockaddr_in four = ipv4(c.address);
	sockaddr_in6 six = ipv6(c.address);
	bool is_ipv6 = strchr(c.address, ':') != nullptr;
	const sockaddr *client = is_ipv6 ? any(six) : any(four);
	bytes theirs = from_hex(c.client_cookie);
	bytes made(COOKIE_SIZE);
	REQUIRE(cookie_make(&secrets, client, c.time_s, theirs.data(), made.data()));
	CHECK(made == from_hex(c.expected));
	CHECK(cookie_check(&secrets, client, c.time_s, made.data(), made.size()) == COOKIE_GOOD);
}

TEST_CASE("a cookie is good for its client, for an hour, with any of our secrets",
	  "[server][cookie]")
{
	cookie_secrets secrets = secrets_of({ secret });
	cookie_secrets rolled = secrets_of({ new_secret, secret });
	cookie_secrets gone = secrets_of({ new_secret });
	sockaddr_in client = ipv4("192.0.2.1");
	sockaddr_in other = ipv4("192.0.2.2");
	const uint8_t theirs[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	bytes made(COOKIE_SIZE);
	REQUIRE(cookie_make(&secrets, any(client), 100000, theirs, made.data()));
	auto check = [&](const cookie_secrets &with, const sockaddr_in &from, uint64_t now_s) {
		return cookie_check(&with, any(from), now_s, made.data(), made.size());
	};
	CHECK(check(secrets, client, 100000) == COOKIE_GOOD);
	CHECK(check(secrets, client, 103600) == COOKIE_GOOD);
	CHECK(check(secrets, client, 103601) == COOKIE_BAD);
	CHECK(check(secrets, client, 99700) == COOKIE_GOOD);
	CHECK(check(secrets, client, 99699) == COOKIE_BAD);
	CHECK(check(secrets, other, 100000) == COOKIE_BAD);
	CHECK(check(rolled, client, 100000) == COOKIE_GOOD);
	CHECK(check(gone, client, 100000) == COOKIE_BAD);
	for (size_t i = 0; i < made.size() * 8; i++) {
		bytes changed = made;
		changed[i / 8] = static_cast<uint8_t>(changed[i / 8] ^ 1 << i % 8);
		CAPTURE(i);
		CHECK(cookie_check(&secrets, any(client), 100000, changed.data(), changed.size()) ==
		      COOKIE_BAD);
	}
}

TEST_CASE("cookies outlive the second in which their clock begins anew", "[server][cookie]")
{
	cookie_secrets secrets = secrets_of({ secret });
	sockaddr_in client = ipv4("192.0.2.1");
	const uint8_t theirs[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	auto made_s = GENERATE(0xffffff00UL, 0xfffffff0UL, 0x100000010UL);
	bytes made(COOKIE_SIZE);
	REQUIRE(cookie_make(&secrets, any(client), made_s, theirs, made.data()));
	auto check = [&](int64_t age_s) {
		return cookie_check(&secrets, any(client), made_s + static_cast<uint64_t>(age_s),
				    made.data(), made.size());
	};
	CHECK(check(3600) == COOKIE_GOOD);
	CHECK(check(3601) == COOKIE_BAD);
	CHECK(check(-300) == COOKIE_GOOD);
	CHECK(check(-301) == COOKIE_BAD);
}

TEST_CASE("only options of 8 and of 16 to 40 bytes are cookies", "[server][cookie]")
{
	cookie_secrets secrets = secrets_of({ secret });
	sockaddr_in client = ipv4("192.0.2.1");
	bytes data(64, 7);
	for (size_t size = 0; size <= data.size(); size++) {
		CAPTURE(size);
		cookie_verdict expected = size == 8		     ? COOKIE_CLIENT
					  : size >= 16 && size <= 40 ? COOKIE_BAD
								     : COOKIE_MALFORMED;
		CHECK(cookie_check(&secrets, any(client), 1000, data.data(), size) == expected);
	}
}

TEST_CASE("a secret is 32 hexadecimal digits, and there are at most four", "[server][cookie]")
{
	cookie_secrets secrets = {};
	CHECK_FALSE(cookie_add_secret(&secrets, ""));
	CHECK_FALSE(cookie_add_secret(&secrets, "e5e973e5a6b2a43f48e7dc849e37bfc"));
	CHECK_FALSE(cookie_add_secret(&secrets, "e5e973e5a6b2a43f48e7dc849e37bfcff"));
	CHECK_FALSE(cookie_add_secret(&secrets, "e5e973e5a6b2a43f48e7dc849e37bfcg"));
	CHECK(secrets.count == 0);
	for (int i = 0; i < COOKIE_SECRETS_MAX; i++)
		CHECK(cookie_add_secret(&secrets, "E5E973E5A6B2A43F48E7DC849E37BFCF"));
	CHECK_FALSE(cookie_add_secret(&secrets, secret));
	CHECK(secrets.bytes[0][0] == 0xe5);
	CHECK(secrets.bytes[3][15] == 0xcf);
}

TEST_CASE("a random secret stays for a day, and the one before it stays good", "[server][cookie]")
{
	cookie_random random = {};
	cookie_secrets first = {};
	cookie_secrets again = {};
	cookie_secrets next = {};
	REQUIRE(cookie_fill(&random, 1000, &first) == 0);
	REQUIRE(cookie_fill(&random, 1000 + COOKIE_ROLL_S - 1, &again) == 0);
	REQUIRE(cookie_fill(&random, 1000 + COOKIE_ROLL_S, &next) == 0);
	REQUIRE(first.count == 1);
	REQUIRE(again.count == 1);
	REQUIRE(next.count == 2);
	CHECK(memcmp(first.bytes[0], again.bytes[0], COOKIE_SECRET_SIZE) == 0);
	CHECK(memcmp(first.bytes[0], next.bytes[1], COOKIE_SECRET_SIZE) == 0);
	CHECK(memcmp(first.bytes[0], next.bytes[0], COOKIE_SECRET_SIZE) != 0);
	cookie_random other = {};
	REQUIRE(cookie_fill(&other, 1000, &again) == 0);
	CHECK(memcmp(first.bytes[0], again.bytes[0], COOKIE_SECRET_SIZE) != 0);
}

// ---- in a query ----

static question soa_with(const bytes &options)
{
	question out;
	out.name = "bl6.example.";
	out.type = dns::SOA;
	out.edns_payload = 1232;
	out.edns_options = options;
	return out;
}

// Asked at a time that cookies may be an hour older than.
class later : public decision
{
      public:
	using decision::decision;
	bytes make(const bytes &wire, bool is_tcp = false)
	{
		return decision::make(wire, is_tcp, 100000);
	}
	message ask(const question &asked, bool is_tcp = false)
	{
		return decision::ask(asked, is_tcp, 100000);
	}
	message ask(const std::string &name, uint16_t type)
	{
		question asked;
		asked.name = name;
		asked.type = type;
		return ask(asked);
	}
};

// A server of the usual store with more lines in its section "server".
struct configured {
	tmpdir directory;
	std::string path = directory.file("bl6.mdb");
	std::unique_ptr<later> server;

	explicit configured(const std::string &lines, const std::string &sections = "",
			    const std::string &zone_lines = "")
	{
		write_store(path, {});
		server = std::make_unique<later>("server:\n" + lines + sections +
							 "zone:\n  - domain: bl6.example.\n    "
							 "store: " +
							 path + "\n" + zone_lines,
						 directory);
		server->client = "192.0.2.1";
	}
	later *operator->() const
	{
		return server.get();
	}
};

static const std::string with_cookies = std::string("    cookie-secret: ") + secret + "\n";

TEST_CASE("a client that sends a cookie gets one that is good the next time", "[server][cookie]")
{
	configured server(with_cookies);
	const bytes theirs = { 1, 2, 3, 4, 5, 6, 7, 8 };
	message first = server->ask(soa_with(option(option_cookie, theirs)));
	bytes cookie;
	CHECK(first.rcode == dns::NOERROR);
	CHECK(first.answer.size() == 1);
	REQUIRE(first.find_option(option_cookie, cookie));
	REQUIRE(cookie.size() == COOKIE_SIZE);
	CHECK(bytes(cookie.begin(), cookie.begin() + 8) == theirs);
	CHECK(server->counted(COUNTERS_SERVER_COOKIES) == 0);
	message second = server->ask(soa_with(option(option_cookie, cookie)));
	CHECK(second.answer.size() == 1);
	CHECK(second.find_option(option_cookie, cookie));
	CHECK(server->counted(COUNTERS_SERVER_COOKIES) == 1);
	server->client = "192.0.2.2";
	message elsewhere = server->ask(soa_with(option(option_cookie, cookie)));
	CHECK(elsewhere.rcode == dns::NOERROR);
	CHECK(elsewhere.answer.size() == 1);
	CHECK(server->counted(COUNTERS_SERVER_COOKIES_BAD) == 1);
	CHECK_FALSE(server->ask(soa_with({})).find_option(option_cookie, cookie));
}

TEST_CASE("the first of two cookies counts", "[server][cookie]")
{
	configured server(with_cookies);
	bytes options = option(option_cookie, bytes(8, 1));
	dns::append(options, option(option_cookie, bytes(3, 2)));
	bytes cookie;
	message reply = server->ask(soa_with(options));
	CHECK(reply.rcode == dns::NOERROR);
	REQUIRE(reply.find_option(option_cookie, cookie));
	CHECK(bytes(cookie.begin(), cookie.begin() + 8) == bytes(8, 1));
}

TEST_CASE("a malformed cookie is FORMERR, over UDP and TCP", "[server][cookie]")
{
	configured server(with_cookies);
	for (size_t size : { 0, 1, 7, 9, 15, 41, 255 }) {
		CAPTURE(size);
		question asked = soa_with(option(option_cookie, bytes(size, 9)));
		message reply = server->ask(asked);
		bytes cookie;
		CHECK(reply.rcode == dns::FORMERR);
		CHECK(reply.has_opt);
		CHECK_FALSE(reply.find_option(option_cookie, cookie));
		CHECK(server->ask(asked, true).rcode == dns::FORMERR);
	}
}

TEST_CASE("without cookies the option means nothing", "[server][cookie]")
{
	configured server(with_cookies + "    cookies: off\n");
	bytes cookie;
	for (size_t size : { 3, 8 }) {
		message reply = server->ask(soa_with(option(option_cookie, bytes(size, 9))));
		CHECK(reply.rcode == dns::NOERROR);
		CHECK_FALSE(reply.find_option(option_cookie, cookie));
	}
}

TEST_CASE("a query for a cookie alone is answered with it", "[server][cookie]")
{
	configured server(with_cookies);
	auto bare = [](const bytes &cookie) {
		question asked = soa_with(option(option_cookie, cookie));
		bytes wire = dns::query(asked);
		bytes out(wire.begin(), wire.begin() + 12);
		out[5] = 0; // no question
		dns::append(out, dns::opt(asked));
		return out;
	};
	message reply(server->make(bare(bytes(8, 1))));
	bytes cookie;
	CHECK(reply.rcode == dns::NOERROR);
	CHECK(reply.question.empty());
	REQUIRE(reply.find_option(option_cookie, cookie));
	CHECK(message(server->make(bare(cookie))).rcode == dns::NOERROR);
	cookie[23] ^= 1;
	message bad(server->make(bare(cookie)));
	CHECK(bad.rcode == dns::BADCOOKIE);
	CHECK(bad.find_option(option_cookie, cookie));
	CHECK(server->counted(COUNTERS_SERVER_BADCOOKIE) == 1);
	CHECK(message(server->make(bare(bytes(3, 1)))).rcode == dns::FORMERR);
}

TEST_CASE("every response with an OPT has the cookie, refusals too", "[server][cookie]")
{
	configured server(with_cookies);
	bytes cookie;
	question asked = soa_with(option(option_cookie, bytes(8, 1)));
	asked.name = "other.example.";
	message refused = server->ask(asked);
	CHECK(refused.rcode == dns::REFUSED);
	CHECK(refused.ede() == 20);
	CHECK(refused.find_option(option_cookie, cookie));
	asked.edns_version = 1;
	message version = server->ask(asked);
	CHECK(version.rcode == dns::BADVERS);
	CHECK_FALSE(version.find_option(option_cookie, cookie));
}

// ---- other options, and who we are ----

TEST_CASE("NSID is sent to a client that asks for it, when one is set", "[server][options]")
{
	bytes nsid;
	configured named("    nsid: node-1\n");
	configured nameless("    workers: 1\n");
	question asked = soa_with(option(option_nsid, {}));
	REQUIRE(named->ask(asked).find_option(option_nsid, nsid));
	CHECK(std::string(nsid.begin(), nsid.end()) == "node-1");
	CHECK_FALSE(named->ask(soa_with({})).find_option(option_nsid, nsid));
	CHECK_FALSE(nameless->ask(asked).find_option(option_nsid, nsid));
}

TEST_CASE("tcp-keepalive is answered over TCP alone", "[server][options]")
{
	configured server("    workers: 1\n");
	bytes timeout;
	question asked = soa_with(option(option_keepalive, {}));
	REQUIRE(server->ask(asked, true).find_option(option_keepalive, timeout));
	CHECK(timeout == bytes{ 0, 100 });
	CHECK_FALSE(server->ask(asked).find_option(option_keepalive, timeout));
	CHECK_FALSE(server->ask(soa_with({}), true).find_option(option_keepalive, timeout));
	question timed = soa_with(option(option_keepalive, { 0, 1 }));
	CHECK(server->ask(timed, true).rcode == dns::FORMERR);
	CHECK(server->ask(timed).rcode == dns::NOERROR);
}

TEST_CASE("all options at once fit, also where there are 512 bytes", "[server][options]")
{
	configured server(with_cookies + "    nsid: " + std::string(128, 'n') +
			  "\n    identity: " + std::string(128, 'i') + "\n");
	bytes options = option(option_cookie, bytes(8, 1));
	dns::append(options, option(option_nsid, {}));
	question asked = soa_with(options);
	asked.name = "id.server.";
	asked.type = dns::TXT;
	asked.qclass = 3;
	asked.edns_payload = 512;
	message reply = server->ask(asked);
	bytes data;
	CHECK(reply.rcode == dns::NOERROR);
	CHECK(reply.answer.size() == 1);
	CHECK(reply.find_option(option_nsid, data));
	CHECK(reply.find_option(option_cookie, data));
	CHECK(reply.size() <= 512);
}

TEST_CASE("names of class CH tell the server's identity, if the configuration does",
	  "[server][identity]")
{
	configured named("    identity: node-1\n    version: \"nothing special\"\n");
	configured nameless("    workers: 1\n");
	struct {
		const char *name;
		const char *text;
	} cases[] = { { "id.server.", "node-1" },
		      { "HostName.Bind.", "node-1" },
		      { "version.server.", "nothing special" },
		      { "VERSION.BIND.", "nothing special" },
		      { "authors.bind.", nullptr },
		      { "bl6.example.", nullptr },
		      { ".", nullptr } };
	for (const auto &c : cases) {
		CAPTURE(c.name);
		question asked;
		asked.name = c.name;
		asked.type = dns::TXT;
		asked.qclass = 3;
		CHECK(nameless->ask(asked).rcode == dns::REFUSED);
		message reply = named->ask(asked);
		if (c.text == nullptr) {
			CHECK(reply.rcode == dns::REFUSED);
			continue;
		}
		REQUIRE(reply.answer.size() == 1);
		CHECK(reply.has(dns::AA));
		CHECK(reply.answer[0].rclass == 3);
		CHECK(reply.answer[0].ttl == 0);
		const bytes &rdata = reply.answer[0].rdata;
		CHECK(std::string(rdata.begin() + 1, rdata.end()) == c.text);
		asked.type = dns::A;
		CHECK(named->ask(asked).rcode == dns::REFUSED);
	}
	CHECK(named->counted(COUNTERS_SERVER_IDENTITY) == 4);
}

// ---- limits ----

TEST_CASE("a client over the rate gets TC over UDP, but not with a good cookie",
	  "[server][ratelimit]")
{
	configured server(with_cookies);
	bytes cookie;
	question plain = soa_with({});
	REQUIRE(server->ask(soa_with(option(option_cookie, bytes(8, 1))))
			.find_option(option_cookie, cookie));
	server->limit(1, 2);
	for (int i = 0; i < RATELIMIT_BURST_S; i++)
		CHECK(server->ask(plain).answer.size() == 1);
	for (int i = 0; i < 3; i++) {
		CHECK(server->make(dns::query(plain)).empty());
		message cut = server->ask(plain);
		CHECK(cut.has(dns::TC));
		CHECK(cut.rcode == dns::NOERROR);
		CHECK(cut.answer.empty());
		CHECK(cut.size() < 60);
	}
	CHECK(server->counted(COUNTERS_SERVER_LIMITED_DROPPED) == 3);
	CHECK(server->counted(COUNTERS_SERVER_LIMITED_TRUNCATED) == 3);
	CHECK(server->ask(plain, true).answer.size() == 1);
	CHECK(server->ask(soa_with(option(option_cookie, cookie))).answer.size() == 1);
	SECTION("a cookie of its own alone gets BADCOOKIE instead of TC")
	{
		question half = soa_with(option(option_cookie, bytes(8, 1)));
		CHECK(server->make(dns::query(half)).empty());
		message bad = server->ask(half);
		CHECK(bad.rcode == dns::BADCOOKIE);
		CHECK(bad.find_option(option_cookie, cookie));
		CHECK(server->ask(soa_with(option(option_cookie, cookie))).answer.size() == 1);
	}
	SECTION("time brings answers again")
	{
		server->now_ms = 1000;
		CHECK(server->ask(plain).answer.size() == 1);
		CHECK(server->make(dns::query(plain)).empty());
	}
	SECTION("another network is not concerned")
	{
		server->client = "192.0.3.1";
		CHECK(server->ask(plain).answer.size() == 1);
	}
	SECTION("a neighbour is")
	{
		server->client = "192.0.2.200";
		CHECK(server->make(dns::query(plain)).empty());
	}
	SECTION("what is malformed is limited too")
	{
		bytes wire = dns::query(plain);
		wire.resize(wire.size() - 3);
		CHECK(server->make(wire).empty());
		CHECK(message(server->make(wire)).has(dns::TC));
	}
}

TEST_CASE("networks that the configuration names are not limited", "[server][ratelimit]")
{
	configured server("    rate-limit-allow: [ 192.0.2.0/28, 2001:db8::/32 ]\n");
	server->limit(1, 0);
	for (int i = 0; i < 100; i++)
		CHECK(server->ask("bl6.example.", dns::SOA).answer.size() == 1);
	server->client = "2001:db8::1";
	for (int i = 0; i < 100; i++)
		CHECK(server->ask("bl6.example.", dns::SOA).answer.size() == 1);
	server->client = "192.0.2.16";
	question asked;
	asked.name = "bl6.example.";
	CHECK(server->make(dns::query(asked)).empty());
}

// ---- who may ask ----

static const std::string three_rules =
	"access:\n"
	"  - id: customers\n    address: [ 192.0.2.0/24, 2001:db8::1 ]\n"
	"  - id: scraper\n    action: drop\n    address: 192.0.2.66\n"
	"  - id: others\n    action: refuse\n";

TEST_CASE("rules of a zone decide in their order which client is answered", "[server][access]")
{
	configured server("    workers: 1\n", three_rules,
			  "    access: [ scraper, customers, others ]\n");
	question listed;
	listed.name = "0.2.0.192.bl6.example.";
	listed.type = dns::AAAA;
	listed.edns_payload = 1232;
	CHECK(server->ask(listed).answer.size() == 1);
	server->client = "2001:db8::1";
	CHECK(server->ask(listed).answer.size() == 1);
	server->client = "192.0.2.66";
	CHECK(server->make(dns::query(listed)).empty());
	CHECK(server->make(dns::query(listed), true).empty());
	CHECK(server->counted(COUNTERS_SERVER_DROPPED) == 2);
	server->client = "192.0.3.1";
	message refused = server->ask(listed);
	CHECK(refused.rcode == dns::REFUSED);
	CHECK(refused.ede() == 18);
	CHECK(refused.answer.empty());
	CHECK_FALSE(refused.has(dns::AA));
	CHECK(server->counted(COUNTERS_FACE_REFUSED) == 1);
	server->client = "";
	CHECK(server->ask(listed).rcode == dns::REFUSED);
}

TEST_CASE("with rules that allow all others are refused; with rules that forbid all others pass",
	  "[server][access]")
{
	configured allowing("    workers: 1\n", three_rules, "    access: customers\n");
	configured forbidding("    workers: 1\n", three_rules, "    access: scraper\n");
	allowing->client = forbidding->client = "203.0.113.1";
	CHECK(allowing->ask("bl6.example.", dns::SOA).rcode == dns::REFUSED);
	CHECK(forbidding->ask("bl6.example.", dns::SOA).rcode == dns::NOERROR);
}
