// SPDX-License-Identifier: GPL-3.0-or-later
// Peers, before a server that the test itself is.
#include "integration/mail/base/peers/peer.h"
#include "integration/mail/base/peers/peer_parts.h"

#include "lib/process/clock.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace
{

constexpr unsigned TIMEOUT_MS = 600000; // of all that is not about time
constexpr int DEADLINE_MS = 60000;

using owned_peer = std::unique_ptr<peer, decltype(&peer_close)>;

class server
{
      public:
	server()
	{
		sockaddr_un address = {};
		address.sun_family = AF_UNIX;
		std::strcpy(address.sun_path, path.c_str());
		listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		REQUIRE(bind(listening, reinterpret_cast<sockaddr *>(&address), sizeof(address)) ==
			0);
		REQUIRE(listen(listening, 4) == 0);
	}
	~server()
	{
		hang_up();
		close(listening);
	}
	server(const server &) = delete;
	server &operator=(const server &) = delete;

	owned_peer open(scan_peer kind, const scan_envelope *envelope = nullptr,
			unsigned timeout_ms = TIMEOUT_MS)
	{
		peer *opened = nullptr;
		REQUIRE(peer_open(kind, path.c_str(), envelope, timeout_ms, &opened) == 0);
		fd = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
		REQUIRE(fd >= 0);
		return { opened, peer_close };
	}

	void say(const std::string &text) const
	{
		REQUIRE(send(fd, text.data(), text.size(), MSG_NOSIGNAL) ==
			static_cast<ssize_t>(text.size()));
	}

	// What has come up to now.
	std::string hear() const
	{
		std::string text;
		char bytes[65536];
		ssize_t got;
		while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
			text.append(bytes, static_cast<size_t>(got));
		return text;
	}

	void hang_up()
	{
		if (fd >= 0)
			close(fd);
		fd = -1;
	}

	// Hears while the peer says what it has kept.
	std::string hear_all(peer *other) const
	{
		std::string text = hear();
		for (std::string more = " "; !more.empty(); text += more) {
			peer_turn(other);
			more = hear();
		}
		return text;
	}

      private:
	tmpdir directory;
	std::string path = directory.path() + "/peer";
	int listening = -1;
	int fd = -1;
};

void push(const owned_peer &peer, const std::string &text)
{
	peer_push(peer.get(), reinterpret_cast<const uint8_t *>(text.data()), text.size());
}

std::string verdict(const owned_peer &peer)
{
	if (peer_state(peer.get()) == PEER_FAILED)
		return std::string("failed: ") + peer_reason(peer.get());
	if (peer_state(peer.get()) != PEER_DONE)
		return "none";
	const struct peer_verdict *said = ::peer_verdict(peer.get());
	static const char *const words[] = { "accept", "mark", "quarantine", "defer", "reject" };
	return std::string(words[said->action]) + (said->is_found ? " found " : " ") + said->name;
}

std::string turn(const owned_peer &peer)
{
	peer_turn(peer.get());
	return verdict(peer);
}

std::string number(size_t value)
{
	return { static_cast<char>(value >> 24), static_cast<char>(value >> 16),
		 static_cast<char>(value >> 8), static_cast<char>(value) };
}

std::string chunk(const std::string &text)
{
	return number(text.size()) + text;
}

const std::string COMMAND("zINSTREAM\0", 10);

std::string zero(const std::string &text)
{
	return text + '\0';
}

} // namespace

// ---- all kinds ----

TEST_CASE("a peer that is not there has failed, with a reason", "[scan][peer]")
{
	const auto kind = GENERATE(SCAN_CLAMD, SCAN_RSPAMD, SCAN_MILTER);
	const tmpdir directory;
	peer *opened = nullptr;
	REQUIRE(peer_open(kind, (directory.path() + "/none").c_str(), nullptr, TIMEOUT_MS,
			  &opened) == 0);
	const owned_peer peer{ opened, peer_close };
	CHECK(verdict(peer) == "failed: connect: No such file or directory");
	short events = 1;
	CHECK(peer_fd(peer.get(), &events) == -1);
	CHECK(events == 0);
	CHECK(peer_deadline_ms(peer.get()) == UINT64_MAX);
	push(peer, "bytes");
	peer_end(peer.get());
	peer_turn(peer.get());
	CHECK(peer_state(peer.get()) == PEER_FAILED);
}

