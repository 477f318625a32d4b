// SPDX-License-Identifier: GPL-3.0-or-later
// What befalls a cluster's store between two calls: other deliveries, checks and crashes.
#include "lib/mailcluster/cluster.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/simobjects.hh"

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <malloc.h>
#include <thread>

namespace
{
constexpr uint64_t NOW_US = 1800000000000000;
constexpr uint64_t DAY_US = 24ULL * 3600 * 1000000;

// One machine of a world, with one client.
class machine
{
      public:
	explicit machine(sim_objects &world, const char *node = "a", uint8_t incarnation = 1,
			 uint64_t memory_max = 64 << 20)
	{
		mailcluster_setup setup{};
		setup.objects = handle_ = world.handle();
		setup.node = node;
		setup.memory_max = memory_max;
		setup.time_us = NOW_US;
		setup.incarnation[7] = incarnation;
		REQUIRE(mailcluster_open(&setup, &cluster_) == 0);
		REQUIRE(mailcluster_beat(cluster_, NOW_US) == 0);
		REQUIRE(mailcluster_layer(cluster_, &layer_) == 0);
	}
	~machine()
	{
		maillayer_close(layer_);
		mailcluster_close(cluster_);
	}
	machine(const machine &) = delete;
	machine &operator=(const machine &) = delete;

	mailcluster *cluster()
	{
		return cluster_;
	}
	void kill()
	{
		sim_objects::kill(handle_);
	}
	mailid make_id()
	{
		mailid id{};
		REQUIRE(maillayer_make_id(layer_, &id) == 0);
		return id;
	}
	// It may be called by several threads.
	int deliver(const std::vector<std::string> &to, const std::string &text,
		    const mailid *id = nullptr, bool is_moved = false)
	{
		std::vector<mailname> names;
		for (const std::string &box : to)
			names.push_back(name_of(box));
		mailstore_mail mail{};
		mailid made{};
		mail.sender = name_of(sender_);
		mail.recipients = names.data();
		mail.recipient_count = names.size();
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mail.time_us = NOW_US;
		mail.id = id;
		mail.is_moved = is_moved;
		return maillayer_deliver(layer_, &mail, &made);
	}
	size_t count(const std::string &box)
	{
		mailcounts counts{};
		REQUIRE(maillayer_counts(layer_, name_of(box), &counts) == 0);
		return counts.mails;
	}
	mailcluster_swept sweep()
	{
		mailcluster_swept swept{};
		(void)mailcluster_sweep(cluster_, &swept);
		return swept;
	}
	mailcluster_found check(bool is_repair, uint64_t time_us, int *ret_status = nullptr)
	{
		struct mailcluster_check check {
		};
		mailcluster_found found{};
		check.is_repair = is_repair;
		check.time_us = time_us;
		const int ret = mailcluster_check(cluster_, &check, &found);
		if (ret_status != nullptr)
			*ret_status = ret;
		else
			REQUIRE(ret == 0);
		return found;
	}

      private:
	const std::string sender_ = "sender@example.org";
	objects *handle_;
	mailcluster *cluster_ = nullptr;
	maillayer *layer_ = nullptr;
};

// Threads that call with a certain object wait here until they may go on.
class gate
{
      public:
	void pass()
	{
		std::unique_lock<std::mutex> held(mutex_);
		waiting_++;
		changed_.notify_all();
		changed_.wait(held, [this] { return is_open_; });
	}
	bool await()
	{
		std::unique_lock<std::mutex> held(mutex_);
		return changed_.wait_for(held, std::chrono::seconds(120),
					 [this] { return waiting_ > 0; });
	}
	void open()
	{
		const std::lock_guard<std::mutex> held(mutex_);
		is_open_ = true;
		changed_.notify_all();
	}

