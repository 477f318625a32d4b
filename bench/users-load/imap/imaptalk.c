/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/imap/imaptalk.h"
#include "bench/users-load/imap/imapcommand.h"

#include <errno.h>
#include <string.h>

enum phase {
	GREETING,
	READY,
	SENDING,  /* a part of a command */
	CONTINUE, /* "+" is waited for */
	WAITING,  /* for the tagged reply */
	IDLING,
	TLS, /* the next bytes are not IMAP */
	GONE,
	BROKEN,
};

static const char *const fault_texts[] = {
#define X(name, text) text,
	IMAPTALK_FAULT_MAP(X)
#undef X
};

const char *imaptalk_fault_text(enum imaptalk_fault fault)
{
	return (size_t)fault < IMAPTALK_FAULTS ? fault_texts[fault] : "";
}

void imaptalk_init(struct imaptalk *ret_talk, const struct imaptalk_rules *rules, void *context)
{
	memset(ret_talk, 0, sizeof(*ret_talk));
	ret_talk->rules = rules;
	ret_talk->context = context;
	ret_talk->delimiter = '/';
	imapreader_init(&ret_talk->reader, rules->literal_max);
	imapview_open(&ret_talk->view);
}

void imaptalk_deinit(struct imaptalk *talk)
{
	imapview_close(&talk->view);
}

/* ---- a command begins ---- */

#define NEEDS_NAME   1U
#define NEEDS_FOLDER 2U /* that is selected */
#define NEEDS_RANGE  4U
#define MAY_RANGE    8U
#define NEEDS_MAIL   16U

/* What a command needs; -1: there is no such command. */
static int needs_of(unsigned command)
{
	switch (command) {
	case TRANSACTION_LOGIN:
	case TRANSACTION_STATUS:
	case TRANSACTION_SELECT:
	case IMAPTALK_EXAMINE:
	case IMAPTALK_CREATE:
	case IMAPTALK_DELETE:
		return NEEDS_NAME;
	case TRANSACTION_FETCH_HEADERS:
	case TRANSACTION_FETCH_FLAGS:
	case TRANSACTION_FETCH_STRUCTURE:
	case TRANSACTION_FETCH_BODY:
	case TRANSACTION_STORE:
		return NEEDS_FOLDER | NEEDS_RANGE;
	case TRANSACTION_COPY:
	case IMAPTALK_MOVE:
		return NEEDS_FOLDER | NEEDS_RANGE | NEEDS_NAME;
	case TRANSACTION_SEARCH:
	case IMAPTALK_CLOSE:
		return NEEDS_FOLDER;
	case TRANSACTION_EXPUNGE:
		return NEEDS_FOLDER | MAY_RANGE;
	case TRANSACTION_APPEND:
		return NEEDS_NAME | NEEDS_MAIL;
	case TRANSACTION_LIST:
	case BEHAVIOUR_IDLE:
	case IMAPTALK_NOOP:
	case BEHAVIOUR_LOGOUT:
	case IMAPTALK_CAPABILITY:
	case IMAPTALK_STARTTLS:
		return 0;
	default:
		return -1;
	}
}

static void begin_part(struct imaptalk *talk, unsigned part)
{
	talk->part = (uint8_t)part;
	talk->sent_bytes = 0;
	talk->part_size = imapcommand_size(talk);
	talk->phase = SENDING;
}

static bool can(const struct imaptalk *talk, enum imapreader_can what)
{
	return (talk->capabilities & (uint32_t)what) != 0;
}

static bool has_idle(const struct imaptalk *talk)
{
	return can(talk, IMAPREADER_CAN_IDLE) && !talk->rules->has_no_idle;
}

/*
 * Sequence numbers become UIDs. A mail's own need not be known: that of the one before is a lower
 * bound, and the last one is "*". In the midst of mails that are unknown numbers stay what they are.
 */
static int set_range(struct imaptalk *talk, uint32_t first, uint32_t last)
{
	const struct imapview *view = &talk->view;
	if (last > view->count)
		last = view->count;
	if (first == 0 || first > last)
		return -ENOENT;
	talk->last_sequence = last;
	talk->first = imapview_uid(view, first);
	talk->last = imapview_uid(view, last);
	if (talk->first == 0 && first == 1)
		talk->first = 1;
	else if (talk->first == 0 && imapview_uid(view, first - 1) > 0)
		talk->first = imapview_uid(view, first - 1) + 1;
	if (talk->last == 0 && last == view->count)
		talk->last = UINT32_MAX;
	talk->is_by_sequence = talk->first == 0 || talk->last == 0;
	if (talk->is_by_sequence) {
		talk->first = first;
		talk->last = last;
	}
	return 0;
}

