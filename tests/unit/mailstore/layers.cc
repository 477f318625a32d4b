// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/mail-stored/layers/layers.h"
#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailstore.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

// The sync of that number, from 1 on, fails.
static size_t sync_count;
static size_t failing;

extern "C" int __real_fsync(int fd);
extern "C" int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	if (++sync_count == failing) {
		errno = EIO;
		return -1;
	}
	return __real_fsync(fd);
}

namespace
{
namespace fs = std::filesystem;

enum kind { LOG, SORT, NOTHING };

class fixture
{
      public:
	explicit fixture(enum kind kind) : kind_(kind)
	{
		fail_at(0);
		open();
	}
	~fixture()
	{
		maillayer_close(layer);
	}
	fixture(const fixture &) = delete;
	fixture &operator=(const fixture &) = delete;

	static void fail_at(size_t number)
	{
		sync_count = 0;
		failing = number;
	}
	void open()
	{
		if (kind_ == SORT)
			REQUIRE(layer_sort_open(dir.file("sort").c_str(), &layer) == 0);
		else if (kind_ == NOTHING)
			REQUIRE(layer_null_open(&layer) == 0);
		else
			open_log();
	}
	void open_again()
	{
		maillayer_close(layer);
		layer = nullptr;
		open();
	}
	int deliver(const std::vector<std::string> &to, const std::string &text,
		    mailid *ret_id = nullptr, const mailid *id = nullptr)
	{
		std::vector<mailname> names;
		for (const std::string &box : to)
			names.push_back(name_of(box));
		mailstore_mail mail{};
		mailid made{};
		mail.recipients = names.data();
		mail.recipient_count = names.size();
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mail.id = id;
		return maillayer_deliver(layer, &mail, ret_id != nullptr ? ret_id : &made);
	}
	// What a reader of the mailbox finds, in no order. Of the log: the wire form.
	std::multiset<std::string> read(const std::string &box)
	{
		return kind_ == LOG ? read_log(box) : read_new(box);
	}
	std::set<std::string> folder(const std::string &path) const
	{
		std::set<std::string> names;
		const std::string whole = dir.file("sort/" + path);
		if (fs::exists(whole))
			for (const auto &entry : fs::directory_iterator(whole))
				names.insert(entry.path().filename());
		return names;
	}

	tmpdir dir;
	maillayer *layer = nullptr;

      private:
	void open_log()
	{
		mailstore_setup setup{};
		mailstore_recovery recovery{};
		const std::string index = dir.file("index");
		REQUIRE(filedisk_make(dir.file("log").c_str()) == 0);
		REQUIRE(filedisk_open(dir.file("log").c_str(), &setup.disk) == 0);
		setup.index_path = index.c_str();
		REQUIRE(mailstore_open(&setup, &layer, &recovery) == 0);
	}
	std::multiset<std::string> read_log(const std::string &box)
	{
		std::multiset<std::string> texts;
		mailentry entries[3];
		uint64_t from = 0;
		size_t count = 0;
		REQUIRE(maillayer_list(layer, name_of(box), from, 3, entries, &count) == 0);
		while (count > 0) {
			for (size_t i = 0; i < count; i++) {
				mailrow row;
				std::string wire(entries[i].wire_size, '\0');
				REQUIRE(maillayer_find_row(layer, entries[i].mail, &row) == 0);
				REQUIRE(maillayer_read(layer, &row, 0, wire.data(), wire.size()) ==
					0);
				texts.insert(wire);
			}
			from = entries[count - 1].mail + 1;
			REQUIRE(maillayer_list(layer, name_of(box), from, 3, entries, &count) == 0);
		}
		return texts;
	}
	std::multiset<std::string> read_new(const std::string &box) const
	{
		std::multiset<std::string> texts;
		for (const std::string &name : folder(box + "/new"))
			texts.insert(read_file(dir.file("sort/" + box + "/new/" + name)));
		return texts;
	}

	enum kind kind_;
};

using texts = std::multiset<std::string>;
} // namespace

