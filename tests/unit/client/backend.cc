/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/resolver/backend.h"
#include "client-lib/resolver/stub.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/lib/numbers.hh"

namespace
{
using bytes = std::vector<uint8_t>;

// A resolver of the program's own that does what a test tells it to.
struct puppet {
	struct question {
		std::string name;
		int type;
	};
	struct reply {
		uint64_t id;
		int status;
		bytes message;
		bool is_secure;
	};
	std::map<uint64_t, question> open; // asked, not answered, not cancelled
	std::vector<reply> replies;	   // for the next process()
	int refusals = 0;		   // of the next questions
	int opened = 0, closed = 0, closed_copies = 0, cancelled = 0;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	std::function<void()> when_copied; // the copy of a child's parent was closed
	std::function<void()> when_asked;

	~puppet()
	{
		close(fd);
	}
	puppet() = default;
	puppet(const puppet &) = delete;
	puppet &operator=(const puppet &) = delete;

	void answer(uint64_t id, int status, const bytes &message, bool is_secure = false)
	{
		replies.push_back({ id, status, message, is_secure });
		eventfd_write(fd, 1);
	}

	static int on_open(void *context, void **ret_resolver)
	{
		static_cast<puppet *>(context)->opened++;
		*ret_resolver = context;
		return 0;
	}
	static void on_close(void *resolver, int is_copy)
	{
		auto *self = static_cast<puppet *>(resolver);
		(is_copy != 0 ? self->closed_copies : self->closed)++;
		if (is_copy != 0 && self->when_copied)
			self->when_copied();
	}
	static int on_fd(void *resolver)
	{
		return static_cast<puppet *>(resolver)->fd;
	}
	static int on_ask(void *resolver, const char *name, int type, uint64_t id)
	{
		auto *self = static_cast<puppet *>(resolver);
		if (self->refusals > 0) {
			self->refusals--;
			return -ENOMEM;
		}
		self->open[id] = { name, type };
		if (self->when_asked)
			self->when_asked();
		return 0;
	}
	static void on_cancel(void *resolver, uint64_t id)
	{
		auto *self = static_cast<puppet *>(resolver);
		self->cancelled++;
		self->open.erase(id);
	}
	static void on_process(void *resolver, dnsblv6_reply_fn reply, void *library)
	{
		auto *self = static_cast<puppet *>(resolver);
		eventfd_t count = 0;
		eventfd_read(self->fd, &count);
		const std::vector<puppet::reply> replies = std::move(self->replies);
		self->replies.clear();
		for (const auto &one : replies) {
			self->open.erase(one.id);
			reply(library, one.id, one.status, one.message.data(), one.message.size(),
			      one.is_secure ? 1 : 0);
		}
	}
	static dnsblv6_resolver functions()
	{
		dnsblv6_resolver made = {};
		made.size = sizeof(made);
		made.open = on_open;
		made.close = on_close;
		made.fd = on_fd;
		made.ask = on_ask;
		made.cancel = on_cancel;
		made.process = on_process;
		return made;
	}
};

// Who asks, and what he was told.
struct told {
	unsigned calls = 0;
	int status = 1;
	bool has_reply = false, is_trusted = false;
	message_reply reply = {};
};

void keep(void *context, int status, const message_reply *reply, bool is_trusted)
{
	auto *kept = static_cast<told *>(context);
	kept->calls++;
	kept->status = status;
	kept->has_reply = reply != nullptr;
	kept->is_trusted = is_trusted;
	if (reply != nullptr)
		kept->reply = *reply;
}

struct asker {
	puppet behind;
	dnsblv6_resolver functions = puppet::functions();
	std::unique_ptr<config> options = std::make_unique<config>();
	stub *tested = nullptr;

	asker()
	{
		config_init(options.get());
		options->max_sockets = CONFIG_SOCKETS;
		options->resolver = &functions;
		options->resolver_context = &behind;
		REQUIRE(stub_new(options.get(), &tested) == 0);
	}
	~asker()
	{
		stub_free(tested);
	}
	asker(const asker &) = delete;
	asker &operator=(const asker &) = delete;

