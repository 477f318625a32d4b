/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/read/partreader.h"

#include "lib/format/ascii.h"
#include "lib/mstream/read/entity.h"
#include "lib/mstream/read/leaf.h"
#include "lib/mstream/read/levels.h"
#include "lib/mstream/head/mimehead.h"
#include "lib/mstream/read/readings.h"

#include <string.h>

/* An end of line is looked for in as much at a time: CR is, too, and may be far behind it. */
#define SEARCH_SIZE 256

static bool is_line_end(uint8_t byte)
{
	return byte == '\r' || byte == '\n';
}

size_t partreader_line_size(const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size; at += SEARCH_SIZE) {
		size_t some = size - at < SEARCH_SIZE ? size - at : SEARCH_SIZE;
		const uint8_t *lf = memchr(bytes + at, '\n', some);
		if (lf != NULL)
			some = (size_t)(lf - bytes) - at;
		const uint8_t *cr = memchr(bytes + at, '\r', some);
		if (cr != NULL)
			return (size_t)(cr - bytes);
		if (lf != NULL)
			return (size_t)(lf - bytes);
	}
	return size;
}

/* ---- what comes next ---- */

/* A part ends here, and another begins, or none. */
static void take_delimiter(struct mstream *mail, struct entity *entity, unsigned level_index,
			   bool is_close)
{
	leaf_end(mail, entity, true);
	entity->is_margin = false;
	while (entity->depth > level_index + 1) {
		const struct level *inner = &entity->levels[entity->depth - 1];
		if (inner->kind == LEVEL_MULTIPART && !inner->is_closed)
			mstream_odd(mail, entity, MSTREAM_NO_END);
		levels_pop(entity, entity->depth - 1U);
	}
	struct level *level = &entity->levels[level_index];
	if (level->is_closed && !is_close)
		mstream_odd(mail, entity, MSTREAM_BAD_BOUNDARY);
	level->is_closed = is_close;
	if (is_close) {
		entity_begin_body(entity);
		entity->is_margin = true;
	} else {
		level->number++;
		entity_begin_header(entity, level->is_digest);
	}
	if (entity->has_too_many)
		entity->phase = ENTITY_STOPPED;
	entity->line = LINE_SKIP;
	entity->is_at_delimiter = true;
}

/* Passes what ends a line that is used up. */
static size_t pass_line_end(struct entity *entity, const uint8_t *bytes)
{
	entity->is_behind_cr = bytes[0] == '\r';
	entity->is_behind_lone = false;
	entity->line = LINE_START;
	return 1;
}

static size_t skip_line(struct entity *entity, const uint8_t *bytes, size_t size)
{
	const size_t used = partreader_line_size(bytes, size);
	return used == size ? used : used + pass_line_end(entity, bytes + used);
}

/* Up to ENTITY_LINE_MAX bytes of a line, or to its end, or to stop: true when it is there. */
static bool gather(struct entity *entity, const uint8_t *bytes, size_t size, int stop,
		   size_t *ret_used)
{
	struct mimehead *head = &entity->head;
	size_t at = 0;
	while (at < size && !is_line_end(bytes[at]) && bytes[at] != stop &&
	       head->text_size < ENTITY_LINE_MAX)
		head->text[head->text_size++] = bytes[at++];
	*ret_used = at;
	return at < size || head->text_size == ENTITY_LINE_MAX;
}

/* ---- a header ---- */

static void close_field(struct entity *entity)
{
	if (entity->is_field_open)
		mimehead_close(&entity->head);
	entity->is_field_open = false;
	entity->head.text_size = 0;
}

static void give_up(struct entity *entity)
{
	entity->phase = ENTITY_STOPPED;
	entity->is_gone = true;
}

/* Behind an empty line lines are a text, unless a field of MIME is one of them. */
static bool is_text(const struct entity *entity)
{
	return entity->is_behind_gap && !mimehead_has_field(&entity->head);
}

