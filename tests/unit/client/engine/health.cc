/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/engine/health.h"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

namespace
{
config make_config()
{
	config made = {};
	config_init(&made);
	made.failure_ttl_s = 10;
	made.probe_interval_s = 3600;
	return made;
}

// Findings of a zone that is as it should be.
health_probe make_good(health_mode mode)
{
	health_probe probe = {};
	probe.mode = mode;
	probe.has_ipv4 = probe.has_ipv6 = true;
	probe.points[HEALTH_LISTED] = HEALTH_YES;
	probe.points[HEALTH_CLEAR] = HEALTH_NO;
	probe.points[HEALTH_NOWHERE] = HEALTH_NO;
	if (mode == HEALTH_CLASSIC)
		return probe;
	probe.points[HEALTH_LISTED6] = HEALTH_YES;
	probe.points[HEALTH_CLEAR6] = HEALTH_NO;
	probe.points[HEALTH_CLASSIC_LISTED] = HEALTH_YES;
	probe.points[HEALTH_CLASSIC_CLEAR] = HEALTH_NO;
	for (int i = HEALTH_CANARY; i < HEALTH_POINT_COUNT; i++)
		probe.points[i] = HEALTH_YES;
	return probe;
}

dnsblv6_zone_state judge(const health_probe &probe)
{
	const char *reason = nullptr;
	const dnsblv6_zone_state state = health_judge(&probe, &reason);
	REQUIRE(reason != nullptr);
	return state;
}

// A zone through time: the word as the cache would hold it.
struct patient {
	config options = make_config();
	health memory = {};
	uint64_t word = 0;
	uint32_t now_s = 1000;
	std::string reason;

	health_word parts() const
	{
		return health_unpack(word);
	}
	dnsblv6_zone_state probe(const health_probe &found)
	{
		const char *said;
		word = health_probed(&memory, &options, word, &found, now_s, &said);
		reason = said;
		return parts().state;
	}
	dnsblv6_zone_state fail(answer_failure failure)
	{
		word = health_failed(&memory, &options, word, failure, now_s);
		return parts().state;
	}
	// A request that ends in vain, after it has waited.
	dnsblv6_zone_state wait(uint32_t waited_ms)
	{
		word = health_late(&memory, &options, word, waited_ms, now_s);
		return parts().state;
	}
	void answer()
	{
		word = health_answered(&memory, word, now_s);
	}
	bool claim()
	{
		return health_claim_probe(&options, &word, now_s);
	}
};

health_probe make_sick(dnsblv6_zone_state state)
{
	health_probe probe = make_good(HEALTH_CLASSIC);
	switch (state) {
	case DNSBLV6_ZONE_FILTERED:
		probe = make_good(HEALTH_DOTTED);
		probe.points[HEALTH_CANARY] = HEALTH_EMPTY;
		break;
	case DNSBLV6_ZONE_WILDCARDED:
		probe.points[HEALTH_NOWHERE] = HEALTH_YES;
		break;
	case DNSBLV6_ZONE_LISTS_WORLD:
		probe.points[HEALTH_CLEAR] = HEALTH_YES;
		break;
	case DNSBLV6_ZONE_UNREACHABLE:
		probe.points[HEALTH_LISTED] = HEALTH_SILENT;
		break;
	case DNSBLV6_ZONE_BLOCKED:
		probe.points[HEALTH_LISTED] = HEALTH_REFUSED;
		break;
	default:
		break;
	}
	return probe;
}
} // namespace

TEST_CASE("a plain zone is well, asked for bitmaps, and has the family", "[client][engine][health]")
{
	for (uint64_t word = 0; word < 1u << 10; word++) {
		const health_word parts = health_unpack(word);
		const bool is_well = parts.state == DNSBLV6_ZONE_OK && (word >> 3 & 3) % 3 != 0;
		CAPTURE(word);
		for (uint64_t upper : { UINT64_C(0), ~UINT64_C(0) << 10 }) {
			CHECK(health_is_plain(word | upper, true) == (is_well && parts.has_ipv4));
			CHECK(health_is_plain(word | upper, false) == (is_well && parts.has_ipv6));
		}
	}
}

