/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/stream/match_db.h"

#include <errno.h>
#include <fcntl.h>
#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "lib/common/wholefile.h"
#include "lib/match/logic/siglogic.h"
#include "lib/match/logic/sigplace.h"

static const char damaged[] = "is damaged";
static const char is_older[] = "is to be compiled again";

const char *match_db_hs_version(void)
{
	return hs_version();
}

unsigned match_db_digest_size(unsigned kind)
{
	static const unsigned sizes[MATCH_DIGESTS] = { 16, 20, 32 };
	return sizes[kind];
}

size_t match_db_record_size(unsigned section)
{
	switch (section) {
	case IMAGE_SIGNATURES:
		return sizeof(struct image_signature);
	case IMAGE_CONTENTS:
		return sizeof(struct image_content);
	case IMAGE_PARTS:
		return sizeof(struct image_part);
	case IMAGE_PATTERNS:
		return sizeof(struct image_pattern);
	case IMAGE_USES:
		return sizeof(struct image_use);
	case IMAGE_USERS:
	case IMAGE_LOGIC:
		return sizeof(uint32_t);
	case IMAGE_NAMES:
	case IMAGE_HS:
	case IMAGE_HS_OLE:
	case IMAGE_HS_CONTAINED:
		return 1;
	default:
		return match_db_digest_size((section - IMAGE_MD5) % MATCH_DIGESTS) +
		       sizeof(struct image_hash);
	}
}

const char *match_db_name(const struct match_db *db, uint32_t name)
{
	return (const char *)db->sections[IMAGE_NAMES] + name;
}

/* ---- the header ---- */

static bool is_sum_right(const uint8_t *bytes, size_t size)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned digest_size = 0;
	return EVP_Digest(bytes + IMAGE_SUMMED, size - IMAGE_SUMMED, digest, &digest_size,
			  EVP_sha256(), NULL) == 1 &&
	       memcmp(digest, bytes + 24, 32) == 0;
}

static int check_header(const uint8_t *bytes, size_t size, const char **ret_why)
{
	char version[64];
	*ret_why = "is no database of signatures";
	if (size < 16 || memcmp(bytes, IMAGE_MAGIC, 8) != 0)
		return -EBADMSG;
	*ret_why = is_older;
	if (image_word(bytes + 8) != IMAGE_VERSION || image_word(bytes + 12) != 1)
		return -ESTALE;
	*ret_why = damaged;
	if (size < IMAGE_HEADER_SIZE || image_long(bytes + 16) != size || size > INT64_MAX ||
	    !is_sum_right(bytes, size))
		return -EBADMSG;
	*ret_why = is_older;
	memset(version, 0, sizeof(version));
	strncpy(version, hs_version(), sizeof(version) - 1);
	return memcmp(version, bytes + IMAGE_HS_VERSION, sizeof(version)) == 0 ? 0 : -ESTALE;
}

static bool find_sections(struct match_db *db)
{
	memcpy(db->numbers, db->bytes + IMAGE_NUMBERS, sizeof(db->numbers));
	for (unsigned i = 0; i < IMAGE_SECTION_COUNT; i++) {
		const uint8_t *place = db->bytes + IMAGE_SECTIONS + 16 * (size_t)i;
		const uint64_t offset = image_long(place);
		const uint64_t size = image_long(place + 8);
		const size_t record = match_db_record_size(i);
		if (offset < IMAGE_HEADER_SIZE || offset > db->size || size > db->size - offset ||
		    offset % IMAGE_ALIGNMENT != 0 || size % record != 0 ||
		    size / record >= IMAGE_NONE)
			return false;
		db->sections[i] = db->bytes + offset;
		db->counts[i] = (uint32_t)(size / record);
	}
	return true;
}

/* ---- records ---- */

static bool is_range(uint32_t first, uint32_t count, uint32_t limit)
{
	return first <= limit && count <= limit - first;
}

static bool is_index(uint32_t number, uint32_t limit)
{
	return number == IMAGE_NONE || number < limit;
}

static bool check_signature(const struct match_db *db, uint32_t number)
{
	const struct image_signature signature = match_db_signature(db, number);
	return signature.name < db->counts[IMAGE_NAMES] &&
	       is_range(signature.logic, signature.logic_count, db->counts[IMAGE_LOGIC]) &&
	       siglogic_check(match_db_logic(db, signature.logic), signature.logic_count,
			      db->counts[IMAGE_CONTENTS]);
}

