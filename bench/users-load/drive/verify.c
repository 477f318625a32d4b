/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/drive/verify.h"

#include "bench/users-load/drive/fill.h"
#include "bench/users-load/drive/imaprun.h"
#include "bench/users-load/drive/smtprun.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define TOLD_MAX   10
#define ERRORS_MAX 1000 /* then it is given up */
/* What servers write before a mail that they deliver. */
#define ADDED_MAX 4096

struct verify {
	const struct setup *setup;
	uv_loop_t loop;
	struct links links;
	struct imaprun_rules rules;
	uint32_t next_user;
	unsigned open_count;
	bool is_filling;
	uint64_t told;
	uint64_t users;
	uint64_t folders;
	uint64_t mails;
	uint64_t missing_folders;
	uint64_t more_mails;
	uint64_t fewer_mails;
	uint64_t wrong_mails;
	uint64_t errors;
};

enum stage {
	STAGE_LOGIN,
	STAGE_LIST,
	STAGE_STATUS,  /* of each folder */
	STAGE_EXAMINE, /* each folder, and FETCH */
	STAGE_FETCH,
	STAGE_FETCHED,
	STAGE_LOGOUT,
};

/* A user's session. */
struct verifier {
	struct imaprun run; /* the first member: imaprun.h gives it back */
	struct verify *verify;
	struct boxplan plan;
	uint32_t user;
	enum stage stage; /* what comes next */
	unsigned folder;
	bool is_sampled;
	bool is_over;
	bool has_folder[BOXPLAN_FOLDERS];
};

static struct verifier *verifier_of(struct imaprun *run)
{
	return (struct verifier *)run;
}

static void tell(struct verifier *verifier, const char *folder, const char *what)
{
	if (verifier->verify->told++ < TOLD_MAX)
		fprintf(stderr, "users-load: user %" PRIu32 ", %s: %s\n", verifier->user, folder,
			what);
}

/* ---- steps ---- */

/* The next folder that is there; past the last one there is none. */
static void skip_missing(struct verifier *verifier)
{
	while (verifier->folder < verifier->plan.folder_count &&
	       !verifier->has_folder[verifier->folder])
		verifier->folder++;
}

static void order_folder(struct verifier *verifier, unsigned command,
			 struct imaprun_order *ret_order)
{
	ret_order->step.command = command;
	ret_order->step.folder = verifier->folder;
	ret_order->name = verifier->plan.folders[verifier->folder].name;
}

static bool order_by_folder(struct verifier *verifier, struct imaprun_order *ret_order)
{
	skip_missing(verifier);
	if (verifier->folder < verifier->plan.folder_count) {
		order_folder(verifier,
			     verifier->stage == STAGE_STATUS ? TRANSACTION_STATUS
							     : IMAPTALK_EXAMINE,
			     ret_order);
		if (verifier->stage == STAGE_EXAMINE)
			verifier->stage = STAGE_FETCH;
		return true;
	}
	const bool has_more = verifier->stage == STAGE_STATUS && verifier->is_sampled;
	verifier->folder = 0;
	verifier->stage = has_more ? STAGE_EXAMINE : STAGE_LOGOUT;
	return false;
}

static void order_login(struct verifier *verifier, struct imaprun_order *ret_order)
{
	static char name[SESSION_TEXT_MAX];
	smtprun_address(&verifier->verify->setup->logins, verifier->user, name);
	ret_order->step.command = TRANSACTION_LOGIN;
	ret_order->name = name;
	verifier->stage = STAGE_LIST;
}

static void role_next(struct imaprun *run, struct imaprun_order *ret_order)
{
	struct verifier *verifier = verifier_of(run);
	struct behaviour_step *step = &ret_order->step;
	step->command = BEHAVIOUR_END;
	if (verifier->is_over)
		return;
	if (verifier->stage == STAGE_FETCHED) {
		verifier->folder++;
		verifier->stage = STAGE_EXAMINE;
	}
	while (verifier->stage == STAGE_STATUS || verifier->stage == STAGE_EXAMINE) {
		if (order_by_folder(verifier, ret_order))
			return;
	}
	switch (verifier->stage) {
	case STAGE_LOGIN:
		order_login(verifier, ret_order);
		break;
	case STAGE_LIST:
		step->command = TRANSACTION_LIST;
		verifier->stage = STAGE_STATUS;
		break;
	case STAGE_FETCH:
		step->command = TRANSACTION_FETCH_HEADERS;
		step->first = 1;
		step->last = UINT32_MAX;
		verifier->stage = STAGE_FETCHED;
		break;
	default:
		step->command = BEHAVIOUR_LOGOUT;
		verifier->is_over = true;
		break;
	}
}

