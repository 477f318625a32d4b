/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * bench.c - mail-store bench: what a disk makes of a store, before it has mails of anybody.
 *
 * Mails are delivered into a store that is made for it and removed again: with a sync for each, as of
 * one client that waits, and with one for 64, as mail-stored has it with many. The rate without syncs
 * is what the processor and the kernel allow.
 */

#include "integration/mail/mail-store/tool.h"

#include "lib/process/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#define BOXES_MAX 100
#define TOGETHER  64
#define LINE_SIZE 72

struct bench {
	const char *store;
	unsigned mails;
	unsigned size;
	unsigned recipients;
	struct mailstore_mail mail;
	struct mailname names[BOXES_MAX];
	char name_bytes[BOXES_MAX][32];
	uint8_t *text;
};

static const struct options_bound rows[] = {
	{ { 's', "store", "DIRECTORY", "where a store is made, and removed; not there yet" },
	  OPTIONS_AT(struct bench, store) },
	{ { 'n', "mails", "NUMBER", "mails for each line (1000)" },
	  OPTIONS_AT(struct bench, mails),
	  .min = 1,
	  .max = 10000000 },
	{ { 0, "size", "BYTES", "of a mail (12000)" },
	  OPTIONS_AT(struct bench, size),
	  .min = 1,
	  .max = 100000000 },
	{ { 0, "recipients", "NUMBER", "of a mail (1)" },
	  OPTIONS_AT(struct bench, recipients),
	  .min = 1,
	  .max = BOXES_MAX },
};

static const struct options_table table = {
	.program = "mail-store bench",
	.usage = "--store DIRECTORY [options]",
	.summary = "Measures how many mails a second a disk commits. Lines: what, mails a second, "
		   "syncs, bytes written.",
	OPTIONS_ROWS(rows),
};

static int make_mail(struct bench *bench)
{
	bench->text = malloc(bench->size);
	if (bench->text == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < bench->size; i++) {
		unsigned column = i % LINE_SIZE;
		bench->text[i] = column == LINE_SIZE - 2   ? '\r'
				 : column == LINE_SIZE - 1 ? '\n'
							   : (uint8_t)('a' + i % 23);
	}
	for (unsigned i = 0; i < bench->recipients; i++) {
		int size = snprintf(bench->name_bytes[i], sizeof(bench->name_bytes[i]),
				    "user%u@example.com", i);
		bench->names[i] =
			(struct mailname){ (const uint8_t *)bench->name_bytes[i], (size_t)size };
	}
	bench->mail = (struct mailstore_mail){ .recipients = bench->names,
					       .recipient_count = bench->recipients,
					       .text = bench->text,
					       .size = bench->size,
					       .time_us = clock_wall_us() };
	return 0;
}

/* together mails for each sync; 0: none but the last. */
static int run(struct bench *bench, struct maillayer *layer, const char *what, unsigned together)
{
	struct mailstore_info before;
	struct mailstore_info after;
	struct mailid id;
	int ret = maillayer_describe(layer, &before);
	uint64_t began_us = clock_now_us();
	for (unsigned i = 1; ret == 0 && i <= bench->mails; i++) {
		ret = maillayer_deliver(layer, &bench->mail, &id);
		if (ret == 0 && together > 0 && i % together == 0)
			ret = maillayer_sync(layer);
	}
	uint64_t took_us = clock_now_us() - began_us;
	if (ret == 0 && together > 0)
		ret = maillayer_sync(layer);
	if (ret == 0)
		ret = maillayer_describe(layer, &after);
	if (ret != 0)
		return ret;
	printf("%s\t%.0f\t%" PRIu64 "\t%" PRIu64 "\n", what,
	       bench->mails * 1e6 / (double)(took_us > 0 ? took_us : 1),
	       after.sync_count - before.sync_count, after.written - before.written);
	return fflush(stdout) == 0 ? 0 : -EIO;
}

/* What a store is made of, and nothing else: a file of another program keeps the directory. */
static int remove_store(const char *store, const struct store_paths *paths)
{
	char path[sizeof(paths->log) + 32];
	for (uint64_t i = 0;; i++) {
		snprintf(path, sizeof(path), "%s/%016" PRIx64, paths->log, i);
		if (unlink(path) != 0)
			break;
	}
	snprintf(path, sizeof(path), "%s-lock", paths->index);
	unlink(path);
	unlink(paths->index);
	return rmdir(paths->log) != 0 || rmdir(store) != 0 ? -errno : 0;
}

static int measure(struct bench *bench, const struct store_paths *paths)
{
	struct maillayer *layer;
	int status = tool_open(bench->store, true, &layer);
	if (status != EX_OK)
		return status;
	int ret = make_mail(bench);
	if (ret == 0)
		ret = run(bench, layer, "sync-each", 1);
	if (ret == 0)
		ret = run(bench, layer, "sync-64", TOGETHER);
	if (ret == 0)
		ret = run(bench, layer, "no-sync", 0);
	free(bench->text);
	maillayer_close(layer);
	if (ret != 0)
		status = tool_fail(bench->store, "mail not delivered", ret);
	ret = remove_store(bench->store, paths);
	return ret == 0 ? status : tool_fail(bench->store, "store not removed", ret);
}

int bench_command(int argc, char **argv)
{
	struct bench bench = { .mails = 1000, .size = 12000, .recipients = 1 };
	struct store_paths paths;
	options_parse_alone(&table, argc, argv, &bench);
	int status = tool_paths(bench.store, &paths);
	if (status != EX_OK)
		return status;
	/* Nothing that is there is touched. */
	if (access(bench.store, F_OK) == 0)
		return tool_fail(bench.store, "store is there already", -EEXIST);
	return measure(&bench, &paths);
}
