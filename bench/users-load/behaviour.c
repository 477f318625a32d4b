/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/behaviour.h"

#include <math.h>

/* A session with a server that says the same for ever ends as well. */
#define COMMANDS_MAX 5000
#define IDLE_MAX_S   1740.0 /* IDLE is begun again after 29 minutes: RFC 2177 */

enum phase {
	PHASE_ACT,   /* a command of the sequence is due */
	PHASE_THINK, /* its user thinks before the sequence */
	PHASE_IDLE,  /* does so in IDLE */
};

enum fate {
	FATE_STAYS,
	FATE_DELETED,
	FATE_MOVED,
};

/* What each function here needs, so that they can be told apart by what they do alone. */
struct turn {
	struct behaviour *self;
	const struct workload *workload;
	const struct workload_client *client;
	const struct behaviour_view *view;
	struct behaviour_step *step;
};

static bool draw_share(const struct turn *turn, double share)
{
	return dice_unit(&turn->self->dice) < share;
}

/* ---- commands; each is true, which says that there is one ---- */

static bool give(const struct turn *turn, unsigned command)
{
	turn->step->command = command;
	return true;
}

static bool give_folder(const struct turn *turn, unsigned command, unsigned folder)
{
	turn->step->folder = folder;
	return give(turn, command);
}

static bool give_mails(const struct turn *turn, unsigned command, uint32_t first, uint32_t last)
{
	turn->step->first = first;
	turn->step->last = last;
	return give(turn, command);
}

static bool give_store(const struct turn *turn, uint32_t first, uint32_t last,
		       enum behaviour_flag flags)
{
	turn->step->flags = (uint8_t)flags;
	return give_mails(turn, TRANSACTION_STORE, first, last);
}

/* ---- mails and folders ---- */

/* The oldest mail that the client has headers of, and the newest; 0: none. */
static uint32_t lowest(const struct turn *turn)
{
	const struct behaviour_view *view = turn->view;
	if (view->known == 0)
		return 0;
	if (turn->client->keeps > 0)
		return 1;
	return turn->self->shown < view->known ? turn->self->shown : view->known;
}

static uint32_t highest(const struct turn *turn)
{
	const struct behaviour_view *view = turn->view;
	return view->known < view->exists ? view->known : view->exists;
}

/* A mail that has so many newer ones, the mean. 0: there is none. */
static uint32_t draw_mail(const struct turn *turn, double mean)
{
	uint32_t from = lowest(turn);
	uint32_t to = highest(turn);
	if (from == 0 || from > to)
		return 0;
	double back = dice_exponential(&turn->self->dice, mean);
	return back < to - from ? to - (uint32_t)back : from;
}

/* Another folder than INBOX; 0: there is none. */
static unsigned draw_folder(const struct turn *turn)
{
	unsigned others = turn->view->folder_count > 0 ? turn->view->folder_count - 1 : 0;
	return others > 0 ? 1 + (unsigned)dice_below(&turn->self->dice, others) : 0;
}

static unsigned draw_count(const struct turn *turn, double mean)
{
	double whole = floor(mean);
	return (unsigned)whole + draw_share(turn, mean - whole);
}

/* Mails of the folder that are unknown to the client. */
static bool ask_headers(const struct turn *turn)
{
	struct behaviour *self = turn->self;
	const struct behaviour_view *view = turn->view;
	if (!view->has_selected || view->exists <= view->known ||
	    self->last == TRANSACTION_FETCH_HEADERS)
		return false;
	uint32_t first = view->known + 1;
	if (view->known == 0 && turn->client->keeps <= 0) {
		uint32_t page = (uint32_t)turn->client->page_mails;
		first = view->exists > page ? view->exists - page + 1 : 1;
		self->shown = first;
	}
	return give_mails(turn, TRANSACTION_FETCH_HEADERS, first, view->exists);
}

/* ---- steps of sequences: each gives a command, or is false, and the next step is due ---- */

static bool log_in(const struct turn *turn)
{
	return give(turn, TRANSACTION_LOGIN);
}

static bool list(const struct turn *turn)
{
	return draw_share(turn, turn->client->list_share) && give(turn, TRANSACTION_LIST);
}

static bool select_inbox(const struct turn *turn)
{
	turn->self->is_elsewhere = false;
	return give_folder(turn, TRANSACTION_SELECT, BOXPLAN_INBOX);
}

static bool ask_flags(const struct turn *turn)
{
	turn->self->statuses = (uint16_t)draw_count(turn, turn->client->status_folders);
	return draw_share(turn, turn->client->flags_share) && turn->view->exists > 0 &&
	       give_mails(turn, TRANSACTION_FETCH_FLAGS, 1, turn->view->exists);
}

