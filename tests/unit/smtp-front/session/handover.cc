// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/smtp-front/handover/capsule.h"

#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// The two ends of a queue, closed with their owner.
class queue
{
      public:
	explicit queue(size_t buffer_size = 65536)
	{
		if (handover_open(buffer_size, ends_) != 0)
			throw std::runtime_error("no socket pair");
	}
	~queue()
	{
		close(ends_[0]);
		close(ends_[1]);
	}
	queue(const queue &) = delete;
	queue &operator=(const queue &) = delete;

	int sending() const
	{
		return ends_[0];
	}
	int receiving() const
	{
		return ends_[1];
	}

      private:
	int ends_[2] = { -1, -1 };
};

static std::unique_ptr<capsule> session(uint64_t id)
{
	auto c = std::make_unique<capsule>();
	c->kind = CAPSULE_TRUSTED;
	c->facts.id = id;
	c->dialogue.state = DIALOGUE_AT_RCPT_ASKED;
	strcpy(c->dialogue.helo, "mail.example.net");
	strcpy(c->recipient.address, "john@example.org");
	return c;
}

// As an edge does that counts nobody, and a worker that takes no hold for granted.
static int give(int queue_fd, const capsule *c, int connection)
{
	const handover_fds fds = { connection, -1 };
	return capsule_send(queue_fd, c, &fds);
}

static int receive(int queue_fd, capsule *ret_capsule, handover_fds *ret_fds)
{
	uint8_t bytes[CAPSULE_SIZE_MAX];
	handover_fds fds = { -1, -1 };
	size_t size = 0;
	int ret = handover_receive(queue_fd, bytes, &size, &fds);
	if (ret != 0)
		return ret;
	ret = capsule_decode(bytes, size, ret_capsule);
	if (ret == 0) {
		*ret_fds = fds;
		return 0;
	}
	close(fds.connection);
	if (fds.hold >= 0)
		close(fds.hold);
	return ret;
}

static int take(int queue_fd, capsule *ret_capsule, int *ret_connection)
{
	handover_fds fds = { -1, -1 };
	int ret = handover_await(queue_fd);
	if (ret == 0)
		ret = receive(queue_fd, ret_capsule, &fds);
	if (ret == 0 && fds.hold != -1)
		throw std::runtime_error("a hold that nobody has sent");
	*ret_connection = fds.connection;
	return ret;
}

static unsigned open_descriptors()
{
	unsigned count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST_CASE("a worker gets the session and its connection", "[front][handover]")
{
	const queue q;
	int client[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, client) == 0);
	const auto sent = session(77);
	sent->unread_size = 5;
	memcpy(sent->unread, "DATA\r", 5);
	REQUIRE(give(q.sending(), sent.get(), client[1]) == 0);
	close(client[1]);

	const auto found = std::make_unique<capsule>();
	int fd = -1;
	REQUIRE(take(q.receiving(), found.get(), &fd) == 0);
	CHECK(memcmp(found.get(), sent.get(), sizeof(capsule)) == 0);
	CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	REQUIRE(send(fd, "250 ", 4, 0) == 4);
	char text[4];
	CHECK(recv(client[0], text, 4, 0) == 4);
	CHECK(std::string(text, 4) == "250 ");
	close(fd);
	CHECK(recv(client[0], text, 4, 0) == 0); // nobody else had it
	close(client[0]);
}

TEST_CASE("sessions of all edges wait in the queue in their order", "[front][handover]")
{
	const queue q;
	for (uint64_t id = 1; id <= 3; id++) {
		child edge([&] {
			return give(q.sending(), session(id).get(), q.sending()) == 0 ? 0 : 1;
		});
		CHECK(edge.wait() == 0);
	}
	for (uint64_t id = 1; id <= 3; id++) {
		const auto found = std::make_unique<capsule>();
		int fd = -1;
		REQUIRE(take(q.receiving(), found.get(), &fd) == 0);
		CHECK(found->facts.id == id);
		close(fd);
	}
}

TEST_CASE("a message that is awaited stays for the receiver that takes it", "[front][handover]")
{
	const queue q;
	const auto found = std::make_unique<capsule>();
	handover_fds fds = { -1, -1 };
	REQUIRE(give(q.sending(), session(7).get(), q.sending()) == 0);
	CHECK(handover_await(q.receiving()) == 0);
	CHECK(handover_await(q.receiving()) == 0);
	REQUIRE(receive(q.receiving(), found.get(), &fds) == 0);
	CHECK(found->facts.id == 7);
	close(fds.connection);
	// At once, for one that was too slow.
	CHECK(receive(q.receiving(), found.get(), &fds) == -EAGAIN);
}

