/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/config.hh"

#include "client-lib/config/servers.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace
{
std::string text_of(const config_server &server)
{
	char text[INET6_ADDRSTRLEN];
	REQUIRE(inet_ntop(AF_INET6, &server.address.sin6_addr, text, sizeof(text)) != nullptr);
	return std::string(text) + "@" + std::to_string(ntohs(server.address.sin6_port)) +
	       (server.is_trusted ? "+" : "");
}

/* All servers, those that are trusted with a plus. */
std::string servers_of(Config &config)
{
	std::string all;
	for (unsigned i = 0; i < config->server_count; i++)
		all += (i > 0 ? " " : "") + text_of(config->servers[i]);
	return all;
}

/* What the servers are with this resolv.conf. */
std::string servers_with(const std::string &path, const std::string &trusted = "")
{
	Config config;
	REQUIRE(config.set("zones", "bl.example") == "");
	REQUIRE(config.set("resolv-conf", path) == "");
	REQUIRE(config.set("trusted", trusted) == "");
	REQUIRE(config.finish() == "");
	return servers_of(config);
}
} // namespace

/* ---- servers ---- */

TEST_CASE("servers are taken with ports, and loopback is trusted", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("servers", "192.0.2.1,127.0.0.53@5353 2001:db8::1@1 ::1 "
				      "::ffff:127.1.2.3 0.0.0.0 :: 10.0.0.1@65535") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) ==
	      "::ffff:192.0.2.1@53 ::ffff:127.0.0.53@5353+ 2001:db8::1@1 ::1@53+ "
	      "::ffff:127.1.2.3@53+ ::ffff:127.0.0.1@53+ ::1@53+ ::ffff:10.0.0.1@65535");
	CHECK(config->servers[0].address.sin6_family == AF_INET6);
	const std::string nine = "127.0.0.1 127.0.0.2 127.0.0.3 127.0.0.4 127.0.0.5 127.0.0.6 "
				 "127.0.0.7 127.0.0.8 127.0.0.9";
	CHECK(contains(config.set("servers", nine),
		       "servers \"127.0.0.9\": permitted are up to 8"));
	CHECK(config->server_count == 8);
}

TEST_CASE("a server that is named in trusted is believed, whatever its port", "[client][config]")
{
	const bool is_trusted_first = GENERATE(true, false);
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	if (is_trusted_first)
		REQUIRE(config.set("trusted", "192.0.2.2 2001:db8::2") == "");
	REQUIRE(config.set("servers", "192.0.2.1 192.0.2.2@5353 2001:db8::2 ::1") == "");
	if (!is_trusted_first)
		REQUIRE(config.set("trusted", "192.0.2.2 2001:db8::2") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) ==
	      "::ffff:192.0.2.1@53 ::ffff:192.0.2.2@5353+ 2001:db8::2@53+ ::1@53+");
}

TEST_CASE("with trusted none not even loopback is believed", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("servers", "127.0.0.1 192.0.2.1") == "");
	REQUIRE(config.set("trusted", "192.0.2.1") == "");
	REQUIRE(config.set("trusted", "none") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) == "::ffff:127.0.0.1@53 ::ffff:192.0.2.1@53");
	File file("nameserver 127.0.0.1\noptions trust-ad\n");
	CHECK(servers_with(file.path, "none") == "::ffff:127.0.0.1@53");
}

TEST_CASE("what has to be validated needs a server that is believed", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example b.example") == "");
	REQUIRE(config.set("servers", "192.0.2.1") == "");
	REQUIRE(config.finish() == "");
	CHECK(config->zones[0].secure == CONFIG_SECURE_AUTO);
	CHECK_FALSE(config_trusts_servers(config.operator->()));
	REQUIRE(config.set("secure", "no b.example=yes") == "");
	CHECK(config.finish() ==
	      "secure \"yes\": there is no server whose AD is believed, see trusted");
	REQUIRE(config.set("trusted", "192.0.2.1") == "");
	CHECK(config.finish() == "");
	CHECK(config_trusts_servers(config.operator->()));
	CHECK(config->zones[0].secure == CONFIG_SECURE_NO);
	CHECK(config->zones[1].secure == CONFIG_SECURE_YES);
	REQUIRE(config.set("servers", "192.0.2.1 192.0.2.2") == "");
	CHECK(config.finish() == "");
	CHECK_FALSE(config_trusts_servers(config.operator->()));
}

