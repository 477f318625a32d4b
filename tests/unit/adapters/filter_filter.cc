// SPDX-License-Identifier: GPL-3.0-or-later
// What is asked and answered, line by line, without a library behind it.
#include "integration/adapters/opensmtpd/filter.h"
#include "lib/common/log.h"
#include "tests/lib/fault.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

namespace
{

// Plays the service: keeps what is asked until the test has a verdict.
class world
{
      public:
	explicit world(line_phase phase = LINE_AT_MAIL_FROM, bool is_disconnecting = false,
		       size_t sessions_max = 4)
	{
		log_set_level(LOG_LEVEL_ERROR); // warnings are what many of these tests are about
		const filter_options options = { phase, is_disconnecting, sessions_max };
		const filter_means means = { this, ask, cancel, say };
		REQUIRE(filter_init(&filter, &options, &means) == 0);
	}
	~world()
	{
		filter_deinit(&filter);
		CHECK(asked.empty());
		log_set_level(LOG_LEVEL_INFO);
	}
	world(const world &) = delete;
	world &operator=(const world &) = delete;

	void take(const std::string &text, bool is_cut = false)
	{
		filter_take(&filter, text.data(), text.size(), is_cut);
	}
	void ready()
	{
		take("config|smtpd-version|6.8.0");
		take("config|ready");
		said.clear();
	}
	void connect(unsigned session, const std::string &address = "192.0.2.66:25")
	{
		take("report|0.6|1.0|smtp-in|link-connect|" + number(session) + "|a|pass|" +
		     address + "|198.51.100.1:25");
	}
	void disconnect(unsigned session)
	{
		take("report|0.6|1.0|smtp-in|link-disconnect|" + number(session));
	}
	void request(unsigned session, unsigned token, const std::string &phase = "mail-from",
		     const std::string &version = "0.6")
	{
		take("filter|" + version + "|1.0|smtp-in|" + phase + "|" + number(session) + "|" +
		     number(token) + "|x");
	}
	void judge(unsigned session, judge_action action)
	{
		judgement judgement = {};
		judgement.action = action;
		const bool is_defer = action == JUDGE_DEFER;
		std::string(is_defer ? "4.7.1" : "5.7.1").copy(judgement.code, 9);
		std::string("listed").copy(judgement.text, 9);
		for (auto &one : asked) {
			if (one.second->id != session)
				continue;
			struct session *found = one.second;
			asked.erase(one.first);
			filter_judge(&filter, found, &judgement);
			return;
		}
		FAIL("nobody asks about this session");
	}
	static std::string answer(unsigned session, unsigned token, const std::string &decision)
	{
		return "filter-result|" + number(session) + "|" + number(token) + "|" + decision +
		       "\n";
	}

	struct filter filter = {};
	std::vector<std::string> said;
	std::map<uint64_t, struct session *> asked;
	bool is_exempt = false;

      private:
	static std::string number(unsigned number)
	{
		char text[17];
		snprintf(text, sizeof(text), "%016x", number);
		return text;
	}
	static filter_asked ask(void *context, session *session, uint64_t *ret_id)
	{
		auto *self = static_cast<world *>(context);
		if (self->is_exempt)
			return FILTER_SETTLED;
		*ret_id = ++self->following;
		self->asked[self->following] = session;
		return FILTER_ASKED;
	}
	static void cancel(void *context, uint64_t id)
	{
		CHECK(static_cast<world *>(context)->asked.erase(id) == 1);
	}
	static void say(void *context, const char *text, size_t size)
	{
		static_cast<world *>(context)->said.emplace_back(text, size);
	}

	uint64_t following = 0;
};

using strings = std::vector<std::string>;

} // namespace

TEST_CASE("only what is needed is registered, once, behind config|ready", "[filter][filter]")
{
	struct row {
		line_phase phase;
		const char *registered;
	};
	const row tried = GENERATE(values<row>(
		{ { LINE_AT_CONNECT, "register|filter|smtp-in|connect\n" },
		  { LINE_AT_HELO, "register|filter|smtp-in|helo\nregister|filter|smtp-in|ehlo\n" },
		  { LINE_AT_MAIL_FROM, "register|filter|smtp-in|mail-from\n" },
		  { LINE_AT_RCPT_TO, "register|filter|smtp-in|rcpt-to\n" } }));
	world world(tried.phase);
	world.take("config|smtpd-version|6.8.0");
	world.take("config|subsystem|smtp-in");
	CHECK(world.said.empty());
	world.take("config|ready");
	std::string all;
	for (const auto &text : world.said)
		all += text;
	CHECK(all == std::string("register|report|smtp-in|link-connect\n"
				 "register|report|smtp-in|link-disconnect\n"
				 "register|report|smtp-in|link-auth\n") +
			     tried.registered + "register|ready\n");
	world.said.clear();
	world.take("config|ready");
	CHECK(world.said.empty());
}

