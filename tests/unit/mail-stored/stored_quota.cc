// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of mailboxes, asked for by several threads at a time, and what is too old.
#include "integration/mail/mail-stored/boxes/quota.h"

#include "integration/mail/base/users/users_file.h"
#include "integration/mail/mail-stored/boxes/clockdoubt.h"
#include "integration/mail/mail-stored/boxes/expiry.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/store/keeper.h"
#include "lib/lmdb/writer.h"
#include "lib/process/clock.h"
#include "tests/unit/mail-users/users.hh"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

TEST_CASE("limits are those of the mailbox, whatever other threads ask for", "[mail-stored][quota]")
{
	constexpr unsigned threads = 4;
	constexpr unsigned rounds = 20000;
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	std::vector<std::string> lines;
	for (unsigned i = 0; i < threads; i++)
		lines.push_back("u" + std::to_string(i) +
				"@example.org messages=" + std::to_string(i + 1));
	REQUIRE(build(path, lines) == STORE_OK);
	const opened_users opened(path);
	REQUIRE(opened.status() == 0);
	stored_setup setup = {};
	pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	const quota quota = { &setup, opened.get(), &turn };
	std::atomic<unsigned> wrong(0);
	std::vector<std::thread> asking;
	for (unsigned i = 0; i < threads; i++)
		asking.emplace_back([&, i] {
			const std::string name = "u" + std::to_string(i) + "@example.org";
			const mailname box = { reinterpret_cast<const uint8_t *>(name.data()),
					       name.size() };
			for (unsigned round = 0; round < rounds; round++) {
				struct quota_limits limits = {};
				if (::quota_limits(&quota, box, &limits) != 0 ||
				    limits.messages != i + 1)
					wrong++;
			}
		});
	for (auto &thread : asking)
		thread.join();
	CHECK(wrong == 0);
}

namespace
{

// Mailboxes with one mail each, of 1970.
struct old_boxes {
	maillayer layer; // first
	std::vector<std::string> names;
	std::vector<std::string> erased;
	uint64_t newest_us = 0;
};

int next_old_box(maillayer *layer, mailname behind, uint8_t *ret_name, size_t *ret_size,
		 mailcounts *ret_counts)
{
	const std::string last(reinterpret_cast<const char *>(behind.bytes), behind.size);
	*ret_counts = {};
	for (const auto &name : reinterpret_cast<old_boxes *>(layer)->names) {
		if (name <= last)
			continue;
		memcpy(ret_name, name.data(), name.size());
		*ret_size = name.size();
		return 0;
	}
	return DNSBLV6_ENOTFOUND;
}

int list_old_box(maillayer *, mailname, uint64_t, size_t, mailentry *ret_entries, size_t *ret_count)
{
	*ret_entries = {};
	*ret_count = 1;
	return 0;
}

int erase_old(maillayer *layer, mailname mailbox, const uint64_t *, size_t, uint64_t)
{
	reinterpret_cast<old_boxes *>(layer)->erased.emplace_back(
		reinterpret_cast<const char *>(mailbox.bytes), mailbox.size);
	return 0;
}

int describe_old(maillayer *layer, mailstore_info *ret_info)
{
	*ret_info = {};
	ret_info->newest_us = reinterpret_cast<old_boxes *>(layer)->newest_us;
	return 0;
}

maillayer_ops make_old_ops()
{
	maillayer_ops ops = {};
	ops.describe = describe_old;
	ops.next_box = next_old_box;
	ops.list = list_old_box;
	ops.erase = erase_old;
	return ops;
}

} // namespace

