/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_zip.c - zip (APPNOTE.TXT 6.3), by its local headers.
 *
 *     local header, data, descriptor; ... central directory, its end
 *
 * Most readers open a zip by its directory, some by its local headers, and it may say two things.
 * Here each local header is a member, and at the end of the directory both lists are compared.
 * Between records a signature is looked for: what stands there else is seen by no reader.
 *
 * Members whose method is a file format of its own are given as such a file, for the next level to
 * open: bzip2, xz and zstd as they are, LZMA with the head of a .lzma file.
 */

#include "lib/unpack/zip/unpack_zip.h"

#include <string.h>

#include "lib/content/little.h"
#include "lib/content/mark.h"
#include "lib/unpack/unpack_name.h"

_Static_assert(sizeof(struct zip_state) <= UNPACK_HERE_STATE, "it fits");

static const uint8_t tail_mark[4] = { 'P', 'K', 7, 8 }; /* of a descriptor */

static void begin_archive(struct zip_state *zip)
{
	zip->is_masked = false;
	unpack_directory_begin(&zip->lists);
}

static int begin_inflate(struct zip_state *zip)
{
	zip->is_wide = false;
	memset(&zip->inflate, 0, offsetof(struct unpack_inflate, out_bytes));
	return unpack_inflate_init(&zip->inflate);
}

int unpack_zip_begin(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	memset(zip, 0, offsetof(struct zip_state, inflate));
	begin_archive(zip);
	return begin_inflate(zip);
}

static void search(struct zip_state *zip)
{
	zip->step = ZIP_SEARCH;
	zip->signature = 0;
	zip->fill = 0;
}

/* ---- the end of a directory ---- */

static void compare(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	const uint16_t count = little_get16(zip->head + 6);
	const uint32_t offset = little_get32(zip->head + 12);
	const bool is_right = unpack_directory_is_right(&zip->lists, count, offset);
	const bool has_records = zip->lists.listed.count > 0;
	unpack->list_end = unpack->in;
	unpack->is_sure = unpack->is_sure || (is_right && has_records);
	unpack->has_counted =
		unpack->has_counted || (has_records && count == (zip->lists.listed.count & 0xffff));
	/* One that is encrypted has no record that can be read. */
	if (!is_right && (has_records || !zip->is_masked))
		unpack_tell(unpack, UNPACK_LYING);
	begin_archive(zip);
	search(zip);
}

static void take_end64(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	zip->lists.has_end64 = true;
	zip->lists.end64_at = unpack->in - 56;
	zip->lists.end64_count = little_get64(zip->head + 28);
	zip->lists.end64_offset = little_get64(zip->head + 44);
	search(zip);
}

static void take_locator(struct zip_state *zip)
{
	zip->lists.has_locator = true;
	zip->lists.locator_offset = little_get64(zip->head + 4);
	search(zip);
}

/* Whether it is encrypted is a part of its method: a member must not be so for some readers alone. */
static void add_to(struct unpack_digest *digest, const struct zip_state *zip)
{
	struct unpack_digest_facts facts = zip->facts;
	facts.method ^= (uint16_t)((zip->flags & ZIP_IS_ENCRYPTED) << 15);
	unpack_digest_add(digest, &zip->item, &facts);
}

/* ---- the data of a member ---- */

static void end_member(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	add_to(&zip->lists.locals, zip);
	unpack_close(unpack, true);
	search(zip);
}

/* Behind data of a size that was known before. */
static void end_known(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	if ((zip->flags & ZIP_HAS_DESCRIPTOR) != 0) {
		zip->step = ZIP_TAIL;
		zip->fill = 0;
		zip->need = 4;
		return;
	}
	const bool is_checked = zip->sink == ZIP_GIVE_CHECKED;
	if (is_checked && zip->facts.size != zip->size)
		unpack_tell(unpack, UNPACK_LYING);
	if (is_checked && zip->facts.crc != zip->check)
		unpack_tell(unpack, UNPACK_DAMAGED);
	end_member(unpack);
}

