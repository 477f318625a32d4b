// SPDX-License-Identifier: GPL-3.0-or-later
// pop.conf: what is taken, and what is refused with which words.
#include "integration/mail/pop-front/setup/popsetup.h"

#include "lib/common/log.h"
#include "lib/pop3/pop3_dialogue.h"

#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/mail-base/tls_fixture.hh"

#include <catch2/catch.hpp>

#include <cstring>
#include <netinet/in.h>
#include <string>
#include <unistd.h>

namespace
{

using parsed = parsed_as<popsetup, popsetup_parse, popsetup_deinit>;

const std::string USERS = "login:\n    users: /var/lib/mail-hub/users.mdb\n";
// Without TLS.
const std::string LOGIN = USERS + "    require-tls: no\n";
const std::string POP = "pop:\n    listen: [ 127.0.0.1 ]\n";

// Section tls, with a certificate that is there as long as this is.
class certified
{
      public:
	certified() : paths_(files_.add(pem(), front::pem_of(key())))
	{
	}
	std::string tls() const
	{
		return "tls:\n    certificates: [ \"" + std::string(paths_.chain) + ":" +
		       paths_.key + "\" ]\n";
	}

      private:
	static front::pkey_ptr key()
	{
		static const front::pkey_ptr made = front::make_key("EC");
		return made;
	}
	static std::string pem()
	{
		return front::pem_of(front::make_certificate(key(), "mail.example.org"));
	}

	front::files files_;
	keys_paths paths_;
};

// Of both families at one place.
unsigned port_of(const place &place)
{
	return ntohs(reinterpret_cast<const sockaddr_in *>(&place.address)->sin_port);
}

} // namespace

TEST_CASE("users, a place and TLS or the word that it is not needed must be configured",
	  "[pop][setup]")
{
	const parsed file(POP + LOGIN);
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	const popsetup_pop &pop = file.setup.pop;
	const edge_rules &edge = file.setup.edge;
	char hostname[MAILSETUP_HOSTNAME_MAX + 1] = "";
	gethostname(hostname, MAILSETUP_HOSTNAME_MAX);
	CHECK(std::string(pop.hostname) == hostname);
	CHECK(pop.place_count == 1);
	CHECK(port_of(pop.places[0]) == 110);
	CHECK(edge.edges >= 1);
	CHECK(pop.workers == 50);
	CHECK(pop.sessions_per_worker == 1000);
	CHECK(edge.sessions_max == 10000);
	CHECK_FALSE(edge.refuses_at_capacity);
	CHECK(edge.queue_timeout_ms == 30000);
	CHECK(edge.batching_ms == 4);
	CHECK(edge.drain_ms == 30000);
	CHECK(std::string(pop.metrics).empty());
	CHECK(std::string(pop.chroot).empty());
	CHECK(pop.log_level == LOG_LEVEL_INFO);
	CHECK(edge.proxy.count == 0);
	CHECK_FALSE(file.setup.has_zones);
	CHECK(file.setup.tls.chains == nullptr);
	CHECK(std::string(file.setup.store.text) == "/run/mail-stored/socket");
	CHECK(file.setup.store.address.ss_family == AF_UNIX);
	CHECK(file.setup.store_timeout_ms == 60000);
}

TEST_CASE("a login has its defaults", "[pop][setup]")
{
	const parsed file(POP + LOGIN);
	REQUIRE(file.status == 0);
	const popsetup_login &login = file.setup.login;
	CHECK(login.ways == (POP3_WAY_USER | POP3_WAY_PLAIN | POP3_WAY_SCRAM));
	CHECK(login.checkers == 2);
	CHECK(login.cache_ms == 3600000);
	CHECK(login.failures_max == 3);
	CHECK(login.failure_rate == 60);
	CHECK(file.setup.edge.tarpit_ms == 2000);
	CHECK(login.timeout_ms == 30000);
	CHECK(login.refuses_listed);
	CHECK_FALSE(login.requires_tls);
}

TEST_CASE("limits of pop-front have their defaults", "[pop][setup]")
{
	const parsed file(POP + LOGIN);
	REQUIRE(file.status == 0);
	const popsetup_limits &limits = file.setup.limits;
	const edge_rules &edge = file.setup.edge;
	CHECK(edge.command_timeout_ms == 60000);
	CHECK(edge.stress_timeout_ms == 10000);
	CHECK(edge.stress_share == 80);
	CHECK(edge.session_timeout_ms == 180000);
	// RFC 1939, part 3: at least ten minutes.
	CHECK(limits.idle_timeout_ms == 600000);
	CHECK(limits.send_timeout_ms == 180000);
	CHECK(limits.worker_timeout_ms == 4 * 3600000);
	CHECK(limits.errors_max == 20);
	CHECK(limits.commands_max == 0);
	CHECK(limits.messages_max == 1000000);
	CHECK(edge.network.prefix_ipv4 == 24);
	CHECK(edge.network.prefix_ipv6 == 56);
	CHECK(edge.network.prefix_ipv6_site == 48);
	CHECK(edge.network.site_multiple == 2);
	CHECK(edge.network.connections_max == 100);
	CHECK(edge.network.rate_max == 600);
}

