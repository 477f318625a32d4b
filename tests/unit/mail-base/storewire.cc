// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/base/store/storewire.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace
{
using bytes = std::vector<uint8_t>;

bytes of_text(const std::string &text)
{
	return bytes(text.begin(), text.end());
}

void add(bytes &to, const bytes &more)
{
	to.insert(to.end(), more.begin(), more.end());
}

bytes number(uint64_t value, unsigned size)
{
	bytes made(size);
	uint8_t *at = made.data();
	bytes_put(&at, value, size);
	return made;
}

mailid id_of(uint8_t first)
{
	mailid id;
	for (uint8_t i = 0; i < MAILID_SIZE; i++)
		id.bytes[i] = static_cast<uint8_t>(first + i);
	return id;
}

bytes encode(const storewire_request &request)
{
	uint8_t out[STOREWIRE_REQUEST_HEAD + MAILBOX_NAME_MAX];
	const size_t size = storewire_encode_request(&request, out);
	return bytes(out, out + size);
}

int decode(const bytes &packet, storewire_request &ret_request)
{
	// In memory of exactly that size, for the sanitizer.
	return storewire_decode_request(packet.data(), packet.size(), &ret_request);
}

int decode(const bytes &packet, storewire_reply &ret_reply)
{
	return storewire_decode_reply(packet.data(), packet.size(), &ret_reply);
}

// As the table in storewire.h has it.
bytes request_of(uint8_t type, uint8_t flags, const std::string &name, const std::string &memory)
{
	bytes packet = of_text("Msr1");
	add(packet, { type, flags, 0, 0 });
	add(packet, number(0x0102030405060708, 8));
	add(packet, number(77, 8));
	add(packet, number(UINT64_MAX, 8));
	const mailid id = id_of(0x40);
	add(packet, bytes(id.bytes, id.bytes + MAILID_SIZE));
	add(packet, number(1764000000000001, 8));
	add(packet, { static_cast<uint8_t>(name.size()) });
	add(packet, of_text(name));
	add(packet, of_text(memory));
	return packet;
}

bytes reply_of(uint8_t type, int status, const std::string &rows)
{
	bytes packet = of_text("Msa1");
	add(packet, { type, 0, 0, 0 });
	add(packet, number(0x0102030405060708, 8));
	add(packet, number(static_cast<uint32_t>(status), 4));
	add(packet, number(3, 4));
	add(packet, number(99, 8));
	const mailid id = id_of(0x40);
	add(packet, bytes(id.bytes, id.bytes + MAILID_SIZE));
	add(packet, of_text(rows));
	return packet;
}
} // namespace

TEST_CASE("a request has the bytes that its table says", "[mail-base][storewire]")
{
	const std::string name = GENERATE(std::string(), std::string("anna@example.com"),
					  std::string(MAILBOX_NAME_MAX, 'n'));
	const bool has_id = GENERATE(true, false);
	storewire_request request{};
	request.type = STOREWIRE_LIST;
	request.has_id = has_id;
	request.serial = 0x0102030405060708;
	request.number = 77;
	request.size = UINT64_MAX;
	request.id = id_of(0x40);
	request.time_us = 1764000000000001;
	request.mailbox = { reinterpret_cast<const uint8_t *>(name.data()), name.size() };
	const bytes packet = encode(request);
	CHECK(packet == request_of(STOREWIRE_LIST, has_id ? 1 : 0, name, ""));
	CHECK(packet.size() == STOREWIRE_REQUEST_HEAD + name.size());

	storewire_request found{};
	REQUIRE(decode(packet, found) == 0);
	CHECK(found.type == STOREWIRE_LIST);
	CHECK(found.has_id == has_id);
	CHECK_FALSE(found.has_memory);
	CHECK(found.serial == request.serial);
	CHECK(found.number == 77);
	CHECK(found.size == UINT64_MAX);
	CHECK(found.time_us == 1764000000000001);
	CHECK(memcmp(&found.id, &request.id, sizeof(found.id)) == 0);
	CHECK(found.mailbox.size == name.size());
	CHECK(found.memory_size == 0);
}

TEST_CASE("memory is what follows the name of a request that says so", "[mail-base][storewire]")
{
	const std::string memory = GENERATE(std::string(), std::string("meta and text"),
					    std::string(STOREWIRE_INLINE_MAX, 'x'));
	const bytes packet = request_of(STOREWIRE_DELIVER, 2, "anna", memory);
	storewire_request found{};
	REQUIRE(decode(packet, found) == 0);
	CHECK(found.has_memory);
	CHECK(found.memory_size == memory.size());
	CHECK(found.memory == packet.data() + packet.size() - memory.size());
	CHECK(std::string(reinterpret_cast<const char *>(found.mailbox.bytes), 4) == "anna");
	// Without the flag nothing may follow.
	CHECK(decode(request_of(STOREWIRE_DELIVER, 0, "anna", memory), found) ==
	      (memory.empty() ? 0 : -EPROTO));
}

