/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_archive.c - what libarchive opens.
 *
 * It pulls: so it runs on the fiber of a feed. Only the one format of the row is known to it, and none
 * for which it would run a program.
 */

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <archive.h>
#include <archive_entry.h>

#include "lib/unpack/apart/unpack_cab.h"
#include "lib/unpack/apart/unpack_disc.h"
#include "lib/unpack/apart/unpack_feed.h"
#include "lib/unpack/apart/unpack_lha.h"
#include "lib/unpack/apart/unpack_tar.h"
#include "lib/unpack/apart/unpack_windows.h"
#include "lib/unpack/apart/unpack_zstd.h"
#include "lib/unpack/office/unpack_office.h"
#include "lib/unpack/unpack_name.h"
#include "lib/unpack/unpack_rows.h"

#define RETRIES_MAX 1000 /* answers of libarchive without a byte */
#define EMPTY_7Z    32	 /* bytes of an archive without members */
#define EMPTY_RAR   64	 /* the same, with its comment's head and its end */

void unpack_prepare(void)
{
	/* Names are converted by tables that iconv() reads, but not from UTF-8 to UTF-8. */
	setlocale(LC_CTYPE, "C.UTF-8");
	/* Times of DOS are local, though nothing here looks at them. */
	tzset();
	office_prepare();
	unpack_chm_prepare();
}

/*
 * Asked for by name, so that it does not open one compressed file within another; only .Z must be
 * guessed. Anything but ARCHIVE_OK is a lack: at a warning, libarchive would run a program.
 */
static bool has_filter(struct archive *archive, enum content_kind kind)
{
	int result = ARCHIVE_FATAL;
	if (kind == CONTENT_COMPRESS)
		result = archive_read_support_filter_compress(archive);
	else if (kind == CONTENT_LZOP)
		result = archive_read_support_filter_lzop(archive);
	else if (kind == CONTENT_ZSTD || kind == CONTENT_LZ4)
		result = archive_read_append_filter(
			archive, kind == CONTENT_ZSTD ? ARCHIVE_FILTER_ZSTD : ARCHIVE_FILTER_LZ4);
	return result == ARCHIVE_OK && archive_read_support_format_raw(archive) == ARCHIVE_OK;
}

static bool has_format(struct archive *archive, enum content_kind kind)
{
	switch (kind) {
	case CONTENT_TAR:
		return archive_read_support_format_tar(archive) == ARCHIVE_OK;
	case CONTENT_CPIO:
		return archive_read_support_format_cpio(archive) == ARCHIVE_OK;
	case CONTENT_AR:
		return archive_read_support_format_ar(archive) == ARCHIVE_OK;
	case CONTENT_CAB:
		return archive_read_support_format_cab(archive) == ARCHIVE_OK;
	case CONTENT_LHA:
		return archive_read_support_format_lha(archive) == ARCHIVE_OK;
	case CONTENT_RAR:
		return archive_read_support_format_rar(archive) == ARCHIVE_OK &&
		       archive_read_support_format_rar5(archive) == ARCHIVE_OK;
	case CONTENT_7Z:
		return archive_read_support_format_7zip(archive) == ARCHIVE_OK;
	case CONTENT_ISO9660:
		return archive_read_support_format_iso9660(archive) == ARCHIVE_OK;
	case CONTENT_XAR:
		return archive_read_support_format_xar(archive) == ARCHIVE_OK;
	default:
		return has_filter(archive, kind);
	}
}

static bool is_filter(enum content_kind kind)
{
	return kind >= CONTENT_ZSTD && kind <= CONTENT_LZOP;
}

/* ---- members ---- */

/*
 * Of a filter or a codec that finds no memory libarchive says that the archive is damaged, or none. What a mail has
 * filled its process with is to be no way to pass one: is there as much as the largest window takes?
 */
