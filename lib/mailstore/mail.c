/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/dnsblv6-mail.h"

#include "lib/format/array.h"
#include "lib/mailstore/filedisk.h"
#include "lib/mailstore/mailstore.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define ERROR_SIZE  256
#define PIECE	    4096
#define HEADERS_MAX (256U << 10) /* no header field is looked for behind that */

struct mail_store {
	struct maillayer *layer;
	uint64_t collections; /* mails may have moved with each */
	char error[ERROR_SIZE];
};

struct mail_file {
	struct mail_store *store;
	struct mailname name;
	struct mailentry *entries; /* in order; those that are gone keep their places */
	size_t count;
	size_t room;
	size_t position;
	/* Of the mail that is being read. */
	bool is_reading;
	struct mailrow row;
	uint64_t collections; /* when row was found */
	uint8_t *meta;
	struct mailbody_undo undo;
	uint64_t at;		  /* bytes of the wire form that were read */
	uint32_t crc;		  /* of them */
	uint32_t body_crc;	  /* of all */
	uint8_t piece[PIECE + 1]; /* of the text */
	size_t piece_at;
	size_t piece_size;
	uint8_t bytes[MAILBOX_NAME_MAX]; /* of the name */
};

static int note(struct mail_store *store, int status, const char *what)
{
	if (status < 0)
		snprintf(store->error, sizeof(store->error), "%.100s: %s", what,
			 mailstore_strerror(status));
	return status;
}

const char *mail_strerror(int status)
{
	return mailstore_strerror(status);
}

const char *mail_store_error(const struct mail_store *store)
{
	return store->error;
}

static uint64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- a store ---- */

static int make_directory(const char *path, int flags)
{
	return (flags & MAIL_STORE_CREATE) == 0 ? 0 : filedisk_make(path);
}

static int open_parts(struct mail_store *store, const char *directory, int flags)
{
	char log[PATH_MAX];
	char index[PATH_MAX];
	struct mailstore_recovery recovery;
	struct mailstore_setup setup = { .index_path = index, .reserve = MAILSTORE_RESERVE };
	if (snprintf(log, sizeof(log), "%s/log", directory) >= (int)sizeof(log) ||
	    snprintf(index, sizeof(index), "%s/index.mdb", directory) >= (int)sizeof(index))
		return -ENAMETOOLONG;
	int ret = make_directory(directory, flags);
	if (ret == 0)
		ret = make_directory(log, flags);
	if (ret == 0)
		ret = filedisk_open(log, &setup.disk);
	if (ret == 0)
		ret = mailstore_open(&setup, &store->layer, &recovery);
	if (ret == 0 && recovery.damaged > 0)
		snprintf(store->error, sizeof(store->error),
			 "%" PRIu64 " damaged places, the first in segment %016" PRIx64
			 " at %" PRIu64,
			 recovery.damaged, recovery.first.segment, recovery.first.at);
	return ret;
}

int mail_store_open(const char *directory, int flags, struct mail_store **ret_store)
{
	struct mail_store *store = calloc(1, sizeof(*store));
	if (store == NULL)
		return -ENOMEM;
	int ret = open_parts(store, directory, flags);
	if (ret != 0) {
		free(store);
		return ret;
	}
	*ret_store = store;
	return 0;
}

void mail_store_close(struct mail_store *store)
{
	if (store == NULL)
		return;
	maillayer_close(store->layer);
	free(store);
}

/* ---- mailboxes ---- */

static int add_entry(struct mail_file *file, const struct mailentry *entry)
{
	if (!array_reserve(file->entries, file->count + 1, &file->room))
		return -ENOMEM;
	file->entries[file->count++] = *entry;
	return 0;
}

/* Mails that have come since. */
static int look_again(struct mail_file *file, uint64_t from)
{
	struct mailentry entry;
	int ret = maillayer_find(file->store->layer, file->name, from, &entry);
	while (ret == 0) {
		ret = add_entry(file, &entry);
		if (ret == 0)
			ret = maillayer_find(file->store->layer, file->name, entry.mail + 1,
					     &entry);
	}
	return ret == DNSBLV6_ENOTFOUND ? 0 : ret;
}

