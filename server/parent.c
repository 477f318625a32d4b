/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/common/version.h"
#include "server/catalog.h"
#include "server/systemd.h"
#include "server/tally.h"
#include "server/worker.h"

static const char context[] = "dnsblv6d";

#define BACKOFF_FIRST_MS 100
#define BACKOFF_MAX_MS	 10000
/* Younger than this is "dies at once". */
#define LIFE_MIN_MS 2000
/* A drained worker that is still there then is stuck. */
#define KILL_AFTER_MS 5000

struct slot {
	pid_t pid;    /* 0: none */
	int ready_fd; /* -1: said so, or dead */
	bool is_ready;
	uint64_t started_ms;
	uint64_t restart_ms; /* when pid is 0 and it is to be replaced */
	unsigned backoff_ms;
};

struct generation {
	TAILQ_ENTRY(generation) link;
	struct settings settings;
	struct counters_bank bank;
	struct slot *slots; /* one for each of settings.workers */
	bool is_draining;
	uint64_t kill_ms;
};

struct parent {
	const char *config_path;
	const struct settings *configured;
	const struct listener *listener;
	TAILQ_HEAD(generation_list, generation) generations; /* the newest last */
	struct generation *serving;			     /* NULL before the first is ready */
	struct tally past;
	int signal_fd;
	bool is_stopping;
};

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- workers ---- */

__attribute__((noreturn)) static void run_worker(struct parent *parent,
						 struct generation *generation, size_t index,
						 int ready_fd, pid_t parent_pid)
{
	close(parent->signal_fd);
	struct generation *other = NULL;
	TAILQ_FOREACH(other, &parent->generations, link)
	{
		for (size_t i = 0; i < other->settings.workers; i++) {
			if (other->slots[i].ready_fd >= 0)
				close(other->slots[i].ready_fd);
		}
	}
	struct worker_start start = { .settings = &generation->settings,
				      .listener = parent->listener,
				      .bank = &generation->bank,
				      .index = index,
				      .ready_fd = ready_fd,
				      .parent_pid = parent_pid };
	exit(worker_run(&start));
}

static void start_worker(struct parent *parent, struct generation *generation, size_t index)
{
	struct slot *slot = &generation->slots[index];
	int ends[2];
	pid_t parent_pid = getpid();
	pid_t pid = -1;
	slot->started_ms = now_ms();
	slot->is_ready = false;
	if (pipe2(ends, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0) {
			close(ends[0]);
			run_worker(parent, generation, index, ends[1], parent_pid);
		}
		int error = errno;
		close(ends[1]);
		if (pid < 0)
			close(ends[0]);
		errno = error;
	}
	if (pid < 0) {
		log_error(context, "worker not started, worker=%zu (%s)", index, strerror(errno));
		slot->restart_ms = now_ms() + BACKOFF_MAX_MS;
		return;
	}
	slot->pid = pid;
	slot->ready_fd = ends[0];
}

/* At once after a long life; later and later when it dies at once. */
static void plan_restart(struct slot *slot)
{
	bool died_young = now_ms() - slot->started_ms < LIFE_MIN_MS;
	if (!died_young)
		slot->backoff_ms = 0;
	slot->restart_ms = now_ms() + slot->backoff_ms;
	slot->backoff_ms = slot->backoff_ms == 0 ? BACKOFF_FIRST_MS : slot->backoff_ms * 2;
	if (slot->backoff_ms > BACKOFF_MAX_MS)
		slot->backoff_ms = BACKOFF_MAX_MS;
}

static void bury(struct generation *generation, size_t index, int status)
{
	struct slot *slot = &generation->slots[index];
	pid_t pid = slot->pid;
	slot->pid = 0;
	slot->is_ready = false;
	if (slot->ready_fd >= 0)
		close(slot->ready_fd);
	slot->ready_fd = -1;
	if (generation->is_draining && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	const char *how = WIFSIGNALED(status) ? "signal" : "status";
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	if (generation->is_draining) {
		log_warning(context, "worker died while it drained, worker=%zu pid=%d %s=%d", index,
			    (int)pid, how, number);
		return;
	}
	plan_restart(slot);
	log_error(context, "worker died, worker=%zu pid=%d %s=%d restart_ms=%llu", index, (int)pid,
		  how, number,
		  (unsigned long long)(slot->restart_ms > now_ms() ? slot->restart_ms - now_ms()
								   : 0));
}

static void reap(struct parent *parent)
{
	int status = 0;
	pid_t pid = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct generation *generation = NULL;
		TAILQ_FOREACH(generation, &parent->generations, link)
		{
			for (size_t i = 0; i < generation->settings.workers; i++) {
				if (generation->slots[i].pid == pid)
					bury(generation, i, status);
			}
		}
	}
}

/* ---- generations ---- */

