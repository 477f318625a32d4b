/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes as a capsule: as they are, and with the size and the sum that they should have, so
 * that what is behind the sum is reached. What is accepted is what the same session is encoded
 * as, byte for byte, and is a session that the dialogue goes on with.
 */

#include "integration/mail/smtp-front/handover/capsule.h"

#include <string.h>

#include "lib/format/bytes.h"
#include "tests/fuzz/require.h"

/* The worker's answer, and the command behind it. */
static void go_on(struct capsule *capsule)
{
	static struct dialogue_event event;
	struct dialogue_limits limits = { .hostname = "mx.example.org", .recipients_max = 100 };
	if (capsule->kind != CAPSULE_TRUSTED)
		return;
	enum dialogue_action action = dialogue_accept(&capsule->dialogue, &limits, &event);
	require(action == DIALOGUE_REPLY && event.reply_code == 250, "the recipient is accepted");
	action = dialogue_step(&capsule->dialogue, &limits, "DATA", 4, &event);
	require(action == DIALOGUE_DATA, "and the mail may come");
}

static void check(const uint8_t *bytes, size_t size)
{
	static struct capsule capsule;
	static uint8_t again[CAPSULE_SIZE_MAX];
	size_t again_size = 0;
	int ret = capsule_decode(bytes, size, &capsule);
	require(ret == 0 || strcmp(seal_strerror(ret), "") != 0, "a refusal has its reason");
	if (ret != 0)
		return;
	require(capsule_encode(&capsule, again, &again_size) == 0, "it can be sent on");
	require(again_size == size && memcmp(again, bytes, size) == 0, "as the same bytes");
	go_on(&capsule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[CAPSULE_SIZE_MAX];
	check(data, size);
	if (size < SEAL_SIZE || size > sizeof(bytes))
		return 0;
	memcpy(bytes, data, size);
	seal_put(bytes, size, (uint32_t)bytes_get(bytes, 4), (uint16_t)bytes_get(bytes + 4, 2));
	check(bytes, size);
	return 0;
}
