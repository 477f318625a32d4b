/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/worker/parcel.h"

#include <errno.h>

/* Behind a refusal for its size a mail is read on for as much again, and this. */
#define OVERRUN_MAX (1024 * 1024)

static void fail(struct parcel *parcel)
{
	parcel->is_failed = true;
	parcel_abort(parcel);
}

static void give(struct parcel *parcel, const uint8_t *bytes, size_t size)
{
	if (parcel->is_failed)
		return;
	if (!screen_append(parcel->screen, bytes, size, &parcel->reply))
		fail(parcel);
}

/* What body.h has refused is the sink's no longer. */
static void look_at_body(struct parcel *parcel)
{
	const enum body_refusal refusal = parcel->body.refusal;
	if (parcel->is_failed || refusal == BODY_FINE)
		return;
	(void)sink_say(&parcel->reply, body_code(refusal), body_text(refusal));
	parcel->reason = body_refusal_name(refusal);
	fail(parcel);
}

/* What has come out of body.h into the block. */
static void take_out(struct parcel *parcel, size_t size)
{
	messageid_take(&parcel->messageid, parcel->block, size);
	look_at_body(parcel);
	give(parcel, parcel->block, size);
}

bool parcel_begin(struct parcel *ret_parcel, struct screen *screen, const struct screen_mail *mail,
		  struct stream *stream, uint64_t size_max, const struct pace_rules *rules)
{
	ret_parcel->screen = screen;
	ret_parcel->stream = stream;
	pace_begin(&ret_parcel->pace, rules);
	ret_parcel->taken = 0;
	ret_parcel->taken_max = size_max > 0 ? size_max * 2 + OVERRUN_MAX : UINT64_MAX;
	ret_parcel->is_failed = false;
	ret_parcel->reason = NULL;
	messageid_init(&ret_parcel->messageid);
	body_init(&ret_parcel->body, size_max);
	ret_parcel->is_open = true;
	if (!screen_begin(screen, mail, &ret_parcel->reply))
		fail(ret_parcel);
	return !ret_parcel->is_failed;
}

/* At least one byte, at most a block and limit. Borrowed from the stream. */
static int wait_bytes(struct parcel *parcel, uint64_t limit, const uint8_t **ret_bytes,
		      size_t *ret_size)
{
	size_t size = 0;
	*ret_bytes = stream_bytes(parcel->stream, &size);
	if (size == 0) {
		const int got = pace_fill(&parcel->pace, parcel->stream);
		if (got <= 0)
			return got == 0 ? -ECONNRESET : got;
		*ret_bytes = stream_bytes(parcel->stream, &size);
	}
	if (size > PARCEL_BLOCK_SIZE)
		size = PARCEL_BLOCK_SIZE;
	*ret_size = size < limit ? size : (size_t)limit;
	return 0;
}

static int took(struct parcel *parcel, size_t size)
{
	stream_take(parcel->stream, size);
	parcel->taken += size;
	return parcel->taken > parcel->taken_max ? -EMSGSIZE : 0;
}

int parcel_take_data(struct parcel *parcel)
{
	enum body_status status = BODY_MORE;

	while (status == BODY_MORE) {
		const uint8_t *bytes = NULL;
		size_t size = 0;
		size_t used = 0;
		size_t out_size = 0;
		int ret = wait_bytes(parcel, UINT64_MAX, &bytes, &size);
		if (ret == 0) {
			status = body_take(&parcel->body, bytes, size, &used, parcel->block,
					   &out_size);
			take_out(parcel, out_size);
			ret = took(parcel, used);
		}
		if (ret < 0) {
			parcel_abort(parcel);
			return ret;
		}
	}
	return 0;
}

int parcel_take_chunk(struct parcel *parcel, uint64_t size)
{
	while (size > 0) {
		const uint8_t *bytes = NULL;
		size_t part = 0;
		size_t out_size = 0;
		int ret = wait_bytes(parcel, size, &bytes, &part);
		if (ret == 0) {
			body_take_chunk(&parcel->body, bytes, part, parcel->block, &out_size);
			take_out(parcel, out_size);
			size -= part;
			ret = took(parcel, part);
		}
		if (ret < 0) {
			parcel_abort(parcel);
			return ret;
		}
	}
	return 0;
}

bool parcel_end(struct parcel *parcel, bool is_chunked)
{
	size_t size = 0;

	if (is_chunked) {
		(void)body_end(&parcel->body, parcel->block, &size);
		take_out(parcel, size);
	}
	if (parcel->is_failed)
		return false;
	const bool is_committed = screen_commit(parcel->screen, &parcel->reply);
	parcel_abort(parcel);
	return is_committed;
}

void parcel_abort(struct parcel *parcel)
{
	if (parcel->is_open)
		screen_abort(parcel->screen);
	parcel->is_open = false;
}
