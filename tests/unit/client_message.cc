/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "client-lib/message.h"

#include "tests/lib/fault.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace
{
using Bytes = std::string;

/* "a.b" in wire form, with the root label. */
Bytes wire(const std::string &text)
{
	Bytes out;
	size_t from = 0;
	while (from < text.size()) {
		size_t dot = std::min(text.find('.', from), text.size());
		out += static_cast<char>(dot - from);
		out += text.substr(from, dot - from);
		from = dot + 1;
	}
	return out + '\0';
}

Bytes u16(unsigned number)
{
	return { static_cast<char>(number >> 8), static_cast<char>(number) };
}

Bytes u32(uint32_t number)
{
	return u16(number >> 16) + u16(number & 0xffff);
}

/* A pointer to the place offset of the message. */
Bytes pointer(size_t offset)
{
	return u16(static_cast<unsigned>(0xc000 | offset));
}

const Bytes question_name = pointer(12);
enum {
	A = 1,
	CNAME = 5,
	SOA = 6,
	TXT = 16,
	AAAA = 28,
	OPT = 41,
	RRSIG = 46,
	NSEC = 47,
	TSIG = 250
};
enum { NOERROR = 0, SERVFAIL = 2, NXDOMAIN = 3, REFUSED = 5 };

Bytes record(const Bytes &owner, unsigned type, uint32_t ttl, const Bytes &rdata,
	     unsigned record_class = 1)
{
	return owner + u16(type) + u16(record_class) + u32(ttl) +
	       u16(static_cast<unsigned>(rdata.size())) + rdata;
}

Bytes soa(const std::string &owner, uint32_t ttl, uint32_t minimum)
{
	return record(wire(owner), SOA, ttl,
		      wire("ns." + owner) + wire("hostmaster." + owner) + u32(1) + u32(2) + u32(3) +
			      u32(4) + u32(minimum));
}

Bytes opt(const Bytes &options = "", unsigned extended = 0, const Bytes &owner = Bytes(1, '\0'))
{
	return record(owner, OPT, extended << 24, options, 1232);
}

Bytes option(unsigned code, const Bytes &value)
{
	return u16(code) + u16(static_cast<unsigned>(value.size())) + value;
}

const Bytes bitmap(16, '\x5a');
const Bytes bitmap2(16, '\x0f');

struct message_question ask(const std::string &name, uint16_t type)
{
	message_question question = {};
	const Bytes labels = wire(name);
	question.name.size = static_cast<uint8_t>(labels.size() - 1);
	memcpy(question.name.wire, labels.data(), labels.size() - 1);
	question.type = type;
	question.id = 0x1234;
	return question;
}

/* A reply to the question with these records. */
struct Reply {
	message_question question;
	unsigned rcode = NOERROR;
	std::vector<Bytes> sections[3] = {};
	unsigned flags = 0x8180; /* QR, RD, RA */

	Reply(const std::string &name, uint16_t type) : question(ask(name, type))
	{
	}
	Reply &answer(const Bytes &r)
	{
		sections[0].push_back(r);
		return *this;
	}
	Reply &authority(const Bytes &r)
	{
		sections[1].push_back(r);
		return *this;
	}
	Reply &additional(const Bytes &r)
	{
		sections[2].push_back(r);
		return *this;
	}
	Reply &with(unsigned new_rcode)
	{
		rcode = new_rcode;
		return *this;
	}
	Bytes bytes() const
	{
		Bytes out = u16(question.id) + u16(flags | rcode) + u16(1);
		for (const auto &section : sections)
			out += u16(static_cast<unsigned>(section.size()));
		out += Bytes(reinterpret_cast<const char *>(question.name.wire),
			     question.name.size) +
		       '\0' + u16(question.type) + u16(1);
		for (const auto &section : sections)
			for (const auto &r : section)
				out += r;
		return out;
	}
};

/* In memory of exactly that size, for the address sanitizer. */
int parse(const message_question &question, const Bytes &bytes, message_reply *ret_reply)
{
	std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
	memcpy(copy.get(), bytes.data(), bytes.size());
	return message_parse(&question, copy.get(), bytes.size(), ret_reply);
}

message_reply parsed(const Reply &reply)
{
	message_reply out = {};
	REQUIRE(parse(reply.question, reply.bytes(), &out) == 0);
	return out;
}

int status(const Reply &reply)
{
	message_reply out;
	return parse(reply.question, reply.bytes(), &out);
}

std::string text_of(const dnsblv6_labels &labels)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];
	dnsblv6_name_format(labels.wire, labels.size, text);
	return text;
}

const std::string block = "0.2.0.192.bl6.example";

