/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_lha.h"

#include <string.h>

#include "lib/content/little.h"
#include "lib/unpack/unpack_name.h"

#define FIXED	     21 /* bytes up to the level */
#define METHOD_SIZE  5
#define FILE_NAME    0x01
#define FOLDER_NAME  0x02
#define WIDE_SIZES   0x42 /* of 8 bytes, of the data and of the file; more than 4 GB are of no mail */
#define NAME_AT	     22
#define CHECKSUM_AT2 21 /* of levels 2 and 3 */

/* What is kept of a member's headers. */
struct member {
	const uint8_t *method;
	uint64_t packed;
	uint64_t size;
	bool has_checksum;
	uint32_t checksum;
	size_t name_size;
	size_t folder_size;
	uint8_t name[UNPACK_LHA_NAME];
	uint8_t folder[UNPACK_LHA_NAME];
};

/* ---- bytes ---- */

/* Are there so many bytes? At the end of the archive there may be fewer. */
static bool need(struct unpack_lha *lha, struct unpack *unpack, size_t size)
{
	const uint8_t *bytes = NULL;
	if (size > UNPACK_LHA_HEAD)
		return false;
	while (lha->fill - lha->at < size) {
		const size_t more = unpack_feed_next(unpack, &bytes);
		if (more == 0)
			return false;
		memmove(lha->bytes, lha->bytes + lha->at, lha->fill - lha->at);
		lha->fill -= lha->at;
		lha->at = 0;
		memcpy(lha->bytes + lha->fill, bytes, more);
		lha->fill += more;
	}
	return true;
}

/* Up to max bytes that are there. */
static size_t give(struct unpack_lha *lha, struct unpack *unpack, uint64_t max,
		   const uint8_t **ret_bytes)
{
	if (max == 0 || (lha->at == lha->fill && !need(lha, unpack, 1)))
		return 0;
	const size_t there = lha->fill - lha->at;
	const size_t size = there < max ? there : (size_t)max;
	*ret_bytes = lha->bytes + lha->at;
	lha->at += size;
	return size;
}

/* ---- headers ---- */

static size_t put_name(uint8_t *ret_name, const uint8_t *name, size_t size)
{
	const size_t kept = size < UNPACK_LHA_NAME ? size : UNPACK_LHA_NAME;
	for (size_t i = 0; i < kept; i++)
		ret_name[i] = name[i] == 0xff || name[i] == '\\' ? '/' : name[i];
	return kept;
}

/* Of a header that has no number, or says that 32 bits have none. Readers that do not know wide ones go by its own. */
static void widen(uint64_t *number, uint64_t wide)
{
	if ((*number == 0 || *number == UINT32_MAX) && wide <= UINT32_MAX)
		*number = wide;
}

static void take_extension(struct member *member, const uint8_t *bytes, size_t size)
{
	const uint8_t *data = bytes + 1;
	if (bytes[0] == FILE_NAME) {
		member->name_size = put_name(member->name, data, size - 1);
	} else if (bytes[0] == FOLDER_NAME) {
		member->folder_size = put_name(member->folder, data, size - 1);
	} else if (bytes[0] == WIDE_SIZES && size >= 17) {
		widen(&member->packed, little_get64(data));
		widen(&member->size, little_get64(data + 8));
	}
}

static size_t get_size(const uint8_t *bytes, size_t width)
{
	return width == 2 ? little_get16(bytes) : little_get32(bytes);
}

/* The headers that follow, the first of which has its size before at. Returns where they end; 0: there are too many. */
static size_t read_extensions(struct unpack_lha *lha, struct unpack *unpack, size_t at,
			      size_t width, struct member *member)
{
	if (!need(lha, unpack, at))
		return 0;
	size_t size = get_size(lha->bytes + lha->at + at - width, width);
	while (size > width) {
		if (size > UNPACK_LHA_HEAD - at || !need(lha, unpack, at + size))
			return 0;
		const uint8_t *bytes = lha->bytes + lha->at + at;
		take_extension(member, bytes, size - width);
		at += size;
		size = get_size(bytes + size - width, width);
	}
	return at;
}

/* How many bytes the headers have; 0: there are none. One of level 0 may have no checksum. */
static size_t read_old(struct unpack_lha *lha, struct unpack *unpack, bool has_extensions,
		       struct member *member)
{
	const uint8_t *head = lha->bytes + lha->at;
	const size_t size = 2 + (size_t)head[0];
	const size_t name_size = head[FIXED];
	const size_t name_end = NAME_AT + name_size;
	if (size < name_end + (has_extensions ? 2 : 0) || !need(lha, unpack, size))
		return 0;
	head = lha->bytes + lha->at;
	member->has_checksum = size >= name_end + 2;
	if (member->has_checksum)
		member->checksum = little_get16(head + name_end);
	member->name_size = put_name(member->name, head + NAME_AT, name_size);
	if (!has_extensions)
		return size;
	const size_t end = read_extensions(lha, unpack, size, 2, member);
	const uint64_t behind = end - size;
	member->packed = end > 0 && member->packed > behind ? member->packed - behind : 0;
	return end;
}

