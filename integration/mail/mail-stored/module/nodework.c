/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodework.h"

#include "integration/mail/base/store/copyname.h"
#include "integration/mail/base/store/storemail.h"
#include "integration/mail/mail-stored/module/nodedeliver.h"
#include "integration/mail/mail-stored/module/nodeerase.h"
#include "integration/mail/mail-stored/module/nodelist.h"
#include "lib/common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* ---- the end ---- */

/* Rows that are too many for a packet go as memory. fd is closed; -1: none. */
static void say(struct nodework *work, struct storewire_reply *reply, int fd)
{
	uint64_t *counters = work->start.parts->counters;
	if (reply->rows_size > STOREWIRE_ROWS_MAX) {
		fd = storemail_seal(reply->rows, reply->rows_size);
		reply->rows_size = 0;
		if (fd < 0)
			*reply = (struct storewire_reply){ .rows = reply->rows, .status = fd };
	}
	reply->type = work->request.type;
	reply->serial = work->serial;
	counters[NODEWORK_AWAY] += reply->status == MAILSTORE_EAWAY;
	work->start.answer(work->start.owner, reply, fd);
	if (fd >= 0)
		close(fd);
}

static void end_with(struct nodework *work, struct storewire_reply *reply)
{
	say(work, reply, -1);
	nodeparts_free(work);
}

static void end(struct nodework *work, int status)
{
	end_with(work, &(struct storewire_reply){ .status = status });
}

static void free_rows(const struct storewire_reply *reply)
{
	free((void *)(uintptr_t)reply->rows);
}

/* ---- parts ---- */

static const struct nodesetup_peer *peer_at(const struct nodework *work, unsigned node)
{
	return &work->start.parts->setup->peers[node];
}

static unsigned number_of(const struct nodework *work, const struct nodepart *part)
{
	return peer_at(work, part->ask.node)->number;
}

/* One request for one node. */
static void ask_one(struct nodework *work, unsigned node, uint64_t number)
{
	struct nodepart *part = nodeparts_make(work, 1);
	if (part == NULL) {
		end(work, -ENOMEM);
		return;
	}
	part->ask.node = node;
	part->ask.request.number = number;
	if (work->has_memory) {
		part->ask.memory = work->memory;
		part->ask.has_memory = true;
	}
	nodeparts_ask(work);
}

