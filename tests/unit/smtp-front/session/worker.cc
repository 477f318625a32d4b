// SPDX-License-Identifier: GPL-3.0-or-later
// A worker's life: what it takes from the queue, and when it ends.
#include "integration/mail/smtp-front/worker/worker.h"

#include "integration/mail/smtp-front/handover/capsule.h"
#include "integration/mail/base/handover/handover.h"
#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/mail-users/users.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace
{

uint64_t now_us()
{
	timespec now = {};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

// A queue, and the setup of workers with a sink that takes everything.
class worker_fixture
{
      public:
	worker_fixture()
	{
		std::strcpy(setup->front.hostname, "mx.example.org");
		setup->front.mails_per_worker = 3;
		setup->edge.queue_timeout_ms = 20000;
		setup->dialogue.size_max = 1000000;
		setup->dialogue.recipients_max = 10;
		setup->dialogue.commands_max = 100;
		setup->dialogue.errors_max = 10;
		setup->dialogue.mails_max = 10;
		setup->edge.command_timeout_ms = 20000;
		setup->limits.data_timeout_ms = 20000;
		setup->sink.kind = SETUP_SINK_NULL;
		REQUIRE(handover_open(65536, queue) == 0);
		REQUIRE(bank_open(&tally_table, 1, &bank) == 0);
	}
	~worker_fixture()
	{
		close(queue[0]);
		close(queue[1]);
		bank_close(&bank);
	}
	worker_fixture(const worker_fixture &) = delete;
	worker_fixture &operator=(const worker_fixture &) = delete;

	int run()
	{
		silence();
		nanny_child given = {};
		const worker_shared shared = { nullptr, nullptr, -1 };
		given.setup = setup.get();
		given.queue_fd = queue[1];
		given.counters = bank_block(&bank, 0);
		given.scoreboard = scoreboard;
		return worker_run(&given, &shared);
	}
	// A session at its first recipient, put into the queue. The client's end.
	int connect(int hold = -1, const std::string &recipient = "john@example.org")
	{
		const std::string lines[] = { "EHLO mail.example.net", "MAIL FROM:<>",
					      "RCPT TO:<" + recipient + ">" };
		auto capsule = std::make_unique<struct capsule>();
		auto event = std::make_unique<dialogue_event>();
		dialogue_limits rules = {};
		int ends[2];
		rules.hostname = "mx.example.org";
		dialogue_init(&capsule->dialogue);
		for (const std::string &line : lines) {
			if (dialogue_step(&capsule->dialogue, &rules, line.data(), line.size(),
					  event.get()) == DIALOGUE_MAIL)
				dialogue_accept(&capsule->dialogue, &rules, event.get());
		}
		capsule->kind = CAPSULE_TRUSTED;
		capsule->facts.id = 0x5f0c3a9b1e42;
		capsule->facts.accepted_at_ms = 1;
		capsule->queued_at_us = queued_at_us;
		capsule->recipient = event->recipient;
		REQUIRE(dnsblv6_ip_parse("192.0.2.7", &capsule->facts.client_ip) == 0);
		REQUIRE(dnsblv6_ip_parse("198.51.100.25", &capsule->facts.local_ip) == 0);
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
		const handover_fds fds = { ends[1], hold };
		REQUIRE(capsule_send(queue[0], capsule.get(), &fds) == 0);
		close(ends[1]);
		return ends[0];
	}
	uint64_t counted(tally_number number) const
	{
		return bank_sum(&bank, number);
	}

	std::unique_ptr<struct setup> setup = std::make_unique<struct setup>();
	uint64_t queued_at_us = now_us();
	int queue[2] = { -1, -1 };
	struct bank bank = {};
	struct scoreboard *scoreboard = nullptr;
};

// All that comes until the other side ends.
std::string heard(int fd)
{
	std::string text;
	char bytes[512];
	ssize_t size = 0;
	while ((size = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		text.append(bytes, (size_t)size);
	return text;
}

void say(int fd, const std::string &text)
{
	REQUIRE(send(fd, text.data(), text.size(), MSG_NOSIGNAL) == (ssize_t)text.size());
}

// A next hop that refuses one recipient, and counts how often it is asked about whom. It takes one
// connection at a time.
class hop
{
      public:
	hop()
	{
		sockaddr_in address = {};
		socklen_t size = sizeof(address);
		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		REQUIRE(bind(listener_, (struct sockaddr *)&address, sizeof(address)) == 0);
		REQUIRE(getsockname(listener_, (struct sockaddr *)&address, &size) == 0);
		REQUIRE(listen(listener_, 8) == 0);
		std::memcpy(&place.address, &address, sizeof(address));
		place.address_size = sizeof(address);
		snprintf(place.text, sizeof(place.text), "127.0.0.1@%u", ntohs(address.sin_port));
		thread_ = std::thread([this] { serve(); });
	}
	~hop()
	{
		end();
	}
	hop(const hop &) = delete;
	hop &operator=(const hop &) = delete;

	// Nobody is there any more.
	void end()
	{
		if (!thread_.joinable())
			return;
		shutdown(listener_, SHUT_RDWR); // accept() returns
		thread_.join();
		close(listener_);
	}

	struct place place = {};
	std::map<std::string, int> asked; // to be looked at behind end()

      private:
	void serve()
	{
		for (int fd = 0; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) {
			std::FILE *file = fdopen(dup(fd), "r");
			char line[1024];
			put(fd, "220 hop.example\r\n");
			while (std::fgets(line, sizeof(line), file) != nullptr)
				put(fd, answer(line));
			std::fclose(file);
		}
	}
	static void put(int fd, const std::string &text)
	{
		(void)!send(fd, text.data(), text.size(), MSG_NOSIGNAL);
	}
	std::string answer(const std::string &line)
	{
		if (line == "DATA\r\n")
			is_mail_ = true;
		else if (line == ".\r\n")
			is_mail_ = false;
		if (is_mail_)
			return line == "DATA\r\n" ? "354 go on\r\n" : "";
		if (line.rfind("RCPT", 0) != 0)
			return "250 2.0.0 fine\r\n";
		const size_t begin = line.find('<') + 1;
		const std::string address = line.substr(begin, line.find('>') - begin);
		asked[address]++;
		return address == "john@example.org" ? "550 5.7.1 not one of mine\r\n"
						     : "250 2.1.5 fine\r\n";
	}

	int listener_ = -1;
	bool is_mail_ = false;
	std::thread thread_;
};

const std::string MAIL = "DATA\r\nmail\r\n.\r\n";
const std::string AGAIN = "MAIL FROM:<>\r\nRCPT TO:<john@example.org>\r\n" + MAIL;

} // namespace

TEST_CASE("a worker retires after its number of mails, at the end of the session",
	  "[front][worker]")
{
	worker_fixture front;
	const int first = front.connect();
	const int second = front.connect();
	const int third = front.connect();
	say(first, MAIL + "QUIT\r\n");
	say(second, MAIL + AGAIN + AGAIN + "QUIT\r\n");
	child worker([&] { return front.run(); });
	CHECK(worker.wait() == EX_OK);
	CHECK(heard(first).find("221 ") != std::string::npos);
	CHECK(heard(second).find("221 ") != std::string::npos);
	CHECK(front.counted(TALLY_TAKEN) == 2);
	CHECK(front.counted(TALLY_FINISHED) == 2);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 4);
	CHECK(front.counted(TALLY_RETIRED) == 1);
	// The third still waits in the queue, for another.
	say(third, "QUIT\r\n");
	child other([&] { return front.run(); });
	CHECK(heard(third).find("221 ") != std::string::npos);
	other.kill(SIGTERM);
	CHECK(other.wait() == EX_OK);
	for (int fd : { first, second, third })
		close(fd);
}

TEST_CASE("a worker that is told to end finishes its session", "[front][worker]")
{
	worker_fixture front;
	const int client = front.connect();
	child worker([&] { return front.run(); });
	char byte = 0;
	REQUIRE(recv(client, &byte, 1, 0) == 1); // the reply to RCPT: it has the session
	worker.kill(SIGTERM);
	say(client, MAIL + "QUIT\r\n");
	const std::string text = heard(client);
	CHECK(text.find("354 ") != std::string::npos);
	CHECK(text.find("221 ") != std::string::npos);
	CHECK(worker.wait() == EX_OK);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 1);
	CHECK(front.counted(TALLY_RETIRED) == 0);
	close(client);
}

TEST_CASE("a worker that is told to end does not wait for a client who is silent",
	  "[front][worker]")
{
	worker_fixture front;
	// Longer than the test may take.
	front.setup->edge.command_timeout_ms = 3600000;
	std::string text;
	const int client = front.connect();
	const auto hear = [&](const std::string &end) {
		char byte = 0;
		while (text.find(end) == std::string::npos && recv(client, &byte, 1, 0) == 1)
			text += byte;
	};
	child worker([&] { return front.run(); });
	SECTION("between two mails")
	{
		front.setup->edge.drain_ms = 3600000;
		say(client, MAIL);
		hear("250 2.0.0");
		CHECK(text.find("250 2.0.0") != std::string::npos);
	}
	SECTION("nor between MAIL and DATA, when the time for that is over")
	{
		front.setup->edge.drain_ms = 0;
		hear("250 2.1.5");
		CHECK(text.find("250 2.1.5") != std::string::npos);
	}
	worker.kill(SIGTERM);
	text += heard(client);
	CHECK(text.find("\r\n421 4.3.2 ") != std::string::npos);
	CHECK(worker.wait() == EX_OK);
	close(client);
}

TEST_CASE("a capsule that is none costs its session and no other", "[front][worker]")
{
	worker_fixture front;
	REQUIRE(send(front.queue[0], "no capsule", 10, 0) == 10);
	const int client = front.connect();
	say(client, MAIL + "QUIT\r\n");
	child worker([&] { return front.run(); });
	CHECK(heard(client).find("221 ") != std::string::npos);
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	CHECK(front.counted(TALLY_CAPSULES_BAD) == 1);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 1);
	close(client);
}

