/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * export.c - mail-store export: a mailbox, or all of a store, for other programs.
 */

#include "integration/mail/mail-store/exchange.h"

#include "integration/mail/mail-store/exportname.h"
#include "integration/mail/mail-store/mbox.h"

#include "integration/mail/base/store/copyname.h"

#include "lib/common/log.h"
#include "lib/maildir/maildir.h"
#include "lib/mailstore/filedisk.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define MBOX_FAILED "mbox not written, file"

static const struct options_table export_table = {
	.program = "mail-store export",
	.usage = "--store PATH --mbox FILE MAILBOX | --maildir DIRECTORY MAILBOX | --maildirs "
		 "DIRECTORY",
	.summary =
		"Writes the mails of a mailbox to a new mbox, or into a maildir; or those of all\n"
		"mailboxes, each into a maildir of its own.",
	.bound = exchange_rows,
	.row_count = EXCHANGE_ROWS - 1,
};

static int export_to_mbox(struct exchange *exchange, const struct mailentry *entry)
{
	struct tool_mail mail;
	int ret = tool_read_mail(exchange->layer, entry->mail, &mail);
	const struct mailname sender = mail.meta.sender;
	errno = EIO;
	if (ret == 0 && !mbox_write(exchange->out, sender.bytes, sender.size, entry->time_us,
				    (const uint8_t *)mail.text, mail.size))
		ret = -errno;
	tool_free_mail(&mail);
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

/* Root makes files as the owner of the directory: they are the owner's, as may be links that lie in their way. */
static int enter(const struct exchange *exchange)
{
	if (exchange->uid == 0)
		return 0;
	return setegid(exchange->gid) == 0 && seteuid(exchange->uid) == 0 ? 0 : -errno;
}

/* The store is read as root. */
static void leave(const struct exchange *exchange)
{
	if (exchange->uid != 0 && seteuid(0) == 0)
		(void)!setegid(0);
}

static int export_to_maildir(struct exchange *exchange, const struct mailentry *entry)
{
	char name[MAILDIR_NAME_SIZE];
	struct maildir mail = { 0 };
	/* Not under its name at first: what an export that was killed has left would be in its way. */
	maildir_make_name("mail-store", name);
	int ret = enter(exchange);
	if (ret == 0)
		ret = maildir_begin(exchange->root_fd, name, &mail);
	leave(exchange);
	exportname_make(entry->time_us, &entry->id, name);
	if (ret == 0)
		ret = write_text(exchange, entry, &mail);
	if (ret == 0)
		ret = maildir_settle(&mail);
	const int entered = enter(exchange);
	ret = ret == 0 ? entered : ret;
	if (ret == 0) {
		ret = maildir_link(&mail, exchange->box, name);
		/* The name has the id: it is there from an export before. */
		if (ret == -EEXIST)
			ret = 0;
	}
	maildir_abort(&mail);
	leave(exchange);
	return ret;
}

/* One that is damaged is left out: `mail-store cat` has what is left of it. */
static int export_piece(void *context, const struct mailentry *entries, size_t count)
{
	struct exchange *exchange = context;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		ret = exchange->out != NULL ? export_to_mbox(exchange, &entries[i])
					    : export_to_maildir(exchange, &entries[i]);
		exchange->count += ret == 0;
		if (ret == MAILSTORE_EDAMAGED)
			ret = tool_leave_out(exchange->store, "mail not exported", &entries[i], ret,
					     &exchange->is_damaged);
		if (ret == MAILSTORE_EMAIL)
			ret = 0; /* it was deleted meanwhile, by a daemon's client */
		progress_step(&exchange->progress, "mails exported", exchange->count,
			      exchange->count, exchange->total);
	}
	return ret;
}

/* The directory is synced once, at the end. */
static int export_box(struct exchange *exchange, const char *box)
{
	exchange->box = box;
	int ret = enter(exchange);
	if (ret == 0)
		ret = maildir_make_box(exchange->root_fd, box);
	leave(exchange);
	if (ret == 0)
		ret = tool_walk(exchange->layer, exchange->name, export_piece, exchange);
	exchange->box = NULL;
	if (ret == 0)
		ret = enter(exchange);
	if (ret == 0)
		ret = maildir_sync_box(exchange->root_fd, box);
	leave(exchange);
	return ret;
}

/* The store may be well: where it goes to is named. */
static int name_target(const char *what, const char *path, int ret)
{
	if (ret != 0)
		log_error(NULL, "%s=%s (%s)", what, path, strerror(-ret));
	return ret;
}

/* One that is made has the owner of the directory around it. */
static int find_root(struct exchange *exchange, const char *path)
{
	char around[4096];
	struct stat owner;
	bool is_there = stat(path, &owner) == 0;
	snprintf(around, sizeof(around), "%s", path);
	if (!is_there && stat(dirname(around), &owner) != 0)
		return -errno;
	if (geteuid() == 0) {
		exchange->uid = owner.st_uid;
		exchange->gid = owner.st_gid;
	}
	int ret = is_there ? 0 : enter(exchange);
	if (ret == 0)
		ret = maildir_open_root(path, &exchange->root_fd);
	if (ret == 0 && enter(exchange) == 0)
		maildir_sweep(exchange->root_fd);
	leave(exchange);
	return ret;
}

