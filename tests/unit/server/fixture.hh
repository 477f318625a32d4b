// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// server_fixture.hh - a small store, a server's decision over it, and eyes to
// read what it answers.
//
// The store is written with lib/store and lib/format and has one of each thing
// that a server can meet; its content is the table in store_content below.
// Replies are read by tests/lib/dns.hh.

#include "lib/format/bytes.h"
#include "lib/format/record.h"
#include "lib/format/wellknown.h"
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"
#include "server/answer/answer.h"
#include "server/askers/frequent.h"
#include "server/askers/ratelimit.h"
#include "tests/lib/dns.hh"
#include "tests/lib/random.hh"
#include "tests/lib/tmpdir.hh"

#include <arpa/inet.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// ---- options of EDNS ----

inline constexpr unsigned option_nsid = 3, option_cookie = 10, option_keepalive = 11;

inline bytes option(unsigned code, const bytes &data)
{
	bytes out;
	dns::put16(out, code);
	dns::put16(out, static_cast<unsigned>(data.size()));
	dns::append(out, data);
	return out;
}

// ---- the store ----

// The zone of the store, if its options do not say another.
inline const std::string apex = "bl6.example.";

inline dnsblv6_labels labels(const std::string &text)
{
	dnsblv6_labels out;
	if (dnsblv6_name_from_text(text.empty() ? "@" : text.c_str(), &out) != DNSBLV6_OK)
		throw std::runtime_error("not a name: " + text);
	return out;
}

inline dnsblv6_addr addr(const std::string &text)
{
	dnsblv6_addr out;
	if (dnsblv6_addr_parse(text.data(), text.size(), &out) != DNSBLV6_OK)
		throw std::runtime_error("not an address: " + text);
	return out;
}

struct store_options {
	std::string apex = "bl6.example.";
	uint32_t serial = 7;
	uint32_t ttl = 2100; // of bitmaps
	uint64_t expires_s = 0;
	dnsblv6_style style = DNSBLV6_STYLE_DOTTED;
	bool has_wide = true; // dotted names: wildcards of /16 and /8
	unsigned more_ns = 0; // besides ns1 and ns2, each with an A and an AAAA
	bool is_signed = false;
	bool is_signed_twice = false;	      // by algorithm 15 as well
	bool has_signing = true;	      // the fact, when it is signed
	uint64_t signed_until_s = 9e9;	      // what the fact says
	std::set<std::string> unsigned_names; // that lack what they should have
	std::vector<std::string> more_bitmaps;
	std::function<void(class store_writer &)> more; // what else is to be written
	// When not NULL: becomes the names with data and their types.
	std::map<std::string, std::set<uint16_t>> *names = nullptr;
};

// ---- signatures that are none, but each unlike the others ----

enum : uint32_t { SIGNED_FROM = 1000000, SIGNED_UNTIL = 0x7fffffff, KEY_TAG = 4711 };

// name is relative to the apex, as stored: "*" and all; "" is the apex.
inline bytes signature_bytes(const std::string &name, uint16_t type)
{
	uint32_t hash = 2166136261U + type;
	bytes out(DNSBLV6_SIGNATURE_BYTES);
	for (char c : name)
		hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
	for (uint8_t &byte : out) {
		hash = hash * 1664525U + 1013904223U;
		byte = static_cast<uint8_t>(hash >> 24);
	}
	return out;
}

inline std::string full_name(const std::string &name, const std::string &apex)
{
	return name.empty() ? apex : name + "." + apex;
}

inline bytes rrsig_rdata(const std::string &name, const std::string &apex, uint16_t type,
			 uint32_t ttl, uint8_t algorithm = 13)
{
	unsigned label_count = 0;
	for (char c : full_name(name, apex))
		label_count += c == '.';
	if (name.compare(0, 2, "*.") == 0)
		label_count--;
	bytes out;
	dns::put16(out, type);
	out.push_back(algorithm);
	out.push_back(static_cast<uint8_t>(label_count));
	dns::put32(out, ttl);
	dns::put32(out, SIGNED_UNTIL);
	dns::put32(out, SIGNED_FROM);
	dns::put16(out, KEY_TAG);
	dns::append(out, dns::name(apex));
	dns::append(out, signature_bytes(name, type));
	return out;
}

