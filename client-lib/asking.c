/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/asking.h"

#include "client-lib/trace.h"

/* ---- waiting ---- */

void asking_join(struct waiters *list, struct waiter *waiter)
{
	waiter->list = list;
	TAILQ_INSERT_TAIL(&list->head, waiter, link);
}

void asking_leave(struct waiter *waiter)
{
	if (waiter->list == NULL)
		return;
	TAILQ_REMOVE(&waiter->list->head, waiter, link);
	waiter->list = NULL;
}

void asking_wake(struct waiters *list, const struct cache_entry *entry)
{
	struct waiter *waiter;

	while ((waiter = TAILQ_FIRST(&list->head)) != NULL) {
		asking_leave(waiter);
		waiter->wake(waiter, entry);
	}
}

/* ---- zones ---- */

/* splitmix64: for jitter and names of probes, nothing that an enemy must not guess. */
uint64_t asking_random(struct asking *asking)
{
	uint64_t word = asking->random += 0x9e3779b97f4a7c15ull;
	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
	word = (word ^ word >> 27) * 0x94d049bb133111ebull;
	return word ^ word >> 31;
}

uint64_t asking_word(const struct zone *zone)
{
	return cache_zone_word(zone->asking->cache, zone->index);
}

void asking_set_word(struct zone *zone, uint64_t word, const char *reason)
{
	struct asking *asking = zone->asking;
	char line[HEALTH_LINE_MAX];
	uint64_t old_word = asking_word(zone);

	if (word == old_word)
		return;
	cache_set_zone_word(asking->cache, zone->index, word);
	int level = health_line(zone->config->text, old_word, word, reason, line);
	if (level >= 0 && asking->log != NULL)
		asking->log(asking->log_context, level, line);
}

int asking_ask(struct zone *zone, const struct dnsblv6_labels *relative,
	       const struct dnsblv6_labels *apex, uint16_t type, int64_t life_ms, stub_fn callback,
	       void *context, struct dnsblv6_labels *ret_name)
{
	struct asking *asking = zone->asking;
	uint64_t id;

	int ret =
		dnsblv6_name_join(relative->wire, relative->size, apex->wire, apex->size, ret_name);
	if (ret != DNSBLV6_OK)
		return ret;
	ret = stub_ask(asking->stub, ret_name, type, asking->now_ms, asking->now_ms + life_ms,
		       callback, context, &id);
	if (ret != DNSBLV6_OK)
		return ret;
	zone->asked++;
	trace_question(zone, ret_name, type);
	return DNSBLV6_OK;
}
