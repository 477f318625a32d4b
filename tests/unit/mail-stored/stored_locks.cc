// SPDX-License-Identifier: GPL-3.0-or-later
// Locks of mailboxes, alone and as connections have them, with a layer and syncers that are played.
#include "integration/mail/base/store/storelink.h"
#include "integration/mail/mail-stored/boxes/boxlocks.h"
#include "integration/mail/mail-stored/store/clients.h"
#include "integration/mail/mail-stored/store/commit.h"
#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/stored_setup.h"
#include "lib/process/packet.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace
{
int erase_nothing(maillayer *, mailname, const uint64_t *, size_t, uint64_t)
{
	return 0;
}

int begin_sync(maillayer *, struct mailstore_sync *ret_sync)
{
	ret_sync->fd = STDIN_FILENO;
	return 0;
}

int end_sync(maillayer *, const struct mailstore_sync *, int status)
{
	return status;
}

int sync_all(maillayer *)
{
	return 0;
}

maillayer_ops make_ops()
{
	maillayer_ops ops{};
	ops.erase = erase_nothing;
	ops.sync = sync_all;
	ops.sync_begin = begin_sync;
	ops.sync_end = end_sync;
	return ops;
}

void ignore_failure(void *, int)
{
}

// The clients of a store, whose syncs end when the test says so.
class daemon_of
{
      public:
	daemon_of()
	{
		static const maillayer_ops ops = make_ops();
		layer_.ops = &ops;
		int ours[COMMIT_SYNCS];
		for (unsigned i = 0; i < COMMIT_SYNCS; i++) {
			int ends[2];
			REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
					   0, ends) == 0);
			ours[i] = ends[0];
			syncers_[i] = ends[1];
		}
		stored_setup setup{};
		REQUIRE(requests_init(&requests_, &layer_, nullptr, &setup, counters) == 0);
		clients_start start{};
		start.way = &clients_commit;
		start.listen_fd = listen_fd_ = listen_at(path());
		start.clients_max = 10;
		start.requests = &requests_;
		start.counters = counters;
		start.fail = ignore_failure;
		start.syncer_fds = ours;
		REQUIRE(uv_loop_init(&loop_) == 0);
		REQUIRE(clients_open(&loop_, &start, &clients_) == 0);
	}
	~daemon_of()
	{
		clients_close(clients_);
		uv_run(&loop_, UV_RUN_DEFAULT);
		clients_free(clients_);
		REQUIRE(uv_loop_close(&loop_) == 0);
		requests_deinit(&requests_);
		close(listen_fd_);
		for (const int fd : syncers_)
			close(fd);
	}
	daemon_of(const daemon_of &) = delete;
	daemon_of &operator=(const daemon_of &) = delete;

	std::string path() const
	{
		return dir_.file("socket");
	}
	void run()
	{
		for (int i = 0; i < 5; i++)
			uv_run(&loop_, UV_RUN_NOWAIT);
	}
	// The one sync that is under way.
	void end_sync()
	{
		for (const int fd : syncers_) {
			char byte;
			packet got{};
			if (packet_receive(fd, &byte, 1, &got) != 1)
				continue;
			packet_close(&got);
			const int32_t status = 0;
			REQUIRE(send(fd, &status, sizeof(status), 0) == sizeof(status));
			run();
			return;
		}
		FAIL("no sync is under way");
	}

	uint64_t counters[STORED_COUNTER_COUNT] = {};

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
	maillayer layer_{};
	requests requests_{};
	clients *clients_ = nullptr;
	int listen_fd_ = -1;
	int syncers_[COMMIT_SYNCS];
};