TEST_CASE("an id of another store is said to be one", "[mail-base][storewire]")
{
	storewire_request request{};
	request.type = STOREWIRE_DELIVER;
	request.has_id = true;
	request.is_moved = true;
	const bytes packet = encode(request);
	CHECK(packet[5] == 5);
	storewire_request found{};
	REQUIRE(decode(packet, found) == 0);
	CHECK(found.is_moved);
	// Without an id there is none of another store.
	CHECK(decode(request_of(STOREWIRE_DELIVER, 4, "", ""), found) == -EPROTO);
}

TEST_CASE("a request that is cut is none, and changes nothing", "[mail-base][storewire]")
{
	const bytes packet = request_of(STOREWIRE_LIST, 1, "anna", "");
	for (size_t size = 0; size < packet.size(); size++) {
		CAPTURE(size);
		storewire_request found{};
		found.serial = 5;
		CHECK(decode(bytes(packet.begin(), packet.begin() + static_cast<long>(size)),
			     found) == -EPROTO);
		CHECK(found.serial == 5);
	}
}

TEST_CASE("requests of other versions, types and flags are none", "[mail-base][storewire]")
{
	storewire_request found{};
	for (unsigned type = 0; type < 256; type++) {
		CAPTURE(type);
		const bool is_one = type > STOREWIRE_HELLO && type < STOREWIRE_TYPES;
		CHECK(decode(request_of(static_cast<uint8_t>(type), 0, "", ""), found) ==
		      (is_one ? 0 : -EPROTO));
	}
	for (unsigned flags = 0; flags < 256; flags++) {
		CAPTURE(flags);
		CHECK(decode(request_of(STOREWIRE_DELIVER, static_cast<uint8_t>(flags), "", ""),
			     found) == (flags < 8 && (flags & 5) != 4 ? 0 : -EPROTO));
		const int ret = decode(
			request_of(STOREWIRE_LIST, static_cast<uint8_t>(flags), "", ""), found);
		CHECK(ret == (flags < 16 && (flags & 5) != 4 ? 0 : -EPROTO));
		CHECK((ret != 0 || found.is_of_all == (flags >= 8)));
	}
	const size_t place = GENERATE(0, 1, 2, 3, 6, 7);
	bytes packet = request_of(STOREWIRE_STAT, 0, "", "");
	packet[place] ^= 1;
	CAPTURE(place);
	CHECK(decode(packet, found) == -EPROTO);
}

TEST_CASE("a reply has the bytes that its table says", "[mail-base][storewire]")
{
	const int status = GENERATE(0, -EIO, MAILSTORE_EQUOTA, INT32_MIN);
	storewire_reply reply{};
	reply.type = STOREWIRE_BOXES;
	reply.serial = 0x0102030405060708;
	reply.status = status;
	reply.count = 3;
	reply.number = 99;
	reply.id = id_of(0x40);
	bytes packet(STOREWIRE_REPLY_HEAD);
	storewire_encode_reply(&reply, packet.data());
	CHECK(packet == reply_of(STOREWIRE_BOXES, status, ""));

	const bytes longer = reply_of(STOREWIRE_BOXES, status, "rows");
	storewire_reply found{};
	REQUIRE(decode(longer, found) == 0);
	CHECK(found.type == STOREWIRE_BOXES);
	CHECK(found.serial == reply.serial);
	CHECK(found.status == status);
	CHECK(found.count == 3);
	CHECK(found.number == 99);
	CHECK(memcmp(&found.id, &reply.id, sizeof(found.id)) == 0);
	CHECK(found.rows == longer.data() + STOREWIRE_REPLY_HEAD);
	CHECK(found.rows_size == 4);
}

TEST_CASE("a reply that is cut, of another version or type, or with a count as its status is none",
	  "[mail-base][storewire]")
{
	storewire_reply found{};
	found.serial = 5;
	const bytes packet = reply_of(STOREWIRE_HELLO, 0, "");
	for (size_t size = 0; size < packet.size(); size++) {
		CAPTURE(size);
		CHECK(decode(bytes(packet.begin(), packet.begin() + static_cast<long>(size)),
			     found) == -EPROTO);
	}
	for (const size_t place : { 0, 1, 2, 3, 5, 6, 7 }) {
		CAPTURE(place);
		bytes changed = packet;
		changed[place] ^= 1;
		CHECK(decode(changed, found) == -EPROTO);
	}
	CHECK(decode(reply_of(STOREWIRE_TYPES, 0, ""), found) == -EPROTO);
	CHECK(decode(reply_of(STOREWIRE_STAT, 1, ""), found) == -EPROTO);
	CHECK(decode(reply_of(STOREWIRE_STAT, INT32_MAX, ""), found) == -EPROTO);
	CHECK(found.serial == 5);
}

