/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * answer.bpf.c - the program in the network driver: the common question about a bitmap zone is answered
 * before the kernel has looked at it.
 *
 * Flow: a packet -> packet.bpf.h takes it apart -> core.h answers out of the maps -> back out of the
 *       interface it came from. What is not for here goes on as it came.
 */
#include "server/xdp-kernel/maps.bpf.h"

#include "server/xdp-kernel/core.h"
#include "server/xdp-kernel/packet.bpf.h"

#include <xdp/xdp_helpers.h>

/* For libxdp's dispatcher: what this passes, the next program gets. */
struct {
	__uint(priority, XDP_DEFAULT_RUN_PRIO);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(dnsblv6_answer);

/* ---- what the core needs ---- */

static inline const struct xdp_line *xdp_get_line(const struct xdp_scratch *scratch,
						  uint32_t number)
{
	(void)scratch;
	return bpf_map_lookup_elem(&lines, &number);
}

static inline const struct xdp_zone *xdp_get_zone(const struct xdp_scratch *scratch,
						  uint32_t number)
{
	(void)scratch;
	return bpf_map_lookup_elem(&zones, &number);
}

static inline struct xdp_bucket_value *xdp_get_bucket(const struct xdp_scratch *scratch,
						      uint64_t network)
{
	struct xdp_bucket_value fresh = { 0 };
	struct xdp_bucket_value *bucket = bpf_map_lookup_elem(&buckets, &network);
	(void)scratch;
	if (bucket != NULL)
		return bucket;
	bpf_map_update_elem(&buckets, &network, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&buckets, &network);
}

static inline void xdp_loop(uint32_t count, long (*step)(uint32_t number, void *data), void *data)
{
	bpf_loop(count, step, data, 0);
}

/*
 * An atomic operation with a result is one. Where processors read in order, it is the compiler alone
 * that must be told.
 */
static inline void xdp_barrier(struct xdp_scratch *scratch)
{
#ifdef DNSBLV6_READS_IN_ORDER
	(void)scratch;
	XDP_FORGET();
#else
	*(volatile uint64_t *)&scratch->barrier_seen = __sync_fetch_and_add(&scratch->barrier, 1);
#endif
}

static inline void xdp_made(struct xdp_scratch *scratch)
{
	(void)scratch;
}

/* ---- a packet ---- */

static inline struct xdp_counts *xdp_get_counts(uint32_t zone)
{
	uint32_t number = bpf_get_smp_processor_id() * (XDP_ZONES_MAX + 1) + zone;
	return bpf_map_lookup_elem(&counts, &number);
}

/* What becomes of a packet for us. */
static inline int xdp_serve(struct xdp_md *context, const struct xdp_config *settings,
			    struct xdp_scratch *own)
{
	enum xdp_verdict verdict = XDP_VERDICT_PASS;
	struct xdp_counts *others = xdp_get_counts(XDP_ZONES_MAX);
	int action = XDP_PASS;
	own->zone = 0;
	if (xdp_read_message(context, own))
		verdict = xdp_answer(own, settings);
	if (verdict == XDP_VERDICT_DROP)
		action = XDP_DROP;
	else if (verdict == XDP_VERDICT_SEND)
		action = xdp_send_packet(context, own);
	struct xdp_counts *own_counts = xdp_get_counts(own->zone);
	if (others == NULL || own_counts == NULL)
		return action;
	if (verdict == XDP_VERDICT_SEND && action != XDP_TX) {
		((struct xdp_other_counts *)(void *)others)->no_room++;
		verdict = XDP_VERDICT_PASS;
	}
	xdp_count(own, verdict, own_counts, others);
	return action;
}

SEC("xdp")
int dnsblv6_answer(struct xdp_md *context)
{
	uint32_t first = 0;
	const struct xdp_config *settings = bpf_map_lookup_elem(&config, &first);
	struct xdp_scratch *own = bpf_map_lookup_elem(&scratches, &first);
	int action = XDP_PASS;
	/* A kernel for real time may begin with a packet while the processor has another in hand. */
	if (settings == NULL || own == NULL || __sync_lock_test_and_set(&own->is_busy, 1) != 0)
		return XDP_PASS;
	own->now_ns = bpf_ktime_get_coarse_ns();
	if (own->now_ns < xdp_read_once(&settings->until_ns) &&
	    xdp_take_packet(context, settings, own))
		action = xdp_serve(context, settings, own);
	*(volatile uint64_t *)&own->is_busy = 0;
	return action;
}

char program_license[] SEC("license") = "GPL";
