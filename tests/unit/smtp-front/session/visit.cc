// SPDX-License-Identifier: GPL-3.0-or-later
// A session in a worker: what the client hears, and what the sink has.
#include "integration/mail/smtp-front/worker/visit.h"

#include "integration/mail/smtp-front/worker/parcel.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace
{

// A worker's session with a maildir behind it, and the client's end of the connection.
class visit_fixture
{
      public:
	visit_fixture()
	{
		setup_ = std::make_unique<struct setup>();
		std::strcpy(setup_->front.hostname, "mx.example.org");
		setup_->dialogue.size_max = 100000;
		setup_->dialogue.recipients_max = 3;
		setup_->dialogue.commands_max = 100;
		setup_->dialogue.errors_max = 5;
		setup_->dialogue.mails_max = 5;
		setup_->edge.command_timeout_ms = 20000;
		setup_->limits.data_timeout_ms = 20000;
		setup_->limits.data_rate = 500;
		setup_->limits.give_way_ms = 20000;
		setup_->edge.stress_timeout_ms = 20000;
		setup_->sink.kind = SETUP_SINK_MAILDIR;
		box.path().copy(setup_->sink.to.text, SETUP_PATH_MAX);
		REQUIRE(sink_open(&setup_->sink, setup_->front.hostname, &sink_) == 0);
		visit_parts parts = {};
		parts.setup = setup_.get();
		parts.sink = sink_;
		parts.counters = counters;
		REQUIRE(scoreboard_open(1, &scoreboard) == 0);
		parts.scoreboard = scoreboard;
		REQUIRE(visit_new(&parts, &visit_) == 0);
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0);
		make_capsule();
	}
	~visit_fixture()
	{
		if (ends_[0] >= 0)
			close(ends_[0]);
		visit_free(visit_);
		sink_close(sink_);
		scoreboard_close(scoreboard);
	}
	visit_fixture(const visit_fixture &) = delete;
	visit_fixture &operator=(const visit_fixture &) = delete;

	// All that the client has to say, as unread bytes and then on the wire. What it hears. It
	// hangs up behind its last byte, or waits for the end.
	std::string talk(const std::string &unread, const std::string &text, bool hangs_up = false)
	{
		unread.copy((char *)capsule->unread, CAPSULE_UNREAD_MAX);
		capsule->unread_size = unread.size();
		std::thread writer([&] {
			(void)!send(ends_[0], text.data(), text.size(), MSG_NOSIGNAL);
			if (hangs_up)
				shutdown(ends_[0], SHUT_WR);
		});
		std::string heard;
		std::thread reader([&] {
			char bytes[4096];
			ssize_t size = 0;
			while ((size = recv(ends_[0], bytes, sizeof(bytes), 0)) > 0)
				heard.append(bytes, (size_t)size);
		});
		mail_count = visit_finish(visit_, capsule.get(), ends_[1]);
		writer.join();
		reader.join();
		return heard;
	}
	// The same with a client that sends some bytes every so often, until nobody takes them, or
	// so often and then the end.
	std::string drip(const std::string &unread, unsigned pause_ms, unsigned count = UINT_MAX,
			 const std::string &end = "", const std::string &drop = "x")
	{
		bool is_over = false;
		unread.copy((char *)capsule->unread, CAPSULE_UNREAD_MAX);
		capsule->unread_size = unread.size();
		std::string heard;
		std::thread client([&] {
			char bytes[512];
			for (unsigned i = 0; !is_over; i++) {
				const std::string &next = i == count ? end : drop;
				if (i <= count && send(ends_[0], next.data(), next.size(),
						       MSG_NOSIGNAL) != (ssize_t)next.size())
					break;
				poll(nullptr, 0, (int)pause_ms);
				const ssize_t size =
					recv(ends_[0], bytes, sizeof(bytes), MSG_DONTWAIT);
				is_over = size == 0;
				heard.append(bytes, size > 0 ? (size_t)size : 0);
			}
			// What was said before the other end was closed.
			ssize_t size = 0;
			while ((size = recv(ends_[0], bytes, sizeof(bytes), 0)) > 0)
				heard.append(bytes, (size_t)size);
		});
		mail_count = visit_finish(visit_, capsule.get(), ends_[1]);
		client.join();
		return heard;
	}
	// The mails committed, behind their trace headers.
	std::vector<std::string> mails() const
	{
		std::vector<std::string> found;
		const std::string folder = box.file("new");
		if (!std::filesystem::exists(folder))
			return found;
		for (const auto &entry : std::filesystem::directory_iterator(folder)) {
			const std::string text = read_file(entry.path());
			const size_t at = text.find(" +0000\n");
			REQUIRE(at != std::string::npos);
			found.push_back(text.substr(at + 7));
		}
		CHECK(std::filesystem::is_empty(box.file("tmp")));
		return found;
	}
	edge_rules &rules()
	{
		return setup_->edge;
	}
	dialogue_limits &dialogue()
	{
		return setup_->dialogue;
	}
	setup_limits &limits()
	{
		return setup_->limits;
	}

	tmpdir box;
	std::unique_ptr<struct capsule> capsule = std::make_unique<struct capsule>();
	uint64_t counters[TALLY_NUMBERS] = {};
	struct scoreboard *scoreboard = nullptr;
	unsigned mail_count = 0;

      private:
	// As an edge leaves it: RCPT is to be answered.
	void make_capsule()
	{
		static const char *const lines[] = { "EHLO mail.example.net",
						     "MAIL FROM:<sender@example.net>",
						     "RCPT TO:<john@example.org>" };
		dialogue_limits rules = {};
		rules.hostname = "mx.example.org";
		auto event = std::make_unique<dialogue_event>();
		dialogue_init(&capsule->dialogue);
		for (const char *line : lines) {
			if (dialogue_step(&capsule->dialogue, &rules, line, std::strlen(line),
					  event.get()) == DIALOGUE_MAIL)
				dialogue_accept(&capsule->dialogue, &rules, event.get());
		}
		REQUIRE(capsule->dialogue.state == DIALOGUE_AT_RCPT_ASKED);
		capsule->kind = CAPSULE_TRUSTED;
		capsule->facts.id = 0x5f0c3a9b1e42;
		capsule->recipient = event->recipient;
		REQUIRE(dnsblv6_ip_parse("192.0.2.7", &capsule->facts.client_ip) == 0);
		REQUIRE(dnsblv6_ip_parse("198.51.100.25", &capsule->facts.local_ip) == 0);
	}

	std::unique_ptr<struct setup> setup_;
	sink *sink_ = nullptr;
	visit *visit_ = nullptr;
	int ends_[2] = { -1, -1 };
};

