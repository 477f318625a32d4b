/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/utc.h"

#include <string.h>
#include <time.h>

const char *utc_format(uint64_t when_s, char *ret_text)
{
	struct tm parts;
	const time_t when = (time_t)when_s;
	if (gmtime_r(&when, &parts) == NULL ||
	    strftime(ret_text, UTC_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		memcpy(ret_text, "-", 2);
	return ret_text;
}
