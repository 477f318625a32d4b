// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/mail-stored/rados/rados_json.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace
{
json_at all_of(const std::string &text)
{
	return json_whole(text.data(), text.size());
}

std::string text_of(json_at value)
{
	return { value.at, value.end };
}

std::vector<std::string> items_of(const std::string &text)
{
	std::vector<std::string> items;
	json_at rest = all_of(text);
	json_at item = {};
	while (json_next(&rest, &item))
		items.push_back(text_of(item));
	return items;
}
} // namespace

TEST_CASE("a member is found among others of all kinds, and its value is all of it",
	  "[mail-stored-rados][rados_json]")
{
	const std::string text = "\n {\"a\":[1,{\"size\":9}], \"b\" : \"\\\"size\\\":1\",\"c\":{},"
				 "\"d\":null,\"size\": -2.5e+3 ,\"e\":{\"f\":[[],[true]]}}";
	json_at value = {};
	REQUIRE(json_member(all_of(text), "size", &value));
	CHECK(text_of(value) == "-2.5e+3");
	REQUIRE(json_member(all_of(text), "e", &value));
	CHECK(text_of(value) == "{\"f\":[[],[true]]}");
	REQUIRE(json_member(value, "f", &value));
	CHECK(text_of(value) == "[[],[true]]");
	CHECK_FALSE(json_member(all_of(text), "siz", &value));
	CHECK_FALSE(json_member(all_of(text), "f", &value));
}

TEST_CASE("items of an array come one at a time, each of them whole",
	  "[mail-stored-rados][rados_json]")
{
	CHECK(items_of("[ 1 , [2,3],{\"a\":[4]} ,\"]\"]") ==
	      std::vector<std::string>{ "1", "[2,3]", "{\"a\":[4]}", "\"]\"" });
	CHECK(items_of("[]").empty());
	CHECK(items_of("[ ]").empty());
	CHECK(items_of("{\"a\":1}").empty());
	CHECK(items_of("").empty());
}

TEST_CASE("what is cut or no JSON has no member behind the fault",
	  "[mail-stored-rados][rados_json]")
{
	const std::string whole = "{\"a\":[1,2],\"b\":{\"c\":\"d\"},\"e\":7}";
	json_at value = {};
	for (size_t size = 0; size < whole.size() - 1; size++) {
		CAPTURE(size);
		// The last is a number, which may be over wherever it is cut.
		const bool is_there = json_member(all_of(whole.substr(0, size)), "e", &value);
		CHECK(is_there == (size == whole.size() - 1));
	}
	const auto text = GENERATE(as<std::string>(), "{\"a\" 1,\"e\":7}", "{\"a\":1 \"e\":7}",
				   "{a:1,\"e\":7}", "[\"e\",7]", "{\"a\":[1 2],\"e\":7}",
				   "{\"a\":[1,],\"e\":7}", "{\"a\":},\"e\":7}", "\"e\"");
	CAPTURE(text);
	CHECK_FALSE(json_member(all_of(text), "e", &value));
}

TEST_CASE("JSON that is too deep is none", "[mail-stored-rados][rados_json]")
{
	const auto nested = [](size_t depth) {
		return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"e\":7}";
	};
	json_at value = {};
	CHECK(json_member(all_of(nested(JSON_DEPTH_MAX)), "e", &value));
	CHECK_FALSE(json_member(all_of(nested(JSON_DEPTH_MAX + 1)), "e", &value));
	CHECK_FALSE(json_member(all_of(nested(1000000)), "e", &value));
}

TEST_CASE("a number is digits alone, and a text is what is between its quotes",
	  "[mail-stored-rados][rados_json]")
{
	uint64_t number = 0;
	REQUIRE(json_number(all_of("2147483647"), &number));
	CHECK(number == 2147483647);
	const auto text = GENERATE(as<std::string>(), "", "-1", "1.5", "\"1\"", "1 ", "null",
				   "12345678901234567890");
	CAPTURE(text);
	CHECK_FALSE(json_number(all_of(text), &number));
	CHECK(json_is_text(all_of("\"host\""), "host"));
	CHECK_FALSE(json_is_text(all_of("\"hosts\""), "host"));
	CHECK_FALSE(json_is_text(all_of("host"), "host"));
}
