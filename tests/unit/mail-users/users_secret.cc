// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mail-users/users.hh"

#include "integration/mail/base/users/users_secret.h"

#include "lib/lmdb/writer.h"

#include "tests/lib/child.hh"
#include "tests/lib/fault.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

using lines = std::vector<std::string>;

// Of "secret", as crypt(3) and PostgreSQL make them.
static const std::string YESCRYPT =
	"$y$j9T$0123456789abcdefghij/.$qE.lTJxxCZvVGDX2XGu2jQ0wqQ8Pz9ypOmUFVOQHpZ7";
static const std::string SHA512 = "$6$saltsalt$" + std::string(86, 'x');
static const std::string BCRYPT = "$2b$10$" + std::string(53, 'B');
static const std::string SCRAM =
	"SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
	"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";

// ---- words ----

static int parse(const std::string &words, users_secret *ret_secret,
		 const std::string &address = "john@example.org")
{
	const auto line = address + " " + words;
	const users_facts facts = folding();
	users_key key = {};
	users_value value = {};
	const int ret = users_list_parse(line.data(), line.size(), &facts, &key, &value);
	*ret_secret = value.secret;
	return ret;
}

TEST_CASE("a hash of each form that is not weak is a password", "[front][users_secret]")
{
	const auto hash = GENERATE_COPY(values<std::string>({
		YESCRYPT,
		"$gy" + YESCRYPT.substr(2),
		"$y$j9T$x$" + std::string(43, '.'),
		"$y$j9T$" + std::string(86, 'x') + "$" + std::string(43, '.'),
		"$7$" + std::string(33, 'C') + "$" + std::string(43, 'x'),
		BCRYPT,
		"$2a$04$" + std::string(53, '.'),
		"$2y$12$" + std::string(53, '/'),
		SHA512,
		"$6$rounds=656000$salt$" + std::string(86, '9'),
		"$6$x$" + std::string(86, '.'),
		"$5$saltsalt$" + std::string(43, 'x'),
	}));
	CAPTURE(hash);
	users_secret secret = {};
	REQUIRE(parse("password=" + hash, &secret) == STORE_OK);
	CHECK(secret.password == hash);
	CHECK(secret.scram == std::string());
	REQUIRE(parse("scram=" + SCRAM + " keep=1d password=" + hash, &secret) == STORE_OK);
	CHECK(secret.password == hash);
	CHECK(secret.scram == SCRAM);
}

TEST_CASE("a secret that is none, or weak, is refused with the reason", "[front][users_secret]")
{
	const auto [words, status] = GENERATE_COPY(table<std::string, int>({
		{ "password", USERS_ESETTING },
		{ "Password=" + YESCRYPT, USERS_ESETTING },
		{ "password=", USERS_EPASSWORD },
		{ "password=secret", USERS_EPASSWORD },
		{ "password=x", USERS_EPASSWORD },
		{ "password=*", USERS_EPASSWORD },
		{ "password=!" + YESCRYPT, USERS_EPASSWORD },
		{ "password=" + YESCRYPT + "x", USERS_EPASSWORD },
		{ "password=" + YESCRYPT.substr(0, YESCRYPT.size() - 1), USERS_EPASSWORD },
		{ "password=$y$$salt$" + std::string(43, '.'), USERS_EPASSWORD },
		{ "password=$y$j9T$$" + std::string(43, '.'), USERS_EPASSWORD },
		{ "password=$y$j9T$" + std::string(87, 'x') + "$" + std::string(43, '.'),
		  USERS_EPASSWORD },
		{ "password=$y$j9T$sa:lt$" + std::string(43, '.'), USERS_EPASSWORD },
		{ "password=$6$" + std::string(17, 's') + "$" + std::string(86, 'x'),
		  USERS_EPASSWORD },
		{ "password=$6$rounds=0$salt$" + std::string(86, 'x'), USERS_EPASSWORD },
		{ "password=$6$rounds=$salt$" + std::string(86, 'x'), USERS_EPASSWORD },
		{ "password=$6$rounds=1$" + std::string(86, 'x'), USERS_EPASSWORD },
		{ "password=$6$salt$" + std::string(86, 'x') + ":", USERS_EPASSWORD },
		{ "password=$2b$1$" + std::string(53, 'x'), USERS_EPASSWORD },
		{ "password=$2x$10$" + std::string(53, 'x'), USERS_EPASSWORD },
		{ "password=" + BCRYPT + "x", USERS_EPASSWORD },
		{ "password=$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", USERS_EPASSWORD },
		{ "password={SSHA}c2FsdA", USERS_EPASSWORD },
		{ "password=$6$" + std::string(900, 'x'), USERS_EPASSWORD },
		{ "password=" + SCRAM, USERS_EPASSWORD },
		{ "password=$1$salt$" + std::string(22, 'x'), USERS_EWEAK },
		{ "password=abJnggxhB/yWI", USERS_EWEAK },
		{ "password=_J9..CCCCXBrJUJV154M", USERS_EWEAK },
		{ "scram=", USERS_ESCRAM },
		{ "scram=" + YESCRYPT, USERS_ESCRAM },
		{ "scram=" + SCRAM.substr(0, SCRAM.size() - 1), USERS_ESCRAM },
		{ "scram=SCRAM-SHA-1" + SCRAM.substr(13), USERS_ESCRAM },
		{ "password=" + YESCRYPT + " password=" + YESCRYPT, USERS_ETWICE },
		{ "scram=" + SCRAM + " keep=1d scram=" + SCRAM, USERS_ETWICE },
	}));
	CAPTURE(words);
	users_secret secret = {};
	CHECK(parse(words, &secret) == status);
}

