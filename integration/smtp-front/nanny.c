/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/smtp-front/nanny.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "integration/program.h"
#include "integration/smtp-front/confine.h"
#include "integration/smtp-front/handover.h"
#include "integration/smtp-front/metrics.h"
#include "integration/smtp-front/nanny_parts.h"
#include "integration/smtp-front/precheck.h"
#include "lib/common/log.h"
#include "lib/common/systemd.h"
#include "lib/common/version.h"

static const char context[] = NANNY_CONTEXT;

#define KILL_AFTER_MS 5000    /* behind "drain": who is still there is stuck */
#define RELOAD_MAX_MS 3600000 /* a session that was open at SIGHUP may take so long */
#define BEGIN_MAX_MS  30000   /* until all processes of a generation have what they need */
#define METRICS_MS    15000
#define QUEUE_LOOK_MS 50 /* between looks at the queue, while it is to be emptied */
#define PAUSE_MIN_MS  10
#define OWN_FILES     560 /* of an edge, beside its sessions */
#define FILES_OF_ONE  3	  /* a session under TLS: the client, and both ends to its worker */

static uint64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct tally *nanny_tally(const struct nanny *nanny, const struct generation *generation,
			  const struct crew_slot *slot)
{
	size_t first = 1 + (generation->number % 2) * (size_t)NANNY_SLOTS_OF_GENERATION;
	if (slot->role == CREW_KEYHOLDER)
		return &nanny->bank.slots[0];
	return &nanny->bank.slots[first + (slot->role == CREW_WORKER ? SETUP_EDGES_MAX : 0) +
				  slot->index];
}

static void count(const struct nanny *nanny, enum tally_number number)
{
	tally_add(&nanny->bank.slots[0], number, 1);
}

/* ---- processes ---- */

static void start(struct nanny *nanny, struct generation *generation, struct crew_slot *slot)
{
	pid_t pid = fork();
	if (pid == 0)
		roles_run(nanny, generation, slot);
	if (pid > 0) {
		crew_began(slot, pid, now_ms());
		return;
	}
	log_error(context, "process not started, role=%s index=%u (%s)", crew_role_name(slot->role),
		  slot->index, strerror(errno));
	crew_not_begun(slot, now_ms());
}

static void log_death(const struct crew_slot *slot, pid_t pid, int status)
{
	bool is_killed = WIFSIGNALED(status);
	int number = is_killed ? WTERMSIG(status) : WEXITSTATUS(status);
	uint64_t now = now_ms();
	log_error(
		context, "process died, role=%s index=%u pid=%d %s=%d restart_ms=%llu%s",
		crew_role_name(slot->role), slot->index, (int)pid, is_killed ? "signal" : "status",
		number, (unsigned long long)(slot->due_ms > now ? slot->due_ms - now : 0),
		is_killed && number == SIGSYS ? " (it made a system call that no mail server makes)"
					      : "");
}

static void bury(struct nanny *nanny, struct generation *generation, struct crew_slot *slot,
		 int status)
{
	static const enum tally_number restarts[CREW_ROLES] = {
		[CREW_KEYHOLDER] = TALLY_KEYHOLDER_RESTARTS,
		[CREW_EDGE] = TALLY_EDGE_RESTARTS,
		[CREW_WORKER] = TALLY_WORKER_RESTARTS,
	};
	pid_t pid = slot->pid;
	bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == EX_OK;
	bool is_told = generation->crew.is_told[slot->role];
	crew_ended(slot, is_good && slot->role == CREW_WORKER, now_ms());
	if (slot->role != CREW_KEYHOLDER)
		tally_clear_gauges(nanny_tally(nanny, generation, slot));
	if (is_told && (is_good || slot->role == CREW_KEYHOLDER))
		return;
	if (is_good && slot->role == CREW_WORKER)
		return; /* it has retired */
	if (!is_told)
		count(nanny, restarts[slot->role]);
	log_death(slot, pid, status);
}

static void reap(struct nanny *nanny)
{
	int status = 0;
	pid_t pid = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct generation *generation = NULL;
		SLIST_FOREACH(generation, &nanny->generations, link)
		{
			struct crew_slot *slot = crew_find(&generation->crew, pid);
			if (slot != NULL)
				bury(nanny, generation, slot, status);
		}
	}
}

static void tell(struct generation *generation, enum crew_role role, uint64_t kill_ms)
{
	if (!crew_tell(&generation->crew, role, kill_ms))
		return;
	for (unsigned i = 0; i < generation->crew.count; i++) {
		const struct crew_slot *slot = &generation->crew.slots[i];
		if (slot->role == role && slot->pid != 0)
			kill(slot->pid, SIGTERM);
	}
}

/* ---- generations ---- */

