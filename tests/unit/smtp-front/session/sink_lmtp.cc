// SPDX-License-Identifier: GPL-3.0-or-later
// Mail to a next hop that answers for each recipient.
#include "tests/unit/smtp-front/session/scripted_hop.hh"

#include "integration/mail/smtp-front/sinks/delivered.h"

#include <ctime>

extern unsigned sync_count; // of msync(), in delivered.cc

TEST_CASE("LMTP greets by LHLO, and all recipients are in one transaction", "[front][sink]")
{
	std::vector<std::string> two = FINE;
	two.insert(two.begin() + 4, "250 2.1.5 Ok\r\n");
	two.back() = "250 2.0.0 a\r\n250 2.0.0 b\r\n";
	scripted_hop hop({ { two, true } });
	hop_fixture sink(hop, SETUP_SINK_LMTP);
	REQUIRE((sink.mail() && sink.recipient("john@example.org")));
	REQUIRE(sink.recipient("jane@example.org"));
	CHECK(sink.data("mail\r\n"));
	CHECK_THAT(sink.told(), Catch::StartsWith("LHLO mx.example.org\r\nMAIL"));
}

TEST_CASE("a mail that comes again goes to those alone that do not have it", "[front][sink]")
{
	const std::string text = "Subject: x\r\n\r\n.mail\r\n";
	std::vector<std::string> mixed = FINE;
	mixed.insert(mixed.begin() + 4, "250 2.1.5 Ok\r\n");
	mixed.back() = "250 2.0.0 a\r\n452 4.2.2 b\r\n";
	// MAIL and both RCPTs, and RSET when that is known to be the same mail.
	std::vector<std::string> again(FINE.begin(), FINE.begin() + 4);
	again.insert(again.end(), { "250 2.1.5 Ok\r\n", "250 2.0.0 reset\r\n" });
	std::vector<std::string> both(again.begin(), again.end() - 1);
	both.insert(both.end(), { FINE[4], "250 2.0.0 a\r\n250 2.0.0 b\r\n" });
	std::vector<std::string> one = again;
	one.insert(one.end(), FINE.begin() + 2, FINE.end());
	delivered *table = nullptr;
	REQUIRE(delivered_open("", &table) == 0);
	const auto send = [&](const std::vector<std::string> &replies, const std::string &header,
			      const std::string &content, int code) {
		scripted_hop hop({ { replies, true } });
		hop_fixture sink(hop, SETUP_SINK_LMTP);
		sink_share(sink.it, nullptr, table);
		REQUIRE((sink.mail() && sink.recipient("a@example.org") &&
			 sink.recipient("b@example.org") && sink_begin(sink.it, &sink.reply)));
		REQUIRE(sink_append(sink.it, (const uint8_t *)header.data(), header.size(),
				    &sink.reply));
		sink_mark(sink.it);
		REQUIRE(sink_append(sink.it, (const uint8_t *)content.data(), content.size(),
				    &sink.reply));
		(void)sink_commit(sink.it, &sink.reply);
		CHECK(sink.reply.code == code);
		return sink.told();
	};
	send(mixed, "Received: 1\r\n", text, 452);
	SECTION("the same mail, whatever our header is")
	{
		const std::string told = send(one, "Received: 2\r\n", text, 250);
		CHECK(told.find("RSET\r\nMAIL FROM:<sender@example.net>\r\n"
				"RCPT TO:<b@example.org>\r\nDATA\r\nReceived: 2\r\n"
				"Subject: x\r\n\r\n..mail\r\n.\r\n") != std::string::npos);
	}
	SECTION("another mail of the same sender")
	{
		const std::string told = send(both, "Received: 2\r\n", text + "more\r\n", 250);
		CHECK(told.find("RSET") == std::string::npos);
		CHECK(told.find("..mail\r\nmore\r\n.\r\n") != std::string::npos);
	}
	SECTION("when all have it")
	{
		std::vector<std::string> later = one;
		later.back() = "452 4.2.2 b\r\n";
		send(later, "Received: 2\r\n", text, 452);
		send(one, "Received: 3\r\n", text, 250);
	}
	delivered_close(table);
}

TEST_CASE("of LMTP's replies to a mail the worst is told", "[front][sink]")
{
	struct answers {
		const char *replies;
		int code;
		bool is_trouble;
	};
	const auto sample =
		GENERATE(answers{ "250 2.0.0 a\r\n250 2.0.0 b\r\n250 2.0.0 c\r\n", 250, false },
			 answers{ "250 2.0.0 a\r\n550 5.2.2 b\r\n250 2.0.0 c\r\n", 550, true },
			 answers{ "550 5.2.2 a\r\n452 4.2.2 b\r\n250 2.0.0 c\r\n", 452, true },
			 answers{ "452 4.2.2 a\r\n550 5.2.2 b\r\n550 5.2.2 c\r\n", 452, false },
			 answers{ "550 5.2.2 a\r\n550 5.2.2 b\r\n550 5.2.2 c\r\n", 550, false },
			 answers{ "250 2.0.0 a\r\n250 2.0.0 b\r\n421 4.3.2 c\r\n", 451, true },
			 answers{ "250 2.0.0 a\r\n250 2.0.0 b\r\n", 451, true });
	CAPTURE(sample.replies);
	std::vector<std::string> three = FINE;
	three.insert(three.begin() + 4, 2, "250 2.1.5 Ok\r\n");
	three.back() = sample.replies;
	scripted_hop hop({ { three, false } });
	hop_fixture sink(hop, SETUP_SINK_LMTP);
	REQUIRE(sink.mail());
	for (const char *to : { "a@example.org", "b@example.org", "c@example.org" })
		REQUIRE(sink.recipient(to));
	CHECK(sink.data("mail\r\n") == (sample.code == 250));
	CHECK(sink.reply.code == sample.code);
	CHECK(sink.trouble().empty() != sample.is_trouble);
}