/* The descriptor as it is read; the facts that it has are those of the data. */
static void end_tail(struct unpack *unpack, const uint8_t *fields, bool is_wide)
{
	struct zip_state *zip = unpack->state;
	const bool is_checked = zip->sink == ZIP_GIVE_CHECKED;
	zip->facts.crc = little_get32(fields);
	zip->facts.packed_size = zip->packed;
	if (is_checked && zip->facts.crc != zip->check)
		unpack_tell(unpack, UNPACK_DAMAGED);
	if (is_checked)
		zip->facts.size = zip->size;
	else
		zip->facts.size = is_wide ? little_get64(fields + 12) : little_get32(fields + 8);
	end_member(unpack);
}

/*
 * There is no descriptor that fits. The bytes may be the next record: they are read again. They are
 * too few to come back here.
 */
static void lack_tail(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	uint8_t again[32];
	const unsigned size = zip->fill;
	memcpy(again, zip->head, size);
	unpack_tell(unpack, UNPACK_LYING);
	zip->facts.packed_size = zip->packed;
	zip->facts.size = zip->size;
	zip->facts.crc = zip->check;
	end_member(unpack);
	unpack->in -= size;
	unpack_zip_push(unpack, again, size);
}

static void take_tail(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	const bool is_signed = memcmp(zip->head, tail_mark, sizeof(tail_mark)) == 0;
	const unsigned first = is_signed ? 16 : 12;
	if (zip->need == 4) {
		zip->need = first;
		return;
	}
	const uint8_t *fields = zip->head + first - 12;
	const bool is_checked = zip->sink == ZIP_GIVE_CHECKED;
	if (zip->need > first) {
		const bool is_size = !is_checked || little_get64(fields + 12) == zip->size;
		if (little_get64(fields + 4) == zip->packed && is_size)
			end_tail(unpack, fields, true);
		else
			lack_tail(unpack);
		return;
	}
	const bool is_packed = little_get32(fields + 4) == (uint32_t)zip->packed;
	const bool is_wide = is_packed && little_get32(fields + 8) == zip->packed >> 32;
	const bool is_size = is_checked ? little_get32(fields + 8) == (uint32_t)zip->size
					: !is_wide || zip->packed == 0;
	if (is_packed && is_size)
		end_tail(unpack, fields, false);
	else if (is_wide)
		zip->need = first + 8;
	else
		lack_tail(unpack);
}

static void give_lzma(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	uint8_t head[13];
	while (size > 0 && zip->size < LZMA_HEAD_SIZE) {
		zip->lzma[zip->size++] = *bytes++;
		size--;
		if (zip->size < LZMA_HEAD_SIZE)
			continue;
		if (little_get16(zip->lzma + 2) != 5) {
			unpack_tell(unpack, UNPACK_UNSUPPORTED);
			zip->sink = ZIP_DROP;
			return;
		}
		const bool is_known = (zip->flags & (ZIP_HAS_MARKER | ZIP_HAS_DESCRIPTOR)) == 0;
		memcpy(head, zip->lzma + 4, 5);
		for (unsigned i = 0; i < 8; i++)
			head[5 + i] = (uint8_t)(is_known ? zip->facts.size >> (8 * i) : 0xff);
		unpack_give(unpack, head, sizeof(head));
	}
	zip->size += size;
	unpack_give(unpack, bytes, size);
}

static void sink(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	zip->packed += size;
	if (zip->sink == ZIP_GIVE_LZMA) {
		give_lzma(unpack, bytes, size);
		return;
	}
	zip->size += size;
	if (zip->sink == ZIP_GIVE_CHECKED)
		zip->check = (uint32_t)crc32(zip->check, bytes, (uInt)size);
	if (zip->sink != ZIP_DROP)
		unpack_give(unpack, bytes, size);
}

static size_t smaller(size_t left, size_t right)
{
	return left < right ? left : right;
}

/* Whether the data is given decides the head of LZMA's, so that no piece goes beyond it. */
static bool is_lzma_head(const struct zip_state *zip)
{
	return zip->sink == ZIP_GIVE_LZMA && zip->size < LZMA_HEAD_SIZE;
}

static size_t piece_size(const struct zip_state *zip, size_t size)
{
	return smaller(size, is_lzma_head(zip) ? LZMA_HEAD_SIZE - (size_t)zip->size : UNPACK_PIECE);
}

static size_t known_size(const struct zip_state *zip, size_t size)
{
	size = piece_size(zip, size);
	return size < zip->left ? size : (size_t)zip->left;
}

