// SPDX-License-Identifier: GPL-3.0-or-later
// Compound files: streams, macros, files in documents, and files that lie.
#include <catch2/catch.hpp>

#include "lib/unpack/vba.h"
#include "tests/unit/unpack/compounds.hh"

namespace
{

Unpacked open_ole(const std::string &bytes, struct unpack_budget budget = UNPACK_BUDGET)
{
	return unpack_all(CONTENT_OLE, bytes, budget);
}

const Member *find(const Unpacked &unpacked, const std::string &name)
{
	for (const Member &member : unpacked.members)
		if (member.name == name)
			return &member;
	return nullptr;
}

std::string data_of(const Unpacked &unpacked, const std::string &name)
{
	const Member *member = find(unpacked, name);
	return member != nullptr ? member->data : "none";
}

std::string lines_of(size_t size)
{
	std::string text;
	while (text.size() < size)
		text += "line " + std::to_string(text.size()) + "\n";
	return text.substr(0, size);
}

// A container of MS-OVBA that repeats nothing.
std::string vba_of(const std::string &text)
{
	std::string container = "\1";
	for (size_t at = 0; at < text.size(); at += 3640) {
		const std::string part = text.substr(at, 3640);
		std::string tokens;
		for (size_t i = 0; i < part.size(); i += 8)
			tokens += std::string(1, '\0') + part.substr(i, 8);
		container += little(0xb000 | (tokens.size() - 1), 2) + tokens;
	}
	return container;
}

std::string wide(const std::string &text)
{
	std::string units;
	for (const char byte : text)
		units += little(static_cast<uint8_t>(byte), 2);
	return units;
}

std::string record(unsigned id, const std::string &data)
{
	return little(id, 2) + little(data.size(), 4) + data;
}

std::string module_of(const std::string &name, uint32_t offset)
{
	return record(0x19, name) + record(0x1a, name) + record(0x32, wide(name)) +
	       record(0x31, little(offset, 4)) + record(0x21, "") + record(0x2b, "");
}

std::string dir_of(const std::string &modules)
{
	return record(1, little(1, 4)) + little(9, 2) + little(4, 4) + std::string(6, 'v') +
	       modules;
}

std::string decompressed(const std::string &container, bool *ret_is_whole)
{
	std::string text;
	const std::vector<uint8_t> bytes(container.begin(), container.end());
	*ret_is_whole = vba_decompress(
		bytes.data(), bytes.size(),
		[](void *context, const uint8_t *piece, size_t size) {
			static_cast<std::string *>(context)->append(
				reinterpret_cast<const char *>(piece), size);
			return true;
		},
		&text);
	return text;
}

} // namespace

TEST_CASE("streams of all sizes come out by their paths", "[unpack][ole]")
{
	std::map<std::string, std::string> streams;
	for (const size_t size : { 0, 1, 63, 64, 65, 4095, 4096, 4097, 5000, 20000 })
		streams["s" + std::to_string(size)] = lines_of(size);
	streams["A/B/C/deep"] = "deep";
	streams["A/\1other"] = "other";
	for (const unsigned shift : { 9u, 12u }) {
		for (const bool is_backward : { false, true }) {
			Compound compound(streams);
			compound.shift = shift;
			compound.is_backward = is_backward;
			const Unpacked unpacked = open_ole(compound.bytes());
			CHECK(unpacked.flaws.empty());
			CHECK(unpacked.members.size() == streams.size());
			for (const auto &[path, data] : streams) {
				const bool is_control = path == "A/\1other";
				CHECK(data_of(unpacked, is_control ? "A/?other" : path) == data);
			}
		}
	}
}

TEST_CASE("what stands behind a compound file comes out as well", "[unpack][ole]")
{
	for (const unsigned shift : { 9u, 12u }) {
		Compound compound({ { "s", lines_of(5000) }, { "small", "s" } });
		compound.shift = shift;
		const std::string tail = "MZ" + lines_of(700);
		const Unpacked unpacked = open_ole(compound.bytes() + tail);
		CHECK(unpacked.flaws.empty());
		CHECK(unpacked.members.size() == 3);
		CHECK(data_of(unpacked, "behind") == tail);
	}
}

