/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/rollover.h"

#include <string.h>

enum {
	DNSKEY_HEAD_SIZE = 4, /* RFC 4034 section 2.1 */
	DNSKEY_ALGORITHM = 3,
	ECDSA_SIZE = DNSKEY_HEAD_SIZE + 64,
	ED25519_SIZE = DNSKEY_HEAD_SIZE + 32,
};

static const char *const state_words[] = {
	[ROLLOVER_GENERATED] = "generated", [ROLLOVER_PUBLISHED] = "published",
	[ROLLOVER_SUBMITTED] = "submitted", [ROLLOVER_ACTIVE] = "active",
	[ROLLOVER_RETIRING] = "retiring",
};

static const char *const step_words[] = {
	[ROLLOVER_NONE] = "none",	[ROLLOVER_START] = "start",
	[ROLLOVER_PUBLISH] = "publish", [ROLLOVER_SUBMIT] = "submit",
	[ROLLOVER_DS_SEEN] = "ds-seen", [ROLLOVER_SWITCH] = "switch",
	[ROLLOVER_REMOVE] = "remove",	[ROLLOVER_CANCEL] = "cancel",
};

enum {
	STATE_COUNT = sizeof(state_words) / sizeof(state_words[0]),
	STEP_COUNT = sizeof(step_words) / sizeof(step_words[0]),
};

/* ---- words ---- */

const char *rollover_state_word(enum rollover_state state)
{
	return state_words[state];
}

const char *rollover_step_word(enum rollover_step step)
{
	return step_words[step];
}

bool rollover_parse_state(const char *word, enum rollover_state *ret_state)
{
	for (unsigned i = 0; i < STATE_COUNT; i++) {
		if (strcmp(word, state_words[i]) == 0) {
			*ret_state = (enum rollover_state)i;
			return true;
		}
	}
	return false;
}

bool rollover_parse_step(const char *word, enum rollover_step *ret_step)
{
	for (unsigned i = ROLLOVER_START; i < STEP_COUNT; i++) {
		if (strcmp(word, step_words[i]) == 0) {
			*ret_step = (enum rollover_step)i;
			return true;
		}
	}
	return false;
}

/* ---- keys ---- */

uint8_t rollover_key_algorithm(const struct rollover_key *key)
{
	return key->dnskey[DNSKEY_ALGORITHM];
}

uint16_t rollover_key_tag(const struct rollover_key *key)
{
	return key_dnskey_tag(key->dnskey, key->dnskey_size);
}

static bool mixes_algorithms(const struct rollover *rollover)
{
	return rollover->key_count == ROLLOVER_KEYS_MAX &&
	       rollover_key_algorithm(&rollover->keys[0]) !=
		       rollover_key_algorithm(&rollover->keys[1]);
}

/* Flags 257, protocol 3, and as many bytes as a key of that algorithm has. */
static bool is_sound_key(const struct rollover_key *key)
{
	static const uint8_t head[] = { 1, 1, 3 };
	if (key->dnskey_size < DNSKEY_HEAD_SIZE || memcmp(key->dnskey, head, sizeof(head)) != 0)
		return false;
	switch (rollover_key_algorithm(key)) {
	case KEY_ECDSAP256SHA256:
		return key->dnskey_size == ECDSA_SIZE;
	case KEY_ED25519:
		return key->dnskey_size == ED25519_SIZE;
	default:
		return false;
	}
}

static bool are_sound_states(const struct rollover *rollover)
{
	enum rollover_state old = rollover->keys[0].state;
	enum rollover_state new = rollover->keys[1].state;
	if (rollover->key_count < ROLLOVER_KEYS_MAX)
		return rollover->key_count == 0 || old == ROLLOVER_ACTIVE;
	if (new == ROLLOVER_GENERATED && !mixes_algorithms(rollover))
		return false;
	return new == ROLLOVER_ACTIVE ? old == ROLLOVER_RETIRING
				      : old == ROLLOVER_ACTIVE &&new != ROLLOVER_RETIRING;
}

bool rollover_is_sound(const struct rollover *rollover)
{
	if (rollover->key_count > ROLLOVER_KEYS_MAX)
		return false;
	for (size_t i = 0; i < rollover->key_count; i++) {
		if (!is_sound_key(&rollover->keys[i]))
			return false;
	}
	if (rollover->key_count == ROLLOVER_KEYS_MAX &&
	    rollover_key_tag(&rollover->keys[0]) == rollover_key_tag(&rollover->keys[1]))
		return false;
	return are_sound_states(rollover);
}

