// SPDX-License-Identifier: GPL-3.0-or-later
// The client's end, with a daemon played by the test; time is what the test says.
#include "client-lib/shared/remote.h"
#include "client-lib/cache/cache.h"
#include "client-lib/dnsblv6.h"
#include "client-lib/shared/shared.h"
#include "tests/lib/child.hh"
#include "tests/lib/fault.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/client/fake_daemon.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <vector>

namespace
{

const char *const ZONE = "bl6.example";
const dnsblv6_addr ADDR = dnsblv6_addr_from_ipv4(0xc0000242);

struct outcome {
	int calls = 0;
	int status = 1;
	cached_reply reply = {};
};

void take(void *context, int status, const cached_reply *reply)
{
	outcome *taken = static_cast<outcome *>(context);
	taken->calls++;
	taken->status = status;
	if (reply != nullptr)
		taken->reply = *reply;
}

cached_reply listed(uint32_t id)
{
	cached_reply reply = {};
	reply.id = id;
	reply.outcome = CACHED_ANSWERED;
	reply.is_listed = true;
	reply.ttl_s = 900;
	return reply;
}

class client
{
      public:
	explicit client(const std::string &directory)
	{
		REQUIRE(remote_new(directory.c_str(), &remote_) == 0);
	}
	~client()
	{
		remote_free(remote_);
	}
	client(const client &) = delete;
	client &operator=(const client &) = delete;

	int ask(outcome *taken, int64_t timeout_ms = 1000, const char *zone = ZONE)
	{
		return remote_ask(remote_, zone, ADDR, now_ms, now_ms + timeout_ms, take, taken);
	}
	void process()
	{
		remote_process(remote_, now_ms);
	}
	bool is_readable() const
	{
		pollfd polled = { remote_fd(remote_), POLLIN, 0 };
		return poll(&polled, 1, 0) == 1;
	}
	remote_stats stats() const
	{
		remote_stats stats = {};
		remote_get_stats(remote_, &stats);
		return stats;
	}
	remote *get() const
	{
		return remote_;
	}

	int64_t now_ms = 5000;

      private:
	remote *remote_ = nullptr;
};

// Both, connected, and one request on its way.
class pair_of
{
      public:
	pair_of() : daemon(directory.path()), asker(directory.path())
	{
		REQUIRE(asker.ask(&taken) == 0);
		daemon.accept_client();
		const auto read = daemon.read();
		REQUIRE(read.has_value());
		id = read->id;
	}

	tmpdir directory;
	fake_daemon daemon;
	client asker;
	outcome taken;
	uint32_t id = 0;
};

} // namespace

TEST_CASE("a reply that has no value lists for entries without a filter alone", "[client][remote]")
{
	const bool has_filter = GENERATE(false, true);
	tmpdir directory;
	fake_daemon daemon(directory.path());
	// Its table is not handed out: all that a client of another version gets.
	child at_work([&daemon]() -> int {
		for (;; usleep(1000)) {
			if (daemon.has_caller())
				daemon.accept_client();
			const auto request = daemon.read();
			if (request.has_value())
				daemon.say(bytes_of(listed(request->id)));
		}
	});
	dnsblv6 *handle = nullptr;
	dnsblv6_result result = {};
	dnsblv6_ip ip = {};
	dnsblv6_addr_to_bytes(ADDR, ip.bytes);
	CAPTURE(has_filter);
	REQUIRE(dnsblv6_new(&handle) == 0);
	CHECK(dnsblv6_set(handle, "zones", has_filter ? "zen.example=127.0.0.2" : "zen.example") ==
	      0);
	CHECK(dnsblv6_set(handle, "servers", "127.0.0.1@1") == 0);
	CHECK(dnsblv6_set(handle, "shared", directory.path().c_str()) == 0);
	CHECK(dnsblv6_start(handle) == 0);
	CHECK(dnsblv6_check(handle, &ip, 20000, &result) == 0);
	CHECK(result.verdict == (has_filter ? DNSBLV6_UNKNOWN : DNSBLV6_LISTED));
	dnsblv6_free(handle);
}

