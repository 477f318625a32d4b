/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/resolver/stub_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/base/entropy.h"

#define BUCKETS_MIN 1024
#define BUCKETS_MAX 262144 /* 2 MB, of which are touched those in use */
#define SPARE	    64	   /* places of a zone for probes, looks and texts, beside max-requests */

static int open_descriptor(struct stub *stub)
{
	stub->all.waitset = waitset_new();
	if (stub->all.waitset < 0)
		return stub->all.waitset;
	int ret = backend_open(&stub->backend, stub->all.config);
	if (ret != 0 || !backend_is_used(&stub->backend))
		return ret;
	return waitset_add(stub->all.waitset, backend_fd(&stub->backend), STUB_BACKEND_TAG);
}

static uint32_t choose_buckets(uint32_t places)
{
	uint32_t count = BUCKETS_MIN;

	while (count < places && count < BUCKETS_MAX)
		count *= 2;
	return count;
}

static uint32_t count_zones(const struct config *config)
{
	return config->zone_count > 0 ? config->zone_count : 1;
}

static int take_memory(struct stub *stub)
{
	const struct config *config = stub->all.config;
	const uint32_t zones = count_zones(config);

	stub->places_max = config->max_requests + SPARE;
	stub->bucket_count = choose_buckets(zones * stub->places_max);
	stub->buckets = calloc(stub->bucket_count, sizeof(*stub->buckets));
	stub->slots = calloc(config->max_sockets, sizeof(*stub->slots));
	if (stub->buckets == NULL || stub->slots == NULL ||
	    pool_init(&stub->askers, sizeof(struct asker), zones * stub->places_max) != 0 ||
	    pool_init(&stub->questions, sizeof(struct question), zones * stub->places_max) != 0)
		return -ENOMEM;
	return timers_reserve(&stub->timers, stub->askers.room + config->max_sockets);
}

/* No question waits, and no slot was used. */
static void clear_lists(struct stub *stub)
{
	shares_init(&stub->shares, count_zones(stub->all.config), stub->all.config->max_sockets);
	for (unsigned i = 0; i < CONFIG_ZONES_MAX; i++)
		TAILQ_INIT(&stub->queues[i]);
	LIST_INIT(&stub->free);
	stub->slots_used = 0;
}

int stub_new(const struct config *config, struct stub **ret_stub)
{
	int ret = -ENOMEM;
	struct stub *stub = calloc(1, sizeof(*stub));

	if (stub == NULL)
		return ret;
	stub->all.config = config;
	stub->all.waitset = -1;
	stub->all.timers = &stub->timers;
	if (take_memory(stub) != 0)
		goto fail;
	clear_lists(stub);
	ret = open_descriptor(stub);
	if (ret != 0)
		goto fail;
	/* Without it buckets may be filled on purpose; that is no reason not to start. */
	(void)entropy_take(&stub->all.entropy, &stub->seed, sizeof(stub->seed));
	*ret_stub = stub;
	return 0;
fail:
	stub_free(stub);
	return ret;
}

/* Closes sockets without a word to the set, which may be the parent's. */
static void forget_all(struct stub *stub)
{
	for (uint32_t i = 0; i < stub->slots_used; i++) {
		flight_forget(&stub->slots[i].flight);
		stub->slots[i].question = NULL;
		stub->slots[i].flight.turn.place = 0;
	}
	LIST_INIT(&stub->all.keeping);
	pool_clear(&stub->askers);
	pool_clear(&stub->questions);
	memset(stub->places_taken, 0, sizeof(stub->places_taken));
}

int stub_after_fork(struct stub *stub)
{
	forget_all(stub);
	waitset_leave(stub->all.waitset);
	entropy_forget(&stub->all.entropy);
	stub->timers.count = 0;
	stub->all.lack_until_ms = 0;
	memset(stub->buckets, 0, stub->bucket_count * sizeof(*stub->buckets));
	clear_lists(stub); /* generations of slots go on counting: an id of before is unknown */
	backend_close(&stub->backend, true);
	return open_descriptor(stub);
}

void stub_lose(struct stub *stub)
{
	if (stub != NULL)
		backend_close(&stub->backend, true);
}

void stub_free(struct stub *stub)
{
	if (stub == NULL)
		return;
	forget_all(stub);
	if (stub->all.waitset >= 0)
		close(stub->all.waitset);
	backend_close(&stub->backend, false);
	timers_deinit(&stub->timers);
	pool_deinit(&stub->askers);
	pool_deinit(&stub->questions);
	free(stub->buckets);
	free(stub->slots);
	free(stub);
}
