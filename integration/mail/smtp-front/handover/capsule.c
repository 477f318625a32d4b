/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/handover/capsule.h"

#include <assert.h>
#include <string.h>

#include "integration/mail/base/handover/walk.h"
#include "lib/format/bytes.h"

#define MAGIC	   0x44423643U /* "DB6C" */
#define VERSION	   1
#define AT_KIND	   6
#define FIXED_SIZE 192 /* CAPSULE.md, 2 */
#define TEXTS	   10  /* CAPSULE.md, 3, without what is unread */

enum flag {
	FLAG_XCLIENT = 1,
	FLAG_VERDICT = 2,
	FLAG_ESMTP = 4,
	FLAG_TLS = 8,
	FLAG_UTF8 = 16,
	FLAG_LAST = 32,
	FLAG_EXEMPT = 64,
	FLAG_NO_8BITMIME = 128,
	FLAG_NO_SMTPUTF8 = 256,
	FLAG_NO_DSN = 512,
	FLAG_ALL = 1023,
};

_Static_assert(FIXED_SIZE + 2 * (TEXTS + 1) + ENVELOPE_HELO_MAX + 2 * ENVELOPE_ADDRESS_MAX +
			       ENVELOPE_ENVID_MAX + ENVELOPE_ORCPT_MAX + CAPSULE_TLS_PROTOCOL_MAX +
			       CAPSULE_TLS_CIPHER_MAX + CAPSULE_TLS_SNI_MAX + JUDGE_ZONES_MAX +
			       JUDGE_HEADER_MAX + CAPSULE_UNREAD_MAX <=
		       CAPSULE_SIZE_MAX,
	       "the longest capsule has room");

/* ---- what an edge makes ---- */

static bool has_valid_verdict(const struct capsule *capsule)
{
	const struct session_facts *facts = &capsule->facts;
	if (!facts->has_verdict)
		return facts->action == JUDGE_PASS && facts->verdict == DNSBLV6_CLEAR &&
		       facts->score == 0 && capsule->zones[0] == '\0' && capsule->header[0] == '\0';
	return !facts->is_exempt && seal_is_clean(capsule->zones, sizeof(capsule->zones)) &&
	       seal_is_clean(capsule->header, sizeof(capsule->header)) &&
	       (unsigned)facts->action <= JUDGE_PREPEND &&
	       (unsigned)facts->verdict <= DNSBLV6_DEFER;
}

static bool has_valid_tls(const struct capsule *capsule)
{
	bool is_empty = capsule->tls_protocol[0] == '\0' && capsule->tls_cipher[0] == '\0' &&
			capsule->tls_sni[0] == '\0';
	return seal_is_clean(capsule->tls_protocol, sizeof(capsule->tls_protocol)) &&
	       seal_is_clean(capsule->tls_cipher, sizeof(capsule->tls_cipher)) &&
	       seal_is_clean(capsule->tls_sni, sizeof(capsule->tls_sni)) &&
	       (capsule->dialogue.is_tls || is_empty);
}

static bool is_unsaid(const struct capsule *capsule)
{
	const struct dialogue *dialogue = &capsule->dialogue;
	return dialogue->state == DIALOGUE_AT_START && dialogue->helo[0] == '\0' &&
	       !dialogue->is_tls && capsule->recipient.address[0] == '\0' &&
	       capsule->recipient.orcpt[0] == '\0' && capsule->recipient.notify == 0 &&
	       capsule->unread_size == 0;
}

static bool is_offered_recipient(const struct capsule *capsule)
{
	const bool is_dsn = capsule->recipient.notify != 0 || capsule->recipient.orcpt[0] != '\0';
	return !is_dsn || (capsule->dialogue.withheld & ENVELOPE_EXTENSION_DSN) == 0;
}

static bool is_valid(const struct capsule *capsule)
{
	const struct dialogue *dialogue = &capsule->dialogue;
	if (capsule->unread_size > CAPSULE_UNREAD_MAX || !has_valid_verdict(capsule) ||
	    !has_valid_tls(capsule) || !is_offered_recipient(capsule) ||
	    !dialogue_is_valid(dialogue))
		return false;
	if (capsule->kind == CAPSULE_CONNECTED)
		return is_unsaid(capsule);
	return capsule->kind == CAPSULE_TRUSTED && dialogue->state == DIALOGUE_AT_RCPT_ASKED &&
	       dialogue_is_valid_recipient(&capsule->recipient, dialogue->envelope.is_utf8);
}

