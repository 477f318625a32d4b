/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// client_world.hh - blacklists as a resolver sees them, and what can be wrong with them.
//
//     world dns;
//     dns.add_bitmap_zone("bl6.example", DNSBLV6_STYLE_DOTTED, "bl.example");
//     dns.list("bl6.example", "192.0.2.1");
//     resolver server(dns.script());
//     dns.trouble = world::SILENT;
//
// What is added must be added before the first question; trouble may change at
// any time. A question for no zone of the world is answered as a top level
// domain would: NXDOMAIN with a SOA of one label.

#include "lib/format/wellknown.h"

#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/lib/resolver.hh"

class world
{
      public:
	using bytes = resolver::bytes;

	enum trouble_kind {
		NONE,
		SILENT,
		SERVFAIL,
		REFUSED,
		PROHIBITED,    // NOERROR, empty, EDE 18
		ONE_ADDRESS,   // every name has this A and this AAAA
		WILDCARD_A,    // every name of type A is 203.0.113.9, the rest NODATA
		ALL_LISTED,    // every A is 127.0.0.2
		NO_AAAA,       // NOERROR without the AAAA
		NO_CANARIES,   // the same for what looks private
		FORGED_DENIAL, // NXDOMAIN for what looks private
		DNS64,	       // an AAAA is made of an A
		GONE,	       // the zone was deleted: its parent denies all
		TYPO,	       // every A is 127.255.255.252
		TWO_AAAA,
		CNAME,	 // before each answer
		FOREIGN, // the answer has another owner
		WRONG_ID,
		CUT,   // the first half of each reply
		LOOP,  // a name that points to itself
		HUGE_, // a reply of 60,000 bytes over UDP
		TC,    // truncated over UDP, and no TCP
		NO_SOA,
		SERVFAIL_IPV6, // of a classic name
		EMPTIED,       // the zone itself denies all
		NO_DATA,       // NOERROR for all, with its SOA, and no record
		CLOSED,	       // every address is listed; other names are as they were
		SINKHOLE,      // every name has 127.0.0.1 and ::1
		REWRITTEN,     // every name that there is not has 127.0.0.1 and ::1
		MUTE,	       // no reply about names that there are not
	};
	std::atomic<int> trouble{ NONE };
	std::atomic<int> delay_ms{ 0 };
	mutable std::atomic<unsigned> answered{ 0 }; // questions
	std::atomic<bool> is_secure{ false };
	std::atomic<bool> is_signed{ true }; // as far as it is secure
	std::atomic<uint32_t> ttl_s{ 2100 };
	std::atomic<uint32_t> negative_ttl_s{ 600 };

	void add_zone(const std::string &apex)
	{
		apexes_.insert(apex);
	}
	// A list in the classic way, with its test points.
	void add_classic_zone(const std::string &apex)
	{
		add_zone(apex);
		list_classic(apex, "127.0.0.2", { 127, 0, 0, 2 });
	}
	void add_bitmap_zone(const std::string &apex, dnsblv6_style style,
			     const std::string &classic = "", bool is_subzone = false)
	{
		dnsblv6_metadata metadata = {};
		uint8_t rdata[DNSBLV6_METADATA_RDATA_MAX];

		if (!is_subzone)
			add_zone(apex); // a sub-zone has no SOA of its own
		styles_[apex] = style;
		metadata.style = style;
		metadata.has_ipv4 = metadata.has_ipv6 = true;
		memcpy(metadata.classic, classic.c_str(), classic.size() + 1);
		const std::string url = "https://bl.example/?ip=$";
		memcpy(metadata.reason, url.c_str(), url.size() + 1);
		const size_t size = dnsblv6_metadata_encode(&metadata, rdata);
		add("_dnsblv6." + apex, 16, bytes(rdata, rdata + size));
		list_block(apex, dnsblv6_testpoint_get(0)->addr);
		list_block(apex, dnsblv6_testpoint_get(2)->addr);
		for (size_t i = 0; i < DNSBLV6_CANARY_COUNT; i++) {
			const dnsblv6_canary *canary = dnsblv6_canary_get(i);
			add(block_name(apex, canary->block), 28,
			    bytes(canary->map.bytes, canary->map.bytes + 16));
		}
	}
	void list(const std::string &apex, const std::string &address)
	{
		list_block(apex, parse(address));
	}
	void list_classic(const std::string &apex, const std::string &address, const bytes &a)
	{
		dnsblv6_labels labels = {};
		dnsblv6_name_make_classic(parse(address), &labels);
		add(text_of(labels) + "." + apex, 1, a);
	}
	void add(const std::string &name, uint16_t type, const bytes &rdata)
	{
		records_[{ name, type }].push_back(rdata);
	}
	// An NSEC that comes with every secure NXDOMAIN of the zone.
	void add_nsec(const std::string &owner, const std::string &next)
	{
		nsecs_.push_back({ owner, next });
	}

	resolver::script script()
	{
		return [this](resolver::query &query) { answer(query); };
	}

