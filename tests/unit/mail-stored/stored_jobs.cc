// SPDX-License-Identifier: GPL-3.0-or-later
// Work in threads: turns, order and bounds, alone and as connections have them with a layer that waits
// until the test lets it go.
#include "integration/mail/base/store/storelink.h"
#include "integration/mail/base/store/storemail.h"
#include "integration/mail/mail-stored/store/clients.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/store/jobs.h"
#include "integration/mail/mail-stored/stored_setup.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{
constexpr unsigned THREADS = 3;
const std::string anna = "anna";

bool is_idle(const jobs_owner *owner)
{
	return owner->running == 0 && TAILQ_EMPTY(&owner->ordered) && TAILQ_EMPTY(&owner->others);
}

void until(uv_loop_t *loop, const std::function<bool()> &is_so, const char *what)
{
	for (int i = 0; i < 120000; i++) {
		uv_run(loop, UV_RUN_NOWAIT);
		if (is_so())
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	FAIL("waited in vain for " << what);
}

// What threads do, one step at a time: each call waits for a permit.
class gate
{
      public:
	void pass(const std::string &what)
	{
		std::unique_lock<std::mutex> held(mutex_);
		began_.push_back(what);
		inside_++;
		most_ = std::max(most_, inside_);
		opened_.wait(held, [&] { return is_open_ || permits_ > 0; });
		if (!is_open_)
			permits_--;
		inside_--;
		ended_.push_back(what);
	}
	void let(unsigned count)
	{
		const std::lock_guard<std::mutex> held(mutex_);
		permits_ += count;
		opened_.notify_all();
	}
	void open()
	{
		const std::lock_guard<std::mutex> held(mutex_);
		is_open_ = true;
		opened_.notify_all();
	}
	std::vector<std::string> began()
	{
		const std::lock_guard<std::mutex> held(mutex_);
		return began_;
	}
	size_t inside()
	{
		const std::lock_guard<std::mutex> held(mutex_);
		return inside_;
	}
	size_t most()
	{
		const std::lock_guard<std::mutex> held(mutex_);
		return most_;
	}

      private:
	std::mutex mutex_;
	std::condition_variable opened_;
	std::vector<std::string> began_;
	std::vector<std::string> ended_;
	size_t inside_ = 0;
	size_t most_ = 0;
	unsigned permits_ = 0;
	bool is_open_ = false;
};

// ---- jobs alone ----

struct counted_job : job {
	gate *at;
	std::string name;
	int outcome = 1;
};

counted_job make_job(gate &at, const std::string &name, bool is_ordered)
{
	counted_job made{};
	made.at = &at;
	made.name = name;
	made.is_ordered = is_ordered;
	made.size = 10;
	made.run = [](job *own) {
		auto *counted = static_cast<counted_job *>(own);
		counted->at->pass(counted->name);
	};
	made.done = [](job *own, int status) { static_cast<counted_job *>(own)->outcome = status; };
	return made;
}

class pool
{
      public:
	explicit pool(unsigned wait_ms = 3600000, size_t size_max = 1000)
	{
		const jobs_limits limits = { THREADS, size_max, wait_ms };
		REQUIRE(jobs_set_threads(THREADS) == 0);
		REQUIRE(uv_loop_init(&loop) == 0);
		REQUIRE(jobs_open(&loop, &limits, &all) == 0);
	}
	~pool()
	{
		at.open();
		jobs_close(&all);
		uv_run(&loop, UV_RUN_DEFAULT);
		CHECK(uv_loop_close(&loop) == 0);
	}
	pool(const pool &) = delete;
	pool &operator=(const pool &) = delete;

	void wait(const std::function<bool()> &is_so, const char *what)
	{
		until(&loop, is_so, what);
	}

	gate at;
	uv_loop_t loop{};
	jobs all{};
};

// ---- a store whose layer waits ----

struct world {
	gate at;
	std::atomic<int> made{ 0 };
	std::atomic<int> closed{ 0 };
	std::atomic<int> make_status{ 0 };
	std::atomic<int> deliver_status{ 0 };
};

struct slow_layer {
	maillayer layer;
	world *owner;
};

world &world_of(maillayer *layer)
{
	return *reinterpret_cast<slow_layer *>(layer)->owner;
}

int slow_deliver(maillayer *layer, const mailstore_mail *mail, mailid *ret_id)
{
	*ret_id = mailid{};
	const mailname sender = mail->sender;
	world_of(layer).at.pass(
		"deliver " +
		std::string(reinterpret_cast<const char *>(sender.bytes), sender.size));
	return world_of(layer).deliver_status;
}

int slow_erase(maillayer *layer, mailname mailbox, const uint64_t *, size_t, uint64_t)
{
	world_of(layer).at.pass(
		"erase " +
		std::string(reinterpret_cast<const char *>(mailbox.bytes), mailbox.size));
	return 0;
}

int slow_list(maillayer *layer, mailname, uint64_t from, size_t, mailentry *, size_t *ret_count)
{
	*ret_count = 0;
	world_of(layer).at.pass("list " + std::to_string(from));
	return 0;
}

int open_memory(maillayer *, uint64_t, int *ret_fd)
{
	*ret_fd = memfd_create("test", MFD_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

int slow_lock(maillayer *, mailname)
{
	return 0;
}

int slow_unlock(maillayer *)
{
	return 0;
}

void slow_close(maillayer *layer)
{
	world_of(layer).closed++;
	delete reinterpret_cast<slow_layer *>(layer);
}

int make_layer(void *owner, maillayer **ret_layer)
{
	static const maillayer_ops ops = [] {
		maillayer_ops made{};
		made.deliver = slow_deliver;
		made.erase = slow_erase;
		made.list = slow_list;
		made.open = open_memory;
		made.lock = slow_lock;
		made.unlock = slow_unlock;
		made.close = slow_close;
		return made;
	}();
	auto *all = static_cast<world *>(owner);
	if (all->make_status != 0)
		return all->make_status;
	all->made++;
	auto *own = new slow_layer{ { &ops }, all };
	*ret_layer = &own->layer;
	return 0;
}

class daemon_of
{
      public:
	daemon_of()
	{
		stored_setup setup{};
		setup.size_max = 1 << 20;
		REQUIRE(jobs_set_threads(THREADS) == 0);
		REQUIRE(requests_init(&requests_, nullptr, nullptr, &setup, counters) == 0);
		clients_start start{};
		start.way = &clients_jobs;
		start.listen_fd = listen_fd_ = listen_at(path());
		start.clients_max = 10;
		start.requests = &requests_;
		start.layers = &layers_;
		start.counters = counters;
		start.fail = [](void *owner, int status) {
			static_cast<daemon_of *>(owner)->failure = status;
		};
		start.owner = this;
		REQUIRE(uv_loop_init(&loop_) == 0);
		REQUIRE(clients_open(&loop_, &start, &clients_) == 0);
	}
	~daemon_of()
	{
		all.at.open();
		stop();
		uv_run(&loop_, UV_RUN_DEFAULT);
		clients_free(clients_);
		CHECK(uv_loop_close(&loop_) == 0);
		CHECK(all.made == all.closed);
		requests_deinit(&requests_);
		close(listen_fd_);
	}
	daemon_of(const daemon_of &) = delete;
	daemon_of &operator=(const daemon_of &) = delete;

	std::string path() const
	{
		return dir_.file("socket");
	}
	void stop()
	{
		clients_close(clients_);
	}
	void wait(const std::function<bool()> &is_so, const char *what)
	{
		until(&loop_, is_so, what);
	}
	void wait_inside(size_t count)
	{
		wait([&] { return all.at.inside() == count; }, "threads to be busy");
	}
	uint64_t count() const
	{
		report said = {};
		clients_report(clients_, nullptr, nullptr, 0, &said);
		return said.gauge_value;
	}
	clients_work work() const
	{
		return clients_measure(clients_);
	}

	world all;
	uint64_t counters[STORED_COUNTER_COUNT] = {};
	int failure = 0;

      private:
	static int listen_at(const std::string &path)
	{
		sockaddr_un address{};
		address.sun_family = AF_UNIX;
		memcpy(address.sun_path, path.c_str(), path.size() + 1);
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		REQUIRE(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
		REQUIRE(listen(fd, 10) == 0);
		return fd;
	}

	tmpdir dir_;
	uv_loop_t loop_{};
	clients_layers layers_{ THREADS, make_layer, &all };
	requests requests_{};
	clients *clients_ = nullptr;
	int listen_fd_ = -1;
};

class connection
{
      public:
	explicit connection(daemon_of &daemon) : daemon_(daemon), link_(new storelink)
	{
		REQUIRE(storelink_begin(daemon.path().c_str(), link_.get()) == 0);
		daemon.wait([&] { return storelink_greet(link_.get()) == 0; }, "a greeting");
	}
	~connection()
	{
		end();
	}
	connection(const connection &) = delete;
	connection &operator=(const connection &) = delete;

	void end()
	{
		storelink_close(link_.get());
	}
	uint64_t deliver(const std::string &sender)
	{
		storemail mail{};
		storewire_request request{};
		storelink_memory memory{};
		const mailname box = name_of(anna);
		REQUIRE(storemail_init(&mail) == 0);
		REQUIRE(storemail_begin(&mail, name_of(sender), &box, 1) == 0);
		REQUIRE(storemail_append(&mail, "x\r\n", 3) == 0);
		REQUIRE(storemail_finish(&mail, &request, &memory) == 0);
		REQUIRE(storelink_send(link_.get(), &request, &memory) == 0);
		storemail_deinit(&mail);
		return request.serial;
	}
	uint64_t list(uint64_t from)
	{
		storewire_request request{};
		request.type = STOREWIRE_LIST;
		request.mailbox = name_of(anna);
		request.number = from;
		request.size = 10;
		return send(request, nullptr);
	}
	uint64_t erase(const std::string &name)
	{
		const uint64_t mail = 1;
		std::vector<uint8_t> bytes(maildeletion_size(name_of(name), 1));
		maildeletion_encode(name_of(name), &mail, 1, bytes.data());
		const iovec part = { bytes.data(), bytes.size() };
		const storelink_memory beside = { -1, &part, 1 };
		storewire_request request{};
		request.type = STOREWIRE_ERASE;
		request.size = bytes.size();
		return send(request, &beside);
	}
	uint64_t send_lock(const std::string &name)
	{
		storewire_request request{};
		request.type = STOREWIRE_LOCK;
		request.mailbox = name_of(name);
		return send(request, nullptr);
	}
	uint64_t send_unlock()
	{
		storewire_request request{};
		request.type = STOREWIRE_UNLOCK;
		return send(request, nullptr);
	}
	int lock(const std::string &name)
	{
		return take(send_lock(name));
	}
	int unlock()
	{
		return take(send_unlock());
	}
	uint64_t segment()
	{
		storewire_request request{};
		request.type = STOREWIRE_SEGMENT;
		request.number = 7;
		return send(request, nullptr);
	}
	// The next reply is that of the request, or is waited for.
	int take(uint64_t serial)
	{
		storewire_reply reply{};
		int fd = -1;
		int ret = -EAGAIN;
		daemon_.wait(
			[&] {
				ret = storelink_take(link_.get(), &reply, &fd);
				return ret != -EAGAIN;
			},
			"a reply");
		if (ret == 0)
			CHECK(reply.serial == serial);
		if (fd >= 0)
			close(fd);
		return ret == 0 ? reply.status : ret;
	}
	bool has_reply()
	{
		char byte;
		return recv(link_->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
	}

      private:
	uint64_t send(storewire_request &request, const storelink_memory *beside)
	{
		REQUIRE(storelink_send(link_.get(), &request, beside) == 0);
		return request.serial;
	}

	daemon_of &daemon_;
	std::unique_ptr<storelink> link_;
};
} // namespace

TEST_CASE("ordered jobs of an owner run one at a time, and others as many as there are threads",
	  "[mail-stored][jobs]")
{
	pool made;
	jobs_owner owner{};
	jobs_init_owner(&owner);
	std::vector<counted_job> ordered;
	std::vector<counted_job> others;
	for (int i = 0; i < 5; i++)
		ordered.push_back(make_job(made.at, "o" + std::to_string(i), true));
	for (int i = 0; i < 5; i++)
		others.push_back(make_job(made.at, "p", false));
	for (auto &one : ordered)
		REQUIRE(jobs_add(&made.all, &owner, &one) == 0);
	made.wait([&] { return made.at.inside() == 1; }, "the first");
	CHECK(made.all.running == 1);
	for (auto &one : others)
		REQUIRE(jobs_add(&made.all, &owner, &one) == 0);
	made.wait([&] { return made.at.inside() == THREADS; }, "all threads");
	CHECK(made.all.running == THREADS);
	CHECK_FALSE(is_idle(&owner));
	made.at.let(10);
	made.wait([&] { return is_idle(&owner); }, "the end");
	std::vector<std::string> order;
	for (const auto &name : made.at.began())
		if (name != "p")
			order.push_back(name);
	CHECK(order == std::vector<std::string>{ "o0", "o1", "o2", "o3", "o4" });
	CHECK(made.at.began().size() == 10);
	CHECK(made.at.most() == THREADS);
	for (const auto &one : ordered)
		CHECK(one.outcome == 0);
	CHECK(made.all.size == 0);
	CHECK(made.all.waiting == 0);
}

TEST_CASE("an owner with many jobs waits for its turn behind one with few", "[mail-stored][jobs]")
{
	pool made;
	jobs_owner many{};
	jobs_owner few{};
	jobs_init_owner(&many);
	jobs_init_owner(&few);
	std::vector<counted_job> all(20, make_job(made.at, "many", false));
	counted_job one = make_job(made.at, "few", true);
	for (auto &each : all)
		REQUIRE(jobs_add(&made.all, &many, &each) == 0);
	REQUIRE(jobs_add(&made.all, &few, &one) == 0);
	made.wait([&] { return made.at.inside() == THREADS; }, "all threads");
	// It is the second of the owners in turn.
	made.at.let(2);
	made.wait([&] { return made.at.began().size() == THREADS + 2; }, "two more");
	const auto began = made.at.began();
	CHECK(std::count(began.begin(), began.end(), "few") == 1);
	made.at.open();
	made.wait([&] { return is_idle(&many) && is_idle(&few); }, "the end");
}

TEST_CASE("what has waited too long is told so and never runs, also behind one that runs",
	  "[mail-stored][jobs]")
{
	pool made(1);
	jobs_owner busy{};
	jobs_owner other{};
	jobs_init_owner(&busy);
	jobs_init_owner(&other);
	std::vector<counted_job> running(THREADS, make_job(made.at, "runs", false));
	running[0].is_ordered = true;
	for (auto &one : running)
		REQUIRE(jobs_add(&made.all, &busy, &one) == 0);
	made.wait([&] { return made.at.inside() == THREADS; }, "all threads");
	counted_job held = make_job(made.at, "held", true);
	counted_job waits = make_job(made.at, "waits", false);
	counted_job kept = make_job(made.at, "kept", true);
	kept.is_kept = true;
	REQUIRE(jobs_add(&made.all, &busy, &held) == 0);
	REQUIRE(jobs_add(&made.all, &other, &waits) == 0);
	REQUIRE(jobs_add(&made.all, &other, &kept) == 0);
	made.wait([&] { return held.outcome != 1 && waits.outcome != 1; }, "their end");
	CHECK(held.outcome == -ETIMEDOUT);
	CHECK(waits.outcome == -ETIMEDOUT);
	CHECK(kept.outcome == 1);
	made.at.open();
	made.wait([&] { return is_idle(&busy) && is_idle(&other); }, "the end");
	CHECK(kept.outcome == 0);
	const auto began = made.at.began();
	CHECK(std::count(began.begin(), began.end(), "held") == 0);
	CHECK(std::count(began.begin(), began.end(), "waits") == 0);
}

TEST_CASE("more than there is room for is refused, until some of it has its turn",
	  "[mail-stored][jobs]")
{
	pool made(3600000, 25);
	jobs_owner owner{};
	jobs_init_owner(&owner);
	std::vector<counted_job> all(THREADS + 3, make_job(made.at, "x", false));
	for (size_t i = 0; i < THREADS + 2; i++)
		REQUIRE(jobs_add(&made.all, &owner, &all[i]) == 0);
	CHECK(jobs_add(&made.all, &owner, &all[THREADS + 2]) == -EAGAIN);
	CHECK(all[THREADS + 2].outcome == 1);
	made.at.let(1);
	made.wait([&] { return made.all.waiting == 1; }, "room");
	CHECK(jobs_add(&made.all, &owner, &all[THREADS + 2]) == 0);
	made.at.open();
	made.wait([&] { return is_idle(&owner); }, "the end");
}

TEST_CASE("a job that cannot begin is done with the reason, and others go on",
	  "[mail-stored][jobs]")
{
	pool made;
	jobs_owner owner{};
	jobs_init_owner(&owner);
	counted_job bad = make_job(made.at, "bad", true);
	counted_job good = make_job(made.at, "good", true);
	bad.begin = [](job *) { return -EHOSTDOWN; };
	made.at.open();
	REQUIRE(jobs_add(&made.all, &owner, &bad) == 0);
	REQUIRE(jobs_add(&made.all, &owner, &good) == 0);
	CHECK(bad.outcome == -EHOSTDOWN);
	made.wait([&] { return good.outcome == 0; }, "the other");
	CHECK(made.at.began() == std::vector<std::string>{ "good" });
}

TEST_CASE("lists of a client are answered in order while its deliveries go on",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	std::vector<uint64_t> lists;
	lists.reserve(4);
	for (uint64_t i = 0; i < 4; i++)
		lists.push_back(client.list(i));
	const uint64_t mail = client.deliver("s");
	daemon.wait_inside(2); // one list, and the mail
	daemon.all.at.let(2);
	// Either of the two that were inside may have been let go.
	daemon.all.at.open();
	std::vector<uint64_t> serials;
	(void)mail;
	daemon.wait(
		[&] { return daemon.all.at.began().size() == 5 && daemon.all.at.inside() == 0; },
		"all of it");
	std::vector<std::string> order;
	for (const auto &what : daemon.all.at.began())
		if (what.rfind("list", 0) == 0)
			order.push_back(what);
	CHECK(order == std::vector<std::string>{ "list 0", "list 1", "list 2", "list 3" });
	daemon.wait([&] { return daemon.work().running == 0; }, "the replies");
	CHECK(daemon.counters[STORED_REQUESTS] == 5);
	CHECK(daemon.counters[STORED_MAILS] == 1);
}

TEST_CASE("a client whose mails fill all threads does not keep another one waiting for all of them",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection greedy(daemon);
	connection modest(daemon);
	for (int i = 0; i < 50; i++)
		greedy.deliver("greedy");
	daemon.wait_inside(THREADS);
	daemon.wait([&] { return daemon.work().waiting == 50 - THREADS; }, "the rest to be read");
	const uint64_t serial = modest.list(7);
	daemon.wait([&] { return daemon.work().waiting == 51 - THREADS; }, "the list to be read");
	daemon.all.at.let(2);
	daemon.wait([&] { return daemon.all.at.began().size() == THREADS + 2; }, "two more");
	const auto began = daemon.all.at.began();
	CHECK(std::count(began.begin(), began.end(), "list 7") == 1);
	daemon.all.at.open();
	CHECK(modest.take(serial) == 0);
}

TEST_CASE("of a client no more requests are read than may be open", "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	std::vector<uint64_t> serials;
	for (unsigned i = 0; i < CLIENTS_OPEN_MAX + 20; i++) {
		serials.push_back(client.list(i));
		if (i % 16 == 0)
			daemon.wait([] { return true; }, "a round");
	}
	daemon.wait([&] { return daemon.work().waiting == CLIENTS_OPEN_MAX - 1; },
		    "what may be open");
	for (int i = 0; i < 20; i++)
		daemon.wait([] { return true; }, "a round");
	CHECK(daemon.work().waiting == CLIENTS_OPEN_MAX - 1);
	daemon.all.at.open();
	for (const uint64_t serial : serials)
		CHECK(client.take(serial) == 0);
}

TEST_CASE("deletions of one that has the lock are in order, and keep it until they are answered",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	REQUIRE(client.lock("anna") == 0);
	const uint64_t first = client.erase("a");
	const uint64_t second = client.erase("b");
	daemon.wait_inside(1);
	CHECK(client.unlock() == -EINPROGRESS);
	daemon.all.at.open();
	CHECK(client.take(first) == 0);
	CHECK(client.take(second) == 0);
	CHECK(daemon.all.at.most() == 1);
	CHECK(client.unlock() == 0);
	CHECK(daemon.counters[STORED_LOCKS] == 1);
	CHECK(daemon.counters[STORED_DELETIONS] == 2);
}

TEST_CASE(
	"a client that ends has its layer closed behind what is under way, and nothing else begins",
	"[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	{
		connection client(daemon);
		client.list(1);
		client.list(2);
		daemon.wait_inside(1);
		daemon.wait([&] { return daemon.work().waiting == 1; }, "the second");
	}
	daemon.wait([&] { return daemon.work().waiting == 0; }, "the second to go");
	CHECK(daemon.all.closed == 0);
	CHECK(daemon.count() == 1);
	daemon.all.at.let(1);
	daemon.wait([&] { return daemon.all.closed == 1; }, "the layer's end");
	daemon.wait([&] { return daemon.count() == 0; }, "the client's end");
	CHECK(daemon.all.at.began() == std::vector<std::string>{ "list 1" });
}

TEST_CASE("a stop answers what is in a thread, and what waits for one hears that it is not done",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	const uint64_t mail = client.deliver("s");
	daemon.wait_inside(1);
	const uint64_t first = client.list(1);
	client.list(2);
	daemon.wait([&] { return daemon.all.at.inside() == 2 && daemon.work().waiting == 1; },
		    "the lists");
	daemon.stop();
	CHECK(client.take(first + 1) == -ECANCELED);
	CHECK(daemon.count() == 1);
	daemon.all.at.open();
	// In the order in which they end.
	daemon.wait([&] { return daemon.count() == 0; }, "the client's end");
	CHECK(daemon.counters[STORED_MAILS] == 1);
	CHECK(daemon.all.closed == 1);
	CHECK(mail < first);
	CHECK(client.has_reply());
}

TEST_CASE("a lock that is asked for behind an unlock orders deletions, too",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	REQUIRE(client.lock("anna") == 0);
	const uint64_t unlocked = client.send_unlock();
	const uint64_t locked = client.send_lock("bert");
	CHECK(client.take(unlocked) == 0);
	CHECK(client.take(locked) == 0);
	const uint64_t first = client.erase("a");
	const uint64_t second = client.erase("b");
	daemon.wait_inside(1);
	daemon.wait([&] { return daemon.work().waiting == 1; }, "the second deletion");
	daemon.all.at.open();
	CHECK(client.take(first) == 0);
	CHECK(client.take(second) == 0);
	CHECK(daemon.all.at.most() == 1);
}

TEST_CASE("deletions of one without a lock are under way at a time", "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	client.erase("a");
	client.erase("b");
	daemon.wait_inside(2);
	CHECK(daemon.all.at.most() == 2);
}

TEST_CASE("a client that does not read has one segment in its socket",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	const uint64_t first = client.segment();
	const uint64_t second = client.segment();
	// The second was refused before it was a request of the layer.
	const auto is_done = [&] {
		return daemon.counters[STORED_REQUESTS] == 1 && daemon.work().running == 0 &&
		       daemon.work().waiting == 0;
	};
	daemon.wait(is_done, "both replies");
	CHECK(client.take(first) == 0);
	CHECK(client.take(second) == -EAGAIN);
	CHECK(client.take(client.segment()) == 0);
}

TEST_CASE("without a layer a client is told why, and has one when it asks again",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	daemon.all.at.open();
	daemon.all.make_status = -EAGAIN;
	CHECK(client.take(client.list(0)) == -EAGAIN);
	CHECK(client.take(client.deliver("s")) == -EAGAIN);
	daemon.all.make_status = 0;
	CHECK(client.take(client.deliver("s")) == 0);
	CHECK(client.take(client.list(0)) == 0);
	CHECK(daemon.all.made == 1);
}

TEST_CASE("a store that has stopped is said so to the client and to its process",
	  "[mail-stored][clients_jobs]")
{
	daemon_of daemon;
	connection client(daemon);
	daemon.all.at.open();
	daemon.all.deliver_status = -ETIMEDOUT;
	CHECK(client.take(client.deliver("s")) == -ETIMEDOUT);
	CHECK(daemon.failure == 0);
	daemon.all.deliver_status = MAILSTORE_EFAILED;
	CHECK(client.take(client.deliver("s")) == MAILSTORE_EFAILED);
	CHECK(daemon.failure == MAILSTORE_EFAILED);
	CHECK(daemon.counters[STORED_MAILS_FAILED] == 2);
}
