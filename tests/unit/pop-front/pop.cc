// SPDX-License-Identifier: GPL-3.0-or-later
// What --check finds, and what each process is left.
#include "integration/mail/pop-front/nanny/pop.h"

#include "integration/mail/base/nanny/nanny_program.h"
#include "integration/mail/base/setup/mailcheckup.h"
#include "lib/common/checkup.h"

#include "tests/lib/tmpdir.hh"
#include "tests/unit/mail-users/users.hh"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sysexits.h>

#include <cstring>
#include <memory>
#include <string>
#include <unistd.h>

namespace
{

template <size_t Size> void set(char (&text)[Size], const std::string &value)
{
	REQUIRE(value.size() < Size);
	memcpy(text, value.c_str(), value.size() + 1);
}

// What goes to standard error meanwhile.
template <typename Work> std::string logged(Work work)
{
	int ends[2];
	REQUIRE(pipe(ends) == 0);
	const int before = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	work();
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[1]);
	char text[4096];
	const ssize_t size = read(ends[0], text, sizeof(text));
	close(ends[0]);
	return { text, static_cast<size_t>(size > 0 ? size : 0) };
}

} // namespace

TEST_CASE("a configuration whose users and root directory are there is fine", "[pop][check]")
{
	const tmpdir directory;
	const auto setup = std::make_unique<popsetup>();
	REQUIRE(build(directory.file("users.mdb"), { "john@example.org" }) == 0);
	set(setup->login.users, directory.file("users.mdb"));
	CHECK(pop_check(setup.get()) == EX_OK);
	set(setup->pop.chroot, directory.path());
	CHECK(pop_check(setup.get()) == EX_OK);
}

TEST_CASE("what a configuration names and is not there is told with its name", "[pop][check]")
{
	const tmpdir directory;
	const auto setup = std::make_unique<popsetup>();
	const std::string users = directory.file("users.mdb");
	set(setup->login.users, users);
	int status = EX_OK;
	CHECK(logged([&] { status = pop_check(setup.get()); }) ==
	      "error: [pop-front] recipients not opened, users=" + users +
		      " (No such file or directory)\n");
	CHECK(status == EX_CONFIG);
	write_file(users, "not a database\n");
	CHECK(logged([&] { status = pop_check(setup.get()); }) ==
	      "error: [pop-front] recipients not opened, users=" + users + " (not a store)\n");
	CHECK(status == EX_CONFIG);
}

TEST_CASE("a root directory that is none is refused", "[pop][check]")
{
	const tmpdir directory;
	const std::string file = directory.file("file");
	write_file(file, "");
	int status = EX_OK;
	CHECK(logged([&] { status = checkup_directory("x", "chroot", file.c_str(), false); }) ==
	      "error: [x] directory refused, chroot=" + file + " (Not a directory)\n");
	CHECK(status == EX_CONFIG);
	const std::string none = directory.file("none");
	CHECK(logged([&] { status = checkup_directory("x", "chroot", none.c_str(), true); }) ==
	      "error: [x] directory refused, chroot=" + none + " (No such file or directory)\n");
	CHECK(status == EX_CONFIG);
	CHECK(checkup_directory("x", "chroot", "", true) == EX_OK);
}

TEST_CASE("of a directory that this user does not come to a check says no more", "[pop][check]")
{
	const tmpdir directory;
	const std::string closed = directory.file("closed");
	const std::string inner = closed + "/inner";
	REQUIRE(mkdir(closed.c_str(), 0700) == 0);
	REQUIRE(mkdir(inner.c_str(), 0700) == 0);
	REQUIRE(chmod(closed.c_str(), 0) == 0);
	const bool is_root = geteuid() == 0;
	for (const bool is_start : { false, true }) {
		int status = -1;
		REQUIRE((!is_root || seteuid(65534) == 0));
		const std::string said = logged([&] {
			status = checkup_directory("x", "chroot", inner.c_str(), is_start);
		});
		REQUIRE((!is_root || seteuid(0) == 0));
		CHECK(said ==
		      (is_start ? "error: [x] directory refused"
				: "warning: [x] directory cannot be looked at by this user") +
			      (", chroot=" + inner + " (Permission denied)\n"));
		CHECK(status == (is_start ? EX_CONFIG : EX_OK));
	}
	REQUIRE(chmod(closed.c_str(), 0700) == 0);
}

TEST_CASE("a root directory that comes with the start is no mistake before it", "[pop][check]")
{
	const tmpdir directory;
	const auto setup = std::make_unique<popsetup>();
	const std::string none = directory.file("none");
	REQUIRE(build(directory.file("users.mdb"), { "john@example.org" }) == 0);
	set(setup->login.users, directory.file("users.mdb"));
	set(setup->pop.chroot, none);
	int status = EX_CONFIG;
	CHECK(logged([&] { status = pop_check(setup.get()); }) ==
	      "warning: [pop-front] directory not there yet, chroot=" + none +
		      " (No such file or directory)\n");
	CHECK(status == EX_OK);
}

TEST_CASE("a socket that the user of a process may not use is told with both", "[pop][check]")
{
	const tmpdir directory;
	const auto setup = std::make_unique<popsetup>();
	REQUIRE(build(directory.file("users.mdb"), { "john@example.org" }) == 0);
	set(setup->login.users, directory.file("users.mdb"));
	set(setup->pop.worker_owner.user, "nobody");
	setup->pop.worker_owner.uid = 65534; // where this is not root it stays what it is
	setup->pop.worker_owner.gid = 65534;
	set(setup->store.text, directory.file("closed/socket"));
	REQUIRE(mkdir(directory.file("closed").c_str(), 0) == 0);
	int status = EX_CONFIG;
	CHECK(logged([&] { status = pop_check(setup.get()); }) ==
	      "warning: [pop-front] no access, path=" + directory.file("closed/socket") +
		      " user=nobody (Permission denied)\n");
	CHECK(status == EX_OK);
	set(setup->store.text, "/dev/null");
	CHECK(logged([&] { status = pop_check(setup.get()); }).empty());
	set(setup->store.text, "/dev/not-there-yet");
	CHECK(logged([&] { status = pop_check(setup.get()); }).empty());
	CHECK(rmdir(directory.file("closed").c_str()) == 0);
}

TEST_CASE("what a configuration does not have is fine", "[mail][mailcheckup]")
{
	CHECK(mailcheckup_users("x", nullptr, "") == EX_OK);
	CHECK(mailcheckup_keys("x", nullptr) == EX_OK);
}

TEST_CASE("each process has the user, the root and the rights of its role", "[pop][rights]")
{
	const auto setup = std::make_unique<popsetup>();
	popsetup_pop &pop = setup->pop;
	set(pop.chroot, "/var/empty");
	struct row {
		unsigned role;
		const owner *who;
		bool has_root;
		bool has_network;
	};
	const row rows[] = {
		{ NANNY_KEYHOLDER, &pop.key_owner, true, false },
		{ NANNY_CHECKER, &pop.check_owner, true, false },
		{ NANNY_EDGE, &pop.edge_owner, true, true },
		{ NANNY_WORKER, &pop.worker_owner, false, false },
	};
	for (const row &expected : rows) {
		CAPTURE(expected.role);
		const confine_rights rights = pop_rights(setup.get(), expected.role);
		CHECK(rights.owner == expected.who);
		CHECK(std::string(rights.root) == (expected.has_root ? "/var/empty" : ""));
		CHECK(rights.has_network == expected.has_network);
	}
}
