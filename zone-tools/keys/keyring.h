/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keyring.h - the directory that has the keys of a zone: one PEM file each.
 *
 * Flow: keydir.c makes a key for a rollover, reads those that it has, and removes one that it has
 *       left behind. key.h writes and reads the file.
 *
 * A file is called after its zone, its algorithm and its tag, such as bl6.example.+13+23543.pem, so
 * that zones may share a directory. A byte of the zone's name that is no letter, digit, "-" or "."
 * is "_" there; which key it is, its DNSKEY says.
 */

#include "zone-tools/keys/key.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KEYRING_EOTHER (-2310) /* another key is in the file */

#define KEYRING_PATH_MAX 4096

/* Text for that, and for key.h's. Never NULL. */
const char *keyring_strerror(int status);

/* The path of a key, in KEYRING_PATH_MAX bytes; -ENAMETOOLONG. */
int keyring_path(const char *directory, const struct dnsblv6_labels *zone, uint8_t algorithm,
		 uint16_t tag, char *ret_path);

/*
 * A new key with its file. A directory that is not there is made, for its owner alone. The tag is
 * none of those that are taken. ret_path as above.
 */
int keyring_make(const char *directory, const struct dnsblv6_labels *zone, uint8_t algorithm,
		 const uint16_t *taken, size_t taken_count, struct key **ret_key, char *ret_path);

/* The key of that DNSKEY. ret_path is written in any case. KEYRING_EOTHER, or as key_read(). */
int keyring_read(const char *directory, const struct dnsblv6_labels *zone, const uint8_t *dnskey,
		 size_t dnskey_size, struct key **ret_key, char *ret_path);

/* 0 or -errno. */
int keyring_remove(const char *path);

#ifdef __cplusplus
}
#endif
