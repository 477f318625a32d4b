/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mstream_state.h - all that is known of a mail while it flows.
 *
 * Flow: mstream_mail.c, which has the entities read -> partreader.c: lines, header fields and delimiters
 *       (levels.c) -> readings.c: what the body is -> leaf.c: its decoded bytes.
 *
 *     mail->entities[0] reads the mail
 *     mail->entities[1] reads the same bytes in another way, from where two ways were possible
 *     mail->entities[2] reads what .entities[0] decodes: a mail that was attached in base64
 *
 * An entity reads a feed: the bytes of the mail, or those of one stream of another entity. One that
 * is odd is copied, and each copy goes on in its own way; when two have come to the same place in
 * the same tree again, one is enough.
 *
 * Plain values without pointers into themselves. Which entities there are stands in .used, so that
 * the memory of those that a mail does not need is not touched.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mstream/finder.h"
#include "lib/mstream/head/coding.h"
#include "lib/mstream/head/mimehead.h"
#include "lib/mstream/mstream.h"

#define ENTITIES_MAX	(MSTREAM_VIEWS + 2)    /* two for mails that are encoded within mails */
#define LEAF_STREAMS	(MIMEHEAD_CODINGS + 3) /* and copies: of base64 two, of quoted-printable one */
#define ENTITY_LINE_MAX 512  /* of a line that may be a delimiter, or a field's name */
#define LEVEL_SPACE	1100 /* of the boundaries of all levels: of 16 as RFC 2046 has them */

enum level_kind {
	LEVEL_MULTIPART,
	LEVEL_MESSAGE,
};

/* A multipart or a message that is open. */
struct level {
	enum level_kind kind;
	uint16_t at; /* of its boundary, in .boundary_bytes */
	uint16_t size;
	bool has_boundary; /* and knows it; one of 0 bytes is one */
	bool is_closed;	   /* its end was there */
	bool is_digest;
	bool is_guessed; /* the first line that looks like a delimiter is one */
	uint32_t number; /* of the part in it, from 1; 0 before the first */
};

/* One way to decode a body. */
struct leaf_stream {
	void *part; /* of mstream_events.begin() */
	enum mstream_coding coding;
	bool has_finder; /* its own of .finders */
	bool may_be_text;
	bool is_uuencode; /* as its header says */
	bool is_tnef;	  /* by its type or name */
	bool is_known;	  /* whether it has a finder, of which kind */
	bool is_other;	  /* the reading of a part that another stream began */
	bool has_nested;  /* entities read it */
	uint8_t head_size;
	uint8_t head[4]; /* until .is_known */
	struct base64 base64;
	struct qp qp;
};

enum entity_phase {
	ENTITY_HEADER,
	ENTITY_BODY,
	ENTITY_STOPPED, /* nothing more is looked at */
};

/* Where in a line. */
enum entity_line {
	LINE_START,
	LINE_CR,     /* of a header, behind one that may be an empty line */
	LINE_CR_CR,  /* of a header, behind two, which are the end of one line when LF is next */
	LINE_NAME,   /* of a field: in .head.text */
	LINE_DASHES, /* of what begins with "-": in .head.text */
	LINE_BLANK,  /* behind the blank that goes on with a field */
	LINE_VALUE,
	LINE_TEXT,
	LINE_SKIP, /* to its end */
};

enum entity_eol {
	EOL_NONE,
	EOL_CR,
	EOL_LF,
	EOL_CRLF,
};

/* What a CR alone is: some readers have lines that end in it, and some have it in a line. */
enum entity_lone {
	LONE_UNKNOWN, /* it has not mattered yet */
	LONE_ENDS,
	LONE_IS_DATA,
};

struct entity {
	uint8_t view;
	enum entity_phase phase;
	enum entity_line line;
	enum entity_eol eol; /* seen in the body, and not known whose it is (RFC 2046, 5.1.1) */
	enum entity_lone lone;
	bool is_behind_cr;   /* an LF that comes next belongs to it */
	bool is_behind_lone; /* the line before has ended in a CR without an LF */
	bool is_field_open;
	bool has_fields;      /* a line of this header has been read */
	bool has_forked;      /* at a line of this header */
	bool is_tentative;    /* to be dropped when it is no header */
	bool is_behind_gap;   /* an empty line was before this header of a part */
	bool is_gone;	      /* is to be dropped at the end of this line */
	bool is_at_delimiter; /* behind one that ends in this line */
	bool is_too_deep;     /* the body that begins is one level too many */
	bool is_margin;	      /* before the first part, or behind the last */
	bool is_watched;      /* has a level with a boundary */
	bool has_too_many;
	uint8_t depth;
	uint8_t stream_count;
	uint32_t part_count;
	struct level levels[MSTREAM_DEPTH];
	struct leaf_stream streams[LEAF_STREAMS];
	uint8_t boundary_bytes[LEVEL_SPACE];
	struct mimehead head;
};

/* Bit of an entity in a set of them. */
#define ENTITY_BIT(index) (1U << (index))
#define FEED_MAIL	  0
#define FEED_OF(entity_index, stream_index)                                                        \
	(uint8_t)(1 + (entity_index)*LEAF_STREAMS + (stream_index))

/*
 * A finder of files for each stream that an entity begins with: were they shared, whether there is one
 * left would depend on which of several entities was fed first, and that on where the mail is cut.
 */
#define ENTITY_FINDERS MIMEHEAD_CODINGS
/* Oddities of a mail; more are told of a kind that has not been told yet only. */
#define ODDITIES_MAX 1000

struct mstream {
	const struct mstream_events *events;
	void *context;
	uint32_t used;	/* entities */
	uint32_t fresh; /* of those: copied at the byte that is read now, and not yet fed */
	uint32_t told;	/* 1 << enum mstream_oddity, of those that have been told */
	uint32_t told_count;
	uint8_t feeds[ENTITIES_MAX];
	struct entity entities[ENTITIES_MAX];
	struct finder finders[ENTITIES_MAX][ENTITY_FINDERS];
};

/* All that read this feed. */
void mstream_feed(struct mstream *mail, uint8_t feed, const uint8_t *bytes, size_t size);
void mstream_end_feed(struct mstream *mail, uint8_t feed, bool is_whole);
/*
 * Those of set, which read one feed, get bytes that were held back. Returns set and those that were
 * copied meanwhile.
 */
uint32_t mstream_replay(struct mstream *mail, uint32_t set, const uint8_t *bytes, size_t size);
/* A copy that goes on at the byte where entity is, without its streams; NULL: there is no room, which is told. */
struct entity *mstream_fork(struct mstream *mail, struct entity *entity);
/* An entity that reads what this stream decodes; NULL as above. Its phase is the caller's. */
struct entity *mstream_nest(struct mstream *mail, struct entity *entity, unsigned stream);
void mstream_drop(struct mstream *mail, const struct entity *entity);
unsigned mstream_index(const struct mstream *mail, const struct entity *entity);
void mstream_odd(struct mstream *mail, const struct entity *entity, enum mstream_oddity oddity);