TEST_CASE("a port where no program listens is a peer that has failed", "[scan][peer]")
{
	sockaddr_in address = {};
	socklen_t size = sizeof(address);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(bind(bound, reinterpret_cast<sockaddr *>(&address), size) == 0);
	REQUIRE(getsockname(bound, reinterpret_cast<sockaddr *>(&address), &size) == 0);
	const std::string place = "127.0.0.1@" + std::to_string(ntohs(address.sin_port));
	peer *opened = nullptr;
	REQUIRE(peer_open(SCAN_CLAMD, place.c_str(), nullptr, TIMEOUT_MS, &opened) == 0);
	const owned_peer peer{ opened, peer_close };
	for (unsigned i = 0; peer_state(peer.get()) == PEER_BUSY && i < 1000; i++) {
		pollfd ready = {};
		ready.fd = peer_fd(peer.get(), &ready.events);
		REQUIRE(poll(&ready, 1, DEADLINE_MS) > 0);
		peer_turn(peer.get());
	}
	CHECK(verdict(peer) == "failed: connect: Connection refused");
	close(bound);
}

TEST_CASE("a peer that closes has failed, whenever it does", "[scan][peer]")
{
	const auto kind = GENERATE(SCAN_CLAMD, SCAN_RSPAMD, SCAN_MILTER);
	const bool is_ended = GENERATE(false, true);
	server server;
	const auto peer = server.open(kind);
	if (is_ended)
		peer_end(peer.get());
	server.hear();
	server.hang_up();
	CHECK(turn(peer) == "failed: connection was closed");
}

TEST_CASE("a peer that takes too long has failed", "[scan][peer]")
{
	const auto kind = GENERATE(SCAN_CLAMD, SCAN_RSPAMD, SCAN_MILTER);
	server server;
	const auto peer = server.open(kind, nullptr, 1);
	if (kind == SCAN_MILTER)
		push(peer, "A: b\r\n"); // waits for the reply to the negotiation
	else
		peer_end(peer.get());
	REQUIRE(peer_deadline_ms(peer.get()) != UINT64_MAX);
	while (clock_now_ms() < peer_deadline_ms(peer.get()))
		poll(nullptr, 0, 1);
	CHECK_THAT(turn(peer), Catch::Matchers::EndsWith(": time is over"));
}

TEST_CASE("a peer that takes nothing is busy, and its time runs", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_CLAMD);
	const std::string piece(SCAN_PIECE_MAX, 'x');
	CHECK(peer_deadline_ms(peer.get()) == UINT64_MAX);
	size_t sent = 0;
	for (; peer_state(peer.get()) == PEER_OPEN && sent < 10000; sent++)
		push(peer, piece);
	REQUIRE(peer_state(peer.get()) == PEER_BUSY);
	CHECK(peer_deadline_ms(peer.get()) != UINT64_MAX);
	short events = 0;
	CHECK(peer_fd(peer.get(), &events) >= 0);
	CHECK(events == (POLLIN | POLLOUT));
	peer_end(peer.get());
	const std::string heard = server.hear_all(peer.get());
	std::string expected = COMMAND;
	for (size_t i = 0; i < sent; i++)
		expected += chunk(piece);
	CHECK((heard == expected + number(0)));
	server.say(zero("stream: OK"));
	CHECK(turn(peer) == "accept ");
}

// ---- clamd ----

