/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

static enum log_level log_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_line(enum log_level level, const char *context, const char *format, ...)
{
	if (level > log_level)
		return;

	char line[LOG_LINE_MAX];
	size_t room = sizeof(line) - 1; /* one byte is kept for the line feed */
	int used = context != NULL ? snprintf(line, room, "%s: [%s] ", level_names[level], context)
				   : snprintf(line, room, "%s: ", level_names[level]);
	size_t size = used < 0 ? 0 : (size_t)used;
	if (size < room) {
		va_list arguments;
		va_start(arguments, format);
		used = vsnprintf(line + size, room - size, format, arguments);
		va_end(arguments);
		size += used < 0 ? 0 : (size_t)used;
	}
	if (size >= room) {
		size = room - 1;
		memcpy(line + size - 3, "...", 3);
	}
	line[size++] = '\n';
	/* There is no other place to say it when standard error is gone. */
	if (write(STDERR_FILENO, line, size) < 0)
		return;
}

static char *put_hex(char *out, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	*out++ = '\\';
	*out++ = 'x';
	*out++ = digits[c >> 4];
	*out++ = digits[c & 15];
	return out;
}

const char *log_quote(const char *text, size_t text_size, char *ret_text)
{
	char *out = ret_text;
	*out++ = '"';
	for (size_t i = 0; i < text_size && i < LOG_QUOTE_CUT; i++) {
		unsigned char c = (unsigned char)text[i];
		if (isascii(c) && isprint(c) && c != '"' && c != '\\')
			*out++ = (char)c;
		else
			out = put_hex(out, c);
	}
	if (text_size > LOG_QUOTE_CUT) {
		memcpy(out, "...", 3);
		out += 3;
	}
	*out++ = '"';
	*out = '\0';
	return ret_text;
}
