// SPDX-License-Identifier: GPL-3.0-or-later
// What a store keeps: lib/format says what vectors.txt says, in both directions.

#include "tests/lib/guarded.hh"
#include "tests/unit/vectors.hh"

#include "lib/format/bytes.h"
#include "lib/format/record.h"
#include "lib/format/wellknown.h"

#include <catch2/catch.hpp>

#include <set>

// ---- bitmaps and records ----

static dnsblv6_bitmap bitmap_of(const std::string &hex)
{
	dnsblv6_bitmap map;
	const bytes raw = from_hex(hex);
	REQUIRE(raw.size() == sizeof(map.bytes));
	memcpy(map.bytes, raw.data(), raw.size());
	return map;
}

static std::string hex_of(const dnsblv6_bitmap &map)
{
	return to_hex(map.bytes, sizeof(map.bytes));
}

TEST_CASE("a bitmap has the bits of its hosts and no others", "[format][vectors][bitmap]")
{
	const vector_case c = EACH("bitmap");
	CAPTURE(c);
	dnsblv6_bitmap map = {};
	std::set<unsigned> hosts;
	for (const std::string &part : split(c[0] == "-" ? "" : c[0], ',')) {
		const std::vector<std::string> ends = split(part, '-');
		const auto first = static_cast<unsigned>(std::stoul(ends.front()));
		const auto last = static_cast<unsigned>(std::stoul(ends.back()));
		dnsblv6_bitmap_add_range(&map, first, last);
		for (unsigned host = first; host <= last; host++)
			hosts.insert(host);
	}
	CHECK(hex_of(map) == c[1]);
	CHECK(dnsblv6_bitmap_count(&map) == hosts.size());
	CHECK(dnsblv6_bitmap_is_empty(&map) == hosts.empty());
	CHECK(dnsblv6_bitmap_is_full(&map) == (hosts.size() == 128));
	for (unsigned host = 0; host < 128; host++)
		CHECK(dnsblv6_bitmap_get(&map, host) == (hosts.count(host) > 0));

	uint8_t aaaa[16];
	REQUIRE(inet_pton(AF_INET6, c[2].c_str(), aaaa) == 1);
	CHECK(to_hex(aaaa, sizeof(aaaa)) == c[1]);
}

TEST_CASE("a bitmap record is its kind and its bitmap", "[format][vectors][record]")
{
	const vector_case c = EACH("bitmap-record");
	CAPTURE(c);
	const dnsblv6_bitmap map = bitmap_of(c[0]);
	uint8_t data[DNSBLV6_BITMAP_RECORD_SIZE];
	dnsblv6_record_encode_bitmap(&map, data);
	CHECK(to_hex(data, sizeof(data)) == c[1]);

	const guarded record(from_hex(c[1]));
	dnsblv6_bitmap decoded;
	CHECK(dnsblv6_record_kind(record.data(), record.size()) == DNSBLV6_RECORD_BITMAP);
	REQUIRE(dnsblv6_record_decode_bitmap(record.data(), record.size(), &decoded) == DNSBLV6_OK);
	CHECK(hex_of(decoded) == c[0]);
}

// "TYPE/TTL/RDATA" of each RR, and how the walk ended.
static int walk_rrs(const guarded &record, std::vector<std::string> *ret_rrs)
{
	dnsblv6_rr rr;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_record_next_rr(record.data(), record.size(), &offset, &rr)) ==
	       DNSBLV6_OK)
		ret_rrs->push_back(std::to_string(rr.type) + "/" + std::to_string(rr.ttl) + "/" +
				   to_hex(rr.rdata, rr.rdata_size));
	return ret;
}

static dnsblv6_signature signature_of(const vector_case &c, size_t index)
{
	dnsblv6_signature signature = {};
	signature.inception = static_cast<uint32_t>(std::stoul(c[index]));
	signature.expiration = static_cast<uint32_t>(std::stoul(c[index + 1]));
	signature.key_tag = static_cast<uint16_t>(std::stoul(c[index + 2]));
	const bytes made = from_hex(c[index + 3]);
	REQUIRE(made.size() == DNSBLV6_SIGNATURE_BYTES);
	memcpy(signature.bytes, made.data(), made.size());
	return signature;
}

