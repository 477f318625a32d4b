/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/visits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of mails that users put into their folders lie above those that are sent. */
#define APPENDED (1ull << 56)

struct visit {
	struct imaprun run; /* the first member: imaprun.h gives it back */
	struct visits *visits;
	struct users_arrival arrival;
	struct behaviour behaviour;
	struct mailplan mail; /* of APPEND */
	unsigned append_count;
	unsigned folder_count;
	unsigned folder; /* that is selected */
	uint32_t keep;	 /* how many mails it has in the long run */
	bool keeps;	 /* headers, from session to session */
	bool has_selected;
};

static struct visit *visit_of(struct imaprun *run)
{
	return (struct visit *)run;
}

static void make_plan(const struct visit *visit, struct boxplan *ret_plan)
{
	const struct visits *visits = visit->visits;
	boxplan_make(ret_plan, visits->users.workload, visits->users.seed, visit->arrival.user,
		     visits->scale);
}

/* ---- steps ---- */

static void plan_append(struct visit *visit)
{
	const struct visits *visits = visit->visits;
	char address[SESSION_TEXT_MAX];
	smtprun_address(&visits->name, visit->arrival.user, address);
	const struct mailplan_wish wish = {
		.seed = visits->users.seed,
		.run = visits->run,
		.number = APPENDED | (uint64_t)(visit->append_count++ & 0xff) << 48 |
			  (uint64_t)(visit->arrival.number & 0xffffff) << 24 | visit->arrival.user,
		.time_s = visits->start_s,
		.from = address,
		.to = address,
	};
	mailplan_make(&visit->mail, visits->users.workload, &wish);
}

static bool has_folder(unsigned command)
{
	return command == TRANSACTION_STATUS || command == TRANSACTION_SELECT ||
	       command == TRANSACTION_COPY || command == TRANSACTION_APPEND;
}

/* Texts of an order, borrowed by imaprun.c until it has taken them. */
static void name_order(struct visit *visit, struct imaprun_order *order)
{
	static char name[SESSION_TEXT_MAX];
	struct boxplan plan;
	if (order->step.command == TRANSACTION_LOGIN) {
		smtprun_address(&visit->visits->name, visit->arrival.user, name);
		order->name = name;
	}
	if (!has_folder(order->step.command))
		return;
	make_plan(visit, &plan);
	const struct boxplan_folder *folder = &plan.folders[order->step.folder];
	strncpy(name, folder->name, sizeof(name) - 1);
	order->name = name;
	if (order->step.command == TRANSACTION_SELECT)
		visit->keep = folder->mails;
	if (order->step.command == TRANSACTION_APPEND) {
		plan_append(visit);
		order->mail = &visit->mail;
	}
}

static void role_next(struct imaprun *run, struct imaprun_order *ret_order)
{
	struct visit *visit = visit_of(run);
	struct behaviour_view view;
	ret_order->step.command = BEHAVIOUR_END;
	/* A login that was due in the window is still had: slow ones would not count else. */
	if (visit->visits->is_over && run->has_begun)
		return;
	imaptalk_look(&run->talk, &view);
	view.folder_count = visit->folder_count;
	view.keep = visit->keep;
	behaviour_next(&visit->behaviour, visit->visits->users.workload, &view, &ret_order->step);
	name_order(visit, ret_order);
}

/* ---- what is seen ---- */

/* How many of the folder's mails the user's client has headers of. */
static uint32_t count_known(const struct visit *visit, const struct imapview *view)
{
	const uint32_t next_uid = visit->visits->next_uids[visit->arrival.user];
	if (!visit->keeps)
		return 0;
	if (visit->folder != BOXPLAN_INBOX)
		return view->count;
	if (next_uid == 0)
		return view->count < visit->keep ? view->count : visit->keep;
	const uint32_t came = view->uid_next > next_uid ? view->uid_next - next_uid : 0;
	return view->count > came ? view->count - came : 0;
}

static void note_selected(struct visit *visit, const struct behaviour_step *step)
{
	const struct imapview *view = &visit->run.talk.view;
	uint32_t *next_uid = &visit->visits->next_uids[visit->arrival.user];
	visit->folder = step->folder;
	visit->has_selected = true;
	const uint32_t known = count_known(visit, view);
	imaptalk_know(&visit->run.talk, known);
	if (visit->keeps && visit->folder == BOXPLAN_INBOX && *next_uid == 0 &&
	    view->uid_next > view->count - known)
		*next_uid = view->uid_next - (view->count - known);
}

