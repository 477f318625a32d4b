/* SPDX-License-Identifier: GPL-3.0-or-later */
// What is found in bytes that flow by, by the constructs of the formats.

#include "tests/unit/match/database.hh"

#include <openssl/evp.h>

using namespace std::string_literals;

static Found found_by(const std::string &hex, const std::string &bytes,
		      const std::string &offset = "*")
{
	Database database(Files{ { "a.ndb", "A:0:" + offset + ":" + hex + "\n" } });
	return database.find(bytes);
}

TEST_CASE("bytes are found wherever they stand", "[match][streams]")
{
	CHECK(found_by("414243", "xxABCxx") == Found{ "A@5" });
	CHECK(found_by("414243", "ABC") == Found{ "A@3" });
	CHECK(found_by("414243", "xxABxC") == Found{});
	CHECK(found_by("00ff0d0a", "\x00\xff\r\n"s) == Found{ "A@4" });
	// Once, however often it is there.
	CHECK(found_by("414243", "ABCABC") == Found{ "A@3" });
}

TEST_CASE("wildcards stand for bytes and halves of bytes", "[match][streams]")
{
	CHECK(found_by("4142??43", "AB\nC") == Found{ "A@4" });
	CHECK(found_by("4142??43", "ABC") == Found{});
	CHECK(found_by("4142?3", "AB\x33") == Found{ "A@3" });
	CHECK(found_by("41424?", "ABO") == Found{ "A@3" });
	CHECK(found_by("41424?", "ABP") == Found{});
}

TEST_CASE("parts stand in a distance", "[match][streams]")
{
	CHECK(found_by("4142*4344", "AB" + std::string(5000, '.') + "CD") == Found{ "A@5004" });
	CHECK(found_by("4142*4344", "CD AB") == Found{});
	CHECK(found_by("4142*4344", "ABCD") == Found{ "A@4" });
	CHECK(found_by("4142{3}4344", "AB...CD") == Found{ "A@7" });
	CHECK(found_by("4142{3}4344", "AB..CD") == Found{});
	CHECK(found_by("4142{2-4}4344", "AB..CD") == Found{ "A@6" });
	CHECK(found_by("4142{2-4}4344", "AB.....CD") == Found{});
	CHECK(found_by("4142{-4}4344", "ABCD") == Found{ "A@4" });
	CHECK(found_by("4142{4-}4344", "AB...CD") == Found{});
	CHECK(found_by("4142{4-}4344", "AB...........CD") == Found{ "A@15" });
	CHECK(found_by("4142{100}4344", "AB" + std::string(100, '.') + "CD") == Found{ "A@104" });
	CHECK(found_by("4142{100}4344", "AB" + std::string(99, '.') + "CD") == Found{});
	CHECK(found_by("4142{90-100}4344", "AB AB" + std::string(95, '.') + "CD") ==
	      Found{ "A@102" });
	CHECK(found_by("4142{90-100}4344*4546", "AB" + std::string(95, '.') + "CD EF") ==
	      Found{ "A@102" });
	CHECK(found_by("4142*4344{40-50}4546", "AB CD" + std::string(45, '.') + "EF") ==
	      Found{ "A@52" });
	CHECK(found_by("4142*4344{40-50}4546", "CD" + std::string(45, '.') + "EF AB") == Found{});
	// As ClamAV reads them, a most of 0 is none.
	for (const char *range : { "{0}", "{-0}", "{0-0}" }) {
		CHECK(found_by("4142"s + range + "4344", "AB...CD") == Found{ "A@7" });
		CHECK(found_by("4142"s + range + "4344", "ABCD") == Found{ "A@4" });
		CHECK(found_by("4142"s + range + "4344", "CD AB") == Found{});
	}
}

