/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * reply.h - the answer, in the place of the question.
 *
 * Flow: find.h has found -> xdp_put_answer() -> the message in wire is what is sent.
 *
 * Byte for byte that of server/answer/quick.c. The question stays where it is; names are
 * compressed where they end as it does.
 *
 * Whatever tables say, nothing is put outside of wire, as places are masked; a message that would be
 * larger than it is none.
 */

#include "server/xdp-kernel/find.h"

enum {
	XDP_POINTER = 0xc000,
	XDP_POINTER_QNAME = XDP_POINTER | XDP_HEADER_SIZE,
	XDP_RR_SIZE = 12, /* owner as a pointer, type, class, TTL, size of RDATA */
	XDP_SOA_LEAST = XDP_RR_SIZE + 2 + 2 + 20, /* with a pointer for each of its names */
	XDP_SIGNATURE_SIZE = 64,
	XDP_RRSIG_HEAD_SIZE = 18,
	XDP_RESPONSE_MIN = 512, /* what every client takes */
	XDP_RCODE_NXDOMAIN = 3,
	XDP_RCODE_BADCOOKIE = 23,
	XDP_QR = 0x80,
	XDP_AA = 0x04,
	XDP_TC = 0x02,
	XDP_RD = 0x01,
};

/* ---- what is put goes where at says, and moves it ---- */

XDP_INLINE uint8_t *xdp_place(struct xdp_scratch *scratch)
{
	return scratch->wire + (scratch->at & XDP_WIRE_MASK);
}

/* An owner that is a pointer, and all up to the RDATA. Returns where that begins. */
XDP_INLINE uint32_t xdp_put_rr(struct xdp_scratch *scratch, uint16_t owner, uint16_t type,
			       uint32_t ttl)
{
	uint8_t *to = xdp_place(scratch);
	xdp_put64(to,
		  (uint64_t)owner << 48 | (uint64_t)type << 32 | XDP_CLASS_IN << 16 | ttl >> 16);
	xdp_put16(to + 8, (uint16_t)ttl);
	scratch->at += XDP_RR_SIZE;
	return scratch->at;
}

/* Of the RR whose RDATA begins at rdata and ends here. */
XDP_INLINE void xdp_put_rdata_size(struct xdp_scratch *scratch, uint32_t rdata)
{
	xdp_put16(scratch->wire + ((rdata - 2) & XDP_WIRE_MASK), (uint16_t)(scratch->at - rdata));
}

XDP_INLINE void xdp_put_apex(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	xdp_copy(xdp_place(scratch), version->apex, XDP_APEX_MAX / 8);
	scratch->at += version->apex_size;
}

/* ---- signatures ---- */

struct xdp_rrsig {
	uint16_t owner;
	uint16_t type;
	uint32_t ttl;
	uint8_t labels;
	const uint8_t *times;
	const struct xdp_line *signature;
};

XDP_INLINE void xdp_put_rrsig(struct xdp_scratch *scratch, const struct xdp_version *version,
			      const struct xdp_rrsig *rrsig)
{
	uint32_t rdata = xdp_put_rr(scratch, rrsig->owner, XDP_TYPE_RRSIG, rrsig->ttl);
	uint8_t *to = xdp_place(scratch);
	xdp_put64(to, (uint64_t)rrsig->type << 48 | (uint64_t)version->algorithm << 40 |
			      (uint64_t)rrsig->labels << 32 | rrsig->ttl);
	xdp_copy10(to + 8, rrsig->times);
	scratch->at += XDP_RRSIG_HEAD_SIZE;
	xdp_put_apex(scratch, version);
	xdp_copy(xdp_place(scratch), rrsig->signature->u.signature.bytes, XDP_SIGNATURE_SIZE / 8);
	scratch->at += XDP_SIGNATURE_SIZE;
	xdp_put_rdata_size(scratch, rdata);
}

/* ---- what answers: false when it is not for here, as below ---- */

XDP_INLINE bool xdp_put_bitmap(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	uint32_t rdata = xdp_put_rr(scratch, XDP_POINTER_QNAME, XDP_TYPE_AAAA, version->ttl);
	xdp_copy(xdp_place(scratch), (const uint8_t *)scratch->found.bitmap, 2);
	scratch->at += sizeof(scratch->found.bitmap);
	xdp_put_rdata_size(scratch, rdata);
	scratch->answer_count = 1;
	if (!scratch->has_dnssec)
		return true;
	uint32_t first = version->first_line + scratch->found.where;
	const struct xdp_line *line = xdp_get_line(scratch, first);
	const struct xdp_line *rest = xdp_get_line(scratch, first + XDP_LINE_SIGNED);
	struct xdp_rrsig rrsig = { .owner = XDP_POINTER_QNAME,
				   .type = XDP_TYPE_AAAA,
				   .ttl = version->ttl,
				   .signature = xdp_get_line(scratch, first + XDP_LINE_AAAA) };
	if (line == NULL || rest == NULL || rrsig.signature == NULL)
		return false;
	rrsig.labels = line->u.name.rrsig_labels;
	rrsig.times = rest->u.rest.aaaa_times;
	scratch->answer_count = 2;
	xdp_put_rrsig(scratch, version, &rrsig);
	return true;
}