/* ---- what comes next ---- */

static struct rollover_next after(enum rollover_step step, uint64_t since_s, uint64_t wait_s,
				  const struct rollover_policy *policy)
{
	return (struct rollover_next){ step, since_s + wait_s + policy->propagation_s };
}

/*
 * A key without a DS is not followed by itself: as long as validators do not know the zone to be
 * signed, nothing tells when the parent follows.
 */
static struct rollover_next next_of_one(const struct rollover_key *key,
					const struct rollover_policy *policy)
{
	bool has_other_algorithm =
		policy->algorithm != 0 && policy->algorithm != rollover_key_algorithm(key);
	if (key->ds_seen_s == 0)
		return (struct rollover_next){ ROLLOVER_DS_SEEN, 0 };
	if (has_other_algorithm)
		return (struct rollover_next){ ROLLOVER_START, key->since_s };
	if (policy->every_s == 0)
		return (struct rollover_next){ ROLLOVER_NONE, 0 };
	return (struct rollover_next){ ROLLOVER_START, key->since_s + policy->every_s };
}

struct rollover_next rollover_find_next(const struct rollover *rollover,
					const struct rollover_policy *policy)
{
	const struct rollover_key *old = &rollover->keys[0];
	const struct rollover_key *new = &rollover->keys[1];
	if (rollover->key_count == 0)
		return (struct rollover_next){ ROLLOVER_START, 1 };
	if (rollover->key_count < ROLLOVER_KEYS_MAX)
		return next_of_one(old, policy);
	switch (new->state) {
	case ROLLOVER_GENERATED:
		return after(ROLLOVER_PUBLISH, new->since_s, rollover->zone_ttl, policy);
	case ROLLOVER_PUBLISHED:
		return after(ROLLOVER_SUBMIT, new->since_s, rollover->dnskey_ttl, policy);
	case ROLLOVER_SUBMITTED:
		if (new->ds_seen_s == 0)
			return (struct rollover_next){ ROLLOVER_DS_SEEN, 0 };
		return after(ROLLOVER_SWITCH, new->ds_seen_s,
			     rollover->ds_ttl != 0 ? rollover->ds_ttl : ROLLOVER_DS_TTL_S, policy);
	default:
		return after(ROLLOVER_REMOVE, new->since_s,
			     mixes_algorithms(rollover) ? rollover->dnskey_ttl : rollover->zone_ttl,
			     policy);
	}
}

bool rollover_is_due(const struct rollover_next *next, uint64_t now_s)
{
	return next->step != ROLLOVER_NONE && next->at_s != 0 && now_s >= next->at_s;
}

const struct rollover_key *rollover_awaited(const struct rollover *rollover)
{
	const struct rollover_key *last = &rollover->keys[1];
	if (rollover->key_count < ROLLOVER_KEYS_MAX)
		last = rollover->key_count == 1 ? &rollover->keys[0] : NULL;
	if (last == NULL || last->ds_seen_s != 0)
		return NULL;
	return last->state == ROLLOVER_SUBMITTED || last->state == ROLLOVER_ACTIVE ? last : NULL;
}

/* ---- steps ---- */

static bool may_cancel(const struct rollover *rollover)
{
	return rollover->key_count == ROLLOVER_KEYS_MAX &&
	       (rollover->keys[1].state == ROLLOVER_GENERATED ||
		rollover->keys[1].state == ROLLOVER_PUBLISHED);
}

int rollover_check(const struct rollover *rollover, const struct rollover_policy *policy,
		   enum rollover_step step, uint64_t now_s)
{
	struct rollover_next next = rollover_find_next(rollover, policy);
	switch (step) {
	case ROLLOVER_START: /* at any time, by hand */
		return rollover->key_count < ROLLOVER_KEYS_MAX ? DNSBLV6_OK : ROLLOVER_ESTEP;
	case ROLLOVER_CANCEL:
		return may_cancel(rollover) ? DNSBLV6_OK : ROLLOVER_ESTEP;
	case ROLLOVER_DS_SEEN:
		return rollover_awaited(rollover) != NULL ? DNSBLV6_OK : ROLLOVER_ESTEP;
	default:
		if (step == ROLLOVER_NONE || next.step != step)
			return ROLLOVER_ESTEP;
		return rollover_is_due(&next, now_s) ? DNSBLV6_OK : ROLLOVER_EEARLY;
	}
}