TEST_CASE("places of listen come first, those of listen-tls behind them", "[pop][setup]")
{
	const certified with;
	const parsed file("pop:\n    listen-tls: [ 127.0.0.1, \"::1@1995\" ]\n"
			  "    listen: [ 127.0.0.1, \"::1\", 127.0.0.2@1110 ]\n" +
			  USERS + with.tls());
	CAPTURE(file.error.line, file.error.reason);
	REQUIRE(file.status == 0);
	const popsetup_pop &pop = file.setup.pop;
	CHECK(pop.clear_count == 3);
	CHECK(pop.tls_count == 2);
	REQUIRE(pop.place_count == 5);
	const unsigned ports[] = { 110, 110, 1110, 995, 1995 };
	const int families[] = { AF_INET, AF_INET6, AF_INET, AF_INET, AF_INET6 };
	for (size_t i = 0; i < 5; i++) {
		CAPTURE(i);
		CHECK(port_of(pop.places[i]) == ports[i]);
		CHECK(pop.places[i].address.ss_family == families[i]);
	}
	CHECK(file.setup.login.requires_tls);
	CHECK(file.setup.tls.chains != nullptr);
}

TEST_CASE("listen-tls alone is enough, as that is TLS", "[pop][setup]")
{
	const certified with;
	const parsed file("pop:\n    listen-tls: [ 127.0.0.1 ]\n" + USERS + with.tls());
	REQUIRE(file.status == 0);
	CHECK(file.setup.pop.clear_count == 0);
	CHECK(file.setup.pop.place_count == 1);
}

TEST_CASE("ways to log in are those that mechanisms names", "[pop][setup]")
{
	const auto row = GENERATE(table<std::string, unsigned>({
		{ "user", POP3_WAY_USER },
		{ "[ plain ]", POP3_WAY_PLAIN },
		{ "[ scram-sha-256, plain ]", POP3_WAY_PLAIN | POP3_WAY_SCRAM },
		{ "[ user, user ]", POP3_WAY_USER },
	}));
	CAPTURE(std::get<0>(row));
	const parsed file(POP + LOGIN + "    mechanisms: " + std::get<0>(row) + "\n");
	REQUIRE(file.status == 0);
	CHECK(file.setup.login.ways == std::get<1>(row));
}

TEST_CASE("a network has a fifth of pop-front's workers, or none are counted", "[pop][setup]")
{
	const auto row = GENERATE(table<std::string, unsigned>({
		{ "", 10 },
		{ "    workers: 6\n", 2 },
		{ "    workers: 1\n", 1 },
		{ "limits:\n    connections: 0\n", 0 },
		{ "limits:\n    connections: 0\n    workers: 7\n", 7 },
		{ "limits:\n    workers: 0\n", 0 },
	}));
	CAPTURE(std::get<0>(row));
	const parsed file(POP + std::get<0>(row) + LOGIN);
	REQUIRE(file.status == 0);
	CHECK(file.setup.edge.network.held_max == std::get<1>(row));
}

TEST_CASE("a role of pop-front without a user of its own has that of edges", "[pop][setup]")
{
	const parsed one(POP + "    user: root\n" + LOGIN);
	REQUIRE(one.status == 0);
	CHECK(std::string(one.setup.pop.worker_owner.user) == "root");
	CHECK(std::string(one.setup.pop.check_owner.user) == "root");
	CHECK(std::string(one.setup.pop.key_owner.user) == "root");

	const parsed two(POP + "    user: root\n    check-user: nobody\n" + LOGIN);
	REQUIRE(two.status == 0);
	CHECK(std::string(two.setup.pop.worker_owner.user) == "root");
	CHECK(std::string(two.setup.pop.check_owner.user) == "nobody");
	CHECK(std::string(two.setup.pop.key_owner.user) == "root");
}

