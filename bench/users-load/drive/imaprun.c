/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/imaprun.h"

#include <errno.h>
#include <string.h>

#define NS_PER_S 1e9
/* Steps in a row that could not be: of mails that have gone meanwhile. */
#define SKIPS_MAX 100

uint64_t imaprun_now_ns(const struct imaprun *run)
{
	return uv_hrtime() - run->rules->start_ns;
}

static bool is_timed(const struct behaviour_step *step)
{
	return step->command < TRANSACTION_SMTP_LOCAL;
}

/* ---- the end ---- */

static void end(struct imaprun *run)
{
	run->phase = IMAPRUN_OVER;
	if (run->is_open)
		link_close(&run->link);
	else
		run->rules->role->ended(run);
}

static void link_on_ended(void *owner)
{
	struct imaprun *run = owner;
	imaptalk_deinit(&run->talk);
	run->rules->role->ended(run);
}

static void count_failure(struct imaprun *run, enum tally_error error)
{
	struct tally *tally = run->rules->tally;
	if (tally == NULL)
		return;
	if (run->phase == IMAPRUN_COMMAND && is_timed(&run->step))
		tally_failed(tally, run->step.command, run->due_ns, error);
	else if (!run->has_begun) /* the user wants to log in */
		tally_failed(tally, TRANSACTION_LOGIN, run->begun_ns, error);
	else
		tally_error(tally, imaprun_now_ns(run), error);
}

static void fail(struct imaprun *run, enum tally_error error)
{
	if (run->phase == IMAPRUN_OVER)
		return;
	/* One for each session: behind NO it was about to leave. */
	if (run->failure == IMAPRUN_FINE) {
		run->failure = (int8_t)error;
		count_failure(run, error);
	}
	end(run);
}

bool imaprun_is_quiet(const struct imaprun *run)
{
	return run->phase == IMAPRUN_THINKING || run->phase == IMAPRUN_IDLING;
}

void imaprun_leave(struct imaprun *run)
{
	struct tally *tally = run->rules->tally;
	if (run->phase == IMAPRUN_OVER)
		return;
	if (tally != NULL && run->phase == IMAPRUN_COMMAND && is_timed(&run->step))
		tally_unanswered(tally, run->step.command, run->due_ns, imaprun_now_ns(run));
	else if (tally != NULL && !run->has_begun && run->phase != IMAPRUN_THINKING)
		tally_unanswered(tally, TRANSACTION_LOGIN, run->begun_ns, imaprun_now_ns(run));
	end(run);
}

const char *imaprun_reason(const struct imaprun *run)
{
	if (run->failure == TALLY_PROTOCOL && imaptalk_fault(&run->talk) != IMAPTALK_FAULT_NONE)
		return imaptalk_fault_text(imaptalk_fault(&run->talk));
	const char *text = run->is_open ? imaptalk_text(&run->talk) : "";
	return text[0] != '\0' || run->failure == IMAPRUN_FINE
		       ? text
		       : tally_error_name((enum tally_error)run->failure);
}

/* ---- commands ---- */

static void go_on(struct imaprun *run);

/* Whether the command has begun, or its session has ended; else it cannot be. */
static bool start(struct imaprun *run)
{
	const int ret = imaptalk_start(&run->talk, &run->step,
				       run->name[0] != '\0' ? run->name : NULL, run->mail);
	if (ret == -ENOENT)
		return false;
	run->phase = IMAPRUN_COMMAND;
	run->has_begun = true;
	if (ret != 0) {
		fail(run, TALLY_PROTOCOL);
		return true;
	}
	if (run->step.command == BEHAVIOUR_IDLE) {
		run->phase = IMAPRUN_IDLING;
		link_sleep(&run->link, (uint64_t)(run->step.idle_s / run->rules->rate * 1000));
	} else {
		link_expect(&run->link);
	}
	link_flush(&run->link);
	return true;
}

static void take_order(struct imaprun *run, const struct imaprun_order *order)
{
	run->step = order->step;
	run->mail = order->mail;
	run->name[0] = '\0';
	if (order->name != NULL && strlen(order->name) < sizeof(run->name))
		memcpy(run->name, order->name, strlen(order->name) + 1);
}

static void go_on(struct imaprun *run)
{
	for (unsigned skips = 0; skips < SKIPS_MAX; skips++) {
		struct imaprun_order order = { 0 };
		run->rules->role->next(run, &order);
		if (order.step.command == BEHAVIOUR_END) {
			end(run);
			return;
		}
		take_order(run, &order);
		run->due_ns = run->has_begun ? imaprun_now_ns(run) : run->begun_ns;
		const double think_ms = run->step.think_s / run->rules->rate * 1000;
		if (think_ms >= 1) {
			run->phase = IMAPRUN_THINKING;
			run->due_ns += (uint64_t)think_ms * 1000000u;
			link_sleep(&run->link, (uint64_t)think_ms);
			return;
		}
		if (start(run))
			return;
	}
	fail(run, TALLY_PROTOCOL);
}

static void wake_idle(struct imaprun *run)
{
	run->phase = IMAPRUN_COMMAND;
	run->due_ns = imaprun_now_ns(run);
	imaptalk_wake(&run->talk);
	link_expect(&run->link);
	link_flush(&run->link);
}

static void link_on_woken(void *owner)
{
	struct imaprun *run = owner;
	if (run->phase == IMAPRUN_IDLING) {
		wake_idle(run);
		return;
	}
	if (run->rules->tally != NULL)
		tally_late(run->rules->tally, run->due_ns, imaprun_now_ns(run));
	if (!start(run))
		go_on(run);
}

