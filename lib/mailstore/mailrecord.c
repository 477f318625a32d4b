/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mailstore/mailrecord.h"

#include "lib/mailstore/mailbody.h"

#include <isa-l/crc.h>
#include <stdlib.h>

static const uint8_t identity_magic[8] = "DNSBMS1\n";
static const uint8_t segment_magic[8] = "DNSBMSG\n";
static const uint8_t record_magic[4] = "Dmr1";

#define CRC_PLACE (MAILRECORD_HEAD_SIZE - 4)
#define CHUNK	  (1 << 30) /* isa-l takes an int */

/* isa-l neither complements its first value nor its result. */
uint32_t mailrecord_crc(uint32_t crc, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	crc = ~crc;
	while (size > 0) {
		size_t part = size < CHUNK ? size : CHUNK;
		crc = crc32_iscsi((unsigned char *)(uintptr_t)at, (int)part, crc);
		at += part;
		size -= part;
	}
	return ~crc;
}

/* The last four bytes of what was written are the checksum of those before. */
static void seal(uint8_t *bytes, size_t size)
{
	uint8_t *out = bytes + size - 4;
	bytes_put(&out, mailrecord_crc(0, bytes, size - 4), 4);
}

static bool is_sealed(const uint8_t *bytes, size_t size)
{
	return bytes_get(bytes + size - 4, 4) == mailrecord_crc(0, bytes, size - 4);
}

/* ---- identity and segment ---- */

void mailidentity_encode(const struct mailidentity *identity, uint8_t *out)
{
	uint8_t *at = out;
	memset(out, 0, MAILIDENTITY_SIZE);
	bytes_put_string(&at, identity_magic, sizeof(identity_magic));
	bytes_put(&at, MAILSTORE_SCHEMA, 4);
	bytes_put_string(&at, identity->store, sizeof(identity->store));
	bytes_put_string(&at, identity->key, sizeof(identity->key));
	bytes_put(&at, identity->segment_size, 8);
	seal(out, MAILIDENTITY_SIZE);
}

int mailidentity_decode(const uint8_t *bytes, size_t size, struct mailidentity *ret_identity)
{
	struct bytes_input input = { .data = bytes, .size = size };
	const uint8_t *magic = bytes_take_string(&input, sizeof(identity_magic));
	if (magic == NULL || memcmp(magic, identity_magic, sizeof(identity_magic)) != 0)
		return MAILSTORE_ENOTSTORE;
	if (bytes_take(&input, 4) != MAILSTORE_SCHEMA)
		return MAILSTORE_ESCHEMA;
	if (size != MAILIDENTITY_SIZE || !is_sealed(bytes, size))
		return MAILSTORE_ENOTSTORE;
	memcpy(ret_identity->store, bytes_take_string(&input, 16), 16);
	memcpy(ret_identity->key, bytes_take_string(&input, MAILID_KEY_SIZE), MAILID_KEY_SIZE);
	ret_identity->segment_size = bytes_take(&input, 8);
	return 0;
}

void mailsegment_encode(const struct mailsegment_head *head, uint8_t *out)
{
	uint8_t *at = out;
	memset(out, 0, MAILSEGMENT_HEAD_SIZE);
	bytes_put_string(&at, segment_magic, sizeof(segment_magic));
	bytes_put(&at, MAILSTORE_SCHEMA, 4);
	bytes_put(&at, head->generation, 4);
	bytes_put_string(&at, head->store, sizeof(head->store));
	bytes_put(&at, head->number, 8);
	bytes_put(&at, head->id, 8);
	seal(out, MAILSEGMENT_HEAD_SIZE);
}

int mailsegment_decode(const uint8_t *bytes, size_t size, struct mailsegment_head *ret_head)
{
	struct bytes_input input = { .data = bytes, .size = size };
	const uint8_t *magic = bytes_take_string(&input, sizeof(segment_magic));
	if (magic == NULL || memcmp(magic, segment_magic, sizeof(segment_magic)) != 0 ||
	    size != MAILSEGMENT_HEAD_SIZE || !is_sealed(bytes, size))
		return MAILSTORE_EDAMAGED;
	if (bytes_take(&input, 4) != MAILSTORE_SCHEMA)
		return MAILSTORE_ESCHEMA;
	uint64_t generation = bytes_take(&input, 4);
	memcpy(ret_head->store, bytes_take_string(&input, 16), 16);
	ret_head->number = bytes_take(&input, 8);
	ret_head->id = bytes_take(&input, 8);
	ret_head->generation = (uint8_t)generation;
	return generation < MAIL_GENERATIONS ? 0 : MAILSTORE_EDAMAGED;
}

/* ---- records ---- */

static bool has_body(uint8_t type)
{
	return type != MAILRECORD_DELETE;
}

