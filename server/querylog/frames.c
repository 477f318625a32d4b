/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/querylog/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <fstrm.h>

#include "lib/process/clock.h"
#include "lib/process/listening.h"

#define CONTENT	    "protobuf:dnstap.Dnstap"
#define LENGTH_SIZE sizeof(uint32_t)
#define CONTROL_MAX FSTRM_CONTROL_FRAME_LENGTH_MAX
/* Behind the name of a file: "-20261120T162500Z", and a number. */
#define SUFFIX_MAX 40
#define NAMES_MAX  100
#define RETRY_MS   1000

int frames_init(struct frames *frames, const char *path, bool is_socket)
{
	*frames = (struct frames){ .path = path, .is_socket = is_socket, .fd = -1 };
	frames->buffer = malloc(FRAMES_BUFFER_SIZE);
	return frames->buffer != NULL ? 0 : -ENOMEM;
}

static void drop_connection(struct frames *frames)
{
	if (frames->fd >= 0)
		close(frames->fd);
	frames->fd = -1;
}

void frames_deinit(struct frames *frames)
{
	drop_connection(frames);
	free(frames->buffer);
	frames->buffer = NULL;
}

/* ---- bytes ---- */

static int write_all(const struct frames *frames, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t written = frames->is_socket ? send(frames->fd, data, size, MSG_NOSIGNAL)
						    : write(frames->fd, data, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		data += written;
		size -= (size_t)written;
	}
	return 0;
}

static int read_all(int fd, uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t got = recv(fd, data, size, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		data += got;
		size -= (size_t)got;
	}
	return 0;
}

/* ---- control frames ---- */

static int write_control(const struct frames *frames, fstrm_control_type type)
{
	uint8_t wire[CONTROL_MAX];
	size_t size = sizeof(wire);
	struct fstrm_control *control = fstrm_control_init();
	if (control == NULL)
		return -ENOMEM;
	fstrm_res res = fstrm_control_set_type(control, type);
	if (res == fstrm_res_success &&
	    (type == FSTRM_CONTROL_READY || type == FSTRM_CONTROL_START))
		res = fstrm_control_add_field_content_type(control, (const uint8_t *)CONTENT,
							   sizeof(CONTENT) - 1);
	if (res == fstrm_res_success)
		res = fstrm_control_encode(control, wire, &size, FSTRM_CONTROL_FLAG_WITH_HEADER);
	fstrm_control_destroy(&control);
	return res == fstrm_res_success ? write_all(frames, wire, size) : -EINVAL;
}

static bool is_expected(const uint8_t *wire, size_t size, fstrm_control_type type)
{
	fstrm_control_type found;
	struct fstrm_control *control = fstrm_control_init();
	bool is_right = control != NULL &&
			fstrm_control_decode(control, wire, size, 0) == fstrm_res_success &&
			fstrm_control_get_type(control, &found) == fstrm_res_success &&
			found == type;
	if (is_right && type == FSTRM_CONTROL_ACCEPT)
		is_right = fstrm_control_match_field_content_type(control, (const uint8_t *)CONTENT,
								  sizeof(CONTENT) - 1) ==
			   fstrm_res_success;
	fstrm_control_destroy(&control);
	return is_right;
}

/* An empty frame announces a control frame, whose length follows. */
static int read_control(const struct frames *frames, fstrm_control_type type)
{
	uint32_t head[2];
	uint8_t wire[CONTROL_MAX];
	int ret = read_all(frames->fd, (uint8_t *)head, sizeof(head));
	if (ret != 0)
		return ret;
	size_t size = ntohl(head[1]);
	if (head[0] != 0 || size > sizeof(wire))
		return -EPROTO;
	ret = read_all(frames->fd, wire, size);
	if (ret == 0 && !is_expected(wire, size, type))
		ret = -EPROTO;
	return ret;
}

/* ---- opening ---- */

