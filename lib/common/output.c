/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/common/log.h"

static bool has_reader(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0;
}

void output_end(void)
{
	/* Something in the middle may be lost although the end is not, and its reason too. */
	int ret = ferror(stdout) != 0 ? -EIO : 0;
	if (fflush(stdout) != 0)
		ret = -errno;
	if (ret == 0)
		return;
	if (ret == -EPIPE || !has_reader()) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	log_error(NULL, "output not written (%s)", strerror(-ret));
	_exit(EX_IOERR);
}
