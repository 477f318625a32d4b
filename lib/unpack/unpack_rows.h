/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpack_rows.h - the table of formats, and what their decoders share.
 *
 * Flow: unpack.c: a piece of an object -> the row's push(), or into a spool and from there, at the
 *       end, to the row's opened() -> unpack_open(), unpack_give(), unpack_close(),
 *       unpack_tell() -> the budget is looked at -> the caller's events.
 *
 *     static void zip_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
 *
 *     { .kind = CONTENT_ZIP, .place = UNPACK_HERE, .state_size = UNPACK_HERE_STATE,
 *       .begin = unpack_zip_begin, .push = unpack_zip_push, .end = unpack_zip_end },
 *
 * A row streams, and has push and end, or is spooled, and has opened. Only
 * for lib/unpack: what others may use is in unpack.h.
 *
 * Limits are met at places that do not depend on how the input is cut: the total at its byte, the
 * ratio where unpack_is_dense() is asked, which is at fixed offsets of the input or of the output.
 */

#include "lib/unpack/unpack.h"

#define UNPACK_PIECE (16 * 1024) /* no data event has more */

struct unpack_row {
	enum content_kind kind;
	enum unpack_place place;
	/*
	 * unpack->state has state_size bytes, aligned as of malloc(). 0 or -ENOMEM, behind
	 * which there is nothing to free. NULL: the state begins as all zeros.
	 */
	size_t state_size;
	int (*begin)(struct unpack *unpack);
	/* Not called when unpack->is_over; may be called with a size of 0. */
	void (*push)(struct unpack *unpack, const uint8_t *bytes, size_t size);
	/* Also when unpack->is_over. Frees what begin() took; a member that is open is closed behind it. */
	void (*end)(struct unpack *unpack);
	/* Spooled: all bytes of a whole object. It keeps to the budget by the functions below. */
	void (*opened)(struct unpack *unpack, const uint8_t *bytes, size_t size);
};

/* Where one object is. */
struct unpack {
	const struct unpack_row *row;
	struct unpack_budget *budget;
	const struct unpack_events *events;
	void *context;
	void *state; /* the row's */
	uint64_t in; /* how far the decoder is in the object: the row's to count */
	uint64_t out;
	bool is_over;	/* no more is looked at */
	bool is_silent; /* the object was cut elsewhere: its flaws are that cut's */
	bool is_open;	/* a member is */
	bool is_sure;
	bool has_counted;
	uint64_t list_end; /* of the last one, as of in; 0: none */
	void *member;	   /* NULL: not wanted */
	char name[UNPACK_NAME_SIZE];
	uint8_t *spool;
	size_t spool_size;
	size_t spool_room;
};

/* A member begins; its name is as shown. false: there are too many, and it is over. */
bool unpack_open(struct unpack *unpack, const char *name);
/* Into the spool, which a row that streams may have, too. false: there is no room, and what was in it is gone. */
bool unpack_keep(struct unpack *unpack, const uint8_t *bytes, size_t size);
/* Bytes of the member that is open. false: it is over. */
bool unpack_give(struct unpack *unpack, const uint8_t *bytes, size_t size);
/* The same, looking at the ratio behind each piece: for decoders whose own steps do not depend on cuts. */
bool unpack_pour(struct unpack *unpack, const uint8_t *bytes, size_t size);
/* Takes size bytes off the budget, as unpack_give() does, and gives none. false as above. */
bool unpack_spend(struct unpack *unpack, size_t size);
void unpack_close(struct unpack *unpack, bool is_whole);
/* What counts as a member and has no bytes. false as above. */
bool unpack_count(struct unpack *unpack);
/* Of the member that is open, or of the object. */
void unpack_tell(struct unpack *unpack, enum unpack_flaw flaw);
void unpack_tell_of(struct unpack *unpack, enum unpack_flaw flaw, const char *name);
/* The same, and the end of all: the member that is open is closed. */
void unpack_stop(struct unpack *unpack, enum unpack_flaw flaw);
/* The end of all too: behind the member, which is whole, is something else. gzip(1) warns of it. */
void unpack_meet_garbage(struct unpack *unpack);
/* As many bytes out of so many in are too many. more: that came out and were not given yet. */
bool unpack_is_dense(const struct unpack *unpack, uint64_t more);

/* unpack_zlib.c, zip/unpack_zip.c, unpack_lzfu.c, pdf/unpack_pdf.c. No state of theirs is larger. */
#define UNPACK_HERE_STATE (87 * 1024)
int unpack_gzip_begin(struct unpack *unpack);
int unpack_mso_begin(struct unpack *unpack);
int unpack_zlib_begin(struct unpack *unpack);
void unpack_zlib_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_zlib_end(struct unpack *unpack);
int unpack_zip_begin(struct unpack *unpack);
void unpack_zip_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_zip_end(struct unpack *unpack);
int unpack_lzfu_begin(struct unpack *unpack);
void unpack_lzfu_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_lzfu_end(struct unpack *unpack);
int unpack_pdf_begin(struct unpack *unpack);
void unpack_pdf_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_pdf_end(struct unpack *unpack);
/* pdf/unpack_sealed.c, and what it needs of the former: a PDF that was decrypted begins, and a stream is so long. */
void unpack_pdf_begin_opened(struct unpack *unpack);
void unpack_pdf_set_length(struct unpack *unpack, uint64_t length);
void unpack_sealed_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_sealed_end(struct unpack *unpack);

/* unpack_cms.c, unpack_onenote.c, unpack_rtf.c. */
#define UNPACK_SMALL_STATE (8 * 1024)
void unpack_cms_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_cms_end(struct unpack *unpack);
void unpack_onenote_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_onenote_end(struct unpack *unpack);
void unpack_rtf_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_rtf_end(struct unpack *unpack);

/* unpack_archive.c */
int unpack_archive_begin(struct unpack *unpack);
void unpack_archive_opened(struct unpack *unpack, const uint8_t *bytes, size_t size);

/* unpack_chm.c. The first for unpack_prepare(). */
void unpack_chm_prepare(void);
void unpack_chm_opened(struct unpack *unpack, const uint8_t *bytes, size_t size);

/* unpack_ole.c: the tables of a file, and a stream at a time. */
#define UNPACK_OLE_MEMORY (24 << 20)
void unpack_ole_opened(struct unpack *unpack, const uint8_t *bytes, size_t size);

/* unpack_arj.c, unpack_streams.c */
int unpack_arj_begin(struct unpack *unpack);
int unpack_streams_begin(struct unpack *unpack);

/* unpack_feed.c, for all of these */
#define UNPACK_FEED_STATE (17 * 1024)
void unpack_feed_push(struct unpack *unpack, const uint8_t *bytes, size_t size);
void unpack_feed_end(struct unpack *unpack);