static int open_socket(struct frames *frames)
{
	int ret = listening_connect_path(frames->path, SOCK_STREAM, FRAMES_PATIENCE_S, &frames->fd);
	if (ret == 0)
		ret = write_control(frames, FSTRM_CONTROL_READY);
	return ret == 0 ? read_control(frames, FSTRM_CONTROL_ACCEPT) : ret;
}

/* The name itself, then with the time, then with a number as well. */
static void make_name(const char *path, unsigned try, char *ret_name)
{
	char suffix[SUFFIX_MAX] = "";
	time_t now = time(NULL);
	struct tm parts;
	gmtime_r(&now, &parts);
	if (try > 0)
		strftime(suffix, sizeof(suffix), "-%Y%m%dT%H%M%SZ", &parts);
	size_t size = strlen(suffix);
	if (try > 1)
		snprintf(suffix + size, sizeof(suffix) - size, ".%u", try);
	snprintf(ret_name, PATH_MAX + SUFFIX_MAX, "%s%s", path, suffix);
}

static int open_file(struct frames *frames)
{
	char name[PATH_MAX + SUFFIX_MAX];
	for (unsigned try = 0; try < NAMES_MAX && frames->fd < 0; try++) {
		make_name(frames->path, try, name);
		frames->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
		if (frames->fd < 0 && errno != EEXIST)
			return -errno;
	}
	frames->good = 0;
	return frames->fd >= 0 ? 0 : -EEXIST;
}

/* What did not fit was begun. */
static void forget_rest(const struct frames *frames)
{
	if (lseek(frames->fd, frames->good, SEEK_SET) < 0 ||
	    ftruncate(frames->fd, frames->good) != 0)
		return; /* then its last frame is cut, which readers tell */
}

/* A file that had no room for its beginning is open, and has no good byte. */
static int open_stream(struct frames *frames)
{
	int ret = 0;
	if (frames->fd >= 0 && (frames->is_socket || frames->good > 0))
		return 0;
	if (frames->is_socket && clock_now_ms() < frames->retry_ms)
		return -EAGAIN;
	if (frames->fd < 0)
		ret = frames->is_socket ? open_socket(frames) : open_file(frames);
	if (ret == 0)
		ret = write_control(frames, FSTRM_CONTROL_START);
	frames->retry_ms = clock_now_ms() + RETRY_MS;
	if (ret != 0 && frames->is_socket)
		drop_connection(frames);
	else if (ret != 0 && frames->fd >= 0)
		forget_rest(frames);
	else if (ret == 0 && !frames->is_socket)
		frames->good = lseek(frames->fd, 0, SEEK_CUR);
	return ret;
}

/* ---- writing ---- */

static int write_buffer(struct frames *frames)
{
	int ret = open_stream(frames);
	if (ret != 0)
		return ret;
	ret = write_all(frames, frames->buffer, frames->used);
	if (ret == 0)
		frames->good += (off_t)frames->used;
	else if (frames->is_socket)
		drop_connection(frames);
	else
		forget_rest(frames);
	return ret;
}

int frames_flush(struct frames *frames)
{
	int ret = frames->used == 0 ? 0 : write_buffer(frames);
	if (ret != 0)
		frames->lost += frames->count;
	frames->used = 0;
	frames->count = 0;
	return ret;
}

int frames_put(struct frames *frames, const void *data, size_t size)
{
	uint32_t length = htonl((uint32_t)size);
	int ret = 0;
	if (frames->used + LENGTH_SIZE + size > FRAMES_BUFFER_SIZE)
		ret = frames_flush(frames);
	memcpy(frames->buffer + frames->used, &length, LENGTH_SIZE);
	memcpy(frames->buffer + frames->used + LENGTH_SIZE, data, size);
	frames->used += LENGTH_SIZE + size;
	frames->count++;
	return ret;
}

void frames_close(struct frames *frames)
{
	frames_flush(frames);
	if (frames->fd >= 0 && write_control(frames, FSTRM_CONTROL_STOP) == 0 && frames->is_socket)
		read_control(frames, FSTRM_CONTROL_FINISH);
	drop_connection(frames);
}
