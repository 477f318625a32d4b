// SPDX-License-Identifier: GPL-3.0-or-later
// Mails and files with what is in them, against a database of the test's own.
#include "lib/inspect/inspect.h"

#include "lib/match/compile.h"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/inspect/inspecting.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace
{

// What the database has: in any object, and by the MD5 of "by hash\n".
const std::string MARK = "<<the mark of this test>>";
const std::string HASHED = "by hash\n";

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

// One for all tests.
class database
{
      public:
	struct match_db *db = nullptr;
	struct match_worker *worker = nullptr;

	database()
	{
		const std::string ndb = directory.file("own.ndb");
		const std::string hdb = directory.file("own.hdb");
		const std::string path = directory.file("own.signatures");
		std::ofstream(ndb) << "Test.Mark:0:*:" << hex(MARK) << "\n";
		std::ofstream(hdb) << "603ed520097d1ce1e11e7075245a2e98:8:Test.Hash\n";
		struct compile *compile = nullptr;
		char error[MATCH_ERROR_SIZE];
		REQUIRE(compile_new(
				true, [](void *, const char *) {}, nullptr, &compile) == 0);
		REQUIRE(compile_add_file(compile, ndb.c_str()) == 0);
		REQUIRE(compile_add_file(compile, hdb.c_str()) == 0);
		REQUIRE(compile_write(compile, path.c_str()) == 0);
		compile_free(compile);
		REQUIRE(match_open(path.c_str(), &db, error) == 0);
		REQUIRE(match_worker_new(db, &worker) == 0);
	}

	~database()
	{
		match_worker_free(worker);
		match_close(db);
	}

      private:
	tmpdir directory;
};

database &signatures()
{
	static database one;
	return one;
}

using pool_pointer = std::unique_ptr<struct inspect_pool, decltype(&inspect_pool_free)>;

pool_pointer make_pool(const inspect_sizes &sizes)
{
	struct inspect_pool *pool = nullptr;
	REQUIRE(inspect_pool_new(signatures().worker, &sizes, &pool) == 0);
	return pool_pointer(pool, inspect_pool_free);
}

inspect_rules usual_rules()
{
	inspect_rules rules = {};
	rules.budget = UNPACK_BUDGET;
	return rules;
}

struct inspect_result look(struct inspect_pool *pool, inspect_kind kind, const std::string &bytes,
			   const inspect_rules &rules, size_t piece = SIZE_MAX / 2,
			   bool is_whole = true)
{
	struct inspection *inspection = nullptr;
	REQUIRE(inspect_begin(pool, kind, &rules, &inspection) == 0);
	const uint8_t *at = reinterpret_cast<const uint8_t *>(bytes.data());
	for (size_t done = 0; done < bytes.size(); done += piece)
		inspect_push(inspection, at + done, std::min(piece, bytes.size() - done));
	inspect_end(inspection, is_whole);
	const struct inspect_result result = *::inspect_result(inspection);
	inspect_free(inspection);
	return result;
}

struct inspect_result look(inspect_kind kind, const std::string &bytes, size_t piece = SIZE_MAX / 2)
{
	const pool_pointer pool = make_pool({ 2, 32, 9, 16 });
	return look(pool.get(), kind, bytes, usual_rules(), piece);
}

bool has(const struct inspect_result &result, const std::string &path, const std::string &name)
{
	for (unsigned i = 0; i < result.finding_count; i++)
		if (result.findings[i].path == path && result.findings[i].name == name)
			return true;
	return false;
}

} // namespace

TEST_CASE("a file is matched by itself", "[inspect]")
{
	const struct inspect_result found = look(INSPECT_FILE, "some text " + MARK);
	REQUIRE(found.counts[INSPECT_SIGNATURE] == 1);
	CHECK(has(found, "", "Test.Mark"));
	CHECK(found.findings[0].offset == 10 + MARK.size());
	CHECK(found.objects == 1);
	CHECK(has(look(INSPECT_FILE, HASHED), "", "Test.Hash"));
	CHECK(look(INSPECT_FILE, "nothing").finding_count == 0);
	CHECK(look(INSPECT_FILE, "").finding_count == 0);
}

TEST_CASE("what is in a mail has a path", "[inspect]")
{
	const std::string mail = mail_with("a.zip", zip("b.gz", gzip("x" + MARK)));
	const std::string path = "part 2 / a.zip / b.gz / gzip";
	CHECK(has(look(INSPECT_MAIL, mail), path, "Test.Mark"));
	CHECK(has(look(INSPECT_FILE, mail), path, "Test.Mark"));
	CHECK(has(look(INSPECT_FILE, zip("m.eml", mail)), "m.eml / " + path, "Test.Mark"));
	// As editors of texts write it, with the mark of UTF-8.
	const std::string coded = "Content-Transfer-Encoding: base64\n\n" + base64(MARK);
	CHECK(has(look(INSPECT_FILE, zip("m.eml", "\xef\xbb\xbf" + coded)), "m.eml / part 1",
		  "Test.Mark"));
}

