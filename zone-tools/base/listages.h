/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listages.h - the files of a zone's lists, and when each was written, as a store keeps them.
 *
 * Flow: sources.c notes each file that it reads -> lists_time.c puts the row into the store,
 *       whose format is FORMAT.md's (4.6).
 *
 * A row of struct dnsblv6_list_file, the oldest first. Where there is no room for all, the youngest are left out:
 * a feed that has ended is among the oldest. Files are told apart by their names alone, since a store that others
 * read is not to tell where they are; of two with one name the older counts.
 */

#include "lib/format/record.h"

#ifdef __cplusplus
extern "C" {
#endif

struct listages {
	uint8_t bytes[DNSBLV6_LIST_FILES_MAX];
	size_t size;
};

/* Takes listages that are all zero. A file of the time 0 has none. */
void listages_note(struct listages *ages, const char *path, uint64_t written_s);

#ifdef __cplusplus
}
#endif
