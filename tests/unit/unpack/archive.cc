// SPDX-License-Identifier: GPL-3.0-or-later
// What libarchive opens, on its fiber and from a spool.
#include <algorithm>
#include <functional>

#include <archive.h>
#include <archive_entry.h>
#include <catch2/catch.hpp>

#include "lib/unpack/apart/unpack_fiber.h"
#include "lib/unpack/apart/unpack_windows.h"
#include "tests/unit/unpack/unpacking.hh"

namespace
{

using Maker = std::function<int(struct archive *)>;

struct Made {
	std::string bytes;
	static la_ssize_t take(struct archive *, void *context, const void *bytes, size_t size)
	{
		static_cast<Made *>(context)->bytes.append(static_cast<const char *>(bytes), size);
		return static_cast<la_ssize_t>(size);
	}
};

// By libarchive's own writers.
std::string archive_of(const Maker &maker, const std::vector<Member> &members)
{
	Made made;
	struct archive *archive = archive_write_new();
	if (maker(archive) == ARCHIVE_OK) {
		archive_write_set_bytes_in_last_block(archive, 1);
		archive_write_open2(archive, &made, nullptr, Made::take, nullptr, nullptr);
		for (const Member &member : members) {
			struct archive_entry *entry = archive_entry_new();
			archive_entry_set_pathname(entry, member.name.c_str());
			archive_entry_set_filetype(entry, AE_IFREG);
			archive_entry_set_perm(entry, 0644);
			archive_entry_set_size(entry, static_cast<la_int64_t>(member.data.size()));
			archive_write_header(archive, entry);
			archive_write_data(archive, member.data.data(), member.data.size());
			archive_entry_free(entry);
		}
		archive_write_close(archive);
	}
	archive_write_free(archive);
	return made.bytes;
}

std::string filtered(int (*add)(struct archive *), const std::string &text)
{
	return archive_of(
		[add](struct archive *archive) {
			return std::max(add(archive), archive_write_set_format_raw(archive));
		},
		{ { "", text, true } });
}

std::string formed(int (*set)(struct archive *), const std::vector<Member> &members)
{
	return archive_of([set](struct archive *archive) { return set(archive); }, members);
}

std::string text_of(size_t size)
{
	std::string text;
	uint32_t state = 1;
	while (text.size() < size) {
		state = state * 1664525 + 1013904223;
		text += "word" + std::to_string(state >> 20) + " ";
	}
	text.resize(size);
	return text;
}

std::string tar_of(const std::vector<Member> &members)
{
	return formed(archive_write_set_format_ustar, members);
}

// One folder, stored, without checksums (MS-CAB).
std::string cab_of(const std::string &name, const std::string &data)
{
	const std::string folder =
		little(36 + 8 + 16 + name.size() + 1, 4) + little(1, 2) + little(0, 2);
	const std::string file = little(data.size(), 4) + little(0, 4) + little(0, 2) +
				 little(0, 4) + little(0x20, 2) + name + std::string(1, '\0');
	const std::string block =
		little(0, 4) + little(data.size(), 2) + little(data.size(), 2) + data;
	const size_t size = 36 + folder.size() + file.size() + block.size();
	return "MSCF" + little(0, 4) + little(size, 4) + little(0, 4) + little(44, 4) +
	       little(0, 4) + little(0x103, 2) + little(1, 2) + little(1, 2) + little(0, 2) +
	       little(0, 4) + folder + file + block;
}

// A header of level 0, stored; the checksum at its end is CRC-16/ARC.
std::string lha_of(const std::string &name, const std::string &data)
{
	uint16_t crc = 0;
	for (const char byte : data) {
		crc ^= static_cast<uint8_t>(byte);
		for (int bit = 0; bit < 8; bit++)
			crc = static_cast<uint16_t>((crc & 1) != 0 ? (crc >> 1) ^ 0xa001
								   : crc >> 1);
	}
	const std::string head = "-lh0-" + little(data.size(), 4) + little(data.size(), 4) +
				 little(0x21, 4) + std::string("\x20\0", 2) +
				 little(name.size(), 1) + name + little(crc, 2);
	unsigned sum = 0;
	for (const char byte : head)
		sum += static_cast<uint8_t>(byte);
	return little(head.size(), 1) + little(sum, 1) + head + data + std::string(1, '\0');
}

// RAR 5: each header has its checksum and its size before it.
std::string rar_part(const std::string &fields)
{
	const std::string sized = little(fields.size(), 1) + fields;
	return little(crc32(0, reinterpret_cast<const Bytef *>(sized.data()),
			    static_cast<uInt>(sized.size())),
		      4) +
	       sized;
}

std::string rar_of(const std::string &name, const std::string &data, unsigned dictionary = 0)
{
	const std::string mark("Rar!\x1a\7\1\0", 8);
	const unsigned method = dictionary << 10;
	const std::string file = little(2, 1) + little(2, 1) + little(data.size(), 1) +
				 little(4, 1) + little(data.size(), 1) + little(0x20, 1) +
				 little(crc32(0, reinterpret_cast<const Bytef *>(data.data()),
					      static_cast<uInt>(data.size())),
					4) +
				 little((method & 0x7f) | 0x80, 1) + little(method >> 7, 1) +
				 little(1, 1) + little(name.size(), 1) + name;
	return mark + rar_part(little(1, 1) + little(0, 1) + little(0, 1)) + rar_part(file) + data +
	       rar_part(little(5, 1) + little(0, 1) + little(0, 1));
}

std::string arj_part(const std::string &header)
{
	return "\x60\xea" + little(header.size(), 2) + header +
	       little(crc32(0, reinterpret_cast<const Bytef *>(header.data()),
			    static_cast<uInt>(header.size())),
		      4) +
	       little(0, 2);
}

// Stored, or with that method. type: 2 is the archive's own.
std::string arj_header(const std::string &name, const std::string &data, unsigned method = 0,
		       unsigned flags = 0, unsigned type = 0)
{
	return little(30, 1) + little(11, 1) + little(1, 1) + little(2, 1) + little(flags, 1) +
	       little(method, 1) + little(type, 1) + little(0, 5) + little(data.size(), 4) +
	       little(data.size(), 4) +
	       little(crc32(0, reinterpret_cast<const Bytef *>(data.data()),
			    static_cast<uInt>(data.size())),
		      4) +
	       little(0, 6) + name + std::string(2, '\0');
}

std::string arj_of(const std::string &members)
{
	return arj_part(arj_header("a.arj", "", 0, 0, 2)) + members +
	       std::string("\x60\xea\0\0", 4);
}

void check_all(enum content_kind kind, const std::string &bytes, const std::string &wanted)
{
	INFO("kind " << kind << ", " << bytes.size() << " bytes");
	INFO(unpack_all(kind, bytes).all().substr(0, 100));
	REQUIRE_FALSE(bytes.empty());
	for (const size_t piece : { SIZE_MAX, size_t(1), size_t(1000) }) {
		const Unpacked unpacked = unpack_all(kind, bytes, UNPACK_BUDGET, piece);
		CHECK((unpacked.all() == wanted));
		CHECK(unpacked.left.spool_left == unpack_budget(UNPACK_BUDGET).spool_left);
	}
}

struct Counter {
	struct unpack_fiber fiber;
	int count = 0;
	static void run(void *argument)
	{
		auto *counter = static_cast<Counter *>(argument);
		volatile char stack[100000];
		for (size_t i = 0; i < sizeof(stack); i += 1000)
			stack[i] = 1;
		for (int i = 0; i < 3; i++) {
			counter->count += stack[1000];
			unpack_fiber_wait(&counter->fiber);
		}
	}
};

} // namespace

