/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/mstream.h"

#include "lib/mstream/read/entity.h"
#include "lib/mstream/read/levels.h"
#include "lib/mstream/read/mstream_state.h"
#include "lib/mstream/read/partreader.h"

#include <string.h>

/* Of a body that is encoded: decoded again for each byte where what reads it may be copied. */
#define AHEAD_SIZE 64
/* The same where lines of a header are read. */
#define AHEAD_FIELDS 16

static const char *const oddity_texts[MSTREAM_ODDITY_COUNT] = {
	[MSTREAM_TWO_TYPES] = "two types",
	[MSTREAM_BAD_FIELD] = "bad field",
	[MSTREAM_BAD_BOUNDARY] = "bad boundary",
	[MSTREAM_BAD_CODING] = "bad coding",
	[MSTREAM_NO_END] = "no end",
	[MSTREAM_LONG_FIELD] = "long field",
	[MSTREAM_TOO_DEEP] = "too deep",
	[MSTREAM_TOO_MANY] = "too many parts",
	[MSTREAM_TOO_ODD] = "too odd",
	[MSTREAM_PARTIAL] = "partial",
};

static const char *const coding_names[MSTREAM_CODING_COUNT] = {
	[MSTREAM_IDENTITY] = "identity",
	[MSTREAM_BASE64] = "base64",
	[MSTREAM_QUOTED_PRINTABLE] = "quoted-printable",
	[MSTREAM_UUENCODE] = "uuencode",
	[MSTREAM_YENC] = "yenc",
	[MSTREAM_BINHEX] = "binhex",
	[MSTREAM_TNEF] = "tnef",
	[MSTREAM_PERCENT] = "percent",
};

const char *mstream_oddity_text(enum mstream_oddity oddity)
{
	return (unsigned)oddity < MSTREAM_ODDITY_COUNT ? oddity_texts[oddity] : "unknown";
}

const char *mstream_coding_name(enum mstream_coding coding)
{
	return (unsigned)coding < MSTREAM_CODING_COUNT ? coding_names[coding] : "unknown";
}

/* ---- entities ---- */

unsigned mstream_index(const struct mstream *mail, const struct entity *entity)
{
	return (unsigned)(entity - mail->entities);
}

void mstream_odd(struct mstream *mail, const struct entity *entity, enum mstream_oddity oddity)
{
	char position[LEVELS_POSITION_SIZE];
	const bool is_told = (mail->told & 1U << oddity) != 0;
	/* What is left out is left out at each line from then on. */
	if (is_told && (oddity == MSTREAM_TOO_ODD || mail->told_count >= ODDITIES_MAX))
		return;
	mail->told |= 1U << oddity;
	mail->told_count++;
	levels_position(entity, position);
	mail->events->odd(mail->context, oddity, position);
}

void mstream_drop(struct mstream *mail, const struct entity *entity)
{
	mail->used &= ~ENTITY_BIT(mstream_index(mail, entity));
	mail->fresh &= mail->used;
}

/* NULL: all are in use. */
static struct entity *new_entity(struct mstream *mail, uint8_t feed)
{
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		if ((mail->used & ENTITY_BIT(i)) != 0)
			continue;
		mail->used |= ENTITY_BIT(i);
		mail->feeds[i] = feed;
		return &mail->entities[i];
	}
	return NULL;
}

/* One that no entity of this feed has, from 1; MSTREAM_VIEWS: there is none. */
static unsigned free_view(const struct mstream *mail, uint8_t feed)
{
	unsigned views = 0;
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		if ((mail->used & ENTITY_BIT(i)) != 0 && mail->feeds[i] == feed)
			views |= 1U << mail->entities[i].view;
	}
	unsigned view = 1;
	while (view < MSTREAM_VIEWS && (views & 1U << view) != 0)
		view++;
	return view;
}

struct entity *mstream_fork(struct mstream *mail, struct entity *entity)
{
	const uint8_t feed = mail->feeds[mstream_index(mail, entity)];
	const unsigned view = free_view(mail, feed);
	struct entity *copy = view < MSTREAM_VIEWS ? new_entity(mail, feed) : NULL;
	if (copy == NULL) {
		mstream_odd(mail, entity, MSTREAM_TOO_ODD);
		return NULL;
	}
	*copy = *entity;
	copy->view = (uint8_t)view;
	copy->stream_count = 0;
	mail->fresh |= ENTITY_BIT(mstream_index(mail, copy));
	return copy;
}

