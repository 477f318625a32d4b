/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * leaf.h - the body of a part that is no multipart, decoded.
 *
 * Flow: readings.c knows what a body is -> leaf_add(); partreader.c has bytes of it -> leaf_data()
 *       -> coding.c -> the events, what finds files in it (embedded.h, addresses.h), and the entities
 *       that read a mail in it; a delimiter, or the end -> leaf_end().
 *
 *     leaf_add(mail, entity, "image/png", MSTREAM_BASE64);
 *     leaf_data(mail, entity, bytes, size);
 *     leaf_end(mail, entity, true);
 *
 * A leaf has a stream for each way to decode it: one, or one for each coding that is said of it, and
 * others from where its bytes are such that readers differ (coding.h).
 *
 * All of it is the mail's. No function here allocates or logs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mstream/read/mstream_state.h"

/* Of entity.head's name, and of this type: once for each coding at most. Returns the stream's number. */
unsigned leaf_add(struct mstream *mail, struct entity *entity, const char *type,
		  enum mstream_coding coding);
void leaf_data(struct mstream *mail, struct entity *entity, const uint8_t *bytes, size_t size);
/* is_whole: the mail has not broken off in it. */
void leaf_end(struct mstream *mail, struct entity *entity, bool is_whole);
/* For a reader that would have ended here: what stream has had until now is a part. */
void leaf_end_early(struct mstream *mail, struct entity *entity, unsigned stream);
