/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * setup.h - the command line of smtp-load.
 *
 * Flow: main.c -> setup_read() -> driver_run(), or the trace printed.
 */

#include "bench/smtp-load/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

struct setup {
	struct driver_settings driver;
	struct clients clients;	 /* driver.trace has a pointer to it */
	const char *series_path; /* borrowed from argv, or NULL */
	uint64_t print_count;	 /* sessions to be printed instead of run */
};

/* Exits on wrong use, --help and --version. *ret_setup stays where it is until setup_deinit(). */
void setup_read(int argc, char **argv, struct setup *ret_setup);
void setup_deinit(struct setup *setup);

#ifdef __cplusplus
}
#endif