TEST_CASE("what is read in two ways is looked into in both", "[inspect]")
{
	const auto mail = [](const std::string &body) {
		return "Content-Type: application/x\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
		       body;
	};
	std::string own = base64(HASHED);
	own.erase(own.find_last_not_of("\r\n=") + 1);
	// To its end, and with what is behind the padding.
	CHECK(has(look(INSPECT_MAIL, mail(own + "=\r\nAAAA\r\n")), "part 1", "Test.Hash"));
	CHECK(has(look(INSPECT_MAIL, mail("AAA=\r\n" + base64(MARK))), "part 1", "Test.Mark"));
	// In the alphabet of RFC 4648, part 5: what it is is known only in that.
	const std::string archive = zip("b", std::string("\xff\xfe\xfb\xef\xbe", 5) + MARK);
	std::string other = base64(archive);
	std::replace(other.begin(), other.end(), '+', '-');
	std::replace(other.begin(), other.end(), '/', '_');
	REQUIRE(other.find_first_of("-_") != std::string::npos);
	CHECK(has(look(INSPECT_MAIL, mail(other)), "part 1 / b", "Test.Mark"));
}

TEST_CASE("a text is no mail because its lines look like fields", "[inspect]")
{
	const std::string lines(20, '\n');
	const std::string text = lines + "Subject: a\n\nFrom: b\n\nDate: c\n\nTo: d\n\n" + MARK;
	const std::string header = "From: a@example.org\r\nSubject: x\r\n\r\n";
	const struct inspect_result found = look(INSPECT_MAIL, header + text);
	CHECK(found.counts[INSPECT_BOMB] == 0);
	CHECK(found.objects == 2);
	CHECK(has(found, "part 1", "Test.Mark"));
	// A file that is one by its lines is looked into once, also behind empty ones.
	const struct inspect_result file = look(INSPECT_FILE, zip("m.eml", text), 3);
	CHECK(file.counts[INSPECT_BOMB] == 0);
	CHECK(has(file, "m.eml / part 1", "Test.Mark"));
}

TEST_CASE("a mail or a page that begins as something else is one all the same", "[inspect]")
{
	const std::string mail = mail_with("a.gz", gzip("x" + MARK));
	const std::string in = " / part 2 / a.gz / gzip";
	for (const size_t piece : { 1, 3, 512, 65536 }) {
		for (const std::string &first :
		     { "MZ-Foo: bar\r\n" + mail,
		       "X-Foo: " + std::string(1800, 'a') + "\r\n" + mail })
			CHECK(has(look(INSPECT_MAIL, mail_with("m.eml", first), piece),
				  "part 2 / m.eml / mail" + in, "Test.Mark"));
		const std::string page = "<html><img src=\"data:application/gzip;base64," +
					 base64(gzip("x" + MARK)) + "\">";
		CHECK(has(look(INSPECT_MAIL, mail_with("p.html", "GIF8" + page), piece),
			  "part 2 / p.html / html / base64 / gzip", "Test.Mark"));
	}
	// As deep as any other text.
	std::string file = "X-Foo: " + std::string(1800, 'a') + "\r\n";
	CHECK(look(INSPECT_FILE, file).objects <= 3);
	for (unsigned i = 0; i < INSPECT_DEPTH; i++) {
		file = gzip(file);
		CHECK(look(INSPECT_FILE, file).finding_count == 0);
	}
}

TEST_CASE("a calendar that may be a mail has its files", "[inspect]")
{
	const std::string calendar =
		"BEGIN:VCALENDAR\r\nSTATUS:CONFIRMED\r\nATTACH;ENCODING=BASE64:" + base64(MARK) +
		"END:VCALENDAR\r\n";
	CHECK(has(look(INSPECT_FILE, calendar), "base64", "Test.Mark"));
	CHECK(has(look(INSPECT_FILE, "BEGIN:VCALENDAR\r\n" + mail_with("a.gz", gzip(MARK))),
		  "mail / part 2 / a.gz / gzip", "Test.Mark"));
}

TEST_CASE("nothing depends on how bytes are cut", "[inspect]")
{
	const std::string mail =
		mail_with("a.zip", zip("b.gz", gzip(MARK + std::string(5000, 'x')) + HASHED)) +
		MARK;
	const struct inspect_result whole = look(INSPECT_MAIL, mail);
	CHECK(whole.counts[INSPECT_SIGNATURE] > 0);
	for (const size_t piece : { 1, 2, 3, 5, 64, 511, 512, 513, 1000 }) {
		const struct inspect_result cut = look(INSPECT_MAIL, mail, piece);
		REQUIRE(cut.finding_count == whole.finding_count);
		CHECK(memcmp(cut.findings, whole.findings,
			     cut.finding_count * sizeof(cut.findings[0])) == 0);
		CHECK(memcmp(cut.counts, whole.counts, sizeof(cut.counts)) == 0);
		CHECK(cut.bytes == whole.bytes);
	}
}

TEST_CASE("a mail that can be read in more ways than are looked at is as one that is too much",
	  "[inspect]")
{
	std::string mail;
	for (unsigned i = 0; i < 12; i++) {
		const std::string one(1, static_cast<char>('a' + i));
		mail += "Content-Type: multipart/mixed; boundary=" + one + "; boundary=" + one +
			"x\n\n--" + one + "\n\n" + one + "\n--" + one + "x\n";
	}
	const struct inspect_result found = look(INSPECT_MAIL, mail + "\nlast\n");
	CHECK(found.counts[INSPECT_BOMB] == 1);
	CHECK(found.counts[INSPECT_SUSPICIOUS] == 0);
}