	static dnsblv6_addr parse(const std::string &text)
	{
		dnsblv6_addr addr = {};
		dnsblv6_addr_parse(text.c_str(), text.size(), &addr);
		return addr;
	}

      private:
	std::set<std::string> apexes_;
	std::map<std::string, dnsblv6_style> styles_;
	std::map<std::pair<std::string, uint16_t>, std::vector<bytes>> records_;
	std::vector<std::pair<std::string, std::string>> nsecs_;

	static std::string text_of(const dnsblv6_labels &labels)
	{
		char text[DNSBLV6_NAME_TEXT_SIZE];
		return std::string(text, dnsblv6_name_format(labels.wire, labels.size, text));
	}
	std::string block_name(const std::string &apex, dnsblv6_addr addr) const
	{
		dnsblv6_labels labels = {};
		dnsblv6_name_make(styles_.at(apex), dnsblv6_block_of(addr), &labels);
		return text_of(labels) + "." + apex;
	}
	void list_block(const std::string &apex, dnsblv6_addr addr)
	{
		const std::string name = block_name(apex, addr);
		auto &found = records_[{ name, 28 }];
		if (found.empty())
			found.push_back(bytes(16));
		dnsblv6_bitmap map = {};
		memcpy(map.bytes, found[0].data(), 16);
		dnsblv6_bitmap_add(&map, dnsblv6_host_index(addr));
		found[0].assign(map.bytes, map.bytes + 16);
	}

	// ---- wire ----

	static bytes wire(const std::string &name)
	{
		bytes made;
		size_t at = 0;
		while (at < name.size()) {
			const size_t dot = std::min(name.find('.', at), name.size());
			made.push_back(static_cast<uint8_t>(dot - at));
			made.insert(made.end(), name.begin() + static_cast<long>(at),
				    name.begin() + static_cast<long>(dot));
			at = dot + 1;
		}
		made.push_back(0);
		return made;
	}
	static void put(bytes &to, uint64_t number, unsigned size)
	{
		for (unsigned i = size; i > 0; i--)
			to.push_back(static_cast<uint8_t>(number >> 8 * (i - 1)));
	}
	static void put_record(bytes &reply, unsigned section, const bytes &owner, uint16_t type,
			       uint32_t ttl, const bytes &rdata)
	{
		reply.insert(reply.end(), owner.begin(), owner.end());
		put(reply, type, 2);
		put(reply, 1, 2);
		put(reply, ttl, 4);
		put(reply, rdata.size(), 2);
		reply.insert(reply.end(), rdata.begin(), rdata.end());
		reply[5 + 2 * section]++; // 1 answer, 2 authority, 3 additional
	}
	void put_soa(bytes &reply, const std::string &apex) const
	{
		bytes rdata = wire("ns." + apex);
		const bytes mailbox = wire("hostmaster." + apex);
		rdata.insert(rdata.end(), mailbox.begin(), mailbox.end());
		for (uint32_t number : { 1u, 3600u, 600u, 86400u, negative_ttl_s.load() })
			put(rdata, number, 4);
		put_record(reply, 2, wire(apex), 6, negative_ttl_s, rdata);
	}
	std::string apex_of(const std::string &name) const
	{
		for (size_t at = 0; at != std::string::npos; at = name.find('.', at + 1)) {
			const std::string rest = name.substr(at == 0 ? 0 : at + 1);
			if (apexes_.count(rest) != 0)
				return rest;
		}
		return name.substr(name.rfind('.') + 1);
	}

	// ---- what is said ----

