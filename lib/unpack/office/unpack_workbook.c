/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/office/unpack_workbook.h"

#include <string.h>

#include "lib/content/little.h"

#define END	      0x000a
#define FILEPASS      0x002f
#define BOUND_SHEET   0x0085
#define ALGORITHM_RC4 0x6801
#define SHORT_KEY     5 /* bytes: 40 bits, as export was limited to */

/* By 2.3.7.1 and 2.3.7.2, of that password. */
static const uint8_t xor_key[] = { 0x59, 0xb3, 0x0a, 0x9a }; /* and its verifier */
static const uint8_t xor_bytes[16] = { 0x87, 0x6b, 0x9a, 0xe2, 0x1e, 0xe3, 0x05, 0x62,
				       0x1e, 0x69, 0x96, 0x60, 0x98, 0x6e, 0x94, 0x04 };

/* ---- keys ---- */

/* Of a run of bytes, by its number; returns its size, 0 when there is none. ret_key has OFFICE_HASH_MAX bytes. */
static size_t make_key(const struct office_workbook *workbook, uint32_t number, uint8_t *ret_key)
{
	const uint8_t block_number[] = { (uint8_t)number, (uint8_t)(number >> 8),
					 (uint8_t)(number >> 16), (uint8_t)(number >> 24) };
	const bool is_old = workbook->kind == OFFICE_WORKBOOK_RC4;
	const enum office_hash hash = is_old ? OFFICE_MD5 : OFFICE_SHA1;
	memset(ret_key, 0, OFFICE_HASH_MAX);
	if (!office_hash(hash, workbook->hash, is_old ? SHORT_KEY : office_hash_size(hash),
			 block_number, sizeof(block_number), ret_key))
		return 0;
	if (is_old)
		return office_hash_size(hash);
	if (workbook->key_size > SHORT_KEY)
		return workbook->key_size;
	/* 2.3.5.2: one of 40 bits has zeros behind it. */
	memset(ret_key + SHORT_KEY, 0, 16 - SHORT_KEY);
	return 16;
}

static bool begin_run(struct office_workbook *workbook)
{
	uint8_t key[OFFICE_HASH_MAX];
	const size_t key_size =
		make_key(workbook, (uint32_t)(workbook->offset / OFFICE_RC4_RUN), key);
	memset(workbook->run, 0, sizeof(workbook->run));
	if (key_size > 0)
		office_rc4(key, key_size, workbook->run, sizeof(workbook->run));
	return key_size > 0;
}

/* The hash of the verifier is the one that stands behind it. */
static bool is_verified(struct office_workbook *workbook, enum office_hash hash,
			const uint8_t *verifier, const uint8_t *said)
{
	uint8_t plain[16];
	uint8_t digest[OFFICE_HASH_MAX];
	if (!begin_run(workbook))
		return false;
	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = verifier[i] ^ workbook->run[i];
	if (!office_hash(hash, plain, sizeof(plain), "", 0, digest))
		return false;
	for (size_t i = 0; i < office_hash_size(hash); i++)
		if (digest[i] != (said[i] ^ workbook->run[sizeof(plain) + i]))
			return false;
	return true;
}

/* 2.3.6.1, 2.3.6.2: 16 salt, 16 verifier, 16 its hash. */
static bool unlock_rc4(struct office_workbook *workbook, const uint8_t *bytes, size_t size)
{
	uint8_t salted[16 * (SHORT_KEY + 16)];
	workbook->kind = OFFICE_WORKBOOK_RC4;
	if (size < 48 || !office_password(OFFICE_MD5, bytes, 0, 0, workbook->hash))
		return false;
	for (size_t i = 0; i < 16; i++) {
		memcpy(salted + i * (SHORT_KEY + 16), workbook->hash, SHORT_KEY);
		memcpy(salted + i * (SHORT_KEY + 16) + SHORT_KEY, bytes, 16);
	}
	return office_hash(OFFICE_MD5, salted, sizeof(salted), "", 0, workbook->hash) &&
	       is_verified(workbook, OFFICE_MD5, bytes + 16, bytes + 32);
}

