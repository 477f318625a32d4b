/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/key.h"

#include "lib/common/wholefile.h"
#include "lib/lmdb/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

enum {
	DNSKEY_HEAD_SIZE = 4,
	DNSKEY_FLAGS = 257, /* zone key and secure entry point: one key signs all, RFC 4034 2.1.1 */
	DNSKEY_PROTOCOL = 3,
	FIELD_SIZE = 32, /* a number of the curve, or a public key of Ed25519 */
	PEM_MAX = 16384, /* ours have 241 bytes; others may write text around it */
};

struct key {
	EVP_PKEY *pair;
	EVP_MD_CTX *prepared; /* a copy of this costs less than preparing one */
	EVP_MD_CTX *scratch;  /* the copy, for each signature anew */
	uint8_t algorithm;
	size_t dnskey_size;
	uint8_t dnskey[KEY_DNSKEY_MAX];
};

/* What this module knows of an algorithm. */
static const struct algorithm {
	uint8_t number;
	const char *word;
	const char *type;  /* OpenSSL's name of the kind of key */
	const char *curve; /* and of the curve, where the kind does not say it */
	const char *digest;
	size_t public_size;
} algorithms[] = {
	{ KEY_ECDSAP256SHA256, "ecdsap256sha256", "EC", SN_X9_62_prime256v1, "SHA256",
	  2 * FIELD_SIZE },
	{ KEY_ED25519, "ed25519", "ED25519", NULL, NULL, FIELD_SIZE },
};

enum { ALGORITHM_COUNT = sizeof(algorithms) / sizeof(algorithms[0]) };

const char *key_strerror(int status)
{
	switch (status) {
	case KEY_EMODE:
		return "it may be read by others; chmod 600";
	case KEY_EFORMAT:
		return "not a private key in PEM without a password, or damaged";
	case KEY_EALGORITHM:
		return "key is neither of ECDSA P-256 nor of Ed25519";
	case KEY_ECRYPTO:
		return "OpenSSL failed";
	default:
		return store_strerror(status);
	}
}

/* OpenSSL keeps a row of its errors; ours has the one status that matters. */
static int settle(int status)
{
	ERR_clear_error();
	return status;
}

static const struct algorithm *find_algorithm(uint8_t number)
{
	for (size_t i = 0; i < ALGORITHM_COUNT; i++) {
		if (algorithms[i].number == number)
			return &algorithms[i];
	}
	return NULL;
}

uint8_t key_parse_algorithm(const char *text)
{
	for (size_t i = 0; i < ALGORITHM_COUNT; i++) {
		if (strcasecmp(algorithms[i].word, text) == 0)
			return algorithms[i].number;
	}
	return 0;
}

static bool is_of_algorithm(const EVP_PKEY *pair, const struct algorithm *algorithm)
{
	char curve[64];
	if (!EVP_PKEY_is_a(pair, algorithm->type))
		return false;
	return algorithm->curve == NULL ||
	       (EVP_PKEY_get_group_name(pair, curve, sizeof(curve), NULL) == 1 &&
		strcmp(curve, algorithm->curve) == 0);
}

static const struct algorithm *algorithm_of(const EVP_PKEY *pair)
{
	for (size_t i = 0; i < ALGORITHM_COUNT; i++) {
		if (is_of_algorithm(pair, &algorithms[i]))
			return &algorithms[i];
	}
	return NULL;
}

/* ---- the public half ---- */

/*
 * Coordinate by coordinate: the point as a whole may be compressed, as the
 * file that it came from wishes.
 */
static bool encode_coordinate(const EVP_PKEY *pair, const char *name, uint8_t *ret_bytes)
{
	BIGNUM *number = NULL;
	bool is_done = EVP_PKEY_get_bn_param(pair, name, &number) == 1 &&
		       BN_bn2binpad(number, ret_bytes, FIELD_SIZE) == FIELD_SIZE;
	BN_free(number);
	return is_done;
}

static bool encode_public(const EVP_PKEY *pair, uint8_t algorithm, uint8_t *ret_bytes)
{
	size_t size = FIELD_SIZE;
	if (algorithm == KEY_ED25519)
		return EVP_PKEY_get_raw_public_key(pair, ret_bytes, &size) == 1;
	return encode_coordinate(pair, OSSL_PKEY_PARAM_EC_PUB_X, ret_bytes) &&
	       encode_coordinate(pair, OSSL_PKEY_PARAM_EC_PUB_Y, ret_bytes + FIELD_SIZE);
}

