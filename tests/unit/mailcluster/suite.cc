// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/lib/mailname.hh"
#include "tests/unit/mailcluster/suite.hh"

#include "lib/mailstore/mailbody.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace
{
// The client of a store, with words that tests use.
class client
{
      public:
	explicit client(maillayer *layer) : layer_(layer)
	{
	}

	int deliver(const std::vector<std::string> &to, const std::string &text,
		    mailid *ret_id = nullptr, const mailid *id = nullptr, bool is_moved = false)
	{
		static const std::string sender = "sender@example.org";
		std::vector<mailname> names;
		for (const std::string &box : to)
			names.push_back(name_of(box));
		mailstore_mail mail{};
		mailid made{};
		mail.sender = name_of(sender);
		mail.recipients = names.data();
		mail.recipient_count = names.size();
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mail.time_us = 1700000000000000;
		mail.id = id;
		mail.is_moved = is_moved;
		const int ret = maillayer_deliver(layer_, &mail, &made);
		if (ret_id != nullptr && ret == 0)
			*ret_id = made;
		return ret == 0 ? maillayer_sync(layer_) : ret;
	}
	int erase(const std::string &box, const std::vector<uint64_t> &mails)
	{
		const int ret = maillayer_erase(layer_, name_of(box), mails.data(), mails.size(),
						1700000000000001);
		return ret == 0 ? maillayer_sync(layer_) : ret;
	}
	std::vector<mailentry> list(const std::string &box, uint64_t from = 0, size_t room = 10000)
	{
		std::vector<mailentry> entries(room);
		size_t count = 0;
		REQUIRE(maillayer_list(layer_, name_of(box), from, room, entries.data(), &count) ==
			0);
		entries.resize(count);
		return entries;
	}
	// The text of a mail as it was delivered.
	std::string read(uint64_t mail)
	{
		mailrow row{};
		mailrecord record{};
		uint8_t *bytes = nullptr;
		mailmeta meta{};
		mailbody_undo undo{};
		REQUIRE(maillayer_find_row(layer_, mail, &row) == 0);
		REQUIRE(row.live > 0);
		std::string wire(row.wire_size, '\0');
		REQUIRE(maillayer_read(layer_, &row, 0, wire.data(), wire.size()) == 0);
		REQUIRE(maillayer_record(layer_, &row, &record, &bytes) == 0);
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
	std::vector<std::string> texts(const std::string &box)
	{
		std::vector<std::string> found;
		for (const mailentry &entry : list(box))
			found.push_back(read(entry.mail));
		return found;
	}
	// What POP3 sends for a mail: from its descriptor, with what ends it.
	std::string wire(uint64_t mail)
	{
		mailrow row{};
		int fd = -1;
		REQUIRE(maillayer_find_row(layer_, mail, &row) == 0);
		const mailspan span = mailrow_span(&row);
		const int ret = maillayer_open(layer_, span.segment, &fd);
		std::string found(span.size + MAILSPAN_END, '\0');
		if (ret == -EOPNOTSUPP) { // the simulated disk has no descriptors
			REQUIRE(maillayer_read(layer_, &row, 0, found.data(), span.size) == 0);
			return found.replace(span.size, MAILSPAN_END, ".\r\n");
		}
		REQUIRE(ret == 0);
		size_t done = 0;
		while (done < found.size()) {
			const ssize_t got = pread(fd, &found[done], found.size() - done,
						  static_cast<off_t>(span.at + done));
			REQUIRE(got > 0);
			done += static_cast<size_t>(got);
		}
		close(fd);
		return found;
	}
	mailcounts counts(const std::string &box)
	{
		mailcounts found{};
		REQUIRE(maillayer_counts(layer_, name_of(box), &found) == 0);
		return found;
	}
	std::vector<std::string> boxes()
	{
		std::vector<std::string> found;
		std::string name;
		uint8_t bytes[MAILBOX_NAME_MAX];
		size_t size = 0;
		mailcounts counts{};
		int ret;
		while ((ret = maillayer_next_box(layer_, name_of(name), bytes, &size, &counts)) ==
		       0) {
			name.assign(reinterpret_cast<char *>(bytes), size);
			CHECK(counts.mails == list(name).size());
			found.push_back(name);
		}
		REQUIRE(ret == DNSBLV6_ENOTFOUND);
		return found;
	}
	// As a client of mail-stored sees it: what no mailbox has is not there.
	bool has_id(const mailid &id)
	{
		uint64_t mail = 0;
		mailrow row{};
		int ret = maillayer_find_id(layer_, mailname{}, &id, &mail);
		if (ret == 0)
			ret = maillayer_find_row(layer_, mail, &row);
		REQUIRE((ret == 0 || ret == DNSBLV6_ENOTFOUND));
		return ret == 0 && row.live > 0;
	}

	maillayer *layer_;
};

bool is_same_id(const mailid &one, const mailid &other)
{
	return memcmp(&one, &other, sizeof(one)) == 0;
}

using strings = std::vector<std::string>;
} // namespace

// The rest of a case, once for each kind of store.
#define ON_ALL_STORES(mail)                                                                        \
	const tested_store &kind = tested_stores()[static_cast<size_t>(                            \
		GENERATE(range(0, static_cast<int>(tested_stores().size()))))];                    \
	INFO("store: " << kind.name);                                                              \
	const std::unique_ptr<store_bench> bench = kind.make();                                    \
	client mail(bench->layer())

TEST_CASE("a mail comes out of each mailbox as it was delivered, byte by byte", "[suite]")
{
	ON_ALL_STORES(mail);
	const strings texts = { "",
				"x",
				"\n",
				"\r\n",
				".",
				"..\r\n.\r\n",
				"Subject: a\r\n\r\nbody\r\n",
				"Subject: a\n\nbody\n",
				"one\r\ntwo\nthree\r\n.four\n\r\r\n",
				std::string("nul\0nul\r\n", 9),
				std::string("\xff\xfe\x80 bytes\n.") };
	for (const std::string &text : texts)
		REQUIRE(mail.deliver({ "b@example.com", "a@example.com" }, text) == 0);
	CHECK(mail.texts("a@example.com") == texts);
	CHECK(mail.texts("b@example.com") == texts);
	CHECK(mail.list("c@example.com").empty());
}

TEST_CASE("entries say what a mail has, and come in the order of their numbers", "[suite]")
{
	ON_ALL_STORES(mail);
	std::vector<mailid> ids(7);
	for (mailid &id : ids)
		REQUIRE(mail.deliver({ "a" }, "Subject: x\n\n.dot\n", &id) == 0);
	const std::vector<mailentry> all = mail.list("a");
	REQUIRE(all.size() == ids.size());
	for (size_t i = 0; i < all.size(); i++) {
		CHECK((i == 0 || all[i].mail > all[i - 1].mail));
		CHECK(is_same_id(all[i].id, ids[i]));
		CHECK(all[i].text_size == 17);
		CHECK(all[i].octets == 20);
		CHECK(all[i].wire_size == 21);
		CHECK(all[i].time_us == 1700000000000000);
	}
	std::vector<uint64_t> paged;
	for (uint64_t from = 0;;) {
		const std::vector<mailentry> page = mail.list("a", from, 2);
		if (page.empty())
			break;
		REQUIRE(page.size() <= 2);
		for (const mailentry &entry : page)
			paged.push_back(entry.mail);
		from = page.back().mail + 1;
	}
	CHECK(paged.size() == all.size());
	mailentry found{};
	REQUIRE(maillayer_find(mail.layer_, name_of("a"), all[3].mail, &found) == 0);
	CHECK(found.mail == all[3].mail);
	REQUIRE(maillayer_find(mail.layer_, name_of("a"), all[3].mail + 1, &found) == 0);
	CHECK(found.mail == all[4].mail);
	CHECK(maillayer_find(mail.layer_, name_of("a"), all[6].mail + 1, &found) ==
	      DNSBLV6_ENOTFOUND);
}

TEST_CASE("the record of a mail says who sent it, when and to whom", "[suite]")
{
	ON_ALL_STORES(mail);
	REQUIRE(mail.deliver({ "b", "a", "b" }, "x\r\n") == 0);
	mailrow row{};
	mailrecord record{};
	mailmeta meta{};
	mailname name{};
	uint8_t *bytes = nullptr;
	REQUIRE(maillayer_find_row(mail.layer_, mail.list("a")[0].mail, &row) == 0);
	REQUIRE(maillayer_record(mail.layer_, &row, &record, &bytes) == 0);
	REQUIRE(mailmeta_decode(bytes, record.meta_size, &meta) == 0);
	CHECK(std::string(reinterpret_cast<const char *>(meta.sender.bytes), meta.sender.size) ==
	      "sender@example.org");
	CHECK(record.time_us == 1700000000000000);
	REQUIRE(meta.recipient_count == 2);
	REQUIRE(mailmeta_next(&meta, &name));
	CHECK((name.size == 1 && name.bytes[0] == 'a'));
	REQUIRE(mailmeta_next(&meta, &name));
	CHECK((name.size == 1 && name.bytes[0] == 'b'));
	free(bytes);
}

TEST_CASE("an erased mail is gone from its mailbox, and from that alone", "[suite]")
{
	ON_ALL_STORES(mail);
	mailid first{};
	mailid second{};
	REQUIRE(mail.deliver({ "a", "b" }, "first\r\n", &first) == 0);
	REQUIRE(mail.deliver({ "a" }, "second\r\n", &second) == 0);
	const std::vector<mailentry> all = mail.list("a");
	REQUIRE(mail.erase("a", { all[0].mail }) == 0);
	CHECK(mail.texts("a") == strings{ "second\r\n" });
	CHECK(mail.texts("b") == strings{ "first\r\n" });
	CHECK(mail.has_id(first));
	REQUIRE(mail.erase("a", { all[0].mail, all[1].mail, all[1].mail }) == 0);
	CHECK(mail.list("a").empty());
	CHECK_FALSE(mail.has_id(second));
	REQUIRE(mail.erase("b", { all[0].mail }) == 0);
	CHECK_FALSE(mail.has_id(first));
	CHECK(mail.boxes() == strings{});
}

TEST_CASE("numbers that a mailbox does not have are passed over", "[suite]")
{
	ON_ALL_STORES(mail);
	REQUIRE(mail.deliver({ "a" }, "x\r\n") == 0);
	REQUIRE(mail.deliver({ "b" }, "y\r\n") == 0);
	const uint64_t other = mail.list("b")[0].mail;
	CHECK(mail.erase("a", { other, UINT64_MAX - 1, 0 }) == 0);
	CHECK(mail.erase("nobody", { other }) == 0);
	CHECK(mail.erase("a", {}) == 0);
	CHECK(mail.texts("a") == strings{ "x\r\n" });
	CHECK(mail.texts("b") == strings{ "y\r\n" });
}

TEST_CASE("many mails are erased at once", "[suite]")
{
	ON_ALL_STORES(mail);
	std::vector<uint64_t> every;
	strings left;
	for (unsigned i = 0; i < 1200; i++)
		REQUIRE(mail.deliver({ "a" }, std::to_string(i)) == 0);
	const std::vector<mailentry> all = mail.list("a");
	REQUIRE(all.size() == 1200);
	for (unsigned i = 0; i < 1200; i++) {
		if (i % 11 != 0)
			every.push_back(all[i].mail);
		else
			left.push_back(std::to_string(i));
	}
	REQUIRE(mail.erase("a", every) == 0);
	CHECK(mail.texts("a") == left);
}

TEST_CASE("an id makes a mail once, however often it is delivered", "[suite]")
{
	ON_ALL_STORES(mail);
	mailid id{};
	mailid again{};
	mailid foreign{};
	REQUIRE(maillayer_make_id(mail.layer_, &id) == 0);
	CHECK_FALSE(mail.has_id(id));
	REQUIRE(mail.deliver({ "a", "b" }, "one\r\n", &again, &id) == 0);
	CHECK(is_same_id(again, id));
	REQUIRE(mail.deliver({ "a", "b" }, "one\r\n", &again, &id) == 0);
	CHECK(is_same_id(again, id));
	CHECK(mail.texts("a") == strings{ "one\r\n" });
	CHECK(mail.deliver({ "a", "b" }, "two\r\n", nullptr, &id) == MAILSTORE_EID);
	CHECK(mail.deliver({ "a", "c" }, "one\r\n", nullptr, &id) == MAILSTORE_EID);
	CHECK(mail.texts("a") == strings{ "one\r\n" });
	CHECK(mail.list("c").empty());
	memset(&foreign, 7, sizeof(foreign));
	CHECK(mail.deliver({ "a" }, "x", nullptr, &foreign) == MAILSTORE_EFOREIGN);
	CHECK_FALSE(mail.has_id(foreign));
}

TEST_CASE("a mail that was erased is not delivered again by its id", "[suite]")
{
	ON_ALL_STORES(mail);
	mailid id{};
	REQUIRE(maillayer_make_id(mail.layer_, &id) == 0);
	REQUIRE(mail.deliver({ "a", "b" }, "one\r\n", nullptr, &id) == 0);
	REQUIRE(mail.erase("a", { mail.list("a")[0].mail }) == 0);
	CHECK(mail.deliver({ "a", "b" }, "one\r\n", nullptr, &id) == 0);
	CHECK(mail.list("a").empty());
	CHECK(mail.list("b").size() == 1);
}

TEST_CASE("a mail that comes with the id of another store keeps it, once", "[suite]")
{
	ON_ALL_STORES(mail);
	mailid id{};
	mailid made{};
	memset(&id, 9, sizeof(id));
	REQUIRE(mail.deliver({ "a" }, "moved\r\n", &made, &id, true) == 0);
	CHECK(is_same_id(made, id));
	CHECK(is_same_id(mail.list("a")[0].id, id));
	CHECK(mail.has_id(id));
	CHECK(mail.deliver({ "a" }, "moved\r\n", &made, &id, true) == MAILSTORE_EID);
	CHECK(mail.deliver({ "b" }, "other\r\n", &made, &id, true) == MAILSTORE_EID);
	REQUIRE(mail.erase("a", { mail.list("a")[0].mail }) == 0);
	CHECK_FALSE(mail.has_id(id));
}

TEST_CASE("a mailbox may have any name of 1 to 255 bytes without NUL", "[suite]")
{
	ON_ALL_STORES(mail);
	std::set<std::string> names = { "..", "/", "a/b", "%", "%41", "A", "a", "x.a", " ", "\n" };
	for (unsigned byte = 1; byte < 256; byte++)
		names.insert(std::string(1, static_cast<char>(byte)));
	names.insert(std::string(255, '\xff'));
	names.insert(std::string(255, '%'));
	names.insert(std::string(255, 'a'));
	for (const std::string &name : names)
		REQUIRE(mail.deliver({ name }, name) == 0);
	std::vector<std::string> sorted(names.begin(), names.end());
	std::sort(sorted.begin(), sorted.end(), [](const std::string &a, const std::string &b) {
		return std::lexicographical_compare(
			a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
				return static_cast<uint8_t>(x) < static_cast<uint8_t>(y);
			});
	});
	CHECK(mail.boxes() == sorted);
	for (const std::string &name : names)
		REQUIRE(mail.texts(name) == strings{ name });
	for (const std::string &name :
	     { std::string(), std::string(256, 'a'), std::string("a\0b", 3) }) {
		mailentry entry{};
		mailcounts counts{};
		size_t count = 0;
		CHECK(mail.deliver({ "a", name }, "x") == MAILSTORE_EBOX);
		CHECK(mail.erase(name, { 1 }) == MAILSTORE_EBOX);
		CHECK(maillayer_list(mail.layer_, name_of(name), 0, 1, &entry, &count) ==
		      MAILSTORE_EBOX);
		CHECK(maillayer_find(mail.layer_, name_of(name), 0, &entry) == MAILSTORE_EBOX);
		CHECK(maillayer_counts(mail.layer_, name_of(name), &counts) == MAILSTORE_EBOX);
		CHECK(maillayer_peek_counts(mail.layer_, name_of(name), &counts) == MAILSTORE_EBOX);
	}
	CHECK(mail.texts("a") == strings{ "a" });
}

