/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/zone/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/common/log.h"
#include "lib/dns/soa.h"
#include "lib/store/tables.h"

#define INTERVAL_MS    1000
#define FOUND_TEXT_MAX (DNSBLV6_NAME_TEXT_SIZE + 8)

/* ---- files ---- */

static int look_at(const char *path, struct watch_file *ret_file)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return -errno;
	memset(ret_file, 0, sizeof(*ret_file));
	*ret_file =
		(struct watch_file){ status.st_dev, status.st_ino, status.st_size, status.st_ctim };
	return 0;
}

static bool is_same_file(const struct watch_file *a, const struct watch_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Is another try at the same file a waste? Permissions and free readers may come back. */
static bool is_final(int status)
{
	return zone_is_damage(status) || status == STORE_EENDLESS;
}

/* ---- the log ---- */

static bool is_of_filler(const struct watch_zone *watched)
{
	return watched->watch->bank == NULL;
}

/*
 * True when number is news, to this process and to the others of its generation. Processes that stay in
 * different states would else tell theirs in turn, for ever.
 */
static bool note(struct watch_zone *watched, enum counters_notice notice, int number)
{
	struct watch_noted *noted = &watched->noted[notice];
	if (noted->is_set && noted->number == number)
		return false;
	*noted = (struct watch_noted){ true, number };
	return is_of_filler(watched) ||
	       counters_note(watched->watch->bank, watched->index, notice, number);
}

/* A process that answers in spite of status is another state than one that cannot. */
static bool note_store(struct watch_zone *watched, int status)
{
	return note(watched, COUNTERS_NOTICE_STORE, 2 * status - (watched->zone->status != 0));
}

/* Another number for each version, or serial, of each file: what was said about it is said once. */
static int file_note(const struct watch_zone *watched, uint64_t number)
{
	uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15 ^
			 (uint64_t)watched->file.inode * 0xff51afd7ed558ccd;
	return (int)(mixed >> 33) | 1;
}

/* Before another file is served: secondaries may have this version, and take no older one. */
static void remember_serial(struct watch_zone *watched)
{
	const struct zone *zone = watched->zone;
	if (!zone->has_version ||
	    (watched->has_before && soa_is_as_new(watched->serial_before, zone->facts.serial)))
		return;
	watched->has_before = true;
	watched->serial_before = zone->facts.serial;
}

static void log_serving(struct watch_zone *watched)
{
	const struct zone *zone = watched->zone;
	/* Lists that were written again and say the same are a version of the file, and none of the zone. */
	int number = file_note(watched, zone->facts.serial);
	if (!note(watched, COUNTERS_NOTICE_STORE, number) || is_of_filler(watched))
		return;
	log_info(watched->name, "serving, path=%s serial=%u records=%llu", zone->path,
		 zone->facts.serial, (unsigned long long)zone->facts.record_count);
	if (zone->is_age_lost)
		log_warning(
			watched->name,
			"the time that the lists were written cannot be read, path=%s (the next "
			"build writes it)",
			zone->path);
	if (watched->has_secondaries && watched->has_before &&
	    !soa_is_as_new(zone->facts.serial, watched->serial_before))
		log_warning(watched->name,
			    "serial has gone back, before=%u serial=%u (secondaries keep what they "
			    "have)",
			    watched->serial_before, zone->facts.serial);
	if (zone->version != watched->opened_version && !reader_is_locked(zone->reader))
		log_warning(
			watched->name,
			"store is written and cannot be locked here, path=%s (its file system is "
			"read-only)",
			zone->path);
}

/* " found=other.example." when that is what is wrong. */
static void format_found(const struct watch_zone *watched, int status, char *ret_text)
{
	ret_text[0] = '\0';
	if (status != ZONE_EAPEX)
		return;
	char name[DNSBLV6_NAME_TEXT_SIZE];
	dnsblv6_name_format(watched->found.wire, watched->found.size, name);
	snprintf(ret_text, FOUND_TEXT_MAX, " found=%s.", name);
}

/* What workers answer is theirs to tell. */
static void log_refused_by_filler(const struct watch_zone *watched, const char *found, int status)
{
	const struct zone *zone = watched->zone;
	if (zone->status != 0)
		log_info(watched->name,
			 "store not opened by the filler, sockets answer, path=%s%s (%s)",
			 zone->path, found, zone_strerror(status));
	else
		log_warning(watched->name,
			    "store not switched by the filler, the network driver answers from the "
			    "old one, path=%s%s (%s)",
			    zone->path, found, zone_strerror(status));
}

/* status is why the file at the path is not what is served. */
static void log_refused(struct watch_zone *watched, int status)
{
	const struct zone *zone = watched->zone;
	char found[FOUND_TEXT_MAX];
	if (!note_store(watched, status))
		return;
	format_found(watched, status, found);
	if (is_of_filler(watched))
		log_refused_by_filler(watched, found, status);
	else if (zone->status != 0)
		log_error(watched->name, "store not opened, answering SERVFAIL, path=%s%s (%s)",
			  zone->path, found, zone_explain(status));
	else
		log_warning(watched->name,
			    "store not switched, serving the old one, path=%s%s (%s)", zone->path,
			    found, zone_strerror(status));
}

static void log_expired(struct watch_zone *watched)
{
	if (note_store(watched, -ETIME) && !is_of_filler(watched))
		log_error(watched->name, "store expired, answering SERVFAIL, path=%s expired=%llu",
			  watched->zone->path, (unsigned long long)watched->zone->facts.expires_s);
}

/* Answers go on all the same: clients that check nothing are not worse off. */
static void log_signatures(struct watch_zone *watched, uint64_t now_s)
{
	const struct zone *zone = watched->zone;
	if (!zone->has_version)
		return;
	uint64_t expires_s = zone->signing.expires_s;
	enum zone_signatures state = zone_check_signatures(zone, now_s);
	if (!note(watched, COUNTERS_NOTICE_SIGNATURES, (int)state) || is_of_filler(watched))
		return;
	switch (state) {
	case ZONE_SIGNATURES_GOOD:
		log_info(watched->name, "signatures good again");
		break;
	case ZONE_SIGNATURES_END_SOON:
		log_warning(watched->name, "signatures end soon, expires=%llu left_s=%llu",
			    (unsigned long long)expires_s, (unsigned long long)(expires_s - now_s));
		break;
	case ZONE_SIGNATURES_ENDED:
		log_error(watched->name,
			  "signatures have ended, validating resolvers refuse them, expired=%llu",
			  (unsigned long long)expires_s);
		break;
	case ZONE_SIGNATURES_NOT_YET:
		log_error(watched->name,
			  "signatures are not valid yet, validating resolvers refuse them, "
			  "made=%llu (is this clock right?)",
			  (unsigned long long)zone->facts.built_s);
		break;
	}
}

/* A record that cannot be decoded, or a page that LMDB refuses. Once for each version. */
static void log_failures(struct watch_zone *watched)
{
	const struct zone *zone = watched->zone;
	bool has_failed = zone->failed_count != watched->failed_count;
	watched->failed_count = zone->failed_count;
	if (has_failed && note(watched, COUNTERS_NOTICE_ANSWERS, file_note(watched, zone->version)))
		log_error(watched->name,
			  "store has records that cannot be read, answering "
			  "SERVFAIL for their names, path=%s",
			  zone->path);
}

static void put_on_board(const struct watch_zone *watched, enum zonestatus_state state)
{
	const struct zone *zone = watched->zone;
	const struct watch *watch = watched->watch;
	struct zonestatus_zone value = { .state = state,
					 .status = (uint64_t)(int64_t)zone->status,
					 .damage = (uint64_t)(int64_t)zone->damage,
					 .checked_s = zone->checked_s };
	if (watch->zonestatus == NULL)
		return;
	if (zone->has_version) {
		value.serial = zone->facts.serial;
		value.records = zone->facts.record_count;
		value.addresses = zone->facts.ipv4_count;
		value.networks = zone->facts.ipv6_count;
		value.names = zone->facts.name_count;
		value.built_s = zone->facts.built_s;
		value.lists_s = zone->lists_s;
		value.expires_s = zone->facts.expires_s;
		value.signatures_s = zone->is_signed ? zone->signing.expires_s : 0;
	}
	zonestatus_put(watch->zonestatus, watch->worker, watched->index, &value);
	zonestatus_put_files(watch->zonestatus, watch->worker, watched->index, zone->files,
			     zone->has_version ? zone->files_size : 0);
}

static bool is_expired(const struct zone *zone)
{
	return zone->facts.expires_s != 0 && (uint64_t)time(NULL) >= zone->facts.expires_s;
}

static void show_state(const struct watch_zone *watched)
{
	const struct zone *zone = watched->zone;
	if (zone->status != 0)
		put_on_board(watched, ZONESTATUS_FAILED);
	else
		put_on_board(watched, zone->has_version && is_expired(zone) ? ZONESTATUS_EXPIRED
									    : ZONESTATUS_SERVING);
}

static void log_state(struct watch_zone *watched)
{
	const struct zone *zone = watched->zone;
	if (zone->status != 0)
		log_refused(watched, zone->status);
	else if (is_expired(zone))
		log_expired(watched);
	else
		log_serving(watched);
}

/* ---- verifying ---- */

static void tell(struct watch *watch)
{
	if (watch->undecided_count != 0 || watch->is_told)
		return;
	watch->is_told = true;
	if (watch->on_decided != NULL)
		watch->on_decided(watch->context);
}

static void decide(struct watch_zone *watched)
{
	if (!watched->is_decided)
		watched->watch->undecided_count--;
	watched->is_decided = true;
	tell(watched->watch);
}

static void refuse(struct watch_zone *watched, int status)
{
	watched->refused_status = status;
	if (watched->zone->reader == NULL)
		watched->zone->status = status;
	log_refused(watched, status);
	show_state(watched);
	decide(watched);
}

static void accept_file(struct watch_zone *watched)
{
	watched->refused_status = 0;
	remember_serial(watched);
	int ret = zone_open(watched->zone);
	if (ret != 0) {
		refuse(watched, ret);
		return;
	}
	(void)look_at(watched->zone->path, &watched->seen);
	watched->zone->checked_s = (uint64_t)time(NULL);
	watched->opened_version = watched->zone->version;
	log_state(watched);
	show_state(watched);
	decide(watched);
}

static void poll_on_closed(uv_handle_t *handle)
{
	struct watch_zone *watched = handle->data;
	watched->is_closing = false;
}

static void stop_polling(struct watch_zone *watched)
{
	watched->is_verifying = false;
	watched->is_closing = true;
	uv_poll_stop(&watched->poll);
	uv_close((uv_handle_t *)&watched->poll, poll_on_closed);
}

/* Since it began to be verified? What is written in its place is no other file. */
static bool is_replaced(const struct watch_zone *watched)
{
	struct watch_file file = { 0 };
	return look_at(watched->zone->path, &file) == 0 &&
	       (file.device != watched->file.device || file.inode != watched->file.inode);
}

static void verify_on_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	struct watch_zone *watched = poll->data;
	stop_polling(watched);
	struct dnsblv6_facts facts = { 0 };
	int ret = verify_finish(&watched->verify, &facts);
	watched->found = facts.zone;
	/* Before the old store is closed for it. */
	if (ret == 0 && !zone_has_apex(watched->zone, &facts.zone))
		ret = ZONE_EAPEX;
	/* What was found is of a file that has gone: the one in its place is looked at in a second. */
	if (ret == 0 && is_replaced(watched))
		return;
	if (ret == 0)
		accept_file(watched);
	else
		refuse(watched, ret);
}

