// SPDX-License-Identifier: GPL-3.0-or-later
// Which recipients of a mail have it already.
#include "integration/mail/smtp-front/sinks/delivered.h"

#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace
{

constexpr int64_t NOW_S = 1800000000;

const uint8_t MAIL[DELIVERED_MAIL_SIZE] = "a mail";
const uint8_t OTHER[DELIVERED_MAIL_SIZE] = "another";

uint64_t key(const char *address, const char *sender, const char *recipient)
{
	dnsblv6_ip ip = {};
	REQUIRE(dnsblv6_ip_parse(address, &ip) == 0);
	return delivered_recipient(&ip, sender, recipient);
}

class table
{
      public:
	explicit table(const std::string &path = "")
	{
		REQUIRE(delivered_open(path.c_str(), &it) == 0);
	}
	~table()
	{
		delivered_close(it);
	}
	table(const table &) = delete;
	table &operator=(const table &) = delete;

	delivered *it = nullptr;
};

} // namespace

unsigned sync_count; // sink_lmtp.cc looks at it, too

// In place of libc's.
extern "C" int msync(void *memory, size_t size, int flags)
{
	sync_count++;
	return (int)syscall(SYS_msync, memory, size, flags);
}

TEST_CASE("a delivered recipient is known for five days", "[front][delivered]")
{
	table table;
	CHECK_FALSE(delivered_may_have(table.it, 7, NOW_S));
	delivered_add(table.it, 7, MAIL, NOW_S);
	CHECK(delivered_may_have(table.it, 7, NOW_S));
	CHECK(delivered_has(table.it, 7, MAIL, NOW_S + DELIVERED_KEEP_S - 1));
	CHECK_FALSE(delivered_has(table.it, 7, MAIL, NOW_S + DELIVERED_KEEP_S));
	CHECK_FALSE(delivered_has(table.it, 7, OTHER, NOW_S));
	CHECK_FALSE(delivered_has(table.it, 8, MAIL, NOW_S));
}

TEST_CASE("network, sender and recipient are one key", "[front][delivered]")
{
	const uint64_t it = key("192.0.2.7", "a@example.net", "b@example.org");
	CHECK(it == key("192.0.2.250", "a@example.net", "b@example.org"));
	CHECK(it != key("192.0.3.7", "a@example.net", "b@example.org"));
	CHECK(it != key("192.0.2.7", "", "b@example.org"));
	CHECK(it != key("192.0.2.7", "a@example.net", "c@example.org"));
	CHECK(key("2001:db8:1::7", "a", "b") == key("2001:db8:1:ffff::", "a", "b"));
	CHECK(key("2001:db8:1::7", "a", "b") != key("2001:db8:2::7", "a", "b"));
	CHECK(key("192.0.2.7", "ab", "c") != key("192.0.2.7", "a", "bc"));
}

TEST_CASE("a full set loses its oldest", "[front][delivered]")
{
	table table;
	for (unsigned i = 0; i <= 8; i++)
		delivered_add(table.it, DELIVERED_SETS * i + 3, MAIL, NOW_S + i);
	CHECK_FALSE(delivered_may_have(table.it, 3, NOW_S + 8));
	for (unsigned i = 1; i <= 8; i++)
		CHECK(delivered_may_have(table.it, DELIVERED_SETS * i + 3, NOW_S + 8));
}

TEST_CASE("hundreds of mails of one sender for one recipient are remembered", "[front][delivered]")
{
	table table;
	std::vector<std::array<uint8_t, DELIVERED_MAIL_SIZE>> mails;
	delivered_hash *hash = delivered_hash_new();
	for (unsigned i = 0; i < 500; i++) {
		mails.emplace_back();
		delivered_hash_begin(hash);
		delivered_hash_add(hash, reinterpret_cast<const uint8_t *>(&i), sizeof(i));
		delivered_hash_end(hash, mails.back().data());
		for (const uint64_t recipient : { 7, 8 })
			delivered_add(table.it, recipient, mails.back().data(), NOW_S + i);
	}
	delivered_hash_free(hash);
	for (const uint64_t recipient : { 7, 8 }) {
		CHECK(delivered_may_have(table.it, recipient, NOW_S + 500));
		const auto count = std::count_if(mails.begin(), mails.end(), [&](const auto &mail) {
			return delivered_has(table.it, recipient, mail.data(), NOW_S + 500);
		});
		CHECK(count == 500);
	}
}

TEST_CASE("a thousand recipients of each of some mails are remembered", "[front][delivered]")
{
	table table;
	std::vector<uint64_t> recipients;
	for (unsigned i = 0; i < 1000; i++)
		recipients.push_back(key("192.0.2.7", "a@example.net",
					 ("user" + std::to_string(i) + "@example.org").c_str()));
	for (const uint8_t *mail : { MAIL, OTHER })
		for (const uint64_t recipient : recipients)
			delivered_add(table.it, recipient, mail, NOW_S);
	for (const uint8_t *mail : { MAIL, OTHER }) {
		const auto count =
			std::count_if(recipients.begin(), recipients.end(), [&](uint64_t one) {
				return delivered_may_have(table.it, one, NOW_S) &&
				       delivered_has(table.it, one, mail, NOW_S);
			});
		CHECK(count == 1000);
	}
}