TEST_CASE("a recipient has a mail when each reply that may be about it says so", "[front][sink]")
{
	struct answers {
		const char *replies;
		int code;
		std::string have_it;
	};
	const auto sample = GENERATE(
		answers{ "450 4.3.0 a\r\n250 2.0.0 b\r\n250 2.0.0 c\r\n", 450, "bc" },
		// One is too many. Taken in their order, the last would be left out.
		answers{ "450 4.3.0\r\n250 2.0.0\r\n250 2.0.0\r\n450 4.3.0\r\n", 450, "b" },
		answers{ "450 4.3.0\r\n250 2.0.0\r\n250 2.0.0\r\n250 2.0.0\r\n", 450, "bc" },
		answers{ "250 2.0.0\r\n250 2.0.0\r\n250 2.0.0\r\n452 4.2.2\r\n", 452, "ab" },
		answers{ "250 2.0.0\r\n250 2.0.0\r\n250 2.0.0\r\n550 5.2.2\r\n", 550, "" },
		answers{ "250 2.0.0\r\n250 2.0.0\r\n250 2.0.0\r\n250 2.0.0\r\n", 250, "" },
		// Three are too many.
		answers{ "250 2.0.0\r\n250 2.0.0\r\n450 4.3.0\r\n250 2.0.0\r\n250 2.0.0\r\n"
			 "250 2.0.0\r\n",
			 450, "" },
		// Half a reply may be the beginning of any number.
		answers{ "250 2.0.0\r\n250 2.0.0\r\n250 2.0.0\r\n250-2.0", 451, "" },
		// The 421 of a server that ends is about no recipient.
		answers{ "250 2.0.0\r\n250 2.0.0\r\n250 2.0.0\r\n421 4.3.2\r\n", 250, "" });
	CAPTURE(sample.replies);
	delivered *table = nullptr;
	REQUIRE(delivered_open("", &table) == 0);
	std::vector<std::string> three = FINE;
	three.insert(three.begin() + 4, 2, "250 2.1.5 Ok\r\n");
	three.back() = sample.replies;
	scripted_hop hop({ { three, true }, { FINE, true } });
	hop_fixture sink(hop, SETUP_SINK_LMTP);
	sink_share(sink.it, nullptr, table);
	REQUIRE(sink.mail());
	for (const char *to : { "a@example.org", "b@example.org", "c@example.org" })
		REQUIRE(sink.recipient(to));
	CHECK(sink.data("mail\r\n") == (sample.code == 250));
	CHECK(sink.reply.code == sample.code);
	CHECK(sink.trouble().empty() == (sample.code == 250));
	std::string have_it;
	for (const char *letter : { "a", "b", "c" }) {
		const std::string to = std::string(letter) + "@example.org";
		const uint64_t key = delivered_recipient(&sink.session.facts.client_ip,
							 "sender@example.net", to.c_str());
		if (delivered_may_have(table, key, (int64_t)time(nullptr)))
			have_it += letter;
	}
	CHECK(have_it == sample.have_it);
	if (std::string(sample.replies).find("450 4.3.0 a") == std::string::npos) {
		INFO("the next mail has another connection");
		CHECK(sink.mail());
		CHECK_THAT(sink.told(), Catch::Contains("\r\nLHLO"));
	}
	delivered_close(table);
}

TEST_CASE("each of LMTP's replies to a mail has the time for the end of a mail", "[front][sink]")
{
	std::vector<std::string> two = FINE;
	two.insert(two.begin() + 4, "250 2.1.5 Ok\r\n");
	two.back() = "250 2.0.0 a\r\n";
	two.insert(two.end(), 3, ""); // reads what may still come
	scripted_hop hop({ { two, true } });
	hop_fixture sink(hop, SETUP_SINK_LMTP);
	sink.set_timeouts(3600000, 100); // an hour is longer than the test may take
	REQUIRE(sink.mail());
	for (const char *to : { "a@example.org", "b@example.org" })
		REQUIRE(sink.recipient(to));
	CHECK_FALSE(sink.data("mail\r\n"));
	CHECK(sink.reply.code == 451);
	CHECK_THAT(sink.trouble(), Catch::StartsWith("end of mail: 1 of 2 recipients have it"));
}

TEST_CASE("a mail that no recipient has waits for no disk", "[front][sink]")
{
	delivered *table = nullptr;
	REQUIRE(delivered_open("", &table) == 0);
	std::vector<std::string> two = FINE;
	two.insert(two.begin() + 4, "250 2.1.5 Ok\r\n");
	two.back() = "450 4.2.2 a\r\n450 4.2.2 b\r\n";
	scripted_hop hop({ { two, true } });
	hop_fixture sink(hop, SETUP_SINK_LMTP);
	sink_share(sink.it, nullptr, table);
	REQUIRE(sink.mail());
	for (const char *to : { "a@example.org", "b@example.org" })
		REQUIRE(sink.recipient(to));
	sync_count = 0;
	CHECK_FALSE(sink.data("mail\r\n"));
	CHECK(sink.reply.code == 450);
	CHECK(sync_count == 0);
	delivered_close(table);
}
