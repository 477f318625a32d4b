// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// mailstores.hh - a mail store on a simulated disk, and all that it says it has.
//
//     mail_bench bench(1500);           // the size of a segment
//     REQUIRE(bench.open() == 0);
//     bench.deliver({ "a", "b" }, "x\r\n");
//     bench.kill();                     // as a process that is killed
//     bench.load(left, index);          // another disk, another index
//     REQUIRE(bench.open() == 0);
//     bench.look();                     // by mailbox
//
//     compare(bench.look(), mails);     // is it what was committed, whole and once?

#include "lib/mailstore/mailcheck.h"
#include "lib/mailstore/mailstore.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/simdisk.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

inline std::string text_of(const mailid &id)
{
	return { reinterpret_cast<const char *>(id.bytes), sizeof(id.bytes) };
}

struct seen_mail {
	uint64_t mail;
	std::string id;
	std::string text;
};
using seen_boxes = std::map<std::string, std::vector<seen_mail>>;

struct checked {
	int status;
	std::vector<std::string> findings;
	mailcheck run;
};

class mail_bench
{
      public:
	explicit mail_bench(uint64_t segment_size, unsigned seed = 1)
	    : disk(seed), segment_size_(segment_size)
	{
	}
	~mail_bench()
	{
		maillayer_close(store);
	}
	mail_bench(const mail_bench &) = delete;
	mail_bench &operator=(const mail_bench &) = delete;

	int open()
	{
		mailstore_setup setup{};
		setup.disk = disk.handle();
		setup.index_path = index_.c_str();
		setup.segment_size = segment_size_;
		return mailstore_open(&setup, &store, &recovery);
	}
	void close()
	{
		maillayer_close(store);
		store = nullptr;
	}
	void kill()
	{
		mailstore_abandon(store);
		store = nullptr;
	}

	const std::string &index_path() const
	{
		return index_;
	}
	// Empty when there is none.
	std::string index() const
	{
		std::error_code error;
		const auto size = std::filesystem::file_size(index_, error);
		std::string content(error ? 0 : size, '\0');
		std::ifstream in(index_, std::ios::binary);
		in.read(content.data(), static_cast<std::streamsize>(content.size()));
		return content;
	}
	void load(const sim_disk::objects_type &objects, const std::string &index)
	{
		disk.load(objects);
		unlink((index_ + "-lock").c_str());
		if (index.empty())
			unlink(index_.c_str());
		else
			write_file(index_, index);
	}

	// With has_id under the id that ret_id has.
	int deliver(const std::vector<std::string> &to, const std::string &text, mailid *ret_id,
		    bool has_id = false)
	{
		std::vector<mailname> names;
		for (const std::string &box : to)
			names.push_back(name_of(box));
		mailstore_mail mail{};
		mail.recipients = names.data();
		mail.recipient_count = names.size();
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mail.id = has_id ? ret_id : nullptr;
		mail.time_us = time_us;
		return maillayer_deliver(store, &mail, ret_id);
	}
	int deliver(const std::vector<std::string> &to, const std::string &text)
	{
		mailid id;
		return deliver(to, text, &id);
	}
	int remove(const std::string &box, uint64_t mail)
	{
		return maillayer_erase(store, name_of(box), &mail, 1, time_us);
	}
	int collect(unsigned share_max)
	{
		uint64_t segment;
		return maillayer_collect(store, share_max, &segment);
	}