class store_writer
{
      public:
	store_writer(writer *w, const store_options &options) : writer_(w), options_(options)
	{
		if (options_.names != nullptr)
			options_.names->clear();
	}
	int status() const
	{
		return status_;
	}
	void bitmap(const std::string &name, std::vector<unsigned> bits)
	{
		dnsblv6_bitmap map = {};
		for (unsigned bit : bits)
			dnsblv6_bitmap_add(&map, bit);
		bitmap(name, map);
	}
	void full(const std::string &name)
	{
		bitmap(name, dnsblv6_bitmap_make_full());
	}
	void bitmap(const std::string &name, const dnsblv6_bitmap &map)
	{
		uint8_t data[DNSBLV6_TWICE_SIGNED_BITMAP_RECORD_SIZE];
		size_t size = DNSBLV6_BITMAP_RECORD_SIZE;
		dnsblv6_record_encode_bitmap(&map, data);
		if (is_signed(name)) {
			dnsblv6_signatures signatures = { signature(name, dns::AAAA),
							  signature(name, dns::NSEC) };
			const dnsblv6_signatures both[] = { signatures, signatures };
			dnsblv6_record_encode_twice_signed_bitmap(&map, both, data);
			size = options_.is_signed_twice ? sizeof(data)
							: DNSBLV6_SIGNED_BITMAP_RECORD_SIZE;
		}
		record(name, data, size);
		keep_types(name, { dns::AAAA });
	}
	struct rr {
		uint16_t type;
		uint32_t ttl;
		bytes rdata;
	};
	void rrs(const std::string &name, std::vector<rr> list)
	{
		std::set<uint16_t> types;
		for (const rr &one : list)
			types.insert(one.type);
		keep_types(name, types);
		if (is_signed(name))
			add_rrsigs(name, list);
		std::vector<dnsblv6_rr> raw;
		for (const rr &one : list)
			raw.push_back({ one.type, static_cast<uint16_t>(one.rdata.size()), one.ttl,
					one.rdata.data() });
		bytes data(60000);
		size_t size = 0;
		keep(dnsblv6_record_encode_rrs(raw.data(), raw.size(), data.data(), data.size(),
					       &size));
		record(name, data.data(), size);
	}
	struct value {
		std::string a;
		uint32_t ttl;
		std::string text;
	};
	void set(uint32_t number, const std::vector<value> &values)
	{
		std::vector<dnsblv6_value> raw;
		for (const value &one : values)
			raw.push_back({ dnsblv6_addr_ipv4(addr(one.a)), one.ttl,
					static_cast<uint8_t>(one.text.size()),
					reinterpret_cast<const uint8_t *>(one.text.data()) });
		bytes data(100000);
		size_t size = 0;
		keep(dnsblv6_set_encode(raw.data(), raw.size(), data.data(), data.size(), &size));
		uint8_t key[DNSBLV6_SET_KEY_SIZE];
		dnsblv6_set_make_key(number, key);
		put(STORE_SETS, key, sizeof(key), data.data(), size);
	}
	void segment(uint16_t origin, const std::string &first, const std::string &last,
		     uint32_t number)
	{
		dnsblv6_segment segment = { addr(first), addr(last), number };
		uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
		uint8_t data[DNSBLV6_SEGMENT_MAX];
		size_t key_size = dnsblv6_segment_make_key(origin, segment.last, key);
		size_t size = dnsblv6_segment_encode(&segment, data);
		put(STORE_SEGMENTS, key, key_size, data, size);
	}
	void origin(uint16_t number, const std::string &name, uint32_t default_set)
	{
		dnsblv6_origin origin = { labels(name), default_set };
		uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
		uint8_t data[DNSBLV6_ORIGIN_MAX];
		dnsblv6_origin_make_key(number, key);
		put(STORE_FACTS, key, sizeof(key), data, dnsblv6_origin_encode(&origin, data));
	}
	void facts(const dnsblv6_facts &facts)
	{
		uint8_t data[DNSBLV6_FACTS_MAX];
		put(STORE_FACTS, reinterpret_cast<const uint8_t *>(DNSBLV6_FACT_ZONE),
		    strlen(DNSBLV6_FACT_ZONE), data, dnsblv6_facts_encode(&facts, data));
		uint8_t schema[4];
		uint8_t *at = schema;
		bytes_put(&at, DNSBLV6_SCHEMA, sizeof(schema));
		put(STORE_FACTS, reinterpret_cast<const uint8_t *>(DNSBLV6_FACT_SCHEMA),
		    strlen(DNSBLV6_FACT_SCHEMA), schema, sizeof(schema));
		if (options_.is_signed && options_.has_signing)
			put_signing({ 13, options_.signed_until_s,
				      static_cast<uint8_t>(options_.is_signed_twice ? 15 : 0) });
	}
	void lists_time(const bytes &value)
	{
		put(STORE_FACTS, reinterpret_cast<const uint8_t *>(DNSBLV6_FACT_LISTS),
		    strlen(DNSBLV6_FACT_LISTS), value.data(), value.size());
	}
	void list_files(const bytes &value)
	{
		put(STORE_FACTS, reinterpret_cast<const uint8_t *>(DNSBLV6_FACT_FILES),
		    strlen(DNSBLV6_FACT_FILES), value.data(), value.size());
	}
	void record(const std::string &name, const uint8_t *data, size_t size)
	{
		dnsblv6_labels owner = labels(name);
		dnsblv6_key key;
		keep(dnsblv6_key_from_labels(owner.wire, owner.size, &key));
		put(STORE_RECORDS, key.bytes, key.size, data, size);
	}

