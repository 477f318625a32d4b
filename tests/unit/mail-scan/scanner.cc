// SPDX-License-Identifier: GPL-3.0-or-later
// Mails through a scanner with its template and its decoder processes, and what these may do.
#include "integration/mail/base/scan/decoder.h"
#include "integration/mail/base/scan/scanner.h"

#include "lib/match/compile.h"
#include "lib/process/callfilter.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

const std::string MARK = "<<the mark of this test>>";

std::string hex(const std::string &bytes)
{
	static const char digits[] = "0123456789abcdef";
	std::string text;
	for (const char byte : bytes) {
		text += digits[static_cast<unsigned char>(byte) >> 4];
		text += digits[static_cast<unsigned char>(byte) & 15];
	}
	return text;
}

void compile_to(const std::string &path, const std::string &ndb, const std::string &mark)
{
	struct compile *compile = nullptr;
	write_file(ndb, "Test.Mark:0:*:" + hex(mark) + "\n");
	REQUIRE(compile_new(
			true, [](void *, const char *) {}, nullptr, &compile) == 0);
	REQUIRE(compile_add_file(compile, ndb.c_str()) == 0);
	REQUIRE(compile_write(compile, path.c_str()) == 0);
	compile_free(compile);
}

// One member of a tar, which is opened by a decoder process.
std::string tar(const std::string &bytes)
{
	std::string header(512, '\0');
	char size[12];
	snprintf(size, sizeof(size), "%011zo", bytes.size());
	header.replace(0, 5, "b.txt");
	header.replace(100, 7, "0000644");
	header.replace(124, 11, size);
	header.replace(136, 11, "00000000000");
	header.replace(148, 8, "        ");
	header[156] = '0';
	header.replace(257, 8,
		       std::string("ustar\0"
				   "00",
				   8));
	unsigned sum = 0;
	for (const char byte : header)
		sum += static_cast<unsigned char>(byte);
	char digits[8];
	snprintf(digits, sizeof(digits), "%06o", sum);
	header.replace(148, 7, std::string(digits, 7));
	return header + bytes + std::string(1024 + (512 - bytes.size() % 512) % 512, '\0');
}

class fixture
{
      public:
	tmpdir directory;
	scan_settings settings = {};
	struct scanner *scanner = nullptr;

	fixture()
	{
		// A decoder's limits are of the user's, too; the directory is for "nobody" as well.
		REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
		compile_to(database(), directory.file("own.ndb"), MARK);
		scan_settings_init(&settings);
		snprintf(settings.signatures, sizeof(settings.signatures), "%s",
			 database().c_str());
		settings.mails = 2;
		settings.decoder_wait_ms = 60000;
	}

	~fixture()
	{
		scanner_close(scanner);
	}

	std::string database() const
	{
		return directory.file("own.signatures");
	}

	void open()
	{
		REQUIRE(scanner_open(&settings, "test", -1, &scanner) == 0);
	}

	struct scan *begin()
	{
		struct scan *scan = nullptr;
		REQUIRE(scan_begin(scanner, INSPECT_FILE, nullptr, &scan) == 0);
		return scan;
	}

	static void push(struct scan *scan, const std::string &bytes)
	{
		for (size_t at = 0; at < bytes.size(); at += SCAN_PIECE_MAX) {
			const size_t left = bytes.size() - at;
			scan_push(scan, reinterpret_cast<const uint8_t *>(bytes.data()) + at,
				  left < SCAN_PIECE_MAX ? left : SCAN_PIECE_MAX);
			REQUIRE(scan_wait(scan) == 0);
		}
	}

	static std::string end(struct scan *scan)
	{
		scan_end(scan, true);
		REQUIRE(scan_wait(scan) == 0);
		std::string text = scan_verdict(scan)->log;
		scan_free(scan);
		return text;
	}

	std::string look(const std::string &bytes)
	{
		struct scan *scan = begin();
		push(scan, bytes);
		return end(scan);
	}
};

} // namespace