/* ---- what is sent, in its order ---- */

/* Those of dialogue.withheld in its order. */
#define WITHHELD_SHIFT 7
_Static_assert(FLAG_NO_8BITMIME == ENVELOPE_EXTENSION_8BITMIME << WITHHELD_SHIFT &&
		       FLAG_NO_SMTPUTF8 == ENVELOPE_EXTENSION_SMTPUTF8 << WITHHELD_SHIFT &&
		       FLAG_NO_DSN == ENVELOPE_EXTENSION_DSN << WITHHELD_SHIFT,
	       "the bits are those of the set");

static unsigned flags_of(const struct capsule *capsule)
{
	const struct dialogue *dialogue = &capsule->dialogue;
	return (capsule->facts.is_xclient ? FLAG_XCLIENT : 0U) |
	       (capsule->facts.has_verdict ? FLAG_VERDICT : 0U) |
	       (dialogue->is_esmtp ? FLAG_ESMTP : 0U) | (dialogue->is_tls ? FLAG_TLS : 0U) |
	       (dialogue->envelope.is_utf8 ? FLAG_UTF8 : 0U) |
	       (dialogue->is_last ? FLAG_LAST : 0U) |
	       (capsule->facts.is_exempt ? FLAG_EXEMPT : 0U) | dialogue->withheld << WITHHELD_SHIFT;
}

static void take_flags(struct capsule *capsule, unsigned flags)
{
	struct dialogue *dialogue = &capsule->dialogue;
	capsule->facts.is_xclient = (flags & FLAG_XCLIENT) != 0;
	capsule->facts.has_verdict = (flags & FLAG_VERDICT) != 0;
	capsule->facts.is_exempt = (flags & FLAG_EXEMPT) != 0;
	dialogue->is_esmtp = (flags & FLAG_ESMTP) != 0;
	dialogue->is_tls = (flags & FLAG_TLS) != 0;
	dialogue->is_last = (flags & FLAG_LAST) != 0;
	dialogue->envelope.is_utf8 = (flags & FLAG_UTF8) != 0;
	dialogue->withheld = flags >> WITHHELD_SHIFT & ENVELOPE_EXTENSION_ALL;
}

static void walk_flags(struct walk *walk, struct capsule *capsule)
{
	const unsigned flags = (unsigned)walk_number(walk, 4, flags_of(capsule));
	if ((flags & ~(unsigned)FLAG_ALL) != 0)
		walk->has_failed = true;
	take_flags(capsule, flags);
}

static void walk_facts(struct walk *walk, struct session_facts *facts)
{
	WALK_NUMBER(walk, 8, facts->waited_ms);
	WALK_NUMBER(walk, 8, facts->dns_ms);
	WALK_NUMBER(walk, 8, facts->dialogue_ms);
	WALK_NUMBER(walk, 8, facts->bytes_in);
	WALK_NUMBER(walk, 8, facts->bytes_out);
	WALK_NUMBER(walk, 8, facts->edge_cpu_us);
	WALK_NUMBER(walk, 4, facts->refused_count);
	WALK_NUMBER(walk, 4, facts->score);
	WALK_NUMBER(walk, 1, facts->action);
	WALK_NUMBER(walk, 1, facts->verdict);
}

static void walk_dialogue(struct walk *walk, struct dialogue *dialogue)
{
	WALK_NUMBER(walk, 4, dialogue->recipient_count);
	WALK_NUMBER(walk, 4, dialogue->refused_count);
	WALK_NUMBER(walk, 4, dialogue->mail_count);
	WALK_NUMBER(walk, 4, dialogue->error_count);
	WALK_NUMBER(walk, 4, dialogue->command_count);
	WALK_NUMBER(walk, 4, dialogue->junk_count);
	WALK_NUMBER(walk, 8, dialogue->envelope.size_bytes);
	WALK_NUMBER(walk, 8, dialogue->mail_size);
	WALK_NUMBER(walk, 8, dialogue->chunk_size);
}