TEST_CASE("a file with more tables than its header names is read", "[unpack][ole]")
{
	const std::string large = lines_of(8 << 20);
	const Unpacked unpacked = open_ole(compound_of({ { "large", large }, { "small", "s" } }));
	CHECK(unpacked.flaws.empty());
	CHECK((data_of(unpacked, "large") == large));
	CHECK(data_of(unpacked, "small") == "s");
}

TEST_CASE("an installer's names are shown", "[unpack][ole]")
{
	const std::map<std::string, std::string> streams = { { "xx", "1" } };
	Compound compound(streams);
	std::string bytes = compound.bytes();
	// "!AB" and "c": 0x4840, 0x3800 + 10 + 11 * 64, 0x4800 + 38.
	bytes.replace(compound.entry_at("xx"), 6,
		      little(0x4840, 2) + little(0x3800 + 10 + 11 * 64, 2) +
			      little(0x4800 + 38, 2));
	bytes.replace(compound.entry_at("xx") + 64, 2, little(8, 2));
	CHECK(open_ole(bytes).members.at(0).name == "!ABc");
}

TEST_CASE("macros come out as text", "[unpack][ole]")
{
	const std::string text = "Attribute VB_Name = \"Module1\"\r\n" + lines_of(9000);
	const std::string odd = "Rem no attribute\r\n";
	const auto is_found = [](const Unpacked &unpacked, const std::string &name) {
		return data_of(unpacked, "vba/" + name);
	};

	SECTION("by the project's list")
	{
		const Unpacked unpacked = open_ole(compound_of(
			{ { "Macros/VBA/dir",
			    vba_of(dir_of(module_of("Other", 3) + module_of("Module1", 700))) },
			  { "Macros/VBA/module1", std::string(700, 'p') + vba_of(text) },
			  { "Macros/VBA/Other", "ppp" + vba_of(odd) } }));
		CHECK(unpacked.flaws.empty());
		CHECK(is_found(unpacked, "module1") == text);
		CHECK(is_found(unpacked, "Other") == odd);
	}
	SECTION("without it")
	{
		for (const std::string &dir :
		     { std::string(), std::string("no list"), vba_of("no list"),
		       vba_of(dir_of(module_of("Module1", 5))),
		       vba_of(dir_of(module_of("Module1", 0xffffffff))) }) {
			const Unpacked unpacked = open_ole(compound_of(
				{ { "VBA/dir", dir },
				  { "VBA/Module1", std::string(99, 'p') + vba_of(text) } }));
			CHECK(is_found(unpacked, "Module1") == text);
		}
	}
	SECTION("not of other storages")
	{
		const Unpacked unpacked =
			open_ole(compound_of({ { "Other/Module1", vba_of(text) } }));
		CHECK(is_found(unpacked, "Module1") == "none");
	}
	SECTION("damaged")
	{
		const Unpacked unpacked =
			open_ole(compound_of({ { "VBA/Module1", vba_of(text).substr(0, 5000) } }));
		CHECK(text.substr(0, 3640) == is_found(unpacked, "Module1").substr(0, 3640));
		CHECK(unpacked.has("damaged: vba/Module1"));
	}
}

TEST_CASE("the compression of macros is that of MS-OVBA", "[unpack][ole]")
{
	bool is_whole = false;
	// The examples of its part 3.2.
	CHECK(decompressed(
		      std::string("\x01\x19\xb0\x00\x61\x62\x63\x64\x65\x66\x67\x68\x00\x69\x6a\x6b"
				  "\x6c\x6d\x6e\x6f\x70\x00\x71\x72\x73\x74\x75\x76\x2e",
				  29),
		      &is_whole) == "abcdefghijklmnopqrstuv.");
	CHECK(is_whole);
	CHECK(decompressed(
		      std::string("\x01\x2f\xb0\x00\x23\x61\x61\x61\x62\x63\x64\x65\x82\x66\x00\x70"
				  "\x61\x67\x68\x69\x6a\x01\x38\x08\x61\x6b\x6c\x00\x30\x6d\x6e\x6f"
				  "\x70\x06\x71\x02\x70\x04\x10\x72\x73\x74\x75\x76\x10\x77\x78\x79"
				  "\x7a\x00\x3c",
				  51),
		      &is_whole) == "#aaabcdefaaaaghijaaaaaklaaamnopqaaaaaaaaaaaarstuvwxyzaaa");
	CHECK(is_whole);
	CHECK(decompressed(std::string("\x01\x03\xb0\x02\x61\x45\x00", 7), &is_whole) ==
	      std::string(73, 'a'));
	CHECK(is_whole);
	// A chunk as it is; one of another signature; a copy of what is not there; too long.
	CHECK(decompressed("\x01" + little(0x3fff, 2) + std::string(4096, 'r'), &is_whole) ==
	      std::string(4096, 'r'));
	CHECK(is_whole);
	CHECK(decompressed("\x01" + little(0x4fff, 2) + "abc", &is_whole).empty());
	CHECK_FALSE(is_whole);
	CHECK(decompressed(std::string("\x01\x02\xb0\x01\x00\x00", 6), &is_whole).empty());
	CHECK_FALSE(is_whole);
	CHECK(decompressed(std::string("\x01\x05\xb0\x06\x61\xff\x0f\xff\x0f", 9), &is_whole)
		      .size() <= 4096);
	CHECK_FALSE(is_whole);
	CHECK(decompressed("", &is_whole).empty());
	CHECK_FALSE(is_whole);
	CHECK(decompressed("\x02", &is_whole).empty());
	CHECK_FALSE(is_whole);
}

