/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/tls/keys.h"

#include "lib/common/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static const char begin_line[] = "-----BEGIN CERTIFICATE-----";
static const char end_line[] = "-----END CERTIFICATE-----";
static const char damaged_text[] = "a certificate in it is damaged";

/* Returns status, so that a failure is one line. OpenSSL keeps a row of its errors; ours is here.
 */
static int fail(int status, const char *path, const char *reason, struct keys_error *reterr_error)
{
	memset(reterr_error, 0, sizeof(*reterr_error));
	snprintf(reterr_error->path, sizeof(reterr_error->path), "%s", path);
	snprintf(reterr_error->reason, sizeof(reterr_error->reason), "%s", reason);
	ERR_clear_error();
	return status;
}

static int fail_system(int status, const char *path, struct keys_error *reterr_error)
{
	return fail(status, path, strerror(-status), reterr_error);
}

/* ---- files ---- */

/* What was read may be a key. */
static void forget(char *text)
{
	if (text != NULL)
		OPENSSL_cleanse(text, KEYS_FILE_MAX);
	free(text);
}

/* A regular file: a FIFO would let the start of a daemon wait for ever. */
static int open_file(const char *path, bool is_private, struct keys_error *reterr_error)
{
	struct stat file;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail_system(-errno, path, reterr_error);
	const char *reason = NULL;
	if (fstat(fd, &file) != 0)
		reason = strerror(errno);
	else if (!S_ISREG(file.st_mode))
		reason = "not a regular file";
	else if (is_private && (file.st_mode & (S_IROTH | S_IWOTH)) != 0)
		reason = "it may be read or written by others; chmod o-rw";
	if (reason == NULL)
		return fd;
	close(fd);
	return fail(-EBADMSG, path, reason, reterr_error);
}

/* *ret_text ends with a zero byte; forget() it. */
static int read_file(const char *path, bool is_private, char **ret_text, size_t *ret_size,
		     struct keys_error *reterr_error)
{
	int fd = open_file(path, is_private, reterr_error);
	if (fd < 0)
		return fd;
	char *text = calloc(1, KEYS_FILE_MAX);
	ssize_t size = text == NULL ? -ENOMEM : wholefile_take(fd, text, KEYS_FILE_MAX);
	close(fd);
	if (size == KEYS_FILE_MAX)
		size = -EFBIG;
	if (size < 0) {
		forget(text);
		return fail_system((int)size, path, reterr_error);
	}
	*ret_text = text;
	*ret_size = (size_t)size;
	return 0;
}

/* ---- chains ---- */

/* The blocks of certificates alone, in their order. False: the last one has no end, as in a file that was cut. */
static bool copy_certificates(const char *text, char *ret_pem, size_t *ret_size)
{
	size_t size = 0;
	const char *begin = strstr(text, begin_line);
	while (begin != NULL) {
		const char *end = strstr(begin, end_line);
		if (end == NULL)
			return false;
		end += sizeof(end_line) - 1;
		memcpy(ret_pem + size, begin, (size_t)(end - begin));
		size += (size_t)(end - begin);
		ret_pem[size++] = '\n';
		begin = strstr(end, begin_line);
	}
	*ret_size = size;
	return true;
}

static int read_chain(const struct keys_paths *paths, struct keys_chain *ret_chain,
		      struct keys_error *reterr_error)
{
	char *text = NULL;
	size_t size = 0;
	int ret = read_file(paths->chain, false, &text, &size, reterr_error);
	if (ret != 0)
		return ret;
	if (memchr(text, '\0', size) != NULL) {
		forget(text);
		return fail(-EBADMSG, paths->chain, "not a file in PEM", reterr_error);
	}
	ret_chain->paths = *paths;
	/* A line end is put behind each block, and there may be none in the file. */
	ret_chain->pem = malloc(size + size / sizeof(end_line) + 1);
	const bool is_whole = ret_chain->pem != NULL &&
			      copy_certificates(text, ret_chain->pem, &ret_chain->pem_size);
	forget(text);
	if (ret_chain->pem == NULL)
		return fail_system(-ENOMEM, paths->chain, reterr_error);
	if (!is_whole)
		return fail(-EBADMSG, paths->chain, damaged_text, reterr_error);
	if (ret_chain->pem_size == 0)
		return fail(-EBADMSG, paths->chain, "there is no certificate in it", reterr_error);
	return 0;
}

