// SPDX-License-Identifier: GPL-3.0-or-later
// Questions to checkers that are played: whose turn it is, and what becomes of those given up.
#include "integration/mail/pop-front/edge/asking.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace
{

dnsblv6_ip ip(const std::string &text)
{
	dnsblv6_ip parsed = {};
	REQUIRE(dnsblv6_ip_parse(text.c_str(), &parsed) == 0);
	return parsed;
}

constexpr unsigned TIMEOUT_MS = 200;

// A session that asks; its name goes with the question.
struct asker {
	asking_wait wait = {}; // the first
	std::string name;
	std::vector<int> answers = {};
	class scene *scene = nullptr;
	bool asks_again = false;
};

class scene
{
      public:
	explicit scene(unsigned checkers = 1)
	{
		const limits_rules own = { 0, 0, 0, 24, 56, 0, 1 };
		REQUIRE(limits_new(64, 1, &own, &limits_) == 0);
		REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_) == 0);
		REQUIRE(uv_loop_init(&loop_) == 0);
		// Questions are nothing to live for, and without a handle no loop runs.
		REQUIRE(uv_idle_init(&loop_, &idle_) == 0);
		REQUIRE(uv_idle_start(&idle_, [](uv_idle_t *) {}) == 0);
		asking_rules rules{};
		rules.fd = ends_[0];
		rules.checker_count = checkers;
		rules.limits = limits_;
		rules.timeout_ms = TIMEOUT_MS;
		rules.fill = fill;
		rules.answer = answer;
		rules.set = [](void *context, unsigned count) {
			static_cast<scene *>(context)->waiting = count;
		};
		rules.context = this;
		REQUIRE(asking_open(&loop_, &rules, &asking_) == 0);
	}
	~scene()
	{
		asking_close(asking_);
		uv_close(reinterpret_cast<uv_handle_t *>(&idle_), nullptr);
		uv_run(&loop_, UV_RUN_DEFAULT);
		CHECK(uv_loop_close(&loop_) == 0);
		limits_free(limits_);
		close(ends_[0]);
		hang_up();
	}
	scene(const scene &) = delete;
	scene &operator=(const scene &) = delete;

	asker &add(const std::string &name, const std::string &address)
	{
		askers_.emplace_back();
		asker &made = askers_.back();
		made.name = name;
		made.scene = this;
		add(made, address);
		return made;
	}
	void add(asker &who, const std::string &address)
	{
		const dnsblv6_ip from = ip(address);
		asking_add(asking_, &who.wait, &from);
	}
	void cancel(asker &who)
	{
		asking_cancel(asking_, &who.wait);
	}

	// The names of the questions that have come, in their order; they wait for an answer.
	std::vector<std::string> heard()
	{
		std::vector<std::string> names;
		check_request request{};
		while (recv(ends_[1], &request, sizeof(request), MSG_DONTWAIT) == sizeof(request)) {
			names.emplace_back(request.user);
			CHECK(request.serial != 0);
			CHECK(serials_.count(request.user) == 0);
			serials_[request.user] = request.serial;
		}
		return names;
	}
	void reply(const std::string &name, int answer)
	{
		check_reply made{};
		made.serial = serials_.at(name);
		made.answer = static_cast<uint8_t>(answer);
		serials_.erase(name);
		say(&made, sizeof(made));
	}
	void say(const void *bytes, size_t size)
	{
		REQUIRE(send(ends_[1], bytes, size, 0) == static_cast<ssize_t>(size));
		run();
	}
	void forget(const std::string &name)
	{
		serials_.erase(name);
	}
	uint64_t serial(const std::string &name) const
	{
		return serials_.at(name);
	}
	void hang_up()
	{
		if (ends_[1] >= 0)
			close(ends_[1]);
		ends_[1] = -1;
	}
	void run()
	{
		for (int i = 0; i < 3; i++)
			uv_run(&loop_, UV_RUN_NOWAIT);
	}
	// Until the loop's time is so much later.
	void let_pass(uint64_t time_ms)
	{
		const uint64_t end_ms = uv_now(&loop_) + time_ms;
		while (uv_now(&loop_) < end_ms) {
			usleep(1000);
			uv_update_time(&loop_);
		}
	}

	unsigned waiting = 0;

      private:
	static void fill(asking_wait *wait, check_request *request)
	{
		const auto *who = reinterpret_cast<asker *>(wait);
		request->kind = CHECK_PASSWORD;
		memcpy(request->user, who->name.c_str(), who->name.size() + 1);
	}
	static void answer(asking_wait *wait, const check_reply *reply)
	{
		auto *who = reinterpret_cast<asker *>(wait);
		CHECK_FALSE(wait->is_waiting);
		who->answers.push_back(reply->answer);
		if (!who->asks_again)
			return;
		who->asks_again = false;
		who->scene->add(*who, "192.0.2.1");
	}

	uv_loop_t loop_;
	uv_idle_t idle_;
	int ends_[2];
	limits *limits_ = nullptr;
	asking *asking_ = nullptr;
	std::deque<asker> askers_;
	std::map<std::string, uint64_t> serials_;
};

