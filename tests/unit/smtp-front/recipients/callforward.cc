// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/smtp-front/recipients/callforward.h"

#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/lib/tmpdir.hh"

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// ---- a next hop that is scripted, in the same loop ----

// Closes the connection after what is in front of it.
static const std::string HANG_UP = "\x01";

class server
{
      public:
	using script = std::function<std::string(const std::string &line)>;

	server(uv_loop_t *loop, script reply) : loop_(loop), reply_(std::move(reply))
	{
		sockaddr_in any = {};
		any.sin_family = AF_INET;
		any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		listener_ = std::make_unique<uv_tcp_t>();
		uv_tcp_init(loop, listener_.get());
		listener_->data = this;
		if (uv_tcp_bind(listener_.get(), reinterpret_cast<sockaddr *>(&any), 0) != 0 ||
		    uv_listen(reinterpret_cast<uv_stream_t *>(listener_.get()), 16,
			      on_connection) != 0)
			throw std::runtime_error("no listener");
	}
	server(const server &) = delete;
	server &operator=(const server &) = delete;

	place address() const
	{
		place where = {};
		int size = sizeof(where.address);
		uv_tcp_getsockname(listener_.get(), reinterpret_cast<sockaddr *>(&where.address),
				   &size);
		where.address_size = static_cast<socklen_t>(size);
		strcpy(where.text, "test");
		return where;
	}
	void hang_up()
	{
		for (auto &c : clients_)
			close_handle(c->tcp);
	}
	void close()
	{
		close_handle(*listener_);
		hang_up();
	}
	unsigned connections() const
	{
		return connections_;
	}
	unsigned count(const std::string &begin) const
	{
		unsigned found = 0;
		for (const auto &line : lines_)
			found += line.rfind(begin, 0) == 0;
		return found;
	}
	const std::vector<std::string> &lines() const
	{
		return lines_;
	}

	std::string banner = "220 mx.example.org ESMTP\r\n";

      private:
	struct client {
		server *owner = nullptr;
		uv_tcp_t tcp = {};
		std::string input;
		char room[4096] = {};
	};

	static void close_handle(uv_tcp_t &tcp)
	{
		auto *handle = reinterpret_cast<uv_handle_t *>(&tcp);
		if (uv_is_closing(handle) == 0)
			uv_close(handle, nullptr);
	}
	static void say(client *c, std::string text)
	{
		const bool ends = text.find(HANG_UP) != std::string::npos;
		text = text.substr(0, text.find(HANG_UP));
		uv_buf_t part = uv_buf_init(text.data(), static_cast<unsigned>(text.size()));
		uv_try_write(reinterpret_cast<uv_stream_t *>(&c->tcp), &part, 1);
		if (ends)
			close_handle(c->tcp);
	}
	static void on_connection(uv_stream_t *listener, int)
	{
		auto *self = static_cast<server *>(listener->data);
		self->connections_++;
		self->clients_.push_back(std::make_unique<client>());
		client *c = self->clients_.back().get();
		c->owner = self;
		uv_tcp_init(self->loop_, &c->tcp);
		c->tcp.data = c;
		uv_tcp_nodelay(&c->tcp, 1);
		uv_accept(listener, reinterpret_cast<uv_stream_t *>(&c->tcp));
		uv_read_start(reinterpret_cast<uv_stream_t *>(&c->tcp), on_room, on_bytes);
		say(c, self->banner);
	}
	static void on_room(uv_handle_t *handle, size_t, uv_buf_t *ret_room)
	{
		auto *c = static_cast<client *>(handle->data);
		*ret_room = uv_buf_init(c->room, sizeof(c->room));
	}
	static void on_bytes(uv_stream_t *stream, ssize_t size, const uv_buf_t *)
	{
		auto *c = static_cast<client *>(stream->data);
		if (size < 0) {
			close_handle(c->tcp);
			return;
		}
		c->input.append(c->room, static_cast<size_t>(size));
		for (size_t end; (end = c->input.find("\r\n")) != std::string::npos;) {
			const std::string line = c->input.substr(0, end);
			c->input.erase(0, end + 2);
			c->owner->lines_.push_back(line);
			if (uv_is_closing(reinterpret_cast<uv_handle_t *>(stream)) == 0)
				say(c, c->owner->reply_(line));
		}
	}

