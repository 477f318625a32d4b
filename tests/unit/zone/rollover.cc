// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/keys/rollover_text.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

static const uint64_t BEGIN_S = 1764000000;
static const uint32_t DNSKEY_TTL = 2100;
static const uint32_t ZONE_TTL = 86400;
static const uint32_t DS_TTL = 7200;
static const rollover_policy POLICY = { 365 * 86400, 0, 3600 };

static rollover_key made_key(uint8_t algorithm, uint8_t fill)
{
	rollover_key key = {};
	const uint8_t head[] = { 1, 1, 3, algorithm };
	std::memcpy(key.dnskey, head, sizeof(head));
	key.dnskey_size = algorithm == KEY_ED25519 ? 36 : 68;
	std::memset(key.dnskey + 4, fill, key.dnskey_size - 4U);
	return key;
}

static void make(rollover &zone, rollover_step step, uint64_t now_s)
{
	REQUIRE(rollover_make(&zone, &POLICY, step, now_s, nullptr) == DNSBLV6_OK);
	CHECK(rollover_is_sound(&zone));
}

static void start(rollover &zone, uint64_t now_s, uint8_t algorithm, uint8_t fill)
{
	const rollover_key key = made_key(algorithm, fill);
	REQUIRE(rollover_make(&zone, &POLICY, ROLLOVER_START, now_s, &key) == DNSBLV6_OK);
	CHECK(rollover_is_sound(&zone));
}

// A zone whose parent has the DS of its only key.
static rollover zone_with_key(uint8_t algorithm)
{
	rollover zone = {};
	start(zone, BEGIN_S, algorithm, 0x11);
	make(zone, ROLLOVER_DS_SEEN, BEGIN_S + 60);
	rollover_note_ttls(&zone, DNSKEY_TTL, ZONE_TTL);
	zone.ds_ttl = DS_TTL;
	return zone;
}

// The step that comes next may be made at that second, and not at the one before.
static void check_edge(const rollover &zone, rollover_step step, uint64_t at_s)
{
	const rollover_next next = rollover_find_next(&zone, &POLICY);
	CHECK(next.step == step);
	CHECK(next.at_s == at_s);
	CHECK_FALSE(rollover_is_due(&next, at_s - 1));
	CHECK(rollover_is_due(&next, at_s));
	CHECK(rollover_check(&zone, &POLICY, step, at_s) == DNSBLV6_OK);
	rollover copy = zone;
	if (step == ROLLOVER_START)
		return;
	CHECK(rollover_make(&copy, &POLICY, step, at_s - 1, nullptr) == ROLLOVER_EEARLY);
	CHECK(std::memcmp(&copy, &zone, sizeof(zone)) == 0);
}

static void check_refused(const rollover &zone, std::initializer_list<rollover_step> steps)
{
	for (const rollover_step step : steps) {
		CAPTURE(rollover_step_word(step));
		CHECK(rollover_check(&zone, &POLICY, step, BEGIN_S * 2) == ROLLOVER_ESTEP);
	}
}

// "D": among the DNSKEYs, "Z": signs the zone, "1": first of those, "C": has a CDS.
static std::string roles(const rollover &zone)
{
	rollover_role all[ROLLOVER_KEYS_MAX];
	rollover_assign_roles(&zone, all);
	std::string text;
	for (size_t i = 0; i < zone.key_count; i++) {
		text += i > 0 ? " " : "";
		text += all[i].is_published ? "D" : "-";
		text += all[i].signs_zone ? "Z" : "-";
		text += all[i].is_first ? "1" : "-";
		text += all[i].is_submitted ? "C" : "-";
	}
	return text;
}

TEST_CASE("a zone's first key is active at once, and has a CDS until its DS is seen",
	  "[zone][rollover]")
{
	rollover zone = {};
	const rollover_next first = rollover_find_next(&zone, &POLICY);
	CHECK(first.step == ROLLOVER_START);
	CHECK(rollover_is_due(&first, BEGIN_S));
	CHECK(rollover_awaited(&zone) == nullptr);
	start(zone, BEGIN_S, KEY_ECDSAP256SHA256, 0x11);
	CHECK(zone.keys[0].state == ROLLOVER_ACTIVE);
	CHECK(zone.keys[0].made_s == BEGIN_S);
	CHECK(roles(zone) == "DZ1C");

	const rollover_next next = rollover_find_next(&zone, &POLICY);
	CHECK(next.step == ROLLOVER_DS_SEEN);
	CHECK_FALSE(rollover_is_due(&next, BEGIN_S * 2)); // a parent's to say
	CHECK(rollover_awaited(&zone) == &zone.keys[0]);
	make(zone, ROLLOVER_DS_SEEN, BEGIN_S + 60);
	CHECK(roles(zone) == "DZ1-");
	CHECK(rollover_awaited(&zone) == nullptr);
}

