/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/boxes/boxlocks.h"

#include <errno.h>
#include <search.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
	const struct boxlock *a = left;
	const struct boxlock *b = right;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return memcmp(a->name, b->name, a->size);
}

static bool has(const struct boxlock *lock, struct mailname mailbox)
{
	return lock->size == mailbox.size && memcmp(lock->name, mailbox.bytes, mailbox.size) == 0;
}

int boxlocks_take(struct boxlocks *locks, struct boxlock *lock, struct mailname mailbox)
{
	if (!mailname_is_valid(mailbox))
		return MAILSTORE_EBOX;
	if (lock->size > 0)
		return has(lock, mailbox) ? 0 : MAILSTORE_ELOCK;
	memcpy(lock->name, mailbox.bytes, mailbox.size);
	lock->size = mailbox.size;
	struct boxlock **found = tsearch(lock, &locks->tree, compare);
	if (found != NULL && *found == lock)
		return 0;
	lock->size = 0;
	return found != NULL ? -EBUSY : -ENOMEM;
}

void boxlocks_free(struct boxlocks *locks, struct boxlock *lock)
{
	if (lock->size > 0)
		tdelete(lock, &locks->tree, compare);
	lock->size = 0;
}
