/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/nanny/nanny.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "integration/common/program.h"
#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/base/nanny/generation.h"
#include "integration/mail/base/handover/handover.h"
#include "integration/mail/base/nanny/nanny_parts.h"
#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"
#include "lib/process/systemd.h"
#include "lib/common/version.h"

#define KILL_AFTER_MS 5000    /* behind "drain": a process still there is hurried, then killed */
#define EDGE_MORE_MS  5000    /* behind the last worker: clients of relays take what is left */
#define RELOAD_MAX_MS 3600000 /* a session that was open at SIGHUP may take so long */
#define METRICS_MS    15000
#define QUEUE_LOOK_MS 50 /* between looks at the queue, while it is to be emptied */
#define PAUSE_MIN_MS  10
#define OWN_FILES     560 /* of an edge, beside its sessions */
#define FILES_OF_ONE  3	  /* a session under TLS: the client, and both ends to its worker */

/* ---- the configuration ---- */

void nanny_free_setup(const struct nanny_program *program, void *setup)
{
	program->deinit(setup);
	free(setup);
}

/* NULL: logged. */
static void *read_setup(const struct nanny_program *program, const char *path)
{
	struct conf_error error;
	void *setup = calloc(1, program->setup_size);
	if (setup == NULL) {
		log_error(program->context, "configuration not read (%s)", strerror(ENOMEM));
		return NULL;
	}
	if (program_read(path, program->parse, setup, &error) == 0)
		return setup;
	conf_log_error(path, &error);
	nanny_free_setup(program, setup);
	return NULL;
}

/* ---- generations ---- */

static int refuse_place(const struct nanny *nanny, const struct place *place, int ret)
{
	log_error(nanny->program->context, "socket not opened, place=%s (%s)", place->text,
		  strerror(-ret));
	return program_refused_status(ret);
}

/* Listeners, and what its processes find outside: an exit status; logged. */
static int prepare(const struct nanny *nanny, const void *setup,
		   const struct listeners_wanted *wanted, struct listeners *ret_listeners)
{
	const struct place *place = NULL;
	int status = nanny->program->prepare(setup);
	if (status != EX_OK)
		return status;
	int ret = listeners_open(wanted, &nanny->listeners, ret_listeners, &place);
	return ret == 0 ? EX_OK : refuse_place(nanny, place, ret);
}

/* An exit status. All of it serves clients from here on, or nothing has happened; logged. */
static int begin(struct nanny *nanny, struct generation *generation)
{
	const struct place *place = NULL;
	int status = generation_begin(nanny, generation);
	if (status != EX_OK)
		return status;
	int ret = listeners_listen(&nanny->listeners, &nanny->former, &place);
	if (ret != 0) {
		status = refuse_place(nanny, place, ret);
	} else {
		ret = generation_release(generation);
		if (ret == 0)
			return EX_OK;
		log_error(nanny->program->context, "processes not started (%s)", strerror(-ret));
		status = EX_OSERR;
	}
	generation_abandon(nanny, generation);
	return status;
}

/*
 * When another has begun, and before the log says so. An edge that has not yet read the signal may
 * still take a client. The sessions of the old one may be long; its keyholder is for these.
 */
static void retire(struct generation *old)
{
	uint64_t now_ms = clock_now_ms();
	child_tell(&old->crew, NANNY_EDGE, now_ms + old->values.drain_ms + RELOAD_MAX_MS);
	child_tell(&old->crew, NANNY_WORKER, now_ms + RELOAD_MAX_MS);
}

