/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/transfer/inquiry.h"

#include "lib/dns/soa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_MS = 2000,
	IDLE_MS = 30000,
	HURRY_MS = 120000,
	ANSWER_MAX = 4096,
};

/* ---- one target ---- */

static void ask(struct inquiry *inquiry, struct inquiry_target *target, uint64_t now_ms)
{
	const struct zone *zone = &inquiry->catalog->zones[target->zone];
	uint8_t wire[SOA_QUESTION_MAX];
	bool is_behind = !target->has_wanted || target->last.answered_s == 0 ||
			 target->last.serial != target->wanted;
	bool has_hurry = is_behind && now_ms < target->hurry_until_ms;
	outward_close(&inquiry->turns, &target->fd);
	if (outward_is_full(&inquiry->turns)) {
		outward_wait(&inquiry->turns, (size_t)(target - inquiry->targets));
		return;
	}
	target->next_ms = now_ms + (has_hurry ? TICK_MS : IDLE_MS);
	if (getentropy(&target->id, sizeof(target->id)) != 0)
		return;
	target->fd = outward_open(&inquiry->turns, inquiry->settings, target->address);
	size_t size = soa_make_question(zone->apex, zone->apex_size, target->id, wire);
	/* What is lost is asked again. */
	if (target->fd >= 0)
		(void)!send(target->fd, wire, size, MSG_NOSIGNAL);
}

static void receive(struct inquiry *inquiry, struct inquiry_target *target, size_t index)
{
	enum { READS_MAX = 16 }; /* of a secondary that floods, the rest has to wait */
	const struct zone *zone = &inquiry->catalog->zones[target->zone];
	uint8_t wire[ANSWER_MAX];
	for (int i = 0; i < READS_MAX && target->fd >= 0; i++) {
		uint32_t serial = 0;
		ssize_t size = recv(target->fd, wire, sizeof(wire), 0);
		if (size < 0)
			return;
		if (!soa_read_serial(wire, (size_t)size, zone->apex, zone->apex_size, target->id,
				     &serial))
			continue;
		target->last = (struct followstatus_place){ serial, (uint64_t)time(NULL) };
		followstatus_put(inquiry->status, index, &target->last);
		outward_close(&inquiry->turns, &target->fd);
	}
}

static void tend(struct inquiry *inquiry, size_t index, uint64_t now_ms)
{
	struct inquiry_target *target = &inquiry->targets[index];
	struct zone *zone = &inquiry->catalog->zones[target->zone];
	int ret = zone_begin(zone);
	zone_end(zone);
	if (ret != 0)
		return;
	if (!target->has_wanted || target->wanted != zone->facts.serial) {
		target->has_wanted = true;
		target->wanted = zone->facts.serial;
		target->hurry_until_ms = now_ms + HURRY_MS;
		target->next_ms = now_ms;
	}
	if (target->next_ms <= now_ms)
		ask(inquiry, target, now_ms);
}

static void timer_on_tick(uv_timer_t *timer)
{
	struct inquiry *inquiry = timer->data;
	uint64_t now_ms = uv_now(timer->loop);
	size_t first = outward_begin(&inquiry->turns);
	for (size_t i = 0; i < inquiry->target_count; i++) {
		receive(inquiry, &inquiry->targets[i], i);
		if (inquiry->turns.is_short)
			outward_close(&inquiry->turns, &inquiry->targets[i].fd);
	}
	for (size_t i = 0; i < inquiry->target_count; i++)
		tend(inquiry, (first + i) % inquiry->target_count, now_ms);
}

/* ---- life ---- */

int inquiry_open(struct inquiry *inquiry, uv_loop_t *loop, struct catalog *catalog,
		 const struct settings *settings, const struct followstatus *status)
{
	*inquiry = (struct inquiry){ .settings = settings,
				     .catalog = catalog,
				     .status = status,
				     .turns = { .max = settings->outward_max } };
	inquiry->targets = calloc(outward_count(settings) + 1, sizeof(*inquiry->targets));
	if (inquiry->targets == NULL)
		return -ENOMEM;
	struct outward_address found;
	while (outward_find(settings, inquiry->target_count, &found))
		inquiry->targets[inquiry->target_count++] = (struct inquiry_target){
			.zone = found.zone, .address = found.address, .fd = -1
		};
	uv_timer_init(loop, &inquiry->timer);
	inquiry->timer.data = inquiry;
	return inquiry->target_count == 0
		       ? 0
		       : uv_timer_start(&inquiry->timer, timer_on_tick, 0, TICK_MS);
}

void inquiry_close(struct inquiry *inquiry)
{
	for (size_t i = 0; i < inquiry->target_count; i++)
		outward_close(&inquiry->turns, &inquiry->targets[i].fd);
	uv_close((uv_handle_t *)&inquiry->timer, NULL);
}

void inquiry_free(struct inquiry *inquiry)
{
	free(inquiry->targets);
	memset(inquiry, 0, sizeof(*inquiry));
}
