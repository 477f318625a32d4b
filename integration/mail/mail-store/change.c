/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * change.c - mail-store rm and collect: what goes.
 */

#include "integration/mail/mail-store/tool.h"

#include "lib/common/log.h"
#include "lib/format/array.h"
#include "lib/process/clock.h"
#include "lib/process/progress.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sysexits.h>

#define SHARE_DEFAULT                                                                              \
	75 /* percent that lives; a store of such segments takes 1.33 times what lives */

#define DELETED_MAX 4096 /* mails of one record */

/* ---- rm ---- */

struct rm {
	const char *store;
	bool removes_all;
};

static const struct options_bound rm_rows[] = {
	{ { 's', "store", "PATH", "store to change, or a socket" }, OPTIONS_AT(struct rm, store) },
	{ { 'a', "all", NULL, "every mail of the mailbox" }, OPTIONS_AT(struct rm, removes_all) },
};

static const struct options_table rm_table = {
	.program = "mail-store rm",
	.usage = "--store PATH MAILBOX ID ... | --all MAILBOX",
	.summary = "Deletes mails from a mailbox; other mailboxes keep them.",
	OPTIONS_ROWS(rm_rows),
};

/* The mail of an id, as the list of its mailbox has it. */
struct search {
	struct mailid id;
	uint64_t mail;
	bool is_found;
};

static int look_for_id(void *context, const struct mailentry *entries, size_t count)
{
	struct search *search = context;
	for (size_t i = 0; i < count && !search->is_found; i++) {
		search->is_found = memcmp(&entries[i].id, &search->id, sizeof(search->id)) == 0;
		search->mail = entries[i].mail;
	}
	return 0;
}

/*
 * By its id at the node of the mailbox; what is at another node the list has alone. Where that lacks a node, the mail
 * may be there.
 */
static int find_mail(struct maillayer *layer, struct mailname name, const struct rm *options,
		     const char *text, uint64_t *ret_mail)
{
	struct search search = { 0 };
	if (mailid_parse(text, &search.id) != 0)
		return MAILSTORE_EMAIL;
	int ret = tool_find_in(layer, name, &search.id, ret_mail);
	if (ret != MAILSTORE_EMAIL)
		return ret;
	(void)tool_end_lists(options->store, layer);
	ret = tool_walk(layer, name, look_for_id, &search);
	if (ret == 0 && search.is_found)
		*ret_mail = search.mail;
	else if (ret == 0)
		ret = tool_end_lists(options->store, layer);
	return ret == 0 && !search.is_found ? MAILSTORE_EMAIL : ret;
}

/* Those before one that is not found are deleted, in one commit. */
static int remove_ids(struct maillayer *layer, struct mailname name, const struct rm *options,
		      size_t count, char **ids, uint64_t *mails)
{
	int status = EX_OK;
	int ret = 0;
	size_t found = 0;
	while (status == EX_OK && found < count) {
		ret = find_mail(layer, name, options, ids[found], &mails[found]);
		if (ret == 0)
			found++;
		else
			status =
				tool_fail_mail(options->store, "mail not deleted", ids[found], ret);
	}
	ret = found > 0 ? maillayer_erase(layer, name, mails, found, clock_wall_us()) : 0;
	if (ret == 0)
		ret = maillayer_sync(layer);
	return ret == 0 ? status : tool_fail(options->store, "mails not deleted", ret);
}

struct removal {
	uint64_t *mails;
	size_t count;
	size_t room;
};

static int note_piece(void *context, const struct mailentry *entries, size_t count)
{
	struct removal *removal = context;
	if (!array_reserve(removal->mails, removal->count + count, &removal->room))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		removal->mails[removal->count++] = entries[i].mail;
	return 0;
}

/*
 * What is asked behind a deletion takes that over into the index, which may fail when the log has it. So
 * all is asked before.
 */
static int remove_all(struct maillayer *layer, struct mailname name, const struct rm *options)
{
	struct removal removal = { 0 };
	int ret = tool_walk(layer, name, note_piece, &removal);
	for (size_t at = 0; ret == 0 && at < removal.count; at += DELETED_MAX) {
		const size_t left = removal.count - at;
		ret = maillayer_erase(layer, name, removal.mails + at,
				      left < DELETED_MAX ? left : DELETED_MAX, clock_wall_us());
	}
	if (ret == 0)
		ret = maillayer_sync(layer);
	free(removal.mails);
	if (ret == 0)
		ret = tool_end_lists(options->store, layer);
	return ret == 0 ? EX_OK : tool_fail(options->store, "mails not deleted", ret);
}