TEST_CASE("the same deliveries are in the log and in maildirs, and nowhere in null",
	  "[mailstore][layers]")
{
	const enum kind kind = GENERATE(LOG, SORT, NOTHING);
	CAPTURE(kind);
	fixture f(kind);
	mailid ids[3];
	REQUIRE(f.deliver({ "anna", "bert" }, "x\n", &ids[0]) == 0);
	REQUIRE(f.deliver({ "bert", "bert" }, "y\n", &ids[1]) == 0);
	REQUIRE(f.deliver({ "anna" }, "", &ids[2]) == 0);
	REQUIRE(maillayer_sync(f.layer) == 0);
	CHECK(memcmp(&ids[0], &ids[1], sizeof(ids[0])) != 0);
	CHECK(memcmp(&ids[1], &ids[2], sizeof(ids[0])) != 0);
	const std::string end = kind == LOG ? "\r\n" : "\n";
	for (int i = 0; i < 2; i++) {
		const bool keeps = kind != NOTHING;
		CHECK(f.read("anna") == (keeps ? texts{ "", "x" + end } : texts{}));
		CHECK(f.read("bert") == (keeps ? texts{ "x" + end, "y" + end } : texts{}));
		CHECK(f.read("carl").empty());
		f.open_again();
	}
}

TEST_CASE("the log through its layer is the store", "[mailstore][layers]")
{
	fixture f(LOG);
	mailid id;
	mailid made;
	CHECK(std::string(f.layer->ops->name) == "log");
	REQUIRE(maillayer_make_id(f.layer, &made) == 0);
	REQUIRE(f.deliver({ "anna", "bert" }, "x\n", &id, &made) == 0);
	REQUIRE(f.deliver({ "anna", "bert" }, "x\n", &id, &made) == 0);
	CHECK(memcmp(&id, &made, sizeof(id)) == 0);
	REQUIRE(maillayer_sync(f.layer) == 0); // the first of a segment, with its name
	REQUIRE(f.deliver({ "carl" }, "y\n") == 0);
	struct mailstore_sync sync {
	};
	REQUIRE(maillayer_sync_begin(f.layer, &sync) == 0);
	REQUIRE(maillayer_sync_end(f.layer, &sync, fdatasync(sync.fd) == 0 ? 0 : -errno) == 0);
	REQUIRE(maillayer_flush(f.layer) == 0);

	mailentry entry{};
	mailcounts counts{};
	uint64_t mail = 0;
	REQUIRE(maillayer_find(f.layer, name_of("anna"), 0, &entry) == 0);
	REQUIRE(maillayer_find_id(f.layer, mailname{}, &id, &mail) == 0);
	CHECK(mail == entry.mail);
	REQUIRE(maillayer_counts(f.layer, name_of("anna"), &counts) == 0);
	CHECK(counts.mails == 1);
	REQUIRE(maillayer_peek_counts(f.layer, name_of("bert"), &counts) == 0);
	CHECK(counts.octets == 3);
	uint8_t box[MAILBOX_NAME_MAX];
	size_t size = 0;
	REQUIRE(maillayer_next_box(f.layer, name_of("anna"), box, &size, &counts) == 0);
	CHECK(std::string(reinterpret_cast<char *>(box), size) == "bert");

	mailrow row{};
	mailrecord record{};
	uint8_t *meta = nullptr;
	int fd = -1;
	REQUIRE(maillayer_find_row(f.layer, mail, &row) == 0);
	REQUIRE(maillayer_record(f.layer, &row, &record, &meta) == 0);
	free(meta);
	CHECK(record.mail == mail);
	REQUIRE(maillayer_open(f.layer, row.place.segment, &fd) == 0);
	close(fd);
	REQUIRE(maillayer_erase(f.layer, name_of("anna"), &mail, 1, 0) == 0);
	mailstore_info info{};
	REQUIRE(maillayer_describe(f.layer, &info) == 0);
	CHECK(info.facts.entries == 2);
	uint64_t segment = 0;
	CHECK(maillayer_collect(f.layer, 1, &segment) == DNSBLV6_ENOTFOUND);
}