	uint64_t ask(told &kept, int64_t now_ms = 0, int64_t deadline_ms = 1000)
	{
		uint64_t id = 0;
		dnsblv6_labels name = {};
		REQUIRE(dnsblv6_name_from_text("1.2.0.192.bl.example", &name) == DNSBLV6_OK);
		const stub_what what = { 0, &name, MESSAGE_A, deadline_ms, 0 };
		REQUIRE(stub_ask(tested, &what, now_ms, keep, &kept, &id) == 0);
		return id;
	}
	uint64_t only_question() const
	{
		REQUIRE(behind.open.size() == 1);
		return behind.open.begin()->first;
	}
};

// A reply to the question that all here ask, with one A record or none.
bytes make_reply(uint8_t rcode, bool has_record, uint8_t flags = 0x81)
{
	message_question question = {};
	REQUIRE(dnsblv6_name_from_text("1.2.0.192.bl.example", &question.name) == DNSBLV6_OK);
	question.type = MESSAGE_A;
	question.id = 0x1234;
	bytes made(MESSAGE_QUERY_MAX);
	made.resize(message_make(&question, made.data()));
	made.resize(made.size() - 11); // the OPT
	made[2] = flags;
	made[3] = static_cast<uint8_t>(0x80 | rcode);
	made[7] = has_record ? 1 : 0;
	made[11] = 0;
	const bytes record = { 0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 127, 0, 0, 2 };
	if (has_record)
		made.insert(made.end(), record.begin(), record.end());
	return made;
}
} // namespace

TEST_CASE("a resolver of the program's own is asked in text, and its reply is read",
	  "[client][backend]")
{
	const bool is_secure = GENERATE(true, false);
	asker client;
	told kept;
	client.ask(kept);
	const uint64_t id = client.only_question();
	CHECK(client.behind.open[id].name == "1.2.0.192.bl.example.");
	CHECK(client.behind.open[id].type == MESSAGE_A);
	client.behind.answer(id, 0, make_reply(0, true), is_secure);
	stub_process(client.tested, 1);
	REQUIRE(kept.calls == 1);
	CHECK(kept.status == 0);
	REQUIRE(kept.has_reply);
	CHECK(kept.reply.kind == MESSAGE_ANSWER);
	CHECK(kept.reply.a_count == 1);
	CHECK(kept.reply.ttl_s == 300);
	CHECK(kept.is_trusted == is_secure);
	CHECK(kept.reply.is_secure == is_secure);
	CHECK(client.behind.cancelled == 0);
}

TEST_CASE("what the reply itself says of its security does not count", "[client][backend]")
{
	asker client;
	told kept;
	client.ask(kept);
	bytes reply = make_reply(0, true);
	reply[3] |= 0x20; // AD
	client.behind.answer(client.only_question(), 0, reply, false);
	stub_process(client.tested, 1);
	REQUIRE(kept.calls == 1);
	CHECK_FALSE(kept.is_trusted);
	CHECK_FALSE(kept.reply.is_secure);
}

TEST_CASE("an answer that cannot be true, or cannot be read, is a failure", "[client][backend]")
{
	struct row {
		int status;
		bytes message;
		int32_t ede;
	};
	bytes other = make_reply(0, true);
	other[13] = '9'; // another question
	bytes cut = make_reply(0, true);
	cut.resize(cut.size() - 1);
	const std::vector<row> rows = { { -EBADMSG, {}, 6 },
					{ -EIO, {}, 23 },
					{ -ETIMEDOUT, make_reply(0, true), 23 },
					{ 0, {}, 6 },
					{ 0, bytes(5, 0xff), 23 },
					{ 0, other, 23 },
					{ 0, cut, 6 },
					{ 0, make_reply(0, false, 0x83), 23 } };
	for (size_t i = 0; i < rows.size(); i++) {
		CAPTURE(i);
		asker client;
		told kept;
		client.ask(kept);
		client.behind.answer(client.only_question(), rows[i].status, rows[i].message, true);
		stub_process(client.tested, 1);
		REQUIRE(kept.calls == 1);
		CHECK(kept.status == 0);
		REQUIRE(kept.has_reply);
		CHECK(kept.reply.kind == MESSAGE_FAILURE);
		CHECK(kept.reply.ede == rows[i].ede);
		CHECK_FALSE(kept.is_trusted);
	}
}

