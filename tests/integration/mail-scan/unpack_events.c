/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * unpack_events.c - unpack_events KIND [SEED] < FILE - what lib/unpack says of a file of that kind ("zip").
 *
 * Prints the lines of unpacked.h, cut at random by SEED, 0 for one piece and 1 for single bytes. With
 * the variable BYTES the bytes of all members go to standard output instead. RATIO, TOTAL, MEMBERS
 * and SPOOL are of the budget.
 */

#include "lib/content/kind.h"
#include "tests/fuzz/unpack/unpacked.h"

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void write_bytes(const uint8_t *bytes, size_t size)
{
	fwrite(bytes, 1, size, stdout);
}

static uint8_t *read_all(size_t *ret_size)
{
	size_t size = 0;
	size_t room = 1 << 20;
	uint8_t *bytes = malloc(room);
	while (bytes != NULL) {
		const size_t some = fread(bytes + size, 1, room - size, stdin);
		size += some;
		if (some == 0)
			break;
		if (size == room)
			bytes = realloc(bytes, room *= 2);
	}
	*ret_size = size;
	return bytes;
}

int main(int argc, char **argv)
{
	struct unpack_budget budget = UNPACK_BUDGET;
	struct unpacked unpacked = { .take = getenv("BYTES") != NULL ? write_bytes : NULL };
	if (argc < 2)
		return 64;
	unpack_prepare();
	budget.ratio = setting("RATIO", budget.ratio);
	budget.total_left = setting("TOTAL", budget.total_left);
	budget.members_left = (unsigned)setting("MEMBERS", budget.members_left);
	budget.spool_left = setting("SPOOL", budget.spool_left);
	unsigned kind = 0;
	while (kind < CONTENT_KIND_COUNT &&
	       (unpack_find(kind) == NULL || strcmp(content_kind_name(kind), argv[1]) != 0))
		kind++;
	if (kind == CONTENT_KIND_COUNT) {
		fprintf(stderr, "unpack_events: %s: no such row\n", argv[1]);
		return 65;
	}
	size_t size = 0;
	uint8_t *bytes = read_all(&size);
	unpacked_run(kind, &budget, bytes, size, argc > 2 ? (unsigned)atoi(argv[2]) : 0, true,
		     &unpacked);
	if (unpacked.take == NULL)
		fputs(unpacked.text, stdout);
	free(unpacked.text);
	free(bytes);
	return 0;
}