TEST_CASE("clamd has a mail in chunks and says what it is", "[scan][peer]")
{
	struct row {
		std::string reply;
		const char *expected;
	};
	const auto tried = GENERATE(values<row>({
		{ zero("stream: OK"), "accept " },
		{ zero("stream: Some.Name FOUND"), "reject found Some.Name" },
		{ zero("Some error. ERROR"), "failed: Some error. ERROR" },
		{ zero("what"), "failed: reply is none" },
		{ std::string(2000, 'x'), "failed: reply is too long" },
	}));
	server server;
	const auto peer = server.open(SCAN_CLAMD);
	CHECK(peer_state(peer.get()) == PEER_OPEN);
	push(peer, "one");
	push(peer, "");
	push(peer, "three");
	CHECK(peer_state(peer.get()) == PEER_OPEN);
	peer_end(peer.get());
	CHECK(peer_state(peer.get()) == PEER_BUSY);
	CHECK((server.hear() == COMMAND + chunk("one") + chunk("three") + number(0)));
	for (const char c : tried.reply.substr(0, tried.reply.size() - 1)) {
		CHECK(peer_state(peer.get()) != PEER_OPEN);
		if (peer_state(peer.get()) != PEER_BUSY)
			break;
		server.say(std::string(1, c));
		peer_turn(peer.get());
	}
	if (peer_state(peer.get()) == PEER_BUSY)
		server.say(tried.reply.substr(tried.reply.size() - 1));
	CHECK(turn(peer) == tried.expected);
}

TEST_CASE("clamd has enough before the end", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_CLAMD);
	push(peer, "one");
	const auto [reply, expected] = GENERATE(table<const char *, const char *>({
		{ "stream: Some.Name FOUND", "reject found Some.Name" },
		{ "INSTREAM size limit exceeded. ERROR",
		  "failed: INSTREAM size limit exceeded. ERROR" },
		{ "stream: OK", "failed: \"OK\" came before the end of the mail" },
	}));
	server.say(zero(reply));
	// With bytes that it has not read, and at the end of the next write.
	server.hang_up();
	push(peer, "two");
	CHECK(verdict(peer) == expected);
	push(peer, "three");
	peer_end(peer.get());
	CHECK(turn(peer) == expected);
}

// ---- rspamd ----

TEST_CASE("rspamd has the envelope in fields, and a mail in chunks", "[scan][peer]")
{
	const char *recipients[] = { "a@b", "c\r\nX: y" };
	const scan_envelope envelope = { "192.0.2.1", "helo.example", "s@example.org", recipients,
					 2,	      "id1" };
	server server;
	const auto peer = server.open(SCAN_RSPAMD, &envelope);
	push(peer, "A: b\r\n\r\n");
	push(peer, std::string(300, 'x'));
	peer_end(peer.get());
	CHECK(server.hear() ==
	      "POST /checkv2 HTTP/1.1\r\nHost: rspamd\r\nConnection: close\r\n"
	      "Transfer-Encoding: chunked\r\nIP: 192.0.2.1\r\nHelo: helo.example\r\n"
	      "Queue-Id: id1\r\nFrom: s@example.org\r\nRcpt: a@b\r\n"
	      "Rcpt: c??X: y\r\n\r\n"
	      "8\r\nA: b\r\n\r\n\r\n12c\r\n" +
		      std::string(300, 'x') + "\r\n0\r\n\r\n");
}

TEST_CASE("rspamd with thousands of recipients is told of some", "[scan][peer]")
{
	const std::string recipient(250, 'r');
	const std::vector<const char *> recipients(5000, recipient.c_str());
	const scan_envelope envelope = {
		nullptr, nullptr, nullptr, recipients.data(), 5000, nullptr
	};
	server server;
	const auto peer = server.open(SCAN_RSPAMD, &envelope);
	const std::string heard = server.hear_all(peer.get());
	CHECK(heard.size() > 60000);
	CHECK(heard.substr(heard.size() - 8) == "rrrr\r\n\r\n");
	CHECK(peer_state(peer.get()) == PEER_OPEN);
}

