// SPDX-License-Identifier: GPL-3.0-or-later
// A file that is there in full, or as it was before.
#include "lib/common/wholefile.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

struct room {
	std::filesystem::path directory;
	int fd;

	room()
	{
		char made[] = "/tmp/dnsblv6-wholefile-XXXXXX";
		REQUIRE(mkdtemp(made) != nullptr);
		directory = made;
		fd = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		REQUIRE(fd >= 0);
	}
	~room()
	{
		close(fd);
		std::filesystem::remove_all(directory);
	}
	room(const room &) = delete;
	room &operator=(const room &) = delete;

	std::string path(const std::string &name) const
	{
		return (directory / name).string();
	}
	std::string read(const std::string &name) const
	{
		std::ifstream in(path(name), std::ios::binary);
		return { std::istreambuf_iterator<char>(in), {} };
	}
	mode_t mode(const std::string &name) const
	{
		struct stat facts = {};
		REQUIRE(stat(path(name).c_str(), &facts) == 0);
		return facts.st_mode & 07777;
	}
	size_t count() const
	{
		const std::filesystem::directory_iterator all(directory);
		return static_cast<size_t>(std::distance(begin(all), end(all)));
	}
	int write(const std::string &name, const std::string &bytes, unsigned how,
		  mode_t mode = 0644) const
	{
		return wholefile_write(fd, name.c_str(), bytes.data(), bytes.size(), mode, how);
	}
};

// As on a disk that is full behind size bytes.
struct full_disk {
	rlimit before = {};
	explicit full_disk(rlim_t size)
	{
		std::signal(SIGXFSZ, SIG_IGN);
		REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
		rlimit less = before;
		less.rlim_cur = size;
		REQUIRE(setrlimit(RLIMIT_FSIZE, &less) == 0);
	}
	~full_disk()
	{
		setrlimit(RLIMIT_FSIZE, &before);
		std::signal(SIGXFSZ, SIG_DFL);
	}
	full_disk(const full_disk &) = delete;
	full_disk &operator=(const full_disk &) = delete;
};

struct masked {
	mode_t before;
	explicit masked(mode_t mask) : before(umask(mask))
	{
	}
	~masked()
	{
		umask(before);
	}
	masked(const masked &) = delete;
	masked &operator=(const masked &) = delete;
};

const std::string LONG(100000, 'x');

} // namespace

TEST_CASE("a file is written, and takes the place of the one before", "[common][wholefile]")
{
	const unsigned how = GENERATE(0u, unsigned{ WHOLEFILE_LASTS });
	const room here;

	CHECK(here.write("file", LONG, how) == 0);
	CHECK(here.read("file") == LONG);
	CHECK(here.write("file", "", how) == 0);
	CHECK(here.read("file").empty());
	CHECK(here.count() == 1);
}

TEST_CASE("a path begins at the directory, or where the process is", "[common][wholefile]")
{
	const room here;

	CHECK(wholefile_write(AT_FDCWD, here.path("a").c_str(), "1", 1, 0600, WHOLEFILE_LASTS) ==
	      0);
	CHECK(here.read("a") == "1");
	CHECK(here.write("none/file", "1", WHOLEFILE_LASTS) == -ENOENT);
	CHECK(here.write(std::string(5000, 'a'), "1", 0) == -ENAMETOOLONG);
	CHECK(here.count() == 1);
}

TEST_CASE("what does not fit on the disk leaves the file as it was", "[common][wholefile]")
{
	const unsigned how = GENERATE(0u, unsigned{ WHOLEFILE_LASTS });
	const room here;
	REQUIRE(here.write("file", "before", how) == 0);
	{
		const full_disk full(4096);
		CHECK(here.write("file", LONG, how) == -EFBIG);
		CHECK(here.write("first", LONG, how | WHOLEFILE_FIRST) == -EFBIG);
	}
	CHECK(here.read("file") == "before");
	CHECK(here.count() == 1);
}

TEST_CASE("a first file is not there before all of it is", "[common][wholefile]")
{
	const room here;
	const pid_t child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		const struct rlimit limit = { 4096, 4096 };
		setrlimit(RLIMIT_FSIZE, &limit); /* the write behind it kills the process */
		here.write("first", LONG, WHOLEFILE_FIRST);
		_exit(0);
	}
	int status = 0;
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status));
	CHECK(access(here.path("first").c_str(), F_OK) != 0);
	CHECK(here.write("first", LONG, WHOLEFILE_FIRST) == 0);
}

TEST_CASE("a first file takes the place of none", "[common][wholefile]")
{
	const room here;

	CHECK(here.write("file", "first", WHOLEFILE_FIRST | WHOLEFILE_LASTS) == 0);
	CHECK(here.write("file", "second", WHOLEFILE_FIRST | WHOLEFILE_LASTS) == -EEXIST);
	CHECK(here.read("file") == "first");
	CHECK(here.count() == 1);
}

TEST_CASE("the mode is less what umask takes, or exact", "[common][wholefile]")
{
	const room here;
	const masked mask(077);

	CHECK(here.write("file", "1", 0) == 0);
	CHECK(here.mode("file") == 0600);
	CHECK(here.write("file", "1", WHOLEFILE_EXACT) == 0);
	CHECK(here.mode("file") == 0644);
}

TEST_CASE("what a killed process has left beside the file does no harm", "[common][wholefile]")
{
	const room here;
	const std::string rest = "file.new-" + std::to_string(getpid());
	REQUIRE(symlink("/dev/full", here.path(rest).c_str()) == 0);

	CHECK(here.write("file", "1", 0) == 0);
	CHECK(here.read("file") == "1");
	CHECK(here.count() == 1);
}

TEST_CASE("a file is taken up to its end, or as much as there is room for", "[common][wholefile]")
{
	const room here;
	char bytes[8] = {};
	REQUIRE(here.write("a", "12345", 0) == 0);
	const int fd = open(here.path("a").c_str(), O_RDONLY | O_CLOEXEC);
	CHECK(wholefile_take(fd, bytes, 3) == 3);
	CHECK(wholefile_take(fd, bytes + 3, sizeof(bytes) - 3) == 2);
	CHECK(std::string(bytes) == "12345");
	CHECK(wholefile_take(fd, bytes, sizeof(bytes)) == 0);
	CHECK(wholefile_take(-1, bytes, sizeof(bytes)) == -EBADF);
	close(fd);
}

TEST_CASE("bytes in the middle are all there, or it is said", "[common][wholefile]")
{
	const room here;
	char bytes[8] = {};
	REQUIRE(here.write("a", "12345", 0) == 0);
	const int fd = open(here.path("a").c_str(), O_RDONLY | O_CLOEXEC);
	CHECK(wholefile_get(fd, 1, bytes, 4) == 0);
	CHECK(std::string(bytes) == "2345");
	CHECK(wholefile_get(fd, 2, bytes, 4) == -ENODATA);
	CHECK(wholefile_get(-1, 0, bytes, 1) == -EBADF);
	close(fd);
}
