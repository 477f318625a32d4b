// SPDX-License-Identifier: GPL-3.0-or-later
//
// Logs and indexes that are not what a store has left: each byte changed, each length, parts that were
// moved, lost, doubled, or are of another store or another time. What is wrong is found, or does no
// harm; no mail is served in the place of another.

#include "tests/lib/mailstores.hh"

#include <cerrno>

namespace
{
// Two segments of generation 0 and one of generation 1; mails for one and for two, a deletion, and a
// mail without a byte.
void fill(mail_bench &bench)
{
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, "zero\r\n") == 0);
	REQUIRE(bench.deliver({ "a", "b" }, "one" + std::string(100, 'x') + "\r\n") == 0);
	REQUIRE(bench.remove("a", bench.look("a")[0].mail) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	REQUIRE(bench.collect(101) == 0);
	REQUIRE(bench.deliver({ "b" }, "") == 0);
	REQUIRE(bench.deliver({ "a", "b" }, "two" + std::string(50, 'y') + "\r\n") == 0);
	REQUIRE(maillayer_sync(bench.store) == 0);
	REQUIRE(bench.deliver({ "b" }, "three\r\n") == 0);
	bench.close();
	REQUIRE(bench.disk.objects().size() >= 3);
}

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
			REQUIRE(maillayer_find_row(bench.store, one.mail, &row) == 0);
			if (maillayer_record(bench.store, &row, &record, &meta) != 0)
				continue;
			free(meta);
			// Their lines end in CR LF, and begin with no dot.
			if (mailrecord_crc(0, one.text.data(), one.text.size()) == record.body_crc)
				found[box + ' ' + one.id] = one.text;
		}
	}
	return found;
}

bool is_part(const texts &part, const texts &all)
{
	for (const auto &[key, text] : part)
		if (all.count(key) == 0 || all.at(key) != text)
			return false;
	return true;
}

// Opens what is there, and looks.
struct attempt {
	int status;
	bool is_noticed; // by opening
	texts found;
	explicit attempt(mail_bench &bench) : status(bench.open())
	{
		is_noticed = status != 0 || bench.recovery.damaged > 0 || bench.recovery.cut > 0;
		if (status == 0)
			found = read_all(bench);
		bench.kill();
	}
};

using findings = std::vector<std::string>;
} // namespace

// ---- bytes ----

TEST_CASE("a byte that is changed anywhere in the log is found", "[mailstore][damage]")
{
	const bool has_index = GENERATE(true, false);
	CAPTURE(has_index);
	mail_bench bench(700);
	fill(bench);
	const sim_disk::objects_type kept = bench.disk.objects();
	const std::string index = has_index ? bench.index() : "";
	bench.load(kept, index);
	const texts all = attempt(bench).found;
	REQUIRE(all.size() == 6);
	for (const auto &[number, o] : kept) {
		for (size_t at = 0; at < o.seen.size(); at++) {
			INFO("object " << number << " at " << at);
			sim_disk::objects_type changed = kept;
			std::string &bytes = changed[number].seen;
			bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
			changed[number].kept = bytes;
			bench.load(changed, index);
			const checked checked = bench.check();
			const attempt after(bench);
			HOLDS(is_part(after.found, all));
			HOLDS(checked.status != 0 || checked.findings.size() > !has_index ||
			      after.is_noticed);
			// What the index knows to be committed is never called uncommitted.
			HOLDS(!has_index || checked.run.uncommitted == 0);
			HOLDS(after.status == 0 || number == 0 || !has_index);
		}
	}
	CHECK(!all.empty());
}

TEST_CASE("a record whose end is lost is none", "[mailstore][damage]")
{
	mail_bench bench(1U << 20);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, "x\r\n") == 0);
	REQUIRE(maillayer_sync(bench.store) == 0);
	const size_t size = bench.disk.bytes(1).size();
	REQUIRE(bench.deliver({ "a" }, "y\r\n") == 0);
	bench.kill();
	std::string &bytes = bench.disk.bytes(1);
	const size_t end = bytes.rfind(".\r\n");
	REQUIRE(end > size);
	// The power went when the sector before it was on disk, and the length.
	bytes.replace(end, 3, 3, '\0');
	REQUIRE(bench.open() == 0);
	CHECK(bench.recovery.cut > 0);
	CHECK(bench.look("a").size() == 1);
}