TEST_CASE("a request has the address, the zone and less time than the client has",
	  "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	outcome taken;
	REQUIRE(asker.ask(&taken, 1000) == 0);
	daemon.accept_client();

	const auto request = daemon.read();
	REQUIRE(request.has_value());
	CHECK(std::string(request->zone, request->zone_size) == ZONE);
	CHECK(dnsblv6_addr_compare(dnsblv6_addr_from_bytes(request->ip.bytes), ADDR) == 0);
	CHECK(request->timeout_ms == 750);
	asker.process();
	CHECK(remote_next_ms(asker.get()) == asker.now_ms + 1000);
	CHECK_FALSE(asker.is_readable());
}

TEST_CASE("a reply comes to the callback once, and not before the client processes",
	  "[client][remote]")
{
	pair_of both;
	cached_reply reply = listed(both.id);
	reply.is_secure = true;
	both.daemon.say(bytes_of(reply));
	CHECK(both.taken.calls == 0);
	CHECK(both.asker.is_readable());
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.taken.status == 0);
	CHECK(both.taken.reply.outcome == CACHED_ANSWERED);
	CHECK(both.taken.reply.is_listed);
	CHECK_FALSE(both.taken.reply.is_stale);
	CHECK(both.taken.reply.is_secure);
	CHECK(both.taken.reply.ttl_s == 900);
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.asker.stats().answered == 1);
	CHECK(remote_next_ms(both.asker.get()) == INT64_MAX);
}

TEST_CASE("what the daemon cannot say is a status that sends the client to DNS", "[client][remote]")
{
	pair_of both;
	const auto row = GENERATE(table<cached_outcome, int>({ { CACHED_FAILED, 0 },
							       { CACHED_LATE, -ETIMEDOUT },
							       { CACHED_NO_ZONE, -ENOENT },
							       { CACHED_BUSY, -EBUSY } }));
	cached_reply reply = {};
	reply.id = both.id;
	reply.outcome = std::get<0>(row);
	CAPTURE(reply.outcome);
	both.daemon.say(bytes_of(reply));
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.taken.status == std::get<1>(row));
	// The connection is as good as before.
	CHECK(both.asker.ask(&both.taken) == 0);
	CHECK(both.daemon.read().has_value());
}

TEST_CASE("without a daemon a question is refused at once, and not tried again for a while",
	  "[client][remote]")
{
	tmpdir directory;
	client asker(directory.path());
	outcome taken;
	CHECK(asker.ask(&taken) == -ENOENT);
	fake_daemon daemon(directory.path());
	asker.now_ms += REMOTE_RETRY_MS - 1;
	CHECK(asker.ask(&taken) == -ENOENT);
	CHECK_FALSE(daemon.has_caller());
	asker.now_ms += 1;
	CHECK(asker.ask(&taken) == 0);
	CHECK(daemon.has_caller());
	CHECK(taken.calls == 0);
}

TEST_CASE("a socket without a listener is no daemon", "[client][remote]")
{
	tmpdir directory;
	{
		fake_daemon gone(directory.path());
	}
	client asker(directory.path());
	outcome taken;
	CHECK(asker.ask(&taken) == -ECONNREFUSED);
}

TEST_CASE("a daemon that ends sends what is open to DNS at once", "[client][remote]")
{
	pair_of both;
	outcome second;
	REQUIRE(both.asker.ask(&second) == 0);
	both.daemon.hang_up();
	CHECK(both.asker.is_readable());
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.taken.status < 0);
	CHECK(second.calls == 1);
	CHECK(second.status < 0);
	CHECK(both.asker.ask(&second) < 0);
	CHECK_FALSE(both.daemon.has_caller());
	both.asker.now_ms += REMOTE_RETRY_MS;
	CHECK(both.asker.ask(&second) == 0);
	CHECK(both.daemon.has_caller());
}

TEST_CASE("an idle connection that has ended is made anew by the next question", "[client][remote]")
{
	pair_of both;
	both.daemon.say(bytes_of(listed(both.id)));
	both.asker.process();
	REQUIRE(both.taken.calls == 1);
	both.daemon.hang_up();

	const bool has_looked = GENERATE(true, false);
	if (has_looked) {
		both.asker.process();
		CHECK_FALSE(both.asker.is_readable());
	}
	outcome second;
	CHECK(both.asker.ask(&second) == 0);
	both.daemon.accept_client();
	const auto request = both.daemon.read();
	REQUIRE(request.has_value());
	both.daemon.say(bytes_of(listed(request->id)));
	both.asker.process();
	CHECK(second.calls == 1);
	CHECK(second.status == 0);
}