TEST_CASE("alternatives are one of several", "[match][streams]")
{
	CHECK(found_by("4142(43|44)45", "ABDE") == Found{ "A@4" });
	CHECK(found_by("4142(43|44)45", "ABEE") == Found{});
	CHECK(found_by("4142(4343|444444)45", "ABDDDE") == Found{ "A@6" });
	CHECK(found_by("4142!(43|44)45", "ABEE") == Found{ "A@4" });
	CHECK(found_by("4142!(43|44)45", "ABCE") == Found{});
	CHECK(found_by("4142!(4343|4344)45", "ABCEE") == Found{ "A@5" });
	CHECK(found_by("4142!(4343|4344)45", "ABDCE") == Found{ "A@5" });
	CHECK(found_by("4142!(4343|4344)45", "ABCDE") == Found{});
	CHECK(found_by("4142!(00000000)45", "AB\0\0\0\0E"s) == Found{});
	CHECK(found_by("4142!(00000000)45", "AB\0\0\0\1E"s) == Found{ "A@7" });
	CHECK(found_by("4142(43|)45", "ABE") == Found{ "A@3" });
	// Each knows its beginning.
	CHECK(found_by("(61|6262)4142", "xbbAB", "1") == Found{ "A@5" });
	CHECK(found_by("(61|6262)4142", "xaAB", "1") == Found{ "A@4" });
	CHECK(found_by("(61|6262)4142", "xbbAB", "2") == Found{});
}

TEST_CASE("boundaries are looked at on both sides", "[match][streams]")
{
	CHECK(found_by("(B)4142(B)", " AB ") == Found{ "A@4" });
	CHECK(found_by("(B)4142(B)", "AB") == Found{ "A@2" });
	CHECK(found_by("(B)4142(B)", "xAB ") == Found{});
	CHECK(found_by("(B)4142(B)", " ABx") == Found{});
	CHECK(found_by("(L)4142(L)", "x\nAB\r\nx") == Found{ "A@6" });
	CHECK(found_by("(L)4142(L)", "x\nAB\rx") == Found{});
	CHECK(found_by("(W)4142(W)", "_AB_") == Found{ "A@4" });
	CHECK(found_by("!(W)4142", "xAB") == Found{ "A@3" });
	CHECK(found_by("!(W)4142", "AB") == Found{});
	// With a ! before it, it is a byte, from which distances are counted, and of either side.
	CHECK(found_by("!(B)4142", "\nAB") == Found{});
	CHECK(found_by("4142{2-4}!(W)4344", "AB.xCD") == Found{});
	CHECK(found_by("4142{2-4}!(W)4344", "AB..xCD") == Found{ "A@7" });
	CHECK(found_by("4142{2-4}(W)4344", "AB..CD") == Found{ "A@6" });
}

TEST_CASE("one byte stands near the others", "[match][streams]")
{
	CHECK(found_by("58[1-3]4142", "X..AB") == Found{ "A@5" });
	CHECK(found_by("58[1-3]4142", "XAB") == Found{});
	CHECK(found_by("4142[1-3]58", "AB..X") == Found{ "A@5" });
	CHECK(found_by("4142[1-3]58", "AB....X") == Found{});
	CHECK(found_by("58[0-0]4142", "XAB") == Found{ "A@3" });
	CHECK(found_by("58[0-0]4142", "X.AB") == Found{});
	CHECK(found_by("4142{1-3}58[1-3]4344", "AB.X.CD") == Found{ "A@7" });
	CHECK(found_by("4142{1-3}58[1-3]4344", "ABX...CD") == Found{});
	// A place is that of the others.
	CHECK(found_by("58[1-3]4142", "X..AB", "3") == Found{ "A@5" });
	// There is no room for the one before it.
	CHECK(found_by("58[1-3]4142", "XXAB", "0") == Found{});
}

TEST_CASE("places are counted from the beginning and the end", "[match][streams]")
{
	CHECK(found_by("4142", "xxAB", "2") == Found{ "A@4" });
	CHECK(found_by("4142", "xxAB", "1") == Found{});
	CHECK(found_by("4142", "xxAB", "0,2") == Found{ "A@4" });
	CHECK(found_by("4142", "xxxAB", "0,2") == Found{});
	CHECK(found_by("4142", "xxABxx", "EOF-4") == Found{ "A@6" });
	CHECK(found_by("4142", "xxABxx", "EOF-3") == Found{});
	CHECK(found_by("4142", "ABABABABABABABABABABABxx", "EOF-4") == Found{ "A@24" });
	CHECK(found_by("4142", "xxABxx", "EOF-6,2") == Found{ "A@6" });
	CHECK(found_by("4142", "AB", "EOF-4") == Found{});
	CHECK(found_by("4142*4344", "xABxCD", "1") == Found{ "A@6" });
	CHECK(found_by("4142*4344", "xxABxCD", "1") == Found{});
}