TEST_CASE("a mail has 1 to 10,000 recipients, each once", "[suite]")
{
	ON_ALL_STORES(mail);
	strings to;
	for (unsigned i = 0; i < 600; i++)
		to.push_back("user" + std::to_string(i) + "@example.com");
	to.push_back(to[17]);
	REQUIRE(mail.deliver(to, "for many\r\n") == 0);
	to.pop_back();
	for (const std::string &box : to)
		REQUIRE(mail.list(box).size() == 1);
	CHECK(mail.texts(to[599]) == strings{ "for many\r\n" });
	CHECK(mail.boxes().size() == 600);
	CHECK(mail.deliver({}, "x") == MAILSTORE_ERECIPIENTS);
	CHECK(mail.deliver(strings(10001, "a"), "x") == MAILSTORE_ERECIPIENTS);
}

TEST_CASE("a large mail is whole in the descriptor and in pieces", "[suite]")
{
	ON_ALL_STORES(mail);
	std::string text;
	for (unsigned i = 0; text.size() < 3000000; i++)
		text += "line " + std::to_string(i * 2654435761U) + "\r\n";
	REQUIRE(mail.deliver({ "a" }, text) == 0);
	REQUIRE(mail.deliver({ "a" }, "small\r\n.\r\n") == 0);
	const std::vector<mailentry> all = mail.list("a");
	CHECK((mail.wire(all[0].mail) == text + ".\r\n"));
	CHECK(mail.wire(all[1].mail) == "small\r\n..\r\n.\r\n");
	CHECK((mail.read(all[0].mail) == text));
	mailrow row{};
	REQUIRE(maillayer_find_row(mail.layer_, all[0].mail, &row) == 0);
	for (const size_t at : { size_t{ 0 }, size_t{ 65000 }, size_t{ 65535 }, text.size() - 9 }) {
		char piece[9];
		REQUIRE(maillayer_read(mail.layer_, &row, at, piece, sizeof(piece)) == 0);
		CHECK(std::string(piece, sizeof(piece)) == text.substr(at, sizeof(piece)));
	}
	char byte;
	CHECK(maillayer_read(mail.layer_, &row, text.size(), &byte, 1) == -ENODATA);
	CHECK(maillayer_read(mail.layer_, &row, UINT64_MAX, &byte, 1) == -ENODATA);
}

