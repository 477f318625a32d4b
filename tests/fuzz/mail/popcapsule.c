/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes as a capsule of pop-front: as they are, and with the size and the sum that they should
 * have, so that what is behind the sum is reached. What is accepted is what the same session is encoded
 * as, byte for byte, and is a session that a worker can answer and go on with.
 */

#include "integration/mail/pop-front/handover/popcapsule.h"

#include <string.h>

#include "lib/format/bytes.h"
#include "tests/fuzz/require.h"

/* Of a mailbox with one mail: the worker's answer, a command, and the end. */
static void go_on(const struct popcapsule *capsule)
{
	static struct pop3_event event;
	struct pop3_message message = { .octets = 120, .uid = "x" };
	struct pop3_maildrop drop;
	struct pop3_dialogue dialogue = capsule->dialogue;
	const struct pop3_limits limits = { .ways = POP3_WAY_ALL, .hostname = "mx.example.org" };
	pop3_maildrop_init(&message, 1, &drop);
	enum pop3_action action = pop3_dialogue_accept(&dialogue, &limits, &drop, &event);
	require(action == POP3_REPLY && strncmp(event.reply, "+OK", 3) == 0, "it is logged in");
	action = pop3_dialogue_step(&dialogue, &limits, &drop, "STAT", 4, &event);
	require(action == POP3_REPLY && strcmp(event.reply, "+OK 1 120\r\n") == 0,
		"and has its maildrop");
	(void)pop3_dialogue_step(&dialogue, &limits, &drop, "DELE 1", 6, &event);
	action = pop3_dialogue_step(&dialogue, &limits, &drop, "QUIT", 4, &event);
	require(action == POP3_UPDATE, "of which it can delete");
	dialogue = capsule->dialogue;
	(void)pop3_dialogue_refuse(&dialogue, &limits, POP3_IN_USE, &event);
	require(strncmp(event.reply, "-ERR [IN-USE]", 13) == 0, "or it is refused");
}

static void check(const uint8_t *bytes, size_t size)
{
	static struct popcapsule capsule;
	static uint8_t again[HANDOVER_SIZE_MAX];
	size_t again_size = 0;
	const int ret = popcapsule_decode(bytes, size, &capsule);
	require(ret == 0 || strcmp(seal_strerror(ret), "") != 0, "a refusal has its reason");
	if (ret != 0)
		return;
	require(popcapsule_encode(&capsule, again, &again_size) == 0, "it can be sent on");
	require(again_size == size && memcmp(again, bytes, size) == 0, "as the same bytes");
	go_on(&capsule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[HANDOVER_SIZE_MAX];
	check(data, size);
	if (size < SEAL_SIZE || size > sizeof(bytes))
		return 0;
	memcpy(bytes, data, size);
	seal_put(bytes, size, (uint32_t)bytes_get(bytes, 4), (uint16_t)bytes_get(bytes + 4, 2));
	check(bytes, size);
	return 0;
}