TEST_CASE("a word says that a zone has both kinds of names", "[client][engine][health]")
{
	const auto mode = GENERATE(HEALTH_BOTH, HEALTH_BOTH6);
	health_word parts = {};
	parts.state = DNSBLV6_ZONE_OK;
	parts.mode = mode;
	parts.has_ipv4 = parts.has_ipv6 = true;
	parts.since_s = (1u << 26) - 1;
	const uint64_t word = health_pack(&parts);
	CHECK(health_unpack(word).mode == mode);
	CHECK(health_unpack(word).since_s == parts.since_s);
	CHECK(health_is_plain(word, true));
	CHECK(health_is_bitmap(mode));
	CHECK(health_mode_of(health_style(mode)) == mode);
	// Without the bit that only newer programs read, it is a style whose names are there.
	CHECK(health_unpack(word & ~(1ull << 9)).mode ==
	      (mode == HEALTH_BOTH ? HEALTH_DOTTED : HEALTH_FLAT));
}

TEST_CASE("a word is what it was packed from", "[client][health]")
{
	health_word parts = {};
	parts.state = DNSBLV6_ZONE_BLOCKED;
	parts.mode = HEALTH_CLASSIC;
	parts.has_ipv6 = parts.doubts_no = true;
	parts.since_s = (1u << 26) - 1;
	parts.due_s = 12345;
	const health_word again = health_unpack(health_pack(&parts));

	CHECK(again.state == DNSBLV6_ZONE_BLOCKED);
	CHECK(again.mode == HEALTH_CLASSIC);
	CHECK_FALSE(again.has_ipv4);
	CHECK(again.has_ipv6);
	CHECK_FALSE(again.has_classic);
	CHECK(again.doubts_no);
	CHECK(again.since_s == (1u << 26) - 1);
	CHECK(again.due_s == 12345);
	CHECK(health_unpack(0).state == DNSBLV6_ZONE_UNPROBED);
	CHECK(health_unpack(0).mode == HEALTH_UNKNOWN);
}