static void close_ready(struct generation *generation, unsigned end)
{
	if (generation->ready_ends[end] >= 0)
		close(generation->ready_ends[end]);
	generation->ready_ends[end] = -1;
}

static void free_generation(struct generation *generation)
{
	if (generation == NULL)
		return;
	for (unsigned i = 0; i < SETUP_EDGES_MAX; i++) {
		for (unsigned end = 0; end < 2; end++) {
			if (generation->key_ends[i][end] >= 0)
				close(generation->key_ends[i][end]);
		}
	}
	close_ready(generation, NANNY_READY_NANNY);
	close_ready(generation, NANNY_READY_CHILD);
	crew_deinit(&generation->crew);
	setup_deinit(generation->setup);
	free(generation->setup);
	free(generation);
}

static int open_keys(struct generation *generation)
{
	for (unsigned i = 0; i < generation->setup->front.edges; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			       generation->key_ends[i]) != 0)
			return -errno;
	}
	return 0;
}

/* setup is the generation's from now on, in either case. NULL: logged. */
static struct generation *new_generation(struct setup *setup)
{
	bool has_keys = setup->tls.certificate_count > 0;
	struct generation *generation = calloc(1, sizeof(*generation));
	int ret = -ENOMEM;
	if (generation == NULL) {
		setup_deinit(setup);
		free(setup);
	} else {
		memset(generation->key_ends, -1, sizeof(generation->key_ends));
		memset(generation->ready_ends, -1, sizeof(generation->ready_ends));
		generation->setup = setup;
		ret = crew_init(&generation->crew, has_keys, setup->front.edges,
				setup->front.workers);
	}
	if (ret == 0 && has_keys)
		ret = open_keys(generation);
	if (ret == 0 && pipe2(generation->ready_ends, O_CLOEXEC | O_NONBLOCK) != 0)
		ret = -errno;
	if (ret == 0)
		return generation;
	log_error(context, "processes not prepared (%s)", strerror(-ret));
	free_generation(generation);
	return NULL;
}

/* Library, listeners, and what its processes find outside: an exit status; logged. */
static int prepare(const struct nanny *nanny, const struct setup *setup,
		   struct listeners *ret_listeners)
{
	const struct place *place = NULL;
	int status = precheck_run(setup, context);
	dnsblv6_set_log(setup->handle.client, handle_log, (void *)(uintptr_t)context);
	if (status == EX_OK && setup->has_zones)
		status = program_start_library(context, setup->handle.client);
	if (status != EX_OK)
		return status;
	int ret = listeners_open(&setup->front, &nanny->listeners, ret_listeners, &place);
	if (ret == 0)
		return EX_OK;
	log_error(context, "socket not opened, place=%s (%s)", place->text, strerror(-ret));
	return program_refused_status(ret);
}

static void end_generation(struct nanny *nanny, struct generation *generation)
{
	SLIST_REMOVE(&nanny->generations, generation, generation, link);
	free_generation(generation);
}

static bool has_dead(const struct generation *generation)
{
	for (unsigned i = 0; i < generation->crew.count; i++) {
		if (generation->crew.slots[i].pid == 0)
			return true;
	}
	return false;
}

/* Until all have what they need. false: one has died, or takes for ever. */
static bool wait_until_ready(struct nanny *nanny, struct generation *generation)
{
	struct pollfd ready = { .fd = generation->ready_ends[NANNY_READY_NANNY], .events = POLLIN };
	uint64_t until = now_ms() + BEGIN_MAX_MS;
	unsigned count = 0;
	char bytes[64];
	close_ready(generation, NANNY_READY_CHILD);
	while (count < generation->crew.count && !has_dead(generation) && now_ms() < until) {
		ssize_t size = poll(&ready, 1, PAUSE_MIN_MS) > 0
				       ? read(ready.fd, bytes, sizeof(bytes))
				       : -1;
		if (size > 0)
			count += (unsigned)size;
		reap(nanny);
	}
	close_ready(generation, NANNY_READY_NANNY);
	return count == generation->crew.count;
}

/* It has answered nobody, or few: sessions that it may have are cut. */
static void abandon(struct nanny *nanny, struct generation *generation)
{
	for (unsigned role = 0; role < CREW_ROLES; role++)
		tell(generation, (enum crew_role)role, now_ms());
	for (unsigned i = 0; i < generation->crew.count; i++) {
		struct crew_slot *slot = &generation->crew.slots[i];
		if (slot->pid == 0)
			continue;
		kill(slot->pid, SIGKILL);
		waitpid(slot->pid, NULL, 0);
		crew_ended(slot, true, now_ms());
	}
	end_generation(nanny, generation);
}

