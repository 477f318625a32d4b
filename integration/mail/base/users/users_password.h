/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_password.h - is a password that of a user?
 *
 * Flow: a process that checks logins has a secret of users_find_secret() and a password ->
 *       users_password_is() -> crypt(3), or keys of SCRAM.
 *
 * A hash takes tens of milliseconds by design. A user that there is not, or that has no secret, costs a
 * hash of the kind that smtp-front-users makes, so that its name is not told by the time; users with hashes
 * of other kinds can be.
 *
 * A handle with memory of its own, which has been wiped when it is freed. One thread's. Nothing is logged.
 */

#include "integration/mail/base/users/users_secret.h"

#include <stdbool.h>

struct users_password; /* opaque */

/* 0, -ENOMEM, or -EIO: crypt(3) makes no hash. */
int users_password_new(struct users_password **ret_password);
/* Takes NULL. */
void users_password_free(struct users_password *password);
/* secret may be NULL, or without any: no password fits. text ends with a NUL. */
bool users_password_is(struct users_password *password, const struct users_secret *secret,
		       const char *text);
