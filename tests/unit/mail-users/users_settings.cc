// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mail-users/users.hh"

#include "integration/mail/base/users/users_settings.h"

#include "lib/common/values.h"
#include "lib/lmdb/writer.h"

#include "tests/lib/child.hh"
#include "tests/lib/fault.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstring>
#include <memory>

using lines = std::vector<std::string>;

static bool operator==(const users_settings &one, const users_settings &other)
{
	return one.messages_max == other.messages_max && one.octets_max == other.octets_max &&
	       one.keep_s == other.keep_s && one.node == other.node;
}

static const users_settings NONE = {};
static const users_settings SOME = { 10000, UINT64_C(500) << 20, UINT64_C(90) * 86400, 0 };
static const users_settings MOST = { USERS_SETTINGS_MESSAGES, USERS_SETTINGS_OCTETS,
				     USERS_SETTINGS_KEEP_S, 0 };

// ---- words ----

// Of a line behind an address.
static int parse(const std::string &words, users_settings *ret_settings)
{
	const auto line = "john@example.org " + words;
	const users_facts facts = folding();
	users_key key = {};
	users_value value = {};
	const int ret = users_list_parse(line.data(), line.size(), &facts, &key, &value);
	*ret_settings = value.settings;
	return ret;
}

static std::string print_settings(const users_settings &settings)
{
	char text[USERS_SETTINGS_PRINT_MAX];
	const size_t size = users_settings_print(&settings, text);
	CHECK(text[size] == '\0');
	return { text, size };
}

TEST_CASE("words behind an address are the settings of its mailbox", "[front][users_settings]")
{
	const auto [words, expected] = GENERATE(table<const char *, users_settings>({
		{ "", NONE },
		{ "# messages=5", NONE },
		{ "messages=10000 octets=500M keep=90d", SOME },
		{ "\tkeep=90d\tmessages=10000   octets=500M\r", SOME },
		{ "octets=524288000 keep=2160h messages=010000 # his", SOME },
		{ "messages=1", { 1, 0, 0, 0 } },
		{ "octets=1", { 0, 1, 0, 0 } },
		{ "octets=1K", { 0, 1024, 0, 0 } },
		{ "octets=2G", { 0, UINT64_C(2) << 30, 0, 0 } },
		{ "keep=1s", { 0, 0, 1, 0 } },
		{ "keep=30m", { 0, 0, 1800, 0 } },
		{ "node=3", { 0, 0, 0, 3 } },
		{ "node=255 messages=1", { 1, 0, 0, 255 } },
		{ "messages=0 octets=0 keep=0", NONE },
		{ "octets=0G keep=0d", NONE },
		{ "messages=1000000000 octets=1048576G keep=36500d", MOST },
		{ "octets=1125899906842624 keep=3153600000s",
		  { 0, MOST.octets_max, MOST.keep_s, 0 } },
	}));
	CAPTURE(words);
	users_settings settings = { 7, 7, 7, 0 };
	REQUIRE(parse(words, &settings) == STORE_OK);
	CHECK(settings == expected);
	users_settings again = {};
	REQUIRE(parse(print_settings(settings), &again) == STORE_OK);
	CHECK(again == settings);
}

