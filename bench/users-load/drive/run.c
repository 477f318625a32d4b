/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/run.h"

#include "bench/users-load/drive/sink.h"
#include "bench/users-load/drive/sweep.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u
#define BEGUN_MAX 64	   /* before sockets are looked at again */
#define LOOK_MS	  20	   /* in the drain */
#define SWEEP_NS  NS_PER_S /* between two sweeps */

enum phase {
	RUNNING,  /* what is due begins */
	DRAINING, /* what has begun ends */
	WAITING,  /* for mails, before the next sweep */
	SWEEPING,
	OVER,
};

struct run {
	const struct setup *setup;
	uv_loop_t loop;
	uv_timer_t timer;
	uv_signal_t signals[2];
	struct links imap_links;
	struct links plain_links; /* of mails from abroad */
	struct tally *tally;
	struct tracking *tracking; /* NULL: no mails */
	struct users *users;
	struct mails mails;
	struct visits visits;
	struct smtprun_rules from_users;
	struct smtprun_rules from_abroad;
	struct smtprun_list sending;
	struct sweep sweep;
	struct sink *sink; /* NULL: no mails */
	uint64_t faults[IMAPTALK_FAULTS];
	uint64_t start_ns;
	int64_t start_s;
	uint64_t end_ns;       /* of the window */
	uint64_t drain_end_ns; /* and of what is behind it */
	uint64_t next_sweep_ns;
	enum phase phase;
	bool is_last_sweep;
	int error;
};

static uint64_t now_ns(const struct run *run)
{
	return uv_hrtime() - run->start_ns;
}

/* ---- the end ---- */

static void finish(struct run *run)
{
	if (run->phase == OVER)
		return;
	run->phase = OVER;
	uv_close((uv_handle_t *)&run->timer, NULL);
	for (unsigned i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&run->signals[i], NULL);
	if (run->sink != NULL)
		sink_stop(run->sink);
	visits_leave(&run->visits);
	smtprun_leave_all(&run->sending);
}

static void give_up(struct run *run, int error)
{
	if (run->error == 0)
		run->error = error;
	finish(run);
}

static void end_window(struct run *run)
{
	const uint64_t at_ns = now_ns(run);
	if (at_ns < run->end_ns) {
		run->tally->window_to_ns = at_ns;
		run->end_ns = at_ns;
	}
	run->drain_end_ns = run->end_ns + run->setup->drain_ns;
	run->phase = DRAINING;
	visits_finish(&run->visits);
}

static void sweep_on_done(void *context)
{
	struct run *run = context;
	if (run->phase != SWEEPING)
		return;
	if (run->is_last_sweep || tracking_waiting_count(run->tracking) == 0) {
		finish(run);
		return;
	}
	run->phase = WAITING;
	run->next_sweep_ns = now_ns(run) + SWEEP_NS;
}

/* The last one begins when the drain has ended: what came until then is found. */
static void begin_sweep(struct run *run)
{
	if (run->tracking == NULL || tracking_waiting_count(run->tracking) == 0) {
		finish(run);
		return;
	}
	run->is_last_sweep = now_ns(run) >= run->drain_end_ns;
	run->phase = SWEEPING;
	sweep_begin(&run->sweep);
}

static void drain(struct run *run)
{
	if (!visits_has_open(&run->visits) && LIST_EMPTY(&run->sending)) {
		begin_sweep(run);
		return;
	}
	if (now_ns(run) >= run->drain_end_ns) {
		visits_leave(&run->visits);
		smtprun_leave_all(&run->sending);
	}
}

/* ---- what is due ---- */

static void begin_session(struct run *run)
{
	struct users_arrival arrival;
	users_take(run->users, &arrival);
	tally_late(run->tally, arrival.due_ns, now_ns(run));
	const int ret = visits_begin(&run->visits, &arrival);
	if (ret != 0)
		give_up(run, ret);
}

