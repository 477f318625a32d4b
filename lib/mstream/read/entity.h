/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * entity.h - what an entity comes to next: a header, or a body.
 *
 * Flow: mstream_mail.c has a new one, partreader.c is behind a delimiter, readings.c knows what a
 *       body is -> the functions below -> partreader.c, for the lines that follow.
 *
 *     entity_init(entity, view);
 *     entity_begin_header(entity, false);
 *
 * All of it is the entity's. No function here keeps a pointer, allocates or logs.
 */

#include <stdbool.h>

#include "lib/mstream/read/mstream_state.h"

/* In no multipart, with nothing open; what comes next is not said. */
void entity_init(struct entity *entity, unsigned view);
/* Both are at the start of a line. is_digest: as mimehead_begin() has it. */
void entity_begin_header(struct entity *entity, bool is_digest);
void entity_begin_body(struct entity *entity);
