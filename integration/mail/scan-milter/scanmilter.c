/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/scan-milter/scanmilter.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <libmilter/mfapi.h>

#include "integration/common/milterloop.h"
#include "lib/common/log.h"

#define ACTIONS (SMFIF_ADDHDRS | SMFIF_QUARANTINE)

/* Steps without a reply. To a mail server that waits for one libmilter gives it. */
#define SILENT_STEPS                                                                               \
	(SMFIP_NR_CONN | SMFIP_NR_HELO | SMFIP_NR_MAIL | SMFIP_NR_RCPT | SMFIP_NR_HDR |            \
	 SMFIP_NR_EOH | SMFIP_NR_BODY)

static const char context[] = "mail-scan-milter";

static struct scansession_shared *sessions; /* see the header */

/* ---- words of libmilter ---- */

/* Its functions take texts as writable, and do not write. */
static char *writable(const char *text)
{
	return (char *)(uintptr_t)text;
}

#define ENHANCED_MAX 11

/* text begins with an enhanced code. */
static void set_reply(SMFICTX *ctx, const char *code, const char *text)
{
	char enhanced[ENHANCED_MAX + 1];
	size_t size = strspn(text, "0123456789.");
	const bool has_code = size > 0 && size <= ENHANCED_MAX && text[size] == ' ';
	snprintf(enhanced, sizeof(enhanced), "%.*s", has_code ? (int)size : 0, text);
	milterloop_reply(ctx, code, has_code ? enhanced : NULL, has_code ? text + size + 1 : text);
}

static sfsistat put_off(SMFICTX *ctx)
{
	set_reply(ctx, "451", "4.3.2 Scanner is busy, try again later");
	return SMFIS_TEMPFAIL;
}

/*
 * "Name: value" and CR LF. The blank is ours to say where the mail server leaves those of fields to
 * us, and its own otherwise.
 */
static bool add_header(SMFICTX *ctx, const struct scansession *session, const char *header)
{
	char field[SCAN_TEXT_MAX];
	if (header[0] == '\0')
		return true;
	snprintf(field, sizeof(field), "%s", header);
	field[strcspn(field, "\r\n")] = '\0';
	char *colon = strchr(field, ':');
	if (colon == NULL)
		return false;
	*colon = '\0';
	char *value = colon + 1 + (session->has_blanks ? 0 : strspn(colon + 1, " "));
	return smfi_addheader(ctx, field, value) == MI_SUCCESS;
}

/* ---- callbacks ---- */

static struct scansession *session_of(SMFICTX *ctx)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL) {
		session = scansession_new(sessions);
		smfi_setpriv(ctx, session);
	}
	return session;
}

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long offered_actions,
			     unsigned long offered_steps, unsigned long reserved_2,
			     unsigned long reserved_3, unsigned long *ret_actions,
			     unsigned long *ret_steps, unsigned long *ret_2, unsigned long *ret_3)
{
	(void)reserved_2;
	(void)reserved_3;
	struct scansession *session = session_of(ctx);
	const unsigned long steps = SMFIP_NOUNKNOWN | SMFIP_HDR_LEADSPC;
	if (session != NULL)
		scansession_set_blanks(session, (SMFIP_HDR_LEADSPC & offered_steps) != 0);
	*ret_actions = milterloop_permit(context, ACTIONS, offered_actions);
	*ret_steps = (steps & offered_steps) | SILENT_STEPS;
	*ret_2 = 0;
	*ret_3 = 0;
	return SMFIS_CONTINUE;
}

static sfsistat on_connect(SMFICTX *ctx, char *host, struct sockaddr *address)
{
	(void)host;
	struct scansession *session = session_of(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	scansession_connect(session, address);
	return SMFIS_NOREPLY;
}

static sfsistat on_helo(SMFICTX *ctx, char *name)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	scansession_helo(session, name);
	return SMFIS_NOREPLY;
}

static sfsistat on_mail(SMFICTX *ctx, char **arguments)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	scansession_mail(session, arguments[0]);
	return SMFIS_NOREPLY;
}

static sfsistat on_rcpt(SMFICTX *ctx, char **arguments)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	scansession_rcpt(session, arguments[0]);
	return SMFIS_NOREPLY;
}

