// SPDX-License-Identifier: GPL-3.0-or-later
// Mail to a next hop that refuses it, is silent, or goes away.
#include "tests/unit/smtp-front/session/scripted_hop.hh"

#include "lib/smtp/replies.h"
#include "tests/lib/tmpdir.hh"

#include <sys/resource.h>
#include <sys/un.h>

TEST_CASE("a mail is replayed as it came, and the next hop's words are the reply", "[front][sink]")
{
	scripted_hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	CHECK(sink.deliver("Subject: x\r\n\r\n.dot\r\n..\r\nmail\r\n"));
	CHECK(sink.said() == "250 2.0.0 Ok: queued as 4711");
	CHECK(sink.trouble().empty());
	CHECK(sink.told() == "EHLO mx.example.org\r\nMAIL FROM:<sender@example.net>\r\n"
			     "RCPT TO:<john@example.org>\r\nDATA\r\n"
			     "Subject: x\r\n\r\n..dot\r\n...\r\nmail\r\n.\r\nQUIT\r\n");
}

TEST_CASE("dots are doubled wherever the pieces of a mail end", "[front][sink]")
{
	const std::string text = "..\r\n.\r\n\r\n.a.\r\n";
	scripted_hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	REQUIRE((sink.mail() && sink.recipient("john@example.org")));
	REQUIRE(sink_begin(sink.it, &sink.reply));
	for (const char &byte : text)
		REQUIRE(sink_append(sink.it, (const uint8_t *)&byte, 1, &sink.reply));
	REQUIRE(sink_commit(sink.it, &sink.reply));
	const std::string told = sink.told();
	CHECK(told.substr(told.find("DATA\r\n") + 6) == "...\r\n..\r\n\r\n..a.\r\n.\r\nQUIT\r\n");
}

TEST_CASE("an empty mail is one", "[front][sink]")
{
	scripted_hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	CHECK(sink.deliver(""));
}

TEST_CASE("a next hop that goes away at any step is a 4xx, and the next mail tries again",
	  "[front][sink]")
{
	const size_t count = GENERATE(0U, 1U, 2U, 3U, 5U);
	const bool reads_on = GENERATE(false, true);
	CAPTURE(count, reads_on);
	scripted_hop hop({ upto(count, reads_on), { FINE, true } });
	hop_fixture sink(hop);
	CHECK_FALSE(sink.deliver());
	CHECK(sink.reply.code == 451);
	CHECK(std::string(sink.reply.text).substr(0, 4) == "4.4.");
	CHECK_FALSE(sink.trouble().empty());
	sink_abort(sink.it);
	CHECK(sink.deliver());
	CHECK(sink.said() == "250 2.0.0 Ok: queued as 4711");
}

TEST_CASE("a next hop that is silent at any step is a 4xx when its time is over", "[front][sink]")
{
	const size_t count = GENERATE(0U, 1U, 2U, 3U, 4U, 5U);
	CAPTURE(count);
	script silent = upto(count, true);
	silent.replies.insert(silent.replies.end(), 3, ""); // reads what may still come
	scripted_hop hop({ silent });
	hop_fixture sink(hop);
	const unsigned hour_ms = 3600000; // longer than the test may take
	const bool is_end = count == 5;
	sink.set_timeouts(is_end ? hour_ms : 100, is_end ? 100 : hour_ms);
	CHECK_FALSE(sink.deliver());
	CHECK(sink.said().substr(0, 7) == "451 4.4");
	CHECK_THAT(sink.trouble(), Catch::EndsWith(": Connection timed out"));
}

TEST_CASE("a refusal at any step is the client's, and ends no session", "[front][sink]")
{
	const size_t step = GENERATE(2U, 3U, 4U, 5U);
	CAPTURE(step);
	script refusing = upto(step, true);
	refusing.replies.push_back("550-5.7.1 No\r\n550 5.7.1 mail\r\n");
	if (step == 3 || step == 4) /* a transaction is open: RSET */
		refusing.replies.push_back("250 2.0.0 Ok\r\n");
	refusing.replies.insert(refusing.replies.end(), FINE.begin() + 2, FINE.end());
	scripted_hop hop({ refusing });
	hop_fixture sink(hop);
	CHECK_FALSE(sink.deliver());
	CHECK(sink.said() == "550 5.7.1 No\n5.7.1 mail");
	CHECK(sink.trouble().empty());
	CHECK(sink.deliver());
}

