/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/scan-milter/scansession.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "lib/common/log.h"

/* ---- what sessions share ---- */

int scansession_shared_init(struct scansession_shared *ret_all, struct scanner *scanner,
			    const struct scan_settings *settings)
{
	memset(ret_all, 0, sizeof(*ret_all));
	ret_all->settings = settings;
	return scanwork_init(&ret_all->work, scanner);
}

static void count(struct scansession *session, enum scancounts_number number)
{
	counts_add(&session->all->counts[number], 1);
}

/* ---- one session ---- */

struct scansession *scansession_new(struct scansession_shared *all)
{
	struct scansession *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return NULL;
	session->all = all;
	session->has_blanks = __atomic_load_n(&all->has_blanks, __ATOMIC_RELAXED);
	__atomic_fetch_add(&all->open, 1, __ATOMIC_RELAXED);
	return session;
}

void scansession_set_blanks(struct scansession *session, bool has_blanks)
{
	session->has_blanks = has_blanks;
	__atomic_store_n(&session->all->has_blanks, has_blanks, __ATOMIC_RELAXED);
}

void scansession_free(struct scansession *session)
{
	if (session == NULL)
		return;
	scansession_forget(session);
	__atomic_fetch_sub(&session->all->open, 1, __ATOMIC_RELAXED);
	free(session);
}

void scansession_connect(struct scansession *session, const struct sockaddr *address)
{
	const uint32_t id = __atomic_add_fetch(&session->all->last_id, 1, __ATOMIC_RELAXED);
	scansession_forget(session);
	count(session, SCANCOUNTS_CONNECTIONS);
	snprintf(session->id, sizeof(session->id), "%06x", id);
	session->client[0] = session->helo[0] = '\0';
	if (address != NULL)
		(void)uv_ip_name(address, session->client, sizeof(session->client));
}

void scansession_helo(struct scansession *session, const char *name)
{
	snprintf(session->helo, sizeof(session->helo), "%s", name);
}

/* Without <>. NULL: there is no room. */
static const char *keep_address(struct scansession *session, const char *address)
{
	size_t size = strlen(address);
	if (size >= 2 && address[0] == '<' && address[size - 1] == '>') {
		address++;
		size -= 2;
	}
	if (size >= sizeof(session->names) - session->names_size)
		return NULL;
	char *kept = session->names + session->names_size;
	memcpy(kept, address, size);
	kept[size] = '\0';
	session->names_size += size + 1;
	return kept;
}

void scansession_mail(struct scansession *session, const char *sender)
{
	scansession_forget(session);
	session->sender = keep_address(session, sender);
}

void scansession_rcpt(struct scansession *session, const char *recipient)
{
	if (session->recipient_count == SCANSESSION_RCPT_MAX)
		return;
	const char *kept = keep_address(session, recipient);
	if (kept != NULL)
		session->recipients[session->recipient_count++] = kept;
}

/* ---- the mail ---- */

static const char *text_or_null(const char *text)
{
	return text[0] == '\0' ? NULL : text;
}

/* For a line: an empty sender is that of a bounce. */
static const char *quote_sender(const struct scansession *session, char *ret_text)
{
	const char *sender = session->sender == NULL ? "" : session->sender;
	return log_quote(sender, strlen(sender), ret_text);
}

static enum scansession_step refuse_busy(struct scansession *session)
{
	const bool is_put_off = session->all->settings->actions[INSPECT_BUSY] >= SCAN_DEFER;
	char sender[LOG_QUOTE_MAX];
	count(session, SCANCOUNTS_BUSY);
	log_warning(session->id,
		    "%s, client=%s queue=%s sender=%s max=%u (limit of mails scanned at once)",
		    is_put_off ? "deferred" : "not scanned", session->client, session->queue,
		    quote_sender(session, sender), session->all->settings->mails);
	return is_put_off ? SCANSESSION_BUSY : SCANSESSION_LEAVE;
}