TEST_CASE("counts are those of the mails that are there", "[suite]")
{
	ON_ALL_STORES(mail);
	CHECK(mail.counts("a").mails == 0);
	REQUIRE(mail.deliver({ "a", "b" }, "12345678\r\n") == 0);
	REQUIRE(mail.deliver({ "a" }, "12\r\n") == 0);
	CHECK(mail.counts("a").mails == 2);
	CHECK(mail.counts("a").octets == 14);
	CHECK(mail.counts("b").octets == 10);
	REQUIRE(mail.erase("a", { mail.list("a")[0].mail }) == 0);
	CHECK(mail.counts("a").mails == 1);
	CHECK(mail.counts("a").octets == 4);
	mailcounts peeked{};
	REQUIRE(maillayer_flush(mail.layer_) == 0);
	REQUIRE(maillayer_peek_counts(mail.layer_, name_of("a"), &peeked) == 0);
	CHECK(peeked.octets == 4);
}

TEST_CASE("mailboxes are listed while others come", "[suite]")
{
	ON_ALL_STORES(mail);
	uint8_t bytes[MAILBOX_NAME_MAX];
	size_t size = 0;
	mailcounts counts{};
	REQUIRE(mail.deliver({ "b", "d" }, "x") == 0);
	REQUIRE(maillayer_next_box(mail.layer_, name_of("a"), bytes, &size, &counts) == 0);
	CHECK(std::string(reinterpret_cast<char *>(bytes), size) == "b");
	REQUIRE(mail.deliver({ "a", "c" }, "y") == 0);
	REQUIRE(maillayer_next_box(mail.layer_, name_of("b"), bytes, &size, &counts) == 0);
	CHECK(std::string(reinterpret_cast<char *>(bytes), size) == "c");
	CHECK(maillayer_next_box(mail.layer_, name_of("d"), bytes, &size, &counts) ==
	      DNSBLV6_ENOTFOUND);
	CHECK(mail.boxes() == strings{ "a", "b", "c", "d" });
}

