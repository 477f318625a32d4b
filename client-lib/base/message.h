/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * message.h - the DNS messages that a stub sends and gets (RFC 1035, 6891).
 *
 * Flow: flight.c -> message_make() -> resolver -> message_parse() -> answer.c, probe.c
 * This file alone knows the wire. It trusts nothing in a reply: every name is
 * bounded, every pointer goes backwards, every count ends.
 *
 * A reply must repeat the question, in the case it was sent in. Records count
 * only under the name that was asked, or at the end of a chain of at most
 * MESSAGE_CNAMES_MAX CNAMEs that begins there; NSEC records of the authority section
 * are kept whatever their owner is, as the caller knows which zone it means. What
 * contradicts itself - two CNAMEs at a name, a chain that does not end, records
 * beside NXDOMAIN - cannot be read. Records of other types and classes are passed over.
 *
 * No function here allocates, locks, logs or keeps a pointer.
 */

#include "lib/format/name.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MESSAGE_UDP_SIZE   1232 /* what we say in EDNS (RFC 9715) */
#define MESSAGE_QUERY_MAX  300	/* header, name of 255, type and class, OPT */
#define MESSAGE_A_MAX	   16
#define MESSAGE_NSEC_MAX   8   /* as many as a reply of MESSAGE_UDP_SIZE has, with signatures */
#define MESSAGE_TEXT_MAX   256 /* bytes of a TXT record that are kept */
#define MESSAGE_CNAMES_MAX 4
#define MESSAGE_TTL_MAX	   604800 /* a week; above 2^31 is 0 (RFC 2181 section 8) */

enum message_type {
	MESSAGE_A = 1,
	MESSAGE_SOA = 6,
	MESSAGE_TXT = 16,
	MESSAGE_AAAA = 28,
	MESSAGE_RRSIG = 46,
	MESSAGE_NSEC = 47,
};

struct message_question {
	struct dnsblv6_labels name; /* in the case that is sent */
	uint16_t type;
	uint16_t id;
	bool wants_proof; /* DO: signatures and NSEC, from a server whose AD is believed */
};

struct message_nsec {
	struct dnsblv6_labels owner; /* lower case, whole */
	struct dnsblv6_labels next;
	uint32_t ttl_s; /* not above that of the negative answer (RFC 9077) */
};

enum message_kind {
	MESSAGE_ANSWER, /* NOERROR, and records of the type asked for */
	MESSAGE_NODATA, /* NOERROR, and none */
	MESSAGE_NXDOMAIN,
	MESSAGE_REFUSED,
	MESSAGE_FAILURE,   /* SERVFAIL and every other RCODE */
	MESSAGE_TRUNCATED, /* TC: ask again over TCP */
};

struct message_reply {
	enum message_kind kind;
	uint16_t rcode;	    /* with the upper bits that are in EDNS */
	bool is_secure;	    /* AD */
	bool has_signature; /* an RRSIG is in its answer or authority section */
	bool has_cname;
	int32_t ede;	/* RFC 8914 INFO-CODE, the first if there are more; or -1 */
	uint32_t ttl_s; /* the shortest of the records and the CNAMEs before them; of a negative
			   answer min(SOA TTL, MINIMUM), RFC 2308, or 0 without SOA */
	bool has_soa;
	struct dnsblv6_labels soa_owner; /* lower case; only with has_soa */
	uint32_t soa_serial;		 /* the same */
	unsigned aaaa_count;		 /* all of them; the first is kept */
	uint8_t aaaa[16];
	unsigned a_count; /* kept, sorted: of more than MESSAGE_A_MAX the lowest and the highest */
	uint8_t a[MESSAGE_A_MAX][4];
	unsigned text_count; /* TXT records; the first is kept */
	size_t text_size;    /* its strings, joined, cut at MESSAGE_TEXT_MAX */
	uint8_t text[MESSAGE_TEXT_MAX];
	unsigned text_total; /* its RDATA as it came, for metadata: the size, 0 when larger than */
	uint8_t text_rdata[1024]; /* DNSBLV6_METADATA_RDATA_MAX */
	unsigned nsec_count;
	struct message_nsec nsecs[MESSAGE_NSEC_MAX];
};

/*
 * RD set; AD set, which asks for it in the reply (RFC 6840 section 5.7); EDNS. Returns
 * the size; ret_query has MESSAGE_QUERY_MAX bytes.
 */
size_t message_make(const struct message_question *question, uint8_t *ret_query);

/*
 * 0 when it is a reply to the question. -ENOMSG when it is not, and came from elsewhere: wrong id,
 * no QR, another question, another case, or cut off before all of this. -EBADMSG when it is, but
 * cannot be read. Of a truncated one nothing but kind, rcode and AD is told. Any bytes may be
 * given.
 */
int message_parse(const struct message_question *question, const uint8_t *bytes, size_t size,
		  struct message_reply *ret_reply);

/*
 * Letters of name get the case of the bits, the lowest of the first byte first: upper for 1.
 * Letters behind the last bit keep theirs (0x20).
 */
void message_mix_case(struct dnsblv6_labels *name, const uint8_t *bits, size_t bits_size);

#ifdef __cplusplus
}
#endif
