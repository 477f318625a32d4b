// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of mailboxes, asked for by several threads at a time.
#include "integration/mail/mail-stored/boxes/quota.h"

#include "integration/mail/base/users/users_file.h"
#include "integration/mail/mail-stored/boxes/expiry.h"
#include "lib/lmdb/writer.h"
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
	maillayer_ops ops = {};
	ops.next_box = next_old_box;
	ops.list = list_old_box;
	ops.erase = erase_old;
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
	maillayer_ops ops = {};
	ops.next_box = next_old_box;
	ops.list = list_old_box;
	ops.erase = erase_old;
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