TEST_CASE("a recipient that no edge can have found is refused", "[front][worker]")
{
	worker_fixture front;
	tmpdir directory;
	const std::string path = directory.file("users.mdb");
	REQUIRE(build(path, { "inbox@example.org" }) == STORE_OK);
	path.copy(front.setup->trust.users, SETUP_PATH_MAX);
	const int client = front.connect();
	say(client, MAIL + "RCPT TO:<inbox@example.org>\r\n" + MAIL + "QUIT\r\n");
	child worker([&] { return front.run(); });
	const std::string text = heard(client);
	CHECK(text.substr(0, 10) == "550 5.1.1 ");
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	CHECK(front.counted(TALLY_RECIPIENTS_UNKNOWN) == 1);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 1);
	close(client);
}

TEST_CASE("a recipient that the next hop of trust does not know is refused, whatever an edge says",
	  "[front][worker]")
{
	worker_fixture front;
	hop next;
	front.setup->trust.forward = next.place;
	front.setup->trust.forward_timeout_ms = 20000;
	front.setup->trust.forward_cache_ms = 3600000;
	const int altered = front.connect();
	const int fine = front.connect(-1, "inbox@example.org");
	const int again = front.connect(-1, "inbox@example.org");
	say(altered, "RCPT TO:<inbox@example.org>\r\nRCPT TO:<john@example.org>\r\nQUIT\r\n");
	say(fine, MAIL + "QUIT\r\n");
	say(again, MAIL + "QUIT\r\n");
	child worker([&] { return front.run(); });
	const std::string text = heard(altered);
	CHECK(text.substr(0, 28) == "550 5.7.1 not one of mine\r\n2");
	CHECK(text.find("\r\n550 5.7.1 not one of mine\r\n221 ") != std::string::npos);
	CHECK(heard(fine).find("221 ") != std::string::npos);
	CHECK(heard(again).find("221 ") != std::string::npos);
	CHECK(worker.wait() == EX_OK);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 2);
	next.end();
	// Whom it knows it is asked about once.
	CHECK(next.asked ==
	      std::map<std::string, int>{ { "inbox@example.org", 1 }, { "john@example.org", 2 } });
	for (int fd : { altered, fine, again })
		close(fd);
}

