/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * clients.h - the processes that are connected to the store, and what they are told.
 *
 * Flow: storelink.h of a client -> a packet -> requests.h -> a reply, behind commit.h where something
 *       was appended. Of a layer that blocks: a packet -> jobs.h -> requests.h in a thread -> a reply.
 *       Of the module of a node: nodeclients.h.
 *
 * No client holds up another. One that has CLIENTS_OPEN_MAX requests without a reply is read no
 * further; one that does not take its replies, or says what cannot be read, is cut off. A client
 * that ends while its mail waits for a commit may find that mail delivered. One that ends while it has
 * a mailbox locked frees it, when what it has appended is committed. The mode of the socket
 * says which processes may connect; this asks for nothing else.
 *
 * A layer that blocks has its clients apart: each has one of its own, made when it asks for something
 * first, and closed in a thread, which frees its lock. Its requests run in threads; deliveries, and
 * deletions of one that has no lock, many at a time, all others in order. One that has waited for a
 * thread for 20 seconds is answered -ETIMEDOUT, and -EAGAIN when 64 MiB of them wait.
 *
 * A handle with memory of its own. clients_close() closes what libuv holds; the loop has to run until
 * it ends by itself before clients_free().
 */

#include "integration/common/report.h"
#include "integration/mail/mail-stored/store/clients_start.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clients;

/* All is borrowed but as said. 0 or a negative error; then the loop has to run once more, too. */
int clients_open(uv_loop_t *loop, const struct clients_start *start, struct clients **ret_clients);
/*
 * No new ones; what was appended is committed and answered, and what is in a thread ends there; then
 * all are cut off. Takes NULL.
 */
void clients_close(struct clients *clients);
void clients_free(struct clients *clients);
/* The counters, and count gauges of the caller, which are borrowed as upkeep.h says. */
void clients_report(const struct clients *clients, const struct counts_label *gauges,
		    const uint64_t *values, size_t count, struct report *ret_report);

struct clients_work {
	unsigned clients;
	unsigned running; /* in threads, of layers, as the next */
	unsigned waiting; /* for one */
};
struct clients_work clients_measure(const struct clients *clients);

#ifdef __cplusplus
}
#endif