TEST_CASE("networks of pop.conf are read, and zones", "[pop][setup]")
{
	const parsed file(POP + "    proxy: [ 192.0.2.1, 2001:db8::/32 ]\n" + LOGIN +
			  "limits:\n    unlimited: [ 198.51.100.0/24 ]\n"
			  "library:\n    zones: [ bl6.example ]\n");
	CAPTURE(file.error.line, file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(file.setup.edge.proxy.count == 2);
	CHECK(file.setup.edge.unlimited.count == 1);
	CHECK(file.setup.has_zones);
}

TEST_CASE("a value of pop.conf that is none is refused with its line", "[pop][setup]")
{
	const auto line = GENERATE(
		as<std::string>(), "pop:\n    hostname: -x", "pop:\n    hostname: a..b",
		"pop:\n    hostname: a.", "pop:\n    edges: 65", "pop:\n    workers: 0",
		"pop:\n    workers: 1025", "pop:\n    listen: [ 192.0.2.1, 192.0.2.1@110 ]",
		"pop:\n    listen-tls: [ 192.0.2.1, 192.0.2.1@995 ]", "pop:\n    listen: localhost",
		"pop:\n    user: no-such-user-here", "pop:\n    chroot: empty",
		"pop:\n    at-capacity: drop", "pop:\n    drain: 2h", "pop:\n    gather: 51ms",
		"pop:\n    sessions-per-worker: 0", "pop:\n    proxy: [ 192.0.2.0/33 ]",
		"pop:\n    port: 110", "pop:\n    log-level: loud", "store:\n    socket: relative",
		"store:\n    timeout: 99ms", "login:\n    users: users.mdb",
		"login:\n    mechanisms: [ user, apop ]", "login:\n    mechanisms: login",
		"login:\n    checkers: 0", "login:\n    checkers: 65", "login:\n    cache: 25h",
		"login:\n    failures: 0", "login:\n    delay: 61s", "login:\n    timeout: 99ms",
		"login:\n    require-tls: maybe", "login:\n    refuse-listed: 2",
		"limits:\n    login-timeout: 0", "limits:\n    stress-share: 101",
		"limits:\n    idle-timeout: 25h", "limits:\n    errors: 0",
		"limits:\n    messages: 0", "limits:\n    prefix-ipv4: 7",
		"limits:\n    prefix-ipv6: 129", "limits:\n    site-multiple: 0",
		"limits:\n    workers: 1025", "limits:\n    unlimited: [ x ]",
		"tls:\n    certificates: [ mx.pem ]",
		"tls:\n    certificates: [ \"/a.pem:b.pem\" ]", "sink:\n    to: /run/lmtp");
	CAPTURE(line);
	const parsed file(line + "\n");
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == (line.rfind("sink", 0) == 0 ? 1 : 2));
	CHECK(file.error.reason[0] != '\0');
}

TEST_CASE("a mechanism that there is not is told which there are", "[pop][setup]")
{
	const parsed file("login:\n    mechanisms: [ plain, cram-md5 ]\n");
	REQUIRE(file.status == -EINVAL);
	CHECK(std::string(file.error.item) == "mechanisms");
	CHECK(std::string(file.error.value) == "\"cram-md5\"");
	CHECK(std::string(file.error.reason) == "permitted are user, plain and scram-sha-256");
}

TEST_CASE("values of pop.conf that do not go together are refused", "[pop][setup]")
{
	struct row {
		std::string text;
		std::string reason;
	};
	std::string nine = "[ 127.0.0.1";
	for (int i = 2; i <= 9; i++)
		nine += ", 127.0.0." + std::to_string(i);
	nine += " ]\n";
	const certified with;
	const auto row = GENERATE_REF(values<struct row>({
		{ POP, "login: \"users\" is not given: who has which password" },
		{ POP + LOGIN + "store:\n    socket: 127.0.0.1@24\n",
		  "store: \"socket\" is the path of mail-stored's socket, of 107 bytes at most" },
		{ POP + LOGIN + "store:\n    socket: /" + std::string(107, 's') + "\n",
		  "store: \"socket\" is the path of mail-stored's socket, of 107 bytes at most" },
		{ LOGIN, "pop: neither \"listen\" nor \"listen-tls\" is given" },
		{ "pop:\n    listen: " + nine + "    listen-tls: " + nine + LOGIN + with.tls(),
		  "pop: there are 16 places at most" },
		{ "pop:\n    listen-tls: [ 127.0.0.1 ]\n" + LOGIN,
		  "pop: \"listen-tls\" needs \"certificates\" in section tls" },
		{ POP + USERS, "login: \"require-tls\" needs \"certificates\" in section tls" },
		{ POP + LOGIN + "limits:\n    login-timeout: 5s\n",
		  "limits: \"stress-timeout\" is longer than \"login-timeout\"" },
	}));
	CAPTURE(row.text);
	const parsed file(row.text);
	CHECK(file.status == -EINVAL);
	CHECK(std::string(file.error.reason) == row.reason);
	CHECK(file.error.line == 0);
}

TEST_CASE("a place that is in both lists is refused", "[pop][setup]")
{
	const certified with;
	const parsed file(
		"pop:\n    listen: [ 127.0.0.1@110 ]\n    listen-tls: [ 127.0.0.1@110 ]\n" + USERS +
		with.tls());
	CHECK(file.status == -EINVAL);
	CHECK(std::string(file.error.reason) ==
	      "pop: a place is in \"listen\" and in \"listen-tls\"");
}