TEST_CASE("a full queue refuses at once, and takes more when there is room", "[front][handover]")
{
	const queue q(CAPSULE_SIZE_MAX);
	const auto one = session(1);
	one->unread_size = CAPSULE_UNREAD_MAX;
	unsigned sent = 0;
	int ret;
	while ((ret = give(q.sending(), one.get(), q.sending())) == 0)
		sent++;
	CHECK(ret == -EAGAIN);
	CHECK(sent >= 1);
	CHECK(sent < 10);
	pollfd room = { q.sending(), POLLOUT, 0 };
	CHECK(poll(&room, 1, 0) == 0);

	const auto found = std::make_unique<capsule>();
	for (unsigned i = 0; i < sent; i++) {
		int fd = -1;
		REQUIRE(take(q.receiving(), found.get(), &fd) == 0);
		close(fd);
	}
	CHECK(poll(&room, 1, 0) == 1);
	CHECK(give(q.sending(), one.get(), q.sending()) == 0);
}

TEST_CASE("a queue may become larger and smaller with sessions in it", "[front][handover]")
{
	const queue q(CAPSULE_SIZE_MAX);
	const auto one = session(1);
	const auto fill = [&] {
		unsigned sent = 0;
		while (give(q.sending(), one.get(), q.sending()) == 0)
			sent++;
		return sent;
	};
	const unsigned few = fill();
	size_t size = 0;
	REQUIRE(handover_resize(q.sending(), 8 * CAPSULE_SIZE_MAX, &size) == 0);
	CHECK(size == 8 * CAPSULE_SIZE_MAX);
	const unsigned more = fill();
	CHECK(more > 3 * few);
	REQUIRE(handover_resize(q.sending(), 1, &size) == 0);
	CHECK(size == CAPSULE_SIZE_MAX);
	const auto found = std::make_unique<capsule>();
	for (unsigned i = 0; i < few + more; i++) {
		int fd = -1;
		REQUIRE(take(q.receiving(), found.get(), &fd) == 0);
		close(fd);
	}
	CHECK(fill() == few);
}

TEST_CASE("a queue that the system does not make larger stays as large as it is",
	  "[front][handover]")
{
	if (geteuid() != 0)
		return; /* nobody has one above the limit */
	const size_t large = size_t(64) << 20;
	child limited([&] {
		const queue q(large);
		size_t size = 0;
		if (setuid(65534) != 0)
			return 1;
		if (handover_resize(q.sending(), large + 4096, &size) != 0 || size != large)
			return 2;
		if (handover_resize(q.sending(), large - 4096, &size) != 0 || size >= large)
			return 3;
		return 0;
	});
	CHECK(limited.wait() == 0);
}

TEST_CASE("a session in the queue outlives the worker that was to take it", "[front][handover]")
{
	const queue q;
	REQUIRE(give(q.sending(), session(1).get(), q.sending()) == 0);
	signal_pipe is_ready;
	child worker([&] {
		is_ready.give();
		for (;;)
			pause();
		return 0;
	});
	is_ready.take();
	worker.kill(SIGKILL);
	worker.wait();
	const auto found = std::make_unique<capsule>();
	int fd = -1;
	CHECK(take(q.receiving(), found.get(), &fd) == 0);
	close(fd);
}

TEST_CASE("a receiver does not wait for ever, nor through a signal", "[front][handover]")
{
	const queue q;
	const auto found = std::make_unique<capsule>();
	int fd = -1;
	timeval wait = {};
	socklen_t size = sizeof(wait);
	REQUIRE(getsockopt(q.receiving(), SOL_SOCKET, SO_RCVTIMEO, &wait, &size) == 0);
	CHECK(wait.tv_sec * 1000 + wait.tv_usec / 1000 == HANDOVER_WAIT_MS);
	wait = { 0, 50000 }; // which a test need not wait for
	REQUIRE(setsockopt(q.receiving(), SOL_SOCKET, SO_RCVTIMEO, &wait, size) == 0);
	CHECK(take(q.receiving(), found.get(), &fd) == -EAGAIN);
	signal_pipe has_handler;
	child worker([&] {
		struct sigaction action = {};
		action.sa_handler = [](int) {};
		sigaction(SIGTERM, &action, nullptr);
		has_handler.give();
		int ret;
		do {
			ret = take(q.receiving(), found.get(), &fd);
		} while (ret == -EAGAIN);
		return ret == -EINTR ? 0 : 1;
	});
	has_handler.take();
	// Once more for each of its waits: one signal may come between two of them.
	siginfo_t ended = {};
	do {
		worker.kill(SIGTERM);
		waitid(P_PID, static_cast<id_t>(worker.pid()), &ended, WEXITED | WNOHANG | WNOWAIT);
	} while (ended.si_pid == 0);
	CHECK(worker.wait() == 0);
}