TEST_CASE("a daemon that is gone for good is noticed by a question on the old connection",
	  "[client][remote]")
{
	tmpdir directory;
	auto daemon = std::make_unique<fake_daemon>(directory.path());
	client asker(directory.path());
	outcome taken;
	REQUIRE(asker.ask(&taken) == 0);
	daemon->accept_client();
	daemon->say(bytes_of(listed(daemon->read()->id)));
	asker.process();
	REQUIRE(taken.calls == 1);
	daemon.reset();

	REQUIRE(asker.ask(&taken) == 0);
	CHECK(taken.calls == 1); // never out of remote_ask()
	CHECK(remote_next_ms(asker.get()) <= asker.now_ms);
	asker.process();
	CHECK(taken.calls == 2);
	CHECK(taken.status < 0);
	CHECK(asker.ask(&taken) < 0);
}

TEST_CASE("a silent daemon costs the time of one question", "[client][remote]")
{
	pair_of both;
	outcome later;
	REQUIRE(both.asker.ask(&later, 60000) == 0);
	both.asker.now_ms += 999;
	both.asker.process();
	CHECK(both.taken.calls == 0);
	both.asker.now_ms += 1;
	CHECK(remote_next_ms(both.asker.get()) == both.asker.now_ms);
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.taken.status == -ETIMEDOUT);
	CHECK(later.calls == 1);
	CHECK(later.status == -ETIMEDOUT);
	CHECK(both.asker.ask(&later) == -ETIMEDOUT);
}

TEST_CASE("a daemon that is busy with other questions is not given up for one", "[client][remote]")
{
	pair_of both;
	outcome other;
	REQUIRE(both.asker.ask(&other) == 0);
	const uint32_t other_id = both.daemon.read()->id;
	both.daemon.say(bytes_of(listed(other_id)));
	both.asker.now_ms += 1000;
	both.asker.process();
	CHECK(other.status == 0);
	CHECK(both.taken.status == -ETIMEDOUT);

	// Its reply, when it comes after all, is nobody's; not that of whoever has the place.
	outcome third;
	REQUIRE(both.asker.ask(&third) == 0);
	both.daemon.say(bytes_of(listed(both.id)));
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(third.calls == 0);
	both.daemon.say(bytes_of(listed(both.daemon.read()->id)));
	both.asker.process();
	CHECK(third.status == 0);
	CHECK_FALSE(both.daemon.has_caller());
}

TEST_CASE("a reply with a byte that cannot be ends the connection", "[client][remote]")
{
	pair_of both;
	std::string packet = bytes_of(listed(both.id));
	const auto [offset, value] = GENERATE(table<size_t, int>({
		{ 3, '2' }, // another version
		{ 8, 0 },   // outcomes that there are not
		{ 8, 6 },
		{ 8, 255 },
		{ 8, CACHED_FAILED }, // flags of one that failed
		{ 9, 8 },	      // a flag that there is not
		{ 10, 1 },	      // something where zero is
		{ 11, 1 },
	}));
	CAPTURE(offset, value);
	packet[offset] = static_cast<char>(value);
	both.daemon.say(packet);
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.taken.status == -EPROTO);
	CHECK(both.asker.ask(&both.taken) == -EPROTO);
	CHECK(both.daemon.client_is_gone());
}

TEST_CASE("a reply of another size ends the connection", "[client][remote]")
{
	pair_of both;
	std::string packet = bytes_of(listed(both.id));
	const int size =
		GENERATE(range(1, CACHED_REPLY_SIZE), values({ CACHED_REPLY_SIZE + 1, 64 }));
	CAPTURE(size);
	packet.resize(static_cast<size_t>(size));
	both.daemon.say(packet);
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.taken.status == -EPROTO);
	CHECK(both.asker.ask(&both.taken) == -EPROTO);
}

namespace
{
struct table_seen {
	int calls = 0;
	ino_t inode = 0;
};

void take_table(void *context, int fd)
{
	table_seen *seen = static_cast<table_seen *>(context);
	struct stat status = {};
	seen->calls++;
	if (fstat(fd, &status) == 0)
		seen->inode = status.st_ino;
}

// The number that the next descriptor will have.
int next_descriptor()
{
	const int fd = dup(0);
	close(fd);
	return fd;
}

// The copy of a table, whose writer is at work when the test says so.
class beating
{
      public:
	explicit beating(const std::string &directory, int64_t now_ms)
	{
		REQUIRE(cache_create_shared((directory + "/" CACHED_COPY).c_str(), CACHE_SIZE_MIN,
					    nullptr, 0, &table_) == 0);
		beat(now_ms);
	}
	~beating()
	{
		cache_free(table_);
	}
	beating(const beating &) = delete;
	beating &operator=(const beating &) = delete;

