/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/decoder.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "integration/mail/base/scan/scan_frame.h"

/* Open at a time, one within the other or in several readings of one part. */
#define ARCHIVES 16
/* Findings of a class that are told; more are counted. */
#define TOLD_MAX 64

struct archive {
	struct inspection *inspection; /* NULL: free */
	uint32_t number;
};

struct decoder {
	int fd;
	struct inspect_pool *pool;
	struct inspect_rules rules;
	struct unpack_budget budget;
	bool has_budget;
	struct archive archives[ARCHIVES];
	struct scan_frame finished;
	unsigned told[INSPECT_CLASS_COUNT];
	struct scan_frame frame; /* as it came in */
	struct scan_frame answer;
	uint8_t bytes[SCAN_FRAME_MAX];
};

static void say(const struct decoder *decoder, const struct scan_frame *frame)
{
	uint8_t bytes[SCAN_FRAME_SMALL];
	const size_t size = scan_frame_write(frame, bytes);
	/* Without a scanner there is nothing to do any more. */
	if (write(decoder->fd, bytes, size) != (ssize_t)size)
		_exit(EX_IOERR);
}

static void take_found(void *context, const struct inspect_finding *finding)
{
	struct decoder *decoder = (struct decoder *)context;
	if (decoder->told[finding->class_] == TOLD_MAX)
		return;
	decoder->told[finding->class_]++;
	decoder->answer.type = SCAN_FRAME_FINDING;
	decoder->answer.finding = *finding;
	say(decoder, &decoder->answer);
}

static struct archive *find_archive(struct decoder *decoder, uint32_t number)
{
	for (unsigned i = 0; i < ARCHIVES; i++) {
		struct archive *archive = &decoder->archives[i];
		if (archive->inspection != NULL && archive->number == number)
			return archive;
	}
	return NULL;
}

static struct archive *free_archive(struct decoder *decoder)
{
	for (unsigned i = 0; i < ARCHIVES; i++) {
		if (decoder->archives[i].inspection == NULL)
			return &decoder->archives[i];
	}
	return NULL;
}

static void refuse(struct decoder *decoder, const char *path)
{
	struct inspect_finding finding = { .class_ = INSPECT_BUSY, .name = "busy: decoders" };
	memcpy(finding.path, path, sizeof(finding.path));
	decoder->finished.counts[INSPECT_BUSY]++;
	take_found(decoder, &finding);
}

/* What the mail may still make of its bytes: the smaller one of what either side knows. */
static void take_budget(struct decoder *decoder, const struct unpack_budget *given)
{
	struct unpack_budget *budget = &decoder->budget;
	if (!decoder->has_budget) {
		*budget = *given;
		decoder->has_budget = true;
		return;
	}
	if (given->total_left < budget->total_left)
		budget->total_left = given->total_left;
	if (given->spool_left < budget->spool_left)
		budget->spool_left = given->spool_left;
	if (given->members_left < budget->members_left)
		budget->members_left = given->members_left;
}

static void begin_archive(struct decoder *decoder)
{
	const struct scan_frame *frame = &decoder->frame;
	struct archive *archive = free_archive(decoder);
	take_budget(decoder, &frame->budget);
	if (archive == NULL) {
		refuse(decoder, frame->path);
		return;
	}
	if (inspect_begin_apart(decoder->pool, &frame->origin, &decoder->rules,
				&archive->inspection) != 0) {
		archive->inspection = NULL;
		refuse(decoder, frame->path);
		return;
	}
	archive->number = frame->number;
}

static void end_archive(struct decoder *decoder, struct archive *archive, bool is_whole)
{
	struct scan_frame *finished = &decoder->finished;
	inspect_end(archive->inspection, is_whole);
	const struct inspect_result *result = inspect_result(archive->inspection);
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		finished->counts[i] += result->counts[i];
	finished->looked_at += result->bytes;
	finished->objects += result->objects;
	inspect_free(archive->inspection);
	archive->inspection = NULL;
}

static void finish(struct decoder *decoder)
{
	for (unsigned i = 0; i < ARCHIVES; i++) {
		if (decoder->archives[i].inspection != NULL)
			end_archive(decoder, &decoder->archives[i], false);
	}
	decoder->finished.type = SCAN_FRAME_FINISHED;
	decoder->finished.budget = decoder->budget;
	say(decoder, &decoder->finished);
}

/* One frame. Is there to be another one? */
static bool serve(struct decoder *decoder)
{
	const struct scan_frame *frame = &decoder->frame;
	struct archive *archive;
	switch (frame->type) {
	case SCAN_FRAME_BEGIN:
		begin_archive(decoder);
		return true;
	case SCAN_FRAME_DATA:
		archive = find_archive(decoder, frame->number);
		if (archive != NULL)
			inspect_push(archive->inspection, frame->bytes, frame->size);
		return true;
	case SCAN_FRAME_END:
		archive = find_archive(decoder, frame->number);
		if (archive != NULL)
			end_archive(decoder, archive, frame->is_whole);
		return true;
	default:
		finish(decoder);
		return false;
	}
}

int decoder_run(int fd, struct inspect_pool *pool)
{
	static struct decoder decoder;
	decoder.fd = fd;
	decoder.pool = pool;
	decoder.rules.shared = &decoder.budget;
	decoder.rules.found = take_found;
	decoder.rules.found_context = &decoder;
	decoder.answer.type = SCAN_FRAME_HELLO;
	say(&decoder, &decoder.answer);
	for (;;) {
		const ssize_t size = read(fd, decoder.bytes, sizeof(decoder.bytes));
		if (size < 0 && errno == EINTR)
			continue;
		/* The scanner has gone, or does not want to know any more. */
		if (size <= 0)
			return 0;
		if (scan_frame_read(decoder.bytes, (size_t)size, SCAN_FRAME_TO_DECODER,
				    &decoder.frame) != 0)
			return EX_PROTOCOL;
		if (!serve(&decoder))
			return 0;
	}
}