static void ask_all(struct nodework *work)
{
	const unsigned count = work->start.parts->setup->peer_count;
	if (nodeparts_make(work, count) == NULL) {
		end(work, -ENOMEM);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		work->parts[i].ask.node = i;
	nodeparts_ask(work);
}

/* ---- of one mailbox ---- */

static unsigned node_of(const struct nodework *work, struct mailname mailbox)
{
	return locate_find(work->start.parts->locate, mailbox);
}

/* Of what a session is about, that is. */
static unsigned node_of_session(const struct nodework *work)
{
	return nodeparts_is_locked(work, work->request.mailbox)
		       ? work->start.pin->node
		       : node_of(work, work->request.mailbox);
}

/* The peer of a number that clients have; false: there is none. */
static bool find_node(const struct nodework *work, uint64_t number, unsigned *ret_node)
{
	const struct nodesetup *setup = work->start.parts->setup;
	const struct nodesetup_peer *peer =
		nodesetup_find_number(setup, (unsigned)(number >> NODEWORK_NUMBER_BITS));
	if (peer == NULL)
		return false;
	*ret_node = (unsigned)(peer - setup->peers);
	return true;
}

/* The node that a request names, or with number 0 that of its mailbox; NULL: there is none. */
static const struct nodesetup_peer *find_peer(const struct nodework *work)
{
	const uint64_t number = work->request.number;
	return number > NODE_NUMBER_MAX ? NULL
	       : number > 0 ? nodesetup_find_number(work->start.parts->setup, (unsigned)number)
			    : peer_at(work, node_of(work, work->request.mailbox));
}

static void begin_check(struct nodework *work)
{
	const struct noderouter *router = work->start.parts->router;
	const unsigned node = node_of(work, work->request.mailbox);
	if (noderouter_is_down(router, node))
		end(work, MAILSTORE_EAWAY);
	else if (!noderouter_has_quotas(router, node))
		end(work, 0);
	else
		ask_one(work, node, work->request.number);
}

static void begin_list(struct nodework *work)
{
	const unsigned node = node_of_session(work);
	const uint64_t from = work->request.number;
	const uint64_t from_node = from >> NODEWORK_NUMBER_BITS;
	const uint64_t most = STOREWIRE_ROWS_MAX / STOREWIRE_ENTRY_SIZE;
	if (work->start.is_brief && work->request.size > most)
		work->request.size = most;
	if (work->request.is_of_all) {
		const int ret = nodelist_begin(work);
		if (ret != 0)
			end(work, ret == DNSBLV6_ENOTFOUND ? 0 : ret);
		return;
	}
	if (from_node > peer_at(work, node)->number) /* behind all of them */
		end(work, 0);
	else
		ask_one(work, node,
			from_node == peer_at(work, node)->number ? from & NODEWORK_NUMBER_MASK : 0);
}

static void end_list(struct nodework *work)
{
	struct nodepart *part = &work->parts[0];
	const size_t size = (size_t)part->reply.count * STOREWIRE_ENTRY_SIZE;
	if (part->rows_size < size) {
		end(work, -EPROTO);
		return;
	}
	for (size_t at = 0; at < size; at += STOREWIRE_ENTRY_SIZE)
		part->rows[at] = (uint8_t)number_of(work, part);
	end_with(work, &(struct storewire_reply){
			       .rows = part->rows, .rows_size = size, .count = part->reply.count });
}

static void end_list_of_all(struct nodework *work)
{
	struct storewire_reply reply = { 0 };
	const int ret = nodelist_end(work, &reply);
	if (ret != 0)
		end(work, ret);
	else
		end_with(work, &reply);
	free_rows(&reply);
}

/* ---- of one mail ---- */

static void begin_mail(struct nodework *work)
{
	unsigned node;
	if (find_node(work, work->request.number, &node))
		ask_one(work, node, work->request.number & NODEWORK_NUMBER_MASK);
	else
		end(work, MAILSTORE_EMAIL);
}

/* Where it is for the client: in a segment of its node, or in one that has this mail alone. */
static void end_row(struct nodework *work)
{
	struct nodepart *part = &work->parts[0];
	struct mailrow row;
	const uint64_t number = (uint64_t)number_of(work, part) << NODEWORK_NUMBER_BITS;
	if (part->rows_size != MAILROW_SIZE) {
		end(work, -EPROTO);
		return;
	}
	mailrow_decode(part->rows, &row);
	if (part->ask.node == work->start.parts->setup->self) {
		row.place.segment |= number;
	} else if (row.meta_size > MAILRECORD_META_MAX) { /* no store has such a mail */
		end(work, -EPROTO);
		return;
	} else {
		row.place.segment = number | part->ask.request.number;
		row.place.at = NODEWIRE_BODY_AT - MAILRECORD_HEAD_SIZE - row.meta_size;
	}
	mailrow_encode(&row, part->rows);
	end_with(work, &(struct storewire_reply){
			       .rows = part->rows, .rows_size = MAILROW_SIZE, .count = 1 });
}

static void end_segment(struct nodework *work)
{
	struct nodepart *part = &work->parts[0];
	struct storewire_reply reply = { .status = part->fd < 0 ? -EPROTO : 0 };
	const int fd = part->fd;
	part->fd = -1;
	say(work, &reply, fd);
	nodeparts_free(work);
}

/* ---- of all nodes ---- */

static void begin_find(struct nodework *work)
{
	if (work->request.mailbox.size > 0)
		ask_one(work, node_of_session(work), work->request.number);
	else
		ask_all(work);
}

static void end_find(struct nodework *work)
{
	struct storewire_reply reply = { .status = MAILSTORE_EMAIL };
	for (unsigned i = 0; i < work->part_count; i++) {
		const struct nodepart *part = &work->parts[i];
		/* A second copy may be found there, too: this is one that a mailbox has, or the same mail. */
		if (part->status == 0) {
			reply.status = 0;
			reply.number = part->reply.number | (uint64_t)number_of(work, part)
								    << NODEWORK_NUMBER_BITS;
			break;
		}
		if (part->status != MAILSTORE_EMAIL)
			reply.status = part->status;
	}
	end_with(work, &reply);
}

static void begin_stat(struct nodework *work)
{
	if (work->request.number == STOREWIRE_STAT_OWN)
		ask_one(work, work->start.parts->setup->self, work->request.number);
	else
		ask_all(work);
}

static void add_numbers(const struct nodepart *part, uint8_t *numbers)
{
	for (size_t at = 0; at < STOREWIRE_STAT_SIZE; at += 8) {
		uint8_t *out = numbers + at;
		bytes_put(&out, bytes_get(numbers + at, 8) + bytes_get(part->rows + at, 8), 8);
	}
}

/* Of those that have answered, and the names of the others. */
static void end_stat(struct nodework *work)
{
	uint8_t rows[STOREWIRE_STAT_SIZE + NODES_MAX * (NODESETUP_NAME_MAX + 1)] = { 0 };
	uint8_t *names = rows + STOREWIRE_STAT_SIZE;
	unsigned away = 0;
	for (unsigned i = 0; i < work->part_count; i++) {
		const struct nodepart *part = &work->parts[i];
		const char *name = peer_at(work, part->ask.node)->name;
		if (part->status == 0 && part->rows_size == STOREWIRE_STAT_SIZE) {
			add_numbers(part, rows);
			continue;
		}
		if (away++ > 0)
			bytes_put(&names, ',', 1);
		bytes_put_string(&names, (const uint8_t *)name, strlen(name));
	}
	if (away == work->part_count)
		end(work, work->parts[0].status != 0 ? work->parts[0].status : -EPROTO);
	else
		end_with(work, &(struct storewire_reply){ .rows = rows,
							  .rows_size = (size_t)(names - rows),
							  .count = 1 });
}

/* Names of copies come before all others; none is for clients that do not ask behind one. */
static void skip_copies(struct nodework *work)
{
	static const uint8_t behind[] = { COPYNAME_MARK, 0xff };
	if (work->request.mailbox.size == 0)
		work->request.mailbox = (struct mailname){ behind, sizeof(behind) };
}

/* Of the rows of one node: the next mailbox, and the last of all. */
struct boxes {
	struct bytes_input rows;
	struct mailname name;
	struct mailcounts counts;
	struct mailname last;
	bool has_name;
};

static void begin_boxes(struct boxes *boxes, const struct nodepart *part)
{
	struct bytes_input rows = { .data = part->rows, .size = part->rows_size };
	*boxes = (struct boxes){ .rows = rows };
	while (storewire_next_box(&rows, &boxes->last, &boxes->counts))
		continue;
	boxes->has_name =
		!rows.has_failed && storewire_next_box(&boxes->rows, &boxes->name, &boxes->counts);
}

/* The node whose next name is the smallest; NULL behind the last. */
static struct boxes *find_smallest(struct boxes *all, unsigned count)
{
	struct boxes *found = NULL;
	for (unsigned i = 0; i < count; i++)
		if (all[i].has_name &&
		    (found == NULL || mailname_compare(&all[i].name, &found->name) < 0))
			found = &all[i];
	return found;
}

/* The mailbox whose name is the next, of all nodes that have it. */
static void take_box(struct boxes *all, unsigned count, const struct boxes *next,
		     struct mailname *ret_name, struct mailcounts *ret_counts)
{
	const struct mailname name = next->name;
	*ret_name = name;
	*ret_counts = (struct mailcounts){ 0 };
	for (unsigned i = 0; i < count; i++) {
		if (!all[i].has_name || mailname_compare(&all[i].name, &name) != 0)
			continue;
		ret_counts->mails += all[i].counts.mails;
		ret_counts->octets += all[i].counts.octets;
		all[i].has_name = storewire_next_box(&all[i].rows, &all[i].name, &all[i].counts);
	}
}

/*
 * In one order, up to the smallest of the last names: behind that some node may have more.
 */
static uint8_t *merge_boxes(struct boxes *all, unsigned count, size_t room,
			    struct storewire_reply *reply)
{
	struct mailname limit = { 0 };
	struct boxes *next = NULL;
	size_t total = 1;
	for (unsigned i = 0; i < count; i++) {
		if (!all[i].has_name)
			continue;
		total += all[i].rows.size + STOREWIRE_BOX_MAX;
		if (limit.size == 0 || mailname_compare(&all[i].last, &limit) < 0)
			limit = all[i].last;
	}
	uint8_t *rows = malloc(total);
	reply->rows = rows;
	while (rows != NULL && (next = find_smallest(all, count)) != NULL &&
	       mailname_compare(&next->name, &limit) <= 0 &&
	       reply->rows_size + STOREWIRE_BOX_MAX <= room) {
		struct mailname name;
		struct mailcounts counts;
		take_box(all, count, next, &name, &counts);
		reply->rows_size += storewire_encode_box(name, &counts, rows + reply->rows_size);
		reply->count++;
	}
	return rows;
}

static void end_boxes(struct nodework *work)
{
	struct boxes all[NODES_MAX];
	struct storewire_reply reply = { 0 };
	const size_t room = work->start.is_brief ? STOREWIRE_ROWS_MAX : SIZE_MAX / 2;
	for (unsigned i = 0; i < work->part_count; i++) {
		begin_boxes(&all[i], &work->parts[i]);
		reply.number += work->parts[i].status != 0;
	}
	uint8_t *rows = merge_boxes(all, work->part_count, room, &reply);
	if (rows == NULL)
		end(work, -ENOMEM);
	else
		end_with(work, &reply);
	free(rows);
}

/* ---- locks ---- */

static void begin_lock(struct nodework *work)
{
	struct nodepin *pin = work->start.pin;
	const struct nodesetup_peer *peer = find_peer(work);
	if (pin == NULL || peer == NULL) {
		end(work, pin == NULL ? -EOPNOTSUPP : -ENOENT);
		return;
	}
	const unsigned node = (unsigned)(peer - work->start.parts->setup->peers);
	if (pin->slot != NULL && pin->node != node) {
		end(work, MAILSTORE_ELOCK);
		return;
	}
	struct nodepart *part = nodeparts_make(work, 1);
	if (part == NULL) {
		end(work, -ENOMEM);
		return;
	}
	work->is_first_lock = pin->slot == NULL;
	if (work->is_first_lock) {
		pin->name_size = work->request.mailbox.size;
		memcpy(pin->name, work->name, pin->name_size);
	}
	part->ask.node = node;
	part->ask.pin = pin;
	nodeparts_ask(work);
}

static void begin_unlock(struct nodework *work)
{
	struct nodepin *pin = work->start.pin;
	if (pin == NULL || pin->slot == NULL)
		end(work, pin == NULL ? -EOPNOTSUPP : 0);
	else
		ask_one(work, pin->node, 0);
}

/* Without a lock any client may have the link again. */
static void look_at_pin(struct nodework *work)
{
	const int status = work->parts[0].status;
	const bool is_lock = work->request.type == STOREWIRE_LOCK;
	if (is_lock ? work->is_first_lock && status != 0 : status == 0)
		noderouter_unpin(work->start.pin);
	end(work, status);
}

/* ---- what is answered here ---- */

static void locate(struct nodework *work)
{
	char text[512];
	const struct nodework_parts *parts = work->start.parts;
	const struct nodesetup_peer *peer = find_peer(work);
	if (peer == NULL || !mailname_is_valid(work->request.mailbox)) {
		end(work, peer == NULL ? -ENOENT : MAILSTORE_EBOX);
		return;
	}
	const unsigned node = (unsigned)(peer - parts->setup->peers);
	struct storewire_reply reply = { .number = peer->number, .count = 1 };
	const char *port = strrchr(peer->lmtp, '@');
	struct noderouter_facts facts;
	noderouter_describe(parts->router, node, &facts);
	reply.rows_size = (size_t)snprintf(
		text, sizeof(text), "node=%s host=%.*s port=%s up=%s self=%s since=%" PRIu64 "\n",
		peer->name, port != NULL ? (int)(port - peer->lmtp) : 1,
		port != NULL ? peer->lmtp : "-", port != NULL ? port + 1 : "0",
		facts.is_down ? "no" : "yes", node == parts->setup->self ? "yes" : "no",
		facts.since_us);
	reply.rows = (const uint8_t *)text;
	end_with(work, &reply);
}

static void ask_module(struct nodework *work)
{
	const struct nodework_parts *parts = work->start.parts;
	struct questions_rows rows = { 0 };
	int status =
		parts->ask == NULL ? -EOPNOTSUPP : parts->ask(parts, work->request.number, &rows);
	if (status == 0)
		status = rows.status;
	if (status != 0)
		end(work, status);
	else
		end_with(work, &(struct storewire_reply){ .rows = rows.bytes,
							  .rows_size = rows.size,
							  .count = rows.count });
	questions_free_rows(&rows);
}

/* ---- all of them ---- */

/* One part, whose reply is the client's but for what is done here. */
static void finish_one(struct nodework *work)
{
	struct nodepart *part = &work->parts[0];
	struct storewire_reply reply = { .status = part->status };
	if (work->request.type == STOREWIRE_LOCK || work->request.type == STOREWIRE_UNLOCK) {
		look_at_pin(work);
		return;
	}
	if (part->status != 0) {
		end(work, part->status);
		return;
	}
	switch (work->request.type) {
	case STOREWIRE_LIST:
		end_list(work);
		return;
	case STOREWIRE_ROW:
		end_row(work);
		return;
	case STOREWIRE_SEGMENT:
		end_segment(work);
		return;
	default: /* CHECK, MAKE_ID, COLLECT */
		reply.id = part->reply.id;
		reply.number = part->reply.number;
		if (work->request.type == STOREWIRE_COLLECT)
			reply.number |= (uint64_t)number_of(work, part) << NODEWORK_NUMBER_BITS;
		end_with(work, &reply);
	}
}

static void answer_delivery(struct nodework *work)
{
	struct storewire_reply reply = { 0 };
	nodedeliver_end(work, &reply);
	say(work, &reply, -1);
	work->is_answered = true;
	work->start.pin = NULL; /* its client may end */
	/* What may be left to do wants no text, which may be large. */
	if (work->memory.fd >= 0)
		close(work->memory.fd);
	work->memory.fd = -1;
	free_rows(&reply);
}

static void end_delivery(struct nodework *work)
{
	if (!work->is_answered)
		answer_delivery(work);
	if (nodedeliver_next(work))
		nodeparts_ask(work);
	else
		nodeparts_free(work);
}

/* The answer comes when the mailbox has them no more; copies go behind it. */
static void end_erasure(struct nodework *work)
{
	struct storewire_reply reply = { 0 };
	enum nodeerase_step step = nodeerase_next(work, &reply.status);
	if (step == NODEERASE_ANSWERED || step == NODEERASE_LAST)
		say(work, &reply, -1);
	if (step != NODEERASE_MORE)
		work->start.pin = NULL; /* its client may end */
	if (step == NODEERASE_LAST || step == NODEERASE_OVER)
		nodeparts_free(work);
	else
		nodeparts_ask(work);
}

static void finish(struct nodework *work)
{
	switch (work->request.type) {
	case STOREWIRE_DELIVER:
		end_delivery(work);
		return;
	case STOREWIRE_ERASE:
		end_erasure(work);
		return;
	case STOREWIRE_BOXES:
		end_boxes(work);
		return;
	case STOREWIRE_FIND_ID:
		end_find(work);
		return;
	case STOREWIRE_STAT:
		end_stat(work);
		return;
	case STOREWIRE_LIST:
		if (work->lists_all) {
			end_list_of_all(work);
			return;
		}
		finish_one(work);
		return;
	default:
		finish_one(work);
		return;
	}
}

/* Of what is about one mailbox: where is it? */
static bool is_known(const struct nodework *work)
{
	const uint8_t type = work->request.type;
	const bool is_of_mailbox =
		type == STOREWIRE_CHECK || (type == STOREWIRE_LIST && !work->request.is_of_all) ||
		type == STOREWIRE_LOCK || (type == STOREWIRE_LOCATE && work->request.number == 0) ||
		(type == STOREWIRE_FIND_ID && work->request.mailbox.size > 0);
	return !is_of_mailbox || locate_is_known(work->start.parts->locate, work->request.mailbox);
}

/* Nothing that is down comes back here: a person has to mend the list, or "peer". */
static void tell_stranger(const struct nodework *work)
{
	const struct nodework_parts *parts = work->start.parts;
	const struct mailname mailbox = work->request.mailbox;
	const unsigned number = locate_find_stranger(parts->locate, mailbox);
	if (number == 0 || number > NODE_NUMBER_MAX || parts->has_told[number])
		return;
	parts->has_told[number] = true;
	log_warning("mail-stored", "node of a mailbox is no peer, number=%u mailbox=%.*s", number,
		    (int)mailbox.size, (const char *)mailbox.bytes);
}

static void begin(struct nodework *work)
{
	int ret = 0;
	if (!is_known(work)) {
		tell_stranger(work);
		end(work, MAILSTORE_EAWAY);
		return;
	}
	switch ((enum storewire_type)work->request.type) {
	case STOREWIRE_CHECK:
		begin_check(work);
		return;
	case STOREWIRE_DELIVER:
		ret = nodedeliver_begin(work);
		break;
	case STOREWIRE_ERASE:
		ret = nodeerase_begin(work);
		break;
	case STOREWIRE_MAKE_ID:
	case STOREWIRE_COLLECT:
		ask_one(work, work->start.parts->setup->self, work->request.number);
		return;
	case STOREWIRE_LIST:
		begin_list(work);
		return;
	case STOREWIRE_BOXES:
		skip_copies(work);
		ask_all(work);
		return;
	case STOREWIRE_FIND_ID:
		begin_find(work);
		return;
	case STOREWIRE_STAT:
		begin_stat(work);
		return;
	case STOREWIRE_ROW:
	case STOREWIRE_SEGMENT:
		begin_mail(work);
		return;
	case STOREWIRE_LOCK:
		begin_lock(work);
		return;
	case STOREWIRE_UNLOCK:
		begin_unlock(work);
		return;
	case STOREWIRE_LOCATE:
		locate(work);
		return;
	case STOREWIRE_CLUSTER:
		ask_module(work);
		return;
	case STOREWIRE_HELLO:
	case STOREWIRE_LOGIN: /* of nodeclients.c */
	case STOREWIRE_TYPES:
		ret = -EPROTO;
		break;
	}
	if (ret != 0)
		end(work, ret);
}

/* 0 or -errno. */
static int copy_request(struct nodework *work, const struct storewire_request *request, int fd)
{
	work->request = *request;
	work->serial = request->serial;
	if (request->mailbox.size > 0)
		memcpy(work->name, request->mailbox.bytes, request->mailbox.size);
	work->request.mailbox.bytes = work->name;
	work->request.memory = NULL;
	work->request.memory_size = 0;
	work->has_memory = fd >= 0 || request->has_memory;
	if (fd >= 0) {
		const int seals = fcntl(fd, F_GET_SEALS);
		const off_t size = lseek(fd, 0, SEEK_END);
		if (seals < 0 || (seals & SEALS) != SEALS || size <= 0)
			return MAILSTORE_EUNSEALED;
		work->memory.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		work->memory.size = (uint64_t)size;
		return work->memory.fd < 0 ? -errno : 0;
	}
	if (request->memory_size == 0)
		return 0;
	work->copy = malloc(request->memory_size);
	if (work->copy == NULL)
		return -ENOMEM;
	memcpy(work->copy, request->memory, request->memory_size);
	work->memory.bytes = work->copy;
	work->memory.bytes_size = request->memory_size;
	return 0;
}

void nodework_begin(const struct nodework_start *start, const struct storewire_request *request,
		    int fd)
{
	struct nodework *work = calloc(1, sizeof(*work));
	if (work == NULL) {
		const struct storewire_reply reply = { .type = request->type,
						       .serial = request->serial,
						       .status = -ENOMEM };
		start->answer(start->owner, &reply, -1);
		return;
	}
	work->start = *start;
	work->memory.fd = -1;
	work->finish = finish;
	int ret = copy_request(work, request, fd);
	if (ret != 0)
		end(work, ret);
	else
		begin(work);
}
