/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/users/users_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct reading {
	const char *path;
	const struct users_passwd *passwd;
	struct users_list *list;
	users_read_fn refused;
	void *context;
	FILE *file;
	uint64_t line_number;
	char line[USERS_LIST_LINE_MAX];
	size_t size; /* of the whole line, which may be more */
};

/* false behind the last line, and when reading has failed. */
static bool next_line(struct reading *reading)
{
	int c;
	reading->size = 0;
	while ((c = getc_unlocked(reading->file)) != EOF && c != '\n') {
		if (reading->size < sizeof(reading->line))
			reading->line[reading->size] = (char)c;
		reading->size++;
	}
	reading->line_number++;
	return c != EOF || (reading->size > 0 && ferror(reading->file) == 0);
}

static int add_line(const struct reading *reading)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *line = reading->line;
	size_t size = reading->size;
	if (size > sizeof(reading->line))
		return USERS_LIST_ELINE;
	if (reading->line_number == 1 && size >= sizeof(mark) - 1 &&
	    memcmp(line, mark, sizeof(mark) - 1) == 0) {
		line += sizeof(mark) - 1;
		size -= sizeof(mark) - 1;
	}
	if (reading->passwd != NULL)
		return users_list_add_passwd(reading->list, line, size, reading->passwd);
	return users_list_add(reading->list, line, size);
}

static int read_lines(struct reading *reading)
{
	errno = 0;
	while (next_line(reading)) {
		int ret = add_line(reading);
		if (ret == -ENOMEM)
			return ret;
		size_t kept = reading->size < sizeof(reading->line) ? reading->size
								    : sizeof(reading->line);
		if (ret != USERS_OK)
			reading->refused(reading->context, reading->path, reading->line_number,
					 reading->line, kept, ret);
	}
	if (ferror(reading->file) == 0)
		return USERS_OK;
	return errno != 0 ? -errno : -EIO;
}

int users_read(const char *path, const struct users_passwd *passwd, struct users_list *list,
	       users_read_fn refused, void *context)
{
	struct reading reading = {
		.path = path,
		.passwd = passwd,
		.list = list,
		.refused = refused,
		.context = context,
	};
	struct stat st;
	bool is_input = strcmp(path, "-") == 0;
	reading.file = is_input ? stdin : fopen(path, "re");
	if (reading.file == NULL)
		return -errno;
	int ret = fstat(fileno(reading.file), &st) == 0 && S_ISDIR(st.st_mode) ? -EISDIR : USERS_OK;
	if (ret == USERS_OK)
		ret = read_lines(&reading);
	if (!is_input)
		fclose(reading.file);
	return ret;
}
