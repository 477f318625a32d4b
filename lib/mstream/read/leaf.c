/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/read/leaf.h"

#include "lib/mstream/read/levels.h"
#include "lib/mstream/head/partname.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

/* Of encoded bytes as many at a time, so that what they make has room on the stack. */
#define CHUNK_SIZE 4096

/* ---- files in the bytes of a stream ---- */

struct finding {
	struct mstream *mail;
	struct entity *entity;
	struct leaf_stream *stream;
};

static unsigned view_of(const struct entity *entity, unsigned stream)
{
	const unsigned view = entity->view + stream;
	return view < MSTREAM_VIEWS ? view : MSTREAM_VIEWS - 1;
}

/* What stands before the first part and behind the last has no head. */
static const char *name_of(const struct entity *entity)
{
	return entity->is_margin ? "" : entity->head.name.text;
}

/* A part begins, unless there are too many. */
static void *begin_part(struct mstream *mail, struct entity *entity, struct mstream_part *part)
{
	char position[LEVELS_POSITION_SIZE];
	if (entity->part_count >= MSTREAM_PARTS) {
		if (!entity->has_too_many)
			mstream_odd(mail, entity, MSTREAM_TOO_MANY);
		entity->has_too_many = true;
		return NULL;
	}
	entity->part_count++;
	levels_position(entity, position);
	part->position = position;
	return mail->events->begin(mail->context, part);
}

static struct finder *finder_of(struct mstream *mail, const struct entity *entity,
				const struct leaf_stream *stream)
{
	return &mail->finders[mstream_index(mail, entity)][stream - entity->streams];
}

static void *begin_file(void *context, enum mstream_coding coding, const char *text)
{
	const struct finding *finding = context;
	struct partname name;
	partname_begin(&name);
	partname_add_words(&name, (const uint8_t *)text, strlen(text));
	partname_finish(&name);
	struct mstream_part part = {
		.view = view_of(finding->entity,
				(unsigned)(finding->stream - finding->entity->streams)),
		.type = "application/octet-stream",
		.name = name.text,
		.coding = coding,
	};
	return begin_part(finding->mail, finding->entity, &part);
}

static bool file_data(void *context, void *part, const uint8_t *bytes, size_t size)
{
	const struct finding *finding = context;
	finding->mail->events->data(finding->mail->context, part, bytes, size);
	return true;
}

static void end_file(void *context, void *part, bool is_whole)
{
	const struct finding *finding = context;
	finding->mail->events->end(finding->mail->context, part, is_whole);
}

static void odd_file(void *context, enum mstream_oddity oddity)
{
	const struct finding *finding = context;
	mstream_odd(finding->mail, finding->entity, oddity);
}

static const struct finder_files files = {
	.begin = begin_file,
	.data = file_data,
	.end = end_file,
	.odd = odd_file,
};

static void find(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		 const uint8_t *bytes, size_t size)
{
	struct finding finding = { mail, entity, stream };
	finder_push(finder_of(mail, entity, stream), bytes, size, &files, &finding);
}

static bool begins_as_tnef(const struct leaf_stream *stream)
{
	static const uint8_t mark[] = { 0x78, 0x9f, 0x3e, 0x22 };
	return stream->head_size == sizeof(mark) && memcmp(stream->head, mark, sizeof(mark)) == 0;
}

/* The first bytes of a stream decide what looks for files in it. */
static void begin_finder(struct mstream *mail, struct entity *entity, struct leaf_stream *stream)
{
	const bool is_tnef = stream->is_tnef || begins_as_tnef(stream);
	stream->is_known = true;
	if (!is_tnef && !stream->may_be_text)
		return;
	assert(stream - entity->streams < ENTITY_FINDERS); /* copies are known, and have none */
	stream->has_finder = true;
	finder_begin(finder_of(mail, entity, stream), is_tnef);
	if (stream->is_uuencode)
		finder_expect(finder_of(mail, entity, stream));
	if (stream->head_size > 0)
		find(mail, entity, stream, stream->head, stream->head_size);
}

