/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * dice.h - random numbers that are the same with the same seed, whatever else has drawn any.
 *
 * Flow: a seed and what a stream is for -> dice_begin() -> numbers of a distribution.
 *
 * The generator is xoshiro256**, begun by splitmix64. Each user, mail and mailbox has a stream of
 * its own, named by a purpose and a number, so that what one does never changes with what another
 * did before. A struct dice is 32 bytes; copies go on alone. Not for secrets.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dice {
	uint64_t state[4];
};

/* What a stream is for; its numbers are independent of those of another purpose. */
enum dice_purpose {
	DICE_ARRIVALS, /* of a user's sessions */
	DICE_SESSION,  /* what a session does */
	DICE_MAIL,     /* what is in a mail */
	DICE_MAILBOX,  /* what is in a mailbox before the load */
	DICE_MESSAGES, /* from and to whom mails go, and when */
	DICE_BYTES,    /* of one part of a mail: mailplan.c */
};

void dice_begin(struct dice *ret_dice, uint64_t seed, enum dice_purpose purpose, uint64_t number);

uint64_t dice_next(struct dice *dice);			/* 64 bits */
uint64_t dice_below(struct dice *dice, uint64_t limit); /* 0 to limit - 1; limit is at least 1 */
double dice_unit(struct dice *dice);			/* at least 0, below 1 */
double dice_exponential(struct dice *dice, double mean);
double dice_lognormal(struct dice *dice, double median, double sigma);
/* An index, by weights that need not come to 1; one of them at least is above 0, none below. */
unsigned dice_pick(struct dice *dice, const double *weights, unsigned count);

#ifdef __cplusplus
}
#endif
