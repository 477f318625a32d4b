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

// A pipe that nothing is read from, and that has no room; its end for writing is standard error.
static int fill_standard_error()
{
	int ends[2];
	if (pipe(ends) != 0)
		return -1;
	fcntl(ends[1], F_SETPIPE_SZ, 4096);
	dup2(ends[1], STDERR_FILENO);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], "x", 1) == 1)
		continue;
	fcntl(ends[1], F_SETFL, 0);
	close(ends[1]);
	return ends[0];
}

static std::string read_some(int fd)
{
	std::string text(65536, '\0');
	const ssize_t size = read(fd, &text[0], text.size());
	text.resize(size > 0 ? static_cast<size_t>(size) : 0);
	return text;
}

TEST_CASE("a server leaves lines out while nothing reads its log, and tells how many",
	  "[common][log]")
{
	child server([] {
		const int reader = fill_standard_error();
		log_set_level(LOG_LEVEL_INFO);
		log_info("c", "1");
		log_info("c", "2");
		log_debug("c", "3");
		child other([&] {
			log_info("c", "of a child");
			(void)read_some(reader);
			log_info("c", "4");
			return read_some(reader) ==
					       "warning: lines left out, count=1\ninfo: [c] 4\n"
				       ? 0
				       : 1;
		});
		if (other.wait() != 0)
			return 1;
		log_info("c", "5");
		if (read_some(reader) != "warning: lines left out, count=2\ninfo: [c] 5\n")
			return 2;
		log_info("c", "6");
		return read_some(reader) == "info: [c] 6\n" ? 0 : 3;
	});
	CHECK(server.wait() == 0);
}

TEST_CASE("a tool waits for the reader of its lines", "[common][log]")
{
	child tool([] {
		const int reader = fill_standard_error();
		child other([] {
			log_info("c", "1");
			return 0;
		});
		while (read_some(reader).find("info: [c] 1\n") == std::string::npos)
			continue;
		return other.wait();
	});
	CHECK(tool.wait() == 0);
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
