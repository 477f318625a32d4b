// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// xdp_fixture.hh - the arrays of the program in the network driver in plain memory, filled from the
// store of a server's decision, and the program's core to ask beside it.

#include "server/xdp-kernel/fill.h"
#include "server/xdp-kernel/native.h"
#include "server/xdp-kernel/tables.h"
#include "tests/unit/server/fixture.hh"

#include <memory>

enum : uint64_t { XDP_NOW_NS = 5000000000, XDP_NOW_S = 1000, XDP_LEASE_NS = 3000000000 };

inline bytes wire_name(const std::string &text)
{
	return dns::name(text);
}

class xdp_memory
{
      public:
	struct tables tables = {};
	tables_time time = { XDP_NOW_NS, XDP_NOW_S, XDP_LEASE_NS };
	xdp_native native = {};

	explicit xdp_memory(uint32_t line_count = 40000)
	    : zones_(XDP_ZONES_MAX), lines_(line_count), counts_(2 * (XDP_ZONES_MAX + 1)),
	      buckets_(64)
	{
		// What nobody has written is no zero: what is read of it shows.
		memset(static_cast<void *>(lines_.data()), 0xa5, line_count * sizeof(xdp_line));
		const tables_arrays arrays = { &config_,       zones_.data(), lines_.data(),
					       counts_.data(), line_count,    2 };
		tables_init(&tables, &arrays);
		tables_take_away(&tables);
		native.config = &config_;
		native.zones = zones_.data();
		native.lines = lines_.data();
		native.line_count = line_count;
		native.bucket_count = static_cast<uint32_t>(buckets_.size());
		native.buckets = buckets_.data();
		native.counts = counts_.data();
	}
	xdp_memory(const xdp_memory &) = delete;
	xdp_memory &operator=(const xdp_memory &) = delete;

	const xdp_config &config() const
	{
		return config_;
	}
	const xdp_zone &zone(unsigned number = 0) const
	{
		return zones_[number];
	}
	std::vector<xdp_counts> &counts()
	{
		return counts_;
	}

	// Faces with the numbers of their zones, and what else tables_configure() takes.
	int configure(const std::vector<std::pair<std::string, unsigned>> &faces,
		      tables_rules rules = {})
	{
		std::vector<bytes> names;
		std::vector<tables_face> all;
		for (const auto &[text, zone] : faces)
			names.push_back(wire_name(text));
		for (size_t i = 0; i < faces.size(); i++)
			all.push_back({ names[i].data(), names[i].size(), faces[i].second });
		rules.faces = all.data();
		rules.face_count = all.size();
		if (rules.payload == 0)
			rules.payload = 1232;
		int ret = tables_configure(&tables, &rules);
		tables_renew(&tables, &time);
		return ret;
	}

	// The current version of what zone has open. step: names at a time.
	fill_reason fill(struct zone *zone, unsigned number = 0, bool has_neighbours = false,
			 size_t step = 7)
	{
		if (zone_begin(zone) != 0)
			return FILL_CLOSED;
		struct fill fill;
		fill_begin(&fill, zone, has_neighbours);
		while (fill_count(&fill, step))
			continue;
		line_count = fill.line_count;
		tables_place place;
		if (fill.reason == FILL_OK &&
		    tables_reserve(&tables, number, fill.line_count, &place) != 0)
			fill.reason = FILL_NAMES;
		if (fill.reason == FILL_OK) {
			fill_place(&fill, &place);
			while (fill_write(&fill, step))
				continue;
		}
		if (fill.reason == FILL_OK)
			tables_switch(&tables, number, zone->facts.expires_s, &time);
		zone_end(zone);
		return fill.reason;
	}
	uint32_t line_count = 0; // that the last version needed

	// The size of an answer, or XDP_NATIVE_PASS or XDP_NATIVE_DROP.
	long ask(const bytes &wire, bytes &ret_answer, const std::string &client = "192.0.2.1")
	{
		xdp_native_query query = {};
		query.wire = wire.data();
		query.size = wire.size();
		query.now_ns = time.now_ns;
		dnsblv6_addr_to_bytes(addr(client), query.client);
		ret_answer.resize(4096);
		long size =
			xdp_native_answer(&native, &query, ret_answer.data(), ret_answer.size());
		ret_answer.resize(size > 0 ? static_cast<size_t>(size) : 0);
		return size;
	}

      private:
	xdp_config config_ = {};
	std::vector<xdp_zone> zones_;
	std::vector<xdp_line> lines_;
	std::vector<xdp_counts> counts_;
	std::vector<xdp_native_bucket> buckets_;
};
