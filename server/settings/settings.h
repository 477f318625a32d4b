/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * settings.h - what dnsblv6d.conf says, as typed values.
 *
 * Flow: main.c reads it once, parent.c again at every SIGHUP; workers get what
 *       was read and never see the file.
 * This file alone knows the items, their defaults and their ranges;
 * dnsblv6d.conf(5) and dnsblv6d.conf.sample say the same in prose.
 */

#include "lib/common/conf.h"
#include "lib/dns/listener.h"
#include "lib/dns/responder.h"
#include "lib/format/address.h"
#include "server/askers/cookie.h"
#include "server/askers/tsig.h"

#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SETTINGS_USER_MAX	64
#define SETTINGS_WORKERS_MAX	256
#define SETTINGS_NAME_MAX	255  /* RFC 1035: octets of a name on the wire */
#define SETTINGS_TEXT_MAX	1024 /* a name as text: four characters for every octet */
#define SETTINGS_PAYLOAD_MAX	RESPONDER_PAYLOAD_MAX
#define SETTINGS_ID_MAX		64
#define SETTINGS_NEIGHBOURS_MAX 16
#define SETTINGS_IDENTITY_MAX	128  /* of what this server says of itself */
#define SETTINGS_CONTROL_MAX	107  /* what fits into struct sockaddr_un */
#define SETTINGS_SECRET_MAX	1024 /* base64 of keys far longer than any HMAC's block */
#define SETTINGS_INTERFACES_MAX 8    /* network interfaces of the section "xdp" */

struct settings_name {
	size_t size;			 /* 0: there is none */
	uint8_t wire[SETTINGS_NAME_MAX]; /* lower case, with the root label */
	char *text;			 /* for the log: "bl6.example." */
};

/* A user and a group of the system. */
struct settings_owner {
	char text[SETTINGS_USER_MAX + 1]; /* "USER" or "USER:GROUP"; "" for none */
	uid_t uid;			  /* meaningful with one, as is the next */
	gid_t gid;
};

/* Clients, in memory of its own. A prefix of IPv6, ::/0 too, has none of IPv4. */
struct settings_prefixes {
	struct dnsblv6_prefix *all;
	size_t count;
};

/* Entries of another section. */
struct settings_links {
	char **ids;	 /* as written, in their order */
	size_t *indices; /* the same in the array of that section */
	size_t count;
};

/* A secret shared with secondaries, for TSIG. */
struct settings_key {
	struct settings_name name;
	int algorithm;	      /* index into tsig_algorithms */
	char *secret;	      /* base64, until the whole file has been read */
	struct tsig_key *key; /* made of these; ours */
	size_t line;
};

/* A server that holds copies of zones. */
struct settings_secondary {
	char *id;			    /* first, for settings_links */
	struct sockaddr_storage *addresses; /* get NOTIFY, and may transfer */
	size_t address_count;
	struct settings_prefixes allow; /* may transfer too */
	struct settings_name key_name;
	const struct tsig_key *key; /* borrowed from the keys; NULL: none needed */
	size_t line;
};

enum settings_confine { SETTINGS_CONFINE_OFF, SETTINGS_CONFINE_AUTO, SETTINGS_CONFINE_ON };

enum settings_action { SETTINGS_ALLOW, SETTINGS_REFUSE, SETTINGS_DROP };

/* What becomes of questions from some addresses, or with some key. */
struct settings_rule {
	char *id; /* first, for settings_links */
	enum settings_action action;
	struct settings_prefixes addresses; /* none: any */
	struct settings_name key_name;
	const struct tsig_key *key; /* borrowed from the keys; NULL: with any, or none */
	size_t line;
};

/* A name that a zone is served under beside its own: answers are made for it. */
struct settings_face {
	struct settings_name name;
	bool is_classic; /* as A and TXT of addresses; or else with the records of the zone */
};

struct settings_zone {
	struct settings_name domain;
	struct settings_face *others; /* more names, under which the same list is served */
	size_t other_count;
	char *store; /* path, made absolute by the directory of the file */
	struct settings_links secondaries;
	struct settings_links rules; /* in the order in which they are tried */
	unsigned
		neighbours; /* whose proofs go with a negative answer, to each side (neighbours.h) */
	size_t line;
};

/* The query log. */
struct settings_dnstap {
	char path[PATH_MAX]; /* "" for none */
	bool is_socket;
	unsigned every; /* one answer in so many */
	bool has_queries;
	bool has_responses;
	char identity[SETTINGS_IDENTITY_MAX + 1];
	char version[SETTINGS_IDENTITY_MAX + 1];
	struct settings_name *zones; /* what else is asked is not logged; none: all is */
	size_t zone_count;
};

