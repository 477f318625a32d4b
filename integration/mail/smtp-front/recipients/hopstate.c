/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/recipients/hopstate.h"

#include <errno.h>
#include <stddef.h>

#include "lib/process/sharedmem.h"

struct hopstate {
	uint64_t since_ms;   /* since when it is down; 0: it is not */
	uint64_t no_open_ms; /* until then no process connects, while it is down; 0: all may */
	unsigned lacks;	     /* extensions */
};

int hopstate_open(struct hopstate **ret_state)
{
	struct hopstate *state = sharedmem_new(sizeof(*state));
	if (state == NULL)
		return -ENOMEM;
	*ret_state = state;
	return 0;
}

void hopstate_close(struct hopstate *state)
{
	sharedmem_free(state, sizeof(*state));
}

bool hopstate_is_down(const struct hopstate *state)
{
	return state != NULL && __atomic_load_n(&state->since_ms, __ATOMIC_ACQUIRE) != 0;
}

bool hopstate_may_connect(struct hopstate *state, uint64_t now_ms, uint64_t timeout_ms)
{
	if (!hopstate_is_down(state))
		return true;
	uint64_t until_ms = __atomic_load_n(&state->no_open_ms, __ATOMIC_ACQUIRE);
	if (until_ms == 0)
		return true;
	return until_ms <= now_ms &&
	       __atomic_compare_exchange_n(&state->no_open_ms, &until_ms,
					   now_ms + timeout_ms + HOPSTATE_PAUSE_MS, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool hopstate_failed(struct hopstate *state, uint64_t now_ms, bool is_silent)
{
	uint64_t up = 0;
	if (state == NULL)
		return false;
	__atomic_store_n(&state->no_open_ms, is_silent ? now_ms + HOPSTATE_PAUSE_MS : 0,
			 __ATOMIC_RELEASE);
	return __atomic_compare_exchange_n(&state->since_ms, &up, now_ms, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

bool hopstate_reached(struct hopstate *state, uint64_t now_ms, uint64_t *ret_down_ms)
{
	if (!hopstate_is_down(state))
		return false;
	const uint64_t since_ms = __atomic_exchange_n(&state->since_ms, 0, __ATOMIC_ACQ_REL);
	if (since_ms == 0)
		return false;
	*ret_down_ms = now_ms > since_ms ? now_ms - since_ms : 0;
	return true;
}

void hopstate_untold(struct hopstate *state, uint64_t now_ms)
{
	if (hopstate_is_down(state) && __atomic_load_n(&state->no_open_ms, __ATOMIC_ACQUIRE) != 0)
		__atomic_store_n(&state->no_open_ms, now_ms + HOPSTATE_PAUSE_MS, __ATOMIC_RELEASE);
}

void hopstate_set_lacks(struct hopstate *state, unsigned extensions)
{
	if (state != NULL)
		__atomic_store_n(&state->lacks, extensions, __ATOMIC_RELEASE);
}

unsigned hopstate_lacks(const struct hopstate *state)
{
	return state != NULL ? __atomic_load_n(&state->lacks, __ATOMIC_ACQUIRE) : 0;
}
