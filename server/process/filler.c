/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/filler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"
#include "server/confine/confine.h"
#include "server/xdp-kernel/fill.h"
#include "server/zone/catalog.h"
#include "server/zone/watch.h"

static const char context[] = "dnsblv6d";

#define TICK_MS	    100
#define UPKEEP_MS   1000
#define LEASE_S	    10	  /* a store that hangs costs the driver its answers then */
#define STEP_NAMES  10000 /* a few milliseconds */
#define REST_FACTOR 9	  /* the processor's time for reading, before it is read again */

/* What is known of a version, so that it is read once. */
struct version {
	uint64_t number;
	uint64_t checked_s; /* another file has another */
	int damage;
};

struct filling {
	struct version version; /* that was read last, to be answered with or not */
	bool is_filled;
	bool is_refused;
	uint32_t used_lines; /* by all when there was no room; another try is for when it is less */
	uint64_t next_ms;    /* when it may be read again */
};

struct filler {
	const struct filler_start *start;
	uv_loop_t loop;
	uv_timer_t timer;
	struct catalog catalog;
	struct watch watch;
	struct counters counters;
	struct tables tables;
	struct filling fillings[XDP_ZONES_MAX];
	size_t own_faces[XDP_ZONES_MAX]; /* indices of their counters */
	uint64_t upkeep_ms;
	bool is_begun;	/* it has the lock, and the rules are written */
	bool is_closed; /* the loop ends */
};

static volatile sig_atomic_t is_told;

static void on_sigterm(int number)
{
	(void)number;
	is_told = 1;
}

static size_t count_zones(const struct filler *filler)
{
	size_t count = filler->catalog.zone_count;
	return count < XDP_ZONES_MAX ? count : XDP_ZONES_MAX;
}

/* Does this generation serve, and no later one? */
static bool is_owner(const struct filler *filler)
{
	return __atomic_load_n(&filler->start->shared->owner, __ATOMIC_SEQ_CST) ==
	       filler->start->generation;
}

static bool is_to_end(const struct filler *filler)
{
	return is_told || (filler->is_begun && !is_owner(filler));
}

/* ---- which zones ---- */

static bool lies_in(const struct settings_name *name, const struct settings_name *other)
{
	return name->size >= other->size &&
	       memcmp(name->wire + name->size - other->size, other->wire, other->size) == 0;
}

/* By octets, not by labels: at worst a zone is left to the sockets that need not be. */
static bool is_logged(const struct settings *settings, const struct settings_name *domain)
{
	const struct settings_dnstap *dnstap = &settings->dnstap;
	bool is_named = dnstap->zone_count == 0;
	for (size_t i = 0; i < dnstap->zone_count && !is_named; i++)
		is_named = lies_in(&dnstap->zones[i], domain) || lies_in(domain, &dnstap->zones[i]);
	return dnstap->path[0] != '\0' && is_named;
}

enum driverstatus_state filler_judge(const struct settings *settings, size_t zone)
{
	if (zone >= XDP_ZONES_MAX)
		return DRIVERSTATUS_PLACE;
	if (settings->zones[zone].rules.count > 0)
		return DRIVERSTATUS_RULES;
	return is_logged(settings, &settings->zones[zone].domain) ? DRIVERSTATUS_LOGGED
								  : DRIVERSTATUS_READING;
}

/* Says it once: while nothing changes, and in the processes that come after this one. */
static void leave_to_sockets(struct filler *filler, size_t zone, enum driverstatus_state state,
			     enum fill_reason reason)
{
	const struct driverstatus *status = filler->start->driverstatus;
	struct driverstatus_zone before = driverstatus_get(status, zone);
	struct driverstatus_zone now = { .state = state, .reason = reason };
	driverstatus_put(status, zone, &now);
	if (before.state != now.state || before.reason != now.reason)
		log_info(filler->start->settings->zones[zone].domain.text,
			 "left to sockets by the network driver (%s)",
			 state == DRIVERSTATUS_UNFIT ? fill_reason_text(reason)
						     : driverstatus_text(state));
}

/* ---- the rules ---- */

static size_t list_faces(const struct filler *filler, struct tables_face *ret_faces)
{
	const struct catalog *catalog = &filler->catalog;
	for (size_t i = 0; i < catalog->face_count; i++) {
		const struct catalog_face *face = &catalog->faces[i];
		size_t zone = (size_t)(face->zone - catalog->zones);
		bool is_fit = face->is_own &&
			      filler_judge(filler->start->settings, zone) == DRIVERSTATUS_READING;
		ret_faces[i] =
			(struct tables_face){ .name = face->name->wire,
					      .name_size = face->name->size,
					      .zone = is_fit ? (unsigned)zone : XDP_ZONES_MAX };
	}
	return catalog->face_count;
}

