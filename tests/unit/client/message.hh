/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * client_message.hh - replies, record by record, and what client-lib/base/message.h reads in them.
 *
 *     message_reply out = parsed(Reply("0.2.0.192.bl6.example", AAAA)
 *                                        .answer(record(question_name, AAAA, 60, bitmap)));
 */

#include "client-lib/base/message.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using Bytes = std::string;

/* "a.b" in wire form, with the root label. */
inline Bytes wire(const std::string &text)
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

inline Bytes u16(unsigned number)
{
	return { static_cast<char>(number >> 8), static_cast<char>(number) };
}

inline Bytes u32(uint32_t number)
{
	return u16(number >> 16) + u16(number & 0xffff);
}

/* A pointer to the place offset of the message. */
inline Bytes pointer(size_t offset)
{
	return u16(static_cast<unsigned>(0xc000 | offset));
}

static const Bytes question_name = pointer(12);
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

inline Bytes record(const Bytes &owner, unsigned type, uint32_t ttl, const Bytes &rdata,
		    unsigned record_class = 1)
{
	return owner + u16(type) + u16(record_class) + u32(ttl) +
	       u16(static_cast<unsigned>(rdata.size())) + rdata;
}

inline Bytes soa(const std::string &owner, uint32_t ttl, uint32_t minimum)
{
	return record(wire(owner), SOA, ttl,
		      wire("ns." + owner) + wire("hostmaster." + owner) + u32(1) + u32(2) + u32(3) +
			      u32(4) + u32(minimum));
}

inline Bytes opt(const Bytes &options = "", unsigned extended = 0,
		 const Bytes &owner = Bytes(1, '\0'))
{
	return record(owner, OPT, extended << 24, options, 1232);
}

inline Bytes option(unsigned code, const Bytes &value)
{
	return u16(code) + u16(static_cast<unsigned>(value.size())) + value;
}

inline const Bytes bitmap(16, '\x5a');
inline const Bytes bitmap2(16, '\x0f');

inline struct message_question ask(const std::string &name, uint16_t type)
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
inline int parse(const message_question &question, const Bytes &bytes, message_reply *ret_reply)
{
	std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
	memcpy(copy.get(), bytes.data(), bytes.size());
	return message_parse(&question, copy.get(), bytes.size(), ret_reply);
}

inline message_reply parsed(const Reply &reply)
{
	message_reply out = {};
	REQUIRE(parse(reply.question, reply.bytes(), &out) == 0);
	return out;
}

inline int status(const Reply &reply)
{
	message_reply out;
	return parse(reply.question, reply.bytes(), &out);
}

inline std::string text_of(const dnsblv6_labels &labels)
{
	char text[DNSBLV6_NAME_TEXT_SIZE];
	dnsblv6_name_format(labels.wire, labels.size, text);
	return text;
}

static const std::string block = "0.2.0.192.bl6.example";

inline Reply bitmap_reply()
{
	return Reply(block, AAAA).answer(record(question_name, AAAA, 1800, bitmap));
}

/* One of each kind, signed and not. */
inline std::vector<Reply> samples()
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
