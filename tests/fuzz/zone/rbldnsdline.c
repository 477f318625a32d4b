/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rbldnsdline.c - any text as a command line of rbldnsd: refused with a reason, or zones with lists,
 * all of them with absolute names and nothing that a line of zones.conf cannot have.
 */
#include "zone-tools/zones/rbldnsdline.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const struct rbldnsdline *line)
{
	char text[512];
	expect(line->zone_count > 0 && line->list_count >= line->zone_count);
	for (size_t i = 0; i < line->list_count; i++) {
		const char *list = line->lists[i].list;
		const char *file = strchr(list, ':');
		expect(line->lists[i].zone < line->zone_count ||
		       (line->lists[i].zone == RBLDNSDLINE_ALL_ZONES &&
			strncmp(list, "acl:", 4) == 0));
		expect(file != NULL && strpbrk(list, "\"\n\\") == NULL);
		for (; file != NULL; file = strchr(file + 1, ','))
			expect(file[1] == '/');
	}
	for (size_t i = 0; i < line->zone_count; i++) {
		if (rbldnsdline_make_name(line, i, text, sizeof(text)))
			expect(text[strlen(text) - 1] == '.' && strchr(text, '6') != NULL);
	}
	for (size_t i = 0; i < line->listen_count; i++) {
		if (rbldnsdline_make_listen(line->listen[i], text, sizeof(text)))
			expect(strchr(text, '@') != NULL && strpbrk(text, "\" \n") == NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rbldnsdline line = { 0 };
	char why[RBLDNSDLINE_REASON_MAX];
	char *text = malloc(size + 1);
	expect(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	const char *reason = rbldnsdline_parse(text, "/here", &line, why);
	if (reason == NULL)
		check_line(&line);
	else
		expect(reason[0] != '\0' && strchr(reason, '\n') == NULL);
	rbldnsdline_deinit(&line);
	free(text);
	return 0;
}
