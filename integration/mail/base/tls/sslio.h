/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * sslio.h - a handshake and bytes over OpenSSL's SSL, with the statuses of tls.h.
 *
 * Flow: nodetls.c (nodes of mail-stored) and links_tls.c (bench/users-load) make an SSL of a socket that does not
 *       block -> these. tls.c has its own, whose keys are in another process.
 *
 * The SSL is the caller's, and used by one thread. Nothing here logs.
 */

#include "integration/mail/base/tls/tls.h"

struct ssl_st; /* OpenSSL's SSL */

/* 0 when it is done; TLS_WANT_..., TLS_CLOSED, or a failure: TLS_EPEER, TLS_ECUT, -errno. */
int sslio_handshake(struct ssl_st *ssl);
/* How many bytes, at least one; or as above. size is not 0. */
ssize_t sslio_read(struct ssl_st *ssl, void *ret_bytes, size_t size);
ssize_t sslio_write(struct ssl_st *ssl, const void *bytes, size_t size);
