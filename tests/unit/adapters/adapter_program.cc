// SPDX-License-Identifier: GPL-3.0-or-later
// How an adapter begins.
#include "integration/common/owner.h"
#include "integration/common/program.h"
#include "lib/common/log.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <cerrno>
#include <string>
#include <sys/stat.h>
#include <sysexits.h>

struct own_setup {
	std::string text;
};

namespace
{

int parse(const char *text, size_t text_size, void *ret_setup, struct conf_error *reterr_error)
{
	static_cast<own_setup *>(ret_setup)->text.assign(text, text_size);
	return text_size > 0 ? 0 : conf_refuse(reterr_error, -EINVAL, "%s", "empty");
}

} // namespace

TEST_CASE("a configuration is what its file has", "[adapter][program]")
{
	const tmpdir directory;
	const std::string path = directory.file("conf");
	own_setup setup = {};
	conf_error error = {};
	write_file(path, "program:\n");
	CHECK(program_read(path.c_str(), parse, &setup, &error) == 0);
	CHECK(setup.text == "program:\n");
	write_file(path, "");
	CHECK(program_read(path.c_str(), parse, &setup, &error) == -EINVAL);
	CHECK(std::string(error.reason) == "empty");
}

TEST_CASE("a file that is not there is an error about the whole", "[adapter][program]")
{
	own_setup setup = {};
	conf_error error = {};
	CHECK(program_read("/nowhere/conf", parse, &setup, &error) == -ENOENT);
	CHECK(error.line == 0);
	CHECK(std::string(error.reason) == "No such file or directory");
}

TEST_CASE("a directory has the mode that it is to have, whatever umask is", "[adapter][program]")
{
	const tmpdir directory;
	const std::string path = directory.file("made");
	const owner none = {};
	struct stat status = {};
	const mode_t mask = umask(0077);
	CHECK(owner_make_directory(&none, path.c_str(), 0755, "test") == EX_OK);
	CHECK(umask(mask) == 0077);
	REQUIRE(stat(path.c_str(), &status) == 0);
	CHECK((status.st_mode & 0777) == 0755);
}

TEST_CASE("a lack of permission has an exit status of its own", "[adapter][program]")
{
	CHECK(program_refused_status(-EACCES) == EX_NOPERM);
	CHECK(program_refused_status(-EPERM) == EX_NOPERM);
	CHECK(program_refused_status(-EADDRINUSE) == EX_UNAVAILABLE);
}
