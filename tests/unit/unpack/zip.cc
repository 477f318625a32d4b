// SPDX-License-Identifier: GPL-3.0-or-later
// Zips: what their members say, what their directories say.
#include <catch2/catch.hpp>

#include "tests/unit/unpack/unpacking.hh"

namespace
{

Unpacked unzip(const std::string &bytes, size_t piece = SIZE_MAX)
{
	return unpack_all(CONTENT_ZIP, bytes, UNPACK_BUDGET, piece);
}

std::string words(int count)
{
	std::string text;
	for (int i = 0; i < count; i++)
		text += "word" + std::to_string(i) + " ";
	return text;
}

} // namespace

TEST_CASE("members of a zip come out, stored and deflated, with descriptors and without",
	  "[unpack][zip]")
{
	std::vector<ZipMember> members;
	std::string wanted;
	for (const uint16_t method : { 0, 8 }) {
		for (const uint16_t flags : { 0, 8 }) {
			for (const std::string &text :
			     { std::string(), std::string("x"), words(2000),
			       std::string("PK\7\10PPK\7\10") }) {
				ZipMember member = zip_member("m" + std::to_string(members.size()),
							      text, method);
				member.flags = flags;
				wanted += member.name + "=" + text + ";";
				members.push_back(member);
			}
		}
	}
	const std::string zip = zip_of(members);
	for (const size_t piece : { size_t(1), size_t(13), SIZE_MAX })
		CHECK(unzip(zip, piece).all() == wanted);
}

TEST_CASE("a folder is no member, and names are shown as they are meant", "[unpack][zip]")
{
	ZipMember folder = zip_member("d/", "", 0);
	ZipMember umlaut = zip_member("\x84.txt", "a", 0);
	CHECK(unzip(zip_of({ folder, umlaut })).all() == "\xc3\xa4.txt=a;");
	CHECK(unzip(zip_end(0, 0, 0)).all() == "");
	CHECK(unzip("something else").all() == "!damaged: ");
}

TEST_CASE("descriptors have a signature or none, and 32 or 64 bits", "[unpack][zip]")
{
	ZipMember member = zip_member("a", words(300));
	member.flags = 8;
	const std::string start = zip_local(member) + member.packed;
	const std::string wide =
		little(member.crc, 4) + little(member.packed.size(), 8) + little(member.size, 8);
	for (const std::string &tail :
	     { zip_descriptor(member), zip_descriptor(member, false), "PK\7\10" + wide, wide }) {
		const std::string zip = start + tail + zip_central(member, 0) +
					zip_end(1, 0, start.size() + tail.size());
		CHECK(unzip(zip).all() == "a=" + words(300) + ";");
		CHECK(unzip(zip, 1).all() == "a=" + words(300) + ";");
	}
	const std::string none = start + zip_central(member, 0) + zip_end(1, 0, start.size());
	CHECK(unzip(none).all() == "a=" + words(300) + ";!lying: a");

	// Stored ones are found by their signature.
	member = zip_member("b", words(300), 0);
	member.flags = 8;
	const std::string stored = zip_local(member) + member.packed + "PK\7\10" +
				   little(member.crc, 4) + little(member.packed.size(), 8) +
				   little(member.size, 8);
	CHECK(unzip(stored + zip_central(member, 0) + zip_end(1, 0, stored.size())).all() ==
	      "b=" + words(300) + ";");
}

TEST_CASE("methods that are formats of their own are given as files of these", "[unpack][zip]")
{
	ZipMember member = zip_member("a", "BZh9 and so on", 0);
	for (const uint16_t method : { 12, 20, 93, 95 }) {
		member.method = method;
		member.flags = 0;
		CHECK(unzip(zip_of({ member }), 3).all() == "a=BZh9 and so on;");
		member.flags = 8;
		CHECK(unzip(zip_of({ member }), 3).all() == "a=BZh9 and so on;");
	}
	member.flags = 0;
	member.method = 14;
	member.packed = std::string("\x10\x02\5\0\x5d\0\0\1\0data", 13);
	member.size = 77;
	CHECK(unzip(zip_of({ member }), 1).all() ==
	      "a=" + std::string("\x5d\0\0\1\0", 5) + little(77, 8) + "data;");
	member.flags = 2;
	CHECK(unzip(zip_of({ member }), 1).all() ==
	      "a=" + std::string("\x5d\0\0\1\0", 5) + little(UINT64_MAX, 8) + "data;");
	for (const uint16_t method : { 1, 6, 10, 98 }) {
		member.method = method;
		CHECK(unzip(zip_of({ member, zip_member("b", "text") })).all() ==
		      "b=text;!unsupported method: a");
	}
}