TEST_CASE("a certificate of pop.conf that cannot be read refuses the file", "[pop][setup]")
{
	const tmpdir directory;
	const std::string path = directory.file("mx.pem");
	const std::string text = POP + USERS + "tls:\n    certificates: [ " + path + " ]\n";
	const parsed none(text);
	CHECK(none.status == -ENOENT);
	CHECK(std::string(none.error.reason).find(path) != std::string::npos);

	write_file(path, "not a certificate\n");
	const parsed bad(text);
	CHECK(bad.status < 0);
	CHECK(bad.setup.tls.chains == nullptr);
}

TEST_CASE("without memory there is no configuration of pop-front", "[pop][setup]")
{
	parsed::check_without_memory(POP + "    proxy: [ 192.0.2.1 ]\n" + LOGIN +
				     "limits:\n    unlimited: [ 198.51.100.0/24 ]\n");
}

// ---- values that all mail servers have ----

TEST_CASE("a hostname is a domain name", "[mail][mailsetup]")
{
	const auto row = GENERATE(table<std::string, bool>({
		{ "mx", true },
		{ "mx.example.org", true },
		{ "1.2-3", true },
		{ "xn--mller-kva.example", true },
		{ std::string(MAILSETUP_HOSTNAME_MAX, 'h'), true },
		{ ".mx", false },
		{ "mx.", false },
		{ "a..b", false },
		{ "-mx", false },
		{ "mx.-b", false },
		{ "m x", false },
		{ "m_x", false },
		{ "[127.0.0.1]", false },
		{ "m\xc3\xbcller.example", false },
		{ std::string(MAILSETUP_HOSTNAME_MAX + 1, 'h'), false },
	}));
	CAPTURE(std::get<0>(row));
	const parsed file("pop:\n    hostname: \"" + std::get<0>(row) +
			  "\"\n    listen: [ 127.0.0.1 ]\n" + LOGIN);
	CHECK((file.status == 0) == std::get<1>(row));
	if (file.status == 0)
		CHECK(std::string(file.setup.pop.hostname) == std::get<0>(row));
	else
		CHECK(std::string(file.error.item) == "hostname");
}

TEST_CASE("a list has 16 places at most", "[mail][mailsetup]")
{
	const auto list_of = [](int count) {
		std::string list = "pop:\n    listen: [ 127.0.0.1";
		for (int i = 2; i <= count; i++)
			list += ", 127.0.0." + std::to_string(i);
		return list + " ]\n";
	};
	const parsed most(list_of(16) + LOGIN);
	REQUIRE(most.status == 0);
	CHECK(most.setup.pop.place_count == 16);
	const parsed many(list_of(17) + LOGIN);
	CHECK(many.status == -EINVAL);
	CHECK(std::string(many.error.reason) == "there are 16 places at most");
	CHECK(std::string(many.error.value) == "\"127.0.0.17\"");
}

TEST_CASE("a place that is there twice is refused, however it is written", "[mail][mailsetup]")
{
	const parsed file("pop:\n    listen: [ \"::1\", \"0:0::1@110\" ]\n" + LOGIN);
	CHECK(file.status == -EINVAL);
	CHECK(std::string(file.error.reason) == "place is given twice");
}

TEST_CASE("certificates are pairs of absolute paths, 32 at most", "[mail][mailsetup]")
{
	const auto reason_of = [](const std::string &list) {
		const parsed file("tls:\n    certificates: [ " + list + " ]\n");
		CHECK(file.status == -EINVAL);
		return std::string(file.error.reason);
	};
	const std::string expected =
		"permitted are CHAIN:KEY and one file with both, as absolute paths";
	const std::string longest(KEYS_PATH_MAX, 'p');
	for (const std::string &word :
	     { std::string("mx.pem"), std::string("\"/mx.pem:key.pem\""),
	       std::string("\"mx.pem:/key.pem\""), std::string("\"/mx.pem:\""), "/" + longest }) {
		CAPTURE(word);
		CHECK(reason_of(word) == expected);
	}
	std::string many = "/1.pem";
	for (int i = 2; i <= 33; i++)
		many += ", /" + std::to_string(i) + ".pem";
	CHECK(reason_of(many) == "there are 32 certificates at most");
}

TEST_CASE("as many edges there are as processors", "[mail][mailsetup]")
{
	const unsigned count = mailsetup_count_cores();
	CHECK(count >= 1);
	CHECK(count <= LISTENERS_EDGES_MAX);
	const parsed file(POP + LOGIN);
	CHECK(file.setup.edge.edges == count);
	const parsed three(POP + "    edges: 3\n" + LOGIN);
	CHECK(three.setup.edge.edges == 3);
}