static bool check_content(struct match_db *db, uint32_t number)
{
	const struct image_content content = match_db_content(db, number);
	db->has_ends = db->has_ends || content.place == SIGPLACE_END;
	return content.place < SIGPLACE_KIND_COUNT &&
	       is_range(content.part, content.part_count, db->counts[IMAGE_PARTS]) &&
	       is_range(content.user, content.user_count, db->counts[IMAGE_USERS]) &&
	       is_index(content.counter, db->numbers[IMAGE_COUNTER_COUNT]) &&
	       is_index(content.ring, db->numbers[IMAGE_RING_COUNT]) &&
	       (content.ring != IMAGE_NONE) == (content.place == SIGPLACE_END);
}

static bool check_part(const struct match_db *db, uint32_t number)
{
	const struct image_part part = match_db_part(db, number);
	if (part.content >= db->counts[IMAGE_CONTENTS] ||
	    !is_index(part.slot, db->numbers[IMAGE_SLOT_COUNT]) ||
	    !is_index(part.ring, db->numbers[IMAGE_RING_COUNT]))
		return false;
	if (part.flags & IMAGE_PART_FIRST)
		return true;
	/* What it is counted from is kept by the one before it. */
	return is_index(part.before_slot, db->numbers[IMAGE_SLOT_COUNT]) &&
	       is_index(part.before_ring, db->numbers[IMAGE_RING_COUNT]) &&
	       (part.gap_max == IMAGE_FAR ? part.before_slot : part.before_ring) != IMAGE_NONE;
}

static bool check_links(const struct match_db *db)
{
	for (uint32_t i = 0; i < db->counts[IMAGE_PATTERNS]; i++) {
		const struct image_pattern pattern = match_db_pattern(db, i);
		if (!is_range(pattern.use, pattern.use_count, db->counts[IMAGE_USES]))
			return false;
	}
	for (uint32_t i = 0; i < db->counts[IMAGE_USES]; i++)
		if (match_db_use(db, i).part >= db->counts[IMAGE_PARTS])
			return false;
	for (uint32_t i = 0; i < db->counts[IMAGE_USERS]; i++)
		if (match_db_user(db, i) >= db->counts[IMAGE_SIGNATURES])
			return false;
	return true;
}

/* Digests are sorted, and the largest size is kept for match_digest.c. */
static bool check_hashes(struct match_db *db, unsigned section)
{
	const unsigned of = (section - IMAGE_MD5) / MATCH_DIGESTS;
	const unsigned kind = (section - IMAGE_MD5) % MATCH_DIGESTS;
	const size_t record = match_db_record_size(section);
	const unsigned digest_size = match_db_digest_size(kind);
	for (uint32_t i = 0; i < db->counts[section]; i++) {
		const uint8_t *at = db->sections[section] + i * record;
		const uint32_t size = image_word(at + digest_size);
		const uint32_t name = image_word(at + digest_size + 4);
		if (name != IMAGE_NONE && name >= db->counts[IMAGE_NAMES])
			return false;
		if (i > 0 && memcmp(at - record, at, digest_size) > 0)
			return false;
		db->has_hashes[of][kind] = true;
		db->has_section_hashes = db->has_section_hashes || of == 1;
		if (size > db->largest[of][kind])
			db->largest[of][kind] = size;
	}
	return true;
}

/* So that what an object takes is a size that is possible. */
static bool check_numbers(const struct match_db *db)
{
	const uint32_t parts = db->counts[IMAGE_PARTS];
	const uint32_t contents = db->counts[IMAGE_CONTENTS];
	return db->numbers[IMAGE_EARLY_COUNT] <= db->counts[IMAGE_SIGNATURES] &&
	       db->numbers[IMAGE_COUNTER_COUNT] <= contents &&
	       db->numbers[IMAGE_SLOT_COUNT] <= parts &&
	       db->numbers[IMAGE_RING_COUNT] <= (uint64_t)parts + contents;
}

static bool check_records(struct match_db *db)
{
	const uint32_t names = db->counts[IMAGE_NAMES];
	if (names > 0 && db->sections[IMAGE_NAMES][names - 1] != '\0')
		return false;
	if (!check_numbers(db))
		return false;
	for (uint32_t i = 0; i < db->counts[IMAGE_SIGNATURES]; i++)
		if (!check_signature(db, i))
			return false;
	for (uint32_t i = 0; i < db->counts[IMAGE_CONTENTS]; i++)
		if (!check_content(db, i))
			return false;
	for (uint32_t i = 0; i < db->counts[IMAGE_PARTS]; i++)
		if (!check_part(db, i))
			return false;
	for (unsigned i = IMAGE_MD5; i <= IMAGE_SECTION_SHA256; i++)
		if (!check_hashes(db, i))
			return false;
	return check_links(db);
}

