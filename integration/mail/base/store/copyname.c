/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/store/copyname.h"

#include <stdio.h>
#include <string.h>

size_t copyname_make(unsigned number, struct mailname mailbox, uint8_t *ret_bytes)
{
	char head[8];
	const size_t head_size = (size_t)snprintf(head, sizeof(head), "%c%u/", COPYNAME_MARK,
						  number % (COPYNAME_NUMBER_MAX + 1));
	if (mailbox.size > MAILBOX_NAME_MAX - head_size)
		return 0;
	memcpy(ret_bytes, head, head_size);
	memcpy(ret_bytes + head_size, mailbox.bytes, mailbox.size);
	return head_size + mailbox.size;
}

bool copyname_parse(struct mailname name, unsigned *ret_number, struct mailname *ret_mailbox)
{
	unsigned number = 0;
	size_t at = 1;
	if (name.size < 4 || name.bytes[0] != COPYNAME_MARK)
		return false;
	while (at < name.size && at < 4 && name.bytes[at] >= '0' && name.bytes[at] <= '9')
		number = 10 * number + (unsigned)(name.bytes[at++] - '0');
	if (at == 1 || at + 1 >= name.size || name.bytes[at] != '/' || number == 0 ||
	    number > COPYNAME_NUMBER_MAX)
		return false;
	*ret_number = number;
	*ret_mailbox = (struct mailname){ name.bytes + at + 1, name.size - at - 1 };
	return true;
}
