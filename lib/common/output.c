/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/common/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static bool has_reader(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&out, 1, 0) <= 0 || (out.revents & POLLERR) == 0;
}

int output_end(bool may_stop)
{
	/* Something in the middle may be lost although the end is not, and its reason too. */
	int ret = ferror(stdout) != 0 ? -EIO : 0;
	if (fflush(stdout) != 0)
		ret = -errno;
	return ret != 0 && may_stop && (ret == -EPIPE || !has_reader()) ? 0 : ret;
}