static size_t read_new(struct unpack_lha *lha, struct unpack *unpack, size_t width,
		       struct member *member)
{
	const size_t first = width == 2 ? 26 : 32;
	if (!need(lha, unpack, first))
		return 0;
	const uint8_t *head = lha->bytes + lha->at;
	const size_t size = width == 2 ? little_get16(head) : little_get32(head + 24);
	member->has_checksum = true;
	member->checksum = little_get16(head + CHECKSUM_AT2);
	const size_t end = read_extensions(lha, unpack, first, width, member);
	return end > 0 && end <= size && need(lha, unpack, size) ? size : 0;
}

static size_t read_head(struct unpack_lha *lha, struct unpack *unpack, struct member *ret_member)
{
	memset(ret_member, 0, sizeof(*ret_member));
	if (!need(lha, unpack, FIXED + 1))
		return 0;
	const uint8_t *head = lha->bytes + lha->at;
	const unsigned level = head[FIXED - 1];
	if (head[2] != '-' || head[6] != '-' || level > 3)
		return 0;
	ret_member->packed = little_get32(head + 7);
	ret_member->size = little_get32(head + 11);
	const size_t size = level < 2 ? read_old(lha, unpack, level == 1, ret_member)
				      : read_new(lha, unpack, level == 2 ? 2 : 4, ret_member);
	ret_member->method = lha->bytes + lha->at + 2;
	return size;
}

/* ---- members ---- */

/* libarchive's, and one more that stores. */
static const char *find_method(const uint8_t *method)
{
	static const char *const known[] = { "-lh0-", "-lh4-", "-lh5-", "-lh6-",
					     "-lh7-", "-lhd-", "-lz4-" };
	if (memcmp(method, "-pm0-", METHOD_SIZE) == 0)
		return known[0];
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (memcmp(method, known[i], METHOD_SIZE) == 0)
			return known[i];
	return NULL;
}

static void put_number(uint8_t *bytes, size_t size, uint64_t number)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
}

/*
 * The folder before the name, as far as there is room, in UTF-8: at a name that its locale has not libarchive gives up
 * all of the archive.
 */
static void join_name(struct member *member)
{
	char name[UNPACK_NAME_SIZE];
	const size_t room = UNPACK_LHA_NAME - member->folder_size;
	const size_t kept = member->name_size < room ? member->name_size : room;
	memmove(member->name + member->folder_size, member->name, kept);
	memcpy(member->name, member->folder, member->folder_size);
	unpack_name(member->name, member->folder_size + kept, UNPACK_NAME_LATIN1, name);
	member->name_size = strnlen(name, UNPACK_LHA_NAME);
	while (member->name_size > 0 && (name[member->name_size] & 0xc0) == 0x80)
		member->name_size--;
	memcpy(member->name, name, member->name_size);
	if (member->name_size == 0)
		member->name[member->name_size++] = '?';
}

/* How many bytes it has. */
static size_t make_head(struct unpack_lha *lha, const struct member *member, const char *method)
{
	uint8_t *head = lha->head;
	const size_t size = NAME_AT + member->name_size + (member->has_checksum ? 2 : 0);
	uint8_t sum = 0;
	memset(head, 0, sizeof(lha->head));
	memcpy(head + 2, method, METHOD_SIZE);
	put_number(head + 7, 4, member->packed);
	put_number(head + 11, 4, member->size);
	head[19] = 0x20; /* it is a file */
	head[FIXED] = (uint8_t)member->name_size;
	memcpy(head + NAME_AT, member->name, member->name_size);
	if (member->has_checksum)
		put_number(head + NAME_AT + member->name_size, 2, member->checksum);
	for (size_t i = 2; i < size; i++)
		sum = (uint8_t)(sum + head[i]);
	head[0] = (uint8_t)(size - 2);
	head[1] = sum;
	return size;
}

/* The next header, as it is to be; 0: none is wanted here. */
static size_t next_head(struct unpack_lha *lha, struct unpack *unpack)
{
	struct member member;
	char name[UNPACK_NAME_SIZE];
	lha->is_over = !need(lha, unpack, 1) || lha->bytes[lha->at] == 0;
	if (lha->is_over)
		return 0;
	const size_t size = read_head(lha, unpack, &member);
	if (size == 0) {
		const struct unpack_feed *feed = unpack->state;
		unpack_tell_of(unpack, feed->is_drained ? UNPACK_CUT : UNPACK_DAMAGED, "");
		lha->is_over = true;
		lha->is_odd = true;
		return 0;
	}
	const char *method = find_method(member.method);
	lha->at += size;
	join_name(&member);
	if (method != NULL) {
		lha->left = member.packed;
		return make_head(lha, &member, method);
	}
	lha->pass = member.packed;
	unpack_name(member.name, member.name_size, UNPACK_NAME_LATIN1, name);
	unpack_tell_of(unpack, UNPACK_UNSUPPORTED, name);
	lha->is_over = !unpack_count(unpack);
	return 0;
}

size_t unpack_lha_next(struct unpack_lha *lha, struct unpack *unpack, const uint8_t **ret_bytes)
{
	size_t size = 0;
	while (!lha->is_over) {
		if (lha->left > 0) {
			size = give(lha, unpack, lha->left, ret_bytes);
			lha->left -= size;
			return size;
		}
		if (lha->pass > 0) {
			size = give(lha, unpack, lha->pass, ret_bytes);
			lha->pass -= size;
			lha->is_over = size == 0;
			continue;
		}
		size = next_head(lha, unpack);
		if (size > 0) {
			*ret_bytes = lha->head;
			return size;
		}
	}
	return 0;
}