TEST_CASE("two identical requests are one question, and both get its answer", "[client][backend]")
{
	asker client;
	told first, second;
	client.ask(first);
	client.ask(second);
	client.behind.answer(client.only_question(), 0, make_reply(3, false));
	stub_process(client.tested, 1);
	CHECK(first.calls == 1);
	CHECK(second.calls == 1);
	CHECK(second.reply.kind == MESSAGE_NXDOMAIN);
}

TEST_CASE("a question without waiting requests is cancelled, and its reply dropped",
	  "[client][backend]")
{
	asker client;
	told kept;
	SECTION("since it was withdrawn")
	{
		const uint64_t asked = client.ask(kept);
		const uint64_t id = client.only_question();
		stub_cancel(client.tested, asked);
		client.behind.answer(id, 0, make_reply(0, true));
	}
	SECTION("since its time was over")
	{
		client.ask(kept, 0, 1000);
		const uint64_t id = client.only_question();
		stub_process(client.tested, 1000);
		REQUIRE(kept.calls == 1);
		CHECK(kept.status == -ETIMEDOUT);
		client.behind.answer(id, 0, make_reply(0, true));
	}
	const unsigned calls = kept.calls;
	CHECK(client.behind.cancelled == 1);
	CHECK(client.behind.open.empty());
	// Another one has its place meanwhile.
	told next;
	client.ask(next, 1000, 2000);
	stub_process(client.tested, 1001);
	CHECK(kept.calls == calls);
	CHECK(next.calls == 0);
	stub_stats stats;
	stub_get_stats(client.tested, &stats);
	CHECK(stats.dropped == 1);
	client.behind.answer(client.only_question(), 0, make_reply(0, true));
	stub_process(client.tested, 1002);
	CHECK(next.calls == 1);
}

TEST_CASE("a question that the resolver does not take is put again, to the deadline",
	  "[client][backend]")
{
	asker client;
	told kept;
	client.behind.refusals = 2;
	client.ask(kept, 0, 1000);
	CHECK(client.behind.open.empty());
	stub_process(client.tested, 60);
	CHECK(client.behind.open.empty());
	stub_process(client.tested, 120);
	client.only_question();
	CHECK(client.behind.refusals == 0);

	told other;
	client.behind.refusals = 1000;
	asker second;
	second.behind.refusals = 1000;
	second.ask(other, 0, 500);
	for (int64_t now_ms = 0; now_ms <= 500; now_ms += 50)
		stub_process(second.tested, now_ms);
	REQUIRE(other.calls == 1);
	CHECK(other.status == -ENOMEM);
}

TEST_CASE("a child has a resolver of its own, and the parent's goes on", "[client][backend]")
{
	asker client;
	told kept;
	client.ask(kept);
	const pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		const bool is_right = stub_after_fork(client.tested) == 0 &&
				      client.behind.closed_copies == 1 &&
				      client.behind.closed == 0 && client.behind.opened == 2;
		_exit(is_right ? 0 : 1);
	}
	int status = -1;
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
	CHECK(client.behind.opened == 1);
	client.behind.answer(client.only_question(), 0, make_reply(0, true));
	stub_process(client.tested, 1);
	CHECK(kept.calls == 1);
}

TEST_CASE("a child that is forked while its parent makes a handle its own has one that works",
	  "[client][backend]")
{
	const bool has_its_number = GENERATE(false, true);
	if (has_its_number && !numbers::can_tell())
		return;
	puppet behind;
	dnsblv6_resolver functions = puppet::functions();
	dnsblv6 *client = nullptr;
	dnsblv6_ip address = {};
	dnsblv6_result result = {};
	REQUIRE(dnsblv6_ip_parse("192.0.2.1", &address) == 0);
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl.example") == 0);
	REQUIRE(dnsblv6_set_resolver(client, &functions, &behind) == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	const pid_t pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		int status = -1;
		if (has_its_number)
			numbers::told = getpid();
		// As another thread would fork, which knows nothing of this one.
		behind.when_copied = [&] {
			const pid_t below = fork();
			if (below != 0) {
				waitpid(below, &status, 0);
				return;
			}
			alarm(20);
			const int ret = dnsblv6_check(client, &address, 1, &result);
			_exit(ret == 0 && result.verdict == DNSBLV6_UNKNOWN ? 0 : 1);
		};
		const int ret = dnsblv6_check(client, &address, 1, &result);
		_exit(ret == 0 && status == 0 ? 0 : 1);
	}
	int status = -1;
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
	dnsblv6_free(client);
}

