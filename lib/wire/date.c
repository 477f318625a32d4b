/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/wire/date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const char *date_format(int64_t now_s, char *ret_text)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	const time_t seconds = (time_t)now_s;
	struct tm date;

	memset(&date, 0, sizeof(date));
	(void)gmtime_r(&seconds, &date);
	(void)snprintf(ret_text, DATE_TEXT_SIZE, "%s, %02d %s %04d %02d:%02d:%02d +0000",
		       days[date.tm_wday % 7], date.tm_mday, months[date.tm_mon % 12],
		       (date.tm_year + 1900) % 10000, date.tm_hour, date.tm_min, date.tm_sec);
	return ret_text;
}
