/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/message.hh"

#include <cerrno>

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
	for (int i = 0; i < MESSAGE_NSEC_MAX; i++)
		reply.authority(nsec("more" + std::to_string(i), 60, "x"));
	out = parsed(reply);
	CHECK(out.nsec_count == MESSAGE_NSEC_MAX);
	CHECK(text_of(out.nsecs[MESSAGE_NSEC_MAX - 1].owner) ==
	      "more" + std::to_string(MESSAGE_NSEC_MAX - 3));
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