TEST_CASE("a fiber goes on where it waited, and others run between", "[unpack][fiber]")
{
	Counter first;
	Counter second;
	REQUIRE(unpack_fiber_new(&first.fiber, Counter::run, &first) == 0);
	REQUIRE(unpack_fiber_new(&second.fiber, Counter::run, &second) == 0);
	for (int i = 1; i <= 3; i++) {
		unpack_fiber_go(&first.fiber);
		unpack_fiber_go(&second.fiber);
		CHECK(first.count == i);
		CHECK(second.count == i);
		CHECK_FALSE(first.fiber.is_done);
	}
	unpack_fiber_go(&first.fiber);
	unpack_fiber_go(&second.fiber);
	CHECK(first.fiber.is_done);
	CHECK(second.fiber.is_done);
	unpack_fiber_free(&first.fiber);
	unpack_fiber_free(&second.fiber);
}

TEST_CASE("files compressed by each filter are opened", "[unpack][archive]")
{
	unpack_prepare();
	const std::string text = text_of(100000);
	const std::string wanted = "=" + text + ";";
	check_all(CONTENT_BZIP2, filtered(archive_write_add_filter_bzip2, text), wanted);
	check_all(CONTENT_XZ, filtered(archive_write_add_filter_xz, text), wanted);
	check_all(CONTENT_LZMA, filtered(archive_write_add_filter_lzma, text), wanted);
	check_all(CONTENT_LZIP, filtered(archive_write_add_filter_lzip, text), wanted);
	check_all(CONTENT_ZSTD, filtered(archive_write_add_filter_zstd, text), wanted);
	check_all(CONTENT_LZ4, filtered(archive_write_add_filter_lz4, text), wanted);
	check_all(CONTENT_COMPRESS, filtered(archive_write_add_filter_compress, text), wanted);
}

