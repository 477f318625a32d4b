/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * stub_parts.h - what stub.c and stub_life.c share: a stub's members.
 *
 * Flow: stub_life.c makes and ends a stub -> stub.c asks by it.
 */

#include "client-lib/base/pool.h"
#include "client-lib/base/queue.h"
#include "client-lib/base/timers.h"
#include "client-lib/base/waitset.h"
#include "client-lib/resolver/backend.h"
#include "client-lib/resolver/flight.h"
#include "client-lib/resolver/shares.h"
#include "client-lib/resolver/stub.h"

#define STUB_BACKEND_TAG UINT64_MAX

/* One stub_ask(). */
struct asker {
	struct timer deadline; /* first: found by its address */
	struct question *question;
	LIST_ENTRY(asker) alike; /* of the same question */
	unsigned zone;		 /* whose place it has */
	int64_t life_ms;	 /* from when the question is sent; 0: its time is set */
	int64_t last_ms;	 /* so long it may wait for a turn */
	bool has_overslept;	 /* its time went by unseen, once */
	stub_fn callback;
	void *context;
};

/* What one or more askers want to know: in flight, or waiting for a free flight. */
struct question {
	LIST_HEAD(, asker) askers;
	struct flight *flight; /* NULL: waiting */
	LIST_ENTRY(question) bucket;
	TAILQ_ENTRY(question) queue; /* waiting */
	bool is_over;		     /* its askers are being told */
	uint16_t type;
	unsigned zone;	     /* whose share it is asked in: its first asker's */
	unsigned round;	     /* that its next flight begins with */
	int64_t sent_ms;     /* by a flight before this one; -1: by none */
	int64_t deadline_ms; /* of the last asker */
	struct dnsblv6_labels name;
};

struct slot {
	struct flight flight;	   /* first: its timer is found by its address */
	struct question *question; /* NULL: free */
	LIST_ENTRY(slot) free;
	uint32_t generation; /* upper half of its id for the backend, so that an old one finds
				nothing */
	bool is_asked;
	bool is_noted; /* in the zone's share, as not answered */
};

LIST_HEAD(bucket, question);
LIST_HEAD(slots, slot);
TAILQ_HEAD(queue, question); /* those of one zone that wait */

/*
 * Sockets are few, and have their memory from the start. Places for questions are many, a
 * number for each zone, so that no zone takes those of another; they are taken in steps.
 */
struct stub {
	struct flights all;
	struct timers timers;
	uint64_t seed; /* of the buckets */
	struct bucket *buckets;
	uint32_t bucket_count; /* a power of two */

	struct pool askers;
	struct pool questions; /* never more than askers */
	uint32_t places_max;   /* of one zone */
	uint32_t places_taken[CONFIG_ZONES_MAX];
	struct slot *slots;   /* as many as the shares have sockets */
	uint32_t slots_used;  /* from the first on, once or more: no memory of others is touched */
	struct slots free;    /* of these, those without a question */
	int64_t told_sent_ms; /* when the question was sent whose askers are told */

	struct shares shares;
	struct queue queues[CONFIG_ZONES_MAX];

	struct backend backend; /* if there is one, no flight ever leaves the ground */
};
