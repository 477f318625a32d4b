/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * milter.h - libmilter, and what it calls.
 *
 * Flow: main.c -> milter_open() while it may be root -> milterloop.h -> libmilter, in
 *       threads of its own -> session.c for each event.
 *
 * Beside milterloop.h this file alone knows libmilter. That has one filter in a process and hands nothing to the first
 * callback of a connection, so what sessions share is kept here, in a variable. It writes to
 * syslog what it has to say.
 */

#include "integration/adapters/milter/session.h"
#include "integration/adapters/milter/milter_setup.h"

/*
 * Binds the socket and gives it to its owner. sessions is borrowed until the process ends,
 * and finished. An exit status, as milterloop_open() has it.
 */
int milter_open(const struct milter_setup *setup, struct session_shared *sessions);
