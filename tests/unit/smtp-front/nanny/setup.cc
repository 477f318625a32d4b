// SPDX-License-Identifier: GPL-3.0-or-later
// front.conf: what is taken, and what is refused with which words.
#include "integration/mail/smtp-front/setup/setup.h"
#include "integration/mail/smtp-front/facts/tally.h"
#include "lib/common/log.h"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <netinet/in.h>
#include <regex>
#include <string>
#include <unistd.h>

namespace
{

using parsed = parsed_as<setup, setup_parse, setup_deinit>;

const std::string TRUST = "trust:\n    users: /var/lib/smtp-front/users.mdb\n";
const std::string SINK = "sink:\n    to: 127.0.0.1@10025\n";

std::string sample()
{
	return read_file("integration/mail/smtp-front/front.conf.sample");
}

// What has no default is said, the rest stays in its comment.
std::string sample_as_it_is()
{
	std::string text = std::regex_replace(sample(), std::regex("#users:"), "users:");
	return std::regex_replace(text, std::regex("#to:"), "to:");
}

std::string hostname_of_machine()
{
	char name[MAILSETUP_HOSTNAME_MAX + 1] = "";
	gethostname(name, MAILSETUP_HOSTNAME_MAX);
	return name;
}

} // namespace

TEST_CASE("a source of recipients and a sink are all that must be configured", "[front][setup]")
{
	const parsed file(TRUST + SINK);
	CAPTURE(file.error.reason);
	REQUIRE(file.status == 0);
	const struct setup_front &front = file.setup.front;
	CHECK(std::string(front.hostname) == hostname_of_machine());
	REQUIRE(front.place_count == 2);
	CHECK(std::string(front.places[0].text) == "0.0.0.0@25");
	CHECK(front.places[1].address.ss_family == AF_INET6);
	CHECK(file.setup.edge.edges >= 1);
	CHECK(front.workers == 100);
	CHECK(file.setup.edge.greet_pause_ms == 2000);
	CHECK(file.setup.dialogue.size_max == UINT64_C(50) << 20);
	CHECK(file.setup.tls.certificate_count == 0);
	CHECK(file.setup.tls.chains == nullptr);
	CHECK(file.setup.sink.kind == SETUP_SINK_SMTP);
	CHECK(file.setup.sink.to.address.ss_family == AF_INET);
	CHECK_FALSE(file.setup.has_zones);
}

TEST_CASE("lone LFs are accepted from all clients, or from networks that are named",
	  "[front][setup]")
{
	struct row {
		const char *limits;
		bool takes_own;
		bool takes_other;
	};
	const row tried = GENERATE(values<row>({
		{ "", false, false },
		{ "limits:\n    bare-newline: reject\n", false, false },
		{ "limits:\n    bare-newline: normalize\n", true, true },
		{ "limits:\n    bare-newline-exclusions: [ 192.0.2.0/24, 2001:db8::/32 ]\n", true,
		  false },
	}));
	CAPTURE(tried.limits);
	const parsed file(tried.limits + TRUST + SINK);
	REQUIRE(file.status == 0);
	for (const auto *own : { "192.0.2.7", "2001:db8::7" }) {
		struct dnsblv6_ip ip;
		REQUIRE(dnsblv6_ip_parse(own, &ip) == 0);
		CHECK(setup_takes_lf(&file.setup, &ip) == tried.takes_own);
	}
	struct dnsblv6_ip other;
	REQUIRE(dnsblv6_ip_parse("198.51.100.7", &other) == 0);
	CHECK(setup_takes_lf(&file.setup, &other) == tried.takes_other);
}

