// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/mailstore/mailcheck.h"
#include "lib/mailstore/mailstore.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/simdisk.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <csignal>
#include <string>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>
#include <vector>

namespace
{
// While it lives no file of this process grows beyond the size.
class file_limit
{
      public:
	explicit file_limit(rlim_t size)
	{
		signal(SIGXFSZ, SIG_IGN);
		getrlimit(RLIMIT_FSIZE, &before_);
		const rlimit limit{ size, before_.rlim_max };
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	~file_limit()
	{
		setrlimit(RLIMIT_FSIZE, &before_);
	}
	file_limit(const file_limit &) = delete;
	file_limit &operator=(const file_limit &) = delete;

      private:
	rlimit before_{};
};

class fixture
{
      public:
	explicit fixture(uint64_t segment_size = 4096) : segment_size_(segment_size)
	{
	}
	~fixture()
	{
		maillayer_close(store);
	}
	fixture(const fixture &) = delete;
	fixture &operator=(const fixture &) = delete;

	int open()
	{
		mailstore_setup setup{};
		const std::string path = index();
		setup.disk = disk.handle();
		setup.index_path = path.c_str();
		setup.segment_size = segment_size_;
		setup.on_step = [](void *context, const mailstore_recovery *found) {
			static_cast<fixture *>(context)->steps.push_back(*found);
		};
		setup.context = this;
		steps.clear();
		return mailstore_open(&setup, &store, &recovery);
	}
	void close()
	{
		maillayer_close(store);
		store = nullptr;
	}
	// As a process that is killed: what was not flushed is not in the index.
	void kill()
	{
		mailstore_abandon(store);
		store = nullptr;
	}
	std::string index() const
	{
		return dir.file("index");
	}
	void remove_index()
	{
		unlink(index().c_str());
	}

	int deliver(const std::vector<std::string> &to, const std::string &text,
		    mailid *ret_id = nullptr, const mailid *id = nullptr)
	{
		std::vector<mailname> names;
		for (const std::string &box : to)
			names.push_back(name_of(box));
		mailstore_mail mail{};
		mailid made{};
		static const std::string sender = "sender@example.net";
		mail.sender = name_of(sender);
		mail.recipients = names.data();
		mail.recipient_count = names.size();
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mail.id = id;
		const int ret = maillayer_deliver(store, &mail, &made);
		if (ret == 0 && ret_id != nullptr)
			*ret_id = made;
		return ret;
	}
	// The texts of a mailbox, in order.
	std::vector<std::string> read(const std::string &box)
	{
		std::vector<std::string> texts;
		mailentry entry;
		uint64_t from = 0;
		while (maillayer_find(store, name_of(box), from, &entry) == 0) {
			mailrow row;
			std::string wire(entry.wire_size, '\0');
			REQUIRE(maillayer_find_row(store, entry.mail, &row) == 0);
			REQUIRE(maillayer_read(store, &row, 0, wire.data(), wire.size()) == 0);
			texts.push_back(wire);
			from = entry.mail + 1;
		}
		return texts;
	}
	uint64_t mail_at(const std::string &box, uint64_t from = 0)
	{
		mailentry entry{};
		REQUIRE(maillayer_find(store, name_of(box), from, &entry) == 0);
		return entry.mail;
	}
	mailstore_info info()
	{
		struct mailstore_info found {
		};
		REQUIRE(maillayer_describe(store, &found) == 0);
		return found;
	}
	std::vector<std::string> check()
	{
		std::vector<std::string> findings;
		mailcheck run{};
		run.report = [](void *context, mailplace, const char *text) {
			static_cast<std::vector<std::string> *>(context)->push_back(text);
		};
		run.step = [](void *, uint64_t done, uint64_t total) { CHECK(done <= total); };
		run.context = &findings;
		const std::string path = index();
		const std::string scratch = dir.file("scratch");
		REQUIRE(mailcheck_run(&run, disk.handle(), path.c_str(), scratch.c_str()) == 0);
		unlink(scratch.c_str());
		unlink((scratch + "-lock").c_str());
		return findings;
	}

	tmpdir dir;
	sim_disk disk{ 1 };
	maillayer *store = nullptr;
	mailstore_recovery recovery{};
	std::vector<mailstore_recovery> steps;

