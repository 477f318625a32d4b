/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodedeliver.h - a mail for mailboxes of several nodes: a part for each, and what became of it.
 *
 * Flow: nodework.c has DELIVER -> nodedeliver_begin() -> nodeparts.h -> nodedeliver_end(), and behind the answer
 *       nodedeliver_next() for each step.
 *
 * The text is written once for all nodes, in the memory of the client; what each node gets is a meta of
 * its own, with its own mailboxes, and that text behind it.
 *
 * A copy of a mail that its own node has not taken is deleted: its sender tries again, with another id, and
 * when that node loses its store, "mail-store copies restore" would bring back a mail for each attempt.
 */

#include "integration/mail/mail-stored/module/nodeparts.h"

/* 0: the parts are asked; or why there is none, a status of the store. */
int nodedeliver_begin(struct nodework *work);
/* The rows are the caller's, to be freed; NULL: one status for all. */
void nodedeliver_end(struct nodework *work, struct storewire_reply *reply);
/* true: ask the parts that were made. false: that was all. */
bool nodedeliver_next(struct nodework *work);