/* false: it is gone again. */
static bool begin_generation(struct nanny *nanny, struct generation *generation)
{
	generation->number = nanny->generation_count++;
	SLIST_INSERT_HEAD(&nanny->generations, generation, link);
	log_set_level((enum log_level)generation->setup->front.log_level);
	for (unsigned i = 0; i < generation->crew.count; i++)
		start(nanny, generation, &generation->crew.slots[i]);
	if (wait_until_ready(nanny, generation))
		return true;
	log_error(context, "processes not begun, see the lines before");
	abandon(nanny, generation);
	return false;
}

/* All of setup, which is taken over. An exit status; what is not EX_OK is logged. */
static int serve(struct nanny *nanny, struct setup *setup, const char *what)
{
	struct listeners opened;
	int status = prepare(nanny, setup, &opened);
	if (status != EX_OK) {
		setup_deinit(setup);
		free(setup);
		return status;
	}
	const struct setup_front *front = &setup->front;
	struct generation *generation = new_generation(setup);
	nanny->former = nanny->listeners;
	nanny->listeners = opened;
	if (generation == NULL || !begin_generation(nanny, generation)) {
		listeners_close(&nanny->listeners, &nanny->former);
		nanny->listeners = nanny->former;
		nanny->former.edge_count = 0;
		return EX_OSERR;
	}
	listeners_close(&nanny->former, &nanny->listeners);
	log_info(context, "%s, version=%s places=%u edges=%u workers=%u certificates=%u", what,
		 DNSBLV6_VERSION, front->place_count, front->edges, front->workers,
		 setup->tls.certificate_count);
	program_tell_ready(context);
	return EX_OK;
}

/* ---- signals ---- */

static struct setup *read_setup(const char *path)
{
	struct conf_error error;
	struct setup *setup = calloc(1, sizeof(*setup));
	if (setup == NULL || program_read(path, setup_parse, setup, &error) == 0)
		return setup;
	conf_log_error(path, &error);
	setup_deinit(setup);
	free(setup);
	return NULL;
}

/* Whatever is wrong, the generation that serves goes on. */
static void reload(struct nanny *nanny)
{
	struct generation *old = SLIST_FIRST(&nanny->generations);
	int told = systemd_notify_reloading();
	struct setup *setup = read_setup(nanny->config_path);
	if (setup == NULL || serve(nanny, setup, "reloaded") != EX_OK) {
		count(nanny, TALLY_RELOADS_REFUSED);
		log_warning(context, "configuration not reloaded, the old one stays");
		if (told == 0)
			program_tell_ready(context);
		return;
	}
	count(nanny, TALLY_RELOADS);
	/* Its sessions may be long, and new ones are in other hands; its keyholder is for these. */
	tell(old, CREW_EDGE, now_ms() + old->setup->front.drain_ms + RELOAD_MAX_MS);
	tell(old, CREW_WORKER, now_ms() + RELOAD_MAX_MS);
}

static void stop(struct nanny *nanny, int number)
{
	struct generation *generation = NULL;
	if (!nanny->is_stopping)
		program_tell_stopping(context, number);
	nanny->is_stopping = true;
	/* Who knocks now is refused, and not left waiting. */
	listeners_close(&nanny->listeners, NULL);
	SLIST_FOREACH(generation, &nanny->generations, link)
	tell(generation, CREW_EDGE, now_ms() + generation->setup->front.drain_ms + KILL_AFTER_MS);
}

