// SPDX-License-Identifier: GPL-3.0-or-later
// An edge with a protocol of a few words: what base does for any, and what no client of SMTP sees.
#include "integration/mail/base/edge/channel.h"
#include "integration/mail/base/edge/edge.h"
#include "integration/mail/base/edge/exchange.h"
#include "integration/mail/base/edge/handout.h"
#include "integration/mail/base/edge/session.h"
#include "tests/lib/child.hh"
#include "tests/unit/mail-base/tls_fixture.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>

#include <atomic>

namespace
{

using namespace front;

// ---- a protocol ----
//
//     HI       says "hi"
//     ASK      says "asking", then what another says about it a moment later: "answer"
//     KNOWN    the same, but the answer is there at once
//     NEVER    the same, but none comes
//     TLS      says "go", and is for the handshake
//     GO       goes to a worker
//     QUIT     says "bye"

// What the edge's process has counted, in memory of both.
struct observed {
	std::atomic<unsigned> events[EDGE_EVENT_COUNT];
	std::atomic<unsigned> gauges[EDGE_GAUGE_COUNT];
	std::atomic<unsigned> cancelled;
	std::atomic<unsigned> opened; // session parts that were not zero
	char end[16];
};

struct word_edge {
	edge base;
	uv_timer_t answer;
	session *asked;
};

struct word_session {
	session base;
	unsigned command_count;
	bool is_known;
	bool is_never;
	bool has_tls;
};

union word_far {
	struct session_far far;
	session_kept kept;
};

observed *observed_of(const edge *of)
{
	return static_cast<observed *>(of->own);
}

word_session *word_of(session *of)
{
	return reinterpret_cast<word_session *>(of);
}

void say(session *to, const std::string &text)
{
	channel_say(to, text.data(), text.size());
}

void answer_now(session *to)
{
	exchange_take_up(to);
	say(to, "answer\r\n");
	exchange_go_on(to);
}

void answer_on_timer(uv_timer_t *timer)
{
	auto *own = static_cast<word_edge *>(timer->data);
	session *asked = own->asked;
	own->asked = nullptr;
	answer_now(asked);
	session_take_event_time(asked);
}

int open_handles(edge *of)
{
	auto *own = reinterpret_cast<word_edge *>(of);
	own->answer.data = own;
	return uv_timer_init(&of->loop, &own->answer);
}

void close_handles(edge *of)
{
	uv_close(reinterpret_cast<uv_handle_t *>(&reinterpret_cast<word_edge *>(of)->answer),
		 nullptr);
}

void open_session(session *of)
{
	if (word_of(of)->command_count != 0 || word_of(of)->has_tls)
		observed_of(of->edge)->opened++;
}

void greet(session *to)
{
	char text[128];
	const uint8_t *ip = to->facts.client_ip.bytes;
	snprintf(text, sizeof(text), "banner %u.%u.%u.%u %u %s\r\n", ip[12], ip[13], ip[14], ip[15],
		 to->facts.client_port, word_of(to)->has_tls ? "tls" : "clear");
	say(to, text);
}

void act(session *of, const std::string &command)
{
	word_session *own = word_of(of);
	if (command == "HI") {
		say(of, "hi\r\n");
	} else if (command == "ASK" || command == "KNOWN" || command == "NEVER") {
		say(of, "asking\r\n");
		own->is_known = command == "KNOWN";
		own->is_never = command == "NEVER";
		of->next = NEXT_ASK;
	} else if (command == "TLS") {
		say(of, "go\r\n");
		of->next = NEXT_TLS;
	} else if (command == "GO") {
		of->trusted_ms = session_now(of);
		of->next = NEXT_QUEUE;
	} else {
		say(of, "bye\r\n");
		of->next = NEXT_CLOSE;
		of->end = "quit";
	}
}

bool take(session *of)
{
	edge *own = of->edge;
	const auto *bytes = reinterpret_cast<const char *>(own->in + own->in_start);
	const size_t size = own->in_end - own->in_start;
	const auto *end = static_cast<const char *>(memchr(bytes, '\n', size));
	if (end == nullptr)
		return false;
	own->in_start += static_cast<size_t>(end - bytes) + 1;
	word_of(of)->command_count++;
	act(of, std::string(bytes, static_cast<size_t>(end - bytes) - 1));
	return true;
}

void ask(session *of)
{
	auto *own = reinterpret_cast<word_edge *>(of->edge);
	if (word_of(of)->is_known) {
		answer_now(of);
		return;
	}
	exchange_wait(of, 60000);
	if (word_of(of)->is_never)
		return;
	own->asked = of;
	uv_timer_start(&own->answer, answer_on_timer, 1, 0);
}

// Is called for an answer that has come, too: its session leaves the phase.
void cancel(session *of)
{
	if (word_of(of)->is_never)
		observed_of(of->edge)->cancelled++;
}

void on_tls(session *of)
{
	word_of(of)->has_tls = true;
}

void on_verdict(session *of)
{
	(void)of;
}

size_t refuse(edge *of, session *to, edge_refusal refusal, char *ret_text)
{
	(void)of;
	(void)to;
	return static_cast<size_t>(sprintf(ret_text, "refused %d\r\n", refusal));
}

int hand_over(session *of, const handover_fds *fds)
{
	const session_facts facts = handout_facts(of);
	char text[EDGE_IN_SIZE + 64];
	const int size = snprintf(text, sizeof(text), "%llu %.*s",
				  static_cast<unsigned long long>(facts.bytes_in),
				  static_cast<int>(of->in_size),
				  reinterpret_cast<const char *>(session_far(of)->kept.in));
	return handover_send(of->edge->child->queue_fd, reinterpret_cast<uint8_t *>(text),
			     static_cast<size_t>(size), fds);
}

void log_end(const session *of, const char *end)
{
	snprintf(observed_of(of->edge)->end, sizeof(observed::end), "%s", end);
}

void count(edge *of, edge_event event)
{
	observed_of(of)->events[event]++;
}

void set(edge *of, edge_gauge gauge, unsigned value)
{
	observed_of(of)->gauges[gauge] = value;
}

edge_protocol protocol_of_words()
{
	edge_protocol made = {};
	made.context = "words";
	made.edge_size = sizeof(word_edge);
	made.near_size = sizeof(word_session);
	made.far_size = sizeof(word_far);
	made.message_least = 512;
	made.open_handles = open_handles;
	made.close_handles = close_handles;
	made.open = open_session;
	made.greet = greet;
	made.take = take;
	made.ask = ask;
	made.cancel = cancel;
	made.on_tls = on_tls;
	made.on_verdict = on_verdict;
	made.refuse = refuse;
	made.hand_over = hand_over;
	made.log_end = log_end;
	made.count = count;
	made.set = set;
	return made;
}

// ---- an edge of it ----

enum { CLEAR, TLS }; // its places

networks nets(const std::string &text)
{
	networks made = {};
	networks_error error;
	if (networks_parse(text.data(), text.size(), &made, &error) != 0)
		throw std::runtime_error(error.reason);
	return made;
}

class words
{
      public:
	edge_rules rules = {};
	observed *seen;
	int queue[2] = { -1, -1 };

