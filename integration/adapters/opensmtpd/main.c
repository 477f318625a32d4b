/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnsblv6-filter - refuses clients that DNS blacklists list, as a filter of OpenSMTPD.
 *
 * main() in order: options, configuration, then the guard, whose child has the library and
 * the loop. OpenSMTPD has dropped privileges before. dnsblv6-filter(8) is the manual.
 *
 * The order of a round: lines are taken and what they ask is given to the library, the library
 * processes, and its verdicts are answered. When OpenSMTPD does not read what is said to it, it is
 * not listened to. SIGHUP reads the allow list again, SIGUSR1 logs counters.
 */

#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>
#include <uv.h>

#include "integration/adapters/opensmtpd/filter_setup.h"
#include "integration/adapters/opensmtpd/guard.h"
#include "integration/adapters/opensmtpd/lines.h"
#include "integration/adapters/opensmtpd/queue.h"
#include "integration/common/program.h"
#include "integration/common/upkeep.h"
#include "lib/common/log.h"

static const char context[] = "dnsblv6-filter";

static const struct options_bound rows[] = DAEMON_ROWS(DNSBLV6_FILTER_CONF);
static const struct options_table table =
	DAEMON_TABLE(rows, "dnsblv6-filter", DNSBLV6_FILTER_LIBRARIES,
		     "Refuses clients of OpenSMTPD that DNS blacklists list; smtpd starts it.");

#define UNREAD_MAX (1 << 20) /* bytes said that OpenSMTPD may leave unread */

/* There is no file of metrics. */
static const struct counts_label labels[] = { { "sessions", NULL }, { "listed", NULL },
					      { "requests", NULL }, { "refused", NULL },
					      { "dropped", NULL },  { "lines-refused", NULL } };

enum { COUNTER_COUNT = sizeof(labels) / sizeof(labels[0]) };

struct service {
	struct filter_setup *setup;
	struct filter filter;
	struct lines lines;
	struct queue queue;
	uv_loop_t loop;
	uv_poll_t in;
	uv_poll_t out;
	struct upkeep upkeep;
	uint64_t values[COUNTER_COUNT]; /* of labels, for a report */
	bool has_out;			/* out is open: at first all is written at once */
	bool is_stopping;
};

static void in_on_readable(uv_poll_t *poll, int status, int events);

static void stop(struct service *service)
{
	if (service->is_stopping)
		return;
	service->is_stopping = true;
	uv_close((uv_handle_t *)&service->in, NULL);
	if (service->has_out)
		uv_close((uv_handle_t *)&service->out, NULL);
	upkeep_close(&service->upkeep);
}

/* ---- what is said ---- */

static void out_on_writable(uv_poll_t *poll, int status, int events);

/* Until it has been read; a loop cannot wait for a file, which takes everything at once. */
static int wait_for_reader(struct service *service)
{
	int ret = 0;
	if (!service->has_out)
		ret = uv_poll_init(&service->loop, &service->out, STDOUT_FILENO);
	if (ret != 0)
		return ret;
	service->has_out = true;
	service->out.data = service;
	if (queue_size(&service->queue) > UNREAD_MAX)
		uv_poll_stop(&service->in);
	return uv_poll_start(&service->out, UV_WRITABLE, out_on_writable);
}

static void flush(struct service *service)
{
	int ret = queue_flush(&service->queue, STDOUT_FILENO);
	if (ret == -EAGAIN)
		ret = wait_for_reader(service);
	if (ret == 0)
		return;
	/* Its end is told by the other descriptor too. */
	if (ret != -EPIPE)
		log_error(context, "answers not written (%s)", strerror(-ret));
	stop(service);
}

static void out_on_writable(uv_poll_t *poll, int status, int events)
{
	struct service *service = poll->data;
	(void)status;
	(void)events;
	uv_poll_stop(&service->out);
	flush(service);
	if (!service->is_stopping && queue_size(&service->queue) <= UNREAD_MAX)
		uv_poll_start(&service->in, UV_READABLE, in_on_readable);
}

static void say(void *data, const char *text, size_t size)
{
	struct service *service = data;
	if (service->is_stopping)
		return;
	/* Without it a session would wait for nothing; OpenSMTPD ends with us and says so. */
	if (queue_put(&service->queue, text, size) != 0) {
		log_error(context, "answer not written (%s)", strerror(ENOMEM));
		stop(service);
		return;
	}
	flush(service);
}

/* ---- clients that are asked about ---- */

static void on_result(void *data, const struct dnsblv6_result *result)
{
	struct session *session = data;
	struct filter *filter = session->owner;
	struct service *service = filter->means.context;
	struct judgement judgement;
	judge_decide(&service->setup->judge, &session->ip, result, 0, &judgement);
	filter_judge(filter, session, &judgement);
}