/* 0, -ENOSPC or -ENOMEM. */
static int write_rules(struct filler *filler)
{
	const struct filler_start *start = filler->start;
	const struct settings *settings = start->settings;
	struct tables_face *faces = calloc(filler->catalog.face_count + 1, sizeof(*faces));
	if (faces == NULL)
		return -ENOMEM;
	const struct tables_rules rules = {
		.faces = faces,
		.face_count = list_faces(filler, faces),
		.addresses = start->addresses,
		.address_count = start->address_count,
		.links = start->links,
		.link_count = start->link_count,
		.unlimited = settings->rate_limit_allow.all,
		.unlimited_count = settings->rate_limit_allow.count,
		.payload = (uint16_t)settings->udp_max_payload,
		.rate = settings->rate_limit,
		.slip = settings->rate_limit_slip,
		.has_cookies = settings->has_cookies && settings->cookies.count > 0,
		.secrets = &settings->cookies,
	};
	int ret = tables_configure(&filler->tables, &rules);
	free(faces);
	return ret;
}

/* ---- counters ---- */

static void add(uint64_t *counter, uint64_t value)
{
	/* One writer; the parent must never see half of a number. */
	__atomic_store_n(counter, *counter + value, __ATOMIC_RELAXED);
}

static bool is_expiring(const struct zone *zone)
{
	return zone->has_version &&
	       zone_check_signatures(zone, (uint64_t)time(NULL)) != ZONE_SIGNATURES_GOOD;
}

/* more: what the driver has answered for a zone since the last time. */
static void count_zone(struct filler *filler, size_t zone, const struct xdp_counts *more)
{
	uint64_t *face = counters_of_face(&filler->counters, filler->own_faces[zone]);
	uint64_t *server = filler->counters.server;
	add(&face[COUNTERS_FACE_QUERIES], more->queries);
	add(&face[COUNTERS_FACE_NOERROR], more->noerror);
	add(&face[COUNTERS_FACE_NODATA], more->nodata);
	add(&face[COUNTERS_FACE_NXDOMAIN], more->nxdomain);
	add(&face[COUNTERS_FACE_TRUNCATED], more->truncated);
	if (more->dnssec > 0 && is_expiring(&filler->catalog.zones[zone]))
		add(&face[COUNTERS_FACE_EXPIRING], more->dnssec);
	add(&server[COUNTERS_SERVER_QUERIES], more->queries);
	add(&server[COUNTERS_SERVER_COOKIES], more->cookies);
	add(&server[COUNTERS_SERVER_DRIVER_ANSWERED], more->queries);
}

static void count_others(struct filler *filler, const struct xdp_other_counts *more)
{
	uint64_t *server = filler->counters.server;
	uint64_t limited =
		more->limited_truncated + more->limited_dropped + more->limited_badcookie;
	add(&server[COUNTERS_SERVER_QUERIES], limited + more->changed);
	add(&server[COUNTERS_SERVER_DROPPED], more->limited_dropped + more->changed);
	add(&server[COUNTERS_SERVER_LIMITED_TRUNCATED], more->limited_truncated);
	add(&server[COUNTERS_SERVER_LIMITED_DROPPED], more->limited_dropped);
	add(&server[COUNTERS_SERVER_BADCOOKIE], more->limited_badcookie);
	add(&server[COUNTERS_SERVER_COOKIES_BAD], more->cookies_bad);
	add(&server[COUNTERS_SERVER_DRIVER_PASSED], more->passed);
	add(&server[COUNTERS_SERVER_DRIVER_LIMITED], limited);
	add(&server[COUNTERS_SERVER_DRIVER_CHANGED], more->changed);
	add(&server[COUNTERS_SERVER_DRIVER_NO_ROOM], more->no_room);
}

/* now - before, field by field; both are nothing but 64-bit numbers. */
static void subtract(const struct xdp_counts *now, const struct xdp_counts *before,
		     struct xdp_counts *ret_more)
{
	uint64_t numbers[3][sizeof(*now) / sizeof(uint64_t)];
	memcpy(numbers[0], now, sizeof(*now));
	memcpy(numbers[1], before, sizeof(*before));
	for (size_t i = 0; i < sizeof(*now) / sizeof(uint64_t); i++)
		numbers[2][i] = numbers[0][i] - numbers[1][i];
	memcpy(ret_more, numbers[2], sizeof(*ret_more));
}

