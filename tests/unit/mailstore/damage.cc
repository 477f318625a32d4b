// SPDX-License-Identifier: GPL-3.0-or-later
//
// Logs and indexes that are not what a store has left: each byte changed, each length, parts that were
// moved, lost, doubled, or are of another store or another time. What is wrong is found, or does no
// harm; no mail is served in the place of another.

#include "tests/lib/mailstores.hh"

#include <cerrno>

namespace
{
using texts = std::map<std::string, std::string>; // by mailbox and id

// Whose checksums are right.
texts read_all(mail_bench &bench)
{
	texts found;
	for (const auto &[box, seen] : bench.look()) {
		for (const seen_mail &one : seen) {
			mailrow row;
			mailrecord record;
			uint8_t *meta;
			REQUIRE(mailstore_find_row(bench.store, one.mail, &row) == 0);
			if (mailstore_record(bench.store, &row, &record, &meta) != 0)
				continue;
			free(meta);
			if (mailrecord_crc(0, one.text.data(), one.text.size()) == record.body_crc)
				found[box + ' ' + one.id] = one.text;
		}
	}
	return found;
}

// Opens what is there, and looks.
struct attempt {
	int status;
	texts found;
	explicit attempt(mail_bench &bench) : status(bench.open())
	{
		if (status == 0)
			found = read_all(bench);
		bench.kill();
	}
};

using findings = std::vector<std::string>;
} // namespace

// ---- fsck ----

TEST_CASE("a damaged record at the end of the log is damage, when the index knows that it was "
	  "committed",
	  "[mailstore][damage]")
{
	mail_bench bench(1U << 20);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, "one\r\n") == 0);
	REQUIRE(bench.deliver({ "a" }, "two\r\n") == 0);
	bench.close();
	std::string &bytes = bench.disk.bytes(1);
	const size_t place = bytes.rfind("Dmr1");
	// In its head, and in its body.
	bytes[GENERATE_REF(place + 20, bytes.find("two"))] ^= 1;
	const checked done = bench.check();
	REQUIRE(done.findings.size() >= 1);
	CHECK(done.findings[0] == "a committed record is damaged");
	CHECK(done.run.uncommitted == 0);
	// Another index would not have it: opening would cut it.
	CHECK(!done.run.is_index_wrong);
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == 2);
}

TEST_CASE("a segment that was emptied and is there still is no finding", "[mailstore][damage]")
{
	bool was_emptied = false;
	for (unsigned n = 1; !was_emptied; n++) {
		CAPTURE(n);
		mail_bench bench(1U << 20);
		REQUIRE(bench.open() == 0);
		REQUIRE(bench.deliver({ "a" }, "gone\r\n") == 0);
		REQUIRE(bench.deliver({ "a", "b" }, "here\r\n") == 0);
		REQUIRE(bench.remove("a", bench.look("a")[0].mail) == 0);
		REQUIRE(mailstore_flush(bench.store) == 0);
		bench.disk.fail_after(n, -EIO);
		REQUIRE(bench.collect(101) == -EIO);
		bench.disk.work_again();
		bench.kill();
		CHECK(bench.check().findings == findings{});
		REQUIRE(bench.open() == 0);
		CHECK(bench.look("a").size() == 1);
		was_emptied = bench.recovery.orphans == 1;
	}
}

TEST_CASE("an index of an earlier time is brought up, or refused when it knows segments that went",
	  "[mailstore][damage]")
{
	mail_bench bench(1U << 20);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a", "b" }, "one\r\n") == 0);
	REQUIRE(bench.deliver({ "a" }, "two\r\n") == 0);
	REQUIRE(mailstore_flush(bench.store) == 0);
	const std::string before = bench.index();
	REQUIRE(bench.remove("a", bench.look("a")[0].mail) == 0);
	REQUIRE(bench.deliver({ "b" }, "three\r\n") == 0);
	REQUIRE(mailstore_flush(bench.store) == 0);
	const texts first = read_all(bench);
	bench.kill();
	bench.load(bench.disk.objects(), before);
	const checked behind = bench.check();
	CHECK(behind.findings == findings{});
	CHECK(behind.run.behind == 2);
	CHECK(attempt(bench).found == first);

	REQUIRE(bench.open() == 0);
	REQUIRE(bench.collect(101) == 0);
	REQUIRE(bench.deliver({ "c" }, "four\r\n") == 0);
	const texts second = read_all(bench);
	bench.close();
	bench.load(bench.disk.objects(), before);
	CHECK(bench.open() == MAILSTORE_ELOST);
	CHECK(bench.recovery.first.segment == 1);
	const checked gone = bench.check();
	CHECK(gone.findings == findings{ mailstore_strerror(MAILSTORE_ELOST) });
	CHECK(gone.run.is_index_wrong);
	bench.load(bench.disk.objects(), "");
	CHECK(attempt(bench).found == second);
}

// ---- segments ----

TEST_CASE("a record that stands twice counts once", "[mailstore][damage]")
{
	mail_bench bench(1U << 20);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, "one\r\n") == 0);
	REQUIRE(bench.deliver({ "a" }, "two\r\n") == 0);
	bench.close();
	const texts all = attempt(bench).found;
	std::string &bytes = bench.disk.bytes(1);
	bytes += bytes.substr(MAILSEGMENT_HEAD_SIZE);
	CHECK(bench.check().findings == findings{});
	REQUIRE(bench.open() == 0);
	CHECK(bench.recovery.cut > 0);
	CHECK(bench.recovery.damaged == 0);
	CHECK(read_all(bench) == all);
}

// ---- what is large, and what is nothing ----

TEST_CASE("a mail for ten thousand and one of no byte are collected as others are",
	  "[mailstore][damage]")
{
	mail_bench bench(1U << 20);
	std::vector<std::string> to;
	for (int i = 0; i < MAIL_RECIPIENTS_MAX; i++)
		to.push_back("user" + std::to_string(i));
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver(to, "") == 0);
	REQUIRE(bench.remove("user77", bench.look("user77")[0].mail) == 0);
	REQUIRE(mailstore_sync(bench.store) == 0);
	bench.kill();
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.collect(101) == 0);
	bench.close();
	CHECK(bench.check().findings == findings{});
	bench.load(bench.disk.objects(), "");
	REQUIRE(bench.open() == 0);
	mailstore_info info;
	REQUIRE(mailstore_describe(bench.store, &info) == 0);
	CHECK(info.facts.mails == 1);
	CHECK(info.facts.entries == MAIL_RECIPIENTS_MAX - 1);
	CHECK(bench.look("user77").empty());
	CHECK(bench.look("user9999")[0].text.empty());
}
