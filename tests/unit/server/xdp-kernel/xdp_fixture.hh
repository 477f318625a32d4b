// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// xdp_fixture.hh - the arrays of the program in the network driver in plain memory, filled from the
// store of a server's decision, and the program's core to ask beside it.

#include "server/xdp-kernel/fill.h"
#include "tests/lib/xdp_native.h"
#include "server/xdp-kernel/tables.h"
#include "tests/lib/child.hh"
#include "tests/unit/server/fixture.hh"

#include <memory>

enum : uint64_t { XDP_NOW_NS = 5000000000, XDP_NOW_S = 1000, XDP_LEASE_NS = 3000000000 };

inline bytes wire_name(const std::string &text)
{
	return dns::name(text);
}

// ---- names ----

// A name relative to the apex as its labels, the first one first; their bytes are any.
using label_list = std::vector<bytes>;

inline label_list split(const dnsblv6_labels &name)
{
	label_list out;
	for (unsigned at = 0; at < name.size; at += 1U + name.wire[at])
		out.emplace_back(name.wire + at + 1, name.wire + at + 1 + name.wire[at]);
	return out;
}

inline bytes join(const label_list &list)
{
	bytes out;
	for (const bytes &label : list) {
		out.push_back(static_cast<uint8_t>(label.size()));
		dns::append(out, label);
	}
	return out;
}

inline dnsblv6_key key_of(const label_list &list)
{
	bytes wire = join(list);
	dnsblv6_key key;
	if (dnsblv6_key_from_labels(wire.data(), wire.size(), &key) != DNSBLV6_OK)
		throw std::runtime_error("no key");
	return key;
}

// Of each name with data, and of each empty one above them.
inline std::set<label_list> all_names(const std::map<std::string, std::set<uint16_t>> &known)
{
	std::set<label_list> out;
	for (const auto &entry : known) {
		label_list name = split(labels(entry.first));
		for (; !name.empty(); name.erase(name.begin()))
			out.insert(name);
	}
	out.insert(label_list{});
	return out;
}

// ---- stores ----

// Names at which a program that has no more than lines of 64 bytes may be wrong.
inline void write_odd_names(store_writer &out)
{
	// Keys around the 39 and 40 bytes that are kept, and names around 34.
	const std::string nines = "999999999";
	for (size_t size = 30; size <= 44; size++) {
		out.full(std::string(size, 'k'));
		out.full(std::string(size - 20, 'b') + "." + std::string(19, 'k'));
		// Something below what can just be asked for, and beside it.
		out.full("z." + std::string(size, 'm'));
		out.full(nines + "." + nines + "." + std::string(size - 18, 'n'));
	}
	out.full("far.below.something.that.is.longer.than.all.that.is.kept.of.a.name");
	// Empty names above and below a wildcard, and one that is a wildcard itself.
	out.full("*.wild");
	out.full("x.y.*.wild");
	out.full("a.b.wild");
	out.full("leaf.*.empty");
	out.full("0.0.*.star.deeper");
	// Wildcards of so many labels that it is not noted how many.
	out.full("*.v1.v2.v3.v4.v5.v6");
	out.full("*.w1.w2.w3.w4.w5.w6.w7");
	out.full("x.*.u1.u2.u3.u4.u5.u6.u7.u8");
	// A wildcard that is no bitmap, and one beside data.
	out.rrs("*.static", { { dns::TXT, 60, text_rdata("any") } });
	out.rrs("here.static",
		{ { dns::AAAA, 60, bytes(16, 0x11) }, { dns::AAAA, 60, bytes(16, 0x12) } });
	out.rrs("deep.below.static2", { { 15, 60, { 0, 1, 0 } } });
	// Bytes that a key has in two.
	out.full("a\\000b.escaped");
	out.full("a\\001b.escaped");
	out.full("\\001.escaped");
	out.full("\\255.high");
	out.full("-.high");
}

// Of all shapes that zones have; options.names is the caller's.
inline store_options odd_store(dnsblv6_style style, bool is_signed)
{
	store_options options;
	options.style = style;
	options.is_signed = is_signed;
	options.more = write_odd_names;
	if (dnsblv6_style_is_both(style)) {
		for (const char *name : { "c000020", "c633640", "7f00000", "c000020.sub" })
			options.more_bitmaps.emplace_back(name);
		for (const char *name : { "20010db8aabbcc0.ip6", "20010db8aabbcc8.ip6" })
			options.more_bitmaps.emplace_back(name);
	}
	return options;
}

// A process must not have a store open twice.
inline void write_elsewhere(const std::string &path, const store_options &options)
{
	child writer([&] {
		write_store(path, options);
		return 0;
	});
	if (writer.wait() != 0)
		throw std::runtime_error("store not written");
}

// ---- the arrays ----

class xdp_memory
{
      public:
	struct tables tables = {};
	tables_time time = { XDP_NOW_NS, XDP_NOW_S, XDP_LEASE_NS };
	xdp_native native = {};

	explicit xdp_memory(uint32_t line_count = 40000)
	    : own_config_(1), own_zones_(XDP_ZONES_MAX), own_lines_(line_count),
	      own_counts_(2 * (XDP_ZONES_MAX + 1)), buckets_(64)
	{
		// What is not written is no zero: what is read of it shows.
		memset(static_cast<void *>(own_lines_.data()), 0xa5, line_count * sizeof(xdp_line));
		begin({ own_config_.data(), own_zones_.data(), own_lines_.data(),
			own_counts_.data(), line_count, 2 });
	}
	// Over arrays that are mapped, without a limit of rates.
	explicit xdp_memory(const tables_arrays &arrays)
	{
		begin(arrays);
	}
	xdp_memory(const xdp_memory &) = delete;
	xdp_memory &operator=(const xdp_memory &) = delete;

	const xdp_config &config() const
	{
		return *tables.arrays.config;
	}
	const xdp_zone &zone(unsigned number = 0) const
	{
		return tables.arrays.zones[number];
	}
	std::vector<xdp_counts> &counts()
	{
		return own_counts_;
	}

	const xdp_version &current() const
	{
		return zone().versions[zone().current];
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
	std::vector<xdp_config> own_config_;
	std::vector<xdp_zone> own_zones_;
	std::vector<xdp_line> own_lines_;
	std::vector<xdp_counts> own_counts_;
	std::vector<xdp_native_bucket> buckets_;

	void begin(const tables_arrays &arrays)
	{
		tables_init(&tables, &arrays);
		tables_take_away(&tables);
		native.config = arrays.config;
		native.zones = arrays.zones;
		native.lines = arrays.lines;
		native.line_count = arrays.line_count;
		native.bucket_count = static_cast<uint32_t>(buckets_.size());
		native.buckets = buckets_.empty() ? nullptr : buckets_.data();
		native.counts = own_counts_.empty() ? nullptr : own_counts_.data();
	}
};
