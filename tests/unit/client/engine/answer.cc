/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/engine/answer.h"

#include <cerrno>
#include <initializer_list>
#include <string>

#include <catch2/catch.hpp>

namespace
{
dnsblv6_labels labels(const std::string &text)
{
	dnsblv6_labels name = {};
	REQUIRE(dnsblv6_name_from_text(text.c_str(), &name) == DNSBLV6_OK);
	return name;
}

// A question, the reply to it, and what becomes of them.
struct exchange {
	config options = {};
	dnsblv6_labels name = labels("0.2.0.192.bl6.example");
	answer_question question = {};
	message_reply reply = {};
	cache_entry entry = {};
	int status = 0;
	bool is_trusted = false;

	explicit exchange(bool is_block)
	{
		config_init(&options);
		options.min_ttl_s = 5;
		options.max_ttl_s = 86400;
		options.max_negative_ttl_s = 3600;
		question.config = &options;
		question.name = &name;
		question.is_block = is_block;
		question.soa_labels = 2;
		question.now_s = 1000;
		reply.kind = MESSAGE_ANSWER;
		reply.ede = -1;
		reply.ttl_s = 2100;
		reply.aaaa_count = is_block ? 1 : 0;
		reply.aaaa[0] = 0x20;
	}
	exchange &deny(const std::string &soa)
	{
		reply.kind = MESSAGE_NXDOMAIN;
		reply.aaaa_count = reply.a_count = 0;
		reply.has_soa = !soa.empty();
		if (reply.has_soa)
			reply.soa_owner = labels(soa);
		return *this;
	}
	exchange &a(std::initializer_list<std::array<uint8_t, 4>> values)
	{
		for (const auto &value : values)
			std::copy(value.begin(), value.end(), reply.a[reply.a_count++]);
		return *this;
	}
	answer_failure read()
	{
		return answer_read(&question, status, &reply, is_trusted, &entry);
	}
};
} // namespace

TEST_CASE("one AAAA is a bitmap", "[client][answer]")
{
	exchange block(true);
	REQUIRE(block.read() == ANSWER_GOOD);
	CHECK(block.entry.kind == CACHE_BITMAP);
	CHECK(dnsblv6_bitmap_get(&block.entry.payload, 2));
	CHECK(block.entry.expires_s == 3100);
	CHECK(block.entry.ttl_s == 2100);
	CHECK_FALSE(block.entry.is_secure);
}

TEST_CASE("two AAAA, or one behind a CNAME, are a lie", "[client][answer]")
{
	exchange two(true), alias(true), none(true);
	two.reply.aaaa_count = 2;
	alias.reply.has_cname = true;
	none.reply.aaaa_count = 0;
	CHECK(two.read() == ANSWER_LYING);
	CHECK(alias.read() == ANSWER_LYING);
	CHECK(none.read() == ANSWER_LYING);
}

TEST_CASE("NOERROR without an AAAA is filtered, and never not listed", "[client][answer]")
{
	exchange block(true);
	block.reply.kind = MESSAGE_NODATA;
	CHECK(block.read() == ANSWER_FILTERED);
}

TEST_CASE("a denial counts when the zone made it", "[client][answer]")
{
	struct row {
		bool is_block;
		const char *soa;
		answer_failure failure;
	};
	const row rows = GENERATE(
		row{ true, "bl6.example", ANSWER_GOOD },
		row{ true, "2.0.192.bl6.example", ANSWER_GOOD },
		row{ true, "example", ANSWER_FOREIGN }, row{ true, "l6.example", ANSWER_FOREIGN },
		row{ true, "other.example", ANSWER_FOREIGN },
		row{ true, "x.0.2.0.192.bl6.example", ANSWER_FOREIGN },
		row{ true, "", ANSWER_FOREIGN }, row{ false, "bl6.example", ANSWER_GOOD },
		row{ false, "example", ANSWER_FOREIGN }, row{ false, "", ANSWER_GOOD });
	CAPTURE(rows.is_block, rows.soa);
	exchange denied(rows.is_block);
	CHECK(denied.deny(rows.soa).read() == rows.failure);
	if (rows.failure == ANSWER_GOOD)
		CHECK(dnsblv6_bitmap_is_empty(&denied.entry.payload));
}

