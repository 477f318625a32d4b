/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/handover/board.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#define WORD_BITS 64
/* Looks at a turn that another process has. */
#define TURN_LOOKS 1000
#define NO_TURN	   UINT64_C(0)

struct board {
	size_t size_bytes;
	size_t word_count; /* of each mark */
	uint64_t turn;	   /* NO_TURN, or one more than the process that has it */
	uint64_t words[];  /* those of the first mark, then those of the second */
};

int board_open(size_t process_count, struct board **ret_board)
{
	size_t word_count = process_count / WORD_BITS + 1;
	size_t size = sizeof(struct board) + word_count * BOARD_MARKS * sizeof(uint64_t);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	struct board *board = memory;
	board->size_bytes = size;
	board->word_count = word_count;
	*ret_board = board;
	return 0;
}

void board_close(struct board *board)
{
	if (board != NULL)
		munmap(board, board->size_bytes);
}

void board_set(struct board *board, enum board_mark mark, size_t process, bool is_set)
{
	if (board == NULL)
		return;
	uint64_t *word = &board->words[(size_t)mark * board->word_count + process / WORD_BITS];
	uint64_t bit = UINT64_C(1) << (process % WORD_BITS);
	if (is_set)
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST);
}

void board_clear(struct board *board, size_t process)
{
	board_set(board, BOARD_IDLE, process, false);
	board_set(board, BOARD_WAITING, process, false);
	board_end_turn(board, process);
}

unsigned board_count(const struct board *board, enum board_mark mark)
{
	unsigned count = 0;
	if (board == NULL)
		return 0;
	const uint64_t *words = &board->words[(size_t)mark * board->word_count];
	for (size_t i = 0; i < board->word_count; i++)
		count += (unsigned)__builtin_popcountll(
			__atomic_load_n(&words[i], __ATOMIC_SEQ_CST));
	return count;
}

bool board_take_turn(struct board *board, size_t process)
{
	if (board == NULL)
		return true;
	for (unsigned i = 0; i < TURN_LOOKS; i++) {
		uint64_t turn = NO_TURN;
		if (__atomic_compare_exchange_n(&board->turn, &turn, (uint64_t)process + 1, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return true;
		sched_yield();
	}
	return false;
}

void board_end_turn(struct board *board, size_t process)
{
	uint64_t turn = (uint64_t)process + 1;
	if (board != NULL)
		__atomic_compare_exchange_n(&board->turn, &turn, NO_TURN, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
}
