// SPDX-License-Identifier: GPL-3.0-or-later
// The threads that look after a node of a cluster, and what it says of itself, on objects in memory.
#include "integration/mail/base/users/users.h"
#include "integration/mail/mail-stored/cluster/cluster.h"
#include "integration/mail/mail-stored/cluster/cluster_questions.h"
#include "integration/mail/mail-stored/cluster/lister.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "lib/mailcluster/values.h"
#include "lib/process/clock.h"

#include "tests/lib/has.hh"
#include "tests/lib/mailname.hh"
#include "tests/lib/simobjects.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>

namespace
{
void until(const std::function<bool()> &is_so, const char *what)
{
	for (int i = 0; i < 12000; i++) {
		if (is_so())
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
	FAIL("waited in vain for " << what);
}

// What open() of all nodes finds: C has no place for it.
struct below {
	sim_objects *world = nullptr;
	std::atomic<int> refusals{ 0 };
};
below &the_one()
{
	static below one;
	return one;
}

int open_world(const cluster_setup *, objects **ret_objects)
{
	if (the_one().refusals > 0) {
		the_one().refusals--;
		return -ETIMEDOUT;
	}
	*ret_objects = the_one().world->handle();
	return 0;
}

// A node; it begins with the first begin().
class node
{
      public:
	explicit node(const char *name)
	{
		snprintf(setup.cluster.node, sizeof(setup.cluster.node), "%s", name);
		setup.cluster.memory_max = 1 << 24;
		setup.keep_ms = 3600000;
	}
	~node()
	{
		if (has_begun_)
			cluster_end(&all);
		users_close(quota_.users);
		if (lister_fd_ >= 0)
			close(lister_fd_);
	}
	node(const node &) = delete;
	node &operator=(const node &) = delete;

	// The lister forks: before there are threads.
	void begin_lister()
	{
		REQUIRE(lister_begin(&setup, &lister_fd_) == 0);
	}
	void begin()
	{
		cluster_start start{};
		quota_.setup = &setup;
		quota_.turn = &turn_;
		start.setup = &setup;
		start.quota = &quota_;
		start.counters = counters;
		start.lister_fd = lister_fd_;
		start.open = open_world;
		start.fail = [](void *owner, int status) {
			static_cast<node *>(owner)->failure = status;
		};
		start.owner = this;
		REQUIRE(cluster_begin(&all, &start) == 0);
		has_begun_ = true;
		cluster_questions_init(&questions_, &all);
	}
	node &reached()
	{
		until([&] { return cluster_get(&all) != nullptr; }, "the cluster");
		return *this;
	}
	cluster_state state()
	{
		cluster_state found{};
		cluster_describe(&all, &found);
		return found;
	}
	int deliver(const std::string &box, uint64_t time_us)
	{
		maillayer *layer = nullptr;
		const mailname name = name_of(box);
		mailstore_mail mail{};
		mailid id{};
		int ret = cluster_make_layer(&all, &layer);
		if (ret != 0)
			return ret;
		const std::string sender = "sender@example.net";
		mail.sender = name_of(sender);
		mail.recipients = &name;
		mail.recipient_count = 1;
		mail.text = reinterpret_cast<const uint8_t *>("x\r\n");
		mail.size = 3;
		mail.time_us = time_us;
		ret = maillayer_deliver(layer, &mail, &id);
		maillayer_close(layer);
		return ret;
	}
	size_t count(const std::string &box)
	{
		maillayer *layer = nullptr;
		mailentry entries[16];
		size_t found = 0;
		REQUIRE(cluster_make_layer(&all, &layer) == 0);
		CHECK(maillayer_list(layer, name_of(box), 0, 16, entries, &found) == 0);
		maillayer_close(layer);
		return found;
	}
	// Its rows, or the status.
	std::string ask(storewire_question question, const std::string &bytes = "")
	{
		questions_rows rows{};
		const int ret = questions_.questions.cluster(
			&questions_.questions, question,
			reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), &rows);
		const std::string text =
			ret != 0 ? std::to_string(ret)
				 : std::string(reinterpret_cast<const char *>(rows.bytes),
					       rows.size);
		questions_free_rows(&rows);
		return text;
	}

	stored_setup setup{};
	cluster all{};
	uint64_t counters[STORED_COUNTER_COUNT] = {};
	std::atomic<int> failure{ 0 };

      private:
	pthread_mutex_t turn_ = PTHREAD_MUTEX_INITIALIZER;
	quota quota_{};
	cluster_questions questions_{};
	int lister_fd_ = -1;
	bool has_begun_ = false;
};

// What is logged meanwhile.
class stderr_in_file
{
      public:
	stderr_in_file() : path_(dir_.file("stderr")), before_(dup(STDERR_FILENO))
	{
		const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
		REQUIRE(fd >= 0);
		REQUIRE(dup2(fd, STDERR_FILENO) >= 0);
		close(fd);
	}
	~stderr_in_file()
	{
		(void)dup2(before_, STDERR_FILENO);
		close(before_);
	}
	stderr_in_file(const stderr_in_file &) = delete;
	stderr_in_file &operator=(const stderr_in_file &) = delete;

