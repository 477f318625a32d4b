/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/commands/keydir.h"

#include "zone-tools/chain/chain.h"
#include "zone-tools/commands/commands.h"
#include "zone-tools/keys/parent.h"
#include "zone-tools/records/clock.h"
#include "zone-tools/records/store_settings.h"
#include "zone-tools/zones/handover.h"

#include "lib/common/log.h"
#include "lib/common/utc.h"
#include "lib/common/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* ---- options ---- */

void keydir_init(struct keydir *dir)
{
	memset(dir, 0, sizeof(*dir));
	dir->policy.propagation_s = KEYDIR_PROPAGATION_S;
}

const char *keydir_take_directory(void *member, const char *argument)
{
	struct keydir *dir = member;
	dir->directory = argument;
	return *argument == '\0' ? "not a directory" : NULL;
}

static const char *take_every(struct keydir *dir, const char *text, enum values_unit unit)
{
	int64_t every_s;
	enum { EVERY_MAX_S = 3660 * 86400 };
	if (!values_parse_number(text, unit, 0, EVERY_MAX_S, &every_s))
		return "permitted are 0 to 3660d, with s, m, h or d behind the number, such as "
		       "365d";
	dir->policy.every_s = (uint64_t)every_s;
	dir->has_every = true;
	return NULL;
}

const char *keydir_take_every(void *member, const char *argument)
{
	return take_every(member, argument, VALUES_AGE);
}

const char *keydir_take_algorithm(void *member, const char *argument)
{
	struct keydir *dir = member;
	dir->policy.algorithm = key_parse_algorithm(argument);
	dir->has_algorithm = true;
	return dir->policy.algorithm == 0 ? "neither ecdsap256sha256 nor ed25519" : NULL;
}

const char *keydir_take_propagation(void *member, const char *argument)
{
	struct keydir *dir = member;
	int64_t propagation_s;
	enum { PROPAGATION_MAX_S = 30 * 86400 };
	if (!values_parse_number(argument, VALUES_SECONDS, 0, PROPAGATION_MAX_S, &propagation_s))
		return "permitted are 0 to 30d, with s, m, h or d";
	dir->policy.propagation_s = (uint32_t)propagation_s;
	dir->has_propagation = true;
	return NULL;
}

const char *keydir_take_parent(void *member, const char *argument)
{
	struct keydir *dir = member;
	if (dir->parent_count == KEYDIR_PARENTS_MAX)
		return "more than 8 servers";
	struct keydir_parent *parent = &dir->parents[dir->parent_count++];
	parent->text = argument;
	dir->has_parents = true;
	return values_parse_address(argument, PARENT_PORT, 1, &parent->address)
		       ? NULL
		       : "no ADDRESS or ADDRESS@PORT";
}

const char *keydir_find_conflict(const struct keydir *dir, const struct keyfiles *files)
{
	bool has_policy =
		dir->has_every || dir->has_algorithm || dir->has_propagation || dir->has_parents;
	bool has_files =
		keyfiles_has_active(files) || files->count > 1 || files->set.withdrawn_count > 0;
	if (dir->directory != NULL && has_files)
		return "--keys goes without --key, --publish and --withdraw";
	if (dir->directory == NULL && has_policy)
		return "--roll-every, --algorithm, --propagation and --parent need --keys";
	return NULL;
}

/* ---- what the store remembers of the policy ---- */

static const char *recall_one(struct keydir *dir, bool has_parents,
			      const struct store_setting *setting)
{
	if (strcmp(setting->name, "roll-every") == 0)
		/* A store may remember a number of seconds. */
		return dir->has_every ? NULL : take_every(dir, setting->value, VALUES_SECONDS);
	if (strcmp(setting->name, "algorithm") == 0)
		return dir->has_algorithm ? NULL : keydir_take_algorithm(dir, setting->value);
	if (strcmp(setting->name, "propagation") == 0)
		return dir->has_propagation ? NULL : keydir_take_propagation(dir, setting->value);
	if (strcmp(setting->name, "parent") == 0)
		return has_parents ? NULL : keydir_take_parent(dir, setting->value);
	return NULL;
}

static int refuse_setting(const struct keydir *dir, const struct store_setting *setting,
			  const char *reason)
{
	char value[LOG_QUOTE_MAX];
	log_error(dir->store, "setting of the store not understood, setting=%s value=%s (%s)",
		  setting->name, log_quote(setting->value, strlen(setting->value), value), reason);
	return EX_DATAERR;
}

