// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/inspect/path.h"

#include <catch2/catch.hpp>

#include <string>

namespace
{

std::string join(const std::string &parent, const std::string &name)
{
	char path[INSPECT_PATH_SIZE];
	path_join(parent.c_str(), name.c_str(), path);
	return path;
}

} // namespace

TEST_CASE("a path is made of its parts", "[inspect]")
{
	CHECK(join("", "part 2 / a.zip") == "part 2 / a.zip");
	CHECK(join("part 2 / a.zip", "b.exe") == "part 2 / a.zip / b.exe");
	CHECK(join("part 2", "") == "part 2");
	CHECK(join("", "") == "");
}

TEST_CASE("what cannot be seen in a name is replaced", "[inspect]")
{
	CHECK(join("", "a\r\nb\x7f") == "a??b?");
	CHECK(join("", "gr\xc3\xbc\xc3\x9f.exe") == "gr\xc3\xbc\xc3\x9f.exe");
	CHECK(join("", "\xff\xc3") == "??");
	// An overlong form, a surrogate, a control of ISO 6429, a change of direction.
	CHECK(join("", "\xc0\xaf") == "??");
	CHECK(join("", "\xed\xa0\x80") == "???");
	CHECK(join("", "a\xc2\x85z") == "a?z");
	CHECK(join("", "gpj.\xe2\x80\xae"
		       "exe") == "gpj.?exe");
	CHECK(join("", "\xf0\x9f\x93\xa7") == "\xf0\x9f\x93\xa7");
}

TEST_CASE("a path that is too long loses its middle", "[inspect]")
{
	const std::string parent(500, 'a');
	const std::string path = join(parent, "the-end-of-it.exe");
	CHECK(path.size() == INSPECT_PATH_SIZE - 1);
	CHECK(path.substr(0, 5) == "aaaaa");
	CHECK(path.find("...") != std::string::npos);
	CHECK(path.substr(path.size() - 17) == "the-end-of-it.exe");

	std::string wide;
	for (int i = 0; i < 400; i++)
		wide += "\xc3\xbc";
	const std::string cut = join("b", wide);
	CHECK(cut.size() <= INSPECT_PATH_SIZE - 1);
	CHECK(join("", cut) == cut);
}
