// SPDX-License-Identifier: GPL-3.0-or-later
// A mail's archives, before decoder processes that do not do what they should.
#include "integration/mail/base/scan/apart.h"

#include "lib/process/clock.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace
{

constexpr unsigned PATIENCE_MS = 60000;

using decode_fn = void (*)(void *, int);

void say(int fd, const scan_frame &frame)
{
	uint8_t bytes[SCAN_FRAME_SMALL];
	const size_t size = scan_frame_write(&frame, bytes);
	if (write(fd, bytes, size) != static_cast<ssize_t>(size))
		_exit(1);
}

void say_hello(int fd)
{
	scan_frame frame = {};
	frame.type = SCAN_FRAME_HELLO;
	say(fd, frame);
}

// Until the scanner has said all; false when it has gone.
bool read_all(int fd)
{
	static uint8_t bytes[SCAN_FRAME_MAX];
	for (;;) {
		const ssize_t size = read(fd, bytes, sizeof(bytes));
		if (size <= 0)
			return false;
		if (bytes[0] == SCAN_FRAME_FINISH)
			return true;
	}
}

void say_finding(int fd, inspect_class class_, const char *name)
{
	scan_frame frame = {};
	frame.type = SCAN_FRAME_FINDING;
	frame.finding.class_ = class_;
	strcpy(frame.finding.name, name);
	strcpy(frame.finding.path, "a.rar / b.exe");
	say(fd, frame);
}

void say_finished(int fd, unsigned signatures)
{
	scan_frame frame = {};
	frame.type = SCAN_FRAME_FINISHED;
	frame.counts[INSPECT_SIGNATURE] = signatures;
	frame.objects = 3;
	frame.looked_at = 1000;
	say(fd, frame);
}

// ---- the decoders ----

void be_good(void *, int fd)
{
	say_hello(fd);
	if (!read_all(fd))
		_exit(1);
	say_finding(fd, INSPECT_SIGNATURE, "Test.Signature");
	say_finished(fd, 5);
	_exit(0);
}

void be_killed(void *, int fd)
{
	say_hello(fd);
	(void)read_all(fd);
	raise(SIGKILL);
}

void abort_itself(void *, int fd)
{
	say_hello(fd);
	(void)read_all(fd);
	signal(SIGABRT, SIG_DFL);
	raise(SIGABRT);
}

void be_killed_at_once(void *, int)
{
	raise(SIGKILL);
}

void take_time(void *, int fd)
{
	say_hello(fd);
	raise(SIGPROF);
}

void talk_nonsense(void *, int fd)
{
	say_hello(fd);
	(void)!write(fd, "\x63nonsense", 9);
	(void)read_all(fd);
	_exit(0);
}

void finish_early(void *, int fd)
{
	say_hello(fd);
	say_finished(fd, 0);
	(void)read_all(fd);
	_exit(0);
}

void say_nothing(void *, int fd)
{
	say_hello(fd);
	(void)read_all(fd);
	// Until the scanner has enough of it.
	(void)read_all(fd);
	_exit(0);
}

void tell_without_end(void *, int fd)
{
	signal(SIGPIPE, SIG_DFL);
	say_hello(fd);
	for (;;)
		say_finding(fd, INSPECT_SUSPICIOUS, "Again");
}

void say_an_empty_packet(void *, int fd)
{
	say_hello(fd);
	(void)!send(fd, "", 0, 0);
	(void)read_all(fd);
	_exit(0);
}

// ---- what they are for ----

class running_template
{
      public:
	int ask_fd = -1;
	pid_t pid = -1;

	explicit running_template(decode_fn decode, unsigned decoders_max = 4)
	{
		int ends[TEMPLATE_ENDS];
		REQUIRE(template_pair(ends) == 0);
		pid = fork();
		if (pid == 0) {
			const rlimit none = { 0, 0 };
			setrlimit(RLIMIT_CORE, &none);
			close(ends[TEMPLATE_ASK]);
			struct template_start start = {};
			start.ask_fd = ends[TEMPLATE_OWN];
			start.decoders_max = decoders_max;
			start.context = "test";
			start.decode = decode;
			_exit(template_run(&start));
		}
		close(ends[TEMPLATE_OWN]);
		ask_fd = ends[TEMPLATE_ASK];
	}

	void end()
	{
		if (pid <= 0)
			return;
		kill(pid, SIGKILL);
		waitpid(pid, nullptr, 0);
		pid = -1;
	}

	~running_template()
	{
		close(ask_fd);
		end();
	}
};

class mail
{
      public:
	struct apart apart;
	struct inspection *inspection = nullptr;

	mail(int ask_fd, unsigned wait_ms, unsigned answer_ms)
	    : kept(static_cast<uint8_t *>(mmap(nullptr, APART_KEPT, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
	{
		const inspect_sizes sizes = { 1, 4, 1, 1 };
		REQUIRE(inspect_pool_new(nullptr, &sizes, &pool) == 0);
		const apart_options options = { ask_fd, wait_ms, answer_ms };
		apart_init(&apart, kept, &options);
		inspect_rules rules = {};
		rules.budget = UNPACK_BUDGET;
		rules.apart = &apart_functions;
		rules.apart_context = &apart;
		apart.now_ms = clock_now_ms();
		REQUIRE(inspect_begin(pool, INSPECT_FILE, &rules, &inspection) == 0);
		apart.inspection = inspection;
	}

	~mail()
	{
		apart_deinit(&apart);
		inspect_free(inspection);
		inspect_pool_free(pool);
		munmap(kept, APART_KEPT);
	}

	void begin(unsigned number = 0)
	{
		const inspect_origin origin = { CONTENT_RAR, 1, false, false, "a.rar" };
		apart_functions.begin(&apart, number, &origin);
	}

	void push(const std::vector<uint8_t> &bytes, unsigned number = 0)
	{
		apart_functions.data(&apart, number, bytes.data(), bytes.size());
	}

	void end(unsigned number = 0)
	{
		apart_functions.end(&apart, number, true);
	}

	void wait()
	{
		const uint64_t late_ms = clock_now_ms() + PATIENCE_MS;
		while (!apart_is_done(&apart) && clock_now_ms() < late_ms) {
			short events = 0;
			uint64_t until_ms = 0;
			pollfd poller = {};
			poller.fd = apart_fd(&apart, &events, &until_ms);
			poller.events = events;
			const uint64_t now_ms = clock_now_ms();
			const uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
			poll(&poller, 1, left_ms < 1000 ? static_cast<int>(left_ms) : 1000);
			apart_turn(&apart, clock_now_ms());
		}
		REQUIRE(apart_is_done(&apart));
	}

	void finish()
	{
		apart_finish(&apart, clock_now_ms());
		wait();
	}

	const inspect_finding &only() const
	{
		const struct inspect_result *result = ::inspect_result(inspection);
		REQUIRE(result->finding_count == 1);
		return result->findings[0];
	}

	const struct inspect_result *result() const
	{
		return ::inspect_result(inspection);
	}

      private:
	uint8_t *kept;
	struct inspect_pool *pool = nullptr;
};

std::vector<uint8_t> some(size_t size)
{
	return std::vector<uint8_t>(size, 'x');
}

} // namespace

TEST_CASE("a mail without such archives needs no process", "[mail-scan]")
{
	mail mail(-1, PATIENCE_MS, PATIENCE_MS);
	apart_finish(&mail.apart, clock_now_ms());
	CHECK(apart_is_done(&mail.apart));
	CHECK(mail.result()->finding_count == 0);
}

TEST_CASE("what a decoder process finds is the mail's", "[mail-scan]")
{
	running_template running(be_good);
	mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
	mail.begin();
	for (int i = 0; i < 1000; i++)
		mail.push(some(57));
	apart_turn(&mail.apart, clock_now_ms());
	mail.push(some(200000));
	mail.end();
	mail.finish();
	CHECK(std::string(mail.only().name) == "Test.Signature");
	CHECK(std::string(mail.only().path) == "a.rar / b.exe");
	// What it has only counted.
	CHECK(mail.result()->counts[INSPECT_SIGNATURE] == 5);
	CHECK(mail.result()->bytes == 1000);
}

TEST_CASE("a process that has all that there is has no time to keep", "[mail-scan]")
{
	running_template running(say_nothing);
	mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
	short events = 0;
	uint64_t until_ms = 0;
	mail.begin();
	while (mail.apart.state != APART_RUNNING || mail.apart.kept_end > 0)
		apart_turn(&mail.apart, clock_now_ms());
	CHECK(apart_fd(&mail.apart, &events, &until_ms) >= 0);
	CHECK(until_ms == UINT64_MAX);
	mail.push(some(5));
	CHECK(apart_fd(&mail.apart, &events, &until_ms) >= 0);
	CHECK(until_ms <= clock_now_ms() + PATIENCE_MS);
}

TEST_CASE("an archive that begins late in a mail has all the time for its process", "[mail-scan]")
{
	running_template running(be_good);
	mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
	mail.apart.now_ms = clock_now_ms() - 2 * PATIENCE_MS; // the mail's beginning
	mail.begin();
	mail.end();
	mail.finish();
	CHECK(mail.only().class_ == INSPECT_SIGNATURE);
}

TEST_CASE("a decoder process that dies is a finding", "[mail-scan]")
{
	SECTION("behind the mail")
	{
		running_template running(be_killed);
		mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		mail.begin();
		mail.push(some(5));
		mail.finish();
		CHECK(mail.only().class_ == INSPECT_BUSY);
		CHECK(std::string(mail.only().name) == "decoder: signal=9");
		CHECK(std::string(mail.only().path) == "a.rar");
	}
	SECTION("of its own")
	{
		running_template running(abort_itself);
		mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		mail.begin();
		mail.push(some(5));
		mail.finish();
		CHECK(mail.only().class_ == INSPECT_BOMB);
		CHECK(std::string(mail.only().name) == "decoder: signal=6");
	}
	SECTION("amid the mail")
	{
		running_template running(be_killed_at_once);
		mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		mail.begin();
		mail.push(some(5));
		mail.wait();
		CHECK(std::string(mail.only().name).rfind("decoder: ", 0) == 0);
		// What comes still is dropped.
		mail.push(some(100000));
		mail.end();
		mail.begin(1);
		mail.finish();
		CHECK(mail.only().class_ == INSPECT_BUSY);
	}
	SECTION("by its timer, which is a bomb")
	{
		running_template running(take_time);
		mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		mail.begin();
		mail.finish();
		CHECK(mail.only().class_ == INSPECT_BOMB);
		CHECK(std::string(mail.only().name) == "bomb: time");
	}
}

TEST_CASE("a decoder process that was taken over spoils its own mail only", "[mail-scan]")
{
	const decode_fn bad[] = { talk_nonsense, finish_early, tell_without_end };
	for (decode_fn decode : bad) {
		running_template running(decode);
		mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		mail.begin();
		mail.push(some(1000));
		mail.wait();
		CHECK(std::string(mail.result()->findings[0].name) == "decoder: protocol");
	}
	SECTION("and may be silent for so long only")
	{
		running_template running(say_nothing);
		mail mail(running.ask_fd, PATIENCE_MS, 50);
		mail.begin();
		mail.finish();
		CHECK(std::string(mail.only().name) == "bomb: time");
	}
	SECTION("or say that it has gone when it has not")
	{
		running_template running(say_an_empty_packet);
		mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		mail.begin();
		while (mail.apart.state != APART_ENDED && mail.apart.state != APART_FAILED)
			apart_turn(&mail.apart, clock_now_ms());
		// A moment for it to end is given, and then no more.
		apart_turn(&mail.apart, clock_now_ms() + PATIENCE_MS);
		CHECK(mail.only().class_ == INSPECT_BUSY);
	}
}

TEST_CASE("without a process to have a mail is busy", "[mail-scan]")
{
	SECTION("as there is no template")
	{
		running_template running(be_good);
		running.end();
		mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		mail.begin();
		mail.finish();
		CHECK(mail.only().class_ == INSPECT_BUSY);
		CHECK(mail.apart.is_lost);
	}
	SECTION("as all are in use")
	{
		running_template running(say_nothing, 1);
		mail first(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
		first.begin();
		while (first.apart.state != APART_RUNNING)
			apart_turn(&first.apart, clock_now_ms());
		mail second(running.ask_fd, 30, PATIENCE_MS);
		second.begin();
		second.finish();
		CHECK(second.only().class_ == INSPECT_BUSY);
		CHECK(std::string(second.only().name) == "busy: decoders");
	}
}

TEST_CASE("what a piece becomes is kept up to a bound", "[mail-scan]")
{
	running_template running(say_nothing);
	mail mail(running.ask_fd, PATIENCE_MS, PATIENCE_MS);
	mail.begin();
	mail.push(some(APART_FULL));
	CHECK(apart_is_full(&mail.apart));
	mail.push(some(APART_KEPT));
	CHECK(mail.only().class_ == INSPECT_BOMB);
	CHECK(std::string(mail.only().name) == "bomb: burst");
	CHECK_FALSE(apart_is_full(&mail.apart));
}
