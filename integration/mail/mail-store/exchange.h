/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * exchange.h - what import and export share: their options, the way in and the way out.
 *
 * Flow: import.c, export.c -> here -> tool.h.
 */

#include "integration/mail/mail-store/tool.h"

#include "lib/process/progress.h"

#include <sys/types.h>

/* One import or export. */
struct exchange {
	const char *store;
	const char *mbox;
	const char *maildir;
	const char *maildirs;	     /* the directory with a maildir for each mailbox */
	struct maillayer *layer;     /* NULL: import has found no mail yet */
	int open_status;	     /* of import: why its store is not open */
	struct mailname name;	     /* the mailbox in hand */
	struct mailname *recipients; /* of the mail in hand */
	size_t recipient_count;
	FILE *out;   /* the mbox of export */
	int root_fd; /* of its maildirs */
	uid_t uid;   /* of their owner, when that is not root and we are; else 0 */
	gid_t gid;
	const char *box; /* the one in hand */
	uint64_t count;
	uint64_t renamed;     /* of these, mails whose id could not be kept */
	uint64_t total;	      /* as far as it is known */
	uint64_t left_out;    /* what is in a maildir of an import and no file, or gone */
	uint64_t own;	      /* mailboxes of nodes' own (copyname.h), left out with maildirs */
	bool is_damaged;      /* some mail was left out of an export */
	bool is_only_new;     /* no mailbox gets a mail again that was delivered into it */
	uint64_t known;	      /* mails of which that was so for all */
	struct mailid before; /* of the file before, in names of an export */
	uint64_t last_us;     /* the time of the last mail without an id */
	struct progress progress;
};

/* The last one is of import alone. */
#define EXCHANGE_ROWS 5
extern const struct options_bound exchange_rows[EXCHANGE_ROWS];

/* Reads the command line; the command opens the store. EX_OK, or an exit status with a line of the log. */
int exchange_parse(const struct options_table *table, int argc, char **argv,
		   struct exchange *exchange);
/* Closes the store, and says how many mails were done; what is said when status is not 0. The exit status. */
int exchange_close(struct exchange *exchange, const char *what, const char *done, int status);
