// SPDX-License-Identifier: GPL-3.0-or-later
//
// A collection that does not get to its end, and what is deleted and collected behind it: an index
// that is made from the log alone says what the one before said.

#include "tests/lib/mailstores.hh"

#include <cerrno>

namespace
{
std::string make_text(const std::string &name, size_t size)
{
	return name + std::string(size, 'x') + "\r\n";
}

std::vector<std::string> names_in(mail_bench &bench, const std::string &box)
{
	std::vector<std::string> names;
	for (const seen_mail &one : bench.look(box))
		names.push_back(one.text.substr(0, 1));
	return names;
}

uint64_t number_in(mail_bench &bench, const std::string &box, const std::string &name)
{
	for (const seen_mail &one : bench.look(box))
		if (one.text.substr(0, 1) == name)
			return one.mail;
	FAIL("no such mail");
	return 0;
}

using names = std::vector<std::string>;

// Segment 1 has the mails 0, 1 and 2, of which 0 and 1 were copied before the disk was full.
void interrupt_a_collection(mail_bench &bench)
{
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a", "b" }, make_text("0", 2000)) == 0);
	REQUIRE(bench.deliver({ "a", "b" }, make_text("1", 300)) == 0);
	REQUIRE(bench.deliver({ "c" }, make_text("2", 10000)) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	// Each copy is the end of reading its record.
	int ret = -ENOSPC;
	for (unsigned n = 1; ret != 0; n++) {
		bench.disk.fail_after(n, -ENOSPC, true);
		ret = bench.collect(101);
		bench.disk.work_again();
		REQUIRE((ret == 0 || ret == -ENOSPC));
		const auto objects = bench.disk.objects();
		if (objects.count(2) == 1 && objects.at(2).seen.find("1xxx") != std::string::npos)
			break;
	}
	REQUIRE(ret == -ENOSPC);
	REQUIRE(bench.disk.objects().count(1) == 1);
}
} // namespace

TEST_CASE("what is deleted behind a collection that was interrupted does not come back",
	  "[mailstore][collect]")
{
	mail_bench bench(16000);
	interrupt_a_collection(bench);
	// In a segment of its own, of which little lives.
	REQUIRE(bench.deliver({ "d" }, make_text("3", 4000)) == 0);
	REQUIRE(bench.remove("d", number_in(bench, "d", "3")) == 0);
	REQUIRE(bench.remove("a", number_in(bench, "a", "0")) == 0);
	REQUIRE(bench.remove("b", number_in(bench, "b", "0")) == 0);
	REQUIRE(bench.remove("a", number_in(bench, "a", "1")) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	// All but the first segment, which is better.
	int ret;
	while ((ret = bench.collect(75)) == 0) {
	}
	REQUIRE(ret == DNSBLV6_ENOTFOUND);
	REQUIRE(bench.disk.objects().count(1) == 1);
	REQUIRE(bench.disk.objects().count(2) == 0);
	CHECK(names_in(bench, "a").empty());
	CHECK(names_in(bench, "b") == names{ "1" });
	bench.close();
	CHECK(bench.check().findings == names{});
	bench.load(bench.disk.objects(), "");
	REQUIRE(bench.open() == 0);
	CHECK(names_in(bench, "a").empty());
	CHECK(names_in(bench, "b") == names{ "1" });
	CHECK(bench.look().size() == 2);
	// And when the rest is collected, the space of all is given back.
	while ((ret = bench.collect(101)) == 0 && bench.disk.objects().count(1) == 1) {
	}
	REQUIRE(ret == 0);
	CHECK(names_in(bench, "b") == names{ "1" });
	CHECK(names_in(bench, "c") == names{ "2" });
}

TEST_CASE("an id that was given to another mail since stays that mail's", "[mailstore][collect]")
{
	const bool is_repeated = GENERATE(false, true);
	mail_bench bench(16000);
	interrupt_a_collection(bench);
	mailid id;
	mailentry entry;
	REQUIRE(maillayer_find(bench.store, name_of("a"), 0, &entry) == 0);
	id = entry.id;
	for (const char *box : { "a", "b" })
		for (const char *name : { "0", "1" })
			REQUIRE(bench.remove(box, number_in(bench, box, name)) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	// All but the first segment, whose record of the mail stays.
	int ret;
	while ((ret = bench.collect(75)) == 0) {
	}
	REQUIRE(ret == DNSBLV6_ENOTFOUND);
	REQUIRE(bench.disk.objects().count(1) == 1);
	REQUIRE(bench.disk.objects().count(2) == 0);
	const std::string text = make_text("9", 16000);
	REQUIRE(bench.deliver({ "e" }, text, &id, true) == 0);
	bench.close();
	bench.load(bench.disk.objects(), "");
	REQUIRE(bench.open() == 0);
	// Now the first one, with what the index knows again of the first mail.
	REQUIRE(bench.remove("c", number_in(bench, "c", "2")) == 0);
	REQUIRE(bench.collect(75) == 0);
	REQUIRE(bench.disk.objects().count(1) == 0);
	uint64_t mail = 0;
	CHECK(maillayer_find_id(bench.store, {}, &id, &mail) == 0);
	CHECK(mail == number_in(bench, "e", "9"));
	if (is_repeated)
		CHECK(bench.deliver({ "e" }, text, &id, true) == 0);
	CHECK(names_in(bench, "e") == names{ "9" });
	// Emptied as well, its segment goes from the index, too.
	REQUIRE(bench.remove("e", number_in(bench, "e", "9")) == 0);
	while ((ret = bench.collect(75)) == 0) {
	}
	CHECK(ret == DNSBLV6_ENOTFOUND);
	bench.close();
	CHECK(bench.check().findings == names{});
	REQUIRE(bench.open() == 0);
	CHECK(bench.look().empty());
}

TEST_CASE("a segment that was emptied and cannot be removed stops the store until it is",
	  "[mailstore][collect]")
{
	bool was_emptied = false;
	for (unsigned n = 1; !was_emptied; n++) {
		CAPTURE(n);
		mail_bench bench(16000);
		REQUIRE(bench.open() == 0);
		REQUIRE(bench.deliver({ "a", "b" }, make_text("0", 2000)) == 0);
		REQUIRE(maillayer_flush(bench.store) == 0);
		bench.disk.fail_after(n, -EIO, true);
		const int ret = bench.collect(101);
		REQUIRE((ret == -EIO || ret == MAILSTORE_EDAMAGED));
		uint64_t segment = 0;
		segmentrow row;
		reader *index = nullptr;
		REQUIRE(mailstore_reader(bench.store, &index) == 0);
		REQUIRE(mailindex_segment(index, 1, &segment, &row) == 0);
		was_emptied = segment != 1;
		if (!was_emptied)
			continue;
		REQUIRE(bench.disk.objects().count(1) == 1);
		CHECK(bench.deliver({ "a" }, "x\r\n") == MAILSTORE_EFAILED);
		CHECK(bench.remove("a", 1) == MAILSTORE_EFAILED);
		CHECK(bench.collect(101) == MAILSTORE_EFAILED);
		bench.close();
		REQUIRE(bench.open() == 0);
		CHECK(bench.recovery.orphans == 1);
		CHECK(bench.disk.objects().count(1) == 0);
		CHECK(names_in(bench, "a") == names{ "0" });
	}
}

TEST_CASE("a segment that the disk does not give keeps no other from being emptied",
	  "[mailstore][collect]")
{
	mail_bench bench(700);
	REQUIRE(bench.open() == 0);
	for (const char *box : { "a", "b" })
		REQUIRE(bench.deliver({ box }, make_text(box, 700)) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	bench.disk.fail_after(1, -EIO, true);
	CHECK(bench.collect(101) == MAILSTORE_EDAMAGED);
	CHECK(bench.collect(101) == 0);
	CHECK(bench.disk.objects().count(1) == 1);
	CHECK(bench.disk.objects().count(2) == 0);
	CHECK(names_in(bench, "a") == names{ "a" });
	CHECK(names_in(bench, "b") == names{ "b" });
}

TEST_CASE("a segment whose emptying the index took late is removed then", "[mailstore][collect]")
{
	mail_bench bench(16000);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, make_text("0", 2000)) == 0);
	CHECK(names_in(bench, "a") == names{ "0" });
	// The index can be read, as it is open, and not be written.
	const std::string kept = bench.index_path() + ".kept";
	REQUIRE(rename(bench.index_path().c_str(), kept.c_str()) == 0);
	REQUIRE(symlink("nowhere", bench.index_path().c_str()) == 0);
	CHECK(bench.collect(101) != 0);
	CHECK(bench.disk.objects().count(1) == 1);
	REQUIRE(unlink(bench.index_path().c_str()) == 0);
	REQUIRE(rename(kept.c_str(), bench.index_path().c_str()) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	CHECK(bench.disk.objects().count(1) == 0);
	CHECK(names_in(bench, "a") == names{ "0" });
	bench.close();
	CHECK(bench.check().findings == names{});
}

TEST_CASE("a segment that a full disk has no room to copy gives way to one with less to copy",
	  "[mailstore][collect]")
{
	mail_bench bench(3000);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, make_text("0", 2000)) == 0);
	REQUIRE(bench.collect(101) == 0);
	REQUIRE(bench.deliver({ "a" }, make_text("1", 2000)) == 0);
	REQUIRE(bench.remove("a", number_in(bench, "a", "0")) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	// The second is of the generation above and has nothing that lives.
	uint64_t segment = 0;
	int ret = -EIO;
	for (unsigned n = 1; ret != -ENOSPC; n++) {
		REQUIRE(n < 20);
		bench.disk.fail_after(n, -ENOSPC, true);
		ret = maillayer_collect(bench.store, 101, &segment);
		bench.disk.work_again();
	}
	REQUIRE(segment == 3);
	CHECK(maillayer_collect(bench.store, 101, &segment) == 0);
	CHECK(segment == 2);
	CHECK(maillayer_collect(bench.store, 101, &segment) == 0);
	CHECK(segment == 3);
	CHECK(names_in(bench, "a") == names{ "1" });
	bench.close();
	CHECK(bench.check().findings == names{});
}

TEST_CASE("a segment with more to copy than the disk has room for is left alone",
	  "[mailstore][collect]")
{
	mail_bench bench(3000);
	REQUIRE(bench.open() == 0);
	for (const char *name : { "0", "1" })
		REQUIRE(bench.deliver({ "a" }, make_text(name, 2000)) == 0);
	REQUIRE(bench.deliver({ "b" }, make_text("2", 2000)) == 0);
	REQUIRE(bench.remove("b", number_in(bench, "b", "2")) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	const size_t count = bench.disk.objects().size();
	// For the deletion that the last one has, and not for the mails of the first.
	bench.disk.room = (128 << 10) + 1000;
	CHECK(bench.collect(101) == 0);
	CHECK(bench.disk.objects().size() == count - 1);
	const std::map<uint64_t, sim_disk::object> before = bench.disk.objects();
	CHECK(bench.collect(101) == -ENOSPC);
	for (const auto &[number, object] : bench.disk.objects())
		CHECK(object.seen == before.at(number).seen);
	CHECK(names_in(bench, "a") == names{ "0", "1" });
	bench.disk.room = UINT64_MAX;
	CHECK(bench.collect(101) == 0);
	CHECK(names_in(bench, "a") == names{ "0", "1" });
}

TEST_CASE("what was synced counts as that when its segment is collected", "[mailstore][collect]")
{
	mail_bench bench(3000);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, make_text("0", 100)) == 0);
	const mailplace end = maillayer_end(bench.store);
	CHECK_FALSE(maillayer_has_synced(bench.store, end));
	REQUIRE(bench.collect(101) == 0);
	CHECK(maillayer_has_synced(bench.store, end));
	CHECK_FALSE(maillayer_has_synced(bench.store, mailplace{ end.segment + 1, 0 }));
}