TEST_CASE("421 becomes 451: it is not our session that ends", "[front][sink]")
{
	const size_t step = GENERATE(2U, 3U, 4U, 5U);
	CAPTURE(step);
	script refusing = upto(step, false);
	refusing.replies.push_back("421 4.3.2 Shutting down\r\n");
	std::vector<script> scripts = { refusing, { FINE, true } };
	if (step == 4) // to DATA: it is asked twice
		scripts.insert(scripts.begin(), refusing);
	scripted_hop hop(scripts);
	hop_fixture sink(hop);
	CHECK_FALSE(sink.deliver());
	CHECK(sink.said() == "451 4.3.2 Shutting down");
	CHECK(sink.deliver());
}

TEST_CASE("a next hop that does not want us is out of reach, whatever it says", "[front][sink]")
{
	const std::string greeting = GENERATE("554 5.7.1 Go away\r\n", "421 Busy\r\n", "Hello\r\n",
					      "220-a\r\n", "2200 x\r\n");
	CAPTURE(greeting);
	scripted_hop hop({ { { greeting }, false } });
	hop_fixture sink(hop);
	CHECK_FALSE(sink.mail());
	CHECK(sink.reply.code == 451);
	CHECK_THAT(sink.trouble(), Catch::StartsWith("greeting: "));
}

TEST_CASE("a mail is 451 when the next hop does not listen", "[front][sink]")
{
	scripted_hop hop({});
	hop_fixture sink(hop);
	hop.told();
	CHECK_FALSE(sink.mail());
	CHECK(sink.said() == "451 4.4.1 Mail system is out of reach; try again later");
	CHECK(sink.trouble() == "connect: Connection refused");
}

TEST_CASE("a path whose backlog is full is tried until its time is over", "[front][sink]")
{
	tmpdir directory;
	struct sockaddr_un address = {};
	address.sun_family = AF_UNIX;
	directory.file("hop").copy(address.sun_path, sizeof(address.sun_path) - 1);
	const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int before = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	REQUIRE(listen(listener, 0) == 0);
	REQUIRE(connect(before, (struct sockaddr *)&address, sizeof(address)) == 0);
	setup_sink setup = {};
	setup.kind = SETUP_SINK_LMTP;
	std::memcpy(&setup.to.address, &address, sizeof(address));
	setup.to.address_size = sizeof(address);
	remote remote = {};
	const char *step = nullptr;
	sink_reply said = {};
	remote_init(&remote);
	SECTION("in vain")
	{
		setup.connect_timeout_ms = 30;
		CHECK(remote_open(&remote, &setup, "mx.example.org", nullptr, &step, &said) ==
		      -ETIMEDOUT);
		CHECK(std::string(step) == "connect");
	}
	SECTION("until there is room")
	{
		setup.connect_timeout_ms = setup.timeout_ms = 20000;
		std::thread server([&] {
			// Its backlog has room while the second is being tried.
			usleep(20000);
			close(accept(listener, nullptr, nullptr));
			const int fd = accept(listener, nullptr, nullptr);
			char line[64] = "";
			send(fd, FINE[0].data(), FINE[0].size(), MSG_NOSIGNAL);
			if (recv(fd, line, sizeof(line), 0) > 0)
				send(fd, EHLO.data(), EHLO.size(), MSG_NOSIGNAL);
			close(fd);
		});
		CHECK(remote_open(&remote, &setup, "mx.example.org", nullptr, &step, &said) == 0);
		shutdown(listener, SHUT_RDWR);
		server.join();
	}
	remote_close(&remote);
	close(before);
	close(listener);
}

