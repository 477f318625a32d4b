/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/engine/health.h"

#include <stdio.h>

#include "lib/format/wellknown.h"

_Static_assert(HEALTH_POINT_COUNT - HEALTH_CANARY == DNSBLV6_CANARY_COUNT, "a point for each");

uint64_t health_pack(const struct health_word *parts)
{
	uint64_t since_s = parts->since_s & HEALTH_SINCE_MAX;
	uint64_t due_s = parts->due_s < HEALTH_NEVER_S ? parts->due_s : HEALTH_NEVER_S;

	return (uint64_t)parts->state | ((uint64_t)parts->mode & 3) << 3 |
	       ((uint64_t)parts->mode >> 2) << 9 | (uint64_t)parts->has_ipv4 << 5 |
	       (uint64_t)parts->has_ipv6 << 6 | (uint64_t)parts->has_classic << 7 |
	       (uint64_t)parts->doubts_no << 8 | since_s << 10 | due_s << 36;
}

static uint64_t at_most(uint32_t number, uint32_t most)
{
	return number < most ? number : most;
}

static uint64_t pack_evidence(const struct health_evidence *parts)
{
	return at_most(parts->failures, 15) | at_most(parts->at_s, HEALTH_NEVER_S) << 4 |
	       (uint64_t)parts->mute << 32;
}

struct health_evidence health_unpack_evidence(uint64_t evidence)
{
	return (struct health_evidence){
		.failures = evidence & 15,
		.at_s = (uint32_t)evidence >> 4,
		.mute = evidence >> 32 & ((1u << DNSBLV6_CANARY_COUNT) - 1),
	};
}

static uint64_t pack_trust(const struct health_trust *parts)
{
	return at_most(parts->looked_s, HEALTH_NEVER_S) |
	       at_most(parts->whole_s, HEALTH_NEVER_S) << 28 | (uint64_t)parts->is_secure << 56 |
	       (uint64_t)parts->had_vain << 57 | (uint64_t)parts->was_lent << 58;
}

struct health_trust health_unpack_trust(uint64_t trust)
{
	return (struct health_trust){
		.looked_s = (uint32_t)trust & HEALTH_NEVER_S,
		.whole_s = (uint32_t)(trust >> 28) & HEALTH_NEVER_S,
		.is_secure = (trust >> 56 & 1) != 0,
		.had_vain = (trust >> 57 & 1) != 0,
		.was_lent = (trust >> 58 & 1) != 0,
	};
}

/* ---- what findings mean ---- */

struct judgement {
	enum dnsblv6_zone_state state;
	const char *reason;
};

static bool has_finding(const struct health_probe *probe, enum health_finding finding)
{
	for (unsigned i = HEALTH_LISTED; i <= HEALTH_NOWHERE; i++) {
		if (probe->points[i] == finding)
			return true;
	}
	return false;
}

/* The point that must be listed. Bitmap zones have one in each family, even without listings. */
static struct judgement judge_listed(const struct health_probe *probe, enum health_finding listed)
{
	const char *not_listed =
		probe->has_names ? "its test point is not listed" : "127.0.0.2 is not listed";

	switch (listed) {
	case HEALTH_YES:
		return (struct judgement){ DNSBLV6_ZONE_OK, "" };
	case HEALTH_EMPTY:
		if (probe->mode != HEALTH_CLASSIC)
			return (struct judgement){ DNSBLV6_ZONE_FILTERED, "AAAA records" };
		return (struct judgement){ DNSBLV6_ZONE_UNREACHABLE, not_listed };
	case HEALTH_NO:
		return (struct judgement){ DNSBLV6_ZONE_UNREACHABLE, not_listed };
	case HEALTH_SILENT:
		return (struct judgement){ DNSBLV6_ZONE_UNREACHABLE, "no reply" };
	default:
		return (struct judgement){ DNSBLV6_ZONE_UNREACHABLE, "the resolver failed" };
	}
}

static bool has_answer(enum health_finding finding)
{
	return finding != HEALTH_SILENT && finding != HEALTH_FAILED;
}

