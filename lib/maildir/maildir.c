/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/maildir/maildir.h"

#include "lib/common/wholefile.h"
#include "lib/format/hex.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STALE_S (36 * 3600)

/* "BOX/FOLDER/NAME". Fits: two names of MAILDIR_BOX_SIZE and MAILDIR_NAME_SIZE at most. */
struct path {
	char text[MAILDIR_BOX_SIZE + 8 + MAILDIR_NAME_SIZE];
};

static struct path path_of(const char *box, const char *folder, const char *name)
{
	struct path path;
	(void)snprintf(path.text, sizeof(path.text), "%s/%s%s%s", box, folder,
		       name[0] != '\0' ? "/" : "", name);
	return path;
}

/* ---- names ---- */

void maildir_make_name(const char *hostname, char *ret_name)
{
	struct timespec now;
	uint64_t number = 0;
	char host[65];

	clock_gettime(CLOCK_REALTIME, &now);
	/* Without it the name is unique as long as the clock does not go back. */
	(void)getrandom(&number, sizeof(number), GRND_NONBLOCK);
	(void)snprintf(host, sizeof(host), "%s", hostname);
	for (char *at = host; *at != '\0'; at++) {
		if (*at == '/' || *at == ':')
			*at = '_'; /* ":" begins the flags of a mail that was read */
	}
	(void)snprintf(ret_name, MAILDIR_NAME_SIZE, "%lld.M%06ldP%ldR%016" PRIx64 ".%s",
		       (long long)now.tv_sec, now.tv_nsec / 1000, (long)getpid(), number, host);
}

static bool is_escaped(uint8_t byte, bool is_first)
{
	return byte <= ' ' || byte == 0x7f || byte == '/' || byte == '%' ||
	       (byte == '.' && is_first);
}

bool maildir_box_of(const uint8_t *mailbox, size_t size, char *ret_box)
{
	size_t done = 0;
	for (size_t i = 0; i < size; i++) {
		const bool escapes = is_escaped(mailbox[i], i == 0);
		const size_t left = MAILDIR_BOX_SIZE - done;
		if (left < (escapes ? 4 : 2))
			return false;
		if (escapes)
			done += (size_t)snprintf(ret_box + done, left, "%%%02X", mailbox[i]);
		else
			ret_box[done++] = (char)mailbox[i];
	}
	ret_box[done] = '\0';
	return done > 0;
}

bool maildir_mailbox_of(const char *box, uint8_t *ret_mailbox, size_t *ret_size)
{
	char again[MAILDIR_BOX_SIZE];
	size_t size = 0;
	for (size_t i = 0; box[i] != '\0' && size < MAILDIR_BOX_SIZE; size++) {
		const int byte = box[i] == '%' ? hex_pair(box + i + 1) : -1;
		ret_mailbox[size] = byte >= 0 ? (uint8_t)byte : (uint8_t)box[i];
		i += byte >= 0 ? 3 : 1;
	}
	*ret_size = size;
	/* Each mailbox has one box. */
	return maildir_box_of(ret_mailbox, size, again) && strcmp(again, box) == 0;
}

/* ---- directories ---- */

