// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/message/compress.h"
#include "tests/lib/dns.hh"

#include <catch2/catch.hpp>

#include <memory>

namespace
{
// A packet of names alone, from offset 12 on.
struct packet {
	std::unique_ptr<compress> names = std::make_unique<compress>();
	bytes wire = bytes(65535);
	size_t at = 12;

	packet()
	{
		compress_begin(names.get());
	}
	// The bytes that name took.
	size_t put(const std::string &name, size_t end = 65535)
	{
		bytes whole = dns::name(name);
		size_t size = compress_put(names.get(), wire.data(), at, end, whole.data());
		at += size;
		return size;
	}
	size_t pointer(size_t offset) const
	{
		return (wire[offset] & 0x3fU) << 8 | wire[offset + 1];
	}
};
} // namespace

TEST_CASE("a name that was written is a pointer, and so is each end of it", "[server][compress]")
{
	packet packet;
	CHECK(packet.put("ns1.example.net.") == 17);
	CHECK(packet.put("ns1.example.net.") == 2);
	CHECK(packet.pointer(29) == 12);
	CHECK(packet.put("example.net.") == 2);
	CHECK(packet.pointer(31) == 16);
	CHECK(packet.put("ns2.example.net.") == 6);
	CHECK(packet.pointer(37) == 16);
	CHECK(packet.put("ns2.example.net.") == 2);
	CHECK(packet.pointer(39) == 33);
}

TEST_CASE("a name of another end leaves those before it known", "[server][compress]")
{
	packet packet;
	CHECK(packet.put("0.2.0.192.bl6.example.") == 23);
	CHECK(packet.put("ns.provider.test.") == 18);
	CHECK(packet.put("hostmaster.bl6.example.") == 13);
	CHECK(packet.put("0.3.0.192.bl6.example.") == 6);
	CHECK(packet.put("mail.provider.test.") == 7);
}

TEST_CASE("a name in another case is the same name", "[server][compress]")
{
	packet packet;
	CHECK(packet.put("bL6.eXample.") == 13);
	CHECK(packet.put("bl6.example.") == 2);
	CHECK(packet.put("a.BL6.EXAMPLE.") == 4);
	// No letters, and not one another's other case either.
	CHECK(packet.put("[.example.") == 4);
	CHECK(packet.put("{.example.") == 4);
}

TEST_CASE("labels are whole: the end of one is no label", "[server][compress]")
{
	packet packet;
	CHECK(packet.put("xexample.") == 10);
	CHECK(packet.put("example.") == 9);
	CHECK(packet.put(".") == 1);
	CHECK(packet.put("example.") == 2);
}

TEST_CASE("a name for which there is no room is not written, and one that fits to the byte is",
	  "[server][compress]")
{
	packet packet;
	CHECK(packet.put("example.", 20) == 0);
	CHECK(packet.names->count == 1);
	CHECK(packet.put("example.", 21) == 9);
	CHECK(packet.put("example.", 22) == 0);
	CHECK(packet.put("example.", 23) == 2);
}

TEST_CASE("what was put and taken back is not pointed to", "[server][compress]")
{
	packet packet;
	packet.put("example.");
	size_t count = packet.names->count;
	packet.put("a.example.");
	compress_forget(packet.names.get(), count);
	CHECK(packet.put("a.example.") == 4);
}

TEST_CASE("nothing is pointed to beyond the reach of a pointer", "[server][compress]")
{
	packet packet;
	packet.at = 0x3ffe;
	CHECK(packet.put("a.b.example.") == 13);
	CHECK(packet.put("a.b.example.") == 13); // "b" lies at 0x4000: out of reach
	packet.at = 0x3fff;
	CHECK(packet.put("b.") == 3);
	CHECK(packet.put("b.") == 2);
}

TEST_CASE("labels beyond the most that are kept are written out", "[server][compress]")
{
	packet packet;
	for (unsigned i = 1; i < COMPRESS_LABELS_MAX; i++)
		packet.put("n" + std::to_string(i) + ".");
	CHECK(packet.names->count == COMPRESS_LABELS_MAX);
	CHECK(packet.put("more.") == 6);
	CHECK(packet.put("more.") == 6);
	CHECK(packet.put("n1.") == 2);
}