uint64_t mailrecord_body_at(const struct mailrecord *record)
{
	return MAILRECORD_HEAD_SIZE + record->meta_size;
}

uint64_t mailrecord_size(uint8_t type, size_t meta_size, uint64_t wire_size)
{
	uint64_t size = MAILRECORD_HEAD_SIZE + meta_size;
	if (has_body(type))
		size += wire_size + MAILRECORD_END_SIZE;
	return (size + MAILRECORD_ALIGN - 1) / MAILRECORD_ALIGN * MAILRECORD_ALIGN;
}

uint32_t mailrecord_seed(const struct mailidentity *identity, uint64_t segment, uint64_t at)
{
	uint8_t place[16];
	uint8_t *out = place;
	bytes_put(&out, segment, 8);
	bytes_put(&out, at, 8);
	return mailrecord_crc(mailrecord_crc(0, identity->key, MAILID_KEY_SIZE), place,
			      sizeof(place));
}

void mailrecord_encode(const struct mailrecord *record, const uint8_t *meta, uint32_t seed,
		       uint8_t *out)
{
	uint8_t *at = out;
	bytes_put_string(&at, record_magic, sizeof(record_magic));
	bytes_put(&at, record->type, 1);
	bytes_put(&at, record->lines, 1);
	bytes_put(&at, 0, 2);
	bytes_put(&at, record->size, 8);
	bytes_put(&at, record->lsn, 8);
	bytes_put(&at, record->mail, 8);
	bytes_put(&at, record->synced, 8);
	bytes_put(&at, record->time_us, 8);
	bytes_put_string(&at, record->id.bytes, MAILID_SIZE);
	bytes_put(&at, record->wire_size, 8);
	bytes_put(&at, record->octets, 8);
	bytes_put(&at, record->text_size, 8);
	bytes_put(&at, record->meta_size, 4);
	bytes_put(&at, record->body_crc, 4);
	bytes_put(&at, 0, 4);
	uint32_t crc = mailrecord_crc(seed, out, CRC_PLACE);
	bytes_put(&at, mailrecord_crc(crc, meta, record->meta_size), 4);
}

static bool is_possible(const struct mailrecord *record)
{
	bool is_mail = record->type == MAILRECORD_MAIL;
	if (record->type < MAILRECORD_MAIL || record->type > MAILRECORD_DELETE ||
	    record->meta_size > MAILRECORD_META_MAX || record->wire_size > INT64_MAX / 2 ||
	    (record->lines & ~MAILBODY_MASK) != 0 || (record->lines & 3) == 3)
		return false;
	if (!has_body(record->type) && (record->mail != 0 || record->wire_size != 0))
		return false;
	if (has_body(record->type) && (record->mail == 0 || record->mail > record->lsn))
		return false;
	return (!is_mail || record->mail == record->lsn) && record->octets <= record->wire_size &&
	       record->text_size <= record->octets &&
	       record->size == mailrecord_size(record->type, record->meta_size, record->wire_size);
}

int mailrecord_decode(const uint8_t *head, struct mailrecord *ret_record)
{
	struct bytes_input input = { .data = head, .size = MAILRECORD_HEAD_SIZE };
	struct mailrecord record = { 0 };
	if (memcmp(bytes_take_string(&input, sizeof(record_magic)), record_magic,
		   sizeof(record_magic)) != 0)
		return MAILSTORE_EDAMAGED;
	record.type = (uint8_t)bytes_take(&input, 1);
	record.lines = (uint8_t)bytes_take(&input, 1);
	bool is_zero = bytes_take(&input, 2) == 0;
	record.size = bytes_take(&input, 8);
	record.lsn = bytes_take(&input, 8);
	record.mail = bytes_take(&input, 8);
	record.synced = bytes_take(&input, 8);
	record.time_us = bytes_take(&input, 8);
	memcpy(record.id.bytes, bytes_take_string(&input, MAILID_SIZE), MAILID_SIZE);
	record.wire_size = bytes_take(&input, 8);
	record.octets = bytes_take(&input, 8);
	record.text_size = bytes_take(&input, 8);
	record.meta_size = (uint32_t)bytes_take(&input, 4);
	record.body_crc = (uint32_t)bytes_take(&input, 4);
	is_zero = bytes_take(&input, 4) == 0 && is_zero;
	if (!is_zero || !is_possible(&record))
		return MAILSTORE_EDAMAGED;
	*ret_record = record;
	return 0;
}

int mailrecord_check(const uint8_t *head, const uint8_t *meta, size_t meta_size, uint32_t seed)
{
	uint32_t crc = mailrecord_crc(mailrecord_crc(seed, head, CRC_PLACE), meta, meta_size);
	return bytes_get(head + CRC_PLACE, 4) == crc ? 0 : MAILSTORE_EDAMAGED;
}

