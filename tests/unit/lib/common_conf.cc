// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/common/conf.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <cstddef>
#include <string>
#include <vector>

static const char *const colours[] = { "red", "green", nullptr };

// What was taken, one "item@line=text" each.
struct reader {
	std::vector<std::string> taken;
	std::vector<conf_value> values;
	std::vector<std::string> names;
	std::string refuse; // the text of the value to refuse
	conf_error error = {};

	static const char *take(void *, const conf_value *value)
	{
		reader *self = static_cast<reader *>(value->context);
		if (!self->refuse.empty() && value->text == self->refuse)
			return "not today";
		self->taken.push_back(std::string(value->item->name) + "@" +
				      std::to_string(value->line) + "=" + value->text);
		self->values.push_back(*value);
		if (value->name != nullptr)
			self->names.emplace_back(reinterpret_cast<const char *>(value->name),
						 value->name_size);
		return nullptr;
	}
	int parse(const std::string &text);
};

static conf_item item(const char *name, conf_type type, int64_t min = 0, int64_t max = 0,
		      bool is_list = false)
{
	conf_item out = {};
	out.name = name;
	out.type = type;
	out.min = min;
	out.max = max;
	out.choices = colours;
	out.default_port = 53;
	out.is_list = is_list;
	out.take = reader::take;
	return out;
}

// A row whose value goes to a member.
static conf_item member(const char *name, conf_type type, size_t offset, size_t size, int64_t max,
			const char *preset)
{
	conf_item out = item(name, type, 0, max);
	out.offset = offset;
	out.size = size;
	out.preset = preset;
	out.take = nullptr;
	return out;
}

static void *find_entry(void *context)
{
	return context;
}

static const conf_item paint_items[] = {
	item("count", CONF_NUMBER, -5, 5),	 item("time", CONF_SECONDS, 0, 86400),
	item("text", CONF_TEXT, 0, 8),		 item("colour", CONF_CHOICE),
	item("address", CONF_ADDRESS),		 item("name", CONF_NAME),
	item("many", CONF_NUMBER, 0, 100, true),
};
static const conf_item brush_items[] = { item("id", CONF_TEXT, 0, 100),
					 item("size", CONF_NUMBER, 0, 100) };
static const conf_section sections[] = { { "paint", paint_items, 7, 0, nullptr },
					 { "brush", brush_items, 2, 0, find_entry } };
static const conf_table table = { sections, 2 };

int reader::parse(const std::string &text)
{
	return conf_parse(text.data(), text.size(), &table, this, &error);
}

TEST_CASE("values arrive in the order of the file with their lines", "[common][conf]")
{
	reader r;
	REQUIRE(r.parse("# a comment\n"
			"paint:\n"
			"    count: 3 # another\n"
			"    many: [ 1, 2 ]\n"
			"\n"
			"brush:\n"
			"  - id: small\n"
			"    size: 1\n"
			"  - id: large\n"
			"paint:\n"
			"    text: \"a b\"\n") == 0);
	CHECK(r.taken == std::vector<std::string>{ "count@3=3", "many@4=1", "many@4=2",
						   "id@7=small", "size@8=1", "id@9=large",
						   "text@11=a b" });
}

TEST_CASE("values are converted by their type", "[common][conf]")
{
	reader r;
	REQUIRE(r.parse("paint:\n    count: -5\n    time: 5m\n    colour: green\n"
			"    name: WWW.Example\n") == 0);
	CHECK(r.values[0].number == -5);
	CHECK(r.values[1].number == 300);
	CHECK(r.values[2].number == 1);
	CHECK(r.names[0] == std::string("\3www\7example\0", 13));
}

TEST_CASE("addresses have the port that is written or the default", "[common][conf]")
{
	auto parse = [](const std::string &text) {
		reader r;
		REQUIRE(r.parse("paint:\n    address: " + text + "\n") == 0);
		return r.values[0].address;
	};
	sockaddr_storage four = parse("192.0.2.1");
	CHECK(four.ss_family == AF_INET);
	CHECK(ntohs(reinterpret_cast<sockaddr_in *>(&four)->sin_port) == 53);
	four = parse("192.0.2.1@5300");
	CHECK(ntohs(reinterpret_cast<sockaddr_in *>(&four)->sin_port) == 5300);
	sockaddr_storage six = parse("\"2001:db8::1@0\"");
	CHECK(six.ss_family == AF_INET6);
	CHECK(reinterpret_cast<sockaddr_in6 *>(&six)->sin6_port == 0);
}

TEST_CASE("an item of another entry is no item given twice", "[common][conf]")
{
	reader r;
	CHECK(r.parse("brush:\n  - id: a\n    size: 1\n  - id: b\n    size: 1\n") == 0);
	CHECK(r.parse("brush:\n  - id: a\n    size: 1\n    size: 1\n") == -EINVAL);
	CHECK(std::string(r.error.reason) == "item is given twice");
	CHECK(r.parse("paint:\n    count: 1\npaint:\n    count: 1\n") == -EINVAL);
	CHECK(r.error.line == 4);
}

