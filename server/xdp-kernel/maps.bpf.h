/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * maps.bpf.h - the maps of the program in the network driver; layout.h says what is in them.
 *
 * The loader sets how many lines there are, the counts by the number of processors, and the
 * networks, before it loads them. All but the last two are made to be mapped by a process, and those
 * two are the program's alone.
 */

#include "server/xdp-kernel/scratch.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct xdp_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XDP_ZONES_MAX);
	__type(key, uint32_t);
	__type(value, struct xdp_zone);
} zones SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct xdp_line);
} lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, XDP_ZONES_MAX + 1);
	__type(key, uint32_t);
	__type(value, struct xdp_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, uint64_t);
	__type(value, struct xdp_bucket_value);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct xdp_scratch);
} scratches SEC(".maps");