TEST_CASE("a key of the same algorithm follows in five steps, each at its time", "[zone][rollover]")
{
	const uint8_t algorithm = GENERATE(as<uint8_t>{}, KEY_ECDSAP256SHA256, KEY_ED25519);
	rollover zone = zone_with_key(algorithm);
	uint64_t now_s = BEGIN_S + POLICY.every_s;
	check_edge(zone, ROLLOVER_START, now_s);

	start(zone, now_s, algorithm, 0x22);
	CHECK(zone.keys[1].state == ROLLOVER_PUBLISHED);
	CHECK(roles(zone) == "DZ1- D---");
	CHECK(rollover_awaited(&zone) == nullptr);
	check_edge(zone, ROLLOVER_SUBMIT, now_s += DNSKEY_TTL + POLICY.propagation_s);
	check_refused(zone, { ROLLOVER_START, ROLLOVER_PUBLISH, ROLLOVER_DS_SEEN, ROLLOVER_SWITCH,
			      ROLLOVER_REMOVE });

	make(zone, ROLLOVER_SUBMIT, now_s);
	CHECK(roles(zone) == "DZ1- D--C");
	CHECK(rollover_awaited(&zone) == &zone.keys[1]);
	CHECK(rollover_find_next(&zone, &POLICY).at_s == 0);
	check_refused(zone, { ROLLOVER_START, ROLLOVER_PUBLISH, ROLLOVER_SUBMIT, ROLLOVER_SWITCH,
			      ROLLOVER_REMOVE, ROLLOVER_CANCEL });

	make(zone, ROLLOVER_DS_SEEN, now_s += 500000);
	CHECK(roles(zone) == "DZ1- D--C");
	CHECK(rollover_awaited(&zone) == nullptr);
	check_edge(zone, ROLLOVER_SWITCH, now_s += DS_TTL + POLICY.propagation_s);

	make(zone, ROLLOVER_SWITCH, now_s);
	CHECK(zone.keys[0].state == ROLLOVER_RETIRING);
	CHECK(zone.keys[1].state == ROLLOVER_ACTIVE);
	CHECK(roles(zone) == "D--- DZ1C");
	check_edge(zone, ROLLOVER_REMOVE, now_s += ZONE_TTL + POLICY.propagation_s);
	check_refused(zone, { ROLLOVER_START, ROLLOVER_SUBMIT, ROLLOVER_DS_SEEN, ROLLOVER_CANCEL });

	make(zone, ROLLOVER_REMOVE, now_s);
	CHECK(zone.key_count == 1);
	CHECK(zone.keys[0].dnskey[4] == 0x22);
	CHECK(roles(zone) == "DZ1-");
	check_edge(zone, ROLLOVER_START, now_s - ZONE_TTL - POLICY.propagation_s + POLICY.every_s);
}

TEST_CASE("beside a key of another algorithm all is signed twice, longer than it is published",
	  "[zone][rollover]")
{
	const bool is_ecdsa_first = GENERATE(true, false);
	const uint8_t before = is_ecdsa_first ? KEY_ECDSAP256SHA256 : KEY_ED25519;
	const uint8_t after = is_ecdsa_first ? KEY_ED25519 : KEY_ECDSAP256SHA256;
	rollover zone = zone_with_key(before);
	uint64_t now_s = BEGIN_S + 86400;

	start(zone, now_s, after, 0x22);
	CHECK(zone.keys[1].state == ROLLOVER_GENERATED);
	CHECK(roles(zone) == "DZ1- -Z--");
	check_edge(zone, ROLLOVER_PUBLISH, now_s += ZONE_TTL + POLICY.propagation_s);

	make(zone, ROLLOVER_PUBLISH, now_s);
	CHECK(roles(zone) == "DZ1- DZ--");
	check_edge(zone, ROLLOVER_SUBMIT, now_s += DNSKEY_TTL + POLICY.propagation_s);

	make(zone, ROLLOVER_SUBMIT, now_s);
	CHECK(roles(zone) == "DZ1- DZ-C");
	make(zone, ROLLOVER_DS_SEEN, ++now_s);
	check_edge(zone, ROLLOVER_SWITCH, now_s += DS_TTL + POLICY.propagation_s);

	make(zone, ROLLOVER_SWITCH, now_s);
	CHECK(roles(zone) == "-Z-- DZ1C");
	check_edge(zone, ROLLOVER_REMOVE, now_s += DNSKEY_TTL + POLICY.propagation_s);

	make(zone, ROLLOVER_REMOVE, now_s);
	CHECK(roles(zone) == "DZ1-");
	CHECK(rollover_key_algorithm(&zone.keys[0]) == after);
}

