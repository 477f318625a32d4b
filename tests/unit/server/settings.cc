// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/settings/settings.h"
#include "lib/dns/peer.h"
#include "lib/store/tables.h"
#include "tests/lib/manual.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cstring>
#include <string>

// Settings out of text, with what was said about it.
struct parsed {
	settings value = {};
	conf_error error = {};
	int status;

	explicit parsed(const std::string &text)
	{
		status = settings_parse(&value, text.data(), text.size(), "/etc/dnsblv6", &error);
	}
	~parsed()
	{
		settings_deinit(&value);
	}
	parsed(const parsed &) = delete;
	parsed &operator=(const parsed &) = delete;
};

static std::string listens(const settings &value)
{
	std::string out;
	for (size_t i = 0; i < value.listen.count; i++) {
		char text[SETTINGS_TEXT_MAX];
		uint16_t port =
			peer_format(reinterpret_cast<const sockaddr *>(&value.listen.all[i]), text);
		out += std::string(out.empty() ? "" : " ") + text + "@" + std::to_string(port);
	}
	return out;
}

TEST_CASE("the sample configuration has every item of the server and equals the defaults",
	  "[server][settings]")
{
	std::string sample = read_file("server/dnsblv6d.conf.sample");
	parsed defaults("");
	parsed value(sample);
	REQUIRE(value.status == 0);
	CHECK(listens(value.value) == listens(defaults.value));
	CHECK(listens(value.value) == "127.0.0.1@53 ::1@53");
	CHECK(value.value.workers == defaults.value.workers);
	CHECK(value.value.tcp_max_clients == defaults.value.tcp_max_clients);
	CHECK(value.value.tcp_idle_timeout_s == defaults.value.tcp_idle_timeout_s);
	CHECK(value.value.tcp_max_clients_per_network ==
	      defaults.value.tcp_max_clients_per_network);
	CHECK(value.value.tcp_query_timeout_s == defaults.value.tcp_query_timeout_s);
	CHECK(value.value.rate_limit == defaults.value.rate_limit);
	CHECK(value.value.rate_limit_slip == defaults.value.rate_limit_slip);
	CHECK(value.value.rate_limit_networks == defaults.value.rate_limit_networks);
	CHECK(value.value.rate_limit_allow.count == 0);
	CHECK(value.value.has_cookies == defaults.value.has_cookies);
	CHECK(value.value.cookies.count == 0);
	CHECK(std::string(value.value.identity).empty());
	CHECK(std::string(value.value.version).empty());
	CHECK(std::string(value.value.nsid).empty());
	CHECK(value.value.rule_count == 0);
	CHECK(value.value.udp_max_payload == defaults.value.udp_max_payload);
	CHECK(value.value.log_level == defaults.value.log_level);
	CHECK(value.value.drain_timeout_s == defaults.value.drain_timeout_s);
	CHECK(value.value.verify_interval_s == defaults.value.verify_interval_s);
	CHECK(value.value.verify_interval_s == 30);
	CHECK(value.value.transfer_max == defaults.value.transfer_max);
	CHECK(value.value.transfer_timeout_s == defaults.value.transfer_timeout_s);
	CHECK(value.value.transfer_idle_timeout_s == defaults.value.transfer_idle_timeout_s);
	CHECK(std::string(value.value.control_path).empty());
	CHECK(std::string(value.value.control_owner.text).empty());
	CHECK(value.value.control_mode == defaults.value.control_mode);
	CHECK(value.value.top_size == defaults.value.top_size);
	CHECK(value.value.top_ipv4_length == defaults.value.top_ipv4_length);
	CHECK(value.value.top_ipv6_length == defaults.value.top_ipv6_length);
	CHECK(value.value.frequent_ranges == defaults.value.frequent_ranges);
	CHECK(std::string(value.value.owner.text).empty());
	CHECK(value.value.confine == defaults.value.confine);
	CHECK(value.value.confine == SETTINGS_CONFINE_AUTO);
	CHECK(std::string(value.value.chroot_path).empty());
	CHECK(std::string(value.value.dnstap.path).empty());
	CHECK(value.value.zone_count == 0);
	for (const char *item : { "    listen:",
				  "    #user:",
				  "    confine:",
				  "    #chroot:",
				  "    workers:",
				  "    tcp-max-clients:",
				  "    tcp-max-clients-per-network:",
				  "    tcp-idle-timeout:",
				  "    tcp-query-timeout:",
				  "    rate-limit:",
				  "    rate-limit-slip:",
				  "    #rate-limit-allow:",
				  "    rate-limit-networks:",
				  "    cookies:",
				  "    #cookie-secret:",
				  "    #identity:",
				  "    #version:",
				  "    #nsid:",
				  "#    action:",
				  "#    access:",
				  "    udp-max-payload:",
				  "    log-level:",
				  "    drain-timeout:",
				  "    verify-interval:",
				  "    transfer-max:",
				  "    transfer-timeout:",
				  "    transfer-idle-timeout:",
				  "    #control:",
				  "    #control-owner:",
				  "    control-mode:",
				  "    top-size:",
				  "    top-prefix-ipv4:",
				  "    top-prefix-ipv6:",
				  "    frequent-ranges:",
				  "#dnstap:",
				  "#    socket:",
				  "#    #file:",
				  "#    sample:",
				  "#    messages:",
				  "#    #zone:",
				  "#    #identity:",
				  "#    #version:",
				  "#xdp:",
				  "#    interface:",
				  "#    mode:",
				  "#    memory:",
				  "#    keep:",
				  "#  - id:",
				  "#    algorithm:",
				  "#    secret:",
				  "#    address:",
				  "#    allow:",
				  "#    key:",
				  "#  - domain:",
				  "#    store:",
				  "#    classic:",
				  "#    secondary:" }) {
		CAPTURE(item);
		CHECK(sample.find(std::string("\n") + item) != std::string::npos);
	}
}