static void end_header(struct mstream *mail, struct entity *entity)
{
	close_field(entity);
	if (is_text(entity)) {
		give_up(entity);
		return;
	}
	if (entity->is_behind_gap)
		mstream_odd(mail, entity, MSTREAM_BAD_FIELD);
	entity->is_behind_gap = false;
	entity->is_tentative = false;
	readings_begin(mail, entity);
}

/* "From " of mailboxes, and what some readers make of it. */
static bool is_from_line(const struct entity *entity)
{
	const struct mimehead *head = &entity->head;
	return !entity->has_fields &&
	       ((head->text_size >= 5 && memcmp(head->text, "From ", 5) == 0) ||
		(head->text_size >= 6 && memcmp(head->text, ">From ", 6) == 0));
}

/*
 * Some readers pass bytes that are none of a name, such as NUL, and the mark of UTF-8 that editors of
 * texts put before a mail: without them it may be a field all the same.
 */
static void pass_foreign(struct entity *entity)
{
	struct mimehead *head = &entity->head;
	uint16_t kept = 0;
	for (unsigned i = 0; i < head->text_size; i++) {
		if (head->text[i] > ' ' && head->text[i] < 0x7f)
			head->text[kept++] = head->text[i];
	}
	/* Of dashes it would be a delimiter. */
	if (kept == head->text_size || head->text[0] == '-')
		return;
	head->text_size = kept;
	entity->line = LINE_NAME;
}

/* The line that is held is no field: the body begins with it, or it is passed over. */
static void take_garbage(struct mstream *mail, struct entity *entity)
{
	struct mimehead *head = &entity->head;
	uint8_t line[ENTITY_LINE_MAX];
	const size_t size = head->text_size;
	const bool is_from = is_from_line(entity);
	const bool has_fields = entity->has_fields;
	entity->has_fields = true;
	entity->line = LINE_SKIP;
	if (is_from || entity->has_forked)
		return;
	if ((entity->is_tentative && !has_fields) || is_text(entity)) {
		give_up(entity);
		return;
	}
	entity->has_forked = true;
	mstream_odd(mail, entity, MSTREAM_BAD_FIELD);
	struct entity *other = mstream_fork(mail, entity);
	if (other != NULL)
		pass_foreign(other);
	const uint32_t passing = mail->fresh;
	const uint32_t own = ENTITY_BIT(mstream_index(mail, entity));
	memcpy(line, head->text, size);
	end_header(mail, entity);
	mail->fresh |= mstream_replay(mail, own | (mail->fresh & ~passing), line, size) & ~own;
}

static bool is_field_name(const uint8_t *name, size_t size)
{
	while (size > 0 && ascii_is_blank(name[size - 1]))
		size--;
	for (size_t i = 0; i < size; i++) {
		if (name[i] <= ' ' || name[i] >= 0x7f)
			return false;
	}
	return size > 0;
}

static size_t take_name(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
			size_t size)
{
	struct mimehead *head = &entity->head;
	size_t used;
	const bool is_there = gather(entity, bytes, size, ':', &used);
	if (head->text_size >= 2 && head->text[0] == '-' && head->text[1] == '-') {
		entity->line = LINE_DASHES;
		return used;
	}
	if (!is_there)
		return used;
	/* Of a long one the colon may not be there yet. */
	if (head->text_size == ENTITY_LINE_MAX || bytes[used] != ':' ||
	    !is_field_name(head->text, head->text_size)) {
		take_garbage(mail, entity);
		return used;
	}
	entity->has_fields = true;
	entity->is_field_open = mimehead_open(head, head->text, head->text_size);
	entity->line = entity->is_field_open ? LINE_VALUE : LINE_SKIP;
	return used + 1;
}

/* A delimiter of a level that is open; a line of a multipart without a boundary may be its first. */
static bool is_delimiter(struct mstream *mail, struct entity *entity, struct level_match *ret_match)
{
	const struct mimehead *head = &entity->head;
	*ret_match = levels_match(entity, head->text, head->text_size);
	if (ret_match->level >= 0 && ret_match->is_exact) {
		take_delimiter(mail, entity, (unsigned)ret_match->level, ret_match->is_close);
		return true;
	}
	if (!levels_guess(entity, head->text, head->text_size))
		return false;
	take_delimiter(mail, entity, entity->depth - 1U, false);
	return true;
}

