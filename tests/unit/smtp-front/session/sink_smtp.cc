// SPDX-License-Identifier: GPL-3.0-or-later
// Mail to a next hop that says what the test has it say, and goes away when the test wants.
#include "integration/mail/smtp-front/sinks/remote_smtp.h"
#include "integration/mail/smtp-front/sinks/sink.h"
#include "lib/smtp/replies.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace
{

// What it says, in order: the greeting first, then one for each command, and for the mail itself.
// Behind the last one it hangs up: at once, or when it has read what it will not answer.
struct script {
	std::vector<std::string> replies;
	bool reads_on = false;
	size_t header_size = 0; // of bytes before the greeting
};

const std::string EHLO = "250-hop.example\r\n250-SIZE 1000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n"
			 "250-DSN\r\n250-XCLIENT NAME ADDR PORT PROTO HELO\r\n250 PIPELINING\r\n";

class hop
{
      public:
	explicit hop(std::vector<script> scripts) : scripts_(std::move(scripts))
	{
		listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		socklen_t size = sizeof(address);
		REQUIRE(bind(listener_, (struct sockaddr *)&address, sizeof(address)) == 0);
		REQUIRE(getsockname(listener_, (struct sockaddr *)&address, &size) == 0);
		REQUIRE(listen(listener_, 8) == 0);
		thread_ = std::thread([this] { serve(); });
	}
	~hop()
	{
		end();
	}
	hop(const hop &) = delete;
	hop &operator=(const hop &) = delete;

	// All that it was told, once there is no connection any more.
	std::string told()
	{
		end();
		return told_;
	}

	struct sockaddr_in address = {};

      private:
	void end()
	{
		if (!thread_.joinable())
			return;
		shutdown(listener_, SHUT_RDWR); // accept() returns
		thread_.join();
		close(listener_);
	}

	void serve()
	{
		for (const script &script : scripts_) {
			const int fd = accept(listener_, nullptr, nullptr);
			if (fd < 0)
				return;
			follow(fd, script);
			close(fd);
		}
	}

	void follow(int fd, const script &script)
	{
		std::string header(script.header_size, '\0');
		if (script.header_size > 0 &&
		    recv(fd, header.data(), header.size(), MSG_WAITALL) != (ssize_t)header.size())
			return;
		told_ += header;
		for (size_t i = 0; i < script.replies.size(); i++) {
			const std::string &reply = script.replies[i];
			if (send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) < 0)
				return;
			const bool is_last = i + 1 == script.replies.size();
			if (is_last && !script.reads_on)
				return;
			if (!read_until(fd, reply.substr(0, 3) == "354" ? "\r\n.\r\n" : "\r\n"))
				return;
		}
	}

	bool read_until(int fd, const std::string &end)
	{
		std::string text;
		char byte = 0;
		while (text.size() < end.size() ||
		       text.compare(text.size() - end.size(), end.size(), end) != 0) {
			// The mail "." ends at its first line.
			if (end.size() > 2 && text == ".\r\n")
				break;
			if (recv(fd, &byte, 1, 0) != 1) {
				told_ += text;
				return false;
			}
			text += byte;
		}
		told_ += text;
		return true;
	}

	std::vector<script> scripts_;
	std::string told_;
	int listener_ = -1;
	std::thread thread_;
};

class hop_fixture
{
      public:
	explicit hop_fixture(hop &hop, setup_sink_kind kind = SETUP_SINK_SMTP,
			     setup_tell tell = SETUP_TELL_NONE)
	    : hop_(hop)
	{
		setup_.kind = kind;
		setup_.tell = tell;
		setup_.timeout_ms = setup_.connect_timeout_ms = 20000;
		std::memcpy(&setup_.to.address, &hop.address, sizeof(hop.address));
		setup_.to.address_size = sizeof(hop.address);
		REQUIRE(sink_open(&setup_, "mx.example.org", &it) == 0);
		REQUIRE(dnsblv6_ip_parse("192.0.2.7", &session.facts.client_ip) == 0);
		REQUIRE(dnsblv6_ip_parse("198.51.100.25", &session.facts.local_ip) == 0);
		session.facts.client_port = 40112;
		session.facts.local_port = 25;
		session.helo = "mail.example.net";
		session.is_esmtp = true;
		sink_enter(it, &session);
	}
	~hop_fixture()
	{
		sink_close(it);
	}
	hop_fixture(const hop_fixture &) = delete;
	hop_fixture &operator=(const hop_fixture &) = delete;