TEST_CASE("what xz and RAR make at their most is opened", "[unpack][archive]")
{
	const auto most = [](struct archive *archive) {
		return std::max(
			{ archive_write_add_filter_xz(archive),
			  archive_write_set_filter_option(archive, "xz", "compression-level", "9"),
			  archive_write_set_format_raw(archive) });
	};
	check_all(CONTENT_XZ, archive_of(most, { { "", "text", true } }), "=text;");
	CHECK(unpack_all(CONTENT_RAR, rar_of("r", "text", 9)).all() == "r=text;");
}

TEST_CASE("a file of LZMA with a rare dictionary is opened", "[unpack][archive]")
{
	std::string lzma = filtered(archive_write_add_filter_lzma, text_of(1000));
	REQUIRE(lzma.size() > 13);
	lzma.replace(1, 4, little(0x60000, 4));
	CHECK((unpack_all(CONTENT_LZMA, lzma).all() == "=" + text_of(1000) + ";"));
	// More than there is room for, of which it does not make use.
	lzma.replace(1, 4, little(128 << 20, 4));
	for (const size_t piece : { 1, 13, 65536 })
		CHECK((unpack_all(CONTENT_LZMA, lzma, UNPACK_BUDGET, piece).all() ==
		       "=" + text_of(1000) + ";"));
	// The head of a table of MATLAB, of version 4, is like it.
	const std::string table = little(0, 4) + little(2, 4) + little(1, 4) + little(0, 4) +
				  little(11, 4) + "fit_params" + std::string(1, '\0');
	CHECK(!unpack_all(CONTENT_LZMA, table + std::string(100, '\x81')).has("memory: "));
}