static int recall(struct keydir *dir)
{
	bool has_parents = dir->has_parents;
	dir->recalled = calloc(1, sizeof(*dir->recalled));
	int ret = dir->recalled != NULL ? store_settings_read(dir->store, dir->recalled) : -ENOMEM;
	if (ret == DNSBLV6_ENOTFOUND)
		return EX_OK;
	for (size_t i = 0; ret == DNSBLV6_OK && i < dir->recalled->count; i++) {
		const struct store_setting *setting = &dir->recalled->items[i];
		const char *reason = recall_one(dir, has_parents, setting);
		if (reason != NULL)
			return refuse_setting(dir, setting, reason);
	}
	return commands_end(dir->store, "keys not read", ret);
}

/* ---- keys ---- */

static struct key *find_key(const struct keydir *dir, const struct rollover_key *wanted)
{
	for (size_t i = 0; i < dir->key_count; i++) {
		uint8_t dnskey[KEY_DNSKEY_MAX];
		size_t size = key_dnskey(dir->keys[i], dnskey);
		if (size == wanted->dnskey_size && memcmp(dnskey, wanted->dnskey, size) == 0)
			return dir->keys[i];
	}
	return NULL;
}

/* Which signs all there is: without it nothing can be written. */
static bool is_needed(const struct rollover *rollover, size_t number)
{
	struct rollover_role roles[ROLLOVER_KEYS_MAX];
	rollover_assign_roles(rollover, roles);
	return roles[number].signs_zone;
}

static int read_key(struct keydir *dir, size_t number)
{
	char path[KEYRING_PATH_MAX];
	const struct rollover_key *wanted = &dir->rollover.keys[number];
	struct key *key = NULL;
	int ret = keyring_read(dir->directory, &dir->zone, wanted->dnskey, wanted->dnskey_size,
			       &key, path);
	if (ret == DNSBLV6_OK) {
		dir->keys[dir->key_count++] = key;
		return EX_OK;
	}
	if (!is_needed(&dir->rollover, number)) {
		log_warning(path, "key not read, and its rollover does not go on (%s)",
			    keyring_strerror(ret));
		return EX_OK;
	}
	log_error(path, "key not read, and it signs the zone (%s)", keyring_strerror(ret));
	return commands_exit_status(ret);
}

/* A zone that was signed by hand until now: its only key is to be in the directory. */
static int adopt(struct keydir *dir)
{
	const struct keyset *published = &dir->state.published;
	struct rollover_key *key = &dir->rollover.keys[0];
	if (published->published_count != 1) {
		log_error(dir->store, "keys not taken over (the zone has several: end their "
				      "rollover by hand first)");
		return EX_DATAERR;
	}
	memcpy(key->dnskey, published->published[0].rdata, sizeof(key->dnskey));
	key->dnskey_size = published->published[0].size;
	key->state = ROLLOVER_ACTIVE;
	key->made_s = dir->now_s;
	key->since_s = dir->now_s;
	dir->rollover.key_count = 1;
	return EX_OK;
}

/* What the store says, and the keys that it names. zone as in keydir_open(). */
static int read_state(struct keydir *dir, const struct dnsblv6_labels *zone)
{
	int ret = keystate_read(dir->store, dir->now_s, &dir->state);
	if (ret == DNSBLV6_OK && !dir->state.is_there && zone == NULL)
		ret = -ENOENT;
	if (ret != DNSBLV6_OK) {
		log_error(dir->store, "keys not read (%s)",
			  dir->state.problem != NULL ? dir->state.problem : chain_strerror(ret));
		return commands_exit_status(ret);
	}
	dir->zone = dir->state.is_there ? dir->state.facts.zone : *zone;
	dir->rollover = dir->state.rollover;
	/* By a clock that is behind instead nothing is written: clock_check(). */
	rollover_set_back(&dir->rollover, dir->now_s, CLOCK_BACK_S);
	return !dir->state.has_rollover && keyset_is_signed(&dir->state.published) ? adopt(dir)
										   : EX_OK;
}

static int read_keys(struct keydir *dir)
{
	int status = EX_OK;
	dir->before = dir->rollover;
	for (size_t i = 0; status == EX_OK && i < dir->rollover.key_count; i++)
		status = read_key(dir, i);
	return status;
}

