/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * imapreader.h - the responses of an IMAP4rev1 server, out of bytes as they come (RFC 3501, 7).
 *
 * Flow: bytes of a server -> imaptoken.h -> imapreader_feed() -> a struct imapreader_response
 *       -> imaptalk.c.
 *
 *     while (size > 0) {
 *             enum imapreader_status status = imapreader_feed(&reader, bytes, size, &taken);
 *             // IMAPREADER_RESPONSE: reader.response; IMAPREADER_BROKEN: reader.error
 *             bytes += taken, size -= taken;
 *     }
 *
 * A line is one response, but each number that SEARCH has found is one too, before it. Responses that are
 * unknown here are IMAPREADER_OTHER. Literals are counted and not kept; of a header that was
 * fetched the field Message-ID is.
 *
 * A plain value of fixed size. Nothing here allocates, logs or keeps a pointer.
 */

#include "bench/users-load/imap/imaptoken.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IMAPREADER_LITERAL_MAX (256u << 20)
/* Of a folder's name, or of a field Message-ID with its name; with a NUL. */
#define IMAPREADER_TEXT_SIZE 256

enum imapreader_status {
	IMAPREADER_MORE, /* all bytes are taken */
	IMAPREADER_RESPONSE,
	IMAPREADER_BROKEN,
};

enum imapreader_kind {
	IMAPREADER_CONTINUE, /* "+" */
	IMAPREADER_TAGGED,   /* tag, word, code */
	IMAPREADER_STATE,    /* "* OK" and the like: word, code */
	IMAPREADER_EXISTS,   /* number */
	IMAPREADER_RECENT,
	IMAPREADER_EXPUNGE,
	IMAPREADER_FETCH, /* number, and what has_ says */
	IMAPREADER_FLAGS,
	IMAPREADER_LIST,   /* delimiter, can_select, and the name is in text */
	IMAPREADER_STATUS, /* messages, unseen, uid_next, uid_validity */
	IMAPREADER_FOUND,  /* number: one of SEARCH */
	IMAPREADER_SEARCH, /* its end */
	IMAPREADER_CAPABILITY,
	IMAPREADER_OTHER,
};

enum imapreader_word {
	IMAPREADER_OK,
	IMAPREADER_NO,
	IMAPREADER_BAD,
	IMAPREADER_BYE,
	IMAPREADER_PREAUTH,
};

/* Of a response code those that a client of the load goes by; number is its number. */
enum imapreader_code {
	IMAPREADER_CODE_NONE,
	IMAPREADER_CODE_OTHER,
	IMAPREADER_CODE_CAPABILITY,
	IMAPREADER_CODE_UIDNEXT,
	IMAPREADER_CODE_UIDVALIDITY,
	IMAPREADER_CODE_HIGHESTMODSEQ,
	IMAPREADER_CODE_ALREADYEXISTS,
	IMAPREADER_CODE_TRYCREATE,
};

enum imapreader_flag {
	IMAPREADER_SEEN = 1,
	IMAPREADER_DELETED = 2,
	IMAPREADER_ANSWERED = 4,
	IMAPREADER_FLAGGED = 8,
	IMAPREADER_DRAFT = 16,
	IMAPREADER_RECENT_FLAG = 32,
	IMAPREADER_KEYWORD = 64, /* any other */
};

enum imapreader_can {
	IMAPREADER_CAN_IMAP4REV1 = 1,
	IMAPREADER_CAN_IDLE = 2,
	IMAPREADER_CAN_LITERAL_PLUS = 4,
	IMAPREADER_CAN_LITERAL_MINUS = 8,
	IMAPREADER_CAN_UIDPLUS = 16,
	IMAPREADER_CAN_MOVE = 32,
	IMAPREADER_CAN_CONDSTORE = 64,
	IMAPREADER_CAN_STARTTLS = 128,
	IMAPREADER_CANNOT_LOGIN = 256, /* LOGINDISABLED */
};

/* What is not told is 0. */
struct imapreader_response {
	uint8_t kind, word, code;
	uint8_t flags; /* enum imapreader_flag */
	bool has_flags, has_header, has_body;
	bool can_select;
	char delimiter; /* of LIST; NUL: none */
	uint32_t tag;	/* A and its number; 0: no tag of ours */
	uint32_t number, uid;
	uint32_t capabilities; /* enum imapreader_can */
	uint32_t messages, unseen, uid_next, uid_validity;
	int64_t internal_s; /* INTERNALDATE, since 1970 */
	uint64_t modseq;
	uint64_t size_bytes, body_bytes; /* RFC822.SIZE, BODY[] */
};

struct imapreader {
	struct imaptoken token; /* .text: of a state's text */
	struct imapreader_response response;
	uint8_t error; /* enum imaptoken_error */
	char text
		[IMAPREADER_TEXT_SIZE]; /* of LIST: the name. Of FETCH: "Message-ID: <...>" or "" */

	/* imapreader.c's own. */
	uint8_t step, item, depth;
	uint8_t field_state, field_matched; /* of the header that comes */
	uint16_t text_size;
	bool is_done; /* the response has been given */
};

void imapreader_init(struct imapreader *ret_reader, uint64_t literal_max);
enum imapreader_status imapreader_feed(struct imapreader *reader, const char *bytes, size_t size,
				       size_t *ret_taken);

/* "17-Jul-1996 02:44:25 -0700", the day with a blank or a digit before. Seconds since 1970. */
bool imapreader_parse_date(const char *text, int64_t *ret_s);

#ifdef __cplusplus
}
#endif