static uint64_t behind_last(const struct mail_file *file)
{
	return file->count == 0 ? 0 : file->entries[file->count - 1].mail + 1;
}

int mail_open(struct mail_store *store, const char *mailbox, struct mail_file **ret_file)
{
	struct mailname name = { (const uint8_t *)mailbox, strlen(mailbox) };
	if (!mailname_is_valid(name))
		return note(store, MAILSTORE_EBOX, mailbox);
	struct mail_file *file = calloc(1, sizeof(*file));
	if (file == NULL)
		return note(store, -ENOMEM, mailbox);
	file->store = store;
	memcpy(file->bytes, mailbox, name.size);
	file->name = (struct mailname){ file->bytes, name.size };
	int ret = look_again(file, 0);
	if (ret != 0) {
		mail_close(file);
		return note(store, ret, mailbox);
	}
	*ret_file = file;
	return 0;
}

static void stop_reading(struct mail_file *file)
{
	free(file->meta);
	file->meta = NULL;
	file->is_reading = false;
	file->at = 0;
	file->crc = 0;
	file->piece_at = 0;
	file->piece_size = 0;
}

void mail_close(struct mail_file *file)
{
	if (file == NULL)
		return;
	stop_reading(file);
	free(file->entries);
	free(file);
}

/* The entry at the position, unless the mail was deleted, through this mailbox or another handle. */
static int find_current(struct mail_file *file, const struct mailentry **ret_entry)
{
	struct mailentry again;
	int ret = file->position < file->count ? 0 : look_again(file, behind_last(file));
	if (ret != 0)
		return ret;
	if (file->position >= file->count)
		return -ENOMSG;
	const struct mailentry *entry = &file->entries[file->position];
	ret = maillayer_find(file->store->layer, file->name, entry->mail, &again);
	if (ret == DNSBLV6_ENOTFOUND || (ret == 0 && again.mail != entry->mail))
		return -ENOMSG;
	*ret_entry = entry;
	return ret;
}

static bool is_gone(struct mail_file *file, size_t position)
{
	const struct mailentry *entry;
	size_t before = file->position;
	file->position = position;
	int ret = find_current(file, &entry);
	file->position = before;
	return ret == -ENOMSG;
}

/* Over offset mails that are there. */
static int64_t step(struct mail_file *file, int64_t from, int64_t offset)
{
	int64_t direction = offset < 0 ? -1 : 1;
	int64_t at = from;
	while (offset != 0) {
		at += direction;
		if (at < 0 || at >= (int64_t)file->count)
			break;
		offset -= is_gone(file, (size_t)at) ? 0 : direction;
	}
	return at;
}

int64_t mail_seek(struct mail_file *file, int64_t offset, int whence)
{
	int64_t at;
	int ret = look_again(file, behind_last(file));
	if (ret != 0)
		return note(file->store, ret, "mail_seek");
	if (whence == SEEK_SET)
		at = offset;
	else if (whence == SEEK_CUR)
		at = step(file, (int64_t)file->position, offset);
	else if (whence == SEEK_END && offset <= 0)
		at = (int64_t)file->count + offset;
	else
		return note(file->store, -EINVAL, "mail_seek");
	if (at < 0)
		return note(file->store, -EINVAL, "mail_seek");
	file->position = (size_t)at < file->count ? (size_t)at : file->count;
	stop_reading(file);
	return (int64_t)file->position;
}

/* ---- reading ---- */

/* The mail that is being read may have been copied. */
static int look_where(struct mail_file *file, const struct mailentry *entry)
{
	if (file->collections == file->store->collections)
		return 0;
	file->collections = file->store->collections;
	return maillayer_find_row(file->store->layer, entry->mail, &file->row);
}

