/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/check.h"

#include "bench/users-load/drive/imaprun.h"
#include "bench/users-load/drive/links_tls.h"
#include "bench/users-load/drive/smtprun.h"
#include "bench/users-load/imap/imapcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

struct check {
	struct imaprun run; /* the first member: imaprun.h gives it back */
	struct imaprun_rules rules;
	uv_loop_t loop;
	struct links links;
	uint64_t faults[IMAPTALK_FAULTS];
	struct imapcheck script;
	struct imapcheck_order order;
	unsigned count;
	unsigned wrong;
	bool is_over; /* LOGOUT has been */
};

static struct check *check_of(struct imaprun *run)
{
	return (struct check *)run;
}

static void print(struct check *check, const char *wrong, const char *text)
{
	check->count++;
	check->wrong += wrong != NULL;
	printf("%-7s %s%s%s", wrong != NULL ? "WRONG" : "ok", check->order.what,
	       wrong != NULL ? ": " : "", wrong != NULL ? wrong : "");
	printf(text[0] != '\0' ? " (%s)\n" : "\n", text);
	fflush(stdout);
}

static void role_next(struct imaprun *run, struct imaprun_order *ret_order)
{
	struct check *check = check_of(run);
	ret_order->step.command = BEHAVIOUR_END;
	if (!imapcheck_next(&check->script, &run->talk, &check->order))
		return;
	ret_order->step = check->order.step;
	ret_order->name = check->order.name;
	ret_order->mail = check->order.mail;
}

/* Faults that went on. */
static void take_faults(struct check *check)
{
	for (unsigned i = 0; i < IMAPTALK_FAULTS; i++) {
		if (check->faults[i] > 0)
			imapcheck_fault(&check->script, (enum imaptalk_fault)i);
		check->faults[i] = 0;
	}
}

static void role_done(struct imaprun *run, const struct behaviour_step *step,
		      enum imaptalk_result result)
{
	struct check *check = check_of(run);
	take_faults(check);
	const char *wrong = imapcheck_done(&check->script, &run->talk);
	print(check, wrong, result == IMAPTALK_OK ? "" : imaptalk_text(&run->talk));
	check->is_over = step->command == BEHAVIOUR_LOGOUT ||
			 (step->command == TRANSACTION_LOGIN && result != IMAPTALK_OK);
}

static void role_mail(struct imaprun *run, const struct imaptalk_mail *mail)
{
	imapcheck_mail(&check_of(run)->script, mail);
}

static void role_folder(struct imaprun *run, const char *name, bool can_select)
{
	(void)can_select;
	imapcheck_folder(&check_of(run)->script, name);
}

static void role_ended(struct imaprun *run)
{
	struct check *check = check_of(run);
	if (!check->is_over)
		print(check, imaprun_reason(run), "the session has ended");
}

static int judge(const struct check *check)
{
	printf("%u commands, %u wrong\n", check->count, check->wrong);
	if (fflush(stdout) != 0)
		return EX_IOERR;
	if (!check->is_over)
		return EX_UNAVAILABLE;
	return check->wrong > 0 ? 1 : EX_OK;
}

static void prepare(struct check *check, const struct setup *setup)
{
	static const struct imaprun_role role = { .next = role_next,
						  .done = role_done,
						  .mail = role_mail,
						  .folder = role_folder,
						  .ended = role_ended };
	check->links.loop = &check->loop;
	check->links.timeout_ms = setup->timeout_ns / 1000000;
	check->links.security = setup->security;
	check->rules.links = &check->links;
	check->rules.address = setup->imap;
	check->rules.talk.password = setup->password;
	check->rules.talk.prefix = setup->prefix;
	check->rules.role = &role;
	check->rules.faults = check->faults;
	check->rules.rate = 1;
	imaprun_prepare(&check->rules);
}

int check_server(const struct setup *setup)
{
	char user[SESSION_TEXT_MAX];
	struct check *check = calloc(1, sizeof(*check));
	if (check == NULL || uv_loop_init(&check->loop) != 0) {
		free(check);
		return EX_OSERR;
	}
	prepare(check, setup);
	smtprun_address(&setup->logins, setup->from, user);
	const uint64_t run = ((uint64_t)time(NULL) << 22) ^ (uint64_t)getpid();
	imapcheck_init(&check->script, &setup->workload, run, user);
	if (setup->security == LINK_PLAIN || links_tls_context_new(&check->links.tls) == 0) {
		imaprun_begin(&check->run, &check->rules, 0);
		uv_run(&check->loop, UV_RUN_DEFAULT);
	}
	const int status = judge(check);
	links_tls_context_free(check->links.tls);
	uv_loop_close(&check->loop);
	free(check);
	return status;
}