TEST_CASE("an entry that cannot be read keeps the mails of its mailbox, and is told at the end",
	  "[mail-stored][expiry]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "b@example.org keep=1d", "damaged@example.org keep=1d",
			      "e@example.org keep=1d" }) == STORE_OK);
	REQUIRE(writer_run(
			path.c_str(), &users_store,
			[](writer *w, void *) {
				const std::string key = "adamaged@example.org";
				return writer_put(w, 0, key.data(), key.size(), "xxx", 3);
			},
			nullptr) == STORE_OK);
	const opened_users opened(path);
	REQUIRE(opened.status() == 0);
	const maillayer_ops ops = make_old_ops();
	old_boxes boxes = { { &ops },
			    { "b@example.org", "damaged@example.org", "e@example.org" },
			    {} };
	stored_setup setup = {};
	const quota quota = { &setup, opened.get(), nullptr };
	uint64_t expired = 0;
	expiry expiry = {};
	expiry.layer = &boxes.layer;
	expiry.quota = &quota;
	expiry.expired = &expired;
	for (unsigned looks = 0; looks < 2; looks++) {
		int ret = 0;
		boxes.erased.clear();
		while (ret == 0)
			ret = expiry_step(&expiry);
		CHECK(ret == STORE_ECORRUPT);
		CHECK(boxes.erased == std::vector<std::string>{ "b@example.org", "e@example.org" });
		expiry_rewind(&expiry);
	}
	// The next look says nothing of the one before.
	boxes.names = { "e@example.org" };
	CHECK(expiry_step(&expiry) == 0);
	CHECK(expiry_step(&expiry) == DNSBLV6_ENOTFOUND);
}

TEST_CASE("second copies are kept as long as the mailbox that they are of", "[mail-stored][expiry]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "short@example.org keep=1d", "usual@example.org" }) == STORE_OK);
	const opened_users opened(path);
	REQUIRE(opened.status() == 0);
	const maillayer_ops ops = make_old_ops();
	old_boxes boxes = { { &ops },
			    { "\0013/short@example.org", "\0013/usual@example.org",
			      "short@example.org", "usual@example.org" },
			    {} };
	stored_setup setup = {};
	const quota quota = { &setup, opened.get(), nullptr };
	uint64_t expired = 0;
	expiry expiry = {};
	expiry.layer = &boxes.layer;
	expiry.quota = &quota;
	expiry.expired = &expired;
	int ret = 0;
	while (ret == 0)
		ret = expiry_step(&expiry);
	CHECK(ret == DNSBLV6_ENOTFOUND);
	CHECK(boxes.erased ==
	      std::vector<std::string>{ "\0013/short@example.org", "short@example.org" });
	CHECK(expired == 2);
}

namespace
{

constexpr int64_t hour_us = 3600LL * 1000000;
constexpr int64_t day_us = 24 * hour_us;

// A store with an old mail, its keeper, and some looks of it.
struct kept_boxes {
	explicit kept_boxes(const tmpdir &dir, uint64_t newest_us = 0)
	    : boxes{ { &ops }, { "a" }, {}, newest_us }
	{
		setup.keep_s = 1;
		setup.keep_ms = 1;
		setup.index_ms = 3600 * 1000;
		snprintf(setup.directory, sizeof(setup.directory), "%s", dir.path().c_str());
		keeper.layer = &boxes.layer;
		keeper.setup = &setup;
		keeper.quota = &quota;
		keeper.counters = counters;
		REQUIRE(uv_loop_init(&loop) == 0);
		REQUIRE(keeper_open(&keeper, &loop) == 0);
	}

	~kept_boxes()
	{
		keeper_close(&keeper);
		uv_run(&loop, UV_RUN_DEFAULT);
		CHECK(uv_loop_close(&loop) == 0);
	}

	// Each ends with a look at the mailbox.
	bool deletes()
	{
		for (unsigned rounds = 0; rounds < 5; rounds++)
			uv_run(&loop, UV_RUN_ONCE);
		return !boxes.erased.empty();
	}

	const maillayer_ops ops = make_old_ops();
	old_boxes boxes;
	stored_setup setup = {};
	const ::quota quota = { &setup, nullptr, nullptr };
	uint64_t counters[STORED_COUNTER_COUNT] = {};
	uv_loop_t loop;
	::keeper keeper = {};
};

uint64_t ago(int64_t time_us)
{
	return clock_wall_us() - static_cast<uint64_t>(time_us);
}

} // namespace

TEST_CASE("a clock that goes more than a day forward deletes no mail for a day",
	  "[mail-stored][keeper]")
{
	const tmpdir dir;
	const bool is_far = GENERATE(false, true);
	// Later, or before the start: then the newest mail shows it.
	const bool is_later = GENERATE(false, true);
	const int64_t forward_us = is_far ? 2 * day_us : day_us / 2;
	kept_boxes kept(dir, is_later ? 0 : ago(forward_us));
	if (is_later)
		kept.keeper.doubt.trusted_us -= forward_us;
	CHECK(kept.deletes() != is_far);
	// The day is over.
	kept.keeper.doubt.steady_us -= day_us;
	CHECK(kept.deletes());
}

