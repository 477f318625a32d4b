/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * users_status.h - why a line of a list, or a list, is refused.
 *
 * Flow: users_list.c, users_build.c and smtp-front-users return them -> the last one logs the text.
 * 0 is success; else -errno, a status of lib/lmdb, or one of the values below.
 */

#include "lib/lmdb/store.h"

#ifdef __cplusplus
extern "C" {
#endif

#define USERS_STATUS_MAP(X)                                                                        \
	X(USERS_ESHRINK, -2500, "list would shrink too much")                                      \
	X(USERS_EREFUSED, -2501, "lines were refused")                                             \
	X(USERS_EEMPTY, -2502, "no recipient in the lists")                                        \
	X(USERS_EWORDS, -2520, "more than one word in the line")                                   \
	X(USERS_EADDRESS, -2521, "no \"@\" in the address")                                        \
	X(USERS_ELOCAL, -2522, "not a local part")                                                 \
	X(USERS_ELOCALSIZE, -2523, "local part of more than 64 bytes")                             \
	X(USERS_EDOMAIN, -2524, "not a domain")                                                    \
	X(USERS_EDOMAINSIZE, -2525, "domain of more than 255 bytes, or label of more than 63")     \
	X(USERS_EUTF8, -2526, "not UTF-8")                                                         \
	X(USERS_ELINE, -2527, "line of more than 1000 bytes")

enum users_status {
#define X(name, code, text) name = code,
	USERS_STATUS_MAP(X)
#undef X
};

/* Text for these and for those of lib/lmdb. Never NULL. */
const char *users_strerror(int status);

#ifdef __cplusplus
}
#endif