/* What is counted in the driver is never set to 0; what has been copied is the next filler's to know. */
static void copy_counts(struct filler *filler)
{
	struct xdp_counts *counted = filler->start->shared->counted;
	for (unsigned i = 0; i <= XDP_ZONES_MAX; i++) {
		struct xdp_counts now = tables_sum_counts(&filler->tables.arrays, i);
		struct xdp_other_counts others;
		struct xdp_counts more;
		subtract(&now, &counted[i], &more);
		counted[i] = now;
		if (i < count_zones(filler))
			count_zone(filler, i, &more);
		memcpy(&others, &more, sizeof(others));
		if (i == XDP_ZONES_MAX)
			count_others(filler, &others);
	}
}

/* Of a generation before, whose zones had other numbers, all is copied, or lost with its filler. */
static void take_over_counts(const struct filler *filler)
{
	struct filler_shared *shared = filler->start->shared;
	if (shared->counted_owner == filler->start->generation)
		return;
	for (unsigned i = 0; i <= XDP_ZONES_MAX && shared->counted_owner != 0; i++)
		shared->counted[i] = tables_sum_counts(&filler->tables.arrays, i);
	shared->counted_owner = filler->start->generation;
}

/* ---- leases ---- */

static struct tables_time look_at_clocks(const struct filler *filler)
{
	const struct settings_xdp *xdp = &filler->start->settings->xdp;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct tables_time){
		.now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
		.now_s = (uint64_t)time(NULL),
		.lease_ns = (uint64_t)(LEASE_S + xdp->keep_s) * 1000000000,
	};
}

/* The owner is looked at behind it: the parent writes the owner and then takes the lease away. */
static void renew(struct filler *filler)
{
	struct tables_time now = look_at_clocks(filler);
	tables_renew(&filler->tables, &now);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!is_owner(filler))
		tables_silence(&filler->tables.arrays);
}

static void keep_up(struct filler *filler)
{
	uint64_t now_ms = clock_now_ms();
	if (now_ms < filler->upkeep_ms)
		return;
	filler->upkeep_ms = now_ms + UPKEEP_MS;
	renew(filler);
	copy_counts(filler);
}

/* ---- filling ---- */

/* Also what was reserved for it, and is not answered from yet. */
static void remove_zone(struct filler *filler, size_t zone)
{
	tables_remove(&filler->tables, (unsigned)zone);
	filler->fillings[zone].is_filled = false;
}

/* What is there already may go for it: sockets answer meanwhile. */
static int reserve(struct filler *filler, size_t zone, uint32_t line_count,
		   struct tables_place *ret_place)
{
	int ret = tables_reserve(&filler->tables, (unsigned)zone, line_count, ret_place);
	if (ret != -ENOSPC || !filler->fillings[zone].is_filled)
		return ret;
	remove_zone(filler, zone);
	return tables_reserve(&filler->tables, (unsigned)zone, line_count, ret_place);
}

/* False when it is to end; else fill.reason says how it went. */
static bool walk(struct filler *filler, struct fill *fill,
		 bool (*step)(struct fill *fill, size_t name_count))
{
	while (step(fill, STEP_NAMES)) {
		keep_up(filler);
		if (is_to_end(filler))
			return false;
	}
	return true;
}

static void say_answering(struct filler *filler, size_t zone, const struct fill *fill)
{
	const struct driverstatus *status = filler->start->driverstatus;
	const struct zone *filled = &filler->catalog.zones[zone];
	bool is_news = driverstatus_get(status, zone).state != DRIVERSTATUS_ANSWERING;
	struct driverstatus_zone now = { .state = DRIVERSTATUS_ANSWERING,
					 .serial = filled->facts.serial,
					 .switched_s = (uint64_t)time(NULL),
					 .lines = fill->line_count };
	driverstatus_put(status, zone, &now);
	log_line(is_news ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG,
		 filler->start->settings->zones[zone].domain.text,
		 "answering in the network driver, serial=%u lines=%u", filled->facts.serial,
		 fill->line_count);
}

static void refuse(struct filler *filler, size_t zone, enum driverstatus_state state,
		   enum fill_reason reason)
{
	remove_zone(filler, zone);
	filler->fillings[zone].is_refused = true;
	filler->fillings[zone].used_lines =
		state == DRIVERSTATUS_MEMORY ? tables_used_lines(&filler->tables) : 0;
	leave_to_sockets(filler, zone, state, reason);
}

