/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/querylog/querylog.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/log.h"
#include "lib/process/child.h"
#include "lib/process/clock.h"
#include "lib/process/sharedmem.h"
#include "server/confine/confine.h"
#include "server/querylog/dnstap.h"
#include "server/querylog/frames.h"
#include "server/querylog/tap.h"

static const char context[] = "dnsblv6d";

#define READ_FD	   (STDERR_FILENO + 1)
#define QUEUE_SIZE (4 * 1024 * 1024) /* the kernel may give less */
/* The patience with a collector twice, for what is left and for its goodbye. */
#define END_MAX_MS (2 * FRAMES_PATIENCE_S * 1000)
/* Samples between two looks at whether we are to end. */
#define TAKE_MAX 1000
#define QUIET_MS 2000

#ifdef DNSBLV6_DNSTAP

/* ---- the process ---- */

static volatile sig_atomic_t is_told;

struct run {
	const struct settings_dnstap *settings;
	struct frames frames;
	uint64_t *lost;	      /* shared */
	uint64_t counted;     /* of frames.lost */
	uint64_t lost_before; /* of frames.lost, before it began to fail */
	int status;	      /* what was logged last */
	uint64_t failed_ms;
	uint8_t *sample;  /* TAP_SAMPLE_MAX bytes and one more */
	uint8_t *message; /* DNSTAP_MAX bytes */
};

static void on_sigterm(int number)
{
	(void)number;
	is_told = 1;
}

