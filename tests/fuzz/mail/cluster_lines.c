/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * Text of a daemon, as lines of words. Words of an accepted line lie in it, one behind the other; what is
 * printed of a text has a line for each of its lines, and nothing but printable ASCII.
 */

#include "integration/mail/mail-cluster/clusterlines.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"

static size_t check_rows(const char *text)
{
	struct clusterlines_row row;
	size_t count = 0;
	const char *at = text;
	while (clusterlines_next(&text, &row) > 0) {
		for (size_t i = 0; i < row.count; i++) {
			const struct clusterlines_word *word = &row.words[i];
			require(word->key.size > 0 && word->key.bytes >= at &&
					word->value.bytes == word->key.bytes + word->key.size + 1,
				"a word has its key, and its value behind it");
			at = word->value.bytes + word->value.size;
			require(at < text, "it lies within its line");
		}
		count += row.count > 0;
		at = text;
	}
	return count;
}

static void check_printed(const char *printed, size_t size, size_t count)
{
	size_t ends = 0;
	for (size_t i = 0; i < size; i++) {
		ends += printed[i] == '\n';
		require(printed[i] == '\n' || (printed[i] >= ' ' && printed[i] < 0x7f),
			"what is printed is printable");
	}
	require(ends == count, "there is a line for each");
}

static void check_print(void (*print)(FILE *out, const char *text), const char *text, size_t count)
{
	char *printed = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&printed, &size);
	require(out != NULL, "there is memory");
	print(out, text);
	require(fclose(out) == 0, "and enough of it");
	check_printed(printed, size, count);
	free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t number = 0;
	if (size > 4096)
		return 0;
	char *text = malloc(size + 1);
	require(text != NULL, "there is memory");
	memcpy(text, data, size);
	text[size] = '\0';
	const size_t count = check_rows(text);
	(void)clusterlines_find_number(text, "mails", &number);
	if (clusterlines_check(text) == 0) {
		check_print(clusterlines_print_table, text, count > 0 ? count + 1 : 0);
		check_print(clusterlines_print_list, text, count);
	}
	free(text);
	return 0;
}
