/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * packet.bpf.h - what is around a message: Ethernet, VLAN tags, IPv4 or IPv6, UDP.
 *
 * Flow: xdp_take_packet() -> the message is read and answered (core.h) -> xdp_send_packet().
 *
 * For here are packets to one of our addresses, ports and the interface's own MAC: with at most two
 * tags, IPv4 without options and no fragment of anything, or IPv6 without extension headers. A
 * sender that no answer can reach is the kernel's to judge. Checksums of UDP are not looked at, as a
 * virtual interface leaves them to be filled in later; that of IPv4 is.
 */

#include "server/xdp-kernel/scratch.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_helpers.h>

enum {
	XDP_ETHERNET_SIZE = 14,
	XDP_MAC_SIZE = 6,
	XDP_TAG_SIZE = 4,
	XDP_TAGS_MAX = 2,
	XDP_IPV4_SIZE = 20,
	XDP_IPV6_SIZE = 40,
	XDP_UDP_SIZE = 8,
	XDP_PROTOCOL_UDP = 17,
	XDP_TTL = 64,
	XDP_SUM_MAX = 512, /* bytes that the kernel adds up at once */
	XDP_SUM_SMALL = 192,
	XDP_OFFSET_MASK = 127, /* of what is before a message */
};

XDP_INLINE uint8_t *xdp_begin_of(const struct xdp_md *context)
{
	return (uint8_t *)(long)context->data;
}

XDP_INLINE uint8_t *xdp_end_of(const struct xdp_md *context)
{
	return (uint8_t *)(long)context->data_end;
}

/* ---- what came ---- */

/* The type behind the tags, and the size of all that. 0 when it is cut. */
XDP_INLINE uint16_t xdp_skip_tags(const struct xdp_md *context, struct xdp_scratch *scratch)
{
	const uint8_t *at = xdp_begin_of(context) + XDP_ETHERNET_SIZE;
	const uint8_t *end = xdp_end_of(context);
	if (at > end)
		return 0;
	uint16_t type = xdp_get16(at - 2);
	scratch->link_size = XDP_ETHERNET_SIZE;
	for (int i = 0; i < XDP_TAGS_MAX && (type == ETH_P_8021Q || type == ETH_P_8021AD); i++) {
		if (at + XDP_TAG_SIZE > end)
			return 0;
		type = xdp_get16(at + 2);
		at += XDP_TAG_SIZE;
		scratch->link_size += XDP_TAG_SIZE;
	}
	return type;
}

/* Is it sent to the interface, by one machine? Sets mtu. */
XDP_INLINE bool xdp_is_for_link(const struct xdp_md *context, const struct xdp_config *config,
				struct xdp_scratch *scratch)
{
	const uint8_t *mac = xdp_begin_of(context);
	if (mac + XDP_ETHERNET_SIZE > xdp_end_of(context) || (mac[XDP_MAC_SIZE] & 1) != 0)
		return false;
	for (uint32_t i = 0; i < XDP_LINKS_MAX; i++) {
		const struct xdp_link *link = &config->links[i];
		if (i >= config->link_count)
			break;
		if (link->index != context->ingress_ifindex)
			continue;
		scratch->mtu = link->mtu;
		return xdp_load32(link->mac) == xdp_load32(mac) &&
		       xdp_load16(link->mac + 4) == xdp_load16(mac + 4);
	}
	return false;
}

XDP_INLINE uint32_t xdp_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32 << 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)((sum & 0xffff) + (sum >> 16));
}

XDP_INLINE uint64_t xdp_sum_ipv4(const uint8_t *ip)
{
	return (uint64_t)xdp_load32(ip) + xdp_load32(ip + 4) + xdp_load32(ip + 8) +
	       xdp_load32(ip + 12) + xdp_load32(ip + 16);
}

/* 0/8, 127/8 and all from 224/4 on are no clients. */
XDP_INLINE bool xdp_is_client4(const uint8_t *address)
{
	return address[0] != 0 && address[0] != 127 && address[0] < 224;
}

