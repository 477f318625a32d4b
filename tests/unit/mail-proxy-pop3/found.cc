// SPDX-License-Identifier: GPL-3.0-or-later
// The table of mails that were cut off.
#include <cstring>
#include <string>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/mail/mail-proxy/pop3/popfound.h"

namespace
{

struct Key {
	uint8_t bytes[POPFOUND_KEY_SIZE];
	bool is_fine;

	Key(const std::string &hop, const std::string &user, const char *uid,
	    const std::string &first = "")
	{
		is_fine = popfound_key(hop.c_str(), user.c_str(), uid,
				       reinterpret_cast<const uint8_t *>(first.data()),
				       first.size(), bytes);
	}
	bool operator==(const Key &other) const
	{
		return std::memcmp(bytes, other.bytes, sizeof(bytes)) == 0;
	}
};

std::string look(const struct popfound *found, const Key &key, uint64_t now)
{
	char name[POPFOUND_NAME_MAX];
	return popfound_look(found, key.bytes, now, name) ? name : "none";
}

} // namespace

TEST_CASE("a key is of a server, a user and a mail", "[popfound]")
{
	const Key key("192.0.2.1@110", "john", "a");
	CHECK(key.is_fine);
	CHECK(key == Key("192.0.2.1@110", "john", "a"));
	CHECK_FALSE(key == Key("192.0.2.2@110", "john", "a"));
	CHECK_FALSE(key == Key("192.0.2.1@110", "johna", ""));
	CHECK_FALSE(key == Key("192.0.2.1@110", "john", nullptr, "a"));
	CHECK(Key("x", "", nullptr, "abc") == Key("x", "", nullptr, "abc"));
	CHECK_FALSE(Key("x", "", nullptr, "abc") == Key("x", "", nullptr, "abd"));
}

TEST_CASE("a mail is known in every process, for a day", "[popfound]")
{
	struct popfound *found = nullptr;
	REQUIRE(popfound_new(&found) == 0);
	const Key key("x", "john", "a");
	CHECK(look(found, key, 1000) == "none");
	const pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		popfound_put(found, key.bytes, 1000, "Virus");
		_exit(0);
	}
	REQUIRE(waitpid(pid, nullptr, 0) == pid);
	CHECK(look(found, key, 1000) == "Virus");
	CHECK(look(found, key, 1000 + POPFOUND_LIFE_S) == "none");
	popfound_put(found, key.bytes, 2000, std::string(1000, 'x').c_str());
	CHECK(look(found, key, 2000) == std::string(POPFOUND_NAME_MAX - 1, 'x'));
	popfound_free(found);
	CHECK(look(nullptr, key, 2000) == "none");
	popfound_put(nullptr, key.bytes, 2000, "x");
}

TEST_CASE("the table has its bound, and the oldest goes", "[popfound]")
{
	struct popfound *found = nullptr;
	REQUIRE(popfound_new(&found) == 0);
	const unsigned count = 4 * POPFOUND_ENTRIES;
	for (unsigned i = 0; i < count; i++)
		popfound_put(found, Key("x", "john", std::to_string(i).c_str()).bytes, i, "Virus");
	unsigned known = 0;
	for (unsigned i = 0; i < count; i++)
		known += look(found, Key("x", "john", std::to_string(i).c_str()), count) == "Virus";
	CHECK(known <= POPFOUND_ENTRIES);
	CHECK(known > POPFOUND_ENTRIES / 2);
	CHECK(look(found, Key("x", "john", std::to_string(count - 1).c_str()), count) == "Virus");
	popfound_free(found);
}
