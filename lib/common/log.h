/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * log.h - one event, one line, on standard error.
 *
 *     warning: [bl.example.] store not reloaded, path=/var/lib/bl.mdb (damaged store)
 *
 * Flow: programs call it where they decide what to do; libraries never do.
 * The line is "level: [context] what happened, key=value ... (reason)": lower
 * case, no full stop, no time stamp (the journal has one). Levels: error =
 * an operator must act, warning = degraded, info = life cycle, debug = detail.
 *
 * A line is one write(2), so lines of several processes never mix. A server
 * waits a second for a log that is full, once; then it leaves lines out until
 * there is room, and says how many. This file's globals are the level, whether
 * the program is a server, and that number. Nothing here allocates.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO, /* the default */
	LOG_LEVEL_DEBUG,
};

#define LOG_LINE_MAX 1024 /* bytes; longer lines are cut and end in "..." */

/* Of a server, whose clients do not wait for the reader of its log from here on. */
void log_set_level(enum log_level level);

/* context may be NULL: then there are no brackets. */
void log_line(enum log_level level, const char *context, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* One of another process, with its line feed, as it is. */
void log_copy(const char *line, size_t size);

#define log_error(context, ...)	  log_line(LOG_LEVEL_ERROR, (context), __VA_ARGS__)
#define log_warning(context, ...) log_line(LOG_LEVEL_WARNING, (context), __VA_ARGS__)
#define log_info(context, ...)	  log_line(LOG_LEVEL_INFO, (context), __VA_ARGS__)
#define log_debug(context, ...)	  log_line(LOG_LEVEL_DEBUG, (context), __VA_ARGS__)

/*
 * Text from outside (a list, a packet, a file), made safe for one line:
 * in double quotes, bytes outside printable ASCII, quotes and backslashes as
 * \xHH, cut at LOG_QUOTE_CUT bytes of input with "..." behind. ret_text has
 * LOG_QUOTE_MAX bytes and is returned.
 */
#define LOG_QUOTE_CUT 128
#define LOG_QUOTE_MAX (LOG_QUOTE_CUT * 4 + 6)
const char *log_quote(const char *text, size_t text_size, char *ret_text);

#ifdef __cplusplus
}
#endif
