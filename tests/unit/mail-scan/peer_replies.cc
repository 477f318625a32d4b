// SPDX-License-Identifier: GPL-3.0-or-later
// What other scanners say, and what they may not say.
#include "integration/mail/base/peers/peer_replies.h"
#include "integration/mail/base/peers/rspamd_reply.h"
#include "tests/lib/bytes_of.hh"

#include <catch2/catch.hpp>

#include <memory>
#include <string>

namespace
{

// With the NUL of a literal.
std::string clamd(const std::string &line)
{
	clamd_reply reply = {};
	const std::string wire = line + '\0';
	for (size_t i = 0; i + 1 < wire.size(); i++)
		if (clamd_reply_push(&reply, bytes_of(wire) + i, 1) != REPLY_MORE)
			return "bad";
	if (clamd_reply_push(&reply, bytes_of(wire) + wire.size() - 1, 1) != REPLY_WHOLE)
		return "bad";
	clamd_word word = CLAMD_OK;
	char text[REPLY_TEXT_MAX];
	if (!clamd_reply_read(&reply, &word, text))
		return "none";
	return std::to_string(word) + " " + text;
}

std::string rspamd(const std::string &wire, size_t piece)
{
	const auto reply = std::make_unique<rspamd_reply>();
	reply_status status = REPLY_MORE;
	for (size_t at = 0; status == REPLY_MORE && at < wire.size(); at += piece)
		status = rspamd_reply_push(reply.get(), bytes_of(wire) + at,
					   std::min(piece, wire.size() - at));
	if (status == REPLY_MORE)
		status = rspamd_reply_close(reply.get());
	return status == REPLY_WHOLE ? std::string(reply->action) + "|" + reply->message : "bad";
}

std::string http(const std::string &json)
{
	return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
	       std::to_string(json.size()) + "\r\n\r\n" + json;
}

std::string milter_packet(const std::string &content)
{
	const auto size = static_cast<unsigned>(content.size());
	return std::string{ static_cast<char>(size >> 24), static_cast<char>(size >> 16),
			    static_cast<char>(size >> 8), static_cast<char>(size) } +
	       content;
}

reply_status push(milter_reply *reply, const std::string &wire, size_t *ret_used)
{
	return milter_reply_push(reply, bytes_of(wire), wire.size(), ret_used);
}

} // namespace

TEST_CASE("clamd says OK, FOUND or ERROR", "[scan][peer_replies]")
{
	CHECK(clamd("stream: OK") == "0 ");
	CHECK(clamd("stream: Eicar-Signature FOUND") == "1 Eicar-Signature");
	CHECK(clamd("stream: Name(0123:68) FOUND") == "1 Name(0123:68)");
	CHECK(clamd("stream: a\x01\xff FOUND") == "1 a??");
	CHECK(clamd("INSTREAM size limit exceeded. ERROR") ==
	      "2 INSTREAM size limit exceeded. ERROR");
	CHECK(clamd("") == "none");
	CHECK(clamd("OK") == "none");
	CHECK(clamd("stream: OK ") == "none");
	CHECK(clamd("stream: FOUND") == "none");
	CHECK(clamd("stream:  FOUND") == "none");
	CHECK(clamd("other: Eicar FOUND") == "none");
	CHECK(clamd(std::string(CLAMD_LINE_MAX - 1, 'x')) == "none");
	CHECK(clamd(std::string(CLAMD_LINE_MAX, 'x')) == "bad");
	CHECK(clamd("stream: " + std::string(800, 'x') + " FOUND").size() ==
	      2 + REPLY_TEXT_MAX - 1);
}