	void beat(int64_t now_ms)
	{
		cache_beat(table_, now_ms);
	}

      private:
	cache *table_ = nullptr;
};
} // namespace

TEST_CASE("the greeting brings a descriptor, which is closed behind the callback",
	  "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	table_seen seen;
	remote_on_table(asker.get(), take_table, &seen);
	CHECK_FALSE(remote_is_expecting(asker.get()));
	REQUIRE(remote_connect(asker.get(), asker.now_ms) == 0);
	CHECK(remote_is_expecting(asker.get()));
	daemon.greets = false;
	daemon.accept_client();
	const int before = next_descriptor();
	const int sent = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct stat status = {};
	REQUIRE(fstat(sent, &status) == 0);
	daemon.say_with(CACHED_GREETING, { sent, -1 });
	close(sent);
	asker.process();
	CHECK_FALSE(remote_is_expecting(asker.get()));
	CHECK(seen.calls == 1);
	CHECK(seen.inode == status.st_ino);
	CHECK(next_descriptor() == before);

	// What comes with something else is not taken, be it one or two.
	outcome taken;
	REQUIRE(asker.ask(&taken) == 0);
	const int second = GENERATE(-1, 0);
	daemon.say_with(bytes_of(listed(daemon.read()->id)), { 0, second });
	asker.process();
	CHECK(taken.status == 0);
	CHECK(seen.calls == 1);
	CHECK(next_descriptor() == before);
}

TEST_CASE("a greeting without a descriptor is complete, and the daemon is asked",
	  "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	table_seen seen;
	remote_on_table(asker.get(), take_table, &seen);
	outcome taken;
	REQUIRE(asker.ask(&taken) == 0);
	daemon.accept_client();
	daemon.say(bytes_of(listed(daemon.read()->id)));
	asker.process();
	CHECK(seen.calls == 0);
	CHECK(taken.status == 0);
}

TEST_CASE("a connection that does not begin with one greeting ends", "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	outcome taken;
	REQUIRE(asker.ask(&taken) == 0);
	daemon.greets = GENERATE(false, true);
	daemon.accept_client();
	const auto request = daemon.read();
	REQUIRE(request.has_value());
	daemon.say(daemon.greets ? std::string(CACHED_GREETING) : bytes_of(listed(request->id)));
	asker.process();
	CHECK(taken.calls == 1);
	CHECK(taken.status == -EPROTO);
	CHECK(daemon.client_is_gone());
}

TEST_CASE("a daemon that does not say that it is at work is not asked", "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	outcome taken;
	const int64_t late_ms = GENERATE(REMOTE_BEAT_MAX_MS, -REMOTE_BEAT_MAX_MS);
	asker.now_ms = 100000;
	beating table(directory.path(), asker.now_ms - late_ms);
	CHECK(asker.ask(&taken) == -ETIMEDOUT);
	CHECK(remote_connect(asker.get(), asker.now_ms) == -ETIMEDOUT);
	CHECK_FALSE(daemon.has_caller());
	asker.now_ms += REMOTE_RETRY_MS;
	table.beat(asker.now_ms - REMOTE_BEAT_MAX_MS + 1);
	CHECK(asker.ask(&taken) == 0);
	CHECK(daemon.has_caller());
}

TEST_CASE("a daemon that has ceased to be at work is not waited for", "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	beating table(directory.path(), asker.now_ms);
	outcome first, second;
	REQUIRE(asker.ask(&first, 60000) == 0);
	daemon.accept_client();
	asker.now_ms += REMOTE_BEAT_MAX_MS - 1;
	asker.process();
	CHECK(first.calls == 0);
	asker.now_ms = remote_next_ms(asker.get());
	CHECK(asker.now_ms <= 5000 + REMOTE_BEAT_MAX_MS + REMOTE_LOOK_MS);
	const bool is_asking = GENERATE(false, true);
	if (is_asking)
		CHECK(asker.ask(&second, 60000) == -ETIMEDOUT);
	asker.process();
	CHECK(first.calls == 1);
	CHECK(first.status == -ETIMEDOUT);
	CHECK(second.calls == 0);
	CHECK(daemon.read().has_value());
	CHECK(daemon.client_is_gone());

	asker.now_ms += 10 * REMOTE_PAUSE_MAX_MS;
	CHECK(asker.ask(&second) == -ETIMEDOUT);
	asker.now_ms += REMOTE_RETRY_MS;
	table.beat(asker.now_ms);
	CHECK(asker.ask(&second) == 0);
}

