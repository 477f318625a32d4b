// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/maildir/maildir.h"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

// What was synced, in order; the one of that number, from 1 on, fails.
static std::vector<std::string> synced;
static size_t failing;

extern "C" int __real_fsync(int fd);
extern "C" int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
	if (synced.size() == failing) {
		errno = EIO;
		return -1;
	}
	return __real_fsync(fd);
}

namespace
{
namespace fs = std::filesystem;

class fixture
{
      public:
	fixture()
	{
		root_fd = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		REQUIRE(root_fd >= 0);
		forget();
	}
	~fixture()
	{
		close(root_fd);
	}
	fixture(const fixture &) = delete;
	fixture &operator=(const fixture &) = delete;

	static void forget(size_t fail_at = 0)
	{
		synced.clear();
		failing = fail_at;
	}
	// As the sink does it.
	int deliver(const std::string &name, const std::string &text,
		    const std::vector<const char *> &boxes)
	{
		struct maildir mail {
		};
		int ret = maildir_begin(root_fd, name.c_str(), &mail);
		if (ret == 0)
			ret = maildir_write(&mail, text.data(), text.size());
		if (ret == 0)
			ret = maildir_settle(&mail);
		for (const char *box : boxes)
			if (ret == 0)
				ret = maildir_make_box(root_fd, box);
		if (ret == 0)
			ret = maildir_publish(&mail, boxes.data(), boxes.size());
		maildir_abort(&mail);
		return ret;
	}
	std::set<std::string> names(const std::string &folder) const
	{
		std::set<std::string> found;
		if (fs::exists(dir.file(folder)))
			for (const auto &entry : fs::directory_iterator(dir.file(folder)))
				found.insert(entry.path().filename());
		return found;
	}
	std::string real(const std::string &path = ".") const
	{
		return fs::canonical(dir.file(path));
	}

	tmpdir dir;
	int root_fd;
};

std::string box_of(const std::string &mailbox)
{
	char box[MAILDIR_BOX_SIZE] = "";
	return maildir_box_of(reinterpret_cast<const uint8_t *>(mailbox.data()), mailbox.size(),
			      box)
		       ? box
		       : "(none)";
}
} // namespace

TEST_CASE("a box tells its mailbox, and what is none has none", "[maildir]")
{
	uint8_t name[MAILDIR_BOX_SIZE];
	size_t size = 0;
	for (const std::string &mailbox :
	     { std::string("anna@example.org"), std::string("../x"), std::string("a b%2F\x7f\n"),
	       std::string("\0/", 2), std::string("."), std::string(255, 'x') }) {
		REQUIRE(maildir_mailbox_of(box_of(mailbox).c_str(), name, &size));
		CHECK(std::string(reinterpret_cast<char *>(name), size) == mailbox);
	}
	for (const std::string &box :
	     { std::string(""), std::string(".hidden"), std::string("a%"), std::string("a%4"),
	       std::string("a%2f"), std::string("a%41"), std::string("a/b"), std::string("a b"),
	       std::string(300, 'x') })
		CHECK_FALSE(maildir_mailbox_of(box.c_str(), name, &size));
}

TEST_CASE("a mail for two boxes is one file, and on disk with all its names", "[maildir]")
{
	fixture f;
	REQUIRE(f.deliver("1.a", "x\n", { "anna", "bert" }) == 0);
	CHECK(f.names("tmp").empty());
	CHECK(f.names("anna/new") == std::set<std::string>{ "1.a" });
	struct stat one {
	};
	struct stat other {
	};
	REQUIRE(stat(f.dir.file("anna/new/1.a").c_str(), &one) == 0);
	REQUIRE(stat(f.dir.file("bert/new/1.a").c_str(), &other) == 0);
	CHECK(one.st_ino == other.st_ino);
	CHECK(one.st_nlink == 2);
	CHECK((one.st_mode & 0777) == 0600);
	CHECK(read_file(f.dir.file("anna/new/1.a")) == "x\n");

	const std::vector<std::string> wanted = {
		f.real("tmp") + "/1.a", f.real("anna"),	    f.real(),
		f.real("anna"),		f.real("bert"),	    f.real(),
		f.real("bert"),		f.real("anna/new"), f.real("bert/new")
	};
	CHECK(synced == wanted);
	// Boxes that are there cost nothing.
	f.forget();
	REQUIRE(f.deliver("2.a", "x\n", { "anna" }) == 0);
	CHECK(synced == std::vector<std::string>{ f.real("tmp") + "/2.a", f.real("anna/new") });
}

