/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * health.h - whether a zone may give verdicts, and how it is asked.
 *
 * Flow: probe.c (test points, canaries) and fetch.c (answers and failures) ->
 *       health_*() -> the zone's word in the cache, which every reader obeys.
 *
 * A state machine without clock, memory or I/O: old word and event in, new word out.
 *
 *     UNPROBED -- probe --> OK, FILTERED, WILDCARDED, LISTS_WORLD, UNREACHABLE, BLOCKED, INSECURE
 *     any      -- probe --> any of these; this is also how a zone recovers
 *     any      -- REFUSED, 127.255.255.x --> BLOCKED, at once
 *     UNPROBED, OK, FILTERED
 *              -- HEALTH_FAILURES_MIN failures in a row, over HEALTH_FAILING_S --> UNREACHABLE
 *
 * A zone that is ill is probed again after "failure-ttl", then every HEALTH_PAUSE_S, so that mail
 * does without it for half a minute at most when it is well again. One that says something wrong
 * for longer than HEALTH_ACUTE_S is not likely to stop; then the pauses grow to
 * HEALTH_PAUSE_MAX_S. One that is merely out of reach gets no other questions, so they
 * do not. One that is well is probed every "probe-interval", and after HEALTH_PAUSE_S when it has
 * just been found FILTERED: an outage that begins can look so. No zone is probed while there are no
 * questions about it: the time is in the word, and the next question finds it passed.
 *
 * A process may live for one request, and end long before a question counts as failed. So failures
 * are counted for all processes that share the cache, in the zone's evidence, and a request that
 * ends at its deadline while a question is open is one. A process that waits too little must not
 * spoil the zone for the others: less than HEALTH_LATE_MS in vain is no failure. One answer, to any
 * process, ends the row.
 *
 *     BIT    a zone's word; 0 is "nothing known"
 *     0-2    state, enum dnsblv6_zone_state
 *     3-4    mode, enum health_mode
 *     5, 6   the zone has IPv4, IPv6
 *     7      its metadata name a classic zone, whose test points are right
 *     8      its negative answers are not believed: a canary got NXDOMAIN
 *     9      it has dotted and flat names: by mode, flat ones of IPv4 (dotted) or of both (flat)
 *     10-35  when it got into the state, seconds on the cache's clock, which has more bits
 *     36-63  when it is to be probed next, the same; all ones: never
 *
 *     BIT    its evidence; 0 is "none"
 *     0-3    failures in a row, up to 15
 *     4-31   when the row began; without one, when the zone last answered
 *     32-36  canaries without a reply to the last probe, one bit each
 *     37-63  0
 *
 * A zone all of whose replies to a whole probe were validated has its answers believed only if they
 * are: a forger can leave signatures out, and not make them ("secure" is auto). There must have
 * been signatures, as a server may merely repeat the AD of the question. Once a probe finds what is
 * right, but not validated, the zone is INSECURE. What is cached of it was validated, and counts. A
 * list that is not signed any more looks the same: after HEALTH_PIN_S it is taken for one.
 *
 * Listings are believed of a zone that has lately been seen to deny what it must (proof.h). It is
 * looked at when something is listed, once in HEALTH_LOOK_S, and as often again as it has credit:
 * HEALTH_LOOK_CREDIT looks at first, and one more for each HEALTH_LOOK_S without one.
 *
 *     BIT    its trust; 0 is "never"
 *     0-27   when the last look began that it denied what it must, seconds on the cache's clock
 *     28-55  when it has all of its credit again
 *     56     its answers were validated
 *     57     a look was in vain since then, or the zone out of reach
 *     58     something was listed since then that was not looked at by itself
 */

#include "client-lib/cache/cache.h"
#include "client-lib/config/config.h"
#include "client-lib/dnsblv6.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEALTH_FAILURES_MIN 5
#define HEALTH_FAILING_S    10
#define HEALTH_PAUSE_S	    20u
#define HEALTH_ACUTE_S	    600u
#define HEALTH_PAUSE_MAX_S  300u
#define HEALTH_LATE_MS	    1500u /* of the two seconds that most programs have for a verdict */
#define HEALTH_NEVER_S	    ((1u << 28) - 1)
#define HEALTH_SINCE_MAX    ((1u << 26) - 1)
#define HEALTH_LOOK_S	    60u
#define HEALTH_LOOK_CREDIT  30u
#define HEALTH_PIN_S	    86400u

enum health_mode {
	HEALTH_UNKNOWN = 0,
	HEALTH_DOTTED = 1,
	HEALTH_FLAT = 2,
	HEALTH_CLASSIC = 3,
	/* With a bit more in the word; what does not know it asks as the two above. */
	HEALTH_BOTH = 4 | HEALTH_DOTTED, /* flat names of IPv4, dotted ones of all */
	HEALTH_BOTH6 = 4 | HEALTH_FLAT,	 /* flat and dotted names of all */
};