TEST_CASE("a setting that is none is refused with what is permitted", "[front][users_settings]")
{
	const auto [words, status] = GENERATE(table<std::string, int>({
		{ "messages", USERS_ESETTING },
		{ "=5", USERS_ESETTING },
		{ "message=5", USERS_ESETTING },
		{ "Messages=5", USERS_ESETTING },
		{ "messages =5", USERS_ESETTING },
		{ "xmessages=5", USERS_ESETTING },
		{ "quota=5", USERS_ESETTING },
		{ "messages=5 mary@example.org", USERS_ESETTING },
		{ "mess\xfcges=5", USERS_ESETTING },
		{ "messages=5 messages=5", USERS_ETWICE },
		{ "messages=0 messages=5", USERS_ETWICE },
		{ "octets=5 messages=1 octets=5", USERS_ETWICE },
		{ "keep=5d keep=6d", USERS_ETWICE },
		{ "keep=5d keep=x", USERS_ETWICE },
		{ "messages=", USERS_EMESSAGES },
		{ "messages= 5", USERS_EMESSAGES },
		{ "messages=-1", USERS_EMESSAGES },
		{ "messages=+1", USERS_EMESSAGES },
		{ "messages=1.5", USERS_EMESSAGES },
		{ "messages=0x10", USERS_EMESSAGES },
		{ "messages=5K", USERS_EMESSAGES },
		{ "messages=\"5\"", USERS_EMESSAGES },
		{ "messages=1000000001", USERS_EMESSAGES },
		{ "messages=18446744073709551617", USERS_EMESSAGES },
		{ "messages=" + std::string(900, '9'), USERS_EMESSAGES },
		{ std::string("messages=5\0", 11), USERS_EMESSAGES },
		{ std::string("messages=5\0x", 12), USERS_EMESSAGES },
		{ "octets=", USERS_EOCTETS },
		{ "octets=M", USERS_EOCTETS },
		{ "octets=5m", USERS_EOCTETS },
		{ "octets=5T", USERS_EOCTETS },
		{ "octets=5MB", USERS_EOCTETS },
		{ "octets=-5M", USERS_EOCTETS },
		{ "octets=1048577G", USERS_EOCTETS },
		{ "octets=1125899906842625", USERS_EOCTETS },
		{ "octets=17179869184G", USERS_EOCTETS },
		{ "node=", USERS_ENODE },
		{ "node=256", USERS_ENODE },
		{ "node=a", USERS_ENODE },
		{ "keep=", USERS_EKEEP },
		{ "keep=d", USERS_EKEEP },
		{ "keep=90", USERS_EKEEP },
		{ "keep=5w", USERS_EKEEP },
		{ "keep=5D", USERS_EKEEP },
		{ "keep=500ms", USERS_EKEEP },
		{ "keep=-5d", USERS_EKEEP },
		{ "keep=36501d", USERS_EKEEP },
		{ "keep=3153600001s", USERS_EKEEP },
	}));
	CAPTURE(words);
	users_settings settings = {};
	CHECK(parse(words, &settings) == status);
}

TEST_CASE("a word that is refused changes no setting", "[front][users_settings]")
{
	const users_facts facts = folding();
	users_value value = {};
	unsigned seen = 0;
	value.settings = SOME;
	CHECK(users_value_parse("octets=x", 8, &facts, &seen, &value) == USERS_EOCTETS);
	CHECK(users_value_parse("octet=5", 7, &facts, &seen, &value) == USERS_ESETTING);
	CHECK(seen == 0);
	CHECK(value.settings == SOME);
	// Cut anywhere it is another word, or none.
	const std::string word = "messages=25";
	for (size_t size = 0; size < word.size(); size++) {
		CAPTURE(size);
		const auto cut = std::make_unique<char[]>(size); // the sanitizer sees its end
		memcpy(cut.get(), word.data(), size);
		const int ret = users_value_parse(cut.get(), size, &facts, &seen, &value);
		seen = 0;
		const int expected = size < 9 ? int{ USERS_ESETTING } : int{ USERS_EMESSAGES };
		CHECK(ret == (size < 10 ? expected : int{ STORE_OK }));
		CHECK(value.settings.messages_max == (size < 10 ? SOME.messages_max : 2));
	}
}

TEST_CASE("a refusal says what the numbers of its setting may be", "[front][users_settings]")
{
	const auto permitted = [](const char *name, values_unit unit, uint64_t max) {
		char reason[VALUES_REASON_MAX];
		return name + std::string(": ") +
		       values_explain_number(unit, 0, static_cast<int64_t>(max), reason);
	};
	CHECK(users_strerror(USERS_EMESSAGES) ==
	      permitted("messages=", VALUES_COUNT, MOST.messages_max));
	CHECK(users_strerror(USERS_EOCTETS) == permitted("octets=", VALUES_BYTES, MOST.octets_max));
	auto keep = permitted("keep=", VALUES_SECONDS, MOST.keep_s);
	keep.replace(keep.find("0 to"), 4, "0, and 1s to");
	CHECK(users_strerror(USERS_EKEEP) == keep);
}