TEST_CASE("rows come out as they went in", "[mail-base][storewire]")
{
	const mailentry entry = { 1, id_of(2), 3, UINT64_MAX, 5, 6 };
	uint8_t entry_bytes[STOREWIRE_ENTRY_SIZE];
	mailentry entry_found{};
	storewire_encode_entry(&entry, entry_bytes);
	storewire_decode_entry(entry_bytes, &entry_found);
	CHECK(entry_found.mail == 1);
	CHECK(memcmp(&entry_found.id, &entry.id, sizeof(entry.id)) == 0);
	CHECK(entry_found.octets == 3);
	CHECK(entry_found.wire_size == UINT64_MAX);
	CHECK(entry_found.text_size == 5);
	CHECK(entry_found.time_us == 6);

	const mailrow row = { { 1, 2 }, 3, UINT32_MAX, 5, 6, 7, 8, id_of(9) };
	uint8_t row_bytes[MAILROW_SIZE];
	mailrow row_found{};
	mailrow_encode(&row, row_bytes);
	mailrow_decode(row_bytes, &row_found);
	CHECK(row_found.place.segment == 1);
	CHECK(row_found.place.at == 2);
	CHECK(row_found.size == 3);
	CHECK(row_found.meta_size == UINT32_MAX);
	CHECK(row_found.lines == 5);
	CHECK(row_found.wire_size == 6);
	CHECK(row_found.lsn == 7);
	CHECK(row_found.live == 8);
	CHECK(memcmp(&row_found.id, &row.id, sizeof(row.id)) == 0);
}

TEST_CASE("a body begins behind the head and the meta of its record", "[mail-base][storewire]")
{
	const mailrow row = { { 3, 4096 }, 300, 57, 0, 120, 6, 1, id_of(9) };
	const mailspan body = mailrow_span(&row);
	CHECK(body.segment == 3);
	CHECK(body.at == 4096 + MAILRECORD_HEAD_SIZE + 57);
	CHECK(body.size == 120);
}

TEST_CASE("numbers of a store come out as they went in", "[mail-base][storewire]")
{
	struct mailstore_info info {
	};
	info.facts.mails = 1;
	info.facts.entries = 2;
	info.facts.refused = 3;
	info.facts.next_lsn = 4;
	info.segments = 5;
	info.log_size = 6;
	info.live_size = 7;
	info.sync_count = 8;
	info.written = 9;
	info.copied = 10;
	info.reclaimed = UINT64_MAX;
	info.has_failed = true;
	uint8_t out[STOREWIRE_STAT_SIZE];
	struct mailstore_info found {
	};
	storewire_encode_stat(&info, out);
	storewire_decode_stat(out, &found);
	CHECK(found.facts.mails == 1);
	CHECK(found.facts.entries == 2);
	CHECK(found.facts.refused == 3);
	CHECK(found.facts.next_lsn == 4);
	CHECK(found.segments == 5);
	CHECK(found.log_size == 6);
	CHECK(found.live_size == 7);
	CHECK(found.sync_count == 8);
	CHECK(found.written == 9);
	CHECK(found.copied == 10);
	CHECK(found.reclaimed == UINT64_MAX);
	CHECK(found.has_failed);
}

TEST_CASE("mailboxes follow one another, and one that is cut or has no name ends them",
	  "[mail-base][storewire]")
{
	bytes rows;
	const std::vector<std::string> names = { "a", std::string(MAILBOX_NAME_MAX, 'n'), "\xff" };
	for (const std::string &name : names) {
		uint8_t out[STOREWIRE_BOX_MAX];
		const mailcounts counts = { name.size(), 2 * name.size() };
		const size_t size = storewire_encode_box(
			{ reinterpret_cast<const uint8_t *>(name.data()), name.size() }, &counts,
			out);
		CHECK(size == 17 + name.size());
		rows.insert(rows.end(), out, out + size);
	}
	for (size_t size = 0; size <= rows.size(); size++) {
		CAPTURE(size);
		const bytes cut(rows.begin(), rows.begin() + static_cast<long>(size));
		bytes_input input = { cut.data(), cut.size(), false };
		mailname name{};
		mailcounts counts{};
		size_t count = 0;
		size_t taken = 0;
		while (storewire_next_box(&input, &name, &counts)) {
			REQUIRE(count < names.size());
			CHECK(std::string(reinterpret_cast<const char *>(name.bytes), name.size) ==
			      names[count++]);
			CHECK(counts.octets == 2 * counts.mails);
			taken += 17 + name.size;
		}
		CHECK(input.has_failed == (taken != size));
	}
	const bytes nameless(17, 0);
	bytes_input input = { nameless.data(), nameless.size(), false };
	mailname name{};
	mailcounts counts{};
	CHECK_FALSE(storewire_next_box(&input, &name, &counts));
	CHECK(input.has_failed);
}