TEST_CASE("the root itself may be the box", "[maildir]")
{
	fixture f;
	REQUIRE(f.deliver("1.a", "x\n", { MAILDIR_ROOT }) == 0);
	CHECK(f.names(".") == std::set<std::string>{ "cur", "new", "tmp" });
	CHECK(f.names("new") == std::set<std::string>{ "1.a" });
}

TEST_CASE("when a sync fails no box has the mail", "[maildir]")
{
	size_t failed = 0;
	for (size_t at = 1;; at++) {
		CAPTURE(at);
		fixture f;
		f.forget(at);
		const int ret = f.deliver("1.a", "x\n", { "anna", "bert" });
		if (ret == 0)
			break;
		failed++;
		CHECK(ret == -EIO);
		CHECK(f.names("anna/new").empty());
		CHECK(f.names("bert/new").empty());
		CHECK(f.names("tmp").empty());
		// The next one is taken.
		f.forget();
		CHECK(f.deliver("2.a", "x\n", { "anna", "bert" }) == 0);
		CHECK(f.names("anna/new").size() == 1);
	}
	CHECK(failed == 9);
}

TEST_CASE("a box that is not on disk yet is not taken for one that is", "[maildir]")
{
	fixture f;
	f.forget(2);
	CHECK(f.deliver("1.a", "x\n", { "anna" }) == -EIO);
	f.forget();
	REQUIRE(f.deliver("2.a", "x\n", { "anna" }) == 0);
	const std::vector<std::string> wanted = { f.real("tmp") + "/2.a", f.real("anna"), f.real(),
						  f.real("anna"), f.real("anna/new") };
	CHECK(synced == wanted);
}

TEST_CASE("a name that is there is never replaced, and no other box gets the mail", "[maildir]")
{
	fixture f;
	REQUIRE(f.deliver("1.a", "first\n", { "bert" }) == 0);
	CHECK(f.deliver("1.a", "second\n", { "anna", "bert" }) == -EEXIST);
	CHECK(f.names("anna/new").empty());
	CHECK(read_file(f.dir.file("bert/new/1.a")) == "first\n");
	// Neither is one in tmp/, which is not taken away then.
	write_file(f.dir.file("tmp/2.a"), "of another process");
	CHECK(f.deliver("2.a", "x\n", { "anna" }) == -EEXIST);
	CHECK(f.names("tmp") == std::set<std::string>{ "2.a" });
}

TEST_CASE("a box that cannot be made is no box for the mail", "[maildir]")
{
	fixture f;
	write_file(f.dir.file("anna"), "a file");
	CHECK(f.deliver("1.a", "x\n", { "anna" }) == -ENOTDIR);
	CHECK(f.names("tmp").empty());
	CHECK(f.deliver(std::string(MAILDIR_NAME_SIZE, 'x'), "", { "bert" }) == -ENAMETOOLONG);
}

TEST_CASE("a mail that is given up leaves nothing, however far it had come", "[maildir]")
{
	fixture f;
	struct maildir mail {
	};
	maildir_abort(&mail);
	REQUIRE(maildir_begin(f.root_fd, "1.a", &mail) == 0);
	CHECK(f.names("tmp").size() == 1);
	maildir_abort(&mail);
	maildir_abort(&mail);
	CHECK(f.names("tmp").empty());
	REQUIRE(maildir_begin(f.root_fd, "1.a", &mail) == 0);
	REQUIRE(maildir_settle(&mail) == 0);
	maildir_abort(&mail);
	CHECK(f.names("tmp").empty());
}

