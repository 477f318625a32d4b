/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/counts/board.h"

#include <errno.h>
#include <sys/mman.h>

int board_open(struct board *board, size_t worker_count, size_t zone_count)
{
	struct board made = { .worker_count = worker_count, .zone_count = zone_count };
	made.size_bytes = (worker_count * zone_count + 1) * sizeof(struct board_zone);
	made.memory = mmap(NULL, made.size_bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (made.memory == MAP_FAILED)
		return -errno;
	*board = made;
	return 0;
}

void board_close(struct board *board)
{
	if (board->memory != NULL)
		munmap(board->memory, board->size_bytes);
	*board = (struct board){ 0 };
}

static struct board_zone *at(const struct board *board, size_t worker, size_t zone)
{
	return (struct board_zone *)board->memory + worker * board->zone_count + zone;
}

void board_put(const struct board *board, size_t worker, size_t zone,
	       const struct board_zone *value)
{
	struct board_zone *place = at(board, worker, zone);
#define X(name) __atomic_store_n(&place->name, value->name, __ATOMIC_RELAXED);
	BOARD_ZONE_MAP(X)
#undef X
}

static struct board_zone get(const struct board *board, size_t worker, size_t zone)
{
	const struct board_zone *place = at(board, worker, zone);
	struct board_zone value;
#define X(name) value.name = __atomic_load_n(&place->name, __ATOMIC_RELAXED);
	BOARD_ZONE_MAP(X)
#undef X
	return value;
}

static bool is_worse(const struct board_zone *a, const struct board_zone *b)
{
	/* Opening is worse than serving: that worker answers nothing yet. */
	static const int badness[] = {
		[BOARD_SERVING] = 0, [BOARD_OPENING] = 1, [BOARD_EXPIRED] = 2, [BOARD_FAILED] = 3
	};
	if (a->state != b->state)
		return badness[a->state] > badness[b->state];
	return a->built_s < b->built_s;
}

struct board_zone board_find_worst(const struct board *board, size_t zone)
{
	struct board_zone worst = get(board, 0, zone);
	uint64_t damage = worst.damage;
	uint64_t checked_s = worst.checked_s;
	for (size_t i = 1; i < board->worker_count; i++) {
		struct board_zone other = get(board, i, zone);
		damage = damage != 0 ? damage : other.damage;
		checked_s = other.checked_s > checked_s ? other.checked_s : checked_s;
		if (is_worse(&other, &worst))
			worst = other;
	}
	worst.damage = damage;
	worst.checked_s = checked_s;
	return worst;
}

bool board_find(const struct board *board, size_t zone, enum board_state state,
		struct board_zone *ret_zone)
{
	for (size_t i = 0; i < board->worker_count; i++) {
		*ret_zone = get(board, i, zone);
		if (ret_zone->state == (uint64_t)state)
			return true;
	}
	return false;
}
