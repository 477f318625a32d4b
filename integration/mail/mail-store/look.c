/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * look.c - mail-store ls, cat and stat: what a store has.
 */

#include "integration/mail/mail-store/tool.h"

#include "integration/mail/base/store/remote.h"

#include "lib/common/log.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>

struct look {
	const char *store;
};

static const struct options_bound rows[] = {
	{ { 's', "store", "PATH", "store to read, or a socket" }, OPTIONS_AT(struct look, store) },
};

#define DAY_S 86400

/* Bytes that are no printable ASCII, and blanks, as \xHH: names may have any. */
static void print_name(struct mailname name)
{
	for (size_t i = 0; i < name.size; i++) {
		if (name.bytes[i] > ' ' && name.bytes[i] < 0x7f && name.bytes[i] != '\\')
			putchar(name.bytes[i]);
		else
			printf("\\x%02x", name.bytes[i]);
	}
}

/* ---- ls ---- */

static const struct options_table ls_table = {
	.program = "mail-store ls",
	.usage = "--store PATH [MAILBOX]",
	.summary = "Lists mailboxes with their mails and octets, or the mails of one: id, octets, "
		   "time.",
	OPTIONS_ROWS(rows),
};

static int list_boxes(struct maillayer *layer)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	struct mailname name = { bytes, 0 };
	struct mailcounts counts;
	int ret = maillayer_next_box(layer, name, bytes, &name.size, &counts);
	while (ret == 0) {
		print_name(name);
		printf("\t%" PRIu64 "\t%" PRIu64 "\n", counts.mails, counts.octets);
		ret = maillayer_next_box(layer, name, bytes, &name.size, &counts);
	}
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

/* The day of the mail before, which most often is that of the next, too. */
struct day {
	uint64_t number; /* of days since 1970 */
	char text[32];	 /* "2026-11-24T"; "" before the first */
};

static void find_day(uint64_t number, struct day *day)
{
	struct tm tm;
	time_t seconds = (time_t)(number * DAY_S);
	if (day->number == number && day->text[0] != '\0')
		return;
	day->number = number;
	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(day->text, sizeof(day->text), "%Y-%m-%dT", &tm) == 0)
		day->text[0] = '\0';
}

static int print_entries(void *context, const struct mailentry *entries, size_t count)
{
	struct day *day = context;
	char id[MAILID_TEXT_SIZE];
	for (size_t i = 0; i < count; i++) {
		uint64_t seconds = entries[i].time_us / 1000000;
		unsigned in_day = (unsigned)(seconds % DAY_S);
		mailid_format(&entries[i].id, id);
		find_day(seconds / DAY_S, day);
		printf("%s\t%" PRIu64 "\t%s%02u:%02u:%02uZ\n", id, entries[i].octets, day->text,
		       in_day / 3600, in_day / 60 % 60, in_day % 60);
	}
	return ferror(stdout) ? -EIO : 0;
}

int ls_command(int argc, char **argv)
{
	struct look options = { 0 };
	struct maillayer *layer;
	struct mailname name = { 0 };
	options_parse(&ls_table, argc, argv, &options);
	if (argc - optind > 1)
		options_fail(&ls_table, "one mailbox at most");
	if (argc > optind) {
		name = tool_mailbox(argv[optind]);
		if (name.size == 0)
			return EX_USAGE;
	}
	int status = tool_open(options.store, false, &layer);
	if (status != EX_OK)
		return status;
	struct day day = { 0 };
	int ret = name.size > 0 ? tool_walk(layer, name, print_entries, &day) : list_boxes(layer);
	if (ret == 0)
		ret = tool_end_lists(options.store, layer);
	maillayer_close(layer);
	return ret == 0 || ferror(stdout) ? EX_OK : tool_fail(options.store, "store not read", ret);
}

/* ---- cat ---- */

static const struct options_table cat_table = {
	.program = "mail-store cat",
	.usage = "--store PATH ID ...",
	.summary = "Prints mails, byte by byte as they were delivered.",
	OPTIONS_ROWS(rows),
};

static int print_mail(struct maillayer *layer, const char *text)
{
	struct mailid id;
	uint64_t mail;
	if (mailid_parse(text, &id) != 0)
		return MAILSTORE_EMAIL;
	int ret = tool_find_mail(layer, &id, &mail);
	return ret == 0 ? tool_write_text(layer, mail, stdout) : ret;
}

int cat_command(int argc, char **argv)
{
	struct look options = { 0 };
	struct maillayer *layer;
	options_parse(&cat_table, argc, argv, &options);
	if (argc == optind)
		options_fail(&cat_table, "no mail named");
	int status = tool_open(options.store, false, &layer);
	if (status != EX_OK)
		return status;
	for (int i = optind; status == EX_OK && i < argc; i++) {
		int ret = print_mail(layer, argv[i]);
		if (ret != 0 && !ferror(stdout))
			status = tool_fail_mail(options.store, "mail not printed", argv[i], ret);
	}
	maillayer_close(layer);
	return status;
}

/* ---- stat ---- */

static const struct options_table stat_table = {
	.program = "mail-store stat",
	.usage = "--store PATH",
	.summary = "Prints what a store holds, and what that costs.",
	OPTIONS_ROWS(rows),
};

/* Numbers of those that are there are better than none. */
static int name_away(const char *store, const char *away)
{
	if (away == NULL || away[0] == '\0')
		return EX_OK;
	log_error(NULL, "nodes do not answer, store=%s nodes=%s", store, away);
	return mailstore_exit_status(MAILSTORE_EAWAY);
}

int stat_command(int argc, char **argv)
{
	struct look options = { 0 };
	struct maillayer *layer;
	struct mailstore_info info;
	char *away = NULL;
	options_parse_alone(&stat_table, argc, argv, &options);
	int status = tool_open(options.store, false, &layer);
	if (status != EX_OK)
		return status;
	int ret = tool_is_socket(options.store) ? remote_describe_all(layer, &info, &away)
						: maillayer_describe(layer, &info);
	maillayer_close(layer);
	if (ret != 0)
		return tool_fail(options.store, "store not read", ret);
	printf("mails\t%" PRIu64 "\n", info.facts.mails);
	printf("entries\t%" PRIu64 "\n", info.facts.entries);
	printf("segments\t%" PRIu64 "\n", info.segments);
	printf("log-bytes\t%" PRIu64 "\n", info.log_size);
	printf("live-bytes\t%" PRIu64 "\n", info.live_size);
	printf("refused-ids\t%" PRIu64 "\n", info.facts.refused);
	status = name_away(options.store, away);
	free(away);
	return status;
}
