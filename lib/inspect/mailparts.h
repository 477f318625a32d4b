/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * mailparts.h - what comes out of a mail.
 *
 * Flow: object.c: an object that is a mail -> mailparts_begin() -> lib/mstream/mstream.h -> for each part an object,
 *       and a finding for what is odd.
 *
 *     mailparts_begin(object);
 *
 * The slot of the object is that of lib/mstream, whose bytes are pushed by object.c.
 */

struct object;

void mailparts_begin(struct object *mail);
