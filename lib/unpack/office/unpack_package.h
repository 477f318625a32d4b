/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_package.h - documents of Office since 2007 that are encrypted with the password that Excel knows.
 *
 * Flow: unpack_ole.c: the stream EncryptionInfo -> office_package_read() -> office_package_unlock() ->
 *       office_package_open(), segment by segment of EncryptedPackage -> a zip.
 *
 *     if (office_package_read(info, info_size, 0, &package) && office_package_unlock(&package))
 *             size = office_package_open(&package, number, segment, size, plain);
 *
 * EncryptionInfo is of bytes (standard encryption, 2.3.4.5) or XML (agile encryption, 2.3.4.10). EncryptedPackage
 * has 8 bytes of size before its segments, each of which is encrypted by itself. AES alone is known. Whether the whole
 * is as it was written is not looked at (2.3.4.14). Only for lib/unpack.
 */

#include "lib/unpack/office/unpack_office.h"

#define OFFICE_SEGMENT	  4096
#define OFFICE_ROUNDS_MAX 10000000 /* 2.3.4.10, spinCount; Office writes 100,000 */

/* How something is encrypted, and by what. */
struct office_seal {
	enum office_hash hash;
	enum office_mode mode;
	size_t key_size;
	size_t salt_size;
	uint8_t salt[64];
};

struct office_package {
	bool is_agile;
	struct office_seal data;
	struct office_seal password;
	uint32_t rounds; /* that unlocking it takes */
	size_t verifier_size;
	size_t hash_size;
	uint8_t verifier[64]; /* the hash of which is hash, when both are decrypted */
	uint8_t hash[64];
	uint8_t key[64]; /* of the data: encrypted, until it is unlocked */
};

/* XML may be in UTF-16, of which all that counts is ASCII: without NULs it is that. Returns the size. */
size_t office_package_narrow(uint8_t *info, size_t size);
/* With the key of that number, from 0. false: there is none, or all is of a kind that is not known. */
bool office_package_read(const uint8_t *info, size_t size, unsigned number,
			 struct office_package *ret_package);
/* false: its password is another. */
bool office_package_unlock(struct office_package *package);
/* How many bytes of a segment are at ret_bytes: whole blocks. */
size_t office_package_open(const struct office_package *package, uint32_t number,
			   const uint8_t *bytes, size_t size, uint8_t *ret_bytes);
