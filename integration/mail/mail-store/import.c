/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * import.c - mail-store import: mailboxes of other programs, and what export has made.
 */

#include "integration/mail/mail-store/exchange.h"

#include "integration/mail/mail-store/exportname.h"
#include "integration/mail/mail-store/mailfile.h"
#include "integration/mail/mail-store/mbox.h"

#include "integration/mail/base/store/copyname.h"

#include "lib/common/log.h"
#include "lib/format/array.h"
#include "lib/maildir/maildir.h"
#include "lib/process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define IMPORTED "mails imported"

static const struct options_table import_table = {
	.program = "mail-store import",
	.usage = "--store PATH --mbox FILE MAILBOX | --maildir DIRECTORY MAILBOX | --maildirs "
		 "DIRECTORY [--only-new]",
	.summary = "Delivers what an mbox or a maildir has into a mailbox, in their order; or all "
		   "that\n"
		   "an export of all mailboxes has into these.",
	.bound = exchange_rows,
	.row_count = EXCHANGE_ROWS,
};

/*
 * Behind the first mail that was found. A store that is made for nothing may lie where a daemon that is about to start
 * wants its socket. 0, or -ECANCELED with a line of the log and .open_status.
 */
static int open_store(struct exchange *exchange)
{
	if (exchange->layer == NULL)
		exchange->open_status = tool_open(exchange->store, true, &exchange->layer);
	return exchange->open_status == EX_OK ? 0 : -ECANCELED;
}

/*
 * Mails whose time is known by the second alone get microseconds in their order, by which an export
 * keeps it.
 */
static uint64_t order_time(struct exchange *exchange, uint64_t time_us)
{
	const uint64_t next_us = exchange->last_us + 1;
	exchange->last_us = time_us / 1000000 == next_us / 1000000 ? next_us : time_us;
	return exchange->last_us;
}

