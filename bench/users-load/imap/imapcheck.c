/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/imap/imapcheck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum name {
	NAME_NONE,
	NAME_USER,
	NAME_FOLDER,
	NAME_OTHER,
};

struct row {
	const char *what;
	unsigned command;
	enum name name;
	uint32_t first, last;
	uint8_t flags;
	uint8_t client; /* enum workload_kind */
	uint8_t mail;	/* of APPEND: which one, from 1 */
	uint32_t needs; /* enum imapreader_can: left out when the server has it not */
	const char *(*judge)(struct imapcheck *check, const struct imaptalk *talk);
};

/* ---- whether it did what it should ---- */

static const char *wrong_if(bool is_wrong, const char *what)
{
	return is_wrong ? what : NULL;
}

static const char *judge_capability(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)check;
	return wrong_if((talk->capabilities & IMAPREADER_CAN_IMAP4REV1) == 0,
			"IMAP4rev1 is not in it");
}

static const char *judge_inbox(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	return wrong_if(!check->has_inbox, "INBOX is not in it");
}

static const char *judge_folders(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	return wrong_if(!check->has_folder || !check->has_other,
			"the folders that were made are not in it");
}

static const char *judge_status_here(struct imapcheck *check, const struct imaptalk *talk)
{
	return wrong_if(talk->status.messages != check->here, "another number of mails");
}

static const char *judge_status_there(struct imapcheck *check, const struct imaptalk *talk)
{
	return wrong_if(talk->status.messages != check->there, "another number of mails");
}

static const char *judge_here(struct imapcheck *check, const struct imaptalk *talk)
{
	return wrong_if(talk->view.count != check->here, "EXISTS is another number of mails");
}

static const char *judge_there(struct imapcheck *check, const struct imaptalk *talk)
{
	return wrong_if(talk->view.count != check->there, "EXISTS is another number of mails");
}

static const char *judge_append(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	check->here++;
	return NULL;
}

static const char *judge_told(struct imapcheck *check, const struct imaptalk *talk)
{
	return wrong_if(check->told < talk->view.count, "not each mail is told of");
}

static const char *judge_uids(struct imapcheck *check, const struct imaptalk *talk)
{
	if (talk->view.unknown > 0)
		return "not each mail has a UID";
	return wrong_if((check->flags & IMAPREADER_SEEN) != 0 ||
				(check->flags_of_last & IMAPREADER_SEEN) == 0,
			"\\Seen is not as APPEND had it");
}

static const char *judge_headers(struct imapcheck *check, const struct imaptalk *talk)
{
	if (check->headers != talk->view.count)
		return "not each mail has its Message-ID";
	if (check->has_wrong_size)
		return "RFC822.SIZE is another than that of APPEND";
	return wrong_if(!check->has_date, "no INTERNALDATE");
}

static const char *judge_body(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	return wrong_if(check->body_bytes != check->mails[0].size_bytes,
			"the body has another size than the mail");
}

static const char *judge_unseen(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	return wrong_if((check->flags & IMAPREADER_SEEN) != 0, "BODY.PEEK[] has set \\Seen");
}

static const char *judge_seen(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	return wrong_if((check->flags & IMAPREADER_SEEN) == 0, "BODY[] has not set \\Seen");
}

static const char *judge_answered(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	return wrong_if((check->flags & IMAPREADER_ANSWERED) == 0, "\\Answered is not told");
}

static const char *judge_deleted(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)check;
	return wrong_if(talk->view.deleted != 1, "\\Deleted is not told, or of others too");
}

static const char *judge_copy(struct imapcheck *check, const struct imaptalk *talk)
{
	(void)talk;
	check->there += 2;
	return NULL;
}

static const char *judge_move(struct imapcheck *check, const struct imaptalk *talk)
{
	check->here--;
	check->there++;
	return judge_here(check, talk);
}

static const char *judge_expunge_here(struct imapcheck *check, const struct imaptalk *talk)
{
	check->here--;
	return talk->view.deleted > 0 ? "mails with \\Deleted are left" : judge_here(check, talk);
}

static const char *judge_expunge_there(struct imapcheck *check, const struct imaptalk *talk)
{
	check->there--;
	return judge_there(check, talk);
}

/* ---- the commands ---- */

