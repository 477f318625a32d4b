/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * proxyloop.h - what a process of mail-proxy has beside its connections.
 *
 * Flow: proxyworker.c makes it -> each struct pair has a pointer to it.
 *
 * Blocks are the memory of buffers: of one size, taken when there is something to keep and given
 * back when it has gone. Some that are not needed are kept for the next.
 *
 * Lines of the log that strangers can cause at will, without a session, are so many in a second; those about
 * what fails on our side have as many of their own. How many are left out is told.
 *
 * For the one thread of its process.
 */

#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "integration/mail/base/loop/limits.h"
#include "integration/mail/base/loop/wheel.h"
#include "integration/mail/base/scan/scanner.h"
#include "integration/mail/base/tls/tls.h"
#include "integration/mail/mail-proxy/facts/proxycount.h"
#include "integration/mail/mail-proxy/setup/proxysetup.h"
#include "lib/process/ration.h"

#define PROXYLOOP_BLOCK_SIZE 16384 /* a record of TLS at its largest */
#define PROXYLOOP_SPARE_MAX  64	   /* blocks that are kept */

struct pair;
TAILQ_HEAD(pair_list, pair);

struct proxyloop_spare {
	struct proxyloop_spare *next;
};

struct proxyloop {
	uv_loop_t loop;
	const struct proxysetup *setup;
	struct scanner *scanner; /* NULL: nothing is scanned */
	struct tls_context *tls; /* NULL: there is no certificate */
	struct limits *limits;
	struct wheel wheel;	 /* of sessions */
	struct wheel scan_wheel; /* of their scans */
	uint64_t *counters;	 /* of proxycount.h */
	void *shared;		 /* of all processes of a generation: popfound.h; or NULL */
	struct pair_list pairs;
	struct pair_list again; /* those that are to have another turn without an event */
	unsigned pair_count;
	unsigned pair_max;
	unsigned index; /* of the process */
	uint64_t next_id;
	struct ration refusals; /* lines of clients that are turned away */
	struct ration
		failures; /* of next hops that are not reached, and of connections that are dropped */
	bool is_draining;
	struct proxyloop_spare *spare;
	unsigned spare_count;
	unsigned block_count;		       /* in use */
	uint8_t scratch[PROXYLOOP_BLOCK_SIZE]; /* of a turn, for whatever needs room meanwhile */
};

/* Of PROXYLOOP_BLOCK_SIZE bytes; NULL: no memory. */
void *proxyloop_take_block(struct proxyloop *loop);
/* Takes NULL. */
void proxyloop_give_block(struct proxyloop *loop, void *block);
void proxyloop_free_blocks(struct proxyloop *loop);

/* May another of these lines be written? */
bool proxyloop_may_log(const struct proxyloop *loop, struct ration *ration);
/* Says how many were left out: now and then with proxyloop_now(); at the end, with UINT64_MAX, no second is awaited. */
void proxyloop_tell_left_out(struct proxyloop *loop, uint64_t now_ms);

static inline uint64_t proxyloop_now(const struct proxyloop *loop)
{
	return uv_now(&loop->loop);
}

static inline void proxyloop_count(const struct proxyloop *loop, enum proxycount_number number,
				   uint64_t value)
{
	bank_add(loop->counters, (unsigned)number, value);
}
