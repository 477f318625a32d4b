/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-store/tool.h"

#include "integration/mail/base/store/remote.h"

#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailstore.h"

#include "lib/common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

/* Entries that are asked for together. */
#define PIECE 4096
/* Between two answers of a daemon a mail may have moved; it moves twice in its life. */
#define LOOKS_MAX 4
#define BUSY_TEXT                                                                                  \
	"mail-stored or another process has it; --store SOCKET reaches a running mail-stored"
#define OLD_TEXT "an index of before was put back; fsck --repair makes one of the log"

/* ---- what goes wrong ---- */

int tool_fail(const char *store, const char *what, int status)
{
	log_error(NULL, "%s, store=%s (%s)", what, store, mailstore_strerror(status));
	return mailstore_exit_status(status);
}

int tool_fail_open(const char *store, int status)
{
	if (status != -EBUSY && status != MAILSTORE_EOLD)
		return tool_fail(store, "store not opened", status);
	log_error(NULL, "store not opened, store=%s (%s)", store,
		  status == -EBUSY ? BUSY_TEXT : OLD_TEXT);
	return mailstore_exit_status(status);
}

int tool_fail_mail(const char *store, const char *what, const char *id, int status)
{
	log_error(NULL, "%s, store=%s id=%.40s (%s)", what, store, id, mailstore_strerror(status));
	return mailstore_exit_status(status);
}

int tool_leave_out(const char *store, const char *what, const struct mailentry *entry, int status,
		   bool *is_damaged)
{
	char id[MAILID_TEXT_SIZE];
	mailid_format(&entry->id, id);
	(void)tool_fail_mail(store, what, id, status);
	if (status != MAILSTORE_EDAMAGED)
		return status;
	*is_damaged = true;
	return 0;
}

int tool_fail_after(const char *store, const char *what, uint64_t count, int status)
{
	log_error(NULL, "%s, store=%s mails=%" PRIu64 " (%s)", what, store, count,
		  mailstore_strerror(status));
	return mailstore_exit_status(status);
}

/* ---- begin ---- */

int tool_paths(const char *store, struct store_paths *ret_paths)
{
	if (store == NULL || store[0] == '\0') { /* else it would be that of / */
		log_error(NULL, "no store named (--store PATH)");
		return EX_USAGE;
	}
	snprintf(ret_paths->log, sizeof(ret_paths->log), "%s/log", store);
	snprintf(ret_paths->index, sizeof(ret_paths->index), "%s/index.mdb", store);
	int size = snprintf(ret_paths->scratch, sizeof(ret_paths->scratch), "%s/index.fsck", store);
	if (size < (int)sizeof(ret_paths->scratch))
		return EX_OK;
	return tool_fail_open(store, -ENAMETOOLONG);
}

/* A link that the owner has put there leads nowhere. */
static int give(const char *path, const struct stat *owner)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (st.st_uid == owner->st_uid)
		return 0;
	return lchown(path, owner->st_uid, owner->st_gid) == 0 || errno == EROFS ? 0 : -errno;
}

int tool_give_index(const struct store_paths *paths, const char *index)
{
	char lock[sizeof(paths->index) + 8];
	struct stat owner;
	if (geteuid() != 0)
		return 0;
	if (stat(paths->log, &owner) != 0)
		return -errno;
	snprintf(lock, sizeof(lock), "%s-lock", index);
	int ret = give(index, &owner);
	return ret == 0 ? give(lock, &owner) : ret;
}

static int make_directories(const char *store, const struct store_paths *paths)
{
	int ret = filedisk_make(store);
	return ret == 0 ? filedisk_make(paths->log) : ret;
}

static int open_log(const char *store, bool creates, struct maillayer **ret_layer)
{
	struct store_paths paths;
	struct mailstore_recovery recovery;
	struct mailstore_setup setup = { .index_path = paths.index, .reserve = MAILSTORE_RESERVE };
	int status = tool_paths(store, &paths);
	if (status != EX_OK)
		return status;
	int ret = creates ? make_directories(store, &paths) : 0;
	if (ret == 0)
		ret = filedisk_open(paths.log, &setup.disk);
	if (ret != 0)
		return tool_fail_open(store, ret);
	ret = mailstore_open(&setup, ret_layer, &recovery);
	if (recovery.refused != 0)
		log_error(NULL,
			  "segment is missing, unreadable or cut, store=%s segment=%016" PRIx64
			  " (%s)",
			  store, recovery.refused, mailrecover_advice(ret));
	if (ret != 0)
		return tool_fail_open(store, ret);
	ret = tool_give_index(&paths, paths.index);
	if (ret != 0) {
		maillayer_close(*ret_layer);
		return tool_fail_open(store, ret);
	}
	if (recovery.damaged > 0)
		log_warning(NULL,
			    "log is damaged: see fsck, store=%s places=%" PRIu64
			    " segment=%016" PRIx64 " at=%" PRIu64,
			    store, recovery.damaged, recovery.first.segment, recovery.first.at);
	return EX_OK;
}