/*
 * A filter loses canaries, and an outage or a slow resolver all that the resolver has not from before:
 * then the name that no zone has, which is another one each time, has no answer either.
 */
static struct judgement judge_canaries(const struct health_probe *probe)
{
	const enum health_finding nowhere = probe->points[HEALTH_NOWHERE];
	bool is_outage = false;

	for (unsigned i = 0; i < DNSBLV6_CANARY_COUNT; i++) {
		const enum health_finding finding = probe->points[HEALTH_CANARY + i];
		if (finding == HEALTH_YES)
			continue;
		if (has_answer(finding) || has_answer(nowhere))
			return (struct judgement){ DNSBLV6_ZONE_FILTERED,
						   dnsblv6_canary_get(i)->range };
		is_outage = true;
	}
	return is_outage ? judge_listed(probe, nowhere)
			 : (struct judgement){ DNSBLV6_ZONE_OK, "test points are right" };
}

/* Answers that are there and must not be. OK: none. */
static struct judgement judge_excess(const struct health_probe *probe)
{
	const enum health_finding *points = probe->points;

	if (has_finding(probe, HEALTH_REFUSED))
		return (struct judgement){ DNSBLV6_ZONE_BLOCKED, "refused" };
	if (has_finding(probe, HEALTH_FOREIGN))
		return (struct judgement){ DNSBLV6_ZONE_WILDCARDED,
					   "answers that are no listings" };
	if (points[HEALTH_CLEAR] == HEALTH_YES || points[HEALTH_CLEAR6] == HEALTH_YES)
		return (struct judgement){ DNSBLV6_ZONE_LISTS_WORLD,
					   probe->has_names ? "\"invalid\" is listed"
							    : "127.0.0.1 is listed" };
	if (points[HEALTH_NOWHERE] == HEALTH_YES)
		return (struct judgement){ DNSBLV6_ZONE_WILDCARDED,
					   "a name that cannot exist has an answer" };
	return (struct judgement){ DNSBLV6_ZONE_OK, "" };
}

static struct judgement judge(const struct health_probe *probe)
{
	const enum health_finding *points = probe->points;
	struct judgement found = judge_excess(probe);

	if (found.state != DNSBLV6_ZONE_OK)
		return found;
	found = judge_listed(probe, points[HEALTH_LISTED]);
	if (found.state != DNSBLV6_ZONE_OK)
		return found;
	/* Not proven not to list the world is not good enough. */
	if (points[HEALTH_CLEAR] == HEALTH_SILENT || points[HEALTH_CLEAR] == HEALTH_FAILED)
		return judge_listed(probe, points[HEALTH_CLEAR]);
	if (probe->mode == HEALTH_CLASSIC)
		return (struct judgement){ DNSBLV6_ZONE_OK, "test points are right" };
	if (probe->has_ipv6)
		found = judge_listed(probe, points[HEALTH_LISTED6]);
	return found.state == DNSBLV6_ZONE_OK ? judge_canaries(probe) : found;
}

enum dnsblv6_zone_state health_judge(const struct health_probe *probe, const char **ret_reason)
{
	struct judgement found = judge(probe);

	if (!health_is_sick(found.state) && probe->wants_secure && !probe->is_secure)
		found = (struct judgement){ DNSBLV6_ZONE_INSECURE,
					    "answers that were not validated" };
	*ret_reason = found.reason;
	return found.state;
}

/* Is nothing wrong but that some canaries have no reply? */
static bool is_silence(const struct health_probe *probe)
{
	for (unsigned i = HEALTH_CANARY; i < HEALTH_POINT_COUNT; i++) {
		if (probe->points[i] != HEALTH_YES && probe->points[i] != HEALTH_SILENT)
			return false;
	}
	return probe->points[HEALTH_LISTED] == HEALTH_YES &&
	       (!probe->has_ipv6 || probe->points[HEALTH_LISTED6] == HEALTH_YES);
}

