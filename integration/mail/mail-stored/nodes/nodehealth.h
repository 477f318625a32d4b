/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * nodehealth.h - what is known of one node: is it down, does it take mail, does it agree with this one?
 *
 * Flow: noderouter.c has heard something of a node, or nothing for too long -> here, with a line of the log where that
 *       is news -> noderouter.c, which asks it or does not.
 *
 * Nothing here knows links, or what waits for them. Times are of the loop, in milliseconds.
 */

#include "integration/mail/mail-stored/nodes/nodesetup.h"

#include <stdbool.h>
#include <stdint.h>

#define NODEHEALTH_PAUSE_MS 500

/* All zero but the first two: one of which nothing has been heard yet. */
struct nodehealth {
	const struct nodesetup *setup; /* borrowed */
	unsigned at;		       /* its place among the peers */
	bool is_down;
	bool was_up;	   /* at some time */
	bool differs;	   /* its configuration, from this node's */
	uint64_t sum;	   /* of its configuration, the last that it has said; 0: none */
	uint64_t heard_ms; /* its store; a handshake says nothing of that */
	/* Links that have ended one behind the other as what came was no reply; the last of them. */
	unsigned broken;
	uint64_t broken_ms;
	/* It has left a mail without an answer, and has answered none since that was sent. */
	bool is_stuck;
	uint64_t mail_ms;      /* when it answered one */
	uint64_t next_mail_ms; /* while it is stuck: when another may find out */
	uint64_t downs;
};

/* true: it was not before. */
bool nodehealth_go_down(struct nodehealth *health, const char *reason);
void nodehealth_go_up(struct nodehealth *health);

/* What has come is no reply to what was asked. Said once, until there is one: broken is 0 then. */
void nodehealth_count_broken(struct nodehealth *health, uint64_t now_ms);
/* One such link may be chance; behind the second the node has a pause, in which none is opened. */
bool nodehealth_is_pausing(const struct nodehealth *health, uint64_t now_ms);

/* A mail had no answer in time. true: it was not stuck before. */
bool nodehealth_get_stuck(struct nodehealth *health, uint64_t now_ms);
/* It has answered one. */
void nodehealth_note_mail(struct nodehealth *health, uint64_t now_ms);
/*
 * What is refused had no need of the disk, or found no store: it says nothing of syncs, and another may
 * find out.
 */
void nodehealth_note_refusal(struct nodehealth *health, uint64_t now_ms);
/*
 * For a mail: one at a time finds out whether a node is stuck yet, the first at once, as the one without an answer may
 * have been large, and its link slow.
 */
bool nodehealth_keeps_away(struct nodehealth *health, uint64_t now_ms);

/* Of its configuration, as it says it. A node of another version may say nothing of it, 0, and agrees then. */
void nodehealth_take_sum(struct nodehealth *health, uint64_t sum);