TEST_CASE("the manual names every item and its default", "[server][settings]")
{
	std::string manual = read_file("server/dnsblv6d.conf.5");
	for (const char *item : { "listen",
				  "user",
				  "confine",
				  "chroot",
				  "workers",
				  "tcp-max-clients",
				  "tcp-idle-timeout",
				  "udp-max-payload",
				  "log-level",
				  "drain-timeout",
				  "transfer-max",
				  "transfer-timeout",
				  "transfer-idle-timeout",
				  "control",
				  "control-owner",
				  "control-mode",
				  "top-size",
				  "top-prefix-ipv4",
				  "top-prefix-ipv6",
				  "frequent-ranges",
				  "socket",
				  "file",
				  "sample",
				  "messages",
				  "zone",
				  "identity",
				  "version",
				  "interface",
				  "mode",
				  "memory",
				  "keep",
				  "id",
				  "algorithm",
				  "secret",
				  "address",
				  "allow",
				  "key",
				  "domain",
				  "store",
				  "classic",
				  "secondary" }) {
		CAPTURE(item);
		CHECK(manual.find(std::string("\n.It Ic ") + item) != std::string::npos);
	}
}

TEST_CASE("the example of the manual is understood", "[server][settings]")
{
	parsed value("server:\n"
		     "    listen: [ 192.0.2.1, \"2001:db8::1@5353\" ]\n"
		     "    user: root:root\n"
		     "    workers: 4\n"
		     "    tcp-idle-timeout: 2m\n"
		     "    log-level: debug\n"
		     "zone:\n"
		     "  - domain: BL6.example\n"
		     "    store: bl6.mdb\n"
		     "    classic: bl.example.\n"
		     "  - domain: other.example.\n"
		     "    store: /var/lib/other.mdb\n");
	REQUIRE(value.status == 0);
	CHECK(listens(value.value) == "192.0.2.1@53 2001:db8::1@5353");
	CHECK(value.value.workers == 4);
	CHECK(value.value.tcp_idle_timeout_s == 120);
	CHECK(std::string(value.value.owner.text) == "root:root");
	CHECK(value.value.owner.uid == 0);
	REQUIRE(value.value.zone_count == 2);
	CHECK(std::string(value.value.zones[0].domain.text) == "bl6.example.");
	CHECK(memcmp(value.value.zones[0].domain.wire, "\3bl6\7example", 13) == 0);
	CHECK(std::string(value.value.zones[0].store) == "/etc/dnsblv6/bl6.mdb");
	REQUIRE(value.value.zones[0].other_count == 1);
	CHECK(std::string(value.value.zones[0].others[0].name.text) == "bl.example.");
	CHECK(value.value.zones[0].others[0].is_classic);
	CHECK(std::string(value.value.zones[1].store) == "/var/lib/other.mdb");
	CHECK(value.value.zones[1].other_count == 0);
}