TEST_CASE("a scanner finds what is in a mail, here and in a process", "[mail-scan]")
{
	fixture fixture;
	fixture.open();
	CHECK(fixture.look("nothing") == "clean");
	CHECK(fixture.look("x" + MARK) == "found=Test.Mark class=signature path=\"\" offset=" +
						  std::to_string(MARK.size() + 1));
	// The archive's own bytes are matched as well; what is behind "in" sorts behind.
	const std::string big = tar(std::string(3000000, '\x7f') + MARK);
	struct scan *scan = fixture.begin();
	fixture.push(scan, big);
	scan_end(scan, true);
	REQUIRE(scan_wait(scan) == 0);
	CHECK(scan_has_found(scan));
	const struct inspect_result *result = scan_verdict(scan)->result;
	REQUIRE(result->finding_count == 2);
	CHECK(std::string(result->findings[1].path) == "b.txt");
	CHECK(result->findings[1].offset == 3000000 + MARK.size());
	CHECK(result->objects == 2);
	CHECK(result->bytes > 6000000);
	CHECK(scan_verdict(scan)->action == SCAN_REJECT);
	scan_free(scan);
}

TEST_CASE("as many mails are scanned as the settings have", "[mail-scan]")
{
	fixture fixture;
	fixture.open();
	struct scan *first = fixture.begin();
	struct scan *second = fixture.begin();
	struct scan *third = nullptr;
	CHECK(scan_begin(fixture.scanner, INSPECT_MAIL, nullptr, &third) == -EAGAIN);
	fixture.push(second, tar(MARK));
	scan_free(second);
	CHECK(fixture.look("nothing") == "clean");
	scan_free(first);
	// The one that was given up amid its archive has left nothing behind.
	CHECK(fixture.look(tar("nothing")) == "clean");
}

TEST_CASE("a mail that was cut has no verdict that waits for anything", "[mail-scan]")
{
	fixture fixture;
	fixture.open();
	struct scan *scan = fixture.begin();
	fixture.push(scan, tar(std::string(2000, 'x')).substr(0, 1500));
	scan_end(scan, false);
	CHECK(scan_wait(scan) == 0);
	CHECK(scan_verdict(scan)->result->counts[INSPECT_SUSPICIOUS] == 0);
	scan_free(scan);
}

TEST_CASE("one decoder process at a time is enough for two mails", "[mail-scan]")
{
	fixture fixture;
	fixture.settings.decoders = 1;
	fixture.open();
	struct scan *first = fixture.begin();
	struct scan *second = fixture.begin();
	fixture.push(first, tar(MARK));
	fixture.push(second, tar(MARK));
	CHECK(fixture.end(first).find("Test.Mark") != std::string::npos);
	CHECK(fixture.end(second).find("Test.Mark") != std::string::npos);
}

TEST_CASE("without its template a scanner is busy with archives, and only with these",
	  "[mail-scan]")
{
	fixture fixture;
	fixture.open();
	REQUIRE(kill(scanner_template(fixture.scanner), SIGKILL) == 0);
	REQUIRE(waitpid(scanner_template(fixture.scanner), nullptr, 0) > 0);
	CHECK(fixture.look("nothing") == "clean");
	CHECK(fixture.look(tar("nothing")) ==
	      "found=\"busy: no decoders\" class=busy path=\"\" offset=0");
	CHECK(fixture.look(MARK).find("Test.Mark") != std::string::npos);
}

TEST_CASE("new signatures are for mails that begin then", "[mail-scan]")
{
	fixture fixture;
	fixture.open();
	struct scan *old = fixture.begin();
	scanner_refresh(fixture.scanner);
	compile_to(fixture.database(), fixture.directory.file("own.ndb"), "<<another mark>>");
	scanner_refresh(fixture.scanner);
	fixture.push(old, MARK);
	CHECK(fixture.end(old).find("Test.Mark") != std::string::npos);
	CHECK(fixture.look(MARK) == "clean");
	CHECK(fixture.look("<<another mark>>").find("Test.Mark") != std::string::npos);
	CHECK(fixture.look(tar("<<another mark>>")).find("Test.Mark") != std::string::npos);
}

