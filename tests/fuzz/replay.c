/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * replay.c - feeds a fuzzer's corpus to its target without a fuzzer.
 *
 * Each file of the directory goes in whole and cut after every byte, each time
 * in memory of exactly that size, so that the address sanitizer sees a read of
 * one byte too many. Prints how much was fed; a directory without a file
 * fails, because a replay of nothing proves nothing.
 */

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_SIZE_MAX (1u << 20) /* a corpus is made of small files */
#define CUTS_MAX      4096u	 /* cutting is quadratic: long files are cut here and there */

static uint8_t file_bytes[FILE_SIZE_MAX];

static void feed(size_t size)
{
	uint8_t *copy = malloc(size > 0 ? size : 1);
	if (copy == NULL) {
		perror("replay");
		exit(1);
	}
	memcpy(copy, file_bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static size_t feed_cut(size_t size)
{
	const size_t step = size / CUTS_MAX + 1;
	size_t fed_count = 0;
	for (size_t cut = 0; cut < size; cut += step) {
		feed(cut);
		fed_count++;
	}
	feed(size);
	return fed_count + 1;
}

static size_t read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL) {
		fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	const size_t size = fread(file_bytes, 1, sizeof(file_bytes), file);
	if (ferror(file) || fgetc(file) != EOF) {
		fprintf(stderr, "replay: %s: unreadable, or larger than %u bytes\n", path,
			FILE_SIZE_MAX);
		exit(1);
	}
	fclose(file);
	return size;
}

int main(int argc, char **argv)
{
	DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	if (directory == NULL) {
		fprintf(stderr, "usage: replay CORPUS-DIRECTORY\n");
		return 64;
	}

	size_t file_count = 0;
	size_t input_count = 0;
	for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		if (entry->d_name[0] == '.')
			continue;
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		input_count += feed_cut(read_file(path));
		file_count++;
	}
	closedir(directory);

	printf("%zu inputs of %zu files\n", input_count, file_count);
	return file_count > 0 ? 0 : 1;
}