/* Takes pair, also when it fails. */
static int key_new(EVP_PKEY *pair, struct key **ret_key)
{
	struct key *key = calloc(1, sizeof(*key));
	if (key == NULL) {
		EVP_PKEY_free(pair);
		return -ENOMEM;
	}
	key->pair = pair;
	int ret = KEY_EALGORITHM;
	const struct algorithm *algorithm = algorithm_of(pair);
	if (algorithm == NULL)
		goto fail;

	key->algorithm = algorithm->number;
	key->dnskey[0] = DNSKEY_FLAGS >> 8;
	key->dnskey[1] = DNSKEY_FLAGS & 0xff;
	key->dnskey[2] = DNSKEY_PROTOCOL;
	key->dnskey[3] = algorithm->number;
	key->dnskey_size = DNSKEY_HEAD_SIZE + algorithm->public_size;

	ret = KEY_ECRYPTO;
	key->prepared = EVP_MD_CTX_new();
	key->scratch = EVP_MD_CTX_new();
	if (!encode_public(pair, algorithm->number, key->dnskey + DNSKEY_HEAD_SIZE) ||
	    key->prepared == NULL || key->scratch == NULL ||
	    EVP_DigestSignInit_ex(key->prepared, NULL, algorithm->digest, NULL, NULL, pair, NULL) !=
		    1)
		goto fail;
	*ret_key = key;
	return DNSBLV6_OK;
fail:
	key_free(key);
	return settle(ret);
}

void key_free(struct key *key)
{
	if (key == NULL)
		return;
	EVP_MD_CTX_free(key->scratch);
	EVP_MD_CTX_free(key->prepared);
	EVP_PKEY_free(key->pair);
	free(key);
}

int key_generate(uint8_t algorithm, struct key **ret_key)
{
	const struct algorithm *wanted = find_algorithm(algorithm);
	if (wanted == NULL)
		return KEY_EALGORITHM;
	EVP_PKEY *pair = wanted->curve != NULL
				 ? EVP_PKEY_Q_keygen(NULL, NULL, wanted->type, wanted->curve)
				 : EVP_PKEY_Q_keygen(NULL, NULL, wanted->type);
	return pair == NULL ? settle(KEY_ECRYPTO) : key_new(pair, ret_key);
}

/* ---- files ---- */

/* OpenSSL would ask the terminal. */
static int refuse_password(char *password, int password_max, int is_writing, void *context)
{
	(void)password;
	(void)password_max;
	(void)is_writing;
	(void)context;
	return -1;
}

/* Do the two halves belong together? A PEM file with a wrong character may still be read. */
static bool is_sound(EVP_PKEY *pair)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, pair, NULL);
	bool is_sound = context != NULL && EVP_PKEY_check(context) == 1;
	EVP_PKEY_CTX_free(context);
	return is_sound;
}

static int parse_pem(const char *pem, size_t pem_size, struct key **ret_key)
{
	BIO *bio = BIO_new_mem_buf(pem, (int)pem_size);
	if (bio == NULL)
		return settle(KEY_ECRYPTO);
	EVP_PKEY *pair = PEM_read_bio_PrivateKey(bio, NULL, refuse_password, NULL);
	BIO_free(bio);
	if (pair == NULL)
		return settle(KEY_EFORMAT);
	/* Before the check, which is slow for some kinds of key that are not ours. */
	if (algorithm_of(pair) == NULL || !is_sound(pair)) {
		int ret = algorithm_of(pair) == NULL ? KEY_EALGORITHM : KEY_EFORMAT;
		EVP_PKEY_free(pair);
		return settle(ret);
	}
	return key_new(pair, ret_key);
}

/* The descriptor of a file that its owner alone may read, or a status. */
static int open_private(const char *path)
{
	struct stat file;
	if (wholefile_is_fifo(path))
		return KEY_EFORMAT;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int ret = fd;
	if (fstat(fd, &file) != 0)
		ret = -errno;
	else if (S_ISDIR(file.st_mode))
		ret = -EISDIR;
	else if (file.st_mode & (S_IRGRP | S_IROTH))
		ret = KEY_EMODE;
	if (ret < 0)
		close(fd);
	return ret;
}

int key_read(const char *path, struct key **ret_key)
{
	char pem[PEM_MAX];
	int fd = open_private(path);
	if (fd < 0)
		return fd;
	ssize_t size = wholefile_take(fd, pem, sizeof(pem));
	close(fd);
	int ret = size < 0 ? (int)size : parse_pem(pem, (size_t)size, ret_key);
	OPENSSL_cleanse(pem, sizeof(pem));
	return ret;
}

