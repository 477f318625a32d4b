/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * config.h - the options of a handle, and the entries of "zones".
 *
 * Flow: dnsblv6_set() -> config_set() -> the engine and stub.c read the
 *       struct. Nothing else in the library parses text that a user wrote.
 *
 * An entry is postscreen's: NAME[=FILTER][*WEIGHT]. Entries of one NAME share a
 * zone: it is asked once, and each entry looks at the answer with its filter. What its codes
 * mean may be said behind the filter: NAME=FILTER=LABEL, with FILTER or without.
 *
 * FILTER is four octets with dots between, each a number, &BITS or [N;N..N;&BITS;...]:
 * 127.0.0.2, 127.0.0.[2..11], 127.0.[0;1].[1..255]; 127.0.0.&12 is any octet with bit 4 or
 * bit 8. A listing that a bitmap tells counts as 127.0.0.2, which is what RFC 5782 has
 * zones answer.
 *
 * Text in, values out: config_set() refuses a word or takes it, config_finish()
 * looks at what belongs together. Only then are the modes of zones and the trust
 * in servers what they should be. The table in config.c has the keys and what they take,
 * config_init() what they are at first, and libdnsblv6(3) what they mean.
 *
 * The struct is the caller's, and a copy is a copy: it has no pointers but what the caller lent.
 * Nothing here allocates or locks; config_finish() alone reads a file, and the limit of
 * descriptors.
 */

#include "lib/format/name.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CONFIG_ENTRIES_MAX 64 /* one bit each in struct dnsblv6_result */
#define CONFIG_ZONES_MAX   64
#define CONFIG_SERVERS_MAX 8
#define CONFIG_TEXT_MAX	   256
#define CONFIG_ERROR_MAX   256
#define CONFIG_LABEL_SIZE  32 /* bytes of a label and its NUL */
#define CONFIG_SHARED_MAX  90 /* bytes of a directory; a socket in it has 107 for its path */
#define CONFIG_SOCKETS_MIN 4
#define CONFIG_SOCKETS_MAX 16384
#define CONFIG_SOCKETS	   512 /* by default, where RLIMIT_NOFILE is no matter */
#define CONFIG_FDS	   8 /* of a handle beside its sockets: waitsets, eventfds, the daemon's */

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

/* Must its answers be validated by a resolver whose AD is believed? */
enum config_secure {
	CONFIG_SECURE_AUTO, /* when they once were */
	CONFIG_SECURE_YES,
	CONFIG_SECURE_NO,
};

/* What a zone is asked about. */
enum config_kind {
	CONFIG_ADDRESSES,
	CONFIG_NAMES,  /* names of domains, and never addresses */
	CONFIG_SITES,  /* what stands in a URL: names, and IPv4 addresses */
	CONFIG_HASHES, /* labels that the caller made */
	CONFIG_KINDS
};

/* What may be asked about, and finds its zones by their kind. */
enum config_topic {
	CONFIG_ADDRESS, /* of a client */
	CONFIG_NAME,	/* or hash */
	CONFIG_SITE,	/* an address in place of a name */
	CONFIG_TOPICS
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
	char label[CONFIG_LABEL_SIZE]; /* what the codes mean that fit; "": not said */
};

struct config_zone {
	struct dnsblv6_labels name;   /* without the root label, lower case */
	char text[CONFIG_TEXT_MAX];   /* presentation form without a final dot */
	char labels[CONFIG_TEXT_MAX]; /* of its entries, with commas: for the log; "": none */
	enum config_mode mode;
	enum config_failure on_failure;
	enum config_secure secure;
	enum config_kind kind;
	struct dnsblv6_labels point; /* what is always listed, as it is asked; empty: not known */
};

struct dnsblv6_resolver; /* dnsblv6.h */

struct config_server {
	struct sockaddr_in6 address; /* IPv4 is IPv4-mapped; port in network order */
	bool is_trusted; /* its AD bit is believed: loopback, named in "trusted", or trust-ad */
};

/* The options that may be set for one zone. */
enum config_trait {
	CONFIG_MODE,
	CONFIG_FAILURE,
	CONFIG_SECURE,
	CONFIG_KIND,
	CONFIG_POINT,
	CONFIG_TRAITS
};

