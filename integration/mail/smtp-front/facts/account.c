/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/facts/account.h"

/* Bytes that a text may have, escapes included. Together with all else at its longest they fit into OBJECT_SIZE. */
#define HELO_ROOM 72
#define PATH_ROOM 72

size_t account_format(const struct account *account, char *ret_text)
{
	struct text text = object_make(&account->session, ret_text);
	object_put_number(&text, "mails", account->mail_count);
	object_put_number(&text, "recipients", account->recipient_count);
	object_put_work(&text, &account->session);
	object_put_text(&text, "helo", account->helo, HELO_ROOM);
	object_put_text(&text, "from", account->sender, PATH_ROOM);
	object_put_text(&text, "to", account->recipient, PATH_ROOM);
	return object_finish(&text);
}

void account_log(const struct account *account)
{
	char text[OBJECT_SIZE];
	account_format(account, text);
	object_log(&account->session, text);
}