// The codes of replies, in order.
std::string codes(const std::string &heard)
{
	std::string found;
	for (size_t at = 0; at < heard.size();) {
		const size_t end = heard.find("\r\n", at);
		REQUIRE(end != std::string::npos);
		REQUIRE(end - at >= 3);
		if (heard.compare(at + 3, 1, "-") != 0)
			found += (found.empty() ? "" : " ") + heard.substr(at, 3);
		at = end + 2;
	}
	return found;
}

using strings = std::vector<std::string>;

} // namespace

TEST_CASE("a session goes on where the edge has left it, wherever its bytes are cut",
	  "[front][visit]")
{
	const std::string all = "DATA\r\nSubject: x\r\n\r\n..dot\r\n.\r\nQUIT\r\n";
	const size_t cut = GENERATE_COPY(range(size_t{ 0 }, all.size() + 1));
	CAPTURE(cut);
	visit_fixture visit;
	CHECK(codes(visit.talk(all.substr(0, cut), all.substr(cut))) == "250 354 250 221");
	CHECK(visit.mails() == strings{ "Subject: x\n\n.dot\n" });
	CHECK(visit.mail_count == 1);
	CHECK(visit.counters[TALLY_MAILS_COMMITTED] == 1);
	CHECK(visit.counters[TALLY_FINISHED] == 1);
}

TEST_CASE("a client that goes away within its mail has sent none, wherever it does",
	  "[front][visit]")
{
	const std::string all = "DATA\r\nSubject: x\r\n\r\nmail\r\n.\r\n";
	const size_t cut = GENERATE_COPY(range(size_t{ 0 }, all.size()));
	CAPTURE(cut);
	visit_fixture visit;
	visit.talk("", all.substr(0, cut), true);
	CHECK(visit.mails().empty());
	CHECK(visit.counters[TALLY_MAILS_COMMITTED] == 0);
	CHECK(visit.counters[TALLY_MAILS_CUT] == (cut < 6 ? 0 : 1));
}

