// SPDX-License-Identifier: GPL-3.0-or-later
//
// Indexes that were made once, and are put back later: behind others that were made since, of a store
// that was put back as a whole, of a version before. Each is refused, or has every mail that was
// committed and not deleted, and none that was.

#include "lib/process/sanitized.h"
#include "tests/lib/mailstores.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"

#include <cstdlib>

namespace
{
const char *const BOXES[] = { "a", "b", "c" };

// The store as it is, or as it was.
struct copy {
	sim_disk::objects_type objects;
	std::string index;
	known_mails mails;
};

class world
{
      public:
	explicit world(unsigned seed) : rnd_(seed), bench_(1500 + rnd_.below(3000), seed)
	{
		open();
	}

	void run(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			step();
			if (rnd_.one_in(12))
				indexes_.push_back(bench_.index());
			if (rnd_.one_in(40))
				stores_.push_back(
					{ bench_.disk.objects(), bench_.index(), mails_ });
			if (rnd_.one_in(15))
				restart();
		}
		restart();
	}
	unsigned refused() const
	{
		return refused_;
	}

      private:
	static bool is_refusal(int status)
	{
		return status == MAILSTORE_EOLD || status == MAILSTORE_ELOST ||
		       status == MAILSTORE_EAHEAD;
	}

	// As a person does it, who takes away an index that is refused. None is that was not put back.
	void open(bool is_put_back = false)
	{
		int ret = bench_.open();
		if (is_put_back && is_refusal(ret)) {
			refused_++;
			const checked done = bench_.check();
			CHECK(done.run.is_index_wrong);
			if (rnd_.one_in(2))
				bench_.check(true);
			else
				bench_.load(objects(), "");
			ret = bench_.open();
		}
		INFO(mailstore_strerror(ret));
		REQUIRE(ret == 0);
		CHECK(bench_.recovery.damaged == 0);
	}
	sim_disk::objects_type objects()
	{
		return bench_.disk.objects();
	}

	void restart()
	{
		if (rnd_.one_in(2)) {
			bench_.close();
			commit(mails_);
		} else {
			bench_.kill();
			if (rnd_.one_in(2))
				bench_.disk.cut_power();
		}
		bool is_put_back = false;
		if (rnd_.one_in(4))
			bench_.load(objects(), "");
		else if (!stores_.empty() && rnd_.one_in(8))
			put_store_back();
		else if (!indexes_.empty() && rnd_.one_in(2)) {
			bench_.load(objects(), indexes_[rnd_.below(indexes_.size())]);
			is_put_back = true;
		}
		open(is_put_back);
		const seen_boxes found = bench_.look();
		compare(found, mails_);
		take_over(mails_, found);
		if (rnd_.one_in(4)) {
			const checked done = bench_.check();
			CHECK(done.findings == std::vector<std::string>{});
		}
	}

	// What was taken later is gone with that, but for its indexes.
	void put_store_back()
	{
		const copy &back = stores_[rnd_.below(stores_.size())];
		bench_.load(back.objects, back.index);
		mails_ = back.mails;
	}

	void step()
	{
		bench_.time_us++;
		switch (rnd_.below(8)) {
		case 0:
		case 1:
		case 2:
			deliver();
			break;
		case 3:
			remove();
			break;
		case 4:
		case 5:
			REQUIRE(maillayer_sync(bench_.store) == 0);
			commit(mails_);
			break;
		case 6:
			if (rnd_.one_in(6))
				empty();
			REQUIRE(maillayer_flush(bench_.store) == 0);
			commit(mails_);
			break;
		default:
			collect();
		}
	}

	void deliver()
	{
		std::set<std::string> to{ BOXES[rnd_.below(3)] };
		if (rnd_.one_in(3))
			to.insert(BOXES[rnd_.below(3)]);
		const std::string text = std::to_string(++count_) + "\r\n" +
					 std::string(rnd_.below(600), 'x') + "\r\n";
		mailid id;
		REQUIRE(bench_.deliver({ to.begin(), to.end() }, text, &id) == 0);
		mails_[text].to = to;
		mails_[text].id = text_of(id);
	}

