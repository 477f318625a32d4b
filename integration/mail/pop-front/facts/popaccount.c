/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/facts/popaccount.h"

#include "lib/pop3/pop3_dialogue.h"

/* Together with all else at its longest it fits into OBJECT_SIZE. */
#define USER_ROOM 140

const char *popaccount_way(unsigned way)
{
	switch (way) {
	case POP3_WAY_USER:
		return "user";
	case POP3_WAY_APOP:
		return "apop";
	case POP3_WAY_PLAIN:
		return "plain";
	case POP3_WAY_SCRAM:
		return "scram";
	default:
		return "";
	}
}

size_t popaccount_format(const struct popaccount *account, char *ret_text)
{
	struct text text = object_make(&account->session, ret_text);
	object_put_word(&text, "way", account->way);
	object_put_number(&text, "mails", account->message_count);
	object_put_number(&text, "retrieved", account->retrieved_count);
	object_put_number(&text, "tops", account->top_count);
	object_put_number(&text, "deleted", account->deleted_count);
	object_put_work(&text, &account->session);
	object_put_text(&text, "user", account->user, USER_ROOM);
	return object_finish(&text);
}

void popaccount_log(const struct popaccount *account)
{
	char text[OBJECT_SIZE];
	popaccount_format(account, text);
	object_log(&account->session, text);
}