using names = std::vector<std::string>;

} // namespace

TEST_CASE("a question comes to a checker, and its answer to the one that asked", "[pop][asking]")
{
	scene with;
	asker &one = with.add("one", "192.0.2.1");
	asker &two = with.add("two", "192.0.2.2");
	CHECK(with.heard() == names{ "one", "two" });
	CHECK(with.waiting == 0);
	with.reply("two", CHECK_NO);
	with.reply("one", CHECK_FAILED);
	CHECK(one.answers == std::vector<int>{ CHECK_FAILED });
	CHECK(two.answers == std::vector<int>{ CHECK_NO });
	CHECK_FALSE(one.wait.is_waiting);
}

TEST_CASE("each checker has a question in hand and one more, and the others wait", "[pop][asking]")
{
	const unsigned checkers = GENERATE(1U, 3U);
	scene with(checkers);
	for (unsigned i = 0; i < 20; i++)
		with.add(std::to_string(i), "192.0.2." + std::to_string(i));
	CHECK(with.heard().size() == 2 * checkers);
	CHECK(with.waiting == 20 - 2 * checkers);
	with.reply("0", CHECK_NO);
	CHECK(with.heard() == names{ std::to_string(2 * checkers) });
	CHECK(with.waiting == 19 - 2 * checkers);
}

TEST_CASE("never are more questions under way than an edge may have", "[pop][asking]")
{
	scene with(1000);
	size_t sent = 0;
	for (unsigned i = 0; i < ASKING_OPEN_MAX + 50; i++) {
		with.add(std::to_string(i), "192.0.2.1");
		sent += with.heard().size(); // so that the socket has room
	}
	CHECK(sent == ASKING_OPEN_MAX);
	CHECK(with.waiting == 50);
}

TEST_CASE("a network that asks for much delays another by what is in hand alone", "[pop][asking]")
{
	scene with;
	for (unsigned i = 0; i < 100; i++)
		with.add("many" + std::to_string(i), "192.0.2." + std::to_string(i));
	CHECK(with.heard() == names{ "many0", "many1" });
	with.add("few0", "198.51.100.1");
	with.add("few1", "198.51.100.2"); // of the same network
	with.add("other", "203.0.113.1");
	with.reply("many0", CHECK_NO);
	CHECK(with.heard() == names{ "few0" });
	with.reply("many1", CHECK_NO);
	// few has one under way, many none; the oldest of those with none.
	CHECK(with.heard() == names{ "many2" });
	with.reply("many2", CHECK_NO);
	CHECK(with.heard() == names{ "many3" });
	with.reply("few0", CHECK_NO);
	CHECK(with.heard() == names{ "few1" });
	with.reply("many3", CHECK_NO);
	CHECK(with.heard() == names{ "many4" });
}

TEST_CASE("a question that waits is given up and never sent", "[pop][asking]")
{
	scene with;
	with.add("0", "192.0.2.1");
	with.add("1", "192.0.2.1");
	asker &gone = with.add("gone", "192.0.2.1");
	with.add("2", "192.0.2.1");
	with.heard();
	CHECK(with.waiting == 2);
	with.cancel(gone);
	CHECK(with.waiting == 1);
	with.cancel(gone); // it does not wait
	CHECK(with.waiting == 1);
	with.reply("0", CHECK_NO);
	CHECK(with.heard() == names{ "2" });
	CHECK(gone.answers.empty());
}

TEST_CASE("a question that is under way is given up, and its answer is none's", "[pop][asking]")
{
	scene with;
	asker &gone = with.add("gone", "192.0.2.1");
	with.add("1", "192.0.2.1");
	with.add("2", "192.0.2.1");
	with.heard();
	with.cancel(gone);
	CHECK_FALSE(gone.wait.is_waiting);
	// The checker is still busy with it.
	with.add("3", "198.51.100.1");
	CHECK(with.heard().empty());
	with.reply("gone", CHECK_YES); // not valid without a mailbox: as if it had not come
	CHECK(with.heard().empty());
	CHECK(gone.answers.empty());
}

