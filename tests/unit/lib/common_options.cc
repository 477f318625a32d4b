// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/common/options.h"
#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <getopt.h>
#include <sysexits.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

static options_bound bound(options_row row)
{
	options_bound made = {};
	made.row = row;
	return made;
}

static const options_bound rows[] = {
	bound({ 'z', "zone", "NAME", "apex of the zone" }),
	bound({ 'q', "quiet", nullptr, "say nothing" }),
	bound({ 0, "count", "NUMBER", "how many" }),
};

static options_table make_table()
{
	options_table table = {};
	table.program = "tool";
	table.libraries = "LMDB 1";
	table.usage = "[options] LIST";
	table.summary = "Does things.";
	table.bound = rows;
	table.row_count = 3;
	return table;
}

// What a command line makes of it: rows and arguments, operands, output, status.
struct outcome {
	std::string out, err;
	int status = 0;

	explicit outcome(std::vector<std::string> words)
	{
		tmpdir directory;
		std::string out_path = directory.file("out"), err_path = directory.file("err");
		words.insert(words.begin(), "tool");
		child run([&] {
			dup2(open(out_path.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
			dup2(open(err_path.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
			return report(words);
		});
		status = run.wait();
		out = read_file(out_path);
		err = read_file(err_path);
	}

	static int report(std::vector<std::string> &words)
	{
		options_table table = make_table();
		std::vector<char *> argv;
		for (std::string &word : words)
			argv.push_back(word.data());
		argv.push_back(nullptr);
		int argc = static_cast<int>(words.size());
		optind = 0; // getopt(3): begin anew
		const char *argument = nullptr;
		for (int row;
		     (row = options_next(&table, argc, argv.data(), &argument)) != OPTIONS_END;) {
			printf("%s=%s ", rows[row].row.name, argument != nullptr ? argument : "");
			if (row == 2)
				printf("%llu ", options_number(&table, "count", argument, 1, 10));
		}
		for (int i = optind; i < argc; i++)
			printf("[%s]", argv[static_cast<size_t>(i)]);
		fflush(stdout);
		return 0;
	}
};

TEST_CASE("options are taken long and short, with operands between", "[common][options]")
{
	CHECK(outcome({ "--zone", "a", "-q", "list" }).out == "zone=a quiet= [list]");
	CHECK(outcome({ "-za", "--zone=b", "x", "-q", "y" }).out == "zone=a zone=b quiet= [x][y]");
	CHECK(outcome({ "--count", "10" }).out == "count=10 10 ");
	CHECK(outcome({ "-q", "--", "-z" }).out == "quiet= [-z]");
	CHECK(outcome({}).out.empty());
}

TEST_CASE("wrong use is one line that names the word, and 64", "[common][options]")
{
	struct wrong {
		std::vector<std::string> words;
		const char *line;
	};
	auto c = GENERATE(values<wrong>({
		{ { "--colour" }, "tool: unknown or ambiguous option '--colour'" },
		{ { "--password=secret" }, "tool: unknown or ambiguous option '--password'" },
		{ { "-x" }, "tool: unknown option '-x'" },
		{ { "--zone" }, "tool: option '--zone' needs an argument" },
		{ { "-z" }, "tool: option '-z' needs an argument" },
		{ { "--count", "11" },
		  "tool: --count takes a whole number from 1 to 10, not '11'" },
		{ { "--count", "0" }, "tool: --count takes a whole number from 1 to 10, not '0'" },
		{ { "--count", "-1" },
		  "tool: --count takes a whole number from 1 to 10, not '-1'" },
		{ { "--count", "1x" },
		  "tool: --count takes a whole number from 1 to 10, not '1x'" },
		{ { "--count", "" }, "tool: --count takes a whole number from 1 to 10, not ''" },
		{ { "--count", "99999999999999999999" },
		  "tool: --count takes a whole number from 1 to 10, not '99999999999999999999'" },
	}));
	outcome result(c.words);
	CHECK(result.status == EX_USAGE);
	CHECK(result.err == std::string(c.line) + "; try 'tool --help'\n");
}

TEST_CASE("help is made from the table and goes to standard output", "[common][options]")
{
	for (const char *word : { "--help", "-h" }) {
		outcome result({ word });
		CHECK(result.status == 0);
		CHECK(result.err.empty());
		CHECK_THAT(result.out, Catch::Matchers::StartsWith(
					       "usage: tool [options] LIST\nDoes things.\n\n"));
		CHECK_THAT(result.out, Catch::Contains("-z, --zone NAME") &&
					       Catch::Contains("--count NUMBER") &&
					       Catch::Contains("-V, --version"));
	}
}

TEST_CASE("the version names the program and its libraries", "[common][options]")
{
	outcome result({ "-V" });
	CHECK(result.status == 0);
	CHECK_THAT(result.out, Catch::Matchers::StartsWith("tool ") &&
				       Catch::Matchers::EndsWith(" (LMDB 1)\n"));
}

TEST_CASE("a text that is not given is what its row says", "[common][options]")
{
	struct settings {
		const char *path;
		const char *other;
	};
	options_bound own_rows[2] = { bound({ 'c', "config", "FILE", "read FILE" }),
				      bound({ 'o', "other", "TEXT", "another one" }) };
	own_rows[0].offset = offsetof(settings, path);
	own_rows[0].standard = "/etc/tool.conf";
	own_rows[1].offset = offsetof(settings, other);
	options_table table = make_table();
	table.bound = own_rows;
	table.row_count = 2;
	settings taken = {};
	std::string words[] = { "tool", "--config", "x" };
	char *argv[] = { words[0].data(), words[1].data(), words[2].data(), nullptr };

	optind = 0;
	options_parse(&table, 1, argv, &taken);
	CHECK(taken.path == std::string("/etc/tool.conf"));
	CHECK(taken.other == nullptr);
	optind = 0;
	options_parse(&table, 3, argv, &taken);
	CHECK(taken.path == std::string("x"));
}