static void check_signature(const dnsblv6_signature &got, const dnsblv6_signature &wanted)
{
	CHECK(got.inception == wanted.inception);
	CHECK(got.expiration == wanted.expiration);
	CHECK(got.key_tag == wanted.key_tag);
	CHECK(to_hex(got.bytes, sizeof(got.bytes)) == to_hex(wanted.bytes, sizeof(wanted.bytes)));
}

TEST_CASE("a signed bitmap record has two signatures behind its bitmap",
	  "[format][vectors][record]")
{
	const vector_case c = EACH("signed-bitmap-record");
	CAPTURE(c);
	dnsblv6_bitmap map;
	memcpy(map.bytes, from_hex(c[0]).data(), sizeof(map.bytes));
	const dnsblv6_signatures signatures = { signature_of(c, 1), signature_of(c, 5) };
	uint8_t data[DNSBLV6_SIGNED_BITMAP_RECORD_SIZE];
	dnsblv6_record_encode_signed_bitmap(&map, &signatures, data);
	CHECK(to_hex(data, sizeof(data)) == c[9]);

	const guarded record(from_hex(c[9]));
	dnsblv6_bitmap got_map;
	dnsblv6_signatures got;
	REQUIRE(dnsblv6_record_kind(record.data(), record.size()) == DNSBLV6_RECORD_BITMAP);
	REQUIRE(dnsblv6_record_decode_bitmap(record.data(), record.size(), &got_map) == DNSBLV6_OK);
	CHECK(to_hex(got_map.bytes, sizeof(got_map.bytes)) == c[0]);
	REQUIRE(dnsblv6_record_decode_signatures(record.data(), record.size(), &got) == DNSBLV6_OK);
	check_signature(got.aaaa, signatures.aaaa);
	check_signature(got.nsec, signatures.nsec);
}

TEST_CASE("while one algorithm follows another a bitmap record has four signatures",
	  "[format][vectors][record]")
{
	const vector_case c = EACH("twice-signed-bitmap-record");
	CAPTURE(c);
	dnsblv6_bitmap map;
	memcpy(map.bytes, from_hex(c[0]).data(), sizeof(map.bytes));
	const dnsblv6_signatures signatures[] = { { signature_of(c, 1), signature_of(c, 5) },
						  { signature_of(c, 9), signature_of(c, 13) } };
	uint8_t data[DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE];
	dnsblv6_record_encode_twice_signed_bitmap(&map, signatures, data);
	CHECK(to_hex(data, sizeof(data)) == c[17]);

	const guarded record(from_hex(c[17]));
	dnsblv6_bitmap got_map;
	dnsblv6_signatures got;
	REQUIRE(dnsblv6_record_decode_bitmap(record.data(), record.size(), &got_map) == DNSBLV6_OK);
	CHECK(to_hex(got_map.bytes, sizeof(got_map.bytes)) == c[0]);
	REQUIRE(dnsblv6_record_decode_signatures(record.data(), record.size(), &got) == DNSBLV6_OK);
	check_signature(got.aaaa, signatures[0].aaaa);
	check_signature(got.nsec, signatures[0].nsec);
	REQUIRE(dnsblv6_record_decode_other_signatures(record.data(), record.size(), &got) ==
		DNSBLV6_OK);
	check_signature(got.aaaa, signatures[1].aaaa);
	check_signature(got.nsec, signatures[1].nsec);
}

TEST_CASE("a bitmap record that was signed once has no other signatures",
	  "[format][vectors][record]")
{
	const vector_case c = EACH("signed-bitmap-record");
	const guarded record(from_hex(c[9]));
	dnsblv6_signatures signatures;
	CHECK(dnsblv6_record_decode_other_signatures(record.data(), record.size(), &signatures) ==
	      DNSBLV6_ENOTFOUND);
}

TEST_CASE("a bitmap record of an unsigned zone has no signatures", "[format][vectors][record]")
{
	const vector_case c = EACH("bitmap-record");
	CAPTURE(c);
	const guarded record(from_hex(c[1]));
	dnsblv6_signatures signatures;
	CHECK(dnsblv6_record_decode_signatures(record.data(), record.size(), &signatures) ==
	      DNSBLV6_ENOTFOUND);
}