/* All of setup, which is taken over. An exit status; what is not EX_OK is logged. */
static int serve(struct nanny *nanny, void *setup, const char *what)
{
	struct listeners opened;
	const char *context = nanny->program->context;
	const struct nanny_values values = nanny->program->values(setup);
	int status = prepare(nanny, setup, &values.listeners, &opened);
	if (status != EX_OK) {
		nanny_free_setup(nanny->program, setup);
		return status;
	}
	struct generation *old = SLIST_FIRST(&nanny->generations);
	struct generation *generation = generation_new(nanny->program, setup);
	nanny->former = nanny->listeners;
	nanny->listeners = opened;
	status = generation == NULL ? EX_OSERR : begin(nanny, generation);
	if (status != EX_OK) {
		listeners_close(&nanny->listeners, &nanny->former);
		nanny->listeners = nanny->former;
		nanny->former.edge_count = 0;
		return status;
	}
	listeners_close(&nanny->former, &nanny->listeners);
	if (old != NULL)
		retire(old);
	nanny->lacks_metrics = false;
	log_set_level((enum log_level)values.log_level);
	for (unsigned i = 0; i < values.listeners.place_count; i++)
		log_info(context, "listening, place=%s", values.listeners.places[i].text);
	log_info(context, "%s, version=%s places=%u edges=%u workers=%u certificates=%u", what,
		 DNSBLV6_VERSION, values.listeners.place_count, values.listeners.edge_count,
		 values.workers, values.certificate_count);
	program_tell_ready(context);
	return EX_OK;
}

/* ---- signals ---- */

/* The queue is that of all generations. */
static void resize_queue(struct nanny *nanny, uint64_t wanted)
{
	size_t size = 0;
	if (wanted == nanny->queue_bytes)
		return;
	int ret = handover_resize(nanny->queue_ends[NANNY_QUEUE_EDGES], wanted, &size);
	if (ret == 0)
		nanny->queue_bytes = wanted;
	if (ret != 0 || size < wanted)
		log_warning(nanny->program->context,
			    "hand-over socket smaller than wanted, bytes=%zu wanted=%llu (%s)",
			    size, (unsigned long long)wanted,
			    ret != 0 ? strerror(-ret) : "net.core.wmem_max, until a restart");
}

/* Whatever is wrong, the generation that serves goes on. */
static void reload(struct nanny *nanny)
{
	int told = systemd_notify_reloading();
	const struct nanny_program *program = nanny->program;
	void *setup = read_setup(program, nanny->config_path);
	if (setup == NULL || serve(nanny, setup, "reloaded") != EX_OK) {
		/* A program that is to end has said so, and reloads no more. */
		if (generation_stop_signal() == 0) {
			nanny_count(nanny, NANNY_RELOAD_REFUSED);
			log_warning(program->context,
				    "configuration not reloaded, the old one stays");
			program_tell_not_reloaded();
		}
		if (told == 0)
			program_tell_ready(program->context);
		return;
	}
	nanny_count(nanny, NANNY_RELOADED);
	program_tell_reloaded();
	resize_queue(nanny, SLIST_FIRST(&nanny->generations)->values.queue_bytes);
}

/* What no process of its own can set. */
static void note(const struct nanny *nanny, const struct generation *newest)
{
	if (nanny->program->note != NULL)
		nanny->program->note(&nanny->bank, newest->shared);
}

static void stop(struct nanny *nanny, int number)
{
	struct generation *generation = NULL;
	if (!nanny->is_stopping)
		program_tell_stopping(nanny->program->context, number);
	if (!nanny->is_stopping)
		nanny->stop_ms = clock_now_ms();
	nanny->is_stopping = true;
	/* A client that connects now is refused, and not left waiting. */
	listeners_close(&nanny->listeners, NULL);
	/* Its relays end with their workers, and drain() says when that is late. */
	SLIST_FOREACH(generation, &nanny->generations, link)
	child_tell(&generation->crew, NANNY_EDGE, CREW_NEVER);
}

static void obey(struct nanny *nanny, int number)
{
	switch (number) {
	case SIGCHLD:
		generation_reap(nanny);
		break;
	case SIGHUP:
		if (!nanny->is_stopping)
			reload(nanny);
		break;
	case SIGUSR1:
		note(nanny, SLIST_FIRST(&nanny->generations));
		bank_log(&nanny->bank);
		nanny->metrics_ms = 0; /* at once */
		break;
	case SIGTERM:
	case SIGINT:
		stop(nanny, number);
		break;
	default: /* something is due */
		break;
	}
}

/* ---- what time brings ---- */

