/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/dnsblv6.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/client/config.hh"
#include "tests/unit/client/world.hh"

namespace
{
dnsblv6_ip ip(const std::string &text)
{
	dnsblv6_ip parsed = {};
	if (dnsblv6_ip_parse(text.c_str(), &parsed) != 0)
		throw std::runtime_error(text);
	return parsed;
}

// A handle, and the world that it asks.
struct handle {
	world dns;
	std::unique_ptr<resolver> server;
	dnsblv6 *client = nullptr;
	std::vector<std::string> lines;

	handle()
	{
		REQUIRE(dnsblv6_new(&client) == 0);
		dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED, "bl.example");
		dns.add_classic_zone("bl.example");
		for (int i = 0; i < 256; i += 3) {
			const std::string address = "192.0." + std::to_string(i) + ".1";
			dns.list("bl6.example", address);
			dns.list_classic("bl.example", address, { 127, 0, 0, 2 });
			dns.add(std::to_string(1) + "." + std::to_string(i) + ".0.192.bl.example",
				16, { 5, 'b', 'a', 'd', '\n', '!' });
		}
		set("zones", "bl6.example");
		set("attempt-timeout", "30s"); // a busy machine is no reason to ask twice
		dnsblv6_set_log(client, keep_line, this);
	}
	~handle()
	{
		dnsblv6_free(client);
	}
	handle(const handle &) = delete;
	handle &operator=(const handle &) = delete;

	handle &set(const char *key, const std::string &value)
	{
		REQUIRE(dnsblv6_set(client, key, value.c_str()) == 0);
		return *this;
	}
	handle &start()
	{
		server = std::make_unique<resolver>(dns.script());
		set("servers", "127.0.0.1@" + std::to_string(ntohs(server->address().sin6_port)));
		REQUIRE(dnsblv6_start(client) == 0);
		return *this;
	}
	dnsblv6_result check(const std::string &address, int timeout_ms = 20000) const
	{
		const dnsblv6_ip parsed = ip(address);
		dnsblv6_result result = {};
		if (dnsblv6_check(client, &parsed, timeout_ms, &result) != 0)
			throw std::runtime_error("dnsblv6_check");
		return result;
	}
	uint64_t stat(const std::string &name) const
	{
		const char *found;
		uint64_t value;
		for (unsigned i = 0; dnsblv6_stat_get(client, i, &found, &value) == 0; i++) {
			if (name == found)
				return value;
		}
		throw std::runtime_error(name);
	}
	// As an event loop does, until count callbacks have come.
	void run(const unsigned &calls, unsigned count) const
	{
		const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
		while (calls < count && std::chrono::steady_clock::now() < end) {
			pollfd waiting = { dnsblv6_fd(client), POLLIN, 0 };
			const int timeout_ms = dnsblv6_timeout_ms(client);
			poll(&waiting, 1, timeout_ms < 0 || timeout_ms > 1000 ? 1000 : timeout_ms);
			dnsblv6_process(client);
		}
		REQUIRE(calls == count);
	}

      private:
	static void keep_line(void *context, int level, const char *line)
	{
		auto *self = static_cast<handle *>(context);
		if (level < 7)
			self->lines.push_back(std::to_string(level) + " " + line);
	}
};

struct call {
	unsigned *calls;
	dnsblv6_result result = {};
	dnsblv6 *client = nullptr; // submits once more from its callback
};

void keep_call(void *context, const dnsblv6_result *result)
{
	auto *kept = static_cast<call *>(context);
	(*kept->calls)++;
	kept->result = *result;
	if (kept->client == nullptr)
		return;
	dnsblv6 *client = kept->client;
	const dnsblv6_ip again = ip("192.0.0.1");
	kept->client = nullptr;
	dnsblv6_submit(client, &again, 0, 20000, keep_call, kept, nullptr);
}

