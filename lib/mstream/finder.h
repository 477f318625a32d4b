/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * finder.h - all files within the bytes of a text or of a TNEF.
 *
 * Flow: leaf.c with the parts of a mail, lib/inspect/within.c with any other text -> finder_push() ->
 *       embedded.h, addresses.h, inlined.h and quoted.h, or tnef.h -> the functions below.
 *
 *     finder_begin(&finder, false);
 *     finder_push(&finder, bytes, size, &files, context);
 *     finder_end(&finder, true, &files, context);
 *
 * Up to four files of a text are open at a time, as an address may stand within the lines of another file.
 * A plain value; no function here allocates or logs, or keeps a pointer but those that begin() gave.
 */

#include "lib/mstream/addresses.h"
#include "lib/mstream/embedded.h"
#include "lib/mstream/inlined.h"
#include "lib/mstream/quoted.h"
#include "lib/mstream/tnef.h"

struct finder_files {
	/* The file, for the calls below; NULL: it is not wanted. name is as files.h has it. */
	void *(*begin)(void *context, enum mstream_coding coding, const char *name);
	/* size > 0. false: no more of it is wanted, and it ends here, not whole. */
	bool (*data)(void *context, void *file, const uint8_t *bytes, size_t size);
	void (*end)(void *context, void *file, bool is_whole);
	/* Also while no file is open. */
	void (*odd)(void *context, enum mstream_oddity oddity);
};

struct finder {
	/* All is finder.c's own. */
	bool is_tnef;
	void *embedded; /* the file of each that is open */
	void *address;
	void *value;
	void *string;
	struct addresses addresses;
	struct inlined inlined;
	struct quoted quoted;
	union {
		struct embedded embedded;
		struct tnef tnef;
	} of;
};

void finder_begin(struct finder *ret_finder, bool is_tnef);
/* Before any bytes: a header says that the text is uuencode. */
void finder_expect(struct finder *finder);
/* Is a file open, so that it cannot be copied? */
bool finder_is_open(const struct finder *finder);
void finder_push(struct finder *finder, const uint8_t *bytes, size_t size,
		 const struct finder_files *files, void *context);
/* is_whole: the text or the TNEF is; otherwise what is open was cut with it. */
void finder_end(struct finder *finder, bool is_whole, const struct finder_files *files,
		void *context);