TEST_CASE("chunks are a mail, however they are cut", "[front][visit]")
{
	const std::string all = "BDAT 6\r\n.one\r\nBDAT 0\r\nBDAT 6 LAST\r\ntwo\r\n.QUIT\r\n";
	const size_t cut = GENERATE_COPY(range(size_t{ 0 }, all.size() + 1));
	CAPTURE(cut);
	visit_fixture visit;
	CHECK(codes(visit.talk(all.substr(0, cut), all.substr(cut))) == "250 250 250 250 221");
	CHECK(visit.mails() == strings{ ".one\ntwo\n.\n" });
}

TEST_CASE("a lone CR or LF spoils a mail and ends the session, and what it hides is no command",
	  "[front][visit]")
{
	const std::string trick = GENERATE("\n.\r\n", "\r\n.\n", "\n.\n", "\r.\r", "\r\n.\r",
					   "\r.\r\n", "\r\r\n.\r\r\n");
	CAPTURE(trick);
	visit_fixture visit;
	const std::string heard =
		visit.talk("", "DATA\r\nfirst" + trick +
				       "MAIL FROM:<x@example.net>\r\nRCPT TO:<y@example.org>\r\n"
				       "DATA\r\nsecond\r\n.\r\nQUIT\r\n");
	CHECK(codes(heard) == "250 354 521");
	CHECK(visit.mails().empty());
	CHECK(visit.counters[TALLY_MAILS_REFUSED] == 1);
}

TEST_CASE("a lone LF in a chunk is refused as well", "[front][visit]")
{
	visit_fixture visit;
	CHECK(codes(visit.talk("", "BDAT 12 LAST\r\none\n.\r\ntwo\r\nQUIT\r\n")) == "250 521");
	CHECK(visit.mails().empty());
}

TEST_CASE("a NUL refuses the mail, and the next one is fine", "[front][visit]")
{
	using namespace std::string_literals;
	visit_fixture visit;
	CHECK(codes(visit.talk("",
			       "DATA\r\na\0b\r\n.\r\nMAIL FROM:<>\r\n"
			       "RCPT TO:<john@example.org>\r\nDATA\r\nfine\r\n.\r\nQUIT\r\n"s)) ==
	      "250 354 550 250 250 354 250 221");
	CHECK(visit.mails() == strings{ "fine\n" });
}

TEST_CASE("a mail above the limit is refused at its end, and the next one is fine",
	  "[front][visit]")
{
	visit_fixture visit;
	const std::string large(visit.dialogue().size_max, 'x');
	CHECK(codes(visit.talk("", "DATA\r\n" + large +
					   "\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<john@example.org>\r\n"
					   "DATA\r\nfine\r\n.\r\nQUIT\r\n")) ==
	      "250 354 552 250 250 354 250 221");
	CHECK(visit.mails() == strings{ "fine\n" });
}

TEST_CASE("a mail far above the limit ends the session before its end", "[front][visit]")
{
	visit_fixture visit;
	const std::string huge(4 << 20, 'x');
	CHECK(codes(visit.talk("", "DATA\r\n" + huge, true)) == "250 354 521");
	CHECK(visit.mails().empty());
	CHECK(visit.counters[TALLY_MAILS_REFUSED] == 1);
	CHECK(visit.counters[TALLY_MAILS_CUT] == 0);
}

TEST_CASE("a chunk that is too large is refused, small ones are read over", "[front][visit]")
{
	visit_fixture visit;
	const std::string large(visit.dialogue().size_max + 1, 'x');
	const std::string size = std::to_string(large.size());
	CHECK(codes(visit.talk("", "BDAT 2\r\na\nBDAT " + size + " LAST\r\n" + large)) ==
	      "250 521");
	visit_fixture other;
	CHECK(codes(other.talk("", "BDAT " + size + "\r\n" + large +
					   "BDAT 3 LAST\r\nabcRSET\r\nQUIT\r\n")) ==
	      "250 552 503 250 221");
	CHECK(visit.mails().empty());
	CHECK(other.mails().empty());
}

TEST_CASE("a client that is silent amid a refused chunk is told once", "[front][visit]")
{
	visit_fixture visit;
	visit.rules().command_timeout_ms = 30;
	const std::string size = std::to_string(visit.dialogue().size_max + 1);
	CHECK(codes(visit.talk("", "BDAT " + size + " LAST\r\nhalf")) == "250 421");
}

