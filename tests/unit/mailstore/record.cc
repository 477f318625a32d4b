// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/mailstore/mailbody.h"
#include "lib/mailstore/mailrecord.h"

#include "lib/format/hex.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace
{
using bytes = std::vector<uint8_t>;

// Of lib/mailstore/vectors.txt.
bytes vector_of(const std::string &wanted)
{
	std::ifstream file("lib/mailstore/vectors.txt");
	std::string line;
	while (std::getline(file, line)) {
		std::istringstream words(line);
		std::string name;
		std::string digits;
		words >> name >> digits;
		if (name != wanted)
			continue;
		bytes found;
		for (size_t i = 0; i + 1 < digits.size(); i += 2)
			found.push_back(
				uint8_t(hex_value(digits[i]) << 4 | hex_value(digits[i + 1])));
		return found;
	}
	FAIL("no vector " << wanted);
	return {};
}

mailidentity identity_of_vectors()
{
	mailidentity identity{};
	for (unsigned i = 0; i < 16; i++) {
		identity.store[i] = uint8_t(i);
		identity.key[i] = uint8_t(0xf0 + i);
	}
	identity.segment_size = 64U << 20;
	return identity;
}

std::string text_of(mailname name)
{
	return std::string(reinterpret_cast<const char *>(name.bytes), name.size);
}

const uint64_t PLACE = 128;
} // namespace

TEST_CASE("the checksum is CRC-32C", "[mailstore][record]")
{
	CHECK(mailrecord_crc(0, "123456789", 9) == 0xe3069283U);
	CHECK(mailrecord_crc(mailrecord_crc(0, "1234", 4), "56789", 5) == 0xe3069283U);
	CHECK(mailrecord_crc(0, "", 0) == 0);
}

TEST_CASE("identity and segment are as MAILSTORE.md has them", "[mailstore][record]")
{
	const mailidentity identity = identity_of_vectors();
	const bytes wanted = vector_of("identity");
	bytes made(MAILIDENTITY_SIZE);
	mailidentity back{};
	mailidentity_encode(&identity, made.data());
	CHECK(made == wanted);
	REQUIRE(mailidentity_decode(wanted.data(), wanted.size(), &back) == 0);
	CHECK(back.segment_size == identity.segment_size);
	CHECK(memcmp(back.key, identity.key, sizeof(back.key)) == 0);

	const bool has_id = GENERATE(true, false);
	const bytes segment = vector_of(has_id ? "segment" : "older");
	mailsegment_head head{};
	REQUIRE(mailsegment_decode(segment.data(), segment.size(), &head) == 0);
	CHECK(head.number == 7);
	CHECK(int(head.generation) == 1);
	CHECK(head.id == (has_id ? 0x2122232425262728U : 0));
	CHECK(memcmp(head.store, identity.store, sizeof(head.store)) == 0);
	mailsegment_encode(&head, made.data());
	CHECK(made == segment);
}

TEST_CASE("a mail's record is as MAILSTORE.md has it", "[mailstore][record]")
{
	const mailidentity identity = identity_of_vectors();
	const bytes wanted = vector_of("mail");
	const uint32_t seed = mailrecord_seed(&identity, 7, PLACE);
	mailrecord record{};
	mailmeta meta{};
	mailname name{};
	REQUIRE(mailrecord_decode(wanted.data(), &record) == 0);
	REQUIRE(record.size == wanted.size());
	const uint8_t *meta_bytes = wanted.data() + MAILRECORD_HEAD_SIZE;
	CHECK(mailrecord_check(wanted.data(), meta_bytes, record.meta_size, seed) == 0);
	CHECK(record.lsn == 41);
	CHECK(record.mail == 41);
	CHECK(record.synced == 64);
	CHECK(record.time_us == 1795000000000000U);
	CHECK(record.text_size == 21);
	CHECK(record.octets == 25);
	CHECK(record.wire_size == 26);
	REQUIRE(mailmeta_decode(meta_bytes, record.meta_size, &meta) == 0);
	CHECK(text_of(meta.sender) == "carl@example.net");
	CHECK(meta.recipient_count == 2);
	REQUIRE(mailmeta_next(&meta, &name));
	CHECK(text_of(name) == "anna@example.com");
	REQUIRE(mailmeta_next(&meta, &name));
	CHECK(text_of(name) == "bert@example.com");
	CHECK_FALSE(mailmeta_next(&meta, &name));

	const uint8_t *body = wanted.data() + mailrecord_body_at(&record);
	CHECK(std::string(body, body + record.wire_size + MAILRECORD_END_SIZE) ==
	      "Subject: x\r\n\r\n..dot\r\nend\r\n.\r\n");
	CHECK(mailrecord_crc(0, body, record.wire_size) == record.body_crc);

	bytes head(MAILRECORD_HEAD_SIZE);
	mailrecord_encode(&record, meta_bytes, seed, head.data());
	CHECK(bytes(wanted.begin(), wanted.begin() + MAILRECORD_HEAD_SIZE) == head);
}