static int check_step(const struct imaptalk *talk, unsigned needs, const char *name,
		      const struct mailplan *mail)
{
	const bool has_name = (needs & NEEDS_NAME) != 0;
	if (talk->phase != READY)
		return talk->phase == GONE || talk->phase == BROKEN ? -EPIPE : -EBUSY;
	if (has_name != (name != NULL) || ((needs & NEEDS_MAIL) != 0) != (mail != NULL))
		return -EINVAL;
	if (has_name && strlen(name) >= IMAPTALK_NAME_MAX)
		return -EINVAL;
	if ((needs & NEEDS_FOLDER) != 0 && !talk->is_selected)
		return -ENOENT;
	return 0;
}

static void forget_folder(struct imaptalk *talk)
{
	talk->is_selected = talk->has_exists = talk->has_flags = talk->has_validity = false;
	imapview_clear(&talk->view);
}

static bool is_select(const struct imaptalk *talk)
{
	return talk->command == TRANSACTION_SELECT || talk->command == IMAPTALK_EXAMINE;
}

/* All is set: the first part goes out. */
static int begin_command(struct imaptalk *talk)
{
	talk->tag++;
	talk->part_count = (uint8_t)imapcommand_parts(talk);
	if (talk->part_count == 0)
		return -EINVAL;
	talk->found = 0;
	talk->has_failed = false;
	talk->is_woken = false;
	if (is_select(talk)) {
		forget_folder(talk);
		talk->selected = talk->folder;
	}
	if (talk->command == TRANSACTION_LIST)
		talk->folder_count = 0;
	if (talk->command == TRANSACTION_LOGIN)
		talk->has_capabilities = false;
	if (talk->command == BEHAVIOUR_IDLE && !has_idle(talk))
		talk->phase = IDLING;
	else
		begin_part(talk, 0);
	return 0;
}

int imaptalk_start(struct imaptalk *talk, const struct behaviour_step *step, const char *name,
		   const struct mailplan *mail)
{
	const int needs = needs_of(step->command);
	int ret = needs < 0 ? -EINVAL : check_step(talk, (unsigned)needs, name, mail);
	if (ret == 0 && step->command == IMAPTALK_MOVE && !can(talk, IMAPREADER_CAN_MOVE))
		ret = -EOPNOTSUPP;
	if (ret != 0)
		return ret;
	const bool has_range = ((unsigned)needs & NEEDS_RANGE) != 0 ||
			       (((unsigned)needs & MAY_RANGE) != 0 && step->first > 0 &&
				can(talk, IMAPREADER_CAN_UIDPLUS));
	talk->first = talk->last = 0;
	talk->is_by_sequence = false;
	if (has_range)
		ret = set_range(talk, step->first, step->last);
	if (ret != 0)
		return ret;
	talk->command = (uint8_t)step->command;
	talk->client = step->client;
	talk->flags = step->flags;
	talk->folder = step->folder;
	talk->mail = mail;
	talk->name[0] = '\0';
	if (name != NULL)
		memcpy(talk->name, name, strlen(name) + 1);
	return begin_command(talk);
}

void imaptalk_wake(struct imaptalk *talk)
{
	if (talk->command != BEHAVIOUR_IDLE || talk->phase < SENDING || talk->phase > IDLING)
		return;
	talk->is_woken = true;
	if (talk->phase != IDLING)
		return;
	if (!has_idle(talk)) {
		talk->command = IMAPTALK_NOOP;
		talk->part_count = 1;
		begin_part(talk, 0);
		return;
	}
	begin_part(talk, 1);
}

void imaptalk_secured(struct imaptalk *talk)
{
	imapreader_init(&talk->reader, talk->rules->literal_max);
	talk->capabilities = 0;
	talk->phase = READY;
}

/* ---- what is sent ---- */

size_t imaptalk_output(struct imaptalk *talk, char *ret_bytes, size_t room)
{
	if (talk->phase != SENDING)
		return 0;
	return imapcommand_copy(talk, talk->sent_bytes, ret_bytes, room);
}