TEST_CASE("what rspamd wants done is an action of ours", "[scan][peer]")
{
	const auto [json, expected] = GENERATE(table<std::string, const char *>({
		{ "{\"action\":\"no action\"}", "accept " },
		{ "{\"action\":\"greylist\"}", "accept " },
		{ "{\"action\":\"add header\"}", "mark add header" },
		{ "{\"action\":\"rewrite subject\"}", "mark rewrite subject" },
		{ "{\"action\":\"soft reject\"}", "defer soft reject" },
		{ "{\"action\":\"soft reject\",\"messages\":{\"smtp_message\":\"Wait\"}}",
		  "defer Wait" },
		{ "{\"action\":\"reject\"}", "reject reject" },
		{ "{\"messages\":{\"smtp_message\":\"Spam\"},\"action\":\"reject\"}",
		  "reject Spam" },
		{ "{\"action\":\"quarantine\"}", "reject found quarantine" },
		{ "{\"action\":\"discard\"}", "reject discard" },
		{ "{\"action\":\"ours\"}", "mark ours" },
		{ "{\"action\":", "failed: connection was closed" },
		{ "no", "failed: reply is none" },
	}));
	server server;
	const auto peer = server.open(SCAN_RSPAMD);
	peer_end(peer.get());
	server.hear();
	server.say("HTTP/1.1 200 OK\r\n\r\n" + json);
	peer_turn(peer.get());
	server.hang_up();
	CHECK(turn(peer) == expected);
}

TEST_CASE("rspamd that has no verdict has failed", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_RSPAMD);
	SECTION("another status of HTTP")
	{
		peer_end(peer.get());
		server.say("HTTP/1.1 403 Unauthorized\r\nContent-Length: 2\r\n\r\n{}");
		CHECK(turn(peer) == "failed: HTTP status is 403");
	}
	SECTION("before the end of the mail")
	{
		push(peer, "A: b\r\n");
		server.say(
			"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"action\":\"no action\"}");
		CHECK(turn(peer) == "failed: a reply came before the end of the mail");
	}
}

// ---- milters ----

namespace
{

std::string packet(char letter, const std::string &data = "")
{
	return number(data.size() + 1) + letter + data;
}

constexpr uint32_t NO_REPLIES = 0xdf080; // to all but the options and the end
constexpr uint32_t SKIP = 0x400;
const std::string OPTIONS = packet('O', number(6) + number(0x1ff) + number(0x1ff7ff));
const std::string CONTINUE = packet('c');

std::string options(uint32_t steps, uint32_t version = 6)
{
	return packet('O', number(version) + number(0) + number(steps));
}

std::string two(const std::string &one, const std::string &other)
{
	return zero(one) + zero(other);
}

// The milter has said its options; what it hears then, each step answered by "continue".
std::string hear_steps(const server &server, const owned_peer &peer)
{
	std::string text;
	for (std::string more = " "; !more.empty(); text += more) {
		peer_turn(peer.get());
		more = server.hear();
		if (!more.empty() && more[more.size() - 1] != 'E')
			server.say(CONTINUE);
	}
	return text;
}

const char *const RECIPIENTS[] = { "a@b", "c@d" };
const scan_envelope ENVELOPE = {
	"192.0.2.1", "helo.example", "s@example.org", RECIPIENTS, 2, "id1"
};
const std::string MAIL = "Subject: x\r\n y\r\nTo:z\r\n\r\nbody\r\n";

} // namespace