TEST_CASE("the action of rspamd is that of the outermost object", "[scan][peer_replies]")
{
	struct row {
		std::string wire;
		const char *expected;
	};
	const auto tried = GENERATE(values<row>({
		{ http("{\"action\":\"reject\"}"), "reject|" },
		{ http(" {\n\"score\" : -1.5e3 , \"action\":\"no action\",\"a\":[],\"b\":{}}\n"),
		  "no action|" },
		{ http("{\"action\":\"soft reject\",\"messages\":{\"smtp_message\":\"Try "
		       "\\u0061gain\\n"
		       "\\u00e4\"}}"),
		  "soft reject|Try again ?" },
		{ http("{\"symbols\":{\"X\":{\"action\":\"reject\",\"options\":[\"}\\\"]\"]}},"
		       "\"action\":\"no action\"}"),
		  "no action|" },
		{ http("{\"messages\":[{\"smtp_message\":\"x\"}],\"action\":\"reject\"}"),
		  "reject|" },
		{ http("{\"messages\":{\"x\":{\"smtp_message\":\"x\"}},\"action\":\"reject\"}"),
		  "reject|" },
		{ http("{\"actionactionaction\":\"x\",\"action\":\"reject\"}"), "reject|" },
		{ "HTTP/1.0 200 OK\n\n{\"action\":\"reject\"}", "reject|" },
		{ http("{\"action\":\"reject\"}") + "behind it", "reject|" },
		// Not whole.
		{ "", "bad" },
		{ "HTTP/1.1 200 OK\r\n", "bad" },
		{ "HTTP/1.1 200 OK\r\n\r\n{\"action\":\"reject\"", "bad" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{\"action\":\"reject\"}", "bad" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"action\":\"reject\"}", "bad" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "bad" },
		// None.
		{ "HTTP/1.1 403 No\r\n\r\n{\"action\":\"no action\"}", "bad" },
		{ "HTTP/2.0 200 OK\r\n\r\n{\"action\":\"reject\"}", "bad" },
		{ "HTTP/1.1 2x0 OK\r\n\r\n{\"action\":\"reject\"}", "bad" },
		{ "HTTP/1.1 200 OK\r\nno field\r\n\r\n{\"action\":\"reject\"}", "bad" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{\"action\":\"reject\"}",
		  "bad" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 19\r\nContent-Length: 19\r\n\r\n"
		  "{\"action\":\"reject\"}",
		  "bad" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1e9\r\n\r\n{\"action\":\"reject\"}", "bad" },
		{ "HTTP/1.1 200 OK\r\nX: " + std::string(RSPAMD_LINE_MAX, 'x') + "\r\n\r\n",
		  "bad" },
		{ http("[\"action\",\"reject\"]"), "bad" },
		{ http("\"action\""), "bad" },
		{ http("{}"), "bad" },
		{ http("{\"action\":\"\"}"), "bad" },
		{ http("{\"action\":1}"), "bad" },
		{ http("{\"action\":{\"action\":\"reject\"}}"), "bad" },
		{ http("{\"action\":\"reject\",\"action\":\"no action\"}"), "bad" },
		{ http("{\"action\":\"reject\"}}"), "bad" },
		{ http("{\"action\":\"reject\"]"), "bad" },
		{ http("{\"action\" \"reject\"}"), "bad" },
		{ http("{action:\"reject\"}"), "bad" },
		{ http("{\"action\":\"reject\",}"), "bad" },
		{ http("{\"action\":\"re\\qject\"}"), "bad" },
		{ http("{\"action\":\"re\\u12g4\"}"), "bad" },
		{ http("{\"action\":\"re\nject\"}"), "bad" },
		{ http("{\"a\":" + std::string(RSPAMD_DEPTH_MAX, '[')), "bad" },
	}));
	CAPTURE(tried.wire.substr(0, 200));
	for (const size_t piece : { tried.wire.size() + 1, size_t(1), size_t(7) })
		CHECK(rspamd(tried.wire, piece) == tried.expected);
}

TEST_CASE("fields of rspamd's head are counted", "[scan][peer_replies]")
{
	std::string head = "HTTP/1.1 200 OK\r\n";
	for (unsigned i = 0; i < RSPAMD_LINES_MAX; i++)
		head += "X: y\r\n";
	CHECK(rspamd(head + "\r\n{\"action\":\"reject\"}", 4096) == "bad");
}

TEST_CASE("a milter's packets come one after the other", "[scan][peer_replies]")
{
	const std::string wire = milter_packet("c") + milter_packet("y550 5.7.1 No\0") +
				 milter_packet("q" + std::string(5000, 'x'));
	for (const size_t piece : { wire.size(), size_t(1), size_t(5) }) {
		milter_reply reply = {};
		std::string letters;
		for (size_t at = 0; at < wire.size();) {
			size_t used = 0;
			const auto status = push(&reply, wire.substr(at, piece), &used);
			at += used;
			REQUIRE(used > 0);
			REQUIRE(status != REPLY_BAD);
			if (status == REPLY_WHOLE)
				letters += reply.letter;
		}
		CHECK(letters == "cyq");
		CHECK(milter_reply_kept(&reply) == MILTER_DATA_MAX);
		CHECK(reply.data[MILTER_DATA_MAX - 1] == 'x');
	}
}

TEST_CASE("a packet without a letter, or too large, is none", "[scan][peer_replies]")
{
	const auto wire = GENERATE(std::string(4, '\0'), std::string("\0\x10\0\1", 4),
				   std::string("\xff\xff\xff\xff", 4), std::string("HTTP"));
	milter_reply reply = {};
	size_t used = 0;
	CHECK(push(&reply, wire, &used) == REPLY_BAD);
}

TEST_CASE("a milter's reply has a code, and a text without codes", "[scan][peer_replies]")
{
	struct row {
		std::string data;
		unsigned code;
		const char *text;
	};
	const auto tried = GENERATE(values<row>({
		{ std::string("550 5.7.1 No way\0", 17), 550, "No way" },
		{ "451 4.7.1 Later", 451, "Later" },
		{ "550 No", 550, "No" },
		{ "550", 550, "" },
		{ "550-5.7.1 One\r\n550 5.7.1 Two", 550, "One" },
		{ "550 5.7 No", 550, "5.7 No" },
		{ "550 5.7.1", 550, "5.7.1" },
		{ "550 \x01\xff", 550, "??" },
		{ "250 ok", 0, "" },
		{ "5x0 no", 0, "" },
		{ "55", 0, "" },
		{ "", 0, "" },
	}));
	CAPTURE(tried.data);
	milter_reply reply = {};
	size_t used = 0;
	REQUIRE(push(&reply, milter_packet("y" + tried.data), &used) == REPLY_WHOLE);
	unsigned code = 0;
	char text[REPLY_TEXT_MAX] = "";
	CHECK(milter_reply_code(&reply, &code, text) == (tried.code != 0));
	CHECK(code == tried.code);
	CHECK(std::string(text) == tried.text);
}