TEST_CASE("a receiver learns that the last sender has gone", "[front][handover]")
{
	int ends[2];
	REQUIRE(handover_open(0, ends) == 0);
	close(ends[0]);
	const auto found = std::make_unique<capsule>();
	int fd = -1;
	CHECK(take(ends[1], found.get(), &fd) == -EPIPE);
	close(ends[1]);
}

TEST_CASE("a sender learns that the last receiver has gone", "[front][handover]")
{
	int ends[2];
	REQUIRE(handover_open(0, ends) == 0);
	close(ends[1]);
	CHECK(give(ends[0], session(1).get(), ends[0]) == -EPIPE);
	close(ends[0]);
}

// ---- messages that no edge sends ----

static std::vector<uint8_t> wire_of(uint64_t id)
{
	std::vector<uint8_t> wire(CAPSULE_SIZE_MAX);
	size_t size = 0;
	if (capsule_encode(session(id).get(), wire.data(), &size) != 0)
		throw std::runtime_error("no capsule");
	wire.resize(size);
	return wire;
}

static void send_raw(int queue_fd, std::vector<uint8_t> data, const std::vector<int> &descriptors)
{
	iovec part = { data.data(), data.size() };
	alignas(cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))] = {};
	msghdr message = {};
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	if (!descriptors.empty()) {
		const size_t size = descriptors.size() * sizeof(int);
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(size);
		cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(header), descriptors.data(), size);
	}
	REQUIRE(sendmsg(queue_fd, &message, 0) == static_cast<ssize_t>(data.size()));
}

TEST_CASE("the edge that counts a session learns its end, whatever becomes of it",
	  "[front][handover]")
{
	auto q = std::make_unique<queue>();
	int hold[2];
	REQUIRE(pipe2(hold, O_CLOEXEC | O_NONBLOCK) == 0);
	const unsigned before = open_descriptors();
	const handover_fds fds = { q->sending(), hold[1] };
	REQUIRE(capsule_send(q->sending(), session(1).get(), &fds) == 0);
	close(hold[1]);
	char byte = 0;
	CHECK(read(hold[0], &byte, 1) == -1); // it is in the queue
	CHECK(errno == EAGAIN);
	SECTION("a worker has taken it, and closes it")
	{
		const auto found = std::make_unique<capsule>();
		handover_fds taken = { -1, -1 };
		REQUIRE(receive(q->receiving(), found.get(), &taken) == 0);
		CHECK((fcntl(taken.hold, F_GETFD) & FD_CLOEXEC) != 0);
		CHECK(read(hold[0], &byte, 1) == -1);
		close(taken.connection);
		CHECK(read(hold[0], &byte, 1) == -1);
		close(taken.hold);
	}
	SECTION("its worker is killed")
	{
		signal_pipe is_taken;
		child worker([&] {
			const auto found = std::make_unique<capsule>();
			handover_fds taken = { -1, -1 };
			if (receive(q->receiving(), found.get(), &taken) == 0)
				is_taken.give();
			for (;;)
				pause();
			return 0;
		});
		is_taken.take();
		CHECK(read(hold[0], &byte, 1) == -1);
		worker.kill(SIGKILL);
		worker.wait();
	}
	SECTION("the queue is gone with it")
	{
		q = nullptr;
		CHECK(open_descriptors() < before);
	}
	CHECK(read(hold[0], &byte, 1) == 0);
	if (q != nullptr)
		CHECK(open_descriptors() == before - 1);
	close(hold[0]);
}

TEST_CASE("what lies behind the socket is a pipe, or the message is refused", "[front][handover]")
{
	const queue q;
	int ends[2];
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	REQUIRE(file >= 0);
	const int socket = q.sending();
	const int hold = ends[1];
	const auto sent = GENERATE_COPY(values<std::vector<int>>({
		{ socket, file },
		{ socket, socket },
		{ hold, socket },
		{ hold },
		{ socket, hold, hold },
	}));
	const unsigned before = open_descriptors();
	send_raw(q.sending(), wire_of(1), sent);
	const auto found = std::make_unique<capsule>();
	handover_fds fds = { -1, -1 };
	CHECK(receive(q.receiving(), found.get(), &fds) == SEAL_EBAD);
	CHECK(fds.connection == -1);
	CHECK(fds.hold == -1);
	CHECK(open_descriptors() == before);
	close(ends[0]);
	close(ends[1]);
	close(file);
}

