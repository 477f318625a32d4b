/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/xfrout.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <libknot/libknot.h>

#include "lib/process/clock.h"

#define HEADER_SIZE    KNOT_WIRE_HEADER_SIZE
#define OPT_SIZE       11
#define EDNS_DO	       0x8000 /* RFC 3225, in the place of a TTL */
#define RR_HEADER_SIZE 10     /* behind the owner */
#define POINTER_SIZE   2
/*
 * RFC 1035 says nothing of pointers to names that end in a pointer, and readers that do not follow
 * each of them follow so many: BIND up to 9.16, and dnspython since its CVE-2026-114605. An IPv6
 * address has 32 labels below its zone.
 */
#define POINTERS_MAX 16

/* ---- the connection ---- */

static int wait_for(const struct xfrout *xfrout, short events)
{
	uint64_t now = clock_now_ms();
	if (now >= xfrout->deadline_ms)
		return -ETIMEDOUT;
	uint64_t left = xfrout->deadline_ms - now;
	struct pollfd poll_fd = { .fd = xfrout->fd, .events = events };
	int ready = poll(&poll_fd, 1, (int)(left < xfrout->idle_ms ? left : xfrout->idle_ms));
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	return ready == 0 ? -ETIMEDOUT : 0;
}

static int write_all(struct xfrout *xfrout, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(xfrout->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0) {
			data += sent;
			size -= (size_t)sent;
			xfrout->bytes += (uint64_t)sent;
			continue;
		}
		int ret = errno == EAGAIN ? wait_for(xfrout, POLLOUT) : errno == EINTR ? 0 : -errno;
		if (ret != 0)
			return ret;
	}
	return clock_now_ms() < xfrout->deadline_ms ? 0 : -ETIMEDOUT;
}

/* ---- messages ---- */

static uint8_t *message_of(struct xfrout *xfrout)
{
	return xfrout->buffer + XFROUT_LENGTH_SIZE;
}

static void begin_message(struct xfrout *xfrout)
{
	const struct transfer *transfer = xfrout->transfer;
	uint8_t *message = message_of(xfrout);
	memset(message, 0, HEADER_SIZE);
	knot_wire_set_id(message, transfer->id);
	knot_wire_set_qr(message);
	knot_wire_set_aa(message);
	if (transfer->has_recursion_desired)
		knot_wire_set_rd(message);
	knot_wire_set_qdcount(message, 1);
	memcpy(message + HEADER_SIZE, transfer->question, transfer->question_size);
	xfrout->size = HEADER_SIZE + transfer->question_size;
	xfrout->rr_count = 0;
	xfrout->owner.label_count = 0;
	xfrout->owner.name.size = 0;
}

/*
 * RFC 6891 section 6.1.1: a question with one is answered with one. In the first message, as the
 * question's answer.
 */
static void put_opt(struct xfrout *xfrout)
{
	const struct transfer *transfer = xfrout->transfer;
	if (!transfer->has_edns || xfrout->messages > 0)
		return;
	uint8_t *opt = message_of(xfrout) + xfrout->size;
	opt[0] = 0; /* the root */
	knot_wire_write_u16(opt + 1, KNOT_RRTYPE_OPT);
	knot_wire_write_u16(opt + 3, transfer->edns_payload);
	knot_wire_write_u32(opt + 5, transfer->has_do ? EDNS_DO : 0);
	knot_wire_write_u16(opt + 9, 0);
	xfrout->size += OPT_SIZE;
	knot_wire_set_arcount(message_of(xfrout), 1);
}

static int send_message(struct xfrout *xfrout)
{
	uint8_t *message = message_of(xfrout);
	knot_wire_set_ancount(message, (uint16_t)xfrout->rr_count);
	put_opt(xfrout);
	if (xfrout->tsig.key != NULL &&
	    tsig_sign(&xfrout->tsig, NULL, message, &xfrout->size, XFROUT_MESSAGE_MAX) != 0)
		return -ENOMEM;
	knot_wire_write_u16(xfrout->buffer, (uint16_t)xfrout->size);
	int ret = write_all(xfrout, xfrout->buffer, XFROUT_LENGTH_SIZE + xfrout->size);
	xfrout->messages++;
	begin_message(xfrout);
	return ret;
}

void xfrout_init(struct xfrout *xfrout, const struct transfer *transfer,
		 const struct transfer_limits *limits, int fd)
{
	/* Not the buffer: what no message fills is no memory. */
	memset(xfrout, 0, offsetof(struct xfrout, buffer));
	xfrout->transfer = transfer;
	xfrout->fd = fd;
	xfrout->deadline_ms = clock_now_ms() + limits->timeout_s * (uint64_t)1000;
	xfrout->idle_ms = limits->idle_timeout_s * 1000;
	xfrout->tsig = transfer->tsig;
	xfrout->room = XFROUT_MESSAGE_MAX - OPT_SIZE;
	if (xfrout->tsig.key != NULL)
		xfrout->room -= tsig_size(&xfrout->tsig, NULL);
	begin_message(xfrout);
}

/* ---- owners ---- */

static void find_labels(struct xfrout_owner *owner)
{
	owner->label_count = 0;
	for (unsigned at = 0; at < owner->name.size; at += 1U + owner->name.wire[at])
		owner->starts[owner->label_count++] = (uint8_t)at;
}