int keys_read_chains(const struct keys_paths *paths, unsigned count,
		     struct keys_chains **ret_chains, struct keys_error *reterr_error)
{
	if (count > KEYS_PAIRS_MAX)
		return fail(-E2BIG, paths[KEYS_PAIRS_MAX].chain, "too many certificates",
			    reterr_error);
	struct keys_chains *chains = calloc(1, sizeof(*chains));
	if (chains == NULL)
		return fail_system(-ENOMEM, "", reterr_error);
	for (unsigned i = 0; i < count; i++) {
		chains->count = i + 1;
		int ret = read_chain(&paths[i], &chains->chains[i], reterr_error);
		if (ret != 0) {
			keys_free_chains(chains);
			return ret;
		}
	}
	*ret_chains = chains;
	return 0;
}

void keys_free_chains(struct keys_chains *chains)
{
	if (chains == NULL)
		return;
	for (unsigned i = 0; i < chains->count; i++)
		free(chains->chains[i].pem);
	free(chains);
}

/* OpenSSL would ask the terminal. */
static int refuse_password(char *password, int password_max, int is_writing, void *context)
{
	(void)password;
	(void)password_max;
	(void)is_writing;
	(void)context;
	return -1;
}

/* Up to the last; *ret_is_whole: it was the end of the text where the last one stopped. */
static STACK_OF(X509) * parse_certificates(BIO *bio, bool *ret_is_whole)
{
	STACK_OF(X509) *all = sk_X509_new_null();
	X509 *one = NULL;
	while (all != NULL && (one = PEM_read_bio_X509(bio, NULL, refuse_password, NULL)) != NULL) {
		if (sk_X509_push(all, one) == 0) {
			X509_free(one);
			break;
		}
	}
	unsigned long last = ERR_peek_last_error();
	*ret_is_whole =
		ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
	ERR_clear_error();
	return all;
}

int keys_parse_chain(const struct keys_chain *chain, struct x509_st **ret_leaf,
		     struct stack_st_X509 **ret_others, struct keys_error *reterr_error)
{
	bool is_whole = false;
	BIO *bio = BIO_new_mem_buf(chain->pem, (int)chain->pem_size);
	STACK_OF(X509) *all = bio == NULL ? NULL : parse_certificates(bio, &is_whole);
	BIO_free(bio);
	if (all == NULL)
		return fail_system(-ENOMEM, chain->paths.chain, reterr_error);
	const char *reason = NULL;
	if (!is_whole || sk_X509_num(all) == 0)
		reason = damaged_text;
	else if (sk_X509_num(all) > KEYS_CHAIN_MAX)
		reason = "there are more than 10 certificates in it";
	else
		reason = keys_refuse_kind(X509_get0_pubkey(sk_X509_value(all, 0)));
	if (reason != NULL) {
		sk_X509_pop_free(all, X509_free);
		return fail(-EBADMSG, chain->paths.chain, reason, reterr_error);
	}
	*ret_leaf = sk_X509_shift(all);
	*ret_others = all;
	return 0;
}

bool keys_is_in_time(const struct keys_chain *chain, struct keys_error *reterr_error)
{
	X509 *leaf = NULL;
	STACK_OF(X509) *others = NULL;
	if (keys_parse_chain(chain, &leaf, &others, reterr_error) != 0)
		return false;
	const char *reason = NULL;
	if (X509_cmp_current_time(X509_get0_notAfter(leaf)) < 0)
		reason = "it has expired";
	else if (X509_cmp_current_time(X509_get0_notBefore(leaf)) > 0)
		reason = "its time has not come";
	X509_free(leaf);
	sk_X509_pop_free(others, X509_free);
	if (reason != NULL)
		(void)fail(-EKEYEXPIRED, chain->paths.chain, reason, reterr_error);
	return reason == NULL;
}

