/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * cookie.h - DNS cookies (RFC 7873) that any server with the same secret takes
 * (RFC 9018).
 *
 * Flow: settings.c reads secrets, or parent.c fills them with random ones ->
 *       options.c looks at the COOKIE option of a query and makes that of the
 *       response.
 * libknot has these functions too: tests/fuzz/server/cookie.c holds ours against its. But
 * to libknot a cookie of a time near 2^32 is never good, in the year 2106.
 *
 *     OFFSET  SIZE  DESCRIPTION of the option's data
 *        0      8   the client's cookie; alone, when it has none of ours
 *        8      1   version, 1
 *        9      3   zero
 *       12      4   when it was made, in seconds
 *       16      8   SipHash-2-4 of all of that and the client's address
 *
 * No function here allocates, logs or keeps a pointer; time comes in.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COOKIE_SECRET_SIZE 16
#define COOKIE_SECRETS_MAX 4
#define COOKIE_SIZE	   24 /* of an option that we make */
#define COOKIE_CLIENT_SIZE 8  /* of one without a server cookie */
#define COOKIE_OPTION_MIN  16 /* of one with a server cookie of any server */
#define COOKIE_OPTION_MAX  40
#define COOKIE_AGE_MAX_S   3600	 /* RFC 9018 section 4.3 */
#define COOKIE_AHEAD_MAX_S 300	 /* the same */
#define COOKIE_ROLL_S	   86400 /* a random secret is so old when it is replaced */

struct cookie_secrets {
	size_t count;					       /* 0: none yet */
	uint8_t bytes[COOKIE_SECRETS_MAX][COOKIE_SECRET_SIZE]; /* the first makes, all are good */
};

/* Secrets that are not from the configuration. */
struct cookie_random {
	struct cookie_secrets secrets;
	uint64_t made_s;
};

enum cookie_verdict {
	COOKIE_NONE,	  /* there is no COOKIE option */
	COOKIE_MALFORMED, /* RFC 7873 section 5.2.2: FORMERR */
	COOKIE_CLIENT,	  /* the client's alone */
	COOKIE_BAD,	  /* with a server cookie that is not ours, or too old */
	COOKIE_GOOD,
};

/*
 * Writes random secrets: those of before, or when they are a day old a new one,
 * and the one before stays good. 0 or -errno.
 */
int cookie_fill(struct cookie_random *cookie, uint64_t now_s, struct cookie_secrets *ret_secrets);

/*
 * "e5e973e5a6b2a43f48e7dc849e37bfcf" becomes one more secret. False when it is none, or too many.
 */
bool cookie_add_secret(struct cookie_secrets *secrets, const char *text);

/* What the size bytes of a COOKIE option of client are. */
enum cookie_verdict cookie_check(const struct cookie_secrets *secrets,
				 const struct sockaddr *client, uint64_t now_s, const uint8_t *data,
				 size_t size);

/*
 * The option for the response: client_cookie, 8 bytes, and a fresh one of ours. False: no secret.
 */
bool cookie_make(const struct cookie_secrets *secrets, const struct sockaddr *client,
		 uint64_t now_s, const uint8_t *client_cookie, uint8_t *ret_data);

#ifdef __cplusplus
}
#endif
