/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * lists.h - lists of any bytes, and what is read of them as one number, for targets that compare.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zone-tools/base/listing.h"
#include "zone-tools/lists/sources.h"

#include "tests/fuzz/require.h"

/* Larger ones could get lines that are too long by a line end of two bytes. */
#define LISTS_SIZE_MAX 60000

/* A file in memory. Its descriptor is the caller's. */
static inline int lists_make(const void *bytes, size_t size)
{
	const int fd = memfd_create("list", MFD_CLOEXEC);
	require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, "a file");
	return fd;
}

/* FNV-1a. */
static inline uint64_t lists_add(uint64_t sum, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static inline uint64_t lists_add_number(uint64_t sum, uint64_t number)
{
	return lists_add(sum, &number, sizeof(number));
}

static inline uint64_t lists_add_text(uint64_t sum, const char *text)
{
	return text != NULL ? lists_add(sum, text, strlen(text) + 1) : sum * 3;
}

static inline uint64_t lists_add_value(uint64_t sum, const struct listing *listing, uint32_t number)
{
	if (number == ENTRY_EXCLUDED)
		return sum * 5;
	require(number < listing->pool.count, "a value is in the pool");
	const struct dnsblv6_value *value = &listing->pool.values[number];
	sum = lists_add_number(lists_add_number(sum, value->a), value->ttl);
	return lists_add(sum, value->text, value->text_size);
}

static inline uint64_t lists_add_name(uint64_t sum, const struct listing *listing,
				      const struct name_entry *name)
{
	sum = lists_add(sum, name->key, name->key_size) * 7 + name->reach;
	if (!name->is_record)
		return lists_add_value(sum, listing, name->value);
	require(name->value < listing->record_count, "a record is the listing's");
	const struct dnsblv6_rr *rr = &listing->records[name->value];
	sum = lists_add_number(lists_add_number(sum, rr->type), rr->ttl);
	return lists_add(sum, rr->rdata, rr->rdata_size);
}

static inline uint64_t lists_add_dataset(uint64_t sum, const struct listing *listing,
					 const struct dataset *dataset)
{
	struct dataset_walk walk = dataset_walk_all(dataset);
	struct entry entry;
	sum = lists_add_number(sum, dataset->policy);
	sum = lists_add(sum, dataset->origins, dataset->origin_count * sizeof(dataset->origins[0]));
	while (dataset_next(&walk, &entry)) {
		sum = lists_add_number(sum, entry.first.hi);
		sum = lists_add_number(sum, entry.first.lo);
		sum = lists_add_value(sum * 11 + entry.prefix_len, listing, entry.value);
	}
	for (size_t i = 0; i < dataset->name_count; i++)
		sum = lists_add_name(sum, listing, &dataset->names[i]);
	return sum;
}

static inline uint64_t lists_add_zone(uint64_t sum, const struct zone_lines *zone)
{
	const uint32_t numbers[] = { zone->has_soa,	zone->soa_ttl,	 zone->soa_serial,
				     zone->soa_refresh, zone->soa_retry, zone->soa_expire,
				     zone->soa_minimum, zone->ns_ttl };
	sum = lists_add(sum, numbers, sizeof(numbers));
	sum = lists_add_number(sum, zone->expires_s);
	sum = lists_add_text(lists_add_text(sum, zone->soa_primary), zone->soa_mailbox);
	for (size_t i = 0; i < zone->ns_count; i++)
		sum = lists_add_text(sum, zone->ns[i]);
	return sum;
}

/* All but how many lines there were. */
static inline uint64_t lists_digest(const struct listing *listing)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < listing->dataset_count; i++)
		sum = lists_add_dataset(sum, listing, &listing->datasets[i]);
	for (size_t i = 0; i < listing->origin_count; i++)
		sum = lists_add(sum, listing->origins[i].wire, listing->origins[i].size) * 13;
	return lists_add_zone(sum, &listing->zone);
}

/* Can lines be parted in another way without a difference? */
static inline bool lists_may_rewrite(const uint8_t *bytes, size_t size)
{
	const bool is_gzip = size >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
	return size <= LISTS_SIZE_MAX && !is_gzip && memchr(bytes, '\r', size) == NULL;
}

/* The list as another system would have it: CR LF, and a comment behind each line. */
static inline int lists_make_rewritten(const uint8_t *bytes, size_t size)
{
	char *text = NULL;
	size_t text_size = 0;
	FILE *out = open_memstream(&text, &text_size);
	require(out != NULL, "memory");
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n')
			fputs("\r\n ; a comment\r", out);
		fputc(bytes[i], out);
	}
	require(fclose(out) == 0, "memory");
	const int fd = lists_make(text, text_size);
	free(text);
	return fd;
}
