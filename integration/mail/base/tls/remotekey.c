/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RSA_METHOD and EC_KEY_METHOD, see the header. */
#define OPENSSL_API_COMPAT 0x10100000L
#include "integration/mail/base/tls/remotekey.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "lib/process/clock.h"

struct remotekey {
	struct remotekey_holder *holder;
	uint8_t fingerprint[KEYS_FINGERPRINT_SIZE];
	EVP_PKEY *pkey;
	RSA_METHOD *rsa_method;	      /* of an RSA key, else NULL */
	EC_KEY_METHOD *ec_key_method; /* of an EC key, else NULL */
};

/* The place that OpenSSL keeps for the application, in each kind of object. */
enum { APP_DATA = 0 };

/* ---- asking ---- */

int remotekey_holder_init(struct remotekey_holder *ret_holder, int fd)
{
	memset(ret_holder, 0, sizeof(*ret_holder));
	ret_holder->fd = fd;
	ret_holder->patience_ms = REMOTEKEY_PATIENCE_MS;
	return getentropy(&ret_holder->number, sizeof(ret_holder->number)) == 0 ? 0 : -errno;
}

/* Waits for events until deadline. */
static const char *wait_for(const struct remotekey_holder *holder, short events,
			    int64_t deadline_ms)
{
	for (;;) {
		struct pollfd place = { .fd = holder->fd, .events = events };
		int64_t left_ms = deadline_ms - (int64_t)clock_now_ms();
		int count = left_ms <= 0 ? 0 : poll(&place, 1, (int)left_ms);
		if (count < 0 && errno == EINTR)
			continue;
		if (count == 0)
			return "the keyholder does not answer";
		if (count < 0 || (place.revents & events) == 0)
			return "the keyholder's socket is closed";
		return NULL;
	}
}

static const char *send_request(const struct remotekey_holder *holder, const uint8_t *bytes,
				size_t size, int64_t deadline_ms)
{
	for (;;) {
		ssize_t sent = send(holder->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent >= 0)
			return NULL;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return "the keyholder's socket is closed";
		const char *reason = wait_for(holder, POLLOUT, deadline_ms);
		if (reason != NULL)
			return reason;
	}
}

static const char *read_answer(const struct signing_answer *answer, uint8_t *ret_signature,
			       size_t *ret_size)
{
	switch (answer->result) {
	case SIGNING_SIGNED:
		memcpy(ret_signature, answer->signature, answer->signature_size);
		*ret_size = answer->signature_size;
		return NULL;
	case SIGNING_UNKNOWN_KEY:
		return "the keyholder has no key for this certificate";
	case SIGNING_REFUSED:
		return "the keyholder does not sign such a thing";
	default:
		return "the keyholder failed";
	}
}

