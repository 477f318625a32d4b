/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keyfiles.h - what --key, --publish and --withdraw name, for build, sign and update.
 *
 * Flow: the commands collect paths and key tags, keyfiles_read() reads the files, and
 *       builder.h, resign.h or updater.h borrows the keyset until keyfiles_deinit().
 */

#include "zone-tools/keys/keyset.h"

struct keyfiles {
	const char *paths[SIGNER_KEYS_MAX]; /* borrowed; [0] is --key, NULL when not given */
	size_t count;
	struct keyset set; /* its keys once keyfiles_read() has returned; none without --key */
};

void keyfiles_init(struct keyfiles *files);
bool keyfiles_has_active(const struct keyfiles *files);
/* Is there one of the other options without --key? */
bool keyfiles_lack_active(const struct keyfiles *files);

/* For rows, whose member is a struct keyfiles. A key tag is a number. NULL, or what is wrong. */
const char *keyfiles_set_active(void *member, const char *path);
const char *keyfiles_add(void *member, const char *path);
const char *keyfiles_withdraw(void *member, const char *text);

/*
 * Reads them all. Logs what is wrong and returns an exit status, EX_OK when
 * nothing is. All keys of a zone have one algorithm, because a signature of
 * each would be needed otherwise (RFC 4035 section 2.2), and different tags.
 */
int keyfiles_read(struct keyfiles *files);

/* As commands_end() of a status that is not DNSBLV6_OK; where keys are the reason, the line names them. */
int keyfiles_end(const struct keyset *set, const char *store, const char *what, int status);

/* When the store has been written: warns of each key that was kept without its file. */
void keyfiles_report_kept(const struct keyfiles *files, const char *store);
void keyfiles_deinit(struct keyfiles *files);