int64_t now_ms()
{
	return std::chrono::duration_cast<std::chrono::milliseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

// Runs what returns whether it went well in a child.
template <typename work> pid_t in_child(work &&run)
{
	const pid_t pid = fork();
	if (pid == 0) {
		bool is_right = false;
		try {
			is_right = run();
		} catch (...) {
		}
		_exit(is_right ? 0 : 1);
	}
	return pid;
}

bool went_well(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
// What the loop waits with, when another thread submits.
void submit_elsewhere(const handle &bl, const std::string &address, int timeout_ms, call &kept)
{
	int ret = -1;
	std::thread other([&] {
		const dnsblv6_ip parsed = ip(address);
		ret = dnsblv6_submit(bl.client, &parsed, 0, timeout_ms, keep_call, &kept, nullptr);
	});
	other.join();
	REQUIRE(ret == 0);
}

bool is_readable(const handle &bl)
{
	pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
	return poll(&waiting, 1, 0) == 1;
}
} // namespace

TEST_CASE("a check is answered by DNS, and the next one in the block by the cache", "[client][api]")
{
	handle bl;
	bl.start();
	const dnsblv6_result first = bl.check("192.0.0.1");
	CHECK(first.verdict == DNSBLV6_LISTED);
	CHECK(first.queries > 0);
	CHECK(first.zones_cached == 0);
	CHECK(first.elapsed_us > 0);
	const size_t before = bl.server->count();
	const dnsblv6_result second = bl.check("192.0.0.2");
	CHECK(second.verdict == DNSBLV6_CLEAR);
	CHECK(second.queries == 0);
	CHECK(second.zones_cached == 1);
	CHECK(bl.server->count() == before);
	CHECK(bl.stat("hits") == 1);
	dnsblv6_result peeked;
	const dnsblv6_ip address = ip("192.0.0.1");
	REQUIRE(dnsblv6_peek(bl.client, &address, &peeked) == 0);
	CHECK(peeked.verdict == DNSBLV6_LISTED);
}

TEST_CASE("wrong arguments are refused", "[client][api]")
{
	handle bl;
	dnsblv6_result result;
	const dnsblv6_ip address = ip("192.0.0.1");
	dnsblv6_zone_info info;
	CHECK(dnsblv6_peek(bl.client, &address, &result) == -EINVAL); // not started
	CHECK(dnsblv6_check(bl.client, &address, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_fd(bl.client) == -EINVAL);
	CHECK(dnsblv6_set(bl.client, "no-such-key", "1") == -EINVAL);
	CHECK(std::string(dnsblv6_error(bl.client)).find("no-such-key") != std::string::npos);
	bl.start();
	CHECK(dnsblv6_check(bl.client, &address, 0, &result) == -EINVAL);
	CHECK(dnsblv6_check(bl.client, &address, 3600001, &result) == -EINVAL);
	CHECK(dnsblv6_check(bl.client, nullptr, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, 0, 1000, nullptr, nullptr, nullptr) == -EINVAL);
	// One entry: a set of others is a question about nothing.
	unsigned calls = 0;
	call kept;
	kept.calls = &calls;
	CHECK(dnsblv6_submit(bl.client, &address, 2, 1000, keep_call, &kept, nullptr) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, UINT64_C(1) << 63, 1000, keep_call, &kept,
			     nullptr) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, 3, 1000, keep_call, &kept, nullptr) == 0);
	CHECK(dnsblv6_set(bl.client, "threshold", "2") == -EBUSY);
	CHECK(std::string(dnsblv6_error(bl.client)) == "threshold cannot be set after the start");
	CHECK(dnsblv6_start(bl.client) == -EBUSY);
	CHECK(dnsblv6_cancel(bl.client, 12345) == -ENOENT);
	CHECK(dnsblv6_zone_get(bl.client, 1, &info) == -ENOENT);
	REQUIRE(dnsblv6_zone_get(bl.client, 0, &info) == 0);
	CHECK(std::string(info.name) == "bl6.example");
	CHECK(info.state == DNSBLV6_ZONE_UNPROBED);
	dnsblv6_free(nullptr);
}

TEST_CASE("a set of zones is made of names and labels", "[client][api]")
{
	handle bl;
	uint64_t zones = 7;
	bl.set("zones", "bl6.example=127.0.0.2=SBL bl.example bl6.example==ALL bl.example==SBL");
	CHECK(dnsblv6_zone_set(bl.client, "bl.example", &zones) == -EINVAL);
	bl.start();
	CHECK(dnsblv6_zone_set(bl.client, "gone.example", &zones) == -ENOENT);
	CHECK(dnsblv6_zone_set(bl.client, "bl.example sbl", &zones) == -ENOENT);
	CHECK(dnsblv6_zone_set(bl.client, " ", &zones) == -EINVAL);
	CHECK(dnsblv6_zone_set(bl.client, nullptr, &zones) == -EINVAL);
	CHECK(zones == 7);
	struct row {
		const char *names;
		uint64_t zones;
	};
	for (const row &r : { row{ "bl6.example", 5 }, row{ "SBL", 9 }, row{ "BL.Example.", 10 },
			      row{ "ALL,bl.example", 14 } }) {
		CAPTURE(r.names);
		CHECK(dnsblv6_zone_set(bl.client, r.names, &zones) == 0);
		CHECK(zones == r.zones);
	}
}

TEST_CASE("a verdict is of the zones that were asked for alone", "[client][api]")
{
	handle bl;
	bl.set("zones", "bl6.example bl.example*10").start();
	const dnsblv6_ip address = ip("192.0.3.1");
	dnsblv6_result result = {};
	for (const uint64_t zones : { UINT64_C(2), UINT64_C(1), UINT64_C(0), UINT64_C(0xf2) }) {
		CAPTURE(zones);
		const uint64_t wanted = zones == 0 ? 3 : zones & 3;
		const int32_t score = (wanted & 1) + (wanted & 2) / 2 * 10;
		REQUIRE(dnsblv6_check_zones(bl.client, &address, zones, 20000, &result) == 0);
		CHECK(result.zones_answered == wanted);
		CHECK(result.zones_listed == wanted);
		CHECK(result.score == score);
		REQUIRE(dnsblv6_peek_zones(bl.client, &address, zones, &result) == 0);
		CHECK(result.zones_cached == wanted);
		CHECK(result.score == score);
	}
	CHECK(dnsblv6_check_zones(bl.client, &address, 4, 20000, &result) == -EINVAL);
	CHECK(dnsblv6_peek_zones(bl.client, &address, 4, &result) == -EINVAL);
	const dnsblv6_ip other = ip("192.0.4.1");
	REQUIRE(dnsblv6_check_zones(bl.client, &other, 1, 20000, &result) == 0);
	CHECK(dnsblv6_peek_zones(bl.client, &other, 1, &result) == 0);
	CHECK(dnsblv6_peek_zones(bl.client, &other, 2, &result) == -EAGAIN);
}

