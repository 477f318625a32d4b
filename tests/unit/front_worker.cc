// SPDX-License-Identifier: GPL-3.0-or-later
// A worker's life: what it takes from the queue, and when it ends.
#include "integration/smtp-front/worker.h"

#include "integration/smtp-front/capsule.h"
#include "integration/smtp-front/handover.h"
#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/front_users.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

namespace
{

// A queue, and the setup of workers with a sink that takes everything.
class fixture
{
      public:
	fixture()
	{
		std::strcpy(setup->front.hostname, "mx.example.org");
		setup->front.mails_per_worker = 3;
		setup->limits.size_max = 1000000;
		setup->limits.recipients_max = 10;
		setup->limits.commands_max = 100;
		setup->limits.errors_max = 10;
		setup->limits.mails_max = 10;
		setup->limits.command_timeout_ms = 20000;
		setup->limits.data_timeout_ms = 20000;
		setup->sink.kind = SETUP_SINK_NULL;
		REQUIRE(handover_open(65536, queue) == 0);
		REQUIRE(tally_open(1, &bank) == 0);
	}
	~fixture()
	{
		close(queue[0]);
		close(queue[1]);
		tally_close(&bank);
	}
	fixture(const fixture &) = delete;
	fixture &operator=(const fixture &) = delete;

	int run()
	{
		silence();
		worker_start start = {};
		start.setup = setup.get();
		start.queue_fd = queue[1];
		start.tally = bank.slots;
		return worker_run(&start);
	}
	// A session at its first recipient, put into the queue. The client's end.
	int connect(int hold = -1)
	{
		static const char *const lines[] = { "EHLO mail.example.net", "MAIL FROM:<>",
						     "RCPT TO:<john@example.org>" };
		auto capsule = std::make_unique<struct capsule>();
		auto event = std::make_unique<dialogue_event>();
		dialogue_limits rules = {};
		int ends[2];
		rules.hostname = "mx.example.org";
		dialogue_init(&capsule->dialogue);
		for (const char *line : lines) {
			if (dialogue_step(&capsule->dialogue, &rules, line, std::strlen(line),
					  event.get()) == DIALOGUE_MAIL)
				dialogue_accept(&capsule->dialogue, &rules, event.get());
		}
		capsule->kind = CAPSULE_TRUSTED;
		capsule->session_id = 0x5f0c3a9b1e42;
		capsule->accepted_at_ms = 1;
		capsule->recipient = event->recipient;
		REQUIRE(dnsblv6_ip_parse("192.0.2.7", &capsule->client_ip) == 0);
		REQUIRE(dnsblv6_ip_parse("198.51.100.25", &capsule->local_ip) == 0);
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
		const handover_fds fds = { ends[1], hold };
		REQUIRE(handover_send(queue[0], capsule.get(), &fds) == 0);
		close(ends[1]);
		return ends[0];
	}
	uint64_t counted(tally_number number) const
	{
		return tally_get(bank.slots, number);
	}

	std::unique_ptr<struct setup> setup = std::make_unique<struct setup>();
	int queue[2] = { -1, -1 };
	tally_bank bank = {};
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

const std::string MAIL = "DATA\r\nmail\r\n.\r\n";
const std::string AGAIN = "MAIL FROM:<>\r\nRCPT TO:<john@example.org>\r\n" + MAIL;

} // namespace

TEST_CASE("a worker retires after its number of mails, at the end of the session",
	  "[front][worker]")
{
	fixture front;
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
	fixture front;
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

TEST_CASE("a capsule that is none costs its session and no other", "[front][worker]")
{
	fixture front;
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
	fixture front;
	tmpdir directory;
	const std::string path = directory.file("users.mdb");
	REQUIRE(build(path, { "inbox@example.org" }) == USERS_OK);
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

TEST_CASE("a killed worker's session is lost to its client, those that wait are not",
	  "[front][worker]")
{
	fixture front;
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

TEST_CASE("a worker lets go of what an edge counts by when the session has ended",
	  "[front][worker]")
{
	fixture front;
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
	fixture front;
	if (GENERATE(true, false)) {
		front.setup->sink.kind = SETUP_SINK_MAILDIR;
		std::strcpy(front.setup->sink.to.text, "/nonexistent/maildir");
	} else {
		std::strcpy(front.setup->trust.users, "/nonexistent/users.mdb");
	}
	child worker([&] { return front.run(); });
	CHECK(worker.wait() == EX_NOINPUT);
}