	uv_loop_t *loop_;
	script reply_;
	std::unique_ptr<uv_tcp_t> listener_;
	std::list<std::unique_ptr<client>> clients_;
	std::vector<std::string> lines_;
	unsigned connections_ = 0;
};

// What a good server says; valid recipients begin with "good".
static std::string usual(const std::string &line)
{
	if (line.rfind("EHLO", 0) == 0)
		return "250-mx.example.org\r\n250-PIPELINING\r\n250 SMTPUTF8\r\n";
	if (line.rfind("RCPT TO:<good", 0) == 0)
		return "250 2.1.5 Ok\r\n";
	if (line.rfind("RCPT TO:<busy", 0) == 0)
		return "450 4.2.0 Greylisted\r\n";
	if (line.rfind("RCPT", 0) == 0)
		return "550 5.1.1 User unknown here\r\n";
	if (line == "QUIT")
		return "221 Bye\r\n" + HANG_UP;
	return "250 Ok\r\n";
}

// A server of small means: no extensions.
static std::string plain(const std::string &line)
{
	return line.rfind("EHLO", 0) == 0 ? "502 What?\r\n" : usual(line);
}

// ---- the one who asks ----

struct asker {
	callforward_wait wait = {};
	callforward_answer answer = {};
	unsigned calls = 0;
	std::function<void()> then;
};

static void on_answer(void *context, const callforward_answer *answer)
{
	auto *a = static_cast<asker *>(context);
	a->answer = *answer;
	a->calls++;
	if (a->then)
		a->then();
}

class world
{
      public:
	explicit world(server::script script = usual, unsigned timeout_ms = 30000)
	{
		uv_loop_init(&loop);
		// Without it uv_run() would wait for an event behind the timer that was waited for.
		uv_timer_init(&loop, &pulse);
		uv_timer_start(
			&pulse, [](uv_timer_t *) {}, 1, 1);
		hop = std::make_unique<server>(&loop, std::move(script));
		begin(hop->address(), timeout_ms);
	}
	~world()
	{
		if (forward != nullptr)
			callforward_close(forward);
		hop->close();
		uv_close(reinterpret_cast<uv_handle_t *>(&pulse), nullptr);
		uv_run(&loop, UV_RUN_DEFAULT);
		if (uv_loop_close(&loop) != 0)
			abort();
	}
	world(const world &) = delete;
	world &operator=(const world &) = delete;

	void begin(const place &where, unsigned timeout_ms)
	{
		callforward_setup setup = {};
		setup.hop = &where;
		setup.hostname = "front.example.org";
		setup.timeout_ms = timeout_ms;
		setup.valid_ms = 3600000;
		setup.refused_ms = 300000;
		if (callforward_new(&loop, &setup, &forward) != 0)
			throw std::runtime_error("no call-forward");
	}
	// 0 or -EINPROGRESS.
	int start(asker &a, const std::string &address, bool is_utf8 = false)
	{
		a.wait.callback = on_answer;
		a.wait.context = &a;
		return callforward_ask(forward, address.data(), address.size(), is_utf8, &a.wait,
				       &a.answer);
	}
	void run_until(const std::function<bool()> &is_done)
	{
		while (!is_done())
			uv_run(&loop, UV_RUN_ONCE);
	}
	callforward_answer ask(const std::string &address, bool is_utf8 = false)
	{
		asker a;
		if (start(a, address, is_utf8) == 0)
			return a.answer;
		if (a.calls != 0)
			throw std::runtime_error("called back before it returned");
		run_until([&] { return a.calls > 0; });
		return a.answer;
	}

	uv_loop_t loop;
	uv_timer_t pulse;
	std::unique_ptr<server> hop;
	callforward *forward = nullptr;
};

// ---- answers ----