int keydir_open(struct keydir *dir, const char *store, const struct dnsblv6_labels *zone,
		bool recalls, uint64_t now_s)
{
	dir->store = store;
	dir->now_s = now_s;
	int status = read_state(dir, zone);
	if (status == EX_OK && recalls)
		status = recall(dir);
	return status == EX_OK ? read_keys(dir) : status;
}

/* ---- the parent ---- */

/* One line, if there is anything to say. True: it has the new DS alone. */
static bool take_verdict(const struct keydir *dir, const struct keydir_parent *parent,
			 enum parent_verdict verdict, uint16_t tag)
{
	switch (verdict) {
	case PARENT_HAS_NEW:
		return true;
	case PARENT_HAS_OTHER:
		log_warning(dir->store,
			    "parent has the DS of another key, parent=%s awaited=%u "
			    "(keys stay as they are)",
			    parent->text, tag);
		return false;
	case PARENT_HAS_BOTH:
		log_info(dir->store, "parent still has the DS of the key before, parent=%s tag=%u",
			 parent->text, tag);
		return false;
	default:
		log_info(dir->store, "parent has no DS of the key yet, parent=%s tag=%u",
			 parent->text, tag);
		return false;
	}
}

static bool ask_parent(struct keydir *dir, const struct keydir_parent *parent,
		       const struct rollover_key *awaited)
{
	struct parent_answer answer;
	const struct rollover_key *old =
		dir->rollover.key_count > 1 ? &dir->rollover.keys[0] : NULL;
	int ret = parent_ask(&parent->address, &dir->zone, &answer);
	if (ret != DNSBLV6_OK) {
		log_warning(dir->store, "parent asked for a DS in vain, parent=%s awaited=%u (%s)",
			    parent->text, rollover_key_tag(awaited), parent_strerror(ret));
		return false;
	}
	if (answer.ttl > dir->rollover.ds_ttl)
		dir->rollover.ds_ttl = answer.ttl;
	return take_verdict(dir, parent, parent_judge(&answer, &dir->zone, awaited, old),
			    rollover_key_tag(awaited));
}

/* All of them have to have it; each is asked, and says what is wrong with it. */
static bool has_ds_at_parents(struct keydir *dir)
{
	const struct rollover_key *awaited = rollover_awaited(&dir->rollover);
	bool has_all = awaited != NULL && dir->parent_count > 0;
	for (size_t i = 0; awaited != NULL && i < dir->parent_count; i++)
		has_all = ask_parent(dir, &dir->parents[i], awaited) && has_all;
	return has_all;
}

/* ---- steps ---- */

/* Of the new key, else of the active one, else the default. */
static uint8_t choose_algorithm(const struct keydir *dir)
{
	if (dir->policy.algorithm != 0)
		return dir->policy.algorithm;
	return dir->rollover.key_count > 0 ? rollover_key_algorithm(&dir->rollover.keys[0])
					   : KEY_ECDSAP256SHA256;
}

static void take_key(struct keydir *dir, struct key *key, struct rollover_key *ret_key)
{
	memset(ret_key, 0, sizeof(*ret_key));
	ret_key->dnskey_size = (uint16_t)key_dnskey(key, ret_key->dnskey);
	dir->keys[dir->key_count++] = key;
}

/*
 * A store that was lost is signed with the key whose DS the zone above has: with another one the zone would
 * be bogus. It may have been built anew without keys before that. Such a file stays, whatever becomes of
 * the build.
 */
static int take_left_key(struct keydir *dir, struct rollover_key *ret_key)
{
	char path[KEYRING_PATH_MAX];
	struct key *key = NULL;
	int ret = keyring_find(dir->directory, &dir->zone, &key, path);
	if (ret != DNSBLV6_OK && ret != DNSBLV6_ENOTFOUND && ret != KEYRING_ESEVERAL)
		log_error(path, "key not read, and it signs the zone (%s)", keyring_strerror(ret));
	if (ret != DNSBLV6_OK)
		return ret;
	log_info(path, "key of the zone is there, and signs it");
	take_key(dir, key, ret_key);
	return DNSBLV6_OK;
}