TEST_CASE("a root is made, and is there after a loss of power", "[maildir]")
{
	fixture f;
	int fd = -1;
	REQUIRE(maildir_open_root(f.dir.file("root").c_str(), &fd) == 0);
	close(fd);
	CHECK(synced == std::vector<std::string>{ f.real() });
	struct stat st {
	};
	REQUIRE(stat(f.dir.file("root").c_str(), &st) == 0);
	CHECK((st.st_mode & 0777) == 0700);
	// Also when the process that has made it was killed before it could say so.
	f.forget();
	REQUIRE(maildir_open_root(f.dir.file("root").c_str(), &fd) == 0);
	close(fd);
	CHECK(synced == std::vector<std::string>{ f.real() });
	write_file(f.dir.file("file"), "");
	CHECK(maildir_open_root(f.dir.file("file").c_str(), &fd) == -ENOTDIR);
	CHECK(maildir_open_root(f.dir.file("a/b").c_str(), &fd) == -ENOENT);
}

TEST_CASE("names of mailboxes become names of files that no other mailbox has", "[maildir]")
{
	CHECK(box_of("anna@example.com") == "anna@example.com");
	CHECK(box_of(".") == "%2E");
	CHECK(box_of("..") == "%2E.");
	CHECK(box_of("a.b") == "a.b");
	CHECK(box_of("a/b c%\x7f\n") == "a%2Fb%20c%25%7F%0A");
	CHECK(box_of(std::string("a\0b", 3)) == "a%00b");
	CHECK(box_of("Gr\xc3\xbc\xdf") == "Gr\xc3\xbc\xdf");
	CHECK(box_of("") == "(none)");
	CHECK(box_of(std::string(255, 'n')) == std::string(255, 'n'));
	CHECK(box_of(std::string(256, 'n')) == "(none)");
	CHECK(box_of(std::string(85, '/')).size() == 255);
	CHECK(box_of(std::string(85, '/') + "n") == "(none)");
	CHECK(box_of("n" + std::string(85, '/')) == "(none)");
}

TEST_CASE("names of mails differ, and no host breaks one", "[maildir]")
{
	std::set<std::string> made;
	for (int i = 0; i < 1000; i++) {
		char name[MAILDIR_NAME_SIZE];
		maildir_make_name("a/b:c.example", name);
		made.insert(name);
	}
	CHECK(made.size() == 1000);
	CHECK(made.begin()->find_first_of("/:") == std::string::npos);
	char name[MAILDIR_NAME_SIZE];
	maildir_make_name(std::string(300, 'h').c_str(), name);
	CHECK(std::string(name).substr(std::string(name).rfind('.') + 1) == std::string(64, 'h'));
}

TEST_CASE("what a killed process has left is swept when it is old", "[maildir]")
{
	fixture f;
	maildir_sweep(f.root_fd); // without tmp/
	fs::create_directories(f.dir.file("tmp/directory"));
	const std::string longer(MAILDIR_NAME_SIZE, 'x');
	for (const std::string &name : { std::string("old"), std::string("young"), longer })
		write_file(f.dir.file("tmp/" + name), "x");
	const timespec times[] = { { time(nullptr) - 37 * 3600, 0 },
				   { time(nullptr) - 37 * 3600, 0 } };
	for (const std::string &name : { std::string("old"), std::string("directory"), longer })
		REQUIRE(utimensat(AT_FDCWD, f.dir.file("tmp/" + name).c_str(), times, 0) == 0);
	maildir_sweep(f.root_fd);
	CHECK(f.names("tmp") == std::set<std::string>{ "directory", "young", longer });
}