      private:
	writer *writer_;
	const store_options &options_;
	int status_ = 0;

	bool is_signed(const std::string &name) const
	{
		return options_.is_signed && options_.unsigned_names.count(name) == 0;
	}
	void keep_types(const std::string &name, const std::set<uint16_t> &types)
	{
		if (options_.names != nullptr)
			(*options_.names)[name] = types;
	}
	static dnsblv6_signature signature(const std::string &name, uint16_t type)
	{
		dnsblv6_signature out = { SIGNED_FROM, SIGNED_UNTIL, KEY_TAG, {} };
		bytes made = signature_bytes(name, type);
		memcpy(out.bytes, made.data(), made.size());
		return out;
	}
	void add_rrsigs(const std::string &name, std::vector<rr> &list)
	{
		std::map<uint16_t, uint32_t> ttls = { { dns::NSEC, 600 } };
		for (const rr &one : list)
			ttls[one.type] = one.ttl;
		// Before the data: who takes the first RR for data is found out.
		for (const auto &[type, ttl] : ttls) {
			for (const uint8_t algorithm : { 15, 13 }) {
				if (algorithm == 13 || options_.is_signed_twice)
					list.insert(list.begin(),
						    { dns::RRSIG, ttl,
						      rrsig_rdata(name, options_.apex, type, ttl,
								  algorithm) });
			}
		}
	}
	void put_signing(const dnsblv6_signing &signing)
	{
		uint8_t data[DNSBLV6_SIGNING_MAX];
		const size_t size = dnsblv6_signing_encode(&signing, data);
		put(STORE_FACTS, reinterpret_cast<const uint8_t *>(DNSBLV6_FACT_SIGNING),
		    strlen(DNSBLV6_FACT_SIGNING), data, size);
	}
	void keep(int ret)
	{
		if (status_ == 0)
			status_ = ret;
	}
	void put(store_table table, const uint8_t *key, size_t key_size, const uint8_t *data,
		 size_t size)
	{
		keep(writer_put(writer_, table, key, key_size, data, size));
	}
};

inline bytes soa_rdata(const std::string &apex, uint32_t serial)
{
	bytes out = dns::name("ns1." + apex);
	dns::append(out, dns::name("hostmaster." + apex));
	for (uint32_t number : { serial, 3600U, 900U, 604800U, 600U })
		dns::put32(out, number);
	return out;
}

inline bytes text_rdata(const std::string &text)
{
	bytes out = { static_cast<uint8_t>(text.size()) };
	out.insert(out.end(), text.begin(), text.end());
	return out;
}

inline bytes dnskey_rdata()
{
	bytes out = { 1, 1, 3, 13 }; // flags 257, protocol, algorithm
	dns::append(out, bytes(64, 0x48));
	return out;
}

