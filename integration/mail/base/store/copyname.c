/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/store/copyname.h"

#include <stdio.h>
#include <string.h>

#include "lib/format/ascii.h"

static const uint8_t brought_head[] = { COPYNAME_MARK, 'g', '/' };

static size_t join(const void *head, size_t head_size, struct mailname mailbox, uint8_t *ret_bytes)
{
	if (mailbox.size > MAILBOX_NAME_MAX - head_size)
		return 0;
	memcpy(ret_bytes, head, head_size);
	memcpy(ret_bytes + head_size, mailbox.bytes, mailbox.size);
	return head_size + mailbox.size;
}

size_t copyname_make(unsigned number, struct mailname mailbox, uint8_t *ret_bytes)
{
	char head[8];
	const size_t head_size = (size_t)snprintf(head, sizeof(head), "%c%u/", COPYNAME_MARK,
						  number % (COPYNAME_NUMBER_MAX + 1));
	return join(head, head_size, mailbox, ret_bytes);
}

size_t copyname_make_brought(struct mailname mailbox, uint8_t *ret_bytes)
{
	return join(brought_head, sizeof(brought_head), mailbox, ret_bytes);
}

bool copyname_parse(struct mailname name, unsigned *ret_number, struct mailname *ret_mailbox)
{
	const char *text = (const char *)name.bytes;
	if (name.size < 4 || name.bytes[0] != COPYNAME_MARK)
		return false;
	const char *at = text + 1;
	const int64_t number = ascii_take_number(&at, text + 4, COPYNAME_NUMBER_MAX);
	const size_t head_size = (size_t)(at - text) + 1;
	if (number <= 0 || head_size >= name.size || *at != '/')
		return false;
	*ret_number = (unsigned)number;
	*ret_mailbox = (struct mailname){ name.bytes + head_size, name.size - head_size };
	return true;
}

bool copyname_parse_brought(struct mailname name, struct mailname *ret_mailbox)
{
	const size_t head_size = sizeof(brought_head);
	if (name.size <= head_size || memcmp(name.bytes, brought_head, head_size) != 0)
		return false;
	*ret_mailbox = (struct mailname){ name.bytes + head_size, name.size - head_size };
	return true;
}

bool copyname_is_own(struct mailname name)
{
	return name.size > 0 && name.bytes[0] == COPYNAME_MARK;
}