TEST_CASE("of a stream that is cut or damaged all is given that comes before", "[unpack][streams]")
{
	const std::string text = text_of(30000);
	const std::string bzip2 = filtered(archive_write_add_filter_bzip2, text);
	const std::string xz = filtered(archive_write_add_filter_xz, text);
	const std::string lzip = filtered(archive_write_add_filter_lzip, text);
	const std::string lzma = filtered(archive_write_add_filter_lzma, text);
	const struct {
		enum content_kind kind;
		const std::string &bytes;
		size_t tail; // so much of it has no text
	} files[] = { { CONTENT_BZIP2, bzip2, 10 },
		      { CONTENT_XZ, xz, 30 },
		      { CONTENT_LZIP, lzip, 20 },
		      { CONTENT_LZMA, lzma, 0 } };
	for (const auto &file : files) {
		INFO("kind " << file.kind);
		const std::string &bytes = file.bytes;
		CHECK((unpack_all(file.kind, bytes).all() == "=" + text + ";"));
		const Unpacked cut = unpack_all(
			file.kind, bytes.substr(0, bytes.size() - file.tail), UNPACK_BUDGET, 11);
		REQUIRE(cut.members.size() == 1);
		CHECK((cut.members[0].data == text));
		CHECK(cut.members[0].is_whole == (file.tail == 0));
		CHECK(cut.has("cut: ") == (file.tail > 0));
		// Two are one file, but for .lzma; what is behind has no say in it.
		const bool is_one = file.kind == CONTENT_LZMA;
		const Unpacked two = unpack_all(file.kind, bytes + bytes, UNPACK_BUDGET, 4097);
		REQUIRE(two.members.size() == 1);
		CHECK((two.members[0].data == (is_one ? text : text + text)));
		CHECK(two.flaws.empty() == !is_one);
		CHECK(unpack_all(file.kind, bytes + std::string(8, '\0')).flaws.empty());
		const Unpacked more = unpack_all(file.kind, bytes + "and more");
		CHECK((more.all() == "=" + text + ";!damaged: "));
	}
	std::string wrong = xz;
	wrong[wrong.size() / 2] ^= 0x55;
	CHECK(unpack_all(CONTENT_XZ, wrong).has("damaged: "));
	wrong = bzip2;
	wrong[bzip2.size() - 8] ^= 0x55;
	CHECK(unpack_all(CONTENT_BZIP2, wrong).flaws.size() == 1);
	CHECK(unpack_all(CONTENT_XZ,
			 xz + std::string("\xfd"
					  "7zXZ\0\0\4\xe6\xd6\xb4\x46\2\0\x21\1\x28\0\0\0",
					  20))
		      .flaws.size() == 1);
}

TEST_CASE("a compressed file within another is given as it is", "[unpack][archive]")
{
	const std::string inner = filtered(archive_write_add_filter_bzip2, text_of(1000));
	CHECK((unpack_all(CONTENT_BZIP2, filtered(archive_write_add_filter_bzip2, inner)).all() ==
	       "=" + inner + ";"));
}

TEST_CASE("members of each format come out", "[unpack][archive]")
{
	unpack_prepare();
	const std::vector<Member> members = { { "a.txt", text_of(70000), true },
					      { "b", "text", true } };
	const std::string wanted = "a.txt=" + members[0].data + ";b=text;";
	check_all(CONTENT_TAR, tar_of(members), wanted);
	check_all(CONTENT_TAR, formed(archive_write_set_format_pax, members), wanted);
	check_all(CONTENT_CPIO, formed(archive_write_set_format_cpio_newc, members), wanted);
	check_all(CONTENT_CPIO, formed(archive_write_set_format_cpio_odc, members), wanted);
	check_all(CONTENT_AR, formed(archive_write_set_format_ar_svr4, members), wanted);
	check_all(CONTENT_7Z, formed(archive_write_set_format_7zip, members), wanted);
	check_all(CONTENT_XAR, formed(archive_write_set_format_xar, members), wanted);
	check_all(CONTENT_ISO9660,
		  formed(archive_write_set_format_iso9660, { { "B.TXT", "text", true } }),
		  "B.TXT=text;");
	check_all(CONTENT_CAB, cab_of("c.txt", "some text"), "c.txt=some text;");
	std::string reserved = cab_of("c.txt", "some text");
	reserved.replace(4, 4, "abcd");
	check_all(CONTENT_CAB, reserved, "c.txt=some text;");
	// At a name that is no UTF-8 libarchive ends.
	check_all(CONTENT_LHA, lha_of("caf\xe9", "text").substr(0, 32) + lha_of("b", "more"),
		  "caf\xc3\xa9=text;b=more;");
	check_all(CONTENT_LHA, lha_of(std::string(150, '\xe9'), "text"), [] {
		std::string name;
		for (int i = 0; i < 100; i++)
			name += "\xc3\xa9";
		return name;
	}() + "=text;");
	check_all(CONTENT_LHA, lha_of("l.txt", "some text"), "l.txt=some text;");
	check_all(CONTENT_RAR, rar_of("r.txt", "some text"), "r.txt=some text;");
}

