/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keyring.h - the directory that has the keys of a zone: one PEM file each.
 *
 * Flow: keydir.c makes a key for a rollover, reads those that it has, and removes one that it has
 *       left behind. key.h writes and reads the file.
 *
 * A file is called after its zone, its algorithm and its tag, such as bl6.example.+13+23543.pem, so
 * that zones may share a directory. A byte of the zone's name that is no letter, digit, "-", "." or "_"
 * is "%" and two hexadecimal digits there; which key it is, its DNSKEY says.
 */

#include "zone-tools/keys/key.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KEYRING_EOTHER	 (-2310) /* another key is in the file */
#define KEYRING_ESEVERAL (-2311) /* keyring_find() has found more than one */

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

/*
 * Is name, of a file in the directory, that of a key of the zone? Then its path is written, too, as
 * above.
 */
bool keyring_parse_name(const char *directory, const struct dnsblv6_labels *zone, const char *name,
			uint8_t *ret_algorithm, uint16_t *ret_tag, char *ret_path);

/* The key in the file of such a name. KEYRING_EOTHER, or as key_read(). */
int keyring_open(const char *path, uint8_t algorithm, uint16_t tag, struct key **ret_key);

/*
 * The one key of the zone that is there, for a store that is not. DNSBLV6_ENOTFOUND, KEYRING_ESEVERAL,
 * KEYRING_EOTHER, or as key_read(). ret_path is written in any case: the key's, or the directory.
 */
int keyring_find(const char *directory, const struct dnsblv6_labels *zone, struct key **ret_key,
		 char *ret_path);

/* 0 or -errno. */
int keyring_remove(const char *path);

#ifdef __cplusplus
}
#endif