      private:
	std::mutex mutex_;
	std::condition_variable changed_;
	unsigned waiting_ = 0;
	bool is_open_ = false;
};

bool until(const std::function<bool()> &is_so)
{
	for (unsigned i = 0; i < 120000 && !is_so(); i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	return is_so();
}

// Deliveries that have asked for memory and have none.
uint64_t count_waiting(mailcluster *cluster)
{
	cluster_lock(cluster);
	const uint64_t waiting = cluster->room_asked - cluster->room_given;
	cluster_unlock(cluster);
	return waiting;
}

// The first write of this thread to an object whose name begins so calls fn.
class interruption
{
      public:
	interruption(sim_objects &world, std::string what, std::string prefix,
		     std::function<void()> fn)
	{
		world.watch([this, what = std::move(what), prefix = std::move(prefix),
			     fn = std::move(fn), self = std::this_thread::get_id()](
				    objects *, const std::string &call, const std::string &name) {
			if (is_over_ || std::this_thread::get_id() != self || call != what ||
			    name.compare(0, prefix.size(), prefix) != 0)
				return;
			is_over_ = true;
			fn();
		});
	}
	bool is_over() const
	{
		return is_over_;
	}

      private:
	bool is_over_ = false;
};

} // namespace

TEST_CASE("what waits for memory has not been copied, and has its turn", "[mailcluster][memory]")
{
	constexpr size_t size = 8U << 20;
	sim_objects world;
	machine one(world, "a", 1, size + 100000);
	gate mails;
	std::atomic<unsigned> delivered(0);
	const std::string large(size, 'l');
	world.watch([&](objects *, const std::string &what, const std::string &name) {
		if (what == "write" && name.compare(0, 2, "b.") == 0)
			mails.pass();
	});
	const auto run = [&](const std::string &box, const std::string &text) {
		delivered += one.deliver({ box }, text) == 0;
	};
	std::vector<std::thread> threads;
	const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back(run, "large", std::cref(large));
	// One has the memory that there is, and a small one does not pass the others.
	CHECK(mails.await());
	CHECK(until([&] { return count_waiting(one.cluster()) == 3; }));
	threads.emplace_back(run, "small", "text");
	CHECK(until([&] { return count_waiting(one.cluster()) == 4; }));
	CHECK(mallinfo2().uordblks + mallinfo2().hblkhd < before + 3 * size);
	mails.open();
	for (std::thread &thread : threads)
		thread.join();
	CHECK(delivered == 5);
	CHECK(one.count("large") == 4);
	CHECK(one.count("small") == 1);
	CHECK(count_waiting(one.cluster()) == 0);
}

TEST_CASE("a refused mail stays while mailboxes may have it", "[mailcluster][check]")
{
	sim_objects world;
	machine one(world);
	REQUIRE(one.deliver({ "a", "b" }, "text") == 0);
	world.change([](std::map<std::string, sim_objects::object> &all) {
		for (auto &[name, object] : all)
			if (name.compare(0, 2, "b.") == 0)
				object.rows["owner"][1] = OWNERVALUE_REFUSED;
	});
	int status = 0;
	world.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE, sim_objects::NOT_DONE,
			 sim_objects::NOT_DONE },
		       "x.");
	(void)one.check(true, NOW_US + 2 * DAY_US, &status);
	CHECK(status == -ETIMEDOUT);
	CHECK(one.check(false, NOW_US + 2 * DAY_US).missing == 0);
	CHECK(world.count("b.") == 1);
	CHECK(one.check(true, NOW_US + 2 * DAY_US).missing == 0);
	CHECK(one.count("a") + one.count("b") == 0);
}

TEST_CASE("a delivery that ends while it is checked stays, whatever the clock says",
	  "[mailcluster][check]")
{
	sim_objects world;
	machine one(world, "a", 1);
	machine other(world, "b", 2);
	REQUIRE(one.deliver({ "known" }, "text") == 0);
	REQUIRE(mailcluster_beat(other.cluster(), NOW_US) == 0);
	gate boxes;
	int delivered = -1;
	std::thread delivering;
	const auto checker = std::this_thread::get_id();
	bool is_over = false;
	world.watch([&](objects *, const std::string &what, const std::string &name) {
		if (std::this_thread::get_id() != checker) {
			if (what == "write" && name == "x.known")
				boxes.pass();
			return;
		}
		if (what != "row" || name.compare(0, 2, "j.") != 0 || is_over)
			return;
		// The mailbox has been looked at, and the journal not yet.
		is_over = true;
		boxes.open();
		delivering.join();
		(void)one.sweep();
	});
	delivering = std::thread([&] { delivered = one.deliver({ "known" }, "another"); });
	if (!boxes.await()) {
		boxes.open();
		delivering.join();
		FAIL("it does not come to its mailbox");
	}
	(void)other.check(true, NOW_US + 2 * DAY_US);
	boxes.open();
	if (delivering.joinable())
		delivering.join();
	CHECK(is_over);
	CHECK(delivered == 0);
	CHECK(one.count("known") == 2);
	CHECK(one.check(false, NOW_US).missing == 0);
}

