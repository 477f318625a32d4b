/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/store/storewire.h"

#include <errno.h>

#define REQUEST_MAGIC "Msr1"
#define REPLY_MAGIC   "Msa1"
#define MAGIC_SIZE    4
#define FLAG_ID	      1U
#define FLAG_MEMORY   2U
#define FLAG_MOVED    4U
#define FLAG_ALL      8U
#define FLAGS	      (FLAG_ID | FLAG_MEMORY | FLAG_MOVED | FLAG_ALL)

static bool take_magic(struct bytes_input *input, const char *magic)
{
	const uint8_t *bytes = bytes_take_string(input, MAGIC_SIZE);
	return bytes != NULL && memcmp(bytes, magic, MAGIC_SIZE) == 0;
}

static void take_id(struct bytes_input *input, struct mailid *ret_id)
{
	const uint8_t *bytes = bytes_take_string(input, MAILID_SIZE);
	if (bytes != NULL)
		memcpy(ret_id->bytes, bytes, MAILID_SIZE);
}

/* ---- messages ---- */

size_t storewire_encode_request(const struct storewire_request *request, uint8_t *out)
{
	uint8_t *at = out;
	unsigned flags = (request->has_id ? FLAG_ID : 0) | (request->has_memory ? FLAG_MEMORY : 0) |
			 (request->is_moved ? FLAG_MOVED : 0) | (request->is_of_all ? FLAG_ALL : 0);
	bytes_put_string(&at, (const uint8_t *)REQUEST_MAGIC, MAGIC_SIZE);
	bytes_put(&at, request->type, 1);
	bytes_put(&at, flags, 1);
	bytes_put(&at, 0, 2);
	bytes_put(&at, request->serial, 8);
	bytes_put(&at, request->number, 8);
	bytes_put(&at, request->size, 8);
	bytes_put_string(&at, request->id.bytes, MAILID_SIZE);
	bytes_put(&at, request->time_us, 8);
	bytes_put(&at, request->mailbox.size, 1);
	bytes_put_string(&at, request->mailbox.bytes, request->mailbox.size);
	return (size_t)(at - out);
}

int storewire_decode_request(const uint8_t *bytes, size_t size,
			     struct storewire_request *ret_request)
{
	struct bytes_input input = { .data = bytes, .size = size };
	struct storewire_request request = { 0 };
	if (!take_magic(&input, REQUEST_MAGIC))
		return -EPROTO;
	request.type = (uint8_t)bytes_take(&input, 1);
	unsigned flags = (unsigned)bytes_take(&input, 1);
	unsigned zero = (unsigned)bytes_take(&input, 2);
	request.serial = bytes_take(&input, 8);
	request.number = bytes_take(&input, 8);
	request.size = bytes_take(&input, 8);
	take_id(&input, &request.id);
	request.time_us = bytes_take(&input, 8);
	request.mailbox.size = (size_t)bytes_take(&input, 1);
	request.mailbox.bytes = bytes_take_string(&input, request.mailbox.size);
	request.has_id = (flags & FLAG_ID) != 0;
	request.has_memory = (flags & FLAG_MEMORY) != 0;
	request.is_moved = (flags & FLAG_MOVED) != 0;
	request.is_of_all = (flags & FLAG_ALL) != 0;
	request.memory = input.data;
	request.memory_size = input.size;
	if (input.has_failed || zero != 0 || (flags & ~FLAGS) != 0 ||
	    request.type == STOREWIRE_HELLO || request.type >= STOREWIRE_TYPES ||
	    (!request.has_memory && input.size > 0) || (request.is_moved && !request.has_id) ||
	    (request.is_of_all && request.type != STOREWIRE_LIST))
		return -EPROTO;
	*ret_request = request;
	return 0;
}

void storewire_encode_reply(const struct storewire_reply *reply, uint8_t *out)
{
	bytes_put_string(&out, (const uint8_t *)REPLY_MAGIC, MAGIC_SIZE);
	bytes_put(&out, reply->type, 1);
	bytes_put(&out, 0, 3);
	bytes_put(&out, reply->serial, 8);
	bytes_put(&out, (uint32_t)reply->status, 4);
	bytes_put(&out, reply->count, 4);
	bytes_put(&out, reply->number, 8);
	bytes_put_string(&out, reply->id.bytes, MAILID_SIZE);
}

