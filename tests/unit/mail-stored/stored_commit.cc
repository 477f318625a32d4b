// SPDX-License-Identifier: GPL-3.0-or-later
// Syncs of a layer that is played, by syncers that answer when the test says so.
#include "integration/mail/mail-stored/store/commit.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/process/packet.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace
{

struct waiter {
	commit_waiter link; // first
	std::string name;
};

class world
{
      public:
	world()
	{
		static const maillayer_ops ops = make_ops();
		played_.layer.ops = &ops;
		played_.self = this;
		int ours[COMMIT_SYNCS];
		for (unsigned i = 0; i < COMMIT_SYNCS; i++) {
			int ends[2];
			REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
					   0, ends) == 0);
			ours[i] = ends[0];
			syncers_[i] = ends[1];
		}
		static const commit_rules rules = { done, fail };
		REQUIRE(uv_loop_init(&loop_) == 0);
		REQUIRE(commit_open(&loop_, &played_.layer, ours, &rules, this, counters_,
				    &commit_) == 0);
	}
	~world()
	{
		commit_close(commit_);
		uv_run(&loop_, UV_RUN_DEFAULT);
		commit_free(commit_);
		REQUIRE(uv_loop_close(&loop_) == 0);
		for (const int fd : syncers_)
			if (fd >= 0)
				close(fd);
	}
	world(const world &) = delete;
	world &operator=(const world &) = delete;

	// Something was appended, and waits.
	void add(const std::string &name)
	{
		end_++;
		waiter &one = waiters_[name];
		one.name = name;
		commit_add(commit_, &one.link);
	}
	void run()
	{
		for (int i = 0; i < 3; i++)
			uv_run(&loop_, UV_RUN_NOWAIT);
	}
	// Until another sync may begin beside those that are under way.
	void run_long()
	{
		const uint64_t until = uv_now(&loop_) + 2 * COMMIT_LONG_MS;
		while (uv_now(&loop_) < until)
			uv_run(&loop_, UV_RUN_NOWAIT);
	}
	// Which syncers have been asked and have not answered.
	std::vector<unsigned> asked()
	{
		std::vector<unsigned> found;
		for (unsigned i = 0; i < COMMIT_SYNCS; i++) {
			char byte;
			packet got{};
			if (syncers_[i] >= 0 && packet_receive(syncers_[i], &byte, 1, &got) == 1) {
				packet_close(&got);
				is_asked_[i] = true;
			}
			if (is_asked_[i])
				found.push_back(i);
		}
		return found;
	}
	void tell(unsigned syncer, int status)
	{
		const int32_t bytes = status;
		REQUIRE(send(syncers_[syncer], &bytes, sizeof(bytes), 0) == sizeof(bytes));
		is_asked_[syncer] = false;
	}
	void answer(unsigned syncer, int status)
	{
		tell(syncer, status);
		run();
	}
	// All that was appended, by the store itself: its index was written, say.
	void cover()
	{
		synced_ = end_;
	}
	void finish()
	{
		commit_finish(commit_);
	}
	void end_syncer(unsigned syncer)
	{
		close(syncers_[syncer]);
		syncers_[syncer] = -1;
		run();
	}

	std::string log; // "a=0 b=-5 fail=-5 "

      private:
	struct layer_of {
		maillayer layer; // first
		world *self;
	};

	static world &of(const maillayer *layer)
	{
		return *reinterpret_cast<const layer_of *>(layer)->self;
	}
	static void done(void *owner, commit_waiter *link, int status)
	{
		world &self = *static_cast<world *>(owner);
		self.log +=
			reinterpret_cast<waiter *>(link)->name + "=" + std::to_string(status) + " ";
	}
	static void fail(void *owner, int status)
	{
		static_cast<world *>(owner)->log += "fail=" + std::to_string(status) + " ";
	}
	static maillayer_ops make_ops()
	{
		maillayer_ops ops{};
		ops.name = "played";
		ops.sync = [](maillayer *) { return 0; };
		ops.sync_begin = [](maillayer *layer, struct mailstore_sync *ret_sync) {
			world &self = of(layer);
			if (self.begun_ == self.end_ || self.synced_ == self.end_)
				return static_cast<int>(DNSBLV6_ENOTFOUND);
			self.begun_ = self.end_;
			ret_sync->end = self.end_;
			ret_sync->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
			return 0;
		};
		ops.sync_end = [](maillayer *layer, const struct mailstore_sync *sync, int status) {
			// Never one before another that covers less.
			CHECK(sync->end > of(layer).ended_);
			of(layer).ended_ = sync->end;
			if (status == 0)
				of(layer).synced_ = std::max(of(layer).synced_, sync->end);
			close(sync->fd);
			return status;
		};
		ops.end = [](const maillayer *layer) { return mailplace{ 1, of(layer).end_ }; };
		ops.has_synced = [](const maillayer *layer, mailplace end) {
			return end.at <= of(layer).synced_;
		};
		return ops;
	}

	layer_of played_{};
	uv_loop_t loop_{};
	commit *commit_ = nullptr;
	int syncers_[COMMIT_SYNCS];
	bool is_asked_[COMMIT_SYNCS] = {};
	uint64_t counters_[STORED_COUNTER_COUNT] = {};
	uint64_t end_ = 0, begun_ = 0, ended_ = 0, synced_ = 0;
	std::map<std::string, waiter> waiters_;
};

} // namespace

