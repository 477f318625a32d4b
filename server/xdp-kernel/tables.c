/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/xdp-kernel/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "lib/dns/peer.h"
#include "server/askers/ratelimit.h"

_Static_assert(sizeof(struct xdp_line) == XDP_LINE_SIZE, "a line is what a cache has at once");
_Static_assert(sizeof(struct xdp_counts) == sizeof(struct xdp_other_counts), "both are a line");
_Static_assert(sizeof(struct xdp_version) % 4 == 0 && sizeof(struct xdp_zone) % 8 == 0,
	       "BPF aligns as this machine does");

#define NS_PER_S UINT64_C(1000000000)

/* ---- what the program looks at while it changes ---- */

/* Never torn; what was written before is seen before. */
static void set(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/*
 * Behind what has made the program's answers void, before what they were made from is written over.
 * A release is no barrier to later stores; on x86 the processor has none to hold back, but the
 * compiler has.
 */
static void move(uint64_t *changes)
{
	set(changes, *changes + 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void tables_init(struct tables *tables, const struct tables_arrays *arrays)
{
	memset(tables, 0, sizeof(*tables));
	tables->arrays = *arrays;
}

void tables_take_away(struct tables *tables)
{
	struct xdp_config *config = tables->arrays.config;
	set(&config->until_ns, 0);
	move(&config->changes);
	tables->is_configured = false;
	for (unsigned i = 0; i < XDP_ZONES_MAX; i++)
		tables_remove(tables, i);
}

void tables_silence(const struct tables_arrays *arrays)
{
	set(&arrays->config->until_ns, 0);
	__atomic_fetch_add(&arrays->config->changes, 1, __ATOMIC_SEQ_CST);
}

/* ---- the config ---- */

static bool is_same(const struct tables_face *a, const struct tables_face *b)
{
	return a->name_size == b->name_size && memcmp(a->name, b->name, a->name_size) == 0;
}

static struct tables_face parent_of(const struct tables_face *face)
{
	size_t label_size = 1U + face->name[0];
	return (struct tables_face){ face->name + label_size, face->name_size - label_size,
				     face->zone };
}

/* What of its end there is room for: more goes to the sockets than has to. */
static struct tables_face shorten(const struct tables_face *face)
{
	struct tables_face end = *face;
	while (end.name_size > XDP_APEX_MAX)
		end = parent_of(&end);
	return end;
}

/* Does face lie below the name of other, or is it the same? */
static bool is_within(const struct tables_face *face, const struct tables_face *other)
{
	struct tables_face end = *face;
	while (end.name_size > other->name_size)
		end = parent_of(&end);
	return is_same(&end, other);
}

static bool is_here(const struct tables_face *face)
{
	return face->zone < XDP_ZONES_MAX && face->name_size <= XDP_APEX_MAX;
}

/* Would questions for face be answered as those of a zone here, without a face of its own? */
static bool is_needed(const struct tables_rules *rules, const struct tables_face *face)
{
	if (is_here(face))
		return true;
	for (size_t i = 0; i < rules->face_count; i++) {
		if (is_here(&rules->faces[i]) && is_within(face, &rules->faces[i]))
			return true;
	}
	return false;
}

/* Before those that are shorter; of equal ones before that of a zone, so that it hides it. */
static void insert_face(struct xdp_config *config, const struct tables_face *face, unsigned zone)
{
	uint32_t at = config->face_count++;
	for (; at > 0; at--) {
		const struct xdp_face *before = &config->faces[at - 1];
		if (before->apex_size > face->name_size ||
		    (before->apex_size == face->name_size && zone < XDP_ZONES_MAX))
			break;
		config->faces[at] = *before;
	}
	struct xdp_face *place = &config->faces[at];
	memset(place, 0, sizeof(*place));
	memcpy(place->apex, face->name, face->name_size);
	place->apex_size = (uint8_t)face->name_size;
	place->zone = (uint16_t)zone;
}

static bool put_faces(const struct tables_rules *rules, struct xdp_config *config)
{
	for (size_t i = 0; i < rules->face_count; i++) {
		const struct tables_face *face = &rules->faces[i];
		if (!is_needed(rules, face))
			continue;
		if (config->face_count == XDP_FACES_MAX)
			return false;
		struct tables_face end = shorten(face);
		insert_face(config, &end, is_here(face) ? face->zone : XDP_ZONES_MAX);
	}
	return true;
}

static bool put_addresses(const struct tables_rules *rules, struct xdp_config *config)
{
	if (rules->address_count > XDP_ADDRESSES_MAX)
		return false;
	for (size_t i = 0; i < rules->address_count; i++) {
		const struct sockaddr_storage *from = &rules->addresses[i];
		struct xdp_address *address = &config->addresses[i];
		struct dnsblv6_addr bits = peer_address((const struct sockaddr *)from);
		dnsblv6_addr_to_bytes(bits, address->bytes);
		address->port = from->ss_family == AF_INET
					? ((const struct sockaddr_in *)from)->sin_port
					: ((const struct sockaddr_in6 *)from)->sin6_port;
	}
	config->address_count = (uint32_t)rules->address_count;
	return true;
}

static bool put_links(const struct tables_rules *rules, struct xdp_config *config)
{
	if (rules->link_count > XDP_LINKS_MAX)
		return false;
	for (size_t i = 0; i < rules->link_count; i++)
		config->links[i] = rules->links[i];
	config->link_count = (uint32_t)rules->link_count;
	return true;
}

/* The first prefix_len bits of 64. */
static uint64_t make_mask(unsigned prefix_len)
{
	if (prefix_len >= 64)
		return UINT64_MAX;
	return prefix_len == 0 ? 0 : ~(UINT64_MAX >> prefix_len);
}

static void put_limits(const struct tables_rules *rules, struct xdp_config *config)
{
	config->slip = rules->slip;
	config->interval_ns = rules->rate != 0 ? NS_PER_S / rules->rate : 0;
	config->burst_ns = rules->rate != 0 ? RATELIMIT_BURST_S * NS_PER_S : 0;
	config->prefix_count = XDP_PREFIXES_MAX + 1;
	if (rules->unlimited_count > XDP_PREFIXES_MAX)
		return;
	config->prefix_count = (uint32_t)rules->unlimited_count;
	for (size_t i = 0; i < rules->unlimited_count; i++) {
		const struct dnsblv6_prefix *from = &rules->unlimited[i];
		unsigned length = from->prefix_len;
		config->prefixes[i] = (struct xdp_prefix){
			.bits = { from->first.hi, from->first.lo },
			.mask = { make_mask(length), length > 64 ? make_mask(length - 64) : 0 },
		};
	}
}

static void put_cookies(const struct tables_rules *rules, struct xdp_config *config)
{
	config->has_cookies = rules->has_cookies;
	if (!rules->has_cookies || rules->secrets == NULL)
		return;
	config->secret_count = (uint32_t)rules->secrets->count;
	for (size_t i = 0; i < rules->secrets->count; i++)
		memcpy(config->secrets[i], rules->secrets->bytes[i], sizeof(config->secrets[i]));
}

int tables_configure(struct tables *tables, const struct tables_rules *rules)
{
	struct xdp_config *config = tables->arrays.config;
	struct xdp_config made = { .payload = rules->payload };
	if (!put_faces(rules, &made) || !put_addresses(rules, &made) || !put_links(rules, &made))
		return -ENOSPC;
	put_limits(rules, &made);
	put_cookies(rules, &made);
	set(&config->until_ns, 0);
	move(&config->changes);
	made.changes = config->changes;
	memcpy(config, &made, sizeof(made));
	/* An answer that has begun meanwhile may be of either, and is dropped too. */
	move(&config->changes);
	tables->is_configured = true;
	return 0;
}

/* ---- lines ---- */

static struct xdp_zone *zone_at(const struct tables *tables, unsigned zone)
{
	return &tables->arrays.zones[zone];
}

/* A run that overlaps count lines from first; NULL: they are free. */
static const struct tables_run *find_overlap(const struct tables *tables, uint64_t first,
					     uint32_t count)
{
	for (unsigned i = 0; i < XDP_ZONES_MAX * 2; i++) {
		const struct tables_run *run = &tables->zones[i / 2].runs[i % 2];
		if (run->count != 0 && run->first < first + count &&
		    first < (uint64_t)run->first + run->count)
			return run;
	}
	return NULL;
}

int tables_reserve(struct tables *tables, unsigned zone, uint32_t line_count,
		   struct tables_place *ret_place)
{
	unsigned next = zone_at(tables, zone)->current ^ 1U;
	struct tables_run *run = &tables->zones[zone].runs[next];
	*run = (struct tables_run){ 0, 0 };
	uint64_t first = 0;
	const struct tables_run *overlap = find_overlap(tables, first, line_count);
	while (overlap != NULL) {
		first = (uint64_t)overlap->first + overlap->count;
		overlap = find_overlap(tables, first, line_count);
	}
	if (line_count == 0 || first + line_count > tables->arrays.line_count)
		return -ENOSPC;
	*run = (struct tables_run){ (uint32_t)first, line_count };
	*ret_place = (struct tables_place){ .version = &zone_at(tables, zone)->versions[next],
					    .lines = tables->arrays.lines + first,
					    .first_line = (uint32_t)first };
	return 0;
}

uint32_t tables_used_lines(const struct tables *tables)
{
	uint32_t count = 0;
	for (unsigned i = 0; i < XDP_ZONES_MAX * 2; i++)
		count += tables->zones[i / 2].runs[i % 2].count;
	return count;
}

/* ---- the switch ---- */

/* 0 when it has expired. Seconds are whole: of the one that has begun nothing is given away. */
static uint64_t lease_end(uint64_t expires_s, const struct tables_time *time)
{
	uint64_t lease_ns = time->lease_ns;
	if (expires_s != 0) {
		uint64_t left_s = expires_s > time->now_s ? expires_s - time->now_s - 1 : 0;
		if (left_s == 0)
			return 0;
		if (left_s < lease_ns / NS_PER_S + 1 && left_s * NS_PER_S < lease_ns)
			lease_ns = left_s * NS_PER_S;
	}
	return time->now_ns + lease_ns;
}

void tables_switch(struct tables *tables, unsigned zone, uint64_t expires_s,
		   const struct tables_time *time)
{
	struct xdp_zone *there = zone_at(tables, zone);
	tables->zones[zone].expires_s = expires_s;
	tables->zones[zone].is_filled = true;
	/*
	 * Changes last: an answer that begins with the new number is from the new version, and one
	 * that has begun with the old number is dropped, whichever version it saw.
	 */
	__atomic_store_n(&there->current, there->current ^ 1U, __ATOMIC_RELEASE);
	move(&there->changes);
	/* What is left of the version before is free for any zone. */
	tables->zones[zone].runs[there->current ^ 1U] = (struct tables_run){ 0, 0 };
	set(&there->until_ns, lease_end(expires_s, time));
}

void tables_remove(struct tables *tables, unsigned zone)
{
	struct xdp_zone *there = zone_at(tables, zone);
	set(&there->until_ns, 0);
	move(&there->changes);
	tables->zones[zone] = (struct tables_zone){ .is_filled = false };
}

void tables_renew(struct tables *tables, const struct tables_time *time)
{
	struct xdp_config *config = tables->arrays.config;
	if (!tables->is_configured)
		return;
	__atomic_store_n(&config->now_s, (uint32_t)time->now_s, __ATOMIC_RELAXED);
	set(&config->until_ns, lease_end(0, time));
	for (unsigned i = 0; i < XDP_ZONES_MAX; i++) {
		if (tables->zones[i].is_filled)
			set(&zone_at(tables, i)->until_ns,
			    lease_end(tables->zones[i].expires_s, time));
	}
}

/* ---- what is told of it ---- */

struct xdp_counts tables_sum_counts(const struct tables_arrays *arrays, unsigned zone)
{
	uint64_t sum[sizeof(struct xdp_counts) / sizeof(uint64_t)] = { 0 };
	for (unsigned i = 0; i < arrays->processor_count && arrays->counts != NULL; i++) {
		const struct xdp_counts *counts = &arrays->counts[i * (XDP_ZONES_MAX + 1) + zone];
		const uint64_t *values = (const uint64_t *)(const void *)counts;
		for (size_t j = 0; j < sizeof(sum) / sizeof(sum[0]); j++)
			sum[j] += __atomic_load_n(&values[j], __ATOMIC_RELAXED);
	}
	struct xdp_counts total;
	memcpy(&total, sum, sizeof(total));
	return total;
}

/*
 * About how many names so many bytes of lines have room for, when a version is written beside the
 * one before.
 */
static uint64_t count_names(uint64_t size_bytes, bool is_signed)
{
	/* Buckets are a third of a line for each name where there are the most for their names. */
	uint64_t more_bytes =
		(XDP_LINE_SIZE + 2) / 3 + XDP_HOSTS_OF_NAME * XDP_LINE_SIZE / XDP_HOSTS_TAKEN;
	uint64_t name_bytes = XDP_UNSIGNED_STRIDE * XDP_LINE_SIZE + more_bytes;
	if (is_signed)
		name_bytes = XDP_SIGNED_STRIDE * XDP_LINE_SIZE + more_bytes + sizeof(uint64_t);
	return size_bytes / 2 / name_bytes;
}

size_t tables_describe(uint64_t size_bytes, char *ret_text)
{
	int size = snprintf(
		ret_text, TABLES_TEXT_SIZE,
		"memory %" PRIu64 "M holds %" PRIu64 " signed or %" PRIu64 " unsigned names",
		size_bytes >> 20, count_names(size_bytes, true), count_names(size_bytes, false));
	return (size_t)size;
}
