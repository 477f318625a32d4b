/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * translate_setup.h - the configuration of dnsblv6-translate: translate.conf, read and checked.
 *
 * Flow: program.h -> translate_setup_parse() -> lib/common/conf.c, and handle.h for each item of
 *       "library" -> answer.c has the zones, translate_service.c addresses and a handle to start.
 *
 *     translate:
 *         listen: 127.0.0.1@5300
 *     zone:
 *       - domain: bl.local
 *         lists: [ bl6.example:127.0.0.2, other.example:127.0.0.4 ]
 *     library:
 *         servers: 127.0.0.1@53
 *
 * A list is what libdnsblv6 knows as an entry of "zones", with the code that stands for
 * it behind a colon. Zones that have a list in common share its entry, and so its cache.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "integration/common/handle.h"
#include "integration/common/owner.h"
#include "integration/common/program.h"
#include "lib/dns/listener.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SETUP_ZONES_MAX	   64
#define SETUP_ENTRIES_MAX  64 /* as many as a handle has */
#define SETUP_LISTINGS_MAX 64 /* of one zone */
#define SETUP_ENTRY_MAX	   255
#define SETUP_NAME_MAX	   255 /* RFC 1035: octets of a name on the wire */
#define SETUP_TEXT_MAX	   200 /* with an address for each dollar sign it is cut at 255 */
#define SETUP_WORKERS_MAX  64

struct setup_name {
	uint8_t wire[SETUP_NAME_MAX]; /* lower case, with the root label */
	size_t size;
	unsigned label_count; /* the root label included */
};

/* An address in that list has that A record. */
struct setup_listing {
	unsigned entry;
	uint8_t code[4];
};

struct setup_zone {
	struct setup_name name;
	struct setup_listing listings[SETUP_LISTINGS_MAX];
	unsigned listing_count;
	uint64_t entries;	       /* of all listings, as a set */
	bool has_nxdomain;	       /* is said when a list has failed, in place of SERVFAIL */
	char text[SETUP_TEXT_MAX + 1]; /* of TXT records, $ being the address; "": the library's */
};

struct translate_setup {
	struct listener_addresses listen;
	struct owner owner; /* of the process; it has no socket in the file system */
	unsigned workers;
	unsigned tcp_clients_max;
	unsigned tcp_idle_timeout_s;
	unsigned timeout_ms; /* for DNS, of one question */
	uint32_t ttl_max_s;
	struct setup_name name_server;
	char metrics[PROGRAM_PATH_MAX + 1]; /* "": none */
	int log_level;
	struct setup_zone zones[SETUP_ZONES_MAX];
	unsigned zone_count;
	char entries[SETUP_ENTRIES_MAX][SETUP_ENTRY_MAX + 1]; /* in the order of the handle's */
	unsigned entry_count;
	struct handle handle;
};

extern const struct conf_table translate_setup_table;

/*
 * For program.h: 0, or a negative errno with *reterr_error; translate_setup_deinit() ends it in either
 * case. The setup is a struct translate_setup.
 */
int translate_setup_parse(const char *text, size_t text_size, void *ret_setup,
			  struct conf_error *reterr_error);
void translate_setup_deinit(void *setup);

#ifdef __cplusplus
}
#endif