struct entity *mstream_nest(struct mstream *mail, struct entity *entity, unsigned stream)
{
	struct entity *nested = new_entity(mail, FEED_OF(mstream_index(mail, entity), stream));
	if (nested == NULL) {
		mstream_odd(mail, entity, MSTREAM_TOO_ODD);
		return NULL;
	}
	entity_init(nested, entity->view);
	levels_inherit(nested, entity);
	nested->part_count = entity->part_count;
	entity->streams[stream].has_nested = true;
	return nested;
}

/* The entity with the lowest number; set is not empty. */
static unsigned first_of(uint32_t set)
{
	return (unsigned)__builtin_ctz(set);
}

static uint32_t fed_by(const struct mstream *mail, uint8_t feed)
{
	uint32_t set = 0;
	for (uint32_t left = mail->used; left != 0; left &= left - 1) {
		if (mail->feeds[first_of(left)] == feed)
			set |= left & -left;
	}
	return set;
}

/* ---- bytes for entities ---- */

/* Of set, those that may have bytes yet: the first of them, or ENTITIES_MAX. */
static unsigned next_of(const struct mstream *mail, uint32_t set, uint8_t feed, const size_t *at,
			size_t size)
{
	for (uint32_t left = set & mail->used; left != 0; left &= left - 1) {
		const unsigned i = first_of(left);
		if (mail->feeds[i] == feed && at[i] < size)
			return i;
	}
	return ENTITIES_MAX;
}

/* Each of set, and each copy of one, has all bytes when it returns. Returns set and the copies. */
static uint32_t advance(struct mstream *mail, uint32_t set, uint8_t feed, const uint8_t *bytes,
			size_t size)
{
	size_t at[ENTITIES_MAX] = { 0 };
	const uint32_t fresh = mail->fresh;
	unsigned i;
	mail->fresh = 0;
	while ((i = next_of(mail, set, feed, at, size)) < ENTITIES_MAX) {
		at[i] += partreader_push(mail, &mail->entities[i], bytes + at[i], size - at[i]);
		for (uint32_t left = mail->fresh; left != 0; left &= left - 1)
			at[first_of(left)] = at[i];
		set |= mail->fresh;
		mail->fresh = 0;
	}
	mail->fresh = fresh & mail->used;
	return set;
}

uint32_t mstream_replay(struct mstream *mail, uint32_t set, const uint8_t *bytes, size_t size)
{
	return advance(mail, set, mail->feeds[first_of(set)], bytes, size);
}

/* One that is alone gets as much as there is; it stops where it is copied. */
static size_t advance_alone(struct mstream *mail, unsigned index, const uint8_t *bytes, size_t size)
{
	const uint32_t fresh = mail->fresh;
	mail->fresh = 0;
	const size_t used = partreader_push(mail, &mail->entities[index], bytes, size);
	mail->fresh = fresh & mail->used;
	return used;
}

/* Two that are behind the same delimiter, in the same tree, go the same way from here. */
static void merge(struct mstream *mail, uint32_t set)
{
	uint32_t met = set & mail->used;
	for (uint32_t left = met; left != 0; left &= left - 1) {
		if (!mail->entities[first_of(left)].is_at_delimiter)
			met &= ~(left & -left);
	}
	if ((met & (met - 1)) == 0)
		return;
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		for (unsigned j = 0; j < ENTITIES_MAX; j++) {
			struct entity *one = &mail->entities[i];
			struct entity *other = &mail->entities[j];
			const uint32_t both = ENTITY_BIT(i) | ENTITY_BIT(j);
			if (i == j || (met & mail->used & both) != both ||
			    one->view > other->view || one->phase != other->phase ||
			    !levels_equal(one, other))
				continue;
			if (one->part_count < other->part_count)
				one->part_count = other->part_count;
			mstream_drop(mail, other);
		}
	}
}

/* Only now, as the entity is still in use while it gives up. */
static void drop_gone(struct mstream *mail, uint32_t set)
{
	for (uint32_t left = set & mail->used; left != 0; left &= left - 1) {
		if (mail->entities[first_of(left)].is_gone)
			mstream_drop(mail, &mail->entities[first_of(left)]);
	}
}

