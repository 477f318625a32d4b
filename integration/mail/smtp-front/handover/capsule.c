/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/handover/capsule.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

/* ---- the fixed part: CAPSULE.md, 2 ---- */

#define MAGIC	   0x44423643U /* "DB6C" */
#define VERSION	   1
#define FIXED_SIZE 192
#define TEXT_COUNT 11

#define AT_MAGIC	   0
#define AT_VERSION	   4
#define AT_KIND		   6
#define AT_SIZE		   8
#define AT_SUM		   12
#define AT_SESSION	   16
#define AT_CLIENT_IP	   24
#define AT_LOCAL_IP	   40
#define AT_CLIENT_PORT	   56
#define AT_LOCAL_PORT	   58
#define AT_FLAGS	   60
#define AT_ACCEPTED	   64
#define AT_QUEUED	   72
#define AT_WAITED	   80
#define AT_DNS		   88
#define AT_DIALOGUE	   96
#define AT_BYTES_IN	   104
#define AT_BYTES_OUT	   112
#define AT_CPU		   120
#define AT_REFUSED	   128
#define AT_SCORE	   132
#define AT_ACTION	   136
#define AT_VERDICT	   137
#define AT_STATE	   138
#define AT_BODY		   139
#define AT_RET		   140
#define AT_NOTIFY	   141
#define AT_ZERO		   142
#define AT_RECIPIENTS	   144
#define AT_RECIPIENTS_LOST 148
#define AT_MAILS	   152
#define AT_ERRORS	   156
#define AT_COMMANDS	   160
#define AT_JUNK		   164
#define AT_MAIL_SAID	   168
#define AT_MAIL_SIZE	   176
#define AT_CHUNK_SIZE	   184

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

_Static_assert(FIXED_SIZE + 2 * TEXT_COUNT + ENVELOPE_HELO_MAX + 2 * ENVELOPE_ADDRESS_MAX +
			       ENVELOPE_ENVID_MAX + ENVELOPE_ORCPT_MAX + CAPSULE_TLS_PROTOCOL_MAX +
			       CAPSULE_TLS_CIPHER_MAX + CAPSULE_TLS_SNI_MAX + JUDGE_ZONES_MAX +
			       JUDGE_HEADER_MAX + CAPSULE_UNREAD_MAX <=
		       CAPSULE_SIZE_MAX,
	       "the longest capsule has room");

