// SPDX-License-Identifier: GPL-3.0-or-later
// Lines out of bytes, requests that wait, bytes that wait.
#include "integration/adapters/opensmtpd/lines.h"
#include "integration/adapters/opensmtpd/pending.h"
#include "integration/adapters/opensmtpd/queue.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace
{

// Feeds text in pieces; lines, with "..." behind those that were cut.
std::vector<std::string> lines_of(lines *lines, std::string text, size_t piece)
{
	std::vector<std::string> found;
	while (!text.empty()) {
		size_t room = 0;
		char *to = lines_room(lines, &room);
		const size_t size = std::min({ piece, room, text.size() });
		REQUIRE(size > 0);
		text.copy(to, size);
		text.erase(0, size);
		lines_filled(lines, size);
		const char *line = nullptr;
		size_t line_size = 0;
		bool is_cut = false;
		while (lines_next(lines, &line, &line_size, &is_cut))
			found.push_back(std::string(line, line_size) + (is_cut ? "..." : ""));
	}
	return found;
}

struct line request(uint64_t session, uint64_t token)
{
	struct line line = {};
	line.kind = LINE_FILTER;
	line.version = { 0, 6 };
	line.session = session;
	line.token = token;
	return line;
}

bool take(pending *pending, const struct line &request)
{
	char text[LINE_ANSWER_MAX];
	const size_t size = line_format_answer(&request, "proceed", nullptr, text);
	return pending_take(pending, text, size - 1);
}

} // namespace

TEST_CASE("lines are the same however they come", "[filter][lines]")
{
	const size_t piece = GENERATE(1, 2, 3, 7, 100, LINES_MAX);
	auto stream = std::make_unique<lines>();
	CHECK(lines_of(stream.get(), "one\n\ntwo|three\nfour", piece) ==
	      std::vector<std::string>{ "one", "", "two|three" });
	CHECK(lines_has_half(stream.get()));
	CHECK(lines_of(stream.get(), "th\n", piece) == std::vector<std::string>{ "fourth" });
	CHECK_FALSE(lines_has_half(stream.get()));
}

TEST_CASE("a line of a megabyte is cut, and the next is whole", "[filter][lines]")
{
	const size_t piece = GENERATE(777, LINES_MAX);
	auto stream = std::make_unique<lines>();
	const std::string most(LINES_MAX - 1, 'm');
	CHECK(lines_of(stream.get(), std::string(1 << 20, 'x') + "\n" + most + "\nnext\n", piece) ==
	      std::vector<std::string>{ std::string(LINES_MAX, 'x') + "...", most, "next" });
}

TEST_CASE("a request is pending until its own answer has come", "[filter][pending]")
{
	pending pending = {};
	for (uint64_t i = 1; i <= 200; i++) {
		const auto one = request(i, i + 1000);
		REQUIRE(pending_add(&pending, &one, static_cast<int64_t>(i)) == 0);
	}
	CHECK_FALSE(take(&pending, request(1, 1)));
	CHECK(take(&pending, request(100, 1100)));
	CHECK_FALSE(take(&pending, request(100, 1100)));
	CHECK(pending_oldest(&pending)->due_ms == 1);
	CHECK(take(&pending, request(1, 1001)));
	CHECK(pending_oldest(&pending)->due_ms == 2);
	for (size_t left = 198; left > 0; left--)
		pending_drop_oldest(&pending);
	CHECK(pending_oldest(&pending) == nullptr);
	pending_drop_oldest(&pending);
	pending_deinit(&pending);
}

TEST_CASE("the number of pending requests is limited", "[filter][pending]")
{
	pending pending = {};
	const auto one = request(1, 2);
	int ret = 0;
	size_t count = 0;
	while (ret == 0 && count < 1000000) {
		ret = pending_add(&pending, &one, 0);
		count++;
	}
	CHECK(ret == -ENOBUFS);
	pending_deinit(&pending);
}

TEST_CASE("what a pipe does not take waits in the queue", "[filter][queue]")
{
	int ends[2];
	REQUIRE(pipe2(ends, O_NONBLOCK) == 0);
	queue queue = {};
	std::string sent, received;
	while (queue_flush(&queue, ends[1]) == 0) {
		const std::string text = std::to_string(sent.size()) + "\n";
		REQUIRE(queue_put(&queue, text.data(), text.size()) == 0);
		sent += text;
	}
	CHECK(queue_size(&queue) > 0);
	char bytes[5000];
	ssize_t got = 0;
	while ((got = read(ends[0], bytes, sizeof(bytes))) > 0) {
		received.append(bytes, static_cast<size_t>(got));
		queue_flush(&queue, ends[1]);
	}
	CHECK(queue_size(&queue) == 0);
	CHECK(received == sent);
	close(ends[0]);
	REQUIRE(queue_put(&queue, "x", 1) == 0);
	CHECK((signal(SIGPIPE, SIG_IGN), queue_flush(&queue, ends[1])) == -EPIPE);
	queue_clear(&queue);
	CHECK(queue_size(&queue) == 0);
	close(ends[1]);
	queue_deinit(&queue);
}