TEST_CASE("each finding leads to one state", "[client][health]")
{
	struct row {
		health_mode mode;
		int point;
		health_finding finding;
		dnsblv6_zone_state state;
	};
	const row rows = GENERATE(
		row{ HEALTH_CLASSIC, HEALTH_LISTED, HEALTH_YES, DNSBLV6_ZONE_OK },
		row{ HEALTH_CLASSIC, HEALTH_LISTED, HEALTH_NO, DNSBLV6_ZONE_UNREACHABLE },
		row{ HEALTH_CLASSIC, HEALTH_LISTED, HEALTH_EMPTY, DNSBLV6_ZONE_UNREACHABLE },
		row{ HEALTH_CLASSIC, HEALTH_LISTED, HEALTH_SILENT, DNSBLV6_ZONE_UNREACHABLE },
		row{ HEALTH_CLASSIC, HEALTH_LISTED, HEALTH_FAILED, DNSBLV6_ZONE_UNREACHABLE },
		row{ HEALTH_CLASSIC, HEALTH_LISTED, HEALTH_FOREIGN, DNSBLV6_ZONE_WILDCARDED },
		row{ HEALTH_CLASSIC, HEALTH_LISTED, HEALTH_REFUSED, DNSBLV6_ZONE_BLOCKED },
		row{ HEALTH_CLASSIC, HEALTH_CLEAR, HEALTH_YES, DNSBLV6_ZONE_LISTS_WORLD },
		row{ HEALTH_CLASSIC, HEALTH_CLEAR, HEALTH_FOREIGN, DNSBLV6_ZONE_WILDCARDED },
		row{ HEALTH_CLASSIC, HEALTH_CLEAR, HEALTH_SILENT, DNSBLV6_ZONE_UNREACHABLE },
		row{ HEALTH_CLASSIC, HEALTH_CLEAR6, HEALTH_YES, DNSBLV6_ZONE_LISTS_WORLD },
		row{ HEALTH_CLASSIC, HEALTH_NOWHERE, HEALTH_YES, DNSBLV6_ZONE_WILDCARDED },
		row{ HEALTH_CLASSIC, HEALTH_NOWHERE, HEALTH_FOREIGN, DNSBLV6_ZONE_WILDCARDED },
		row{ HEALTH_CLASSIC, HEALTH_NOWHERE, HEALTH_SILENT, DNSBLV6_ZONE_OK },
		row{ HEALTH_DOTTED, HEALTH_LISTED, HEALTH_EMPTY, DNSBLV6_ZONE_FILTERED },
		row{ HEALTH_DOTTED, HEALTH_LISTED, HEALTH_NO, DNSBLV6_ZONE_UNREACHABLE },
		row{ HEALTH_DOTTED, HEALTH_LISTED6, HEALTH_EMPTY, DNSBLV6_ZONE_FILTERED },
		row{ HEALTH_DOTTED, HEALTH_LISTED6, HEALTH_NO, DNSBLV6_ZONE_UNREACHABLE },
		row{ HEALTH_DOTTED, HEALTH_CLEAR6, HEALTH_YES, DNSBLV6_ZONE_LISTS_WORLD },
		row{ HEALTH_FLAT, HEALTH_CANARY, HEALTH_EMPTY, DNSBLV6_ZONE_FILTERED },
		row{ HEALTH_FLAT, HEALTH_CANARY + 4, HEALTH_NO, DNSBLV6_ZONE_FILTERED },
		row{ HEALTH_FLAT, HEALTH_CANARY + 2, HEALTH_FOREIGN, DNSBLV6_ZONE_FILTERED },
		row{ HEALTH_FLAT, HEALTH_CANARY + 1, HEALTH_FAILED, DNSBLV6_ZONE_FILTERED },
		row{ HEALTH_DOTTED, HEALTH_CLASSIC_LISTED, HEALTH_SILENT, DNSBLV6_ZONE_OK });
	CAPTURE(rows.mode, rows.point, rows.finding);
	health_probe probe = make_good(rows.mode);
	probe.points[rows.point] = rows.finding;
	CHECK(judge(probe) == rows.state);
}

TEST_CASE("a zone that says nothing of IPv6 needs no IPv6 test points", "[client][health]")
{
	health_probe probe = make_good(HEALTH_DOTTED);
	probe.has_ipv6 = false;
	probe.points[HEALTH_LISTED6] = HEALTH_NO;
	CHECK(judge(probe) == DNSBLV6_ZONE_OK);
}

TEST_CASE("every state is reached by a probe, and left by the next", "[client][health]")
{
	const auto state =
		GENERATE(DNSBLV6_ZONE_OK, DNSBLV6_ZONE_FILTERED, DNSBLV6_ZONE_WILDCARDED,
			 DNSBLV6_ZONE_LISTS_WORLD, DNSBLV6_ZONE_UNREACHABLE, DNSBLV6_ZONE_BLOCKED);
	CAPTURE(state);
	patient zone;
	CHECK(zone.claim()); // a zone that nobody has probed is always due
	CHECK(zone.probe(make_sick(state)) == state);
	CHECK(zone.parts().since_s == zone.now_s);
	const uint32_t since_s = zone.now_s;
	zone.now_s += 5;
	CHECK(zone.probe(make_sick(state)) == state);
	CHECK(zone.parts().since_s == since_s);
	CHECK(zone.probe(make_good(HEALTH_FLAT)) == DNSBLV6_ZONE_OK);
	CHECK(zone.parts().mode == HEALTH_FLAT);
	CHECK(zone.parts().due_s == zone.now_s + 3600);
}