static int import_mail(struct exchange *exchange, struct mailstore_mail mail)
{
	struct mailid id;
	mail.recipients = exchange->recipients;
	mail.recipient_count = exchange->recipient_count;
	if (mail.time_us == 0)
		mail.time_us = clock_wall_us();
	if (mail.id == NULL)
		mail.time_us = order_time(exchange, mail.time_us);
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

/* An mbox, which may be longer than memory: some of it is there at a time. */
struct mboxfile {
	int fd;
	struct mailfile part;
	uint64_t part_at; /* its place in the file */
	size_t at;	  /* of the next mail in it */
	uint64_t size;	  /* of the file at the beginning; 0: not known, of a pipe */
	bool is_end;	  /* the part goes to the end */
};

#define MBOX_PART (1U << 20)

/* Twice as much as the mail in hand has so far. -ENODATA when the file has become shorter. */
static int read_on(struct mboxfile *mbox)
{
	struct mailfile *part = &mbox->part;
	part->size -= mbox->at;
	if (part->size > 0)
		memmove(part->bytes, part->bytes + mbox->at, part->size);
	mbox->part_at += mbox->at;
	mbox->at = 0;
	int ret = mailfile_fill(mbox->fd, 2 * part->size + MBOX_PART, part, &mbox->is_end);
	const bool is_cut = mbox->is_end && mbox->part_at + part->size < mbox->size;
	return ret == 0 && is_cut ? -ENODATA : ret;
}

/* As mbox_next(), and where the mail begins in the file. */
static int next_mail(struct mboxfile *mbox, struct mbox_mail *ret_mail, uint64_t *ret_at)
{
	int found = 0;
	size_t at;
	for (;;) {
		at = mbox->at;
		if (mbox->part.size > 0)
			found = mbox_next(mbox->part.bytes, mbox->part.size, &at, ret_mail);
		if (found < 0 || at < mbox->part.size || mbox->is_end)
			break;
		int ret = read_on(mbox);
		if (ret != 0)
			return ret;
	}
	*ret_at = mbox->part_at + mbox->at;
	mbox->at = at;
	return found;
}

static void name_mbox(const struct exchange *exchange, int status)
{
	log_error(NULL, "mbox not read, file=%s (%s)", exchange->mbox,
		  status == -ENODATA ? "it has become shorter" : strerror(-status));
}

static int import_mails(struct exchange *exchange, struct mboxfile *mbox)
{
	struct mbox_mail mail;
	uint64_t at = 0;
	int found = next_mail(mbox, &mail, &at);
	while (found == 1) {
		int ret = open_store(exchange);
		if (ret != 0)
			return ret;
		ret = import_mbox_mail(exchange, &mail);
		if (ret != 0) {
			progress_end(&exchange->progress);
			log_error(NULL, "mail not taken, file=%s at=%" PRIu64 " (%s)",
				  exchange->mbox, at, mailstore_strerror(ret));
			return ret;
		}
		progress_step(&exchange->progress, IMPORTED, exchange->count,
			      mbox->part_at + mbox->at, mbox->size);
		found = next_mail(mbox, &mail, &at);
	}
	progress_end(&exchange->progress);
	if (found == -EBADMSG)
		log_error(NULL, "not an mbox, file=%s at=%" PRIu64, exchange->mbox, at);
	else if (found < 0)
		name_mbox(exchange, found);
	return found;
}

static int import_mbox(struct exchange *exchange)
{
	struct mboxfile mbox = { .fd = open(exchange->mbox, O_RDONLY | O_CLOEXEC) };
	struct stat st;
	if (mbox.fd < 0 || fstat(mbox.fd, &st) != 0) {
		int ret = -errno;
		name_mbox(exchange, ret);
		return ret;
	}
	mbox.size = (uint64_t)st.st_size;
	int ret = import_mails(exchange, &mbox);
	mailfile_free(&mbox.part);
	close(mbox.fd);
	return ret;
}

/* Does the record of a mail, which some mailbox has, name this one? It was deleted from there since then. */
static int look_into_record(struct maillayer *layer, uint64_t mail, struct mailname mailbox,
			    bool *ret_is_named)
{
	struct mailrow row = { 0 };
	struct mailrecord record;
	struct mailmeta meta;
	struct mailname name;
	uint8_t *bytes = NULL;
	int ret = tool_find_record(layer, mail, &row, &record, &bytes);
	if (ret == 0 && row.live > 0)
		ret = mailmeta_decode(bytes, record.meta_size, &meta);
	while (ret == 0 && row.live > 0 && !*ret_is_named && mailmeta_next(&meta, &name))
		*ret_is_named = mailname_compare(&name, &mailbox) == 0;
	free(bytes);
	const bool is_gone = ret == DNSBLV6_ENOTFOUND || ret == MAILSTORE_EMAIL;
	return is_gone || ret == MAILSTORE_EDAMAGED ? 0 : ret;
}

/* An import before has given it another id: it has the same time, to the microsecond, and size. */
static int find_renamed(void *context, const struct mailentry *entries, size_t count)
{
	const struct mailstore_mail *mail = context;
	for (size_t i = 0; i < count; i++)
		if (entries[i].time_us == mail->time_us && entries[i].text_size == mail->size &&
		    memcmp(&entries[i].id, mail->id, sizeof(*mail->id)) != 0)
			return 1;
	return 0;
}

static int was_renamed(struct maillayer *layer, struct mailstore_mail *wanted,
		       struct mailname mailbox, bool *ret_was)
{
	const int ret = tool_walk(layer, mailbox, find_renamed, wanted);
	*ret_was = ret == 1;
	return ret < 0 ? ret : 0;
}

/*
 * Of several nodes each has the mail by itself. An id is there once: the one that has it may have it for
 * other mailboxes alone.
 */
static int was_delivered(struct maillayer *layer, struct mailstore_mail *wanted,
			 struct mailname mailbox, bool *ret_was)
{
	struct mailentry entry;
	uint64_t mail;
	*ret_was = false;
	int ret = maillayer_find_id(layer, mailbox, wanted->id, &mail);
	if (ret == DNSBLV6_ENOTFOUND || ret == MAILSTORE_EMAIL)
		return 0;
	if (ret == 0)
		ret = maillayer_find(layer, mailbox, mail, &entry);
	*ret_was = ret == 0 && entry.mail == mail;
	if (*ret_was || (ret != 0 && ret != DNSBLV6_ENOTFOUND))
		return ret;
	ret = look_into_record(layer, mail, mailbox, ret_was);
	return ret == 0 && !*ret_was ? was_renamed(layer, wanted, mailbox, ret_was) : ret;
}

/* What has the id of the one before has another text: when it was delivered it got another. */
static int leave_out_known(struct exchange *exchange, struct mailstore_mail *mail)
{
	const bool is_second = memcmp(mail->id, &exchange->before, sizeof(exchange->before)) == 0;
	size_t count = 0;
	int ret = 0;
	exchange->before = *mail->id;
	for (size_t i = 0; ret == 0 && i < exchange->recipient_count; i++) {
		const struct mailname box = exchange->recipients[i];
		bool was = false;
		ret = is_second ? was_renamed(exchange->layer, mail, box, &was)
				: was_delivered(exchange->layer, mail, box, &was);
		if (!was)
			exchange->recipients[count++] = box;
	}
	exchange->recipient_count = count;
	return ret;
}

static int import_bytes(struct exchange *exchange, const struct mailfile *file, const char *name,
			time_t mtime)
{
	struct mailid id;
	struct mailstore_mail mail = { .text = file->bytes, .size = file->size };
	mail.is_moved = exportname_parse(name, &mail.time_us, &id);
	if (mail.is_moved)
		mail.id = &id;
	else if (mtime > 0)
		mail.time_us = (uint64_t)mtime * 1000000;
	const bool is_asked = mail.is_moved && exchange->is_only_new;
	const int ret = is_asked ? leave_out_known(exchange, &mail) : 0;
	if (ret != 0)
		return ret;
	exchange->known += exchange->recipient_count == 0;
	return exchange->recipient_count > 0 ? import_mail(exchange, mail) : 0;
}

/* Of a path that is long its end, which has the name. */
static const char *quote_path(const char *path, char *ret_text)
{
	const size_t size = strlen(path);
	const size_t cut = size > LOG_QUOTE_CUT ? size - LOG_QUOTE_CUT : 0;
	return log_quote(path + cut, size - cut, ret_text);
}

/* A symbolic link neither: root would follow one of another user to any file. */
static bool is_no_file(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* ---- import of maildirs ---- */

/* A file of some mailbox's maildir. */
struct found {
	char *path;
	const char *name; /* in it */
	size_t box;
};

struct finds {
	struct found *items;
	size_t count;
	size_t room;
	struct tool_names boxes;
};

static void free_finds(struct finds *finds)
{
	for (size_t i = 0; i < finds->count; i++)
		free(finds->items[i].path);
	free(finds->items);
	tool_free_names(&finds->boxes);
}

/*
 * As they were delivered, and those of one mail beside one another: its time and id, then the box. The way to
 * it is the last, so that an import which goes on finds two of one box in the same order: that in new first.
 */
static int compare_finds(const void *left, const void *right)
{
	const struct found *a = left;
	const struct found *b = right;
	const int order = exportname_compare(a->name, b->name);
	if (order != 0 || a->box != b->box)
		return order != 0 ? order : (a->box > b->box) - (a->box < b->box);
	return strcmp(b->path, a->path);
}

static int add_find(struct finds *finds, const char *directory, const char *name)
{
	if (!array_reserve(finds->items, finds->count + 1, &finds->room))
		return -ENOMEM;
	struct found *item = &finds->items[finds->count];
	if (asprintf(&item->path, "%s/%s", directory, name) < 0)
		return -ENOMEM;
	item->name = item->path + strlen(directory) + 1;
	item->box = finds->boxes.count - 1;
	finds->count++;
	return 0;
}

static int find_files(struct finds *finds, const char *maildir, const char *part)
{
	struct dirent **entries;
	char *path = NULL;
	if (asprintf(&path, "%s/%s", maildir, part) < 0)
		return -ENOMEM;
	const int count = scandir(path, &entries, NULL, NULL);
	int ret = count < 0 ? -errno : 0;
	for (int i = 0; i < count; i++) {
		if (ret == 0 && entries[i]->d_name[0] != '.')
			ret = add_find(finds, path, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	free(path);
	return ret;
}

/*
 * A reader moves mails from new to cur, and gives them other flags: what it moves meanwhile is found, if twice. What
 * gets another name while cur is read may be passed over by the system, and is found by reading it again.
 */
static int find_mails(struct finds *finds, const char *maildir, struct mailname box)
{
	static const char *const parts[] = { "new", "cur", "cur" };
	char quoted[LOG_QUOTE_MAX];
	int ret = tool_keep_name(&finds->boxes, box);
	for (size_t i = 0; ret == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		ret = find_files(finds, maildir, parts[i]);
	if (ret != 0)
		log_error(NULL, "maildir not read, path=%s (%s)", quote_path(maildir, quoted),
			  mailstore_strerror(ret));
	return ret;
}

/* *ret_is_own: it is none of a user's, and is passed over. */
static int find_box(struct finds *finds, const char *root, const char *name, bool *ret_is_own)
{
	uint8_t bytes[MAILDIR_BOX_SIZE];
	char quoted[LOG_QUOTE_MAX];
	struct mailname box = { bytes, 0 };
	char *path = NULL;
	int ret = MAILSTORE_EBOX;
	if (asprintf(&path, "%s/%s", root, name) < 0)
		return -ENOMEM;
	const bool is_box = maildir_mailbox_of(name, bytes, &box.size);
	*ret_is_own = is_box && copyname_is_own(box);
	if (is_box)
		ret = *ret_is_own ? 0 : find_mails(finds, path, box);
	else
		log_error(NULL, "maildir not read, path=%s (%s)", quote_path(path, quoted),
			  mailstore_strerror(ret));
	free(path);
	return ret;
}

/* Not what begins with a dot, nor where mails are written first: that is one where a mailbox has its name. */
static bool is_box(const char *root, const char *name)
{
	char path[4096];
	struct stat st;
	const int size = snprintf(path, sizeof(path), "%s/%s%s", root, name,
				  strcmp(name, "tmp") == 0 ? "/cur" : "");
	if (name[0] == '.')
		return false;
	/* One that cannot be looked at is named when it is read; so is one below too long a path. */
	if (size >= (int)sizeof(path))
		return true;
	return stat(path, &st) == 0 ? S_ISDIR(st.st_mode) : errno != ENOENT && errno != ENOTDIR;
}

/*
 * An export of a node's store had its marks of a gather and its second copies, too, up to a version: as mailboxes of
 * another store they would say what is not so there.
 */
static int find_all(struct finds *finds, const char *root, uint64_t *ret_own)
{
	struct dirent **entries;
	bool is_own = false;
	const int count = scandir(root, &entries, NULL, alphasort);
	int ret = count < 0 ? -errno : 0;
	if (count < 0)
		log_error(NULL, "directory not read, path=%s (%s)", root, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (ret == 0 && is_box(root, entries[i]->d_name)) {
			ret = find_box(finds, root, entries[i]->d_name, &is_own);
			*ret_own += ret == 0 && is_own;
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return ret;
}

static void drop_doubles(struct finds *finds)
{
	size_t count = 0;
	for (size_t i = 0; i < finds->count; i++) {
		if (count > 0 && strcmp(finds->items[count - 1].path, finds->items[i].path) == 0)
			free(finds->items[i].path);
		else
			finds->items[count++] = finds->items[i];
	}
	finds->count = count;
}

/* ---- what was found ---- */

static bool have_same_name(const struct found *one, const struct found *other)
{
	return exportname_compare(one->name, other->name) == 0;
}

/* A reader has moved it since then. */
static bool find_again(struct found *item)
{
	struct finds now = { 0 };
	char *maildir = strndup(item->path, (size_t)(item->name - item->path) - strlen("/cur/"));
	size_t i = 0;
	if (maildir != NULL)
		(void)find_files(&now, maildir, "cur");
	while (i < now.count && !have_same_name(&now.items[i], item))
		i++;
	const bool is_found = i < now.count;
	if (is_found) {
		const struct found before = *item;
		*item = now.items[i];
		item->box = before.box;
		now.items[i] = before;
	}
	free(maildir);
	free_finds(&now);
	return is_found;
}

static int open_found(struct found *item, struct mailfile *ret_file, time_t *ret_mtime)
{
	int ret = mailfile_open(item->path, ret_file, ret_mtime);
	return ret == -ENOENT && find_again(item) ? mailfile_open(item->path, ret_file, ret_mtime)
						  : ret;
}

/* It was found under its new name, too, as the next one. */
static bool was_moved(const struct found *item, size_t left)
{
	struct stat st;
	return left > 1 && item[1].box == item->box && have_same_name(item, &item[1]) &&
	       lstat(item->path, &st) != 0 && errno == ENOENT;
}

static bool have_same_bytes(struct found *one, struct found *other)
{
	struct mailfile file = { 0 };
	struct mailfile other_file = { 0 };
	time_t mtime;
	const bool are_same =
		open_found(one, &file, &mtime) == 0 &&
		open_found(other, &other_file, &mtime) == 0 && file.size == other_file.size &&
		(file.size == 0 || memcmp(file.bytes, other_file.bytes, file.size) == 0);
	mailfile_free(&file);
	mailfile_free(&other_file);
	return are_same;
}

/*
 * How many files from the first on are of one mail: a name of an export, and the same text. A box may have
 * two of them, when a reader has moved one before the next export.
 */
static size_t count_same(struct found *first, size_t left)
{
	struct mailid id;
	uint64_t time_us;
	size_t count = 1;
	if (!exportname_parse(first->name, &time_us, &id))
		return 1;
	while (count < left && count < MAIL_RECIPIENTS_MAX &&
	       have_same_name(first, &first[count]) && have_same_bytes(first, &first[count]))
		count++;
	return count;
}

static int import_file(struct exchange *exchange, struct found *item)
{
	struct mailfile file;
	char quoted[LOG_QUOTE_MAX];
	time_t mtime = 0;
	int ret = open_found(item, &file, &mtime);
	const bool is_left_out = ret == -ENOENT || (ret != 0 && is_no_file(item->path));
	if (ret == 0)
		ret = open_store(exchange);
	if (ret == 0)
		ret = import_bytes(exchange, &file, item->name, mtime);
	if (ret != 0 && exchange->open_status == EX_OK) {
		progress_end(&exchange->progress);
		log_error(NULL, "mail not taken, file=%s (%s)", quote_path(item->path, quoted),
			  is_left_out && ret != -ENOENT ? "not a regular file"
							: mailstore_strerror(ret));
	}
	mailfile_free(&file);
	exchange->left_out += is_left_out;
	return is_left_out ? 0 : ret;
}

static int import_finds(struct exchange *exchange, const struct finds *finds)
{
	struct mailname recipients[MAIL_RECIPIENTS_MAX];
	size_t same = 0;
	int ret = 0;
	exchange->recipients = recipients;
	exchange->total = finds->count;
	for (size_t i = 0; ret == 0 && i < finds->count; i += same) {
		same = 1;
		if (was_moved(&finds->items[i], finds->count - i))
			continue;
		same = count_same(&finds->items[i], finds->count - i);
		exchange->recipient_count = same;
		for (size_t n = 0; n < same; n++)
			recipients[n] = finds->boxes.items[finds->items[i + n].box];
		ret = import_file(exchange, &finds->items[i]);
		progress_step(&exchange->progress, IMPORTED, exchange->count, i, exchange->total);
	}
	exchange->recipients = NULL;
	return ret;
}

/* In the order of names, which is that of delivery. */
static int import_maildirs(struct exchange *exchange)
{
	struct finds finds = { 0 };
	int ret = exchange->maildirs != NULL
			  ? find_all(&finds, exchange->maildirs, &exchange->own)
			  : find_mails(&finds, exchange->maildir, exchange->name);
	if (finds.count > 0)
		qsort(finds.items, finds.count, sizeof(*finds.items), compare_finds);
	drop_doubles(&finds);
	if (ret == 0)
		ret = import_finds(exchange, &finds);
	free_finds(&finds);
	return ret;
}

int import_command(int argc, char **argv)
{
	struct exchange exchange = { 0 };
	const int status = exchange_parse(&import_table, argc, argv, &exchange);
	if (status != EX_OK)
		return status;
	int ret = exchange.mbox != NULL ? import_mbox(&exchange) : import_maildirs(&exchange);
	if (exchange.open_status != EX_OK)
		return exchange.open_status;
	/* Also when one has failed: what is said to be imported is on disk. */
	int synced = exchange.layer != NULL ? maillayer_sync(exchange.layer) : 0;
	if (synced != 0) {
		maillayer_close(exchange.layer);
		return tool_fail(exchange.store, "import not committed", synced);
	}
	return exchange_close(&exchange, "not all was imported", "imported", ret);
}