TEST_CASE("a log that is cut anywhere is refused with its index, and has what is before without",
	  "[mailstore][damage]")
{
	mail_bench bench(700);
	fill(bench);
	const sim_disk::objects_type kept = bench.disk.objects();
	const std::string index = bench.index();
	const texts all = attempt(bench).found;
	for (const auto &[number, o] : kept) {
		for (size_t size = 0; number > 0 && size < o.seen.size(); size++) {
			INFO("object " << number << " of " << size);
			sim_disk::objects_type cut = kept;
			cut[number].seen.resize(size);
			cut[number].kept = cut[number].seen;
			bench.load(cut, index);
			HOLDS(bench.open() == MAILSTORE_EAHEAD);
			HOLDS(bench.recovery.first.segment == number);
			if (size % 16 == 0) {
				const checked checked = bench.check();
				HOLDS(checked.run.is_index_wrong);
			}
			bench.load(cut, "");
			const attempt after(bench);
			HOLDS(after.status == 0);
			HOLDS(is_part(after.found, all));
		}
	}
	CHECK(!all.empty());
}

namespace
{
// Segments of two generations, each of which has others behind it; all mails of one collection are one commit.
void fill_two_generations(mail_bench &bench)
{
	REQUIRE(bench.open() == 0);
	for (unsigned i = 0; i < 80; i++)
		REQUIRE(bench.deliver({ "a" }, std::to_string(i) + std::string(60, 'x') + "\r\n") ==
			0);
	REQUIRE(maillayer_sync(bench.store) == 0);
	for (unsigned i = 0; i < 3; i++)
		REQUIRE(bench.collect(101) == 0);
	bench.close();
}

unsigned generation_of(const std::string &bytes)
{
	return static_cast<unsigned char>(bytes[15]);
}

std::vector<uint64_t> find_followed(const sim_disk::objects_type &objects)
{
	std::vector<uint64_t> found;
	for (const auto &[number, o] : objects)
		for (const auto &[other, p] : objects)
			if (number != 0 && other > number &&
			    generation_of(p.seen) == generation_of(o.seen)) {
				found.push_back(number);
				break;
			}
	return found;
}

size_t count_missing(const texts &found, const texts &all)
{
	size_t count = 0;
	for (const auto &[key, text] : all)
		count += found.count(key) == 0;
	return count;
}
} // namespace

TEST_CASE("without an index a damaged record takes none with it, in a segment that another has "
	  "followed",
	  "[mailstore][damage]")
{
	mail_bench bench(2000);
	fill_two_generations(bench);
	const sim_disk::objects_type kept = bench.disk.objects();
	bench.load(kept, "");
	const texts all = attempt(bench).found;
	REQUIRE(all.size() == 80);
	const std::vector<uint64_t> followed = find_followed(kept);
	std::set<unsigned> generations;
	for (const uint64_t number : followed) {
		const std::string &bytes = kept.at(number).seen;
		generations.insert(generation_of(bytes));
		for (size_t at = bytes.find("Dmr1"); at != std::string::npos;
		     at = bytes.find("Dmr1", at + 1)) {
			INFO("object " << number << " at " << at);
			sim_disk::objects_type changed = kept;
			changed[number].seen[at + 20] ^= 1;
			changed[number].kept = changed[number].seen;
			bench.load(changed, "");
			const checked checked = bench.check();
			HOLDS(checked.run.uncommitted == 0);
			HOLDS(checked.findings.size() == 2);
			const attempt after(bench);
			HOLDS(after.status == 0);
			HOLDS(count_missing(after.found, all) == 1);
			HOLDS(bench.recovery.damaged == 1);
			HOLDS(bench.recovery.cut == 0);
			if (bytes.find("Dmr1", at + 1) != std::string::npos)
				continue;
			// A collection leaves the segment to mail-store fsck, also for its last record.
			HOLDS(bench.open() == 0);
			for (unsigned i = 0; i < 40; i++)
				(void)bench.collect(101);
			HOLDS(bench.disk.objects().count(number) == 1);
			bench.kill();
		}
	}
	CHECK(generations == std::set<unsigned>{ 0, 1 });
}

