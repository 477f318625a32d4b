/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodelist.h"

#include <errno.h>
#include <stdlib.h>

static unsigned number_at(const struct nodework *work, unsigned node)
{
	return work->start.parts->setup->peers[node].number;
}

int nodelist_begin(struct nodework *work)
{
	const struct nodesetup *setup = work->start.parts->setup;
	const uint64_t from = work->request.number;
	const unsigned first = (unsigned)(from >> NODEWORK_NUMBER_BITS);
	unsigned count = 0;
	for (unsigned i = 0; i < setup->peer_count; i++)
		count += setup->peers[i].number >= first;
	if (count == 0)
		return DNSBLV6_ENOTFOUND;
	work->request.is_of_all = false; /* nodes list what they have */
	work->lists_all = true;
	struct nodepart *part = nodeparts_make(work, count);
	if (part == NULL)
		return -ENOMEM;
	for (unsigned number = first; number <= NODE_NUMBER_MAX; number++) {
		const struct nodesetup_peer *peer = nodesetup_find_number(setup, number);
		if (peer == NULL)
			continue;
		part->ask.node = (unsigned)(peer - setup->peers);
		part->ask.request.number = number == first ? from & NODEWORK_NUMBER_MASK : 0;
		part++;
	}
	nodeparts_ask(work);
	return 0;
}

/* Is it the node without which there is no list? */
static bool is_needed(const struct nodework *work, unsigned node)
{
	const struct locate *locate = work->start.parts->locate;
	return locate_is_known(locate, work->request.mailbox) &&
	       locate_find(locate, work->request.mailbox) == node;
}

/* 0, or why its part is no list. */
static int check_part(const struct nodepart *part)
{
	if (part->status == 0 && part->rows_size < (size_t)part->reply.count * STOREWIRE_ENTRY_SIZE)
		return -EPROTO;
	return part->status;
}

static size_t add_rows(const struct nodework *work, const struct nodepart *part, size_t left,
		       uint8_t *ret_rows)
{
	const size_t count = part->reply.count < left ? part->reply.count : left;
	if (count == 0)
		return 0;
	memcpy(ret_rows, part->rows, count * STOREWIRE_ENTRY_SIZE);
	for (size_t at = 0; at < count * STOREWIRE_ENTRY_SIZE; at += STOREWIRE_ENTRY_SIZE)
		ret_rows[at] = (uint8_t)number_at(work, part->ask.node);
	return count;
}

/* Parts are in the order of numbers: what is behind the last row that is taken comes with the next list. */
int nodelist_end(const struct nodework *work, struct storewire_reply *reply)
{
	const size_t room = work->request.size < STOREWIRE_LIST_MAX ? (size_t)work->request.size
								    : STOREWIRE_LIST_MAX;
	size_t total = 0;
	size_t count = 0;
	for (unsigned i = 0; i < work->part_count; i++) {
		const struct nodepart *part = &work->parts[i];
		const int status = check_part(part);
		if (status != 0 && is_needed(work, part->ask.node))
			return status;
		reply->number += status != 0;
		total += status == 0 ? part->reply.count : 0;
	}
	total = total < room ? total : room;
	uint8_t *rows = malloc(total * STOREWIRE_ENTRY_SIZE + 1);
	if (rows == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < work->part_count; i++)
		if (check_part(&work->parts[i]) == 0)
			count += add_rows(work, &work->parts[i], total - count,
					  rows + count * STOREWIRE_ENTRY_SIZE);
	reply->rows = rows;
	reply->rows_size = count * STOREWIRE_ENTRY_SIZE;
	reply->count = (uint32_t)count;
	return 0;
}