TEST_CASE("an RRsets record is a row of RRs", "[format][vectors][record]")
{
	const vector_case c = EACH("rrsets-record");
	CAPTURE(c);
	const std::vector<std::string> wanted(c.fields.begin() + 1, c.fields.end());
	const guarded record(from_hex(c[0]));
	std::vector<std::string> found;
	CHECK(dnsblv6_record_kind(record.data(), record.size()) == DNSBLV6_RECORD_RRSETS);
	CHECK(walk_rrs(record, &found) == DNSBLV6_ENOTFOUND);
	CHECK(found == wanted);

	std::vector<bytes> rdatas;
	std::vector<dnsblv6_rr> rrs;
	for (const std::string &field : wanted)
		rdatas.push_back(from_hex(split(field, '/')[2]));
	for (size_t i = 0; i < wanted.size(); i++) {
		const std::vector<std::string> parts = split(wanted[i], '/');
		dnsblv6_rr rr = {};
		rr.type = static_cast<uint16_t>(std::stoul(parts[0]));
		rr.ttl = static_cast<uint32_t>(std::stoul(parts[1]));
		rr.rdata = rdatas[i].data();
		rr.rdata_size = static_cast<uint16_t>(rdatas[i].size());
		rrs.push_back(rr);
	}
	bytes data(record.size());
	size_t size = 0;
	REQUIRE(dnsblv6_record_encode_rrs(rrs.data(), rrs.size(), data.data(), data.size(),
					  &size) == DNSBLV6_OK);
	CHECK(size == record.size());
	CHECK(to_hex(data) == c[0]);
	CHECK(dnsblv6_record_encode_rrs(rrs.data(), rrs.size(), data.data(), data.size() - 1,
					&size) == DNSBLV6_ESPACE);
}

TEST_CASE("a damaged record is refused", "[format][vectors][record]")
{
	const vector_case c = EACH("record-refused");
	CAPTURE(c);
	const guarded record(from_hex(c[0]));
	dnsblv6_bitmap map = {};
	std::vector<std::string> ignored;
	CHECK(dnsblv6_record_decode_bitmap(record.data(), record.size(), &map) == DNSBLV6_ERECORD);
	CHECK(dnsblv6_bitmap_is_empty(&map));
	CHECK(walk_rrs(record, &ignored) == DNSBLV6_ERECORD);
	dnsblv6_signatures signatures;
	CHECK(dnsblv6_record_decode_signatures(record.data(), record.size(), &signatures) ==
	      DNSBLV6_ERECORD);
	const int kind = dnsblv6_record_kind(record.data(), record.size());
	const bool begins_well = c[0].substr(0, 2) == "01" || c[0].substr(0, 2) == "02";
	CHECK((kind == DNSBLV6_ERECORD) == !begins_well);
}

// ---- segments and sets ----

TEST_CASE("a segment is kept under its origin and last address", "[format][vectors][segment]")
{
	const vector_case c = EACH("segment");
	CAPTURE(c);
	const auto origin = static_cast<uint16_t>(std::stoul(c[0]));
	const dnsblv6_segment segment = { address_of(c[1]), address_of(c[2]),
					  static_cast<uint32_t>(std::stoul(c[3])) };
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	uint8_t data[DNSBLV6_SEGMENT_MAX];
	const size_t key_size = dnsblv6_segment_make_key(origin, segment.last, key);
	CHECK(to_hex(key, key_size) == c[4]);
	const size_t data_size = dnsblv6_segment_encode(&segment, data);
	CHECK(to_hex(data, data_size) == c[5]);

	const guarded k(from_hex(c[4]));
	const guarded v(from_hex(c[5]));
	uint16_t got_origin;
	dnsblv6_segment got;
	REQUIRE(dnsblv6_segment_decode(k.data(), k.size(), v.data(), v.size(), &got_origin, &got) ==
		DNSBLV6_OK);
	CHECK(got_origin == origin);
	CHECK(got.first == segment.first);
	CHECK(got.last == segment.last);
	CHECK(got.set == segment.set);
}