TEST_CASE("a mail that is too deep is not opened again as one", "[inspect]")
{
	// Else its readings would have readings of their own, and so on, of all of its bytes.
	const bool is_message = GENERATE(false, true);
	std::string mail;
	for (unsigned i = 0; i < 200; i++) {
		const std::string name = "a" + std::to_string(1000 + i);
		mail += is_message ? "Content-Type: message/rfc822; name=x.eml\n\n"
				   : "Content-Type: multipart/mixed; boundary=" + name +
					     "; name=x.eml\n\n--" + name + "\n";
	}
	const struct inspect_result found = look(INSPECT_MAIL, mail + MARK);
	CHECK(found.counts[INSPECT_BOMB] == 1);
	CHECK(found.counts[INSPECT_SIGNATURE] == 2); // in the mail, and in that part
	CHECK(found.objects == 2);
}

TEST_CASE("what is in too much is not opened, and that is a finding", "[inspect]")
{
	std::string file = MARK;
	SECTION("up to the depth it is")
	{
		for (unsigned i = 0; i < INSPECT_DEPTH; i++)
			file = gzip(file);
		const struct inspect_result found = look(INSPECT_FILE, file);
		CHECK(found.counts[INSPECT_SIGNATURE] == 1);
		CHECK(found.counts[INSPECT_BOMB] == 0);
	}
	SECTION("behind it it is not")
	{
		for (unsigned i = 0; i < 100; i++)
			file = gzip(file);
		const struct inspect_result found = look(INSPECT_FILE, file);
		CHECK(found.counts[INSPECT_SIGNATURE] == 0);
		REQUIRE(found.counts[INSPECT_BOMB] == 1);
		CHECK(std::string(found.findings[0].name) == "bomb: depth");
		CHECK(found.objects == INSPECT_DEPTH + 1);
	}
}

TEST_CASE("what is too much is a bomb", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 32, 2, 16 });
	inspect_rules rules = usual_rules();
	SECTION("of one object")
	{
		rules.budget.ratio_from = 100000;
		const struct inspect_result found =
			look(pool.get(), INSPECT_FILE, gzip(std::string(5000000, 'x')), rules);
		CHECK(has(found, "", "bomb: ratio"));
	}
	SECTION("of all together")
	{
		rules.budget.total_left = 3000;
		rules.budget.ratio = 1000000;
		const std::string two = zip("a", gzip(std::string(2000, 'x')));
		CHECK(look(pool.get(), INSPECT_FILE, two, rules).counts[INSPECT_BOMB] == 0);
		rules.budget.total_left = 1000;
		CHECK(look(pool.get(), INSPECT_FILE, two, rules).counts[INSPECT_BOMB] > 0);
	}
}

TEST_CASE("one mail does not take what all mails have", "[inspect]")
{
	// Files of a section of OneNote that are open until its end, and in each those behind it again.
	const std::string mark("\xe7\x16\xe3\xbd\x65\x26\x11\x45\xa4\xc4\x8d\x4d\x0b\x7a\x9e\xac");
	const std::string section =
		"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3" +
		std::string(1100, '\0');
	std::string file = section;
	for (unsigned i = 0; i < 7; i++)
		file += mark + least_first(1 << 20, 8) + std::string(12, '\0') + section;
	const pool_pointer pool = make_pool({ 2, INSPECT_OPEN + 1, 2, 200 });
	const inspect_rules rules = usual_rules();
	struct inspection *inspection = nullptr;
	REQUIRE(inspect_begin(pool.get(), INSPECT_FILE, &rules, &inspection) == 0);
	inspect_push(inspection, reinterpret_cast<const uint8_t *>(file.data()), file.size());
	CHECK(look(pool.get(), INSPECT_FILE, MARK, rules).counts[INSPECT_SIGNATURE] == 1);
	inspect_end(inspection, true);
	CHECK(inspect_result(inspection)->counts[INSPECT_BUSY] == 0);
	CHECK(inspect_result(inspection)->counts[INSPECT_BOMB] > 0);
	inspect_free(inspection);
}

TEST_CASE("an empty pool is said", "[inspect]")
{
	inspect_rules rules = usual_rules();
	struct inspection *first = nullptr;
	struct inspection *second = nullptr;
	const std::string file = gzip(gzip(MARK));
	SECTION("of inspections")
	{
		const pool_pointer pool = make_pool({ 1, 4, 1, 1 });
		REQUIRE(inspect_begin(pool.get(), INSPECT_FILE, &rules, &first) == 0);
		CHECK(inspect_begin(pool.get(), INSPECT_FILE, &rules, &second) == -EAGAIN);
		inspect_free(first);
		REQUIRE(inspect_begin(pool.get(), INSPECT_FILE, &rules, &second) == 0);
		inspect_free(second);
	}
	SECTION("of objects")
	{
		const pool_pointer pool = make_pool({ 1, 2, 1, 4 });
		CHECK(has(look(pool.get(), INSPECT_FILE, file, rules), "gzip", "busy: objects"));
		// All have come back.
		CHECK(look(pool.get(), INSPECT_FILE, gzip(MARK), rules).counts[INSPECT_BUSY] == 0);
	}
	SECTION("of decoders")
	{
		const pool_pointer pool = make_pool({ 1, 8, 1, 1 });
		CHECK(has(look(pool.get(), INSPECT_FILE, file, rules), "gzip", "busy: decoders"));
	}
	SECTION("of mails")
	{
		const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
		const std::string mail = mail_with("a.zip", zip("m.eml", mail_with("b", "c")));
		CHECK(has(look(pool.get(), INSPECT_MAIL, mail, rules), "part 2 / a.zip / m.eml",
			  "busy: mails"));
	}
}

