/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * links_tls.h - a client's side of TLS, for a load.
 *
 * Flow: link.c has a connected socket -> links_tls_new() -> links_tls_handshake() -> links_tls_read(),
 *       links_tls_write() in place of recv() and send().
 * In the load this file alone knows OpenSSL.
 *
 * No certificate is asked for its name or issuer: a server under test has one of its own. No session is
 * resumed, so that each connection costs a server a whole handshake.
 *
 * Statuses are those of base/tls/tls.h. Sockets do not block; after a write that wants to wait the
 * same bytes come again, from wherever they are. Nothing here logs.
 */

#include "integration/mail/base/tls/tls.h"

#ifdef __cplusplus
extern "C" {
#endif

struct links_tls_context;
struct links_tls;

/* 0 or -ENOMEM. */
int links_tls_context_new(struct links_tls_context **ret_context);
/* After its connections. Takes NULL. */
void links_tls_context_free(struct links_tls_context *context);

/* fd is borrowed. 0 or -ENOMEM. */
int links_tls_new(struct links_tls_context *context, int fd, struct links_tls **ret_tls);
/* Says nothing to the server. Takes NULL. */
void links_tls_free(struct links_tls *tls);

/* 0 when it is done, TLS_WANT_..., or a failure. */
int links_tls_handshake(struct links_tls *tls);
/* How many bytes, at least one; TLS_WANT_..., TLS_CLOSED, or a failure. */
ssize_t links_tls_read(struct links_tls *tls, void *ret_bytes, size_t size);
ssize_t links_tls_write(struct links_tls *tls, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
