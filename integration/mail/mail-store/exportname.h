/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * exportname.h - names of mails in an export: "SECONDS.MMICROSECONDS.ID", which keep time and id.
 *
 * Flow: export.c -> a maildir -> import.c. A reader may have put ":" and flags behind a name.
 */

#include "lib/mailstore/mailid.h"

#include <stdbool.h>
#include <stdint.h>

/* ret_name has MAILDIR_NAME_SIZE bytes. In order names are as the mails were delivered: up to the year 2286. */
void exportname_make(uint64_t time_us, const struct mailid *id, char *ret_name);
/* As memcmp(), without flags. */
int exportname_compare(const char *one, const char *other);
/* False: it is another's name. */
bool exportname_parse(const char *name, uint64_t *ret_time_us, struct mailid *ret_id);
