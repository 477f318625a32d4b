// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled help: its directory, its stream, and the LZX in that.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "lib/unpack/apart/unpack_lzx.h"
#include "tests/unit/unpack/unpacking.hh"

namespace
{

// ---- LZX, whose codes have one width for all symbols ----

class Words
{
      public:
	void put(uint32_t value, unsigned count)
	{
		while (count-- > 0)
			bits_.push_back((value >> count & 1) != 0);
	}
	void align()
	{
		while (bits_.size() % 16 != 0)
			bits_.push_back(false);
	}
	std::string bytes()
	{
		std::string text;
		align();
		for (size_t i = 0; i < bits_.size(); i += 16) {
			unsigned word = 0;
			for (size_t k = 0; k < 16; k++)
				word = word << 1 | (bits_[i + k] ? 1 : 0);
			text += little(word, 2);
		}
		return text;
	}

      private:
	std::vector<bool> bits_;
};

struct Token {
	unsigned distance; // 0: a byte
	unsigned length;
	char byte;
};

unsigned extra_of(unsigned slot)
{
	return slot < 4 ? 0 : std::min(17U, slot / 2 - 1);
}

class Lzx
{
      public:
	Lzx(unsigned window_bits, bool is_aligned) : is_aligned_(is_aligned)
	{
		const unsigned slots[] = { 30, 32, 34, 36, 38, 42, 50 };
		symbols_ = 256 + 8 * slots[window_bits - 15];
		words_.put(0, 1);
	}
	// Of one frame at most.
	void block(const std::vector<Token> &tokens, uint32_t size)
	{
		words_.put(is_aligned_ ? 2 : 1, 3);
		words_.put(size, 24);
		for (unsigned i = 0; is_aligned_ && i < 8; i++)
			words_.put(3, 3);
		widths(256, is_first_ ? 10 : 0);
		widths(symbols_ - 256, is_first_ ? 10 : 0);
		widths(249, is_first_ ? 8 : 0);
		is_first_ = false;
		for (const Token &token : tokens)
			put(token);
		words_.align();
	}
	std::string bytes()
	{
		return words_.bytes();
	}

      private:
	// more: than those of the block before.
	void widths(unsigned count, unsigned more)
	{
		const unsigned symbol = (17 - more) % 17;
		for (unsigned i = 0; i < 20; i++)
			words_.put(i == symbol ? 1 : 0, 4);
		words_.put(0, static_cast<unsigned>(count));
	}
	unsigned slot_of(unsigned distance)
	{
		for (unsigned i = 0; i < 3; i++)
			if (last_[i] == distance) {
				std::swap(last_[i], last_[0]);
				return i;
			}
		last_[2] = last_[1];
		last_[1] = last_[0];
		last_[0] = distance;
		unsigned slot = 0;
		unsigned base = 0;
		while (base + (1U << extra_of(slot)) <= distance + 2)
			base += 1U << extra_of(slot++);
		rest_ = distance + 2 - base;
		return slot;
	}
	void put(const Token &token)
	{
		if (token.distance == 0) {
			words_.put(static_cast<uint8_t>(token.byte), 10);
			return;
		}
		const unsigned slot = slot_of(token.distance);
		const unsigned length = token.length - 2;
		words_.put(256 + 8 * slot + std::min(length, 7U), 10);
		if (length >= 7)
			words_.put(length - 7, 8);
		const unsigned extra = extra_of(slot);
		if (slot >= 3 && is_aligned_ && extra >= 3) {
			words_.put(rest_ >> 3, extra - 3);
			words_.put(rest_ & 7, 3);
		} else if (slot >= 3) {
			words_.put(rest_, extra);
		}
	}

	Words words_;
	bool is_aligned_;
	bool is_first_ = true;
	unsigned symbols_;
	unsigned rest_ = 0;
	unsigned last_[3] = { 1, 1, 1 };
};

struct Decoder {
	explicit Decoder(uint32_t window_size)
	    : lzx(static_cast<struct unpack_lzx *>(std::malloc(unpack_lzx_size(window_size))))
	{
		unpack_lzx_init(lzx, window_size);
	}
	~Decoder()
	{
		std::free(lzx);
	}
	Decoder(const Decoder &) = delete;
	Decoder &operator=(const Decoder &) = delete;