/* settings is taken over in any case. */
static struct generation *start_generation(struct parent *parent, struct settings *settings)
{
	struct generation *generation = calloc(1, sizeof(*generation));
	struct slot *slots = calloc(settings->workers, sizeof(*slots));
	struct counters_bank bank = { 0 };
	int ret = generation == NULL || slots == NULL
			  ? -ENOMEM
			  : counters_open(&bank, settings->workers, settings->zone_count,
					  catalog_count_faces(settings));
	if (ret != 0) {
		log_error(context, "workers not started (%s)", strerror(-ret));
		settings_deinit(settings);
		free(generation);
		free(slots);
		return NULL;
	}
	generation->settings = *settings;
	generation->bank = bank;
	generation->slots = slots;
	for (size_t i = 0; i < settings->workers; i++)
		slots[i].ready_fd = -1;
	TAILQ_INSERT_TAIL(&parent->generations, generation, link);
	log_set_level((enum log_level)settings->log_level);
	for (size_t i = 0; i < settings->workers; i++)
		start_worker(parent, generation, i);
	return generation;
}

static void drain_generation(struct generation *generation)
{
	if (generation->is_draining)
		return;
	generation->is_draining = true;
	generation->kill_ms =
		now_ms() + generation->settings.drain_timeout_s * (uint64_t)1000 + KILL_AFTER_MS;
	for (size_t i = 0; i < generation->settings.workers; i++) {
		if (generation->slots[i].pid > 0)
			kill(generation->slots[i].pid, SIGTERM);
	}
}

static bool is_ready(const struct generation *generation)
{
	for (size_t i = 0; i < generation->settings.workers; i++) {
		if (!generation->slots[i].is_ready)
			return false;
	}
	return true;
}

static bool is_gone(const struct generation *generation)
{
	for (size_t i = 0; i < generation->settings.workers; i++) {
		if (generation->slots[i].pid > 0)
			return false;
	}
	return true;
}

static void end_generation(struct parent *parent, struct generation *generation)
{
	if (tally_add_bank(&parent->past, &generation->bank, &generation->settings) != 0)
		log_error(context, "counters lost (%s)", strerror(ENOMEM));
	if (parent->serving == generation)
		parent->serving = NULL;
	TAILQ_REMOVE(&parent->generations, generation, link);
	counters_close(&generation->bank);
	settings_deinit(&generation->settings);
	free(generation->slots);
	free(generation);
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

/* The newest generation takes over when all of it serves; those before it drain. */
static void switch_generations(struct parent *parent)
{
	struct generation *newest = TAILQ_LAST(&parent->generations, generation_list);
	if (newest == NULL || newest == parent->serving || newest->is_draining || !is_ready(newest))
		return;
	log_ready(parent, newest);
	check_told(systemd_notify("READY=1"));
	parent->serving = newest;
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		if (generation != newest)
			drain_generation(generation);
	}
}

/* What time brings: restarts, kills, funerals. */
static void tend(struct parent *parent)
{
	struct generation *next = NULL;
	uint64_t now = now_ms();
	for (struct generation *generation = TAILQ_FIRST(&parent->generations); generation != NULL;
	     generation = next) {
		next = TAILQ_NEXT(generation, link);
		if (generation->is_draining && is_gone(generation)) {
			end_generation(parent, generation);
			continue;
		}
		for (size_t i = 0; i < generation->settings.workers; i++) {
			struct slot *slot = &generation->slots[i];
			if (generation->is_draining && slot->pid > 0 && now >= generation->kill_ms)
				kill(slot->pid, SIGKILL);
			if (!generation->is_draining && slot->pid == 0 && now >= slot->restart_ms)
				start_worker(parent, generation, i);
		}
	}
}

/* ---- signals ---- */

/* Only a restart binds other sockets or becomes another user. */
static void keep_fixed(const struct parent *parent, struct settings *settings)
{
	const struct settings *old = &TAILQ_LAST(&parent->generations, generation_list)->settings;
	const char *item = settings_find_restart_item(parent->configured, settings);
	if (item != NULL)
		log_warning(context, "configuration change needs a restart, item=%s", item);
	memcpy(settings->listen, old->listen, sizeof(settings->listen));
	settings->listen_count = old->listen_count;
	memcpy(settings->user, old->user, sizeof(settings->user));
	settings->uid = old->uid;
	settings->gid = old->gid;
	settings->workers = old->workers;
}

/* The end of a reload that changes nothing. */
static void stay(const struct parent *parent)
{
	if (parent->serving != NULL)
		check_told(systemd_notify("READY=1"));
}

static void reload(struct parent *parent)
{
	struct settings settings;
	struct conf_error error;
	check_told(systemd_notify_reloading());
	if (settings_read(&settings, parent->config_path, &error) != 0) {
		settings_log_error(parent->config_path, &error);
		log_warning(context, "configuration not reloaded, the old one stays");
		settings_deinit(&settings);
		stay(parent);
		return;
	}
	settings_log_warnings(parent->config_path, &settings);
	keep_fixed(parent, &settings);
	struct generation *unready = TAILQ_LAST(&parent->generations, generation_list);
	if (start_generation(parent, &settings) == NULL)
		stay(parent);
	else if (unready != parent->serving)
		drain_generation(unready); /* it was still starting, with a file older than this */
}