TEST_CASE("a message without exactly one socket is refused, and its descriptors are closed",
	  "[front][handover]")
{
	const queue q;
	const size_t count = GENERATE(0u, 2u, 3u, 8u, 9u, 40u);
	CAPTURE(count);
	const unsigned before = open_descriptors();
	send_raw(q.sending(), wire_of(1), std::vector<int>(count, q.sending()));
	const auto found = std::make_unique<capsule>();
	int fd = -1;
	CHECK(take(q.receiving(), found.get(), &fd) == SEAL_EBAD);
	CHECK(fd == -1);
	CHECK(open_descriptors() == before);
}

TEST_CASE("a descriptor that is no socket is refused", "[front][handover]")
{
	const queue q;
	const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	REQUIRE(file >= 0);
	const unsigned before = open_descriptors();
	send_raw(q.sending(), wire_of(1), { file });
	const auto found = std::make_unique<capsule>();
	int fd = -1;
	CHECK(take(q.receiving(), found.get(), &fd) == SEAL_EBAD);
	CHECK(open_descriptors() == before);
	close(file);
}

TEST_CASE("a capsule that is cut or longer than any is refused with its descriptor",
	  "[front][handover]")
{
	const queue q;
	const unsigned before = open_descriptors();
	const auto whole = wire_of(1);
	const size_t size = GENERATE_COPY(size_t{ 0 }, size_t{ 1 }, whole.size() - 1,
					  whole.size() + 1, size_t{ CAPSULE_SIZE_MAX + 1 });
	CAPTURE(size);
	auto data = whole;
	data.resize(size);
	send_raw(q.sending(), data, { q.sending() });
	const auto found = std::make_unique<capsule>();
	int fd = -1;
	CHECK(take(q.receiving(), found.get(), &fd) == SEAL_EBAD);
	CHECK(open_descriptors() == before);

	// And the next one is not touched by it.
	REQUIRE(give(q.sending(), session(2).get(), q.sending()) == 0);
	REQUIRE(take(q.receiving(), found.get(), &fd) == 0);
	CHECK(found->facts.id == 2);
	close(fd);
}

TEST_CASE("a worker without a free descriptor says so", "[front][handover]")
{
	const queue q;
	const rlim_t room = GENERATE(as<rlim_t>(), 0, 1);
	const int first_free = dup(q.sending());
	int ends[2];
	close(first_free);
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	const handover_fds both = { q.sending(), ends[1] };
	REQUIRE(capsule_send(q.sending(), session(1).get(), &both) == 0);
	close(ends[0]);
	close(ends[1]);
	child worker([&] {
		const rlimit least = { first_free + room, first_free + room };
		setrlimit(RLIMIT_NOFILE, &least);
		const auto found = std::make_unique<capsule>();
		int fd = -1;
		return take(q.receiving(), found.get(), &fd) == -EMFILE ? 0 : 1;
	});
	CHECK(worker.wait() == 0);
}

TEST_CASE("one of many workers gets each session", "[front][handover]")
{
	const queue q;
	std::vector<std::unique_ptr<child>> workers;
	int ends[2];
	REQUIRE(pipe(ends) == 0);
	for (int i = 0; i < 8; i++) {
		workers.push_back(std::make_unique<child>([&] {
			const auto found = std::make_unique<capsule>();
			for (;;) {
				int fd = -1;
				const int ret = take(q.receiving(), found.get(), &fd);
				if (ret == -EAGAIN)
					continue;
				close(fd);
				const auto id = static_cast<uint8_t>(found->facts.id);
				if (ret != 0 || write(ends[1], &id, 1) != 1)
					return 1;
			}
		}));
	}
	std::vector<int> seen(200, 0);
	for (unsigned id = 0; id < seen.size(); id++) {
		int ret;
		pollfd room = { q.sending(), POLLOUT, 0 };
		while ((ret = give(q.sending(), session(id).get(), q.sending())) == -EAGAIN)
			poll(&room, 1, -1);
		REQUIRE(ret == 0);
	}
	for (size_t i = 0; i < seen.size(); i++) {
		uint8_t id = 0;
		REQUIRE(read(ends[0], &id, 1) == 1);
		seen.at(id)++;
	}
	CHECK(seen == std::vector<int>(200, 1));
	close(ends[0]);
	close(ends[1]);
}