TEST_CASE("what the next hop has said is no longer true after a while", "[front][worker]")
{
	worker_fixture front;
	hop next;
	front.setup->trust.forward = next.place;
	front.setup->trust.forward_timeout_ms = 20000;
	front.setup->trust.forward_cache_ms = 0;
	const int client = front.connect(-1, "inbox@example.org");
	say(client, "RCPT TO:<inbox@example.org>\r\nQUIT\r\n");
	child worker([&] { return front.run(); });
	CHECK(heard(client).find("221 ") != std::string::npos);
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	next.end();
	CHECK(next.asked["inbox@example.org"] == 2);
	close(client);
}

TEST_CASE("a next hop that is out of reach puts a recipient off, whatever an edge says",
	  "[front][worker]")
{
	worker_fixture front;
	hop next;
	next.end();
	front.setup->trust.forward = next.place;
	front.setup->trust.forward_timeout_ms = 20000;
	const int client = front.connect();
	say(client, MAIL + "QUIT\r\n");
	child worker([&] { return front.run(); });
	CHECK(heard(client).substr(0, 10) == "451 4.4.1 ");
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 0);
	close(client);
}

TEST_CASE("a next hop that is the sink is asked by the mail itself", "[front][worker]")
{
	worker_fixture front;
	hop next;
	front.setup->trust.forward = next.place;
	front.setup->sink.kind = SETUP_SINK_SMTP;
	front.setup->sink.to = next.place;
	front.setup->sink.timeout_ms = front.setup->sink.connect_timeout_ms = 20000;
	front.setup->sink.end_timeout_ms = 20000;
	const int altered = front.connect();
	const int fine = front.connect(-1, "inbox@example.org");
	say(altered, "QUIT\r\n");
	say(fine, MAIL + "QUIT\r\n");
	child worker([&] { return front.run(); });
	CHECK(heard(altered).substr(0, 10) == "550 5.7.1 ");
	CHECK(heard(fine).find("221 ") != std::string::npos);
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 1);
	next.end();
	CHECK(next.asked ==
	      std::map<std::string, int>{ { "inbox@example.org", 1 }, { "john@example.org", 1 } });
	close(altered);
	close(fine);
}