      private:
	uint64_t segment_size_;
};
} // namespace

TEST_CASE("a mail for three is one record, one sync, and there for each", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	const uint64_t syncs = f.disk.syncs();
	REQUIRE(f.deliver({ "c", "a", "b", "a" }, "x\r\n") == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	CHECK(f.disk.syncs() == syncs + 1);
	for (const char *box : { "a", "b", "c" })
		CHECK(f.read(box) == std::vector<std::string>{ "x\r\n" });
	CHECK(f.info().facts.mails == 1);
	CHECK(f.info().facts.entries == 3);
	CHECK(f.check().empty());
}

TEST_CASE("a batch of deliveries needs one sync", "[mailstore][store]")
{
	fixture f(1U << 20);
	REQUIRE(f.open() == 0);
	const uint64_t syncs = f.disk.syncs();
	for (int i = 0; i < 100; i++)
		REQUIRE(f.deliver({ "a" }, std::to_string(i) + "\r\n") == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	CHECK(f.disk.syncs() == syncs + 1);
}

// An import asks so of each mail that it has, before it delivers it.
TEST_CASE("to look for an id commits nothing but the mail that has it", "[mailstore][store]")
{
	fixture f(1U << 20);
	REQUIRE(f.open() == 0);
	mailid waiting{};
	mailid other{};
	uint64_t mail = 0;
	REQUIRE(maillayer_make_id(f.store, &other) == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n", &waiting) == 0);
	const uint64_t syncs = f.disk.syncs();
	CHECK(maillayer_find_id(f.store, {}, &other, &mail) == DNSBLV6_ENOTFOUND);
	CHECK(f.disk.syncs() == syncs);
	CHECK(maillayer_find_id(f.store, {}, &waiting, &mail) == 0);
	CHECK(f.disk.syncs() == syncs + 1);
}

TEST_CASE("what is written for a mail is little more than the mail", "[mailstore][store]")
{
	fixture f(1U << 20);
	REQUIRE(f.open() == 0);
	const std::string line = std::string(70, 'x') + "\r\n";
	std::string text;
	while (text.size() < 10000)
		text += line;
	std::vector<std::string> to;
	for (int i = 0; i < 15; i++)
		to.push_back("recipient-" + std::to_string(i) + "@example.com");
	const uint64_t before = f.info().written;
	REQUIRE(f.deliver(to, text) == 0);
	CHECK(f.info().written - before <= text.size() * 11 / 10 + 64 * to.size());
}

TEST_CASE("mails of any size are taken", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	std::vector<std::string> texts = { "", "\r\n", std::string(100000, 'x') + "\r\n" };
	for (const std::string &text : texts)
		REQUIRE(f.deliver({ "a" }, text) == 0);
	CHECK(f.read("a") == texts);
	f.kill();
	REQUIRE(f.open() == 0);
	CHECK(f.read("a") == texts);
}

TEST_CASE("any bytes but NUL name a mailbox", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	const std::vector<std::string> names = {
		"..", "a/b", "\xff\x01", "Grüße", std::string(255, 'n'), "a", "a/b/c"
	};
	for (const std::string &name : names)
		CHECK(f.deliver({ name }, "to " + name + "\r\n") == 0);
	for (const std::string &name : names)
		CHECK(f.read(name) == std::vector<std::string>{ "to " + name + "\r\n" });
	for (const std::string &name :
	     { std::string(), std::string(256, 'n'), std::string("a\0b", 3) })
		CHECK(f.deliver({ "a", name }, "x") == MAILSTORE_EBOX);
	CHECK(f.read("a").size() == 1);
}

TEST_CASE("ten thousand recipients are the most", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	std::vector<std::string> to;
	for (int i = 0; i < 10000; i++)
		to.push_back("user" + std::to_string(i) + "@example.com");
	CHECK(f.deliver(to, "x\r\n") == 0);
	CHECK(f.info().facts.entries == 10000);
	to.push_back("one@more");
	CHECK(f.deliver(to, "x\r\n") == MAILSTORE_ERECIPIENTS);
	CHECK(f.deliver({}, "x\r\n") == MAILSTORE_ERECIPIENTS);
	CHECK(f.info().facts.entries == 10000);
}

TEST_CASE("a second try with an id does nothing, another mail with it is refused",
	  "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	mailid id{};
	REQUIRE(maillayer_make_id(f.store, &id) == 0);
	REQUIRE(f.deliver({ "a", "b" }, "x\r\n", nullptr, &id) == 0);
	CHECK(f.deliver({ "b", "a" }, "x\r\n", nullptr, &id) == 0);
	CHECK(f.read("a").size() == 1);
	CHECK(f.deliver({ "a", "b" }, "y\r\n", nullptr, &id) == MAILSTORE_EID);
	CHECK(f.deliver({ "a" }, "x\r\n", nullptr, &id) == MAILSTORE_EID);
	id.bytes[15] ^= 1;
	CHECK(f.deliver({ "a" }, "x\r\n", nullptr, &id) == MAILSTORE_EFOREIGN);
	CHECK(f.info().facts.refused == 3);
	f.close();
	REQUIRE(f.open() == 0);
	CHECK(f.info().facts.refused == 3);
	CHECK(f.read("a").size() == 1);
}

TEST_CASE("a second try does nothing when some have deleted the mail and it was collected",
	  "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	mailid id{};
	REQUIRE(maillayer_make_id(f.store, &id) == 0);
	REQUIRE(f.deliver({ "a", "b" }, "x\ny\r\n", nullptr, &id) == 0);
	const uint64_t number = f.mail_at("a");
	REQUIRE(maillayer_erase(f.store, name_of("a"), &number, 1, 0) == 0);
	uint64_t segment = 0;
	REQUIRE(maillayer_collect(f.store, 101, &segment) == 0);
	CHECK(f.deliver({ "a", "b" }, "x\ny\r\n", nullptr, &id) == 0);
	CHECK(f.read("a").empty());
	CHECK(f.read("b").size() == 1);
	CHECK(f.deliver({ "a", "b" }, "x\r\ny\n", nullptr, &id) == MAILSTORE_EID);
	CHECK(f.deliver({ "a" }, "x\ny\r\n", nullptr, &id) == MAILSTORE_EID);
}

TEST_CASE("a mail that moves in keeps its id, unless a mail has it or had it", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	mailid id{};
	REQUIRE(maillayer_make_id(f.store, &id) == 0);
	id.bytes[15] ^= 1; /* another store's */
	const std::string box = "a";
	const mailname recipient = name_of(box);
	const mailstore_mail mail = {
		{}, &recipient, 1, (const uint8_t *)"x\r\n", 3, 7, &id, true
	};
	mailid got{};
	REQUIRE(maillayer_deliver(f.store, &mail, &got) == 0);
	CHECK(memcmp(&got, &id, sizeof(id)) == 0);
	CHECK(maillayer_deliver(f.store, &mail, &got) == MAILSTORE_EID);
	REQUIRE(maillayer_flush(f.store) == 0);
	CHECK(maillayer_deliver(f.store, &mail, &got) == MAILSTORE_EID);
	CHECK(f.deliver({ "a" }, "x\r\n", nullptr, &id) == MAILSTORE_EFOREIGN);
	const uint64_t number = f.mail_at("a");
	REQUIRE(maillayer_erase(f.store, name_of("a"), &number, 1, 0) == 0);
	CHECK(maillayer_deliver(f.store, &mail, &got) == MAILSTORE_EID);
	CHECK(f.read("a").empty());
	CHECK(f.info().facts.refused == 1);
}

TEST_CASE("deleted mails go from one mailbox, and their space when none has them",
	  "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	uint64_t segment = 0;
	const std::string text = std::string(900, 'x') + "\r\n";
	for (int i = 0; i < 12; i++)
		REQUIRE(f.deliver({ "a", "b" }, text) == 0);
	uint64_t mail = f.mail_at("a");
	for (int i = 0; i < 12; i++) {
		REQUIRE(maillayer_erase(f.store, name_of("a"), &mail, 1, 0) == 0);
		mail++;
	}
	CHECK(f.read("a").empty());
	CHECK(f.read("b").size() == 12);
	const uint64_t size = f.info().log_size;
	while (maillayer_collect(f.store, 75, &segment) == 0) {
	}
	CHECK(f.read("b").size() == 12);
	CHECK(f.info().log_size >= 12 * text.size());
	mail = f.mail_at("b");
	for (int i = 0; i < 12; i++) {
		REQUIRE(maillayer_erase(f.store, name_of("b"), &mail, 1, 0) == 0);
		mail++;
	}
	int ret;
	while ((ret = maillayer_collect(f.store, 75, &segment)) == 0) {
	}
	CHECK(ret == DNSBLV6_ENOTFOUND);
	CHECK(f.info().facts.mails == 0);
	CHECK(f.info().log_size < size / 2);
	f.close();
	CHECK(f.check().empty());
}

TEST_CASE("an index that is lost is made from the log", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	for (int i = 0; i < 20; i++)
		REQUIRE(f.deliver({ "a", "b" }, std::string(500, 'x') + "\r\n") == 0);
	const uint64_t mail = f.mail_at("a");
	REQUIRE(maillayer_erase(f.store, name_of("a"), &mail, 1, 0) == 0);
	f.close();
	f.remove_index();
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.was_built);
	CHECK(f.recovery.replayed == 21);
	CHECK(f.read("a").size() == 19);
	CHECK(f.read("b").size() == 20);
}

TEST_CASE("making an index may end between its transactions", "[mailstore][store]")
{
	// More records than one transaction takes over, in many segments.
	const size_t count = 5000;
	fixture f(1U << 16);
	REQUIRE(f.open() == 0);
	for (size_t i = 0; i < count; i++)
		REQUIRE(f.deliver({ "a" }, std::to_string(i) + "\r\n") == 0);
	f.close();
	f.remove_index();
	const unsigned before = f.disk.calls();
	REQUIRE(f.open() == 0);
	const unsigned calls = f.disk.calls() - before;
	f.close();
	f.remove_index();
	f.disk.fail_after(calls - 100, -EIO);
	REQUIRE(f.open() == -EIO);
	f.disk.work_again();
	REQUIRE(f.open() == 0);
	CHECK_FALSE(f.recovery.was_built);
	CHECK(f.recovery.replayed > 0);
	CHECK(f.recovery.orphans == 0);
	CHECK(f.info().facts.mails == count);
	f.close();
	f.remove_index();
	REQUIRE(f.open() == 0);
	// How far it was: each segment, and then 4096 records.
	REQUIRE(f.steps.size() == f.recovery.segments + 1);
	CHECK(f.recovery.segments > 1);
	CHECK(f.steps[0].examined == 1);
	CHECK(f.steps.back().examined == f.recovery.segments);
	CHECK(f.steps.back().replayed == 4096);
	CHECK(f.recovery.replayed == count);
	f.close();
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.orphans == 0);
	CHECK(f.info().facts.mails == count);
}

TEST_CASE("an index is made in steps that are small also where mails have many recipients",
	  "[mailstore][store]")
{
	// So many names that a few thousand mails with them would take gigabytes.
	std::vector<std::string> to;
	for (unsigned i = 0; i < 1000; i++)
		to.push_back(std::to_string(i) + std::string(250, 'x'));
	fixture f(64U << 20);
	REQUIRE(f.open() == 0);
	for (unsigned i = 0; i < 24; i++)
		REQUIRE(f.deliver(to, "x\r\n") == 0);
	f.close();
	f.remove_index();
	const unsigned before = f.disk.calls();
	REQUIRE(f.open() == 0);
	const unsigned calls = f.disk.calls() - before;
	f.close();
	f.remove_index();
	f.disk.fail_after(calls - 2, -EIO);
	REQUIRE(f.open() == -EIO);
	f.disk.work_again();
	REQUIRE(f.open() == 0);
	CHECK_FALSE(f.recovery.was_built);
	CHECK(f.recovery.replayed < 24);
	CHECK(f.info().facts.mails == 24);
}

TEST_CASE("an index that goes, or is replaced, while the store is open is not written",
	  "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	f.close();
	const std::string old = read_file(f.index());
	REQUIRE(f.open() == 0);
	for (int i = 0; i < 20; i++)
		REQUIRE(f.deliver({ "a" }, std::string(500, 'x') + "\r\n") == 0);
	mailid made;
	REQUIRE(maillayer_flush(f.store) == 0);
	REQUIRE(maillayer_make_id(f.store, &made) == 0);
	f.remove_index();
	if (GENERATE(false, true))
		write_file(f.index(), old);
	else
		CHECK(f.deliver({ "a" }, "y\r\n", nullptr, &made) == MAILSTORE_ENOINDEX);
	REQUIRE(f.deliver({ "a" }, "y\r\n") == 0);
	CHECK(maillayer_flush(f.store) == MAILSTORE_ENOINDEX);
	f.close();
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.orphans == 0);
	CHECK(f.read("a").size() == 22);
}

TEST_CASE("the index of another store is refused", "[mailstore][store]")
{
	fixture f;
	fixture other;
	REQUIRE(f.open() == 0);
	REQUIRE(other.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	REQUIRE(other.deliver({ "a" }, "y\r\n") == 0);
	f.close();
	other.close();
	write_file(f.index(), read_file(other.index()));
	CHECK(f.open() == MAILSTORE_EINDEX);
	CHECK(f.check().size() >= 1);
}

TEST_CASE("a segment that is missing or cut short is an error that names it", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	for (int i = 0; i < 20; i++)
		REQUIRE(f.deliver({ "a" }, std::string(500, 'x') + "\r\n") == 0);
	f.close();
	const std::string kept = f.disk.bytes(2);
	f.disk.bytes(2).resize(1000);
	CHECK(f.open() == MAILSTORE_EAHEAD);
	CHECK(f.recovery.first.segment == 2);
	f.disk.forget(2);
	CHECK(f.open() == MAILSTORE_ELOST);
	CHECK(f.recovery.first.segment == 2);
	// What is there can be had back.
	f.remove_index();
	REQUIRE(f.open() == 0);
	CHECK(f.read("a").size() > 5);
	CHECK(f.read("a").size() < 20);
}

TEST_CASE("a store without identity, or of another schema, is none", "[mailstore][store]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	f.close();
	const std::string kept = f.disk.bytes(0);
	f.disk.bytes(0)[11] = 2;
	CHECK(f.open() == MAILSTORE_ESCHEMA);
	f.disk.bytes(0) = kept;
	f.disk.bytes(0)[0] = 'X';
	CHECK(f.open() == MAILSTORE_ENOTSTORE);
	f.disk.forget(0);
	CHECK(f.open() == MAILSTORE_ENOTSTORE);
}

// ---- damage ----

TEST_CASE("a committed record that is damaged is reported, and what is behind it is served",
	  "[mailstore][damage]")
{
	fixture f(1U << 20);
	REQUIRE(f.open() == 0);
	for (int i = 0; i < 3; i++) {
		REQUIRE(f.deliver({ "a" }, std::to_string(i) + "\r\n") == 0);
		REQUIRE(maillayer_sync(f.store) == 0);
	}
	f.kill();
	const size_t place = f.disk.bytes(1).find("Dmr1", MAILSEGMENT_HEAD_SIZE + 8);
	const size_t body = f.disk.bytes(1).find("1\r\n", place);
	// In its magic, its size, the rest of its head, its body.
	const size_t places[] = { place, place + 15, place + 40, body };
	const size_t damaged = places[GENERATE(0, 1, 2, 3)];
	CAPTURE(damaged);
	f.disk.bytes(1)[damaged] ^= 8;
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.damaged == 1);
	CHECK(f.recovery.first.at == place);
	CHECK(f.recovery.cut == 0);
	const std::vector<std::string> texts = f.read("a");
	REQUIRE(texts.size() >= 2);
	CHECK(texts.front() == "0\r\n");
	CHECK(texts.back() == "2\r\n");
	uint64_t segment = 0;
	CHECK(maillayer_collect(f.store, 101, &segment) == MAILSTORE_EDAMAGED);
	CHECK(segment == 1);
	CHECK(f.deliver({ "a" }, "in another segment\r\n") == 0);
	CHECK(maillayer_collect(f.store, 101, &segment) == 0);
	CHECK(segment == 2);
	CHECK(f.read("a").size() == texts.size() + 1);
	f.close();
	CHECK(f.check().size() == 1);
}

TEST_CASE("what was never committed is cut, and reported as that", "[mailstore][damage]")
{
	fixture f(1U << 20);
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "committed\r\n") == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	REQUIRE(f.deliver({ "a" }, "one\r\n") == 0);
	REQUIRE(f.deliver({ "a" }, "two\r\n") == 0);
	const size_t place = f.disk.bytes(1).find("one\r\n");
	f.kill();
	f.disk.bytes(1)[place] = '?';
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.damaged == 0);
	CHECK(f.recovery.cut > 0);
	CHECK(f.read("a") == std::vector<std::string>{ "committed\r\n" });
}