TEST_CASE("denials of a zone whose denials are forged are no answers", "[client][answer]")
{
	exchange denied(true);
	denied.question.doubts_no = true;
	CHECK(denied.deny("bl6.example").read() == ANSWER_FILTERED);
}

TEST_CASE("failures have their kinds", "[client][answer]")
{
	exchange silent(true), refused(true), prohibited(true), servfail(true), truncated(true);
	CHECK(answer_read(&silent.question, -ETIMEDOUT, nullptr, false, &silent.entry) ==
	      ANSWER_SILENT);
	CHECK(answer_read(&silent.question, -ECONNREFUSED, nullptr, false, &silent.entry) ==
	      ANSWER_NETWORK);
	refused.reply.kind = MESSAGE_REFUSED;
	CHECK(refused.read() == ANSWER_BLOCKED);
	prohibited.reply.kind = MESSAGE_NODATA;
	prohibited.reply.ede = 18;
	CHECK(prohibited.read() == ANSWER_BLOCKED);
	servfail.reply.kind = MESSAGE_FAILURE;
	CHECK(servfail.read() == ANSWER_SERVFAIL);
	truncated.reply.kind = MESSAGE_TRUNCATED;
	CHECK(truncated.read() == ANSWER_SERVFAIL);
	CHECK(std::string(answer_failure_text(ANSWER_BLOCKED)) == "refused");
	CHECK(std::string(answer_failure_text(static_cast<answer_failure>(99))) == "unknown");
}

TEST_CASE("low values become bits, others are kept as they are", "[client][answer]")
{
	exchange low(false), high(false);
	REQUIRE(low.a({ { 127, 0, 0, 2 }, { 127, 0, 0, 127 } }).read() == ANSWER_GOOD);
	CHECK(low.entry.kind == CACHE_LOW);
	CHECK(dnsblv6_bitmap_count(&low.entry.payload) == 2);
	CHECK(dnsblv6_bitmap_get(&low.entry.payload, 127));
	REQUIRE(high.a({ { 127, 0, 0, 128 }, { 127, 1, 0, 2 } }).read() == ANSWER_GOOD);
	CHECK(high.entry.kind == CACHE_VALUES);
	CHECK(high.entry.payload.bytes[3] == 128);
	CHECK(high.entry.payload.bytes[5] == 1);
}

TEST_CASE("up to eight values of 127.0/16 are kept", "[client][answer]")
{
	exchange eight(false), nine(false);
	for (exchange *list : { &eight, &nine }) {
		for (uint8_t i = 1; i <= 7; i++)
			list->a({ { 127, 0, 0, static_cast<uint8_t>(i + 1) } });
		list->a({ { 127, 0, 9, 200 } });
	}
	nine.a({ { 127, 0, 9, 201 } });
	REQUIRE(eight.read() == ANSWER_GOOD);
	CHECK(eight.entry.kind == CACHE_PAIRS);
	CHECK(eight.entry.payload.bytes[0] == 0);
	CHECK(eight.entry.payload.bytes[1] == 2);
	CHECK(eight.entry.payload.bytes[14] == 9);
	CHECK(eight.entry.payload.bytes[15] == 200);
	REQUIRE(nine.read() == ANSWER_GOOD);
	CHECK(memcmp(&nine.entry.payload, &eight.entry.payload, sizeof(dnsblv6_bitmap)) == 0);
}

TEST_CASE("an A outside 127/8 makes the whole answer a lie", "[client][answer]")
{
	exchange parked(false);
	CHECK(parked.a({ { 127, 0, 0, 2 }, { 203, 0, 113, 9 } }).read() == ANSWER_LYING);
}

