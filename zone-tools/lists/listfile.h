/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * listfile.h - a list file as lines, whatever the file is.
 *
 * Flow: sources.c opens what the operator named -> plain.c or rbldnsd.c gets
 *       one line after the other.
 *
 * Takes plain and gzip files and "-" for standard input, line feeds with or
 * without a carriage return, a UTF-8 byte-order mark, any bytes. Memory is one
 * buffer of LISTFILE_LINE_MAX bytes, however long the lines are.
 *
 *     struct listfile *file = NULL;
 *     int ret = listfile_open("list.txt.gz", &file);
 *     struct listfile_line line;
 *     while (ret == DNSBLV6_OK && (ret = listfile_next(file, &line)) == DNSBLV6_OK)
 *             read_line(&line, listfile_line_number(file));
 *     // DNSBLV6_ENOTFOUND: all lines read; else see listfile_strerror()
 *     listfile_close(file);
 */

#include "lib/format/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LISTFILE_LINE_MAX 65535 /* twice what rbldnsd takes in one line */

struct listfile;

struct listfile_line {
	char *text;	      /* borrowed until the next call; text[text_size] is NUL */
	size_t text_size;     /* without line feed and carriage return */
	const char *fault;    /* NULL, or why no line can be read from these bytes */
	bool is_unterminated; /* no line feed is behind it, and no gzip says that this is all */
};

/*
 * -errno when the file cannot be opened; a directory is -EISDIR, and a device that gives data and is
 * no terminal -ENODEV. *ret_file is
 * written on success only, end with listfile_close().
 */
int listfile_open(const char *path, struct listfile **ret_file);
void listfile_close(struct listfile *file);

/*
 * DNSBLV6_OK with *ret_line, DNSBLV6_ENOTFOUND behind the last line, -EBADMSG for a gzip file that
 * is cut short or damaged or has other bytes behind it, -ESTALE for a file that was changed
 * meanwhile, or another -errno. Do not go on after an error.
 */
int listfile_next(struct listfile *file, struct listfile_line *ret_line);

/* How much of the file as it is on the disk has been read, and all of it: 0 when that is not known. */
uint64_t listfile_offset(const struct listfile *file);
uint64_t listfile_size(const struct listfile *file);
/*
 * When it was written last, as Unix time, 0 before 1970; false of what is no regular file. A time that was
 * to come when the file was given it is none: then it is when that was.
 */
bool listfile_written(const struct listfile *file, uint64_t *ret_written_s);
/* Of the line read last, from 1. */
uint64_t listfile_line_number(const struct listfile *file);
/* What the negative result of listfile_next() means for this file; static text. */
const char *listfile_strerror(int status);

#ifdef __cplusplus
}
#endif
