/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeparts.h"

#include "lib/common/wholefile.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void free_parts(struct nodework *work)
{
	for (unsigned i = 0; i < work->part_count; i++) {
		free(work->parts[i].prefix);
		free(work->parts[i].rows);
		if (work->parts[i].fd >= 0)
			close(work->parts[i].fd);
	}
	free(work->parts);
	work->parts = NULL;
	work->part_count = 0;
}

void nodeparts_free(struct nodework *work)
{
	free_parts(work);
	free(work->nodes);
	free(work->names);
	free(work->meta);
	free(work->copy);
	free(work->ids);
	if (work->memory.fd >= 0)
		close(work->memory.fd);
	free(work);
}

/* Rows in the packet, or what came as memory. 0 or -errno. */
static int keep_rows(struct nodepart *part, const struct storewire_reply *reply,
		     const struct nodewire_memory *memory)
{
	size_t size = reply->rows_size;
	if (size == 0)
		size = memory->fd >= 0 ? (size_t)memory->size : memory->bytes_size;
	if (size == 0)
		return 0;
	if (size > NODEPARTS_ROWS_MAX)
		return -EPROTO;
	part->rows = malloc(size);
	if (part->rows == NULL)
		return -ENOMEM;
	part->rows_size = size;
	if (reply->rows_size == 0 && memory->fd >= 0)
		return wholefile_get(memory->fd, 0, part->rows, size);
	memcpy(part->rows, reply->rows_size > 0 ? reply->rows : memory->bytes, size);
	return 0;
}

/* The descriptor of a segment goes on to the client. */
static void take_segment(struct nodepart *part, struct nodelink_message *message)
{
	part->fd = message->memory.fd;
	message->memory.fd = -1;
	nodewire_give_back(noderouter_room(part->work->start.parts->router), message->room_size);
}

static void part_on_answer(struct nodeask *ask, int status, const struct storewire_reply *reply,
			   struct nodelink_message *message)
{
	struct nodepart *part = ask->owner;
	struct nodework *work = part->work;
	part->status = status != 0 ? status : reply->status;
	if (status == 0) {
		part->reply = *reply;
		part->reply.rows = NULL;
	}
	if (status == 0 && reply->type == STOREWIRE_SEGMENT && message->memory.fd >= 0)
		take_segment(part, message);
	else if (part->status == 0)
		part->status = keep_rows(part, reply, &message->memory);
	if (--work->left == 0)
		work->finish(work);
}

struct nodepart *nodeparts_make(struct nodework *work, unsigned count)
{
	free_parts(work);
	work->parts = calloc(count, sizeof(*work->parts));
	if (work->parts == NULL)
		return NULL;
	work->part_count = count;
	for (unsigned i = 0; i < count; i++) {
		struct nodepart *part = &work->parts[i];
		part->work = work;
		part->fd = -1;
		part->ask.request = work->request;
		part->ask.memory.fd = -1;
		part->ask.owner = part;
		part->ask.answer = part_on_answer;
	}
	return work->parts;
}

void nodeparts_ask(struct nodework *work)
{
	struct nodepin *pin = work->start.pin;
	work->left = work->part_count;
	for (unsigned i = 0; i < work->part_count; i++) {
		struct nodeask *ask = &work->parts[i].ask;
		if (pin != NULL && pin->slot != NULL && pin->node == ask->node)
			ask->pin = pin;
		noderouter_ask(work->start.parts->router, ask);
	}
}

bool nodeparts_is_locked(const struct nodework *work, struct mailname mailbox)
{
	const struct nodepin *pin = work->start.pin;
	const struct mailname name = { pin != NULL ? pin->name : NULL,
				       pin != NULL ? pin->name_size : 0 };
	return pin != NULL && pin->slot != NULL && mailname_compare(&name, &mailbox) == 0;
}

int nodeparts_read_memory(const struct nodework *work, uint64_t size, uint8_t **ret_bytes)
{
	const struct nodewire_memory *memory = &work->memory;
	const uint64_t there = memory->fd >= 0 ? memory->size : memory->bytes_size;
	if (!work->has_memory || size > there || size > MAILRECORD_META_MAX)
		return MAILSTORE_EUNSEALED;
	uint8_t *bytes = malloc((size_t)size + 1);
	if (bytes == NULL)
		return -ENOMEM;
	int ret = 0;
	if (memory->fd >= 0)
		ret = wholefile_get(memory->fd, 0, bytes, (size_t)size);
	else
		memcpy(bytes, memory->bytes, (size_t)size);
	if (ret == 0)
		*ret_bytes = bytes;
	else
		free(bytes);
	return ret;
}
