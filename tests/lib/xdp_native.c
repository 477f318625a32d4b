/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/xdp_native.h"

#include "server/xdp-kernel/core.h"

/* ---- what the maps are in the program ---- */

static inline const struct xdp_line *xdp_get_line(const struct xdp_scratch *scratch,
						  uint32_t number)
{
	const struct xdp_native *tables = scratch->tables;
	return number < tables->line_count ? &tables->lines[number] : NULL;
}

static inline const struct xdp_zone *xdp_get_zone(const struct xdp_scratch *scratch,
						  uint32_t number)
{
	return number < XDP_ZONES_MAX ? &scratch->tables->zones[number] : NULL;
}

static inline struct xdp_bucket_value *xdp_get_bucket(const struct xdp_scratch *scratch,
						      uint64_t network)
{
	const struct xdp_native *tables = scratch->tables;
	for (uint32_t i = 0; i < tables->bucket_count; i++) {
		struct xdp_native_bucket *bucket = &tables->buckets[i];
		if (bucket->network == 0)
			*bucket = (struct xdp_native_bucket){ .network = network };
		if (bucket->network == network)
			return &bucket->value;
	}
	return NULL;
}

static inline void xdp_loop(uint32_t count, long (*step)(uint32_t number, void *data), void *data)
{
	for (uint32_t i = 0; i < count; i++) {
		if (step(i, data) != 0)
			return;
	}
}

static inline void xdp_barrier(struct xdp_scratch *scratch)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	(void)scratch;
}

static inline void xdp_made(struct xdp_scratch *scratch)
{
	const struct xdp_native *tables = scratch->tables;
	if (tables->on_made != NULL)
		tables->on_made(tables->on_made_data);
}

/* ---- a question ---- */

long xdp_native_answer(const struct xdp_native *tables, const struct xdp_native_query *query,
		       uint8_t *ret_wire, size_t wire_max)
{
	/* As of the program: what the question before has left is still there. */
	static _Thread_local struct xdp_scratch scratch;
	struct xdp_counts unwanted[2] = { 0 };
	struct xdp_counts *others = &unwanted[1];
	struct xdp_counts *counts = &unwanted[0];
	if (query->size < XDP_QUERY_MIN || query->size > XDP_QUERY_MAX)
		return XDP_NATIVE_PASS;
	scratch.tables = tables;
	scratch.now_ns = query->now_ns;
	scratch.size = (uint32_t)query->size;
	memcpy(scratch.wire, query->wire, query->size);
	memcpy(scratch.client, query->client, sizeof(scratch.client));
	enum xdp_verdict verdict = xdp_answer(&scratch, tables->config);
	if (verdict == XDP_VERDICT_SEND && scratch.size > wire_max)
		verdict = XDP_VERDICT_PASS;
	if (tables->counts != NULL) {
		counts = &tables->counts[scratch.zone & (XDP_ZONES_MAX - 1)];
		others = &tables->counts[XDP_ZONES_MAX];
	}
	xdp_count(&scratch, verdict, counts, others);
	if (verdict == XDP_VERDICT_PASS)
		return XDP_NATIVE_PASS;
	if (verdict == XDP_VERDICT_DROP)
		return XDP_NATIVE_DROP;
	memcpy(ret_wire, scratch.wire, scratch.size);
	return (long)scratch.size;
}