TEST_CASE("what comes at a time has one sync, and what comes behind it the next",
	  "[stored][commit]")
{
	world w;
	w.add("a");
	w.add("b");
	w.run();
	REQUIRE(w.asked() == std::vector<unsigned>{ 0 });
	w.add("c");
	CHECK(w.log.empty());
	w.answer(0, 0);
	CHECK(w.log == "a=0 b=0 ");
	REQUIRE(w.asked().size() == 1);
	w.answer(w.asked()[0], 0);
	CHECK(w.log == "a=0 b=0 c=0 ");
}

TEST_CASE("a long sync has others beside it, and replies keep the order of the log",
	  "[stored][commit]")
{
	world w;
	for (unsigned i = 0; i < COMMIT_SYNCS + 1; i++) {
		w.add(std::string(1, static_cast<char>('a' + i)));
		w.run_long();
	}
	REQUIRE(w.asked().size() == COMMIT_SYNCS);
	for (unsigned i = COMMIT_SYNCS - 1; i > 0; i--) {
		w.answer(i, 0);
		CHECK(w.log.empty());
	}
	w.answer(0, 0);
	CHECK(w.log == "a=0 b=0 c=0 ");
	w.run();
	REQUIRE(w.asked().size() == 1);
	w.answer(w.asked()[0], 0);
	CHECK(w.log == "a=0 b=0 c=0 d=0 ");
}

TEST_CASE("what a later sync has covered is not committed when an earlier one fails",
	  "[stored][commit]")
{
	world w;
	w.add("a");
	w.run_long();
	w.add("b");
	w.run_long();
	REQUIRE(w.asked().size() == 2);
	w.answer(1, 0);
	CHECK(w.log.empty());
	w.add("c");
	w.answer(0, -EIO);
	CHECK(w.log == "a=-5 b=-5 c=-5 fail=-5 ");
	w.add("d");
	CHECK(w.log == "a=-5 b=-5 c=-5 fail=-5 d=" + std::to_string(MAILSTORE_EFAILED) + " ");
}

TEST_CASE("a syncer that ends takes nothing for committed", "[stored][commit]")
{
	const unsigned ended = GENERATE(0U, 1U, 2U);
	world w;
	w.add("a");
	w.run_long();
	w.add("b");
	w.run_long();
	REQUIRE(w.asked() == std::vector<unsigned>{ 0, 1 });
	w.add("c");
	w.end_syncer(ended);
	CHECK(w.log == "a=-104 b=-104 c=-104 fail=-104 ");
}

TEST_CASE("a syncer that ends while nothing is asked of any refuses nothing", "[stored][commit]")
{
	world w;
	w.add("a");
	w.run();
	REQUIRE(w.asked() == std::vector<unsigned>{ 0 });
	w.answer(0, 0);
	w.end_syncer(0);
	CHECK(w.log == "a=0 fail=-104 ");
}

TEST_CASE("a sync that has failed is not asked again of the disk, whatever else ends",
	  "[stored][commit]")
{
	world w;
	w.add("a");
	w.run_long();
	w.add("b");
	w.run_long();
	REQUIRE(w.asked() == std::vector<unsigned>{ 0, 1 });
	w.tell(1, -EIO);
	SECTION("a syncer")
	{
		w.end_syncer(0);
	}
	SECTION("the program")
	{
		w.finish();
		CHECK(w.log == "a=-5 b=-5 fail=-5 ");
	}
	SECTION("nothing")
	{
		w.run();
		CHECK(w.log == "a=-5 b=-5 fail=-5 ");
	}
	CHECK(w.log.find("=0") == std::string::npos);
}

TEST_CASE("what was covered while no sync was under way does not fail with the next one",
	  "[stored][commit]")
{
	world w;
	w.add("a");
	w.cover(); // its segment was full
	w.add("b");
	w.run();
	CHECK(w.log == "a=0 ");
	REQUIRE(w.asked() == std::vector<unsigned>{ 0 });
	w.answer(0, -EIO);
	CHECK(w.log == "a=0 b=-5 fail=-5 ");
}

TEST_CASE("what was covered beside a sync that fails stays, and is not said to be committed",
	  "[stored][commit]")
{
	const std::string unsure = std::to_string(MAILSTORE_EUNSURE);
	world w;
	w.add("a");
	w.run();
	w.add("b");
	w.cover();
	w.add("c");
	w.run();
	REQUIRE(w.asked() == std::vector<unsigned>{ 0 });
	CHECK(w.log.empty());
	SECTION("with an error")
	{
		w.answer(0, -EIO);
		CHECK(w.log == "a=" + unsure + " b=" + unsure + " c=-5 fail=-5 ");
	}
	SECTION("as its process ends")
	{
		w.end_syncer(0);
		CHECK(w.log == "a=" + unsure + " b=" + unsure + " c=-104 fail=-104 ");
	}
}

TEST_CASE("the end of a program commits what waits, and a late word changes nothing",
	  "[stored][commit]")
{
	world w;
	w.add("a");
	w.run();
	w.add("b");
	REQUIRE(w.asked() == std::vector<unsigned>{ 0 });
	w.finish();
	CHECK(w.log == "a=0 b=0 ");
	w.answer(0, 0);
	CHECK(w.log == "a=0 b=0 ");
}
