/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailsetup.h - values that the configurations of all mail servers have: names, places,
 *               certificates.
 *
 * Flow: a program's table of settings -> conf.c -> here, for one value -> mailsetup_read_chains()
 *       when all are read.
 *
 * The functions mailsetup_take_...() are for .take of a row: NULL, or why the value is refused.
 */

#include <limits.h>
#include <stdbool.h>

#include "integration/mail/base/loop/limits.h"
#include "integration/mail/base/nanny/listeners.h"
#include "integration/mail/base/tls/keys.h"
#include "lib/common/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MAILSETUP_HOSTNAME_MAX 253 /* RFC 1035, as text */

/* Of rows. */
#define MINUTE_MS 60000
#define HOUR_MS	  (60 * MINUTE_MS)
#define DAY_MS	  (24 * HOUR_MS)

/* member has MAILSETUP_HOSTNAME_MAX + 1 bytes. As in a banner: a domain name. */
const char *mailsetup_take_hostname(void *member, const struct conf_value *value);

/* Behind the *count places that there are, LISTENERS_PLACES_MAX at most, each once. */
const char *mailsetup_add_place(struct place *places, unsigned *count,
				const struct conf_value *value);

/* Section "tls". */
struct mailsetup_tls {
	struct keys_paths certificates[KEYS_PAIRS_MAX]; /* the first without SNI */
	unsigned certificate_count;			/* 0: TLS is not offered */
	/* As they were when the configuration was read, with no private key; NULL without any. */
	struct keys_chains *chains;
	bool is_required;
};

/* member is a struct mailsetup_tls. CHAIN:KEY, or one file that has both. */
const char *mailsetup_take_certificate(void *member, const struct conf_value *value);
/* Reads the certificates' files. 0, or *reterr_error says why not. */
int mailsetup_read_chains(struct mailsetup_tls *tls, struct conf_error *reterr_error);
/* Takes one that was not read. */
void mailsetup_free_chains(struct mailsetup_tls *tls);

/*
 * held_max is a fifth of the workers where it is MAILSETUP_FIFTH: not given. Where connections are
 * not counted it is none then: all clients may have one address, that of a balancer.
 */
#define MAILSETUP_FIFTH UINT_MAX
void mailsetup_complete_network(struct limits_rules *network, unsigned workers);
/* Rows of section "limits": what a network is, and what it may have; member is a struct limits_rules. */
#define MAILSETUP_NETWORK_ROWS(type, member)                                                       \
	CONF_RANGE(CONF_NUMBER, type, "prefix-ipv4", member.prefix_ipv4, 8, 32, "24"),             \
		CONF_RANGE(CONF_NUMBER, type, "prefix-ipv6", member.prefix_ipv6, 16, 128, "56"),   \
		CONF_RANGE(CONF_NUMBER, type, "prefix-ipv6-site", member.prefix_ipv6_site, 0, 64,  \
			   "48"),                                                                  \
		CONF_RANGE(CONF_NUMBER, type, "site-multiple", member.site_multiple, 1, 1000,      \
			   "2"),                                                                   \
		CONF_RANGE(CONF_NUMBER, type, "connections", member.connections_max, 0, 1000000,   \
			   "100"),                                                                 \
		CONF_RANGE(CONF_NUMBER, type, "rate", member.rate_max, 0, 1000000, "600")

/* Processors that this process may use, LISTENERS_EDGES_MAX at most: as many edges there are. */
unsigned mailsetup_count_cores(void);

#ifdef __cplusplus
}
#endif
