/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * gather.c - mail-store gather: mails of a mailbox that are at other nodes go to the node that it has by now.
 *
 * The list of users names a node for each mailbox, and what came before it named this one stays where it is. Each mail
 * is delivered at the node of the mailbox, under its id and with its time, and deleted where it was behind that: an
 * interruption leaves it at both, and the next run deletes it. No mail is deleted before the mailbox was seen to have
 * it at its new node: a list that changes meanwhile makes another node answer, which may have the only one.
 *
 * Its user may delete it at the new node before that next run. So one record delivers it into a second mailbox there,
 * too, a mark (copyname.h): what has a mark at another node was brought, and is deleted where it is, whether or not
 * the mailbox has it there. A mark goes before its mail leaves that node, and all of them when the mailbox is done.
 */

#include "integration/mail/mail-store/tool.h"

#include "integration/mail/base/store/copyname.h"
#include "integration/mail/base/store/remote.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sysexits.h>

struct gather {
	const char *store;
	struct maillayer *layer;
	/* A connection of its own: one with a lock deletes nothing at other nodes. */
	struct maillayer *lock;
	struct maillayer *box_lock; /* likewise, and what is brought is deleted over it */
	unsigned locked; /* the number of the node where it has the mailbox; 0: of none */
	struct mailname box;
	uint64_t node; /* its number */
	uint8_t mark_bytes[MAILBOX_NAME_MAX];
	struct mailname mark_box; /* empty: its name would be too long, and there are none */
	/* Of a run before, at all nodes, in the order of ids. One that has gone meanwhile is of mail 0. */
	struct tool_list marks;
	uint64_t moved;
	uint64_t renamed; /* of these, mails whose id the other store has had before */
	bool is_damaged;  /* some mail was left where it is */
	bool has_stopped; /* some mailbox has moved meanwhile, or: */
	bool has_lost_lock;
	bool lacked_mails; /* some node did not answer */
};

static const struct options_bound rows[] = {
	{ { 's', "store", "SOCKET", "of mail-stored on any node" },
	  OPTIONS_AT(struct gather, store) },
};

static const struct options_table table = {
	.program = "mail-store gather",
	.usage = "--store SOCKET MAILBOX ...",
	.summary =
		"Brings mails of mailboxes that are at other nodes to the node that the list of\n"
		"users names by now.",
	OPTIONS_ROWS(rows),
};

/* Its number in a mailbox, at the node that the list names at this moment; 0: there is none. */
static int find_there(const struct gather *gather, struct mailname box, const struct mailid *id,
		      uint64_t *ret_mail)
{
	*ret_mail = 0;
	int ret = tool_find_in(gather->layer, box, id, ret_mail);
	return ret == MAILSTORE_EMAIL ? 0 : ret;
}

/* ---- the lock of all ---- */

/*
 * The lock ends with the processes of its node, and its connection with it: another gather may run since then, and have
 * brought what this one has read. So it is asked for before each write. 0, or -ECANCELED with a line of the log.
 */
static int check_lock(struct gather *gather)
{
	if (tool_lock_moves(gather->lock) == 0)
		return 0;
	log_error(NULL, "lock lost, store=%s (gather again)", gather->store);
	gather->has_lost_lock = gather->has_stopped = true;
	return -ECANCELED;
}

static int erase(struct gather *gather, struct maillayer *layer, struct mailname box,
		 const uint64_t *mails, size_t count)
{
	int ret = check_lock(gather);
	return ret == 0 ? maillayer_erase(layer, box, mails, count, clock_wall_us()) : ret;
}

/* ---- marks ---- */

static int list_marks(struct gather *gather)
{
	gather->marks.count = 0;
	gather->mark_box =
		(struct mailname){ gather->mark_bytes,
				   copyname_make_brought(gather->box, gather->mark_bytes) };
	if (gather->mark_box.size == 0)
		return 0;
	int ret = tool_walk(gather->layer, gather->mark_box, tool_keep_entries, &gather->marks);
	tool_sort_by_ids(&gather->marks);
	if (remote_lacked_mails(gather->layer))
		gather->lacked_mails = true;
	return ret;
}

/* Of that mail: at its own node, or at some other one. NULL: there is none. */
static struct mailentry *find_mark(const struct gather *gather, const struct mailentry *entry,
				   bool is_at_its_node)
{
	const struct tool_list *marks = &gather->marks;
	for (struct mailentry *mark = tool_find_entry(marks, entry);
	     mark != NULL && mark < marks->entries + marks->count &&
	     tool_compare_ids(mark, entry) == 0;
	     mark++)
		if (mark->mail != 0 &&
		    (remote_node_of(mark->mail) == remote_node_of(entry->mail)) == is_at_its_node)
			return mark;
	return NULL;
}

/*
 * The mail is about to leave its node: with a mark that stays, it would be deleted wherever it is from then on. It is
 * the same record in both mailboxes. A node that has listed none may be one that did not answer.
 */
