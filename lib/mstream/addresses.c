/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/addresses.h"

#include <string.h>
#include <strings.h>

#include "lib/format/ascii.h"

void addresses_begin(struct addresses *ret_addresses)
{
	memset(ret_addresses, 0, sizeof(*ret_addresses));
}

/* ---- what stands before a comma ---- */

/* Of UTF-16 what is ASCII is so without NULs. */
static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' || byte == '\0';
}

/* The last bytes before bytes + at that are no blanks, room at most, and a NUL; returns how many. */
static size_t get_before(const struct addresses *addresses, const uint8_t *bytes, size_t at,
			 size_t room, char *ret_before)
{
	size_t begin = room;
	for (; at > 0 && begin > 0; at--)
		if (!is_blank(bytes[at - 1]))
			ret_before[--begin] = (char)bytes[at - 1];
	const size_t there = addresses->tail_size < begin ? addresses->tail_size : begin;
	const size_t here = room - begin;
	memmove(ret_before + there, ret_before + begin, here);
	memcpy(ret_before, addresses->tail + addresses->tail_size - there, there);
	ret_before[there + here] = '\0';
	return there + here;
}

/* Does the mark stand before the comma at bytes + at? Of most commas the byte before says that it does not. */
static bool is_marked(const struct addresses *addresses, const uint8_t *bytes, size_t at)
{
	char last[sizeof(DATAURI_MARK)];
	const size_t mark_size = sizeof(last) - 1;
	if (at > 0 && bytes[at - 1] != DATAURI_MARK[mark_size - 1] && !is_blank(bytes[at - 1]))
		return false;
	return get_before(addresses, bytes, at, mark_size, last) == mark_size &&
	       strncasecmp(last, DATAURI_MARK, mark_size) == 0;
}

/* The last byte before that is no blank; 0: there is none. Goes back by it. */
static uint8_t step_back(const struct addresses *addresses, const uint8_t *bytes, size_t *at,
			 size_t *tail)
{
	while (*at > 0)
		if (!is_blank(bytes[--*at]))
			return bytes[*at];
	return *tail > 0 ? (uint8_t)addresses->tail[--*tail] : 0;
}

static bool is_of_type(uint8_t byte)
{
	return ascii_is_alnum(byte) || (byte != 0 && strchr("/+.;=_-\"", byte) != NULL);
}

/* The same of an address without base64: "data:text/html;charset=utf-8", "data:;x=y", "data:". */
static bool is_marked_plain(const struct addresses *addresses, const uint8_t *bytes, size_t at)
{
	static const char word[] = "atad";
	size_t tail = addresses->tail_size;
	bool has_type = false;
	uint8_t first = 0;
	uint8_t byte;
	unsigned count = sizeof(word);
	while (is_of_type(byte = step_back(addresses, bytes, &at, &tail))) {
		if (++count == ADDRESSES_TAIL_SIZE)
			return false;
		has_type = has_type || byte == '/';
		first = byte;
	}
	if (byte != ':' || (first != 0 && first != ';' && !has_type))
		return false;
	for (unsigned i = 0; i < sizeof(word) - 1; i++)
		if ((step_back(addresses, bytes, &at, &tail) | 0x20) != word[i])
			return false;
	return true;
}

/* What stands before the address; '\0': it is not known. */
static char find_before(const char *before, size_t size)
{
	for (size_t at = size; at > 0; at--) {
		if (strncasecmp(before + at - 1, "data:", 5) == 0)
			return at > 1 ? before[at - 2] : '\0';
	}
	return '\0';
}

/* ---- bytes ---- */

/* Goes on behind the next mark, or to the end. How many bytes were used. */
static size_t find_mark(struct addresses *addresses, const uint8_t *bytes, size_t size)
{
	char before[ADDRESSES_TAIL_SIZE + 1];
	const uint8_t *comma = bytes;
	const uint8_t *behind = NULL; /* the last comma */
	bool is_base64 = false;
	while ((comma = memchr(comma, ',', size - (size_t)(comma - bytes))) != NULL) {
		is_base64 = is_marked(addresses, bytes, (size_t)(comma - bytes));
		/* No address reaches over a comma, so that most of them are passed. */
		const bool may_be =
			behind == NULL || memchr(behind, ':', (size_t)(comma - behind)) != NULL;
		if (is_base64 ||
		    (may_be && is_marked_plain(addresses, bytes, (size_t)(comma - bytes))))
			break;
		behind = ++comma;
	}
	const size_t at = comma != NULL ? (size_t)(comma - bytes) : size;
	const size_t before_size = get_before(addresses, bytes, at, ADDRESSES_TAIL_SIZE, before);
	if (comma == NULL) {
		memcpy(addresses->tail, before, before_size);
		addresses->tail_size = (uint8_t)before_size;
		return size;
	}
	addresses->tail_size = 0;
	addresses->is_open = true;
	datauri_begin(&addresses->datauri, is_base64, find_before(before, before_size));
	return at + 1;
}

/* Bytes with references undone: as an address has them. */
static void push_run(struct addresses *addresses, const uint8_t *bytes, size_t size,
		     struct outflow *out)
{
	size_t at = 0;
	while (at < size) {
		if (!addresses->is_open) {
			at += find_mark(addresses, bytes + at, size - at);
			if (addresses->is_open)
				out->files->begin(out->context,
						  addresses->datauri.is_base64 ? MSTREAM_BASE64
									       : MSTREAM_PERCENT,
						  "");
			continue;
		}
		at += datauri_push(&addresses->datauri, bytes + at, size - at, out);
		if (addresses->datauri.is_done) {
			outflow_flush(out);
			out->files->end(out->context, true);
			addresses->is_open = false;
		}
	}
}

void addresses_push(struct addresses *addresses, const uint8_t *bytes, size_t size,
		    const struct mstream_files *files, void *context)
{
	struct outflow out;
	out.files = files;
	out.context = context;
	out.size = 0;
	for (size_t at = 0; at < size;) {
		const uint8_t *run;
		size_t run_size;
		at += references_undo(&addresses->references, bytes + at, size - at, &run,
				      &run_size);
		push_run(addresses, run, run_size, &out);
	}
	outflow_flush(&out);
}

void addresses_end(struct addresses *addresses, bool is_whole, const struct mstream_files *files,
		   void *context)
{
	const uint8_t *run;
	size_t run_size;
	struct outflow out;
	out.files = files;
	out.context = context;
	out.size = 0;
	references_end(&addresses->references, &run, &run_size);
	push_run(addresses, run, run_size, &out);
	outflow_flush(&out);
	if (addresses->is_open)
		files->end(context, is_whole);
	addresses_begin(addresses);
}
