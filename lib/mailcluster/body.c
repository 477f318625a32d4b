/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/mailcluster/cluster.h"

#include "lib/mailstore/mailbody.h"
#include "lib/mailstore/mailstore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (256U << 10)

/* ---- making one ---- */

/* All bytes behind the head, which comes with the number. */
static int fill(const struct mailstore_mail *mail, struct mailbody *text, struct body *body)
{
	size_t meta_size =
		mailmeta_size(mail->sender, body->boxes, body->box_count, text->exceptions_size);
	uint64_t size = mailrecord_size(MAILRECORD_MAIL, meta_size, text->wire_size);
	if (meta_size > MAILRECORD_META_MAX)
		return -E2BIG;
	body->bytes = calloc(1, size);
	if (body->bytes == NULL)
		return -ENOMEM;
	body->size = size;
	uint8_t *wire = body->bytes + MAILRECORD_HEAD_SIZE + meta_size;
	mailmeta_encode(mail->sender, body->boxes, body->box_count, text->exceptions,
			text->exceptions_size, body->bytes + MAILRECORD_HEAD_SIZE);
	for (size_t at = 0; at < text->wire_size;)
		at += mailbody_fill(text, wire + at, text->wire_size - at);
	uint8_t *end = wire + text->wire_size;
	bytes_put_string(&end, (const uint8_t *)MAILRECORD_END, MAILRECORD_END_SIZE);
	body->record = (struct mailrecord){ .type = MAILRECORD_MAIL,
					    .lines = text->lines,
					    .size = size,
					    .time_us = mail->time_us,
					    .wire_size = text->wire_size,
					    .octets = text->octets,
					    .text_size = text->size,
					    .meta_size = (uint32_t)meta_size,
					    .body_crc = mailrecord_crc(0, wire, text->wire_size) };
	return 0;
}

int body_make(const struct mailstore_mail *mail, struct body *ret_body)
{
	struct mailbody text = { 0 };
	*ret_body = (struct body){ 0 };
	int ret = mail->sender.size > MAIL_SENDER_MAX ? -EINVAL : 0;
	if (ret == 0)
		ret = mailstore_copy_recipients(mail, &ret_body->boxes, &ret_body->box_count);
	if (ret == 0)
		ret = mailbody_measure(mail->text, mail->size, &text);
	if (ret == -E2BIG)
		ret = MAILSTORE_ELINES;
	if (ret == 0)
		ret = fill(mail, &text, ret_body);
	mailbody_free(&text);
	return ret;
}

void body_seal(struct mailcluster *cluster, uint64_t number, const struct mailid *id,
	       struct body *body)
{
	body->record.lsn = number;
	body->record.mail = number;
	body->record.id = *id;
	mailrecord_encode(&body->record, body->bytes + MAILRECORD_HEAD_SIZE,
			  mailrecord_seed(&cluster->identity, number, 0), body->bytes);
}

void body_free(struct body *body)
{
	free(body->bytes);
	free(body->boxes);
	*body = (struct body){ 0 };
}

void body_entry(const struct mailrecord *record, uint32_t recipients, struct entryvalue *ret_entry)
{
	*ret_entry = (struct entryvalue){ .entry = { .mail = record->mail,
						     .id = record->id,
						     .octets = record->octets,
						     .wire_size = record->wire_size,
						     .text_size = record->text_size,
						     .time_us = record->time_us },
					  .recipients = recipients };
}

/* ---- reading one ---- */

int body_decode(const struct mailcluster *cluster, uint64_t number, const uint8_t *bytes,
		size_t size, struct mailrecord *ret_record)
{
	struct mailrecord record;
	struct mailmeta meta;
	if (size < MAILRECORD_HEAD_SIZE || mailrecord_decode(bytes, &record) != 0 ||
	    record.type != MAILRECORD_MAIL || record.mail != number ||
	    size - MAILRECORD_HEAD_SIZE < record.meta_size)
		return MAILSTORE_EDAMAGED;
	const uint8_t *behind = bytes + MAILRECORD_HEAD_SIZE;
	if (mailrecord_check(bytes, behind, record.meta_size,
			     mailrecord_seed(&cluster->identity, number, 0)) != 0 ||
	    mailmeta_decode(behind, record.meta_size, &meta) != 0)
		return MAILSTORE_EDAMAGED;
	*ret_record = record;
	return 0;
}

int body_read(struct mailcluster *cluster, uint64_t number, struct mailrecord *ret_record,
	      uint8_t **ret_meta)
{
	char name[NAMES_NUMBER_SIZE];
	uint8_t head[MAILRECORD_HEAD_SIZE];
	struct mailrecord record;
	names_number('b', number, name);
	int ret = cluster_read(cluster, name, 0, head, sizeof(head));
	if (ret == 0)
		ret = mailrecord_decode(head, &record);
	if (ret != 0)
		return ret;
	uint8_t *both = malloc(sizeof(head) + record.meta_size);
	if (both == NULL)
		return -ENOMEM;
	memcpy(both, head, sizeof(head));
	ret = cluster_read(cluster, name, sizeof(head), both + sizeof(head), record.meta_size);
	if (ret == 0)
		ret = body_decode(cluster, number, both, sizeof(head) + record.meta_size,
				  ret_record);
	if (ret != 0) {
		free(both);
		return ret;
	}
	memmove(both, both + sizeof(head), record.meta_size);
	*ret_meta = both;
	return 0;
}

bool body_is_same(const struct body *body, const struct mailrecord *record, const uint8_t *meta)
{
	return record->body_crc == body->record.body_crc &&
	       record->wire_size == body->record.wire_size &&
	       record->meta_size == body->record.meta_size &&
	       memcmp(meta, body->bytes + MAILRECORD_HEAD_SIZE, record->meta_size) == 0;
}

uint32_t body_recipients(const struct mailrecord *record, const uint8_t *meta)
{
	struct mailmeta decoded = { .recipient_count = 0 };
	return mailmeta_decode(meta, record->meta_size, &decoded) == 0 ? decoded.recipient_count
								       : 0;
}

static bool is_end(const uint8_t *bytes, size_t size)
{
	for (size_t i = MAILRECORD_END_SIZE; i < size; i++)
		if (bytes[i] != 0)
			return false;
	return memcmp(bytes, MAILRECORD_END, MAILRECORD_END_SIZE) == 0;
}

int body_check(struct mailcluster *cluster, uint64_t number, const struct mailrecord *record)
{
	char name[NAMES_NUMBER_SIZE];
	uint8_t end[MAILRECORD_END_SIZE + MAILRECORD_ALIGN];
	uint64_t at = mailrecord_body_at(record);
	uint32_t crc = 0;
	int ret = 0;
	uint8_t *piece = malloc(PIECE);
	names_number('b', number, name);
	for (uint64_t left = record->wire_size; piece != NULL && ret == 0 && left > 0;) {
		size_t size = left < PIECE ? (size_t)left : PIECE;
		ret = cluster_read(cluster, name, at, piece, size);
		crc = mailrecord_crc(crc, piece, ret == 0 ? size : 0);
		at += size;
		left -= size;
	}
	size_t end_size = (size_t)(record->size - at);
	if (ret == 0 && piece != NULL)
		ret = cluster_read(cluster, name, at, end, end_size);
	if (ret == 0 && (crc != record->body_crc || !is_end(end, end_size)))
		ret = MAILSTORE_EDAMAGED;
	if (piece == NULL)
		ret = -ENOMEM;
	free(piece);
	return ret;
}