TEST_CASE("a link-local server keeps its interface", "[client][config]")
{
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("servers", "fe80::1%lo@5353 fe80::2%1 fe80::3%2") == "");
	REQUIRE(config.set("trusted", "fe80::3%3 fe80::2%1") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) == "fe80::1@5353 fe80::2@53+ fe80::3@53");
	CHECK(config->servers[0].address.sin6_scope_id == 1);
	CHECK(config->servers[1].address.sin6_scope_id == 1);
	CHECK(config->servers[2].address.sin6_scope_id == 2);
	File file("nameserver fe80::1%lo\nnameserver fe80::9%none-such\n");
	CHECK(servers_with(file.path) == "fe80::1@53");
}

/* ---- resolv.conf ---- */

TEST_CASE("servers that were set are not mixed with those of resolv.conf", "[client][config]")
{
	File file("nameserver 192.0.2.1\n");
	Config config;
	REQUIRE(config.set("zones", "a.example") == "");
	REQUIRE(config.set("resolv-conf", file.path) == "");
	REQUIRE(config.set("servers", "192.0.2.2") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) == "::ffff:192.0.2.2@53");
	REQUIRE(config.set("servers", "") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) == "::ffff:192.0.2.1@53");
}

TEST_CASE("resolv.conf is read as libc reads it", "[client][config]")
{
	struct row {
		std::string content, servers;
	};
	using namespace std::string_literals;
	auto r = GENERATE(values<row>({
		{ "nameserver 192.0.2.1\n", "::ffff:192.0.2.1@53" },
		{ "nameserver 192.0.2.1", "::ffff:192.0.2.1@53" },
		{ "nameserver\t192.0.2.1\r\nnameserver 2001:db8::1\r\n",
		  "::ffff:192.0.2.1@53 2001:db8::1@53" },
		{ "nameserver 192.0.2.1 # ours\nnameserver 192.0.2.2;his\n",
		  "::ffff:192.0.2.1@53 ::ffff:192.0.2.2@53" },
		{ "# nameserver 192.0.2.1\n;nameserver 192.0.2.2\nnameserver 192.0.2.3\n",
		  "::ffff:192.0.2.3@53" },
		{ " nameserver 192.0.2.1\nnameservers 192.0.2.2\nNameserver 192.0.2.3\n"
		  "nameserver\nnameserver \nnameserver x\nnameserver 192.0.2.256\n"
		  "nameserver192.0.2.1\nnameserver 192.0.2.4 192.0.2.5\n",
		  "::ffff:192.0.2.4@53" },
		{ "search example\noptions timeout:1 attempts:2 rotate edns0\n"
		  "nameserver 192.0.2.1\n",
		  "::ffff:192.0.2.1@53" },
		{ "options trust-ad\nnameserver 192.0.2.1\n", "::ffff:192.0.2.1@53+" },
		{ "nameserver 192.0.2.1\nnameserver ::1\noptions ndots:2 trust-ad timeout:1",
		  "::ffff:192.0.2.1@53+ ::1@53+" },
		{ "options trust-adx\noptions # trust-ad\n# options trust-ad\nnameserver "
		  "192.0.2.1\n",
		  "::ffff:192.0.2.1@53" },
		{ "nameserver 0.0.0.0\n", "::ffff:127.0.0.1@53+" },
		{ "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch .\n",
		  "::ffff:127.0.0.53@53+" },
		{ "", "::ffff:127.0.0.1@53+" },
		{ "\n\r\n\n", "::ffff:127.0.0.1@53+" },
		{ "options trust-ad\n", "::ffff:127.0.0.1@53+" },
		{ "nameserver 192.0.2.1\0nameserver 192.0.2.2\nnameserver 192.0.2.3\n"s,
		  "::ffff:192.0.2.3@53" },
		{ "\0\0\0\nnameserver 192.0.2.3\0"s, "::ffff:127.0.0.1@53+" },
	}));
	CAPTURE(r.content);
	File file(r.content);
	CHECK(servers_with(file.path) == r.servers);
}

