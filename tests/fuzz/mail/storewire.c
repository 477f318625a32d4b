/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a client says to mail-stored, and a daemon to its client: no decoder reads outside of what it
 * was given, and what one accepts is encoded to the bytes that it was decoded from.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what it is: kinds
 *        1      .   its bytes
 */

#include "integration/mail/base/store/storewire.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_request(const uint8_t *bytes, size_t size)
{
	uint8_t again[STOREWIRE_REQUEST_HEAD + MAILBOX_NAME_MAX];
	struct storewire_request request;
	if (storewire_decode_request(bytes, size, &request) != 0)
		return;
	require(request.type > STOREWIRE_HELLO && request.type < STOREWIRE_TYPES, "a type");
	require(request.mailbox.size <= MAILBOX_NAME_MAX, "a name that is not too long");
	size_t head = storewire_encode_request(&request, again);
	require(head <= size && memcmp(again, bytes, head) == 0, "the same request");
	require(request.has_memory || size == head, "nothing behind it");
	require(!request.has_memory ||
			(request.memory == bytes + head && request.memory_size == size - head),
		"memory that is what is behind it");
}

static void try_reply(const uint8_t *bytes, size_t size)
{
	uint8_t again[STOREWIRE_REPLY_HEAD];
	struct storewire_reply reply;
	if (storewire_decode_reply(bytes, size, &reply) != 0)
		return;
	require(reply.type < STOREWIRE_TYPES && reply.status <= 0, "a reply that can be");
	storewire_encode_reply(&reply, again);
	require(memcmp(again, bytes, sizeof(again)) == 0, "the same reply");
	require(reply.rows == bytes + sizeof(again) && reply.rows_size == size - sizeof(again),
		"rows that are what is behind it");
}

static void try_entries(const uint8_t *bytes, size_t size)
{
	uint8_t again[STOREWIRE_ENTRY_SIZE];
	struct mailentry entry;
	for (; size >= sizeof(again); bytes += sizeof(again), size -= sizeof(again)) {
		storewire_decode_entry(bytes, &entry);
		storewire_encode_entry(&entry, again);
		require(memcmp(again, bytes, sizeof(again)) == 0, "the same entry");
	}
}

static void try_row(const uint8_t *bytes, size_t size)
{
	uint8_t again[MAILROW_SIZE];
	struct mailrow row;
	if (size < sizeof(again))
		return;
	mailrow_decode(bytes, &row);
	mailrow_encode(&row, again);
	require(memcmp(again, bytes, sizeof(again)) == 0, "the same row");
}

static void try_stat(const uint8_t *bytes, size_t size)
{
	uint8_t again[STOREWIRE_STAT_SIZE];
	struct mailstore_info info;
	if (size < sizeof(again))
		return;
	storewire_decode_stat(bytes, &info);
	storewire_encode_stat(&info, again);
	/* The last is yes or no. */
	require(memcmp(again, bytes, sizeof(again) - 8) == 0, "the same numbers");
	require(bytes_get(again + sizeof(again) - 8, 8) == info.has_failed, "a yes or a no");
}

static void try_boxes(const uint8_t *bytes, size_t size)
{
	uint8_t again[STOREWIRE_BOX_MAX];
	struct bytes_input input = { .data = bytes, .size = size };
	struct mailname name;
	struct mailcounts counts;
	while (storewire_next_box(&input, &name, &counts)) {
		require(name.size > 0 && name.size <= MAILBOX_NAME_MAX, "a name");
		size_t row = storewire_encode_box(name, &counts, again);
		require(memcmp(again, bytes, row) == 0, "the same mailbox");
		bytes += row;
		require(input.data == bytes, "the next one");
	}
	require(input.has_failed || input.size == 0, "an end");
}

static void (*const kinds[])(const uint8_t *bytes, size_t size) = {
	try_request, try_reply, try_entries, try_row, try_stat, try_boxes,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	/* In memory of exactly that size, for the sanitizer. */
	uint8_t *bytes = malloc(size > 1 ? size - 1 : 1);
	require(bytes != NULL, "memory");
	memcpy(bytes, data + 1, size - 1);
	kinds[data[0] % (sizeof(kinds) / sizeof(kinds[0]))](bytes, size - 1);
	free(bytes);
	return 0;
}