TEST_CASE("a sick zone is probed again within 20 seconds, and later more seldom",
	  "[client][health]")
{
	patient zone;
	zone.probe(make_sick(DNSBLV6_ZONE_BLOCKED));
	for (uint32_t pause_s : { 10u, 20u, 20u, 20u }) {
		CAPTURE(pause_s);
		CHECK(zone.parts().due_s == zone.now_s + pause_s);
		zone.now_s += pause_s - 1;
		CHECK_FALSE(zone.claim());
		zone.now_s += 1;
		CHECK(zone.claim());
		CHECK_FALSE(zone.claim()); // another process comes to the same word
		zone.probe(make_sick(DNSBLV6_ZONE_BLOCKED));
	}
	zone.now_s = zone.parts().since_s + HEALTH_ACUTE_S - 1;
	zone.probe(make_sick(DNSBLV6_ZONE_BLOCKED));
	CHECK(zone.parts().due_s == zone.now_s + 20);
	zone.now_s += 1;
	zone.probe(make_sick(DNSBLV6_ZONE_BLOCKED));
	CHECK(zone.parts().due_s == zone.now_s + 300);
	zone.now_s += 2 * 86400;
	zone.probe(make_sick(DNSBLV6_ZONE_BLOCKED));
	CHECK(zone.parts().due_s == zone.now_s + 300);
	zone.probe(make_good(HEALTH_CLASSIC));
	zone.probe(make_sick(DNSBLV6_ZONE_BLOCKED));
	CHECK(zone.parts().due_s == zone.now_s + 10);
}

TEST_CASE("a state begins now also where the machine has run for years", "[client][health]")
{
	patient zone;
	zone.now_s = (1u << 26) + 10;
	health_probe found = make_good(HEALTH_CLASSIC);
	found.wants_secure = true;
	CHECK(zone.probe(found) == DNSBLV6_ZONE_INSECURE);
	CHECK(zone.parts().due_s == zone.now_s + 10);
	zone.now_s += HEALTH_PIN_S - 1;
	CHECK_FALSE(health_is_pin_over(zone.word, zone.now_s));
	CHECK(health_is_pin_over(zone.word, zone.now_s + 1));
	const health_word parts = zone.parts();
	CHECK(health_age_s(&parts, zone.now_s) == HEALTH_PIN_S - 1);
	// Another process may have written it a moment later.
	CHECK(health_age_s(&parts, zone.now_s - HEALTH_PIN_S) == 0);
}

TEST_CASE("a zone that is merely silent is tried again within 20 seconds for ever",
	  "[client][health]")
{
	patient zone;
	zone.probe(make_sick(DNSBLV6_ZONE_UNREACHABLE));
	zone.now_s += 86400;
	zone.probe(make_sick(DNSBLV6_ZONE_UNREACHABLE));
	CHECK(zone.parts().due_s == zone.now_s + 20);
}

TEST_CASE("without a probe interval a sick zone is still probed again", "[client][health]")
{
	patient zone;
	zone.options.probe_interval_s = 0;
	zone.probe(make_good(HEALTH_CLASSIC));
	CHECK(zone.parts().due_s == HEALTH_NEVER_S);
	zone.probe(make_sick(DNSBLV6_ZONE_UNREACHABLE));
	CHECK(zone.parts().due_s == zone.now_s + 10);
}

TEST_CASE("a zone is unreachable after several timeouts over some seconds", "[client][health]")
{
	patient zone;
	zone.probe(make_good(HEALTH_CLASSIC));
	for (int i = 0; i < 100; i++)
		CHECK(zone.fail(ANSWER_SILENT) == DNSBLV6_ZONE_OK); // all in one second
	zone.answer();
	zone.now_s += HEALTH_FAILING_S;
	for (int i = 1; i < HEALTH_FAILURES_MIN; i++)
		CHECK(zone.fail(ANSWER_SERVFAIL) == DNSBLV6_ZONE_OK);
	zone.now_s += HEALTH_FAILING_S;
	CHECK(zone.fail(ANSWER_NETWORK) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.parts().mode == HEALTH_CLASSIC);
	CHECK(zone.parts().due_s == zone.now_s + 10);
}