/* ---- keys ---- */

static const char *refuse_curve(const EVP_PKEY *key)
{
	static const char *const curves[] = { "prime256v1", "secp384r1", "secp521r1" };
	char curve[64];
	size_t size = 0;
	if (EVP_PKEY_get_group_name(key, curve, sizeof(curve), &size) == 1) {
		for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
			if (strcmp(curve, curves[i]) == 0)
				return NULL;
		}
	}
	return "an ECDSA key of another curve than P-256, P-384 and P-521";
}

const char *keys_refuse_kind(const struct evp_pkey_st *key)
{
	if (key == NULL)
		return "a key that OpenSSL does not know";
	int bits = EVP_PKEY_get_bits(key);
	switch (EVP_PKEY_get_base_id(key)) {
	case EVP_PKEY_RSA:
		if (bits < 2048 || bits > KEYS_SIGNATURE_MAX * 8 || bits % 8 != 0)
			return "an RSA key of other than 2048 to 4096 bits, in whole bytes";
		return NULL;
	case EVP_PKEY_EC:
		return refuse_curve(key);
	case EVP_PKEY_ED25519:
	case EVP_PKEY_ED448:
		return "an Ed25519 or Ed448 key; keys are kept apart, for which they must be RSA "
		       "or ECDSA";
	default:
		return "a key that is neither RSA nor ECDSA";
	}
}

int keys_fingerprint(const struct x509_st *leaf, uint8_t *ret_fingerprint)
{
	uint8_t *der = NULL;
	size_t size = KEYS_FINGERPRINT_SIZE;
	int der_size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(leaf), &der);
	bool is_done = der_size > 0 && EVP_Q_digest(NULL, "SHA256", NULL, der, (size_t)der_size,
						    ret_fingerprint, &size) == 1;
	OPENSSL_free(der);
	ERR_clear_error();
	return is_done ? 0 : -EBADMSG;
}

/* Are the two halves of the key in the file, and is the public one that of the certificate? */
static const char *refuse_key(EVP_PKEY *key, const X509 *leaf)
{
	if (key == NULL)
		return "not a private key in PEM without a password, or damaged";
	const char *reason = keys_refuse_kind(key);
	if (reason != NULL)
		return reason;
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
	bool is_sound = context != NULL && EVP_PKEY_pairwise_check(context) == 1;
	EVP_PKEY_CTX_free(context);
	if (!is_sound)
		return "a damaged private key";
	if (EVP_PKEY_eq(X509_get0_pubkey(leaf), key) != 1)
		return "not the key of the first certificate of its chain";
	return NULL;
}

static int read_key(const char *path, EVP_PKEY **ret_key, struct keys_error *reterr_error)
{
	char *text = NULL;
	size_t size = 0;
	int ret = read_file(path, true, &text, &size, reterr_error);
	if (ret != 0)
		return ret;
	BIO *bio = BIO_new_mem_buf(text, (int)size);
	if (bio == NULL)
		ret = fail_system(-ENOMEM, path, reterr_error);
	else
		*ret_key = PEM_read_bio_PrivateKey(bio, NULL, refuse_password, NULL);
	BIO_free(bio);
	forget(text);
	return ret;
}

int keys_read_private(const struct keys_chain *chain, struct evp_pkey_st **ret_key,
		      struct keys_error *reterr_error)
{
	X509 *leaf = NULL;
	STACK_OF(X509) *others = NULL;
	EVP_PKEY *key = NULL;
	int ret = keys_parse_chain(chain, &leaf, &others, reterr_error);
	if (ret != 0)
		return ret;
	ret = read_key(chain->paths.key, &key, reterr_error);
	if (ret == 0) {
		const char *reason = refuse_key(key, leaf);
		if (reason != NULL)
			ret = fail(-EBADMSG, chain->paths.key, reason, reterr_error);
	}
	X509_free(leaf);
	sk_X509_pop_free(others, X509_free);
	if (ret != 0) {
		EVP_PKEY_free(key);
		return ret;
	}
	ERR_clear_error();
	*ret_key = key;
	return 0;
}