TEST_CASE("hashes are those of the whole", "[match][streams]")
{
	const std::string md5 = "900150983cd24fb0d6963f7d28e17f72"; // abc
	const std::string sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d";
	const std::string sha256 =
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	Database database(Files{ { "a.hdb", md5 + ":3:M\n" + md5 + ":4:X\n" + md5 + ":*:Any:73\n" },
				 { "a.hsb", sha1 + ":3:S\n" + sha256 + ":*:L:73\n" } });
	CHECK(match_count(database.db) == 5);
	CHECK(database.find("abc") == Found{ "Any@3", "L@3", "M@3", "S@3" });
	CHECK(database.find("abcd") == Found{});
	CHECK(database.find("") == Found{});
}

TEST_CASE("bytes may go on in two ways", "[match][streams]")
{
	const std::string md5 = "900150983cd24fb0d6963f7d28e17f72"; // abc
	Database database(
		Files{ { "a.hdb", md5 + ":3:Whole\n" },
		       { "a.ndb", "Far:0:*:6162*7879\nNear:0:*:6264\nEnd:0:EOF-3:6162\n" } });
	struct match_object *other = nullptr;
	REQUIRE(match_object_new(database.worker, &other) == 0);
	const auto push = [](struct match_object *object, const std::string &text) {
		match_push(object, reinterpret_cast<const uint8_t *>(text.data()), text.size());
	};
	Found found;
	Found other_found;
	const auto take = [](void *context, const struct match_finding *finding) {
		static_cast<Found *>(context)->push_back(finding->name);
	};
	match_begin(other, take, &other_found);
	push(other, "what was before");
	match_begin(database.object, take, &found);
	push(database.object, "ab");
	match_copy(other, database.object, take, &other_found);
	push(database.object, "d xy");
	push(other, "c");
	match_set_kind(database.object, CONTENT_TEXT, CONTENT_OTHER);
	match_set_kind(other, CONTENT_TEXT, CONTENT_OTHER);
	match_end(database.object);
	match_end(other);
	match_object_free(other);
	std::sort(found.begin(), found.end());
	std::sort(other_found.begin(), other_found.end());
	CHECK(found == Found{ "Far", "Near" });
	CHECK(other_found == Found{ "End", "Whole" });
}

TEST_CASE("nothing is found in what is harmless", "[match][streams]")
{
	Database database(Files{ { "a.ndb", "A:0:*:6162\n" },
				 { "a.fp", "900150983cd24fb0d6963f7d28e17f72:3:fine\n" } });
	CHECK(database.find("abc") == Found{});
	CHECK(database.find("abcd") == Found{ "A@2" });
}

TEST_CASE("what is ignored is not there", "[match][streams]")
{
	Database database(Files{ { "a.ndb", "A:0:*:6162\nB:0:*:6162\n" }, { "a.ign2", "A\n" } });
	CHECK(match_count(database.db) == 1);
	CHECK(database.find("abc") == Found{ "B@2" });
}

// A program for Windows with a section at 512, in which its entry point is.
static std::string program()
{
	std::string bytes(1024, '\0');
	auto put = [&](size_t at, uint32_t value, size_t size) {
		for (size_t i = 0; i < size; i++)
			bytes[at + i] = static_cast<char>(value >> (8 * i));
	};
	bytes.replace(0, 2, "MZ");
	put(60, 64, 4);
	bytes.replace(64, 4, "PE\0\0"s);
	put(64 + 4, 0x14c, 2);
	put(64 + 6, 1, 2);    // sections
	put(64 + 20, 224, 2); // optional header
	put(88, 0x10b, 2);
	put(88 + 16, 0x1010, 4); // entry point
	put(88 + 32, 0x1000, 4); // alignments
	put(88 + 36, 512, 4);
	put(88 + 60, 512, 4); // headers
	put(88 + 92, 16, 4);
	const size_t section = 88 + 224;
	bytes.replace(section, 5, ".text");
	put(section + 8, 512, 4);
	put(section + 12, 0x1000, 4);
	put(section + 16, 512, 4);
	put(section + 20, 512, 4);
	bytes.replace(512 + 0x10, 4, "EPAB");
	bytes.replace(700, 4, "CDEF");
	return bytes;
}

