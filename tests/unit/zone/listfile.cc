// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/lists/listfile.h"

#include "tests/lib/child.hh"
#include "tests/lib/lists.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <string>

namespace
{
struct reading_result {
	int status;
	lines texts; // a line with a fault is "fault: ..."
	uint64_t line_number;
};

reading_result read_all(const std::string &path)
{
	reading_result result = {};
	listfile *file = nullptr;
	result.status = listfile_open(path.c_str(), &file);
	while (result.status == DNSBLV6_OK) {
		listfile_line line = {};
		result.status = listfile_next(file, &line);
		if (result.status != DNSBLV6_OK)
			break;
		result.texts.push_back(line.fault != nullptr
					       ? "fault: " + std::string(line.fault)
					       : std::string(line.text, line.text_size));
		if (line.text[line.text_size] != '\0')
			result.texts.emplace_back("no NUL behind the line");
		result.line_number = listfile_line_number(file);
	}
	listfile_close(file);
	return result;
}

reading_result read_content(const std::string &content)
{
	tmpdir dir;
	write_file(dir.file("list"), content);
	return read_all(dir.file("list"));
}

std::string gzip(const std::string &content)
{
	tmpdir dir;
	const std::string path = dir.file("list.gz");
	gzFile file = gzopen(path.c_str(), "wb9");
	if (file == nullptr ||
	    gzwrite(file, content.data(), static_cast<unsigned>(content.size())) !=
		    static_cast<int>(content.size()) ||
	    gzclose(file) != Z_OK)
		throw std::runtime_error("cannot write " + path);
	return read_file(path);
}

const std::string TOO_LONG = "fault: line longer than 65535 bytes";
} // namespace

TEST_CASE("lines end in line feed, with or without carriage return, or with the file",
	  "[zone-tools][listfile]")
{
	struct sample {
		std::string content;
		lines texts;
	};
	auto s = GENERATE(sample{ "", {} }, sample{ "a", { "a" } }, sample{ "a\n", { "a" } },
			  sample{ "a\r\nb\r\n", { "a", "b" } }, sample{ "a\nb", { "a", "b" } },
			  sample{ "\n\na\n", { "", "", "a" } }, sample{ "a\r", { "a" } },
			  sample{ "a\rb\r\r\n", { "a\rb\r" } }, sample{ "\r\n", { "" } },
			  sample{ "\xef\xbb\xbf"
				  "a\nb\n",
				  { "a", "b" } },
			  sample{ "\xef\xbb\xbf", { "" } }, sample{ "\xef\xbb", { "\xef\xbb" } },
			  sample{ "a\n\xef\xbb\xbf"
				  "b\n",
				  { "a", "\xef\xbb\xbf"
					 "b" } },
			  sample{ "\xa9 2026 \xfc\n", { "\xa9 2026 \xfc" } });
	CAPTURE(s.content);
	const reading_result result = read_content(s.content);
	CHECK(result.status == DNSBLV6_ENOTFOUND);
	CHECK(result.texts == s.texts);
	CHECK(result.line_number == s.texts.size());
}

TEST_CASE("a line with a NUL byte is a fault of that line alone", "[zone-tools][listfile]")
{
	const reading_result result = read_content(std::string("a\nb\0c\n\0\nd\n", 10));
	CHECK(result.texts ==
	      lines{ "a", "fault: NUL byte in the line", "fault: NUL byte in the line", "d" });
}

TEST_CASE("a line may have 65535 bytes and not one more", "[zone-tools][listfile]")
{
	const std::string end = GENERATE("", "\n", "\nnext\n");
	const bool has_next = end.size() > 1;
	CAPTURE(end);
	const std::string longest(LISTFILE_LINE_MAX, 'x');
	lines texts = { longest };
	lines faults = { TOO_LONG };
	if (has_next) {
		texts.emplace_back("next");
		faults.emplace_back("next");
	}
	CHECK(read_content(longest + end).texts == texts);
	CHECK(read_content(longest + "x" + end).texts == faults);
}