static size_t take_header_dashes(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
				 size_t size)
{
	struct mimehead *head = &entity->head;
	struct level_match match;
	size_t used;
	if (!gather(entity, bytes, size, -1, &used) || is_delimiter(mail, entity, &match))
		return used;
	const uint8_t *colon = memchr(head->text, ':', head->text_size);
	if (colon != NULL && is_field_name(head->text, (size_t)(colon - head->text))) {
		entity->has_fields = true;
		entity->line = LINE_SKIP;
	} else {
		take_garbage(mail, entity);
	}
	return used;
}

/* A line of blanks alone goes on with its field, and for some readers ends the header. */
static size_t take_header_blank(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
				size_t size)
{
	const bool is_quoted = entity->is_field_open && entity->head.is_quoted;
	size_t used = 0;
	while (used < size && ascii_is_blank(bytes[used]))
		used++;
	/* In a quoted string they are data (RFC 5322, 2.2.3); outside they may be very many. */
	if (is_quoted)
		mimehead_value(&entity->head, bytes, used);
	if (used == size)
		return used;
	if (!is_line_end(bytes[used])) {
		if (entity->is_field_open && !is_quoted)
			mimehead_value(&entity->head, (const uint8_t *)" ", 1);
		entity->line = entity->is_field_open ? LINE_VALUE : LINE_SKIP;
		return used;
	}
	entity->line = LINE_SKIP;
	if (is_text(entity)) {
		give_up(entity);
	} else if (!entity->has_forked) {
		entity->has_forked = true;
		mstream_odd(mail, entity, MSTREAM_BAD_FIELD);
		struct entity *other = mstream_fork(mail, entity);
		if (other != NULL)
			other->line = LINE_START;
	}
	return used;
}

/* Some readers pass over an empty line before the header of a part: a field of MIME tells. */
static void pass_gap(struct mstream *mail, struct entity *entity)
{
	if (entity->has_fields || entity->depth == 0)
		return;
	const struct level *level = &entity->levels[entity->depth - 1];
	if (level->kind != LEVEL_MULTIPART || level->is_digest)
		return;
	struct entity *other = mstream_fork(mail, entity);
	if (other != NULL)
		other->is_behind_gap = true;
}

/*
 * CR CR: where CR ends a line there is an empty line in it. Where only LF does, it is the end of a line when LF is
 * next, which a gateway has made from CR LF, and otherwise a part of the line.
 */
static void pass_double_cr(struct mstream *mail, struct entity *entity)
{
	mstream_odd(mail, entity, MSTREAM_BAD_FIELD);
	struct entity *other = mstream_fork(mail, entity);
	if (other != NULL) {
		other->lone = LONE_IS_DATA;
		other->line = LINE_SKIP;
	}
	entity->lone = LONE_ENDS;
}

/* used: bytes of its end. Returns these. */
static size_t take_empty_line(struct mstream *mail, struct entity *entity, size_t used)
{
	const bool is_first = entity->depth == 0 && !entity->has_fields;
	entity->line = LINE_START;
	if ((is_first && entity->has_forked) || (entity->is_behind_gap && !entity->has_fields))
		return used;
	/* Some readers pass over empty lines before all of a mail. */
	if (is_first) {
		entity->has_forked = true;
		mstream_odd(mail, entity, MSTREAM_BAD_FIELD);
		mstream_fork(mail, entity);
	}
	pass_gap(mail, entity);
	end_header(mail, entity);
	return used;
}

/*
 * A CR without an LF is an empty line, or a byte before a field that readers drop. Before CR LF it is an empty line to
 * all of them.
 */