inline void write_static(store_writer &out, const store_options &options)
{
	const std::string &apex = options.apex;
	std::vector<store_writer::rr> rrs = {
		{ dns::SOA, 3600, soa_rdata(apex, options.serial) },
		{ dns::NS, 86400, dns::name("ns1." + apex) },
		{ dns::NS, 86400, dns::name("NS2." + apex) },
		{ dns::NS, 86400, dns::name("ns.elsewhere.example.") },
	};
	for (unsigned i = 0; i < options.more_ns; i++) {
		std::string host = "more" + std::to_string(i);
		rrs.push_back({ dns::NS, 86400, dns::name(host + "." + apex) });
		out.rrs(host, { { dns::A, 86400, { 192, 0, 2, 55 } },
				{ dns::AAAA, 86400, bytes(16, 0x55) } });
	}
	rrs.push_back({ dns::TXT, 60, text_rdata("hello") });
	if (options.is_signed)
		rrs.push_back({ dns::DNSKEY, 3600, dnskey_rdata() });
	out.rrs("", rrs);
	out.rrs("ns1",
		{ { dns::A, 86400, { 192, 0, 2, 53 } }, { dns::AAAA, 86400, bytes(16, 0x53) } });
	out.rrs("ns2", { { dns::A, 86400, { 192, 0, 2, 54 } } });
	std::vector<store_writer::rr> many;
	for (char c = 'a'; c < 'a' + 20; c++)
		many.push_back({ dns::TXT, 60, text_rdata(std::string(200, c)) });
	out.rrs("many", many);
	out.rrs("twelve", { many.begin(), many.begin() + 4 });
}

inline void write_lists(store_writer &out)
{
	using namespace std::string_literals;
	out.origin(0, "", 1);
	out.origin(1, "sub", 2);
	out.origin(2, "deep.er", 2);
	out.set(1, { { "127.0.0.2", 2100, "see https://bl.example/?ip=\0"s } });
	out.set(2, { { "127.0.0.3", 900, "" } });
	out.set(3, { { "127.0.0.4", 400, "a" },
		     { "127.0.0.4", 600, "b" },
		     { "127.0.0.5", 450, "a" },
		     { "127.0.0.5", 300, "" } });
	std::vector<store_writer::value> many;
	for (int i = 1; i <= 200; i++)
		many.push_back({ "127.0.1." + std::to_string(i), 60,
				 std::to_string(i) + std::string(250, 'x') });
	out.set(4, many);
	for (int i = 201; i <= 255; i++)
		many.push_back({ "127.0.1." + std::to_string(i), 60,
				 std::to_string(i) + std::string(250, 'x') });
	out.set(5, many);
}

// The same addresses as far as there are names for them: flat names have no wildcards.
inline void write_flat_bitmaps(store_writer &out)
{
	out.bitmap("c000020", std::vector<unsigned>{ 1, 127 });
	out.segment(0, "192.0.2.127", "192.0.2.127", 3);
	out.bitmap("7f00000", std::vector<unsigned>{ 2 });
	out.bitmap("20010db8aabbcc0.ip6", std::vector<unsigned>{ 0 });
	out.bitmap("c000020.sub", std::vector<unsigned>{ 5 });
}

inline void write_wide_wildcards(store_writer &out)
{
	out.full("*.0.203");
	out.segment(0, "203.0.1.0", "203.0.1.255", 4);
	out.segment(0, "203.0.2.0", "203.0.2.255", 5);
	out.full("*.77");
}

inline void write_dotted_bitmaps(store_writer &out, const store_options &options)
{
	out.bitmap("0.2.0.192", std::vector<unsigned>{ 1, 127 });
	out.segment(0, "192.0.2.127", "192.0.2.127", 3);
	out.full("*.100.51.198");
	out.segment(0, "198.51.100.9", "198.51.100.9", 2);
	if (options.has_wide)
		write_wide_wildcards(out);
	out.bitmap("0.0.0.127", std::vector<unsigned>{ 2 });
	for (size_t i = 0; i < DNSBLV6_CANARY_COUNT; i++)
		out.bitmap("0." + std::to_string(i + 1) + ".0.127", dnsblv6_canary_get(i)->map);

	out.bitmap("0.cc.aabb.0db8.2001.ip6", std::vector<unsigned>{ 0, 5 });
	out.segment(0, "2001:db8:aabb:cc05::", "2001:db8:aabb:cc05::", 0);
	out.segment(0, "2001:db8:aabb:cc05::1", "2001:db8:aabb:cc05::1", 3);
	out.segment(0, "2001:db8:aabb:cc05::2", "2001:db8:aabb:cc05:ffff:ffff:ffff:ffff", 0);
	out.full("*.0bad.2001.ip6");
	// 6to4: the address itself with one value, the IPv4 address inside it with another.
	out.bitmap("0.00.0201.c000.2002.ip6", std::vector<unsigned>{ 0 });
	out.segment(0, "2002:c000:201::", "2002:c000:201:0:ffff:ffff:ffff:ffff", 2);

	out.bitmap("0.2.0.192.sub", std::vector<unsigned>{ 5 });
	out.bitmap("0.4.0.127.sub", dnsblv6_canary_get(3)->map);
	out.bitmap("0.9.9.9.deep.er", std::vector<unsigned>{ 9 });
}

