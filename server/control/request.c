/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/control/request.h"

#include <string.h>

#include "lib/format/ascii.h"

#define X(name, text) text,
static const char *const verbs[] = { REQUEST_VERB_MAP(X) };
#undef X

const char *request_parse(const char *line, size_t line_size, struct request *ret_request)
{
	const char *blank = line_size > 0 ? memchr(line, ' ', line_size) : NULL;
	size_t verb_size = blank != NULL ? (size_t)(blank - line) : line_size;
	unsigned verb = 0;
	while (verb < REQUEST_VERB_COUNT &&
	       (strlen(verbs[verb]) != verb_size || memcmp(verbs[verb], line, verb_size) != 0))
		verb++;
	if (verb == REQUEST_VERB_COUNT)
		return "no such request";
	int64_t number = verb == REQUEST_TOP ? REQUEST_TOP_DEFAULT : 0;
	if (blank != NULL) {
		if (verb != REQUEST_TOP)
			return "this request has no argument";
		number = ascii_number(blank + 1, line_size - verb_size - 1, REQUEST_TOP_MAX);
		if (number <= 0 || blank[1] == '0')
			return "permitted are 1 to 1000";
	}
	*ret_request = (struct request){ (enum request_verb)verb, (unsigned)number };
	return NULL;
}
