/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/loop/proxypeek.h"

#include <sys/socket.h>

#include "lib/wire/proxy.h"

size_t proxypeek(int fd, uint8_t *bytes, size_t had, size_t room)
{
	struct proxy proxy;
	size_t used = 0;
	const ssize_t got = recv(fd, bytes + had, room, MSG_PEEK | MSG_DONTWAIT);
	/* The next byte of a header that is not whole is always one of its own. */
	if (got <= 0)
		return 1;
	return proxy_parse(bytes, had + (size_t)got, &proxy, &used) == PROXY_DONE ? used - had
										  : (size_t)got;
}