TEST_CASE("a damaged segment is refused", "[format][vectors][segment]")
{
	const vector_case c = EACH("segment-refused");
	CAPTURE(c);
	const guarded k(from_hex(c[0]));
	const guarded v(from_hex(c[1]));
	uint16_t origin = 7;
	dnsblv6_segment segment;
	CHECK(dnsblv6_segment_decode(k.data(), k.size(), v.data(), v.size(), &origin, &segment) ==
	      DNSBLV6_ERECORD);
	CHECK(origin == 7);
}

static int walk_set(const guarded &set, std::vector<std::string> *ret_values)
{
	dnsblv6_value value;
	size_t offset = 0;
	int ret;
	while ((ret = dnsblv6_set_next(set.data(), set.size(), &offset, &value)) == DNSBLV6_OK) {
		const uint32_t a_be32 = htonl(value.a);
		char a[INET_ADDRSTRLEN];
		inet_ntop(AF_INET, &a_be32, a, sizeof(a));
		ret_values->push_back(std::string(a) + "/" + std::to_string(value.ttl) + "/" +
				      to_hex(value.text, value.text_size));
	}
	return ret;
}

TEST_CASE("a set is a row of values", "[format][vectors][set]")
{
	const vector_case c = EACH("set");
	CAPTURE(c);
	const std::vector<std::string> wanted(c.fields.begin() + 3, c.fields.end());
	uint8_t key[DNSBLV6_SET_KEY_SIZE];
	dnsblv6_set_make_key(static_cast<uint32_t>(std::stoul(c[0])), key);
	CHECK(to_hex(key, sizeof(key)) == c[1]);

	const guarded set(from_hex(c[2]));
	std::vector<std::string> found;
	CHECK(walk_set(set, &found) == DNSBLV6_ENOTFOUND);
	CHECK(found == wanted);

	std::vector<bytes> texts;
	std::vector<dnsblv6_value> values;
	for (const std::string &field : wanted)
		texts.push_back(from_hex(split(field, '/')[2]));
	for (size_t i = 0; i < wanted.size(); i++) {
		const std::vector<std::string> parts = split(wanted[i], '/');
		values.push_back({ static_cast<uint32_t>(address_of(parts[0]).lo),
				   static_cast<uint32_t>(std::stoul(parts[1])),
				   static_cast<uint8_t>(texts[i].size()), texts[i].data() });
	}
	bytes data(set.size());
	size_t size = 0;
	REQUIRE(dnsblv6_set_encode(values.data(), values.size(), data.data(), data.size(), &size) ==
		DNSBLV6_OK);
	CHECK(size == set.size());
	CHECK(to_hex(data) == c[2]);
	CHECK(dnsblv6_set_encode(values.data(), values.size(), data.data(), data.size() - 1,
				 &size) == DNSBLV6_ESPACE);
}

TEST_CASE("a set that is cut short is refused", "[format][vectors][set]")
{
	const vector_case c = EACH("set-refused");
	CAPTURE(c);
	std::vector<std::string> ignored;
	CHECK(walk_set(guarded(from_hex(c[0])), &ignored) == DNSBLV6_ERECORD);
}

TEST_CASE("a text is expanded for an address and cut", "[format][vectors][set]")
{
	const vector_case c = EACH("expand");
	CAPTURE(c);
	const guarded text(from_hex(c[0]));
	const dnsblv6_value value = { 0, 0, static_cast<uint8_t>(text.size()), text.data() };
	uint8_t expanded[DNSBLV6_TEXT_MAX];
	const size_t size = dnsblv6_value_expand(&value, address_of(c[1]), expanded);
	REQUIRE(size <= sizeof(expanded));
	CHECK(to_hex(expanded, size) == c[2]);
}

// ---- facts ----

TEST_CASE("the schema is four bytes", "[format][vectors][facts]")
{
	const vector_case c = EACH("schema");
	CAPTURE(c);
	uint8_t data[4];
	uint8_t *at = data;
	bytes_put(&at, std::stoul(c[0]), sizeof(data));
	CHECK(to_hex(data, sizeof(data)) == c[1]);
}

