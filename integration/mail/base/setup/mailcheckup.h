/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailcheckup.h - a look at what a configuration names, before any process begins with it.
 *
 * Flow: main.c for --check, a program's prepare() for the nanny -> here.
 *
 * Each returns EX_OK, or EX_CONFIG with a line of the log, under context, that names what and where.
 * "" and NULL are what the configuration does not have: EX_OK.
 */

#include "integration/mail/base/tls/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads all of a users database, in a child process. */
int mailcheckup_users(const char *context, const char *path);
/* Is it a directory? */
int mailcheckup_chroot(const char *context, const char *path);
/* Are the private keys those of the certificates? */
int mailcheckup_keys(const char *context, const struct keys_chains *chains);

#ifdef __cplusplus
}
#endif