Reply bitmap_reply()
{
	return Reply(block, AAAA).answer(record(question_name, AAAA, 1800, bitmap));
}

/* One of each kind, signed and not. */
std::vector<Reply> samples()
{
	return {
		bitmap_reply().additional(opt()),
		Reply("2.0.0.127.bl.example", A)
			.answer(record(question_name, A, 60, "\x7f\x01\x01\x02"))
			.answer(record(question_name, A, 60, "\x7f\x01\x01\x03")),
		Reply("_dnsblv6.bl6.example", TXT)
			.answer(record(question_name, TXT, 300, "\3v=1\7style=d")),
		Reply(block, AAAA)
			.with(NXDOMAIN)
			.authority(soa("bl6.example", 900, 300))
			.authority(record(wire("bl6.example"), NSEC, 300,
					  wire("0.9.0.192.bl6.example") + Bytes("\0\1\x40", 3)))
			.authority(record(wire("bl6.example"), RRSIG, 300, Bytes(90, 'r')))
			.additional(opt()),
		Reply(block, AAAA)
			.answer(record(question_name, CNAME, 30, wire("x.example")))
			.answer(record(wire("x.example"), AAAA, 60, bitmap)),
		Reply(block, AAAA).with(SERVFAIL).additional(opt(option(15, u16(6) + "bogus"))),
	};
}
} // namespace

/* ---- queries ---- */

TEST_CASE("a query has RD, AD, one question and an OPT", "[client][message]")
{
	uint8_t query[MESSAGE_QUERY_MAX];
	message_question question = ask("bL6.example", AAAA);
	size_t size = message_make(&question, query);
	const Bytes plain("\x12\x34\x01\x20\0\1\0\0\0\0\0\1"
			  "\3bL6\7example\0\0\x1c\0\1"
			  "\0\0\x29\x04\xd0\0\0\0\0\0\0",
			  12 + 17 + 11);
	CHECK(Bytes(reinterpret_cast<char *>(query), size) == plain);

	question.wants_proof = true;
	Bytes proof = plain;
	proof[size - 4] = '\x80';
	size = message_make(&question, query);
	CHECK(Bytes(reinterpret_cast<char *>(query), size) == proof);
}

TEST_CASE("the longest and the shortest name make a query", "[client][message]")
{
	uint8_t query[MESSAGE_QUERY_MAX];
	const std::string label(63, 'a');
	message_question question =
		ask(label + "." + label + "." + label + "." + std::string(61, 'b'), A);
	REQUIRE(question.name.size == DNSBLV6_LABELS_MAX);
	CHECK(message_make(&question, query) == 12 + 255 + 4 + 11);
	question.name.size = 0;
	CHECK(message_make(&question, query) == 12 + 1 + 4 + 11);
}

TEST_CASE("letters, and nothing else, get the case of the bits", "[client][message]")
{
	dnsblv6_labels name = ask("a1-b.C_d[.efghi", A).name;
	const uint8_t bits[] = { 0x05, 0xff };
	message_mix_case(&name, bits, 1);
	CHECK(text_of(name) == "A1-b.C_d[.efghi");
	const uint8_t others[] = { 0xfa, 0x01 };
	message_mix_case(&name, others, 2);
	CHECK(text_of(name) == "a1-B.c_D[.EFGHI");
	message_mix_case(&name, others, 0);
	CHECK(text_of(name) == "a1-B.c_D[.EFGHI");
	dnsblv6_labels root = {};
	message_mix_case(&root, bits, 2);
	CHECK(root.size == 0);
}

/* ---- whose reply it is ---- */

TEST_CASE("an answer is read", "[client][message]")
{
	Reply reply = bitmap_reply();
	reply.flags |= 0x20;
	const message_reply out = parsed(reply.additional(opt()));
	CHECK(out.kind == MESSAGE_ANSWER);
	CHECK(out.rcode == 0);
	CHECK(out.is_secure);
	CHECK_FALSE(out.has_cname);
	CHECK_FALSE(out.has_soa);
	CHECK(out.ede == -1);
	CHECK(out.ttl_s == 1800);
	CHECK(out.aaaa_count == 1);
	CHECK(memcmp(out.aaaa, bitmap.data(), 16) == 0);
	CHECK(out.a_count == 0);
	CHECK(out.text_count == 0);
	CHECK(out.nsec_count == 0);
	CHECK_FALSE(parsed(bitmap_reply()).is_secure);
}

