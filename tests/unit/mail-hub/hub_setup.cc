// SPDX-License-Identifier: GPL-3.0-or-later
// hub.conf: what is taken, what is refused with which words, and what each program gets.
#include "integration/mail/mail-hub/hub_programs.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "integration/mail/pop-front/setup/popsetup.h"
#include "integration/mail/smtp-front/setup/setup.h"

#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"

#include <catch2/catch.hpp>

#include <regex>
#include <string>

namespace
{
using parsed = parsed_as<hub_setup, hub_setup_parse>;
using stored = parsed_as<stored_setup, stored_setup_parse>;
using pop = parsed_as<popsetup, popsetup_parse, popsetup_deinit>;
using front = parsed_as<setup, setup_parse, setup_deinit>;

std::string hub(const std::string &items)
{
	return "hub:\n    hostname: mail.example.org\n" +
	       std::regex_replace(items, std::regex("(^|\n)(?=.)"), "$1    ");
}

std::string sample()
{
	return read_file("integration/mail/mail-hub/hub.conf.sample");
}

std::string text_of(unsigned program, const hub_setup &setup)
{
	char *text = hub_programs_text(program, &setup);
	REQUIRE(text != nullptr);
	const std::string copy = text;
	free(text);
	CHECK(copy.compare(0, 31, "# Made of hub.conf by mail-hub,") == 0);
	return copy.substr(copy.find('\n') + 1);
}

std::string reason_of(const std::string &text)
{
	const parsed file(text);
	CHECK(file.status == -EINVAL);
	return file.error.reason;
}
} // namespace

TEST_CASE("hub.conf.sample has the defaults, and every item", "[mail-hub][setup]")
{
	const parsed defaults(hub(""));
	const parsed as_it_is(sample());
	CAPTURE(as_it_is.error.line, as_it_is.error.reason);
	REQUIRE(as_it_is.status == 0);
	CHECK(memcmp(&as_it_is.setup, &defaults.setup, sizeof(defaults.setup)) == 0);

	const std::string all = std::regex_replace(sample(), std::regex("#user:.*"), "user: root");
	const parsed uncommented(std::regex_replace(all, std::regex("#([-a-z0-9]+: *[^ ])"), "$1"));
	CAPTURE(uncommented.error.line, uncommented.error.reason);
	REQUIRE(uncommented.status == 0);
	CHECK(uncommented.setup.pop3s.count == 2);
	CHECK(std::string(uncommented.setup.metrics) == "/run/mail-hub/metrics");
	CHECK(std::string(uncommented.setup.pool) == "mail");
	for (size_t section = 0; section < hub_setup_table.section_count; section++) {
		const conf_section &part = hub_setup_table.sections[section];
		for (size_t i = 0; i < part.item_count; i++) {
			CAPTURE(part.items[i].name);
			CHECK(sample().find(std::string(part.items[i].name) + ": ") !=
			      std::string::npos);
		}
	}
	manual::check_rows(hub_setup_table, 2, "integration/mail/mail-hub/mail-hub.8");
}

