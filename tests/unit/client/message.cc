/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/message.hh"

#include "tests/lib/fault.hh"

#include <cerrno>

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

TEST_CASE("of more addresses than there is room for the lowest and the highest are kept",
	  "[client][message]")
{
	/* 1 to 40 and an error, upwards, mixed and downwards, with each of them once at the end. */
	for (unsigned step : { 1U, 7U, 40U }) {
		for (unsigned start = 0; start < 41; start++) {
			Reply reply(block, A);
			for (unsigned i = 0; i < 41; i++) {
				const unsigned value = (start + i * step) % 41;
				reply.answer(record(question_name, A, 60,
						    value == 0 ? Bytes("\x7f\xff\xff\x02", 4)
							       : Bytes("\x7f\0\0", 3) +
									 static_cast<char>(value)));
			}
			const message_reply out = parsed(reply);
			CAPTURE(step, start);
			CHECK(out.kind == MESSAGE_ANSWER);
			REQUIRE(out.a_count == MESSAGE_A_MAX);
			for (unsigned i = 0; i + 1 < MESSAGE_A_MAX; i++)
				CHECK(out.a[i][3] == i + 1);
			CHECK(out.a[MESSAGE_A_MAX - 1][1] == 255);
		}
	}
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
