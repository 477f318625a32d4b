/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rbldnsd.h - lists in the formats of rbldnsd(8).
 *
 * Flow: sources.c has lines of the files of one "TYPE:FILE,FILE" -> a reader
 *       makes datasets of them.
 * rbldnsd.c knows entries and sub-zones, rbldnsd_special.c the lines that
 * begin with a dollar sign, rbldnsd_name.c lists of names and records,
 * rbldnsd_acl.c lists of clients, rbldnsd_address.c and rbldnsd_value.c what an
 * entry is made of. docs/rbldnsd.md says where rbldnsd and its manual differ,
 * and where we differ from both.
 *
 *     struct rbldnsd *reader = NULL;
 *     int ret = rbldnsd_new(reading, RBLDNSD_IP4SET, &reader);
 *     for each file: rbldnsd_begin_file(reader);
 *             for each line: ret = rbldnsd_read_line(reader, line);
 *     ret = rbldnsd_end(reader);
 *     rbldnsd_free(reader);
 *
 * What is wrong with a line goes to the findings of reading; functions fail
 * with -ENOMEM alone.
 */

#include "zone-tools/lists/rbldnsd_address.h"
#include "zone-tools/lists/reading.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DNSBLV6_ENOTFOUND for any other name. */
int rbldnsd_type_find(const char *name, size_t name_size, enum rbldnsd_type *ret_type);
struct rbldnsd;

/* reading is borrowed until rbldnsd_free(). */
int rbldnsd_new(struct reading *reading, enum rbldnsd_type type, struct rbldnsd **ret_reader);
void rbldnsd_free(struct rbldnsd *reader);

/* Default values do not last from one file to the next. */
int rbldnsd_begin_file(struct rbldnsd *reader);
/* line ends in NUL and has no blanks at its end. */
int rbldnsd_read_line(struct rbldnsd *reader, const char *line);
/* Gives the entries their final values: nothing is in the listing for good before this. */
int rbldnsd_end(struct rbldnsd *reader);

#ifdef __cplusplus
}
#endif
