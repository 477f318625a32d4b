/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/handover/popcapsule.h"

#include <assert.h>
#include <string.h>

#include "lib/format/bytes.h"

#define MAGIC	0x44423650U /* "DB6P" */
#define VERSION 1

/* Room for all members at their longest. */
_Static_assert(SEAL_SIZE + 40 * 8 + sizeof(struct popcapsule) <= HANDOVER_SIZE_MAX,
	       "the longest capsule has room");

/* ---- one walk over all members, which writes or reads ---- */

struct walk {
	uint8_t *out;	   /* NULL: it reads */
	const uint8_t *in; /* the same bytes */
	size_t at;
	size_t size; /* of what is read */
	bool has_failed;
};

static bool has_room(struct walk *walk, size_t size)
{
	if (walk->out == NULL && size > walk->size - walk->at)
		walk->has_failed = true;
	return !walk->has_failed;
}

/* The value itself, or the one that is read. */
static uint64_t number(struct walk *walk, unsigned size, uint64_t value)
{
	if (!has_room(walk, size))
		return 0;
	if (walk->out != NULL)
		seal_put_number(walk->out + walk->at, size, value);
	else
		value = bytes_get(walk->in + walk->at, size);
	walk->at += size;
	return value;
}

static void bytes(struct walk *walk, void *member, size_t size)
{
	if (!has_room(walk, size))
		return;
	if (walk->out != NULL)
		memcpy(walk->out + walk->at, member, size);
	else
		memcpy(member, walk->in + walk->at, size);
	walk->at += size;
}

/* With its size before it. */
static size_t sized(struct walk *walk, void *member, size_t size, size_t room)
{
	size = (size_t)number(walk, 2, size);
	if (size > room)
		walk->has_failed = true;
	if (!walk->has_failed)
		bytes(walk, member, size);
	return walk->has_failed ? 0 : size;
}

/* Its end is there already when it is read: the capsule is zero. A NUL inside is none of it. */
static void text(struct walk *walk, char *member, size_t room)
{
	const size_t size = sized(walk, member, strnlen(member, room - 1), room - 1);
	if (strlen(member) != size)
		walk->has_failed = true;
}

#define NUMBER(size, member) member = (__typeof__(member))number(walk, size, (uint64_t)(member))

static bool flag(struct walk *walk, bool value)
{
	const uint64_t found = number(walk, 1, value ? 1 : 0);
	if (found > 1)
		walk->has_failed = true;
	return found == 1;
}

#define FLAG(member) member = flag(walk, member)

static void walk_facts(struct walk *walk, struct session_facts *facts)
{
	NUMBER(8, facts->id);
	bytes(walk, facts->client_ip.bytes, sizeof(facts->client_ip.bytes));
	bytes(walk, facts->local_ip.bytes, sizeof(facts->local_ip.bytes));
	NUMBER(2, facts->client_port);
	NUMBER(2, facts->local_port);
	NUMBER(4, facts->refused_count);
	NUMBER(8, facts->accepted_at_ms);
	FLAG(facts->is_exempt);
	FLAG(facts->has_verdict);
	NUMBER(1, facts->action);
	NUMBER(1, facts->verdict);
	NUMBER(4, facts->score);
	NUMBER(8, facts->bytes_in);
	NUMBER(8, facts->bytes_out);
	NUMBER(8, facts->waited_ms);
	NUMBER(8, facts->dns_ms);
	NUMBER(8, facts->dialogue_ms);
	NUMBER(8, facts->edge_cpu_us);
}

static void walk_dialogue(struct walk *walk, struct pop3_dialogue *dialogue)
{
	NUMBER(1, dialogue->state);
	text(walk, dialogue->user, sizeof(dialogue->user));
	NUMBER(1, dialogue->way);
	FLAG(dialogue->is_challenged);
	FLAG(dialogue->is_tls);
	FLAG(dialogue->is_utf8);
	NUMBER(4, dialogue->login_count);
	NUMBER(4, dialogue->error_count);
	NUMBER(4, dialogue->command_count);
}

static void walk_all(struct walk *walk, struct popcapsule *capsule)
{
	walk->at = SEAL_SIZE;
	walk_facts(walk, &capsule->facts);
	NUMBER(8, capsule->queued_at_us);
	walk_dialogue(walk, &capsule->dialogue);
	NUMBER(8, capsule->ticket.made_us);
	bytes(walk, capsule->ticket.sum, sizeof(capsule->ticket.sum));
	text(walk, capsule->mailbox, sizeof(capsule->mailbox));
	text(walk, capsule->zones, sizeof(capsule->zones));
	text(walk, capsule->tls, sizeof(capsule->tls));
	capsule->unread_size =
		sized(walk, capsule->unread, capsule->unread_size, sizeof(capsule->unread));
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
	/* It is read alone. */
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
