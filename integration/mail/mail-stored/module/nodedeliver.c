/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/module/nodedeliver.h"

#include "integration/mail/base/store/copyname.h"
#include "integration/mail/mail-stored/module/nodeerase.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define STATUS_SIZE 4

enum step { DELIVERING, FINDING, ERASING };

/* Of one node: its mailboxes, and those whose copies it has. */
struct group {
	struct mailname *names;
	size_t count;
	unsigned part;
};

struct groups {
	struct group of[NODES_MAX];
	struct mailname *names; /* room for all of them, twice */
	uint8_t *copy_names;	/* MAILBOX_NAME_MAX for each */
	unsigned count;		/* of those that have some */
};

static bool has_copies(const struct nodework *work)
{
	return work->start.parts->setup->copies > 1;
}

static unsigned number_at(const struct nodework *work, unsigned node)
{
	return work->start.parts->setup->peers[node].number;
}

/* ---- which mailbox is where ---- */

static int find_nodes(struct nodework *work, struct mailmeta *meta)
{
	work->names = calloc(meta->recipient_count + 1U, sizeof(*work->names));
	work->nodes = calloc(meta->recipient_count + 1U, 1);
	if (work->names == NULL || work->nodes == NULL)
		return -ENOMEM;
	while (work->name_count < meta->recipient_count &&
	       mailmeta_next(meta, &work->names[work->name_count])) {
		if (!locate_is_known(work->start.parts->locate, work->names[work->name_count]))
			return MAILSTORE_EAWAY;
		work->nodes[work->name_count] = (uint8_t)locate_find(work->start.parts->locate,
								     work->names[work->name_count]);
		work->name_count++;
	}
	return 0;
}

static void add_name(struct groups *groups, unsigned node, struct mailname name)
{
	struct group *group = &groups->of[node];
	group->names[group->count++] = name;
}

/* Of a mailbox that has mails of its own, and not the copies of others. */
static bool is_copied(const struct nodework *work, unsigned at)
{
	const struct mailname name = work->names[at];
	return has_copies(work) && !copyname_is_own(name);
}

/* Of the mailbox of its copies, into MAILBOX_NAME_MAX bytes; 0: it has none. */
static size_t name_copies(const struct nodework *work, unsigned at, uint8_t *ret_bytes)
{
	return is_copied(work, at)
		       ? copyname_make(number_at(work, work->nodes[at]), work->names[at], ret_bytes)
		       : 0;
}

/* How many names each node will have, so that all lie in one array. */
static void make_rooms(const struct nodework *work, struct groups *groups)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	size_t counts[NODES_MAX] = { 0 };
	size_t at = 0;
	for (unsigned i = 0; i < work->name_count; i++) {
		counts[work->nodes[i]]++;
		if (name_copies(work, i, bytes) > 0)
			counts[locate_next(work->start.parts->setup, work->nodes[i])]++;
	}
	for (unsigned node = 0; node < NODES_MAX; node++) {
		groups->of[node].names = groups->names + at;
		at += counts[node];
		if (counts[node] > 0)
			groups->of[node].part = groups->count++;
	}
}

static void add_copy(const struct nodework *work, struct groups *groups, unsigned at)
{
	const unsigned node = work->nodes[at];
	uint8_t *bytes = groups->copy_names + (size_t)at * MAILBOX_NAME_MAX;
	const size_t size = name_copies(work, at, bytes);
	if (size > 0)
		add_name(groups, locate_next(work->start.parts->setup, node),
			 (struct mailname){ bytes, size });
}

static int make_groups(const struct nodework *work, struct groups *groups)
{
	groups->names = calloc(2 * work->name_count + 1U, sizeof(*groups->names));
	if (has_copies(work))
		groups->copy_names = malloc((size_t)work->name_count * MAILBOX_NAME_MAX + 1);
	if (groups->names == NULL || (has_copies(work) && groups->copy_names == NULL))
		return -ENOMEM;
	make_rooms(work, groups);
	for (unsigned i = 0; i < work->name_count; i++)
		add_name(groups, work->nodes[i], work->names[i]);
	for (unsigned i = 0; has_copies(work) && i < work->name_count; i++)
		add_copy(work, groups, i);
	return 0;
}

/* ---- parts ---- */

