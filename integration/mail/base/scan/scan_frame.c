/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/scan/scan_frame.h"

#include <errno.h>
#include <string.h>

/* ---- numbers ---- */

struct output {
	uint8_t *at;
};

static void put(struct output *output, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		*output->at++ = (uint8_t)(value >> (8 * i));
}

static void put_text(struct output *output, const char *text, size_t max)
{
	const size_t size = strnlen(text, max);
	memcpy(output->at, text, size);
	output->at += size;
}

/* What is left of a packet; is_short when more was asked for than it has. */
struct input {
	const uint8_t *at;
	size_t left;
	bool is_short;
};

static uint64_t get(struct input *input, unsigned size)
{
	uint64_t value = 0;
	if (input->left < size) {
		input->is_short = true;
		return 0;
	}
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)input->at[i] << (8 * i);
	input->at += size;
	input->left -= size;
	return value;
}

static bool get_bool(struct input *input)
{
	const uint64_t value = get(input, 1);
	input->is_short = input->is_short || value > 1;
	return value == 1;
}

/* size bytes, all of which may stand in a line of a log. */
static void get_text(struct input *input, size_t size, char *ret_text, size_t room)
{
	if (input->left < size || size >= room) {
		input->is_short = true;
		return;
	}
	for (size_t i = 0; i < size; i++)
		input->is_short = input->is_short || input->at[i] < 0x20 || input->at[i] == 0x7f;
	memcpy(ret_text, input->at, size);
	ret_text[size] = '\0';
	input->at += size;
	input->left -= size;
}

/* ---- writing ---- */

static void write_begin(const struct scan_frame *frame, struct output *output)
{
	put(output, frame->origin.kind, 1);
	put(output, frame->origin.depth, 1);
	put(output, frame->origin.is_guess, 1);
	put(output, frame->origin.is_beside, 1);
	put(output, frame->number, 4);
	put(output, frame->budget.total_left, 8);
	put(output, frame->budget.ratio, 8);
	put(output, frame->budget.ratio_from, 8);
	put(output, frame->budget.spool_left, 8);
	put(output, frame->budget.members_left, 4);
	put_text(output, frame->path, sizeof(frame->path) - 1);
}

static void write_finding(const struct scan_frame *frame, struct output *output)
{
	const struct inspect_finding *finding = &frame->finding;
	const size_t name_size = strnlen(finding->name, MATCH_NAME_MAX);
	put(output, finding->class_, 1);
	put(output, finding->offset, 8);
	put(output, name_size, 1);
	put_text(output, finding->name, name_size);
	put_text(output, finding->path, sizeof(finding->path) - 1);
}

static void write_finished(const struct scan_frame *frame, struct output *output)
{
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		put(output, frame->counts[i], 4);
	put(output, frame->looked_at, 8);
	put(output, frame->objects, 4);
	put(output, frame->budget.total_left, 8);
	put(output, frame->budget.members_left, 4);
}

size_t scan_frame_write(const struct scan_frame *frame, uint8_t *ret_bytes)
{
	struct output output = { ret_bytes };
	put(&output, frame->type, 1);
	switch (frame->type) {
	case SCAN_FRAME_BEGIN:
		write_begin(frame, &output);
		break;
	case SCAN_FRAME_DATA:
		put(&output, frame->number, 4);
		memcpy(output.at, frame->bytes, frame->size);
		output.at += frame->size;
		break;
	case SCAN_FRAME_END:
		put(&output, frame->number, 4);
		put(&output, frame->is_whole, 1);
		break;
	case SCAN_FRAME_FINDING:
		write_finding(frame, &output);
		break;
	case SCAN_FRAME_FINISHED:
		write_finished(frame, &output);
		break;
	default:
		break;
	}
	return (size_t)(output.at - ret_bytes);
}

/* ---- reading ---- */

static void read_begin(struct input *input, struct scan_frame *frame)
{
	const unsigned kind = (unsigned)get(input, 1);
	frame->origin.depth = (unsigned)get(input, 1);
	frame->origin.is_guess = get_bool(input);
	frame->origin.is_beside = get_bool(input);
	frame->origin.path = frame->path;
	frame->number = (uint32_t)get(input, 4);
	frame->budget.total_left = get(input, 8);
	frame->budget.ratio = get(input, 8);
	frame->budget.ratio_from = get(input, 8);
	frame->budget.spool_left = get(input, 8);
	frame->budget.members_left = (unsigned)get(input, 4);
	get_text(input, input->left, frame->path, sizeof(frame->path));
	if (kind >= CONTENT_KIND_COUNT || frame->origin.depth > INSPECT_DEPTH)
		input->is_short = true;
	else
		frame->origin.kind = (enum content_kind)kind;
}

static void read_finding(struct input *input, struct scan_frame *frame)
{
	struct inspect_finding *finding = &frame->finding;
	const unsigned class_ = (unsigned)get(input, 1);
	finding->offset = get(input, 8);
	get_text(input, (size_t)get(input, 1), finding->name, sizeof(finding->name));
	get_text(input, input->left, finding->path, sizeof(finding->path));
	if (class_ >= INSPECT_CLASS_COUNT || finding->name[0] == '\0')
		input->is_short = true;
	else
		finding->class_ = (enum inspect_class)class_;
}

static void read_finished(struct input *input, struct scan_frame *frame)
{
	for (unsigned i = 0; i < INSPECT_CLASS_COUNT; i++)
		frame->counts[i] = (unsigned)get(input, 4);
	frame->looked_at = get(input, 8);
	frame->objects = (unsigned)get(input, 4);
	frame->budget.total_left = get(input, 8);
	frame->budget.members_left = (unsigned)get(input, 4);
}

static void read_to_decoder(struct input *input, struct scan_frame *frame)
{
	switch (frame->type) {
	case SCAN_FRAME_BEGIN:
		read_begin(input, frame);
		break;
	case SCAN_FRAME_DATA:
		frame->number = (uint32_t)get(input, 4);
		frame->bytes = input->at;
		frame->size = input->left;
		input->is_short = input->is_short || input->left == 0;
		input->left = 0;
		break;
	case SCAN_FRAME_END:
		frame->number = (uint32_t)get(input, 4);
		frame->is_whole = get_bool(input);
		break;
	case SCAN_FRAME_FINISH:
		break;
	default:
		input->is_short = true;
	}
}

static void read_to_scanner(struct input *input, struct scan_frame *frame)
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
		input->is_short = true;
	}
}

int scan_frame_read(const uint8_t *bytes, size_t size, enum scan_frame_direction direction,
		    struct scan_frame *ret_frame)
{
	struct input input = { bytes, size, size > SCAN_FRAME_MAX };
	/* The texts are ended where they are written. */
	ret_frame->path[0] = '\0';
	ret_frame->finding.path[0] = '\0';
	ret_frame->finding.name[0] = '\0';
	ret_frame->type = (enum scan_frame_type)get(&input, 1);
	if (!input.is_short && direction == SCAN_FRAME_TO_DECODER)
		read_to_decoder(&input, ret_frame);
	else if (!input.is_short)
		read_to_scanner(&input, ret_frame);
	return input.is_short || input.left != 0 ? -EBADMSG : 0;
}