	bool mail(const envelope &envelope)
	{
		return sink_mail(it, &envelope, &reply);
	}
	bool mail(const char *sender = "sender@example.net")
	{
		envelope envelope = {};
		std::strcpy(envelope.sender, sender);
		return mail(envelope);
	}
	bool recipient(const char *address)
	{
		struct recipient recipient = {};
		std::strcpy(recipient.address, address);
		return sink_recipient(it, &recipient, nullptr, &reply);
	}
	bool data(const std::string &text)
	{
		return sink_begin(it, &reply) &&
		       sink_append(it, (const uint8_t *)text.data(), text.size(), &reply) &&
		       sink_commit(it, &reply);
	}
	bool deliver(const std::string &text = "mail\r\n")
	{
		return mail() && recipient("john@example.org") && data(text);
	}
	void set_timeout(unsigned timeout_ms)
	{
		setup_.timeout_ms = setup_.connect_timeout_ms = timeout_ms;
	}
	// All that the next hop was told, once the session has ended.
	std::string told()
	{
		sink_leave(it);
		return hop_.told();
	}
	std::string said() const
	{
		return std::to_string(reply.code) + " " + reply.text;
	}
	std::string trouble()
	{
		char text[SINK_TROUBLE_MAX];
		sink_trouble(it, text);
		return text;
	}

	sink *it = nullptr;
	sink_session session = {};
	sink_reply reply = {};

      private:
	hop &hop_;
	setup_sink setup_ = {};
};

const std::vector<std::string> FINE = { "220 hop\r\n",	    EHLO,
					"250 2.1.0 Ok\r\n", "250 2.1.5 Ok\r\n",
					"354 Go\r\n",	    "250 2.0.0 Ok: queued as 4711\r\n" };

script upto(size_t count, bool reads_on)
{
	return { { FINE.begin(), FINE.begin() + (std::ptrdiff_t)count }, reads_on };
}

} // namespace

TEST_CASE("a mail is replayed as it came, and the next hop's words are the reply", "[front][sink]")
{
	hop hop({ { FINE, true } });
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
	hop hop({ { FINE, true } });
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
	hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	CHECK(sink.deliver(""));
}

TEST_CASE("a next hop that goes away at any step is a 4xx, and the next mail tries again",
	  "[front][sink]")
{
	const size_t count = GENERATE(0U, 1U, 2U, 3U, 5U);
	const bool reads_on = GENERATE(false, true);
	CAPTURE(count, reads_on);
	hop hop({ upto(count, reads_on), { FINE, true } });
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
	hop hop({ silent });
	hop_fixture sink(hop);
	sink.set_timeout(100);
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
	hop hop({ refusing });
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
	hop hop(scripts);
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
	hop hop({ { { greeting }, false } });
	hop_fixture sink(hop);
	CHECK_FALSE(sink.mail());
	CHECK(sink.reply.code == 451);
	CHECK_THAT(sink.trouble(), Catch::StartsWith("greeting: "));
}