bool tool_is_socket(const char *store)
{
	struct stat st;
	return store != NULL && stat(store, &st) == 0 && S_ISSOCK(st.st_mode);
}

int tool_open(const char *store, bool creates, struct maillayer **ret_layer)
{
	if (!tool_is_socket(store))
		return open_log(store, creates, ret_layer);
	const int ret = remote_store_open(store, REMOTE_TIMEOUT_MS, ret_layer);
	if (ret != 0)
		return tool_fail_open(store, ret);
	remote_list_all(*ret_layer);
	return EX_OK;
}

/* ---- the lock of all nodes ---- */

/* No name of a user, so that its node is that of the name alone, whatever lists say. */
#define LOCK_NAME "\1gather"

int tool_lock_moves(struct maillayer *lock)
{
	static const struct mailname name = { (const uint8_t *)LOCK_NAME, sizeof(LOCK_NAME) - 1 };
	return maillayer_lock(lock, name);
}

int tool_open_lock(const char *store, struct maillayer **ret_lock, bool *ret_is_away)
{
	*ret_lock = NULL;
	*ret_is_away = false;
	int status = tool_open(store, false, ret_lock);
	if (status != EX_OK)
		return status;
	int ret = tool_lock_moves(*ret_lock);
	*ret_is_away = ret == MAILSTORE_EAWAY;
	if (ret == 0 || *ret_is_away)
		return EX_OK;
	if (ret != -EBUSY)
		return tool_fail(store, "lock not taken", ret);
	log_error(NULL, "another gather runs, or copies, store=%s", store);
	return EX_TEMPFAIL;
}

void tool_let_go(struct maillayer *layer)
{
	if (layer != NULL)
		(void)maillayer_unlock(layer);
	maillayer_close(layer);
}

/* ---- words, time ---- */

struct mailname tool_mailbox(const char *text)
{
	struct mailname name = { (const uint8_t *)text, strlen(text) };
	if (mailname_is_valid(name))
		return name;
	log_error(NULL, "not a mailbox, name=%.40s (%s)", text, mailstore_strerror(MAILSTORE_EBOX));
	return (struct mailname){ 0 };
}

int tool_keep_name(struct tool_names *names, struct mailname name)
{
	struct mailname *items = reallocarray(names->items, names->count + 1, sizeof(*items));
	uint8_t *bytes = malloc(name.size + 1);
	if (items != NULL)
		names->items = items;
	if (items == NULL || bytes == NULL) {
		free(bytes);
		return -ENOMEM;
	}
	memcpy(bytes, name.bytes, name.size);
	items[names->count++] = (struct mailname){ bytes, name.size };
	return 0;
}

void tool_free_names(struct tool_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free((void *)(uintptr_t)names->items[i].bytes);
	free(names->items);
}

/* ---- mails ---- */

int tool_walk(struct maillayer *layer, struct mailname mailbox, tool_piece_fn fn, void *context)
{
	uint64_t from = 0;
	size_t count = 0;
	struct mailentry *entries = calloc(PIECE, sizeof(*entries));
	if (entries == NULL)
		return -ENOMEM;
	int ret = maillayer_list(layer, mailbox, from, PIECE, entries, &count);
	while (ret == 0 && count > 0) {
		from = entries[count - 1].mail + 1;
		ret = fn(context, entries, count);
		if (ret == 0)
			ret = maillayer_list(layer, mailbox, from, PIECE, entries, &count);
	}
	free(entries);
	return ret;
}