TEST_CASE("a milter has a mail step by step, and waits in between", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_MILTER, &ENVELOPE);
	CHECK((server.hear() == OPTIONS));
	CHECK(peer_state(peer.get()) == PEER_OPEN);
	push(peer, MAIL);
	CHECK(peer_state(peer.get()) == PEER_BUSY);
	peer_end(peer.get());
	server.say(options(0));
	peer_turn(peer.get());
	const std::string first = server.hear();
	CHECK((first == packet('D', "C" + two("{client_addr}", "192.0.2.1")) +
				packet('C', zero("[192.0.2.1]") + "4" + std::string(2, '\0') +
						    zero("192.0.2.1"))));
	server.say(CONTINUE);
	const std::string expected =
		packet('H', zero("helo.example")) + packet('D', "M" + two("i", "id1")) +
		packet('D', "M" + two("{mail_addr}", "s@example.org")) +
		packet('M', zero("<s@example.org>")) +
		packet('D', "R" + two("{rcpt_addr}", "a@b")) + packet('R', zero("<a@b>")) +
		packet('D', "R" + two("{rcpt_addr}", "c@d")) + packet('R', zero("<c@d>")) +
		packet('D', "T" + two("i", "id1")) + packet('T') +
		packet('L', two("Subject", "x\n y")) + packet('L', two("To", "z")) + packet('N') +
		packet('B', "body\r\n") + packet('D', "E" + two("i", "id1")) + packet('E');
	CHECK((hear_steps(server, peer) == expected));
	CHECK(verdict(peer) == "none");
	server.say(packet('p') + packet('h', two("X-A", "b")) + CONTINUE);
	CHECK(turn(peer) == "accept ");
	CHECK((server.hear() == packet('Q')));
}

TEST_CASE("a turn ends before a peer that says more and more", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_MILTER, &ENVELOPE);
	server.hear();
	push(peer, MAIL);
	server.say(options(0));
	(void)server.hear_all(peer.get());
	std::string progress;
	for (unsigned i = 0; i < 16000; i++)
		progress += packet('p');
	server.say(progress);
	CHECK(turn(peer) == "none");
	short events = 0;
	char byte = 0;
	CHECK(recv(peer_fd(peer.get(), &events), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1);
	CHECK((events & POLLIN) != 0);
	for (unsigned i = 0; i < 100; i++)
		CHECK(turn(peer) == "none");
	CHECK(recv(peer_fd(peer.get(), &events), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0);
}

TEST_CASE("a milter is left out of the steps that it does not want", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_MILTER, &ENVELOPE);
	server.hear();
	push(peer, MAIL);
	peer_end(peer.get());
	SECTION("all")
	{
		server.say(options(0x27f));
		CHECK((server.hear_all(peer.get()) ==
		       packet('D', "E" + two("i", "id1")) + packet('E')));
	}
	SECTION("no replies, and blanks")
	{
		server.say(options(NO_REPLIES | 0x100000 | 0x20f));
		CHECK((server.hear_all(peer.get()) ==
		       packet('L', two("Subject", " x\n y")) + packet('L', two("To", "z")) +
			       packet('N') + packet('B', "body\r\n") +
			       packet('D', "E" + two("i", "id1")) + packet('E')));
	}
	server.say(CONTINUE);
	CHECK(turn(peer) == "accept ");
}

TEST_CASE("a milter's replies are verdicts", "[scan][peer]")
{
	struct row {
		std::string reply;
		const char *expected;
	};
	const auto tried = GENERATE(values<row>({
		{ packet('a'), "accept " },
		{ packet('r'), "reject rejected by policy" },
		{ packet('t'), "defer not now, by policy" },
		{ packet('4'), "defer not now, by policy" },
		{ packet('d'), "reject rejected by policy" },
		{ packet('y', zero("550 5.7.1 Bad")), "reject Bad" },
		{ packet('y', zero("451 4.7.1 Wait")), "defer Wait" },
		{ packet('y', zero("250 Fine")), "failed: reply code is none" },
		{ packet('q', zero("virus")) + packet('c'), "reject found virus" },
		{ packet('q', zero("virus")) + packet('a'), "reject found virus" },
		{ packet('q', zero("virus")) + packet('t'), "defer not now, by policy" },
		{ packet('b', "other body") + packet('c'), "accept " },
		{ packet('c') + packet('c'), "accept " },
		{ packet('s'), "failed: a reply that does not belong there" },
		{ packet('O'), "failed: a reply that does not belong there" },
		{ packet('\0'), "failed: a reply that does not belong there" },
		{ number(0), "failed: a packet's size is none" },
		{ number(0x10000000), "failed: a packet's size is none" },
	}));
	server server;
	const auto peer = server.open(SCAN_MILTER);
	push(peer, MAIL);
	peer_end(peer.get());
	server.say(options(0x27f));
	peer_turn(peer.get());
	CHECK(verdict(peer) == "none");
	server.say(tried.reply);
	CHECK(turn(peer) == tried.expected);
}