/* May it be copied, or what reads its stream? A body's reader is at a line of dashes alone. */
static bool is_busy(const struct entity *entity)
{
	for (unsigned i = 0; i < entity->stream_count; i++) {
		if (entity->streams[i].has_nested)
			return true;
	}
	return entity->phase == ENTITY_HEADER;
}

static size_t calm_size(const struct mstream *mail, uint32_t set, const uint8_t *bytes,
			size_t size);

/* Does one of set read fields? Then it can have a few bytes at a time alone. */
static bool are_at_fields(const struct mstream *mail, uint32_t set)
{
	for (; set != 0; set &= set - 1) {
		if (mail->entities[first_of(set)].phase == ENTITY_HEADER)
			return true;
	}
	return false;
}

/* What this stream decodes next, which a copy of its decoder says. Returns how many bytes. */
static size_t foresee(const struct leaf_stream *stream, const uint8_t *bytes, size_t size,
		      uint8_t *ret_out)
{
	struct base64 base64 = stream->base64;
	struct qp qp = stream->qp;
	size_t made = 0;
	for (size_t at = 0; at < size;) {
		size_t used;
		size_t some;
		if (stream->coding == MSTREAM_BASE64)
			base64_undo(&base64, bytes + at, size - at, &used, ret_out + made, &some);
		else
			qp_undo(&qp, bytes + at, size - at, &used, ret_out + made, &some);
		at += used;
		made += some;
	}
	return made;
}

/* calm_size() of what this stream decodes, in bytes that are not decoded. */
static size_t calm_coded_size(const struct mstream *mail, const struct entity *entity,
			      const struct leaf_stream *stream, const uint8_t *bytes, size_t size)
{
	const unsigned number = (unsigned)(stream - entity->streams);
	const uint32_t set = fed_by(mail, FEED_OF(mstream_index(mail, entity), number));
	uint8_t text[AHEAD_SIZE + PARTREADER_EOL_SIZE];
	uint8_t out[QP_ROOM(sizeof(text)) + BASE64_ROOM(0)];
	const size_t ahead = are_at_fields(mail, set) ? AHEAD_FIELDS : AHEAD_SIZE;
	const size_t some = size < ahead ? size : ahead;
	const size_t eol_size = partreader_eol(entity, text);
	memcpy(text + eol_size, bytes, some);
	const size_t made = foresee(stream, text, eol_size + some, out);
	const size_t calm = made > 0 ? calm_size(mail, set, out, made) : 0;
	if (calm == made)
		return some;
	/* So many characters make no more bytes than that; four of base64 make three at once. */
	const size_t held = stream->coding == MSTREAM_BASE64 ? 3 : eol_size + stream->qp.held_size;
	const size_t used = calm > held ? calm - held : 0;
	return used < some ? used : some;
}

/* In a line of a header or of dashes it is copied behind a name, at the end, or where the line has no more room. */
static size_t calm_line_size(const struct entity *entity, const uint8_t *bytes, size_t size)
{
	size_t some = partreader_line_size(bytes, size);
	if (entity->line == LINE_CR || entity->line == LINE_CR_CR)
		return 0;
	if (entity->line == LINE_START || entity->line == LINE_NAME) {
		const uint8_t *colon = memchr(bytes, ':', some);
		some = colon != NULL ? (size_t)(colon - bytes) : some;
	}
	if (entity->line != LINE_VALUE && entity->line != LINE_SKIP && entity->line != LINE_BLANK) {
		const size_t kept =
			entity->line == LINE_START ? 1 : entity->head.text_size + (size_t)1;
		const size_t room = kept < ENTITY_LINE_MAX ? ENTITY_LINE_MAX - kept : 0;
		some = some < room ? some : room;
	}
	return some;
}

/* calm_size() of one of set. */
static size_t calm_size_of(const struct mstream *mail, const struct entity *entity,
			   const uint8_t *bytes, size_t size)
{
	if (entity->phase == ENTITY_STOPPED)
		return size;
	if (entity->phase == ENTITY_HEADER || entity->line == LINE_DASHES)
		return calm_line_size(entity, bytes, size);
	size_t some = size;
	for (unsigned i = 0; i < entity->stream_count && some > 0; i++) {
		if (!entity->streams[i].has_nested)
			continue;
		if (entity->line == LINE_SKIP || entity->is_behind_cr)
			return 0;
		some = calm_coded_size(mail, entity, &entity->streams[i], bytes, some);
	}
	return some;
}