/* A bit for each canary without a reply. */
static uint32_t mute_canaries(const struct health_probe *probe)
{
	uint32_t mute = 0;

	for (unsigned i = 0; i < DNSBLV6_CANARY_COUNT; i++) {
		if (probe->points[HEALTH_CANARY + i] == HEALTH_SILENT)
			mute |= 1u << i;
	}
	return mute;
}

/*
 * An outage that begins between the questions of a probe, or questions that were lost, look like a
 * filter that answers nothing. So canaries without a reply are an outage first, and a filter when the
 * next probe finds the same ones.
 */
static enum dnsblv6_zone_state judge_silence(const struct health_probe *probe, uint32_t mute_before,
					     enum dnsblv6_zone_state was,
					     enum dnsblv6_zone_state found, const char **ret_reason)
{
	if (found != DNSBLV6_ZONE_FILTERED || was == DNSBLV6_ZONE_FILTERED || !is_silence(probe) ||
	    mute_canaries(probe) == mute_before)
		return found;
	*ret_reason = "no reply";
	return DNSBLV6_ZONE_UNREACHABLE;
}

/* ---- events ---- */

static uint32_t after(uint32_t now_s, uint32_t pause_s)
{
	return pause_s == 0 || now_s + pause_s >= HEALTH_NEVER_S ? HEALTH_NEVER_S : now_s + pause_s;
}

static uint32_t pause_max(const struct config *config, enum dnsblv6_zone_state state,
			  uint32_t age_s)
{
	uint32_t interval_s = config->probe_interval_s;
	bool is_acute = state == DNSBLV6_ZONE_UNREACHABLE || age_s < HEALTH_ACUTE_S;
	uint32_t max_s = is_acute ? HEALTH_PAUSE_S : HEALTH_PAUSE_MAX_S;

	if (interval_s > 0 && interval_s < max_s)
		max_s = interval_s;
	return max_s > config->failure_ttl_s ? max_s : config->failure_ttl_s;
}

/*
 * The next pause of a sick zone. It follows from the word alone, so that it grows whichever process
 * probes, and does not grow twice when a probe is late at first and then fails.
 */
static uint32_t next_pause(const struct config *config, const struct health_word *parts,
			   uint32_t now_s)
{
	uint32_t age_s = health_age_s(parts, now_s);
	uint32_t pause_s = config->failure_ttl_s + age_s;
	uint32_t max_s = pause_max(config, parts->state, age_s);

	return pause_s < max_s ? pause_s : max_s;
}

/*
 * Until a zone that is not sick is probed again. It is soon for one that has just been found filtered,
 * since an outage that begins can look so.
 */
static uint32_t routine_pause(const struct config *config, enum dnsblv6_zone_state state,
			      bool is_new)
{
	uint32_t interval_s = config->probe_interval_s;

	if (state == DNSBLV6_ZONE_FILTERED && is_new && interval_s > HEALTH_PAUSE_S)
		return HEALTH_PAUSE_S;
	return interval_s;
}

static void enter(const struct config *config, struct health_word *parts,
		  enum dnsblv6_zone_state state, uint32_t now_s)
{
	bool is_new = state != parts->state;

	if (is_new)
		parts->since_s = now_s;
	parts->state = state;
	parts->due_s = after(now_s, health_is_sick(state) ? next_pause(config, parts, now_s)
							  : routine_pause(config, state, is_new));
}

/* The zone is as it is: no row of failures. */
static void begin_anew(struct health *health, uint32_t now_s)
{
	struct health_evidence evidence = { .at_s = now_s };

	evidence.mute = health_unpack_evidence(health->evidence).mute;
	health->evidence = pack_evidence(&evidence);
}

static bool has_forged_negatives(const struct health_probe *probe)
{
	for (unsigned i = HEALTH_CANARY; i < HEALTH_POINT_COUNT; i++) {
		if (probe->points[i] == HEALTH_NO)
			return true;
	}
	return false;
}