static void look(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		 const uint8_t *bytes, size_t size)
{
	while (!stream->is_known && size > 0) {
		stream->head[stream->head_size++] = *bytes++;
		size--;
		if (stream->head_size == sizeof(stream->head))
			begin_finder(mail, entity, stream);
	}
	if (stream->has_finder && size > 0)
		find(mail, entity, stream, bytes, size);
}

static void end_finder(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		       bool is_whole)
{
	if (!stream->is_known)
		begin_finder(mail, entity, stream);
	if (!stream->has_finder)
		return;
	struct finding finding = { mail, entity, stream };
	finder_end(finder_of(mail, entity, stream), is_whole, &files, &finding);
	stream->has_finder = false;
}

/* ---- streams ---- */

static void put_out(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		    const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return;
	if (stream->part != NULL)
		mail->events->data(mail->context, stream->part, bytes, size);
	look(mail, entity, stream, bytes, size);
	if (stream->has_nested)
		mstream_feed(
			mail,
			FEED_OF(mstream_index(mail, entity), (unsigned)(stream - entity->streams)),
			bytes, size);
}

static bool is_tnef(const struct entity *entity, const char *type)
{
	return strcmp(type, "application/ms-tnef") == 0 ||
	       strcmp(type, "application/vnd.ms-tnef") == 0 ||
	       (!entity->is_margin && strcasecmp(entity->head.name.text, "winmail.dat") == 0);
}

static bool is_text(const char *type, enum mstream_coding coding)
{
	return coding == MSTREAM_IDENTITY || mimehead_begins(type, "text/") ||
	       mimehead_begins(type, "application/mac-binhex");
}

unsigned leaf_add(struct mstream *mail, struct entity *entity, const char *type,
		  enum mstream_coding coding)
{
	const unsigned number = entity->stream_count;
	assert(number < LEAF_STREAMS);
	struct leaf_stream *stream = &entity->streams[entity->stream_count++];
	memset(stream, 0, sizeof(*stream));
	stream->coding = coding;
	stream->may_be_text = is_text(type, coding);
	stream->is_tnef = is_tnef(entity, type);
	stream->is_uuencode = !entity->is_margin && entity->head.is_uuencode;
	struct mstream_part part = {
		.view = view_of(entity, number),
		.type = type,
		.name = name_of(entity),
		.coding = coding,
		.is_too_deep = entity->is_too_deep,
	};
	stream->part = begin_part(mail, entity, &part);
	return number;
}

/* A stream that goes on in another way. NULL: none is wanted. */
static struct leaf_stream *copy_stream(struct mstream *mail, struct entity *entity,
				       const struct leaf_stream *stream)
{
	assert(entity->stream_count < LEAF_STREAMS); /* each event is told once */
	struct mstream_part part = {
		.view = view_of(entity, (unsigned)(stream - entity->streams) + 1),
		.type = "application/octet-stream",
		.name = name_of(entity),
		.coding = stream->coding,
		.before = stream->part,
	};
	void *other = begin_part(mail, entity, &part);
	if (other == NULL)
		return NULL;
	struct leaf_stream *copy = &entity->streams[entity->stream_count++];
	*copy = *stream;
	copy->part = other;
	copy->has_finder = false;
	copy->is_known = true;
	copy->is_other = true;
	copy->has_nested = false;
	copy->may_be_text = false;
	return copy;
}

void leaf_end_early(struct mstream *mail, struct entity *entity, unsigned stream)
{
	struct mstream_part part = {
		.view = view_of(entity, stream + 1),
		.type = "application/octet-stream",
		.name = name_of(entity),
		.coding = entity->streams[stream].coding,
		.before = entity->streams[stream].part,
	};
	if (part.before == NULL)
		return;
	void *early = begin_part(mail, entity, &part);
	if (early != NULL)
		mail->events->end(mail->context, early, true);
}

static void decode(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		   const uint8_t *bytes, size_t size);

