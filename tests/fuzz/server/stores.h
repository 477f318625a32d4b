/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * stores.h - the small stores of bl6.example that servers are asked about: dotted names, or flat ones
 * as well, signed or not.
 *
 * A target sets is_signed and is_flat, and writes with stores_write().
 */

#include "lib/format/bytes.h"
#include "lib/format/dnssec.h"
#include "lib/lmdb/writer.h"
#include "lib/store/tables.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The store that is being written. */
static bool is_signed;
static bool is_flat;

static void check(int ret)
{
	if (ret != 0) {
		fprintf(stderr, "stores: %s\n", store_strerror(ret));
		abort();
	}
}

static void put_record(struct writer *writer, const char *name, const uint8_t *data, size_t size)
{
	struct dnsblv6_labels labels;
	struct dnsblv6_key key;
	check(dnsblv6_name_from_text(name, &labels));
	check(dnsblv6_key_from_labels(labels.wire, labels.size, &key));
	check(writer_put(writer, STORE_RECORDS, key.bytes, key.size, data, size));
}

/* Signatures of nothing: the server looks at their types only. */
static struct dnsblv6_rr make_rrsig(uint16_t type, uint32_t ttl, uint8_t *rdata)
{
	struct dnsblv6_rrsig rrsig = {
		.type_covered = type, .algorithm = 13, .labels = 2, .ttl = ttl
	};
	struct dnsblv6_labels zone;
	check(dnsblv6_name_from_text("bl6.example", &zone));
	size_t size = dnsblv6_rrsig_encode(&rrsig, &zone, rdata);
	return (struct dnsblv6_rr){ DNSBLV6_TYPE_RRSIG, (uint16_t)size, ttl, rdata };
}

static void put_rrs(struct writer *writer, const char *name, const struct dnsblv6_rr *rrs,
		    size_t count)
{
	struct dnsblv6_rr all[9];
	uint8_t rdatas[5][DNSBLV6_RRSIG_MAX];
	uint8_t data[2048];
	size_t size = 0;
	size_t all_count = count;
	memcpy(all, rrs, count * sizeof(*rrs));
	for (size_t i = 0; i < count && is_signed; i++)
		all[all_count++] = make_rrsig(rrs[i].type, rrs[i].ttl, rdatas[i]);
	if (is_signed)
		all[all_count++] = make_rrsig(DNSBLV6_TYPE_NSEC, 600, rdatas[count]);
	check(dnsblv6_record_encode_rrs(all, all_count, data, sizeof(data), &size));
	put_record(writer, name, data, size);
}

static void put_full(struct writer *writer, const char *name)
{
	struct dnsblv6_bitmap map = dnsblv6_bitmap_make_full();
	struct dnsblv6_signatures signatures = { .aaaa.key_tag = 1, .nsec.key_tag = 2 };
	uint8_t data[DNSBLV6_SIGNED_BITMAP_RECORD_SIZE];
	if (is_signed) {
		dnsblv6_record_encode_signed_bitmap(&map, &signatures, data);
		put_record(writer, name, data, DNSBLV6_SIGNED_BITMAP_RECORD_SIZE);
	} else {
		dnsblv6_record_encode_bitmap(&map, data);
		put_record(writer, name, data, DNSBLV6_BITMAP_RECORD_SIZE);
	}
}

static void put_statics(struct writer *writer)
{
	static const uint8_t ns[] = "\2ns\3bl6\7example";
	static const uint8_t soa[] = "\2ns\3bl6\7example\0\1h\3bl6\7example\0"
				     "\0\0\0\1\0\0\16\20\0\0\3\204\0\11\72\200\0\0\2\130";
	static const uint8_t a[] = { 192, 0, 2, 53 };
	static const uint8_t text[] = "\5hello";
	struct dnsblv6_rr apex[] = { { 6, sizeof(soa) - 1, 3600, soa },
				     { 2, sizeof(ns), 3600, ns },
				     { 16, sizeof(text) - 1, 60, text } };
	struct dnsblv6_rr host[] = { { 1, sizeof(a), 3600, a } };
	put_rrs(writer, "@", apex, 3);
	put_rrs(writer, "ns", host, 1);
}

