/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/login/check.h"

#include <string.h>

static bool ends(const char *text, size_t room)
{
	return strnlen(text, room) < room;
}

/* What scram_challenge() takes. */
static bool is_nonce(const char *nonce)
{
	size_t size = 0;
	while (size < CHECK_NONCE_SIZE && nonce[size] > ' ' && nonce[size] <= '~' &&
	       nonce[size] != ',')
		size++;
	return size > 0 && size < CHECK_NONCE_SIZE && nonce[size] == '\0';
}

bool check_request_is_valid(const struct check_request *request)
{
	switch (request->kind) {
	case CHECK_PASSWORD:
		return ends(request->user, sizeof(request->user)) &&
		       ends(request->password, sizeof(request->password));
	case CHECK_SCRAM_FIRST:
		return request->first_size <= SASL_MESSAGE_MAX;
	case CHECK_SCRAM_FINAL:
		return request->first_size <= SASL_MESSAGE_MAX &&
		       request->final_size <= SASL_MESSAGE_MAX && is_nonce(request->nonce);
	default:
		return false;
	}
}

bool check_reply_is_valid(const struct check_reply *reply)
{
	return reply->answer < CHECK_ANSWERS && reply->text_size < SCRAM_ANSWER_MAX &&
	       ends(reply->mailbox, sizeof(reply->mailbox)) &&
	       ends(reply->nonce, sizeof(reply->nonce)) &&
	       (reply->answer != CHECK_YES || reply->mailbox[0] != '\0') &&
	       (reply->answer != CHECK_CHALLENGE || is_nonce(reply->nonce));
}