/* How many bytes surely copy none of set, nor of what reads its streams, and are no delimiter; 0: not known. */
static size_t calm_size(const struct mstream *mail, uint32_t set, const uint8_t *bytes, size_t size)
{
	size_t some = size < AHEAD_SIZE ? size : AHEAD_SIZE;
	if (bytes[0] == '-' && !partreader_is_plain(mail, set, bytes, size))
		some = partreader_line_size(bytes, some); /* it is held until it is whole */
	else
		some = partreader_text_size(mail, set, bytes, some, size);
	for (uint32_t left = set; left != 0 && some > 0; left &= left - 1)
		some = calm_size_of(mail, &mail->entities[first_of(left)], bytes, some);
	return some;
}

/*
 * How many bytes each of set may have before the next has some. One that is copied takes room that another
 * would have had, and which does is not to depend on where the mail is cut: where several may be copied, each
 * has one byte, or as many as surely copy none. *ret_busy is one that may be copied while no other may, or
 * ENTITIES_MAX.
 */
static size_t step_size(const struct mstream *mail, uint32_t set, const uint8_t *bytes, size_t size,
			unsigned *ret_busy)
{
	unsigned count = 0;
	bool are_free = true; /* of lines of dashes */
	*ret_busy = ENTITIES_MAX;
	for (uint32_t left = set; left != 0; left &= left - 1) {
		const unsigned i = first_of(left);
		are_free = are_free && mail->entities[i].line != LINE_DASHES;
		if (is_busy(&mail->entities[i]))
			*ret_busy = count++ == 0 ? i : ENTITIES_MAX;
	}
	if (count <= 1 && are_free && bytes[0] != '-')
		return partreader_text_size(mail, set, bytes, size, size);
	const size_t some = calm_size(mail, set, bytes, size);
	return some > 0 ? some : 1;
}

/* Several, which may meet behind a delimiter. */
static size_t advance_all(struct mstream *mail, uint32_t set, uint8_t feed, const uint8_t *bytes,
			  size_t size)
{
	unsigned busy;
	size_t some = step_size(mail, set, bytes, size, &busy);
	for (uint32_t left = set; left != 0; left &= left - 1)
		mail->entities[first_of(left)].is_at_delimiter = false;
	if (busy < ENTITIES_MAX) {
		some = advance_alone(mail, busy, bytes, some);
		set &= ~ENTITY_BIT(busy);
	}
	advance(mail, set, feed, bytes, some);
	merge(mail, fed_by(mail, feed));
	drop_gone(mail, fed_by(mail, feed));
	return some;
}

void mstream_feed(struct mstream *mail, uint8_t feed, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		const uint32_t set = fed_by(mail, feed);
		if (set == 0)
			return;
		const size_t used = set == ENTITY_BIT(first_of(set))
					    ? advance_alone(mail, first_of(set), bytes, size)
					    : advance_all(mail, set, feed, bytes, size);
		bytes += used;
		size -= used;
	}
}

void mstream_end_feed(struct mstream *mail, uint8_t feed, bool is_whole)
{
	uint32_t set;
	const uint32_t fresh = mail->fresh;
	while ((set = fed_by(mail, feed)) != 0) {
		mail->fresh = 0;
		partreader_end(mail, &mail->entities[first_of(set)], is_whole);
	}
	mail->fresh = fresh & mail->used;
}

/* ---- the mail ---- */

size_t mstream_size(void)
{
	return sizeof(struct mstream);
}

struct mstream *mstream_begin(void *memory, const struct mstream_events *events, void *context)
{
	struct mstream *mail = memory;
	mail->events = events;
	mail->context = context;
	mail->used = 0;
	mail->fresh = 0;
	mail->told = 0;
	mail->told_count = 0;
	struct entity *entity = new_entity(mail, FEED_MAIL);
	entity_init(entity, 0);
	entity_begin_header(entity, false);
	return mail;
}

void mstream_push(struct mstream *mail, const uint8_t *bytes, size_t size)
{
	mstream_feed(mail, FEED_MAIL, bytes, size);
}

void mstream_end(struct mstream *mail, bool is_whole)
{
	mstream_end_feed(mail, FEED_MAIL, is_whole);
}