/* zone is begun, so that all of it is of one version. */
static void fill_zone(struct filler *filler, size_t zone)
{
	struct zone *filled = &filler->catalog.zones[zone];
	struct tables_place place;
	struct fill fill;
	fill_begin(&fill, filled, filler->start->settings->zones[zone].neighbours > 0);
	if (!walk(filler, &fill, fill_count))
		return;
	if (fill.reason == FILL_OK && reserve(filler, zone, fill.line_count, &place) != 0) {
		refuse(filler, zone, DRIVERSTATUS_MEMORY, FILL_OK);
		return;
	}
	if (fill.reason == FILL_OK) {
		fill_place(&fill, &place);
		if (!walk(filler, &fill, fill_write))
			return;
	}
	if (fill.reason != FILL_OK) {
		refuse(filler, zone, DRIVERSTATUS_UNFIT, fill.reason);
		return;
	}
	struct tables_time now = look_at_clocks(filler);
	tables_switch(&filler->tables, (unsigned)zone, filled->facts.expires_s, &now);
	filler->fillings[zone].is_filled = true;
	filler->fillings[zone].is_refused = false;
	say_answering(filler, zone, &fill);
}

static bool is_same(const struct version *a, const struct version *b)
{
	return a->number == b->number && a->checked_s == b->checked_s && a->damage == b->damage;
}

/* Has this version been read, and nothing changed that it was refused for? */
static bool is_done(const struct filler *filler, const struct filling *filling,
		    const struct version *version)
{
	if (!is_same(&filling->version, version))
		return false;
	return filling->is_filled ||
	       (filling->is_refused && tables_used_lines(&filler->tables) >= filling->used_lines);
}

static bool is_expired(const struct zone *zone)
{
	return zone->facts.expires_s != 0 && (uint64_t)time(NULL) >= zone->facts.expires_s;
}

/* zone is begun. */
static void look_at_version(struct filler *filler, size_t zone)
{
	const struct zone *looked = &filler->catalog.zones[zone];
	struct filling *filling = &filler->fillings[zone];
	const struct version version = { looked->version, looked->checked_s, looked->damage };
	if (is_expired(looked)) {
		refuse(filler, zone, DRIVERSTATUS_EXPIRED, FILL_OK);
		filling->version = (struct version){ 0 };
		return;
	}
	if (is_done(filler, filling, &version))
		return;
	/* Of processors: a busy machine is not to make it rest longer. */
	uint64_t before_us = clock_spent_us();
	filling->version = version;
	fill_zone(filler, zone);
	filling->next_ms = clock_now_ms() + (clock_spent_us() - before_us) / 1000 * REST_FACTOR;
}

static void look(struct filler *filler, size_t zone)
{
	struct zone *looked = &filler->catalog.zones[zone];
	if (filler_judge(filler->start->settings, zone) != DRIVERSTATUS_READING ||
	    clock_now_ms() < filler->fillings[zone].next_ms)
		return;
	/* What worker 0 has found: this process compares nothing with checksums. */
	looked->damage =
		(int)(int64_t)zonestatus_find_worst(filler->start->zonestatus, zone).damage;
	if (zone_begin(looked) != 0) {
		/* Before it is opened first, there is nothing to say. */
		if (filler->watch.zones[zone].is_decided)
			refuse(filler, zone, DRIVERSTATUS_UNFIT, FILL_CLOSED);
		return;
	}
	look_at_version(filler, zone);
	zone_end(looked);
}

/* ---- beginning and ending ---- */

/* Of this process, and given back by the kernel when it ends. */
static bool take_lock(const struct filler *filler)
{
	const struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	return fcntl(filler->start->lock_fd, F_SETLK, &lock) == 0;
}

/* What is known before any store is read. A filler before this one may have left it otherwise. */
static void begin_zone(struct filler *filler, size_t zone)
{
	const struct filler_start *start = filler->start;
	const struct driverstatus_zone reading = { .state = DRIVERSTATUS_READING };
	enum driverstatus_state state = filler_judge(start->settings, zone);
	if (state != DRIVERSTATUS_READING)
		leave_to_sockets(filler, zone, state, FILL_OK);
	else if (driverstatus_get(start->driverstatus, zone).state == DRIVERSTATUS_ANSWERING)
		driverstatus_put(start->driverstatus, zone, &reading);
}

