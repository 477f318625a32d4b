/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * mail-store - looks into a mail store, and changes it. The program's own text is mail-store.1.
 */

#include "integration/mail/mail-store/tool.h"

#include "lib/mailstore/filedisk.h"

#include "lib/common/log.h"
#include "lib/common/output.h"
#include "lib/common/subcommands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

static const struct subcommand commands[] = {
	{ "deliver", deliver_command, "put a mail into mailboxes, once for all" },
	{ "ls", ls_command, "list mailboxes, or the mails of one" },
	{ "cat", cat_command, "print mails as they were delivered" },
	{ "rm", rm_command, "delete mails from a mailbox" },
	{ "stat", stat_command, "print what the store holds and what it costs" },
	{ "collect", collect_command, "give back the space of deleted mails" },
	{ "import", import_command, "deliver what an mbox or a maildir has" },
	{ "export", export_command, "write a mailbox as an mbox or a maildir" },
	{ "fsck", fsck_command, "read everything, and report what is wrong" },
};

int tool_paths(const char *store, struct store_paths *ret_paths)
{
	if (store == NULL) {
		log_error(NULL, "no store named (--store DIRECTORY)");
		return EX_USAGE;
	}
	snprintf(ret_paths->log, sizeof(ret_paths->log), "%s/log", store);
	snprintf(ret_paths->index, sizeof(ret_paths->index), "%s/index.mdb", store);
	int size = snprintf(ret_paths->scratch, sizeof(ret_paths->scratch), "%s/index.fsck", store);
	if (size < (int)sizeof(ret_paths->scratch))
		return EX_OK;
	return tool_fail(store, "store not opened", -ENAMETOOLONG);
}

static int exit_status(int status)
{
	switch (status) {
	case -EBUSY:
	case MAILSTORE_EFAILED:
		return EX_TEMPFAIL;
	case MAILSTORE_EMAIL:
	case -ENOENT:
		return EX_NOINPUT;
	case -EEXIST:
		return EX_CANTCREAT;
	case -EBADMSG:
	case MAILSTORE_EDAMAGED:
		return EX_DATAERR;
	case MAILSTORE_EBOX:
	case MAILSTORE_ERECIPIENTS:
		return EX_USAGE;
	default:
		return store_exit_status(status);
	}
}

int tool_fail(const char *store, const char *what, int status)
{
	log_error(NULL, "%s, store=%s (%s)", what, store, mailstore_strerror(status));
	return exit_status(status);
}

int tool_fail_mail(const char *store, const char *what, const char *id, int status)
{
	log_error(NULL, "%s, store=%s id=%.40s (%s)", what, store, id, mailstore_strerror(status));
	return exit_status(status);
}

static int make_directories(const char *store, const struct store_paths *paths)
{
	int ret = filedisk_make(store);
	return ret == 0 ? filedisk_make(paths->log) : ret;
}

int tool_open(const char *store, bool creates, struct mailstore **ret_store)
{
	struct store_paths paths;
	struct mailstore_recovery recovery;
	struct mailstore_setup setup = { .index_path = paths.index };
	int status = tool_paths(store, &paths);
	if (status != EX_OK)
		return status;
	int ret = creates ? make_directories(store, &paths) : 0;
	if (ret == 0)
		ret = filedisk_open(paths.log, &setup.disk);
	if (ret != 0)
		return tool_fail(store, "store not opened", ret);
	ret = mailstore_open(&setup, ret_store, &recovery);
	if (ret == MAILSTORE_ELOST || ret == MAILSTORE_EAHEAD || ret == MAILSTORE_EDAMAGED)
		log_error(NULL, "look at segment %016" PRIx64 ", store=%s", recovery.first.segment,
			  store);
	if (ret != 0)
		return tool_fail(store, "store not opened", ret);
	if (recovery.damaged > 0)
		log_warning(NULL,
			    "log is damaged: see fsck, store=%s places=%" PRIu64
			    " segment=%016" PRIx64 " at=%" PRIu64,
			    store, recovery.damaged, recovery.first.segment, recovery.first.at);
	return EX_OK;
}

int tool_end_output(void)
{
	int ret = output_end(true);
	if (ret == 0)
		return EX_OK;
	log_error(NULL, "output not written (%s)", mailstore_strerror(ret));
	return EX_IOERR;
}

struct mailname tool_mailbox(const char *text)
{
	struct mailname name = { (const uint8_t *)text, strlen(text) };
	if (mailname_is_valid(name))
		return name;
	log_error(NULL, "not a mailbox, name=%.40s (%s)", text, mailstore_strerror(MAILSTORE_EBOX));
	return (struct mailname){ 0 };
}

uint64_t tool_now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int write_pieces(struct mailstore *store, const struct mailrow *row, uint32_t body_crc,
			struct mailbody_undo *undo, FILE *out)
{
	static uint8_t wire[65536];
	static uint8_t text[sizeof(wire) + 1];
	uint32_t crc = 0;
	int ret = 0;
	for (uint64_t at = 0; ret == 0 && at < row->wire_size;) {
		uint64_t left = row->wire_size - at;
		size_t size = left < sizeof(wire) ? (size_t)left : sizeof(wire);
		ret = mailstore_read(store, row, at, wire, size);
		if (ret != 0)
			break;
		crc = mailrecord_crc(crc, wire, size);
		size_t text_size = mailbody_undo_take(undo, wire, size, text);
		if (fwrite(text, 1, text_size, out) != text_size)
			ret = -EIO;
		at += size;
	}
	return ret == 0 && crc != body_crc ? MAILSTORE_EDAMAGED : ret;
}

int tool_write_text(struct mailstore *store, const struct mailentry *entry, FILE *out)
{
	struct mailrow row;
	struct mailrecord record;
	struct mailmeta meta;
	struct mailbody_undo undo;
	uint8_t *bytes = NULL;
	int ret = mailstore_find_row(store, entry->mail, &row);
	if (ret == 0)
		ret = mailstore_record(store, &row, &record, &bytes);
	if (ret != 0)
		return ret;
	ret = mailmeta_decode(bytes, record.meta_size, &meta);
	if (ret == 0) {
		mailbody_undo_init(&undo, record.lines, meta.exceptions.data, meta.exceptions.size,
				   record.wire_size);
		ret = write_pieces(store, &row, record.body_crc, &undo, out);
	}
	free(bytes);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct subcommands table = {
		.program = "mail-store",
		.libraries = NULL,
		.summary = "Looks into a mail store, and changes it.",
		.rows = commands,
		.row_count = sizeof(commands) / sizeof(commands[0]),
	};
	return subcommands_run(&table, argc, argv);
}