	static std::string lower(std::string name)
	{
		for (char &c : name)
			c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
		if (!name.empty())
			name.pop_back(); // the final dot
		return name;
	}
	bytes deny(const resolver::query &query, const std::string &name, bool exists) const
	{
		const std::string apex =
			trouble == GONE ? name.substr(name.rfind('.') + 1) : apex_of(name);
		bytes reply = query.empty(exists ? 0 : 3);
		if (trouble != NO_SOA)
			put_soa(reply, apex);
		for (const auto &nsec : nsecs_) {
			bytes rdata = wire(nsec.second);
			put(rdata, 0x0006, 2); // one window of six bytes, AAAA RRSIG NSEC
			for (uint8_t part : { 0x00, 0x00, 0x00, 0x08, 0x00, 0x03 })
				rdata.push_back(part);
			if (is_secure && !exists)
				put_record(reply, 2, wire(nsec.first), 47, negative_ttl_s, rdata);
		}
		validate(reply, 2);
		return reply;
	}
	bytes give(const resolver::query &query, uint16_t type,
		   const std::vector<bytes> &found) const
	{
		bytes reply = query.empty(0);
		bytes owner = { 0xc0, 12 };
		if (trouble == FOREIGN)
			owner = wire("elsewhere.example");
		if (trouble == CNAME) {
			const bytes target = wire("target.example");
			put_record(reply, 1, owner, 5, ttl_s, target);
			owner = target;
		}
		for (const bytes &rdata : found)
			put_record(reply, 1, owner, type, ttl_s, rdata);
		if (trouble == TWO_AAAA && type == 28)
			put_record(reply, 1, owner, type, ttl_s, bytes(16, 0xff));
		validate(reply, 1);
		return reply;
	}
	// AD, and a signature of any bytes in that section.
	void validate(bytes &reply, int section) const
	{
		if (is_secure && is_signed)
			put_record(reply, section, { 0xc0, 12 }, 46, ttl_s, bytes(20, 1));
		if (is_secure)
			reply[3] |= 0x20;
	}
	static bool looks_private(const bytes &aaaa)
	{
		return aaaa[0] == 0xfd || aaaa[0] == 0xfe ||
		       std::all_of(aaaa.begin(), aaaa.begin() + 10,
				   [](uint8_t b) { return b == 0; });
	}
	bool answer_for_all(const resolver::query &query, uint16_t type, bytes &ret_reply) const
	{
		const bytes a = trouble == ALL_LISTED ? bytes{ 127, 0, 0, 2 }
				: trouble == TYPO     ? bytes{ 127, 255, 255, 252 }
						      : bytes{ 203, 0, 113, 9 };
		bytes aaaa(16, 0);
		aaaa[0] = 0x20;
		aaaa[15] = 9;
		if (trouble != ONE_ADDRESS && trouble != WILDCARD_A && trouble != ALL_LISTED &&
		    trouble != TYPO)
			return false;
		if (type == 1)
			ret_reply = give(query, 1, { a });
		else if (type == 28 && trouble == ONE_ADDRESS)
			ret_reply = give(query, 28, { aaaa });
		else
			ret_reply = query.empty(0);
		return true;
	}
	// CLOSED, SINKHOLE and REWRITTEN.
	bool answer_in_excess(const resolver::query &query, uint16_t type, bool is_there,
			      bytes &ret_reply) const
	{
		const bool is_closed = trouble == CLOSED && query.name()[0] != '_';
		bytes a = { 127, 0, 0, static_cast<uint8_t>(is_closed ? 2 : 1) };
		bytes aaaa(16, is_closed ? 0xff : 0);

		if (!is_closed && trouble != SINKHOLE && (trouble != REWRITTEN || is_there))
			return false;
		aaaa[15] |= 1;
		if (type == 1)
			ret_reply = give(query, 1, { a });
		else if (type == 28)
			ret_reply = give(query, 28, { aaaa });
		else
			return false;
		return true;
	}
	bytes look_up(const resolver::query &query) const
	{
		const std::string name = lower(query.name());
		const uint16_t type = query.type();
		const auto found = records_.find({ name, type });
		bytes reply;

		if (answer_for_all(query, type, reply) ||
		    answer_in_excess(query, type, found != records_.end(), reply))
			return reply;
		if (trouble == DNS64 && type == 28 && found == records_.end() &&
		    records_.count({ name, 1 }) != 0) {
			bytes made = { 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0 };
			const bytes &a = records_.at({ name, 1 })[0];
			made.insert(made.end(), a.begin(), a.end());
			return give(query, 28, { made });
		}
		if (trouble == EMPTIED || trouble == NO_DATA)
			return deny(query, name, trouble == NO_DATA);
		if (found == records_.end() || trouble == GONE)
			return deny(query, name, trouble != GONE && exists(name));
		if (type == 28 && trouble == NO_AAAA)
			return deny(query, name, true);
		if (type == 28 && looks_private(found->second[0]) &&
		    (trouble == NO_CANARIES || trouble == FORGED_DENIAL || trouble == DNS64))
			return deny(query, name, trouble != FORGED_DENIAL);
		return give(query, type, found->second);
	}
	bool exists(const std::string &name) const
	{
		for (const auto &record : records_) {
			const std::string &other = record.first.first;
			if (other == name || (other.size() > name.size() &&
					      other.compare(other.size() - name.size() - 1,
							    std::string::npos, "." + name) == 0))
				return true;
		}
		return apexes_.count(name) != 0;
	}
	void answer(const resolver::query &query) const
	{
		bytes reply = look_up(query);
		switch (trouble) {
		case SILENT:
			return;
		case SERVFAIL:
			reply = query.empty(2);
			break;
		case MUTE:
			if ((reply[3] & 15) == 3)
				return;
			break;
		case SERVFAIL_IPV6:
			if (query.name().size() > 64)
				reply = query.empty(2);
			break;
		case REFUSED:
			reply = query.empty(5);
			break;
		case PROHIBITED:
			reply = query.empty(0);
			put_record(reply, 3, { 0 }, 41, 0, { 0, 15, 0, 2, 0, 18 });
			break;
		case WRONG_ID:
			reply[0] = static_cast<uint8_t>(reply[0] + 1);
			break;
		case CUT:
			reply.resize(reply.size() / 2);
			break;
		case LOOP:
			reply[7] = 1;
			reply.resize(query.empty(0).size());
			put(reply, 0xc000 | reply.size(), 2);
			put(reply, 1, 2);
			break;
		case HUGE_:
			reply.resize(60000);
			break;
		case TC:
			reply = query.empty(0, true);
			break;
		default:
			break;
		}
		query.reply_after(delay_ms, reply);
		answered++;
	}
};