class connection
{
      public:
	explicit connection(daemon_of &daemon) : daemon_(daemon), link_(new storelink)
	{
		REQUIRE(storelink_begin(daemon.path().c_str(), link_.get()) == 0);
		daemon.run();
		REQUIRE(storelink_greet(link_.get()) == 0);
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
		daemon_.run();
	}
	int lock(const std::string &name)
	{
		storewire_request request{};
		request.type = STOREWIRE_LOCK;
		request.mailbox = name_of(name);
		return call(request);
	}
	int unlock()
	{
		storewire_request request{};
		request.type = STOREWIRE_UNLOCK;
		return call(request);
	}
	// The reply comes behind a commit.
	void erase(const std::string &name)
	{
		const uint64_t mail = 1;
		std::vector<uint8_t> memory(maildeletion_size(name_of(name), 1));
		maildeletion_encode(name_of(name), &mail, 1, memory.data());
		const iovec part = { memory.data(), memory.size() };
		const storelink_memory beside = { -1, &part, 1 };
		storewire_request request{};
		request.type = STOREWIRE_ERASE;
		request.size = memory.size();
		REQUIRE(storelink_send(link_.get(), &request, &beside) == 0);
		daemon_.run();
	}
	int take()
	{
		storewire_reply reply{};
		int fd = -1;
		const int ret = storelink_take(link_.get(), &reply, &fd);
		return ret == 0 ? reply.status : ret;
	}

      private:
	int call(storewire_request &request)
	{
		REQUIRE(storelink_send(link_.get(), &request, nullptr) == 0);
		daemon_.run();
		return take();
	}

	daemon_of &daemon_;
	std::unique_ptr<storelink> link_;
};
} // namespace

TEST_CASE("one lock of many has a mailbox, and each has one at most", "[mail-stored][boxlocks]")
{
	const std::vector<std::string> names = { "a", "b", "ab",
						 std::string(MAILBOX_NAME_MAX, 'n') };
	boxlocks locks{};
	boxlock first[4] = {};
	boxlock second{};
	for (size_t i = 0; i < 4; i++)
		CHECK(boxlocks_take(&locks, &first[i], name_of(names[i])) == 0);
	for (size_t i = 0; i < 4; i++) {
		CHECK(boxlocks_take(&locks, &second, name_of(names[i])) == -EBUSY);
		CHECK(boxlocks_take(&locks, &first[i], name_of(names[i])) == 0);
		CHECK(boxlocks_take(&locks, &first[i], name_of("other")) == MAILSTORE_ELOCK);
	}
	boxlocks_free(&locks, &second); // it has none
	for (size_t i = 0; i < 4; i++) {
		boxlocks_free(&locks, &first[i]);
		CHECK(boxlocks_take(&locks, &second, name_of(names[i])) == 0);
		boxlocks_free(&locks, &second);
	}
	CHECK(locks.tree == nullptr);
}

TEST_CASE("what is no name of a mailbox is not locked", "[mail-stored][boxlocks]")
{
	boxlocks locks{};
	boxlock lock{};
	for (const std::string &name :
	     { std::string(), std::string("a\0b", 3), std::string(MAILBOX_NAME_MAX + 1, 'n') })
		CHECK(boxlocks_take(&locks, &lock, name_of(name)) == MAILSTORE_EBOX);
	CHECK(locks.tree == nullptr);
}

TEST_CASE("a connection has its lock until it gives it back or ends", "[mail-stored][clients]")
{
	daemon_of daemon;
	connection first(daemon);
	connection second(daemon);
	CHECK(first.lock("anna") == 0);
	CHECK(second.lock("anna") == -EBUSY);
	CHECK(second.lock("bert") == 0);
	CHECK(second.lock("carl") == MAILSTORE_ELOCK);
	CHECK(second.unlock() == 0);
	CHECK(second.unlock() == 0);
	first.end();
	CHECK(second.lock("anna") == 0);
	CHECK(daemon.counters[STORED_LOCKS] == 3);
	CHECK(daemon.counters[STORED_LOCKS_REFUSED] == 1);
}

TEST_CASE("a lock outlives its connection until its deletion is committed",
	  "[mail-stored][clients]")
{
	daemon_of daemon;
	connection first(daemon);
	connection second(daemon);
	REQUIRE(first.lock("anna") == 0);
	first.erase("anna");
	first.end();
	CHECK(second.lock("anna") == -EBUSY);
	daemon.end_sync();
	CHECK(second.lock("anna") == 0);
}

TEST_CASE("a lock is not given back while a deletion waits for its commit",
	  "[mail-stored][clients]")
{
	daemon_of daemon;
	connection first(daemon);
	REQUIRE(first.lock("anna") == 0);
	first.erase("anna");
	CHECK(first.unlock() == -EINPROGRESS);
	daemon.end_sync();
	CHECK(first.take() == 0);
	CHECK(first.unlock() == 0);
}
