/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as what a mail server asks a socketmap: each question has one answer, a netstring. */
#include "integration/mail/mail-stored/nodes/socketmap.h"

#include <stdlib.h>

static void check(const char *text, size_t size)
{
	char *end = NULL;
	const unsigned long inside = strtoul(text, &end, 10);
	if (size == 0 || size >= SOCKETMAP_LINE_MAX || *end != ':' || text[size - 1] != ',' ||
	    (size_t)(end + 1 - text) + inside + 1 != size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nodesetup setup = { .peers = { { .name = "a",
						       .number = 1,
						       .lmtp = "192.0.2.1@24",
						       .is_spread = true } },
					  .peer_count = 1 };
	const struct locate locate = { .setup = &setup };
	char text[SOCKETMAP_LINE_MAX];
	struct mailname name;
	struct mailname key;
	int used;
	while ((used = socketmap_parse((const char *)data, size, &name, &key)) > 0) {
		if ((size_t)used > size)
			abort();
		check(text, socketmap_answer(&locate, name, key, text));
		data += used;
		size -= (size_t)used;
	}
	return 0;
}