TEST_CASE("a name is asked about by each way that an address is", "[client][api]")
{
	handle bl;
	bl.dns.add_zone("dbl.example");
	bl.dns.add("test.dbl.example", 1, { 127, 0, 1, 2 });
	bl.dns.add("bad.com.dbl.example", 1, { 127, 0, 1, 2 });
	bl.dns.add("bad.com.dbl.example", 16, { 4, 's', 'p', 'a', 'm' });
	bl.set("zones", "bl6.example dbl.example=127.0.1.2=DBL*2").set("kind", "dbl.example=names");
	dnsblv6_result result = {};
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 0, 1000, &result) == -EINVAL);
	bl.start();
	CHECK(dnsblv6_peek_name(bl.client, "Bad.com", 0, &result) == -EAGAIN);
	REQUIRE(dnsblv6_check_name(bl.client, "Bad.com", 0, 20000, &result) == 0);
	CHECK(result.verdict == DNSBLV6_LISTED);
	CHECK(result.zones_answered == 2);
	CHECK(result.score == 2);
	const dnsblv6_result listed = result;
	REQUIRE(dnsblv6_peek_name(bl.client, "bad.com.", 2, &result) == 0);
	CHECK(result.zones_cached == 2);

	char text[600];
	CHECK(dnsblv6_reason_name(bl.client, "BAD.com", &listed, 20000, text, sizeof(text)) > 0);
	CHECK_THAT(text, Catch::StartsWith("bad.com is listed by ") && Catch::EndsWith("spam"));

	unsigned calls = 0;
	call bad{ &calls }, good{ &calls };
	REQUIRE(dnsblv6_submit_name(bl.client, "bad.com", 0, 20000, keep_call, &bad, nullptr) == 0);
	REQUIRE(dnsblv6_submit_name(bl.client, "good.com", 2, 20000, keep_call, &good, nullptr) ==
		0);
	bl.run(calls, 2);
	CHECK(bad.result.score == 2);
	CHECK(good.result.verdict == DNSBLV6_CLEAR);

	const dnsblv6_ip address = ip("192.0.3.1");
	CHECK(bl.check("192.0.3.1").zones_answered == 1);
	CHECK(dnsblv6_check_zones(bl.client, &address, 2, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 1, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "b@d.com", 0, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, nullptr, 0, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 0, 0, &result) == -EINVAL);
	CHECK(dnsblv6_check_name(bl.client, "bad.com", 0, 1000, nullptr) == -EINVAL);
	CHECK(dnsblv6_peek_name(bl.client, "2001:db8::1", 0, &result) == -EINVAL);
	CHECK(dnsblv6_submit_name(bl.client, "bad.com", 0, 1000, nullptr, nullptr, nullptr) ==
	      -EINVAL);
	CHECK(dnsblv6_reason_name(bl.client, "", &listed, 0, text, sizeof(text)) == -EINVAL);
	REQUIRE(dnsblv6_check_name(bl.client, "192.0.2.1", 0, 20000, &result) == 0);
	CHECK(result.verdict == DNSBLV6_CLEAR);
	CHECK(result.zones_answered == 0);
}

TEST_CASE("a handle of names alone is not asked about addresses", "[client][api]")
{
	handle bl;
	bl.set("zones", "dbl.example").set("kind", "names").start();
	const dnsblv6_ip address = ip("192.0.2.1");
	dnsblv6_result result = {};
	unsigned calls = 0;
	call kept{ &calls };
	CHECK(dnsblv6_check(bl.client, &address, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_peek(bl.client, &address, &result) == -EINVAL);
	CHECK(dnsblv6_check_batch(bl.client, &address, 1, 1000, &result) == -EINVAL);
	CHECK(dnsblv6_submit(bl.client, &address, 0, 1000, keep_call, &kept, nullptr) == -EINVAL);
}

TEST_CASE("a handle without zones does not start, and says why", "[client][api]")
{
	dnsblv6 *client = nullptr;
	REQUIRE(dnsblv6_new(&client) == 0);
	CHECK(dnsblv6_start(client) == -EINVAL);
	CHECK(std::string(dnsblv6_error(client)).find("zones") != std::string::npos);
	dnsblv6_free(client);
}

TEST_CASE("a start that has failed leaves no limit of sockets to the next", "[client][api]")
{
	dnsblv6 *client = nullptr;
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_set(client, "servers", "192.0.2.53") == 0);
	REQUIRE(dnsblv6_set(client, "secure", "yes") == 0);
	{
		const limited descriptors(1000);
		REQUIRE(dnsblv6_start(client) == -EINVAL);
	}
	REQUIRE(dnsblv6_set(client, "secure", "auto") == 0);
	const limited descriptors(200);
	CHECK(dnsblv6_start(client) == 0);
	CHECK(std::string(dnsblv6_error(client)).empty());
	dnsblv6_free(client);
}

