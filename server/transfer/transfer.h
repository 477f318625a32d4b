/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * transfer.h - one zone transfer: what was asked for, and giving it.
 *
 * Flow: transfer_answer.c fills a struct transfer -> serving.c has forks.c
 *       fork -> transfer_run() in the child reads one version of the store ->
 *       lib/format/unfold.h, history.h -> xfrout.c writes messages into the connection.
 *
 *     AXFR (RFC 5936)  SOA, everything else, SOA
 *     IXFR (RFC 1995)  SOA, for each change: SOA before, what went, SOA
 *                      afterwards, what came; SOA. Or the SOA alone when there
 *                      is nothing newer; or as AXFR, when the journal does not
 *                      reach back to the serial or is damaged.
 *
 * The last SOA is written only when everything before it was: a client that gets
 * it has the whole zone. When something fails on the way the connection ends; before the first
 * message the answer is SERVFAIL, and the connection goes on.
 */

#include "server/transfer/transfer_request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Its verdict, for the log. Never NULL. */
const char *transfer_explain(const struct transfer *transfer);

/* Exit statuses of the child. */
enum transfer_end {
	TRANSFER_END_WHOLE, /* the client got all of it */
	TRANSFER_END_CUT,   /* it got a part, or nothing: the connection is of no more use */
	TRANSFER_END_TOLD,  /* it got an error in the place of it */
};

/*
 * Writes the transfer into fd, a connected non-blocking socket, and logs how
 * that went. For a child process of its own: it opens the store.
 */
enum transfer_end transfer_run(const struct transfer *transfer,
			       const struct transfer_limits *limits, int fd);

/*
 * SERVFAIL in the place of a transfer for which there is no child, without waiting for room. False: the
 * connection is of no more use.
 */
bool transfer_refuse(const struct transfer *transfer, int fd);

#ifdef __cplusplus
}
#endif
