// SPDX-License-Identifier: GPL-3.0-or-later
// stored.conf: what is taken, and what is refused with which words.
#include "integration/mail/mail-stored/cluster/cluster_process.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "lib/common/log.h"
#include "tests/lib/manual.hh"
#include "tests/lib/parsed.hh"

#include <catch2/catch.hpp>

#include <regex>
#include <string>

namespace
{

using parsed = parsed_as<stored_setup, stored_setup_parse>;

std::string sample()
{
	return read_file("integration/mail/mail-stored/stored.conf.sample");
}

} // namespace

TEST_CASE("an empty configuration of mail-stored is complete", "[stored][setup]")
{
	const parsed file("");
	REQUIRE(file.status == 0);
	CHECK(std::string(file.setup.directory) == "/var/lib/mail-stored");
	CHECK(std::string(file.setup.socket) == "/run/mail-stored/socket");
	CHECK(file.setup.layer == STORED_LOG);
	CHECK(file.setup.size_max == 50U << 20);
	CHECK(file.setup.lmtp_count == 0);
	CHECK(file.setup.quota_messages == 0);
	CHECK(file.setup.hostname[0] != '\0');
}

TEST_CASE("stored.conf.sample has the defaults, and every item", "[stored][setup]")
{
	const parsed defaults("");
	const parsed as_it_is(sample());
	CAPTURE(as_it_is.error.line, as_it_is.error.reason);
	REQUIRE(as_it_is.status == 0);
	CHECK(memcmp(&as_it_is.setup, &defaults.setup, sizeof(defaults.setup)) == 0);

	const std::string all = std::regex_replace(sample(), std::regex("#user:.*"), "user: root");
	const parsed uncommented(std::regex_replace(
		std::regex_replace(all, std::regex("#socket-group:.*"), "socket-group: root"),
		std::regex("#((?:  - |    )?[-a-z]+: *[^ ])"), "$1"));
	CAPTURE(uncommented.error.line, uncommented.error.reason);
	REQUIRE(uncommented.status == 0);
	CHECK(uncommented.setup.lmtp_count == 2);
	CHECK(nodesetup_is_on(&uncommented.setup.nodes));
	CHECK(uncommented.setup.nodes.peer_count == 1);
	CHECK(std::string(uncommented.setup.metrics) == "/run/mail-stored/metrics.prom");
	for (size_t section = 0; section < stored_setup_table.section_count; section++) {
		const conf_section &part = stored_setup_table.sections[section];
		for (size_t i = 0; i < part.item_count; i++) {
			CAPTURE(part.items[i].name);
			CHECK(sample().find(std::string(part.items[i].name) + ": ") !=
			      std::string::npos);
			CHECK(read_file("integration/mail/mail-stored/mail-stored.8")
				      .find(std::string(".It Ic ") + part.items[i].name) !=
			      std::string::npos);
		}
	}
}

TEST_CASE("a node of a cluster has the host's name, or one of its own", "[stored][setup]")
{
	const parsed usual("stored:\n    layer: rados\n");
	const parsed named("stored:\n    layer: rados\ncluster:\n    node: b-2\n");
	const parsed wrong("stored:\n    layer: rados\ncluster:\n    node: B\n");
	const parsed lonely("stored:\n    layer: rados\ncluster:\n    users: yes\n");
	if (!cluster_process_is_built()) {
		CHECK(std::string(usual.error.reason).find("librados") != std::string::npos);
		return;
	}
	REQUIRE(named.status == 0);
	CHECK(std::string(named.setup.cluster.node) == "b-2");
	CHECK(std::string(named.setup.cluster.pool) == "mail");
	CHECK(named.setup.cluster.threads == 32);
	CHECK(named.setup.cluster.timeout_s == 10);
	CHECK(usual.setup.cluster.node[0] != '\0');
	CHECK(wrong.status == -EINVAL);
	CHECK(wrong.error.line == 4);
	CHECK(std::string(lonely.error.reason) ==
	      "cluster: \"users: yes\" needs \"users\" of section stored");
}

TEST_CASE("databases that are made of a cluster's users have no blanks in their paths",
	  "[stored][setup]")
{
	const std::string made =
		GENERATE(as<std::string>{}, "/of/users.mdb", "/of these/users.mdb");
	const std::string logins =
		GENERATE(as<std::string>{}, "/of/logins.mdb", "/of these/logins.mdb");
	const std::string uses = GENERATE(as<std::string>{}, "yes", "no");
	std::string text = "stored:\n    layer: rados\n    users: \"" + made + "\"\n";
	text += "cluster:\n    node: a\n    users: " + uses + "\n";
	if (uses == "yes")
		text += "    logins: \"" + logins + "\"\n";
	const parsed file(text);
	CAPTURE(text);
	const bool has_blank = (made + logins).find(' ') != std::string::npos;
	if (!cluster_process_is_built())
		CHECK(file.status == -EINVAL);
	else if (uses == "no" || !has_blank)
		CHECK(file.status == 0);
	else
		CHECK(std::string(file.error.reason) ==
		      "cluster: with \"users: yes\" no path of a database has blanks");
}

TEST_CASE("stored.conf is refused with the line and what is permitted", "[stored][setup]")
{
	const auto wrong =
		GENERATE(as<std::string>{}, "size: 0", "layer: heap", "socket: run/socket",
			 "collect-share: 101", "index-delay: 1", "segment-size: 1K", "clients: 0");
	const parsed file("stored:\n    " + wrong + "\n");
	CAPTURE(wrong);
	if (wrong == "index-delay: 1") {
		CHECK(file.status == 0); // a second
		return;
	}
	CHECK(file.status < 0);
	CHECK(file.error.line == 2);
	CHECK(std::string(file.error.reason).substr(0, 9) == "permitted");
}

TEST_CASE("quotas are for layers that can be asked", "[stored][setup]")
{
	const auto item =
		GENERATE(as<std::string>{}, "quota-messages: 1", "quota-octets: 1K", "keep: 1d");
	const parsed sorted("stored:\n    layer: sort\n    " + item + "\n");
	CHECK(sorted.status < 0);
	CHECK(std::string(sorted.error.reason) ==
	      "stored: quotas and \"keep\" need layer log or rados");
	const parsed logged("stored:\n    " + item + "\n");
	CHECK(logged.status == 0);
}

TEST_CASE("places for LMTP are few, and each is given once", "[stored][setup]")
{
	std::string nine = "127.0.0.1@1";
	for (int i = 2; i <= 9; i++)
		nine += ", 127.0.0.1@" + std::to_string(i);
	const parsed many("lmtp:\n    listen: [ " + nine + " ]\n");
	CHECK(std::string(many.error.reason) == "there are 8 places at most");
	const parsed twice("lmtp:\n    listen: [ /run/a, /run/a ]\n");
	CHECK(std::string(twice.error.reason) == "place is given twice");
}

TEST_CASE("mail-stored(8) has each item with its default", "[stored][setup]")
{
	manual::check_rows(stored_setup_table, stored_setup_table.section_count,
			   "integration/mail/mail-stored/mail-stored.8");
}