/* The meta of this node, and the text as the client gave it. */
static int fill_part(const struct nodework *work, struct mailname sender, const struct group *group,
		     struct nodepart *part)
{
	const size_t size = mailmeta_size(sender, group->names, group->count, 0);
	part->prefix = malloc(size);
	if (part->prefix == NULL)
		return -ENOMEM;
	mailmeta_encode(sender, group->names, group->count, NULL, 0, part->prefix);
	part->ask.memory.bytes = part->prefix;
	part->ask.memory.bytes_size = size;
	part->ask.request.number = size;
	if (work->memory.fd >= 0) {
		part->ask.memory.fd = work->memory.fd;
		part->ask.memory.at = work->request.number;
		part->ask.memory.size = work->request.size;
		return 0;
	}
	uint8_t *both = realloc(part->prefix, size + (size_t)work->request.size);
	if (both == NULL)
		return -ENOMEM;
	memcpy(both + size, work->memory.bytes + work->request.number, (size_t)work->request.size);
	part->prefix = both;
	part->ask.memory.bytes = both;
	part->ask.memory.bytes_size = size + (size_t)work->request.size;
	return 0;
}

/* One node has all of it, and it goes there as it is. */
static int ask_as_it_is(struct nodework *work, unsigned node)
{
	struct nodepart *part = nodeparts_make(work, 1);
	if (part == NULL)
		return -ENOMEM;
	part->ask.node = node;
	part->ask.memory = work->memory;
	part->ask.has_memory = true;
	/* An id is of this node's store. */
	part->ask.request.is_moved |=
		work->request.has_id && node != work->start.parts->setup->self;
	nodeparts_ask(work);
	return 0;
}

static int ask_groups(struct nodework *work, struct mailname sender, const struct groups *groups)
{
	struct nodepart *parts = nodeparts_make(work, groups->count);
	int ret = parts == NULL ? -ENOMEM : 0;
	for (unsigned node = 0; ret == 0 && node < NODES_MAX; node++) {
		const struct group *group = &groups->of[node];
		if (group->count == 0)
			continue;
		parts[group->part].ask.node = node;
		parts[group->part].ask.has_memory = true;
		ret = fill_part(work, sender, group, &parts[group->part]);
	}
	if (ret == 0)
		nodeparts_ask(work);
	return ret;
}

static int split(struct nodework *work, struct mailname sender)
{
	struct groups groups = { 0 };
	if (work->request.time_us == 0)
		work->request.time_us = clock_wall_us();
	int ret = make_groups(work, &groups);
	/* The same id at all nodes, of which none has made it. */
	if (ret == 0 && has_copies(work) && !work->request.has_id &&
	    getentropy(work->request.id.bytes, MAILID_SIZE) != 0)
		ret = -EAGAIN;
	if (has_copies(work) || work->request.has_id)
		work->request.has_id = work->request.is_moved = true;
	if (ret == 0)
		ret = ask_groups(work, sender, &groups);
	free(groups.names);
	free(groups.copy_names);
	return ret;
}

int nodedeliver_begin(struct nodework *work)
{
	struct mailmeta meta;
	const uint64_t there = work->memory.fd >= 0 ? work->memory.size : work->memory.bytes_size;
	if (work->request.number > there || work->request.size != there - work->request.number)
		return MAILSTORE_EUNSEALED;
	int ret = nodeparts_read_memory(work, work->request.number, &work->meta);
	if (ret == 0)
		ret = mailmeta_decode(work->meta, (size_t)work->request.number, &meta);
	if (ret == 0 && meta.exceptions.size > 0)
		ret = MAILSTORE_EDAMAGED;
	if (ret == 0)
		ret = find_nodes(work, &meta);
	if (ret != 0)
		return ret;
	/* Without any recipient it is the store's to refuse. */
	bool is_one = !has_copies(work) || work->name_count == 0;
	for (unsigned i = 1; is_one && i < work->name_count; i++)
		is_one = work->nodes[i] == work->nodes[0];
	if (!is_one)
		return split(work, meta.sender);
	const unsigned self = work->start.parts->setup->self;
	return ask_as_it_is(work, work->name_count > 0 ? work->nodes[0] : self);
}

/* ---- what became of it ---- */

static const struct nodepart *part_of(const struct nodework *work, unsigned node)
{
	for (unsigned i = 0; i < work->part_count; i++)
		if (work->parts[i].ask.node == node)
			return &work->parts[i];
	return &work->parts[0];
}

/* Of mailboxes whose own node has the mail. */
static void count_copies(const struct nodework *work)
{
	uint64_t *counters = work->start.parts->counters;
	uint8_t bytes[MAILBOX_NAME_MAX];
	bool is_missing = false;
	for (unsigned i = 0; i < work->name_count; i++) {
		const unsigned next = locate_next(work->start.parts->setup, work->nodes[i]);
		is_missing =
			is_missing ||
			(is_copied(work, i) && part_of(work, work->nodes[i])->status == 0 &&
			 (name_copies(work, i, bytes) == 0 || part_of(work, next)->status != 0));
	}
	counters[NODEWORK_COPIED] += !is_missing;
	counters[NODEWORK_UNCOPIED] += is_missing;
}