static void put(uint8_t *bytes, unsigned size, uint64_t value)
{
	for (unsigned i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

static uint64_t take(const uint8_t *bytes, unsigned size)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < size; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* CRC-32 as in IEEE 802.3, four bits at a time. The sum's own place counts as zero. */
static uint32_t sum_of(const uint8_t *bytes, size_t size)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	uint32_t sum = UINT32_MAX;
	for (size_t i = 0; i < size; i++) {
		sum ^= i >= AT_SUM && i < AT_SUM + 4 ? 0 : bytes[i];
		sum = sum >> 4 ^ table[sum & 15];
		sum = sum >> 4 ^ table[sum & 15];
	}
	return ~sum;
}

/* ---- what an edge makes ---- */

/* Printable ASCII: these go into headers, logs and replies as they are. */
static bool is_clean(const char *text, size_t room)
{
	size_t size = strnlen(text, room);
	if (size == room)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return true;
}

/* Without a verdict these are not looked at, and not sent. */
static bool has_valid_verdict(const struct capsule *capsule)
{
	if (!capsule->has_verdict)
		return true;
	return !capsule->is_exempt && is_clean(capsule->zones, sizeof(capsule->zones)) &&
	       is_clean(capsule->header, sizeof(capsule->header)) &&
	       (unsigned)capsule->action <= JUDGE_PREPEND &&
	       (unsigned)capsule->verdict <= DNSBLV6_DEFER;
}

/* What comes without a verdict. */
static bool has_no_judgement(const struct capsule *capsule)
{
	return capsule->action == JUDGE_PASS && capsule->verdict == DNSBLV6_CLEAR &&
	       capsule->score == 0 && capsule->zones[0] == '\0' && capsule->header[0] == '\0';
}

static bool has_valid_tls(const struct capsule *capsule)
{
	bool is_empty = capsule->tls_protocol[0] == '\0' && capsule->tls_cipher[0] == '\0' &&
			capsule->tls_sni[0] == '\0';
	return is_clean(capsule->tls_protocol, sizeof(capsule->tls_protocol)) &&
	       is_clean(capsule->tls_cipher, sizeof(capsule->tls_cipher)) &&
	       is_clean(capsule->tls_sni, sizeof(capsule->tls_sni)) &&
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
	return (capsule->is_xclient ? FLAG_XCLIENT : 0U) |
	       (capsule->has_verdict ? FLAG_VERDICT : 0U) | (dialogue->is_esmtp ? FLAG_ESMTP : 0U) |
	       (dialogue->is_tls ? FLAG_TLS : 0U) | (dialogue->envelope.is_utf8 ? FLAG_UTF8 : 0U) |
	       (dialogue->is_last ? FLAG_LAST : 0U) | (capsule->is_exempt ? FLAG_EXEMPT : 0U) |
	       dialogue->withheld << WITHHELD_SHIFT;
}

static void put_session(const struct capsule *capsule, uint8_t *bytes)
{
	put(bytes + AT_MAGIC, 4, MAGIC);
	put(bytes + AT_VERSION, 2, VERSION);
	put(bytes + AT_KIND, 2, (uint64_t)capsule->kind);
	put(bytes + AT_SESSION, 8, capsule->session_id);
	memcpy(bytes + AT_CLIENT_IP, capsule->client_ip.bytes, 16);
	memcpy(bytes + AT_LOCAL_IP, capsule->local_ip.bytes, 16);
	put(bytes + AT_CLIENT_PORT, 2, capsule->client_port);
	put(bytes + AT_LOCAL_PORT, 2, capsule->local_port);
	put(bytes + AT_FLAGS, 4, flags_of(capsule));
	put(bytes + AT_ACCEPTED, 8, (uint64_t)capsule->accepted_at_ms);
	put(bytes + AT_QUEUED, 8, capsule->queued_at_us);
	put(bytes + AT_WAITED, 8, capsule->waited_ms);
	put(bytes + AT_DNS, 8, capsule->dns_ms);
	put(bytes + AT_DIALOGUE, 8, capsule->dialogue_ms);
	put(bytes + AT_BYTES_IN, 8, capsule->bytes_in);
	put(bytes + AT_BYTES_OUT, 8, capsule->bytes_out);
	put(bytes + AT_CPU, 8, capsule->edge_cpu_us);
	put(bytes + AT_REFUSED, 4, capsule->refused_count);
	put(bytes + AT_SCORE, 4, capsule->has_verdict ? (uint32_t)capsule->score : 0);
	put(bytes + AT_ACTION, 1, capsule->has_verdict ? (uint64_t)capsule->action : JUDGE_PASS);
	put(bytes + AT_VERDICT, 1, capsule->has_verdict ? (uint64_t)capsule->verdict : 0);
}

static void put_dialogue(const struct capsule *capsule, uint8_t *bytes)
{
	const struct dialogue *dialogue = &capsule->dialogue;
	put(bytes + AT_STATE, 1, (uint64_t)dialogue->state);
	put(bytes + AT_BODY, 1, (uint64_t)dialogue->envelope.body);
	put(bytes + AT_RET, 1, (uint64_t)dialogue->envelope.ret);
	put(bytes + AT_NOTIFY, 1, capsule->recipient.notify);
	put(bytes + AT_ZERO, 2, 0);
	put(bytes + AT_RECIPIENTS, 4, dialogue->recipient_count);
	put(bytes + AT_RECIPIENTS_LOST, 4, dialogue->refused_count);
	put(bytes + AT_MAILS, 4, dialogue->mail_count);
	put(bytes + AT_ERRORS, 4, dialogue->error_count);
	put(bytes + AT_COMMANDS, 4, dialogue->command_count);
	put(bytes + AT_JUNK, 4, dialogue->junk_count);
	put(bytes + AT_MAIL_SAID, 8, dialogue->envelope.size_bytes);
	put(bytes + AT_MAIL_SIZE, 8, dialogue->mail_size);
	put(bytes + AT_CHUNK_SIZE, 8, dialogue->chunk_size);
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t size)
{
	put(at, 2, size);
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
		return CAPSULE_EVALUE;
	put_session(capsule, ret_bytes);
	put_dialogue(capsule, ret_bytes);
	uint8_t *at = ret_bytes + FIXED_SIZE;
	at = put_text(at, capsule->dialogue.helo);
	at = put_text(at, capsule->dialogue.envelope.sender);
	at = put_text(at, capsule->dialogue.envelope.envid);
	at = put_text(at, capsule->recipient.address);
	at = put_text(at, capsule->recipient.orcpt);
	at = put_text(at, capsule->tls_protocol);
	at = put_text(at, capsule->tls_cipher);
	at = put_text(at, capsule->tls_sni);
	at = put_text(at, capsule->has_verdict ? capsule->zones : "");
	at = put_text(at, capsule->has_verdict ? capsule->header : "");
	at = put_bytes(at, capsule->unread, capsule->unread_size);
	size_t size = (size_t)(at - ret_bytes);
	assert(size <= CAPSULE_SIZE_MAX);
	put(ret_bytes + AT_SIZE, 4, size);
	put(ret_bytes + AT_SUM, 4, sum_of(ret_bytes, size));
	*ret_size = size;
	return 0;
}

/* ---- decode ---- */

static void take_session(const uint8_t *bytes, struct capsule *ret_capsule)
{
	unsigned flags = (unsigned)take(bytes + AT_FLAGS, 4);
	ret_capsule->kind = (enum capsule_kind)take(bytes + AT_KIND, 2);
	ret_capsule->session_id = take(bytes + AT_SESSION, 8);
	memcpy(ret_capsule->client_ip.bytes, bytes + AT_CLIENT_IP, 16);
	memcpy(ret_capsule->local_ip.bytes, bytes + AT_LOCAL_IP, 16);
	ret_capsule->client_port = (uint16_t)take(bytes + AT_CLIENT_PORT, 2);
	ret_capsule->local_port = (uint16_t)take(bytes + AT_LOCAL_PORT, 2);
	ret_capsule->is_xclient = (flags & FLAG_XCLIENT) != 0;
	ret_capsule->has_verdict = (flags & FLAG_VERDICT) != 0;
	ret_capsule->is_exempt = (flags & FLAG_EXEMPT) != 0;
	ret_capsule->accepted_at_ms = (int64_t)take(bytes + AT_ACCEPTED, 8);
	ret_capsule->queued_at_us = take(bytes + AT_QUEUED, 8);
	ret_capsule->waited_ms = take(bytes + AT_WAITED, 8);
	ret_capsule->dns_ms = take(bytes + AT_DNS, 8);
	ret_capsule->dialogue_ms = take(bytes + AT_DIALOGUE, 8);
	ret_capsule->bytes_in = take(bytes + AT_BYTES_IN, 8);
	ret_capsule->bytes_out = take(bytes + AT_BYTES_OUT, 8);
	ret_capsule->edge_cpu_us = take(bytes + AT_CPU, 8);
	ret_capsule->refused_count = (unsigned)take(bytes + AT_REFUSED, 4);
	ret_capsule->score = (int32_t)take(bytes + AT_SCORE, 4);
	ret_capsule->action = (enum judge_action)bytes[AT_ACTION];
	ret_capsule->verdict = (enum dnsblv6_verdict)bytes[AT_VERDICT];
}

static void take_dialogue(const uint8_t *bytes, struct capsule *ret_capsule)
{
	struct dialogue *dialogue = &ret_capsule->dialogue;
	unsigned flags = (unsigned)take(bytes + AT_FLAGS, 4);
	dialogue->is_esmtp = (flags & FLAG_ESMTP) != 0;
	dialogue->is_tls = (flags & FLAG_TLS) != 0;
	dialogue->is_last = (flags & FLAG_LAST) != 0;
	dialogue->envelope.is_utf8 = (flags & FLAG_UTF8) != 0;
	dialogue->withheld = flags >> WITHHELD_SHIFT & ENVELOPE_EXTENSION_ALL;
	dialogue->state = (enum dialogue_state)bytes[AT_STATE];
	dialogue->envelope.body = (enum envelope_body)bytes[AT_BODY];
	dialogue->envelope.ret = (enum envelope_ret)bytes[AT_RET];
	ret_capsule->recipient.notify = bytes[AT_NOTIFY];
	dialogue->recipient_count = (unsigned)take(bytes + AT_RECIPIENTS, 4);
	dialogue->refused_count = (unsigned)take(bytes + AT_RECIPIENTS_LOST, 4);
	dialogue->mail_count = (unsigned)take(bytes + AT_MAILS, 4);
	dialogue->error_count = (unsigned)take(bytes + AT_ERRORS, 4);
	dialogue->command_count = (unsigned)take(bytes + AT_COMMANDS, 4);
	dialogue->junk_count = (unsigned)take(bytes + AT_JUNK, 4);
	dialogue->envelope.size_bytes = take(bytes + AT_MAIL_SAID, 8);
	dialogue->mail_size = take(bytes + AT_MAIL_SIZE, 8);
	dialogue->chunk_size = take(bytes + AT_CHUNK_SIZE, 8);
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
	size_t size = (size_t)take(rest->at, 2);
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
	struct dialogue *dialogue = &ret_capsule->dialogue;
	struct recipient *recipient = &ret_capsule->recipient;
	take_text(rest, dialogue->helo, sizeof(dialogue->helo));
	take_text(rest, dialogue->envelope.sender, sizeof(dialogue->envelope.sender));
	take_text(rest, dialogue->envelope.envid, sizeof(dialogue->envelope.envid));
	take_text(rest, recipient->address, sizeof(recipient->address));
	take_text(rest, recipient->orcpt, sizeof(recipient->orcpt));
	take_text(rest, ret_capsule->tls_protocol, sizeof(ret_capsule->tls_protocol));
	take_text(rest, ret_capsule->tls_cipher, sizeof(ret_capsule->tls_cipher));
	take_text(rest, ret_capsule->tls_sni, sizeof(ret_capsule->tls_sni));
	take_text(rest, ret_capsule->zones, sizeof(ret_capsule->zones));
	take_text(rest, ret_capsule->header, sizeof(ret_capsule->header));
	ret_capsule->unread_size = take_bytes(rest, ret_capsule->unread, CAPSULE_UNREAD_MAX);
	return rest->at != NULL && rest->size == 0;
}

/* The version before the rest: of another one nothing but these is known. */
static int check_frame(const uint8_t *bytes, size_t size)
{
	if (size < FIXED_SIZE || size > CAPSULE_SIZE_MAX || take(bytes + AT_MAGIC, 4) != MAGIC ||
	    take(bytes + AT_SIZE, 4) != size || take(bytes + AT_SUM, 4) != sum_of(bytes, size))
		return CAPSULE_EBAD;
	if (take(bytes + AT_VERSION, 2) != VERSION)
		return CAPSULE_EVERSION;
	if ((take(bytes + AT_FLAGS, 4) & ~(uint64_t)FLAG_ALL) != 0 || take(bytes + AT_ZERO, 2) != 0)
		return CAPSULE_EVALUE;
	return 0;
}

int capsule_decode(const uint8_t *bytes, size_t size, struct capsule *ret_capsule)
{
	int ret = check_frame(bytes, size);
	if (ret != 0)
		return ret;
	struct rest rest = { bytes + FIXED_SIZE, size - FIXED_SIZE };
	memset(ret_capsule, 0, sizeof(*ret_capsule));
	take_session(bytes, ret_capsule);
	take_dialogue(bytes, ret_capsule);
	if (!take_texts(&rest, ret_capsule))
		return CAPSULE_EVALUE;
	if (!ret_capsule->has_verdict && !has_no_judgement(ret_capsule))
		return CAPSULE_EVALUE;
	return is_valid(ret_capsule) ? 0 : CAPSULE_EVALUE;
}

int capsule_send(int queue_fd, const struct capsule *capsule, const struct handover_fds *fds)
{
	uint8_t bytes[CAPSULE_SIZE_MAX];
	size_t size = 0;
	const int ret = capsule_encode(capsule, bytes, &size);
	return ret == 0 ? handover_send(queue_fd, bytes, size, fds) : ret;
}

int capsule_receive(int queue_fd, struct capsule *ret_capsule, struct handover_fds *ret_fds)
{
	uint8_t bytes[CAPSULE_SIZE_MAX];
	struct handover_fds fds = { -1, -1 };
	size_t size = 0;
	int ret = handover_receive(queue_fd, bytes, &size, &fds);
	if (ret != 0)
		return ret;
	ret = capsule_decode(bytes, size, ret_capsule);
	if (ret == 0) {
		*ret_fds = fds;
		return 0;
	}
	(void)close(fds.connection);
	if (fds.hold >= 0)
		(void)close(fds.hold);
	return ret;
}

const char *capsule_strerror(int status)
{
	switch (status) {
	case 0:
		return "success";
	case CAPSULE_EBAD:
		return "cut, altered, or no capsule";
	case CAPSULE_EVERSION:
		return "capsule of another version";
	case CAPSULE_EVALUE:
		return "capsule of what no edge makes";
	default:
		return strerror(-status);
	}
}