TEST_CASE("of two deliveries with the id of another store one is there", "[mailcluster][moved]")
{
	sim_objects world;
	machine one(world, "a", 1);
	machine other(world, "b", 2);
	mailid id{};
	id.bytes[3] = 7;
	int second = -1;
	// The first has its id, and its mail not yet.
	interruption cut(world, "write", "b.",
			 [&] { second = other.deliver({ "box" }, "text", &id, true); });
	const int first = one.deliver({ "box" }, "text", &id, true);
	CHECK(cut.is_over());
	CHECK((first == 0) != (second == 0));
	world.watch(nullptr);
	CHECK(one.count("box") == 1);
	CHECK(one.deliver({ "box" }, "text", &id, true) != 0);
	CHECK(one.count("box") == 1);
}

TEST_CASE("an id of another store is free when its delivery was refused", "[mailcluster][moved]")
{
	sim_objects world;
	machine one(world);
	mailid id{};
	id.bytes[3] = 7;
	world.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "b.");
	CHECK(one.deliver({ "box" }, "text", &id, true) == -ETIMEDOUT);
	CHECK(one.sweep().undone == 1);
	CHECK(one.deliver({ "box" }, "text", &id, true) == 0);
	CHECK(one.count("box") == 1);
}

TEST_CASE("an id of another store that gets another mail while it is checked keeps it",
	  "[mailcluster][moved]")
{
	sim_objects world;
	machine one(world);
	mailid id{};
	id.bytes[3] = 7;
	REQUIRE(one.deliver({ "box" }, "text", &id, true) == 0);
	// As a deletion leaves it that was interrupted.
	world.change([](std::map<std::string, sim_objects::object> &all) {
		all.erase("x.box");
		for (auto at = all.begin(); at != all.end();)
			at = at->first.compare(0, 2, "b.") == 0 ? all.erase(at) : std::next(at);
	});
	int second = -1;
	interruption cut(world, "write", "i.",
			 [&] { second = one.deliver({ "box" }, "text", &id, true); });
	(void)one.check(true, NOW_US + 2 * DAY_US);
	CHECK(cut.is_over());
	CHECK(second == 0);
	world.watch(nullptr);
	CHECK(one.deliver({ "box" }, "text", &id, true) == MAILSTORE_EID);
	CHECK(one.count("box") == 1);
}

TEST_CASE("a client that comes again keeps nothing of a crash from being mended",
	  "[mailcluster][journal]")
{
	sim_objects world;
	mailid id{};
	{
		machine before(world, "a", 1);
		REQUIRE(before.deliver({ "a", "b" }, "text") == 0); // they are known from now on
		id = before.make_id();
		interruption cut(world, "write", "x.", [&] { before.kill(); });
		CHECK(before.deliver({ "a", "b" }, "another", &id) != 0);
		CHECK(cut.is_over());
		world.watch(nullptr);
	}
	machine after(world, "a", 2);
	REQUIRE(world.count("b.") == 2);
	// It finds that its mail is there, and cannot read it.
	interruption cut(world, "row", "b.", [&] { world.faults.read_timeout_one_in = 1; });
	CHECK(after.deliver({ "a", "b" }, "another", &id) == -ETIMEDOUT);
	CHECK(cut.is_over());
	world.watch(nullptr);
	world.faults.read_timeout_one_in = 0;
	(void)after.sweep();
	(void)after.sweep();
	CHECK(after.count("a") == after.count("b"));
	CHECK(after.count("a") == 2);
	CHECK(after.check(false, NOW_US).orphans == 0);
}
