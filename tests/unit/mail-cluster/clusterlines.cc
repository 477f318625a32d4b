// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/mail-cluster/clusterlines.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace
{
std::string printed(void (*print)(FILE *, const char *), const std::string &text)
{
	char *bytes = nullptr;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	REQUIRE(out != nullptr);
	print(out, text.c_str());
	fclose(out);
	std::string all(bytes, size);
	free(bytes);
	return all;
}

std::string text_of(clusterlines_text text)
{
	return { text.bytes, text.size };
}
} // namespace

TEST_CASE("a line is words, and text goes on to its end", "[mail-cluster][clusterlines]")
{
	const std::string text = "node=a beat-age=0.4 empty= text=all = well\n\nx=1\n";
	const char *at = text.c_str();
	clusterlines_row row;
	clusterlines_text value = {};
	REQUIRE(clusterlines_next(&at, &row) == 1);
	REQUIRE(row.count == 4);
	CHECK(text_of(row.words[1].key) == "beat-age");
	CHECK(text_of(row.words[1].value) == "0.4");
	CHECK(text_of(row.words[2].value).empty());
	CHECK(text_of(row.words[3].value) == "all = well");
	REQUIRE(clusterlines_get(&row, "node", &value));
	CHECK(clusterlines_is(value, "a"));
	CHECK_FALSE(clusterlines_is(value, "aa"));
	CHECK_FALSE(clusterlines_get(&row, "nod", &value));
	REQUIRE(clusterlines_next(&at, &row) == 1);
	CHECK(row.count == 0);
	REQUIRE(clusterlines_next(&at, &row) == 1);
	CHECK(row.count == 1);
	CHECK(clusterlines_next(&at, &row) == 0);
}

TEST_CASE("what is no line is refused", "[mail-cluster][clusterlines]")
{
	std::string many;
	for (int i = 0; i <= CLUSTERLINES_WORDS_MAX; i++)
		many += "k=v ";
	std::string columns;
	for (int i = 0; i <= CLUSTERLINES_COLUMNS_MAX; i++)
		columns += "k" + std::to_string(i) + "=v\n";
	const std::string text = GENERATE_COPY(values<std::string>(
		{ "node=a", "node\n", "=a\n", "Node=a\n", "a=b  c=d\n", " a=b\n", many + "\n" }));
	CAPTURE(text);
	CHECK(clusterlines_check(text.c_str()) == -EPROTO);
	CHECK(clusterlines_check(columns.c_str()) == -E2BIG);
	CHECK(clusterlines_check("") == 0);
}

TEST_CASE("a number is digits, in the first line that has its key", "[mail-cluster][clusterlines]")
{
	uint64_t number = 7;
	REQUIRE(clusterlines_find_number("thing=found mails=12\nmails=13\n", "mails", &number));
	CHECK(number == 12);
	for (const auto *text : { "mails=\n", "mails=-1\n", "mails=1x\n", "mail=1\n", "",
				  "mails=12345678901234567890\n" }) {
		CAPTURE(text);
		CHECK_FALSE(clusterlines_find_number(text, "mails", &number));
	}
	CHECK(number == 12);
}

TEST_CASE("a table has a column for each key, and a dash where a line has none",
	  "[mail-cluster][clusterlines]")
{
	CHECK(printed(clusterlines_print_table,
		      "node=a slot=1 state=up\nnode=long-name state=dead age=\n"
		      "\nplace=x\n") == "node       slot  state  age  place\n"
					"a          1     up     -    -\n"
					"long-name  -     dead   -    -\n"
					"-          -     -      -    x\n");
	CHECK(printed(clusterlines_print_table, "").empty());
}

TEST_CASE("a list has things before what is said of them", "[mail-cluster][clusterlines]")
{
	CHECK(printed(clusterlines_print_list,
		      "state=degraded\nthing=copies wanted=3 had=2\n"
		      "thing=engine text=1 of 3 down\nthing=a-name-of-16-size n=1\n") ==
	      "state           degraded\n"
	      "copies          wanted=3 had=2\n"
	      "engine          1 of 3 down\n"
	      "a-name-of-16-size  1\n");
}

TEST_CASE("bytes that are not printable are printed as numbers", "[mail-cluster][clusterlines]")
{
	CHECK(printed(clusterlines_print_table, "a=\x1b[2J b=x\n") == "a        b\n\\x1b[2J  x\n");
	CHECK(printed(clusterlines_print_list, "thing=engine text=\xc3\xbc\t\n") ==
	      "engine          \\xc3\\xbc\\x09\n");
}
