// SPDX-License-Identifier: GPL-3.0-or-later
// What processes count in memory that they share.
#include "integration/mail/base/facts/bank.h"

#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{

enum number { MAILS, LETTERS_LOST, COUNTERS, OPEN = COUNTERS, BUSY, NUMBERS };

const counts_label counters[] = { { "mails", "Mails." }, { "letters-lost", "Letters lost." } };
const counts_label gauges[] = { { "open", "Those that are open." }, { "busy", "Those at work." } };
const bank_table table = { "post-office", "post_office", counters, 2, gauges, 2 };

class opened
{
      public:
	explicit opened(size_t blocks)
	{
		REQUIRE(bank_open(&table, blocks, &bank) == 0);
	}
	~opened()
	{
		bank_close(&bank);
		bank_close(&bank);
	}
	opened(const opened &) = delete;
	opened &operator=(const opened &) = delete;

	uint64_t *block(size_t index) const
	{
		return bank_block(&bank, index);
	}
	uint64_t sum(unsigned number) const
	{
		return bank_sum(&bank, number);
	}

	struct bank bank = {};
};

// What goes to standard error meanwhile.
template <typename Work> std::string logged(Work work)
{
	int ends[2];
	REQUIRE(pipe(ends) == 0);
	const int before = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	work();
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[1]);
	char text[4096];
	const ssize_t size = read(ends[0], text, sizeof(text));
	close(ends[0]);
	return { text, static_cast<size_t>(size > 0 ? size : 0) };
}

} // namespace

TEST_CASE("a bank is zero, and sums what its blocks have", "[mail][bank]")
{
	const opened with(3);
	for (unsigned i = 0; i < NUMBERS; i++)
		CHECK(with.sum(i) == 0);
	bank_add(with.block(0), MAILS, 1);
	bank_add(with.block(2), MAILS, 40);
	bank_add(with.block(2), MAILS, 1);
	bank_set(with.block(1), OPEN, 7);
	bank_set(with.block(1), OPEN, 5);
	bank_set(with.block(2), OPEN, 3);
	CHECK(with.sum(MAILS) == 42);
	CHECK(with.sum(OPEN) == 8);
	CHECK(with.sum(LETTERS_LOST) == 0);
	CHECK(with.sum(BUSY) == 0);
}

TEST_CASE("blocks begin in cache lines of their own", "[mail][bank]")
{
	const opened with(4);
	for (size_t i = 0; i < 4; i++)
		CHECK(reinterpret_cast<uintptr_t>(with.block(i)) % 64 == 0);
	CHECK(with.block(1) - with.block(0) >= NUMBERS);
}

TEST_CASE("a block that is not there counts nothing", "[mail][bank]")
{
	bank_add(nullptr, MAILS, 1);
	bank_set(nullptr, OPEN, 1);
	const opened with(1);
	CHECK(with.sum(MAILS) == 0);
}

TEST_CASE("what a process has counted is there when it has ended, but not its gauges",
	  "[mail][bank]")
{
	const opened with(2);
	bank_set(with.block(0), OPEN, 1);
	child other([&] {
		bank_add(with.block(1), MAILS, 3);
		bank_set(with.block(1), OPEN, 9);
		bank_set(with.block(1), BUSY, 9);
		::kill(getpid(), SIGKILL);
		return 0;
	});
	CHECK(other.wait() == 1000 + SIGKILL);
	CHECK(with.sum(OPEN) == 10);
	bank_clear_gauges(&with.bank, 1);
	CHECK(with.sum(MAILS) == 3);
	CHECK(with.sum(OPEN) == 1);
	CHECK(with.sum(BUSY) == 0);
}

TEST_CASE("a file has all numbers with their names and sentences", "[mail][bank]")
{
	const opened with(2);
	bank_add(with.block(0), LETTERS_LOST, 2);
	bank_add(with.block(1), LETTERS_LOST, UINT64_C(10000000000));
	bank_set(with.block(1), BUSY, 4);
	const tmpdir directory;
	const std::string path = directory.file("metrics.prom");
	write_file(path, "what was there before\n");
	REQUIRE(bank_write(&with.bank, path.c_str()) == 0);
	const std::string text = read_file(path);
	for (const char *part :
	     { "# HELP post_office_mails_total Mails.\n# TYPE post_office_mails_total counter\n"
	       "post_office_mails_total 0\n",
	       "post_office_letters_lost_total 10000000002\n",
	       "# TYPE post_office_busy gauge\npost_office_busy 4\n", "post_office_open 0\n" }) {
		CAPTURE(part);
		CHECK(text.find(part) != std::string::npos);
	}
	CHECK(text.find("before") == std::string::npos);
	CHECK(bank_write(&with.bank, directory.file("none/metrics.prom").c_str()) == -ENOENT);
}

TEST_CASE("a line has all gauges, and the counters that are not 0", "[mail][bank]")
{
	const opened with(1);
	CHECK(logged([&] { bank_log(&with.bank); }) ==
	      "info: [post-office] counters, open=0 busy=0\n");
	bank_add(with.block(0), LETTERS_LOST, 2);
	bank_set(with.block(0), OPEN, 3);
	CHECK(logged([&] { bank_log(&with.bank); }) ==
	      "info: [post-office] counters, open=3 busy=0 letters-lost=2\n");
}

TEST_CASE("a bank without blocks, or of too many numbers, is none", "[mail][bank]")
{
	bank bank = {};
	CHECK(bank_open(&table, 0, &bank) == -EINVAL);
	const std::vector<counts_label> many(97, { "x", "X." });
	const bank_table large = { "x", "x", many.data(), 97, gauges, 2 };
	CHECK(bank_open(&large, 1, &bank) == -EINVAL);
	const bank_table other = { "x", "x", counters, 2, many.data(), 97 };
	CHECK(bank_open(&other, 1, &bank) == -EINVAL);
	CHECK(bank.blocks == nullptr);
	bank_close(&bank);
}
