/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * guard.h - stands between OpenSMTPD and the process that judges, so that OpenSMTPD always has
 *           an answer.
 *
 * Flow: OpenSMTPD -> standard input -> guard.c -> a socket -> main.c, in a child, and the
 *       same way back.
 *
 * OpenSMTPD ends when one of its filters does, and a session waits for an answer as long as it
 * lives. So the one that it knows is a small process that asks no resolver. It passes lines on and
 * remembers which requests have no answer yet. When the child has gone, or has not answered
 * long after its deadline and is sent away, they all pass, and another child begins: it is
 * told what OpenSMTPD said at the beginning. Clients that had connected before are unknown to it
 * and pass.
 *
 *     at first          a child that ends is the end: OpenSMTPD does not start, and says why
 *     after its answer  a child that ends is followed by another, at once, or a second later
 *     to config|ready   when the last has ended at once too
 */

/*
 * Runs until OpenSMTPD ends; returns an exit status. work is called in each child, with
 * standard input and output, and returns that of the child. deadline_ms is how long work may
 * take to answer.
 */
int guard_run(int (*work)(void *context), void *work_context, int deadline_ms);