static inline bool health_is_bitmap(enum health_mode mode)
{
	return mode != HEALTH_UNKNOWN && mode != HEALTH_CLASSIC;
}

/* The names of a bitmap zone that is asked so. */
static inline enum dnsblv6_style health_style(enum health_mode mode)
{
	switch (mode) {
	case HEALTH_FLAT:
		return DNSBLV6_STYLE_FLAT;
	case HEALTH_BOTH:
		return DNSBLV6_STYLE_BOTH;
	case HEALTH_BOTH6:
		return DNSBLV6_STYLE_BOTH6;
	default:
		return DNSBLV6_STYLE_DOTTED;
	}
}

static inline enum health_mode health_mode_of(enum dnsblv6_style style)
{
	switch (style) {
	case DNSBLV6_STYLE_FLAT:
		return HEALTH_FLAT;
	case DNSBLV6_STYLE_BOTH:
		return HEALTH_BOTH;
	case DNSBLV6_STYLE_BOTH6:
		return HEALTH_BOTH6;
	default:
		return HEALTH_DOTTED;
	}
}

/* A word taken apart. */
struct health_word {
	enum dnsblv6_zone_state state;
	enum health_mode mode;
	bool has_ipv4, has_ipv6;
	bool has_classic;
	bool doubts_no;
	uint32_t since_s;
	uint32_t due_s;
};

uint64_t health_pack(const struct health_word *parts);

/* Here and not in health.c: a look into the cache does it for each zone. */
static inline struct health_word health_unpack(uint64_t word)
{
	struct health_word parts;
	parts.state = (enum dnsblv6_zone_state)(word & 7);
	parts.mode = (enum health_mode)((word >> 3 & 3) | (word >> 9 & 1) << 2);
	parts.has_ipv4 = (word & 1u << 5) != 0;
	parts.has_ipv6 = (word & 1u << 6) != 0;
	parts.has_classic = (word & 1u << 7) != 0;
	parts.doubts_no = (word & 1u << 8) != 0;
	parts.since_s = (uint32_t)(word >> 10) & HEALTH_SINCE_MAX;
	parts.due_s = (uint32_t)(word >> 36);
	return parts;
}

/* For how long it has been in its state, up to two years. */
static inline uint32_t health_age_s(const struct health_word *parts, uint32_t now_s)
{
	uint32_t age_s = (now_s - parts->since_s) & HEALTH_SINCE_MAX;
	/* Another process may have written the word behind now_s. */
	return age_s <= HEALTH_SINCE_MAX - HEALTH_LOOK_S ? age_s : 0;
}

/* Is it well, asked for bitmaps, and has it that family? So are most words. */
static inline bool health_is_plain(uint64_t word, bool is_ipv4)
{
	/* State, mode and, as bit 5, the family; of the two bits of the mode one is set. */
	const uint64_t plain = 1ull << (DNSBLV6_ZONE_OK | 1 << 3 | 1 << 5) |
			       1ull << (DNSBLV6_ZONE_OK | 2 << 3 | 1 << 5);
	uint64_t said = is_ipv4 ? word : (word & 31) | (word >> 1 & 1 << 5);
	return (plain >> (said & 63) & 1) != 0;
}

/* Does a zone in this state get no questions? */
static inline bool health_is_sick(enum dnsblv6_zone_state state)
{
	return state >= DNSBLV6_ZONE_WILDCARDED;
}

/* Not even what is cached of it counts; of one that is out of reach or not validated, it does. */
static inline bool health_is_distrusted(enum dnsblv6_zone_state state)
{
	return health_is_sick(state) && state != DNSBLV6_ZONE_UNREACHABLE &&
	       state != DNSBLV6_ZONE_INSECURE;
}

/*
 * Is all void that the zone has said so far? It leaves distrust: how long it had been sick before
 * that was found is not known. One that is merely out of reach has said nothing wrong.
 */
static inline bool health_is_cleared(uint64_t old_word, uint64_t new_word)
{
	return health_is_distrusted(health_unpack(old_word).state) &&
	       !health_is_distrusted(health_unpack(new_word).state);
}

/* Is it time to probe the zone, whatever the cache has to say? */
static inline bool health_is_due(uint64_t word, uint32_t now_s)
{
	return (uint32_t)(word >> 36) <= now_s;
}

/* Evidence taken apart. */
struct health_evidence {
	uint32_t failures;
	uint32_t at_s;
	uint32_t mute;
};

struct health_evidence health_unpack_evidence(uint64_t evidence);

/* Trust taken apart. */
struct health_trust {
	uint32_t looked_s;
	uint32_t whole_s;
	bool is_secure;
	bool had_vain;
	bool was_lent;
};

