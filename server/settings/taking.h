/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * taking.h - what the rows of dnsblv6d.conf do beyond a value and its range.
 *
 * Flow: settings.c has the table of items; lib/common/conf.h reads the file and calls these for
 *       the rows that name them -> members of struct settings -> taking_finish() looks at what
 *       belongs together. For settings.c alone.
 *
 * A function that takes a value returns NULL, or why it is refused: static text. Its context is
 * the struct settings, its member what is said beside it.
 */

#include "lib/common/conf.h"
#include "server/settings/settings.h"

/* ---- section "server" ---- */

const char *taking_listen(void *member, const struct conf_value *value);  /* listener_addresses */
const char *taking_owner(void *member, const struct conf_value *value);	  /* settings_owner */
const char *taking_workers(void *member, const struct conf_value *value); /* unsigned */
const char *taking_chroot(void *member, const struct conf_value *value);  /* char [] */
const char *taking_cookie(void *member, const struct conf_value *value);  /* cookie_secrets */
const char *taking_prefix(void *member, const struct conf_value *value);  /* settings_prefixes */
/* Of SETTINGS_IDENTITY_MAX + 1 bytes; "auto" is the name of the machine, or of the program. */
const char *taking_identity(void *member, const struct conf_value *value);
const char *taking_version(void *member, const struct conf_value *value);
/* char [] for an absolute path; another begins at the directory of the file. */
const char *taking_path(void *member, const struct conf_value *value);

/* ---- section "dnstap": settings_dnstap ---- */

const char *taking_log(void *member, const struct conf_value *value);
const char *taking_messages(void *member, const struct conf_value *value);
const char *taking_log_zone(void *member, const struct conf_value *value);

/* ---- section "xdp" ---- */

const char *taking_interface(void *member,
			     const struct conf_value *value); /* settings_interfaces */

/* ---- sections with entries ---- */

/* These begin one. */
const char *taking_key(void *settings, const struct conf_value *value);
const char *taking_secondary(void *settings, const struct conf_value *value);
const char *taking_rule(void *settings, const struct conf_value *value);
const char *taking_zone(void *settings, const struct conf_value *value);

const char *taking_text(void *member, const struct conf_value *value);	  /* char *, a copy */
const char *taking_name(void *member, const struct conf_value *value);	  /* settings_name */
const char *taking_address(void *member, const struct conf_value *value); /* settings_secondary */
const char *taking_store(void *member, const struct conf_value *value);	  /* char * */
/* settings_zone: another name of it. */
const char *taking_classic(void *member, const struct conf_value *value);
const char *taking_also(void *member, const struct conf_value *value);
const char *taking_link(void *member, const struct conf_value *value); /* settings_links */

/* When all has been read. 0, or -EINVAL or -errno with *error filled. */
int taking_finish(struct settings *settings, struct conf_error *error);

/* ---- what they have in common ---- */

extern const char taking_no_memory[];
/*
 * One more, all zero, behind *count entries of size bytes each in the array that the pointer at
 * *array has; NULL when memory ran out.
 */
void *taking_add(void *array, size_t *count, size_t size);