static bool has_queued(const struct nanny *nanny)
{
	struct pollfd queue = { .fd = nanny->queue_ends[NANNY_QUEUE_WORKERS], .events = POLLIN };
	return poll(&queue, 1, 0) > 0;
}

static bool has_any(const struct nanny *nanny, unsigned role)
{
	const struct generation *generation = NULL;
	SLIST_FOREACH(generation, &nanny->generations, link)
	{
		if (crew_count(&generation->crew, role) > 0)
			return true;
	}
	return false;
}

/* What ends behind something else: workers behind the queue, and behind their edges the rest. */
static void drain(struct nanny *nanny, struct generation *generation)
{
	uint64_t later_ms = clock_now_ms() + generation->values.drain_ms + KILL_AFTER_MS;
	if (!generation->crew.is_told[NANNY_EDGE])
		return;
	if (crew_count(&generation->crew, NANNY_EDGE) == 0) {
		child_tell(&generation->crew, NANNY_KEYHOLDER, clock_now_ms() + KILL_AFTER_MS);
		/* Workers may ask them, too. */
		if (crew_count(&generation->crew, NANNY_WORKER) == 0)
			child_tell(&generation->crew, NANNY_CHECKER,
				   clock_now_ms() + KILL_AFTER_MS);
	}
	const uint64_t drained_ms = nanny->stop_ms + generation->values.drain_ms;
	/* Edges have refused what still waited then: they live for sessions that workers have. */
	const bool is_fed = has_any(nanny, NANNY_EDGE) && clock_now_ms() < drained_ms;
	/* Workers that have their hands full, or cannot begin, do not empty the queue. */
	const bool is_late = clock_now_ms() >= drained_ms + KILL_AFTER_MS;
	if (nanny->is_stopping && !is_fed && (is_late || !has_queued(nanny)))
		child_tell(&generation->crew, NANNY_WORKER, later_ms);
	if (nanny->is_stopping && generation->crew.is_told[NANNY_WORKER] &&
	    !has_any(nanny, NANNY_WORKER))
		child_tell(&generation->crew, NANNY_EDGE, clock_now_ms() + EDGE_MORE_MS);
}

static bool is_gone(const struct generation *generation)
{
	for (unsigned role = 0; role < NANNY_ROLES; role++) {
		if (!generation->crew.is_told[role] || crew_count(&generation->crew, role) > 0)
			return false;
	}
	return true;
}

static void tend_processes(struct nanny *nanny, struct generation *generation)
{
	struct crew_slot *slot = NULL;
	uint64_t now_ms = clock_now_ms();
	while ((slot = crew_find_due(&generation->crew, now_ms)) != NULL)
		generation_start(nanny, generation, slot);
	child_kill_overdue(&generation->crew, now_ms);
}

static void write_metrics(struct nanny *nanny)
{
	const struct generation *newest = SLIST_FIRST(&nanny->generations);
	if (newest == NULL || newest->values.metrics[0] == '\0' ||
	    clock_now_ms() < nanny->metrics_ms)
		return;
	nanny->metrics_ms = clock_now_ms() + METRICS_MS;
	note(nanny, newest);
	int ret = bank_write(&nanny->bank, newest->values.metrics);
	if (ret != 0 && !nanny->lacks_metrics)
		log_warning(nanny->program->context, "metrics not written, path=%s (%s)",
			    newest->values.metrics, strerror(-ret));
	if (ret == 0 && nanny->lacks_metrics)
		log_info(nanny->program->context, "metrics written again, path=%s",
			 newest->values.metrics);
	nanny->lacks_metrics = ret != 0;
}

static void tend(struct nanny *nanny)
{
	struct generation *generation = SLIST_FIRST(&nanny->generations);
	while (generation != NULL) {
		struct generation *next = SLIST_NEXT(generation, link);
		tend_processes(nanny, generation);
		drain(nanny, generation);
		if (is_gone(generation))
			generation_end(nanny, generation);
		generation = next;
	}
	write_metrics(nanny);
}