TEST_CASE("a line of ten megabytes is one fault, in the memory of one buffer",
	  "[zone-tools][listfile]")
{
	tmpdir dir;
	write_file(dir.file("list"), "a\n" + std::string(10 << 20, 'x') + "\nb\n");
	const reading_result result = read_all(dir.file("list"));
	CHECK(result.texts == lines{ "a", TOO_LONG, "b" });
	CHECK(result.line_number == 3);
}

TEST_CASE("lines that straddle the buffer come whole", "[zone-tools][listfile]")
{
	std::string content;
	lines texts;
	for (unsigned i = 0; i < 30000; i++) {
		texts.push_back(std::string(i % 97, '.') + std::to_string(i));
		content += texts.back() + "\n";
	}
	CHECK(read_content(content).texts == texts);
	CHECK(read_content(gzip(content)).texts == texts);
}

TEST_CASE("a gzip file is read as its content, whatever it is called", "[zone-tools][listfile]")
{
	const reading_result result = read_content(gzip("192.0.2.1\r\n192.0.2.2"));
	CHECK(result.status == DNSBLV6_ENOTFOUND);
	CHECK(result.texts == lines{ "192.0.2.1", "192.0.2.2" });
}

TEST_CASE("a gzip file cut after any byte is an error, behind lines that are right",
	  "[zone-tools][listfile]")
{
	const std::string whole = gzip("192.0.2.1\n192.0.2.2\n192.0.2.3\n");
	for (size_t size = 2; size < whole.size(); size++) {
		CAPTURE(size);
		const reading_result result = read_content(whole.substr(0, size));
		CHECK(result.status == -EBADMSG);
		lines expected = { "192.0.2.1", "192.0.2.2", "192.0.2.3" };
		REQUIRE(result.texts.size() <= expected.size());
		expected.resize(result.texts.size());
		CHECK(result.texts == expected);
	}
}

TEST_CASE("a gzip file damaged in any byte of data, checksum or length is an error",
	  "[zone-tools][listfile]")
{
	const std::string whole = gzip("192.0.2.1\n192.0.2.2\n192.0.2.3\n");
	const size_t header_size = 10;
	for (size_t at = header_size; at < whole.size(); at++) {
		CAPTURE(at);
		std::string damaged = whole;
		damaged[at] = static_cast<char>(damaged[at] ^ 1);
		CHECK(read_content(damaged).status == -EBADMSG);
	}
	CHECK(listfile_strerror(-EBADMSG) ==
	      std::string("gzip file cut short or damaged, or with other bytes behind it"));
}

TEST_CASE("a gzip file may have several members, and nothing else behind them",
	  "[zone-tools][listfile]")
{
	const std::string both = gzip("192.0.2.1\n192.0.") + gzip("2.2\n");
	const lines expected = { "192.0.2.1", "192.0.2.2" };
	for (size_t zeros : { 0, 1, 512 }) {
		CAPTURE(zeros);
		const reading_result result = read_content(both + std::string(zeros, '\0'));
		CHECK(result.status == DNSBLV6_ENOTFOUND);
		CHECK(result.texts == expected);
	}
	for (size_t size = gzip("192.0.2.1\n192.0.").size() + 1; size < both.size(); size++) {
		CAPTURE(size);
		CHECK(read_content(both.substr(0, size)).status == -EBADMSG);
	}
	CHECK(read_content(both + "192.0.2.3\n").status == -EBADMSG);
	CHECK(read_content(both + std::string(512, '\0') + "x").status == -EBADMSG);
}