TEST_CASE("twelve lines are a mail server, and each program gets its own", "[mail-hub][programs]")
{
	const parsed file(hub("directory: /srv/mail # a disk of its own\n"
			      "run-directory: /run/hub\n"
			      "user: root\n"
			      "certificate: /etc/ssl/chain.pem\n"
			      "key: /etc/ssl/key.pem\n"
			      "smtp: [ 192.0.2.1@25, \"2001:db8::1@2525\" ]\n"
			      "lmtp: /run/hub/lmtp\n"
			      "pop3: 192.0.2.1@110\n"
			      "pop3s: [ 192.0.2.1@995 ]\n"
			      "mechanisms: [ user, plain ]\n"
			      "zones: [ \"bl.example=127.0.0.[2..11]*2\", bl6.example ]\n"
			      "signatures: /srv/mail/signatures\n"
			      "clamd: 127.0.0.1@3310\n"
			      "log: debug\n"));
	CAPTURE(file.error.line, file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(text_of(HUB_STORE, file.setup) == R"(stored:
    directory: "/srv/mail/store"
    socket: "/run/hub/store"
    user: "root"
    users: "/srv/mail/users.mdb"
    logins: "/srv/mail/logins.mdb"
    metrics: "/run/hub/metrics/mail-stored.prom"
    log-level: "debug"
lmtp:
    hostname: "mail.example.org"
    listen: [ "/run/hub/lmtp" ]
)");
	CHECK(text_of(HUB_SMTP, file.setup) == R"(front:
    hostname: "mail.example.org"
    listen: [ "192.0.2.1@25", "2001:db8::1@2525" ]
    user: "root"
    chroot: "/run/hub/empty"
    metrics: "/run/hub/metrics/smtp-front.prom"
    log-level: "debug"
trust:
    users: "/srv/mail/users.mdb"
tls:
    certificates: [ "/etc/ssl/chain.pem:/etc/ssl/key.pem" ]
sink:
    kind: store
    to: "/run/hub/store"
library:
    zones: [ "bl.example=127.0.0.[2..11]*2", "bl6.example" ]
scan:
    signatures: "/srv/mail/signatures"
    clamd: "127.0.0.1@3310"
)");
	CHECK(text_of(HUB_POP, file.setup) == R"(pop:
    hostname: "mail.example.org"
    listen: [ "192.0.2.1@110" ]
    listen-tls: [ "192.0.2.1@995" ]
    user: "root"
    chroot: "/run/hub/empty"
    metrics: "/run/hub/metrics/pop-front.prom"
    log-level: "debug"
store:
    socket: "/run/hub/store"
login:
    users: "/srv/mail/logins.mdb"
    mechanisms: [ "user", "plain" ]
    require-tls: "yes"
tls:
    certificates: [ "/etc/ssl/chain.pem:/etc/ssl/key.pem" ]
)");
	for (unsigned program = 0; program < HUB_PROGRAMS; program++)
		CHECK(hub_programs[program].is_wanted(&file.setup));
}

TEST_CASE("what is not given is not printed", "[mail-hub][programs]")
{
	const parsed file(hub("pop3: 127.0.0.1@110\nplain-logins: yes\nmetrics: /srv/metrics\n"));
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(text_of(HUB_STORE, file.setup) == R"(stored:
    directory: "/var/lib/mail-hub/store"
    socket: "/run/mail-hub/store"
    users: "/var/lib/mail-hub/users.mdb"
    logins: "/var/lib/mail-hub/logins.mdb"
    metrics: "/srv/metrics/mail-stored.prom"
    log-level: "info"
lmtp:
    hostname: "mail.example.org"
)");
	CHECK(text_of(HUB_SMTP, file.setup) == R"(front:
    hostname: "mail.example.org"
    listen: [ "0.0.0.0@25", "::@25" ]
    metrics: "/srv/metrics/smtp-front.prom"
    log-level: "info"
trust:
    users: "/var/lib/mail-hub/users.mdb"
sink:
    kind: store
    to: "/run/mail-hub/store"
)");
	CHECK(text_of(HUB_POP, file.setup) == R"(pop:
    hostname: "mail.example.org"
    listen: [ "127.0.0.1@110" ]
    metrics: "/srv/metrics/pop-front.prom"
    log-level: "info"
store:
    socket: "/run/mail-hub/store"
login:
    users: "/var/lib/mail-hub/logins.mdb"
    require-tls: "no"
)");
}

TEST_CASE("a hub of a cluster has its store and its users there", "[mail-hub][programs]")
{
	const std::string begin = R"(stored:
    directory: "/var/lib/mail-hub/store"
    layer: "rados"
    socket: "/run/mail-hub/store"
    users: "/var/lib/mail-hub/users.mdb"
    metrics: "/run/mail-hub/metrics/mail-stored.prom"
    log-level: "info"
lmtp:
    hostname: "mail.example.org"
cluster:
    pool: "mail"
)";
	const std::string end = R"(    users: "yes"
    logins: "/var/lib/mail-hub/logins.mdb"
)";
	const parsed file(hub("") + "cluster:\n    pool: mail\n");
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(text_of(HUB_STORE, file.setup) == begin + end);
	const parsed all(hub("") + "cluster:\n    pool: mail\n    node: a\n"
				   "    ceph-conf: /etc/ceph/other.conf\n    ceph-user: hub\n");
	CAPTURE(all.error.reason);
	REQUIRE(all.status == 0);
	CHECK(text_of(HUB_STORE, all.setup) == begin + R"(    node: "a"
    ceph-conf: "/etc/ceph/other.conf"
    ceph-user: "hub"
)" + end);
	// What others get does not tell one machine from another.
	for (const unsigned program : { HUB_SMTP, HUB_POP })
		CHECK(text_of(program, all.setup) == text_of(program, parsed(hub("")).setup));
}