/* From bytes on readers differ. */
static void diverge(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		    enum coding_event event, const uint8_t *bytes, size_t size)
{
	if (stream->is_other)
		return;
	mstream_odd(mail, entity, MSTREAM_BAD_CODING);
	if (stream->part == NULL || event == CODING_ESCAPE)
		return;
	if (event != CODING_TRAILING)
		leaf_end_early(mail, entity, (unsigned)(stream - entity->streams));
	if (event == CODING_FOREIGN || (event == CODING_RESUMED && stream->base64.lost_count == 0))
		return;
	struct leaf_stream *other = copy_stream(mail, entity, stream);
	if (other == NULL)
		return;
	if (event == CODING_URL) {
		other->base64.mode = BASE64_WITH_URL;
	} else if (event == CODING_RESUMED) {
		other->base64.mode = BASE64_NO_PAD;
		base64_unpad(&other->base64);
	} else {
		other->qp.mode = QP_DROP;
	}
	decode(mail, entity, other, bytes, size);
}

static void decode(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		   const uint8_t *bytes, size_t size)
{
	uint8_t out[QP_ROOM(CHUNK_SIZE)];
	while (size > 0) {
		const size_t some = size < CHUNK_SIZE ? size : CHUNK_SIZE;
		size_t used;
		size_t out_size;
		const enum coding_event event =
			stream->coding == MSTREAM_BASE64
				? base64_undo(&stream->base64, bytes, some, &used, out, &out_size)
				: qp_undo(&stream->qp, bytes, some, &used, out, &out_size);
		put_out(mail, entity, stream, out, out_size);
		bytes += used;
		size -= used;
		if (event != CODING_NONE)
			diverge(mail, entity, stream, event, bytes, size);
	}
}

/* ---- the leaf ---- */

void leaf_data(struct mstream *mail, struct entity *entity, const uint8_t *bytes, size_t size)
{
	/* What stands beside the parts is one as soon as it is more than empty lines. */
	if (entity->is_margin && entity->stream_count == 0) {
		while (size > 0 && (*bytes == '\r' || *bytes == '\n')) {
			bytes++;
			size--;
		}
		if (size > 0)
			leaf_add(mail, entity, "text/plain", MSTREAM_IDENTITY);
	}
	const unsigned count = entity->stream_count;
	for (unsigned i = 0; i < count && size > 0; i++) {
		struct leaf_stream *stream = &entity->streams[i];
		if (stream->coding == MSTREAM_IDENTITY)
			put_out(mail, entity, stream, bytes, size);
		else
			decode(mail, entity, stream, bytes, size);
	}
}

/* What a decoder has held back. */
static void end_coding(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		       bool is_whole)
{
	uint8_t out[QP_ROOM(0)];
	size_t size = 0;
	if (stream->coding == MSTREAM_QUOTED_PRINTABLE)
		qp_end(&stream->qp, out, &size);
	if (stream->coding == MSTREAM_BASE64) {
		if (is_whole && !stream->is_other && base64_is_cut(&stream->base64)) {
			mstream_odd(mail, entity, MSTREAM_BAD_CODING);
			leaf_end_early(mail, entity, (unsigned)(stream - entity->streams));
		}
		size = base64_end(&stream->base64, out);
	}
	put_out(mail, entity, stream, out, size);
}

static void end_stream(struct mstream *mail, struct entity *entity, struct leaf_stream *stream,
		       bool is_whole)
{
	end_coding(mail, entity, stream, is_whole);
	end_finder(mail, entity, stream, is_whole);
	if (stream->has_nested)
		mstream_end_feed(
			mail,
			FEED_OF(mstream_index(mail, entity), (unsigned)(stream - entity->streams)),
			is_whole);
	if (stream->part != NULL)
		mail->events->end(mail->context, stream->part, is_whole);
}

void leaf_end(struct mstream *mail, struct entity *entity, bool is_whole)
{
	for (unsigned i = 0; i < entity->stream_count; i++)
		end_stream(mail, entity, &entity->streams[i], is_whole);
	entity->stream_count = 0;
}