TEST_CASE("a reply to another question is not ours", "[client][message]")
{
	const Reply reply = bitmap_reply();
	const Bytes good = reply.bytes();
	message_reply out;

	struct row {
		const char *what;
		size_t at;
		char byte;
	};
	const size_t tail = 12 + wire(block).size();
	auto r = GENERATE_COPY(values<row>({ { "id", 0, '\x13' },
					     { "id", 1, '\x35' },
					     { "no QR", 2, '\x01' },
					     { "opcode STATUS", 2, '\x91' },
					     { "opcode 8", 2, '\xc1' },
					     { "no question", 5, '\0' },
					     { "two questions", 5, '\2' },
					     { "257 questions", 4, '\1' },
					     { "name", 13, '1' },
					     { "case", 23, 'B' },
					     { "type", tail + 1, '\1' },
					     { "class", tail + 3, '\3' } }));
	CAPTURE(r.what);
	Bytes bad = good;
	REQUIRE(parse(reply.question, good, &out) == 0);
	REQUIRE(bad[r.at] != r.byte);
	bad[r.at] = r.byte;
	CHECK(parse(reply.question, bad, &out) == -ENOMSG);
}

TEST_CASE("the question is compared in the case it was sent in", "[client][message]")
{
	Reply reply = bitmap_reply();
	const uint8_t bits[] = { 0x55, 0x55 };
	message_reply out;
	const Bytes lower = reply.bytes();
	message_mix_case(&reply.question.name, bits, sizeof(bits));
	CHECK(text_of(reply.question.name) != block);
	CHECK(parse(reply.question, lower, &out) == -ENOMSG);
	CHECK(status(reply) == 0);
	/* The owner of a record is the same name in any case. */
	reply.sections[0] = { record(wire(block), AAAA, 1800, bitmap) };
	CHECK(parsed(reply).aaaa_count == 1);
}

TEST_CASE("a question whose name is compressed or continued is not ours", "[client][message]")
{
	const message_question question = ask("a.example", A);
	message_reply out;
	const Bytes header = u16(0x1234) + u16(0x8180) + u16(1) + u16(0) + u16(0) + u16(0);
	CHECK(parse(question, header + wire("a.example") + u16(A) + u16(1), &out) == 0);
	CHECK(parse(question, header + wire("a.example.com") + u16(A) + u16(1), &out) == -ENOMSG);
	CHECK(parse(question, header + "\1a" + pointer(12) + u16(A) + u16(1) + Bytes(20, '\0'),
		    &out) == -ENOMSG);
	CHECK(parse(question, "", &out) == -ENOMSG);
	CHECK(parse(question, header, &out) == -ENOMSG);
}

TEST_CASE("a reply that is cut after any byte is never read", "[client][message]")
{
	const auto all = samples();
	const size_t index = GENERATE(range(0, 6));
	REQUIRE(all.size() == 6);
	const Reply &reply = all[index];
	const Bytes whole = reply.bytes();
	const size_t asked = 12 + reply.question.name.size + 5;
	message_reply out;
	CAPTURE(index);
	REQUIRE(parse(reply.question, whole, &out) == 0);
	for (size_t cut = 0; cut < whole.size(); cut++) {
		CAPTURE(cut);
		REQUIRE(parse(reply.question, whole.substr(0, cut), &out) ==
			(cut < asked ? -ENOMSG : -EBADMSG));
	}
}

TEST_CASE("bytes behind the last record, or records that are not there, are not read",
	  "[client][message]")
{
	const auto all = samples();
	const size_t index = GENERATE(range(0, 6));
	const Reply &reply = all[index];
	const Bytes whole = reply.bytes();
	message_reply out;
	CHECK(parse(reply.question, whole + '\0', &out) == -EBADMSG);
	CHECK(parse(reply.question, whole + record(question_name, A, 60, "\x7f\1\1\2"), &out) ==
	      -EBADMSG);
	for (size_t counter = 7; counter < 12; counter += 2) {
		Bytes more = whole;
		more[counter]++;
		CHECK(parse(reply.question, more, &out) == -EBADMSG);
	}
}

TEST_CASE("a truncated reply is known as one, however little is left of it", "[client][message]")
{
	Reply reply = bitmap_reply();
	reply.flags |= 0x200;
	const Bytes whole = reply.bytes();
	message_reply out;
	for (size_t cut = 12 + wire(block).size() + 4; cut <= whole.size(); cut++) {
		REQUIRE(parse(reply.question, whole.substr(0, cut), &out) == 0);
		REQUIRE(out.kind == MESSAGE_TRUNCATED);
		REQUIRE(out.aaaa_count == 0);
	}
}

/* ---- kinds ---- */