int tool_keep_entries(void *context, const struct mailentry *entries, size_t count)
{
	struct tool_list *list = context;
	struct mailentry *grown = reallocarray(list->entries, list->count + count, sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	memcpy(grown + list->count, entries, count * sizeof(*entries));
	list->entries = grown;
	list->count += count;
	return 0;
}

int tool_compare_ids(const void *one, const void *other)
{
	const struct mailentry *a = one;
	const struct mailentry *b = other;
	return memcmp(a->id.bytes, b->id.bytes, MAILID_SIZE);
}

void tool_sort_by_ids(const struct tool_list *list)
{
	if (list->count > 0)
		qsort(list->entries, list->count, sizeof(*list->entries), tool_compare_ids);
}

struct mailentry *tool_find_entry(const struct tool_list *list, const struct mailentry *entry)
{
	struct mailentry *found = list->count > 0 ? bsearch(entry, list->entries, list->count,
							    sizeof(*entry), tool_compare_ids)
						  : NULL;
	while (found != NULL && found > list->entries && tool_compare_ids(found - 1, entry) == 0)
		found--;
	return found;
}

int tool_end_lists(const char *store, struct maillayer *layer)
{
	return tool_is_socket(store) && remote_lacked_mails(layer) ? MAILSTORE_EAWAY : 0;
}

int tool_find_mail(struct maillayer *layer, const struct mailid *id, uint64_t *ret_mail)
{
	struct mailrow row;
	int ret = maillayer_find_id(layer, (struct mailname){ 0 }, id, ret_mail);
	if (ret == 0)
		ret = maillayer_find_row(layer, *ret_mail, &row);
	return ret == DNSBLV6_ENOTFOUND || (ret == 0 && row.live == 0) ? MAILSTORE_EMAIL : ret;
}

int tool_find_in(struct maillayer *layer, struct mailname mailbox, const struct mailid *id,
		 uint64_t *ret_mail)
{
	struct mailentry found;
	uint64_t mail = 0;
	int ret = maillayer_find_id(layer, mailbox, id, &mail);
	if (ret == 0)
		ret = maillayer_find(layer, mailbox, mail, &found);
	if (ret == DNSBLV6_ENOTFOUND || (ret == 0 && found.mail != mail))
		return MAILSTORE_EMAIL;
	if (ret == 0)
		*ret_mail = mail;
	return ret;
}

/* What a disk does not give any more is damaged, and no reason to give up what it does give. */
static int name_damage(int status)
{
	return status == -EIO ? MAILSTORE_EDAMAGED : status;
}

int tool_find_record(struct maillayer *layer, uint64_t mail, struct mailrow *ret_row,
		     struct mailrecord *ret_record, uint8_t **ret_meta)
{
	int ret = -ENOENT;
	/* Collection may move it between the two; of another node the record is the newer one then. */
	for (unsigned looks = 0; (ret == -ENOENT || ret == MAILSTORE_EDAMAGED) && looks < LOOKS_MAX;
	     looks++) {
		ret = maillayer_find_row(layer, mail, ret_row);
		if (ret != 0)
			return ret;
		ret = maillayer_record(layer, ret_row, ret_record, ret_meta);
	}
	return name_damage(ret);
}

static int write_pieces(struct maillayer *layer, const struct mailrow *row, uint32_t body_crc,
			struct mailbody_undo *undo, FILE *out)
{
	static uint8_t wire[65536];
	static uint8_t text[sizeof(wire) + 1];
	uint32_t crc = 0;
	int ret = 0;
	for (uint64_t at = 0; ret == 0 && at < row->wire_size;) {
		uint64_t left = row->wire_size - at;
		size_t size = left < sizeof(wire) ? (size_t)left : sizeof(wire);
		ret = name_damage(maillayer_read(layer, row, at, wire, size));
		if (ret != 0)
			break;
		crc = mailrecord_crc(crc, wire, size);
		size_t text_size = mailbody_undo_take(undo, wire, size, text);
		errno = EIO;
		if (fwrite(text, 1, text_size, out) != text_size)
			ret = -errno;
		at += size;
	}
	return ret == 0 && crc != body_crc ? MAILSTORE_EDAMAGED : ret;
}

int tool_write_text(struct maillayer *layer, uint64_t mail, FILE *out)
{
	struct mailrow row;
	struct mailrecord record;
	struct mailmeta meta;
	struct mailbody_undo undo;
	uint8_t *bytes = NULL;
	int ret = tool_find_record(layer, mail, &row, &record, &bytes);
	if (ret != 0)
		return ret;
	ret = mailmeta_decode(bytes, record.meta_size, &meta);
	if (ret == 0) {
		mailbody_undo_init(&undo, record.lines, meta.exceptions.data, meta.exceptions.size,
				   record.wire_size);
		ret = write_pieces(layer, &row, record.body_crc, &undo, out);
	}
	free(bytes);
	return ret;
}

/* Into memory, to be freed in any case; *ret_text is NULL before. */
static int read_text(struct maillayer *layer, uint64_t mail, char **ret_text, size_t *ret_size)
{
	FILE *out = open_memstream(ret_text, ret_size);
	if (out == NULL)
		return -errno;
	int ret = tool_write_text(layer, mail, out);
	return fclose(out) == 0 || ret != 0 ? ret : -ENOMEM;
}

static bool has_text(struct maillayer *layer, uint64_t number, const struct mailstore_mail *mail)
{
	char *text = NULL;
	size_t size = 0;
	const bool is_same = read_text(layer, number, &text, &size) == 0 && size == mail->size &&
			     (size == 0 || memcmp(text, mail->text, size) == 0);
	free(text);
	return is_same;
}

const struct mailentry *tool_find_same(struct maillayer *layer, const struct tool_list *list,
				       const struct mailstore_mail *mail)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct mailentry *entry = &list->entries[i];
		if (entry->time_us == mail->time_us && entry->text_size == mail->size &&
		    has_text(layer, entry->mail, mail))
			return entry;
	}
	return NULL;
}

int tool_read_mail(struct maillayer *layer, uint64_t mail, struct tool_mail *ret_mail)
{
	struct mailrow row;
	struct mailrecord record;
	*ret_mail = (struct tool_mail){ 0 };
	int ret = tool_find_record(layer, mail, &row, &record, &ret_mail->bytes);
	if (ret == 0)
		ret = mailmeta_decode(ret_mail->bytes, record.meta_size, &ret_mail->meta);
	if (ret == 0)
		ret = read_text(layer, mail, &ret_mail->text, &ret_mail->size);
	return ret;
}

void tool_free_mail(struct tool_mail *mail)
{
	free(mail->text);
	free(mail->bytes);
}