TEST_CASE("a recipient gets the answer of the next hop, in its own words", "[front][callforward]")
{
	world w(GENERATE(usual, plain));
	const auto good = w.ask("good@example.org");
	CHECK(good.code == 250);
	const auto bad = w.ask("bad@example.org");
	CHECK(bad.code == 550);
	CHECK(std::string(bad.text) == "5.1.1 User unknown here");
	const auto busy = w.ask("busy@example.org");
	CHECK(busy.code == 450);
	CHECK(std::string(busy.text) == "4.2.0 Greylisted");
	CHECK(w.hop->connections() == 1);
	CHECK(w.hop->count("MAIL FROM:<>") == 3);
	w.run_until([&] { return w.hop->count("RSET") == 3; });
	CHECK(w.hop->count("DATA") == 0);
}

TEST_CASE("a permanent answer is not asked again, a temporary one is", "[front][callforward]")
{
	world w;
	for (int i = 0; i < 5; i++) {
		CHECK(w.ask("good@example.org").code == 250);
		CHECK(w.ask("bad@example.org").code == 550);
		CHECK(w.ask("busy@example.org").code == 450);
	}
	CHECK(w.hop->count("RCPT TO:<good@") == 1);
	CHECK(w.hop->count("RCPT TO:<bad@") == 1);
	CHECK(w.hop->count("RCPT TO:<busy@") == 5);
}

TEST_CASE("all requests for one address share one question", "[front][callforward]")
{
	world w;
	std::list<asker> all(100);
	unsigned count = 0;
	for (auto &a : all)
		CHECK(w.start(a, "good" + std::to_string(count++ % 3)) == -EINPROGRESS);
	w.run_until([&] {
		unsigned done = 0;
		for (const auto &a : all)
			done += a.calls;
		return done == 100;
	});
	for (const auto &a : all) {
		CHECK(a.calls == 1);
		CHECK(a.answer.code == 250);
	}
	CHECK(w.hop->count("RCPT") == 3);
}

TEST_CASE("a cancelled request is not called, and the others are", "[front][callforward]")
{
	world w;
	asker one;
	asker two;
	asker three;
	w.start(one, "good@example.org");
	w.start(two, "good@example.org");
	w.start(three, "good@example.org");
	callforward_cancel(&two.wait);
	callforward_cancel(&two.wait);
	// And one that is cancelled by another's callback; the order is nobody's promise.
	one.then = [&] { callforward_cancel(&three.wait); };
	three.then = [&] { callforward_cancel(&one.wait); };
	w.run_until([&] { return one.calls + three.calls > 0; });
	CHECK(w.ask("good2@example.org").code == 250);
	CHECK(two.calls == 0);
	CHECK(one.calls + three.calls == 1);
}

TEST_CASE("a callback may ask again", "[front][callforward]")
{
	world w;
	asker first;
	asker second;
	int again = -1;
	first.then = [&] {
		again = w.start(second, "good@example.org");
		w.start(second, "bad@example.org");
	};
	w.start(first, "good@example.org");
	w.run_until([&] { return second.calls == 1; });
	CHECK(again == 0);
	CHECK(second.answer.code == 550);
}

TEST_CASE("few connections are used, each for a limited number of questions",
	  "[front][callforward]")
{
	world w;
	std::list<asker> all(200);
	unsigned count = 0;
	const std::string kind = GENERATE("good", "bad");
	for (auto &a : all)
		CHECK(w.start(a, kind + std::to_string(count++)) == -EINPROGRESS);
	w.run_until([&] {
		unsigned done = 0;
		for (const auto &a : all)
			done += a.calls;
		return done == 200;
	});
	for (const auto &a : all)
		CHECK(a.answer.code == (kind == "good" ? 250 : 550));
	CHECK(w.hop->count("RCPT") == 200);
	CHECK(w.hop->connections() >= (kind == "good" ? 4 : 25));
	CHECK(w.hop->connections() <= (kind == "good" ? 8 : 32));
}