	void begin(const std::string &bytes)
	{
		unpack_lzx_begin(lzx, reinterpret_cast<const uint8_t *>(bytes.data()),
				 bytes.size());
	}
	std::string frame()
	{
		const uint8_t *bytes = nullptr;
		const size_t size = unpack_lzx_frame(lzx, &bytes);
		return { reinterpret_cast<const char *>(bytes), size };
	}
	struct unpack_lzx *lzx;
};

// ---- compiled help ----

const std::string packed = "::DataSpace/Storage/MSCompressed/";
constexpr size_t run_size = 2 * UNPACK_LZX_FRAME;

std::string stored_run(const std::string &text)
{
	const uint32_t head = 3U << 28 | static_cast<uint32_t>(text.size()) << 4;
	return little(head >> 16, 2) + little(head & 0xffff, 2) + std::string(12, '\1') + text;
}

std::string number_of(uint64_t value)
{
	std::string text(1, static_cast<char>(value & 0x7f));
	while ((value >>= 7) != 0)
		text.insert(text.begin(), static_cast<char>((value & 0x7f) | 0x80));
	return text;
}

struct File {
	std::string name;
	unsigned section;
	uint64_t offset;
	uint64_t size;
};

struct Help {
	std::string stream;
	std::vector<File> files;
	std::string stored;
	std::string table;
	unsigned version = 3;
	uint32_t page_size = 4096;
	uint64_t directory_size = 0; // that is said; 0: the right one
	uint32_t window = 2;

	std::string control() const
	{
		return little(6, 4) + "LZXC" + little(2, 4) + little(2, 4) + little(window, 4) +
		       little(1, 4);
	}
	std::string page(const std::string &entries, unsigned count) const
	{
		const size_t room = page_size - 22 - entries.size();
		return "PMGL" + little(room + 2, 4) + std::string(12, '\0') + entries +
		       std::string(room, '\0') + little(count, 2);
	}
	std::string pages() const
	{
		std::string text;
		std::string entries;
		unsigned count = 0;
		std::vector<File> all = files;
		const std::string name =
			packed +
			"Transform/{7FC28940-9D31-11D0-9B27-00A0C91E9C7C}/InstanceData/ResetTable";
		all.push_back({ packed + "ControlData", 0, stored.size(), control().size() });
		all.push_back({ name, 0, stored.size() + control().size(), table.size() });
		all.push_back({ packed + "content", 0,
				stored.size() + control().size() + table.size(), stream.size() });
		for (const File &file : all) {
			const std::string entry = number_of(file.name.size()) + file.name +
						  number_of(file.section) + number_of(file.offset) +
						  number_of(file.size);
			if (entries.size() + entry.size() > page_size - 22) {
				text += page(entries, count);
				entries.clear();
				count = 0;
			}
			entries += entry;
			count++;
		}
		return text + page(entries, count);
	}
	std::string bytes() const
	{
		const std::string directory = "ITSP" + little(1, 4) + little(20, 4) +
					      little(10, 4) + little(page_size, 4) + pages();
		const size_t size = directory_size != 0 ? directory_size : directory.size();
		return "ITSF" + little(version, 4) + std::string(64, '\0') + little(96, 8) +
		       little(size, 8) + little(version >= 3 ? 96 + directory.size() : 0, 8) +
		       directory + stored + control() + table + stream;
	}
};

// Of runs that are stored.
Help help_of(const std::vector<std::string> &runs, const std::vector<File> &files)
{
	Help help;
	help.files = files;
	for (const std::string &run : runs) {
		const std::string text = stored_run(run);
		help.table += little(help.stream.size(), 8) +
			      little(help.stream.size() + 16 + UNPACK_LZX_FRAME, 8);
		help.stream += text;
	}
	help.table = little(2, 4) + little(2 * runs.size(), 4) + little(8, 4) + little(40, 4) +
		     little(runs.size() * run_size, 8) + little(help.stream.size(), 8) +
		     little(UNPACK_LZX_FRAME, 8) + help.table;
	return help;
}

std::string taken_from(const Help &help, struct unpack_budget budget = UNPACK_BUDGET)
{
	const std::string bytes = help.bytes();
	const std::string all = unpack_all(CONTENT_CHM, bytes, budget).all();
	CHECK(unpack_all(CONTENT_CHM, bytes, budget, 1000).all() == all);
	return all;
}

} // namespace

