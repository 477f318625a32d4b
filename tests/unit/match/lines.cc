/* SPDX-License-Identifier: GPL-3.0-or-later */
// Lines that are wrong, that are for clamd, and files that are damaged.

#include "tests/unit/match/database.hh"

#include <cerrno>
#include <sys/stat.h>

static void check_bad(const std::string &name, const std::string &line, const std::string &why)
{
	Compiled compiled(Files{ { name, line + "\n" } });
	INFO(line);
	CHECK(compiled.statuses == std::vector<int>{ 0 });
	CHECK(compile_bad_lines(compiled.compile) == 1);
	REQUIRE(compiled.messages.size() == 1);
	CHECK_THAT(compiled.messages[0], Catch::Contains(name + ":1: " + why));
}

TEST_CASE("a line that is wrong is named", "[match][lines]")
{
	check_bad("a.hdb", "0:1:A", "the hash is no MD5");
	check_bad("a.hdb", "900150983cd24fb0d6963f7d28e17f7g:1:A", "the hash is not hexadecimal");
	check_bad("a.hdb", "900150983cd24fb0d6963f7d28e17f72:x:A", "the size");
	check_bad("a.hdb", "900150983cd24fb0d6963f7d28e17f72:1", "a hash has three");
	check_bad("a.ndb", "A:0:*", "a signature has four");
	check_bad("a.ndb", "A:99:*:4142", "the target");
	check_bad("a.ndb", "A:0:x:4142", "an offset");
	check_bad("a.ndb", "A:0:*:414", "not hexadecimal");
	check_bad("a.ndb", "A:0:*:4142{2", "a range");
	check_bad("a.ndb", "A:0:*:4142{3-2}4142", "a range ends");
	check_bad("a.ndb", "A:0:*:4142*", "a * or a range is the end");
	check_bad("a.ndb", "A:0:*:4142(41", "( has no )");
	check_bad("a.ndb", ":0:*:4142", "the name is empty");
	check_bad("a.ldb", "A;Target:0;0", "a signature has a name");
	check_bad("a.ldb", "A;Engine:1-2;0;4142", "there is no Target");
	check_bad("a.ldb", "A;Target:0;(0&;4142", "");
	check_bad("a.ldb", "A;Target:0;1;4142", "the logic names");
	check_bad("a.ldb", "A;Target:0;0;4142::x", "a letter");
	check_bad("a.ldb", "A;Target:0;0;/a/", "an expression has no trigger");
}

static void check_left(const std::string &name, const std::string &line, enum compile_format format,
		       enum compile_reason reason)
{
	Compiled compiled(Files{ { name, line + "\n" } });
	INFO(line << compiled.all_messages());
	CHECK(compile_bad_lines(compiled.compile) == 0);
	CHECK(compile_count(compiled.compile, format, reason) == 1);
}

TEST_CASE("what is for clamd is counted with its reason", "[match][lines]")
{
	check_left("a.ndb", "A:3:*:4142", COMPILE_NDB, COMPILE_NORMALISED);
	check_left("a.ndb", "A:1:VI:4142", COMPILE_NDB, COMPILE_ATTRIBUTE);
	check_left("a.ndb", "A:0:*:4142:250", COMPILE_NDB, COMPILE_ENGINE);
	check_left("a.ndb", "A:0:*:41??42", COMPILE_NDB, COMPILE_TOO_SHORT);
	check_left("a.ndb", "A:0:*:4142((41|42)|43)", COMPILE_NDB, COMPILE_COMPLEX);
	check_left("a.ndb", "A:0:*:4142(W){5}4344", COMPILE_NDB, COMPILE_COMPLEX);
	check_left("a.ldb", "A;Target:0;0;(B)4142::f", COMPILE_LDB, COMPILE_COMPLEX);
	check_left("a.ldb", "A;Target:0;0;4142(W)::f", COMPILE_LDB, COMPILE_COMPLEX);
	check_left("a.ldb", "A;Target:0;0&1;4142;0/(a)\\1/", COMPILE_LDB, COMPILE_PCRE);
	check_left("a.ldb", "A;Target:0;0&1;4142;${6-7}12$", COMPILE_LDB, COMPILE_MACRO);
	check_left("a.ldb", "A;Target:0;0&1;4142;0(>>26#ib2#>512)", COMPILE_LDB,
		   COMPILE_BYTE_COMPARE);
	check_left("a.ldb", "A;Target:0;0;fuzzy_img#af2ad01ed42993c7#0", COMPILE_LDB,
		   COMPILE_FUZZY_IMAGE);
	check_left("a.ldb", "A;Target:1,IconGroup1:X;0;4142", COMPILE_LDB, COMPILE_ATTRIBUTE);
	check_left("a.ldb", "A;Engine:1-2,Target:1;0;4142", COMPILE_LDB, COMPILE_ENGINE);
	check_left("a.ldb", "A;Engine:216-216,Target:1;0;4142", COMPILE_LDB, COMPILE_STREAMS);
	check_left("a.ldb", "A;Target:0;0;4142", COMPILE_LDB, COMPILE_STREAMS);
}