TEST_CASE("more than can be asked about at once are put off", "[front][callforward]")
{
	world w;
	std::list<asker> all(300);
	unsigned count = 0;
	unsigned put_off = 0;
	for (auto &a : all)
		put_off += w.start(a, "good" + std::to_string(count++)) == 0;
	CHECK(put_off == 300 - 256);
	CHECK(all.back().answer.code == 451);
	CHECK(std::string(all.back().answer.text).rfind("4.3.2 ", 0) == 0);
	w.run_until([&] {
		unsigned done = 0;
		for (const auto &a : all)
			done += a.calls;
		return done == 256;
	});
}

TEST_CASE("an address in UTF-8 is asked about as such, or refused", "[front][callforward]")
{
	SECTION("where it is offered")
	{
		world w;
		CHECK(w.ask("goodü@example.org", true).code == 250);
		CHECK(w.hop->count("MAIL FROM:<> SMTPUTF8") == 1);
	}
	SECTION("where it is not")
	{
		world w(plain);
		const auto answer = w.ask("goodü@example.org", true);
		CHECK(answer.code == 550);
		CHECK(std::string(answer.text).rfind("5.6.7 ", 0) == 0);
		CHECK(w.hop->count("RCPT") == 0);
		CHECK(w.ask("good@example.org").code == 250);
	}
}

TEST_CASE("a reply is printable, cut, and has an enhanced code", "[front][callforward]")
{
	const auto [said, wanted] = GENERATE(table<std::string, std::string>({
		{ "550 No such user\r\n", "5.1.1 No such user" },
		{ "551 5.7.1 no\r\n", "5.7.1 no" },
		{ "554-first line\r\n554 second line\r\n", "5.0.0 first line" },
		{ "550\r\n", "5.1.1 no reason given" },
		{ "550 \xff\x02\t\r\n", "5.1.1 ???" },
		{ "550 4.1.1 odd\r\n", "5.1.1 4.1.1 odd" },
		{ "452 full\n", "4.0.0 full" },
		{ "550 " + std::string(2000, 'x') + "\r\n",
		  "5.1.1 " + std::string(ANSWERS_TEXT_MAX - 6, 'x') },
	}));
	const auto reply = said;
	world w([reply](const std::string &line) {
		return line.rfind("RCPT", 0) == 0 ? reply : usual(line);
	});
	CHECK(std::string(w.ask("somebody@example.org").text) == wanted);
}

// ---- what goes wrong ----

static bool is_unreachable(const callforward_answer &answer)
{
	return answer.code == 451 && std::string(answer.text).rfind("4.4.1 ", 0) == 0;
}

TEST_CASE("nonsense from the next hop refuses no recipient for good", "[front][callforward]")
{
	const std::string said = GENERATE(
		as<std::string>{}, "550 go away\r\n", "421 later\r\n", "HTTP/1.1 200 OK\r\n",
		"220\r\n220 twice\r\n", "220-a\r\n250 b\r\n", "\r\n", "22 x\r\n", "620 x\r\n",
		"220:x\r\n", HANG_UP, "220 x\r\n" + HANG_UP, "2" + HANG_UP);
	CAPTURE(said);
	world w;
	w.hop->banner = said;
	CHECK(is_unreachable(w.ask("good@example.org")));
	// And it is left alone for a while.
	const unsigned connections = w.hop->connections();
	CHECK(is_unreachable(w.ask("good2@example.org")));
	CHECK(w.hop->connections() == connections);
}

