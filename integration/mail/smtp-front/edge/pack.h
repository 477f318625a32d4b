/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * pack.h - the capsule of a session that goes to a worker.
 *
 * Flow: handout.c of base has a worker for it -> pack_hand_over(): what was said, and what was read
 *       and not yet looked at -> capsule.h.
 */

#include "integration/mail/base/edge/edge_parts.h"

/* As hand_over() of edge_protocol.h. */
int pack_hand_over(struct session *session, const struct handover_fds *fds);