TEST_CASE("layers that only take mail answer nothing else", "[mailstore][layers]")
{
	fixture f(GENERATE(SORT, NOTHING));
	mailid id{};
	mailentry entry{};
	mailcounts counts{};
	mailrow row{};
	mailrecord record{};
	mailstore_info info{};
	struct mailstore_sync sync {
	};
	uint8_t bytes[MAILBOX_NAME_MAX];
	uint8_t *meta = nullptr;
	uint64_t number = 0;
	size_t size = 0;
	int fd = -1;
	const mailname box = name_of("anna");
	CHECK(maillayer_erase(f.layer, box, &number, 1, 0) == -EOPNOTSUPP);
	CHECK(maillayer_sync_begin(f.layer, &sync) == -EOPNOTSUPP);
	CHECK(maillayer_sync_end(f.layer, &sync, 0) == -EOPNOTSUPP);
	CHECK(maillayer_flush(f.layer) == -EOPNOTSUPP);
	CHECK(maillayer_make_id(f.layer, &id) == -EOPNOTSUPP);
	CHECK(maillayer_find(f.layer, box, 0, &entry) == -EOPNOTSUPP);
	CHECK(maillayer_list(f.layer, box, 0, 1, &entry, &size) == -EOPNOTSUPP);
	CHECK(maillayer_counts(f.layer, box, &counts) == -EOPNOTSUPP);
	CHECK(maillayer_peek_counts(f.layer, box, &counts) == -EOPNOTSUPP);
	CHECK(maillayer_next_box(f.layer, box, bytes, &size, &counts) == -EOPNOTSUPP);
	CHECK(maillayer_find_id(f.layer, mailname{}, &id, &number) == -EOPNOTSUPP);
	CHECK(maillayer_find_row(f.layer, 1, &row) == -EOPNOTSUPP);
	CHECK(maillayer_read(f.layer, &row, 0, bytes, 1) == -EOPNOTSUPP);
	CHECK(maillayer_record(f.layer, &row, &record, &meta) == -EOPNOTSUPP);
	CHECK(maillayer_open(f.layer, 1, &fd) == -EOPNOTSUPP);
	CHECK(maillayer_describe(f.layer, &info) == -EOPNOTSUPP);
	CHECK(maillayer_collect(f.layer, 50, &number) == -EOPNOTSUPP);
	CHECK(maillayer_lock(f.layer, box) == -EOPNOTSUPP);
	CHECK(maillayer_unlock(f.layer) == -EOPNOTSUPP);
	CHECK(f.deliver({ "anna" }, "x\n", nullptr, &id) == MAILSTORE_EFOREIGN);
	CHECK(f.deliver({}, "x\n") == MAILSTORE_ERECIPIENTS);
	CHECK(maillayer_sync(f.layer) == 0);
	maillayer_close(nullptr);
}

// ---- sort ----

TEST_CASE("sort shows no mail before its commit, and one file to all mailboxes then",
	  "[mailstore][layers]")
{
	fixture f(SORT);
	REQUIRE(f.deliver({ "anna", "bert" }, "a\r\nb\rc\r\r\nd\n") == 0);
	CHECK(f.read("anna").empty());
	CHECK(f.folder("tmp").size() == 1);
	REQUIRE(maillayer_sync(f.layer) == 0);
	CHECK(f.folder("tmp").empty());
	CHECK(f.read("anna") == texts{ "a\nb\rc\r\nd\n" });
	struct stat st {
	};
	const std::string name = *f.folder("bert/new").begin();
	REQUIRE(stat(f.dir.file("sort/bert/new/" + name).c_str(), &st) == 0);
	CHECK(st.st_nlink == 2);
	// What was not committed is nowhere, and nothing is left of it.
	REQUIRE(f.deliver({ "carl" }, "x\n") == 0);
	f.open_again();
	CHECK(f.folder("") == std::set<std::string>{ "anna", "bert", "tmp" });
	CHECK(f.folder("tmp").empty());
}