static dnsblv6_facts facts_of(const vector_case &c)
{
	dnsblv6_facts facts = {};
	facts.zone = labels_struct(c[0]);
	facts.style = static_cast<uint8_t>(style_of(c[1]));
	facts.ttl = static_cast<uint32_t>(std::stoull(c[2]));
	facts.serial = static_cast<uint32_t>(std::stoull(c[3]));
	facts.built_s = std::stoull(c[4]);
	facts.expires_s = std::stoull(c[5]);
	facts.record_count = std::stoull(c[6]);
	facts.block_count = std::stoull(c[7]);
	facts.ipv4_count = std::stoull(c[8]);
	facts.ipv6_count = std::stoull(c[9]);
	facts.name_count = std::stoull(c[10]);
	return facts;
}

TEST_CASE("the facts of a zone are kept in order", "[format][vectors][facts]")
{
	const vector_case c = EACH("facts");
	CAPTURE(c);
	const dnsblv6_facts facts = facts_of(c);
	uint8_t data[DNSBLV6_FACTS_MAX];
	const size_t size = dnsblv6_facts_encode(&facts, data);
	CHECK(to_hex(data, size) == c[11]);

	const guarded read(from_hex(c[11]));
	dnsblv6_facts got;
	REQUIRE(dnsblv6_facts_decode(read.data(), read.size(), &got) == DNSBLV6_OK);
	CHECK(hex_of(got.zone) == hex_of(facts.zone));
	CHECK(got.style == facts.style);
	CHECK(got.ttl == facts.ttl);
	CHECK(got.serial == facts.serial);
	CHECK(got.built_s == facts.built_s);
	CHECK(got.expires_s == facts.expires_s);
	CHECK(got.record_count == facts.record_count);
	CHECK(got.block_count == facts.block_count);
	CHECK(got.ipv4_count == facts.ipv4_count);
	CHECK(got.ipv6_count == facts.ipv6_count);
	CHECK(got.name_count == facts.name_count);
}

TEST_CASE("damaged facts are refused", "[format][vectors][facts]")
{
	const vector_case c = EACH("facts-refused");
	CAPTURE(c);
	const guarded read(from_hex(c[0]));
	dnsblv6_facts facts = {};
	facts.ttl = 7;
	CHECK(dnsblv6_facts_decode(read.data(), read.size(), &facts) == DNSBLV6_ERECORD);
	CHECK(facts.ttl == 7);
}

TEST_CASE("how a zone is signed is a fact of nine bytes", "[format][vectors][facts]")
{
	const vector_case c = EACH("signing");
	CAPTURE(c);
	const dnsblv6_signing signing = { static_cast<uint8_t>(std::stoul(c[0])), std::stoull(c[1]),
					  0 };
	uint8_t data[DNSBLV6_SIGNING_MAX];
	CHECK(to_hex(data, dnsblv6_signing_encode(&signing, data)) == c[2]);

	const guarded read(from_hex(c[2]));
	dnsblv6_signing got;
	REQUIRE(dnsblv6_signing_decode(read.data(), read.size(), &got) == DNSBLV6_OK);
	CHECK(got.algorithm == signing.algorithm);
	CHECK(got.expires_s == signing.expires_s);
	CHECK(got.other_algorithm == 0);
}

TEST_CASE("a zone signed with two algorithms says which the other is", "[format][vectors][facts]")
{
	const vector_case c = EACH("signing-twice");
	CAPTURE(c);
	const dnsblv6_signing signing = { static_cast<uint8_t>(std::stoul(c[0])), std::stoull(c[1]),
					  static_cast<uint8_t>(std::stoul(c[2])) };
	uint8_t data[DNSBLV6_SIGNING_MAX];
	CHECK(to_hex(data, dnsblv6_signing_encode(&signing, data)) == c[3]);

	const guarded read(from_hex(c[3]));
	dnsblv6_signing got;
	REQUIRE(dnsblv6_signing_decode(read.data(), read.size(), &got) == DNSBLV6_OK);
	CHECK(got.algorithm == signing.algorithm);
	CHECK(got.expires_s == signing.expires_s);
	CHECK(got.other_algorithm == signing.other_algorithm);
}

