/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * gather.c - mail-store gather: mails of a mailbox that are at other nodes go to the node that it has by now.
 *
 * The list of users names a node for each mailbox, and what came before it named this one stays where it is. Each mail
 * is delivered at the node of the mailbox, under its id and with its time, and deleted where it was behind that: an
 * interruption leaves it at both, and the next run deletes it.
 */

#include "integration/mail/mail-store/tool.h"

#include "integration/mail/base/store/remote.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sysexits.h>

struct gather {
	const char *store;
	struct maillayer *layer;
	struct mailname box;
	uint64_t node; /* its number */
	uint64_t moved;
	uint64_t renamed; /* of these, mails whose id the other store has had before */
	bool is_damaged;  /* some mail was left where it is */
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
	.bound = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
};

/* An id belongs to one mail of a store: a second copy there, or a mail of another mailbox, may have it. */
static int deliver(struct gather *gather, const struct mailentry *entry,
		   const struct tool_mail *found)
{
	struct mailid id;
	struct mailstore_mail mail = { .sender = found->meta.sender,
				       .recipients = &gather->box,
				       .recipient_count = 1,
				       .text = (const uint8_t *)found->text,
				       .size = found->size,
				       .time_us = entry->time_us,
				       .id = &entry->id,
				       .is_moved = true };
	int ret = maillayer_deliver(gather->layer, &mail, &id);
	if (ret != MAILSTORE_EID)
		return ret;
	mail.id = NULL;
	mail.is_moved = false;
	ret = maillayer_deliver(gather->layer, &mail, &id);
	gather->renamed += ret == 0;
	return ret;
}

static int bring(struct gather *gather, const struct mailentry *entry)
{
	struct tool_mail found;
	uint64_t mail;
	/* It is there of an attempt before, or as its sender has brought it twice. */
	int ret = tool_find_in(gather->layer, gather->box, &entry->id, &mail);
	if (ret == MAILSTORE_EMAIL) {
		ret = tool_read_mail(gather->layer, entry->mail, &found);
		if (ret == 0)
			ret = deliver(gather, entry, &found);
		tool_free_mail(&found);
	}
	if (ret == 0)
		ret = maillayer_erase(gather->layer, gather->box, &entry->mail, 1, clock_wall_us());
	gather->moved += ret == 0;
	return ret;
}

static int name_mail(struct gather *gather, const struct mailentry *entry, int ret)
{
	char id[MAILID_TEXT_SIZE];
	mailid_format(&entry->id, id);
	(void)tool_fail_mail(gather->store, "mail not brought", id, ret);
	gather->is_damaged = gather->is_damaged || ret == MAILSTORE_EDAMAGED;
	return ret == MAILSTORE_EDAMAGED ? 0 : ret;
}

static int take_piece(void *context, const struct mailentry *entries, size_t count)
{
	struct gather *gather = context;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		if (remote_node_of(entries[i].mail) == gather->node)
			continue;
		ret = bring(gather, &entries[i]);
		if (ret == MAILSTORE_EMAIL)
			ret = 0; /* it was deleted meanwhile */
		else if (ret != 0)
			ret = name_mail(gather, &entries[i], ret);
	}
	return ret;
}

static int gather_box(struct gather *gather)
{
	char *text = NULL;
	int ret = remote_locate(gather->layer, gather->box, 0, &gather->node, &text);
	free(text);
	if (ret == 0)
		ret = tool_walk(gather->layer, gather->box, take_piece, gather);
	return ret == 0 ? tool_end_lists(gather->store, gather->layer) : ret;
}

static int run(struct gather *gather, int count, char **names)
{
	int ret = 0;
	int status = tool_open(gather->store, false, &gather->layer);
	if (status != EX_OK)
		return status;
	for (int i = 0; ret == 0 && i < count; i++) {
		gather->box = (struct mailname){ (const uint8_t *)names[i], strlen(names[i]) };
		ret = gather_box(gather);
	}
	maillayer_close(gather->layer);
	if (ret != 0)
		return tool_fail_after(gather->store, "not all was brought", gather->moved, ret);
	printf("%" PRIu64 " mails brought", gather->moved);
	if (gather->renamed > 0)
		printf(", %" PRIu64 " of them under new ids", gather->renamed);
	puts("");
	return gather->is_damaged ? EX_DATAERR : EX_OK;
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
