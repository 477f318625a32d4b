/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * key.h - the private key of a zone, and what it signs.
 *
 * Flow: keygen.c makes one -> a PEM file -> signer.c signs with it; ds.c says
 *       what the parent zone publishes about it. Servers never see it.
 * This file alone knows OpenSSL, and how its keys and signatures become those
 * of DNSSEC: RFC 6605 (ECDSA) and RFC 8080 (Ed25519). What is signed is
 * lib/format/dnssec.h's business.
 *
 *     struct key *key = NULL;
 *     uint8_t signature[DNSBLV6_SIGNATURE_BYTES];
 *     int ret = key_read("bl6.pem", &key);
 *     if (ret == DNSBLV6_OK)
 *             ret = key_sign(key, input, input_size, signature);
 *     if (ret != DNSBLV6_OK)
 *             log_error("bl6.pem", "not signed (%s)", key_strerror(ret));
 *     key_free(key);
 *
 * A key may be used in children that fork() made: each has its own copy, and
 * OpenSSL sees that it is another process before it takes random numbers.
 * It must not be used by two threads at a time, constness notwithstanding.
 *
 * The public half is worked out once; no function but those that return a
 * status can fail. Nothing here logs, or asks for a password.
 */

#include "lib/format/dnssec.h"

#ifdef __cplusplus
extern "C" {
#endif

struct key;

/* DNSSEC algorithm numbers. */
enum { KEY_ECDSAP256SHA256 = 13, KEY_ED25519 = 15 };

#define KEY_DNSKEY_MAX 68 /* flags, protocol, algorithm, public key */
#define KEY_DS_SIZE    36 /* key tag, algorithm, digest type, SHA-256 */

#define KEY_EMODE      (-2300) /* key file may be read by others */
#define KEY_EFORMAT    (-2301) /* not a private key in PEM, or damaged */
#define KEY_EALGORITHM (-2302) /* key of another algorithm or curve */
#define KEY_ECRYPTO    (-2303) /* OpenSSL failed */

/* Text for these, for lib/store's and for -errno values. Never NULL. */
const char *key_strerror(int status);

/* The number of "ecdsap256sha256" or "ed25519", in any case; 0 for another word. */
uint8_t key_parse_algorithm(const char *text);

/* KEY_EALGORITHM for a number that is not above. */
int key_generate(uint8_t algorithm, struct key **ret_key);

/*
 * A PEM file without a password, as key_write() or "openssl genpkey" makes it.
 * KEY_EMODE when group or others may read it.
 */
int key_read(const char *path, struct key **ret_key);

/* PKCS#8 in PEM, mode 0600. -EEXIST when there is a file at path; it stays. */
int key_write(const struct key *key, const char *path);

/* The private half is overwritten. */
void key_free(struct key *key);

uint8_t key_algorithm(const struct key *key);
uint16_t key_tag(const struct key *key); /* RFC 4034 appendix B */
/* The same of any DNSKEY's RDATA. */
uint16_t key_dnskey_tag(const uint8_t *rdata, size_t size);

/* DNSKEY RDATA with the flags of a key that signs everything, 257. Returns the size. */
size_t key_dnskey(const struct key *key, uint8_t *ret_rdata);

/* ret_signature has DNSBLV6_SIGNATURE_BYTES; ECDSA's are r and s, 32 bytes each. */
int key_sign(const struct key *key, const uint8_t *data, size_t size, uint8_t *ret_signature);

/* DS RDATA with a SHA-256 digest; zone in lower case. Returns KEY_DS_SIZE; 0: OpenSSL failed. */
size_t key_ds(const struct dnsblv6_labels *zone, const struct key *key, uint8_t *ret_rdata);

/*
 * The same of a DNSKEY's RDATA with a digest of that type. Returns the size, at most KEY_DS_MAX; 0
 * also for a type that this file does not know.
 */
enum { KEY_DIGEST_SHA256 = 2, KEY_DIGEST_SHA384 = 4 };
#define KEY_DS_MAX 52
size_t key_ds_of(const struct dnsblv6_labels *zone, const uint8_t *dnskey, size_t dnskey_size,
		 uint8_t digest_type, uint8_t *ret_rdata);

#ifdef __cplusplus
}
#endif
