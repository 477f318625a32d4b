/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/counts/followstatus.h"

#include <errno.h>

#include "lib/process/sharedmem.h"

static size_t size_of(size_t count)
{
	return (count + 1) * sizeof(struct followstatus_place);
}

int followstatus_open(struct followstatus *status, size_t count)
{
	void *memory = sharedmem_new(size_of(count));
	if (memory == NULL)
		return -ENOMEM;
	*status = (struct followstatus){ memory, count };
	return 0;
}

void followstatus_close(struct followstatus *status)
{
	sharedmem_free(status->places, size_of(status->count));
	*status = (struct followstatus){ 0 };
}

void followstatus_put(const struct followstatus *status, size_t index,
		      const struct followstatus_place *value)
{
	__atomic_store_n(&status->places[index].serial, value->serial, __ATOMIC_RELAXED);
	__atomic_store_n(&status->places[index].answered_s, value->answered_s, __ATOMIC_RELAXED);
}

struct followstatus_place followstatus_get(const struct followstatus *status, size_t index)
{
	return (struct followstatus_place){
		__atomic_load_n(&status->places[index].serial, __ATOMIC_RELAXED),
		__atomic_load_n(&status->places[index].answered_s, __ATOMIC_RELAXED)
	};
}
