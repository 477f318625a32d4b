/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/counts/users.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_HOUR 3.6e12

struct place {
	uint64_t due_ns;
	uint32_t user;
	uint32_t number;
};

struct users {
	struct users_rules rules;
	struct dice *dices; /* of each user; those of users that are not active are not used */
	struct place *heap; /* of active ones; a parent is due no later than its children */
	size_t count;
};

/* Two that are due at once have an order, too. */
static bool is_before(const struct place *a, const struct place *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->user < b->user;
}

static void sink_down(struct users *users, size_t at)
{
	const struct place moved = users->heap[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= users->count)
			break;
		if (child + 1 < users->count &&
		    is_before(&users->heap[child + 1], &users->heap[child]))
			child++;
		if (!is_before(&users->heap[child], &moved))
			break;
		users->heap[at] = users->heap[child];
		at = child;
	}
	users->heap[at] = moved;
}

static uint64_t draw_gap_ns(struct users *users, uint32_t user)
{
	const struct workload *workload = users->rules.workload;
	const double sessions_h = workload->clients[workload_client(workload, user)].sessions_h;
	const double mean_ns = NS_PER_HOUR / (sessions_h * users->rules.rate);
	const double gap_ns = dice_exponential(&users->dices[user], mean_ns);
	return gap_ns < 1e18 ? (uint64_t)gap_ns : (uint64_t)1e18;
}

int users_new(const struct users_rules *rules, struct users **ret_users)
{
	struct users *users = calloc(1, sizeof(*users));
	if (users == NULL)
		return -ENOMEM;
	users->rules = *rules;
	users->dices = calloc((size_t)rules->user_count + 1, sizeof(*users->dices));
	users->heap = calloc((size_t)rules->user_count + 1, sizeof(*users->heap));
	if (users->dices == NULL || users->heap == NULL) {
		users_free(users);
		return -ENOMEM;
	}
	for (uint32_t user = 0; user < rules->user_count; user++) {
		const struct workload *workload = rules->workload;
		if (!workload_is_active(workload, user) ||
		    !(workload->clients[workload_client(workload, user)].sessions_h > 0))
			continue;
		dice_begin(&users->dices[user], rules->seed, DICE_ARRIVALS, user);
		struct place *place = &users->heap[users->count++];
		place->user = user;
		place->due_ns = draw_gap_ns(users, user);
	}
	for (size_t at = users->count / 2; at > 0; at--)
		sink_down(users, at - 1);
	*ret_users = users;
	return 0;
}

void users_free(struct users *users)
{
	if (users == NULL)
		return;
	free(users->dices);
	free(users->heap);
	free(users);
}

uint64_t users_due_ns(const struct users *users)
{
	return users->count > 0 ? users->heap[0].due_ns : UINT64_MAX;
}

void users_take(struct users *users, struct users_arrival *ret_arrival)
{
	struct place *first = &users->heap[0];
	ret_arrival->due_ns = first->due_ns;
	ret_arrival->user = first->user;
	ret_arrival->number = first->number++;
	first->due_ns += draw_gap_ns(users, first->user);
	sink_down(users, 0);
}

void users_session_dice(const struct users_rules *rules, const struct users_arrival *arrival,
			struct dice *ret_dice)
{
	dice_begin(ret_dice, rules->seed, DICE_SESSION,
		   (uint64_t)arrival->number << 32 | arrival->user);
}
