// SPDX-License-Identifier: GPL-3.0-or-later
//
// A sync in two halves, and questions while much is not in the index yet.
#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailstore.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/simdisk.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace
{
// The name of a function, too.
using half = struct mailstore_sync;

// A store on files, or on a disk of the tests.
class fixture
{
      public:
	explicit fixture(sim_disk *disk = nullptr) : disk_(disk)
	{
		open();
	}
	~fixture()
	{
		maillayer_close(store);
	}
	fixture(const fixture &) = delete;
	fixture &operator=(const fixture &) = delete;

	void open()
	{
		mailstore_setup setup{};
		mailstore_recovery recovery{};
		const std::string index = dir.file("index");
		if (disk_ != nullptr) {
			setup.disk = disk_->handle();
		} else {
			REQUIRE(filedisk_make(dir.file("log").c_str()) == 0);
			REQUIRE(filedisk_open(dir.file("log").c_str(), &setup.disk) == 0);
		}
		setup.index_path = index.c_str();
		setup.segment_size = 4096;
		REQUIRE(mailstore_open(&setup, &store, &recovery) == 0);
	}
	void open_again()
	{
		maillayer_close(store);
		store = nullptr;
		open();
	}
	int deliver(const std::string &box, const std::string &text = "x\r\n")
	{
		mailstore_mail mail{};
		mailid id{};
		const mailname name = name_of(box);
		mail.recipients = &name;
		mail.recipient_count = 1;
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		return maillayer_deliver(store, &mail, &id);
	}
	// The first segment is a file that no sync has seen: it has one way to be synced alone.
	void begin_segment()
	{
		half sync{};
		REQUIRE(deliver("first") == 0);
		REQUIRE(maillayer_sync_begin(store, &sync) == -EOPNOTSUPP);
		REQUIRE(maillayer_sync(store) == 0);
	}
	int end(const half &sync, int status = 0)
	{
		if (status == 0)
			REQUIRE(fdatasync(sync.fd) == 0);
		return maillayer_sync_end(store, &sync, status);
	}
	std::vector<uint64_t> list(const std::string &box, size_t room, uint64_t from = 0)
	{
		std::vector<mailentry> entries(room + 1);
		std::vector<uint64_t> mails;
		size_t count = 99;
		REQUIRE(maillayer_list(store, name_of(box), from, room, entries.data(), &count) ==
			0);
		REQUIRE(count <= room);
		for (size_t i = 0; i < count; i++)
			mails.push_back(entries[i].mail);
		return mails;
	}
	uint64_t peek(const std::string &box)
	{
		mailcounts counts{ 99, 99 };
		REQUIRE(maillayer_peek_counts(store, name_of(box), &counts) == 0);
		return counts.mails;
	}
	// What the newest record of a mailbox says was on disk when it was written.
	uint64_t synced_of_last(const std::string &box)
	{
		mailrow row{};
		mailrecord record{};
		uint8_t *meta = nullptr;
		REQUIRE(maillayer_find_row(store, list(box, 100).back(), &row) == 0);
		REQUIRE(maillayer_record(store, &row, &record, &meta) == 0);
		free(meta);
		return record.synced;
	}

	tmpdir dir;
	maillayer *store = nullptr;

      private:
	sim_disk *disk_;
};
} // namespace

// ---- a sync in two halves ----

TEST_CASE("what is appended between the halves of a sync is not committed by it",
	  "[mailstore][commit]")
{
	fixture f;
	f.begin_segment();
	half sync{};
	CHECK(maillayer_sync_begin(f.store, &sync) == DNSBLV6_ENOTFOUND);
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &sync) == 0);
	REQUIRE(f.deliver("bert") == 0);
	REQUIRE(f.end(sync) == 0);
	REQUIRE(f.deliver("carl") == 0);

	half next{};
	REQUIRE(maillayer_sync_begin(f.store, &next) == 0);
	CHECK(next.end > sync.end);
	REQUIRE(f.end(next) == 0);
	CHECK(maillayer_sync_begin(f.store, &next) == DNSBLV6_ENOTFOUND);
	CHECK(f.synced_of_last("anna") < sync.end);
	CHECK(f.synced_of_last("bert") < sync.end);
	CHECK(f.synced_of_last("carl") == sync.end);
}

TEST_CASE("syncs whose halves overlap commit as much as the later one, in any order",
	  "[mailstore][commit]")
{
	const bool in_order = GENERATE(true, false);
	fixture f;
	f.begin_segment();
	half first{};
	half second{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &first) == 0);
	REQUIRE(f.deliver("bert") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &second) == 0);
	REQUIRE(f.end(in_order ? first : second) == 0);
	REQUIRE(f.end(in_order ? second : first) == 0);
	CHECK(maillayer_sync_begin(f.store, &first) == DNSBLV6_ENOTFOUND);
	REQUIRE(f.deliver("carl") == 0);
	CHECK(f.synced_of_last("carl") == second.end);
}