TEST_CASE("sort syncs each file of a batch and each mailbox once", "[mailstore][layers]")
{
	fixture f(SORT);
	REQUIRE(f.deliver({ "anna", "bert" }, "x\n") == 0);
	REQUIRE(maillayer_sync(f.layer) == 0);
	f.fail_at(0);
	// More than may be open at once.
	for (int i = 0; i < 150; i++)
		REQUIRE(f.deliver({ "anna", "bert" }, std::to_string(i) + "\n") == 0);
	REQUIRE(maillayer_sync(f.layer) == 0);
	CHECK(sync_count == 150 + 2);
	CHECK(f.read("anna").size() == 151);
	REQUIRE(maillayer_sync(f.layer) == 0);
	CHECK(sync_count == 150 + 2);
}

TEST_CASE("a commit of sort that fails leaves nothing of its mails, and the next one is taken",
	  "[mailstore][layers]")
{
	size_t failed = 0;
	for (size_t at = 1;; at++) {
		CAPTURE(at);
		fixture f(SORT);
		REQUIRE(f.deliver({ "anna" }, "before\n") == 0);
		REQUIRE(maillayer_sync(f.layer) == 0);
		f.fail_at(at);
		// The first 64 are synced when there is one more.
		for (int i = 0; i < 66; i++)
			REQUIRE(f.deliver({ "anna", "bert" }, "x\n") == 0);
		const int ret = maillayer_sync(f.layer);
		if (ret == 0)
			break;
		failed++;
		CHECK(ret == -EIO);
		CHECK(f.read("anna") == texts{ "before\n" });
		CHECK(f.read("bert").empty());
		CHECK(f.folder("tmp").empty());
		f.fail_at(0);
		REQUIRE(f.deliver({ "bert" }, "behind\n") == 0);
		REQUIRE(maillayer_sync(f.layer) == 0);
		CHECK(f.read("bert") == texts{ "behind\n" });
	}
	CHECK(failed == 66 + 3 + 2); // files, the new mailbox, both new/
}

TEST_CASE("sort refuses what is no mailbox, or cannot be the name of a directory",
	  "[mailstore][layers]")
{
	fixture f(SORT);
	CHECK(f.deliver({}, "x\n") == MAILSTORE_ERECIPIENTS);
	CHECK(f.deliver({ "anna", "" }, "x\n") == MAILSTORE_EBOX);
	CHECK(f.deliver({ std::string("a\0b", 3) }, "x\n") == MAILSTORE_EBOX);
	CHECK(f.deliver({ std::string(86, '/') }, "x\n") == MAILSTORE_EBOX);
	CHECK(f.deliver({ "..", "a/b", std::string(255, 'n') }, "x\n") == 0);
	CHECK(maillayer_sync(f.layer) == 0);
	CHECK(f.folder("") ==
	      std::set<std::string>{ "%2E.", "a%2Fb", std::string(255, 'n'), "tmp" });
	// A file in the place of a mailbox.
	write_file(f.dir.file("sort/carl"), "");
	CHECK(f.deliver({ "anna", "carl" }, "x\n") == 0);
	CHECK(maillayer_sync(f.layer) == -ENOTDIR);
	CHECK(f.read("anna").empty());
}

TEST_CASE("a large mail is written whole, however its line ends lie in blocks",
	  "[mailstore][layers]")
{
	fixture f(SORT);
	const size_t size = GENERATE(65534, 65535, 65536, 65537, 200000);
	CAPTURE(size);
	const std::string text = std::string(size, 'x') + "\r\n" + "y\r\r\n" + "z\r";
	REQUIRE(f.deliver({ "anna" }, text) == 0);
	REQUIRE(maillayer_sync(f.layer) == 0);
	CHECK(f.read("anna") == texts{ std::string(size, 'x') + "\ny\r\nz\r" });
}

TEST_CASE("sort is not opened where no directory can be", "[mailstore][layers]")
{
	tmpdir dir;
	maillayer *layer = nullptr;
	write_file(dir.file("file"), "");
	CHECK(layer_sort_open(dir.file("file").c_str(), &layer) == -ENOTDIR);
	CHECK(layer_sort_open(dir.file("a/b").c_str(), &layer) == -ENOENT);
	CHECK(layer == nullptr);
}