TEST_CASE("the RCODE makes the kind", "[client][message]")
{
	struct row {
		unsigned rcode;
		message_kind kind;
	};
	auto r = GENERATE(values<row>({ { NOERROR, MESSAGE_NODATA },
					{ 1, MESSAGE_FAILURE },
					{ SERVFAIL, MESSAGE_FAILURE },
					{ NXDOMAIN, MESSAGE_NXDOMAIN },
					{ 4, MESSAGE_FAILURE },
					{ REFUSED, MESSAGE_REFUSED },
					{ 9, MESSAGE_FAILURE },
					{ 15, MESSAGE_FAILURE } }));
	CAPTURE(r.rcode);
	const message_reply out = parsed(Reply(block, AAAA).with(r.rcode));
	CHECK(out.kind == r.kind);
	CHECK(out.rcode == r.rcode);
	CHECK(out.ttl_s == 0);
	/* And the upper bits make another one of it. */
	const message_reply extended =
		parsed(Reply(block, AAAA).with(r.rcode).additional(opt("", 1)));
	CHECK(extended.kind == MESSAGE_FAILURE);
	CHECK(extended.rcode == 16 + r.rcode);
}

TEST_CASE("the uppermost extended RCODE is kept whole", "[client][message]")
{
	CHECK(parsed(Reply(block, AAAA).with(15).additional(opt("", 255))).rcode == 4095);
}

TEST_CASE("records beside an error are no answer", "[client][message]")
{
	CHECK(status(bitmap_reply().with(NXDOMAIN)) == -EBADMSG);
	CHECK(parsed(bitmap_reply().with(SERVFAIL)).kind == MESSAGE_FAILURE);
	CHECK(parsed(bitmap_reply().with(SERVFAIL)).aaaa_count == 0);
	CHECK(parsed(bitmap_reply().with(REFUSED)).aaaa_count == 0);
	CHECK(parsed(bitmap_reply().additional(opt("", 1))).aaaa_count == 0);
}

TEST_CASE("records of another type, class or owner are no answer", "[client][message]")
{
	auto r = GENERATE(values<Bytes>({
		record(question_name, A, 60, "\x7f\1\1\2"),
		record(question_name, AAAA, 60, bitmap, 3),
		record(wire("example"), AAAA, 60, bitmap),
		record(wire("0.2.0.192.bl6.example.com"), AAAA, 60, bitmap),
		record(wire(""), AAAA, 60, bitmap),
		record(pointer(14), AAAA, 60, bitmap),
		record(question_name, 65280, 60, "unknown"),
	}));
	const message_reply out = parsed(Reply(block, AAAA).answer(r));
	CHECK(out.kind == MESSAGE_NODATA);
	CHECK(out.aaaa_count == 0);
	CHECK(out.a_count == 0);
}

TEST_CASE("records in the wrong section are no answer", "[client][message]")
{
	const Bytes r = record(question_name, AAAA, 60, bitmap);
	CHECK(parsed(Reply(block, AAAA).authority(r)).kind == MESSAGE_NODATA);
	CHECK(parsed(Reply(block, AAAA).additional(r)).kind == MESSAGE_NODATA);
}

TEST_CASE("two AAAA records are counted, and the first is kept", "[client][message]")
{
	const message_reply out =
		parsed(bitmap_reply().answer(record(question_name, AAAA, 60, bitmap2)));
	CHECK(out.kind == MESSAGE_ANSWER);
	CHECK(out.aaaa_count == 2);
	CHECK(out.ttl_s == 60);
	CHECK(memcmp(out.aaaa, bitmap.data(), 16) == 0);
}

TEST_CASE("up to 16 A records are kept", "[client][message]")
{
	Reply reply("2.0.0.127.bl.example", A);
	for (char i = 1; i <= 20; i++)
		reply.answer(record(question_name, A, 60, Bytes("\x7f\0\0", 3) + i));
	const message_reply out = parsed(reply);
	CHECK(out.a_count == MESSAGE_A_MAX);
	CHECK(out.a[0][3] == 1);
	CHECK(out.a[15][3] == 16);
	CHECK(out.kind == MESSAGE_ANSWER);
}

TEST_CASE("an address of the wrong size cannot be read, wherever it is", "[client][message]")
{
	auto r = GENERATE(values<Bytes>({ record(question_name, A, 60, "\x7f\1\1"),
					  record(question_name, A, 60, "\x7f\1\1\2\2"),
					  record(question_name, AAAA, 60, Bytes(15, 'x')),
					  record(question_name, AAAA, 60, Bytes(17, 'x')),
					  record(question_name, AAAA, 60, "") }));
	CHECK(status(Reply(block, AAAA).answer(r)) == -EBADMSG);
	CHECK(status(Reply(block, AAAA).authority(r)) == -EBADMSG);
	CHECK(status(Reply(block, AAAA).additional(r)) == -EBADMSG);
	CHECK(status(Reply(block, AAAA).with(SERVFAIL).additional(r)) == -EBADMSG);
}

