/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * popworker.h - a process that has one session at a time, whose login was right.
 *
 * Flow: nanny.c forks -> popworker_run(): intake.h -> popcapsule.h -> popvisit.h, again and again.
 */

#include "integration/mail/base/handover/nanny_child.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In a process of its own, with the key of ticket.h that checkers have, too. Returns an exit status. */
int popworker_run(const struct nanny_child *child, const uint8_t *ticket_key);

#ifdef __cplusplus
}
#endif