/* Network interfaces by name; no memory of its own, so that two can be compared. */
struct settings_interfaces {
	char names[SETTINGS_INTERFACES_MAX][IF_NAMESIZE];
	size_t count;
};

/* What may be wanted of an interface's driver, in the order of the words in the file. */
enum settings_xdp_mode { SETTINGS_XDP_AUTO, SETTINGS_XDP_DRIVER, SETTINGS_XDP_GENERIC };

/* Answers from the network driver. */
struct settings_xdp {
	struct settings_interfaces interfaces; /* none: all answers are given by sockets */
	enum settings_xdp_mode mode;
	uint64_t memory_size; /* bytes for the names of all zones, two versions of each */
	unsigned keep_s;      /* how long it answers when the server has ended */
};

struct settings {
	struct listener_addresses listen;
	const char *directory; /* borrowed while the file is read: where relative paths begin */
	struct settings_owner owner; /* none: keep the user that started us */
	unsigned workers; /* at least 1: "0" in the file has become the number of cores */
	unsigned tcp_max_clients;
	unsigned tcp_max_clients_per_network; /* 0: as many as there may be */
	unsigned tcp_idle_timeout_s;
	unsigned tcp_query_timeout_s;
	unsigned udp_max_payload;
	unsigned drain_timeout_s;
	unsigned verify_interval_s; /* 0: stores are not read again */
	unsigned transfer_max;	    /* at a time, of one worker */
	unsigned transfer_timeout_s;
	unsigned transfer_idle_timeout_s;
	int log_level;
	char control_path[SETTINGS_CONTROL_MAX + 1]; /* "" for none */
	struct settings_owner control_owner;	     /* none: owner */
	unsigned control_mode;
	unsigned top_size; /* prefixes that are counted; 0: none */
	unsigned top_ipv4_length;
	unsigned top_ipv6_length;
	unsigned outward_max;	  /* not of the file: as of outward.h */
	unsigned frequent_ranges; /* that are remembered (frequent.h); 0: none */
	bool has_pinned_workers;  /* each to a core of its own */
	enum settings_confine confine;
	char chroot_path[PATH_MAX]; /* of workers, without a slash at its end; "" for none */
	bool has_cookies;
	struct cookie_secrets cookies; /* none: the parent makes random ones */
	unsigned rate_limit;	       /* answers a second; 0: as many as come */
	unsigned rate_limit_slip;
	unsigned rate_limit_networks;
	struct settings_prefixes rate_limit_allow;
	char identity[SETTINGS_IDENTITY_MAX + 1]; /* "" for none, as the next two */
	char version[SETTINGS_IDENTITY_MAX + 1];
	char nsid[SETTINGS_IDENTITY_MAX + 1];
	struct settings_dnstap dnstap;
	struct settings_xdp xdp;
	struct settings_key *keys;
	size_t key_count;
	struct tsig_key **tsig_keys; /* those of keys, in their order; borrowed from them */
	struct settings_secondary *secondaries;
	size_t secondary_count;
	struct settings_rule *rules;
	size_t rule_count;
	struct settings_zone *zones;
	size_t zone_count;
	bool is_exposed; /* there are secrets, and every user may read the file */
};

/* False when this build lacks libfstrm or protobuf-c: there is no query log then. */
bool settings_has_dnstap(void);
/* False when it lacks libbpf, libxdp, or a compiler for BPF: no interface can be named then. */
bool settings_has_xdp(void);

void settings_deinit(struct settings *settings);

/* One row for each item. conf_find_restart() says with it what only a restart can change. */
extern const struct conf_table settings_table;

/*
 * What path says, and defaults. Returns 0; or -EINVAL or -errno with
 * *reterr_error filled, as conf_parse() does. Call settings_deinit() either way.
 */
int settings_read(struct settings *settings, const char *path, struct conf_error *reterr_error);
/* The same from text; directory is where relative store paths begin. */
int settings_parse(struct settings *settings, const char *text, size_t text_size,
		   const char *directory, struct conf_error *reterr_error);

/*
 * Where a worker finds the store of a zone: behind chroot_path there is nothing
 * of it in the path. One that lies elsewhere is returned as it is.
 */
const char *settings_store_path(const struct settings *settings, size_t index);

bool settings_prefixes_have(const struct settings_prefixes *prefixes, struct dnsblv6_addr client);

/* Logs a warning for what is permitted and should not be. */
void settings_log_warnings(const char *path, const struct settings *settings);

#ifdef __cplusplus
}
#endif
