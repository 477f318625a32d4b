/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/common/milterloop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <libmilter/mfapi.h>

#include "integration/common/program.h"
#include "integration/common/upkeep.h"
#include "lib/common/log.h"
#include "lib/process/listening.h"
#include "lib/process/systemd.h"

#define BACKLOG 512 /* connections of the mail server that wait; its processes come at once */

/* When asked to end: how long sessions may go on, and how often it is looked whether they do. */
#define GRACE_MS      5000
#define GRACE_LOOK_MS 20

struct service {
	const struct milterloop *milter;
	uv_loop_t loop;
	uv_thread_t thread; /* libmilter's first */
	uv_async_t ended;   /* it has */
	uv_timer_t grace;
	uint64_t grace_end_ms;
	struct upkeep upkeep;
	uint64_t values[MILTERLOOP_COUNTERS_MAX]; /* of labels, for a report */
	int status;
};

/*
 * In the place of libc's, for libmilter alone. It has a thread that waits for SIGHUP, SIGTERM
 * and SIGINT and takes each for the end, and nothing tells it not to; of a signal that its wait
 * and the loop may both have, the kernel now and then gives it to the wait. So that waits for
 * nothing: all signals that come are blocked in its thread.
 */
__attribute__((visibility("default"))) int sigwait(const sigset_t *restrict set,
						   int *restrict ret_signal)
{
	(void)set;
	(void)ret_signal;
	for (;;)
		pause();
}

/* ---- the socket ---- */

/* libmilter says why not to syslog alone; errno is a guess. */
static int open_socket(const char *path)
{
	errno = 0;
	mode_t mask = umask(path[0] != '\0' ? 0777 : 0077);
	int ret = smfi_opensocket(false) == MI_SUCCESS ? 0 : errno != 0 ? -errno : -EIO;
	umask(mask);
	return ret;
}

static int open_place(const struct smfiDesc *filter, const struct milterplace *place,
		      const struct owner *owner)
{
	const char *path = place->path;
	int ret = smfi_register(*filter) == MI_SUCCESS ? 0 : -ENOMEM;
	/* libmilter wants it writable, and does not write. */
	if (ret == 0 && smfi_setconn((char *)(uintptr_t)place->connection) != MI_SUCCESS)
		ret = -EINVAL;
	if (ret == 0 && path[0] != '\0')
		ret = listening_clear_path(path, SOCK_STREAM);
	if (ret != 0)
		return ret;
	smfi_setbacklog(BACKLOG);
	ret = open_socket(path);
	if (ret != 0 || path[0] == '\0')
		return ret;
	ret = owner_give(owner, path);
	/* A next start could not even see that no process listens at one without a mode. */
	if (ret != 0)
		unlink(path);
	return ret;
}

int milterloop_open(const struct smfiDesc *filter, const struct milterplace *place,
		    const struct owner *owner)
{
	int ret = open_place(filter, place, owner);
	if (ret == 0)
		return EX_OK;
	log_error(filter->xxfi_name, "socket not opened, socket=%s (%s)", place->connection,
		  owner_explain(owner, ret));
	return program_refused_status(ret);
}

/* ---- a reply ---- */

void milterloop_reply(struct smfi_str *ctx, const char *code, const char *enhanced,
		      const char *text)
{
	/* Mail servers read a text as a format: what is to be '%' there is "%%". */
	char doubled[2 * MILTERLOOP_TEXT_MAX + 2];
	size_t used = 0;
	for (; *text != '\0' && used + 2 < sizeof(doubled); text++) {
		doubled[used++] = *text;
		if (*text == '%')
			doubled[used++] = '%';
	}
	doubled[used] = '\0';
	/* libmilter wants them writable, and does not write. */
	smfi_setreply(ctx, (char *)(uintptr_t)code, (char *)(uintptr_t)enhanced, doubled);
}

/* ---- what the mail server permits ---- */

struct action {
	unsigned long bit;
	const char *name;
};

