/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * zone.h - the zones, and what they share: the cache, and where they are asked.
 *
 * Flow: engine_life.c makes them -> look.c reads, probe.c, proof.c, style.c and fetch.c ask by
 *       zone_ask() and say by zone_note_*() what came -> health.h -> the zone's word in the cache
 *
 * One thread's at a time, as the engine.
 */

#include "client-lib/base/queue.h"
#include "client-lib/engine/answer.h"
#include "client-lib/engine/health.h"
#include "client-lib/engine/verdict.h"
#include "client-lib/resolver/stub.h"
#include "client-lib/shared/remote.h"
#include "client-lib/shared/shared.h"
#include "lib/format/wellknown.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What waits for a fetch or a probe. entry is the answer, CACHE_FAILED when
 * there is none, and NULL when the caller has to look and ask again.
 */
struct waiter;
typedef void (*waiter_fn)(struct waiter *waiter, const struct cache_entry *entry);
struct waiter {
	TAILQ_ENTRY(waiter) link;
	struct waiters *list; /* where it waits; NULL: nowhere */
	waiter_fn wake;
	void *context;
};
struct waiters {
	TAILQ_HEAD(waiter_head, waiter) head;
	struct zone *zone; /* whose silence it is when no waiter is woken; NULL: of no zone */
	int64_t began_ms;
	uint64_t question; /* of the stub, the last one that is waited for; 0: none */
	bool is_noted;	   /* as silence, in the zone's evidence: once, however many wait */
};

void waiters_prepare(struct waiters *list, struct zone *zone, int64_t began_ms);
void waiters_join(struct waiters *list, struct waiter *waiter);
void waiters_leave(struct waiter *waiter); /* one that waits nowhere is fine */
/* Each one is taken out before it is woken, and may join another list then. */
void waiters_wake(struct waiters *list, const struct cache_entry *entry);

struct zones;
struct probe;
struct style_look;

/* What a zone has listed lately, in this process (proof.h). */
struct listings {
	uint32_t share; /* of answers that listed something, in millionths */
	uint32_t row;	/* how odd those are that nothing came between */
	bool has_last;
	struct dnsblv6_bitmap last; /* payload */
	bool has_hurried;
	int64_t hurried_ms; /* when one that was odd had the zone looked at */
	uint32_t usual;	    /* share, as it was with the last listing */
	uint32_t clears;    /* how odd it is that none came since */
};

struct zone {
	struct zones *all;
	const struct config_zone *config;
	unsigned index; /* in config->zones, and in the cache */
	const struct verdict_zone *entries;
	struct health health;
	uint8_t soa_labels; /* of the SOA in its negative answers; 0: not known */
	bool has_nxdomain;  /* its negative answers are NXDOMAIN */
	bool has_odd;	    /* negative answers since the last probe that are not like those */
	uint32_t odd_until_s;
	bool has_metadata;
	struct dnsblv6_labels classic; /* with has_metadata; empty: none */
	char reason[DNSBLV6_METADATA_VALUE_MAX + 1];
	uint32_t reason_s;	   /* when it was asked for without a probe, */
	uint32_t reason_hold_s;	   /* and how long that holds */
	struct probe *probe;	   /* NULL: none runs */
	struct health_probe found; /* by the last whole probe */
	bool has_found;
	uint32_t found_s;	  /* when */
	uint32_t probe_questions; /* of the last one */
	bool has_serial;	  /* the one below was seen, and the style was right with it */
	uint32_t serial;
	struct probe *look; /* NULL: none runs (proof.h) */
	bool is_proven;	    /* by the last one */
	bool has_denied;
	int64_t denied_ms; /* when a probe or a proof ended that found what it should */
	int64_t looked_ms; /* when that one began */
	int64_t lent_ms; /* when a listing was last to count on the word of a look that it did not begin */
	struct listings listings;
	struct style_look *style; /* NULL: none runs (style.h) */
	bool has_looked;
	uint32_t looked_s; /* when the last one began */
	bool wants_ipv6;   /* an IPv6 address was asked about */
	uint64_t asked, failures;
};

