// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/common/conf.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <arpa/inet.h>

#include <string>
#include <vector>

static const char *const colours[] = { "red", "green", nullptr };

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
	return out;
}

static const conf_item paint_items[] = {
	item("count", CONF_NUMBER, -5, 5),	 item("time", CONF_TIME, 0, 86400),
	item("text", CONF_TEXT, 0, 8),		 item("colour", CONF_CHOICE),
	item("address", CONF_ADDRESS),		 item("name", CONF_NAME),
	item("many", CONF_NUMBER, 0, 100, true),
};
static const conf_item brush_items[] = { item("id", CONF_TEXT, 0, 100),
					 item("size", CONF_NUMBER, 0, 100) };
static const conf_section sections[] = { { "paint", paint_items, 7, false },
					 { "brush", brush_items, 2, true } };
static const conf_table table = { sections, 2 };

// What was taken, one "section.item@line=text" each.
struct reader {
	std::vector<std::string> taken;
	std::vector<conf_value> values;
	std::vector<std::string> names;
	std::string refuse; // the text of the value to refuse
	conf_error error = {};

	static const char *take(const conf_value *value, void *context)
	{
		reader *self = static_cast<reader *>(context);
		if (!self->refuse.empty() && value->text == self->refuse)
			return "not today";
		self->taken.push_back(std::string(sections[value->section].name) + "." +
				      sections[value->section].items[value->item].name + "@" +
				      std::to_string(value->line) + "=" + value->text);
		self->values.push_back(*value);
		if (value->name != nullptr)
			self->names.emplace_back(reinterpret_cast<const char *>(value->name),
						 value->name_size);
		return nullptr;
	}
	int parse(const std::string &text)
	{
		return conf_parse(text.data(), text.size(), &table, take, this, &error);
	}
};

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
	CHECK(r.taken == std::vector<std::string>{ "paint.count@3=3", "paint.many@4=1",
						   "paint.many@4=2", "brush.id@7=small",
						   "brush.size@8=1", "brush.id@9=large",
						   "paint.text@11=a b" });
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

TEST_CASE("what the program refuses is an error with the program's reason", "[common][conf]")
{
	reader r;
	r.refuse = "b";
	CHECK(r.parse("brush:\n  - id: a\n  - id: b\n  - id: c\n") == -EINVAL);
	CHECK(r.error.line == 3);
	CHECK(std::string(r.error.item) == "id");
	CHECK(std::string(r.error.value) == "\"b\"");
	CHECK(std::string(r.error.reason) == "not today");
	CHECK(r.taken == std::vector<std::string>{ "brush.id@2=a" });
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

TEST_CASE("permissions are three octal digits", "[common][conf]")
{
	unsigned mode = 1;
	CHECK(conf_parse_mode("660", &mode) == nullptr);
	CHECK(mode == 0660);
	CHECK(conf_parse_mode("0600", &mode) == nullptr);
	CHECK(mode == 0600);
	auto text = GENERATE("", "60", "668", "1000", "-660", "660 ", "rw-");
	CAPTURE(text);
	CHECK(conf_parse_mode(text, &mode) != nullptr);
	CHECK(mode == 0600);
}
