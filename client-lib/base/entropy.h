/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * entropy.h - random bytes of the kernel, a few at a time.
 *
 * Flow: getrandom() -> 256 bytes at once -> ids and letters of flight.c
 *
 * The struct is the caller's, and all zero at first. After fork() both
 * processes hold the same bytes: entropy_forget() in the child, before anything is taken.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ENTROPY_SIZE 256 /* what getrandom() gives without being interrupted */

struct entropy {
	size_t left; /* bytes not yet given away, at the end */
	uint8_t bytes[ENTROPY_SIZE];
};

/* size is at most ENTROPY_SIZE. 0, or -EAGAIN while the kernel has none yet, early at boot. */
int entropy_take(struct entropy *entropy, void *ret_bytes, size_t size);
void entropy_forget(struct entropy *entropy);

#ifdef __cplusplus
}
#endif