int storewire_decode_reply(const uint8_t *bytes, size_t size, struct storewire_reply *ret_reply)
{
	struct bytes_input input = { .data = bytes, .size = size };
	struct storewire_reply reply = { 0 };
	if (!take_magic(&input, REPLY_MAGIC))
		return -EPROTO;
	reply.type = (uint8_t)bytes_take(&input, 1);
	unsigned zero = (unsigned)bytes_take(&input, 3);
	reply.serial = bytes_take(&input, 8);
	reply.status = (int)(int32_t)(uint32_t)bytes_take(&input, 4);
	reply.count = (uint32_t)bytes_take(&input, 4);
	reply.number = bytes_take(&input, 8);
	take_id(&input, &reply.id);
	reply.rows = input.data;
	reply.rows_size = input.size;
	if (input.has_failed || zero != 0 || reply.type >= STOREWIRE_TYPES || reply.status > 0)
		return -EPROTO;
	*ret_reply = reply;
	return 0;
}

/* ---- rows ---- */

void storewire_encode_entry(const struct mailentry *entry, uint8_t *out)
{
	bytes_put(&out, entry->mail, 8);
	bytes_put_string(&out, entry->id.bytes, MAILID_SIZE);
	bytes_put(&out, entry->octets, 8);
	bytes_put(&out, entry->wire_size, 8);
	bytes_put(&out, entry->text_size, 8);
	bytes_put(&out, entry->time_us, 8);
}

void storewire_decode_entry(const uint8_t *bytes, struct mailentry *ret_entry)
{
	struct bytes_input input = { .data = bytes, .size = STOREWIRE_ENTRY_SIZE };
	ret_entry->mail = bytes_take(&input, 8);
	take_id(&input, &ret_entry->id);
	ret_entry->octets = bytes_take(&input, 8);
	ret_entry->wire_size = bytes_take(&input, 8);
	ret_entry->text_size = bytes_take(&input, 8);
	ret_entry->time_us = bytes_take(&input, 8);
}

void storewire_encode_stat(const struct mailstore_info *info, uint8_t *out)
{
	const uint64_t numbers[STOREWIRE_STAT_NUMBERS] = {
		info->facts.mails, info->facts.entries, info->facts.refused, info->facts.next_lsn,
		info->segments,	   info->log_size,	info->live_size,     info->sync_count,
		info->written,	   info->copied,	info->reclaimed,     info->has_failed,
	};
	for (size_t i = 0; i < STOREWIRE_STAT_NUMBERS; i++)
		bytes_put(&out, numbers[i], 8);
}

void storewire_decode_stat(const uint8_t *bytes, struct mailstore_info *ret_info)
{
	uint64_t numbers[STOREWIRE_STAT_NUMBERS];
	for (size_t i = 0; i < STOREWIRE_STAT_NUMBERS; i++)
		numbers[i] = bytes_get(bytes + 8 * i, 8);
	*ret_info = (struct mailstore_info){
		.facts = { .mails = numbers[0],
			   .entries = numbers[1],
			   .refused = numbers[2],
			   .next_lsn = numbers[3] },
		.segments = numbers[4],
		.log_size = numbers[5],
		.live_size = numbers[6],
		.sync_count = numbers[7],
		.written = numbers[8],
		.copied = numbers[9],
		.reclaimed = numbers[10],
		.has_failed = numbers[11] != 0,
	};
}

size_t storewire_encode_box(struct mailname name, const struct mailcounts *counts, uint8_t *out)
{
	uint8_t *at = out;
	bytes_put(&at, name.size, 1);
	bytes_put_string(&at, name.bytes, name.size);
	bytes_put(&at, counts->mails, 8);
	bytes_put(&at, counts->octets, 8);
	return (size_t)(at - out);
}

bool storewire_next_box(struct bytes_input *rows, struct mailname *ret_name,
			struct mailcounts *ret_counts)
{
	if (rows->size == 0)
		return false;
	ret_name->size = (size_t)bytes_take(rows, 1);
	ret_name->bytes = bytes_take_string(rows, ret_name->size);
	/* Behind one without a name would be the first again. */
	rows->has_failed |= ret_name->size == 0;
	ret_counts->mails = bytes_take(rows, 8);
	ret_counts->octets = bytes_take(rows, 8);
	return !rows->has_failed;
}
