/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * uvhandle.h - a handle of libdnsblv6 in a loop of libuv.
 *
 * Flow: a program is asked something -> dnsblv6_submit() -> the loop waits for the handle's
 *       descriptor and time -> dnsblv6_process() -> the callback of the request.
 *
 * The order of a round: whatever events have submitted goes out in one go before the loop
 * waits, and callbacks are called then too.
 *
 * Lies in the memory of its owner. Between uvhandle_close() and its end the loop has to run once.
 */

#include <stdbool.h>
#include <uv.h>

#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

struct uvhandle {
	struct dnsblv6 *client;
	uv_poll_t poll;	      /* the library's descriptor */
	uv_prepare_t prepare; /* before the loop waits */
	uv_timer_t deadline;  /* when the library wants to be called */
	bool is_open;
};

/*
 * client is started, and borrowed. 0 or a status of libuv. The process must have forked
 * before: a child has another descriptor.
 */
int uvhandle_open(struct uvhandle *ret_asking, uv_loop_t *loop, struct dnsblv6 *client);
/* No callback of the library comes after this. Takes one that is not open. */
void uvhandle_close(struct uvhandle *uvhandle);

#ifdef __cplusplus
}
#endif