TEST_CASE("RSET, EHLO and QUIT within a transaction leave nothing in the sink", "[front][visit]")
{
	const std::string command = GENERATE("RSET\r\n", "EHLO again.example.net\r\n", "");
	CAPTURE(command);
	visit_fixture visit;
	visit.talk("", "BDAT 6\r\nhalf\r\n" + command + "QUIT\r\n");
	CHECK(visit.mails().empty());
}

TEST_CASE("two mails of a session are two", "[front][visit]")
{
	visit_fixture visit;
	visit.talk("", "DATA\r\none\r\n.\r\nMAIL FROM:<b@example.net>\r\n"
		       "RCPT TO:<john@example.org>\r\nBDAT 5 LAST\r\ntwo\r\nQUIT\r\n");
	CHECK(visit.mails().size() == 2);
	CHECK(visit.mail_count == 2);
}

TEST_CASE("a verdict's header stands behind the trace header", "[front][visit]")
{
	visit_fixture visit;
	std::strcpy(visit.capsule->header, "score=1 zones=bl.example; listed");
	visit.talk("", "DATA\r\nmail\r\n.\r\nQUIT\r\n");
	CHECK(visit.mails() == strings{ "X-DNSBLv6: score=1 zones=bl.example; listed\nmail\n" });
}

TEST_CASE("a client that is silent is told so", "[front][visit]")
{
	const std::string text = GENERATE("", "NOOP", "DATA\r\nhalf", "BDAT 10\r\nhalf");
	CAPTURE(text);
	visit_fixture visit;
	visit.rules().command_timeout_ms = 30;
	visit.limits().data_timeout_ms = 30;
	const std::string heard = visit.talk("", text);
	CHECK(heard.substr(heard.rfind("\r\n", heard.size() - 3) + 2, 9) == "421 4.4.2");
	CHECK(visit.mails().empty());
}

TEST_CASE("a client that sends a byte now and then does not keep a worker", "[front][visit]")
{
	visit_fixture visit;
	visit.limits().data_timeout_ms = 200;
	CHECK(codes(visit.drip("DATA\r\n", 5)) == "250 354 421");
	CHECK(visit.mails().empty());
	CHECK(visit.counters[TALLY_MAILS_CUT] == 1);
}

TEST_CASE("bytes that came fast before do not make up for a client that is slow now",
	  "[front][visit]")
{
	visit_fixture visit;
	visit.limits().data_timeout_ms = 200;
	CHECK(codes(visit.drip("DATA\r\n" + std::string(8000, 'x'), 5)) == "250 354 421");
	CHECK(visit.mails().empty());
}

TEST_CASE("a slow client that keeps the rate gets its mail in", "[front][visit]")
{
	visit_fixture visit;
	visit.limits().data_timeout_ms = 10000;
	visit.limits().data_rate = 1;
	CHECK(codes(visit.drip("DATA\r\n", 1, 3000, "\r\n.\r\nQUIT\r\n")) == "250 354 250 221");
	CHECK(visit.mails().size() == 1);
}

TEST_CASE("a silent client gives way while others wait, and only then", "[front][visit]")
{
	const std::string text = GENERATE("", "NOOP", "NOOP\r\nRSET\r\n", "BDAT 200001\r\nhalf");
	CAPTURE(text);
	visit_fixture visit;
	visit.limits().give_way_ms = 30;
	visit.rules().command_timeout_ms = 3600000; // longer than the test may take
	scoreboard_set(visit.scoreboard, SCOREBOARD_WAITING, 0, true);
	const std::string heard = visit.talk("", text);
	CHECK(heard.substr(heard.rfind("\r\n", heard.size() - 3) + 2, 9) == "421 4.3.2");
	CHECK(visit.counters[TALLY_GAVE_WAY] == 1);
	visit_fixture other;
	other.limits().give_way_ms = 30;
	other.rules().command_timeout_ms = 300;
	const std::string patient = other.talk("", "NOOP\r\n");
	CHECK(patient.find("421 4.4.2") != std::string::npos);
	CHECK(other.counters[TALLY_GAVE_WAY] == 0);
}

