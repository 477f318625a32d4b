/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/counts/zonestatus.h"

#include <errno.h>

#include "lib/dns/soa.h"
#include "lib/process/sharedmem.h"

int zonestatus_open(struct zonestatus *zonestatus, size_t worker_count, size_t zone_count)
{
	struct zonestatus made = { .worker_count = worker_count, .zone_count = zone_count };
	made.size_bytes = (worker_count * zone_count + 1) * sizeof(struct zonestatus_zone) +
			  zone_count * sizeof(struct zonestatus_files);
	made.memory = sharedmem_new(made.size_bytes);
	if (made.memory == NULL)
		return -ENOMEM;
	*zonestatus = made;
	return 0;
}

void zonestatus_close(struct zonestatus *zonestatus)
{
	sharedmem_free(zonestatus->memory, zonestatus->size_bytes);
	*zonestatus = (struct zonestatus){ 0 };
}

static struct zonestatus_zone *at(const struct zonestatus *zonestatus, size_t worker, size_t zone)
{
	return (struct zonestatus_zone *)zonestatus->memory + worker * zonestatus->zone_count +
	       zone;
}

void zonestatus_put(const struct zonestatus *zonestatus, size_t worker, size_t zone,
		    const struct zonestatus_zone *value)
{
	struct zonestatus_zone *place = at(zonestatus, worker, zone);
#define X(name) __atomic_store_n(&place->name, value->name, __ATOMIC_RELAXED);
	ZONESTATUS_ZONE_MAP(X)
#undef X
}

/* Behind all zones of all workers. */
static struct zonestatus_files *files_at(const struct zonestatus *zonestatus, size_t zone)
{
	return (struct zonestatus_files *)(void *)at(zonestatus, zonestatus->worker_count, 0) +
	       zone;
}

/* A byte after the other, as another process may read or write them. */
static void copy(uint8_t *to, const uint8_t *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		__atomic_store_n(to + i, __atomic_load_n(from + i, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}

void zonestatus_put_files(const struct zonestatus *zonestatus, size_t worker, size_t zone,
			  const uint8_t *bytes, size_t size)
{
	struct zonestatus_files *place = files_at(zonestatus, zone);
	if (worker != 0)
		return;
	__atomic_store_n(&place->size, size, __ATOMIC_RELAXED);
	copy(place->bytes, bytes, size);
}

struct zonestatus_files zonestatus_get_files(const struct zonestatus *zonestatus, size_t zone)
{
	const struct zonestatus_files *place = files_at(zonestatus, zone);
	struct zonestatus_files files = { .size = __atomic_load_n(&place->size, __ATOMIC_RELAXED) };
	if (files.size > sizeof(files.bytes))
		files.size = 0; /* a worker that clients have taken over may write anything */
	copy(files.bytes, place->bytes, files.size);
	return files;
}

static struct zonestatus_zone get(const struct zonestatus *zonestatus, size_t worker, size_t zone)
{
	const struct zonestatus_zone *place = at(zonestatus, worker, zone);
	struct zonestatus_zone value;
#define X(name) value.name = __atomic_load_n(&place->name, __ATOMIC_RELAXED);
	ZONESTATUS_ZONE_MAP(X)
#undef X
	return value;
}

static bool is_worse(const struct zonestatus_zone *a, const struct zonestatus_zone *b)
{
	/* Opening is worse than serving: that worker answers nothing yet. */
	static const int badness[] = { [ZONESTATUS_SERVING] = 0,
				       [ZONESTATUS_OPENING] = 1,
				       [ZONESTATUS_EXPIRED] = 2,
				       [ZONESTATUS_FAILED] = 3 };
	if (a->state != b->state)
		return badness[a->state] > badness[b->state];
	return a->built_s < b->built_s;
}

struct zonestatus_zone zonestatus_find_worst(const struct zonestatus *zonestatus, size_t zone)
{
	struct zonestatus_zone worst = get(zonestatus, 0, zone);
	uint64_t damage = worst.damage;
	uint64_t checked_s = worst.checked_s;
	for (size_t i = 1; i < zonestatus->worker_count; i++) {
		struct zonestatus_zone other = get(zonestatus, i, zone);
		damage = damage != 0 ? damage : other.damage;
		checked_s = other.checked_s > checked_s ? other.checked_s : checked_s;
		if (is_worse(&other, &worst))
			worst = other;
	}
	worst.damage = damage;
	worst.checked_s = checked_s;
	return worst;
}

bool zonestatus_all_have(const struct zonestatus *zonestatus, size_t zone, uint32_t serial)
{
	for (size_t i = 0; i < zonestatus->worker_count; i++) {
		struct zonestatus_zone found = get(zonestatus, i, zone);
		if (found.state != ZONESTATUS_SERVING ||
		    !soa_is_as_new((uint32_t)found.serial, serial))
			return false;
	}
	return true;
}

bool zonestatus_find(const struct zonestatus *zonestatus, size_t zone, enum zonestatus_state state,
		     struct zonestatus_zone *ret_zone)
{
	for (size_t i = 0; i < zonestatus->worker_count; i++) {
		*ret_zone = get(zonestatus, i, zone);
		if (ret_zone->state == (uint64_t)state)
			return true;
	}
	return false;
}