TEST_CASE("a reply that is signed by TSIG cannot be read", "[client][message]")
{
	CHECK(status(bitmap_reply().additional(record(wire("key"), TSIG, 0, "x", 255))) ==
	      -EBADMSG);
}

TEST_CASE("the root may be asked", "[client][message]")
{
	const message_reply out =
		parsed(Reply("", A).answer(record(wire(""), A, 60, "\x7f\1\1\2")));
	CHECK(out.a_count == 1);
}

/* ---- TTL ---- */

TEST_CASE("a TTL is clamped, and one above 2^31 is none", "[client][message]")
{
	struct row {
		uint32_t ttl, ttl_s;
	};
	auto r = GENERATE(values<row>({ { 0, 0 },
					{ 1, 1 },
					{ MESSAGE_TTL_MAX, MESSAGE_TTL_MAX },
					{ MESSAGE_TTL_MAX + 1, MESSAGE_TTL_MAX },
					{ 0x7fffffff, MESSAGE_TTL_MAX },
					{ 0x80000000, 0 },
					{ 0x80000001, 0 },
					{ 0xffffffff, 0 } }));
	CAPTURE(r.ttl);
	CHECK(parsed(Reply(block, AAAA).answer(record(question_name, AAAA, r.ttl, bitmap))).ttl_s ==
	      r.ttl_s);
	CHECK(parsed(Reply(block, AAAA).with(NXDOMAIN).authority(soa("example", r.ttl, 604800)))
		      .ttl_s == r.ttl_s);
	CHECK(parsed(Reply(block, AAAA).with(NXDOMAIN).authority(soa("example", 604800, r.ttl)))
		      .ttl_s == r.ttl_s);
}

TEST_CASE("a negative answer has the TTL of its SOA and none without", "[client][message]")
{
	const unsigned rcode = GENERATE(as<unsigned>(), NOERROR, NXDOMAIN);
	const Reply none = Reply(block, AAAA).with(rcode);
	message_reply out = parsed(none);
	CHECK_FALSE(out.has_soa);
	CHECK(out.ttl_s == 0);
	out = parsed(Reply(none)
			     .authority(soa("BL6.Example", 900, 300))
			     .authority(soa("example", 1, 1)));
	CHECK(out.has_soa);
	CHECK(text_of(out.soa_owner) == "bl6.example");
	CHECK(out.ttl_s == 300);
	CHECK(parsed(Reply(none).authority(soa("", 200, 300))).ttl_s == 200);
	CHECK(parsed(Reply(none).authority(soa("", 200, 300))).soa_owner.size == 0);
	CHECK_FALSE(parsed(Reply(none).additional(soa("example", 200, 300))).has_soa);
	CHECK_FALSE(parsed(Reply(none).answer(soa("example", 200, 300))).has_soa);
	const Bytes rdata = wire("ns") + wire("h") + Bytes(20, '\1');
	CHECK_FALSE(parsed(Reply(none).authority(record(wire("x"), SOA, 60, rdata, 3))).has_soa);
}

TEST_CASE("an answer does not have the TTL of a SOA beside it", "[client][message]")
{
	const message_reply out = parsed(bitmap_reply().authority(soa("example", 5, 5)));
	CHECK(out.ttl_s == 1800);
	CHECK(out.has_soa);
}

TEST_CASE("a SOA that is too long or too short cannot be read", "[client][message]")
{
	const Bytes names = wire("ns.example") + wire("h.example");
	auto r = GENERATE_COPY(
		values<Bytes>({ names + Bytes(19, 'x'), names + Bytes(21, 'x'),
				wire("ns.example") + Bytes(20, '\0'), "", names.substr(0, 4) }));
	CHECK(status(Reply(block, AAAA).authority(record(wire("example"), SOA, 60, r))) ==
	      -EBADMSG);
}

/* ---- CNAME ---- */

TEST_CASE("records count at the end of a chain, and its shortest TTL", "[client][message]")
{
	const bool is_reversed = GENERATE(false, true);
	const int length = GENERATE(1, 2, 3, 4);
	Reply reply(block, AAAA);
	reply.answer(record(question_name, AAAA, 1, bitmap2)); /* at the alias */
	Bytes owner = question_name;
	for (int i = 1; i <= length; i++) {
		const Bytes target = wire("c" + std::to_string(i) + ".example");
		reply.answer(record(owner, CNAME, static_cast<uint32_t>(100 - i), target));
		owner = target;
	}
	reply.answer(record(owner, AAAA, 1000, bitmap));
	if (is_reversed)
		std::reverse(reply.sections[0].begin(), reply.sections[0].end());
	CAPTURE(length, is_reversed);
	const message_reply out = parsed(reply);
	CHECK(out.kind == MESSAGE_ANSWER);
	CHECK(out.has_cname);
	CHECK(out.aaaa_count == 1);
	CHECK(memcmp(out.aaaa, bitmap.data(), 16) == 0);
	CHECK(out.ttl_s == static_cast<uint32_t>(100 - length));
}