static const char with_secondaries[] = "key:\n"
				       "  - id: ONE\n"
				       "    secret: c2VjcmV0\n"
				       "  - id: two.example\n"
				       "    secret: c2VjcmV0\n"
				       "    algorithm: hmac-sha512\n"
				       "zone:\n"
				       "  - domain: bl6.example\n"
				       "    store: bl6.mdb\n"
				       "    secondary: [ b, a ]\n"
				       "secondary:\n"
				       "  - id: a\n"
				       "    address: [ 192.0.2.53, \"2001:db8::53@5353\" ]\n"
				       "    key: two.example.\n"
				       "  - id: b\n"
				       "    allow: [ 198.51.100.0/24, 2001:db8::/32 ]\n";

TEST_CASE("secondaries and their keys are found wherever they stand", "[server][settings]")
{
	parsed value(with_secondaries);
	REQUIRE(value.status == 0);
	const settings &got = value.value;
	REQUIRE(got.key_count == 2);
	CHECK(std::string(tsig_key_text(got.keys[0].key)) == "one.");
	CHECK(got.tsig_keys[1] == got.keys[1].key);
	REQUIRE(got.secondary_count == 2);
	const settings_secondary &a = got.secondaries[0];
	const settings_secondary &b = got.secondaries[1];
	CHECK(a.address_count == 2);
	CHECK(a.key == got.keys[1].key);
	CHECK(b.allow.count == 2);
	CHECK(b.key == nullptr);
	REQUIRE(got.zones[0].secondaries.count == 2);
	CHECK(got.zones[0].secondaries.indices[0] == 1);
	CHECK(got.zones[0].secondaries.indices[1] == 0);
}

TEST_CASE("a secret is not kept as text once its key has been made", "[server][settings]")
{
	parsed value(with_secondaries);
	REQUIRE(value.status == 0);
	CHECK(std::string(value.value.keys[0].secret).empty());
}

TEST_CASE("keys and secondaries that cannot be meant are refused, and no secret is logged",
	  "[server][settings]")
{
	struct refusal {
		const char *text;
		size_t line;
		const char *reason;
	};
	const char *zone = "zone:\n  - domain: a\n    store: s\n";
	auto c = GENERATE(
		refusal{ "key:\n  - id: one\n", 2, "this key has no secret" },
		refusal{ "key:\n  - id: one\n    secret: top*secret\n", 2,
			 "the secret of this key is not base64" },
		refusal{ "key:\n  - id: one\n    secret: dG9wc2VjcmV0\n    secret: dG9wc2VjcmV0\n",
			 4, "item is given twice" },
		refusal{ "key:\n  - id: one\n    secret: dG9w\n  - id: ONE.\n", 4,
			 "another key has this name" },
		refusal{ "key:\n  - id: one\n    algorithm: hmac-md5\n", 3,
			 "permitted are hmac-sha256, hmac-sha1" },
		refusal{ "secondary:\n  - id: a\n", 2, "this secondary has no address" },
		refusal{ "secondary:\n  - id: a\n    address: 192.0.2.1@0\n", 3,
			 "permitted are an IPv4 or IPv6 address and @port from 1 to 65535" },
		refusal{ "secondary:\n  - id: a\n    allow: 192.0.2.1/24\n", 3,
			 "host bits set below the prefix length" },
		refusal{ "secondary:\n  - id: a\n    allow: 192.0.2.1\n    key: no\n", 2,
			 "there is no key of this name" },
		refusal{ "secondary:\n  - id: a\n    allow: 192.0.2.1\n  - id: a\n", 4,
			 "another secondary has this id" },
		refusal{ "zone:\n  - domain: b\n    store: t\n    secondary: [ a ]\n", 2,
			 "there is no secondary of this id" },
		refusal{ "zone:\n  - domain: b\n    store: t\n    secondary: [ a, a ]\n", 4,
			 "this zone has this id already" });
	CAPTURE(c.text);
	parsed value(std::string(c.text) + (c.text[0] == 'z' ? "" : zone));
	CHECK(value.status == -EINVAL);
	CHECK(value.error.line == c.line);
	CHECK_THAT(std::string(value.error.reason), Catch::Matchers::StartsWith(c.reason));
	CHECK(std::string(value.error.value).find("secret") == std::string::npos);
	CHECK(std::string(value.error.value).find("dG9w") == std::string::npos);
}

