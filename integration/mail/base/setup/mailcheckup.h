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

#include "integration/common/owner.h"
#include "integration/mail/base/scan/scan_settings.h"
#include "integration/mail/base/tls/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads all of a users database, in a child process: as the owner that opens it later, or with NULL as the caller. */
int mailcheckup_users(const char *context, const struct owner *owner, const char *path);
/* Are the private keys those of the certificates? */
int mailcheckup_keys(const char *context, const struct keys_chains *chains);

/* What look(what) returns, an exit status, in a child process that has become that user. */
int mailcheckup_as(const char *context, const struct owner *owner, int (*look)(const void *what),
		   const void *what);
/*
 * Warns, with path and user, of what processes with that user are to open and may not: mode is
 * access(2)'s. What is not there yet may come with its own permissions, as a socket of a server does
 * that starts later. No warning of a text that is no path.
 */
void mailcheckup_path(const char *context, const struct owner *owner, const char *path, int mode);
/* The same of the sockets of a scanner's peers, and of its signatures, which are opened again. */
void mailcheckup_scan(const char *context, const struct owner *owner,
		      const struct scan_settings *scan);

#ifdef __cplusplus
}
#endif
