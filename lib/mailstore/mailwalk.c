/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailwalk.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/format/array.h"

int mailwalk_add(struct mailwalk *walk, const struct mailwalk_segment *segment)
{
	if (!array_reserve(walk->segments, walk->count + 1, &walk->room))
		return -ENOMEM;
	walk->segments[walk->count++] = *segment;
	return 0;
}

static bool is_before(const struct mailwalk *walk, size_t one, size_t other)
{
	return walk->segments[one].cursor.record.lsn < walk->segments[other].cursor.record.lsn;
}

static void sink(struct mailwalk *walk, size_t at)
{
	for (;;) {
		size_t least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < walk->count && is_before(walk, child, least))
				least = child;
		if (least == at)
			return;
		struct mailwalk_segment moved = walk->segments[at];
		walk->segments[at] = walk->segments[least];
		walk->segments[least] = moved;
		at = least;
	}
}

/* Moves a segment on; one that has no more leaves, and the last takes its place. */
static int advance(struct mailwalk *walk, size_t at)
{
	int ret = maillog_next(walk->log, &walk->segments[at].cursor);
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	walk->segments[at] = walk->segments[--walk->count];
	return DNSBLV6_ENOTFOUND;
}

static int begin(struct mailwalk *walk)
{
	for (size_t i = 0; i < walk->count;) {
		int ret = advance(walk, i);
		if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
			return ret;
		i += ret == 0;
	}
	for (size_t i = walk->count / 2; i > 0; i--)
		sink(walk, i - 1);
	walk->has_begun = true;
	return 0;
}

int mailwalk_next(struct mailwalk *walk, const struct mailwalk_segment **ret_segment)
{
	int ret = 0;
	if (!walk->has_begun) {
		ret = begin(walk);
	} else if (walk->count > 0) {
		ret = advance(walk, 0);
		sink(walk, 0);
	}
	if (ret != 0 && ret != DNSBLV6_ENOTFOUND)
		return ret;
	if (walk->count == 0)
		return DNSBLV6_ENOTFOUND;
	*ret_segment = &walk->segments[0];
	return 0;
}

void mailwalk_free(struct mailwalk *walk)
{
	free(walk->segments);
	*walk = (struct mailwalk){ 0 };
}