TEST_CASE("a whole sync between the halves is not taken back by the second", "[mailstore][commit]")
{
	fixture f;
	f.begin_segment();
	half sync{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &sync) == 0);
	REQUIRE(f.deliver("bert") == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	REQUIRE(f.end(sync) == 0);
	CHECK(maillayer_sync_begin(f.store, &sync) == DNSBLV6_ENOTFOUND);
}

TEST_CASE("a segment that is sealed between the halves says nothing about the next",
	  "[mailstore][commit]")
{
	fixture f;
	f.begin_segment();
	half sync{};
	half next{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &sync) == 0);
	REQUIRE(f.deliver("anna", std::string(5000, 'x') + "\r\n") == 0);
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(f.end(sync) == 0);
	// The new segment's file has not been synced: nothing of it is committed.
	CHECK(maillayer_sync_begin(f.store, &next) == -EOPNOTSUPP);
	REQUIRE(maillayer_sync(f.store) == 0);
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &next) == 0);
	CHECK(next.segment != sync.segment);
	REQUIRE(f.end(next) == 0);
	f.open_again();
	CHECK(f.list("anna", 10).size() == 4);
}

TEST_CASE("a second half that fails stops the store, and what it was to commit does not come back",
	  "[mailstore][commit]")
{
	fixture f;
	f.begin_segment();
	half sync{};
	half other{};
	mailid id;
	mailentry entry;
	size_t count;
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &sync) == 0);
	REQUIRE(maillayer_sync_begin(f.store, &other) == 0);
	CHECK(f.end(sync, -EIO) == -EIO);
	CHECK(f.deliver("anna") == MAILSTORE_EFAILED);
	CHECK(maillayer_sync_begin(f.store, &sync) == MAILSTORE_EFAILED);
	CHECK(maillayer_sync(f.store) == MAILSTORE_EFAILED);
	CHECK(maillayer_flush(f.store) == MAILSTORE_EFAILED);
	CHECK(maillayer_list(f.store, name_of("anna"), 0, 1, &entry, &count) == MAILSTORE_EFAILED);
	// A sync that was under way besides commits nothing any more.
	CHECK(f.end(other) == MAILSTORE_EFAILED);
	CHECK(maillayer_make_id(f.store, &id) == 0);
	f.open_again();
	CHECK(f.deliver("anna") == 0);
	CHECK(f.list("anna", 10).size() == 1);
}

TEST_CASE("a second half that fails behind a whole sync is unsure of what that has committed",
	  "[mailstore][commit]")
{
	const bool is_sealed = GENERATE(true, false);
	fixture f;
	f.begin_segment();
	half sync{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &sync) == 0);
	if (is_sealed)
		REQUIRE(f.deliver("bert", std::string(5000, 'x') + "\r\n") == 0);
	else
		REQUIRE(maillayer_sync(f.store) == 0);
	CHECK(f.end(sync, -EIO) == MAILSTORE_EUNSURE);
	f.open_again();
	CHECK(f.list("anna", 10).size() == 1);
	CHECK(f.list("bert", 10).empty());
}

TEST_CASE("a place is synced when its segment is, or when a sync has ended behind it",
	  "[mailstore][commit]")
{
	fixture f;
	f.begin_segment();
	half sync{};
	REQUIRE(f.deliver("anna") == 0);
	const mailplace first = maillayer_end(f.store);
	CHECK_FALSE(maillayer_has_synced(f.store, first));
	REQUIRE(maillayer_sync_begin(f.store, &sync) == 0);
	REQUIRE(f.deliver("anna") == 0);
	const mailplace second = maillayer_end(f.store);
	REQUIRE(f.end(sync) == 0);
	CHECK(maillayer_has_synced(f.store, first));
	CHECK_FALSE(maillayer_has_synced(f.store, second));
	REQUIRE(f.deliver("bert", std::string(5000, 'x') + "\r\n") == 0);
	const mailplace third = maillayer_end(f.store);
	CHECK(maillayer_has_synced(f.store, second));
	CHECK_FALSE(maillayer_has_synced(f.store, third));
	REQUIRE(maillayer_sync_begin(f.store, &sync) == -EOPNOTSUPP);
	REQUIRE(maillayer_sync(f.store) == 0);
	CHECK(maillayer_has_synced(f.store, third));
}

TEST_CASE("a sync is unsure behind a disk that has failed and kept what waited",
	  "[mailstore][commit]")
{
	sim_disk disk(1);
	fixture f(&disk);
	REQUIRE(f.deliver("anna") == 0);
	const bool is_cut = GENERATE(true, false);
	// One write fails, or it and all behind it: what is there of it cannot be cut off then.
	disk.fail_after(1, -EIO, is_cut);
	CHECK(f.deliver("bert") == -EIO);
	CHECK(maillayer_sync(f.store) == (is_cut ? 0 : MAILSTORE_EUNSURE));
}