int match_db_attach(const uint8_t *bytes, size_t size, struct match_db *ret_db, char *reterr)
{
	const char *why = damaged;
	memset(ret_db, 0, sizeof(*ret_db));
	int status = check_header(bytes, size, &why);
	ret_db->bytes = bytes;
	ret_db->size = size;
	if (status == 0 && (!find_sections(ret_db) || !check_records(ret_db))) {
		why = damaged;
		status = -EBADMSG;
	}
	if (status != 0)
		snprintf(reterr, MATCH_ERROR_SIZE, "%s", why);
	return status;
}

/* ---- files ---- */

/* Vectorscan looks at version and processor itself. */
static int attach_group(struct match_db *db, unsigned group, char *reterr)
{
	size_t stream_size = 0;
	size_t hs_size = 0;
	if (db->counts[IMAGE_HS + group] == 0)
		return 0;
	db->hs[group] = db->sections[IMAGE_HS + group];
	const hs_database_t *hs = db->hs[group];
	hs_scratch_t *scratch = NULL;
	hs_error_t status = hs_database_size(hs, &hs_size);
	if (status == HS_SUCCESS && hs_size > db->counts[IMAGE_HS + group])
		status = HS_INVALID;
	if (status == HS_SUCCESS)
		status = hs_stream_size(hs, &stream_size);
	if (status == HS_SUCCESS)
		status = hs_alloc_scratch(hs, &scratch);
	hs_free_scratch(scratch);
	if (status == HS_SUCCESS)
		return 0;
	const bool is_stale = status == HS_DB_VERSION_ERROR || status == HS_DB_PLATFORM_ERROR;
	snprintf(reterr, MATCH_ERROR_SIZE, "%s",
		 status == HS_NOMEM ? "out of memory"
		 : is_stale	    ? is_older
				    : damaged);
	return status == HS_NOMEM ? -ENOMEM : is_stale ? -ESTALE : -EBADMSG;
}

static int attach_hs(struct match_db *db, char *reterr)
{
	int status = 0;
	for (unsigned i = 0; i < IMAGE_GROUP_COUNT && status == 0; i++)
		status = attach_group(db, i, reterr);
	return status;
}

/*
 * Into memory of its own: what is written into the file, or cut off, while it is open changes nothing. Shared,
 * as processes that are forked have the same.
 */
static int take_file(struct match_db *db, int fd, size_t size, char *reterr)
{
	uint8_t *bytes =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	int failed = wholefile_get(fd, 0, bytes, size);
	if (failed == -ENODATA)
		failed = -EBADMSG;
	if (failed == 0 && mprotect(bytes, size, PROT_READ) != 0)
		failed = -errno;
	if (failed == 0)
		failed = match_db_attach(bytes, size, db, reterr);
	if (failed == 0)
		failed = attach_hs(db, reterr);
	if (failed != 0)
		munmap(bytes, size);
	return failed;
}

static int open_file(struct match_db *db, int fd, char *reterr)
{
	struct stat status;
	char magic[8];
	if (fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, IMAGE_MAGIC, sizeof(magic)) != 0) {
		snprintf(reterr, MATCH_ERROR_SIZE, "is no database of signatures");
		return -EBADMSG;
	}
	const int failed = take_file(db, fd, (size_t)status.st_size, reterr);
	db->status = status;
	return failed;
}

int match_open(const char *path, struct match_db **ret_db, char *reterr)
{
	char why[MATCH_ERROR_SIZE] = "";
	struct match_db *db = calloc(1, sizeof(*db));
	if (db == NULL) {
		snprintf(reterr, MATCH_ERROR_SIZE, "%.200s: out of memory", path);
		return -ENOMEM;
	}
	/* Else a named pipe would be waited for. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const int status = fd < 0 ? -errno : open_file(db, fd, why);
	if (fd >= 0)
		close(fd);
	if (status == 0) {
		*ret_db = db;
		return 0;
	}
	free(db);
	snprintf(reterr, MATCH_ERROR_SIZE, "%.150s: %.80s", path,
		 why[0] != '\0' ? why : strerror(-status));
	return status;
}

void match_close(struct match_db *db)
{
	if (db == NULL)
		return;
	munmap((void *)(uintptr_t)db->bytes, db->size);
	free(db);
}

bool match_is_stale(struct match_db *db, const char *path)
{
	struct stat now;
	const struct stat before = db->status;
	if (stat(path, &now) != 0)
		return false;
	db->status = now;
	return now.st_ino != before.st_ino || now.st_dev != before.st_dev ||
	       now.st_size != before.st_size || now.st_ctim.tv_sec != before.st_ctim.tv_sec ||
	       now.st_ctim.tv_nsec != before.st_ctim.tv_nsec;
}

void match_not_taken(struct match_db *db, int status)
{
	if (status != -EBADMSG && status != -ESTALE)
		db->status = (struct stat){ 0 };
}

unsigned match_count(const struct match_db *db)
{
	return db->numbers[IMAGE_SIGNATURE_COUNT];
}
