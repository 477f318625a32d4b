/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/control/request.h"

#include <string.h>

#define X(name, text) text,
static const char *const verbs[] = { REQUEST_VERB_MAP(X) };
#undef X

/* 1 to max, without a sign or a leading zero; 0 for anything else. */
static unsigned parse_number(const char *text, size_t size, unsigned max)
{
	unsigned number = 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9' || (number == 0 && text[i] == '0'))
			return 0;
		number = number * 10 + (unsigned)(text[i] - '0');
		if (number > max)
			return 0;
	}
	return number;
}

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
	unsigned number = verb == REQUEST_TOP ? REQUEST_TOP_DEFAULT : 0;
	if (blank != NULL) {
		if (verb != REQUEST_TOP)
			return "this request has no argument";
		number = parse_number(blank + 1, line_size - verb_size - 1, REQUEST_TOP_MAX);
		if (number == 0)
			return "permitted are 1 to 1000";
	}
	*ret_request = (struct request){ (enum request_verb)verb, number };
	return NULL;
}