enum scansession_step scansession_begin(struct scansession *session, const char *queue)
{
	if (session->has_begun)
		return session->step;
	session->has_begun = true;
	if (queue != NULL)
		snprintf(session->queue, sizeof(session->queue), "%s", queue);
	const struct scan_envelope envelope = {
		.client = text_or_null(session->client),
		.helo = text_or_null(session->helo),
		.sender = session->sender,
		.recipients = session->recipients,
		.recipient_count = session->recipient_count,
		.id = session->queue[0] != '\0' ? session->queue : session->id,
	};
	const int ret = scanwork_begin(&session->all->work, &envelope, &session->scan);
	if (ret != 0)
		session->scan = NULL;
	session->step = ret == 0 ? SCANSESSION_GO_ON : refuse_busy(session);
	return session->step;
}

static void flush(struct scansession *session)
{
	counts_add(&session->all->counts[SCANCOUNTS_BYTES], session->size);
	scanwork_push(&session->all->work, session->scan, session->bytes, session->size);
	session->size = 0;
}

static void add(struct scansession *session, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;
	while (session->scan != NULL && size > 0) {
		const size_t room = sizeof(session->bytes) - session->size;
		const size_t piece = size < room ? size : room;
		memcpy(session->bytes + session->size, from, piece);
		session->size += piece;
		from += piece;
		size -= piece;
		if (session->size == sizeof(session->bytes))
			flush(session);
	}
}

void scansession_field(struct scansession *session, const char *name, const char *value)
{
	add(session, name, strlen(name));
	add(session, ":", 1);
	if (!session->has_blanks)
		add(session, " ", 1);
	for (const char *end; (end = strchr(value, '\n')) != NULL; value = end + 1) {
		/* Some mail servers leave the CR where it was. */
		const bool has_cr = end > value && end[-1] == '\r';
		add(session, value, (size_t)(end - value) - (has_cr ? 1 : 0));
		add(session, "\r\n", 2);
	}
	add(session, value, strlen(value));
	add(session, "\r\n", 2);
}

void scansession_end_fields(struct scansession *session)
{
	add(session, "\r\n", 2);
}

/* What is large goes as it is. */
void scansession_body(struct scansession *session, const uint8_t *bytes, size_t size)
{
	if (session->scan == NULL || size < sizeof(session->bytes)) {
		add(session, bytes, size);
		return;
	}
	flush(session);
	counts_add(&session->all->counts[SCANCOUNTS_BYTES], size);
	scanwork_push(&session->all->work, session->scan, bytes, size);
}

static void tell(struct scansession *session, const struct scan_verdict *verdict)
{
	static const enum scancounts_number numbers[] = {
		[SCAN_ACCEPT] = SCANCOUNTS_ACCEPTED,	    [SCAN_MARK] = SCANCOUNTS_MARKED,
		[SCAN_QUARANTINE] = SCANCOUNTS_QUARANTINED, [SCAN_DEFER] = SCANCOUNTS_DEFERRED,
		[SCAN_REJECT] = SCANCOUNTS_REJECTED,
	};
	static const char *const words[] = { "accepted", "marked", "quarantined", "deferred",
					     "rejected" };
	char sender[LOG_QUOTE_MAX];
	count(session, SCANCOUNTS_MAILS);
	count(session, numbers[verdict->action]);
	if (verdict->result != NULL && verdict->result->counts[INSPECT_SIGNATURE] > 0)
		count(session, SCANCOUNTS_FOUND);
	log_line(verdict->action == SCAN_ACCEPT && !verdict->has_missed ? LOG_LEVEL_DEBUG
									: LOG_LEVEL_INFO,
		 session->id, "%s, client=%s queue=%s sender=%s %s", words[verdict->action],
		 session->client, session->queue, quote_sender(session, sender), verdict->log);
}

const struct scan_verdict *scansession_end(struct scansession *session)
{
	if (session->scan == NULL)
		return NULL;
	flush(session);
	const struct scan_verdict *verdict = scanwork_end(&session->all->work, session->scan);
	session->has_verdict = true;
	tell(session, verdict);
	return verdict;
}

void scansession_forget(struct scansession *session)
{
	if (session->scan != NULL && !session->has_verdict)
		count(session, SCANCOUNTS_ABORTED);
	scanwork_free(&session->all->work, session->scan);
	session->scan = NULL;
	session->has_begun = session->has_verdict = false;
	session->step = SCANSESSION_GO_ON;
	session->size = 0;
	session->sender = NULL;
	session->queue[0] = '\0';
	session->recipient_count = 0;
	session->names_size = 0;
}
