/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * tls.h - one side of TLS, the server's, on a socket that does not block.
 *
 * Flow: the edge at its start: tls_context_new() -> STARTTLS: tls_new() -> tls_handshake() ->
 *       tls_read(), tls_write() in place of recv() and send() -> tls_free(), or the hand-over:
 *       relay.h has the session from then on.
 * This file alone knows OpenSSL's sessions and contexts. The private keys are elsewhere, see
 * remotekey.h.
 *
 *     struct tls *tls = NULL;
 *     int ret = tls_new(context, fd, &tls);
 *     if (ret == 0)
 *             ret = tls_handshake(tls);
 *     if (ret == TLS_WANT_READ)
 *             return; // uv_poll_start(UV_READABLE), and tls_handshake() again
 *     if (ret != 0)
 *             log_info(id, "tls failed (%s)", tls_reason(tls, ret));
 *
 * Before tls_new(): what the client has sent behind STARTTLS in the clear must be thrown away by
 * the caller, or the session refused: an attacker in between can send it, and the client would
 * seem to have said it under TLS (CVE-2011-0411).
 *
 * The socket is level-triggered, what OpenSSL has decrypted is not: after tls_read() has filled
 * the caller's buffer, ask again, or tls_has_pending(), before you wait for the socket.
 * A tls_write() that returned TLS_WANT_... is repeated with the same bytes, or more behind them.
 *
 * What is spoken: TLS 1.2 and 1.3; ECDHE with AES-GCM or ChaCha20; no compression, no
 * renegotiation, no ALPN, no client certificates, no early data. No session is resumed: a ticket's
 * key would be a secret for all edges whose loss opens what was said before, and mail servers that
 * come again within its life gain a millisecond. The certificate is that of the name that the
 * client says (SNI), else the first; of two for the same name, RSA and ECDSA, the client's taste
 * decides. A client whose first message is said to be larger than TLS_HELLO_MAX is refused: OpenSSL
 * would set 128 KiB aside for any client that claims to have so much to say.
 *
 * A context belongs to one process, made after its fork; a change of certificates is another
 * process. A session has its context, which must live longer. Nothing here logs, blocks (but for
 * the keyholder, remotekey.h), or raises SIGPIPE.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "integration/mail/base/tls/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Not failures. */
#define TLS_WANT_READ  (-2800) /* wait until the socket can be read */
#define TLS_WANT_WRITE (-2801) /* wait until it can be written */
#define TLS_CLOSED     (-2802) /* the client has said that there is nothing more */
/* Failures; or -errno, as -ECONNRESET, -EPIPE, -ENOMEM. */
#define TLS_ECUT   (-2803) /* the connection ended without that word */
#define TLS_EPEER  (-2804) /* the client does not speak TLS, or not ours; tls_reason() */
#define TLS_EKEY   (-2805) /* the keyholder has not signed; tls_reason() */
#define TLS_ECRYPT (-2806) /* OpenSSL failed */

#define TLS_HELLO_MAX 8192 /* with two post-quantum keys a hello has 3000 */

struct tls_context;
struct tls;

/*
 * chains is read, and not kept. keyholder_fd is borrowed until tls_context_free(); negative: no
 * handshake will succeed. 0, -errno or -EBADMSG and *reterr_error.
 */
int tls_context_new(const struct keys_chains *chains, int keyholder_fd,
		    struct tls_context **ret_context, struct keys_error *reterr_error);
/* After all of its sessions. NULL is taken. */
void tls_context_free(struct tls_context *context);

/* fd is borrowed until tls_free(). 0 or -ENOMEM. */
int tls_new(struct tls_context *context, int fd, struct tls **ret_tls);
/* Says nothing to the client any more. NULL is taken. */
void tls_free(struct tls *tls);

/* 0 when it is done, TLS_WANT_..., or a failure: then nothing but tls_free() is of use. */
int tls_handshake(struct tls *tls);

/* How many bytes, at least one; or TLS_WANT_..., TLS_CLOSED, or a failure. */
ssize_t tls_read(struct tls *tls, void *ret_bytes, size_t size);
/* How many bytes, at least one, were taken. size is not 0. */
ssize_t tls_write(struct tls *tls, const void *bytes, size_t size);
/*
 * Says that there is nothing more (close_notify), once; does not wait for the client's word. Amid a
 * handshake it is nothing.
 */
int tls_close(struct tls *tls);

/* Does tls_read() have something without the socket? */
bool tls_has_pending(const struct tls *tls);

struct tls_facts {
	char protocol[16]; /* "TLSv1.3" */
	char cipher[64];   /* "TLS_AES_256_GCM_SHA384" */
	char sni[256];	   /* the name that the client asked for, in letters of a name; "": none */
};
/* After tls_handshake() is done. */
void tls_facts(const struct tls *tls, struct tls_facts *ret_facts);

/* Why the session failed with status. Never NULL; valid until tls_free(). */
const char *tls_reason(const struct tls *tls, int status);

/* How many signatures this process has asked the keyholder for in vain. */
uint64_t tls_count_failed(const struct tls_context *context);

#ifdef __cplusplus
}
#endif