XDP_INLINE bool xdp_take_ipv4(const struct xdp_md *context, struct xdp_scratch *scratch)
{
	const uint8_t *ip = xdp_begin_of(context) + (scratch->link_size & 31);
	const uint8_t *udp = ip + XDP_IPV4_SIZE;
	if (udp + XDP_UDP_SIZE > xdp_end_of(context))
		return false;
	/* No options; of the fragments' bits only "don't fragment". */
	uint32_t size = xdp_get16(ip + 2);
	if (ip[0] != 0x45 || (xdp_get16(ip + 6) & 0xbfff) != 0 || ip[9] != XDP_PROTOCOL_UDP ||
	    xdp_fold(xdp_sum_ipv4(ip)) != 0xffff || !xdp_is_client4(ip + 12) ||
	    size != XDP_IPV4_SIZE + (uint32_t)xdp_get16(udp + 4))
		return false;
	scratch->ip_size = XDP_IPV4_SIZE;
	scratch->message_size = size - XDP_IPV4_SIZE - XDP_UDP_SIZE;
	scratch->client_port = xdp_load16(udp);
	scratch->port = xdp_load16(udp + 2);
	xdp_put64(scratch->client, 0);
	xdp_put32(scratch->client + 8, 0xffff);
	xdp_store32(scratch->client + 12, xdp_load32(ip + 12));
	scratch->address[0] = 0;
	scratch->address[1] = XDP_BE64(0xffff00000000ULL | XDP_BE32(xdp_load32(ip + 16)));
	return true;
}

/* Neither multicast nor ::/96, where loopback, none and what is left of older ways are. */
XDP_INLINE bool xdp_is_client6(const uint8_t *address)
{
	return address[0] != 0xff && (xdp_load64(address) != 0 || xdp_load32(address + 8) != 0) &&
	       !(xdp_load64(address) == 0 && xdp_get64(address + 8) >> 32 == 0xffff);
}

XDP_INLINE bool xdp_take_ipv6(const struct xdp_md *context, struct xdp_scratch *scratch)
{
	const uint8_t *ip = xdp_begin_of(context) + (scratch->link_size & 31);
	const uint8_t *udp = ip + XDP_IPV6_SIZE;
	if (udp + XDP_UDP_SIZE > xdp_end_of(context))
		return false;
	uint32_t size = xdp_get16(ip + 4);
	if (ip[0] >> 4 != 6 || ip[6] != XDP_PROTOCOL_UDP || !xdp_is_client6(ip + 8) ||
	    size != xdp_get16(udp + 4))
		return false;
	scratch->ip_size = XDP_IPV6_SIZE;
	scratch->message_size = size - XDP_UDP_SIZE;
	scratch->client_port = xdp_load16(udp);
	scratch->port = xdp_load16(udp + 2);
	xdp_copy(scratch->client, ip + 8, 2);
	scratch->address[0] = xdp_load64(ip + 24);
	scratch->address[1] = xdp_load64(ip + 32);
	return true;
}

XDP_INLINE bool xdp_is_ours(const struct xdp_config *config, struct xdp_scratch *scratch)
{
	for (uint32_t i = 0; i < XDP_ADDRESSES_MAX; i++) {
		const struct xdp_address *address = &config->addresses[i];
		if (i >= config->address_count)
			break;
		if (xdp_load64(address->bytes + 8) == scratch->address[1] &&
		    xdp_load64(address->bytes) == scratch->address[0] &&
		    address->port == scratch->port)
			return true;
	}
	return false;
}

/* False when it is not for here. */
XDP_INLINE bool xdp_take_packet(const struct xdp_md *context, const struct xdp_config *config,
				struct xdp_scratch *scratch)
{
	uint16_t type = xdp_skip_tags(context, scratch);
	bool is_taken = false;
	if (type == ETH_P_IP)
		is_taken = xdp_take_ipv4(context, scratch);
	else if (type == ETH_P_IPV6)
		is_taken = xdp_take_ipv6(context, scratch);
	/* A port of 0 means that no answer is wanted. */
	return is_taken && scratch->client_port != 0 && xdp_is_ours(config, scratch) &&
	       xdp_is_for_link(context, config, scratch);
}

