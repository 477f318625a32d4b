/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/store/syncer.h"

#include "integration/mail/base/nanny/confine.h"
#include "integration/mail/mail-stored/store/errand.h"
#include "lib/process/callfilter.h"
#include "lib/process/capabilities.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static void filter_calls(void)
{
	static const char *const calls[] = { "fdatasync", "fsync" };
	const struct callfilter_list lists[] = {
		{ true, CALLFILTER_ALLOW, CALLFILTER_NAMES(calls) },
	};
	struct callfilter filter = { 0 };
	if (!callfilter_can_load() || prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
		return;
	if (callfilter_make(CALLFILTER_REFUSE, lists, 1, &filter) == 0)
		(void)callfilter_load(&filter);
	callfilter_deinit(&filter);
}

/* In this order: another user, or fewer capabilities, take the signal away. */
static int confine(const void *owner)
{
	int ret = confine_user(owner);
	if (ret == 0)
		ret = capabilities_keep(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	filter_calls();
	return ret;
}

static int sync_it(const void *data, int descriptor)
{
	(void)data;
	return fdatasync(descriptor) == 0 ? 0 : -errno;
}

int syncer_begin(const struct owner *owner, int *ret_fd)
{
	const struct errand errand = { "syncer", confine, sync_it, owner };
	int fd;
	int ret = errand_begin(&errand, &fd);
	if (ret != 0)
		return ret;
	if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}