	// The text of a mail, or "" when the disk does not give it.
	std::string read(const mailrow &row)
	{
		std::string wire(row.wire_size, '\0');
		mailrecord record;
		uint8_t *bytes;
		mailmeta meta;
		mailbody_undo undo;
		if (maillayer_read(store, &row, 0, wire.data(), wire.size()) != 0 ||
		    maillayer_record(store, &row, &record, &bytes) != 0)
			return "";
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
	// 0 with one entry of a mailbox.
	int next(const std::string &box, uint64_t from, seen_mail *ret_mail)
	{
		mailentry entry;
		mailrow row;
		int ret = maillayer_find(store, name_of(box), from, &entry);
		if (ret == 0)
			ret = maillayer_find_row(store, entry.mail, &row);
		if (ret != 0)
			return ret;
		*ret_mail = { entry.mail, text_of(entry.id), read(row) };
		return 0;
	}
	std::vector<seen_mail> look(const std::string &box)
	{
		std::vector<seen_mail> found;
		seen_mail one;
		int ret = next(box, 0, &one);
		while (ret == 0) {
			found.push_back(one);
			ret = next(box, one.mail + 1, &one);
		}
		REQUIRE(ret == DNSBLV6_ENOTFOUND);
		return found;
	}
	// All mailboxes that the store lists; its counts are those of what is there.
	seen_boxes look()
	{
		seen_boxes boxes;
		std::set<std::string> ids;
		std::string name;
		uint8_t bytes[MAILBOX_NAME_MAX];
		size_t size;
		mailcounts counts;
		uint64_t entries = 0;
		int ret;
		while ((ret = maillayer_next_box(store, name_of(name), bytes, &size, &counts)) ==
		       0) {
			name.assign(reinterpret_cast<char *>(bytes), size);
			boxes[name] = look(name);
			REQUIRE(boxes[name].size() == counts.mails);
			entries += counts.mails;
			for (const seen_mail &one : boxes[name])
				ids.insert(one.id);
		}
		REQUIRE(ret == DNSBLV6_ENOTFOUND);
		mailstore_info info;
		REQUIRE(maillayer_describe(store, &info) == 0);
		REQUIRE(info.facts.mails == ids.size());
		REQUIRE(info.facts.entries == entries);
		return boxes;
	}

	// repairs: the index that was made for it becomes the store's.
	checked check(bool repairs = false)
	{
		checked done{};
		done.run.repairs = repairs;
		const std::string scratch = dir_.file("scratch");
		done.run.report = [](void *context, mailplace, const char *text) {
			static_cast<std::vector<std::string> *>(context)->push_back(text);
		};
		done.run.context = &done.findings;
		done.status =
			mailcheck_run(&done.run, disk.handle(), index_.c_str(), scratch.c_str());
		if (repairs)
			REQUIRE(rename(scratch.c_str(), index_.c_str()) == 0);
		unlink(scratch.c_str());
		unlink((scratch + "-lock").c_str());
		return done;
	}

	sim_disk disk;
	maillayer *store = nullptr;
	mailstore_recovery recovery{};
	uint64_t time_us = 0; // of mails and deletions

      private:
	uint64_t segment_size_;
	tmpdir dir_;
	std::string index_ = dir_.file("index");
};

// ---- what there has to be ----

struct known_mail {
	std::string id;
	uint64_t mail = 0;
	std::set<std::string> to;
	bool is_committed = false;
	bool has_failed = false;       // to be delivered, and may be there: it is never committed
	std::set<std::string> leaving; // with the next commit
	std::set<std::string> gone;    // for certain
	std::set<std::string> doubted; // deleting failed
};
using known_mails = std::map<std::string, known_mail>; // by text

// What is found is from now on what is known.
inline void take_over(known_mails &mails, const seen_boxes &boxes)
{
	known_mails found;
	for (const auto &[box, seen] : boxes) {
		for (const seen_mail &one : seen) {
			found[one.text].id = one.id;
			found[one.text].mail = one.mail;
			found[one.text].to.insert(box);
			found[one.text].is_committed = true;
		}
	}
	mails = found;
}

inline void commit(known_mails &mails)
{
	for (auto &[text, known] : mails) {
		known.is_committed = !known.has_failed;
		known.gone.insert(known.leaving.begin(), known.leaving.end());
		known.leaving.clear();
	}
}

// What was not committed is not there, and what was to go is.
inline void refuse(known_mails &mails)
{
	for (auto it = mails.begin(); it != mails.end();) {
		it->second.leaving.clear();
		if (!it->second.is_committed && !it->second.has_failed)
			it = mails.erase(it);
		else
			++it;
	}
}

inline bool is_within(const std::set<std::string> &inner, const std::set<std::string> &outer)
{
	return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

inline std::set<std::string> without(std::set<std::string> from, const std::set<std::string> &those)
{
	for (const std::string &one : those)
		from.erase(one);
	return from;
}

// Assertions count, and there are millions of places: this one is for those that fail.
#define HOLDS(...)                                                                                 \
	do {                                                                                       \
		if (!(__VA_ARGS__))                                                                \
			FAIL(#__VA_ARGS__);                                                        \
	} while (false)

inline void compare(const seen_boxes &boxes, const known_mails &mails)
{
	std::map<std::string, std::set<std::string>> owners;
	std::set<std::string> ids;
	for (const auto &[box, seen] : boxes) {
		for (const seen_mail &one : seen) {
			INFO("in " << box << ": " << one.text.substr(0, 20));
			HOLDS(mails.count(one.text) == 1);
			const known_mail &known = mails.at(one.text);
			HOLDS(known.id.empty() || known.id == one.id);
			HOLDS(known.mail == 0 || known.mail == one.mail);
			HOLDS(owners[one.text].insert(box).second);
			ids.insert(one.id);
		}
	}
	HOLDS(ids.size() == owners.size());
	for (const auto &[text, known] : mails) {
		INFO("mail " << text.substr(0, 20));
		const std::set<std::string> most = without(known.to, known.gone);
		const std::set<std::string> &found = owners[text];
		HOLDS(is_within(found, most));
		if (known.is_committed || !found.empty())
			HOLDS(is_within(without(without(most, known.leaving), known.doubted),
					found));
	}
}
