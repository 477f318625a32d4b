/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * poplimits.h - what a session may do and is offered, in the words of pop3_dialogue.h.
 *
 * Flow: pop.conf (popsetup.h) -> here -> edges and workers, for each command of a session: the same
 *       before the login and behind it.
 *
 * A plain value; texts are the setup's.
 */

#include "integration/mail/pop-front/setup/popsetup.h"
#include "lib/pop3/pop3_dialogue.h"

#ifdef __cplusplus
extern "C" {
#endif

void poplimits_make(const struct popsetup *setup, struct pop3_limits *ret_limits);

/* The longest that a worker which lives moves no byte of a session, also while it waits for the store. */
unsigned poplimits_silence_ms(const struct popsetup *setup);

#ifdef __cplusplus
}
#endif