static void obey(struct nanny *nanny, int number)
{
	switch (number) {
	case SIGCHLD:
		reap(nanny);
		break;
	case SIGHUP:
		if (!nanny->is_stopping)
			reload(nanny);
		break;
	case SIGUSR1:
		metrics_log(&nanny->bank);
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

static bool has_edges(const struct nanny *nanny)
{
	const struct generation *generation = NULL;
	SLIST_FOREACH(generation, &nanny->generations, link)
	{
		if (crew_count(&generation->crew, CREW_EDGE) > 0)
			return true;
	}
	return false;
}

/* What ends behind something else: workers behind the queue, keyholders behind their edges. */
static void drain(struct nanny *nanny, struct generation *generation)
{
	uint64_t later_ms = now_ms() + generation->setup->front.drain_ms + KILL_AFTER_MS;
	if (!generation->crew.is_told[CREW_EDGE])
		return;
	if (crew_count(&generation->crew, CREW_EDGE) == 0)
		tell(generation, CREW_KEYHOLDER, now_ms() + KILL_AFTER_MS);
	if (nanny->is_stopping && !has_edges(nanny) && !has_queued(nanny))
		tell(generation, CREW_WORKER, later_ms);
}

static bool is_gone(const struct generation *generation)
{
	for (unsigned role = 0; role < CREW_ROLES; role++) {
		if (!generation->crew.is_told[role] ||
		    crew_count(&generation->crew, (enum crew_role)role) > 0)
			return false;
	}
	return true;
}

static void tend_processes(struct nanny *nanny, struct generation *generation)
{
	for (unsigned i = 0; i < generation->crew.count; i++) {
		struct crew_slot *slot = &generation->crew.slots[i];
		if (crew_is_due(&generation->crew, slot, now_ms()))
			start(nanny, generation, slot);
		else if (crew_is_overdue(&generation->crew, slot, now_ms()))
			kill(slot->pid, SIGKILL);
	}
}

static void write_metrics(struct nanny *nanny)
{
	const struct generation *newest = SLIST_FIRST(&nanny->generations);
	if (newest == NULL || newest->setup->front.metrics[0] == '\0' ||
	    now_ms() < nanny->metrics_ms)
		return;
	nanny->metrics_ms = now_ms() + METRICS_MS;
	int ret = metrics_write(newest->setup->front.metrics, &nanny->bank, nanny->started_s);
	if (ret != 0)
		log_warning(context, "metrics not written, path=%s (%s)",
			    newest->setup->front.metrics, strerror(-ret));
}

static void tend(struct nanny *nanny)
{
	struct generation *generation = SLIST_FIRST(&nanny->generations);
	while (generation != NULL) {
		struct generation *next = SLIST_NEXT(generation, link);
		tend_processes(nanny, generation);
		drain(nanny, generation);
		if (is_gone(generation))
			end_generation(nanny, generation);
		generation = next;
	}
	write_metrics(nanny);
}

/* Until the next signal, or until something is due. */
static int wait_signal(const struct nanny *nanny)
{
	uint64_t now = now_ms();
	uint64_t until = now + (nanny->is_stopping ? QUEUE_LOOK_MS : METRICS_MS);
	const struct generation *generation = NULL;
	SLIST_FOREACH(generation, &nanny->generations, link)
	{
		uint64_t next = crew_next_ms(&generation->crew);
		until = next < until ? next : until;
	}
	until = until < now + PAUSE_MIN_MS ? now + PAUSE_MIN_MS : until;
	struct timespec pause = { .tv_sec = (time_t)((until - now) / 1000),
				  .tv_nsec = (long)((until - now) % 1000) * 1000000 };
	return sigtimedwait(&nanny->waited, NULL, &pause);
}

/* ---- begin and end ---- */

static void block_signals(struct nanny *nanny)
{
	static const int numbers[] = { SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGHUP };
	sigemptyset(&nanny->waited);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&nanny->waited, numbers[i]);
	sigprocmask(SIG_BLOCK, &nanny->waited, &nanny->before);
}

/* Root gives edges what their sessions need; others have what they were given. */
static void raise_files(const struct setup *setup)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)setup->front.sessions_max * FILES_OF_ONE + OWN_FILES;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < wanted) {
		limit.rlim_cur = limit.rlim_max = wanted;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	program_raise_descriptors();
}

static int confine(void)
{
	const char *step = "";
	int ret = confine_nanny(&step);
	if (ret == 0)
		return EX_OK;
	log_error(context, "process not confined, role=nanny step=%s (%s)", step, strerror(-ret));
	return EX_OSERR;
}

static int open_shared(struct nanny *nanny, const struct setup *setup)
{
	int ret = tally_open(NANNY_SLOTS, &nanny->bank);
	if (ret == 0)
		ret = handover_open(setup->front.queue_bytes, nanny->queue_ends);
	if (ret == 0)
		return EX_OK;
	log_error(context, "queue and counters not made (%s)", strerror(-ret));
	return EX_OSERR;
}

static void close_shared(struct nanny *nanny)
{
	listeners_close(&nanny->listeners, NULL);
	for (unsigned end = 0; end < 2; end++) {
		if (nanny->queue_ends[end] >= 0)
			close(nanny->queue_ends[end]);
	}
	tally_close(&nanny->bank);
}

int nanny_run(struct setup *setup, const char *config_path)
{
	struct nanny nanny = { .config_path = config_path,
			       .queue_ends = { -1, -1 },
			       .started_s = (uint64_t)time(NULL),
			       .pid = getpid() };
	SLIST_INIT(&nanny.generations);
	block_signals(&nanny);
	raise_files(setup);
	int status = confine();
	if (status == EX_OK)
		status = open_shared(&nanny, setup);
	if (status == EX_OK) {
		status = serve(&nanny, setup, "ready");
	} else {
		setup_deinit(setup);
		free(setup);
	}
	while (!SLIST_EMPTY(&nanny.generations)) {
		obey(&nanny, wait_signal(&nanny));
		tend(&nanny);
	}
	if (nanny.is_stopping)
		log_info(context, "stopped");
	close_shared(&nanny);
	return status;
}