TEST_CASE("Deflate64 is deflate where lengths are short, and members of both follow one another",
	  "[unpack][zip]")
{
	// No match of 258 bytes is in it: that alone is written differently.
	ZipMember wide = zip_member("w", words(3000));
	wide.method = 9;
	for (const uint16_t flags : { 0, 8 }) {
		wide.flags = flags;
		const std::string zip =
			zip_of({ wide, zip_member("a", words(50)), wide, zip_member("b", "text") });
		const std::string wanted = "w=" + words(3000) + ";";
		for (const size_t piece : { size_t(1), size_t(999), SIZE_MAX })
			CHECK((unzip(zip, piece).all() ==
			       wanted + "a=" + words(50) + ";" + wanted + "b=text;"));
	}
	wide.flags = 0;
	for (size_t at = 0; at < 200; at++) {
		ZipMember wrong = wide;
		wrong.packed[at] ^= 0x5a;
		REQUIRE(unzip(zip_of({ wrong })).flaws.size() >= 1);
	}
	ZipMember stored = zip_member("s", std::string("\1\4\0\xfb\xfftext", 9));
	stored.method = 9;
	stored.packed = std::string("\1\4\0\xfb\xfftext", 9);
	stored.size = 4;
	stored.crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef *>("text"), 4));
	CHECK(unzip(zip_of({ stored }), 1).all() == "s=text;");
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.total_left = 100;
	CHECK(unpack_all(CONTENT_ZIP, zip_of({ wide }), budget, 7).has("total size: w"));
}

TEST_CASE("encrypted members are named, and the others are opened", "[unpack][zip]")
{
	ZipMember member = zip_member("secret", words(100));
	for (const uint16_t flags : { 1, 9, 0x41 }) {
		member.flags = flags;
		CHECK(unzip(zip_of({ member, zip_member("b", "text") }), 5).all() ==
		      "b=text;!encrypted: secret");
	}
	member.flags = 0x2001;
	ZipMember masked = member;
	masked.name = "masked";
	const std::string local = zip_local(masked) + masked.packed;
	CHECK(unzip(local + "what is encrypted" + zip_end(1, 0, local.size())).all() ==
	      "!encrypted: masked");
	// A directory that can be read is compared, whatever says that it is encrypted.
	CHECK(unzip(local + zip_central(member, 0) + zip_end(1, 0, local.size())).has("lying: "));
	ZipMember plain = zip_member("secret", words(100));
	member.flags = 1;
	const std::string start = zip_local(member) + plain.packed + "PK\6\10";
	CHECK(unzip(start + zip_central(plain, 0) + zip_end(1, 0, start.size())).has("lying: "));
	CHECK(unzip(zip_local(zip_member("a", "", 0)) + "PK\6\10" + zip_end(1, 0, 0)).all() ==
	      "a=;!encrypted: ");
}

TEST_CASE("extra fields whose last bytes are no block are passed over", "[unpack][zip]")
{
	// zipalign and others pad with them, in local headers and in directories.
	const ZipMember second = zip_member("b", words(30));
	for (const size_t size : { 1, 2, 3, 4, 5, 7, 9 }) {
		ZipMember first = zip_member("a", words(20));
		first.extra = std::string(size, '\0');
		const std::string locals =
			zip_local(first) + first.packed + zip_local(second) + second.packed;
		const uint64_t at = zip_local(first).size() + first.packed.size();
		std::string central = zip_central(first, 0);
		for (const bool is_listed : { false, true }) {
			if (is_listed) { // and with a remark
				ZipMember bare = first;
				bare.extra = "";
				central = zip_central(bare, 0);
				central[30] = static_cast<char>(size);
				central[32] = 2;
				central += first.extra + "PK";
			}
			const std::string directory = central + zip_central(second, at);
			for (const size_t piece : { size_t(1), SIZE_MAX })
				CHECK(unzip(locals + directory +
						    zip_end(2, directory.size(), locals.size()),
					    piece)
					      .all() == "a=" + words(20) + ";b=" + words(30) + ";");
		}
	}
}

