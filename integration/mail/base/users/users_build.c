/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_build.h"

#include "lib/lmdb/writer.h"

#include <string.h>

struct run {
	struct users_builder *build;
	users_build_fn fill;
	void *context;
};

/* The order of lines, and of lists, decides nothing: what they say twice must be the same. */
static int put(struct users_builder *build, const struct users_key *key, struct store_bytes value,
	       uint64_t *count)
{
	struct store_bytes there;
	int ret = writer_get(build->writer, 0, key->bytes, key->size, &there);
	if (ret == STORE_OK)
		return there.size == value.size && memcmp(there.data, value.data, value.size) == 0
			       ? STORE_OK
			       : USERS_EOTHER;
	if (ret != DNSBLV6_ENOTFOUND)
		return ret;
	++*count;
	return writer_put(build->writer, 0, key->bytes, key->size, value.data, value.size);
}

/* Before the first one is written: LMDB may write before a transaction ends. */
static int hide(struct users_builder *build, const struct users_secret *secret)
{
	const bool is_first =
		!build->has_secrets && (secret->password[0] != '\0' || secret->scram[0] != '\0');
	const int ret = is_first ? writer_hide(build->writer) : STORE_OK;
	if (is_first && ret == STORE_OK)
		build->has_secrets = true;
	return ret;
}

int users_build_add(struct users_builder *build, const char *line, size_t size)
{
	struct users_facts *facts = &build->facts;
	struct users_value parsed;
	struct users_key key;
	struct users_key domain;
	uint8_t bytes[USERS_VALUE_SIZE];
	int ret = users_list_parse(line, size, facts, &key, &parsed);
	if (ret != STORE_OK || key.size == 0)
		return ret;
	if (build->drops_secrets)
		parsed.secret.password[0] = parsed.secret.scram[0] = '\0';
	ret = hide(build, &parsed.secret);
	if (ret != STORE_OK)
		return ret;
	build->has_aliases = build->has_aliases || parsed.alias.count > 0;
	const struct store_bytes none = { bytes, 0 };
	const struct store_bytes value = { bytes, users_value_encode(&parsed, bytes) };
	if (key.bytes[0] == USERS_ADDRESS)
		ret = put(build, &key, value, &facts->address_count);
	else if (key.bytes[0] == USERS_CATCHALL)
		ret = put(build, &key, value, &facts->catchall_count);
	if (ret != STORE_OK || users_file_is_postmaster_key(key.bytes, key.size))
		return ret;
	users_file_domain_key(&key, USERS_DOMAIN, &domain);
	return put(build, &domain, none, &facts->domain_count);
}

/* ---- targets of aliases ---- */

/* An alias whose targets are looked at. */
struct look {
	struct run *run;
	struct store_bytes alias; /* its key */
	int status;
};

static int check_target(struct writer *writer, struct store_bytes target)
{
	struct users_key key;
	struct store_bytes value;
	struct store_bytes targets;
	key.bytes[0] = USERS_ADDRESS;
	memcpy(key.bytes + 1, target.data, target.size);
	int ret = writer_get(writer, 0, key.bytes, target.size + 1, &value);
	if (ret == DNSBLV6_ENOTFOUND)
		return USERS_ENOMAILBOX;
	if (ret == STORE_OK)
		ret = users_alias_find(value, &targets);
	if (ret != STORE_OK)
		return ret;
	return targets.size > 0 ? USERS_ETOALIAS : STORE_OK;
}

/* The status of damage, or of a database that cannot be read; what is refused is kept in look. */
static int look_at(struct look *look, struct store_bytes target)
{
	const struct run *run = look->run;
	const int ret = check_target(run->build->writer, target);
	if (ret != USERS_ENOMAILBOX && ret != USERS_ETOALIAS)
		return ret;
	look->status = USERS_EREFUSED;
	if (run->build->refuse != NULL)
		run->build->refuse(run->context, look->alias, target, ret);
	return STORE_OK;
}

static int check_alias(void *context, struct store_bytes key, struct store_bytes value)
{
	struct look *look = context;
	struct store_bytes targets;
	struct store_bytes target;
	int ret = users_alias_find(value, &targets);
	look->alias = key;
	while (ret == STORE_OK && targets.size > 0)
		ret = users_alias_next(&targets, &target) ? look_at(look, target) : STORE_ECORRUPT;
	return ret;
}

/* When all entries are there: an alias may come before its targets. */
static int check_aliases(struct run *run)
{
	struct look look = { .run = run };
	if (!run->build->has_aliases)
		return STORE_OK;
	const int ret = writer_scan(run->build->writer, 0, check_alias, &look);
	return ret == STORE_OK ? look.status : ret;
}

/* ---- the transaction ---- */

static bool is_too_small(struct users_builder *build, const char *unit, uint64_t before,
			 uint64_t now)
{
	unsigned percent = build->max_shrink_percent;
	if (now >= before)
		return false;
	if (before - now < USERS_BUILD_SMALL_CHANGE && percent < USERS_BUILD_SMALL_PERCENT)
		percent = USERS_BUILD_SMALL_PERCENT;
	if ((before - now) * 100 <= before * percent)
		return false;
	build->unit = unit;
	build->before = before;
	build->now = now;
	return true;
}

static int check_shrink(struct users_builder *build, const struct users_facts *before)
{
	const struct users_facts *now = &build->facts;
	bool shrinks =
		is_too_small(build, "recipients", before->address_count + before->catchall_count,
			     now->address_count + now->catchall_count) ||
		is_too_small(build, "domains", before->domain_count, now->domain_count);
	return shrinks ? USERS_ESHRINK : STORE_OK;
}

static int take_facts(struct writer *writer, struct users_facts *ret_facts)
{
	struct store_bytes value;
	*ret_facts = (struct users_facts){ 0 };
	if (writer_is_new(writer))
		return STORE_OK;
	int ret = writer_get(writer, 0, USERS_FILE_FACTS_KEY, strlen(USERS_FILE_FACTS_KEY), &value);
	return ret == STORE_OK ? users_file_decode(value, ret_facts) : ret;
}

static int replace_all(struct writer *writer, void *context)
{
	struct run *run = context;
	struct users_builder *build = run->build;
	struct users_facts before;
	uint8_t facts[USERS_FILE_FACTS_SIZE];
	build->writer = writer;
	int ret = take_facts(writer, &before);
	if (ret == STORE_OK)
		ret = writer_clear(writer, 0);
	if (ret == STORE_OK)
		ret = run->fill(build, run->context);
	if (ret == STORE_OK)
		ret = check_aliases(run);
	if (ret == STORE_OK)
		ret = check_shrink(build, &before);
	if (ret != STORE_OK)
		return ret;
	users_file_encode(&build->facts, facts);
	return writer_put(writer, 0, USERS_FILE_FACTS_KEY, strlen(USERS_FILE_FACTS_KEY), facts,
			  sizeof(facts));
}

int users_build(const char *path, struct users_builder *build, users_build_fn fill, void *context)
{
	struct run run = { build, fill, context };
	return writer_run(path, &users_store, replace_all, &run);
}
