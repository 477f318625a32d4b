// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// dns.hh - DNS messages, as far as tests need them: queries made, replies taken apart.
//
//     dns::question question;
//     question.name = "bl6.example.";
//     dns::message reply(answer_to(dns::query(question)));
//     CHECK(reply.rcode == dns::NOERROR);
//
// A parser of our own, so that no library proves anything about itself.

#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

using bytes = std::vector<uint8_t>;

namespace dns
{
enum type : uint16_t {
	A = 1,
	NS = 2,
	CNAME = 5,
	SOA = 6,
	TXT = 16,
	AAAA = 28,
	OPT = 41,
	DS = 43,
	RRSIG = 46,
	NSEC = 47,
	DNSKEY = 48,
	TSIG = 250,
	IXFR = 251,
	AXFR = 252,
	MAILB = 253,
	ANY = 255,
};
enum rcode : unsigned {
	NOERROR = 0,
	FORMERR = 1,
	SERVFAIL = 2,
	NXDOMAIN = 3,
	NOTIMP = 4,
	REFUSED = 5,
	NOTAUTH = 9,
	BADVERS = 16,
	BADCOOKIE = 23,
};
enum flag : uint16_t {
	QR = 0x8000,
	AA = 0x0400,
	TC = 0x0200,
	RD = 0x0100,
	RA = 0x0080,
	AD = 0x20,
	CD = 0x10
};

// "a.b." to wire form, case kept. Labels may not hold a dot; no escapes.
inline bytes name(const std::string &text)
{
	bytes out;
	size_t start = text == "." ? 1 : 0;
	while (start < text.size()) {
		size_t dot = text.find('.', start);
		if (dot == std::string::npos)
			dot = text.size();
		out.push_back(static_cast<uint8_t>(dot - start));
		out.insert(out.end(), text.begin() + static_cast<long>(start),
			   text.begin() + static_cast<long>(dot));
		start = dot + 1;
	}
	out.push_back(0);
	return out;
}

inline void put16(bytes &out, unsigned value)
{
	out.push_back(static_cast<uint8_t>(value >> 8));
	out.push_back(static_cast<uint8_t>(value));
}
inline void put32(bytes &out, uint32_t value)
{
	put16(out, value >> 16);
	put16(out, value & 0xffff);
}
inline void append(bytes &out, const bytes &more)
{
	out.insert(out.end(), more.begin(), more.end());
}

struct question {
	std::string name;
	uint16_t type = A;
	uint16_t qclass = 1;
	uint16_t flags = RD;
	int edns_payload = -1; // none
	uint8_t edns_version = 0;
	uint16_t edns_flags = 0;
	bytes edns_options = {};
};

inline bytes opt(const question &q)
{
	bytes out = { 0 };
	put16(out, OPT);
	put16(out, static_cast<unsigned>(q.edns_payload));
	out.push_back(0);
	out.push_back(q.edns_version);
	put16(out, q.edns_flags);
	put16(out, static_cast<unsigned>(q.edns_options.size()));
	append(out, q.edns_options);
	return out;
}

inline bytes query(const question &q)
{
	bytes out;
	put16(out, 0x1234);
	put16(out, q.flags);
	put16(out, 1);
	put16(out, 0);
	put16(out, 0);
	put16(out, q.edns_payload >= 0 ? 1 : 0);
	append(out, name(q.name));
	put16(out, q.type);
	put16(out, q.qclass);
	if (q.edns_payload >= 0)
		append(out, opt(q));
	return out;
}

struct record {
	std::string owner; // lower case, with the final dot
	uint16_t type = 0;
	uint16_t rclass = 0;
	uint32_t ttl = 0;
	bytes rdata;	    // as on the wire
	std::string target; // NS, and the first name of an SOA, decompressed
};

// What a reply says. Throws when it is not well-formed to its last byte.
class message
{
      public:
	unsigned id = 0, flags = 0, rcode = 0;
	bytes question; // as on the wire
	std::string qname;
	std::vector<record> answer, authority, additional; // OPT apart
	bool has_opt = false;
	unsigned payload = 0, edns_version = 0, edns_flags = 0;
	bytes options;