namespace
{

// What goes to another process, by number.
struct recorder {
	std::vector<std::string> paths;
	std::vector<std::string> bytes;
	std::vector<bool> guesses;
	unsigned ended = 0;
};

void record_begin(void *context, unsigned number, const struct inspect_origin *origin)
{
	auto *to = static_cast<recorder *>(context);
	CHECK(number == to->paths.size());
	to->paths.emplace_back(origin->path);
	to->guesses.push_back(origin->is_guess);
	to->bytes.emplace_back();
}

void record_bytes(void *context, unsigned number, const uint8_t *bytes, size_t size)
{
	static_cast<recorder *>(context)->bytes[number].append(
		reinterpret_cast<const char *>(bytes), size);
}

void record_end(void *context, unsigned, bool)
{
	static_cast<recorder *>(context)->ended++;
}

inspect_rules rules_with(recorder *to)
{
	static const inspect_apart functions = { record_begin, record_bytes, record_end };
	inspect_rules rules = usual_rules();
	rules.apart = &functions;
	rules.apart_context = to;
	return rules;
}

} // namespace

TEST_CASE("archives of another process go there whole", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	recorder recorder;
	const std::string rar = "Rar!\x1a\x07\x01" + std::string(1000, '\0');
	look(pool.get(), INSPECT_FILE, zip("a.rar", rar), rules_with(&recorder), 7);
	// By its member, and as readers find it that do not know the zip.
	REQUIRE(recorder.paths.size() == 2);
	CHECK(recorder.paths[0] == "a.rar");
	CHECK(recorder.bytes[0] == rar);
	CHECK_FALSE(recorder.guesses[0]);
	CHECK(recorder.paths[1] == "rar");
	CHECK(recorder.bytes[1].substr(0, rar.size()) == rar);
	CHECK(recorder.guesses[1]);
	CHECK(recorder.ended == 2);
}

TEST_CASE("an image of a disc is seen by its mark", "[inspect]")
{
	// It is behind an area in which anything may stand.
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	for (const char type : { '\0', '\1', '\2', '\3', '\xff' }) {
		std::string disc(40000, 'x');
		disc.replace(32768, 6, std::string(1, type) + "CD001");
		for (const size_t piece : { 1, 1000, 32768, 32769, 65536 }) {
			recorder recorder;
			look(pool.get(), INSPECT_FILE, disc, rules_with(&recorder), piece);
			REQUIRE(recorder.bytes.size() == 1);
			CHECK(recorder.bytes[0] == std::string(32768, '\0') + disc.substr(32768));
		}
	}
}

TEST_CASE("an image of a disc is opened beside a mail", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	std::string disc = "From: a@example.org\r\nTo: b@example.org\r\n\r\n";
	disc.resize(40000, 'x');
	disc.replace(32768, 6, "\1CD001");
	for (const size_t piece : { 1, 1000, 65536 }) {
		recorder recorder;
		look(pool.get(), INSPECT_FILE, disc + MARK, rules_with(&recorder), piece);
		REQUIRE(recorder.bytes.size() == 1);
		CHECK(recorder.bytes[0] == std::string(32768, '\0') + disc.substr(32768) + MARK);
		CHECK(recorder.paths[0] == "iso9660");
		CHECK(has(look(INSPECT_FILE, disc + MARK, piece), "part 1", "Test.Mark"));
	}
}

namespace
{

// A program of Windows with one section, of 512 bytes at 512.
std::string program_of_windows()
{
	std::string head(0x40, '\0');
	head.replace(0, 2, "MZ");
	head[0x3c] = 0x40;
	head += std::string("PE\0\0", 4) + least_first(0x14c, 2) + least_first(1, 2) +
		std::string(12, '\0') + least_first(0xe0, 2) + least_first(0x102, 2);
	std::string optional(0xe0, '\0');
	optional.replace(0, 2, least_first(0x10b, 2));
	optional.replace(16, 4, least_first(0x1000, 4));
	optional.replace(28, 4, least_first(0x400000, 4));
	optional.replace(32, 4, least_first(0x1000, 4));
	optional.replace(36, 4, least_first(0x200, 4));
	optional.replace(56, 4, least_first(0x2000, 4));
	optional.replace(60, 4, least_first(0x200, 4));
	head += optional + std::string(".text\0\0\0", 8) + least_first(0x200, 4) +
		least_first(0x1000, 4) + least_first(0x200, 4) + least_first(0x200, 4) +
		std::string(16, '\0');
	head.resize(0x200);
	return head + std::string(0x200, '\x90');
}

} // namespace