TEST_CASE("whatever bytes a next hop sends, each question has one answer", "[front][callforward]")
{
	const auto seed = RANDOM_SEED(20);
	CAPTURE(seed);
	randomness rnd(seed);
	static const std::vector<std::string> pieces = {
		"220 ",
		"250 ",
		"250-",
		"550 ",
		"421 ",
		"45",
		"\r\n",
		"\n",
		"\r",
		"PIPELINING",
		" ",
		"\xff\xfe",
		"x",
		"354 ",
		"-",
		"250\r\n",
		"250 2.1.5 Ok\r\n",
		std::string(3000, 'y'),
		std::string(1, '\0'),
		HANG_UP,
	};
	const auto nonsense = [&] {
		std::string all;
		for (unsigned count = rnd.below(8); count > 0; count--)
			all += pieces[rnd.below(static_cast<unsigned>(pieces.size()))];
		return rnd.one_in(3) ? all : all + "\r\n";
	};
	world w([&](const std::string &line) { return rnd.one_in(2) ? nonsense() : usual(line); },
		10);
	for (int round = 0; round < 8; round++) {
		if (rnd.one_in(4))
			w.hop->banner = nonsense();
		std::list<asker> all(1 + rnd.below(20));
		unsigned waiting = 0;
		for (auto &a : all)
			waiting += w.start(a, "good" + std::to_string(rnd.below(500))) != 0;
		w.run_until([&] {
			unsigned done = 0;
			for (const auto &a : all)
				done += a.calls;
			return done == waiting;
		});
		for (const auto &a : all)
			CHECK((a.answer.code == 250 || a.answer.code >= 400));
	}
}

TEST_CASE("a connection that ends amid a question puts the recipient off", "[front][callforward]")
{
	const std::string at = GENERATE("EHLO", "MAIL", "RCPT");
	const std::string said =
		GENERATE(as<std::string>{}, HANG_UP, "421 4.3.2 later\r\n", "25" + HANG_UP,
			 "250-x\r\n" + HANG_UP, "999 x\r\n", "354 go on\r\n");
	CAPTURE(at, said);
	world w([=](const std::string &line) {
		return line.rfind(at, 0) == 0 ? said : usual(line);
	});
	const auto answer = w.ask("bad@example.org");
	CHECK(is_unreachable(answer));
}

TEST_CASE("what a next hop says before it is asked is no answer", "[front][callforward]")
{
	// Once for a reply to RCPT, and once for the beginning of one.
	const std::string more = GENERATE("250 Ok\r\n", "25");
	CAPTURE(more);
	SECTION("behind its reply to MAIL")
	{
		world w([&](const std::string &line) {
			return line.rfind("MAIL", 0) == 0 ? "250 Ok\r\n" + more : plain(line);
		});
		CHECK(w.ask("good@example.org").code == 451);
	}
	SECTION("behind its greeting")
	{
		world w(plain);
		w.hop->banner += more;
		CHECK(w.ask("good@example.org").code == 451);
	}
	SECTION("while nobody asks")
	{
		world w([&](const std::string &line) {
			return line == "RSET" ? "250 Ok\r\n" + more : plain(line);
		});
		CHECK(w.ask("good@example.org").code == 250);
		CHECK(w.ask("bad@example.org").code == 550);
		CHECK(w.hop->connections() == 2);
	}
}

TEST_CASE("a keyword in a server's name offers nothing", "[front][callforward]")
{
	world w([](const std::string &line) {
		return line.rfind("EHLO", 0) == 0   ? "250 PIPELINING\r\n"
		       : line.rfind("MAIL", 0) == 0 ? "550 5.7.1 No\r\n"
						    : usual(line);
	});
	CHECK(w.ask("good@example.org").code == 451);
	w.run_until([&] { return w.hop->count("RSET") > 0; });
	CHECK(w.hop->count("RCPT") == 0);
}

TEST_CASE("a refusal for the missing sender puts the recipient off", "[front][callforward]")
{
	const bool is_pipelining = GENERATE(true, false);
	world w([=](const std::string &line) -> std::string {
		if (line.rfind("MAIL", 0) == 0)
			return "550 5.7.1 no null senders\r\n";
		if (line.rfind("RCPT", 0) == 0)
			return "503 5.5.1 need MAIL\r\n";
		return is_pipelining ? usual(line) : plain(line);
	});
	const auto answer = w.ask("good@example.org");
	CHECK(answer.code == 451);
	CHECK(std::string(answer.text).rfind("4.3.0 ", 0) == 0);
	CHECK(w.ask("good@example.org").code == 451); // not remembered
	CHECK(w.hop->connections() == 1);
}

TEST_CASE("a connection that was closed while idle is made anew, unnoticed", "[front][callforward]")
{
	world w;
	CHECK(w.ask("good@example.org").code == 250);
	w.run_until([&] { return w.hop->count("RSET") == 1; });
	w.hop->hang_up();
	CHECK(w.ask("good2@example.org").code == 250);
	CHECK(w.hop->connections() == 2);
}