static int begin_reading(struct mail_file *file, const struct mailentry *entry)
{
	struct mailrecord record;
	struct mailmeta meta;
	if (file->is_reading)
		return look_where(file, entry);
	stop_reading(file);
	int ret = maillayer_find_row(file->store->layer, entry->mail, &file->row);
	if (ret == 0)
		ret = maillayer_record(file->store->layer, &file->row, &record, &file->meta);
	if (ret == 0)
		ret = mailmeta_decode(file->meta, record.meta_size, &meta);
	if (ret != 0)
		return ret;
	mailbody_undo_init(&file->undo, record.lines, meta.exceptions.data, meta.exceptions.size,
			   record.wire_size);
	file->body_crc = record.body_crc;
	file->collections = file->store->collections;
	file->is_reading = true;
	return 0;
}

/* The next piece of the text; its size is 0 at the end, where the whole has to have its checksum. */
static int read_piece(struct mail_file *file)
{
	uint8_t wire[PIECE];
	file->piece_at = 0;
	file->piece_size = 0;
	while (file->piece_size == 0 && file->at < file->row.wire_size) {
		uint64_t left = file->row.wire_size - file->at;
		size_t size = left < PIECE ? (size_t)left : PIECE;
		int ret = maillayer_read(file->store->layer, &file->row, file->at, wire, size);
		if (ret != 0)
			return ret;
		file->at += size;
		file->crc = mailrecord_crc(file->crc, wire, size);
		file->piece_size = mailbody_undo_take(&file->undo, wire, size, file->piece);
	}
	bool is_end = file->piece_size == 0;
	return is_end && file->crc != file->body_crc ? MAILSTORE_EDAMAGED : 0;
}

static ssize_t read_on(struct mail_file *file, uint8_t *bytes, size_t size)
{
	const struct mailentry *entry;
	size_t done = 0;
	int ret = find_current(file, &entry);
	if (ret == 0)
		ret = begin_reading(file, entry);
	while (ret == 0 && done < size) {
		size_t left = file->piece_size - file->piece_at;
		if (left == 0) {
			ret = read_piece(file);
			left = file->piece_size;
		}
		if (ret != 0 || left == 0)
			break;
		if (left > size - done)
			left = size - done;
		memcpy(bytes + done, file->piece + file->piece_at, left);
		file->piece_at += left;
		done += left;
	}
	return ret == 0 || done > 0 ? (ssize_t)done : ret;
}

ssize_t mail_read(struct mail_file *file, void *bytes, size_t size)
{
	ssize_t got = read_on(file, bytes, size < SSIZE_MAX ? size : SSIZE_MAX);
	if (got < 0)
		note(file->store, (int)got, "mail_read");
	return got;
}

int mail_stat(struct mail_file *file, struct mail_stat *ret_stat)
{
	struct mail_stat stat = { .position = (int64_t)file->position };
	const struct mailentry *entry;
	int ret = find_current(file, &entry);
	if (ret == -ENOMSG)
		return 0;
	if (ret != 0)
		return note(file->store, ret, "mail_stat");
	mailid_format(&entry->id, stat.id.text);
	stat.size = entry->text_size;
	stat.octets = entry->octets;
	stat.time_us = entry->time_us;
	*ret_stat = stat;
	return 1;
}

/* ---- a header field ---- */

/* The whole header, up to the empty line or HEADERS_MAX, to be freed. */
static ssize_t read_headers(struct mail_file *file, char **ret_headers)
{
	char *headers = malloc(HEADERS_MAX + 1);
	if (headers == NULL)
		return -ENOMEM;
	stop_reading(file);
	ssize_t size = read_on(file, (uint8_t *)headers, HEADERS_MAX);
	stop_reading(file);
	if (size < 0) {
		free(headers);
		return size;
	}
	headers[size] = '\0';
	*ret_headers = headers;
	return size;
}

/* The line behind this one. NULL at the end of the header. */
static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');
	if (end == NULL || end[1] == '\0' || end[1] == '\n' || (end[1] == '\r' && end[2] == '\n'))
		return NULL;
	return end + 1;
}

static const char *find_field(const char *headers, const char *name)
{
	size_t size = strlen(name);
	const char *line = headers[0] == '\n' || headers[0] == '\r' ? NULL : headers;
	for (; line != NULL; line = next_line(line)) {
		const char *colon = line + size;
		if (strncasecmp(line, name, size) != 0)
			continue;
		colon += strspn(colon, " \t");
		if (*colon == ':')
			return colon + 1;
	}
	return NULL;
}

