/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/counts/driverstatus.h"

#include <errno.h>

#include "lib/process/sharedmem.h"

static size_t size_of(size_t count)
{
	return (count + 1) * sizeof(struct driverstatus_zone);
}

int driverstatus_open(struct driverstatus *status, size_t zone_count)
{
	void *memory = sharedmem_new(size_of(zone_count));
	if (memory == NULL)
		return -ENOMEM;
	*status = (struct driverstatus){ memory, zone_count };
	return 0;
}

void driverstatus_close(struct driverstatus *status)
{
	sharedmem_free(status->zones, size_of(status->count));
	*status = (struct driverstatus){ 0 };
}

void driverstatus_put(const struct driverstatus *status, size_t zone,
		      const struct driverstatus_zone *value)
{
	struct driverstatus_zone *place = &status->zones[zone];
	__atomic_store_n(&place->state, value->state, __ATOMIC_RELAXED);
	__atomic_store_n(&place->reason, value->reason, __ATOMIC_RELAXED);
	__atomic_store_n(&place->serial, value->serial, __ATOMIC_RELAXED);
	__atomic_store_n(&place->switched_s, value->switched_s, __ATOMIC_RELAXED);
	__atomic_store_n(&place->lines, value->lines, __ATOMIC_RELAXED);
}

struct driverstatus_zone driverstatus_get(const struct driverstatus *status, size_t zone)
{
	const struct driverstatus_zone *place = &status->zones[zone];
	return (struct driverstatus_zone){
		.state = __atomic_load_n(&place->state, __ATOMIC_RELAXED),
		.reason = __atomic_load_n(&place->reason, __ATOMIC_RELAXED),
		.serial = __atomic_load_n(&place->serial, __ATOMIC_RELAXED),
		.switched_s = __atomic_load_n(&place->switched_s, __ATOMIC_RELAXED),
		.lines = __atomic_load_n(&place->lines, __ATOMIC_RELAXED),
	};
}

#define X(name, text) text,
static const char *const texts[DRIVERSTATUS_COUNT] = { DRIVERSTATUS_MAP(X) };
#undef X

const char *driverstatus_text(enum driverstatus_state state)
{
	return (unsigned)state < DRIVERSTATUS_COUNT ? texts[state] : "unknown";
}