uint64_t health_probed(struct health *health, const struct config *config, uint64_t word,
		       const struct health_probe *probe, uint32_t now_s, const char **ret_reason)
{
	struct health_word parts = health_unpack(word);
	enum dnsblv6_zone_state state = health_judge(probe, ret_reason);
	const uint32_t mute_before = health_unpack_evidence(health->evidence).mute;

	state = judge_silence(probe, mute_before, parts.state, state, ret_reason);
	health->evidence = pack_evidence(
		&(struct health_evidence){ .at_s = now_s, .mute = mute_canaries(probe) });
	health->probed_s = now_s;
	health->is_suspect = false;
	/* A probe without an answer says nothing about how the zone is to be asked. */
	if (probe->mode != HEALTH_UNKNOWN) {
		parts.mode = probe->mode;
		parts.has_ipv4 = probe->has_ipv4;
		parts.has_ipv6 = probe->has_ipv6;
		parts.has_classic = probe->points[HEALTH_CLASSIC_LISTED] == HEALTH_YES &&
				    probe->points[HEALTH_CLASSIC_CLEAR] == HEALTH_NO;
		parts.doubts_no = probe->mode != HEALTH_CLASSIC && has_forged_negatives(probe);
	}
	enter(config, &parts, state, now_s);
	return health_pack(&parts);
}

uint64_t health_looked(struct health *health, const struct config *config, uint64_t word,
		       const struct health_probe *probe, uint32_t now_s, const char **ret_reason)
{
	struct health_word parts = health_unpack(word);
	struct judgement found = judge_excess(probe);

	*ret_reason = found.state == DNSBLV6_ZONE_LISTS_WORLD
			      ? "an address of 127.128.0.0/9 is listed"
			      : found.reason;
	if (!health_is_distrusted(found.state) || health_is_distrusted(parts.state))
		return word;
	health->is_suspect = true;
	enter(config, &parts, found.state, now_s);
	return health_pack(&parts);
}

uint64_t health_secured(uint64_t trust, bool is_secure)
{
	struct health_trust parts = health_unpack_trust(trust);

	parts.is_secure = is_secure;
	return pack_trust(&parts);
}

bool health_is_pin_over(uint64_t word, uint32_t now_s)
{
	struct health_word parts = health_unpack(word);

	return parts.state == DNSBLV6_ZONE_INSECURE && health_age_s(&parts, now_s) >= HEALTH_PIN_S;
}

uint64_t health_looked_well(uint64_t trust, uint32_t begun_s)
{
	struct health_trust parts = health_unpack_trust(trust);

	parts.looked_s = begun_s;
	parts.had_vain = parts.was_lent = false;
	return pack_trust(&parts);
}

uint64_t health_looked_in_vain(uint64_t trust)
{
	struct health_trust parts = health_unpack_trust(trust);

	parts.had_vain = true;
	return pack_trust(&parts);
}

bool health_lend(uint64_t *trust, uint32_t now_s)
{
	struct health_trust parts = health_unpack_trust(*trust);

	if (parts.looked_s == 0 || now_s - parts.looked_s > HEALTH_LOOK_S)
		return false;
	parts.was_lent = true;
	*trust = pack_trust(&parts);
	return true;
}

bool health_claim_look(uint64_t *trust, uint32_t now_s)
{
	struct health_trust parts = health_unpack_trust(*trust);

	if (parts.whole_s < now_s)
		parts.whole_s = now_s;
	parts.whole_s += HEALTH_LOOK_S;
	if (parts.whole_s - now_s > HEALTH_LOOK_CREDIT * HEALTH_LOOK_S)
		return false;
	*trust = pack_trust(&parts);
	return true;
}

uint64_t health_answered(struct health *health, uint64_t word, uint32_t now_s)
{
	struct health_word parts = health_unpack(word);

	begin_anew(health, now_s);
	if (parts.state != DNSBLV6_ZONE_UNREACHABLE || parts.due_s <= now_s)
		return word;
	parts.due_s = now_s; /* it is back: have it probed with the next question */
	return health_pack(&parts);
}

/* Something that a probe can explain. Not more often than failures are remembered. */
static void suspect(struct health *health, const struct config *config, struct health_word *parts,
		    uint32_t now_s)
{
	health->is_suspect = true;
	if (parts->due_s > now_s && now_s - health->probed_s >= config->failure_ttl_s)
		parts->due_s = now_s;
}

