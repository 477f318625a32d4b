/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/scrub.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "lib/common/log.h"
#include "lib/store/tables.h"
#include "server/zone/zone.h"

/* How often a child is asked whether it has ended. */
#define TICK_MS 100

/* ---- what was found ---- */

/* Each state of a store once: the damage, its end, and why it could not be read. */
static bool is_news(struct scrub_zone *scrubbed, int status)
{
	bool is_told = scrubbed->told == status;
	scrubbed->told = status;
	return !is_told;
}

static void find_damage(struct scrub_zone *scrubbed, struct zone *zone, int status)
{
	zone->damage = status;
	if (is_news(scrubbed, status))
		log_error(scrubbed->name,
			  "served store is damaged, some answers are wrong, put a good one in its "
			  "place, path=%s (%s)",
			  zone->path, zone_strerror(status));
}

static void find_whole(struct scrub_zone *scrubbed, struct zone *zone)
{
	int before = scrubbed->told;
	zone->damage = 0;
	zone->checked_s = (uint64_t)time(NULL);
	if (is_news(scrubbed, 0))
		log_info(scrubbed->name, "served store is %s, path=%s",
			 zone_is_damage(before) ? "whole again" : "read again", zone->path);
}

static void find_obstacle(struct scrub_zone *scrubbed, const struct zone *zone, int status)
{
	/* It is damaged all the same. */
	if (zone->damage == 0 && is_news(scrubbed, status))
		log_warning(scrubbed->name,
			    "served store cannot be compared with its checksum, path=%s (%s)",
			    zone->path, zone_strerror(status));
}

/* Is the file at the path what is served? */
static bool is_readable(const struct zone *zone)
{
	return zone->reader != NULL && reader_is_current(zone->reader);
}

/* True when the store must be read once more before it is called damaged. */
static bool conclude(struct scrub *scrub, int status)
{
	struct scrub_zone *scrubbed = &scrub->zones[scrub->at];
	struct zone *zone = &scrub->catalog->zones[scrub->at];
	bool is_confirmed = scrub->suspicion != 0;
	scrub->suspicion = 0;
	if (!is_readable(zone))
		return false; /* what was read is not known */
	if (status == 0) {
		find_whole(scrubbed, zone);
	} else if (!zone_is_damage(status)) {
		find_obstacle(scrubbed, zone, status);
	} else if (is_confirmed) {
		find_damage(scrubbed, zone, status);
	} else {
		scrub->suspicion = status;
		return true;
	}
	return false;
}

/* ---- one store after the other ---- */

static void timer_on_tick(uv_timer_t *timer);

static void wait_ms(struct scrub *scrub, uint64_t ms)
{
	uv_timer_start(&scrub->timer, timer_on_tick, ms, 0);
}

static void begin(struct scrub *scrub)
{
	const struct zone *zone = &scrub->catalog->zones[scrub->at];
	int ret = verify_start(&scrub->verify, zone->path, &zone_store, VERIFY_IDLE);
	if (ret != 0) {
		find_obstacle(&scrub->zones[scrub->at], zone, ret);
		return;
	}
	scrub->is_reading = true;
	scrub->is_late = false;
	scrub->deadline_ms = uv_now(scrub->timer.loop) + SCRUB_READ_MAX_S * (uint64_t)1000;
}

/* Begins with the next store that can be read, or rests when this was the last. */
static void go_on(struct scrub *scrub)
{
	for (; scrub->at < scrub->catalog->zone_count; scrub->at++) {
		if (is_readable(&scrub->catalog->zones[scrub->at]))
			begin(scrub);
		if (!scrub->is_reading)
			continue;
		wait_ms(scrub, TICK_MS);
		return;
	}
	uint64_t rest_ms = scrub->used_us * SCRUB_REST_PARTS / 1000;
	scrub->at = 0;
	scrub->used_us = 0;
	wait_ms(scrub, rest_ms > scrub->interval_ms ? rest_ms : scrub->interval_ms);
}

static void timer_on_tick(uv_timer_t *timer)
{
	struct scrub *scrub = timer->data;
	if (!scrub->is_reading) {
		go_on(scrub);
		return;
	}
	struct dnsblv6_facts facts;
	int ret = verify_try_finish(&scrub->verify, &facts);
	if (ret == -EAGAIN) {
		if (!scrub->is_late && uv_now(timer->loop) >= scrub->deadline_ms) {
			scrub->is_late = true;
			verify_kill(&scrub->verify);
		}
		wait_ms(scrub, TICK_MS);
		return;
	}
	scrub->is_reading = false;
	scrub->used_us += scrub->verify.used_us;
	if (!conclude(scrub, scrub->is_late && ret == STORE_EVERIFIER ? STORE_EENDLESS : ret))
		scrub->at++;
	go_on(scrub);
}

/* ---- life ---- */

int scrub_open(struct scrub *scrub, uv_loop_t *loop, struct catalog *catalog,
	       const struct settings *settings)
{
	*scrub = (struct scrub){ .catalog = catalog,
				 .interval_ms = settings->verify_interval_s * (uint64_t)1000 };
	scrub->zones = calloc(catalog->zone_count + 1, sizeof(*scrub->zones));
	if (scrub->zones == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->zone_count; i++)
		scrub->zones[i].name = settings->zones[i].domain.text;
	uv_timer_init(loop, &scrub->timer);
	scrub->timer.data = scrub;
	/* What is served now was verified a moment ago. */
	if (scrub->interval_ms != 0)
		wait_ms(scrub, scrub->interval_ms);
	return 0;
}

void scrub_close(struct scrub *scrub)
{
	/* Not waited for: this process ends soon. */
	if (scrub->is_reading)
		verify_kill(&scrub->verify);
	scrub->is_reading = false;
	uv_close((uv_handle_t *)&scrub->timer, NULL);
}

void scrub_free(struct scrub *scrub)
{
	free(scrub->zones);
	scrub->zones = NULL;
}