	words()
	{
		certificates_.add(make_key("EC"), "pop.example");
		seen = static_cast<observed *>(mmap(nullptr, sizeof(observed),
						    PROT_READ | PROT_WRITE,
						    MAP_SHARED | MAP_ANONYMOUS, -1, 0));
		for (int place : { CLEAR, TLS })
			listeners_[place] = listen_somewhere();
		REQUIRE(handover_open(65536, queue) == 0);
		REQUIRE(scoreboard_open(2, &scoreboard_) == 0);
		scoreboard_set(scoreboard_, SCOREBOARD_IDLE, 1, true);
		rules.sessions_max = 16;
		rules.edges = 1;
		rules.drain_ms = 60000;
		rules.network.prefix_ipv4 = 24;
		rules.network.prefix_ipv6 = 56;
		rules.network.site_multiple = 1;
		rules.judge = &judge_;
		rules.command_timeout_ms = 60000;
		rules.stress_timeout_ms = 60000;
		rules.queue_timeout_ms = 60000;
		rules.worker_silence_ms = 60000;
		rules.certificate_count = 1;
		rules.tls_places = 1U << TLS;
	}
	~words()
	{
		process_.reset();
		tls_.reset();
		for (int fd : { listeners_[0], listeners_[1], queue[0], queue[1] })
			close(fd);
		scoreboard_close(scoreboard_);
		networks_deinit(&rules.proxy);
		munmap(seen, sizeof(observed));
	}
	words(const words &) = delete;
	words &operator=(const words &) = delete;

