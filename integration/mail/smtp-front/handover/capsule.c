/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/handover/capsule.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "lib/format/bytes.h"

/* ---- the fixed part: CAPSULE.md, 2 ---- */

#define MAGIC	   0x44423643U /* "DB6C" */
#define VERSION	   1
#define FIXED_SIZE 192

/* These are no member alone. */
#define AT_FLAGS   60
#define AT_SCORE   132
#define AT_ACTION  136
#define AT_VERDICT 137
#define AT_ZERO	   142

/* Where a member stands: a number, big-endian, or 16 bytes of an address. */
struct field {
	uint8_t at;
	uint8_t size;
	uint16_t width; /* of the member */
	uint16_t offset;
};

#define FIELD(at, size, member)                                                                    \
	{                                                                                          \
		at, size, sizeof(((struct capsule *)NULL)->member),                                \
			offsetof(struct capsule, member)                                           \
	}

static const struct field fields[] = {
	FIELD(6, 2, kind),
	FIELD(16, 8, facts.id),
	FIELD(24, 16, facts.client_ip),
	FIELD(40, 16, facts.local_ip),
	FIELD(56, 2, facts.client_port),
	FIELD(58, 2, facts.local_port),
	FIELD(64, 8, facts.accepted_at_ms),
	FIELD(72, 8, queued_at_us),
	FIELD(80, 8, facts.waited_ms),
	FIELD(88, 8, facts.dns_ms),
	FIELD(96, 8, facts.dialogue_ms),
	FIELD(104, 8, facts.bytes_in),
	FIELD(112, 8, facts.bytes_out),
	FIELD(120, 8, facts.edge_cpu_us),
	FIELD(128, 4, facts.refused_count),
	FIELD(AT_SCORE, 4, facts.score),
	FIELD(AT_ACTION, 1, facts.action),
	FIELD(AT_VERDICT, 1, facts.verdict),
	FIELD(138, 1, dialogue.state),
	FIELD(139, 1, dialogue.envelope.body),
	FIELD(140, 1, dialogue.envelope.ret),
	FIELD(141, 1, recipient.notify),
	FIELD(144, 4, dialogue.recipient_count),
	FIELD(148, 4, dialogue.refused_count),
	FIELD(152, 4, dialogue.mail_count),
	FIELD(156, 4, dialogue.error_count),
	FIELD(160, 4, dialogue.command_count),
	FIELD(164, 4, dialogue.junk_count),
	FIELD(168, 8, dialogue.envelope.size_bytes),
	FIELD(176, 8, dialogue.mail_size),
	FIELD(184, 8, dialogue.chunk_size),
};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Behind the fixed part, in this order; what is unread comes last. */
static const struct text_field {
	uint16_t room;
	uint16_t offset;
	bool is_judgement; /* empty without a verdict */
} texts[] = {
#define TEXT(member, is_judgement)                                                                 \
	{                                                                                          \
		sizeof(((struct capsule *)NULL)->member), offsetof(struct capsule, member),        \
			is_judgement                                                               \
	}
	TEXT(dialogue.helo, false),
	TEXT(dialogue.envelope.sender, false),
	TEXT(dialogue.envelope.envid, false),
	TEXT(recipient.address, false),
	TEXT(recipient.orcpt, false),
	TEXT(tls_protocol, false),
	TEXT(tls_cipher, false),
	TEXT(tls_sni, false),
	TEXT(zones, true),
	TEXT(header, true),
#undef TEXT
};
#define TEXT_COUNT (sizeof(texts) / sizeof(texts[0]))

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

_Static_assert(FIXED_SIZE + 2 * (TEXT_COUNT + 1) + ENVELOPE_HELO_MAX + 2 * ENVELOPE_ADDRESS_MAX +
			       ENVELOPE_ENVID_MAX + ENVELOPE_ORCPT_MAX + CAPSULE_TLS_PROTOCOL_MAX +
			       CAPSULE_TLS_CIPHER_MAX + CAPSULE_TLS_SNI_MAX + JUDGE_ZONES_MAX +
			       JUDGE_HEADER_MAX + CAPSULE_UNREAD_MAX <=
		       CAPSULE_SIZE_MAX,
	       "the longest capsule has room");

/* ---- what an edge makes ---- */

/* Without a verdict these are not looked at, and not sent. */
static bool has_valid_verdict(const struct capsule *capsule)
{
	if (!capsule->facts.has_verdict)
		return true;
	return !capsule->facts.is_exempt && seal_is_clean(capsule->zones, sizeof(capsule->zones)) &&
	       seal_is_clean(capsule->header, sizeof(capsule->header)) &&
	       (unsigned)capsule->facts.action <= JUDGE_PREPEND &&
	       (unsigned)capsule->facts.verdict <= DNSBLV6_DEFER;
}

/* What comes without a verdict. */
static bool has_no_judgement(const struct capsule *capsule)
{
	return capsule->facts.action == JUDGE_PASS && capsule->facts.verdict == DNSBLV6_CLEAR &&
	       capsule->facts.score == 0 && capsule->zones[0] == '\0' && capsule->header[0] == '\0';
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

/* ---- encode ---- */

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

static uint64_t load(const void *member, size_t width)
{
	uint64_t eight = 0;
	uint32_t four = 0;
	uint16_t two = 0;
	if (width == sizeof(eight))
		memcpy(&eight, member, width);
	else if (width == sizeof(four))
		memcpy(&four, member, width);
	else
		memcpy(&two, member, width);
	return eight | four | two;
}

static void put_fixed(const struct capsule *capsule, uint8_t *bytes)
{
	seal_put_number(bytes + AT_FLAGS, 4, flags_of(capsule));
	seal_put_number(bytes + AT_ZERO, 2, 0);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const void *member = (const char *)capsule + fields[i].offset;
		if (fields[i].width > sizeof(uint64_t))
			memcpy(bytes + fields[i].at, member, fields[i].width);
		else
			seal_put_number(bytes + fields[i].at, fields[i].size,
					load(member, fields[i].width));
	}
	if (capsule->facts.has_verdict)
		return;
	seal_put_number(bytes + AT_SCORE, 4, 0);
	seal_put_number(bytes + AT_ACTION, 1, JUDGE_PASS);
	seal_put_number(bytes + AT_VERDICT, 1, DNSBLV6_CLEAR);
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t size)
{
	seal_put_number(at, 2, size);
	memcpy(at + 2, bytes, size);
	return at + 2 + size;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	return put_bytes(at, text, strlen(text));
}

