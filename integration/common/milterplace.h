/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * milterplace.h - where mail servers connect to a milter, in a configuration's word and in libmilter's.
 *
 * Flow: "socket" of a configuration -> milterplace_take() -> path and connection, for the file that
 *       knows libmilter.
 *
 *     socket: /run/dnsblv6-milter/socket      local:/run/dnsblv6-milter/socket
 *     socket: 127.0.0.1@8891                  inet:8891@127.0.0.1
 *
 * This file alone knows how libmilter spells a socket. A plain value.
 */

#include "lib/common/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MILTERPLACE_MAX 100 /* the path of a UNIX socket has 107 */

struct milterplace {
	char path[MILTERPLACE_MAX + 1];	       /* of the socket; "": it is an address */
	char connection[MILTERPLACE_MAX + 16]; /* libmilter's word for either */
};

/* For .take of a row whose member is a struct milterplace. */
const char *milterplace_take(void *member, const struct conf_value *value);

/* The row "socket"; usual is a string literal. */
#define MILTERPLACE_SOCKET(type, member, usual)                                                    \
	{                                                                                          \
		"socket", CONF_PLACE, CONF_AT(type, member),                                       \
			.max = MILTERPLACE_MAX, .take = milterplace_take, .preset = (usual)        \
	}

#ifdef __cplusplus
}
#endif