TEST_CASE("a file with secrets that every user may read is known as such", "[server][settings]")
{
	tmpdir directory;
	std::string path = directory.file("a.conf");
	mode_t mode = GENERATE(0600, 0640, 0644);
	bool has_secrets = GENERATE(true, false);
	write_file(path, has_secrets ? with_secondaries : "");
	REQUIRE(chmod(path.c_str(), mode) == 0);
	settings value;
	conf_error error;
	REQUIRE(settings_read(&value, path.c_str(), &error) == 0);
	CHECK(value.is_exposed == (has_secrets && mode == 0644));
	settings_deinit(&value);
}

TEST_CASE("no number of workers means one for each core", "[server][settings]")
{
	parsed value("server:\n    workers: 0\n");
	CHECK(value.value.workers >= 1);
	CHECK(value.value.workers <= SETTINGS_WORKERS_MAX);
}

struct refusal {
	const char *text;
	size_t line;
	const char *item;
	const char *value;
	const char *reason; // what it begins with
};

static std::ostream &operator<<(std::ostream &out, const refusal &c)
{
	return out << c.text;
}

TEST_CASE("a refused line has its number, the value and what would be permitted",
	  "[server][settings]")
{
	auto c = GENERATE(values<refusal>({
		{ "server:\n    workers: 257\n", 2, "workers", "\"257\"",
		  "permitted are whole numbers from 0 to 256" },
		{ "server:\n    workers: -1\n", 2, "workers", "\"-1\"",
		  "permitted are whole numbers from 0 to 256" },
		{ "server:\n    workers: many\n", 2, "workers", "\"many\"",
		  "permitted are whole numbers from 0 to 256" },
		{ "server:\n    workers: 99999999999999999999\n", 2, "workers",
		  "\"99999999999999999999\"", "permitted are whole numbers from 0 to 256" },
		{ "server:\n    tcp-max-clients: 0\n", 2, "tcp-max-clients", "\"0\"",
		  "permitted are whole numbers from 1 to 10000" },
		{ "server:\n    tcp-idle-timeout: 2h\n", 2, "tcp-idle-timeout", "\"2h\"",
		  "permitted are 1s to 1h, with s, m, h or d" },
		{ "server:\n    tcp-idle-timeout: 10x\n", 2, "tcp-idle-timeout", "\"10x\"",
		  "permitted are 1s to 1h, with s, m, h or d" },
		{ "server:\n    udp-max-payload: 511\n", 2, "udp-max-payload", "\"511\"",
		  "permitted are whole numbers from 512 to 4096" },
		{ "server:\n    log-level: loud\n", 2, "log-level", "\"loud\"",
		  "permitted are error, warning, info, debug" },
		{ "server:\n    drain-timeout: 1d\n", 2, "drain-timeout", "\"1d\"",
		  "permitted are 0 to 1h, with s, m, h or d" },
		{ "server:\n    listen: 300.1.1.1\n", 2, "listen", "\"300.1.1.1\"",
		  "permitted are an IPv4 or IPv6 address" },
		{ "server:\n    listen: [ 127.0.0.1, 127.0.0.1@65536 ]\n", 2, "listen",
		  "\"127.0.0.1@65536\"", "permitted are an IPv4 or IPv6 address" },
		{ "server:\n    listen: /run/socket\n", 2, "listen", "\"/run/socket\"",
		  "permitted are an IPv4 or IPv6 address" },
		{ "server:\n    user: no-such-user-here\n", 2, "user", "\"no-such-user-here\"",
		  "no such user" },
		{ "server:\n    user: root:no-such-group\n", 2, "user", "\"root:no-such-group\"",
		  "no such group" },
		{ "server:\n    user:\n", 2, "user", "\"\"", "permitted are 1 to 64 bytes" },
		{ "server:\n    workers: 1\n    workers: 2\n", 3, "workers", "\"2\"",
		  "item is given twice" },
		{ "server:\n    workers: [ 1, 2 ]\n", 2, "workers", "\"2\"",
		  "item is given twice" },
		{ "server:\n    colour: blue\n", 2, "\"colour\"", "\"blue\"",
		  "unknown item, permitted are listen, user, workers, " },
		{ "server:\n    realtime: on\n", 2, "\"realtime\"", "\"on\"", "unknown item, " },
		{ "server:\n    xdp: eth0\n", 2, "\"xdp\"", "\"eth0\"", "unknown item, " },
		{ "\n\nsrever:\n    workers: 1\n", 3, "\"srever\"", "\"\"",
		  "unknown item, permitted are server, dnstap, xdp, key, secondary, access, zone" },
		{ "    server:\n        workers: 1\n", 1, "\"server\"", "\"\"",
		  "before any section, whose name begins a line" },
		{ "server: 1\n", 1, "\"server\"", "\"1\"", "a section has no value of its own" },
		{ "server:\n\tworkers: 1\n", 2, "", "\"\\x09workers: 1\"", "tabulator" },
		{ "server:\n    workers: 1\n      log-level: info\n", 3, "",
		  "\"      log-level: info\"", "invalid indentation" },
		{ "what is this\n", 1, "", "\"what is this\"", "not of the form item: value" },
		{ "zone:\n    store: a.mdb\n", 2, "store", "\"a.mdb\"",
		  "an entry of this section begins with \"- domain:\"" },
		{ "zone:\n  - store: a.mdb\n", 2, "store", "\"a.mdb\"",
		  "an entry of this section begins with \"- domain:\"" },
		{ "zone:\n  - domain: a..b\n", 2, "domain", "\"a..b\"", "not a domain name" },
		{ "zone:\n  - domain: a\n    store: a\n  - domain: bl\303\251.example\n", 4,
		  "domain", "\"bl\\xc3\\xa9.example\"",
		  "not a domain name: in ASCII, with A-labels (xn--...)" },
		{ "zone:\n  - domain: a.example\n    classic: c.example\n", 2, "domain",
		  "\"a.example.\"", "this zone has no store" },
		{ "zone:\n  - domain: a.example\n    store: a\n  - domain: A.example.\n", 4,
		  "domain", "\"A.example.\"", "another zone has this name" },
		{ "zone:\n  - domain: a.example\n    store: a\n    classic: a.example\n", 4,
		  "classic", "\"a.example\"", "another zone has this name" },
		{ "zone:\n  - domain: a\n    store: a\n    classic: b\n  - domain: b\n", 5,
		  "domain", "\"b\"", "another zone has this name" },
		{ "zone:\n  - domain: a\n    store: a\n  - domain: b\n    store: a\n", 5, "store",
		  "\"a\"", "another zone has this store" },
		{ "zone:\n  - domain: a\n    store:\n", 3, "store", "\"\"", "permitted are 1 to" },
		{ "zone:\n  - domain: a\n    colour: blue\n", 3, "\"colour\"", "\"blue\"",
		  "unknown item, permitted are domain, store, classic" },
	}));
	CAPTURE(c);
	parsed value(c.text);
	CHECK(value.status == -EINVAL);
	CHECK(value.error.line == c.line);
	CHECK(std::string(value.error.item) == c.item);
	CHECK(std::string(value.error.value) == c.value);
	CHECK_THAT(std::string(value.error.reason), Catch::Matchers::StartsWith(c.reason));
}

