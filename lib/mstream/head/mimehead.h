/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mimehead.h - what the header of a mail or of a part says of how to read its body.
 *
 * Flow: partreader.c finds fields, and undoes their folding -> mimehead_open(), mimehead_value(),
 *       mimehead_close() -> at the end of the header readings.c: mimehead_finish() -> leaf.c.
 *
 *     mimehead_begin(&head, false);
 *     if (mimehead_open(&head, name, name_size)) {
 *             mimehead_value(&head, bytes, size); as often as there are bytes of it
 *             mimehead_close(&head);
 *     }
 *     mimehead_finish(&head);
 *
 * It knows Content-Type, Content-Transfer-Encoding and Content-Disposition (RFC 2045, 2183, 2231).
 * A field may be as long as it likes: only one parameter is kept at a time, MIMEHEAD_TEXT_SIZE of it.
 *
 * Where readers of mail differ all that they may have understood is kept: the first and the last of
 * several types, more than one boundary, more than one coding; .oddities says why.
 *
 * A plain value. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mstream/mstream.h"
#include "lib/mstream/head/partname.h"

#define MIMEHEAD_TEXT_SIZE	768
#define MIMEHEAD_TYPES		2
#define MIMEHEAD_BOUNDARIES	4 /* of both types */
#define MIMEHEAD_BOUNDARY_SPACE 520
#define MIMEHEAD_CODINGS	3

enum mimehead_field {
	MIMEHEAD_TYPE,
	MIMEHEAD_CODING,
	MIMEHEAD_DISPOSITION,
	MIMEHEAD_FIELD_COUNT,
};

struct mimehead_boundary {
	uint16_t at;   /* in .boundary_bytes */
	uint16_t size; /* 0: delimiters are dashes alone */
	uint8_t type;
	uint32_t next_section; /* of a parameter in sections (RFC 2231, 3); 0: it is in none */
};

struct mimehead {
	uint16_t oddities; /* 1 << enum mstream_oddity */
	/* 1 at least behind mimehead_finish(). */
	uint8_t type_count;
	uint8_t boundary_count;
	/* The first is as most readers have it. None said is MSTREAM_IDENTITY. */
	bool is_uuencode; /* one of the codings */
	uint8_t coding_count;
	uint8_t codings[MIMEHEAD_CODINGS];
	struct mimehead_boundary boundaries[MIMEHEAD_BOUNDARIES];
	char types[MIMEHEAD_TYPES][MSTREAM_TYPE_SIZE];
	uint8_t boundary_bytes[MIMEHEAD_BOUNDARY_SPACE];
	struct partname name;

	/* The rest is mimehead.c's, but for .text, which is free while no field is open. */
	bool is_digest;
	bool has_field[MIMEHEAD_FIELD_COUNT];
	uint8_t field;
	uint8_t type;  /* of this field */
	bool is_first; /* of the field's segments between semicolons */
	bool is_quoted, is_escaped, is_cut;
	uint8_t name_rank;
	uint8_t name_charset;
	uint16_t comment_depth;
	uint16_t text_size;
	uint8_t text[MIMEHEAD_TEXT_SIZE];
};

/* is_digest: parts without a type are mails (RFC 2046, 5.1.5). */
void mimehead_begin(struct mimehead *head, bool is_digest);
/* False: the field says nothing about the body, and has no value and no close. name may be .text. */
bool mimehead_open(struct mimehead *head, const uint8_t *name, size_t name_size);
/* Without ends of lines. */
void mimehead_value(struct mimehead *head, const uint8_t *bytes, size_t size);
void mimehead_close(struct mimehead *head);
/* Has one of its fields been there? */
bool mimehead_has_field(const struct mimehead *head);
void mimehead_finish(struct mimehead *head);

/* Does a type, which is in lower case, begin with word? */
bool mimehead_begins(const char *type, const char *word);
