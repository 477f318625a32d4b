// SPDX-License-Identifier: GPL-3.0-or-later
//
// Mail is delivered, deleted and collected while the power goes at any call of the disk. After each
// start every mail that was committed is in every mailbox that has it, once, and no other is there in
// part.

#include "lib/mailstore/mailstore.h"

#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/lib/simdisk.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{
const char *const BOXES[] = { "a@example.com", "b@example.com", "c@example.com", "..", "d/e" };

mailname name_of(const std::string &text)
{
	return { reinterpret_cast<const uint8_t *>(text.data()), text.size() };
}

struct known_mail {
	std::set<std::string> owners;  // that have it for certain
	std::set<std::string> leaving; // deleted, not yet committed
	bool is_committed = false;
};

// A store on a simulated disk, and what has to be in it.
class world
{
      public:
	explicit world(unsigned seed) : rnd_(seed), disk_(seed)
	{
		open();
	}
	~world()
	{
		mailstore_close(store_);
	}
	world(const world &) = delete;
	world &operator=(const world &) = delete;

	void run(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			if (rnd_.one_in(12))
				disk_.fail_after(1 + rnd_.below(30), -EIO);
			step();
			if (disk_.has_failed() || rnd_.one_in(25))
				restart();
		}
		disk_.work_again();
		restart();
	}

      private:
	std::string index() const
	{
		return dir_.file("index");
	}

	void open()
	{
		mailstore_setup setup{};
		mailstore_recovery recovery{};
		const std::string path = index();
		setup.disk = disk_.handle();
		setup.index_path = path.c_str();
		setup.segment_size = 2000 + rnd_.below(3000);
		const int ret = mailstore_open(&setup, &store_, &recovery);
		INFO(mailstore_strerror(ret));
		REQUIRE(ret == 0);
		CHECK(recovery.damaged == 0);
	}

	void restart()
	{
		// One that ends well, one that is killed, and a machine without power.
		const bool is_ending = !disk_.has_failed() && rnd_.one_in(4);
		if (is_ending) {
			mailstore_close(store_);
			if (!disk_.has_failed())
				commit();
		} else {
			mailstore_abandon(store_);
		}
		store_ = nullptr;
		disk_.work_again();
		if (!rnd_.one_in(3))
			disk_.cut_power();
		if (rnd_.one_in(5)) {
			unlink(index().c_str());
			unlink((index() + "-lock").c_str());
		}
		open();
		compare();
	}

	void step()
	{
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
			if (mailstore_sync(store_) == 0)
				commit();
			break;
		case 6:
			if (mailstore_flush(store_) == 0)
				commit();
			break;
		default:
			collect();
		}
	}

	void deliver()
	{
		std::vector<std::string> to;
		std::vector<mailname> names;
		for (const char *box : BOXES)
			if (rnd_.one_in(2))
				to.push_back(box);
		if (to.empty())
			to.push_back(BOXES[0]);
		for (const std::string &box : to)
			names.push_back(name_of(box));
		std::string text = "Subject: " + std::to_string(++count_) + "\n\n" +
				   std::string(rnd_.below(rnd_.one_in(6) ? 6000 : 300), 'x') +
				   (rnd_.one_in(2) ? "\n" : ".\r\n");
		mailstore_mail mail{};
		mail.recipients = names.data();
		mail.recipient_count = names.size();
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mailid id;
		// One that failed may be there when the power comes back, but not in part.
		const int ret = mailstore_deliver(store_, &mail, &id);
		if (ret == 0 || disk_.has_failed())
			mails_[text].owners.insert(to.begin(), to.end());
	}

	void remove()
	{
		const std::string box = BOXES[rnd_.below(5)];
		mailentry entry;
		if (mailstore_find(store_, name_of(box), rnd_.below(40), &entry) != 0)
			return;
		mailrow row;
		if (mailstore_find_row(store_, entry.mail, &row) != 0)
			return;
		commit(); // asking for a mail has flushed, for a mailbox perhaps not
		const std::string text = read(row, entry);
		if (text.empty())
			return;
		known_mail &known = mails_.at(text);
		// Whether a deletion that failed has happened is not known.
		if (mailstore_delete(store_, name_of(box), &entry.mail, 1, 0) == 0 ||
		    disk_.has_failed())
			known.leaving.insert(box);
	}

	void collect()
	{
		uint64_t segment;
		const int ret = mailstore_collect(store_, 101, &segment);
		if (ret == 0)
			commit();
		else if (!disk_.has_failed())
			REQUIRE(ret == DNSBLV6_ENOTFOUND);
	}

	void commit()
	{
		for (auto &[id, known] : mails_) {
			known.is_committed = true;
			for (const std::string &box : known.leaving)
				known.owners.erase(box);
			known.leaving.clear();
		}
	}

	std::string read(const mailrow &row, const mailentry &entry)
	{
		std::string wire(entry.wire_size, '\0');
		mailrecord record;
		uint8_t *bytes;
		mailmeta meta;
		mailbody_undo undo;
		if (mailstore_read(store_, &row, 0, wire.data(), wire.size()) != 0 ||
		    mailstore_record(store_, &row, &record, &bytes) != 0) {
			REQUIRE(disk_.has_failed());
			return "";
		}
		REQUIRE(mailmeta_decode(bytes, record.meta_size, &meta) == 0);
		std::string text(wire.size() + 1, '\0');
		mailbody_undo_init(&undo, record.lines, meta.exceptions.data, meta.exceptions.size,
				   wire.size());
		text.resize(
			mailbody_undo_take(&undo, reinterpret_cast<const uint8_t *>(wire.data()),
					   wire.size(), reinterpret_cast<uint8_t *>(text.data())));
		free(bytes);
		return text;
	}

	// What is found is compared, and is from now on what is known.
	void compare()
	{
		std::map<std::string, std::set<std::string>> found;
		for (const std::string box : BOXES) {
			uint64_t from = 0;
			mailentry entry;
			mailcounts counts;
			uint64_t mails = 0;
			uint64_t octets = 0;
			int ret;
			while ((ret = mailstore_find(store_, name_of(box), from, &entry)) == 0) {
				mailrow row;
				REQUIRE(mailstore_find_row(store_, entry.mail, &row) == 0);
				const std::string text = read(row, entry);
				CAPTURE(box, text);
				REQUIRE(mails_.count(text) == 1);
				REQUIRE(found[text].insert(box).second);
				from = entry.mail + 1;
				mails++;
				octets += entry.octets;
			}
			REQUIRE(ret == DNSBLV6_ENOTFOUND);
			REQUIRE(mailstore_counts(store_, name_of(box), &counts) == 0);
			CHECK(counts.mails == mails);
			CHECK(counts.octets == octets);
		}
		for (auto it = mails_.begin(); it != mails_.end();) {
			known_mail &known = it->second;
			const std::set<std::string> &owners = found[it->first];
			CAPTURE(it->first);
			for (const std::string &box : owners)
				REQUIRE(known.owners.count(box) == 1);
			if (known.is_committed || !owners.empty())
				for (const std::string &box : known.owners)
					REQUIRE((owners.count(box) == 1 ||
						 known.leaving.count(box) == 1));
			known.owners = owners;
			known.leaving.clear();
			known.is_committed = true;
			it = owners.empty() ? mails_.erase(it) : std::next(it);
		}
		mailstore_info info;
		REQUIRE(mailstore_describe(store_, &info) == 0);
		CHECK(info.facts.mails == mails_.size());
	}

	randomness rnd_;
	sim_disk disk_;
	tmpdir dir_{ memory_directory() };
	mailstore *store_ = nullptr;
	unsigned count_ = 0;
	std::map<std::string, known_mail> mails_;
};

unsigned run_count()
{
	const char *text = getenv("DNSBLV6_CRASHES");
	return text != nullptr ? static_cast<unsigned>(strtoul(text, nullptr, 10)) : 2000;
}
} // namespace

TEST_CASE("the power goes at any time, and no committed mail is lost or doubled",
	  "[mailstore][crash]")
{
	const auto seed = RANDOM_SEED(run_count());
	CAPTURE(seed);
	world w(seed);
	w.run(30);
}