TEST_CASE("a chain that is too long, or a loop, cannot be read", "[client][message]")
{
	Reply longer(block, AAAA);
	Bytes owner = question_name;
	for (int i = 1; i <= 5; i++) {
		const Bytes target = wire("c" + std::to_string(i) + ".example");
		longer.answer(record(owner, CNAME, 60, target));
		owner = target;
	}
	CHECK(status(longer) == -EBADMSG);
	CHECK(status(longer.answer(record(owner, AAAA, 60, bitmap))) == -EBADMSG);

	CHECK(status(Reply(block, AAAA).answer(record(question_name, CNAME, 60, question_name))) ==
	      -EBADMSG);
	CHECK(status(Reply(block, AAAA)
			     .answer(record(question_name, CNAME, 60, wire("x.example")))
			     .answer(record(wire("X.example"), CNAME, 60, question_name))
			     .answer(record(question_name, AAAA, 60, bitmap))) == -EBADMSG);
}

TEST_CASE("two CNAMEs at one name cannot be read", "[client][message]")
{
	CHECK(status(Reply(block, AAAA)
			     .answer(record(question_name, CNAME, 60, wire("x.example")))
			     .answer(record(wire("x.example"), AAAA, 60, bitmap))
			     .answer(record(question_name, CNAME, 60, wire("y.example")))) ==
	      -EBADMSG);
}

TEST_CASE("a chain may end in nothing", "[client][message]")
{
	Reply reply = Reply(block, AAAA)
			      .answer(record(question_name, CNAME, 60, wire("x.example")))
			      .authority(soa("example", 900, 900));
	message_reply out = parsed(reply);
	CHECK(out.kind == MESSAGE_NODATA);
	CHECK(out.has_cname);
	CHECK(out.ttl_s == 60);
	out = parsed(reply.with(NXDOMAIN));
	CHECK(out.kind == MESSAGE_NXDOMAIN);
	CHECK(out.has_cname);
}

TEST_CASE("a CNAME of another name, class or section leads nowhere", "[client][message]")
{
	const Bytes aaaa = record(wire("x.example"), AAAA, 60, bitmap);
	message_reply out =
		parsed(Reply(block, AAAA)
			       .answer(record(wire("y.example"), CNAME, 60, wire("x.example")))
			       .answer(aaaa));
	CHECK(out.kind == MESSAGE_NODATA);
	CHECK_FALSE(out.has_cname);
	out = parsed(Reply(block, AAAA)
			     .answer(record(question_name, CNAME, 60, wire("x.example"), 3))
			     .answer(aaaa));
	CHECK(out.kind == MESSAGE_NODATA);
	out = parsed(Reply(block, AAAA)
			     .answer(aaaa)
			     .authority(record(question_name, CNAME, 60, wire("x.example"))));
	CHECK(out.kind == MESSAGE_NODATA);
}

TEST_CASE("a CNAME whose RDATA is not one name cannot be read", "[client][message]")
{
	auto r = GENERATE(values<Bytes>({ "", wire("x.example") + "x", "\1x", "\7x.example" }));
	CHECK(status(Reply(block, AAAA).answer(record(question_name, CNAME, 60, r))) == -EBADMSG);
}

/* ---- names ---- */

TEST_CASE("a pointer leads backwards, and behind the header", "[client][message]")
{
	const Reply reply(block, AAAA);
	const size_t at = reply.bytes().size();
	struct row {
		const char *what;
		Bytes owner;
		int status;
	};
	auto r = GENERATE_COPY(values<row>({
		{ "question", pointer(12), 0 },
		{ "the zone", pointer(22), 0 },
		{ "the root label", pointer(12 + block.size() + 1), -EBADMSG },
		{ "label and question", "\1x" + pointer(12), 0 },
		{ "header", pointer(0), -EBADMSG },
		{ "counts that look like labels", pointer(5), -EBADMSG },
		{ "end of the header", pointer(11), -EBADMSG },
		{ "itself", pointer(at), -EBADMSG },
		{ "the labels before it", "\1x" + pointer(at), -EBADMSG },
		{ "its own second byte", pointer(at + 1), -EBADMSG },
		{ "forward", pointer(at + 2), -EBADMSG },
		{ "behind the end", pointer(0x3fff), -EBADMSG },
		{ "label type 01", "\x41x", -EBADMSG },
		{ "label type 10", "\x81x", -EBADMSG },
	}));
	CAPTURE(r.what);
	CHECK(status(Reply(reply).answer(record(r.owner, AAAA, 60, bitmap))) == r.status);
}

