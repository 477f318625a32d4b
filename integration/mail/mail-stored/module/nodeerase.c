/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodeerase.h"

#include "integration/mail/base/store/copyname.h"

#include <errno.h>
#include <stdlib.h>

/* Of a list at a time, so that a store has others' requests between. */
#define PIECE_MAX 1024

enum step { LISTING, ERASING, LISTING_COPIES, ERASING_COPIES };

/* Of the client, decoded; good while the work has its meta. */
static int decode(const struct nodework *work, struct maildeletion *ret_deletion)
{
	return maildeletion_decode(work->meta, (size_t)work->request.size, ret_deletion);
}

static uint64_t strip(uint64_t mail)
{
	return mail & NODEWORK_NUMBER_MASK;
}

/*
 * The node that has the mails is in their numbers, and not where the mailbox is by now: numbers of one node are other
 * mails at another. 0, MAILSTORE_ELOST_LOCK: they are not of the node where the client has the lock; or a status for
 * what is no mail of one node.
 */
static int find_node(struct nodework *work, const struct maildeletion *deletion)
{
	const struct nodesetup *setup = work->start.parts->setup;
	const bool is_locked = nodeparts_is_locked(work, deletion->mailbox);
	if (deletion->count == 0) {
		work->node = is_locked ? work->start.pin->node
				       : locate_find(work->start.parts->locate, deletion->mailbox);
		return 0;
	}
	const uint64_t number = maildeletion_mail(deletion, 0) >> NODEWORK_NUMBER_BITS;
	const struct nodesetup_peer *peer = nodesetup_find_number(setup, (unsigned)number);
	bool is_one = peer != NULL;
	for (uint32_t i = 1; i < deletion->count; i++)
		is_one = is_one && maildeletion_mail(deletion, i) >> NODEWORK_NUMBER_BITS == number;
	if (is_locked && (!is_one || peer != &setup->peers[work->start.pin->node]))
		return MAILSTORE_ELOST_LOCK;
	if (!is_one)
		return MAILSTORE_EMAIL;
	work->node = (unsigned)(peer - setup->peers);
	return 0;
}

/* ---- parts ---- */

static struct nodepart *make_part(struct nodework *work, unsigned node, enum step step)
{
	struct nodepart *part = nodeparts_make(work, 1);
	if (part == NULL)
		return NULL;
	part->ask.node = node;
	work->step = step;
	return part;
}

int nodeerase_fill(struct nodepart *part, struct mailname mailbox, const uint64_t *mails,
		   size_t count)
{
	const size_t size = maildeletion_size(mailbox, count);
	part->prefix = malloc(size);
	if (part->prefix == NULL)
		return -ENOMEM;
	maildeletion_encode(mailbox, mails, count, part->prefix);
	part->ask.request = (struct storewire_request){ .type = STOREWIRE_ERASE, .size = size };
	part->ask.memory.bytes = part->prefix;
	part->ask.memory.bytes_size = size;
	part->ask.has_memory = true;
	return 0;
}

/* 0 or -ENOMEM. */
static int make_erasure(struct nodework *work, unsigned node, enum step step,
			struct mailname mailbox, const uint64_t *mails, size_t count)
{
	struct nodepart *part = make_part(work, node, step);
	return part == NULL ? -ENOMEM : nodeerase_fill(part, mailbox, mails, count);
}

static int make_listing(struct nodework *work, unsigned node, enum step step,
			struct mailname mailbox, uint64_t from)
{
	struct nodepart *part = make_part(work, node, step);
	if (part == NULL)
		return -ENOMEM;
	/* The name of the request is free: an ERASE has its mailbox in its memory. */
	memmove(work->name, mailbox.bytes, mailbox.size);
	part->ask.request = (struct storewire_request){ .type = STOREWIRE_LIST,
							.number = from,
							.size = PIECE_MAX,
							.mailbox = { work->name, mailbox.size } };
	return 0;
}

/* Mails of a list are in the order of their numbers: one that is not would have no end. */
static void find_list_end(struct nodework *work)
{
	const struct nodepart *part = &work->parts[0];
	struct mailentry entry;
	work->list_from = 0;
	if (part->status != 0 || part->rows_size < (size_t)PIECE_MAX * STOREWIRE_ENTRY_SIZE)
		return;
	storewire_decode_entry(part->rows + part->rows_size - STOREWIRE_ENTRY_SIZE, &entry);
	if (entry.mail >= part->ask.request.number)
		work->list_from = entry.mail + 1;
}

static uint64_t find_first_mail(const struct maildeletion *deletion)
{
	uint64_t first = UINT64_MAX;
	for (uint32_t i = 0; i < deletion->count; i++) {
		const uint64_t mail = strip(maildeletion_mail(deletion, i));
		first = mail < first ? mail : first;
	}
	return first;
}

static int make_first(struct nodework *work, const struct maildeletion *deletion, unsigned node)
{
	uint64_t *mails = calloc(deletion->count + 1U, sizeof(*mails));
	if (mails == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < deletion->count; i++)
		mails[i] = strip(maildeletion_mail(deletion, i));
	int ret = make_erasure(work, node, ERASING, deletion->mailbox, mails, deletion->count);
	free(mails);
	return ret;
}

/* ---- ids ---- */

static int compare_numbers(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one;
	const uint64_t b = *(const uint64_t *)other;
	return a < b ? -1 : a > b;
}

static int compare_ids(const void *one, const void *other)
{
	return memcmp(one, other, MAILID_SIZE);
}