TEST_CASE("POP3 has a program when it has a place, and then the store checks logins",
	  "[mail-hub][programs]")
{
	const std::string tls = "certificate: /c.pem\n";
	const auto is_wanted = [](const parsed &file) {
		CAPTURE(file.error.reason);
		REQUIRE(file.status == 0);
		return hub_programs[HUB_POP].is_wanted(&file.setup);
	};
	CHECK_FALSE(is_wanted(parsed(hub(tls))));
	CHECK(is_wanted(parsed(hub(tls + "pop3: 127.0.0.1@110\n"))));
	CHECK(is_wanted(parsed(hub(tls + "pop3s: 127.0.0.1@995\n"))));

	const auto has_logins = [](const std::string &items) {
		return text_of(HUB_STORE, parsed(hub(items)).setup).find("logins") !=
		       std::string::npos;
	};
	CHECK_FALSE(has_logins(tls));
	CHECK(has_logins(tls + "pop3s: 127.0.0.1@995\n"));
}

TEST_CASE("programs take what they get", "[mail-hub][programs]")
{
	const std::string items = GENERATE(values<std::string>({
		"",
		"user: root\nlog: error\n",
		"lmtp: [ 127.0.0.1@24, \"::1@24\", /run/lmtp ]\n",
		"zones: [ bl6.example*2, \"bl.example=127.0.0.[2..11]\" ]\n",
		"signatures: /srv/signatures\n",
		"clamd: /run/clamav/clamd.ctl\n",
		"plain-logins: yes\npop3: [ 127.0.0.1@110, \"::1@110\" ]\nuser: root\n",
		"directory: \"/srv/a b#c,d: 'e' [f]/%d\"\nrun-directory: \"/run/a b\"\n",
	}));
	CAPTURE(items);
	const parsed file(hub(items));
	CAPTURE(file.error.line, file.error.reason);
	REQUIRE(file.status == 0);

	const stored store(text_of(HUB_STORE, file.setup));
	CAPTURE(store.error.line, store.error.item, store.error.value, store.error.reason);
	REQUIRE(store.status == 0);
	CHECK(std::string(store.setup.directory) == file.setup.directory + std::string("/store"));
	CHECK(store.setup.lmtp_count == file.setup.lmtp.count);
	CHECK(store.setup.log_level == file.setup.log_level);

	const front smtp(text_of(HUB_SMTP, file.setup));
	CAPTURE(smtp.error.line, smtp.error.item, smtp.error.value, smtp.error.reason);
	REQUIRE(smtp.status == 0);
	CHECK(std::string(smtp.setup.sink.to.text) == store.setup.socket);
	CHECK(std::string(smtp.setup.trust.users) == store.setup.users);
	CHECK(smtp.setup.sink.kind == SETUP_SINK_STORE);
	CHECK(smtp.setup.front.place_count == 2);
	CHECK(smtp.setup.has_zones == (file.setup.zones.count > 0));
	CHECK(std::string(smtp.setup.scan.signatures) == file.setup.signatures);
	CHECK(std::string(smtp.setup.scan.peers[SCAN_CLAMD]) == file.setup.clamd);

	if (!hub_programs[HUB_POP].is_wanted(&file.setup))
		return;
	const pop pop3(text_of(HUB_POP, file.setup));
	CAPTURE(pop3.error.line, pop3.error.item, pop3.error.value, pop3.error.reason);
	REQUIRE(pop3.status == 0);
	CHECK(std::string(pop3.setup.store.text) == store.setup.socket);
	CHECK(std::string(pop3.setup.login.users) == "/var/lib/mail-hub/logins.mdb");
	CHECK(std::string(store.setup.users) == "/var/lib/mail-hub/users.mdb");
	CHECK(pop3.setup.pop.place_count == file.setup.pop3.count + file.setup.pop3s.count);
	CHECK(pop3.setup.login.requires_tls == !file.setup.has_plain_logins);
	CHECK(pop3.setup.pop.log_level == file.setup.log_level);
}

