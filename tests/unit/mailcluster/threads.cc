// SPDX-License-Identifier: GPL-3.0-or-later
//
// Many threads of two machines deliver, erase, lock and sweep at a time.

#include "tests/unit/mailcluster/world.hh"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <thread>

namespace
{
constexpr unsigned THREADS = 6;
constexpr unsigned MAILS = 60;
} // namespace

TEST_CASE("threads that deliver and erase at a time lose and double nothing",
	  "[mailcluster][threads]")
{
	cluster_world world(1, 2);
	std::atomic<unsigned> failures{ 0 };
	std::mutex mutex;
	std::set<std::string> expected;
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < THREADS; t++) {
		threads.emplace_back([&, t] {
			maillayer *layer = nullptr;
			failures += mailcluster_layer(world.nodes[t % 2].cluster, &layer) != 0;
			for (unsigned i = 0; i < MAILS; i++) {
				// Large ones wait for each other's memory.
				const std::string text = std::to_string(t) + "." +
							 std::to_string(i) + "\r\n" +
							 std::string(i % 20 == 0 ? 400000 : 0, 'x');
				const std::string boxes[] = { "all", "box" + std::to_string(t) };
				const mailname names[] = { name_of(boxes[0]), name_of(boxes[1]) };
				mailstore_mail mail{};
				mailid id{};
				mail.recipients = names;
				mail.recipient_count = 2;
				mail.text = reinterpret_cast<const uint8_t *>(text.data());
				mail.size = text.size();
				failures += maillayer_deliver(layer, &mail, &id) != 0;
				if (i % 3 == 0) {
					uint64_t number = 0;
					failures += maillayer_find_id(layer, mailname{}, &id,
								      &number) != 0;
					failures += maillayer_erase(layer, names[0], &number, 1,
								    0) != 0;
				} else {
					const std::lock_guard<std::mutex> guard(mutex);
					expected.insert(text.substr(0, text.find('\r')));
				}
			}
			maillayer_close(layer);
		});
	}
	std::atomic<bool> is_done{ false };
	std::thread keeper([&] {
		while (!is_done) {
			failures += mailcluster_beat(world.nodes[0].cluster, world.now(0)) != 0;
			failures += mailcluster_beat(world.nodes[1].cluster, world.now(1)) != 0;
		}
	});
	std::thread sweeper([&] {
		mailcluster_swept swept{};
		while (!is_done) {
			failures += mailcluster_sweep(world.nodes[0].cluster, &swept) != 0;
			failures += mailcluster_sweep(world.nodes[1].cluster, &swept) != 0;
		}
	});
	for (std::thread &thread : threads)
		thread.join();
	is_done = true;
	keeper.join();
	sweeper.join();
	CHECK(failures == 0);
	std::set<std::string> found;
	for (const std::string &text : world.texts(0, "all"))
		CHECK(found.insert(text.substr(0, text.find('\r'))).second);
	CHECK(found == expected);
	for (unsigned t = 0; t < THREADS; t++)
		CHECK(world.list(1, "box" + std::to_string(t)).size() == MAILS);
	for (size_t i = 0; i < 2; i++)
		REQUIRE(world.sweep(i) == 0);
	CHECK(world.rows("j.", "") == 0);
	const mailcluster_found checked = world.check(0);
	CHECK(checked.orphans + checked.missing + checked.damaged == 0);
}

TEST_CASE("one session at a time has the lock, of all threads of two machines",
	  "[mailcluster][threads]")
{
	cluster_world world(1, 2);
	std::atomic<unsigned> holders{ 0 };
	std::atomic<unsigned> failures{ 0 };
	std::atomic<unsigned> taken{ 0 };
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < THREADS; t++) {
		threads.emplace_back([&, t] {
			maillayer *layer = nullptr;
			failures += mailcluster_layer(world.nodes[t % 2].cluster, &layer) != 0;
			for (unsigned i = 0; i < 20;) {
				const int ret = maillayer_lock(layer, name_of("a"));
				failures += ret != 0 && ret != -EBUSY;
				if (ret != 0) {
					std::this_thread::yield();
					continue;
				}
				failures += ++holders != 1;
				std::this_thread::yield();
				holders--;
				failures += maillayer_unlock(layer) != 0;
				taken++;
				i++;
			}
			maillayer_close(layer);
		});
	}
	for (std::thread &thread : threads)
		thread.join();
	CHECK(failures == 0);
	CHECK(taken == THREADS * 20);
}

TEST_CASE("one id that many threads deliver at a time makes one mail", "[mailcluster][threads]")
{
	cluster_world world(1, 2);
	mailid id{};
	std::atomic<unsigned> failures{ 0 };
	std::vector<std::thread> threads;
	REQUIRE(maillayer_make_id(world.nodes[0].layer, &id) == 0);
	for (unsigned t = 0; t < THREADS; t++)
		threads.emplace_back([&, t] {
			failures += world.deliver(t % 2, { "a", "b" }, "x\r\n", nullptr, &id) != 0;
		});
	for (std::thread &thread : threads)
		thread.join();
	CHECK(failures == 0);
	CHECK(world.list(0, "a").size() == 1);
	CHECK(world.list(0, "b").size() == 1);
}