TEST_CASE("a handle starts without resolv.conf, and no resolver is no listing", "[client][api]")
{
	dnsblv6 *client = nullptr;
	dnsblv6_result result;
	const dnsblv6_ip address = ip("192.0.2.1");
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_set(client, "resolv-conf", "/nonexistent/resolv.conf") == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	dnsblv6_free(client);

	// A port that nobody has: what a machine without a resolver looks like.
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl6.example") == 0);
	REQUIRE(dnsblv6_set(client, "servers", "127.0.0.1@1") == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	REQUIRE(dnsblv6_check(client, &address, 20000, &result) == 0);
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_failed == 1);
	dnsblv6_free(client);
}

TEST_CASE("resolv.conf is read again when it changes", "[client][api]")
{
	char directory[] = "/tmp/client-api-XXXXXX";
	REQUIRE(mkdtemp(directory) != nullptr);
	const std::string path = std::string(directory) + "/resolv.conf";
	const auto write = [&path](const std::string &text) {
		std::ofstream(path + ".new") << text;
		std::filesystem::rename(path + ".new", path);
	};
	write("nameserver 127.255.0.1\n");
	handle bl;
	bl.set("resolv-conf", path);
	REQUIRE(dnsblv6_start(bl.client) == 0);
	bl.check("192.0.2.1", 10);

	// It is looked at once a second; no server needs to be there.
	write("nameserver 127.255.0.2\n");
	const std::string told = "6 resolv.conf names other servers now";
	const auto has_line = [&bl, &told] {
		return std::count(bl.lines.begin(), bl.lines.end(), told) > 0;
	};
	CHECK_FALSE(has_line());
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	while (!has_line() && std::chrono::steady_clock::now() < end)
		bl.check("192.0.2.1", 10);
	CHECK(has_line());
	std::filesystem::remove(path);
	CHECK(std::filesystem::remove(directory));
}

TEST_CASE("a check ends in time when no reply comes", "[client][api]")
{
	handle bl;
	bl.dns.trouble = world::SILENT;
	bl.start();
	const int64_t began_ms = now_ms();
	const dnsblv6_result result = bl.check("192.0.0.1", 200);
	CHECK(now_ms() - began_ms >= 199);
	CHECK(result.verdict == DNSBLV6_UNKNOWN);
	CHECK(result.zones_failed == 1);
	CHECK(result.elapsed_us >= 199000);
}

TEST_CASE("a batch of addresses has one deadline, and may exceed max-requests", "[client][api]")
{
	handle bl;
	bl.set("max-requests", "3").start();
	std::vector<dnsblv6_ip> ips;
	for (int i = 0; i < 60; i++)
		ips.push_back(ip("192.0." + std::to_string(i) + ".1"));
	std::vector<dnsblv6_result> results(ips.size());
	REQUIRE(dnsblv6_check_batch(bl.client, ips.data(), ips.size(), 20000, results.data()) == 0);
	for (size_t i = 0; i < results.size(); i++) {
		CAPTURE(i);
		CHECK(results[i].verdict == (i % 3 == 0 ? DNSBLV6_LISTED : DNSBLV6_CLEAR));
	}
	CHECK(dnsblv6_check_batch(bl.client, ips.data(), 0, 1000, results.data()) == 0);
}

TEST_CASE("an event loop gets each verdict once, from process alone", "[client][api]")
{
	handle bl;
	bl.start();
	unsigned calls = 0;
	std::vector<call> kept(50, call{ &calls });
	for (unsigned i = 0; i < kept.size(); i++) {
		const dnsblv6_ip address = ip("192.0." + std::to_string(i) + ".1");
		REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept[i],
				       nullptr) == 0);
	}
	CHECK(calls == 0);
	bl.run(calls, 50);
	for (unsigned i = 0; i < kept.size(); i++) {
		CAPTURE(i);
		CHECK(kept[i].result.verdict == (i % 3 == 0 ? DNSBLV6_LISTED : DNSBLV6_CLEAR));
	}
	CHECK(dnsblv6_process(bl.client) == 0);
}

TEST_CASE("what is cached comes with the next process, and callbacks may submit", "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	unsigned calls = 0;
	call kept{ &calls, {}, bl.client };
	const dnsblv6_ip address = ip("192.0.0.2");
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 1000, keep_call, &kept, nullptr) == 0);
	CHECK(calls == 0);
	CHECK(dnsblv6_timeout_ms(bl.client) == 0);
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 1);
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 2);
	CHECK(kept.result.verdict == DNSBLV6_LISTED);
}

TEST_CASE("no callback comes after a cancel", "[client][api]")
{
	handle bl;
	bl.start();
	unsigned calls = 0;
	call kept{ &calls }, other{ &calls };
	uint64_t id = 0, done = 0;
	const dnsblv6_ip address = ip("192.0.0.1");
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, &id) == 0);
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &other, &done) == 0);
	CHECK(dnsblv6_cancel(bl.client, id) == 0);
	CHECK(dnsblv6_cancel(bl.client, id) == -ENOENT);
	bl.run(calls, 1);
	CHECK(dnsblv6_cancel(bl.client, done) == -ENOENT);

	// One whose answer is there, but was not told.
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, &id) == 0);
	bl.check("192.0.7.7"); // works for all requests
	CHECK(dnsblv6_cancel(bl.client, id) == 0);
	dnsblv6_process(bl.client);
	CHECK(calls == 1);
}