	void begin()
	{
		tls_ = std::make_unique<tls_edge>(certificates_);
		chains_ = std::make_unique<chains>(certificates_);
		rules.chains = chains_->get();
		process_ = std::make_unique<child>([this] { return run(); });
	}
	int connect_to(int place) const
	{
		sockaddr_in address = {};
		socklen_t size = sizeof(address);
		getsockname(listeners_[place], reinterpret_cast<sockaddr *>(&address), &size);
		const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		REQUIRE(connect(fd, reinterpret_cast<sockaddr *>(&address), size) == 0);
		return fd;
	}
	void drain()
	{
		process_->kill(SIGTERM);
	}
	int wait()
	{
		return process_->wait();
	}

      private:
	files certificates_;
	std::unique_ptr<tls_edge> tls_; // its keyholder is the edge's
	std::unique_ptr<chains> chains_;
	std::unique_ptr<child> process_;
	scoreboard *scoreboard_ = nullptr;
	judge judge_ = {};
	int listeners_[2] = { -1, -1 };

	static int listen_somewhere()
	{
		sockaddr_in address = {};
		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		REQUIRE(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
		REQUIRE(listen(fd, 16) == 0);
		return fd;
	}
	int run()
	{
		const edge_protocol protocol = protocol_of_words();
		const uint8_t of_place[2] = { CLEAR, TLS };
		nanny_child given = {};
		silence();
		given.listeners = listeners_;
		given.listener_places = of_place;
		given.listener_count = 2;
		given.queue_fd = queue[0];
		given.keyholder_fd = tls_->asking[0];
		given.scoreboard = scoreboard_;
		return edge_run(&given, &protocol, &rules, seen);
	}
};

// A client in the clear: the test's own limit ends it when nothing comes.
class talker
{
      public:
	explicit talker(int fd) : fd(fd)
	{
	}
	~talker()
	{
		close(fd);
	}
	talker(const talker &) = delete;
	talker &operator=(const talker &) = delete;

	void say(const std::string &text) const
	{
		REQUIRE(send(fd, text.data(), text.size(), MSG_NOSIGNAL) ==
			static_cast<ssize_t>(text.size()));
	}
	// With its end of line; less when the edge has ended it.
	std::string line() const
	{
		std::string read;
		char byte = 0;
		while ((read.empty() || read.back() != '\n') && recv(fd, &byte, 1, 0) == 1)
			read += byte;
		return read;
	}
	std::string rest() const
	{
		std::string read;
		char byte = 0;
		while (recv(fd, &byte, 1, 0) == 1)
			read += byte;
		return read;
	}

	int fd;
};

// The same under TLS.
class secret_talker
{
      public:
	explicit secret_talker(int fd) : client_(fd)
	{
	}
	bool shake_hands()
	{
		return client_.step() == 0;
	}
	void say(const std::string &text)
	{
		REQUIRE(SSL_write(client_.ssl, text.data(), static_cast<int>(text.size())) > 0);
	}
	std::string line()
	{
		std::string read;
		char byte = 0;
		while ((read.empty() || read.back() != '\n') &&
		       SSL_read(client_.ssl, &byte, 1) == 1)
			read += byte;
		return read;
	}

      private:
	client client_;
};

// What a worker is given.
struct parcel {
	std::string text;
	handover_fds fds = { -1, -1 };

