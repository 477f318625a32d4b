// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// xdp_numbered.hh - versions of a zone that have their number in all that an answer has, so that a mixture
// of two shows.

#include "tests/unit/server/xdp-kernel/xdp_questions.hh"

#include <atomic>
#include <thread>

enum : unsigned { VERSION_COUNT = 6, ELSEWHERE = 100, TTL_BASE = 1000 };

// Everything in version number says its number: bits, TTL, serial, and a name that proofs have.
inline store_options numbered(unsigned number)
{
	store_options options;
	options.is_signed = true;
	options.serial = number;
	options.ttl = TTL_BASE + number;
	options.more = [number](store_writer &out) {
		dnsblv6_bitmap map;
		memset(map.bytes, static_cast<int>(number), sizeof(map.bytes));
		out.bitmap("0.5.5.5", map);
		out.full("v" + std::to_string(number) + ".7");
		// Lines of one version lie where others are of another.
		for (unsigned i = 0; i < number % 5; i++)
			out.full("x" + std::to_string(i) + ".8");
	};
	return options;
}

// A server of one version, which is only read.
inline std::unique_ptr<decision> make_version(unsigned number)
{
	return std::make_unique<decision>(numbered(number));
}

inline bytes query_of(const std::string &name)
{
	xdp_question asked;
	asked.name = split(labels(name + ".bl6.example."));
	asked.payload = 1232;
	asked.edns_flags = 0x8000;
	return asked.wire();
}

// The number that all of an answer has; -1: it is a mixture.
inline int number_of(const bytes &wire)
{
	dns::message answer(wire);
	if (answer.answer.size() == 2) {
		const dns::record &rr = answer.answer[0];
		const unsigned number = rr.ttl - TTL_BASE;
		const bool is_one = rr.rdata == bytes(16, static_cast<uint8_t>(number)) &&
				    answer.answer[1].ttl == rr.ttl;
		return is_one ? static_cast<int>(number) : -1;
	}
	// The SOA, an NSEC of the name that has the number, and their RRSIGs.
	if (answer.rcode != 3 || answer.authority.size() < 4)
		return -1;
	const bytes &soa = answer.authority[0].rdata;
	const unsigned number = soa[soa.size() - 17];
	const std::string owner = "v" + std::to_string(number) + ".7.bl6.example.";
	for (const dns::record &rr : answer.authority) {
		if (rr.type == dns::NSEC && rr.owner == owner)
			return static_cast<int>(number);
	}
	return -1;
}

// A version as it is in its lines, to be put there again at once.
class xdp_image
{
      public:
	// Of what is current in zone 0.
	explicit xdp_image(const xdp_memory &memory)
	    : version_(memory.zone().versions[memory.zone().current]),
	      lines_(memory.native.lines + version_.first_line,
		     memory.native.lines + version_.first_line + memory.line_count)
	{
	}
	// Over what was current before the last switch.
	bool put(xdp_memory &memory) const
	{
		tables_place place;
		if (tables_reserve(&memory.tables, 0, static_cast<uint32_t>(lines_.size()),
				   &place) != 0)
			return false;
		memcpy(place.lines, lines_.data(), lines_.size() * sizeof(xdp_line));
		*place.version = version_;
		place.version->first_line = place.first_line;
		tables_switch(&memory.tables, 0, 0, &memory.time);
		return true;
	}

      private:
	xdp_version version_;
	std::vector<xdp_line> lines_;
};

// Switches between versions until it is told that it is over: two at once, so that what an answer has
// begun with is written over, and then none for the time of some answers.
class xdp_switcher
{
      public:
	explicit xdp_switcher(xdp_memory &memory) : memory_(memory)
	{
		for (unsigned i = 1; i <= VERSION_COUNT; i++) {
			if (memory.fill(&make_version(i)->catalog.zones[0]) != FILL_OK)
				throw std::runtime_error("not filled");
			images_.emplace_back(memory);
		}
		thread_ = std::thread([this] { run(); });
	}
	~xdp_switcher()
	{
		is_over_ = true;
		thread_.join();
	}
	xdp_switcher(const xdp_switcher &) = delete;
	xdp_switcher &operator=(const xdp_switcher &) = delete;

	unsigned count() const
	{
		return count_;
	}
	bool has_failed() const
	{
		return has_failed_;
	}

      private:
	xdp_memory &memory_;
	std::vector<xdp_image> images_;
	std::atomic<bool> is_over_ = false;
	std::atomic<bool> has_failed_ = false;
	std::atomic<unsigned> count_ = 0;
	std::thread thread_;

	void run()
	{
		randomness random(1);
		while (!is_over_) {
			for (int i = 0; i < 2; i++)
				has_failed_ = has_failed_ ||
					      !images_[random.below(VERSION_COUNT)].put(memory_);
			count_++;
			std::atomic<unsigned> pause = 0;
			for (unsigned more = random.below(3000); more > 0; more--)
				pause++;
		}
	}
};