/* False when it is cut, or too large for a common question. Its last word is read for itself. */
XDP_INLINE bool xdp_read_message(const struct xdp_md *context, struct xdp_scratch *scratch)
{
	uint32_t size = scratch->message_size;
	uint32_t at = scratch->link_size + scratch->ip_size + XDP_UDP_SIZE;
	const uint8_t *end = xdp_end_of(context);
	const uint8_t *from = xdp_begin_of(context) + (at & XDP_OFFSET_MASK);
	if (size < XDP_QUERY_MIN || size > XDP_QUERY_MAX)
		return false;
	const uint8_t *last = from + (size - 8);
	if (last + 8 > end)
		return false;
	for (uint32_t i = 0; i < XDP_QUERY_MAX; i += 8) {
		if (from + i + 8 > end)
			break;
		xdp_store64(scratch->wire + i, xdp_load64(from + i));
	}
	xdp_store64(scratch->wire + (size - 8), xdp_load64(last));
	scratch->size = size;
	return true;
}

/* ---- what goes back ---- */

XDP_INLINE uint64_t xdp_halves(uint64_t word)
{
	return (word >> 32) + (uint32_t)word;
}

/* What the checksum of UDP is of beside the message: addresses, ports, the protocol, and the size twice. */
XDP_INLINE uint64_t xdp_sum_headers(const struct xdp_scratch *scratch, uint32_t size)
{
	uint64_t sum = scratch->port + scratch->client_port;
	sum += XDP_BE32(XDP_PROTOCOL_UDP << 16 | size);
	sum += XDP_BE16((uint16_t)size);
	/* The 0xffff in front of an IPv4 address adds nothing. */
	sum += xdp_halves(scratch->address[1]) + xdp_halves(xdp_load64(scratch->client + 8));
	if (scratch->ip_size == XDP_IPV6_SIZE)
		sum += xdp_halves(scratch->address[0]) + xdp_halves(xdp_load64(scratch->client));
	return sum;
}

XDP_INLINE uint16_t xdp_checksum(uint64_t sum)
{
	uint16_t checksum = (uint16_t)~xdp_fold(sum);
	return checksum != 0 ? checksum : 0xffff;
}

XDP_INLINE void xdp_swap_macs(uint8_t *mac)
{
	uint32_t first = xdp_load32(mac);
	uint16_t last = xdp_load16(mac + 4);
	xdp_store32(mac, xdp_load32(mac + XDP_MAC_SIZE));
	xdp_store16(mac + 4, xdp_load16(mac + XDP_MAC_SIZE + 4));
	xdp_store32(mac + XDP_MAC_SIZE, first);
	xdp_store16(mac + XDP_MAC_SIZE + 4, last);
}

/* The id of the question says as much as any: there is one answer to each. */
XDP_INLINE void xdp_put_ipv4(uint8_t *ip, uint32_t size)
{
	uint32_t first = XDP_BE32(0x45000000 | (XDP_IPV4_SIZE + size));
	uint32_t third = XDP_BE32(XDP_TTL << 24 | XDP_PROTOCOL_UDP << 16);
	uint16_t id = xdp_load16(ip + 4);
	uint32_t from = xdp_load32(ip + 16);
	uint32_t to = xdp_load32(ip + 12);
	uint64_t sum = (uint64_t)first + third + id + from + to;
	xdp_store32(ip, first);
	xdp_store16(ip + 6, 0);
	xdp_store32(ip + 8, third);
	xdp_store16(ip + 10, (uint16_t)~xdp_fold(sum));
	xdp_store32(ip + 12, from);
	xdp_store32(ip + 16, to);
}

XDP_INLINE void xdp_put_ipv6(uint8_t *ip, const struct xdp_scratch *scratch, uint32_t size)
{
	xdp_put32(ip, 0x60000000);
	xdp_put16(ip + 4, (uint16_t)size);
	ip[7] = XDP_TTL;
	xdp_store64(ip + 8, scratch->address[0]);
	xdp_store64(ip + 16, scratch->address[1]);
	xdp_copy(ip + 24, scratch->client, 2);
}

XDP_INLINE bool xdp_put_headers(const struct xdp_md *context, const struct xdp_scratch *scratch,
				uint32_t size)
{
	uint8_t *begin = xdp_begin_of(context);
	uint8_t *ip = begin + (scratch->link_size & 31);
	uint8_t *end = xdp_end_of(context);
	if (begin + XDP_ETHERNET_SIZE > end || ip + XDP_IPV4_SIZE > end)
		return false;
	xdp_swap_macs(begin);
	if (scratch->ip_size == XDP_IPV4_SIZE) {
		xdp_put_ipv4(ip, size);
		return true;
	}
	if (ip + XDP_IPV6_SIZE > end)
		return false;
	xdp_put_ipv6(ip, scratch, size);
	return true;
}

