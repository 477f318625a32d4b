// SPDX-License-Identifier: GPL-3.0-or-later
// A checker's word that a login was right, and a worker that opens nothing without it.
#include "integration/mail/pop-front/handover/popcapsule.h"

#include "integration/mail/base/facts/bank.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/setup/popsetup.h"
#include "integration/mail/pop-front/worker/popworker.h"
#include "lib/process/clock.h"
#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

namespace
{

constexpr uint64_t NOW_US = 5000000000;
constexpr uint64_t AGE_US = 1000000;
const uint8_t KEY[TICKET_KEY_SIZE] = { 1, 2, 3 };

ticket ticket_of(const std::string &mailbox, uint64_t now_us = NOW_US, const uint8_t *key = KEY)
{
	ticket made = {};
	REQUIRE(ticket_make(key, mailbox.c_str(), now_us, &made));
	return made;
}

bool is_good(const std::string &mailbox, const ticket &shown, uint64_t now_us = NOW_US)
{
	return ticket_is_good(KEY, mailbox.c_str(), &shown, now_us, AGE_US);
}

// What the client of a worker hears that gets one capsule with that ticket, and then has no more.
struct heard {
	std::string text;
	uint64_t bad_count;
	uint64_t late_count;
};

heard worker_says(const ticket &shown)
{
	int queue[2];
	int ends[2];
	struct bank bank = {};
	auto setup = std::make_unique<popsetup>();
	auto capsule = std::make_unique<popcapsule>();
	uint8_t bytes[HANDOVER_SIZE_MAX];
	size_t size = 0;
	setup->pop.sessions_per_worker = 1;
	setup->edge.command_timeout_ms = 60000;
	setup->limits.send_timeout_ms = 10000;
	capsule->dialogue.state = POP3_AT_LOGIN_ASKED;
	capsule->dialogue.way = POP3_WAY_PLAIN;
	strcpy(capsule->dialogue.user, "john@example.org");
	strcpy(capsule->mailbox, "john@example.org");
	capsule->ticket = shown;
	capsule->queued_at_us = 1; // long ago: it is put off, if it is let in
	REQUIRE(bank_open(&popcount_table, 1, &bank) == 0);
	REQUIRE(handover_open(65536, queue) == 0);
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	REQUIRE(popcapsule_encode(capsule.get(), bytes, &size) == 0);
	const handover_fds fds = { ends[1], -1 };
	REQUIRE(handover_send(queue[0], bytes, size, &fds) == 0);
	close(ends[1]);
	nanny_child given = {};
	given.setup = setup.get();
	given.queue_fd = queue[1];
	given.counters = bank_block(&bank, 0);
	{
		child worker([&] {
			close(ends[0]);
			return popworker_run(&given, KEY);
		});
		shutdown(ends[0], SHUT_WR);
		CHECK(worker.wait() == 0);
	}
	char text[512];
	const ssize_t got = read(ends[0], text, sizeof(text));
	heard result = { std::string(text, got > 0 ? static_cast<size_t>(got) : 0),
			 bank_sum(&bank, POP_CAPSULES_BAD), bank_sum(&bank, POP_QUEUE_LATE) };
	for (int fd : { ends[0], queue[0], queue[1] })
		close(fd);
	bank_close(&bank);
	return result;
}

} // namespace

TEST_CASE("a ticket is good for its mailbox, and for a time", "[pop][ticket]")
{
	const ticket made = ticket_of("john@example.org");
	CHECK(is_good("john@example.org", made));
	CHECK(is_good("john@example.org", made, NOW_US + AGE_US));
	CHECK_FALSE(is_good("john@example.org", made, NOW_US + AGE_US + 1));
	CHECK_FALSE(is_good("john@example.org", made, NOW_US - 1));
	for (const char *other : { "mary@example.org", "john@example.or", "john@example.orgx", "" })
		CHECK_FALSE(is_good(other, made));
}

TEST_CASE("a ticket with another bit, time or key is none", "[pop][ticket]")
{
	const ticket made = ticket_of("john@example.org");
	for (size_t i = 0; i < TICKET_SUM_SIZE * 8; i++) {
		ticket altered = made;
		altered.sum[i / 8] ^= static_cast<uint8_t>(1U << i % 8);
		CHECK_FALSE(is_good("john@example.org", altered));
	}
	ticket older = made;
	older.made_us--;
	CHECK_FALSE(is_good("john@example.org", older));
	const uint8_t key[TICKET_KEY_SIZE] = { 1, 2, 4 };
	CHECK_FALSE(is_good("john@example.org", ticket_of("john@example.org", NOW_US, key)));
	CHECK_FALSE(is_good("john@example.org", ticket{}));
}

TEST_CASE("a worker lets in what a checker has let in, and nothing else", "[pop][ticket]")
{
	const heard in = worker_says(ticket_of("john@example.org", clock_now_us()));
	CHECK(in.text.substr(0, 15) == "-ERR [SYS/TEMP]");
	CHECK(in.bad_count == 0);
	CHECK(in.late_count == 1);
	for (const ticket &shown : { ticket{}, ticket_of("mary@example.org", clock_now_us()),
				     ticket_of("john@example.org", 1) }) {
		const heard out = worker_says(shown);
		CHECK(out.text.empty());
		CHECK(out.bad_count == 1);
		CHECK(out.late_count == 0);
	}
}
