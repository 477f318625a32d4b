// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/common/log.h"
#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>

#include <string>

// What a function writes to standard error, in a process of its own.
template <typename Function> static std::string logged(Function function)
{
	tmpdir directory;
	std::string path = directory.file("stderr");
	child run([&] {
		int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
		dup2(fd, STDERR_FILENO);
		function();
		return 0;
	});
	REQUIRE(run.wait() == 0);
	return read_file(path);
}

TEST_CASE("a line is level, context, text", "[common][log]")
{
	CHECK(logged([] { log_error("a.example.", "lost, count=%d (%s)", 3, "why"); }) ==
	      "error: [a.example.] lost, count=3 (why)\n");
	CHECK(logged([] { log_warning(nullptr, "degraded"); }) == "warning: degraded\n");
}

TEST_CASE("lines below the level are not written", "[common][log]")
{
	auto all = [] {
		log_error("c", "1");
		log_warning("c", "2");
		log_info("c", "3");
		log_debug("c", "4");
	};
	CHECK(logged(all) == "error: [c] 1\nwarning: [c] 2\ninfo: [c] 3\n");
	CHECK(logged([&] {
		      log_set_level(LOG_LEVEL_ERROR);
		      all();
	      }) == "error: [c] 1\n");
	CHECK(logged([&] {
		      log_set_level(LOG_LEVEL_DEBUG);
		      all();
	      }) == "error: [c] 1\nwarning: [c] 2\ninfo: [c] 3\ndebug: [c] 4\n");
}

TEST_CASE("a line that is too long is cut and says so", "[common][log]")
{
	auto size = GENERATE(900, 1010, 1011, 1012, 1013, 1014, 1015, 1024, 5000);
	CAPTURE(size);
	std::string text(static_cast<size_t>(size), 'x');
	std::string line = logged([&] { log_error("c", "%s", text.c_str()); });
	std::string whole = "error: [c] " + text + "\n";
	CHECK(line.back() == '\n');
	CHECK(line.size() <= LOG_LINE_MAX);
	if (whole.size() < LOG_LINE_MAX)
		CHECK(line == whole);
	else
		CHECK(line.substr(line.size() - 4) == "...\n");
	// A context alone can be too long as well.
	line = logged([&] { log_error(text.c_str(), "x"); });
	CHECK(line.size() <= LOG_LINE_MAX);
	CHECK(line.back() == '\n');
}

TEST_CASE("quoted text is printable, whatever it was, and cut", "[common][log]")
{
	char out[LOG_QUOTE_MAX];
	CHECK(std::string(log_quote("a b", 3, out)) == "\"a b\"");
	CHECK(std::string(log_quote("", 0, out)) == "\"\"");
	CHECK(std::string(log_quote("\"\\\n\x7f\xff", 5, out)) == "\"\\x22\\x5c\\x0a\\x7f\\xff\"");
	std::string zeros(LOG_QUOTE_CUT + 1, '\0');
	std::string quoted = log_quote(zeros.data(), zeros.size(), out);
	CHECK(quoted.size() == LOG_QUOTE_MAX - 1);
	CHECK(quoted.substr(quoted.size() - 4) == "...\"");
	CHECK(std::string(log_quote(zeros.data(), LOG_QUOTE_CUT, out)).size() ==
	      LOG_QUOTE_CUT * 4 + 2);
}
