/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/process/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/process/child.h"
#include "lib/process/clock.h"
#include "lib/process/daemon.h"
#include "lib/common/log.h"
#include "lib/process/systemd.h"
#include "lib/common/version.h"
#include "server/process/accounts.h"
#include "server/zone/catalog.h"
#include "server/process/takeover.h"
#include "server/transfer/outward.h"

static const char context[] = "dnsblv6d";
static const char is_stopping[] = "the server is stopping";
static const char forbidden_call[] = " (it made a system call that no server makes)";

/* A drained worker that is still there then is stuck. */
#define KILL_AFTER_MS 5000
/* The answer to a reload does not wait longer for old workers: one may be stuck. */
#define REPLY_AFTER_MS 10000
/*
 * Descriptors of a worker, beside those of its sockets and clients; those of a zone: two of a
 * store, as many of the one that follows it, and those of the process that verifies that one; and those
 * of an address of a secondary: one for NOTIFY, one for questions. They are seldom open all at once:
 * zones get half of what a worker may have, or three each, and addresses a quarter.
 */
#define OWN_FILES	    128
#define FILES_OF_ZONE	    8
#define FILES_OF_ZONE_LEAST 3
#define FILES_OF_ADDRESS    2

/* ---- workers ---- */

/* What a child of the parent does not need. */
static void forget(const struct parent *parent)
{
	close(parent->signal_fd);
	close(parent->word_ends[0]);
	control_forget(parent->control);
	querylog_forget(&parent->querylog);
}

__attribute__((noreturn)) static void run_worker(struct parent *parent,
						 struct generation *generation, size_t index)
{
	forget(parent);
	driver_forget(parent->driver);
	const struct generation *serving = parent->serving;
	struct takeover_side before = { 0 };
	if (serving != NULL)
		before = (struct takeover_side){ &serving->settings, &serving->zonestatus };
	struct worker_start start = {
		.settings = &generation->settings,
		.listener = parent->listener,
		.filter = parent->worker_filter,
		.bank = &generation->bank,
		.zonestatus = &generation->zonestatus,
		.followstatus = &generation->followstatus,
		.cores = &parent->cores,
		.talkers = &generation->talkers,
		.frequent = &generation->frequent,
		.index = index,
		.word_fd = parent->word_ends[1],
		.tap_fd = querylog_fd(&parent->querylog, &generation->settings),
		.before = serving != NULL && serving != generation ? &before : NULL,
	};
	exit(worker_serve(&start));
}

static void start_worker(struct parent *parent, struct generation *generation,
			 struct crew_slot *slot)
{
	generation->states[slot->index].word = WORKER_SILENT;
	pid_t pid = child_fork(slot);
	if (pid == 0)
		run_worker(parent, generation, slot->index);
	if (pid < 0)
		log_error(context, "worker not started, worker=%u (%s)", slot->index,
			  strerror(-pid));
}

__attribute__((noreturn)) static void run_filler(struct parent *parent,
						 struct generation *generation)
{
	struct filler_start start = {
		.settings = &generation->settings,
		.filter = parent->worker_filter,
		.bank = &generation->bank,
		.zonestatus = &generation->zonestatus,
		.driverstatus = &generation->driverstatus,
		.generation = generation->number,
		.part = generation->settings.workers,
	};
	forget(parent);
	close(parent->word_ends[1]);
	driver_run_filler(parent->driver, &start);
}

static void start_filler(struct parent *parent, struct generation *generation,
			 struct crew_slot *slot)
{
	pid_t pid = driver_fork_filler(parent->driver, slot);
	if (pid == 0)
		run_filler(parent, generation);
	if (pid < 0)
		log_error(context, "filler not started (%s)", strerror(-pid));
}

static void start_slot(struct parent *parent, struct generation *generation, struct crew_slot *slot)
{
	if (slot->role == GENERATION_FILLER)
		start_filler(parent, generation, slot);
	else
		start_worker(parent, generation, slot);
}

