/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/edge/pack.h"

#include <stdio.h>
#include <string.h>

#include "integration/mail/base/edge/handout.h"
#include "integration/mail/smtp-front/edge/smtp_parts.h"

static void fill_verdict(const struct session *session, struct capsule *capsule)
{
	const struct judgement *judgement = &session_far(session)->kept.judgement;
	capsule->zones[0] = '\0';
	capsule->header[0] = '\0';
	if (!session->has_judgement)
		return;
	memcpy(capsule->zones, judgement->zones, sizeof(capsule->zones));
	if (session->facts.action == JUDGE_PREPEND)
		memcpy(capsule->header, judgement->header, sizeof(capsule->header));
}

static void fill_tls(const struct session *session, struct capsule *capsule)
{
	struct tls_facts facts = { .protocol = "", .cipher = "", .sni = "" };
	if (session->tls != NULL)
		tls_facts(session->tls, &facts);
	snprintf(capsule->tls_protocol, sizeof(capsule->tls_protocol), "%s", facts.protocol);
	snprintf(capsule->tls_cipher, sizeof(capsule->tls_cipher), "%s", facts.cipher);
	snprintf(capsule->tls_sni, sizeof(capsule->tls_sni), "%s", facts.sni);
}

static void fill(struct session *session, struct capsule *capsule)
{
	const struct smtp_kept *kept = smtp_kept(session);
	capsule->kind = session->banner_ms > 0 ? CAPSULE_TRUSTED : CAPSULE_CONNECTED;
	capsule->facts = handout_facts(session);
	capsule->queued_at_us = handout_queued_at_us(session);
	capsule->dialogue = smtp_session(session)->dialogue;
	if (session->banner_ms > 0)
		capsule->recipient = kept->recipient;
	else
		memset(&capsule->recipient, 0, sizeof(capsule->recipient));
	capsule->unread_size = session->in_size;
	memcpy(capsule->unread, kept->kept.in, session->in_size);
	fill_verdict(session, capsule);
	fill_tls(session, capsule);
}

int pack_hand_over(struct session *session, const struct handover_fds *fds)
{
	struct capsule *capsule = &smtp_edge_of(session)->capsule;
	fill(session, capsule);
	return capsule_send(session->edge->child->queue_fd, capsule, fds);
}