/* Of the mails that are to go, as a piece of the list of their mailbox has them. */
static int find_ids(struct nodework *work, const struct maildeletion *deletion)
{
	const struct nodepart *part = &work->parts[0];
	uint64_t *mails = calloc(deletion->count + 1U, sizeof(*mails));
	if (work->ids == NULL)
		work->ids = calloc(deletion->count + 1U, sizeof(*work->ids));
	if (mails == NULL || work->ids == NULL) {
		free(mails);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < deletion->count; i++)
		mails[i] = strip(maildeletion_mail(deletion, i));
	qsort(mails, deletion->count, sizeof(*mails), compare_numbers);
	for (size_t at = 0;
	     at + STOREWIRE_ENTRY_SIZE <= part->rows_size && work->id_count < deletion->count;
	     at += STOREWIRE_ENTRY_SIZE) {
		struct mailentry entry;
		storewire_decode_entry(part->rows + at, &entry);
		if (bsearch(&entry.mail, mails, deletion->count, sizeof(*mails), compare_numbers))
			work->ids[work->id_count++] = entry.id;
	}
	qsort(work->ids, work->id_count, sizeof(*work->ids), compare_ids);
	free(mails);
	return 0;
}

/* The copies that have these ids. 0 with a part, DNSBLV6_ENOTFOUND: there are none; or -ENOMEM. */
static int make_copies_erasure(struct nodework *work, unsigned node, struct mailname box)
{
	const struct nodepart *part = &work->parts[0];
	uint64_t *mails = calloc(work->id_count + 1U, sizeof(*mails));
	size_t count = 0;
	if (mails == NULL)
		return -ENOMEM;
	for (size_t at = 0; at + STOREWIRE_ENTRY_SIZE <= part->rows_size && count < work->id_count;
	     at += STOREWIRE_ENTRY_SIZE) {
		struct mailentry entry;
		storewire_decode_entry(part->rows + at, &entry);
		if (bsearch(&entry.id, work->ids, work->id_count, sizeof(*work->ids), compare_ids))
			mails[count++] = entry.mail;
	}
	work->copy_count += (unsigned)count;
	int ret = count > 0 ? make_erasure(work, node, ERASING_COPIES, box, mails, count)
			    : DNSBLV6_ENOTFOUND;
	free(mails);
	return ret;
}

/* ---- steps ---- */

int nodeerase_begin(struct nodework *work)
{
	struct maildeletion deletion;
	work->request.size = work->memory.fd >= 0 ? work->memory.size : work->memory.bytes_size;
	int ret = nodeparts_read_memory(work, work->request.size, &work->meta);
	if (ret == 0)
		ret = decode(work, &deletion);
	if (ret == 0)
		ret = find_node(work, &deletion);
	if (ret != 0)
		return ret;
	const unsigned node = work->node;
	const bool is_copied = work->start.parts->setup->copies > 1 && deletion.mailbox.size > 0 &&
			       !copyname_is_own(deletion.mailbox);
	if (is_copied && deletion.count > 0)
		ret = make_listing(work, node, LISTING, deletion.mailbox,
				   find_first_mail(&deletion));
	else
		ret = make_first(work, &deletion, node);
	if (ret == 0)
		nodeparts_ask(work);
	return ret;
}

/* Copies that the pieces so far did not have are in the next. */
static enum nodeerase_step take_next_piece(struct nodework *work, unsigned node,
					   struct mailname copy_box)
{
	if (work->list_from == 0 || work->copy_count >= work->id_count)
		return NODEERASE_OVER;
	int ret = make_listing(work, node, LISTING_COPIES, copy_box, work->list_from);
	return ret == 0 ? NODEERASE_MORE : NODEERASE_OVER;
}

enum nodeerase_step nodeerase_next(struct nodework *work, int *ret_status)
{
	const struct nodesetup *setup = work->start.parts->setup;
	struct maildeletion deletion;
	uint8_t box[MAILBOX_NAME_MAX];
	int ret = work->parts[0].status;
	if (work->step == LISTING || work->step == LISTING_COPIES)
		find_list_end(work);
	(void)decode(work, &deletion); /* it has been, before */
	const unsigned node = work->node;
	const unsigned next = locate_next(setup, node);
	const struct mailname copy_box = { box, copyname_make(setup->peers[node].number,
							      deletion.mailbox, box) };
	*ret_status = ret;
	switch ((enum step)work->step) {
	case LISTING:
		ret = ret == 0 ? find_ids(work, &deletion) : ret;
		if (ret == 0 && work->list_from != 0 && work->id_count < deletion.count)
			ret = make_listing(work, node, LISTING, deletion.mailbox, work->list_from);
		else if (ret == 0)
			ret = make_first(work, &deletion, node);
		*ret_status = ret;
		return ret == 0 ? NODEERASE_MORE : NODEERASE_LAST;
	case ERASING:
		if (ret != 0 || work->id_count == 0 || copy_box.size == 0 ||
		    make_listing(work, next, LISTING_COPIES, copy_box, 0) != 0)
			return NODEERASE_LAST;
		return NODEERASE_ANSWERED;
	case LISTING_COPIES:
		ret = ret == 0 ? make_copies_erasure(work, next, copy_box) : ret;
		if (ret != DNSBLV6_ENOTFOUND)
			return ret == 0 ? NODEERASE_MORE : NODEERASE_OVER;
		break;
	case ERASING_COPIES:
		if (ret != 0)
			return NODEERASE_OVER;
		break;
	}
	return take_next_piece(work, next, copy_box);
}
