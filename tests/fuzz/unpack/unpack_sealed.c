/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * A PDF that may be encrypted: the copy of it that is kept is read as by the process that has it.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   of the cuts
 *        1      1   limits, as in unpack_zip.c; 0x80: what follows is a copy already
 *        2      .   the object
 */

#include "tests/fuzz/unpack/unpacked.h"

#define IS_COPY 0x80

struct copy {
	uint8_t *bytes;
	size_t size;
	size_t room;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *begin_copy(void *context, enum content_kind kind)
{
	unpacked_require(kind == CONTENT_PDF_SEALED, "it is a copy");
	return context;
}

static void take_copy(void *context, void *member, const uint8_t *bytes, size_t size)
{
	struct copy *copy = context;
	unpacked_require(member == context, "members are not wanted");
	if (copy->size + size > copy->room) {
		copy->room = 2 * (copy->size + size);
		copy->bytes = realloc(copy->bytes, copy->room);
		unpacked_require(copy->bytes != NULL, "memory");
	}
	memcpy(copy->bytes + copy->size, bytes, size);
	copy->size += size;
}

static void *begin_none(void *context, const char *name)
{
	(void)context;
	(void)name;
	return NULL;
}

static void end_copy(void *context, void *member, bool is_whole)
{
	(void)context;
	(void)member;
	(void)is_whole;
}

static void take_flaw(void *context, enum unpack_flaw flaw, const char *name)
{
	(void)context;
	(void)flaw;
	(void)name;
}

static void make_copy(const uint8_t *bytes, size_t size, struct copy *copy)
{
	static const struct unpack_events events = { .begin = begin_none,
						     .data = take_copy,
						     .end = end_copy,
						     .flaw = take_flaw,
						     .begin_as = begin_copy };
	struct unpack_budget budget = UNPACK_BUDGET;
	struct unpack *unpack = NULL;
	void *memory = malloc(UNPACK_HERE_MEMORY);
	unpacked_require(memory != NULL && unpack_begin(unpack_find(CONTENT_PDF), memory, &budget,
							&events, copy, &unpack) == 0,
			 "it begins");
	unpack_push(unpack, bytes, size);
	unpack_end(unpack, true);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct copy copy = { NULL, 0, 0 };
	if (size < 2)
		return 0;
	if ((data[1] & IS_COPY) == 0) {
		make_copy(data + 2, size - 2, &copy);
		unpacked_compare(CONTENT_PDF_SEALED, data[0], data[1], copy.bytes, copy.size);
	} else {
		unpacked_compare(CONTENT_PDF_SEALED, data[0], data[1], data + 2, size - 2);
	}
	free(copy.bytes);
	return 0;
}
