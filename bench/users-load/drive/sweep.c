/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/sweep.h"

#include <errno.h>
#include <stdlib.h>

#define SESSIONS_MAX 32 /* at a time */
#define SOME_MORE    16

struct look {
	struct imaprun run; /* the first member: imaprun.h gives it back */
	struct sweep *sweep;
	uint32_t user;
	unsigned step;
};

static struct look *look_of(struct imaprun *run)
{
	return (struct look *)run;
}

static void role_next(struct imaprun *run, struct imaprun_order *ret_order)
{
	static char name[SESSION_TEXT_MAX];
	struct look *look = look_of(run);
	struct behaviour_step *step = &ret_order->step;
	const uint32_t count = run->talk.view.count;
	const uint32_t wanted = 2 * look->sweep->sent[look->user] + SOME_MORE;
	step->command = BEHAVIOUR_END;
	if (run->failure != IMAPRUN_FINE)
		return;
	switch (look->step++) {
	case 0:
		step->command = TRANSACTION_LOGIN;
		smtprun_address(&look->sweep->name, look->user, name);
		ret_order->name = name;
		break;
	case 1:
		step->command = TRANSACTION_SELECT;
		step->folder = BOXPLAN_INBOX;
		ret_order->name = "INBOX";
		break;
	case 2:
		step->command = TRANSACTION_FETCH_HEADERS;
		step->first = count > wanted ? count - wanted + 1 : 1;
		step->last = count;
		break;
	case 3:
		step->command = BEHAVIOUR_LOGOUT;
		break;
	default:
		break;
	}
}

static void role_mail(struct imaprun *run, const struct imaptalk_mail *mail)
{
	struct look *look = look_of(run);
	struct sweep *sweep = look->sweep;
	if (mail->has_id && mail->run == sweep->run && mail->uid != 0)
		tracking_seen(
			sweep->tracking, mail->number, look->user, mail->uid,
			visits_came_ns(mail->internal_s, sweep->start_s, imaprun_now_ns(run)));
}

static void fill_up(struct sweep *sweep);

static void role_ended(struct imaprun *run)
{
	struct look *look = look_of(run);
	struct sweep *sweep = look->sweep;
	LIST_REMOVE(run, entry);
	sweep->open_count--;
	free(look);
	fill_up(sweep);
}

static void begin_look(struct sweep *sweep, uint32_t user)
{
	struct look *look = calloc(1, sizeof(*look));
	if (look == NULL)
		return; /* its mails are lost */
	look->sweep = sweep;
	look->user = user;
	sweep->open_count++;
	LIST_INSERT_HEAD(&sweep->open, &look->run, entry);
	imaprun_begin(&look->run, &sweep->rules, uv_hrtime() - sweep->rules.start_ns);
}

/* A session that ends at once comes here again: its caller goes on. */
static void fill_up(struct sweep *sweep)
{
	if (sweep->is_filling)
		return;
	sweep->is_filling = true;
	while (!sweep->is_stopped && sweep->next_user < sweep->user_count &&
	       sweep->open_count < SESSIONS_MAX) {
		const uint32_t user = sweep->next_user++;
		if (sweep->waiting[user] > 0)
			begin_look(sweep, user);
	}
	sweep->is_filling = false;
	if (sweep->open_count == 0)
		sweep->done(sweep->context);
}

int sweep_init(struct sweep *sweep)
{
	static const struct imaprun_role role = { .next = role_next,
						  .mail = role_mail,
						  .ended = role_ended };
	sweep->rules.role = &role;
	sweep->rules.rate = 1;
	imaprun_prepare(&sweep->rules);
	LIST_INIT(&sweep->open);
	sweep->waiting = calloc((size_t)sweep->user_count + 1, sizeof(uint32_t));
	sweep->sent = calloc((size_t)sweep->user_count + 1, sizeof(uint32_t));
	return sweep->waiting != NULL && sweep->sent != NULL ? 0 : -ENOMEM;
}

void sweep_deinit(struct sweep *sweep)
{
	free(sweep->waiting);
	free(sweep->sent);
}

void sweep_begin(struct sweep *sweep)
{
	tracking_waits(sweep->tracking, sweep->user_count, sweep->waiting, sweep->sent);
	sweep->next_user = 0;
	sweep->is_stopped = false;
	fill_up(sweep);
}

void sweep_stop(struct sweep *sweep)
{
	struct imaprun *run = NULL;
	sweep->is_stopped = true;
	LIST_FOREACH(run, &sweep->open, entry)
	imaprun_leave(run);
}