TEST_CASE("an archive in which nothing is seen is damaged when it has more than its head",
	  "[unpack][archive]")
{
	const std::vector<Member> members = { { "a", "text", true } };
	std::string bytes = formed(archive_write_set_format_7zip, members);
	bytes.replace(8, 24, std::string(24, '\0'));
	CHECK(unpack_all(CONTENT_7Z, bytes).has("damaged: "));
	CHECK(unpack_all(CONTENT_7Z, bytes.substr(0, 32)).flaws.empty());
}

TEST_CASE("what calls itself a directory or a link is a file when it has bytes",
	  "[unpack][archive]")
{
	// The permissions of cpio, of a link to "text" and of a directory with that.
	std::string cpio = formed(archive_write_set_format_cpio_newc, { { "a", "text", true } });
	for (const char *mode : { "000041ed", "0000a1ed", "000061ed" }) {
		cpio.replace(14, 8, mode);
		const std::string all = unpack_all(CONTENT_CPIO, cpio).all();
		CHECK(all == (mode[4] == 'a' ? "" : "a=text;"));
	}
	// What cannot be given is told, whatever it calls itself.
	cpio.replace(14, 8, "000001ed");
	CHECK(unpack_all(CONTENT_CPIO, cpio.substr(0, 112)).has("cut: a"));
}

TEST_CASE("a file of a disc is found in whichever tree it is", "[unpack][archive]")
{
	const std::vector<Member> members = { { "a longer name.txt", "text", true },
					      { "b.txt", "more", true } };
	const auto unpacked = [](const std::string &disc) {
		return unpack_all(CONTENT_ISO9660, disc).all();
	};
	std::string disc = formed(archive_write_set_format_iso9660, members);
	const std::string wanted = "a longer name.txt=text;b.txt=" + members[1].data + ";";
	CHECK(unpacked(disc) == wanted);
	// A directory is in each tree, and counts once.
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.members_left = 3;
	CHECK(unpack_all(CONTENT_ISO9660, disc, budget).all() == wanted);
	// Volumes whose tree has no file: the directory's records end where the first one would begin.
	const auto without = [](std::string bytes, size_t sector) {
		const size_t root =
			static_cast<uint8_t>(bytes[sector * 2048 + 158]) |
			static_cast<size_t>(static_cast<uint8_t>(bytes[sector * 2048 + 159])) << 8;
		size_t at = root * 2048;
		for (int i = 0; i < 2; i++) // itself and its parent
			at += static_cast<uint8_t>(bytes[at]);
		return bytes.replace(at, (root + 1) * 2048 - at, (root + 1) * 2048 - at, '\0');
	};
	CHECK(unpacked(without(disc, 16)).find("=text;") != std::string::npos);
	CHECK(unpacked(without(disc, 17)) == wanted);
	CHECK(unpacked(without(without(disc, 16), 17)).find("text") == std::string::npos);
	// A disc for readers of UDF as well.
	disc.replace(20 * 2048 + 1, 5, "NSR02");
	CHECK(unpacked(disc) == wanted + "!unsupported method: ");
}

