/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * part_events.c - part_events [SEED] < MAIL - what lib/mstream has of a mail, for test_mime_views.py.
 *
 * Prints for each part a line and its bytes, with an LF behind them:
 *
 *     part VIEW POSITION CODING IS-WHOLE SIZE TYPE NAME
 *
 * and for each oddity "odd POSITION TEXT". The mail is cut at random by SEED: 0, which is usual, for one
 * piece, and 1 for single bytes. A part of another view begins with the bytes of the one that it is a
 * copy of.
 */

#include "lib/mstream/mstream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct part {
	struct part *next;
	char head[MSTREAM_TYPE_SIZE + MSTREAM_NAME_SIZE + 512]; /* what stands behind the size */
	unsigned view;
	char position[256];
	enum mstream_coding coding;
	bool is_whole;
	uint8_t *bytes;
	size_t size, room;
};

struct parts {
	struct part *first, **end;
};

static void *need(void *memory)
{
	if (memory == NULL) {
		perror("part_events");
		exit(1);
	}
	return memory;
}

static void append(struct part *part, const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return;
	if (part->room - part->size < size) {
		part->room = 2 * (part->size + size);
		part->bytes = need(realloc(part->bytes, part->room));
	}
	memcpy(part->bytes + part->size, bytes, size);
	part->size += size;
}

static void *begin(void *context, const struct mstream_part *what)
{
	struct parts *parts = context;
	struct part *part = need(calloc(1, sizeof(*part)));
	const struct part *before = what->before;
	snprintf(part->head, sizeof(part->head), "%s %s", what->type, what->name);
	snprintf(part->position, sizeof(part->position), "%s", what->position);
	part->view = what->view;
	part->coding = what->coding;
	if (before != NULL)
		append(part, before->bytes, before->size);
	*parts->end = part;
	parts->end = &part->next;
	return part;
}

static void data(void *context, void *part, const uint8_t *bytes, size_t size)
{
	(void)context;
	append(part, bytes, size);
}

static void end(void *context, void *part, bool is_whole)
{
	(void)context;
	((struct part *)part)->is_whole = is_whole;
}

static void odd(void *context, enum mstream_oddity oddity, const char *position)
{
	(void)context;
	printf("odd %s %s\n", position, mstream_oddity_text(oddity));
}

static const struct mstream_events events = { begin, data, end, odd };

static void print(const struct parts *parts)
{
	for (const struct part *part = parts->first; part != NULL; part = part->next) {
		printf("part %u %s %s %d %zu %s\n", part->view, part->position,
		       mstream_coding_name(part->coding), part->is_whole, part->size, part->head);
		if (part->size > 0)
			fwrite(part->bytes, 1, part->size, stdout);
		putchar('\n');
	}
}

static void release(struct parts *parts)
{
	for (struct part *part = parts->first; part != NULL;) {
		struct part *next = part->next;
		free(part->bytes);
		free(part);
		part = next;
	}
}

int main(int argument_count, char **arguments)
{
	static uint8_t bytes[65536];
	struct parts parts = { .end = &parts.first };
	unsigned seed = argument_count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : 0;
	struct mstream *mail = mstream_begin(need(malloc(mstream_size())), &events, &parts);
	size_t size;
	const bool is_bytewise = seed == 1;
	while ((size = fread(bytes, 1, sizeof(bytes), stdin)) > 0) {
		for (size_t at = 0; at < size;) {
			size_t some = size - at;
			if (is_bytewise)
				some = 1;
			else if (seed != 0 && some > 1 + (seed >> 8) % 200)
				some = 1 + (seed >> 8) % 200;
			seed = seed < 2 ? seed : (seed * 1103515245U + 12345U) | 2;
			mstream_push(mail, bytes + at, some);
			at += some;
		}
	}
	mstream_end(mail, true);
	print(&parts);
	release(&parts);
	free(mail);
	return 0;
}