TEST_CASE("an item without a value does not have that of the item before", "[common][conf]")
{
	reader r;
	CHECK(r.parse("brush:\n  - id: 1\n    size:\n") == -EINVAL);
	CHECK(r.error.line == 3);
	CHECK(std::string(r.error.value) == "\"\"");
}

TEST_CASE("what the program refuses is an error with the program's reason", "[common][conf]")
{
	reader r;
	r.refuse = "b";
	CHECK(r.parse("brush:\n  - id: a\n  - id: b\n  - id: c\n") == -EINVAL);
	CHECK(r.error.line == 3);
	CHECK(std::string(r.error.item) == "id");
	CHECK(std::string(r.error.value) == "\"b\"");
	CHECK(std::string(r.error.reason) == "not today");
	CHECK(r.taken == std::vector<std::string>{ "id@2=a" });
}

TEST_CASE("a blank and a bracket in a value are told, and no other line that is none",
	  "[common][conf]")
{
	const auto reason = [](const std::string &line) {
		reader r;
		CHECK(r.parse("paint:\n    " + line + "\n") == -EINVAL);
		CHECK(r.error.line == 2);
		return std::string(r.error.reason);
	};
	for (const char *line :
	     { "time: 2 s", "text: a  b # c", "time:   2 s\r", "time: 2 s # [c]" }) {
		CAPTURE(line);
		CHECK_THAT(reason(line), Catch::Matchers::StartsWith("a blank in the value: "));
	}
	// Also where the word in front of it is refused.
	for (const char *line : { "time: two s", "count: 6 M", "colour: dark red # c" }) {
		reader r;
		CAPTURE(line);
		CHECK_THAT(reason(line), Catch::Matchers::StartsWith("a blank in the value: "));
		CHECK(r.parse("paint:\n    " + std::string(line) + "\n") == -EINVAL);
		CHECK(std::string(r.error.value) == "\"    " + std::string(line) + "\"");
	}
	CHECK(reason("count: 6 # M") == "permitted are whole numbers from -5 to 5");
	CHECK(reason("many: [ 101, 2 ]") == "permitted are whole numbers from 0 to 100");
	// As in main.cf, whose filters have brackets and no quotes.
	for (const char *line :
	     { "text: bl.example=127.0.0.[2..11]", "many: [ 1 2 ]", "many: [ 1 2 ] 3",
	       "many: [ bl.example=127.0.0.[2..11], 2 ]", "many: [ 1, 2" }) {
		CAPTURE(line);
		CHECK_THAT(reason(line), Catch::Matchers::StartsWith("brackets: "));
	}
	for (const char *line : { "what is this", "time 2 s", "a b: c", "a b: # c", "text: \"a\" b",
				  "text: \"a", "[ 1 2 ]" }) {
		CAPTURE(line);
		CHECK(reason(line) == "not of the form item: value");
	}
}

TEST_CASE("bytes of any kind are refused with a line, or read", "[common][conf]")
{
	reader r;
	for (unsigned value = 0; value < 256; value++) {
		std::string text = "paint:\n    text: x";
		text += static_cast<char>(value);
		text += "\n";
		CAPTURE(value);
		int ret = r.parse(text);
		CHECK((ret == 0 || ret == -EINVAL));
		if (ret != 0)
			CHECK(r.error.line >= 1);
	}
}

TEST_CASE("a configuration cut after any byte is read or refused", "[common][conf]")
{
	std::string text = "paint:\n    count: 3\n    many: [ 1, 2 ]\n    text: \"a b\"\nbrush:\n"
			   "  - id: small\n    size: 1\n";
	for (size_t size = 0; size <= text.size(); size++) {
		reader r;
		int ret = r.parse(text.substr(0, size));
		CAPTURE(size);
		CHECK((ret == 0 || ret == -EINVAL));
	}
}

TEST_CASE("a value is shown escaped and cut", "[common][conf]")
{
	reader r;
	CHECK(r.parse("paint:\n    text: \"" + std::string(1000, 'x') + "\"\n") == -EINVAL);
	CHECK(std::string(r.error.value) == "\"" + std::string(128, 'x') + "...\"");
	CHECK(r.parse("paint:\n    text: \"\xff\x01\"\n    text: a\n") == -EINVAL);
}

// What a program has of its configuration.
struct easel {
	bool is_wet;
	unsigned legs;
	uint64_t weight;
	unsigned mode;
	char wood[8];
	unsigned colour;
	place stand;
	unsigned dry_ms;
};

static conf_item lasting(conf_item row)
{
	row.needs_restart = true;
	return row;
}