/* ---- what is there ---- */

static void role_folder(struct imaprun *run, const char *name, bool can_select)
{
	struct verifier *verifier = verifier_of(run);
	for (unsigned i = 0; i < verifier->plan.folder_count && can_select; i++) {
		if (strcmp(verifier->plan.folders[i].name, name) == 0)
			verifier->has_folder[i] = true;
	}
}

static void count_folders(struct verifier *verifier)
{
	for (unsigned i = 0; i < verifier->plan.folder_count; i++) {
		verifier->verify->folders += verifier->has_folder[i];
		if (verifier->has_folder[i])
			continue;
		verifier->verify->missing_folders++;
		tell(verifier, verifier->plan.folders[i].name, "is not there");
	}
}

static void count_mails(struct verifier *verifier)
{
	struct verify *verify = verifier->verify;
	const struct boxplan_folder *folder = &verifier->plan.folders[verifier->folder++];
	const uint32_t there = verifier->run.talk.status.messages;
	char text[64];
	verify->mails += there;
	if (there == folder->mails)
		return;
	if (there > folder->mails)
		verify->more_mails += there - folder->mails;
	else
		verify->fewer_mails += folder->mails - there;
	snprintf(text, sizeof(text), "has %" PRIu32 " mails, not %" PRIu32, there, folder->mails);
	if (!verify->setup->is_after)
		tell(verifier, folder->name, text);
}

static void role_done(struct imaprun *run, const struct behaviour_step *step,
		      enum imaptalk_result result)
{
	struct verifier *verifier = verifier_of(run);
	if (result != IMAPTALK_OK) {
		verifier->is_over = true;
		verifier->verify->errors++;
		tell(verifier, "IMAP", imaprun_reason(run));
	} else if (step->command == TRANSACTION_LIST) {
		count_folders(verifier);
	} else if (step->command == TRANSACTION_STATUS) {
		count_mails(verifier);
	}
}

static bool has_planned_size(const struct verifier *verifier, const struct imaptalk_mail *mail,
			     const struct boxplan_folder *folder)
{
	const struct setup *setup = verifier->verify->setup;
	char to[SESSION_TEXT_MAX];
	struct mailplan planned;
	smtprun_address(&setup->address, verifier->user, to);
	boxplan_mail(&verifier->plan, &setup->workload, setup->seed,
		     (unsigned)(folder - verifier->plan.folders),
		     (uint32_t)(mail->number - folder->first), FILL_NOW_S, to, &planned);
	return mail->size_bytes >= planned.size_bytes &&
	       mail->size_bytes <= planned.size_bytes + ADDED_MAX;
}

/* After a load some have gone, some have come, and some were moved. */
static const char *judge(const struct verifier *verifier, const struct imaptalk_mail *mail)
{
	const bool is_after = verifier->verify->setup->is_after;
	const struct boxplan_folder *folder = &verifier->plan.folders[verifier->folder];
	if (!mail->has_id)
		return "a mail without the Message-ID of a load";
	if (mail->run != MAILPLAN_FILLED)
		return is_after ? NULL : "a mail of a load";
	const bool is_here =
		mail->number >= folder->first && mail->number < folder->first + folder->mails;
	if (!is_here)
		return is_after ? NULL : "a mail that should be elsewhere";
	if (!is_after && mail->number != folder->first + mail->sequence - 1)
		return "a mail at another place than planned";
	return has_planned_size(verifier, mail, folder) ? NULL
							: "a mail of another size than planned";
}