TEST_CASE("what is not there is not found", "[suite]")
{
	ON_ALL_STORES(mail);
	mailrow row{};
	int fd = -1;
	CHECK(maillayer_find_row(mail.layer_, 12345, &row) == DNSBLV6_ENOTFOUND);
	const int ret = maillayer_open(mail.layer_, 12345, &fd);
	CHECK((ret == -ENOENT || ret == -EOPNOTSUPP));
	CHECK(mail.boxes() == strings{});
	CHECK(mail.list("a").empty());
}

TEST_CASE("a lock keeps other clients out as long as it is held", "[suite]")
{
	ON_ALL_STORES(mail);
	maillayer *other = bench->another();
	if (other == nullptr) {
		CHECK(maillayer_lock(mail.layer_, name_of("a")) == -EOPNOTSUPP);
		return;
	}
	CHECK(maillayer_unlock(mail.layer_) == 0);
	REQUIRE(maillayer_lock(mail.layer_, name_of("a")) == 0);
	CHECK(maillayer_lock(mail.layer_, name_of("a")) == 0);
	CHECK(maillayer_lock(mail.layer_, name_of("b")) == MAILSTORE_ELOCK);
	CHECK(maillayer_lock(other, name_of("a")) == -EBUSY);
	CHECK(maillayer_lock(other, name_of("b")) == 0);
	client second(other);
	REQUIRE(second.deliver({ "a", "b" }, "x") == 0);
	CHECK(mail.list("a").size() == 1);
	CHECK(mail.erase("a", { mail.list("a")[0].mail }) == 0);
	CHECK(second.list("a").empty());
	REQUIRE(maillayer_unlock(mail.layer_) == 0);
	CHECK(maillayer_unlock(mail.layer_) == 0);
	CHECK(maillayer_unlock(other) == 0);
	CHECK(maillayer_lock(other, name_of("a")) == 0);
	CHECK(maillayer_lock(mail.layer_, name_of("a")) == -EBUSY);
	maillayer_close(other);
	CHECK(maillayer_lock(mail.layer_, name_of("a")) == 0);
	CHECK(maillayer_lock(mail.layer_, mailname{ nullptr, 0 }) != 0);
}

TEST_CASE("a second client sees what the first one has done", "[suite]")
{
	ON_ALL_STORES(mail);
	maillayer *other = bench->another();
	if (other == nullptr) {
		SUCCEED("a store with one client");
		return;
	}
	client second(other);
	mailid id{};
	REQUIRE(mail.deliver({ "a", "b" }, "x\r\n", &id) == 0);
	CHECK(second.texts("a") == strings{ "x\r\n" });
	CHECK(second.has_id(id));
	CHECK(second.boxes() == strings{ "a", "b" });
	CHECK(second.deliver({ "a", "b" }, "x\r\n", nullptr, &id) == 0);
	CHECK(mail.list("a").size() == 1);
	REQUIRE(second.erase("b", { second.list("b")[0].mail }) == 0);
	CHECK(mail.list("b").empty());
	CHECK(mail.texts("a") == strings{ "x\r\n" });
	maillayer_close(other);
}