static void note_end(struct generation *generation, struct crew_slot *slot, int status)
{
	char end[CHILD_END_TEXT_SIZE];
	char worker[32] = "";
	const bool is_filler = slot->role == GENERATION_FILLER;
	const char *name = is_filler ? "filler" : "worker";
	pid_t pid = slot->pid;
	uint64_t now_ms = clock_now_ms();
	child_format_end(status, end);
	crew_ended(slot, false, now_ms);
	if (!is_filler) {
		generation->states[slot->index].word = WORKER_SILENT;
		snprintf(worker, sizeof(worker), "worker=%u ", slot->index);
	}
	if (generation_is_draining(generation)) {
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			log_warning(context, "%s died while it drained, %spid=%d %s", name, worker,
				    (int)pid, end);
		return;
	}
	if (is_filler)
		generation->filler_restarts++;
	else
		generation->states[slot->index].restarts++;
	log_error(context, "%s died, %spid=%d %s restart_ms=%llu%s", name, worker, (int)pid, end,
		  (unsigned long long)crew_slot_pause_ms(slot, now_ms),
		  child_has_broken_filter(status) ? forbidden_call : "");
}

static void reap(struct parent *parent)
{
	int status = 0;
	pid_t pid = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct generation *generation = NULL;
		if (querylog_note_end(&parent->querylog, pid, status, clock_now_ms()) ||
		    keeper_note_end(&parent->driver->keeper, pid, status))
			continue;
		TAILQ_FOREACH(generation, &parent->generations, link)
		{
			struct crew_slot *slot = crew_find(&generation->crew, pid);
			if (slot != NULL)
				note_end(generation, slot, status);
		}
	}
}

/* ---- generations ---- */

/* Takes one that is half made. */
static void free_generation(struct generation *generation)
{
	if (generation == NULL)
		return;
	counters_close(&generation->bank);
	zonestatus_close(&generation->zonestatus);
	followstatus_close(&generation->followstatus);
	driverstatus_close(&generation->driverstatus);
	talkers_close(&generation->talkers);
	frequent_close(&generation->frequent);
	settings_deinit(&generation->settings);
	crew_deinit(&generation->crew);
	free(generation->states);
	free(generation);
}

/* Slots, and what workers and parent share. 0 or -errno. */
static int open_shared(struct generation *generation, const struct talkers_shape *shape,
		       bool has_driver)
{
	const struct settings *settings = &generation->settings;
	const unsigned counts[GENERATION_ROLES] = { settings->workers, has_driver };
	int ret = crew_init(&generation->crew, counts, GENERATION_ROLES, NULL);
	generation->states = calloc(settings->workers, sizeof(*generation->states));
	if (ret == 0 && generation->states == NULL)
		ret = -ENOMEM;
	if (ret == 0)
		ret = counters_open(&generation->bank, settings->workers + has_driver,
				    settings->zone_count, catalog_count_faces(settings));
	if (ret == 0)
		ret = zonestatus_open(&generation->zonestatus, settings->workers,
				      settings->zone_count);
	if (ret == 0)
		ret = followstatus_open(&generation->followstatus, outward_count(settings));
	if (ret == 0)
		ret = driverstatus_open(&generation->driverstatus, settings->zone_count);
	if (ret == 0)
		ret = talkers_open(&generation->talkers, settings->workers, shape);
	if (ret == 0)
		ret = frequent_open(&generation->frequent, settings->frequent_ranges, shape->seed);
	return ret;
}

/* Of another shape than before: what was counted cannot be added to. 0 or -errno. */
static int keep_talkers(struct parent *parent, const struct talkers_shape *shape)
{
	if (parent->past_talkers.memory != NULL &&
	    talkers_is_alike(&parent->past_talkers.shape, shape))
		return 0;
	struct talkers_bank past = { 0 };
	int ret = talkers_open(&past, 1, shape);
	if (ret != 0)
		return ret;
	talkers_close(&parent->past_talkers);
	parent->past_talkers = past;
	return 0;
}

/* settings is taken over in any case. 0 or -errno. */
static int make_generation(struct parent *parent, struct settings *settings,
			   struct generation **ret_generation)
{
	struct talkers_shape shape = { settings->top_size, settings->top_ipv4_length,
				       settings->top_ipv6_length, parent->seed };
	struct generation *generation = calloc(1, sizeof(*generation));
	if (generation == NULL) {
		settings_deinit(settings);
		return -ENOMEM;
	}
	generation->settings = *settings;
	int ret = open_shared(generation, &shape, driver_is_open(parent->driver));
	if (ret == 0 && parent->generation_count == 0)
		ret = keep_talkers(parent, &shape);
	if (ret != 0) {
		free_generation(generation);
		return ret;
	}
	generation->number = ++parent->generation_count;
	*ret_generation = generation;
	return 0;
}

