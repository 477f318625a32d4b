/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * load.bpf.c - the programs of xdp-load that run in the kernel.
 *
 * Flow: main.c runs load_send on frames that the kernel makes -> the far end of the pair of veth, with a
 *       server behind it or with load_echo, load_answer or load_drop -> load_count at the near end.
 *
 * load_send is a closed loop: at most `window` questions wait for an answer, and when so many do, none
 * goes out before `burst` of them have one. Meanwhile it drops the frames that it is run for, which
 * is its way to wait. So nothing is lost in rings that are larger than the window.
 *
 * Frames come back to load_send with what the server has made of them, so each is written whole.
 */

#include "bench/xdp-load/load.h"
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#define LOST_NS	   1000000000ULL
#define DNS_SIZE   12
#define DNS_QR	   0x80
#define DNS_TC	   0x02
#define DNS_RCODES 0x0f
#define NXDOMAIN   3
#define RR_SIZE	   28 /* a pointer to the question, and 16 octets of RDATA */
#define SUM_MAX	   256

const volatile uint32_t device;
const volatile uint32_t server_be32;
const volatile uint16_t port_be16;
const volatile uint64_t window;
const volatile uint64_t burst;

volatile uint32_t frame_count;
volatile struct load_state state;

/* Of load_send alone. */
static uint32_t next_frame;
static uint32_t is_waiting;
static uint64_t last_seen, last_seen_ns;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOAD_FRAMES_MAX);
	__type(key, uint32_t);
	__type(value, struct load_frame);
} frames SEC(".maps");

struct headers {
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
	uint8_t dns[DNS_SIZE];
} __attribute__((packed));

/* ---- questions ---- */

/* No answer came for so long that the ones to come are lost. */
static int is_overdue(uint64_t seen)
{
	uint64_t now = bpf_ktime_get_ns();
	if (seen != last_seen || last_seen_ns == 0) {
		last_seen = seen;
		last_seen_ns = now;
		return 0;
	}
	return now - last_seen_ns > LOST_NS;
}

static int has_room(void)
{
	uint64_t seen = state.seen;
	int64_t waiting = (int64_t)(state.sent - state.lost - seen);
	if (is_waiting != 0) {
		if (waiting > (int64_t)(window - burst)) {
			if (!is_overdue(seen))
				return 0;
			state.lost += (uint64_t)waiting;
		}
		is_waiting = 0;
		last_seen_ns = 0;
		return 1;
	}
	is_waiting = waiting >= (int64_t)window;
	return is_waiting == 0;
}

SEC("xdp")
int load_send(struct xdp_md *ctx)
{
	if (!has_room())
		return XDP_DROP;
	uint32_t index = next_frame;
	struct load_frame *frame = bpf_map_lookup_elem(&frames, &index);
	if (frame == NULL)
		return XDP_ABORTED;
	uint64_t size = frame->size;
	if (size < sizeof(struct headers))
		return XDP_ABORTED;
	barrier_var(size); /* the verifier wants two comparisons */
	if (size > LOAD_FRAME_MAX)
		return XDP_ABORTED;
	int had = (int)bpf_xdp_get_buff_len(ctx);
	if (bpf_xdp_adjust_tail(ctx, (int)size - had) != 0 ||
	    bpf_xdp_store_bytes(ctx, 0, frame->bytes, (uint32_t)size) != 0)
		return XDP_ABORTED;
	next_frame = index + 1 < frame_count ? index + 1 : 0;
	state.sent++;
	return (int)bpf_redirect(device, 0);
}

/* ---- answers ---- */

static unsigned int outcome_of(const uint8_t *dns)
{
	int has_answers = dns[6] != 0 || dns[7] != 0;
	if ((dns[2] & DNS_QR) == 0)
		return LOAD_ECHOED;
	if ((dns[2] & DNS_TC) != 0)
		return LOAD_TRUNCATED;
	if ((dns[3] & DNS_RCODES) == 0)
		return has_answers ? LOAD_FILLED : LOAD_NODATA;
	if ((dns[3] & DNS_RCODES) == NXDOMAIN && !has_answers)
		return LOAD_DENIED;
	return LOAD_OTHER;
}

static void count_answer(const uint8_t *dns, uint64_t size)
{
	unsigned int kind = dns[1] & 1;
	unsigned int outcome = outcome_of(dns);
	if (outcome < LOAD_OUTCOMES)
		state.outcomes[kind][outcome]++;
	state.records[kind] += (uint64_t)dns[6] << 8 | dns[7];
	state.records[kind] += (uint64_t)dns[8] << 8 | dns[9];
	state.bytes += size;
	state.seen++;
}