int capsule_encode(const struct capsule *capsule, uint8_t *ret_bytes, size_t *ret_size)
{
	if (!is_valid(capsule))
		return SEAL_EVALUE;
	put_fixed(capsule, ret_bytes);
	uint8_t *at = ret_bytes + FIXED_SIZE;
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		const bool is_sent = capsule->facts.has_verdict || !texts[i].is_judgement;
		at = put_text(at, is_sent ? (const char *)capsule + texts[i].offset : "");
	}
	at = put_bytes(at, capsule->unread, capsule->unread_size);
	size_t size = (size_t)(at - ret_bytes);
	assert(size <= CAPSULE_SIZE_MAX);
	seal_put(ret_bytes, size, MAGIC, VERSION);
	*ret_size = size;
	return 0;
}

/* ---- decode ---- */

static void store(void *member, size_t width, uint64_t value)
{
	const uint32_t four = (uint32_t)value;
	const uint16_t two = (uint16_t)value;
	if (width == sizeof(value))
		memcpy(member, &value, width);
	else if (width == sizeof(four))
		memcpy(member, &four, width);
	else
		memcpy(member, &two, width);
}

static void take_fixed(const uint8_t *bytes, struct capsule *ret_capsule)
{
	struct dialogue *dialogue = &ret_capsule->dialogue;
	const unsigned flags = (unsigned)bytes_get(bytes + AT_FLAGS, 4);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		void *member = (char *)ret_capsule + fields[i].offset;
		if (fields[i].width > sizeof(uint64_t))
			memcpy(member, bytes + fields[i].at, fields[i].width);
		else
			store(member, fields[i].width,
			      bytes_get(bytes + fields[i].at, fields[i].size));
	}
	ret_capsule->facts.is_xclient = (flags & FLAG_XCLIENT) != 0;
	ret_capsule->facts.has_verdict = (flags & FLAG_VERDICT) != 0;
	ret_capsule->facts.is_exempt = (flags & FLAG_EXEMPT) != 0;
	dialogue->is_esmtp = (flags & FLAG_ESMTP) != 0;
	dialogue->is_tls = (flags & FLAG_TLS) != 0;
	dialogue->is_last = (flags & FLAG_LAST) != 0;
	dialogue->envelope.is_utf8 = (flags & FLAG_UTF8) != 0;
	dialogue->withheld = flags >> WITHHELD_SHIFT & ENVELOPE_EXTENSION_ALL;
}

/* What is left of the bytes; at is NULL when a size was wrong. */
struct rest {
	const uint8_t *at;
	size_t size;
};

static size_t take_bytes(struct rest *rest, void *ret_bytes, size_t room)
{
	if (rest->at == NULL || rest->size < 2) {
		rest->at = NULL;
		return 0;
	}
	size_t size = (size_t)bytes_get(rest->at, 2);
	if (size > rest->size - 2 || size > room) {
		rest->at = NULL;
		return 0;
	}
	memcpy(ret_bytes, rest->at + 2, size);
	rest->at += 2 + size;
	rest->size -= 2 + size;
	return size;
}

/* The text's end is there already: the capsule is zero. A NUL inside is none of its bytes. */
static void take_text(struct rest *rest, char *ret_text, size_t text_size)
{
	size_t size = take_bytes(rest, ret_text, text_size - 1);
	if (strlen(ret_text) != size)
		rest->at = NULL;
}

static bool take_texts(struct rest *rest, struct capsule *ret_capsule)
{
	for (size_t i = 0; i < TEXT_COUNT; i++)
		take_text(rest, (char *)ret_capsule + texts[i].offset, texts[i].room);
	ret_capsule->unread_size = take_bytes(rest, ret_capsule->unread, CAPSULE_UNREAD_MAX);
	return rest->at != NULL && rest->size == 0;
}

/* The version before the rest: of another one nothing but these is known. */
static int check_frame(const uint8_t *bytes, size_t size)
{
	const int ret = seal_check(bytes, size, MAGIC, VERSION);
	if (ret == SEAL_EBAD || size < FIXED_SIZE || size > CAPSULE_SIZE_MAX)
		return SEAL_EBAD;
	if (ret != 0)
		return ret;
	if ((bytes_get(bytes + AT_FLAGS, 4) & ~(uint64_t)FLAG_ALL) != 0 ||
	    bytes_get(bytes + AT_ZERO, 2) != 0)
		return SEAL_EVALUE;
	return 0;
}

int capsule_decode(const uint8_t *bytes, size_t size, struct capsule *ret_capsule)
{
	int ret = check_frame(bytes, size);
	if (ret != 0)
		return ret;
	struct rest rest = { bytes + FIXED_SIZE, size - FIXED_SIZE };
	memset(ret_capsule, 0, sizeof(*ret_capsule));
	take_fixed(bytes, ret_capsule);
	if (!take_texts(&rest, ret_capsule))
		return SEAL_EVALUE;
	if (!ret_capsule->facts.has_verdict && !has_no_judgement(ret_capsule))
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