TEST_CASE("a question that was given up makes room when it is answered", "[pop][asking]")
{
	scene with;
	asker &gone = with.add("gone", "192.0.2.1");
	with.add("1", "192.0.2.1");
	with.add("2", "192.0.2.1");
	with.heard();
	with.cancel(gone);
	with.reply("gone", CHECK_NO);
	CHECK(with.heard() == names{ "2" });
	CHECK(gone.answers.empty());
}

TEST_CASE("a session may ask again with its answer, and while its first question is under way",
	  "[pop][asking]")
{
	scene with;
	asker &who = with.add("who", "192.0.2.1");
	who.asks_again = true;
	with.heard();
	with.reply("who", CHECK_NO);
	CHECK(who.answers.size() == 1);
	CHECK(with.heard() == names{ "who" });
	const uint64_t first = with.serial("who");
	with.forget("who");
	with.cancel(who);
	with.add(who, "192.0.2.1");
	CHECK(with.heard() == names{ "who" });
	// The answer to the first is not taken for one to the second.
	check_reply late{};
	late.serial = first;
	late.answer = CHECK_NO;
	with.say(&late, sizeof(late));
	CHECK(who.answers.size() == 1);
	CHECK(who.wait.is_waiting);
	with.reply("who", CHECK_FAILED);
	CHECK(who.answers == std::vector<int>{ CHECK_NO, CHECK_FAILED });
}

TEST_CASE("the place of a question that a checker has died with comes back", "[pop][asking]")
{
	scene with;
	asker &zero = with.add("0", "192.0.2.1");
	asker &one = with.add("1", "192.0.2.1");
	with.heard();
	with.cancel(zero);
	with.cancel(one);
	with.add("2", "192.0.2.1");
	CHECK(with.heard().empty());
	with.let_pass(TIMEOUT_MS + 1);
	with.add("3", "192.0.2.1");
	CHECK(with.heard() == names{ "2", "3" });
}

TEST_CASE("a question that a session waits for keeps its place for as long", "[pop][asking]")
{
	scene with;
	asker &zero = with.add("0", "192.0.2.1");
	with.add("1", "192.0.2.1");
	with.heard();
	with.let_pass(TIMEOUT_MS + 1);
	with.add("2", "192.0.2.1");
	CHECK(with.heard().empty());
	with.reply("0", CHECK_NO);
	CHECK(zero.answers.size() == 1);
	CHECK(with.heard() == names{ "2" });
}

TEST_CASE("what is no answer is dropped", "[pop][asking]")
{
	scene with;
	asker &who = with.add("who", "192.0.2.1");
	with.heard();
	check_reply made{};
	made.serial = with.serial("who");
	made.answer = CHECK_ANSWERS;
	with.say(&made, sizeof(made));
	made.answer = CHECK_NO;
	with.say(&made, sizeof(made) - 1);
	made.serial++;
	with.say(&made, sizeof(made));
	made.serial = 0; // of places that are free
	with.say(&made, sizeof(made));
	CHECK(who.answers.empty());
	CHECK(who.wait.is_waiting);
	with.reply("who", CHECK_NO);
	CHECK(who.answers.size() == 1);
}

TEST_CASE("a question waits where the socket is full, and is sent when there is room",
	  "[pop][asking]")
{
	scene with(ASKING_OPEN_MAX);
	for (unsigned i = 0; i < ASKING_OPEN_MAX; i++)
		with.add(std::to_string(i), "192.0.2.1");
	const names first = with.heard();
	CHECK(first.size() + with.waiting == ASKING_OPEN_MAX);
	size_t heard = first.size();
	for (const std::string &name : first)
		with.reply(name, CHECK_NO);
	heard += with.heard().size();
	CHECK(heard > first.size() - (with.waiting == 0 ? 1 : 0));
	CHECK(heard + with.waiting == ASKING_OPEN_MAX);
}

TEST_CASE("when the checkers' end is closed sessions wait, and the loop does not turn",
	  "[pop][asking]")
{
	scene with;
	asker &who = with.add("who", "192.0.2.1");
	with.hang_up();
	with.run();
	asker &next = with.add("next", "192.0.2.1");
	with.run();
	CHECK(who.answers.empty());
	CHECK(next.wait.is_waiting);
	with.cancel(who);
	with.cancel(next);
	CHECK(with.waiting == 0);
}

TEST_CASE("asking needs a socket", "[pop][asking]")
{
	uv_loop_t loop;
	REQUIRE(uv_loop_init(&loop) == 0);
	asking_rules rules{};
	rules.fd = -1;
	asking *asking = nullptr;
	CHECK(asking_open(&loop, &rules, &asking) == -EBADF);
	CHECK(asking == nullptr);
	asking_close(nullptr);
	CHECK(uv_loop_close(&loop) == 0);
}