TEST_CASE("after silence a daemon is asked again when it has said something since",
	  "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	beating table(directory.path(), asker.now_ms);
	outcome taken;
	REQUIRE(asker.ask(&taken, 100) == 0);
	daemon.accept_client();
	asker.now_ms += 100;
	asker.process();
	REQUIRE(taken.status == -ETIMEDOUT);
	// Its last word is not old yet, but all that it has said.
	asker.now_ms += REMOTE_RETRY_MS;
	CHECK(asker.ask(&taken, 100) == -ETIMEDOUT);
	CHECK_FALSE(daemon.has_caller());
	asker.now_ms += REMOTE_RETRY_MS;
	table.beat(asker.now_ms);
	CHECK(asker.ask(&taken, 100) == 0);
	CHECK(daemon.has_caller());
}

TEST_CASE("a daemon that stays silent is asked less and less, until it answers", "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	outcome taken;
	int64_t pause_ms = REMOTE_RETRY_MS;
	for (int round = 0; round < 8; round++) {
		REQUIRE(asker.ask(&taken, 1) == 0);
		daemon.accept_client();
		asker.now_ms += 1;
		asker.process();
		REQUIRE(taken.calls == round + 1);
		CAPTURE(round, pause_ms);
		asker.now_ms += pause_ms - 1;
		CHECK(asker.ask(&taken, 1) == -ETIMEDOUT);
		asker.now_ms += 1;
		pause_ms = std::min<int64_t>(2 * pause_ms, REMOTE_PAUSE_MAX_MS);
	}
	REQUIRE(asker.ask(&taken, 1000) == 0);
	daemon.accept_client();
	daemon.say(bytes_of(listed(daemon.read()->id)));
	asker.process();
	REQUIRE(taken.status == 0);
	REQUIRE(asker.ask(&taken, 1) == 0);
	asker.now_ms += 1;
	asker.process();
	asker.now_ms += REMOTE_RETRY_MS;
	CHECK(asker.ask(&taken, 1) == 0);
}

TEST_CASE("a flood of unrequested replies does no harm", "[client][remote]")
{
	pair_of both;
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < 100; i++)
			both.daemon.say(bytes_of(listed(both.id + 1 + round * 100 + i)));
		both.asker.process();
		CHECK(both.taken.calls == 0);
	}
	both.daemon.say(bytes_of(listed(both.id)));
	both.daemon.say(bytes_of(listed(both.id)));
	both.asker.process();
	CHECK(both.taken.calls == 1);
	CHECK(both.taken.status == 0);
}

TEST_CASE("no more requests than agreed are on the way, and all get their own reply",
	  "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	std::vector<outcome> taken(3 * CACHED_OPEN_MAX + 1);
	for (outcome &one : taken)
		REQUIRE(asker.ask(&one) == 0);
	daemon.accept_client();
	size_t served = 0;
	std::vector<uint32_t> ids;
	while (served < taken.size()) {
		ids.clear();
		while (const auto request = daemon.read())
			ids.push_back(request->id);
		REQUIRE(!ids.empty());
		CHECK(ids.size() <= CACHED_OPEN_MAX);
		std::sort(ids.begin(), ids.end());
		CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
		std::reverse(ids.begin(), ids.end());
		for (const uint32_t id : ids)
			daemon.say(bytes_of(listed(id)));
		served += ids.size();
		asker.process();
	}
	CHECK(std::all_of(taken.begin(), taken.end(),
			  [](const outcome &one) { return one.calls == 1 && one.status == 0; }));
}

TEST_CASE("what waits for its turn ends at its deadline too", "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	std::vector<outcome> taken(CACHED_OPEN_MAX + 1);
	for (outcome &one : taken)
		REQUIRE(asker.ask(&one) == 0);
	asker.now_ms += 1000;
	asker.process();
	CHECK(std::all_of(taken.begin(), taken.end(), [](const outcome &one) {
		return one.calls == 1 && one.status == -ETIMEDOUT;
	}));
}