static bool unlock_cryptoapi(struct office_workbook *workbook, const uint8_t *bytes, size_t size)
{
	struct office_header header;
	workbook->kind = OFFICE_WORKBOOK_CRYPTOAPI;
	if (!office_header(bytes, size, &header) || header.algorithm != ALGORITHM_RC4 ||
	    header.hash_size < office_hash_size(OFFICE_SHA1) || header.key_bits > 128)
		return false;
	workbook->key_size = header.key_bits == 0 ? SHORT_KEY : header.key_bits / 8;
	return workbook->key_size >= SHORT_KEY &&
	       office_password(OFFICE_SHA1, header.salt, 16, 0, workbook->hash) &&
	       is_verified(workbook, OFFICE_SHA1, header.verifier, header.hash);
}

/* Of Excel 95 it is the key and its verifier alone. */
static bool unlock_by(struct office_workbook *workbook, const uint8_t *record, size_t size)
{
	workbook->kind = OFFICE_WORKBOOK_XOR;
	if (size == sizeof(xor_key))
		return memcmp(record, xor_key, sizeof(xor_key)) == 0;
	if (size < 6)
		return false;
	const uint32_t type = little_get16(record);
	const uint32_t major = little_get16(record + 2);
	const uint32_t minor = little_get16(record + 4);
	if (type == 0)
		return memcmp(record + 2, xor_key, sizeof(xor_key)) == 0;
	if (type == 1 && major == 1 && minor == 1)
		return unlock_rc4(workbook, record + 6, size - 6);
	return type == 1 && major >= 2 && major <= 4 && minor == 2 &&
	       unlock_cryptoapi(workbook, record + 6, size - 6);
}

bool office_workbook_is_locked(const uint8_t *record)
{
	return little_get16(record) == FILEPASS;
}

bool office_workbook_is_past(const uint8_t *record)
{
	return little_get16(record) == END;
}

bool office_workbook_unlock(struct office_workbook *ret_workbook, const uint8_t *record,
			    size_t size)
{
	memset(ret_workbook, 0, sizeof(*ret_workbook));
	if (size < OFFICE_RECORD_HEAD || little_get16(record + 2) > size - OFFICE_RECORD_HEAD)
		return false;
	return unlock_by(ret_workbook, record + OFFICE_RECORD_HEAD, little_get16(record + 2));
}

/* ---- records ---- */

/* MS-XLS 2.2.10: where a sheet begins, too, which is in the first 4 bytes of its record. */
static bool is_plain(const struct office_workbook *workbook)
{
	if (!workbook->is_begun)
		return true;
	switch (little_get16(workbook->head)) {
	case 0x0009: /* BOF, of the versions there are */
	case 0x0209:
	case 0x0409:
	case 0x0809:
	case FILEPASS:
	case 0x00e1: /* InterfaceHdr */
	case 0x0138: /* RRDHead */
	case 0x0194: /* UsrExcl */
	case 0x0195: /* FileLock */
	case 0x0196: /* RRDInfo */
		return true;
	case BOUND_SHEET:
		return workbook->at < 4;
	default:
		return false;
	}
}

static uint8_t open_byte(const struct office_workbook *workbook, uint8_t byte)
{
	if (workbook->kind != OFFICE_WORKBOOK_XOR)
		return byte ^ workbook->run[workbook->offset % OFFICE_RC4_RUN];
	const size_t size = little_get16(workbook->head + 2);
	const uint8_t mixed = byte ^ xor_bytes[(workbook->offset + size) % sizeof(xor_bytes)];
	return (uint8_t)(mixed << 3 | mixed >> 5);
}

static uint8_t take_byte(struct office_workbook *workbook, uint8_t byte)
{
	if (workbook->head_size == OFFICE_RECORD_HEAD &&
	    workbook->at == little_get16(workbook->head + 2))
		workbook->head_size = 0;
	if (workbook->head_size < OFFICE_RECORD_HEAD) {
		workbook->head[workbook->head_size++] = byte;
		workbook->at = 0;
		workbook->is_begun =
			workbook->is_begun || (workbook->head_size == OFFICE_RECORD_HEAD &&
					       office_workbook_is_locked(workbook->head));
		return byte;
	}
	const uint8_t plain = is_plain(workbook) ? byte : open_byte(workbook, byte);
	workbook->at++;
	return plain;
}

bool office_workbook_open(struct office_workbook *workbook, const uint8_t *bytes, size_t size,
			  uint8_t *ret_bytes)
{
	for (size_t i = 0; i < size; i++) {
		if (workbook->offset % OFFICE_RC4_RUN == 0 &&
		    workbook->kind != OFFICE_WORKBOOK_XOR && !begin_run(workbook))
			return false;
		ret_bytes[i] = take_byte(workbook, bytes[i]);
		workbook->offset++;
	}
	return true;
}