SEC("xdp")
int load_count(struct xdp_md *ctx)
{
	struct headers *headers = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	if ((void *)(headers + 1) > end || headers->ethernet.h_proto != bpf_htons(ETH_P_IP) ||
	    headers->ip.protocol != IPPROTO_UDP || headers->ip.saddr != server_be32 ||
	    headers->udp.source != port_be16) {
		state.strays++;
		return XDP_PASS;
	}
	count_answer(headers->dns, (uint64_t)((char *)end - (char *)headers->dns));
	return XDP_DROP;
}

/* ---- what is measured beside servers ---- */

/* NULL when it is no question. */
static inline __attribute__((always_inline)) struct headers *headers_of(struct xdp_md *ctx)
{
	struct headers *headers = (void *)(long)ctx->data;
	if ((void *)(headers + 1) > (void *)(long)ctx->data_end ||
	    headers->ethernet.h_proto != bpf_htons(ETH_P_IP) || headers->ip.protocol != IPPROTO_UDP)
		return NULL;
	return headers;
}

static inline __attribute__((always_inline)) void turn_back(struct headers *headers)
{
	uint8_t mac[ETH_ALEN];
	__builtin_memcpy(mac, headers->ethernet.h_dest, ETH_ALEN);
	__builtin_memcpy(headers->ethernet.h_dest, headers->ethernet.h_source, ETH_ALEN);
	__builtin_memcpy(headers->ethernet.h_source, mac, ETH_ALEN);
	__be32 address = headers->ip.daddr;
	headers->ip.daddr = headers->ip.saddr;
	headers->ip.saddr = address;
	__be16 port = headers->udp.dest;
	headers->udp.dest = headers->udp.source;
	headers->udp.source = port;
}

/* The least that a program can do which sends something back. */
SEC("xdp")
int load_echo(struct xdp_md *ctx)
{
	struct headers *headers = headers_of(ctx);
	if (headers == NULL)
		return XDP_PASS;
	turn_back(headers);
	return XDP_TX;
}

static inline __attribute__((always_inline)) uint16_t fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

/* From a UDP header to the end of the packet, whose last eight octets are last; for little endian. */
static inline __attribute__((always_inline)) uint64_t sum_udp(const uint8_t *at, const uint8_t *end,
							      uint64_t last, uint32_t size)
{
	uint64_t sum = size % 8 != 0 ? last >> (64 - size % 8 * 8) : 0;
	for (uint32_t i = 0; i < SUM_MAX && at + 8 <= end; i += 8, at += 8) {
		uint64_t word = *(const uint64_t *)at;
		sum += word;
		sum += sum < word;
	}
	return (sum & 0xffffffff) + (sum >> 32);
}

/* What every answer of one AAAA record costs, wherever it comes from: this one is always the same. */
SEC("xdp")
int load_answer(struct xdp_md *ctx)
{
	uint32_t size = (uint32_t)bpf_xdp_get_buff_len(ctx);
	struct headers *headers = headers_of(ctx);
	if (headers == NULL || bpf_xdp_adjust_tail(ctx, RR_SIZE) != 0)
		return XDP_PASS;
	headers = headers_of(ctx);
	uint8_t *end = (void *)(long)ctx->data_end;
	if (headers == NULL)
		return XDP_ABORTED;
	uint64_t at = size;
	barrier_var(at);
	if (at > SUM_MAX)
		return XDP_ABORTED;
	uint64_t *rr = (void *)((uint8_t *)headers + at);
	if ((uint8_t *)rr + RR_SIZE > end)
		return XDP_ABORTED;
	turn_back(headers);
	rr[0] = bpf_cpu_to_be64(0xc00c001c00010000);
	rr[1] = bpf_cpu_to_be64(0x0e10001000000000);
	rr[2] = 0;
	*(uint32_t *)(rr + 3) = bpf_htonl(1);
	headers->dns[2] |= DNS_QR;
	headers->dns[7] = 1;
	uint32_t udp_size = size + RR_SIZE - sizeof(headers->ethernet) - sizeof(headers->ip);
	headers->ip.tot_len = bpf_htons((uint16_t)(udp_size + sizeof(headers->ip)));
	headers->ip.check = 0;
	const uint32_t *ip = (const void *)&headers->ip;
	headers->ip.check = fold((uint64_t)ip[0] + ip[1] + ip[2] + ip[3] + ip[4]);
	headers->udp.len = bpf_htons((uint16_t)udp_size);
	headers->udp.check = 0;
	uint64_t last = *(uint64_t *)((uint8_t *)rr + RR_SIZE - 8);
	headers->udp.check = fold(sum_udp((const uint8_t *)&headers->udp, end, last, udp_size) +
				  headers->ip.saddr + headers->ip.daddr + bpf_htons(IPPROTO_UDP) +
				  headers->udp.len);
	return XDP_TX;
}

/* What it costs that a question is there. */
SEC("xdp")
int load_drop(struct xdp_md *ctx)
{
	if (headers_of(ctx) == NULL)
		return XDP_PASS;
	state.seen++;
	return XDP_DROP;
}

const char load_license[] SEC("license") = "GPL";
