/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What a damaged log of a mail store may have: no decoder reads outside of what it was given, and
 * what one accepts is encoded to the bytes that it was decoded from.
 *
 *     OFFSET  SIZE  DESCRIPTION
 *        0      1   what it is: kinds
 *        1      .   its bytes
 *
 * A checksum that is wrong would hide all that is behind it, so that both are tried: the bytes as
 * they are, and with the right one.
 */

#include "lib/mailstore/mailrecord.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEED 0x5eed

/* The last four bytes are the checksum of those before; of a record behind its seed. */
static void seal(uint8_t *bytes, size_t size, uint32_t seed)
{
	uint8_t *out = bytes + size - 4;
	bytes_put(&out, mailrecord_crc(seed, bytes, size - 4), 4);
}

static void try_identity(const uint8_t *bytes, size_t size)
{
	uint8_t again[MAILIDENTITY_SIZE];
	struct mailidentity identity;
	if (mailidentity_decode(bytes, size, &identity) != 0)
		return;
	require(size == MAILIDENTITY_SIZE, "an identity of its size");
	mailidentity_encode(&identity, again);
	struct mailidentity second;
	require(mailidentity_decode(again, sizeof(again), &second) == 0 &&
			memcmp(identity.store, second.store, sizeof(second.store)) == 0 &&
			memcmp(identity.key, second.key, sizeof(second.key)) == 0 &&
			identity.segment_size == second.segment_size,
		"the same identity");
}

static void try_segment(const uint8_t *bytes, size_t size)
{
	uint8_t again[MAILSEGMENT_HEAD_SIZE];
	struct mailsegment_head head;
	struct mailsegment_head second;
	if (mailsegment_decode(bytes, size, &head) != 0)
		return;
	require(size == MAILSEGMENT_HEAD_SIZE && head.generation < MAIL_GENERATIONS,
		"a segment that can be");
	mailsegment_encode(&head, again);
	require(mailsegment_decode(again, sizeof(again), &second) == 0 &&
			memcmp(head.store, second.store, sizeof(second.store)) == 0 &&
			head.number == second.number && head.id == second.id &&
			head.generation == second.generation,
		"the same segment");
}

static void try_mail(const uint8_t *meta, size_t size)
{
	struct mailmeta decoded;
	struct mailname *names = NULL;
	size_t count = 0;
	if (mailmeta_decode(meta, size, &decoded) != 0)
		return;
	names = calloc(decoded.recipient_count + 1, sizeof(*names));
	require(names != NULL, "memory");
	while (count < decoded.recipient_count && mailmeta_next(&decoded, &names[count]))
		require(mailname_is_valid(names[count++]), "a name that is one");
	require(count == decoded.recipient_count && !mailmeta_next(&decoded, &names[count]),
		"as many recipients as it says");
	require(mailmeta_size(decoded.sender, names, count, decoded.exceptions.size) == size,
		"a meta of its size");
	uint8_t *again = malloc(size);
	require(again != NULL, "memory");
	mailmeta_encode(decoded.sender, names, count, decoded.exceptions.data,
			decoded.exceptions.size, again);
	require(memcmp(again, meta, size) == 0, "the same meta");
	free(again);
	free(names);
}

static void try_deletion(const uint8_t *meta, size_t size)
{
	struct maildeletion deletion;
	if (maildeletion_decode(meta, size, &deletion) != 0)
		return;
	require(maildeletion_size(deletion.mailbox, deletion.count) == size,
		"a deletion of its size");
	uint64_t *mails = calloc(deletion.count + (size_t)1, sizeof(*mails));
	uint8_t *again = malloc(size);
	require(mails != NULL && again != NULL, "memory");
	for (size_t i = 0; i < deletion.count; i++)
		mails[i] = maildeletion_mail(&deletion, i);
	maildeletion_encode(deletion.mailbox, mails, deletion.count, again);
	require(memcmp(again, meta, size) == 0, "the same deletion");
	free(again);
	free(mails);
}

/* The head, and as its meta what is behind it. */
static void try_record(const uint8_t *bytes, size_t size)
{
	uint8_t again[MAILRECORD_HEAD_SIZE];
	struct mailrecord record;
	if (size < MAILRECORD_HEAD_SIZE || mailrecord_decode(bytes, &record) != 0)
		return;
	const uint8_t *meta = bytes + MAILRECORD_HEAD_SIZE;
	size_t left = size - MAILRECORD_HEAD_SIZE;
	require(record.size % MAILRECORD_ALIGN == 0 && record.size >= mailrecord_body_at(&record),
		"a record of a size that can be");
	if (record.meta_size > left)
		return;
	mailrecord_encode(&record, meta, SEED, again);
	require(memcmp(again, bytes, sizeof(again) - 4) == 0, "the same head");
	require(mailrecord_check(again, meta, record.meta_size, SEED) == 0, "its checksum");
	again[8] ^= 1;
	require(mailrecord_check(again, meta, record.meta_size, SEED) == MAILSTORE_EDAMAGED,
		"one bit is noticed");
	(void)mailrecord_check(bytes, meta, record.meta_size, SEED);
	if (record.type == MAILRECORD_DELETE)
		try_deletion(meta, record.meta_size);
	else
		try_mail(meta, record.meta_size);
}

static void (*const kinds[])(const uint8_t *bytes, size_t size) = {
	try_identity, try_segment, try_record, try_mail, try_deletion,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	/* In memory of exactly that size, for the sanitizer. */
	uint8_t *bytes = malloc(size > 1 ? size - 1 : 1);
	require(bytes != NULL, "memory");
	memcpy(bytes, data + 1, size - 1);
	size_t kind = data[0] % (sizeof(kinds) / sizeof(kinds[0]));
	kinds[kind](bytes, size - 1);
	if (size - 1 >= 4) {
		seal(bytes, size - 1, 0);
		kinds[kind](bytes, size - 1);
	}
	free(bytes);
	return 0;
}