TEST_CASE("the archive of a program that unpacks itself is looked into", "[inspect]")
{
	const std::string program = program_of_windows();
	const std::string zipped = zip("b.txt", MARK);
	for (const size_t piece : { 1, 3, 512, 1000, 65536 }) {
		CHECK(has(look(INSPECT_FILE, program + zipped, piece), "zip / b.txt", "Test.Mark"));
		CHECK(has(look(INSPECT_FILE, program + "settings " + zipped, piece), "zip / b.txt",
			  "Test.Mark"));
	}
	// What only begins like an archive is nothing.
	CHECK(look(INSPECT_FILE, program + "PK\3\4 nothing").finding_count == 0);
	CHECK(look(INSPECT_FILE, program).objects == 1);
}

TEST_CASE("an archive is looked into behind what is none", "[inspect]")
{
	// As unrar finds it.
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	const std::string rar = "Rar!\x1a\x07" + std::string(1000, '\0');
	const std::string befores[] = {
		"x",
		"A text.\r\n",
		"<html>",
		std::string("GIF89a\x01\0\x01\0\0\0\0;", 14) + std::string(600, 'g'),
		"MZ" + std::string(1000, 'p'),
		"From: a\r\nX: " + std::string(1100, 'a'),
		"%PDF-1.4\n",
		"{\\rtf1 ",
		gzip("text"),
		std::string(70000, 'x'),
		zip("a.txt", "text"),
		zip("a.txt", std::string(70000, 'x')) + "junk",
	};
	for (const std::string &before : befores) {
		for (const size_t piece : { 1, 3, 512, 65536 }) {
			recorder recorder;
			look(pool.get(), INSPECT_FILE, before + rar, rules_with(&recorder), piece);
			REQUIRE(recorder.paths.size() == 1);
			CHECK(recorder.paths[0] == "rar");
			CHECK(recorder.bytes[0] == rar);
		}
	}
	// What is another file by its head as well does not have itself in it.
	const std::string both = std::string("Rar!\x1a\7\0aWEBPVP8 ", 16);
	CHECK(look(INSPECT_FILE, "text " + both + std::string(300, 'y')).objects == 2);
}

namespace
{

std::string sum_of(const std::string &bytes, int size)
{
	return least_first(crc32(0, reinterpret_cast<const Bytef *>(bytes.data()),
				 static_cast<uInt>(bytes.size())),
			   size);
}

// As much of an archive as says that it is one, of the kind.
std::string archive_of(const std::string &kind)
{
	const std::string place(20, '\3');
	const std::string main4 =
		"\x73" + least_first(0, 2) + least_first(13, 2) + std::string(6, '\0');
	const std::string main5 = std::string("\3\1\0\0", 4);
	std::string bytes;
	if (kind == "7z")
		bytes = std::string("7z\xbc\xaf\x27\x1c\0\4", 8) + sum_of(place, 4) + place;
	else if (kind == "cab" || kind == "cab, reserved")
		bytes = "MSCF" + least_first(kind == "cab" ? 0 : 7, 4) + least_first(500, 8) +
			least_first(44, 8) + least_first(0x103, 2) + least_first(1, 2) +
			least_first(1, 2);
	else if (kind == "arj")
		bytes = "\x60\xea" + least_first(40, 2) + "\x22\x0b\1" + std::string(3, '\0') +
			"\2" + std::string(21, '\0');
	else if (kind == "rar4")
		bytes = std::string("Rar!\x1a\7\0", 7) + sum_of(main4, 2) + main4;
	else
		bytes = std::string("Rar!\x1a\7\1\0", 8) + sum_of(main5, 4) + main5;
	return bytes + kind + std::string(100, '.');
}

} // namespace

TEST_CASE("no mark hides an archive behind it", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	std::string decoys = "GIF89a";
	for (const std::string &mark :
	     { std::string("7z\xbc\xaf\x27\x1c"), std::string("MSCF\0\0\0\0", 8),
	       std::string("Rar!\x1a\7\0", 7), std::string("Rar!\x1a\7\1\0", 8),
	       std::string("\x60\xea") })
		decoys += mark + "no archive, but 32 bytes of anything";
	for (const std::string kind : { "7z", "cab", "rar4", "rar5", "arj" }) {
		for (const std::string &before :
		     { decoys, decoys + decoys,
		       decoys + archive_of(kind == "7z" ? "cab" : "7z") }) {
			const std::string archive = archive_of(kind);
			for (const size_t piece : { 1, 3, 31, 32, 33, 512, 65536 }) {
				recorder recorder;
				look(pool.get(), INSPECT_FILE, before + archive,
				     rules_with(&recorder), piece);
				INFO(kind);
				CHECK(std::count(recorder.bytes.begin(), recorder.bytes.end(),
						 archive) == 1);
			}
		}
	}
}

TEST_CASE("an archive is looked into in a program's sections and behind them", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	for (const std::string kind : { "7z", "cab", "cab, reserved", "rar4" }) {
		const std::string archive = archive_of(kind);
		std::string program = program_of_windows();
		program.replace(0x280, archive.size(), archive);
		for (const size_t piece : { 1, 3, 512, 1000, 65536 }) {
			recorder recorder;
			const std::string all = program + archive;
			look(pool.get(), INSPECT_FILE, all, rules_with(&recorder), piece);
			INFO(kind);
			REQUIRE(recorder.bytes.size() == 2);
			CHECK(recorder.bytes[0] == all.substr(0x280));
			CHECK(recorder.bytes[1] == archive);
		}
	}
}