static int end_mark(struct gather *gather, const struct mailentry *entry)
{
	struct mailentry *mark = find_mark(gather, entry, true);
	if (gather->mark_box.size == 0 || (mark == NULL && !gather->lacked_mails))
		return 0;
	int ret = erase(gather, gather->layer, gather->mark_box, &entry->mail, 1);
	if (ret == 0 && mark != NULL)
		mark->mail = 0;
	return ret;
}

/* A deletion is about one node; a list is in the order of nodes. */
static int end_piece(void *context, const struct mailentry *entries, size_t count)
{
	struct gather *gather = context;
	uint64_t *mails = calloc(count, sizeof(*mails));
	size_t size = 0;
	int ret = mails == NULL ? -ENOMEM : 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		mails[size++] = entries[i].mail;
		if (i + 1 < count &&
		    remote_node_of(entries[i + 1].mail) == remote_node_of(entries[i].mail))
			continue;
		ret = erase(gather, gather->layer, gather->mark_box, mails, size);
		size = 0;
	}
	free(mails);
	return ret;
}

/* All mails of the mailbox are at its node. */
static int end_marks(struct gather *gather)
{
	return gather->mark_box.size > 0
		       ? tool_walk(gather->layer, gather->mark_box, end_piece, gather)
		       : 0;
}

/* ---- one mail ---- */

/*
 * An id belongs to one mail of a store: a second copy there, or a mail of another mailbox, may have it.
 * DNSBLV6_ENOTFOUND: nothing is delivered, as a run before has brought it under another id.
 */
static int deliver(struct gather *gather, const struct mailentry *entry,
		   const struct tool_mail *found, struct mailid *ret_id)
{
	const struct mailname boxes[] = { gather->mark_box, gather->box };
	const bool has_mark = gather->mark_box.size > 0;
	struct mailstore_mail mail = { .sender = found->meta.sender,
				       .recipients = has_mark ? boxes : &gather->box,
				       .recipient_count = has_mark ? 2 : 1,
				       .text = (const uint8_t *)found->text,
				       .size = found->size,
				       .time_us = entry->time_us,
				       .id = &entry->id,
				       .is_moved = true };
	const struct mailentry *same = tool_find_same(gather->layer, &gather->marks, &mail);
	if (same != NULL) {
		*ret_id = same->id;
		return DNSBLV6_ENOTFOUND;
	}
	int ret = check_lock(gather);
	if (ret == 0)
		ret = maillayer_deliver(gather->layer, &mail, ret_id);
	if (ret != MAILSTORE_EID)
		return ret;
	mail.id = NULL;
	mail.is_moved = false;
	ret = check_lock(gather);
	return ret == 0 ? maillayer_deliver(gather->layer, &mail, ret_id) : ret;
}

static int deliver_text(struct gather *gather, const struct mailentry *entry, struct mailid *ret_id)
{
	struct tool_mail found;
	int ret = tool_read_mail(gather->layer, entry->mail, &found);
	if (ret == 0)
		ret = deliver(gather, entry, &found, ret_id);
	tool_free_mail(&found);
	return ret;
}

/* -ECANCELED, with a line of the log: the mail may be the only one. */
static int stop_box(struct gather *gather)
{
	log_error(NULL, "mailbox has moved meanwhile, store=%s name=%.*s (gather it again)",
		  gather->store, (int)gather->box.size, (const char *)gather->box.bytes);
	gather->has_stopped = true;
	return -ECANCELED;
}

/* Of the mailbox at the node where a mail is. 0, or -ECANCELED with a line of the log: a session has it open. */
static int lock_box(struct gather *gather, uint64_t mail)
{
	const unsigned number = remote_node_of(mail);
	if (gather->locked == number)
		return 0;
	gather->locked = 0;
	int ret = maillayer_unlock(gather->box_lock);
	if (ret == 0)
		ret = remote_lock_at(gather->box_lock, gather->box, number);
	if (ret == 0)
		gather->locked = number;
	if (ret != -EBUSY)
		return ret;
	log_error(NULL, "mailbox is open at another node, store=%s name=%.*s (gather it again)",
		  gather->store, (int)gather->box.size, (const char *)gather->box.bytes);
	gather->has_stopped = true;
	return -ECANCELED;
}

/* It may have been deleted since it was listed; false also when a node did not answer. */
static bool has_left(struct gather *gather, uint64_t mail)
{
	struct mailentry found;
	const int ret = maillayer_find(gather->layer, gather->box, mail, &found);
	const bool is_away = remote_lacked_mails(gather->layer);
	gather->lacked_mails = gather->lacked_mails || is_away;
	return !is_away && (ret == DNSBLV6_ENOTFOUND || (ret == 0 && found.mail != mail));
}