static size_t take_known(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	size = known_size(zip, size);
	zip->left -= size;
	unpack->in += size;
	sink(unpack, bytes, size);
	if (zip->left == 0 && !unpack->is_over)
		end_known(unpack);
	return size;
}

/*
 * A descriptor is where its size, and the checksum if there is one, are those of what was before.
 * One that was put there to end a member too early is not what the directory says.
 */
static bool is_tail(const struct zip_state *zip)
{
	const bool is_checked = zip->sink == ZIP_GIVE_CHECKED;
	return little_get32(zip->head + 8) == (uint32_t)zip->packed &&
	       (!is_checked || little_get32(zip->head + 4) == zip->check);
}

static void scan_byte(struct unpack *unpack, uint8_t byte)
{
	struct zip_state *zip = unpack->state;
	zip->head[zip->fill++] = byte;
	while (zip->fill > 0) {
		const unsigned part = zip->fill < 4 ? zip->fill : 4;
		if (memcmp(zip->head, tail_mark, part) == 0 && (zip->fill < 16 || is_tail(zip)))
			break;
		const uint8_t first = zip->head[0];
		memmove(zip->head, zip->head + 1, --zip->fill);
		sink(unpack, &first, 1);
	}
	if (zip->fill == 16 && !unpack->is_over) {
		zip->step = ZIP_TAIL;
		zip->need = 16;
		take_tail(unpack);
	}
}

/* Up to what may be the mark of a descriptor, or a byte of it. */
static size_t scan_size(const struct zip_state *zip, const uint8_t *bytes, size_t size)
{
	size = piece_size(zip, size);
	const uint8_t *mark = zip->fill > 0 ? bytes : memchr(bytes, 'P', size);
	const size_t plain = mark != NULL ? (size_t)(mark - bytes) : size;
	return plain > 0 ? plain : 1;
}

static size_t take_scan(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	const size_t used = scan_size(zip, bytes, size);
	unpack->in += used;
	if (zip->fill == 0 && bytes[0] != 'P')
		sink(unpack, bytes, used);
	else
		scan_byte(unpack, bytes[0]);
	return used;
}

/* The stream has ended, and its packed size was known or is so. */
static void end_inflate(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	const bool is_known = (zip->flags & ZIP_HAS_DESCRIPTOR) == 0;
	zip->size = zip->is_wide ? zip->inflate64.out : zip->inflate.out;
	zip->check = zip->is_wide ? zip->inflate64.check : zip->inflate.check;
	if (is_known && zip->left > 0) {
		/* Some readers go on with these bytes, and some with what is behind the stream. */
		unpack_tell(unpack, UNPACK_LYING);
		if (zip->facts.crc != zip->check)
			unpack_tell(unpack, UNPACK_DAMAGED);
		unpack_close(unpack, true);
		zip->sink = ZIP_DROP;
		zip->step = ZIP_KNOWN;
		return;
	}
	end_known(unpack);
}

static size_t take_inflate(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	const bool is_known = (zip->flags & ZIP_HAS_DESCRIPTOR) == 0;
	size_t used = 0;
	if (is_known && size > zip->left)
		size = (size_t)zip->left;
	const enum inflate_step step =
		zip->is_wide ? unpack_inflate64(unpack, &zip->inflate64, bytes, size, &used)
			     : unpack_inflate(unpack, &zip->inflate, bytes, size, &used);
	zip->packed += used;
	zip->left -= is_known ? used : 0;
	if (step == INFLATE_ENDED) {
		end_inflate(unpack);
	} else if (step == INFLATE_BAD || (step == INFLATE_MORE && is_known && zip->left == 0)) {
		unpack_tell(unpack, UNPACK_DAMAGED);
		unpack_close(unpack, false);
		zip->sink = ZIP_DROP;
		zip->size = zip->facts.size;
		zip->step = is_known ? ZIP_KNOWN : ZIP_SCAN;
		zip->fill = 0;
		if (is_known && zip->left == 0)
			end_known(unpack);
	}
	return used;
}

/* ---- records ---- */

static enum zip_sink sink_of(const struct zip_state *zip)
{
	switch (zip->facts.method) {
	case ZIP_STORED:
		return ZIP_GIVE_CHECKED;
	case ZIP_BZIP2:
	case ZIP_ZSTD_FIRST:
	case ZIP_ZSTD:
	case ZIP_XZ:
		return ZIP_GIVE;
	case ZIP_LZMA:
		return ZIP_GIVE_LZMA;
	default:
		return ZIP_DROP;
	}
}

