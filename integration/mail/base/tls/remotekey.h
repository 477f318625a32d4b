/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * remotekey.h - a key for OpenSSL whose private half is in another process.
 *
 * Flow: tls.c makes one of each certificate -> OpenSSL signs a handshake with it -> the
 *       keyholder is asked, over a socket -> its signature.
 * This file alone knows OpenSSL's key methods, RSA_METHOD and EC_KEY_METHOD. They are of the
 * 1.1 interface, which OpenSSL 3.0 marks as old; what came after them, a provider, is ten times
 * the code for the same two functions.
 *
 * The edge waits for the answer, because OpenSSL 3.0 cannot be interrupted in such a method but by
 * a stack of its own for each handshake. With a living keyholder it is 0.3 ms for RSA of 2048 bits
 * and 0.03 ms for P-256; on a machine that is busy it may be seconds, and a handshake that fails for
 * that makes many a mail server send its mail in the clear. Without a keyholder it would be
 * REMOTEKEY_PATIENCE_MS for each handshake, during which all sessions of the edge stand still; so an
 * edge that has waited in vain waits no longer than REMOTEKEY_DOUBT_MS from then on, until something
 * is heard again, be it too late: then it waits for the answer to its own request as long as ever.
 *
 * Nothing here logs.
 */

#include <stdint.h>

#include "integration/mail/base/tls/signing.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REMOTEKEY_PATIENCE_MS 5000
#define REMOTEKEY_DOUBT_MS    50

struct evp_pkey_st;
struct x509_st;

/* An edge's side of its socket; one for all keys. Lies in the memory of its owner. */
struct remotekey_holder {
	int fd; /* borrowed; SOCK_SEQPACKET, negative: there is none */
	uint64_t number;
	int patience_ms;
	uint64_t failed;
	const char *reason; /* of the last failure, static text; NULL: none yet */
};

/* The first number is a random one: another edge may have used the socket before. */
int remotekey_holder_init(struct remotekey_holder *ret_holder, int fd);

struct remotekey;

/* holder is borrowed until remotekey_free(). 0, -ENOMEM or -EBADMSG. */
int remotekey_new(struct remotekey_holder *holder, const struct x509_st *leaf,
		  struct remotekey **ret_key);
/* After whatever was given remotekey_get(). */
void remotekey_free(struct remotekey *key);

/* For SSL_CTX_use_PrivateKey(); borrowed. */
struct evp_pkey_st *remotekey_get(const struct remotekey *key);

#ifdef __cplusplus
}
#endif