TEST_CASE("pointers to pointers end", "[client][message]")
{
	/* A record that nobody reads has a ladder of pointers in it. */
	const int hops = GENERATE(1, 2, 126, 127, 128, 129, 1000);
	Reply reply(block, AAAA);
	const size_t ladder_at = reply.bytes().size() + 2 + 10;
	Bytes ladder = pointer(12);
	for (int i = 2; i < hops; i++)
		ladder += pointer(ladder_at + ladder.size() - 2);
	reply.answer(record(question_name, 65280, 60, ladder));
	const Bytes owner = hops == 1 ? question_name : pointer(ladder_at + ladder.size() - 2);
	reply.answer(record(owner, AAAA, 60, bitmap));
	CAPTURE(hops);
	if (hops <= 127)
		CHECK(parsed(reply).aaaa_count == 1);
	else
		CHECK(status(reply) == -EBADMSG);
}

TEST_CASE("a name of more than 255 octets cannot be read", "[client][message]")
{
	const std::string label(63, 'a');
	const std::string name = label + "." + label + "." + label;
	Reply reply(name, AAAA);
	const auto owner = [](size_t size) {
		return static_cast<char>(size) + Bytes(size, 'b') + pointer(12);
	};
	/* 3 * 64 + 1 for the root leave 62: a label of 61. */
	CHECK(status(Reply(reply).answer(record(owner(61), AAAA, 60, bitmap))) == 0);
	CHECK(status(Reply(reply).answer(record(owner(62), AAAA, 60, bitmap))) == -EBADMSG);
	CHECK(status(Reply(reply).answer(record("\1c" + owner(61), AAAA, 60, bitmap))) == -EBADMSG);
	Reply longest(name + "." + std::string(61, 'b'), AAAA);
	CHECK(parsed(longest.answer(record(question_name, AAAA, 60, bitmap))).aaaa_count == 1);
}

/* ---- EDNS ---- */

TEST_CASE("an extended error is read", "[client][message]")
{
	const Reply reply = Reply(block, AAAA).with(REFUSED);
	CHECK(parsed(Reply(reply).additional(opt())).ede == -1);
	CHECK(parsed(Reply(reply).additional(opt(option(15, u16(18))))).ede == 18);
	CHECK(parsed(Reply(reply).additional(
			     opt(option(10, "cookie..") + option(15, u16(0) + "t"))))
		      .ede == 0);
	CHECK(parsed(Reply(reply).additional(opt(option(15, u16(65535)) + option(15, u16(18)))))
		      .ede == 65535);
	CHECK(parsed(Reply(reply).additional(opt(option(15, "\x12")))).ede == -1);
}

TEST_CASE("an OPT that is not what it should be cannot be read", "[client][message]")
{
	CHECK(status(bitmap_reply().additional(opt()).additional(opt())) == -EBADMSG);
	CHECK(status(bitmap_reply().answer(opt())) == -EBADMSG);
	CHECK(status(bitmap_reply().authority(opt())) == -EBADMSG);
	CHECK(status(bitmap_reply().additional(opt("", 0, wire("example")))) == -EBADMSG);
	auto options = GENERATE(
		values<Bytes>({ "x", "xxx", u16(15) + u16(2), u16(15) + u16(2) + "x",
				option(15, u16(18)) + '\0', u16(15) + u16(65535) + "xx" }));
	CHECK(status(bitmap_reply().additional(opt(options))) == -EBADMSG);
}

/* ---- NSEC ---- */

