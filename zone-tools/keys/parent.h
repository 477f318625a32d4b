/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * parent.h - which DS records servers of the zone above have for a zone.
 *
 * Flow: a command whose zone waits for its parent -> parent_ask() each server that was named ->
 *       parent_judge() -> the step "ds-seen" of rollover.h, or one line that says why not.
 *
 * By UDP, and by TCP when the answer does not fit. An answer counts that an authority has given
 * (AA), or a resolver that has validated it (AD): a resolver asked at its own address on a trusted
 * way will do, too. Nothing here logs.
 */

#include "zone-tools/keys/rollover.h"

#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PARENT_ESILENT	(-2320) /* no answer in time */
#define PARENT_EREFUSED (-2321) /* an answer with an error */
#define PARENT_EDOUBTED (-2322) /* neither of an authority nor validated */
#define PARENT_ECUT	(-2323) /* does not fit into UDP */
#define PARENT_EFOREIGN (-2324) /* no answer to the question */

/* Text for these and for -errno values. Never NULL. */
const char *parent_strerror(int status);

#define PARENT_DS_MAX	16
#define PARENT_PORT	53
#define PARENT_WIRE_MAX 65535

struct parent_ds {
	uint8_t rdata[KEY_DS_MAX]; /* cut to that, for digests that this program does not know */
	uint16_t size;
};

struct parent_answer {
	struct parent_ds ds[PARENT_DS_MAX];
	size_t ds_count;
	uint32_t ttl; /* of the DS, by their RRSIG if there is one; 0 without any */
};

/*
 * Asks one server, by UDP and, when that answer is truncated, by TCP: for a quarter of a minute at
 * most. zone is in lower case. DNSBLV6_OK, a status above or -errno.
 */
int parent_ask(const struct sockaddr_storage *address, const struct dnsblv6_labels *zone,
	       struct parent_answer *ret_answer);

/* The question, in 512 bytes; returns its size, or 0 without memory. */
size_t parent_make_question(const struct dnsblv6_labels *zone, uint16_t id, uint8_t *ret_wire);
/* What arrived. DNSBLV6_OK also without any DS. */
int parent_read_answer(uint8_t *wire, size_t size, const struct dnsblv6_labels *zone, uint16_t id,
		       struct parent_answer *ret_answer);

enum parent_verdict {
	PARENT_HAS_NEW, /* and not the old one */
	PARENT_HAS_OLD, /* alone */
	PARENT_HAS_BOTH,
	PARENT_HAS_NONE,
	PARENT_HAS_OTHER, /* of keys that are none of these */
};

/* old is NULL for the first key of a zone. */
enum parent_verdict parent_judge(const struct parent_answer *answer,
				 const struct dnsblv6_labels *zone,
				 const struct rollover_key *new_key,
				 const struct rollover_key *old);

#ifdef __cplusplus
}
#endif