TEST_CASE("a program is no document by what is in its sections", "[inspect]")
{
	const std::string document = "%PDF-1.4\ntrailer << /Encrypt 1 0 R >>\n";
	std::string program = program_of_windows();
	program.replace(0x148, 4, least_first(0x600, 4)); // of its section
	program.resize(0x800, '\x90');
	std::string other = "\177ELF" + std::string(2000, '\2');
	for (const size_t piece : { 1, 3, 512, 1000, 65536 }) {
		CHECK(has(look(INSPECT_FILE, program + document, piece), "pdf", "encrypted"));
		for (std::string file : { program, other }) {
			file.replace(0x580, document.size(), document);
			CHECK(look(INSPECT_FILE, file, piece).objects == 1);
			file.replace(0x300, document.size(), document);
			CHECK(has(look(INSPECT_FILE, file, piece), "pdf", "encrypted"));
		}
	}
}

TEST_CASE("a flaw of an archive that is sure by its head is told", "[inspect]")
{
	// A group that is no number.
	const std::string cpio = "070701000ea796000081a400000000000000.0" + std::string(16, '0') +
				 "00000044" + std::string(32, '0') + "0000000600000000e.com";
	CHECK(look(INSPECT_FILE, cpio + std::string(100, '\0')).finding_count == 1);
	CHECK(look(INSPECT_FILE, "070701 is a number\n").finding_count == 0);
}

// Of one member of as many bytes as MARK has, its sum made right.
static void make_tar(std::string *head)
{
	head->replace(100, 24, "0000644 0000000 0000000 ");
	head->replace(124, 12, "00000000031 ");
	head->replace(136, 21, "00000000000         0");
	head->replace(257, 8, std::string("ustar\00000", 8));
	unsigned sum = 0;
	for (size_t i = 0; i < 512; i++)
		sum += static_cast<uint8_t>((*head)[i]);
	char field[9];
	snprintf(field, sizeof(field), "%06o", sum);
	head->replace(148, 7, std::string(field, 7));
}

TEST_CASE("a tar is opened whatever mark its first name is", "[inspect]")
{
	std::string tar(512, '\0');
	tar.replace(0, 4, "PK\5\6");
	make_tar(&tar);
	CHECK(has(look(INSPECT_FILE, tar + MARK + std::string(2000, '\0')), "tar / PK??",
		  "Test.Mark"));
	// Its sum hides no page.
	std::string page = "MZ<html>" + std::string(504, '\0');
	make_tar(&page);
	const struct inspect_result result = look(
		INSPECT_FILE, page + MARK + "<img src=\"data:application/gzip;base64," +
				      base64(gzip("x" + MARK)) + "\">" + std::string(2000, 'n'));
	CHECK(has(result, "html / base64 / gzip", "Test.Mark"));
	CHECK(has(result, "tar / MZ<html>", "Test.Mark"));
}

TEST_CASE("what a zip and a tar both have is counted once", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 16, 2, 4 });
	const std::string bytes = MARK + std::string(2000, '\0');
	std::string head = zip(std::string(482, 'n'), bytes).substr(0, 512);
	make_tar(&head);
	inspect_rules rules = usual_rules();
	rules.budget.members_left = 1;
	const struct inspect_result result =
		look(pool.get(), INSPECT_FILE, zip(head.substr(30), bytes), rules);
	CHECK(result.objects == 4);
	CHECK(result.counts[INSPECT_BOMB] == 0);
}

TEST_CASE("a document is looked for where its readers do it", "[inspect]")
{
	const std::string document = "%PDF-1.4\n";
	CHECK(look(INSPECT_FILE, document + document).objects == 1);
	CHECK(look(INSPECT_FILE, zip("a.txt", "text") + document + std::string(32, ' ')).objects ==
	      3);
	CHECK(look(INSPECT_FILE, zip(std::string(1024, 'n'), document + std::string(32, ' ')))
		      .objects == 2);
}

TEST_CASE("an archive that was only guessed tells no flaw", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	const inspect_rules rules = usual_rules();
	const std::string rar = "Rar!\x1a\x07" + std::string(1000, '\0');
	const auto look_apart = [&](const inspect_origin &origin, const std::string &bytes) {
		struct inspection *inspection = nullptr;
		REQUIRE(inspect_begin_apart(pool.get(), &origin, &rules, &inspection) == 0);
		inspect_push(inspection, reinterpret_cast<const uint8_t *>(bytes.data()),
			     bytes.size());
		inspect_end(inspection, true);
		const struct inspect_result result = *::inspect_result(inspection);
		inspect_free(inspection);
		return result;
	};
	CHECK(look_apart({ CONTENT_RAR, 1, false, false, "" }, rar).finding_count == 1);
	CHECK(look_apart({ CONTENT_RAR, 1, true, false, "" }, rar).finding_count == 0);
	CHECK(look_apart({ CONTENT_RAR, 1, true, true, "" }, rar).finding_count == 0);
	// In an archive within one that was, none is guessed: each that is stored would double the rest.
	const std::string stored = zip("b.zip", zip("a.rar", rar));
	const unsigned twice = look_apart({ CONTENT_ZIP, 1, false, false, "" }, stored).objects;
	CHECK(look_apart({ CONTENT_ZIP, 1, false, true, "" }, stored).objects < twice);
	// A zip for no reader, as no list is near its end; and one that has a list.
	std::string lying = "text " + zip("b.txt", "text");
	lying[lying.rfind("b.txt")] = 'c';
	CHECK(has(look(INSPECT_FILE, lying), "zip", "bomb: lying"));
	CHECK(look(INSPECT_FILE, lying + std::string(70000, 'x')).finding_count == 0);
	// Of what the members say none can be opened, of what the list says each.
	for (const auto &[at, value] : { std::make_pair(6, 1), std::make_pair(8, 99) }) {
		std::string closed = zip("b.txt", "text");
		closed[static_cast<size_t>(at)] = static_cast<char>(value);
		CHECK(has(look(INSPECT_FILE, "GIF89a" + closed), "zip", "bomb: lying"));
		closed[closed.rfind("PK\5\6") + 10] = 2;
		CHECK(look(INSPECT_FILE, "GIF89a" + closed).finding_count == 0);
	}
}

