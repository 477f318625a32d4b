/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/daemon.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/log.h"

struct daemon_command daemon_read_command(const struct options_table *table, int argc, char **argv)
{
	struct daemon_command command = { 0 };
	options_settle_process();
	options_parse_alone(table, argc, argv, &command);
	return command;
}

rlim_t daemon_raise_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return RLIM_INFINITY;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

unsigned daemon_share_descriptors(const char *context, unsigned own_count, unsigned client_max)
{
	rlim_t all = daemon_raise_descriptors();
	if (all == RLIM_INFINITY)
		return client_max;
	rlim_t left = all > own_count ? all - own_count : 1;
	if (client_max <= left)
		return client_max;
	log_warning(context, "fewer clients than configured, clients=%u descriptors=%llu",
		    (unsigned)left, (unsigned long long)all);
	return (unsigned)left;
}

int daemon_drop_privileges(const struct daemon_user *user, const char *context)
{
	if (user->name[0] == '\0')
		return EX_OK;
	if (geteuid() != 0) {
		if (geteuid() != user->uid)
			log_warning(context, "user not changed, not started as root, user=%s",
				    user->name);
		return EX_OK;
	}
	if (setgroups(user->group_count, user->groups) != 0 || setgid(user->gid) != 0 ||
	    setuid(user->uid) != 0) {
		log_error(context, "user not changed, user=%s (%s)", user->name, strerror(errno));
		return EX_NOPERM;
	}
	/* Not a way back: what looks dropped must be dropped. */
	if (user->uid != 0 && setuid(0) == 0) {
		log_error(context, "privileges not dropped, user=%s", user->name);
		return EX_SOFTWARE;
	}
	return EX_OK;
}