TEST_CASE("places of programs are counted from entry point and sections", "[match][streams]")
{
	const std::string name = "a.ndb";
	Database database(Files{ { name, "E0:1:EP+0:45504142\nE2:1:EP+2:4142\nE1:1:EP+1:4142\n"
					 "M:1:EP-16,20:4142\nS0:1:S0+16:4550\nS1:1:S1+16:4550\n"
					 "L:1:SL+188:43444546\nW:1:SE0:4344\nH:1:0:4d5a\n"
					 "X:1:EP+0:455041{10-300}43444546\n" } });
	CHECK(match_count(database.db) == 10);
	CHECK(database.find(program(), CONTENT_PE) ==
	      Found{ "E0@532", "E2@532", "H@2", "L@704", "M@532", "S0@530", "W@702", "X@704" });
	CHECK(database.find(program(), CONTENT_ELF) == Found{});
}

TEST_CASE("a program may begin before the end of its headers", "[match][streams]")
{
	Database database(Files{ { "a.ndb", "E:1:EP+0:45504142\nM:1:EP-4:51515151*43444546\n"
					    "S:1:S0+16:45504142\nN:1:EP+0:50414243\n" } });
	std::string bytes = program();
	bytes[88 + 16] = 32; // the entry point is in the header of DOS
	bytes[88 + 17] = 0;
	bytes[88 + 224 + 20] = 16; // a place that is rounded down to 0
	bytes[88 + 224 + 21] = 0;
	bytes.replace(28, 8, "QQQQEPAB");
	bytes.replace(16, 4, "EPAB");
	CHECK(database.find(bytes, CONTENT_PE) == Found{ "E@36", "M@704", "S@20" });
	// Of these nothing but headers is there, or less.
	CHECK(database.find(bytes.substr(0, 40), CONTENT_PE) == Found{});
	CHECK(database.find(bytes.substr(0, 352), CONTENT_PE) == Found{ "E@36", "S@20" });
}

static std::string md5_of(const std::string &bytes);

TEST_CASE("sections of programs have hashes", "[match][streams]")
{
	const std::string section = program().substr(512);
	Database database(
		Files{ { "a.mdb", "512:" + md5_of(section) + ":A\n511:" + md5_of(section) +
					  ":B\n*:" + md5_of(section) + ":C:73\n" } });
	CHECK(database.find(program(), CONTENT_PE) == Found{ "A@1024", "C@1024" });
	CHECK(database.find(program().substr(0, 1023), CONTENT_PE) == Found{});
}

// The same with sections at these places, each of 512 bytes, behind the one that it has.
static std::string program_with(const std::vector<uint32_t> &places)
{
	std::string bytes = program() + std::string(1024, 'q');
	bytes.replace(1100, 6, "marked");
	bytes[64 + 6] = static_cast<char>(1 + places.size());
	for (size_t i = 0; i < places.size(); i++) {
		const size_t header = 88 + 224 + 40 * (i + 1);
		bytes.replace(header, 40, bytes.substr(88 + 224, 40));
		bytes[header + 13] = static_cast<char>(0x20 + 0x10 * i);
		bytes[header + 21] = static_cast<char>(places[i] >> 8);
	}
	return bytes;
}

static std::string line_of(const std::string &bytes, const std::string &name)
{
	return std::to_string(bytes.size()) + ":" + md5_of(bytes) + ":" + name + "\n";
}

TEST_CASE("sections that overlap or go on behind the end have hashes", "[match][streams]")
{
	std::string bytes = program_with({ 1536, 1024, 512, 768 });
	bytes[88 + 36] = 1; // FileAlignment
	bytes[88 + 37] = 0;
	bytes[88 + 224 + 17] = 6;  // the first one's size: half of what is behind it, too
	bytes[88 + 224 + 57] = 32; // the second one goes on behind the end
	Database database(Files{ { "a.mdb", line_of(bytes.substr(512, 1536), "A") +
						    line_of(bytes.substr(1536), "B") +
						    line_of(bytes.substr(1024, 512), "C") +
						    line_of(bytes.substr(512, 512), "D") } });
	CHECK(database.find(bytes, CONTENT_PE) == Found{ "A@2048", "B@2048", "C@1536", "D@1024" });
}