TEST_CASE("a zip that lies is told behind a compressed file that does not store it", "[inspect]")
{
	std::string lying = zip("b.txt", "text");
	lying[lying.rfind("b.txt")] = 'c';
	for (const size_t piece : { 1, 7, 65536 }) {
		// The mark alone, a file that ends before, and one that is cut.
		for (const std::string &before :
		     { std::string("\x1f\x8b\x08"), gzip("text"), gzip("text").substr(0, 20),
		       std::string("x\x9c") })
			CHECK(has(look(INSPECT_FILE, before + lying, piece), "zip", "bomb: lying"));
		// What stores nothing.
		CHECK(has(look(INSPECT_FILE, "BZh91AY&SY" + lying, piece), "zip", "bomb: lying"));
		CHECK(look(INSPECT_FILE, gzip("text") + zip("b.txt", "text"), piece)
			      .finding_count == 1);
		// One that is stored comes out of it, and is in pieces in it.
		std::string noise;
		for (uint32_t i = 1; noise.size() < 200000; i = i * 1664525 + 1013904223)
			noise += static_cast<char>(i >> 24);
		const std::string stored = gzip(zip("a.bin", noise));
		REQUIRE(stored.find("PK\5\6") != std::string::npos);
		CHECK(look(INSPECT_FILE, stored, piece).finding_count == 0);
	}
}

TEST_CASE("a zip that needs a password is told wherever it stands", "[inspect]")
{
	std::string zipped = zip("b.txt", "text");
	for (const char *mark : { "PK\3\4", "PK\1\2" })
		zipped[zipped.find(mark) + (mark[2] == 3 ? 6 : 8)] = 1;
	for (const size_t piece : { 1, 7, 65536 }) {
		CHECK(has(look(INSPECT_FILE, zipped, piece), "b.txt", "encrypted"));
		CHECK(has(look(INSPECT_FILE, "GIF89a" + zipped, piece), "zip", "encrypted"));
		// Without its end it may be some bytes of a program.
		CHECK(look(INSPECT_FILE, "GIF89a" + zipped.substr(0, zipped.size() - 22), piece)
			      .finding_count == 0);
	}
}

TEST_CASE("a message of PGP that is encrypted is told", "[inspect]")
{
	const std::string message = "-----BEGIN PGP MESSAGE-----\n\njA0ECQMC14bNdxorj43/0n4B\n";
	for (const size_t piece : { 1, 7, 65536 }) {
		CHECK(has(look(INSPECT_FILE, message, piece), "", "encrypted"));
		CHECK(has(look(INSPECT_MAIL, mail_with("a.asc", message), piece), "part 2 / a.asc",
			  "encrypted"));
		CHECK(has(look(INSPECT_FILE, zip("a.pgp", "\x8c\x0d\x04\x09\x03\x02\xd7"), piece),
			  "a.pgp", "encrypted"));
	}
	CHECK(look(INSPECT_FILE, "> " + message).finding_count == 0);
}

TEST_CASE("a document is looked into behind a picture", "[inspect]")
{
	const std::string pdf = "%PDF-1.4\n1 0 obj\n<< >>\nstream\n" + MARK + "\nendstream ";
	CHECK(has(look(INSPECT_FILE, "GIF89a" + std::string(200, 'g') + pdf), "pdf / stream 1",
		  "Test.Mark"));
	CHECK(look(INSPECT_FILE, "GIF89a %PDF" + std::string(200, 'g')).objects == 1);
	// Readers do not mind the version.
	CHECK(has(look(INSPECT_FILE, "GIF89a%PDF-A" + pdf.substr(8)), "pdf / stream 1",
		  "Test.Mark"));
	// A compound file has its own parts in pieces; a document is looked for in the first KiB.
	const std::string compound = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
	for (const size_t piece : { 1, 7, 65536 }) {
		CHECK(has(look(INSPECT_FILE, compound + std::string(600, '\0') + pdf, piece),
			  "pdf / stream 1", "Test.Mark"));
		CHECK_FALSE(has(look(INSPECT_FILE, compound + std::string(1016, '\0') + pdf, piece),
				"pdf / stream 1", "Test.Mark"));
	}
}

