/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * dnssec.h - the bytes of NSEC and RRSIG records, and the bytes that are signed.
 *
 * Flow: zone-tools/chain/chain.c makes NSEC and RRSIG records, and signer.c signs
 *       dnsblv6_signing_input(); zonefile.c and server/answer/proof.c make the same again.
 *       Neither stores an NSEC: it follows from the next key of the store and the types at the
 *       name, so both sides must make it alike, which is why it is made here.
 *
 * RFC 4034 sections 3.1 (RRSIG), 4.1 (NSEC) and 6 (canonical form). Algorithms
 * are ECDSAP256SHA256 (13, RFC 6605) and Ed25519 (15, RFC 8080): signatures of
 * both are 64 bytes.
 *
 * Names are relative to the apex (name.h) and lower case. No function here
 * allocates, locks, logs or keeps a pointer; nothing here knows a key.
 */

#include "lib/format/record.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	DNSBLV6_TYPE_A = 1,
	DNSBLV6_TYPE_NS = 2,
	DNSBLV6_TYPE_SOA = 6,
	DNSBLV6_TYPE_HINFO = 13,
	DNSBLV6_TYPE_MX = 15,
	DNSBLV6_TYPE_TXT = 16,
	DNSBLV6_TYPE_AAAA = 28,
	DNSBLV6_TYPE_RRSIG = 46,
	DNSBLV6_TYPE_NSEC = 47,
	DNSBLV6_TYPE_DNSKEY = 48,
	DNSBLV6_TYPE_CDS = 59,
	DNSBLV6_TYPE_CDNSKEY = 60,
	DNSBLV6_TYPE_ZONEMD = 63,
};

#define DNSBLV6_TYPES_MAX 16 /* types at one name; ours have six at most */

/* The types that exist at a name, ascending. */
struct dnsblv6_types {
	uint8_t count;
	uint8_t numbers[DNSBLV6_TYPES_MAX]; /* all ours are below 256 */
};

/*
 * The types of a record's RRs, or AAAA for a bitmap; with is_signed also RRSIG
 * and NSEC. DNSBLV6_ERECORD when it is damaged or has a type above 255.
 */
int dnsblv6_types_of_record(const uint8_t *data, size_t size, bool is_signed,
			    struct dnsblv6_types *ret_types);

/* NSEC RDATA: next name, and the types at the name itself. */
#define DNSBLV6_NSEC_MAX (DNSBLV6_LABELS_MAX + 1 + 2 + 32)
/* Returns the size. next and zone together are a name, so at most 255 octets. */
size_t dnsblv6_nsec_encode(const struct dnsblv6_labels *zone, const struct dnsblv6_labels *next,
			   const struct dnsblv6_types *types, uint8_t *ret_rdata);

/* What an RRSIG says besides the signature itself. */
struct dnsblv6_rrsig {
	uint16_t type_covered;
	uint8_t algorithm;
	uint8_t labels; /* of the owner with the zone, without the root and a leading "*" */
	uint32_t ttl;	/* of the covered RRset */
	struct dnsblv6_signature signature;
};

#define DNSBLV6_RRSIG_MAX (18 + DNSBLV6_LABELS_MAX + 1 + DNSBLV6_SIGNATURE_BYTES)
/* RRSIG RDATA. Returns the size. */
size_t dnsblv6_rrsig_encode(const struct dnsblv6_rrsig *rrsig, const struct dnsblv6_labels *zone,
			    uint8_t *ret_rdata);

/*
 * The signature in RRSIG RDATA that covers type: DNSBLV6_ENOTFOUND when it
 * covers another, DNSBLV6_ERECORD when it is damaged.
 */
int dnsblv6_rrsig_decode(const uint8_t *rdata, size_t size, uint16_t type,
			 struct dnsblv6_signature *ret_signature);

/* RFC 4034 section 3.1.3. owner is the name the RRset has in the zone file. */
uint8_t dnsblv6_rrsig_labels(const struct dnsblv6_labels *zone, const struct dnsblv6_labels *owner);

/* <0, 0, >0: by type, then by RDATA as RFC 4034 section 6.3 has it. */
int dnsblv6_rr_compare(const struct dnsblv6_rr *a, const struct dnsblv6_rr *b);

/* An RDATA; libraries' own types are not for here. */
struct dnsblv6_rdata {
	const uint8_t *bytes;
	uint16_t size;
};

/*
 * The bytes that a signature is over: RRSIG RDATA without the signature, then
 * the RRset in canonical form (rdatas, sorted by this function, in place).
 * DNSBLV6_ESPACE when ret_input, of input_max bytes, is too small.
 */
int dnsblv6_signing_input(const struct dnsblv6_rrsig *rrsig, const struct dnsblv6_labels *zone,
			  const struct dnsblv6_labels *owner, struct dnsblv6_rdata *rdatas,
			  size_t rdata_count, uint8_t *ret_input, size_t input_max,
			  size_t *ret_size);

#ifdef __cplusplus
}
#endif
