/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * passed.h - clients that need not wait for the banner again, in memory that all processes share.
 *
 * Flow: a client has waited and named a valid recipient: handout.c -> passed_propose() -> a worker
 *       has its mail in the sink, or has passed it on: passed_confirm() -> it comes again:
 *       greeting.c -> passed_has(): no pause. A blacklist has it: passed_forget().
 *
 * It takes both, since a client without a mail, and one that writes to <postmaster> and goes, would
 * fill the table for nothing. An edge knows that there was a pause, a worker that there was a mail;
 * the address is in both. A client that was spared the pause is not proposed, so that it waits
 * again when its time is over. What the table says spares a client nothing but the pause.
 *
 * A table of PASSED_SETS sets of PASSED_WAYS words, chosen by a hash with a secret seed. Each word
 * has the time when it ends, and of the address 35 bits of that hash: of strangers one in four
 * thousand million is spared the pause by mistake. Words are read and written whole, and there is
 * no lock to be left behind. A proposal takes a place that is free, or that of another proposal;
 * where there is neither nothing is noted, and that client waits as it did.
 *
 * Time is a parameter, of the monotonic clock. All functions take NULL for memory that is not
 * shared: then nothing is known.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PASSED_WAYS 8
#define PASSED_SETS 8192 /* a power of two: 65,536 clients, half a megabyte */
/* A proposal is for one session, whose mail may be long. */
#define PASSED_PROPOSAL_MS 3600000

struct passed; /* opaque */

/* 0 or -errno. Of a child it is a part of its memory as long as it lives. */
int passed_open(uint64_t now_ms, struct passed **ret_passed);
/* Takes NULL. */
void passed_close(struct passed *passed);

void passed_propose(struct passed *passed, const struct dnsblv6_ip *ip, uint64_t now_ms);
/* true: the client was proposed, and is let by for keep_ms. */
bool passed_confirm(struct passed *passed, const struct dnsblv6_ip *ip, uint64_t now_ms,
		    uint64_t keep_ms);
bool passed_has(const struct passed *passed, const struct dnsblv6_ip *ip, uint64_t now_ms);
/* Its proposals, too. */
void passed_forget(struct passed *passed, const struct dnsblv6_ip *ip);

#ifdef __cplusplus
}
#endif
