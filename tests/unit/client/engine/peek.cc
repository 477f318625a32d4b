/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/dnsblv6.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "tests/lib/fault.hh"
#include "tests/unit/client/world.hh"

namespace
{
unsigned locks = 0;
} // namespace

extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	locks++;
	return __real_pthread_mutex_lock(lock);
}
}

namespace
{
dnsblv6_ip ip(const char *text)
{
	dnsblv6_ip parsed = {};
	REQUIRE(dnsblv6_ip_parse(text, &parsed) == 0);
	return parsed;
}

// Three zones in which 192.0.2.1 is cached, and their resolver.
struct handle {
	world dns;
	std::unique_ptr<resolver> server;
	dnsblv6 *client = nullptr;

	handle()
	{
		dns.is_secure = true;
		dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED);
		dns.add_bitmap_zone("fl6.example", DNSBLV6_STYLE_FLAT);
		dns.add_classic_zone("bl.example");
		dns.list("bl6.example", "192.0.2.1");
		dns.list_classic("bl.example", "192.0.2.1", { 127, 0, 0, 4 });
		dns.add_nsec("fl6.example", "c6000000.fl6.example");
		server = std::make_unique<resolver>(dns.script());
	}
	~handle()
	{
		dnsblv6_free(client);
	}
	handle(const handle &) = delete;
	handle &operator=(const handle &) = delete;

	// Any step may fail for want of memory.
	int start()
	{
		const std::string servers =
			"127.0.0.1@" + std::to_string(ntohs(server->address().sin6_port));
		int ret = dnsblv6_new(&client);
		if (ret == 0)
			ret = dnsblv6_set(client, "zones",
					  "bl6.example fl6.example bl.example=127.0.0.[2..9]");
		if (ret == 0)
			ret = dnsblv6_set(client, "servers", servers.c_str());
		return ret == 0 ? dnsblv6_start(client) : ret;
	}
};
} // namespace

TEST_CASE("peek takes no lock and no memory", "[client][peek]")
{
	handle bl;
	REQUIRE(bl.start() == 0);
	const dnsblv6_ip cached = ip("192.0.2.1"), other = ip("2001:db8::1");
	dnsblv6_result result;
	REQUIRE(dnsblv6_check(bl.client, &cached, 20000, &result) == 0);
	REQUIRE(result.verdict == DNSBLV6_LISTED);
	CHECK(locks > 0); // it is counted

	locks = 0;
	fault::fail_at(1);
	const int hit = dnsblv6_peek(bl.client, &cached, &result);
	const int miss = dnsblv6_peek(bl.client, &other, &result);
	CHECK_FALSE(fault::end());
	CHECK(locks == 0);
	CHECK(hit == 0);
	CHECK(miss == -EAGAIN);
}

#ifndef __SANITIZE_THREAD__ // its run-time library calls the kernel itself
TEST_CASE("peek makes no system call", "[client][peek]")
{
	handle bl;
	REQUIRE(bl.start() == 0);
	const dnsblv6_ip cached = ip("192.0.2.1"), other = ip("2001:db8::1");
	dnsblv6_result result;
	REQUIRE(dnsblv6_check(bl.client, &cached, 20000, &result) == 0);

	// In this mode the kernel kills whoever calls for more than read(), write() and exit().
	const pid_t child = fork();
	if (child == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			_exit(77);
		bool is_right = true;
		for (int i = 0; i < 1000; i++) {
			is_right = is_right && dnsblv6_peek(bl.client, &cached, &result) == 0 &&
				   result.zones_listed == 5;
			is_right = is_right && dnsblv6_peek(bl.client, &other, &result) == -EAGAIN;
		}
		syscall(SYS_exit, is_right ? 0 : 1);
	}
	REQUIRE(child > 0);
	int status = -1;
	REQUIRE(waitpid(child, &status, 0) == child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		WARN("the kernel has no strict seccomp: not tested");
	else
		CHECK(status == 0);
}
#endif

TEST_CASE("each allocation may fail, and the worst is an unknown verdict", "[client][peek]")
{
	const dnsblv6_ip address = ip("192.0.2.1");
	unsigned n = 1;
	for (;; n++) {
		CAPTURE(n);
		handle bl;
		dnsblv6_result result = {};
		fault::fail_at(n);
		const int started = bl.start();
		const int checked =
			started == 0 ? dnsblv6_check(bl.client, &address, 2000, &result) : -ENOMEM;
		const bool has_failed = fault::end();
		if (started != 0) {
			CHECK(started == -ENOMEM);
		} else {
			CHECK(checked == 0);
			CHECK((result.zones_answered | result.zones_failed) == 7);
		}
		if (!has_failed)
			break;
	}
	CHECK(n > 10);
}
