/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/keeper.h"

#include "integration/mail/mail-stored/store/counters.h"
#include "lib/common/log.h"
#include "lib/process/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/statvfs.h>

static const char context[] = "mail-stored";

#define EXPIRE_LOOKS 16 /* in one turn of the loop */
#define SPACE_SHORT  20 /* less than one in so many blocks is free */

/* Says what is wrong; a store that has stopped, or lost its index, is the owner's business. */
static void note(struct keeper *keeper, const char *what, int status)
{
	if (status == MAILSTORE_EFAILED || status == MAILSTORE_EUNSURE || status == -EIO ||
	    status == MAILSTORE_ENOINDEX)
		keeper->fail(keeper->owner, status);
	else
		log_warning(context, "%s, path=%s (%s)", what, keeper->setup->directory,
			    mailstore_strerror(status));
}

/* ---- the index ---- */

/* A full disk is one line, however often this is tried: the log has what the index lacks. */
static void on_index(uv_timer_t *timer)
{
	struct keeper *keeper = timer->data;
	int ret = maillayer_flush(keeper->layer);
	if (ret == 0 || ret == -EOPNOTSUPP) {
		if (keeper->is_behind)
			log_info(context, "index written again");
		keeper->is_behind = false;
		return;
	}
	if (!keeper->is_behind || ret == MAILSTORE_EFAILED || ret == MAILSTORE_EUNSURE ||
	    ret == MAILSTORE_ENOINDEX)
		note(keeper, "index not written", ret);
	keeper->is_behind = true;
}

/* ---- space ---- */

static bool is_space_short(const struct keeper *keeper)
{
	struct statvfs facts;
	return statvfs(keeper->setup->directory, &facts) == 0 &&
	       facts.f_bavail < facts.f_blocks / SPACE_SHORT;
}

/* A recipient that is refused for it is in no line here: only its client hears of it. */
static void look_at_room(struct keeper *keeper)
{
	const struct stored_setup *setup = keeper->setup;
	struct statvfs facts;
	if (statvfs(setup->directory, &facts) != 0 || facts.f_blocks == 0)
		return;
	const uint64_t free_size = (uint64_t)facts.f_bavail * facts.f_frsize;
	const bool is_full = free_size < setup->reserve;
	if (is_full && !keeper->is_full)
		log_warning(context,
			    "mails are refused, path=%s free=%" PRIu64 " (less than \"reserve\")",
			    setup->directory, free_size);
	if (!is_full && keeper->is_full)
		log_info(context, "mails are taken again, path=%s", setup->directory);
	keeper->is_full = is_full;
}

/* Reads the index as it is; nothing is written for that. */
static bool is_due(struct keeper *keeper)
{
	struct mailstore_info info;
	uint64_t before = keeper->delivered;
	keeper->delivered = keeper->counters[STORED_MAILS];
	if (keeper->delivered == before || is_space_short(keeper))
		return true;
	return maillayer_describe(keeper->layer, &info) == 0 &&
	       info.log_size > 2 * info.live_size + keeper->setup->segment_size;
}

static void count_collection(struct keeper *keeper)
{
	struct mailstore_info info;
	keeper->counters[STORED_SEGMENTS_COLLECTED]++;
	if (maillayer_describe(keeper->layer, &info) != 0)
		return;
	keeper->counters[STORED_BYTES_COPIED] = info.copied;
	keeper->counters[STORED_BYTES_RECLAIMED] = info.reclaimed;
}

static void on_collect(uv_timer_t *timer)
{
	struct keeper *keeper = timer->data;
	uint64_t segment = 0;
	look_at_room(keeper);
	if (keeper->setup->collect_share == 0 || !is_due(keeper))
		return;
	int ret = maillayer_collect(keeper->layer, keeper->setup->collect_share, &segment);
	if (ret == DNSBLV6_ENOTFOUND || ret == -EOPNOTSUPP ||
	    (mailstore_is_full(ret) && keeper->is_short))
		return;
	keeper->is_short = mailstore_is_full(ret);
	if (ret == MAILSTORE_EDAMAGED)
		log_error(context, "segment is damaged: see fsck, directory=%s segment=%016" PRIx64,
			  keeper->setup->directory, segment);
	else if (ret != 0)
		note(keeper, "segment not emptied", ret);
	else
		count_collection(keeper);
}