TEST_CASE("commands now and then do not help a client that others wait for", "[front][visit]")
{
	visit_fixture visit;
	visit.rules().stress_timeout_ms = 300;
	scoreboard_set(visit.scoreboard, SCOREBOARD_WAITING, 0, true);
	const std::string heard = visit.drip("", 20, UINT_MAX, "", "NOOP\r\n");
	CHECK(heard.substr(heard.rfind("\r\n", heard.size() - 3) + 2, 9) == "421 4.3.2");
}

TEST_CASE("within a mail a client has less time while others wait", "[front][visit]")
{
	visit_fixture visit;
	visit.rules().stress_timeout_ms = 30;
	visit.limits().data_timeout_ms = 3600000;
	scoreboard_set(visit.scoreboard, SCOREBOARD_WAITING, 0, true);
	CHECK(codes(visit.talk("", "DATA\r\nhalf")) == "250 354 421");
	CHECK(visit.counters[TALLY_MAILS_CUT] == 1);
}

TEST_CASE("a session has an end in a worker, too, and a mail under way has as long again",
	  "[front][visit]")
{
	visit_fixture visit;
	visit.limits().worker_timeout_ms = 200;
	SECTION("whatever it says")
	{
		const std::string heard = visit.drip("RSET\r\n", 20, UINT_MAX, "", "NOOP\r\n");
		CHECK(heard.find("421 4.4.2") != std::string::npos);
	}
	SECTION("amid a mail")
	{
		visit.limits().data_rate = 1;
		CHECK(codes(visit.drip("DATA\r\n", 5)) == "250 354 421");
	}
}

TEST_CASE("a mailbox that is gone is 4xx, and the session goes on", "[front][visit]")
{
	visit_fixture visit;
	SECTION("before the mail")
	{
		std::filesystem::remove_all(visit.box.path());
		CHECK(codes(visit.talk("", "DATA\r\nRSET\r\nQUIT\r\n")) == "250 451 250 221");
	}
	SECTION("at its end")
	{
		// Where there is cur, the others are believed to be.
		std::filesystem::create_directories(visit.box.file("cur"));
		CHECK(codes(visit.talk("", "DATA\r\nx\r\n.\r\nRSET\r\nQUIT\r\n")) ==
		      "250 354 451 250 221");
	}
	CHECK(visit.counters[TALLY_SINK_FAILURES] == 1);
	CHECK(visit.counters[TALLY_MAILS_DEFERRED] == 1);
}

TEST_CASE("a line that never ends ends the session", "[front][visit]")
{
	visit_fixture visit;
	CHECK(codes(visit.talk("", "NOOP " + std::string(3 << 20, 'x'), true)) == "250 500");
	visit_fixture other;
	CHECK(codes(other.talk("", "NOOP " + std::string(100000, 'x') + "\r\nQUIT\r\n")) ==
	      "250 500 221");
}

TEST_CASE("a lone LF in a command ends the session", "[front][visit]")
{
	visit_fixture visit;
	const std::string heard = visit.talk("", "DATA\nQUIT\r\n");
	CHECK(codes(heard).substr(0, 5) == "250 5");
	CHECK(visit.mails().empty());
}

TEST_CASE("a worker no longer offers TLS, and XCLIENT is for those who may", "[front][visit]")
{
	visit_fixture visit;
	const std::string heard = visit.talk("", "EHLO x.example\r\nSTARTTLS\r\n"
						 "XCLIENT ADDR=192.0.2.1\r\nQUIT\r\n");
	CHECK(codes(heard) == "250 250 502 550 221");
	CHECK(heard.find("STARTTLS\r\n") == std::string::npos);
	CHECK(heard.find("XCLIENT ") == heard.rfind("XCLIENT "));
}

TEST_CASE("the next client of a relay comes by a session of its own", "[front][visit]")
{
	visit_fixture visit;
	visit.capsule->facts.is_xclient = true;
	const std::string heard = visit.talk("", "DATA\r\nx\r\n.\r\nXCLIENT ADDR=192.0.2.1\r\n"
						 "EHLO x.example\r\nMAIL FROM:<a@b.example>\r\n");
	CHECK(codes(heard) == "250 354 250 421");
	CHECK(heard.find("421 4.3.2 mx.example.org another client, come again\r\n") !=
	      std::string::npos);
	CHECK(visit.mails().size() == 1);
}