TEST_CASE("another algorithm in the policy starts a rollover at once, its own none",
	  "[zone][rollover]")
{
	rollover zone = zone_with_key(KEY_ECDSAP256SHA256);
	const rollover_policy same = { 0, KEY_ECDSAP256SHA256, 3600 };
	const rollover_policy other = { 0, KEY_ED25519, 3600 };
	CHECK(rollover_find_next(&zone, &same).step == ROLLOVER_NONE);
	const rollover_next next = rollover_find_next(&zone, &other);
	CHECK(next.step == ROLLOVER_START);
	CHECK(rollover_is_due(&next, BEGIN_S));
}

TEST_CASE("a key without a DS at the parent is followed by hand alone", "[zone][rollover]")
{
	rollover zone = {};
	start(zone, BEGIN_S, KEY_ED25519, 0x11);
	const rollover_policy other = { 1, KEY_ECDSAP256SHA256, 3600 };
	CHECK(rollover_find_next(&zone, &other).step == ROLLOVER_DS_SEEN);
	CHECK(rollover_check(&zone, &other, ROLLOVER_START, BEGIN_S) == DNSBLV6_OK);
	start(zone, BEGIN_S + 10, KEY_ED25519, 0x22);
	CHECK(roles(zone) == "DZ1C D---");
	make(zone, ROLLOVER_SUBMIT, BEGIN_S + 86400);
	CHECK(roles(zone) == "DZ1- D--C"); // one set of DS records
}

TEST_CASE("a key that no parent was told of may go away again", "[zone][rollover]")
{
	const uint8_t algorithm = GENERATE(as<uint8_t>{}, KEY_ECDSAP256SHA256, KEY_ED25519);
	rollover zone = zone_with_key(KEY_ECDSAP256SHA256);
	const rollover before = zone;
	check_refused(zone, { ROLLOVER_CANCEL });
	start(zone, BEGIN_S + 100, algorithm, 0x22);
	make(zone, ROLLOVER_CANCEL, BEGIN_S + 101);
	CHECK(zone.key_count == 1);
	CHECK(std::memcmp(&zone.keys[0], &before.keys[0], sizeof(zone.keys[0])) == 0);
}

TEST_CASE("without a word of the parent a DS may be in caches for a day", "[zone][rollover]")
{
	rollover zone = zone_with_key(KEY_ED25519);
	zone.ds_ttl = 0;
	start(zone, BEGIN_S, KEY_ED25519, 0x22);
	make(zone, ROLLOVER_SUBMIT, BEGIN_S + 100000);
	make(zone, ROLLOVER_DS_SEEN, BEGIN_S + 200000);
	check_edge(zone, ROLLOVER_SWITCH, BEGIN_S + 200000 + 86400 + POLICY.propagation_s);
}

TEST_CASE("a TTL that falls while keys change is waited for as it was", "[zone][rollover]")
{
	rollover zone = zone_with_key(KEY_ED25519);
	rollover_note_ttls(&zone, 60, 60);
	CHECK(zone.dnskey_ttl == DNSKEY_TTL);
	CHECK(zone.zone_ttl == ZONE_TTL);
	rollover_note_ttls(&zone, DNSKEY_TTL + 1, ZONE_TTL + 1);
	CHECK(zone.dnskey_ttl == DNSKEY_TTL + 1);
	CHECK(zone.zone_ttl == ZONE_TTL + 1);
}

TEST_CASE("a clock before the last step makes none", "[zone][rollover]")
{
	rollover zone = zone_with_key(KEY_ED25519);
	start(zone, BEGIN_S + 1000, KEY_ED25519, 0x22);
	CHECK(rollover_check(&zone, &POLICY, ROLLOVER_SUBMIT, 0) == ROLLOVER_EEARLY);
	CHECK(rollover_check(&zone, &POLICY, ROLLOVER_NONE, BEGIN_S * 2) == ROLLOVER_ESTEP);
}

