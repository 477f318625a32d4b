/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/addresses.h"

#include <string.h>
#include <strings.h>

#include "lib/format/ascii.h"

void addresses_begin(struct addresses *ret_addresses)
{
	memset(ret_addresses, 0, sizeof(*ret_addresses));
}

/* ---- what stands before a byte ---- */

/* Of UTF-16 what is ASCII is so without NULs. */
static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' || byte == '\0';
}

/* What may stand amid a mark: in visiting cards a backslash is before the comma. */
static bool is_passed(uint8_t byte)
{
	return is_blank(byte) || byte == '\\';
}

/* The last bytes before bytes + at that are not passed. */
static void get_tail(const struct addresses *addresses, const uint8_t *bytes, size_t at,
		     struct addresses_tail *ret_tail)
{
	const struct addresses_tail *tail = &addresses->tail;
	size_t begin = ADDRESSES_TAIL_SIZE;
	for (; at > 0 && begin > 0; at--)
		if (!is_passed(bytes[at - 1]))
			ret_tail->text[--begin] = (char)bytes[at - 1];
	const size_t there = tail->size < begin ? tail->size : begin;
	const size_t here = ADDRESSES_TAIL_SIZE - begin;
	memmove(ret_tail->text + there, ret_tail->text + begin, here);
	memset(ret_tail->depths + there, addresses->depth, here);
	memcpy(ret_tail->text, tail->text + tail->size - there, there);
	memcpy(ret_tail->depths, tail->depths + tail->size - there, there);
	ret_tail->size = (uint8_t)(there + here);
}

/* Does the word stand before bytes + at? Mostly the byte before says that it does not. */
static bool is_behind(const struct addresses *addresses, const uint8_t *bytes, size_t at,
		      const char *word, struct addresses_tail *ret_tail)
{
	const size_t size = strlen(word);
	if (at > 0 && ascii_lower(bytes[at - 1]) != (uint8_t)word[size - 1] &&
	    !is_passed(bytes[at - 1]))
		return false;
	get_tail(addresses, bytes, at, ret_tail);
	return ret_tail->size >= size &&
	       strncasecmp(ret_tail->text + ret_tail->size - size, word, size) == 0;
}

/* ---- from "data:" to a comma ---- */

/* What stands before an address says where it ends; then its type may be any. */
static void begin_address(struct addresses *addresses, const struct addresses_tail *tail)
{
	static const char marks[] = { '"', '\'', '=', '(' };
	const size_t word_size = sizeof(ADDRESSES_WORD) - 1;
	const size_t at = tail->size - word_size;
	addresses->before = at > 0 ? tail->text[at - 1] : '\0';
	addresses->before_depth = at > 0 ? tail->depths[at - 1] : 0;
	addresses->has_word = true;
	addresses->is_any = at > 0 && memchr(marks, addresses->before, sizeof(marks)) != NULL;
	addresses->is_type = true;
	addresses->has_slash = false;
	addresses->first = '\0';
}

static bool is_of_type(uint8_t byte)
{
	return ascii_is_alnum(byte) || (byte != 0 && strchr("/+.;=_-\"", byte) != NULL);
}

/* A quote ends what begins with it, and a blank or ">" what has none. */
static bool is_end(const struct addresses *addresses, uint8_t byte)
{
	const bool is_quoted = addresses->before == '"' || addresses->before == '\'';
	if (byte == '\0' || addresses->depth > addresses->before_depth)
		return false;
	return is_quoted ? byte == (uint8_t)addresses->before : byte == '>' || is_blank(byte);
}

static void take_type(struct addresses *addresses, uint8_t byte)
{
	if (is_end(addresses, byte))
		addresses->is_any = false;
	if (is_blank(byte))
		return;
	addresses->is_type = addresses->is_type && is_of_type(byte);
	addresses->has_slash = addresses->has_slash || byte == '/';
	if (addresses->first == '\0')
		addresses->first = (char)byte;
	addresses->has_word = addresses->is_any || addresses->is_type;
}

/* At a comma: "data:text/html;charset=utf-8", "data:;x=y" or "data:" is before it, or anything in quotes. */
static bool is_plain(const struct addresses *addresses)
{
	return addresses->has_word && (addresses->is_any || addresses->first == '\0' ||
				       addresses->first == ';' || addresses->has_slash);
}

/* ---- bytes ---- */

static const uint8_t *find(const uint8_t *bytes, const uint8_t *end, uint8_t byte)
{
	const uint8_t *found = memchr(bytes, byte, (size_t)(end - bytes));
	return found != NULL ? found : end;
}

/* Up to a comma, where an address has its word and its type. */
static void pass_text(struct addresses *addresses, const uint8_t *bytes, size_t from, size_t comma)
{
	struct addresses_tail tail;
	while (from < comma) {
		if (addresses->has_word) {
			take_type(addresses, bytes[from++]);
			continue;
		}
		from = (size_t)(find(bytes + from, bytes + comma, ':') - bytes);
		if (from < comma && is_behind(addresses, bytes, from, ADDRESSES_WORD, &tail))
			begin_address(addresses, &tail);
		from++;
	}
}