/* ---- what says no ---- */

XDP_INLINE uint16_t xdp_apex_pointer(const struct xdp_scratch *scratch)
{
	return (uint16_t)(XDP_POINTER | (XDP_HEADER_SIZE + scratch->labels_size));
}

XDP_INLINE void xdp_put_soa(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	uint8_t *to = xdp_place(scratch);
	uint32_t size = scratch->has_dnssec ? version->soa_signed_size : version->soa_size;
	for (uint32_t i = 0; i < XDP_SOA_MAX / 32; i++) {
		if (32 * i >= size)
			break;
		xdp_copy(to + (32 * i), version->soa + (32 * i), 4);
	}
	for (int i = 0; i < XDP_SOA_POINTERS; i++) {
		uint32_t pointer_at = version->soa_pointers[i];
		if (pointer_at < XDP_SOA_MAX)
			xdp_put16(to + pointer_at, xdp_apex_pointer(scratch));
	}
	scratch->authority_count = scratch->has_dnssec ? 2 : 1;
	scratch->doubtful = (uint32_t)version->soa_size - XDP_SOA_LEAST;
	scratch->at += size;
}

/* The next name of a link, with the apex behind it. */
XDP_INLINE bool xdp_put_next(struct xdp_scratch *scratch, const struct xdp_version *version,
			     uint32_t link)
{
	uint32_t next = link + 1 < version->link_count ? link + 1 : 0;
	const struct xdp_line *line = xdp_get_link(scratch, version, next, XDP_LINE_NAME);
	const struct xdp_line *rest = xdp_get_link(scratch, version, next, XDP_LINE_SIGNED);
	if (line == NULL || rest == NULL || (line->u.name.flags & XDP_NAME_LONG) != 0)
		return false;
	xdp_copy(xdp_place(scratch), rest->u.rest.name, 5);
	scratch->at += line->u.name.name_size;
	xdp_put_apex(scratch, version);
	return true;
}

/* The owner of an NSEC: its own labels, and a pointer to those of the question. Returns which. */
XDP_INLINE uint16_t xdp_put_owner(struct xdp_scratch *scratch, const struct xdp_name *name,
				  const struct xdp_signed *rest)
{
	/* A label has a byte more on the wire; in a key there is one between two of them only. */
	scratch->shared = xdp_share(scratch, name);
	XDP_FORGET();
	uint32_t shared_size = scratch->shared == 0 ? 0 : scratch->shared + 1;
	xdp_copy(xdp_place(scratch), rest->name, 5);
	scratch->at += (name->name_size - shared_size) & XDP_LABEL_MASK;
	return (uint16_t)(xdp_apex_pointer(scratch) - shared_size);
}

/* The NSEC of a link with its signature. */
XDP_FUNCTION bool xdp_put_nsec(struct xdp_scratch *scratch, const struct xdp_version *version,
			       uint32_t link)
{
	if (scratch == NULL || version == NULL)
		return false;
	const struct xdp_line *line = xdp_get_link(scratch, version, link, XDP_LINE_NAME);
	const struct xdp_line *rest = xdp_get_link(scratch, version, link, XDP_LINE_SIGNED);
	struct xdp_rrsig rrsig = { .type = XDP_TYPE_NSEC,
				   .ttl = version->negative_ttl,
				   .signature =
					   xdp_get_link(scratch, version, link, XDP_LINE_NSEC) };
	if (line == NULL || rest == NULL || rrsig.signature == NULL || line->u.name.flags != 0)
		return false;
	uint32_t from = scratch->at;
	uint16_t pointer = xdp_put_owner(scratch, &line->u.name, &rest->u.rest);
	rrsig.owner = scratch->at == from ? pointer : (uint16_t)(XDP_POINTER | from);
	scratch->doubtful += scratch->at - from;
	rrsig.labels = line->u.name.rrsig_labels;
	rrsig.times = rest->u.rest.nsec_times;
	uint32_t rdata = xdp_put_rr(scratch, pointer, XDP_TYPE_NSEC, rrsig.ttl);
	if (!xdp_put_next(scratch, version, link))
		return false;
	XDP_FORGET();
	xdp_copy10(xdp_place(scratch), rest->u.rest.types);
	scratch->at += line->u.name.types_size;
	xdp_put_rdata_size(scratch, rdata);
	scratch->authority_count += 2;
	xdp_put_rrsig(scratch, version, &rrsig);
	return true;
}

/* As put_proof() in quick.c; server/answer/proof.h has the rule. */
XDP_INLINE bool xdp_put_proof(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	const struct xdp_found *found = &scratch->found;
	bool is_answered = scratch->answer_count != 0;
	if (!scratch->has_dnssec || (found->is_name && is_answered))
		return true;
	if (!xdp_put_nsec(scratch, version, found->cover))
		return false;
	XDP_FORGET();
	return found->is_name || is_answered || found->wildcard == found->cover ||
	       xdp_put_nsec(scratch, version, found->wildcard);
}