TEST_CASE("files within documents come out", "[unpack][ole]")
{
	const std::string file = lines_of(6000);
	const auto package = [&](const std::string &label, size_t said) {
		const std::string rest = little(2, 2) + label + std::string(1, '\0') + "C:\\" +
					 label + std::string(1, '\0') + little(0x30000, 4) +
					 little(4, 4) + std::string("C:\\\0", 4) + little(said, 4) +
					 file + "trailer";
		return little(rest.size(), 4) + rest;
	};
	const Unpacked unpacked = open_ole(
		compound_of({ { "ObjectPool/_1/\1Ole10Native", package("a.exe", file.size()) },
			      { "ObjectPool/_2/\1Ole10Native", little(file.size(), 4) + file },
			      { "ObjectPool/_3/\1Ole10Native", package("b.exe", 0xffffffff) },
			      { "ObjectPool/_4/\1Ole10Native", "abc" } }));
	CHECK(data_of(unpacked, "a.exe") == file);
	CHECK(data_of(unpacked, "native") == file);
	CHECK(data_of(unpacked, "b.exe") == file + "trailer");
	CHECK(unpacked.has("damaged: b.exe"));
	CHECK(unpacked.flaws.size() == 1);

	const std::string object = deflated(file, 15);
	const auto atom = [](unsigned version, unsigned type, const std::string &data) {
		return little(version, 2) + little(type, 2) + little(data.size(), 4) + data;
	};
	const Unpacked slides = open_ole(compound_of(
		{ { "PowerPoint Document",
		    atom(0, 1, "x") + atom(0xf, 0x3e8, atom(0, 2, "yy")) +
			    atom(0x10, 0x1011, little(file.size(), 4) + object) + little(0, 2) +
			    little(0x1011, 2) + little(99, 4) + "plain" } }));
	CHECK(slides.members.size() == 3);
	CHECK((slides.members.at(1).data == object));
	CHECK(slides.members.at(2).data == "plain");
	CHECK(open_ole(compound_of({ { "PowerPoint Document", "" } })).flaws.empty());
	// However much stands before it, and whatever pieces the file has it in.
	Compound late(
		{ { "PowerPoint Document", atom(0, 1, std::string(13 << 20, 'x')) +
						   atom(0, 0x1011, std::string(9999, 'y')) } });
	late.is_backward = true;
	const Unpacked large = open_ole(late.bytes());
	REQUIRE(large.members.size() == 2);
	CHECK((large.members[1].data == std::string(9999, 'y')));
}

TEST_CASE("what is encrypted is said", "[unpack][ole]")
{
	const auto word = [](unsigned flags) {
		return little(0xa5ec, 2) + std::string(8, '\0') + little(flags, 2) +
		       std::string(500, '\0');
	};
	const auto workbook = [](unsigned id) {
		return little(0x809, 2) + little(16, 2) + std::string(16, '\0') + little(id, 2) +
		       little(2, 2) + "xx";
	};
	CHECK(open_ole(compound_of({ { "EncryptedPackage", "x" }, { "EncryptionInfo", "y" } }))
		      .has("encrypted: EncryptedPackage"));
	CHECK(open_ole(compound_of({ { "WordDocument", word(0x100) } }))
		      .has("encrypted: WordDocument"));
	CHECK(open_ole(compound_of({ { "WordDocument", word(0) } })).flaws.empty());
	CHECK(open_ole(compound_of({ { "Workbook", workbook(0x2f) } })).has("encrypted: Workbook"));
	CHECK(open_ole(compound_of({ { "Book", workbook(0x30) } })).flaws.empty());
	CHECK(open_ole(compound_of({ { "EncryptedSummary", "x" } })).flaws.size() == 1);
}