inline int store_content(writer *w, void *context)
{
	const store_options &options = *static_cast<store_options *>(context);
	for (int table = 0; table < STORE_TABLE_COUNT; table++) {
		int ret = writer_clear(w, static_cast<store_table>(table));
		if (ret != 0)
			return ret;
	}
	store_writer out(w, options);
	dnsblv6_facts facts = {};
	facts.zone = labels(options.apex);
	facts.style = options.style;
	facts.ttl = options.ttl;
	facts.serial = options.serial;
	facts.expires_s = options.expires_s;
	out.facts(facts);
	write_static(out, options);
	write_lists(out);
	if (options.style == DNSBLV6_STYLE_FLAT)
		write_flat_bitmaps(out);
	else
		write_dotted_bitmaps(out, options);
	for (const std::string &name : options.more_bitmaps)
		out.full(name);
	if (options.more)
		options.more(out);
	return out.status();
}

inline void write_store(const std::string &path, store_options options = {})
{
	int ret = writer_run(path.c_str(), &zone_store, store_content, &options);
	if (ret != 0)
		throw std::runtime_error("store not written: " + std::string(store_strerror(ret)));
}

// ---- the server ----

// A catalog over one store, and answer_make() with its counters.
class decision
{
      public:
	explicit decision(store_options options = {}, unsigned payload = 1232)
	{
		write_store(path(), options);
		open("zone:\n  - domain: bl6.example.\n    store: " + path() +
			     "\n    classic: bl.example.\n",
		     payload);
	}
	// Of any configuration; stores that exist are opened.
	decision(const std::string &configuration, const tmpdir &, unsigned payload = 1232)
	{
		open(configuration, payload);
	}
	~decision()
	{
		answer_free(answer_);
		ratelimit_free(limit_);
		frequent_free(frequent_);
		frequent_close(&frequent_bank_);
		catalog_deinit(&catalog);
		counters_close(&bank);
		settings_deinit(&settings_);
	}
	decision(const decision &) = delete;
	decision &operator=(const decision &) = delete;

	std::string path() const
	{
		return directory_.file("bl6.mdb");
	}
	// The response as bytes; empty for silence.
	bytes make(const bytes &wire, bool is_tcp = false, uint64_t now_s = 1000)
	{
		return make_with(answer_make, wire, is_tcp, now_s);
	}
	// The same without the short cut for common questions.
	bytes make_long(const bytes &wire, bool is_tcp = false, uint64_t now_s = 1000)
	{
		return make_with(answer_make_long, wire, is_tcp, now_s);
	}
	// Shows a batch before the first of it is answered; who asks keeps the bytes until end().
	void lookahead(const std::vector<bytes> &batch)
	{
		std::vector<responder_query> queries;
		for (const bytes &wire : batch) {
			responder_query query = {};
			query.wire = wire.data();
			query.size = wire.size();
			queries.push_back(query);
		}
		answer_foresee(answer_, queries.data(), queries.size());
	}
	void end()
	{
		answer_end(answer_);
	}
	dns::message ask(const dns::question &question, bool is_tcp = false, uint64_t now_s = 1000)
	{
		return dns::message(make(dns::query(question), is_tcp, now_s));
	}
	dns::message ask(const std::string &name, uint16_t type)
	{
		dns::question question;
		question.name = name;
		question.type = type;
		return ask(question);
	}
	uint64_t counted(enum counters_face item, size_t face = 0) const
	{
		return counters_of_face(&counters_, face)[item];
	}
	uint64_t counted(enum counters_server item) const
	{
		return counters_.server[item];
	}