static int remove_mails(struct maillayer *layer, struct mailname name, const struct rm *options,
			size_t count, char **ids)
{
	if (options->removes_all)
		return remove_all(layer, name, options);
	uint64_t *mails = calloc(count, sizeof(*mails));
	if (mails == NULL)
		return tool_fail(options->store, "mails not deleted", -ENOMEM);
	int status = remove_ids(layer, name, options, count, ids, mails);
	free(mails);
	return status;
}

int rm_command(int argc, char **argv)
{
	struct rm options = { 0 };
	struct maillayer *layer;
	options_parse(&rm_table, argc, argv, &options);
	int count = argc - optind - 1;
	if (count < 0 || (count == 0) != options.removes_all)
		options_fail(&rm_table, "a mailbox and ids, or --all and a mailbox");
	struct mailname name = tool_mailbox(argv[optind]);
	if (name.size == 0)
		return EX_USAGE;
	int status = tool_open(options.store, false, &layer);
	if (status != EX_OK)
		return status;
	status = remove_mails(layer, name, &options, (size_t)count, argv + optind + 1);
	maillayer_close(layer);
	return status;
}

/* ---- collect ---- */

struct collect {
	const char *store;
	unsigned share;
};

static const struct options_bound collect_rows[] = {
	{ { 's', "store", "PATH", "store to change, or a socket" },
	  OPTIONS_AT(struct collect, store) },
	{ { 0, "share", "PERCENT", "segments of which less than that lives (75)" },
	  OPTIONS_AT(struct collect, share),
	  .min = 1,
	  .max = 100 },
};

static const struct options_table collect_table = {
	.program = "mail-store collect",
	.usage = "--store PATH [options]",
	.summary = "Copies what lives out of segments that are mostly dead, and removes them.",
	OPTIONS_ROWS(collect_rows),
};

static int collect(struct maillayer *layer, const struct collect *options,
		   struct mailstore_info *ret_before, struct mailstore_info *ret_after)
{
	uint64_t segment;
	uint64_t count = 0;
	bool is_damaged = false;
	struct progress progress;
	progress_init(&progress);
	/* A daemon counts since it has begun. */
	int ret = maillayer_describe(layer, ret_before);
	while (ret == 0 || ret == MAILSTORE_EDAMAGED) {
		ret = maillayer_collect(layer, options->share, &segment);
		progress_step(&progress, "segments emptied", count++, 0, 0);
		/* That one stays, and the next call takes another. */
		if (ret == MAILSTORE_EDAMAGED)
			log_error(NULL,
				  "segment is damaged: see fsck, store=%s segment=%016" PRIx64,
				  options->store, segment);
		is_damaged = is_damaged || ret == MAILSTORE_EDAMAGED;
	}
	progress_end(&progress);
	/* Those that were emptied count, also when the next one has no room. */
	*ret_after = *ret_before;
	const int described = maillayer_describe(layer, ret_after);
	if (ret == DNSBLV6_ENOTFOUND)
		ret = described;
	return ret == 0 && is_damaged ? MAILSTORE_EDAMAGED : ret;
}

int collect_command(int argc, char **argv)
{
	struct collect options = { .share = SHARE_DEFAULT };
	struct maillayer *layer;
	struct mailstore_info before = { 0 };
	struct mailstore_info after;
	options_parse_alone(&collect_table, argc, argv, &options);
	int status = tool_open(options.store, false, &layer);
	if (status != EX_OK)
		return status;
	int ret = collect(layer, &options, &before, &after);
	maillayer_close(layer);
	if (ret != 0 && !mailstore_is_full(ret))
		return tool_fail(options.store, "store not collected", ret);
	printf("reclaimed-bytes\t%" PRIu64 "\ncopied-bytes\t%" PRIu64 "\n",
	       after.reclaimed - before.reclaimed, after.copied - before.copied);
	return ret == 0 ? EX_OK : tool_fail(options.store, "store not collected to its end", ret);
}