TEST_CASE("the longest values still fit", "[mail-hub][programs]")
{
	const std::string path = "/" + std::string(HUB_PATH_MAX - 1, 'd');
	const std::string run = "/" + std::string(HUB_RUN_MAX - 1, 'r');
	const parsed file(hub("directory: " + path + "\nrun-directory: " + run +
			      "\nmetrics: " + path + "\n"));
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(stored(text_of(HUB_STORE, file.setup)).status == 0);
	CHECK(front(text_of(HUB_SMTP, file.setup)).status == 0);
	const parsed with_pop(hub("directory: " + path + "\nrun-directory: " + run + "\nmetrics: " +
				  path + "\npop3: 127.0.0.1@110\nplain-logins: yes\n"));
	CHECK(pop(text_of(HUB_POP, with_pop.setup)).status == 0);
	CHECK(parsed(hub("directory: " + path + "d\n")).status == -EINVAL);
	CHECK(parsed(hub("run-directory: " + run + "r\n")).status == -EINVAL);
}

TEST_CASE("what is refused has a reason", "[mail-hub][setup]")
{
	CHECK(reason_of("") == "hub: \"hostname\" is not given");
	CHECK(reason_of("hub:\n    directory: /srv\n") == "hub: \"hostname\" is not given");
	CHECK(reason_of("hub:\n    hostname: \"a b\"\n") == "permitted is a domain name");
	CHECK(reason_of(hub("key: /k.pem\n")) == "hub: \"key\" needs \"certificate\"");
	CHECK(reason_of(hub("pop3s: 127.0.0.1\n")) == "hub: \"pop3s\" needs \"certificate\"");
	CHECK(reason_of(hub("pop3: 127.0.0.1\n")) ==
	      "hub: \"pop3\" needs \"certificate\", or else \"plain-logins: yes\"");
	CHECK(reason_of(hub("") + "cluster:\n    node: a\n") == "cluster: \"pool\" is not given");
	CHECK(reason_of(hub("certificate: /a:b\n")) == "permitted is a path without a colon");
	CHECK(reason_of(hub("smtp: [ 127.0.0.1, 127.0.0.1 ]\n")) == "value is given twice");
	CHECK(reason_of(hub("user: no-such-user-here\n")) == "no such user");
	for (const char *items : { "directory: /a\\b\n", "metrics: \"/a\\\"b\"\n" })
		CHECK(reason_of(hub(items)) ==
		      "permitted is text without quotes, backslashes and control bytes");
	std::string many = "smtp: [ 127.0.0.1@1";
	for (int port = 2; port <= HUB_LIST_MAX + 1; port++)
		many += ", 127.0.0.1@" + std::to_string(port);
	CHECK(reason_of(hub(many + " ]\n")) == "there are 16 values at most");
	for (const char *items :
	     { "directory: relative\n", "smtp: example.org\n", "lmtp: relative\n", "log: loud\n",
	       "plain-logins: maybe\n", "nonsense: 1\n", "smtp: 127.0.0.1@70000\n" }) {
		CAPTURE(items);
		const parsed file(hub(items));
		CHECK(file.status == -EINVAL);
		CHECK(file.error.line == 3);
	}
}

TEST_CASE("an item that only a restart changes is told from others", "[mail-hub][setup]")
{
	const parsed old(hub(""));
	const parsed other(hub("log: debug\nsmtp: 127.0.0.1\n"));
	const parsed moved(hub("directory: /elsewhere\n"));
	CHECK(conf_find_restart(&hub_setup_table, &old.setup, &other.setup) == nullptr);
	CHECK(std::string(conf_find_restart(&hub_setup_table, &old.setup, &moved.setup)) ==
	      "directory");
}

TEST_CASE("programs are found by their names", "[mail-hub][programs]")
{
	CHECK(hub_programs_find("mail-stored") == HUB_STORE);
	CHECK(hub_programs_find("smtp-front") == HUB_SMTP);
	CHECK(hub_programs_find("pop-front") == HUB_POP);
	CHECK(hub_programs_find("") == HUB_PROGRAMS);
	CHECK(hub_programs_find("mail") == HUB_PROGRAMS);
}