	std::string text() const
	{
		std::ifstream file(path_);
		return { std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
	}

      private:
	const tmpdir dir_;
	const std::string path_;
	const int before_;
};

// The objects below all nodes of a test.
class ground
{
      public:
	ground()
	{
		the_one().world = &world;
		the_one().refusals = 0;
	}
	sim_objects world;
};
} // namespace

TEST_CASE("a node reaches its cluster when that is there, and is put off until then",
	  "[mail-stored][cluster]")
{
	ground below_all;
	the_one().refusals = 2;
	node one("a");
	one.begin();
	CHECK(one.deliver("anna", 1) == -EAGAIN);
	CHECK(one.ask(STOREWIRE_NODES) == std::to_string(-EAGAIN));
	CHECK(has(one.ask(STOREWIRE_HEALTH), "state=down\n"));
	one.reached();
	CHECK(one.deliver("anna", 1) == 0);
	CHECK(one.count("anna") == 1);
	until([&] { return one.state().beat_status == 0; }, "a beat");
	CHECK(one.state().nodes == 1);
	CHECK(one.state().nodes_alive == 1);
	CHECK(has(one.ask(STOREWIRE_NODES), "node=a slot=0 state=up beat-age="));
	CHECK(has(one.ask(STOREWIRE_HEALTH), "state=well\n"));
	CHECK(has(one.ask(STOREWIRE_CLUSTER_CHECK), "mails=1 mailboxes=1 entries=1 octets=3 "));
	CHECK(one.failure == 0);
}

TEST_CASE("a beat that fails is a cluster that is down, until one does not",
	  "[mail-stored][cluster]")
{
	ground below_all;
	node one("a");
	one.begin();
	one.reached();
	below_all.world.refuse(-ETIMEDOUT);
	until([&] { return one.state().beat_status == -ETIMEDOUT; }, "a beat to fail");
	CHECK(has(one.ask(STOREWIRE_HEALTH), "state=down\n"));
	CHECK(has(one.ask(STOREWIRE_HEALTH), "thing=beat text="));
	below_all.world.refuse(0);
	until([&] { return one.state().beat_status == 0; }, "a beat");
	CHECK(has(one.ask(STOREWIRE_HEALTH), "state=well\n"));
}

TEST_CASE("of two with one name the first is told, and the second goes on",
	  "[mail-stored][cluster]")
{
	ground below_all;
	node first("a");
	node second("a");
	first.begin();
	first.reached();
	second.begin();
	second.reached();
	until([&] { return first.failure == MAILSTORE_EFAILED; }, "the first to be told");
	CHECK(second.failure == 0);
	CHECK(second.deliver("anna", 1) == 0);
	CHECK(first.deliver("anna", 1) == MAILSTORE_EFAILED);
}

TEST_CASE("what a node has refused is not delivered by its next process", "[mail-stored][cluster]")
{
	ground below_all;
	const auto journal_rows = [&] {
		size_t count = 0;
		for (const auto &[name, object] : below_all.world.objects_now())
			count += name.compare(0, 2, "j.") == 0 ? object.rows.size() : 0;
		return count;
	};
	{
		node one("a");
		one.begin();
		one.reached();
		until([&] { return one.state().beat_status == 0; }, "a beat");
		below_all.world.time_out({ sim_objects::NOT_DONE, sim_objects::NOT_DONE }, "x.");
		CHECK(one.deliver("anna", 1) == -ETIMEDOUT);
	}
	node next("a");
	next.begin();
	next.reached();
	until([&] { return journal_rows() == 0; }, "the journal to be swept");
	CHECK(next.count("anna") == 0);
}

TEST_CASE("a node that the cluster takes nothing of is told", "[mail-stored][cluster]")
{
	ground below_all;
	node one("a");
	one.begin();
	one.reached();
	below_all.world.refuse(-ESHUTDOWN);
	until([&] { return one.failure == -ESHUTDOWN; }, "it to be told");
	CHECK(one.state().beat_status == -ESHUTDOWN);
}

TEST_CASE("nothing is too old by a clock that is a day ahead of another node's",
	  "[mail-stored][cluster]")
{
	ground below_all;
	const stderr_in_file log;
	node one("a");
	one.setup.keep_s = 3600;
	one.setup.keep_ms = 10;
	one.begin();
	one.reached();
	const auto write_other = [&](uint64_t beat, uint64_t time_us) {
		const nodevalue value = { 1, { 7 }, beat, time_us, time_us, 1 };
		uint8_t bytes[NODEVALUE_SIZE];
		nodevalue_encode(&value, bytes);
		below_all.world.change([&](auto &all) {
			all["nodes"].rows["s.0001"] = "b";
			all["nodes"].rows["n.b"].assign(reinterpret_cast<char *>(bytes),
							sizeof(bytes));
		});
	};
	uint64_t beat = 1;
	const auto beat_behind = [&] {
		write_other(beat++, clock_wall_us() - 2 * MAILCLUSTER_OLD_US);
	};
	beat_behind();
	until([&] { return one.state().nodes == 2; }, "the other one to be seen");
	REQUIRE(one.deliver("anna", 1) == 0);
	until(
		[&] {
			beat_behind();
			return has(log.text(), "clock is a day ahead of another node's, node=b");
		},
		"that to be said");
	CHECK(one.count("anna") == 1);
	write_other(beat, clock_wall_us());
	until([&] { return one.count("anna") == 0; }, "the old one to go");
}

TEST_CASE("the clock of a node that was dead when this one began says nothing",
	  "[mail-stored][cluster]")
{
	ground below_all;
	const stderr_in_file log;
	node one("a");
	one.setup.keep_s = 3600;
	one.setup.keep_ms = 10;
	one.begin();
	one.reached();
	const nodevalue value = { 1, { 7 }, 1, 1, 1, 1 };
	uint8_t bytes[NODEVALUE_SIZE];
	nodevalue_encode(&value, bytes);
	below_all.world.change([&](auto &all) {
		all["nodes"].rows["s.0001"] = "b";
		all["nodes"].rows["n.b"].assign(reinterpret_cast<char *>(bytes), sizeof(bytes));
	});
	until([&] { return one.state().nodes == 2; }, "the other one to be seen");
	REQUIRE(one.deliver("anna", 1) == 0);
	until([&] { return one.count("anna") == 0; }, "the old one to go");
	CHECK_FALSE(has(log.text(), "clock is a day ahead"));
}

TEST_CASE("one node of two deletes what is too old", "[mail-stored][cluster]")
{
	ground below_all;
	node one("a");
	node two("b");
	for (node *each : { &one, &two }) {
		each->setup.keep_s = 3600;
		each->setup.keep_ms = 50;
		each->begin();
		each->reached();
	}
	REQUIRE(two.deliver("anna", 1) == 0);
	REQUIRE(two.deliver("anna", clock_wall_us()) == 0);
	until([&] { return two.count("anna") == 1; }, "the old one to go");
	const auto expired = [](node &each) {
		return __atomic_load_n(&each.counters[STORED_EXPIRED], __ATOMIC_RELAXED);
	};
	until([&] { return expired(one) + expired(two) >= 1; }, "that to be counted");
	CHECK(two.count("anna") == 1);
}

TEST_CASE("a list of users that the cluster gets becomes the databases of a node",
	  "[mail-stored][cluster]")
{
	const tmpdir dir;
	ground below_all;
	node one("a");
	const std::string users = dir.file("users.mdb");
	const std::string logins = dir.file("logins.mdb");
	snprintf(one.setup.users, sizeof(one.setup.users), "%s", users.c_str());
	snprintf(one.setup.cluster.logins, sizeof(one.setup.cluster.logins), "%s", logins.c_str());
	one.begin_lister();
	one.begin();
	one.reached();
	CHECK(has(one.ask(STOREWIRE_USERS_STATE), "version=0 taken=no"));
	CHECK(one.ask(STOREWIRE_USERS_PUT, "no list\n") == std::to_string(-EBADMSG));
	CHECK(one.ask(STOREWIRE_USERS_PUT,
		      "# users 1 fold=yes extension=none built=1\njohn@example.org messages=1\n") ==
	      "");
	until([&] { return has(one.ask(STOREWIRE_USERS_STATE), " taken=yes"); }, "the list");
	CHECK(access(logins.c_str(), F_OK) == 0);
	until([&] { return quota_has_users(one.all.start.quota); }, "its use");
	struct quota_limits limits = {};
	REQUIRE(quota_limits(one.all.start.quota, name_of("john@example.org"), &limits) == 0);
	CHECK(limits.messages == 1);
}

TEST_CASE("users whose row is damaged are said so until others take their place",
	  "[mail-stored][cluster]")
{
	const tmpdir dir;
	ground below_all;
	const stderr_in_file log;
	node one("a");
	below_all.world.change([&](auto &all) { all["u"].rows["now"] = "nonsense"; });
	snprintf(one.setup.users, sizeof(one.setup.users), "%s", dir.file("users.mdb").c_str());
	one.begin_lister();
	one.begin();
	one.reached();
	until([&] { return has(log.text(), "users of the cluster not read"); }, "that to be said");
	CHECK(one.ask(STOREWIRE_USERS_PUT,
		      "# users 1 fold=yes extension=none built=1\njohn@example.org messages=1\n") ==
	      "");
	until([&] { return has(one.ask(STOREWIRE_USERS_STATE), " taken=yes"); }, "the list");
}
