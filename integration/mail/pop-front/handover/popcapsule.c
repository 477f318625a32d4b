/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/handover/popcapsule.h"

#include <assert.h>
#include <string.h>

#include "integration/mail/base/handover/walk.h"
#include "lib/format/bytes.h"

#define MAGIC	0x44423650U /* "DB6P" */
#define VERSION 1

/* Room for all members at their longest. */
_Static_assert(SEAL_SIZE + 40 * 8 + sizeof(struct popcapsule) <= HANDOVER_SIZE_MAX,
	       "the longest capsule has room");

/* ---- what is sent, in its order ---- */

static void walk_facts(struct walk *walk, struct session_facts *facts)
{
	WALK_NUMBER(walk, 8, facts->id);
	walk_bytes(walk, facts->client_ip.bytes, sizeof(facts->client_ip.bytes));
	walk_bytes(walk, facts->local_ip.bytes, sizeof(facts->local_ip.bytes));
	WALK_NUMBER(walk, 2, facts->client_port);
	WALK_NUMBER(walk, 2, facts->local_port);
	WALK_NUMBER(walk, 4, facts->refused_count);
	WALK_NUMBER(walk, 8, facts->accepted_at_ms);
	WALK_FLAG(walk, facts->is_exempt);
	WALK_FLAG(walk, facts->has_verdict);
	WALK_NUMBER(walk, 1, facts->action);
	WALK_NUMBER(walk, 1, facts->verdict);
	WALK_NUMBER(walk, 4, facts->score);
	WALK_NUMBER(walk, 8, facts->bytes_in);
	WALK_NUMBER(walk, 8, facts->bytes_out);
	WALK_NUMBER(walk, 8, facts->waited_ms);
	WALK_NUMBER(walk, 8, facts->dns_ms);
	WALK_NUMBER(walk, 8, facts->dialogue_ms);
	WALK_NUMBER(walk, 8, facts->edge_cpu_us);
}

static void walk_dialogue(struct walk *walk, struct pop3_dialogue *dialogue)
{
	WALK_NUMBER(walk, 1, dialogue->state);
	walk_text(walk, dialogue->user, sizeof(dialogue->user));
	WALK_NUMBER(walk, 1, dialogue->way);
	WALK_FLAG(walk, dialogue->is_challenged);
	WALK_FLAG(walk, dialogue->is_tls);
	WALK_FLAG(walk, dialogue->is_utf8);
	WALK_NUMBER(walk, 4, dialogue->login_count);
	WALK_NUMBER(walk, 4, dialogue->error_count);
	WALK_NUMBER(walk, 4, dialogue->command_count);
}

static void walk_all(struct walk *walk, struct popcapsule *capsule)
{
	walk->at = SEAL_SIZE;
	walk_facts(walk, &capsule->facts);
	WALK_NUMBER(walk, 8, capsule->queued_at_us);
	walk_dialogue(walk, &capsule->dialogue);
	WALK_NUMBER(walk, 8, capsule->ticket.made_us);
	walk_bytes(walk, capsule->ticket.sum, sizeof(capsule->ticket.sum));
	walk_text(walk, capsule->mailbox, sizeof(capsule->mailbox));
	walk_text(walk, capsule->zones, sizeof(capsule->zones));
	walk_text(walk, capsule->tls, sizeof(capsule->tls));
	capsule->unread_size =
		walk_sized(walk, capsule->unread, capsule->unread_size, sizeof(capsule->unread));
}

/* ---- what an edge makes ---- */

static bool is_mailbox(const char *name, size_t room)
{
	const size_t size = strnlen(name, room);
	if (size == 0 || size == room)
		return false;
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return false;
	}
	return true;
}

static bool has_valid_verdict(const struct session_facts *facts)
{
	return (unsigned)facts->action <= JUDGE_PREPEND &&
	       (unsigned)facts->verdict <= DNSBLV6_DEFER &&
	       !(facts->has_verdict && facts->is_exempt);
}

static bool is_valid(const struct popcapsule *capsule)
{
	const struct pop3_dialogue *dialogue = &capsule->dialogue;
	return capsule->unread_size <= POPCAPSULE_UNREAD_MAX &&
	       is_mailbox(capsule->mailbox, sizeof(capsule->mailbox)) &&
	       seal_is_clean(capsule->zones, sizeof(capsule->zones)) &&
	       seal_is_clean(capsule->tls, sizeof(capsule->tls)) &&
	       has_valid_verdict(&capsule->facts) && dialogue->state == POP3_AT_LOGIN_ASKED &&
	       pop3_dialogue_is_valid(dialogue) && dialogue->is_tls == (capsule->tls[0] != '\0');
}

int popcapsule_encode(const struct popcapsule *capsule, uint8_t *ret_bytes, size_t *ret_size)
{
	struct walk walk = { .out = ret_bytes };
	if (!is_valid(capsule))
		return SEAL_EVALUE;
	memset(ret_bytes, 0, SEAL_SIZE);
	/* Each member gets its own value again, so the capsule is not constant memory. */
	walk_all(&walk, (struct popcapsule *)(uintptr_t)capsule);
	assert(!walk.has_failed && walk.at <= HANDOVER_SIZE_MAX);
	seal_put(ret_bytes, walk.at, MAGIC, VERSION);
	*ret_size = walk.at;
	return 0;
}

int popcapsule_decode(const uint8_t *bytes, size_t size, struct popcapsule *ret_capsule)
{
	struct walk walk = { .in = bytes, .size = size };
	const int ret = seal_check(bytes, size, MAGIC, VERSION);
	if (ret != 0)
		return ret;
	memset(ret_capsule, 0, sizeof(*ret_capsule));
	walk_all(&walk, ret_capsule);
	if (walk.has_failed || walk.at != size || bytes_get(bytes + 6, 2) != 0)
		return SEAL_EVALUE;
	return is_valid(ret_capsule) ? 0 : SEAL_EVALUE;
}
