/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * syscalls.h - which system calls parent and workers may still make.
 *
 * Flow: confine.c -> syscalls_make(), the lists in syscalls.c -> lib/process/callfilter.h, which
 *       says what becomes of calls, and of those that no daemon makes.
 *
 * A worker has a list of what it may do; the parent of what it may not.
 */

#include "lib/process/callfilter.h"

enum syscalls_role { SYSCALLS_PARENT, SYSCALLS_WORKER };

/*
 * A worker's goes on top of the parent's, not the other way round. As callfilter_make() does.
 */
int syscalls_make(enum syscalls_role role, struct callfilter *ret_filter);