TEST_CASE("the sample of smtp-front has the defaults", "[front][setup]")
{
	const parsed defaults(TRUST + SINK);
	const parsed file(sample_as_it_is());
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(file.status == 0);
	const struct setup_front &front = file.setup.front;
	const struct setup_front &expected = defaults.setup.front;
	CHECK(memcmp(&file.setup.edge, &defaults.setup.edge, sizeof(file.setup.edge)) == 0);
	CHECK(memcmp(&file.setup.dialogue, &defaults.setup.dialogue, sizeof(file.setup.dialogue)) ==
	      0);
	CHECK(memcmp(&file.setup.limits, &defaults.setup.limits, sizeof(file.setup.limits)) == 0);
	CHECK(memcmp(&file.setup.trust, &defaults.setup.trust, sizeof(file.setup.trust)) == 0);
	CHECK(memcmp(&file.setup.tls, &defaults.setup.tls, sizeof(file.setup.tls)) == 0);
	CHECK(memcmp(&file.setup.sink, &defaults.setup.sink, sizeof(file.setup.sink)) == 0);
	CHECK(memcmp(&front.edge_owner, &expected.edge_owner, sizeof(front.edge_owner)) == 0);
	CHECK(front.place_count == expected.place_count);
	CHECK(std::string(front.places[1].text) == expected.places[1].text);
	CHECK(std::string(front.hostname) == expected.hostname);
	CHECK(front.workers == expected.workers);
	CHECK(front.mails_per_worker == expected.mails_per_worker);
	CHECK(front.queue_bytes == expected.queue_bytes);
	CHECK(front.log_level == expected.log_level);
	CHECK(file.setup.judge.deadline_ms == defaults.setup.judge.deadline_ms);
	CHECK(std::string(file.setup.judge.reject_text) == defaults.setup.judge.reject_text);
}

TEST_CASE("every item of the sample is one when its comment is taken away", "[front][setup]")
{
	const tmpdir directory;
	write_file(directory.file("allow"), "192.0.2.1\n");
	std::string all = std::regex_replace(sample(), std::regex("#[a-z]*-?user: .*"), "");
	all = std::regex_replace(all, std::regex("#forward:.*"), "");
	all = std::regex_replace(all, std::regex("#certificates:.*"), "");
	all = std::regex_replace(all, std::regex("#allow-file:.*"),
				 "allow-file: " + directory.file("allow"));
	const parsed file(std::regex_replace(all, std::regex("#( *[-a-z0-9]+: *[^ ])"), "$1"));
	CAPTURE(file.error.line, file.error.item, file.error.reason);
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.front.hostname) == "mx.example.org");
	CHECK(std::string(file.setup.front.metrics) == "/run/smtp-front/metrics.prom");
	CHECK(file.setup.edge.proxy.count == 1);
	CHECK(file.setup.edge.unlimited.count == 1);
	CHECK(file.setup.limits.normalized.count == 1);
	CHECK(file.setup.has_zones);
}

TEST_CASE("the sample of smtp-front has every item there is", "[front][setup]")
{
	const std::string text = sample();
	const auto *name =
		GENERATE("hostname", "listen", "user", "worker-user", "key-user", "chroot", "proxy",
			 "xclient", "prefix-ipv4", "unlimited", "bare-newline-exclusions", "tarpit",
			 "stress-timeout", "forward-cache", "certificates", "require",
			 "lmtp-recipients", "maildir", "tell", "at-capacity");
	CAPTURE(name);
	CHECK(std::regex_search(text, std::regex("\n    #?" + std::string(name) + ": ")));
}

TEST_CASE("the manual of smtp-front has every item of the sample", "[front][setup]")
{
	const std::string text = sample();
	const std::string manual = read_file("integration/mail/smtp-front/smtp-front.8");
	const std::string own = text.substr(0, text.find("\ndecision:"));
	const std::regex item("\n    #?([a-z0-9-]+): ");
	long count = 0;
	for (std::sregex_iterator at(own.begin(), own.end(), item), end; at != end; ++at) {
		const std::string name = (*at)[1];
		CAPTURE(name);
		CHECK(manual.find("\n.It Ic " + name + " :") != std::string::npos);
		count++;
	}
	size_t rows = 0;
	for (size_t i = 0; i < setup_table.section_count - 3; i++)
		rows += setup_table.sections[i].item_count;
	CHECK(static_cast<size_t>(count) == rows);
}

