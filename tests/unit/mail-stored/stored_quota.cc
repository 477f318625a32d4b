// SPDX-License-Identifier: GPL-3.0-or-later
// Limits of mailboxes, asked for by several threads at a time.
#include "integration/mail/mail-stored/boxes/quota.h"
#include "tests/unit/mail-users/users.hh"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

TEST_CASE("limits are those of the mailbox, whatever other threads ask for", "[mail-stored][quota]")
{
	constexpr unsigned threads = 4;
	constexpr unsigned rounds = 20000;
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	std::vector<std::string> lines;
	for (unsigned i = 0; i < threads; i++)
		lines.push_back("u" + std::to_string(i) +
				"@example.org messages=" + std::to_string(i + 1));
	REQUIRE(build(path, lines) == STORE_OK);
	const opened_users opened(path);
	REQUIRE(opened.status() == 0);
	stored_setup setup = {};
	pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	const quota quota = { &setup, opened.get(), &turn };
	std::atomic<unsigned> wrong(0);
	std::vector<std::thread> asking;
	for (unsigned i = 0; i < threads; i++)
		asking.emplace_back([&, i] {
			const std::string name = "u" + std::to_string(i) + "@example.org";
			const mailname box = { reinterpret_cast<const uint8_t *>(name.data()),
					       name.size() };
			for (unsigned round = 0; round < rounds; round++) {
				struct quota_limits limits = {};
				if (::quota_limits(&quota, box, &limits) != 0 ||
				    limits.messages != i + 1)
					wrong++;
			}
		});
	for (auto &thread : asking)
		thread.join();
	CHECK(wrong == 0);
}
