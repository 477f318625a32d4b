/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mstream.h - a mail as it flows: its parts, decoded, and nothing of it kept.
 *
 * Flow: the bytes of a mail, dots undoubled (lib/smtp/body.h), in pieces of any size ->
 *       mstream_push() -> header fields, MIME (RFC 2045 to 2049, 2231, 2047), base64,
 *       quoted-printable, and what stands in text: uuencode, yEnc, BinHex; TNEF -> the events, for
 *       each part its begin, its decoded bytes, its end.
 *
 *     mail = mstream_begin(memory, &events, context);
 *     while ((size = read(fd, bytes, sizeof(bytes))) > 0)
 *             mstream_push(mail, bytes, size);
 *     mstream_end(mail, true);
 *
 * The events are the same, up to how data is cut, wherever the input is cut: lengths of 1 give what
 * one piece gives. In which order views take turns may depend on it, and so may which of too many parts or
 * oddities are left out. Ends of lines may be CRLF, LF or CR.
 *
 * What two readers understand differently (two Content-Types, an odd boundary, base64 with bytes
 * that are none) is read in more than one way: each is a view, MSTREAM_VIEWS at most, and each
 * view's parts are given, those that are the same in all once. An oddity says so.
 *
 * Bounded: a struct mstream is all of the memory, whatever the mail; a field, a boundary, a name or
 * a tree that is larger than the bounds below is an oddity, and what is behind it is given as bytes.
 * It is a plain value without pointers into itself. No I/O, no clock, no allocation; for one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MSTREAM_VIEWS	     4
#define MSTREAM_DEPTH	     16	   /* multiparts and messages within one another */
#define MSTREAM_PARTS	     10000 /* of one mail, in each view */
#define MSTREAM_NAME_SIZE    256   /* with its NUL; longer names are cut */
#define MSTREAM_TYPE_SIZE    80
#define MSTREAM_BOUNDARY_MAX 256 /* RFC 2046 permits 70; of a longer one its beginning is kept */

enum mstream_coding {
	MSTREAM_IDENTITY, /* 7bit, 8bit, binary */
	MSTREAM_BASE64,
	MSTREAM_QUOTED_PRINTABLE,
	MSTREAM_UUENCODE,
	MSTREAM_YENC,
	MSTREAM_BINHEX,
	MSTREAM_TNEF,	 /* an attachment within one */
	MSTREAM_PERCENT, /* of an address, %XX */
	MSTREAM_CODING_COUNT,
};

enum mstream_oddity {
	MSTREAM_TWO_TYPES,    /* or two of another field that says how to read a part */
	MSTREAM_BAD_FIELD,    /* Content-* that is not as RFC 2045 has it */
	MSTREAM_BAD_BOUNDARY, /* of none, or one that readers cut differently */
	MSTREAM_BAD_CODING,   /* an unknown name, or bytes that it does not have */
	MSTREAM_NO_END,	      /* a multipart, or an encoded file, is not closed */
	MSTREAM_LONG_FIELD,
	MSTREAM_TOO_DEEP,
	MSTREAM_TOO_MANY, /* parts: what follows is not looked into */
	MSTREAM_TOO_ODD,  /* more views than there is room for: one may be missing */
	MSTREAM_PARTIAL,  /* message/partial or external-body: the rest is elsewhere */
	MSTREAM_ODDITY_COUNT,
};

/* A part whose body begins. Borrowed for the call. */
struct mstream_part {
	unsigned view; /* 0: as most readers have it */
	/*
	 * "2.1", as IMAP counts (RFC 9051, 6.4.5.1); "1" of a mail without parts; "0" of what is
	 * before the first part or behind the last, and more than empty lines.
	 */
	const char *position;
	const char *type; /* "image/png", in lower case; "text/plain" where none is said */
	const char *name; /* UTF-8 without controls; "" where none is said */
	enum mstream_coding coding;
	bool is_too_deep; /* a multipart or a message that is not looked into, which is told */
	/*
	 * The part, as begin() returned it, of another view that has been the same until now: its
	 * bytes up to here are this one's too, and are not given again. NULL: it begins here.
	 */
	void *before;
};

struct mstream_events {
	/*
	 * What it returns is passed on with the part's data; NULL: its bytes are not wanted. A file
	 * in a text, or in TNEF, begins and ends while its text goes on.
	 */
	void *(*begin)(void *context, const struct mstream_part *part);
	/*
	 * size > 0, and not more than was pushed and MSTREAM_PENDING; but a run of BinHex makes up to
	 * 95 bytes of one, and comes in several pieces.
	 */
	void (*data)(void *context, void *part, const uint8_t *bytes, size_t size);
	/*
	 * Once for each begin that was not NULL. is_whole: the mail was not cut in it; a part without
	 * its end is whole, and odd, as a client shows all that is there of it.
	 */
	void (*end)(void *context, void *part, bool is_whole);
	/* Of a mail 1,000 at most, and one of each kind; MSTREAM_TOO_ODD once. */
	void (*odd)(void *context, enum mstream_oddity oddity, const char *position);
};
/* What quoted-printable holds back, the end of a line, and a line that may be a delimiter. */
#define MSTREAM_PENDING (79 + 2 + 512)

/* In read/mstream_state.h; used by the functions below alone. */
struct mstream;
size_t mstream_size(void);

/* events and context are borrowed until mstream_end(). memory has mstream_size() bytes, as of malloc(). */
struct mstream *mstream_begin(void *memory, const struct mstream_events *events, void *context);
void mstream_push(struct mstream *mail, const uint8_t *bytes, size_t size);
/* Ends what is open. is_whole: the mail is; otherwise parts that are open are not. */
void mstream_end(struct mstream *mail, bool is_whole);

/* "two types" and the like. Never NULL. */
const char *mstream_oddity_text(enum mstream_oddity oddity);
const char *mstream_coding_name(enum mstream_coding coding);

#ifdef __cplusplus
}
#endif