/* ---- the message ---- */

XDP_INLINE uint32_t xdp_opt_size(const struct xdp_scratch *scratch)
{
	if (!scratch->has_edns)
		return 0;
	return XDP_OPT_SIZE + (scratch->has_cookie ? XDP_OPTION_SIZE + XDP_COOKIE_SIZE : 0);
}

/* The lower bits of an RCODE are in the header. */
XDP_INLINE void xdp_put_opt(struct xdp_scratch *scratch, const struct xdp_config *config)
{
	uint8_t *to = xdp_place(scratch);
	uint32_t options_size = xdp_opt_size(scratch) - XDP_OPT_SIZE;
	xdp_put64(to, (uint64_t)XDP_TYPE_OPT << 40 | (uint64_t)config->payload << 24 |
			      (scratch->rcode >> 4) << 16 | (scratch->has_do ? 0x80 : 0));
	to[8] = 0;
	xdp_put16(to + 9, (uint16_t)options_size);
	scratch->at += XDP_OPT_SIZE + options_size;
	if (!scratch->has_cookie)
		return;
	xdp_put32(to + XDP_OPT_SIZE, XDP_OPTION_COOKIE << 16 | XDP_COOKIE_SIZE);
	xdp_copy(to + XDP_OPT_SIZE + XDP_OPTION_SIZE, scratch->cookie, XDP_COOKIE_SIZE / 8);
}

/* The OPT, and the header when everything else is known. */
XDP_INLINE bool xdp_end_answer(struct xdp_scratch *scratch, const struct xdp_config *config,
			       uint8_t flags)
{
	uint8_t *wire = scratch->wire;
	if (scratch->has_edns)
		xdp_put_opt(scratch, config);
	XDP_FORGET();
	/* In whole words, as the checksum reads them. */
	uint64_t first = xdp_get64(wire) & (0xffffULL << 48 | (uint64_t)XDP_RD << 40);
	uint64_t second = xdp_get64(wire + 8) & 0xffffffff;
	xdp_put64(wire, first | (uint64_t)(XDP_QR | flags) << 40 |
				(uint64_t)(scratch->rcode & 15) << 32 | 1 << 16 |
				scratch->answer_count);
	xdp_put64(wire + 8, second | (uint64_t)scratch->authority_count << 48 |
				    (uint64_t)(scratch->has_edns ? 1 : 0) << 32);
	/* For the checksum, which is of two words at a time. */
	xdp_clear(xdp_place(scratch), 2);
	scratch->size = scratch->at;
	return true;
}

/* The question alone, for the client to come back over TCP, or with what is in the OPT. */
XDP_INLINE bool xdp_put_question(struct xdp_scratch *scratch, const struct xdp_config *config,
				 uint8_t flags)
{
	scratch->at = scratch->end;
	scratch->answer_count = 0;
	scratch->authority_count = 0;
	return xdp_end_answer(scratch, config, flags);
}

/* RFC 6891 section 6.2.3: less than 512 means 512. */
XDP_INLINE uint32_t xdp_response_max(const struct xdp_scratch *scratch,
				     const struct xdp_config *config)
{
	if (!scratch->has_edns || scratch->payload < XDP_RESPONSE_MIN)
		return XDP_RESPONSE_MIN;
	return scratch->payload < config->payload ? scratch->payload : config->payload;
}

XDP_INLINE bool xdp_put_sections(struct xdp_scratch *scratch, const struct xdp_version *version)
{
	scratch->at = scratch->end;
	scratch->doubtful = 0;
	if (scratch->found.is_bitmap && scratch->qtype == XDP_TYPE_AAAA) {
		scratch->result = XDP_RESULT_NOERROR;
		if (!xdp_put_bitmap(scratch, version))
			return false;
	} else {
		bool is_there = scratch->found.is_there;
		scratch->result = is_there ? XDP_RESULT_NODATA : XDP_RESULT_NXDOMAIN;
		xdp_put_soa(scratch, version);
	}
	XDP_FORGET();
	return xdp_put_proof(scratch, version);
}

/*
 * False when it is not for here; so is what does not fit, but may just fit in the longer way of
 * dnsblv6d, which compresses the names in an SOA and all of those of NSECs.
 */
XDP_INLINE bool xdp_put_answer(struct xdp_scratch *scratch, const struct xdp_config *config,
			       const struct xdp_version *version)
{
	if (!xdp_put_sections(scratch, version))
		return false;
	XDP_FORGET();
	uint32_t size = scratch->at + xdp_opt_size(scratch);
	if (size > XDP_WIRE_MASK)
		return false;
	uint32_t max = xdp_response_max(scratch, config);
	scratch->rcode = scratch->result == XDP_RESULT_NXDOMAIN ? XDP_RCODE_NXDOMAIN : 0;
	if (size <= max)
		return xdp_end_answer(scratch, config, XDP_AA);
	scratch->is_truncated = true;
	return size > max + scratch->doubtful && xdp_put_question(scratch, config, XDP_AA | XDP_TC);
}