	void remove()
	{
		const std::string box = BOXES[rnd_.below(3)];
		for (unsigned count = rnd_.below(4); count > 0; count--) {
			seen_mail one;
			const int ret = bench_.next(box, rnd_.below(40), &one);
			if (ret == DNSBLV6_ENOTFOUND)
				return;
			REQUIRE(ret == 0);
			commit(mails_); // asking has flushed
			REQUIRE(bench_.remove(box, one.mail) == 0);
			mails_.at(one.text).leaving.insert(box);
		}
	}

	// All segments go, so that another index gives their numbers again.
	void empty()
	{
		for (const auto &[box, seen] : bench_.look())
			for (const seen_mail &one : seen) {
				REQUIRE(bench_.remove(box, one.mail) == 0);
				mails_.at(one.text).leaving.insert(box);
			}
		for (unsigned i = 0; i < 30 && bench_.collect(101) == 0; i++)
			continue;
		if (rnd_.one_in(2))
			indexes_.push_back(bench_.index());
		commit(mails_);
	}

	void collect()
	{
		const int ret = bench_.collect(rnd_.one_in(2) ? 101 : 20 + rnd_.below(80));
		REQUIRE((ret == 0 || ret == DNSBLV6_ENOTFOUND));
		commit(mails_);
	}

	randomness rnd_;
	mail_bench bench_;
	unsigned count_ = 0;
	unsigned refused_ = 0;
	known_mails mails_;
	std::vector<std::string> indexes_;
	std::vector<copy> stores_;
};

unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);
	return text != nullptr ? static_cast<unsigned>(strtoul(text, nullptr, 10)) : otherwise;
}
} // namespace

// DNSBLV6_OLD_INDEXES: how often.
TEST_CASE("indexes of before are put back at any time, and no committed mail is lost or comes back",
	  "[mailstore][oldindex]")
{
	const auto seed = RANDOM_SEED(number("DNSBLV6_OLD_INDEXES", IS_SANITIZED ? 15 : 60));
	CAPTURE(seed);
	world w(seed);
	w.run(250);
}

namespace
{
const std::string LONG = std::string(400, 'x') + "\r\n";

// A log without a segment, and an index that knows which numbers were given.
void begin_and_empty(mail_bench &bench)
{
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	REQUIRE(bench.remove("a", bench.look("a")[0].mail) == 0);
	REQUIRE(bench.collect(101) == 0);
	REQUIRE(bench.disk.objects().size() == 1);
}

// Another index is made, and mails come.
void go_on_without(mail_bench &bench)
{
	bench.kill();
	bench.load(sim_disk::objects_type(bench.disk.objects()), "");
	REQUIRE(bench.open() == 0);
	for (int i = 0; i < 4; i++)
		REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	bench.close();
	REQUIRE(bench.disk.objects().count(1) == 1);
}

void put_back(mail_bench &bench, const std::string &index)
{
	bench.load(sim_disk::objects_type(bench.disk.objects()), index);
}

// As a version has made them that knew no ids.
int forget_id(void *context, store_bytes key, store_bytes value)
{
	(*static_cast<std::map<std::string, std::string> *>(
		context))[std::string(key.data, key.data + key.size)] =
		std::string(value.data, value.data + 25);
	return 0;
}

int forget_ids(writer *writer, void *)
{
	std::map<std::string, std::string> rows;
	int ret = writer_scan(writer, MAILINDEX_SEGMENTS, forget_id, &rows);
	for (const auto &[key, value] : rows)
		if (ret == 0)
			ret = writer_put(writer, MAILINDEX_SEGMENTS, key.data(), key.size(),
					 value.data(), value.size());
	const int gone = writer_delete(writer, MAILINDEX_FACTS, "emptied", 7);
	return ret == 0 && gone != DNSBLV6_ENOTFOUND ? gone : ret;
}

void make_older(mail_bench &bench)
{
	sim_disk::objects_type objects = bench.disk.objects();
	for (auto &[number, o] : objects) {
		mailsegment_head head;
		auto *bytes = reinterpret_cast<uint8_t *>(o.seen.data());
		if (number == MAILIDENTITY_OBJECT)
			continue;
		REQUIRE(mailsegment_decode(bytes, MAILSEGMENT_HEAD_SIZE, &head) == 0);
		REQUIRE(head.id != 0);
		head.id = 0;
		mailsegment_encode(&head, bytes);
		o.kept = o.seen;
	}
	bench.load(objects, bench.index());
	REQUIRE(writer_run(bench.index_path().c_str(), &mailindex_kind, forget_ids, nullptr) == 0);
}
} // namespace

