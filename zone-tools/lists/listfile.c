/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/lists/listfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Lines begin anywhere in the buffer; the byte behind it takes a NUL. */
#define BUFFER_SIZE (LISTFILE_LINE_MAX + 1)

struct listfile {
	int fd;
	struct stat opened;
	uint64_t read_size;
	z_stream input; /* what was read and not taken; inflates as well where that is_gzip */
	bool is_gzip;
	bool is_between; /* members of gzip */
	uint64_t line_number;
	size_t start; /* of what is not yet given out */
	size_t end;
	bool is_at_end;
	bool is_skipping; /* the rest of a line that was too long */
	char buffer[BUFFER_SIZE + 1];
	uint8_t bytes[BUFFER_SIZE];
};

/* The path behind "-" is standard input itself, which stays open for others. */
static int open_path(const char *path)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
					: open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Bytes behind those that were not taken, 0 at the end of the file, or -errno. */
static ssize_t read_more(struct listfile *file)
{
	memmove(file->bytes, file->input.next_in, file->input.avail_in);
	file->input.next_in = file->bytes;
	ssize_t count = read(file->fd, file->bytes + file->input.avail_in,
			     sizeof(file->bytes) - file->input.avail_in);
	if (count < 0)
		return -errno;
	file->input.avail_in += (uInt)count;
	file->read_size += (uint64_t)count;
	return count;
}

/* A pipe may give the two bytes that tell gzip one by one. */
static int begin(struct listfile *file)
{
	enum { GZIP = 16 + MAX_WBITS };
	ssize_t count = 1;
	file->input.next_in = file->bytes;
	while (count > 0 && file->input.avail_in < 2)
		count = read_more(file);
	if (count < 0)
		return (int)count;
	/* /dev/zero, but not /dev/null, and not what is typed. */
	if (file->input.avail_in > 0 && S_ISCHR(file->opened.st_mode) && !isatty(file->fd))
		return -ENODEV;
	file->is_gzip = file->input.avail_in >= 2 && memcmp(file->bytes, "\x1f\x8b", 2) == 0;
	return file->is_gzip && inflateInit2(&file->input, GZIP) != Z_OK ? -ENOMEM : DNSBLV6_OK;
}

int listfile_open(const char *path, struct listfile **ret_file)
{
	struct listfile *file = calloc(1, sizeof(*file));
	if (file == NULL)
		return -ENOMEM;

	int ret = open_path(path);
	file->fd = ret;
	if (ret < 0)
		goto fail;
	ret = fstat(file->fd, &file->opened) < 0 ? -errno : DNSBLV6_OK;
	if (ret == DNSBLV6_OK && S_ISDIR(file->opened.st_mode))
		ret = -EISDIR;
	if (ret != DNSBLV6_OK)
		goto fail;
	ret = begin(file);
	if (ret != DNSBLV6_OK)
		goto fail;

	*ret_file = file;
	return DNSBLV6_OK;
fail:
	listfile_close(file);
	return ret;
}

