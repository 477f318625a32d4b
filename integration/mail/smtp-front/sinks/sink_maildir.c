/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sink_maildir.c - mail into maildirs: one for all, or one for each recipient.
 *
 * A mail is written to tmp/ of the sink's directory, and fsync() says that the disk has it. Then
 * it gets a name in new/ of each recipient by link(), which never replaces a file, and each new/
 * is synced: all names, or none and a 4xx. So the copies of several recipients are one file, and a
 * maildir that is not there yet is made when there is a mail for it, not for a RCPT.
 * A worker that is killed leaves a file in tmp/; as readers of maildirs do with theirs, each new
 * worker removes those of 36 hours ago.
 *
 * Lines end in LF there, as every reader of maildirs expects; before the header stands a
 * Return-Path (RFC 5321 4.4), for this is the final delivery.
 */
#include "integration/mail/smtp-front/sinks/sink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_SIZE 16384
#define NAME_ROOM  128 /* time, process, random number, hostname cut to 64 */
#define BOX_ROOM   256 /* NAME_MAX and the NUL */
#define STALE_S	   (36 * 3600)

struct maildir {
	struct sink sink;
	int root_fd;
	char **boxes; /* of the mail, names below root_fd; "." is root_fd itself */
	size_t box_count;
	size_t box_room;
	char name[NAME_ROOM];
	int fd; /* the file in tmp/; -1 outside of begin..commit */
	bool has_swept;
	char sender[ENVELOPE_ADDRESS_MAX + 1];
	size_t block_size;
	uint8_t block[BLOCK_SIZE];
};

static struct maildir *maildir_of(struct sink *sink)
{
	return (struct maildir *)sink;
}

/* "BOX/FOLDER/NAME". Fits: two names of BOX_ROOM and NAME_ROOM at most. */
struct path {
	char text[BOX_ROOM + 8 + NAME_ROOM];
};

static struct path path_of(const char *box, const char *folder, const char *name)
{
	struct path path;
	(void)snprintf(path.text, sizeof(path.text), "%s/%s%s%s", box, folder,
		       name[0] != '\0' ? "/" : "", name);
	return path;
}

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