void imaptalk_sent(struct imaptalk *talk, size_t size_bytes)
{
	if (talk->phase != SENDING)
		return;
	talk->sent_bytes += size_bytes;
	if (talk->sent_bytes >= talk->part_size)
		talk->phase = talk->part + 1 < talk->part_count ? CONTINUE : WAITING;
}

/* ---- what is wrong ---- */

static enum imaptalk_event fault(struct imaptalk *talk, enum imaptalk_fault fault)
{
	const struct imaptalk_calls *calls = talk->rules->calls;
	if (calls != NULL && calls->fault != NULL)
		calls->fault(talk->context, fault);
	if (fault < IMAPTALK_FAULT_MILD)
		return IMAPTALK_GOES_ON;
	talk->fault = (uint8_t)fault;
	talk->phase = BROKEN;
	return IMAPTALK_BROKEN;
}

static enum imaptalk_event view_fault(struct imaptalk *talk, int error, enum imaptalk_fault range)
{
	static const enum imaptalk_fault faults[] = {
		[-IMAPVIEW_EFELL] = IMAPTALK_FAULT_EXISTS_FELL,
		[-IMAPVIEW_EMANY] = IMAPTALK_FAULT_EXISTS_TOO_MANY,
		[-IMAPVIEW_EMEMORY] = IMAPTALK_FAULT_MEMORY,
		[-IMAPVIEW_ECHANGED] = IMAPTALK_FAULT_UID_CHANGED,
		[-IMAPVIEW_EORDER] = IMAPTALK_FAULT_UID_ORDER,
		[-IMAPVIEW_EREUSED] = IMAPTALK_FAULT_UID_REUSED,
	};
	if (error == 0)
		return IMAPTALK_GOES_ON;
	return fault(talk, error == IMAPVIEW_ERANGE ? range : faults[-error]);
}

/* ---- what the server says of a folder ---- */

/* Where mails are told of: a folder is selected, or is about to be. */
static bool has_folder(const struct imaptalk *talk)
{
	return talk->is_selected ||
	       (is_select(talk) && talk->phase >= SENDING && talk->phase <= WAITING);
}

static enum imaptalk_event take_exists(struct imaptalk *talk, uint32_t count)
{
	const bool is_news = talk->phase == IDLING && count > talk->view.count;
	if (!has_folder(talk))
		return fault(talk, IMAPTALK_FAULT_BAD_STATE);
	talk->has_exists = true;
	const int error = imapview_exists(&talk->view, count);
	if (error == 0 && is_news)
		return IMAPTALK_NEWS;
	return view_fault(talk, error, IMAPTALK_FAULT_NOT_IMAP);
}

/* RFC 3501, 7.4.1: not without a command, nor with one whose sequence numbers it would change. */
static bool may_expunge(const struct imaptalk *talk)
{
	if (talk->phase == SENDING)
		return !talk->is_by_sequence && (talk->part > 0 || talk->sent_bytes > 0);
	if (talk->phase == IDLING)
		return has_idle(talk);
	return (talk->phase == CONTINUE || talk->phase == WAITING) && !talk->is_by_sequence;
}

static enum imaptalk_event take_expunge(struct imaptalk *talk, uint32_t sequence)
{
	if (!talk->is_selected)
		return fault(talk, IMAPTALK_FAULT_BAD_STATE);
	if (!may_expunge(talk))
		return fault(talk, IMAPTALK_FAULT_EXPUNGE_TIME);
	talk->last_sequence -= sequence <= talk->last_sequence;
	return view_fault(talk, imapview_expunge(&talk->view, sequence),
			  IMAPTALK_FAULT_EXPUNGE_RANGE);
}

static void tell_mail(struct imaptalk *talk)
{
	const struct imapreader_response *response = &talk->reader.response;
	const struct imaptalk_calls *calls = talk->rules->calls;
	struct imaptalk_mail mail = {
		.sequence = response->number,
		.uid = imapview_uid(&talk->view, response->number),
		.flags = talk->view.rows[response->number - 1].flags,
		.has_header = response->has_header,
		.internal_s = response->internal_s,
		.size_bytes = response->size_bytes,
		.body_bytes = response->body_bytes,
	};
	if (calls == NULL || calls->mail == NULL)
		return;
	mail.has_id = mailplan_find_id(talk->reader.text, strlen(talk->reader.text), &mail.run,
				       &mail.number);
	calls->mail(talk->context, &mail);
}

