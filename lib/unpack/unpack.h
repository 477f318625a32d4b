/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack.h - compressed files and archives, opened as their bytes flow by.
 *
 * Flow: lib/inspect: kind.h says what an object is -> unpack_find() -> unpack_begin() ->
 *       unpack_push() with pieces of any size -> events: members, their bytes, flaws ->
 *       unpack_end().
 *
 *     const struct unpack_row *row = unpack_find(CONTENT_ZIP);
 *     if (row != NULL && unpack_begin(row, memory, &budget, &events, context, &unpack) == 0) {
 *             unpack_push(unpack, bytes, size);
 *             unpack_end(unpack, true);
 *     }
 *
 * Each format is a row of one table with what it may take of memory. Rows of UNPACK_HERE (gzip,
 * zlib, zip) take that once, from the caller, and allocate nothing. The others stand on libarchive
 * and its libraries and are for a process that has nothing to lose (UNPACK_APART): they use
 * malloc(), and run on a stack of their own, which a push goes on with, and which gives way when it
 * has no more to read. Formats that have their directory at the end (7z, ISO 9660, OLE), or their
 * files in any order (CHM), are kept, up to budget.spool_left, and opened at their end.
 *
 * The events do not depend on how the input is cut, but for how data is. No clock, no files, no
 * processes; for one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/content/kind.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UNPACK_NAME_SIZE 256 /* of a member, with its NUL; longer ones are cut */

enum unpack_flaw {
	UNPACK_CUT,	/* it ends too early */
	UNPACK_DAMAGED, /* it is not what it says it is, or a checksum is wrong */
	UNPACK_LYING,	/* the directory of a zip or a cabinet says other things than its members */
	UNPACK_ENCRYPTED,   /* a member, or all */
	UNPACK_UNSUPPORTED, /* a method that we do not have */
	UNPACK_RATIO,	    /* limits: what is behind was not looked at */
	UNPACK_TOTAL,
	UNPACK_MEMBERS,
	UNPACK_MEMORY, /* a window, a dictionary or a spool that is too large */
	UNPACK_FLAW_COUNT,
};

/* What one mail may still make of its bytes. A plain value, shared by all that is in the mail. */
struct unpack_budget {
	uint64_t total_left; /* bytes that come out, in all */
	uint64_t ratio;	     /* of what comes out to what went in, for one object... */
	uint64_t ratio_from; /* ...as soon as so many bytes have come out */
	uint64_t spool_left; /* bytes */
	unsigned members_left;
};
/* In the order above, for C++ as well. */
#define UNPACK_BUDGET                                                                              \
	{                                                                                          \
		256 << 20, 200, 1 << 20, 32 << 20, 10000                                           \
	}

struct unpack_events {
	/*
	 * A member, or what is in a compressed file, whose name is "" when it has none. NULL: not wanted. It ends
	 * before the next begins, but for files of OneNote and scripts of a PDF, which may be in one another.
	 */
	void *(*begin)(void *context, const char *name);
	void (*data)(void *context, void *member, const uint8_t *bytes, size_t size);
	void (*end)(void *context, void *member, bool is_whole);
	/* name: of the member, or "". */
	void (*flaw)(void *context, enum unpack_flaw flaw, const char *name);
	/*
	 * The object once more, as what it may turn out to be: CONTENT_PDF_SEALED. It has data and an end as a member,
	 * and others may be open beside it. NULL: not wanted, and so what it returns.
	 */
	void *(*begin_as)(void *context, enum content_kind kind);
};

enum unpack_place { UNPACK_HERE, UNPACK_APART };

struct unpack;
struct unpack_row; /* in unpack_rows.h */

/* NULL: the kind is nothing that has something in it. */
const struct unpack_row *unpack_find(enum content_kind kind);
enum unpack_place unpack_place(const struct unpack_row *row);
#define UNPACK_HERE_MEMORY (89 * 1024) /* bytes, as of malloc(), for one object of UNPACK_HERE */

/*
 * memory is the caller's for UNPACK_HERE, NULL for UNPACK_APART. budget, events and context are
 * borrowed until unpack_end(). 0 or -ENOMEM.
 */
int unpack_begin(const struct unpack_row *row, void *memory, struct unpack_budget *budget,
		 const struct unpack_events *events, void *context, struct unpack **ret_unpack);
/*
 * Of CONTENT_ZIP: has a list said the same as its members? Has one as many records as it says, whatever is in them?
 * Has it one so near to its end that readers find it?
 */
bool unpack_is_sure(const struct unpack *unpack);
bool unpack_has_counted(const struct unpack *unpack);
bool unpack_has_list(const struct unpack *unpack);
/* Behind the end of the archive, or behind a flaw that ends it, bytes are taken and ignored. */
void unpack_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
/* is_whole: the object is; otherwise it was cut on its way here, and that is no flaw. Frees. */
void unpack_end(struct unpack *unpack, bool is_whole);

/*
 * Once, by a process of UNPACK_APART before it gives up its rights: libarchive and libcrypto would read
 * files for it later. The locale is that of the whole process.
 */
void unpack_prepare(void);

/* "encrypted" and the like. Never NULL. */
const char *unpack_flaw_text(enum unpack_flaw flaw);

#ifdef __cplusplus
}
#endif