TEST_CASE("all addresses of a domain have no secret", "[front][users_secret]")
{
	users_secret secret = {};
	CHECK(parse("password=" + YESCRYPT, &secret, "@example.org") == USERS_ENOLOGIN);
	CHECK(parse("scram=" + SCRAM, &secret, "@example.org") == USERS_ENOLOGIN);
	CHECK(parse("password=" + YESCRYPT, &secret, "domain example.org") == USERS_EWORDS);
	CHECK(parse("keep=1d", &secret, "@example.org") == STORE_OK);
}

TEST_CASE("a walk prints secrets as lines that build the same database", "[front][users_secret]")
{
	const tmpdir dir;
	const lines list = { "\"a b\"@example.org password=" + SHA512,
			     "john@example.org messages=5 keep=90d password=" + YESCRYPT +
				     " scram=" + SCRAM,
			     "mary@example.org scram=" + SCRAM, "domain example.org" };
	REQUIRE(build(dir.file("a.mdb"), list) == STORE_OK);
	CHECK(opened_users(dir.file("a.mdb")).lines() == list);
	REQUIRE(build(dir.file("b.mdb"), opened_users(dir.file("a.mdb")).lines()) == STORE_OK);
	CHECK(opened_users(dir.file("b.mdb")).lines() == list);
}

TEST_CASE("an address that is there twice has the same secret, or is refused",
	  "[front][users_secret]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const auto one = "a@b password=" + YESCRYPT;
	CHECK(build(path, { one, one }) == STORE_OK);
	CHECK(build(path, { one, "a@b password=" + SHA512 }) == USERS_EOTHER);
	CHECK(build(path, { one, "a@b" }) == USERS_EOTHER);
	CHECK(build(path, { one, one + " scram=" + SCRAM }) == USERS_EOTHER);
}

// ---- who may log in ----

struct login {
	int answer;
	std::string entry;
	std::string password;
	std::string scram;
};

static login find(const opened_users &users, const std::string &address)
{
	char entry[USERS_ENTRY_SIZE] = "untouched";
	users_secret secret = { "untouched", "untouched" };
	login one;
	one.answer = users_find_secret(users.get(), address.data(), address.size(), entry, &secret);
	one.entry = entry;
	one.password = secret.password;
	one.scram = secret.scram;
	return one;
}

TEST_CASE("the name of an entry, as it may be written, has its secret", "[front][users_secret]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path,
		      { "john@example.org password=" + YESCRYPT + " scram=" + SCRAM,
			"\"john doe\"@example.org password=" + SHA512, "ann@example.org keep=1d",
			"john+own@example.org password=" + BCRYPT },
		      folding(true, '+')) == STORE_OK);
	const opened_users users(path);
	const auto [address, entry, password, scram] =
		GENERATE_COPY(table<std::string, std::string, std::string, std::string>({
			{ "john@example.org", "john@example.org", YESCRYPT, SCRAM },
			{ "John@Example.ORG", "john@example.org", YESCRYPT, SCRAM },
			{ "\"j\\ohn\"@example.org", "john@example.org", YESCRYPT, SCRAM },
			{ "\"john doe\"@example.org", "john doe@example.org", SHA512, "" },
			{ "john+own@example.org", "john+own@example.org", BCRYPT, "" },
			{ "ann@example.org", "ann@example.org", "", "" },
		}));
	CAPTURE(address);
	const auto one = find(users, address);
	CHECK(one.answer == USERS_VALID);
	CHECK(one.entry == entry);
	CHECK(one.password == password);
	CHECK(one.scram == scram);
	// The settings are asked of the same value.
	users_settings settings = {};
	CHECK(users_settings_of(users.get(), one.entry.c_str(), &settings) == STORE_OK);
	CHECK(settings.keep_s == (address == "ann@example.org" ? 86400U : 0U));
}

