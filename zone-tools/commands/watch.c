/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * watch.c - dnsblv6-zone watch: builds the zones of zones.conf whenever their lists change.
 *
 * One loop without any state on disk: what the lists look like (lookout.h) -> what is due
 * (schedule.h) -> a process that builds or signs one zone -> what it said, as lines of ours. Two zones
 * are built at a time: one that takes long does not hold up the others. What then waits for a secondary
 * is none of the two. A process that crashes over a list or a store takes nothing with it.
 */

#include "zone-tools/commands/build.h"
#include "zone-tools/commands/commands.h"
#include "zone-tools/commands/zonecall.h"

#include "zone-tools/zones/lookout.h"
#include "zone-tools/zones/schedule.h"

#include "lib/common/log.h"
#include "lib/common/version.h"
#include "lib/format/fnv.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"
#include "lib/process/sharedmem.h"
#include "lib/process/systemd.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

enum {
	BLIND_MS = 5000,       /* between looks where the kernel does not tell */
	LOOK_MS = 60000,       /* and where it does */
	NEWS_MS = 100,	       /* and where it tells of one file behind the other */
	LATE_LEAST_MS = 10000, /* a job may take so long, whatever --refresh says */
	PATIENCE_MS = 10000,   /* for a process that was told to end */
	SAID_MAX = 64 * 1024,  /* bytes of what a process has said that are read */
	WORKERS = 2, /* processes at work at a time: each may take as much memory as a zone needs */
	PLACES = 64, /* these, and what waits for secondaries, and takes next to none */
};

struct watched {
	const struct zonesconf_zone *zone;
	struct schedule schedule;
};

/* The process that builds or signs a zone. */
struct running {
	struct crew_slot slot; /* pid 0: none */
	enum schedule_job job;
	uint64_t late_ms; /* from when on it takes too long; SCHEDULE_NEVER: that was said */
	char *domain;	  /* ours */
	int out;	  /* what it says, in memory */
	int err;
};

struct watch {
	const char *path;
	uint64_t settle_s;
	uint64_t refresh_s;
	char **names; /* of zones; none: all */
	int name_count;
	struct schedule_pace pace;
	struct zonesconf conf;
	struct watched *zones;
	struct lookout lookout;
	bool has_news; /* something has happened in a directory since looked_ms */
	uint64_t looked_ms;
	struct running running[PLACES];
	volatile bool *is_waiting; /* of each place; shared with the processes, which say so */
	size_t next; /* where the search for something due begins: each zone in its turn */
	sigset_t waited;
	sigset_t before;
	int signals;
	bool is_ending;
};

#define AT(member) OPTIONS_AT(struct watch, member)

static const struct options_bound rows[] = {
	{ ZONECALL_ROW, AT(path) },
	{ { 0, "settle", "SECONDS", "a list is read when it has been still for so long (1)" },
	  AT(settle_s),
	  .max = 3600 },
	{ { 0, "refresh", "SECONDS", "how often signatures and keys are looked at (3600)" },
	  AT(refresh_s),
	  .min = 1,
	  .max = 86400 },
};

static const struct options_table table = {
	.program = "dnsblv6-zone watch",
	.libraries = DNSBLV6_LIBRARIES,
	.usage = "[options] [ZONE ...]",
	.summary = "Stays, and builds zones of zones.conf when their lists change.",
	OPTIONS_ROWS(rows),
};

/* ---- zones ---- */

static bool is_wanted(const struct watch *watch, const struct zonesconf *conf,
		      const struct zonesconf_zone *zone)
{
	for (int i = 0; i < watch->name_count; i++) {
		if (zonesconf_find(conf, watch->names[i]) == zone)
			return true;
	}
	return watch->name_count == 0;
}

static int check_names(const struct watch *watch, const struct zonesconf *conf)
{
	for (int i = 0; i < watch->name_count; i++) {
		if (zonesconf_find(conf, watch->names[i]) == NULL) {
			log_error(watch->path, "no such zone, zone=%s", watch->names[i]);
			return EX_CONFIG;
		}
	}
	return EX_OK;
}

static struct watched *find_zone(const struct watch *watch, const char *domain)
{
	for (size_t i = 0; i < watch->conf.count; i++) {
		if (watch->zones[i].zone != NULL &&
		    strcmp(watch->zones[i].zone->domain, domain) == 0)
			return &watch->zones[i];
	}
	return NULL;
}

static bool is_signed(const struct zonesconf_zone *zone)
{
	return zonesconf_get(zone, "key") != NULL || zonesconf_get(zone, "keys") != NULL;
}

