/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/unpack/apart/unpack_tar.h"

#include <stdio.h>
#include <string.h>

#include "lib/format/ascii.h"

#define ABOUT	       "gKLxX"	/* types of headers about others */
#define WITHOUT_BYTES  "123456" /* links, devices and folders */
#define NAME_SIZE      100
#define SIZE_SIZE      12
#define OCTAL_MAX      077777777777 /* that 11 digits can say */
#define EXTENDED_AT    482	    /* in a header of GNU's sparse files */
#define MORE_AT	       504	    /* in a block of their map */
#define ATTRIBUTES_MAX (1 << 20)    /* of a member, as libarchive has it: it ends at more */

/* ---- what a member's attributes say (POSIX.1, pax): "LENGTH KEY=VALUE\n" ---- */

static bool take_record(const char *record, size_t size, uint64_t *ret_size)
{
	static const char key[] = " size=";
	const char *at = memchr(record, ' ', size);
	uint64_t number = 0;
	if (at == NULL || (size_t)(record + size - at) < sizeof(key) ||
	    memcmp(at, key, sizeof(key) - 1) != 0)
		return false;
	at += sizeof(key) - 1;
	while (at < record + size && ascii_is_blank((uint8_t)*at))
		at++;
	for (; at < record + size && *at >= '0' && *at <= '9'; at++) {
		if (number >> 55 != 0)
			return false;
		number = number * 10 + (uint64_t)(*at - '0');
	}
	*ret_size = number;
	return true;
}

static void begin_record(struct unpack_tar *tar)
{
	tar->pax_size = 0;
	tar->has_length = false;
	tar->record_size = 0;
	tar->record_at = 0;
}

static void end_record(struct unpack_tar *tar)
{
	const char *record = (const char *)tar->pax;
	if (tar->is_global)
		tar->has_global_size = take_record(record, tar->pax_size, &tar->global_size) ||
				       tar->has_global_size;
	else
		tar->has_size = take_record(record, tar->pax_size, &tar->size) || tar->has_size;
	begin_record(tar);
}

/* Behind what is no record there are none. */
static void take_attribute(struct unpack_tar *tar, uint8_t byte)
{
	if (tar->pax_size < UNPACK_TAR_PAX)
		tar->pax[tar->pax_size++] = byte;
	tar->record_at++;
	if (!tar->has_length && byte >= '0' && byte <= '9')
		tar->record_size = tar->record_size * 10 + (uint64_t)(byte - '0');
	else
		tar->has_length = true;
	if (tar->record_size > ATTRIBUTES_MAX ||
	    (tar->has_length && tar->record_at > tar->record_size))
		tar->is_pax = false;
	else if (tar->has_length && tar->record_at == tar->record_size)
		end_record(tar);
}

/* ---- headers ---- */

static void put_octal(uint8_t *field, size_t size, uint64_t number)
{
	char digits[24];
	snprintf(digits, sizeof(digits), "%0*llo", (int)size - 1, (unsigned long long)number);
	memcpy(field, digits, size);
}

static bool is_one_of(uint8_t type, const char *types)
{
	return type != '\0' && strchr(types, type) != NULL;
}

/* What libarchive knows, and takes for what it is. */
static uint8_t mend_type(uint8_t type, uint64_t size)
{
	if (is_one_of(type, ABOUT) && size > ATTRIBUTES_MAX)
		return '0';
	return type >= 0x80 || (size > 0 && is_one_of(type, "346AV")) ? '0' : type;
}

/* Owners, dates and numbers of devices may be anything: they are nothing here. */
static void mend_fields(uint8_t *head, uint64_t size)
{
	static const struct {
		unsigned at;
		unsigned size;
	} fields[] = { { 100, 8 }, { 108, 8 }, { 116, 8 }, { 136, 12 }, { 329, 8 }, { 337, 8 } };
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		put_octal(head + fields[i].at, fields[i].size, 0);
	if (size <= OCTAL_MAX)
		put_octal(head + TARHEAD_SIZE_AT, SIZE_SIZE, size);
	/* Old programs have folders so, and others files all the same. */
	const size_t name_size = strnlen((const char *)head, NAME_SIZE);
	const bool is_file = is_one_of(head[TARHEAD_TYPE_AT], "07") || head[TARHEAD_TYPE_AT] == 0;
	if (is_file && size > 0 && name_size > 0 && head[name_size - 1] == '/')
		head[name_size - 1] = '_';
	put_octal(head + TARHEAD_SUM_AT, 7, tarhead_sum(head));
	head[TARHEAD_SUM_AT + 7] = ' ';
}

/* What a header says itself, or what was said for all: some programs take it where there is no other. */
static uint64_t size_of(const struct unpack_tar *tar, const uint8_t *head)
{
	uint64_t size = 0;
	if (!tarhead_number(head + TARHEAD_SIZE_AT, SIZE_SIZE, &size))
		size = 0;
	if (size == 0 && tar->has_global_size && !is_one_of(head[TARHEAD_TYPE_AT], ABOUT))
		return tar->global_size;
	return size;
}

