/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/scan_frame.h"

#include <errno.h>
#include <string.h>

#include "lib/format/bytes.h"

/* ---- texts ---- */

static void put_text(uint8_t **out, const char *text, size_t max)
{
	bytes_put_string(out, (const uint8_t *)text, strnlen(text, max));
}

static bool take_bool(struct bytes_input *input)
{
	const uint64_t value = bytes_take(input, 1);
	input->has_failed = input->has_failed || value > 1;
	return value == 1;
}

/* size bytes, all of which may stand in a line of a log. */
static void take_text(struct bytes_input *input, size_t size, char *ret_text, size_t room)
{
	const uint8_t *text = size < room ? bytes_take_string(input, size) : NULL;
	input->has_failed = text == NULL;
	for (size_t i = 0; !input->has_failed && i < size; i++)
		input->has_failed = text[i] < 0x20 || text[i] == 0x7f;
	if (input->has_failed)
		return;
	memcpy(ret_text, text, size);
	ret_text[size] = '\0';
}

/* ---- writing ---- */

static void write_begin(const struct scan_frame *frame, uint8_t **out)
{
	bytes_put(out, frame->origin.kind, 1);
	bytes_put(out, frame->origin.depth, 1);
	bytes_put(out, frame->origin.is_guess, 1);
	bytes_put(out, frame->origin.is_beside, 1);
	bytes_put(out, frame->number, 4);
	bytes_put(out, frame->budget.total_left, 8);
	bytes_put(out, frame->budget.ratio, 8);
	bytes_put(out, frame->budget.ratio_from, 8);
	bytes_put(out, frame->budget.spool_left, 8);
	bytes_put(out, frame->budget.members_left, 4);
	put_text(out, frame->path, sizeof(frame->path) - 1);
}

static void write_finding(const struct scan_frame *frame, uint8_t **out)
{
	const struct inspect_finding *finding = &frame->finding;
	const size_t name_size = strnlen(finding->name, MATCH_NAME_MAX);
	bytes_put(out, finding->class_, 1);
	bytes_put(out, finding->offset, 8);
	bytes_put(out, name_size, 1);
	put_text(out, finding->name, name_size);
	put_text(out, finding->path, sizeof(finding->path) - 1);
}

static void write_finished(const struct scan_frame *frame, uint8_t **out)
{
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		bytes_put(out, frame->counts[i], 4);
	bytes_put(out, frame->looked_at, 8);
	bytes_put(out, frame->objects, 4);
	bytes_put(out, frame->budget.total_left, 8);
	bytes_put(out, frame->budget.members_left, 4);
}

size_t scan_frame_write(const struct scan_frame *frame, uint8_t *ret_bytes)
{
	uint8_t *out = ret_bytes;
	bytes_put(&out, frame->type, 1);
	switch (frame->type) {
	case SCAN_FRAME_BEGIN:
		write_begin(frame, &out);
		break;
	case SCAN_FRAME_DATA:
		bytes_put(&out, frame->number, 4);
		bytes_put_string(&out, frame->bytes, frame->size);
		break;
	case SCAN_FRAME_END:
		bytes_put(&out, frame->number, 4);
		bytes_put(&out, frame->is_whole, 1);
		break;
	case SCAN_FRAME_FINDING:
		write_finding(frame, &out);
		break;
	case SCAN_FRAME_FINISHED:
		write_finished(frame, &out);
		break;
	default:
		break;
	}
	return (size_t)(out - ret_bytes);
}

/* ---- reading ---- */

static void read_begin(struct bytes_input *input, struct scan_frame *frame)
{
	const unsigned kind = (unsigned)bytes_take(input, 1);
	frame->origin.depth = (unsigned)bytes_take(input, 1);
	frame->origin.is_guess = take_bool(input);
	frame->origin.is_beside = take_bool(input);
	frame->origin.path = frame->path;
	frame->number = (uint32_t)bytes_take(input, 4);
	frame->budget.total_left = bytes_take(input, 8);
	frame->budget.ratio = bytes_take(input, 8);
	frame->budget.ratio_from = bytes_take(input, 8);
	frame->budget.spool_left = bytes_take(input, 8);
	frame->budget.members_left = (unsigned)bytes_take(input, 4);
	take_text(input, input->size, frame->path, sizeof(frame->path));
	if (kind >= CONTENT_KIND_COUNT || frame->origin.depth > INSPECT_DEPTH)
		input->has_failed = true;
	else
		frame->origin.kind = (enum content_kind)kind;
}

static void read_finding(struct bytes_input *input, struct scan_frame *frame)
{
	struct inspect_finding *finding = &frame->finding;
	const unsigned class_ = (unsigned)bytes_take(input, 1);
	finding->offset = bytes_take(input, 8);
	take_text(input, (size_t)bytes_take(input, 1), finding->name, sizeof(finding->name));
	take_text(input, input->size, finding->path, sizeof(finding->path));
	if (class_ >= INSPECT_CLASS_COUNT || finding->name[0] == '\0')
		input->has_failed = true;
	else
		finding->class_ = (enum inspect_class)class_;
}

static void read_finished(struct bytes_input *input, struct scan_frame *frame)
{
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		frame->counts[i] = (unsigned)bytes_take(input, 4);
	frame->looked_at = bytes_take(input, 8);
	frame->objects = (unsigned)bytes_take(input, 4);
	frame->budget.total_left = bytes_take(input, 8);
	frame->budget.members_left = (unsigned)bytes_take(input, 4);
}

static void read_to_decoder(struct bytes_input *input, struct scan_frame *frame)
{
	switch (frame->type) {
	case SCAN_FRAME_BEGIN:
		read_begin(input, frame);
		break;
	case SCAN_FRAME_DATA:
		frame->number = (uint32_t)bytes_take(input, 4);
		frame->size = input->size;
		frame->bytes = bytes_take_string(input, frame->size);
		input->has_failed = input->has_failed || frame->size == 0;
		break;
	case SCAN_FRAME_END:
		frame->number = (uint32_t)bytes_take(input, 4);
		frame->is_whole = take_bool(input);
		break;
	case SCAN_FRAME_FINISH:
		break;
	default:
		input->has_failed = true;
	}
}

static void read_to_scanner(struct bytes_input *input, struct scan_frame *frame)
{
	switch (frame->type) {
	case SCAN_FRAME_FINDING:
		read_finding(input, frame);
		break;
	case SCAN_FRAME_FINISHED:
		read_finished(input, frame);
		break;
	case SCAN_FRAME_HELLO:
		break;
	default:
		input->has_failed = true;
	}
}

int scan_frame_read(const uint8_t *bytes, size_t size, enum scan_frame_direction direction,
		    struct scan_frame *ret_frame)
{
	struct bytes_input input = { bytes, size, size > SCAN_FRAME_MAX };
	/* The texts are ended where they are written. */
	ret_frame->path[0] = '\0';
	ret_frame->finding.path[0] = '\0';
	ret_frame->finding.name[0] = '\0';
	ret_frame->type = (enum scan_frame_type)bytes_take(&input, 1);
	if (!input.has_failed && direction == SCAN_FRAME_TO_DECODER)
		read_to_decoder(&input, ret_frame);
	else if (!input.has_failed)
		read_to_scanner(&input, ret_frame);
	return bytes_finish(&input) == DNSBLV6_OK ? 0 : -EBADMSG;
}