uint64_t health_doubted(struct health *health, const struct config *config, uint64_t word,
			uint32_t now_s)
{
	struct health_word parts = health_unpack(word);

	if (health_is_sick(parts.state))
		return word;
	suspect(health, config, &parts, now_s);
	return health_pack(&parts);
}

/* One more failure of what began waited_ms ago. Are they enough? */
static bool is_failing(struct health *health, uint32_t waited_ms, uint32_t now_s)
{
	struct health_evidence evidence = health_unpack_evidence(health->evidence);
	uint32_t waited_s = waited_ms / 1000;
	uint32_t began_s = now_s > waited_s ? now_s - waited_s : 0;

	/* Not before the last answer, which may have come to another question meanwhile. */
	if (evidence.failures == 0 && evidence.at_s < began_s)
		evidence.at_s = began_s;
	evidence.failures++;
	health->evidence = pack_evidence(&evidence);
	return evidence.failures >= HEALTH_FAILURES_MIN &&
	       now_s - evidence.at_s >= HEALTH_FAILING_S;
}

static void fail(struct health *health, const struct config *config, struct health_word *parts,
		 uint32_t waited_ms, uint32_t now_s)
{
	if (is_failing(health, waited_ms, now_s))
		enter(config, parts, DNSBLV6_ZONE_UNREACHABLE, now_s);
}

uint64_t health_failed(struct health *health, const struct config *config, uint64_t word,
		       enum answer_failure failure, uint32_t now_s)
{
	struct health_word parts = health_unpack(word);

	if (health_is_sick(parts.state) || failure == ANSWER_MISASKED)
		return word;
	switch (failure) {
	case ANSWER_BLOCKED:
		enter(config, &parts, DNSBLV6_ZONE_BLOCKED, now_s);
		break;
	case ANSWER_LYING:
	case ANSWER_FILTERED:
	case ANSWER_FOREIGN:
	case ANSWER_INSECURE:
		suspect(health, config, &parts, now_s);
		break;
	default:
		fail(health, config, &parts, 0, now_s);
		break;
	}
	return health_pack(&parts);
}

uint64_t health_late(struct health *health, const struct config *config, uint64_t word,
		     uint32_t waited_ms, uint32_t now_s)
{
	struct health_word parts = health_unpack(word);

	if (health_is_distrusted(parts.state) || waited_ms < HEALTH_LATE_MS)
		return word;
	if (parts.state == DNSBLV6_ZONE_UNREACHABLE)
		enter(config, &parts, parts.state, now_s);
	else
		fail(health, config, &parts, waited_ms, now_s);
	return health_pack(&parts);
}

bool health_claim_probe(const struct config *config, uint64_t *word, uint32_t now_s)
{
	struct health_word parts = health_unpack(*word);

	if (parts.state == DNSBLV6_ZONE_UNPROBED)
		return true;
	if (parts.due_s > now_s)
		return false;
	parts.due_s = after(now_s, health_is_sick(parts.state) ? next_pause(config, &parts, now_s)
							       : config->failure_ttl_s);
	*word = health_pack(&parts);
	return true;
}

/* ---- what is said ---- */

int health_line(const char *zone, uint64_t old_word, uint64_t new_word, const char *reason,
		char *ret_line)
{
	struct health_word was = health_unpack(old_word);
	struct health_word is = health_unpack(new_word);
	bool is_ill = is.state != DNSBLV6_ZONE_OK;

	if (was.state == is.state)
		return -1;
	if (was.state == DNSBLV6_ZONE_UNPROBED && !is_ill)
		return -1;
	snprintf(ret_line, HEALTH_LINE_MAX, "[%s] zone %s, state=%s was=%s (%s%s)", zone,
		 is_ill ? "fell ill" : "recovered", dnsblv6_zone_state_name((int)is.state),
		 dnsblv6_zone_state_name((int)was.state),
		 is.state == DNSBLV6_ZONE_FILTERED ? "a resolver drops " : "", reason);
	return is_ill ? 4 : 6;
}