int key_write(const struct key *key, const char *path)
{
	char *pem;
	int ret = KEY_ECRYPTO;
	BIO *bio = BIO_new(BIO_s_secmem()); /* overwritten when freed */
	if (bio != NULL &&
	    PEM_write_bio_PKCS8PrivateKey(bio, key->pair, NULL, NULL, 0, NULL, NULL) == 1) {
		long size = BIO_get_mem_data(bio, &pem);
		/* A key whose DS is published must not be lost with the power. */
		ret = wholefile_write(AT_FDCWD, path, pem, (size_t)size, S_IRUSR | S_IWUSR,
				      WHOLEFILE_FIRST | WHOLEFILE_LASTS | WHOLEFILE_EXACT);
	}
	BIO_free(bio);
	return settle(ret);
}

/* ---- DNSSEC ---- */

uint8_t key_algorithm(const struct key *key)
{
	return key->algorithm;
}

uint16_t key_dnskey_tag(const uint8_t *rdata, size_t size)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < size; i++)
		sum += i % 2 == 0 ? (uint32_t)rdata[i] << 8 : rdata[i];
	return (uint16_t)(sum + (sum >> 16));
}

uint16_t key_tag(const struct key *key)
{
	return key_dnskey_tag(key->dnskey, key->dnskey_size);
}

size_t key_dnskey(const struct key *key, uint8_t *ret_rdata)
{
	memcpy(ret_rdata, key->dnskey, key->dnskey_size);
	return key->dnskey_size;
}

/* OpenSSL has r and s in DER, each as short as it can be. */
static bool unwrap_ecdsa(const uint8_t *der, size_t der_size, uint8_t *ret_signature)
{
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)der_size);
	bool is_done =
		pair != NULL &&
		BN_bn2binpad(ECDSA_SIG_get0_r(pair), ret_signature, FIELD_SIZE) == FIELD_SIZE &&
		BN_bn2binpad(ECDSA_SIG_get0_s(pair), ret_signature + FIELD_SIZE, FIELD_SIZE) ==
			FIELD_SIZE;
	ECDSA_SIG_free(pair);
	return is_done;
}

int key_sign(const struct key *key, const uint8_t *data, size_t size, uint8_t *ret_signature)
{
	uint8_t made[2 * DNSBLV6_SIGNATURE_BYTES]; /* DER needs up to 72 */
	size_t made_size = sizeof(made);
	/* Without the reset OpenSSL 3.5 crashes in the second copy. */
	if (EVP_MD_CTX_reset(key->scratch) != 1 ||
	    EVP_MD_CTX_copy_ex(key->scratch, key->prepared) != 1 ||
	    EVP_DigestSign(key->scratch, made, &made_size, data, size) != 1)
		return settle(KEY_ECRYPTO);
	if (key->algorithm == KEY_ECDSAP256SHA256)
		return unwrap_ecdsa(made, made_size, ret_signature) ? DNSBLV6_OK
								    : settle(KEY_ECRYPTO);
	memcpy(ret_signature, made, DNSBLV6_SIGNATURE_BYTES);
	return DNSBLV6_OK;
}

size_t key_ds_of(const struct dnsblv6_labels *zone, const uint8_t *dnskey, size_t dnskey_size,
		 uint8_t digest_type, uint8_t *ret_rdata)
{
	enum { HEAD_SIZE = 4 };
	uint8_t input[DNSBLV6_LABELS_MAX + 1 + KEY_DNSKEY_MAX];
	const char *digest = digest_type == KEY_DIGEST_SHA256	? "SHA256"
			     : digest_type == KEY_DIGEST_SHA384 ? "SHA384"
								: NULL;
	size_t digest_size = KEY_DS_MAX - HEAD_SIZE;
	size_t size = zone->size;
	if (digest == NULL || dnskey_size < DNSKEY_HEAD_SIZE || dnskey_size > KEY_DNSKEY_MAX)
		return 0;
	memcpy(input, zone->wire, size);
	input[size++] = 0; /* the root label */
	memcpy(input + size, dnskey, dnskey_size);
	if (EVP_Q_digest(NULL, digest, NULL, input, size + dnskey_size, ret_rdata + HEAD_SIZE,
			 &digest_size) != 1) {
		ERR_clear_error();
		return 0;
	}
	uint16_t tag = key_dnskey_tag(dnskey, dnskey_size);
	ret_rdata[0] = (uint8_t)(tag >> 8);
	ret_rdata[1] = (uint8_t)tag;
	ret_rdata[2] = dnskey[3];
	ret_rdata[3] = digest_type;
	return HEAD_SIZE + digest_size;
}

size_t key_ds(const struct dnsblv6_labels *zone, const struct key *key, uint8_t *ret_rdata)
{
	uint8_t rdata[KEY_DS_MAX];
	size_t size = key_ds_of(zone, key->dnskey, key->dnskey_size, KEY_DIGEST_SHA256, rdata);
	memcpy(ret_rdata, rdata, size);
	return size;
}