static void walk_fixed(struct walk *walk, struct capsule *capsule)
{
	struct session_facts *facts = &capsule->facts;
	struct dialogue *dialogue = &capsule->dialogue;
	WALK_NUMBER(walk, 8, facts->id);
	walk_bytes(walk, facts->client_ip.bytes, sizeof(facts->client_ip.bytes));
	walk_bytes(walk, facts->local_ip.bytes, sizeof(facts->local_ip.bytes));
	WALK_NUMBER(walk, 2, facts->client_port);
	WALK_NUMBER(walk, 2, facts->local_port);
	walk_flags(walk, capsule);
	WALK_NUMBER(walk, 8, facts->accepted_at_ms);
	WALK_NUMBER(walk, 8, capsule->queued_at_us);
	walk_facts(walk, facts);
	WALK_NUMBER(walk, 1, dialogue->state);
	WALK_NUMBER(walk, 1, dialogue->envelope.body);
	WALK_NUMBER(walk, 1, dialogue->envelope.ret);
	WALK_NUMBER(walk, 1, capsule->recipient.notify);
	if (walk_number(walk, 2, 0) != 0)
		walk->has_failed = true;
	walk_dialogue(walk, dialogue);
	assert(walk->has_failed || walk->at == FIXED_SIZE);
}

static void walk_all(struct walk *walk, struct capsule *capsule)
{
	struct dialogue *dialogue = &capsule->dialogue;
	struct recipient *recipient = &capsule->recipient;
	walk->at = SEAL_SIZE;
	walk_fixed(walk, capsule);
	walk_text(walk, dialogue->helo, sizeof(dialogue->helo));
	walk_text(walk, dialogue->envelope.sender, sizeof(dialogue->envelope.sender));
	walk_text(walk, dialogue->envelope.envid, sizeof(dialogue->envelope.envid));
	walk_text(walk, recipient->address, sizeof(recipient->address));
	walk_text(walk, recipient->orcpt, sizeof(recipient->orcpt));
	walk_text(walk, capsule->tls_protocol, sizeof(capsule->tls_protocol));
	walk_text(walk, capsule->tls_cipher, sizeof(capsule->tls_cipher));
	walk_text(walk, capsule->tls_sni, sizeof(capsule->tls_sni));
	walk_text(walk, capsule->zones, sizeof(capsule->zones));
	walk_text(walk, capsule->header, sizeof(capsule->header));
	capsule->unread_size =
		walk_sized(walk, capsule->unread, capsule->unread_size, sizeof(capsule->unread));
}

int capsule_encode(const struct capsule *capsule, uint8_t *ret_bytes, size_t *ret_size)
{
	struct walk walk = { .out = ret_bytes };
	if (!is_valid(capsule))
		return SEAL_EVALUE;
	seal_put_number(ret_bytes + AT_KIND, 2, capsule->kind);
	/* Each member gets its own value again, so the capsule is not constant memory. */
	walk_all(&walk, (struct capsule *)(uintptr_t)capsule);
	assert(!walk.has_failed && walk.at <= CAPSULE_SIZE_MAX);
	seal_put(ret_bytes, walk.at, MAGIC, VERSION);
	*ret_size = walk.at;
	return 0;
}

int capsule_decode(const uint8_t *bytes, size_t size, struct capsule *ret_capsule)
{
	struct walk walk = { .in = bytes, .size = size };
	/* The version before the rest: of another one nothing but these is known. */
	const int ret = seal_check(bytes, size, MAGIC, VERSION);
	if (ret == SEAL_EBAD || size < FIXED_SIZE || size > CAPSULE_SIZE_MAX)
		return SEAL_EBAD;
	if (ret != 0)
		return ret;
	memset(ret_capsule, 0, sizeof(*ret_capsule));
	ret_capsule->kind = (enum capsule_kind)bytes_get(bytes + AT_KIND, 2);
	walk_all(&walk, ret_capsule);
	if (walk.has_failed || walk.at != size)
		return SEAL_EVALUE;
	return is_valid(ret_capsule) ? 0 : SEAL_EVALUE;
}

int capsule_send(int queue_fd, const struct capsule *capsule, const struct handover_fds *fds)
{
	uint8_t bytes[CAPSULE_SIZE_MAX];
	size_t size = 0;
	const int ret = capsule_encode(capsule, bytes, &size);
	return ret == 0 ? handover_send(queue_fd, bytes, size, fds) : ret;
}
