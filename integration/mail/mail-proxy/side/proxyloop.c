/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-proxy/side/proxyloop.h"

#include <stdlib.h>

#include "lib/common/log.h"

#define LINES_MAX 10 /* in a second */

void *proxyloop_take_block(struct proxyloop *loop)
{
	struct proxyloop_spare *spare = loop->spare;
	void *block = spare;
	if (spare != NULL) {
		loop->spare = spare->next;
		loop->spare_count--;
	} else {
		block = malloc(PROXYLOOP_BLOCK_SIZE);
	}
	if (block != NULL)
		loop->block_count++;
	return block;
}

void proxyloop_give_block(struct proxyloop *loop, void *block)
{
	struct proxyloop_spare *spare = block;
	if (block == NULL)
		return;
	loop->block_count--;
	if (loop->spare_count == PROXYLOOP_SPARE_MAX) {
		free(block);
		return;
	}
	spare->next = loop->spare;
	loop->spare = spare;
	loop->spare_count++;
}

void proxyloop_free_blocks(struct proxyloop *loop)
{
	while (loop->spare != NULL) {
		struct proxyloop_spare *spare = loop->spare;
		loop->spare = spare->next;
		free(spare);
	}
	loop->spare_count = 0;
}

bool proxyloop_may_log(const struct proxyloop *loop, struct ration *ration)
{
	return ration_take(ration, proxyloop_now(loop), LINES_MAX);
}

void proxyloop_tell_left_out(struct proxyloop *loop, uint64_t now_ms)
{
	const unsigned refusals = ration_settle(&loop->refusals, now_ms);
	const unsigned failures = ration_settle(&loop->failures, now_ms);
	if (refusals + failures > 0)
		log_info("mail-proxy", "lines left out, process=%u refusals=%u failures=%u",
			 loop->index, refusals, failures);
}
