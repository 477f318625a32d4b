/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * name.h - owner names of the zone format, in both styles, and classic names.
 *
 * Flow: zone-tools/chain/builder.c makes owner names from blocks; server/answer/classic.c
 *       reads classic names; client-lib makes the names it asks for.
 * This file alone knows how an address becomes labels. FORMAT.md is the text.
 *
 * A name here is relative to the apex of its zone (or sub-zone) and in wire
 * form without the root label: a sequence of (length, bytes). The apex is the
 * empty sequence. Case is ignored when reading, lower when writing.
 *
 *     /25 192.0.2.0    dotted  0.2.0.192             flat  c000020
 *     /24 192.0.2.0    dotted  *.2.0.192             flat  none
 *     /57 2001:db8::   dotted  0.00.0000.0db8.2001.ip6
 *                      flat    20010db80000000.ip6
 *
 * No function here allocates, locks, logs or keeps a pointer.
 */

#include "lib/format/address.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DNSBLV6_LABELS_MAX 254 /* RFC 1035: 255 octets on the wire with the root label */
#define DNSBLV6_LABEL_MAX  63

enum dnsblv6_style {
	DNSBLV6_STYLE_DOTTED = 0,
	DNSBLV6_STYLE_FLAT = 1,
	DNSBLV6_STYLE_BOTH = 2,	   /* dotted names, and flat ones of IPv4 */
	DNSBLV6_STYLE_CLASSIC = 3, /* no bitmaps: the names of RFC 5782 */
	DNSBLV6_STYLE_BOTH6 = 4,   /* dotted and flat names, of both families */
};

/* Has a zone of that style both? Then the dotted names say all that is listed. */
static inline bool dnsblv6_style_is_both(enum dnsblv6_style style)
{
	return style == DNSBLV6_STYLE_BOTH || style == DNSBLV6_STYLE_BOTH6;
}

/* The names by which programs ask it: flat ones, where it has them. */
static inline enum dnsblv6_style dnsblv6_style_asked(enum dnsblv6_style style, bool is_ipv4)
{
	if (!dnsblv6_style_is_both(style))
		return style;
	return is_ipv4 || style == DNSBLV6_STYLE_BOTH6 ? DNSBLV6_STYLE_FLAT : DNSBLV6_STYLE_DOTTED;
}

/* The names by which its lists are read. */
static inline enum dnsblv6_style dnsblv6_style_read(enum dnsblv6_style style)
{
	return dnsblv6_style_is_both(style) ? DNSBLV6_STYLE_DOTTED : style;
}

struct dnsblv6_labels {
	uint8_t size; /* bytes used; 0 is the apex */
	uint8_t wire[DNSBLV6_LABELS_MAX];
};

/*
 * The owner name of block: /25 or /57 (its bitmap), or in dotted style a
 * whole-block border (a wildcard). Returns DNSBLV6_OK, or DNSBLV6_EPREFIX when
 * the style has no name for a prefix of that length. Classic style has none; of a zone that has
 * both, it is the name by which programs ask.
 */
int dnsblv6_name_make(enum dnsblv6_style style, struct dnsblv6_prefix block,
		      struct dnsblv6_labels *ret_name);

/*
 * The reverse: which block an owner name (size bytes of labels) stands for.
 * DNSBLV6_ENAME for everything that dnsblv6_name_make() cannot have made. Of a zone that has
 * both, either name is taken.
 */
int dnsblv6_name_parse(enum dnsblv6_style style, const uint8_t *labels, size_t size,
		       struct dnsblv6_prefix *ret_block);

/*
 * Classic names (RFC 5782): 1 to 4 decimals in reverse order are an IPv4
 * prefix of 8 to 32 bits, 1 to 32 nibbles an IPv6 prefix of 4 to 128. A name
 * of fewer than four one-digit labels is both, so there are two functions.
 * DNSBLV6_ENAME when the name is not of that kind or not canonical.
 */
int dnsblv6_name_parse_classic4(const uint8_t *labels, size_t size,
				struct dnsblv6_prefix *ret_prefix);
int dnsblv6_name_parse_classic6(const uint8_t *labels, size_t size,
				struct dnsblv6_prefix *ret_prefix);

/*
 * Is the label of a name that is nearest to the apex one that the format needs
 * for itself: an octet, a nibble, a flat name, "ip6", "*", or one that begins
 * with "_"? Sub-zones and name servers must not have it. The apex has none.
 */
bool dnsblv6_name_is_reserved(const uint8_t *labels, size_t size);

/* An octet as names have it, in decimal and without a NUL. Its size. */
#define DNSBLV6_OCTET_SIZE 3
size_t dnsblv6_name_octet(unsigned octet, char *ret_text);

/* The classic name of one address: "2.0.0.127", or 32 nibbles. */
void dnsblv6_name_make_classic(struct dnsblv6_addr addr, struct dnsblv6_labels *ret_name);

/*
 * Presentation form and back, without a final dot; bytes outside printable
 * ASCII and those that a master file reads specially (. \ " $ ( ) ; @) are \DDD
 * (RFC 1035 section 5.1). "@" is the empty name both ways. ret_text has DNSBLV6_NAME_TEXT_SIZE
 * bytes. DNSBLV6_ENAME also for a byte that is not ASCII and no \DDD.
 */
#define DNSBLV6_NAME_TEXT_SIZE 1024 /* four characters for every octet, and the NUL */
size_t dnsblv6_name_format(const uint8_t *labels, size_t size, char *ret_text);
int dnsblv6_name_from_text(const char *text, struct dnsblv6_labels *ret_name);

/* The root is not counted. */
unsigned dnsblv6_name_label_count(const struct dnsblv6_labels *name);

/* left.right in one name; DNSBLV6_ENAMESIZE when that is too long. */
int dnsblv6_name_join(const uint8_t *left, size_t left_size, const uint8_t *right,
		      size_t right_size, struct dnsblv6_labels *ret_name);

#ifdef __cplusplus
}
#endif