TEST_CASE("settings are printed in one order, with the largest unit, and not when 0",
	  "[front][users_settings]")
{
	CHECK(print_settings(NONE).empty());
	CHECK(print_settings(SOME) == "messages=10000 octets=500M keep=90d");
	CHECK(print_settings({ 0, 1025, 0, 0 }) == "octets=1025");
	CHECK(print_settings({ 3, 0, 90061, 0 }) == "messages=3 keep=90061s");
	CHECK(print_settings(MOST) == "messages=1000000000 octets=1048576G keep=36500d");
	const users_settings beyond = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	CHECK(print_settings(beyond).size() < USERS_SETTINGS_PRINT_MAX);
}

TEST_CASE("the longest entry with the longest settings is a line of a list",
	  "[front][users_settings]")
{
	const std::string labels = std::string(63, 'd') + "." + std::string(63, 'e') + "." +
				   std::string(63, 'f') + ".";
	const std::string domain = labels + std::string(255 - labels.size(), 'g');
	std::string local;
	for (int i = 0; i < 64; i++)
		local += "\\\"";
	const users_settings long_ones = { 999999999, MOST.octets_max - 1, MOST.keep_s - 1, 0 };
	const auto line = "\"" + local + "\"@" + domain + " " + print_settings(long_ones);
	const users_facts facts = folding();
	users_key key = {};
	users_value value = {};
	const int ret = users_list_parse(line.data(), line.size(), &facts, &key, &value);
	// An address in quotes must fit into what a question may have.
	CHECK(ret == USERS_ELOCALSIZE);
	const auto other = std::string(64, '{') + "@" + domain + " " + print_settings(long_ones);
	REQUIRE(users_list_parse(other.data(), other.size(), &facts, &key, &value) == STORE_OK);
	char text[USERS_LIST_PRINT_MAX];
	const store_bytes bytes = { reinterpret_cast<const uint8_t *>(key.bytes), key.size };
	CHECK(std::string(text, users_list_print(bytes, &value, text)) == other);
	CHECK(USERS_LIST_PRINT_MAX <= USERS_LIST_LINE_MAX);
}

// ---- bytes ----

static std::string encode(const users_settings &settings)
{
	uint8_t bytes[USERS_SETTINGS_SIZE];
	size_t size = users_settings_encode(&settings, bytes);
	size += users_settings_encode_last(&settings, bytes + size);
	REQUIRE(size <= sizeof(bytes));
	return { reinterpret_cast<const char *>(bytes), size };
}

static int decode(const std::string &value, users_settings *ret_settings,
		  bool *ret_has_others = nullptr)
{
	const auto copy = std::make_unique<uint8_t[]>(value.size()); // its end is seen
	memcpy(copy.get(), value.data(), value.size());
	bool has_others = false;
	users_value decoded = {};
	const store_bytes bytes = { copy.get(), value.size() };
	const int ret = users_settings_decode(bytes, ret_settings);
	CHECK(users_value_decode(bytes, &decoded, &has_others) == ret);
	CHECK((ret != STORE_OK || decoded.settings == *ret_settings));
	if (ret_has_others != nullptr)
		*ret_has_others = has_others;
	return ret;
}

static std::string number(uint64_t value)
{
	std::string bytes;
	for (int shift = 56; shift >= 0; shift -= 8)
		bytes += static_cast<char>(value >> shift);
	return bytes;
}

TEST_CASE("a value has an item for each setting that is not 0", "[front][users_settings]")
{
	CHECK(encode(NONE).empty());
	CHECK(encode({ 0, 1025, 0, 0 }) == std::string("\2\0\x8\0\0\0\0\0\0\4\1", 11));
	CHECK(encode(SOME) == item(1, number(SOME.messages_max)) +
				      item(2, number(SOME.octets_max)) +
				      item(3, number(SOME.keep_s)));
	for (const auto &settings :
	     { NONE, SOME, MOST, users_settings{ 0, 0, 1, 0 }, users_settings{ 0, 2, 0, 9 } }) {
		users_settings again = { 7, 7, 7, 0 };
		bool has_others = true;
		CHECK(decode(encode(settings), &again, &has_others) == STORE_OK);
		CHECK(again == settings);
		CHECK_FALSE(has_others);
	}
}