/* Both have the same place. It was large enough before. */
static void reset_inflate(struct zip_state *zip)
{
	if (zip->facts.method == ZIP_DEFLATED64) {
		zip->is_wide = true;
		unpack_inflate64_reset(&zip->inflate64);
	} else if (zip->is_wide) {
		(void)begin_inflate(zip);
	} else {
		unpack_inflate_reset(&zip->inflate);
	}
}

static void begin_data(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	const bool is_inflated =
		zip->facts.method == ZIP_DEFLATED || zip->facts.method == ZIP_DEFLATED64;
	const bool is_late = (zip->flags & ZIP_HAS_DESCRIPTOR) != 0;
	zip->sink = is_inflated ? ZIP_GIVE_CHECKED : sink_of(zip);
	zip->left = zip->facts.packed_size;
	zip->fill = 0;
	if ((zip->flags & ZIP_IS_ENCRYPTED) != 0) {
		unpack_tell_of(unpack, UNPACK_ENCRYPTED, unpack->name);
		zip->sink = ZIP_DROP;
	} else if (zip->sink == ZIP_DROP) {
		unpack_tell_of(unpack, UNPACK_UNSUPPORTED, unpack->name);
	}
	zip->is_masked = zip->is_masked || (zip->flags & ZIP_IS_MASKED) != 0;

	const bool is_folder = zip->raw_size > 0 && zip->left == 0 && !is_late &&
			       zip->raw_name[zip->raw_size - 1] == '/';
	if (zip->sink == ZIP_DROP || is_folder)
		unpack_count(unpack);
	else
		unpack_open(unpack, unpack->name);
	if (unpack->is_over)
		return;

	if (is_inflated && zip->sink != ZIP_DROP) {
		reset_inflate(zip);
		zip->step = ZIP_INFLATE;
		/* Of no bytes, there is no stream. */
		if (!is_late && zip->left == 0)
			end_known(unpack);
	} else if (is_late && zip->left == 0) {
		zip->step = ZIP_SCAN;
	} else {
		zip->step = ZIP_KNOWN;
		if (zip->left == 0)
			end_known(unpack);
	}
}

static void end_record(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	if (zip->signature == ZIP_CENTRAL) {
		add_to(&zip->lists.listed, zip);
		search(zip);
		return;
	}
	const bool is_utf8 = (zip->flags & ZIP_IS_UTF8) != 0;
	unpack_name(zip->raw_name, zip->raw_size, is_utf8 ? UNPACK_NAME_LATIN1 : UNPACK_NAME_CP437,
		    unpack->name);
	begin_data(unpack);
}

/* To the next part of the record that has bytes. */
static void go_on(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	zip->fill = 0;
	if (zip->name_left > 0) {
		zip->step = ZIP_NAME;
	} else if (zip->extra_left >= 4) {
		zip->step = ZIP_EXTRA_HEAD;
		zip->need = 4;
	} else if (zip->extra_left > 0) {
		/* Too few bytes for a block: some programs pad with them. */
		zip->block = 0;
		zip->block_left = zip->extra_left;
		zip->extra_left = 0;
		zip->step = ZIP_EXTRA;
	} else if (zip->remark_left > 0) {
		zip->step = ZIP_REMARK;
	} else {
		end_record(unpack);
	}
}

/* A local header's fields from the version on, or a central one's behind its first version. */
static void take_fields(struct zip_state *zip, const uint8_t *fields)
{
	zip->flags = little_get16(fields + 2);
	zip->facts.method = little_get16(fields + 4);
	zip->facts.crc = little_get32(fields + 10);
	zip->facts.packed_size = little_get32(fields + 14);
	zip->facts.size = little_get32(fields + 18);
	zip->name_left = little_get16(fields + 22);
	zip->extra_left = little_get16(fields + 24);
	zip->remark_left = 0;
	zip->raw_size = 0;
	zip->packed = 0;
	zip->size = 0;
	zip->check = 0;
	unpack_digest_item(&zip->item);
}

