/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/keeper.h"

#include "integration/mail/mail-stored/store/counters.h"
#include "lib/common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

static const char context[] = "mail-stored";

#define EXPIRE_LOOKS 16	 /* in one turn of the loop */
#define EXPIRE_MAILS 256 /* in one look, and so in one deletion */
#define SPACE_SHORT  20	 /* less than one in so many blocks is free */

static uint64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Says what is wrong; a store that has stopped, or lost its index, is the owner's business. */
static void note(struct keeper *keeper, const char *what, int status)
{
	if (status == MAILSTORE_EFAILED || status == -EIO || status == MAILSTORE_ENOINDEX)
		keeper->fail(keeper->owner, status);
	else
		log_warning(context, "%s (%s)", what, mailstore_strerror(status));
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
	if (!keeper->is_behind || ret == MAILSTORE_EFAILED || ret == MAILSTORE_ENOINDEX)
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
	if (!is_due(keeper))
		return;
	int ret = maillayer_collect(keeper->layer, keeper->setup->collect_share, &segment);
	if (ret == DNSBLV6_ENOTFOUND || ret == -EOPNOTSUPP)
		return;
	if (ret == MAILSTORE_EDAMAGED)
		log_error(context, "segment is damaged: see fsck, segment=%016" PRIx64, segment);
	else if (ret != 0)
		note(keeper, "segment not emptied", ret);
	else
		count_collection(keeper);
}

/* ---- age ---- */

/* Of the mails of the mailbox from keeper->mail on; *ret_has_more says whether there are more of them. */
static int expire_some(struct keeper *keeper, struct mailname mailbox, uint64_t before_us,
		       bool *ret_has_more)
{
	struct mailentry entries[EXPIRE_MAILS];
	uint64_t mails[EXPIRE_MAILS];
	size_t listed = 0;
	size_t count = 0;
	int ret = maillayer_list(keeper->layer, mailbox, keeper->mail, EXPIRE_MAILS, entries,
				 &listed);
	/* Times need not be in the order of numbers: a clock was set, or old mails were imported. */
	for (size_t i = 0; ret == 0 && i < listed; i++)
		if (entries[i].time_us < before_us)
			mails[count++] = entries[i].mail;
	*ret_has_more = ret == 0 && listed == EXPIRE_MAILS;
	if (*ret_has_more)
		keeper->mail = entries[listed - 1].mail + 1;
	if (ret != 0 || count == 0)
		return ret;
	ret = maillayer_erase(keeper->layer, mailbox, mails, count, now_us());
	keeper->counters[STORED_EXPIRED] += ret == 0 ? count : 0;
	return ret;
}

/* The mailbox that is looked at, or the next one. */
static int expire_next(struct keeper *keeper)
{
	struct mailname name = { keeper->box, keeper->box_size };
	struct mailcounts counts;
	struct quota_limits limits;
	bool has_more = false;
	uint64_t now = now_us();
	int ret = 0;
	if (keeper->mail == 0)
		ret = maillayer_next_box(keeper->layer, name, keeper->box, &keeper->box_size,
					 &counts);
	name.size = keeper->box_size;
	if (ret == 0)
		ret = quota_limits(keeper->quota, name, &limits);
	if (ret == 0 && limits.keep_s > 0 && limits.keep_s <= now / 1000000)
		ret = expire_some(keeper, name, now - limits.keep_s * 1000000, &has_more);
	if (ret != 0 || !has_more)
		keeper->mail = 0;
	return ret;
}

static void on_expire(uv_timer_t *timer)
{
	struct keeper *keeper = timer->data;
	int ret = 0;
	for (unsigned i = 0; ret == 0 && i < EXPIRE_LOOKS; i++)
		ret = expire_next(keeper);
	if (ret == 0) {
		uv_timer_start(timer, on_expire, 1, 0);
		return;
	}
	keeper->box_size = 0;
	keeper->mail = 0;
	uv_timer_start(timer, on_expire, keeper->setup->keep_ms, 0);
	if (ret != DNSBLV6_ENOTFOUND && ret != -EOPNOTSUPP)
		note(keeper, "old mails not deleted", ret);
}

/* ---- begin and end ---- */

int keeper_open(struct keeper *keeper, uv_loop_t *loop)
{
	uv_timer_t *const timers[] = { &keeper->index, &keeper->collect, &keeper->expire };
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < sizeof(timers) / sizeof(timers[0]); i++) {
		ret = uv_timer_init(loop, timers[i]);
		timers[i]->data = keeper;
		keeper->open_handles += ret == 0;
	}
	if (ret == 0)
		ret = uv_timer_start(&keeper->index, on_index, keeper->setup->index_ms,
				     keeper->setup->index_ms);
	if (ret == 0 && keeper->setup->collect_share > 0)
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
