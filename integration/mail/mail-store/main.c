/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * mail-store - looks into a mail store, and changes it. The program's own text is mail-store.1.
 */

#include "integration/mail/mail-store/tool.h"

#include "lib/common/subcommands.h"

#include <stddef.h>

static const struct subcommand commands[] = {
	{ "deliver", deliver_command, "put a mail into mailboxes, once for all" },
	{ "ls", ls_command, "list mailboxes, or the mails of one" },
	{ "cat", cat_command, "print mails as they were delivered" },
	{ "rm", rm_command, "delete mails from a mailbox" },
	{ "stat", stat_command, "print what the store holds and what it costs" },
	{ "collect", collect_command, "give back the space of deleted mails" },
	{ "import", import_command, "deliver what an mbox or a maildir has" },
	{ "export", export_command, "write a mailbox as an mbox or a maildir" },
	{ "fsck", fsck_command, "read everything, and report what is wrong" },
	{ "copies", copies_command, "compare mailboxes with their copies on other nodes" },
	{ "gather", gather_command, "bring mails to the node that their mailbox has by now" },
	{ "bench", bench_command, "measure how many mails a second a disk commits" },
};

int main(int argc, char **argv)
{
	static const struct subcommands table = {
		.program = "mail-store",
		.libraries = NULL,
		.summary = "Looks into a mail store, and changes it.",
		.rows = commands,
		.row_count = sizeof(commands) / sizeof(commands[0]),
	};
	return subcommands_run(&table, argc, argv);
}