	explicit parcel(int queue_fd)
	{
		uint8_t bytes[HANDOVER_SIZE_MAX];
		size_t size = 0;
		int ret = -EAGAIN;
		while (ret == -EAGAIN || ret == -EINTR)
			ret = handover_await(queue_fd);
		REQUIRE(ret == 0);
		REQUIRE(handover_receive(queue_fd, bytes, &size, &fds) == 0);
		text.assign(reinterpret_cast<char *>(bytes), size);
		fcntl(fds.connection, F_SETFL, 0); // a worker that waits for its client
	}
};

std::string proxy_header(unsigned port)
{
	return "PROXY TCP4 192.0.2.7 198.51.100.1 " + std::to_string(port) + " 995\r\n";
}

} // namespace

TEST_CASE("commands of any protocol are taken in turn, as they come", "[mail][edge]")
{
	words served;
	served.begin();
	const talker client(served.connect_to(CLEAR));
	CHECK(client.line().substr(0, 16) == "banner 127.0.0.1");
	client.say("HI\r\nHI\r\nH");
	CHECK(client.line() == "hi\r\n");
	CHECK(client.line() == "hi\r\n");
	client.say("I\r\nQUIT\r\n");
	CHECK(client.line() == "hi\r\n");
	CHECK(client.rest() == "bye\r\n");

	served.drain();
	CHECK(served.wait() == 0);
	CHECK(served.seen->events[EDGE_ACCEPTED] == 1);
	CHECK(served.seen->events[EDGE_ENDED_UNFINISHED] == 1);
	CHECK(served.seen->gauges[EDGE_SESSIONS] == 0);
	CHECK(std::string(served.seen->end) == "quit");
}

TEST_CASE("a session begins with a near part of zeros, whichever had its slot", "[mail][edge]")
{
	words served;
	served.rules.sessions_max = 1;
	served.begin();
	for (int i = 0; i < 3; i++) {
		const talker client(served.connect_to(CLEAR));
		if (client.line().substr(0, 6) != "banner") {
			i--; // the slot of the last is still in use
			continue;
		}
		client.say("HI\r\nQUIT\r\n");
		CHECK(client.rest() == "hi\r\nbye\r\n");
	}
	CHECK(served.seen->opened == 0);
}

TEST_CASE("another's answer comes behind what was said, and before the next command",
	  "[mail][edge]")
{
	words served;
	served.begin();
	const talker client(served.connect_to(CLEAR));
	client.line();
	const std::string command = GENERATE("ASK", "KNOWN");
	client.say("HI\r\n" + command + "\r\nHI\r\nQUIT\r\n");
	CHECK(client.rest() == "hi\r\nasking\r\nanswer\r\nhi\r\nbye\r\n");
}

TEST_CASE("a question is cancelled when its session ends first", "[mail][edge]")
{
	words served;
	served.rules.drain_ms = 1;
	served.begin();
	const talker client(served.connect_to(CLEAR));
	client.line();
	client.say("NEVER\r\n");
	CHECK(client.line() == "asking\r\n");
	CHECK(served.seen->cancelled == 0);
	served.drain();
	CHECK(client.line() == "refused " + std::to_string(EDGE_SHUTTING_DOWN) + "\r\n");
	shutdown(client.fd, SHUT_WR);
	CHECK(served.wait() == 0);
	CHECK(served.seen->cancelled == 1);
	CHECK(std::string(served.seen->end) == "drained");
}

TEST_CASE("STARTTLS is behind the banner, and the banner is not said again", "[mail][edge][tls]")
{
	words served;
	served.begin();
	const talker plain(served.connect_to(CLEAR));
	CHECK(plain.line().find(" clear\r\n") != std::string::npos);
	plain.say("TLS\r\n");
	CHECK(plain.line() == "go\r\n");
	secret_talker client(plain.fd);
	REQUIRE(client.shake_hands());
	client.say("HI\r\nQUIT\r\n");
	CHECK(client.line() == "hi\r\n");
	CHECK(client.line() == "bye\r\n");
	CHECK(served.seen->events[EDGE_TLS_BEGUN] == 1);
}

TEST_CASE("a client of a TLS place has its banner under TLS", "[mail][edge][tls]")
{
	words served;
	served.begin();
	const talker plain(served.connect_to(TLS));
	secret_talker client(plain.fd);
	REQUIRE(client.shake_hands());
	CHECK(client.line().find(" tls\r\n") != std::string::npos);
	client.say("HI\r\nQUIT\r\n");
	CHECK(client.line() == "hi\r\n");
	CHECK(client.line() == "bye\r\n");
	CHECK(served.seen->events[EDGE_TLS_BEGUN] == 1);
}

TEST_CASE("what speaks no TLS at such a place hears nothing", "[mail][edge][tls]")
{
	words served;
	served.begin();
	const talker client(served.connect_to(TLS));
	client.say("HI, this is no record of TLS\r\n");
	CHECK(client.rest().find("banner") == std::string::npos);
	CHECK(served.seen->events[EDGE_TLS_FAILED] == 1);
}

TEST_CASE("a handshake may come in one segment with a PROXY header", "[mail][edge][tls]")
{
	words served;
	served.rules.proxy = nets("127.0.0.0/8\n");
	served.begin();

	// A ClientHello, as OpenSSL makes it, kept back until the header is before it.
	sockets between;
	client peer(between[0], {});
	CHECK(peer.step() == 1);
	char hello[4096];
	const ssize_t size = recv(between[1], hello, sizeof(hello), 0);
	REQUIRE(size > 0);
	const std::string header = proxy_header(4711);
	const std::string segment = header + std::string(hello, static_cast<size_t>(size));
	const size_t cut = GENERATE(0, 1, 20, 45, 53, 60);

	const talker client(served.connect_to(TLS));
	const int on = 1;
	setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (cut > 0) {
		client.say(segment.substr(0, cut));
		// The edge may look at it before the rest comes, or not: both must do.
		while (served.seen->events[EDGE_ACCEPTED] == 0)
			sched_yield();
	}
	client.say(segment.substr(cut));
	SSL_set_fd(peer.ssl, client.fd);
	REQUIRE(peer.step() == 0);
	std::string banner;
	char byte = 0;
	while ((banner.empty() || banner.back() != '\n') && SSL_read(peer.ssl, &byte, 1) == 1)
		banner += byte;
	CHECK(banner == "banner 192.0.2.7 4711 tls\r\n");
}

TEST_CASE("a handshake may come while the end of a PROXY header is read", "[mail][edge][tls]")
{
	words served;
	served.rules.proxy = nets("127.0.0.0/8\n");
	served.begin();
	const std::string header = proxy_header(4711);

	// Each time the last byte and the handshake come at another moment of the edge's look at the rest.
	for (int i = 0; i < 1000; i++) {
		sockets between;
		client peer(between[0], {});
		REQUIRE(peer.step() == 1);
		char hello[4096];
		const ssize_t size = recv(between[1], hello, sizeof(hello), 0);
		REQUIRE(size > 0);
		const talker client(served.connect_to(TLS));
		const int on = 1;
		setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		client.say(header.substr(0, header.size() - 1));
		for (int k = 0; k < i % 30 * 100; k++)
			__asm__ volatile("");
		client.say(header.substr(header.size() - 1) +
			   std::string(hello, static_cast<size_t>(size)));
		SSL_set_fd(peer.ssl, client.fd);
		REQUIRE(peer.step() == 0);
	}
}

TEST_CASE("no client of a TLS place is refused in the clear", "[mail][edge][tls]")
{
	words served;
	/* Of a network with too many connections, and of an edge that is full. */
	const edge_refusal refusal = GENERATE(EDGE_CONNECTIONS, EDGE_FULL);
	if (refusal == EDGE_CONNECTIONS)
		served.rules.network.connections_max = 1;
	else
		served.rules.sessions_max = 1;
	const std::string refused = "refused " + std::to_string(refusal) + "\r\n";
	served.begin();
	const talker first(served.connect_to(CLEAR));
	CHECK(first.line().substr(0, 6) == "banner");
	const talker plain(served.connect_to(CLEAR));
	CHECK(plain.rest() == refused);
	const talker secret(served.connect_to(TLS));
	CHECK(secret.rest().empty());
}

TEST_CASE("a session goes to a worker with what was not looked at", "[mail][edge]")
{
	words served;
	served.begin();
	const talker client(served.connect_to(CLEAR));
	client.line();
	client.say("HI\r\nGO\r\nHI\r\n");
	CHECK(client.line() == "hi\r\n");
	const parcel given(served.queue[1]);
	CHECK(given.text == "8 HI\r\n");
	send(given.fds.connection, "worker\r\n", 8, MSG_NOSIGNAL);
	CHECK(client.line() == "worker\r\n");
	close(given.fds.connection);
	CHECK(client.rest().empty());
	served.drain();
	CHECK(served.wait() == 0);
	CHECK(served.seen->events[EDGE_HANDED_OVER] == 1);
}

TEST_CASE("under TLS from the start the worker has the other end of a relay", "[mail][edge][tls]")
{
	words served;
	served.begin();
	const talker plain(served.connect_to(TLS));
	secret_talker client(plain.fd);
	REQUIRE(client.shake_hands());
	client.line();
	client.say("GO\r\nHI\r\n");
	const parcel given(served.queue[1]);
	CHECK(given.text == "4 HI\r\n");
	send(given.fds.connection, "worker\r\n", 8, MSG_NOSIGNAL);
	CHECK(client.line() == "worker\r\n");
	client.say("more\r\n");
	char bytes[6];
	CHECK(recv(given.fds.connection, bytes, sizeof(bytes), MSG_WAITALL) == 6);
	CHECK(served.seen->gauges[EDGE_RELAYED] == 1);
	close(given.fds.connection);
	CHECK(client.line().empty());
}
