/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-stored/boxes/clockdoubt.h"

#include "lib/common/wholefile.h"
#include "lib/format/bytes.h"
#include "lib/mailstore/mailrecord.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	  "Dck1"
#define CRC_AT	  20
#define FILE_SIZE 24

int64_t clockdoubt_look(struct clockdoubt *doubt, int64_t wall_us, int64_t steady_us)
{
	const int64_t passed_us = steady_us - doubt->steady_us;
	doubt->steady_us = steady_us;
	doubt->trusted_us += passed_us;
	const int64_t leap_us = wall_us - doubt->trusted_us;
	const bool is_far = leap_us > CLOCKDOUBT_DAY_US || leap_us < -CLOCKDOUBT_DAY_US;
	if (is_far && doubt->left_us == 0) {
		doubt->left_us = CLOCKDOUBT_DAY_US;
		return leap_us;
	}
	doubt->left_us = is_far && doubt->left_us > passed_us ? doubt->left_us - passed_us : 0;
	if (doubt->left_us == 0)
		doubt->trusted_us = wall_us;
	return 0;
}

static int make_path(const char *directory, char *ret_path)
{
	return snprintf(ret_path, PATH_MAX, "%s/clock", directory) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool read_file(const char *path, uint8_t *bytes)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const bool is_read = fd >= 0 && wholefile_get(fd, 0, bytes, FILE_SIZE) == 0;
	if (fd >= 0)
		close(fd);
	return is_read;
}

bool clockdoubt_load(const char *directory, struct clockdoubt *doubt)
{
	char path[PATH_MAX];
	uint8_t bytes[FILE_SIZE];
	if (make_path(directory, path) != 0 || !read_file(path, bytes))
		return false;
	const uint64_t trusted_us = bytes_get(bytes + 4, 8);
	const uint64_t left_us = bytes_get(bytes + 12, 8);
	if (memcmp(bytes, MAGIC, 4) != 0 ||
	    bytes_get(bytes + CRC_AT, 4) != mailrecord_crc(0, bytes, CRC_AT) ||
	    trusted_us > INT64_MAX / 4 || left_us > CLOCKDOUBT_DAY_US)
		return false;
	doubt->trusted_us = (int64_t)trusted_us;
	doubt->left_us = (int64_t)left_us;
	return true;
}

int clockdoubt_save(const char *directory, const struct clockdoubt *doubt)
{
	char path[PATH_MAX];
	uint8_t bytes[FILE_SIZE] = MAGIC;
	uint8_t *at = bytes + 4;
	bytes_put(&at, (uint64_t)doubt->trusted_us, 8);
	bytes_put(&at, (uint64_t)doubt->left_us, 8);
	bytes_put(&at, mailrecord_crc(0, bytes, CRC_AT), 4);
	const int ret = make_path(directory, path);
	return ret == 0 ? wholefile_write(AT_FDCWD, path, bytes, FILE_SIZE, 0640, 0) : ret;
}
