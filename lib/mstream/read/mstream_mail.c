/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/mstream.h"

#include "lib/mstream/read/entity.h"
#include "lib/mstream/read/levels.h"
#include "lib/mstream/read/mstream_state.h"
#include "lib/mstream/read/partreader.h"

/* Of base64: decoded again for each byte where what reads it may be copied. */
#define AHEAD_SIZE 64

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

static uint32_t fed_by(const struct mstream *mail, uint8_t feed)
{
	uint32_t set = 0;
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		if ((mail->used & ENTITY_BIT(i)) != 0 && mail->feeds[i] == feed)
			set |= ENTITY_BIT(i);
	}
	return set;
}

/* ---- bytes for entities ---- */

/* Of set, those that may have bytes yet: the first of them, or ENTITIES_MAX. */
static unsigned next_of(const struct mstream *mail, uint32_t set, uint8_t feed, const size_t *at,
			size_t size)
{
	unsigned i = 0;
	while (i < ENTITIES_MAX &&
	       ((set & mail->used & ENTITY_BIT(i)) == 0 || mail->feeds[i] != feed || at[i] == size))
		i++;
	return i;
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
		for (unsigned j = 0; j < ENTITIES_MAX; j++) {
			if ((mail->fresh & ENTITY_BIT(j)) != 0)
				at[j] = at[i];
		}
		set |= mail->fresh;
		mail->fresh = 0;
	}
	mail->fresh = fresh & mail->used;
	return set;
}

/* The entity with the lowest number; set is not empty. */
static unsigned first_of(uint32_t set)
{
	return (unsigned)__builtin_ctz(set);
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
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		for (unsigned j = 0; j < ENTITIES_MAX; j++) {
			struct entity *one = &mail->entities[i];
			struct entity *other = &mail->entities[j];
			const uint32_t both = ENTITY_BIT(i) | ENTITY_BIT(j);
			if (i == j || (set & mail->used & both) != both ||
			    one->view > other->view || !one->is_at_delimiter ||
			    !other->is_at_delimiter || one->phase != other->phase ||
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
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		if ((set & mail->used & ENTITY_BIT(i)) != 0 && mail->entities[i].is_gone)
			mstream_drop(mail, &mail->entities[i]);
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

/* Is it amid a line of a header of which nothing is looked at before its end? */
static bool is_in_line(const struct entity *entity)
{
	return entity->phase == ENTITY_HEADER &&
	       (entity->line == LINE_SKIP || entity->line == LINE_VALUE ||
		entity->line == LINE_DASHES);
}

/* Is none of set copied, nor what reads its streams, at any of these bytes? */
static bool are_calm_at(const struct mstream *mail, uint32_t set, const uint8_t *bytes, size_t size)
{
	const bool has_dashes =
		size > 0 && (bytes[0] == '-' || partreader_find_dashes(bytes, size) < size);
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		const struct entity *entity = &mail->entities[i];
		if ((set & ENTITY_BIT(i)) != 0 && entity->phase != ENTITY_STOPPED &&
		    (is_busy(entity) || entity->line == LINE_DASHES ||
		     (has_dashes && entity->is_watched)))
			return false;
	}
	return true;
}

/*
 * The same of what its streams decode to, which is base64. There are AHEAD_SIZE bytes at most, and none is of
 * a line of dashes.
 */
static bool is_calm(const struct mstream *mail, const struct entity *entity, const uint8_t *bytes,
		    size_t size)
{
	if (entity->phase != ENTITY_BODY || entity->line == LINE_SKIP || entity->is_behind_cr)
		return false;
	for (unsigned i = 0; i < entity->stream_count; i++) {
		const struct leaf_stream *stream = &entity->streams[i];
		struct base64 decoder = stream->base64;
		uint8_t out[BASE64_ROOM(AHEAD_SIZE)];
		size_t used;
		size_t made;
		if (!stream->has_nested)
			continue;
		if (stream->coding != MSTREAM_BASE64 ||
		    base64_undo(&decoder, bytes, size, &used, out, &made) != CODING_NONE ||
		    !are_calm_at(mail, fed_by(mail, FEED_OF(mstream_index(mail, entity), i)), out,
				 made))
			return false;
	}
	return true;
}

/* How many bytes set may have when those that are busy are amid mails that are encoded; 0: not known. */
static size_t calm_size(const struct mstream *mail, uint32_t set, const uint8_t *bytes, size_t size)
{
	const size_t some = partreader_find_dashes(bytes, size < AHEAD_SIZE ? size : AHEAD_SIZE);
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		const struct entity *entity = &mail->entities[i];
		if ((set & ENTITY_BIT(i)) != 0 && is_busy(entity) &&
		    !is_calm(mail, entity, bytes, some))
			return 0;
	}
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
	bool are_in_line = true;
	bool has_dashes = bytes[0] == '-';
	size_t room = ENTITY_LINE_MAX - 2; /* of a line of dashes, before it is looked at */
	*ret_busy = ENTITIES_MAX;
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		const struct entity *entity = &mail->entities[i];
		if ((set & ENTITY_BIT(i)) == 0)
			continue;
		if (entity->line == LINE_DASHES) {
			const size_t kept = entity->head.text_size + (size_t)1;
			const size_t left = kept < ENTITY_LINE_MAX ? ENTITY_LINE_MAX - kept : 0;
			room = left < room ? left : room;
			has_dashes = true;
		}
		if (!is_busy(entity))
			continue;
		are_in_line = are_in_line && is_in_line(entity);
		*ret_busy = count++ == 0 ? i : ENTITIES_MAX;
	}
	if (count <= 1 && !has_dashes)
		return partreader_find_dashes(bytes, size);
	size_t some = are_in_line  ? partreader_line_size(bytes, size)
		      : has_dashes ? 0
				   : calm_size(mail, set, bytes, size);
	if (has_dashes && some > room)
		some = room;
	return some > 0 ? some : 1;
}

/* Several, which may meet behind a delimiter. */
static size_t advance_all(struct mstream *mail, uint32_t set, uint8_t feed, const uint8_t *bytes,
			  size_t size)
{
	unsigned busy;
	size_t some = step_size(mail, set, bytes, size, &busy);
	for (unsigned i = 0; i < ENTITIES_MAX; i++) {
		if ((set & ENTITY_BIT(i)) != 0)
			mail->entities[i].is_at_delimiter = false;
	}
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