static void begin_mail(struct run *run)
{
	struct mail mail;
	mails_next(&run->mails, &mail);
	tally_late(run->tally, mail.due_ns, now_ns(run));
	const int ret = smtprun_begin(
		mails_is_submitted(&mail) ? &run->from_users : &run->from_abroad, &mail);
	if (ret != 0)
		give_up(run, ret);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t next_due_ns(const struct run *run)
{
	const uint64_t mail_ns = run->tracking != NULL ? run->mails.due_ns : UINT64_MAX;
	return least(users_due_ns(run->users), mail_ns);
}

static void begin_due(struct run *run)
{
	const uint64_t until_ns = least(now_ns(run), run->end_ns - 1);
	for (unsigned i = 0; i < BEGUN_MAX && run->phase == RUNNING; i++) {
		if (next_due_ns(run) > until_ns)
			return;
		if (users_due_ns(run->users) == next_due_ns(run))
			begin_session(run);
		else
			begin_mail(run);
	}
}

static void timer_on_end(uv_timer_t *timer);

static void set_timer(struct run *run)
{
	const uint64_t at_ns = now_ns(run);
	uint64_t wait_ms = LOOK_MS;
	if (run->phase == OVER)
		return;
	if (run->phase == RUNNING) {
		const uint64_t next_ns = least(next_due_ns(run), run->end_ns);
		wait_ms = next_ns > at_ns ? (next_ns - at_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
	}
	/* libuv counts from when the loop has woken. */
	uv_update_time(&run->loop);
	uv_timer_start(&run->timer, timer_on_end, wait_ms, 0);
}

static void timer_on_end(uv_timer_t *timer)
{
	struct run *run = timer->data;
	const uint64_t at_ns = now_ns(run);
	switch (run->phase) {
	case RUNNING:
		begin_due(run);
		if (run->phase == RUNNING && at_ns >= run->end_ns &&
		    next_due_ns(run) >= run->end_ns)
			end_window(run);
		break;
	case DRAINING:
		drain(run);
		break;
	case WAITING:
		if (at_ns >= least(run->next_sweep_ns, run->drain_end_ns))
			begin_sweep(run);
		break;
	case SWEEPING:
		/* A mailbox may have no answer for so long, and there is no more to be learned. */
		if (at_ns >= run->drain_end_ns + run->setup->timeout_ns) {
			run->is_last_sweep = true;
			sweep_stop(&run->sweep);
		}
		break;
	default:
		break;
	}
	set_timer(run);
}

static void signal_on_come(uv_signal_t *signal, int number)
{
	struct run *run = signal->data;
	(void)number;
	if (run->phase == RUNNING) {
		end_window(run);
		set_timer(run);
	} else {
		run->is_last_sweep = true;
		if (run->phase == SWEEPING)
			sweep_stop(&run->sweep);
		else
			finish(run);
	}
}

/* ---- beginning ---- */

static int64_t wall_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

/* Different in each run, as mailboxes have mails of those before; bytes of mails do not depend on it. */
static uint64_t mark_of_run(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int prepare_links(struct run *run)
{
	const struct links links = { .loop = &run->loop,
				     .timeout_ms = run->setup->timeout_ns / NS_PER_MS };
	run->imap_links = run->plain_links = links;
	run->imap_links.security = run->setup->security;
	return links.security == run->setup->security ? 0
						      : links_tls_context_new(&run->imap_links.tls);
}

static int prepare_visits(struct run *run, uint64_t mark)
{
	const struct setup *setup = run->setup;
	struct visits *visits = &run->visits;
	const struct users_rules users = { .workload = &setup->workload,
					   .seed = setup->seed,
					   .user_count = setup->users,
					   .rate = setup->rate };
	visits->users = users;
	visits->rules.links = &run->imap_links;
	visits->rules.address = setup->imap;
	visits->rules.talk.password = setup->password;
	visits->rules.talk.prefix = setup->prefix;
	visits->rules.tally = run->tally;
	visits->rules.faults = run->faults;
	visits->rules.start_ns = run->start_ns;
	visits->rules.rate = setup->rate;
	visits->name = setup->logins;
	visits->tracking = run->tracking;
	visits->scale = setup->scale;
	visits->run = mark;
	visits->start_s = run->start_s;
	int ret = visits_init(visits);
	if (ret == 0)
		ret = users_new(&users, &run->users);
	return ret;
}

static int prepare_tracking(struct run *run)
{
	const struct setup *setup = run->setup;
	uint64_t mail_count = 0;
	uint64_t recipient_count = 0;
	if (setup->smtp.ss_family == 0)
		return 0;
	mails_begin(&run->mails, &setup->workload, setup->seed, setup->users, setup->rate);
	mails_count(&run->mails, run->end_ns, &mail_count, &recipient_count);
	return tracking_new(mail_count, recipient_count, &run->tracking);
}

static void prepare_mails(struct run *run, uint64_t mark)
{
	const struct setup *setup = run->setup;
	struct smtprun_rules *rules = &run->from_abroad;
	rules->links = &run->plain_links;
	rules->address = setup->smtp;
	rules->workload = &setup->workload;
	rules->seed = setup->seed;
	rules->run = mark;
	rules->start_s = run->start_s;
	rules->start_ns = run->start_ns;
	rules->local = setup->address;
	rules->remote = setup->abroad;
	rules->tally = run->tally;
	rules->tracking = run->tracking;
	rules->list = &run->sending;
	run->from_users = *rules;
	if (setup->submit.ss_family != 0) {
		run->from_users.address = setup->submit;
		run->from_users.links = &run->imap_links;
	}
	smtprun_prepare(&run->from_abroad);
	smtprun_prepare(&run->from_users);
}

static int prepare_sweep(struct run *run, uint64_t mark)
{
	struct sweep *sweep = &run->sweep;
	sweep->rules = run->visits.rules;
	sweep->rules.tally = NULL;
	sweep->name = run->setup->logins;
	sweep->tracking = run->tracking;
	sweep->user_count = run->setup->users;
	sweep->run = mark;
	sweep->start_s = run->start_s;
	sweep->done = sweep_on_done;
	sweep->context = run;
	return sweep_init(sweep);
}

static int open_sink(struct run *run, uint64_t mark)
{
	const struct sink_settings settings = { .loop = &run->loop,
						.address = run->setup->sink,
						.recipient = run->setup->abroad,
						.run = mark,
						.start_ns = run->start_ns,
						.tracking = run->tracking };
	return run->tracking != NULL ? sink_new(&settings, &run->sink) : 0;
}

static int prepare(struct run *run, const char **ret_place)
{
	const uint64_t mark = mark_of_run();
	run->end_ns = run->setup->warmup_ns + run->setup->window_ns;
	run->start_ns = uv_hrtime();
	run->start_s = wall_s();
	*ret_place = "beginning";
	tally_init(run->tally, run->setup->warmup_ns, run->end_ns,
		   (uint64_t)(run->setup->workload.limit_transaction_s * NS_PER_S));
	int ret = prepare_links(run);
	if (ret == 0)
		ret = prepare_tracking(run);
	if (ret == 0)
		ret = prepare_visits(run, mark);
	if (ret == 0)
		ret = prepare_sweep(run, mark);
	prepare_mails(run, mark);
	if (ret == 0) {
		*ret_place = "--sink";
		ret = open_sink(run, mark);
	}
	return ret;
}

static void open_handles(struct run *run)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	uv_timer_init(&run->loop, &run->timer);
	run->timer.data = run;
	for (unsigned i = 0; i < 2; i++) {
		uv_signal_init(&run->loop, &run->signals[i]);
		run->signals[i].data = run;
		uv_signal_start(&run->signals[i], signal_on_come, numbers[i]);
	}
}

/* ---- the result ---- */

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void fill_report(const struct run *run, struct report *report)
{
	const struct setup *setup = run->setup;
	struct rusage usage;
	unsigned count = 0;
	report->users = setup->users;
	report->rate = setup->rate;
	report->seed = setup->seed;
	report->scale = setup->scale;
	if (run->end_ns > setup->warmup_ns)
		report->window_s = (double)(run->end_ns - setup->warmup_ns) / NS_PER_S;
	if (run->tracking != NULL) {
		tracking_sum(run->tracking, false,
			     (uint64_t)(setup->workload.limit_local_s * NS_PER_S), &report->local);
		tracking_sum(run->tracking, true,
			     (uint64_t)(setup->workload.limit_remote_s * NS_PER_S),
			     &report->remote);
	}
	for (unsigned i = 0; i < IMAPTALK_FAULTS && count < REPORT_FAULTS_MAX; i++) {
		report->faults[count].text = run->faults[i] > 0 ? imaptalk_fault_text(i) : NULL;
		report->faults[count].count = run->faults[i];
		count += run->faults[i] > 0;
	}
	getrusage(RUSAGE_SELF, &usage);
	report->cpu_user_s = seconds_of(usage.ru_utime);
	report->cpu_system_s = seconds_of(usage.ru_stime);
	report->rss_kib = (uint64_t)usage.ru_maxrss;
}

int run_load(const struct setup *setup, struct report *ret_report, const char **ret_place)
{
	struct run *run = calloc(1, sizeof(*run));
	*ret_place = "beginning";
	if (run == NULL)
		return -ENOMEM;
	memset(ret_report, 0, sizeof(*ret_report));
	run->setup = setup;
	run->tally = &ret_report->tally;
	LIST_INIT(&run->sending);
	int ret = uv_loop_init(&run->loop);
	if (ret != 0) {
		free(run);
		return ret;
	}
	open_handles(run);
	ret = prepare(run, ret_place);
	if (ret != 0)
		give_up(run, ret);
	else
		set_timer(run);
	uv_run(&run->loop, UV_RUN_DEFAULT);
	if (run->error == 0)
		fill_report(run, ret_report);
	ret = run->error;
	sink_free(run->sink);
	sweep_deinit(&run->sweep);
	visits_deinit(&run->visits);
	users_free(run->users);
	tracking_free(run->tracking);
	links_tls_context_free(run->imap_links.tls);
	uv_loop_close(&run->loop);
	free(run);
	return ret;
}