static const struct row rows[] = {
	{ "LOGIN", TRANSACTION_LOGIN, NAME_USER, .judge = NULL },
	{ "CAPABILITY", IMAPTALK_CAPABILITY, .judge = judge_capability },
	{ "LIST", TRANSACTION_LIST, .judge = judge_inbox },
	{ "CREATE", IMAPTALK_CREATE, NAME_FOLDER, .judge = NULL },
	{ "CREATE of a folder in a folder", IMAPTALK_CREATE, NAME_OTHER, .judge = NULL },
	{ "LIST of what was made", TRANSACTION_LIST, .judge = judge_folders },
	{ "STATUS", TRANSACTION_STATUS, NAME_FOLDER, .judge = judge_status_here },
	{ "SELECT", TRANSACTION_SELECT, NAME_FOLDER, .judge = judge_here },
	{ "APPEND", TRANSACTION_APPEND, NAME_FOLDER, .mail = 1, .judge = judge_append },
	{ "APPEND of a second mail", TRANSACTION_APPEND, NAME_FOLDER, .mail = 2,
	  .judge = judge_append },
	{ "APPEND with \\Seen", TRANSACTION_APPEND, NAME_FOLDER, .mail = 3, .flags = BEHAVIOUR_SEEN,
	  .judge = judge_append },
	{ "NOOP tells of the mails", IMAPTALK_NOOP, .judge = judge_here },
	{ "FETCH_FLAGS", TRANSACTION_FETCH_FLAGS, NAME_NONE, 1, UINT32_MAX, .judge = judge_uids },
	{ "FETCH_HEADERS as Thunderbird does", TRANSACTION_FETCH_HEADERS, NAME_NONE, 1, UINT32_MAX,
	  .client = WORKLOAD_THUNDERBIRD, .judge = judge_headers },
	{ "FETCH_HEADERS as Apple's Mail does", TRANSACTION_FETCH_HEADERS, NAME_NONE, 1, UINT32_MAX,
	  .client = WORKLOAD_APPLEMAIL, .judge = judge_headers },
	{ "FETCH_STRUCTURE", TRANSACTION_FETCH_STRUCTURE, NAME_NONE, 1, UINT32_MAX,
	  .judge = judge_told },
	{ "FETCH_BODY as Apple's Mail does", TRANSACTION_FETCH_BODY, NAME_NONE, 1, 1,
	  .client = WORKLOAD_APPLEMAIL, .judge = judge_body },
	{ "FETCH_FLAGS behind BODY.PEEK[]", TRANSACTION_FETCH_FLAGS, NAME_NONE, 1, 1,
	  .judge = judge_unseen },
	{ "FETCH_BODY as Thunderbird does", TRANSACTION_FETCH_BODY, NAME_NONE, 1, 1,
	  .client = WORKLOAD_THUNDERBIRD, .judge = judge_body },
	{ "FETCH_FLAGS behind BODY[]", TRANSACTION_FETCH_FLAGS, NAME_NONE, 1, 1,
	  .judge = judge_seen },
	{ "SEARCH", TRANSACTION_SEARCH, .judge = NULL },
	{ "STORE", TRANSACTION_STORE, NAME_NONE, 1, 2, .flags = BEHAVIOUR_ANSWERED,
	  .judge = judge_answered },
	{ "COPY", TRANSACTION_COPY, NAME_OTHER, 1, 2, .judge = judge_copy },
	{ "STATUS of copies", TRANSACTION_STATUS, NAME_OTHER, .judge = judge_status_there },
	{ "MOVE", IMAPTALK_MOVE, NAME_OTHER, 2, 2, .needs = IMAPREADER_CAN_MOVE,
	  .judge = judge_move },
	{ "STORE of \\Deleted", TRANSACTION_STORE, NAME_NONE, 1, 1, .flags = BEHAVIOUR_DELETED,
	  .judge = judge_deleted },
	{ "EXPUNGE", TRANSACTION_EXPUNGE, .judge = judge_expunge_here },
	{ "IDLE", BEHAVIOUR_IDLE, .judge = judge_here },
	{ "SELECT of another folder", TRANSACTION_SELECT, NAME_OTHER, .judge = judge_there },
	{ "FETCH_HEADERS of copies", TRANSACTION_FETCH_HEADERS, NAME_NONE, 1, UINT32_MAX,
	  .judge = judge_headers },
	{ "STORE of \\Deleted there", TRANSACTION_STORE, NAME_NONE, 1, 1,
	  .flags = BEHAVIOUR_DELETED, .needs = IMAPREADER_CAN_UIDPLUS, .judge = judge_deleted },
	{ "UID EXPUNGE", TRANSACTION_EXPUNGE, NAME_NONE, 1, 1, .needs = IMAPREADER_CAN_UIDPLUS,
	  .judge = judge_expunge_there },
	{ "EXAMINE", IMAPTALK_EXAMINE, NAME_FOLDER, .judge = judge_here },
	{ "CLOSE", IMAPTALK_CLOSE, .judge = NULL },
	{ "DELETE of a folder in a folder", IMAPTALK_DELETE, NAME_OTHER, .judge = NULL },
	{ "DELETE", IMAPTALK_DELETE, NAME_FOLDER, .judge = NULL },
	{ "LOGOUT", BEHAVIOUR_LOGOUT, .judge = NULL },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
/* How long IDLE lasts. */
#define IDLE_S 0.2

void imapcheck_init(struct imapcheck *ret_check, const struct workload *workload, uint64_t run,
		    const char *user)
{
	memset(ret_check, 0, sizeof(*ret_check));
	snprintf(ret_check->user, sizeof(ret_check->user), "%s", user);
	snprintf(ret_check->folder, sizeof(ret_check->folder), "users-load-%" PRIx64, run);
	snprintf(ret_check->other, sizeof(ret_check->other), "users-load-%" PRIx64 "/copies", run);
	for (unsigned i = 0; i < IMAPCHECK_MAILS; i++) {
		const struct mailplan_wish wish = { .seed = run,
						    .run = run,
						    .number = i,
						    .time_s = 0,
						    .from = "check@load.invalid",
						    .to = "check@load.invalid" };
		mailplan_make(&ret_check->mails[i], workload, &wish);
	}
}

static void begin(struct imapcheck *check)
{
	check->told = check->headers = 0;
	check->body_bytes = 0;
	check->flags = check->flags_of_last = 0;
	check->has_wrong_size = check->has_folder = check->has_other = false;
	check->has_date = true;
	check->fault = IMAPTALK_FAULT_NONE;
}

bool imapcheck_next(struct imapcheck *check, const struct imaptalk *talk,
		    struct imapcheck_order *ret_order)
{
	const char *const names[] = { [NAME_NONE] = NULL,
				      [NAME_USER] = check->user,
				      [NAME_FOLDER] = check->folder,
				      [NAME_OTHER] = check->other };
	while (check->row < ROWS && (rows[check->row].needs & ~talk->capabilities) != 0)
		check->row++;
	if (check->row == ROWS)
		return false;
	const struct row *row = &rows[check->row];
	begin(check);
	*ret_order = (struct imapcheck_order){
		.step = { .command = row->command,
			  .idle_s = row->command == BEHAVIOUR_IDLE ? IDLE_S : 0,
			  .folder = row->name,
			  .first = row->first,
			  .last = row->last,
			  .client = row->client,
			  .flags = row->flags },
		.name = names[row->name],
		.mail = row->mail > 0 ? &check->mails[row->mail - 1] : NULL,
		.what = row->what,
	};
	return true;
}

const char *imapcheck_done(struct imapcheck *check, const struct imaptalk *talk)
{
	const struct row *row = &rows[check->row++];
	if (row->command == TRANSACTION_LOGIN && imaptalk_result(talk) != IMAPTALK_OK)
		check->row = ROWS;
	if (imaptalk_result(talk) != IMAPTALK_OK)
		return imaptalk_result(talk) == IMAPTALK_NO ? "the server says NO"
							    : "the server says BAD";
	if (check->fault != IMAPTALK_FAULT_NONE)
		return imaptalk_fault_text(check->fault);
	return row->judge != NULL ? row->judge(check, talk) : NULL;
}

void imapcheck_mail(struct imapcheck *check, const struct imaptalk_mail *mail)
{
	check->told++;
	if (mail->sequence == 1)
		check->flags = mail->flags;
	check->flags_of_last = mail->flags;
	if (mail->body_bytes > 0)
		check->body_bytes = mail->body_bytes;
	if (!mail->has_header)
		return;
	check->has_date = check->has_date && mail->internal_s != 0;
	if (!mail->has_id || mail->run != check->mails[0].run || mail->number >= IMAPCHECK_MAILS)
		return;
	check->headers++;
	check->has_wrong_size |= mail->size_bytes != check->mails[mail->number].size_bytes;
}

void imapcheck_folder(struct imapcheck *check, const char *name)
{
	check->has_inbox |= strcasecmp(name, "INBOX") == 0;
	check->has_folder |= strcmp(name, check->folder) == 0;
	check->has_other |= strcmp(name, check->other) == 0;
}

void imapcheck_fault(struct imapcheck *check, enum imaptalk_fault fault)
{
	check->fault = fault;
}