/* Passes over answers to earlier requests, but they show that the keyholder lives: end_ms counts then. */
static const char *receive_answer(struct remotekey_holder *holder, int64_t deadline_ms,
				  int64_t end_ms, uint8_t *ret_signature, size_t *ret_size)
{
	uint8_t bytes[SIGNING_ANSWER_MAX + 1]; /* a longer one does not fit the format */
	for (;;) {
		struct signing_answer answer;
		const char *reason = wait_for(holder, POLLIN, deadline_ms);
		if (reason != NULL)
			return reason;
		ssize_t size = recv(holder->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (size <= 0)
			return "the keyholder's socket is closed";
		if (signing_decode_answer(bytes, (size_t)size, &answer) != 0)
			return "the keyholder's answer is none";
		holder->patience_ms = REMOTEKEY_PATIENCE_MS;
		deadline_ms = end_ms;
		if (answer.number == holder->number)
			return read_answer(&answer, ret_signature, ret_size);
	}
}

/* ret_signature has KEYS_SIGNATURE_MAX bytes. */
static bool ask(const struct remotekey *key, enum signing_operation operation, const uint8_t *input,
		size_t input_size, uint8_t *ret_signature, size_t *ret_size)
{
	struct remotekey_holder *holder = key->holder;
	struct signing_request request = { .number = ++holder->number,
					   .operation = operation,
					   .input = input,
					   .input_size = input_size };
	uint8_t bytes[SIGNING_REQUEST_MAX];
	const int64_t now_ms = (int64_t)clock_now_ms();
	int64_t deadline_ms = now_ms + holder->patience_ms;
	const char *reason = "too much to sign";
	holder->patience_ms = REMOTEKEY_DOUBT_MS; /* until something is heard */
	if (input_size > 0 && input_size <= KEYS_SIGNATURE_MAX) {
		memcpy(request.fingerprint, key->fingerprint, sizeof(request.fingerprint));
		size_t size = signing_encode_request(&request, bytes);
		reason = send_request(holder, bytes, size, deadline_ms);
		if (reason == NULL)
			reason = receive_answer(holder, deadline_ms, now_ms + REMOTEKEY_PATIENCE_MS,
						ret_signature, ret_size);
	}
	if (reason == NULL)
		return true;
	holder->failed++;
	holder->reason = reason;
	return false;
}

/* ---- OpenSSL's methods ---- */

/* OpenSSL's own reason is a word of its table; holder->reason says more. */
static void raise_error(int library)
{
	ERR_put_error(library, 0, ERR_R_OPERATION_FAIL, NULL, 0);
}

static int rsa_sign(int input_size, const unsigned char *input, unsigned char *ret_signature,
		    RSA *rsa, int padding)
{
	const struct remotekey *key = RSA_get_ex_data(rsa, APP_DATA);
	uint8_t signature[KEYS_SIGNATURE_MAX];
	size_t size = 0;
	bool is_pkcs1 = padding == RSA_PKCS1_PADDING;
	if ((is_pkcs1 || padding == RSA_NO_PADDING) && input_size > 0 &&
	    ask(key, is_pkcs1 ? SIGNING_RSA_PKCS1 : SIGNING_RSA_PSS, input, (size_t)input_size,
		signature, &size)) {
		if (size == (size_t)RSA_size(rsa)) {
			memcpy(ret_signature, signature, size);
			return (int)size;
		}
		key->holder->failed++;
		key->holder->reason = "the keyholder's signature has another size than the key";
	}
	raise_error(ERR_LIB_RSA);
	return -1;
}

/* Decrypting is refused: the method's own function would look for the private half. */
static int rsa_refuse(int size, const unsigned char *from, unsigned char *to, RSA *rsa, int padding)
{
	(void)size;
	(void)from;
	(void)to;
	(void)rsa;
	(void)padding;
	raise_error(ERR_LIB_RSA);
	return -1;
}

static ECDSA_SIG *ecdsa_sign(const unsigned char *digest, int digest_size, const BIGNUM *kinv,
			     const BIGNUM *r, EC_KEY *ec)
{
	const struct remotekey *key = EC_KEY_get_ex_data(ec, APP_DATA);
	uint8_t signature[KEYS_SIGNATURE_MAX];
	const uint8_t *der = signature;
	size_t size = 0;
	(void)kinv;
	(void)r;
	if (digest_size > 0 &&
	    ask(key, SIGNING_ECDSA, digest, (size_t)digest_size, signature, &size)) {
		ECDSA_SIG *made = d2i_ECDSA_SIG(NULL, &der, (long)size);
		if (made != NULL && der == signature + size)
			return made;
		ECDSA_SIG_free(made);
		key->holder->failed++;
		key->holder->reason = "the keyholder's signature is none of ECDSA";
	}
	raise_error(ERR_LIB_EC);
	return NULL;
}

/* ---- keys ---- */

/* A copy of the public half with our method; pkey takes it. */
static bool make_rsa(struct remotekey *key, EVP_PKEY *public_half)
{
	RSA *rsa = EVP_PKEY_get1_RSA(public_half);
	RSA *copy = rsa == NULL ? NULL : RSAPublicKey_dup(rsa);
	RSA_free(rsa);
	key->rsa_method = RSA_meth_dup(RSA_PKCS1_OpenSSL());
	if (copy != NULL && key->rsa_method != NULL &&
	    RSA_meth_set1_name(key->rsa_method, "keyholder") == 1 &&
	    RSA_meth_set_priv_enc(key->rsa_method, rsa_sign) == 1 &&
	    RSA_meth_set_priv_dec(key->rsa_method, rsa_refuse) == 1 &&
	    RSA_set_method(copy, key->rsa_method) == 1 &&
	    RSA_set_ex_data(copy, APP_DATA, key) == 1 && EVP_PKEY_assign_RSA(key->pkey, copy) == 1)
		return true;
	RSA_free(copy);
	return false;
}

static bool make_ec(struct remotekey *key, EVP_PKEY *public_half)
{
	EC_KEY *ec = EVP_PKEY_get1_EC_KEY(public_half);
	EC_KEY *copy = ec == NULL ? NULL : EC_KEY_dup(ec);
	EC_KEY_free(ec);
	key->ec_key_method = EC_KEY_METHOD_new(EC_KEY_OpenSSL());
	if (copy != NULL && key->ec_key_method != NULL) {
		int (*sign)(int, const unsigned char *, int, unsigned char *, unsigned *,
			    const BIGNUM *, const BIGNUM *, EC_KEY *) = NULL;
		EC_KEY_METHOD_get_sign(EC_KEY_OpenSSL(), &sign, NULL, NULL);
		/* That one makes DER of what ours has returned. */
		EC_KEY_METHOD_set_sign(key->ec_key_method, sign, NULL, ecdsa_sign);
		if (EC_KEY_set_method(copy, key->ec_key_method) == 1 &&
		    EC_KEY_set_ex_data(copy, APP_DATA, key) == 1 &&
		    EVP_PKEY_assign_EC_KEY(key->pkey, copy) == 1)
			return true;
	}
	EC_KEY_free(copy);
	return false;
}

int remotekey_new(struct remotekey_holder *holder, const struct x509_st *leaf,
		  struct remotekey **ret_key)
{
	struct remotekey *key = calloc(1, sizeof(*key));
	if (key == NULL)
		return -ENOMEM;
	EVP_PKEY *public_half = X509_get0_pubkey(leaf);
	key->holder = holder;
	key->pkey = EVP_PKEY_new();
	if (key->pkey != NULL && keys_refuse_kind(public_half) == NULL &&
	    keys_fingerprint(leaf, key->fingerprint) == 0 &&
	    (EVP_PKEY_get_base_id(public_half) == EVP_PKEY_RSA ? make_rsa(key, public_half)
							       : make_ec(key, public_half))) {
		*ret_key = key;
		return 0;
	}
	ERR_clear_error();
	remotekey_free(key);
	return -EBADMSG;
}

void remotekey_free(struct remotekey *key)
{
	if (key == NULL)
		return;
	EVP_PKEY_free(key->pkey);
	RSA_meth_free(key->rsa_method);
	if (key->ec_key_method != NULL) /* unlike the others, it does not take NULL */
		EC_KEY_METHOD_free(key->ec_key_method);
	free(key);
}

struct evp_pkey_st *remotekey_get(const struct remotekey *key)
{
	return key->pkey;
}