/* Without memory, or in a packet that would be too long, there is one status for all. */
static void make_rows(const struct nodework *work, struct storewire_reply *reply)
{
	const size_t size = (size_t)work->name_count * STATUS_SIZE;
	uint8_t *rows = size <= STOREWIRE_ROWS_MAX ? malloc(size + 1) : NULL;
	uint8_t *out = rows;
	if (rows == NULL)
		return;
	for (unsigned i = 0; i < work->name_count; i++)
		bytes_put(&out, (uint32_t)part_of(work, work->nodes[i])->status, STATUS_SIZE);
	reply->rows = rows;
	reply->rows_size = size;
	reply->count = work->name_count;
}

void nodedeliver_end(struct nodework *work, struct storewire_reply *reply)
{
	uint64_t *counters = work->start.parts->counters;
	bool has_some = false;
	for (unsigned i = 0; i < work->name_count || i == 0; i++) {
		const unsigned node =
			work->name_count > 0 ? work->nodes[i] : work->start.parts->setup->self;
		const struct nodepart *part = part_of(work, node);
		/* It is refused for good when there is no other to be tried again. */
		if (part->status != 0 && (reply->status == 0 || reply->status == -EFBIG))
			reply->status = part->status;
		else if (part->status == 0 && !has_some)
			reply->id = part->reply.id;
		has_some = has_some || part->status == 0;
	}
	for (unsigned i = 0; i < work->part_count; i++)
		counters[NODEWORK_RELAYED] +=
			work->parts[i].status == 0 &&
			work->parts[i].ask.node != work->start.parts->setup->self;
	counters[NODEWORK_DELIVERED] += has_some;
	if (has_some && has_copies(work))
		count_copies(work);
	if (!has_some || reply->status == 0)
		return;
	counters[NODEWORK_PARTLY]++;
	make_rows(work, reply);
}

/* ---- copies of what was not taken ---- */

static unsigned next_of(const struct nodework *work, unsigned at)
{
	return locate_next(work->start.parts->setup, work->nodes[at]);
}

/* Leaves the mailboxes alone whose copies are to go. */
static void keep_strays(struct nodework *work)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	unsigned count = 0;
	for (unsigned i = 0; i < work->name_count; i++) {
		const bool is_stray = name_copies(work, i, bytes) > 0 &&
				      part_of(work, work->nodes[i])->status != 0 &&
				      part_of(work, next_of(work, i))->status == 0;
		if (!is_stray)
			continue;
		work->names[count] = work->names[i];
		work->nodes[count++] = work->nodes[i];
	}
	work->name_count = count;
}

/* Which number each node has given it. */
static bool make_finding(struct nodework *work)
{
	bool is_asked[NODES_MAX] = { false };
	unsigned count = 0;
	for (unsigned i = 0; i < work->name_count; i++)
		is_asked[next_of(work, i)] = true;
	for (unsigned node = 0; node < NODES_MAX; node++)
		count += is_asked[node];
	struct nodepart *part = count > 0 ? nodeparts_make(work, count) : NULL;
	for (unsigned node = 0; part != NULL && node < NODES_MAX; node++) {
		if (!is_asked[node])
			continue;
		part->ask.node = node;
		part->ask.request = (struct storewire_request){ .type = STOREWIRE_FIND_ID,
								.has_id = true,
								.id = work->request.id };
		part++;
	}
	work->step = FINDING;
	return part != NULL;
}

static bool make_erasures(struct nodework *work)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	uint64_t mails[NODES_MAX] = { 0 };
	for (unsigned i = 0; i < work->part_count; i++)
		if (work->parts[i].status == 0)
			mails[work->parts[i].ask.node] = work->parts[i].reply.number;
	unsigned count = 0;
	for (unsigned i = 0; i < work->name_count; i++)
		count += mails[next_of(work, i)] > 0;
	struct nodepart *part = count > 0 ? nodeparts_make(work, count) : NULL;
	int ret = part != NULL ? 0 : -ENOMEM;
	for (unsigned i = 0; ret == 0 && i < work->name_count; i++) {
		const unsigned node = next_of(work, i);
		/* Number 0 is none that a mail has: no copy was found there. */
		if (mails[node] == 0)
			continue;
		const struct mailname box = { bytes, name_copies(work, i, bytes) };
		part->ask.node = node;
		ret = nodeerase_fill(part++, box, &mails[node], 1);
	}
	work->step = ERASING;
	return ret == 0;
}

bool nodedeliver_next(struct nodework *work)
{
	switch ((enum step)work->step) {
	case DELIVERING:
		if (!has_copies(work))
			return false;
		keep_strays(work);
		return make_finding(work);
	case FINDING:
		return make_erasures(work);
	case ERASING:
		break;
	}
	return false;
}