TEST_CASE("the text of a mail is never taken for a record", "[mailstore][damage]")
{
	fixture f(1U << 20);
	fixture other(1U << 20);
	REQUIRE(f.open() == 0);
	REQUIRE(other.open() == 0);
	// The log of another store, as an attachment, at every alignment.
	REQUIRE(other.deliver({ "victim" }, "forged\r\n") == 0);
	REQUIRE(maillayer_sync(other.store) == 0);
	const std::string forged = other.disk.bytes(1).substr(MAILSEGMENT_HEAD_SIZE);
	std::string text;
	for (int i = 0; i < 8; i++)
		text += forged + std::string(1 + size_t(i), 'x');
	REQUIRE(f.deliver({ "a" }, text) == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	REQUIRE(f.deliver({ "a" }, "behind\r\n") == 0);
	REQUIRE(maillayer_sync(f.store) == 0);
	f.kill();
	f.disk.bytes(1)[MAILSEGMENT_HEAD_SIZE + 1] ^= 1;
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.damaged >= 1);
	CHECK(f.read("victim").empty());
	CHECK(f.read("a").size() == 1);
}

// ---- a disk that fails ----

TEST_CASE("a sync that fails stops the store, and is not tried again", "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	f.disk.fail_after(1, -EIO, true);
	CHECK(maillayer_sync(f.store) == -EIO);
	const unsigned calls = f.disk.calls();
	CHECK(maillayer_sync(f.store) == MAILSTORE_EFAILED);
	CHECK(f.deliver({ "a" }, "y\r\n") == MAILSTORE_EFAILED);
	CHECK(maillayer_flush(f.store) == MAILSTORE_EFAILED);
	CHECK(f.disk.calls() == calls);
	CHECK(maillayer_failure(f.store) == -EIO);
	f.close();
	REQUIRE(f.open() == 0);
	CHECK(maillayer_failure(f.store) == 0);
	CHECK(f.deliver({ "a" }, "y\r\n") == 0);
}

