// SPDX-License-Identifier: GPL-3.0-or-later
// TLS on one side, a worker on the other.
#include "integration/mail/base/tls/relay.h"
#include "tests/unit/mail-base/tls_fixture.hh"

#include <catch2/catch.hpp>

#include <cerrno>

#include <sys/ioctl.h>

namespace
{

using namespace front;

const int NOT_DONE = 1;
const unsigned LONG_MS = 60000;

front::tls_edge &shared_edge()
{
	static files made;
	if (made.paths.empty())
		made.add(make_key("EC"), "mx.example");
	static front::tls_edge edge(made);
	return edge;
}

// Bytes that have come to a socket.
int unread(int fd)
{
	int size = -1;
	ioctl(fd, FIONREAD, &size);
	return size;
}

// A relay that has not begun, with its client and its worker.
class world
{
      public:
	explicit world(int version = TLS1_3_VERSION)
	    : peer_(std::make_unique<client>(outside_[1], with(version)))
	{
		uv_loop_init(&loop_);
		REQUIRE(tls_new(edge_.context, outside_[0], &server_) == 0);
		REQUIRE(shake_hands(server_, *peer_) == 0);
	}
	~world()
	{
		leave();
		vanish();
		turn_until([this] { return !has_begun_ || status != NOT_DONE; });
		if (!has_begun_)
			tls_free(server_);
		// Nothing of the relay may be left.
		if (uv_loop_close(&loop_) != 0)
			std::terminate();
	}
	world(const world &) = delete;
	world &operator=(const world &) = delete;

	void begin(unsigned idle_ms = LONG_MS)
	{
		relay_start start = {};
		client_fd = outside_.take(0);
		worker_fd = inside_.take(0);
		start.loop = &loop_;
		start.tls = server_;
		start.client_fd = client_fd;
		start.worker_fd = worker_fd;
		start.idle_ms = idle_ms;
		start.done = [](struct relay *ended, int of) {
			static_cast<world *>(ended->context)->status = of;
		};
		start.context = this;
		has_begun_ = true;
		relay_begin(&relay, &start);
	}

	uint64_t now_ms() const
	{
		return uv_now(&loop_);
	}
	void turn()
	{
		uv_run(&loop_, UV_RUN_NOWAIT);
	}
	template <typename Condition> void turn_until(Condition is_so)
	{
		for (int i = 0; i < 20000000 && !is_so(); i++)
			turn();
		if (!is_so())
			throw std::runtime_error("it does not happen");
	}
	int end()
	{
		turn_until([this] { return status != NOT_DONE; });
		return status;
	}

	// ---- the client ----

	SSL *ssl() const
	{
		return peer_->ssl;
	}
	void say(const std::string &text)
	{
		size_t at = 0;
		turn_until([&] {
			const int count = SSL_write(ssl(), text.data() + at,
						    static_cast<int>(text.size() - at));
			at += count > 0 ? static_cast<size_t>(count) : 0;
			return at == text.size();
		});
	}
	// Up to the end that the server says, or size bytes.
	std::string hear(size_t size = SIZE_MAX)
	{
		std::string heard;
		turn_until([&] {
			char bytes[3000];
			ERR_clear_error();
			const int count = SSL_read(
				ssl(), bytes,
				static_cast<int>(std::min(sizeof(bytes), size - heard.size())));
			if (count > 0)
				heard.append(bytes, static_cast<size_t>(count));
			return heard.size() == size ||
			       (count <= 0 && SSL_get_error(ssl(), count) == SSL_ERROR_ZERO_RETURN);
		});
		return heard;
	}
	void vanish()
	{
		outside_.close_end(1);
	}
	// The TCP connection alone; nothing is said about it.
	int client_end() const
	{
		return outside_[1];
	}

	// ---- the worker ----