TEST_CASE("an index of before that knows a number as emptied does not take its new segment away",
	  "[mailstore][oldindex]")
{
	const bool is_older = GENERATE(false, true);
	mail_bench bench(1U << 20);
	begin_and_empty(bench);
	if (is_older)
		make_older(bench);
	const std::string before = bench.index();
	go_on_without(bench);
	const std::string index = bench.index();
	put_back(bench, before);
	CHECK(bench.open() == MAILSTORE_EOLD);
	CHECK(bench.recovery.refused == 0);
	CHECK(bench.disk.objects().count(1) == 1);
	const checked done = bench.check(true);
	CHECK(done.findings == std::vector<std::string>{ mailstore_strerror(MAILSTORE_EOLD) });
	CHECK(done.run.is_index_wrong);
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == 4);
	bench.close();
	put_back(bench, index);
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == 4);
}

TEST_CASE("an index of before that knows a segment is not used with another of that number",
	  "[mailstore][oldindex]")
{
	const bool is_older = GENERATE(false, true);
	mail_bench bench(1U << 20);
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	REQUIRE(maillayer_flush(bench.store) == 0);
	if (is_older) {
		bench.close();
		make_older(bench);
		REQUIRE(bench.open() == 0);
	}
	const std::string before = bench.index();
	REQUIRE(bench.remove("a", bench.look("a")[0].mail) == 0);
	REQUIRE(bench.collect(101) == 0);
	go_on_without(bench);
	put_back(bench, before);
	CHECK(bench.open() == MAILSTORE_EOLD);
	REQUIRE(bench.check(true).run.is_index_wrong);
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == 4);
}

TEST_CASE("a store of a version without ids opens as it is, grows, and is collected",
	  "[mailstore][oldindex]")
{
	mail_bench bench(1500);
	REQUIRE(bench.open() == 0);
	for (int i = 0; i < 6; i++)
		REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	bench.close();
	make_older(bench);
	const std::string before = bench.index();
	REQUIRE(bench.open() == 0);
	CHECK_FALSE(bench.recovery.was_built);
	CHECK(bench.recovery.replayed == 0);
	for (int i = 0; i < 6; i++)
		REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	CHECK(bench.look("a").size() == 12);
	bench.close();
	CHECK(bench.check().findings == std::vector<std::string>{});
	// One of before is brought up, as long as it is of that log.
	put_back(bench, before);
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == 12);
	for (int i = 0; i < 10; i++)
		REQUIRE(bench.collect(101) == 0);
	CHECK(bench.look("a").size() == 12);
	bench.close();
	CHECK(bench.check().findings == std::vector<std::string>{});
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == 12);
}