static bool lose_descriptors(dnsblv6 *client)
{
	const rlimit none = {};
	return setrlimit(RLIMIT_NOFILE, &none) == 0 && dnsblv6_fd(client) == -EBADF;
}

TEST_CASE("in a child without descriptors a cancel takes back its own request", "[client][api]")
{
	handle bl;
	bl.start();
	const pid_t child = in_child([&bl] {
		if (!lose_descriptors(bl.client))
			return false;
		const dnsblv6_ip address = ip("192.0.0.1");
		unsigned first_calls = 0, second_calls = 0;
		call first{ &first_calls }, second{ &second_calls };
		uint64_t ids[2] = {};
		return dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &first, ids) == 0 &&
		       dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &second, ids + 1) ==
			       0 &&
		       dnsblv6_cancel(bl.client, ids[1]) == 0 && dnsblv6_process(bl.client) == 1 &&
		       first_calls == 1 && second_calls == 0 &&
		       first.result.verdict == DNSBLV6_UNKNOWN;
	});
	CHECK(went_well(child));
}

TEST_CASE("in a child without descriptors process ends although callbacks submit", "[client][api]")
{
	handle bl;
	bl.start();
	const pid_t child = in_child([&bl] {
		if (!lose_descriptors(bl.client))
			return false;
		const dnsblv6_ip address = ip("192.0.0.1");
		unsigned calls = 0;
		call kept{ &calls, {}, bl.client };
		return dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, nullptr) ==
			       0 &&
		       dnsblv6_process(bl.client) == 1 && calls == 1 &&
		       dnsblv6_timeout_ms(bl.client) == 0 && dnsblv6_process(bl.client) == 1 &&
		       calls == 2;
	});
	CHECK(went_well(child));
}

TEST_CASE("a loop is woken for what another thread has found out", "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	unsigned calls = 0;
	call kept{ &calls };
	const dnsblv6_ip address = ip("192.0.0.2");
	REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept, nullptr) == 0);
	std::thread other([&bl] { bl.check("192.0.9.9"); });
	other.join();
	pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
	CHECK(poll(&waiting, 1, 0) == 1);
	CHECK(dnsblv6_timeout_ms(bl.client) == 0);
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 1);
	CHECK(poll(&waiting, 1, 0) == 0);
}

TEST_CASE("a loop that waits for nothing is woken for a cached answer to another thread",
	  "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	unsigned calls = 0;
	call kept{ &calls };
	CHECK(dnsblv6_timeout_ms(bl.client) == -1);
	CHECK_FALSE(is_readable(bl));
	submit_elsewhere(bl, "192.0.0.2", 20000, kept);
	CHECK(is_readable(bl));
	CHECK(dnsblv6_process(bl.client) == 1);
	CHECK(calls == 1);
	CHECK_FALSE(is_readable(bl));
}

TEST_CASE("a loop is woken for another thread's deadline, if that is before its own",
	  "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	bl.dns.trouble = world::SILENT;
	unsigned calls = 0;
	std::vector<call> kept(3, call{ &calls });
	CHECK(dnsblv6_timeout_ms(bl.client) == -1);
	submit_elsewhere(bl, "192.0.3.1", 20000, kept[0]);
	CHECK(is_readable(bl));
	dnsblv6_process(bl.client);
	CHECK(dnsblv6_timeout_ms(bl.client) > 1000);
	submit_elsewhere(bl, "192.0.4.1", 20000, kept[1]);
	CHECK_FALSE(is_readable(bl)); // it comes in time by itself
	submit_elsewhere(bl, "192.0.5.1", 100, kept[2]);
	CHECK(is_readable(bl));
	bl.run(calls, 1);
	CHECK(kept[2].result.verdict == DNSBLV6_UNKNOWN);
}

TEST_CASE("a check returns when a loop has read its reply", "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<bool> is_over{ false };
	std::atomic<uint32_t> longest_us{ 0 };
	std::thread other([&] {
		for (int i = 0; i < 512 && longest_us < 20000000; i++) {
			const dnsblv6_result result = bl.check("192.0." + std::to_string(i / 2) +
								       (i % 2 == 0 ? ".1" : ".129"),
							       60000);
			longest_us = std::max<uint32_t>(longest_us, result.elapsed_us);
		}
		is_over = true;
	});
	// Both are woken by each reply, and whichever is second finds nothing to read.
	while (!is_over) {
		pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
		poll(&waiting, 1, 100);
		dnsblv6_process(bl.client);
	}
	other.join();
	CHECK(longest_us < 20000000);
}

TEST_CASE("a probe tells how many entries are well", "[client][api]")
{
	handle bl;
	bl.set("zones", "bl6.example bl.example gone.invalid").start();
	CHECK(dnsblv6_probe(bl.client, 20000) == 2);
	dnsblv6_zone_info info;
	REQUIRE(dnsblv6_zone_get(bl.client, 2, &info) == 0);
	CHECK(info.state == DNSBLV6_ZONE_UNREACHABLE);
	REQUIRE(dnsblv6_zone_get(bl.client, 0, &info) == 0);
	CHECK(info.is_bitmap == 1);
	REQUIRE(dnsblv6_zone_get(bl.client, 1, &info) == 0);
	CHECK(info.is_bitmap == 0);
	REQUIRE(bl.lines.size() == 1);
	CHECK(bl.lines[0] == "4 [gone.invalid] zone fell ill, state=unreachable was=unprobed "
			     "(127.0.0.2 is not listed)");
}

