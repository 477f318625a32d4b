/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/peers/peer_fields.h"

#include "lib/format/ascii.h"

/* RFC 5322 section 3.6.8: ftext, to which the colon does not belong. */
static bool is_of_name(uint8_t byte)
{
	return byte > ' ' && byte <= '~' && byte != ':';
}

static void add(struct peer_fields *fields, uint8_t byte)
{
	if (fields->size < FIELDS_TEXT_MAX)
		fields->text[fields->size++] = (char)byte;
}

static void add_value(struct peer_fields *fields, uint8_t byte)
{
	add(fields, byte == '\0' ? ' ' : byte);
}

static enum fields_step emit(struct peer_fields *fields)
{
	fields->is_pending = false;
	return FIELDS_FIELD;
}

/* The first byte of a line; *ret_is_used when it is taken. */
static enum fields_step begin_line(struct peer_fields *fields, uint8_t byte, bool *ret_is_used)
{
	if (fields->is_pending && ascii_is_blank(byte)) {
		*ret_is_used = true;
		add_value(fields, '\n');
		add_value(fields, byte);
		fields->state = FIELDS_IN_VALUE;
		return FIELDS_MORE;
	}
	/* A CR may be the end of the header, but also of the field before. */
	if (fields->is_pending)
		return emit(fields);
	fields->size = 0;
	if (byte != '\r' && byte != '\n' && !is_of_name(byte))
		return FIELDS_BODY;
	*ret_is_used = true;
	if (byte == '\n')
		return FIELDS_BODY;
	add(fields, byte);
	fields->state = byte == '\r' ? FIELDS_AT_CR : FIELDS_IN_NAME;
	return FIELDS_MORE;
}

static enum fields_step end_header(struct peer_fields *fields, uint8_t byte, bool *ret_is_used)
{
	if (byte != '\n')
		return FIELDS_BODY;
	*ret_is_used = true;
	fields->size = 0;
	return FIELDS_BODY;
}

static enum fields_step push_name(struct peer_fields *fields, uint8_t byte, bool *ret_is_used)
{
	const bool is_behind = fields->state == FIELDS_BEHIND_NAME;
	const bool goes_on =
		byte == ':' || ascii_is_blank(byte) || (!is_behind && is_of_name(byte));
	if (!goes_on || fields->size == FIELDS_TEXT_MAX)
		return FIELDS_BODY;
	*ret_is_used = true;
	if (byte != ':') {
		if (ascii_is_blank(byte) && !is_behind) {
			fields->name_size = fields->size;
			fields->state = FIELDS_BEHIND_NAME;
		}
		add(fields, byte);
		return FIELDS_MORE;
	}
	if (!is_behind)
		fields->name_size = fields->size;
	add(fields, byte);
	fields->value_from = fields->size;
	fields->is_pending = true;
	fields->state = FIELDS_IN_VALUE;
	return FIELDS_MORE;
}

static void end_line(struct peer_fields *fields)
{
	if (fields->size > fields->value_from && fields->text[fields->size - 1] == '\r')
		fields->size--;
	fields->state = FIELDS_AT_LINE;
}

static enum fields_step push_byte(struct peer_fields *fields, uint8_t byte, bool *ret_is_used)
{
	switch (fields->state) {
	case FIELDS_AT_LINE:
		return begin_line(fields, byte, ret_is_used);
	case FIELDS_AT_CR:
		return end_header(fields, byte, ret_is_used);
	case FIELDS_IN_NAME:
	case FIELDS_BEHIND_NAME:
		return push_name(fields, byte, ret_is_used);
	case FIELDS_IN_VALUE:
		break;
	}
	*ret_is_used = true;
	if (byte == '\n')
		end_line(fields);
	else
		add_value(fields, byte);
	return FIELDS_MORE;
}

enum fields_step peer_fields_push(struct peer_fields *fields, const uint8_t *bytes, size_t size,
				  size_t *ret_used)
{
	enum fields_step step = FIELDS_MORE;
	size_t used = 0;
	while (step == FIELDS_MORE && used < size) {
		bool is_used = false;
		step = push_byte(fields, bytes[used], &is_used);
		used += is_used ? 1 : 0;
	}
	*ret_used = used;
	return step;
}

enum fields_step peer_fields_end(struct peer_fields *fields)
{
	if (fields->state == FIELDS_IN_VALUE)
		end_line(fields);
	if (fields->is_pending)
		return emit(fields);
	if (fields->state == FIELDS_AT_LINE)
		fields->size = 0;
	return FIELDS_BODY;
}