TEST_CASE("signatures that are none are said", "[mail-scan]")
{
	fixture fixture;
	write_file(fixture.database(), "nothing of that kind");
	CHECK(scanner_open(&fixture.settings, "test", -1, &fixture.scanner) != 0);
	CHECK(fixture.scanner == nullptr);
}

// ---- what a decoder process may do ----

namespace
{

// How a process ends that is one, and then does it.
template <typename what> int status_of(what does, unsigned cpu_ms = 60000)
{
	struct callfilter filter = {};
	if (callfilter_can_load())
		REQUIRE(decoder_make_filter(&filter) == 0);
	int pair[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	const pid_t pid = fork();
	if (pid == 0) {
		if (decoder_confine(pair[1], cpu_ms, RLIM_INFINITY, &filter) != 0)
			_exit(99);
		_exit(does(pair[1]));
	}
	close(pair[0]);
	close(pair[1]);
	int status = -1;
	REQUIRE(waitpid(pid, &status, 0) == pid);
	callfilter_deinit(&filter);
	return status;
}

} // namespace

TEST_CASE("a decoder process can read, write and end", "[mail-scan]")
{
	const int status = status_of([](int fd) {
		char byte;
		// The other end has gone.
		return read(fd, &byte, 1) == 0 ? 7 : 8;
	});
	REQUIRE(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a decoder process has nothing open but its socket", "[mail-scan]")
{
	const int status = status_of([](int fd) {
		for (int other = 0; other < 64; other++) {
			if (other != fd && (write(other, "", 1) >= 0 || errno != EBADF))
				return 1;
		}
		return 0;
	});
	CHECK(status == 0);
}

TEST_CASE("a decoder process that does more ends", "[mail-scan]")
{
	if (!callfilter_can_load()) {
		WARN("this build, or this kernel, has no filter");
		CHECK_FALSE(callfilter_can_load());
		return;
	}
	const long calls[] = { SYS_socket,  SYS_clone, SYS_execve,    SYS_kill,	   SYS_ptrace,
			       SYS_connect, SYS_ppoll, SYS_setrlimit, SYS_unlinkat };
	for (const long call : calls) {
		const int status = status_of([call](int) {
			syscall(call, 0, 0, 0, 0, 0, 0);
			return 0;
		});
		CHECK(WIFSIGNALED(status));
		CHECK(WTERMSIG(status) == SIGSYS);
	}
}

TEST_CASE("a decoder process is told that what libraries try is not there", "[mail-scan]")
{
	if (!callfilter_can_load()) {
		WARN("this build, or this kernel, has no filter");
		CHECK_FALSE(callfilter_can_load());
		return;
	}
	// By the names that every machine has: open(), access() and readlink() are calls of the kernel on few.
	int (*const tries[])() = {
		[] { return openat(AT_FDCWD, "/etc/passwd", O_RDONLY); },
		[] { return faccessat(AT_FDCWD, "/etc/passwd", R_OK, 0); },
		[] {
			return static_cast<int>(
				syscall(SYS_faccessat2, AT_FDCWD, "/etc/passwd", R_OK, 0));
		},
		[] {
			char target[8];
			return static_cast<int>(
				readlinkat(AT_FDCWD, "/etc/passwd", target, sizeof(target)));
		},
	};
	const size_t index = GENERATE(range(size_t(0), size_t(4)));
	CAPTURE(index);
	CHECK(status_of([&](int) { return tries[index]() < 0 && errno == ENOSYS ? 0 : 1; }) == 0);
}

TEST_CASE("a decoder process has so much time", "[mail-scan]")
{
	const int status = status_of(
		[](int) {
			volatile unsigned count = 0;
			for (;;)
				count = count + 1;
			return 0;
		},
		50);
	REQUIRE(WIFSIGNALED(status));
	CHECK(WTERMSIG(status) == SIGPROF);
}