static void take_head(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	switch (zip->signature) {
	case ZIP_LOCAL:
		take_fields(zip, zip->head);
		zip->facts.offset = unpack->in - 30;
		if (zip->lists.start == UINT64_MAX)
			zip->lists.start = zip->facts.offset;
		go_on(unpack);
		break;
	case ZIP_CENTRAL:
		take_fields(zip, zip->head + 2);
		zip->facts.offset = little_get32(zip->head + 38);
		zip->remark_left = little_get16(zip->head + 28);
		if (zip->lists.at == UINT64_MAX)
			zip->lists.at = unpack->in - 46;
		go_on(unpack);
		break;
	case ZIP_END64:
		take_end64(unpack);
		break;
	case ZIP_LOCATOR:
		take_locator(zip);
		break;
	default:
		compare(unpack);
		break;
	}
}

/* Fields of 64 bits: those that are all ones in the record, in this order. */
static void take_extra64(struct zip_state *zip)
{
	const uint8_t *at = zip->head;
	const uint8_t *end = zip->head + zip->fill;
	uint64_t *const fields[] = { &zip->facts.size, &zip->facts.packed_size,
				     &zip->facts.offset };
	const size_t count = zip->signature == ZIP_CENTRAL ? 3 : 2;
	for (size_t i = 0; i < count; i++) {
		if (*fields[i] != UINT32_MAX || end - at < 8)
			continue;
		*fields[i] = little_get64(at);
		at += 8;
	}
}

static void begin_block(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	zip->extra_left = (uint16_t)(zip->extra_left - 4);
	zip->block = little_get16(zip->head);
	zip->block_left = little_get16(zip->head + 2);
	if (zip->block_left > zip->extra_left)
		zip->block_left = zip->extra_left;
	zip->extra_left = (uint16_t)(zip->extra_left - zip->block_left);
	zip->fill = 0;
	zip->step = ZIP_EXTRA;
	if (zip->block_left == 0)
		go_on(unpack);
}

static void begin_record(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	static const struct {
		uint32_t signature;
		unsigned need;
	} heads[] = {
		{ ZIP_LOCAL, 26 }, { ZIP_CENTRAL, 42 }, { ZIP_END, 18 },
		{ ZIP_END64, 52 }, { ZIP_LOCATOR, 16 },
	};
	if (zip->signature >> 16 != 0x504b)
		return;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		if (zip->signature != heads[i].signature)
			continue;
		zip->has_any = true;
		zip->step = ZIP_HEAD;
		zip->fill = 0;
		zip->need = heads[i].need;
	}
	if (zip->signature == ZIP_ENCRYPTED_DIRECTORY && !zip->is_masked) {
		zip->is_masked = true;
		unpack_tell(unpack, UNPACK_ENCRYPTED);
	}
}

/* ---- bytes ---- */

static size_t take_search(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	size_t used = 0;
	while (used < size && zip->step == ZIP_SEARCH) {
		const bool is_idle = (zip->signature & 0xff) != 'P' &&
				     (zip->signature & 0xff) != 'K' &&
				     (zip->signature & 0xffff00) != 0x504b00;
		if (is_idle && bytes[used] != 'P') {
			const uint8_t *mark = memchr(bytes + used, 'P', size - used);
			const size_t next = mark != NULL ? (size_t)(mark - bytes) : size;
			unpack->in += next - used;
			used = next;
			zip->signature = 0;
			continue;
		}
		zip->signature = zip->signature << 8 | bytes[used++];
		unpack->in++;
		begin_record(unpack);
	}
	return used;
}

/* Fixed parts, and the end of each. */
static size_t take_part(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	size = smaller(size, zip->need - zip->fill);
	memcpy(zip->head + zip->fill, bytes, size);
	zip->fill += (unsigned)size;
	unpack->in += size;
	if (zip->fill < zip->need)
		return size;
	if (zip->step == ZIP_HEAD)
		take_head(unpack);
	else if (zip->step == ZIP_EXTRA_HEAD)
		begin_block(unpack);
	else
		take_tail(unpack);
	return size;
}