TEST_CASE("a killed worker's session is lost to its client, those that wait are not",
	  "[front][worker]")
{
	worker_fixture front;
	const int first = front.connect();
	const int second = front.connect();
	child worker([&] { return front.run(); });
	char byte = 0;
	REQUIRE(recv(first, &byte, 1, 0) == 1);
	worker.kill(SIGKILL);
	worker.wait();
	CHECK(heard(first).find("354 ") == std::string::npos);
	say(second, MAIL + "QUIT\r\n");
	child other([&] { return front.run(); });
	CHECK(heard(second).find("221 ") != std::string::npos);
	other.kill(SIGTERM);
	CHECK(other.wait() == EX_OK);
	CHECK(front.counted(TALLY_MAILS_COMMITTED) == 1);
	close(first);
	close(second);
}

TEST_CASE("a session that has waited too long for a worker is put off, and the next one is served",
	  "[front][worker]")
{
	worker_fixture front;
	front.queued_at_us -= UINT64_C(22000000);
	const int late = front.connect();
	front.queued_at_us = now_us();
	const int early = front.connect();
	say(early, MAIL + "QUIT\r\n");
	child worker([&] { return front.run(); });
	CHECK(heard(late).substr(0, 10) == "421 4.3.2 ");
	CHECK(heard(early).find("221 ") != std::string::npos);
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	CHECK(front.counted(TALLY_QUEUE_LATE) == 1);
	CHECK(front.counted(TALLY_FINISHED) == 2);
	close(late);
	close(early);
}

TEST_CASE("a worker says when it is idle", "[front][worker]")
{
	worker_fixture front;
	REQUIRE(scoreboard_open(2, &front.scoreboard) == 0);
	child worker([&] { return front.run(); });
	while (scoreboard_count(front.scoreboard, SCOREBOARD_IDLE) == 0)
		std::this_thread::yield();
	const int client = front.connect();
	char byte = 0;
	REQUIRE(recv(client, &byte, 1, 0) == 1); // the reply to RCPT: it has the session
	CHECK(scoreboard_count(front.scoreboard, SCOREBOARD_IDLE) == 0);
	say(client, "QUIT\r\n");
	while (scoreboard_count(front.scoreboard, SCOREBOARD_IDLE) == 0)
		std::this_thread::yield();
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	CHECK(scoreboard_count(front.scoreboard, SCOREBOARD_IDLE) == 0);
	scoreboard_close(front.scoreboard);
	close(client);
}

TEST_CASE("a worker lets go of what an edge counts by when the session has ended",
	  "[front][worker]")
{
	worker_fixture front;
	int hold[2];
	REQUIRE(pipe2(hold, O_CLOEXEC) == 0);
	const int client = front.connect(hold[1]);
	close(hold[1]);
	child worker([&] { return front.run(); });
	char byte = 0;
	REQUIRE(recv(client, &byte, 1, 0) == 1); // the reply to RCPT: it has the session
	pollfd is_ended = { hold[0], POLLIN, 0 };
	CHECK(poll(&is_ended, 1, 0) == 0);
	say(client, MAIL + "QUIT\r\n");
	CHECK(heard(client).find("221 ") != std::string::npos);
	CHECK(read(hold[0], &byte, 1) == 0); // and nothing but its end
	worker.kill(SIGTERM);
	CHECK(worker.wait() == EX_OK);
	close(client);
	close(hold[0]);
}

TEST_CASE("a worker whose sink or list cannot be opened does not begin", "[front][worker]")
{
	worker_fixture front;
	if (GENERATE(true, false)) {
		front.setup->sink.kind = SETUP_SINK_MAILDIR;
		std::strcpy(front.setup->sink.to.text, "/nonexistent/maildir");
	} else {
		std::strcpy(front.setup->trust.users, "/nonexistent/users.mdb");
	}
	child worker([&] { return front.run(); });
	CHECK(worker.wait() == EX_NOINPUT);
}
