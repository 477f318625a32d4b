/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/nodes/nodewire.h"

#include "integration/mail/base/store/storemail.h"
#include "lib/common/wholefile.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC	   "Mnf1"
#define MAGIC_SIZE 4
#define COPY_SIZE  65536

void nodewire_encode(size_t packet_size, uint64_t memory_size, uint8_t *out)
{
	bytes_put_string(&out, (const uint8_t *)MAGIC, MAGIC_SIZE);
	bytes_put(&out, packet_size, 4);
	bytes_put(&out, memory_size, 8);
}

/* ---- memory in files ---- */

static int copy(int fd, const struct nodewire_memory *memory)
{
	uint8_t *buffer = malloc(COPY_SIZE);
	int ret = buffer == NULL ? -ENOMEM : wholefile_put(fd, memory->bytes, memory->bytes_size);
	for (uint64_t done = 0; ret == 0 && memory->fd >= 0 && done < memory->size;) {
		uint64_t left = memory->size - done;
		size_t size = left < COPY_SIZE ? (size_t)left : COPY_SIZE;
		ret = wholefile_get(memory->fd, memory->at + done, buffer, size);
		if (ret == 0)
			ret = wholefile_put(fd, buffer, size);
		done += size;
	}
	free(buffer);
	return ret;
}

int nodewire_seal(const struct nodewire_memory *memory)
{
	int fd = storemail_make_memory();
	return fd < 0 ? fd : storemail_end_memory(fd, copy(fd, memory));
}

/* ---- what comes ---- */

void nodewire_give_back(struct nodewire_room *room, uint64_t size)
{
	room->used -= size;
}

static void forget(struct nodewire_input *input)
{
	if (input->fd >= 0) {
		close(input->fd);
		nodewire_give_back(input->room, input->memory_size);
	}
	input->fd = -1;
	input->at = 0;
	input->packet_size = 0;
	input->memory_size = 0;
	input->dropped = 0;
	input->is_begun = false;
}

void nodewire_deinit(struct nodewire_input *input)
{
	forget(input);
	free(input->bytes);
	input->bytes = NULL;
}

static int take_head(struct nodewire_input *input)
{
	struct bytes_input head = { .data = input->head, .size = sizeof(input->head) };
	const uint8_t *magic = bytes_take_string(&head, MAGIC_SIZE);
	input->packet_size = (size_t)bytes_take(&head, 4);
	input->memory_size = bytes_take(&head, 8);
	const bool is_fine = memcmp(magic, MAGIC, MAGIC_SIZE) == 0 &&
			     input->packet_size <= NODEWIRE_PACKET_MAX &&
			     input->memory_size <= NODEWIRE_MEMORY_MAX &&
			     (input->packet_size > 0 || input->memory_size == 0);
	return is_fine ? 0 : -EPROTO;
}

/* Where memory of this message begins in its memfd, 0 but of a record. */
static int find_start(const struct nodewire_input *input, uint64_t *ret_at, bool *ret_is_record)
{
	struct storewire_reply reply;
	*ret_at = 0;
	*ret_is_record = false;
	if (!input->takes_records)
		return 0;
	if (storewire_decode_reply(input->packet, input->packet_size, &reply) != 0)
		return -EPROTO;
	if (reply.type != STOREWIRE_SEGMENT)
		return 0;
	if (reply.number > NODEWIRE_BODY_AT || reply.number > input->memory_size)
		return -EPROTO;
	*ret_at = NODEWIRE_BODY_AT - reply.number;
	*ret_is_record = true;
	return 0;
}

static bool open_memory(struct nodewire_input *input, uint64_t start)
{
	struct nodewire_room *room = input->room;
	if (room->used > room->max || input->memory_size > room->max - room->used)
		return false;
	input->fd = storemail_make_memory();
	if (input->fd < 0) {
		input->fd = -1;
		return false;
	}
	room->used += input->memory_size;
	return lseek(input->fd, (off_t)start, SEEK_SET) == (off_t)start;
}

static int begin_memory(struct nodewire_input *input)
{
	uint64_t start = 0;
	bool is_record = false;
	int ret = find_start(input, &start, &is_record);
	input->is_begun = true;
	if (ret != 0 || input->memory_size == 0)
		return ret;
	if (input->memory_size > input->memory_max) {
		input->dropped = -EFBIG;
		return 0;
	}
	if (is_record || input->memory_size > STOREWIRE_INLINE_MAX) {
		input->dropped = open_memory(input, start) ? 0 : -ENOSPC;
		return 0;
	}
	if (input->bytes == NULL)
		input->bytes = malloc(STOREWIRE_INLINE_MAX);
	input->dropped = input->bytes == NULL ? -ENOSPC : 0;
	return 0;
}

static void take_memory(struct nodewire_input *input, uint64_t at, const uint8_t *bytes,
			size_t size)
{
	if (input->dropped != 0)
		return;
	if (input->fd < 0)
		memcpy(input->bytes + at, bytes, size);
	else if (wholefile_put(input->fd, bytes, size) != 0)
		input->dropped = -ENOSPC;
}

/* A step of a message: some bytes of its head, its packet or its memory. Returns how many, or -EPROTO. */
static ssize_t take_part(struct nodewire_input *input, const uint8_t *bytes, size_t size)
{
	const uint64_t packet_end = NODEWIRE_HEAD + input->packet_size;
	const bool is_head = input->at < NODEWIRE_HEAD;
	const bool is_packet = !is_head && input->at < packet_end;
	uint64_t end = is_packet ? packet_end : packet_end + input->memory_size;
	if (is_head)
		end = NODEWIRE_HEAD;
	const uint64_t left = end - input->at;
	const size_t part = size < left ? size : (size_t)left;
	if (is_head)
		memcpy(input->head + input->at, bytes, part);
	else if (is_packet)
		memcpy(input->packet + (input->at - NODEWIRE_HEAD), bytes, part);
	else
		take_memory(input, input->at - packet_end, bytes, part);
	input->at += part;
	if (is_head && input->at == end && take_head(input) != 0)
		return -EPROTO;
	return (ssize_t)part;
}

static bool is_whole(const struct nodewire_input *input)
{
	return input->at >= NODEWIRE_HEAD &&
	       input->at == NODEWIRE_HEAD + input->packet_size + input->memory_size;
}

bool nodewire_is_amid(const struct nodewire_input *input)
{
	return input->at > 0 && !is_whole(input);
}

int nodewire_take(struct nodewire_input *input, const uint8_t *bytes, size_t size, size_t *ret_used)
{
	size_t used = 0;
	if (is_whole(input))
		forget(input); /* the message before */
	for (;;) {
		const bool has_packet = input->at >= NODEWIRE_HEAD &&
					input->at == NODEWIRE_HEAD + input->packet_size;
		if (has_packet && input->packet_size > 0 && !input->is_begun &&
		    begin_memory(input) != 0)
			return -EPROTO;
		if (is_whole(input))
			break;
		if (used == size) {
			*ret_used = used;
			return 0;
		}
		ssize_t part = take_part(input, bytes + used, size - used);
		if (part < 0)
			return (int)part;
		used += (size_t)part;
	}
	if (input->fd >= 0 && storemail_seal_memory(input->fd) != 0)
		input->dropped = -ENOSPC;
	*ret_used = used;
	return 1;
}
