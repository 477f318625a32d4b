/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * transfer_answer.h - whether a transfer is granted, and the answer when it is not.
 *
 * Flow: answer.c has a question for AXFR or IXFR -> transfer_answer() -> access.h
 *       -> answer_transfer() tells serving.c, which has the connection handed over.
 */

#include "server/answer/answering.h"

/* The size of the response; 0 also for a transfer that is granted, over TCP. */
size_t transfer_answer(struct answer *answer, const struct question *question,
		       const struct answer_query *query);

/* Notes a transfer whose TSIG is not good, so that the log can say it. */
void transfer_answer_bad_tsig(struct answer *answer, const struct question *question,
			      const struct answer_query *query);