TEST_CASE("sections that begin within the headers have hashes", "[match][streams]")
{
	std::string bytes = program_with({ 0, 1024 });
	bytes[88 + 224 + 21] = 0; // the first one, too
	bytes[88 + 224 + 17] = 4;
	Database database(Files{ { "a.mdb", line_of(bytes.substr(0, 512), "A") +
						    line_of(bytes.substr(0, 1024), "B") +
						    line_of(bytes.substr(1024, 512), "C") } });
	CHECK(database.find(bytes, CONTENT_PE) == Found{ "A@512", "B@1024", "C@1536" });
}

static Found found_by_logic(const std::string &line, const std::string &bytes,
			    enum content_kind kind = CONTENT_OTHER,
			    enum content_kind container = CONTENT_OTHER)
{
	Database database(Files{ { "a.ldb", line + "\n" } });
	INFO(database.compiled.all_messages());
	CHECK(match_count(database.db) == 1);
	return database.find(bytes, kind, container);
}

TEST_CASE("logic is about counts", "[match][streams]")
{
	const std::string subs = ";4141;4242;4343";
	CHECK(found_by_logic("A;Target:0;(0&1)" + subs, "AA BB") == Found{ "A@5" });
	CHECK(found_by_logic("A;Target:0;(0&1)" + subs, "AA CC") == Found{});
	CHECK(found_by_logic("A;Target:0;(0|1)" + subs, "BB") == Found{ "A@2" });
	CHECK(found_by_logic("A;Target:0;0&1=0" + subs, "AA CC") == Found{ "A@5" });
	CHECK(found_by_logic("A;Target:0;0&1=0" + subs, "AA BB") == Found{});
	CHECK(found_by_logic("A;Target:0;(0>2)" + subs, "AA AA AA") == Found{ "A@8" });
	CHECK(found_by_logic("A;Target:0;(0>2)" + subs, "AA AA") == Found{});
	CHECK(found_by_logic("A;Target:0;(0|1|2)>2,2" + subs, "AA AA BB") == Found{ "A@8" });
	CHECK(found_by_logic("A;Target:0;(0|1|2)>2,2" + subs, "AA AA AA") == Found{});
	// As ClamAV counts: a comparison that is right is one of those that are there.
	CHECK(found_by_logic("A;Target:0;(0&1=0)>0,2" + subs, "AA CC") == Found{ "A@5" });
	CHECK(found_by_logic("A;Target:0;(0|1|2)>0,2" + subs, "AA CC") == Found{ "A@5" });
	CHECK(found_by_logic("A;Target:0;(0|1|2)>0,2" + subs, "AA AA") == Found{});
	CHECK(found_by_logic("A;Target:0;((0|1)>1)&2" + subs, "AA BB CC") == Found{ "A@8" });
	// Of those that are mixed, the first divides, in parentheses the last.
	CHECK(found_by_logic("A;Target:0;0|1&2" + subs, "AA") == Found{ "A@2" });
	CHECK(found_by_logic("A;Target:0;(0|1&2)" + subs, "AA BB") == Found{});
	CHECK(found_by_logic("A;Target:0;(0|1&2)" + subs, "AA CC") == Found{ "A@5" });
	CHECK(found_by_logic("A;Target:0;((0&1|2))" + subs, "CC") == Found{ "A@2" });
	CHECK(found_by_logic("A;Target:0;(0=2)" + subs, "AA AA") == Found{ "A@5" });
	CHECK(found_by_logic("A;Target:0;(0<2)&1" + subs, "BB AA AA") == Found{});
}

TEST_CASE("letters change what bytes are", "[match][streams]")
{
	CHECK(found_by_logic("A;Target:0;0;4142::i", "ab") == Found{ "A@2" });
	CHECK(found_by_logic("A;Target:0;0;4142::w", "A\0B\0"s) == Found{ "A@4" });
	CHECK(found_by_logic("A;Target:0;0;4142::w", "AB") == Found{});
	CHECK(found_by_logic("A;Target:0;0;4142::wa", "AB") == Found{ "A@2" });
	CHECK(found_by_logic("A;Target:0;0;4142::f", "xAB") == Found{});
	CHECK(found_by_logic("A;Target:0;0;4142::f", ".AB.") == Found{ "A@4" });
	CHECK(found_by_logic("A;Target:0;0;2:4142::i", "..aB") == Found{ "A@4" });
}