TEST_CASE("the manual of smtp-front has every gauge", "[front][setup]")
{
	const std::string manual = read_file("integration/mail/smtp-front/smtp-front.8");
	for (std::string name : {
#define X(number, name, sentence) name,
		     TALLY_GAUGE_MAP(X)
#undef X
	     }) {
		std::replace(name.begin(), name.end(), '-', '_');
		CAPTURE(name);
		CHECK(std::regex_search(manual, std::regex("smtp_front_" + name + "[ \n]")));
	}
}

TEST_CASE("a network has a fifth of the workers, or none are counted where connections are not",
	  "[front][setup]")
{
	const auto row = GENERATE(table<std::string, unsigned>({
		{ "", 20 },
		{ "front:\n    workers: 6\n", 2 },
		{ "front:\n    workers: 1\n", 1 },
		{ "limits:\n    connections: 0\n", 0 },
		{ "limits:\n    connections: 0\n    workers: 7\n", 7 },
		{ "limits:\n    workers: 0\n", 0 },
	}));
	const parsed file(std::get<0>(row) + TRUST + SINK);
	REQUIRE(file.status == 0);
	CHECK(file.setup.edge.network.held_max == std::get<1>(row));
}

TEST_CASE("a role without a user of its own has that of edges", "[front][setup]")
{
	const parsed one("front:\n    user: root\n" + TRUST + SINK);
	REQUIRE(one.status == 0);
	CHECK(std::string(one.setup.front.worker_owner.user) == "root");
	CHECK(std::string(one.setup.front.key_owner.user) == "root");

	const parsed two("front:\n    user: root\n    worker-user: nobody\n" + TRUST + SINK);
	REQUIRE(two.status == 0);
	CHECK(std::string(two.setup.front.worker_owner.user) == "nobody");
	CHECK(std::string(two.setup.front.key_owner.user) == "root");
}

TEST_CASE("a value of front.conf that is none is refused with its line", "[front][setup]")
{
	const auto line = GENERATE(
		as<std::string>(), "front:\n    hostname: -x", "front:\n    hostname: a..b",
		"front:\n    hostname: a_b", "front:\n    hostname: a.", "front:\n    edges: 65",
		"front:\n    workers: 0", "front:\n    workers: 1025",
		"front:\n    listen: [ 192.0.2.1, 192.0.2.1@25 ]", "front:\n    listen: localhost",
		"front:\n    user: no-such-user-here", "front:\n    chroot: empty",
		"front:\n    queue-size: 1K", "front:\n    queue-size: 1T",
		"front:\n    at-capacity: drop", "front:\n    drain: 2h",
		"front:\n    batching: 51ms", "front:\n    proxy: [ 192.0.2.0/33 ]",
		"front:\n    port: 25", "limits:\n    greet-pause: 61s",
		"limits:\n    greet-pause: soon", "limits:\n    early-talker: shout",
		"limits:\n    size: 0", "limits:\n    prefix-ipv4: 7", "limits:\n    workers: 1025",
		"limits:\n    stress-share: 101", "limits:\n    command-timeout: 0",
		"trust:\n    users: users.mdb", "trust:\n    forward: 192.0.2.1",
		"tls:\n    require: maybe", "tls:\n    certificates: [ mx.pem ]",
		"tls:\n    certificates: [ \"/a.pem:b.pem\" ]", "sink:\n    kind: pigeon",
		"sink:\n    to: 127.0.0.1", "sink:\n    tell: all",
		"sink:\n    lmtp-recipients: -1", "sink:\n    delivered: relative",
		"sink:\n    timeout: 1ms");
	CAPTURE(line);
	const parsed file(line + "\n");
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == 2);
	CHECK(file.error.reason[0] != '\0');
}