TEST_CASE("LZX comes out of blocks of both codes, with any window", "[unpack][lzx]")
{
	for (const bool is_aligned : { false, true }) {
		for (unsigned bits = 15; bits <= 21; bits++) {
			INFO(bits);
			std::mt19937 random(bits);
			Lzx lzx(bits, is_aligned);
			std::string text;
			const size_t frames = ((size_t)2 << bits) / UNPACK_LZX_FRAME;
			for (size_t frame = 0; frame < frames; frame++) {
				std::vector<Token> tokens;
				const size_t end = text.size() + UNPACK_LZX_FRAME;
				unsigned last = 1;
				while (text.size() < end) {
					const size_t left = end - text.size();
					const unsigned most = static_cast<unsigned>(
						std::min({ text.size(), (size_t)1 << bits }));
					// Of any number of bits, and what was met before.
					unsigned distance = random() >> (random() % 30 + 2);
					if (random() % 4 == 0)
						distance = last;
					Token token = { 0, 1, static_cast<char>(random()) };
					if (distance > 0 && distance <= most && left >= 2 &&
					    text.size() > 100)
						token = { distance,
							  2 + static_cast<unsigned>(
								      random() %
								      std::min(left - 1,
									       (size_t)256)),
							  0 };
					for (unsigned i = 0; i < token.length; i++)
						text += token.distance == 0 ? token.byte
									    : text[text.size() -
										   token.distance];
					last = token.distance;
					tokens.push_back(token);
				}
				lzx.block(tokens, UNPACK_LZX_FRAME);
			}
			Decoder decoder(1U << bits);
			const std::string bytes = lzx.bytes();
			decoder.begin(bytes);
			bool is_same = true;
			for (size_t frame = 0; frame < frames; frame++)
				is_same = is_same &&
					  decoder.frame() == text.substr(frame * UNPACK_LZX_FRAME,
									 UNPACK_LZX_FRAME);
			CHECK(is_same);
			CHECK(decoder.frame().empty());
		}
	}
}

TEST_CASE("LZX that is wrong ends where it is", "[unpack][lzx]")
{
	CHECK(unpack_lzx_size(1 << 14) == 0);
	CHECK(unpack_lzx_size(3 << 15) == 0);
	CHECK(unpack_lzx_size(1 << 22) == 0);
	Lzx far(16, false);
	far.block({ { 0, 1, 'a' }, { 1, 3, 0 }, { 5, 3, 0 } }, 7);
	Lzx longer(16, false);
	longer.block({ { 0, 1, 'a' }, { 1, 10, 0 } }, 10);
	Lzx empty(16, false);
	empty.block({}, 0);
	Decoder decoder(1 << 16);
	for (const auto &[bytes, expected] :
	     { std::make_pair(far.bytes(), std::string("aaaa")),
	       std::make_pair(longer.bytes(), std::string("a")),
	       std::make_pair(empty.bytes(), std::string()),
	       std::make_pair(std::string("\0\0", 2), std::string()),
	       std::make_pair(std::string(), std::string()) }) {
		decoder.begin(bytes);
		CHECK(decoder.frame().substr(0, 4) == expected);
		CHECK(decoder.frame().empty());
	}
}

TEST_CASE("LZX copies nothing that was never written", "[unpack][lzx]")
{
	const std::string bad = stored_run(std::string(100, 'x'));
	Lzx far(16, false);
	far.block({ { 0, 1, 'a' }, { 50, 3, 0 } }, 4);
	const std::string bytes = far.bytes();
	Decoder decoder(1 << 16);
	std::memset(decoder.lzx->window, 'y', 1 << 16);
	decoder.begin(bad);
	CHECK(decoder.frame() == std::string(100, 'x'));
	decoder.begin(bytes);
	CHECK(decoder.frame() == "a");
}

TEST_CASE("files of compiled help come out in the order of their stream", "[unpack][chm]")
{
	const std::string first = std::string(run_size - 3, 'x') + "abc";
	const std::string last = "def" + std::string(run_size - 3, 'y');
	Help help = help_of({ first, last }, { { "/later", 1, run_size - 2, 4 },
					       { "/early", 1, run_size - 3, 1 },
					       { "/", 0, 0, 0 },
					       { "/plain", 0, 6, 5 },
					       { "/in it", 1, run_size - 1, 2 },
					       { "/again", 1, run_size - 3, 6 } });
	help.stored = "beforebytes";
	const std::string all = "plain=bytes;early=a;again=abcdef;later=bcde;in it=cd;";
	CHECK(taken_from(help) == all);
	help.page_size = 160;
	CHECK(taken_from(help) == all);
	help.directory_size = 100;
	CHECK(taken_from(help) == all);
	help.directory_size = 0;
	help.version = 2;
	CHECK(taken_from(help) == all);
}

