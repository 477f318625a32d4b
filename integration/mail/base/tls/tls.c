/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/tls/tls.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "integration/mail/base/tls/hello.h"
#include "integration/mail/base/tls/remotekey.h"

/* Both with authenticated encryption and a fresh key of each session; RFC 9325, 4.2. */
static const char ciphers_12[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
static const char ciphers_13[] =
	"TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
static const char groups[] = "X25519:P-256:P-384";
/* Those that the keyholder signs. */
static const char sigalgs[] =
	"ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:RSA-PSS+SHA256:RSA-PSS+SHA384:"
	"RSA-PSS+SHA512:RSA+SHA256:RSA+SHA384:RSA+SHA512";

/* Replies are short: a buffer of 16 KiB for each that is written would be for nothing. */
enum { SEND_MAX = 4096, SECURITY_LEVEL = 2 };

/* The certificates of one name: one, or one of each kind of key. */
struct site {
	SSL_CTX *ssl_context;
	X509 *leaf; /* the first */
	bool has_rsa;
	bool has_ecdsa;
};

struct tls_context {
	struct remotekey_holder holder;
	BIO_METHOD *socket;
	unsigned site_count;
	struct site sites[KEYS_PAIRS_MAX];
	unsigned key_count;
	struct remotekey *keys[KEYS_PAIRS_MAX];
};

struct tls {
	struct tls_context *context;
	SSL *ssl;
	int fd;
	int io_status;	    /* of the socket, which OpenSSL does not keep; 0: nothing has failed */
	const char *reason; /* static text; NULL: none yet */
	struct hello hello;
};

/* ---- the socket ---- */

/*
 * OpenSSL's own would raise SIGPIPE. A failure stays: OpenSSL may say something else about it.
 */

static int socket_failed(struct tls *tls, BIO *bio, int status, int retry_flag)
{
	if (status == -EAGAIN || status == -EINTR)
		BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
	else
		tls->io_status = status;
	return -1;
}

static int socket_read(BIO *bio, char *ret_bytes, int size)
{
	struct tls *tls = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	ssize_t count = recv(tls->fd, ret_bytes, (size_t)size, MSG_DONTWAIT);
	if (count <= 0)
		return socket_failed(tls, bio, count == 0 ? TLS_ECUT : -errno, BIO_FLAGS_READ);
	if (hello_take(&tls->hello, (const uint8_t *)ret_bytes, (size_t)count, TLS_HELLO_MAX))
		return (int)count;
	tls->reason = "message too large";
	return socket_failed(tls, bio, TLS_EPEER, 0);
}

static int socket_write(BIO *bio, const char *bytes, int size)
{
	struct tls *tls = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	ssize_t count = send(tls->fd, bytes, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (count < 0)
		return socket_failed(tls, bio, -errno, BIO_FLAGS_WRITE);
	return (int)count;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH; /* nothing is kept here */
}

static BIO_METHOD *make_socket(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket without signals");
	if (method == NULL || BIO_meth_set_read(method, socket_read) != 1 ||
	    BIO_meth_set_write(method, socket_write) != 1 ||
	    BIO_meth_set_ctrl(method, socket_control) != 1) {
		BIO_meth_free(method);
		return NULL;
	}
	return method;
}

/* ---- certificates and names ---- */

static int serve_name(SSL *ssl, int *ret_alert, void *argument)
{
	const struct tls_context *context = argument;
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	(void)ret_alert;
	for (unsigned i = 0; name != NULL && i < context->site_count; i++) {
		const struct site *site = &context->sites[i];
		if (X509_check_host(site->leaf, name, strlen(name), 0, NULL) == 1)
			return SSL_set_SSL_CTX(ssl, site->ssl_context) == NULL
				       ? SSL_TLSEXT_ERR_ALERT_FATAL
				       : SSL_TLSEXT_ERR_OK;
	}
	return SSL_TLSEXT_ERR_NOACK; /* the first; senders of mail often do not care */
}

static SSL_CTX *make_ssl_context(struct tls_context *context)
{
	SSL_CTX *made = SSL_CTX_new(TLS_server_method());
	if (made == NULL)
		return NULL;
	SSL_CTX_set_security_level(made, SECURITY_LEVEL);
	SSL_CTX_set_options(made, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
					  SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE |
					  SSL_OP_PRIORITIZE_CHACHA | SSL_OP_CLEANSE_PLAINTEXT);
	SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				       SSL_MODE_NO_AUTO_CHAIN);
	SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(made, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_tlsext_servername_callback(made, serve_name);
	SSL_CTX_set_tlsext_servername_arg(made, context);
	if (SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_max_proto_version(made, TLS1_3_VERSION) == 1 &&
	    SSL_CTX_set_cipher_list(made, ciphers_12) == 1 &&
	    SSL_CTX_set_ciphersuites(made, ciphers_13) == 1 &&
	    SSL_CTX_set1_groups_list(made, groups) == 1 &&
	    SSL_CTX_set1_sigalgs_list(made, sigalgs) == 1 &&
	    SSL_CTX_set_num_tickets(made, 0) == 1 &&
	    SSL_CTX_set_max_send_fragment(made, SEND_MAX) == 1)
		return made;
	SSL_CTX_free(made);
	return NULL;
}

static const ASN1_OCTET_STRING *names_of(const X509 *leaf)
{
	int at = X509_get_ext_by_NID(leaf, NID_subject_alt_name, -1);
	return at < 0 ? NULL : X509_EXTENSION_get_data(X509_get_ext(leaf, at));
}

/* Certificates made for one list of names have it in the same order. */
static bool has_same_names(const X509 *one, const X509 *other)
{
	const ASN1_OCTET_STRING *of_one = names_of(one);
	const ASN1_OCTET_STRING *of_other = names_of(other);
	if (of_one == NULL || of_other == NULL)
		return of_one == of_other &&
		       X509_NAME_cmp(X509_get_subject_name(one), X509_get_subject_name(other)) == 0;
	return ASN1_OCTET_STRING_cmp(of_one, of_other) == 0;
}

/* The site that lacks a certificate of this kind, or a new one; NULL: no memory. */
static struct site *find_site(struct tls_context *context, X509 *leaf, bool is_rsa)
{
	for (unsigned i = 0; i < context->site_count; i++) {
		struct site *site = &context->sites[i];
		if (!(is_rsa ? site->has_rsa : site->has_ecdsa) && has_same_names(site->leaf, leaf))
			return site;
	}
	struct site *site = &context->sites[context->site_count];
	site->ssl_context = make_ssl_context(context);
	if (site->ssl_context == NULL || X509_up_ref(leaf) != 1) {
		SSL_CTX_free(site->ssl_context);
		site->ssl_context = NULL;
		return NULL;
	}
	site->leaf = leaf;
	context->site_count++;
	return site;
}

static int install(struct tls_context *context, X509 *leaf, STACK_OF(X509) * others)
{
	bool is_rsa = EVP_PKEY_get_base_id(X509_get0_pubkey(leaf)) == EVP_PKEY_RSA;
	struct site *site = find_site(context, leaf, is_rsa);
	if (site == NULL)
		return -ENOMEM;
	int ret = remotekey_new(&context->holder, leaf, &context->keys[context->key_count]);
	if (ret != 0)
		return ret;
	struct remotekey *key = context->keys[context->key_count++];
	if (is_rsa)
		site->has_rsa = true;
	else
		site->has_ecdsa = true;
	return SSL_CTX_use_certificate(site->ssl_context, leaf) == 1 &&
			       SSL_CTX_set1_chain(site->ssl_context, others) == 1 &&
			       SSL_CTX_use_PrivateKey(site->ssl_context, remotekey_get(key)) == 1
		       ? 0
		       : -EBADMSG;
}

static int add_chain(struct tls_context *context, const struct keys_chain *chain,
		     struct keys_error *reterr_error)
{
	X509 *leaf = NULL;
	STACK_OF(X509) *others = NULL;
	int ret = keys_parse_chain(chain, &leaf, &others, reterr_error);
	if (ret != 0)
		return ret;
	ret = install(context, leaf, others);
	if (ret != 0) {
		const char *reason = ERR_reason_error_string(ERR_peek_last_error());
		snprintf(reterr_error->path, sizeof(reterr_error->path), "%s", chain->paths.chain);
		snprintf(reterr_error->reason, sizeof(reterr_error->reason), "%s",
			 reason != NULL ? reason : strerror(-ret));
	}
	ERR_clear_error();
	X509_free(leaf);
	sk_X509_pop_free(others, X509_free);
	return ret;
}

int tls_context_new(const struct keys_chains *chains, int keyholder_fd,
		    struct tls_context **ret_context, struct keys_error *reterr_error)
{
	memset(reterr_error, 0, sizeof(*reterr_error));
	struct tls_context *context = calloc(1, sizeof(*context));
	if (context == NULL)
		return -ENOMEM;
	int ret = chains->count == 0 ? -EINVAL : -ENOMEM;
	context->socket = make_socket();
	if (chains->count == 0 || context->socket == NULL)
		goto fail;
	ret = remotekey_holder_init(&context->holder, keyholder_fd);
	for (unsigned i = 0; ret == 0 && i < chains->count; i++)
		ret = add_chain(context, &chains->chains[i], reterr_error);
	if (ret != 0)
		goto fail;
	*ret_context = context;
	return 0;
fail:
	tls_context_free(context);
	return ret;
}

void tls_context_free(struct tls_context *context)
{
	if (context == NULL)
		return;
	for (unsigned i = 0; i < context->site_count; i++) {
		SSL_CTX_free(context->sites[i].ssl_context);
		X509_free(context->sites[i].leaf);
	}
	for (unsigned i = 0; i < context->key_count; i++)
		remotekey_free(context->keys[i]);
	BIO_meth_free(context->socket);
	free(context);
}

uint64_t tls_count_failed(const struct tls_context *context)
{
	return context->holder.failed;
}

/* ---- sessions ---- */

int tls_new(struct tls_context *context, int fd, struct tls **ret_tls)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	if (tls == NULL)
		return -ENOMEM;
	tls->context = context;
	tls->fd = fd;
	tls->ssl = SSL_new(context->sites[0].ssl_context);
	BIO *bio = BIO_new(context->socket);
	if (tls->ssl == NULL || bio == NULL) {
		BIO_free(bio);
		tls_free(tls);
		ERR_clear_error();
		return -ENOMEM;
	}
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	*ret_tls = tls;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (tls == NULL)
		return;
	SSL_free(tls->ssl);
	free(tls);
}

/* What OpenSSL says has failed: the client, or itself. */
static int fail(struct tls *tls)
{
	unsigned long error = ERR_peek_error();
	int reason = ERR_GET_REASON(error);
	tls->reason = ERR_reason_error_string(error);
	ERR_clear_error();
	if (ERR_GET_LIB(error) != ERR_LIB_SSL || reason == ERR_R_MALLOC_FAILURE ||
	    reason == ERR_R_INTERNAL_ERROR)
		return TLS_ECRYPT;
	return TLS_EPEER;
}

/* The status of a call that has returned ret, which is not success; failed_before: of the holder.
 */
static int settle(struct tls *tls, int ret, uint64_t failed_before)
{
	int error = SSL_get_error(tls->ssl, ret);
	int status = tls->io_status;
	if (status == 0) {
		switch (error) {
		case SSL_ERROR_WANT_READ:
			return TLS_WANT_READ;
		case SSL_ERROR_WANT_WRITE:
			return TLS_WANT_WRITE;
		case SSL_ERROR_ZERO_RETURN:
			return TLS_CLOSED;
		default:
			status = fail(tls);
		}
	}
	if (tls->context->holder.failed != failed_before) {
		status = TLS_EKEY;
		tls->reason = tls->context->holder.reason;
	}
	tls->io_status = status;
	ERR_clear_error();
	return status;
}

int tls_handshake(struct tls *tls)
{
	uint64_t failed_before = tls->context->holder.failed;
	if (tls->io_status != 0)
		return tls->io_status;
	ERR_clear_error();
	int ret = SSL_accept(tls->ssl);
	return ret == 1 ? 0 : settle(tls, ret, failed_before);
}

ssize_t tls_read(struct tls *tls, void *ret_bytes, size_t size)
{
	size_t count = 0;
	if (tls->io_status != 0)
		return tls->io_status;
	ERR_clear_error();
	int ret = SSL_read_ex(tls->ssl, ret_bytes, size, &count);
	return ret == 1 ? (ssize_t)count : settle(tls, ret, tls->context->holder.failed);
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t size)
{
	size_t count = 0;
	assert(size > 0);
	if (tls->io_status != 0)
		return tls->io_status;
	ERR_clear_error();
	int ret = SSL_write_ex(tls->ssl, bytes, size, &count);
	return ret == 1 ? (ssize_t)count : settle(tls, ret, tls->context->holder.failed);
}

int tls_close(struct tls *tls)
{
	if (tls->io_status != 0)
		return tls->io_status;
	/* Amid a handshake it cannot be said, and OpenSSL would read when it has been. */
	if (!SSL_is_init_finished(tls->ssl) ||
	    (SSL_get_shutdown(tls->ssl) & SSL_SENT_SHUTDOWN) != 0)
		return 0;
	ERR_clear_error();
	int ret = SSL_shutdown(tls->ssl);
	return ret >= 0 ? 0 : settle(tls, ret, tls->context->holder.failed);
}

bool tls_has_pending(const struct tls *tls)
{
	return tls->io_status == 0 && SSL_pending(tls->ssl) > 0;
}

/* ---- what is said about them ---- */

static void copy_name(const char *name, char *ret_name, size_t size)
{
	size_t length = name == NULL ? 0 : strlen(name);
	bool is_name = length < size;
	for (size_t i = 0; i < length; i++)
		is_name = is_name && (isalnum((unsigned char)name[i]) ||
				      (name[i] != '\0' && strchr("-._", name[i]) != NULL));
	if (is_name && length > 0)
		snprintf(ret_name, size, "%s", name);
}

void tls_facts(const struct tls *tls, struct tls_facts *ret_facts)
{
	memset(ret_facts, 0, sizeof(*ret_facts));
	snprintf(ret_facts->protocol, sizeof(ret_facts->protocol), "%s", SSL_get_version(tls->ssl));
	snprintf(ret_facts->cipher, sizeof(ret_facts->cipher), "%s", SSL_get_cipher_name(tls->ssl));
	copy_name(SSL_get_servername(tls->ssl, TLSEXT_NAMETYPE_host_name), ret_facts->sni,
		  sizeof(ret_facts->sni));
}

const char *tls_reason(const struct tls *tls, int status)
{
	switch (status) {
	case TLS_WANT_READ:
	case TLS_WANT_WRITE:
		return "not yet";
	case TLS_CLOSED:
		return "the client has ended it";
	case TLS_ECUT:
		return "the connection was cut";
	case TLS_EPEER:
	case TLS_EKEY:
	case TLS_ECRYPT:
		return tls->reason != NULL ? tls->reason : "OpenSSL gives no reason";
	default:
		return strerror(-status);
	}
}