static enum scansession_step begin(SMFICTX *ctx, struct scansession *session)
{
	return session->has_begun ? session->step
				  : scansession_begin(session, smfi_getsymval(ctx, writable("i")));
}

static sfsistat on_data(SMFICTX *ctx)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	switch (begin(ctx, session)) {
	case SCANSESSION_BUSY:
		return put_off(ctx);
	case SCANSESSION_LEAVE:
		return SMFIS_ACCEPT;
	case SCANSESSION_GO_ON:
		break;
	}
	return SMFIS_CONTINUE;
}

static sfsistat on_field(SMFICTX *ctx, char *name, char *value)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	/* A mail server that does not tell of DATA. */
	begin(ctx, session);
	scansession_field(session, name, value);
	return SMFIS_NOREPLY;
}

static sfsistat on_end_of_fields(SMFICTX *ctx)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	begin(ctx, session);
	scansession_end_fields(session);
	return SMFIS_NOREPLY;
}

static sfsistat on_body(SMFICTX *ctx, unsigned char *bytes, size_t size)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	/* One that tells of neither DATA nor fields. */
	begin(ctx, session);
	scansession_body(session, bytes, size);
	return SMFIS_NOREPLY;
}

static sfsistat say(SMFICTX *ctx, struct scansession *session, const struct scan_verdict *verdict)
{
	bool is_done = true;
	switch (verdict->action) {
	case SCAN_REJECT:
		set_reply(ctx, "550", verdict->text);
		return SMFIS_REJECT;
	case SCAN_DEFER:
		set_reply(ctx, "451", verdict->text);
		return SMFIS_TEMPFAIL;
	case SCAN_QUARANTINE:
		is_done = smfi_quarantine(ctx, writable(verdict->log)) == MI_SUCCESS;
		is_done = add_header(ctx, session, verdict->header) && is_done;
		break;
	case SCAN_MARK:
		is_done = add_header(ctx, session, verdict->header);
		break;
	case SCAN_ACCEPT:
		break;
	}
	if (is_done)
		return SMFIS_CONTINUE;
	counts_add(&sessions->counts[SCANCOUNTS_FAILED], 1);
	log_warning(session->id, "mail not changed, client=%s (the mail server refuses)",
		    session->client);
	/* What was to be kept apart is not let through for that. */
	return verdict->action == SCAN_QUARANTINE ? put_off(ctx) : SMFIS_CONTINUE;
}

static sfsistat on_end(SMFICTX *ctx)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_TEMPFAIL;
	const struct scan_verdict *verdict = scansession_end(session);
	sfsistat status = SMFIS_CONTINUE;
	if (verdict != NULL)
		status = say(ctx, session, verdict);
	else if (session->step == SCANSESSION_BUSY)
		status = put_off(ctx);
	scansession_forget(session);
	return status;
}

static sfsistat on_abort(SMFICTX *ctx)
{
	struct scansession *session = smfi_getpriv(ctx);
	if (session != NULL)
		scansession_forget(session);
	return SMFIS_CONTINUE;
}

static sfsistat on_close(SMFICTX *ctx)
{
	scansession_free(smfi_getpriv(ctx));
	smfi_setpriv(ctx, NULL);
	return SMFIS_CONTINUE;
}

int scanmilter_open(const struct scansetup *setup, struct scansession_shared *shared)
{
	const struct smfiDesc filter = {
		.xxfi_name = writable(context),
		.xxfi_version = SMFI_VERSION,
		.xxfi_flags = ACTIONS,
		.xxfi_connect = on_connect,
		.xxfi_helo = on_helo,
		.xxfi_envfrom = on_mail,
		.xxfi_envrcpt = on_rcpt,
		.xxfi_header = on_field,
		.xxfi_eoh = on_end_of_fields,
		.xxfi_body = on_body,
		.xxfi_eom = on_end,
		.xxfi_abort = on_abort,
		.xxfi_close = on_close,
		.xxfi_data = on_data,
		.xxfi_negotiate = on_negotiate,
	};
	sessions = shared;
	return milterloop_open(&filter, &setup->place, &setup->owner);
}
