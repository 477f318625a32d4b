/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * unpacked.h - what comes out of an archive, as text that two runs can be compared by.
 *
 *     begin NAME
 *     end is_whole size checksum
 *     flaw "text" NAME
 *
 * How data was cut into events is not in it.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/unpack/unpack.h"

struct unpacked {
	char *text;
	size_t size;
	size_t room;
	int may_nest; /* members may be open beside each other */
	int open_count;
	void (*take)(const uint8_t *bytes, size_t size); /* NULL */
};

struct unpacked_member {
	uint64_t hash; /* FNV-1a */
	uint64_t bytes;
};

static void unpacked_require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "unpacked: %s\n", what);
	abort();
}

__attribute__((format(printf, 2, 3))) static void unpacked_say(struct unpacked *unpacked,
							       const char *format, ...)
{
	char line[UNPACK_NAME_SIZE + 64];
	va_list list;
	va_start(list, format);
	const int length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	unpacked_require(length > 0 && (size_t)length < sizeof(line), "a line has room");
	if (unpacked->size + (size_t)length + 1 > unpacked->room) {
		unpacked->room = 2 * unpacked->room + 4096;
		unpacked->text = (char *)realloc(unpacked->text, unpacked->room);
		unpacked_require(unpacked->text != NULL, "memory");
	}
	memcpy(unpacked->text + unpacked->size, line, (size_t)length + 1);
	unpacked->size += (size_t)length;
}

static void *unpacked_begin(void *context, const char *name)
{
	struct unpacked *unpacked = context;
	struct unpacked_member *member = malloc(sizeof(*member));
	unpacked_require(member != NULL, "memory");
	unpacked_require(unpacked->may_nest || unpacked->open_count == 0,
			 "a member ends before the next");
	unpacked_require(strnlen(name, UNPACK_NAME_SIZE) < UNPACK_NAME_SIZE, "a name ends");
	for (const char *at = name; *at != '\0'; at++)
		unpacked_require((unsigned char)*at >= 0x20 && *at != 0x7f,
				 "a name has no control");
	unpacked->open_count++;
	member->hash = 0xcbf29ce484222325ULL;
	member->bytes = 0;
	unpacked_say(unpacked, "begin %s\n", name);
	return member;
}

static void unpacked_data(void *context, void *of, const uint8_t *bytes, size_t size)
{
	const struct unpacked *unpacked = context;
	struct unpacked_member *member = of;
	unpacked_require(unpacked->open_count > 0, "data is of a member");
	unpacked_require(size > 0 && size <= 16384, "data is some, and not much");
	for (size_t i = 0; i < size; i++)
		member->hash = (member->hash ^ bytes[i]) * 0x100000001b3ULL;
	member->bytes += size;
	if (unpacked->take != NULL)
		unpacked->take(bytes, size);
}

static void unpacked_end(void *context, void *of, bool is_whole)
{
	struct unpacked *unpacked = context;
	struct unpacked_member *member = of;
	unpacked_require(unpacked->open_count > 0, "an end is of a member");
	unpacked->open_count--;
	unpacked_say(unpacked, "end %s %llu %016llx\n", is_whole ? "whole" : "cut",
		     (unsigned long long)member->bytes, (unsigned long long)member->hash);
	free(member);
}

static void unpacked_flaw(void *context, enum unpack_flaw flaw, const char *name)
{
	unpacked_say(context, "flaw %s: %s\n", unpack_flaw_text(flaw), name);
}

static void *unpacked_begin_as(void *context, enum content_kind kind)
{
	return unpacked_begin(context, content_kind_name(kind));
}

static const struct unpack_events unpacked_events = {
	.begin = unpacked_begin,
	.data = unpacked_data,
	.end = unpacked_end,
	.flaw = unpacked_flaw,
	.begin_as = unpacked_begin_as,
};

/* The caller frees ret_unpacked->text. seed: of the cuts; 0: one piece. */
static inline void unpacked_run(enum content_kind kind, const struct unpack_budget *budget,
				const uint8_t *bytes, size_t size, unsigned seed, bool is_whole,
				struct unpacked *unpacked)
{
	const struct unpack_row *row = unpack_find(kind);
	unpacked_require(row != NULL, "there is a row");
	struct unpack_budget left = *budget;
	struct unpack *unpack = NULL;
	void *memory = NULL;
	unpacked->may_nest =
		kind == CONTENT_ONENOTE || kind == CONTENT_PDF || kind == CONTENT_PDF_SEALED;
	unpacked_say(unpacked, "object\n");
	if (unpack_place(row) == UNPACK_HERE)
		memory = malloc(UNPACK_HERE_MEMORY);
	unpacked_require(unpack_begin(row, memory, &left, &unpacked_events, unpacked, &unpack) == 0,
			 "it begins");
	uint32_t state = seed;
	for (size_t at = 0; at < size;) {
		state = state * 1664525 + 1013904223;
		/* Mostly single bytes and small pieces, sometimes more than a slice. */
		const size_t wanted = seed == 1		   ? 1
				      : (state >> 28) == 0 ? (state >> 8) % 8000 + 1
							   : (state >> 8) % 40 + 1;
		const size_t part = seed == 0 || wanted > size - at ? size - at : wanted;
		/* Memory of exactly that size, for the address sanitizer. */
		uint8_t *copy = malloc(part);
		unpacked_require(copy != NULL, "memory");
		memcpy(copy, bytes + at, part);
		unpack_push(unpack, copy, part);
		free(copy);
		at += part;
	}
	unpack_end(unpack, is_whole);
	unpacked_require(unpacked->open_count == 0, "all members end");
	unpacked_require(left.total_left <= budget->total_left &&
				 left.spool_left == budget->spool_left,
			 "a budget is not made larger");
	free(memory);
}

/* One piece, single bytes and random cuts make the same of it. limits as of the fuzz targets. */
static inline void unpacked_compare(enum content_kind kind, unsigned seed, unsigned limits,
				    const uint8_t *bytes, size_t size)
{
	struct unpack_budget budget = UNPACK_BUDGET;
	struct unpacked runs[3];
	const unsigned seeds[3] = { 0, 1, seed + 2 };
	budget.total_left = (limits & 1) != 0 ? 5000 : 4 << 20;
	budget.ratio_from = 1 << 16;
	if ((limits & 2) != 0)
		budget.ratio = 3, budget.ratio_from = 1000;
	budget.members_left = (limits & 4) != 0 ? 3 : 1000;
	memset(runs, 0, sizeof(runs));
	for (size_t i = 0; i < 3; i++) {
		unpacked_run(kind, &budget, bytes, size, seeds[i], (limits & 8) == 0, &runs[i]);
		unpacked_require(strcmp(runs[0].text, runs[i].text) == 0, "cuts do not matter");
	}
	for (size_t i = 0; i < 3; i++)
		free(runs[i].text);
}