static void put_flat(struct writer *writer)
{
	static const char *const names[] = { "c000020",
					     "c000030",
					     "c000041",
					     "c000110",
					     "c000120",
					     "c000130",
					     "c000020.sub",
					     "c000030.sub",
					     "20010db80000000.ip6",
					     "20010db80000010.ip6" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && is_flat; i++)
		put_full(writer, names[i]);
}

static void put_list(struct writer *writer)
{
	uint8_t data[DNSBLV6_FACTS_MAX];
	uint8_t key[DNSBLV6_SEGMENT_KEY_MAX];
	size_t size = 0;
	put_full(writer, "0.2.0.192");
	put_full(writer, "*.51.198");
	put_full(writer, "0.00.0000.0db8.2001.ip6");
	put_full(writer, "0.2.0.192.sub");
	put_flat(writer);

	struct dnsblv6_segment segment = { dnsblv6_addr_from_ipv4(0xc0000201),
					   dnsblv6_addr_from_ipv4(0xc0000207), 0 };
	size_t key_size = dnsblv6_segment_make_key(0, segment.last, key);
	size = dnsblv6_segment_encode(&segment, data);
	check(writer_put(writer, STORE_SEGMENTS, key, key_size, data, size));

	struct dnsblv6_value value = { 0x7f000002, 60, 5, (const uint8_t *)"see \0" };
	check(dnsblv6_set_encode(&value, 1, data, sizeof(data), &size));
	dnsblv6_set_make_key(1, key);
	check(writer_put(writer, STORE_SETS, key, DNSBLV6_SET_KEY_SIZE, data, size));
}

static void put_facts(struct writer *writer)
{
	uint8_t data[DNSBLV6_FACTS_MAX];
	uint8_t key[DNSBLV6_ORIGIN_KEY_SIZE];
	for (uint16_t i = 0; i < 2; i++) {
		struct dnsblv6_origin origin = { .default_set = 1 };
		check(dnsblv6_name_from_text(i == 0 ? "@" : "sub", &origin.name));
		dnsblv6_origin_make_key(i, key);
		size_t size = dnsblv6_origin_encode(&origin, data);
		check(writer_put(writer, STORE_FACTS, key, sizeof(key), data, size));
	}
	struct dnsblv6_facts facts = { .ttl = 60, .serial = 1 };
	facts.style = is_flat ? DNSBLV6_STYLE_FLAT : DNSBLV6_STYLE_DOTTED;
	check(dnsblv6_name_from_text("bl6.example", &facts.zone));
	size_t size = dnsblv6_facts_encode(&facts, data);
	check(writer_put(writer, STORE_FACTS, DNSBLV6_FACT_ZONE, strlen(DNSBLV6_FACT_ZONE), data,
			 size));
	uint8_t *at = data;
	bytes_put(&at, DNSBLV6_SCHEMA, 4);
	check(writer_put(writer, STORE_FACTS, DNSBLV6_FACT_SCHEMA, strlen(DNSBLV6_FACT_SCHEMA),
			 data, 4));
	if (!is_signed)
		return;
	struct dnsblv6_signing signing = { .algorithm = 13, .expires_s = 2000 };
	size = dnsblv6_signing_encode(&signing, data);
	check(writer_put(writer, STORE_FACTS, DNSBLV6_FACT_SIGNING, strlen(DNSBLV6_FACT_SIGNING),
			 data, size));
}

static int put_all(struct writer *writer, void *context)
{
	(void)context;
	put_statics(writer);
	put_list(writer);
	put_facts(writer);
	return 0;
}

static void stores_write(const char *path)
{
	check(writer_run(path, &zone_store, put_all, NULL));
}