static size_t take_header_cr(struct mstream *mail, struct entity *entity, const uint8_t *bytes)
{
	const bool is_second = entity->line == LINE_CR_CR;
	entity->line = LINE_START;
	if (bytes[0] == '\n')
		return take_empty_line(mail, entity, 1);
	if (entity->lone == LONE_IS_DATA)
		return 0;
	if (bytes[0] == '\r' && !is_second) {
		entity->line = LINE_CR_CR;
		return 1;
	}
	mstream_odd(mail, entity, MSTREAM_BAD_FIELD);
	struct entity *other = mstream_fork(mail, entity);
	if (other != NULL)
		other->lone = LONE_IS_DATA;
	entity->lone = LONE_ENDS;
	const uint32_t passing = mail->fresh;
	const uint32_t own = ENTITY_BIT(mstream_index(mail, entity));
	take_empty_line(mail, entity, 0);
	if (is_second)
		mail->fresh |= mstream_replay(mail, own | (mail->fresh & ~passing),
					      (const uint8_t *)"\r", 1) &
			       ~own;
	return 0;
}

static size_t start_header_line(struct mstream *mail, struct entity *entity, const uint8_t *bytes)
{
	if (bytes[0] == '\r' && entity->lone != LONE_ENDS && !entity->is_behind_lone) {
		entity->line = LINE_CR;
		return 1;
	}
	if (is_line_end(bytes[0])) {
		if (bytes[0] == '\r' && entity->is_behind_lone && entity->lone == LONE_UNKNOWN)
			pass_double_cr(mail, entity);
		return take_empty_line(mail, entity, pass_line_end(entity, bytes));
	}
	if (ascii_is_blank(bytes[0])) {
		entity->line = entity->has_fields ? LINE_BLANK : LINE_SKIP;
		entity->has_fields = true;
		return 0;
	}
	close_field(entity);
	entity->line = LINE_NAME;
	return 0;
}

static size_t take_value(struct entity *entity, const uint8_t *bytes, size_t size)
{
	const size_t used = partreader_line_size(bytes, size);
	mimehead_value(&entity->head, bytes, used);
	return used == size ? used : used + pass_line_end(entity, bytes + used);
}

static size_t take_header(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
			  size_t size)
{
	switch (entity->line) {
	case LINE_CR:
	case LINE_CR_CR:
		return take_header_cr(mail, entity, bytes);
	case LINE_NAME:
		return take_name(mail, entity, bytes, size);
	case LINE_DASHES:
		return take_header_dashes(mail, entity, bytes, size);
	case LINE_BLANK:
		return take_header_blank(mail, entity, bytes, size);
	case LINE_VALUE:
		return take_value(entity, bytes, size);
	case LINE_SKIP:
		return skip_line(entity, bytes, size);
	default:
		return start_header_line(mail, entity, bytes);
	}
}

/* ---- a body ---- */

static const struct {
	const char *bytes;
	size_t size;
} eols[] = {
	[EOL_NONE] = { "", 0 },
	[EOL_CR] = { "\r", 1 },
	[EOL_LF] = { "\n", 1 },
	[EOL_CRLF] = { "\r\n", 2 },
};

size_t partreader_eol(const struct entity *entity, uint8_t *ret_bytes)
{
	memcpy(ret_bytes, eols[entity->eol].bytes, eols[entity->eol].size);
	return eols[entity->eol].size;
}

/* The end of line that was held back is the body's. */
static void put_eol(struct mstream *mail, struct entity *entity)
{
	const enum entity_eol eol = entity->eol;
	entity->eol = EOL_NONE;
	if (eol != EOL_NONE)
		leaf_data(mail, entity, (const uint8_t *)eols[eol].bytes, eols[eol].size);
}

/* The line that was held back is no delimiter. In one piece: each costs all that looks at it a call. */
static void put_line(struct mstream *mail, struct entity *entity)
{
	const struct mimehead *head = &entity->head;
	uint8_t line[PARTREADER_EOL_SIZE + ENTITY_LINE_MAX];
	const size_t eol_size = partreader_eol(entity, line);
	entity->eol = EOL_NONE;
	memcpy(line + eol_size, head->text, head->text_size);
	leaf_data(mail, entity, line, eol_size + head->text_size);
	entity->line = LINE_TEXT;
}

