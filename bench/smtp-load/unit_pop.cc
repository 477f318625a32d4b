// SPDX-License-Identifier: GPL-3.0-or-later
// What a client of POP3 says, however the server's bytes are cut.
#include "bench/smtp-load/pop.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace
{

session_rules pop_rules()
{
	session_rules rules = {};
	rules.is_pop = true;
	std::strcpy(rules.password, "secret");
	REQUIRE(session_parse_template("user%d@example.com", &rules.valid) == 0);
	rules.users = 10;
	return rules;
}

trace_session pop_plan_of(trace_kind kind, unsigned messages)
{
	trace_session plan = {};
	plan.kind = kind;
	plan.messages = messages;
	plan.first_user = 7;
	return plan;
}

// Lines that the client said, and what it was then.
struct pop_talk {
	std::vector<std::string> said;
	session state;
};

std::string answer(const std::string &line)
{
	if (line == "STAT")
		return "+OK 5 1234\r\n";
	if (line.rfind("RETR", 0) == 0)
		return "+OK 12 octets\r\nA: b\r\n\r\n..\r\n\r\n.x\r\n.\r\n";
	return "+OK\r\n";
}

pop_talk play(const session_rules &rules, const trace_session &plan, size_t cut,
	      const std::string &wrong = "", const std::string &reply = "")
{
	static char output[SESSION_OUTPUT_MAX];
	pop_talk result = {};
	session_begin(&result.state, &rules, &plan);
	std::string heard = wrong == "greeting" ? reply : "+OK ready\r\n";
	for (;;) {
		session_status status = SESSION_GOES_ON;
		for (size_t at = 0; at < heard.size() && status == SESSION_GOES_ON; at += cut)
			status = session_input(&result.state, &rules, heard.data() + at,
					       std::min(cut, heard.size() - at));
		if (status == SESSION_OVER)
			return result;
		const size_t size = session_output(&result.state, &rules, output);
		REQUIRE(size > 2);
		REQUIRE(std::string(output + size - 2, 2) == "\r\n");
		session_sent(&result.state, size);
		REQUIRE(session_output(&result.state, &rules, output) == 0);
		const std::string line(output, size - 2);
		result.said.push_back(line);
		heard = !wrong.empty() && line.rfind(wrong, 0) == 0 ? reply : answer(line);
	}
}

} // namespace

TEST_CASE("a session reads as many of the newest mails as it looks for", "[smtp-load][pop]")
{
	for (size_t cut : { 1u, 3u, 1000u }) {
		const pop_talk two = play(pop_rules(), pop_plan_of(TRACE_MAIL, 2), cut);
		REQUIRE(two.said == std::vector<std::string>{ "USER user7@example.com",
							      "PASS secret", "STAT", "RETR 4",
							      "RETR 5", "QUIT" });
		REQUIRE(two.state.outcome == SESSION_DELIVERED);
		REQUIRE(two.state.accepted == 2);
		const pop_talk none = play(pop_rules(), pop_plan_of(TRACE_MAIL, 0), cut);
		REQUIRE(none.said.size() == 4);
		REQUIRE(none.state.outcome == SESSION_DELIVERED);
		REQUIRE(play(pop_rules(), pop_plan_of(TRACE_MAIL, 9), cut).state.accepted == 5);
	}
}

TEST_CASE("a mail is deleted behind its last byte where that is wanted", "[smtp-load][pop]")
{
	session_rules rules = pop_rules();
	rules.deletes = true;
	const pop_talk one = play(rules, pop_plan_of(TRACE_MAIL, 2), 7);
	REQUIRE(std::vector<std::string>(one.said.begin() + 3, one.said.end()) ==
		std::vector<std::string>{ "RETR 4", "DELE 4", "RETR 5", "DELE 5", "QUIT" });
}

TEST_CASE("an empty mail ends with its dot", "[smtp-load][pop]")
{
	const pop_talk empty =
		play(pop_rules(), pop_plan_of(TRACE_MAIL, 1), 2, "RETR", "+OK\r\n.\r\n");
	REQUIRE(empty.state.outcome == SESSION_DELIVERED);
	REQUIRE(empty.state.accepted == 1);
}

TEST_CASE("what a server refuses decides a session of POP3", "[smtp-load][pop]")
{
	const struct {
		const char *wrong, *reply;
		session_outcome outcome;
		size_t said;
	} cases[] = {
		{ "greeting", "-ERR full\r\n", SESSION_REFUSED, 1 },
		{ "greeting", "220 smtp\r\n", SESSION_BROKEN, 0 },
		{ "PASS", "-ERR no\r\n", SESSION_REFUSED, 3 },
		{ "PASS", "-ERR\r\n", SESSION_REFUSED, 3 },
		{ "PASS", "-ERR [IN-USE] another\r\n", SESSION_DEFERRED, 3 },
		{ "PASS", "-ERR [SYS/TEMP] later\r\n", SESSION_DEFERRED, 3 },
		{ "STAT", "+OK many\r\n", SESSION_BROKEN, 3 },
		{ "STAT", "+OK\n", SESSION_BROKEN, 3 },
		{ "RETR", "-ERR gone\r\n", SESSION_REFUSED, 5 },
		{ "QUIT", "-ERR not deleted\r\n", SESSION_REFUSED, 6 },
	};
	for (const auto &one : cases) {
		INFO(one.wrong << ": " << one.reply);
		const pop_talk result =
			play(pop_rules(), pop_plan_of(TRACE_MAIL, 2), 5, one.wrong, one.reply);
		REQUIRE(result.state.outcome == one.outcome);
		REQUIRE(result.said.size() == one.said);
	}
}

TEST_CASE("a wrong password is to be refused, and a client leaves where it wants",
	  "[smtp-load][pop]")
{
	const pop_talk wrong =
		play(pop_rules(), pop_plan_of(TRACE_BOUNCE, 2), 5, "PASS", "-ERR [AUTH] no\r\n");
	REQUIRE(wrong.said[1] == "PASS secret-not");
	REQUIRE(wrong.state.outcome == SESSION_BOUNCED);
	REQUIRE(play(pop_rules(), pop_plan_of(TRACE_BOUNCE, 2), 5).state.outcome == SESSION_BROKEN);
	for (int point = TRACE_AFTER_CONNECT; point < TRACE_POINTS; point++) {
		trace_session plan = pop_plan_of(TRACE_UNFINISHED, 2);
		plan.point = trace_point(point);
		const pop_talk left = play(pop_rules(), plan, 5);
		REQUIRE(left.state.outcome == SESSION_LEFT);
		REQUIRE(left.said.size() == size_t(point));
	}
}