/* Until the next signal, or until something is due. */
static int wait_signal(const struct nanny *nanny)
{
	uint64_t now = clock_now_ms();
	uint64_t until = now + (nanny->is_stopping ? QUEUE_LOOK_MS : METRICS_MS);
	const struct generation *generation = NULL;
	SLIST_FOREACH(generation, &nanny->generations, link)
	{
		uint64_t next = crew_next_ms(&generation->crew);
		until = next < until ? next : until;
	}
	until = until < now + PAUSE_MIN_MS ? now + PAUSE_MIN_MS : until;
	return child_wait_signal(&nanny->waited, until);
}

/* ---- begin and end ---- */

/* Root gives edges what their sessions need; others have what they were given. */
static void raise_files(unsigned sessions_max)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)sessions_max * FILES_OF_ONE + OWN_FILES;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < wanted) {
		limit.rlim_cur = limit.rlim_max = wanted;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	daemon_raise_descriptors();
}

static int confine(const char *context)
{
	const char *step = "";
	int ret = confine_nanny(&step);
	if (ret == 0)
		return EX_OK;
	log_error(context, "process not confined, role=nanny step=%s (%s)", step, strerror(-ret));
	return EX_OSERR;
}

static int open_shared(struct nanny *nanny, uint64_t queue_bytes)
{
	int ret = bank_open(nanny->program->counters, NANNY_SLOTS, &nanny->bank);
	if (ret == 0)
		ret = scoreboard_open(NANNY_SLOTS, &nanny->scoreboard);
	if (ret == 0)
		ret = passed_open(clock_now_ms(), &nanny->passed);
	if (ret == 0)
		ret = handover_open(queue_bytes, nanny->queue_ends);
	nanny->queue_bytes = queue_bytes;
	if (ret == 0)
		return EX_OK;
	log_error(nanny->program->context, "hand-over socket and counters not made (%s)",
		  strerror(-ret));
	return EX_OSERR;
}

static void close_shared(struct nanny *nanny)
{
	listeners_close(&nanny->listeners, NULL);
	for (unsigned end = 0; end < 2; end++) {
		if (nanny->queue_ends[end] >= 0)
			close(nanny->queue_ends[end]);
	}
	passed_close(nanny->passed);
	scoreboard_close(nanny->scoreboard);
	bank_close(&nanny->bank);
}

static int run(const struct nanny_program *program, void *setup, const char *config_path)
{
	const struct nanny_values values = program->values(setup);
	struct nanny nanny = { .program = program,
			       .config_path = config_path,
			       .queue_ends = { -1, -1 } };
	SLIST_INIT(&nanny.generations);
	child_block_signals(&nanny.waited, &nanny.before);
	if (geteuid() == 0 && program->rights(setup, NANNY_EDGE).owner->user[0] == '\0')
		log_warning(program->context, "no user is given, processes of clients stay root");
	raise_files(values.sessions_max);
	/* Root's queue may be larger than the system's limit, which it is not any more then. */
	int status = open_shared(&nanny, values.queue_bytes);
	if (status == EX_OK)
		status = confine(program->context);
	if (status == EX_OK) {
		status = serve(&nanny, setup, "ready");
		/* The first processes have ended at its word, as others would. */
		if (status != EX_OK && generation_stop_signal() != 0)
			status = EX_OK;
	} else {
		nanny_free_setup(program, setup);
	}
	while (!SLIST_EMPTY(&nanny.generations)) {
		obey(&nanny, wait_signal(&nanny));
		tend(&nanny);
	}
	if (nanny.is_stopping)
		log_info(program->context, "stopped");
	close_shared(&nanny);
	return status;
}

int nanny_run(const struct nanny_program *program, const struct daemon_command *command)
{
	void *setup = read_setup(program, command->config_path);
	if (setup == NULL)
		return EX_CONFIG;
	tzset(); /* before any root directory is changed */
	if (!command->is_check) {
		log_set_level((enum log_level)program->values(setup).log_level);
		signal(SIGPIPE, SIG_IGN); /* of a log whose reader has ended, and of clients */
		return run(program, setup, command->config_path);
	}
	const int status = program_end_check(program->check(setup));
	nanny_free_setup(program, setup);
	return status;
}