TEST_CASE("what is wrong here says nothing of the next hop", "[front][sink]")
{
	scripted_hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	hopstate *state = nullptr;
	REQUIRE(hopstate_open(&state) == 0);
	sink_share(sink.it, state, nullptr);
	struct rlimit old = {};
	getrlimit(RLIMIT_NOFILE, &old);
	const struct rlimit none = { 0, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	const bool is_taken = sink.mail();
	setrlimit(RLIMIT_NOFILE, &old);
	uint64_t down_ms = 0;
	CHECK_FALSE(is_taken);
	CHECK(sink.reply.code == 451);
	CHECK(sink_news(sink.it, &down_ms) == SINK_NEWS_NONE);
	CHECK_FALSE(hopstate_is_down(state));
	CHECK(sink.trouble() == "connect: Too many open files");
	CHECK(sink.deliver());
	sink_share(sink.it, nullptr, nullptr);
	hopstate_close(state);
}

TEST_CASE("a next hop that refuses the client's HELO is there again", "[front][sink]")
{
	script refusing = upto(2, true);
	refusing.replies.emplace_back("220 hop\r\n");
	refusing.replies.emplace_back("550 5.7.1 Bad HELO\r\n");
	refusing.replies.emplace_back("550 5.7.1 Bad HELO\r\n");
	scripted_hop hop({ refusing });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
	hopstate *state = nullptr;
	uint64_t down_ms = 0;
	REQUIRE(hopstate_open(&state) == 0);
	sink_share(sink.it, state, nullptr);
	REQUIRE(hopstate_failed(state, 1, false));
	CHECK_FALSE(sink.mail());
	CHECK(sink.said() == "550 5.7.1 Bad HELO");
	CHECK(sink_news(sink.it, &down_ms) == SINK_NEWS_UP);
	CHECK_FALSE(hopstate_is_down(state));
	sink_share(sink.it, nullptr, nullptr);
	hopstate_close(state);
}

TEST_CASE("a next hop that hangs up before its greeting is tried again in a moment",
	  "[front][sink]")
{
	scripted_hop hop({ upto(0, false) });
	hop_fixture sink(hop);
	hopstate *state = nullptr;
	REQUIRE(hopstate_open(&state) == 0);
	sink_share(sink.it, state, nullptr);
	REQUIRE(hopstate_failed(state, 1, true));
	CHECK_FALSE(sink.mail());
	CHECK(hopstate_is_down(state));
	// Not when the time of the attempt would have been over, which is 40 s.
	const uint64_t soon_ms = (uint64_t)stream_deadline(HOPSTATE_PAUSE_MS);
	CHECK(hopstate_may_connect(state, soon_ms, 40000));
	sink_share(sink.it, nullptr, nullptr);
	hopstate_close(state);
}

TEST_CASE("a reply without an enhanced code gets one", "[front][sink]")
{
	scripted_hop hop({ { { "220 hop\r\n", EHLO, "250 2.1.0 Ok\r\n", "250 fine\r\n",
			       "354 Go\r\n", "554 2.0.0 confused\r\n" },
			     false } });
	hop_fixture sink(hop);
	REQUIRE((sink.mail() && sink.recipient("john@example.org")));
	CHECK(sink.said() == "250 2.0.0 fine");
	CHECK_FALSE(sink.data("mail\r\n"));
	CHECK(sink.said() == "554 5.0.0 2.0.0 confused");
}

TEST_CASE("a reply without an end is a failure, a long one is cut", "[front][sink]")
{
	const std::string line = "250-" + std::string(1000, 'x') + "\r\n";
	std::string reply = line;
	SECTION("of a hundred lines")
	{
		for (int i = 0; i < 200; i++)
			reply += "250-x\r\n";
		scripted_hop hop({ { { "220 hop\r\n", EHLO, reply }, false } });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.said().substr(0, 9) == "451 4.4.2");
	}
	SECTION("of one line")
	{
		scripted_hop hop({ { { "220 hop\r\n", EHLO, std::string(5000, '2') }, false } });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.said().substr(0, 9) == "451 4.4.2");
	}
	SECTION("of one line that comes at once")
	{
		const std::string longest = "250 " + std::string(REPLIES_LINE_MAX, 'x') + "\r\n";
		scripted_hop hop({ { { "220 hop\r\n", EHLO, longest }, false } });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.said().substr(0, 9) == "451 4.4.2");
	}
	SECTION("of two lines, one of them long")
	{
		scripted_hop hop({ { { "220 hop\r\n", EHLO, line + "250 Ok\r\n" }, true } });
		hop_fixture sink(hop);
		CHECK(sink.mail());
		CHECK(std::strlen(sink.reply.text) <= SINK_TEXT_MAX);
	}
}

TEST_CASE("what is no reply, or two, takes no mail", "[front][sink]")
{
	using namespace std::string_literals;
	std::vector<std::string> lying = FINE;
	lying[5] = GENERATE("550-5.7.1 No\r\n250 2.0.0 Ok\r\n"s,
			    "250-2.0.0 Ok\r\n550 5.7.1 No\r\n"s, "250\0Ok\r\n"s);
	CAPTURE(lying[5]);
	scripted_hop hop({ { lying, false } });
	hop_fixture sink(hop);
	CHECK_FALSE(sink.deliver());
	CHECK(sink.said().substr(0, 9) == "451 4.4.2");
}

TEST_CASE("a session's second mail has the same connection", "[front][sink]")
{
	script two = { FINE, true };
	two.replies.insert(two.replies.end(), FINE.begin() + 2, FINE.end());
	scripted_hop hop({ two });
	hop_fixture sink(hop);
	CHECK(sink.deliver());
	CHECK(sink.deliver());
	CHECK(sink.trouble().empty());
}