static enum filter_asked ask(void *data, struct session *session, uint64_t *ret_id)
{
	struct service *service = data;
	const struct judge *judge = &service->setup->judge;
	struct judgement judgement;
	if (judge_exempts(judge, &session->ip))
		return FILTER_SETTLED;
	if (judge_submit(judge, &session->ip, on_result, session, ret_id) == 0)
		return FILTER_ASKED;
	/* Too many questions are open. */
	if (judge_peek(judge, &session->ip, &judgement))
		filter_judge(&service->filter, session, &judgement);
	return FILTER_SETTLED;
}

static void cancel(void *data, uint64_t id)
{
	struct service *service = data;
	dnsblv6_cancel(service->setup->handle.client, id);
}

/* ---- what OpenSMTPD says ---- */

static void take_lines(struct service *service)
{
	const char *text = NULL;
	size_t size = 0;
	bool is_cut = false;
	while (!service->is_stopping && lines_next(&service->lines, &text, &size, &is_cut))
		filter_take(&service->filter, text, size, is_cut);
}

static void in_on_readable(uv_poll_t *poll, int status, int events)
{
	struct service *service = poll->data;
	size_t room = 0;
	(void)status;
	(void)events;
	char *to = lines_room(&service->lines, &room);
	ssize_t got = read(STDIN_FILENO, to, room);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0) {
		lines_filled(&service->lines, (size_t)got);
		take_lines(service);
		return;
	}
	if (lines_has_half(&service->lines))
		log_warning(context, "line ignored (it has no end)");
	stop(service);
}

/* ---- upkeep ---- */

static void measure(void *data, struct report *ret_report)
{
	struct service *service = data;
	const struct filter_counters *counters = &service->filter.counters;
	const uint64_t values[COUNTER_COUNT] = { counters->sessions, counters->listed,
						 counters->requests, counters->refused,
						 counters->dropped,  counters->lines_refused };
	memcpy(service->values, values, sizeof(values));
	*ret_report = (struct report){
		.gauge = { "open", NULL },
		.gauge_value = service->filter.sessions.count,
		.labels = labels,
		.values = service->values,
		.count = COUNTER_COUNT,
	};
}

static void reload(void *data)
{
	struct service *service = data;
	struct judge *judge = &service->setup->judge;
	struct networks_error error;
	int ret = judge_reload(judge, &error);
	judge_log_reload(judge, context, ret, &error);
}

static void stop_on_signal(void *data, int number)
{
	(void)number;
	stop(data);
}

static const struct upkeep_work work = { measure, reload, stop_on_signal };

/* ---- begin and end ---- */

static int start_handles(struct service *service)
{
	int ret = uv_poll_init(&service->loop, &service->in, STDIN_FILENO);
	if (ret != 0)
		return ret;
	service->in.data = service;
	ret = upkeep_open(&service->upkeep, &service->loop, service->setup->handle.client, context,
			  "", &work, service);
	return ret != 0 ? ret : uv_poll_start(&service->in, UV_READABLE, in_on_readable);
}

static int serve(struct service *service)
{
	struct filter_means means = { service, ask, cancel, say };
	int ret = filter_init(&service->filter, &service->setup->options, &means);
	if (ret == 0)
		ret = start_handles(service);
	if (ret == 0)
		upkeep_run(&service->upkeep);
	filter_deinit(&service->filter);
	return ret == 0 ? EX_OK : upkeep_refuse_loop(context, ret);
}

static int run_loop(void *filter_setup)
{
	struct filter_setup *setup = filter_setup;
	static struct service service; /* some 20 kB */
	service.setup = setup;
	/* This process may begin long after the configuration was read. */
	struct networks_error error;
	int reread = judge_reload(&setup->judge, &error);
	if (reread != 0)
		judge_log_reload(&setup->judge, context, reread, &error);
	int status = program_start_library(context, setup->handle.client);
	if (status != EX_OK)
		return status;
	int ret = uv_loop_init(&service.loop);
	if (ret != 0)
		return upkeep_refuse_loop(context, ret);
	status = serve(&service);
	queue_deinit(&service.queue);
	/* With something in it only when the start has failed; then the process ends anyway. */
	uv_loop_close(&service.loop);
	return status;
}

/* ---- the order of a start ---- */

static int run(void *data)
{
	struct filter_setup *setup = data;
	program_begin(context, setup->log_level, setup->handle.client);
	return guard_run(run_loop, setup, setup->judge.deadline_ms);
}

int main(int argc, char **argv)
{
	static const struct program program = { &table, filter_setup_parse, run,
						filter_setup_deinit, NULL };
	static struct filter_setup setup; /* some 60 kB */
	return program_main(&program, argc, argv, &setup);
}
