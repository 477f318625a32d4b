/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * zonefile.h - a store's zone as a master file, RFC 1035 section 5.
 *
 * Flow: dump.c -> lib/lmdb/reader.h -> text that kzonecheck, named-checkzone and name servers
 *       read. libknot writes the text.
 */

#include "lib/lmdb/reader.h"

#include <stdio.h>

/*
 * Every record in canonical order, the SOA first, one a line. Between
 * reader_begin() and reader_end(). -errno when the stream fails.
 */
int zonefile_print(struct reader *reader, FILE *stream);