TEST_CASE("a recipient whose mails are no longer known as any is known with the next attempt",
	  "[front][delivered]")
{
	table table;
	const uint64_t recipient = 3;
	const uint8_t elsewhere[DELIVERED_MAIL_SIZE] = "no mail of its";
	delivered_add(table.it, recipient, MAIL, NOW_S);
	// Their entries for any mail take the eight places that there are for it.
	for (unsigned i = 1; i <= 8; i++)
		delivered_add(table.it, recipient + DELIVERED_SETS * i, elsewhere, NOW_S + i);
	CHECK_FALSE(delivered_may_have(table.it, recipient, NOW_S + 10));
	REQUIRE(delivered_has(table.it, recipient, MAIL, NOW_S + 10));
	delivered_add(table.it, recipient, MAIL, NOW_S + 10);
	CHECK(delivered_may_have(table.it, recipient, NOW_S + 11));
}

TEST_CASE("a file remembers when the program has ended", "[front][delivered]")
{
	tmpdir directory;
	const std::string path = directory.path() + "/delivered";
	child other([&] {
		delivered *table = nullptr;
		if (delivered_open(path.c_str(), &table) != 0)
			return 1;
		delivered_add(table, 7, MAIL, NOW_S);
		return delivered_sync(table);
	});
	REQUIRE(other.wait() == 0);
	table table(path);
	CHECK(delivered_has(table.it, 7, MAIL, NOW_S));
}

TEST_CASE("all recipients of a mail wait for the disk once", "[front][delivered]")
{
	tmpdir directory;
	table table(directory.path() + "/delivered");
	sync_count = 0;
	for (uint64_t recipient = 0; recipient < 100; recipient++)
		delivered_add(table.it, recipient, MAIL, NOW_S);
	CHECK(sync_count == 0);
	CHECK(delivered_sync(table.it) == 0);
	CHECK(sync_count == 1);
	CHECK(delivered_sync(nullptr) == 0);
}

TEST_CASE("an entry that was altered is ignored", "[front][delivered]")
{
	tmpdir directory;
	const std::string path = directory.path() + "/delivered";
	const auto offset = GENERATE(0, 8, 24, 28);
	uint64_t recipient = 0; // whose set is the first
	memcpy(&recipient, MAIL, sizeof(recipient));
	{
		table table(path);
		delivered_add(table.it, recipient, MAIL, NOW_S);
	}
	std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
	file.seekp(32 + offset);
	file.put('\x55');
	file.close();
	table table(path);
	CHECK_FALSE(delivered_has(table.it, recipient, MAIL, NOW_S));
}

TEST_CASE("a file that was cut short while it was made is made anew", "[front][delivered]")
{
	tmpdir directory;
	const std::string path = directory.path() + "/delivered";
	const size_t zeros = GENERATE(DELIVERED_FILE_SIZE, 4096U, 5U);
	CAPTURE(zeros);
	std::ofstream(path) << std::string(zeros, '\0');
	{
		table table(path);
		delivered_add(table.it, 7, MAIL, NOW_S);
	}
	table table(path);
	CHECK(delivered_has(table.it, 7, MAIL, NOW_S));
	std::ifstream file(path, std::ios::binary | std::ios::ate);
	CHECK(file.tellg() == DELIVERED_FILE_SIZE);
}

TEST_CASE("a smaller file of an earlier version becomes as large as one is", "[front][delivered]")
{
	tmpdir directory;
	const std::string path = directory.path() + "/delivered";
	std::ofstream(path) << "DBL6DLV1" << std::string(131104 - 8, '\0');
	{
		table table(path);
		delivered_add(table.it, 7, MAIL, NOW_S);
	}
	table table(path);
	CHECK(delivered_has(table.it, 7, MAIL, NOW_S));
	std::ifstream file(path, std::ios::binary | std::ios::ate);
	CHECK(file.tellg() == DELIVERED_FILE_SIZE);
}

TEST_CASE("zeros that are no table's are another file", "[front][delivered]")
{
	tmpdir directory;
	const std::string path = directory.path() + "/image";
	const std::string content =
		GENERATE(std::string(DELIVERED_FILE_SIZE + 1, '\0'), std::string(512, '\0') + "x");
	std::ofstream(path) << content;
	delivered *table = nullptr;
	CHECK(delivered_open(path.c_str(), &table) == -EINVAL);
	std::ifstream file(path);
	CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == content);
}

TEST_CASE("another file is refused, and stays as it is", "[front][delivered]")
{
	tmpdir directory;
	const std::string path = directory.path() + "/notes";
	std::ofstream(path) << "not a table";
	delivered *table = nullptr;
	CHECK(delivered_open(path.c_str(), &table) == -EINVAL);
	std::ifstream file(path);
	CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "not a table");
	CHECK(delivered_open((directory.path() + "/no/such").c_str(), &table) == -ENOENT);
}

TEST_CASE("a hash is of the bytes, wherever they are cut", "[front][delivered]")
{
	uint8_t whole[DELIVERED_MAIL_SIZE];
	uint8_t pieces[DELIVERED_MAIL_SIZE];
	delivered_hash *hash = delivered_hash_new();
	REQUIRE(hash != nullptr);
	delivered_hash_add(hash, (const uint8_t *)"mail", 4);
	delivered_hash_end(hash, whole);
	delivered_hash_begin(hash);
	delivered_hash_add(hash, (const uint8_t *)"ma", 2);
	delivered_hash_add(hash, (const uint8_t *)"il", 2);
	delivered_hash_end(hash, pieces);
	CHECK(std::memcmp(whole, pieces, sizeof(whole)) == 0);
	delivered_hash_begin(hash);
	delivered_hash_end(hash, pieces);
	CHECK(std::memcmp(whole, pieces, sizeof(whole)) != 0);
	delivered_hash_free(hash);
}