TEST_CASE("words of states and steps are read as they are written", "[zone][rollover]")
{
	for (int i = ROLLOVER_GENERATED; i <= ROLLOVER_RETIRING; i++) {
		rollover_state state;
		REQUIRE(rollover_parse_state(rollover_state_word((rollover_state)i), &state));
		CHECK(state == i);
	}
	for (int i = ROLLOVER_START; i <= ROLLOVER_CANCEL; i++) {
		rollover_step step;
		REQUIRE(rollover_parse_step(rollover_step_word((rollover_step)i), &step));
		CHECK(step == i);
	}
	rollover_step step;
	CHECK_FALSE(rollover_parse_step("none", &step));
	CHECK_FALSE(rollover_parse_step("Start", &step));
	rollover_state state;
	CHECK_FALSE(rollover_parse_state("", &state));
}

// ---- text ----

static std::string written(const rollover &zone)
{
	char text[ROLLOVER_TEXT_SIZE];
	const size_t size = rollover_text_write(&zone, text);
	CHECK(std::strlen(text) == size);
	return { text, size };
}

TEST_CASE("what a store remembers of a rollover is read as it was written", "[zone][rollover]")
{
	rollover zone = zone_with_key(KEY_ECDSAP256SHA256);
	start(zone, INT64_MAX / 2, KEY_ED25519, 0x22);
	const std::string text = written(zone);
	CHECK(text.substr(0, text.find("key active")) ==
	      "rollover 1\nttl dnskey=2100 zone=86400 ds=7200\n");
	rollover again = {};
	REQUIRE(rollover_text_parse(text.data(), text.size(), &again) == nullptr);
	CHECK(written(again) == text);
	CHECK(rollover_key_tag(&again.keys[1]) == rollover_key_tag(&zone.keys[1]));
	CHECK(again.keys[1].since_s == INT64_MAX / 2);
}

TEST_CASE("a damaged or foreign text is refused with its reason", "[zone][rollover]")
{
	rollover zone = zone_with_key(KEY_ECDSAP256SHA256);
	start(zone, BEGIN_S, KEY_ECDSAP256SHA256, 0x22);
	const std::string good = written(zone);
	const auto changed = [&](const std::string &from, const std::string &to) {
		std::string text = good;
		const size_t at = text.find(from);
		REQUIRE(at != std::string::npos);
		return text.replace(at, from.size(), to);
	};
	const std::vector<std::string> bad = {
		"",
		changed("rollover 1", "rollover 2"),
		changed("ttl ", "ttls "),
		changed("dnskey=2100", "dnskey=02100"),
		changed("zone=86400", "zone=4294967296"),
		changed("key active", "key retiring"),
		changed("key published", "key generated"), // of one algorithm
		changed("key published", "key gone"),
		changed("dnskey=0101030d", "dnskey=0100030d"),
		changed("dnskey=0101030d", "dnskey=01010305"),
		changed("dnskey=0101030d11", "dnskey=0101030d"),
		changed("dnskey=0101030d11", "dnskey=0101030dXX"),
		changed("dnskey=0101030d11", "dnskey=0101030d1"),
		changed("2222", "1122"), // still another key: the tag decides
		changed("since=1764000000", "since=-1"),
		changed("since=1764000000", "since=99999999999999999999"),
		good.substr(0, good.size() - 1),
		good + "x",
		good + good.substr(good.find("key active")),
		std::string(ROLLOVER_TEXT_SIZE, 'x'),
	};
	size_t refused_count = 0;
	for (const std::string &text : bad) {
		CAPTURE(text);
		rollover untouched = {};
		const char *problem = rollover_text_parse(text.data(), text.size(), &untouched);
		refused_count += problem != nullptr;
		if (problem != nullptr)
			CHECK(untouched.key_count == 0);
	}
	CHECK(refused_count == bad.size() - 1); // but the one with another key
}

TEST_CASE("two keys of one tag are refused", "[zone][rollover]")
{
	rollover zone = zone_with_key(KEY_ED25519);
	start(zone, BEGIN_S, KEY_ED25519, 0x22);
	const rollover_key first = zone.keys[0];
	std::memcpy(zone.keys[1].dnskey, first.dnskey, sizeof(first.dnskey));
	CHECK_FALSE(rollover_is_sound(&zone));
	const std::string text = written(zone);
	rollover again = {};
	CHECK(std::string(rollover_text_parse(text.data(), text.size(), &again)) ==
	      "keys: keys are in states that do not go together");
}