TEST_CASE("the node of a mailbox stands behind its secret", "[front][users_settings]")
{
	users_value value = {};
	uint8_t bytes[USERS_VALUE_SIZE];
	value.settings.messages_max = 5;
	value.settings.node = 2;
	strcpy(value.secret.password, "x");
	const std::string expected = item(1, number(5)) + item(4, "x") + item(7, number(2));
	CHECK(std::string(reinterpret_cast<const char *>(bytes),
			  users_value_encode(&value, bytes)) == expected);
	users_settings settings = {};
	CHECK(decode(item(7, number(256)), &settings) == STORE_ECORRUPT);
}

TEST_CASE("a value that is cut, or not as it is written, is damage", "[front][users_settings]")
{
	const auto one = item(1, number(5));
	const auto value = GENERATE_COPY(values<std::string>({
		item(1, number(0)),
		item(1, number(MOST.messages_max + 1)),
		item(2, number(MOST.octets_max + 1)),
		item(3, number(MOST.keep_s + 1)),
		item(3, number(UINT64_MAX)),
		item(1, number(5).substr(1)),
		item(1, number(5) + '\0'),
		item(1, ""),
		item(0, "x"),
		one + one,
		item(2, number(5)) + one,
		item(9, "x") + item(9, "x"),
		item(9, "x") + one,
		one + std::string(1, '\0'),
	}));
	users_settings settings = SOME;
	CHECK(decode(value, &settings) == STORE_ECORRUPT);
	CHECK(settings == SOME);

	const auto whole = encode(MOST);
	for (size_t size = 1; size < whole.size(); size++) {
		CAPTURE(size);
		const int ret = decode(whole.substr(0, size), &settings);
		CHECK(ret == (size % 11 == 0 ? STORE_OK : STORE_ECORRUPT));
	}
}

TEST_CASE("items of later programs are passed over, and said to be there",
	  "[front][users_settings]")
{
	users_settings settings = {};
	bool has_others = false;
	CHECK(decode(item(1, number(5)) + item(3, number(6)) + item(8, "$6$salt$hash") +
			     item(200, std::string(3000, 'x')) + item(255, ""),
		     &settings, &has_others) == STORE_OK);
	CHECK(settings == users_settings{ 5, 0, 6, 0 });
	CHECK(has_others);
}

// ---- in a database ----

struct found {
	int answer;
	std::string entry;
	users_settings settings;
};

static found find_settings(const opened_users &users, const std::string &address)
{
	char entry[USERS_ENTRY_SIZE] = "";
	found one = { 0, "", { 7, 7, 7, 0 } };
	one.answer = users_find_settings(users.get(), address.data(), address.size(), entry,
					 &one.settings);
	one.entry = entry;
	return one;
}

TEST_CASE("the settings of a recipient are those of the entry that makes it valid",
	  "[front][users_settings]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const lines list = {
		"john@example.org messages=1",	    "\"john doe\"@example.org messages=2",
		"\"\\\"q\"@example.org messages=3", "\"@x\"@example.org messages=4",
		"@example.net messages=5",	    "ann@example.net",
		"john+a@example.org messages=6"
	};
	REQUIRE(build(path, list, folding(true, '+')) == STORE_OK);
	const opened_users users(path);
	REQUIRE(users.status() == STORE_OK);
	const auto [address, messages] = GENERATE(table<const char *, uint64_t>({
		{ "john@example.org", 1 },
		{ "\"J\\ohn\"@Example.ORG", 1 },
		{ "john+b@example.org", 1 },
		{ "john+a@example.org", 6 },
		{ "\"John Doe\"@example.org", 2 },
		{ "\"\\\"Q\"@example.org", 3 },
		{ "\"@x\"@example.org", 4 },
		{ "any@example.net", 5 },
		{ "ann@example.net", 0 },
		{ "Postmaster", 0 },
	}));
	CAPTURE(address);
	const auto one = find_settings(users, address);
	CHECK(one.answer == USERS_VALID);
	CHECK(one.entry == users.entry(address));
	CHECK(one.settings == users_settings{ messages, 0, 0, 0 });
	users_settings known = { 7, 7, 7, 0 };
	CHECK(users_settings_of(users.get(), one.entry.c_str(), &known) == STORE_OK);
	CHECK(known == one.settings);
}