/* How many labels, the apex's apart, both end in. */
static unsigned count_shared(const struct xfrout_owner *a, const struct xfrout_owner *b)
{
	unsigned shared = 0;
	while (shared < a->label_count && shared < b->label_count) {
		const uint8_t *left = a->name.wire + a->starts[a->label_count - shared - 1];
		const uint8_t *right = b->name.wire + b->starts[b->label_count - shared - 1];
		if (*left != *right || memcmp(left, right, 1U + *left) != 0)
			break;
		shared++;
	}
	return shared;
}

/* May the labels of name from the last shared ones on be a pointer? */
static bool can_point(const struct xfrout_owner *last, unsigned shared)
{
	unsigned target = last->label_count - shared;
	/* One pointer leads there, and another to this name from the next RR. */
	return last->offsets[target] != 0 && last->pointers[target] + 2 <= POINTERS_MAX;
}

/* libknot's own takes other parameters in each of its versions. */
static void put_pointer(uint8_t *out, unsigned offset)
{
	knot_wire_write_u16(out, (uint16_t)(KNOT_WIRE_PTR_BASE | offset));
}

/* Returns the size of what was written at offset at of the message. */
static size_t put_owner(struct xfrout *xfrout, const struct dnsblv6_labels *name, uint8_t *out,
			size_t at)
{
	struct xfrout_owner *last = &xfrout->owner;
	struct xfrout_owner owner;
	owner.name.size = name->size;
	memcpy(owner.name.wire, name->wire, name->size);
	find_labels(&owner);
	unsigned deepest = count_shared(&owner, last);
	unsigned shared = deepest;
	while (shared > 0 && !can_point(last, shared))
		shared--;
	/* Written whole where pointers reach it, it begins new rows of them. */
	if (shared < deepest && at + name->size <= KNOT_WIRE_PTR_MAX)
		shared = 0;
	unsigned fresh = owner.label_count - shared;
	size_t fresh_size = shared == 0 ? name->size : owner.starts[fresh];
	unsigned target = shared == 0 ? HEADER_SIZE : last->offsets[last->label_count - shared];
	unsigned behind = shared == 0 ? 0 : last->pointers[last->label_count - shared];

	memcpy(out, name->wire, fresh_size);
	put_pointer(out + fresh_size, target);
	for (unsigned i = 0; i < fresh; i++) {
		size_t offset = at + owner.starts[i];
		owner.offsets[i] = offset <= KNOT_WIRE_PTR_MAX ? (uint16_t)offset : 0;
		owner.pointers[i] = (uint8_t)(behind + 1);
	}
	for (unsigned i = fresh; i < owner.label_count; i++) {
		owner.offsets[i] = last->offsets[last->label_count - owner.label_count + i];
		owner.pointers[i] = last->pointers[last->label_count - owner.label_count + i];
	}
	*last = owner;
	return fresh_size + POINTER_SIZE;
}

/* ---- RRs ---- */

static bool is_last_owner(const struct xfrout *xfrout, const struct dnsblv6_labels *name)
{
	const struct xfrout_owner *last = &xfrout->owner;
	return xfrout->rr_count > 0 && name->size > 0 && last->name.size == name->size &&
	       last->offsets[0] != 0 && memcmp(last->name.wire, name->wire, name->size) == 0;
}

int xfrout_put(struct xfrout *xfrout, const struct dnsblv6_labels *owner,
	       const struct dnsblv6_rr *rr)
{
	size_t most = (size_t)owner->size + POINTER_SIZE + RR_HEADER_SIZE + rr->rdata_size;
	if (xfrout->size + most > xfrout->room) {
		int ret = xfrout->rr_count > 0 ? send_message(xfrout) : DNSBLV6_OK;
		if (ret == DNSBLV6_OK && xfrout->size + most > xfrout->room)
			ret = DNSBLV6_ESPACE;
		if (ret != DNSBLV6_OK)
			return ret;
	}
	uint8_t *start = message_of(xfrout) + xfrout->size;
	uint8_t *out = start;
	if (is_last_owner(xfrout, owner)) {
		put_pointer(out, xfrout->owner.offsets[0]);
		out += POINTER_SIZE;
	} else {
		out += put_owner(xfrout, owner, out, xfrout->size);
	}
	knot_wire_write_u16(out, rr->type);
	knot_wire_write_u16(out + 2, KNOT_CLASS_IN);
	knot_wire_write_u32(out + 4, rr->ttl);
	knot_wire_write_u16(out + 8, rr->rdata_size);
	if (rr->rdata_size > 0)
		memcpy(out + RR_HEADER_SIZE, rr->rdata, rr->rdata_size);
	xfrout->size += (size_t)(out - start) + RR_HEADER_SIZE + rr->rdata_size;
	xfrout->rr_count++;
	xfrout->rrs++;
	return DNSBLV6_OK;
}

int xfrout_flush(struct xfrout *xfrout)
{
	return xfrout->rr_count > 0 ? send_message(xfrout) : 0;
}

int xfrout_refuse(struct xfrout *xfrout)
{
	begin_message(xfrout);
	knot_wire_set_rcode(message_of(xfrout), KNOT_RCODE_SERVFAIL);
	return send_message(xfrout);
}
