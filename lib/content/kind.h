/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * kind.h - what a file is, by its first bytes.
 *
 * Flow: lib/inspect: the first CONTENT_HEAD_SIZE bytes of an object, or all of a shorter one ->
 *       content_kind() -> lib/unpack, which opens some kinds, and lib/match, whose signatures are
 *       for one kind or for all.
 *
 *     kind = content_kind(head, head_size);
 *
 * Names and declared types are not looked at: a client that is lied to opens what it finds. Kinds
 * that have their mark behind the head are not seen: an image of a CD, whose mark is at 32769, is
 * CONTENT_OTHER here. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As much as content_kind() looks at, as readers of PDF and ClamAV do. */
#define CONTENT_HEAD_SIZE 1024

enum content_kind {
	CONTENT_OTHER, /* bytes */
	CONTENT_TEXT,  /* of a file that is nothing else: printable in all of the head */
	CONTENT_HTML,
	CONTENT_MAIL, /* header fields of RFC 5322 */
	CONTENT_PE,
	CONTENT_ELF,
	CONTENT_MACHO,
	CONTENT_OLE, /* compound file: doc, xls, msi */
	CONTENT_PDF,
	CONTENT_RTF,
	CONTENT_GRAPHICS,
	CONTENT_JAVA,
	CONTENT_SWF,
	CONTENT_TNEF,
	/* What lib/unpack opens. */
	CONTENT_GZIP,
	CONTENT_ZLIB,
	CONTENT_BZIP2,
	CONTENT_XZ,
	CONTENT_LZMA,
	CONTENT_LZIP,
	CONTENT_ZSTD,
	CONTENT_COMPRESS, /* .Z */
	CONTENT_LZ4,
	CONTENT_LZOP,
	CONTENT_ZIP,
	CONTENT_TAR,
	CONTENT_CPIO,
	CONTENT_AR,
	CONTENT_CAB,
	CONTENT_LHA,
	CONTENT_ARJ,
	CONTENT_RAR,
	CONTENT_7Z,
	CONTENT_ISO9660,
	CONTENT_XAR,
	CONTENT_LZFU, /* the RTF of Outlook's mails, within TNEF */
	CONTENT_CMS,  /* signed, of S/MIME and others */
	CONTENT_ONENOTE,
	CONTENT_MSO, /* ActiveMime, of pages that Office has saved: a compound file, compressed */
	CONTENT_CHM, /* compiled help */
	CONTENT_PDF_SEALED, /* what lib/unpack keeps of a PDF that may be encrypted; no file's head says so */
	CONTENT_KIND_COUNT,
};

/* size of CONTENT_HEAD_SIZE, or less when the object ends there. */
enum content_kind content_kind(const uint8_t *head, size_t size);

/*
 * CONTENT_MAIL or CONTENT_HTML when a client that goes by a name may open a file of that kind as such all the
 * same: marks of two to four bytes are soon put before a header or a page, a field before those that are
 * known may be longer than the head, a calendar's lines look like fields, and before them may be a line of
 * Apple Mail's with a number. CONTENT_OTHER: it may not. No mail is looked for in archives, whose heads have
 * those of their members.
 */
enum content_kind content_kind_besides(enum content_kind kind, const uint8_t *head, size_t size);

/*
 * CONTENT_TAR or CONTENT_LHA when the mark is in the name or the size that such an archive begins with, and a sum
 * behind it is right, whatever else the head may be; or CONTENT_OTHER.
 */
enum content_kind content_archive_besides(enum content_kind kind, const uint8_t *head, size_t size);

/*
 * Behind the mark of a cabinet ([MS-CAB]), of which head has 30 bytes, whatever is in the field before its size: where
 * files are, version 1.3, and how many there are.
 */
bool content_is_cab(const uint8_t *head);
/*
 * Does the head say more of the kind than its mark, so that a flaw behind it is one: of LHA the sum of a header, of
 * cpio the digits?
 */
bool content_is_sure(enum content_kind kind, const uint8_t *head, size_t size);

/*
 * May files stand in it as in a text: in what is nothing else, as readers pass controls, and behind a mark of few bytes
 * when all of the head is text?
 */
bool content_may_have_files(enum content_kind kind, const uint8_t *head, size_t size);

/* "zip" and the like, for logs and tables. Never NULL. */
const char *content_kind_name(enum content_kind kind);

#ifdef __cplusplus
}
#endif