/* When this generation serves and the filler of the one before has ended. */
static bool begin(struct filler *filler)
{
	if (!is_owner(filler) || !take_lock(filler))
		return false;
	filler->is_begun = true;
	take_over_counts(filler);
	tables_take_away(&filler->tables);
	int ret = write_rules(filler);
	for (size_t i = 0; i < filler->catalog.zone_count; i++)
		begin_zone(filler, i);
	if (ret != 0) {
		log_warning(context, "network driver answers nothing (%s)",
			    ret == -ENOSPC ? "more names, addresses or interfaces than it can have"
					   : strerror(-ret));
		for (size_t i = 0; i < filler->catalog.zone_count; i++)
			leave_to_sockets(filler, i, DRIVERSTATUS_CONFIG, FILL_OK);
	}
	return true;
}

static void close_loop(struct filler *filler)
{
	if (filler->is_closed)
		return;
	filler->is_closed = true;
	watch_close(&filler->watch);
	uv_close((uv_handle_t *)&filler->timer, NULL);
}

static void timer_on_tick(uv_timer_t *timer)
{
	struct filler *filler = timer->data;
	if (!is_to_end(filler) && (filler->is_begun || begin(filler))) {
		keep_up(filler);
		for (size_t i = 0;
		     i < count_zones(filler) && !is_to_end(filler) && filler->tables.is_configured;
		     i++)
			look(filler, i);
	}
	if (is_to_end(filler))
		close_loop(filler);
}

/*
 * When the server ends for good: the program goes on for a while, or answers nothing from here on.
 * When another generation serves, the parent has silenced it, and the next filler begins anew.
 */
static void end(struct filler *filler)
{
	if (!filler->is_begun)
		return;
	if (!is_owner(filler) || filler->start->settings->xdp.keep_s == 0)
		tables_take_away(&filler->tables);
	else
		renew(filler);
	copy_counts(filler);
}

static void set_signals(void)
{
	struct sigaction action = { .sa_handler = on_sigterm };
	child_ignore_signals();
	sigaction(SIGTERM, &action, NULL);
	child_unblock_signals();
}

/* Nothing of the store is looked up here by name. */
static int open_zones(struct filler *filler)
{
	const struct filler_start *start = filler->start;
	int ret = catalog_init(&filler->catalog, start->settings);
	for (size_t i = 0; i < filler->catalog.zone_count && ret == 0; i++)
		filler->catalog.zones[i].is_read_once = true;
	for (size_t i = 0; i < filler->catalog.face_count && ret == 0; i++) {
		const struct catalog_face *face = &filler->catalog.faces[i];
		size_t zone = (size_t)(face->zone - filler->catalog.zones);
		if (face->is_own && zone < XDP_ZONES_MAX)
			filler->own_faces[zone] = face->index;
	}
	return ret;
}

static int open_all(struct filler *filler)
{
	const struct filler_start *start = filler->start;
	filler->counters = counters_of_worker(start->bank, start->part);
	tables_init(&filler->tables, start->arrays);
	int ret = uv_loop_init(&filler->loop);
	if (ret == 0)
		ret = open_zones(filler);
	if (ret == 0)
		ret = watch_open(&filler->watch, &filler->loop, &filler->catalog, start->settings,
				 NULL, NULL, NULL);
	if (ret != 0)
		return ret;
	uv_timer_init(&filler->loop, &filler->timer); /* cannot fail */
	filler->timer.data = filler;
	return uv_timer_start(&filler->timer, timer_on_tick, 0, TICK_MS);
}

/* Before anything is looked at that others have written. */
static bool confine(const struct filler_start *start)
{
	const char *step = NULL;
	int ret = confine_worker(start->settings, start->filter, &step);
	if (ret != 0)
		log_error(context, "filler not confined, step=%s (%s)", step, strerror(-ret));
	return ret == 0;
}

int filler_serve(const struct filler_start *start)
{
	set_signals();
	if (!confine(start))
		return EX_OSERR;
	struct filler *filler = calloc(1, sizeof(*filler));
	if (filler == NULL)
		return EX_OSERR;
	filler->start = start;
	int ret = open_all(filler);
	if (ret != 0) {
		log_error(context, "filler not started (%s)", uv_strerror(ret));
		return EX_OSERR;
	}
	uv_run(&filler->loop, UV_RUN_DEFAULT);
	uv_loop_close(&filler->loop);
	end(filler);
	watch_free(&filler->watch);
	catalog_deinit(&filler->catalog);
	free(filler);
	return EX_OK;
}