/* Parts of any size. */
static size_t take_long(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	uint16_t *left = zip->step == ZIP_NAME	  ? &zip->name_left
			 : zip->step == ZIP_EXTRA ? &zip->block_left
						  : &zip->remark_left;
	size = smaller(size, *left);
	if (zip->step == ZIP_NAME) {
		const size_t kept = smaller(size, sizeof(zip->raw_name) - zip->raw_size);
		memcpy(zip->raw_name + zip->raw_size, bytes, kept);
		zip->raw_size += (unsigned)kept;
		unpack_digest_name(&zip->lists.locals, &zip->item, bytes, size);
	} else if (zip->step == ZIP_EXTRA && zip->block == ZIP64_EXTRA) {
		const size_t kept = smaller(size, sizeof(zip->head) - zip->fill);
		memcpy(zip->head + zip->fill, bytes, kept);
		zip->fill += (unsigned)kept;
	}
	unpack->in += size;
	*left = (uint16_t)(*left - size);
	if (*left > 0)
		return size;
	if (zip->step == ZIP_EXTRA && zip->block == ZIP64_EXTRA)
		take_extra64(zip);
	go_on(unpack);
	return size;
}

/* How many bytes the next step takes of a record that are not given to anything. */
static size_t unseen_size(const struct zip_state *zip, const uint8_t *bytes, size_t size)
{
	const bool is_unseen = zip->sink == ZIP_DROP || is_lzma_head(zip);
	switch (zip->step) {
	case ZIP_HEAD:
	case ZIP_EXTRA_HEAD:
		return smaller(size, zip->need - zip->fill);
	case ZIP_NAME:
		return smaller(size, zip->name_left);
	case ZIP_EXTRA:
		return smaller(size, zip->block_left);
	case ZIP_REMARK:
		return smaller(size, zip->remark_left);
	case ZIP_KNOWN:
		return is_unseen ? known_size(zip, size) : 0;
	case ZIP_SCAN:
		return is_unseen ? scan_size(zip, bytes, size) : 0;
	default:
		return 0;
	}
}

/*
 * A record whose sizes lie would hide a member from us that readers find by the directory. So a mark
 * within it begins the member, and the record is none. Returns the bytes up to the mark's end, or 0.
 */
static size_t break_off(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	struct zip_state *zip = unpack->state;
	const size_t part = unseen_size(zip, bytes, size);
	size_t behind = 0;
	if (part == 0)
		zip->seen = 0;
	if (part == 0 || !mark_find(ZIPMARK, ZIPMARK_SIZE, &zip->seen, bytes, part, &behind))
		return 0;
	if (zip->lists.locals.count == 0 && zip->lists.listed.count == 0)
		begin_archive(zip);
	unpack_close(unpack, false);
	unpack->in += behind;
	search(zip);
	zip->signature = ZIP_LOCAL;
	begin_record(unpack);
	return behind;
}

void unpack_zip_push(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	const struct zip_state *zip = unpack->state;
	while (size > 0 && !unpack->is_over) {
		size_t used = break_off(unpack, bytes, size);
		if (used > 0) {
			bytes += used;
			size -= used;
			continue;
		}
		switch (zip->step) {
		case ZIP_SEARCH:
			used = take_search(unpack, bytes, size);
			break;
		case ZIP_HEAD:
		case ZIP_EXTRA_HEAD:
		case ZIP_TAIL:
			used = take_part(unpack, bytes, size);
			break;
		case ZIP_NAME:
		case ZIP_EXTRA:
		case ZIP_REMARK:
			used = take_long(unpack, bytes, size);
			break;
		case ZIP_INFLATE:
			used = take_inflate(unpack, bytes, size);
			break;
		case ZIP_KNOWN:
			used = take_known(unpack, bytes, size);
			break;
		case ZIP_SCAN:
			used = take_scan(unpack, bytes, size);
			break;
		}
		bytes += used;
		size -= used;
	}
}

void unpack_zip_end(struct unpack *unpack)
{
	struct zip_state *zip = unpack->state;
	if (unpack->is_over)
		return;
	const bool is_open = zip->step != ZIP_SEARCH || zip->lists.locals.count > 0 ||
			     zip->lists.listed.count > 0;
	/* What was held for a descriptor is data after all. */
	if (zip->step == ZIP_SCAN && zip->fill > 0) {
		const unsigned size = zip->fill;
		zip->fill = 0;
		sink(unpack, zip->head, size);
	}
	if (is_open)
		unpack_stop(unpack, UNPACK_CUT);
	else if (!zip->has_any)
		unpack_stop(unpack, UNPACK_DAMAGED);
}