/* Goes on behind the next mark, or to the end. How many bytes were used. */
static size_t find_mark(struct addresses *addresses, const uint8_t *bytes, size_t size)
{
	struct addresses_tail tail;
	bool is_base64 = false;
	size_t at = 0;
	size_t comma;
	while ((comma = (size_t)(find(bytes + at, bytes + size, ',') - bytes)) < size) {
		pass_text(addresses, bytes, at, comma);
		is_base64 = is_behind(addresses, bytes, comma, DATAURI_MARK, &tail);
		if (is_base64 || is_plain(addresses))
			break;
		addresses->has_word = false;
		at = comma + 1;
	}
	if (comma == size) {
		pass_text(addresses, bytes, at, size);
		get_tail(addresses, bytes, size, &tail);
		addresses->tail = tail;
		return size;
	}
	if (!addresses->has_word) {
		addresses->before = '\0';
		addresses->before_depth = 0;
	}
	addresses->has_word = false;
	addresses->tail.size = 0;
	addresses->is_open = true;
	datauri_begin(&addresses->datauri, is_base64, addresses->before);
	return comma + 1;
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
		at += datauri_push(&addresses->datauri, bytes + at, size - at,
				   addresses->depth > addresses->before_depth, out);
		if (addresses->datauri.is_done) {
			outflow_flush(out);
			out->files->end(out->context, true);
			addresses->is_open = false;
		}
	}
}

/* ---- what a page has written in other ways ---- */

/*
 * Of a page in an attribute (srcdoc) references are undone twice; elsewhere what is undone once has few of them left. A
 * run has none but at its first byte and its last, as the first time looks at each.
 */
static void push_once(struct addresses *addresses, const uint8_t *bytes, size_t size, bool is_named,
		      struct outflow *out)
{
	const uint8_t *run;
	size_t run_size;
	size_t at = 0;
	addresses->depth = is_named;
	if (size > 0 && bytes[0] != '&' && bytes[size - 1] != '&' &&
	    !references_is_open(&addresses->twice)) {
		push_run(addresses, bytes, size, out);
		return;
	}
	while (at < size) {
		at += references_undo(&addresses->twice, bytes + at, size - at, &run, &run_size);
		addresses->depth = run == &addresses->twice.byte ? 2 : is_named;
		push_run(addresses, run, run_size, out);
	}
}

static void push_text(struct addresses *addresses, const uint8_t *bytes, size_t size,
		      struct outflow *out)
{
	const uint8_t *run;
	size_t run_size;
	for (size_t at = 0; at < size;) {
		at += references_undo(&addresses->once, bytes + at, size - at, &run, &run_size);
		push_once(addresses, run, run_size, run == &addresses->once.byte, out);
	}
}

static void end_text(struct addresses *addresses, struct outflow *out)
{
	const uint8_t *run;
	size_t run_size;
	references_end(&addresses->once, &run, &run_size);
	push_once(addresses, run, run_size, run == &addresses->once.byte, out);
	references_end(&addresses->twice, &run, &run_size);
	addresses->depth = run == &addresses->twice.byte ? 2 : 0;
	push_run(addresses, run, run_size, out);
}

#define ESCAPE 0x1b

/* What began as an escape and is none is what it is. */
static void end_escape(struct addresses *addresses, struct outflow *out)
{
	const uint8_t bytes[] = { ESCAPE, addresses->escape };
	const size_t size = addresses->escape == 0 ? 0 : addresses->escape == ESCAPE ? 1 : 2;
	addresses->escape = 0;
	push_text(addresses, bytes, size, out);
}

/* ISO-2022-JP chooses its letters by "ESC ( B" and the like, which no reader sees. false: the byte is none of it. */
static bool take_escape(struct addresses *addresses, uint8_t byte)
{
	const bool is_second = addresses->escape == ESCAPE;
	if (byte == '\0' || strchr(is_second ? "($" : "@BIJ", byte) == NULL)
		return false;
	addresses->escape = is_second ? byte : 0;
	return true;
}

static void push_bytes(struct addresses *addresses, const uint8_t *bytes, size_t size,
		       struct outflow *out)
{
	const uint8_t *end = bytes + size;
	while (bytes < end) {
		if (addresses->escape == 0) {
			const uint8_t *mark = find(bytes, end, ESCAPE);
			push_text(addresses, bytes, (size_t)(mark - bytes), out);
			addresses->escape = mark < end ? ESCAPE : 0;
			bytes = mark < end ? mark + 1 : end;
		} else if (take_escape(addresses, *bytes)) {
			bytes++;
		} else {
			end_escape(addresses, out);
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
	push_bytes(addresses, bytes, size, &out);
	outflow_flush(&out);
}

void addresses_end(struct addresses *addresses, bool is_whole, const struct mstream_files *files,
		   void *context)
{
	struct outflow out;
	out.files = files;
	out.context = context;
	out.size = 0;
	end_escape(addresses, &out);
	end_text(addresses, &out);
	outflow_flush(&out);
	if (addresses->is_open)
		files->end(context, is_whole);
	addresses_begin(addresses);
}
