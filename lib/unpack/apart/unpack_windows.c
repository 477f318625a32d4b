/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_windows.h"

#include <stdbool.h>

struct head {
	const uint8_t *bytes;
	size_t size;
	size_t at;
};

/* Behind the end there are zeros. */
static uint8_t next(struct head *head)
{
	return head->at < head->size ? head->bytes[head->at++] : 0;
}

static uint64_t next_little(struct head *head, unsigned size)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)next(head) << (8 * i);
	return value;
}

/* Seven bits a byte, the low ones first. */
static uint64_t next_number(struct head *head)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 63; shift += 7) {
		const uint8_t byte = next(head);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			break;
	}
	return value;
}

/* RFC 8878, 3.1.1. Frames to be skipped stand before it at times. */
static uint64_t zstd_window(struct head *head)
{
	uint32_t magic = (uint32_t)next_little(head, 4);
	while (magic >> 4 == 0x184d2a5) {
		const uint64_t size = next_little(head, 4);
		if (size >= head->size)
			return 0;
		head->at += (size_t)size;
		magic = (uint32_t)next_little(head, 4);
	}
	const uint8_t flags = next(head);
	const bool is_single = (flags & 0x20) != 0;
	if (magic != 0xfd2fb528)
		return 0;
	if (!is_single) {
		const unsigned code = next(head);
		const uint64_t base = 1ULL << (10 + (code >> 3));
		return base + base / 8 * (code & 7);
	}
	static const unsigned dictionary_sizes[4] = { 0, 1, 2, 4 };
	static const unsigned sizes[4] = { 1, 2, 4, 8 };
	next_little(head, dictionary_sizes[flags & 3]);
	return next_little(head, sizes[flags >> 6]);
}

/* RAR 5: 128 KiB and its doubles, in the header of the first file. */
static uint64_t rar_window(struct head *head)
{
	if (head->size < 8 || head->bytes[6] != 1)
		return 0;
	head->at = 8;
	for (unsigned i = 0; i < 4 && head->at < head->size; i++) {
		head->at += 4;
		const uint64_t size = next_number(head);
		const size_t behind = head->at + (size < head->size ? (size_t)size : head->size);
		const uint64_t type = next_number(head);
		const uint64_t flags = next_number(head);
		if ((flags & 1) != 0)
			next_number(head);
		if (type == 2) {
			const uint64_t file_flags = (flags & 2) != 0 ? next_number(head),
				       next_number(head)	     : next_number(head);
			next_number(head);
			next_number(head);
			next_little(head, ((file_flags & 2) != 0 ? 4 : 0) +
						  ((file_flags & 4) != 0 ? 4 : 0));
			return 0x20000ULL << (next_number(head) >> 10 & 15);
		}
		head->at = behind;
	}
	return 0;
}

uint64_t unpack_window(enum content_kind kind, const uint8_t *bytes, size_t size)
{
	struct head head = { .bytes = bytes, .size = size };
	switch (kind) {
	case CONTENT_ZSTD:
		return zstd_window(&head);
	case CONTENT_RAR:
		return rar_window(&head);
	default:
		return 0;
	}
}