static void start_verify(struct watch_zone *watched, const struct watch_file *file)
{
	watched->file = *file;
	int ret = verify_start(&watched->verify, watched->zone->path, &zone_store, VERIFY_SOON);
	if (ret != 0) {
		refuse(watched, ret);
		return;
	}
	ret = uv_poll_init(watched->watch->loop, &watched->poll, watched->verify.fd);
	if (ret != 0) {
		verify_cancel(&watched->verify);
		refuse(watched, -ENOMEM);
		return;
	}
	watched->poll.data = watched;
	watched->is_verifying = true;
	ret = uv_poll_start(&watched->poll, UV_READABLE, verify_on_readable);
	if (ret != 0) {
		stop_polling(watched);
		verify_cancel(&watched->verify);
		refuse(watched, ret);
	}
}

/* ---- once a second ---- */

/* Refreshes what is kept of the version, so that all workers log the same one. */
static void refresh(struct watch_zone *watched)
{
	zone_begin(watched->zone);
	zone_end(watched->zone);
	log_state(watched);
	log_failures(watched);
	show_state(watched);
	log_signatures(watched, (uint64_t)time(NULL));
}

/*
 * Behind a lock file that was deleted or replaced, nothing of what is written from then on is seen. The lock file of a
 * store that is to take this one's place comes before it: to this one nothing is written then, and it stays as it is.
 */