TEST_CASE("a zip is looked into wherever it stands", "[inspect]")
{
	// As readers find it by its end.
	const std::string zipped = zip("b.txt", MARK);
	const std::string befores[] = {
		"x",
		"A text.\r\n",
		"PKPK",
		std::string("GIF89a\x01\0\x01\0\0\0\0;", 14) + std::string(600, 'g'),
		"From: a\r\nX: " + std::string(1100, 'a'),
		std::string("\xca\xfe\xba\xbe\0\0\0\x34", 8),
		"%PDF-1.4\n",
		"7z\xbc\xaf\x27\x1c" + std::string(100, '\0'),
		gzip("text"),
		"070707" + std::string(100, '0'),
		std::string(70000, 'x'),
	};
	for (const std::string &before : befores) {
		for (const size_t piece : { 1, 3, 512, 65536 })
			CHECK(has(look(INSPECT_FILE, before + zipped, piece), "zip / b.txt",
				  "Test.Mark"));
		CHECK(has(look(INSPECT_MAIL, mail_with("a.gif", before + zipped)),
			  "part 2 / a.gif / zip / b.txt", "Test.Mark"));
	}
	// Behind what only looks like one.
	CHECK(has(look(INSPECT_FILE, "xPK\3\4" + std::string(300, 'y') + zipped), "zip / b.txt",
		  "Test.Mark"));
	CHECK(look(INSPECT_FILE, "xPK\3\4" + std::string(300, 'y')).finding_count == 0);
}

TEST_CASE("a zip by its mark is one whatever else its head has", "[inspect]")
{
	// Else it would have a zip at its beginning again, until no slot is left.
	const std::string both = std::string("PK\3\4") + "abcdWEBPVP8 ";
	for (const std::string &bytes : { both, "text " + both + std::string(300, 'y') }) {
		const struct inspect_result result = look(INSPECT_FILE, bytes);
		CHECK(result.finding_count == 0);
		CHECK(result.objects == 2);
	}
}

TEST_CASE("a zip that is stored in an archive is not counted twice", "[inspect]")
{
	// gzip stores what it cannot make smaller.
	const pool_pointer pool = make_pool({ 1, 16, 1, 8 });
	std::string bytes;
	uint32_t state = 1;
	while (bytes.size() < 3000)
		bytes += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
	const std::string zipped = zip("a", bytes);
	const std::string stored = gzip(zipped);
	REQUIRE(stored.find(zipped.substr(0, 2000)) != std::string::npos);
	inspect_rules rules = usual_rules();
	rules.budget.members_left = 2;
	const struct inspect_result result = look(pool.get(), INSPECT_FILE, stored, rules);
	CHECK(result.counts[INSPECT_BOMB] == 0);
	rules.budget.members_left = 1;
	CHECK(look(pool.get(), INSPECT_FILE, stored, rules).counts[INSPECT_BOMB] > 0);
}

TEST_CASE("an image of a disc is opened beside an archive", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	const std::string text(100, 't');
	std::string disc = zip("a.txt", text) + gzip(text);
	disc.resize(40000, 'x');
	disc.replace(32768, 6,
		     "\x01"
		     "CD001");
	for (const size_t piece : { 1, 1000, 32768, 32769, 65536 }) {
		recorder recorder;
		look(pool.get(), INSPECT_FILE, disc, rules_with(&recorder), piece);
		REQUIRE(recorder.bytes.size() == 1);
		CHECK(recorder.paths[0] == "iso9660");
		CHECK(recorder.bytes[0] == std::string(32768, '\0') + disc.substr(32768));
	}
}

TEST_CASE("what was found elsewhere is added", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	const inspect_rules rules = usual_rules();
	struct inspection *inspection = nullptr;
	REQUIRE(inspect_begin(pool.get(), INSPECT_FILE, &rules, &inspection) == 0);
	struct inspect_finding finding = {};
	for (unsigned i = 0; i < 2 * INSPECT_FINDINGS; i++) {
		finding.class_ = i % 2 == 0 ? INSPECT_AMBIGUOUS : INSPECT_SIGNATURE;
		snprintf(finding.name, sizeof(finding.name), "finding %u", i);
		inspect_add(inspection, &finding);
	}
	inspect_end(inspection, true);
	const struct inspect_result *result = inspect_result(inspection);
	CHECK(result->counts[INSPECT_SIGNATURE] == INSPECT_FINDINGS);
	CHECK(result->counts[INSPECT_AMBIGUOUS] == INSPECT_FINDINGS);
	REQUIRE(result->finding_count == INSPECT_FINDINGS);
	CHECK(result->findings[INSPECT_FINDINGS - 1].class_ == INSPECT_SIGNATURE);
	inspect_free(inspection);
}

TEST_CASE("what was cut is not decided", "[inspect]")
{
	const pool_pointer pool = make_pool({ 1, 8, 1, 4 });
	CHECK(look(pool.get(), INSPECT_FILE, HASHED, usual_rules(), 100, false).finding_count == 0);
	const std::string zipped = zip("a", "bcd");
	CHECK(look(pool.get(), INSPECT_FILE, zipped.substr(0, 40), usual_rules(), 100, false)
		      .finding_count == 0);
	CHECK(look(pool.get(), INSPECT_FILE, zipped.substr(0, 40), usual_rules())
		      .counts[INSPECT_SUSPICIOUS] == 1);
}