TEST_CASE("a directory that says something else is found lying", "[unpack][zip]")
{
	const ZipMember first = zip_member("a.txt", words(50));
	const ZipMember second = zip_member("b.txt", words(60), 0);
	const std::string locals =
		zip_local(first) + first.packed + zip_local(second) + second.packed;
	const uint64_t at = zip_local(first).size() + first.packed.size();
	const auto with = [&](const std::string &directory, unsigned count) {
		return unzip(locals + directory + zip_end(count, directory.size(), locals.size()));
	};
	CHECK(with(zip_central(first, 0) + zip_central(second, at), 2).flaws.empty());
	CHECK(with(zip_central(second, at) + zip_central(first, 0), 2).flaws.empty());
	CHECK(with(zip_central(first, 0), 1).has("lying: "));
	CHECK(with(zip_central(first, 0) + zip_central(second, at), 3).has("lying: "));
	CHECK(with("", 0).has("lying: "));
	CHECK(with(zip_central(first, 0) + zip_central(second, at) + zip_central(second, at), 3)
		      .has("lying: "));
	CHECK(with(zip_central(first, at) + zip_central(second, 0), 2).has("lying: "));
	CHECK(with(zip_central(first, 0) + zip_central(second, at + 1), 2).has("lying: "));
	for (int what = 0; what < 5; what++) {
		ZipMember other = second;
		other.name = what == 0 ? "b.exe" : other.name;
		other.packed += what == 1 ? "x" : "";
		other.crc ^= what == 2 ? 1 : 0;
		other.size += what == 3 ? 1 : 0;
		other.method = what == 4 ? 8 : 0;
		CHECK(with(zip_central(first, 0) + zip_central(other, at), 2).has("lying: "));
	}
}

TEST_CASE("offsets may count from the archive or from the file", "[unpack][zip]")
{
	const ZipMember member = zip_member("a", "text");
	const std::string zip = zip_of({ member });
	CHECK(unzip("before" + zip).all() == "a=text;");
	CHECK(unzip(zip_of({ member }, "before")).all() == "a=text;");
	CHECK(unzip(zip + zip).all() == "a=text;a=text;");
	CHECK(unzip(zip_of({ member }, zip)).all() == "a=text;a=text;");
	const std::string local = zip_local(member) + member.packed;
	CHECK(unzip("before" + local + zip_central(member, 3) + zip_end(1, 0, local.size() + 3))
		      .has("lying: "));
}

TEST_CASE("a second end in the comment is seen", "[unpack][zip]")
{
	const ZipMember member = zip_member("a", "text");
	const std::string local = zip_local(member) + member.packed;
	const std::string zip =
		local + zip_central(member, 0) + zip_end(1, 0, local.size(), zip_end(1, 0, 7));
	CHECK(unzip(zip).has("lying: "));
	CHECK(unzip(local + zip_central(member, 0) + zip_end(1, 0, local.size(), "a comment"))
		      .flaws.empty());
}

TEST_CASE("sizes and checksums that are wrong in both places are found", "[unpack][zip]")
{
	for (const uint16_t method : { 0, 8 }) {
		ZipMember member = zip_member("a", words(50), method);
		member.crc ^= 1;
		CHECK(unzip(zip_of({ member })).all() == "a=" + words(50) + ";!damaged: a");
		member = zip_member("a", words(50), method);
		member.size++;
		CHECK(unzip(zip_of({ member })).all() == "a=" + words(50) + ";!lying: a");
		member.flags = 8;
		CHECK(unzip(zip_of({ member })).has("lying: a"));
	}
	// Data behind the end of the stream, and a stream that is not at its end.
	ZipMember member = zip_member("a", words(50));
	member.packed += "more";
	CHECK(unzip(zip_of({ member })).all() == "a=" + words(50) + ";!lying: a");
	member.packed.resize(20);
	const Unpacked cut = unzip(zip_of({ member, zip_member("b", "text") }));
	REQUIRE(cut.members.size() == 2);
	CHECK_FALSE(cut.members[0].is_whole);
	CHECK(cut.members[1].data == "text");
	CHECK(cut.has("damaged: a"));
	member = zip_member("a", words(50));
	member.packed[0] = '\xff';
	CHECK(unzip(zip_of({ member, zip_member("b", "text") })).all() == "a=|b=text;!damaged: a");
	member.flags = 8;
	CHECK(unzip(zip_of({ member, zip_member("b", "text") })).all() == "a=|b=text;!damaged: a");
}