TEST_CASE("a damaged fact of signing is refused", "[format][vectors][facts]")
{
	const vector_case c = EACH("signing-refused");
	CAPTURE(c);
	const guarded read(from_hex(c[0]));
	dnsblv6_signing signing = { 7, 0, 0 };
	CHECK(dnsblv6_signing_decode(read.data(), read.size(), &signing) == DNSBLV6_ERECORD);
	CHECK(signing.algorithm == 7);
}

TEST_CASE("when the lists were written is a fact of eight bytes", "[format][vectors][facts]")
{
	const vector_case c = EACH("lists");
	CAPTURE(c);
	uint8_t data[DNSBLV6_LISTS_SIZE];
	dnsblv6_lists_encode(std::stoull(c[0]), data);
	CHECK(to_hex(data, sizeof(data)) == c[1]);

	const guarded read(from_hex(c[1]));
	uint64_t got = 0;
	REQUIRE(dnsblv6_lists_decode(read.data(), read.size(), &got) == DNSBLV6_OK);
	CHECK(std::to_string(got) == c[0]);
}

TEST_CASE("a damaged time of lists is refused, and so is none", "[format][vectors][facts]")
{
	const vector_case c = EACH("lists-refused");
	CAPTURE(c);
	const guarded read(from_hex(c[0]));
	uint64_t written_s = 7;
	CHECK(dnsblv6_lists_decode(read.data(), read.size(), &written_s) == DNSBLV6_ERECORD);
	CHECK(written_s == 7);
}

namespace
{
// "NAME=VALUE,..." of a row, or the status that ended it.
std::string settings_text(const guarded &row, int *ret_status)
{
	std::string text;
	size_t offset = 0;
	dnsblv6_setting setting = {};
	while ((*ret_status = dnsblv6_setting_next(row.data(), row.size(), &offset, &setting)) ==
	       DNSBLV6_OK) {
		text += text.empty() ? "" : ",";
		text.append(reinterpret_cast<const char *>(setting.name), setting.name_size);
		text += "=";
		text.append(reinterpret_cast<const char *>(setting.value), setting.value_size);
	}
	return text;
}
} // namespace

TEST_CASE("settings are a row of names and values", "[format][vectors][facts]")
{
	const vector_case c = EACH("settings");
	CAPTURE(c);
	const guarded read(from_hex(c[1]));
	int status = DNSBLV6_OK;
	CHECK(settings_text(read, &status) == c[0]);
	CHECK(status == DNSBLV6_ENOTFOUND);

	std::vector<uint8_t> again(read.size());
	size_t offset = 0;
	size_t size = 0;
	dnsblv6_setting setting = {};
	while (dnsblv6_setting_next(read.data(), read.size(), &offset, &setting) == DNSBLV6_OK)
		size += dnsblv6_setting_encode(&setting, again.data() + size);
	CHECK(to_hex(again.data(), size) == c[1]);
}

TEST_CASE("damaged settings are refused", "[format][vectors][facts]")
{
	const vector_case c = EACH("settings-refused");
	CAPTURE(c);
	const guarded read(from_hex(c[0]));
	int status = DNSBLV6_OK;
	settings_text(read, &status);
	CHECK(status == DNSBLV6_ERECORD);
}

namespace
{
// "WRITTEN=NAME,..." of a row, and the row as it is encoded again; *ret_status is what ended it.
std::pair<std::string, std::string> list_files_text(const guarded &row, int *ret_status)
{
	std::string text;
	std::vector<uint8_t> again(row.size());
	size_t offset = 0;
	size_t size = 0;
	dnsblv6_list_file file = {};
	while ((*ret_status = dnsblv6_list_file_next(row.data(), row.size(), &offset, &file)) ==
	       DNSBLV6_OK) {
		text += (text.empty() ? "" : ",") + std::to_string(file.written_s) + "=";
		text.append(reinterpret_cast<const char *>(file.name), file.name_size);
		size += dnsblv6_list_file_encode(&file, again.data() + size);
	}
	return { text, to_hex(again.data(), size) };
}
} // namespace