TEST_CASE("what cannot be opened is said with the system's reason", "[zone-tools][listfile]")
{
	tmpdir dir;
	SECTION("missing")
	{
		CHECK(read_all(dir.file("none")).status == -ENOENT);
	}
	SECTION("a directory")
	{
		CHECK(read_all(dir.path()).status == -EISDIR);
	}
	SECTION("no permission")
	{
		const std::string path = dir.file("list");
		write_file(path, "a\n");
		REQUIRE(chmod(dir.path().c_str(), 0755) == 0);
		REQUIRE(chmod(path.c_str(), 0) == 0);
		child reader([&path] {
			if (geteuid() == 0 && setuid(65534) != 0)
				return 2;
			listfile *file = nullptr;
			return listfile_open(path.c_str(), &file) == -EACCES ? 0 : 1;
		});
		CHECK(reader.wait() == 0);
	}
}

TEST_CASE("a file that is changed while it is read is an error", "[zone-tools][listfile]")
{
	tmpdir dir;
	const std::string path = dir.file("list");
	write_file(path, "a\n");
	listfile *file = nullptr;
	listfile_line line = {};
	REQUIRE(listfile_open(path.c_str(), &file) == DNSBLV6_OK);
	CHECK(listfile_next(file, &line) == DNSBLV6_OK);
	write_file(path, "a\nb\n");
	int status = listfile_next(file, &line);
	if (status == DNSBLV6_OK) // the second line may be seen, but not the end
		status = listfile_next(file, &line);
	CHECK(status == -ESTALE);
	listfile_close(file);
}

TEST_CASE("a dash is standard input, which may be a pipe of gzip", "[zone-tools][listfile]")
{
	const std::string content = GENERATE(std::string("a\nb\n"), gzip("a\nb\n"));
	child reader([&content] {
		int ends[2];
		if (pipe(ends) != 0 || write(ends[1], content.data(), content.size()) < 0)
			return 2;
		close(ends[1]);
		dup2(ends[0], STDIN_FILENO);
		const reading_result result = read_all("-");
		const bool is_right = result.texts == lines{ "a", "b" };
		return result.status == DNSBLV6_ENOTFOUND && is_right ? 0 : 1;
	});
	CHECK(reader.wait() == 0);
}

TEST_CASE("closing nothing does nothing", "[zone-tools][listfile]")
{
	listfile_close(nullptr);
	SUCCEED();
}

// ---- sources: what becomes of a file as a whole ----

TEST_CASE("an error page saved as a list is refused once, whatever it is read as",
	  "[zone-tools][sources]")
{
	const char *type = GENERATE(static_cast<const char *>(nullptr), "ip4set", "combined");
	lists read;
	CHECK(read.add(type, "# from the net\n\n  <!DOCTYPE html>\n<p>404</p>\n192.0.2.1\n") ==
	      DNSBLV6_OK);
	CHECK(read.findings() == "error: [list0:3] file refused, text=\"  <!DOCTYPE html>\""
				 " (looks like an HTML page)\n");
}

TEST_CASE("a list without an address is refused", "[zone-tools][sources]")
{
	struct sample {
		const char *type;
		const char *content;
	};
	auto s = GENERATE(sample{ nullptr, "" }, sample{ nullptr, "# nothing\n" },
			  sample{ nullptr, "!192.0.2.1\n" }, sample{ "ip4set", ":2:text\n" },
			  sample{ "combined", "$DATASET ip4set @\n" });
	CAPTURE(s.content);
	lists read;
	CHECK(read.add(s.type, s.content) == DNSBLV6_OK);
	CHECK(read.counts.refusal_count == 1);
	CHECK_THAT(read.findings(), Catch::Contains("list refused (list is empty: not one entry"
						    " in it; --allow-empty)"));
}

TEST_CASE("a list with nothing but refused lines is not called empty", "[zone-tools][sources]")
{
	lists read;
	CHECK(read.add(nullptr, "bad\n") == DNSBLV6_OK);
	CHECK(read.findings() ==
	      "error: [list0:1] line refused, text=\"bad\" (not an IP address)\n");
}