static void role_mail(struct imaprun *run, const struct imaptalk_mail *mail)
{
	struct verifier *verifier = verifier_of(run);
	if (!mail->has_header || verifier->folder >= verifier->plan.folder_count)
		return;
	const char *wrong = judge(verifier, mail);
	if (wrong == NULL)
		return;
	verifier->verify->wrong_mails++;
	tell(verifier, verifier->plan.folders[verifier->folder].name, wrong);
}

/* ---- one after the other ---- */

static void fill_up(struct verify *verify);

static void role_ended(struct imaprun *run)
{
	struct verifier *verifier = verifier_of(run);
	struct verify *verify = verifier->verify;
	verify->users++;
	verify->open_count--;
	if (!verifier->is_over) {
		verify->errors++;
		tell(verifier, "IMAP", imaprun_reason(run));
	}
	free(verifier);
	fill_up(verify);
}

static bool begin(struct verify *verify)
{
	const struct setup *setup = verify->setup;
	struct verifier *verifier = calloc(1, sizeof(*verifier));
	if (verifier == NULL)
		return false;
	const uint64_t user = verify->next_user++;
	verifier->verify = verify;
	verifier->user = (uint32_t)user;
	/* Some all over the users. */
	verifier->is_sampled =
		(user + 1) * setup->sample / setup->users > user * setup->sample / setup->users;
	boxplan_make(&verifier->plan, &setup->workload, setup->seed, user, setup->scale);
	verifier->has_folder[BOXPLAN_INBOX] = true;
	verify->open_count++;
	imaprun_begin(&verifier->run, &verify->rules, 0);
	return true;
}

static void fill_up(struct verify *verify)
{
	if (verify->is_filling)
		return;
	verify->is_filling = true;
	while (verify->open_count < verify->setup->connections &&
	       verify->next_user < verify->setup->users && verify->errors < ERRORS_MAX) {
		if (!begin(verify))
			verify->errors = ERRORS_MAX;
	}
	verify->is_filling = false;
}

static int print(const struct verify *verify)
{
	const uint64_t differing = verify->missing_folders + verify->wrong_mails;
	const uint64_t numbers = verify->more_mails + verify->fewer_mails;
	printf("users=%" PRIu64 " folders=%" PRIu64 " mails=%" PRIu64 " missing_folders=%" PRIu64
	       " more_mails=%" PRIu64 " fewer_mails=%" PRIu64 " wrong_mails=%" PRIu64
	       " errors=%" PRIu64 "\n",
	       verify->users, verify->folders, verify->mails, verify->missing_folders,
	       verify->more_mails, verify->fewer_mails, verify->wrong_mails, verify->errors);
	if (fflush(stdout) != 0)
		return EX_IOERR;
	if (verify->errors > 0)
		return EX_UNAVAILABLE;
	return differing > 0 || (numbers > 0 && !verify->setup->is_after) ? 1 : EX_OK;
}

int verify_mailboxes(const struct setup *setup)
{
	static const struct imaprun_role role = { .next = role_next,
						  .done = role_done,
						  .mail = role_mail,
						  .folder = role_folder,
						  .ended = role_ended };
	struct verify *verify = calloc(1, sizeof(*verify));
	if (verify == NULL || uv_loop_init(&verify->loop) != 0) {
		free(verify);
		return EX_OSERR;
	}
	verify->setup = setup;
	verify->links.loop = &verify->loop;
	verify->links.timeout_ms = setup->timeout_ns / 1000000;
	verify->links.security = setup->security;
	verify->rules.links = &verify->links;
	verify->rules.address = setup->imap;
	verify->rules.talk.password = setup->password;
	verify->rules.talk.prefix = setup->prefix;
	verify->rules.role = &role;
	verify->rules.rate = 1;
	imaprun_prepare(&verify->rules);
	if (setup->security == LINK_PLAIN || links_tls_context_new(&verify->links.tls) == 0) {
		fill_up(verify);
		uv_run(&verify->loop, UV_RUN_DEFAULT);
	} else {
		verify->errors++;
	}
	const int status = print(verify);
	links_tls_context_free(verify->links.tls);
	uv_loop_close(&verify->loop);
	free(verify);
	return status;
}