TEST_CASE("members that overlap are one for a stream, and their directory lies", "[unpack][zip]")
{
	// Each local header stands in the data of the one before, which is stored.
	const ZipMember kernel = zip_member("k", std::string(100000, 'k'));
	std::string bytes = zip_local(kernel) + kernel.packed;
	std::vector<ZipMember> members = { kernel };
	for (int i = 0; i < 30; i++) {
		members.insert(members.begin(), zip_member("m" + std::to_string(i), bytes, 0));
		bytes = zip_local(members[0]) + bytes;
	}
	std::string directory;
	uint64_t at = 0;
	for (const ZipMember &member : members) {
		directory += zip_central(member, at);
		at += zip_local(member).size();
	}
	const Unpacked unpacked =
		unzip(bytes + directory + zip_end(31, directory.size(), bytes.size()));
	CHECK(unpacked.members.size() == 1);
	CHECK(unpacked.has("lying: "));
}

TEST_CASE("sizes of 64 bits are read where 32 are not enough", "[unpack][zip]")
{
	ZipMember member = zip_member("a", words(100));
	std::string local = zip_local(member);
	const std::string sizes = little(1, 2) + little(16, 2) + little(member.size, 8) +
				  little(member.packed.size(), 8);
	local = local.substr(0, 18) + little(UINT64_MAX, 8) + local.substr(26, 2) +
		little(sizes.size() + 6, 2) + little(0x5455, 2) + little(2, 2) + "xx";
	local = local.substr(0, 30) + "a" + little(0x5455, 2) + little(2, 2) + "xx" + sizes;
	std::string central = zip_central(member, 0);
	const std::string three = little(1, 2) + little(24, 2) + little(member.size, 8) +
				  little(member.packed.size(), 8) + little(0, 8);
	central = central.substr(0, 20) + little(UINT64_MAX, 8) + central.substr(28, 2) +
		  little(three.size(), 2) + central.substr(32, 10) + little(UINT32_MAX, 4) + "a" +
		  three;
	const std::string start = local + member.packed;
	const auto end64 = [&](unsigned count, uint64_t at) {
		return "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
		       little(count, 8) + little(count, 8) + little(central.size(), 8) +
		       little(at, 8);
	};
	const auto locator = [&](uint64_t at) {
		return "PK\6\7" + little(0, 4) + little(at, 8) + little(1, 4);
	};
	const uint64_t end_at = start.size() + central.size();
	const std::string wide = start + central + end64(1, start.size()) + locator(end_at);
	const std::string zip = wide + zip_end(UINT16_MAX, UINT32_MAX, UINT32_MAX);
	for (const size_t piece : { size_t(1), SIZE_MAX })
		CHECK(unzip(zip, piece).all() == "a=" + words(100) + ";");
	CHECK(unzip(wide + zip_end(1, central.size(), start.size())).flaws.empty());

	// Each of the four says something else.
	const std::string ends[] = {
		end64(2, start.size()) + locator(end_at) +
			zip_end(UINT16_MAX, UINT32_MAX, UINT32_MAX),
		end64(1, 7) + locator(end_at) + zip_end(1, central.size(), start.size()),
		end64(1, start.size()) + locator(5) + zip_end(UINT16_MAX, UINT32_MAX, UINT32_MAX),
		end64(1, start.size()) + zip_end(UINT16_MAX, UINT32_MAX, UINT32_MAX),
		locator(5) + zip_end(1, central.size(), start.size()),
		end64(1, start.size()) + locator(end_at) + zip_end(2, UINT32_MAX, UINT32_MAX),
		end64(1, start.size()) + locator(end_at) + zip_end(1, UINT32_MAX, 7),
	};
	for (const std::string &end : ends)
		CHECK(unzip(start + central + end).all() == "a=" + words(100) + ";!lying: ");
}

