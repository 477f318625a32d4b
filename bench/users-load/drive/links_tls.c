/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/links_tls.h"

#include <errno.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "integration/mail/base/tls/sslio.h"

struct links_tls_context {
	SSL_CTX *ssl_context;
};

struct links_tls {
	SSL *ssl;
};

int links_tls_context_new(struct links_tls_context **ret_context)
{
	struct links_tls_context *context = calloc(1, sizeof(*context));
	if (context != NULL)
		context->ssl_context = SSL_CTX_new(TLS_client_method());
	if (context == NULL || context->ssl_context == NULL) {
		links_tls_context_free(context);
		return -ENOMEM;
	}
	SSL_CTX_set_options(context->ssl_context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
							  SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(context->ssl_context, SSL_MODE_RELEASE_BUFFERS |
						       SSL_MODE_ENABLE_PARTIAL_WRITE |
						       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(context->ssl_context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(context->ssl_context, SSL_VERIFY_NONE, NULL);
	*ret_context = context;
	return 0;
}

void links_tls_context_free(struct links_tls_context *context)
{
	if (context == NULL)
		return;
	SSL_CTX_free(context->ssl_context);
	free(context);
}

/* SIGPIPE is ignored by the whole program, so that OpenSSL's own way to write is good enough. */
int links_tls_new(struct links_tls_context *context, int fd, struct links_tls **ret_tls)
{
	struct links_tls *tls = calloc(1, sizeof(*tls));
	if (tls != NULL)
		tls->ssl = SSL_new(context->ssl_context);
	if (tls == NULL || tls->ssl == NULL || SSL_set_fd(tls->ssl, fd) != 1) {
		links_tls_free(tls);
		ERR_clear_error();
		return -ENOMEM;
	}
	SSL_set_connect_state(tls->ssl);
	*ret_tls = tls;
	return 0;
}

void links_tls_free(struct links_tls *tls)
{
	if (tls == NULL)
		return;
	SSL_free(tls->ssl);
	free(tls);
}

int links_tls_handshake(struct links_tls *tls)
{
	return sslio_handshake(tls->ssl);
}

ssize_t links_tls_read(struct links_tls *tls, void *ret_bytes, size_t size)
{
	return sslio_read(tls->ssl, ret_bytes, size);
}

ssize_t links_tls_write(struct links_tls *tls, const void *bytes, size_t size)
{
	return sslio_write(tls->ssl, bytes, size);
}