static enum imaptalk_event check_fetch(struct imaptalk *talk)
{
	const struct imapreader_response *response = &talk->reader.response;
	if (response->uid == 0 && (response->has_header || response->has_body))
		return fault(talk, IMAPTALK_FAULT_FETCH_WITHOUT_UID);
	if (response->has_body && response->size_bytes > 0 &&
	    response->size_bytes != response->body_bytes)
		return fault(talk, IMAPTALK_FAULT_SIZE_DIFFERS);
	return IMAPTALK_GOES_ON;
}

static enum imaptalk_event take_fetch(struct imaptalk *talk)
{
	const struct imapreader_response *response = &talk->reader.response;
	const uint32_t sequence = response->number;
	int error = 0;
	if (!talk->is_selected)
		return fault(talk, IMAPTALK_FAULT_BAD_STATE);
	if (sequence == 0 || sequence > talk->view.count)
		return fault(talk, IMAPTALK_FAULT_FETCH_RANGE);
	if (response->uid > 0)
		error = imapview_put_uid(&talk->view, sequence, response->uid);
	if (error != 0)
		return view_fault(talk, error, IMAPTALK_FAULT_FETCH_RANGE);
	if (response->has_flags && imapview_put_flags(&talk->view, sequence, response->flags) != 0)
		fault(talk, IMAPTALK_FAULT_FLAG_LOST);
	if (response->has_header)
		imapview_put_header(&talk->view, sequence);
	tell_mail(talk);
	return check_fetch(talk);
}

/* One of a folder that was selected not long ago is known. */
static enum imaptalk_event take_uid_validity(struct imaptalk *talk, uint32_t uid_validity)
{
	const uint32_t old = talk->view.uid_validity;
	if (!has_folder(talk))
		return fault(talk, IMAPTALK_FAULT_BAD_STATE);
	talk->has_validity = true;
	talk->view.uid_validity = uid_validity;
	if (old != 0 && old != uid_validity)
		return fault(talk, IMAPTALK_FAULT_UIDVALIDITY);
	for (unsigned i = 0; i < IMAPTALK_VALIDITIES; i++) {
		if (talk->validities[i].uid_validity != 0 &&
		    talk->validities[i].folder == talk->selected)
			return talk->validities[i].uid_validity == uid_validity
				       ? IMAPTALK_GOES_ON
				       : fault(talk, IMAPTALK_FAULT_UIDVALIDITY);
	}
	const unsigned next = talk->validity_next++ % IMAPTALK_VALIDITIES;
	talk->validities[next].folder = talk->selected;
	talk->validities[next].uid_validity = uid_validity;
	return IMAPTALK_GOES_ON;
}

/* ---- what the server says besides ---- */

static void take_capabilities(struct imaptalk *talk)
{
	talk->capabilities = talk->reader.response.capabilities;
	talk->has_capabilities = true;
}

static enum imaptalk_event take_code(struct imaptalk *talk)
{
	const struct imapreader_response *response = &talk->reader.response;
	const bool is_selecting = has_folder(talk) && !talk->is_selected;
	if (response->code == IMAPREADER_CODE_CAPABILITY)
		take_capabilities(talk);
	if (response->code == IMAPREADER_CODE_UIDNEXT && is_selecting)
		talk->view.uid_next = response->number;
	if (response->code == IMAPREADER_CODE_UIDVALIDITY)
		return take_uid_validity(talk, response->number);
	return IMAPTALK_GOES_ON;
}

static enum imaptalk_event take_bye(struct imaptalk *talk)
{
	if (talk->command == BEHAVIOUR_LOGOUT && talk->phase == WAITING) {
		talk->is_leaving = true;
		return IMAPTALK_GOES_ON;
	}
	talk->phase = GONE;
	return IMAPTALK_BYE;
}

static enum imaptalk_event take_state(struct imaptalk *talk)
{
	const unsigned word = talk->reader.response.word;
	if (word == IMAPREADER_BYE)
		return take_bye(talk);
	if (talk->phase != GREETING)
		return word == IMAPREADER_PREAUTH ? fault(talk, IMAPTALK_FAULT_NOT_IMAP)
						  : take_code(talk);
	if (word != IMAPREADER_OK && word != IMAPREADER_PREAUTH)
		return fault(talk, IMAPTALK_FAULT_GREETING);
	talk->phase = READY;
	take_code(talk);
	return IMAPTALK_GREETED;
}

