/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Any bytes as a question of an edge, and as an answer of a checker. The first byte says which; those
 * behind it are the struct from its beginning, and the rest of it is what that byte is. What is valid
 * has texts that end, sizes that they may have, and, of SCRAM, a nonce that a challenge can be made with.
 */

#include "integration/mail/pop-front/login/check.h"

#include <string.h>

#include "tests/fuzz/require.h"

static bool ends(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

/* As a checker does, with keys that it has made up. */
static void challenge(const struct check_request *request)
{
	struct scram scram;
	struct scram_keys keys = { .salt_size = 1, .iterations = 1 };
	char text[SCRAM_ANSWER_MAX];
	size_t size = 0;
	scram_init(&scram);
	if (scram_first(&scram, request->first, request->first_size) != SASL_FINE)
		return;
	require(ends(scram.user, sizeof(scram.user)), "a name ends");
	size = scram_challenge(&scram, &keys, request->nonce, text);
	require(size < sizeof(text) && text[size] == '\0', "a challenge has room");
	if (scram_final(&scram, request->final, request->final_size, text, &size) == SASL_FINE)
		require(size < sizeof(text), "so has a signature");
}

static void check_request(const struct check_request *request)
{
	if (!check_request_is_valid(request))
		return;
	require(request->kind < CHECK_KINDS, "a question is of a kind");
	if (request->kind == CHECK_PASSWORD) {
		require(ends(request->user, sizeof(request->user)), "a name ends");
		require(ends(request->password, sizeof(request->password)), "a password ends");
	} else if (request->kind == CHECK_SCRAM_FINAL) {
		challenge(request);
	} else {
		require(request->first_size <= sizeof(request->first), "a message has room");
	}
}

static void check_reply(const struct check_reply *reply)
{
	if (!check_reply_is_valid(reply))
		return;
	require(reply->answer < CHECK_ANSWERS, "an answer is one");
	require(ends(reply->mailbox, sizeof(reply->mailbox)), "a mailbox ends");
	require(ends(reply->nonce, sizeof(reply->nonce)), "a nonce ends");
	require(reply->text_size < sizeof(reply->text), "a text has room");
	require(reply->answer != CHECK_YES || reply->mailbox[0] != '\0', "yes is to a mailbox");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct check_request request;
	static struct check_reply reply;
	if (size == 0)
		return 0;
	const bool is_request = data[0] % 2 == 0;
	void *message = is_request ? (void *)&request : (void *)&reply;
	const size_t room = is_request ? sizeof(request) : sizeof(reply);
	memset(message, data[0], room);
	memcpy(message, data + 1, size - 1 < room ? size - 1 : room);
	if (is_request)
		check_request(&request);
	else
		check_reply(&reply);
	return 0;
}