/* 0: the mailbox has it at its node, or had it there. *ret_id is its id there. */
static int bring(struct gather *gather, const struct mailentry *entry, struct mailid *ret_id)
{
	const struct mailname seen_in = gather->mark_box.size > 0 ? gather->mark_box : gather->box;
	uint64_t there = 0;
	uint64_t mark = 0;
	*ret_id = entry->id;
	/* Its sender may have brought it twice. */
	int ret = find_there(gather, gather->box, ret_id, &there);
	/* From two nodes, and its user has deleted it between the two. */
	if (ret == 0 && there == 0 && gather->mark_box.size > 0)
		ret = find_there(gather, gather->mark_box, ret_id, &mark);
	if (ret == 0 && there == 0 && remote_node_of(mark) == gather->node)
		return 0;
	const bool is_new = ret == 0 && there == 0;
	if (is_new) {
		ret = deliver_text(gather, entry, ret_id);
		if (ret == DNSBLV6_ENOTFOUND)
			return 0;
		if (ret == 0)
			ret = find_there(gather, seen_in, ret_id, &there);
	}
	/* A list that names the old node again finds the very mail that is to be erased. */
	if (ret == 0 && remote_node_of(there) != gather->node)
		ret = stop_box(gather);
	if (ret == 0 && is_new && has_left(gather, entry->mail)) {
		ret = erase(gather, gather->layer, gather->box, &there, 1);
		return ret == 0 ? MAILSTORE_EMAIL : ret;
	}
	return ret;
}

static int take_mail(struct gather *gather, const struct mailentry *entry)
{
	struct mailid id = entry->id;
	int ret = lock_box(gather, entry->mail);
	const bool was_brought = find_mark(gather, entry, false) != NULL;
	if (ret == 0)
		ret = end_mark(gather, entry);
	if (ret == 0 && !was_brought)
		ret = bring(gather, entry, &id);
	if (ret == 0)
		ret = erase(gather, gather->box_lock, gather->box, &entry->mail, 1);
	gather->moved += ret == 0;
	gather->renamed += ret == 0 && memcmp(&id, &entry->id, sizeof(id)) != 0;
	return ret;
}

/* ---- one mailbox ---- */

static int take_piece(void *context, const struct mailentry *entries, size_t count)
{
	struct gather *gather = context;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		if (remote_node_of(entries[i].mail) == gather->node)
			continue;
		ret = take_mail(gather, &entries[i]);
		if (ret == MAILSTORE_EMAIL)
			ret = 0; /* it was deleted meanwhile */
		else if (ret != 0 && ret != -ECANCELED)
			ret = tool_leave_out(gather->store, "mail not brought", &entries[i], ret,
					     &gather->is_damaged);
	}
	return ret;
}

static int gather_box(struct gather *gather)
{
	char *text = NULL;
	gather->locked = 0;
	int ret = remote_locate(gather->layer, gather->box, 0, &gather->node, &text);
	free(text);
	if (ret == 0)
		ret = list_marks(gather);
	if (ret == 0)
		ret = tool_walk(gather->layer, gather->box, take_piece, gather);
	const bool has_stopped = ret == -ECANCELED;
	if (has_stopped)
		ret = 0; /* the other mailboxes are not concerned, where the lock is not lost */
	if (ret == 0)
		ret = tool_end_lists(gather->store, gather->layer);
	if (ret == 0 && gather->lacked_mails)
		ret = MAILSTORE_EAWAY;
	if (ret == 0 && !has_stopped)
		ret = end_marks(gather);
	return ret == -ECANCELED ? 0 : ret;
}

static int gather_boxes(struct gather *gather, int count, char **names)
{
	int ret = 0;
	int status = tool_open(gather->store, false, &gather->layer);
	if (status == EX_OK)
		status = tool_open(gather->store, false, &gather->box_lock);
	if (status != EX_OK)
		return status;
	for (int i = 0; ret == 0 && !gather->has_lost_lock && i < count; i++) {
		gather->box = (struct mailname){ (const uint8_t *)names[i], strlen(names[i]) };
		ret = gather_box(gather);
	}
	if (ret != 0)
		return tool_fail_after(gather->store, "not all was brought", gather->moved, ret);
	printf("%" PRIu64 " mails brought", gather->moved);
	if (gather->renamed > 0)
		printf(", %" PRIu64 " of them under new ids", gather->renamed);
	puts("");
	if (gather->has_stopped)
		return EX_TEMPFAIL;
	return gather->is_damaged ? EX_DATAERR : EX_OK;
}

static int run(struct gather *gather, int count, char **names)
{
	bool is_away;
	int status = tool_open_lock(gather->store, &gather->lock, &is_away);
	if (status == EX_OK && is_away)
		status = tool_fail(gather->store, "lock not taken", MAILSTORE_EAWAY);
	if (status == EX_OK)
		status = gather_boxes(gather, count, names);
	free(gather->marks.entries);
	tool_let_go(gather->box_lock);
	maillayer_close(gather->layer);
	tool_let_go(gather->lock);
	return status;
}

int gather_command(int argc, char **argv)
{
	struct gather gather = { 0 };
	options_parse(&table, argc, argv, &gather);
	if (argc == optind)
		options_fail(&table, "no mailbox named");
	if (!tool_is_socket(gather.store))
		options_fail(&table, "--store is the socket of mail-stored");
	for (int i = optind; i < argc; i++)
		if (tool_mailbox(argv[i]).size == 0)
			return EX_USAGE;
	return run(&gather, argc - optind, argv + optind);
}