TEST_CASE("more addresses than sockets are kept for are refused", "[server][settings]")
{
	std::string text = "server:\n    listen: [ 127.0.0.1";
	for (int i = 0; i < LISTENER_ADDRESS_MAX - 1; i++)
		text += ", 127.0.0.1@" + std::to_string(1000 + i);
	CHECK(parsed(text + " ]\n").status == 0);
	CHECK(std::string(parsed(text + ", 127.0.0.2 ]\n").error.reason) ==
	      "permitted are at most 64 addresses");
}

TEST_CASE("a file that cannot be read is refused with the reason of the system",
	  "[server][settings]")
{
	tmpdir directory;
	settings value;
	conf_error error;
	std::string path = directory.file("absent.conf");
	CHECK(settings_read(&value, path.c_str(), &error) == -ENOENT);
	CHECK(error.line == 0);
	CHECK(std::string(error.reason) == "No such file or directory");
	settings_deinit(&value);
	CHECK(settings_read(&value, directory.path().c_str(), &error) == -EISDIR);
	settings_deinit(&value);
	write_file(directory.file("big.conf"), std::string(CONF_SIZE_MAX + 1, '#'));
	CHECK(settings_read(&value, directory.file("big.conf").c_str(), &error) == -EFBIG);
	settings_deinit(&value);
}