#define AT(name) offsetof(easel, name), sizeof(easel::name)

static const conf_item easel_items[] = {
	member("wet", CONF_CHOICE, AT(is_wet), 0, nullptr),
	lasting(member("legs", CONF_NUMBER, AT(legs), 9, "3")),
	member("weight", CONF_SIZE, AT(weight), INT64_C(1) << 40, "2G"),
	member("mode", CONF_MODE, AT(mode), 0, "660"),
	lasting(member("wood", CONF_TEXT, AT(wood), 0, "oak")),
	member("colour", CONF_CHOICE, AT(colour), 0, "green"),
	member("stand", CONF_PLACE, AT(stand), 100, nullptr),
	member("dry", CONF_MS, AT(dry_ms), 60000, "1500ms"),
};
static const conf_section easel_sections[] = { { "easel", easel_items, 8, 0, nullptr } };
static const conf_table easel_table = { easel_sections, 1 };

static easel easel_of(const std::string &text)
{
	easel value = {};
	conf_error error = {};
	const std::string whole = "easel:\n" + text;
	INFO(error.reason);
	REQUIRE(conf_parse(whole.data(), whole.size(), &easel_table, &value, &error) == 0);
	return value;
}

TEST_CASE("a secret is in no error, in whatever way its line is wrong", "[common][conf]")
{
	conf_item phrase = item("phrase", CONF_TEXT, 0, 8);
	phrase.is_secret = true;
	const conf_item safe_items[] = { phrase };
	const conf_section rooms[] = { { "easel", easel_items, 8, 0, nullptr },
				       { "safe", safe_items, 1, 0, nullptr } };
	const conf_table house = { rooms, 2 };
	for (const std::string text :
	     { "safe:\n    phrase opensesame\n", "safe:\n    phrase: open sesame\n",
	       "safe:\n\tphrase: sesame\n", "safe:\n    phrase: \"sesame\n",
	       "safe:\n    phrase: opensesame\n", "easel:\n    phrase: sesame\n",
	       "safe:\n    a-phrase: sesame\n", "phrase: sesame\n" }) {
		CAPTURE(text);
		reader r;
		CHECK(conf_parse(text.data(), text.size(), &house, &r, &r.error) == -EINVAL);
		CHECK(std::string(r.error.value) == "hidden");
		CHECK(std::string(r.error.item).find("sesame") == std::string::npos);
	}
}

TEST_CASE("values go to the members that rows name", "[common][conf]")
{
	const easel value = easel_of("    wet: green\n    legs: 4\n    weight: 5G\n    mode: 0600\n"
				     "    wood: mahogan\n    colour: red\n    stand: 192.0.2.1@25\n"
				     "    dry: 2s\n");
	CHECK(value.is_wet);
	CHECK(value.legs == 4);
	CHECK(value.weight == UINT64_C(5) << 30);
	CHECK(value.mode == 0600);
	CHECK(std::string(value.wood) == "mahogan");
	CHECK(value.colour == 0);
	CHECK(value.stand.address.ss_family == AF_INET);
	CHECK(value.dry_ms == 2000);
}

TEST_CASE("what a file does not have is as the rows preset it", "[common][conf]")
{
	const easel value = easel_of("");
	CHECK_FALSE(value.is_wet);
	CHECK(value.legs == 3);
	CHECK(value.weight == UINT64_C(2) << 30);
	CHECK(value.mode == 0660);
	CHECK(std::string(value.wood) == "oak");
	CHECK(value.colour == 1);
	CHECK(value.stand.text[0] == '\0');
	CHECK(value.dry_ms == 1500);
}

TEST_CASE("a text longer than its member is refused", "[common][conf]")
{
	const std::string text = "easel:\n    wood: mahogany\n";
	easel value = {};
	conf_error error = {};
	CHECK(conf_parse(text.data(), text.size(), &easel_table, &value, &error) == -EINVAL);
	CHECK(std::string(error.reason) == "permitted are 1 to 7 bytes");
}

TEST_CASE("what needs a restart is found by its row", "[common][conf]")
{
	const easel before = easel_of("    wood: walnut\n");
	const auto differ = [&before](const std::string &text) {
		const easel after = easel_of(text);
		const char *name = conf_find_restart(&easel_table, &before, &after);
		return std::string(name != nullptr ? name : "");
	};
	CHECK(differ("    wood: walnut\n").empty());
	CHECK(differ("    wood: walnut\n    mode: 600\n").empty());
	CHECK(differ("    wood: walnut\n    legs: 4\n") == "legs");
	CHECK(differ("") == "wood");

	easel after = easel_of("    legs: 4\n    mode: 600\n");
	conf_keep_restart(&easel_table, &before, &after);
	CHECK(std::string(after.wood) == "walnut");
	CHECK(after.legs == 3);
	CHECK(after.mode == 0600);
}