TEST_CASE("a probe that is started goes on in the loop", "[client][api]")
{
	handle bl;
	CHECK(dnsblv6_probe_start(bl.client) == -EINVAL); // not started
	bl.set("zones", "bl6.example bl.example").start();
	CHECK(dnsblv6_timeout_ms(bl.client) == -1);
	CHECK(dnsblv6_probe_start(bl.client) == 0);
	CHECK(is_readable(bl)); // a loop that waits has to mind its deadlines
	const auto is_well = [&bl](unsigned index) {
		dnsblv6_zone_info info;
		return dnsblv6_zone_get(bl.client, index, &info) == 0 &&
		       info.state == DNSBLV6_ZONE_OK;
	};
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
	while (!(is_well(0) && is_well(1)) && std::chrono::steady_clock::now() < end) {
		pollfd waiting = { dnsblv6_fd(bl.client), POLLIN, 0 };
		poll(&waiting, 1, 100);
		dnsblv6_process(bl.client);
	}
	CHECK(is_well(0));
	CHECK(is_well(1));
}

TEST_CASE("a reason has the URL of a bitmap zone, or the text of a classic one", "[client][api]")
{
	char text[200];
	const dnsblv6_ip address = ip("192.0.0.1"), other = ip("192.0.0.2");

	handle bitmap, classic;
	bitmap.start();
	dnsblv6_result result = bitmap.check("192.0.0.1");
	CHECK(dnsblv6_reason(bitmap.client, &address, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) ==
	      "192.0.0.1 is listed by bl6.example, see https://bl.example/?ip=192.0.0.1");
	CHECK(dnsblv6_reason(bitmap.client, &address, &result, 0, text, 10) == 9);
	CHECK(std::string(text) == "192.0.0.1");
	result = bitmap.check("192.0.0.2");
	CHECK(dnsblv6_reason(bitmap.client, &other, &result, 0, text, sizeof(text)) == -ENOENT);

	classic.set("zones", "bl.example").start();
	result = classic.check("192.0.0.1");
	CHECK(dnsblv6_reason(classic.client, &address, &result, 20000, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "192.0.0.1 is listed by bl.example: bad?!");
	CHECK(dnsblv6_reason(classic.client, &address, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "192.0.0.1 is listed by bl.example");
}

TEST_CASE("a reason has an entry's label, and the name of its zone nowhere", "[client][api]")
{
	char text[600];
	const dnsblv6_ip address = ip("192.0.0.1"), other = ip("198.51.100.1");
	handle bl;
	bl.dns.list_classic("bl.example", "198.51.100.1", { 127, 0, 0, 4 });
	const std::string said = "see BL.example or bl.example";
	world::bytes rdata(said.begin(), said.end());
	rdata.insert(rdata.begin(), static_cast<uint8_t>(said.size()));
	bl.dns.add("1.100.51.198.bl.example", 16, rdata);
	bl.set("zones", "bl.example=127.0.0.2 bl.example=127.0.0.4=KEYED").start();
	dnsblv6_result result = bl.check("198.51.100.1");
	REQUIRE(result.zones_listed == 2);
	CHECK(dnsblv6_reason(bl.client, &other, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "198.51.100.1 is listed by KEYED");
	CHECK(dnsblv6_reason(bl.client, &other, &result, 20000, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "198.51.100.1 is listed by KEYED: see KEYED or KEYED");
	result = bl.check("192.0.0.1");
	REQUIRE(result.zones_listed == 1);
	CHECK(dnsblv6_reason(bl.client, &address, &result, 0, text, sizeof(text)) > 0);
	CHECK(std::string(text) == "192.0.0.1 is listed by bl.example");
}

TEST_CASE("of an answer with many codes each counts, from DNS and out of the cache",
	  "[client][api]")
{
	handle bl;
	const std::vector<uint8_t> codes = { 2, 3, 4, 9, 10, 11, 200 };
	for (const uint8_t code : codes)
		bl.dns.list_classic("bl.example", "198.51.100.1", { 127, 0, 0, code });
	bl.set("zones", "bl.example=127.0.0.2=SBL bl.example=127.0.0.[4..7]=XBL*2 "
			"bl.example=127.0.0.[10..11]=PBL*4 bl.example=127.0.0.200=NEW*8");
	bl.set("mode", "classic").start();
	for (const bool is_cached : { false, true }) {
		const dnsblv6_result result = bl.check("198.51.100.1");
		CAPTURE(is_cached);
		CHECK(result.zones_cached == (is_cached ? 15 : 0));
		CHECK(result.score == 15);
		CHECK(result.codes[4].entry == 3);
		CHECK(result.codes[4].octets[2] == 200);
	}
}

TEST_CASE("lines for a log have labels of entries, and the name of their zone nowhere",
	  "[client][api]")
{
	handle bl;
	std::string text;
	const auto keep = [](void *context, int level, const char *line) {
		*static_cast<std::string *>(context) += std::to_string(level) + " " + line + "\n";
	};
	bl.set("zones", "bl.example=127.0.0.2=SBL bl.example=127.0.0.4=XBL bl.example "
			"bl.example=127.0.0.9=SBL gone.invalid==GONE");
	dnsblv6_set_log(bl.client, keep, &text);
	bl.start();
	CHECK(bl.check("192.0.0.1").zones_listed == 5);
	CHECK(text.find("7 asks A 1.0.0.192.SBL,XBL") != std::string::npos);
	CHECK(text.find("7 1.0.0.192.SBL,XBL: A 127.0.0.2, TTL ") != std::string::npos);
	CHECK(text.find("4 [GONE] zone fell ill, ") != std::string::npos);
	CHECK(text.find("bl.example") == std::string::npos);
	CHECK(text.find("gone.invalid") == std::string::npos);
}

TEST_CASE("threads get right answers, and each block costs one question", "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<unsigned> wrong{ 0 };
	std::atomic<bool> is_over{ false };
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < 8; t++) {
		threads.emplace_back([&bl, &wrong, t] {
			for (unsigned i = 0; i < 200; i++) {
				// The same for all, in another order for each.
				const unsigned net = (i + t * 25) % 100;
				const std::string address =
					"192.0." + std::to_string(net) + (i % 2 == 0 ? ".1" : ".2");
				const bool is_listed = net % 3 == 0 && i % 2 == 0;
				const dnsblv6_result result = bl.check(address);
				if (result.verdict != (is_listed ? DNSBLV6_LISTED : DNSBLV6_CLEAR))
					wrong++;
			}
		});
	}
	std::thread peeker([&bl, &wrong, &is_over] {
		const dnsblv6_ip address = ip("192.0.3.1");
		while (!is_over) {
			dnsblv6_result result;
			const int ret = dnsblv6_peek(bl.client, &address, &result);
			if (ret == 0 && result.verdict != DNSBLV6_LISTED)
				wrong++;
		}
	});
	for (std::thread &thread : threads)
		thread.join();
	is_over = true;
	peeker.join();
	CHECK(wrong == 0);

	std::multiset<std::string> asked;
	for (const resolver::query &query : bl.server->queries())
		asked.insert(query.name());
	size_t blocks = 0;
	for (unsigned net = 0; net < 100; net++)
		blocks += asked.count("0." + std::to_string(net) + ".0.192.bl6.example.");
	CHECK(blocks == 100);
}

TEST_CASE("threads and an event loop may share a handle", "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<unsigned> wrong{ 0 };
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < 4; t++) {
		threads.emplace_back([&bl, &wrong, t] {
			for (unsigned i = 0; i < 50; i++) {
				const unsigned net = (i * 4 + t) % 256;
				const dnsblv6_result result =
					bl.check("192.0." + std::to_string(net) + ".1");
				if ((result.verdict == DNSBLV6_LISTED) != (net % 3 == 0))
					wrong++;
			}
		});
	}
	unsigned calls = 0;
	std::vector<call> kept(100, call{ &calls });
	for (unsigned i = 0; i < kept.size(); i++) {
		const dnsblv6_ip address = ip("192.0." + std::to_string(i) + ".129");
		REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept[i],
				       nullptr) == 0);
	}
	bl.run(calls, 100);
	for (std::thread &thread : threads)
		thread.join();
	CHECK(wrong == 0);
	for (const call &one : kept)
		CHECK(one.result.verdict == DNSBLV6_CLEAR);
}

