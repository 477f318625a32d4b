/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/lookup/decode.h"

#include <arpa/inet.h>
#include <string.h>
#include <sysexits.h>

#include "client-lib/lookup/print.h"
#include "lib/format/address.h"
#include "lib/format/bitmap.h"

_Static_assert(LOOKUP_BATCH_MAX >= DNSBLV6_BITMAP_HOSTS, "a block is one batch");

/* The unit that bit index of a block stands for, by its first address. */
static struct dnsblv6_addr unit_at(struct dnsblv6_prefix block, unsigned index)
{
	struct dnsblv6_addr addr = block.first;

	if (dnsblv6_prefix_is_ipv4(block))
		addr.lo |= index;
	else
		addr.hi |= index;
	return addr;
}

/* The run of set bits that begins at or behind from; false when there is none. */
static bool next_run(const struct dnsblv6_bitmap *map, unsigned from, unsigned *ret_first,
		     unsigned *ret_last)
{
	unsigned first = from;

	while (first < DNSBLV6_BITMAP_HOSTS && !dnsblv6_bitmap_get(map, first))
		first++;
	if (first == DNSBLV6_BITMAP_HOSTS)
		return false;
	unsigned last = first;
	while (last + 1 < DNSBLV6_BITMAP_HOSTS && dnsblv6_bitmap_get(map, last + 1))
		last++;
	*ret_first = first;
	*ret_last = last;
	return true;
}

/* "192.0.2.64-192.0.2.67"; IPv6 by its /64s. */
static void print_run(struct dnsblv6_prefix block, unsigned first, unsigned last)
{
	char text[DNSBLV6_PREFIX_TEXT_SIZE];

	dnsblv6_prefix_format(dnsblv6_unit_of(unit_at(block, first)), text);
	fputs(text, stdout);
	if (last > first) {
		dnsblv6_prefix_format(dnsblv6_unit_of(unit_at(block, last)), text);
		printf("-%s", text);
	}
}

static void print_runs(struct dnsblv6_prefix block, const struct dnsblv6_bitmap *map,
		       const char *before, const char *between, const char *behind)
{
	unsigned first, last = 0;
	const char *mark = "";

	for (unsigned from = 0; next_run(map, from, &first, &last); from = last + 1) {
		printf("%s%s", mark, before);
		print_run(block, first, last);
		fputs(behind, stdout);
		mark = between;
	}
}

/* zone is NULL when the bits are of the command line. */
static void print_block(const struct lookup *lookup, const char *zone, struct dnsblv6_prefix block,
			const struct dnsblv6_bitmap *map)
{
	char prefix[DNSBLV6_PREFIX_TEXT_SIZE], aaaa[INET6_ADDRSTRLEN];

	dnsblv6_prefix_format(block, prefix);
	/* Not our own text: bits that look IPv4-mapped are an AAAA all the same. */
	inet_ntop(AF_INET6, map->bytes, aaaa, sizeof(aaaa));
	if (lookup->is_json) {
		printf("{\"block\":\"%s\",\"zone\":", prefix);
		if (zone != NULL)
			print_json_text(zone);
		else
			fputs("null", stdout);
		printf(",\"bitmap\":\"%s\",\"count\":%u,\"listed\":[", aaaa,
		       dnsblv6_bitmap_count(map));
		print_runs(block, map, "\"", ",", "\"");
		puts("]}");
		return;
	}
	printf(lookup->is_terminal ? "%s  %s  %s  %u of 128 listed\n" : "%s\t%s\t%s\t%u\t", prefix,
	       zone != NULL ? zone : "-", aaaa, dnsblv6_bitmap_count(map));
	if (lookup->is_terminal)
		print_runs(block, map, "    ", "", "\n");
	else if (dnsblv6_bitmap_is_empty(map))
		puts("-");
	else
		print_runs(block, map, "", ",", "");
	if (!lookup->is_terminal && !dnsblv6_bitmap_is_empty(map))
		putchar('\n');
}

