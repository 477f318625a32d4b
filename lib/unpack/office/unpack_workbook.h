/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_workbook.h - workbooks of Excel up to 2003 that are encrypted with the password that Excel knows.
 *
 * Flow: unpack_ole.c: FilePass, a record of the stream Workbook -> office_workbook_unlock() -> all of them, in
 *       pieces of any size -> office_workbook_open() -> its records as they would be without a password.
 *
 *     if (office_workbook_unlock(&workbook, record, record_size))
 *             office_workbook_open(&workbook, bytes, size, plain);
 *
 * A record FilePass says how (MS-XLS 2.4.117): by XOR (2.3.7), RC4 (2.3.6), or RC4 with keys of CryptoAPI
 * (2.3.5). The heads of records are as they were, and some records, but RC4 counts their bytes, too. A plain
 * value. Only for lib/unpack.
 */

#include "lib/unpack/office/unpack_office.h"

#define OFFICE_RC4_RUN	   1024 /* bytes with one key */
#define OFFICE_RECORD_HEAD 4	/* 2 type, 2 size */

enum office_workbook_kind { OFFICE_WORKBOOK_XOR, OFFICE_WORKBOOK_RC4, OFFICE_WORKBOOK_CRYPTOAPI };

struct office_workbook {
	enum office_workbook_kind kind;
	size_t key_size;
	uint8_t hash[OFFICE_HASH_MAX]; /* that keys are made of */
	uint64_t offset;
	bool is_begun; /* FilePass was there: records before it are plain */
	uint8_t head[OFFICE_RECORD_HEAD];
	unsigned head_size;
	unsigned at;		     /* in the record, behind its head */
	uint8_t run[OFFICE_RC4_RUN]; /* of RC4, for where offset is */
};

/* Is it FilePass? Of a record these look at the head alone. */
bool office_workbook_is_locked(const uint8_t *record);
/* The end of what stands before the sheets: none has a FilePass of its own. */
bool office_workbook_is_past(const uint8_t *record);
/* record: FilePass. false: another password, or a way that is not known. */
bool office_workbook_unlock(struct office_workbook *ret_workbook, const uint8_t *record,
			    size_t size);
/* ret_bytes has as many. false: libcrypto fails. */
bool office_workbook_open(struct office_workbook *workbook, const uint8_t *bytes, size_t size,
			  uint8_t *ret_bytes);
