/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/base/listages.h"

#include <string.h>

#define ENTRY_MAX (DNSBLV6_LIST_FILE_HEAD_SIZE + UINT8_MAX)

/* Without the directory, and with '?' for what a program should not print. */
static size_t make_entry(const char *path, uint64_t written_s, uint8_t *ret_entry)
{
	const char *slash = strrchr(path, '/');
	const char *from = slash != NULL ? slash + 1 : path;
	uint8_t name[UINT8_MAX];
	size_t size = 0;
	for (; from[size] != '\0' && size < sizeof(name); size++)
		name[size] = from[size] < ' ' || from[size] > '~' ? '?' : (uint8_t)from[size];
	const struct dnsblv6_list_file file = { written_s, (uint8_t)size, name };
	return size > 0 ? dnsblv6_list_file_encode(&file, ret_entry) : 0;
}

static void take_out(struct listages *ages, size_t from, size_t to)
{
	memmove(ages->bytes + from, ages->bytes + to, ages->size - to);
	ages->size -= to - from;
}

/* How much of the row fits in size bytes, in whole entries. */
static size_t fit(const struct listages *ages, size_t size)
{
	struct dnsblv6_list_file file;
	size_t fitting = 0;
	size_t offset = 0;
	while (dnsblv6_list_file_next(ages->bytes, ages->size, &offset, &file) == DNSBLV6_OK &&
	       offset <= size)
		fitting = offset;
	return fitting;
}

static void put_in(struct listages *ages, size_t place, const uint8_t *entry, size_t entry_size)
{
	if (place + entry_size > sizeof(ages->bytes))
		return;
	ages->size = fit(ages, sizeof(ages->bytes) - entry_size);
	memmove(ages->bytes + place + entry_size, ages->bytes + place, ages->size - place);
	memcpy(ages->bytes + place, entry, entry_size);
	ages->size += entry_size;
}

void listages_note(struct listages *ages, const char *path, uint64_t written_s)
{
	uint8_t entry[ENTRY_MAX];
	size_t entry_size = written_s != 0 ? make_entry(path, written_s, entry) : 0;
	const uint8_t *name = entry + DNSBLV6_LIST_FILE_HEAD_SIZE;
	struct dnsblv6_list_file file;
	size_t place = 0; /* behind all that are as old, or older */
	size_t begin = 0;
	size_t offset = 0;
	if (entry_size == 0)
		return;
	for (; dnsblv6_list_file_next(ages->bytes, ages->size, &offset, &file) == DNSBLV6_OK;
	     begin = offset) {
		bool has_name = file.name_size == entry_size - DNSBLV6_LIST_FILE_HEAD_SIZE &&
				memcmp(file.name, name, file.name_size) == 0;
		if (file.written_s <= written_s) {
			place = offset;
			if (has_name)
				return;
		} else if (has_name) {
			take_out(ages, begin, offset);
			break;
		}
	}
	put_in(ages, place, entry, entry_size);
}
