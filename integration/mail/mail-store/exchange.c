/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-store/exchange.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

const struct options_bound exchange_rows[EXCHANGE_ROWS] = {
	{ { 's', "store", "PATH", "the store, or a socket" }, OPTIONS_AT(struct exchange, store) },
	{ { 0, "mbox", "FILE", "an mbox (mboxrd)" }, OPTIONS_AT(struct exchange, mbox) },
	{ { 0, "maildir", "DIRECTORY", "a maildir" }, OPTIONS_AT(struct exchange, maildir) },
	{ { 0, "maildirs", "DIRECTORY", "a maildir in it for each mailbox" },
	  OPTIONS_AT(struct exchange, maildirs) },
	{ { 0, "only-new", NULL, "with --maildirs: no mail again into a mailbox that got it" },
	  OPTIONS_AT(struct exchange, is_only_new) },
};

int exchange_parse(const struct options_table *table, int argc, char **argv,
		   struct exchange *exchange)
{
	options_parse(table, argc, argv, exchange);
	const int ways = (exchange->mbox != NULL) + (exchange->maildir != NULL) +
			 (exchange->maildirs != NULL);
	if (exchange->is_only_new && exchange->maildirs == NULL)
		options_fail(table, "--only-new is for --maildirs");
	if (ways != 1 || argc - optind != (exchange->maildirs == NULL ? 1 : 0))
		options_fail(table, "one mailbox, and --mbox or --maildir; or --maildirs");
	if (exchange->maildirs == NULL) {
		exchange->name = tool_mailbox(argv[optind]);
		if (exchange->name.size == 0)
			return EX_USAGE;
	}
	exchange->recipients = &exchange->name;
	exchange->recipient_count = 1;
	progress_init(&exchange->progress);
	return EX_OK;
}

int exchange_close(struct exchange *exchange, const char *what, const char *done, int status)
{
	maillayer_close(exchange->layer);
	progress_end(&exchange->progress);
	if (status != 0)
		return tool_fail_after(exchange->store, what, exchange->count, status);
	printf("%" PRIu64 " mails %s", exchange->count, done);
	if (exchange->renamed > 0)
		printf(", %" PRIu64 " of them under new ids", exchange->renamed);
	if (exchange->is_only_new)
		printf(", %" PRIu64 " were there", exchange->known);
	if (exchange->left_out > 0)
		printf(", %" PRIu64 " files left out", exchange->left_out);
	if (exchange->own > 0)
		printf(", %" PRIu64 " mailboxes of nodes' own left out", exchange->own);
	puts("");
	return exchange->left_out > 0 ? EX_DATAERR : EX_OK;
}