TEST_CASE("neither extension nor catch-all nor postmaster is a name to log in with",
	  "[front][users_secret]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path,
		      { "john@example.org password=" + YESCRYPT, "@example.net",
			"mary@example.net scram=" + SCRAM },
		      folding(true, '+')) == STORE_OK);
	const opened_users users(path);
	const auto [address, answer, entry] = GENERATE(table<const char *, int, const char *>({
		{ "john+x@example.org", USERS_UNKNOWN, "john+x@example.org" },
		{ "john+@example.org", USERS_UNKNOWN, "john+@example.org" },
		{ "JANE@Example.ORG", USERS_UNKNOWN, "jane@example.org" },
		{ "\"jane\"@example.org", USERS_UNKNOWN, "jane@example.org" },
		{ "any@example.net", USERS_UNKNOWN, "any@example.net" },
		{ "mary+x@example.net", USERS_UNKNOWN, "mary+x@example.net" },
		{ "@example.net", USERS_NOT_OURS, "" },
		{ "John@example.com", USERS_NOT_OURS, "john@example.com" },
		{ "postmaster", USERS_NOT_OURS, "" },
		{ "john", USERS_NOT_OURS, "" },
		{ "", USERS_NOT_OURS, "" },
		{ "@", USERS_NOT_OURS, "" },
	}));
	CAPTURE(address);
	const auto one = find(users, address);
	CHECK(one.answer == answer);
	CHECK(one.entry == entry);
	CHECK(one.password == "untouched");
	CHECK(one.scram == "untouched");
}

TEST_CASE("a secret is found without memory", "[front][users_secret]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org password=" + YESCRYPT }) == STORE_OK);
	const opened_users users(path);
	char entry[USERS_ENTRY_SIZE];
	users_secret secret;
	fault::fail_at(1);
	const int answer = users_find_secret(users.get(), "john@example.org", 16, entry, &secret);
	CHECK_FALSE(fault::end());
	CHECK(answer == USERS_VALID);
}

// ---- bytes ----

TEST_CASE("a secret is an item with a tag of its own", "[front][users_secret]")
{
	users_value value = {};
	uint8_t bytes[USERS_VALUE_SIZE];
	std::copy(YESCRYPT.begin(), YESCRYPT.end(), value.secret.password);
	std::copy(SCRAM.begin(), SCRAM.end(), value.secret.scram);
	const size_t size = users_value_encode(&value, bytes);
	CHECK(std::string(reinterpret_cast<char *>(bytes), size) ==
	      item(4, YESCRYPT) + item(5, SCRAM));
}

TEST_CASE("a secret that no list could have is damage, of a login and of a walk",
	  "[front][users_secret]")
{
	const auto value = GENERATE_COPY(values<std::string>({
		item(4, ""),
		item(4, "secret"),
		item(4, YESCRYPT + '\0'),
		item(4, std::string(256, 'x')),
		item(4, "$1$salt$" + std::string(22, 'x')),
		item(5, YESCRYPT),
		item(5, SCRAM) + item(4, YESCRYPT),
		item(4, YESCRYPT) + item(4, YESCRYPT),
		item(4, YESCRYPT).substr(0, 20),
	}));
	const store_bytes bytes = { reinterpret_cast<const uint8_t *>(value.data()), value.size() };
	users_secret secret = { "untouched", "" };
	users_value all = {};
	bool has_others = false;
	CHECK(users_secret_decode(bytes, &secret) == STORE_ECORRUPT);
	CHECK(secret.password == std::string("untouched"));
	CHECK(users_value_decode(bytes, &all, &has_others) == STORE_ECORRUPT);
}

// ---- the file ----

static unsigned mode_of(const std::string &path)
{
	struct stat st = {};
	REQUIRE(stat(path.c_str(), &st) == 0);
	return st.st_mode & 07777U;
}

TEST_CASE("a database with a secret is its owner's alone from then on", "[front][users_secret]")
{
	const auto words = GENERATE_COPY(
		values<std::string>({ " password=" + YESCRYPT, " scram=" + SCRAM, " keep=1d" }));
	const bool is_secret = words != " keep=1d";
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const mode_t before = umask(022);
	REQUIRE(build(path, { "john@example.org" + words }) == STORE_OK);
	umask(before);
	CHECK(mode_of(path) == (is_secret ? 0600U : 0644U));
	CHECK(mode_of(path + "-lock") == 0644U);
	// One that was there, and what others had of it.
	REQUIRE(chmod(path.c_str(), 0664) == 0);
	REQUIRE(build(path, { "mary@example.org", "john@example.org" + words }) == STORE_OK);
	CHECK(mode_of(path) == (is_secret ? 0600U : 0664U));
	// Pages of the list before are in the file until others are written over them.
	REQUIRE(build(path, { "mary@example.org" }) == STORE_OK);
	CHECK(mode_of(path) == (is_secret ? 0600U : 0664U));
}

TEST_CASE("a build that comes to nothing has hidden the file before", "[front][users_secret]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	REQUIRE(chmod(path.c_str(), 0644) == 0);
	CHECK(build(path, { "john@example.org password=" + YESCRYPT, "x" }) == USERS_EADDRESS);
	CHECK(mode_of(path) == 0600);
	CHECK(opened_users(path).lines() == lines{ "john@example.org", "domain example.org" });
}