static bool ask_status(const struct turn *turn)
{
	unsigned folder = draw_folder(turn);
	if (turn->self->statuses == 0 || folder == 0)
		return false;
	turn->self->statuses--;
	turn->self->step--; /* here again */
	return give_folder(turn, TRANSACTION_STATUS, folder);
}

/* The page before those that were shown. */
static bool turn_page(const struct turn *turn)
{
	struct behaviour *self = turn->self;
	uint32_t from = lowest(turn);
	if (turn->client->keeps > 0 || from <= 1)
		return false;
	uint32_t page = (uint32_t)turn->client->page_mails;
	self->shown = from > page ? from - page : 1;
	return give_mails(turn, TRANSACTION_FETCH_HEADERS, self->shown, from - 1);
}

static bool choose_mail(const struct turn *turn)
{
	const struct workload *workload = turn->workload;
	double fate = dice_unit(&turn->self->dice);
	turn->self->mail = draw_mail(turn, workload->read_recent);
	turn->self->fate = FATE_STAYS;
	if (fate < workload->delete_share)
		turn->self->fate = FATE_DELETED;
	else if (fate < workload->delete_share + workload->move_share)
		turn->self->fate = FATE_MOVED;
	return false;
}

/* It may have gone by now: another session of the user has expunged. */
static bool has_mail(const struct turn *turn)
{
	return turn->self->mail > 0 && turn->self->mail <= highest(turn);
}

static bool ask_structure(const struct turn *turn)
{
	uint32_t mail = turn->self->mail;
	return has_mail(turn) && draw_share(turn, turn->client->structure_share) &&
	       give_mails(turn, TRANSACTION_FETCH_STRUCTURE, mail, mail);
}

static bool ask_body(const struct turn *turn)
{
	uint32_t mail = turn->self->mail;
	return has_mail(turn) && give_mails(turn, TRANSACTION_FETCH_BODY, mail, mail);
}

static bool mark_seen(const struct turn *turn)
{
	uint32_t mail = turn->self->mail;
	return has_mail(turn) && give_store(turn, mail, mail, BEHAVIOUR_SEEN);
}

static bool mark_answered(const struct turn *turn)
{
	uint32_t mail = turn->self->mail;
	return has_mail(turn) && draw_share(turn, turn->workload->answer_share) &&
	       give_store(turn, mail, mail, BEHAVIOUR_ANSWERED);
}

static bool copy_moved(const struct turn *turn)
{
	unsigned folder = draw_folder(turn);
	if (turn->self->fate != FATE_MOVED || !has_mail(turn) || folder == 0)
		return false;
	turn->step->folder = folder;
	return give_mails(turn, TRANSACTION_COPY, turn->self->mail, turn->self->mail);
}

static bool mark_deleted(const struct turn *turn)
{
	uint32_t mail = turn->self->mail;
	return turn->self->fate != FATE_STAYS && has_mail(turn) &&
	       give_store(turn, mail, mail, BEHAVIOUR_DELETED);
}

static bool expunge(const struct turn *turn)
{
	return turn->view->deleted > 0 && give(turn, TRANSACTION_EXPUNGE);
}

static bool go_elsewhere(const struct turn *turn)
{
	unsigned folder = draw_folder(turn);
	if (!draw_share(turn, turn->workload->tidy_elsewhere) || folder == 0)
		return false;
	if (draw_share(turn, turn->workload->tidy_sent))
		folder = BOXPLAN_SENT;
	turn->self->is_elsewhere = true;
	turn->self->shown = 0;
	return give_folder(turn, TRANSACTION_SELECT, folder);
}

static bool search(const struct turn *turn)
{
	return draw_share(turn, turn->workload->search_share) && give(turn, TRANSACTION_SEARCH);
}

static bool mark_surplus(const struct turn *turn)
{
	const struct behaviour_view *view = turn->view;
	uint32_t least = view->keep + view->deleted;
	uint32_t last = draw_mail(turn, turn->workload->tidy_recent);
	if (view->exists <= least || last == 0)
		return false;
	uint32_t from = lowest(turn);
	uint32_t known = highest(turn) - from + 1;
	uint32_t surplus = view->exists - least < known ? view->exists - least : known;
	if (last < from + surplus - 1)
		last = from + surplus - 1;
	return give_store(turn, last - surplus + 1, last, BEHAVIOUR_DELETED);
}

static bool come_back(const struct turn *turn)
{
	turn->self->shown = turn->self->is_elsewhere ? 0 : turn->self->shown;
	return turn->self->is_elsewhere && select_inbox(turn);
}