TEST_CASE("without an index a segment whose beginning is lost has what is behind that",
	  "[mailstore][damage]")
{
	mail_bench bench(2000);
	fill_two_generations(bench);
	const sim_disk::objects_type kept = bench.disk.objects();
	bench.load(kept, "");
	const texts all = attempt(bench).found;
	for (const uint64_t number : find_followed(kept)) {
		INFO("object " << number);
		sim_disk::objects_type changed = kept;
		changed[number].seen.replace(0, MAILSEGMENT_HEAD_SIZE + 8,
					     MAILSEGMENT_HEAD_SIZE + 8, '\0');
		changed[number].kept = changed[number].seen;
		bench.load(changed, "");
		const attempt after(bench);
		HOLDS(after.status == 0);
		HOLDS(count_missing(after.found, all) == 1);
		HOLDS(bench.disk.objects().count(number) == 1);
	}
}

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
		REQUIRE(maillayer_flush(bench.store) == 0);
		bench.disk.fail_after(n, -EIO);
		const int ret = bench.collect(101);
		REQUIRE((ret == -EIO || ret == MAILSTORE_EDAMAGED));
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
	REQUIRE(maillayer_flush(bench.store) == 0);
	const std::string before = bench.index();
	REQUIRE(bench.remove("a", bench.look("a")[0].mail) == 0);
	REQUIRE(bench.deliver({ "b" }, "three\r\n") == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
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

TEST_CASE("an index that knows a segment that went is wrong, also when the log is damaged",
	  "[mailstore][damage]")
{
	mail_bench bench(700);
	fill(bench);
	sim_disk::objects_type left = bench.disk.objects();
	left.erase(std::next(left.begin()));
	left.rbegin()->second.seen[20] ^= 1;
	bench.load(left, bench.index());
	const checked done = bench.check();
	CHECK(done.run.is_log_damaged);
	CHECK(done.run.is_index_wrong);
	CHECK(bench.open() == MAILSTORE_ELOST);
}

TEST_CASE("an index that was never finished is made anew, and another file is left alone",
	  "[mailstore][damage]")
{
	mail_bench bench(1U << 20);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, "one\r\n") == 0);
	bench.close();
	const std::string index = bench.index();
	const std::string left =
		GENERATE_COPY(index.substr(0, 4096), index.substr(0, 5), std::string(100000, '\0'));
	bench.load(bench.disk.objects(), left);
	REQUIRE(bench.open() == 0);
	CHECK(bench.recovery.was_built);
	CHECK(bench.look("a").size() == 1);
	bench.close();
	CHECK(bench.check().findings == findings{});
	const std::string other = std::string(5000, '\0') + "x" + std::string(100000, '\0');
	bench.load(bench.disk.objects(), other);
	CHECK(bench.open() == STORE_ENOTSTORE);
	CHECK(bench.index() == other);
}

// ---- segments ----

TEST_CASE("segments in each other's place are not read, and never removed", "[mailstore][damage]")
{
	const bool has_index = GENERATE(true, false);
	CAPTURE(has_index);
	mail_bench bench(700);
	fill(bench);
	sim_disk::objects_type moved = bench.disk.objects();
	const uint64_t one = std::next(moved.begin())->first;
	const uint64_t other = moved.rbegin()->first;
	REQUIRE(one != other);
	std::swap(moved[one], moved[other]);
	bench.load(moved, has_index ? bench.index() : "");
	const checked checked = bench.check();
	CHECK(checked.status == MAILSTORE_EDAMAGED);
	CHECK(checked.findings.size() > (has_index ? 1 : 0));
	const attempt after(bench);
	if (!has_index) {
		CHECK(after.status == MAILSTORE_EDAMAGED);
		CHECK(bench.recovery.first.segment == one);
	}
	CHECK(bench.disk.objects().size() == moved.size());
	CHECK(bench.disk.bytes(one) == moved[one].seen);
	CHECK(bench.disk.bytes(other) == moved[other].seen);
}

TEST_CASE("a segment of another store or another schema is not read, and never removed",
	  "[mailstore][damage]")
{
	const bool is_schema = GENERATE(true, false);
	mail_bench bench(700);
	mail_bench strange(700);
	fill(bench);
	fill(strange);
	sim_disk::objects_type objects = bench.disk.objects();
	sim_disk::object added = strange.disk.objects().rbegin()->second;
	const uint64_t number = strange.disk.objects().rbegin()->first;
	if (is_schema) {
		added = objects.rbegin()->second;
		added.seen[11] = 2;
		const uint32_t crc = mailrecord_crc(0, added.seen.data(), 60);
		for (unsigned i = 0; i < 4; i++)
			added.seen[60 + i] = static_cast<char>(crc >> (24 - 8 * i));
	}
	objects[number + 1] = added;
	bench.load(objects, bench.index());
	CHECK(bench.open() == (is_schema ? MAILSTORE_ESCHEMA : MAILSTORE_EDAMAGED));
	const checked checked = bench.check();
	CHECK(checked.status == (is_schema ? MAILSTORE_ESCHEMA : MAILSTORE_EDAMAGED));
	CHECK(checked.findings.size() == (is_schema ? 0 : 1));
	CHECK(bench.disk.bytes(number + 1) == added.seen);
}

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
	REQUIRE(maillayer_sync(bench.store) == 0);
	bench.kill();
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.collect(101) == 0);
	bench.close();
	CHECK(bench.check().findings == findings{});
	bench.load(bench.disk.objects(), "");
	REQUIRE(bench.open() == 0);
	mailstore_info info;
	REQUIRE(maillayer_describe(bench.store, &info) == 0);
	CHECK(info.facts.mails == 1);
	CHECK(info.facts.entries == MAIL_RECIPIENTS_MAX - 1);
	CHECK(bench.look("user77").empty());
	CHECK(bench.look("user9999")[0].text.empty());
}

