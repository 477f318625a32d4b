/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/base/entropy.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

int entropy_take(struct entropy *entropy, void *ret_bytes, size_t size)
{
	assert(size <= ENTROPY_SIZE);
	if (entropy->left < size) {
		/* Without waiting: a question may wait for better times, a mail server not. */
		ssize_t got = getrandom(entropy->bytes, ENTROPY_SIZE, GRND_NONBLOCK);

		if (got != ENTROPY_SIZE) {
			entropy->left = 0;
			return got < 0 ? -errno : -EAGAIN;
		}
		entropy->left = ENTROPY_SIZE;
	}
	uint8_t *from = entropy->bytes + (ENTROPY_SIZE - entropy->left);

	memcpy(ret_bytes, from, size);
	/* A later reader of this memory must not learn what the ids of old questions were. */
	memset(from, 0, size);
	entropy->left -= size;
	return 0;
}

void entropy_forget(struct entropy *entropy)
{
	memset(entropy, 0, sizeof(*entropy));
}