// What it says when it can ask none.
static bool is_unknown(dnsblv6 *client, const dnsblv6_ip &address)
{
	dnsblv6_result result = {};
	const char *name;
	uint64_t value;
	return dnsblv6_check(client, &address, 1, &result) == 0 &&
	       result.verdict == DNSBLV6_UNKNOWN && dnsblv6_stat_get(client, 0, &name, &value) == 0;
}

TEST_CASE("a child that is forked in the middle of a call ends no resolver but its own",
	  "[client][backend]")
{
	const bool has_descriptors = GENERATE(true, false);
	puppet behind;
	dnsblv6_resolver functions = puppet::functions();
	dnsblv6 *client = nullptr;
	dnsblv6_ip address = {};
	REQUIRE(dnsblv6_ip_parse("192.0.2.1", &address) == 0);
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl.example") == 0);
	REQUIRE(dnsblv6_set_resolver(client, &functions, &behind) == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	int status = -1;
	bool has_forked = false;
	// As another thread would fork, which knows nothing of this one.
	behind.when_asked = [&] {
		if (has_forked)
			return;
		has_forked = true;
		const pid_t pid = fork();
		if (pid != 0) {
			waitpid(pid, &status, 0);
			return;
		}
		alarm(20);
		rlimit limit = {};
		getrlimit(RLIMIT_NOFILE, &limit);
		const rlimit none = { 0, limit.rlim_max };
		if (!has_descriptors)
			setrlimit(RLIMIT_NOFILE, &none);
		bool is_right = is_unknown(client, address) && behind.closed_copies == 1 &&
				behind.closed == 0 && behind.opened == (has_descriptors ? 2 : 1);
		const pid_t below = fork();
		if (below == 0) {
			alarm(20);
			setrlimit(RLIMIT_NOFILE, &limit);
			const int opened = behind.opened;
			_exit(is_unknown(client, address) && behind.opened == opened + 1 ? 0 : 1);
		}
		waitpid(below, &status, 0);
		dnsblv6_free(client);
		is_right = is_right && status == 0 && behind.closed == (has_descriptors ? 1 : 0) &&
			   behind.closed_copies == 1;
		_exit(is_right ? 0 : 1);
	};
	dnsblv6_result result = {};
	REQUIRE(dnsblv6_check(client, &address, 1, &result) == 0);
	CHECK(status == 0);
	CHECK(behind.closed == 0);
	dnsblv6_free(client);
	CHECK(behind.closed == 1);
}

TEST_CASE("a resolver is opened by the start of a handle and closed by its end",
	  "[client][backend]")
{
	puppet behind;
	dnsblv6_resolver functions = puppet::functions();
	dnsblv6 *client = nullptr;
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl.example") == 0);
	CHECK(dnsblv6_set_resolver(nullptr, &functions, &behind) == -EINVAL);
	dnsblv6_resolver broken = functions;
	broken.size = sizeof(broken) - 1;
	CHECK(dnsblv6_set_resolver(client, &broken, &behind) == -EINVAL);
	broken = functions;
	broken.cancel = nullptr;
	CHECK(dnsblv6_set_resolver(client, &broken, &behind) == -EINVAL);
	CHECK(dnsblv6_set_resolver(client, &functions, &behind) == 0);
	CHECK(behind.opened == 0);
	REQUIRE(dnsblv6_start(client) == 0);
	CHECK(behind.opened == 1);
	CHECK(dnsblv6_set_resolver(client, nullptr, nullptr) == -EBUSY);
	dnsblv6_free(client);
	CHECK(behind.closed == 1);
	CHECK(behind.closed_copies == 0);
}

TEST_CASE("a handle does not start when its resolver does not open", "[client][backend]")
{
	puppet behind;
	dnsblv6_resolver functions = puppet::functions();
	functions.open = [](void *, void **) { return -ENOENT; };
	dnsblv6 *client = nullptr;
	REQUIRE(dnsblv6_new(&client) == 0);
	REQUIRE(dnsblv6_set(client, "zones", "bl.example") == 0);
	REQUIRE(dnsblv6_set_resolver(client, &functions, &behind) == 0);
	CHECK(dnsblv6_start(client) == -ENOENT);
	CHECK(behind.closed == 0);
	dnsblv6_free(client);
}