/* All workers get the same, and those that come after them too. */
static void give_cookies(struct parent *parent, struct settings *settings)
{
	if (!settings->has_cookies || settings->cookies.count > 0)
		return;
	int ret = cookie_fill(&parent->cookies, clock_now_ms() / 1000, &settings->cookies);
	if (ret != 0)
		log_warning(context, "no cookies, the system gives no random secret (%s)",
			    strerror(-ret));
}

static size_t share_with_zones(const struct settings *settings, rlim_t all)
{
	size_t least = FILES_OF_ZONE_LEAST * settings->zone_count;
	size_t most = FILES_OF_ZONE * settings->zone_count;
	size_t share = all / 2 > least ? all / 2 : least;
	return most < share ? most : share;
}

static size_t share_with_addresses(struct settings *settings, rlim_t all)
{
	size_t count = outward_count(settings);
	rlim_t max = all / 4 / FILES_OF_ADDRESS;
	if (count <= max)
		return FILES_OF_ADDRESS * count;
	settings->outward_max = max > 0 ? (unsigned)max : 1;
	log_warning(context,
		    "too few descriptors to ask all secondaries at once, "
		    "addresses=%zu at-once=%u descriptors=%llu",
		    count, settings->outward_max, (unsigned long long)all);
	return (size_t)FILES_OF_ADDRESS * settings->outward_max;
}

/* So that clients over TCP cannot take those that a worker needs for its stores. */
static void share_descriptors(const struct parent *parent, struct settings *settings)
{
	rlim_t all = daemon_raise_descriptors();
	size_t sockets = (2 * settings->workers + 1) * parent->listener->address_count;
	size_t own = OWN_FILES + sockets + share_with_zones(settings, all) +
		     share_with_addresses(settings, all);
	settings->tcp_max_clients =
		daemon_share_descriptors(context, (unsigned)own, settings->tcp_max_clients);
}

/* What the parent, and all that it forks from here on, has of a configuration. */
static void obey_settings(struct parent *parent, const struct settings *settings)
{
	if (settings->has_pinned_workers)
		cores_share(&parent->cores);
	else
		cores_use_all(&parent->cores);
	log_set_level((enum log_level)settings->log_level);
	int ret = querylog_switch(&parent->querylog, settings);
	if (ret != 0)
		log_error(context, "query log not started (%s)", strerror(-ret));
}

/* settings is taken over in any case. */
static struct generation *start_generation(struct parent *parent, struct settings *settings)
{
	struct generation *generation = NULL;
	give_cookies(parent, settings);
	share_descriptors(parent, settings);
	int ret = make_generation(parent, settings, &generation);
	if (ret != 0) {
		log_error(context, "workers not started (%s)", strerror(-ret));
		return NULL;
	}
	obey_settings(parent, &generation->settings);
	TAILQ_INSERT_TAIL(&parent->generations, generation, link);
	for (unsigned i = 0; i < generation->crew.count; i++)
		start_slot(parent, generation, &generation->crew.slots[i]);
	return generation;
}

static void drain_generation(struct generation *generation)
{
	uint64_t kill_ms = clock_now_ms() + generation->settings.drain_timeout_s * (uint64_t)1000 +
			   KILL_AFTER_MS;
	child_tell(&generation->crew, GENERATION_WORKER, kill_ms);
	child_tell(&generation->crew, GENERATION_FILLER, kill_ms);
}

/* Of those that are not on their way out; or the last of these. NULL: there is none. */
static struct generation *find_newest(const struct parent *parent)
{
	struct generation *generation = NULL;
	TAILQ_FOREACH_REVERSE(generation, &parent->generations, generation_list, link)
	{
		if (!generation_is_draining(generation))
			return generation;
	}
	return TAILQ_LAST(&parent->generations, generation_list);
}

static unsigned count_words(const struct generation *generation, enum worker_word word)
{
	unsigned count = 0;
	for (unsigned i = 0; i < generation->settings.workers; i++)
		count += generation->states[i].word == word;
	return count;
}

static void end_generation(struct parent *parent, struct generation *generation)
{
	for (unsigned i = 0; i < generation->settings.workers; i++)
		parent->past_restarts += generation->states[i].restarts;
	if (totals_add_bank(&parent->past, &generation->bank, &generation->settings) != 0 ||
	    accounts_keep_talkers(parent, generation) != 0)
		log_error(context, "counters lost (%s)", strerror(ENOMEM));
	if (parent->serving == generation)
		parent->serving = NULL;
	TAILQ_REMOVE(&parent->generations, generation, link);
	free_generation(generation);
}