TEST_CASE("a mail is 451 when the next hop does not listen", "[front][sink]")
{
	hop hop({});
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
	hop hop({ { FINE, true } });
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
	hop hop({ refusing });
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
	hop hop({ upto(0, false) });
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
	hop hop({ { { "220 hop\r\n", EHLO, "250 2.1.0 Ok\r\n", "250 fine\r\n", "354 Go\r\n",
		      "554 2.0.0 confused\r\n" },
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
		hop hop({ { { "220 hop\r\n", EHLO, reply }, false } });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.said().substr(0, 9) == "451 4.4.2");
	}
	SECTION("of one line")
	{
		hop hop({ { { "220 hop\r\n", EHLO, std::string(5000, '2') }, false } });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.said().substr(0, 9) == "451 4.4.2");
	}
	SECTION("of one line that comes at once")
	{
		const std::string longest = "250 " + std::string(REPLIES_LINE_MAX, 'x') + "\r\n";
		hop hop({ { { "220 hop\r\n", EHLO, longest }, false } });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.said().substr(0, 9) == "451 4.4.2");
	}
	SECTION("of two lines, one of them long")
	{
		hop hop({ { { "220 hop\r\n", EHLO, line + "250 Ok\r\n" }, true } });
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
	hop hop({ { lying, false } });
	hop_fixture sink(hop);
	CHECK_FALSE(sink.deliver());
	CHECK(sink.said().substr(0, 9) == "451 4.4.2");
}

TEST_CASE("a session's second mail has the same connection", "[front][sink]")
{
	script two = { FINE, true };
	two.replies.insert(two.replies.end(), FINE.begin() + 2, FINE.end());
	hop hop({ two });
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
		hop hop({ twice, { FINE, true } });
		hop_fixture sink(hop);
		CHECK(sink.deliver());
		CHECK(sink.deliver());
		CHECK(sink.trouble().empty());
		CHECK(sink.told().rfind("EHLO") > 0); // another connection
	}
	SECTION("when it greets: the second is not about EHLO")
	{
		twice.replies[0] += EHLO;
		hop hop({ twice });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.mail());
		CHECK(sink.trouble() == "EHLO: Protocol error");
	}
	SECTION("to MAIL: the second is not about the recipient")
	{
		twice.replies[2] += "250 2.1.0 Ok\r\n";
		hop hop({ twice });
		hop_fixture sink(hop);
		CHECK_FALSE(sink.deliver());
		CHECK(sink.reply.code == 451);
	}
	SECTION("to DATA: the second is not about the mail")
	{
		twice.replies[4] += "250 2.0.0 Ok\r\n";
		hop hop({ twice });
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
	hop hop({ early, { FINE, true } });
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
		hop hop({ early, { FINE, true } });
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
	hop hop({ stuck, { FINE, true } });
	hop_fixture sink(hop);
	REQUIRE((sink.mail() && sink.recipient("john@example.org")));
	CHECK(sink.deliver());
}

