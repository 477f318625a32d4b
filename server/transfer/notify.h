/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * notify.h - tells secondaries that a zone has a new serial (RFC 1996).
 *
 * Flow: worker 0 opens it -> twice a second it looks at the serials -> when the
 *       zonestatus says that all workers have one, NOTIFY, signed when the secondary
 *       has a key, to each address of each secondary of the zone, to a quarter of
 *       transfer-max at once -> until that answers, or is taken for down.
 *
 *     idle --new serial, or the first one--> asking --answered--> idle
 *                          again after 2, 4, 8, 16 s; 32 s later it is down,
 *                          and asked once a minute
 *
 * One worker alone does this; what it has not sent when it ends, the next one
 * sends at its start, because that announces every zone once. Only an answer
 * from the address asked, with the id, the question and the TSIG of what was
 * asked, ends the asking; a refusal without the TSIG is told at once.
 *
 * Where all sockets are taken that there may be (outward.h), a target gives up its own two seconds
 * after a try.
 */

#include "server/counts/zonestatus.h"
#include "server/transfer/outward.h"
#include "server/zone/catalog.h"

#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A zone, and one address of one of its secondaries. */
struct notify_target {
	size_t zone;
	const struct settings_secondary *secondary;
	const struct sockaddr_storage *address;
	bool is_asking; /* until it answers */
	int fd;		/* -1: none, or not to be had yet */
	unsigned tries; /* 0: it was not told of any serial yet */
	uint64_t next_ms;
	uint64_t sent_ms; /* the last try; 0: none of this serial was sent */
	uint32_t serial;
	uint16_t id;
	struct tsig tsig; /* of the last try */
	bool is_down;
};

struct notify_zone {
	bool has_serial;
	uint32_t serial; /* the newest that secondaries are told of */
	/* Until all workers have it; or not any longer: one may be stuck. */
	bool is_waiting;
	uint32_t next_serial;
	uint64_t since_ms;
};

struct notify {
	uv_loop_t *loop;
	const struct settings *settings;
	struct catalog *catalog;
	const struct zonestatus *zonestatus;
	struct counters counters;
	struct notify_zone *zones;
	struct notify_target *targets;
	size_t target_count;
	size_t turn; /* the target that is looked at next */
	struct outward_turns turns;
	uv_timer_t timer;
};

/* settings, catalog and zonestatus are borrowed. 0 or a negative error. */
int notify_open(struct notify *notify, uv_loop_t *loop, struct catalog *catalog,
		const struct settings *settings, const struct zonestatus *zonestatus,
		const struct counters *counters);
/* Closes the sockets and the handle; run the loop, then notify_free(). */
void notify_close(struct notify *notify);
/* Takes one that is all zero. */
void notify_free(struct notify *notify);

/*
 * Is wire, size bytes, an answer to what target asked last? A secondary that does not know the key
 * cannot sign that (RFC 8945 section 5.3.2), and then it may be of any host.
 */
enum notify_answer { NOTIFY_OTHER, NOTIFY_TAKEN, NOTIFY_REFUSED, NOTIFY_REFUSED_UNSIGNED };
enum notify_answer notify_read_answer(const struct notify *notify,
				      const struct notify_target *target, uint8_t *wire,
				      size_t size);

#ifdef __cplusplus
}
#endif
