/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * inquiry.h - asks secondaries which serial of a zone they have.
 *
 * Flow: worker 0 opens it -> every two seconds questions for the SOA to those that are due -> what
 *       they answer goes to followstatus.h, for dnsblv6ctl.
 *
 * One that has the newest serial is asked every half minute. After a new serial, and when it has
 * another one, it is asked every two seconds for two minutes. Nothing depends on the answers: they
 * are not signed, and only the address that was asked can give them. Where all sockets are taken that
 * there may be (outward.h), a question is given up at the next tick.
 */

#include "server/counts/followstatus.h"
#include "server/transfer/outward.h"
#include "server/zone/catalog.h"

#include <uv.h>

struct inquiry_target {
	size_t zone;
	const struct sockaddr_storage *address;
	int fd; /* -1: no question is open */
	uint16_t id;
	uint64_t next_ms;
	uint64_t hurry_until_ms;
	bool has_wanted;
	uint32_t wanted; /* the serial of the zone */
	struct followstatus_place last;
};

struct inquiry {
	const struct settings *settings;
	struct catalog *catalog;
	const struct followstatus *status; /* borrowed, as the two above */
	struct inquiry_target *targets;
	size_t target_count;
	struct outward_turns turns;
	uv_timer_t timer;
};

/* 0 or a negative error. */
int inquiry_open(struct inquiry *inquiry, uv_loop_t *loop, struct catalog *catalog,
		 const struct settings *settings, const struct followstatus *status);
/* Closes the sockets and the handle; run the loop, then inquiry_free(). */
void inquiry_close(struct inquiry *inquiry);
/* Takes one that is all zero. */
void inquiry_free(struct inquiry *inquiry);