TEST_CASE("a member that is encrypted for some readers alone is a lie", "[unpack][zip]")
{
	const ZipMember plain = zip_member("a", "text");
	ZipMember secret = plain;
	secret.flags = 1;
	for (const bool is_swapped : { false, true }) {
		const ZipMember &local = is_swapped ? plain : secret;
		const std::string start = zip_local(local) + local.packed;
		CHECK(unzip(start + zip_central(is_swapped ? secret : plain, 0) +
			    zip_end(1, 0, start.size()))
			      .has("lying: "));
	}
}

TEST_CASE("a zip that is cut anywhere says so, and gives what is before", "[unpack][zip]")
{
	ZipMember late = zip_member("c", words(20), 0);
	late.flags = 8;
	const std::string zip =
		zip_of({ zip_member("a", words(40)), zip_member("b", words(10), 0), late });
	const std::string whole = unzip(zip).all();
	CHECK(whole.find('!') == std::string::npos);
	for (size_t size = 0; size < zip.size(); size++) {
		const Unpacked cut = unpack_all(CONTENT_ZIP, zip.substr(0, size));
		REQUIRE(cut.flaws.size() == 1);
		REQUIRE(cut.flaws[0].compare(0, 4, size < 4 ? "dama" : "cut:") == 0);
		REQUIRE(unpack_all(CONTENT_ZIP, zip.substr(0, size), UNPACK_BUDGET, 5, false)
				.flaws.empty());
	}
}

TEST_CASE("a record that lies about its size hides no member", "[unpack][zip]")
{
	// Readers that go by the directory do not see what is before.
	const std::string zip = zip_of({ zip_member("a", "text") });
	const std::string mark("PK\3\4", 4);
	ZipMember secret = zip_member("s", std::string(5000, 's'), 0);
	secret.flags = 1;
	ZipMember other = zip_member("o", std::string(5000, 'o'), 0);
	other.method = 99;
	ZipMember late = other;
	late.flags = 8;
	ZipMember lzma = other;
	lzma.method = 14;
	ZipMember late_lzma = lzma;
	late_lzma.flags = 8;
	const std::string bad_lzma("\x10\2\4\0\x5d\0\0\1\0",
				   9); // of four bytes, which must be five
	const std::string befores[] = {
		mark,
		mark + std::string(10, 'x'),
		mark + std::string(22, 'x') + "\xff\xff\xff\xff", // name, extra field
		mark + std::string(22, '\0') + std::string("\0\0\xff\xff\1\0\xf0\xff", 8),
		"PK\1\2" + std::string(24, '\0') + std::string(6, '\xff') + std::string(12, '\0'),
		zip_local(secret),
		zip_local(other) + "data",
		zip_local(late) + "data PK PK\7\10",
		zip_local(lzma) + bad_lzma,
		zip_local(lzma) + bad_lzma.substr(0, 7), // the mark begins in the head of LZMA
		zip_local(lzma) + bad_lzma.substr(0, 4),
		zip_local(late_lzma) + bad_lzma,
	};
	for (const std::string &before : befores) {
		const Unpacked got = unzip(before + zip);
		CHECK(got.all().find("a=text;") != std::string::npos);
		for (const size_t piece : { 1, 3, 17 })
			CHECK(unpack_all(CONTENT_ZIP, before + zip, UNPACK_BUDGET, piece).all() ==
			      got.all());
	}
}

TEST_CASE("limits of a zip", "[unpack][zip][limits]")
{
	std::vector<ZipMember> members(20000, zip_member("m", "", 0));
	const Unpacked many = unzip(zip_of(members));
	CHECK(many.members.size() == 10000);
	CHECK(many.has("members: "));
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.members_left = 20000;
	CHECK(unpack_all(CONTENT_ZIP, zip_of(members), budget).flaws.empty());

	// Each is small enough, all together are not.
	const std::vector<ZipMember> bombs(40, zip_member("b", std::string(500000, 'b')));
	const Unpacked bomb = unzip(zip_of(bombs));
	CHECK(bomb.members.size() < 10);
	CHECK(bomb.has("ratio: b"));
	CHECK(unzip(zip_of(bombs), 1).all() == bomb.all());
}
