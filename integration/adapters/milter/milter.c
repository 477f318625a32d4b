/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/adapters/milter/milter.h"

#include <sys/socket.h>

#include <libmilter/mfapi.h>

#include "integration/common/milterloop.h"
#include "lib/common/log.h"

/* What the mail server need not tell: nothing of it is looked at. */
#define UNUSED_STEPS (SMFIP_NOHELO | SMFIP_NOBODY | SMFIP_NOUNKNOWN | SMFIP_NODATA | SMFIP_NOEOH)

static const char context[] = "dnsblv6-milter";

static struct session_shared *sessions; /* see the header */

/* ---- callbacks ---- */

static sfsistat status_of(SMFICTX *ctx, const struct session *session, enum session_step step)
{
	const struct judgement *judgement = &session->judgement;
	switch (step) {
	case SESSION_REJECT:
		milterloop_reply(ctx, "550", judgement->code, judgement->text);
		return SMFIS_REJECT;
	case SESSION_DEFER:
		milterloop_reply(ctx, "451", judgement->code, judgement->text);
		return SMFIS_TEMPFAIL;
	case SESSION_LEAVE:
		return SMFIS_ACCEPT;
	default:
		return SMFIS_CONTINUE;
	}
}

static unsigned long wanted_actions(void)
{
	unsigned long actions = SMFIF_SETSYMLIST;
	if (session_shared_want_headers(sessions))
		actions |= SMFIF_ADDHDRS | SMFIF_CHGHDRS;
	if (sessions->is_quarantine)
		actions |= SMFIF_QUARANTINE;
	return actions;
}

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long offered_actions,
			     unsigned long offered_steps, unsigned long reserved_2,
			     unsigned long reserved_3, unsigned long *ret_actions,
			     unsigned long *ret_steps, unsigned long *ret_2, unsigned long *ret_3)
{
	(void)reserved_2;
	(void)reserved_3;
	unsigned long unused = UNUSED_STEPS;
	if (!session_shared_want_headers(sessions))
		unused |= SMFIP_NOHDRS;
	*ret_actions = milterloop_permit(context, wanted_actions(), offered_actions);
	*ret_steps = unused & offered_steps;
	*ret_2 = 0;
	*ret_3 = 0;
	/* Whatever the mail server is told to send by default. */
	if ((*ret_actions & SMFIF_SETSYMLIST) != 0)
		smfi_setsymlist(ctx, SMFIM_ENVFROM, (char *)(uintptr_t) "{auth_authen}");
	return SMFIS_CONTINUE;
}

static sfsistat on_connect(SMFICTX *ctx, char *host, struct sockaddr *address)
{
	(void)host;
	struct session *session = smfi_getpriv(ctx);
	if (session == NULL) {
		session = session_new(sessions);
		/* No client is refused for what we lack. */
		if (session == NULL)
			return SMFIS_ACCEPT;
		smfi_setpriv(ctx, session);
	}
	return status_of(ctx, session, session_connect(session, address));
}

static sfsistat on_mail(SMFICTX *ctx, char **arguments)
{
	(void)arguments;
	struct session *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_ACCEPT;
	const char *login = smfi_getsymval(ctx, (char *)(uintptr_t) "{auth_authen}");
	return status_of(ctx, session, session_mail(session, login));
}

static sfsistat on_rcpt(SMFICTX *ctx, char **arguments)
{
	(void)arguments;
	struct session *session = smfi_getpriv(ctx);
	if (session == NULL)
		return SMFIS_ACCEPT;
	return status_of(ctx, session, session_rcpt(session));
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *value)
{
	(void)value;
	struct session *session = smfi_getpriv(ctx);
	if (session != NULL)
		session_header(session, name);
	return SMFIS_CONTINUE;
}

/* From the last one on, so that numbers hold whether or not the mail server counts again. */
static bool change(SMFICTX *ctx, const struct session_changes *changes)
{
	char *name = (char *)(uintptr_t)JUDGE_HEADER_NAME;
	bool is_done = true;
	for (unsigned i = changes->delete_count; i > 0; i--)
		is_done &= smfi_chgheader(ctx, name, (int)i, NULL) == MI_SUCCESS;
	if (changes->header != NULL)
		is_done &= smfi_insheader(ctx, 0, name, (char *)(uintptr_t)changes->header) ==
			   MI_SUCCESS;
	if (changes->quarantine != NULL)
		is_done &=
			smfi_quarantine(ctx, (char *)(uintptr_t)changes->quarantine) == MI_SUCCESS;
	return is_done;
}

static sfsistat on_end(SMFICTX *ctx)
{
	struct session *session = smfi_getpriv(ctx);
	struct session_changes changes;
	if (session == NULL)
		return SMFIS_ACCEPT;
	session_end_mail(session, &changes);
	if (!change(ctx, &changes)) {
		counts_add(&sessions->counters[COUNTERS_FAILED], 1);
		log_warning(session->id, "mail not changed, client=%s (the mail server refuses)",
			    session->client);
	}
	return SMFIS_CONTINUE;
}

static sfsistat on_close(SMFICTX *ctx)
{
	session_free(smfi_getpriv(ctx));
	smfi_setpriv(ctx, NULL);
	return SMFIS_CONTINUE;
}

int milter_open(const struct milter_setup *setup, struct session_shared *shared)
{
	sessions = shared; /* wanted_actions() looks at it */
	const struct smfiDesc filter = {
		.xxfi_name = (char *)(uintptr_t)context,
		.xxfi_version = SMFI_VERSION,
		.xxfi_flags = wanted_actions(),
		.xxfi_connect = on_connect,
		.xxfi_envfrom = on_mail,
		.xxfi_envrcpt = on_rcpt,
		.xxfi_header = on_header,
		.xxfi_eom = on_end,
		.xxfi_close = on_close,
		.xxfi_negotiate = on_negotiate,
	};
	return milterloop_open(&filter, &setup->place, &setup->owner);
}
