// SPDX-License-Identifier: GPL-3.0-or-later
// Logins that were right a short while ago. Time is the test's.
#include "integration/mail/pop-front/login/logincache.h"

#include "tests/lib/fault.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <string>

namespace
{

class cache_of
{
      public:
	explicit cache_of(uint64_t keep_ms)
	{
		REQUIRE(logincache_new(keep_ms, &cache_) == 0);
	}
	~cache_of()
	{
		logincache_free(cache_);
	}
	cache_of(const cache_of &) = delete;
	cache_of &operator=(const cache_of &) = delete;

	bool has(uint64_t now_ms, const std::string &mailbox, const std::string &hash = "$6$x",
		 const std::string &password = "secret") const
	{
		const logincache_login login = { mailbox.c_str(), hash.c_str(), password.c_str() };
		return logincache_has(cache_, &login, now_ms);
	}
	void put(uint64_t now_ms, const std::string &mailbox, const std::string &hash = "$6$x",
		 const std::string &password = "secret")
	{
		const logincache_login login = { mailbox.c_str(), hash.c_str(), password.c_str() };
		logincache_put(cache_, &login, now_ms);
	}

      private:
	logincache *cache_ = nullptr;
};

} // namespace

TEST_CASE("a login is known until its time is over", "[pop][logincache]")
{
	cache_of cache(1000);
	CHECK_FALSE(cache.has(5000, "john"));
	cache.put(5000, "john");
	CHECK(cache.has(5000, "john"));
	CHECK(cache.has(5999, "john"));
	CHECK_FALSE(cache.has(6000, "john"));
	cache.put(6000, "john");
	CHECK(cache.has(6999, "john"));
}

TEST_CASE("a look at a login does not make it last longer", "[pop][logincache]")
{
	cache_of cache(1000);
	cache.put(0, "john");
	for (uint64_t now_ms = 0; now_ms < 1000; now_ms += 100)
		CHECK(cache.has(now_ms, "john"));
	CHECK_FALSE(cache.has(1000, "john"));
}

TEST_CASE("a login is one of a mailbox, a hash and a password together", "[pop][logincache]")
{
	cache_of cache(1000);
	cache.put(0, "john", "$6$a", "secret");
	CHECK(cache.has(0, "john", "$6$a", "secret"));
	CHECK_FALSE(cache.has(0, "mary", "$6$a", "secret"));
	CHECK_FALSE(cache.has(0, "john", "$6$b", "secret"));
	CHECK_FALSE(cache.has(0, "john", "$6$a", "Secret"));
	CHECK_FALSE(cache.has(0, "john", "$6$a", ""));
	// The same bytes, cut elsewhere.
	CHECK_FALSE(cache.has(0, "john$", "6$a", "secret"));
	CHECK_FALSE(cache.has(0, "john", "$6$as", "ecret"));
}

TEST_CASE("with a time of 0 no login is known", "[pop][logincache]")
{
	cache_of cache(0);
	cache.put(1, "john");
	CHECK_FALSE(cache.has(0, "john"));
	CHECK_FALSE(cache.has(1, "john"));
}

TEST_CASE("the longest texts of a users database are known", "[pop][logincache]")
{
	cache_of cache(1000);
	const std::string mailbox(321, 'm');
	const std::string hash(255, 'h');
	const std::string password(255, 'p');
	cache.put(0, mailbox, hash, password);
	CHECK(cache.has(0, mailbox, hash, password));
	CHECK_FALSE(cache.has(0, mailbox, hash, std::string(254, 'p')));
	// None has these: they are not kept, and not found.
	cache.put(0, std::string(700, 'm'), hash, password);
	CHECK_FALSE(cache.has(0, std::string(700, 'm'), hash, password));
}

// Nearly every set gets more logins than it has places, as there are three times as many.
TEST_CASE("where there is no room the oldest logins are forgotten", "[pop][logincache]")
{
	cache_of cache(1000000);
	const unsigned all = 3 * LOGINCACHE_SETS * LOGINCACHE_WAYS;
	for (unsigned i = 0; i < all; i++)
		cache.put(i, std::to_string(i));
	unsigned old = 0;
	unsigned fresh = 0;
	for (unsigned i = 0; i < 20000; i++) {
		old += cache.has(all, std::to_string(i));
		fresh += cache.has(all, std::to_string(all - 1 - i));
	}
	// Of the last 20,000 a set has more than four by chance alone, and seldom; and as seldom four or
	// fewer of all the others.
	CHECK(old < 500);
	CHECK(fresh > 19500);
}

TEST_CASE("a login that is over makes room before one that is not", "[pop][logincache]")
{
	// So few that no set gets more of them than it has places.
	cache_of cache(1000);
	for (unsigned i = 0; i < LOGINCACHE_SETS * LOGINCACHE_WAYS; i++)
		cache.put(0, "old" + std::to_string(i));
	unsigned found = 0;
	for (unsigned i = 0; i < 300; i++)
		cache.put(1000, "new" + std::to_string(i));
	for (unsigned i = 0; i < 300; i++)
		found += cache.has(1999, "new" + std::to_string(i));
	CHECK(found == 300);
}

TEST_CASE("one cache does not know what another does", "[pop][logincache]")
{
	cache_of one(1000);
	cache_of other(1000);
	one.put(0, "john");
	CHECK_FALSE(other.has(0, "john"));
}

TEST_CASE("without memory there is no cache of logins", "[pop][logincache]")
{
	logincache *cache = nullptr;
	fault::fail_at(1);
	const int ret = logincache_new(1000, &cache);
	REQUIRE(fault::end());
	CHECK(ret == -ENOMEM);
	CHECK(cache == nullptr);
	logincache_free(nullptr);
}