TEST_CASE("what a sync that failed was to commit does not come back", "[mailstore][failures]")
{
	const bool is_first = GENERATE(true, false);
	const bool loses_power = GENERATE(true, false);
	fixture f;
	REQUIRE(f.open() == 0);
	if (!is_first) {
		REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
		REQUIRE(maillayer_sync(f.store) == 0);
	}
	REQUIRE(f.deliver({ "a" }, "y\r\n") == 0);
	f.disk.fail_after(1, -EIO, true);
	CHECK(maillayer_sync(f.store) == -EIO);
	f.close();
	if (loses_power)
		f.disk.cut_power();
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.damaged == 0);
	CHECK(f.read("a").size() == (is_first ? 0 : 1));
}

TEST_CASE("a disk that lets nothing be cut off may have kept what it was to sync, which is said",
	  "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	f.disk.fail_after(1, -EIO);
	CHECK(maillayer_sync(f.store) == MAILSTORE_EUNSURE);
	CHECK(mailstore_exit_status(MAILSTORE_EUNSURE) == EX_TEMPFAIL);
	CHECK(maillayer_failure(f.store) == -EIO);
	f.disk.work_again();
	f.close();
	REQUIRE(f.open() == 0);
	CHECK(f.read("a").size() == 1);
}

TEST_CASE("mails that wait for a sync do not come back when another one stops the store",
	  "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	// Neither it nor the cut that takes it away; the second cut is done.
	f.disk.fail_after(1, -EIO, true, 1);
	CHECK(f.deliver({ "a" }, "y\r\n") == -EIO);
	CHECK(maillayer_sync(f.store) == MAILSTORE_EFAILED);
	f.close();
	REQUIRE(f.open() == 0);
	CHECK(f.read("a").empty());
}

