/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * files.h - files within the bytes of a part: where a decoder says what it has found.
 *
 * Flow: the bytes of a text or of a TNEF part -> decoders of files in it -> the functions below ->
 *       finder.c, for which all of them look at the same bytes.
 *
 *     files->begin(context, MSTREAM_UUENCODE, "a.exe");
 *     files->data(context, bytes, size);
 *     files->end(context, true);
 *
 * One file is open at a time: each begin() has its end() before the next. A decoder has no pointer
 * of its own: what calls it gives both arguments with each call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mstream/mstream.h"

struct mstream_files {
	/* name is as the file has it, "" where it has none, and borrowed for the call. */
	void (*begin)(void *context, enum mstream_coding coding, const char *name);
	/* size > 0. */
	void (*data)(void *context, const uint8_t *bytes, size_t size);
	/*
	 * is_whole: it was not cut with the mail. A file without its end is odd, and whole: its bytes
	 * are those that a client gets.
	 */
	void (*end)(void *context, bool is_whole);
	/* Also while no file is open. */
	void (*odd)(void *context, enum mstream_oddity oddity);
};