static void log_counters(const struct parent *parent)
{
	struct tally tally;
	tally_init(&tally);
	int ret = tally_add(&tally, &parent->past);
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		if (ret == 0)
			ret = tally_add_bank(&tally, &generation->bank, &generation->settings);
	}
	char text[COUNTERS_TEXT_MAX];
	counters_format_server(tally.server, text);
	log_info(context, "counters, %s", text);
	const struct settings *settings =
		&TAILQ_LAST(&parent->generations, generation_list)->settings;
	for (size_t i = 0; i < catalog_count_faces(settings); i++) {
		const char *name = catalog_face_name(settings, i)->text;
		const uint64_t *values = tally_find(&tally, name);
		if (values == NULL)
			continue;
		counters_format_face(values, text);
		log_info(name, "counters, %s", text);
	}
	tally_deinit(&tally);
}

static void stop(struct parent *parent, int number)
{
	if (!parent->is_stopping) {
		log_info(context, "stopping, signal=%d", number);
		check_told(systemd_notify("STOPPING=1"));
	}
	parent->is_stopping = true;
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	drain_generation(generation);
}

static void obey(struct parent *parent, int number)
{
	switch (number) {
	case SIGCHLD:
		reap(parent);
		break;
	case SIGHUP:
		if (!parent->is_stopping)
			reload(parent);
		break;
	case SIGUSR1:
		if (!parent->is_stopping)
			log_counters(parent);
		break;
	default:
		stop(parent, number);
	}
}

static int open_signals(struct parent *parent)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return -errno;
	parent->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return parent->signal_fd >= 0 ? 0 : -errno;
}

/* ---- the loop ---- */

/* A worker's byte, or the end of its pipe: then SIGCHLD tells the rest. */
static void read_ready(struct slot *slot)
{
	char byte = 0;
	ssize_t size = read(slot->ready_fd, &byte, 1);
	if (size < 0 && errno == EINTR)
		return;
	slot->is_ready = size == 1;
	close(slot->ready_fd);
	slot->ready_fd = -1;
}

/* How long poll() may sleep: -1 when only a signal or a worker can bring news. */
static int sleep_ms(const struct parent *parent)
{
	uint64_t now = now_ms();
	uint64_t until = UINT64_MAX;
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	{
		for (size_t i = 0; i < generation->settings.workers; i++) {
			const struct slot *slot = &generation->slots[i];
			uint64_t at = generation->is_draining ? generation->kill_ms
				      : slot->pid == 0	      ? slot->restart_ms
							      : UINT64_MAX;
			until = at < until ? at : until;
		}
	}
	if (until == UINT64_MAX)
		return -1;
	return until <= now ? 100 : (int)(until - now);
}

static int count_slots(const struct parent *parent)
{
	int count = 0;
	struct generation *generation = NULL;
	TAILQ_FOREACH(generation, &parent->generations, link)
	count += (int)generation->settings.workers;
	return count;
}

/* Waits for signals and workers' bytes, and takes them. */
static void wait_and_take(struct parent *parent)
{
	int count = count_slots(parent) + 1;
	struct pollfd *polls = calloc((size_t)count, sizeof(*polls));
	struct slot **slots = calloc((size_t)count, sizeof(struct slot *));
	nfds_t used = 0;
	if (polls == NULL || slots == NULL) {
		log_error(context, "out of memory, trying again");
		sleep(1);
	} else {
		struct generation *generation = NULL;
		polls[used++] = (struct pollfd){ .fd = parent->signal_fd, .events = POLLIN };
		TAILQ_FOREACH(generation, &parent->generations, link)
		{
			for (size_t i = 0; i < generation->settings.workers; i++) {
				slots[used] = &generation->slots[i];
				polls[used++] =
					(struct pollfd){ .fd = generation->slots[i].ready_fd,
							 .events = POLLIN };
			}
		}
		if (poll(polls, used, sleep_ms(parent)) > 0) {
			for (nfds_t i = 1; i < used; i++) {
				if (polls[i].revents != 0)
					read_ready(slots[i]);
			}
		}
	}
	free(polls);
	free(slots);
	struct signalfd_siginfo info;
	while (read(parent->signal_fd, &info, sizeof(info)) == sizeof(info))
		obey(parent, (int)info.ssi_signo);
}

int parent_run(const char *config_path, struct settings *settings,
	       const struct settings *configured, const struct listener *listener)
{
	struct parent parent = { .config_path = config_path,
				 .configured = configured,
				 .listener = listener };
	TAILQ_INIT(&parent.generations);
	tally_init(&parent.past);
	int ret = open_signals(&parent);
	if (ret != 0) {
		log_error(context, "signals not set up (%s)", strerror(-ret));
		settings_deinit(settings);
		return EX_OSERR;
	}
	if (start_generation(&parent, settings) == NULL)
		return EX_OSERR;
	while (!TAILQ_EMPTY(&parent.generations)) {
		wait_and_take(&parent);
		switch_generations(&parent);
		tend(&parent);
	}
	tally_deinit(&parent.past);
	close(parent.signal_fd);
	log_info(context, "stopped");
	return EX_OK;
}