TEST_CASE("an ARJ is opened, and what is wrong with it is said", "[unpack][arj]")
{
	const std::string text = text_of(60000);
	const std::string first = arj_part(arj_header("a.txt", text)) + text;
	const std::string second = arj_part(arj_header("d/\x84", "text")) + "text";
	check_all(CONTENT_ARJ, arj_of(first + second), "a.txt=" + text + ";d/\xc3\xa4=text;");
	check_all(CONTENT_ARJ, arj_of(arj_part(arj_header("f", "", 0, 0, 3)) + second),
		  "d/\xc3\xa4=text;");
	check_all(CONTENT_ARJ, arj_of(arj_part(arj_header("s", "xxx", 1, 1)) + "xxx" + second),
		  "d/\xc3\xa4=text;!encrypted: s");
	check_all(CONTENT_ARJ, arj_of(arj_part(arj_header("s", "xxx", 9)) + "xxx" + second),
		  "d/\xc3\xa4=text;!unsupported method: s");
	std::string damaged = arj_header("a", "text");
	damaged[20] ^= 1;
	check_all(CONTENT_ARJ, arj_of(arj_part(damaged) + "text" + second),
		  "a=text;d/\xc3\xa4=text;!damaged: a");
	check_all(CONTENT_ARJ, arj_of(arj_part(arj_header("a", "\1\2\3\4")) + "\1\2\3\4" + "rest"),
		  "a=\1\2\3\4;!damaged: ");
	const std::string whole = arj_of(first);
	for (const size_t size : { size_t(0), size_t(3), size_t(50), size_t(70), size_t(100),
				   size_t(30000), whole.size() - 4, whole.size() - 1 }) {
		const Unpacked cut = unpack_all(CONTENT_ARJ, whole.substr(0, size));
		CHECK(cut.flaws.size() == 1);
		CHECK(cut.flaws[0].compare(0, 3, "cut") == 0);
	}
	for (unsigned method = 1; method <= 4; method++)
		CHECK(unpack_all(CONTENT_ARJ,
				 arj_of(arj_part(arj_header("a", text, method)) + text + second))
			      .has("damaged: a"));
}

TEST_CASE("rows of another process say so", "[unpack][rows]")
{
	unsigned count = 0;
	for (unsigned kind = 0; kind < CONTENT_KIND_COUNT; kind++) {
		const struct unpack_row *row = unpack_find(static_cast<enum content_kind>(kind));
		if (row == nullptr || unpack_place(row) == UNPACK_HERE)
			continue;
		count++;
	}
	CHECK(count >= 17);
}

TEST_CASE("an archive that is cut or damaged says so", "[unpack][archive]")
{
	const std::string text = text_of(100000);
	const std::string tar = tar_of({ { "a.txt", text, true }, { "b", "text", true } });
	const Unpacked cut = unpack_all(CONTENT_TAR, tar.substr(0, 60000));
	REQUIRE(cut.members.size() == 1);
	CHECK_FALSE(cut.members[0].is_whole);
	CHECK(cut.members[0].data == text.substr(0, cut.members[0].data.size()));
	CHECK(cut.has("cut: a.txt"));
	CHECK(unpack_all(CONTENT_TAR, tar.substr(0, 60000), UNPACK_BUDGET, 77, false)
		      .flaws.empty());
	CHECK(unpack_all(CONTENT_TAR, "").flaws.size() == 1);
	for (const enum content_kind kind :
	     { CONTENT_BZIP2, CONTENT_XZ, CONTENT_LZMA, CONTENT_LZIP, CONTENT_ZSTD,
	       CONTENT_COMPRESS, CONTENT_LZ4, CONTENT_LZOP }) {
		INFO("kind " << kind);
		CHECK(unpack_all(kind, std::string(3000, 'x')).flaws.size() == 1);
	}
	CHECK(unpack_all(CONTENT_TAR, std::string(3000, 'x')).flaws.size() == 1);

	std::string bzip2 = filtered(archive_write_add_filter_bzip2, text);
	CHECK(unpack_all(CONTENT_BZIP2, bzip2.substr(0, bzip2.size() / 2)).flaws.size() == 1);
	bzip2[bzip2.size() / 2] ^= 0x55;
	const Unpacked damaged = unpack_all(CONTENT_BZIP2, bzip2);
	CHECK(damaged.flaws.size() == 1);
	CHECK((damaged.members.empty() || !damaged.members[0].is_whole));

	std::string seven = formed(archive_write_set_format_7zip, { { "b", "text", true } });
	CHECK(unpack_all(CONTENT_7Z, seven.substr(0, seven.size() - 5)).flaws.size() == 1);
	CHECK(unpack_all(CONTENT_7Z, seven.substr(0, seven.size() - 5), UNPACK_BUDGET, 9, false)
		      .all() == "");
}