static int open_root(struct exchange *exchange, const char *path)
{
	return name_target("directory not written, path", path, find_root(exchange, path));
}

static int export_maildir(struct exchange *exchange)
{
	int ret = open_root(exchange, exchange->maildir);
	if (ret != 0)
		return ret;
	ret = export_box(exchange, MAILDIR_ROOT);
	close(exchange->root_fd);
	return ret;
}

/* All of it is on disk before it has its name, which no other file has had. */
static int give_name(const char *beside, const char *path)
{
	/* Some file systems cannot look for that, and it was looked for at the beginning. */
	if (renameat2(AT_FDCWD, beside, AT_FDCWD, path, RENAME_NOREPLACE) != 0 &&
	    (errno != EINVAL || rename(beside, path) != 0))
		return -errno;
	int ret = filedisk_sync_parent(path);
	if (ret != 0)
		unlink(path); /* its name may not last, and would refuse the next export */
	return ret;
}

static int write_mbox(struct exchange *exchange, const char *beside)
{
	unlink(beside); /* of a process that had this number and was killed */
	const int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	exchange->out = fd >= 0 ? fdopen(fd, "wb") : NULL;
	if (exchange->out == NULL)
		return name_target(MBOX_FAILED, exchange->mbox, -errno);
	int ret = tool_walk(exchange->layer, exchange->name, export_piece, exchange);
	if (ret == 0 && (fflush(exchange->out) != 0 || fsync(fileno(exchange->out)) != 0))
		ret = -errno;
	if (fclose(exchange->out) != 0 && ret == 0)
		ret = -errno;
	return ret;
}

static int export_mbox(struct exchange *exchange)
{
	char beside[PATH_MAX];
	struct stat st;
	if (snprintf(beside, sizeof(beside), "%s.new-%ld", exchange->mbox, (long)getpid()) >=
	    (int)sizeof(beside))
		return -ENAMETOOLONG;
	if (lstat(exchange->mbox, &st) == 0)
		return name_target(MBOX_FAILED, exchange->mbox, -EEXIST);
	int ret = write_mbox(exchange, beside);
	if (ret == 0)
		ret = name_target(MBOX_FAILED, exchange->mbox, give_name(beside, exchange->mbox));
	if (ret != 0)
		unlink(beside);
	return ret;
}

/* A mailbox whose name is too long for a directory is named, and the others go on. */
static int export_named(struct exchange *exchange)
{
	char box[MAILDIR_BOX_SIZE];
	char quoted[LOG_QUOTE_MAX];
	if (maildir_box_of(exchange->name.bytes, exchange->name.size, box))
		return export_box(exchange, box);
	log_error(NULL, "mailbox not exported, name=%s (too long for a directory)",
		  log_quote((const char *)exchange->name.bytes, exchange->name.size, quoted));
	exchange->is_damaged = true;
	return 0;
}

static int export_boxes(struct exchange *exchange)
{
	uint8_t bytes[MAILBOX_NAME_MAX];
	struct mailname name = { bytes, 0 };
	struct mailcounts counts;
	int ret = open_root(exchange, exchange->maildirs);
	if (ret != 0)
		return ret;
	while (ret == 0 &&
	       (ret = maillayer_next_box(exchange->layer, name, bytes, &name.size, &counts)) == 0) {
		/* What they have is the users', who have it, or had it until they deleted it. */
		if (copyname_is_own(name)) {
			exchange->own++;
			continue;
		}
		exchange->total += counts.mails;
		exchange->name = name;
		ret = export_named(exchange);
	}
	exchange->name = (struct mailname){ NULL, 0 };
	close(exchange->root_fd);
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

static int export_all(struct exchange *exchange)
{
	struct mailcounts counts;
	if (exchange->maildirs != NULL)
		return export_boxes(exchange);
	/* Not every layer can say it. */
	if (maillayer_counts(exchange->layer, exchange->name, &counts) == 0)
		exchange->total = counts.mails;
	return exchange->maildir != NULL ? export_maildir(exchange) : export_mbox(exchange);
}

static const char *target_of(const struct exchange *exchange)
{
	if (exchange->mbox != NULL)
		return exchange->mbox;
	return exchange->maildir != NULL ? exchange->maildir : exchange->maildirs;
}

int export_command(int argc, char **argv)
{
	struct exchange exchange = { 0 };
	char failed[PATH_MAX + sizeof("not all was exported to ")];
	int status = exchange_parse(&export_table, argc, argv, &exchange);
	if (status == EX_OK)
		status = tool_open(exchange.store, false, &exchange.layer);
	if (status != EX_OK)
		return status;
	int ret = export_all(&exchange);
	if (ret == 0)
		ret = tool_end_lists(exchange.store, exchange.layer);
	if (ret == 0 && exchange.is_damaged)
		ret = MAILSTORE_EDAMAGED;
	/* Of the two it is mostly this one that has no room. */
	snprintf(failed, sizeof(failed), "not all was exported to %s", target_of(&exchange));
	return exchange_close(&exchange, failed, "exported", ret);
}