TEST_CASE("a daemon that does not read delays no request beyond its deadline", "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	outcome taken;
	int asked = 0;
	// A daemon that says something now and then is not dead, yet its socket is full.
	REQUIRE(asker.ask(&taken, 1) == 0);
	asked++;
	daemon.accept_client();
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < CACHED_OPEN_MAX; i++)
			asked += asker.ask(&taken, 1) == 0;
		daemon.say(bytes_of(listed(1)));
		asker.now_ms += 1;
		asker.process();
	}
	CHECK(asked == 1 + 20 * CACHED_OPEN_MAX);
	CHECK(taken.calls == asked);
}

namespace
{
struct chain {
	client *asker = nullptr;
	outcome *second = nullptr;
	int calls = 0;
};

void ask_again(void *context, int status, const cached_reply *reply)
{
	chain *link = static_cast<chain *>(context);
	(void)status;
	(void)reply;
	link->calls++;
	link->asker->ask(link->second);
}
} // namespace

TEST_CASE("a callback may ask again", "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	client asker(directory.path());
	outcome second;
	chain link = { &asker, &second, 0 };
	REQUIRE(remote_ask(asker.get(), ZONE, ADDR, asker.now_ms, asker.now_ms + 1000, ask_again,
			   &link) == 0);
	daemon.accept_client();
	daemon.say(bytes_of(listed(daemon.read()->id)));
	asker.process();
	CHECK(link.calls == 1);
	CHECK(second.calls == 0);
	daemon.say(bytes_of(listed(daemon.read()->id)));
	asker.process();
	CHECK(second.status == 0);
}

TEST_CASE("a child has a connection of its own and forgets what the parent asked",
	  "[client][remote]")
{
	pair_of both;
	const int parent_fd = remote_fd(both.asker.get());
	child other([&] {
		outcome mine;
		if (remote_after_fork(both.asker.get()) != 0)
			return 1;
		if (remote_next_ms(both.asker.get()) != INT64_MAX)
			return 2;
		if (remote_ask(both.asker.get(), ZONE, ADDR, 0, 60000, take, &mine) != 0)
			return 3;
		pollfd polled = { remote_fd(both.asker.get()), POLLIN, 0 };
		while (mine.calls == 0) {
			if (poll(&polled, 1, -1) != 1)
				return 4;
			remote_process(both.asker.get(), 1);
		}
		return both.taken.calls == 0 && mine.calls == 1 && mine.status == 0 ? 0 : 5;
	});
	// The parent's request is answered on the parent's connection, as if nothing were.
	both.daemon.say(bytes_of(listed(both.id)));
	pollfd polled = { parent_fd, POLLIN, 0 };
	REQUIRE(poll(&polled, 1, 60000) == 1);
	both.asker.process();
	CHECK(both.taken.status == 0);

	while (!both.daemon.has_caller())
		;
	both.daemon.accept_client();
	std::optional<cached_request> request;
	while (!request.has_value())
		request = both.daemon.read();
	both.daemon.say(bytes_of(listed(request->id)));
	CHECK(other.wait() == 0);
}

TEST_CASE("names and times that no daemon could take are refused", "[client][remote]")
{
	pair_of both;
	outcome taken;
	CHECK(both.asker.ask(&taken, 0) == -EINVAL);
	CHECK(both.asker.ask(&taken, -1) == -EINVAL);
	CHECK(both.asker.ask(&taken, 1000, "") == -EINVAL);
	CHECK(both.asker.ask(&taken, 1000, std::string(256, 'x').c_str()) == -EINVAL);

	CHECK(both.asker.ask(&taken, 1000, "bl6 example") == 0);
	both.asker.process();
	CHECK(taken.status == -EINVAL);
	CHECK_FALSE(both.daemon.read().has_value());
	CHECK(both.asker.stats().lost == 0);
}

TEST_CASE("without memory a client is not made and a question not asked, and the next one is",
	  "[client][remote]")
{
	tmpdir directory;
	fake_daemon daemon(directory.path());
	remote *made = nullptr;
	unsigned failures = 0;
	for (unsigned n = 1;; n++) {
		fault::fail_at(n);
		const int ret = remote_new(directory.path().c_str(), &made);
		if (!fault::end()) {
			REQUIRE(ret == 0);
			break;
		}
		failures++;
		CHECK(ret == -ENOMEM);
		CHECK(made == nullptr);
	}
	outcome taken;
	for (unsigned n = 1;; n++) {
		fault::fail_at(n);
		const int ret = remote_ask(made, ZONE, ADDR, 0, 1000, take, &taken);
		if (!fault::end()) {
			REQUIRE(ret == 0);
			break;
		}
		failures++;
		CHECK(ret == -ENOMEM);
	}
	CHECK(failures >= 2);
	daemon.accept_client();
	CHECK(daemon.read().has_value());
	CHECK_FALSE(daemon.read().has_value());
	remote_free(made);
	CHECK(taken.calls == 0);
}