TEST_CASE("a fork with questions on the way leaves both sides with right answers", "[client][api]")
{
	handle bl;
	bl.start();
	bl.check("192.0.0.1");
	bl.dns.delay_ms = 50;
	unsigned calls = 0;
	std::vector<call> kept(20, call{ &calls });
	for (unsigned i = 0; i < kept.size(); i++) {
		const dnsblv6_ip address = ip("192.0." + std::to_string(i * 3 + 3) + ".1");
		REQUIRE(dnsblv6_submit(bl.client, &address, 0, 20000, keep_call, &kept[i],
				       nullptr) == 0);
	}
	const int parent_fd = dnsblv6_fd(bl.client);
	const pid_t child = in_child([&bl, &calls] {
		// What the parent has cached is here; what it has submitted is not.
		const dnsblv6_result cached = bl.check("192.0.0.2");
		const dnsblv6_result fresh = bl.check("192.0.90.1");
		dnsblv6_process(bl.client);
		const bool is_right =
			cached.queries == 0 && fresh.verdict == DNSBLV6_LISTED && calls == 0;
		dnsblv6_free(bl.client);
		return is_right;
	});
	REQUIRE(child > 0);
	bl.run(calls, 20);
	for (const call &one : kept)
		CHECK(one.result.verdict == DNSBLV6_LISTED);
	CHECK(went_well(child));
	CHECK(dnsblv6_fd(bl.client) == parent_fd);
	// The cache is one: what the child has asked needs no question here.
	const size_t before = bl.server->count();
	CHECK(bl.check("192.0.90.1").verdict == DNSBLV6_LISTED);
	CHECK(bl.server->count() == before);
}