static enum imaptalk_event take_list(struct imaptalk *talk)
{
	const struct imapreader_response *response = &talk->reader.response;
	const struct imaptalk_calls *calls = talk->rules->calls;
	const char *prefix = talk->rules->prefix;
	char *name = talk->reader.text;
	if (response->delimiter != '\0')
		talk->delimiter = response->delimiter;
	talk->folder_count += response->can_select;
	for (char *at = name; *at != '\0'; at++) {
		if (*at == response->delimiter)
			*at = '/';
	}
	if (prefix != NULL && strncmp(name, prefix, strlen(prefix)) == 0)
		name += strlen(prefix);
	if (calls != NULL && calls->folder != NULL)
		calls->folder(talk->context, name, response->can_select);
	return IMAPTALK_GOES_ON;
}

static enum imaptalk_event take_found(struct imaptalk *talk, uint32_t uid)
{
	talk->found++;
	if (talk->command != TRANSACTION_SEARCH || !talk->is_selected ||
	    imapview_may_have(&talk->view, uid))
		return IMAPTALK_GOES_ON;
	return fault(talk, IMAPTALK_FAULT_SEARCH_STRANGE);
}

/* "+": the next part of the command, or IDLE has begun. */
static enum imaptalk_event take_continue(struct imaptalk *talk)
{
	if (talk->phase != CONTINUE)
		return fault(talk, IMAPTALK_FAULT_CONTINUE);
	if (talk->command == BEHAVIOUR_IDLE && !talk->is_woken)
		talk->phase = IDLING;
	else
		begin_part(talk, talk->part + 1U);
	return IMAPTALK_GOES_ON;
}

/* ---- a command ends ---- */

static enum imaptalk_event end_select(struct imaptalk *talk)
{
	if (talk->has_failed) {
		forget_folder(talk);
		return IMAPTALK_DONE;
	}
	talk->is_selected = true;
	imapview_selected(&talk->view);
	if (!talk->has_exists || !talk->has_flags || !talk->has_validity)
		fault(talk, IMAPTALK_FAULT_SELECT_PARTIAL);
	return IMAPTALK_DONE;
}

/* The server's capabilities may be others behind it. */
static enum imaptalk_event end_login(struct imaptalk *talk)
{
	talk->is_authenticated = !talk->has_failed;
	if (talk->has_failed || talk->has_capabilities)
		return IMAPTALK_DONE;
	talk->command = IMAPTALK_CAPABILITY;
	begin_command(talk);
	return IMAPTALK_GOES_ON;
}

/* A folder that is made again has another UIDVALIDITY. */
static void end_delete(struct imaptalk *talk)
{
	for (unsigned i = 0; i < IMAPTALK_VALIDITIES; i++) {
		if (talk->validities[i].folder == talk->folder)
			talk->validities[i].uid_validity = 0;
	}
}

static enum imaptalk_event end_command(struct imaptalk *talk)
{
	const bool is_right = !talk->has_failed;
	talk->phase = READY;
	talk->mail = NULL;
	if (is_select(talk))
		return end_select(talk);
	if (talk->command == TRANSACTION_LOGIN)
		return end_login(talk);
	if (talk->command == TRANSACTION_STORE && is_right && !talk->is_by_sequence)
		imapview_stored(&talk->view, talk->first, talk->last, talk->flags);
	if (talk->command == TRANSACTION_FETCH_HEADERS && is_right)
		imapview_know(&talk->view, talk->last_sequence);
	if (talk->command == IMAPTALK_DELETE && is_right)
		end_delete(talk);
	if (talk->command == IMAPTALK_CLOSE && is_right)
		forget_folder(talk);
	if (talk->command == IMAPTALK_STARTTLS && is_right)
		talk->phase = TLS;
	if (talk->command == BEHAVIOUR_LOGOUT)
		talk->phase = GONE;
	return IMAPTALK_DONE;
}

/* With NO and BAD a command may end before all of it was sent, if the server was asked to go on. */
static bool may_end(const struct imaptalk *talk)
{
	const bool is_refused = talk->reader.response.word != IMAPREADER_OK;
	return talk->phase == WAITING || (talk->phase == CONTINUE && is_refused) ||
	       (talk->phase == IDLING && is_refused);
}