TEST_CASE("stores are found from the directory of the file", "[server][settings]")
{
	tmpdir directory;
	write_file(directory.file("a.conf"), "zone:\n  - domain: a\n    store: sub/a.mdb\n");
	settings value;
	conf_error error;
	REQUIRE(settings_read(&value, directory.file("a.conf").c_str(), &error) == 0);
	CHECK(std::string(value.zones[0].store) == directory.file("sub/a.mdb"));
	settings_deinit(&value);
}

TEST_CASE("addresses, user, workers and the control socket need a restart, the rest does not",
	  "[server][settings]")
{
	parsed before("server:\n    listen: 127.0.0.1\n    workers: 2\n");
	auto change = [&](const std::string &text) {
		parsed after("server:\n" + text);
		const char *item = conf_find_restart(&settings_table, &before.value, &after.value);
		return std::string(item != nullptr ? item : "");
	};
	CHECK(change("    listen: 127.0.0.1\n    workers: 2\n    log-level: debug\n").empty());
	CHECK(change("    listen: 127.0.0.2\n    workers: 2\n") == "listen");
	CHECK(change("    listen: [ 127.0.0.1, ::1 ]\n    workers: 2\n") == "listen");
	CHECK(change("    listen: 127.0.0.1\n    workers: 3\n") == "workers");
	CHECK(change("    listen: 127.0.0.1\n    workers: 2\n    user: root\n") == "user");
	const std::string same = "    listen: 127.0.0.1\n    workers: 2\n";
	CHECK(change(same + "    control: ctl\n") == "control");
	CHECK(change(same + "    control-owner: root\n") == "control-owner");
	CHECK(change(same + "    control-mode: 600\n") == "control-mode");
	CHECK(change(same + "    confine: on\n") == "confine");
	CHECK(change(same + "    chroot: /srv\n") == "chroot");
	CHECK(change(same + "xdp:\n    mode: generic\n") == "mode");
	CHECK(change(same + "xdp:\n    memory: 1G\n") == "memory");
	CHECK(change(same + "xdp:\n    keep: 1m\n") == "keep");
	CHECK(change(same + "    top-size: 0\n").empty());
}

TEST_CASE("a store has room for the readers of as many workers as there may be",
	  "[server][settings]")
{
	// Two generations, each worker with a process that verifies, and transfers.
	CHECK(zone_store.reader_max >= 4 * SETTINGS_WORKERS_MAX + 1000);
}

TEST_CASE("a query log has a socket or a file, and what is in it", "[server][settings]")
{
	if (!settings_has_dnstap()) {
		parsed refused("dnstap:\n    file: /log\n");
		CHECK(refused.status == -EINVAL);
		return;
	}
	parsed value("dnstap:\n    file: queries\n    sample: 100\n    messages: responses\n"
		     "    zone: [ A.example, b.example. ]\n    identity: me\n    version: auto\n");
	REQUIRE(value.status == 0);
	const settings_dnstap &log = value.value.dnstap;
	CHECK(std::string(log.path) == "/etc/dnsblv6/queries");
	CHECK_FALSE(log.is_socket);
	CHECK(log.every == 100);
	CHECK_FALSE(log.has_queries);
	CHECK(log.has_responses);
	REQUIRE(log.zone_count == 2);
	CHECK(std::string(log.zones[0].text) == "a.example.");
	CHECK(std::string(log.identity) == "me");
	CHECK(std::string(log.version).find("dnsblv6d ") == 0);

	parsed plain("dnstap:\n    socket: /run/s\n");
	REQUIRE(plain.status == 0);
	CHECK(plain.value.dnstap.is_socket);
	CHECK(plain.value.dnstap.every == 1);
	CHECK(plain.value.dnstap.has_queries);
	CHECK(plain.value.dnstap.has_responses);

	for (const char *bad : { "    file: a\n    socket: b\n", "    file: a\n    sample: 0\n",
				 "    file: a\n    messages: all\n", "    zone: a..b\n" }) {
		CAPTURE(bad);
		parsed refused(std::string("dnstap:\n") + bad);
		CHECK(refused.status == -EINVAL);
	}
}