TEST_CASE("a directory whose name is too long for a socket is refused", "[client][remote]")
{
	remote *made = nullptr;
	CHECK(remote_new(("/" + std::string(100, 'x')).c_str(), &made) == -ENAMETOOLONG);
	CHECK(made == nullptr);
}

TEST_CASE("a socket of some other user is not believed", "[client][remote]")
{
	if (geteuid() != 0) {
		WARN("not root: no other user to be had");
		SUCCEED();
		return;
	}
	tmpdir directory;
	REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
	signal_pipe is_there;
	signal_pipe is_done;
	child stranger([&] {
		if (setuid(65534) != 0)
			return 1;
		fake_daemon theirs(directory.path());
		is_there.give();
		is_done.take();
		return 0;
	});
	is_there.take();
	client asker(directory.path());
	outcome taken;
	CHECK(asker.ask(&taken) == -EPERM);
	is_done.give();
	CHECK(stranger.wait() == 0);
}

TEST_CASE("a request is read as it was written, and not when it is cut", "[client][cached]")
{
	cached_request request = {};
	request.id = 0xdeadbeef;
	dnsblv6_addr_to_bytes(ADDR, request.ip.bytes);
	request.timeout_ms = CACHED_TIMEOUT_MAX;
	const std::string zone(GENERATE(1, 11, CACHED_ZONE_MAX), 'z');
	request.zone = zone.c_str();
	request.zone_size = zone.size();
	uint8_t bytes[CACHED_REQUEST_MAX + 1];
	const int size = cached_encode_request(&request, bytes);
	REQUIRE(size == static_cast<int>(CACHED_REQUEST_HEAD + zone.size()));

	cached_request read = {};
	REQUIRE(cached_decode_request(bytes, static_cast<size_t>(size), &read) == 0);
	CHECK(read.id == request.id);
	CHECK(memcmp(read.ip.bytes, request.ip.bytes, sizeof(read.ip.bytes)) == 0);
	CHECK(read.timeout_ms == request.timeout_ms);
	CHECK(std::string(read.zone, read.zone_size) == zone);
	for (size_t cut = 0; cut <= CACHED_REQUEST_HEAD; cut++) {
		CAPTURE(cut);
		CHECK(cached_decode_request(bytes, cut, &read) == -EPROTO);
	}
	CHECK(cached_decode_request(bytes, CACHED_REQUEST_MAX + 1, &read) == -EPROTO);
}

TEST_CASE("a request with values out of range is not written and not read", "[client][cached]")
{
	cached_request request = {};
	dnsblv6_addr_to_bytes(ADDR, request.ip.bytes);
	request.timeout_ms = 1;
	request.zone = "z";
	request.zone_size = 1;
	uint8_t bytes[CACHED_REQUEST_MAX];
	REQUIRE(cached_encode_request(&request, bytes) == CACHED_REQUEST_HEAD + 1);
	cached_request read = {};
	REQUIRE(cached_decode_request(bytes, CACHED_REQUEST_HEAD + 1, &read) == 0);

	const int what = GENERATE(0, 1, 2, 3, 4, 5);
	CAPTURE(what);
	if (what == 0) {
		request.timeout_ms = 0;
		bytes[27] = 0;
	} else if (what == 1) {
		request.timeout_ms = CACHED_TIMEOUT_MAX + 1;
		bytes[24] = 1;
	} else {
		request.zone = std::array<const char *, 4>{ "\x1f", " ", "\x7f", "\xff" }[what - 2];
		bytes[CACHED_REQUEST_HEAD] = static_cast<uint8_t>(request.zone[0]);
	}
	uint8_t unwritten[CACHED_REQUEST_MAX];
	CHECK(cached_encode_request(&request, unwritten) == -EINVAL);
	CHECK(cached_decode_request(bytes, CACHED_REQUEST_HEAD + 1, &read) == -EPROTO);
}