/* 0 or -errno; a directory that is there is fine. */
static int make_directory(int root_fd, const char *path)
{
	if (mkdirat(root_fd, path, 0700) != 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* fsync() of a directory: what was linked there stays after a loss of power. */
static int sync_directory(int root_fd, const char *path)
{
	const int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	const int ret = fsync(fd) == 0 ? 0 : -errno;
	(void)close(fd);
	return ret;
}

int maildir_open_root(const char *path, int *ret_root_fd)
{
	const bool is_made = mkdir(path, 0700) == 0;
	if (!is_made && errno != EEXIST)
		return -errno;
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int ret = sync_directory(fd, "..");
	/* One that was there may be where we cannot read, or nothing can be synced, as a mount point. */
	if (!is_made && (ret == -EACCES || ret == -EINVAL))
		ret = 0;
	if (ret == 0)
		*ret_root_fd = fd;
	else
		(void)close(fd);
	return ret;
}

int maildir_make_box(int root_fd, const char *box)
{
	struct stat facts;

	/* cur is made when the others are on disk: where it is, nothing is left to be synced but it. */
	if (fstatat(root_fd, path_of(box, "cur", "").text, &facts, 0) == 0)
		return 0;
	int ret = strcmp(box, MAILDIR_ROOT) == 0 ? 0 : make_directory(root_fd, box);
	if (ret == 0)
		ret = make_directory(root_fd, path_of(box, "tmp", "").text);
	if (ret == 0)
		ret = make_directory(root_fd, path_of(box, "new", "").text);
	if (ret == 0)
		ret = sync_directory(root_fd, box);
	if (ret == 0)
		ret = sync_directory(root_fd, ".");
	if (ret == 0)
		ret = make_directory(root_fd, path_of(box, "cur", "").text);
	return ret == 0 ? sync_directory(root_fd, box) : ret;
}

int maildir_sync_box(int root_fd, const char *box)
{
	return sync_directory(root_fd, path_of(box, "new", "").text);
}

static void remove_if_stale(int root_fd, const char *name, time_t now_s)
{
	const struct path path = path_of(MAILDIR_ROOT, "tmp", name);
	struct stat facts;

	if (fstatat(root_fd, path.text, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(facts.st_mode) && facts.st_mtime < now_s - STALE_S)
		(void)unlinkat(root_fd, path.text, 0);
}

void maildir_sweep(int root_fd)
{
	const int fd = openat(root_fd, "tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	const time_t now_s = time(NULL);

	if (folder == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		/* Ours are not longer. */
		if (strlen(entry->d_name) < MAILDIR_NAME_SIZE)
			remove_if_stale(root_fd, entry->d_name, now_s);
	}
	(void)closedir(folder);
}

/* ---- a mail ---- */

static int try_file(const struct maildir *mail)
{
	const int fd = openat(mail->root_fd, path_of(MAILDIR_ROOT, "tmp", mail->name).text,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int maildir_begin(int root_fd, const char *name, struct maildir *ret_mail)
{
	*ret_mail = (struct maildir){ .root_fd = root_fd };
	if (strlen(name) >= sizeof(ret_mail->name))
		return -ENAMETOOLONG;
	(void)snprintf(ret_mail->name, sizeof(ret_mail->name), "%s", name);
	int fd = try_file(ret_mail);
	if (fd == -ENOENT) {
		const int ret = make_directory(root_fd, "tmp");
		fd = ret == 0 ? try_file(ret_mail) : ret;
	}
	if (fd < 0) {
		ret_mail->name[0] = '\0'; /* a file of that name is not this mail's */
		return fd;
	}
	ret_mail->fd = fd;
	ret_mail->is_open = true;
	return 0;
}

int maildir_write(const struct maildir *mail, const void *bytes, size_t size)
{
	return wholefile_put(mail->fd, bytes, size);
}

int maildir_settle(struct maildir *mail)
{
	int ret = fsync(mail->fd) == 0 ? 0 : -errno;
	/* A file system over a network may say here what it could not write. */
	if (close(mail->fd) != 0 && ret == 0)
		ret = -errno;
	mail->is_open = false;
	return ret;
}

int maildir_link(const struct maildir *mail, const char *box, const char *name)
{
	const struct path from = path_of(MAILDIR_ROOT, "tmp", mail->name);
	const struct path to = path_of(box, "new", name);
	return linkat(mail->root_fd, from.text, mail->root_fd, to.text, 0) == 0 ? 0 : -errno;
}

void maildir_unlink(const struct maildir *mail, const char *box)
{
	(void)unlinkat(mail->root_fd, path_of(box, "new", mail->name).text, 0);
}

int maildir_publish(const struct maildir *mail, const char *const *boxes, size_t count)
{
	size_t linked = 0;
	int ret = 0;
	while (ret == 0 && linked < count) {
		ret = maildir_link(mail, boxes[linked], mail->name);
		if (ret == 0)
			ret = maildir_sync_box(mail->root_fd, boxes[linked++]);
	}
	/* It will be sent again: no box is to have it twice then. */
	while (ret != 0 && linked > 0)
		maildir_unlink(mail, boxes[--linked]);
	return ret;
}

void maildir_abort(struct maildir *mail)
{
	if (mail->is_open)
		(void)close(mail->fd);
	if (mail->name[0] != '\0')
		(void)unlinkat(mail->root_fd, path_of(MAILDIR_ROOT, "tmp", mail->name).text, 0);
	*mail = (struct maildir){ 0 };
}
