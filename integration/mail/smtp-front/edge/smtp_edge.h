/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * smtp_edge.h - the process that has all sessions that have not yet named a valid recipient.
 *
 * Flow: front.c -> smtp_edge_run() -> edge_run() of base, which accepts, waits and judges -> the
 *       dialogue up to the first valid recipient -> the queue of the workers; or the end, without a
 *       worker.
 *
 *     FILE         WHAT IT KNOWS
 *     smtp_edge    what the configuration means to base, and what base has to say by SMTP
 *     talk         commands and replies; which recipients are valid
 *     pack         the capsule of a session
 *     refusals     the lines of the log about refused commands
 *     smtp_parts.h what they share
 */

#include "integration/mail/base/handover/nanny_child.h"
#include "integration/mail/smtp-front/recipients/hopstate.h"

/*
 * In a process of its own, after fork(), when the setup's library is started. hop is of all processes,
 * and may be NULL. Returns an exit status.
 */
int smtp_edge_run(const struct nanny_child *child, struct hopstate *hop);