TEST_CASE("a verdict that is there is answered at once, and each time", "[filter][filter]")
{
	world world;
	world.ready();
	world.connect(1);
	world.judge(1, JUDGE_REJECT);
	CHECK(world.said.empty());
	world.request(1, 0xa);
	world.request(1, 0xb);
	CHECK(world.said == strings{ world::answer(1, 0xa, "reject|550 5.7.1 listed"),
				     world::answer(1, 0xb, "reject|550 5.7.1 listed") });
}

TEST_CASE("a verdict that is not there is waited for", "[filter][filter]")
{
	world world;
	world.ready();
	world.connect(1);
	world.request(1, 0xa);
	CHECK(world.said.empty());
	world.judge(1, JUDGE_PASS);
	CHECK(world.said == strings{ world::answer(1, 0xa, "proceed") });
}

TEST_CASE("what the judge says is said in the words of SMTP", "[filter][filter]")
{
	struct row {
		line_phase phase;
		bool is_disconnecting;
		judge_action action;
		const char *decision;
	};
	const row tried = GENERATE(values<row>({
		{ LINE_AT_MAIL_FROM, false, JUDGE_PASS, "proceed" },
		{ LINE_AT_MAIL_FROM, false, JUDGE_WARN, "proceed" },
		{ LINE_AT_MAIL_FROM, false, JUDGE_PREPEND, "junk" },
		{ LINE_AT_MAIL_FROM, false, JUDGE_REJECT, "reject|550 5.7.1 listed" },
		{ LINE_AT_MAIL_FROM, false, JUDGE_DEFER, "reject|451 4.7.1 listed" },
		{ LINE_AT_MAIL_FROM, true, JUDGE_REJECT, "disconnect|550 5.7.1 listed" },
		{ LINE_AT_MAIL_FROM, true, JUDGE_DEFER, "disconnect|421 4.7.1 listed" },
		{ LINE_AT_CONNECT, false, JUDGE_REJECT, "disconnect|554 5.7.1 listed" },
		{ LINE_AT_CONNECT, false, JUDGE_DEFER, "disconnect|421 4.7.1 listed" },
		{ LINE_AT_CONNECT, false, JUDGE_PREPEND, "junk" },
		{ LINE_AT_HELO, false, JUDGE_REJECT, "reject|550 5.7.1 listed" },
		{ LINE_AT_RCPT_TO, false, JUDGE_REJECT, "reject|550 5.7.1 listed" },
	}));
	const std::map<line_phase, const char *> names = { { LINE_AT_CONNECT, "connect" },
							   { LINE_AT_HELO, "ehlo" },
							   { LINE_AT_MAIL_FROM, "mail-from" },
							   { LINE_AT_RCPT_TO, "rcpt-to" } };
	CAPTURE(tried.phase, tried.decision);
	world world(tried.phase, tried.is_disconnecting);
	world.ready();
	world.connect(7);
	world.judge(7, tried.action);
	world.request(7, 9, names.at(tried.phase));
	CHECK(world.said == strings{ world::answer(7, 9, tried.decision) });
}

TEST_CASE("a client that has logged in passes, listed or not", "[filter][filter]")
{
	const std::string order = GENERATE("before", "behind", "meanwhile");
	CAPTURE(order);
	world world;
	world.ready();
	world.connect(1);
	if (order == "behind")
		world.judge(1, JUDGE_REJECT);
	if (order == "meanwhile")
		world.request(1, 0xf);
	world.take("report|0.6|1.0|smtp-in|link-auth|0000000000000001|user|pass");
	CHECK(world.asked.empty());
	world.said.clear();
	world.request(1, 0xa);
	CHECK(world.said == strings{ world::answer(1, 0xa, "proceed") });
}

TEST_CASE("a client whose login failed is judged", "[filter][filter]")
{
	world world;
	world.ready();
	world.connect(1);
	world.take("report|0.6|1.0|smtp-in|link-auth|0000000000000001|pass|fail");
	world.take("report|0.7|1.0|smtp-in|link-auth|0000000000000001|fail|pass");
	world.judge(1, JUDGE_REJECT);
	world.request(1, 0xa);
	CHECK(world.said == strings{ world::answer(1, 0xa, "reject|550 5.7.1 listed") });
}

TEST_CASE("for own networks and local sockets no list is asked", "[filter][filter]")
{
	world world;
	world.ready();
	world.is_exempt = true;
	world.connect(1);
	world.is_exempt = false;
	world.connect(2, "unix:/var/run/smtpd.sock");
	CHECK(world.asked.empty());
	world.request(1, 0xa);
	world.request(2, 0xb);
	CHECK(world.said ==
	      strings{ world::answer(1, 0xa, "proceed"), world::answer(2, 0xb, "proceed") });
}