TEST_CASE("a deletion is as MAILSTORE.md has it", "[mailstore][record]")
{
	const mailidentity identity = identity_of_vectors();
	const bytes wanted = vector_of("deletion");
	mailrecord record{};
	maildeletion deletion{};
	REQUIRE(mailrecord_decode(wanted.data(), &record) == 0);
	const uint8_t *meta = wanted.data() + MAILRECORD_HEAD_SIZE;
	const uint64_t place = PLACE + vector_of("mail").size();
	CHECK(mailrecord_check(wanted.data(), meta, record.meta_size,
			       mailrecord_seed(&identity, 7, place)) == 0);
	REQUIRE(maildeletion_decode(meta, record.meta_size, &deletion) == 0);
	CHECK(text_of(deletion.mailbox) == "anna@example.com");
	REQUIRE(deletion.count == 2);
	CHECK(maildeletion_mail(&deletion, 0) == 41);
	CHECK(maildeletion_mail(&deletion, 1) == 40);
}

TEST_CASE("an id is of the store whose key made it", "[mailstore][record]")
{
	const mailidentity identity = identity_of_vectors();
	const bytes wanted = vector_of("id");
	const uint8_t random[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	mailid id{};
	mailid back{};
	char text[MAILID_TEXT_SIZE];
	REQUIRE(mailid_make(identity.key, random, &id) == 0);
	CHECK(bytes(id.bytes, id.bytes + MAILID_SIZE) == wanted);
	CHECK(mailid_is_of(identity.key, &id));
	mailid_format(&id, text);
	REQUIRE(mailid_parse(text, &back) == 0);
	CHECK(memcmp(id.bytes, back.bytes, MAILID_SIZE) == 0);
	id.bytes[0] ^= 1;
	CHECK_FALSE(mailid_is_of(identity.key, &id));
	for (const char *bad :
	     { "", "0", "0102030405060708E99A7341D7C26CEB", "0102030405060708e99a7341d7c26ceb0",
	       "0102030405060708e99a7341d7c26ce " })
		CHECK(mailid_parse(bad, &back) == -EINVAL);
}

TEST_CASE("a record with any bit changed, or in another place, is none", "[mailstore][record]")
{
	const mailidentity identity = identity_of_vectors();
	const bytes wanted = vector_of("mail");
	const uint32_t seed = mailrecord_seed(&identity, 7, PLACE);
	mailrecord record{};
	REQUIRE(mailrecord_decode(wanted.data(), &record) == 0);
	const size_t size = MAILRECORD_HEAD_SIZE + record.meta_size;
	const auto is_whole = [&](const bytes &changed, uint32_t with) {
		mailrecord found{};
		return mailrecord_decode(changed.data(), &found) == 0 &&
		       found.meta_size == record.meta_size &&
		       mailrecord_check(changed.data(), changed.data() + MAILRECORD_HEAD_SIZE,
					found.meta_size, with) == 0;
	};
	REQUIRE(is_whole(wanted, seed));
	CHECK_FALSE(is_whole(wanted, mailrecord_seed(&identity, 8, PLACE)));
	CHECK_FALSE(is_whole(wanted, mailrecord_seed(&identity, 7, PLACE + 8)));
	for (size_t bit = 0; bit < 8 * size; bit++) {
		bytes changed = wanted;
		changed[bit / 8] = uint8_t(changed[bit / 8] ^ 1U << bit % 8);
		CAPTURE(bit);
		CHECK_FALSE(is_whole(changed, seed));
	}
}