/* The line is a delimiter for some readers: one reading has it as such, and this one as a part of the body. */
static void take_both_ways(struct mstream *mail, struct entity *entity,
			   const struct level_match *match, bool is_behind_lone)
{
	mstream_odd(mail, entity, MSTREAM_BAD_BOUNDARY);
	struct entity *other = mstream_fork(mail, entity);
	if (other == NULL)
		return;
	if (is_behind_lone) {
		other->lone = LONE_ENDS;
		entity->lone = LONE_IS_DATA;
	}
	if (entity->stream_count > 0)
		leaf_end_early(mail, entity, 0);
	take_delimiter(mail, other, (unsigned)match->level, match->is_close);
}

static void take_line_end(struct mstream *mail, struct entity *entity)
{
	struct level_match match;
	if (entity->eol == EOL_CR && entity->lone != LONE_ENDS) {
		match = levels_match(entity, entity->head.text, entity->head.text_size);
		if (match.level >= 0 && entity->lone == LONE_UNKNOWN)
			take_both_ways(mail, entity, &match, true);
	} else {
		if (is_delimiter(mail, entity, &match))
			return;
		/* By RFC 2046 it is one, and most readers take it for none. */
		if (match.level >= 0)
			take_both_ways(mail, entity, &match, false);
	}
	put_line(mail, entity);
}

static size_t take_body_dashes(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
			       size_t size)
{
	const struct mimehead *head = &entity->head;
	size_t used;
	if (head->text_size == 1 && bytes[0] != '-') {
		put_line(mail, entity);
		return 0;
	}
	if (gather(entity, bytes, size, -1, &used))
		take_line_end(mail, entity);
	return used;
}

/* Where, behind bytes[0], a line begins with a dash, and perhaps with two; size: nowhere. */
static size_t find_dashes(const uint8_t *bytes, size_t size)
{
	for (size_t at = 1; at < size; at++) {
		const uint8_t *dash = memchr(bytes + at, '-', size - at);
		if (dash == NULL)
			return size;
		at = (size_t)(dash - bytes);
		if (is_line_end(bytes[at - 1]) && (at + 1 == size || bytes[at + 1] == '-'))
			return at;
		while (at + 1 < size && bytes[at + 1] == '-')
			at++;
	}
	return size;
}

bool partreader_is_plain(const struct mstream *mail, uint32_t set, const uint8_t *line, size_t size)
{
	const size_t some =
		partreader_line_size(line, size < ENTITY_LINE_MAX ? size : ENTITY_LINE_MAX);
	if (some == size && size < ENTITY_LINE_MAX)
		return false;
	for (uint32_t left = set; left != 0; left &= left - 1) {
		const struct entity *entity = &mail->entities[__builtin_ctz(left)];
		/* Behind the end of a header the line may be a delimiter of what it opens. */
		if (entity->phase == ENTITY_HEADER ||
		    (entity->is_watched && levels_may_match(entity, line, some)))
			return false;
	}
	return true;
}

size_t partreader_text_size(const struct mstream *mail, uint32_t set, const uint8_t *bytes,
			    size_t some, size_t size)
{
	size_t at = find_dashes(bytes, some);
	while (at < some && partreader_is_plain(mail, set, bytes + at, size - at))
		at += find_dashes(bytes + at, some - at);
	return at;
}

static size_t take_text(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
			size_t size)
{
	if (!entity->is_watched) {
		leaf_data(mail, entity, bytes, size);
		return size;
	}
	const size_t used = partreader_text_size(mail, ENTITY_BIT(mstream_index(mail, entity)),
						 bytes, size, size);
	size_t kept = used;
	put_eol(mail, entity);
	if (bytes[used - 1] == '\n') {
		const bool has_cr = used > 1 && bytes[used - 2] == '\r';
		entity->eol = has_cr ? EOL_CRLF : EOL_LF;
		kept -= has_cr ? 2 : 1;
	} else if (bytes[used - 1] == '\r') {
		entity->eol = EOL_CR;
		kept--;
	}
	if (kept < used)
		entity->line = LINE_START;
	if (kept > 0)
		leaf_data(mail, entity, bytes, kept);
	return used;
}