struct zones_counts {
	uint64_t requests;   /* that the cache alone did not answer */
	uint64_t fetches;    /* blocks and addresses asked for */
	uint64_t joined;     /* requests that waited for the fetch of another one */
	uint64_t prefetches; /* of fetches: before the TTL was over */
	uint64_t failures;   /* of fetches: without an answer */
	uint64_t probes;
	uint64_t looks;	   /* at what a zone must deny (proof.h) */
	uint64_t unproven; /* of fetches: with listings that were not believed */
	uint64_t ranges;   /* slots written for what NSEC records prove */
	uint64_t late;	   /* requests that ended at their deadline */
	uint64_t refused;  /* requests beyond max-requests */
	uint64_t dropped;  /* fetches without a waiter, whose places were needed */
};

struct zones {
	const struct config *config;
	struct cache *cache;
	struct stub *stub;
	struct remote *remote;	      /* NULL: no daemon is asked */
	struct shared *shared;	      /* the same */
	struct zone *zones;	      /* config->zone_count */
	struct verdict_zone *entries; /* the same, close together */
	/* The only one that is asked about addresses; NULL: there are more, or a daemon is asked. */
	const struct verdict_zone *single;
	dnsblv6_log_fn log;
	void *log_context;
	uint64_t random;
	int64_t now_ms; /* of the call that is being served */
	struct zones_counts counts;
};

uint64_t zones_random(struct zones *all);

/* The word of a zone in the cache that this process writes. */
uint64_t zone_word(const struct zone *zone);

/* What happened to a question of the zone, for the zone's word and evidence (health.h). */
void zone_note_answer(struct zone *zone);
void zone_note_failure(struct zone *zone, enum answer_failure failure);
void zone_note_probe(struct zone *zone, const struct health_probe *found);
/* What a look has found; false: the zone is not to be trusted any more. */
bool zone_note_look(struct zone *zone, const struct health_probe *found);
/* The zone has denied what it must, in a look that began at begun_ms and has just ended. */
void zone_note_denials(struct zone *zone, int64_t begun_ms);
/* It could not be seen to: what was listed on its word since it was, or is until it is, may be wrong. */
void zone_note_vain(struct zone *zone);
/* Was it seen to deny that within HEALTH_LOOK_S, by whichever process? A listing is put on that. */
bool zone_claim_trust(struct zone *zone);
/* Must its answers be validated? */
bool zone_wants_secure(const struct zone *zone);
/* What a probe tells about that; behind zone_note_probe(). */
void zone_learn_secure(struct zone *zone, const struct health_probe *found, bool is_whole);
/* Other servers: what these validated says nothing about them. */
void zone_forget_secure(struct zone *zone);
/* Has the zone credit for a look? Then it is spent. */
bool zone_claim_look(struct zone *zone);
/* The zone's answers are odd: have it probed with the next question. */
void zone_note_doubt(struct zone *zone);
/*
 * The same for a denial that is odd by itself. May it be believed? For a minute behind a probe that
 * such a denial caused, and that found the zone well.
 */
bool zone_takes_odd(struct zone *zone);
/* A request ends that waits here. No silence, as long as the question was not sent. */
void zone_note_late(struct waiters *list);
/* Is it this process's turn to probe the zone? */
bool zone_claim_probe(struct zone *zone);

/* One question of a zone. */
struct zone_what {
	const struct dnsblv6_labels *relative; /* put before apex; both are borrowed */
	const struct dnsblv6_labels *apex;
	uint16_t type;
	int64_t wait_ms; /* until it is sent */
	int64_t life_ms; /* from then on */
};
/* As stub_ask(). The name that was asked is in *ret_name, its id in *ret_id. */
int zone_ask(struct zone *zone, const struct zone_what *what, stub_fn callback, void *context,
	     struct dnsblv6_labels *ret_name, uint64_t *ret_id);

/*
 * The name of a zone may be a secret between its operator and us. Wherever it is in text, which has
 * size bytes, label takes its place; what has no room is cut.
 */
void zone_hide_name(const char *name, const char *label, char *text, size_t size);

/* For a log hook that takes all: the servers, and what a stub_fn was told about name. */
void zones_trace_servers(const struct zones *all);
void zone_trace_reply(const struct zone *zone, const struct dnsblv6_labels *name, int status,
		      const struct message_reply *reply, bool is_trusted);

#ifdef __cplusplus
}
#endif