TEST_CASE("files of lists are a row of times and names", "[format][vectors][facts]")
{
	const vector_case c = EACH("files");
	CAPTURE(c);
	int status = DNSBLV6_OK;
	const auto got = list_files_text(guarded(from_hex(c[1])), &status);
	CHECK(got.first == c[0]);
	CHECK(got.second == c[1]);
	CHECK(status == DNSBLV6_ENOTFOUND);
}

TEST_CASE("damaged files of lists are refused", "[format][vectors][facts]")
{
	const vector_case c = EACH("files-refused");
	CAPTURE(c);
	int status = DNSBLV6_OK;
	list_files_text(guarded(from_hex(c[0])), &status);
	CHECK(status == DNSBLV6_ERECORD);
}

TEST_CASE("an origin is kept under its number", "[format][vectors][facts]")
{
	const vector_case c = EACH("origin");
	CAPTURE(c);
	const auto number = static_cast<uint16_t>(std::stoul(c[0]));
	const dnsblv6_origin origin = { labels_struct(c[1]),
					static_cast<uint32_t>(std::stoul(c[2])) };
	uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
	uint8_t data[DNSBLV6_ORIGIN_MAX];
	dnsblv6_origin_make_key(number, key);
	CHECK(to_hex(key, sizeof(key)) == c[3]);
	const size_t size = dnsblv6_origin_encode(&origin, data);
	CHECK(to_hex(data, size) == c[4]);

	const guarded k(from_hex(c[3]));
	const guarded v(from_hex(c[4]));
	uint16_t got_number;
	dnsblv6_origin got;
	REQUIRE(dnsblv6_origin_parse_key(k.data(), k.size(), &got_number) == DNSBLV6_OK);
	CHECK(got_number == number);
	REQUIRE(dnsblv6_origin_decode(v.data(), v.size(), &got) == DNSBLV6_OK);
	CHECK(hex_of(got.name) == hex_of(origin.name));
	CHECK(got.default_set == origin.default_set);
}

TEST_CASE("a damaged origin is refused", "[format][vectors][facts]")
{
	const vector_case c = EACH("origin-refused");
	CAPTURE(c);
	const guarded read(from_hex(c[0]));
	dnsblv6_origin origin = {};
	origin.default_set = 7;
	CHECK(dnsblv6_origin_decode(read.data(), read.size(), &origin) == DNSBLV6_ERECORD);
	CHECK(origin.default_set == 7);
}

TEST_CASE("the key of another fact is no key of an origin", "[format][vectors][facts]")
{
	const vector_case c = EACH("origin-key-refused");
	CAPTURE(c);
	const guarded read(from_hex(c[0]));
	uint16_t origin = 7;
	CHECK(dnsblv6_origin_parse_key(read.data(), read.size(), &origin) < 0);
	CHECK(origin == 7);
}

// ---- test points, canaries, metadata ----

TEST_CASE("the test points are those of the format", "[format][vectors][wellknown]")
{
	const std::vector<vector_case> wanted = vectors("testpoint");
	REQUIRE(wanted.size() == DNSBLV6_TESTPOINT_COUNT);
	const size_t i = GENERATE(range<size_t>(0, DNSBLV6_TESTPOINT_COUNT));
	CAPTURE(i);
	const dnsblv6_testpoint *found = nullptr;
	for (size_t j = 0; j < DNSBLV6_TESTPOINT_COUNT; j++) {
		if (dnsblv6_testpoint_get(j)->addr == address_of(wanted[i][0]))
			found = dnsblv6_testpoint_get(j);
	}
	REQUIRE(found != nullptr);
	CHECK(found->is_listed == (wanted[i][1] == "yes"));

	const dnsblv6_prefix block = dnsblv6_block_of(found->addr);
	dnsblv6_labels name;
	REQUIRE(dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, block, &name) == DNSBLV6_OK);
	CHECK(hex_of(name) == to_hex(labels_of(wanted[i][2])));
	REQUIRE(dnsblv6_name_make(DNSBLV6_STYLE_FLAT, block, &name) == DNSBLV6_OK);
	CHECK(hex_of(name) == to_hex(labels_of(wanted[i][3])));

	dnsblv6_bitmap map;
	REQUIRE(inet_pton(AF_INET6, wanted[i][4].c_str(), map.bytes) == 1);
	CHECK(dnsblv6_bitmap_get(&map, dnsblv6_host_index(found->addr)) == found->is_listed);
}