TEST_CASE("a refused time of front.conf is told what is permitted", "[front][setup]")
{
	const parsed file("limits:\n    greet-pause: 2min\n");
	REQUIRE(file.status == -EINVAL);
	CHECK(std::string(file.error.item) == "greet-pause");
	CHECK(std::string(file.error.value) == "\"2min\"");
	CHECK(std::string(file.error.reason) == "permitted are 0 to 1m, with ms, s, m, h or d");
}

TEST_CASE("values that do not go together are refused", "[front][setup]")
{
	struct row {
		std::string text;
		std::string reason;
	};
	const auto row = GENERATE_COPY(values<struct row>({
		{ TRUST, "sink: \"to\" is not given: where mails go" },
		{ SINK, "trust: neither \"users\" nor \"forward\" is given: who knows recipients" },
		{ TRUST + "    forward: 127.0.0.1@25\n" + SINK,
		  "trust: there may be \"users\" or \"forward\", not both" },
		{ TRUST + "sink:\n    kind: maildir\n    to: 127.0.0.1@25\n",
		  "sink: with kind maildir \"to\" is an absolute path" },
		{ TRUST + "sink:\n    kind: store\n    to: 127.0.0.1@25\n",
		  "sink: with kind store \"to\" is the path of mail-stored's socket" },
		{ "sink:\n    kind: postfix\n    to: 127.0.0.1@25\n",
		  "sink: with kind postfix \"to\" is the path of smtpd's pass socket" },
		{ TRUST + "sink:\n    kind: postfix\n    to: /var/spool/postfix/private/smtpd\n",
		  "trust: with sink postfix it is Postfix that asks for recipients" },
		{ TRUST + "sink:\n    kind: maildir\n    to: /var/mail\n    tell: proxy\n",
		  "sink: \"tell\" is for kinds smtp and lmtp" },
		{ TRUST + SINK + "tls:\n    require: yes\n",
		  "tls: \"require\" needs \"certificates\"" },
		{ TRUST + SINK + "limits:\n    command-timeout: 5s\n",
		  "limits: \"stress-timeout\" is longer than \"command-timeout\"" },
	}));
	CAPTURE(row.text);
	const parsed file(row.text);
	CHECK(file.status == -EINVAL);
	CHECK(file.error.line == 0);
	CHECK(std::string(file.error.reason) == row.reason);
}

TEST_CASE("with a sink null or postfix fewer items are needed", "[front][setup]")
{
	const parsed null(TRUST + "sink:\n    kind: null\n");
	CHECK(null.status == 0);
	const parsed postfix(
		"sink:\n    kind: postfix\n    to: /var/spool/postfix/private/smtpd\n");
	CHECK(postfix.status == 0);
	const parsed lmtp("trust:\n    forward: /run/dovecot/lmtp\n"
			  "sink:\n    kind: lmtp\n    to: /run/dovecot/lmtp\n");
	REQUIRE(lmtp.status == 0);
	CHECK(lmtp.setup.sink.to.address.ss_family == AF_UNIX);
}

TEST_CASE("a certificate that cannot be read refuses the file", "[front][setup]")
{
	const tmpdir directory;
	const std::string path = directory.file("mx.pem");
	const std::string tls = "tls:\n    certificates: [ " + path + " ]\n";
	const parsed none(TRUST + SINK + tls);
	CHECK(none.status == -ENOENT);
	CHECK(std::string(none.error.reason).find(path) != std::string::npos);

	write_file(path, "not a certificate\n");
	const parsed bad(TRUST + SINK + tls);
	CHECK(bad.status < 0);
	CHECK(bad.setup.tls.chains == nullptr);
}

TEST_CASE("the manual of smtp-front has each item of the table with its default", "[front][setup]")
{
	manual::check_rows(setup_table, 5, "integration/mail/smtp-front/smtp-front.8");
}