TEST_CASE("of two stores that go on from one copy none is opened with the index of the other",
	  "[mailstore][oldindex]")
{
	// Records of the same sizes, too, and as many.
	const std::string text = GENERATE(std::string(600, 'y') + "\r\n", LONG);
	const int count = GENERATE(1, 4);
	// Another segment follows, or one of another generation was there before.
	const bool is_small = GENERATE(false, true);
	const bool is_collected = GENERATE(false, true);
	// The clock was ahead at first, so that the newest is the same in both.
	const bool is_ahead = GENERATE(false, true);
	CAPTURE(text.size(), count, is_small, is_collected, is_ahead);
	mail_bench bench(is_small || is_collected ? 1500 : 1U << 20);
	REQUIRE(bench.open() == 0);
	bench.time_us = is_ahead ? 9 : 1;
	const size_t before = is_collected ? 3 : 1;
	for (size_t i = 0; i < before; i++)
		REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	if (is_collected)
		REQUIRE(bench.collect(101) == 0);
	bench.close();
	const sim_disk::objects_type objects = bench.disk.objects();
	const std::string index = bench.index();
	REQUIRE(bench.open() == 0);
	bench.time_us = 2;
	REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	bench.close();
	const std::string other = bench.index();
	bench.load(objects, index);
	REQUIRE(bench.open() == 0);
	bench.time_us = 3;
	for (int i = 0; i < count; i++)
		REQUIRE(bench.deliver({ "b" }, text) == 0);
	bench.close();
	put_back(bench, other);
	CHECK(bench.open() == MAILSTORE_EOLD);
	REQUIRE(bench.check(true).run.is_index_wrong);
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == before);
	CHECK(bench.look("b").size() == (size_t)count);
}

TEST_CASE("a segment that was lost, and is found behind an index without it, stays with its mails",
	  "[mailstore][oldindex]")
{
	mail_bench bench(700);
	REQUIRE(bench.open() == 0);
	for (int i = 0; i < 6; i++)
		REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	bench.close();
	sim_disk::objects_type objects = bench.disk.objects();
	REQUIRE(objects.size() > 3);
	const sim_disk::object lost = objects[1];
	objects.erase(1);
	bench.load(objects, "");
	REQUIRE(bench.open() == 0);
	const size_t left = bench.look("a").size();
	REQUIRE(left < 6);
	bench.close();
	objects = bench.disk.objects();
	objects[1] = lost;
	bench.load(objects, bench.index());
	CHECK(bench.open() == MAILSTORE_EOLD);
	REQUIRE(bench.check(true).run.is_index_wrong);
	REQUIRE(bench.open() == 0);
	CHECK(bench.look("a").size() == 6);
}

TEST_CASE("a segment that is found collides with nothing that was delivered meanwhile",
	  "[mailstore][oldindex]")
{
	const int before = GENERATE(1, 2, 3);
	const int behind = GENERATE(1, 2, 3, 4);
	// The newest of new mail, which is not the last one; or the last one, whose own number is free then, too.
	const bool is_last = GENERATE(false, true);
	CAPTURE(before, behind, is_last);
	mail_bench bench(3000);
	REQUIRE(bench.open() == 0);
	for (int i = 0; i < 6; i++)
		REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	// Copies go to a segment behind the one that grows.
	if (!is_last)
		REQUIRE(bench.collect(101) == 0);
	for (int i = 0; i < before; i++)
		REQUIRE(bench.deliver({ "a" }, LONG) == 0);
	bench.close();
	sim_disk::objects_type objects = bench.disk.objects();
	const uint64_t number = is_last ? objects.rbegin()->first : 2;
	REQUIRE(objects.count(number) == 1);
	REQUIRE((objects.rbegin()->first == number) == is_last);
	const sim_disk::object lost = objects[number];
	objects.erase(number);
	bench.load(objects, "");
	REQUIRE(bench.open() == 0);
	REQUIRE(bench.look("a").size() < (size_t)(6 + before));
	for (int i = 0; i < behind; i++)
		REQUIRE(bench.deliver({ "b" }, LONG) == 0);
	bench.close();
	objects = bench.disk.objects();
	REQUIRE(objects.count(number) == 0);
	objects[number] = lost;
	bench.load(objects, bench.index());
	CHECK(bench.open() == MAILSTORE_EOLD);
	REQUIRE(bench.check(true).run.is_index_wrong);
	for (int starts = 0; starts < 2; starts++) {
		CHECK(bench.open() == 0);
		CHECK(bench.look("a").size() == (size_t)(6 + before));
		CHECK(bench.look("b").size() == (size_t)behind);
		bench.close();
	}
	CHECK(bench.check(false).run.findings == 0);
}
