// SPDX-License-Identifier: GPL-3.0-or-later
// The first bytes of a capsule.
#include "integration/mail/base/handover/seal.h"

#include "lib/format/bytes.h"
#include "tests/lib/guarded.hh"

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace
{

constexpr uint32_t MAGIC = 0x44423650;
constexpr uint16_t VERSION = 0x0102;

using bytes = std::vector<uint8_t>;

bytes sealed(const std::string &content)
{
	bytes made(SEAL_SIZE, 0);
	made.insert(made.end(), content.begin(), content.end());
	seal_put(made.data(), made.size(), MAGIC, VERSION);
	return made;
}

int check(const bytes &made)
{
	const guarded input(made);
	return seal_check(input.data(), input.size(), MAGIC, VERSION);
}

} // namespace

TEST_CASE("numbers are big-endian, of one to eight bytes", "[mail][seal]")
{
	uint8_t room[8];
	for (unsigned size = 1; size <= 8; size++) {
		CAPTURE(size);
		memset(room, 0xaa, sizeof(room));
		const uint64_t number = UINT64_C(0x0102030405060708) >> (8 * (8 - size));
		seal_put_number(room, size, number);
		for (unsigned i = 0; i < 8; i++)
			CHECK(room[i] == (i < size ? i + 1 : 0xaa));
		CHECK(bytes_get(room, size) == number);
	}
	seal_put_number(room, 8, UINT64_MAX);
	CHECK(bytes_get(room, 8) == UINT64_MAX);
	// What does not fit is cut off in front.
	seal_put_number(room, 1, 0x1ff);
	CHECK(bytes_get(room, 1) == 0xff);
}

TEST_CASE("a seal has magic, version, size and the sum of RFC 1952", "[mail][seal]")
{
	bytes made = sealed("some bytes");
	CHECK(check(made) == 0);
	CHECK(bytes_get(&made[0], 4) == MAGIC);
	CHECK(bytes_get(&made[4], 2) == VERSION);
	CHECK(bytes_get(&made[6], 2) == 0);
	CHECK(bytes_get(&made[8], 4) == made.size());
	const uint64_t said = bytes_get(&made[12], 4);
	memset(&made[12], 0, 4);
	uint32_t sum = 0xffffffff;
	for (const uint8_t byte : made) {
		sum ^= byte;
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
	}
	CHECK(said == (~sum & 0xffffffff));
}

TEST_CASE("the program's own two bytes are sealed, and kept", "[mail][seal]")
{
	bytes made(SEAL_SIZE, 0);
	made[6] = 0x12;
	made[7] = 0x34;
	seal_put(made.data(), made.size(), MAGIC, VERSION);
	CHECK(made[6] == 0x12);
	CHECK(check(made) == 0);
	made[7] = 0x35;
	CHECK(check(made) == SEAL_EBAD);
}

TEST_CASE("what is cut, longer or of which a byte is altered is broken", "[mail][seal]")
{
	const bytes whole = sealed(GENERATE(as<std::string>(), "", "x", "some bytes"));
	unsigned taken = 0;
	for (size_t size = 0; size < whole.size(); size++)
		taken += check({ whole.begin(), whole.begin() + static_cast<long>(size) }) !=
			 SEAL_EBAD;
	bytes longer = whole;
	longer.push_back(0);
	taken += check(longer) != SEAL_EBAD;
	for (size_t i = 0; i < whole.size(); i++) {
		for (unsigned other = 1; other < 256; other++) {
			bytes altered = whole;
			altered[i] ^= static_cast<uint8_t>(other);
			taken += check(altered) != SEAL_EBAD;
		}
	}
	CHECK(taken == 0);
	CHECK(check(whole) == 0);
}

TEST_CASE("a whole one of another version says so, one of another program is broken",
	  "[mail][seal]")
{
	bytes made = sealed("some bytes");
	CHECK(seal_check(made.data(), made.size(), MAGIC, VERSION + 1) == SEAL_EVERSION);
	CHECK(seal_check(made.data(), made.size(), MAGIC + 1, VERSION) == SEAL_EBAD);
	made.back() ^= 1;
	CHECK(seal_check(made.data(), made.size(), MAGIC, VERSION + 1) == SEAL_EBAD);
}

TEST_CASE("each status of a capsule has a text of its own", "[mail][seal]")
{
	CHECK(std::string(seal_strerror(0)) == "success");
	CHECK(std::string(seal_strerror(SEAL_EBAD)) == "cut, altered, or no capsule");
	CHECK(std::string(seal_strerror(SEAL_EVERSION)) == "capsule of another version");
	CHECK(std::string(seal_strerror(SEAL_EVALUE)) == "capsule of what no edge makes");
	CHECK(std::string(seal_strerror(-EMFILE)) == "Too many open files");
}