/* ---- the meta of a mail ---- */

bool mailname_is_valid(struct mailname name)
{
	return name.size > 0 && name.size <= MAILBOX_NAME_MAX &&
	       memchr(name.bytes, '\0', name.size) == NULL;
}

int mailname_compare(const void *one, const void *other)
{
	const struct mailname *a = one;
	const struct mailname *b = other;
	const size_t shared = a->size < b->size ? a->size : b->size;
	const int order = shared == 0 ? 0 : memcmp(a->bytes, b->bytes, shared);
	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

size_t mailname_sort(struct mailname *names, size_t count)
{
	size_t left = 0;
	qsort(names, count, sizeof(*names), mailname_compare);
	for (size_t i = 0; i < count; i++)
		if (left == 0 || mailname_compare(&names[left - 1], &names[i]) != 0)
			names[left++] = names[i];
	return left;
}

size_t mailmeta_size(struct mailname sender, const struct mailname *recipients, size_t count,
		     size_t exceptions_size)
{
	size_t size = 2 + sender.size + 4 + count + exceptions_size;
	for (size_t i = 0; i < count; i++)
		size += recipients[i].size;
	return size;
}

void mailmeta_encode(struct mailname sender, const struct mailname *recipients, size_t count,
		     const uint8_t *exceptions, size_t exceptions_size, uint8_t *out)
{
	bytes_put(&out, sender.size, 2);
	bytes_put_string(&out, sender.bytes, sender.size);
	bytes_put(&out, count, 4);
	for (size_t i = 0; i < count; i++) {
		bytes_put(&out, recipients[i].size, 1);
		bytes_put_string(&out, recipients[i].bytes, recipients[i].size);
	}
	bytes_put_string(&out, exceptions, exceptions_size);
}

bool mailmeta_next(struct mailmeta *meta, struct mailname *ret_name)
{
	if (meta->recipients.size == 0)
		return false;
	struct mailname name = { .size = bytes_take(&meta->recipients, 1) };
	name.bytes = bytes_take_string(&meta->recipients, name.size);
	*ret_name = name;
	return name.bytes != NULL;
}

int mailmeta_decode(const uint8_t *meta, size_t size, struct mailmeta *ret_meta)
{
	struct bytes_input input = { .data = meta, .size = size };
	struct mailmeta decoded = { 0 };
	decoded.sender.size = bytes_take(&input, 2);
	decoded.sender.bytes = bytes_take_string(&input, decoded.sender.size);
	decoded.recipient_count = (uint32_t)bytes_take(&input, 4);
	if (input.has_failed || decoded.recipient_count > MAIL_RECIPIENTS_MAX)
		return MAILSTORE_EDAMAGED;
	decoded.recipients.data = input.data;
	for (uint32_t i = 0; i < decoded.recipient_count; i++) {
		struct mailname name = { .size = bytes_take(&input, 1) };
		name.bytes = bytes_take_string(&input, name.size);
		if (input.has_failed || !mailname_is_valid(name))
			return MAILSTORE_EDAMAGED;
	}
	decoded.recipients.size = (size_t)(input.data - decoded.recipients.data);
	decoded.exceptions = input;
	*ret_meta = decoded;
	return 0;
}

/* ---- the meta of a deletion ---- */

size_t maildeletion_size(struct mailname mailbox, size_t count)
{
	return 1 + mailbox.size + 4 + 8 * count;
}

void maildeletion_encode(struct mailname mailbox, const uint64_t *mails, size_t count, uint8_t *out)
{
	bytes_put(&out, mailbox.size, 1);
	bytes_put_string(&out, mailbox.bytes, mailbox.size);
	bytes_put(&out, count, 4);
	for (size_t i = 0; i < count; i++)
		bytes_put(&out, mails[i], 8);
}

int maildeletion_decode(const uint8_t *meta, size_t size, struct maildeletion *ret_deletion)
{
	struct bytes_input input = { .data = meta, .size = size };
	struct maildeletion decoded = { .mailbox.size = bytes_take(&input, 1) };
	decoded.mailbox.bytes = bytes_take_string(&input, decoded.mailbox.size);
	decoded.count = (uint32_t)bytes_take(&input, 4);
	decoded.mails = bytes_take_string(&input, (size_t)8 * decoded.count);
	if (bytes_finish(&input) != DNSBLV6_OK || !mailname_is_valid(decoded.mailbox))
		return MAILSTORE_EDAMAGED;
	*ret_deletion = decoded;
	return 0;
}

uint64_t maildeletion_mail(const struct maildeletion *deletion, size_t at)
{
	return bytes_get(deletion->mails + 8 * at, 8);
}
