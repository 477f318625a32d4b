/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/handover/scoreboard.h"

#include <errno.h>
#include <sched.h>

#include "lib/process/sharedmem.h"

#define WORD_BITS 64
/* Looks at a turn that another process has. */
#define TURN_LOOKS 1000
#define NO_TURN	   UINT64_C(0)

struct scoreboard {
	size_t size_bytes;
	size_t word_count; /* of each mark */
	uint64_t turn;	   /* NO_TURN, or one more than the process that has it */
	uint64_t words[];  /* those of the first mark, then those of the second */
};

int scoreboard_open(size_t process_count, struct scoreboard **ret_board)
{
	size_t word_count = process_count / WORD_BITS + 1;
	size_t size = sizeof(struct scoreboard) + word_count * SCOREBOARD_MARKS * sizeof(uint64_t);
	struct scoreboard *scoreboard = sharedmem_new(size);
	if (scoreboard == NULL)
		return -ENOMEM;
	scoreboard->size_bytes = size;
	scoreboard->word_count = word_count;
	*ret_board = scoreboard;
	return 0;
}

void scoreboard_close(struct scoreboard *scoreboard)
{
	if (scoreboard != NULL)
		sharedmem_free(scoreboard, scoreboard->size_bytes);
}

void scoreboard_set(struct scoreboard *scoreboard, enum scoreboard_mark mark, size_t process,
		    bool is_set)
{
	if (scoreboard == NULL)
		return;
	uint64_t *word =
		&scoreboard->words[(size_t)mark * scoreboard->word_count + process / WORD_BITS];
	uint64_t bit = UINT64_C(1) << (process % WORD_BITS);
	if (is_set)
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST);
}

void scoreboard_clear(struct scoreboard *scoreboard, size_t process)
{
	scoreboard_set(scoreboard, SCOREBOARD_IDLE, process, false);
	scoreboard_set(scoreboard, SCOREBOARD_WAITING, process, false);
	scoreboard_end_turn(scoreboard, process);
}

unsigned scoreboard_count(const struct scoreboard *scoreboard, enum scoreboard_mark mark)
{
	unsigned count = 0;
	if (scoreboard == NULL)
		return 0;
	const uint64_t *words = &scoreboard->words[(size_t)mark * scoreboard->word_count];
	for (size_t i = 0; i < scoreboard->word_count; i++)
		count += (unsigned)__builtin_popcountll(
			__atomic_load_n(&words[i], __ATOMIC_SEQ_CST));
	return count;
}

bool scoreboard_take_turn(struct scoreboard *scoreboard, size_t process)
{
	if (scoreboard == NULL)
		return true;
	for (unsigned i = 0; i < TURN_LOOKS; i++) {
		uint64_t turn = NO_TURN;
		if (__atomic_compare_exchange_n(&scoreboard->turn, &turn, (uint64_t)process + 1,
						false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return true;
		sched_yield();
	}
	return false;
}

void scoreboard_end_turn(struct scoreboard *scoreboard, size_t process)
{
	uint64_t turn = (uint64_t)process + 1;
	if (scoreboard != NULL)
		__atomic_compare_exchange_n(&scoreboard->turn, &turn, NO_TURN, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}