static void log_ready(const struct parent *parent, const struct generation *generation)
{
	const char *what = parent->serving == NULL ? "ready" : "reloaded";
	log_info(context, "%s, version=%s zones=%zu workers=%u sockets=%zu", what, DNSBLV6_VERSION,
		 generation->settings.zone_count, generation->settings.workers,
		 2 * parent->listener->address_count * generation->settings.workers);
}

/* It asked to be told: it waits for READY=1, and stops us when it hears nothing. */
static void check_told(int ret)
{
	if (ret != 0)
		log_warning(context, "service manager not told (%s)", strerror(-ret));
}

/* The end of a reload that changes nothing. */
static void stay(struct parent *parent)
{
	log_warning(context, "configuration not reloaded, the old one stays");
	parent->reloads_refused++;
	if (parent->serving != NULL)
		check_told(systemd_notify("READY=1"));
}

/* The answer to a reload: it is done, what it could not do, and which zones have no store. */
static void answer_reload(struct parent *parent)
{
	if (parent->reply_ms == 0)
		return;
	parent->reply_ms = 0;
	const struct generation *serving = parent->serving;
	const struct takeover_side after = { &serving->settings, &serving->zonestatus };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out != NULL && parent->restart_item != NULL)
		fprintf(out, "warning: [%s] configuration change needs a restart, item=%s\n",
			context, parent->restart_item);
	if (out != NULL)
		takeover_write_failures(&after, out);
	bool is_written = out != NULL && fclose(out) == 0;
	control_answer_waiting(parent->control, serving->number, is_written ? text : "",
			       clock_now_ms());
	free(text);
}

/* Does a worker of before still read questions? */
static bool has_readers(const struct parent *parent)
{
	const struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		if (generation_is_draining(generation) &&
		    count_words(generation, WORKER_DRAINS) <
			    crew_count(&generation->crew, GENERATION_WORKER))
			return true;
	}
	return false;
}

/* The workers that serve have a zone that the newest would lose: they go on. */
static void refuse_newest(struct parent *parent, struct generation *newest)
{
	const struct generation *serving = parent->serving;
	const struct takeover_side before = { &serving->settings, &serving->zonestatus };
	const struct takeover_side after = { &newest->settings, &newest->zonestatus };
	char reason[CONF_ERROR_MAX] = "a store could not be opened for a moment";
	struct takeover_loss loss;
	if (takeover_find_loss(&before, &after, &loss)) {
		const char *domain = loss.zone->domain.text;
		const char *why = zone_strerror(loss.status);
		log_error(domain, "store would be lost by the reload, path=%s (%s)",
			  loss.zone->store, why);
		snprintf(reason, sizeof(reason), "the store of %s would be lost, path=%s (%s)",
			 domain, loss.zone->store, why);
	}
	answer_reload(parent); /* of the one before */
	drain_generation(newest);
	obey_settings(parent, &serving->settings);
	stay(parent);
	control_refuse_waiting(parent->control, newest->number, reason, clock_now_ms());
}

/* The newest generation takes over when all of it serves; those before it drain. */
static void switch_generations(struct parent *parent)
{
	struct generation *newest = find_newest(parent);
	if (newest == NULL || newest == parent->serving || generation_is_draining(newest))
		return;
	if (parent->serving != NULL && count_words(newest, WORKER_WOULD_LOSE) > 0) {
		refuse_newest(parent, newest);
		return;
	}
	if (count_words(newest, WORKER_SERVES) < newest->settings.workers)
		return;
	driver_hand_over(parent->driver, newest->number);
	int ret = keep_talkers(parent, &newest->talkers.shape);
	if (ret != 0)
		log_error(context, "counters lost (%s)", strerror(-ret));
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		if (generation != newest)
			drain_generation(generation);
	}
	log_ready(parent, newest);
	check_told(systemd_notify("READY=1"));
	parent->reloads += parent->serving != NULL;
	parent->serving = newest;
	parent->reply_ms = clock_now_ms() + REPLY_AFTER_MS;
	control_prolong_waiting(parent->control, newest->number, parent->reply_ms);
}

static bool generation_lives(const struct generation *generation)
{
	return crew_count(&generation->crew, GENERATION_WORKER) +
		       crew_count(&generation->crew, GENERATION_FILLER) >
	       0;
}

