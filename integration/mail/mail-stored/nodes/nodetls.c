/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/nodetls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "integration/mail/base/tls/sslio.h"
#include "lib/common/log.h"

struct nodetls {
	SSL_CTX *ssl_context;
};

struct nodetls_link {
	SSL *ssl;
};

/* ---- pins ---- */

/* 0 or TLS_EPEER. */
static int print_pin(const X509 *certificate, char *ret_pin)
{
	static const char head[] = "sha256//";
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned hash_size = 0;
	uint8_t *bytes = NULL;
	int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
	int is_hashed =
		size > 0 && EVP_Digest(bytes, (size_t)size, hash, &hash_size, EVP_sha256(), NULL);
	OPENSSL_free(bytes);
	if (is_hashed != 1)
		return TLS_EPEER;
	memcpy(ret_pin, head, sizeof(head));
	EVP_EncodeBlock((uint8_t *)ret_pin + strlen(head), hash, (int)hash_size);
	return 0;
}

int nodetls_pin(const struct nodetls_link *link, char *ret_pin)
{
	const X509 *certificate = SSL_get0_peer_certificate(link->ssl);
	return certificate != NULL ? print_pin(certificate, ret_pin) : TLS_EPEER;
}

/* Of the chain nothing is asked: the pin is compared when the handshake is done. */
static int accept_any(X509_STORE_CTX *store, void *argument)
{
	(void)store;
	(void)argument;
	return 1;
}

/* ---- contexts ---- */

static SSL_CTX *make_context(void)
{
	SSL_CTX *made = SSL_CTX_new(TLS_method());
	if (made == NULL)
		return NULL;
	SSL_CTX_set_options(made, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
					  SSL_OP_NO_TICKET | SSL_OP_CLEANSE_PLAINTEXT);
	SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				       SSL_MODE_NO_AUTO_CHAIN);
	SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_cert_verify_callback(made, accept_any, NULL);
	if (SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_num_tickets(made, 0) == 1)
		return made;
	SSL_CTX_free(made);
	return NULL;
}

static const char *load(SSL_CTX *context, const char *certificate, const char *key, const char *pin)
{
	char own[NODESETUP_PIN_SIZE];
	if (SSL_CTX_use_certificate_file(context, certificate, SSL_FILETYPE_PEM) != 1)
		return "the certificate cannot be read";
	if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		return "the key cannot be read, or is not that of the certificate";
	if (print_pin(SSL_CTX_get0_certificate(context), own) != 0)
		return "the certificate has no key";
	return strcmp(own, pin) == 0 ? NULL : "\"key\" of this peer is not that of the certificate";
}

int nodetls_new(const struct nodesetup *setup, struct nodetls **ret_context)
{
	const char *reason = strerror(ENOMEM);
	struct nodetls *context = calloc(1, sizeof(*context));
	if (context != NULL)
		context->ssl_context = make_context();
	if (context != NULL && context->ssl_context != NULL)
		reason = load(context->ssl_context, setup->certificate, setup->key,
			      setup->peers[setup->self].pin);
	ERR_clear_error();
	if (reason != NULL) {
		log_error("mail-stored", "certificate of this node not taken, path=%s (%s)",
			  setup->certificate, reason);
		nodetls_free(context);
		return EX_NOINPUT;
	}
	*ret_context = context;
	return EX_OK;
}

void nodetls_free(struct nodetls *context)
{
	if (context == NULL)
		return;
	SSL_CTX_free(context->ssl_context);
	free(context);
}

/* ---- links ---- */

/* SIGPIPE is ignored by the whole program, so that OpenSSL's own way to write is good enough. */
int nodetls_link_new(struct nodetls *context, int fd, bool is_server,
		     struct nodetls_link **ret_link)
{
	struct nodetls_link *link = calloc(1, sizeof(*link));
	if (link != NULL)
		link->ssl = SSL_new(context->ssl_context);
	if (link == NULL || link->ssl == NULL || SSL_set_fd(link->ssl, fd) != 1) {
		nodetls_link_free(link);
		ERR_clear_error();
		return -ENOMEM;
	}
	if (is_server)
		SSL_set_accept_state(link->ssl);
	else
		SSL_set_connect_state(link->ssl);
	*ret_link = link;
	return 0;
}

void nodetls_link_free(struct nodetls_link *link)
{
	if (link == NULL)
		return;
	SSL_free(link->ssl);
	free(link);
}

int nodetls_handshake(struct nodetls_link *link)
{
	return sslio_handshake(link->ssl);
}

ssize_t nodetls_read(struct nodetls_link *link, void *ret_bytes, size_t size)
{
	return sslio_read(link->ssl, ret_bytes, size);
}

ssize_t nodetls_write(struct nodetls_link *link, const void *bytes, size_t size)
{
	return sslio_write(link->ssl, bytes, size);
}

bool nodetls_has_pending(const struct nodetls_link *link)
{
	return SSL_pending(link->ssl) > 0;
}