TEST_CASE("a next hop that answers twice is left, and not believed", "[front][sink]")
{
	script twice = { FINE, true };
	SECTION("behind a mail")
	{
		twice.replies[5] += "250 2.0.0 Ok\r\n";
		scripted_hop hop({ twice, { FINE, true } });
		hop_fixture sink(hop);
		CHECK(sink.deliver());
		CHECK(sink.deliver());
		CHECK(sink.trouble().empty());
		CHECK(sink.told().rfind("EHLO") > 0); // another connection
	}
	SECTION("behind a mail, with a refusal: either may be about the mail")
	{
		twice.replies[5] += "452 4.3.1 Disk full\r\n";
		scripted_hop hop({ twice, { FINE, true } });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.deliver());
		CHECK(sink.said() == "452 4.3.1 Disk full");
		CHECK(sink.trouble() ==
		      "end of mail: 2 replies instead of 1, the client hears 452");
		CHECK(sink.deliver());
	}
	SECTION("when it greets: the second is not about EHLO")
	{
		twice.replies[0] += EHLO;
		scripted_hop hop({ twice });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.trouble() == "EHLO: Protocol error");
	}
	SECTION("to MAIL: the second is not about the recipient")
	{
		twice.replies[2] += "250 2.1.0 Ok\r\n";
		scripted_hop hop({ twice });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.deliver());
		CHECK(sink.reply.code == 451);
	}
	SECTION("to DATA: the second is not about the mail")
	{
		twice.replies[4] += "250 2.0.0 Ok\r\n";
		scripted_hop hop({ twice });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.deliver());
		CHECK(sink.reply.code == 451);
		CHECK(sink.told().find("\r\n.\r\n") == std::string::npos);
	}
}

TEST_CASE("a mail that is refused before its end is refused in those words", "[front][sink]")
{
	script early = { FINE, true };
	early.replies[4] += "552 5.3.4 Too large\r\n";
	scripted_hop hop({ early, { FINE, true } });
	hop_fixture sink(hop);
	CHECK_FALSE(sink.deliver());
	CHECK(sink.said() == "552 5.3.4 Too large");
	CHECK(sink.deliver());
}

TEST_CASE("a next hop that refuses amid a mail and goes away is heard", "[front][sink]")
{
	static const struct {
		const char *last_words;
		const char *said;
		bool is_trouble;
	} hops[] = {
		{ "552 5.3.4 Too large\r\n", "552 5.3.4 Too large", false },
		{ "452 4.3.1 Disk full\r\n", "452 4.3.1 Disk full", false },
		{ "421 4.3.2 Shutting down\r\n", "451 4.3.2 Shutting down", false },
		{ "250 2.0.0 Ok\r\n", "451 4.4.2 Mail system went away; try again later", true },
		{ "552 5.3.4 Too", "451 4.4.2 Mail system went away; try again later", true },
		{ "", "451 4.4.2 Mail system went away; try again later", true },
	};
	const std::string block(16384, 'x');
	for (const auto &how : hops) {
		script early = upto(5, false);
		early.replies[4] += how.last_words;
		scripted_hop hop({ early, { FINE, true } });
		hop_fixture sink(hop);
		REQUIRE((sink.mail() && sink.recipient("john@example.org")));
		REQUIRE(sink_begin(sink.it, &sink.reply));
		// Until the system knows that nobody reads it.
		while (sink_append(sink.it, (const uint8_t *)block.data(), block.size(),
				   &sink.reply))
			;
		CHECK(sink.said() == how.said);
		CHECK(sink.trouble().empty() != how.is_trouble);
		CHECK(sink.deliver());
	}
}

TEST_CASE("a connection whose RSET is refused has no second mail", "[front][sink]")
{
	script stuck = upto(4, true);
	stuck.replies.emplace_back("502 5.5.1 What?\r\n");
	scripted_hop hop({ stuck, { FINE, true } });
	hop_fixture sink(hop);
	REQUIRE((sink.mail() && sink.recipient("john@example.org")));
	CHECK(sink.deliver());
}

TEST_CASE("a connection that was closed between two mails is made anew", "[front][sink]")
{
	scripted_hop hop({ { FINE, GENERATE(false, true) }, { FINE, true } });
	hop_fixture sink(hop);
	CHECK(sink.deliver());
	CHECK(sink.deliver());
	CHECK(sink.trouble().empty());
}