TEST_CASE("files that lie end somewhere, and give what is there", "[unpack][ole]")
{
	Compound compound({ { "a", lines_of(6000) }, { "b", "small" }, { "S/c", "third" } });
	const std::string good = compound.bytes();
	const auto with = [&](size_t at, uint64_t value, int size) {
		std::string bytes = good;
		bytes.replace(at, static_cast<size_t>(size), little(value, size));
		return open_ole(bytes);
	};

	SECTION("chains")
	{
		const uint32_t start = compound.start_of("a");
		// A loop, and an end outside of the file, behind its second sector.
		for (const uint32_t next : { start, 0x7fffffffu, 0xffffffffu }) {
			const Unpacked unpacked = with(compound.fat_at(start + 1), next, 4);
			CHECK(unpacked.has("damaged: a") == (next != start));
			CHECK(data_of(unpacked, "b") == "small");
		}
		// The size is larger than a file has bytes.
		const Unpacked large = with(compound.entry_at("a") + 120, 0xfffffff0, 4);
		CHECK(large.has("damaged: a"));
		CHECK(data_of(large, "a").substr(0, 6000) == lines_of(6000));
		CHECK(data_of(large, "b") == "small");
		const Unpacked mini = with(compound.entry_at("b") + 120, 4000, 4);
		CHECK(mini.has("damaged: b"));
		CHECK(data_of(mini, "b").substr(0, 5) == "small");
	}
	SECTION("trees")
	{
		// A storage that is its own child, or has none: its stream is there, without its path.
		for (const size_t field : { 68, 72, 76 }) {
			for (const uint32_t number : { 0u, 1u, 3u, 0x7fffffffu, 0xffffffffu }) {
				const Unpacked unpacked =
					with(compound.entry_at("S") + field, number, 4);
				CHECK(unpacked.members.size() == 3);
			}
		}
		CHECK(data_of(with(compound.entry_at("S") + 76, 0xffffffff, 4), "c") == "third");
	}
	SECTION("headers")
	{
		CHECK(open_ole(good.substr(0, 511)).has("damaged: "));
		CHECK(open_ole("no compound file").has("damaged: "));
		for (const unsigned shift : { 0u, 6u, 17u, 64u, 0xffffu })
			CHECK(with(30, shift, 2).has("damaged: "));
		CHECK(with(32, 10, 2).has("damaged: "));
		CHECK(with(48, 0xfffffffe, 4).has("damaged: "));
		CHECK(with(76, 0xffffffff, 4).members.size() <= 4);
	}
	SECTION("cuts")
	{
		for (size_t size = 0; size < good.size(); size += 64)
			CHECK(open_ole(good.substr(0, size)).members.size() <= 4);
	}
}

TEST_CASE("limits are kept", "[unpack][ole]")
{
	std::map<std::string, std::string> streams;
	for (int i = 0; i < 50; i++)
		streams["s" + std::to_string(i)] = "data";
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.members_left = 20;
	const Unpacked few = open_ole(compound_of(streams), budget);
	CHECK(few.members.size() == 20);
	CHECK(few.has("members: "));

	// All streams are the same bytes.
	for (auto &[name, data] : streams)
		data = lines_of(name == "s0" ? 200000 : 5000);
	Compound compound(streams);
	std::string bytes = compound.bytes();
	for (const auto &[name, data] : streams)
		bytes.replace(compound.entry_at(name) + 116, 8,
			      little(compound.start_of("s0"), 4) + little(200000, 4));
	budget = UNPACK_BUDGET;
	budget.total_left = 300000;
	CHECK(open_ole(bytes, budget).has("total size: s1"));
	CHECK(open_ole(bytes, budget).left.total_left == 0);
	budget = UNPACK_BUDGET;
	budget.ratio = 1;
	budget.ratio_from = 1000;
	const Unpacked dense = open_ole(bytes, budget);
	CHECK(dense.has("ratio: "));
}