TEST_CASE("of what is not valid nothing is written", "[front][users_settings]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org messages=1", "@example.net" }) == STORE_OK);
	const opened_users users(path);
	for (const auto &[address, answer] :
	     std::vector<std::pair<std::string, int>>{ { "mary@example.org", USERS_UNKNOWN },
						       { "john@example.com", USERS_NOT_OURS },
						       { "john", USERS_NOT_OURS },
						       { "", USERS_NOT_OURS } }) {
		CAPTURE(address);
		const auto one = find_settings(users, address);
		CHECK(one.answer == answer);
		CHECK(one.entry.empty());
		CHECK(one.settings == users_settings{ 7, 7, 7, 0 });
	}
	const std::string longest(USERS_ENTRY_SIZE - 2, 'x');
	for (const auto &entry :
	     { std::string(), std::string("@"), std::string("john"), std::string("@example.org"),
	       std::string("JOHN@example.org"), std::string("\"john\"@example.org"),
	       std::string("example.org"), std::string("dexample.org"), std::string("m"), longest,
	       longest + "x", longest + longest, "@" + longest }) {
		CAPTURE(entry);
		users_settings known = { 7, 7, 7, 0 };
		CHECK(users_settings_of(users.get(), entry.c_str(), &known) == DNSBLV6_ENOTFOUND);
		CHECK(known == users_settings{ 7, 7, 7, 0 });
	}
}

TEST_CASE("the longest entry has its settings", "[front][users_settings]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const std::string labels = std::string(63, 'd') + "." + std::string(63, 'e') + "." +
				   std::string(63, 'f') + ".";
	const std::string domain = labels + std::string(255 - labels.size(), 'g');
	const auto longest = std::string(64, 'x') + "@" + domain;
	REQUIRE(longest.size() == USERS_ENTRY_SIZE - 2);
	REQUIRE(build(path, { longest + " keep=1d", "@" + domain + " keep=2d" }) == STORE_OK);
	const opened_users users(path);
	users_settings known = {};
	CHECK(users_settings_of(users.get(), longest.c_str(), &known) == STORE_OK);
	CHECK(known.keep_s == 86400);
	CHECK(users_settings_of(users.get(), ("@" + domain).c_str(), &known) == STORE_OK);
	CHECK(known.keep_s == UINT64_C(2) * 86400);
}

TEST_CASE("a walk prints lines that build the same database", "[front][users_settings]")
{
	const tmpdir dir;
	const lines list = { "\"a b\"@example.org keep=36h",
			     "john@example.org messages=10000 octets=500M keep=90d",
			     "mary@example.org",
			     "@example.com octets=2G",
			     "domain example.com",
			     "domain example.org" };
	REQUIRE(build(dir.file("a.mdb"), list) == STORE_OK);
	CHECK(opened_users(dir.file("a.mdb")).lines() == list);
	REQUIRE(build(dir.file("b.mdb"), opened_users(dir.file("a.mdb")).lines()) == STORE_OK);
	CHECK(opened_users(dir.file("b.mdb")).lines() == list);
}

TEST_CASE("an address that is there twice has the same settings, or is refused",
	  "[front][users_settings]")
{
	const auto [first, second, status] = GENERATE(table<const char *, const char *, int>({
		{ "a@b", "a@b", STORE_OK },
		{ "a@b", "A@B messages=0", STORE_OK },
		{ "a@b messages=5 keep=1h", "a@b keep=60m messages=5", STORE_OK },
		{ "@b octets=1K", "@b octets=1024", STORE_OK },
		{ "a@b", "a@b messages=5", USERS_EOTHER },
		{ "a@b messages=5", "\"a\"@B", USERS_EOTHER },
		{ "a@b messages=5", "a@b messages=6", USERS_EOTHER },
		{ "a@b messages=5", "a@b octets=5", USERS_EOTHER },
		{ "@b", "@b keep=1d", USERS_EOTHER },
		{ "@b keep=1d", "a@b", STORE_OK },
	}));
	CAPTURE(first, second);
	const tmpdir dir;
	CHECK(build(dir.file("users.mdb"), { first, second }) == status);
}