TEST_CASE("a connection that was closed between two mails is made anew", "[front][sink]")
{
	hop hop({ { FINE, GENERATE(false, true) }, { FINE, true } });
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
		hop hop({ idle, { two, true } });
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
		hop hop({ idle, { two, false } });
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
		hop hop({ idle, { two, true } });
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
	hop hop({ idle, { FINE, true } });
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
	hop hop({ upto(5, true), { FINE, true } });
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

TEST_CASE("parameters of MAIL and RCPT are passed on where the next hop offers them",
	  "[front][sink]")
{
	hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	std::strcpy(envelope.sender, "s\xc3\xa4nder@example.net");
	envelope.size_bytes = 1234;
	envelope.body = ENVELOPE_8BITMIME;
	envelope.is_utf8 = true;
	envelope.ret = ENVELOPE_RET_HDRS;
	std::strcpy(envelope.envid, "QQ+2B");
	struct recipient recipient = {};
	std::strcpy(recipient.address, "john@example.org");
	recipient.notify = ENVELOPE_NOTIFY_SUCCESS | ENVELOPE_NOTIFY_DELAY;
	std::strcpy(recipient.orcpt, "rfc822;john+2B@example.org");
	REQUIRE(sink.mail(envelope));
	REQUIRE(sink_recipient(sink.it, &recipient, nullptr, &sink.reply));
	REQUIRE(sink.data("mail\r\n"));
	const std::string told = sink.told();
	CHECK(told.find("MAIL FROM:<s\xc3\xa4nder@example.net> SIZE=1234 BODY=8BITMIME SMTPUTF8"
			" RET=HDRS ENVID=QQ+2B\r\n") != std::string::npos);
	CHECK(told.find("RCPT TO:<john@example.org> NOTIFY=SUCCESS,DELAY"
			" ORCPT=rfc822;john+2B@example.org\r\n") != std::string::npos);
}

TEST_CASE("the longest envelope is replayed whole", "[front][sink]")
{
	hop hop({ { FINE, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	std::memset(envelope.sender, 's', ENVELOPE_ADDRESS_MAX);
	envelope.size_bytes = UINT64_MAX;
	envelope.body = ENVELOPE_8BITMIME;
	envelope.is_utf8 = true;
	envelope.ret = ENVELOPE_RET_FULL;
	std::memset(envelope.envid, 'e', ENVELOPE_ENVID_MAX);
	struct recipient recipient = {};
	std::memset(recipient.address, 'r', ENVELOPE_ADDRESS_MAX);
	recipient.notify = ENVELOPE_NOTIFY_ALL;
	std::memset(recipient.orcpt, 'o', ENVELOPE_ORCPT_MAX);
	REQUIRE(sink.mail(envelope));
	REQUIRE(sink_recipient(sink.it, &recipient, nullptr, &sink.reply));
	REQUIRE(sink.data("mail\r\n"));
	const std::string told = sink.told();
	CHECK(told.find(" ENVID=" + std::string(ENVELOPE_ENVID_MAX, 'e') + "\r\n") !=
	      std::string::npos);
	CHECK(told.find("NOTIFY=NEVER,SUCCESS,FAILURE,DELAY ORCPT=" +
			std::string(ENVELOPE_ORCPT_MAX, 'o') + "\r\n") != std::string::npos);
}

TEST_CASE("a missing offer refuses a mail that needs it, else the parameter is left out",
	  "[front][sink]")
{
	std::vector<std::string> plain = FINE;
	plain[1] = "250 hop.example\r\n";
	hop hop({ { plain, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	envelope.body = ENVELOPE_8BITMIME;
	CHECK_FALSE(sink.mail(envelope));
	CHECK(sink.said().substr(0, 9) == "554 5.6.3");
	envelope.body = ENVELOPE_7BIT;
	envelope.is_utf8 = true;
	CHECK_FALSE(sink.mail(envelope));
	CHECK(sink.said().substr(0, 9) == "550 5.6.7");
	envelope.is_utf8 = false;
	envelope.size_bytes = 1234;
	envelope.ret = ENVELOPE_RET_FULL;
	CHECK(sink.mail(envelope));
	CHECK(sink.told().find("MAIL FROM:<>\r\n") != std::string::npos);
}

TEST_CASE("a server that knows no EHLO is told HELO", "[front][sink]")
{
	std::vector<std::string> old = FINE;
	old[1] = "502 What?\r\n";
	old.insert(old.begin() + 2, "250 hop\r\n");
	hop hop({ { old, true } });
	hop_fixture sink(hop);
	CHECK(sink.deliver());
	CHECK(sink.told().find("HELO mx.example.org\r\nMAIL") != std::string::npos);
}

TEST_CASE("a server that refuses EHLO offers nothing, whatever it says", "[front][sink]")
{
	std::vector<std::string> old = FINE;
	old[1] = "502-What?\r\n502-SMTPUTF8\r\n502 Really?\r\n";
	old.insert(old.begin() + 2, "250 hop\r\n");
	hop hop({ { old, true } });
	hop_fixture sink(hop);
	envelope envelope = {};
	envelope.is_utf8 = true;
	CHECK_FALSE(sink.mail(envelope));
	CHECK(sink.said().substr(0, 9) == "550 5.6.7");
}

// ---- who the client is ----

TEST_CASE("XCLIENT tells what is offered in one command, and the client's EHLO follows it",
	  "[front][sink]")
{
	std::vector<std::string> telling = { "220 hop\r\n", EHLO, "220 hop\r\n", EHLO };
	telling.insert(telling.end(), FINE.begin() + 2, FINE.end());
	hop hop({ { telling, true } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
	REQUIRE(dnsblv6_ip_parse("2001:db8::7", &sink.session.facts.client_ip) == 0);
	sink.session.helo = "a=b+\xc3\xa4";
	CHECK(sink.deliver());
	CHECK(sink.trouble().empty());
	CHECK(sink.told().find("EHLO mx.example.org\r\n"
			       "XCLIENT PORT=40112 PROTO=ESMTP HELO=a+3Db+2B+C3+A4"
			       " NAME=[UNAVAILABLE] ADDR=IPV6:2001:db8::7\r\n"
			       "EHLO a=b+\xc3\xa4\r\nMAIL FROM") != std::string::npos);
}

TEST_CASE("XCLIENT that is too long for a line becomes two, and the address is in the last",
	  "[front][sink]")
{
	std::vector<std::string> telling = { "220 hop\r\n", EHLO,	   "220 hop\r\n",
					     EHLO,	    "220 hop\r\n", EHLO };
	telling.insert(telling.end(), FINE.begin() + 2, FINE.end());
	hop hop({ { telling, true } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
	const std::string helo(150, '+'); // three octets each
	sink.session.helo = helo.c_str();
	CHECK(sink.deliver());
	const std::string told = sink.told();
	size_t at = told.find("XCLIENT PORT=40112 PROTO=ESMTP HELO=+2B");
	REQUIRE(at != std::string::npos);
	CHECK(told.find("\r\n", at) + 2 - at <= 512);
	CHECK(told.find("\r\nEHLO mx.example.org\r\nXCLIENT NAME=[UNAVAILABLE]"
			" ADDR=192.0.2.7\r\nEHLO +++") != std::string::npos);
}

TEST_CASE("a next hop that was told of the client refuses its HELO in the session", "[front][sink]")
{
	struct sample {
		setup_tell tell;
		const char *said;
	};
	const auto how =
		GENERATE(sample{ SETUP_TELL_PROXY2, "550 5.7.1 No such host" },
			 sample{ SETUP_TELL_NONE,
				 "451 4.4.1 Mail system is out of reach; try again later" });
	const std::string no = "550 5.7.1 No such host\r\n";
	hop hop({ { { "220 hop\r\n", no, no }, true, how.tell == SETUP_TELL_NONE ? 0U : 28U } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, how.tell);
	CHECK_FALSE(sink.mail());
	CHECK(sink.said() == how.said);
	CHECK(sink.trouble().empty() == (how.tell == SETUP_TELL_PROXY2));
}

TEST_CASE("a client that says HELO anew is told anew", "[front][sink]")
{
	hop hop({ { FINE, true, 28 }, { FINE, true, 28 } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_PROXY2);
	char helo[] = "first.example.net";
	sink.session.helo = helo;
	CHECK(sink.deliver());
	std::strcpy(helo, "other.example.net");
	CHECK(sink.deliver());
	const std::string told = sink.told();
	CHECK(told.find("EHLO first.example.net\r\n") != std::string::npos);
	CHECK(told.find("EHLO other.example.net\r\n") > told.find("QUIT\r\n"));
}

TEST_CASE("XCLIENT that is refused takes the mail with it, one that is not offered does not",
	  "[front][sink]")
{
	SECTION("refused")
	{
		hop hop({ { { "220 hop\r\n", EHLO, "550 5.7.0 Not you\r\n" }, false } });
		hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
		CHECK_FALSE(sink.mail());
		CHECK(sink.reply.code == 451);
		CHECK(sink.trouble() == "XCLIENT: 550 5.7.0 Not you");
	}
	SECTION("not offered")
	{
		std::vector<std::string> plain = FINE;
		plain[1] =
			GENERATE("250 hop.example\r\n", "250-hop.example\r\n250 XCLIENT LOGIN\r\n");
		hop hop({ { plain, true } });
		hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_XCLIENT);
		CHECK(sink.deliver());
		CHECK(sink.trouble().empty());
		CHECK(std::string(sink_remark(sink.it)) ==
		      "XCLIENT: not offered, so the client is not told");
		CHECK(sink_remark(sink.it) == nullptr);
	}
}

TEST_CASE("a PROXY header comes before everything, with one family for both ends", "[front][sink]")
{
	hop hop({ { FINE, true } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_PROXY);
	SECTION("IPv4")
	{
		sink.mail();
		CHECK_THAT(sink.told(),
			   Catch::StartsWith("PROXY TCP4 192.0.2.7 198.51.100.25 40112 25\r\n"));
	}
	SECTION("both")
	{
		REQUIRE(dnsblv6_ip_parse("2001:db8::7", &sink.session.facts.client_ip) == 0);
		sink.mail();
		CHECK_THAT(sink.told(), Catch::StartsWith("PROXY TCP6 2001:db8::7"
							  " ::ffff:198.51.100.25 40112 25\r\n"));
	}
}

TEST_CASE("a PROXY header of version 2 has the same in bytes", "[front][sink]")
{
	using namespace std::string_literals;
	const std::string signature = "\r\n\r\n\0\r\nQUIT\n\x21"s;
	const bool is_ipv6 = GENERATE(false, true);
	hop hop({ { FINE, true, is_ipv6 ? 52U : 28U } });
	hop_fixture sink(hop, SETUP_SINK_SMTP, SETUP_TELL_PROXY2);
	if (is_ipv6)
		REQUIRE(dnsblv6_ip_parse("2001:db8::7", &sink.session.facts.client_ip) == 0);
	CHECK(sink.mail());
	const std::string told = sink.told();
	if (is_ipv6)
		CHECK_THAT(told,
			   Catch::StartsWith(signature +
					     "\x21\0\x24\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"
					     "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\x19"
					     "\x9c\xb0\0\x19"
					     "EHLO "s));
	else
		CHECK_THAT(told, Catch::StartsWith(signature + "\x11\0\x0c\xc0\x00\x02\x07"
							       "\xc6\x33\x64\x19\x9c\xb0\0\x19"
							       "EHLO "s));
}

// ---- LMTP ----

TEST_CASE("LMTP greets by LHLO, and all recipients are in one transaction", "[front][sink]")
{
	std::vector<std::string> two = FINE;
	two.insert(two.begin() + 4, "250 2.1.5 Ok\r\n");
	two.back() = "250 2.0.0 a\r\n250 2.0.0 b\r\n";
	hop hop({ { two, true } });
	hop_fixture sink(hop, SETUP_SINK_LMTP);
	REQUIRE((sink.mail() && sink.recipient("john@example.org")));
	REQUIRE(sink.recipient("jane@example.org"));
	CHECK(sink.data("mail\r\n"));
	CHECK_THAT(sink.told(), Catch::StartsWith("LHLO mx.example.org\r\nMAIL"));
}

TEST_CASE("the postmaster without a domain gets one where it is wanted", "[front][sink]")
{
	std::vector<std::string> wanting = FINE;
	wanting.insert(wanting.begin() + 3, "550 5.1.1 No domain\r\n");
	hop hop({ { wanting, true } });
	hop_fixture sink(hop);
	REQUIRE(sink.mail());
	CHECK(sink.recipient("postmaster"));
	CHECK(sink.data("mail\r\n"));
	CHECK(sink.told().find("RCPT TO:<postmaster>\r\nRCPT TO:<postmaster@mx.example.org>\r\n") !=
	      std::string::npos);
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
		hop hop({ { replies, true } });
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
	hop hop({ { three, false } });
	hop_fixture sink(hop, SETUP_SINK_LMTP);
	REQUIRE(sink.mail());
	for (const char *to : { "a@example.org", "b@example.org", "c@example.org" })
		REQUIRE(sink.recipient(to));
	CHECK(sink.data("mail\r\n") == (sample.code == 250));
	CHECK(sink.reply.code == sample.code);
	CHECK(sink.trouble().empty() != sample.is_trouble);
}