unsigned long milterloop_permit(const char *context, unsigned long wanted, unsigned long offered)
{
	static const struct action actions[] = {
		{ SMFIF_ADDHDRS, "SMFIF_ADDHDRS" },
		{ SMFIF_CHGHDRS, "SMFIF_CHGHDRS" },
		{ SMFIF_QUARANTINE, "SMFIF_QUARANTINE" },
	};
	char missing[64] = "";
	size_t used = 0;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if ((wanted & ~offered & actions[i].bit) != 0)
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
						 used > 0 ? "," : "", actions[i].name);
	}
	if (used > 0)
		log_warning(context,
			    "the mail server does not permit what is to be done, missing=%s",
			    missing);
	return wanted & offered;
}

/* ---- the end ---- */

static uint32_t count_open(const struct milterloop *milter)
{
	return __atomic_load_n(milter->open, __ATOMIC_RELAXED);
}

static void grace_on_timer(uv_timer_t *timer)
{
	struct service *service = timer->data;
	const struct milterloop *milter = service->milter;
	const uint32_t open = count_open(milter);
	const bool is_late = uv_now(&service->loop) >= service->grace_end_ms;
	if (open > 0 && !is_late)
		return;
	if (open > 0)
		log_warning(milter->context, "sessions left to the mail server, sessions=%u", open);
	uv_stop(&service->loop);
}

/* Not smfi_stop(): it waits for libmilter, which looks every five seconds. */
static void stop(void *data, int number)
{
	struct service *service = data;
	const struct milterplace *place = service->milter->place;
	program_tell_stopping(service->milter->context, number);
	if (place->path[0] != '\0')
		unlink(place->path);
	service->grace_end_ms = uv_now(&service->loop) + GRACE_MS;
	uv_timer_start(&service->grace, grace_on_timer, 0, GRACE_LOOK_MS);
}

/* Asked to or not. */
static void ended_on_async(uv_async_t *async)
{
	struct service *service = async->data;
	if (service->upkeep.is_stopping)
		return;
	log_error(service->milter->context, "libmilter has ended (see the system's log of mail)");
	service->status = EX_OSERR;
	uv_stop(&service->loop);
}

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	struct service *service = data;
	const struct milterloop *milter = service->milter;
	for (size_t i = 0; i < milter->counter_count; i++)
		service->values[i] = counts_get(&milter->counters[i]);
	*ret_report = (struct report){
		.gauge = { "sessions", "SMTP sessions that are open." },
		.gauge_value = count_open(milter),
		.labels = milter->labels,
		.values = service->values,
		.count = milter->counter_count,
		.client = milter->client,
	};
}

static void reload(void *data)
{
	const struct service *service = data;
	systemd_notify_reloading();
	service->milter->reload(service->milter->data);
	systemd_notify("READY=1");
}

static const struct upkeep_work work = { measure, reload, stop };

/* ---- the beginning ---- */

static void run_libmilter(void *data)
{
	struct service *service = data;
	smfi_main();
	uv_async_send(&service->ended);
}

/* Its threads have its mask: a signal is for the loop (and see sigwait()). */
static int start_libmilter(struct service *service)
{
	sigset_t ours;
	sigset_t before;
	sigemptyset(&ours);
	upkeep_add_signals(&ours);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	int ret = uv_thread_create(&service->thread, run_libmilter, service);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static int start_handles(struct service *service)
{
	const struct milterloop *milter = service->milter;
	int ret = uv_async_init(&service->loop, &service->ended, ended_on_async);
	service->ended.data = service;
	if (ret != 0)
		return ret;
	uv_timer_init(&service->loop, &service->grace);
	service->grace.data = service;
	if (milter->open_handles != NULL)
		ret = milter->open_handles(milter->data, &service->loop);
	if (ret != 0)
		return ret;
	return upkeep_open(&service->upkeep, &service->loop, NULL, milter->context, milter->metrics,
			   &work, service);
}

int milterloop_run(const struct milterloop *milter)
{
	/* libmilter's thread may outlive this function. */
	static struct service service;
	service.milter = milter;
	int ret = uv_loop_init(&service.loop);
	if (ret == 0)
		ret = start_handles(&service);
	if (ret == 0)
		ret = start_libmilter(&service);
	if (ret != 0)
		return upkeep_refuse_loop(milter->context, ret);
	milter->ready(milter->data);
	upkeep_run(&service.upkeep);
	return service.status;
}
