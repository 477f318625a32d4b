/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mstream/quoted.h"

#include <string.h>

#include "lib/format/hex.h"

#define MARK_MAX 6

/* As base64 has them. None begins with another. */
static const char *const marks[] = {
	"TVqQAA", "TVpQAA", "TVoAAA", "TVpBUl",
	"TVroAA",				/* programs, and code that is loaded as one */
	"TAAAAA",				/* a link of Windows */
	"UEsDB",				/* zip */
	"UmFyIR",				/* rar */
	"N3q8ry",				/* 7z */
	"TVNDRg",				/* cab */
	"H4sIA",  "H4sIC",			/* gzip */
	"/Td6WF",				/* xz */
	"0M8R4K",				/* a compound file */
	"JVBERi",				/* PDF */
	"e1xydG",				/* RTF */
	"PCFET0", "PCFkb2", "PGh0bW", "PHNjcm", /* <!DOCTYPE, <html, <script */
};

void quoted_begin(struct quoted *ret_quoted)
{
	memset(ret_quoted, 0, sizeof(*ret_quoted));
}

enum role {
	ROLE_NONE,
	ROLE_BEGIN, /* a quote, or the end of a tag or of what CDATA begins with */
	ROLE_BLANK, /* of UTF-16 what is ASCII is so without NULs */
	ROLE_FIRST, /* of a mark */
};

static const uint8_t roles[256] = {
	['"'] = ROLE_BEGIN,  ['\''] = ROLE_BEGIN, ['`'] = ROLE_BEGIN,  ['>'] = ROLE_BEGIN,
	['['] = ROLE_BEGIN,  ['\0'] = ROLE_BLANK, ['\t'] = ROLE_BLANK, ['\n'] = ROLE_BLANK,
	['\r'] = ROLE_BLANK, [' '] = ROLE_BLANK,  ['/'] = ROLE_FIRST,  ['0'] = ROLE_FIRST,
	['H'] = ROLE_FIRST,  ['J'] = ROLE_FIRST,  ['N'] = ROLE_FIRST,  ['P'] = ROLE_FIRST,
	['T'] = ROLE_FIRST,  ['U'] = ROLE_FIRST,  ['e'] = ROLE_FIRST,
};

/* Mostly what stands behind a quote says that it is none of interest. */
static size_t find_begin(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	for (; at < size; at++)
		if (roles[bytes[at]] == ROLE_BEGIN &&
		    (at + 1 == size || roles[bytes[at + 1]] != ROLE_NONE))
			break;
	return at;
}

/*
 * Is one of them what is kept, as far as that goes? Behind a whole one it stays so, and most are told by their first
 * byte: a text that has begins of them everywhere costs little more than another.
 */
static bool is_mark(const struct quoted *quoted)
{
	if (quoted->mark_size > MARK_MAX)
		return true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (marks[i][0] != quoted->of.mark[0])
			continue;
		const size_t size = strlen(marks[i]);
		const size_t some = size < quoted->mark_size ? size : quoted->mark_size;
		if (memcmp(marks[i], quoted->of.mark, some) == 0)
			return true;
	}
	return false;
}

static void begin_file(struct quoted *quoted, struct outflow *out)
{
	quoted->is_open = true;
	out->files->begin(out->context, MSTREAM_BASE64, "");
	datauri_begin(&quoted->datauri, true, quoted->before);
	datauri_push(&quoted->datauri, (const uint8_t *)quoted->of.mark, quoted->mark_size, false,
		     out);
	memset(&quoted->of.references, 0, sizeof(quoted->of.references));
}

/* A byte behind a quote: of a mark, or not. */
static void take_mark(struct quoted *quoted, uint8_t byte, struct outflow *out)
{
	if (roles[byte] == ROLE_BEGIN) {
		quoted->before = (char)byte;
		quoted->mark_size = 0;
		return;
	}
	if (byte == '\0' || (quoted->mark_size == 0 && roles[byte] == ROLE_BLANK))
		return;
	const bool is_none = quoted->mark_size == 0 && roles[byte] != ROLE_FIRST;
	quoted->of.mark[quoted->mark_size++] = (char)byte;
	quoted->is_begun = !is_none && base64_value((char)byte) >= 0 && is_mark(quoted);
	if (!quoted->is_begun || quoted->mark_size < QUOTED_MARK_SIZE)
		return;
	quoted->is_begun = false;
	begin_file(quoted, out);
}

static void end_file(struct quoted *quoted, struct outflow *out)
{
	outflow_flush(out);
	out->files->end(out->context, true);
	quoted->is_open = false;
}

/* In an element many programs write the CR of each line as "&#13;". */
static size_t push_file(struct quoted *quoted, const uint8_t *bytes, size_t size,
			struct outflow *out)
{
	const uint8_t *run = bytes;
	size_t run_size = size;
	size_t used = size;
	if (quoted->before == '>')
		used = references_undo(&quoted->of.references, bytes, size, &run, &run_size);
	const size_t taken = datauri_push(&quoted->datauri, run, run_size,
					  run == &quoted->of.references.byte, out);
	if (!quoted->datauri.is_done)
		return used;
	end_file(quoted, out);
	/* What is not among the bytes is no more than a reference, in which nothing begins. */
	return run == bytes ? taken : used;
}

void quoted_push(struct quoted *quoted, const uint8_t *bytes, size_t size,
		 const struct mstream_files *files, void *context)
{
	struct outflow out;
	out.files = files;
	out.context = context;
	out.size = 0;
	for (size_t at = 0; at < size;) {
		if (quoted->is_open) {
			at += push_file(quoted, bytes + at, size - at, &out);
		} else if (quoted->is_begun) {
			take_mark(quoted, bytes[at++], &out);
		} else {
			at += find_begin(bytes + at, size - at);
			quoted->is_begun = at < size;
			quoted->mark_size = 0;
		}
	}
	outflow_flush(&out);
}

void quoted_end(struct quoted *quoted, bool is_whole, const struct mstream_files *files,
		void *context)
{
	if (quoted->is_open)
		files->end(context, is_whole);
	quoted_begin(quoted);
}
