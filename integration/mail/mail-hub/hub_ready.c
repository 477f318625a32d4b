/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-hub/hub_ready.h"

#include "integration/common/program.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WORD_MAX  1024
#define WORDS_MAX 64 /* of one call: a program that never stops speaking does not keep the hub */

/* Root's, so that one that has given up its rights over files can write to it, too. */
static int give(const char *path, const struct owner *owner)
{
	bool is_given = geteuid() == 0 && owner->user[0] != '\0';
	if (is_given && lchown(path, (uid_t)-1, owner->gid) != 0)
		return -errno;
	return chmod(path, 0660) == 0 ? 0 : -errno;
}

int hub_ready_open(const char *path, const struct owner *owner, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	*ret_fd = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (unlink(path) != 0 && errno != ENOENT)
		return -errno;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	int ret = 0;
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		ret = -errno;
	if (ret == 0)
		ret = give(path, owner);
	if (ret == 0)
		*ret_fd = fd;
	else
		close(fd);
	return ret;
}

static bool has_line(const char *text, const char *line)
{
	size_t size = strlen(line);
	for (; text != NULL; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, line, size) == 0 && (text[size] == '\0' || text[size] == '\n'))
			return true;
	}
	return false;
}

struct hub_ready_words hub_ready_take(int fd)
{
	char text[WORD_MAX + 1];
	struct hub_ready_words words = { .is_ready = false };
	for (unsigned count = 0; count < WORDS_MAX; count++) {
		const ssize_t size = recv(fd, text, WORD_MAX, MSG_DONTWAIT);
		if (size < 0)
			break;
		text[size] = '\0';
		words.is_ready = has_line(text, "READY=1") || words.is_ready;
		words.has_refused = has_line(text, PROGRAM_NOT_RELOADED) || words.has_refused;
	}
	return words;
}