TEST_CASE("a store that was idle, and is started each day, deletes old mails after a day in all",
	  "[mail-stored][keeper]")
{
	const tmpdir dir;
	const uint64_t newest_us = ago(100 * day_us);
	for (unsigned starts = 0; starts < 2; starts++) {
		kept_boxes kept(dir, newest_us);
		CHECK_FALSE(kept.deletes());
		kept.keeper.doubt.steady_us -= 11 * hour_us;
		CHECK_FALSE(kept.deletes());
	}
	kept_boxes third(dir, newest_us);
	CHECK_FALSE(third.deletes());
	third.keeper.doubt.steady_us -= 3 * hour_us;
	CHECK(third.deletes());
	CHECK(kept_boxes(dir, newest_us).deletes());
}

TEST_CASE("mails that came by a clock that is doubted are no reason to trust it at the next start",
	  "[mail-stored][keeper]")
{
	const tmpdir dir;
	CHECK_FALSE(kept_boxes(dir, ago(2 * day_us)).deletes());
	CHECK_FALSE(kept_boxes(dir, ago(0)).deletes());
}

TEST_CASE("a clock is trusted within a day of where it was, and else after a day of running",
	  "[mail-stored][clockdoubt]")
{
	const int64_t sign = GENERATE(1, -1);
	clockdoubt doubt = { 1000 * day_us, 0, 7 };
	CHECK(clockdoubt_look(&doubt, 1000 * day_us + 3 * day_us, 7 + 3 * day_us) == 0);
	CHECK(doubt.left_us == 0);
	const int64_t wall_us = 1003 * day_us;
	const int64_t steady_us = 7 + 3 * day_us;
	CHECK(clockdoubt_look(&doubt, wall_us + sign * 2 * day_us, steady_us) == sign * 2 * day_us);
	CHECK(doubt.left_us == day_us);
	SECTION("set right again")
	{
		CHECK(clockdoubt_look(&doubt, wall_us + hour_us, steady_us + hour_us) == 0);
		CHECK(doubt.left_us == 0);
	}
	SECTION("another wrong time")
	{
		CHECK(clockdoubt_look(&doubt, wall_us + sign * 9 * day_us, steady_us + hour_us) ==
		      0);
		CHECK(doubt.left_us == day_us - hour_us);
	}
	SECTION("a day goes by")
	{
		const int64_t shown_us = wall_us + sign * 2 * day_us;
		CHECK(clockdoubt_look(&doubt, shown_us + day_us - 1, steady_us + day_us - 1) == 0);
		CHECK(doubt.left_us == 1);
		CHECK(clockdoubt_look(&doubt, shown_us + day_us, steady_us + day_us) == 0);
		CHECK(doubt.left_us == 0);
		CHECK(clockdoubt_look(&doubt, shown_us + 2 * day_us, steady_us + 2 * day_us) == 0);
		CHECK(doubt.left_us == 0);
	}
}

TEST_CASE("a file of the clock that is damaged says nothing", "[mail-stored][clockdoubt]")
{
	const tmpdir dir;
	const clockdoubt kept = { 1000 * day_us, hour_us, 0 };
	clockdoubt doubt = { 1, 2, 3 };
	CHECK_FALSE(clockdoubt_load(dir.path().c_str(), &doubt));
	REQUIRE(clockdoubt_save(dir.path().c_str(), &kept) == 0);
	const std::string bytes = read_file(dir.file("clock"));
	CHECK(bytes.size() == 24);
	for (size_t at = 0; at < bytes.size(); at++) {
		std::string other = bytes;
		other[at] = static_cast<char>(other[at] ^ 1);
		write_file(dir.file("clock"), other);
		CHECK_FALSE(clockdoubt_load(dir.path().c_str(), &doubt));
		write_file(dir.file("clock"), bytes.substr(0, at));
		CHECK_FALSE(clockdoubt_load(dir.path().c_str(), &doubt));
	}
	CHECK(doubt.trusted_us == 1);
	write_file(dir.file("clock"), bytes);
	REQUIRE(clockdoubt_load(dir.path().c_str(), &doubt));
	CHECK(doubt.trusted_us == kept.trusted_us);
	CHECK(doubt.left_us == kept.left_us);
	CHECK(doubt.steady_us == 3);
	CHECK(clockdoubt_save("/absent", &kept) == -ENOENT);
}