TEST_CASE("a descriptor for syncing shares nothing with another of its segment",
	  "[mailstore][commit]")
{
	// The kernel tells an error of writing once to each open file: a copy of a descriptor has none.
	fixture f;
	f.begin_segment();
	half one{};
	half other{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync_begin(f.store, &one) == 0);
	REQUIRE(maillayer_sync_begin(f.store, &other) == 0);
	REQUIRE(lseek(one.fd, 7, SEEK_SET) == 7);
	CHECK(lseek(other.fd, 0, SEEK_CUR) == 0);
	CHECK(f.end(one) == 0);
	CHECK(f.end(other) == 0);
}

TEST_CASE("a system that lacks descriptors has one way to sync", "[mailstore][commit]")
{
	fixture f;
	f.begin_segment();
	rlimit before{};
	half sync{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	const rlimit few{ 3, before.rlim_max };
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	const int ret = maillayer_sync_begin(f.store, &sync);
	const int whole = maillayer_sync(f.store);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(ret == -EOPNOTSUPP);
	CHECK(whole == 0);
	CHECK(maillayer_sync_begin(f.store, &sync) == DNSBLV6_ENOTFOUND);
}

TEST_CASE("a disk without descriptors has one way to sync", "[mailstore][commit]")
{
	sim_disk disk(1);
	fixture f(&disk);
	half sync{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	REQUIRE(f.deliver("anna") == 0);
	CHECK(maillayer_sync_begin(f.store, &sync) == -EOPNOTSUPP);
}

// ---- questions ----

TEST_CASE("a mailbox is listed in pieces while mails come and go", "[mailstore][commit]")
{
	fixture f;
	for (int i = 0; i < 5; i++)
		REQUIRE(f.deliver("anna") == 0);
	REQUIRE(f.deliver("ann") == 0);
	REQUIRE(f.deliver("annaa") == 0);
	const std::vector<uint64_t> all = f.list("anna", 100);
	REQUIRE(all.size() == 5);
	CHECK(f.list("anna", 0).empty());
	CHECK(f.list("anna", 2) == std::vector<uint64_t>{ all[0], all[1] });
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_erase(f.store, name_of("anna"), &all[2], 1, 0) == 0);
	CHECK(f.list("anna", 2, all[1] + 1) == std::vector<uint64_t>{ all[3], all[4] });
	const std::vector<uint64_t> last = f.list("anna", 2, all[4] + 1);
	REQUIRE(last.size() == 1);
	CHECK(last[0] > all[4]);
	CHECK(f.list("anna", 2, last[0] + 1).empty());
	CHECK(f.list("anna", 2, UINT64_MAX).empty());
	CHECK(f.list("carl", 2).empty());
	CHECK(f.list("annaa", 2).size() == 1);
	f.open_again();
	CHECK(f.list("anna", 100) ==
	      std::vector<uint64_t>{ all[0], all[1], all[3], all[4], last[0] });

	mailentry entry;
	size_t count;
	CHECK(maillayer_list(f.store, name_of(""), 0, 1, &entry, &count) == MAILSTORE_EBOX);
}

TEST_CASE("a question about a mailbox waits for the disk only when something is new there",
	  "[mailstore][commit]")
{
	sim_disk disk(1);
	fixture f(&disk);
	mailcounts counts{};
	mailentry entry{};
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(f.list("anna", 10).size() == 1);
	const uint64_t syncs = disk.syncs();
	REQUIRE(f.deliver("bert") == 0);
	REQUIRE(maillayer_erase(f.store, name_of("carl"), &entry.mail, 1, 0) == 0);
	CHECK(f.list("anna", 10).size() == 1);
	CHECK(maillayer_counts(f.store, name_of("anna"), &counts) == 0);
	CHECK(maillayer_find(f.store, name_of("anna"), 0, &entry) == 0);
	CHECK(disk.syncs() == syncs);
	CHECK(f.list("bert", 10).size() == 1);
	CHECK(disk.syncs() == syncs + 1);
	REQUIRE(maillayer_erase(f.store, name_of("anna"), &entry.mail, 1, 0) == 0);
	CHECK(f.list("anna", 10).empty());
	CHECK(disk.syncs() == syncs + 2);
}

TEST_CASE("counts that are peeked at are those of the last flush", "[mailstore][commit]")
{
	sim_disk disk(1);
	fixture f(&disk);
	REQUIRE(f.deliver("anna") == 0);
	const uint64_t syncs = disk.syncs();
	CHECK(f.peek("anna") == 0);
	CHECK(disk.syncs() == syncs);
	REQUIRE(maillayer_flush(f.store) == 0);
	CHECK(f.peek("anna") == 1);
	REQUIRE(f.deliver("anna") == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	CHECK(f.peek("anna") == 1);
	REQUIRE(maillayer_flush(f.store) == 0);
	CHECK(f.peek("anna") == 2);
	mailcounts counts{};
	CHECK(maillayer_peek_counts(f.store, name_of(""), &counts) == MAILSTORE_EBOX);
}