/* ---- age ---- */

static int64_t look_at_clock(struct keeper *keeper)
{
	return clockdoubt_look(&keeper->doubt, (int64_t)clock_wall_us(), (int64_t)clock_now_us());
}

/* Without the file a start doubts more, and deletes no more. */
static void keep_doubt(struct keeper *keeper)
{
	if (quota_may_expire(keeper->quota))
		(void)clockdoubt_save(keeper->setup->directory, &keeper->doubt);
}

static bool is_clock_doubted(struct keeper *keeper)
{
	const int64_t leap_us = look_at_clock(keeper);
	if (leap_us != 0)
		log_warning(context,
			    "old mails not deleted for a day, clock has leapt, seconds=%" PRId64,
			    leap_us / 1000000);
	return keeper->doubt.left_us > 0;
}

/* Of a store that was never looked at: the newest mail, or deletion, was when the clock was right. */
static void find_trusted(struct keeper *keeper)
{
	struct mailstore_info info = { 0 };
	const uint64_t now_us = clock_wall_us();
	const bool is_known = maillayer_describe(keeper->layer, &info) == 0 && info.newest_us > 0;
	keeper->doubt.trusted_us =
		(int64_t)(is_known && info.newest_us < now_us ? info.newest_us : now_us);
}

/* A clock that was wrong before the start is seen by the last one alone. So is a store that was idle until now. */
static void begin_doubt(struct keeper *keeper)
{
	keeper->doubt = (struct clockdoubt){ .steady_us = (int64_t)clock_now_us() };
	if (!clockdoubt_load(keeper->setup->directory, &keeper->doubt))
		find_trusted(keeper);
	(void)look_at_clock(keeper);
	keep_doubt(keeper);
	if (keeper->doubt.left_us > 0 && quota_may_expire(keeper->quota))
		log_info(context,
			 "old mails not deleted yet, store was idle or clock has leapt, "
			 "seconds=%" PRId64,
			 keeper->doubt.left_us / 1000000);
}

static void on_expire(uv_timer_t *timer)
{
	struct keeper *keeper = timer->data;
	int ret = is_clock_doubted(keeper) ? DNSBLV6_ENOTFOUND : 0;
	for (unsigned i = 0; ret == 0 && i < EXPIRE_LOOKS; i++)
		ret = expiry_step(&keeper->expiry);
	if (ret == 0) {
		uv_timer_start(timer, on_expire, 1, 0);
		return;
	}
	keep_doubt(keeper);
	expiry_rewind(&keeper->expiry);
	uv_timer_start(timer, on_expire, keeper->setup->keep_ms, 0);
	if (ret != DNSBLV6_ENOTFOUND && ret != -EOPNOTSUPP)
		note(keeper, "old mails not deleted", ret);
}

/* ---- begin and end ---- */

int keeper_open(struct keeper *keeper, uv_loop_t *loop)
{
	uv_timer_t *const timers[] = { &keeper->index, &keeper->collect, &keeper->expire };
	int ret = 0;
	begin_doubt(keeper);
	keeper->expiry = (struct expiry){ .layer = keeper->layer,
					  .quota = keeper->quota,
					  .expired = &keeper->counters[STORED_EXPIRED] };
	for (size_t i = 0; ret == 0 && i < sizeof(timers) / sizeof(timers[0]); i++) {
		ret = uv_timer_init(loop, timers[i]);
		timers[i]->data = keeper;
		keeper->open_handles += ret == 0;
	}
	if (ret == 0)
		ret = uv_timer_start(&keeper->index, on_index, keeper->setup->index_ms,
				     keeper->setup->index_ms);
	if (ret == 0)
		ret = uv_timer_start(&keeper->collect, on_collect, keeper->setup->collect_ms,
				     keeper->setup->collect_ms);
	if (ret == 0)
		ret = uv_timer_start(&keeper->expire, on_expire, keeper->setup->keep_ms, 0);
	return ret;
}

void keeper_close(struct keeper *keeper)
{
	uv_timer_t *const timers[] = { &keeper->index, &keeper->collect, &keeper->expire };
	if (keeper->is_closed)
		return;
	keeper->is_closed = true;
	for (unsigned i = 0; i < keeper->open_handles; i++)
		uv_close((uv_handle_t *)timers[i], NULL);
}
