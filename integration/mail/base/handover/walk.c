/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/handover/walk.h"

#include <string.h>

#include "integration/mail/base/handover/seal.h"
#include "lib/format/bytes.h"

static bool has_room(struct walk *walk, size_t size)
{
	if (walk->out == NULL && size > walk->size - walk->at)
		walk->has_failed = true;
	return !walk->has_failed;
}

uint64_t walk_number(struct walk *walk, unsigned size, uint64_t value)
{
	if (!has_room(walk, size))
		return 0;
	if (walk->out != NULL)
		seal_put_number(walk->out + walk->at, size, value);
	else
		value = bytes_get(walk->in + walk->at, size);
	walk->at += size;
	return value;
}

bool walk_flag(struct walk *walk, bool value)
{
	const uint64_t found = walk_number(walk, 1, value ? 1 : 0);
	if (found > 1)
		walk->has_failed = true;
	return found == 1;
}

void walk_bytes(struct walk *walk, void *bytes, size_t size)
{
	if (!has_room(walk, size))
		return;
	if (walk->out != NULL)
		memcpy(walk->out + walk->at, bytes, size);
	else
		memcpy(bytes, walk->in + walk->at, size);
	walk->at += size;
}

size_t walk_sized(struct walk *walk, void *bytes, size_t size, size_t room)
{
	size = (size_t)walk_number(walk, 2, size);
	if (size > room)
		walk->has_failed = true;
	if (!walk->has_failed)
		walk_bytes(walk, bytes, size);
	return walk->has_failed ? 0 : size;
}

void walk_text(struct walk *walk, char *text, size_t room)
{
	const size_t size = walk_sized(walk, text, strnlen(text, room - 1), room - 1);
	if (strlen(text) != size)
		walk->has_failed = true;
}