TEST_CASE("up to eight servers of resolv.conf are used", "[client][config]")
{
	std::string content;
	for (unsigned i = 1; i <= 12; i++)
		content += "nameserver 192.0.2." + std::to_string(i) + "\n";
	File file(content);
	const std::string servers = servers_with(file.path);
	CHECK(servers.rfind("::ffff:192.0.2.1@53 ::ffff:192.0.2.2@53 ::ffff:192.0.2.3@53 ", 0) ==
	      0);
	CHECK(servers.substr(servers.rfind(' ')) == " ::ffff:192.0.2.8@53");
}

TEST_CASE("lines of any length, wherever a read ends in them, are read or skipped",
	  "[client][config]")
{
	/* The keyword at every place relative to the 4096 bytes of a read. */
	const int shift = GENERATE(range(-24, 3));
	const std::string comment =
		"#" + std::string(static_cast<size_t>(4096 + shift), 'x') + "\n";
	CAPTURE(shift);
	File file(comment + "nameserver 192.0.2.1\n" + "options " + std::string(512, ' ') +
		  "trust-ad\nnameserver " + std::string(500, ' ') + "192.0.2.2\nnameserver " +
		  std::string(480, ' ') + "192.0.2.3\n");
	CHECK(servers_with(file.path) == "::ffff:192.0.2.1@53 ::ffff:192.0.2.3@53");
}

TEST_CASE("a line that is too long is not cut to one that can be read", "[client][config]")
{
	const std::string cut = "nameserver " + std::string(492, ' ') + "192.0.2.2";
	REQUIRE(cut.size() == SERVERS_LINE_MAX);
	CHECK(servers_with(File(cut + "\n").path) == "::ffff:192.0.2.2@53");
	CHECK(servers_with(File(cut + "0\n").path) == "::ffff:127.0.0.1@53+");
}

TEST_CASE("of a huge resolv.conf the beginning is read, in whole lines", "[client][config]")
{
	const std::string line = "nameserver 192.0.2.10\n";
	std::string content(SERVERS_FILE_MAX - line.size() + 2, '\n');
	File file(content + line + content + content);
	CHECK(servers_with(file.path) == "::ffff:127.0.0.1@53+");
	File endless("");
	CHECK(servers_with("/dev/zero") == "::ffff:127.0.0.1@53+");
}

TEST_CASE("without a resolv.conf that can be read the resolver is on this machine",
	  "[client][config]")
{
	CHECK(servers_with("/nonexistent/resolv.conf") == "::ffff:127.0.0.1@53+");
	CHECK(servers_with("/") == "::ffff:127.0.0.1@53+");
	CHECK(servers_with("/dev/null") == "::ffff:127.0.0.1@53+");
	CHECK(servers_with("/proc/self/mem") == "::ffff:127.0.0.1@53+");

	const std::string fifo = "/tmp/client-config-fifo-" + std::to_string(getpid());
	REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
	CHECK(servers_with(fifo) == "::ffff:127.0.0.1@53+");
	unlink(fifo.c_str());
}

