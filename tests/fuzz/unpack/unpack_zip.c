/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes for a zip: what comes out of it does not depend on how it is cut. Without a flaw, all that
 * libarchive finds in it is there, by its directory and by its local headers.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   of the cuts
 *        1      1   small limits: bit 0 total, 1 ratio, 2 members; bit 3: it was cut elsewhere
 *        2      .   the object
 */

#include "tests/fuzz/unpack/unpacked.h"

#include <archive.h>
#include <archive_entry.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMBER_MAX (1 << 20) /* larger ones are not compared */

/* A member of a method that is not left to the next level, and its bytes: "SIZE HASH". */
static bool read_member(struct archive *archive, struct archive_entry *entry, char *ret_words,
			size_t words_size)
{
	static const char *const methods[] = { "(uncompressed)", "(deflation)" };
	static uint8_t bytes[16384];
	uint64_t hash = 0xcbf29ce484222325ULL;
	unsigned long long all = 0;
	la_ssize_t got;
	const char *format = archive_format_name(archive);
	if (archive_entry_filetype(entry) != AE_IFREG ||
	    (strstr(format, methods[0]) == NULL && strstr(format, methods[1]) == NULL))
		return false;
	while ((got = archive_read_data(archive, bytes, sizeof(bytes))) > 0 && all <= MEMBER_MAX) {
		for (la_ssize_t i = 0; i < got; i++)
			hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
		all += (unsigned long long)got;
	}
	snprintf(ret_words, words_size, " %llu %016llx\n", all, (unsigned long long)hash);
	return got == 0 && all > 0;
}

static void find_members(const char *text, int (*support)(struct archive *archive),
			 const uint8_t *bytes, size_t size)
{
	char words[64];
	struct archive_entry *entry;
	struct archive *archive = archive_read_new();
	unpacked_require(archive != NULL && support(archive) == ARCHIVE_OK, "libarchive has zip");
	int ret = archive_read_open_memory(archive, bytes, size);
	for (unsigned i = 0; i < 100 && ret == ARCHIVE_OK; i++) {
		ret = archive_read_next_header(archive, &entry);
		if (ret != ARCHIVE_OK && ret != ARCHIVE_WARN)
			break;
		ret = ARCHIVE_OK;
		if (read_member(archive, entry, words, sizeof(words)))
			unpacked_require(strstr(text, words) != NULL, "what others find comes out");
	}
	archive_read_free(archive);
}

static void compare_others(const uint8_t *bytes, size_t size)
{
	struct unpack_budget budget = UNPACK_BUDGET;
	struct unpacked ours = { 0 };
	budget.ratio_from = 1 << 16;
	unpacked_run(CONTENT_ZIP, &budget, bytes, size, 0, true, &ours);
	if (strstr(ours.text, "\nflaw ") == NULL) {
		find_members(ours.text, archive_read_support_format_zip_seekable, bytes, size);
		find_members(ours.text, archive_read_support_format_zip_streamable, bytes, size);
	}
	free(ours.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	unpacked_compare(CONTENT_ZIP, data[0], data[1], data + 2, size - 2);
	compare_others(data + 2, size - 2);
	return 0;
}