TEST_CASE("a store says what has stopped it also when its first failure was that of a mail",
	  "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	f.disk.fail_after(1, -EROFS);
	CHECK(f.deliver({ "a" }, "y\r\n") == -EROFS);
	CHECK(f.deliver({ "a" }, "y\r\n") == MAILSTORE_EFAILED);
	CHECK(maillayer_failure(f.store) == -EROFS);
}

TEST_CASE(
	"a segment that can be neither begun nor removed stops the store until it is opened again",
	"[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	f.disk.fail_after(2, -ENOSPC, true, 1);
	CHECK(f.deliver({ "a" }, "x\r\n") == -ENOSPC);
	CHECK(f.disk.failures() == 2);
	CHECK(f.deliver({ "a" }, "x\r\n") == MAILSTORE_EFAILED);
	f.close();
	REQUIRE(f.open() == 0);
	CHECK(f.deliver({ "a" }, "x\r\n") == 0);
}

TEST_CASE("a segment that the store has not begun stays, and gets no mail", "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	disk *disk = f.disk.handle();
	uint64_t size;
	REQUIRE(disk->ops->create(disk, 1) == 0);
	CHECK(f.deliver({ "a" }, "x\r\n") == -EEXIST);
	CHECK(disk->ops->size(disk, 1, &size) == 0);
	CHECK(size == 0);
}