TEST_CASE("resolv.conf is read again when it is another file, and an empty one changes nothing",
	  "[client][config]")
{
	File file("nameserver 192.0.2.1\n");
	Config config;
	REQUIRE(config.set("zones", "bl.example") == "");
	REQUIRE(config.set("resolv-conf", file.path) == "");
	REQUIRE(config.finish() == "");
	const auto replace = [&file](const std::string &content) {
		File other(content);
		REQUIRE(rename(other.path.c_str(), file.path.c_str()) == 0);
	};
	CHECK_FALSE(config_renew_servers(config.operator->()));

	replace("nameserver 192.0.2.2\nnameserver 127.0.0.1\n");
	CHECK(config_renew_servers(config.operator->()));
	CHECK(servers_of(config) == "::ffff:192.0.2.2@53 ::ffff:127.0.0.1@53+");
	CHECK_FALSE(config_renew_servers(config.operator->()));

	replace("# the same\nnameserver 192.0.2.2\nnameserver 127.0.0.1\n");
	CHECK_FALSE(config_renew_servers(config.operator->()));
	replace("search example.com\n");
	CHECK_FALSE(config_renew_servers(config.operator->()));
	REQUIRE(unlink(file.path.c_str()) == 0);
	CHECK_FALSE(config_renew_servers(config.operator->()));
	CHECK(servers_of(config) == "::ffff:192.0.2.2@53 ::ffff:127.0.0.1@53+");

	File next("nameserver 192.0.2.2\noptions trust-ad\n");
	REQUIRE(rename(next.path.c_str(), file.path.c_str()) == 0);
	CHECK(config_renew_servers(config.operator->()));
	CHECK(servers_of(config) == "::ffff:192.0.2.2@53+");
}

TEST_CASE("resolv.conf that could not be opened is read at the next look", "[client][config]")
{
	File file("nameserver 192.0.2.1\n");
	Config config;
	REQUIRE(config.set("zones", "bl.example") == "");
	REQUIRE(config.set("resolv-conf", file.path) == "");
	REQUIRE(config.finish() == "");
	File next("nameserver 192.0.2.2\n");
	REQUIRE(rename(next.path.c_str(), file.path.c_str()) == 0);

	rlimit limit = {};
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	const rlimit none = { 0, limit.rlim_max };
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	const bool has_changed = config_renew_servers(config.operator->());
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK_FALSE(has_changed);
	CHECK(servers_of(config) == "::ffff:192.0.2.1@53");

	CHECK(config_renew_servers(config.operator->()));
	CHECK(servers_of(config) == "::ffff:192.0.2.2@53");
	CHECK_FALSE(config_renew_servers(config.operator->()));
}

TEST_CASE("servers that were set are not replaced by those of resolv.conf", "[client][config]")
{
	File file("nameserver 192.0.2.1\n");
	Config config;
	REQUIRE(config.set("zones", "bl.example") == "");
	REQUIRE(config.set("resolv-conf", file.path) == "");
	REQUIRE(config.set("servers", "192.0.2.9") == "");
	REQUIRE(config.finish() == "");
	CHECK_FALSE(config_renew_servers(config.operator->()));
	CHECK(servers_of(config) == "::ffff:192.0.2.9@53");
}

TEST_CASE("a configuration that is finished again has the servers that it was told last",
	  "[client][config]")
{
	File file("nameserver 192.0.2.1\n");
	File other("nameserver 192.0.2.2\n");
	Config config;
	REQUIRE(config.set("zones", "bl.example") == "");
	REQUIRE(config.set("resolv-conf", file.path) == "");
	REQUIRE(config.finish() == "");
	REQUIRE(config.set("resolv-conf", other.path) == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) == "::ffff:192.0.2.2@53");

	REQUIRE(config.set("servers", "192.0.2.9") == "");
	REQUIRE(config.set("trusted", "192.0.2.9") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) == "::ffff:192.0.2.9@53+");
	REQUIRE(config.set("trusted", "") == "");
	REQUIRE(config.finish() == "");
	CHECK(servers_of(config) == "::ffff:192.0.2.9@53");
	REQUIRE(rename(file.path.c_str(), other.path.c_str()) == 0);
	CHECK_FALSE(config_renew_servers(config.operator->()));
	CHECK(servers_of(config) == "::ffff:192.0.2.9@53");
}
