/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * client_parts.h - the inside of a handle, for client*.c and reason.c alone; client_try_options() is
 *                  for programs of this tree, too.
 *
 * client.c has the lock, forks, and waiting for an answer; client_loop.c is for
 * event loops; client_info.c tells about zones, reason.c why an address is refused.
 *
 * Everything behind engine is read and written with the lock held. The lock is held while the
 * engine works, and never while a thread waits: one thread, the driver, waits for descriptors
 * without it, all others wait for the condition. Lines for the log and callbacks of the
 * caller are kept until the lock is given back.
 *
 * An event loop of the program may wait beside them, for the engine's descriptor. What one of
 * these finds another may wait for, and a reply that is read wakes none of the rest any more. So
 * a thread that works for the others says so: by the condition; to the driver, when what it
 * waits for is done; and to the loop, when a callback is ready or something is due before
 * the loop comes by itself.
 */

#include "client-lib/engine/engine.h"
#include "client-lib/base/queue.h"

#include <pthread.h>
#include <sys/types.h>

#define CLIENT_LINES_MAX  256  /* kept for the log; what is more is dropped */
#define CLIENT_SERVERS_MS 1000 /* from one look at resolv.conf to the next */

/* A request of dnsblv6_submit(). */
struct call {
	TAILQ_ENTRY(call) link;
	struct dnsblv6 *client;
	uint64_t id;
	int64_t began_us;
	dnsblv6_fn callback;
	void *context;
	struct dnsblv6_result result;
};
TAILQ_HEAD(call_list, call);

struct line {
	TAILQ_ENTRY(line) link;
	int level;
	char *text; /* behind the struct */
};
TAILQ_HEAD(line_list, line);

/* Is it there, what a call waits for? */
typedef bool (*client_done_fn)(const void *what);

struct dnsblv6 {
	struct config config;
	char error[CONFIG_ERROR_MAX];
	dnsblv6_log_fn log;
	void *log_context;

	struct engine *engine; /* NULL: not started */
	pid_t *owner; /* whose it is; atomic. Negative: that child makes it its own; 0: none yet has */
	bool is_taken; /* not half made its owner's own */
	uint64_t hits; /* answered by the cache alone; atomic */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	int cancel_state;	       /* of the thread that has the lock, as its caller had it */
	client_done_fn is_driver_done; /* NULL: there is no driver */
	const void *driver_waits_for;
	bool is_processing; /* in dnsblv6_process(): it need not be woken */
	int64_t loop_ms;    /* when the loop comes by itself, as it was told; INT64_MAX: never */
	int64_t servers_ms; /* resolv.conf is not looked at before */
	bool is_broken;	    /* a child without descriptors: the cache is all it has */
	struct call_list open;
	struct call_list ready; /* their callbacks come with dnsblv6_process() */
	struct line_list lines;
	unsigned line_count;
};

/*
 * Would dnsblv6_start() refuse the options, one beside another? -EINVAL, and dnsblv6_error() says why,
 * or -ENOMEM. Nothing is opened but resolv.conf; how many sockets there may be is left to the start.
 */
int client_try_options(struct dnsblv6 *client);

int64_t client_now_us(void);
int64_t client_now_ms(void);
/*
 * Makes the handle this process's own, and takes the lock. A thread that was cancelled with it would
 * keep it for ever, and one that waits has its request on its stack: pthread_cancel(3) has to wait.
 */
void client_enter(struct dnsblv6 *client);
/* Gives the lock back, and then says what there is to say. */
void client_leave(struct dnsblv6 *client);

/* Waits for is_done(what), to the deadline. With the lock, which others get meanwhile. */
void client_wait(struct dnsblv6 *client, client_done_fn is_done, const void *what,
		 int64_t deadline_ms);
/*
 * After whatever may have asked: the time that the loop was told may be too late for it. Not for
 * dnsblv6_process(), behind which the loop asks for the time.
 */
void client_wake_loop(struct dnsblv6 *client);
/* Before the engine asks: it may have to ask other servers than it did. */
void client_look_for_servers(struct dnsblv6 *client, int64_t now_ms);
/* The engine works, and every thread that waits looks again. */
void client_process(struct dnsblv6 *client);

/*
 * What a caller asks about by name, when the handle can be asked so: -EINVAL when it is not
 * started, for what is no name, and when zones has nothing that is asked about names.
 */
int client_parse_name(const struct dnsblv6 *client, const char *name, uint64_t zones,
		      struct topic *ret_topic);

/* The result when nothing can be asked: what is not cached has failed. */
void client_fill(const struct dnsblv6 *client, const struct topic *topic, uint64_t entries,
		 struct dnsblv6_result *ret_result);

bool client_is_timeout(int timeout_ms);