TEST_CASE("an index that a repair has made knows nothing that the power may take",
	  "[mailstore][damage]")
{
	for (unsigned seed = 1; seed < 20; seed++) {
		CAPTURE(seed);
		mail_bench bench(4096, seed);
		REQUIRE(bench.open() == 0);
		REQUIRE(bench.deliver({ "a" }, "first\r\n") == 0);
		REQUIRE(maillayer_flush(bench.store) == 0);
		REQUIRE(bench.deliver({ "a" }, "second\r\n") == 0);
		bench.kill();
		unlink(bench.index_path().c_str());
		REQUIRE(bench.check(true).run.is_index_wrong);
		bench.disk.cut_power();
		REQUIRE(bench.open() == 0);
		CHECK(bench.look("a").size() == 2);
	}
}

TEST_CASE("a segment that was emptied and is there still brings nothing back behind a repair",
	  "[mailstore][damage]")
{
	bool was_emptied = false;
	for (unsigned n = 1; !was_emptied; n++) {
		CAPTURE(n);
		mail_bench bench(2000);
		REQUIRE(bench.open() == 0);
		REQUIRE(bench.deliver({ "a" }, std::string(1500, 'x') + "\r\n") == 0);
		REQUIRE(bench.deliver({ "b" }, std::string(1000, 'x') + "\r\n") == 0);
		// The last one has the copy of what is deleted in the one before.
		REQUIRE(bench.collect(101) == 0);
		REQUIRE(bench.disk.objects().count(3) == 1);
		REQUIRE(bench.remove("a", bench.look("a")[0].mail) == 0);
		REQUIRE(maillayer_flush(bench.store) == 0);
		bench.disk.fail_after(n, -EIO, true);
		const int ret = bench.collect(10);
		REQUIRE((ret == -EIO || ret == MAILSTORE_EDAMAGED));
		uint64_t segment = 0;
		segmentrow row;
		reader *index = nullptr;
		REQUIRE(mailstore_reader(bench.store, &index) == 0);
		was_emptied = mailindex_segment(index, 3, &segment, &row) != 0;
		bench.close();
		if (!was_emptied)
			continue;
		REQUIRE(bench.disk.objects().count(3) == 1);
		REQUIRE(bench.check(true).findings.empty());
		REQUIRE(bench.open() == 0);
		CHECK(bench.look("a").empty());
		CHECK(bench.look("b").size() == 1);
		CHECK(bench.disk.objects().count(3) == 0);
	}
}

TEST_CASE("a segment without a record that can be read stays, also behind further starts",
	  "[mailstore][damage]")
{
	const bool has_index = GENERATE(false, true);
	mail_bench bench(700);
	REQUIRE(bench.open() == 0);
	const std::string index = has_index ? bench.index() : "";
	for (const char *box : { "a", "b", "c" })
		REQUIRE(bench.deliver({ box }, std::string(700, 'x') + "\r\n") == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	bench.close();
	bench.disk.bytes(1)[MAILSEGMENT_HEAD_SIZE + 40] ^= 1;
	bench.load(sim_disk::objects_type(bench.disk.objects()), index);
	for (int starts = 0; starts < 3; starts++) {
		CAPTURE(starts);
		REQUIRE(bench.open() == 0);
		CHECK(bench.recovery.damaged == (starts == 0 ? 1 : 0));
		CHECK(bench.recovery.orphans == 0);
		CHECK(bench.collect(50) == MAILSTORE_EDAMAGED);
		CHECK(bench.look("b").size() == 1);
		bench.close();
	}
	CHECK(bench.disk.objects().count(1) == 1);
}
