// SPDX-License-Identifier: GPL-3.0-or-later
// What can be known of the loader without a kernel that loads: that it says so, and changes nothing.
#include "lib/process/capabilities.h"
#include "server/xdp-kernel/load.h"
#include "tests/lib/child.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace
{

settings settings_for(const char *interface)
{
	settings out = {};
	out.xdp.memory_size = 1 << 20;
	snprintf(out.xdp.interfaces.names[0], IF_NAMESIZE, "%s", interface);
	out.xdp.interfaces.count = 1;
	return out;
}

bool is_empty(const load &value)
{
	return value.link_count == 0 && value.arrays.config == nullptr &&
	       value.arrays.lines == nullptr;
}

// load_attach() without capabilities, with standard error in fd. Its status, or 1000.
int attach_without_capabilities(int fd)
{
	child other([&] {
		const settings value = settings_for("lo");
		load loaded = {};
		loaded.link_count = 1;
		if (dup2(fd, STDERR_FILENO) < 0 || capabilities_keep(0) != 0)
			return 255;
		const int ret = load_attach(&value, &loaded);
		return is_empty(loaded) ? -ret : 254;
	});
	return other.wait();
}

} // namespace

TEST_CASE("without capabilities nothing is attached, and one line says so", "[xdp][load]")
{
	int ends[2];
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	const int status = attach_without_capabilities(ends[1]);
	close(ends[1]);
	char text[4096];
	const ssize_t size = read(ends[0], text, sizeof(text));
	close(ends[0]);
	REQUIRE(size > 0);
	const std::string log(text, static_cast<size_t>(size));
	CHECK((status == EPERM || status == ENOSYS));
	CHECK(log.find("not attached, sockets answer") != std::string::npos);
	CHECK(log.find('\n') == log.size() - 1);
}

TEST_CASE("what is attached nowhere can be detached and closed", "[xdp][load]")
{
	load nothing = {};
	load_detach(&nothing);
	load_close(&nothing);
	CHECK(is_empty(nothing));
}