TEST_CASE("processes that each wait in vain once find a zone unreachable together",
	  "[client][health]")
{
	const bool is_probed = GENERATE(true, false);
	CAPTURE(is_probed);
	patient zone;
	if (is_probed)
		zone.probe(make_good(HEALTH_CLASSIC));
	for (int i = 1; i < HEALTH_FAILURES_MIN; i++) {
		zone.memory = { zone.memory.evidence, 0, false }; // of a process that is new
		zone.now_s += 2;
		CHECK_FALSE(health_is_sick(zone.wait(2000)));
	}
	zone.now_s += 2;
	CHECK(zone.wait(2000) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.parts().mode == (is_probed ? HEALTH_CLASSIC : HEALTH_UNKNOWN));
	CHECK(zone.parts().due_s == zone.now_s + 10);
	// Only one of them tries it when it is due.
	CHECK_FALSE(zone.claim());
	zone.now_s += 10;
	CHECK(zone.claim());
	CHECK_FALSE(zone.claim());
	zone.now_s += 2;
	CHECK(zone.wait(2000) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.parts().due_s == zone.now_s + 20); // and no later
}

TEST_CASE("however many wait at once, a zone is not unreachable before ten seconds of silence",
	  "[client][health]")
{
	patient zone;
	zone.probe(make_good(HEALTH_CLASSIC));
	zone.now_s += 2;
	for (int i = 0; i < 100; i++)
		CHECK(zone.wait(2000) == DNSBLV6_ZONE_OK);
	zone.now_s += HEALTH_FAILING_S - 2;
	CHECK(zone.wait(2000) == DNSBLV6_ZONE_UNREACHABLE);
}

TEST_CASE("many that end late together say nothing when an answer has just come",
	  "[client][health]")
{
	patient zone;
	zone.probe(make_good(HEALTH_CLASSIC));
	zone.now_s += 60;
	zone.answer(); // to one of thousands, which were asked for a minute ago
	zone.now_s++;
	for (int i = 0; i < 1000; i++)
		CHECK(zone.wait(60000) == DNSBLV6_ZONE_OK);
	zone.now_s += HEALTH_FAILING_S;
	CHECK(zone.wait(60000) == DNSBLV6_ZONE_UNREACHABLE);
}

TEST_CASE("an answer to any request ends a series of late requests", "[client][health]")
{
	patient zone;
	zone.probe(make_good(HEALTH_CLASSIC));
	for (int i = 0; i < 100; i++) {
		if (i % (HEALTH_FAILURES_MIN - 1) == 0)
			zone.answer();
		zone.now_s += 2;
		CHECK(zone.wait(2000) == DNSBLV6_ZONE_OK);
	}
}

TEST_CASE("a request with too little time says nothing about a zone", "[client][health]")
{
	const bool is_probed = GENERATE(true, false);
	CAPTURE(is_probed);
	patient zone;
	if (is_probed)
		zone.probe(make_good(HEALTH_CLASSIC));
	const dnsblv6_zone_state was = zone.parts().state;
	for (int i = 0; i < 1000; i++) {
		zone.now_s++;
		CHECK(zone.wait(HEALTH_LATE_MS - 1) == was);
	}
	for (int i = 1; i < HEALTH_FAILURES_MIN; i++) {
		zone.now_s += HEALTH_FAILING_S;
		CHECK(zone.wait(HEALTH_LATE_MS) == was);
	}
	CHECK(zone.wait(HEALTH_LATE_MS) == DNSBLV6_ZONE_UNREACHABLE);
	// Nor does it put off the next probe.
	zone.now_s += 9;
	const uint32_t due_s = zone.parts().due_s;
	CHECK(zone.wait(50) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.parts().due_s == due_s);
	CHECK(zone.wait(HEALTH_LATE_MS) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.parts().due_s > due_s);
}

TEST_CASE("a probe that ends in silence leaves nothing to try at once", "[client][health]")
{
	patient zone;
	zone.probe(make_sick(DNSBLV6_ZONE_UNREACHABLE));
	CHECK_FALSE(zone.claim());
	zone.probe(make_good(HEALTH_CLASSIC));
	for (int i = 0; i < HEALTH_FAILURES_MIN; i++) {
		zone.now_s += 3;
		zone.fail(ANSWER_SERVFAIL);
	}
	REQUIRE(zone.parts().state == DNSBLV6_ZONE_UNREACHABLE);
	CHECK_FALSE(zone.claim());
}

