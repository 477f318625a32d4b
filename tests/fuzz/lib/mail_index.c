/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * What an index may have that a program of another version, or a mistake, has written: any rows in any
 * table. Each question about it is answered or refused, and no byte outside of a row is read.
 *
 *     OFFSET  SIZE  DESCRIPTION of a row, one behind the other
 *        0      1   its table
 *        1      1   size of its key
 *        2      .   its key
 *        .      1   size of its value
 *        .      .   its value
 */

#include "lib/mailstore/mailindex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_own(const uint8_t *key, size_t size)
{
	return (size == 6 && memcmp(key, "schema", 6) == 0) ||
	       (size == 3 && memcmp(key, "sum", 3) == 0);
}

static int put_rows(struct writer *writer, void *context)
{
	struct bytes_input *input = context;
	while (input->size > 0) {
		unsigned table = (unsigned)bytes_take(input, 1) % MAILINDEX_TABLE_COUNT;
		size_t key_size = (size_t)bytes_take(input, 1);
		const uint8_t *key = bytes_take_string(input, key_size);
		size_t value_size = (size_t)bytes_take(input, 1);
		const uint8_t *value = bytes_take_string(input, value_size);
		if (input->has_failed)
			return 0;
		/* What the writer has of its own it keeps. */
		if (key_size == 0 || is_own(key, key_size))
			continue;
		int ret = writer_put(writer, table, key, key_size, value, value_size);
		require(ret == STORE_OK, "a row that is put");
	}
	return 0;
}

static void ask_boxes(struct reader *reader)
{
	struct mailname name = { (const uint8_t *)"", 0 };
	struct mailcounts counts;
	struct mailentry entries[4];
	size_t count;
	int ret = STORE_OK;
	for (unsigned i = 0; ret == STORE_OK && i < 64; i++) {
		ret = mailindex_next_box(reader, name, &name, &counts);
		if (ret != STORE_OK || !mailname_is_valid(name))
			break;
		(void)mailindex_list(reader, name, 0, 4, entries, &count);
		require(count <= 4, "as many mails as there is room for");
		(void)mailindex_entry(reader, name, 7, &entries[0]);
		(void)mailindex_counts(reader, name, &counts);
	}
}

static void ask_mails(struct reader *reader)
{
	struct mailrow row;
	struct segmentrow segment;
	struct mailfacts facts;
	struct mailemptied emptied;
	struct mailid id = { 0 };
	uint64_t number;
	(void)mailindex_facts(reader, &facts);
	(void)mailindex_emptied(reader, &emptied);
	(void)mailindex_id(reader, &id, &number);
	for (uint64_t mail = 0; mail < 4; mail++)
		(void)mailindex_mail(reader, mail, &row);
	int ret = mailindex_segment(reader, 0, &number, &segment);
	for (unsigned i = 0; ret == STORE_OK && number < UINT64_MAX && i < 64; i++)
		ret = mailindex_segment(reader, number + 1, &number, &segment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char directory[] = "/dev/shm/mail-index-XXXXXX";
	char path[64];
	char lock[80];
	struct bytes_input input = { .data = data, .size = size };
	struct reader *reader;
	require(mkdtemp(directory) != NULL, "a directory");
	snprintf(path, sizeof(path), "%s/index.mdb", directory);
	snprintf(lock, sizeof(lock), "%s-lock", path);
	int ret = writer_run(path, &mailindex_kind, put_rows, &input);
	if (ret == STORE_OK && reader_open(path, &mailindex_kind, &reader) == STORE_OK) {
		if (reader_begin(reader) == STORE_OK) {
			ask_boxes(reader);
			ask_mails(reader);
			reader_end(reader);
		}
		reader_close(reader);
	}
	unlink(path);
	unlink(lock);
	rmdir(directory);
	return 0;
}