/* What they said of one zone, which may be set later. */
struct config_policy {
	char text[CONFIG_TEXT_MAX];  /* its name; "" for all zones */
	bool has[CONFIG_TRAITS];     /* which of them were set */
	int choices[CONFIG_TRAITS];  /* values of their enums; none of CONFIG_POINT */
	struct dnsblv6_labels point; /* empty: none */
};

/* Of a file: when it is another one, or has changed, so has this. All zero: it was not there. */
struct config_stamp {
	uint64_t device, inode, size;
	int64_t changed_ns; /* its ctime */
};

struct config {
	struct config_entry entries[CONFIG_ENTRIES_MAX];
	unsigned entry_count;
	uint64_t asked[CONFIG_TOPICS];	 /* the entries for it when the caller names none */
	uint64_t askable[CONFIG_TOPICS]; /* those that may be named */
	struct config_zone zones[CONFIG_ZONES_MAX];
	unsigned zone_count;
	struct config_server servers[CONFIG_SERVERS_MAX];
	unsigned server_count;

	int32_t threshold;
	bool asks_private;	      /* of scope.h, too */
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
	uint32_t max_sockets;	     /* for questions on the way; 0 until config_finish() */
	uint32_t attempt_timeout_ms; /* for one question to one server, doubled each round */
	bool mixed_case;	     /* draft-vixie-dnsext-dns0x20 */
	bool use_ranges;	     /* NSEC ranges of secure answers */
	char resolv_conf[CONFIG_TEXT_MAX];
	bool has_file_servers; /* "servers" are those of resolv_conf */
	bool lacks_servers;    /* a resolv_conf that was set names none, or is not there */
	struct config_stamp resolv_stamp;
	const struct dnsblv6_resolver *resolver; /* in place of stub.c's own; NULL: none */
	void *resolver_context;

	/* As they were set, for config_finish(). */
	struct config_policy policies[1 + CONFIG_ZONES_MAX]; /* the first is for all zones */
	unsigned policy_count;
	struct sockaddr_in6 trusted[CONFIG_SERVERS_MAX];
	unsigned trusted_count;
	bool trusts_no_server;
};

void config_init(struct config *config);

/*
 * One key. 0, -EINVAL with one line of printable ASCII in ret_error (CONFIG_ERROR_MAX
 * bytes) that names key, word and what is permitted; nothing is changed then. A key that
 * is set again replaces what it had; "mode" and "on-failure" take a word for all zones, or
 * NAME=WORD for one, which counts more and is added, and may come before or after "zones".
 */
int config_set(struct config *config, const char *key, const char *value, char *ret_error);

/*
 * Servers of resolv.conf when none were set; 127.0.0.1 when it has none. "max-sockets" by
 * RLIMIT_NOFILE as it is now. -EINVAL without zones, or for values that do not go together.
 */
int config_finish(struct config *config, char *ret_error);

/*
 * Another look at resolv.conf, when it is another file than it was at the last one. True when
 * config->servers have changed: its user has to be told. One that cannot be read, or has no
 * servers, changes nothing.
 */
bool config_renew_servers(struct config *config);

/* Is the AD of each of the servers believed? */
bool config_trusts_servers(const struct config *config);

/* Keys in the order of the manual: index 0, 1, ...; NULL behind the last. */
const char *config_key(unsigned index);

/* A set of entries as a caller gives it: 0 means all that are for the topic, and others are left
 * out. 0 when nothing is left. Good behind config_finish(). */
static inline uint64_t config_entries(const struct config *config, enum config_topic topic,
				      uint64_t zones)
{
	return zones == 0 ? config->asked[topic] : zones & config->askable[topic];
}

/* Beside 127.255.255.0/24, the A record that is an error of a list of that kind, or no listing in 127/8. */
extern const uint8_t config_errors[CONFIG_KINDS][4];

/* a_be32: an A record as it comes. */
bool config_filter_fits(const struct config_filter *filter, uint32_t a_be32);

#ifdef __cplusplus
}
#endif