TEST_CASE("an expression waits for its trigger", "[match][streams]")
{
	const std::string line = "A;Engine:81-255,Target:0;0&1;414141;0/b+x;y/i";
	CHECK(found_by_logic(line, "AAA Bbx;y") == Found{ "A@9" });
	CHECK(found_by_logic(line, "Bbx;y AAA") == Found{ "A@9" });
	CHECK(found_by_logic(line, "Bbx;y AA") == Found{});
}

/*
 * Vectorscan looks for the end of such a run by whole vectors, which end where memory has a multiple of
 * 64 or do not. On processors with AVX-512, its version 5.4.9 passes over the end in what is left.
 */
TEST_CASE("a run of bytes ends wherever its end stands in memory", "[match][streams]")
{
	Database database(Files{
		{ "a.ldb", "A;Engine:81-255,Target:0;0&1;6576616c28;0/eval\\('[^']{60,}'/si\n"
			   "B;Engine:81-255,Target:0;0&1;6576616c28;0/eval\\([^\\n]*\\n/s\n" } });
	for (size_t size = 60; size < 200; size++) {
		const std::string bytes = "eval('" + std::string(size, 'q') + "'\n";
		const std::string end = std::to_string(bytes.size());
		const std::string before = std::to_string(bytes.size() - 1);
		INFO(size);
		CHECK(database.find(bytes) == Found{ "A@" + before, "B@" + end });
	}
	CHECK(database.find("eval('" + std::string(59, 'q') + "'") == Found{});
}

TEST_CASE("a signature is for a kind, a container and a size", "[match][streams]")
{
	const std::string pdf = "A;Target:10;0;4142";
	CHECK(found_by_logic(pdf, "AB", CONTENT_PDF) == Found{ "A@2" });
	CHECK(found_by_logic(pdf, "AB", CONTENT_PE) == Found{});
	const std::string zipped = "A;Container:CL_TYPE_ZIP,Target:0;0;4142";
	CHECK(found_by_logic(zipped, "AB", CONTENT_OTHER, CONTENT_ZIP) == Found{ "A@2" });
	CHECK(found_by_logic(zipped, "AB", CONTENT_OTHER, CONTENT_RAR) == Found{});
	const std::string outer = "A;Container:CL_TYPE_ANY,Target:0;0;4142";
	CHECK(found_by_logic(outer, "AB") == Found{ "A@2" });
	CHECK(found_by_logic(outer, "AB", CONTENT_OTHER, CONTENT_ZIP) == Found{});
	const std::string sized = "A;FileSize:3-4,Target:0;0;4142";
	CHECK(found_by_logic(sized, "AB") == Found{});
	CHECK(found_by_logic(sized, "AB.") == Found{ "A@3" });
	CHECK(found_by_logic(sized, "AB...") == Found{});
}

static std::string md5_of(const std::string &bytes)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	REQUIRE(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_md5(), nullptr) == 1);
	std::string hex;
	for (unsigned i = 0; i < size; i++) {
		char pair[3];
		snprintf(pair, sizeof(pair), "%02x", digest[i]);
		hex += pair;
	}
	return hex;
}

TEST_CASE("signatures for some objects are looked for apart", "[match][streams]")
{
	Database database(Files{ { "a.ldb", "A;Target:0;0&1;4142;4344\n"
					    "O;Target:2;0&1;4142;4344{40-50}4142\n"
					    "Z;Container:CL_TYPE_ZIP,Target:0;0;4142*4344\n"
					    "P;Container:CL_TYPE_ZIP,Target:2;0;4344\n" } });
	const std::string bytes = "AB CD" + std::string(45, '.') + "AB";
	CHECK(database.find(bytes) == Found{ "A@5" });
	CHECK(database.find(bytes, CONTENT_OLE) == Found{ "A@5", "O@52" });
	CHECK(database.find(bytes, CONTENT_OTHER, CONTENT_ZIP) == Found{ "A@5", "Z@5" });
	CHECK(database.find(bytes, CONTENT_OLE, CONTENT_ZIP) ==
	      Found{ "A@5", "O@52", "P@5", "Z@5" });
}
