// SPDX-License-Identifier: GPL-3.0-or-later
// Counters in shared memory.
#include "integration/mail/smtp-front/facts/tally.h"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

TEST_CASE("what several processes have counted is one sum", "[front][tally]")
{
	struct tally_bank bank = {};
	struct tally sum = {};
	REQUIRE(tally_open(2, &bank) == 0);
	const pid_t child = fork();
	if (child == 0) {
		tally_add(&bank.slots[1], TALLY_ACCEPTED, 2);
		tally_set(&bank.slots[1], TALLY_SESSIONS, 1);
		_exit(0);
	}
	int status = -1;
	REQUIRE(waitpid(child, &status, 0) == child);
	tally_add(&bank.slots[0], TALLY_ACCEPTED, 3);
	tally_set(&bank.slots[0], TALLY_SESSIONS, 4);
	tally_sum(&bank, &sum);
	CHECK(sum.values[TALLY_ACCEPTED] == 5);
	CHECK(sum.values[TALLY_RELOADS_REFUSED] == 0);
	CHECK(sum.gauges[TALLY_SESSIONS] == 5);

	tally_clear_gauges(&bank.slots[1]);
	tally_sum(&bank, &sum);
	CHECK(sum.gauges[TALLY_SESSIONS] == 4);
	CHECK(sum.values[TALLY_ACCEPTED] == 5);
	tally_add(nullptr, TALLY_ACCEPTED, 1);
	tally_close(&bank);
}
