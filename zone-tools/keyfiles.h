/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keyfiles.h - the keys that --key and --publish name, for build and sign.
 *
 * Flow: build.c and sign.c collect the paths, keyfiles_read() reads them, and
 *       builder.h or resign.h borrows the keys until keyfiles_deinit().
 */

#include "zone-tools/signer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct keyfiles {
	const char *paths[SIGNER_KEYS_MAX]; /* borrowed; [0] is --key, NULL when not given */
	const struct key *keys[SIGNER_KEYS_MAX];
	size_t count; /* of keys, once keyfiles_read() has returned; 0 without --key */
};

void keyfiles_init(struct keyfiles *files);
void keyfiles_set_active(struct keyfiles *files, const char *path);
bool keyfiles_has_active(const struct keyfiles *files);
/* False when there are too many. */
bool keyfiles_add(struct keyfiles *files, const char *path);

/*
 * Reads them all. Logs what is wrong and returns an exit status, EX_OK when
 * nothing is. All keys of a zone have one algorithm, because a signature of
 * each would be needed otherwise (RFC 4035 section 2.2), and different tags.
 */
int keyfiles_read(struct keyfiles *files);
void keyfiles_deinit(struct keyfiles *files);

#ifdef __cplusplus
}
#endif