static void greet(struct imaprun *run)
{
	if (run->rules->links->security != LINK_STARTTLS) {
		go_on(run);
		return;
	}
	run->phase = IMAPRUN_SECURING;
	const struct behaviour_step step = { .command = IMAPTALK_STARTTLS };
	if (imaptalk_start(&run->talk, &step, NULL, NULL) != 0)
		fail(run, TALLY_PROTOCOL);
}

static void link_on_secured(void *owner)
{
	struct imaprun *run = owner;
	imaptalk_secured(&run->talk);
	go_on(run);
}

static void count_result(struct imaprun *run, enum imaptalk_result result)
{
	struct tally *tally = run->rules->tally;
	if (tally == NULL)
		return;
	if (result == IMAPTALK_NO)
		count_failure(run, TALLY_NO);
	else if (is_timed(&run->step))
		tally_done(tally, run->step.command, run->due_ns, imaprun_now_ns(run));
}

static void finish(struct imaprun *run)
{
	const enum imaptalk_result result = imaptalk_result(&run->talk);
	if (result == IMAPTALK_BAD || (run->phase == IMAPRUN_SECURING && result != IMAPTALK_OK)) {
		fail(run, result == IMAPTALK_BAD ? TALLY_BAD : TALLY_NO);
		return;
	}
	if (run->phase == IMAPRUN_SECURING) {
		link_secure(&run->link);
		return;
	}
	count_result(run, result);
	if (result == IMAPTALK_NO)
		run->failure = TALLY_NO;
	if (run->rules->role->done != NULL)
		run->rules->role->done(run, &run->step, result);
	go_on(run);
}

/* ---- the connection ---- */

static void take_event(struct imaprun *run, enum imaptalk_event event)
{
	switch (event) {
	case IMAPTALK_GREETED:
		greet(run);
		break;
	case IMAPTALK_DONE:
		finish(run);
		break;
	case IMAPTALK_NEWS:
		if (run->phase == IMAPRUN_IDLING)
			wake_idle(run);
		break;
	case IMAPTALK_BYE:
		fail(run, TALLY_BYE);
		break;
	case IMAPTALK_BROKEN:
		fail(run, TALLY_PROTOCOL);
		break;
	default:
		break;
	}
}

static void link_on_input(void *owner, const char *bytes, size_t size)
{
	struct imaprun *run = owner;
	while (run->phase != IMAPRUN_OVER && size > 0) {
		size_t taken = 0;
		const enum imaptalk_event event = imaptalk_input(&run->talk, bytes, size, &taken);
		bytes += taken;
		size -= taken;
		take_event(run, event);
		/* Said in the clear, to seem said under TLS (CVE-2011-0411). */
		if (run->phase == IMAPRUN_SECURING && event == IMAPTALK_DONE && size > 0)
			fail(run, TALLY_PROTOCOL);
	}
	link_flush(&run->link);
}

static size_t link_on_output(void *owner, char *ret_bytes)
{
	struct imaprun *run = owner;
	return imaptalk_output(&run->talk, ret_bytes, LINK_BUFFER_SIZE);
}

static void link_on_sent(void *owner, size_t size)
{
	struct imaprun *run = owner;
	imaptalk_sent(&run->talk, size);
}

static void link_on_lost(void *owner, enum link_loss loss)
{
	static const uint8_t errors[] = { [LINK_LOST_CONNECT] = TALLY_CONNECT,
					  [LINK_LOST_TIMEOUT] = TALLY_TIMEOUT,
					  [LINK_LOST_CLOSED] = TALLY_CLOSED,
					  [LINK_LOST_TLS] = TALLY_PROTOCOL };
	struct imaprun *run = owner;
	if (imaptalk_has_left(&run->talk))
		end(run);
	else
		fail(run, errors[loss]);
}

static void talk_on_mail(void *context, const struct imaptalk_mail *mail)
{
	struct imaprun *run = context;
	if (run->rules->role->mail != NULL)
		run->rules->role->mail(run, mail);
}

static void talk_on_folder(void *context, const char *name, bool can_select)
{
	struct imaprun *run = context;
	if (run->rules->role->folder != NULL)
		run->rules->role->folder(run, name, can_select);
}

static void talk_on_fault(void *context, enum imaptalk_fault fault)
{
	struct imaprun *run = context;
	if (run->rules->faults != NULL)
		run->rules->faults[fault]++;
}

void imaprun_prepare(struct imaprun_rules *rules)
{
	static const struct imaptalk_calls calls = { .mail = talk_on_mail,
						     .folder = talk_on_folder,
						     .fault = talk_on_fault };
	rules->talk.calls = &calls;
}

void imaprun_begin(struct imaprun *ret_run, const struct imaprun_rules *rules, uint64_t due_ns)
{
	static const struct link_handler handler = { .output = link_on_output,
						     .sent = link_on_sent,
						     .input = link_on_input,
						     .woken = link_on_woken,
						     .secured = link_on_secured,
						     .lost = link_on_lost,
						     .ended = link_on_ended };
	ret_run->rules = rules;
	ret_run->begun_ns = ret_run->due_ns = due_ns;
	ret_run->failure = IMAPRUN_FINE;
	ret_run->phase = IMAPRUN_GREETING;
	const int ret = link_open(&ret_run->link, rules->links, &rules->address, &handler, ret_run);
	ret_run->is_open = ret == 0;
	if (ret != 0) {
		fail(ret_run, TALLY_CONNECT);
		return;
	}
	imaptalk_init(&ret_run->talk, &rules->talk, ret_run);
}