TEST_CASE("a used connection that ends amid a question gets the question asked once more",
	  "[front][callforward]")
{
	unsigned asked = 0;
	world w([&](const std::string &line) -> std::string {
		if (line.rfind("MAIL", 0) == 0 && ++asked == 2)
			return HANG_UP;
		return usual(line);
	});
	CHECK(w.ask("good@example.org").code == 250);
	CHECK(w.ask("good2@example.org").code == 250);
	CHECK(w.hop->connections() == 2);
}

TEST_CASE("a next hop that is silent costs its time and no more", "[front][callforward]")
{
	const std::string at = GENERATE("banner", "EHLO", "MAIL", "RCPT");
	CAPTURE(at);
	bool is_silent = false;
	world w(
		[&](const std::string &line) {
			is_silent = is_silent || line.rfind(at, 0) == 0;
			return is_silent ? std::string() : usual(line);
		},
		20);
	if (at == "banner")
		w.hop->banner.clear();
	asker a;
	asker b;
	w.start(a, "good@example.org");
	w.start(b, "good2@example.org");
	w.run_until([&] { return a.calls + b.calls == 2; });
	CHECK(is_unreachable(a.answer));
	CHECK(is_unreachable(b.answer));
	CHECK(a.calls == 1);
}

TEST_CASE("an answer that came while the loop stood still counts", "[front][callforward]")
{
	// Several seconds, so that a machine that is busy comes as far as that in time.
	const unsigned timeout_ms = 3000;
	unsigned stalls = 0;
	world w(
		[&](const std::string &line) {
			if (line.rfind("RCPT", 0) == 0 && stalls++ == 0)
				uv_sleep(timeout_ms + 1000);
			return usual(line);
		},
		timeout_ms);
	CHECK(w.ask("good@example.org").code == 250);
	CHECK(stalls == 1);
	CHECK(w.hop->connections() == 1);
}

TEST_CASE("a next hop that is not there puts recipients off", "[front][callforward]")
{
	world w;
	const place gone = w.hop->address();
	w.hop->close();
	CHECK(is_unreachable(w.ask("good@example.org")));
	CHECK(is_unreachable(w.ask("good@example.org")));
	(void)gone;
}

TEST_CASE("a path without a listener puts recipients off, after the call has returned",
	  "[front][callforward]")
{
	world w;
	callforward_close(w.forward);
	place where = {};
	auto *local = reinterpret_cast<sockaddr_un *>(&where.address);
	local->sun_family = AF_UNIX;
	strcpy(local->sun_path, "/nowhere/at/all");
	where.address_size = sizeof(*local);
	w.begin(where, 30000);
	asker a;
	CHECK(w.start(a, "good@example.org") == -EINPROGRESS);
	CHECK(a.calls == 0);
	w.run_until([&] { return a.calls > 0; });
	CHECK(is_unreachable(a.answer));
}

TEST_CASE("a path whose backlog is full is tried again, and recipients wait",
	  "[front][callforward]")
{
	const tmpdir directory;
	const std::string path = directory.file("hop");
	place where = {};
	auto *local = reinterpret_cast<sockaddr_un *>(&where.address);
	local->sun_family = AF_UNIX;
	path.copy(local->sun_path, sizeof(local->sun_path) - 1);
	where.address_size = sizeof(*local);
	const auto *address = reinterpret_cast<const sockaddr *>(&where.address);
	const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int before = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(bind(listener, address, sizeof(*local)) == 0);
	REQUIRE(listen(listener, 0) == 0);
	REQUIRE(connect(before, address, sizeof(*local)) == 0);
	world w;
	callforward_close(w.forward);
	w.begin(where, 30000);
	asker a;
	CHECK(w.start(a, "good@example.org") == -EINPROGRESS);
	for (int i = 0; i < 20; i++)
		uv_run(&w.loop, UV_RUN_ONCE);
	CHECK(a.calls == 0);
	close(accept(listener, nullptr, nullptr));
	int fd = -1;
	fcntl(listener, F_SETFL, O_NONBLOCK);
	w.run_until([&] { return a.calls > 0 || (fd = accept(listener, nullptr, nullptr)) >= 0; });
	CHECK(fd >= 0);
	CHECK(a.calls == 0);
	for (int one : { fd, before, listener })
		close(one);
}