TEST_CASE("127.255.255.x is a refusal, whatever stands beside it", "[client][answer]")
{
	exchange typo(false), mixed(false);
	CHECK(typo.a({ { 127, 255, 255, 252 } }).read() == ANSWER_BLOCKED);
	CHECK(mixed.a({ { 10, 0, 0, 1 }, { 127, 255, 255, 254 } }).read() == ANSWER_BLOCKED);
}

TEST_CASE("a classic name without an A is not listed", "[client][answer]")
{
	exchange empty(false);
	empty.deny("bl6.example").reply.kind = MESSAGE_NODATA;
	REQUIRE(empty.read() == ANSWER_GOOD);
	CHECK(empty.entry.kind == CACHE_LOW);
	CHECK(dnsblv6_bitmap_is_empty(&empty.entry.payload));
}

TEST_CASE("an answer out of which an A was taken is not an empty one", "[client][answer]")
{
	exchange empty(false), gone(false);
	empty.reply.kind = gone.deny("example").reply.kind = MESSAGE_NODATA;
	CHECK(empty.read() == ANSWER_FILTERED);
	CHECK(gone.read() == ANSWER_FOREIGN);
}

TEST_CASE("what a resolver says it has blocked or filtered is no denial", "[client][answer]")
{
	const bool is_block = GENERATE(true, false);
	const int ede = GENERATE(15, 16, 17);
	CAPTURE(is_block, ede);
	exchange filtered(is_block);
	filtered.deny("bl6.example").reply.ede = ede;
	CHECK(filtered.read() == ANSWER_FILTERED);
	filtered.reply.ede = 19; // stale
	CHECK(filtered.read() == ANSWER_GOOD);
}

TEST_CASE("a bitmap lists something, or is a sinkhole's", "[client][answer]")
{
	exchange block(true);
	block.reply.aaaa[0] = 0;
	CHECK(block.read() == ANSWER_LYING);
}

TEST_CASE("TTLs stay between the least and the most", "[client][answer]")
{
	struct row {
		bool is_denied;
		uint32_t ttl_s;
		uint32_t kept_s;
	};
	const row rows =
		GENERATE(row{ false, 0, 5 }, row{ false, 604800, 86400 }, row{ true, 604800, 3600 },
			 row{ true, 0, 5 }, row{ false, 60, 60 });
	CAPTURE(rows.is_denied, rows.ttl_s);
	exchange block(true);
	if (rows.is_denied)
		block.deny("bl6.example");
	block.reply.ttl_s = rows.ttl_s;
	REQUIRE(block.read() == ANSWER_GOOD);
	CHECK(block.entry.ttl_s == rows.kept_s);
}

TEST_CASE("the time that a reply lay unread is taken from its TTL", "[client][answer]")
{
	exchange block(true);
	block.question.age_s = 100;
	REQUIRE(block.read() == ANSWER_GOOD);
	CHECK(block.entry.expires_s == 3000);
	block.question.age_s = 2101;
	CHECK(block.read() == ANSWER_LATE);
}

TEST_CASE("AD counts from a trusted resolver alone", "[client][answer]")
{
	exchange block(true);
	block.reply.is_secure = true;
	REQUIRE(block.read() == ANSWER_GOOD);
	CHECK_FALSE(block.entry.is_secure);
	block.is_trusted = true;
	REQUIRE(block.read() == ANSWER_GOOD);
	CHECK(block.entry.is_secure);
}

TEST_CASE("a name is below another by whole labels, in any case", "[client][answer]")
{
	const dnsblv6_labels apex = labels("bl6.example"), root = {};
	const dnsblv6_labels below = labels("a.BL6.example"), beside = labels("al6.example");
	CHECK(answer_is_below(&below, &apex));
	CHECK(answer_is_below(&apex, &apex));
	CHECK(answer_is_below(&apex, &root));
	CHECK_FALSE(answer_is_below(&apex, &below));
	CHECK_FALSE(answer_is_below(&beside, &apex));
	CHECK(dnsblv6_name_label_count(&below) == 3);
	CHECK(dnsblv6_name_label_count(&root) == 0);
}
