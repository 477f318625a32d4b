/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * within.h - files in texts and in TNEF that are no parts of a mail.
 *
 * Flow: object.c: a text out of an archive, a winmail.dat in another -> within_push() ->
 *       lib/mstream/finder.h -> for each file an object again.
 *
 *     within_begin(object);
 *     within_push(object, bytes, size);
 *     within_end(object, true);
 *
 * In the texts of a mail lib/mstream finds the files itself (object.c knows those). What comes out
 * is counted against the budget, as runs of BinHex make much of little.
 */

#include "lib/mstream/finder.h"

struct object;

void within_begin(struct object *object);
/* What looks for files in from goes on in object as well. false: a file is open, or nothing looks for any. */
bool within_copy(struct object *object, const struct object *from);
void within_push(struct object *object, const uint8_t *bytes, size_t size);
void within_end(struct object *object, bool is_whole);
