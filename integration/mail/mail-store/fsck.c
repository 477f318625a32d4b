/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * fsck.c - mail-store fsck: every byte is read; with --repair the index is made anew from the log.
 *
 * A damaged record is never taken away: its mail may be whole but for its sender, and space is
 * cheaper than a mail.
 */

#include "integration/mail/mail-store/tool.h"

#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailcheck.h"

#include "lib/common/log.h"
#include "lib/process/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <sysexits.h>
#include <unistd.h>

struct fsck {
	const char *store;
	bool repairs;
};

static const struct options_bound rows[] = {
	{ { 's', "store", "DIRECTORY", "store to check" }, OPTIONS_AT(struct fsck, store) },
	{ { 0, "repair", NULL, "replace an index that is not what the log says" },
	  OPTIONS_AT(struct fsck, repairs) },
};

static const struct options_table table = {
	.program = "mail-store fsck",
	.usage = "--store DIRECTORY [--repair]",
	.summary = "Reads all of a store, and prints one line for each thing that is wrong.",
	OPTIONS_ROWS(rows),
};

static void print_finding(void *context, struct mailplace place, const char *text)
{
	progress_end(context);
	if (place.segment == 0)
		printf("%s\n", text);
	else
		printf("segment %016" PRIx64 " at %" PRIu64 ": %s\n", place.segment, place.at,
		       text);
}

static void show_step(void *context, uint64_t done, uint64_t total)
{
	progress_step(context, "megabytes checked", done >> 20, done, total);
}

static void remove_index(const char *path)
{
	char lock[sizeof(((struct store_paths *)0)->index) + 8];
	unlink(path);
	snprintf(lock, sizeof(lock), "%s-lock", path);
	unlink(lock);
}

static int replace_index(const struct store_paths *paths)
{
	remove_index(paths->index);
	return rename(paths->scratch, paths->index) == 0 ? 0 : -errno;
}

static int check_store(const struct fsck *options, const struct store_paths *paths)
{
	struct disk *disk;
	struct progress progress;
	struct mailcheck check = { .report = print_finding,
				   .step = show_step,
				   .context = &progress,
				   .repairs = options->repairs };
	int ret = filedisk_open(paths->log, &disk);
	if (ret != 0)
		return tool_fail_open(options->store, ret);
	remove_index(paths->scratch);
	progress_init(&progress);
	ret = mailcheck_run(&check, disk, paths->index, paths->scratch);
	progress_end(&progress);
	bool is_repaired = ret == 0 && check.is_index_wrong && options->repairs;
	if (ret == 0)
		ret = tool_give_index(paths, is_repaired ? paths->scratch : paths->index);
	if (ret == 0 && is_repaired)
		ret = replace_index(paths);
	remove_index(paths->scratch);
	disk->ops->close(disk);
	if (ret != 0)
		return tool_fail(options->store, "store not checked", ret);
	printf("%" PRIu64 " segments, %" PRIu64 " mails, %" PRIu64 " findings%s\n", check.segments,
	       check.mails, check.findings, is_repaired ? ", index made anew" : "");
	if (check.uncommitted > 0 || check.behind > 0)
		printf("at the next start: %" PRIu64 " bytes never committed go, %" PRIu64
		       " records come into the index\n",
		       check.uncommitted, check.behind);
	return check.findings > 0 ? 1 : EX_OK;
}

int fsck_command(int argc, char **argv)
{
	struct fsck options = { 0 };
	struct store_paths paths;
	options_parse_alone(&table, argc, argv, &options);
	if (tool_is_socket(options.store)) {
		log_error(NULL, "a store is checked by its directory, not over a socket, store=%s",
			  options.store);
		return EX_USAGE;
	}
	int status = tool_paths(options.store, &paths);
	return status == EX_OK ? check_store(&options, &paths) : status;
}