TEST_CASE("one bad line ends a strict run", "[match][lines]")
{
	Compiled compiled(Files{ { "a.ndb", "A:0:*:41\nB:0:*:4142\n" } }, true);
	CHECK(compiled.statuses == std::vector<int>{ 0 });
	Compiled wrong(Files{ { "a.ndb", "A:0:*:4x42\nB:0:*:4142\n" } }, true);
	CHECK(wrong.statuses == std::vector<int>{ -EBADMSG });
}

TEST_CASE("a file without a known format is refused", "[match][lines]")
{
	Compiled compiled(Files{ { "a.cbc", "x\n" } });
	CHECK(compiled.statuses == std::vector<int>{ -EINVAL });
	CHECK(compile_add_file(compiled.compile, "/nowhere/a.ndb") == -ENOENT);
}

static std::string read_all(const std::string &path)
{
	std::string all;
	FILE *file = fopen(path.c_str(), "re");
	REQUIRE(file != nullptr);
	for (int c = fgetc(file); c != EOF; c = fgetc(file))
		all.push_back(static_cast<char>(c));
	fclose(file);
	return all;
}

static int open_status(Directory &directory, const std::string &bytes, std::string *ret_error)
{
	char error[MATCH_ERROR_SIZE] = "";
	struct match_db *db = nullptr;
	const int status = match_open(directory.write("x.db", bytes).c_str(), &db, error);
	*ret_error = error;
	match_close(db);
	return status;
}

TEST_CASE("a database that is damaged is refused", "[match][lines]")
{
	Compiled compiled(Files{ { "a.ndb", "A:0:*:4142\n" } });
	Directory directory;
	std::string error;
	const std::string whole = read_all(compiled.write());
	CHECK(open_status(directory, whole, &error) == 0);
	CHECK(open_status(directory, "", &error) == -EBADMSG);
	CHECK_THAT(error, Catch::Contains("x.db: is no database"));
	CHECK(open_status(directory, whole.substr(0, whole.size() - 1), &error) == -EBADMSG);
	CHECK_THAT(error, Catch::Contains("is damaged"));
	for (size_t size : { 0, 8, 15, 100, 512, 600 })
		CHECK(open_status(directory, whole.substr(0, size), &error) == -EBADMSG);
	std::string flipped = whole;
	flipped[whole.size() - 100] = static_cast<char>(flipped[whole.size() - 100] ^ 1);
	CHECK(open_status(directory, flipped, &error) == -EBADMSG);
	std::string older = whole;
	older[8] = 77;
	CHECK(open_status(directory, older, &error) == -ESTALE);
	CHECK_THAT(error, Catch::Contains("compiled again"));
}

TEST_CASE("what is no file is no database", "[match][lines]")
{
	Directory directory;
	const std::string path = directory.at("pipe");
	char error[MATCH_ERROR_SIZE] = "";
	struct match_db *db = nullptr;
	REQUIRE(mkfifo(path.c_str(), 0600) == 0);
	for (const std::string &name : { path, std::string("/"), std::string("/dev/zero") }) {
		CHECK(match_open(name.c_str(), &db, error) == -EBADMSG);
		CHECK(error == name + ": is no database of signatures");
	}
}

TEST_CASE("a database that is written over goes on as it was", "[match][lines]")
{
	Database database(Files{ { "a.ndb", "A:0:*:4142\n" } });
	Directory &directory = database.compiled.directory;
	const std::string whole = read_all(directory.at("signatures.db"));
	directory.write("signatures.db", std::string(whole.size(), '\0'));
	CHECK(match_is_stale(database.db, directory.at("signatures.db").c_str()));
	CHECK(database.find("AB") == Found{ "A@2" });
	directory.write("signatures.db", "");
	CHECK(database.find("AB") == Found{ "A@2" });
}

TEST_CASE("a new database takes the place of the old", "[match][lines]")
{
	Database database(Files{ { "a.ndb", "A:0:*:4142\n" } });
	const std::string path = database.compiled.directory.at("signatures.db");
	CHECK_FALSE(match_is_stale(database.db, path.c_str()));
	CHECK(compile_write(database.compiled.compile, path.c_str()) == 0);
	CHECK(match_is_stale(database.db, path.c_str()));
	// Such as one that was refused: it is not looked at again.
	match_not_taken(database.db, -EBADMSG);
	CHECK_FALSE(match_is_stale(database.db, path.c_str()));
	// But for one that the process had no memory or descriptor for.
	match_not_taken(database.db, -EMFILE);
	CHECK(match_is_stale(database.db, path.c_str()));
	CHECK_FALSE(match_is_stale(database.db, path.c_str()));
	CHECK(database.find("AB") == Found{ "A@2" });
	CHECK(compile_write(database.compiled.compile, "/nowhere/x.db") == -ENOENT);
}