/* What time brings: restarts, kills, generations without a process. */
static void tend(struct parent *parent)
{
	struct generation *next = NULL;
	uint64_t now = clock_now_ms();
	querylog_tend(&parent->querylog, &find_newest(parent)->settings, now);
	if (now >= parent->reply_ms || !has_readers(parent))
		answer_reload(parent);
	for (struct generation *generation = TAILQ_FIRST(&parent->generations); generation != NULL;
	     generation = next) {
		struct crew_slot *slot = NULL;
		next = TAILQ_NEXT(generation, link);
		if (generation_is_draining(generation) && !generation_lives(generation)) {
			end_generation(parent, generation);
			continue;
		}
		while ((slot = crew_find_due(&generation->crew, now)) != NULL)
			start_slot(parent, generation, slot);
		child_kill_overdue(&generation->crew, now);
	}
}

/* ---- signals ---- */

/* Only a restart binds other sockets or becomes another user. */
static void keep_fixed(struct parent *parent, struct settings *settings)
{
	const struct settings *old = &find_newest(parent)->settings;
	parent->restart_item = conf_find_restart(&settings_table, parent->configured, settings);
	if (parent->restart_item != NULL)
		log_warning(context, "configuration change needs a restart, item=%s",
			    parent->restart_item);
	conf_keep_restart(&settings_table, old, settings);
}

/* A file that a full disk or a script has emptied is none: no list may be lost by a reload. */
static int read_again(const struct parent *parent, struct settings *settings,
		      struct conf_error *reterr_error)
{
	const size_t served = find_newest(parent)->settings.zone_count;
	int ret = settings_read(settings, parent->config_path, reterr_error);
	if (ret == 0 && settings->zone_count == 0 && served > 0)
		ret = conf_refuse(reterr_error, -EINVAL,
				  "it has no zone, and %zu are served; a restart ends them",
				  served);
	return ret;
}

/* False with the reason in ret_reason, of CONF_ERROR_MAX bytes; then nothing has changed. */
static bool reload(struct parent *parent, char *ret_reason)
{
	struct settings settings;
	struct conf_error error;
	check_told(systemd_notify_reloading());
	if (read_again(parent, &settings, &error) != 0) {
		conf_log_error(parent->config_path, &error);
		conf_format_error(parent->config_path, &error, ret_reason);
		settings_deinit(&settings);
		stay(parent);
		return false;
	}
	settings_log_warnings(parent->config_path, &settings);
	keep_fixed(parent, &settings);
	struct generation *unready = find_newest(parent);
	if (start_generation(parent, &settings) == NULL) {
		snprintf(ret_reason, CONF_ERROR_MAX, "workers not started");
		stay(parent);
		return false;
	}
	if (unready != parent->serving)
		drain_generation(unready); /* it was still starting, with a file older than this */
	return true;
}

/* number is 0 when it is dnsblv6ctl that says so. */
static void stop(struct parent *parent, int number)
{
	if (!parent->is_stopping) {
		if (number != 0)
			log_info(context, "stopping, signal=%d", number);
		else
			log_info(context, "stopping, as dnsblv6ctl says");
		answer_reload(parent);
		control_refuse_waiting(parent->control, UINT64_MAX, is_stopping, clock_now_ms());
		check_told(systemd_notify("STOPPING=1"));
	}
	parent->is_stopping = true;
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	drain_generation(generation);
}

static void obey(struct parent *parent, int number)
{
	char reason[CONF_ERROR_MAX];
	switch (number) {
	case SIGCHLD:
		reap(parent);
		break;
	case SIGHUP:
		if (!parent->is_stopping)
			reload(parent, reason); /* which is in the log */
		break;
	case SIGUSR1:
		if (!parent->is_stopping)
			accounts_log(parent);
		break;
	default:
		stop(parent, number);
	}
}

/* ---- the control socket ---- */

static void answer_report(const struct parent *parent, struct control_client *client,
			  const struct request *request)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int ret = out == NULL ? -ENOMEM : accounts_write_report(parent, request, out);
	if (out != NULL && fclose(out) != 0)
		ret = -ENOMEM;
	if (ret != 0) {
		free(text);
		text = NULL;
	}
	control_answer(client, text, size, clock_now_ms());
}

