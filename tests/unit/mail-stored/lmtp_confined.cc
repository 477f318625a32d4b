// SPDX-License-Identifier: GPL-3.0-or-later
// What is left to the process of LMTP, which hears the network: its sockets, the store's, and memory.
#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/mail-stored/store/store_confine.h"

#include "lib/process/callfilter.h"
#include "lib/process/landlock.h"
#include "lib/process/listening.h"
#include "lib/process/sanitized.h"
#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <memory>
#include <string>

namespace
{

// What a confined child returns.
template <typename Function> int confined(Function function)
{
	child other([function] {
		const auto setup = std::make_unique<stored_setup>();
		return store_confine_lmtp(setup.get()) == 0 ? function() : 99;
	});
	return other.wait();
}

int open_error(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0600);
	return fd >= 0 ? 0 : errno;
}

} // namespace

TEST_CASE("the process of LMTP opens no file, also for reading", "[mail-stored][lmtp_confined]")
{
	/* Sanitizers read files of their own, and a build with them confines no file. */
	const bool has_landlock = !IS_SANITIZED && landlock_find_version() > 0;
	const int expected = has_landlock ? EACCES : 0;
	CHECK(confined([] { return open_error("/etc/passwd", O_RDONLY); }) == expected);
	const tmpdir dir;
	const std::string path = dir.file("made");
	if (callfilter_can_load())
		CHECK(confined([&] { return open_error(path.c_str(), O_WRONLY | O_CREAT); }) != 0);
}

TEST_CASE("the process of LMTP makes no connection but to the store",
	  "[mail-stored][lmtp_confined]")
{
	const tmpdir dir;
	const std::string path = dir.file("socket");
	int door = -1;
	REQUIRE(listening_bind_path(path.c_str(), SOCK_SEQPACKET, &door) == 0);
	REQUIRE(chmod(path.c_str(), 0600) == 0);
	REQUIRE(listen(door, 1) == 0);
	if (callfilter_can_load())
		CHECK(confined([] {
			      return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
		      }) == ENOSYS);
	CHECK(confined([path] {
		      sockaddr_un address = {};
		      address.sun_family = AF_UNIX;
		      strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
		      const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		      return connect(fd, reinterpret_cast<const sockaddr *>(&address),
				     sizeof(address)) == 0
				     ? 0
				     : errno;
	      }) == 0);
	close(door);
}

TEST_CASE("the process of LMTP has memory that it can seal", "[mail-stored][lmtp_confined]")
{
	CHECK(confined([] {
		      const int fd = memfd_create("mail", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		      return fd >= 0 && write(fd, "x", 1) == 1 &&
					     fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0
				     ? 0
				     : 1;
	      }) == 0);
}
