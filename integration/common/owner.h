/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * owner.h - the user that a daemon becomes, and the owner of its socket.
 *
 * Flow: "user", "socket-group" and "socket-mode" of a configuration, whose rows are here ->
 *       owner_drop() once everything that only root may do is done -> owner_give() for a socket
 *       that is bound.
 *
 * A plain value. Without a user the daemon keeps the one that started it; without a group the
 * socket has the daemon's, or that of a directory with the set-group-ID bit.
 */

#include <sys/types.h>

#include "lib/common/conf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OWNER_NAME_MAX 128

struct owner {
	char user[OWNER_NAME_MAX + 1]; /* "": the one that started the daemon */
	uid_t uid;
	gid_t gid;
	char group[OWNER_NAME_MAX + 1]; /* of the socket; "": the user's */
	gid_t socket_gid;
	unsigned socket_mode;
};

/* For the rows below: the member is a struct owner. */
const char *owner_take_user(void *member, const struct conf_value *value);
const char *owner_take_group(void *member, const struct conf_value *value);

/* The row of a user, and those of a socket in the file system. */
#define OWNER_USER(name, type, member)                                                             \
	{                                                                                          \
		name, CONF_TEXT, CONF_AT(type, member), .max = OWNER_NAME_MAX,                     \
							.take = owner_take_user                    \
	}
#define OWNER_SOCKET_GROUP(type, member)                                                           \
	{                                                                                          \
		"socket-group", CONF_TEXT, CONF_AT(type, member), .max = OWNER_NAME_MAX,           \
								  .take = owner_take_group         \
	}
#define OWNER_SOCKET_MODE(type, member)                                                            \
	{                                                                                          \
		"socket-mode", CONF_MODE, CONF_AT(type, member.socket_mode), .preset = "660"       \
	}

/*
 * Becomes the user, for good, with all groups of the user, as a service manager would, and with the
 * socket's, so that the socket can be given to it later. An exit status; what is not EX_OK is logged
 * under context.
 */
int owner_drop(const struct owner *owner, const char *context);
/* The same with no group but the user's first and the socket's, for a process that asks no other. */
int owner_drop_bare(const struct owner *owner, const char *context);

/*
 * Makes a directory, which is the user's from the beginning and has that mode whatever umask is; one
 * that is there stays as it is. An exit status; what is not EX_OK is logged under context.
 */
int owner_make_directory(const struct owner *owner, const char *path, mode_t mode,
			 const char *context);

/* Group and permissions of a socket in the file system, as root also its user. 0 or -errno. */
int owner_give(const struct owner *owner, const char *path);
/* Why there is no such socket, for a line of the log, of what owner_give() or a call before it has returned. */
const char *owner_explain(const struct owner *owner, int ret);

#ifdef __cplusplus
}
#endif