static void control_on_line(struct control *control, struct control_client *client,
			    const struct request *request, void *context_of_parent)
{
	(void)control;
	struct parent *parent = context_of_parent;
	char reason[CONF_ERROR_MAX];
	switch (request->verb) {
	case REQUEST_RELOAD:
		if (parent->is_stopping)
			control_refuse(client, is_stopping, clock_now_ms());
		else if (reload(parent, reason))
			control_wait(client, parent->generation_count, clock_now_ms());
		else
			control_refuse(client, reason, clock_now_ms());
		break;
	case REQUEST_STOP:
		stop(parent, 0);
		control_hold(client, clock_now_ms());
		break;
	default:
		answer_report(parent, client, request);
	}
}

/* What the loop waits for. 0 or -errno. */
static int open_waiting(struct parent *parent)
{
	sigset_t signals;
	child_block_signals(&signals, NULL);
	parent->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (parent->signal_fd < 0 || pipe2(parent->word_ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	return 0;
}

/* ---- the loop ---- */

/* A word of a process that has died meanwhile finds no slot. */
static void take_words(const struct parent *parent)
{
	struct worker_message message;
	while (read(parent->word_ends[0], &message, sizeof(message)) == sizeof(message)) {
		struct generation *generation = NULL;
		TAILQ_FOREACH(generation, &parent->generations, link)
		{
			const struct crew_slot *slot = crew_find(&generation->crew, message.pid);
			if (slot != NULL && slot->role == GENERATION_WORKER)
				generation->states[slot->index].word = message.word;
		}
	}
}

/* How long poll() may sleep: -1 when only a signal or a worker can bring news. */
static int sleep_ms(const struct parent *parent)
{
	uint64_t now = clock_now_ms();
	uint64_t until = control_deadline_ms(parent->control);
	if (parent->reply_ms != 0 && parent->reply_ms < until)
		until = parent->reply_ms;
	if (querylog_deadline_ms(&parent->querylog) < until)
		until = querylog_deadline_ms(&parent->querylog);
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		uint64_t at = crew_next_ms(&generation->crew);
		until = at < until ? at : until;
	}
	if (until == UINT64_MAX)
		return -1;
	return until <= now ? 100 : (int)(until - now);
}

/* Waits for signals, workers' words and the control socket, and takes them. */
static void wait_and_take(struct parent *parent)
{
	struct pollfd polls[2 + CONTROL_POLLS_MAX] = {
		{ .fd = parent->signal_fd, .events = POLLIN },
		{ .fd = parent->word_ends[0], .events = POLLIN },
	};
	size_t control_count = control_fill(parent->control, &polls[2]);
	bool has_any = poll(polls, 2 + control_count, sleep_ms(parent)) > 0;
	if (has_any && polls[1].revents != 0)
		take_words(parent);
	/* Without any of them, time alone is taken. */
	control_take(parent->control, &polls[2], control_count, clock_now_ms(), control_on_line,
		     parent);
	struct signalfd_siginfo info;
	while (read(parent->signal_fd, &info, sizeof(info)) == sizeof(info))
		obey(parent, (int)info.ssi_signo);
}

int parent_run(const char *config_path, struct settings *settings,
	       const struct settings *configured, const struct listener *listener,
	       const struct callfilter *worker_filter, struct control *control,
	       struct driver *driver)
{
	struct parent parent = { .config_path = config_path,
				 .configured = configured,
				 .listener = listener,
				 .worker_filter = worker_filter,
				 .control = control,
				 .driver = driver,
				 .started_ms = clock_now_ms() };
	TAILQ_INIT(&parent.generations);
	totals_init(&parent.past);
	querylog_init(&parent.querylog);
	/* Not a secret worth waiting for: without it 0 is as good. */
	if (getrandom(&parent.seed, sizeof(parent.seed), GRND_NONBLOCK) < 0)
		parent.seed = 0;
	int ret = open_waiting(&parent);
	if (ret != 0) {
		log_error(context, "signals not set up (%s)", strerror(-ret));
		settings_deinit(settings);
		return EX_OSERR;
	}
	cores_divide(&parent.cores, settings->workers);
	if (start_generation(&parent, settings) == NULL)
		return EX_OSERR;
	while (!TAILQ_EMPTY(&parent.generations)) {
		wait_and_take(&parent);
		switch_generations(&parent);
		tend(&parent);
	}
	querylog_end(&parent.querylog);
	totals_deinit(&parent.past);
	talkers_close(&parent.past_talkers);
	close(parent.signal_fd);
	close(parent.word_ends[0]);
	close(parent.word_ends[1]);
	log_info(context, "stopped");
	return EX_OK;
}