TEST_CASE("an answer of an unreachable zone has it probed at once", "[client][health]")
{
	patient zone;
	zone.probe(make_sick(DNSBLV6_ZONE_UNREACHABLE));
	CHECK_FALSE(zone.claim());
	zone.answer();
	CHECK(zone.parts().state == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.claim());
}

TEST_CASE("one answer that says so makes a zone blocked", "[client][health]")
{
	patient zone;
	zone.probe(make_good(HEALTH_DOTTED));
	CHECK(zone.fail(ANSWER_BLOCKED) == DNSBLV6_ZONE_BLOCKED);
	CHECK(zone.probe(make_good(HEALTH_DOTTED)) == DNSBLV6_ZONE_OK);
}

TEST_CASE("an answer that cannot be has the zone probed, not more often than failures last",
	  "[client][health]")
{
	const auto failure = GENERATE(ANSWER_LYING, ANSWER_FILTERED, ANSWER_FOREIGN);
	CAPTURE(failure);
	patient zone;
	zone.probe(make_good(HEALTH_CLASSIC));
	CHECK(zone.fail(failure) == DNSBLV6_ZONE_OK);
	CHECK_FALSE(zone.claim());
	zone.now_s += 10;
	CHECK(zone.fail(failure) == DNSBLV6_ZONE_OK);
	CHECK(zone.claim());
	CHECK_FALSE(zone.claim());
}

TEST_CASE("a probe without replies keeps what is known of how to ask", "[client][health]")
{
	patient zone;
	zone.probe(make_good(HEALTH_FLAT));
	health_probe nothing = {};
	nothing.points[HEALTH_LISTED] = HEALTH_SILENT;
	CHECK(zone.probe(nothing) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.parts().mode == HEALTH_FLAT);
	CHECK(zone.parts().has_classic);
}

TEST_CASE("the classic zone beside a bitmap zone needs test points of its own", "[client][health]")
{
	const auto point = GENERATE(HEALTH_CLASSIC_LISTED, HEALTH_CLASSIC_CLEAR);
	patient zone;
	health_probe probe = make_good(HEALTH_DOTTED);
	zone.probe(probe);
	CHECK(zone.parts().has_classic);
	probe.points[point] = HEALTH_SILENT;
	zone.probe(probe);
	CHECK_FALSE(zone.parts().has_classic);
}

TEST_CASE("a canary that is denied makes denials doubtful", "[client][health]")
{
	patient zone;
	health_probe probe = make_good(HEALTH_DOTTED);
	probe.points[HEALTH_CANARY + 3] = HEALTH_NO;
	CHECK(zone.probe(probe) == DNSBLV6_ZONE_FILTERED);
	CHECK(zone.parts().doubts_no);
}

TEST_CASE("each change of state is one line, and none when all is well from the start",
	  "[client][health]")
{
	char line[HEALTH_LINE_MAX] = "";
	patient zone;
	uint64_t before = zone.word;

	zone.probe(make_good(HEALTH_CLASSIC));
	CHECK(health_line("bl.example", before, zone.word, "x", line) == -1);
	before = zone.word;
	zone.fail(ANSWER_BLOCKED);
	CHECK(health_line("bl.example", before, zone.word, "refused", line) == 4);
	CHECK(std::string(line) == "[bl.example] zone fell ill, state=blocked was=ok (refused)");
	before = zone.word;
	zone.fail(ANSWER_BLOCKED);
	CHECK(health_line("bl.example", before, zone.word, "refused", line) == -1);
	zone.probe(make_good(HEALTH_CLASSIC));
	CHECK(health_line("bl.example", before, zone.word, "test points are right", line) == 6);
	CHECK(std::string(line) ==
	      "[bl.example] zone recovered, state=ok was=blocked (test points are right)");
	before = zone.word;
	zone.probe(make_sick(DNSBLV6_ZONE_FILTERED));
	CHECK(health_line("bl.example", before, zone.word, "fd00::/8", line) == 4);
	CHECK(std::string(line) == "[bl.example] zone fell ill, state=filtered was=ok "
				   "(a resolver drops fd00::/8)");
}