TEST_CASE("what is wrong in compiled help hides nothing else", "[unpack][chm]")
{
	const std::string run(run_size, 'x');
	const std::vector<File> files = { { "a", 0, 0, 2 },
					  { "b", 0, 1, 9000000 },
					  { "c", 0, UINT64_MAX / 4, 1 },
					  { "d", 1, run_size - 1, 3 },
					  { "e", 1, 3 * run_size - 1, 2 },
					  { "f", 1, UINT64_MAX / 4, 1 } };
	Help help = help_of({ run, run, run }, files);
	help.stored = "ok";
	const std::string bad = "a=ok;b=|c=|";
	const std::string told = "!damaged: b!damaged: c";
	CHECK(taken_from(help) == bad + "d=xxx;e=x|f=|" + told + "!damaged: e!damaged: f");
	Help torn = help;
	torn.stream[run_size + 17] = '\x70'; // the type of the second run's block
	CHECK(taken_from(torn) == bad + "d=x|e=x|f=|" + told + "!damaged: d!damaged: e!damaged: f");
	Help odd = help;
	odd.window = 3;
	CHECK(taken_from(odd) == bad + "d=|e=|f=|" + told + "!damaged: d!damaged: e!damaged: f");
	odd = help;
	odd.table.clear();
	CHECK(taken_from(odd) == bad + "d=|e=|f=|" + told + "!damaged: d!damaged: e!damaged: f");
	// A program's calls are rewritten: its first bit.
	help.files = { { "d", 1, 0, 1 } };
	help.stream.insert(0, "\0\x80\0\0\x80\0", 6);
	CHECK(taken_from(help).find("!unsupported method: ") != std::string::npos);
}

TEST_CASE("a directory of compiled help that is none is told", "[unpack][chm]")
{
	const std::string bytes = help_of({ "x" }, { { "a", 1, 0, 1 } }).bytes();
	CHECK(unpack_all(CONTENT_CHM, bytes).all() == "a=x;");
	CHECK(unpack_all(CONTENT_CHM, bytes.substr(0, 90)).all() == "!damaged: ");
	CHECK(unpack_all(CONTENT_CHM, bytes.substr(0, 100)).all() == "!damaged: ");
	std::string page = bytes;
	page[page.find("PMGL") + 20] = '\x7e'; // the size of the first name
	CHECK(unpack_all(CONTENT_CHM, page).all().find("!damaged: ") != std::string::npos);
}

TEST_CASE("compiled help that comes out of few bytes ends at limits", "[unpack][chm]")
{
	std::vector<File> files;
	for (unsigned i = 0; i < 3000; i++)
		files.push_back({ std::to_string(i), 1, (i % 2 * 2 + 1) * UNPACK_LZX_FRAME, 1 });
	const std::string run(run_size, 'x');
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.members_left = 100;
	std::string all = taken_from(help_of({ run, run }, files), budget);
	CHECK(all.find("!members: ") != std::string::npos);
	// Those that are in one another, each of all there is.
	for (File &file : files)
		file = { file.name, 1, 1, 2 * run_size - 1 };
	all = taken_from(help_of({ run, run }, files));
	CHECK(all.find("!ratio: ") != std::string::npos);
	CHECK(all.size() < 200 * (4 * run_size));
	budget = UNPACK_BUDGET;
	budget.ratio = 0;
	budget.total_left = 10 * run_size;
	all = taken_from(help_of({ run, run }, files), budget);
	CHECK(all.find("!total size: ") != std::string::npos);
	// What is decoded for nothing counts as well: a frame before each, but one.
	for (File &file : files)
		file = { file.name, 1, 1, UNPACK_LZX_FRAME };
	budget.total_left = 5 * UNPACK_LZX_FRAME;
	const Unpacked unpacked = unpack_all(CONTENT_CHM, help_of({ run }, files).bytes(), budget);
	CHECK(unpacked.members.size() == 4);
	CHECK(unpacked.has("total size: 3"));
}