// An entry with a value of any bytes, in a database that is whole.
static int write_value(const std::string &path, const std::string &key, const std::string &value)
{
	const auto entry = std::make_pair(key, value);
	return writer_run(
		path.c_str(), &users_store,
		[](writer *w, void *context) {
			const auto &put =
				*static_cast<std::pair<std::string, std::string> *>(context);
			return writer_put(w, 0, put.first.data(), put.first.size(),
					  put.second.data(), put.second.size());
		},
		const_cast<std::pair<std::string, std::string> *>(&entry));
}

TEST_CASE("a damaged value is an error of its mailbox, and none of whether it is valid",
	  "[front][users_settings]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org", "mary@example.org messages=1" }) == STORE_OK);
	REQUIRE(write_value(path, "ajohn@example.org", "xxx") == STORE_OK);
	const opened_users users(path);
	users_settings known = {};
	CHECK(users.find("john@example.org") == USERS_VALID);
	CHECK(find_settings(users, "john@example.org").answer == STORE_ECORRUPT);
	CHECK(find_settings(users, "john@example.org").entry.empty());
	CHECK(users_settings_of(users.get(), "john@example.org", &known) == STORE_ECORRUPT);
	CHECK(find_settings(users, "mary@example.org").settings.messages_max == 1);
	CHECK_THROWS_WITH(users.lines(), "damaged store");
}

TEST_CASE("a setting of a later program is passed over, and no line leaves it out",
	  "[front][users_settings]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org", "domain example.com" }) == STORE_OK);
	REQUIRE(write_value(path, "ajohn@example.org",
			    item(2, number(4096)) + item(77, "of tomorrow")) == STORE_OK);
	{
		const opened_users users(path);
		CHECK(find_settings(users, "john@example.org").settings ==
		      users_settings{ 0, 4096, 0, 0 });
		CHECK_THROWS_WITH(users.lines(), "written with another schema version");
	}
	REQUIRE(build(path, { "domain example.com" }) == STORE_OK);
	REQUIRE(write_value(path, "dexample.com", item(2, number(4096))) == STORE_OK);
	CHECK_THROWS_WITH(opened_users(path).lines(), "damaged store");
}

// ---- what an answer costs ----

TEST_CASE("an answer takes no memory, with settings and without", "[front][users_settings]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org messages=5 octets=1M keep=1d", "@example.net" },
		      folding(true, '+')) == STORE_OK);
	const opened_users users(path);
	for (const std::string address : { "john@example.org", "john+x@example.org",
					   "any@example.net", "mary@example.org", "a@b" }) {
		CAPTURE(address);
		char entry[USERS_ENTRY_SIZE] = "";
		users_settings settings = {};
		fault::fail_at(1);
		const int answer = users_find(users.get(), address.data(), address.size());
		const int with_settings = users_find_settings(users.get(), address.data(),
							      address.size(), entry, &settings);
		const int known = users_settings_of(users.get(), entry, &settings);
		CHECK_FALSE(fault::end());
		CHECK(answer >= 0);
		CHECK(with_settings == answer);
		CHECK(known ==
		      (answer == USERS_VALID ? int{ STORE_OK } : int{ DNSBLV6_ENOTFOUND }));
	}
}

// As in users.cc: any other system call than read(), write() and the end kills.
static int ask_confined(const opened_users &users)
{
	users_settings settings = {};
	if (users.status() != STORE_OK || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		return 1;
	const bool is_right =
		users_settings_of(users.get(), "john@example.org", &settings) == STORE_OK &&
		settings.messages_max == 5 &&
		find_settings(users, "x@example.net").settings.keep_s == 60;
	syscall(SYS_exit, is_right ? 0 : 2);
	return 3;
}

TEST_CASE("settings are found without a system call", "[front][users_settings]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org messages=5", "@example.net keep=1m" }) == STORE_OK);
	child confined([&] { return ask_confined(opened_users(path)); });
	CHECK(confined.wait() == 0);
}
