/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * status.h - what every fallible function of lib/format and client-lib returns.
 *
 * 0 (or a count) is success. A negative value is either -errno, when the
 * system said no, or one of the values below. The range -2999..-2000 is free
 * in libknot (-1000..-500), libdnssec (-1500..-1001), libuv (-4095..-3000)
 * and LMDB (-30799..-30780), so a status never has two meanings.
 * lib/lmdb keeps its own values at -2199..-2100 (store.h).
 *
 * No function here allocates, locks or logs; all may be called from any thread.
 */

#ifdef __cplusplus
extern "C" {
#endif

#define DNSBLV6_STATUS_MAP(X)                                                                      \
	X(DNSBLV6_ENOTFOUND, -2000, "not found")                                                   \
	X(DNSBLV6_EADDRESS, -2001, "not an IP address")                                            \
	X(DNSBLV6_EOCTET, -2002, "octet above 255")                                                \
	X(DNSBLV6_ELEADINGZERO, -2003, "number with a leading zero")                               \
	X(DNSBLV6_EPREFIXLEN, -2004, "prefix length out of range")                                 \
	X(DNSBLV6_EHOSTBITS, -2005, "host bits set below the prefix length")                       \
	X(DNSBLV6_EPREFIX, -2006, "no owner name exists for a prefix of this length")              \
	X(DNSBLV6_ENAME, -2007, "not a name of the zone format")                                   \
	X(DNSBLV6_ENAMESIZE, -2008, "domain name too long")                                        \
	X(DNSBLV6_EKEY, -2009, "not a store key")                                                  \
	X(DNSBLV6_ERECORD, -2010, "damaged record")                                                \
	X(DNSBLV6_ESPACE, -2011, "result does not fit the space given")                            \
	X(DNSBLV6_EMETADATA, -2012, "metadata that this version does not understand")

enum dnsblv6_status {
	DNSBLV6_OK = 0,
#define X(name, code, text) name = code,
	DNSBLV6_STATUS_MAP(X)
#undef X
};

/*
 * Never NULL; static text, not to be freed. Knows -errno values as well. Visible: it is one of
 * the functions of libdnsblv6 (client-lib/dnsblv6.h).
 */
#if defined(__GNUC__)
#define DNSBLV6_VISIBLE __attribute__((visibility("default")))
#else
#define DNSBLV6_VISIBLE
#endif
DNSBLV6_VISIBLE const char *dnsblv6_strerror(int status);

#ifdef __cplusplus
}
#endif