static void role_done(struct imaprun *run, const struct behaviour_step *step,
		      enum imaptalk_result result)
{
	if (step->command == TRANSACTION_SELECT && result == IMAPTALK_OK)
		note_selected(visit_of(run), step);
}

uint64_t visits_came_ns(int64_t internal_s, int64_t start_s, uint64_t now_ns)
{
	/* The end of the second that it came in. */
	const int64_t came_s = internal_s + 1 - start_s;
	const uint64_t came_ns = came_s > 0 ? (uint64_t)came_s * FIGURES_NS_PER_S : 0;
	return internal_s != 0 && came_ns < now_ns ? came_ns : now_ns;
}

static void role_mail(struct imaprun *run, const struct imaptalk_mail *mail)
{
	struct visit *visit = visit_of(run);
	struct visits *visits = visit->visits;
	uint32_t *next_uid = &visits->next_uids[visit->arrival.user];
	if (!visit->has_selected || visit->folder != BOXPLAN_INBOX || mail->uid == 0)
		return;
	if (mail->has_header && visit->keeps && mail->uid >= *next_uid)
		*next_uid = mail->uid + 1;
	if (mail->has_id && mail->run == visits->run && visits->tracking != NULL)
		tracking_seen(
			visits->tracking, mail->number, visit->arrival.user, mail->uid,
			visits_came_ns(mail->internal_s, visits->start_s, imaprun_now_ns(run)));
}

/* ---- beginning and end ---- */

static void role_ended(struct imaprun *run)
{
	struct visit *visit = visit_of(run);
	struct tally *tally = run->rules->tally;
	LIST_REMOVE(run, entry);
	if (visit->visits->is_over && run->failure == IMAPRUN_FINE)
		tally_session_left(tally);
	else
		tally_session_ended(tally, run->begun_ns, run->failure != IMAPRUN_FINE);
	free(visit);
}

int visits_init(struct visits *visits)
{
	static const struct imaprun_role role = {
		.next = role_next, .done = role_done, .mail = role_mail, .ended = role_ended
	};
	visits->rules.role = &role;
	imaprun_prepare(&visits->rules);
	LIST_INIT(&visits->open);
	visits->next_uids = calloc((size_t)visits->users.user_count + 1, sizeof(uint32_t));
	return visits->next_uids != NULL ? 0 : -ENOMEM;
}

void visits_deinit(struct visits *visits)
{
	free(visits->next_uids);
	visits->next_uids = NULL;
}

int visits_begin(struct visits *visits, const struct users_arrival *arrival)
{
	struct dice dice;
	struct boxplan plan;
	struct visit *visit = calloc(1, sizeof(*visit));
	if (visit == NULL)
		return -ENOMEM;
	const struct workload *workload = visits->users.workload;
	const enum workload_kind client = workload_client(workload, arrival->user);
	visit->visits = visits;
	visit->arrival = *arrival;
	visit->keeps = workload->clients[client].keeps > 0;
	make_plan(visit, &plan);
	visit->folder_count = plan.folder_count;
	visit->keep = plan.folders[BOXPLAN_INBOX].mails;
	users_session_dice(&visits->users, arrival, &dice);
	behaviour_begin(&visit->behaviour, client, &dice);
	LIST_INSERT_HEAD(&visits->open, &visit->run, entry);
	tally_session_begun(visits->rules.tally, arrival->due_ns);
	imaprun_begin(&visit->run, &visits->rules, arrival->due_ns);
	return 0;
}

void visits_finish(struct visits *visits)
{
	struct imaprun *run = NULL;
	visits->is_over = true;
	LIST_FOREACH(run, &visits->open, entry)
	{
		if (imaprun_is_quiet(run))
			imaprun_leave(run);
	}
}

void visits_leave(struct visits *visits)
{
	struct imaprun *run = NULL;
	visits->is_over = true;
	LIST_FOREACH(run, &visits->open, entry)
	imaprun_leave(run);
}

bool visits_has_open(const struct visits *visits)
{
	return !LIST_EMPTY(&visits->open);
}