TEST_CASE("a handle that was started and never used serves many children", "[client][api]")
{
	handle bl;
	bl.start();
	std::vector<pid_t> children;
	for (int i = 0; i < 20; i++)
		children.push_back(in_child([&bl, i] {
			const int net = i * 3;
			return bl.check("192.0." + std::to_string(net) + ".1").verdict ==
				       DNSBLV6_LISTED &&
			       bl.check("192.0." + std::to_string(net) + ".2").queries == 0;
		}));
	for (const pid_t child : children)
		CHECK(went_well(child));
	CHECK(bl.check("192.0.3.1").queries == 0);
}

TEST_CASE("for private addresses no question is asked", "[client][api]")
{
	struct row {
		const char *address;
		bool is_private;
	};
	// The first and the last of each network, and their neighbours.
	const std::vector<row> rows = {
		{ "9.255.255.255", false },
		{ "10.0.0.0", true },
		{ "10.255.255.255", true },
		{ "11.0.0.0", false },
		{ "100.63.255.255", false },
		{ "100.64.0.0", true },
		{ "100.127.255.255", true },
		{ "100.128.0.0", false },
		{ "127.0.0.2", false },
		{ "169.253.255.255", false },
		{ "169.254.0.0", true },
		{ "169.254.255.255", true },
		{ "169.255.0.0", false },
		{ "172.15.255.255", false },
		{ "172.16.0.0", true },
		{ "172.31.255.255", true },
		{ "172.32.0.0", false },
		{ "192.0.2.1", false },
		{ "192.167.255.255", false },
		{ "192.168.0.0", true },
		{ "192.168.255.255", true },
		{ "192.169.0.0", false },
		{ "198.18.0.1", false },
		{ "223.255.255.255", false },
		{ "224.0.0.0", true },
		{ "239.255.255.255", true },
		{ "::1", false },
		{ "2001:db8::1", false },
		{ "2600::1", false },
		{ "fbff:ffff::1", false },
		{ "fc00::", true },
		{ "fdff:ffff::1", true },
		{ "fe7f:ffff::1", false },
		{ "fe80::", true },
		{ "febf:ffff::1", true },
		{ "fec0::1", false },
		{ "feff:ffff::1", false },
		{ "ff00::", true },
		{ "ff02::1", true },
	};
	const bool asks_all = GENERATE(false, true);
	handle bl;
	if (asks_all)
		bl.set("scope", "all");
	bl.start();
	CHECK(bl.check("192.0.2.200").zones_answered == 1); // the probe is over
	for (const row &each : rows) {
		CAPTURE(each.address, asks_all);
		const bool is_asked = asks_all || !each.is_private;
		const dnsblv6_ip address = ip(each.address);
		const uint64_t asked = bl.stat("questions");
		dnsblv6_result peeked = {};
		if (!is_asked) {
			REQUIRE(dnsblv6_peek(bl.client, &address, &peeked) == 0);
			CHECK(peeked.verdict == DNSBLV6_CLEAR);
			CHECK(peeked.zones_answered == 0);
		}
		const dnsblv6_result result = bl.check(each.address);
		CHECK(result.zones_answered == (is_asked ? 1u : 0u));
		CHECK((is_asked || result.verdict == DNSBLV6_CLEAR));
		CHECK((is_asked || bl.stat("questions") == asked));
		CHECK((result.ttl_s > 0) == is_asked);
	}
}

TEST_CASE("forks while threads are inside leave every child with a handle that works",
	  "[client][api]")
{
	handle bl;
	bl.start();
	std::atomic<bool> is_over{ false };
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < 4; t++) {
		threads.emplace_back([&bl, &is_over, t] {
			for (unsigned i = 0; !is_over; i++)
				bl.check("44." + std::to_string(t) + "." +
					 std::to_string(i / 256 % 256) + "." +
					 std::to_string(i % 256));
		});
	}
	for (int i = 0; i < 20; i++) {
		const pid_t child = in_child([&bl, i] {
			return bl.check("192.0." + std::to_string(3 * i) + ".1").verdict ==
				       DNSBLV6_LISTED &&
			       bl.check("198.51.100.1").verdict == DNSBLV6_CLEAR;
		});
		CAPTURE(i);
		CHECK(went_well(child));
	}
	is_over = true;
	for (std::thread &thread : threads)
		thread.join();
	CHECK(bl.check("192.0.3.1").verdict == DNSBLV6_LISTED);
}

TEST_CASE("a log hook is called without the lock", "[client][api]")
{
	handle bl;
	bl.set("zones", "gone.invalid").start();
	// It would wait for ever otherwise. Only a test may do what the header forbids.
	dnsblv6 *client = bl.client;
	struct hook {
		dnsblv6 *client;
		int timeout_ms;
		unsigned calls;
	} kept = { client, -2, 0 };
	dnsblv6_set_log(
		client,
		[](void *context, int level, const char *line) {
			auto *told = static_cast<hook *>(context);
			told->timeout_ms = dnsblv6_timeout_ms(told->client);
			told->calls += level == 4 && line[0] == '[';
		},
		&kept);
	bl.check("192.0.2.1");
	CHECK(kept.calls == 1);
	CHECK(kept.timeout_ms >= -1);
}