static enum imaptalk_event take_tagged(struct imaptalk *talk)
{
	static const uint8_t results[] = { [IMAPREADER_OK] = IMAPTALK_OK,
					   [IMAPREADER_NO] = IMAPTALK_NO,
					   [IMAPREADER_BAD] = IMAPTALK_BAD };
	const struct imapreader_response *response = &talk->reader.response;
	if (talk->phase < SENDING || talk->phase > IDLING || response->tag != talk->tag)
		return fault(talk, IMAPTALK_FAULT_TAG);
	if (!may_end(talk))
		return fault(talk, IMAPTALK_FAULT_EARLY);
	talk->result = results[response->word];
	talk->has_failed = talk->result != IMAPTALK_OK;
	const enum imaptalk_event event = take_code(talk);
	return event == IMAPTALK_GOES_ON ? end_command(talk) : event;
}

/* ---- all that the server says ---- */

static enum imaptalk_event take_response(struct imaptalk *talk)
{
	const struct imapreader_response *response = &talk->reader.response;
	if (talk->phase == GREETING && response->kind != IMAPREADER_STATE)
		return fault(talk, IMAPTALK_FAULT_GREETING);
	switch (response->kind) {
	case IMAPREADER_CONTINUE:
		return take_continue(talk);
	case IMAPREADER_TAGGED:
		return take_tagged(talk);
	case IMAPREADER_STATE:
		return take_state(talk);
	case IMAPREADER_EXISTS:
		return take_exists(talk, response->number);
	case IMAPREADER_EXPUNGE:
		return take_expunge(talk, response->number);
	case IMAPREADER_FETCH:
		return take_fetch(talk);
	case IMAPREADER_LIST:
		return take_list(talk);
	case IMAPREADER_FOUND:
		return take_found(talk, response->number);
	case IMAPREADER_FLAGS:
		talk->has_flags = true;
		return IMAPTALK_GOES_ON;
	case IMAPREADER_CAPABILITY:
		take_capabilities(talk);
		return IMAPTALK_GOES_ON;
	case IMAPREADER_STATUS:
		talk->status =
			(struct imaptalk_status){ response->messages, response->unseen,
						  response->uid_next, response->uid_validity };
		return IMAPTALK_GOES_ON;
	default:
		return IMAPTALK_GOES_ON;
	}
}

enum imaptalk_event imaptalk_input(struct imaptalk *talk, const char *bytes, size_t size,
				   size_t *ret_taken)
{
	enum imaptalk_event event = IMAPTALK_GOES_ON;
	bool has_output = false;
	size_t at = 0;
	if (talk->phase == TLS && size > 0)
		fault(talk, IMAPTALK_FAULT_NOT_IMAP);
	while (at < size && event == IMAPTALK_GOES_ON && talk->phase != GONE &&
	       talk->phase != BROKEN && !has_output) {
		size_t taken = 0;
		const enum imapreader_status status =
			imapreader_feed(&talk->reader, bytes + at, size - at, &taken);
		at += taken;
		if (status == IMAPREADER_RESPONSE)
			event = take_response(talk);
		else if (status == IMAPREADER_BROKEN)
			event = fault(talk, talk->reader.error == IMAPTOKEN_ELONG
						    ? IMAPTALK_FAULT_TOO_LONG
						    : IMAPTALK_FAULT_NOT_IMAP);
		has_output = status == IMAPREADER_RESPONSE && talk->phase == SENDING;
	}
	if (event == IMAPTALK_GOES_ON && (talk->phase == GONE || talk->phase == BROKEN)) {
		*ret_taken = size;
		return talk->phase == BROKEN ? IMAPTALK_BROKEN : IMAPTALK_BYE;
	}
	*ret_taken = at;
	return event;
}

/* ---- what is known ---- */

enum imaptalk_result imaptalk_result(const struct imaptalk *talk)
{
	return (enum imaptalk_result)talk->result;
}

enum imaptalk_fault imaptalk_fault(const struct imaptalk *talk)
{
	return (enum imaptalk_fault)talk->fault;
}

bool imaptalk_has_left(const struct imaptalk *talk)
{
	return talk->is_leaving;
}

const char *imaptalk_text(const struct imaptalk *talk)
{
	const char *text = talk->reader.token.text;
	return *text == ' ' ? text + 1 : text;
}

void imaptalk_look(const struct imaptalk *talk, struct behaviour_view *ret_view)
{
	*ret_view = (struct behaviour_view){
		.exists = talk->view.count,
		.known = talk->view.known,
		.deleted = talk->view.deleted,
		.folder_count = talk->folder_count,
		.has_selected = talk->is_selected,
		.failed = talk->has_failed,
	};
}

void imaptalk_know(struct imaptalk *talk, uint32_t count)
{
	imapview_know(&talk->view, count);
}
