/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * generation.h - the processes that one reading of the configuration made.
 *
 * Flow: nanny.c: generation_new() -> generation_begin(): fork() for each slot of crew.h, and a
 *       byte from each that it is confined -> generation_release(): a byte to each that it may
 *       begin -> generation_reap(), generation_start() while it lives -> child_tell(), role by
 *       role -> generation_end().
 *
 * Before that word an edge accepts no client and a worker takes nothing from the queue: when one of
 * them cannot begin, the others have no session that would end with them. A process that takes the
 * place of one that has died or retired later waits for no word. When the nanny dies before it has
 * said it, those that wait end.
 *
 * What is logged here is which process died, and why none could be made.
 */

#include "integration/mail/base/nanny/nanny_parts.h"

/* setup is the generation's from now on, in either case. NULL: no memory, or no descriptors. */
struct generation *generation_new(const struct nanny_program *program, void *setup);
/*
 * Makes all processes and waits until each has what it needs. An exit status; when it is not
 * EX_OK, one has died, with that one, or takes for ever, and they are all gone again, the
 * generation too.
 */
int generation_begin(struct nanny *nanny, struct generation *generation);
/* SIGTERM or SIGINT that the nanny has not taken yet, or 0: processes are not waited for then. */
int generation_stop_signal(void);
/* The word to each: clients and sessions are theirs from now on. 0 or -errno. */
int generation_release(struct generation *generation);
/* In place of that: they are all gone again, the generation too. */
void generation_abandon(struct nanny *nanny, struct generation *generation);
/* All processes have ended. */
void generation_end(struct nanny *nanny, struct generation *generation);

void generation_start(struct nanny *nanny, struct generation *generation, struct crew_slot *slot);
/* Buries each process that has died, of any generation. */
void generation_reap(struct nanny *nanny);