/* Calls fn for each file that the zone is made of. */
static void each_file(const struct zonesconf_zone *zone,
		      void (*fn)(void *context, const char *path), void *context)
{
	static const char *const names[] = { "list", "except" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		zonesconf_each_file(zone, names[i], fn, context);
}

static void watch_file(void *lookout, const char *path)
{
	lookout_watch(lookout, path);
}

static void print_file(void *print, const char *path)
{
	*(uint64_t *)print = lookout_print(*(uint64_t *)print, path);
}

/* Has it changed since the last look? */
static bool look_at_zone(struct watched *watched, uint64_t now_ms)
{
	const uint64_t seen = watched->schedule.seen;
	uint64_t print = 1;
	if (watched->zone == NULL)
		return false;
	each_file(watched->zone, print_file, &print);
	schedule_see(&watched->schedule, print, now_ms);
	return print != seen;
}

/* Thousands of files: whatever else watch is awake for, a file of one directory that grows included. */
static uint64_t next_look_ms(const struct watch *watch)
{
	uint64_t pause_ms = watch->lookout.is_blind ? BLIND_MS : LOOK_MS;
	return watch->looked_ms + (watch->has_news ? NEWS_MS : pause_ms);
}

/* First: what happens behind a look at a file is news. */
static void watch_files(struct watch *watch)
{
	for (size_t i = 0; i < watch->conf.count; i++) {
		if (watch->zones[i].zone != NULL)
			each_file(watch->zones[i].zone, watch_file, &watch->lookout);
	}
}

static void look(struct watch *watch)
{
	uint64_t now_ms = clock_now_ms();
	const bool has_watched = watch->has_news || watch->lookout.is_blind;
	bool has_changed = false;
	if (has_watched) {
		lookout_renew(&watch->lookout);
		watch_files(watch);
	}
	for (size_t i = 0; i < watch->conf.count; i++)
		has_changed |= look_at_zone(&watch->zones[i], now_ms);
	/* Where the kernel has told nothing, a list has another place now, behind links. */
	watch->has_news = has_changed && !has_watched;
	watch->looked_ms = now_ms;
}

/* What is known of a zone of the same name goes on. */
static void take_zone(struct watch *watch, const struct watch *before, size_t index)
{
	struct watched *watched = &watch->zones[index];
	const struct zonesconf_zone *zone = &watch->conf.zones[index];
	const struct watched *known = find_zone(before, zone->domain);
	if (!is_wanted(watch, &watch->conf, zone))
		return;
	watched->zone = zone;
	schedule_init(&watched->schedule, &watch->pace, is_signed(zone), clock_now_ms());
	if (known != NULL) {
		watched->schedule = known->schedule;
		watched->schedule.is_signed = is_signed(zone);
		schedule_hurry(&watched->schedule, clock_now_ms());
	}
}

/* The old configuration stays when the new one cannot be taken. */
static int load(struct watch *watch)
{
	struct watch before = *watch;
	struct zonesconf conf = { 0 };
	struct conf_error error;
	int ret = zonesconf_load(watch->path, build_settings(), &conf, &error);
	if (ret != 0)
		conf_log_error(watch->path, &error);
	int status = ret == 0 ? check_names(watch, &conf) : EX_CONFIG;
	struct watched *zones = calloc(conf.count + 1, sizeof(*zones));
	if (status == EX_OK && zones == NULL)
		status = EX_TEMPFAIL;
	if (status != EX_OK) {
		free(zones);
		zonesconf_deinit(&conf);
		return status;
	}
	watch->conf = conf;
	watch->zones = zones;
	lookout_open(&watch->lookout);
	for (size_t i = 0; i < conf.count; i++)
		take_zone(watch, &before, i);
	watch_files(watch);
	lookout_close(&before.lookout);
	free(before.zones);
	zonesconf_deinit(&before.conf);
	look(watch);
	return EX_OK;
}

/* ---- a process ---- */

static void close_running(struct running *running)
{
	if (running->out >= 0)
		close(running->out);
	if (running->err >= 0)
		close(running->err);
	free(running->domain);
	*running = (struct running){ .out = -1, .err = -1 };
}

/* In the process: its streams are in memory, and its signals are what they were. */
static int run_child(const struct watch *watch, const struct running *running,
		     const struct watched *watched)
{
	/* Watches stay as long as some process has their descriptor, and a secondary may be waited for. */
	struct lookout lookout = watch->lookout;
	lookout_close(&lookout);
	sigprocmask(SIG_SETMASK, &watch->before, NULL);
	close(watch->signals);
	if (dup2(running->out, STDOUT_FILENO) < 0 || dup2(running->err, STDERR_FILENO) < 0)
		return EX_OSERR;
	int status = running->job == SCHEDULE_BUILD ? build_zone(watched->zone)
						    : sign_zone(watched->zone);
	if (status == EX_OK && build_has_secondaries(watched->zone)) {
		watch->is_waiting[running - watch->running] = true;
		kill(getppid(), SIGCHLD); /* there may be room for another one */
		status = build_await(watched->zone);
	}
	fflush(NULL);
	return status;
}

static const char *job_word(enum schedule_job job)
{
	return job == SCHEDULE_BUILD ? "built" : "signed";
}

static uint64_t late_after_ms(const struct watch *watch)
{
	return watch->pace.refresh_ms > LATE_LEAST_MS ? watch->pace.refresh_ms : LATE_LEAST_MS;
}

static void start(const struct watch *watch, struct running *running, struct watched *watched,
		  enum schedule_job job)
{
	running->job = job;
	watch->is_waiting[running - watch->running] = false;
	if (job == SCHEDULE_BUILD && schedule_is_restless(&watched->schedule))
		log_info(watched->zone->domain,
			 "lists read though they are still being written to");
	running->late_ms = clock_now_ms() + late_after_ms(watch);
	running->domain = strdup(watched->zone->domain);
	running->out = memfd_create("output", MFD_CLOEXEC);
	running->err = memfd_create("errors", MFD_CLOEXEC);
	schedule_begin(&watched->schedule, job);
	int ret = running->domain == NULL || running->out < 0 || running->err < 0 ? -errno : 0;
	fflush(NULL);
	if (ret == 0)
		ret = child_fork(&running->slot);
	if (ret == 0)
		_exit(run_child(watch, running, watched));
	if (ret > 0)
		return;
	uint64_t again_ms = schedule_end(&watched->schedule, job, false, clock_now_ms());
	log_error(watched->zone->domain, "zone not %s, again=%" PRIu64 "s (%s)", job_word(job),
		  again_ms / 1000, strerror(-ret));
	close_running(running);
}

/* ---- what it has said ---- */

/* The text of a stream, terminated; empty without memory. The caller frees it. */
static char *read_said(int fd)
{
	char *text = calloc(1, SAID_MAX + 1);
	if (text != NULL && pread(fd, text, SAID_MAX, 0) < 0)
		text[0] = '\0';
	return text;
}

/* Of a failure the first error, or the first line. */
static char *find_reason(char *text)
{
	static const char word[] = "error: ";
	char *found = strstr(text, word);
	while (found != NULL && found != text && found[-1] != '\n')
		found = strstr(found + 1, word);
	char *line = found != NULL ? found + strlen(word) : text;
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static void copy_lines(const char *text)
{
	for (const char *end; *text != '\0'; text = end) {
		end = text + strcspn(text, "\n");
		end += *end == '\n';
		log_copy(text, (size_t)(end - text));
	}
}

/*
 * Its warnings are lines of ours already. Behind a failure it is told that nothing has changed, too: a
 * log whose last word is the failure says that it lasts.
 */
static void tell_success(const struct running *running, struct watched *watched, bool is_recovery,
			 char *out, const char *err)
{
	uint64_t number = fnv_add(FNV_START, err, strlen(err));
	if (watched == NULL || schedule_tell(&watched->schedule, number, clock_now_ms()))
		copy_lines(err);
	for (char *line; (line = strsep(&out, "\n")) != NULL;) {
		if (*line == '\0')
			continue; /* behind the last one */
		if (!is_recovery && strncmp(line, "nothing ", strlen("nothing ")) == 0)
			log_debug(running->domain, "%s", line);
		else
			log_info(running->domain, "%s", line);
	}
}

static void tell_failure(const struct running *running, int status, uint64_t again_ms, char *err)
{
	char end[CHILD_END_TEXT_SIZE];
	log_error(running->domain, "zone not %s, %s again=%" PRIu64 "s (%s)",
		  job_word(running->job), child_format_end(status, end), again_ms / 1000,
		  find_reason(err));
}

/* The zone was taken out of zones.conf meanwhile, so that nothing is tried again. */
static void tell_left(const struct running *running, int status, char *err)
{
	char end[CHILD_END_TEXT_SIZE];
	log_info(running->domain, "zone not %s, and no longer in zones.conf, %s (%s)",
		 job_word(running->job), child_format_end(status, end), find_reason(err));
}

/* A secondary that lags is no reason to build again: the version is published. */
static bool is_good(int status)
{
	return WIFEXITED(status) &&
	       (WEXITSTATUS(status) == EX_OK || WEXITSTATUS(status) == EX_UNAVAILABLE);
}

static void end_job(const struct watch *watch, struct running *running, int status)
{
	struct watched *watched = find_zone(watch, running->domain);
	char *out = read_said(running->out);
	char *err = read_said(running->err);
	uint64_t again_ms = 0;
	const bool is_recovery = watched != NULL && running->job == SCHEDULE_BUILD &&
				 schedule_is_failing(&watched->schedule);
	if (watched != NULL)
		again_ms = schedule_end(&watched->schedule, running->job, is_good(status),
					clock_now_ms());
	if (out == NULL || err == NULL)
		log_error(running->domain, "out of memory");
	else if (is_good(status))
		tell_success(running, watched, is_recovery, out, err);
	else if (watched == NULL)
		tell_left(running, status, err);
	else
		tell_failure(running, status, again_ms, err);
	free(out);
	free(err);
	close_running(running);
}

static void reap(struct watch *watch)
{
	int status = 0;
	for (size_t i = 0; i < PLACES; i++) {
		struct running *running = &watch->running[i];
		if (running->slot.pid != 0 &&
		    waitpid(running->slot.pid, &status, WNOHANG) == running->slot.pid)
			end_job(watch, running, status);
	}
}

/*
 * It may wait for a writer of the store that was stopped, or for a disk. It is not ended: a large zone takes
 * long, and would begin again without end.
 */
static void tell_late(struct watch *watch)
{
	for (size_t i = 0; i < PLACES; i++) {
		struct running *running = &watch->running[i];
		if (running->slot.pid == 0 || watch->is_waiting[i] ||
		    clock_now_ms() < running->late_ms)
			continue;
		running->late_ms = SCHEDULE_NEVER;
		log_warning(running->domain,
			    "zone not %s yet, pid=%d after=%" PRIu64 "s (it has one of two places)",
			    job_word(running->job), (int)running->slot.pid,
			    late_after_ms(watch) / 1000);
	}
}

/* ---- the loop ---- */

static struct running *find_place(struct watch *watch)
{
	struct running *place = NULL;
	size_t working = 0;
	for (size_t i = 0; i < PLACES; i++) {
		if (watch->running[i].slot.pid == 0)
			place = &watch->running[i];
		else if (!watch->is_waiting[i])
			working++;
	}
	return working < WORKERS ? place : NULL;
}

/* Is it ours, and no process at work on it? */
static bool may_start(const struct watch *watch, const struct watched *watched)
{
	for (size_t i = 0; watched->zone != NULL && i < PLACES; i++) {
		const char *domain = watch->running[i].domain;
		if (domain != NULL && strcmp(domain, watched->zone->domain) == 0)
			return false;
	}
	return watched->zone != NULL;
}

/* Its lists may have changed since all were looked at. */
static enum schedule_job find_job(struct watched *watched, uint64_t now_ms)
{
	if (schedule_due(&watched->schedule, now_ms) == SCHEDULE_NONE)
		return SCHEDULE_NONE;
	look_at_zone(watched, now_ms);
	return schedule_due(&watched->schedule, now_ms);
}

static void start_due(struct watch *watch)
{
	uint64_t now_ms = clock_now_ms();
	struct running *place = find_place(watch);
	for (size_t i = 0; place != NULL && i < watch->conf.count; i++) {
		size_t index = (watch->next + i) % watch->conf.count;
		struct watched *watched = &watch->zones[index];
		if (!may_start(watch, watched))
			continue;
		enum schedule_job job = find_job(watched, now_ms);
		if (job == SCHEDULE_NONE)
			continue;
		watch->next = index + 1;
		start(watch, place, watched, job);
		return;
	}
}

static int timeout_ms(struct watch *watch)
{
	uint64_t now_ms = clock_now_ms();
	uint64_t next_ms = next_look_ms(watch);
	const bool has_place = find_place(watch) != NULL;
	for (size_t i = 0; i < PLACES; i++) {
		const struct running *running = &watch->running[i];
		if (running->slot.pid != 0 && !watch->is_waiting[i] && running->late_ms < next_ms)
			next_ms = running->late_ms;
	}
	for (size_t i = 0; has_place && i < watch->conf.count; i++) {
		if (!may_start(watch, &watch->zones[i]))
			continue;
		uint64_t due_ms = schedule_next_ms(&watch->zones[i].schedule);
		next_ms = due_ms < next_ms ? due_ms : next_ms;
	}
	return next_ms > now_ms ? (int)(next_ms - now_ms) : 0;
}

static void reload(struct watch *watch)
{
	systemd_notify_reloading();
	if (load(watch) == EX_OK)
		log_info(watch->path, "configuration read again");
	systemd_notify("READY=1");
}

/* SIGHUP behind all others: there is nothing to be read again when watch is to end. */
static void take_signals(struct watch *watch)
{
	struct signalfd_siginfo got;
	bool is_reload = false;
	while (read(watch->signals, &got, sizeof(got)) == sizeof(got)) {
		if (got.ssi_signo == SIGCHLD)
			reap(watch);
		else if (got.ssi_signo == SIGHUP)
			is_reload = true;
		else if (got.ssi_signo == SIGTERM || got.ssi_signo == SIGINT)
			watch->is_ending = true;
	}
	if (is_reload && !watch->is_ending)
		reload(watch);
}

static void wait_and_look(struct watch *watch)
{
	struct pollfd pollers[] = { { .fd = watch->signals, .events = POLLIN },
				    { .fd = watch->has_news ? -1 : watch->lookout.fd,
				      .events = POLLIN },
				    { .fd = watch->lookout.above_fd, .events = POLLIN } };
	int count = poll(pollers, 3, timeout_ms(watch));
	watch->has_news |= count > 0 && pollers[1].revents != 0;
	if (count > 0 && pollers[2].revents != 0)
		watch->has_news |= lookout_is_replaced(&watch->lookout);
	if (count > 0 && pollers[0].revents != 0)
		take_signals(watch);
	if (next_look_ms(watch) <= clock_now_ms())
		look(watch);
	tell_late(watch);
}

/* A build that is ended leaves the store as it was. */
static void stop(struct watch *watch)
{
	systemd_notify("STOPPING=1");
	for (size_t i = 0; i < PLACES; i++) {
		if (watch->running[i].slot.pid != 0)
			kill(watch->running[i].slot.pid, SIGTERM);
	}
	for (size_t i = 0; i < PLACES; i++) {
		if (watch->running[i].slot.pid != 0)
			child_wait(watch->running[i].slot.pid, PATIENCE_MS);
	}
	log_info("dnsblv6-zone", "watch has ended");
}

static int run(struct watch *watch)
{
	int status = load(watch);
	if (status != EX_OK)
		return status;
	log_info("dnsblv6-zone", "watching, zones=%zu",
		 watch->name_count > 0 ? (size_t)watch->name_count : watch->conf.count);
	systemd_notify("READY=1");
	while (!watch->is_ending) {
		start_due(watch);
		wait_and_look(watch);
	}
	stop(watch);
	return EX_OK;
}

static void parse_command_line(struct watch *watch, int argc, char **argv)
{
	options_parse(&table, argc, argv, watch);
	watch->names = argv + optind;
	watch->name_count = argc - optind;
	watch->pace.settle_ms = watch->settle_s * 1000;
	watch->pace.refresh_ms = watch->refresh_s * 1000;
}

int watch_command(int argc, char **argv)
{
	struct watch watch = { .path = DNSBLV6_ZONES_CONF,
			       .settle_s = 1,
			       .refresh_s = 3600,
			       .lookout = { .fd = -1, .above_fd = -1 } };
	for (size_t i = 0; i < PLACES; i++)
		watch.running[i].out = watch.running[i].err = -1;
	parse_command_line(&watch, argc, argv);
	log_set_level(LOG_LEVEL_INFO); /* zones do not wait for the reader of its log */
	watch.is_waiting = sharedmem_new(PLACES * sizeof(*watch.is_waiting));
	if (watch.is_waiting == NULL) {
		log_error("dnsblv6-zone", "out of memory");
		return EX_OSERR;
	}
	child_block_signals(&watch.waited, &watch.before);
	watch.signals = signalfd(-1, &watch.waited, SFD_CLOEXEC | SFD_NONBLOCK);
	if (watch.signals < 0) {
		log_error("dnsblv6-zone", "signals not taken (%s)", strerror(errno));
		return EX_OSERR;
	}
	int status = run(&watch);
	for (size_t i = 0; i < PLACES; i++)
		close_running(&watch.running[i]);
	lookout_close(&watch.lookout);
	close(watch.signals);
	free(watch.zones);
	zonesconf_deinit(&watch.conf);
	return status;
}