/* SIGTERM comes while it waits, or when it is let through, and never between. */
static void set_signals(sigset_t *ret_waiting)
{
	struct sigaction action = { .sa_handler = on_sigterm };
	sigset_t blocked;
	child_ignore_signals();
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(ret_waiting);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* Once for each change of what is wrong; on a full disk something small fits now and then. */
static void note(struct run *run, int status)
{
	uint64_t lost_before = run->counted;
	__atomic_fetch_add(run->lost, run->frames.lost - run->counted, __ATOMIC_RELAXED);
	run->counted = run->frames.lost;
	if (status != 0)
		run->failed_ms = clock_now_ms();
	if (status == -EAGAIN || status == run->status ||
	    (status == 0 && clock_now_ms() - run->failed_ms < QUIET_MS))
		return;
	if (run->status == 0)
		run->lost_before = lost_before;
	if (status != 0)
		log_warning(context, "query log not written, path=%s (%s)", run->settings->path,
			    strerror(-status));
	else
		log_info(context, "query log written again, path=%s lost=%llu", run->settings->path,
			 (unsigned long long)(run->frames.lost - run->lost_before));
	run->status = status;
}

static void put(struct run *run, size_t size)
{
	const struct settings_name *zone = NULL;
	struct tap_sample head;
	if (!dnstap_is_whole(run->sample, size) ||
	    !dnstap_is_wanted(run->settings, run->sample, &zone))
		return;
	memcpy(&head, run->sample, sizeof(head));
	for (int is_response = 0; is_response < 2; is_response++) {
		bool is_wanted = is_response
					 ? run->settings->has_responses && head.response_size > 0
					 : run->settings->has_queries;
		if (!is_wanted)
			continue;
		size_t wire_size =
			dnstap_encode(run->settings, run->sample, is_response, zone, run->message);
		int ret = frames_put(&run->frames, run->message, wire_size);
		if (ret != 0)
			note(run, ret);
	}
}

/* False when no process is left that could send one. */
static bool take(struct run *run)
{
	for (int i = 0; i < TAKE_MAX; i++) {
		ssize_t size = recv(READ_FD, run->sample, TAP_SAMPLE_MAX + 1, MSG_DONTWAIT);
		if (size == 0)
			return false;
		if (size < 0 && errno != EINTR)
			return errno == EAGAIN;
		if (size > 0)
			put(run, (size_t)size);
	}
	return true;
}

/* ppoll() lets no signal through when there is something to read, and there may always be. */
static void hear_signals(const sigset_t *waiting)
{
	sigset_t blocked;
	sigprocmask(SIG_SETMASK, waiting, &blocked);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static void serve(struct run *run, const sigset_t *waiting)
{
	bool has_more = true;
	while (has_more && !is_told) {
		struct pollfd poll = { .fd = READ_FD, .events = POLLIN };
		if (ppoll(&poll, 1, NULL, waiting) < 0)
			continue;
		has_more = take(run);
		hear_signals(waiting);
		uint64_t count = run->frames.count;
		int ret = frames_flush(&run->frames);
		if (count > 0)
			note(run, ret);
	}
	frames_close(&run->frames);
	note(run, run->status);
}

static bool open_run(struct run *run, const struct querylog *log, const struct settings *settings)
{
	*run = (struct run){ .settings = &settings->dnstap, .lost = log->lost };
	run->sample = malloc(TAP_SAMPLE_MAX + 1);
	run->message = malloc(DNSTAP_MAX);
	return run->sample != NULL && run->message != NULL &&
	       frames_init(&run->frames, settings->dnstap.path, settings->dnstap.is_socket) == 0;
}

__attribute__((noreturn)) static void run_child(const struct querylog *log,
						const struct settings *settings)
{
	struct run run;
	sigset_t waiting;
	const char *step = NULL;
	set_signals(&waiting);
	/* Nothing else of the parent's: connections would stay open with it. */
	if (dup2(log->in_fd, READ_FD) < 0 || close_range(READ_FD + 1, ~0U, 0) != 0)
		_exit(EX_OSERR);
	int ret = confine_querylog(settings, &step);
	if (ret != 0) {
		log_error(context, "query log not confined, step=%s (%s)", step, strerror(-ret));
		_exit(EX_OSERR);
	}
	if (!open_run(&run, log, settings))
		_exit(EX_OSERR);
	serve(&run, &waiting);
	frames_deinit(&run.frames);
	free(run.sample);
	free(run.message);
	_exit(EX_OK);
}

#else

__attribute__((noreturn)) static void run_child(const struct querylog *log,
						const struct settings *settings)
{
	(void)log;
	(void)settings;
	_exit(EX_SOFTWARE);
}

#endif

/* ---- the parent ---- */

void querylog_init(struct querylog *log)
{
	*log = (struct querylog){ .in_fd = -1, .out_fd = -1, .slot.due_ms = CREW_NEVER };
}

/* A packet is whole or not there at all, and how many fit is said by their size. */
static int open_pair(struct querylog *log)
{
	int ends[2];
	int size = QUEUE_SIZE;
	if (log->in_fd >= 0)
		return 0;
	void *lost = sharedmem_new(sizeof(*log->lost));
	if (lost == NULL)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		int error = errno;
		sharedmem_free(lost, sizeof(*log->lost));
		return -error;
	}
	log->lost = lost;
	log->in_fd = ends[0];
	log->out_fd = ends[1];
	if (setsockopt(log->out_fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0)
		setsockopt(log->out_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return 0;
}

static void start(struct querylog *log, const struct settings *settings)
{
	pid_t pid = child_fork(&log->slot);
	if (pid == 0)
		run_child(log, settings);
	if (pid < 0)
		log_error(context, "query log not started (%s)", strerror(-pid));
}

int querylog_switch(struct querylog *log, const struct settings *settings)
{
	bool is_wanted = settings->dnstap.path[0] != '\0';
	int ret = is_wanted ? open_pair(log) : 0;
	if (ret != 0)
		return ret;
	/* It ends by itself, and what it has not read yet is the next one's. */
	if (log->slot.pid > 0)
		kill(log->slot.pid, SIGTERM);
	log->slot = (struct crew_slot){ .due_ms = CREW_NEVER };
	if (is_wanted)
		start(log, settings);
	return 0;
}

int querylog_fd(const struct querylog *log, const struct settings *settings)
{
	return settings->dnstap.path[0] != '\0' ? log->out_fd : -1;
}

void querylog_forget(const struct querylog *log)
{
	if (log->in_fd >= 0)
		close(log->in_fd);
}

bool querylog_note_end(struct querylog *log, pid_t pid, int status, uint64_t now_ms)
{
	char end[CHILD_END_TEXT_SIZE];
	if (pid != log->slot.pid)
		return false;
	crew_ended(&log->slot, false, now_ms);
	log_error(context, "query log died, pid=%d %s", (int)pid, child_format_end(status, end));
	return true;
}

void querylog_tend(struct querylog *log, const struct settings *settings, uint64_t now_ms)
{
	if (crew_slot_is_due(&log->slot, now_ms))
		start(log, settings);
}

uint64_t querylog_deadline_ms(const struct querylog *log)
{
	return log->slot.pid != 0 ? CREW_NEVER : log->slot.due_ms;
}

uint64_t querylog_count_lost(const struct querylog *log)
{
	return log->lost != NULL ? __atomic_load_n(log->lost, __ATOMIC_RELAXED) : 0;
}

void querylog_end(struct querylog *log)
{
	if (log->in_fd < 0)
		return;
	close(log->out_fd);
	close(log->in_fd);
	/* With our end gone and all workers' the process reads what there is and ends. */
	if (log->slot.pid > 0)
		child_wait(log->slot.pid, END_MAX_MS);
	sharedmem_free(log->lost, sizeof(*log->lost));
	querylog_init(log);
}
