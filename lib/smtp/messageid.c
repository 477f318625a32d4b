/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/messageid.h"

#include "lib/format/ascii.h"

#include <string.h>

enum place {
	AT_LINE,  /* at its first byte */
	AT_NAME,  /* of a field that begins as the one that is looked for */
	AT_COLON, /* behind its name: blanks may stand before the colon */
	AT_OTHER, /* in a line that matters no more */
	AT_VALUE,
	AT_FOLD, /* at the first byte of a line behind the value */
	AT_END,
};

static const char wanted[] = "message-id";

void messageid_init(struct messageid *ret_messageid)
{
	memset(ret_messageid, 0, sizeof(*ret_messageid));
}

static unsigned take_name(struct messageid *messageid, uint8_t byte)
{
	if (ascii_lower(byte) != (uint8_t)wanted[messageid->size])
		return byte == '\n' ? AT_LINE : AT_OTHER;
	messageid->size++;
	return messageid->size < sizeof(wanted) - 1 ? AT_NAME : AT_COLON;
}

static unsigned take_colon(struct messageid *messageid, uint8_t byte)
{
	if (ascii_is_blank(byte))
		return AT_COLON;
	messageid->size = 0;
	if (byte == ':')
		return AT_VALUE;
	return byte == '\n' ? AT_LINE : AT_OTHER;
}

static void keep(struct messageid *messageid, uint8_t byte)
{
	if (messageid->size < MESSAGEID_MAX)
		messageid->text[messageid->size++] = (char)byte;
}

static unsigned take_value(struct messageid *messageid, uint8_t byte)
{
	if (byte == '\n')
		return AT_FOLD;
	if (byte == '\r')
		return AT_VALUE;
	if (ascii_is_blank(byte)) {
		messageid->has_blank = messageid->size > 0;
		return AT_VALUE;
	}
	if (messageid->has_blank)
		keep(messageid, ' ');
	messageid->has_blank = false;
	keep(messageid, byte);
	return AT_VALUE;
}

static unsigned take_byte(struct messageid *messageid, uint8_t byte)
{
	switch (messageid->at) {
	case AT_LINE:
		if (byte == '\r' || byte == '\n')
			return AT_END; /* of the header */
		messageid->size = 0;
		return take_name(messageid, byte);
	case AT_NAME:
		return take_name(messageid, byte);
	case AT_COLON:
		return take_colon(messageid, byte);
	case AT_VALUE:
		return take_value(messageid, byte);
	case AT_FOLD:
		return ascii_is_blank(byte) ? take_value(messageid, byte) : AT_END;
	default:
		return AT_END;
	}
}

/* Bytes up to the end of a line that does not matter. */
static size_t skip(struct messageid *messageid, const uint8_t *bytes, size_t size)
{
	const uint8_t *end = memchr(bytes, '\n', size);
	if (end == NULL)
		return size;
	messageid->at = AT_LINE;
	return (size_t)(end - bytes) + 1;
}

void messageid_take(struct messageid *messageid, const uint8_t *bytes, size_t size)
{
	size_t left = MESSAGEID_LOOK_MAX - messageid->seen;
	if (size > left)
		size = left;
	messageid->seen += size;
	for (size_t used = 0; used < size && messageid->at != AT_END;) {
		if (messageid->at == AT_OTHER)
			used += skip(messageid, bytes + used, size - used);
		else
			messageid->at = take_byte(messageid, bytes[used++]);
	}
}
