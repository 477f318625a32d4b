/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodetls.h - TLS between nodes: certificates on both sides, and keys that are pinned.
 *
 * Flow: nodelink.c has a connected socket -> nodetls_handshake() -> nodetls_pin() is compared with those
 *       of nodesetup.h -> nodetls_read(), nodetls_write().
 * In mail-stored this file alone knows OpenSSL.
 *
 * It is TLS 1.3 alone, without tickets. No authority is asked: a certificate may be self-signed and out
 * of date, what counts is its public key. Until the pin has been compared nothing of the other side is
 * believed. base/tls is for servers whose clients are strangers, and keeps keys in another process.
 *
 * Statuses are those of base/tls/tls.h. Sockets do not block. A context is made before a process gives
 * its rights up, and belongs to it. Nothing here logs.
 */

#include "integration/mail/base/tls/tls.h"
#include "integration/mail/mail-stored/nodes/nodesetup.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nodetls;
struct nodetls_link;

/*
 * Reads the certificate of this node and its key, which has to be the one that is pinned. EX_OK, or EX_NOINPUT
 * with a line of the log.
 */
int nodetls_new(const struct nodesetup *setup, struct nodetls **ret_context);
/* After its links. Takes NULL. */
void nodetls_free(struct nodetls *context);

/* fd is borrowed. 0 or -ENOMEM. */
int nodetls_link_new(struct nodetls *context, int fd, bool is_server,
		     struct nodetls_link **ret_link);
/* Says nothing to the other side. Takes NULL. */
void nodetls_link_free(struct nodetls_link *link);

/* 0 when it is done, TLS_WANT_..., or a failure. */
int nodetls_handshake(struct nodetls_link *link);
/* Of the other side; ret_pin has NODESETUP_PIN_SIZE bytes. 0 or TLS_EPEER. */
int nodetls_pin(const struct nodetls_link *link, char *ret_pin);
/* How many bytes, at least one; TLS_WANT_..., TLS_CLOSED, or a failure. */
ssize_t nodetls_read(struct nodetls_link *link, void *ret_bytes, size_t size);
ssize_t nodetls_write(struct nodetls_link *link, const void *bytes, size_t size);
/* Is there something decrypted? */
bool nodetls_has_pending(const struct nodetls_link *link);

#ifdef __cplusplus
}
#endif