/* has_bytes: its data follows, if it has any. */
static void take_head(struct unpack_tar *tar, uint8_t *head, bool has_bytes)
{
	const uint64_t size = has_bytes ? size_of(tar, head) : 0;
	const uint8_t type = mend_type(head[TARHEAD_TYPE_AT], size);
	const bool is_about = is_one_of(type, ABOUT);
	const uint64_t data = tar->has_size && !is_about ? tar->size : size;
	head[TARHEAD_TYPE_AT] = type;
	mend_fields(head, size);
	tar->left = (data + TARHEAD_SIZE - 1) / TARHEAD_SIZE * TARHEAD_SIZE;
	tar->is_extended = type == 'S' && head[EXTENDED_AT] != 0;
	tar->is_pax = is_one_of(type, "gxX");
	tar->is_global = type == 'g';
	begin_record(tar);
	tar->has_size = tar->has_size && is_about;
}

/* Readers differ about whether it has data. */
static bool is_doubtful(const struct unpack_tar *tar, const uint8_t *head)
{
	const bool is_odd =
		head[TARHEAD_SIZE_AT] == '\0' || is_one_of(head[TARHEAD_TYPE_AT], WITHOUT_BYTES);
	return is_odd && !tar->has_size && size_of(tar, head) > 0;
}

/* ---- blocks ---- */

static void take_data(struct unpack_tar *tar, const uint8_t *block, size_t size)
{
	tar->left -= size < tar->left ? size : tar->left;
	for (size_t i = 0; i < size && tar->is_pax; i++)
		take_attribute(tar, block[i]);
}

/* Behind the header that was held, which is told apart now. */
static uint8_t *release(struct unpack_tar *tar, uint8_t *out, bool has_bytes)
{
	if (!tar->is_held)
		return out;
	tar->is_held = false;
	memcpy(out, tar->held, TARHEAD_SIZE);
	take_head(tar, out, has_bytes);
	return out + TARHEAD_SIZE;
}

static bool is_zero(const uint8_t *block, size_t size)
{
	return block[0] == 0 && memcmp(block, block + 1, size - 1) == 0;
}

/*
 * Zeros behind a link and the like are the end of the tar, or its bytes, though no file worth a look begins so: they
 * are left out until it is known. Returns whether the block is one of them; what has other bytes behind them is told.
 */
static bool pass_zeros(struct unpack_tar *tar, struct unpack *unpack, const uint8_t *block,
		       size_t size, bool is_head)
{
	const bool may_be = tar->is_passing ||
			    (tar->is_held && is_one_of(tar->held[TARHEAD_TYPE_AT], WITHOUT_BYTES));
	const bool was_passing = tar->is_passing;
	tar->is_passing = may_be && !is_head && is_zero(block, size);
	if (was_passing && !tar->is_passing && !is_head)
		unpack_tell_of(unpack, UNPACK_DAMAGED, "");
	return tar->is_passing;
}

/* Attributes, which nothing gives: they may be the bytes of the header that is held. */
static bool hides_bytes(const struct unpack_tar *tar, const uint8_t *block)
{
	return tar->is_held && is_one_of(block[TARHEAD_TYPE_AT], ABOUT) &&
	       !is_one_of(tar->held[TARHEAD_TYPE_AT], "125");
}

static uint8_t *take_block(struct unpack_tar *tar, struct unpack *unpack, const uint8_t *block,
			   size_t size, uint8_t *out)
{
	const bool is_head = size == TARHEAD_SIZE && tar->left == 0 && !tar->is_extended &&
			     tarhead_is_right(block);
	if (is_head && hides_bytes(tar, block))
		unpack_tell_of(unpack, UNPACK_DAMAGED, "");
	const bool is_passed = pass_zeros(tar, unpack, block, size, is_head);
	out = release(tar, out, !is_head && !is_passed);
	if (is_passed)
		return out;
	if (is_head && is_doubtful(tar, block)) {
		tar->is_held = true;
		memcpy(tar->held, block, size);
		return out;
	}
	memcpy(out, block, size);
	if (is_head)
		take_head(tar, out, true);
	else if (tar->is_extended)
		tar->is_extended = size == TARHEAD_SIZE && block[MORE_AT] != 0;
	else if (tar->left > 0)
		take_data(tar, block, size);
	return out + size;
}

static size_t mend(struct unpack_tar *tar, struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	uint8_t *out = tar->bytes;
	if (size == 0)
		out = release(tar, out, false);
	while (size > 0) {
		const size_t part = size < TARHEAD_SIZE ? size : TARHEAD_SIZE;
		out = take_block(tar, unpack, bytes, part, out);
		bytes += part;
		size -= part;
	}
	return (size_t)(out - tar->bytes);
}

size_t unpack_tar_next(struct unpack_tar *tar, struct unpack *unpack, const uint8_t **ret_bytes)
{
	const uint8_t *bytes = NULL;
	size_t taken = 0;
	size_t size = 0;
	do {
		taken = unpack_feed_next(unpack, &bytes);
		size = mend(tar, unpack, bytes, taken);
	} while (size == 0 && taken > 0);
	*ret_bytes = tar->bytes;
	return size;
}