TEST_CASE("after a session's end no list is asked for it", "[filter][filter]")
{
	world world;
	world.ready();
	world.connect(1);
	world.request(1, 0xa);
	world.disconnect(1);
	CHECK(world.asked.empty());
	CHECK(world.said == strings{ world::answer(1, 0xa, "proceed") });
	world.disconnect(1);
	CHECK(world.filter.sessions.count == 0);
}

TEST_CASE("requests of no known session, or at another phase, pass", "[filter][filter]")
{
	world world;
	world.ready();
	world.request(5, 0xa);
	world.connect(1);
	world.request(1, 0xb, "rcpt-to");
	world.request(1, 0xc, "no-such-phase", "3.9");
	CHECK(world.said == strings{ world::answer(5, 0xa, "proceed"),
				     world::answer(1, 0xb, "proceed"),
				     world::answer(1, 0xc, "proceed") });
	world.judge(1, JUDGE_PASS);
}

TEST_CASE("nothing is answered before config|ready, since OpenSMTPD would exit", "[filter][filter]")
{
	world world;
	world.connect(1);
	world.judge(1, JUDGE_REJECT);
	world.request(1, 0xa);
	CHECK(world.said.empty());
	world.ready();
	world.request(1, 0xb);
	CHECK(world.said == strings{ world::answer(1, 0xb, "reject|550 5.7.1 listed") });
}

TEST_CASE("of two requests at once each has one answer", "[filter][filter]")
{
	world world;
	world.ready();
	world.connect(1);
	world.request(1, 0xa);
	world.request(1, 0xb);
	CHECK(world.said == strings{ world::answer(1, 0xa, "proceed") });
	world.judge(1, JUDGE_REJECT);
	CHECK(world.said == strings{ world::answer(1, 0xa, "proceed"),
				     world::answer(1, 0xb, "reject|550 5.7.1 listed") });
}

TEST_CASE("a session that begins twice begins anew", "[filter][filter]")
{
	world world;
	world.ready();
	world.connect(1);
	world.judge(1, JUDGE_REJECT);
	world.connect(1, "192.0.2.67:25");
	CHECK(world.filter.sessions.count == 1);
	world.judge(1, JUDGE_PASS);
	world.request(1, 0xa);
	CHECK(world.said == strings{ world::answer(1, 0xa, "proceed") });
}

TEST_CASE("above the maximum number of sessions the oldest pass", "[filter][filter]")
{
	world world(LINE_AT_MAIL_FROM, false, 4);
	world.ready();
	for (unsigned i = 1; i <= 6; i++)
		world.connect(i);
	CHECK(world.filter.sessions.count == 4);
	CHECK(world.filter.counters.dropped == 2);
	CHECK(world.asked.size() == 4);
	for (unsigned i = 3; i <= 6; i++)
		world.judge(i, JUDGE_REJECT);
	world.request(2, 0xa);
	world.request(3, 0xb);
	CHECK(world.said == strings{ world::answer(2, 0xa, "proceed"),
				     world::answer(3, 0xb, "reject|550 5.7.1 listed") });
	world.disconnect(4); // neither the first nor the last
	world.disconnect(6);
	world.disconnect(3);
	world.request(5, 0xc);
	CHECK(world.said.back() == world::answer(5, 0xc, "reject|550 5.7.1 listed"));
}

TEST_CASE("lines that cannot be read are counted and change nothing", "[filter][filter]")
{
	world world;
	world.ready();
	world.connect(1);
	world.take("report|0.6|1.0|smtp-in|link-connect|2|a|pass|here:25|there:25");
	world.take("");
	world.take(std::string("\0|\xff", 3));
	CHECK(world.filter.counters.lines_refused == 3);
	CHECK(world.filter.sessions.count == 1);
	CHECK(world.said.empty());
	world.judge(1, JUDGE_PASS);
}

TEST_CASE("without memory clients pass, and each request has its answer", "[filter][filter]")
{
	world world(LINE_AT_MAIL_FROM, false, 2);
	world.ready();
	for (unsigned n = 1;; n++) {
		world.said.clear();
		fault::fail_at(n);
		world.connect(n);
		const bool is_known = world.filter.sessions.count == 1;
		if (is_known)
			world.judge(n, JUDGE_REJECT);
		world.request(n, 0xa);
		const bool has_failed = fault::end();
		CAPTURE(n, is_known);
		const char *decision = has_failed ? "proceed" : "reject|550 5.7.1 listed";
		CHECK(world.said == strings{ world::answer(n, 0xa, decision) });
		world.disconnect(n);
		if (!has_failed)
			break;
		REQUIRE(n < 10);
	}
}

TEST_CASE("without memory no filter is made", "[filter][filter]")
{
	filter filter = {};
	const filter_options options = { LINE_AT_MAIL_FROM, false, 2 };
	const filter_means means = {};
	fault::fail_at(1);
	const int ret = filter_init(&filter, &options, &means);
	CHECK(fault::end());
	CHECK(ret == -ENOMEM);
	filter_deinit(&filter);
}