	// Limits the answers to a network from now on.
	void limit(unsigned rate, unsigned slip)
	{
		ratelimit_options options = { rate, slip, 64, 1 };
		if (ratelimit_new(&options, &limit_) != 0)
			throw std::runtime_error("no limit");
		answer_set_limit(answer_, limit_);
	}

	// Ranges that come back are frequent from now on.
	void remember(size_t range_count = 1024)
	{
		if (frequent_open(&frequent_bank_, range_count, 1) != 0 ||
		    frequent_new(&frequent_bank_, &frequent_) != 0)
			throw std::runtime_error("no memory for ranges");
		answer_set_frequent(answer_, frequent_);
	}

	struct catalog catalog = {};
	struct counters_bank bank = {};
	std::string client;  // the address that questions come from; "" for nobody's
	uint64_t now_ms = 0; // for limits

      private:
	tmpdir directory_;
	sockaddr_storage from_ = {};
	ratelimit *limit_ = nullptr;
	frequent_bank frequent_bank_ = {};
	frequent *frequent_ = nullptr;
	settings settings_ = {};
	counters counters_ = {};
	answer *answer_ = nullptr;

	const sockaddr *from()
	{
		auto *four = reinterpret_cast<sockaddr_in *>(&from_);
		auto *six = reinterpret_cast<sockaddr_in6 *>(&from_);
		from_ = {};
		if (inet_pton(AF_INET, client.c_str(), &four->sin_addr) == 1)
			from_.ss_family = AF_INET;
		else if (inet_pton(AF_INET6, client.c_str(), &six->sin6_addr) == 1)
			from_.ss_family = AF_INET6;
		else if (!client.empty())
			throw std::runtime_error("not an address: " + client);
		return client.empty() ? nullptr : reinterpret_cast<const sockaddr *>(&from_);
	}
	bytes make_with(decltype(answer_make) *how, const bytes &wire, bool is_tcp, uint64_t now_s)
	{
		answer_query query = {
			wire.data(), wire.size(), is_tcp, now_s, from(), false, now_ms, 100,
		};
		bytes out(ANSWER_RESPONSE_MAX);
		out.resize(how(answer_, &query, out.data(), out.size()));
		catalog_end(&catalog);
		return out;
	}
	void open(const std::string &configuration, unsigned payload)
	{
		conf_error error;
		if (settings_parse(&settings_, configuration.data(), configuration.size(), "/",
				   &error) != 0)
			throw std::runtime_error(error.reason);
		size_t faces = catalog_count_faces(&settings_);
		if (catalog_init(&catalog, &settings_) != 0 ||
		    counters_open(&bank, 1, settings_.zone_count, faces) != 0)
			throw std::runtime_error("no catalog");
		counters_ = counters_of_worker(&bank, 0);
		for (size_t i = 0; i < catalog.zone_count; i++)
			zone_open(&catalog.zones[i]);
		if (answer_new(&catalog, &counters_, static_cast<uint16_t>(payload), &answer_) != 0)
			throw std::runtime_error("no answer");
		answer_set_settings(answer_, &settings_);
	}
};

// ---- questions ----

// A name that may be near one of the zone: some of its labels changed, dropped or put before it.
inline std::string near_name(randomness &random, const std::vector<std::string> &names)
{
	static const std::vector<std::string> labels = {
		"0", "1",  "!", "*",   "x", "192", "198", "255", "ip6", "00", "0db8", "sub",
		"~", "a-", "9", "100", "2", "77",  "203", "ns",	 "zz",	"7f", "-",    "126",
	};
	auto pick = [&](const std::vector<std::string> &from) {
		return from[random.below(static_cast<unsigned>(from.size()))];
	};
	std::vector<std::string> parts; // from the apex down
	std::istringstream name(pick(names));
	for (std::string part; std::getline(name, part, '.');)
		parts.insert(parts.begin(), part);
	for (unsigned changes = random.below(4); changes > 0; changes--) {
		if (!parts.empty() && random.one_in(2))
			parts.pop_back();
		if (!parts.empty() && random.one_in(3))
			parts[random.below(static_cast<unsigned>(parts.size()))] = pick(labels);
		if (random.one_in(2))
			parts.push_back(pick(labels));
	}
	std::string out;
	for (const std::string &part : parts)
		out = out.empty() ? part : part + "." + out;
	return out;
}
