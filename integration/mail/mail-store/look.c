/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * look.c - mail-store ls, cat and stat: what a store has.
 */

#include "integration/mail/mail-store/tool.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

struct look {
	const char *store;
};

static const struct options_bound rows[] = {
	{ { 's', "store", "DIRECTORY", "store to read" }, OPTIONS_AT(struct look, store) },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

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
	.usage = "--store DIRECTORY [MAILBOX]",
	.summary = "Lists mailboxes with their mails and octets, or the mails of one: id, octets, "
		   "time.",
	.bound = rows,
	.row_count = ROW_COUNT,
};

static int list_boxes(struct mailstore *store)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	struct mailname name = { bytes, 0 };
	struct mailcounts counts;
	int ret = mailstore_next_box(store, name, bytes, &name.size, &counts);
	while (ret == 0) {
		print_name(name);
		printf("\t%" PRIu64 "\t%" PRIu64 "\n", counts.mails, counts.octets);
		ret = mailstore_next_box(store, name, bytes, &name.size, &counts);
	}
	return ret;
}

static void print_entry(const struct mailentry *entry)
{
	char id[MAILID_TEXT_SIZE];
	char when[32] = "";
	struct tm tm;
	time_t seconds = (time_t)(entry->time_us / 1000000);
	mailid_format(&entry->id, id);
	if (gmtime_r(&seconds, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%s\t%" PRIu64 "\t%s\n", id, entry->octets, when);
}

static int list_mails(struct mailstore *store, struct mailname name)
{
	struct mailentry entry;
	int ret = mailstore_find(store, name, 0, &entry);
	while (ret == 0) {
		print_entry(&entry);
		ret = mailstore_find(store, name, entry.mail + 1, &entry);
	}
	return ret;
}

int ls_command(int argc, char **argv)
{
	struct look options = { 0 };
	struct mailstore *store;
	struct mailname name = { 0 };
	options_parse(&ls_table, argc, argv, &options);
	if (argc - optind > 1)
		options_fail(&ls_table, "one mailbox at most");
	if (argc > optind) {
		name = tool_mailbox(argv[optind]);
		if (name.size == 0)
			return EX_USAGE;
	}
	int status = tool_open(options.store, false, &store);
	if (status != EX_OK)
		return status;
	int ret = name.size > 0 ? list_mails(store, name) : list_boxes(store);
	mailstore_close(store);
	return ret == DNSBLV6_ENOTFOUND ? tool_end_output()
					: tool_fail(options.store, "store not read", ret);
}

/* ---- cat ---- */

static const struct options_table cat_table = {
	.program = "mail-store cat",
	.usage = "--store DIRECTORY ID ...",
	.summary = "Prints mails, byte by byte as they were delivered.",
	.bound = rows,
	.row_count = ROW_COUNT,
};

static int print_mail(struct mailstore *store, const char *text)
{
	struct mailid id;
	struct mailentry entry = { 0 };
	struct mailrow row;
	if (mailid_parse(text, &id) != 0)
		return MAILSTORE_EMAIL;
	int ret = mailstore_find_id(store, &id, &entry.mail);
	if (ret == 0)
		ret = mailstore_find_row(store, entry.mail, &row);
	/* One that nobody has any more waits for collection: it is gone. */
	if (ret == DNSBLV6_ENOTFOUND || (ret == 0 && row.live == 0))
		ret = MAILSTORE_EMAIL;
	return ret == 0 ? tool_write_text(store, &entry, stdout) : ret;
}

int cat_command(int argc, char **argv)
{
	struct look options = { 0 };
	struct mailstore *store;
	options_parse(&cat_table, argc, argv, &options);
	if (argc == optind)
		options_fail(&cat_table, "no mail named");
	int status = tool_open(options.store, false, &store);
	if (status != EX_OK)
		return status;
	for (int i = optind; status == EX_OK && i < argc; i++) {
		int ret = print_mail(store, argv[i]);
		if (ret != 0 && !ferror(stdout))
			status = tool_fail_mail(options.store, "mail not printed", argv[i], ret);
	}
	mailstore_close(store);
	int ended = tool_end_output();
	return status == EX_OK ? ended : status;
}

/* ---- stat ---- */

static const struct options_table stat_table = {
	.program = "mail-store stat",
	.usage = "--store DIRECTORY",
	.summary = "Prints what a store holds, and what that costs.",
	.bound = rows,
	.row_count = ROW_COUNT,
};

int stat_command(int argc, char **argv)
{
	struct look options = { 0 };
	struct mailstore *store;
	struct mailstore_info info;
	options_parse(&stat_table, argc, argv, &options);
	if (argc > optind)
		options_fail(&stat_table, "no operand is taken");
	int status = tool_open(options.store, false, &store);
	if (status != EX_OK)
		return status;
	int ret = mailstore_describe(store, &info);
	mailstore_close(store);
	if (ret != 0)
		return tool_fail(options.store, "store not read", ret);
	printf("mails\t%" PRIu64 "\n", info.facts.mails);
	printf("entries\t%" PRIu64 "\n", info.facts.entries);
	printf("segments\t%" PRIu64 "\n", info.segments);
	printf("log-bytes\t%" PRIu64 "\n", info.log_size);
	printf("live-bytes\t%" PRIu64 "\n", info.live_size);
	printf("refused-ids\t%" PRIu64 "\n", info.facts.refused);
	return tool_end_output();
}