TEST_CASE("answers from the driver have interfaces, and figures within their ranges",
	  "[server][settings]")
{
	parsed none("");
	CHECK(none.value.xdp.interfaces.count == 0);
	CHECK(none.value.xdp.mode == SETTINGS_XDP_AUTO);
	CHECK(none.value.xdp.memory_size == 256 << 20);
	CHECK(none.value.xdp.keep_s == 0);

	for (const char *bad :
	     { "    memory: 1023K\n", "    memory: 4G\n", "    keep: 2h\n", "    mode: native\n",
	       "    interface: [ name-of-16-bytes ]\n", "    interface: [ a, b, a ]\n",
	       "    interface: [ a, b, c, d, e, f, g, h, i ]\n" }) {
		CAPTURE(bad);
		parsed refused(std::string("xdp:\n") + bad);
		CHECK(refused.status == -EINVAL);
	}
	parsed value("xdp:\n    interface: [ eth0, name-of-15-byte ]\n    mode: driver\n"
		     "    memory: 3G\n    keep: 1m\n");
	if (!settings_has_xdp()) {
		CHECK(value.status == -EINVAL);
		CHECK(std::string(value.error.reason) ==
		      "this build has no answers from the network driver");
		return;
	}
	REQUIRE(value.status == 0);
	const settings_xdp &xdp = value.value.xdp;
	REQUIRE(xdp.interfaces.count == 2);
	CHECK(std::string(xdp.interfaces.names[1]) == "name-of-15-byte");
	CHECK(xdp.mode == SETTINGS_XDP_DRIVER);
	CHECK(xdp.memory_size == (uint64_t)3 << 30);
	CHECK(xdp.keep_s == 60);
}

TEST_CASE("stores lie below chroot, and workers find them without it", "[server][settings]")
{
	const std::string zone = "zone:\n  - domain: bl6.example.\n    store: ";
	for (const char *root : { "/srv/bl", "/srv/bl/", "/srv/bl//", "../../srv/bl" }) {
		CAPTURE(root);
		parsed value("server:\n    chroot: " + std::string(root) + "\n" + zone +
			     "/srv/bl/x/a.mdb\n");
		if (root[0] == '/') {
			REQUIRE(value.status == 0);
			CHECK(std::string(value.value.chroot_path) == "/srv/bl");
			CHECK(std::string(settings_store_path(&value.value, 0)) == "/x/a.mdb");
		} else {
			// Paths are compared as they are written.
			CHECK(value.status == -EINVAL);
		}
	}
	parsed none("server:\n    chroot: /\n" + zone + "/srv/a.mdb\n");
	REQUIRE(none.status == 0);
	CHECK(std::string(settings_store_path(&none.value, 0)) == "/srv/a.mdb");
	for (const char *store : { "/srv/blue.mdb", "/var/a.mdb", "a.mdb" }) {
		CAPTURE(store);
		parsed value("server:\n    chroot: /srv/bl\n" + zone + store + "\n");
		CHECK(value.status == -EINVAL);
		CHECK(value.error.line == 4);
		CHECK(std::string(value.error.item) == "store");
	}
}

TEST_CASE("dnsblv6d.conf(5) has each item of the table with its default", "[server][settings]")
{
	manual::check_rows(settings_table, settings_table.section_count, "server/dnsblv6d.conf.5");
}

TEST_CASE("dnsblv6d.conf(5) tells which changes need a restart", "[server][settings]")
{
	const std::string page = read_file("server/dnsblv6d.conf.5");
	const conf_section &server = settings_table.sections[0];
	for (size_t i = 0; i < server.item_count; i++) {
		const conf_item &row = server.items[i];
		CAPTURE(row.name);
		CHECK((manual::text_of(page, "server", row.name).find("needs a restart") !=
		       std::string::npos) == row.needs_restart);
	}
}