TEST_CASE("a full disk refuses a mail, and the next one is taken when there is room",
	  "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "x\r\n") == 0);
	f.disk.fail_after(1, -ENOSPC, true);
	CHECK(f.deliver({ "a", "b" }, "y\r\n") == -ENOSPC);
	CHECK(f.deliver({ "a" }, "z\r\n") == 0);
	CHECK(f.read("a") == std::vector<std::string>{ "x\r\n", "z\r\n" });
	CHECK(f.read("b").empty());
	f.kill();
	REQUIRE(f.open() == 0);
	CHECK(f.read("a").size() == 2);
	CHECK(f.recovery.damaged == 0);
}

TEST_CASE("a segment that was emptied goes when the index can be written again",
	  "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	for (int i = 0; i < 12; i++)
		REQUIRE(f.deliver({ "a" }, std::string(900, 'x') + "\r\n") == 0);
	REQUIRE(maillayer_flush(f.store) == 0);
	uint64_t segment = 0;
	{
		const file_limit full(4096);
		CHECK(maillayer_collect(f.store, 101, &segment) == -EDQUOT);
	}
	CHECK(f.disk.all().count(segment) == 1);
	CHECK(maillayer_flush(f.store) == 0);
	CHECK(f.disk.all().count(segment) == 0);
	CHECK(f.read("a").size() == 12);
	f.close();
	CHECK(f.check().empty());
}