TEST_CASE("a milter that negotiates what was not offered has failed", "[scan][peer]")
{
	const auto [reply, expected] = GENERATE(table<std::string, const char *>({
		{ CONTINUE, "failed: no reply to the negotiation" },
		{ packet('O', "short"), "failed: no reply to the negotiation" },
		{ options(0, 1), "failed: version 1 of the protocol" },
		{ options(0, 7), "failed: version 7 of the protocol" },
		{ options(0x80000000),
		  "failed: steps 0x80000000 of the protocol were not offered" },
	}));
	server server;
	const auto peer = server.open(SCAN_MILTER);
	server.say(reply);
	CHECK(turn(peer) == expected);
}

TEST_CASE("a milter decides before the end", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_MILTER, &ENVELOPE);
	server.say(options(0x37)); // HELO and the header are left
	peer_turn(peer.get());
	CHECK(peer_state(peer.get()) == PEER_OPEN);
	server.say(packet('r'));
	CHECK(turn(peer) == "none"); // of one recipient
	SECTION("when it refuses all recipients")
	{
		server.say(packet('t'));
		CHECK(turn(peer) == "reject rejected by policy");
	}
	SECTION("but not of some")
	{
		server.say(CONTINUE);
		CHECK(turn(peer) == "none");
		CHECK(peer_state(peer.get()) == PEER_OPEN);
		server.say(packet('t')); // to DATA
		CHECK(turn(peer) == "defer not now, by policy");
	}
}

TEST_CASE("a milter has had enough of a body", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_MILTER);
	server.say(options(0x26f));
	peer_turn(peer.get());
	server.hear();
	push(peer, "\r\n" + std::string(SCAN_PIECE_MAX - 2, 'x'));
	CHECK((server.hear_all(peer.get()) == packet('B', std::string(SCAN_PIECE_MAX - 2, 'x'))));
	CHECK(peer_state(peer.get()) == PEER_OPEN);
	push(peer, std::string(SCAN_PIECE_MAX, 'y'));
	CHECK(peer_state(peer.get()) == PEER_BUSY);
	server.say(packet('s'));
	CHECK(turn(peer) == "none");
	CHECK(peer_state(peer.get()) == PEER_OPEN);
	CHECK(server.hear().empty());
	peer_end(peer.get());
	CHECK((server.hear() == packet('E')));
	server.say(CONTINUE);
	CHECK(turn(peer) == "accept ");
}

TEST_CASE("a body larger than a packet goes in two", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_MILTER);
	server.say(options(0x20f | NO_REPLIES | SKIP));
	peer_turn(peer.get());
	push(peer, "\r\n");
	push(peer, std::string(SCAN_PIECE_MAX, 'y'));
	peer_end(peer.get());
	CHECK((server.hear_all(peer.get()) == OPTIONS + packet('N') +
						      packet('B', std::string(65535, 'y')) +
						      packet('B', "y") + packet('E')));
}

TEST_CASE("a milter that says too much has failed", "[scan][peer]")
{
	server server;
	const auto peer = server.open(SCAN_MILTER);
	server.say(options(0x27f));
	CHECK(turn(peer) == "none");
	server.say(CONTINUE);
	CHECK(turn(peer) == "failed: a reply came that was not asked for");
}