int decode_words(const struct lookup *lookup, const char *block_text, const char *aaaa)
{
	struct dnsblv6_prefix prefix;
	struct dnsblv6_addr bits;
	struct dnsblv6_bitmap map;
	int ret = dnsblv6_prefix_parse(block_text, strlen(block_text), &prefix);

	if (ret != DNSBLV6_OK)
		return lookup_fail(EX_DATAERR, "\"%.60s\" is no block: %s", block_text,
				   dnsblv6_strerror(ret));
	struct dnsblv6_prefix block = dnsblv6_block_of(prefix.first);
	if (prefix.prefix_len < block.prefix_len)
		return lookup_fail(EX_DATAERR, "\"%.60s\" is more than one block", block_text);
	if (strchr(aaaa, ':') == NULL ||
	    dnsblv6_addr_parse(aaaa, strlen(aaaa), &bits) != DNSBLV6_OK)
		return lookup_fail(EX_DATAERR, "\"%.60s\" is no AAAA", aaaa);
	dnsblv6_addr_to_bytes(bits, map.bytes);
	print_block(lookup, NULL, block, &map);

	struct lookup_tally tally = { .has_listed = !dnsblv6_bitmap_is_empty(&map) };
	return lookup_status(&tally);
}

/* Bit of each unit that one entry lists, of the verdicts about all of them. */
static struct dnsblv6_bitmap gather(const struct dnsblv6_result *results, unsigned entry,
				    bool *ret_has_failed)
{
	struct dnsblv6_bitmap map = { { 0 } };

	*ret_has_failed = false;
	for (unsigned i = 0; i < DNSBLV6_BITMAP_HOSTS; i++) {
		if (lookup_has(results[i].zones_listed, entry))
			dnsblv6_bitmap_add(&map, i);
		if (lookup_has(results[i].zones_failed, entry))
			*ret_has_failed = true;
	}
	return map;
}

static int decode_one(struct lookup *lookup, const struct dnsblv6_ip *ip,
		      struct lookup_tally *tally)
{
	struct dnsblv6_prefix block = dnsblv6_block_of(dnsblv6_addr_from_bytes(ip->bytes));
	struct dnsblv6_ip units[DNSBLV6_BITMAP_HOSTS];
	struct dnsblv6_result results[DNSBLV6_BITMAP_HOSTS];

	for (unsigned i = 0; i < DNSBLV6_BITMAP_HOSTS; i++)
		dnsblv6_addr_to_bytes(unit_at(block, i), units[i].bytes);
	int ret = dnsblv6_check_batch(lookup->client, units, DNSBLV6_BITMAP_HOSTS,
				      lookup->timeout_ms, results);
	if (ret < 0)
		return lookup_fail(EX_SOFTWARE, "not asked (%s)", dnsblv6_strerror(ret));
	for (unsigned entry = 0; entry < lookup->zone_count; entry++) {
		const char *zone = lookup->zones[entry].name;
		bool has_failed;
		struct dnsblv6_bitmap map = gather(results, entry, &has_failed);

		if (has_failed) {
			lookup_fail(0, "%s: no answer", zone);
			tally->has_unknown = true;
			continue;
		}
		print_block(lookup, zone, block, &map);
		tally->has_listed = tally->has_listed || !dnsblv6_bitmap_is_empty(&map);
	}
	return 0;
}

int decode_run(struct lookup *lookup, struct input *input)
{
	struct lookup_tally tally = { false, false, false };
	struct dnsblv6_ip ip;

	while (input_next(input, &ip, 1) > 0) {
		int status = decode_one(lookup, &ip, &tally);
		if (status != 0)
			return status;
		if (fflush(stdout) != 0)
			break; /* lookup_status() says it */
	}
	tally.has_bad = input->has_bad;
	return lookup_status(&tally);
}