TEST_CASE("damage in a file names file and line and is a finding", "[zone-tools][sources]")
{
	lists read;
	const std::string whole = gzip("192.0.2.1\n192.0.2.2\n");
	CHECK(read.add(nullptr, whole.substr(0, whole.size() - 4)) == DNSBLV6_OK);
	CHECK(read.findings() == "error: [list0:2] file not read (gzip file cut short or damaged, "
				 "or with other bytes behind it)\n");
}

TEST_CASE("a file that cannot be read is a finding and a status", "[zone-tools][sources]")
{
	lists read;
	CHECK(read.add_path(read.dir().file("none")) == -ENOENT);
	CHECK(read.findings() == "error: [none] file not read (No such file or directory)\n");
}

TEST_CASE("long and binary lines are refused and reading goes on", "[zone-tools][sources]")
{
	lists read;
	read.add(nullptr, "192.0.2.1\n" + std::string(100000, '1') + "\n" + std::string("x\0y", 3) +
				  "\n192.0.2.2\n");
	CHECK(read.counts.refusal_count == 2);
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 2100", "192.0.2.2 127.0.0.2 2100" });
	CHECK_THAT(read.findings(), Catch::Contains("[list0:2] line refused, text=\"1111") &&
					    Catch::Contains("(line longer than 65535 bytes)") &&
					    Catch::Contains("(NUL byte in the line)"));
}

TEST_CASE("the type of a list is what stands before the colon", "[zone-tools][sources]")
{
	lists read;
	SECTION("plain: takes a name with a colon")
	{
		write_file(read.dir().file("odd:name"), "192.0.2.1\n");
		CHECK(read.add_path("plain:" + read.dir().file("odd:name")) == DNSBLV6_OK);
		CHECK(read.entries().size() == 1);
	}
	SECTION("plain: takes several files, as one list")
	{
		write_file(read.dir().file("a"), "192.0.2.0/24\n");
		write_file(read.dir().file("b"), "!192.0.2.128/25\n");
		CHECK(read.add_path("plain:" + read.dir().file("a") + "," + read.dir().file("b")) ==
		      DNSBLV6_OK);
		CHECK(read.entries().size() == 2);
		CHECK(read.findings() == "");
	}
	SECTION("a slash before the colon makes it a file name")
	{
		write_file(read.dir().file("odd:name"), "192.0.2.1\n");
		CHECK(read.add_path(read.dir().file("odd:name")) == DNSBLV6_OK);
		CHECK(read.entries().size() == 1);
	}
	SECTION("there is one acl")
	{
		write_file(read.dir().file("acl"), "192.0.2.1\n");
		const std::string list = "acl:" + read.dir().file("acl");
		CHECK(read.add_path(list) == DNSBLV6_OK);
		CHECK(read.add_path(list) == -EINVAL);
		CHECK(read.findings() ==
		      "error: list refused, text=\"acl:acl\""
		      " (a zone has one acl; give its files as one: acl:FILE,FILE)\n");
	}
	SECTION("anything else is unknown")
	{
		CHECK(read.add_path("ip5set:x") == -EINVAL);
		CHECK(read.findings() == "error: list refused, text=\"ip5set:x\""
					 " (unknown type; plain:FILE is any file)\n");
	}
}

TEST_CASE("entries that guard.h objects to are refused and not added", "[zone-tools][sources]")
{
	lists read;
	read.options.allow_reserved = false;
	const char *type = GENERATE(static_cast<const char *>(nullptr), "ip4set", "ip4trie");
	CHECK(read.add(type, "192.0.2.1\n10.1.2.3\n") == DNSBLV6_OK);
	CHECK(read.counts.refusal_count == 1);
	CHECK_THAT(read.findings(), Catch::Contains("[list0:2] entry refused, text=\"10.1.2.3\""));
	CHECK(read.entries() == lines{ "192.0.2.1 127.0.0.2 2100" });
}
