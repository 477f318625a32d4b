/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * rollover.h - how one key of a zone follows another, and when.
 *
 * Flow: rollover_text.h reads what the store remembers -> a command asks for the next step, and
 *       makes those that are due -> keyset.h publishes what rollover_assign_roles() says.
 *
 * One key signs all of a zone (a CSK). To another of its algorithm:
 *
 *     step      new key        old key       DNSKEY       signs    CDS     then wait
 *     start     published      active        old, new     old              TTL of the DNSKEYs
 *     submit    submitted      active        old, new     old      new     until the parent has the DS
 *     ds-seen   submitted      active        old, new     old      new     TTL of the DS
 *     switch    active         retiring      old, new     new      new     TTL of the zone
 *     remove    active                       new          new
 *
 * To one of another algorithm, where no validator may find an algorithm among the DNSKEYs and miss
 * a signature of it (RFC 6781 section 4.1.4, RFC 6840 section 5.11):
 *
 *     start     generated      active        old          both             TTL of the zone
 *     publish   published      active        old, new     both             TTL of the DNSKEYs
 *     submit    submitted      active        old, new     both     new     until the parent has the DS
 *     ds-seen   submitted      active        old, new     both     new     TTL of the DS
 *     switch    active         retiring      new          both     new     TTL of the DNSKEYs
 *     remove    active                       new          new
 *
 * To each wait the policy adds the time that a change needs to be at all servers of a zone. The
 * DNSKEY RRset is signed by all keys in it. The first key of a zone is active at once, and its CDS
 * is there until the parent has its DS.
 *
 * No function here does I/O, reads a clock, allocates or keeps a pointer. Times are Unix times.
 */

#include "zone-tools/keys/key.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROLLOVER_KEYS_MAX 2

#define ROLLOVER_ESTEP	(-2240) /* another step comes next */
#define ROLLOVER_EEARLY (-2241) /* caches may still have what was before */

enum rollover_state {
	ROLLOVER_GENERATED, /* signs beside another of another algorithm, unpublished */
	ROLLOVER_PUBLISHED,
	ROLLOVER_SUBMITTED, /* the parent is to have its DS */
	ROLLOVER_ACTIVE,
	ROLLOVER_RETIRING,
};

enum rollover_step {
	ROLLOVER_NONE, /* nothing is to be done, ever */
	ROLLOVER_START,
	ROLLOVER_PUBLISH,
	ROLLOVER_SUBMIT,
	ROLLOVER_DS_SEEN,
	ROLLOVER_SWITCH,
	ROLLOVER_REMOVE,
	ROLLOVER_CANCEL, /* by hand only: a key that no parent was told of goes away again */
};

/* Words such as "submitted" and "ds-seen". Never NULL. */
const char *rollover_state_word(enum rollover_state state);
const char *rollover_step_word(enum rollover_step step);
/* False for a word that is none of these. */
bool rollover_parse_state(const char *word, enum rollover_state *ret_state);
bool rollover_parse_step(const char *word, enum rollover_step *ret_step);

struct rollover_key {
	uint8_t dnskey[KEY_DNSKEY_MAX];
	uint16_t dnskey_size;
	enum rollover_state state;
	uint64_t made_s;
	uint64_t since_s;   /* in this state */
	uint64_t ds_seen_s; /* when the parent was found to have its DS; 0: not yet */
};

struct rollover {
	struct rollover_key keys[ROLLOVER_KEYS_MAX]; /* the older one first */
	size_t key_count;			     /* 0: the zone has no key yet */
	/* The largest that there were since the last rollover ended. */
	uint32_t dnskey_ttl;
	uint32_t zone_ttl; /* of any record */
	uint32_t ds_ttl;   /* at the parent, whose answers say it; 0: not known, then a day */
};

#define ROLLOVER_DS_TTL_S 86400

struct rollover_policy {
	uint64_t every_s;  /* how old an active key becomes; 0: another one only by hand */
	uint8_t algorithm; /* of new keys; 0: that of the active one */
	uint32_t propagation_s;
};

struct rollover_next {
	enum rollover_step step;
	uint64_t at_s; /* when it may be made; 0: not by itself, the parent or a person decides */
};

uint8_t rollover_key_algorithm(const struct rollover_key *key);
uint16_t rollover_key_tag(const struct rollover_key *key);

/* Can the machine be in that state? */
bool rollover_is_sound(const struct rollover *rollover);

/* The step that comes next. */
struct rollover_next rollover_find_next(const struct rollover *rollover,
					const struct rollover_policy *policy);
bool rollover_is_due(const struct rollover_next *next, uint64_t now_s);

/* The key whose DS the parent is to have, and that has not been seen there; NULL: none. */
const struct rollover_key *rollover_awaited(const struct rollover *rollover);

/* May the step be made now? DNSBLV6_OK, ROLLOVER_ESTEP or ROLLOVER_EEARLY. */
int rollover_check(const struct rollover *rollover, const struct rollover_policy *policy,
		   enum rollover_step step, uint64_t now_s);
/*
 * Makes a step, if rollover_check() permits it: a status of that. START takes the DNSKEY of the new
 * key, which has another key tag than those that there are; in a zone without keys it is active at
 * once.
 */
int rollover_make(struct rollover *rollover, const struct rollover_policy *policy,
		  enum rollover_step step, uint64_t now_s, const struct rollover_key *started);

/* A time that is later than now_s by more than slack_s is of a clock that was ahead: it becomes now_s. */
void rollover_set_back(struct rollover *rollover, uint64_t now_s, uint64_t slack_s);

/* The zone has, or is to have, these; while keys change only greater ones count. */
void rollover_note_ttls(struct rollover *rollover, uint32_t dnskey_ttl, uint32_t zone_ttl);

/* What a key is for now. */
struct rollover_role {
	bool is_published; /* among the DNSKEYs, which it signs */
	bool signs_zone;   /* all else */
	bool is_first;	   /* of those that sign the zone: the active one */
	bool is_submitted; /* has a CDS and a CDNSKEY */
};

void rollover_assign_roles(const struct rollover *rollover,
			   struct rollover_role ret_roles[ROLLOVER_KEYS_MAX]);

#ifdef __cplusplus
}
#endif