TEST_CASE("a zone is looked at once a minute, and as often again as it has credit",
	  "[client][health]")
{
	uint64_t trust = 0;
	uint32_t now_s = 1000;
	for (unsigned i = 0; i < HEALTH_LOOK_CREDIT; i++)
		CHECK(health_claim_look(&trust, now_s));
	const uint64_t spent = trust;
	CHECK_FALSE(health_claim_look(&trust, now_s));
	CHECK_FALSE(health_claim_look(&trust, now_s + HEALTH_LOOK_S - 1));
	CHECK(trust == spent);
	now_s += HEALTH_LOOK_S;
	CHECK(health_claim_look(&trust, now_s));
	CHECK_FALSE(health_claim_look(&trust, now_s));

	now_s += 3 * HEALTH_LOOK_S;
	for (unsigned i = 0; i < 3; i++)
		CHECK(health_claim_look(&trust, now_s));
	CHECK_FALSE(health_claim_look(&trust, now_s));
	now_s += 1000 * HEALTH_LOOK_S;
	unsigned count = 0;
	while (health_claim_look(&trust, now_s))
		count++;
	CHECK(count == HEALTH_LOOK_CREDIT);
	trust = health_looked_well(trust, now_s);
	CHECK(health_unpack_trust(trust).looked_s == now_s);
	CHECK_FALSE(health_claim_look(&trust, now_s));
}

TEST_CASE("a look makes a zone ill by what is answered, and by nothing else", "[client][health]")
{
	struct row {
		health_finding nowhere, clear;
		dnsblv6_zone_state state;
	};
	const row rows = GENERATE(row{ HEALTH_NO, HEALTH_NO, DNSBLV6_ZONE_OK },
				  row{ HEALTH_YES, HEALTH_NO, DNSBLV6_ZONE_WILDCARDED },
				  row{ HEALTH_NO, HEALTH_YES, DNSBLV6_ZONE_LISTS_WORLD },
				  row{ HEALTH_FOREIGN, HEALTH_SILENT, DNSBLV6_ZONE_WILDCARDED },
				  row{ HEALTH_REFUSED, HEALTH_NO, DNSBLV6_ZONE_BLOCKED },
				  row{ HEALTH_SILENT, HEALTH_NO, DNSBLV6_ZONE_OK },
				  row{ HEALTH_FAILED, HEALTH_FAILED, DNSBLV6_ZONE_OK });
	patient zone;
	zone.probe(make_good(HEALTH_DOTTED));
	zone.now_s += 100;
	health_probe found = {};
	found.points[HEALTH_NOWHERE] = rows.nowhere;
	found.points[HEALTH_CLEAR] = rows.clear;
	const char *reason = nullptr;
	const uint64_t before = zone.word;
	zone.word =
		health_looked(&zone.memory, &zone.options, zone.word, &found, zone.now_s, &reason);
	CHECK(zone.parts().state == rows.state);
	CHECK(reason != nullptr);
	if (rows.state == DNSBLV6_ZONE_OK) {
		CHECK(zone.word == before);
		return;
	}
	// It is probed as every sick one, and all of it.
	CHECK(zone.parts().due_s == zone.now_s + zone.options.failure_ttl_s);
	CHECK(zone.memory.is_suspect);
	const uint64_t ill = zone.word;
	CHECK(health_looked(&zone.memory, &zone.options, zone.word, &found, zone.now_s + 5,
			    &reason) == ill);
}

namespace
{
health_probe make_silent_canaries()
{
	health_probe probe = make_good(HEALTH_DOTTED);
	for (int i = HEALTH_CANARY; i < HEALTH_POINT_COUNT; i++)
		probe.points[i] = HEALTH_SILENT;
	return probe;
}
} // namespace

