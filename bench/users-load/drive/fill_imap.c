/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/fill_parts.h"
#include "bench/users-load/drive/imaprun.h"
#include "bench/users-load/drive/smtprun.h"

#include <errno.h>
#include <stdlib.h>

struct imap_fill {
	struct fill *fill;
	struct imaprun_rules rules;
	bool is_filling;
	unsigned open_count;
};

/* A user's session. */
struct filler {
	struct imaprun run; /* the first member: imaprun.h gives it back */
	struct imap_fill *way;
	struct boxplan plan;
	struct mailplan mail;
	uint32_t user;
	unsigned folder;
	uint32_t index; /* of the folder's mails */
	bool has_login;
	bool has_folder; /* it is there */
	bool is_over;
};

static struct filler *filler_of(struct imaprun *run)
{
	return (struct filler *)run;
}

/* Behind what there is to do in a folder. */
static void skip_done(struct filler *filler)
{
	const bool has_inbox = filler->way->fill->has_inbox;
	for (;;) {
		if (filler->folder >= filler->plan.folder_count)
			return;
		const bool is_whole = filler->folder == BOXPLAN_INBOX && has_inbox;
		if (!is_whole && (!filler->has_folder ||
				  filler->index < filler->plan.folders[filler->folder].mails))
			return;
		filler->folder++;
		filler->index = 0;
		filler->has_folder = false;
	}
}

static void order_login(struct filler *filler, struct imaprun_order *ret_order)
{
	static char name[SESSION_TEXT_MAX];
	smtprun_address(&filler->way->fill->setup->logins, filler->user, name);
	filler->has_login = true;
	filler->has_folder = true; /* INBOX */
	ret_order->step.command = TRANSACTION_LOGIN;
	ret_order->name = name;
}

static void order_append(struct filler *filler, struct imaprun_order *ret_order)
{
	const struct setup *setup = filler->way->fill->setup;
	fill_plan_mail(filler->way->fill, &filler->plan, filler->user, filler->folder,
		       filler->index, &filler->mail);
	if (boxplan_is_seen(&filler->plan, &setup->workload, setup->seed, filler->folder,
			    filler->index))
		ret_order->step.flags = BEHAVIOUR_SEEN;
	filler->index++;
	ret_order->step.command = TRANSACTION_APPEND;
	ret_order->mail = &filler->mail;
}

static void role_next(struct imaprun *run, struct imaprun_order *ret_order)
{
	struct filler *filler = filler_of(run);
	ret_order->step.command = BEHAVIOUR_END;
	if (filler->is_over)
		return;
	if (!filler->has_login) {
		order_login(filler, ret_order);
		return;
	}
	skip_done(filler);
	if (filler->folder >= filler->plan.folder_count) {
		filler->is_over = true;
		ret_order->step.command = BEHAVIOUR_LOGOUT;
		return;
	}
	ret_order->step.folder = filler->folder;
	ret_order->name = filler->plan.folders[filler->folder].name;
	if (filler->has_folder) {
		order_append(filler, ret_order);
	} else {
		filler->has_folder = true;
		ret_order->step.command = IMAPTALK_CREATE;
	}
}

static void role_done(struct imaprun *run, const struct behaviour_step *step,
		      enum imaptalk_result result)
{
	struct filler *filler = filler_of(run);
	struct fill *fill = filler->way->fill;
	/* A folder that a server has made by itself, as Sent, is there; APPEND would say so else. */
	if (step->command == IMAPTALK_CREATE) {
		fill->folders++;
	} else if (result != IMAPTALK_OK) {
		fill_tell(fill, filler->user, "IMAP", imaprun_reason(run));
		filler->is_over = true;
	} else if (step->command == TRANSACTION_APPEND) {
		fill->mails++;
		fill->bytes += filler->mail.size_bytes;
	}
}

static void fill_up(struct imap_fill *way);

static void role_ended(struct imaprun *run)
{
	struct filler *filler = filler_of(run);
	struct imap_fill *way = filler->way;
	if (!filler->is_over)
		fill_tell(way->fill, filler->user, "IMAP", imaprun_reason(run));
	way->open_count--;
	free(filler);
	fill_up(way);
}

/* A session that ends at once comes here again: its caller goes on. */
static void fill_up(struct imap_fill *way)
{
	static const struct imaprun_role role = { .next = role_next,
						  .done = role_done,
						  .ended = role_ended };
	way->rules.role = &role;
	if (way->is_filling)
		return;
	way->is_filling = true;
	while (way->open_count < way->fill->setup->connections) {
		struct filler *filler = calloc(1, sizeof(*filler));
		if (filler == NULL || fill_take_user(way->fill, &filler->user, &filler->plan) < 0) {
			free(filler);
			break;
		}
		filler->way = way;
		way->open_count++;
		imaprun_begin(&filler->run, &way->rules, 0);
	}
	way->is_filling = false;
	if (way->open_count == 0)
		free(way);
}

int fill_by_imap(struct fill *fill)
{
	struct imap_fill *way = calloc(1, sizeof(*way));
	if (way == NULL)
		return -ENOMEM;
	way->fill = fill;
	way->rules.links = &fill->links;
	way->rules.address = fill->setup->imap;
	way->rules.talk.password = fill->setup->password;
	way->rules.talk.prefix = fill->setup->prefix;
	way->rules.rate = 1;
	imaprun_prepare(&way->rules);
	fill_up(way);
	return 0;
}
