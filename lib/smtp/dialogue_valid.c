/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/smtp/dialogue.h"

#include <string.h>

#include "lib/smtp/address.h"

/* More than any session has, and far from where a counter turns over. */
#define COUNT_MAX 1000000000U

/* Sets of states, as in dialogue.c. */
#define AT(state) (1U << (DIALOGUE_AT_##state))

#define WITH_HELO                                                                                  \
	(AT(HELO) | AT(MAIL_ASKED) | AT(MAIL) | AT(RCPT_ASKED) | AT(RCPT) | AT(DATA_ASKED) |       \
	 AT(BDAT_ASKED) | AT(CHUNKS) | AT(SPOILT))
#define WITH_SENDER    (WITH_HELO & ~AT(HELO))
#define WITH_RECIPIENT (WITH_SENDER & ~(AT(MAIL_ASKED) | AT(MAIL)))
#define NO_RECIPIENT   (~(WITH_RECIPIENT | AT(END)))
#define WITH_CHUNKS    (AT(BDAT_ASKED) | AT(CHUNKS) | AT(SPOILT))

static bool is_text(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

static bool is_at(const struct dialogue *dialogue, unsigned set)
{
	return (set >> dialogue->state & 1U) != 0;
}

static bool is_valid_sender(const struct envelope *envelope)
{
	const char *sender = envelope->sender;
	if (!is_text(sender, sizeof(envelope->sender)))
		return false;
	/* The one address without a domain gets mail and sends none. */
	return sender[0] == '\0' || (strchr(sender, '@') != NULL &&
				     address_is_mailbox(sender, strlen(sender), envelope->is_utf8));
}

static bool is_valid_envelope(const struct envelope *envelope)
{
	const char *envid = envelope->envid;
	if (!is_text(envid, sizeof(envelope->envid)) || !is_valid_sender(envelope))
		return false;
	return (unsigned)envelope->body <= ENVELOPE_8BITMIME &&
	       (unsigned)envelope->ret <= ENVELOPE_RET_HDRS &&
	       (envid[0] == '\0' || command_is_xtext(envid, strlen(envid)));
}

static bool is_empty_envelope(const struct envelope *envelope)
{
	return envelope->sender[0] == '\0' && envelope->size_bytes == 0 &&
	       envelope->body == ENVELOPE_7BIT && !envelope->is_utf8 &&
	       envelope->ret == ENVELOPE_RET_NONE && envelope->envid[0] == '\0';
}

/* Nothing that was not offered has been taken. */
static bool is_offered(const struct dialogue *dialogue)
{
	const struct envelope *envelope = &dialogue->envelope;
	const bool is_dsn = envelope->ret != ENVELOPE_RET_NONE || envelope->envid[0] != '\0';
	const unsigned used =
		(envelope->body == ENVELOPE_8BITMIME ? ENVELOPE_EXTENSION_8BITMIME : 0U) |
		(envelope->is_utf8 ? ENVELOPE_EXTENSION_SMTPUTF8 : 0U) |
		(is_dsn ? ENVELOPE_EXTENSION_DSN : 0U);
	return dialogue->withheld <= ENVELOPE_EXTENSION_ALL && (dialogue->withheld & used) == 0;
}

static bool is_valid_helo(const struct dialogue *dialogue)
{
	const char *helo = dialogue->helo;
	char taken[ENVELOPE_HELO_MAX + 1];
	if (!is_text(helo, sizeof(dialogue->helo)))
		return false;
	if (helo[0] == '\0')
		return !is_at(dialogue, WITH_HELO) && !dialogue->is_esmtp &&
		       dialogue->withheld == 0;
	return !is_at(dialogue, AT(START)) && command_take_helo(helo, strlen(helo), taken) &&
	       strcmp(taken, helo) == 0;
}

static bool has_valid_counts(const struct dialogue *dialogue)
{
	const unsigned needs_recipient = WITH_RECIPIENT & ~AT(RCPT_ASKED);
	bool is_small = dialogue->recipient_count <= COUNT_MAX &&
			dialogue->refused_count <= COUNT_MAX && dialogue->mail_count <= COUNT_MAX &&
			dialogue->error_count <= COUNT_MAX &&
			dialogue->command_count <= COUNT_MAX &&
			dialogue->junk_count <= dialogue->command_count;
	if (dialogue->recipient_count == 0 && is_at(dialogue, needs_recipient))
		return false;
	if (dialogue->recipient_count > 0 && is_at(dialogue, NO_RECIPIENT))
		return false;
	return is_small;
}

static bool has_valid_sizes(const struct dialogue *dialogue)
{
	if (dialogue->mail_size > UINT64_MAX - dialogue->chunk_size)
		return false;
	if (dialogue->mail_size > 0 && !is_at(dialogue, WITH_CHUNKS | AT(END)))
		return false;
	bool has_chunk = dialogue->chunk_size > 0 || dialogue->is_last;
	return !has_chunk || is_at(dialogue, AT(BDAT_ASKED) | AT(END));
}

bool dialogue_is_valid(const struct dialogue *dialogue)
{
	if ((unsigned)dialogue->state >= DIALOGUE_STATE_COUNT)
		return false;
	bool needs_empty = !is_at(dialogue, WITH_SENDER | AT(END));
	return is_valid_helo(dialogue) && is_valid_envelope(&dialogue->envelope) &&
	       (!needs_empty || is_empty_envelope(&dialogue->envelope)) && is_offered(dialogue) &&
	       has_valid_counts(dialogue) && has_valid_sizes(dialogue);
}

bool dialogue_is_valid_recipient(const struct recipient *recipient, bool is_utf8)
{
	const char *address = recipient->address;
	const char *orcpt = recipient->orcpt;
	if (!is_text(address, sizeof(recipient->address)) ||
	    !is_text(orcpt, sizeof(recipient->orcpt)))
		return false;
	bool is_never = (recipient->notify & ENVELOPE_NOTIFY_NEVER) != 0;
	return recipient->notify <= ENVELOPE_NOTIFY_ALL &&
	       (!is_never || recipient->notify == ENVELOPE_NOTIFY_NEVER) &&
	       address_is_mailbox(address, strlen(address), is_utf8) &&
	       (orcpt[0] == '\0' || command_is_orcpt(orcpt, strlen(orcpt), is_utf8));
}
