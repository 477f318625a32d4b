/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * exchange.c - mail-store import and export: mailboxes of other programs.
 */

#include "integration/mail/mail-store/tool.h"

#include "integration/mail/mail-store/mailfile.h"
#include "integration/mail/mail-store/mbox.h"

#include "lib/common/log.h"
#include "lib/maildir/maildir.h"
#include "lib/process/progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

struct exchange {
	const char *store;
	const char *mbox;
	const char *maildir;
	struct maillayer *layer;
	struct mailname name;
	FILE *out;   /* the mbox of export */
	int root_fd; /* its maildir */
	uint64_t count;
	uint64_t renamed; /* of these, mails whose id could not be kept */
	uint64_t total;	  /* as far as it is known */
	bool is_damaged;  /* some mail was left out of an export */
	struct progress progress;
};

static const struct options_bound rows[] = {
	{ { 's', "store", "PATH", "the store, or a socket" }, OPTIONS_AT(struct exchange, store) },
	{ { 0, "mbox", "FILE", "an mbox (mboxrd)" }, OPTIONS_AT(struct exchange, mbox) },
	{ { 0, "maildir", "DIRECTORY", "a maildir" }, OPTIONS_AT(struct exchange, maildir) },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
#define IMPORTED  "mails imported"

static int begin(const struct options_table *table, int argc, char **argv, bool creates,
		 struct exchange *exchange)
{
	options_parse(table, argc, argv, exchange);
	if (argc - optind != 1 || (exchange->mbox == NULL) == (exchange->maildir == NULL))
		options_fail(table, "one mailbox, and --mbox or --maildir");
	exchange->name = tool_mailbox(argv[optind]);
	if (exchange->name.size == 0)
		return EX_USAGE;
	progress_init(&exchange->progress);
	return tool_open(exchange->store, creates, &exchange->layer);
}

static int end(struct exchange *exchange, const char *what, const char *done, int status)
{
	maillayer_close(exchange->layer);
	progress_end(&exchange->progress);
	if (status != 0)
		return tool_fail_after(exchange->store, what, exchange->count, status);
	printf("%" PRIu64 " mails %s", exchange->count, done);
	if (exchange->renamed > 0)
		printf(", %" PRIu64 " of them under new ids", exchange->renamed);
	puts("");
	return tool_end_output();
}

/* ---- import ---- */

static const struct options_table import_table = {
	.program = "mail-store import",
	.usage = "--store PATH --mbox FILE | --maildir DIRECTORY MAILBOX",
	.summary = "Delivers what an mbox or a maildir has into a mailbox, in their order.",
	.bound = rows,
	.row_count = ROW_COUNT,
};

static int import_mail(struct exchange *exchange, struct mailstore_mail mail)
{
	struct mailid id;
	mail.recipients = &exchange->name;
	mail.recipient_count = 1;
	if (mail.time_us == 0)
		mail.time_us = tool_now_us();
	int ret = maillayer_deliver(exchange->layer, &mail, &id);
	/* The mail is wanted in any case: under an id of its own where that one is taken. */
	if (mail.id != NULL && (ret == MAILSTORE_EID || ret == MAILSTORE_EFOREIGN)) {
		mail.id = NULL;
		mail.is_moved = false;
		ret = maillayer_deliver(exchange->layer, &mail, &id);
		exchange->renamed += ret == 0;
	}
	exchange->count += ret == 0;
	return ret;
}

static int import_mbox_mail(struct exchange *exchange, const struct mbox_mail *mail)
{
	uint8_t *text = malloc(mail->size + 1);
	if (text == NULL)
		return -ENOMEM;
	int ret = import_mail(
		exchange, (struct mailstore_mail){ .sender = { mail->sender, mail->sender_size },
						   .text = text,
						   .size = mbox_unquote(mail, text),
						   .time_us = mail->time_us });
	free(text);
	return ret;
}

static int import_mbox(struct exchange *exchange, const struct mailfile *file)
{
	struct mbox_mail mail;
	size_t at = 0;
	int found = mbox_next(file->bytes, file->size, &at, &mail);
	while (found == 1) {
		int ret = import_mbox_mail(exchange, &mail);
		if (ret != 0)
			return ret;
		progress_step(&exchange->progress, IMPORTED, exchange->count, at, file->size);
		found = mbox_next(file->bytes, file->size, &at, &mail);
	}
	progress_end(&exchange->progress);
	if (found < 0)
		log_error(NULL, "not an mbox, file=%s at=%zu", exchange->mbox, at);
	return found;
}

/* "SECONDS.ID" of an export, whatever flags a reader has put behind it. False: it is another's name. */
static bool parse_name(const char *name, uint64_t *ret_time_us, struct mailid *ret_id)
{
	char text[MAILID_TEXT_SIZE] = "";
	char *end = NULL;
	if (name[0] < '0' || name[0] > '9')
		return false;
	const unsigned long long seconds = strtoull(name, &end, 10);
	if (*end != '.' || seconds > UINT64_MAX / 1000000)
		return false;
	const size_t size = strcspn(end + 1, ":");
	if (size != sizeof(text) - 1)
		return false;
	memcpy(text, end + 1, size);
	*ret_time_us = seconds * 1000000;
	return mailid_parse(text, ret_id) == 0;
}

static int import_bytes(struct exchange *exchange, const struct mailfile *file, const char *name,
			time_t mtime)
{
	struct mailid id;
	struct mailstore_mail mail = { .text = file->bytes, .size = file->size };
	mail.is_moved = parse_name(name, &mail.time_us, &id);
	if (mail.is_moved)
		mail.id = &id;
	else
		mail.time_us = (uint64_t)mtime * 1000000;
	return import_mail(exchange, mail);
}

static int import_file(struct exchange *exchange, int directory, const char *name)
{
	struct mailfile file = { 0 };
	struct stat st;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int ret = fd < 0 || fstat(fd, &st) != 0 ? -errno : mailfile_read(fd, &file);
	if (ret == 0)
		ret = import_bytes(exchange, &file, name, st.st_mtim.tv_sec);
	if (ret != 0) {
		progress_end(&exchange->progress);
		log_error(NULL, "mail not taken, file=%s (%s)", name, mailstore_strerror(ret));
	}
	mailfile_free(&file);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* In the order of names, which is that of delivery. */
static int import_directory(struct exchange *exchange, const char *part)
{
	char path[4096];
	struct dirent **entries;
	snprintf(path, sizeof(path), "%s/%s", exchange->maildir, part);
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int count = directory < 0 ? -1 : scandir(path, &entries, NULL, alphasort);
	int ret = count < 0 ? -errno : 0;
	if (ret != 0) {
		progress_end(&exchange->progress);
		log_error(NULL, "maildir not read, path=%s (%s)", path, strerror(-ret));
	}
	exchange->total += count > 0 ? (uint64_t)count : 0;
	for (int i = 0; i < count; i++) {
		if (ret == 0 && entries[i]->d_name[0] != '.')
			ret = import_file(exchange, directory, entries[i]->d_name);
		progress_step(&exchange->progress, IMPORTED, exchange->count, exchange->count,
			      exchange->total);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	if (directory >= 0)
		close(directory);
	return ret;
}

static int import_all(struct exchange *exchange)
{
	struct mailfile file = { 0 };
	if (exchange->maildir != NULL) {
		int ret = import_directory(exchange, "cur");
		return ret == 0 ? import_directory(exchange, "new") : ret;
	}
	int fd = open(exchange->mbox, O_RDONLY | O_CLOEXEC);
	int ret = fd < 0 ? -errno : mailfile_read(fd, &file);
	if (fd >= 0)
		close(fd);
	if (ret == 0)
		ret = import_mbox(exchange, &file);
	else
		log_error(NULL, "mbox not read, file=%s (%s)", exchange->mbox, strerror(-ret));
	mailfile_free(&file);
	return ret;
}

int import_command(int argc, char **argv)
{
	struct exchange exchange = { 0 };
	int status = begin(&import_table, argc, argv, true, &exchange);
	if (status != EX_OK)
		return status;
	int ret = import_all(&exchange);
	/* Also when one has failed: what is said to be imported is on disk. */
	int synced = maillayer_sync(exchange.layer);
	if (synced != 0) {
		maillayer_close(exchange.layer);
		return tool_fail(exchange.store, "import not committed", synced);
	}
	return end(&exchange, "not all was imported", "imported", ret);
}

/* ---- export ---- */

static const struct options_table export_table = {
	.program = "mail-store export",
	.usage = "--store PATH --mbox FILE | --maildir DIRECTORY MAILBOX",
	.summary = "Writes the mails of a mailbox to a new mbox, or into a maildir.",
	.bound = rows,
	.row_count = ROW_COUNT,
};

struct text {
	char *bytes;
	size_t size;
};

static int read_text(struct exchange *exchange, const struct mailentry *entry,
		     struct text *ret_text)
{
	*ret_text = (struct text){ 0 };
	FILE *out = open_memstream(&ret_text->bytes, &ret_text->size);
	if (out == NULL)
		return -errno;
	int ret = tool_write_text(exchange->layer, entry->mail, out);
	return fclose(out) == 0 || ret != 0 ? ret : -ENOMEM;
}

static int export_to_mbox(struct exchange *exchange, const struct mailentry *entry)
{
	struct text text = { 0 };
	struct mailrow row;
	struct mailrecord record;
	struct mailmeta meta;
	uint8_t *bytes = NULL;
	int ret = tool_find_record(exchange->layer, entry->mail, &row, &record, &bytes);
	if (ret == 0)
		ret = mailmeta_decode(bytes, record.meta_size, &meta);
	if (ret == 0)
		ret = read_text(exchange, entry, &text);
	if (ret == 0) {
		if (!mbox_write(exchange->out, meta.sender.bytes, meta.sender.size, entry->time_us,
				(const uint8_t *)text.bytes, text.size))
			ret = -EIO;
	}
	free(text.bytes);
	free(bytes);
	return ret;
}

static int write_text(struct exchange *exchange, const struct mailentry *entry,
		      const struct maildir *mail)
{
	int fd = fcntl(mail->fd, F_DUPFD_CLOEXEC, 0);
	FILE *out = fd >= 0 ? fdopen(fd, "wb") : NULL;
	if (out == NULL) {
		int ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	int ret = tool_write_text(exchange->layer, entry->mail, out);
	return fclose(out) == 0 || ret != 0 ? ret : -errno;
}

static int export_to_maildir(struct exchange *exchange, const struct mailentry *entry)
{
	char id[MAILID_TEXT_SIZE];
	char name[MAILDIR_NAME_SIZE];
	struct maildir mail;
	mailid_format(&entry->id, id);
	snprintf(name, sizeof(name), "%" PRIu64 ".%s", entry->time_us / 1000000, id);
	int ret = maildir_begin(exchange->root_fd, name, &mail);
	if (ret == 0)
		ret = write_text(exchange, entry, &mail);
	if (ret == 0)
		ret = maildir_settle(&mail);
	if (ret == 0) {
		ret = maildir_link(&mail, MAILDIR_ROOT);
		/* The name has the id: it is there from an export before. */
		if (ret == -EEXIST)
			ret = 0;
	}
	maildir_abort(&mail);
	return ret;
}

/* One that is damaged is left out, and named: `mail-store cat` has what is left of it. */
static void name_damaged(struct exchange *exchange, const struct mailentry *entry)
{
	char id[MAILID_TEXT_SIZE];
	mailid_format(&entry->id, id);
	exchange->is_damaged = true;
	(void)tool_fail_mail(exchange->store, "mail not exported", id, MAILSTORE_EDAMAGED);
}

static int export_piece(void *context, const struct mailentry *entries, size_t count)
{
	struct exchange *exchange = context;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		ret = exchange->out != NULL ? export_to_mbox(exchange, &entries[i])
					    : export_to_maildir(exchange, &entries[i]);
		exchange->count += ret == 0;
		if (ret == MAILSTORE_EDAMAGED) {
			name_damaged(exchange, &entries[i]);
			ret = 0;
		}
		progress_step(&exchange->progress, "mails exported", exchange->count,
			      exchange->count, exchange->total);
	}
	return ret;
}

/* The directory is synced once, at the end. */
static int export_maildir(struct exchange *exchange)
{
	int ret = maildir_open_root(exchange->maildir, &exchange->root_fd);
	if (ret != 0)
		return ret;
	ret = maildir_make_box(exchange->root_fd, MAILDIR_ROOT);
	if (ret == 0)
		ret = tool_walk(exchange->layer, exchange->name, export_piece, exchange);
	if (ret == 0)
		ret = maildir_sync_box(exchange->root_fd, MAILDIR_ROOT);
	close(exchange->root_fd);
	return ret;
}

static int export_mbox(struct exchange *exchange)
{
	exchange->out = fopen(exchange->mbox, "wbxe");
	if (exchange->out == NULL)
		return -errno;
	int ret = tool_walk(exchange->layer, exchange->name, export_piece, exchange);
	if (ret == 0 && (fflush(exchange->out) != 0 || fsync(fileno(exchange->out)) != 0))
		ret = -errno;
	if (fclose(exchange->out) != 0 && ret == 0)
		ret = -errno;
	return ret;
}

int export_command(int argc, char **argv)
{
	struct exchange exchange = { 0 };
	int status = begin(&export_table, argc, argv, false, &exchange);
	if (status != EX_OK)
		return status;
	struct mailcounts counts;
	/* Not every layer can say it. */
	if (maillayer_counts(exchange.layer, exchange.name, &counts) == 0)
		exchange.total = counts.mails;
	int ret = exchange.maildir != NULL ? export_maildir(&exchange) : export_mbox(&exchange);
	if (ret == 0 && exchange.is_damaged)
		ret = MAILSTORE_EDAMAGED;
	return end(&exchange, "not all was exported", "exported", ret);
}