	explicit message(const bytes &wire) : wire_(wire)
	{
		id = read16();
		flags = read16();
		rcode = flags & 15;
		unsigned counts[4];
		for (unsigned &count : counts)
			count = read16();
		if (counts[0] > 1)
			throw std::runtime_error("more than one question");
		if (counts[0] == 1) {
			size_t start = at_;
			qname = read_name();
			at_ += 4;
			need(0);
			question.assign(wire_.begin() + static_cast<long>(start),
					wire_.begin() + static_cast<long>(at_));
		}
		read_section(counts[1], answer);
		read_section(counts[2], authority);
		read_section(counts[3], additional);
		if (at_ != wire_.size())
			throw std::runtime_error("bytes behind the message");
	}
	bool has(uint16_t flag) const
	{
		return (flags & flag) != 0;
	}
	size_t size() const
	{
		return wire_.size();
	}
	// The data of an option, and whether there is one.
	bool find_option(unsigned wanted, bytes &data) const
	{
		for (size_t i = 0; i + 4 <= options.size();) {
			unsigned code = options[i] * 256U + options[i + 1];
			unsigned length = options[i + 2] * 256U + options[i + 3];
			auto start = options.begin() + static_cast<long>(i + 4);
			data.assign(start, start + static_cast<long>(length));
			if (code == wanted)
				return true;
			i += 4 + length;
		}
		return false;
	}
	// The code of an extended error, or -1.
	int ede() const
	{
		for (size_t i = 0; i + 4 <= options.size();) {
			unsigned code = options[i] * 256U + options[i + 1];
			unsigned length = options[i + 2] * 256U + options[i + 3];
			if (code == 15 && length >= 2)
				return options[i + 4] * 256 + options[i + 5];
			i += 4 + length;
		}
		return -1;
	}

      private:
	bytes wire_;
	size_t at_ = 0;

	void need(size_t size) const
	{
		if (at_ + size > wire_.size())
			throw std::runtime_error("message is cut");
	}
	uint8_t read8()
	{
		need(1);
		return wire_[at_++];
	}
	uint16_t read16()
	{
		unsigned high = read8();
		return static_cast<uint16_t>(high << 8 | read8());
	}
	uint32_t read32()
	{
		uint32_t high = read16();
		return high << 16 | read16();
	}
	std::string read_name()
	{
		std::string out;
		size_t end = 0; // behind the first pointer
		unsigned pointers = 0;
		for (unsigned steps = 0;; steps++) {
			if (steps > 128)
				throw std::runtime_error("compression loop");
			unsigned size = read8();
			if (size >= 0xc0) {
				size_t target = (size & 0x3fU) << 8 | read8();
				end = end == 0 ? at_ : end;
				if (target >= at_ - 2)
					throw std::runtime_error("pointer forward");
				if (++pointers > 16) // BIND up to 9.16, dnspython
					throw std::runtime_error(
						"more pointers than readers follow");
				if (wire_[target] >= 0xc0)
					throw std::runtime_error("pointer to a pointer");
				at_ = target;
				continue;
			}
			if (size == 0)
				break;
			need(size);
			for (unsigned i = 0; i < size; i++)
				out += static_cast<char>(tolower(wire_[at_ + i]));
			out += '.';
			at_ += size;
		}
		at_ = end == 0 ? at_ : end;
		return out.empty() ? "." : out;
	}
	void read_section(unsigned count, std::vector<record> &section)
	{
		for (unsigned i = 0; i < count; i++) {
			record rr;
			rr.owner = read_name();
			rr.type = read16();
			rr.rclass = read16();
			rr.ttl = read32();
			size_t size = read16();
			need(size);
			rr.rdata.assign(wire_.begin() + static_cast<long>(at_),
					wire_.begin() + static_cast<long>(at_ + size));
			size_t end = at_ + size;
			if (rr.type == NS || rr.type == SOA)
				rr.target = read_name();
			at_ = end;
			if (rr.type == OPT)
				take_opt(rr);
			else
				section.push_back(rr);
		}
	}
	void take_opt(const record &rr)
	{
		if (has_opt)
			throw std::runtime_error("two OPTs");
		has_opt = true;
		payload = rr.rclass;
		rcode |= rr.ttl >> 24 << 4;
		edns_version = rr.ttl >> 16 & 255;
		edns_flags = rr.ttl & 0xffff;
		options = rr.rdata;
	}
};
} // namespace dns