TEST_CASE("a limit of files at a start is a quota, and none of a mail", "[mailstore][failures]")
{
	fixture f;
	REQUIRE(f.open() == 0);
	REQUIRE(f.deliver({ "a" }, "text\r\n") == 0);
	f.close();
	unlink((f.index() + "-lock").c_str());
	{
		const file_limit full(16);
		CHECK(f.open() == -EDQUOT);
	}
	REQUIRE(f.open() == 0);
	CHECK(f.read("a").size() == 1);
}

TEST_CASE("whichever call fails, the store is whole behind it", "[mailstore][failures]")
{
	const unsigned call = GENERATE(range(1U, 120U));
	const int status = GENERATE(-EIO, -ENOSPC);
	CAPTURE(call, status);
	fixture f(1500);
	REQUIRE(f.open() == 0);
	f.disk.fail_after(call, status, true);
	std::vector<std::string> accepted;
	for (int i = 0; i < 12; i++) {
		const std::string text = std::to_string(i) + std::string(200, 'x') + "\r\n";
		if (f.deliver({ "a", "b" }, text) == 0 && maillayer_sync(f.store) == 0)
			accepted.push_back(text);
		uint64_t segment = 0;
		if (i % 4 == 3)
			(void)maillayer_collect(f.store, 101, &segment);
	}
	f.close();
	f.disk.work_again();
	REQUIRE(f.open() == 0);
	CHECK(f.recovery.damaged == 0);
	const std::vector<std::string> found = f.read("a");
	CHECK(found == f.read("b"));
	for (const std::string &text : accepted)
		CHECK(std::count(found.begin(), found.end(), text) == 1);
	f.close();
	CHECK(f.check().empty());
}
