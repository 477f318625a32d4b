/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keys.h - certificate chains and private keys in PEM files.
 *
 * Flow: setup.c has the paths -> the nanny: keys_read_chains(), once for a generation -> an edge:
 *       keys_parse_chain() in tls.c; the keyholder: keys_read_private(), which also sees whether
 *       key and certificate belong together.
 * This file alone knows what is in such files, and which kinds of key are served: RSA of 2048 to
 * 4096 bits, and ECDSA with P-256, P-384 or P-521. Ed25519 is not among them, because OpenSSL has
 * no method by which its private half could be elsewhere, see remotekey.h.
 *
 * No byte of a private key is in the memory of a process that calls keys_read_chains() only, not
 * even for a file that has both: certificates alone are copied, and what else was read is
 * overwritten. That is why the nanny calls it before it makes the edges, and never
 * keys_read_private(). What it keeps are bytes, so that an edge that it has to make again has the
 * certificates of its generation, whatever has become of the file.
 *
 * Nothing here logs, or asks for a password.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evp_pkey_st;
struct stack_st_X509;
struct x509_st;

#ifdef __cplusplus
extern "C" {
#endif

#define KEYS_PAIRS_MAX	      32
#define KEYS_PATH_MAX	      512	/* bytes without the last, as in setup.h */
#define KEYS_FILE_MAX	      (1 << 18) /* ten certificates have 20 kB; others write text around */
#define KEYS_CHAIN_MAX	      10	/* certificates; clients stop there */
#define KEYS_FINGERPRINT_SIZE 32
#define KEYS_SIGNATURE_MAX    512 /* RSA of 4096 bits; ECDSA needs 139 at most */

/* Two arguments that could be swapped. */
struct keys_paths {
	char chain[KEYS_PATH_MAX + 1];
	char key[KEYS_PATH_MAX + 1]; /* may be the same file */
};

struct keys_error {
	char path[KEYS_PATH_MAX + 1]; /* which file */
	char reason[256];	      /* why not, without a full stop */
};

struct keys_chain {
	struct keys_paths paths;
	char *pem; /* certificates alone, the server's own first */
	size_t pem_size;
};

struct keys_chains {
	unsigned count;
	struct keys_chain chains[KEYS_PAIRS_MAX];
};

/*
 * The chains of all files, in this order. 0 or -errno, -EBADMSG for a file that is none; then
 * *reterr_error says which. The caller owns *ret_chains, and ends it with keys_free_chains().
 */
int keys_read_chains(const struct keys_paths *paths, unsigned count,
		     struct keys_chains **ret_chains, struct keys_error *reterr_error);
/* NULL is taken. */
void keys_free_chains(struct keys_chains *chains);

/*
 * The certificates in OpenSSL's form; the caller owns both and ends them with X509_free() and
 * sk_X509_pop_free(). 0, -ENOMEM, or -EBADMSG.
 */
int keys_parse_chain(const struct keys_chain *chain, struct x509_st **ret_leaf,
		     struct stack_st_X509 **ret_others, struct keys_error *reterr_error);

/*
 * The private key of a chain, which only its owner and its group may read, of a kind that is
 * served, and the key of the chain's first certificate. The caller owns it and ends it with
 * EVP_PKEY_free(). 0, -errno, or -EBADMSG. For the keyholder, and for keyholder_check(), which
 * only looks whether it would do.
 */
int keys_read_private(const struct keys_chain *chain, struct evp_pkey_st **ret_key,
		      struct keys_error *reterr_error);

/*
 * Is this the time of a chain's first certificate? Otherwise *reterr_error says what clients will say. Such a
 * certificate is served all the same: not every client looks, and the clock may be wrong.
 */
bool keys_is_in_time(const struct keys_chain *chain, struct keys_error *reterr_error);

/*
 * SHA-256 of the public half (SubjectPublicKeyInfo): what both sides of the keyholder's socket
 * call a key. -EBADMSG when OpenSSL fails.
 */
int keys_fingerprint(const struct x509_st *leaf, uint8_t *ret_fingerprint);

/* Why key, whose public half is enough, is not served, static text, or NULL when it is. */
const char *keys_refuse_kind(const struct evp_pkey_st *key);

#ifdef __cplusplus
}
#endif