TEST_CASE("a damaged cabinet is read to an end", "[unpack][archive]")
{
	const std::string cabinet = cab_of("c.txt", "some text in a cabinet");
	const size_t block = 36 + 8 + 16 + 6;
	std::string damaged = cabinet;
	damaged[block] = 't';	// a checksum
	damaged[block + 7] = 1; // more bytes than there are
	CHECK(unpack_all(CONTENT_CAB, damaged).all() == "c.txt=|!cut: c.txt");
	for (size_t at = 4; at < cabinet.size(); at++) {
		damaged = cabinet;
		damaged[at] ^= 0x15;
		const Unpacked got = unpack_all(CONTENT_CAB, damaged);
		// Bytes before the file are one, too.
		CHECK(got.members.size() <= 2);
		CHECK(unpack_all(CONTENT_CAB, damaged, UNPACK_BUDGET, 1).all() == got.all());
	}
}

TEST_CASE("limits hold for what libarchive makes", "[unpack][archive][limits]")
{
	const std::string bomb =
		filtered(archive_write_add_filter_bzip2, std::string(8 << 20, 'x'));
	const Unpacked dense = unpack_all(CONTENT_BZIP2, bomb);
	CHECK(dense.has("ratio: "));
	REQUIRE(dense.members.size() == 1);
	CHECK(dense.members[0].data.size() < (2 << 20));
	CHECK(unpack_all(CONTENT_BZIP2, bomb, UNPACK_BUDGET, 1).all() == dense.all());

	struct unpack_budget budget = UNPACK_BUDGET;
	budget.total_left = 30000;
	const std::string tar = tar_of({ { "a", text_of(20000), true },
					 { "b", text_of(20000), true },
					 { "c", "", true } });
	const Unpacked total = unpack_all(CONTENT_TAR, tar, budget, 100);
	REQUIRE(total.members.size() == 2);
	CHECK(total.members[1].data.size() == 10000);
	CHECK(total.has("total size: b"));

	budget = UNPACK_BUDGET;
	budget.members_left = 1;
	CHECK(unpack_all(CONTENT_TAR, tar, budget).has("members: "));
	CHECK(unpack_all(CONTENT_TAR, tar, budget).members.size() == 1);

	budget = UNPACK_BUDGET;
	budget.spool_left = 100;
	const std::string seven =
		formed(archive_write_set_format_7zip, { { "b", text_of(1000), true } });
	CHECK(unpack_all(CONTENT_7Z, seven, budget, 10).all() == "!memory: ");
	CHECK(unpack_all(CONTENT_7Z, seven, budget, 10).left.spool_left == 100);
	CHECK(unpack_all(CONTENT_RAR, rar_of("r", "text", 10)).all() == "!memory: ");
}

TEST_CASE("the window that a file wants is read from its head", "[unpack][windows]")
{
	const auto window = [](enum content_kind kind, const std::string &head) {
		return unpack_window(kind, reinterpret_cast<const uint8_t *>(head.data()),
				     head.size());
	};
	CHECK(window(CONTENT_ZSTD, std::string("\x28\xb5\x2f\xfd\0\x70", 6)) == 16 << 20);
	CHECK(window(CONTENT_ZSTD, std::string("\x28\xb5\x2f\xfd\0\x71", 6)) == 18 << 20);
	CHECK(window(CONTENT_ZSTD, std::string("\x28\xb5\x2f\xfd\xa0\0\0\0\2", 9)) == 32 << 20);
	CHECK(window(CONTENT_ZSTD, std::string("\x50\x2a\x4d\x18\2\0\0\0xx\x28\xb5\x2f\xfd\0\x71",
					       16)) == 18 << 20);
	CHECK(window(CONTENT_RAR, rar_of("r", "text", 7)) == 16 << 20);
	CHECK(window(CONTENT_RAR, rar_of("r", "text", 8)) == 32 << 20);
	CHECK(window(CONTENT_RAR, "Rar!\x1a\7") == 0);
	for (const enum content_kind kind :
	     { CONTENT_XZ, CONTENT_LZMA, CONTENT_LZIP, CONTENT_ZSTD, CONTENT_RAR })
		CHECK(window(kind, "") <= 1);
	CHECK(window(CONTENT_TAR, "abc") == 0);
}