struct health_trust health_unpack_trust(uint64_t trust);

/* What is known of a zone beside its word. All zero at first. */
struct health {
	uint64_t evidence; /* of all that share the cache: read before an event, kept behind it */
	uint32_t probed_s; /* when the last probe of this process ended */
	bool is_suspect;   /* answers were odd since then: all is to be looked at */
};

/* ---- probes ---- */

/*
 * Of a zone that is well, all is looked at once a day; in between, one that must be listed and
 * one that must not. A client that asks little would else probe more than it asks.
 */
#define HEALTH_WHOLE_S 86400

enum health_point {
	HEALTH_LISTED, /* 127.0.0.2 */
	HEALTH_CLEAR,  /* 127.0.0.1 */
	HEALTH_LISTED6,
	HEALTH_CLEAR6,
	HEALTH_NOWHERE,	       /* a name that no zone has */
	HEALTH_CLASSIC_LISTED, /* the test points of the classic zone beside a bitmap zone */
	HEALTH_CLASSIC_CLEAR,
	HEALTH_CANARY, /* the first of DNSBLV6_CANARY_COUNT */
	HEALTH_POINT_COUNT = HEALTH_CANARY + 5,
};

enum health_finding {
	HEALTH_NOT_ASKED = 0,
	HEALTH_YES,	/* listed; a canary: as it must be; NOWHERE: it has an answer */
	HEALTH_NO,	/* not listed, NXDOMAIN */
	HEALTH_EMPTY,	/* NOERROR, and no such record */
	HEALTH_FOREIGN, /* answers that no blacklist gives */
	HEALTH_REFUSED, /* as ANSWER_BLOCKED */
	HEALTH_FAILED,	/* SERVFAIL and the like */
	HEALTH_SILENT,
};

struct health_probe {
	enum health_mode mode;
	bool has_names;		 /* its test points are not those of addresses */
	bool wants_secure;	 /* what is not validated is not good enough */
	bool is_secure;		 /* all replies were validated, and there was one */
	bool is_signed;		 /* and had signatures */
	bool has_ipv4, has_ipv6; /* what the metadata promise */
	enum health_finding points[HEALTH_POINT_COUNT];
};

/* The state that these findings mean, and why, static and for the log. */
enum dnsblv6_zone_state health_judge(const struct health_probe *probe, const char **ret_reason);

/* ---- events: each returns the new word ---- */

uint64_t health_probed(struct health *health, const struct config *config, uint64_t word,
		       const struct health_probe *probe, uint32_t now_s, const char **ret_reason);
uint64_t health_answered(struct health *health, uint64_t word, uint32_t now_s);
uint64_t health_failed(struct health *health, const struct config *config, uint64_t word,
		       enum answer_failure failure, uint32_t now_s);
/* A request is at its end, and what it asked was not answered for waited_ms. */
uint64_t health_late(struct health *health, const struct config *config, uint64_t word,
		     uint32_t waited_ms, uint32_t now_s);

/* Answers that are right by themselves were odd: a probe is due, of all. */
uint64_t health_doubted(struct health *health, const struct config *config, uint64_t word,
			uint32_t now_s);

/* points HEALTH_NOWHERE and HEALTH_CLEAR, an address that is not that of a probe, were asked. */
uint64_t health_looked(struct health *health, const struct config *config, uint64_t word,
		       const struct health_probe *probe, uint32_t now_s, const char **ret_reason);
/* Whether answers have to be validated from now on: the new trust. */
uint64_t health_secured(uint64_t trust, bool is_secure);
/* Has the zone been INSECURE for so long that it is to be taken as it is? */
bool health_is_pin_over(uint64_t word, uint32_t now_s);

/* Both were denied, in a look that began then: the new trust. */
uint64_t health_looked_well(uint64_t trust, uint32_t begun_s);
/* What was asked had no answer that tells: the new trust. */
uint64_t health_looked_in_vain(uint64_t trust);
/* Was it seen to deny that within HEALTH_LOOK_S? Then something is listed on its word. */
bool health_lend(uint64_t *trust, uint32_t now_s);
/* Has the zone credit for a look? Then trust is changed. */
bool health_claim_look(uint64_t *trust, uint32_t now_s);

/*
 * Is it time for a probe? Then word is changed so that no other process takes its turn too: the
 * first to change it has it.
 */
bool health_claim_probe(const struct config *config, uint64_t *word, uint32_t now_s);

/*
 * The line for a log when the state has changed; returns its level as in syslog(3), or
 * -1 when there is nothing to say. ret_line has HEALTH_LINE_MAX bytes.
 */
#define HEALTH_LINE_MAX 512
int health_line(const char *zone, uint64_t old_word, uint64_t new_word, const char *reason,
		char *ret_line);

#ifdef __cplusplus
}
#endif