static int make_key(struct keydir *dir, struct rollover_key *ret_key)
{
	uint16_t taken[ROLLOVER_KEYS_MAX];
	struct key *key = NULL;
	const bool is_first = dir->rollover.key_count == 0;
	if (is_first) {
		int found = take_left_key(dir, ret_key);
		if (found != DNSBLV6_ENOTFOUND)
			return found;
	}
	bool is_made = access(dir->directory, F_OK) != 0;
	for (size_t i = 0; i < dir->rollover.key_count; i++)
		taken[i] = rollover_key_tag(&dir->rollover.keys[i]);
	int ret = keyring_make(dir->directory, &dir->zone, choose_algorithm(dir), taken,
			       dir->rollover.key_count, &key, dir->made_path);
	if (ret != DNSBLV6_OK) {
		dir->made_path[0] = '\0';
		if (is_made)
			(void)rmdir(dir->directory);
		return ret;
	}
	if (is_made)
		handover_give(dir->directory);
	handover_give(dir->made_path);
	/* Another build may take the first one at once, and sign its store with it. */
	if (is_first)
		dir->made_path[0] = '\0';
	take_key(dir, key, ret_key);
	return DNSBLV6_OK;
}

/* Would all keys of the zone be at hand after this step? */
static bool has_keys_for(const struct keydir *dir, enum rollover_step step)
{
	struct rollover after = dir->rollover;
	if (step == ROLLOVER_START)
		return find_key(dir, &after.keys[0]) != NULL || after.key_count == 0;
	if (rollover_make(&after, &dir->policy, step, dir->now_s, NULL) != DNSBLV6_OK)
		return true; /* that is said elsewhere */
	for (size_t i = 0; i < after.key_count; i++) {
		if (find_key(dir, &after.keys[i]) == NULL)
			return false;
	}
	return true;
}

/* EX_OK, also when it was left undone with a warning: what is due may wait, what is wanted may not. */
static int make_step(struct keydir *dir, enum rollover_step step, bool is_wanted)
{
	struct rollover_key started;
	if (!has_keys_for(dir, step))
		return EX_OK;
	if (step == ROLLOVER_START) {
		/* A zone without a key has to have one. */
		bool is_needed = is_wanted || dir->rollover.key_count == 0;
		int ret = make_key(dir, &started);
		if (ret != DNSBLV6_OK) {
			log_line(is_needed ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, dir->directory,
				 "key not made%s (%s)",
				 is_needed ? "" : ", and the zone keeps the one that it has",
				 keyring_strerror(ret));
			return is_needed ? commands_exit_status(ret) : EX_OK;
		}
	}
	int ret = rollover_make(&dir->rollover, &dir->policy, step, dir->now_s, &started);
	if (ret == DNSBLV6_OK)
		dir->steps[dir->step_count++] = step;
	return ret == DNSBLV6_OK ? EX_OK : EX_SOFTWARE;
}

static int make_due_step(struct keydir *dir)
{
	struct rollover_next next = rollover_find_next(&dir->rollover, &dir->policy);
	return rollover_is_due(&next, dir->now_s) ? make_step(dir, next.step, false) : EX_OK;
}

static int refuse_step(const struct keydir *dir, enum rollover_step wanted, int status)
{
	char when[UTC_TEXT_SIZE];
	struct rollover_next next = rollover_find_next(&dir->rollover, &dir->policy);
	if (status == ROLLOVER_EEARLY) {
		utc_format(next.at_s, when);
		log_error(dir->store,
			  "step not made, step=%s possible=%s (too early: caches may "
			  "have what was before)",
			  rollover_step_word(wanted), when);
		return EX_TEMPFAIL;
	}
	log_error(dir->store, "step not made, step=%s (the next is %s)", rollover_step_word(wanted),
		  rollover_step_word(next.step));
	return EX_DATAERR;
}

static int make_wanted(struct keydir *dir, enum rollover_step wanted)
{
	int ret = rollover_check(&dir->rollover, &dir->policy, wanted, dir->now_s);
	if (ret != DNSBLV6_OK)
		return refuse_step(dir, wanted, ret);
	int status = make_step(dir, wanted, true);
	if (status == EX_OK && dir->step_count == 0) {
		log_error(dir->store, "step not made, step=%s (a key is missing)",
			  rollover_step_word(wanted));
		return EX_NOINPUT;
	}
	return status;
}