/* The three folders of a box, and the box. */
static int make_box(int root_fd, const char *box)
{
	static const char *const folders[] = { "tmp", "new", "cur" };
	struct stat facts;

	/* cur is made last: where it is, all of them are. */
	if (fstatat(root_fd, path_of(box, "cur", "").text, &facts, 0) == 0)
		return 0;
	int ret = strcmp(box, ".") == 0 ? 0 : make_directory(root_fd, box);
	for (size_t i = 0; ret == 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		ret = make_directory(root_fd, path_of(box, folders[i], "").text);
	if (ret == 0)
		ret = sync_directory(root_fd, box);
	return ret == 0 ? sync_directory(root_fd, ".") : ret;
}

/*
 * With what is not for a name of a file as %XX: controls, "/", "%", and a dot in front. false
 * when that is too long for one.
 */
static bool box_of(const char *mailbox, char *ret_box)
{
	size_t size = 0;
	for (const char *at = mailbox; *at != '\0'; at++) {
		const unsigned char byte = (unsigned char)*at;
		if (size + 4 > BOX_ROOM)
			return false;
		if (byte <= ' ' || byte == 0x7f || byte == '/' || byte == '%' ||
		    (byte == '.' && at == mailbox)) {
			size += (size_t)snprintf(ret_box + size, BOX_ROOM - size, "%%%02X", byte);
			continue;
		}
		ret_box[size++] = *at;
	}
	ret_box[size] = '\0';
	return size > 0;
}

/* Unique for this machine and for all that share the directory. */
static void make_name(struct maildir *maildir)
{
	struct timespec now;
	uint64_t number = 0;
	char host[65];

	clock_gettime(CLOCK_REALTIME, &now);
	/* Without it the name is unique as long as the clock does not go back. */
	(void)getrandom(&number, sizeof(number), GRND_NONBLOCK);
	(void)snprintf(host, sizeof(host), "%s", maildir->sink.hostname);
	for (char *at = host; *at != '\0'; at++) {
		if (*at == '/' || *at == ':')
			*at = '_'; /* ":" begins the flags of a mail that was read */
	}
	(void)snprintf(maildir->name, sizeof(maildir->name), "%lld.M%06ldP%ldR%016" PRIx64 ".%s",
		       (long long)now.tv_sec, now.tv_nsec / 1000, (long)getpid(), number, host);
}

static void forget_boxes(struct maildir *maildir)
{
	for (size_t i = 0; i < maildir->box_count; i++)
		free(maildir->boxes[i]);
	maildir->box_count = 0;
}

static void remove_if_stale(const struct maildir *maildir, const char *name, time_t now_s)
{
	const struct path path = path_of(".", "tmp", name);
	struct stat facts;

	if (fstatat(maildir->root_fd, path.text, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(facts.st_mode) && facts.st_mtime < now_s - STALE_S)
		(void)unlinkat(maildir->root_fd, path.text, 0);
}

/* What other workers were killed over. Whatever fails here is tried again by the next worker. */
static void sweep(const struct maildir *maildir)
{
	const int fd = openat(maildir->root_fd, "tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
	const time_t now_s = time(NULL);

	if (folder == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		/* Ours are not longer. */
		if (strlen(entry->d_name) < NAME_ROOM)
			remove_if_stale(maildir, entry->d_name, now_s);
	}
	(void)closedir(folder);
}

static void maildir_enter(struct sink *sink)
{
	struct maildir *maildir = maildir_of(sink);

	if (!maildir->has_swept)
		sweep(maildir);
	maildir->has_swept = true;
}

static void maildir_abort(struct sink *sink)
{
	struct maildir *maildir = maildir_of(sink);

	if (maildir->fd >= 0) {
		(void)close(maildir->fd);
		(void)unlinkat(maildir->root_fd, path_of(".", "tmp", maildir->name).text, 0);
	}
	maildir->fd = -1;
	forget_boxes(maildir);
}

static bool maildir_mail(struct sink *sink, const struct envelope *envelope,
			 struct sink_reply *reply)
{
	struct maildir *maildir = maildir_of(sink);

	maildir_abort(sink);
	(void)snprintf(maildir->sender, sizeof(maildir->sender), "%s", envelope->sender);
	return sink_say(reply, 250, "2.1.0 Ok");
}

static int remember_box(struct maildir *maildir, const char *box)
{
	for (size_t i = 0; i < maildir->box_count; i++) {
		if (strcmp(maildir->boxes[i], box) == 0)
			return 0; /* the same recipient twice gets one */
	}
	if (maildir->box_count == maildir->box_room) {
		const size_t room = maildir->box_room == 0 ? 8 : maildir->box_room * 2;
		char **boxes = reallocarray(maildir->boxes, room, sizeof(*boxes));
		if (boxes == NULL)
			return -ENOMEM;
		maildir->boxes = boxes;
		maildir->box_room = room;
	}
	char *copy = strdup(box);
	if (copy == NULL)
		return -ENOMEM;
	maildir->boxes[maildir->box_count++] = copy;
	return 0;
}

static bool maildir_recipient(struct sink *sink, const struct recipient *recipient,
			      const char *mailbox, struct sink_reply *reply)
{
	struct maildir *maildir = maildir_of(sink);
	char box[BOX_ROOM] = ".";

	(void)recipient;
	if (sink->setup->maildir == SETUP_MAILDIR_RECIPIENT && !box_of(mailbox, box))
		return sink_say(reply, 550, "5.1.3 Address is too long for a mailbox here");
	const int ret = remember_box(maildir, box);
	if (ret < 0)
		return sink_fail(sink, reply, "mailbox", -ret);
	return sink_say(reply, 250, "2.1.5 Ok");
}

static int write_block(struct maildir *maildir)
{
	size_t done = 0;
	while (done < maildir->block_size) {
		const ssize_t written =
			write(maildir->fd, maildir->block + done, maildir->block_size - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		done += (size_t)written;
	}
	maildir->block_size = 0;
	return 0;
}

/* CRLF becomes LF: there is no CR but those. 0 or -errno. */
static int put(struct maildir *maildir, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\r')
			continue;
		maildir->block[maildir->block_size++] = bytes[i];
		if (maildir->block_size < BLOCK_SIZE)
			continue;
		const int ret = write_block(maildir);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The mail is gone, and the client hears why. */
static bool give_up(struct sink *sink, struct sink_reply *reply, const char *step, int error)
{
	maildir_abort(sink);
	return sink_fail(sink, reply, step, error);
}

static int try_file(const struct maildir *maildir)
{
	const int fd = openat(maildir->root_fd, path_of(".", "tmp", maildir->name).text,
			      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* In tmp/, which is made for the first one. 0 or -errno. */
static int open_file(struct maildir *maildir)
{
	maildir->fd = try_file(maildir);
	if (maildir->fd != -ENOENT)
		return maildir->fd < 0 ? maildir->fd : 0;
	const int ret = make_directory(maildir->root_fd, "tmp");
	if (ret == 0)
		maildir->fd = try_file(maildir);
	return maildir->fd < 0 ? maildir->fd : 0;
}

static bool maildir_begin(struct sink *sink, struct sink_reply *reply)
{
	struct maildir *maildir = maildir_of(sink);
	char header[ENVELOPE_ADDRESS_MAX + 32];

	if (maildir->box_count == 0)
		return sink_fail(sink, reply, "no recipient", EINVAL);
	make_name(maildir);
	maildir->block_size = 0;
	int ret = open_file(maildir);
	if (ret < 0)
		return give_up(sink, reply, "file in tmp", -ret);
	const int size = snprintf(header, sizeof(header), "Return-Path: <%s>\n", maildir->sender);
	ret = put(maildir, (const uint8_t *)header, (size_t)size);
	return ret == 0 || give_up(sink, reply, "write", -ret);
}

static bool maildir_append(struct sink *sink, const uint8_t *bytes, size_t size,
			   struct sink_reply *reply)
{
	const int ret = put(maildir_of(sink), bytes, size);
	return ret == 0 || give_up(sink, reply, "write", -ret);
}

/* 0 or -errno. */
static int make_boxes(const struct maildir *maildir)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < maildir->box_count; i++)
		ret = make_box(maildir->root_fd, maildir->boxes[i]);
	return ret;
}

/* A name in new/ of each box, and the disk knows. 0 or -errno. */
static int link_all(struct maildir *maildir, size_t *ret_linked)
{
	const struct path from = path_of(".", "tmp", maildir->name);

	for (size_t i = 0; i < maildir->box_count; i++) {
		const struct path to = path_of(maildir->boxes[i], "new", maildir->name);
		if (linkat(maildir->root_fd, from.text, maildir->root_fd, to.text, 0) != 0)
			return -errno;
		*ret_linked = i + 1;
		const int ret = sync_directory(maildir->root_fd,
					       path_of(maildir->boxes[i], "new", "").text);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static bool maildir_commit(struct sink *sink, struct sink_reply *reply)
{
	struct maildir *maildir = maildir_of(sink);
	size_t linked = 0;

	int ret = write_block(maildir);
	if (ret == 0 && fsync(maildir->fd) != 0)
		ret = -errno;
	if (ret < 0)
		return give_up(sink, reply, "write", -ret);
	ret = make_boxes(maildir);
	if (ret < 0)
		return give_up(sink, reply, "mailbox", -ret);
	ret = link_all(maildir, &linked);
	if (ret < 0) {
		/* The client sends it again: no recipient is to have it twice then. */
		while (linked-- > 0)
			(void)unlinkat(maildir->root_fd,
				       path_of(maildir->boxes[linked], "new", maildir->name).text,
				       0);
		return give_up(sink, reply, "link to new", -ret);
	}
	maildir_abort(sink); /* only the name in tmp/ */
	return sink_say(reply, 250, "2.0.0 Ok: delivered");
}

static void maildir_close(struct sink *sink)
{
	struct maildir *maildir = maildir_of(sink);

	maildir_abort(sink);
	if (maildir->root_fd >= 0)
		(void)close(maildir->root_fd);
	free(maildir->boxes);
	free(maildir);
}

int sink_maildir_open(const struct setup_sink *setup, struct sink **ret_sink)
{
	static const struct sink_ops ops = {
		.enter = maildir_enter,
		.mail = maildir_mail,
		.recipient = maildir_recipient,
		.begin = maildir_begin,
		.append = maildir_append,
		.commit = maildir_commit,
		.abort = maildir_abort,
		.leave = maildir_abort,
		.close = maildir_close,
	};
	struct maildir *maildir = calloc(1, sizeof(*maildir));
	if (maildir == NULL)
		return -ENOMEM;
	maildir->sink.ops = &ops;
	maildir->fd = -1;
	maildir->root_fd = open(setup->to.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (maildir->root_fd < 0) {
		const int ret = -errno;
		maildir_close(&maildir->sink);
		return ret;
	}
	*ret_sink = &maildir->sink;
	return 0;
}
