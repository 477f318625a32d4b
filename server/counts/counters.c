/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/counts/counters.h"

#include <errno.h>

#include "lib/process/sharedmem.h"

#define X(name, text, help) { text, help },
const struct counts_label counters_face_labels[COUNTERS_FACE_COUNT] = { COUNTERS_FACE_MAP(X) };
const struct counts_label counters_server_labels[COUNTERS_SERVER_COUNT] = { COUNTERS_SERVER_MAP(
	X) };
#undef X

/* Parts begin on cache lines of their own: workers do not slow each other down. */
#define LINE_SIZE 64

static size_t part_size(const struct counters_bank *bank)
{
	size_t size =
		(COUNTERS_SERVER_COUNT + bank->face_count * COUNTERS_FACE_COUNT) * sizeof(uint64_t);
	return (size + LINE_SIZE - 1) / LINE_SIZE * LINE_SIZE;
}

int counters_open(struct counters_bank *bank, size_t worker_count, size_t zone_count,
		  size_t face_count)
{
	struct counters_bank made = { .worker_count = worker_count, .face_count = face_count };
	made.size_bytes =
		worker_count * part_size(&made) + zone_count * COUNTERS_NOTICE_COUNT * sizeof(int);
	made.memory = sharedmem_new(made.size_bytes);
	if (made.memory == NULL)
		return -ENOMEM;
	*bank = made;
	return 0;
}

void counters_close(struct counters_bank *bank)
{
	sharedmem_free(bank->memory, bank->size_bytes);
	*bank = (struct counters_bank){ 0 };
}

struct counters counters_of_worker(const struct counters_bank *bank, size_t worker)
{
	char *part = (char *)bank->memory + worker * part_size(bank);
	uint64_t *server = (uint64_t *)(void *)part;
	return (struct counters){ server, server + COUNTERS_SERVER_COUNT };
}

static void add(uint64_t *sum, uint64_t *part, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sum[i] += __atomic_load_n(&part[i], __ATOMIC_RELAXED);
}

void counters_add(const struct counters_bank *bank, const struct counters *sum)
{
	for (size_t i = 0; i < bank->worker_count; i++) {
		struct counters part = counters_of_worker(bank, i);
		add(sum->server, part.server, COUNTERS_SERVER_COUNT);
		add(sum->faces, part.faces, bank->face_count * COUNTERS_FACE_COUNT);
	}
}

bool counters_note(const struct counters_bank *bank, size_t zone, enum counters_notice notice,
		   int status)
{
	char *notices = (char *)bank->memory + bank->worker_count * part_size(bank);
	int *noted = (int *)(void *)notices + zone * COUNTERS_NOTICE_COUNT + notice;
	return __atomic_exchange_n(noted, status, __ATOMIC_RELAXED) != status;
}