TEST_CASE("NSEC records of the authority section are kept in lower case", "[client][message]")
{
	const auto nsec = [](const std::string &owner, uint32_t ttl, const std::string &next) {
		return record(wire(owner), NSEC, ttl, wire(next) + Bytes("\0\1\x40", 3));
	};
	Reply reply = Reply(block, AAAA).with(NXDOMAIN);
	reply.authority(nsec("BL6.Example", 100, "0.1.0.192.BL6.example"))
		.authority(record(wire("bl6.example"), RRSIG, 300, "broken"))
		.authority(soa("bl6.example", 900, 300))
		.authority(nsec("other", 800, ""))
		.answer(nsec("not.here", 60, "x"))
		.additional(nsec("nor.here", 60, "x"));
	message_reply out = parsed(reply);
	REQUIRE(out.nsec_count == 2);
	CHECK(text_of(out.nsecs[0].owner) == "bl6.example");
	CHECK(text_of(out.nsecs[0].next) == "0.1.0.192.bl6.example");
	CHECK(out.nsecs[0].ttl_s == 100);
	CHECK(text_of(out.nsecs[1].owner) == "other");
	CHECK(out.nsecs[1].next.size == 0);
	CHECK(out.nsecs[1].ttl_s == 300);
	for (int i = 0; i < 4; i++)
		reply.authority(nsec("more" + std::to_string(i), 60, "x"));
	out = parsed(reply);
	CHECK(out.nsec_count == MESSAGE_NSEC_MAX);
	CHECK(text_of(out.nsecs[3].owner) == "more1");
}

TEST_CASE("NSEC records beside an answer are kept with their own TTL", "[client][message]")
{
	const message_reply out =
		parsed(bitmap_reply().authority(record(wire("a"), NSEC, 7000, wire("b"))));
	REQUIRE(out.nsec_count == 1);
	CHECK(out.nsecs[0].ttl_s == 7000);
}

TEST_CASE("an NSEC whose next name is compressed or missing cannot be read", "[client][message]")
{
	auto r = GENERATE(values<Bytes>(
		{ "", pointer(12), "\1x" + pointer(12), "\7example", "\1x", Bytes("\x40\0", 2) }));
	CHECK(status(Reply(block, AAAA)
			     .with(NXDOMAIN)
			     .authority(record(wire("example"), NSEC, 60, r))) == -EBADMSG);
}

/* ---- TXT ---- */

TEST_CASE("strings of a TXT record are joined, and the RDATA is kept", "[client][message]")
{
	const Bytes rdata = "\3v=1" + Bytes(1, '\0') + "\7style=d";
	const message_reply out = parsed(Reply("_dnsblv6.example", TXT)
						 .answer(record(question_name, TXT, 60, rdata))
						 .answer(record(question_name, TXT, 50, "\1x")));
	CHECK(out.kind == MESSAGE_ANSWER);
	CHECK(out.ttl_s == 50);
	CHECK(out.text_count == 2);
	CHECK(Bytes(reinterpret_cast<const char *>(out.text), out.text_size) == "v=1style=d");
	CHECK(Bytes(reinterpret_cast<const char *>(out.text_rdata), out.text_total) == rdata);
}

TEST_CASE("a long TXT record is cut, and RDATA beyond that of metadata is not kept",
	  "[client][message]")
{
	const Bytes full = '\xff' + Bytes(255, 'x');
	Reply reply("t.example", TXT);
	message_reply out = parsed(
		Reply(reply).answer(record(question_name, TXT, 60, full + full + full + full)));
	CHECK(out.text_size == MESSAGE_TEXT_MAX);
	CHECK(out.text_total == 1024);
	CHECK(out.text_rdata[1023] == 'x');
	out = parsed(Reply(reply).answer(
		record(question_name, TXT, 60, full + full + full + full + '\0')));
	CHECK(out.text_size == MESSAGE_TEXT_MAX);
	CHECK(out.text_total == 0);
	CHECK(out.text_count == 1);
}

TEST_CASE("a TXT record whose strings do not fill it cannot be read", "[client][message]")
{
	auto r = GENERATE(values<Bytes>({ "", "\1", "\2x", "\1xx", "\xff" }));
	CHECK(status(Reply("t.example", TXT).answer(record(question_name, TXT, 60, r))) ==
	      -EBADMSG);
}

TEST_CASE("what cannot be read leaves the caller's reply alone", "[client][message]")
{
	message_reply out, before;
	memset(&out, 0x5a, sizeof(out));
	memset(&before, 0x5a, sizeof(before));
	const Reply reply = bitmap_reply();
	CHECK(parse(reply.question, reply.bytes() + "x", &out) == -EBADMSG);
	CHECK(parse(ask("other.example", AAAA), reply.bytes(), &out) == -ENOMSG);
	CHECK(memcmp(&out, &before, sizeof(out)) == 0);
}

TEST_CASE("messages are made and read without allocating", "[client][message]")
{
	const Reply reply = bitmap_reply();
	const Bytes bytes = reply.bytes();
	uint8_t query[MESSAGE_QUERY_MAX];
	message_reply out;
	fault::fail_at(1);
	message_make(&reply.question, query);
	const int ret =
		message_parse(&reply.question, reinterpret_cast<const uint8_t *>(bytes.data()),
			      bytes.size(), &out);
	CHECK_FALSE(fault::end());
	CHECK(ret == 0);
}