static bool is_written_unseen(struct watch_zone *watched)
{
	struct watch_file file = { 0 };
	if (look_at(watched->zone->path, &file) != 0)
		return false;
	if (!reader_has_its_lock(watched->zone->reader))
		return !is_same_file(&file, &watched->seen);
	watched->seen = file;
	return false;
}

static void look(struct watch_zone *watched)
{
	if (watched->is_verifying || watched->is_closing)
		return;
	struct zone *zone = watched->zone;
	if (zone->reader != NULL && reader_is_current(zone->reader)) {
		if (!is_written_unseen(watched)) {
			refresh(watched);
			return;
		}
		log_signatures(watched, (uint64_t)time(NULL));
	}
	struct watch_file file = { 0 };
	int ret = look_at(zone->path, &file);
	if (ret != 0) {
		refuse(watched, ret);
		return;
	}
	if (is_final(watched->refused_status) && is_same_file(&file, &watched->file))
		return;
	start_verify(watched, &file);
}

static void timer_on_tick(uv_timer_t *timer)
{
	struct watch *watch = timer->data;
	for (size_t i = 0; i < watch->zone_count; i++)
		look(&watch->zones[i]);
	tell(watch);
}

/* ---- life ---- */

int watch_open(struct watch *watch, uv_loop_t *loop, struct catalog *catalog,
	       const struct settings *settings, const struct counters_bank *bank,
	       void (*on_decided)(void *context), void *context)
{
	*watch = (struct watch){ .loop = loop,
				 .bank = bank,
				 .zone_count = catalog->zone_count,
				 .undecided_count = catalog->zone_count,
				 .on_decided = on_decided,
				 .context = context };
	watch->zones = calloc(catalog->zone_count + 1, sizeof(*watch->zones));
	if (watch->zones == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < watch->zone_count; i++)
		watch->zones[i] =
			(struct watch_zone){ .watch = watch,
					     .zone = &catalog->zones[i],
					     .name = settings->zones[i].domain.text,
					     .index = i,
					     .has_secondaries =
						     settings->zones[i].secondaries.count > 0 };
	uv_timer_init(loop, &watch->timer);
	watch->timer.data = watch;
	/* At once, but from the loop: nothing is called back before this returns. */
	return uv_timer_start(&watch->timer, timer_on_tick, 0, INTERVAL_MS);
}

void watch_set_zonestatus(struct watch *watch, const struct zonestatus *zonestatus, size_t worker)
{
	watch->zonestatus = zonestatus;
	watch->worker = worker;
}

void watch_close(struct watch *watch)
{
	for (size_t i = 0; i < watch->zone_count; i++) {
		struct watch_zone *watched = &watch->zones[i];
		if (!watched->is_verifying)
			continue;
		stop_polling(watched);
		verify_cancel(&watched->verify);
	}
	uv_close((uv_handle_t *)&watch->timer, NULL);
}

void watch_free(struct watch *watch)
{
	free(watch->zones);
	watch->zones = NULL;
}
