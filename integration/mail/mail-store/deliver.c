/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * deliver.c - mail-store deliver: a mail from standard input, for all mailboxes or for none.
 */

#include "integration/mail/mail-store/tool.h"

#include "integration/mail/mail-store/mailfile.h"
#include "lib/process/clock.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

struct deliver {
	const char *store;
	const char *sender;
	bool prints_id;
};

static const struct options_bound rows[] = {
	{ { 's', "store", "PATH",
	    "store to deliver into, or a socket; a store is made when none is there" },
	  OPTIONS_AT(struct deliver, store) },
	{ { 'f', "sender", "ADDRESS", "reverse-path of the mail (empty)" },
	  OPTIONS_AT(struct deliver, sender) },
	{ { 'i', "print-id", NULL, "print the mail's id" }, OPTIONS_AT(struct deliver, prints_id) },
};

static const struct options_table table = {
	.program = "mail-store deliver",
	.usage = "--store PATH [options] MAILBOX ... <mail",
	.summary = "Puts a mail into mailboxes: it is written once, and on disk when this has "
		   "ended well.",
	OPTIONS_ROWS(rows),
};

static int deliver(struct maillayer *layer, const struct deliver *options,
		   const struct mailname *names, size_t count)
{
	struct mailfile file;
	struct mailid id;
	char text[MAILID_TEXT_SIZE];
	int ret = mailfile_read(STDIN_FILENO, &file);
	struct mailstore_mail mail = { .recipients = names,
				       .recipient_count = count,
				       .text = file.bytes,
				       .size = file.size,
				       .time_us = clock_wall_us() };
	if (options->sender != NULL)
		mail.sender = (struct mailname){ (const uint8_t *)options->sender,
						 strlen(options->sender) };
	if (ret == 0)
		ret = maillayer_deliver(layer, &mail, &id);
	if (ret == 0)
		ret = maillayer_sync(layer);
	mailfile_free(&file);
	if (ret != 0)
		return tool_fail(options->store, "mail not delivered", ret);
	if (!options->prints_id)
		return EX_OK;
	mailid_format(&id, text);
	puts(text);
	return EX_OK;
}

int deliver_command(int argc, char **argv)
{
	struct deliver options = { 0 };
	struct maillayer *layer;
	options_parse(&table, argc, argv, &options);
	size_t count = (size_t)(argc - optind);
	if (count == 0)
		options_fail(&table, "no mailbox named");
	struct mailname *names = calloc(count, sizeof(*names));
	int status = names == NULL ? EX_OSERR : EX_OK;
	for (size_t i = 0; status == EX_OK && i < count; i++) {
		names[i] = tool_mailbox(argv[optind + (int)i]);
		if (names[i].size == 0)
			status = EX_USAGE;
	}
	if (status == EX_OK)
		status = tool_open(options.store, true, &layer);
	if (status == EX_OK) {
		status = deliver(layer, &options, names, count);
		maillayer_close(layer);
	}
	free(names);
	return status;
}
