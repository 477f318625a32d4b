/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * change.c - mail-store rm and collect: what goes.
 */

#include "integration/mail/mail-store/tool.h"

#include "lib/common/log.h"

#include <getopt.h>
#include <inttypes.h>
#include <sysexits.h>

#define SHARE_DEFAULT                                                                              \
	75 /* percent that lives; a store of such segments takes 1.33 times what lives */

/* ---- rm ---- */

struct rm {
	const char *store;
	bool removes_all;
};

static const struct options_bound rm_rows[] = {
	{ { 's', "store", "DIRECTORY", "store to change" }, OPTIONS_AT(struct rm, store) },
	{ { 'a', "all", NULL, "every mail of the mailbox" }, OPTIONS_AT(struct rm, removes_all) },
};

static const struct options_table rm_table = {
	.program = "mail-store rm",
	.usage = "--store DIRECTORY MAILBOX ID ... | --all MAILBOX",
	.summary = "Deletes mails from a mailbox; other mailboxes keep them.",
	.bound = rm_rows,
	.row_count = sizeof(rm_rows) / sizeof(rm_rows[0]),
};

static int remove_one(struct mailstore *store, struct mailname name, const char *text)
{
	struct mailid id;
	struct mailentry entry;
	uint64_t mail;
	if (mailid_parse(text, &id) != 0)
		return MAILSTORE_EMAIL;
	int ret = mailstore_find_id(store, &id, &mail);
	if (ret == 0)
		ret = mailstore_find(store, name, mail, &entry);
	if (ret == DNSBLV6_ENOTFOUND || (ret == 0 && entry.mail != mail))
		return MAILSTORE_EMAIL;
	return ret == 0 ? mailstore_delete(store, name, &mail, 1, tool_now_us()) : ret;
}

static int remove_all(struct mailstore *store, struct mailname name)
{
	struct mailentry entry;
	uint64_t from = 0;
	int ret = mailstore_find(store, name, from, &entry);
	while (ret == 0) {
		from = entry.mail + 1;
		ret = mailstore_delete(store, name, &entry.mail, 1, tool_now_us());
		if (ret == 0)
			ret = mailstore_find(store, name, from, &entry);
	}
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

/* Those before one that fails are deleted. */
static int remove_mails(struct mailstore *store, struct mailname name, const struct rm *options,
			int count, char **ids)
{
	int status = EX_OK;
	int ret = options->removes_all ? remove_all(store, name) : 0;
	for (int i = 0; ret == 0 && status == EX_OK && i < count; i++) {
		int removed = remove_one(store, name, ids[i]);
		if (removed != 0)
			status =
				tool_fail_mail(options->store, "mail not deleted", ids[i], removed);
	}
	if (ret == 0)
		ret = mailstore_sync(store);
	return ret == 0 ? status : tool_fail(options->store, "mails not deleted", ret);
}

int rm_command(int argc, char **argv)
{
	struct rm options = { 0 };
	struct mailstore *store;
	options_parse(&rm_table, argc, argv, &options);
	int count = argc - optind - 1;
	if (count < 0 || (count == 0) != options.removes_all)
		options_fail(&rm_table, "a mailbox and ids, or --all and a mailbox");
	struct mailname name = tool_mailbox(argv[optind]);
	if (name.size == 0)
		return EX_USAGE;
	int status = tool_open(options.store, false, &store);
	if (status != EX_OK)
		return status;
	status = remove_mails(store, name, &options, count, argv + optind + 1);
	mailstore_close(store);
	return status;
}

/* ---- collect ---- */

struct collect {
	const char *store;
	unsigned share;
};

static const struct options_bound collect_rows[] = {
	{ { 's', "store", "DIRECTORY", "store to change" }, OPTIONS_AT(struct collect, store) },
	{ { 0, "share", "PERCENT", "segments of which less than that lives (75)" },
	  OPTIONS_AT(struct collect, share),
	  .min = 1,
	  .max = 100 },
};

static const struct options_table collect_table = {
	.program = "mail-store collect",
	.usage = "--store DIRECTORY [options]",
	.summary = "Copies what lives out of segments that are mostly dead, and removes them.",
	.bound = collect_rows,
	.row_count = sizeof(collect_rows) / sizeof(collect_rows[0]),
};

int collect_command(int argc, char **argv)
{
	struct collect options = { .share = SHARE_DEFAULT };
	struct mailstore *store;
	struct mailstore_info info = { 0 };
	uint64_t segment;
	options_parse(&collect_table, argc, argv, &options);
	if (argc > optind)
		options_fail(&collect_table, "no operand is taken");
	int status = tool_open(options.store, false, &store);
	if (status != EX_OK)
		return status;
	int ret = mailstore_collect(store, options.share, &segment);
	while (ret == 0)
		ret = mailstore_collect(store, options.share, &segment);
	if (ret == MAILSTORE_EDAMAGED)
		log_error(NULL, "segment is damaged: see fsck, segment=%016" PRIx64, segment);
	if (ret == DNSBLV6_ENOTFOUND)
		ret = mailstore_describe(store, &info);
	mailstore_close(store);
	if (ret != 0)
		return tool_fail(options.store, "store not collected", ret);
	printf("reclaimed-bytes\t%" PRIu64 "\ncopied-bytes\t%" PRIu64 "\n", info.reclaimed,
	       info.copied);
	return tool_end_output();
}