TEST_CASE("a connection that was closed before DATA is made anew, and the mail named again",
	  "[front][sink]")
{
	const setup_sink_kind kind = GENERATE(SETUP_SINK_SMTP, SETUP_SINK_LMTP);
	const std::string last_words = GENERATE("", "421 4.4.2 Idle for too long\r\n");
	std::vector<std::string> two(FINE);
	two.insert(two.begin() + 4, "550 5.1.1 No\r\n");
	two.insert(two.begin() + 4, "250 2.1.5 Ok\r\n");
	script idle = { { two.begin(), two.begin() + 6 }, false };
	idle.replies.back() += last_words;
	two.erase(two.begin() + 5);
	if (kind == SETUP_SINK_LMTP)
		two.back() += "250 2.0.0 Ok\r\n";
	const auto begin = [](hop_fixture &sink) {
		REQUIRE((sink.mail() && sink.recipient("a@example.org") &&
			 sink.recipient("b@example.org")));
		REQUIRE_FALSE(sink.recipient("c@example.org"));
	};
	SECTION("and takes it")
	{
		scripted_hop hop({ idle, { two, true } });
		hop_fixture sink(hop, kind);
		begin(sink);
		CHECK(sink.data("mail\r\n"));
		CHECK(sink.said() == "250 2.0.0 Ok: queued as 4711");
		CHECK(sink.trouble().empty());
		const std::string told = sink.told();
		CHECK(told.substr(told.rfind("MAIL")) ==
		      "MAIL FROM:<sender@example.net>\r\nRCPT TO:<a@example.org>\r\n"
		      "RCPT TO:<b@example.org>\r\nDATA\r\nmail\r\n.\r\nQUIT\r\n");
	}
	SECTION("once")
	{
		two.resize(5);
		scripted_hop hop({ idle, { two, false } });
		hop_fixture sink(hop, kind);
		begin(sink);
		CHECK_FALSE(sink.data("mail\r\n"));
		CHECK(sink.reply.code == 451);
		CHECK_THAT(sink.trouble(), Catch::StartsWith("DATA: "));
	}
	SECTION("and refuses for good what it has taken before")
	{
		const size_t step = GENERATE(2U, 4U);
		two[step] = "550 5.1.1 Not any more\r\n";
		two[step + 1] = "250 2.0.0 Reset\r\n";
		scripted_hop hop({ idle, { two, true } });
		hop_fixture sink(hop, kind);
		begin(sink);
		CHECK_FALSE(sink.data("mail\r\n"));
		CHECK(sink.said() == "451 4.4.2 Mail system went away; try again later");
		CHECK(sink.trouble() == "mail named again: 550 5.1.1 Not any more");
	}
}

TEST_CASE("a 421 that DATA has met on its way is no reply to it, and the mail is named again",
	  "[front][sink]")
{
	script idle = upto(4, false);
	idle.replies.emplace_back("421 4.4.2 Idle for too long\r\n");
	scripted_hop hop({ idle, { FINE, true } });
	hop_fixture sink(hop, GENERATE(SETUP_SINK_SMTP, SETUP_SINK_LMTP));
	CHECK(sink.deliver());
	CHECK(sink.said() == "250 2.0.0 Ok: queued as 4711");
	CHECK(sink.trouble().empty());
	const std::string told = sink.told();
	CHECK(told.substr(told.rfind("MAIL")) ==
	      "MAIL FROM:<sender@example.net>\r\nRCPT TO:<john@example.org>\r\nDATA\r\n"
	      "mail\r\n.\r\nQUIT\r\n");
}

TEST_CASE("an aborted mail is reset before the dot, and hung up on within the data",
	  "[front][sink]")
{
	scripted_hop hop({ upto(5, true), { FINE, true } });
	hop_fixture sink(hop);
	REQUIRE((sink.mail() && sink.recipient("john@example.org")));
	REQUIRE(sink_begin(sink.it, &sink.reply));
	REQUIRE(sink_append(sink.it, (const uint8_t *)"half\r\n", 6, &sink.reply));
	sink_abort(sink.it);
	CHECK(sink.deliver());
	const std::string told = sink.told();
	CHECK(told.find("half\r\n.\r\n") == std::string::npos);
	CHECK(told.find("half\r\nRSET") == std::string::npos);
	CHECK(told.find("half\r\nQUIT") == std::string::npos);
}

TEST_CASE("the postmaster without a domain gets one where it is wanted", "[front][sink]")
{
	std::vector<std::string> wanting = FINE;
	wanting.insert(wanting.begin() + 3, "550 5.1.1 No domain\r\n");
	scripted_hop hop({ { wanting, true } });
	hop_fixture sink(hop);
	REQUIRE(sink.mail());
	CHECK(sink.recipient("postmaster"));
	CHECK(sink.data("mail\r\n"));
	CHECK(sink.told().find("RCPT TO:<postmaster>\r\nRCPT TO:<postmaster@mx.example.org>\r\n") !=
	      std::string::npos);
}