/* Without the line ends that are folded and the blanks around. Returns the whole length. */
static size_t unfold(const char *from, char *ret_value, size_t room)
{
	size_t size = 0;
	size_t used = 0; /* up to the last byte that is no blank */
	for (; *from != '\0'; from++) {
		bool is_blank = *from == ' ' || *from == '\t';
		bool is_end = *from == '\n' || (*from == '\r' && from[1] == '\n');
		if (*from == '\n' && from[1] != ' ' && from[1] != '\t')
			break;
		if (is_end || (is_blank && size == 0))
			continue;
		if (size + 1 < room)
			ret_value[size] = *from;
		size++;
		if (!is_blank)
			used = size;
	}
	if (room > 0)
		ret_value[used < room ? used : room - 1] = '\0';
	return used;
}

ssize_t mail_header(struct mail_file *file, const char *name, char *ret_value, size_t size)
{
	char *headers;
	ssize_t ret = read_headers(file, &headers);
	if (ret < 0)
		return note(file->store, (int)ret, "mail_header");
	const char *value = find_field(headers, name);
	ret = value == NULL ? -ENODATA : (ssize_t)unfold(value, ret_value, size);
	free(headers);
	return ret;
}

/* ---- writing ---- */

int mail_make_id(struct mail_store *store, struct mail_id *ret_id)
{
	struct mailid id;
	int ret = maillayer_make_id(store->layer, &id);
	if (ret == 0)
		mailid_format(&id, ret_id->text);
	return note(store, ret, "mail_make_id");
}

static int commit(struct mail_store *store, int ret)
{
	return ret == 0 ? maillayer_sync(store->layer) : ret;
}

static int deliver(struct mail_store *store, const struct mailname *names, size_t count,
		   const void *text, size_t size, struct mail_id *id)
{
	struct mailid known;
	struct mailid made;
	struct mailstore_mail mail = { .recipients = names,
				       .recipient_count = count,
				       .text = text,
				       .size = size,
				       .time_us = now_us() };
	if (id != NULL && id->text[0] != '\0') {
		int ret = mailid_parse(id->text, &known);
		if (ret != 0)
			return ret;
		mail.id = &known;
	}
	int ret = commit(store, maillayer_deliver(store->layer, &mail, &made));
	if (ret == 0 && id != NULL)
		mailid_format(&made, id->text);
	return ret;
}

int mail_nwrite(struct mail_file *const *files, size_t count, const void *text, size_t size,
		struct mail_id *id)
{
	if (count == 0)
		return MAILSTORE_ERECIPIENTS;
	struct mail_store *store = files[0]->store;
	struct mailname *names = calloc(count, sizeof(*names));
	int ret = names == NULL ? -ENOMEM : 0;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		names[i] = files[i]->name;
		if (files[i]->store != store)
			ret = -EXDEV;
	}
	if (ret == 0)
		ret = deliver(store, names, count, text, size, id);
	free(names);
	return note(store, ret, "mail_nwrite");
}

int mail_delete(struct mail_file *file)
{
	const struct mailentry *entry;
	struct mail_store *store = file->store;
	int ret = find_current(file, &entry);
	if (ret == 0)
		ret = commit(store,
			     maillayer_erase(store->layer, file->name, &entry->mail, 1, now_us()));
	stop_reading(file);
	return note(store, ret, "mail_delete");
}

int mail_collect(struct mail_store *store, unsigned share_max)
{
	char what[40] = "mail_collect";
	uint64_t segment = 0;
	int ret = share_max == 0 || share_max > 100
			  ? -EINVAL
			  : maillayer_collect(store->layer, share_max, &segment);
	store->collections++;
	if (ret == DNSBLV6_ENOTFOUND)
		return 0;
	if (segment != 0)
		snprintf(what, sizeof(what), "segment %016" PRIx64, segment);
	return ret == 0 ? 1 : note(store, ret, what);
}