int keydir_plan(struct keydir *dir, enum rollover_step wanted, bool asks_parents)
{
	if (wanted != ROLLOVER_NONE)
		return make_wanted(dir, wanted);
	int status = EX_OK;
	if (asks_parents && has_ds_at_parents(dir))
		status = make_step(dir, ROLLOVER_DS_SEEN, false);
	return status == EX_OK ? make_due_step(dir) : status;
}

int keydir_fill(const struct keydir *dir, struct keyset *set)
{
	const struct key *keys[ROLLOVER_KEYS_MAX] = { NULL, NULL };
	for (size_t i = 0; i < dir->rollover.key_count; i++)
		keys[i] = find_key(dir, &dir->rollover.keys[i]);
	memcpy(set->memo, dir->state.memo, sizeof(set->memo));
	if (keyset_roll(set, &dir->zone, &dir->rollover, keys))
		return EX_OK;
	log_error(dir->store, "keys not used (%s)", key_strerror(KEY_ECRYPTO));
	return EX_SOFTWARE;
}

/* ---- the end ---- */

static void tell_step(const struct keydir *dir, enum rollover_step step)
{
	/* What was removed is known before; what was started afterwards. */
	bool is_end = step == ROLLOVER_REMOVE || step == ROLLOVER_CANCEL;
	const struct rollover *from = is_end ? &dir->before : &dir->rollover;
	size_t number = step == ROLLOVER_REMOVE ? 0 : from->key_count - 1;
	struct rollover_next next = rollover_find_next(&dir->rollover, &dir->policy);
	char when[UTC_TEXT_SIZE] = "-";
	if (next.at_s != 0)
		utc_format(next.at_s, when);
	log_info(dir->store, "key step made, step=%s tag=%u algorithm=%u next=%s at=%s",
		 rollover_step_word(step), rollover_key_tag(&from->keys[number]),
		 rollover_key_algorithm(&from->keys[number]), rollover_step_word(next.step), when);
}

/* Whose key is in no state any more. */
static void remove_files(const struct keydir *dir)
{
	char path[KEYRING_PATH_MAX];
	for (size_t i = 0; i < dir->before.key_count; i++) {
		const struct rollover_key *key = &dir->before.keys[i];
		bool is_kept = false;
		for (size_t j = 0; j < dir->rollover.key_count; j++)
			is_kept = is_kept || memcmp(key->dnskey, dir->rollover.keys[j].dnskey,
						    sizeof(key->dnskey)) == 0;
		if (is_kept || find_key(dir, key) == NULL)
			continue;
		int ret = keyring_path(dir->directory, &dir->zone, rollover_key_algorithm(key),
				       rollover_key_tag(key), path);
		if (ret == DNSBLV6_OK)
			ret = keyring_remove(path);
		if (ret != DNSBLV6_OK)
			log_warning(path, "old key not removed (%s)", key_strerror(ret));
	}
}

/* What one plan has made. */
static void end_plan(struct keydir *dir, bool is_written)
{
	for (size_t i = 0; is_written && i < dir->step_count; i++)
		tell_step(dir, dir->steps[i]);
	if (is_written && dir->step_count > 0)
		remove_files(dir);
	if (!is_written && dir->made_path[0] != '\0')
		keyring_remove(dir->made_path);
	for (size_t i = 0; i < dir->key_count; i++)
		key_free(dir->keys[i]);
	dir->key_count = 0;
	dir->step_count = 0;
	dir->made_path[0] = '\0';
}

int keydir_settle(struct keydir *dir, struct keyset *set, const struct resign_job *how)
{
	struct resign_result result;
	struct resign_job job = *how;
	if (dir->step_count == 0 || !dir->state.is_there ||
	    !keyset_is_signed(&dir->state.published))
		return EX_OK;
	int status = keydir_fill(dir, set);
	if (status != EX_OK)
		return status;
	job.path = dir->store;
	job.keyset = set;
	job.now_s = dir->now_s;
	int ret = resign_store(&job, &result);
	if (ret != DNSBLV6_OK)
		return keyfiles_end(set, dir->store, "store not signed", ret);
	end_plan(dir, true);
	status = read_state(dir, NULL);
	return status == EX_OK ? read_keys(dir) : status;
}

void keydir_close(struct keydir *dir, bool is_written)
{
	end_plan(dir, is_written);
	if (dir->recalled != NULL)
		store_settings_deinit(dir->recalled);
	free(dir->recalled);
	dir->recalled = NULL;
}
