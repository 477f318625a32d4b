/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct pages pages_find(const void *address)
{
	enum { LINE_SIZE = 5000 }; /* numbers, and a path */
	char line[LINE_SIZE];
	uintptr_t inside = (uintptr_t)address;
	struct pages found = { NULL, 0 };
	FILE *maps = fopen("/proc/self/maps", "re");
	if (maps == NULL)
		return found;
	while (found.size == 0 && fgets(line, sizeof(line), maps) != NULL) {
		void *start = NULL;
		void *end = NULL;
		char access[5] = "";
		/* "7f0010000000-7f0020000000 r--s ..." */
		if (sscanf(line, "%p-%p %4s", &start, &end, access) == 3 &&
		    strcmp(access, "r--s") == 0 && inside >= (uintptr_t)start &&
		    inside < (uintptr_t)end)
			found = (struct pages){ start, (size_t)((char *)end - (char *)start) };
	}
	fclose(maps);
	return found;
}

void pages_release(const struct pages *pages)
{
	if (pages->size > 0)
		madvise(pages->start, pages->size, MADV_DONTNEED);
}
