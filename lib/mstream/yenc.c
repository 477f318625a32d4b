/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/yenc.h"

#include <string.h>

#include <zlib.h>

#include "lib/format/hex.h"

/* ---- lines of commands: "=yend size=123 crc32=0a1b2c3d" ---- */

/* Where the value of " key=" begins; size when it is not there. */
static size_t find_value(const uint8_t *line, size_t size, const char *key)
{
	const size_t key_size = strlen(key);
	for (size_t at = 0; at + key_size <= size; at++) {
		if (memcmp(line + at, key, key_size) == 0)
			return at + key_size;
	}
	return size;
}

/* Is there a number of that key? What is larger than 64 bits is none. */
static bool get_number(const uint8_t *line, size_t size, const char *key, unsigned base,
		       uint64_t *ret_number)
{
	const size_t begin = find_value(line, size, key);
	uint64_t number = 0;
	size_t at = begin;
	for (; at < size; at++) {
		const int digit = hex_value((char)line[at]);
		if (digit < 0 || (unsigned)digit >= base)
			break;
		if (number > (UINT64_MAX - (unsigned)digit) / base)
			return false;
		number = number * base + (unsigned)digit;
	}
	if (at == begin)
		return false;
	*ret_number = number;
	return true;
}

/* The name is the last of its line, whatever is in it. */
static void get_name(const uint8_t *line, size_t size, char *ret_name)
{
	const size_t begin = find_value(line, size, " name=");
	while (size > begin && (line[size - 1] == ' ' || line[size - 1] == '\t'))
		size--;
	size_t name_size = size - begin;
	if (name_size > MSTREAM_NAME_SIZE - 1)
		name_size = MSTREAM_NAME_SIZE - 1;
	if (name_size > 0)
		memcpy(ret_name, line + begin, name_size);
	ret_name[name_size] = '\0';
}

bool yenc_begin(struct yenc *ret_yenc, const uint8_t *line, size_t size, char *ret_name)
{
	const size_t begin_size = strlen(YENC_BEGIN);
	if (size < begin_size || memcmp(line, YENC_BEGIN, begin_size) != 0)
		return false;
	memset(ret_yenc, 0, sizeof(*ret_yenc));
	ret_yenc->is_line_begin = true;
	ret_yenc->said = UINT64_MAX;
	get_number(line, find_value(line, size, " name="), " size=", 10, &ret_yenc->said);
	ret_yenc->crc = (uint32_t)crc32(0, NULL, 0);
	get_name(line, size, ret_name);
	return true;
}

/* The last line says again what there was; where it says nothing, nothing is compared. */
static void take_end(struct yenc *yenc)
{
	const uint8_t *line = yenc->command;
	uint64_t number = 0;
	yenc->is_done = true;
	if (get_number(line, yenc->command_size, " size=", 10, &number) && number != yenc->size)
		yenc->is_odd = true;
	if (yenc->said != UINT64_MAX && yenc->said != yenc->size)
		yenc->is_odd = true;
	const char *key = yenc->is_part ? " pcrc32=" : " crc32=";
	if (get_number(line, yenc->command_size, key, 16, &number) && number != yenc->crc)
		yenc->is_odd = true;
}

/* Numbers of bytes count from 1. */
static void take_part(struct yenc *yenc)
{
	uint64_t begin = 0;
	uint64_t end = 0;
	yenc->is_part = true;
	const bool has_both =
		get_number(yenc->command, yenc->command_size, " begin=", 10, &begin) &&
		get_number(yenc->command, yenc->command_size, " end=", 10, &end);
	yenc->said = has_both && begin >= 1 && end >= begin - 1 ? end - begin + 1 : UINT64_MAX;
}

static void take_command(struct yenc *yenc)
{
	yenc->is_command = false;
	yenc->is_line_begin = true;
	if (yenc->command_size >= 5 && memcmp(yenc->command, "=yend", 5) == 0)
		take_end(yenc);
	else if (yenc->command_size >= 7 && memcmp(yenc->command, "=ypart ", 7) == 0)
		take_part(yenc);
	else
		yenc->is_odd = true;
}

/* ---- bytes ---- */

static void take_command_byte(struct yenc *yenc, uint8_t byte)
{
	const size_t begin_size = strlen(YENC_BEGIN);
	if (byte == '\r' || byte == '\n') {
		take_command(yenc);
		return;
	}
	if (yenc->command_size < YENC_COMMAND_SIZE)
		yenc->command[yenc->command_size++] = byte;
	if (yenc->command_size == begin_size &&
	    memcmp(yenc->command, YENC_BEGIN, begin_size) == 0) {
		yenc->is_done = true;
		yenc->has_next = true;
	}
}

/* All of out is the file's: the checksum is added to by pieces. */
static void settle(struct yenc *yenc, struct outflow *out)
{
	yenc->crc = (uint32_t)crc32(yenc->crc, out->bytes, (uInt)out->size);
	yenc->size += out->size;
	outflow_flush(out);
}

static void put(struct yenc *yenc, uint8_t byte, struct outflow *out)
{
	if (out->size == OUTFLOW_SIZE)
		settle(yenc, out);
	outflow_put(out, byte);
}

static void take_byte(struct yenc *yenc, uint8_t byte, struct outflow *out)
{
	if (byte == '\r' || byte == '\n') {
		yenc->is_line_begin = true;
		yenc->is_odd = yenc->is_odd || yenc->is_escaped;
		yenc->is_escaped = false;
	} else if (yenc->is_escaped && yenc->is_line_begin && byte == 'y') {
		yenc->is_escaped = false;
		yenc->is_command = true;
		settle(yenc, out);
		memcpy(yenc->command, "=y", 2);
		yenc->command_size = 2;
	} else if (yenc->is_escaped) {
		yenc->is_escaped = false;
		yenc->is_line_begin = false;
		put(yenc, (uint8_t)(byte - 64 - 42), out);
	} else if (byte == '=') {
		yenc->is_escaped = true;
	} else {
		yenc->is_line_begin = false;
		put(yenc, (uint8_t)(byte - 42), out);
	}
}

size_t yenc_push(struct yenc *yenc, const uint8_t *bytes, size_t size, struct outflow *out)
{
	size_t at = 0;
	outflow_flush(out);
	while (at < size && !yenc->is_done) {
		const uint8_t byte = bytes[at++];
		if (yenc->is_command)
			take_command_byte(yenc, byte);
		else
			take_byte(yenc, byte, out);
	}
	settle(yenc, out);
	return at;
}

void yenc_finish(struct yenc *yenc)
{
	if (yenc->is_command && !yenc->is_done)
		take_command(yenc);
}
