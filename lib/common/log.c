/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/log.h"

#include <ctype.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

#define WAIT_MS 1000 /* for a reader that gets the processor late */

static enum log_level log_level = LOG_LEVEL_INFO;
static bool is_server;
/* Lines, since there was room for one; threads may log. A child tells none of its parent. */
static unsigned left_out;
static pid_t left_out_by;

void log_set_level(enum log_level level)
{
	log_level = level;
	is_server = true;
}

/* ---- a line ---- */

static void put(const char *line, size_t size)
{
	/* There is no other place to say it when standard error is gone. */
	if (write(STDERR_FILENO, line, size) < 0)
		return;
}

/*
 * A pipe that can be written has a page free, more than some processes have between this and
 * write(2); many that wake at once may fill it, and then one waits. O_NONBLOCK would be that of
 * other programs, too, which share the pipe.
 */
static bool has_room(void)
{
	struct pollfd poller = { .fd = STDERR_FILENO, .events = POLLOUT };
	if (!is_server)
		return true;
	const bool has_left_out = __atomic_load_n(&left_out, __ATOMIC_RELAXED) > 0;
	/* Once, until the reader goes on; a signal ends that, too. */
	const int ready = poll(&poller, 1, has_left_out ? 0 : WAIT_MS);
	return ready > 0 || (ready < 0 && poll(&poller, 1, 0) > 0);
}

static void leave_out(void)
{
	const pid_t self = getpid();
	if (__atomic_exchange_n(&left_out_by, self, __ATOMIC_RELAXED) != self)
		__atomic_store_n(&left_out, 0, __ATOMIC_RELAXED);
	__atomic_add_fetch(&left_out, 1, __ATOMIC_RELAXED);
}

static void tell_left_out(void)
{
	char line[96];
	const unsigned count = __atomic_exchange_n(&left_out, 0, __ATOMIC_RELAXED);
	if (count > 0 && __atomic_load_n(&left_out_by, __ATOMIC_RELAXED) == getpid())
		put(line, (size_t)snprintf(line, sizeof(line), "%s: lines left out, count=%u\n",
					   level_names[LOG_LEVEL_WARNING], count));
}

void log_copy(const char *line, size_t size)
{
	if (!has_room()) {
		leave_out();
		return;
	}
	tell_left_out();
	put(line, size);
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
		memset(line + size - 3, '.', 3);
	}
	line[size++] = '\n';
	log_copy(line, size);
}

/* ---- text from outside ---- */

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
