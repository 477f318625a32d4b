// SPDX-License-Identifier: GPL-3.0-or-later
// A connection that is waited for, but not for ever.
#include "integration/mail/base/worker/pace.h"
#include "integration/mail/base/worker/stream.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

namespace
{

// A stream at one end, the test at the other.
class pair
{
      public:
	explicit pair(int flags = 0)
	{
		int ends[2];
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | flags, 0, ends) == 0);
		ours = ends[1];
		theirs_ = ends[0];
		stream = std::make_unique<struct stream>();
		stream_init(stream.get(), theirs_);
	}
	~pair()
	{
		hang_up();
		close(theirs_);
	}
	pair(const pair &) = delete;
	pair &operator=(const pair &) = delete;

	void say(const std::string &text)
	{
		REQUIRE(write(ours, text.data(), text.size()) == (ssize_t)text.size());
	}
	// What has come till now.
	std::string heard()
	{
		std::string text(1 << 20, '\0');
		const ssize_t size = recv(ours, text.data(), text.size(), MSG_DONTWAIT);
		text.resize(size > 0 ? (size_t)size : 0);
		return text;
	}
	void hang_up()
	{
		if (ours >= 0)
			close(ours);
		ours = -1;
	}
	std::string bytes() const
	{
		size_t size = 0;
		const uint8_t *from = stream_bytes(stream.get(), &size);
		return { (const char *)from, size };
	}
	int put(const std::string &text)
	{
		return stream_put(stream.get(), text.data(), text.size(), stream_deadline(20000));
	}

	std::unique_ptr<struct stream> stream;
	int ours;

      private:
	int theirs_;
};

} // namespace

TEST_CASE("bytes from before the stream are read first", "[front][stream]")
{
	pair peers;
	CHECK(stream_seed(peers.stream.get(), (const uint8_t *)"RCPT", 4) == 0);
	peers.say(" TO");
	CHECK(stream_fill(peers.stream.get(), stream_deadline(20000)) == 3);
	CHECK(peers.bytes() == "RCPT TO");
	stream_take(peers.stream.get(), 5);
	CHECK(peers.bytes() == "TO");
	CHECK(peers.stream->bytes_in == 3);
}

TEST_CASE("a seed that is larger than the buffer is refused", "[front][stream]")
{
	pair peers;
	const std::string most(STREAM_IN_MAX, 'm');
	CHECK(stream_seed(peers.stream.get(), (const uint8_t *)most.data(), most.size()) == 0);
	CHECK(stream_seed(peers.stream.get(), (const uint8_t *)"x", 1) == -ENOSPC);
	CHECK(stream_fill(peers.stream.get(), stream_deadline(20000)) == -ENOBUFS);
	CHECK(peers.bytes() == most);
}

TEST_CASE("waiting ends at the deadline, with and without a descriptor that blocks",
	  "[front][stream]")
{
	pair peers(GENERATE(0, SOCK_NONBLOCK));
	CHECK(stream_fill(peers.stream.get(), stream_deadline(20)) == -ETIMEDOUT);
	CHECK(stream_fill(peers.stream.get(), stream_deadline(-5)) == -ETIMEDOUT);
	peers.say("x");
	CHECK(stream_fill(peers.stream.get(), stream_deadline(20000)) == 1);
}

TEST_CASE("buffered bytes are sent before a read waits", "[front][stream]")
{
	pair peers;
	CHECK(peers.put("250 Ok\r\n") == 0);
	CHECK(peers.put("354 Go\r\n") == 0);
	CHECK(peers.heard().empty());
	peers.say("x");
	CHECK(stream_fill(peers.stream.get(), stream_deadline(20000)) == 1);
	CHECK(peers.heard() == "250 Ok\r\n354 Go\r\n");
	CHECK(peers.stream->bytes_out == 16);
}

TEST_CASE("more than the buffer leaves at once and in order", "[front][stream]")
{
	pair peers;
	const std::string many(STREAM_OUT_MAX + 1, 'm');
	CHECK(peers.put("first ") == 0);
	CHECK(peers.put(many) == 0);
	CHECK(peers.put(" last") == 0);
	CHECK(stream_flush(peers.stream.get(), stream_deadline(20000)) == 0);
	CHECK(peers.heard() == "first " + many + " last");
}

TEST_CASE("a peer that takes nothing is given up", "[front][stream]")
{
	pair peers;
	const std::string many(1 << 22, 'm');
	CHECK(stream_put(peers.stream.get(), many.data(), many.size(), stream_deadline(20)) ==
	      -ETIMEDOUT);
}

TEST_CASE("a peer that has gone is an end or an error, and no signal", "[front][stream]")
{
	pair peers;
	peers.say("QUIT");
	peers.hang_up();
	CHECK(stream_fill(peers.stream.get(), stream_deadline(20000)) == 4);
	CHECK(stream_fill(peers.stream.get(), stream_deadline(20000)) == 0);
	CHECK(peers.put("221 Bye\r\n") == 0);
	CHECK(stream_flush(peers.stream.get(), stream_deadline(20000)) == -EPIPE);
	CHECK(stream_flush(peers.stream.get(), stream_deadline(20000)) == 0);
}

TEST_CASE("each byte of a mail gives its client the time of one, however few come at a time",
	  "[front][pace]")
{
	pair peers;
	pace_rules rules = {};
	rules.timeout_ms = 60000;
	rules.rate = 5000;
	rules.end_ms = stream_deadline(600000);
	pace pace = {};
	pace_begin(&pace, &rules);
	pace.left_ms = 20000;
	const int64_t began_ms = stream_deadline(0);
	for (int i = 0; i < 5000; i++) {
		peers.say("x");
		REQUIRE(pace_fill(&pace, peers.stream.get()) == 1);
		stream_take(peers.stream.get(), 1);
	}
	// A second's worth, and what has passed is taken from it.
	CHECK(pace.left_ms <= 21000);
	CHECK(pace.left_ms >= 21000 - (stream_deadline(0) - began_ms));
}
