/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * config.h - the options of a handle, and the entries of "zones".
 *
 * Flow: dnsblv6_set() -> config_set() -> client.c, stub.c, cache.c read the
 *       struct. Nothing else in the library parses text that a user wrote.
 *
 * An entry is postscreen's: NAME[=FILTER][*WEIGHT]. Entries of one NAME share a
 * zone: it is asked once, and each entry looks at the answer with its filter.
 *
 * FILTER is four octets with dots between, each a number or [N;N..N;...]:
 * 127.0.0.2, 127.0.0.[2..11], 127.0.[0;1].[1..255]. A listing that a bitmap
 * tells counts as 127.0.0.2, which is what RFC 5782 has zones answer.
 *
 * The struct is the caller's, without pointers; a copy is a copy.
 */

#include "lib/format/name.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CONFIG_ENTRIES_MAX 64 /* one bit each in struct dnsblv6_result */
#define CONFIG_ZONES_MAX   64
#define CONFIG_SERVERS_MAX 8
#define CONFIG_TEXT_MAX	   256
#define CONFIG_ERROR_MAX   256

enum config_failure {
	CONFIG_OPEN,   /* a zone without an answer lists nothing */
	CONFIG_CLOSED, /* it lists the address */
	CONFIG_DEFER,  /* the verdict is DEFER, unless the score is reached without it */
};

enum config_mode {
	CONFIG_AUTO, /* bitmaps when the zone has metadata of this format, else classic */
	CONFIG_BITMAP,
	CONFIG_CLASSIC,
};

/* Which values each octet may have: a bit for each of the 256. */
struct config_filter {
	bool is_set; /* false: every 127/8 answer fits, but those of 127.255.255/24 */
	uint64_t octets[4][4];
};

struct config_entry {
	uint8_t zone; /* index into zones */
	int32_t weight;
	struct config_filter filter;
};

struct config_zone {
	struct dnsblv6_labels name; /* without the root label, lower case */
	char text[CONFIG_TEXT_MAX]; /* presentation form without a final dot */
	enum config_mode mode;
	enum config_failure on_failure;
};

struct config_server {
	struct sockaddr_in6 address; /* IPv4 is IPv4-mapped; port in network order */
	bool is_trusted;	     /* its AD bit is believed: loopback, or named in "trusted" */
};

struct config {
	struct config_entry entries[CONFIG_ENTRIES_MAX];
	unsigned entry_count;
	struct config_zone zones[CONFIG_ZONES_MAX];
	unsigned zone_count;
	struct config_server servers[CONFIG_SERVERS_MAX];
	unsigned server_count;

	int32_t threshold;
	uint64_t cache_size;	      /* bytes of the whole table */
	char shared[CONFIG_TEXT_MAX]; /* directory of dnsblv6-cached, or "" */
	bool shared_writer;	      /* this handle is dnsblv6-cached: it makes the file */
	uint32_t min_ttl_s, max_ttl_s;
	uint32_t max_negative_ttl_s;
	uint32_t failure_ttl_s;	   /* 5 to 30: how long a failure is remembered */
	uint32_t max_stale_s;	   /* RFC 8767; 0: never */
	uint32_t prefetch_percent; /* of the TTL left when an entry in use is asked again; 0: never
				    */
	uint32_t probe_interval_s; /* 0: never */
	uint32_t max_requests;
	uint32_t attempt_timeout_ms; /* for one question to one server, doubled each round */
	bool mixed_case;	     /* draft-vixie-dnsext-dns0x20 */
	bool use_ranges;	     /* NSEC ranges of secure answers */
	char resolv_conf[CONFIG_TEXT_MAX];
};

void config_init(struct config *config);

/*
 * One key. 0, -EINVAL with one line in ret_error (CONFIG_ERROR_MAX bytes) that
 * names key, word and reason; nothing is changed then. "zones" replaces what
 * was set before; "mode" and "on-failure" take a word for all zones, or
 * NAME=WORD for one, and may come before or after "zones".
 */
int config_set(struct config *config, const char *key, const char *value, char *ret_error);

/* Servers of resolv.conf when none were set; 127.0.0.1 when it has none. -EINVAL without zones. */
int config_finish(struct config *config, char *ret_error);

/* Keys in the order of the manual: index 0, 1, ...; NULL behind the last. */
const char *config_key(unsigned index);

/* a_be32: an A record as it comes. */
bool config_filter_fits(const struct config_filter *filter, uint32_t a_be32);

#ifdef __cplusplus
}
#endif