static enum unpack_flaw or_memory(enum unpack_flaw flaw)
{
	void *room = mmap(NULL, UNPACK_WINDOW_MAX, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return UNPACK_MEMORY;
	munmap(room, UNPACK_WINDOW_MAX);
	return flaw;
}

static enum unpack_flaw flaw_of(struct archive *archive, bool is_drained)
{
	const char *text = archive_error_string(archive);
	text = text != NULL ? text : "";
	if (archive_errno(archive) == ENOMEM || strcasestr(text, "memory") != NULL)
		return UNPACK_MEMORY;
	if (strcasestr(text, "encrypt") != NULL || strcasestr(text, "passphrase") != NULL)
		return UNPACK_ENCRYPTED;
	if (strcasestr(text, "unsupported") != NULL || strcasestr(text, "not supported") != NULL ||
	    strcasestr(text, "codec ID") != NULL)
		return or_memory(UNPACK_UNSUPPORTED);
	return or_memory(is_drained || strcasestr(text, "truncated") != NULL ? UNPACK_CUT
									     : UNPACK_DAMAGED);
}

/* A hole of a sparse file. */
static bool give_zeros(struct unpack *unpack, uint64_t size)
{
	static const uint8_t zeros[UNPACK_PIECE];
	while (size > 0) {
		const size_t part = size < sizeof(zeros) ? (size_t)size : sizeof(zeros);
		if (!unpack_pour(unpack, zeros, part))
			return false;
		size -= part;
	}
	return true;
}

struct reading {
	struct unpack *unpack;
	struct archive *archive;
	const bool *is_drained;
	const bool *is_told;	  /* why there is no further header */
	struct unpack_disc *disc; /* NULL: it is none */
};

struct block {
	const void *bytes;
	size_t size;
	la_int64_t offset;
	int result;
};

static struct block next_block(struct archive *archive)
{
	struct block block = { 0 };
	block.result = archive_read_data_block(archive, &block.bytes, &block.size, &block.offset);
	return block;
}

/*
 * From a block on; at bytes of the member have been given. Returns whether the archive can be used further:
 * behind ARCHIVE_FATAL libarchive says that it cannot, and does not see to it itself; its cabinets would be
 * read by a NULL.
 */
static bool read_data(const struct reading *reading, struct block block, uint64_t at)
{
	struct unpack *unpack = reading->unpack;
	unsigned empty_count = 0;
	bool is_damaged = false;
	for (;; block = next_block(reading->archive)) {
		const int result = block.result;
		/* At its end a member of a tar may have a hole; other formats leave any offset there. */
		const bool is_placed = result == ARCHIVE_OK || result == ARCHIVE_WARN ||
				       (result == ARCHIVE_EOF && unpack->row->kind == CONTENT_TAR);
		if (is_placed && block.offset > 0 && (uint64_t)block.offset > at) {
			if (!give_zeros(unpack, (uint64_t)block.offset - at))
				return true;
			at = (uint64_t)block.offset;
		}
		if (result == ARCHIVE_EOF) {
			unpack_close(unpack, true);
			if (reading->disc != NULL)
				unpack_disc_close(reading->disc);
			return true;
		}
		if (reading->disc != NULL)
			unpack_disc_follow(reading->disc, block.bytes, block.size);
		const bool is_stuck = block.size == 0 && ++empty_count > RETRIES_MAX;
		if (is_stuck || (result < ARCHIVE_WARN && result != ARCHIVE_RETRY)) {
			unpack_tell(unpack,
				    is_stuck ? UNPACK_DAMAGED
					     : flaw_of(reading->archive, *reading->is_drained));
			unpack_close(unpack, false);
			return result != ARCHIVE_FATAL;
		}
		if (result == ARCHIVE_WARN && !is_damaged) {
			is_damaged = true;
			unpack_tell(unpack, flaw_of(reading->archive, false));
		}
		if (block.size > 0 && !unpack_pour(unpack, block.bytes, block.size))
			return true;
		at += block.size;
	}
}

/* A directory of a disc is in each tree. */
static bool count_member(const struct reading *reading)
{
	if (reading->disc == NULL || !reading->disc->is_again)
		unpack_count(reading->unpack);
	return true;
}

static void name_of(struct archive_entry *entry, char *ret_name)
{
	const char *name = archive_entry_pathname(entry);
	if (name == NULL)
		name = archive_entry_pathname_utf8(entry);
	if (name == NULL)
		name = "?";
	unpack_name((const uint8_t *)name, strlen(name), UNPACK_NAME_LATIN1, ret_name);
}

/* How many bytes of a file follow one another in the image; *block becomes the first one that does not. */
static uint64_t skip_straight(const struct reading *reading, struct block *block)
{
	const uint8_t *next = block->bytes;
	uint64_t at = 0;
	while (block->result == ARCHIVE_OK && block->size > 0 && block->bytes == next) {
		next += block->size;
		at += block->size;
		*block = next_block(reading->archive);
	}
	return at;
}

/* As read_data(). What another tree of a disc has given already is not opened. */
static bool open_member(const struct reading *reading, struct archive_entry *entry)
{
	struct unpack_disc *disc = reading->disc;
	struct block block = next_block(reading->archive);
	const uint8_t *first = block.bytes;
	uint64_t at = 0;
	/* Some readers go by the bytes, and not by what a directory or a link calls itself. */
	if (block.result == ARCHIVE_EOF && archive_entry_filetype(entry) != AE_IFREG)
		return count_member(reading);
	if (disc != NULL) {
		unpack_disc_open(disc, archive_entry_size(entry));
		if (unpack_disc_has(disc, first))
			at = skip_straight(reading, &block);
		if (block.result == ARCHIVE_EOF && unpack_disc_has(disc, first))
			return true;
	}
	if (!unpack_open(reading->unpack, reading->unpack->name) ||
	    !unpack_pour(reading->unpack, first, (size_t)at))
		return true;
	if (disc != NULL)
		unpack_disc_follow(disc, first, at);
	return read_data(reading, block, at);
}

static bool read_member(const struct reading *reading, struct archive_entry *entry)
{
	struct unpack *unpack = reading->unpack;
	unpack->name[0] = '\0';
	if (!is_filter(unpack->row->kind))
		name_of(entry, unpack->name);
	const bool has_bytes = archive_entry_size_is_set(entry) && archive_entry_size(entry) > 0;
	const bool is_file = has_bytes || archive_entry_filetype(entry) == AE_IFREG;
	const bool is_link = !has_bytes && archive_entry_hardlink(entry) != NULL;
	const bool is_encrypted = archive_entry_is_data_encrypted(entry) != 0;
	if (is_encrypted)
		unpack_tell_of(unpack, UNPACK_ENCRYPTED, unpack->name);
	return is_file && !is_link && !is_encrypted ? open_member(reading, entry)
						    : count_member(reading);
}

/* libarchive passes members that it cannot read, and ends without a word; an archive without any is its head alone. */
static void end_members(struct unpack *unpack, unsigned count)
{
	const enum content_kind kind = unpack->row->kind;
	const bool is_it = (kind == CONTENT_7Z && unpack->in > EMPTY_7Z) ||
			   (kind == CONTENT_RAR && unpack->in > EMPTY_RAR);
	if (count == 0 && is_it)
		unpack_tell_of(unpack, or_memory(UNPACK_DAMAGED), "");
}

static void read_members(const struct reading *reading)
{
	struct unpack *unpack = reading->unpack;
	struct archive *archive = reading->archive;
	unsigned count = 0;
	/* A file that no filter took for its own would be given as it is. */
	if (is_filter(unpack->row->kind) && archive_filter_count(archive) < 2) {
		unpack_stop(unpack, or_memory(UNPACK_DAMAGED));
		return;
	}
	while (!unpack->is_over) {
		struct archive_entry *entry = NULL;
		const int result = archive_read_next_header(archive, &entry);
		if (result == ARCHIVE_EOF) {
			end_members(unpack, count);
			break;
		}
		count++;
		if (result >= ARCHIVE_WARN) {
			if (!read_member(reading, entry))
				break;
			continue;
		}
		if (result != ARCHIVE_RETRY && !*reading->is_told)
			unpack_tell_of(unpack, flaw_of(archive, *reading->is_drained), "");
		if (result == ARCHIVE_FATAL || !unpack_count(unpack))
			break;
	}
}

/* ---- formats that stream ---- */

/* What libarchive pulls from; the headers of some formats are not read as they are. */
struct source {
	struct unpack *unpack;
	bool is_told; /* why it ends */
	union {
		struct unpack_lha lha;
		struct unpack_tar tar;
		struct unpack_zstd zstd;
		struct unpack_cab cab;
	} of;
};

static la_ssize_t read_block(struct archive *archive, void *context, const void **ret_block)
{
	struct source *source = context;
	const enum content_kind kind = source->unpack->row->kind;
	const uint8_t *bytes = NULL;
	size_t size = 0;
	(void)archive;
	if (kind == CONTENT_TAR)
		size = unpack_tar_next(&source->of.tar, source->unpack, &bytes);
	else if (kind == CONTENT_LHA)
		size = unpack_lha_next(&source->of.lha, source->unpack, &bytes);
	else if (kind == CONTENT_ZSTD)
		size = unpack_zstd_next(&source->of.zstd, source->unpack, &bytes);
	else if (kind == CONTENT_CAB)
		size = unpack_cab_next(&source->of.cab, source->unpack, &bytes);
	else
		size = unpack_feed_next(source->unpack, &bytes);
	source->is_told = kind == CONTENT_LHA && source->of.lha.is_odd;
	*ret_block = bytes;
	return (la_ssize_t)size;
}

static void run(struct unpack *unpack)
{
	const struct unpack_feed *feed = unpack->state;
	struct source source = { .unpack = unpack };
	struct archive *archive = archive_read_new();
	if (archive == NULL)
		unpack_stop(unpack, UNPACK_MEMORY);
	else if (!has_format(archive, unpack->row->kind))
		unpack_stop(unpack, or_memory(UNPACK_UNSUPPORTED));
	else if (archive_read_open(archive, &source, NULL, read_block, NULL) == ARCHIVE_OK)
		read_members(&(struct reading){ unpack, archive, &feed->is_drained, &source.is_told,
						NULL });
	else if (!source.is_told)
		unpack_stop(unpack, flaw_of(archive, feed->is_drained));
	archive_read_free(archive);
	if (unpack->row->kind == CONTENT_CAB)
		free(source.of.cab.bytes);
}

int unpack_archive_begin(struct unpack *unpack)
{
	return unpack_feed_begin(unpack, run);
}

/* ---- formats that are spooled ---- */

static void read_spooled(struct unpack *unpack, const uint8_t *bytes, size_t size,
			 const char *options, struct unpack_disc *disc)
{
	const bool no = false;
	struct archive *archive = archive_read_new();
	if (archive == NULL)
		unpack_stop(unpack, UNPACK_MEMORY);
	else if (!has_format(archive, unpack->row->kind) ||
		 archive_read_set_options(archive, options) != ARCHIVE_OK)
		unpack_stop(unpack, or_memory(UNPACK_UNSUPPORTED));
	else if (archive_read_open_memory(archive, bytes, size) != ARCHIVE_OK)
		unpack_stop(unpack, flaw_of(archive, no));
	else
		read_members(&(struct reading){ unpack, archive, &no, &no, disc });
	archive_read_free(archive);
}

/* Systems differ in which tree of a disc they show: libarchive's choice, Windows' and that of all. */
static void read_disc(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	static const char *const trees[] = { "", "!rockridge", "!joliet,!rockridge" };
	struct unpack_disc disc;
	if (!unpack_disc_begin(&disc, bytes, size)) {
		unpack_stop(unpack, UNPACK_MEMORY);
		return;
	}
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]) && !unpack->is_over; i++) {
		disc.is_again = i > 0;
		read_spooled(unpack, bytes, size, trees[i], &disc);
	}
	if (disc.has_udf && !unpack->is_over)
		unpack_tell_of(unpack, UNPACK_UNSUPPORTED, "");
	unpack_disc_end(&disc);
}

void unpack_archive_opened(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	if (unpack->row->kind == CONTENT_ISO9660)
		read_disc(unpack, bytes, size);
	else
		read_spooled(unpack, bytes, size, "", NULL);
}
