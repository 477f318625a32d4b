/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Any line as a request: what is taken can be written again, and is the same line. */

#include "server/control/request.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#define X(name, text) text,
	static const char *const verbs[] = { REQUEST_VERB_MAP(X) };
#undef X
	struct request request = { REQUEST_VERB_COUNT, 0 };
	const char *reason = request_parse((const char *)data, size, &request);
	if (reason != NULL) {
		if (request.verb != REQUEST_VERB_COUNT || *reason == '\0')
			abort();
		return 0;
	}
	char plain[REQUEST_MAX];
	char numbered[REQUEST_MAX];
	snprintf(plain, sizeof(plain), "%s", verbs[request.verb]);
	snprintf(numbered, sizeof(numbered), "%s %u", verbs[request.verb], request.number);
	bool is_plain = strlen(plain) == size && memcmp(plain, data, size) == 0;
	bool is_numbered = strlen(numbered) == size && memcmp(numbered, data, size) == 0;
	bool may_be_numbered = request.verb == REQUEST_TOP && request.number > 0 &&
			       request.number <= REQUEST_TOP_MAX;
	if (!is_plain && !(is_numbered && may_be_numbered))
		abort();
	return 0;
}