	int worker() const
	{
		return inside_[1];
	}
	void reply(const std::string &text)
	{
		size_t at = 0;
		turn_until([&] {
			const ssize_t count =
				send(worker(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
			at += count > 0 ? static_cast<size_t>(count) : 0;
			return at == text.size();
		});
	}
	// Up to the end, or size bytes; some at a time.
	std::string take(size_t size = SIZE_MAX, size_t piece = 4000)
	{
		std::string taken;
		turn_until([&] {
			std::string bytes(std::min(piece, size - taken.size()), '\0');
			const ssize_t count = recv(worker(), bytes.data(), bytes.size(), 0);
			if (count > 0)
				taken.append(bytes, 0, static_cast<size_t>(count));
			return taken.size() == size || count == 0;
		});
		return taken;
	}
	void leave()
	{
		inside_.close_end(1);
	}

	struct relay relay = {};
	tls *server_ = nullptr;
	int status = NOT_DONE;
	int client_fd = -1, worker_fd = -1;

      private:
	// Before the sockets, of which its keyholder would have copies.
	front::tls_edge &edge_ = shared_edge();
	uv_loop_t loop_;
	sockets outside_; // 0: ours; 1: the client's
	sockets inside_;  // 0: ours; 1: the worker's
	std::unique_ptr<client> peer_;
	bool has_begun_ = false;

	static client_options with(int version)
	{
		client_options options;
		options.version = version;
		return options;
	}
};

std::string much(size_t size)
{
	std::string text(size, '\0');
	unsigned value = 1;
	for (char &byte : text)
		byte = static_cast<char>((value = value * 1103515245 + 12345) >> 16);
	return text;
}

} // namespace

TEST_CASE("bytes are passed on in both directions", "[front][relay]")
{
	world all(GENERATE(TLS1_2_VERSION, TLS1_3_VERSION));
	all.begin();
	all.say("DATA\r\n");
	CHECK(all.take(6) == "DATA\r\n");
	all.reply("354 go on\r\n");
	CHECK(all.hear(11) == "354 go on\r\n");
	CHECK(all.status == NOT_DONE);
}

TEST_CASE("megabytes go both ways to readers that are slow", "[front][relay]")
{
	world all(GENERATE(TLS1_2_VERSION, TLS1_3_VERSION));
	const std::string mail = much(3000000);
	const std::string replies = much(1000000);
	std::string taken, heard;
	size_t said = 0, replied = 0;
	all.begin();
	all.turn_until([&] {
		char bytes[777];
		ERR_clear_error();
		int count = SSL_write(all.ssl(), mail.data() + said,
				      static_cast<int>(mail.size() - said));
		said += count > 0 ? static_cast<size_t>(count) : 0;
		count = SSL_read(all.ssl(), bytes, 300);
		heard.append(bytes, count > 0 ? static_cast<size_t>(count) : 0);
		ssize_t size = send(all.worker(), replies.data() + replied,
				    replies.size() - replied, MSG_NOSIGNAL);
		replied += size > 0 ? static_cast<size_t>(size) : 0;
		size = recv(all.worker(), bytes, sizeof(bytes), 0);
		taken.append(bytes, size > 0 ? static_cast<size_t>(size) : 0);
		return taken.size() == mail.size() && heard.size() == replies.size();
	});
	CHECK(taken == mail);
	CHECK(heard == replies);
}

TEST_CASE("a worker that does not read stops the client", "[front][relay]")
{
	world all;
	const std::string text = much(100000);
	size_t said = 0;
	unsigned in_vain = 0;
	all.begin();
	while (in_vain < 100 && said < 50000000) {
		const int count = SSL_write(all.ssl(), text.data(), static_cast<int>(text.size()));
		in_vain = count > 0 ? 0 : in_vain + 1;
		said += count > 0 ? text.size() : 0;
		all.turn();
	}
	CHECK(in_vain == 100);
	CHECK(said < 5000000); // what the kernel keeps, and a buffer
	// And is no work meanwhile.
	const int before = unread(all.client_fd);
	all.turn();
	CHECK(unread(all.client_fd) == before);
}

TEST_CASE("a client that does not read stops the worker", "[front][relay]")
{
	world all;
	const std::string text = much(100000);
	size_t said = 0;
	unsigned in_vain = 0;
	all.begin();
	while (in_vain < 100 && said < 50000000) {
		const ssize_t count = send(all.worker(), text.data(), text.size(), 0);
		in_vain = count > 0 ? 0 : in_vain + 1;
		said += count > 0 ? static_cast<size_t>(count) : 0;
		all.turn();
	}
	CHECK(in_vain == 100);
	CHECK(said < 5000000);
	// The other way is as it was.
	all.say("QUIT\r\n");
	CHECK(all.take(6) == "QUIT\r\n");
}

TEST_CASE("what was decrypted before the relay begins is not forgotten", "[front][relay]")
{
	world all;
	char byte;
	REQUIRE(SSL_write(all.ssl(), "xDATA\r\n", 7) == 7);
	REQUIRE(tls_read(all.server_, &byte, 1) == 1);
	all.begin();
	CHECK(all.take(6) == "DATA\r\n");
}

TEST_CASE("the client's end comes behind his last byte, and he may still be answered",
	  "[front][relay]")
{
	world all(GENERATE(TLS1_2_VERSION, TLS1_3_VERSION));
	const std::string mail = much(500000);
	all.begin();
	std::string taken;
	size_t said = 0;
	bool is_said = false;
	all.turn_until([&] {
		char bytes[5000];
		if (said < mail.size()) {
			const int count = SSL_write(all.ssl(), mail.data() + said,
						    static_cast<int>(mail.size() - said));
			said += count > 0 ? static_cast<size_t>(count) : 0;
		} else if (!is_said) {
			is_said = SSL_shutdown(all.ssl()) == 0;
		}
		const ssize_t size = recv(all.worker(), bytes, sizeof(bytes), 0);
		taken.append(bytes, size > 0 ? static_cast<size_t>(size) : 0);
		return size == 0;
	});
	CHECK(taken == mail);
	all.reply("250 2.0.0 taken\r\n");
	all.leave();
	CHECK(all.hear() == "250 2.0.0 taken\r\n");
	CHECK(all.end() == 0);
}

TEST_CASE("the worker's end comes behind his last byte", "[front][relay]")
{
	world all(GENERATE(TLS1_2_VERSION, TLS1_3_VERSION));
	const std::string replies = much(200000);
	all.begin();
	std::string heard;
	size_t replied = 0;
	while (replied < replies.size()) {
		const ssize_t size = send(all.worker(), replies.data() + replied,
					  replies.size() - replied, MSG_NOSIGNAL);
		replied += size > 0 ? static_cast<size_t>(size) : 0;
		if (size <= 0)
			heard += all.hear(1000);
	}
	all.leave();
	heard += all.hear();
	CHECK(heard == replies);
	SECTION("who says his own end ends it")
	{
		SSL_shutdown(all.ssl());
		CHECK(all.end() == 0);
	}
	SECTION("as does who just closes")
	{
		all.vanish();
		CHECK(all.end() == 0);
	}
	SECTION("what he still says is thrown away")
	{
		for (int i = 0; i < 100; i++)
			all.say("NOOP\r\n");
		CHECK(all.status == NOT_DONE);
		all.vanish();
		CHECK(all.end() == 0);
	}
}

TEST_CASE("a worker that has ended and a client that stays are not for ever", "[front][relay]")
{
	world all;
	all.begin(2000);
	all.leave();
	CHECK(all.hear().empty());
	CHECK(all.end() == 0);
}

TEST_CASE("a client that takes nothing keeps no relay by what it says to a worker that has gone",
	  "[front][relay]")
{
	const uint64_t idle_ms = 300;
	world all;
	const std::string text = much(100000);
	unsigned in_vain = 0;
	all.begin(idle_ms);
	while (in_vain < 100) {
		const ssize_t count =
			send(all.worker(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
		in_vain = count > 0 ? 0 : in_vain + 1;
		all.turn();
	}
	all.leave();
	const uint64_t begun_ms = all.now_ms();
	uint64_t said_ms = 0;
	all.turn_until([&] {
		if (all.status == NOT_DONE && all.now_ms() > said_ms + idle_ms / 10) {
			ERR_clear_error();
			SSL_write(all.ssl(), "x", 1);
			said_ms = all.now_ms();
		}
		return all.status != NOT_DONE || all.now_ms() > begun_ms + 10 * idle_ms;
	});
	CHECK(all.status == -ETIMEDOUT);
}

TEST_CASE("a relay whose client does not take the rest may be ended", "[front][relay]")
{
	world all;
	const std::string text = much(100000);
	unsigned in_vain = 0;
	all.begin();
	while (in_vain < 100) {
		const ssize_t count =
			send(all.worker(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
		in_vain = count > 0 ? 0 : in_vain + 1;
		all.turn();
	}
	all.leave();
	for (unsigned i = 0; i < 100; i++)
		all.turn();
	CHECK(all.status == NOT_DONE);
	relay_end(&all.relay);
	relay_end(&all.relay);
	CHECK(all.end() == -ETIMEDOUT);
}

TEST_CASE("a worker may end his words and still listen", "[front][relay]")
{
	world all;
	all.begin();
	all.reply("221 bye\r\n");
	shutdown(all.worker(), SHUT_WR);
	CHECK(all.hear() == "221 bye\r\n");
	all.say("late\r\n");
	CHECK(all.take(6) == "late\r\n");
	SSL_shutdown(all.ssl());
	CHECK(all.end() == 0);
}

TEST_CASE("of a client that is cut off the worker has all, and then the end", "[front][relay]")
{
	world all;
	all.begin();
	REQUIRE(SSL_write(all.ssl(), "body\r\n.\r\n", 9) == 9);
	all.vanish();
	CHECK(all.take() == "body\r\n.\r\n");
	CHECK(all.end() == TLS_ECUT);
}

TEST_CASE("a client that is cut off while the worker does not read ends the relay",
	  "[front][relay]")
{
	world all;
	const std::string text = much(100000);
	all.begin(50);
	for (int i = 0; i < 20; i++) {
		ERR_clear_error();
		SSL_write(all.ssl(), text.data(), static_cast<int>(text.size()));
		all.turn();
	}
	all.vanish();
	const int status = all.end();
	CHECK((status == -ETIMEDOUT || status == TLS_ECUT));
}

TEST_CASE("a worker that a client's unread replies have stopped goes on when that is cut off",
	  "[front][relay]")
{
	world all;
	const std::string text = much(100000);
	unsigned in_vain = 0;
	all.begin();
	while (in_vain < 100) {
		ERR_clear_error();
		const bool is_said =
			SSL_write(all.ssl(), text.data(), static_cast<int>(text.size())) > 0;
		const bool is_replied = send(all.worker(), text.data(), text.size(), 0) > 0;
		in_vain = is_said || is_replied ? 0 : in_vain + 1;
		all.turn();
	}
	all.vanish();
	all.turn_until([&] { return send(all.worker(), "250 Ok\r\n", 8, MSG_NOSIGNAL) == 8; });
	CHECK_FALSE(all.take().empty());
	const int status = all.end();
	CHECK((status == -EPIPE || status == TLS_ECUT));
}

TEST_CASE("a worker that is killed is the end for the client", "[front][relay]")
{
	world all;
	all.begin();
	// What he has not read makes it a reset.
	all.say("MAIL FROM:<>\r\n");
	all.turn_until([&] { return unread(all.worker()) == 14; });
	all.leave();
	CHECK(all.hear().empty());
	all.vanish();
	CHECK(all.end() == 0);
}

TEST_CASE("a relay ends after too long a silence", "[front][relay]")
{
	world all;
	all.begin(50);
	CHECK(all.end() == -ETIMEDOUT);
}

TEST_CASE("each byte begins a relay's time of silence anew", "[front][relay]")
{
	const uint64_t idle_ms = 400;
	world all;
	all.begin(idle_ms);
	const uint64_t begun_ms = all.now_ms();
	all.turn_until([&] { return all.now_ms() >= begun_ms + idle_ms / 2; });
	// On a machine that has much to do this comes too late, and there is nothing to see.
	if (all.status == NOT_DONE) {
		REQUIRE(SSL_write(all.ssl(), "x", 1) == 1);
		const int status = all.end();
		CHECK(status == -ETIMEDOUT);
		CHECK((unread(all.worker()) == 0 ||
		       all.now_ms() >= begun_ms + idle_ms / 2 + idle_ms));
	}
	SUCCEED();
}

TEST_CASE("a relay that is ended closes its descriptors", "[front][relay]")
{
	world all;
	all.begin();
	all.leave();
	all.vanish();
	all.end();
	CHECK(fcntl(all.client_fd, F_GETFD) == -1);
	CHECK(fcntl(all.worker_fd, F_GETFD) == -1);
}

TEST_CASE("a descriptor that cannot be waited for is said at the end", "[front][relay]")
{
	uv_loop_t loop;
	uv_loop_init(&loop);
	const sockets inside;
	struct tls *server = nullptr;
	REQUIRE(tls_new(shared_edge().context, -1, &server) == 0);
	struct relay relay = {};
	int status = NOT_DONE;
	relay_start start = {};
	start.loop = &loop;
	start.tls = server;
	// A file; and a good one with it, or the other way round.
	const int other = fcntl(inside[0], F_DUPFD_CLOEXEC, 0);
	const int regular = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	const bool is_first = GENERATE(true, false);
	start.client_fd = is_first ? regular : other;
	start.worker_fd = is_first ? other : regular;
	start.idle_ms = LONG_MS;
	start.context = &status;
	start.done = [](struct relay *ended, int of) { *static_cast<int *>(ended->context) = of; };
	relay_begin(&relay, &start);
	CHECK(status == NOT_DONE);
	uv_run(&loop, UV_RUN_DEFAULT);
	CHECK(status == -EPERM);
	CHECK(uv_loop_close(&loop) == 0);
}
