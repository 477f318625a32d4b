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

/* Processors that this process may use, LISTENERS_EDGES_MAX at most: as many edges there are. */
unsigned mailsetup_count_cores(void);

#ifdef __cplusplus
}
#endif