static bool append(const struct turn *turn)
{
	bool has_sent = turn->view->folder_count > BOXPLAN_SENT;
	return give_folder(turn, TRANSACTION_APPEND, has_sent ? BOXPLAN_SENT : BOXPLAN_INBOX);
}

/* ---- sequences ---- */

#define STEPS_MAX 9

static bool (*const sequences[WORKLOAD_SEQUENCES][STEPS_MAX])(const struct turn *turn) = {
	[WORKLOAD_BEGIN] = { log_in, list, select_inbox, ask_flags, ask_status },
	[WORKLOAD_LOOK] = { ask_flags, ask_status, turn_page },
	[WORKLOAD_READ] = { choose_mail, ask_structure, ask_body, mark_seen, mark_answered,
			    copy_moved, mark_deleted, expunge },
	[WORKLOAD_TIDY] = { go_elsewhere, search, mark_surplus, expunge, come_back },
	[WORKLOAD_WRITE] = { append },
};

/* The next command of the sequence, or false at its end. */
static bool go_on(const struct turn *turn)
{
	struct behaviour *self = turn->self;
	while (self->step < STEPS_MAX && sequences[self->sequence][self->step] != NULL)
		if (sequences[self->sequence][self->step++](turn))
			return true;
	return false;
}

/* Another sequence, or the end. */
static void go_further(const struct turn *turn)
{
	struct behaviour *self = turn->self;
	const double *after = turn->client->after[self->sequence];
	unsigned next = dice_pick(&self->dice, after, WORKLOAD_SUCCESSORS);
	self->sequence = (uint8_t)(WORKLOAD_LOOK + next); /* behind "write" is the end */
	self->step = 0;
	self->phase = PHASE_THINK;
}

/* Its user thinks: true in IDLE, else it is in step->think_s, and the sequence goes on. */
static bool think(const struct turn *turn)
{
	struct behaviour *self = turn->self;
	double time_s = dice_exponential(&self->dice, turn->client->think_s);
	if (turn->client->stays > 0 && turn->view->has_selected) {
		self->phase = PHASE_IDLE;
		turn->step->idle_s = fmin(time_s, IDLE_MAX_S);
		return give(turn, BEHAVIOUR_IDLE);
	}
	self->phase = PHASE_ACT;
	turn->step->think_s += time_s;
	return false;
}

/*
 * After IDLE: with news its user goes on thinking behind FETCH_HEADERS. How long is drawn
 * again, since what is left of an exponential time is distributed as all of it.
 */
static void wake(const struct turn *turn)
{
	if (turn->self->phase == PHASE_IDLE)
		turn->self->phase =
			turn->view->exists > turn->view->known ? PHASE_THINK : PHASE_ACT;
}

static bool leave(const struct turn *turn)
{
	turn->self->sequence = WORKLOAD_END;
	return give(turn, BEHAVIOUR_LOGOUT);
}

/* Sequences in which there is nothing to do follow each other for so long at most. */
#define EMPTY_MAX 1000

static bool find_step(const struct turn *turn)
{
	struct behaviour *self = turn->self;
	if (self->sequence == WORKLOAD_END)
		return give(turn, BEHAVIOUR_END);
	if (turn->view->failed || self->commands++ >= COMMANDS_MAX)
		return leave(turn);
	wake(turn);
	if (ask_headers(turn))
		return true;
	for (unsigned i = 0; i < EMPTY_MAX; i++) {
		if (self->phase == PHASE_THINK && think(turn))
			return true;
		if (go_on(turn))
			return true;
		go_further(turn);
		if (self->sequence == WORKLOAD_END)
			break;
	}
	return leave(turn);
}

/* ---- outside ---- */

void behaviour_begin(struct behaviour *ret_behaviour, enum workload_kind client,
		     const struct dice *dice)
{
	*ret_behaviour = (struct behaviour){ .dice = *dice, .client = (uint8_t)client };
}

void behaviour_next(struct behaviour *behaviour, const struct workload *workload,
		    const struct behaviour_view *view, struct behaviour_step *ret_step)
{
	const struct workload_client *client = &workload->clients[behaviour->client];
	*ret_step = (struct behaviour_step){ .client = behaviour->client };
	const struct turn turn = { behaviour, workload, client, view, ret_step };
	bool is_first = behaviour->commands == 0;
	find_step(&turn);
	behaviour->last = (uint8_t)ret_step->command;
	if (ret_step->think_s <= 0 && !is_first && ret_step->command != BEHAVIOUR_END)
		ret_step->think_s = dice_exponential(&behaviour->dice, client->pause_s);
}