TEST_CASE("a server that takes one connection gets all questions by it", "[front][callforward]")
{
	world w;
	w.hop->banner = "220 mx\r\n";
	asker first;
	w.start(first, "good@example.org");
	w.run_until([&] { return first.calls > 0; });
	w.hop->banner = "421 too many connections\r\n" + HANG_UP;
	std::list<asker> all(30);
	unsigned count = 0;
	for (auto &a : all)
		w.start(a, "good" + std::to_string(count++));
	w.run_until([&] {
		unsigned done = 0;
		for (const auto &a : all)
			done += a.calls;
		return done == 30;
	});
	for (const auto &a : all)
		CHECK(a.answer.code == 250);
	CHECK(w.hop->connections() <= 8);
}

TEST_CASE("closing calls no callback, in every state", "[front][callforward]")
{
	const unsigned rounds = GENERATE(0u, 1u, 2u, 3u, 4u, 6u, 8u, 12u);
	CAPTURE(rounds);
	asker a;
	asker b;
	{
		world w;
		w.start(a, "good@example.org");
		w.start(b, "bad@example.org");
		for (unsigned i = 0; i < rounds; i++)
			uv_run(&w.loop, UV_RUN_NOWAIT);
		a.calls = b.calls = 0;
		callforward_close(w.forward);
		w.forward = nullptr;
		callforward_cancel(&a.wait);
	}
	CHECK(a.calls + b.calls == 0);
}

// ---- the table ----

TEST_CASE("an answer is remembered until its time", "[front][answers]")
{
	answers *table = nullptr;
	REQUIRE(answers_new(1, &table) == 0);
	callforward_answer answer = { 250, "2.1.5 Ok" };
	callforward_answer found = {};
	answers_put(table, "a@b", 3, false, &answer, 100, 200);
	CHECK(answers_find(table, "a@b", 3, false, 100, &found));
	CHECK(std::string(found.text) == "2.1.5 Ok");
	CHECK(answers_find(table, "a@b", 3, false, 199, &found));
	CHECK_FALSE(answers_find(table, "a@b", 3, false, 200, &found));
	CHECK_FALSE(answers_find(table, "a@b", 3, true, 100, &found));
	CHECK_FALSE(answers_find(table, "a@", 2, false, 100, &found));
	answer.code = 550;
	answers_put(table, "a@b", 3, false, &answer, 150, 300);
	CHECK(answers_find(table, "a@b", 3, false, 250, &found));
	CHECK(found.code == 550);
	answers_free(table);
}

TEST_CASE("a full table forgets what ends first, and never mixes two up", "[front][answers]")
{
	answers *table = nullptr;
	REQUIRE(answers_new(7, &table) == 0);
	for (int i = 0; i < 20000; i++) {
		const std::string address = "user" + std::to_string(i) + "@example.org";
		const callforward_answer answer = { 250 + i % 300, "" };
		answers_put(table, address.data(), address.size(), false, &answer, 1,
			    static_cast<uint64_t>(1000 + i));
	}
	unsigned known = 0;
	unsigned wrong = 0;
	unsigned late = 0;
	for (int i = 0; i < 20000; i++) {
		const std::string address = "user" + std::to_string(i) + "@example.org";
		callforward_answer found = {};
		if (!answers_find(table, address.data(), address.size(), false, 1, &found))
			continue;
		known++;
		wrong += found.code != 250 + i % 300;
		late += i >= 10000;
	}
	CHECK(known > 3900);
	CHECK(known <= ANSWERS_SETS * ANSWERS_WAYS);
	CHECK(wrong == 0);
	CHECK(late > known * 9 / 10);
	answers_free(table);
}
