/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/worker/hold.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int hold_open(struct hold *ret_hold)
{
	ret_hold->fd = memfd_create("held-mail", MFD_CLOEXEC);
	return ret_hold->fd < 0 ? -errno : 0;
}

void hold_close(struct hold *hold)
{
	if (hold->fd >= 0)
		(void)close(hold->fd);
	hold->fd = -1;
}

int hold_append(struct hold *hold, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		const ssize_t written = write(hold->fd, bytes, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

ssize_t hold_read(const struct hold *hold, uint64_t offset, uint8_t *ret_bytes, size_t size)
{
	ssize_t got = -1;
	do
		got = pread(hold->fd, ret_bytes, size, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}
