// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// xdp_questions.hh - queries near the names of a zone, and near what the program in the network
// driver takes: its two types, sizes of clients, options, letters, and bytes that are no query.

#include "tests/unit/server/xdp-kernel/xdp_fixture.hh"

// A query as bytes, and whether the program is to answer it as far as its form goes.
struct xdp_question {
	label_list name; // with the apex
	uint16_t type = dns::AAAA;
	uint16_t flags = dns::RD;
	int payload = -1; // -1: no OPT
	uint16_t edns_flags = 0;
	bytes options = {};
	uint16_t qclass = 1;
	uint8_t version = 0;
	uint16_t id = 0x1234;

	bytes wire() const
	{
		dns::question like;
		like.edns_payload = payload;
		like.edns_version = version;
		like.edns_flags = edns_flags;
		like.edns_options = options;
		bytes out;
		dns::put16(out, id);
		dns::put16(out, flags);
		for (unsigned count : { 1U, 0U, 0U, payload >= 0 ? 1U : 0U })
			dns::put16(out, count);
		dns::append(out, join(name));
		out.push_back(0);
		dns::put16(out, type);
		dns::put16(out, qclass);
		if (payload >= 0)
			dns::append(out, dns::opt(like));
		return out;
	}
};

inline bytes option_of(unsigned code, const bytes &data)
{
	bytes out;
	dns::put16(out, code);
	dns::put16(out, static_cast<unsigned>(data.size()));
	dns::append(out, data);
	return out;
}

class xdp_asker
{
      public:
	xdp_asker(unsigned seed, const std::set<label_list> &names, const std::string &apex)
	    : random_(seed), names_(names.begin(), names.end())
	{
		bytes wire = dns::name(apex);
		dnsblv6_labels labels = {};
		labels.size = static_cast<uint8_t>(wire.size() - 1);
		std::copy(wire.begin(), wire.end() - 1, labels.wire);
		apex_ = split(labels);
	}

	// Mostly one that is answered.
	bytes any()
	{
		bytes wire = question().wire();
		if (random_.one_in(40))
			wire.resize(random_.below(static_cast<unsigned>(wire.size()) + 1));
		if (random_.one_in(40))
			wire.resize(wire.size() + 1 + random_.below(12));
		for (unsigned i = random_.one_in(20) ? 1 + random_.below(3) : 0;
		     i > 0 && !wire.empty(); i--)
			wire[random_.below(static_cast<unsigned>(wire.size()))] =
				static_cast<uint8_t>(random_.below(256));
		return wire;
	}
	// Of the form that is answered, whatever its name.
	xdp_question question()
	{
		static const uint16_t others[] = { dns::NS, dns::SOA, dns::TXT,	  dns::NSEC,
						   dns::DS, dns::ANY, dns::RRSIG, dns::DNSKEY,
						   0,	    28 << 8 };
		xdp_question out;
		out.name = cased(near());
		out.id = static_cast<uint16_t>(random_.below(0x10000));
		out.type = random_.one_in(4) ? dns::A : dns::AAAA;
		if (random_.one_in(30))
			out.type = others[random_.below(10)];
		// RD, AD, CD and what has no meaning in a query; seldom another opcode or a response.
		out.flags = static_cast<uint16_t>(random_.below(0x10000) & 0x07ff);
		if (random_.one_in(60))
			out.flags = static_cast<uint16_t>(random_.below(0x10000));
		if (random_.one_in(60))
			out.qclass = static_cast<uint16_t>(random_.below(256));
		if (!random_.one_in(3))
			add_opt(out);
		return out;
	}
	bytes cookie = {}; // a good one of the client that asks, if there is one
	randomness &random()
	{
		return random_;
	}
	label_list with_apex(label_list name) const
	{
		name.insert(name.end(), apex_.begin(), apex_.end());
		return name;
	}

      private:
	randomness random_;
	std::vector<label_list> names_;
	label_list apex_;

	template <typename T> const T &pick(const std::vector<T> &from)
	{
		return from[random_.below(static_cast<unsigned>(from.size()))];
	}
	bytes label()
	{
		static const std::vector<std::string> texts = {
			"0",	"1",	   "!",	      "*",	"x",	      "192",	   "198",
			"255",	"ip6",	   "00",      "0db8",	"sub",	      "~",	   "a-",
			"9",	"2",	   "77",      "ns1",	"7f",	      "126",	   "k",
			"zz",	"c000020", "z",	      "**",	"-",	      "star",	   "y",
			"wild", "b",	   "c000021", "static", "mmmmmmmmmm", "999999999",
		};
		if (random_.one_in(20))
			return bytes(1 + random_.below(63),
				     static_cast<uint8_t>(random_.below(256)));
		const std::string &text = pick(texts);
		return { text.begin(), text.end() };
	}
	// Beside it in canonical order, as far as one byte goes.
	void nudge(bytes &label)
	{
		uint8_t &byte = random_.one_in(3) ? label.front() : label.back();
		byte = static_cast<uint8_t>(random_.one_in(2) ? byte + 1 : byte - 1);
	}
	label_list near()
	{
		label_list name = pick(names_);
		for (unsigned changes = random_.below(4); changes > 0; changes--) {
			switch (random_.below(6)) {
			case 0:
				if (!name.empty())
					name.erase(name.begin());
				break;
			case 1:
				if (!name.empty())
					name[random_.below(static_cast<unsigned>(name.size()))] =
						label();
				break;
			case 2:
				if (!name.empty())
					nudge(name.front());
				break;
			case 3:
				if (!name.empty())
					nudge(name[random_.below(
						static_cast<unsigned>(name.size()))]);
				break;
			default:
				name.insert(name.begin(), label());
			}
		}
		while (join(name).size() > 220)
			name.erase(name.begin());
		if (random_.one_in(60))
			return name; // of no zone here, mostly
		return with_apex(name);
	}
	label_list cased(label_list name)
	{
		if (random_.one_in(2))
			return name;
		for (bytes &label : name) {
			for (uint8_t &byte : label) {
				bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
				if (is_letter && random_.one_in(2))
					byte ^= 0x20;
			}
		}
		return name;
	}
	void add_opt(xdp_question &out)
	{
		static const std::vector<int> payloads = { 0,	 1,    2,    511,  512,	 513,  700,
							   1231, 1232, 1233, 1400, 4096, 65535 };
		out.payload =
			random_.one_in(2) ? pick(payloads) : static_cast<int>(random_.below(4096));
		out.edns_flags = random_.one_in(3) ? 0 : 0x8000;
		if (random_.one_in(10))
			out.edns_flags = static_cast<uint16_t>(random_.below(0x10000));
		if (random_.one_in(60))
			out.version = 1;
		if (random_.one_in(4))
			out.options =
				option_of(10, bytes(random_.one_in(2) ? 8 : random_.below(42),
						    static_cast<uint8_t>(random_.below(256))));
		else if (!cookie.empty() && random_.one_in(3))
			out.options = option_of(10, cookie);
		if (random_.one_in(30))
			dns::append(out.options,
				    option_of(random_.below(16), bytes(random_.below(9), 3)));
	}
};
