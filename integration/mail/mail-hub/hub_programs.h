/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * hub_programs.h - the programs that mail-hub runs, and the configuration of each.
 *
 * Flow: hub_setup.h -> a text that the program reads as its file -> hub_files.c, main.c (--show).
 * This file alone knows items of other programs' configurations.
 *
 * Nothing is logged here. A text is made again from the same setup byte by byte, so that two tell
 * whether a program has anything to read again.
 */

#include "integration/mail/mail-hub/hub_setup.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The store is there before the others, and after them. */
enum { HUB_STORE, HUB_SMTP, HUB_POP, HUB_PROGRAMS };

struct hub_program {
	const char *name;
	bool (*is_wanted)(const struct hub_setup *setup);
	void (*print)(const struct hub_setup *setup, FILE *out);
	bool does_reload; /* SIGHUP has it read its files again, also those of certificates */
};

extern const struct hub_program hub_programs[HUB_PROGRAMS];

/* Its number, or HUB_PROGRAMS. */
unsigned hub_programs_find(const char *name);
/* What print() prints; the caller's, to be freed. NULL without memory. */
char *hub_programs_text(unsigned program, const struct hub_setup *setup);

#ifdef __cplusplus
}
#endif