/* By a subtraction of all 64 bits, which clang would make one of 32: of pointers there is none. */
XDP_INLINE uint32_t xdp_packet_size(const struct xdp_md *context)
{
	uint64_t size = context->data_end;
	uint64_t begin = context->data;
	__asm__ volatile("%0 -= %1" : "+r"(size) : "r"(begin));
	return (uint32_t)size;
}

/* Nothing is changed when there is no room. */
XDP_INLINE bool xdp_make_room(struct xdp_md *context, struct xdp_scratch *scratch, uint32_t size)
{
	uint32_t old_size = xdp_packet_size(context);
	if (scratch->ip_size + size > scratch->mtu)
		return false;
	uint32_t new_size = scratch->link_size + scratch->ip_size + size;
	return bpf_xdp_adjust_tail(context, (int)(new_size - old_size)) == 0;
}

XDP_INLINE uint64_t xdp_udp_header(const struct xdp_scratch *scratch, uint32_t size,
				   uint16_t checksum)
{
	return (uint64_t)XDP_BE16(scratch->port) << 48 |
	       (uint64_t)XDP_BE16(scratch->client_port) << 32 | size << 16 | XDP_BE16(checksum);
}

/* By the kernel, which is called for large ones alone. */
XDP_INLINE bool xdp_write_large(struct xdp_md *context, struct xdp_scratch *scratch, uint32_t size)
{
	uint32_t sum_size = (size - XDP_UDP_SIZE + 3) & ~3U;
	int64_t sum = 0;
	for (uint32_t at = 0; at < XDP_WIRE_MASK; at += XDP_SUM_MAX) {
		uint32_t left = sum_size - at;
		if (at >= sum_size)
			break;
		if (left > XDP_SUM_MAX)
			left = XDP_SUM_MAX;
		sum = bpf_csum_diff(NULL, 0, (__be32 *)(void *)(scratch->wire + at), left,
				    (__wsum)sum);
	}
	uint64_t checksum = xdp_checksum(xdp_sum_headers(scratch, size) + (uint32_t)sum);
	xdp_put64(scratch->udp, xdp_udp_header(scratch, size, (uint16_t)checksum));
	return bpf_xdp_store_bytes(context, scratch->link_size + scratch->ip_size, scratch->udp,
				   size) == 0;
}

/* Each word is added while it is written. Behind the message are zeros. */
XDP_INLINE bool xdp_write_small(const struct xdp_md *context, const struct xdp_scratch *scratch,
				uint32_t size)
{
	uint32_t at = scratch->link_size + scratch->ip_size;
	uint8_t *udp = xdp_begin_of(context) + (at & XDP_OFFSET_MASK);
	uint8_t *to = udp + XDP_UDP_SIZE;
	uint8_t *last = udp + (size - 8);
	const uint8_t *end = xdp_end_of(context);
	uint64_t sum = xdp_sum_headers(scratch, size);
	if (last + 8 > end || to > end)
		return false;
	for (uint32_t i = 0; i < XDP_SUM_SMALL; i += 8) {
		uint64_t word = xdp_load64(scratch->wire + i);
		sum += xdp_halves(word);
		if (to + i + 8 > end)
			break;
		xdp_store64(to + i, word);
	}
	xdp_store64(last, xdp_load64(scratch->udp + (size - 8)));
	xdp_put64(udp, xdp_udp_header(scratch, size, 0));
	xdp_store16(udp + 6, xdp_checksum(sum));
	return true;
}

/* The message that is in scratch, to the client. */
XDP_INLINE int xdp_send_packet(struct xdp_md *context, struct xdp_scratch *scratch)
{
	uint32_t size = XDP_UDP_SIZE + (scratch->size & XDP_WIRE_MASK);
	if (!xdp_make_room(context, scratch, size))
		return XDP_PASS;
	/* There is room now: were it not so, nothing of it should be seen. */
	if (!xdp_put_headers(context, scratch, size))
		return XDP_DROP;
	bool is_written = size > XDP_SUM_SMALL || size < XDP_UDP_SIZE + 8
				  ? xdp_write_large(context, scratch, size)
				  : xdp_write_small(context, scratch, size);
	return is_written ? XDP_TX : XDP_DROP;
}
