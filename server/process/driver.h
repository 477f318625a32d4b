/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * driver.h - the parent's care for the program in the network driver.
 *
 * Flow: main.c: driver_open(), while it is root -> parent.c: a filler for each generation
 *       (driver_fork_filler()), driver_hand_over() when a generation serves -> driver_close().
 *
 * The tables are in the memory of the parent and of fillers alone: other processes that the parent
 * forks do not get them. The parent writes one thing there, that no answer is given any more.
 */

#include "lib/process/crew.h"
#include "server/process/filler.h"
#include "server/xdp-kernel/keeper.h"
#include "server/xdp-kernel/load.h"

#include <stdbool.h>
#include <stdint.h>

struct driver {
	struct load load;
	struct keeper keeper;
	struct filler_shared *shared; /* NULL: there is no program, and sockets answer all */
	int lock_fd;
};

/*
 * By settings, while we are root, and before there is any other process. What fails has been logged
 * then, and sockets answer. *ret_driver is written in any case.
 */
void driver_open(const struct settings *settings, struct driver *ret_driver);
/* The last step of the parent: the program goes, or stays for as long as settings said. */
void driver_close(struct driver *driver);

static inline bool driver_is_open(const struct driver *driver)
{
	return driver->shared != NULL;
}

/* In each child but a filler, at once. */
void driver_forget(const struct driver *driver);

/* fork() for a filler, which has the tables. As child_fork(). */
pid_t driver_fork_filler(const struct driver *driver, struct crew_slot *slot);
/* In it. start has all but what the driver knows. Does not return. */
__attribute__((noreturn)) void driver_run_filler(const struct driver *driver,
						 struct filler_start *start);

/*
 * A generation serves: the rules of the one before are those of no answer from here on, and its
 * own filler begins. Behind this a question gets no answer of the driver's until that has filled.
 */
void driver_hand_over(const struct driver *driver, uint64_t generation);
