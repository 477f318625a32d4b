/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * answer.bpf.c - the program in the network driver.
 */
#include "server/xdp-kernel/maps.bpf.h"

#include <xdp/xdp_helpers.h>

/* For libxdp's dispatcher: what this passes, the next program gets. */
struct {
	__uint(priority, XDP_DEFAULT_RUN_PRIO);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(dnsblv6_answer);

SEC("xdp")
int dnsblv6_answer(struct xdp_md *packet)
{
	uint32_t first = 0;
	const struct xdp_config *settings = bpf_map_lookup_elem(&config, &first);
	const struct xdp_zone *zone = bpf_map_lookup_elem(&zones, &first);
	const struct xdp_line *line = bpf_map_lookup_elem(&lines, &first);
	struct xdp_counts *count = bpf_map_lookup_elem(&counts, &first);
	uint64_t network = packet->ingress_ifindex;
	const struct xdp_bucket_value *bucket = bpf_map_lookup_elem(&buckets, &network);
	if (settings && zone && line && count && bucket)
		count->queries++;
	return XDP_PASS;
}

char program_license[] SEC("license") = "GPL";