static size_t start_body_line(struct entity *entity, const uint8_t *bytes)
{
	if (entity->eol == EOL_CR && bytes[0] == '\n') {
		entity->eol = EOL_CRLF;
		return 1;
	}
	entity->line = LINE_TEXT;
	if (bytes[0] == '-' && entity->is_watched) {
		entity->line = LINE_DASHES;
		entity->head.text_size = 1;
		entity->head.text[0] = '-';
		return 1;
	}
	return 0;
}

static size_t take_body(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
			size_t size)
{
	switch (entity->line) {
	case LINE_DASHES:
		return take_body_dashes(mail, entity, bytes, size);
	case LINE_SKIP:
		return skip_line(entity, bytes, size);
	case LINE_TEXT:
		return take_text(mail, entity, bytes, size);
	default:
		return start_body_line(entity, bytes);
	}
}

/* ---- both ---- */

static size_t take(struct mstream *mail, struct entity *entity, const uint8_t *bytes, size_t size)
{
	if (entity->phase == ENTITY_STOPPED)
		return size;
	if (entity->is_behind_cr) {
		const bool is_cr = bytes[0] == '\r' && entity->lone == LONE_IS_DATA;
		entity->is_behind_cr = is_cr;
		if (is_cr || bytes[0] == '\n')
			return 1;
		entity->is_behind_lone = true;
		if (entity->lone == LONE_IS_DATA)
			entity->line = LINE_SKIP;
	}
	return entity->phase == ENTITY_HEADER ? take_header(mail, entity, bytes, size)
					      : take_body(mail, entity, bytes, size);
}

size_t partreader_push(struct mstream *mail, struct entity *entity, const uint8_t *bytes,
		       size_t size)
{
	const uint32_t own = ENTITY_BIT(mstream_index(mail, entity));
	size_t used = 0;
	while (used < size && mail->fresh == 0) {
		used += take(mail, entity, bytes + used, size - used);
		if ((mail->used & own) == 0)
			return size;
	}
	return used;
}

static void end_line(struct mstream *mail, struct entity *entity)
{
	struct level_match match;
	if (entity->phase == ENTITY_HEADER && entity->line == LINE_NAME)
		take_garbage(mail, entity);
	else if (entity->phase == ENTITY_HEADER && entity->line == LINE_DASHES &&
		 !is_delimiter(mail, entity, &match))
		take_garbage(mail, entity);
	else if (entity->phase == ENTITY_BODY && entity->line == LINE_DASHES)
		take_line_end(mail, entity);
	else if (entity->phase == ENTITY_HEADER &&
		 (entity->line == LINE_CR || entity->line == LINE_CR_CR))
		take_empty_line(mail, entity, 0);
}

void partreader_end(struct mstream *mail, struct entity *entity, bool is_whole)
{
	end_line(mail, entity);
	if (entity->is_gone) {
		mstream_drop(mail, entity);
		return;
	}
	/* A header without a body: what it says of one is told. */
	if (entity->phase == ENTITY_HEADER && entity->has_fields)
		end_header(mail, entity);
	if (entity->phase == ENTITY_BODY)
		put_eol(mail, entity);
	leaf_end(mail, entity, is_whole);
	entity->is_margin = false;
	while (entity->depth > 0) {
		const struct level *level = &entity->levels[entity->depth - 1];
		if (is_whole && level->kind == LEVEL_MULTIPART && !level->is_closed)
			mstream_odd(mail, entity, MSTREAM_NO_END);
		levels_pop(entity, entity->depth - 1U);
	}
	mstream_drop(mail, entity);
}