TEST_CASE("the canaries are those of the format", "[format][vectors][wellknown]")
{
	const std::vector<vector_case> wanted = vectors("canary");
	REQUIRE(wanted.size() == DNSBLV6_CANARY_COUNT);
	const size_t i = GENERATE(range<size_t>(0, DNSBLV6_CANARY_COUNT));
	CAPTURE(i);
	const dnsblv6_canary *found = nullptr;
	for (size_t j = 0; j < DNSBLV6_CANARY_COUNT; j++) {
		if (dnsblv6_canary_get(j)->block == prefix_of(wanted[i][0]).first)
			found = dnsblv6_canary_get(j);
	}
	REQUIRE(found != nullptr);

	const dnsblv6_prefix block = dnsblv6_block_of(found->block);
	dnsblv6_labels name;
	CHECK(block == prefix_of(wanted[i][0]));
	REQUIRE(dnsblv6_name_make(DNSBLV6_STYLE_DOTTED, block, &name) == DNSBLV6_OK);
	CHECK(hex_of(name) == to_hex(labels_of(wanted[i][1])));
	REQUIRE(dnsblv6_name_make(DNSBLV6_STYLE_FLAT, block, &name) == DNSBLV6_OK);
	CHECK(hex_of(name) == to_hex(labels_of(wanted[i][2])));

	uint8_t aaaa[16];
	REQUIRE(inet_pton(AF_INET6, wanted[i][3].c_str(), aaaa) == 1);
	CHECK(to_hex(aaaa, sizeof(aaaa)) == wanted[i][4]);
	CHECK(hex_of(found->map) == wanted[i][4]);
	CHECK(found->range == wanted[i][5]);
}

static void check_metadata(const vector_case &c)
{
	const guarded rdata(from_hex(c[4]));
	dnsblv6_metadata metadata;
	REQUIRE(dnsblv6_metadata_decode(rdata.data(), rdata.size(), &metadata) == DNSBLV6_OK);
	CHECK(metadata.style == style_of(c[0]));
	CHECK(metadata.has_ipv4 == (c[1].find('4') != std::string::npos));
	CHECK(metadata.has_ipv6 == (c[1].find('6') != std::string::npos));
	CHECK(metadata.classic == unescaped(c[2]));
	CHECK(metadata.reason == unescaped(c[3]));
}

TEST_CASE("metadata are written and read", "[format][vectors][wellknown]")
{
	const vector_case c = EACH("metadata");
	CAPTURE(c);
	check_metadata(c);

	dnsblv6_metadata metadata = {};
	metadata.style = style_of(c[0]);
	metadata.has_ipv4 = c[1].find('4') != std::string::npos;
	metadata.has_ipv6 = c[1].find('6') != std::string::npos;
	strncpy(metadata.classic, unescaped(c[2]).c_str(), sizeof(metadata.classic) - 1);
	strncpy(metadata.reason, unescaped(c[3]).c_str(), sizeof(metadata.reason) - 1);
	uint8_t rdata[DNSBLV6_METADATA_RDATA_MAX];
	const size_t size = dnsblv6_metadata_encode(&metadata, rdata);
	CHECK(to_hex(rdata, size) == c[4]);
}

TEST_CASE("metadata of a later version are read as far as known", "[format][vectors][wellknown]")
{
	const vector_case c = EACH("metadata-read");
	CAPTURE(c);
	check_metadata(c);
}

TEST_CASE("metadata that mean something else are refused", "[format][vectors][wellknown]")
{
	const vector_case c = EACH("metadata-refused");
	CAPTURE(c);
	const guarded rdata(from_hex(c[0]));
	dnsblv6_metadata metadata = {};
	metadata.reason[0] = 'x';
	CHECK(dnsblv6_metadata_decode(rdata.data(), rdata.size(), &metadata) < 0);
	CHECK(metadata.reason[0] == 'x');
}