TEST_CASE("canaries without a reply are an outage first, and a filter when they stay so",
	  "[client][engine][health]")
{
	const bool was_ok = GENERATE(false, true);
	patient zone;
	if (was_ok)
		REQUIRE(zone.probe(make_good(HEALTH_DOTTED)) == DNSBLV6_ZONE_OK);

	CHECK(zone.probe(make_silent_canaries()) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.reason == "no reply");
	CHECK(zone.parts().due_s == zone.now_s + 10);
	zone.now_s += 10;
	CHECK(zone.probe(make_silent_canaries()) == DNSBLV6_ZONE_FILTERED);
	CHECK(zone.parts().due_s == zone.now_s + 20);
	zone.now_s += 20;
	CHECK(zone.probe(make_silent_canaries()) == DNSBLV6_ZONE_FILTERED);
	CHECK(zone.parts().due_s == zone.now_s + 3600);
	CHECK(zone.probe(make_good(HEALTH_DOTTED)) == DNSBLV6_ZONE_OK);
}

TEST_CASE("canaries without a reply are no filter while each probe finds others so",
	  "[client][engine][health]")
{
	health_probe one_lost = make_good(HEALTH_DOTTED);
	one_lost.points[HEALTH_CANARY + 3] = HEALTH_SILENT;
	patient zone;

	// An outage, and then what is left of it.
	REQUIRE(zone.probe(make_sick(DNSBLV6_ZONE_UNREACHABLE)) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.probe(make_silent_canaries()) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.reason == "no reply");
	CHECK(zone.probe(one_lost) == DNSBLV6_ZONE_UNREACHABLE);
	// What comes between two probes changes nothing.
	zone.answer();
	zone.wait(2000);
	CHECK(zone.probe(one_lost) == DNSBLV6_ZONE_FILTERED);
	CHECK(zone.probe(make_good(HEALTH_DOTTED)) == DNSBLV6_ZONE_OK);
	CHECK(zone.probe(one_lost) == DNSBLV6_ZONE_UNREACHABLE);
}

TEST_CASE("canaries without an answer are an outage when no new name has one",
	  "[client][engine][health]")
{
	const auto canary = GENERATE(HEALTH_SILENT, HEALTH_FAILED);
	const auto nowhere = GENERATE(HEALTH_SILENT, HEALTH_FAILED);
	health_probe found = make_good(HEALTH_DOTTED);
	found.points[HEALTH_CANARY + 2] = canary;
	found.points[HEALTH_NOWHERE] = nowhere;
	patient zone;

	CHECK(zone.probe(found) == DNSBLV6_ZONE_UNREACHABLE);
	CHECK(zone.reason == (nowhere == HEALTH_SILENT ? "no reply" : "the resolver failed"));
	CHECK(zone.probe(found) == DNSBLV6_ZONE_UNREACHABLE);
	found.points[HEALTH_CANARY + 2] = HEALTH_EMPTY;
	CHECK(zone.probe(found) == DNSBLV6_ZONE_FILTERED);
}

TEST_CASE("a canary that lost its record is a filter, whatever else is silent",
	  "[client][engine][health]")
{
	const auto point = GENERATE(HEALTH_LISTED, HEALTH_LISTED6, HEALTH_CANARY);
	health_probe found = make_good(HEALTH_DOTTED);
	found.points[HEALTH_CANARY + 1] = HEALTH_SILENT;
	found.points[point] = HEALTH_EMPTY;
	patient zone;

	CHECK(zone.probe(found) == DNSBLV6_ZONE_FILTERED);
}

TEST_CASE("a zone that has just been found filtered is probed again soon",
	  "[client][engine][health]")
{
	const uint32_t interval_s = GENERATE(0u, 5u, 3600u);
	patient zone;
	zone.options.probe_interval_s = interval_s;

	CHECK(zone.probe(make_sick(DNSBLV6_ZONE_FILTERED)) == DNSBLV6_ZONE_FILTERED);
	CHECK(zone.parts().due_s ==
	      (interval_s == 0 ? HEALTH_NEVER_S : zone.now_s + std::min(interval_s, 20u)));
	zone.now_s += 20;
	CHECK(zone.probe(make_sick(DNSBLV6_ZONE_FILTERED)) == DNSBLV6_ZONE_FILTERED);
	CHECK(zone.parts().due_s == (interval_s == 0 ? HEALTH_NEVER_S : zone.now_s + interval_s));
}