void listfile_close(struct listfile *file)
{
	if (file == NULL)
		return;
	if (file->is_gzip)
		inflateEnd(&file->input);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

/* A list that is written while it is read would be half old and half new. */
static int check_unchanged(const struct listfile *file)
{
	struct stat now;
	if (!S_ISREG(file->opened.st_mode))
		return DNSBLV6_OK;
	if (fstat(file->fd, &now) < 0)
		return -errno;
	bool is_same = now.st_size == file->opened.st_size &&
		       now.st_mtim.tv_sec == file->opened.st_mtim.tv_sec &&
		       now.st_mtim.tv_nsec == file->opened.st_mtim.tv_nsec;
	return is_same ? DNSBLV6_OK : -ESTALE;
}

static ssize_t take_plain(struct listfile *file)
{
	z_stream *input = &file->input;
	size_t count = input->avail_in < input->avail_out ? input->avail_in : input->avail_out;
	memcpy(input->next_out, input->next_in, count);
	input->next_in += count;
	input->avail_in -= (uInt)count;
	return (ssize_t)count;
}

/* A file of gzip is one member behind the other, and zeros where it comes from a tape. */
static ssize_t take_gzip(struct listfile *file)
{
	z_stream *input = &file->input;
	uInt room = input->avail_out;
	if (file->is_between && *input->next_in == 0) {
		input->next_in++;
		input->avail_in--;
		return 0;
	}
	if (file->is_between)
		inflateReset(input);
	int code = inflate(input, Z_NO_FLUSH);
	file->is_between = code == Z_STREAM_END;
	/* What came before the damage is good: the error comes again with the next call. */
	if (input->avail_out < room || code == Z_OK || code == Z_STREAM_END)
		return room - input->avail_out;
	return code == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

/* Bytes of the list, 0 at its end, or a status. */
static ssize_t read_text(struct listfile *file, char *text, size_t size)
{
	ssize_t count = 0;
	file->input.next_out = (Bytef *)text;
	file->input.avail_out = (uInt)size;
	while (count == 0) {
		if (file->input.avail_in == 0)
			count = read_more(file);
		if (count < 0)
			return count;
		if (file->input.avail_in == 0)
			return file->is_gzip && !file->is_between ? -EBADMSG : 0;
		count = file->is_gzip ? take_gzip(file) : take_plain(file);
	}
	return count;
}

/* Moves what is left to the front and reads behind it. */
static int fill(struct listfile *file)
{
	size_t left = file->end - file->start;
	memmove(file->buffer, file->buffer + file->start, left);
	file->start = 0;
	file->end = left;

	ssize_t count = read_text(file, file->buffer + left, BUFFER_SIZE - left);
	if (count > 0) {
		file->end += (size_t)count;
		return DNSBLV6_OK;
	}
	file->is_at_end = true;
	return count == 0 ? check_unchanged(file) : (int)count;
}

static bool is_buffer_full(const struct listfile *file)
{
	return file->end - file->start == BUFFER_SIZE;
}

/*
 * Reads on until a line feed is in the buffer, or the end of the file, or the
 * buffer is full of one line. *ret_feed is NULL without a line feed.
 */
static int find_feed(struct listfile *file, char **ret_feed)
{
	size_t searched = 0; /* bytes behind start that have no line feed */
	for (;;) {
		const char *from = file->buffer + file->start + searched;
		searched = file->end - file->start;
		*ret_feed = memchr(from, '\n', (size_t)(file->buffer + file->end - from));
		if (*ret_feed != NULL || file->is_at_end || is_buffer_full(file))
			return DNSBLV6_OK;
		int ret = fill(file);
		if (ret != DNSBLV6_OK)
			return ret;
	}
}

static int skip_to_feed(struct listfile *file)
{
	while (file->is_skipping) {
		char *feed;
		int ret = find_feed(file, &feed);
		if (ret != DNSBLV6_OK)
			return ret;
		file->start = feed != NULL ? (size_t)(feed + 1 - file->buffer) : file->end;
		file->is_skipping = feed == NULL && !file->is_at_end;
	}
	return DNSBLV6_OK;
}

static void skip_byte_order_mark(struct listfile_line *line)
{
	if (line->text_size >= 3 && memcmp(line->text, "\xef\xbb\xbf", 3) == 0) {
		line->text += 3;
		line->text_size -= 3;
	}
}

int listfile_next(struct listfile *file, struct listfile_line *ret_line)
{
	char *feed = NULL;
	int ret = skip_to_feed(file);
	if (ret == DNSBLV6_OK)
		ret = find_feed(file, &feed);
	if (ret != DNSBLV6_OK)
		return ret;
	if (file->start == file->end)
		return DNSBLV6_ENOTFOUND;

	char *end = feed != NULL ? feed : file->buffer + file->end;
	struct listfile_line line = { .text = file->buffer + file->start };
	line.text_size = (size_t)(end - line.text);
	file->start += line.text_size + (feed != NULL);
	file->is_skipping = feed == NULL && !file->is_at_end;
	line.is_unterminated = feed == NULL && !file->is_gzip;
	file->line_number++;

	if (file->is_skipping)
		line.fault = "line longer than 65535 bytes";
	else if (memchr(line.text, '\0', line.text_size) != NULL)
		line.fault = "NUL byte in the line";
	if (line.text_size > 0 && end[-1] == '\r')
		line.text_size--;
	line.text[line.text_size] = '\0';
	if (file->line_number == 1)
		skip_byte_order_mark(&line);
	*ret_line = line;
	return DNSBLV6_OK;
}

uint64_t listfile_offset(const struct listfile *file)
{
	return file->read_size - file->input.avail_in;
}

uint64_t listfile_size(const struct listfile *file)
{
	return S_ISREG(file->opened.st_mode) ? (uint64_t)file->opened.st_size : 0;
}

bool listfile_written(const struct listfile *file, uint64_t *ret_written_s)
{
	time_t written_s = file->opened.st_mtim.tv_sec;
	if (!S_ISREG(file->opened.st_mode))
		return false;
	/* A program can give a file a time to come, but not a change of its inode. */
	if (written_s > file->opened.st_ctim.tv_sec)
		written_s = file->opened.st_ctim.tv_sec;
	*ret_written_s = written_s > 0 ? (uint64_t)written_s : 0;
	return true;
}

uint64_t listfile_line_number(const struct listfile *file)
{
	return file->line_number;
}

const char *listfile_strerror(int status)
{
	switch (status) {
	case -EBADMSG:
		return "gzip file cut short or damaged, or with other bytes behind it";
	case -ENODEV:
		return "a device, which may have no end";
	case -ESTALE:
		return "file was changed while it was read";
	default:
		return dnsblv6_strerror(status);
	}
}