static void enter(struct rollover_key *key, enum rollover_state state, uint64_t now_s)
{
	key->state = state;
	key->since_s = now_s;
}

static void start(struct rollover *rollover, uint64_t now_s, const struct rollover_key *started)
{
	struct rollover_key *key = &rollover->keys[rollover->key_count++];
	*key = *started;
	key->made_s = now_s;
	key->ds_seen_s = 0;
	if (rollover->key_count == 1)
		enter(key, ROLLOVER_ACTIVE, now_s);
	else
		enter(key, mixes_algorithms(rollover) ? ROLLOVER_GENERATED : ROLLOVER_PUBLISHED,
		      now_s);
}

/* Until the next rollover the TTLs count as they are then. */
static void end(struct rollover *rollover)
{
	rollover->key_count = 1;
	rollover->dnskey_ttl = 0;
	rollover->zone_ttl = 0;
	rollover->ds_ttl = 0;
	memset(&rollover->keys[1], 0, sizeof(rollover->keys[1]));
}

int rollover_make(struct rollover *rollover, const struct rollover_policy *policy,
		  enum rollover_step step, uint64_t now_s, const struct rollover_key *started)
{
	int ret = rollover_check(rollover, policy, step, now_s);
	if (ret != DNSBLV6_OK)
		return ret;
	struct rollover_key *keys = rollover->keys;
	switch (step) {
	case ROLLOVER_START:
		start(rollover, now_s, started);
		break;
	case ROLLOVER_PUBLISH:
		enter(&keys[1], ROLLOVER_PUBLISHED, now_s);
		break;
	case ROLLOVER_SUBMIT:
		enter(&keys[1], ROLLOVER_SUBMITTED, now_s);
		break;
	case ROLLOVER_DS_SEEN:
		keys[rollover->key_count - 1].ds_seen_s = now_s;
		break;
	case ROLLOVER_SWITCH:
		enter(&keys[0], ROLLOVER_RETIRING, now_s);
		enter(&keys[1], ROLLOVER_ACTIVE, now_s);
		break;
	case ROLLOVER_REMOVE:
		keys[0] = keys[1];
		end(rollover);
		break;
	default:
		end(rollover);
		break;
	}
	return DNSBLV6_OK;
}

static void set_back(uint64_t *when_s, uint64_t now_s, uint64_t slack_s)
{
	if (*when_s > now_s + slack_s)
		*when_s = now_s;
}

void rollover_set_back(struct rollover *rollover, uint64_t now_s, uint64_t slack_s)
{
	for (size_t i = 0; i < rollover->key_count; i++) {
		struct rollover_key *key = &rollover->keys[i];
		set_back(&key->made_s, now_s, slack_s);
		set_back(&key->since_s, now_s, slack_s);
		set_back(&key->ds_seen_s, now_s, slack_s);
	}
}

void rollover_note_ttls(struct rollover *rollover, uint32_t dnskey_ttl, uint32_t zone_ttl)
{
	if (dnskey_ttl > rollover->dnskey_ttl)
		rollover->dnskey_ttl = dnskey_ttl;
	if (zone_ttl > rollover->zone_ttl)
		rollover->zone_ttl = zone_ttl;
}

/* ---- roles ---- */

static struct rollover_role role_of(const struct rollover *rollover, size_t number)
{
	const struct rollover_key *key = &rollover->keys[number];
	bool has_two_algorithms = mixes_algorithms(rollover);
	bool is_active = key->state == ROLLOVER_ACTIVE;
	bool is_hidden = key->state == ROLLOVER_GENERATED ||
			 (key->state == ROLLOVER_RETIRING && has_two_algorithms);
	return (struct rollover_role){
		.is_published = !is_hidden,
		.signs_zone = is_active || has_two_algorithms,
		.is_first = is_active,
		/* While keys change, the last one is not taken back from the parent. */
		.is_submitted = key->state == ROLLOVER_SUBMITTED ||
				(is_active && (key->ds_seen_s == 0 || number > 0)),
	};
}

void rollover_assign_roles(const struct rollover *rollover,
			   struct rollover_role ret_roles[ROLLOVER_KEYS_MAX])
{
	memset(ret_roles, 0, ROLLOVER_KEYS_MAX * sizeof(*ret_roles));
	for (size_t i = 0; i < rollover->key_count; i++)
		ret_roles[i] = role_of(rollover, i);
	/* A parent takes one set of DS records. */
	if (ret_roles[1].is_submitted)
		ret_roles[0].is_submitted = false;
}
